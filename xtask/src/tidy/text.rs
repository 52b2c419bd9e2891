//! Words: module docs that must be there, leftovers and machine paths that must not.

use super::{Finding, TextFile, error_at};

/// Every source file opens with module docs, save `tests.rs` beside the module it tests.
pub(super) fn module_docs(files: &[TextFile]) -> Vec<Finding> {
    let sources = files.iter().filter(|file| file.is_rust() && file.name() != "tests.rs");
    let undocumented = sources.filter(|file| {
        let first = file.text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
        !first.is_some_and(|line| line.starts_with("//! "))
    });
    undocumented.map(|file| error_at(file, 0, "must open with module docs (//!)")).collect()
}

/// Marks of unfinished work, and what to do instead. Written in two parts so that this file does not hold them.
const LEFTOVERS: [(&str, &str, &str); 6] = [
    ("dbg", "!(", "remove the debug print"),
    ("todo", "!(", "finish it, or return an error that says what is missing"),
    ("unimplemented", "!(", "finish it, or return an error that says what is missing"),
    ("FIX", "ME", "mend it, or say in a TODO what is missing and its effect"),
    ("#[ig", "nore", "no ignored tests: assert today's behaviour and say why it is wrong"),
    ("XX", "X:", "mend it, or say in a TODO what is missing and its effect"),
];

/// No leftovers in source files.
pub(super) fn leftovers(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for (number, line) in file.text.lines().enumerate() {
            for (first, second, advice) in LEFTOVERS {
                let word = format!("{first}{second}");
                if line.contains(&word) {
                    findings.push(error_at(file, number, &format!("{word} left behind: {advice}")));
                }
            }
        }
    }
    findings
}

/// Folders of somebody's machine, or beside the repository: a clean clone has none of them. In two parts, as above.
const MACHINE_PATHS: [(&str, &str); 5] =
    [("/wo", "rk/"), ("/ro", "ot/"), ("/ho", "me/"), ("/Us", "ers/"), ("/sha", "red/")];

/// No file names a folder of one particular machine.
pub(super) fn machine_paths(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.name() != "Cargo.lock") {
        for (number, line) in file.text.lines().enumerate() {
            for (first, second) in MACHINE_PATHS {
                let word = format!("{first}{second}");
                // A path starts here: `docs/work/` or `https://x.org/home/` are somebody else's folders.
                let starts =
                    |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_-~".contains(c));
                if line.match_indices(&word).any(|(at, _)| starts(at)) {
                    findings.push(error_at(file, number, &format!("names a machine's folder, {word}")));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::testing::errors;
    use super::*;

    #[test]
    fn module_docs_come_first() {
        let files = [
            ("a.rs", "//! Says what it is.\n"),
            ("b.rs", "#![forbid(unsafe_code)]\n//! Docs after an attribute.\n"),
            ("c.rs", "use std::fs;\n//! Late.\n"),
            ("d.rs", ""),
            ("e.md", "no source"),
        ];
        let found = errors(module_docs, &files);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("c.rs:1:") && found[1].starts_with("d.rs:1:"));
    }

    #[test]
    fn leftovers_are_found_with_their_lines() {
        for (first, second, _) in LEFTOVERS {
            let text = format!("//! Docs.\n    {first}{second}\n");
            let found = errors(leftovers, &[("a.rs", &text)]);
            assert!(found.len() == 1 && found[0].starts_with("a.rs:2:"), "{found:?}");
        }
    }

    #[test]
    fn machine_paths_are_found_in_any_text() {
        let text = format!("see \"{}{}x\"\nsee docs{}{}x\n", "/wo", "rk/", "/wo", "rk/");
        let found = errors(machine_paths, &[("notes.md", &text)]);
        assert!(found.len() == 1 && found[0].starts_with("notes.md:1:"), "{found:?}");
    }
}
