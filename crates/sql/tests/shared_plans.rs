//! Plans are shared by sessions and by statements that differ in literals alone. The invariant: whatever plans are in the cache,
//! a statement answers what it answers without one. Here every statement runs by a cached plan, as often made for other
//! literals, parameters or settings as for its own, and once more with `/*! */` in it, which keeps it out of the cache and its
//! literals where they are.

use crate::support;

use std::sync::Arc;
use support::{connect_as, open, root, run};
use vaquita_base::Rng;
use vaquita_sql::sink::Collected;
use vaquita_sql::types::{Date, DateTime, Decimal, Time};
use vaquita_sql::{Connection, Database, Value};

/// The same statement, without the cache.
fn alone(sql: &str) -> String {
    match sql.find([' ', '(']) {
        Some(at) => format!("{} /*! */{}", &sql[..at], &sql[at..]),
        None => sql.to_owned(),
    }
}

/// Settings of a session that the meaning or the result of a statement may depend on.
const SETTINGS: [&str; 23] = [
    "set sql_mode = ''",
    "set sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE'",
    "set sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'",
    "set sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "set sql_mode = 'NO_UNSIGNED_SUBTRACTION,HIGH_NOT_PRECEDENCE'",
    "set sql_mode = 'ONLY_FULL_GROUP_BY'",
    "set names utf8",
    "set names latin1",
    "set names utf8mb4 collate utf8mb4_bin",
    "set names binary",
    "set names cp1251",
    "set collation_connection = latin1_german1_ci",
    "set character_set_results = latin1",
    "set character_set_results = null",
    "set time_zone = '+05:30'",
    "set time_zone = '-08:00'",
    "set timestamp = 1000000000",
    "set timestamp = 86399",
    "set div_precision_increment = 0",
    "set div_precision_increment = 20",
    "set default_week_format = 6",
    "set group_concat_max_len = 4",
    "set sql_select_limit = 1",
];

/// Literals of every kind, as they are written.
const LITERALS: [&str; 34] = [
    "0",
    "1",
    "2",
    "5",
    "-1",
    "18446744073709551615",
    "-9223372036854775808",
    "1.5",
    "1.50",
    "0.0",
    "123456789012345678901234567890.5",
    "1e0",
    "1.5e0",
    "1e300",
    "''",
    "'a'",
    "'A'",
    "'a '",
    "'ä'",
    "'ж'",
    "'1'",
    "'1.5x'",
    "'2020-02-29'",
    "'2020-02-29 10:11:12.5'",
    "'10:11:12'",
    "NULL",
    "x'61'",
    "0x31",
    "b'1'",
    "_latin1'a'",
    "_utf8'\u{e4}'",
    "date'2020-02-29'",
    "time'10:11:12'",
    "true",
];

/// Statements with places for literals.
const STATEMENTS: [&str; 52] = [
    "select id from t where id = {} order by id",
    "select id from t where id <=> {} order by id",
    "select id from t where id <> {} order by id",
    "select id from t where id > {} order by id",
    "select id from t where id between {} and {} order by id",
    "select id from t where id in ({}, {}, {}) order by id",
    "select id from t where id not in ({}, {}) order by id",
    "select id from t where {} = id order by id",
    "select id from t where u = {} order by id",
    "select id from t where u - {} > {} order by id",
    "select id from t where n = {} order by id",
    "select id from t where n < {} order by id",
    "select id from t where n / {} > {} order by id",
    "select id from t where f >= {} order by id",
    "select id from t where c = {} order by id",
    "select id from t where c like {} order by id",
    "select id from t where c > {} order by id",
    "select id from t where c in ({}, {}) order by id",
    "select id from t where l = {} order by id",
    "select id from t where b = {} order by id",
    "select id from t where d = {} order by id",
    "select id from t where d < {} order by id",
    "select id from t where m >= {} order by id",
    "select id from t where h = {} order by id",
    "select id from t where s = {} order by id",
    "select id from t where e = {} order by id",
    "select id from t where id + {} = {} order by id",
    "select id from t where id % {} = {} order by id",
    "select id from t where id & {} order by id",
    "select id from t where c || {} order by id",
    "select id from t where not id = {} order by id",
    "select id from t where case when id > {} then {} else {} end order by id",
    "select id from t where d + interval {} day > {} order by id",
    "select id from t where {} and id > {} order by id",
    "select id from t where (id, c) = ({}, {}) order by id",
    "select id from t where (id, c) < ({}, {}) order by id",
    "select id from t where c collate utf8mb4_bin = {} order by id",
    "select id from t where id = (select max(id) from t where id < {}) order by id",
    "select k, count(*) from t where id > {} group by k having count(*) > {} order by k",
    "select k, max(c) from t group by k having max(c) > {} order by k",
    "select t.id, o.id from t left join t o on o.id = t.id + {} and o.k > {} where t.id < {} order by 1, 2",
    "select x.id from (select id from t where id > {}) x where x.id < {} order by x.id",
    "select table_name from information_schema.tables where table_schema = {} order by 1",
    "select count(*) from information_schema.columns where table_schema = {} and table_name = {}",
    "select schema_name from information_schema.schemata where schema_name > {} order by 1",
    "select id * {} from t order by id * {}, id",
    "select id + {} from t group by id + {} order by id + {}, id",
    "select k + {}, count(*) from t group by k + {} with rollup",
    "select sum(id * {}), sum(id * {}), count(distinct id * {}) from t",
    "select id from t order by id = {}, id = {}, id limit 3",
    "select max(id) from t group by k having max(id) * {} > {} and max(id) * {} > 1 order by 1",
    "select @r := id from t where @r := ({} + id) order by id",
];

/// What is asked with every setting: literals that stay, functions of the session, of time, of variables.
const PLAIN: [&str; 50] = [
    "select 1/3, 2.5/3, 7 div 2, 1/0",
    "select 'a\\nb', 'it''s', \"t\"",
    "select 'a' || 'b', 1 || 0",
    "select not 1 = 2, not 0 between 1 and 2",
    "select cast(1 as unsigned) - 2",
    "select 'ä' = 'ae', 'ß' = 'ss', 'a' = 'A', 'a' = 'a '",
    "select 'ä', hex('ä'), length('ä'), char_length('ä')",
    "select charset('x'), collation('x'), coercibility('x'), charset(concat(1, 2)), collation(now())",
    "select now() > '2000-01-01', curdate(), curtime() < '24:00:00', unix_timestamp()",
    "select cast(time'10:11:12' as datetime), timestamp(time'01:02:03'), date(time'10:11:12')",
    "select time'10:11:12' = cast('2020-02-29 10:11:12' as datetime), year(time'10:11:12')",
    "select id from t where m > time'10:11:12' order by id",
    "select cast(time'10:11:12' as date), date_add(time'10:11:12', interval 1 day)",
    "select greatest(time'10:11:12', date'2020-02-29'), coalesce(time'10:11:12', now())",
    "select from_unixtime(0), unix_timestamp('1970-01-02 00:00:00'), from_unixtime(1000000000, '%W %M')",
    "select week('2008-01-01'), date_format('2008-01-01', '%U %u %M %W'), yearweek('2008-01-01')",
    "select monthname('2008-03-01'), dayname('2008-03-01')",
    "select str_to_date('00/00/2008', '%d/%m/%Y'), date('2008-00-00'), '0000-00-00' = date'2008-01-01'",
    "select group_concat(c order by id) from t",
    "select k, group_concat(id order by id) from t group by k order by k",
    "select id, c from t order by id",
    "select id, l from t order by id",
    "select c, count(*) from t group by c order by c",
    "select k, c from t group by k order by k",
    "select distinct c from t order by c",
    "select id from t where c = 'a' order by id",
    "select id from t where l = 'ä' order by id",
    "select id from t where id is null order by id",
    "select id from t where c is null order by id",
    "select s, unix_timestamp(s) from t order by id",
    "select id from t where s = '2020-02-29 10:11:12' order by id",
    "select database(), user(), current_user(), connection_id() > 0",
    "select @@sql_mode, @@time_zone, @@collation_connection, @@div_precision_increment",
    "select @a, @a + 1, charset(@a), @a = '1'",
    "select id from t where id = @a order by id",
    "select id from t where c = @a order by id",
    "select @a := @a + 1, @a",
    "select @new_one := 1, @new_one + 1",
    "select found_rows(), row_count(), last_insert_id()",
    "select avg(n), sum(n) / 3, avg(id) from t",
    "select n / 3, n * 1.10, id / 7 from t order by id",
    "select cast('x' as char character set latin1) = 'x', convert('ä' using latin1) = 'ä'",
    "select sum(id) from t where id > 1 union select 5 union all select 'x' order by 1",
    "select count(*) from information_schema.tables where table_schema = database()",
    "select table_name from information_schema.tables where table_schema = 'd' order by 1",
    "select length(repeat('x', 5000)), left(concat(repeat('y', 5000), 'z'), 3)",
    "select round(n, 1), truncate(f, 1), format(n, 1) from t order by id",
    "select extract(year from d), extract(day from d) from t order by extract(day from d), id",
    "select d + interval 1 day, d + interval 1 month from t order by d + interval 1 month, id",
    "select inet_ntoa(1), hex(1), conv(10, 10, 2), bin(5), md5('x'), elt(1, 'ä'), make_set(1, 'ä')",
];

fn filled() -> (support::Opened, Connection) {
    let opened = open();
    let mut c = root(&opened.db);
    for sql in [
        "set sql_mode = ''",
        "create database d default character set utf8mb4; create database e; create table e.t like mysql.db; use d",
        "create table t (id int primary key, u bigint unsigned, n decimal(10,2), f double, c varchar(20), l varchar(20) character \
         set latin1, b varbinary(20), d date, m datetime(1), h time, s timestamp null, e enum('a','b','1'), k int, key (c), \
         key (k, n), key (l), key (d), key (m), key (u)) default character set utf8mb4",
        "insert into t values (0, 0, 0, 0, '', '', '', '0000-00-00', '0000-00-00', 0, null, 1, 1), \
         (1, 1, 1, 1, 'a', 'a', 'a', '2020-02-29', '2020-02-29 10:11:12.5', '10:11:12', '2020-02-29 10:11:12', 'a', 1), \
         (2, 18446744073709551615, 1.5, 1.5, 'A', 'A', 'A', '2020-03-01', '2020-02-29', '-10:11:12', '1970-01-02', 'b', 1), \
         (3, 3, -1.5, -1.5e300, 'ä', 'ä', 'ä', '1999-12-31', '9999-12-31 23:59:59.9', '838:59:59', '2038-01-01', '1', 2), \
         (4, 9223372036854775808, 99999999.99, 1e300, 'ж', '?', 'ж', '2008-01-01', '2008-01-01', '00:00:01', null, null, 2), \
         (5, 5, null, null, null, null, null, null, null, null, null, null, null), \
         (-1, 7, 1.5, 1.5, '1', '1', '1', '2010-11-12', '2010-11-12 00:00:00', '00:00:00', '2010-11-12', '1', 2), \
         (7, 1, 1.50, 1, '1.5x', 'a ', 'a ', '2001-01-01', '2001-01-01', '24:00:00', '2001-01-01', 'a', 3)",
    ] {
        assert_eq!(run(&mut c, sql), "", "{sql}");
    }
    (opened, c)
}

fn session(db: &Arc<Database>) -> Connection {
    let mut c = root(db);
    assert_eq!(run(&mut c, "use d"), "");
    c
}

/// Rows, or the error.
fn asked(c: &mut Connection, sql: &str) -> String {
    run(c, sql)
}

/// Puts literals into a statement's places.
fn with_literals(statement: &str, rng: &mut Rng) -> String {
    let mut out = String::new();
    for (i, piece) in statement.split("{}").enumerate() {
        if i > 0 {
            out.push_str(LITERALS[rng.index(LITERALS.len())]);
        }
        out.push_str(piece);
    }
    out
}

/// Collects what differs, so that one run tells of everything.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn same(&mut self, got: &str, wanted: &str, what: impl FnOnce() -> String) {
        if got != wanted {
            self.0.push(format!("{}\n  cached: {got:?}\n  alone:  {wanted:?}", what()));
        }
    }
}

impl Drop for Differences {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let n = self.0.len();
            let shown: Vec<&str> = self.0.iter().take(60).map(String::as_str).collect();
            assert!(n == 0, "{n} answers differ:\n{}", shown.join("\n"));
        }
    }
}

#[test]
fn literals_of_every_kind_where_literals_are_lifted() {
    let (opened, _first) = filled();
    let (mut a, mut b) = (session(&opened.db), session(&opened.db));
    let mut rng = Rng::new(0x11FE);
    let mut differences = Differences::default();
    for round in 0..6000 {
        let sql = with_literals(STATEMENTS[round % STATEMENTS.len()], &mut rng);
        let cached = asked(&mut a, &sql);
        differences.same(&cached, &asked(&mut b, &alone(&sql)), || sql);
    }
}

#[test]
fn sessions_with_other_settings() {
    let (opened, _first) = filled();
    let mut differences = Differences::default();
    let mut rng = Rng::new(0x5E77);
    let variables = [
        "set @a = 1",
        "set @a = '1.5x'",
        "set @a = 1.5",
        "set @a = 1e0",
        "set @a = null",
        "do 0",
        "set @a = 'ä'",
    ];
    let mut sessions: Vec<(String, Connection)> = Vec::new();
    for (i, setting) in SETTINGS.iter().enumerate() {
        let mut c = session(&opened.db);
        let variable = variables[i % variables.len()];
        assert_eq!(run(&mut c, setting), "", "{setting}");
        assert_eq!(run(&mut c, variable), "");
        sessions.push((format!("{setting}; {variable}"), c));
    }
    // In another default database, and as somebody who may see less.
    let mut other = root(&opened.db);
    assert_eq!(run(&mut other, "use e"), "");
    sessions.push(("use e".into(), other));
    assert_eq!(run(&mut sessions[0].1, "create user less@'%'; grant select on d.t to less@'%'"), "");
    let mut less = connect_as(&opened.db, "less", "%").expect("connects");
    assert_eq!(run(&mut less, "use d"), "");
    sessions.push(("less@%".into(), less));
    for round in 0..2 {
        for statement in PLAIN.iter().chain(&STATEMENTS) {
            let sql = with_literals(statement, &mut rng);
            // Each after every other one, in another order each time.
            for i in (1..sessions.len()).rev() {
                sessions.swap(i, rng.index(i + 1));
            }
            for (setting, c) in &mut sessions {
                // What the statement itself changes is as before the second time.
                let var = c.state().user_vars.get(b"a").cloned();
                let found = (c.state().found_rows, c.state().row_count);
                let cached = asked(c, &sql);
                match var {
                    Some(var) => c.state_mut().user_vars.set(b"a", var.value, var.ty).expect("room for it"),
                    None if sql.contains("@a :=") => continue,
                    None => {}
                }
                (c.state_mut().found_rows, c.state_mut().row_count) = found;
                let wanted = asked(c, &alone(&sql));
                differences.same(&cached, &wanted, || format!("{round}: {setting}: {sql}"));
            }
        }
    }
}

/// Parameters of every type that the binary protocol has.
fn parameters() -> Vec<(Value<'static>, &'static str)> {
    let date = Date { year: 2020, month: 2, day: 29 };
    let time = Time { negative: false, hours: 10, minutes: 11, seconds: 12, micros: 0 };
    let moment = DateTime { date, hour: 10, minute: 11, second: 12, micros: 500_000 };
    vec![
        (Value::Int(0), "0"),
        (Value::Int(1), "1"),
        (Value::Int(-1), "-1"),
        (Value::UInt(u64::MAX), "18446744073709551615"),
        (Value::Double(1.5), "1.5e0"),
        (Value::Float(1.5), "1.5e0"),
        (Value::Decimal(Decimal::parse(b"1.5").value), "1.5"),
        (Value::Decimal(Decimal::parse(b"1.50").value), "1.50"),
        (Value::bytes(b"a"), "'a'"),
        (Value::bytes(b""), "''"),
        (Value::bytes("ä".as_bytes()), "'ä'"),
        (Value::bytes(b"d"), "'d'"),
        (Value::Null, "NULL"),
        (Value::Date(date), "date'2020-02-29'"),
        (Value::Time(time), "time'10:11:12'"),
        (Value::DateTime(moment), "timestamp'2020-02-29 10:11:12.500000'"),
    ]
}

fn execute(c: &mut Connection, id: u32, params: &[Value<'_>]) -> String {
    let mut sink = Collected::default();
    if let Err(e) = c.execute(id, params, &mut sink) {
        return format!("{} {}", e.code, e.message);
    }
    let Some(last) = sink.results.last() else { return String::new() };
    let cell = |c: &Option<String>| c.clone().unwrap_or_else(|| "NULL".into());
    let row = |r: &Vec<Option<String>>| r.iter().map(cell).collect::<Vec<_>>().join("|");
    last.rows.iter().map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn parameters_of_every_type() {
    let (opened, _first) = filled();
    let (mut a, mut b) = (session(&opened.db), session(&opened.db));
    let kinds = parameters();
    let mut rng = Rng::new(0xB1);
    let mut differences = Differences::default();
    for statement in STATEMENTS {
        let places = statement.matches("{}").count();
        // MySQL 5.6 looks at groups when parameters have values; here some are refused before.
        let Ok(prepared) = a.prepare(statement.replace("{}", "?").as_bytes()) else { continue };
        let id = prepared.id;
        for _ in 0..60 {
            let chosen: Vec<&(Value<'_>, &str)> =
                (0..places).map(|_| &kinds[rng.index(kinds.len())]).collect();
            let values: Vec<Value<'_>> = chosen.iter().map(|(v, _)| v.borrowed()).collect();
            let mut pieces = statement.split("{}");
            let mut sql = pieces.next().unwrap_or_default().to_owned();
            for ((_, written), piece) in chosen.iter().zip(pieces) {
                sql.push_str(written);
                sql.push_str(piece);
            }
            let got = execute(&mut a, id, &values);
            differences.same(&got, &run(&mut b, &alone(&sql)), || format!("by parameters: {sql}"));
        }
        a.close_statement(id);
    }
}
