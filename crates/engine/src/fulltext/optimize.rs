//! Removing deleted documents from the lists: what OPTIMIZE TABLE does under `optimize_fulltext_only`.
//!
//! First everything is written. Then, in one transaction, deleted documents whose words are in the lists move from DELETED to
//! BEING_DELETED. Word by word the lists are written anew without them, some words in each transaction, which also notes the last of them
//! (`vaquita_optimized_word`, of the index whose number is in `vaquita_optimized_index`: a MySQL server has its own place and no use for this one); so the next call goes on where one stopped, was cut
//! off, or had its `ft_num_word_optimize` words. At the end BEING_DELETED is emptied.
//!
//! The same is done in the background, a transaction at a time, for tables with `vaquita_ft_optimize_deleted` deleted documents
//! ([`step`]). Between two steps it is in memory how far the pass is ([`Pass`]), whoever takes the next one.
//!
//! Documents in BEING_DELETED are deleted for every search until the end, so a search does not care how far it is.

use super::auxiliary::{self, COUNT, FIRST, ILIST, LAST, Reading, WORD};
use super::sync;
use crate::core::Core;
use crate::cursor::{Cursor, ReadOptions, Seek};
use crate::documents::{Pass, Place};
use crate::error::{Error, Result};
use crate::mdl::MdlMode;
use crate::read_lock::Work;
use crate::row::{self, WriteOptions};
use crate::table::{FullTextIndex, RowKey, Table};
use crate::waits::Waiter;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use vaquita_fts::DocId;
use vaquita_fts::ilist::{Node, merge};
use vaquita_txn::Trx;

/// The last word that was looked at, `table/word` with the number of the table of words.
const LAST_WORD: &str = "vaquita_optimized_word";
/// The index it is of.
const INDEX: &str = "vaquita_optimized_index";
/// Words of a transaction.
const STAGE: u64 = 100;
/// Bytes of a setting.
const VALUE_BYTES: usize = 200;

/// Writes what is cached, and removes deleted documents from the lists of at most so many words; whether all is done.
///
/// # Errors
/// Those of reading and changing rows. What was done stays.
pub(crate) fn optimize(core: &Core, table: &Arc<Table>, words_max: u64) -> Result<bool> {
    core.documents.with(table, |_| ())?;
    sync::write(core, table)?;
    let of = core.documents.of(table.id);
    let mut pass = of.writing.lock();
    go_on(core, table, &mut pass, words_max)
}

/// Removes deleted documents from the lists of some words, a transaction's worth; whether there is more to do. What is cached is written when a
/// pass begins.
///
/// # Errors
/// Those of reading and changing rows.
fn some(core: &Core, table: &Arc<Table>) -> Result<bool> {
    let of = core.documents.of(table.id);
    if of.writing.lock().is_none() {
        sync::write(core, table)?;
    }
    let mut pass = of.writing.lock();
    // Nothing to be removed is nothing to come back to: what went is not in the lists yet.
    Ok(!go_on(core, table, &mut pass, STAGE)?)
}

/// A step of what runs in the background: looks for tables of which enough is deleted, and does some of the work. Whether there is more of it.
/// Tables that somebody defines anew, checks or keeps for himself are left alone, and nobody waits for more than a step.
///
/// # Errors
/// Those of reading and changing rows. What was done stays.
pub(crate) fn step(core: &Core) -> Result<bool> {
    let least = core.live.ft_optimize_deleted.load(Ordering::Relaxed);
    if least == 0 {
        return Ok(false);
    }
    // FLUSH TABLES WITH READ LOCK: nothing changes.
    let changing = core.read_lock.enter();
    if changing.begin(Work::Change, &Waiter::default(), Duration::ZERO).is_err() {
        return Ok(false);
    }
    let done = each_table(core, least);
    changing.end(Work::Change);
    done
}

fn each_table(core: &Core, least: u64) -> Result<bool> {
    let (mut more, mut failure) = (false, None);
    for id in core.documents.with_deleted(least) {
        let table = match core.table_by_id(id) {
            Ok(Some(table)) => table,
            Ok(None) => continue,
            Err(e) => {
                failure.get_or_insert(e);
                continue;
            }
        };
        let mut mdl = core.mdl.context();
        if core.mdl.acquire(&mut mdl, &table.name, MdlMode::SharedWrite, Duration::ZERO).is_err() {
            continue;
        }
        // It may have another name and other indexes by now.
        let found = core.table_by_id(id).map(|found| found.filter(|found| found.name == table.name));
        let done = found.and_then(|found| found.map_or(Ok(false), |found| some(core, &found)));
        core.mdl.release(&mut mdl);
        match done {
            Ok(done) => more |= done,
            // The other tables are looked after all the same.
            Err(e) => drop(failure.get_or_insert(e)),
        }
    }
    failure.map_or(Ok(more), Err)
}

/// Goes on with a pass, or begins one; whether all is done.
fn go_on(core: &Core, table: &Arc<Table>, pass: &mut Option<Pass>, words_max: u64) -> Result<bool> {
    let indexes = || table.fulltext.iter().map(|index| index.id);
    let of_now = pass.take().filter(|pass| pass.indexes.iter().copied().eq(indexes()));
    let mut now = match of_now {
        Some(pass) => pass,
        None => {
            let gone = begin(core, table)?;
            if gone.is_empty() {
                return Ok(true);
            }
            Pass { indexes: indexes().collect(), gone, place: read_place(core, table)? }
        }
    };
    let mut left = words_max;
    // A place that cannot be noted is none to stop at.
    while left > 0 || noted(&now.place).is_none() {
        let Pass { gone, place, .. } = &now;
        let (trx, (next, looked_at)) = auxiliary::change(core, |trx| {
            let (next, looked_at) = stage(core, trx, table, gone, place.clone(), left.clamp(1, STAGE))?;
            match &next {
                Some(next) => write_place(core, trx, table, next)?,
                None => end(core, trx, table, gone)?,
            }
            Ok((next, looked_at))
        })?;
        auxiliary::commit(core, trx)?;
        match next {
            Some(next) => now.place = next,
            None => {
                core.documents.with_loaded(table.id, |loaded| loaded.take_off(&now.gone));
                return Ok(true);
            }
        }
        left -= looked_at.min(left);
    }
    *pass = Some(now);
    Ok(false)
}

/// The documents to be removed: those of a pass that was begun, or those deleted by now.
fn begin(core: &Core, table: &Arc<Table>) -> Result<HashSet<DocId>> {
    let moves = [
        (auxiliary::DELETED, auxiliary::BEING_DELETED),
        (auxiliary::DELETED_CACHE, auxiliary::BEING_DELETED_CACHE),
    ];
    let mut gone = HashSet::new();
    let mut reading = Reading::begin(core);
    for (_, being) in moves {
        let being = auxiliary::common(core, table, being)?;
        gone.extend(auxiliary::documents(core, &mut reading.trx, &being)?);
    }
    if !gone.is_empty() {
        return Ok(gone);
    }
    // Words of the others are still to be written.
    let synced = core.documents.with(table, |loaded| loaded.synced)?;
    let (trx, gone) = auxiliary::change(core, |trx| {
        for (from, to) in moves {
            let (from, to) = (auxiliary::common(core, table, from)?, auxiliary::common(core, table, to)?);
            for doc in auxiliary::documents(core, &mut reading.trx, &from)? {
                if doc.0 < synced && auxiliary::remove_document(core, trx, &from, doc)? {
                    auxiliary::put_document(core, trx, &to, doc.0)?;
                    gone.insert(doc);
                }
            }
        }
        let config = auxiliary::common(core, table, "CONFIG")?;
        auxiliary::set(core, trx, &config, LAST_WORD, b"")?;
        Ok(gone)
    })?;
    auxiliary::commit(core, trx)?;
    Ok(gone)
}

/// Empties BEING_DELETED.
fn end(core: &Core, trx: &mut Trx, table: &Arc<Table>, gone: &HashSet<DocId>) -> Result<()> {
    for being in [auxiliary::BEING_DELETED, auxiliary::BEING_DELETED_CACHE] {
        let being = auxiliary::common(core, table, being)?;
        for doc in gone {
            auxiliary::remove_document(core, trx, &being, *doc)?;
        }
    }
    let config = auxiliary::common(core, table, "CONFIG")?;
    auxiliary::set(core, trx, &config, LAST_WORD, b"")
}

/// Looks at some words from a place on: the place behind them, `None` at the end of all, and how many words there were.
fn stage(
    core: &Core,
    trx: &mut Trx,
    table: &Arc<Table>,
    gone: &HashSet<DocId>,
    mut place: Place,
    words_max: u64,
) -> Result<(Option<Place>, u64)> {
    let mut looked_at = 0;
    while let Some(index) = table.fulltext.get(place.index) {
        let tables = auxiliary::words(core, table, index.id)?;
        while let Some(words) = tables.get(place.partition) {
            while looked_at < words_max {
                let Some((word, nodes)) = next_word(core, words, place.word.as_deref(), table, index)? else {
                    break;
                };
                rewrite(core, trx, words, &word, &nodes, gone)?;
                place.word = Some(word);
                looked_at += 1;
            }
            if looked_at >= words_max {
                return Ok((Some(place), looked_at));
            }
            place = Place { partition: place.partition + 1, word: None, ..place };
        }
        place = Place { index: place.index + 1, ..Place::default() };
    }
    Ok((None, looked_at))
}

/// A row of a table of words: how the word is spelled in it, and its list.
type WordRow = (Vec<u8>, Node);

/// The word behind another one, with all its rows.
fn next_word(
    core: &Core,
    words: &Arc<Table>,
    after: Option<&[u8]>,
    table: &Table,
    index: &FullTextIndex,
) -> Result<Option<(Vec<u8>, Vec<WordRow>)>> {
    let collation = super::collation_of(table, index)?;
    let mut reading = Reading::begin(core);
    let columns = [WORD, FIRST, LAST, COUNT, ILIST];
    let mut cursor = Cursor::open(words.clone(), &ReadOptions::by_index(0).columns(columns))?;
    match after {
        Some(word) => cursor.seek(&[Some(word)], Seek::Greater)?,
        None => cursor.seek_first(),
    }
    let mut found: Vec<WordRow> = Vec::new();
    while let Some(row) = cursor.next(core, &mut reading.trx)? {
        let word = row.column(0).unwrap_or_default().to_vec();
        if found.first().is_some_and(|(first, _)| !collation.equal(first, &word)) {
            break;
        }
        found.push((word, auxiliary::node(words, &row)?));
    }
    Ok(found.first().map(|(word, _)| word.clone()).map(|word| (word, found)))
}

/// Writes the lists of a word anew, if a document in them is gone.
fn rewrite(
    core: &Core,
    trx: &mut Trx,
    words: &Arc<Table>,
    word: &[u8],
    rows: &[WordRow],
    gone: &HashSet<DocId>,
) -> Result<()> {
    let damaged = |e: vaquita_format::Corruption| Error::TableUnusable {
        table: words.name.clone(),
        detail: e.to_string(),
        damaged: true,
    };
    let mut any_gone = false;
    let nodes = rows.iter().map(|(_, node)| node);
    let merged = merge(nodes, |doc| {
        let is_gone = gone.contains(&doc);
        any_gone |= is_gone;
        is_gone
    });
    let merged = merged.map_err(damaged)?;
    if !any_gone {
        return Ok(());
    }
    for (spelled, node) in rows {
        let first = super::doc_id_key(node.first.0);
        row::delete(core, trx, words, &RowKey::new([&spelled[..], &first]), WriteOptions::default())?;
    }
    for node in &merged {
        auxiliary::put_node(core, trx, words, word, node)?;
    }
    Ok(())
}

fn read_place(core: &Core, table: &Arc<Table>) -> Result<Place> {
    let mut reading = Reading::begin(core);
    let config = auxiliary::common(core, table, "CONFIG")?;
    let last = auxiliary::setting(core, &mut reading.trx, &config, LAST_WORD)?.unwrap_or_default();
    let index = auxiliary::number(core, &mut reading.trx, &config, INDEX)?;
    let Some(index) = table.fulltext.iter().position(|of| Some(of.id.get()) == index) else {
        return Ok(Place::default());
    };
    // What another server has noted begins anew: a word twice looked at is no harm.
    let Some(at) = last.iter().position(|&byte| byte == b'/') else { return Ok(Place::default()) };
    let partition = std::str::from_utf8(&last[..at]).ok().and_then(|number| number.parse().ok());
    match partition {
        Some(partition) => {
            let word = Some(last[at + 1..].to_vec()).filter(|word| !word.is_empty());
            Ok(Place { index, partition, word })
        }
        None => Ok(Place::default()),
    }
}

fn write_place(core: &Core, trx: &mut Trx, table: &Arc<Table>, place: &Place) -> Result<()> {
    let config = auxiliary::common(core, table, "CONFIG")?;
    let Some(index) = table.fulltext.get(place.index) else { return Ok(()) };
    auxiliary::set(core, trx, &config, INDEX, index.id.get().to_string().as_bytes())?;
    auxiliary::set(core, trx, &config, LAST_WORD, &noted(place).unwrap_or_default())
}

/// A place as it is noted; `None`: the word is too long for that.
fn noted(place: &Place) -> Option<Vec<u8>> {
    let mut noted = format!("{}/", place.partition).into_bytes();
    noted.extend(place.word.as_deref().unwrap_or_default());
    (noted.len() <= VALUE_BYTES).then_some(noted)
}
