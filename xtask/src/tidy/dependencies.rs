//! Dependencies: few, known, each with its reason, all in one place.

use super::{Finding, TextFile, error_at};

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.name() == "Cargo.toml") {
        if file.path == "Cargo.toml" {
            findings.extend(reasons(file));
        } else if !file.text.contains("\n[workspace]\n") {
            // Programs that are workspaces of their own are users of the server, like those in other languages.
            findings.extend(inherited(file));
        }
    }
    findings
}

/// In the root: a comment directly above each dependency, or above the one it follows in the same paragraph.
fn reasons(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut section = "";
    let mut explained = false;
    for (number, line) in file.text.lines().enumerate() {
        if line.starts_with('[') {
            section = line;
            explained = false;
        } else if line.is_empty() {
            explained = false;
        } else if line.starts_with('#') {
            explained = true;
        } else if section == "[workspace.dependencies]" && !explained && from_outside(line) {
            let name = line.split(['=', '.', ' ']).next().unwrap_or(line);
            findings.push(error_at(
                file,
                number,
                &format!("{name}: a comment above must say why it is here"),
            ));
        }
    }
    findings
}

fn from_outside(line: &str) -> bool {
    line.contains('=') && !line.contains("path =")
}

/// In a member: versions and lints come from the workspace.
fn inherited(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut section = "";
    for (number, line) in file.text.lines().enumerate() {
        if line.starts_with('[') {
            section = line;
        } else if section.ends_with("dependencies]") && line.contains('=') && !line.starts_with('#') {
            let compact: String = line.split_whitespace().collect();
            if !compact.contains("workspace=true") {
                findings.push(error_at(
                    file,
                    number,
                    "state the version in the root Cargo.toml, with its reason",
                ));
            }
        }
    }
    if !file.text.contains("[lints]\nworkspace = true") {
        findings.push(error_at(file, 0, "does not inherit the workspace's lints"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::testing::errors;
    use super::*;

    #[test]
    fn a_dependency_without_a_reason_is_an_error() {
        let manifest = "[workspace.dependencies]\nours = { path = \"x\" }\n\n# Because.\na = \"1\"\nb = \"1\"\n\nc = \"1\"\n";
        let found = errors(check, &[("Cargo.toml", manifest)]);
        assert_eq!(found, ["Cargo.toml:8: c: a comment above must say why it is here"]);
    }

    #[test]
    fn a_version_in_a_member_is_an_error() {
        let good = "[dependencies]\na.workspace = true\nb = { workspace = true, features = [] }\n[lints]\nworkspace = true\n";
        assert_eq!(errors(check, &[("crates/x/Cargo.toml", good)]), Vec::<String>::new());
        let bad = "[dev-dependencies]\na = \"1\"\n";
        assert_eq!(errors(check, &[("crates/x/Cargo.toml", bad)]).len(), 2, "own version, no lints");
    }
}
