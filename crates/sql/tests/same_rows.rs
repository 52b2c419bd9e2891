//! A condition finds the same rows by every way: with an index or without, up or down, in partitions of all kinds, by a join, as
//! a parameter, for SELECT, DELETE and UPDATE. Every type of column meets odd constants of every other type.
//!
//! The tables hold the constants themselves, as each type keeps them. What a table without indexes and partitions answers is right:
//! it has nothing but the condition to go by. One seed asks the same always; `VAQUITA_CONDITIONS=5000000` asks more of what there is
//! to ask than the share of every day, `VAQUITA_CONDITION_SEED=7` another share.

use crate::support;

use support::{open_with, root, run};
use vaquita_base::Rng;
use vaquita_sql::Connection;
use vaquita_sql::sink::Collected;

/// Conditions asked every day.
const EVERY_DAY: u64 = 15_000;

/// Types of columns.
const TYPES: &[&str] = &[
    "tinyint",
    "tinyint unsigned",
    "smallint",
    "mediumint unsigned",
    "int",
    "int unsigned",
    "bigint",
    "bigint unsigned",
    "bit(1)",
    "bit(9)",
    "bit(64)",
    "decimal(5,2)",
    "decimal(10,0) unsigned",
    "decimal(30,10)",
    "float",
    "float(6,2)",
    "double",
    "double unsigned",
    "year",
    "date",
    "datetime",
    "datetime(3)",
    "timestamp null",
    "timestamp(6) null",
    "time",
    "time(2)",
    "char(5) charset latin1",
    "varchar(20) charset utf8mb4 collate utf8mb4_general_ci",
    "varchar(20) charset utf8mb4 collate utf8mb4_unicode_ci",
    "varchar(20) charset utf8mb4 collate utf8mb4_bin",
    "varchar(20) charset latin1 collate latin1_german2_ci",
    "binary(4)",
    "varbinary(20)",
    "text charset utf8mb4",
    "blob",
    "enum('a','b','','2','1','z') charset utf8mb4",
    "set('a','b','2','1') charset utf8mb4",
];

/// Odd constants, each of some type.
const CONSTANTS: &[&str] = &[
    "null",
    "0",
    "1",
    "-1",
    "2",
    "9",
    "49",
    "69",
    "70",
    "99",
    "100",
    "127",
    "128",
    "255",
    "256",
    "-128",
    "-129",
    "1901",
    "1999",
    "2155",
    "2156",
    "3000",
    "9999",
    "32768",
    "8388607",
    "20240229",
    "20240230",
    "20240229123456",
    "991231",
    "2147483647",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "-9223372036854775808",
    "99999999999999999999",
    "0.5",
    "-0.5",
    "1.5",
    "1.4999",
    "999.994",
    "999.996",
    "2024.5",
    "1e0",
    "1.5e0",
    "-0e0",
    "1e30",
    "-1e30",
    "1e-30",
    "0.1e0",
    "0x31",
    "0x3132",
    "0x00",
    "x''",
    "b'1'",
    "b'100000001'",
    "0xFFFFFFFFFFFFFFFF",
    "true",
    "''",
    "' '",
    "'0'",
    "'1'",
    "'01'",
    "' 1'",
    "'1 '",
    "'1.5'",
    "'1e1'",
    "'-1'",
    "'9'",
    "'12'",
    "'49'",
    "'99'",
    "'256'",
    "'2156'",
    "'3000'",
    "'a'",
    "'A'",
    "'b'",
    "'z'",
    "'a,b'",
    "'b,a'",
    "'a,2'",
    "'abc'",
    "'abcdefghij'",
    "'abcdefghijklmnopqrstuvwxyz'",
    "'\\t'",
    "'a\\t'",
    "'\\0'",
    "'ä'",
    "'ß'",
    "'ss'",
    "'🎩'",
    "'1abc'",
    "'%'",
    "'a%'",
    "'20%'",
    "'_'",
    "'2024'",
    "'2024-02'",
    "'2024-02-29'",
    "'2024-02-30'",
    "'2024-13-01'",
    "'2024-02-00'",
    "'2024-00-00'",
    "'0000-00-00'",
    "'0000-00-00 00:00:00'",
    "'1969-12-31'",
    "'1970-01-01 00:00:00'",
    "'1970-01-01 00:00:01'",
    "'2038-01-19 03:14:07'",
    "'2038-01-19 03:14:08'",
    "'2040-01-01'",
    "'9999-12-31'",
    "'9999-12-31 23:59:59.9999999'",
    "'2024-02-29 12:34:56'",
    "'2024-02-29 12:34:56.5'",
    "'2024-02-29 23:59:59.999999'",
    "'2024-02-29 12:34'",
    "'2024-2-9'",
    "'20240229'",
    "'20240229123456'",
    "'2024-02-29abc'",
    "'24-02-29'",
    "'2024-03-31 02:30:00'",
    "'2024-10-27 02:30:00'",
    "'12:34:56'",
    "'12:34'",
    "'-12:34:56'",
    "'-00:00:01'",
    "'00:00:00.005'",
    "'-00:00:00.005'",
    "'838:59:59'",
    "'839:00:00'",
    "'-839:00:00'",
    "'1 10:00:00'",
    "'123456'",
    "'12:34:56abc'",
    "'99:99:99'",
    "123456",
    "8385959",
    "8390000",
    "date'2024-02-29'",
    "timestamp'2024-02-29 12:34:56'",
    "timestamp'2024-02-29 12:34:56.125'",
    "time'12:34:56'",
    "time'-12:34:56.5'",
];

/// Conditions: `@` is the column, `?` and `!` are constants.
const CONDITIONS: &[&str] = &[
    "@ = ?",
    "@ < ?",
    "@ <= ?",
    "@ > ?",
    "@ >= ?",
    "@ <> ?",
    "@ <=> ?",
    "? = @",
    "? < @",
    "? >= @",
    "@ in (?, !)",
    "@ in (?)",
    "@ not in (?, !)",
    "@ between ? and !",
    "@ between ! and ?",
    "@ not between ? and !",
    "? between @ and !",
    "? between ! and @",
    "@ like ?",
    "@ not like ?",
    "@ is null",
    "@ > ? and @ <= !",
    "@ = ? or @ = !",
    "@ < ? or @ >= !",
    "@ >= ? and @ <> !",
    "not (@ < ?)",
    "@ = ? and @ = !",
    "(@, g) = (?, 1)",
    "(@, g) in ((?, 1), (!, 0))",
    "g = 1 and @ > ?",
    "g in (0, 1) and @ = ?",
    "g > 0 and @ < ?",
    "@ = ? and g = 1",
    "@ > ? and g = 0",
];

/// Conditions of a join: `@` is the column of one table, `#` that of the other.
const JOINED: &[&str] = &[
    "@ = #",
    "@ <=> #",
    "@ < #",
    "@ >= #",
    "# > @",
    "@ <> #",
    "@ = # and m.g = 1",
    "@ between # and #",
    "@ like #",
];

/// What to partition by; `{}` is a list of the column's values made into clauses.
const PARTITIONINGS: &[&str] = &[
    "hash(c) partitions 5",
    "key(c) partitions 5",
    "linear key(c) partitions 3",
    "range(c) (RANGE)",
    "range(c) subpartition by hash(g) subpartitions 2 (RANGE)",
    "list(c) (LIST)",
    "range columns(c) (RANGE)",
    "range columns(g, c) (PAIR)",
    "list columns(c) (LIST)",
    "range(year(c)) (partition p0 values less than (1970), partition p1 values less than (2024), partition p2 values less than (2025), partition p3 values less than maxvalue)",
    "range(to_days(c)) (partition p0 values less than (0), partition p1 values less than (739310), partition p2 values less than (739311), partition p3 values less than maxvalue)",
    "hash(year(c)) partitions 4",
    "hash(to_days(c)) partitions 4",
    "hash(month(c)) partitions 4",
    "range(unix_timestamp(c)) (partition p0 values less than (1), partition p1 values less than (1709164800), partition p2 values less than maxvalue)",
    "range(time_to_sec(c)) (partition p0 values less than (0), partition p1 values less than (45296), partition p2 values less than maxvalue)",
    "hash(time_to_sec(c)) partitions 4",
    "hash(hour(c)) partitions 4",
    "range(abs(c)) (partition p0 values less than (2), partition p1 values less than (128), partition p2 values less than maxvalue)",
    "hash(c mod 7) partitions 4",
];

type Answer = Result<Vec<String>, u16>;

fn answer(c: &mut Connection, sql: &str) -> Answer {
    let mut sink = Collected::default();
    c.query(sql.as_bytes(), &mut sink).map_err(|e| e.code)?;
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".to_owned());
    let row = |row: &Vec<Option<String>>| row.iter().map(cell).collect::<Vec<_>>().join(",");
    let mut rows: Vec<String> = sink.results.iter().flat_map(|r| &r.rows).map(row).collect();
    rows.sort();
    Ok(rows)
}

/// Tables with the same rows, the plain one first.
struct Tables {
    names: Vec<String>,
    /// How each is read best with hints of its own.
    hints: Vec<&'static str>,
}

const NO_MODE: &str = "set sql_mode = '', time_zone = 'Europe/Berlin', timestamp = 1709208000";

fn tables(c: &mut Connection, ty: &str, prefix: &str) -> Tables {
    let plain = format!("{prefix}_plain");
    let made = |c: &mut Connection, name: &str, rest: &str| {
        run(c, &format!("create table {name} (id int not null, g int not null, c {ty}{rest}")).is_empty()
    };
    assert!(made(c, &plain, ", primary key(id))"), "{ty}");
    for (id, constant) in CONSTANTS.iter().enumerate() {
        run(c, &format!("insert ignore into {plain} values ({id}, {}, {constant})", id % 2));
    }
    // Values that no constant gives: those that INSERT does not make of anything.
    let mut all = Tables { names: vec![plain.clone(), plain.clone()], hints: vec!["", ""] };
    let text = ["char", "varchar", "text", "blob", "binary", "varbinary"].iter().any(|t| ty.starts_with(t));
    let key = if ty.starts_with("text") || ty.starts_with("blob") { "c(20)" } else { "c" };
    let mut ways: Vec<(&str, String, &'static str)> = vec![
        ("up", format!(", primary key(id), key c({key}))"), " force index (c)"),
        ("down", format!(", primary key(id), key c({key} desc))"), " force index (c)"),
        ("second", format!(", primary key(id), key c(g, {key}))"), " force index (c)"),
        ("first", format!(", primary key(id), key c({key}, g))"), " force index (c)"),
    ];
    if text {
        ways.push(("prefix", ", primary key(id), key c(c(2)))".into(), " force index (c)"));
        ways.push(("prefixes", ", primary key(id), key c(g, c(1) desc, id))".into(), " force index (c)"));
    }
    let cells = answer(c, &format!("select distinct quote(c) from {plain} where c is not null order by c"))
        .expect("values");
    let mut bounds: Vec<String> = cells.clone();
    let mut sink = Collected::default();
    if c.query(
        format!("select quote(c) from {plain} where c is not null group by c order by c").as_bytes(),
        &mut sink,
    )
    .is_ok()
    {
        bounds = sink.results.iter().flat_map(|r| &r.rows).filter_map(|r| r[0].clone()).collect();
    }
    let bare = |quoted: &str| match quoted.trim_matches('\'').parse::<i128>() {
        Ok(n) if !text && !ty.contains("enum") => n.to_string(),
        _ => quoted.to_owned(),
    };
    let clause = |n: usize| -> Vec<String> {
        let step = (bounds.len() / n).max(1);
        bounds.iter().skip(1).step_by(step).map(|v| bare(v)).collect()
    };
    for (n, by) in PARTITIONINGS.iter().enumerate() {
        let mut by = (*by).to_owned();
        if by.contains("RANGE") {
            let parts: Vec<String> = clause(4)
                .iter()
                .enumerate()
                .map(|(n, v)| format!("partition p{n} values less than ({v})"))
                .collect();
            by = by.replace(
                "RANGE",
                &format!("{}, partition rest values less than (maxvalue)", parts.join(", ")),
            );
        }
        if by.contains("PAIR") {
            let parts: Vec<String> = (0..2)
                .flat_map(|g| clause(2).into_iter().map(move |v| (g, v)))
                .enumerate()
                .map(|(n, (g, v))| format!("partition p{n} values less than ({g}, {v})"))
                .collect();
            by = by.replace(
                "PAIR",
                &format!("{}, partition rest values less than (maxvalue, maxvalue)", parts.join(", ")),
            );
        }
        if by.contains("LIST") {
            let mut lists: Vec<Vec<String>> = vec![vec!["null".to_owned()], Vec::new(), Vec::new()];
            for (n, v) in bounds.iter().enumerate() {
                lists[n % 3].push(bare(v));
            }
            let parts: Vec<String> = lists
                .iter()
                .enumerate()
                .filter(|(_, l)| !l.is_empty())
                .map(|(n, list)| format!("partition p{n} values in ({})", list.join(", ")))
                .collect();
            by = by.replace("LIST", &parts.join(", "));
        }
        let index = if n % 2 == 0 { String::new() } else { format!(", key c({key})") };
        ways.push(("parts", format!("{index}, key (id)) partition by {by}"), ""));
    }
    for (n, (way, rest, hint)) in ways.into_iter().enumerate() {
        let name = format!("{prefix}_{way}{n}");
        // Not every type can be partitioned by everything.
        if made(c, &name, &rest) {
            let filled = run(c, &format!("insert into {name} select * from {plain}"));
            let n = |c: &mut Connection, t: &str| {
                answer(c, &format!("select count(*) from {t}")).expect("counted")
            };
            if filled.is_empty() && n(c, &name) == n(c, &plain) {
                all.names.push(name);
                all.hints.push(hint);
                continue;
            }
            if std::env::var("VAQUITA_CONDITION_NOTES").is_ok() {
                println!("-- {ty} {rest}: not filled {filled}");
            }
        }
        run(c, &format!("drop table if exists {prefix}_{way}{n}"));
    }
    all
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect(name))
}

fn pick<'l, T: ?Sized>(rng: &mut Rng, list: &'l [&'l T]) -> &'l T {
    list[rng.below(list.len() as u64) as usize]
}

/// What differs, told once per kind.
#[derive(Default)]
struct Found {
    asked: u64,
    different: Vec<String>,
}

impl Found {
    fn compare(&mut self, ty: &str, sql: &str, wanted: &Answer, got: &Answer) {
        self.asked += 1;
        if wanted != got {
            self.different.push(format!("{ty}: {sql}\n  wanted {wanted:?}\n  got    {got:?}"));
        }
    }
}

/// One condition, by several ways.
fn ask(
    c: &mut Connection,
    found: &mut Found,
    rng: &mut Rng,
    ty: &str,
    all: &Tables,
    condition: &str,
    ways: usize,
) {
    let (a, b) = (pick(rng, CONSTANTS), pick(rng, CONSTANTS));
    ask_with(c, found, rng, ty, all, condition, (a, b), ways);
}

#[allow(clippy::too_many_arguments)]
fn ask_with(
    c: &mut Connection,
    found: &mut Found,
    rng: &mut Rng,
    ty: &str,
    all: &Tables,
    condition: &str,
    (a, b): (&str, &str),
    ways: usize,
) {
    let condition = condition.replace('@', "c");
    let literal = condition.replace('?', a).replace('!', b);
    let form = rng.below(6);
    let text = match form {
        0 => {
            run(c, &format!("set @a = {a}, @b = {b}"));
            condition.replace('?', "@a").replace('!', "@b")
        }
        _ => literal.clone(),
    };
    let query = |c: &mut Connection, from: &str| -> Answer {
        if form == 1 {
            // Parameters come in the order of the text.
            let order: Vec<&str> = condition
                .chars()
                .filter_map(|ch| match ch {
                    '?' => Some("@a"),
                    '!' => Some("@b"),
                    _ => None,
                })
                .collect();
            run(c, &format!("set @a = {a}, @b = {b}"));
            let failed = run(
                c,
                &format!("prepare s from 'select id from {from} where {}'", condition.replace('!', "?")),
            );
            if !failed.is_empty() {
                return Err(1);
            }
            let using = if order.is_empty() { String::new() } else { format!(" using {}", order.join(", ")) };
            return answer(c, &format!("execute s{using}"));
        }
        answer(c, &format!("select id from {from} where {text}"))
    };
    let wanted = query(c, &all.names[0]);
    for _ in 0..ways {
        let at = 1 + rng.below(all.names.len() as u64 - 1) as usize;
        let name = &all.names[at];
        let hint = if rng.below(2) == 0 { all.hints[at] } else { "" };
        let from = format!("{name}{hint}");
        if at == 1 {
            let sql = format!("select id from {name} where if({text}, 1, 0) = 1");
            if form != 1 {
                let got = answer(c, &sql);
                found.compare(ty, &sql, &wanted, &got);
            }
        } else if form == 2 && wanted.is_ok() {
            let changing = rng.below(2) == 0;
            let (change, left) = match changing {
                true => (format!("delete from {name} where {literal}"), format!("select id from {name}")),
                false => (
                    format!("update {name} set id = id + 1000 where {literal}"),
                    format!("select id from {name} where id < 1000"),
                ),
            };
            run(c, "begin");
            let before = answer(c, &format!("select id from {name}")).expect("all");
            let ran = answer(c, &change);
            let after = answer(c, &left).expect("left");
            run(c, "rollback");
            let got = ran.map(|_| before.into_iter().filter(|id| !after.contains(id)).collect());
            found.compare(ty, &change, &wanted, &got);
        } else {
            let got = query(c, &from);
            found.compare(ty, &format!("form {form}: select id from {from} where {text}"), &wanted, &got);
        }
    }
}

/// One condition of two tables, by several ways.
fn ask_join(
    c: &mut Connection,
    found: &mut Found,
    rng: &mut Rng,
    ty: &str,
    mine: &Tables,
    other: &str,
    ways: usize,
) {
    let condition = pick(rng, JOINED).replace('@', "m.c").replace('#', "o.c");
    let plain = &mine.names[0];
    let form = rng.below(5);
    let sql = |mine: &str, hint: &str, condition: &str| match form {
        0 => format!("select m.id, o.id from {other} o join {mine} m{hint} on {condition}"),
        1 => format!("select m.id, o.id from {other} o left join {mine} m{hint} on {condition}"),
        2 => format!(
            "select o.id from {other} o where exists (select 1 from {mine} m{hint} where {condition})"
        ),
        3 => {
            format!("select o.id from {other} o where o.c in (select m.c from {mine} m{hint} where m.g = 1)")
        }
        _ => format!("select m.id from {mine} m{hint} where m.c in (select o.c from {other} o)"),
    };
    // IN with a subquery compares by rules of its own: the plain table is asked the same.
    let base = match form {
        3 | 4 => sql(plain, "", &condition),
        _ => sql(plain, "", &format!("if({condition}, 1, 0) = 1")),
    };
    let wanted = answer(c, &base);
    for _ in 0..ways {
        let at = rng.below(mine.names.len() as u64) as usize;
        let hint = if rng.below(2) == 0 { mine.hints[at] } else { "" };
        let mut text = sql(&mine.names[at], hint, &condition);
        if form == 0 && rng.below(2) == 0 {
            text = text.replacen("select", "select straight_join", 1);
        }
        let got = answer(c, &text);
        found.compare(ty, &text, &wanted, &got);
    }
}

/// A query finds these.
#[track_caller]
fn finds(c: &mut Connection, sql: &str, wanted: &[&str]) {
    assert_eq!(answer(c, sql), Ok(wanted.iter().map(|id| (*id).to_owned()).collect()), "{sql}");
}

#[test]
fn bounds_that_the_column_cannot_have_lose_no_rows() {
    let opened = open_with(&[]);
    let mut c = root(&opened.db);
    let made = [
        "create database d; use d; set sql_mode = ''; set names utf8mb4",
        "create table d (id int primary key, t datetime, s timestamp null, m time, key (t), key (s), key (m))",
        "insert into d values (1,'1999-12-31 23:59:59','1999-12-31 23:59:59','-00:00:01'),(2,'2000-01-01','2000-01-01','00:00:01'),\
         (3,'2024-02-29 12:00:00','2024-02-29 12:00:00','12:34:56'),(4,'2030-01-01','2030-01-01','23:59:59')",
        "create table p (id int, t datetime) partition by range columns (t) (partition a values less than ('2000-01-01'), \
         partition b values less than ('2024-02-01'), partition c values less than (maxvalue))",
        "insert into p values (1,'1999-12-31'),(2,'2000-01-01'),(3,'2024-01-29'),(4,'2030-01-01')",
        "create table y (id int, y year, key (y))",
        "insert into y values (1,1901),(2,1999),(3,2000),(4,2155),(5,0000),(6,null)",
        "create table py (id int, y year) partition by range (y) (partition a values less than (1970), partition b values less than maxvalue)",
        "insert into py values (1,1901),(2,1999),(3,2000)",
        "create table b (id int primary key, n bit(9), key (n))",
        "insert into b values (1,257),(2,49),(3,12),(4,null)",
    ];
    for sql in made {
        assert_eq!(run(&mut c, sql), "", "{sql}");
    }
    finds(&mut c, "select id from d force index (t) where t < '2024-02'", &["1", "2"]);
    finds(&mut c, "select id from d force index (t) where t <= '2024'", &["1", "2"]);
    finds(&mut c, "select id from d force index (s) where s < '2024-02-30'", &["1", "2", "3"]);
    finds(&mut c, "select id from d force index (s) where s < '2024-13-01'", &["1", "2", "3"]);
    finds(&mut c, "select id from d force index (s) where s < '2040-01-01'", &["1", "2", "3", "4"]);
    finds(&mut c, "select id from p where t < '2024-02'", &["1", "2", "3"]);
    finds(&mut c, "select id from y force index (y) where y >= 3000", &[]);
    finds(&mut c, "select id from y force index (y) where y < 3000", &["1", "2", "3", "4", "5"]);
    finds(&mut c, "select id from y force index (y) where y between 1950 and 9999", &["2", "3", "4"]);
    finds(&mut c, "select id from py where y < 9999", &["1", "2", "3"]);
    finds(&mut c, "select id from b force index (n) where n in (257, '49')", &["1", "2"]);
    finds(&mut c, "select id from b force index (n) where n > '48'", &["1", "2"]);
    finds(&mut c, "select id from b force index (n) where n = '12'", &["3"]);
    assert_eq!(run(&mut c, "delete from d where t < '2024'"), "");
    finds(&mut c, "select id from d", &["3", "4"]);
    // A table that is read once for all rows of a join is read whole, whatever the first of them has.
    assert_eq!(
        run(&mut c, "create table o (id int primary key, y year); insert into o values (1, null), (2, 2000)"),
        ""
    );
    finds(&mut c, "select py.id from o straight_join py on py.y = o.y", &["3"]);
}

#[test]
fn a_date_makes_the_texts_of_between_dates() {
    let opened = open_with(&[]);
    let mut c = root(&opened.db);
    let made = "create database d; use d; set names utf8mb4; create table t (id int, f datetime, key (f)); \
                insert into t values (1,'2001-01-01 01:01:01'),(2,'2001-02-05'),(3,'2001-05-20')";
    assert_eq!(run(&mut c, made), "");
    finds(&mut c, "select id from t where '2001-04-10' between f and '2001-05-01'", &["1", "2"]);
    finds(&mut c, "select id from t where '2001-04-10' between '2001-01-01' and f", &["3"]);
    finds(&mut c, "select id from t where '2001-4-10' not between f and '2001-05-01'", &["3"]);
}

#[test]
fn conditions_find_the_same_rows_by_every_way() {
    let opened = open_with(&[("innodb_flush_log_at_trx_commit", "0")]);
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database d; use d; set names utf8mb4"), "");
    assert_eq!(run(&mut c, NO_MODE), "");
    let (wanted, seed) = (number("VAQUITA_CONDITIONS", EVERY_DAY), number("VAQUITA_CONDITION_SEED", 1));
    let mut rng = Rng::new(seed);
    let mut found = Found::default();
    let only = std::env::var("VAQUITA_CONDITION_TYPE").unwrap_or_default();
    let types: Vec<&&str> = TYPES.iter().filter(|ty| ty.contains(&only)).collect();
    let others: Vec<Tables> = if only == "-" {
        Vec::new()
    } else {
        (0..TYPES.len())
            .map(|n| {
                let plain = format!("o{n}");
                assert_eq!(
                    run(&mut c, &format!("create table {plain} (id int primary key, g int, c {})", TYPES[n])),
                    ""
                );
                for (id, constant) in CONSTANTS.iter().enumerate() {
                    run(&mut c, &format!("insert ignore into {plain} values ({id}, {}, {constant})", id % 2));
                }
                Tables { names: vec![plain], hints: vec![""] }
            })
            .collect()
    };
    for (n, ty) in types.iter().enumerate() {
        let all = tables(&mut c, ty, &format!("t{n}"));
        let share = wanted * (n as u64 + 1) / types.len() as u64;
        let joins = share - (share - found.asked) / 8;
        while found.asked < joins {
            for condition in CONDITIONS {
                ask(&mut c, &mut found, &mut rng, ty, &all, condition, 6);
            }
        }
        while found.asked < share {
            let other = rng.below(others.len() as u64) as usize;
            ask_join(&mut c, &mut found, &mut rng, ty, &all, &others[other].names[0], 3);
        }
        for name in &all.names {
            run(&mut c, &format!("drop table if exists {name}"));
        }
    }
    let shown = found.different.iter().take(number("VAQUITA_CONDITION_SHOWN", 20) as usize);
    let shown: Vec<&str> = shown.map(String::as_str).collect();
    assert!(
        found.different.is_empty(),
        "seed {seed}: {} of {} differ:\n{}",
        found.different.len(),
        found.asked,
        shown.join("\n")
    );
}
