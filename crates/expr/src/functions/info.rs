//! The session and its values: CONNECTION_ID, USER, LAST_INSERT_ID, CHARSET …

use super::{Function, arg, evals, f};
use crate::build::{Collated, New, int_type, text_type};
use crate::node::{Constness, Data, EvalFn, Expr};
use crate::scope::CompileCx;
use crate::stored::programs;
use vaquita_engine::text::collation;
use vaquita_session::privilege::Priv;
use vaquita_types::sql_type::BINARY;
use vaquita_types::{Kind, SqlResult, SqlType, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    f("connection_id", 0, 0, |cx, name, args| {
        number(cx, name, SqlType { unsigned: true, ..int_type(10) }, args, eval_connection_id)
    }),
    f("database", 0, 0, |cx, name, args| text(cx, name, 34, args, eval_database, true)),
    f("schema", 0, 0, |cx, _, args| text(cx, "database", 34, args, eval_database, true)),
    f("user", 0, 0, |cx, name, args| text(cx, name, 77, args, eval_user, false)),
    f("session_user", 0, 0, |cx, _, args| text(cx, "user", 77, args, eval_user, false)),
    f("system_user", 0, 0, |cx, _, args| text(cx, "user", 77, args, eval_user, false)),
    f("current_user", 0, 0, |cx, name, args| text(cx, name, 77, args, eval_current_user, false)),
    f("current_role", 0, 0, |cx, name, args| text(cx, name, 65_535, args, eval_current_role, false)),
    f("roles_graphml", 0, 0, |cx, name, args| text(cx, name, 65_535, args, eval_roles_graphml, false)),
    f("version", 0, 0, |cx, name, args| text(cx, name, 60, args, eval_version, false)),
    f("last_insert_id", 0, 1, |cx, name, args| {
        let ty = SqlType { unsigned: true, ..int_type(21) };
        let new = New::call(name, ty, args, eval_last_insert_id).at_least(Constness::Row);
        Ok(new.build(cx))
    }),
    f("row_count", 0, 0, |cx, name, args| number(cx, name, int_type(21), args, eval_row_count)),
    f("found_rows", 0, 0, |cx, name, args| {
        number(cx, name, SqlType { unsigned: false, ..int_type(21) }, args, eval_found_rows)
    }),
    f("charset", 1, 1, |cx, name, args| property(cx, name, args, eval_charset)),
    f("collation", 1, 1, |cx, name, args| property(cx, name, args, eval_collation)),
    f("coercibility", 1, 1, |cx, name, args| {
        Ok(New::call(name, int_type(10), args, eval_coercibility).build_not_null(cx))
    }),
];

/// Text as the content of an element of XML.
fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A GraphML document of accounts and the roles that they are granted: an edge leads from a role to who has it, and says
/// whether WITH ADMIN OPTION. `None`: an empty one.
fn graph(edges: Option<&[(String, String, bool)]>) -> String {
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let Some(edges) = edges else { return out + "<graphml />\n" };
    let mut nodes: Vec<&str> = edges.iter().flat_map(|(to, role, _)| [to.as_str(), role.as_str()]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let number = |name: &str| nodes.binary_search(&name).unwrap_or_default();
    out += "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" \
            xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
            xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns \
            http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n  \
            <key id=\"key0\" for=\"edge\" attr.name=\"color\" attr.type=\"int\" />\n  \
            <key id=\"key1\" for=\"node\" attr.name=\"name\" attr.type=\"string\" />\n  \
            <graph id=\"G\" edgedefault=\"directed\">\n";
    for (n, name) in nodes.iter().enumerate() {
        out +=
            &format!("    <node id=\"n{n}\">\n      <data key=\"key1\">{}</data>\n    </node>\n", xml(name));
    }
    for (n, (to, role, admin)) in edges.iter().enumerate() {
        out += &format!(
            "    <edge id=\"e{n}\" source=\"n{}\" target=\"n{}\">\n      <data key=\"key0\">{}</data>\n    </edge>\n",
            number(role),
            number(to),
            u8::from(*admin)
        );
    }
    out + "  </graph>\n</graphml>\n"
}

fn number(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    ty: SqlType,
    args: Vec<Expr>,
    eval: EvalFn,
) -> SqlResult<Expr> {
    Ok(New::call(name, ty, args, eval).at_least(Constness::Execution).build_not_null(cx))
}

fn text(
    cx: &mut CompileCx<'_>,
    name: &'static str,
    chars: u64,
    args: Vec<Expr>,
    eval: EvalFn,
    nullable: bool,
) -> SqlResult<Expr> {
    let by = Collated::SYSTEM;
    let new = New::call(name, text_type(chars, by), args, eval).collated(by).at_least(Constness::Execution);
    Ok(if nullable { new.nullable().build_not_null(cx) } else { new.build_not_null(cx) })
}

/// CHARSET(), COLLATION(): known while compiling, whatever the argument's value.
fn property(cx: &mut CompileCx<'_>, name: &'static str, args: Vec<Expr>, eval: EvalFn) -> SqlResult<Expr> {
    let by = Collated { ascii: true, ..Collated::SYSTEM };
    let kind = args[0].ty().kind;
    // Numbers and times are binary here, though they come out as text of the connection.
    let text = kind == Kind::Null || kind.is_string() || matches!(kind, Kind::Enum | Kind::Set | Kind::Json);
    let of = if text { args[0].collated(cx).collation } else { BINARY };
    let new = New::call(name, text_type(64, by), args, eval).collated(by).data(Data::Number(of.into()));
    Ok(new.build_not_null(cx))
}

evals! {
    eval_connection_id(e, args, cx, row) {
        Ok(Value::UInt(cx.state.vars.pseudo_thread_id.unwrap_or(cx.state.connection_id.into())))
    }
    eval_database(e, args, cx, row) {
        let database = &cx.state.database;
        Ok(if database.is_empty() { Value::Null } else { Value::owned(database.clone().into_bytes()) })
    }
    eval_user(e, args, cx, row) {
        Ok(Value::owned(format!("{}@{}", cx.state.user, cx.state.host).into_bytes()))
    }
    eval_current_user(e, args, cx, row) {
        Ok(Value::owned(format!("{}@{}", cx.state.account_user, cx.state.account_host).into_bytes()))
    }
    eval_current_role(e, args, cx, row) {
        let quoted = |text: &str| format!("`{}`", text.replace('`', "``"));
        let roles = cx.state.roles.iter().map(|(user, host)| format!("{}@{}", quoted(user), quoted(host)));
        let list = roles.collect::<Vec<_>>().join(",");
        Ok(Value::owned(if list.is_empty() { "NONE".to_owned() } else { list }.into_bytes()))
    }
    // Who may not grant every role sees no graph.
    eval_roles_graphml(e, args, cx, row) {
        let edges = match cx.state.privileges.may(Priv::ROLE_ADMIN) {
            true => programs(cx).map(|programs| programs.granted_roles()),
            false => None,
        };
        Ok(Value::owned(graph(edges.as_deref()).into_bytes()))
    }
    eval_version(e, args, cx, row) {
        let version = cx.db.and_then(|db| db.globals().text("version"));
        Ok(version.map_or(Value::Null, |v| Value::owned(v.into_bytes())))
    }
    eval_last_insert_id(e, args, cx, row) {
        let Some(a) = args.first() else { return Ok(Value::UInt(cx.state.last_insert_id)) };
        let v = arg!(a.integer(cx, row)) as u64;
        cx.state.new_insert_id = Some(v);
        cx.state.last_insert_id = v;
        Ok(Value::UInt(v))
    }
    eval_row_count(e, args, cx, row) {
        Ok(Value::Int(cx.state.row_count))
    }
    eval_found_rows(e, args, cx, row) {
        Ok(Value::Int(cx.state.found_rows as i64))
    }
    eval_charset(e, args, cx, row) {
        let charset = crate::build::charset_of(e.number() as u16);
        Ok(Value::owned(charset.name.as_bytes().to_vec()))
    }
    eval_collation(e, args, cx, row) {
        let name = collation::name(e.number() as u16).unwrap_or("binary");
        Ok(Value::owned(name.as_bytes().to_vec()))
    }
    eval_coercibility(e, args, cx, row) {
        Ok(Value::Int(args[0].info().derivation as i64))
    }
}
