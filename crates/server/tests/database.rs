//! The door in front of a real database: commits that wait for the log, statements that wait for rows.

#[path = "door/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "database/endless.rs"]
mod endless;
#[path = "database/limits.rs"]
mod limits;

use client::{Answer, Client, text};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use vaquita_server::{DatabaseBackend, Server, ServerOptions};
use vaquita_sql::{Database, Options};

/// A folder with a server; removed at the end.
struct Place {
    dir: PathBuf,
    db: Arc<Database>,
    server: Option<Server>,
}

impl Place {
    fn open(name: &str, loops: usize) -> Place {
        let dir = std::env::temp_dir().join(format!("vaquita-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let variables = [
            ("innodb_buffer_pool_size", "16M"),
            ("innodb_log_file_size", "8M"),
            ("innodb_sort_buffer_size", "65536"),
            ("secure_file_priv", ""),
        ];
        let variables = variables.map(|(a, b)| (a.to_owned(), b.to_owned()));
        let db = Database::open(Options { dir: dir.clone(), variables: variables.to_vec() });
        let db = db.expect("a new folder opens");
        let options = ServerOptions { loops, ..ServerOptions::default() };
        let server = Server::start(Arc::new(DatabaseBackend::new(db.clone())), options).expect("it starts");
        Place { dir, db, server: Some(server) }
    }

    fn addr(&self) -> SocketAddr {
        self.server.as_ref().and_then(Server::addr).expect("it listens")
    }

    fn client(&self) -> Client<TcpStream> {
        Client::connect(self.addr())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            assert!(server.shutdown(Duration::from_secs(60)), "all sessions end");
        }
        self.db.close().expect("it closes");
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn does(client: &mut Client<TcpStream>, sql: &str) {
    let answer = client.query(sql);
    assert!(matches!(answer, Answer::Ok { .. }), "{sql}: {answer:?}");
}

/// The one value of a result, whatever the status.
fn value(client: &mut Client<TcpStream>, sql: &str) -> String {
    match client.query(sql) {
        Answer::Rows(rows, _) if rows.len() == 1 => {
            String::from_utf8(rows[0][0].clone().unwrap_or_default()).expect("text")
        }
        other => panic!("{sql}: {other:?}"),
    }
}

fn with_table(place: &Place) -> Client<TcpStream> {
    let mut client = place.client();
    does(&mut client, "CREATE DATABASE d");
    does(&mut client, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT NOT NULL) ENGINE=InnoDB");
    client
}

#[test]
fn expressions() {
    let place = Place::open("expressions", 2);
    let mut client = place.client();
    assert_eq!(client.query("SELECT 'hello'"), text("hello"));
    assert_eq!(value(&mut client, "SELECT CONNECTION_ID() > 0"), "1");
    assert_eq!(client.query("SELECT nothing").code(), 1054);
    assert_eq!(client.query("SELEC 1").code(), 1064);
}

#[test]
fn commits_of_one_and_of_many() {
    let place = Place::open("commits", 2);
    let mut client = with_table(&place);
    for i in 0..30 {
        does(&mut client, &format!("INSERT INTO d.t VALUES ({i}, 0)"));
    }
    // Pipelined: replies come in order, each after its commit.
    (30..60).for_each(|i| client.say(&format!("INSERT INTO d.t VALUES ({i}, 0)")));
    for _ in 30..60 {
        client.seq = 1;
        assert!(matches!(client.answer(), Answer::Ok { affected: 1, .. }));
    }
    let addr = place.addr();
    std::thread::scope(|scope| {
        for t in 0..8 {
            scope.spawn(move || {
                let mut client = Client::connect(addr);
                for i in 0..25 {
                    does(&mut client, &format!("INSERT INTO d.t VALUES ({}, {t})", 1000 + t * 100 + i));
                    does(&mut client, "UPDATE d.t SET v = v + 1 WHERE id = 7");
                }
            });
        }
    });
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM d.t"), "260");
    assert_eq!(value(&mut client, "SELECT v FROM d.t WHERE id = 7"), "200");
}

#[test]
fn a_statement_that_waits_for_a_row_holds_up_nobody() {
    let place = Place::open("rows", 1);
    let mut holder = with_table(&place);
    does(&mut holder, "INSERT INTO d.t VALUES (1, 0)");
    does(&mut holder, "BEGIN");
    does(&mut holder, "UPDATE d.t SET v = 1 WHERE id = 1");
    let mut waiting: Vec<_> = (0..20).map(|_| place.client()).collect();
    waiting.iter_mut().for_each(|client| client.say("UPDATE d.t SET v = v + 10 WHERE id = 1"));
    // All of them on one loop, and it still serves.
    let mut other = place.client();
    assert_eq!(value(&mut other, "SELECT v FROM d.t WHERE id = 1"), "0");
    does(&mut holder, "COMMIT");
    for client in &mut waiting {
        assert!(matches!(client.answer(), Answer::Ok { affected: 1, .. }));
    }
    assert_eq!(value(&mut other, "SELECT v FROM d.t WHERE id = 1"), "201");
}

/// Asks until the answer is this one.
fn until(client: &mut Client<TcpStream>, sql: &str, wanted: &str) {
    let begun = std::time::Instant::now();
    while value(client, sql) != wanted {
        assert!(begun.elapsed() < Duration::from_secs(60), "{sql}: not {wanted}");
        std::thread::yield_now();
    }
}

/// Clients that are gone while their statements wait for a row or for a table: what they began is taken back when the wait is
/// over, and nothing of them stays.
#[test]
fn clients_that_go_away_while_they_wait() {
    const SESSIONS: &str = "SELECT COUNT(*) FROM information_schema.processlist";
    const BUSY: &str = "SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Query' AND id <> CONNECTION_ID()";
    let place = Place::open("gone", 2);
    let (mut holder, mut other) = (with_table(&place), place.client());
    (1..=6).for_each(|i| does(&mut holder, &format!("INSERT INTO d.t VALUES ({i}, 0)")));
    does(&mut holder, "BEGIN");
    does(&mut holder, "UPDATE d.t SET v = 1 WHERE id = 1");
    let mut waiting = Vec::new();
    for i in 2..=6 {
        let mut client = place.client();
        does(&mut client, "BEGIN");
        does(&mut client, &format!("UPDATE d.t SET v = 100 WHERE id = {i}"));
        client.say("UPDATE d.t SET v = 100 WHERE id = 1");
        waiting.push(client);
    }
    let waits = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
    until(&mut other, waits, "5");
    drop(waiting);
    does(&mut holder, "COMMIT");
    until(&mut other, SESSIONS, "2");
    until(&mut other, "SELECT COUNT(*) FROM information_schema.innodb_trx", "0");
    does(&mut other, "SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1");
    assert_eq!(value(&mut other, "SELECT SUM(v) FROM d.t"), "1");
    does(&mut other, "UPDATE d.t SET v = v + 1");
    // A change of the definition that waits for a reader, and readers that wait behind it.
    does(&mut holder, "BEGIN");
    assert_eq!(value(&mut holder, "SELECT SUM(v) FROM d.t"), "7");
    let mut change = place.client();
    change.say("ALTER TABLE d.t ADD COLUMN more INT");
    until(&mut other, BUSY, "1");
    let mut readers: Vec<_> = (0..3).map(|_| place.client()).collect();
    readers.iter_mut().for_each(|client| client.say("SELECT SUM(v) FROM d.t FOR UPDATE"));
    drop((change, readers));
    does(&mut holder, "COMMIT");
    until(&mut other, SESSIONS, "2");
    does(&mut other, "ALTER TABLE d.t ADD COLUMN again INT");
    does(&mut other, "UPDATE d.t SET v = v + 1");
    assert_eq!(value(&mut holder, "SELECT SUM(v) FROM d.t"), "13");
}

#[test]
fn kill_ends_a_wait_for_a_row() {
    let place = Place::open("kill", 1);
    let mut holder = with_table(&place);
    does(&mut holder, "INSERT INTO d.t VALUES (1, 0)");
    does(&mut holder, "BEGIN");
    does(&mut holder, "UPDATE d.t SET v = 1 WHERE id = 1");
    let mut waiting = place.client();
    let id = value(&mut waiting, "SELECT CONNECTION_ID()");
    waiting.say("UPDATE d.t SET v = 2 WHERE id = 1");
    // It may not have begun to wait yet: a KILL that comes too early is for nothing.
    waiting.stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout can be set");
    while waiting.stream.peek(&mut [0]).is_err() {
        does(&mut holder, &format!("KILL QUERY {id}"));
    }
    waiting.stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout can be set");
    assert_eq!(waiting.answer().code(), 1317);
    waiting.say("UPDATE d.t SET v = 2 WHERE id = 1");
    does(&mut holder, &format!("KILL {id}"));
    let answer = waiting.answer();
    assert!(answer == Answer::Gone || answer.code() == 1317, "{answer:?}");
    // A client that leaves takes back what it has not committed.
    drop(holder);
    let mut other = place.client();
    does(&mut other, "UPDATE d.t SET v = v + 5 WHERE id = 1");
    assert_eq!(value(&mut other, "SELECT v FROM d.t WHERE id = 1"), "5");
}
