//! Window functions, and the subqueries that say what they mean.

use super::forms::{new, old, ours, replace_table};
use super::{Form, Queries, TABLES};

/// A call of an aggregate: of the function's own table, and of that table under the name `i`.
fn aggregate(q: &mut Queries) -> (String, String) {
    let arg = q.column_of("ace");
    let edge = q.column_of("acdefghk");
    match q.below(7) {
        0 => (format!("sum({arg})"), format!("sum(i.{arg})")),
        1 => (format!("avg({arg})"), format!("avg(i.{arg})")),
        2 => (format!("min({edge})"), format!("min(i.{edge})")),
        3 => (format!("max({edge})"), format!("max(i.{edge})")),
        4 => ("count(*)".to_owned(), "count(*)".to_owned()),
        5 => (format!("bit_or({arg})"), format!("bit_or(i.{arg})")),
        _ => (format!("count({edge})"), format!("count(i.{edge})")),
    }
}

/// A frame of rows: as SQL has it, and as a condition on the numbers `i.rn` and `x.rn`.
fn frame(q: &mut Queries) -> (String, String) {
    // The ends in their order; the second is never before the first.
    let (from, to) = (q.below(9) as i64 - 4, q.below(5) as i64);
    let to = from + to;
    let place = |n: i64| match n {
        0 => "current row".to_owned(),
        n if n < 0 => format!("{} preceding", -n),
        n => format!("{n} following"),
    };
    match q.below(5) {
        0 => {
            let frame = format!("rows between unbounded preceding and {}", place(from));
            (frame, format!("i.rn <= x.rn + {from}"))
        }
        1 => {
            let frame = format!("rows between {} and unbounded following", place(from));
            (frame, format!("i.rn >= x.rn + {from}"))
        }
        2 if from <= 0 => {
            (format!("rows {}", place(from)), format!("i.rn >= x.rn + {from} and i.rn <= x.rn"))
        }
        3 => ("rows between unbounded preceding and unbounded following".to_owned(), "true".to_owned()),
        _ => {
            let frame = format!("rows between {} and {}", place(from), place(to));
            (frame, format!("i.rn >= x.rn + {from} and i.rn <= x.rn + {to}"))
        }
    }
}

/// `i` comes before `x` in the order of a column, and of `id` where it is equal.
fn before(by: &str, descending: bool) -> String {
    let (l, r) = if descending { ("x", "i") } else { ("i", "x") };
    format!(
        "({l}.{by} < {r}.{by} or {l}.{by} is null and {r}.{by} is not null or i.{by} <=> x.{by} and i.id < x.id)"
    )
}

/// Aggregates over frames of rows.
pub(super) fn aggregates(q: &mut Queries) -> Vec<Form> {
    let (t, part, by) = (q.below(TABLES), q.column_of("abcdefghlno"), q.column_of("acdefghk"));
    let (here, inner) = aggregate(q);
    let (rows, near) = frame(q);
    let descending = if q.chance(2) { " desc" } else { "" };
    let parted = !q.chance(4);
    let partition = if parted { format!("partition by {part} ") } else { String::new() };
    let window = format!("{partition}order by {by}{descending}, id");
    let numbered = |alias: &str| {
        format!(
            "(select z.*, cast(row_number() over ({window}) as signed) as rn from {}) {alias}",
            q.table(t, "z")
        )
    };
    let same = if parted { format!("i.{part} <=> x.{part} and ") } else { String::new() };
    let x = q.table(t, "x");
    // Of frames without rows MariaDB knows no BIT_OR.
    let known = if here.starts_with("bit_or") { ours } else { new };
    vec![
        known(format!("select id, {here} over ({window} {rows}) from {x}")),
        known(format!("select id, {here} over w from {x} window w as ({window} {rows})")),
        ours(format!("select id, {here} over (w {rows}) from {x} window w as ({window})")),
        new(format!(
            "with n as (select z.*, cast(row_number() over ({window}) as signed) as rn from {}) select x.id, (select {inner} from n i where \
             {same}{near}) from n x",
            q.table(t, "z")
        )),
        new(format!(
            "select x.id, (select {inner} from {} where {same}{near}) from {}",
            numbered("i"),
            numbered("x")
        )),
    ]
}

/// FIRST_VALUE, LAST_VALUE, NTH_VALUE, LAG and LEAD.
pub(super) fn values(q: &mut Queries) -> Vec<Form> {
    let (t, part, by) = (q.below(TABLES), q.column_of("acdehln"), q.column_of("acdefghk"));
    let arg = q.column_of("abcdefghk");
    let n = q.below(4);
    let descending = if q.chance(2) { " desc" } else { "" };
    let window = format!("partition by {part} order by {by}{descending}, id");
    let (rows, near) = frame(q);
    let default = q.value(arg);
    let (x, z) = (q.table(t, "x"), q.table(t, "z"));
    let numbers =
        format!("with n as (select z.*, cast(row_number() over ({window}) as signed) as rn from {z})");
    let of = |condition: &str, order: &str, skip: u64| {
        format!(
            "{numbers} select x.id, (select i.{arg} from n i where i.{part} <=> x.{part} and {condition} order by i.rn{order} \
             limit {skip}, 1) from n x"
        )
    };
    let over = |call: &str, frame: &str| format!("select id, {call} over ({window}{frame}) from {x}");
    match q.below(5) {
        0 => vec![new(over(&format!("first_value({arg})"), &format!(" {rows}"))), new(of(&near, "", 0))],
        1 => vec![new(over(&format!("last_value({arg})"), &format!(" {rows}"))), new(of(&near, " desc", 0))],
        2 => vec![
            new(over(&format!("nth_value({arg}, {})", n + 1), &format!(" {rows}"))),
            new(of(&near, "", n)),
        ],
        3 => vec![new(over(&format!("lag({arg}, {n})"), "")), new(of(&format!("i.rn = x.rn - {n}"), "", 0))],
        _ => vec![
            ours(over(&format!("lead({arg}, {n}, {default})"), "")),
            ours(format!(
                "{numbers} select x.id, if((select count(*) from n i where i.{part} <=> x.{part} and i.rn = x.rn + {n}), \
                 (select i.{arg} from n i where i.{part} <=> x.{part} and i.rn = x.rn + {n}), {default}) from n x"
            )),
        ],
    }
}

/// Frames of values.
pub(super) fn ranges(q: &mut Queries) -> Vec<Form> {
    let (t, part) = (q.below(TABLES), q.column_of("abdehn"));
    let (here, inner) = aggregate(q);
    let descending = q.chance(2);
    let order = if descending { " desc" } else { "" };
    let (back, on) = (q.below(4), q.below(4));
    let x = q.table(t, "x");
    let i = q.table(t, "i");
    let of = |condition: &str| {
        format!("select x.id, (select {inner} from {i} where i.{part} <=> x.{part} and {condition}) from {x}")
    };
    let over = |by: &str, frame: &str| {
        format!("select id, {here} over (partition by {part} order by {by}{order}{frame}) from {x}")
    };
    // In the direction of the order: the least and the greatest number that counts.
    let (low, high) = if descending { (on, back) } else { (back, on) };
    // Where a frame has no value MariaDB's BIT_OR keeps that of the row before.
    let known = if here.starts_with("bit_or") { ours } else { new };
    match q.below(4) {
        // Numbers that are exact.
        0 => {
            let by = q.column_of("ac");
            let near = format!(
                "(i.{by} between x.{by} - {low} and x.{by} + {high} or i.{by} is null and x.{by} is null)"
            );
            vec![
                known(over(by, &format!(" range between {back} preceding and {on} following"))),
                old(of(&near)),
            ]
        }
        // Peers.
        1 => {
            let by = q.column_of("acdefghk");
            let (l, r) = if descending { ("x", "i") } else { ("i", "x") };
            let less = format!("({l}.{by} <= {r}.{by} or {l}.{by} is null)");
            vec![
                known(over(by, "")),
                known(over(by, " range unbounded preceding")),
                known(over(by, " range between unbounded preceding and current row")),
                old(of(&less)),
            ]
        }
        2 => {
            let by = q.column_of("acdefghk");
            let (l, r) = if descending { ("x", "i") } else { ("i", "x") };
            let more = format!("({l}.{by} >= {r}.{by} or {r}.{by} is null)");
            vec![known(over(by, " range between current row and unbounded following")), old(of(&more))]
        }
        // Times: MariaDB has no frames of them.
        _ => {
            let (by, unit) = (q.column_of("dg"), q.of(&["day", "month"]));
            let (low, high) =
                (format!("x.{by} - interval {low} {unit}"), format!("x.{by} + interval {high} {unit}"));
            let edges = "'1001-01-01' and '9998-12-31'";
            let near = format!("(i.{by} between {low} and {high} or i.{by} is null and x.{by} is null)");
            let frame =
                format!(" range between interval {back} {unit} preceding and interval {on} {unit} following");
            // Beyond the last date there is none.
            let within = |alias: &str| format!("({alias}.{by} is null or {alias}.{by} between {edges})");
            let over = format!(
                "select x.id, {here} over (partition by {part} order by {by}{order}{frame}) from {x} where {}",
                within("x")
            );
            let of = format!(
                "select x.id, (select {inner} from {i} where i.{part} <=> x.{part} and {near} and {}) from {x} where {}",
                within("i"),
                within("x")
            );
            vec![ours(over), ours(of)]
        }
    }
}

/// Ranks are numbers of rows before.
pub(super) fn ranks(q: &mut Queries) -> Vec<Form> {
    // ENUM is sorted by number and compared as text.
    let (t, by) = (q.below(TABLES), q.column_of("acdefghk"));
    let condition = q.condition(&["x"], 1);
    let inner = replace_table(&condition, "x", "i");
    let (x, i) = (q.table(t, "x"), q.table(t, "i"));
    let buckets = 1 + q.below(5);
    let less = format!("(i.{by} < x.{by} or i.{by} is null and x.{by} is not null)");
    let number = |test: &str| format!("(select count(*) from {i} where ({inner}) and {test})");
    let all = format!("(select count(*) from {i} where {inner})");
    let tile = format!("ntile({buckets}) over w2");
    // The first buckets have one row more.
    let (n, of) = (number(&before(by, false)), format!("{all} div {buckets}"));
    let larger = format!("({all} % {buckets}) * ({of} + 1)");
    let tiled = format!(
        "if({n} < {larger}, {n} div ({of} + 1) + 1, {all} % {buckets} + ({n} - {larger}) div greatest({of}, 1) + 1)"
    );
    let dense = format!(
        "1 + (select count(distinct i.{by}) + coalesce(max(i.{by} is null), 0) from {i} where ({inner}) and {less})"
    );
    let peers = number(&format!("({less} or i.{by} <=> x.{by})"));
    vec![
        new(format!(
            "select id, rank() over w, dense_rank() over w, row_number() over w2, count(*) over w, {tile} from {x} where \
             {condition} window w as (order by {by}), w2 as (order by {by}, id)"
        )),
        old(format!(
            "select x.id, 1 + {}, {dense}, 1 + {n}, {peers}, {tiled} from {x} where {condition}",
            number(&less)
        )),
    ]
}

/// Several windows of one query are each for itself.
pub(super) fn several(q: &mut Queries) -> Vec<Form> {
    let t = q.below(TABLES);
    let condition = q.condition(&["x"], 1);
    let x = q.table(t, "x");
    let mut calls = Vec::new();
    for _ in 0..3 {
        let (part, by) = (q.column_of("abcdefghlno"), q.column_of("acdefghk"));
        let (call, _) = aggregate(q);
        let (rows, _) = frame(q);
        let partition = if q.chance(3) { String::new() } else { format!("partition by {part} ") };
        calls.push(match q.below(3) {
            0 => format!("row_number() over ({partition}order by {by}, id)"),
            1 => format!("{call} over ({partition}order by {by}, id {rows})"),
            _ => format!("{call} over ({partition})"),
        });
    }
    // Beside a window of all rows MariaDB sorts others wrongly, as it does times with fractions; of frames without rows it knows no
    // BIT_OR.
    let wrong = ["over ()", "order by f", "order by g", "bit_or"];
    let known = |sql: String| match wrong.iter().any(|w| sql.contains(w)) {
        true => ours(sql),
        false => new(sql),
    };
    let list = calls.join(", ");
    let one = |n: usize| format!("(select x.id, {} as v from {x} where {condition}) q{n}", calls[n]);
    vec![
        known(format!("select x.id, {list} from {x} where {condition}")),
        known(format!("select x.id, {list} from {x} where {condition} order by id")),
        known(format!(
            "select q0.id, q0.v, q1.v, q2.v from {} join {} on q1.id = q0.id join {} on q2.id = q0.id",
            one(0),
            one(1),
            one(2)
        )),
    ]
}
