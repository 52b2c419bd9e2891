//! Reading script files.

use std::fs;
use std::path::PathBuf;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A session runs a statement.
    Run {
        /// Its name.
        session: String,
        /// The statement.
        sql: String,
    },
    /// Nothing happens until the session waits no longer.
    Await {
        /// Its name.
        session: String,
    },
    /// Nothing happens until purge has nothing to do.
    Purge,
}

/// A script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The file's name without its ending.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// Statements before the sessions come.
    pub setup: Vec<String>,
    /// The steps.
    pub steps: Vec<Step>,
    /// Two sessions that do the same.
    pub symmetric: Option<(String, String)>,
    /// Whether an old read view keeps delete-marked records from being purged.
    pub purge_held: bool,
}

/// The folder of the scripts.
pub fn scripts_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts")
}

/// All scripts, by name.
///
/// # Errors
/// A file that cannot be read or understood.
pub fn all() -> Result<Vec<Script>, String> {
    let folder = scripts_folder();
    let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut scripts = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.extension().is_none_or(|ending| ending != "script") {
            continue;
        }
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        scripts.push(Script::parse(&name, &text)?);
    }
    scripts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(scripts)
}

impl Script {
    /// Reads a script's text.
    ///
    /// # Errors
    /// The line that is not understood.
    pub fn parse(name: &str, text: &str) -> Result<Script, String> {
        let mut script = Script {
            name: name.to_owned(),
            about: String::new(),
            setup: Vec::new(),
            steps: Vec::new(),
            symmetric: None,
            purge_held: true,
        };
        for (number, line) in text.lines().enumerate() {
            let wrong = |what: &str| format!("{name}.script:{}: {what}: {line}", number + 1);
            if let Some(comment) = line.strip_prefix('#') {
                script.about += comment.trim_start();
                script.about.push('\n');
            } else if line.trim().is_empty() || line == "setup:" {
            } else if line.starts_with(' ') {
                if !script.steps.is_empty() {
                    return Err(wrong("setup after the first step"));
                }
                script.setup.push(expand(line.trim()).ok_or_else(|| wrong("macro"))?);
            } else if let Some(session) = line.strip_prefix("await ") {
                script.steps.push(Step::Await { session: session.trim().to_owned() });
            } else if line == "purge" {
                script.steps.push(Step::Purge);
            } else {
                let (before, after) = line.split_once(": ").ok_or_else(|| wrong("not a step"))?;
                match before {
                    "symmetric" => script.symmetric = Some(pair(after).ok_or_else(|| wrong("two names"))?),
                    "purge" if after == "free" => script.purge_held = false,
                    _ => {
                        let sql = expand(after.trim()).ok_or_else(|| wrong("macro"))?;
                        script.steps.push(Step::Run { session: before.to_owned(), sql });
                    }
                }
            }
        }
        if script.about.is_empty() || script.steps.is_empty() {
            return Err(format!("{name}.script: needs a comment that says what it shows, and steps"));
        }
        Ok(script)
    }
}

fn pair(text: &str) -> Option<(String, String)> {
    let (a, b) = text.trim().split_once(' ')?;
    Some((a.to_owned(), b.to_owned()))
}

/// Expands the macros; `None` if one is wrong.
fn expand(sql: &str) -> Option<String> {
    let mut sql = sql.to_owned();
    while let Some(start) = sql.find("@rows(") {
        let (inside, end) = parenthesis(&sql, start + "@rows".len())?;
        let mut parts = inside.splitn(4, ',');
        let mut number = || parts.next()?.trim().parse::<u64>().ok();
        let (from, to, step) = (number()?, number()?, number()?);
        let row = parts.next()?.trim().to_owned();
        let rows: Vec<String> =
            (from..=to).step_by(step as usize).map(|n| row.replace('$', &n.to_string())).collect();
        sql.replace_range(start..end, &rows.join(", "));
    }
    while let Some(start) = sql.find("@pad(") {
        let (inside, end) = parenthesis(&sql, start + "@pad".len())?;
        let letters = "x".repeat(inside.trim().parse().ok()?);
        sql.replace_range(start..end, &letters);
    }
    Some(sql)
}

/// What stands in the parentheses that open at `open`, and where they end.
fn parenthesis(text: &str, open: usize) -> Option<(String, usize)> {
    let mut depth = 0;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((text[open + 1..at].to_owned(), at + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_setup_and_steps() {
        let text = "# Shows a thing.\nsymmetric: B C\npurge: free\nsetup:\n  create table t (id int)\n\nA: begin\nawait A\npurge\n";
        let script = Script::parse("x", text).unwrap();
        assert_eq!(script.about, "Shows a thing.\n");
        assert_eq!(script.symmetric, Some(("B".into(), "C".into())));
        assert!(!script.purge_held);
        assert_eq!(script.setup, ["create table t (id int)"]);
        assert_eq!(
            script.steps,
            [
                Step::Run { session: "A".into(), sql: "begin".into() },
                Step::Await { session: "A".into() },
                Step::Purge
            ]
        );
    }

    #[test]
    fn macros_write_many_rows() {
        let sql = expand("insert into t values @rows(10, 30, 10, ($, 'k$', '@pad(3)'))").unwrap();
        assert_eq!(sql, "insert into t values (10, 'k10', 'xxx'), (20, 'k20', 'xxx'), (30, 'k30', 'xxx')");
        assert_eq!(expand("@rows(1, 2)"), None);
    }

    #[test]
    fn wrong_lines_are_refused() {
        assert!(Script::parse("x", "# a\nA begin\n").is_err());
        assert!(Script::parse("x", "A: begin\n").is_err(), "says nothing about itself");
        assert!(Script::parse("x", "# a\nA: begin\n  create table t (id int)\n").is_err());
    }

    #[test]
    fn every_script_is_understood() {
        assert!(all().unwrap().len() >= 40);
    }
}
