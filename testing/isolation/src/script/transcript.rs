//! What happened, as text: the content of a golden file.

use super::server::{Plan, Reply};
use std::fmt;

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The statement's answer.
    Reply(Reply),
    /// It waits for a lock.
    Waits,
    /// The script ended before it could run: its session still waited.
    NeverRan,
}

/// One line of the story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which step of the script, from 1.
    pub step: usize,
    /// Its session.
    pub session: String,
    /// Its statement.
    pub sql: String,
    /// How it found its rows.
    pub plan: Option<Plan>,
    /// It had waited and now goes on.
    pub resumed: bool,
    /// What became of it.
    pub outcome: Outcome,
}

/// The whole story.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript {
    /// In the order in which things happened.
    pub entries: Vec<Entry>,
}

/// Statements that only say that they were done.
fn changes_rows(sql: &str) -> bool {
    ["insert", "update", "delete", "replace"].iter().any(|word| sql.starts_with(word))
}

/// Long statements are cut: they are in the script.
const SQL_LETTERS_MAX: usize = 100;

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sql: String = self.sql.chars().take(SQL_LETTERS_MAX).collect();
        if sql.len() < self.sql.len() {
            sql += "..";
        }
        let mark = if self.resumed { '<' } else { '>' };
        writeln!(f, "{} {}{mark} {sql}", self.step, self.session)?;
        if let (Some(plan), false) = (&self.plan, self.resumed) {
            writeln!(f, "    {plan}")?;
        }
        match &self.outcome {
            Outcome::Waits => writeln!(f, "    waits"),
            Outcome::NeverRan => writeln!(f, "    never ran"),
            Outcome::Reply(Reply::Error(code)) => writeln!(f, "    error {code}"),
            Outcome::Reply(Reply::Broken(text)) => writeln!(f, "    broken: {text}"),
            Outcome::Reply(Reply::Affected(n)) if changes_rows(&self.sql) => writeln!(f, "    affected {n}"),
            Outcome::Reply(Reply::Affected(_)) => writeln!(f, "    ok"),
            Outcome::Reply(Reply::Rows(rows)) if rows.is_empty() => writeln!(f, "    no rows"),
            Outcome::Reply(Reply::Rows(rows)) => rows.iter().try_for_each(|row| {
                let row: Vec<&str> = row.iter().map(|v| v.as_deref().unwrap_or("NULL")).collect();
                writeln!(f, "    ({})", row.join(", "))
            }),
        }
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.iter().try_for_each(|entry| entry.fmt(f))
    }
}

impl Transcript {
    /// The same story whichever of two sessions that do the same came first: where both go on at once, the first gets
    /// the outcome whose text is smaller.
    #[must_use]
    pub fn canonical(mut self, symmetric: Option<&(String, String)>) -> Transcript {
        let Some((a, b)) = symmetric else { return self };
        for run in self.entries.chunk_by_mut(|before, after| before.resumed == after.resumed) {
            let place = |name: &str| run.iter().position(|entry| entry.resumed && entry.session == name);
            let (Some(of_a), Some(of_b)) = (place(a), place(b)) else { continue };
            if format!("{:?}", run[of_b].outcome) < format!("{:?}", run[of_a].outcome) {
                let outcome = run[of_a].outcome.clone();
                run[of_a].outcome = std::mem::replace(&mut run[of_b].outcome, outcome);
            }
        }
        self
    }

    /// Answers that no database gives.
    pub fn broken(&self) -> Option<&str> {
        self.entries.iter().find_map(|entry| match &entry.outcome {
            Outcome::Reply(Reply::Broken(text)) => Some(text.as_str()),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(session: &str, resumed: bool, reply: Reply) -> Entry {
        let outcome = Outcome::Reply(reply);
        Entry { step: 1, session: session.into(), sql: "insert".into(), plan: None, resumed, outcome }
    }

    #[test]
    fn who_of_two_equals_came_first_does_not_matter() {
        let story = |b: Reply, c: Reply| Transcript {
            entries: vec![
                entry("A", false, Reply::Affected(0)),
                entry("B", true, b),
                entry("C", true, c),
                entry("B", false, Reply::Affected(0)),
            ],
        };
        let names = ("B".to_owned(), "C".to_owned());
        let one = story(Reply::Error(1213), Reply::Affected(1));
        let other = story(Reply::Affected(1), Reply::Error(1213));
        assert_ne!(one, other);
        assert_eq!(one.canonical(Some(&names)), other.canonical(Some(&names)));
    }
}
