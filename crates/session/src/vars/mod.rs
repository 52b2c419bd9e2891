//! System variables: names, ranges, defaults, scopes, what they are wired to.
//!
//! | part | module |
//! |---|---|
//! | every variable, one line each | [`table`] |
//! | a session's values; plain fields where speed matters | [`session`] |
//! | global values | [`globals`] |
//! | from text or a value to what a variable can hold | [`parse`] |
//! | bits of `sql_mode` | [`sql_mode`] |
//! | which values do nothing, or are refused | [`effect`] |
//! | variables that bound each other | [`bounds`] |

pub mod bounds;
pub mod effect;
mod globals;
pub mod parse;
mod reasons;
mod session;
mod sql_mode;
mod table;

pub use effect::refusal;
pub use globals::{Globals, together, unknown};
pub use parse::Given;
pub use parse::{charset_by_name, charset_name, collation_name, is_other_engine, primary};
pub use session::{SessionVars, id};
pub use sql_mode::{for_parser, parse_mode};

use std::sync::Arc;
use vaquita_types::{SqlMode, SqlType, Value};

/// Where a variable has values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One for all.
    Global,
    /// Each session its own, and none for all.
    Session,
    /// One for all, which sessions start with.
    Both,
}

/// How a variable gets its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// At start and by SET.
    Live,
    /// At start only.
    Fixed,
    /// It tells how things are; nobody sets it.
    Fact,
}

/// What a variable does. Whether a *value* of it does anything is in [`effect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It does what its name says.
    Works,
    /// It does so with the value it has at start; SET changes only what is shown, with a warning.
    AtStart,
    /// It tunes something that is not here, or that tunes itself: neither answers nor durability nor access depend on it. It is
    /// kept and shown, and warned of.
    Tuning,
    /// It switches something that is not here and whose lack changes neither answers nor durability nor access. It is warned of,
    /// and goes on to say how things are.
    Absent,
    /// It would change answers, durability or access, or asks for something that is not here. Only the value that says how things
    /// are is taken; the text says why.
    Refused(&'static str),
}

/// What a variable can hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// ON, OFF.
    Bool,
    /// A number from, to; rounded down to a multiple of the last.
    UInt(u64, u64, u64),
    /// A number from, to.
    Int(i64, i64),
    /// A number from, to, with fraction.
    Double(f64, f64),
    /// One of these.
    Enum(&'static [&'static str]),
    /// Any of these.
    Set(&'static [&'static str]),
    /// `name=on|off|default, …`.
    Switches(&'static [&'static str]),
    /// `sql_mode`: a set with combinations that have names.
    SqlMode,
    /// Any text.
    Text,
    /// A character set.
    Charset {
        /// NULL is one too: no conversion.
        nullable: bool,
    },
    /// A collation.
    Collation,
    /// A storage engine.
    Engine,
    /// A time zone.
    TimeZone,
    /// Language of the names of days and months.
    Locale,
    /// Which ranks full-text searches give; `index`: those that an index asks for.
    Ranking,
    /// The number of a version that clients look for features by, and what follows it.
    Version,
}

/// A variable.
#[derive(Debug, Clone, Copy)]
pub struct VarDef {
    /// Name.
    pub name: &'static str,
    /// Where it has values.
    pub scope: Scope,
    /// How it gets them.
    pub access: Access,
    /// What it can hold.
    pub kind: Kind,
    /// Its value if nobody gives one, as text; `"\0"` is NULL.
    pub default: &'static str,
    /// Whether it does anything.
    pub effect: Effect,
}

const fn v(
    name: &'static str,
    scope: Scope,
    access: Access,
    kind: Kind,
    default: &'static str,
    effect: Effect,
) -> VarDef {
    VarDef { name, scope, access, kind, default, effect }
}

const fn uint(min: u64, max: u64, block: u64) -> Kind {
    Kind::UInt(min, max, block)
}

const fn int(min: i64, max: i64) -> Kind {
    Kind::Int(min, max)
}

/// Values of `tx_isolation`.
pub const ISOLATION: &[&str] = &["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"];

const OPTIMIZER_SWITCHES: &[&str] = &[
    "index_merge",
    "index_merge_union",
    "index_merge_sort_union",
    "index_merge_intersection",
    "engine_condition_pushdown",
    "index_condition_pushdown",
    "mrr",
    "mrr_cost_based",
    "block_nested_loop",
    "batched_key_access",
    "materialization",
    "semijoin",
    "loosescan",
    "firstmatch",
    "subquery_materialization_cost_based",
    "use_index_extensions",
];
const TRACE: &[&str] = &["enabled", "one_line"];
const TRACE_FEATURES: &[&str] = &["greedy_search", "range_optimizer", "dynamic_range", "repeated_subselect"];

/// All variables, in the order of their names.
pub fn all() -> &'static [VarDef] {
    table::TABLE
}

/// A variable's place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VarId(u16);

impl VarId {
    /// The variable of that name, for constants.
    ///
    /// # Panics
    /// If there is none: while compiling.
    pub const fn of(name: &str) -> VarId {
        let mut at = 0;
        while at < table::TABLE.len() {
            if same(table::TABLE[at].name.as_bytes(), name.as_bytes()) {
                return VarId(at as u16);
            }
            at += 1;
        }
        panic!("no such system variable")
    }

    /// The variable of that name, ASCII case ignored.
    pub fn find(name: &[u8]) -> Option<VarId> {
        // The older name.
        let name = match name.eq_ignore_ascii_case(b"storage_engine") {
            true => b"default_storage_engine",
            false => name,
        };
        let order = |def: &VarDef| {
            let known = def.name.bytes();
            known.cmp(name.iter().map(u8::to_ascii_lowercase))
        };
        table::TABLE.binary_search_by(order).ok().map(|at| VarId(at as u16))
    }

    /// All of them.
    pub fn all() -> impl ExactSizeIterator<Item = VarId> {
        (0..table::TABLE.len() as u16).map(VarId)
    }

    /// What it is.
    #[inline]
    pub fn def(self) -> &'static VarDef {
        &table::TABLE[usize::from(self.0)]
    }

    #[inline]
    /// Its place among all.
    pub fn at(self) -> usize {
        usize::from(self.0)
    }
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// What a variable holds. Flags are 0 and 1, choices an index, sets bits, character sets and collations the number of
/// a collation.
#[derive(Debug, Clone, PartialEq)]
pub enum VarValue {
    /// NULL.
    Null,
    /// Signed.
    Int(i64),
    /// Unsigned, flags, choices, sets, collations.
    UInt(u64),
    /// With fraction.
    Double(f64),
    /// Text.
    Text(Arc<str>),
}

impl VarValue {
    /// The number; 0 if it is none.
    #[inline]
    pub fn uint(&self) -> u64 {
        match self {
            VarValue::UInt(n) => *n,
            VarValue::Int(n) => u64::try_from(*n).unwrap_or(0),
            VarValue::Double(n) => *n as u64,
            VarValue::Null | VarValue::Text(_) => 0,
        }
    }

    /// As SHOW VARIABLES has it; NULL is empty there.
    pub fn show(&self, kind: Kind) -> String {
        match (kind, self) {
            (Kind::Bool, VarValue::UInt(n)) => if *n == 0 { "OFF" } else { "ON" }.to_owned(),
            (Kind::Double(..), VarValue::Double(n)) => format!("{n:.6}"),
            _ => self.text(kind).unwrap_or_default(),
        }
    }

    /// As text; `None` is NULL.
    pub fn text(&self, kind: Kind) -> Option<String> {
        Some(match (kind, self) {
            (_, VarValue::Null) => return None,
            (_, VarValue::Text(text)) => text.to_string(),
            (_, VarValue::Int(n)) => n.to_string(),
            (_, VarValue::Double(n)) => n.to_string(),
            (Kind::Enum(names), VarValue::UInt(n)) => {
                names.get(*n as usize).copied().unwrap_or_default().to_owned()
            }
            (Kind::Set(names), VarValue::UInt(bits)) => parse::members(names, *bits),
            (Kind::Switches(names), VarValue::UInt(bits)) => parse::switches(names, *bits),
            (Kind::SqlMode, VarValue::UInt(bits)) => sql_mode::show(SqlMode(*bits)),
            (Kind::Charset { .. }, VarValue::UInt(id)) => parse::charset_name(*id as u16).to_owned(),
            (Kind::Collation, VarValue::UInt(id)) => parse::collation_name(*id as u16).to_owned(),
            (_, VarValue::UInt(n)) => n.to_string(),
        })
    }

    /// As the value of `@@name`.
    pub fn value(&self, kind: Kind) -> Value<'static> {
        match (kind, self) {
            (_, VarValue::Null) => Value::Null,
            (Kind::Bool, VarValue::UInt(n)) => Value::Int(*n as i64),
            (Kind::UInt(..), VarValue::UInt(n)) => Value::UInt(*n),
            (Kind::Int(..), VarValue::Int(n)) => Value::Int(*n),
            (Kind::Double(..), VarValue::Double(n)) => Value::Double(*n),
            _ => Value::owned(self.text(kind).unwrap_or_default().into_bytes()),
        }
    }
}

impl Kind {
    /// Type of `@@name`. Texts are utf8.
    pub fn sql_type(self) -> SqlType {
        match self {
            Kind::Bool => SqlType { length: 1, ..SqlType::bigint(false) },
            Kind::Int(..) => SqlType::bigint(false),
            Kind::UInt(..) => SqlType::bigint(true),
            Kind::Double(..) => SqlType { length: 23, decimals: 6, ..SqlType::double() },
            _ => SqlType::varchar(1_024, parse::UTF8_GENERAL_CI),
        }
    }
}

/// Value of `kind` for documentation: what can be given.
pub fn describe(kind: Kind) -> String {
    match kind {
        Kind::Bool => "ON, OFF".to_owned(),
        Kind::UInt(0, u64::MAX, _) => "number".to_owned(),
        Kind::UInt(min, u64::MAX, _) => format!("from {min}"),
        Kind::UInt(min, max, _) => format!("{min} to {max}"),
        Kind::Int(..) => "number".to_owned(),
        Kind::Double(min, max) => format!("{min} to {max}"),
        Kind::Enum(names) => names.join(", "),
        Kind::Set(names) => format!("any of {}", names.join(", ")),
        Kind::Switches(_) => "switches".to_owned(),
        Kind::SqlMode => "modes".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Charset { .. } => "character set".to_owned(),
        Kind::Collation => "collation".to_owned(),
        Kind::Engine => "InnoDB".to_owned(),
        Kind::TimeZone => "time zone".to_owned(),
        Kind::Locale => "locale".to_owned(),
        Kind::Ranking => "index, innodb, bm25, bm25(column weight, ..)".to_owned(),
        Kind::Version => "version".to_owned(),
    }
}
