//! Exports, again and again, beside sessions that write other tables and the exported one and read it: these wait, those go on; each
//! copy is sound and comes in here, and some of them into MySQL 5.6.24. Definitions change instantly in between; one file is elsewhere.
//!
//! `VAQUITA_EXPORT_ROUNDS` says how many rounds (`cargo xtask torture`: 100).
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{Scratch, vaquita};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use vaquita_base::Rng;
use vaquita_clients::Vaquita;
use vaquita_isolation::mysql::{Answer, Client};
use vaquita_peers::{Mysql56, Options, Server};

/// Rounds between two of which the copy goes to the real server.
const THEIRS_EVERY: u64 = 10;
const EXPORTED: [&str; 2] = ["near", "far"];
const LISTED: &str = "select id, k, v, crc32(l), length(l), u from";

fn rounds() -> u64 {
    std::env::var("VAQUITA_EXPORT_ROUNDS").map_or(3, |rounds| rounds.parse().expect("a number of rounds"))
}

fn rows(client: &mut Client, sql: &str) -> Vec<Vec<Option<String>>> {
    match client.query(sql) {
        Ok(Answer::Rows(rows)) => rows,
        other => panic!("{sql}: {other:?}"),
    }
}

fn run(client: &mut Client, sql: &str) {
    if let Err(e) = client.query(sql) {
        panic!("{sql}: {e}");
    }
}

fn change(client: &mut Client, rng: &mut Rng, table: &str) {
    let (id, k) = (rng.below(2_000), rng.below(500));
    let long = if rng.one_in(8) { 20_000 } else { rng.index(200) };
    run(
        client,
        &match rng.below(4) {
            0 => format!("delete from {table} where id between {id} and {id} + 4"),
            1 => format!(
                "update {table} set k = {k}, l = repeat('u', {long}), u = u + 1 where id between {id} and {id} + 3"
            ),
            // The table does not grow for ever.
            _ => format!(
                "replace into {table} (id, k, v, l) values (1 + {id}, {k}, repeat('v', {k} % 60), repeat('l', {long}))"
            ),
        },
    );
}

/// What the sessions beside the exports share.
#[derive(Default)]
struct Shared {
    ended: AtomicBool,
    /// Changes of each exported table, of another one, and reads of exported ones, that are done.
    changed: [AtomicU64; 2],
    others: AtomicU64,
    read: AtomicU64,
}

impl Shared {
    fn loop_with(
        &self,
        socket: &Path,
        seed: u64,
        count: &AtomicU64,
        mut step: impl FnMut(&mut Client, &mut Rng),
    ) {
        let mut client = Client::connect(socket, "d").unwrap();
        let mut rng = Rng::new(seed);
        while !self.ended.load(Ordering::Relaxed) {
            step(&mut client, &mut rng);
            count.fetch_add(1, Ordering::SeqCst);
            // Machines of two cores have something else to do, too.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Ends the sessions beside the exports, also when these fail.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until a counter has moved on.
fn goes_on(count: &AtomicU64, what: &str) {
    let (from, begun) = (count.load(Ordering::SeqCst), Instant::now());
    while count.load(Ordering::SeqCst) < from + 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what} wait");
        std::thread::sleep(Duration::from_millis(1));
    }
}

struct Loop<'a> {
    scratch: &'a Scratch,
    theirs: &'a Server,
    ours: Client,
    other: Client,
}

impl Loop<'_> {
    /// One export: the copy is what was there, and comes in.
    fn round(&mut self, round: u64, table: &str, shared: &Shared) {
        let what = format!("{table}, round {round}");
        run(&mut self.ours, &format!("flush tables {table} for export"));
        let changes = &shared.changed[usize::from(table == "far")];
        let changed = changes.load(Ordering::SeqCst);
        let wanted = rows(&mut self.ours, &format!("{LISTED} {table} order by id"));
        goes_on(&shared.read, "readers of an exported table");
        goes_on(&shared.others, "writers of other tables");
        let created = rows(&mut self.ours, &format!("show create table {table}"))[0][1].clone().unwrap();
        let home = if table == "far" { "far" } else { "data" };
        let copies = self.scratch.0.join(format!("copy-{table}-{round}"));
        fs::create_dir_all(&copies).unwrap();
        for kind in ["ibd", "cfg"] {
            let from = self.scratch.0.join(format!("{home}/d/{table}.{kind}"));
            fs::copy(&from, copies.join(format!("{table}.{kind}"))).unwrap();
        }
        // Only one of the two tables is exported: its writer has been waiting since.
        let again = rows(&mut self.ours, &format!("{LISTED} {table} order by id"));
        assert!(again == wanted, "{what}: it changed while it was exported");
        let done = changes.load(Ordering::SeqCst) - changed;
        assert!(done <= 1, "{what}: {done} changes were done while their table was exported");
        run(&mut self.ours, "unlock tables");
        let file = copies.join(format!("{table}.ibd"));
        let (code, out, err) = vaquita(&[&"check", &file]);
        assert_eq!((code, &*err), (0, ""), "{what}: {out}");
        self.here(&file, table, &created, &wanted, &what);
        if round % THEIRS_EVERY == THEIRS_EVERY - 1 || round + 1 == rounds() {
            self.there(&copies, table, &created, &wanted, &what);
        }
        fs::remove_dir_all(&copies).unwrap();
    }

    fn here(&mut self, file: &Path, table: &str, created: &str, wanted: &[Vec<Option<String>>], what: &str) {
        let sql = file.with_extension("sql");
        // The file that comes in is no file elsewhere.
        let plain = created.split(" DATA DIRECTORY").next().unwrap();
        fs::write(&sql, plain).unwrap();
        run(&mut self.ours, "use i");
        run(&mut self.ours, &format!("import table from '{}'", file.display()));
        let report = rows(&mut self.ours, &format!("check table {table}"));
        assert_eq!(report.last().unwrap()[3].as_deref(), Some("OK"), "{what}: {report:?}");
        assert!(
            rows(&mut self.ours, &format!("{LISTED} {table} order by id")) == wanted,
            "{what}: other rows here"
        );
        run(&mut self.ours, &format!("drop table {table}"));
        run(&mut self.ours, "use d");
    }

    fn there(
        &mut self,
        copies: &Path,
        table: &str,
        created: &str,
        wanted: &[Vec<Option<String>>],
        what: &str,
    ) {
        let far = self.scratch.0.join("theirs");
        let elsewhere =
            created.replace(&self.scratch.0.join("far").display().to_string(), &far.display().to_string());
        run(&mut self.other, &format!("drop table if exists {table}"));
        run(&mut self.other, &elsewhere);
        run(&mut self.other, &format!("alter table {table} discard tablespace"));
        let home = if table == "far" { far.join("d") } else { self.theirs.datadir().join("d") };
        for kind in ["ibd", "cfg"] {
            fs::copy(copies.join(format!("{table}.{kind}")), home.join(format!("{table}.{kind}"))).unwrap();
        }
        run(&mut self.other, &format!("alter table {table} import tablespace"));
        assert_eq!(rows(&mut self.other, "show warnings"), Vec::<Vec<Option<String>>>::new(), "{what}");
        let report = rows(&mut self.other, &format!("check table {table}"));
        assert_eq!(report.last().unwrap()[3].as_deref(), Some("OK"), "{what}: {report:?}");
        assert!(
            rows(&mut self.other, &format!("{LISTED} {table} order by id")) == wanted,
            "{what}: other rows there"
        );
    }
}

#[test]
fn exports_beside_load() {
    let scratch = Scratch::new("exports-load");
    let far = scratch.0.join("far");
    for dir in ["far", "theirs"] {
        fs::create_dir_all(scratch.0.join(dir)).unwrap();
    }
    let data = scratch.0.join("data");
    let options = ["--innodb-flush-log-at-trx-commit=0", "--secure-file-priv="];
    let mut ours = Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &data, &options).unwrap();
    let mut theirs = Mysql56::start(Options::new().set("innodb_file_format", "Barracuda")).unwrap();
    let mut client = Client::connect(&ours.socket(), "").unwrap();
    let mut other = Client::connect(&theirs.socket(), "").unwrap();
    ["create database d", "create database i", "use d"].iter().for_each(|sql| run(&mut client, sql));
    ["create database d", "use d"].iter().for_each(|sql| run(&mut other, sql));
    let columns = "(id int not null auto_increment, k int, v varchar(60) character set utf8, l longblob, u int not null default 7, \
        primary key (id), key k (k), key kv (k, v(10)))";
    run(&mut client, &format!("create table near {columns} engine=innodb row_format=compact"));
    run(
        &mut client,
        &format!(
            "create table far {columns} engine=innodb row_format=dynamic data directory='{}'",
            far.display()
        ),
    );
    run(&mut client, &format!("create table beside {columns}"));
    let mut rng = Rng::new(5);
    for table in ["near", "far", "beside"] {
        (0..300).for_each(|_| change(&mut client, &mut rng, table));
    }
    let shared = Shared::default();
    std::thread::scope(|scope| {
        let (shared, socket) = (&shared, ours.socket());
        for (n, table) in ["near", "far", "beside"].into_iter().enumerate() {
            let socket = socket.clone();
            scope.spawn(move || {
                let count = shared.changed.get(n).unwrap_or(&shared.others);
                shared.loop_with(&socket, n as u64, count, |client, rng| change(client, rng, table));
            });
        }
        let reader = socket.clone();
        scope.spawn(move || {
            shared.loop_with(&reader, 9, &shared.read, |client, rng| {
                let table = EXPORTED[rng.index(2)];
                rows(client, &format!("select count(*), sum(k), sum(length(l)) from {table}"));
            });
        });
        let _end = End(&shared.ended);
        let mut exports = Loop { scratch: &scratch, theirs: &theirs, ours: client, other };
        for round in 0..rounds() {
            for table in EXPORTED {
                // Rows of several versions are written anew for the export.
                let instant = if round % 2 == 0 {
                    "add column x int not null default 5 after k"
                } else {
                    "drop column x"
                };
                run(&mut exports.ours, &format!("alter table {table} {instant}"));
                exports.round(round, table, shared);
            }
        }
    });
    theirs.shutdown().unwrap();
    ours.stop().unwrap();
    let (code, out, err) = vaquita(&[&"check", &data]);
    assert_eq!((code, &*err), (0, ""), "{out}");
}
