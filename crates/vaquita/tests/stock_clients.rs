//! The programs that come with a MySQL: `mysql` in its modes, `mysqladmin`, `mysqlimport`, `mysqlshow`, `mysqlcheck`.
//! Each command runs against MySQL 5.6.24 and against Vaquita; both must print the same and end with the same code,
//! but for what [`normal`] and each test say.

use std::cell::RefCell;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use vaquita_clients::Vaquita;
use vaquita_peers::{Mysql56, Options, Server, until};

/// Both servers and a folder for the clients' files.
struct Both {
    ours: Vaquita,
    theirs: Server,
    dir: PathBuf,
    differing: RefCell<String>,
}

impl Both {
    fn start(name: &str) -> Both {
        let dir = std::env::temp_dir().join(format!("vaquita-stock-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a scratch folder");
        let mode = "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
        let options = Options::new().set("sql_mode", mode).set("character_set_server", "utf8mb4");
        let theirs = Mysql56::start(options).expect("MySQL");
        let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
        let mode = format!("--sql-mode={mode}");
        let ours = Vaquita::start(binary, &dir.join("data"), &[&mode]).expect("a server");
        Both { ours, theirs, dir, differing: RefCell::default() }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.dir.join(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    }

    /// Runs a client on both and compares; what it printed.
    fn same(&self, program: &str, arguments: &[&str], stdin: &str) -> String {
        let theirs = shown(&run(self.theirs.client(program).args(arguments), stdin));
        let ours = shown(&run(self.ours.client(program).expect("the client").args(arguments), stdin));
        if ours != theirs {
            let told =
                format!("{program} {arguments:?} < {stdin}\n--- MySQL\n{theirs}\n--- Vaquita\n{ours}\n\n");
            self.differing.borrow_mut().push_str(&told);
        }
        ours
    }

    /// Fails if anything was printed otherwise.
    fn verdict(&self) {
        assert!(self.differing.borrow().is_empty(), "{}", self.differing.borrow());
    }

    fn ours(&self, program: &str, arguments: &[&str]) -> Output {
        run(self.ours.client(program).expect("the client").args(arguments), "")
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn run(command: &mut Command, stdin: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the client runs");
    let mut input = child.stdin.take().expect("piped");
    // A client that does not read is left alone.
    let _ = input.write_all(stdin.as_bytes());
    drop(input);
    child.wait_with_output().expect("the client ends")
}

fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| normal(&String::from_utf8_lossy(bytes));
    format!("{}\n{}{}", output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Times are of the clock.
fn normal(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        match line.rfind(" (").filter(|_| line.ends_with(" sec)")) {
            Some(at) => out.push_str(&line[..at]),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

const SCRIPT: &str = "
create database stock default character set utf8mb4; use stock;
create table t (id int unsigned zerofill primary key auto_increment, name varchar(40) not null default 'x', d decimal(10,2),
  at datetime(3), b varbinary(10), e enum('a','ö'), key (name)) comment='stock';
insert into t (name, d, at, b, e) values ('Ada', 1.5, '1815-12-10 01:02:03.004', x'00ff', 'a'), ('tab\\tline\\nquote''', null, null, 'b\\\\', 'ö'),
  ('<&\"𝄞>', -0.25, '2024-02-29', '', null);
update t set d = d + 1 where id > 1;
insert ignore into t (id, name) values (1, 'again'), (9, repeat('n', 50));
select id, name, d, at, hex(b) as b, e, null as `nothing at all` from t order by id;
select 1 from dual where 0;
show warnings;
delete from t where id = 9;
select count(*), sum(d) from t;
select * from missing;
select name from t where id = 1;
";

/// Batch, tables, `\G`, HTML, XML, verbose, raw, quick, forced, under TLS and compressed, files by `source`.
#[test]
fn the_client_prints_what_it_prints_of_mysql() {
    let both = Both::start("mysql");
    let modes: [&[&str]; 11] = [
        &["--batch", "--force"],
        &["--batch"],
        &["--table", "--force"],
        &["--vertical", "--force"],
        &["--html", "--force"],
        &["--xml", "--force"],
        &["-vvv", "--force", "--table"],
        &["--batch", "--raw", "--skip-column-names", "--force"],
        &["--quick", "--compress", "--force"],
        &["--show-warnings", "--table", "--force"],
        &["--auto-rehash", "--binary-mode", "--comments", "--force", "--line-numbers"],
    ];
    for mode in modes {
        let printed = both.same("mariadb", mode, SCRIPT);
        assert!(printed.contains("ERROR 1146 (42S02) at line 14"), "{printed}");
        both.same("mariadb", &[], "drop database stock");
    }
    let file = both.file("script.sql", SCRIPT);
    both.same(
        "mariadb",
        &["--force", "--table"],
        &format!("source {file}\nselect 2 as two\\G\n\\. {file}\n"),
    );
    let columns = "select * from t; select max(d), count(*) from t";
    both.same("mariadb", &["--column-type-info", "--table", "stock"], columns);
    both.same(
        "mariadb",
        &["--table", "stock"],
        "delimiter //\nselect 1; select 2//\ndelimiter ;\nselect database(), 3 \\G\nselect 4 \\g\nwarnings\nuse mysql\nselect database();\nselect 'never\\c'\nselect 5;\nhelp me;",
    );
    let statement = "select id, name from t where id in (1, 3) order by 1; select 'end'";
    let plain = both.same("mariadb", &["stock", "--execute", statement], "");
    // MySQL 5.6 has no certificates here.
    for mode in [&["--ssl"][..], &["--ssl", "--compress"], &["--ssl", "--protocol=socket"]] {
        let mut client = both.ours.client("mariadb").expect("the client");
        client.arg(format!("--socket={}", both.ours.socket().display())).args(mode);
        let show = "show session status like 'Ssl_version'; show session status like 'Compression'";
        let output = run(client.args(["stock", "--execute", &format!("{statement}; {show}")]), "");
        let printed = shown(&output);
        assert!(printed.starts_with(plain.trim_end()), "{mode:?}: {printed}");
        assert!(printed.contains("Ssl_version\tTLSv1"), "{mode:?}: {printed}");
        assert!(printed.contains("Compression\tON") == mode.contains(&"--compress"), "{mode:?}: {printed}");
    }
    both.verdict();
}

/// LOAD DATA LOCAL INFILE through `mysql` and `mysqlimport`; `mysqlshow`, `mysqlcheck`, `mysqldump` to the screen.
#[test]
fn files_and_the_smaller_programs() {
    let both = Both::start("smaller");
    both.same(
        "mariadb",
        &[],
        "create database stock; create table stock.rows_of (a int primary key, b varchar(5), c date)",
    );
    let file = both.file("rows_of.txt", "1\tone\t2024-01-01\n2\t\\N\t2024-01-02\n3\ttoo long\tno date\n1\tagain\t\\N\n4\n5\tfive\t2024-01-05\tmore\n");
    let load = |more: &str| {
        format!(
            "load data local infile '{file}' {more} into table rows_of; show warnings; select * from rows_of order by a; delete from rows_of;"
        )
    };
    for (flag, more) in [("--local-infile", ""), ("--local-infile", "replace"), ("--compress", "ignore")] {
        let printed = both.same("mariadb", &["--local-infile=1", flag, "-vvv", "stock"], &load(more));
        let wanted = if more == "replace" { "ERROR 1406" } else { "Records: 6" };
        assert!(printed.contains(wanted), "{printed}");
    }
    both.same("mariadb", &["--local-infile=0", "stock"], &load(""));
    both.same(
        "mariadb",
        &["--local-infile=1", "stock"],
        "load data local infile '/not/there' into table rows_of; select 1",
    );
    both.same(
        "mariadb",
        &["--local-infile=1", "--force", "stock"],
        &format!("load data local infile '{file}' into table missing; select 1"),
    );
    for arguments in [
        &["--local"][..],
        &["--local", "--replace"],
        &["--local", "--ignore", "--columns=a,b,@c", "--ignore-lines=1"],
        &["--local", "--delete", "--lock-tables"],
    ] {
        both.same("mariadb-import", &[arguments, &["stock", &file]].concat(), "");
        both.same("mariadb", &["--table", "stock"], "select * from rows_of order by a");
    }
    both.same("mariadb-show", &["stock"], "");
    both.same("mariadb-show", &["--verbose", "stock"], "");
    both.same("mariadb-show", &["stock", "rows_of", "a%"], "");
    both.same("mariadb-show", &["missing"], "");
    both.same("mariadb-check", &["--databases", "stock"], "");
    both.same("mariadb-check", &["--analyze", "stock", "rows_of"], "");
    both.same("mariadb-check", &["--databases", "missing"], "");
    both.verdict();
}

/// `mysqldump` with the options of backups: of one database and of all, of a folder that others write to.
#[test]
fn dumps_for_backups() {
    let dir = std::env::temp_dir().join(format!("vaquita-stock-dumps-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("a scratch folder");
    let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
    let ours =
        Vaquita::start(binary, &dir.join("data"), &["--innodb-flush-log-at-trx-commit=0"]).expect("a server");
    ours.sql(
        "create database bank; use bank;
         create table a (id int primary key auto_increment, amount int not null, key (amount));
         create table b (id int primary key auto_increment, amount int not null);
         create table `odd ``name` (id int primary key, at timestamp(3) null, t text, constraint f foreign key (id) references a (id));
         insert into a (amount) values (100), (100), (100); insert into b (amount) values (100), (100), (100);
         insert into `odd ``name` values (1, '2024-01-01', 'x');
         create view later as select id, amount + 0 as plus from b where id > 1 with check option; create view `a view` as select l.id, a.amount from later l join a on a.id = l.id;
         create trigger first before update on b for each row set new.amount = new.amount + 0;
         create trigger second before update on b for each row follows first set new.amount = new.amount * 1;
         create trigger zero before update on b for each row precedes first set @seen = old.amount;
         create database `o-ther`; create table `o-ther`.t (a int)",
    )
    .expect("tables");
    let dump = |arguments: &[&str]| {
        let output = run(ours.client("mariadb-dump").expect("the client").args(arguments), "");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("-- Dump completed"), "{arguments:?}: {text}");
        text
    };
    // Money goes from one table to the other in every transaction: a dump in which the sum is another is of no one moment.
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mover = ours.socket();
    let text = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = vaquita_isolation::mysql::Client::connect(&mover, "bank").expect("a session");
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for sql in [
                    "begin",
                    "update a set amount = amount - 1 where id = 1",
                    "update b set amount = amount + 1 where id = 1",
                    "commit",
                ] {
                    client.query(sql).expect("a change");
                }
            }
        });
        let whole: &[&str] =
            &["--single-transaction", "--routines", "--triggers", "--events", "--hex-blob", "bank"];
        let texts = [
            whole,
            &["--single-transaction", "--quick", "bank"],
            &["--lock-all-tables", "bank"],
            &["--opt", "bank"],
        ]
        .map(dump);
        let all = dump(&["--all-databases", "--single-transaction"]);
        dump(&["--all-databases", "--lock-all-tables", "--events", "--flush-privileges"]);
        dump(&["--databases", "bank", "o-ther", "--single-transaction", "--add-drop-database"]);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(
            all.contains("USE `mysql`") && all.contains("`general_log`") && all.contains("USE `o-ther`"),
            "{all}"
        );
        texts
    });
    for (n, text) in text.iter().enumerate() {
        ours.sql(&format!("create database copy{n}")).expect("a database");
        let output = run(ours.client("mariadb").expect("the client").arg(format!("copy{n}")), text);
        assert!(output.status.success(), "{}", shown(&output));
        let sums = format!(
            "select (select sum(amount) from copy{n}.a) + (select sum(amount) from copy{n}.b), count(*), max(t) from copy{n}.`odd ``name`"
        );
        assert_eq!(ours.sql(&sums).expect("the rows"), "600\t1\tx\n", "dump {n}");
        let joined = format!("select group_concat(id order by id), sum(amount) from copy{n}.`a view`");
        assert_eq!(ours.sql(&joined).expect("the rows"), "2,3\t200\n", "dump {n}");
        let text = format!("use copy{n}; show create view later");
        let (copy, first) = (ours.sql(&text), ours.sql("use bank; show create view later"));
        assert_eq!(copy.expect("a view"), first.expect("a view"), "dump {n}");
        for trigger in ["zero", "first", "second"] {
            let [copy, first] = [format!("copy{n}"), "bank".into()]
                .map(|db| ours.sql(&format!("use {db}; show create trigger {trigger}")));
            let (copy, first) = (copy.expect("a trigger"), first.expect("a trigger"));
            // Two stars stand around the clauses of versions.
            assert_eq!(copy.to_lowercase(), first.to_lowercase(), "dump {n}");
        }
    }
    drop(ours);
    fs::remove_dir_all(&dir).expect("removing the scratch folder");
}

#[test]
fn administration() {
    let mut both = Both::start("admin");
    let fine: [&[&str]; 20] = [
        &["ping"],
        &["create", "made"],
        &["create", "made"],
        &["--force", "drop", "made"],
        &["--force", "drop", "made"],
        &["refresh"],
        &["reload"],
        &["flush-hosts"],
        &["flush-logs"],
        &["flush-privileges"],
        &["flush-status"],
        &["flush-tables"],
        &["flush-threads"],
        &["flush-user-resources"],
        &["flush-table-statistics"],
        &["debug"],
        &["kill", "999999"],
        &["kill", "999998,999999"],
        &["ping", "refresh", "reload"],
        &["nonsense"],
    ];
    for command in fine {
        both.same("mariadb-admin", command, "");
    }
    // Numbers are their own.
    for command in ["status", "version", "processlist"] {
        let output = both.ours("mariadb-admin", &[command]);
        let text = shown(&output);
        assert!(
            output.status.success() && (text.contains("Threads: 1") || text.contains("show processlist")),
            "{text}"
        );
    }
    for (command, wanted) in [
        ("variables", &["max_connections", "innodb_buffer_pool_size", "sql_mode", "version"][..]),
        ("extended-status", &["Threads_connected", "Questions", "Innodb_buffer_pool_pages_data", "Uptime"]),
    ] {
        let text = shown(&both.ours("mariadb-admin", &[command]));
        for name in wanted {
            assert!(text.contains(&format!("| {name} ")), "{command} without {name}: {text}");
        }
    }
    who_may_do_what(&both);
    kill_by_number(&both);
    let output = both.ours("mariadb-admin", &["-uboss", "-pnew", "shutdown"]);
    assert!(output.status.success(), "{}", shown(&output));
    both.ours.ended().expect("a clean end");
    assert!(both.ours.log().contains("Shutdown complete"), "{}", both.ours.log());
    both.ours.start_again().expect("a start");
    assert_eq!(both.ours.sql("select count(*) from kept.t").expect("the rows"), "1\n");
    both.verdict();
}

fn who_may_do_what(both: &Both) {
    both.same(
        "mariadb",
        &[],
        "create user clerk@'%' identified by 'old', clerk@localhost identified by 'old', boss@'%' identified by 'old', boss@localhost identified by 'old';
         grant super, shutdown, reload, process on *.* to boss@'%', boss@localhost",
    );
    for command in ["shutdown", "refresh", "reload", "flush-hosts", "debug"] {
        let printed = both.same("mariadb-admin", &["-uclerk", "-pold", command], "");
        assert!(printed.starts_with('1'), "a clerk may {command}: {printed}");
    }
    both.same("mariadb-admin", &["-uboss", "-pold", "password", "new"], "");
    both.same("mariadb-admin", &["-uboss", "-pnew", "--silent", "ping"], "");
    let wrong = shown(&both.ours("mariadb-admin", &["-uboss", "-pold", "ping"]));
    assert!(wrong.contains("Access denied for user 'boss'@'localhost' (using password: YES)"), "{wrong}");
}

/// `mysqladmin kill` ends a session in the middle of its statement; what it had not committed is not there.
fn kill_by_number(both: &Both) {
    both.ours
        .sql("create database kept; create table kept.t (a int primary key); insert into kept.t values (1)")
        .expect("a table");
    let mut client = both.ours.client("mariadb").expect("the client");
    let statement = "begin; insert into kept.t values (2); select 'about to sleep', sleep(600)";
    client.args(["--execute", statement]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let sleeper = client.spawn().expect("the client runs");
    let mut id = String::new();
    until("the session is on the list", || {
        let list = String::from_utf8_lossy(&both.ours("mariadb-admin", &["processlist"]).stdout).into_owned();
        let Some(line) = list.lines().find(|line| line.contains("sleep(600)")) else { return false };
        id = line.split('|').nth(1).expect("a column").trim().to_owned();
        true
    });
    let killed = both.ours("mariadb-admin", &["kill", &id]);
    assert!(killed.status.success(), "{}", shown(&killed));
    let text = shown(&sleeper.wait_with_output().expect("the client ends"));
    assert!(text.starts_with('1') && text.contains("ERROR"), "{text}");
    assert_eq!(both.ours.sql("select count(*) from kept.t").expect("the rows"), "1\n");
}
