//! Random tables of many types with NULLs, edge values, keys and collations, and random queries over them, each in several forms
//! that must give the same rows: whole and in the parts where a condition is true, false and unknown; as it is, as a derived table,
//! as a table of WITH, as LATERAL; window functions, ROLLUP, INTERSECT, EXCEPT and WITH RECURSIVE and what they mean in other words.
//!
//! Each form has a [`Dress`] besides, which is how its tables are named: with their indexes and without, with hints, in another
//! order of joining, through views of several kinds. A dress changes no rows either.
//!
//! | part | file |
//! |---|---|
//! | tables, values, dresses | this file |
//! | conditions and what stands in a select list | `parts` |
//! | queries in their forms | `forms` |
//! | window functions | `windows` |

mod forms;
mod parts;
mod windows;

use vaquita_base::Rng;

/// Columns that every table has besides `id`, with their types; `{text}` is a type with a collation of the table's own.
const COLUMNS: [(&str, &str); 14] = [
    ("a", "int"),
    ("b", "varchar(6) {text}"),
    ("c", "decimal(8,2)"),
    ("d", "date"),
    ("e", "bigint unsigned"),
    ("f", "time(3)"),
    ("g", "datetime(6)"),
    ("h", "year"),
    ("k", "double"),
    ("l", "bit(8)"),
    ("m", "varbinary(4)"),
    ("n", "enum('x', 'Y', 'z') {text}"),
    ("o", "set('x', 'Y', 'z') {text}"),
    ("p", "float"),
];

/// Values of a column that are often asked for: edges among them.
const VALUES: [&[&str]; 14] = [
    &["0", "1", "2", "3", "-1", "2147483647", "-2147483648"],
    &["''", "'a'", "'A'", "'b'", "'B '", "'ab'", "'é'", "'10'"],
    &["0", "0.25", "1.00", "2.5", "-1.75", "999999.99", "-999999.99", "5"],
    &["'2024-01-10'", "'2024-01-11'", "'2024-02-29'", "'1000-01-01'", "'9999-12-31'"],
    &["0", "1", "2", "9223372036854775807", "18446744073709551615"],
    &["'00:00:00'", "'-838:59:59'", "'838:59:59'", "'12:00:00.5'", "'00:00:00.001'", "'-00:00:01'"],
    &[
        "'2024-01-10 00:00:00'",
        "'2024-01-10 00:00:00.000001'",
        "'1000-01-01 00:00:00'",
        "'9999-12-31 23:59:59.999999'",
        "'2024-02-29 12:30:00.5'",
    ],
    &["1901", "2000", "2024", "2155"],
    &["0", "1.5", "-1.5", "1e300", "-1e300", "1e-300", "0.1"],
    &["b'0'", "b'1'", "b'11111111'", "b'1010'"],
    &["''", "'a'", "'A'", "'b '", "'b'", "'10'"],
    &["'x'", "'Y'", "'z'"],
    &["''", "'x'", "'x,Y'", "'z'", "'x,z'"],
    &["0", "0.5", "-3.25", "16777216", "1.5"],
];

/// Collations of texts that can be compared with each other.
const COLLATIONS: [[&str; 3]; 4] = [
    ["utf8mb4_general_ci", "utf8mb4_bin", "latin1_swedish_ci"],
    ["utf8mb4_unicode_ci", "utf8mb4_bin", "latin1_german1_ci"],
    ["utf8_swedish_ci", "utf8_bin", "latin1_general_cs"],
    ["utf8mb4_spanish_ci", "latin1_bin", "latin1_danish_ci"],
];

/// Tables `t0` and so on.
const TABLES: u64 = 3;

/// How the tables of a query are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dress {
    /// By their names alone.
    Plain,
    /// Without their indexes.
    NoIndex,
    /// `IGNORE INDEX` of the primary key.
    IgnorePrimary,
    /// `FORCE INDEX` of the primary key.
    ForcePrimary,
    /// `FORCE INDEX` of the first other key, where there is one.
    ForceKey,
    /// STRAIGHT_JOIN in place of JOIN.
    Straight,
    /// By views that are merged.
    Merged,
    /// By views with a condition and other names of columns, made over the merged ones.
    Nested,
    /// By views that are temporary tables.
    TempTable,
    /// By views that calculate their columns.
    Calculated,
    /// As derived tables.
    Derived,
    /// As derived tables of derived tables that calculate their columns and have conditions.
    DerivedTwice,
    /// With optimizer hints, which are comments to the real servers here.
    Hinted(u64),
}

/// All of them; the first one is the plain one.
pub const DRESSES: [Dress; 13] = [
    Dress::Plain,
    Dress::NoIndex,
    Dress::IgnorePrimary,
    Dress::ForcePrimary,
    Dress::ForceKey,
    Dress::Straight,
    Dress::Merged,
    Dress::Nested,
    Dress::TempTable,
    Dress::Calculated,
    Dress::Derived,
    Dress::DerivedTwice,
    Dress::Hinted(0),
];

/// Columns as expressions of the same values and types as far as anything here can tell.
const CALCULATED: [(&str, &str); 5] = [
    ("a", "z.a + 0"),
    ("b", "concat(z.b)"),
    ("c", "z.c + 0"),
    ("d", "z.d + interval 0 day"),
    ("k", "z.k + 0"),
];

/// Hints that change no rows: of methods, of joins and of indexes.
const HINTS: [&str; 14] = [
    "NO_RANGE_OPTIMIZATION(x)",
    "NO_RANGE_OPTIMIZATION(x k0) NO_BNL(y)",
    "NO_BNL()",
    "BNL(y)",
    "HASH_JOIN()",
    "JOIN_ORDER(y, x)",
    "NO_INDEX(x) ORDER_INDEX(y k0)",
    "JOIN_INDEX(x k0) GROUP_INDEX(x PRIMARY)",
    "NO_ORDER_INDEX(x) NO_GROUP_INDEX(x)",
    "NO_MERGE()",
    "NO_MERGE(q) JOIN_FIXED_ORDER()",
    "INDEX(s k0) SEMIJOIN() SUBQUERY(INTOEXISTS)",
    "BKA(x) MRR(y) NO_ICP(x)",
    "JOIN_PREFIX(x) NO_HASH_JOIN()",
];

/// Which real server may judge a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// MySQL 5.6 knows it.
    Mysql56,
    /// MariaDB 10.11 knows it.
    MariaDb,
    /// None of them knows it, or agrees with MySQL about it.
    Nobody,
}

/// A query in one form.
#[derive(Debug, Clone)]
pub struct Form {
    /// Its text.
    pub sql: String,
    /// Who knows it.
    pub judge: Judge,
}

/// A query: its kind, and the seed of what is random in it.
#[derive(Debug, Clone, Copy)]
pub struct Query {
    kind: usize,
    seed: u64,
}

/// What tables and queries are made with: one seed gives the same always.
#[derive(Debug)]
pub struct Queries {
    rng: Rng,
    /// Keys of each table besides the primary one.
    keys: [u64; TABLES as usize],
    dress: Dress,
}

impl Queries {
    /// Those of a seed.
    pub fn new(seed: u64) -> Queries {
        Queries { rng: Rng::new(seed), keys: [0; TABLES as usize], dress: Dress::Plain }
    }

    fn of<'l>(&mut self, list: &[&'l str]) -> &'l str {
        list[self.rng.below(list.len() as u64) as usize]
    }

    fn below(&mut self, n: u64) -> u64 {
        self.rng.below(n)
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.rng.below(one_in) == 0
    }

    /// A name of a column other than `id`.
    fn column(&mut self) -> &'static str {
        COLUMNS[self.below(COLUMNS.len() as u64) as usize].0
    }

    /// A column of one of these names.
    fn column_of(&mut self, names: &'static str) -> &'static str {
        let at = self.below(names.len() as u64) as usize;
        &names[at..=at]
    }

    /// A value of a column's type.
    fn value(&mut self, column: &str) -> String {
        if self.chance(6) {
            return "null".to_owned();
        }
        let at = COLUMNS.iter().position(|(name, _)| *name == column);
        match at {
            Some(at) => self.of(VALUES[at]).to_owned(),
            None => self.below(25).to_string(),
        }
    }

    /// Statements that make the tables `t0`, `t1`, `t2` with their rows and views: `m0` is merged, `n0` is made over it, `c0`
    /// calculates, `u0` is a temporary table.
    pub fn tables(&mut self) -> Vec<String> {
        let mut statements = Vec::new();
        let collations = &COLLATIONS[self.below(COLLATIONS.len() as u64) as usize];
        for t in 0..TABLES {
            let collation = self.of(collations);
            let charset = collation.split('_').next().unwrap_or_default();
            let text = format!("character set {charset} collate {collation}");
            let columns: Vec<String> =
                COLUMNS.iter().map(|(name, ty)| format!("{name} {}", ty.replace("{text}", &text))).collect();
            let mut made = format!("create table t{t} (id int primary key, {}", columns.join(", "));
            let keys = self.below(5);
            self.keys[t as usize] = keys;
            for key in 0..keys {
                let (x, y) = (self.column(), self.column());
                let columns = if x == y { x.to_owned() } else { format!("{x}, {y}") };
                made += &format!(", key k{key} ({columns})");
            }
            statements.push(format!("drop table if exists t{t}"));
            statements.push(made + ")");
            let rows: Vec<String> = (0..self.below(25))
                .map(|id| {
                    let values: Vec<String> = COLUMNS.iter().map(|(column, _)| self.value(column)).collect();
                    format!("({id}, {})", values.join(", "))
                })
                .collect();
            if !rows.is_empty() {
                statements.push(format!("insert into t{t} values {}", rows.join(", ")));
            }
            let list: Vec<&str> = COLUMNS.iter().rev().map(|(name, _)| *name).collect();
            statements.push(format!("create or replace algorithm = merge view m{t} as select * from t{t}"));
            statements.push(format!(
                "create or replace view n{t} ({0}, id) as select {1}, z.id from m{t} z where z.id >= 0",
                list.join(", "),
                list.iter().map(|name| format!("z.{name}")).collect::<Vec<_>>().join(", ")
            ));
            let items = calculated_items();
            statements
                .push(format!("create or replace algorithm = merge view c{t} as select {items} from t{t} z"));
            statements
                .push(format!("create or replace algorithm = temptable view u{t} as select * from t{t}"));
        }
        statements
    }

    /// A table with that name, as the dress has it.
    fn table(&self, t: u64, alias: &str) -> String {
        match self.dress {
            Dress::Plain | Dress::Straight | Dress::Hinted(_) => format!("t{t} {alias}"),
            Dress::NoIndex => format!("t{t} {alias} use index ()"),
            Dress::IgnorePrimary => format!("t{t} {alias} ignore index (primary)"),
            Dress::ForcePrimary => format!("t{t} {alias} force index (primary)"),
            Dress::ForceKey if self.keys[t as usize] > 0 => format!("t{t} {alias} force index (k0)"),
            Dress::ForceKey => format!("t{t} {alias}"),
            Dress::Merged => format!("m{t} {alias}"),
            Dress::Nested => format!("n{t} {alias}"),
            Dress::TempTable => format!("u{t} {alias}"),
            Dress::Calculated => format!("c{t} {alias}"),
            Dress::Derived => format!("(select * from t{t}) {alias}"),
            Dress::DerivedTwice => {
                let items = calculated_items();
                format!(
                    "(select * from (select {items} from t{t} z where z.id >= 0) z where z.id < 1000) {alias}"
                )
            }
        }
    }

    /// A table of any number.
    fn some_table(&mut self, alias: &str) -> String {
        let t = self.below(TABLES);
        self.table(t, alias)
    }

    /// JOIN.
    fn join(&self) -> &'static str {
        if self.dress == Dress::Straight { "straight_join" } else { "join" }
    }

    /// A query of the kind that has this number, any.
    pub fn query(&mut self, number: u64) -> Query {
        Query { kind: (number % forms::KINDS.len() as u64) as usize, seed: self.rng.next_u64() }
    }

    /// The query in its forms, all of which give the same rows in some order, its tables dressed like that. The number of forms
    /// and who judges them is the same in all dresses.
    pub fn forms(&self, query: Query, dress: Dress) -> Vec<Form> {
        let mut queries = Queries { rng: Rng::new(query.seed), keys: self.keys, dress };
        let mut forms = forms::KINDS[query.kind](&mut queries);
        if let Dress::Hinted(seed) = dress {
            let mut rng = Rng::new(seed);
            forms.iter_mut().for_each(|form| form.sql = with_hints(&form.sql, &mut rng));
        }
        forms
    }

    /// A dress for a form, any but the plain one.
    pub fn dress(&mut self) -> Dress {
        match DRESSES[1 + self.below(DRESSES.len() as u64 - 1) as usize] {
            Dress::Hinted(_) => Dress::Hinted(self.rng.next_u64()),
            dress => dress,
        }
    }
}

fn calculated_items() -> String {
    let item = |(name, _): &(&str, &str)| match CALCULATED.iter().find(|(calculated, _)| calculated == name) {
        Some((_, expr)) => format!("{expr} as {name}"),
        None => format!("z.{name}"),
    };
    let list: Vec<String> = COLUMNS.iter().map(item).collect();
    format!("z.id, {}", list.join(", "))
}

/// Every SELECT with some hint.
fn with_hints(sql: &str, rng: &mut Rng) -> String {
    let mut blocks = sql.split("select ");
    let mut out = blocks.next().unwrap_or_default().to_owned();
    for block in blocks {
        let hint = HINTS[rng.below(HINTS.len() as u64) as usize];
        out += &format!("select /*+ {hint} */ {block}");
    }
    out
}
