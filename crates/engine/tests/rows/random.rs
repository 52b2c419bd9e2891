//! Random statements of several transactions that are open at once, one after the other in one thread. Nobody waits: a
//! lock that is not free fails the statement. After every step the clustered indexes hold what the model holds; when
//! nothing is open and everything is purged, all indexes agree and no page is lost.

use crate::rows::bed::{Bed, Row, int, specs};
use crate::rows::model::{Changes, Model, ModelRow};
use std::sync::Arc;
use vaquita_base::Rng;
use vaquita_engine::ddl::TableSpec;
use vaquita_engine::{AccessMode, Error, Isolation, RowKey, Session, Table};
use vaquita_format::column::{ColumnDef, MType};

/// Rows with their keys.
type Rows = Vec<(RowKey, Row)>;

struct Client {
    session: Session,
    changes: Changes,
    open: bool,
    savepoint: Option<usize>,
}

pub(crate) struct World {
    pub(crate) bed: Bed,
    rng: Rng,
    specs: Vec<TableSpec>,
    pub(crate) tables: Vec<Arc<Table>>,
    model: Model,
    clients: Vec<Client>,
    pub(crate) shape: Shape,
    /// Steps between two looks at all rows.
    pub(crate) compare_every: u64,
    steps: u64,
    timeouts: u64,
    duplicates: u64,
    /// Whose commit is under way.
    committing: Option<usize>,
}

/// What values are like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Most bytes of most values that may leave the page.
    pub(crate) long: u64,
    /// Different integers.
    pub(crate) ints: u64,
    /// Most letters of a text key.
    pub(crate) letters: u64,
}

/// Few rows with many conflicts.
pub(crate) const CROWDED: Shape = Shape { long: 40_000, ints: 40, letters: 4 };
/// Many rows: pages are split and merged.
pub(crate) const WIDE: Shape = Shape { long: 9_000, ints: 100_000, letters: 8 };

pub(crate) fn value(rng: &mut Rng, column: &ColumnDef, shape: Shape) -> Option<Vec<u8>> {
    let long = shape.long;
    if column.is_nullable() && rng.one_in(6) {
        return None;
    }
    let text = |rng: &mut Rng, chars: u64| -> Vec<u8> {
        const LETTERS: [char; 8] = ['a', 'A', 'b', 'B', 'é', 'e', '€', ' '];
        (0..rng.below(chars + 1)).map(|_| LETTERS[rng.index(8)]).collect::<String>().into_bytes()
    };
    match column.mtype {
        MType::Int => int(rng.below(shape.ints) as i32 - 10),
        MType::Char => Some(format!("{:<4}", ["a", "bc", "A"][rng.index(3)]).into_bytes()),
        MType::Blob => {
            let len = match rng.below(6) {
                0 if rng.one_in(6) => rng.below(8 * long),
                0 => rng.below(long),
                1 => rng.below(9_000),
                _ => rng.below(40),
            };
            if column.is_binary() {
                let first = rng.below(3) as u8;
                return Some((0..len).map(|i| first.wrapping_add((i / 50) as u8)).collect());
            }
            let first = ["a", "A", "éa", "bé"][rng.index(4)];
            Some(first.repeat((len.min(20_000) / 2) as usize).into_bytes())
        }
        MType::VarChar => {
            let letters = ["a", "A", "ab", "ab ", "zzz"];
            Some(letters[rng.index(5)].as_bytes().to_vec())
        }
        _ => Some(text(rng, shape.letters)),
    }
}

impl World {
    pub(crate) fn new(seed: u64, n_clients: usize) -> World {
        World::of(seed, n_clients, specs())
    }

    /// One with these tables.
    pub(crate) fn of(seed: u64, n_clients: usize, specs: Vec<TableSpec>) -> World {
        let bed = Bed::new(seed);
        let mut model = Model::default();
        let tables = specs
            .iter()
            .map(|spec| {
                model.add(spec);
                bed.create(spec)
            })
            .collect();
        let clients = (0..n_clients)
            .map(|_| Client {
                session: bed.session(),
                changes: Changes::default(),
                open: false,
                savepoint: None,
            })
            .collect();
        World {
            bed,
            rng: Rng::new(seed),
            specs,
            tables,
            model,
            clients,
            shape: CROWDED,
            compare_every: 1,
            steps: 0,
            timeouts: 0,
            duplicates: 0,
            committing: None,
        }
    }

    /// One client, half of whose tables are temporary.
    fn with_temporary_tables(seed: u64) -> World {
        let mut world = World::new(seed, 1);
        let session = &mut world.clients[0].session;
        for (table, spec) in world.tables.iter_mut().zip(&world.specs).step_by(2) {
            // They hide the others.
            *table = session.create_temporary_table(spec).unwrap();
            let seen = session.run(|s| s.table(&spec.name)).unwrap();
            assert!(Arc::ptr_eq(&seen, table));
        }
        world
    }

    pub(crate) fn row(&mut self, table: usize) -> Row {
        let shape = self.shape;
        let columns = &self.specs[table].columns;
        columns.iter().map(|c| value(&mut self.rng, &c.def, shape)).collect()
    }

    fn others_are_open(&self, me: usize) -> bool {
        self.clients.iter().enumerate().any(|(i, c)| i != me && c.open && c.session.in_transaction())
    }

    fn begin(&mut self, me: usize) {
        let levels = [Isolation::RepeatableRead, Isolation::ReadCommitted];
        let client = &mut self.clients[me];
        client.session.settings.isolation = levels[self.rng.index(2)];
        client.session.begin(AccessMode::ReadWrite, self.rng.one_in(2)).unwrap();
        client.open = true;
        client.savepoint = None;
    }

    fn end(&mut self, me: usize, commit: bool) {
        let client = &mut self.clients[me];
        if commit {
            self.committing = Some(me);
            client.session.commit().unwrap().wait().unwrap();
            client.changes = Changes::default();
            self.committing = None;
        } else {
            client.session.rollback().unwrap();
            self.model.roll_back(&mut client.changes, 0);
        }
        client.open = false;
    }

    /// What a statement may fail with: waits if others are open, duplicates if the model has one.
    fn judge(&mut self, me: usize, error: &Error, conflict: bool, what: &str) {
        match error {
            Error::LockWaitTimeout => {
                let locks = || self.bed.engine.core().txn.locks().snapshot();
                assert!(self.others_are_open(me), "{what} waits for nobody: {:#?}", locks());
                self.timeouts += 1;
            }
            Error::DuplicateKey { .. } => {
                assert!(conflict, "{what}: {error}");
                self.duplicates += 1;
            }
            error => panic!("{what}: {error}"),
        }
    }

    fn insert(&mut self, me: usize, table: usize) {
        let values = self.row(table);
        let conflict = self.model.tables[table].conflict(&values, None).is_some();
        let fields: Vec<_> = values.iter().map(Option::as_deref).collect();
        let t = self.tables[table].clone();
        match self.clients[me].session.run(|s| s.insert(&t, &fields)) {
            Ok(key) => {
                assert!(!conflict, "{} takes a duplicate: {values:?}", t.name);
                self.model.insert(&mut self.clients[me].changes, table, key, values);
            }
            Err(e) => self.judge(me, &e, conflict, "insert"),
        }
    }

    fn some_row(&mut self, table: usize) -> Option<ModelRow> {
        let rows = &self.model.tables[table].rows;
        (!rows.is_empty()).then(|| rows[self.rng.index(rows.len())].clone())
    }

    fn update(&mut self, me: usize, table: usize) {
        let Some(row) = self.some_row(table) else { return };
        let fresh = self.row(table);
        let mut values = row.values.clone();
        let mut columns = Vec::new();
        for (column, value) in fresh.iter().enumerate() {
            if self.rng.one_in(2) {
                values[column].clone_from(value);
                columns.push(column);
            }
        }
        let conflict = self.model.tables[table].conflict(&values, Some(&row.key)).is_some();
        let changes: Vec<_> = columns.iter().map(|&c| (c, values[c].as_deref())).collect();
        let t = self.tables[table].clone();
        match self.clients[me].session.run(|s| s.update(&t, &row.key, &changes)) {
            Ok(changed) => {
                assert_eq!(changed, values != row.values, "{}: {changes:?}", t.name);
                assert!(!changed || !conflict, "{} takes a duplicate: {values:?}", t.name);
                if changed {
                    let key = self.key_now(table, &row.key, &values);
                    let new = ModelRow { key, values };
                    self.model.update(&mut self.clients[me].changes, table, &row.key, new);
                }
            }
            Err(e) => self.judge(me, &e, conflict, "update"),
        }
    }

    /// The clustered key of a row that had the key `old` and has these values now.
    fn key_now(&self, table: usize, old: &RowKey, values: &Row) -> RowKey {
        let Some(parts) = &self.specs[table].primary_key else { return old.clone() };
        let field = |p: &vaquita_format::index_def::KeyPart| {
            let value = values[p.column].clone().unwrap();
            let def = &self.specs[table].columns[p.column].def;
            if p.prefix_len == 0 {
                return value;
            }
            let text = String::from_utf8(value).unwrap();
            text.chars()
                .take(p.prefix_len as usize / usize::from(def.mbmaxlen))
                .collect::<String>()
                .into_bytes()
        };
        let fields: Vec<Vec<u8>> = parts.iter().map(field).collect();
        RowKey::new(fields.iter().map(Vec::as_slice))
    }

    fn delete(&mut self, me: usize, table: usize) {
        let Some(row) = self.some_row(table) else { return };
        let t = self.tables[table].clone();
        match self.clients[me].session.run(|s| s.delete(&t, &row.key)) {
            Ok(deleted) => {
                assert!(deleted, "{} has no {row:?}", t.name);
                self.model.delete(&mut self.clients[me].changes, table, &row.key);
            }
            Err(e) => self.judge(me, &e, false, "delete"),
        }
    }

    /// Several changes in one statement, which then fails.
    fn failing_statement(&mut self, me: usize, table: usize) {
        let rows: Vec<Row> = (0..3).map(|_| self.row(table)).collect();
        let victim = self.some_row(table);
        let t = self.tables[table].clone();
        let done = self.clients[me].session.run(|s| -> vaquita_engine::Result<()> {
            if let Some(row) = &victim {
                s.delete(&t, &row.key)?;
            }
            for row in &rows {
                let fields: Vec<_> = row.iter().map(Option::as_deref).collect();
                s.insert(&t, &fields)?;
            }
            Err(Error::WrongState("the statement fails"))
        });
        let expected = |e: &Error| {
            matches!(e, Error::WrongState(_) | Error::DuplicateKey { .. } | Error::LockWaitTimeout)
        };
        assert!(done.as_ref().is_err_and(expected), "{done:?}");
    }

    pub(crate) fn step(&mut self) {
        let me = self.rng.index(self.clients.len());
        let table = self.rng.index(self.tables.len());
        if !self.clients[me].open {
            self.begin(me);
        }
        match self.rng.below(40) {
            0..=1 => self.end(me, true),
            2 => self.end(me, false),
            3 => {
                let client = &mut self.clients[me];
                client.session.savepoint("s");
                client.savepoint = Some(client.changes.len());
            }
            4 => {
                let client = &mut self.clients[me];
                if let Some(keep) = client.savepoint {
                    client.session.rollback_to_savepoint("s").unwrap();
                    self.model.roll_back(&mut client.changes, keep);
                }
            }
            5 => self.failing_statement(me, table),
            6 => {
                self.bed.engine.core().purge_step().unwrap();
            }
            7..=18 => {
                // Many rows come in crowds.
                for _ in 0..self.compare_every.min(8) {
                    self.insert(me, table);
                }
            }
            19..=32 => self.update(me, table),
            _ => self.delete(me, table),
        }
        self.steps += 1;
        if self.steps.is_multiple_of(self.compare_every) {
            self.compare(table);
        }
    }

    fn compare(&self, table: usize) {
        let (found, expected) = self.both(table);
        assert_eq!(found, expected, "{}", self.tables[table].name);
    }

    /// What a table holds and what the model does, in the same order.
    fn both(&self, table: usize) -> (Rows, Rows) {
        let mut found = self.bed.rows(&self.tables[table]);
        let mut expected: Rows =
            self.model.tables[table].rows.iter().map(|r| (r.key.clone(), r.values.clone())).collect();
        let order = |(key, _): &(RowKey, Row)| key.fields().map(<[u8]>::to_vec).collect::<Vec<_>>();
        found.sort_by_key(order);
        expected.sort_by_key(order);
        (found, expected)
    }

    /// Opens the folder again after a power cut.
    pub(crate) fn recover(&mut self) {
        let committing = self.committing.take();
        for client in std::mem::take(&mut self.clients) {
            let mut changes = client.changes;
            let in_doubt = committing == Some(self.clients.len());
            drop(client.session);
            self.clients.push(Client {
                session: self.bed.session(),
                changes: if in_doubt { std::mem::take(&mut changes) } else { Changes::default() },
                open: false,
                savepoint: None,
            });
            if !in_doubt {
                self.model.roll_back(&mut changes, 0);
            }
        }
        let in_doubt: Vec<Changes> =
            std::mem::take(&mut self.clients).into_iter().map(|c| c.changes).collect();
        self.bed = Bed::open(self.bed.disk.restart());
        self.check_recovered(in_doubt);
    }

    /// Takes everything under way back, if that can be.
    pub(crate) fn roll_back_all(&mut self) {
        for client in &mut self.clients {
            let _ = client.session.rollback();
        }
    }

    /// Changes of transactions that are under way.
    pub(crate) fn unfinished(&self) -> usize {
        self.clients.iter().map(|c| c.changes.len()).sum()
    }

    /// Goes on with a folder in which all transactions under way were taken back by somebody else.
    pub(crate) fn reopen(&mut self, bed: Bed) {
        for mut client in std::mem::take(&mut self.clients) {
            self.model.roll_back(&mut client.changes, 0);
        }
        self.bed = bed;
        self.check_recovered(Vec::new());
    }

    fn check_recovered(&mut self, in_doubt: Vec<Changes>) {
        let core = self.bed.engine.core();
        while core.rollback_step().unwrap() {}
        self.tables = self.specs.iter().map(|spec| self.bed.table(&spec.name)).collect();
        let as_it_is = self.differences();
        for mut changes in in_doubt {
            if changes.len() > 0 && !as_it_is.is_empty() {
                self.model.roll_back(&mut changes, 0);
            }
        }
        for table in 0..self.tables.len() {
            self.compare(table);
            self.bed.purge_and_check(&self.tables[table]);
        }
    }

    /// Tables that do not hold what the model does.
    fn differences(&self) -> Vec<usize> {
        let same = |&table: &usize| {
            let (found, expected) = self.both(table);
            found != expected
        };
        (0..self.tables.len()).filter(same).collect()
    }

    /// Deletes every other row, in the order of the keys.
    fn empty_half(&mut self) {
        for table in 0..self.tables.len() {
            let t = self.tables[table].clone();
            self.begin(0);
            for key in self.bed.rows(&t).into_iter().map(|(key, _)| key) {
                if !self.rng.one_in(3) {
                    self.clients[0].session.run(|s| s.delete(&t, &key)).unwrap();
                    self.model.delete(&mut self.clients[0].changes, table, &key);
                }
            }
            self.end(0, true);
        }
        self.settle();
    }

    fn settle(&mut self) {
        for me in 0..self.clients.len() {
            let commit = !self.rng.one_in(3);
            self.end(me, commit);
        }
        for table in 0..self.tables.len() {
            self.compare(table);
            let report = self.bed.purge_and_check(&self.tables[table]);
            assert_eq!(report.rows, self.model.tables[table].rows.len() as u64);
        }
    }
}

fn run(seed: u64, n_clients: usize, steps: usize) {
    run_in(World::new(seed, n_clients), seed, steps);
}

fn run_in(mut world: World, seed: u64, steps: usize) {
    for n in 0..steps {
        world.step();
        if n % 200 == 199 {
            world.settle();
        }
    }
    world.settle();
    println!("seed {seed}: {} waits refused, {} duplicates", world.timeouts, world.duplicates);
    assert!(world.duplicates > 0);
}

/// Whole trees: pages of every index are split, filled, emptied and merged, under waits that fail and rollbacks.
#[test]
fn many_rows() {
    for seed in 30..31 {
        let mut world = World::new(seed, 3);
        world.shape = WIDE;
        world.compare_every = 50;
        for round in 0..4 {
            for _ in 0..1_500 {
                world.step();
            }
            world.settle();
            if round % 2 == 1 {
                world.empty_half();
            }
        }
        let trees = || world.tables.iter().flat_map(|t| &t.indexes).map(|i| i.tree.stats());
        let (splits, merges): (u64, u64) =
            (trees().map(|s| s.splits.get()).sum(), trees().map(|s| s.merges.get()).sum());
        println!("seed {seed}: {splits} splits, {merges} merges");
        assert!(splits > 300 && merges > 200, "{splits} splits, {merges} merges");
    }
}

#[test]
fn one_transaction_at_a_time() {
    for seed in 1..6 {
        run(seed, 1, 1_500);
    }
}

#[test]
fn four_transactions_at_once() {
    for seed in 10..20 {
        run(seed, 4, 1_500);
    }
}

/// In one transaction with the others, and alone.
#[test]
fn temporary_tables() {
    for seed in 40..46 {
        run_in(World::with_temporary_tables(seed), seed, 1_500);
    }
}

#[test]
fn many_rows_of_temporary_tables() {
    let mut world = World::with_temporary_tables(47);
    world.shape = WIDE;
    world.compare_every = 50;
    for _ in 0..3 {
        for _ in 0..1_500 {
            world.step();
        }
        world.settle();
        world.empty_half();
    }
}
