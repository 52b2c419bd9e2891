//! JSON functions: of documents (parsed text or JSON values) and paths.
//!
//! | part | module |
//! |---|---|
//! | arguments: documents, values, paths | here |
//! | documents out of values, and back: JSON_ARRAY, JSON_OBJECT, JSON_QUOTE, JSON_UNQUOTE, JSON_PRETTY | `make` |
//! | questions: JSON_EXTRACT, JSON_CONTAINS, JSON_TYPE, JSON_SEARCH … | `ask`, `search` |
//! | changed documents: JSON_SET, JSON_REMOVE, JSON_MERGE_PATCH … | `change` |
//! | changes of a column's documents that leave the rest where it is | `in_place` |
//! | JSON_VALUE | `value` |
//! | schemas | `schema` |

mod ask;
mod change;
mod in_place;
mod make;
mod schema;
mod search;
mod value;

use super::Function;
use crate::build::{Collated, New, text_type};
use crate::document::{document_of, finished, in_argument, key_of, value_of};
use crate::node::{EvalFn, Expr, Node};
use crate::scope::CompileCx;
use crate::{EvalCx, Row};
use std::borrow::Cow;
use vaquita_types::json::{self, Json, binary::Node as JsonNode, path::Path};
use vaquita_types::sql_type::BINARY;
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value};

pub(super) const FAMILIES: &[&[Function]] =
    &[make::FUNCTIONS, ask::FUNCTIONS, search::FUNCTIONS, change::FUNCTIONS, schema::FUNCTIONS];

pub use in_place::change_in_place;
pub(crate) use value::{default_target, json_value, returning};

/// A function that gives a document, or NULL.
fn document(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>, eval: EvalFn) -> SqlResult<Expr> {
    Ok(New::call(name, SqlType::new(Kind::Json), args, eval).nullable().build(cx))
}

/// A function that gives text of a document.
fn text(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>, eval: EvalFn) -> SqlResult<Expr> {
    let ty = SqlType { kind: Kind::LongText, ..text_type(u64::from(u32::MAX / 4), Collated::DOCUMENT) };
    Ok(New::call(name, ty, args, eval).collated(Collated::DOCUMENT).nullable().build(cx))
}

/// `column->'path'`.
///
/// # Errors
/// Of JSON_EXTRACT.
pub(crate) fn extract(cx: &mut CompileCx<'_>, of: Expr, path: Expr, unquote: bool) -> SqlResult<Expr> {
    let found = super::call(cx, "json_extract", vec![of, path])?;
    if unquote { super::call(cx, "json_unquote", vec![found]) } else { Ok(found) }
}

/// `value MEMBER OF (array)`.
///
/// # Errors
/// None of its own.
pub(crate) fn member_of(cx: &mut CompileCx<'_>, value: Expr, array: Expr) -> SqlResult<Expr> {
    let mut e = ask::member_of(cx, value, array);
    e.info.truth = true;
    Ok(e)
}

/// Documents and paths among the arguments of a call.
struct Args<'r> {
    name: &'static str,
    list: &'r [Expr],
    row: &'r Row<'r>,
}

impl<'r> Args<'r> {
    fn of(e: &'r Expr, list: &'r [Expr], row: &'r Row<'r>) -> Args<'r> {
        let name = if let Node::Call(call) = &e.node { call.name } else { "" };
        Args { name, list, row }
    }

    fn len(&self) -> usize {
        self.list.len()
    }

    /// An argument as a document; `None` for NULL.
    ///
    /// # Errors
    /// 3141 text that is no JSON, 3144 bytes, 3146 anything else.
    fn document(&self, i: usize, cx: &mut EvalCx<'_>) -> SqlResult<Option<Cow<'r, [u8]>>> {
        document_of(&self.list[i], i + 1, self.name, cx, self.row)
    }

    /// An argument as a tree, to be changed.
    ///
    /// # Errors
    /// As [`Args::document`].
    fn tree(&self, i: usize, cx: &mut EvalCx<'_>) -> SqlResult<Option<Json>> {
        let doc = self.document(i, cx)?;
        if let Some(doc) = &doc {
            cx.state.worked(doc.len())?;
        }
        doc.map(|doc| node(&doc).to_tree()).transpose()
    }

    /// An argument as a value within a document: text is a string, whatever it says.
    ///
    /// # Errors
    /// Of evaluating it.
    fn value(&self, i: usize, cx: &mut EvalCx<'_>) -> SqlResult<Json> {
        value_of(&self.list[i], cx, self.row)
    }

    /// An argument as a path; `None` for NULL.
    ///
    /// # Errors
    /// 3143; 3144: bytes.
    fn path(&self, i: usize, cx: &mut EvalCx<'_>) -> SqlResult<Option<Path>> {
        let arg = &self.list[i];
        let v = arg.eval(cx, self.row)?;
        if v.is_null() {
            return Ok(None);
        }
        let text = v.to_text(&arg.ty);
        if matches!(v, Value::Bytes(_)) && arg.ty.collation == BINARY {
            return Err(SqlError::of(3144, &[&"binary"]));
        }
        let text = if arg.is_text() { json::in_utf8(&text, &arg.ty)? } else { text };
        Path::parse(&text).map(Some)
    }

    /// The same, without wildcards.
    ///
    /// # Errors
    /// As [`Args::path`], 3149.
    fn plain_path(&self, i: usize, cx: &mut EvalCx<'_>) -> SqlResult<Option<Path>> {
        let path = self.path(i, cx)?;
        if let Some(path) = &path {
            path.only_one()?;
        }
        Ok(path)
    }

    /// `'one'` or `'all'`: whether it is the former.
    ///
    /// # Errors
    /// 3154.
    fn is_one(&self, i: usize, cx: &mut EvalCx<'_>) -> SqlResult<Option<bool>> {
        let Some(word) = self.list[i].text(cx, self.row)? else { return Ok(None) };
        if word.eq_ignore_ascii_case(b"one") {
            return Ok(Some(true));
        }
        if word.eq_ignore_ascii_case(b"all") {
            Ok(Some(false))
        } else {
            Err(SqlError::of(3154, &[&self.name]))
        }
    }
}

/// The value of a document; what is none reads as `null`.
fn node(doc: &[u8]) -> JsonNode<'_> {
    JsonNode::of(doc).unwrap_or(JsonNode::Null)
}

/// A value within a document as a value of SQL: its own document.
fn part(node: &JsonNode<'_>) -> SqlResult<Value<'static>> {
    finished(node.to_tree()?)
}
