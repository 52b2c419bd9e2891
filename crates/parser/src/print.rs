//! Expressions as text, the way definitions keep them: every operator between parentheses, names between backticks and without
//! their table, words in small letters, strings in Unicode with an introducer. The text means the same whatever the session's
//! modes and character sets are; read again under the default mode it is the same expression.

use crate::ast::{
    BinaryOp, Call, Case, CastType, ColumnRef, Expr, ExprKind, Ident, IntervalUnit, IsTest, Literal,
    TemporalKind, TrimSide, UnaryOp, WeightString,
};
use std::fmt::Write as _;

/// What stands in the way of an expression's text: parts that are of a statement, not of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum NotPrinted {
    Subquery,
    /// An aggregate, a window function.
    Aggregate,
    /// A user or system variable.
    Variable,
    /// `?`
    Param,
    /// `MATCH`, `DEFAULT` and what else has no value of its own.
    Other,
}

/// An expression as text, and what is in it.
#[derive(Debug)]
pub struct Printed<'a> {
    /// The text.
    pub text: String,
    /// Columns as they are written, in the order of the text; one that is there twice is twice.
    pub columns: Vec<ColumnRef<'a>>,
    /// Functions that are called, in small letters, with their database if one is written. `default` and `values` are among them.
    pub functions: Vec<String>,
    /// Its value is a truth value by its form: a comparison, AND, IS NULL and the like.
    pub is_condition: bool,
}

/// The text of an expression. `unicode` decodes string literals of the statement's character set; `charset` is that of the session, which
/// CAST(.. AS CHAR) gives.
///
/// # Errors
/// It has parts that are of a statement, not of a row.
pub fn print_expression<'a>(
    e: &Expr<'a>,
    unicode: &dyn Fn(&[u8]) -> String,
    charset: &str,
) -> Result<Printed<'a>, NotPrinted> {
    let (columns, functions) = (Vec::new(), Vec::new());
    let mut printer = Printer { out: String::new(), columns, functions, unicode, charset };
    printer.expr(e)?;
    let Printer { out, columns, functions, .. } = printer;
    Ok(Printed { text: out, columns, functions, is_condition: is_condition(e) })
}

/// Whether an expression is a condition by its form.
fn is_condition(e: &Expr<'_>) -> bool {
    const FUNCTIONS: [&str; 12] = [
        "isnull",
        "is_ipv4",
        "is_ipv6",
        "is_ipv4_compat",
        "is_ipv4_mapped",
        "is_uuid",
        "json_contains",
        "json_contains_path",
        "json_overlaps",
        "json_schema_valid",
        "json_valid",
        "regexp_like",
    ];
    match &e.kind {
        ExprKind::Literal(Literal::Bool(_))
        | ExprKind::Unary { op: UnaryOp::Not, .. }
        | ExprKind::Is { .. }
        | ExprKind::InList { .. }
        | ExprKind::Between { .. }
        | ExprKind::Like { .. }
        | ExprKind::Regexp { .. } => true,
        ExprKind::Binary { op, .. } => {
            op.is_comparison()
                || matches!(
                    op,
                    BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::SoundsLike | BinaryOp::MemberOf
                )
        }
        ExprKind::Call(call) => {
            FUNCTIONS.iter().any(|name| call.name.name.eq_ignore_ascii_case(name.as_bytes()))
        }
        _ => false,
    }
}

/// A string between quotes, with escapes.
pub fn push_quoted(text: &str, out: &mut String) {
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            '\x1a' => out.push_str("\\Z"),
            c => out.push(c),
        }
    }
    out.push('\'');
}

struct Printer<'a, 'u> {
    out: String,
    columns: Vec<ColumnRef<'a>>,
    functions: Vec<String>,
    unicode: &'u dyn Fn(&[u8]) -> String,
    charset: &'u str,
}

type Done = Result<(), NotPrinted>;

impl<'a> Printer<'a, '_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn name(&mut self, name: &Ident<'_>) {
        self.out.push('`');
        self.out.push_str(&name.to_string().replace('`', "``"));
        self.out.push('`');
    }

    fn expr(&mut self, e: &Expr<'a>) -> Done {
        match &e.kind {
            ExprKind::Literal(literal) | ExprKind::Lifted { literal, .. } => self.literal(literal),
            ExprKind::Column(column) => {
                self.columns.push(**column);
                self.name(&column.name);
            }
            ExprKind::Unary { op, operand } => self.unary(*op, operand)?,
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right)?,
            ExprKind::Is { operand, test, negated } => {
                let not = if *negated { "not " } else { "" };
                let what = match test {
                    IsTest::Null | IsTest::Unknown => "null",
                    IsTest::True => "true",
                    IsTest::False => "false",
                };
                self.put("(");
                self.expr(operand)?;
                let _ = write!(self.out, " is {not}{what})");
            }
            ExprKind::InList { operand, list, negated } => self.in_list(operand, list, *negated)?,
            ExprKind::Between { operand, low, high, negated } => {
                let word = if *negated { " not between " } else { " between " };
                self.joined("(", &[operand, low], word, "")?;
                self.joined(" and ", &[high], "", ")")?;
            }
            ExprKind::Like { operand, pattern, escape, negated } => {
                self.joined("(", &[operand, pattern], if *negated { " not like " } else { " like " }, "")?;
                if let Some(escape) = escape {
                    self.joined(" escape ", &[escape], "", "")?;
                }
                self.put(")");
            }
            ExprKind::Regexp { operand, pattern, negated } => {
                let word = if *negated { " not regexp " } else { " regexp " };
                self.joined("(", &[operand, pattern], word, ")")?;
            }
            ExprKind::Case(case) => self.case(case)?,
            ExprKind::Row(list) => {
                self.put("(");
                self.list(list)?;
                self.put(")");
            }
            _ => return self.function(e),
        }
        Ok(())
    }

    /// What is written as a function.
    fn function(&mut self, e: &Expr<'a>) -> Done {
        match &e.kind {
            ExprKind::Call(call) => self.call(call),
            ExprKind::Cast { operand, to } => {
                self.joined("cast(", &[operand], "", " as ")?;
                self.cast_type(to);
                self.put(")");
                Ok(())
            }
            ExprKind::ConvertUsing { operand, charset } => {
                self.joined("convert(", &[operand], "", "")?;
                let _ = write!(self.out, " using {charset})");
                Ok(())
            }
            ExprKind::Collate { operand, collation } => {
                self.joined("(", &[operand], "", "")?;
                let _ = write!(self.out, " collate {collation})");
                Ok(())
            }
            ExprKind::Trim { side, what, from } => {
                let side = match side {
                    TrimSide::Both => "both ",
                    TrimSide::Leading => "leading ",
                    TrimSide::Trailing => "trailing ",
                };
                self.put("trim(");
                match what {
                    Some(what) => self.joined(side, &[what], "", " from ")?,
                    None if side == "both " => {}
                    None => {
                        self.put(side);
                        self.put("from ");
                    }
                }
                self.joined("", &[from], "", ")")
            }
            ExprKind::Extract { unit, from } => {
                let _ = write!(self.out, "extract({} from ", unit_name(*unit));
                self.joined("", &[from], "", ")")
            }
            ExprKind::DateAdd { base, amount, unit, subtract } => {
                let word = if *subtract { " - interval " } else { " + interval " };
                self.joined("(", &[base, amount], word, "")?;
                let _ = write!(self.out, " {})", unit_name(*unit));
                Ok(())
            }
            ExprKind::TimestampAdd { unit, amount, base } => {
                self.joined("(", &[base, amount], " + interval ", "")?;
                let _ = write!(self.out, " {})", unit_name(*unit));
                Ok(())
            }
            ExprKind::TimestampDiff { unit, from, to } => {
                let _ = write!(self.out, "timestampdiff({},", unit_name(*unit).to_uppercase());
                self.joined("", &[from, to], ",", ")")
            }
            ExprKind::GetFormat { kind, standard } => {
                let _ = write!(self.out, "get_format({},", temporal_name(*kind));
                self.joined("", &[standard], "", ")")
            }
            ExprKind::Char { codes, charset } => {
                self.put("char(");
                self.list(codes)?;
                if let Some(charset) = charset {
                    let _ = write!(self.out, " using {charset}");
                }
                self.put(")");
                Ok(())
            }
            ExprKind::WeightString(of) => self.weight_string(of),
            ExprKind::DefaultOf(column) => {
                self.functions.push("default".to_owned());
                self.columns.push(**column);
                self.put("default(");
                self.name(&column.name);
                self.put(")");
                Ok(())
            }
            ExprKind::OdbcEscape { name, value } => {
                let _ = write!(self.out, "{{{name} ");
                self.joined("", &[value], "", "}")
            }
            ExprKind::InSubquery { .. }
            | ExprKind::Subquery(_)
            | ExprKind::Exists(_)
            | ExprKind::Quantified { .. } => Err(NotPrinted::Subquery),
            ExprKind::Aggregate(_) => Err(NotPrinted::Aggregate),
            ExprKind::UserVar(_) | ExprKind::AssignUserVar { .. } | ExprKind::SystemVar(_) => {
                Err(NotPrinted::Variable)
            }
            ExprKind::Param(_) => Err(NotPrinted::Param),
            ExprKind::InsertedValue(_) => {
                self.functions.push("values".to_owned());
                Ok(())
            }
            _ => Err(NotPrinted::Other),
        }
    }

    /// Expressions with something between them, before and behind.
    fn joined(&mut self, before: &str, list: &[&Expr<'a>], between: &str, behind: &str) -> Done {
        self.put(before);
        for (i, e) in list.iter().enumerate() {
            if i > 0 {
                self.put(between);
            }
            self.expr(e)?;
        }
        self.put(behind);
        Ok(())
    }

    fn list(&mut self, list: &[Expr<'a>]) -> Done {
        for (i, e) in list.iter().enumerate() {
            if i > 0 {
                self.put(",");
            }
            self.expr(e)?;
        }
        Ok(())
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr<'a>) -> Done {
        match op {
            UnaryOp::Plus => self.expr(operand),
            UnaryOp::Neg => self.joined("-(", &[operand], "", ")"),
            UnaryOp::BitNot => self.joined("~(", &[operand], "", ")"),
            UnaryOp::Not => self.joined("(not(", &[operand], "", "))"),
            UnaryOp::Binary => self.joined("cast(", &[operand], "", " as char charset binary)"),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr<'a>, right: &Expr<'a>) -> Done {
        let word = match op {
            BinaryOp::Or | BinaryOp::And => {
                self.put("(");
                self.chain(op, left)?;
                self.put(if op == BinaryOp::Or { " or " } else { " and " });
                self.chain(op, right)?;
                self.put(")");
                return Ok(());
            }
            BinaryOp::SoundsLike => {
                self.joined("(soundex(", &[left], "", ") = soundex(")?;
                return self.joined("", &[right], "", "))");
            }
            BinaryOp::Concat => return self.joined("concat(", &[left, right], ",", ")"),
            BinaryOp::JsonExtract => return self.joined("json_extract(", &[left, right], ",", ")"),
            BinaryOp::JsonUnquoteExtract => {
                return self.joined("json_unquote(json_extract(", &[left, right], ",", "))");
            }
            BinaryOp::MemberOf => {
                self.joined("", &[left], "", " member of (")?;
                return self.joined("", &[right], "", ")");
            }
            BinaryOp::Xor => " xor ",
            BinaryOp::Eq => " = ",
            BinaryOp::NullSafeEq => " <=> ",
            BinaryOp::Ne => " <> ",
            BinaryOp::Lt => " < ",
            BinaryOp::Le => " <= ",
            BinaryOp::Gt => " > ",
            BinaryOp::Ge => " >= ",
            BinaryOp::BitOr => " | ",
            BinaryOp::BitAnd => " & ",
            BinaryOp::ShiftLeft => " << ",
            BinaryOp::ShiftRight => " >> ",
            BinaryOp::Add => " + ",
            BinaryOp::Sub => " - ",
            BinaryOp::Mul => " * ",
            BinaryOp::Div => " / ",
            BinaryOp::IntDiv => " DIV ",
            BinaryOp::Mod => " % ",
            BinaryOp::BitXor => " ^ ",
        };
        self.joined("(", &[left, right], word, ")")
    }

    /// An operand of AND or OR; one that is of the same operator needs no parentheses of its own.
    fn chain(&mut self, op: BinaryOp, e: &Expr<'a>) -> Done {
        match &e.kind {
            ExprKind::Binary { op: inner, left, right } if *inner == op => {
                self.chain(op, left)?;
                self.put(if op == BinaryOp::Or { " or " } else { " and " });
                self.chain(op, right)
            }
            _ => self.expr(e),
        }
    }

    fn in_list(&mut self, operand: &Expr<'a>, list: &[Expr<'a>], negated: bool) -> Done {
        if let [one] = list {
            return self.joined("(", &[operand, one], if negated { " <> " } else { " = " }, ")");
        }
        self.joined("(", &[operand], "", if negated { " not in (" } else { " in (" })?;
        self.list(list)?;
        self.put("))");
        Ok(())
    }

    fn case(&mut self, case: &Case<'a>) -> Done {
        self.put("(case");
        if let Some(operand) = case.operand {
            self.joined(" ", &[operand], "", "")?;
        }
        for branch in case.branches {
            self.joined(" when ", &[&branch.when, &branch.then], " then ", "")?;
        }
        if let Some(otherwise) = case.otherwise {
            self.joined(" else ", &[otherwise], "", "")?;
        }
        self.put(" end)");
        Ok(())
    }

    fn call(&mut self, call: &Call<'a>) -> Done {
        if call.over.is_some() {
            return Err(NotPrinted::Aggregate);
        }
        let name = call.name.to_string().to_lowercase();
        self.functions.push(match call.schema {
            Some(schema) => format!("{schema}.{name}"),
            None => name.clone(),
        });
        self.put(&name);
        self.put("(");
        self.list(call.args)?;
        self.put(")");
        Ok(())
    }

    fn weight_string(&mut self, of: &WeightString<'a>) -> Done {
        self.joined("weight_string(", &[&of.operand], "", "")?;
        if let Some((binary, n)) = of.cast {
            let _ = write!(self.out, " as {}({n})", if binary { "binary" } else { "char" });
        }
        for (i, level) in of.levels.iter().enumerate() {
            let _ = write!(self.out, "{} {}", if i == 0 { " level" } else { "," }, level.level);
            self.put(if level.descending { " desc" } else { "" });
            self.put(if level.reverse { " reverse" } else { "" });
        }
        self.put(")");
        Ok(())
    }

    fn cast_type(&mut self, to: &CastType<'_>) {
        let length = |n: &Option<u32>| n.map_or(String::new(), |n| format!("({n})"));
        let text = match to {
            CastType::Binary(n) => format!("char{} charset binary", length(n)),
            CastType::Char { len, charset: None } => format!("char{} charset {}", length(len), self.charset),
            CastType::Char { len, charset: Some(charset) } => {
                format!("char{} charset {charset}", length(len))
            }
            CastType::Signed => "signed".to_owned(),
            CastType::Unsigned => "unsigned".to_owned(),
            CastType::Date => "date".to_owned(),
            CastType::Time(n) => format!("time{}", length(n)),
            CastType::DateTime(n) => format!("datetime{}", length(n)),
            CastType::Decimal { precision, scale } => {
                format!("decimal({},{})", precision.unwrap_or(10), scale.unwrap_or(0))
            }
            CastType::Json => "json".to_owned(),
            CastType::Later(name) => name.to_string().to_lowercase(),
        };
        self.put(&text);
    }

    fn literal(&mut self, literal: &Literal<'_>) {
        match literal {
            Literal::Null => self.put("NULL"),
            Literal::Bool(value) => self.put(if *value { "true" } else { "false" }),
            Literal::Int(n) => {
                let _ = write!(self.out, "{n}");
            }
            Literal::Decimal(text) | Literal::Float(text) => self.put(&String::from_utf8_lossy(text)),
            Literal::String(bytes) => {
                self.put("_utf8mb4");
                push_quoted(&(self.unicode)(bytes), &mut self.out);
            }
            Literal::Introduced { charset, value } => {
                let _ = write!(self.out, "_{charset}");
                match std::str::from_utf8(value) {
                    Ok(text) if text.is_ascii() => push_quoted(text, &mut self.out),
                    _ => self.hex(value),
                }
            }
            Literal::Hex(bytes) | Literal::Bit(bytes) => self.hex(bytes),
            Literal::Temporal { kind, text } => {
                self.put(temporal_name(*kind));
                push_quoted(&(self.unicode)(text), &mut self.out);
            }
        }
    }

    fn hex(&mut self, bytes: &[u8]) {
        // As a string: 0x without digits is a name.
        self.put(" x'");
        for byte in bytes {
            let _ = write!(self.out, "{byte:02X}");
        }
        self.put("'");
    }
}

fn temporal_name(kind: TemporalKind) -> &'static str {
    match kind {
        TemporalKind::Date => "DATE",
        TemporalKind::Time => "TIME",
        TemporalKind::DateTime => "DATETIME",
        TemporalKind::Timestamp => "TIMESTAMP",
    }
}

fn unit_name(unit: IntervalUnit) -> &'static str {
    match unit {
        IntervalUnit::Microsecond => "microsecond",
        IntervalUnit::Second => "second",
        IntervalUnit::Minute => "minute",
        IntervalUnit::Hour => "hour",
        IntervalUnit::Day => "day",
        IntervalUnit::Week => "week",
        IntervalUnit::Month => "month",
        IntervalUnit::Quarter => "quarter",
        IntervalUnit::Year => "year",
        IntervalUnit::SecondMicrosecond => "second_microsecond",
        IntervalUnit::MinuteMicrosecond => "minute_microsecond",
        IntervalUnit::MinuteSecond => "minute_second",
        IntervalUnit::HourMicrosecond => "hour_microsecond",
        IntervalUnit::HourSecond => "hour_second",
        IntervalUnit::HourMinute => "hour_minute",
        IntervalUnit::DayMicrosecond => "day_microsecond",
        IntervalUnit::DaySecond => "day_second",
        IntervalUnit::DayMinute => "day_minute",
        IntervalUnit::DayHour => "day_hour",
        IntervalUnit::YearMonth => "year_month",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sql: &str) -> String {
        crate::with_expression(sql, |e| {
            print_expression(e, &|bytes| String::from_utf8_lossy(bytes).into_owned(), "latin2")
                .map(|p| p.text)
        })
        .expect("an expression")
        .expect("of a row")
    }

    #[test]
    fn printed_as_definitions_have_it() {
        for (sql, wanted) in [
            ("t.a > 0 AND b<3 && c", "((`a` > 0) and (`b` < 3) and `c`)"),
            ("NOT a = 1 or b is not null", "((not((`a` = 1))) or (`b` is not null))"),
            ("a IN (1, 'it''s\n')", "(`a` in (1,_utf8mb4'it\\'s\\n'))"),
            ("a in (1)", "(`a` = 1)"),
            ("a not between -1 and 2.50", "(`a` not between -(1) and 2.50)"),
            ("Upper(`x``y`) like 'a%' escape '|'", "(upper(`x``y`) like _utf8mb4'a%' escape _utf8mb4'|')"),
            ("case a when 1 then 'x' else null end", "(case `a` when 1 then _utf8mb4'x' else NULL end)"),
            ("cast(a as decimal)", "cast(`a` as decimal(10,0))"),
            ("cast(a as char(3))", "cast(`a` as char(3) charset latin2)"),
            ("binary a", "cast(`a` as char charset binary)"),
            ("date_add(d, interval 1 day) < date'2020-01-01'", "((`d` + interval 1 day) < DATE'2020-01-01')"),
            ("x'00ff'", " x'00FF'"),
            ("trim(leading 'x' from a)", "trim(leading _utf8mb4'x' from `a`)"),
            ("j->>'$.a'", "json_unquote(json_extract(`j`,_utf8mb4'$.a'))"),
        ] {
            let printed = text(sql);
            assert_eq!(printed, wanted, "{sql}");
            assert_eq!(text(&printed), printed, "{sql}: read again");
        }
    }

    #[test]
    fn what_is_of_a_statement_is_not_printed() {
        for (sql, why) in [
            ("(select 1) > a", NotPrinted::Subquery),
            ("a > @x", NotPrinted::Variable),
            ("@@sql_mode", NotPrinted::Variable),
            ("sum(a)", NotPrinted::Aggregate),
        ] {
            let printed = crate::with_expression(sql, |e| {
                print_expression(e, &|_| String::new(), "latin2").map(|p| p.text)
            });
            assert_eq!(printed.expect("an expression"), Err(why), "{sql}");
        }
    }
}
