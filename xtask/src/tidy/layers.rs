//! Layers: a crate uses only what stands below it.
//!
//! The compiler forbids cycles; this rule fixes the order, so that a dependency upwards is refused before it
//! becomes a habit, and keeps test tooling out of the product.

use super::{Finding, TextFile};

/// The house from the ground up, each with the lower layers it must still know nothing of.
const LAYERS: [(&str, &[&str]); 21] = [
    ("base", &[]),
    // Formats are pure code over bytes: no I/O.
    ("format", &[]),
    // SQL values: as pure as the formats.
    ("types", &[]),
    // Full-text search: pure code over texts.
    ("fts", &["types"]),
    // Files know nothing of pages.
    ("io", &["format", "types", "fts"]),
    ("storage", &["types", "fts"]),
    ("btree", &["types", "fts"]),
    ("txn", &["types", "fts"]),
    ("engine", &["types"]),
    // Text to trees: nothing of tables.
    ("parser", &["format", "types", "fts", "io", "storage", "btree", "txn", "engine"]),
    // From here on SQL: it knows the engine's API, not pages, latches or files.
    ("catalog", &["format", "io", "storage", "btree", "txn"]),
    ("session", &["format", "io", "storage", "btree", "txn"]),
    ("expr", &["format", "io", "storage", "btree", "txn", "catalog"]),
    ("plan", &["format", "io", "storage", "btree", "txn"]),
    ("exec", &["format", "io", "storage", "btree", "txn"]),
    ("sql", &["format", "io", "storage", "btree", "txn"]),
    // Sockets and loops for every door: no protocol, no database.
    (
        "net",
        &[
            "format", "types", "fts", "io", "storage", "btree", "txn", "engine", "parser", "catalog",
            "session", "expr", "plan", "exec", "sql",
        ],
    ),
    ("server", &["format", "io", "storage", "btree", "txn", "catalog", "session", "expr", "plan", "exec"]),
    // Straight onto the engine: no SQL.
    (
        "memcached",
        &[
            "format", "io", "storage", "btree", "txn", "catalog", "session", "expr", "plan", "exec", "sql",
            "server",
        ],
    ),
    ("console", &["format", "io", "storage", "btree", "txn"]),
    ("vaquita", &[]),
];

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let Some(folder) =
            file.path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml"))
        else {
            continue;
        };
        let Some(level) = level_of(folder) else {
            findings.push(Finding::Error(format!("{}: this layer is not in the table of layers", file.path)));
            continue;
        };
        for (line, used) in dependencies(&file.text) {
            let problem = match level_of(used) {
                None => Some(format!("{folder} uses {used}, which is no layer of the product")),
                Some(below) if below >= level => Some(format!("{folder} uses {used}, which is not below it")),
                Some(_) if LAYERS[level].1.contains(&used) => {
                    Some(format!("{folder} must know nothing of {used}"))
                }
                Some(_) => None,
            };
            findings.extend(problem.map(|text| super::error_at(file, line, &text)));
        }
    }
    findings
}

fn level_of(name: &str) -> Option<usize> {
    LAYERS.iter().position(|(layer, _)| *layer == name)
}

/// Our own crates among the normal and build dependencies (tests may use what they like), with their lines.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut section = "";
    for (number, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
        }
        let counts = section.ends_with("dependencies") && !section.ends_with("dev-dependencies");
        if let (true, Some(name)) = (counts, line.strip_prefix("vaquita")) {
            let name = name.strip_prefix('-').unwrap_or("vaquita");
            found.push((number, name.split(['.', ' ', '=']).next().unwrap_or(name)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::errors;
    use super::*;

    #[test]
    fn upward_and_sideways_dependencies_are_errors() {
        let manifest = |name: &str| {
            format!("[dependencies]\nvaquita-base.workspace = true\nvaquita-{name}.workspace = true\n")
        };
        let judge = |folder: &str, used: &str| {
            errors(check, &[(&format!("crates/{folder}/Cargo.toml"), &manifest(used))]).len()
        };
        assert_eq!(judge("storage", "io"), 0);
        assert_eq!(judge("storage", "btree"), 1, "upwards");
        assert_eq!(judge("format", "io"), 1, "formats know no I/O");
        assert_eq!(judge("io", "format"), 1, "files know no pages");
        assert_eq!(judge("memcached", "sql"), 1);
        assert_eq!(judge("storage", "testkit"), 1, "test tooling in the product");
        assert_eq!(judge("attic", "base"), 1, "a crate outside the table");
    }

    #[test]
    fn tests_may_use_test_tooling() {
        let manifest = "[dev-dependencies]\nvaquita-testkit.workspace = true\n";
        assert_eq!(errors(check, &[("crates/base/Cargo.toml", manifest)]), Vec::<String>::new());
    }
}
