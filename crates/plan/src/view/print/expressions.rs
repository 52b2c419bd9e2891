//! Expressions: every operator has its parentheses.

use super::Printer;
use super::words::{function_name, op_text, unit_name};
use vaquita_parser::ast::{self, ExprKind};
use vaquita_types::{SqlError, SqlResult};

impl Printer<'_> {
    pub(super) fn list(&mut self, exprs: &[ast::Expr<'_>]) -> SqlResult<()> {
        for (i, expr) in exprs.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.expr(expr)?;
        }
        Ok(())
    }

    pub(super) fn call(&mut self, name: &str, args: &[&ast::Expr<'_>]) -> SqlResult<()> {
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

    pub(super) fn infix(&mut self, left: &ast::Expr<'_>, op: &str, right: &ast::Expr<'_>) -> SqlResult<()> {
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
    pub(super) fn chain(&mut self, expr: &ast::Expr<'_>, op: ast::BinaryOp, negated: bool) -> SqlResult<()> {
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
    pub(super) fn negated(&mut self, expr: &ast::Expr<'_>) -> SqlResult<()> {
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

    pub(super) fn not(
        &mut self,
        negated: bool,
        body: impl FnOnce(&mut Self) -> SqlResult<()>,
    ) -> SqlResult<()> {
        if negated {
            self.put("(not(");
        }
        body(self)?;
        if negated {
            self.put("))");
        }
        Ok(())
    }

    pub(super) fn subquery(&mut self, before: &str, query: &ast::Query<'_>) -> SqlResult<()> {
        self.put(before);
        self.put("(");
        let before = std::mem::replace(&mut self.inner, true);
        self.query(query)?;
        self.inner = before;
        self.put(")");
        Ok(())
    }

    pub(super) fn column(&mut self, column: &ast::ColumnRef<'_>) {
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
    pub(super) fn expr(&mut self, expr: &ast::Expr<'_>) -> SqlResult<()> {
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
    pub(super) fn special(&mut self, expr: &ast::Expr<'_>) -> SqlResult<()> {
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

    pub(super) fn quantified(
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

    pub(super) fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr<'_>) -> SqlResult<()> {
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

    pub(super) fn binary(
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

    pub(super) fn case(&mut self, case: &ast::Case<'_>) -> SqlResult<()> {
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

    pub(super) fn cast(&mut self, operand: &ast::Expr<'_>, to: ast::CastType<'_>) -> SqlResult<()> {
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

    pub(super) fn function(&mut self, call: &ast::Call<'_>) -> SqlResult<()> {
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

    pub(super) fn aggregate(&mut self, aggregate: &ast::Aggregate<'_>) -> SqlResult<()> {
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
}
