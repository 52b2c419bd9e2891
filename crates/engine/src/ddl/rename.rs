//! RENAME TABLE: tables and views get other names, several of them in one change.
//!
//! Pairs are taken from left to right, as if each were done before the next, but what is done is only where they lead: a
//! table that ends where it began is left alone, and each of the others goes to its last name at once. Where names change
//! places, one table of the circle waits under a name that nobody else can have. So no file is given a name twice, and
//! what the [DDL log](super::log) says beforehand takes everything back from any point on: [`Entry::RenameBack`] knows a
//! file by its tablespace and by the name that it was to get.

use super::change::Change;
use super::definition::{keep_what_is_described, path_value};
use super::log::Entry;
use super::{check, foreign, fulltext, make_database_dir, objects, parts};
use crate::dict::load::{TableRow, missing};
use crate::dict::rows;
use crate::error::{Error, Result};
use vaquita_base::SpaceId;

/// Where a name of before the change leads.
#[derive(Debug)]
struct Net<'n> {
    origin: &'n str,
    to: &'n str,
    /// Number of the pair that says so.
    pair: usize,
}

/// A table goes from one name to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Move<'n> {
    /// What it is called before the change.
    origin: &'n str,
    from: &'n str,
    to: &'n str,
    pair: usize,
}

/// A table that gets another name.
#[derive(Debug)]
pub(super) struct Renaming<'n> {
    row: TableRow,
    to: &'n str,
}

/// Gives tables and views other names, from left to right; foreign keys and triggers go with their tables. `at` is the
/// number of the pair that is being worked on: when an error comes, it is that one's.
pub(super) fn rename(change: &mut Change<'_>, pairs: &[(&str, &str)], at: &mut usize) -> Result<()> {
    let net = net_of(change, pairs, at)?;
    let (views, tables): (Vec<&Net<'_>>, Vec<&Net<'_>>) =
        net.iter().partition(|net| objects::is_view(change, net.origin));
    let aside = aside_names(change, &tables)?;
    let moves = moves_of(&tables, &aside);
    let words = words_of(change, &moves)?;
    let mut renamings = Vec::with_capacity(moves.len() + words.len());
    for step in &moves {
        *at = step.pair;
        if !parts::rows_of(change, step.origin)?.is_empty() {
            change.changes(step.origin);
            continue;
        }
        let renaming = Renaming::of(change, step.origin, step.to)?;
        let row = TableRow { name: step.from.to_owned(), ..renaming.row };
        renamings.push((step.pair, Renaming { row, ..renaming }));
    }
    for Words { origin, from, to, pair } in &words {
        *at = *pair;
        let renaming = Renaming::of(change, origin, to)?;
        let row = TableRow { name: from.clone(), ..renaming.row };
        renamings.push((*pair, Renaming { row, ..renaming }));
    }
    rename_files(change, &renamings, at)?;
    for (pair, renaming) in &renamings {
        *at = *pair;
        rename_rows(change, renaming)?;
        foreign::rename_table(change, &renaming.row.name, renaming.to)?;
    }
    for net in &tables {
        *at = net.pair;
        objects::rename_triggers(change, net.origin, net.to)?;
    }
    objects::rename_views(change, views.iter().map(|net| (net.origin, net.to)))
}

/// A table of a FULLTEXT index goes to another database, because the table does that it serves; or a part of a table goes with it.
#[derive(Debug)]
struct Words {
    origin: String,
    from: String,
    to: String,
    pair: usize,
}

/// Those that go with tables which go to another database.
fn words_of(change: &Change<'_>, moves: &[Move<'_>]) -> Result<Vec<Words>> {
    fn database(name: &str) -> &str {
        name.split_once('/').map_or("", |(database, _)| database)
    }
    let mut words = Vec::new();
    for step in moves {
        let rows = parts::rows_of(change, step.origin)?;
        for row in &rows {
            let part = &row.name[step.origin.len()..];
            let [from, to] = [step.from, step.to].map(|name| format!("{name}{part}"));
            words.push(Words { origin: row.name.clone(), from, to, pair: step.pair });
        }
        if !rows.is_empty() || database(step.from) == database(step.to) {
            continue;
        }
        let Renaming { row, .. } = Renaming::of(change, step.origin, step.to)?;
        for origin in fulltext::names(change.core, &row)? {
            let short = origin.split_once('/').map_or("", |(_, short)| short);
            let [from, to] = [step.from, step.to].map(|name| format!("{}/{short}", database(name)));
            words.push(Words { origin, from, to, pair: step.pair });
        }
    }
    Ok(words)
}

/// Goes through the pairs and tells where the names lead that are given up. Names that stay are not among them.
fn net_of<'n>(change: &Change<'_>, pairs: &[(&'n str, &'n str)], at: &mut usize) -> Result<Vec<Net<'n>>> {
    let mut net: Vec<Net<'n>> = Vec::with_capacity(pairs.len());
    for (pair, &(from, to)) in pairs.iter().enumerate() {
        *at = pair;
        let left = |name: &str| net.iter().any(|n| n.origin == name);
        let taken = |name: &str| net.iter().any(|n| n.to == name);
        match () {
            () if taken(to) => return Err(Error::TableExists(to.to_owned())),
            // What has left the name has made room.
            () if left(to) => {}
            () => check_is_free(change, to)?,
        }
        if !taken(from) && (left(from) || !is_there(change, from)?) {
            return Err(Error::NoSuchTable(from.to_owned()));
        }
        match net.iter_mut().find(|n| n.to == from) {
            Some(moved) => (moved.to, moved.pair) = (to, pair),
            None => net.push(Net { origin: from, to, pair }),
        }
    }
    net.retain(|n| n.origin != n.to);
    Ok(net)
}

/// One table of each circle, and the name under which it waits, which has its number.
fn aside_names<'n>(change: &Change<'_>, tables: &[&Net<'n>]) -> Result<Vec<(&'n str, String)>> {
    let mut aside = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for first in tables {
        // No two names lead to one: a way that comes to an end, or to one that was gone before, is no circle.
        let mut at = Some(first);
        while let Some(net) = at.filter(|net| !seen.contains(&net.origin)) {
            seen.push(net.origin);
            if net.to == first.origin {
                let row = match parts::rows_of(change, first.origin)?.into_iter().next() {
                    Some(part) => part,
                    None => Renaming::of(change, first.origin, first.to)?.row,
                };
                let database = first.origin.split_once('/').map_or("", |(database, _)| database);
                aside.push((first.origin, format!("{database}/#sql-vaquita-aside-{:x}", row.id.get())));
            }
            at = tables.iter().find(|next| next.origin == net.to);
        }
    }
    Ok(aside)
}

/// The order in which tables go: a name is free when a table comes to it.
fn moves_of<'m>(tables: &[&Net<'m>], aside: &'m [(&'m str, String)]) -> Vec<Move<'m>> {
    let mut moves = Vec::new();
    let mut left = Vec::new();
    for &&Net { origin, to, pair } in tables {
        let step = Move { origin, from: origin, to, pair };
        match aside.iter().find(|(waits, _)| *waits == origin) {
            Some((_, aside)) => {
                moves.push(Move { to: aside, ..step });
                left.push(Move { from: aside, ..step });
            }
            None => left.push(step),
        }
    }
    while !left.is_empty() {
        let free = left.iter().position(|step| left.iter().all(|other| other.from != step.to));
        moves.push(left.remove(free.expect("one table of each circle has left its name")));
    }
    moves
}

/// Whether there is a table or view of that name.
fn is_there(change: &Change<'_>, name: &str) -> Result<bool> {
    match objects::is_view(change, name) {
        true => Ok(true),
        false if !name.contains('/') => Ok(false),
        false => change.core.dict.has_table(change.storage(), name),
    }
}

/// Whether a table may have that name, and no table or view has it.
pub(super) fn check_is_free(change: &Change<'_>, name: &str) -> Result<()> {
    check::table_name(name)?;
    match change.core.dict.has_table(change.storage(), name)? {
        true => Err(Error::TableExists(name.to_owned())),
        false if objects::is_view(change, name) => Err(Error::TableExists(name.to_owned())),
        false => Ok(()),
    }
}

impl<'n> Renaming<'n> {
    /// The table `from` gets the name `to`.
    pub(super) fn of(change: &Change<'_>, from: &str, to: &'n str) -> Result<Renaming<'n>> {
        Ok(Renaming { row: change.core.dict.user_table_row(change.storage(), from)?, to })
    }

    /// The same of a table that has got another name before.
    pub(super) fn from(mut self, name: &str) -> Renaming<'n> {
        name.clone_into(&mut self.row.name);
        self
    }

    fn back(&self) -> Entry {
        let Renaming { row, to } = self;
        Entry::RenameBack { space: row.space, name: row.name.clone(), new_name: (*to).to_owned() }
    }

    /// Opens the table's file, if it has one; whether it is where its name says. One whose file is missing can be renamed
    /// too.
    ///
    /// # Errors
    /// A file that cannot be opened.
    fn has_file(&self, change: &Change<'_>) -> Result<bool> {
        let (storage, row) = (change.storage(), &self.row);
        if row.space == SpaceId::SYSTEM {
            return Ok(false);
        }
        let path = storage.table_space_path(&row.name)?;
        if path != storage.place_of(&row.name, None) && !storage.fs().exists(&path) {
            // It would not be found under its new name when its directory is there again.
            return Err(missing(&row.name, &path));
        }
        if !storage.spaces().contains(row.space) && storage.fs().exists(&path) {
            row.check_pages()?;
            storage.open_table_space(row.space, &path)?;
        }
        Ok(storage.spaces().get(row.space).is_ok_and(|s| s.path() == path))
    }
}

/// Gives the files of tables their names, one after the other, before any row says so. Whoever comes to rows of these
/// tables meanwhile, as purge does, finds the files open. A table may go twice, the second time from its first new name.
pub(super) fn rename_files(
    change: &mut Change<'_>,
    renamings: &[(usize, Renaming<'_>)],
    at: &mut usize,
) -> Result<()> {
    change.unlatched(|change| {
        let storage = change.storage();
        let _folder = change.core.dict.keep_folders();
        let mut files: Vec<&(usize, Renaming<'_>)> = Vec::with_capacity(renamings.len());
        for numbered in renamings {
            let (pair, renaming) = numbered;
            *at = *pair;
            let goes_on = files.iter().any(|(_, earlier)| earlier.row.space == renaming.row.space);
            if goes_on || renaming.has_file(change)? {
                make_database_dir(storage, renaming.to)?;
                files.push(numbered);
            }
        }
        if files.is_empty() {
            return Ok(());
        }
        let back: Vec<Entry> = files.iter().map(|(_, file)| file.back()).collect();
        change.will_rename(&back)?;
        for (pair, Renaming { row, to }) in files {
            *at = *pair;
            let file = storage.spaces().get(row.space)?.path();
            check::file_is_free(storage, to, &storage.renamed(&file, to))?;
            storage.rename_table_space(row.space, &row.name, to)?;
        }
        Ok(())
    })
}

/// Lets a table's definition have its new name; its foreign keys stay with the old one.
pub(super) fn rename_rows(change: &mut Change<'_>, renaming: &Renaming<'_>) -> Result<()> {
    let Renaming { row, to } = renaming;
    keep_what_is_described(change, row)?;
    change.describes(&row.name);
    change.describes(to);
    let sys = &change.core.dict.sys;
    change.update(&sys.core.tables, &[row.name.as_bytes()], &[(0, Some(to.as_bytes()))])?;
    change.changes(&row.name);
    if row.space == SpaceId::SYSTEM {
        return Ok(());
    }
    let space = rows::u32_value(row.space.get()).unwrap_or_default();
    if let Some(spaces) = &sys.spaces {
        change.update(spaces, &[&space], &[(1, Some(to.as_bytes()))])?;
    }
    if let Some(files) = &sys.files {
        let directory = change.core.dict.directory_of(change.storage(), row.space)?;
        let path = path_value(to, directory.as_deref());
        change.update(files, &[&space], &[(1, Some(path.as_bytes()))])?;
    }
    Ok(())
}
