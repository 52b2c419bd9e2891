//! Sizes: files and functions that have grown past one concept.
//!
//! Numbers start a conversation: above the first one the file or function is named in a note, above the second one
//! it needs a comment that says why it stays whole.

use super::{Finding, TextFile, error_at};

const FILE_NOTE_LINES: usize = 800;
const FILE_ERROR_LINES: usize = 1500;
const FILE_REASON: &str = "// tidy: long-file because ";
const FUNCTION_NOTE_LINES: usize = 100;
const FUNCTION_ERROR_LINES: usize = 200;
const FUNCTION_REASON: &str = "// tidy: long-function because ";

/// Long files.
pub(super) fn files(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let lines = file.text.lines().count();
        let reason = file.text.contains(FILE_REASON);
        if lines > FILE_ERROR_LINES && !reason {
            let text = format!("{lines} lines: split it, or write `{FILE_REASON}..`");
            findings.push(error_at(file, 0, &text));
        } else if lines > FILE_NOTE_LINES && !reason {
            findings
                .push(Finding::Note(format!("{}: {lines} lines; which is the second concept?", file.path)));
        }
    }
    findings
}

/// Long functions.
pub(super) fn functions(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let lines: Vec<&str> = file.text.lines().collect();
        for (start, name, length) in measure(&lines) {
            let reason =
                lines[start.saturating_sub(10)..start + length].iter().any(|l| l.contains(FUNCTION_REASON));
            if length > FUNCTION_ERROR_LINES && !reason {
                let text = format!("{name} has {length} lines: split it, or write `{FUNCTION_REASON}..`");
                findings.push(error_at(file, start, &text));
            } else if length > FUNCTION_NOTE_LINES && !reason {
                let place = format!("{}:{}", file.path, start + 1);
                findings.push(Finding::Note(format!("{place}: {name} has {length} lines; name its phases")));
            }
        }
    }
    findings
}

/// First line, name and length of each function with a body. Relies on rustfmt: the closing brace stands alone,
/// as far in as the signature.
fn measure<'a>(lines: &[&'a str]) -> Vec<(usize, &'a str, usize)> {
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let Some(name) = function_name(code) else { continue };
        let indent = &line[..line.len() - code.len()];
        for (end, later) in lines.iter().enumerate().skip(start) {
            let one_line = end == start && code.ends_with('}');
            let declaration = later.ends_with(';') && !lines[start..=end].iter().any(|l| l.ends_with('{'));
            if one_line || declaration {
                break;
            }
            if later.strip_prefix(indent).is_some_and(|rest| rest == "}") {
                found.push((start, name, end - start + 1));
                break;
            }
        }
    }
    found
}

fn function_name(code: &str) -> Option<&str> {
    let (before, after) = code.split_once("fn ")?;
    let words = ["pub", "const", "unsafe", "async", "extern", "pub(crate)", "pub(super)", "\"C\""];
    if !before.split_whitespace().all(|word| words.contains(&word)) {
        return None;
    }
    Some(after.split(['(', '<']).next().unwrap_or(after))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{errors, findings};
    use super::*;

    #[test]
    fn long_files_need_a_reason() {
        let text = "//! Docs.\n".repeat(FILE_ERROR_LINES + 1);
        assert_eq!(errors(files, &[("a.rs", &text)]).len(), 1);
        let explained = format!("{FILE_REASON}it is a flat table\n{text}");
        assert_eq!(findings(files, &[("a.rs", &explained)]), []);
        let noted = "//! Docs.\n".repeat(FILE_NOTE_LINES + 1);
        assert!(matches!(findings(files, &[("a.rs", &noted)])[..], [Finding::Note(_)]));
    }

    #[test]
    fn functions_are_measured_from_signature_to_brace() {
        let text = "impl X {\n    pub(crate) fn short(\n        a: u8,\n    ) -> u8 {\n        a\n    }\n\n    fn declared(&self);\n    fn one() {}\n}\n";
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(measure(&lines), [(1, "short", 5)]);
    }

    #[test]
    fn long_functions_need_a_reason() {
        let body = "    step();\n".repeat(FUNCTION_ERROR_LINES);
        let text = format!("fn long() {{\n{body}}}\n");
        assert_eq!(errors(functions, &[("a.rs", &text)]).len(), 1);
        let explained = format!("{FUNCTION_REASON}it is one table\n{text}");
        assert_eq!(findings(functions, &[("a.rs", &explained)]), []);
    }
}
