//! Undo logs and a real MySQL 5.6.24, both ways, in one folder: what a killed server left is found, and a server takes over
//! what we leave: it rolls back our active transactions, keeps our prepared ones, purges our history.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::path::Path;
use std::sync::Arc;
use vaquita_base::{PageId, SpaceId, SystemClock, TableId, TrxId};
use vaquita_format::rseg::RollbackSegment;
use vaquita_format::trx_sys;
use vaquita_format::undo::record::{OldVersion, UndoHeader, UndoType, UndoValue, UpdateWriter, push_insert};
use vaquita_format::undo::{UndoKind, UndoPlace, Xid};
use vaquita_io::real::{RealDisk, RealDiskOptions};
use vaquita_peers::{Mysql56, Options, Server, until};
use vaquita_storage::Storage;
use vaquita_txn::trx_sys::Resurrected;
use vaquita_txn::undo::{History, UndoBuf, UndoOf};
use vaquita_txn::{AccessMode, Isolation, Trx, TrxSystem};

/// A table that no dictionary knows: the server passes over its undo records.
const NOBODYS: TableId = TableId(1_000_000);

/// Opens the server's folder. If it was killed, its redo is applied.
fn open(dir: &Path) -> (Arc<Storage>, Arc<TrxSystem>, Vec<Resurrected>) {
    let fs = Arc::new(RealDisk::new(RealDiskOptions::default()));
    let options = vaquita_storage::Options {
        buffer_pool_size: 32 << 20,
        log_file_size: 16 << 20,
        take_over: true,
        ..vaquita_storage::Options::new(dir)
    };
    let storage = Arc::new(Storage::open(fs, Arc::new(SystemClock::new()), options).unwrap());
    let (system, found) = TrxSystem::open(storage.clone(), vaquita_txn::Options::default()).unwrap();
    (storage, system, found)
}

/// Shuts down and takes the redo log away: the server makes one of its own.
fn close(storage: &Storage, dir: &Path) {
    storage.close().unwrap();
    for n in 0..2 {
        std::fs::remove_file(dir.join(format!("ib_logfile{n}"))).unwrap();
    }
}

fn append(system: &TrxSystem, trx: &mut Trx, kind: UndoKind, len: usize) {
    let (mut body, value, undo_no) = (Vec::new(), vec![7; len], trx.undo_no());
    if kind == UndoKind::Insert {
        push_insert(&mut body, undo_no, NOBODYS, [UndoValue::Inline(&value)]);
    } else {
        let header = UndoHeader {
            ty: UndoType::DeleteMark,
            cmpl_info: 0,
            external_updated: false,
            undo_no,
            table_id: NOBODYS,
        };
        let old = OldVersion { info_bits: 0, trx_id: TrxId(1), roll_ptr: vaquita_base::RollPtr(1 << 55) };
        let mut writer = UpdateWriter::new(&mut body, header, old);
        writer.key([UndoValue::Inline(&value)]);
        writer.ordering([(0, UndoValue::Inline(b"key"))]).unwrap();
    }
    system.append_undo(trx, UndoOf::Tables, kind, &body).unwrap();
}

fn begin(system: &TrxSystem) -> Trx {
    let mut trx = system.new_trx();
    system.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
    trx
}

/// `History list length` of the server's monitor.
fn history_list_length(server: &Server) -> u64 {
    let monitor = server.sql("show engine innodb status").unwrap();
    let (_, rest) = monitor.split_once("History list length ").unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Pages of the histories of all rollback segments.
fn history_pages(storage: &Storage) -> u32 {
    let page = |no| storage.pool().get_shared(PageId::new(SpaceId::SYSTEM, no)).unwrap();
    let headers: Vec<_> = (0..128).map(|n| trx_sys::rseg(&page(trx_sys::PAGE), n).unwrap().1).collect();
    headers.into_iter().map(|no| RollbackSegment::new(&page(no)).history_size()).sum()
}

/// A server with an active and a prepared transaction, and a history that a read view keeps; killed. The id of the
/// active one, its number of undo records, and the length of the history.
fn killed_server(server: &mut Server) -> (u64, u64, u64) {
    server
        .sql(
            "create database d; use d;
             create table t (id int primary key, v varchar(200), key (v)) engine=innodb;
             insert into t values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
             insert into t select id + 4, v from t; insert into t select id + 8, v from t;
             insert into t select id + 16, v from t; insert into t select id + 32, v from t;
             insert into t select id + 64, v from t; insert into t select id + 128, v from t;
             insert into t select id + 256, v from t; insert into t select id + 512, v from t;
             create table s (id int primary key, v int) engine=innodb; insert into s values (1, 1), (2, 2);",
        )
        .unwrap();
    let mut reader = server.session().unwrap();
    reader.run("start transaction with consistent snapshot").unwrap();
    let mut active = server.session().unwrap();
    active.run("begin").unwrap();
    active.run("update d.t set v = concat(v, repeat('x', 150)) where id <= 900").unwrap();
    active.run("insert into d.t values (5000, 'new'), (5001, 'new')").unwrap();
    active.run("delete from d.t where id > 1000 and id <= 1010").unwrap();
    let rows =
        server.rows("select trx_id, trx_rows_modified from information_schema.innodb_trx order by 2 desc");
    let rows = rows.unwrap();
    let (id, records) = (rows[0][0].parse().unwrap(), rows[0][1].parse().unwrap());
    let mut prepared = server.session().unwrap();
    for statement in [
        "xa start 'global', 'branch', 77",
        "update d.s set v = 20 where id = 2",
        "insert into d.s values (3, 3)",
        "xa end 'global', 'branch', 77",
        "xa prepare 'global', 'branch', 77",
    ] {
        prepared.run(statement).unwrap();
    }
    server.sql("update d.s set v = 10 where id = 1; update d.s set v = 11 where id = 1;").unwrap();
    // Durable: the log is flushed with the last commit.
    server.sql("set global innodb_flush_log_at_trx_commit = 1; update d.s set v = 12 where id = 1;").unwrap();
    let history = history_list_length(server);
    server.kill();
    (id, records, history)
}

#[test]
fn what_a_killed_server_left_is_found_and_given_back() {
    let mut server = Mysql56::start(Options::new()).unwrap();
    let (id, records, history) = killed_server(&mut server);
    let dir = server.datadir().to_owned();

    let (storage, system, mut found) = open(&dir);
    assert!(storage.report().recovery.is_some());
    assert_eq!(found.len(), 2, "{found:?}");
    let active = found.iter().position(|f| f.xid.is_none()).unwrap();
    assert_eq!((found[active].trx.id(), found[active].trx.undo_no()), (TrxId(id), records));
    assert!(records > 900 && !found[active].dict_operation);
    let xid = found[1 - active].xid.unwrap();
    assert_eq!((xid.format, xid.gtrid(), xid.bqual()), (77, &b"global"[..], &b"branch"[..]));
    assert_eq!(found[1 - active].trx.undo_no(), 2);
    // Purge may have freed what no view needed since we asked; the view needed the three updates of `s`.
    let left = system.history_len();
    assert!((3..=history).contains(&left), "{left} of {history}");
    assert!(system.next_id() > found[0].trx.id().max(found[1].trx.id()));

    // Its newest record is the last deletion; the records are numbered down to 0.
    let mut out = UndoBuf::default();
    let trx = &mut found[active].trx;
    let newest = system.newest_undo(trx, 0, &mut out).unwrap().unwrap();
    let header = UndoHeader::parse(out.body()).unwrap();
    assert_eq!((header.ty, header.undo_no), (UndoType::DeleteMark, records - 1));
    assert!(!UndoPlace::decode(newest).insert);
    // What the server committed: three updates of `s`, of which none changes a column with an index.
    let (mut purge, mut out) = (History::default(), Vec::new());
    assert!(purge.fetch(&system, &system.oldest_view(), 1_000, &mut out).unwrap());
    assert!(out.is_sorted_by_key(|r| r.trx_no));

    // Ours join them: a committed one of many pages, small ones, a prepared one, an active one.
    let mut many = begin(&system);
    for _ in 0..3_000 {
        append(&system, &mut many, UndoKind::Update, 100);
        append(&system, &mut many, UndoKind::Insert, 100);
    }
    system.commit(&mut many).unwrap();
    for _ in 0..200 {
        let mut small = begin(&system);
        append(&system, &mut small, UndoKind::Update, 10);
        append(&system, &mut small, UndoKind::Insert, 10);
        system.commit(&mut small).unwrap();
    }
    let mut prepared = begin(&system);
    append(&system, &mut prepared, UndoKind::Update, 10);
    append(&system, &mut prepared, UndoKind::Insert, 10);
    system.prepare(&mut prepared, Xid::new(5, b"ours", b"").unwrap()).unwrap();
    system.detach_prepared(prepared);
    let mut ours = begin(&system);
    for _ in 0..1_000 {
        append(&system, &mut ours, UndoKind::Update, 100);
        append(&system, &mut ours, UndoKind::Insert, 100);
    }
    assert_eq!(system.history_len(), left + 201);
    assert!(history_pages(&storage) > 10);
    close(&storage, &dir);
    drop((ours, found, system, storage));

    // The server takes over.
    let mut server_again = Mysql56::open(&dir, Options::new()).unwrap();
    let server = &mut server_again;
    until("the rollback of active transactions", || {
        let rows = server.rows("select trx_state from information_schema.innodb_trx").unwrap();
        rows.len() == 2
    });
    let recovered = server.rows("xa recover").unwrap();
    let mut xids: Vec<_> = recovered.iter().map(|row| row[3].as_str()).collect();
    xids.sort_unstable();
    assert_eq!(xids, ["globalbranch", "ours"]);
    assert_eq!(server.rows("select count(*), sum(length(v)) from d.t").unwrap(), [["1024", "1024"]]);
    server.sql("xa commit 'ours', '', 5; xa rollback 'global', 'branch', 77;").unwrap();
    assert_eq!(server.rows("select * from d.s order by id").unwrap(), [["1", "12"], ["2", "2"]]);
    let check = server.rows("check table d.t, d.s extended").unwrap();
    assert!(check.iter().all(|row| row[3] == "OK"), "{check:?}");
    // With everything purged.
    server.shutdown_slow().unwrap();
    let log = server.error_log();
    assert!(!log.contains("InnoDB: Error") && !log.contains("ssertion"), "{log}");

    // And back. The server leaves the purged logs of cached segments in their lists; the long one it has freed.
    let (storage, system, found) = open(&dir);
    assert!(found.is_empty());
    assert_eq!(history_pages(&storage), 0);
    let mut purge = History::default();
    while purge.fetch(&system, &system.oldest_view(), 300, &mut out).unwrap() {
        purge.truncate(&system).unwrap();
    }
    assert_eq!(system.history_len(), 0);
    storage.close().unwrap();
    drop((system, storage));
    let (storage, system, _) = open(&dir);
    assert_eq!(system.history_len(), 0);
    storage.close().unwrap();
}
