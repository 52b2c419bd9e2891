//! Documents out of values, and their text.

use super::super::{Function, MANY, arg, evals, f};
use super::{Args, document, finished, in_argument, key_of, node, text, value_of};
use crate::build::{New, int_type};
use vaquita_types::json::{self, Json};
use vaquita_types::{Kind, SqlError, SqlType, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("json_array", 0, MANY, |cx, name, args| document(cx, name, args, eval_array).map(never_null)),
    f("json_object", 0, MANY, |cx, name, args| {
        if args.len() % 2 == 1 {
            return Err(SqlError::parameter_count(name));
        }
        document(cx, name, args, eval_object).map(never_null)
    }),
    f("json_quote", 1, 1, |cx, name, args| {
        if !args[0].is_text() && args[0].ty().kind != Kind::Null || args[0].ty().kind == Kind::Json {
            return Err(SqlError::new(3064, "Incorrect type for argument 1 in function json_quote."));
        }
        text(cx, name, args, eval_quote)
    }),
    f("json_unquote", 1, 1, |cx, name, args| {
        if !args[0].is_text() && args[0].ty().kind != Kind::Null {
            return Err(SqlError::new(3064, "Incorrect type for argument 1 in function json_unquote."));
        }
        text(cx, name, args, eval_unquote)
    }),
    f("json_pretty", 1, 1, |cx, name, args| text(cx, name, args, eval_pretty)),
    f("json_storage_size", 1, 1, |cx, name, args| {
        Ok(New::call(name, int_type(21), args, eval_size).nullable().build(cx))
    }),
    f("json_storage_free", 1, 1, |cx, name, args| {
        Ok(New::call(name, int_type(21), args, eval_free).nullable().build(cx))
    }),
];

/// A function that gives a document for NULLs, too.
fn never_null(mut e: crate::Expr) -> crate::Expr {
    e.ty = SqlType { nullable: false, ..e.ty };
    e
}

evals! {
    eval_array(e, args, cx, row) {
        let mut items = Vec::with_capacity(args.len());
        for arg in args {
            items.push(value_of(arg, cx, row)?);
        }
        finished(Json::Array(items))
    }
    eval_object(e, args, cx, row) {
        let mut members = Vec::with_capacity(args.len() / 2);
        for pair in args.chunks_exact(2) {
            let key = key_of(&pair[0], cx, row)?;
            members.push((key, value_of(&pair[1], cx, row)?));
        }
        finished(Json::object(members)?)
    }
    eval_quote(e, args, cx, row) {
        let text = arg!(args[0].text(cx, row));
        let mut out = Vec::new();
        json::push_quoted(&json::in_utf8(&text, args[0].ty())?, &mut out)?;
        Ok(Value::owned(out))
    }
    eval_unquote(e, args, cx, row) {
        let v = args[0].eval(cx, row)?;
        Ok(match v {
            Value::Null => Value::Null,
            Value::Json(doc) => {
                let mut out = Vec::new();
                json::push_unquoted(&node(&doc), &mut out)?;
                Value::owned(out)
            }
            v => {
                let text = v.to_text(args[0].ty());
                let text = json::in_utf8(&text, args[0].ty())?;
                match &*text {
                    [b'"', .., b'"'] => match json::parse::parse(&text) {
                        Ok(Json::Text(text)) => Value::owned(text),
                        Ok(_) => Value::owned(text.into_owned()),
                        Err(e) => return Err(in_argument(e, 1, "json_unquote")),
                    },
                    _ => Value::owned(text.into_owned()),
                }
            }
        })
    }
    eval_pretty(e, args, cx, row) {
        let doc = arg!(Args::of(e, args, row).document(0, cx));
        let mut out = Vec::new();
        json::push_pretty(&doc, &mut out)?;
        Ok(Value::owned(out))
    }
    eval_size(e, args, cx, row) {
        let doc = arg!(Args::of(e, args, row).document(0, cx));
        Ok(Value::Int(doc.len() as i64))
    }
    eval_free(e, args, cx, row) {
        let doc = arg!(Args::of(e, args, row).document(0, cx));
        Ok(Value::Int(json::in_place::free_bytes(&doc) as i64))
    }
}
