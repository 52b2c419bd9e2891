//! Tidy: the house rules a compiler does not check.
//!
//! Each rule is a pure function from the repository's text files (or, once, cargo's tree of packages) to findings, so that its own
//! test can feed it a wrong tree. Errors fail the run; notes (long files, long functions) are printed and counted, so that growth is
//! seen without stopping anybody.

mod circles;
mod dependencies;
mod layers;
mod library;
mod links;
mod sizes;
mod test_programs;
mod text;
mod unsafety;

use std::path::Path;
use std::process::Command;

use crate::process::{Failure, output_of};

/// One text file of the repository; the path is relative to its root, with `/`.
#[derive(Debug)]
struct TextFile {
    path: String,
    text: String,
}

impl TextFile {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// What a rule has to say.
#[derive(Debug, PartialEq, Eq)]
enum Finding {
    /// Must be mended.
    Error(String),
    /// Worth a look.
    Note(String),
}

/// `path:line: text`, the form editors jump to. `line` counts from 0.
fn error_at(file: &TextFile, line: usize, text: &str) -> Finding {
    Finding::Error(format!("{}:{}: {text}", file.path, line + 1))
}

type Rule = fn(&[TextFile]) -> Vec<Finding>;

const RULES: [(&str, Rule); 11] = [
    ("layers", layers::check),
    ("circles", circles::check),
    ("dependencies", dependencies::check),
    ("module docs", text::module_docs),
    ("leftovers", text::leftovers),
    ("machine paths", text::machine_paths),
    ("file sizes", sizes::files),
    ("function sizes", sizes::functions),
    ("unsafe", unsafety::check),
    ("links", links::check),
    ("test programs", test_programs::check),
];

/// Checks the repository at `root`.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let (files, others) = read_tree(root)?;
    let mut errors = 0;
    let library = ("library", library::check(&library::tree()?));
    let by_files = RULES.into_iter().map(|(name, rule)| (name, rule(&files)));
    for (name, findings) in by_files.chain([library]) {
        for finding in findings {
            match finding {
                Finding::Error(text) => {
                    errors += 1;
                    println!("tidy: {name}: {text}");
                }
                Finding::Note(text) => println!("tidy: note: {name}: {text}"),
            }
        }
    }
    println!("tidy: {} text files, {others} others, {} rules, {errors} errors", files.len(), RULES.len() + 1);
    if errors == 0 { Ok(()) } else { Err(Failure(format!("tidy found {errors} errors"))) }
}

/// Every file git tracks or would track, as text where it is text; the number of the others.
fn read_tree(root: &Path) -> Result<(Vec<TextFile>, usize), Failure> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let list = output_of(&mut git)?;
    let mut files = Vec::new();
    let mut others = 0;
    for path in list.split('\0').filter(|path| !path.is_empty()) {
        // A tracked file may be deleted in the working tree.
        let Ok(bytes) = std::fs::read(root.join(path)) else { continue };
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => files.push(TextFile { path: path.to_owned(), text }),
            _ => others += 1,
        }
    }
    Ok((files, others))
}

#[cfg(test)]
mod testing {
    //! Small trees for the rules' tests.

    use super::{Finding, Rule, TextFile};

    /// The errors `rule` finds in the given files.
    pub(super) fn errors(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
        findings(rule, files)
            .into_iter()
            .filter_map(|finding| match finding {
                Finding::Error(text) => Some(text),
                Finding::Note(_) => None,
            })
            .collect()
    }

    /// Everything `rule` says about the given files.
    pub(super) fn findings(rule: Rule, files: &[(&str, &str)]) -> Vec<Finding> {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile { path: (*path).to_owned(), text: (*text).to_owned() })
            .collect();
        rule(&files)
    }
}
