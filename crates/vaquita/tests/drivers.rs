//! The server as its users meet it: drivers of several languages, the stock client's dump, kill -9.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vaquita_clients::{Channel, Failure, Login, Vaquita};
use vaquita_peers::{MariaDb, Mysql56, Options, Server, until};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("vaquita-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a scratch folder");
        Scratch(dir)
    }

    fn serve(&self, options: &[&str]) -> Vaquita {
        let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
        Vaquita::start(binary, &self.0.join("data"), options).expect("a server")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Python's three drivers, Go's, Node's, Java's and Rust's: every type both ways, large values, errors, cancelling, with and
/// without TLS, by both ways of authentication.
#[test]
fn drivers_find_a_mysql_server() {
    let clients = vaquita_clients::install().expect("the drivers");
    let scratch = Scratch::new("drivers");
    let server = scratch.serve(&["--max-allowed-packet=64M"]);
    for statement in [
        "create database clients",
        "create user native@'%' identified with mysql_native_password by 'se cret'",
        "create user caching@'%' identified with caching_sha2_password by 'se cret'",
        "grant all on *.* to native@'%', caching@'%'",
    ] {
        server.sql(statement).expect(statement);
    }
    let login = |user, channel| Login { port: server.port(), user, password: "se cret", channel };
    // In clear caching_sha2_password works only for who has logged in under TLS before.
    for login in [
        login("native", Channel::Clear),
        login("native", Channel::Tls),
        login("caching", Channel::Tls),
        login("caching", Channel::Remembered),
    ] {
        if let Err(Failure(why)) = clients.check(&login) {
            panic!("{login:?}: {why}\n{}", server.log());
        }
    }
}

const TABLES: &str = "
create database shop default character set utf8mb4;
use shop;
create table customer (id int unsigned not null auto_increment primary key, name varchar(80) not null, born date, unique (name)) comment='who buys';
create table `order` (id int primary key, customer int unsigned not null, at datetime(3) not null default current_timestamp(3), total decimal(12,4), state enum('new','paid','gö') default 'new',
  tags set('a','b','c'), note text, proof blob, f float, d double, b bit(9), y year, t time(2), key (customer, at), constraint who foreign key (customer) references customer (id) on delete cascade);
insert into customer (name, born) values ('Ada', '1815-12-10'), ('Größe \\\\ \\'', null), ('🐳', '2000-02-29');
insert into `order` values (1, 1, '2024-01-02 03:04:05.678', 12.5, 'paid', 'a,c', 'line\\nbreak\\ttab', x'00ff27', 1.5, 2.25e100, b'101010101', 2024, '-100:01:02.34'),
  (2, 3, '1999-12-31 23:59:59', null, null, '', null, null, null, null, null, null, null);
";
const COMPARED: [&str; 2] = [
    "select id, name, born from shop.customer order by id",
    "select id, customer, at, total, state, tags, note, hex(proof), f, d, b + 0, y, t from shop.`order` order by id",
];

/// What `mysqldump` takes out of Vaquita a MySQL 5.6.24 and a MariaDB take in, and what it takes out of these Vaquita
/// takes in. (The stock `mysqldump` here is MariaDB's, which cannot read a MySQL 5.6: the way back from there is the dump
/// that it took in.)
#[test]
fn dumps_travel_both_ways() {
    let scratch = Scratch::new("dumps");
    let server = scratch.serve(&[]);
    server.sql(TABLES).expect("the tables");
    let wanted: Vec<String> = COMPARED.iter().map(|q| server.sql(q).expect("the rows")).collect();
    assert!(wanted.iter().all(|rows| rows.lines().count() >= 2), "{wanted:?}");

    let dump = dump_of(server.client("mariadb-dump").expect("mysqldump"));
    let mysql = Mysql56::start(Options::new()).expect("MySQL");
    take_in(&mysql, &dump, &wanted);
    let mariadb = MariaDb::start(Options::new()).expect("MariaDB");
    take_in(&mariadb, &dump, &wanted);

    for dump in [dump, dump_of(mariadb.client("mariadb-dump"))] {
        server.sql("drop database shop").expect("an empty server");
        load(server.client("mariadb").expect("the client"), &dump);
        for (query, wanted) in COMPARED.iter().zip(&wanted) {
            assert_eq!(&server.sql(query).expect("the rows"), wanted, "back on Vaquita: {query}");
        }
    }
    let refused =
        server.sql("insert into shop.`order` (id, customer) values (9, 99)").expect_err("a foreign key");
    assert!(refused.0.contains("1452"), "{refused}");
}

/// Loads a dump into a real server and compares the rows.
fn take_in(peer: &Server, dump: &[u8], wanted: &[String]) {
    load(peer.client("mariadb"), dump);
    for (query, wanted) in COMPARED.iter().zip(wanted) {
        let rows = peer.rows(query).expect("the rows");
        let rows: String = rows.iter().map(|row| row.join("\t") + "\n").collect();
        assert_eq!(&rows, wanted, "on {:?}: {query}", peer.flavour());
    }
}

fn dump_of(mut command: Command) -> Vec<u8> {
    let output = command.args(["--databases", "shop", "--hex-blob"]).output().expect("mysqldump runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn load(mut client: Command, dump: &[u8]) {
    use std::io::Write as _;
    let mut child = client.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the client runs");
    child.stdin.take().expect("piped").write_all(dump).expect("the dump is read");
    let output = child.wait_with_output().expect("the client ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Sessions insert numbers one after the other, each a commit of its own; what was acknowledged before a kill -9 is
/// there after it.
#[test]
fn a_killed_server_keeps_what_it_acknowledged() {
    let scratch = Scratch::new("killed");
    let mut server = scratch.serve(&[]);
    server.sql("create database d; create table d.t (session int, n int, filler varchar(100), primary key (session, n), key (filler))").expect("a table");
    for round in 0..3 {
        let acknowledged: Vec<AtomicU64> = (0..4).map(|_| AtomicU64::new(0)).collect();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for (session, last) in acknowledged.iter().enumerate() {
                let url = format!("mysql://root@127.0.0.1:{}/d", server.port());
                scope.spawn({
                    let stop = &stop;
                    move || insert_until(&url, session, last, stop)
                });
            }
            // In the middle of it.
            let all_insert = || acknowledged.iter().all(|last| last.load(Ordering::SeqCst) > 50);
            until("all sessions insert", all_insert);
            server.kill();
            stop.store(true, Ordering::SeqCst);
        });
        server.start_again().expect("recovery");
        for (session, last) in acknowledged.iter().enumerate() {
            let (last, rows) = (
                last.load(Ordering::SeqCst),
                format!("select count(*), max(n) from d.t where session = {session}"),
            );
            let found = server.sql(&rows).expect("the rows");
            let (count, max) = found.trim().split_once('\t').expect("two columns");
            let (count, max): (u64, u64) = (count.parse().expect("a number"), max.parse().unwrap_or(0));
            assert!(
                count == max && (last..=last + 1).contains(&max),
                "round {round}, session {session}: {last} acknowledged, {max} there, {count} rows"
            );
            assert!(max > 0, "round {round}, session {session}: nothing was inserted");
            server.sql(&format!("delete from d.t where session = {session}")).expect("a clean table");
        }
        let checked = server.sql("check table d.t").expect("a check");
        assert!(checked.trim_end().ends_with("OK"), "{checked}");
    }
    server.stop().expect("a clean shutdown");
    server.start_again().expect("a start");
    assert_eq!(server.sql("select count(*) from d.t").expect("the rows").trim(), "0");
}

/// Pipes INSERTs into one client, which prints ROW_COUNT after each.
fn insert_until(url: &str, session: usize, last: &AtomicU64, stop: &AtomicBool) {
    use std::io::{BufRead as _, BufReader, Write as _};
    let mut shell = Command::new(env!("CARGO_BIN_EXE_vaquita"))
        .args(["sql", url, "--skip-column-names"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the shell runs");
    let mut stdin = shell.stdin.take().expect("piped");
    let mut lines = BufReader::new(shell.stdout.take().expect("piped")).lines();
    for n in 1.. {
        let filler = "x".repeat(n % 90);
        let sent = writeln!(stdin, "insert into t values ({session}, {n}, '{filler}');\nselect row_count();");
        if sent.and_then(|()| stdin.flush()).is_err() || stop.load(Ordering::SeqCst) {
            break;
        }
        // The answer to the SELECT: the INSERT before it was acknowledged.
        match lines.next() {
            Some(Ok(line)) if line == "1" => last.store(n as u64, Ordering::SeqCst),
            _ => break,
        }
    }
    drop(stdin);
    let _ = shell.kill();
    let _ = shell.wait();
}
