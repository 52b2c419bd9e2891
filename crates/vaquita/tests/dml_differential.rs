//! Random tables and random INSERT, REPLACE, UPDATE and DELETE statements with good and bad values, in several modes, on
//! MySQL 5.6.24 and on Vaquita: affected rows, insert ids, errors, warnings and what is in the tables at the end are the
//! same.
//!
//! `VAQUITA_DML_SEEDS=100..200` plays other seeds; `VAQUITA_DML_KEEP=FOLDER` keeps the transcripts; `VAQUITA_DML_SERVER=mysql://root@127.0.0.1:3406` uses a server that
//! runs already.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::transcript;

use std::fmt::Write as _;
use vaquita_base::Rng;
use vaquita_peers::{Mysql56, Options};

/// A kind of column: its type, values for it, values to compare it with.
struct Kind {
    ty: &'static str,
    values: &'static [&'static str],
    /// A default that it can have.
    default: &'static str,
    /// May be part of an index.
    indexed: bool,
}

const INTEGERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "127",
    "128",
    "-129",
    "255",
    "256",
    "32768",
    "8388608",
    "2147483648",
    "4294967296",
    "9223372036854775808",
    "99999999999999999999",
    "'12'",
    "'12abc'",
    "''",
    "'abc'",
    "' 5 '",
    "1.5",
    "'2.5'",
    "-0.5",
    "1e3",
    "'1e3'",
    "1e30",
    "true",
    "0x41",
];
const DECIMALS: &[&str] = &[
    "0",
    "1.005",
    "'1.005'",
    "-1.5",
    "12345678901",
    "'12.3x'",
    "''",
    "'x'",
    "1e5",
    "1e40",
    "-0.001",
    "99999.999",
    "'1e2'",
    "0.1",
];
const TEXTS: &[&str] = &[
    "'a'",
    "'A'",
    "'b'",
    "'abc'",
    "'abcdefghijkl'",
    "''",
    "'é'",
    "' x '",
    "'x  '",
    "12345",
    "1.50",
    "'q\\'\\\\z'",
    "-7",
    "'ßtraße und mehr davon'",
];
const TIMES: &[&str] = &[
    "'2001-02-03'",
    "'2001-02-30'",
    "'0000-00-00'",
    "'2001-00-01'",
    "20010203",
    "'2001-2-3 4:5:6'",
    "'bad'",
    "''",
    "'99-1-1'",
    "'9999-12-31 23:59:59.999999'",
    "'10:11:12'",
    "'-838:59:59'",
    "'900:00:00'",
    "101112",
    "'2001-02-03 04:05:06.789'",
    "20010203040506",
    "0",
    "'2001-02-03x'",
];
const KINDS: &[Kind] = &[
    Kind { ty: "tinyint", values: INTEGERS, default: "5", indexed: true },
    Kind { ty: "smallint unsigned", values: INTEGERS, default: "6", indexed: true },
    Kind { ty: "mediumint", values: INTEGERS, default: "-7", indexed: true },
    Kind { ty: "int", values: INTEGERS, default: "8", indexed: true },
    Kind { ty: "int(6) unsigned zerofill", values: INTEGERS, default: "9", indexed: true },
    Kind { ty: "bigint", values: INTEGERS, default: "10", indexed: true },
    Kind { ty: "bigint unsigned", values: INTEGERS, default: "11", indexed: true },
    Kind { ty: "decimal(6,2)", values: DECIMALS, default: "1.5", indexed: true },
    Kind { ty: "decimal(5,0) unsigned", values: DECIMALS, default: "2", indexed: true },
    Kind { ty: "double", values: DECIMALS, default: "1.25", indexed: false },
    Kind { ty: "char(4)", values: TEXTS, default: "'dd'", indexed: true },
    Kind { ty: "varchar(6)", values: TEXTS, default: "'ee'", indexed: true },
    Kind { ty: "varchar(6) character set latin1", values: TEXTS, default: "'ff'", indexed: true },
    Kind { ty: "varbinary(6)", values: TEXTS, default: "'gg'", indexed: true },
    Kind { ty: "binary(4)", values: TEXTS, default: "'hh'", indexed: true },
    Kind { ty: "text", values: TEXTS, default: "", indexed: false },
    Kind { ty: "date", values: TIMES, default: "'2000-01-01'", indexed: true },
    Kind { ty: "datetime", values: TIMES, default: "'2000-01-01 01:02:03'", indexed: true },
    Kind { ty: "datetime(3)", values: TIMES, default: "current_timestamp(3)", indexed: true },
    Kind { ty: "time", values: TIMES, default: "'01:02:03'", indexed: true },
    Kind {
        ty: "timestamp",
        values: TIMES,
        default: "current_timestamp on update current_timestamp",
        indexed: true,
    },
    Kind {
        ty: "year",
        values: &["2001", "'01'", "1", "70", "0", "'0'", "2156", "1900", "'x'", "''", "1901"],
        default: "1999",
        indexed: true,
    },
    Kind {
        ty: "enum('x','y','w')",
        values: &["'x'", "'Y'", "'z'", "''", "0", "1", "3", "5", "'2'"],
        default: "'y'",
        indexed: true,
    },
    Kind {
        ty: "set('a','b','c')",
        values: &["'a'", "'b,a'", "'a,z'", "''", "3", "99", "'c,c'", "'8'"],
        default: "'a,c'",
        indexed: true,
    },
    Kind {
        ty: "bit(5)",
        values: &["b'101'", "3", "40", "'a'", "0", "-1", "'12'"],
        default: "b'11'",
        indexed: true,
    },
];

struct Column {
    name: String,
    kind: &'static Kind,
    not_null: bool,
}

struct Table {
    name: String,
    columns: Vec<Column>,
}

struct Maker {
    rng: Rng,
    text: String,
}

impl Maker {
    fn below(&mut self, n: usize) -> usize {
        self.rng.below(n as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'v>(&mut self, list: &[&'v str]) -> &'v str {
        list[self.below(list.len())]
    }

    fn say(&mut self, statement: &str) {
        writeln!(self.text, "{statement};").unwrap();
    }

    fn table(&mut self, n: usize) -> Table {
        let name = format!("t{n}");
        let id = self.pick(&["tinyint", "int", "bigint unsigned", "smallint"]);
        let mut lines = vec![format!("id {id} not null auto_increment primary key")];
        let mut columns = Vec::new();
        for i in 0..2 + self.below(5) {
            let kind = &KINDS[self.below(KINDS.len())];
            let column = format!("c{i}");
            let not_null = self.one_in(2);
            let mut line = format!("{column} {}", kind.ty);
            line.push_str(if not_null { " not null" } else { " null" });
            if self.one_in(3) && !kind.default.is_empty() {
                write!(line, " default {}", kind.default).unwrap();
            } else if kind.ty == "timestamp" && not_null {
                line.push_str(" default '2001-01-01 00:00:00'");
            }
            lines.push(line);
            if kind.indexed && self.one_in(3) {
                let unique = if self.one_in(2) { "unique " } else { "" };
                lines.push(format!("{unique}key k{i} ({column})"));
            }
            columns.push(Column { name: column, kind, not_null });
        }
        self.say(&format!("create table {name} ({})", lines.join(", ")));
        Table { name, columns }
    }

    fn value(&mut self, column: &Column) -> String {
        match self.below(16) {
            0 => "null".into(),
            1 => "default".into(),
            _ => self.pick(column.kind.values).into(),
        }
    }

    fn id(&mut self) -> String {
        match self.below(8) {
            0..5 => "null".into(),
            5 => self.pick(&["0", "default", "-3", "'4x'", "100", "126"]).into(),
            _ => (1 + self.below(12)).to_string(),
        }
    }

    fn assignments(&mut self, table: &Table, inserting: bool) -> String {
        let mut list = Vec::new();
        for _ in 0..1 + self.below(2) {
            let column = &table.columns[self.below(table.columns.len())];
            let value = match self.below(6) {
                0 if inserting => format!("values({})", column.name),
                1 => column.name.to_string(),
                _ => self.value(column),
            };
            list.push(format!("{} = {value}", column.name));
        }
        if self.one_in(8) {
            list.push(format!("id = {}", 1 + self.below(12)));
        }
        list.join(", ")
    }

    fn filter(&mut self) -> String {
        let n = 1 + self.below(12);
        match self.below(5) {
            0 => format!(" where id > {n}"),
            1 => format!(" where id between {n} and {}", n + 3),
            2 => format!(" where id in ({n}, {}, 5)", n + 2),
            3 => String::new(),
            _ => format!(" where id = {n}"),
        }
    }

    fn statement(&mut self, table: &Table) {
        let name = &table.name;
        let statement = match self.below(12) {
            0..6 => {
                let ignore = if self.one_in(4) { "ignore " } else { "" };
                let all = self.one_in(2);
                let used: Vec<&Column> =
                    table.columns.iter().filter(|_| all || self.rng.below(3) > 0).collect();
                let mut names = vec!["id".to_owned()];
                names.extend(used.iter().map(|c| c.name.clone()));
                let rows: Vec<String> = (0..1 + self.below(3))
                    .map(|_| {
                        let mut cells = vec![self.id()];
                        cells.extend(used.iter().map(|c| self.value(c)).collect::<Vec<_>>());
                        format!("({})", cells.join(", "))
                    })
                    .collect();
                let (names, rows) = (names.join(", "), rows.join(", "));
                match self.below(5) {
                    0 => format!("replace into {name} ({names}) values {rows}"),
                    1 => {
                        let set = self.assignments(table, true);
                        format!(
                            "insert {ignore}into {name} ({names}) values {rows} on duplicate key update {set}"
                        )
                    }
                    _ => format!("insert {ignore}into {name} ({names}) values {rows}"),
                }
            }
            6..9 => {
                let ignore = if self.one_in(4) { "ignore " } else { "" };
                let (set, filter) = (self.assignments(table, false), self.filter());
                let order = if self.one_in(4) { " order by id desc limit 2" } else { "" };
                format!("update {ignore}{name} set {set}{filter}{order}")
            }
            9 => {
                let order = if self.one_in(2) { " order by id limit 1" } else { "" };
                format!("delete from {name}{}{order}", self.filter())
            }
            10 => {
                let columns: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
                let columns = columns.join(", ");
                let ignore = if self.one_in(2) { "ignore " } else { "" };
                match table.columns.iter().any(|c| c.kind.values.len() == TIMES.len()) {
                    // MySQL stores the rows in a table of its own first, which warns of zero dates.
                    true => format!("select {columns} from {name} order by id limit 2"),
                    false => {
                        format!(
                            "insert {ignore}into {name} ({columns}) select {columns} from {name} order by id limit 2"
                        )
                    }
                }
            }
            _ => {
                let mode = self.pick(&[
                    "",
                    "STRICT_TRANS_TABLES",
                    "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO",
                    "NO_AUTO_VALUE_ON_ZERO",
                    "NO_ZERO_DATE",
                    "STRICT_TRANS_TABLES,ALLOW_INVALID_DATES",
                ]);
                format!("set sql_mode = '{mode}'")
            }
        };
        self.say(&statement);
        if self.one_in(10) {
            self.say("select last_insert_id()");
        }
    }
}

/// The script of a seed.
fn script(seed: u64) -> String {
    let mut maker = Maker { rng: Rng::new(seed), text: String::new() };
    maker.say("set sql_mode = ''");
    maker.say("set timestamp = 1000000000");
    for n in 0..2 {
        let table = maker.table(n);
        for _ in 0..40 {
            maker.statement(&table);
        }
        maker.say(&format!("select * from t{n} order by id"));
        maker.say(&format!("checksum table t{n}"));
        let of = table.columns.iter().filter(|c| c.not_null).count();
        maker.say(&format!("select count(*), {of} from t{n}"));
    }
    maker.text
}

/// The transcript of a script on a folder or server.
fn play(target: &str, seed: u64, script: &str) -> String {
    let text = format!(
        "set names utf8mb4; set time_zone = '+00:00'; drop database if exists dml_{seed};
         create database dml_{seed} default character set utf8mb4; use dml_{seed}; select 'begin';\n{script}
         drop database dml_{seed};"
    );
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments = ["vaquita", "sql", target, "--transcript", "--execute", &text].map(Into::into);
    let code = vaquita::cli::run_code(arguments, &mut out, &mut err);
    let (out, err) = (String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
    assert_eq!((code, err.as_ref()), (0, ""), "seed {seed} on {target}: {out}");
    let (_, transcript) = out.split_once("= 1 row\n").expect("it began");
    transcript.replace(&format!("dml_{seed}"), "dml")
}

/// Seeds that are played if no others are asked for. Of 1 to 48 two are known to differ: 37 and 41, by a warning that `docs/compat.md`
/// tells of.
const SEEDS: std::ops::Range<u64> = 1..25;

fn seeds() -> Vec<u64> {
    let given = std::env::var("VAQUITA_DML_SEEDS").ok();
    match given.as_deref().and_then(|s| s.split_once("..")) {
        Some((from, to)) => (from.parse().unwrap()..to.parse().unwrap()).collect(),
        None => SEEDS.collect(),
    }
}

/// A statement's answer without what differs from one play on MySQL to the next: the rows that warnings of an UPDATE or
/// DELETE with a condition number are those its plan reads, and the plan follows from statistics that MySQL renews in the
/// background. A scan counts rows that do not match, a range does not.
fn comparable(step: &str) -> String {
    let planned =
        ["> update ", "> delete "].iter().any(|verb| step.starts_with(verb)) && step.contains(" where ");
    let unnumbered = |line: &str| match line.rsplit_once(" at row ") {
        Some((what, row)) if planned && line.starts_with('!') && row.bytes().all(|b| b.is_ascii_digit()) => {
            what.to_owned()
        }
        _ => line.to_owned(),
    };
    step.lines().map(unnumbered).collect::<Vec<_>>().join("\n")
}

#[test]
fn random_statements_do_what_they_do_in_mysql() {
    let (_server, target) = match std::env::var("VAQUITA_DML_SERVER") {
        Ok(target) => (None, target),
        Err(_) => {
            let server = Mysql56::start(Options::new().set("explicit_defaults_for_timestamp", 0))
                .expect("a server of 5.6.24");
            let target = format!("mysql://root@127.0.0.1:{}", server.port());
            (Some(server), target)
        }
    };
    let dir = std::env::temp_dir().join(format!("vaquita-dml-{}", std::process::id()));
    let mut differing = String::new();
    for seed in seeds() {
        let script = script(seed);
        let wanted = transcript::steps(&play(&target, seed, &script));
        let got = transcript::steps(&play(&dir.display().to_string(), seed, &script));
        if let Ok(into) = std::env::var("VAQUITA_DML_KEEP") {
            std::fs::write(format!("{into}/{seed}.mysql"), wanted.join("\n")).unwrap();
            std::fs::write(format!("{into}/{seed}.vaquita"), got.join("\n")).unwrap();
        }
        // What follows the first difference may follow from it.
        let differs = |i: &usize| {
            got.get(*i).is_none_or(|got| comparable(got) != comparable(&wanted[*i]))
                && !wanted[*i].starts_with("> set ")
        };
        if let Some(at) = (0..wanted.len()).find(differs) {
            let mut context: Vec<&str> = Vec::new();
            context.extend(
                wanted[..at]
                    .iter()
                    .filter(|s| s.starts_with("> create") || s.starts_with("> set"))
                    .map(String::as_str),
            );
            let got = got.get(at).map_or("nothing", String::as_str);
            let known = &context[context.len().saturating_sub(3)..];
            writeln!(
                differing,
                "=== seed {seed}, statement {at}\n{}\n--- MySQL\n{}\n--- Vaquita\n{got}\n",
                known.join("\n"),
                wanted[at]
            )
            .unwrap();
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(differing.is_empty(), "other than MySQL:\n{differing}");
}

/// ON DUPLICATE KEY UPDATE of rows that come from a SELECT: which of its columns have a name there, and what they are.
const OF_A_SELECT: &[&str] = &[
    "insert into t select a,v,x from s on duplicate key update t.v=s.v",
    "insert into t(a,v,w) select s.a,s.v,s.x from s on duplicate key update t.v=s.x, w=values(w)+s.v",
    "insert into t(a,v,w) select s.a,s.v,s.x from s on duplicate key update v=x",
    "insert into t(a,v,w) select s.a,s.v,s.x from s on duplicate key update v=v",
    "insert into t(a,v,w) select s.a,s.v,s.x from s on duplicate key update t.v=v",
    "insert into t(a,v,w) select s.a,s.v,s.x from s on duplicate key update a=a",
    "insert into t(a,v,w) select s.a,s.v,s.x from s on duplicate key update s.v=1",
    "insert into t(a,v,w) select s.a,s.v,s.x from s on duplicate key update x=1",
    "insert into t(a,v,w) select s.a,s.v,s.x from s as z on duplicate key update t.v=s.v",
    "insert into t(a,v,w) select z.a,z.v,z.x from s as z on duplicate key update t.v=z.v",
    "insert into t(a,v,w) select z.a,z.v,z.x from s as z on duplicate key update t.v=s.v",
    "insert into t(a,v,w) select s.a,s.v,r.y from s join r on s.a=r.a on duplicate key update t.v=r.y+s.x+t.w",
    "insert into t(a,v,w) select s.a,s.v,r.y from s left join r on s.a=r.a on duplicate key update w=y",
    "insert into t(a,v,w) select s.a,s.v,r.y from s left join r using(a) on duplicate key update w=r.a",
    "insert into t(a,v,w) select a,sum(v),max(x) from s group by a on duplicate key update t.v=s.v",
    "insert into t(a,v,w) select a,sum(v) q,max(x) from s group by a on duplicate key update t.v=q",
    "insert into t(a,v,w) select a,v as al,x from s on duplicate key update t.v=al",
    "insert into t(a,v,w) select a,v,x from s order by a desc on duplicate key update t.v=s.v",
    "insert into t(a,v,w) select a,v,x from s order by a desc limit 2 on duplicate key update t.v=s.v+s.x",
    "insert into t(a,v,w) select d.a,d.v,d.x from (select a,v,x from s) d on duplicate key update t.v=d.x",
    "insert into t select * from t as t2 on duplicate key update t.v=t2.w+5",
    "insert into t select * from t as t2 on duplicate key update v=t2.w+5",
    "insert into t select * from t as t2 on duplicate key update t.v=v+5",
    "insert into t select * from t on duplicate key update t.v=t.w+5",
    "insert into t select * from t on duplicate key update v=w+5",
    "insert into t(a,v,w) select a,v,x from s on duplicate key update t.v=(select max(y) from r where r.a=s.a)",
    "insert into t(a,v,w) select a,v,x from s on duplicate key update t.v=(select max(s.v) from r)",
    "insert into t(a,v,w) select a,v,x from s on duplicate key update t.v=values(v)+s.x, t.w=t.v+s.v",
    "insert into t(a,v,w) select count(*),1,2 from s on duplicate key update t.v=s.v",
    "insert into t(a,v,w) select 1,2,3 on duplicate key update t.v=s.v",
    "insert into t(a,v,w) select 1,2,3 from dual on duplicate key update v=v+1",
    "insert into t(a,v,w) select a,v,x from s having a<3 on duplicate key update t.v=s.x",
    "insert into t(a,v,w) select straight_join s.a,s.v,r.y from s join r on s.a=r.a on duplicate key update a=s.a+10",
    "insert into t(a,v,w) values(1,2,3) on duplicate key update t.v=s.v",
    "insert into t(a,v,w) (select a,v,x from s) on duplicate key update t.v=s.v",
    "insert into t(a,v,w) select a,v,x from s on duplicate key update t.v=sum(s.v)",
    "insert into t(a,v,w) select a,v,x from s on duplicate key update t.v=od.s.v, od.t.w=od.t.v",
    "insert into t(a,v,w) select a,v,x from s where a>5 on duplicate key update t.v=s.v",
    "insert into t(a,v,w) select s1.a,s1.v,s1.x from s s1, s s2 where s1.a=s2.a on duplicate key update t.v=s2.x,w=s1.x",
    "insert into t(a,v,w) select s1.a,s1.v,s1.x from s s1, s s2 where s1.a=s2.a on duplicate key update t.v=x",
    "insert into t(a,v,w) select s1.a,s1.v,s1.x from s s1, s s2 where s1.a=s2.a order by s2.x desc on duplicate key update t.v=s2.x",
    "insert into t(v,a,w) select v,a,x from s where a in (select a from r) on duplicate key update t.v=s.x+values(a)",
    "insert into t(v,a,w) select v,a,x from s where a in (select a from r) on duplicate key update t.v=r.y",
    "insert into t(a,v) select a,v from s on duplicate key update t.w=default(t.w), v=default(s.v)",
    "insert into t(a,v) select a,v from s on duplicate key update t.w=values(s.v)",
    "insert ignore into t(a,v) select a,v from s on duplicate key update t.a=s.a-1",
    "insert into t(a,v) select a,v from s for update on duplicate key update t.v=s.v",
    "replace into t(a,v) select a,v from s",
    "insert into t(a,v,w) select a,@q:=v,x from s on duplicate key update t.v=s.v+@q",
    "insert into t(a,v,w) select straight_join s.a,s.v,r.y from s, r order by r.y desc, s.a limit 3 on duplicate key update t.v=s.x+r.y",
    "insert into t(a,v,w) select a+0,v,x from s on duplicate key update t.v=a",
];

#[test]
fn updates_look_at_the_tables_of_the_select() {
    let peer = Mysql56::start(Options::new()).expect("a server of 5.6.24");
    let dir = std::env::temp_dir().join(format!("vaquita-updates-{}", std::process::id()));
    let mut script = "create database od; use od;
        create table t (a int primary key, v int, w int); create table s (a int, v int, x int);
        create table r (a int, y int);
        insert into t values (1, 1, 1), (2, 2, 2); insert into r values (1, 1000), (2, 2000);
        insert into s values (1, 10, 100), (2, 20, 200), (3, 30, 300);\n"
        .to_owned();
    for statement in OF_A_SELECT {
        writeln!(script, "begin; {statement}; select * from t order by a; rollback;").unwrap();
    }
    let wanted = transcript::steps(&play(&format!("mysql://root@127.0.0.1:{}", peer.port()), 1, &script));
    let got = transcript::steps(&play(&dir.display().to_string(), 1, &script));
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(wanted.len() > 4 * OF_A_SELECT.len());
    let differing: Vec<String> = (wanted.iter().zip(&got))
        .filter(|(wanted, got)| wanted != got)
        .map(|(wanted, got)| format!("--- MySQL\n{wanted}\n--- Vaquita\n{got}"))
        .collect();
    assert!(differing.is_empty() && wanted.len() == got.len(), "{}", differing.join("\n"));
}
