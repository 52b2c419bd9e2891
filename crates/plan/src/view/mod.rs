//! Views as text: the query of a view, in which every name is complete ([`print`]), so that it means the same in every session,
//! and what can be told by looking at it. `query::view` plans it.

mod names;
pub mod print;

pub use names::{Names, quoted};

use bumpalo::Bump;
use std::cell::RefCell;
use vaquita_catalog::ObjectBody;
use vaquita_engine::lower::charset::Charset;
use vaquita_parser::ast::{self, Stmt};
use vaquita_parser::{ParseMode, parse};
use vaquita_session::vars::SessionVars;
use vaquita_types::{SqlError, SqlResult};

/// Parses a view's query.
///
/// # Errors
/// It is no query: damage, or written by another version.
pub fn parse_kept<'a>(text: &'a str, arena: &'a Bump) -> SqlResult<&'a ast::Query<'a>> {
    let mode = ParseMode { params: false, ..ParseMode::default() };
    let bad = |why: String| SqlError::new(1064, format!("the query of a view cannot be read: {why}"));
    match parse(text.as_bytes(), arena, mode).map_err(|e| bad(format!("{e:?}")))?.stmt {
        Stmt::Query(query) => Ok(query),
        _ => Err(bad(text.to_owned())),
    }
}

/// Lets a session read a view's text as it was meant: it is in UTF-8, its strings are in the `collation_connection` of whoever made
/// it. What is returned is for [`leave`].
pub fn enter(vars: &mut SessionVars, body: &ObjectBody) -> (u16, u16) {
    let client = std::mem::replace(&mut vars.character_set_client, Charset::UTF8MB4.default_collation());
    (client, std::mem::replace(&mut vars.collation_connection, body.connection_collation))
}

/// The session reads its own texts again.
pub fn leave(vars: &mut SessionVars, before: (u16, u16)) {
    (vars.character_set_client, vars.collation_connection) = before;
}

/// The SELECT that gives the columns their names: the first one.
pub fn first_select<'a>(body: &ast::QueryBody<'a>) -> Option<&'a ast::Select<'a>> {
    match body {
        ast::QueryBody::Select(select) => Some(select),
        ast::QueryBody::Nested(query) => first_select(&query.body),
        ast::QueryBody::SetOperation(op) => first_select(&op.left),
        ast::QueryBody::Values(_) | ast::QueryBody::Table(_) => None,
    }
}

/// Which columns of a SELECT have a name that nobody gave them: expressions without alias that are no columns.
pub fn unnamed(select: &ast::Select<'_>, names: &Names) -> Vec<bool> {
    let mut out = Vec::new();
    for (at, item) in select.items.iter().enumerate() {
        match item {
            ast::SelectItem::Expr { expr, alias, .. } => {
                out.push(alias.is_none() && !matches!(expr.kind, ast::ExprKind::Column(_)));
            }
            _ => out.extend(names.star_of(select, at).iter().map(|_| false)),
        }
    }
    out
}

/// Whether rows of the view are rows of its tables, so that the view can be taken apart where it is used (ALGORITHM = MERGE).
pub fn is_mergeable(query: &ast::Query<'_>) -> bool {
    let ast::QueryBody::Select(select) = query.body else { return false };
    let plain = |item: &ast::SelectItem<'_>| match item {
        ast::SelectItem::Expr { expr, .. } => !has(expr, &|kind| {
            matches!(
                kind,
                ast::ExprKind::Aggregate(_) | ast::ExprKind::Subquery(_) | ast::ExprKind::Exists(_)
            ) || matches!(kind, ast::ExprKind::InSubquery { .. } | ast::ExprKind::Quantified { .. })
                || matches!(kind, ast::ExprKind::Call(call) if call.over.is_some())
        }),
        _ => true,
    };
    !select.from.is_empty()
        && !select.options.distinct
        && select.group_by.is_empty()
        && select.having.is_none()
        && select.windows.is_empty()
        && query.limit.is_none()
        && select.items.iter().all(plain)
}

/// Whether a view's query joins tables by LEFT or RIGHT JOIN.
pub fn has_outer_join(query: &ast::Query<'_>) -> bool {
    fn is_outer(table: &ast::TableRef<'_>) -> bool {
        match table {
            ast::TableRef::Join(join) => {
                matches!(join.kind, ast::JoinKind::Left | ast::JoinKind::Right)
                    || is_outer(&join.left)
                    || is_outer(&join.right)
            }
            ast::TableRef::List(list) => list.iter().any(is_outer),
            ast::TableRef::Table(_) | ast::TableRef::Derived(_) | ast::TableRef::Json(_) => false,
        }
    }
    first_select(&query.body).is_some_and(|select| select.from.iter().any(is_outer))
}

/// Whether some part of an expression is like that; subqueries are not looked into.
pub(crate) fn has(expr: &ast::Expr<'_>, like: &dyn Fn(&ast::ExprKind<'_>) -> bool) -> bool {
    use ast::ExprKind as K;
    if like(&expr.kind) {
        return true;
    }
    let any = |list: &[ast::Expr<'_>]| list.iter().any(|e| has(e, like));
    match expr.kind {
        K::Unary { operand, .. }
        | K::Is { operand, .. }
        | K::Cast { operand, .. }
        | K::ConvertUsing { operand, .. }
        | K::Collate { operand, .. }
        | K::InSubquery { operand, .. } => has(operand, like),
        K::AssignUserVar { value, .. } | K::OdbcEscape { value, .. } => has(value, like),
        K::Binary { left, right, .. } => has(left, like) || has(right, like),
        K::InList { operand, list, .. } => has(operand, like) || any(list),
        K::Between { operand, low, high, .. } => [operand, low, high].into_iter().any(|e| has(e, like)),
        K::Like { operand, pattern, escape, .. } => {
            has(operand, like) || has(pattern, like) || escape.is_some_and(|e| has(e, like))
        }
        K::Regexp { operand, pattern, .. } => has(operand, like) || has(pattern, like),
        K::Case(case) => {
            case.operand.is_some_and(|e| has(e, like))
                || case.branches.iter().any(|b| has(&b.when, like) || has(&b.then, like))
                || case.otherwise.is_some_and(|e| has(e, like))
        }
        K::Call(call) => any(call.args),
        K::Aggregate(aggregate) => any(aggregate.args),
        K::Trim { what, from, .. } => has(from, like) || what.is_some_and(|e| has(e, like)),
        K::Extract { from, .. } => has(from, like),
        K::DateAdd { base, amount, .. } | K::TimestampAdd { base, amount, .. } => {
            has(base, like) || has(amount, like)
        }
        K::TimestampDiff { from, to, .. } => has(from, like) || has(to, like),
        K::GetFormat { standard, .. } => has(standard, like),
        K::Char { codes, .. } => any(codes),
        K::WeightString(w) => has(&w.operand, like),
        K::Match(m) => has(&m.against, like),
        K::Row(list) => any(list),
        K::Quantified { left, .. } => has(left, like),
        _ => false,
    }
}

/// Whether all tables of a view's query are in one database, as the kept text names them.
pub fn is_within(query: &ast::Query<'_>, database: &str) -> bool {
    body_is_within(&query.body, database)
}

fn body_is_within(body: &ast::QueryBody<'_>, database: &str) -> bool {
    match body {
        ast::QueryBody::Select(select) => select.from.iter().all(|t| table_is_within(t, database)),
        ast::QueryBody::Nested(query) => is_within(query, database),
        ast::QueryBody::SetOperation(op) => {
            body_is_within(&op.left, database) && body_is_within(&op.right, database)
        }
        ast::QueryBody::Values(_) | ast::QueryBody::Table(_) => true,
    }
}

fn table_is_within(table: &ast::TableRef<'_>, database: &str) -> bool {
    match table {
        ast::TableRef::Table(named) => named.name.schema.is_none_or(|s| s.name == database.as_bytes()),
        ast::TableRef::Derived(derived) => is_within(derived.query, database),
        ast::TableRef::Json(_) => true,
        ast::TableRef::Join(join) => {
            table_is_within(&join.left, database) && table_is_within(&join.right, database)
        }
        ast::TableRef::List(list) => list.iter().all(|t| table_is_within(t, database)),
    }
}

/// Tables and views that a query names, those of subqueries too, with their databases.
pub fn tables_of(query: &ast::Query<'_>, out: &RefCell<Vec<(String, String)>>) {
    tables_of_body(&query.body, out);
    query.order_by.iter().for_each(|key| tables_of_expr(&key.expr, out));
}

fn tables_of_body(body: &ast::QueryBody<'_>, out: &RefCell<Vec<(String, String)>>) {
    match body {
        ast::QueryBody::Select(select) => {
            select.from.iter().for_each(|table| tables_of_ref(table, out));
            for item in select.items {
                if let ast::SelectItem::Expr { expr, .. } = item {
                    tables_of_expr(expr, out);
                }
            }
            select.filter.iter().chain(&select.having).for_each(|e| tables_of_expr(e, out));
            select.group_by.iter().for_each(|key| tables_of_expr(&key.expr, out));
        }
        ast::QueryBody::Nested(query) => tables_of(query, out),
        ast::QueryBody::SetOperation(op) => {
            tables_of_body(&op.left, out);
            tables_of_body(&op.right, out);
        }
        ast::QueryBody::Values(_) | ast::QueryBody::Table(_) => {}
    }
}

fn tables_of_ref(table: &ast::TableRef<'_>, out: &RefCell<Vec<(String, String)>>) {
    match table {
        ast::TableRef::Table(named) => {
            let database = named.name.schema.map_or_else(String::new, |s| s.to_string());
            out.borrow_mut().push((database, named.name.name.to_string()));
        }
        ast::TableRef::Derived(derived) => tables_of(derived.query, out),
        ast::TableRef::Json(table) => tables_of_expr(&table.doc, out),
        ast::TableRef::List(list) => list.iter().for_each(|table| tables_of_ref(table, out)),
        ast::TableRef::Join(join) => {
            tables_of_ref(&join.left, out);
            tables_of_ref(&join.right, out);
            if let ast::JoinCondition::On(condition) = &join.condition {
                tables_of_expr(condition, out);
            }
        }
    }
}

fn tables_of_expr(expr: &ast::Expr<'_>, out: &RefCell<Vec<(String, String)>>) {
    has(expr, &|kind| {
        use ast::ExprKind as K;
        if let K::Subquery(query)
        | K::Exists(query)
        | K::InSubquery { query, .. }
        | K::Quantified { query, .. } = kind
        {
            tables_of(query, out);
        }
        false
    });
}
