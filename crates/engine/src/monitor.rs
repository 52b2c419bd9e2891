//! What monitors show: locks, waits and deadlocks with the names of tables and indexes.

use crate::core::Core;
use std::fmt::Write;
use std::sync::atomic::Ordering;
use vaquita_base::{IndexId, TableId};
use vaquita_txn::lock::{DeadlockReport, Names};

/// Names of tables that are in memory, as MySQL's monitors quote them; numbers of others. Reads no page.
impl Names for Core {
    fn table(&self, table: TableId) -> String {
        match self.dict.in_memory(table) {
            Some(table) => match table.name.split_once('/') {
                Some((database, name)) => format!("`{database}`.`{name}`"),
                None => format!("`{}`", table.name),
            },
            None => table.to_string(),
        }
    }

    fn index(&self, table: TableId, index: IndexId) -> String {
        let found = self.dict.in_memory(table);
        let found = found.as_ref().and_then(|t| t.indexes.iter().find(|i| i.id == index));
        found.map_or_else(|| index.to_string(), |index| index.name.clone())
    }
}

impl Core {
    /// The last deadlock found, as SHOW ENGINE INNODB STATUS has it.
    pub fn last_deadlock(&self) -> Option<String> {
        Some(self.txn.locks().last_deadlock()?.describe(self))
    }

    /// All locks of records and tables, one per line; those that are waited for say so.
    pub fn describe_locks(&self) -> String {
        let snapshot = self.txn.locks().snapshot();
        let mut out = String::new();
        for lock in &snapshot.locks {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{}", lock.lock.describe(self));
        }
        out
    }

    /// Tells a deadlock to the error log (`print_all_deadlocks`).
    #[cold]
    pub(crate) fn tell_deadlock(&self, report: &DeadlockReport) {
        if self.live.print_all_deadlocks.load(Ordering::Relaxed) {
            self.notes.say(report.describe(self));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{AccessMode, Column, Engine, Error, Options, RowKey, TableSpec, stored};
    use std::sync::Arc;
    use vaquita_base::ManualClock;
    use vaquita_format::column::ColumnDef;
    use vaquita_format::index_def::KeyPart;
    use vaquita_io::sim::SimDisk;

    #[test]
    fn a_deadlock_is_reported_with_names() {
        let disk = SimDisk::new(1);
        disk.put_dir("/".as_ref());
        let mut options = Options::new("/db");
        options.storage.log_file_size = 4 << 20;
        options.background = false;
        let engine = Engine::open_with(Arc::new(disk), Arc::new(ManualClock::new()), options).unwrap();
        let columns = ["id", "n"].map(|name| Column::new(ColumnDef::int(name, 4, false).not_null()));
        let mut spec = TableSpec::new("bank/account", columns.to_vec());
        spec.primary_key = Some(vec![KeyPart::whole(0)]);
        let mut a = engine.session();
        a.create_table(&spec).unwrap();
        let table = a.run(|s| s.table("bank/account")).unwrap();
        for id in [1, 2] {
            a.run(|s| s.insert(&table, &[Some(&stored::int(id)), Some(&stored::int(0))])).unwrap();
        }
        let update = |session: &mut crate::Session, id: i32| {
            let key = RowKey::new([&stored::int(id)[..]]);
            session.run(|s| s.update(&table, &key, &[(1, Some(&stored::int(9)))])).map(|_| ())
        };
        a.begin(AccessMode::ReadWrite, false).unwrap();
        update(&mut a, 1).unwrap();
        assert!(engine.core().last_deadlock().is_none());
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let mut b = engine.session();
                b.begin(AccessMode::ReadWrite, false)?;
                update(&mut b, 2)?;
                // The first to ask waits, the second closes the cycle.
                update(&mut b, 1)
            });
            while engine.core().txn.locks().metrics().waiting == 0 {
                std::thread::yield_now();
            }
            assert!(engine.core().describe_locks().contains("table `bank`.`account`"));
            let mine = update(&mut a, 2);
            a.rollback().unwrap();
            let theirs = other.join().unwrap();
            let deadlocks = [&mine, &theirs].iter().filter(|r| matches!(r, Err(Error::Deadlock(_)))).count();
            assert_eq!(deadlocks, 1, "{mine:?} {theirs:?}");
        });
        let report = engine.core().last_deadlock().unwrap();
        assert!(
            report.contains("index PRIMARY of table `bank`.`account`") || report.contains("`PRIMARY`"),
            "{report}"
        );
    }
}
