//! JSON_SEARCH.

use super::super::{Function, MANY, arg, evals, f};
use super::{Args, document, finished, node};
use crate::{EvalCx, Expr, Row};
use vaquita_engine::text::collation::Collation;
use vaquita_types::json::binary::Node;
use vaquita_types::json::path::{Leg, Location, Path, push_location};
use vaquita_types::json::{self, Json};
use vaquita_types::{SqlError, SqlResult, Value, memory};

pub(super) const FUNCTIONS: &[Function] =
    &[f("json_search", 3, MANY, |cx, name, args| document(cx, name, args, eval_search))];

/// The escape character of the pattern.
fn escape(of: Option<&Expr>, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Option<u32>> {
    const DEFAULT: Option<u32> = Some(b'\\' as u32);
    let Some(of) = of else { return Ok(DEFAULT) };
    let Some(text) = of.text(cx, row)? else { return Ok(DEFAULT) };
    let text = json::in_utf8(&text, of.ty())?;
    let text = String::from_utf8_lossy(&text);
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (None, _) => Ok(DEFAULT),
        (Some(c), None) => Ok(Some(c.into())),
        _ => Err(SqlError::wrong_arguments("ESCAPE")),
    }
}

evals! {
    eval_search(e, args, cx, row) {
        let of = Args::of(e, args, row);
        let doc = arg!(of.document(0, cx));
        let one = arg!(of.is_one(1, cx));
        let pattern = arg!(args[2].text(cx, row));
        let pattern = json::in_utf8(&pattern, args[2].ty())?;
        let escape = escape(args.get(3), cx, row)?;
        let mut paths = Vec::new();
        for i in 4..of.len() {
            paths.push(arg!(of.path(i, cx)));
        }
        if paths.is_empty() {
            paths.push(Path { legs: Vec::new() });
        }
        let collation = Collation::of(46).unwrap_or(Collation::BINARY);
        let root = node(&doc);
        let mut found: Vec<Location> = Vec::new();
        for mut path in paths {
            cx.state.worked(doc.len())?;
            path.legs.push(Leg::Ellipsis);
            for (place, value) in path.seek_located(root)? {
                let matches = matches!(value, Node::Text(text) if collation.like(text, &pattern, escape));
                if matches && !found.contains(&place) {
                    memory::push(&mut found, place)?;
                    if one {
                        break;
                    }
                }
            }
            if one && !found.is_empty() {
                break;
            }
        }
        let mut texts = Vec::new();
        for place in &found {
            let mut out = Vec::new();
            push_location(root, place, &mut out)?;
            memory::push(&mut texts, Json::Text(out))?;
        }
        match texts.len() {
            0 => Ok(Value::Null),
            1 => finished(texts.pop().unwrap_or(Json::Null)),
            _ => finished(Json::Array(texts)),
        }
    }
}
