//! UPDATE t SET c = JSON_SET(c, ..): the document stays as it is but for what is changed, where that fits.
//!
//! As in MySQL 8.0: of JSON_SET, JSON_REPLACE and JSON_REMOVE, one within the other, and only if all of their changes fit.
//! What becomes free stays in the document, until one does not fit and it is written anew.

use super::super::{arg, evals};
use super::{Args, finished, node};
use crate::node::{Expr, Node};
use crate::{EvalCx, Row};
use std::borrow::Cow;
use vaquita_types::json::edit::Change;
use vaquita_types::json::path::Path;
use vaquita_types::json::{Json, in_place};
use vaquita_types::{Kind, SqlError, SqlResult, Value, memory};

/// What is done at a path.
#[derive(Debug)]
enum Step {
    Put(Change, Path, Json),
    Remove(Path),
}

/// Lets an assignment change the document of the column that it sets in place, if it is of that kind.
pub fn change_in_place(value: &mut Expr, table: u16, column: u16) {
    if is_change_of(value, table, column)
        && let Node::Call(call) = &mut value.node
    {
        call.eval = eval_in_place;
    }
}

/// Whether these are changes of a column's own document.
fn is_change_of(e: &Expr, of_table: u16, of_column: u16) -> bool {
    let Node::Call(call) = &e.node else { return false };
    let Some(document) = call.args.first().filter(|_| how(call.name).is_some()) else { return false };
    match document.node {
        Node::Column { level: 0, table, column, .. } => {
            (table, column) == (of_table, of_column) && document.ty.kind == Kind::Json
        }
        _ => is_change_of(document, of_table, of_column),
    }
}

/// What a function does at its paths, as long as it can be done in place: `None` within is removing.
fn how(name: &str) -> Option<Option<Change>> {
    match name {
        "json_set" => Some(Some(Change::Set)),
        "json_replace" => Some(Some(Change::Replace)),
        "json_remove" => Some(None),
        _ => None,
    }
}

/// The column's document, and what is done to it, from the innermost call on. `None`: the result is NULL.
///
/// # Errors
/// Of evaluating arguments; 3153: of JSON_REMOVE the path `$`.
fn steps<'r>(
    e: &'r Expr,
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
    out: &mut Vec<Step>,
) -> SqlResult<Option<Cow<'r, [u8]>>> {
    let Node::Call(call) = &e.node else {
        return Ok(match e.eval(cx, row)? {
            Value::Json(doc) => Some(doc),
            _ => None,
        });
    };
    let Some(doc) = steps(&call.args[0], cx, row, out)? else { return Ok(None) };
    let args = Args::of(e, &call.args, row);
    match how(call.name).flatten() {
        Some(change) => {
            for i in (1..args.len()).step_by(2) {
                let Some(path) = args.plain_path(i, cx)? else { return Ok(None) };
                out.push(Step::Put(change, path, args.value(i + 1, cx)?));
            }
        }
        None => {
            for i in 1..args.len() {
                let Some(path) = args.plain_path(i, cx)? else { return Ok(None) };
                if path.legs.is_empty() {
                    return Err(SqlError::of(3153, &[]));
                }
                out.push(Step::Remove(path));
            }
        }
    }
    Ok(Some(doc))
}

/// The document with all of it done in place; `None`: something does not fit.
///
/// # Errors
/// As [`memory::reserve`].
fn in_its_place(doc: &[u8], steps: &[Step]) -> SqlResult<Option<Vec<u8>>> {
    let mut doc = memory::copied(doc)?;
    let done = steps.iter().all(|step| match step {
        Step::Put(how, path, value) => in_place::replace(&mut doc, &path.legs, *how, value),
        Step::Remove(path) => in_place::remove(&mut doc, &path.legs),
    });
    Ok(done.then_some(doc))
}

evals! {
    eval_in_place(e, args, cx, row) {
        let mut list = Vec::new();
        let doc = arg!(steps(e, cx, row, &mut list));
        cx.state.worked(doc.len())?;
        if let Some(doc) = in_its_place(&doc, &list)? {
            return Ok(Value::Json(Cow::Owned(doc)));
        }
        let mut tree = node(&doc).to_tree()?;
        for step in list {
            match step {
                Step::Put(change, path, value) => tree.change(&path, change, value)?,
                Step::Remove(path) => tree.remove(&path),
            }
        }
        finished(tree)
    }
}
