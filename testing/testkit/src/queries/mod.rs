//! Random tables with NULLs, keys and collations, and random queries over them, each in several forms that must give the same
//! rows: whole and in the parts where a condition is true, false and unknown; with and without indexes; as it is, as a derived
//! table and as a table of WITH; window functions, INTERSECT and EXCEPT and what they mean as subqueries.

use vaquita_base::Rng;

/// Columns that every table has besides `id`.
const COLUMNS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// What tables and queries are made with: one seed gives the same always.
#[derive(Debug)]
pub struct Queries {
    rng: Rng,
}

impl Queries {
    /// Those of a seed.
    pub fn new(seed: u64) -> Queries {
        Queries { rng: Rng::new(seed) }
    }

    fn of<'l>(&mut self, list: &[&'l str]) -> &'l str {
        list[self.rng.below(list.len() as u64) as usize]
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.rng.below(one_in) == 0
    }

    /// A value of a column's kind.
    fn value(&mut self, column: &str) -> String {
        if self.chance(6) {
            return "null".to_owned();
        }
        let n = self.rng.below(8) as i64 - 2;
        match column {
            "a" => self.of(&["0", "1", "2", "3", "-1", "2147483647", "-2147483648"]).to_owned(),
            "b" => self.of(&["''", "'a'", "'A'", "'b'", "'B '", "'ab'", "'é'", "'10'"]).to_owned(),
            "c" => format!("{n}.{}", self.rng.below(4) * 25),
            "d" => format!("'2024-0{}-{}'", 1 + self.rng.below(2), 10 + self.rng.below(5)),
            _ => self.of(&["0", "1", "2", "9223372036854775807", "18446744073709551615"]).to_owned(),
        }
    }

    /// Statements that make the tables `t0`, `t1`, `t2` and their rows.
    pub fn tables(&mut self) -> Vec<String> {
        let mut statements = Vec::new();
        for t in 0..3 {
            let collation = self.of(&["utf8mb4_general_ci", "utf8mb4_bin", "latin1_swedish_ci"]);
            let charset = collation.split('_').next().unwrap_or_default();
            let mut made = format!(
                "create table t{t} (id int primary key, a int, b varchar(6) character set {charset} collate {collation}, \
                 c decimal(8,2), d date, e bigint unsigned"
            );
            for key in 0..self.rng.below(4) {
                let (x, y) = (self.of(&COLUMNS), self.of(&COLUMNS));
                let columns = if x == y { x.to_owned() } else { format!("{x}, {y}") };
                made += &format!(", key k{key} ({columns})");
            }
            statements.push(format!("drop table if exists t{t}"));
            statements.push(made + ")");
            let rows: Vec<String> = (0..self.rng.below(25))
                .map(|id| {
                    let values: Vec<String> = COLUMNS.iter().map(|column| self.value(column)).collect();
                    format!("({id}, {})", values.join(", "))
                })
                .collect();
            if !rows.is_empty() {
                statements.push(format!("insert into t{t} values {}", rows.join(", ")));
            }
        }
        statements
    }

    /// A condition on these tables.
    fn condition(&mut self, tables: &[&str], depth: u32) -> String {
        let table = self.of(tables).to_owned();
        let column = self.of(&COLUMNS);
        let op = self.of(&["=", "<>", "<", "<=", ">", ">=", "<=>"]);
        let choice = self.rng.below(if depth == 0 { 6 } else { 11 });
        match choice {
            0 | 1 => format!("{table}.{column} {op} {}", self.value(column)),
            2 => format!("{table}.{column} {op} {}.{column}", self.of(tables)),
            3 => format!("{table}.{column} is {}null", self.of(&["", "not "])),
            4 => {
                let (low, high) = (self.value(column), self.value(column));
                format!("{table}.{column} {}between {low} and {high}", self.of(&["", "not "]))
            }
            5 => {
                let list: Vec<String> = (0..1 + self.rng.below(3)).map(|_| self.value(column)).collect();
                format!("{table}.{column} {}in ({})", self.of(&["", "not "]), list.join(", "))
            }
            6 => format!("not ({})", self.condition(tables, depth - 1)),
            7 | 8 => {
                let (left, right) = (self.condition(tables, depth - 1), self.condition(tables, depth - 1));
                format!("({left} {} {right})", self.of(&["and", "or", "and", "xor"]))
            }
            9 => {
                let inner = self.condition(&["s"], depth - 1);
                format!(
                    "{table}.{column} {}in (select s.{column} from t2 s where {inner})",
                    self.of(&["", "not "])
                )
            }
            _ => {
                let (inner, t) = (self.condition(&["s"], depth - 1), self.rng.below(3));
                format!(
                    "{}exists (select 1 from t{t} s where s.{column} {op} {table}.{column} and {inner})",
                    self.of(&["", "not "])
                )
            }
        }
    }

    /// What stands in FROM, and the names of its tables; `hint` stands behind each.
    fn source(&mut self, hint: &str) -> (String, &'static [&'static str]) {
        match self.rng.below(3) {
            0 => (format!("t{} x{hint}", self.rng.below(3)), &["x"]),
            n => {
                let kind = if n == 1 { "join" } else { "left join" };
                let on = self.condition(&["x", "y"], 1);
                let (l, r) = (self.rng.below(3), self.rng.below(3));
                (format!("t{l} x{hint} {kind} t{r} y{hint} on {on}"), &["x", "y"])
            }
        }
    }

    fn items(&mut self, tables: &[&str]) -> String {
        let item = |queries: &mut Queries| {
            format!("{}.{}", queries.of(tables), queries.of(&["id", "a", "b", "c", "d", "e"]))
        };
        (0..1 + self.rng.below(3)).map(|_| item(self)).collect::<Vec<_>>().join(", ")
    }
}

/// Kinds of queries that MySQL 5.6 knows, too; others are of later servers.
pub const KINDS_OF_5_6: u64 = 6;

/// Kinds of queries.
pub const KINDS: u64 = 9;

/// One query of that kind in its forms, all of which give the same rows, in some order. Of the kinds of MySQL 5.6 the first form
/// is one that it knows.
pub fn forms(queries: &mut Queries, kind: u64) -> Vec<String> {
    match kind {
        // The parts where a condition is true, false and unknown are all there is.
        0 | 1 => {
            let (from, tables) = queries.source("");
            let (items, condition) = (queries.items(tables), queries.condition(tables, 2));
            let part = |test: &str| format!("select {items} from {from} where ({condition}) {test}");
            let parts = [part("is true"), part("is false"), part("is unknown")].join(" union all ");
            let negated = format!(
                "select {items} from {from} where {condition} union all select {items} from {from} where not \
                 ({condition}) union all select {items} from {from} where ({condition}) is null"
            );
            vec![format!("select {items} from {from}"), parts, negated]
        }
        // With indexes and without.
        2 | 3 => {
            let seed = queries.rng.next_u64();
            let mut with = Queries::new(seed);
            let mut query = |hint: &str| {
                with.rng = Rng::new(seed);
                let (from, tables) = with.source(hint);
                let (items, condition) = (with.items(tables), with.condition(tables, 2));
                format!("select {items} from {from} where {condition}")
            };
            vec![query(""), query(" use index ()"), query(" ignore index (primary)")]
        }
        // Derived, in WITH, by itself.
        4 => {
            let (from, tables) = queries.source("");
            let condition = queries.condition(tables, 2);
            let column = format!("{}.{}", tables[0], queries.of(&COLUMNS));
            let query = format!("select {column} as v from {from} where {condition}");
            let over = "v, count(*), count(v)";
            vec![
                format!("select {over} from ({query}) q group by v"),
                format!("with q as ({query}) select {over} from q group by v"),
                format!(
                    "with q (w) as ({query}), r (v) as (select w from q) select {over} from r group by v"
                ),
                format!(
                    "select {column} as v, count(*), count({column}) from {from} where {condition} group by v"
                ),
            ]
        }
        // DISTINCT and GROUP BY and UNION.
        5 => {
            let (from, tables) = queries.source("");
            let condition = queries.condition(tables, 1);
            let (x, y) = (queries.of(&["a", "c", "d"]), queries.of(&["e", "a", "id"]));
            let items = format!("{0}.{x} as v, {0}.{y} as w", tables[0]);
            let query = format!("select {items} from {from} where {condition}");
            vec![
                format!("select distinct {items} from {from} where {condition}"),
                format!("{query} group by v, w"),
                format!("{query} union {query}"),
                format!("{query} intersect {query}"),
            ]
        }
        // INTERSECT and EXCEPT.
        6 => {
            let column = queries.of(&["a", "c", "d", "e"]);
            let (l, r) = (queries.condition(&["x"], 1), queries.condition(&["y"], 1));
            let not = queries.chance(2);
            let (op, test) = if not { ("except", "not ") } else { ("intersect", "") };
            vec![
                format!("select x.{column} from t0 x where {l} {op} select y.{column} from t1 y where {r}"),
                format!(
                    "select distinct x.{column} from t0 x where {l} and {test}exists (select 1 from t1 y where {r} and \
                     y.{column} <=> x.{column})"
                ),
            ]
        }
        // Windows are what subqueries say they are.
        7 => {
            let (t, by) = (queries.rng.below(3), queries.of(&["a", "b", "c", "d", "e"]));
            let arg = queries.of(&["a", "c", "e", "id"]);
            let function = queries.of(&["sum", "count", "min", "max", "avg"]);
            let function = if function == "sum" || function == "avg" || function == "min" || function == "max"
            {
                format!("{function}({{}}{arg})")
            } else {
                "count({}b)".to_owned()
            };
            let (here, inner) = (function.replace("{}", ""), function.replace("{}", "i."));
            let of = |condition: &str| {
                format!("select id, (select {inner} from t{t} i where {condition}) from t{t} x")
            };
            match queries.rng.below(4) {
                0 => vec![
                    format!("select id, {here} over (partition by {by}) from t{t} x"),
                    of(&format!("i.{by} <=> x.{by}")),
                ],
                1 => vec![
                    format!("select id, {here} over (partition by {by} order by id) from t{t} x"),
                    format!(
                        "select id, {here} over (partition by {by} order by id rows unbounded preceding) from t{t} x"
                    ),
                    of(&format!("i.{by} <=> x.{by} and i.id <= x.id")),
                ],
                2 => {
                    let (before, behind) = (queries.rng.below(6), queries.rng.below(6));
                    let near = format!("i.id >= x.id - {before} and i.id <= x.id + {behind}");
                    // The numbers of rows have no holes.
                    vec![
                        format!(
                            "select id, {here} over (order by id rows between {before} preceding and {behind} following) from t{t} x"
                        ),
                        format!(
                            "select id, {here} over (order by id range between {before} preceding and {behind} following) from t{t} x"
                        ),
                        format!(
                            "select id, {here} over (order by id desc rows between {behind} preceding and {before} following) from t{t} x"
                        ),
                        of(&near),
                    ]
                }
                _ => vec![
                    format!(
                        "select id, {here} over (partition by {by} order by id rows between current row and unbounded following) from t{t} x"
                    ),
                    of(&format!("i.{by} <=> x.{by} and i.id >= x.id")),
                ],
            }
        }
        // Ranks are numbers of rows before.
        _ => {
            let (t, by) = (queries.rng.below(3), queries.of(&["a", "c", "d", "e"]));
            let less = format!("(i.{by} < x.{by} or i.{by} is null and x.{by} is not null)");
            vec![
                format!(
                    "select id, rank() over w, row_number() over (w2), lag(id) over (order by id) from t{t} x window w as (order by {by}), w2 as (order by {by}, id)"
                ),
                format!(
                    "select id, 1 + (select count(*) from t{t} i where {less}), 1 + (select count(*) from t{t} i where {less} \
                     or i.{by} <=> x.{by} and i.id < x.id), (select max(i.id) from t{t} i where i.id < x.id) from t{t} x"
                ),
            ]
        }
    }
}
