//! Links: every relative link of a Markdown file leads somewhere.

use super::{Finding, TextFile, error_at};

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        let mut in_code = false;
        for (number, line) in file.text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            }
            if in_code {
                continue;
            }
            for target in targets(line) {
                if !resolves(files, &file.path, target) {
                    findings.push(error_at(file, number, &format!("the link to {target} leads nowhere")));
                }
            }
        }
    }
    findings
}

/// The relative targets of a line's inline links.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(|(at, _)| {
        let target = line[at + 2..].split([')', ' ']).next()?;
        let absolute = target.contains("://") || target.starts_with("mailto:");
        (!absolute && !target.is_empty()).then_some(target)
    })
}

fn resolves(files: &[TextFile], from: &str, target: &str) -> bool {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let mut parts: Vec<&str> = from.split('/').collect();
    if !path.is_empty() {
        parts.pop();
        for part in path.trim_end_matches('/').split('/') {
            match part {
                "." => {}
                ".." => drop(parts.pop()),
                name => parts.push(name),
            }
        }
    }
    let wanted = parts.join("/");
    let folder = format!("{wanted}/");
    match files.iter().find(|file| file.path == wanted) {
        Some(file) => anchor.is_empty() || !wanted.ends_with(".md") || has_heading(&file.text, anchor),
        None => files.iter().any(|file| file.path.starts_with(&folder)),
    }
}

/// Whether a heading turns into `anchor` by the usual rule: lower case, punctuation dropped, spaces to hyphens.
fn has_heading(text: &str, anchor: &str) -> bool {
    text.lines().filter(|line| line.starts_with('#')).any(|line| {
        let slug: String = line
            .trim_start_matches('#')
            .trim()
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            })
            .collect();
        slug == anchor
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::errors;
    use super::*;

    #[test]
    fn broken_links_are_errors() {
        let page = "[a](docs/b.md) [c](docs/) [web](https://x.org/y) [d](docs/b.md#two-words)\n```\n[x](nowhere)\n```\n[e](gone.md) [f](docs/b.md#three)\n";
        let files =
            [("README.md", page), ("docs/b.md", "# B\n## Two words!\n[up](../README.md) [here](#b)\n")];
        let found = errors(check, &files);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("gone.md") && found[1].contains("#three"));
    }
}
