//! What a clause PARTITION BY may be for its table: MySQL 5.6's rules, in its words.

use super::function::{Function, Level, RangeColumns, Source};
use super::{codec, columns_of, function_of, stored};
use std::cmp::Ordering;
use vaquita_catalog::partitioning::{Bound, Method, Partitioned, Values};
use vaquita_catalog::{Definition, KeyKind};
use vaquita_parser::ast::{self, BinaryOp, ExprKind, IntervalUnit, Literal, UnaryOp};
use vaquita_session::SessionState;
use vaquita_types::{Kind, SqlError, SqlResult};

/// Holds a clause against its table, and gives its function.
///
/// # Errors
/// 1054, 1486, 1488, 1491, 1493, 1495, 1502, 1503, 1506, 1563, 1564, 1654, 1659, 1757; 1235 what is not known here.
pub fn checked(table: &Definition, partitioned: &Partitioned) -> SqlResult<Function> {
    if !table.foreign_keys.is_empty() {
        let text = "Foreign key clause is not yet supported in conjunction with partitioning";
        return Err(SqlError::new(1506, text));
    }
    if table.keys.iter().any(|key| key.kind == KeyKind::FullText) {
        return Err(SqlError::new(1757, "FULLTEXT index is not supported for partitioned tables."));
    }
    let sub = partitioned.sub.as_ref().map(|sub| &sub.method);
    for method in [Some(&partitioned.method), sub].into_iter().flatten() {
        check_method(table, method)?;
    }
    check_values(table, partitioned)?;
    let function = function_of(table, partitioned)?;
    check_order(&function, partitioned)?;
    check_keys(table, function.columns())?;
    Ok(function)
}

fn not_allowed(column: &str) -> SqlError {
    SqlError::new(1659, format!("Field '{column}' is of a not allowed type for this type of partitioning"))
}

fn not_constant() -> SqlError {
    let text =
        "Constant, random or timezone-dependent expressions in (sub)partitioning function are not allowed";
    SqlError::new(1486, text)
}

fn no_function() -> SqlError {
    SqlError::new(1564, "This partition function is not allowed")
}

fn check_method(table: &Definition, method: &Method) -> SqlResult<()> {
    let (columns, by_order) = match method {
        Method::Range(text) | Method::List(text) | Method::Hash { expr: text, .. } => {
            let checked = vaquita_parser::with_expression(text, |e| check_expression(table, e, true));
            return checked.unwrap_or_else(|_| Err(no_function()));
        }
        Method::Key { columns, .. } if columns.is_empty() => (key_columns(table)?, false),
        Method::Key { columns, .. } => (columns_of(table, columns)?, false),
        Method::RangeColumns(columns) | Method::ListColumns(columns) => (columns_of(table, columns)?, true),
    };
    for at in columns {
        let column = &table.columns[at];
        let kind = column.ty.kind;
        if kind.is_blob() || kind == Kind::Json {
            return Err(SqlError::new(1502, "A BLOB field is not allowed in partition function"));
        }
        let ordered =
            kind.is_integer() || matches!(kind, Kind::Date | Kind::Time | Kind::DateTime) || kind.is_string();
        if by_order && !ordered {
            return Err(not_allowed(&column.name));
        }
    }
    Ok(())
}

/// The columns of KEY (): those of the primary key, else of the first unique key that has no NULL.
///
/// # Errors
/// 1488: there is no such key.
pub fn key_columns(table: &Definition) -> SqlResult<Vec<usize>> {
    let primary = table.keys.iter().find(|key| key.is_primary());
    let without_null = |key: &&std::sync::Arc<vaquita_catalog::KeyDefinition>| {
        let is_null = |name: &str| table.column(name).is_some_and(|at| table.columns[at].ty.nullable);
        key.is_unique() && key.parts.iter().all(|part| !is_null(&part.column) && part.prefix.is_none())
    };
    let key = primary.or_else(|| table.keys.iter().find(without_null)).ok_or_else(|| {
        SqlError::new(1488, "Field in list of fields for partition function not found in table")
    })?;
    // Of a prefix nothing says to which partition a row belongs.
    let whole: Vec<String> =
        key.parts.iter().filter(|part| part.prefix.is_none()).map(|part| part.column.clone()).collect();
    columns_of(table, &whole)
}

/// What an expression may be made of; `top`: it is the whole of it.
fn check_expression(table: &Definition, e: &ast::Expr<'_>, top: bool) -> SqlResult<()> {
    match &e.kind {
        ExprKind::Column(name) => {
            let unknown = || {
                let table = name.table.map_or(String::new(), |table| format!("{table}."));
                SqlError::new(1054, format!("Unknown column '{table}{}' in 'partition function'", name.name))
            };
            let at =
                table.column(&name.name.to_string()).filter(|_| name.table.is_none()).ok_or_else(unknown)?;
            let column = &table.columns[at];
            let is_number = column.ty.kind.is_integer() || matches!(column.ty.kind, Kind::Bit | Kind::Year);
            if (top && !is_number) || column.ty.kind == Kind::Timestamp {
                return Err(if top { not_allowed(&column.name) } else { not_constant() });
            }
            Ok(())
        }
        ExprKind::Literal(Literal::Int(_) | Literal::Decimal(_)) if top => Err(not_constant()),
        ExprKind::Literal(Literal::Int(_) | Literal::Decimal(_)) => Ok(()),
        ExprKind::Unary { op: UnaryOp::Neg | UnaryOp::Plus, operand } => {
            check_expression(table, operand, false)
        }
        ExprKind::Binary {
            op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::IntDiv | BinaryOp::Mod,
            left,
            right,
        } => {
            check_expression(table, left, false)?;
            check_expression(table, right, false)
        }
        ExprKind::Extract { unit, from } => check_temporal(table, from, extracted(*unit)?),
        ExprKind::Call(call) => check_call(table, call),
        ExprKind::UserVar(_) | ExprKind::SystemVar(_) => {
            Err(SqlError::new(1064, format!("{} near ')'", not_constant().message)))
        }
        _ => Err(no_function()),
    }
}

/// The functions that partition functions and constants of partitions may have.
pub const ALLOWED: [&str; 24] = [
    "abs",
    "ceil",
    "ceiling",
    "datediff",
    "day",
    "dayofmonth",
    "dayofweek",
    "dayofyear",
    "floor",
    "hour",
    "microsecond",
    "minute",
    "mod",
    "month",
    "quarter",
    "second",
    "time_to_sec",
    "to_days",
    "to_seconds",
    "unix_timestamp",
    "weekday",
    "year",
    "yearweek",
    "extract",
];

/// Whether an expression grows with the only column in it, and whether it may be NULL where that is not.
pub(super) fn growing(e: &ast::Expr<'_>) -> Option<bool> {
    match &e.kind {
        ExprKind::Column(_) => Some(false),
        ExprKind::Call(call) => match (call.name.to_string().to_ascii_lowercase().as_str(), call.args) {
            ("year" | "unix_timestamp", [arg]) if matches!(arg.kind, ExprKind::Column(_)) => Some(false),
            ("to_days" | "to_seconds", [arg]) if matches!(arg.kind, ExprKind::Column(_)) => Some(true),
            _ => None,
        },
        _ => None,
    }
}

/// What a function of times must be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wants {
    Date,
    Time,
    DateTime,
    Timestamp,
}

fn extracted(unit: IntervalUnit) -> SqlResult<Wants> {
    use IntervalUnit as U;
    Ok(match unit {
        U::Year | U::YearMonth | U::Quarter | U::Month | U::Day => Wants::Date,
        U::DayHour | U::DayMinute | U::DaySecond | U::DayMicrosecond => Wants::DateTime,
        U::Hour
        | U::HourMinute
        | U::HourSecond
        | U::Minute
        | U::MinuteSecond
        | U::Second
        | U::Microsecond
        | U::HourMicrosecond
        | U::MinuteMicrosecond
        | U::SecondMicrosecond => Wants::Time,
        U::Week => return Err(not_constant()),
    })
}

fn check_call(table: &Definition, call: &ast::Call<'_>) -> SqlResult<()> {
    let name = call.name.to_string().to_ascii_lowercase();
    let wants = match (name.as_str(), call.args) {
        ("abs" | "ceiling" | "ceil" | "floor", [arg]) => return check_expression(table, arg, false),
        ("mod", [left, right]) => {
            check_expression(table, left, false)?;
            return check_expression(table, right, false);
        }
        ("datediff", [from, to]) => {
            check_temporal(table, from, Wants::Date)?;
            return check_temporal(table, to, Wants::Date);
        }
        ("rand" | "now" | "curdate" | "curtime" | "sysdate" | "uuid" | "connection_id", _) => {
            return Err(SqlError::new(1064, format!("{} near ')'", not_constant().message)));
        }
        (
            "day" | "dayofmonth" | "dayofweek" | "dayofyear" | "month" | "quarter" | "to_days" | "to_seconds"
            | "weekday" | "year",
            [_],
        )
        | ("yearweek", [_] | [_, _]) => Wants::Date,
        ("hour" | "microsecond" | "minute" | "second" | "time_to_sec", [_]) => Wants::Time,
        ("unix_timestamp", [_]) => Wants::Timestamp,
        _ => return Err(no_function()),
    };
    check_temporal(table, &call.args[0], wants)
}

/// What a function of times is given: a column that has them, or a function of one, which has not.
fn check_temporal(table: &Definition, e: &ast::Expr<'_>, wants: Wants) -> SqlResult<()> {
    let ExprKind::Column(name) = &e.kind else { return Err(not_constant()) };
    let unknown = || SqlError::new(1054, format!("Unknown column '{}' in 'partition function'", name.name));
    let at = table.column(&name.name.to_string()).ok_or_else(unknown)?;
    let kind = table.columns[at].ty.kind;
    let fits = match wants {
        Wants::Date => matches!(kind, Kind::DateTime | Kind::Date),
        Wants::Time => matches!(kind, Kind::DateTime | Kind::Time),
        Wants::DateTime => kind == Kind::DateTime,
        Wants::Timestamp => kind == Kind::Timestamp,
    };
    if fits { Ok(()) } else { Err(not_constant()) }
}

/// Whether the values of partitions are those of the function, and in order.
fn check_values(table: &Definition, partitioned: &Partitioned) -> SqlResult<()> {
    let mut state = SessionState::detached()?;
    let columns = match &partitioned.method {
        Method::RangeColumns(columns) | Method::ListColumns(columns) => columns_of(table, columns)?,
        _ => Vec::new(),
    };
    for p in &partitioned.partitions {
        let rows: Vec<&[Bound]> = match &p.values {
            Values::None => Vec::new(),
            Values::LessThan(bounds) => vec![bounds],
            Values::In(rows) => rows.iter().map(|row| &row[..]).collect(),
        };
        for (at, bound) in rows.iter().flat_map(|row| columns.iter().zip(*row)) {
            if !matches!(bound, Bound::Max | Bound::Null) {
                let column = &table.columns[*at];
                stored(column, &codec(table, *at), bound, &mut state)?;
            }
        }
    }
    Ok(())
}

/// Order and domain of the values, once they are in their places.
///
/// # Errors
/// 1491, 1493, 1495, 1563.
pub fn check_order(function: &Function, partitioned: &Partitioned) -> SqlResult<()> {
    let increasing =
        || SqlError::new(1493, "VALUES LESS THAN value must be strictly increasing for each partition");
    let twice = || SqlError::new(1495, "Multiple definition of same constant in list partitioning");
    let (top, sub) = function.levels();
    for level in [Some(top), sub].into_iter().flatten() {
        if let Level::Range(source, _) | Level::List(source, _) | Level::Hash(source, ..) = level {
            check_result(source)?;
        }
    }
    match top {
        Level::Range(source, bounds) => {
            check_domain(source, bounds.iter().copied().filter(|n| *n != i128::MAX))?;
            if bounds.windows(2).any(|two| two[0] >= two[1]) { Err(increasing()) } else { Ok(()) }
        }
        Level::List(source, values) => {
            check_domain(source, values.values().iter().map(|(n, _)| *n))?;
            let nulls = partitioned.partitions.iter().map(|p| match &p.values {
                Values::In(rows) => rows.iter().filter(|row| row[..] == [Bound::Null]).count(),
                _ => 0,
            });
            let same = values.values().windows(2).any(|two| two[0].0 == two[1].0);
            if same || nulls.sum::<usize>() > 1 { Err(twice()) } else { Ok(()) }
        }
        Level::RangeColumns(range) => {
            let ordered = range.bounds.windows(2).all(|two| bounds_order(range, &two[0], &two[1]).is_lt());
            if ordered { Ok(()) } else { Err(increasing()) }
        }
        Level::ListColumns(list) => {
            let same = list.rows.windows(2).any(|two| list.same(&two[0].0, &two[1].0));
            if same { Err(twice()) } else { Ok(()) }
        }
        Level::Hash(..) | Level::Key(..) => Ok(()),
    }
}

fn bounds_order(
    range: &RangeColumns,
    a: &[super::function::StoredBound],
    b: &[super::function::StoredBound],
) -> Ordering {
    for ((at, a), b) in range.columns.iter().zip(a).zip(b) {
        let order = match (a, b) {
            (None, None) => Ordering::Equal,
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
            (Some(a), Some(b)) => vaquita_engine::lower::compare_fields(at.1, a.as_deref(), b.as_deref()),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

fn check_result(source: &Source) -> SqlResult<()> {
    let ty = source.expr().ty();
    match ty.kind.is_integer() || matches!(ty.kind, Kind::Bit | Kind::Year) {
        true => Ok(()),
        false => Err(SqlError::new(1491, "The PARTITION function returns the wrong type")),
    }
}

fn check_domain(source: &Source, mut values: impl Iterator<Item = i128>) -> SqlResult<()> {
    match source.expr().ty().unsigned && values.any(|n| n < 0) {
        true => Err(SqlError::new(1563, "Partition constant is out of partition function domain")),
        false => Ok(()),
    }
}

/// Every unique key has all columns of the function, whole.
fn check_keys(table: &Definition, columns: &[usize]) -> SqlResult<()> {
    for key in table.keys.iter().filter(|key| key.is_unique()) {
        let has = |at: &usize| {
            let name = &table.columns[*at].name;
            let is = |part: &vaquita_catalog::KeyPart| {
                part.prefix.is_none() && vaquita_catalog::same_name(&part.column, name)
            };
            key.parts.iter().any(is)
        };
        if !columns.iter().all(has) {
            let kind = if key.is_primary() { "PRIMARY KEY" } else { "UNIQUE INDEX" };
            let text = format!("A {kind} must include all columns in the table's partitioning function");
            return Err(SqlError::new(1503, text));
        }
    }
    Ok(())
}
