//! Functions by name: how many arguments they take, and what compiles them.

mod crypt;
pub(super) mod date_arith;
pub(super) mod date_format;
pub(super) mod date_now;
pub(super) mod date_parts;
mod des;
mod digest;
pub use digest::new_uuid;
pub(super) mod encode;
mod file;
mod gtid;
mod info;
pub(super) mod json;
mod lists;
mod locks;
mod math;
mod net;
mod passwords;
mod regexp;
pub(super) mod snippet;
pub(super) mod string;
mod substring;
mod uuid;
mod zip;

use super::compare::wrong_columns;
use super::node::{Expr, Node};
use super::scope::CompileCx;
use super::{EvalCx, compare, control};
use std::sync::Arc;
use vaquita_engine::{PlainWait, WaitHook};
use vaquita_types::{SqlError, SqlResult};

/// Compiles a call with its arguments; gets the function's name in lower case.
type Build = fn(&mut CompileCx<'_>, &'static str, Vec<Expr>) -> SqlResult<Expr>;

/// A function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Function {
    name: &'static str,
    min: usize,
    max: usize,
    build: Build,
}

/// As many arguments as one likes.
const MANY: usize = usize::MAX;

const fn f(name: &'static str, min: usize, max: usize, build: Build) -> Function {
    Function { name, min, max, build }
}

/// Code of functions: `name(expression, arguments, context, row) { value }`.
macro_rules! evals {
    ($($name:ident($e:ident, $args:ident, $cx:ident, $row:ident) $body:block)*) => {$(
        #[allow(unused_variables)]
        pub(super) fn $name<'r>(
            $e: &'r $crate::Expr,
            $args: &'r [$crate::Expr],
            $cx: &mut $crate::EvalCx<'_>,
            $row: &'r $crate::Row<'r>,
        ) -> vaquita_types::SqlResult<vaquita_types::Value<'r>> $body
    )*};
}

/// The value of an argument; NULL ends the function.
macro_rules! arg {
    ($value:expr) => {
        match $value? {
            Some(v) => v,
            None => return Ok(vaquita_types::Value::Null),
        }
    };
}

use {arg, evals};

/// Who is told around waits.
fn wait_hook(cx: &EvalCx<'_>) -> Arc<dyn WaitHook> {
    cx.engine.as_ref().map_or_else(|| Arc::new(PlainWait) as Arc<dyn WaitHook>, |e| e.wait_hook().clone())
}

/// Families of functions.
const FAMILIES: &[&[Function]] = &[
    CONTROL,
    string::FUNCTIONS,
    substring::FUNCTIONS,
    lists::FUNCTIONS,
    encode::FUNCTIONS,
    crypt::FUNCTIONS,
    des::FUNCTIONS,
    passwords::FUNCTIONS,
    digest::FUNCTIONS,
    math::FUNCTIONS,
    date_now::FUNCTIONS,
    date_parts::FUNCTIONS,
    date_arith::FUNCTIONS,
    date_format::FUNCTIONS,
    info::FUNCTIONS,
    locks::FUNCTIONS,
    net::FUNCTIONS,
    regexp::FUNCTIONS,
    snippet::FUNCTIONS,
    uuid::FUNCTIONS,
    gtid::FUNCTIONS,
    file::FUNCTIONS,
];

/// Families whose functions see the text of documents.
const TEXTUAL: &[&[Function]] = &[
    string::FUNCTIONS,
    substring::FUNCTIONS,
    lists::FUNCTIONS,
    encode::FUNCTIONS,
    crypt::FUNCTIONS,
    des::FUNCTIONS,
    passwords::FUNCTIONS,
    digest::FUNCTIONS,
    regexp::FUNCTIONS,
    uuid::FUNCTIONS,
];

const CONTROL: &[Function] = &[
    f("if", 3, 3, |cx, _, args| control::if_function(cx, args)),
    f("ifnull", 2, 2, control::coalesce),
    f("coalesce", 1, MANY, control::coalesce),
    f("nullif", 2, 2, |cx, _, args| control::nullif(cx, args)),
    f("greatest", 2, MANY, control::extreme),
    f("least", 2, MANY, control::extreme),
    f("strcmp", 2, 2, |cx, _, args| compare::strcmp(cx, args)),
    f("any_value", 1, 1, |cx, _, args| Ok(control::any_value(cx, args))),
    f("isnull", 1, 1, |cx, _, mut args| {
        let operand = Box::new(args.remove(0));
        Ok(cx.truth(Node::IsNull { operand, negated: false }))
    }),
    f("bit_count", 1, 1, |cx, _, mut args| Ok(super::arith::count_bits(cx, args.remove(0).into_number()))),
    f("mod", 2, 2, |cx, _, args| {
        two(args, |a, b| Ok(super::arith::arith(cx, super::arith::Arith::Mod, a, b)))
    }),
];

fn two(args: Vec<Expr>, make: impl FnOnce(Expr, Expr) -> SqlResult<Expr>) -> SqlResult<Expr> {
    let [a, b] = <[Expr; 2]>::try_from(args).map_err(|_| wrong_columns(1))?;
    make(a, b)
}

/// A call as it was written.
#[derive(Debug)]
pub(super) struct FunctionCall<'n> {
    /// In lower case.
    pub(super) name: &'n str,
    /// As written.
    pub(super) written: &'n str,
    /// Arguments.
    pub(super) args: Vec<Expr>,
}

fn find(name: &str) -> Option<&'static Function> {
    let families = FAMILIES.iter().chain(json::FAMILIES);
    families.flat_map(|family| family.iter()).find(|f| f.name == name)
}

/// Whether there is a function of that name.
pub fn is_function(name: &str) -> bool {
    find(&name.to_ascii_lowercase()).is_some()
}

/// Compiles a call.
///
/// # Errors
/// 1305 no such function, 1582 wrong number of arguments, 1241 a row, those of the function.
pub(super) fn build(cx: &mut CompileCx<'_>, call: FunctionCall<'_>) -> SqlResult<Expr> {
    let Some(function) = find(call.name) else {
        if let Some(feature) = later(call.name) {
            return Err(SqlError::unsupported(feature));
        }
        let database = &cx.session.state.database;
        let dot = if database.is_empty() { "" } else { "." };
        let message = format!("FUNCTION {database}{dot}{} does not exist", call.written);
        return Err(SqlError::new(1305, message));
    };
    if call.args.len() < function.min || call.args.len() > function.max {
        let message = format!("Incorrect parameter count in the call to native function '{}'", call.written);
        return Err(SqlError::new(1582, message));
    }
    if call.args.iter().any(|e| matches!(e.node, Node::Row(_))) && call.name != "interval" {
        return Err(wrong_columns(1));
    }
    let mut args = call.args;
    if TEXTUAL.iter().any(|family| family.iter().any(|f| std::ptr::eq(f, function))) {
        let as_text = |e: Expr| match e.ty().kind {
            vaquita_types::Kind::Json => cx.converted(e, crate::build::Collated::DOCUMENT.collation),
            _ => e,
        };
        args = args.into_iter().map(as_text).collect();
    }
    (function.build)(cx, function.name, args)
}

/// Compiles a call of a function that is known to exist.
///
/// # Errors
/// Those of the function.
pub(super) fn call(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>) -> SqlResult<Expr> {
    build(cx, FunctionCall { name, written: name, args })
}

/// Functions that MySQL has and that are not there yet.
fn later(name: &str) -> Option<&'static str> {
    const GEOMETRY: &[&str] = &[
        "area",
        "asbinary",
        "astext",
        "aswkb",
        "aswkt",
        "boundary",
        "buffer",
        "centroid",
        "contains",
        "crosses",
        "dimension",
        "disjoint",
        "distance",
        "endpoint",
        "envelope",
        "equals",
        "exteriorring",
        "geomfromtext",
        "geomfromwkb",
        "geometryfromtext",
        "geometryn",
        "geometrytype",
        "glength",
        "interiorringn",
        "intersects",
        "isclosed",
        "isempty",
        "issimple",
        "linefromtext",
        "numgeometries",
        "numinteriorrings",
        "numpoints",
        "overlaps",
        "point",
        "pointfromtext",
        "pointn",
        "polyfromtext",
        "polygonfromtext",
        "srid",
        "startpoint",
        "touches",
        "within",
        "x",
        "y",
    ];
    const CRYPT: &[&str] = &["decode", "encode"];
    const REPLICATION: &[&str] = &["source_pos_wait", "wait_for_executed_gtid_set"];
    const OF_SERVER: &[(&str, &str)] = &[
        ("extractvalue", "XML functions"),
        ("updatexml", "XML functions"),
        ("statement_digest", "STATEMENT_DIGEST()"),
        ("statement_digest_text", "STATEMENT_DIGEST_TEXT()"),
        ("ps_current_thread_id", "the performance schema"),
        ("ps_thread_id", "the performance schema"),
        ("roles_graphml", "ROLES_GRAPHML()"),
        ("icu_version", "ICU_VERSION()"),
    ];
    if name.starts_with("json_schema_val") {
        return Some("JSON schemas");
    }
    if name.starts_with("st_") || name.starts_with("mbr") || GEOMETRY.contains(&name) {
        return Some("spatial functions");
    }
    if CRYPT.contains(&name) {
        return Some("encryption functions");
    }
    if REPLICATION.contains(&name) {
        return Some("replication functions");
    }
    OF_SERVER.iter().find(|(of, _)| *of == name).map(|(_, feature)| *feature)
}
