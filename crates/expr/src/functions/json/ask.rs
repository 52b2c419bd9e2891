//! What is in a document.

use super::super::{Function, MANY, arg, evals, f};
use super::{Args, document, finished, node, part, value_of};
use crate::build::{Collated, New, int_type, text_type};
use crate::node::{EvalFn, Expr};
use crate::scope::CompileCx;
use vaquita_engine::text::collation::aggregate::Derivation;
use vaquita_types::json::binary::{self, Node};
use vaquita_types::json::{self, Json, compare_nodes};
use vaquita_types::{SqlResult, Value, memory};

pub(super) const FUNCTIONS: &[Function] = &[
    f("json_valid", 1, 1, |cx, name, args| number(cx, name, 1, args, eval_valid)),
    f("json_type", 1, 1, |cx, name, args| {
        let by = Collated { collation: 45, derivation: Derivation::Implicit, ascii: true };
        Ok(New::call(name, text_type(51, by), args, eval_type).collated(by).nullable().build(cx))
    }),
    f("json_depth", 1, 1, |cx, name, args| number(cx, name, 21, args, eval_depth)),
    f("json_length", 1, 2, |cx, name, args| number(cx, name, 21, args, eval_length)),
    f("json_keys", 1, 2, |cx, name, args| document(cx, name, args, eval_keys)),
    f("json_extract", 2, MANY, |cx, name, args| document(cx, name, args, eval_extract)),
    f("json_contains", 2, 3, |cx, name, args| number(cx, name, 1, args, eval_contains)),
    f("json_contains_path", 3, MANY, |cx, name, args| number(cx, name, 1, args, eval_contains_path)),
    f("json_overlaps", 2, 2, |cx, name, args| number(cx, name, 1, args, eval_overlaps)),
];

/// More levels than documents may have.
const TOO_DEEP: u16 = 3157;

fn number(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    width: u32,
    args: Vec<Expr>,
    eval: EvalFn,
) -> SqlResult<Expr> {
    Ok(New::call(name, int_type(width), args, eval).nullable().build(cx))
}

pub(super) fn member_of(cx: &mut CompileCx<'_>, value: Expr, array: Expr) -> Expr {
    New::call("member of", int_type(1), vec![value, array], eval_member_of).nullable().build(cx)
}

fn type_name(node: &Node<'_>) -> &'static str {
    match node {
        Node::Null => "NULL",
        Node::Bool(_) => "BOOLEAN",
        Node::Int(_) => "INTEGER",
        Node::UInt(_) => "UNSIGNED INTEGER",
        Node::Double(_) => "DOUBLE",
        Node::Decimal(_) => "DECIMAL",
        Node::Text(_) => "STRING",
        Node::Array(_) => "ARRAY",
        Node::Object(_) => "OBJECT",
        Node::Opaque(10, _) => "DATE",
        Node::Opaque(11, _) => "TIME",
        Node::Opaque(7 | 12, _) => "DATETIME",
        Node::Opaque(16, _) => "BIT",
        Node::Opaque(15 | 249..=254, _) => "BLOB",
        Node::Opaque(..) => "OPAQUE",
    }
}

fn is_scalar(node: &Node<'_>) -> bool {
    !matches!(node, Node::Array(_) | Node::Object(_))
}

fn equal(a: &Node<'_>, b: &Node<'_>) -> bool {
    compare_nodes(a, b).is_eq()
}

/// Whether a candidate is contained in a target, as JSON_CONTAINS() has it.
fn contains(target: &Node<'_>, candidate: &Node<'_>) -> bool {
    match (target, candidate) {
        (Node::Array(_), Node::Array(wanted)) => wanted.elements().all(|w| contains_element(target, &w)),
        (Node::Array(_), _) => contains_element(target, candidate),
        (Node::Object(members), Node::Object(wanted)) => wanted
            .members()
            .all(|(key, value)| members.member(key).is_some_and(|member| contains(&member, &value))),
        _ => is_scalar(target) && is_scalar(candidate) && equal(target, candidate),
    }
}

fn contains_element(array: &Node<'_>, candidate: &Node<'_>) -> bool {
    let Node::Array(items) = array else { return false };
    items.elements().any(|item| contains(&item, candidate))
}

/// Whether two documents have an element or a member in common.
fn overlap(a: &Node<'_>, b: &Node<'_>) -> bool {
    match (a, b) {
        (Node::Array(x), Node::Array(y)) => x.elements().any(|x| y.elements().any(|y| equal(&x, &y))),
        (Node::Array(items), other) | (other, Node::Array(items)) => {
            items.elements().any(|item| equal(&item, other))
        }
        (Node::Object(x), Node::Object(y)) => {
            x.members().any(|(key, value)| y.member(key).is_some_and(|other| equal(&value, &other)))
        }
        _ => equal(a, b),
    }
}

evals! {
    eval_valid(e, args, cx, row) {
        let v = args[0].eval(cx, row)?;
        Ok(match &v {
            Value::Null => Value::Null,
            Value::Json(_) => Value::Int(1),
            Value::Bytes(_) | Value::Label { .. } => match json::from_value(&v, args[0].ty()) {
                Ok(_) => Value::Int(1),
                // It may be one, and nobody can tell.
                Err(e) if e.code == TOO_DEEP => return Err(e),
                Err(_) => Value::Int(0),
            },
            _ => Value::Int(0),
        })
    }
    eval_type(e, args, cx, row) {
        let doc = arg!(Args::of(e, args, row).document(0, cx));
        Ok(Value::bytes(type_name(&node(&doc)).as_bytes()))
    }
    eval_depth(e, args, cx, row) {
        let tree = arg!(Args::of(e, args, row).tree(0, cx));
        Ok(Value::Int(tree.depth() as i64))
    }
    eval_length(e, args, cx, row) {
        let of = Args::of(e, args, row);
        let doc = arg!(of.document(0, cx));
        let mut found = Some(node(&doc));
        if args.len() > 1 {
            found = arg!(of.plain_path(1, cx)).first(node(&doc))?;
        }
        Ok(found.map_or(Value::Null, |found| Value::Int(match found {
            Node::Array(c) | Node::Object(c) => c.len() as i64,
            _ => 1,
        })))
    }
    eval_keys(e, args, cx, row) {
        let of = Args::of(e, args, row);
        let doc = arg!(of.document(0, cx));
        let mut found = Some(node(&doc));
        if args.len() > 1 {
            found = arg!(of.plain_path(1, cx)).first(node(&doc))?;
        }
        match found {
            Some(Node::Object(c)) => {
                let mut keys = Vec::new();
                memory::reserve(&mut keys, c.len())?;
                for (key, _) in c.members() {
                    keys.push(Json::Text(memory::copied(key)?));
                }
                finished(Json::Array(keys))
            }
            _ => Ok(Value::Null),
        }
    }
    eval_extract(e, args, cx, row) {
        let of = Args::of(e, args, row);
        let doc = arg!(of.document(0, cx));
        if args.len() == 2 {
            let path = arg!(of.path(1, cx));
            if !path.is_many() {
                return path.first(node(&doc))?.map_or(Ok(Value::Null), |found| part(&found));
            }
        }
        let mut items = Vec::new();
        for i in 1..args.len() {
            let path = arg!(of.path(i, cx));
            cx.state.worked(doc.len())?;
            for found in path.seek(node(&doc))? {
                memory::push(&mut items, found.to_tree()?)?;
            }
        }
        if items.is_empty() { Ok(Value::Null) } else { finished(Json::Array(items)) }
    }
    eval_contains(e, args, cx, row) {
        let of = Args::of(e, args, row);
        let doc = arg!(of.document(0, cx));
        let candidate = arg!(of.document(1, cx));
        let mut target = Some(node(&doc));
        if args.len() > 2 {
            target = arg!(of.plain_path(2, cx)).first(node(&doc))?;
        }
        cx.state.worked(doc.len().saturating_add(candidate.len()))?;
        Ok(target.map_or(Value::Null, |target| Value::bool(contains(&target, &node(&candidate)))))
    }
    eval_contains_path(e, args, cx, row) {
        let of = Args::of(e, args, row);
        let doc = arg!(of.document(0, cx));
        let one = arg!(of.is_one(1, cx));
        for i in 2..args.len() {
            let path = arg!(of.path(i, cx));
            if path.first(node(&doc))?.is_some() == one {
                return Ok(Value::bool(one));
            }
        }
        Ok(Value::bool(!one))
    }
    eval_overlaps(e, args, cx, row) {
        let of = Args::of(e, args, row);
        let a = arg!(of.document(0, cx));
        let b = arg!(of.document(1, cx));
        cx.state.worked(a.len().saturating_add(b.len()))?;
        Ok(Value::bool(overlap(&node(&a), &node(&b))))
    }
    eval_member_of(e, args, cx, row) {
        if args[0].eval(cx, row)?.is_null() {
            return Ok(Value::Null);
        }
        let value = binary::encode(&value_of(&args[0], cx, row)?)?;
        let array = arg!(Args::of(e, args, row).document(1, cx));
        let value = node(&value);
        Ok(Value::bool(match node(&array) {
            Node::Array(items) => items.elements().any(|item| equal(&item, &value)),
            other => equal(&other, &value),
        }))
    }
}
