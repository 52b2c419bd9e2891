//! Every kind of change with every ALGORITHM and LOCK, on MySQL 5.6.24 and on Vaquita: what it takes we take, what both refuse is
//! refused in its words, and where we take more is listed here.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::transcript;

use vaquita_peers::{Mysql56, Options};

const TABLES: &str = "drop table if exists t, t2, n;
create table t (id int not null, a int not null, b int, c varchar(20), d text, e enum('x', 'y'), f timestamp null, g char(10),
  primary key (id), unique key ub (b), key kc (c), key kcb (c, b), key ka (a), constraint fk foreign key (b) references p (v));
insert into t values (1, 1, 1, 'one', 'text', 'x', null, 'g'), (2, 2, 2, 'two', 'text', null, null, null);
create table n (a int, b int);
insert into n values (1, 2), (2, 3);
drop temporary table if exists tt;
create temporary table tt (a int, b int);
insert into tt values (1, 2), (2, 3);
";

/// Those of `w` and `o`, which a server takes its time to make: a table with a FULLTEXT key, and one that numbers documents itself.
const SEARCHED: &str = "drop table if exists w, o;
create table w (id int primary key, v text, u text, fulltext key (u));
insert into w values (1, 'apple', 'pear');
create table o (FTS_DOC_ID bigint unsigned not null primary key, v text);
insert into o values (1, 'apple');
";

/// Changes of `t`; those of other tables name them.
const CHANGES: &[&str] = &[
    "add index x1 (a)",
    "add unique index x1 (a)",
    "add index x1 (d(10))",
    "add index x1 (a), add index x2 (g)",
    "add index x1 (a) comment 'x'",
    "add index x1 using hash (a)",
    "add index x1 (c(5))",
    "drop index kc",
    "drop index kc, add index kc (c)",
    "drop index ub, drop foreign key fk",
    "drop index kcb, add index kcb (b, c)",
    "add unique x1 (b), drop index ub, drop foreign key fk",
    "n: add primary key (a)",
    "add fulltext index x1 (c)",
    "add fulltext index x1 (c), add index x2 (g)",
    "w: add fulltext index x2 (v)",
    "w: add column z int, add key (z)",
    "w: modify v varchar(30)",
    "w: force",
    "o: add fulltext index x1 (v)",
    "o: add fulltext index x1 (v), add column z int",
    "drop primary key",
    "drop primary key, add primary key (a)",
    "drop primary key, add primary key (c)",
    "add column z int",
    "add column z int first",
    "add column z int after a",
    "add column z int not null",
    "add column z int auto_increment, add key (z)",
    "add column z text",
    "add column z int, add index x1 (a)",
    "add column z int, drop index kcb, drop column b, drop foreign key fk",
    "drop column a",
    "drop column d",
    "drop column a, add column a2 int",
    "modify a int not null first",
    "modify a bigint not null",
    "modify a int",
    "modify a int not null default 7",
    "modify a int not null comment 'x'",
    "modify c varchar(30)",
    "modify c varchar(300)",
    "modify c varchar(10)",
    "modify e enum('x', 'y', 'z')",
    "modify e enum('y', 'x')",
    "modify g char(20)",
    "modify g varchar(10)",
    "modify c varchar(20) charset utf8",
    "modify id int not null auto_increment",
    "change a aa int not null",
    "change a aa int not null, add index x1 (aa)",
    "change a aa bigint not null",
    "change b bb int",
    "alter a set default 5",
    "alter a drop default",
    "alter a set default 5, add index x1 (a)",
    "add foreign key (a) references p (id)",
    "add constraint fk2 foreign key (b) references p (id)",
    "drop foreign key fk",
    "n: rename to t2",
    "n: rename to t2, add index x1 (a)",
    "auto_increment = 100",
    "comment = 'x'",
    "comment = 'x', add index x1 (a)",
    "engine = innodb",
    "force",
    "row_format = dynamic",
    "row_format = compact",
    "row_format = dynamic, add index x1 (a)",
    "default charset utf8",
    "default charset latin1",
    "convert to charset utf8",
    "convert to charset latin1",
    "max_rows = 10",
    "stats_persistent = 1",
    "avg_row_length = 10",
    "disable keys",
    "enable keys",
    "tt: add index x1 (a)",
    "tt: add column z int",
    "tt: comment = 'x'",
    "ignore: add unique index x1 (a)",
    "ignore: add index x1 (a)",
    "ignore: comment = 'x'",
];

/// Those that tell something: EXCLUSIVE is taken wherever DEFAULT is.
const CLAUSES: [(&str, &str); 8] = [
    ("default", "default"),
    ("default", "none"),
    ("default", "shared"),
    ("inplace", "exclusive"),
    ("inplace", "none"),
    ("copy", "default"),
    ("copy", "none"),
    ("copy", "shared"),
];

/// Where we take more, or do it without writing the rows.
const MORE: &[(&str, &str)] = &[
    ("modify c varchar(30)", "a longer VARCHAR with as many length bytes is a definition alone"),
    ("add foreign key (a) references p (id)", "rows are held against a new foreign key in place"),
    ("add constraint fk2 foreign key (b) references p (id)", "as above"),
    ("change b bb int", "a copy renames columns of foreign keys, too"),
    ("t add fulltext index x1 (c)", "words are gathered beside writers"),
    ("w add fulltext index x2 (v)", "as above"),
    ("add column z int auto_increment, add key (z)", "rows get their numbers beside writers"),
];

/// What MySQL can only copy with the table kept to itself, or to readers, is written anew beside writers here.
fn is_beside_others(wanted: &str, got: &str) -> bool {
    const REASONS: [&str; 4] = [
        "Cannot change column type INPLACE",
        "cannot silently convert NULL values",
        "Dropping a primary key is not allowed",
        "InnoDB presently supports one FULLTEXT index creation at a time",
    ];
    wanted.starts_with("! error 1846")
        && REASONS.iter().any(|reason| wanted.contains(reason))
        && !got.starts_with('!')
}

fn statement(change: &str, algorithm: &str, lock: &str) -> String {
    let (table, change) = change.split_once(": ").unwrap_or(("t", change));
    let (ignore, table) = if table == "ignore" { ("ignore ", "t") } else { ("", table) };
    format!("alter {ignore}table {table} {change}, algorithm = {algorithm}, lock = {lock}")
}

/// What each statement was answered: its error, or the rows and what it says of them.
fn play(target: &str, before: &str) -> Vec<(String, String)> {
    let mut text = format!(
        "drop database if exists clauses; create database clauses default character set latin1; use clauses; {before};
         create table p (id int primary key, v int, key (v)); insert into p values (1, 1), (2, 2);
         set names utf8, sql_mode = '';"
    );
    for change in CHANGES {
        for (algorithm, lock) in CLAUSES {
            text.push_str(if change.starts_with(['w', 'o']) { SEARCHED } else { TABLES });
            text.push_str(&statement(change, algorithm, lock));
            text.push_str(";\n");
        }
    }
    text.push_str("drop database clauses;");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments = ["vaquita", "sql", target, "--transcript", "--execute", &text].map(Into::into);
    let code = vaquita::cli::run_code(arguments, &mut out, &mut err);
    let (out, err) = (String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
    assert_eq!((code, err.as_ref()), (0, ""), "{target}: {out}");
    let asked = transcript::steps(&out).into_iter().filter(|step| step.starts_with("> alter "));
    // MySQL tells of the copy it makes by the copy's name.
    let named = |answer: &str| match answer.split_once("'#sql-") {
        Some((before, rest)) => format!("{before}'t{}", &rest[rest.find('\'').unwrap()..]),
        None => answer.to_owned(),
    };
    asked.map(|step| step.split_once('\n').map(|(a, b)| (a.into(), named(b))).unwrap()).collect()
}

#[test]
fn algorithm_and_lock_are_taken_and_refused_as_by_mysql() {
    let server = Mysql56::start(Options::new()).unwrap();
    let wanted = play(&format!("mysql://root@127.0.0.1:{}", server.port()), "set @nothing = 1");
    let dir = std::env::temp_dir().join(format!("vaquita-clauses-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let got = play(&dir.display().to_string(), "set global innodb_default_row_format = compact");
    let _ = std::fs::remove_dir_all(&dir);
    assert_eq!((wanted.len(), got.len()), (CHANGES.len() * 8, CHANGES.len() * 8));
    let is_more = |statement: &str| MORE.iter().any(|(change, _)| statement.contains(change));
    let mut differing = Vec::new();
    for ((statement, wanted), (_, got)) in wanted.iter().zip(&got) {
        let refused = |answer: &str| answer.starts_with("! error");
        let more = is_more(statement) && (refused(wanted) || !refused(got));
        if wanted != got && !more && !is_beside_others(wanted, got) {
            differing.push(format!("{statement}\nMySQL:   {wanted}\nVaquita: {got}"));
        }
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n\n"));
}
