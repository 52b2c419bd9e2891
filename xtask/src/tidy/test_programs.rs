//! Test files that no program contains. Cargo does not look for programs in a crate with `autotests = false`, so a file that is
//! neither listed there nor declared as a module would never run.

use super::{Finding, TextFile, error_at};

/// Finds files directly in a `tests` folder that are neither a program nor a module of one.
pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for manifest in files.iter().filter(|file| file.name() == "Cargo.toml") {
        if !manifest.text.lines().any(|line| line == "autotests = false") {
            continue;
        }
        let folder = format!("{}tests/", manifest.path.trim_end_matches("Cargo.toml"));
        let own: Vec<(&TextFile, &str)> =
            files.iter().filter_map(|file| Some((file, of(file, &folder)?))).collect();
        let is_program = |file: &TextFile| {
            let path = &file.path[manifest.path.len() - "Cargo.toml".len()..];
            manifest.text.contains(&format!("path = \"{path}\""))
        };
        let programs: Vec<&TextFile> =
            own.iter().map(|(file, _)| *file).filter(|file| is_program(file)).collect();
        for (file, name) in own.iter().filter(|(file, _)| !is_program(file)) {
            let line = format!("mod {name};");
            if !programs.iter().any(|program| program.text.lines().any(|declared| declared == line)) {
                findings.push(error_at(
                    file,
                    0,
                    &format!("no test program contains it: declare `{line}` in one"),
                ));
            }
        }
    }
    findings
}

/// The name of a file of tests: `NAME.rs` in the folder, or `NAME/mod.rs`.
fn of<'f>(file: &'f TextFile, folder: &str) -> Option<&'f str> {
    let inner = file.path.strip_prefix(folder)?.strip_suffix(".rs")?;
    let name = inner.strip_suffix("/mod").unwrap_or(inner);
    (!name.contains('/')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_program_is_found() {
        let file = |path: &str, text: &str| TextFile { path: path.into(), text: text.into() };
        let mut files = vec![
            file("a/Cargo.toml", "autotests = false\n[[test]]\npath = \"tests/all.rs\"\n"),
            file("a/tests/all.rs", "mod one;\n"),
            file("a/tests/one.rs", ""),
            file("a/tests/one/part.rs", ""),
            file("b/Cargo.toml", ""),
            file("b/tests/two.rs", ""),
        ];
        assert_eq!(check(&files), []);
        files.push(file("a/tests/three.rs", "mod four;"));
        files.push(file("a/tests/four/mod.rs", ""));
        let found: Vec<String> = check(&files).iter().map(|finding| format!("{finding:?}")).collect();
        assert!(
            found.len() == 2 && found[0].contains("a/tests/three.rs") && found[1].contains("mod four;"),
            "{found:?}"
        );
    }
}
