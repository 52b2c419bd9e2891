//! What the database should hold: tables as maps, committed changes one behind the other, and what each session has
//! changed and not committed.

use std::collections::BTreeMap;
use std::rc::Rc;

/// A row: stored values in table order.
pub(super) type Row = Vec<Option<Vec<u8>>>;
/// What identifies a row in the model: its clustered key, as comparison sees it.
pub(super) type Key = Vec<Vec<u8>>;

/// Kinds of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Integer key, a secondary index, a unique one with NULLs.
    Simple,
    /// No key of its own, values off the page, an index on a prefix.
    Keyless,
    /// A key of text and number, an index over a nullable column and text.
    Composite,
}

impl Shape {
    pub(super) const ALL: [Shape; 3] = [Shape::Simple, Shape::Keyless, Shape::Composite];
}

/// A table of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableModel {
    pub(super) shape: Shape,
    pub(super) rows: BTreeMap<Key, Row>,
    /// It has an index more than its shape says.
    pub(super) extra: bool,
}

/// All tables, by name.
pub(super) type Db = BTreeMap<String, Rc<TableModel>>;

/// One committed unit.
#[derive(Debug, Clone)]
pub(super) enum Delta {
    Rows(Vec<Change>),
    Create(String, Shape),
    Drop(String),
    Rename(String, String),
    Truncate(String),
    /// An index more came, or went.
    Extra(String, bool),
}

/// A change of one row: gone, or now like this.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) table: String,
    pub(super) key: Key,
    pub(super) row: Option<Row>,
}

/// Applies a committed unit.
pub(super) fn apply(db: &mut Db, delta: &Delta) {
    match delta {
        Delta::Rows(changes) => changes.iter().for_each(|c| apply_change(db, c)),
        Delta::Create(name, shape) => {
            let table = TableModel { shape: *shape, rows: BTreeMap::new(), extra: false };
            db.insert(name.clone(), Rc::new(table));
        }
        Delta::Drop(name) => {
            db.remove(name);
        }
        Delta::Rename(from, to) => {
            if let Some(table) = db.remove(from) {
                db.insert(to.clone(), table);
            }
        }
        Delta::Truncate(name) => {
            if let Some(table) = db.get_mut(name) {
                Rc::make_mut(table).rows.clear();
            }
        }
        Delta::Extra(name, there) => {
            if let Some(table) = db.get_mut(name) {
                Rc::make_mut(table).extra = *there;
            }
        }
    }
}

fn apply_change(db: &mut Db, change: &Change) {
    let Some(table) = db.get_mut(&change.table) else { return };
    let rows = &mut Rc::make_mut(table).rows;
    match &change.row {
        Some(row) => rows.insert(change.key.clone(), row.clone()),
        None => rows.remove(&change.key),
    };
}

/// What was committed, and how much of it is known to last.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The state before the first of `deltas`.
    base: Db,
    deltas: Vec<Delta>,
    /// So many of them were acknowledged as durable.
    acknowledged: usize,
    /// The state after the last.
    pub(super) now: Db,
    /// A row that was being inserted, under a key that nobody was told, when the power went off; and how many commits were before it.
    nameless: Option<(String, Row, usize)>,
}

impl History {
    pub(super) fn commit(&mut self, delta: Delta) {
        apply(&mut self.now, &delta);
        self.deltas.push(delta);
    }

    /// Everything committed so far is durable.
    pub(super) fn acknowledge(&mut self) {
        self.acknowledged = self.deltas.len();
    }

    /// The power has gone off while a row was inserted of whose key nobody was told.
    pub(super) fn loses_sight_of(&mut self, table: String, row: Row) {
        self.nameless = Some((table, row, self.deltas.len()));
    }

    /// If the nameless row is there, it was committed when sight of it was lost: a change of a definition, in whose midst that was, may
    /// have been completed behind it.
    fn name(&mut self, found: &Db, table: String, row: &Row, at: usize) {
        let (Some(there), Some(known)) = (found.get(&table), self.now.get(&table)) else { return };
        if let Some((key, _)) = there.rows.iter().find(|(k, r)| *r == row && !known.rows.contains_key(*k)) {
            let change = Change { table, key: key.clone(), row: Some(row.clone()) };
            self.deltas.insert(at, Delta::Rows(vec![change]));
            self.now = self.base.clone();
            self.deltas.iter().for_each(|delta| apply(&mut self.now, delta));
        }
    }

    /// After a crash: the found state must be the one after some number of commits, all acknowledged ones among them.
    pub(super) fn settle(&mut self, found: &Db) -> Result<(), String> {
        if let Some((table, row, at)) = self.nameless.take() {
            self.name(found, table, &row, at);
        }
        let mut state = self.base.clone();
        for n in 0..=self.deltas.len() {
            if n > 0 {
                apply(&mut state, &self.deltas[n - 1]);
            }
            if n >= self.acknowledged && state == *found {
                *self = History { base: state.clone(), now: state, ..History::default() };
                return Ok(());
            }
        }
        let mut wanted = self.base.clone();
        self.deltas.iter().take(self.acknowledged).for_each(|d| apply(&mut wanted, d));
        Err(format!(
            "the state is that of no number of commits from {} acknowledged to {}: against the acknowledged {}",
            self.acknowledged,
            self.deltas.len(),
            difference(&wanted, found)
        ))
    }
}

/// The first difference, in words.
pub(super) fn difference(wanted: &Db, found: &Db) -> String {
    for (name, table) in wanted {
        let Some(other) = found.get(name) else { return format!("table {name} is missing") };
        if table.extra != other.extra {
            return format!("{name}: an index more: {}, not {}", other.extra, table.extra);
        }
        for (key, row) in &table.rows {
            match other.rows.get(key) {
                None => return format!("{name}: row {key:02x?} is missing"),
                Some(found) if found != row => {
                    return format!("{name}: row {key:02x?} is {found:02x?}, not {row:02x?}");
                }
                Some(_) => {}
            }
        }
        if let Some(key) = other.rows.keys().find(|k| !table.rows.contains_key(*k)) {
            return format!("{name}: row {key:02x?} should not be there");
        }
    }
    match found.keys().find(|name| !wanted.contains_key(*name)) {
        Some(name) => format!("table {name} should not be there"),
        None => "there is no difference".to_owned(),
    }
}

/// What a session has changed in its transaction.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) changes: Vec<Change>,
    /// Names, lengths of `changes` when they were set, and whether the engine had a part in the transaction then.
    pub(super) savepoints: Vec<(String, usize, bool)>,
    /// What its read view sees, once it has one.
    pub(super) snapshot: Option<Db>,
}

impl Pending {
    /// The table as a consistent read of the session should see it: `committed` with its own changes.
    pub(super) fn seen(&self, committed: &Db, table: &str) -> Option<TableModel> {
        let mut seen = (**self.snapshot.as_ref().unwrap_or(committed).get(table)?).clone();
        for change in self.changes.iter().filter(|c| c.table == table) {
            match &change.row {
                Some(row) => seen.rows.insert(change.key.clone(), row.clone()),
                None => seen.rows.remove(&change.key),
            };
        }
        Some(seen)
    }

    /// The newest state of a row for this session: its own, else the committed one.
    pub(super) fn current<'m>(&'m self, committed: &'m Db, table: &str, key: &Key) -> Option<&'m Row> {
        match self.changes.iter().rev().find(|c| c.table == table && c.key == *key) {
            Some(change) => change.row.as_ref(),
            None => committed.get(table)?.rows.get(key),
        }
    }
}
