//! What the scheduler needs of a server.

use super::Script;
use crate::Level;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// How a statement finds its rows, as MySQL's EXPLAIN tells it. Which rows get locked depends on it, so it is part of a
/// recording, and whoever plays the script later follows the same path instead of having an optimizer's opinions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// EXPLAIN's `type`: `const`, `ref`, `range`, `index`, `all`; `none` if no row can match.
    pub access: String,
    /// EXPLAIN's `key`.
    pub key: Option<String>,
    /// The index has all columns that are asked for.
    pub covering: bool,
    /// Conditions on the index's columns are checked before the row is fetched and locked.
    pub pushed: bool,
    /// Rows are found first and changed afterwards.
    pub buffered: bool,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "via {}", self.access)?;
        if let Some(key) = &self.key {
            write!(f, " {key}")?;
        }
        for (flag, word) in
            [(self.covering, " covering"), (self.pushed, " pushed"), (self.buffered, " buffered")]
        {
            f.write_str(if flag { word } else { "" })?;
        }
        Ok(())
    }
}

impl Plan {
    /// Reads what [`fmt::Display`] wrote.
    pub fn parse(text: &str) -> Option<Plan> {
        let mut words = text.trim().strip_prefix("via ")?.split(' ').peekable();
        let access = words.next()?.to_owned();
        let mut plan = Plan { access, key: None, covering: false, pushed: false, buffered: false };
        for word in words {
            match word {
                "covering" => plan.covering = true,
                "pushed" => plan.pushed = true,
                "buffered" => plan.buffered = true,
                key => plan.key = Some(key.to_owned()),
            }
        }
        Some(plan)
    }
}

/// What a statement gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Done; for changes the number of rows really changed.
    Affected(u64),
    /// Rows as text; `None` is NULL.
    Rows(Vec<Vec<Option<String>>>),
    /// MySQL's error number.
    Error(u16),
    /// Not an answer of a database: the script or the server is broken.
    Broken(String),
}

/// A session. It runs on a thread of its own.
pub trait Connection: Send {
    /// Its number, for [`Server::waiting`].
    fn id(&self) -> u64;
    /// Runs a statement, however long it waits for locks.
    fn execute(&mut self, sql: &str, plan: Option<&Plan>) -> Reply;
}

/// A server that plays scripts, one after the other.
pub trait Server {
    /// Statements of the next play find their rows as in this recording. A server with an optimizer of its own does not
    /// listen.
    fn follow(&mut self, _golden: &str) {}
    /// Makes the tables anew.
    ///
    /// # Errors
    /// What went wrong, as text: the play is over.
    fn prepare(&mut self, script: &Script) -> Result<(), String>;
    /// Opens a session at a level.
    ///
    /// # Errors
    /// As [`Server::prepare`].
    fn connect(&mut self, level: Level) -> Result<Box<dyn Connection>, String>;
    /// How the statement of a step (counted from 1) will find its rows.
    ///
    /// # Errors
    /// As [`Server::prepare`].
    fn plan(&mut self, step: usize, sql: &str) -> Result<Option<Plan>, String>;
    /// The sessions that wait for a lock at this moment.
    ///
    /// # Errors
    /// As [`Server::prepare`].
    fn waiting(&mut self) -> Result<Vec<u64>, String>;
    /// How long to look for answers before [`Server::waiting`] is asked (again).
    fn pause(&self) -> Duration;
    /// Ends the wait of a session: its statement fails.
    ///
    /// # Errors
    /// As [`Server::prepare`].
    fn interrupt(&mut self, session: u64) -> Result<(), String>;
    /// Which locks each session has and waits for, a line for each kind in a page, for a person who compares servers. A
    /// server that does not tell says nothing.
    ///
    /// # Errors
    /// As [`Server::prepare`].
    fn locks(&mut self) -> Result<BTreeMap<u64, Vec<String>>, String> {
        Ok(BTreeMap::new())
    }
    /// The last deadlock, in the server's words.
    ///
    /// # Errors
    /// As [`Server::prepare`].
    fn last_deadlock(&mut self) -> Result<String, String> {
        Ok(String::new())
    }
    /// Returns when nothing is left to purge.
    ///
    /// # Errors
    /// As [`Server::prepare`].
    fn purge(&mut self) -> Result<(), String>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_survive_their_text() {
        for text in ["via all", "via range PRIMARY", "via ref k covering pushed", "via index k buffered"] {
            assert_eq!(Plan::parse(text).unwrap().to_string(), text);
        }
    }
}
