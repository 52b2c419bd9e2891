//! Queries of MySQL 8: WITH, VALUES, TABLE, LATERAL, INTERSECT and EXCEPT. What MariaDB answers too is in `tests/sql`; here is
//! what only MySQL 8 has, or has otherwise, as its manual says.

use crate::support;

use support::{answers, open, root, run};
use vaquita_sql::Connection;

fn tables(c: &mut Connection) {
    let made = "create database d; use d; create table t (id int primary key, a int, b varchar(10)); \
                insert into t values (1, 10, 'one'), (2, 20, 'two'), (3, 20, 'three'), (4, null, 'four'); \
                create table u (id int primary key, t int, v int, key (t)); \
                insert into u values (1, 1, 5), (2, 1, 7), (3, 2, 9), (4, 3, 1), (5, 3, 2), (6, 3, 3)";
    assert_eq!(run(c, made), "");
}

#[test]
fn common_tables_as_mysql_8_has_them() {
    let opened = open();
    let mut c = root(&opened.db);
    tables(&mut c);
    answers(
        &mut c,
        &[
            ("with x as (select 1), x as (select 2) select * from x", "1066 Not unique table/alias: 'x'"),
            // What nobody names may be wrong.
            ("with x as (select * from nosuch) select 1", "1"),
            ("with x as (select * from nosuch) select * from x", "1146 Table 'd.nosuch' doesn't exist"),
            (
                "with x as (select 1 as n) select (with x as (select n + 10 as n from x) select n from x) i, n from x",
                "11|1",
            ),
            (
                "with x (p, q) as (select 1) select * from x",
                "1353 In definition of view, derived table or common table expression, SELECT list and column names \
                 list have different column counts",
            ),
            ("with x as (select 1 as n) select m from x", "1054 Unknown column 'm' in 'field list'"),
            ("with x as (select 1 as n) select * from d.x", "1146 Table 'd.x' doesn't exist"),
            (
                "with x as (select 1 as id) update x set id = 2",
                "1288 The target table x of the UPDATE is not updatable",
            ),
            // Of rows around them.
            (
                "select id, (with x as (select o.a + 1 as v) select v from x) v from t o",
                "1|11\n2|21\n3|21\n4|NULL",
            ),
            (
                "select id, (with x as (select max(i.id) m from t i where i.a = o.a) select y.m from x y, x z) v from t o",
                "1|1\n2|3\n3|3\n4|NULL",
            ),
            (
                "select id from t o where exists (with x as (select i.id from t i where i.a = o.a) \
                 select 1 from x where x.id <> o.id)",
                "2\n3",
            ),
            (
                "select (with recursive n as (select o.id as i union all select i + 1 from n where i < 4) \
                 select sum(i) from n) from t o",
                "10\n9\n7\n4",
            ),
            ("select id, (select v from (select o.a + 1 as v) d) from t o", "1|11\n2|21\n3|21\n4|NULL"),
            // The same rows for all who name them.
            ("with r as (select rand() as x from t) select count(*) from r l join r m on l.x = m.x", "4"),
            ("with x as (select id from t where a = 20) update t, x set t.b = 'new' where t.id = x.id", ""),
            ("with x as (select 4 as id) delete from t where id in (select id from x)", ""),
            ("select * from t", "1|10|one\n2|20|new\n3|20|new"),
            ("with x as (select * from t), y as (select * from x) select count(*) from y for update", "3"),
        ],
    );
}

#[test]
fn recursion_has_its_rules() {
    let opened = open();
    let mut c = root(&opened.db);
    tables(&mut c);
    let first = "3574 Recursive Common Table Expression 'n' should have one or more non-recursive query blocks \
                 followed by one or more recursive ones";
    let once = "3577 In recursive query block of Recursive Common Table Expression 'n', the recursive table must be \
                referenced only once, and not in any subquery";
    let group = "3575 Recursive Common Table Expression 'n' can contain neither aggregation nor window functions in \
                 recursive query block";
    let join = "3576 In recursive query block of Recursive Common Table Expression 'n', the recursive table must \
                neither be in the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints";
    let n = |parts: &str| format!("with recursive n as ({parts}) select * from n");
    for (parts, answer) in [
        ("select 1 as i from n", "3573 Recursive Common Table Expression 'n' should contain a UNION"),
        ("select i from n union all select 1", first),
        ("select 1 as i union all select i + 1 from n where i < 3 union all select 7", first),
        ("select 1 as i union all select l.i from n l join n r", once),
        ("select 1 as i union all select 1 from t where id in (select i from n)", once),
        ("select 1 as i union all select * from (select i + 1 from n) d", once),
        ("select 1 as i union all select max(i) from n", group),
        ("select 1 as i union all select i + 1 from n group by i", group),
        ("select 1 as i union all select 1 from t left join n on n.i = t.id", join),
        (
            "select 1 as i union all select 1, 2 from n",
            "1222 The used SELECT statements have a different number of columns",
        ),
        (
            "select 1 as i union all select i + 1 from n where i < 3 order by i",
            "1235 This version of Vaquita doesn't yet support 'ORDER BY over UNION in recursive Common Table Expression'",
        ),
        // The first rows say what the columns are.
        (
            "select 'ab' as s union all select concat(s, s) from n",
            "1406 Data too long for column 's' at row 2",
        ),
        (
            "select id from t where id = 1 union all select id * 100000 from n",
            "1264 Out of range value for column 'id' at row 3",
        ),
        // LIMIT ends what would not end.
        ("select 1 as i union all select i + 1 from n limit 4", "1\n2\n3\n4"),
        ("select 1 as i union all select i * 2 from n limit 3 offset 5", "32\n64\n128"),
        ("select 1 as i union all select i + 1 from n limit 0", ""),
    ] {
        assert_eq!(run(&mut c, &n(parts)), answer, "{parts}");
    }
    let cut = "set sql_mode = ''; with recursive n as (select 'abc' as s, 1 as i union all select concat(s, s), i + 1 \
               from n where i < 3) select s from n; show warnings";
    assert_eq!(
        run(&mut c, cut),
        "Warning|1265|Data truncated for column 's' at row 2\nWarning|1265|Data truncated for column 's' at row 3"
    );
}

/// A recursion goes as deep as `cte_max_recursion_depth` says, and looks at its time.
#[test]
fn recursion_ends() {
    let opened = open();
    let mut c = root(&opened.db);
    let endless = "with recursive n as (select 1 as i union all select i + 1 from n) select count(*) from n";
    let up_to = |n: u32| {
        format!(
            "with recursive n as (select 1 as i union all select i + 1 from n where i < {n}) select count(*) from n"
        )
    };
    let aborted = |n: u32| {
        format!(
            "3636 Recursive query aborted after {n} iterations. Try increasing @@cte_max_recursion_depth to a larger \
             value."
        )
    };
    assert_eq!(run(&mut c, endless), aborted(1001));
    assert_eq!(run(&mut c, &up_to(1000)), "1000");
    assert_eq!(run(&mut c, &up_to(1001)), aborted(1001));
    assert_eq!(run(&mut c, "set cte_max_recursion_depth = 3"), "");
    assert_eq!(run(&mut c, &up_to(3)), "3");
    assert_eq!(run(&mut c, &up_to(4)), aborted(4));
    assert_eq!(run(&mut c, "set cte_max_recursion_depth = 4294967295, max_execution_time = 50"), "");
    let late = "3024 Query execution was interrupted, maximum statement execution time exceeded";
    assert_eq!(run(&mut c, endless), late);
    assert_eq!(run(&mut c, &endless.replace("all select", "select")), late);
}

/// Rows that have no place in memory go to files, with the same result.
#[test]
fn recursion_in_little_memory() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "set cte_max_recursion_depth = 100000"), "");
    let many = "with recursive n as (select 1 as i union all select i * 2 from n where i < 3000 union all \
                select i * 2 + 1 from n where i < 3000) select count(*), count(distinct i), sum(i), max(i) from n";
    let distinct = "with recursive n as (select 1 as i union select i * 7 % 10007 from n union select \
                    i * 5 % 10007 from n) select count(*), sum(i), max(i) from n";
    let wanted = (run(&mut c, many), run(&mut c, distinct));
    assert_eq!(wanted.1, "10006|50065021|10006");
    assert_eq!(
        run(&mut c, "set tmp_table_size = 16384, max_heap_table_size = 16384, sort_buffer_size = 32768"),
        ""
    );
    assert_eq!((run(&mut c, many), run(&mut c, distinct)), wanted);
}

#[test]
fn lateral_tables_see_those_before_them() {
    let opened = open();
    let mut c = root(&opened.db);
    tables(&mut c);
    answers(
        &mut c,
        &[
            (
                "select t.id, d.v from t, lateral (select v from u where u.t = t.id order by v desc limit 1) d",
                "1|7\n2|9\n3|3",
            ),
            (
                "select t.id, d.s from t left join lateral (select sum(v) s from u where u.t = t.id having s > 5) d \
                 on true order by id",
                "1|12\n2|9\n3|6\n4|NULL",
            ),
            (
                "select t.id, x.n, y.m from t, lateral (select t.id * 10 as n) x, lateral (select x.n + 1 as m) y \
                 where y.m < 30",
                "1|10|11\n2|20|21",
            ),
            ("select id, n from t join lateral (select a + 1) as d (n) on n = 21", "2|21\n3|21"),
            (
                "select id from t o where 12 = (select sum(d.v) from u, lateral (select u.v where u.t = o.id) d)",
                "1",
            ),
            ("select * from t, (select t.id) d", "1054 Unknown column 't.id' in 'field list'"),
            ("select * from lateral (select t.id) d, t", "1054 Unknown column 't.id' in 'field list'"),
            (
                "select * from t right join lateral (select t.id) d on true",
                "3668 INNER or LEFT JOIN must be used for LATERAL references made by 'd'",
            ),
            ("select * from (select 1, 2) d (x, y)", "1|2"),
            ("select y from (select 1, 2) d (x, y) where x = 1", "2"),
            ("select * from (select 1, 2) d (x, x)", "1060 Duplicate column name 'x'"),
            (
                "select * from (select 1, 2) d (x)",
                "1353 In definition of view, derived table or common table expression, SELECT list and column names \
                 list have different column counts",
            ),
        ],
    );
}

#[test]
fn values_and_table_are_queries() {
    let opened = open();
    let mut c = root(&opened.db);
    tables(&mut c);
    answers(
        &mut c,
        &[
            ("values row(1, 'a'), row(2, 'b')", "1|a\n2|b"),
            ("values row(3), row(1), row(2) order by column_0 desc limit 2", "3\n2"),
            ("values row(1), row(2) union select 2 union values row(5) order by 1", "1\n2\n5"),
            ("select x + y from (values row(1, 2), row(3, 4)) d (x, y)", "3\n7"),
            ("select column_1 from (values row(1, 2), row(3, 4)) d where column_0 > 1", "4"),
            ("select id from t where (id, a) in (values row(1, 10), row(2, 10))", "1"),
            ("select id, (values row(t.a + 1)) from t", "1|11\n2|21\n3|21\n4|NULL"),
            ("values row(1, 2), row(3)", "1136 Column count doesn't match value count at row 2"),
            ("values row(1), row('x'), row(null)", "1\nx\nNULL"),
            ("insert into u values row(10, 4, 1), row(11, 4, 2); select count(*) from u", "8"),
            ("table t order by id desc limit 1", "4|NULL|four"),
            ("select * from (table t) d where id = 2", "2|20|two"),
            ("create table w table t; table w limit 1 offset 1", "2|20|two"),
            ("select count(*) from t where (id, a, b) in (table w)", "3"),
            (
                "table t intersect table w except values row(1, 10, 'one') order by id",
                "2|20|two\n3|20|three\n4|NULL|four",
            ),
            ("with x as (values row(1, 2)) table x", "1|2"),
        ],
    );
}

#[test]
fn explained() {
    let opened = open();
    let mut c = root(&opened.db);
    tables(&mut c);
    let mut told = |sql: &str| -> Vec<String> {
        let lines = run(&mut c, &format!("explain {sql}"));
        let one = |line: &str| {
            let columns: Vec<&str> = line.split('|').collect();
            [columns[0], columns[1], columns[2], columns[9]].join(" ")
        };
        lines.lines().map(one).collect()
    };
    assert_eq!(
        told("with x as (select id from t) select * from x l join x r"),
        ["1 PRIMARY <derived2> NULL", "1 PRIMARY <derived2> NULL", "2 DERIVED t NULL"],
    );
    assert_eq!(
        told("with recursive n as (select 1 as i union all select i + 1 from n where i < 5) select * from n"),
        ["1 PRIMARY <derived2> NULL", "2 DERIVED NULL No tables used", "3 UNION n Recursive; Using where"],
    );
    assert_eq!(
        told("select * from t, lateral (select t.id) d"),
        ["1 PRIMARY t NULL", "1 PRIMARY <derived2> NULL", "2 DEPENDENT DERIVED NULL No tables used"],
    );
    assert_eq!(
        told("select id from t intersect select id from u"),
        [
            "1 PRIMARY t NULL",
            "2 INTERSECT u Using index",
            "NULL INTERSECT RESULT <intersect1,2> Using temporary"
        ],
    );
    assert_eq!(told("values row(1), row(2)"), ["1 SIMPLE NULL No tables used"]);
    assert_eq!(
        told("with x as (select 4 as id) delete from t where id in (select id from x)").len(),
        3,
        "the subquery and its table"
    );
}

#[test]
fn windows_as_mysql_8_has_them() {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database d; use d; create table t (id int primary key, day date, at datetime, hour time, v int); \
                insert into t values (1, '2024-01-01', '2024-01-01 10:00:00', '10:00:00', 1), \
                (2, '2024-01-02', '2024-01-01 10:30:00', '10:30:00', 2), \
                (3, '2024-01-02', '2024-01-01 12:00:00', '12:00:00', 4), \
                (4, '2024-01-31', '2024-01-01 12:10:00', '12:10:00', 8), (5, '2024-02-29', null, null, 16), \
                (6, null, null, null, 32)";
    assert_eq!(run(&mut c, made), "");
    answers(
        &mut c,
        &[
            (
                "select id, sum(v) over (order by day range interval 1 day preceding) from t order by id",
                "1|1\n2|7\n3|7\n4|8\n5|16\n6|32",
            ),
            (
                "select id, sum(v) over (order by day range between interval 1 month preceding and interval 1 month \
                 following) from t order by id",
                "1|15\n2|15\n3|15\n4|31\n5|24\n6|32",
            ),
            (
                "select id, sum(v) over (order by at desc range between interval 1 hour preceding and current row) \
                 from t order by id",
                "1|3\n2|2\n3|12\n4|8\n5|48\n6|48",
            ),
            (
                "select id, sum(v) over (order by hour range between current row and interval '1:30' hour_minute \
                 following) from t order by id",
                "1|3\n2|6\n3|12\n4|8\n5|48\n6|48",
            ),
            (
                "select id, lag(v, 1, -1) over (order by id), lead(v, 2, 'none') over (order by id) from t",
                "1|-1|4\n2|1|8\n3|2|16\n4|4|32\n5|8|none\n6|16|none",
            ),
            (
                "select id, first_value(v) respect nulls over (order by id), nth_value(v, 2) from first respect nulls \
                 over (order by id) from t limit 2",
                "1|1|NULL\n2|1|2",
            ),
            (
                "select lead(v) ignore nulls over (order by id) from t",
                "1235 This version of MySQL doesn't yet support 'IGNORE NULLS'",
            ),
            (
                "select nth_value(v, 2) from last over (order by id) from t",
                "1235 This version of MySQL doesn't yet support 'FROM LAST'",
            ),
            ("select sum(v) over w from t", "3579 Window name 'w' is not defined."),
            (
                "select sum(v) over a from t window a as (b), b as (a)",
                "3580 There is a circularity in the window dependency graph.",
            ),
            (
                "select sum(v) over (w partition by id) from t window w as ()",
                "3581 A window which depends on another cannot define partitioning.",
            ),
            (
                "select sum(v) over (w) from t window w as (order by id rows 1 preceding)",
                "3582 Window 'w' has a frame definition, so cannot be referenced by another window.",
            ),
            (
                "select sum(v) over (w order by v) from t window w as (order by id)",
                "3583 Window '<unnamed window>' cannot inherit 'w' since both contain an ORDER BY clause.",
            ),
            (
                "select sum(v) over (rows unbounded following) from t",
                "3584 Window '<unnamed window>': frame start cannot be UNBOUNDED FOLLOWING.",
            ),
            (
                "select sum(v) over (rows between current row and unbounded preceding) from t",
                "3585 Window '<unnamed window>': frame end cannot be UNBOUNDED PRECEDING.",
            ),
            (
                "select sum(v) over (rows between 1.5 preceding and current row) from t",
                "3586 Window '<unnamed window>': frame start or end is negative, NULL or of non-integral type",
            ),
            (
                "select sum(v) over (rows between 1 following and current row) from t",
                "3586 Window '<unnamed window>': frame start or end is negative, NULL or of non-integral type",
            ),
            (
                "select sum(v) over w from t window w as (range 1 preceding)",
                "3587 Window 'w' with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of \
                 numeric or temporal type",
            ),
            (
                "select sum(v) over w from t window w as (order by day range 1 preceding)",
                "3588 Window 'w' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value \
                 allowed.",
            ),
            (
                "select sum(v) over w from t window w as (order by id range interval 1 day preceding)",
                "3589 Window 'w' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not \
                 allowed.",
            ),
            (
                "select sum(v) over w from t window w as (rows v preceding)",
                "3590 Window 'w' has a non-constant frame bound.",
            ),
            ("select sum(v) over w from t window w as (), w as ()", "3591 Window 'w' is defined twice."),
            (
                "select sum(v) over w from t window w as (order by 1)",
                "3592 Window 'w': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use \
                 expression.",
            ),
            (
                "select id from t where row_number() over () = 1",
                "3593 You cannot use the window function 'row_number' in this context.'",
            ),
            (
                "select id from t having sum(v) over () = 1",
                "3593 You cannot use the window function 'sum' in this context.'",
            ),
            (
                "select row_number() over () as n from t having n = 1",
                "3594 You cannot use the alias 'n' of an expression containing a window function in this context.'",
            ),
            (
                "select sum(v) over (order by rank() over ()) from t",
                "3595 You cannot nest a window function in the specification of window '<unnamed window>'.",
            ),
            (
                "select sum(v) over (order by day rows interval 1 day preceding) from t",
                "3596 Window '<unnamed window>': INTERVAL can only be used with RANGE frames.",
            ),
            (
                "select id, percent_rank() over (order by v), cume_dist() over (order by v), bit_and(v + 1) over \
                 (order by id rows between 1 preceding and 1 following) from t where id < 4",
                "1|0|0.3333333333333333|2\n2|0.5|0.6666666666666666|0\n3|1|1|1",
            ),
            ("select ntile(0) over () from t", "1210 Incorrect arguments to ntile"),
            ("select lag(v, -1) over () from t", "1210 Incorrect arguments to lag"),
            (
                "select count(distinct v) over () from t",
                "1235 This version of MySQL doesn't yet support '<window function>(DISTINCT ..)'",
            ),
            (
                "prepare s from 'select id, sum(v) over (order by id rows ? preceding), ntile(?) over (order by id) \
                 from t where id < ? order by id'; set @a = 1, @b = 2, @c = 5; execute s using @a, @b, @c",
                "1|1|1\n2|3|1\n3|6|2\n4|12|2",
            ),
            ("set @a = 2; execute s using @a, @b, @c", "1|1|1\n2|3|1\n3|7|2\n4|14|2"),
        ],
    );
}

/// What has no place in memory goes to files, with the same result.
#[test]
fn windows_in_little_memory() {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database d; use d; set cte_max_recursion_depth = 100000; create table t (id int primary key, g \
                int, v int); insert into t with recursive n as (select 1 as i union all select i + 1 from n where i < \
                6000) select i, i % 3, i * 7919 % 1009 from n";
    assert_eq!(run(&mut c, made), "");
    let query = "select sum(a), sum(b), sum(c), sum(d), sum(e), sum(f), sum(h) from (select id * row_number() over \
                 (order by v, id) a, id * sum(v) over (partition by g order by id rows between 100 preceding and 50 \
                 following) b, id * min(v) over (order by id rows between 500 preceding and 500 following) c, id * \
                 count(*) over (order by v range between 10 preceding and 20 following) d, id * lag(v, 1000, 0) over \
                 (order by id) e, id * nth_value(v, 700) over (partition by g order by v, id rows between 10 \
                 following and unbounded following) f, id * cume_dist() over (order by v) h from t) x";
    let wanted = run(&mut c, query);
    assert!(wanted.split('|').count() == 7, "{wanted}");
    let little = "set tmp_table_size = 16384, max_heap_table_size = 16384, sort_buffer_size = 32768";
    assert_eq!(run(&mut c, little), "");
    assert_eq!(run(&mut c, query), wanted);
}

/// Rows that go on before their partition has ended, in memory and from files, are those that wait for its end because NTILE does.
#[test]
fn windows_whose_rows_go_on_at_once() {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database d; use d; set cte_max_recursion_depth = 100000; create table t (id int primary key, g \
                int, v int, x double); insert into t with recursive n as (select 1 as i union all select i + 1 from n \
                where i < 5000) select i, i % 2, i * 7919 % 1009, i * 31337 % 5003 / 7e0 from n";
    assert_eq!(run(&mut c, made), "");
    let calls = [
        "row_number() over (order by v, id)",
        "rank() over (partition by g order by v)",
        "dense_rank() over (order by g, v)",
        "lag(v, 1000, 0) over (order by id)",
        "lead(v, 1000, 0) over (partition by g order by id)",
        "sum(v) over (order by id)",
        "sum(v) over (order by g, v)",
        // Few groups of many peers.
        "count(*) over (order by g)",
        "sum(v) over (partition by g order by id rows between 100 preceding and 50 following)",
        "sum(x) over (order by id rows 50 preceding)",
        "sum(x) over (order by v range between 7 preceding and 3 preceding)",
        "min(v) over (order by id rows between 500 preceding and 100 preceding)",
        "max(v) over (order by id range 300 preceding)",
        "first_value(v) over (order by id rows between 5 preceding and 3 preceding)",
        "last_value(v) over (order by v)",
        "nth_value(v, 700) over (partition by g order by v, id)",
    ];
    // Numbers of a sum are added from the first to the last row of each frame: no rounding comes from rows that were there.
    let exact = "select count(*), sum(a <=> b), sum(e <=> f) from (select id, sum(x) over (order by id rows 50 preceding) a, \
                 (select sum(i.x) from t i where i.id between t.id - 50 and t.id) b, avg(nullif(x, v)) over (order by \
                 id rows between 9 preceding and 3 preceding) e, (select avg(nullif(i.x, i.v)) from t i where i.id \
                 between t.id - 9 and t.id - 3) f from t) q";
    assert_eq!(run(&mut c, exact), "5000|5000|5000");
    for room in [1 << 24, 16_384] {
        let set =
            format!("set tmp_table_size = {room}, max_heap_table_size = {room}, sort_buffer_size = 32768");
        assert_eq!(run(&mut c, &set), "");
        for call in calls {
            let (function, window) = call.rsplit_once(" over (").unwrap();
            let frame = window.find(" rows ").or(window.find(" range ")).unwrap_or(window.len() - 1);
            let waits = format!("{function} over (w{}", &window[frame..]);
            let w = window[..frame].trim_end_matches(')');
            let wanted =
                format!("select id, {waits}, ntile(3) over w is null n from t window w as ({w}) order by id");
            let wanted = run(&mut c, &wanted).replace("|0\n", "\n");
            let wanted = wanted.strip_suffix("|0").unwrap_or(&wanted);
            let got = run(&mut c, &format!("select id, {call} from t order by id"));
            assert!(got == wanted && got.lines().count() == 5_000, "{call} {room}: {}", &got[..200]);
        }
    }
}

/// A derived table that is read once and first is not kept: it takes no file however little memory there is. What is named twice is
/// kept, and what could be seen to happen in another order.
#[test]
fn rows_of_derived_tables_go_on_as_they_come() {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database d; use d; set cte_max_recursion_depth = 100000; create table t (id int primary key, v \
                int); insert into t with recursive n as (select 1 as i union all select i + 1 from n where i < 3000) \
                select i, i % 7 from n; set tmp_table_size = 16384, max_heap_table_size = 16384";
    assert_eq!(run(&mut c, made), "");
    let mut files = |sql: &str, wanted: &str| {
        let count = "show session status like 'Created_tmp_disk_tables'";
        let before = run(&mut c, count);
        assert_eq!(run(&mut c, sql), wanted, "{sql}");
        before != run(&mut c, count)
    };
    for sql in [
        "select count(*), sum(v) from (select id, v from t limit 3000) q",
        "select count(*), sum(v) from (select id, v from (select * from t limit 3000) i limit 3000) q",
        "select count(*), sum(q.v) from (select id, v from t limit 3000) q join t on t.id = q.id",
        "with q as (select id, v from t limit 3000) select count(*), sum(v) from q",
        "select count(*), sum(v) from (select id, v from t where id < 1000 union all select id, v from t where id >= \
         1000) q",
        "select count(*), sum(i - 1) from (select 1 + v as i, lag(v) over (order by id) l from t) q",
    ] {
        assert!(!files(sql, "3000|8998"), "{sql}");
    }
    let twice =
        "with q as (select id, v from t limit 3000) select count(*), sum(a.v) from q a join q b using (id)";
    assert!(files(twice, "3000|8998"));
    let set = "select max(@n) from (select @n := id from t limit 3000) q";
    assert!(files(set, "3000"));
    // No more rows than are wanted, and those of all parts.
    assert!(!files("select q.id from (select id from t limit 3000) q where id > 5 limit 2, 2", "8\n9"));
    let parts = "select q.id from (select id from t where id < 3 union all select id from t where id > 2998) q limit 4";
    assert!(!files(parts, "1\n2\n2999\n3000"));
    let outer = "select q.id, t.v from (select id from t where id > 2998) q left join t on t.id = q.id + 1";
    assert!(!files(outer, "2999|4\n3000|NULL"));
    let values = "select sum(a), max(b) from (values row(1, 'x'), row(2, 'y')) q (a, b) where a > 0";
    assert!(!files(values, "3|y"));
    // A statement that changes what it reads has all rows before.
    let change = "insert into t select id + 3000, v from (select id, v from t limit 3000) q; select count(*), max(id) from t";
    assert!(files(change, "6000|6000"));
}

/// Answers of MySQL 5.6.24.
#[test]
fn text_of_subqueries_is_compared_in_the_character_set_of_both() {
    let opened = open();
    let mut c = root(&opened.db);
    run(
        &mut c,
        "create database d; use d; set names utf8mb4; create table l (b varchar(6) character set latin1, n int); \
         create table u (b varchar(6) character set utf8mb4, n int); \
         insert into l values ('é', 1), ('ab', 2), (null, 3); insert into u values ('é', 1), ('E', 2), ('x', 4)",
    );
    for (sql, answer) in [
        ("select b, b in (select b from l where n < 3) from u", "é|1\nE|1\nx|0"),
        ("select b, b in (select b from l) from u", "é|1\nE|1\nx|NULL"),
        ("select b, b in (select b from u) from l", "é|1\nab|0\nNULL|NULL"),
        ("select b, (b, n) in (select b, n from l) from u", "é|1\nE|0\nx|0"),
        ("select b, (n, b) not in (select n, b from u) from l", "é|0\nab|1\nNULL|1"),
        ("select b, b >= all (select b from l where n < 3) from u", "é|1\nE|1\nx|1"),
        ("select b, b in (select b from l where l.n = u.n) from u", "é|1\nE|0\nx|0"),
        ("select 'B ' between null and 'ab', 'B' between 'x' and null, 'b' between 'a' and null", "0|0|NULL"),
    ] {
        assert_eq!(run(&mut c, sql), answer, "{sql}");
    }
}

/// Which rows are sums is told by GROUPING(); rows of a ROLLUP may be sorted.
#[test]
fn rollup_as_mysql_8_has_it() {
    let opened = open();
    let mut c = root(&opened.db);
    run(
        &mut c,
        "create database d; use d; set sql_mode = ''; create table t (a int, b int not null, c int); \
         insert into t values (1, 1, 10), (1, 2, 20), (2, 1, 30), (2, 0, 40), (null, 1, 50)",
    );
    let refused = "1111 Invalid use of group function";
    answers(
        &mut c,
        &[
            (
                "select a, b, sum(c), grouping(a), grouping(b), grouping(a, b), grouping(b, a) from t \
                 where a = 1 group by a, b with rollup",
                "1|1|10|0|0|0|0\n1|2|20|0|0|0|0\n1|NULL|30|0|1|1|2\nNULL|NULL|30|1|1|3|3",
            ),
            (
                "select if(grouping(a), 'all', a) n, sum(c) from t group by a with rollup order by grouping(a), a desc",
                "2|70\n1|30\nNULL|50\nall|150",
            ),
            ("select sum(c) from t group by a with rollup having grouping(a)", "150"),
            ("select grouping(a + 1), count(*) from t group by a + 1 with rollup", "0|1\n0|2\n0|2\n1|5"),
            (
                "select a + 1, count(*) from t group by a + 1 with rollup order by a + 1 desc limit 2",
                "3|2\n2|2",
            ),
            (
                "select count(*) from t group by a + 1 with rollup order by a + 1 desc, count(*) limit 4",
                "2\n2\n1\n5",
            ),
            (
                "select b, b is null, ifnull(b, 'x') from t group by b with rollup order by b desc",
                "2|0|2\n1|0|1\n0|0|0\nNULL|1|x",
            ),
            (
                "select sum(c), rank() over (order by grouping(a), sum(c)) from t group by a with rollup",
                "30|1\n50|2\n70|3\n150|4",
            ),
            ("select distinct grouping(b) from t group by a, b with rollup", "0\n1"),
            ("select n from (select b, count(*) n from t group by b with rollup) s where b is null", "5"),
            ("select grouping(a) from t group by a", refused),
            ("select grouping(a) from t", refused),
            ("select a from t where grouping(a) group by a with rollup", refused),
            ("select sum(grouping(a)) from t group by a with rollup", refused),
            (
                "select grouping(c) from t group by a with rollup",
                "3602 Argument #0 of GROUPING function is not in GROUP BY",
            ),
            ("create view v as select a, grouping(a) g, sum(c) s from t group by a with rollup", ""),
            ("select * from v where g = 1", "NULL|1|150"),
            ("select 1 grouping", "1"),
        ],
    );
    let many = vec!["a"; 65].join(", ");
    let answer = run(&mut c, &format!("select grouping({many}) from t group by a with rollup"));
    assert!(answer.starts_with("3601 "), "{answer}");
}
