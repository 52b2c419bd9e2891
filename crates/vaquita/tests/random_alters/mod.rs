//! Random changes of a table's definition beside sessions that write to it and sessions that read it: what was committed is there, and
//! nothing else; every snapshot is one; every index agrees with the rows. The same with a server that is killed again and again.
//!
//! Each writer has rows of its own and knows what is in them. The sum of `a` over all rows is always the same: rows come with 0, and what
//! one of them loses another gains.
//!
//! `VAQUITA_ALTERS_SECONDS=600` plays longer than every day, `VAQUITA_ALTERS_SEED=7` another game.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;
mod players;

use common::{Scratch, vaquita};
use players::{Altered, ROWS, Rows, WRITERS, Written, alter, read, write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use vaquita_base::Rng;
use vaquita_clients::Vaquita;
use vaquita_isolation::mysql::{Answer, Client};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// A server, the table, and what its writers know.
struct Game {
    scratch: Scratch,
    server: Vaquita,
    own: Vec<Rows>,
    seed: u64,
    altered: Altered,
    committed: u64,
    snapshots: u64,
}

impl Game {
    fn new(name: &str, options: &[&str]) -> Game {
        let scratch = Scratch::new(name);
        let data = scratch.0.join("data");
        let server = Vaquita::start(Path::new(env!("CARGO_BIN_EXE_vaquita")), &data, options).unwrap();
        let mut client = Client::connect(&server.socket(), "").unwrap();
        let table = "create table t (id int not null primary key, a int not null, v varchar(100) character set utf8 not null, key k0 (a))";
        ["create database d", "use d", table, "begin"]
            .iter()
            .for_each(|sql| drop(client.query(sql).unwrap()));
        let mut own: Vec<Rows> = vec![Rows::new(); WRITERS as usize];
        for id in 0..WRITERS * ROWS {
            client.query(&format!("insert into t values ({id}, 10, 'é')")).unwrap();
            own[(id % WRITERS) as usize].insert(id, (10, "é".into()));
        }
        client.query("commit").unwrap();
        let seed = number("VAQUITA_ALTERS_SEED", 1);
        Game { scratch, server, own, seed, altered: Altered::new(), committed: 0, snapshots: 0 }
    }

    /// All play for a time; `meanwhile` runs beside them and may end the server. What the writers did.
    fn play(&mut self, time: Duration, meanwhile: impl FnOnce(&mut Vaquita)) -> Vec<Written> {
        self.seed += 100;
        let (seed, socket, until) = (self.seed, &self.server.socket(), Instant::now() + time);
        let (ended, snapshots) = (&AtomicBool::new(false), &AtomicU64::new(0));
        let (written, altered) = std::thread::scope(|scope| {
            let writers: Vec<_> = (self.own.iter_mut().zip(seed..))
                .map(|(own, seed)| scope.spawn(move || write(socket, own, seed, ended)))
                .collect();
            for reader in 50..52 {
                scope.spawn(move || {
                    snapshots.fetch_add(read(socket, seed + reader, ended), Ordering::Relaxed)
                });
            }
            let altering = scope.spawn(move || alter(socket, seed + 99, until));
            meanwhile(&mut self.server);
            let altered = altering.join();
            ended.store(true, Ordering::Relaxed);
            (writers.into_iter().map(|writer| writer.join().unwrap()).collect::<Vec<_>>(), altered.unwrap())
        });
        for (outcome, n) in altered {
            *self.altered.entry(outcome).or_default() += n;
        }
        self.committed += written.iter().map(|written| written.committed).sum::<u64>();
        self.snapshots += snapshots.load(Ordering::Relaxed);
        written
    }

    /// The rows by an index; of `None` the names of all indexes.
    fn rows_by(client: &mut Client, index: &str) -> Rows {
        let sql = format!("select id, a, v from t force index (`{index}`) order by id");
        let Answer::Rows(rows) = client.query(&sql).unwrap() else { panic!("no rows") };
        let parsed = rows.into_iter().map(|row| {
            let [id, a, v] = [0, 1, 2].map(|i| row[i].clone().unwrap());
            (id.parse().unwrap(), (a.parse().unwrap(), v))
        });
        parsed.collect()
    }

    /// What is in the table is what the writers know. Of commits at which the server went it finds out whether they were done.
    fn check(&mut self, written: Vec<Written>) {
        let mut client = Client::connect(&self.server.socket(), "d").unwrap();
        client.query("set names utf8mb4").unwrap();
        let Answer::Rows(report) = client.query("check table t").unwrap() else { panic!("no report") };
        assert_eq!(report.last().unwrap()[3].as_deref(), Some("OK"), "{report:?}");
        let names = "select distinct index_name from information_schema.statistics where table_schema = 'd' and table_name = 't'";
        let Answer::Rows(indexes) = client.query(names).unwrap() else { panic!("no indexes") };
        for (n, index) in indexes.iter().map(|row| row[0].clone().unwrap()).enumerate() {
            let got = Self::rows_by(&mut client, &index);
            if n == 0 {
                for ((own, written), writer) in self.own.iter_mut().zip(&written).zip(0..) {
                    let there: Rows = got
                        .iter()
                        .filter(|(id, _)| **id % WRITERS == writer)
                        .map(|(id, row)| (*id, row.clone()))
                        .collect();
                    if let Some(perhaps) = written.perhaps.as_ref().filter(|perhaps| there == **perhaps) {
                        own.clone_from(perhaps);
                    }
                }
            }
            let wanted: Rows = self.own.iter().flatten().map(|(id, row)| (*id, row.clone())).collect();
            let differs = |id: &&u64| got.get(id) != wanted.get(id);
            let ids: Vec<_> = wanted.keys().chain(got.keys()).filter(differs).take(5).collect();
            let rows: Vec<_> = ids.iter().map(|id| (id, got.get(id), wanted.get(id))).collect();
            assert!(got == wanted, "by {index}, with what was wanted: {rows:?}");
        }
    }

    fn end(mut self) {
        println!("{:?}; {} transactions, {} snapshots", self.altered, self.committed, self.snapshots);
        assert!(self.altered.get("done").is_some_and(|n| *n > 3), "{:?}", self.altered);
        assert!(self.committed > 20, "{} transactions", self.committed);
        self.server.stop().unwrap();
        let data = self.scratch.0.join("data");
        let (code, out, err) = vaquita(&[&"check", &data]);
        assert_eq!((code, &*err), (0, ""), "{out}");
    }
}

#[test]
fn what_was_committed_is_there_after_whatever_was_altered() {
    let seconds = number("VAQUITA_ALTERS_SECONDS", 8);
    let mut game =
        Game::new("alters", &["--innodb-flush-log-at-trx-commit=0", "--innodb-sort-buffer-size=65536"]);
    let rounds = seconds.div_ceil(30);
    for _ in 0..rounds {
        let written = game.play(Duration::from_secs(seconds) / rounds as u32, |_| ());
        game.check(written);
    }
    game.end();
}

/// The server is killed amid all of it, once a second or so: the folder has no fault then, and nothing that was begun is left.
#[test]
fn what_was_committed_is_there_after_a_kill() {
    let seconds = number("VAQUITA_ALTERS_SECONDS", 8);
    let mut game = Game::new("killed-alters", &["--innodb-sort-buffer-size=65536"]);
    let mut rng = Rng::new(game.seed);
    for round in 0..(seconds / 2).max(3) {
        let after = Duration::from_millis(300 + rng.below(1_500));
        let written = game.play(Duration::from_secs(30), |server| {
            std::thread::sleep(after);
            server.kill();
        });
        let data = game.scratch.0.join("data");
        let (code, out, err) = vaquita(&[&"check", &data]);
        assert_eq!((code, &*err), (0, ""), "round {round}:\n{out}");
        game.server.start_again().unwrap();
        game.check(written);
        let of_changes = |name: &str| name.starts_with("#sql");
        let names = std::fs::read_dir(data.join("d")).unwrap().chain(std::fs::read_dir(&data).unwrap());
        let left: Vec<_> = names
            .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| of_changes(name))
            .collect();
        assert!(left.is_empty(), "round {round}: {left:?}");
    }
    game.end();
}
