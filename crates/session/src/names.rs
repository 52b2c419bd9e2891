//! What the names of tables in a definition stand for.
//!
//! A temporary table hides a table of its name from its session. Statements that make, rename or grant what others see do not
//! mean it all the same. What a name stands for is decided once, before privileges are checked: the check and the execution
//! go by the same answer, so that no statement is let through for one table and changes another.

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A temporary table of the session, with which it may do what it likes.
    Own,
    /// What everybody sees: a table, a view, or what is to get the name. Which of them it is, metadata locks decide later;
    /// privileges are asked by the name alone.
    Shared,
}

/// What the names of the running definition stand for; nothing while none runs.
#[derive(Debug, Default)]
pub struct StatementNames {
    named: Vec<(String, String, Meaning)>,
}

impl StatementNames {
    /// Notes what a name stands for. A statement may say it twice and mean both: `CREATE TABLE d.t LIKE d.t`.
    pub fn add(&mut self, database: &str, table: &str, meaning: Meaning) {
        self.named.push((database.to_owned(), table.to_owned(), meaning));
    }

    /// Whether a table that the statement reads or changes is the session's own.
    pub fn mean_own(&self, database: &str, table: &str) -> bool {
        self.has(database, table, Meaning::Own)
    }

    /// Whether the statement makes what everybody sees by that name.
    pub fn mean_shared(&self, database: &str, table: &str) -> bool {
        self.has(database, table, Meaning::Shared)
    }

    fn has(&self, database: &str, table: &str, meaning: Meaning) -> bool {
        self.named.iter().any(|(d, t, m)| *m == meaning && d == database && t == table)
    }
}
