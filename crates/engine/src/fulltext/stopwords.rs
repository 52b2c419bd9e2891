//! Which words indexes leave out: what a session says when the first FULLTEXT index of a table is made, and what CONFIG says from then on.
//!
//! | `use_stopword` | `stopword_table_name` | words left out |
//! |---|---|---|
//! | 0 | | none |
//! | else | none, or of no table of stopwords | [`super::DEFAULT_STOPWORDS`] |
//! | else | `database/table` | the column `value` of its rows when the documents are first used |
//!
//! Another index of the table leaves out the same words, whatever its session says. Whoever writes all rows anew makes a new table.

use super::auxiliary::{self, Reading};
use crate::core::Core;
use crate::cursor::{Cursor, ReadOptions};
use crate::dict::fulltext::{STOPWORD_TABLE, USE_STOPWORD};
use crate::documents::{KnownStopwords, StopwordChoice};
use crate::error::{Error, Result};
use crate::table::Table;
use std::sync::Arc;
use vaquita_format::collation::Collation;
use vaquita_format::column::{LATIN1_SWEDISH_CI, MType};
use vaquita_fts::stopwords::WordList;
use vaquita_txn::Trx;

/// What a session says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopwordSettings {
    /// Words are left out (`ft_enable_stopword`).
    pub enabled: bool,
    /// The session's own table of them, `database/table` (`ft_user_stopword_table`); else everybody's.
    pub table: Option<Arc<str>>,
}

impl Default for StopwordSettings {
    fn default() -> StopwordSettings {
        StopwordSettings { enabled: true, table: None }
    }
}

impl StopwordChoice {
    /// What a session's settings come to. A table that is none, or none any more, is left aside: the default words are taken then, though
    /// everybody may have another one.
    pub(crate) fn of(core: &Core, settings: &StopwordSettings) -> StopwordChoice {
        let everybodys = || core.live.stopword_table.read().clone();
        let wanted = settings.table.clone().or_else(everybodys).filter(|_| settings.enabled);
        let table = wanted.filter(|name| {
            let is_one = is_stopword_table(core, name);
            if !is_one {
                say_missing(core, name);
            }
            is_one
        });
        StopwordChoice { enabled: settings.enabled, table: table.map(|name| name.to_string()) }
    }

    /// What the table of settings of a table says now.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn of_config(core: &Core, config: &Arc<Table>) -> Result<StopwordChoice> {
        StopwordChoice::read(core, &mut Reading::begin(core).trx, config)
    }

    /// The same as a transaction sees it.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn read(core: &Core, trx: &mut Trx, config: &Arc<Table>) -> Result<StopwordChoice> {
        let enabled = auxiliary::number(core, trx, config, USE_STOPWORD)? != Some(0);
        let name = auxiliary::setting(core, trx, config, STOPWORD_TABLE)?.unwrap_or_default();
        let name = String::from_utf8_lossy(&name).trim().to_owned();
        Ok(StopwordChoice { enabled, table: Some(name).filter(|name| enabled && !name.is_empty()) })
    }

    /// The same as rows of CONFIG.
    pub(crate) fn rows(&self) -> [(&'static str, &str); 2] {
        let table = self.table.as_deref().unwrap_or_default();
        [(USE_STOPWORD, if self.enabled { "1" } else { "0" }), (STOPWORD_TABLE, table)]
    }

    /// The words.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) fn words(self, core: &Core) -> Result<KnownStopwords> {
        let list = match &self.table {
            _ if !self.enabled => WordList::none(),
            None => WordList::default_list(),
            Some(name) => match read_words(core, name)? {
                Some(words) => words,
                None => {
                    say_missing(core, name);
                    WordList::default_list()
                }
            },
        };
        Ok(KnownStopwords { choice: self, list })
    }
}

fn say_missing(core: &Core, name: &str) {
    core.notes.say(format!("full-text: {name} is no table of stopwords; the default ones are taken"));
}

/// Whether a table, `database/table`, is one whose words indexes can leave out: there is one, and its first column is `value`, a VARCHAR.
pub fn is_stopword_table(core: &Core, name: &str) -> bool {
    open(core, name).is_ok_and(|found| found.is_some())
}

/// The table of that name and the collation of its words, if it is one of stopwords.
fn open(core: &Core, name: &str) -> Result<Option<(Arc<Table>, Collation)>> {
    if !name.contains('/') {
        return Ok(None);
    }
    let table = match core.table(name) {
        Ok(table) => table,
        Err(Error::NoSuchTable(_) | Error::TableUnusable { .. } | Error::Discarded(_)) => return Ok(None),
        Err(e) => return Err(e),
    };
    let Some(column) = table.columns.first().map(|column| &column.def) else { return Ok(None) };
    let collation = match column.mtype {
        MType::VarMySql => Collation::of(column.collation_id()),
        // Texts of this collation have a type of their own.
        MType::VarChar => Collation::of(LATIN1_SWEDISH_CI),
        _ => None,
    };
    let is_one = column.name == "value";
    Ok(collation.filter(|_| is_one).map(|collation| (table, collation)))
}

/// The words of a table of stopwords; `None` if it is none.
fn read_words(core: &Core, name: &str) -> Result<Option<WordList>> {
    let Some((table, collation)) = open(core, name)? else { return Ok(None) };
    let (mut words, mut reading) = (Vec::new(), Reading::begin(core));
    let mut cursor = Cursor::open(table, &ReadOptions::by_index(0).columns([0]))?;
    while let Some(row) = cursor.next(core, &mut reading.trx)? {
        words.extend(row.column(0).map(Box::from));
    }
    Ok(Some(WordList::of(collation, words)))
}
