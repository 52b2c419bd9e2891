//! Queries in their forms.

use super::{Form, Judge, Queries, windows};

/// Makes a query of one kind in its forms.
type Kind = fn(&mut Queries) -> Vec<Form>;

/// All kinds; the frequent ones several times.
pub(super) const KINDS: [Kind; 24] = [
    parts,
    rows,
    parts,
    rows,
    derived,
    merged,
    calculated,
    distinct,
    rollup,
    union,
    grouped,
    lateral,
    first_rows,
    set_operations,
    set_operations,
    recursive_count,
    recursive_reach,
    recursive_levels,
    windows::aggregates,
    windows::aggregates,
    windows::values,
    windows::ranges,
    windows::ranks,
    windows::several,
];

/// A form that MySQL 5.6 knows.
pub(super) fn old(sql: String) -> Form {
    Form { sql, judge: Judge::Mysql56 }
}

/// A form that MariaDB knows.
pub(super) fn new(sql: String) -> Form {
    Form { sql, judge: Judge::MariaDb }
}

/// A form that no real server here knows.
pub(super) fn ours(sql: String) -> Form {
    Form { sql, judge: Judge::Nobody }
}

/// The parts where a condition is true, false and unknown are all there is.
fn parts(q: &mut Queries) -> Vec<Form> {
    let (from, tables) = q.source();
    let (items, condition) = (q.items(tables), q.condition(tables, 2));
    let part = |test: &str| format!("select {items} from {from} where ({condition}) {test}");
    let negated = format!(
        "select {items} from {from} where {condition} union all select {items} from {from} where not ({condition}) \
         union all select {items} from {from} where ({condition}) is null"
    );
    vec![
        old(format!("select {items} from {from}")),
        old([part("is true"), part("is false"), part("is unknown")].join(" union all ")),
        old(negated),
    ]
}

/// Rows that meet a condition, as many as it counts.
fn rows(q: &mut Queries) -> Vec<Form> {
    let (from, tables) = q.source();
    let (items, condition) = (q.items(tables), q.condition(tables, 2));
    let having = format!("select {items}, ({condition}) as truth from {from} having truth");
    let plain = format!("select {items}, 1 as truth from {from} where {condition}");
    vec![old(plain), old(having)]
}

/// Derived, in WITH, by itself.
fn derived(q: &mut Queries) -> Vec<Form> {
    let (from, tables) = q.source();
    let condition = q.condition(tables, 2);
    // A BIT of a table of WITH is a number in MariaDB.
    let column = format!("{}.{}", tables[0], q.column_of("abcdefghkmnop"));
    let query = format!("select {column} as v from {from} where {condition}");
    let over = "v, count(*), count(v)";
    vec![
        old(format!("select {over} from ({query}) q group by v")),
        new(format!("with q as ({query}) select {over} from q group by v")),
        new(format!("with q (w) as ({query}), r (v) as (select w from q) select {over} from r group by v")),
        old(format!(
            "select {column} as v, count(*), count({column}) from {from} where {condition} group by v"
        )),
    ]
}

/// Conditions within a derived table and outside of it.
fn merged(q: &mut Queries) -> Vec<Form> {
    let (inner, outer) = (q.condition(&["y"], 1), q.condition(&["y"], 1));
    let outside = replace_table(&outer, "y", "q");
    let (key, column) = (q.column_of("acdefghk"), q.column());
    let (x, y, join) = (q.some_table("x"), q.some_table("y"), q.join());
    // A BIT of a table of WITH is a number in MariaDB.
    let known = if column == "l" || outside.contains("q.l") { ours } else { new };
    vec![
        old(format!(
            "select x.id, q.id, q.{column} from {x} {join} (select y.* from {y} where {inner}) q on q.{key} = x.{key} where \
             {outside}"
        )),
        old(format!(
            "select x.id, y.id, y.{column} from {x} {join} {y} on y.{key} = x.{key} where {inner} and {outer}"
        )),
        known(format!(
            "with q as (select y.* from {y} where {inner}) select x.id, q.id, q.{column} from {x} {join} q on q.{key} = x.{key} \
             where {outside}"
        )),
    ]
}

/// What a derived table calculates is NULL where an outer join finds no row of it.
fn calculated(q: &mut Queries) -> Vec<Form> {
    let condition = q.condition(&["y"], 1);
    let column = q.column_of("abdkn");
    let value = q.scalar("y", column);
    let (x, y) = (q.some_table("x"), q.some_table("y"));
    let of = |item: &str| format!("(select {item} from {y} where {condition} and y.id = x.id)");
    vec![
        old(format!(
            "select x.id, q.i, q.v, q.k from {x} left join (select y.id as i, {value} as v, 'k' as k from {y} where \
             {condition}) q on q.i = x.id"
        )),
        old(format!("select x.id, {}, {}, {} from {x}", of("y.id"), of(&value), of("'k'"))),
    ]
}

/// DISTINCT and GROUP BY and UNION.
fn distinct(q: &mut Queries) -> Vec<Form> {
    let (from, tables) = q.source();
    let condition = q.condition(tables, 1);
    let (x, y) = (q.column_of("acdghklnof"), q.column_of("eadbp"));
    let items = format!("{0}.{x} as v, {0}.{y} as w", tables[0]);
    let query = format!("select {items} from {from} where {condition}");
    vec![
        old(format!("select distinct {items} from {from} where {condition}")),
        old(format!("{query} group by v, w")),
        old(format!("{query} union {query}")),
        new(format!("{query} intersect {query}")),
    ]
}

/// WITH ROLLUP is all groups, and groups of fewer keys.
fn rollup(q: &mut Queries) -> Vec<Form> {
    let (from, tables) = q.source();
    let condition = q.condition(tables, 1);
    // Where both keys are one column, both of its items are NULL in a sum.
    let (x, y) = (q.column_of("acegh"), q.column_of("bdfk"));
    let (t, arg) = (tables[0], q.column_of("ace"));
    let aggregates =
        format!("count(*), count({t}.{arg}), sum({t}.{arg}), min({t}.{y}), max({t}.{x}), avg({t}.a)");
    let rest = format!("from {from} where {condition}");
    let some = format!("exists (select 1 {rest})");
    // All rows are a group even where there are none; ROLLUP of no rows gives none.
    let whole = format!(
        "select * from (select null as v, null as w, {aggregates} {rest}) g where g.`count(*)` > 0 or {some}"
    );
    vec![
        old(format!("select {t}.{x} as v, {t}.{y} as w, {aggregates} {rest} group by v, w with rollup")),
        // 5.6 has more digits of a time or a number in a union with a column of NULL.
        new(format!(
            "select {t}.{x} as v, {t}.{y} as w, {aggregates} {rest} group by v, w union all select {t}.{x} as v, null, \
             {aggregates} {rest} group by v union all {whole}"
        )),
    ]
}

/// UNION of different conditions is DISTINCT of their OR.
fn union(q: &mut Queries) -> Vec<Form> {
    let (from, tables) = q.source();
    let (left, right) = (q.condition(tables, 1), q.condition(tables, 1));
    let column = format!("{}.{}", tables[0], q.column_of("acdefghkln"));
    let query = |condition: &str| format!("select {column} as v from {from} where {condition}");
    vec![
        old(format!("{} union {}", query(&left), query(&right))),
        old(format!("select distinct {column} as v from {from} where ({left}) or ({right})")),
        old(format!(
            "select v from ({} union all {}) q group by v",
            query(&left),
            query(&format!("({right}) and not (({left}) <=> true)"))
        )),
    ]
}

/// Groups and HAVING; the same of a table that is grouped already.
fn grouped(q: &mut Queries) -> Vec<Form> {
    let (from, tables) = q.source();
    let condition = q.condition(tables, 1);
    let t = tables[0];
    // 5.6 compares the least time of a group as text.
    let (by, arg) = (q.column_of("acdefghklno"), q.column_of("acdegh"));
    let function = q.of(&["count", "min", "max"]);
    let limit = q.value(arg);
    let test = if function == "count" { "> 1".to_owned() } else { format!(">= {limit}") };
    let items = format!(
        "{t}.{by} as v, count(*) as cn, count(distinct {t}.{arg}) as cu, {function}({t}.{arg}) as cf"
    );
    let rest = format!("from {from} where {condition}");
    vec![
        old(format!("select {items} {rest} group by v having cf {test}")),
        old(format!("select * from (select {items} {rest} group by v) q where q.cf {test}")),
        new(format!("with q as (select {items} {rest} group by v) select * from q where q.cf {test}")),
    ]
}

/// What LATERAL gives for each row a subquery gives, too.
fn lateral(q: &mut Queries) -> Vec<Form> {
    let (column, op) = (q.column(), q.of(&["=", "<=>", "<", ">="]));
    let (function, arg) = (q.of(&["sum", "count", "min", "max"]), q.column_of("ace"));
    let condition = q.condition(&["y"], 1);
    let (x, y) = (q.some_table("x"), q.some_table("y"));
    let inner =
        format!("select {function}(y.{arg}) as v from {y} where y.{column} {op} x.{column} and {condition}");
    let having = q.chance(2);
    match having {
        // No row where there is none: the row stays with NULL.
        true => vec![
            old(format!("select x.id, ({inner} having count(*) > 1) as v from {x}")),
            ours(format!(
                "select x.id, q.v from {x} left join lateral ({inner} having count(*) > 1) q on true"
            )),
        ],
        false => vec![
            old(format!("select x.id, ({inner}) as v from {x}")),
            ours(format!("select x.id, q.v from {x}, lateral ({inner}) q")),
            ours(format!("select x.id, q.v from {x} join lateral ({inner}) as q (v) on true")),
        ],
    }
}

/// The first rows of an order that is complete are those with few rows before them.
fn first_rows(q: &mut Queries) -> Vec<Form> {
    let condition = q.condition(&["x"], 2);
    let by = q.column_of("acdefghk");
    let (t, n) = (q.below(super::TABLES), 1 + q.below(6));
    let x = q.table(t, "x");
    let i = q.table(t, "i");
    let inner = replace_table(&condition, "x", "i");
    let before = format!(
        "(i.{by} < x.{by} or i.{by} is null and x.{by} is not null or i.{by} <=> x.{by} and i.id < x.id)"
    );
    vec![
        old(format!("select x.id, x.{by} from {x} where {condition} order by x.{by}, x.id limit {n}")),
        old(format!(
            "select x.id, x.{by} from {x} where {condition} and (select count(*) from {i} where ({inner}) and {before}) < {n}"
        )),
        new(format!(
            "select id, v from (select x.id, x.{by} as v, row_number() over (order by x.{by}, x.id) as rn from {x} where \
             {condition}) q where rn <= {n}"
        )),
    ]
}

/// The condition on a table of another name.
pub(super) fn replace_table(condition: &str, from: &str, to: &str) -> String {
    condition.replace(&format!("{from}."), &format!("{to}."))
}

/// INTERSECT and EXCEPT.
fn set_operations(q: &mut Queries) -> Vec<Form> {
    let column = q.column_of("acdefghk");
    let (l, r) = (q.condition(&["x"], 1), q.condition(&["y"], 1));
    let not = q.chance(2);
    let (op, test) = if not { ("except", "not ") } else { ("intersect", "") };
    let (x, y) = (q.some_table("x"), q.some_table("y"));
    let mut forms = vec![
        new(format!("select x.{column} from {x} where {l} {op} select y.{column} from {y} where {r}")),
        old(format!(
            "select distinct x.{column} from {x} where {l} and {test}exists (select 1 from {y} where {r} and y.{column} \
             <=> x.{column})"
        )),
    ];
    if !not {
        forms.push(new(format!(
            "select y.{column} from {y} where {r} intersect select x.{column} from {x} where {l}"
        )));
        forms.push(new(format!(
            "select v from (select x.{column} as v from {x} where {l}) q intersect all select y.{column} from {y} where {r} \
             intersect select x.{column} from {x} where {l}"
        )));
    }
    forms
}

/// A row after the other by a recursion.
fn recursive_count(q: &mut Queries) -> Vec<Form> {
    let condition = q.condition(&["x"], 1);
    let (t, all) = (q.below(super::TABLES), if q.chance(2) { " all" } else { "" });
    let x = q.table(t, "x");
    vec![
        new(format!(
            "with recursive r (n) as (select 0 union{all} select n + 1 from r where n < 25) select r.n from r join {x} on \
             x.id = r.n where {condition}"
        )),
        old(format!("select x.id from {x} where {condition}")),
    ]
}

/// What can be reached by links from row to row: no longer way than there are rows.
fn recursive_reach(q: &mut Queries) -> Vec<Form> {
    let condition = q.condition(&["x"], 1);
    let t = q.below(super::TABLES);
    let (x, y) = (q.table(t, "x"), q.table(t, "y"));
    let link = q.of(&["y.id = r.id + 3", "y.id = r.id * 2", "y.id % 7 = r.id % 7 and y.id > r.id"]);
    let join = q.join();
    vec![
        new(format!(
            "with recursive r as (select x.id from {x} where {condition} union select y.id from r {join} {y} on {link}) \
             select id from r"
        )),
        new(format!(
            "with recursive r as (select x.id, 0 as lv from {x} where {condition} union select y.id, lv + 1 from r {join} {y} \
             on {link} where lv < 25) select distinct id from r"
        )),
        ours(format!(
            "with recursive r (id) as (select x.id from {x} where {condition} union select q.id from r, lateral (select \
             y.id from {y} where {link}) q) select id from r"
        )),
    ]
}

/// Some levels of a recursion are as many joins.
fn recursive_levels(q: &mut Queries) -> Vec<Form> {
    let condition = q.condition(&["x"], 1);
    let t = q.below(super::TABLES);
    let (from, to) = (q.column_of("aceh"), q.column_of("ace"));
    let (x, y, z) = (q.table(t, "x"), q.table(t, "y"), q.table(t, "z"));
    let join = q.join();
    vec![
        new(format!(
            "with recursive r as (select x.id, x.{from} as v, 0 as lv from {x} where {condition} union all select y.id, \
             y.{from}, lv + 1 from r {join} {y} on y.{to} = r.v where lv < 2) select id, lv from r"
        )),
        old(format!(
            "select x.id, 0 from {x} where {condition} union all select y.id, 1 from {x} {join} {y} on y.{to} = x.{from} \
             where {condition} union all select z.id, 2 from {x} {join} {y} on y.{to} = x.{from} {join} {z} on z.{to} = \
             y.{from} where {condition}"
        )),
    ]
}
