//! Expressions as text, as messages of errors show them.

use super::node::{CmpOp, Expr, Node, SubqueryUse};
use std::fmt::Write as _;
use vaquita_types::{SqlError, SqlType, Value};

/// Stands around the number of a value that [`with_values`] puts in; in no name.
const GAP: char = '\u{1}';

/// The expression as text.
pub(super) fn of(e: &Expr) -> String {
    with_gaps(e).split(GAP).enumerate().map(|(i, piece)| if i % 2 == 0 { piece } else { "?" }).collect()
}

/// The same with gaps for parameters and lifted literals, whose values an expression does not know.
pub(super) fn with_gaps(e: &Expr) -> String {
    let mut out = String::new();
    push(e, &mut out);
    out
}

/// An error with the values that its message has gaps for.
#[cold]
pub fn with_values(error: SqlError, params: &[Value<'_>]) -> SqlError {
    fill(error, |n, message| {
        let v = params.get(n)?;
        let ty = match v {
            Value::Double(_) | Value::Float(_) => SqlType::double(),
            Value::Decimal(v) => SqlType::decimal(65, v.scale()),
            _ => SqlType::varchar(0, vaquita_types::sql_type::BINARY),
        };
        value(v, &ty, message);
        Some(())
    })
}

/// An error with the names of variables where its message has gaps for their values.
#[cold]
pub fn with_names(error: SqlError, name: impl Fn(usize) -> Option<String>) -> SqlError {
    fill(error, |n, message| {
        message.push_str(&name(n)?);
        Some(())
    })
}

/// An error whose gaps are filled; `None`: by a question mark.
fn fill(error: SqlError, mut gap: impl FnMut(usize, &mut String) -> Option<()>) -> SqlError {
    if !error.message.contains(GAP) {
        return error;
    }
    let mut message = String::new();
    for (i, piece) in error.message.split(GAP).enumerate() {
        if i % 2 == 0 {
            message.push_str(piece);
        } else if piece.parse().ok().and_then(|n| gap(n, &mut message)).is_none() {
            message.push('?');
        }
    }
    SqlError { message: message.into(), ..error }
}

impl std::fmt::Display for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&of(self))
    }
}

fn push(e: &Expr, out: &mut String) {
    match &e.node {
        Node::Const(v) => value(v, &e.ty, out),
        Node::Param(n) => {
            let _ = write!(out, "{GAP}{n}{GAP}");
        }
        Node::Column { name, .. } => out.push_str(name),
        Node::Aggregate(n) => {
            let _ = write!(out, "<aggregate {n}>");
        }
        Node::Window(n) => {
            let _ = write!(out, "<window {n}>");
        }
        Node::And(list) => infix(list, " and ", out),
        Node::Or(list) => infix(list, " or ", out),
        Node::Row(list) => infix(list, ",", out),
        Node::Not(e) => around("(not(", e, "))", out),
        Node::Compare { op, sides, .. } => infix(&sides[..], symbol(*op), out),
        Node::Between { negated, args, .. } => {
            out.push('(');
            push(&args[0], out);
            out.push_str(if *negated { " not between " } else { " between " });
            push(&args[1], out);
            out.push_str(" and ");
            push(&args[2], out);
            out.push(')');
        }
        Node::In(list) => {
            out.push('(');
            push(&list.operand, out);
            out.push_str(if list.negated { " not in " } else { " in " });
            infix(&list.list, ",", out);
            out.push(')');
        }
        Node::IsNull { operand, negated } => {
            around("(", operand, if *negated { " is not null)" } else { " is null)" }, out);
        }
        Node::Like(like) => {
            out.push('(');
            push(&like.args[0], out);
            out.push_str(if like.negated { " not like " } else { " like " });
            push(&like.args[1], out);
            out.push(')');
        }
        Node::Subquery(sub) => out.push_str(match sub.usage {
            SubqueryUse::Exists => "exists(<subquery>)",
            _ => "(<subquery>)",
        }),
        // A user variable and an assignment, as 5.6 writes them; a system variable has no text there.
        Node::Call(call) if call.name == "@" => {
            let _ = write!(out, "(@`{}`)", String::from_utf8_lossy(e.call_bytes()));
        }
        Node::Call(call) if call.name == ":=" => {
            let _ = write!(out, "(@{}:=", String::from_utf8_lossy(e.call_bytes()));
            call.args.iter().for_each(|e| push(e, out));
            out.push(')');
        }
        Node::Call(call) if call.name == "@@" => {}
        Node::Call(call) => {
            let is_name = call.name.starts_with(|c: char| c.is_ascii_alphabetic());
            match (&call.args[..], is_name) {
                // A number with its sign.
                ([a], false) if call.name == "-" && matches!(a.node, Node::Param(_)) => {
                    around("-(", a, ")", out)
                }
                ([a], false) => around(call.name, a, "", out),
                ([_, _], false) | ([_, _], true) if !is_name || call.name == "DIV" => {
                    infix(&call.args, &format!(" {} ", call.name), out);
                }
                _ => {
                    out.push_str(call.name);
                    if call.args.is_empty() { out.push_str("()") } else { infix(&call.args, ",", out) }
                }
            }
        }
    }
}

fn around(before: &str, e: &Expr, after: &str, out: &mut String) {
    out.push_str(before);
    push(e, out);
    out.push_str(after);
}

fn infix(list: &[Expr], operator: &str, out: &mut String) {
    out.push('(');
    for (i, e) in list.iter().enumerate() {
        if i > 0 {
            out.push_str(operator);
        }
        push(e, out);
    }
    out.push(')');
}

fn symbol(op: CmpOp) -> &'static str {
    match op {
        CmpOp::Eq => " = ",
        CmpOp::NullSafeEq => " <=> ",
        CmpOp::Ne => " <> ",
        CmpOp::Lt => " < ",
        CmpOp::Le => " <= ",
        CmpOp::Gt => " > ",
        CmpOp::Ge => " >= ",
    }
}

fn value(v: &Value<'_>, ty: &SqlType, out: &mut String) {
    match v {
        Value::Null => out.push_str("NULL"),
        // The sign is an operator in a text.
        Value::Int(n) if *n < 0 => {
            let _ = write!(out, "-({})", n.unsigned_abs());
        }
        Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Float(_) | Value::Decimal(_) => {
            out.push_str(&String::from_utf8_lossy(&v.to_text(ty)));
        }
        Value::Bit { .. } => {
            let text = v.to_text(ty);
            out.push_str("0x");
            for b in text.iter() {
                let _ = write!(out, "{b:02x}");
            }
        }
        _ => {
            out.push('\'');
            out.push_str(&String::from_utf8_lossy(&v.to_text(ty)));
            out.push('\'');
        }
    }
}

/// Error 1690.
#[cold]
pub(super) fn out_of_range(what: &str, e: &Expr) -> SqlError {
    SqlError::new(1690, format!("{what} value is out of range in '{}'", with_gaps(e)))
}
