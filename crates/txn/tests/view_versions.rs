//! Rows in memory, their old versions in undo logs: transfers between accounts under views, rollback and purge.
//!
//! Whatever a view needs is still in the undo logs when it asks, whichever way transactions end, while purge frees
//! everything that no view needs.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use vaquita_base::{Rng, RollPtr, TableId, TrxId};
use vaquita_format::undo::UndoKind;
use vaquita_format::undo::record::{
    NO_ORDER_CHANGE, OldVersion, UndoHeader, UndoRecord, UndoType, UndoValue, UpdateWriter,
};
use vaquita_txn::undo::{History, UndoBuf, UndoOf};
use vaquita_txn::{AccessMode, Isolation, ReadView, Trx, TrxSystem};

const ACCOUNTS: usize = 5;
const TOTAL: i64 = 100 * ACCOUNTS as i64;
/// Roll pointer of a row that was inserted.
const INSERTED: RollPtr = RollPtr(1 << 55);

/// A clustered record.
#[derive(Debug, Clone, Copy)]
struct Row {
    trx_id: TrxId,
    roll_ptr: RollPtr,
    balance: i64,
}

struct Bank {
    sys: Arc<TrxSystem>,
    /// Behind the latch of its page.
    rows: Vec<Mutex<Row>>,
    locks: Vec<Mutex<()>>,
    done: AtomicBool,
    audits: AtomicUsize,
}

fn old_version(out: &UndoBuf) -> Row {
    let record = UndoRecord::parse(out.body(), 1).unwrap();
    let old = record.old.unwrap();
    let (_, balance) = record.updates().next().unwrap();
    let balance = i64::from_le_bytes(balance.bytes().unwrap().try_into().unwrap());
    Row { trx_id: old.trx_id, roll_ptr: old.roll_ptr, balance }
}

impl Bank {
    fn new(seed: u64) -> Bank {
        let row = Row { trx_id: TrxId(0), roll_ptr: INSERTED, balance: 100 };
        Bank {
            sys: folder::fresh(seed),
            rows: (0..ACCOUNTS).map(|_| Mutex::new(row)).collect(),
            locks: (0..ACCOUNTS).map(|_| Mutex::new(())).collect(),
            done: AtomicBool::new(false),
            audits: AtomicUsize::new(0),
        }
    }

    /// Changes a row as the engine does: undo record first, then the row under its latch.
    fn change(&self, trx: &mut Trx, account: usize, by: i64) {
        let old = *self.rows[account].lock().unwrap();
        let (ty, undo_no) = (UndoType::UpdateExisting, trx.undo_no());
        let header = UndoHeader {
            ty,
            cmpl_info: NO_ORDER_CHANGE,
            external_updated: false,
            undo_no,
            table_id: TableId(1_000),
        };
        let version = OldVersion { info_bits: 0, trx_id: old.trx_id, roll_ptr: old.roll_ptr };
        let mut body = Vec::new();
        let mut writer = UpdateWriter::new(&mut body, header, version);
        writer.key([UndoValue::Inline(&[account as u8])]);
        writer.updates([(3, UndoValue::Inline(&old.balance.to_le_bytes()))]);
        let roll_ptr = self.sys.append_undo(trx, UndoOf::Tables, UndoKind::Update, &body).unwrap();
        *self.rows[account].lock().unwrap() = Row { trx_id: trx.id(), roll_ptr, balance: old.balance + by };
    }

    fn roll_back(&self, trx: &mut Trx) {
        let mut out = UndoBuf::default();
        while self.sys.newest_undo(trx, 0, &mut out).unwrap().is_some() {
            let record = UndoRecord::parse(out.body(), 1).unwrap();
            let account = record.key().next().unwrap().bytes().unwrap()[0];
            *self.rows[usize::from(account)].lock().unwrap() = old_version(&out);
            self.sys.forget_undo(trx, record.header.undo_no).unwrap();
        }
        self.sys.finish_rollback(trx).unwrap();
    }

    fn transfer(&self, trx: &mut Trx, rng: &mut Rng) {
        self.sys.start(trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
        let from = rng.index(ACCOUNTS - 1);
        let to = from + 1 + rng.index(ACCOUNTS - 1 - from);
        let _locks: [MutexGuard<'_, ()>; 2] = [from, to].map(|n| self.locks[n].lock().unwrap());
        self.change(trx, from, -1);
        self.change(trx, to, 1);
        if rng.one_in(4) {
            self.roll_back(trx);
        } else {
            self.sys.commit(trx).unwrap();
        }
    }

    /// The balance under a view.
    fn read(&self, view: &ReadView, account: usize, out: &mut UndoBuf) -> i64 {
        let latched = self.rows[account].lock().unwrap();
        let mut row = *latched;
        while !view.sees(&self.sys, row.trx_id) {
            assert_ne!(row.roll_ptr, INSERTED, "the first version is everyone's");
            self.sys
                .read_undo(UndoOf::Tables, row.roll_ptr, out)
                .unwrap_or_else(|e| panic!("{e}: {row:?} under {view:?}"));
            row = old_version(out);
        }
        row.balance
    }

    fn audit(&self) {
        let (mut trx, mut out) = (self.sys.new_trx(), UndoBuf::default());
        while !self.done.load(Ordering::Relaxed) {
            self.sys.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadOnly);
            let view = self.sys.read_view(&mut trx);
            let mut read = || (0..ACCOUNTS).map(|n| self.read(&view, n, &mut out)).collect::<Vec<_>>();
            let balances = read();
            assert_eq!(balances.iter().sum::<i64>(), TOTAL, "half a transfer under {view:?}");
            assert_eq!(read(), balances, "a view that changes");
            self.sys.commit(&mut trx).unwrap();
            self.audits.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn purge(&self, history: &mut History) -> bool {
        let mut records = Vec::new();
        let moved = history.fetch(&self.sys, &self.sys.oldest_view(), 20, &mut records).unwrap();
        history.truncate(&self.sys).unwrap();
        moved
    }
}

#[test]
fn what_a_view_needs_is_there_and_nothing_else_stays() {
    let bank = Bank::new(1);
    let mut history = History::default();
    // Tells the others to end, also if a thread panics.
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                let _done = Done(&bank.done);
                bank.audit();
            });
        }
        s.spawn(|| {
            let _done = Done(&bank.done);
            while !bank.done.load(Ordering::Relaxed) {
                bank.purge(&mut history);
            }
        });
        let writers: Vec<_> = (0..4)
            .map(|t| {
                let bank = &bank;
                s.spawn(move || {
                    let (mut rng, mut trx) = (Rng::new(t), bank.sys.new_trx());
                    for n in 0.. {
                        bank.transfer(&mut trx, &mut rng);
                        let enough = n >= 500 && bank.audits.load(Ordering::Relaxed) >= 300;
                        if enough || bank.done.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                })
            })
            .collect();
        let ended: Vec<_> = writers.into_iter().map(|w| w.join()).collect();
        drop(Done(&bank.done));
        assert!(ended.iter().all(Result::is_ok));
    });
    while bank.purge(&mut history) {}
    assert_eq!(bank.sys.history_len(), 0);
    let balances: i64 = bank.rows.iter().map(|row| row.lock().unwrap().balance).sum();
    assert_eq!(balances, TOTAL);
}

#[test]
fn a_view_from_before_a_thousand_changes_still_reads_its_version() {
    let bank = Bank::new(2);
    let (mut rng, mut history, mut trx) = (Rng::new(2), History::default(), bank.sys.new_trx());
    let mut old = bank.sys.new_trx();
    bank.sys.start(&mut old, Isolation::RepeatableRead, AccessMode::ReadOnly);
    let view = bank.sys.read_view(&mut old);
    for _ in 0..1_000 {
        bank.transfer(&mut trx, &mut rng);
        bank.purge(&mut history);
    }
    let kept = bank.sys.history_len();
    assert!(kept > 500, "{kept} logs");
    let mut out = UndoBuf::default();
    assert!((0..ACCOUNTS).all(|n| bank.read(&view, n, &mut out) == 100));
    bank.sys.commit(&mut old).unwrap();
    while bank.purge(&mut history) {}
    assert_eq!(bank.sys.history_len(), 0);
}
