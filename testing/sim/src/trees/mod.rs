//! Trees: random operations in mini-transactions, compared with ordered maps.
//!
//! Tablespaces hold several trees of several kinds. Operations: insert, update (in place and of another size),
//! delete-mark, remove, purge, range scans, values off the page, inserts into two trees at once, bulk builds, new trees,
//! dropped trees and tablespaces.

mod kinds;
mod ops;

use crate::history::History;
use crate::machine::{Machine, space_path};
use crate::stop::Stop;
use crate::workload::Workload;
use kinds::{Kind, Row, fields};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use vaquita_base::{Lsn, PageId, PageNo, Rng, SpaceId};
use vaquita_btree::{Cursor, RecordRef, Tree};
use vaquita_format::index_def::RowFormat;
use vaquita_format::index_page::SearchMode;
use vaquita_format::record::Offsets;
use vaquita_format::tuple::Tuple;
use vaquita_storage::Storage;
use vaquita_storage::fsp;

/// Tablespaces at most.
const SPACES_MAX: usize = 3;
/// Trees at most.
const TREES_MAX: usize = 8;
/// Numbers of rows.
const NUMBERS: u64 = 500;

/// The number of a tree: that of its index.
type TreeId = u64;
/// The fields that order a tree.
type Key = Vec<Option<Vec<u8>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In use.
    Live,
    /// A bulk build goes into it; a crash leaves an empty tree with pages that nobody refers to.
    Building,
    /// Being dropped.
    Dying,
}

#[derive(Debug, Clone)]
struct TreeInfo {
    space: SpaceId,
    root: PageNo,
    kind: Kind,
    format: RowFormat,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Stored {
    row: Arc<Row>,
    deleted: bool,
    /// Its off-page values are being freed.
    purged: bool,
}

/// The workload.
#[derive(Debug, Default)]
pub struct Trees {
    spaces: History<SpaceId, ()>,
    trees: History<TreeId, TreeInfo>,
    rows: History<(TreeId, Key), Stored>,
    open: BTreeMap<TreeId, Tree>,
    next_tree: TreeId,
    /// Operations of several mini-transactions, in the midst of which off-page values have no owner.
    spans: Vec<(Lsn, Lsn, TreeId)>,
    /// Trees in which such an operation was cut off: pages may have leaked.
    leaky: BTreeSet<TreeId>,
}

impl Trees {
    /// Nothing yet.
    pub fn new() -> Self {
        Self { next_tree: 1, ..Self::default() }
    }

    fn info(&self, id: TreeId) -> &TreeInfo {
        self.trees.get(&id).expect("chosen from the model")
    }

    fn tree(&self, id: TreeId) -> Tree {
        self.open[&id].clone()
    }

    fn some_tree(&self, rng: &mut Rng, state: State) -> Option<TreeId> {
        let all: Vec<TreeId> =
            self.trees.iter().filter(|(_, t)| t.state == state).map(|(id, _)| *id).collect();
        if all.is_empty() { None } else { Some(all[rng.index(all.len())]) }
    }

    fn rows_of(&self, id: TreeId) -> impl DoubleEndedIterator<Item = (&Key, &Stored)> {
        self.rows.range((id, Vec::new())..(id + 1, Vec::new())).map(|((_, key), row)| (key, row))
    }

    fn some_row(&self, id: TreeId, rng: &mut Rng) -> Option<(Key, Stored)> {
        let n = self.rows_of(id).count();
        if n == 0 {
            return None;
        }
        self.rows_of(id).nth(rng.index(n)).map(|(k, r)| (k.clone(), r.clone()))
    }

    /// A wrong answer, unless a fault of the disk may have made pages of the tree old.
    fn wrong(&self, machine: &Machine, id: TreeId, text: String) -> Result<(), Stop> {
        let space = self.info(id).space;
        if machine.suspects.iter().any(|s| s.space == space) {
            return Ok(());
        }
        Err(Stop::wrong(format!("tree {id} ({:?}): {text}", self.info(id))))
    }

    /// Compares up to `n` records from `from` on, in one direction, with the model.
    fn scan(
        &self,
        machine: &Machine,
        id: TreeId,
        from: Option<&Key>,
        n: usize,
        down: bool,
    ) -> Result<(), Stop> {
        let storage = machine.storage();
        let tree = self.tree(id);
        let mut cursor = Cursor::new(&tree, storage);
        let mut more = match (from, down) {
            (None, false) => cursor.first()?,
            (None, true) => cursor.last()?,
            (Some(key), _) => {
                let mode = if down { SearchMode::LessOrEqual } else { SearchMode::GreaterOrEqual };
                cursor.seek(&Tuple::new(&fields(key)), mode)?
            }
        };
        let start = from.cloned().unwrap_or_default();
        let end = (id + 1, Vec::new());
        let mut model: Box<dyn Iterator<Item = (&(TreeId, Key), &Stored)>> = match (from, down) {
            (None, false) => Box::new(self.rows.range((id, Vec::new())..end)),
            (None, true) => Box::new(self.rows.range((id, Vec::new())..end).rev()),
            (Some(_), false) => Box::new(self.rows.range((id, start)..end)),
            (Some(_), true) => {
                let range = (Bound::Included((id, Vec::new())), Bound::Included((id, start)));
                Box::new(self.rows.range(range).rev())
            }
        };
        for _ in 0..n {
            let expected = model.next();
            match (more, expected) {
                (false, None) => return Ok(()),
                (false, Some(((_, key), _))) => {
                    return self.wrong(machine, id, format!("it ends before the row {}", brief(key)));
                }
                (true, None) => return self.wrong(machine, id, "it has more rows than it should".into()),
                (true, Some(((_, key), stored))) => {
                    let record = cursor.record().expect("the cursor is on a record");
                    if let Some(text) = difference(&tree, storage, &record, key, stored)? {
                        return self.wrong(machine, id, text);
                    }
                }
            }
            more = if down { cursor.prev()? } else { cursor.next()? };
        }
        Ok(())
    }

    fn read(&self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        let Some(id) = self.some_tree(rng, State::Live) else { return Ok(()) };
        match rng.below(8) {
            0 => self.scan(machine, id, None, 60, rng.one_in(2)),
            1..4 => {
                let from = self.some_row(id, rng).map(|(key, _)| key);
                self.scan(machine, id, from.as_ref(), 30, rng.one_in(2))
            }
            _ => self.look_up(machine, id, rng),
        }
    }

    fn look_up(&self, machine: &Machine, id: TreeId, rng: &mut Rng) -> Result<(), Stop> {
        let (storage, tree) = (machine.storage(), self.tree(id));
        let row = self.info(id).kind.row(rng.below(NUMBERS) as u32, rng, 64);
        let key: Key = row[..tree.index().n_uniq_in_tree()].to_vec();
        let expected = self.rows.get(&(id, key.clone()));
        let found = tree.lookup(storage, &Tuple::new(&fields(&key)), |record| {
            expected.map(|stored| difference(&tree, storage, &record, &key, stored))
        })?;
        match (found, expected) {
            (None, None) => Ok(()),
            (Some(None), _) => self.wrong(machine, id, format!("there is a row {}", brief(&key))),
            (None, Some(_)) => self.wrong(machine, id, format!("there is no row {}", brief(&key))),
            (Some(Some(compared)), _) => match compared? {
                Some(text) => self.wrong(machine, id, text),
                None => Ok(()),
            },
        }
    }

    fn check_tree(&self, machine: &Machine, id: TreeId) -> Result<(), Stop> {
        let tree = self.tree(id);
        let report = vaquita_btree::validate(&tree, machine.storage())?;
        let rows = self.rows_of(id).count() as u64;
        let deleted = self.rows_of(id).filter(|(_, r)| r.deleted).count() as u64;
        if (report.records, report.delete_marked) != (rows, deleted) {
            let text = format!(
                "{} rows, {} of them delete-marked, instead of {rows} and {deleted}",
                report.records, report.delete_marked
            );
            self.wrong(machine, id, text)?;
        }
        if report.leaked_pages > 0 && !self.leaky.contains(&id) {
            self.wrong(machine, id, format!("{} pages leaked", report.leaked_pages))?;
        }
        self.scan(machine, id, None, usize::MAX, false)
    }
}

/// A value in a message.
fn brief(row: &[Option<Vec<u8>>]) -> String {
    let field = |f: &Option<Vec<u8>>| match f {
        None => "NULL".to_owned(),
        Some(bytes) => {
            let hex: String = bytes.iter().take(12).map(|b| format!("{b:02x}")).collect();
            format!("{hex}{}({})", if bytes.len() > 12 { ".." } else { "" }, bytes.len())
        }
    };
    row.iter().map(field).collect::<Vec<_>>().join(",")
}

/// What is wrong with a record, in words.
fn difference(
    tree: &Tree,
    storage: &Storage,
    record: &RecordRef<'_>,
    key: &Key,
    stored: &Stored,
) -> Result<Option<String>, Stop> {
    let mut offsets = Offsets::new();
    record.parse(tree.index(), &mut offsets)?;
    let mut row = Row::new();
    for i in 0..offsets.n_fields() {
        let local = record.field(&offsets, i);
        row.push(match local {
            Some(local) if offsets.is_external(i) && !stored.purged => {
                let mut value = Vec::new();
                tree.read_value(storage, local, &mut value)?;
                Some(value)
            }
            local => local.map(<[u8]>::to_vec),
        });
    }
    let same = if stored.purged { row[..key.len()] == key[..] } else { row == *stored.row };
    if same && record.is_deleted() == stored.deleted {
        return Ok(None);
    }
    Ok(Some(format!(
        "row {} (deleted: {}) instead of {} (deleted: {})",
        brief(&row),
        record.is_deleted(),
        brief(&stored.row),
        stored.deleted
    )))
}

impl Workload for Trees {
    fn step(&mut self, machine: &mut Machine, rng: &mut Rng) -> Result<(), Stop> {
        let n_spaces = self.spaces.iter().count();
        if n_spaces == 0 || (n_spaces < SPACES_MAX && rng.one_in(150)) {
            return self.create_space(machine);
        }
        if rng.one_in(700) {
            return self.drop_space(machine, rng);
        }
        let n_trees = self.trees.iter().count();
        if n_trees < 2 || (n_trees < TREES_MAX && rng.one_in(80)) {
            return self.create_tree(machine, rng);
        }
        match rng.below(100) {
            0 => self.drop_tree(machine.storage(), rng),
            1..4 => self.finish_drop(machine.storage(), rng),
            4 if n_trees < TREES_MAX => self.build_tree(machine, rng),
            5..20 => self.read(machine, rng),
            20..50 => self.insert(machine, rng),
            50..55 => self.insert_pair(machine, rng),
            55..70 => self.update(machine, rng),
            70..78 => self.update_in_place(machine, rng),
            78..86 => self.delete_mark(machine, rng),
            86..90 => self.purge(machine, rng),
            _ => self.remove(machine, rng),
        }
    }

    fn settle(&mut self, end: Lsn) {
        for (start, done, tree) in self.spans.drain(..) {
            if start < end && end < done {
                self.leaky.insert(tree);
            }
        }
        self.spaces.settle(end);
        self.trees.settle(end);
        self.rows.settle(end);
        self.open.clear();
    }

    fn reopen(&mut self, machine: &Machine) -> Result<(), Stop> {
        let storage = machine.storage();
        for (id, ()) in self.spaces.iter() {
            storage.open_table_space(*id, &space_path(*id))?;
        }
        for (id, info) in self.trees.iter() {
            let index = info.kind.index(*id, info.format, storage.options().page_size);
            self.open.insert(*id, Tree::open(storage, info.space, info.root, index)?);
        }
        Ok(())
    }

    fn check(&mut self, machine: &Machine) -> Result<(), Stop> {
        for (id, ()) in self.spaces.iter() {
            let mut mtr = machine.storage().begin_read();
            fsp::validate(&mut mtr, *id)?;
        }
        let live: Vec<TreeId> =
            self.trees.iter().filter(|(_, t)| t.state == State::Live).map(|(id, _)| *id).collect();
        live.into_iter().try_for_each(|id| self.check_tree(machine, id))
    }

    fn spaces(&self) -> Vec<SpaceId> {
        self.spaces.iter().map(|(id, ())| *id).collect()
    }

    fn some_page(&self, rng: &mut Rng) -> Option<PageId> {
        let id = self.some_tree(rng, State::Live)?;
        let info = self.info(id);
        // The root, or one of the first pages after it: most of them are the tree's, all of them somebody's.
        Some(PageId::new(info.space, PageNo(info.root.get() + rng.below(4) as u32)))
    }
}
