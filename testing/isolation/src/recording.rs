//! Random scripts as the original played them: what others are compared with, now or later.
//!
//! A play of the original takes longer than one of ours and its outcome does not change, so recordings are kept in files,
//! many in one: a line that begins with `#` names the script, its transcript follows.

use crate::Level;
use crate::golden::Comparison;
use crate::script::{self, Plan, Server};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// What the original did with a random script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// Of the script, and of the level it was played at.
    pub seed: u64,
    /// The transcript.
    pub text: String,
}

/// The level at which the script of a seed is played.
pub fn level(seed: u64) -> Level {
    Level::ALL[(seed % 4) as usize]
}

impl Recording {
    /// Has the original play the script of a seed.
    ///
    /// # Errors
    /// Those of the original.
    pub fn make(original: &mut dyn Server, seed: u64) -> Result<Recording, String> {
        let played = script::play(&script::random(seed), level(seed), original)?;
        Ok(Recording { seed, text: played.to_string() })
    }

    /// How its script ends if it is played many times, and how often it ends so. The recording itself is one of the ways
    /// of the original.
    ///
    /// # Errors
    /// Those of the server.
    pub fn outcomes(&self, times: usize, server: &mut dyn Server) -> Result<BTreeMap<String, usize>, String> {
        let (script, level) = (script::random(self.seed), level(self.seed));
        let mut all = BTreeMap::new();
        for _ in 0..times {
            server.follow(&self.text);
            let played = script::play(&script, level, server)?.to_string();
            let outcome: Vec<&str> = outcome_lines(&played).collect();
            *all.entry(outcome.join("\n")).or_insert(0) += 1;
        }
        Ok(all)
    }

    /// Outcome lines up to the first step that let two sessions go on at once, if there is one: what follows depends on who
    /// was faster.
    pub fn lines_before_race(&self) -> Option<usize> {
        let (mut waiting, mut before, mut races) = (0, 0, false);
        for (at, line) in outcome_lines(&self.text).enumerate() {
            if let Some(outcome) = line.strip_prefix("    ") {
                // The victim of a deadlock gives back its locks too, to the one who closed the cycle and to others.
                races |= before >= 2 && outcome == "error 1213";
                waiting += usize::from(outcome == "waits");
                continue;
            }
            if races {
                return Some(at);
            }
            let (head, sql) = line
                .split_once(' ')
                .map_or(("", line), |(_, rest)| rest.split_once(' ').unwrap_or((rest, "")));
            before = waiting;
            waiting -= usize::from(head.ends_with('<'));
            races = before >= 2 && (sql == "commit" || sql == "rollback");
        }
        races.then(|| outcome_lines(&self.text).count())
    }

    /// Reads what [`fmt::Display`] wrote of many.
    ///
    /// # Errors
    /// It is no such text.
    pub fn parse_all(text: &str) -> Result<Vec<Recording>, String> {
        let mut found: Vec<Recording> = Vec::new();
        for line in text.lines() {
            if let Some(seed) = line.strip_prefix("# ") {
                let seed = seed.parse().map_err(|_| format!("no seed: {line}"))?;
                found.push(Recording { seed, text: String::new() });
            } else {
                let last = found.last_mut().ok_or("a transcript without a seed")?;
                last.text.push_str(line);
                last.text.push('\n');
            }
        }
        Ok(found)
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Recording { seed, text } = self;
        write!(f, "# {seed}\n{text}")
    }
}

/// The lines of a transcript that do not tell how rows are found.
fn outcome_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| Plan::parse(line).is_none())
}

impl Comparison {
    /// Plays the script of a recording on a server, and compares: all of it, or what came before the original let two
    /// sessions go on at once.
    pub fn with(&mut self, recording: &Recording, server: &mut dyn Server) {
        let Recording { seed, text } = recording;
        let level = level(*seed);
        server.follow(text);
        let played = script::play(&script::random(*seed), level, server);
        let played = played.map_or_else(|e| e, |played| played.to_string());
        self.plays += 1;
        let same = |n| outcome_lines(text).take(n).eq(outcome_lines(&played).take(n));
        match recording.lines_before_race().filter(|&n| same(n)) {
            Some(_) => self.races += usize::from(!same(usize::MAX)),
            None => {
                self.judge(&format!("seed {seed} at {level}"), text, &played);
            }
        }
    }
}

/// Plays the scripts of the recordings that are kept beside this crate, and compares.
///
/// # Errors
/// They cannot be read.
pub fn compare_kept(server: &mut dyn Server) -> Result<Comparison, String> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("recordings").join("waits.txt");
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut comparison = Comparison::default();
    for recording in Recording::parse_all(&text)? {
        comparison.with(&recording, server);
    }
    Ok(comparison)
}

/// Plays random scripts, each at one level, on the original and on a server, and compares.
///
/// # Errors
/// Those of the original.
pub fn compare_random(
    original: &mut dyn Server,
    server: &mut dyn Server,
    seeds: std::ops::Range<u64>,
) -> Result<Comparison, String> {
    let mut comparison = Comparison::default();
    for seed in seeds {
        comparison.with(&Recording::make(original, seed)?, server);
    }
    Ok(comparison)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_survive_their_text() {
        let one = |seed, text: &str| Recording { seed, text: text.into() };
        let all = [one(4, "1 A> begin\n    ok\n"), one(7, "1 B> select 1\n    via none\n    no rows\n")];
        let text: String = all.iter().map(Recording::to_string).collect();
        assert_eq!(Recording::parse_all(&text).unwrap(), all);
        assert!(Recording::parse_all("1 A> begin\n").is_err());
        assert!(Recording::parse_all("# x\n").is_err());
    }

    #[test]
    fn what_comes_before_a_race_is_compared() {
        let before = |text: &str| Recording { seed: 1, text: text.into() }.lines_before_race();
        let one = "1 A> delete\n    via all\n    waits\n2 B> commit\n    ok\n1 A< delete\n    affected 1\n";
        assert_eq!(before(one), None);
        let two = "1 A> delete\n    via all\n    waits\n2 B> delete\n    waits\n3 C> commit\n    ok\n\
            1 A< delete\n    affected 1\n2 B< delete\n    affected 0\n";
        assert_eq!(before(two), Some(6), "up to the commit");
        let victim = "1 A> delete\n    waits\n2 B> delete\n    waits\n3 C> delete\n    error 1213\n";
        assert_eq!(before(victim), Some(6));
        let resumed = "1 A> delete\n    waits\n2 B> delete\n    waits\n1 A< delete\n    error 1213\n3 C> x\n";
        assert_eq!(before(resumed), Some(6));
    }
}
