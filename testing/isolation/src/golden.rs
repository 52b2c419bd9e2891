//! Golden files: `golden/SCRIPT.LEVEL`, written by the recorder from the real server, read by everybody else.

use crate::Level;
use crate::script::{self, Plan, Script, Server, Transcript};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Where the golden file of a script at a level is.
pub fn path(script: &str, level: Level) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(format!("{script}.{}", level.file_name()))
}

/// The golden file's text.
///
/// # Errors
/// No such file: it was never recorded.
pub fn read(script: &str, level: Level) -> Result<String, String> {
    let path = path(script, level);
    fs::read_to_string(&path).map_err(|e| {
        format!("{}: {e}; record it with `cargo run -p vaquita-isolation -- record`", path.display())
    })
}

/// Writes the golden file; whether it has changed.
///
/// # Errors
/// Errors of the file.
pub fn write(script: &Script, level: Level, transcript: &Transcript) -> Result<bool, String> {
    let path = path(&script.name, level);
    let text = transcript.to_string();
    if fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return Ok(false);
    }
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(true)
}

/// How the statements of a golden file found their rows, by step.
pub fn plans(golden: &str) -> BTreeMap<usize, Plan> {
    let mut plans = BTreeMap::new();
    let mut step = 0;
    for line in golden.lines() {
        if let Some(plan) = Plan::parse(line) {
            plans.insert(step, plan);
        } else if !line.starts_with(' ') {
            step = line.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        }
    }
    plans
}

/// The first lines in which two transcripts differ, for a person.
pub fn difference(golden: &str, played: &str) -> Option<String> {
    if golden == played {
        return None;
    }
    let same = golden.lines().zip(played.lines()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| {
        let lines: Vec<&str> = text.lines().skip(same.saturating_sub(4)).take(12).collect();
        lines.join("\n")
    };
    Some(format!("line {}:\n--- golden\n{}\n--- played\n{}\n", same + 1, part(golden), part(played)))
}

/// How plays on another server than the original went.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Plays made.
    pub plays: usize,
    /// Plays left out: the original let two sessions go on at once, and what followed was another outcome.
    pub races: usize,
    /// Other outcomes although all statements before found their rows the same way.
    pub wrong: Vec<String>,
    /// Other outcomes after a statement that found its rows another way: other rows were locked.
    pub other_plan: Vec<String>,
}

impl Comparison {
    /// Compares what a server with an optimizer of its own did with what the original did; whether it is the same.
    pub fn judge(&mut self, name: &str, golden: &str, played: &str) -> bool {
        let outcomes = |text: &str| -> String {
            text.lines().filter(|line| Plan::parse(line).is_none()).collect::<Vec<_>>().join("\n")
        };
        let (wanted, got) = (outcomes(golden), outcomes(played));
        let Some(text) = difference(&wanted, &got) else { return true };
        let same = wanted.lines().zip(got.lines()).take_while(|(a, b)| a == b);
        let reached = same.filter(|(line, _)| !line.starts_with(' ')).last();
        let step: usize = reached.and_then(|(line, _)| line.split(' ').next()?.parse().ok()).unwrap_or(0);
        let before = |text: &str| plans(text).into_iter().filter(|(at, _)| *at <= step).collect::<Vec<_>>();
        let same_way = before(golden) == before(played);
        let list = if same_way { &mut self.wrong } else { &mut self.other_plan };
        list.push(format!("{name}: {text}"));
        false
    }
}

/// Plays the scripts that are `wanted` at all levels on a server and compares with the golden files.
///
/// # Errors
/// Scripts or golden files cannot be read.
pub fn compare(server: &mut dyn Server, wanted: impl Fn(&str) -> bool) -> Result<Comparison, String> {
    let mut comparison = Comparison::default();
    for script in script::all()?.iter().filter(|script| wanted(&script.name)) {
        for level in Level::ALL {
            let golden = read(&script.name, level)?;
            server.follow(&golden);
            comparison.plays += 1;
            let played = script::play(script, level, server).map_or_else(|e| e, |played| played.to_string());
            comparison.judge(&format!("{} at {level}", script.name), &golden, &played);
        }
    }
    Ok(comparison)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_belong_to_steps() {
        let golden = "1 A> begin\n    ok\n12 B> select 1\n    via range PRIMARY\n    (1)\n";
        let plans = plans(golden);
        assert_eq!(plans.len(), 1);
        assert_eq!(plans[&12].key.as_deref(), Some("PRIMARY"));
    }

    #[test]
    fn differences_are_shown_with_what_precedes_them() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        let text = difference("1\n2\n3\n", "1\n2\n4\n").unwrap();
        assert!(text.starts_with("line 3:") && text.contains('4'), "{text}");
    }
}
