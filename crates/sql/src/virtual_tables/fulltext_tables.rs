//! What is in the full-text indexes of the table that `innodb_ft_aux_table` names.

use super::making::{Making, text};
use std::sync::Arc;
use vaquita_catalog::error;
use vaquita_engine::fulltext::show::{self, ShownList};
use vaquita_engine::fulltext::{DEFAULT_STOPWORDS, DocId};
use vaquita_engine::lower::charset::{Charset, convert};
use vaquita_engine::{Error, Table};
use vaquita_session::privilege::Priv;
use vaquita_types::{SqlError, SqlResult, Value};

/// The table that is looked at; who may not look at other people's work sees nothing.
fn looked_at(m: &Making<'_, '_>) -> Option<Arc<Table>> {
    if !m.state().privileges.global.has(Priv::PROCESS) {
        return None;
    }
    m.db.fulltext_table(&m.db.globals.text("innodb_ft_aux_table")?)
}

pub(super) fn default_stopwords(m: &mut Making<'_, '_>) -> SqlResult<()> {
    DEFAULT_STOPWORDS.iter().for_each(|word| m.push(vec![text(word)]));
    Ok(())
}

pub(super) fn deleted(m: &mut Making<'_, '_>) -> SqlResult<()> {
    documents(m, false)
}

pub(super) fn being_deleted(m: &mut Making<'_, '_>) -> SqlResult<()> {
    documents(m, true)
}

fn documents(m: &mut Making<'_, '_>, being: bool) -> SqlResult<()> {
    let Some(table) = looked_at(m) else { return Ok(()) };
    let found = error::of_engine(show::deleted(m.db.engine.core(), &table, being))?;
    found.into_iter().for_each(|DocId(doc)| m.push(vec![Value::UInt(doc)]));
    Ok(())
}

pub(super) fn config(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let Some(table) = looked_at(m) else { return Ok(()) };
    for (name, value) in error::of_engine(show::settings(m.db.engine.core(), &table))? {
        m.push(vec![text(name), text(value)]);
    }
    Ok(())
}

pub(super) fn index_cache(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let Some(table) = looked_at(m) else { return Ok(()) };
    let core = m.db.engine.core();
    show::cached_words(core, &table, |list| rows(m, &list)).map_err(Failed::told)
}

pub(super) fn index_table(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let Some(table) = looked_at(m) else { return Ok(()) };
    let core = m.db.engine.core();
    show::written_words(core, &table, |list| rows(m, &list)).map_err(Failed::told)
}

/// Errors of the engine and of lists.
struct Failed(SqlError);

impl From<Error> for Failed {
    fn from(e: Error) -> Failed {
        Failed(error::engine(&e))
    }
}

impl Failed {
    fn told(self) -> SqlError {
        self.0
    }
}

/// A row for each place of the word. Places are shown as 5.6.24 does it: from the second one of a document on by how far they are
/// from the one before.
fn rows(m: &mut Making<'_, '_>, list: &ShownList<'_>) -> Result<(), Failed> {
    let mut word = Vec::new();
    convert(list.charset, Charset::UTF8, list.word, &mut word);
    let damaged = |e| Failed::from(Error::Corrupt(format!("{e}")));
    let mut postings = list.node.postings();
    while let Some(posting) = postings.next().map_err(damaged)? {
        let mut before = 0;
        for position in posting.positions().map_err(damaged)? {
            m.push(vec![
                text(&word),
                Value::UInt(list.node.first.0),
                Value::UInt(list.node.last.0),
                Value::UInt(list.node.doc_count.into()),
                Value::UInt(posting.doc.0),
                Value::UInt((position - before).into()),
            ]);
            before = position;
        }
    }
    Ok(())
}
