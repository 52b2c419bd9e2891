//! What statements of every kind leave of an open transaction and its savepoint: what they leave in MySQL 5.6.24, whose
//! answers are in `recorded.txt`. `VAQUITA_RECORD=mysql://root@127.0.0.1:PORT cargo test -p vaquita --test clients in_transactions`
//! records them anew from a server that runs there.

use crate::transcript;

mod statements;

use statements::STATEMENTS;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use vaquita_parser::ast::{MaintainAction, Show, Stmt, Txn, Xa};

/// What is there for the statements to work on.
const TABLES: &str = "
drop database if exists in_trx; drop database if exists in_trx_made; create database in_trx default character set utf8;
use in_trx;
create table t (id int primary key);
create table o (id int primary key, a int, key (a));
create table p (id int primary key, a int);
insert into o values (1, 1), (2, 2);
prepare named from 'select * from o';
prepare writer from 'update o set a = 3 where id = 3';
select 'begin';
";

/// Statements played for each of the list, around it.
const BEFORE: [&str; 2] = ["insert into t values (1)", "savepoint s"];
const AFTER: [&str; 7] = [
    "insert into t values (2)",
    "rollback to s",
    "select group_concat(id order by id) as ids from t",
    "rollback",
    "select group_concat(id order by id) as ids from t",
    "unlock tables",
    "rollback",
];
const CLEAN: [&str; 4] = ["delete from t", "commit", "use in_trx", "set autocommit = 1"];

fn script() -> String {
    let mut text = TABLES.to_owned();
    for &statement in STATEMENTS {
        for begin in ["begin", "set autocommit = 0"] {
            let around = |list: &[&str]| list.iter().map(|s| format!("{s};\n")).collect::<String>();
            text.push_str(&format!(
                "{begin};\n{}{statement};\n{}{}",
                around(&BEFORE),
                around(&AFTER),
                around(&CLEAN)
            ));
        }
    }
    text
}

/// For each statement, in a transaction and without autocommit: the answer to ROLLBACK TO SAVEPOINT, and the rows there are
/// after that, and after ROLLBACK.
fn verdicts(target: &str) -> Vec<String> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments = ["vaquita", "sql", target, "--transcript", "--execute", &script()].map(Into::into);
    let code = vaquita::cli::run_code(arguments, &mut out, &mut err);
    let out = String::from_utf8_lossy(&out);
    assert_eq!((code, String::from_utf8_lossy(&err).as_ref()), (0, ""), "{target}: {out}");
    let (_, played) = out.split_once("> select 'begin'\nbegin\nbegin\n= 1 row\n").expect("the preparations");
    let steps = transcript::steps(played);
    let each = 1 + BEFORE.len() + 1 + AFTER.len() + CLEAN.len();
    assert_eq!(steps.len(), each * 2 * STATEMENTS.len(), "steps on {target}");
    let verdict = |played: &[String]| {
        let answer = |at: usize| played[at].split_once('\n').map_or("", |(_, answer)| answer);
        let ids = |at: usize| answer(at).lines().nth(1).unwrap_or("?");
        let at = 1 + BEFORE.len();
        let statement = played[at].lines().next().unwrap_or_default();
        let savepoint =
            if answer(at + 2).starts_with("! error 1305") { "savepoint gone" } else { "savepoint there" };
        format!(
            "{statement}\n    {}: {savepoint}, {}, after rollback {}",
            played[0].lines().next().map_or("", |line| &line[2..]),
            ids(at + 3),
            ids(at + 5)
        )
    };
    steps.chunks(each).map(verdict).collect()
}

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/in_transactions/recorded.txt")
}

fn compare(target: &str) {
    let wanted = fs::read_to_string(recorded()).expect("the recording");
    let wanted: Vec<&str> = wanted.trim_end().split("\n\n").collect();
    let got = verdicts(target);
    let differing: Vec<String> = got
        .iter()
        .zip(&wanted)
        .filter(|(got, wanted)| got != wanted)
        .map(|(got, wanted)| format!("--- MySQL\n{wanted}\n--- Vaquita\n{got}\n"))
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert_eq!(got.len(), wanted.len(), "number of plays");
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("vaquita-in-trx-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a scratch folder");
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn in_the_library() {
    if let Ok(server) = std::env::var("VAQUITA_RECORD") {
        let mut text = verdicts(&server).join("\n\n");
        text.push('\n');
        fs::write(recorded(), text).expect("writing the recording");
        return;
    }
    let dir = Scratch::new("library");
    compare(&dir.0.join("data").display().to_string());
}

#[test]
fn over_the_wire() {
    if std::env::var("VAQUITA_RECORD").is_ok() {
        return;
    }
    let dir = Scratch::new("wire");
    let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
    let server = vaquita_clients::Vaquita::start(binary, &dir.0.join("data"), &[]).expect("a server");
    compare(&format!("mysql://root@127.0.0.1:{}", server.port()));
    drop(server);
}

/// Names of the kinds of a statement. Exhaustive, so that a new kind is thought of here.
fn kind(stmt: &Stmt<'_>) -> &'static str {
    match stmt {
        Stmt::Query(_) => "query",
        Stmt::Insert(_) => "insert",
        Stmt::Update(_) => "update",
        Stmt::Delete(_) => "delete",
        Stmt::LoadData(_) => "load data",
        Stmt::Do(_) => "do",
        Stmt::Call(_) => "call",
        Stmt::Handler(_) => "handler",
        Stmt::CreateTable(_) => "create table",
        Stmt::AlterTable(_) => "alter table",
        Stmt::DropTable(_) => "drop table",
        Stmt::Truncate(_) => "truncate",
        Stmt::RenameTables(_) => "rename table",
        Stmt::CreateIndex(_) => "create index",
        Stmt::DropIndex(_) => "drop index",
        Stmt::CreateDatabase(_) => "create database",
        Stmt::AlterDatabase(_) => "alter database",
        Stmt::DropDatabase(_) => "drop database",
        Stmt::CreateView(_) => "create view",
        Stmt::DropView(_) => "drop view",
        Stmt::CreateProgram(_) => "create program",
        Stmt::DropProgram(_) => "drop program",
        Stmt::AlterProgram(_) => "alter program",
        Stmt::AlterEvent(_) => "alter event",
        Stmt::Signal(_) => "signal",
        Stmt::GetDiagnostics(_) => "get diagnostics",
        Stmt::ImportTables(_) => "import table",
        Stmt::CreateTablespace(_) => "create tablespace",
        Stmt::DropTablespace(_) => "drop tablespace",
        Stmt::Txn(txn) => txn_kind(txn),
        Stmt::Set(_) => "set",
        Stmt::Use(_) => "use",
        Stmt::Show(show) => show_kind(show),
        Stmt::Explain(_) => "explain",
        Stmt::Prepare(_) => "prepare",
        Stmt::Execute(_) => "execute",
        Stmt::Deallocate(_) => "deallocate",
        Stmt::Maintain(maintain) => match maintain.action {
            MaintainAction::Analyze => "analyze",
            MaintainAction::Check => "check",
            MaintainAction::Optimize => "optimize",
            MaintainAction::Repair => "repair",
            MaintainAction::Checksum => "checksum",
        },
        Stmt::Kill(_) => "kill",
        Stmt::Flush(_) => "flush",
        Stmt::Reset(_) => "reset",
        Stmt::Help(_) => "help",
        // It would end the server.
        Stmt::Shutdown => "",
        Stmt::CreateUser(_) => "create user",
        Stmt::DropUser(_) => "drop user",
        Stmt::RenameUsers(_) => "rename user",
        Stmt::Grant(_) => "grant",
        // Of MySQL 8.0.
        Stmt::Role(_) => "",
        // No statement at all for a client's splitter.
        Stmt::Empty => "",
        Stmt::Unsupported { .. } => "unsupported",
    }
}

fn txn_kind(txn: &Txn<'_>) -> &'static str {
    match txn {
        Txn::Start { .. } => "start",
        Txn::Commit(_) => "commit",
        Txn::Rollback(_) => "rollback",
        Txn::RollbackTo(_) => "rollback to",
        Txn::Savepoint(_) => "savepoint",
        Txn::Release(_) => "release",
        Txn::Set { .. } => "set transaction",
        Txn::Xa(Xa::Recover { .. }) => "xa recover",
        Txn::Xa(_) => "xa",
        Txn::LockTables(_) => "lock tables",
        Txn::UnlockTables => "unlock tables",
    }
}

fn show_kind(show: &Show<'_>) -> &'static str {
    match show {
        Show::Databases(_) => "show databases",
        Show::Tables { .. } => "show tables",
        Show::TableStatus { .. } => "show table status",
        Show::OpenTables { .. } => "show open tables",
        Show::Columns { .. } => "show columns",
        Show::Index { .. } => "show index",
        Show::Triggers { .. } => "show triggers",
        Show::Events { .. } => "show events",
        Show::CreateTable(_) => "show create table",
        Show::CreateView(_) => "show create view",
        Show::CreateDatabase { .. } => "show create database",
        Show::CreateProgram { .. } => "show create program",
        // Of MySQL 5.7.
        Show::CreateUser(_) => "",
        Show::Variables { .. } => "show variables",
        Show::Status { .. } => "show status",
        Show::Warnings(_) => "show warnings",
        Show::Errors(_) => "show errors",
        Show::CountWarnings => "show count warnings",
        Show::CountErrors => "show count errors",
        Show::Processlist { .. } => "show processlist",
        Show::Engines => "show engines",
        Show::Engine { .. } => "show engine",
        Show::CharacterSet(_) => "show character set",
        Show::Collation(_) => "show collation",
        Show::Grants { .. } => "show grants",
        Show::Privileges => "show privileges",
        Show::Plugins => "show plugins",
        Show::ProgramStatus { .. } => "show program status",
        Show::ProgramCode { .. } => "show program code",
        Show::Profiles => "show profiles",
        Show::Profile => "show profile",
        Show::MasterStatus => "show master status",
        Show::SlaveStatus => "show slave status",
        Show::SlaveHosts => "show slave hosts",
        Show::BinaryLogs => "show binary logs",
        Show::BinlogEvents { .. } => "show binlog events",
        Show::Authors => "show authors",
        Show::Contributors => "show contributors",
    }
}

/// Kinds in the order of their names: as many as `kind` has, so that the list lacks none.
const KINDS: usize = 96;

#[test]
fn every_kind_of_statement_is_played() {
    let mut kinds = BTreeSet::new();
    for statement in STATEMENTS {
        let arena = bumpalo::Bump::new();
        let parsed =
            vaquita_parser::parse(statement.as_bytes(), &arena, vaquita_parser::ParseMode::default());
        let parsed = parsed.unwrap_or_else(|e| panic!("{statement}: {e:?}"));
        kinds.insert(kind(&parsed.stmt));
    }
    assert_eq!(kinds.len(), KINDS, "{kinds:?}");
}
