//! Queries as text: how MySQL 5.6 writes the query of a view. Every name is quoted and says its table and database, every
//! operator has its parentheses.

mod expressions;
mod json;
mod literals;
mod words;

use super::names::{Names, quoted};
use vaquita_parser::ast::{self, QueryBody, SelectItem, TableRef};
use vaquita_types::{SqlError, SqlResult};

/// Writes queries.
pub struct Printer<'n> {
    /// What names stand for; without, they are written as they are.
    names: Option<&'n Names>,
    /// The database of tables that are named without one.
    database: &'n str,
    /// Tables of this database are written without it.
    left_out: Option<&'n str>,
    /// Within a subquery, whose columns need no names.
    inner: bool,
    /// What the bytes of strings mean.
    decode: &'n dyn Fn(&[u8]) -> Option<String>,
    out: String,
}

impl std::fmt::Debug for Printer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Printer")
            .field("database", &self.database)
            .field("out", &self.out)
            .finish_non_exhaustive()
    }
}

/// Strings of a text in UTF-8.
pub fn utf8(bytes: &[u8]) -> Option<String> {
    String::from_utf8(bytes.to_vec()).ok()
}

impl<'n> Printer<'n> {
    /// For a query that is made a view's: names become complete, and strings UTF-8.
    pub fn of_new(
        names: &'n Names,
        database: &'n str,
        decode: &'n dyn Fn(&[u8]) -> Option<String>,
    ) -> Printer<'n> {
        Printer { names: Some(names), database, left_out: None, inner: false, decode, out: String::new() }
    }

    /// For a test of what views may not have: what is written does not matter.
    pub fn of_test() -> Printer<'n> {
        let decode = &|_: &[u8]| Some(String::new());
        Printer { names: None, database: "", left_out: None, inner: false, decode, out: String::new() }
    }

    /// For a view's query as it is kept.
    pub fn of_kept(left_out: Option<&'n str>) -> Printer<'n> {
        Printer { names: None, database: "", left_out, inner: false, decode: &utf8, out: String::new() }
    }

    /// The text of a query.
    ///
    /// # Errors
    /// 1349, 1350, 1351: what views may not have.
    pub fn print(mut self, query: &ast::Query<'_>) -> SqlResult<String> {
        self.query(query)?;
        Ok(self.out)
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn name(&mut self, name: ast::Ident<'_>) {
        let text = quoted(&name.to_string());
        self.put(&text);
    }

    fn query(&mut self, query: &ast::Query<'_>) -> SqlResult<()> {
        let clause = |what| SqlError::new(1350, format!("View's SELECT contains a '{what}' clause"));
        if query.into.is_some() {
            return Err(clause("INTO"));
        }
        if query.procedure.is_some() {
            return Err(clause("PROCEDURE"));
        }
        if query.with.is_some() {
            return Err(SqlError::unsupported("WITH in a view"));
        }
        self.body(&query.body, false)?;
        self.order("order by", query.order_by, false)?;
        if let Some(limit) = query.limit {
            self.put(" limit ");
            if let Some(offset) = &limit.offset {
                self.expr(offset)?;
                self.put(",");
            }
            self.expr(&limit.count)?;
        }
        match query.locking.first().map(|l| l.strength) {
            Some(ast::LockStrength::Update) => self.put(" for update"),
            Some(ast::LockStrength::Share) => self.put(" lock in share mode"),
            None => {}
        }
        Ok(())
    }

    /// `distinct`: behind it comes a UNION that takes duplicates out of everything before.
    fn body(&mut self, body: &QueryBody<'_>, distinct: bool) -> SqlResult<()> {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Nested(query) => {
                self.put("(");
                self.query(query)?;
                self.put(")");
                Ok(())
            }
            QueryBody::SetOperation(op) => {
                let distinct = op.op == ast::SetOp::Union && (distinct || !op.all);
                self.body(&op.left, distinct)?;
                self.put(match (op.op, op.all) {
                    (ast::SetOp::Union, _) if distinct => " union ",
                    (ast::SetOp::Union, _) => " union all ",
                    (ast::SetOp::Intersect, false) => " intersect ",
                    (ast::SetOp::Intersect, true) => " intersect all ",
                    (ast::SetOp::Except, false) => " except ",
                    (ast::SetOp::Except, true) => " except all ",
                });
                self.body(&op.right, false)
            }
            QueryBody::Values(_) | QueryBody::Table(_) => Err(SqlError::unsupported("VALUES in a view")),
        }
    }

    fn select(&mut self, select: &ast::Select<'_>) -> SqlResult<()> {
        if !select.windows.is_empty() {
            return Err(SqlError::unsupported("WINDOW in a view"));
        }
        self.put("select ");
        let options = &select.options;
        for (on, word) in [
            (options.straight_join, "straight_join "),
            (options.high_priority, "high_priority "),
            (options.distinct, "distinct "),
            (options.sql_small_result, "sql_small_result "),
            (options.sql_big_result, "sql_big_result "),
            (options.sql_buffer_result, "sql_buffer_result "),
            (options.sql_no_cache, "sql_no_cache "),
            (options.sql_cache, "sql_cache "),
            (options.sql_calc_found_rows, "sql_calc_found_rows "),
        ] {
            if on {
                self.put(word);
            }
        }
        self.items(select)?;
        if !select.from.is_empty() {
            self.put(" from ");
            self.tables(select.from, self.names.is_none())?;
        } else if select.filter.is_some() {
            self.put(" from DUAL ");
        }
        if let Some(filter) = select.filter {
            self.put(" where ");
            self.expr(filter)?;
        }
        self.order("group by", select.group_by, false)?;
        if select.rollup {
            self.put(" with rollup");
        }
        if let Some(having) = select.having {
            self.put(" having ");
            self.expr(having)?;
        }
        Ok(())
    }

    fn items(&mut self, select: &ast::Select<'_>) -> SqlResult<()> {
        let names = self.names.map(|names| names.items_of(select)).unwrap_or_default();
        let mut at = 0;
        for (i, item) in select.items.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            match item {
                SelectItem::Expr { expr, alias, .. } => {
                    self.expr(expr)?;
                    match (names.get(at), alias) {
                        _ if self.inner => {}
                        (Some(name), _) => {
                            let text = format!(" AS {}", quoted(name));
                            self.put(&text);
                        }
                        (None, Some(alias)) => {
                            self.put(" AS ");
                            self.name(*alias);
                        }
                        (None, None) => {}
                    }
                    at += 1;
                }
                SelectItem::Wildcard | SelectItem::TableWildcard(_) => {
                    let columns = self.names.map(|names| names.star_of(select, i)).unwrap_or_default();
                    for (n, column) in columns.iter().enumerate() {
                        let name = names.get(at).cloned().unwrap_or_default();
                        let comma = if n > 0 { "," } else { "" };
                        let text = match self.inner {
                            true => format!("{comma}{column}"),
                            false => format!("{comma}{column} AS {}", quoted(&name)),
                        };
                        self.put(&text);
                        at += 1;
                    }
                }
            }
        }
        Ok(())
    }

    fn order(&mut self, words: &str, items: &[ast::OrderItem<'_>], explicit: bool) -> SqlResult<()> {
        for (i, item) in items.iter().enumerate() {
            match i {
                0 => {
                    let text = format!(" {words} ");
                    self.put(&text);
                }
                _ => self.put(","),
            }
            self.expr(&item.expr)?;
            match (item.descending, explicit) {
                (true, _) => self.put(if explicit { " DESC" } else { " desc" }),
                (false, true) => self.put(" ASC"),
                (false, false) => {}
            }
        }
        Ok(())
    }

    /// Tables of FROM: those of a list are joined from left to right.
    fn tables(&mut self, tables: &[TableRef<'_>], in_parentheses: bool) -> SqlResult<()> {
        let several = tables.len() > 1 && in_parentheses;
        if several {
            self.put("(");
        }
        for (i, table) in tables.iter().enumerate() {
            if i > 0 {
                self.put(" join ");
            }
            self.table(table)?;
        }
        if several {
            self.put(")");
        }
        Ok(())
    }

    fn table(&mut self, table: &TableRef<'_>) -> SqlResult<()> {
        match table {
            TableRef::Table(named) => self.named(named),
            TableRef::Derived(_) => {
                Err(SqlError::new(1349, "View's SELECT contains a subquery in the FROM clause"))
            }
            TableRef::Json(table) => self.json_table(table),
            TableRef::List(tables) => self.tables(tables, true),
            TableRef::Join(join) => self.join(join),
        }
    }

    fn named(&mut self, named: &ast::NamedTable<'_>) -> SqlResult<()> {
        let database = named.name.schema.map_or_else(|| self.database.to_owned(), |s| s.to_string());
        let name = named.name.name.to_string();
        if self.left_out != Some(database.as_str()) {
            let text = format!("{}.", quoted(&database));
            self.put(&text);
        }
        self.put(&quoted(&name));
        if !named.partitions.is_empty() {
            let names: Vec<String> = named.partitions.iter().map(|name| quoted(&name.to_string())).collect();
            self.put(&format!(" PARTITION ({})", names.join(",")));
        }
        if let Some(alias) = named.alias.filter(|alias| alias.name != named.name.name.name) {
            self.put(" ");
            self.name(alias);
        }
        for hint in named.hints {
            let kind = match hint.kind {
                ast::IndexHintKind::Use => "USE",
                ast::IndexHintKind::Force => "FORCE",
                ast::IndexHintKind::Ignore => "IGNORE",
            };
            let scope = match hint.scope {
                None => "",
                Some(ast::IndexHintScope::Join) => "FOR JOIN ",
                Some(ast::IndexHintScope::OrderBy) => "FOR ORDER BY ",
                Some(ast::IndexHintScope::GroupBy) => "FOR GROUP BY ",
            };
            let index = |index: &ast::Ident<'_>| match index.is("PRIMARY") {
                true => "PRIMARY".to_owned(),
                false => quoted(&index.to_string()),
            };
            let indexes: Vec<String> = hint.indexes.iter().map(index).collect();
            let text = format!(" {kind} INDEX {scope}({})", indexes.join(","));
            self.put(&text);
        }
        Ok(())
    }

    fn join(&mut self, join: &ast::Join<'_>) -> SqlResult<()> {
        // RIGHT joins are written as LEFT ones.
        let (left, right) = match join.kind {
            ast::JoinKind::Right => (&join.right, &join.left),
            _ => (&join.left, &join.right),
        };
        self.put("(");
        self.table(left)?;
        self.put(match join.kind {
            ast::JoinKind::Inner => " join ",
            ast::JoinKind::Straight => " straight_join ",
            ast::JoinKind::Left | ast::JoinKind::Right => " left join ",
        });
        self.table(right)?;
        match join.condition {
            ast::JoinCondition::None => {}
            ast::JoinCondition::On(condition) => {
                self.put(" on(");
                self.expr(&condition)?;
                self.put(")");
            }
            ast::JoinCondition::Using(_) | ast::JoinCondition::Natural => {
                let pairs = self.names.map(|names| names.pairs_of(join)).unwrap_or_default();
                let equal: Vec<String> = pairs.iter().map(|(l, r)| format!("({l} = {r})")).collect();
                match equal.len() {
                    0 => {}
                    1 => {
                        let text = format!(" on({})", equal[0]);
                        self.put(&text);
                    }
                    _ => {
                        let text = format!(" on(({}))", equal.join(" and "));
                        self.put(&text);
                    }
                }
            }
        }
        self.put(")");
        Ok(())
    }
}
