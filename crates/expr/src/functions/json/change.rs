//! Changed documents.

use super::super::{Function, MANY, arg, evals, f};
use super::{Args, document, finished};
use crate::node::{EvalFn, Expr};
use crate::scope::CompileCx;
use crate::{EvalCx, Row};
use vaquita_types::json::Json;
use vaquita_types::json::edit::Change;
use vaquita_types::json::path::{Leg, Path};
use vaquita_types::{SqlError, SqlResult, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("json_set", 3, MANY, |cx, name, args| pairs(cx, name, args, eval_set)),
    f("json_insert", 3, MANY, |cx, name, args| pairs(cx, name, args, eval_insert)),
    f("json_replace", 3, MANY, |cx, name, args| pairs(cx, name, args, eval_replace)),
    f("json_array_append", 3, MANY, |cx, name, args| pairs(cx, name, args, eval_append)),
    f("json_array_insert", 3, MANY, |cx, name, args| pairs(cx, name, args, eval_array_insert)),
    f("json_remove", 2, MANY, |cx, name, args| document(cx, name, args, eval_remove)),
    f("json_merge_preserve", 2, MANY, |cx, name, args| document(cx, name, args, eval_merge)),
    f("json_merge", 2, MANY, |cx, name, args| {
        let text = "'JSON_MERGE' is deprecated and will be removed in a future release. Please use \
                    JSON_MERGE_PRESERVE/JSON_MERGE_PATCH instead";
        cx.session.warn(1287, text);
        document(cx, name, args, eval_merge)
    }),
    f("json_merge_patch", 2, MANY, |cx, name, args| document(cx, name, args, eval_patch)),
];

/// A function of a document and pairs of a path and a value.
fn pairs(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>, eval: EvalFn) -> SqlResult<Expr> {
    if args.len().is_multiple_of(2) {
        return Err(SqlError::parameter_count(name));
    }
    document(cx, name, args, eval)
}

/// Goes through the pairs; NULL if the document or a path is.
fn each_pair(
    (e, args): (&Expr, &[Expr]),
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
    mut change: impl FnMut(&mut Json, &Path, Json) -> SqlResult<()>,
) -> SqlResult<Value<'static>> {
    let of = Args::of(e, args, row);
    let mut tree = arg!(of.tree(0, cx));
    for i in (1..args.len()).step_by(2) {
        let path = arg!(of.plain_path(i, cx));
        let value = of.value(i + 1, cx)?;
        change(&mut tree, &path, value)?;
    }
    finished(tree)
}

evals! {
    eval_set(e, args, cx, row) {
        each_pair((e, args), cx, row, |tree, path, value| {
            tree.change(path, Change::Set, value)
        })
    }
    eval_insert(e, args, cx, row) {
        each_pair((e, args), cx, row, |tree, path, value| {
            tree.change(path, Change::Insert, value)
        })
    }
    eval_replace(e, args, cx, row) {
        each_pair((e, args), cx, row, |tree, path, value| {
            tree.change(path, Change::Replace, value)
        })
    }
    eval_append(e, args, cx, row) {
        each_pair((e, args), cx, row, |tree, path, value| {
            tree.append(path, value)
        })
    }
    eval_array_insert(e, args, cx, row) {
        each_pair((e, args), cx, row, |tree, path, value| {
            if !matches!(path.legs.last(), Some(Leg::Cell(_))) {
                return Err(SqlError::of(3165, &[]));
            }
            tree.insert_element(path, value)
        })
    }
    eval_remove(e, args, cx, row) {
        let of = Args::of(e, args, row);
        let mut tree = arg!(of.tree(0, cx));
        for i in 1..of.len() {
            let path = arg!(of.plain_path(i, cx));
            if path.legs.is_empty() {
                return Err(SqlError::of(3153, &[]));
            }
            tree.remove(&path);
        }
        finished(tree)
    }
    eval_merge(e, args, cx, row) {
        let of = Args::of(e, args, row);
        let mut tree = arg!(of.tree(0, cx));
        for i in 1..of.len() {
            tree = tree.merged(arg!(of.tree(i, cx)))?;
        }
        finished(tree)
    }
    // NULL stands for a document that is not known: a later one that is no object takes its place.
    eval_patch(e, args, cx, row) {
        let of = Args::of(e, args, row);
        let mut tree = of.tree(0, cx)?;
        for i in 1..of.len() {
            tree = match (tree, of.tree(i, cx)?) {
                (_, None) => None,
                (Some(tree), Some(patch)) => Some(tree.patched(patch)?),
                (None, Some(Json::Object(_))) => None,
                (None, patch) => patch,
            };
        }
        tree.map_or(Ok(Value::Null), finished)
    }
}
