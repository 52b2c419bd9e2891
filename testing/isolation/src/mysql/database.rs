//! The real server under random transactions: whatever the checker finds there is the checker's mistake.

use super::wire::{Answer, Client, WireError};
use crate::Level;
use crate::workload::{Database, Failure, GROUP, LIST_EVERY, List, Session};
use std::path::{Path, PathBuf};

const DATABASE: &str = "iso";
const DEADLOCK: u16 = 1213;
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// A running MySQL 5.6.24.
#[derive(Debug, Clone)]
pub struct MysqlDatabase {
    socket: PathBuf,
}

impl MysqlDatabase {
    /// The one at `socket`.
    pub fn at(socket: &Path) -> MysqlDatabase {
        MysqlDatabase { socket: socket.to_path_buf() }
    }

    fn client(&self) -> Result<Client, Failure> {
        Client::connect(&self.socket, DATABASE).map_err(failure)
    }
}

fn failure(e: WireError) -> Failure {
    match e {
        WireError::Server { code: DEADLOCK | LOCK_WAIT_TIMEOUT, message } => Failure::Aborted(message),
        e => Failure::Broken(e.to_string()),
    }
}

struct MysqlSession(Client);

impl Database for MysqlDatabase {
    fn prepare(&self, lists: u64, registers: u64) -> Result<(), Failure> {
        let mut client = self.client()?;
        let mut run = |sql: &str| client.query(sql).map(drop).map_err(failure);
        run("drop table if exists list, reg")?;
        run("create table list (k int primary key, v varchar(4000) not null) charset latin1")?;
        run("create table reg (k int primary key, g int, v bigint, key gv (g, v))")?;
        let rows: Vec<String> =
            (0..lists).step_by(LIST_EVERY as usize).map(|k| format!("({k}, '')")).collect();
        run(&format!("insert into list values {}", rows.join(", ")))?;
        let rows: Vec<String> = (0..registers).map(|k| format!("({k}, {}, 0)", k / GROUP)).collect();
        run(&format!("insert into reg values {}", rows.join(", ")))
    }

    fn session(&self) -> Result<Box<dyn Session>, Failure> {
        let mut client = self.client()?;
        client.query("set innodb_lock_wait_timeout = 5").map_err(failure)?;
        Ok(Box::new(MysqlSession(client)))
    }
}

impl MysqlSession {
    fn run(&mut self, sql: &str) -> Result<Vec<Vec<String>>, Failure> {
        let rows = self.0.query(sql).map(Answer::into_rows).map_err(failure)?;
        Ok(rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect())
    }
}

fn share(lock: bool) -> &'static str {
    if lock { " lock in share mode" } else { "" }
}

fn number(text: &str) -> Result<u64, Failure> {
    text.parse().map_err(|_| Failure::Broken(format!("{text:?} is no number")))
}

fn elements(text: &str) -> Result<Vec<u64>, Failure> {
    text.split_terminator(',').map(number).collect()
}

impl Session for MysqlSession {
    fn begin(&mut self, level: Level) -> Result<(), Failure> {
        self.run(&format!("set session transaction isolation level {}", level.sql()))?;
        self.run("begin").map(drop)
    }

    fn append(&mut self, key: u64, value: u64) -> Result<(), Failure> {
        let sql = format!(
            "insert into list values ({key}, '{value},') on duplicate key update v = concat(v, '{value},')"
        );
        self.run(&sql).map(drop)
    }

    fn list(&mut self, key: u64, lock: bool) -> Result<Vec<u64>, Failure> {
        let rows = self.run(&format!("select v from list where k = {key}{}", share(lock)))?;
        rows.first().map_or(Ok(Vec::new()), |row| elements(&row[0]))
    }

    fn lists(&mut self, from: u64, to: u64, lock: bool) -> Result<Vec<List>, Failure> {
        let rows =
            self.run(&format!("select k, v from list where k >= {from} and k < {to}{}", share(lock)))?;
        rows.iter().map(|row| Ok((number(&row[0])?, elements(&row[1])?))).collect()
    }

    fn write(&mut self, key: u64, value: u64) -> Result<u64, Failure> {
        let rows = self.run(&format!("select v from reg where k = {key} for update"))?;
        self.run(&format!("update reg set v = {value} where k = {key}"))?;
        rows.first().map_or_else(|| Err(Failure::Broken(format!("no register {key}"))), |row| number(&row[0]))
    }

    fn replace(&mut self, key: u64, value: u64) -> Result<u64, Failure> {
        let rows = self.run(&format!("select v from reg where k = {key} for update"))?;
        self.run(&format!("delete from reg where k = {key}"))?;
        self.run(&format!("insert into reg values ({key}, {}, {value})", key / GROUP))?;
        rows.first().map_or_else(|| Err(Failure::Broken(format!("no register {key}"))), |row| number(&row[0]))
    }

    fn read(&mut self, key: u64, lock: bool) -> Result<Option<u64>, Failure> {
        let rows = self.run(&format!("select v from reg where k = {key}{}", share(lock)))?;
        rows.first().map(|row| number(&row[0])).transpose()
    }

    fn group(&mut self, group: u64, lock: bool) -> Result<Vec<(u64, u64)>, Failure> {
        let sql = format!("select k, v from reg force index (gv) where g = {group}{}", share(lock));
        self.run(&sql)?.iter().map(|row| Ok((number(&row[0])?, number(&row[1])?))).collect()
    }

    fn savepoint(&mut self) -> Result<(), Failure> {
        self.run("savepoint s").map(drop)
    }

    fn rollback_to_savepoint(&mut self) -> Result<(), Failure> {
        self.run("rollback to s").map(drop)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.run("commit").map(drop)
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.run("rollback").map(drop)
    }
}
