//! Optimizer hints in comments: MySQL 8.0's manual.

use crate::support;

use support::{answers, open, root, run};

/// Tables and the keys they are read by, in the order in which they are read.
fn order(c: &mut vaquita_sql::Connection, sql: &str) -> String {
    let lines = run(c, &format!("explain {sql}"));
    let step = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        format!("{}:{}", cells.get(2).unwrap_or(&line), cells.get(5).unwrap_or(&""))
    };
    lines.lines().map(step).collect::<Vec<_>>().join(" ")
}

fn tables() -> support::Opened {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(
        run(
            &mut c,
            "create database d; use d; create table a (id int primary key, x int, y int, key kx (x), key ky (y));
             create table b (id int primary key, x int, key kx (x)); create table c (id int primary key, x int);
             insert into a values (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 5, 5), (6, 6, 6), (7, 7, 7), (8, 8, 8);
             insert into b select id, x from a; insert into c values (1, 1), (2, 2)"
        ),
        ""
    );
    drop(c);
    opened
}

#[test]
fn tables_are_joined_in_the_order_that_is_said() {
    let opened = tables();
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    let join = "from a join b on a.id = b.id join c on b.id = c.id";
    let mut seen = |hint: &str| {
        let tables = order(&mut c, &format!("select /*+ {hint} */ count(*) {join}"));
        let names: Vec<&str> = tables.split(' ').map(|t| t.split(':').next().unwrap_or("")).collect();
        names.join("")
    };
    assert_eq!(seen("join_order(b, a, c)"), "bac");
    let two = seen("JOIN_ORDER(c, b)");
    assert!(two.find('c') < two.find('b'), "{two}");
    let two = seen("JOIN_ORDER(b, c)");
    assert!(two.find('b') < two.find('c'), "{two}");
    assert_eq!(seen("JOIN_PREFIX(a)").chars().next(), Some('a'));
    assert_eq!(seen("JOIN_PREFIX(b, a)"), "bac");
    assert_eq!(seen("JOIN_SUFFIX(c)").chars().last(), Some('c'));
    assert_eq!(seen("JOIN_SUFFIX(b, c)"), "abc");
    // What cannot be is let alone.
    assert_eq!(seen("JOIN_PREFIX(a) JOIN_SUFFIX(a)").len(), 3);
    for from in [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]] {
        let sql = format!(
            "select /*+ JOIN_FIXED_ORDER() */ count(*) from {} where a.id = b.id and b.id = c.id",
            from.join(", ")
        );
        let tables = order(&mut c, &sql);
        let names: Vec<&str> = tables.split(' ').map(|t| t.split(':').next().unwrap_or("")).collect();
        assert_eq!(names, from);
    }
    let left = "select /*+ JOIN_PREFIX(b) */ count(*) from a left join b on a.id = b.id";
    assert!(order(&mut c, left).starts_with("a:"), "an outer join has its order");
    let update = order(&mut c, "update /*+ JOIN_ORDER(b, a) */ a join b on a.id = b.id set a.x = 1");
    assert!(update.starts_with("b:"), "{update}");
    let delete = order(&mut c, "delete /*+ JOIN_ORDER(b, a) */ a from a join b on a.id = b.id");
    assert!(delete.starts_with("b:"), "{delete}");
    assert_eq!(
        run(
            &mut c,
            "select /*+ JOIN_ORDER(b, a, c) */ sum(a.x) from a join b on a.id = b.id join c on b.id = c.id"
        ),
        "3"
    );
}

#[test]
fn indexes_are_used_or_left_alone() {
    let opened = tables();
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    let mut seen =
        |hint: &str| order(&mut c, &format!("select /*+ {hint} */ * from a where x = 3 and y = 3"));
    assert_eq!(seen("INDEX(a ky)"), "a:ky");
    assert_eq!(seen("INDEX(a kx)"), "a:kx");
    assert_eq!(seen("NO_INDEX(a kx)"), "a:ky");
    assert_eq!(seen("NO_INDEX(a kx, ky)"), "a:NULL");
    assert_eq!(seen("NO_INDEX(a)"), "a:NULL");
    assert_eq!(seen("JOIN_INDEX(a ky)"), "a:ky");
    assert_eq!(seen("NO_JOIN_INDEX(a ky)"), "a:kx");
    // Of sorting only.
    assert_eq!(seen("NO_ORDER_INDEX(a kx, ky) NO_INDEX(a ky)"), "a:kx");
    // By the name of a block, from the block itself and from outside.
    assert_eq!(seen("QB_NAME(q) INDEX(@q a ky)"), "a:ky");
    assert_eq!(seen("QB_NAME(q) INDEX(a@q ky)"), "a:ky");
    assert_eq!(
        order(
            &mut c,
            "select /*+ INDEX(@inner a ky) */ * from (select /*+ QB_NAME(inner) */ id from a where x = 3 and y = 3) d"
        ),
        "<derived2>:NULL a:ky"
    );
}

#[test]
fn what_is_wrong_is_warned_of() {
    let opened = tables();
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    for (hint, warning) in [
        ("NOTHING(a)", "Warning|1064|Optimizer hint syntax error near 'NOTHING(a)' at line 1"),
        ("INDEX(a kx) BKA(", "Warning|1064|Optimizer hint syntax error near '' at line 1"),
        ("INDEX(z kx)", "Warning|3128|Unresolved name `z`@`select#1` for INDEX hint"),
        ("INDEX(a kz)", "Warning|3128|Unresolved name `a`@`select#1` `kz` for INDEX hint"),
        ("QB_NAME(q) JOIN_ORDER(a, z)", "Warning|3128|Unresolved name `z`@`q` for JOIN_ORDER hint"),
        ("BKA(a) NO_BKA(a)", "Warning|3126|Hint NO_BKA(`a`) is ignored as conflicting/duplicated"),
        (
            "JOIN_PREFIX(a) JOIN_PREFIX(a)",
            "Warning|3126|Hint JOIN_PREFIX(`a`) is ignored as conflicting/duplicated",
        ),
        ("QB_NAME(q) QB_NAME(r)", "Warning|3126|Hint QB_NAME(`r`) is ignored as conflicting/duplicated"),
        ("MRR(@nowhere a kx)", "Warning|3127|Query block name `nowhere` is not found for MRR hint"),
        ("SET_VAR(nothing = 1)", "Warning|3128|Unresolved name 'nothing' for SET_VAR hint"),
        ("SET_VAR(autocommit = 0)", "Warning|3637|Variable 'autocommit' cannot be set using SET_VAR hint."),
        (
            "SET_VAR(max_error_count = 1) SET_VAR(max_error_count = 2)",
            "Warning|3126|Hint SET_VAR(max_error_count) is ignored as conflicting/duplicated",
        ),
        (
            "SET_VAR(sql_mode = 'nonsense')",
            "Warning|1231|Variable 'sql_mode' can't be set to the value of 'nonsense'",
        ),
        (
            "MRR(a kx) NO_ICP(a) HASH_JOIN(a) NO_MERGE() SEMIJOIN(FIRSTMATCH, LOOSESCAN) DERIVED_CONDITION_PUSHDOWN()",
            "",
        ),
        (
            "NO_RANGE_OPTIMIZATION(a kx, ky) SKIP_SCAN(a) INDEX_MERGE(a kx, ky) GROUP_INDEX(a kx) ORDER_INDEX(a kx)",
            "",
        ),
    ] {
        assert_eq!(run(&mut c, &format!("select /*+ {hint} */ count(*) from a")), "8", "{hint}");
        assert_eq!(run(&mut c, "show warnings"), warning, "{hint}");
    }
    // Comments in other places are comments.
    assert_eq!(run(&mut c, "select 1 /*+ NOTHING() */ from c limit 1"), "1");
    assert_eq!(run(&mut c, "show warnings"), "");
    let only =
        "Warning|3125|MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only";
    assert_eq!(run(&mut c, "update /*+ MAX_EXECUTION_TIME(9) */ c set x = x"), "");
    assert_eq!(run(&mut c, "show warnings"), only);
    assert_eq!(run(&mut c, "select (select /*+ MAX_EXECUTION_TIME(9) */ 1)"), "1");
    assert_eq!(run(&mut c, "show warnings"), only);
}

#[test]
fn variables_are_set_for_one_statement() {
    let opened = tables();
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    answers(
        &mut c,
        &[
            ("select /*+ SET_VAR(sql_mode = '') */ 'a' + 1, @@sql_mode", "1|"),
            ("select @@sql_mode = ''", "0"),
            (
                "select /*+ SET_VAR(time_zone = '+05:00') SET_VAR(timestamp = 0.5) */ now(1), @@time_zone",
                "1970-01-01 05:00:00.5|+05:00",
            ),
            ("select @@time_zone, @@timestamp > 1000000", "SYSTEM|1"),
            ("select /*+ SET_VAR(div_precision_increment = 1) */ 1 / 3", "0.3"),
            ("select 1 / 3", "0.3333"),
            ("select /*+ SET_VAR(sql_select_limit = 2) */ id from a", "1\n2"),
            ("select count(*) from (select id from a) d", "8"),
            // After errors, too.
            (
                "select /*+ SET_VAR(sql_mode = ANSI) */ nothing from a",
                "1054 Unknown column 'nothing' in 'field list'",
            ),
            ("select @@sql_mode like '%ANSI%'", "0"),
            ("insert /*+ SET_VAR(sql_mode = '') */ into c values (3, 'x')", ""),
            ("show warnings", "Warning|1366|Incorrect integer value: 'x' for column 'x' at row 1"),
            ("insert into c values (4, 'x')", "1366 Incorrect integer value: 'x' for column 'x' at row 1"),
            (
                "create table p (id int primary key); create table f (p int, foreign key (p) references p (id))",
                "",
            ),
            ("insert /*+ SET_VAR(foreign_key_checks = OFF) */ into f values (1)", ""),
            ("replace /*+ SET_VAR(foreign_key_checks = 0) */ into f values (2)", ""),
            (
                "insert into f values (3)",
                "1452 Cannot add or update a child row: a foreign key constraint fails (`d`.`f`, CONSTRAINT `f_ibfk_1` FOREIGN KEY (`p`) REFERENCES `p` (`id`))",
            ),
            // Prepared, and between executions.
            (
                "prepare s from 'select /*+ SET_VAR(div_precision_increment = 2) */ ? / 3'; set @n = 2; execute s using @n",
                "0.67",
            ),
            ("execute s using @n", "0.67"),
            ("select @n / 3, @@div_precision_increment", "0.6667|4"),
            ("select /*+ MAX_EXECUTION_TIME(50) */ sleep(10)", "1"),
            (
                "select /*+ MAX_EXECUTION_TIME(50) */ count(*) from a a1, a a2, a a3, a a4, a a5, a a6, a a7, a a8, a a9 where a1.x + a2.x + a3.x + a4.x + a5.x + a6.x + a7.x + a8.x + a9.x < 0",
                "3024 Query execution was interrupted, maximum statement execution time exceeded",
            ),
            ("set max_execution_time = 1; select /*+ MAX_EXECUTION_TIME(0) */ sleep(0.05)", "0"),
            (
                "create procedure q() begin declare n int default 2; select /*+ SET_VAR(div_precision_increment = 2) */ n / 3, @@div_precision_increment into @q, @p; end",
                "",
            ),
            (
                "set max_execution_time = 0; call q(); call q(); select @q, @p, @@div_precision_increment",
                "0.67|2|4",
            ),
        ],
    );
}

#[test]
fn methods_are_chosen() {
    let opened = tables();
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    assert_eq!(
        run(
            &mut c,
            "insert into a select id + 10, id + 10, 5 from a; insert into b select id, x from a where id > 10"
        ),
        ""
    );
    let mut line = |sql: &str| run(&mut c, &format!("explain {sql}"));
    // Ranges.
    assert!(line("select * from a where x > 17").contains("|range|kx|kx|"));
    assert!(line("select /*+ NO_RANGE_OPTIMIZATION(a kx) */ * from a where x > 17").contains("|ALL|"));
    assert!(line("select /*+ NO_RANGE_OPTIMIZATION(a) */ * from a where x > 17").contains("|ALL|"));
    assert!(
        line("select /*+ NO_RANGE_OPTIMIZATION(a ky) */ * from a where x > 17").contains("|range|kx|kx|")
    );
    // A single value is no range.
    assert!(line("select /*+ NO_RANGE_OPTIMIZATION(a kx) */ * from a where x = 17").contains("|ref|kx|kx|"));
    // Joins by hash.
    let hash = "Using join buffer (Hash Join)";
    assert!(line("select count(*) from c join a on c.x = a.y + 0").contains(hash));
    for hint in ["NO_BNL()", "NO_HASH_JOIN()", "NO_BNL(a, c)"] {
        let told = line(&format!("select /*+ {hint} */ count(*) from c join a on c.x = a.y + 0"));
        assert!(!told.contains(hash), "{hint}: {told}");
    }
    let by_key = "count(*) from c straight_join a on c.x = a.id";
    assert!(line(&format!("select {by_key}")).contains("|eq_ref|"));
    assert!(line(&format!("select /*+ BNL(a) */ {by_key}")).contains(hash));
    // Derived tables and views.
    assert_eq!(run(&mut c, "create view va as select id, x from a"), "");
    let mut names = |sql: &str| order(&mut c, sql);
    assert_eq!(names("select * from (select id, x from a) q where x = 3"), "a:kx");
    assert_eq!(names("select /*+ MERGE(q) */ * from (select id, x from a) q where x = 3"), "a:kx");
    for hint in ["NO_MERGE(q)", "NO_MERGE()", "NO_MERGE(r, q)"] {
        let sql =
            format!("select /*+ {hint} */ * from (select id, x from a) q, (select 1 one) r where x = 3");
        assert!(names(&sql).contains("a:"), "{hint}");
        assert!(names(&sql).contains("<derived"), "{hint}");
    }
    assert_eq!(names("select * from va where x = 3"), "a:kx");
    assert_eq!(names("select /*+ NO_MERGE(va) */ * from va where x = 3"), "<derived2>:NULL a:kx");
    assert_eq!(names("select /*+ NO_MERGE(other) */ * from va where x = 3"), "a:kx");
    // Orders of what is merged.
    let merged = "from (select id from a) q join b on b.id = q.id";
    assert!(names(&format!("select /*+ JOIN_ORDER(b, q) */ * {merged}")).starts_with("b:"));
    assert!(names(&format!("select /*+ JOIN_ORDER(q, b) */ * {merged}")).starts_with("a:"));
}

#[test]
fn indexes_sort_and_group_or_not() {
    let opened = tables();
    let mut c = root(&opened.db);
    run(&mut c, "use d");
    let mut sorts = |sql: &str| run(&mut c, &format!("explain {sql}")).contains("Using filesort");
    assert!(!sorts("select x from a order by x limit 2"));
    assert!(sorts("select /*+ NO_ORDER_INDEX(a kx) */ x from a order by x limit 2"));
    assert!(sorts("select /*+ NO_ORDER_INDEX(a) */ x from a order by x limit 2"));
    assert!(!sorts("select /*+ NO_GROUP_INDEX(a) */ x from a order by x limit 2"));
    assert!(!sorts("select /*+ ORDER_INDEX(a kx) */ * from a order by x"));
    assert!(sorts("select /*+ ORDER_INDEX(a ky) */ * from a order by x"));
    assert!(!sorts("select * from a force index for order by (kx) order by x"));
    assert!(sorts("select x from a ignore index for order by (kx) order by x limit 2"));
    let mut groups = |sql: &str| run(&mut c, &format!("explain {sql}")).contains("Using temporary");
    assert!(!groups("select x, count(*) from a group by x"));
    assert!(groups("select /*+ NO_GROUP_INDEX(a kx) */ x, count(*) from a group by x"));
    assert!(groups("select x, count(*) from a ignore index for group by (kx) group by x"));
    assert!(!groups("select /*+ GROUP_INDEX(a kx) */ x, sum(y) from a group by x"));
}
