//! Queries as text: how MySQL 5.6 writes the query of a view. Every name is quoted and says its table and database, every
//! operator has its parentheses.

mod json;

use super::names::{Names, quoted};
use std::fmt::Write;
use vaquita_parser::ast::{self, ExprKind, Literal, QueryBody, SelectItem, TableRef};
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

    fn list(&mut self, exprs: &[ast::Expr<'_>]) -> SqlResult<()> {
        for (i, expr) in exprs.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.expr(expr)?;
        }
        Ok(())
    }

    fn call(&mut self, name: &str, args: &[&ast::Expr<'_>]) -> SqlResult<()> {
        self.put(name);
        self.put("(");
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.expr(arg)?;
        }
        self.put(")");
        Ok(())
    }

    fn infix(&mut self, left: &ast::Expr<'_>, op: &str, right: &ast::Expr<'_>) -> SqlResult<()> {
        self.put("(");
        self.expr(left)?;
        self.put(" ");
        self.put(op);
        self.put(" ");
        self.expr(right)?;
        self.put(")");
        Ok(())
    }

    /// `op` of operands that are of the same kind themselves: without parentheses of their own.
    fn chain(&mut self, expr: &ast::Expr<'_>, op: ast::BinaryOp, negated: bool) -> SqlResult<()> {
        match expr.kind {
            ExprKind::Binary { op: own, left, right } if own == op => {
                self.chain(left, op, negated)?;
                let word = if (op == ast::BinaryOp::And) != negated { " and " } else { " or " };
                self.put(word);
                self.chain(right, op, negated)
            }
            _ if negated => self.negated(expr),
            _ => self.expr(expr),
        }
    }

    /// What is true where the expression is false.
    fn negated(&mut self, expr: &ast::Expr<'_>) -> SqlResult<()> {
        use ast::BinaryOp as Op;
        let with = |kind| ast::Expr { kind, span: expr.span };
        match expr.kind {
            ExprKind::Binary { op: op @ (Op::And | Op::Or), .. } => {
                self.put("(");
                self.chain(expr, op, true)?;
                self.put(")");
                Ok(())
            }
            ExprKind::Binary { op, left, right } if op.is_comparison() && op != Op::NullSafeEq => {
                let op = match op {
                    Op::Eq => "<>",
                    Op::Ne => "=",
                    Op::Lt => ">=",
                    Op::Le => ">",
                    Op::Gt => "<=",
                    _ => "<",
                };
                self.infix(left, op, right)
            }
            ExprKind::InList { operand, list, negated } => {
                self.expr(&with(ExprKind::InList { operand, list, negated: !negated }))
            }
            ExprKind::Between { operand, low, high, negated } => {
                self.expr(&with(ExprKind::Between { operand, low, high, negated: !negated }))
            }
            ExprKind::Is { operand, test, negated } => {
                self.expr(&with(ExprKind::Is { operand, test, negated: !negated }))
            }
            _ => {
                self.put("(not(");
                self.expr(expr)?;
                self.put("))");
                Ok(())
            }
        }
    }

    fn not(&mut self, negated: bool, body: impl FnOnce(&mut Self) -> SqlResult<()>) -> SqlResult<()> {
        if negated {
            self.put("(not(");
        }
        body(self)?;
        if negated {
            self.put("))");
        }
        Ok(())
    }

    fn subquery(&mut self, before: &str, query: &ast::Query<'_>) -> SqlResult<()> {
        self.put(before);
        self.put("(");
        let before = std::mem::replace(&mut self.inner, true);
        self.query(query)?;
        self.inner = before;
        self.put(")");
        Ok(())
    }

    fn column(&mut self, column: &ast::ColumnRef<'_>) {
        if let Some(text) = self.names.and_then(|names| names.column(column)) {
            let text = text.to_owned();
            self.put(&text);
            return;
        }
        if let Some(schema) = column.schema
            && self.left_out.is_none_or(|out| schema.name != out.as_bytes())
        {
            self.name(schema);
            self.put(".");
        }
        if let Some(table) = column.table {
            self.name(table);
            self.put(".");
        }
        self.name(column.name);
    }

    #[allow(clippy::too_many_lines, reason = "one line for each form of an expression")]
    fn expr(&mut self, expr: &ast::Expr<'_>) -> SqlResult<()> {
        let variable = || SqlError::new(1351, "View's SELECT contains a variable or parameter");
        match expr.kind {
            ExprKind::Literal(literal) | ExprKind::Lifted { literal, .. } => self.literal(&literal)?,
            ExprKind::Param(_)
            | ExprKind::Local(_)
            | ExprKind::UserVar(_)
            | ExprKind::AssignUserVar { .. }
            | ExprKind::SystemVar(_) => return Err(variable()),
            ExprKind::Column(column) => self.column(column),
            ExprKind::Unary { op, operand } => return self.unary(op, operand),
            ExprKind::Binary { op, left, right } => return self.binary(expr, op, left, right),
            ExprKind::Is { operand, test: ast::IsTest::Null, negated: false } => {
                return self.call("isnull", &[operand]);
            }
            ExprKind::Is { operand, test, negated } => {
                self.put("(");
                self.expr(operand)?;
                let test = match test {
                    ast::IsTest::Null => "null",
                    ast::IsTest::True => "true",
                    ast::IsTest::False => "false",
                    ast::IsTest::Unknown => "unknown",
                };
                let text = format!(" is {}{test})", if negated { "not " } else { "" });
                self.put(&text);
            }
            ExprKind::InList { operand, list, negated } => {
                self.put("(");
                self.expr(operand)?;
                self.put(if negated { " not in (" } else { " in (" });
                self.list(list)?;
                self.put("))");
            }
            ExprKind::InSubquery { operand, query, negated } => {
                return self.not(negated, |p| {
                    p.expr(operand)?;
                    p.subquery(" in ", query)
                });
            }
            ExprKind::Between { operand, low, high, negated } => {
                self.put("(");
                self.expr(operand)?;
                self.put(if negated { " not between " } else { " between " });
                self.expr(low)?;
                self.put(" and ");
                self.expr(high)?;
                self.put(")");
            }
            ExprKind::Like { operand, pattern, escape, negated } => {
                return self.not(negated, |p| {
                    p.put("(");
                    p.expr(operand)?;
                    p.put(" like ");
                    p.expr(pattern)?;
                    if let Some(escape) = escape {
                        p.put(" escape ");
                        p.expr(escape)?;
                    }
                    p.put(")");
                    Ok(())
                });
            }
            ExprKind::Regexp { operand, pattern, negated } => {
                return self.not(negated, |p| p.infix(operand, "regexp", pattern));
            }
            ExprKind::Case(case) => return self.case(case),
            ExprKind::Cast { operand, to } => return self.cast(operand, to),
            ExprKind::ConvertUsing { operand, charset } => {
                self.put("convert(");
                self.expr(operand)?;
                let text = format!(" using {charset})");
                self.put(&text);
            }
            ExprKind::Collate { operand, collation } => {
                self.put("(");
                self.expr(operand)?;
                let text = format!(" collate {collation})");
                self.put(&text);
            }
            ExprKind::Call(call) => return self.function(call),
            ExprKind::Aggregate(aggregate) => return self.aggregate(aggregate),
            ExprKind::Row(list) => {
                self.put("(");
                self.list(list)?;
                self.put(")");
            }
            ExprKind::Subquery(query) => return self.subquery("", query),
            ExprKind::Exists(query) => return self.subquery("exists", query),
            ExprKind::Quantified { left, op, quantifier, query } => {
                return self.quantified(left, op, quantifier, query);
            }
            _ => return self.special(expr),
        }
        Ok(())
    }

    /// Functions that are written in ways of their own.
    fn special(&mut self, expr: &ast::Expr<'_>) -> SqlResult<()> {
        match expr.kind {
            ExprKind::Trim { side, what, from } => {
                self.put("trim(");
                match (side, what) {
                    (ast::TrimSide::Both, None) => {}
                    (ast::TrimSide::Both, Some(_)) => self.put("both "),
                    (ast::TrimSide::Leading, _) => self.put("leading "),
                    (ast::TrimSide::Trailing, _) => self.put("trailing "),
                }
                if let Some(what) = what {
                    self.expr(what)?;
                }
                if what.is_some() || side != ast::TrimSide::Both {
                    self.put(" from ");
                }
                self.expr(from)?;
                self.put(")");
            }
            ExprKind::Extract { unit, from } => {
                let text = format!("extract({} from ", unit_name(unit));
                self.put(&text);
                self.expr(from)?;
                self.put(")");
            }
            ExprKind::DateAdd { base, amount, unit, subtract } => {
                self.put("(");
                self.expr(base)?;
                self.put(if subtract { " - interval " } else { " + interval " });
                self.expr(amount)?;
                let text = format!(" {})", unit_name(unit));
                self.put(&text);
            }
            ExprKind::TimestampAdd { unit, amount, base } => {
                self.put("(");
                self.expr(base)?;
                self.put(" + interval ");
                self.expr(amount)?;
                let text = format!(" {})", unit_name(unit));
                self.put(&text);
            }
            ExprKind::TimestampDiff { unit, from, to } => {
                let text = format!("timestampdiff({},", unit_name(unit).to_uppercase());
                self.put(&text);
                self.expr(from)?;
                self.put(",");
                self.expr(to)?;
                self.put(")");
            }
            ExprKind::GetFormat { kind, standard } => {
                let kind = match kind {
                    ast::TemporalKind::Date => "DATE",
                    ast::TemporalKind::Time => "TIME",
                    ast::TemporalKind::DateTime | ast::TemporalKind::Timestamp => "DATETIME",
                };
                let text = format!("get_format({kind}, ");
                self.put(&text);
                self.expr(standard)?;
                self.put(")");
            }
            ExprKind::Char { codes, charset } => {
                self.put("char(");
                self.list(codes)?;
                if let Some(charset) = charset {
                    let text = format!(" using {charset}");
                    self.put(&text);
                }
                self.put(")");
            }
            ExprKind::WeightString(w) => {
                self.put("weight_string(");
                self.expr(&w.operand)?;
                if let Some((binary, len)) = w.cast {
                    let text = format!(" as {}({len})", if binary { "binary" } else { "char" });
                    self.put(&text);
                }
                if !w.levels.is_empty() {
                    return Err(SqlError::unsupported("WEIGHT_STRING .. LEVEL in a view"));
                }
                self.put(")");
            }
            ExprKind::Match(m) => {
                self.put("(match ");
                for (i, column) in m.columns.iter().enumerate() {
                    self.put(if i > 0 { "," } else { "" });
                    self.column(column);
                }
                self.put(" against (");
                self.expr(&m.against)?;
                self.put(match m.mode {
                    ast::MatchMode::Natural => "))",
                    ast::MatchMode::Boolean => " in boolean mode))",
                    ast::MatchMode::QueryExpansion => " with query expansion))",
                });
            }
            ExprKind::DefaultOf(column) => {
                self.put("default(");
                self.column(column);
                self.put(")");
            }
            ExprKind::InsertedValue(column) => {
                self.put("values(");
                self.column(column);
                self.put(")");
            }
            ExprKind::Default => self.put("default"),
            ExprKind::JsonValue(_) => return Err(SqlError::unsupported("JSON_VALUE in a view")),
            ExprKind::OdbcEscape { name, value } => {
                let text = format!("{{{name} ");
                self.put(&text);
                self.expr(value)?;
                self.put("}");
            }
            _ => return Err(SqlError::unsupported("this expression in a view")),
        }
        Ok(())
    }

    fn quantified(
        &mut self,
        left: &ast::Expr<'_>,
        op: ast::BinaryOp,
        quantifier: ast::Quantifier,
        query: &ast::Query<'_>,
    ) -> SqlResult<()> {
        use ast::{BinaryOp as Op, Quantifier as Q};
        let word = match (op, quantifier) {
            (Op::Eq, Q::Any) | (Op::Ne, Q::All) => {
                return self.not(op == Op::Ne, |p| {
                    p.expr(left)?;
                    p.subquery(" in ", query)
                });
            }
            (_, Q::Any) => "any",
            (_, Q::All) => "all",
        };
        self.expr(left)?;
        let text = format!(" {} {word} ", op_text(op));
        self.subquery(&text, query)
    }

    fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr<'_>) -> SqlResult<()> {
        match op {
            ast::UnaryOp::Neg => self.call("-", &[operand]),
            ast::UnaryOp::Plus => self.expr(operand),
            ast::UnaryOp::BitNot => self.call("~", &[operand]),
            ast::UnaryOp::Not => self.negated(operand),
            ast::UnaryOp::Binary => {
                self.put("cast(");
                self.expr(operand)?;
                self.put(" as char charset binary)");
                Ok(())
            }
        }
    }

    fn binary(
        &mut self,
        expr: &ast::Expr<'_>,
        op: ast::BinaryOp,
        left: &ast::Expr<'_>,
        right: &ast::Expr<'_>,
    ) -> SqlResult<()> {
        use ast::BinaryOp as Op;
        match op {
            Op::And | Op::Or => {
                self.put("(");
                self.chain(expr, op, false)?;
                self.put(")");
                Ok(())
            }
            Op::Concat => self.call("concat", &[left, right]),
            Op::SoundsLike => {
                self.put("(");
                self.call("soundex", &[left])?;
                self.put(" = ");
                self.call("soundex", &[right])?;
                self.put(")");
                Ok(())
            }
            Op::JsonExtract | Op::JsonUnquoteExtract => {
                if op == Op::JsonUnquoteExtract {
                    self.put("json_unquote(");
                }
                self.call("json_extract", &[left, right])?;
                self.put(if op == Op::JsonUnquoteExtract { ")" } else { "" });
                Ok(())
            }
            Op::MemberOf => {
                self.put("(");
                self.expr(left)?;
                self.put(" member of (");
                self.expr(right)?;
                self.put("))");
                Ok(())
            }
            _ => self.infix(left, op_text(op), right),
        }
    }

    fn case(&mut self, case: &ast::Case<'_>) -> SqlResult<()> {
        self.put("(case ");
        if let Some(operand) = case.operand {
            self.expr(operand)?;
            self.put(" ");
        }
        for branch in case.branches {
            self.put("when ");
            self.expr(&branch.when)?;
            self.put(" then ");
            self.expr(&branch.then)?;
            self.put(" ");
        }
        if let Some(otherwise) = case.otherwise {
            self.put("else ");
            self.expr(otherwise)?;
            self.put(" ");
        }
        self.put("end)");
        Ok(())
    }

    fn cast(&mut self, operand: &ast::Expr<'_>, to: ast::CastType<'_>) -> SqlResult<()> {
        use ast::CastType as To;
        let digits = |n: Option<u32>| n.map_or_else(String::new, |n| format!("({n})"));
        let text = match to {
            To::Binary(len) => format!("char{} charset binary", digits(len)),
            To::Char { len, charset } => {
                let charset = charset.map_or_else(|| "utf8".to_owned(), |c| c.to_string().to_lowercase());
                format!("char{} charset {charset}", digits(len))
            }
            To::Signed => "signed".into(),
            To::Unsigned => "unsigned".into(),
            To::Date => "date".into(),
            To::Time(decimals) => format!("time{}", digits(decimals)),
            To::DateTime(decimals) => format!("datetime{}", digits(decimals)),
            To::Decimal { precision, scale } => {
                format!("decimal({},{})", precision.unwrap_or(10), scale.unwrap_or(0))
            }
            To::Json => "json".into(),
            To::Later(name) => name.to_string().to_lowercase(),
        };
        self.put("cast(");
        self.expr(operand)?;
        let text = format!(" as {text})");
        self.put(&text);
        Ok(())
    }

    fn function(&mut self, call: &ast::Call<'_>) -> SqlResult<()> {
        if call.over.is_some() {
            return Err(SqlError::unsupported("OVER in a view"));
        }
        let lower = call.name.to_string().to_lowercase();
        if let Some(schema) = call.schema {
            self.name(schema);
            self.put(".");
            self.name(call.name);
        } else if call.taken || !vaquita_expr::is_function(&lower) {
            // A stored one.
            self.name(call.name);
        } else {
            match (lower.as_str(), call.args) {
                ("mod", [left, right]) => return self.infix(left, "%", right),
                ("date", [value]) => return self.cast(value, ast::CastType::Date),
                _ => self.put(function_name(&lower)),
            }
        }
        self.put("(");
        self.list(call.args)?;
        self.put(")");
        Ok(())
    }

    fn aggregate(&mut self, aggregate: &ast::Aggregate<'_>) -> SqlResult<()> {
        use ast::AggregateKind as A;
        if aggregate.over.is_some() {
            return Err(SqlError::unsupported("OVER in a view"));
        }
        let distinct = aggregate.distinct && !matches!(aggregate.kind, A::Min | A::Max);
        self.put(match aggregate.kind {
            A::CountStar => "count(0",
            A::Count => "count(",
            A::Sum => "sum(",
            A::Avg => "avg(",
            A::Min => "min(",
            A::Max => "max(",
            A::BitAnd => "bit_and(",
            A::BitOr => "bit_or(",
            A::BitXor => "bit_xor(",
            A::StddevPop => "std(",
            A::StddevSamp => "stddev_samp(",
            A::VarPop => "variance(",
            A::VarSamp => "var_samp(",
            A::GroupConcat => "group_concat(",
            A::JsonArrayAgg => "json_arrayagg(",
            A::JsonObjectAgg => "json_objectagg(",
            A::Grouping => "grouping(",
        });
        if distinct {
            self.put("distinct ");
        }
        self.list(aggregate.args)?;
        if aggregate.kind == A::GroupConcat {
            self.order("order by", aggregate.order_by, true)?;
            self.put(" separator ");
            self.string(aggregate.separator.unwrap_or(b","))?;
        }
        self.put(")");
        Ok(())
    }

    /// A string of the statement.
    ///
    /// # Errors
    /// 1300: there is no text for it.
    fn string(&mut self, bytes: &[u8]) -> SqlResult<()> {
        let text = (self.decode)(bytes).ok_or_else(|| {
            let digits: String = bytes.iter().take(6).map(|b| format!("{b:02X}")).collect();
            SqlError::new(1300, format!("Invalid character string in a view: '{digits}'"))
        })?;
        self.quoted(&text);
        Ok(())
    }

    fn quoted(&mut self, text: &str) {
        self.out.push('\'');
        for c in text.chars() {
            match c {
                '\'' => self.put("\\'"),
                '\\' => self.put("\\\\"),
                '\n' => self.put("\\n"),
                '\r' => self.put("\\r"),
                '\0' => self.put("\\0"),
                '\u{1a}' => self.put("\\Z"),
                c => self.out.push(c),
            }
        }
        self.out.push('\'');
    }

    fn literal(&mut self, literal: &Literal<'_>) -> SqlResult<()> {
        let hex = |out: &mut String, bytes: &[u8]| {
            out.push_str("0x");
            bytes.iter().for_each(|b| write!(out, "{b:02X}").unwrap_or_default());
        };
        match literal {
            Literal::Null => self.put("NULL"),
            Literal::Bool(on) => self.put(if *on { "1" } else { "0" }),
            Literal::Int(n) => self.put(&n.to_string()),
            Literal::Decimal(text) | Literal::Float(text) => self.put(&String::from_utf8_lossy(text)),
            Literal::String(text) => self.string(text)?,
            Literal::Introduced { charset, value } => {
                let charset = charset.to_string().to_lowercase();
                let text = format!("_{charset}");
                self.put(&text);
                // The bytes are of that character set, the text around them is not.
                match std::str::from_utf8(value) {
                    Ok(text) if text.is_ascii() || charset.starts_with("utf8") => self.quoted(text),
                    _ => {
                        self.put(" ");
                        hex(&mut self.out, value);
                    }
                }
            }
            Literal::Hex(bytes) => hex(&mut self.out, bytes),
            Literal::Bit(bytes) => {
                self.put("b'");
                let bits: String = bytes.iter().map(|b| format!("{b:08b}")).collect();
                let bits = bits.trim_start_matches('0');
                self.put(if bits.is_empty() { "0" } else { bits });
                self.put("'");
            }
            Literal::Temporal { kind, text } => {
                self.put(match kind {
                    ast::TemporalKind::Date => "DATE",
                    ast::TemporalKind::Time => "TIME",
                    ast::TemporalKind::DateTime | ast::TemporalKind::Timestamp => "TIMESTAMP",
                });
                self.string(text)?;
            }
        }
        Ok(())
    }
}

fn unit_name(unit: ast::IntervalUnit) -> &'static str {
    use ast::IntervalUnit as U;
    match unit {
        U::Microsecond => "microsecond",
        U::Second => "second",
        U::Minute => "minute",
        U::Hour => "hour",
        U::Day => "day",
        U::Week => "week",
        U::Month => "month",
        U::Quarter => "quarter",
        U::Year => "year",
        U::SecondMicrosecond => "second_microsecond",
        U::MinuteMicrosecond => "minute_microsecond",
        U::MinuteSecond => "minute_second",
        U::HourMicrosecond => "hour_microsecond",
        U::HourSecond => "hour_second",
        U::HourMinute => "hour_minute",
        U::DayMicrosecond => "day_microsecond",
        U::DaySecond => "day_second",
        U::DayMinute => "day_minute",
        U::DayHour => "day_hour",
        U::YearMonth => "year_month",
    }
}

fn op_text(op: ast::BinaryOp) -> &'static str {
    use ast::BinaryOp as Op;
    match op {
        Op::Or => "or",
        Op::Xor => "xor",
        Op::And => "and",
        Op::Eq => "=",
        Op::NullSafeEq => "<=>",
        Op::Ne => "<>",
        Op::Lt => "<",
        Op::Le => "<=",
        Op::Gt => ">",
        Op::Ge => ">=",
        Op::SoundsLike => "sounds like",
        Op::BitOr => "|",
        Op::BitAnd => "&",
        Op::ShiftLeft => "<<",
        Op::ShiftRight => ">>",
        Op::Add => "+",
        Op::Sub => "-",
        Op::Mul => "*",
        Op::Div => "/",
        Op::IntDiv => "DIV",
        Op::Mod => "%",
        Op::BitXor => "^",
        Op::Concat => "||",
        Op::JsonExtract => "->",
        Op::JsonUnquoteExtract => "->>",
        Op::MemberOf => "member of",
    }
}

/// A function's name as MySQL writes it, of a name in small letters.
fn function_name(name: &str) -> &str {
    match name {
        "substring" | "mid" => "substr",
        "lower" => "lcase",
        "upper" => "ucase",
        "power" => "pow",
        "character_length" => "char_length",
        "octet_length" => "length",
        "day" => "dayofmonth",
        "ceil" => "ceiling",
        "session_user" | "system_user" => "user",
        other => other,
    }
}
