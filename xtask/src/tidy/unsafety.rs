//! Unsafe: forbidden crate by crate; where it is allowed, each file is listed in `docs/unsafe.md` with its argument.

use super::{Finding, TextFile, error_at};

const LIST: &str = "docs/unsafe.md";
const FORBIDDEN: &str = "forbid(unsafe_code)";

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let list = files.iter().find(|file| file.path == LIST);
    let mut findings = Vec::new();
    let listed = list.map(listed_files).unwrap_or_default();
    for (line, path) in &listed {
        let list = list.expect("listed files come from the list");
        match files.iter().find(|file| file.path == *path) {
            None => findings.push(error_at(list, *line, &format!("{path} does not exist"))),
            Some(file) if !uses_unsafe(file) => {
                findings.push(error_at(list, *line, &format!("{path} has no unsafe code any more")));
            }
            Some(_) => {}
        }
    }
    for file in files.iter().filter(|file| file.is_rust()) {
        if uses_unsafe(file) && !listed.iter().any(|(_, path)| *path == file.path) {
            findings.push(error_at(file, 0, &format!("has unsafe code but is not listed in {LIST}")));
        }
        let exempt = listed.iter().any(|(_, path)| crate_of(path) == crate_of(&file.path));
        if is_root(&file.path) && !exempt && !file.text.contains(FORBIDDEN) {
            findings.push(error_at(
                file,
                0,
                &format!("this crate needs no unsafe code: add #![{FORBIDDEN}]"),
            ));
        }
    }
    findings
}

/// The files in back quotes at the start of a table row or list item.
fn listed_files(list: &TextFile) -> Vec<(usize, String)> {
    let rows = list.text.lines().enumerate().filter_map(|(number, line)| {
        let path = line.trim_start_matches(['|', '-', ' ']).strip_prefix('`')?.split('`').next()?;
        path.ends_with(".rs").then(|| (number, path.to_owned()))
    });
    rows.collect()
}

fn uses_unsafe(file: &TextFile) -> bool {
    ["{", "fn ", "impl ", "trait ", "extern "].iter().any(|after| {
        let keyword = format!("unsafe {after}");
        let code = |line: &&str| !line.trim_start().starts_with("//");
        // A quote before it: words in a string, not code.
        let keyword_in = |line: &str| line.match_indices(&keyword).any(|(at, _)| !line[..at].ends_with('"'));
        file.text.lines().filter(code).any(keyword_in)
    })
}

/// `crates/io/src/real.rs` belongs to `crates/io`.
fn crate_of(path: &str) -> &str {
    path.split("/src/").next().unwrap_or(path)
}

fn is_root(path: &str) -> bool {
    path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs")
}

#[cfg(test)]
mod tests {
    use super::super::testing::errors;
    use super::*;

    #[test]
    fn unsafe_code_must_be_listed() {
        let block = format!("//! Docs.\nfn f() {{ {} {{}} }}\n", "unsafe");
        let root = ("crates/io/src/lib.rs", "//! Docs.\n");
        let found = errors(check, &[root, ("crates/io/src/real.rs", &block)]);
        assert_eq!(found.len(), 2, "unlisted, and the crate does not forbid it: {found:?}");
        let list = ("docs/unsafe.md", "| `crates/io/src/real.rs` | why |\n");
        assert_eq!(errors(check, &[root, ("crates/io/src/real.rs", &block), list]), Vec::<String>::new());
    }

    #[test]
    fn the_list_may_not_be_stale() {
        let root = ("crates/io/src/lib.rs", "//! Docs.\n#![forbid(unsafe_code)]\n");
        let list = ("docs/unsafe.md", "- `crates/io/src/lib.rs`: why\n- `crates/io/src/gone.rs`: why\n");
        assert_eq!(errors(check, &[root, list]).len(), 2);
    }

    #[test]
    fn a_crate_without_unsafe_code_forbids_it() {
        assert_eq!(errors(check, &[("crates/x/src/main.rs", "//! Docs.\n")]).len(), 1);
    }
}
