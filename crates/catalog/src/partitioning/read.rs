//! The clause from its syntax tree, with the rules that need no table: MySQL 5.6's, in its words.

use super::{Bound, Given, Method, PARTITIONS_MAX, Partition, Partitioned, Sub, Values};
use crate::names::same_name;
use vaquita_engine::lower::charset::Charset;
use vaquita_parser::ast::{
    self, Ident, PartitionDef, PartitionExpr, PartitionMethod, PartitionValues, TableOption,
};
use vaquita_types::{SqlError, SqlResult, Value};

/// A constant expression's value, and its collation if it is a string.
pub type Constant<'f> = &'f mut dyn FnMut(&ast::Expr<'_>) -> SqlResult<(Value<'static>, u16)>;

/// The text that a clause was read from.
#[derive(Debug, Clone, Copy)]
pub struct WhichText<'t> {
    /// The statement, or the text that is kept.
    pub text: &'t [u8],
    /// Its character set's default collation.
    pub collation: u16,
}

impl WhichText<'_> {
    fn of(self, span: ast::Span) -> String {
        let bytes = span.of(self.text);
        let charset = Charset::of_any_collation(self.collation);
        match charset.and_then(|charset| charset.decode(bytes)) {
            Some(text) => text.into_owned(),
            None => String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}

impl Partitioned {
    /// The clause of a statement, or one that is kept.
    ///
    /// # Errors
    /// 1479, 1480, 1481, 1492, 1497, 1499, 1500, 1504, 1517, 1566, 1567, 1652, 1653, 1657, 1064 it contradicts itself; errors of its constants.
    pub fn read(
        written: &ast::Partitioning<'_>,
        text: WhichText<'_>,
        constant: Constant<'_>,
    ) -> SqlResult<Partitioned> {
        let method = method_of(&written.method, text)?;
        if written.count == Some(0) {
            return Err(no_count("partitions"));
        }
        let by_one = !written.partitions.is_empty();
        if by_one && written.count.is_some_and(|n| n != written.partitions.len() as u64) {
            return Err(syntax("Wrong number of partitions defined, mismatch with previous setting"));
        }
        if !by_one && (method.is_range() || method.is_list()) {
            let kind = if method.is_range() { "RANGE" } else { "LIST" };
            return Err(SqlError::new(1492, format!("For {kind} partitions each partition must be defined")));
        }
        let mut read = Partitioned {
            sub: sub_of(written, text)?,
            partitions: Vec::new(),
            given: match (by_one, written.count) {
                (true, _) => Given::List,
                (false, Some(_)) => Given::Count,
                (false, None) => Given::Not,
            },
            method,
        };
        if read.sub.is_some() && !read.method.is_range() && !read.method.is_list() {
            return Err(not_mixed());
        }
        let count = written.count.unwrap_or(1);
        if count > PARTITIONS_MAX {
            return Err(too_many());
        }
        match by_one {
            true => read.add(written.partitions, constant)?,
            false => read.partitions.extend((0..count).map(|n| Partition::new(format!("p{n}")))),
        }
        read.settle()?;
        Ok(read)
    }

    /// Adds partitions as they are written, which have to follow those that are there.
    ///
    /// # Errors
    /// As [`Partitioned::read`].
    pub fn add(&mut self, written: &[PartitionDef<'_>], constant: Constant<'_>) -> SqlResult<()> {
        for one in written {
            let partition = self.partition_of(one, constant)?;
            self.partitions.push(partition);
        }
        Ok(())
    }

    /// Gives partitions the subpartitions that were not named, and holds the names against the rules.
    ///
    /// # Errors
    /// 1499, 1517, 1481.
    pub fn settle(&mut self) -> SqlResult<()> {
        if let Some(sub) = &self.sub {
            let named = self.partitions.iter().any(|p| !p.subpartitions.is_empty());
            for p in &mut self.partitions {
                if p.subpartitions.is_empty() && !(named && sub.given == Given::List) {
                    let name = |n| Partition {
                        data_directory: p.data_directory.clone(),
                        ..Partition::new(format!("{}sp{n}", p.name))
                    };
                    p.subpartitions = (0..sub.count).map(name).collect();
                }
            }
        }
        if self.partitions.len() as u64 * self.per_partition() as u64 > PARTITIONS_MAX {
            return Err(too_many());
        }
        self.check_names()?;
        let is_max = |p: &Partition| matches!(&p.values, Values::LessThan(b) if b[..] == [Bound::Max]);
        let (_, before) = self.partitions.split_last().ok_or_else(|| no_count("partitions"))?;
        match self.method {
            Method::Range(_) if before.iter().any(is_max) => {
                Err(SqlError::new(1481, "MAXVALUE can only be used in last partition definition"))
            }
            _ => Ok(()),
        }
    }

    fn check_names(&self) -> SqlResult<()> {
        let mut names: Vec<&str> = Vec::new();
        for (p, part) in self.parts() {
            if !std::ptr::eq(p, part) {
                names.push(&part.name);
            }
        }
        names.extend(self.partitions.iter().map(|p| p.name.as_str()));
        let mut seen: Vec<String> = Vec::with_capacity(names.len());
        for name in &names {
            if name.is_empty() || name.ends_with(' ') {
                return Err(SqlError::new(1567, "Incorrect partition name"));
            }
            if name.chars().count() > 64 {
                return Err(SqlError::new(1059, format!("Identifier name '{name}' is too long")));
            }
            seen.push(name.to_lowercase());
        }
        seen.sort_unstable();
        let twice = seen.windows(2).find(|two| two[0] == two[1]).map(|two| &two[0]);
        let Some(twice) = twice else { return Ok(()) };
        let last = names.iter().rfind(|name| same_name(name, twice)).unwrap_or(&"");
        Err(SqlError::new(1517, format!("Duplicate partition name {last}")))
    }

    fn partition_of(&self, written: &PartitionDef<'_>, constant: Constant<'_>) -> SqlResult<Partition> {
        let mut partition = Partition::new(written.name.to_string());
        partition.values = self.values_of(&partition.name, written.values, constant)?;
        options_of(written.options, &mut partition)?;
        if !written.subpartitions.is_empty() {
            let Some(sub) = &self.sub else { return Err(not_mixed()) };
            if written.subpartitions.len() as u64 != sub.count {
                return Err(syntax("Wrong number of subpartitions defined, mismatch with previous setting"));
            }
            for one in written.subpartitions {
                let mut part = Partition::new(one.name.to_string());
                part.data_directory.clone_from(&partition.data_directory);
                options_of(one.options, &mut part)?;
                partition.subpartitions.push(part);
            }
        }
        Ok(partition)
    }

    fn values_of(
        &self,
        name: &str,
        written: PartitionValues<'_>,
        constant: Constant<'_>,
    ) -> SqlResult<Values> {
        let columns = match &self.method {
            Method::RangeColumns(columns) | Method::ListColumns(columns) => Some(columns.len()),
            _ => None,
        };
        let mut bound = |written: &Option<ast::Expr<'_>>| match written {
            None => Ok(Bound::Max),
            Some(expr) => bound_of(constant(expr)?, name, columns.is_some()),
        };
        match written {
            PartitionValues::None if self.method.is_range() => Err(needs("RANGE", "LESS THAN")),
            PartitionValues::None if self.method.is_list() => Err(needs("LIST", "IN")),
            PartitionValues::None => Ok(Values::None),
            PartitionValues::LessThan(_) | PartitionValues::MaxValue if !self.method.is_range() => {
                Err(only("RANGE", "LESS THAN"))
            }
            PartitionValues::In(_) if !self.method.is_list() => Err(only("LIST", "IN")),
            PartitionValues::MaxValue => match columns {
                None | Some(1) => Ok(Values::LessThan(vec![Bound::Max])),
                Some(_) => Err(syntax(INCONSISTENT)),
            },
            PartitionValues::LessThan(row) => {
                if columns.is_none() && row.len() != 1 {
                    return Err(SqlError::new(
                        1657,
                        "Cannot have more than one value for this type of RANGE partitioning",
                    ));
                }
                check_length(row.len(), columns)?;
                let bounds = row.iter().map(&mut bound).collect::<SqlResult<Vec<_>>>()?;
                match bounds.contains(&Bound::Null) {
                    true => Err(SqlError::new(1566, "Not allowed to use NULL value in VALUES LESS THAN")),
                    false => Ok(Values::LessThan(bounds)),
                }
            }
            PartitionValues::In(rows) => {
                let mut all = Vec::with_capacity(rows.len());
                for row in rows {
                    if columns.is_none() && row.len() != 1 {
                        return Err(SqlError::new(
                            1656,
                            "Row expressions in VALUES IN only allowed for multi-field column partitioning",
                        ));
                    }
                    check_length(row.len(), columns)?;
                    let bounds = row.iter().map(&mut bound).collect::<SqlResult<Vec<_>>>()?;
                    if bounds.contains(&Bound::Max) {
                        return Err(syntax("Cannot use MAXVALUE as value in VALUES IN"));
                    }
                    all.push(bounds);
                }
                // NULL comes first as it is shown, where there is one value to each.
                if columns.is_none() {
                    all.sort_by_key(|row| row[0] != Bound::Null);
                }
                Ok(Values::In(all))
            }
        }
    }
}

const INCONSISTENT: &str = "Inconsistency in usage of column lists for partitioning";

fn check_length(given: usize, columns: Option<usize>) -> SqlResult<()> {
    match columns {
        Some(columns) if given < columns => Err(syntax(INCONSISTENT)),
        Some(columns) if given > columns => Err(SqlError::new(1653, INCONSISTENT)),
        _ => Ok(()),
    }
}

/// What the parser of MySQL says, which tells where; the place is left out here.
fn syntax(text: &str) -> SqlError {
    SqlError::new(1064, text.to_owned())
}

fn no_count(what: &str) -> SqlError {
    SqlError::new(1504, format!("Number of {what} = 0 is not an allowed value"))
}

fn too_many() -> SqlError {
    SqlError::new(1499, "Too many partitions (including subpartitions) were defined")
}

fn not_mixed() -> SqlError {
    let text =
        "It is only possible to mix RANGE/LIST partitioning with HASH/KEY partitioning for subpartitioning";
    SqlError::new(1500, text)
}

fn needs(kind: &str, values: &str) -> SqlError {
    let text = format!(
        "Syntax error: {kind} PARTITIONING requires definition of VALUES {values} for each partition"
    );
    SqlError::new(1479, text)
}

fn only(kind: &str, values: &str) -> SqlError {
    SqlError::new(1480, format!("Only {kind} PARTITIONING can use VALUES {values} in partition definition"))
}

fn method_of(written: &PartitionMethod<'_>, text: WhichText<'_>) -> SqlResult<Method> {
    let expr = |on: &PartitionExpr<'_>| text.of(on.text);
    Ok(match written {
        PartitionMethod::Hash { linear, on } => Method::Hash { linear: *linear, expr: expr(on) },
        PartitionMethod::Range(on) => Method::Range(expr(on)),
        PartitionMethod::List(on) => Method::List(expr(on)),
        PartitionMethod::RangeColumns(columns) => Method::RangeColumns(columns_of(columns)?),
        PartitionMethod::ListColumns(columns) => Method::ListColumns(columns_of(columns)?),
        PartitionMethod::Key { linear, algorithm, columns } => {
            if algorithm.is_some_and(|n| n != 1 && n != 2) {
                return Err(syntax("Unknown ALGORITHM of KEY partitioning"));
            }
            Method::Key { linear: *linear, old: *algorithm == Some(1), columns: columns_of(columns)? }
        }
    })
}

fn columns_of(written: &[Ident<'_>]) -> SqlResult<Vec<String>> {
    let columns: Vec<String> = written.iter().map(Ident::to_string).collect();
    for (at, column) in columns.iter().enumerate() {
        if columns[..at].iter().any(|other| same_name(other, column)) {
            return Err(SqlError::new(1652, format!("Duplicate partition field name '{column}'")));
        }
    }
    if columns.len() > 16 {
        return Err(SqlError::new(1655, "Too many fields in 'list of partition fields'"));
    }
    Ok(columns)
}

fn sub_of(written: &ast::Partitioning<'_>, text: WhichText<'_>) -> SqlResult<Option<Sub>> {
    let named = written.partitions.iter().find(|p| !p.subpartitions.is_empty());
    let named = named.map(|p| p.subpartitions.len() as u64);
    let Some((method, count)) = &written.sub else { return Ok(None) };
    if *count == Some(0) {
        return Err(no_count("subpartitions"));
    }
    let given = match (named, count) {
        (Some(_), _) => Given::List,
        (None, Some(_)) => Given::Count,
        (None, None) => Given::Not,
    };
    let count = count.or(named).unwrap_or(1);
    Ok(Some(Sub { method: method_of(method, text)?, count, given }))
}

fn bound_of(value: (Value<'static>, u16), partition: &str, of_column: bool) -> SqlResult<Bound> {
    match value {
        (Value::Null, _) => Ok(Bound::Null),
        (Value::Int(n), _) => Ok(Bound::Number(n.into())),
        (Value::UInt(n), _) => Ok(Bound::Number(n.into())),
        (Value::Bytes(bytes), collation) if of_column => {
            Ok(Bound::Text { collation, bytes: bytes.into_owned() })
        }
        _ if of_column => Err(SqlError::new(1654, "Partition column values of incorrect type")),
        _ => Err(SqlError::new(1697, format!("VALUES value for partition '{partition}' must have type INT"))),
    }
}

fn options_of(written: &[TableOption<'_>], partition: &mut Partition) -> SqlResult<()> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for option in written {
        match option {
            TableOption::Engine(name) if name.is("InnoDB") || name.is("INNOBASE") => {}
            TableOption::Engine(_) => {
                let text = "The mix of handlers in the partitions is not allowed in this version of MySQL";
                return Err(SqlError::new(1497, text));
            }
            TableOption::Comment(comment) => partition.comment = text(comment),
            TableOption::MaxRows(n) => partition.max_rows = *n,
            TableOption::MinRows(n) => partition.min_rows = *n,
            TableOption::Tablespace(name) => partition.tablespace = Some(name.to_string()),
            TableOption::DataDirectory(directory) => partition.data_directory = Some(text(directory)),
            // InnoDB has nothing to put there.
            TableOption::IndexDirectory(_) => {}
            _ => return Err(syntax("This option is none of partitions")),
        }
    }
    Ok(())
}

impl Partitioned {
    /// A clause that is kept.
    ///
    /// # Errors
    /// As [`Partitioned::read`]; 1105 it is none.
    pub fn of_clause(clause: &str) -> SqlResult<Partitioned> {
        let unread = || SqlError::new(1105, format!("a clause PARTITION BY that cannot be read: {clause}"));
        let text = WhichText { text: clause.as_bytes(), collation: UTF8 };
        let read = |written: &ast::Partitioning<'_>| {
            let mut constant = |e: &ast::Expr<'_>| kept_constant(e).ok_or_else(unread);
            Partitioned::read(written, text, &mut constant)
        };
        vaquita_parser::with_partitioning(clause, read).unwrap_or_else(|_| Err(unread()))
    }
}

/// The collation of kept text.
const UTF8: u16 = 45;

/// A constant as it is kept.
fn kept_constant(e: &ast::Expr<'_>) -> Option<(Value<'static>, u16)> {
    use ast::{ExprKind, Literal, UnaryOp};
    Some(match e.kind {
        ExprKind::Literal(Literal::Null) => (Value::Null, UTF8),
        ExprKind::Literal(Literal::Int(n)) => (Value::UInt(n), UTF8),
        ExprKind::Literal(Literal::String(bytes)) => (Value::Bytes(bytes.to_vec().into()), UTF8),
        ExprKind::Literal(Literal::Introduced { charset, value }) => {
            let charset = Charset::by_name(charset.as_str()?)?;
            (Value::Bytes(value.to_vec().into()), charset.default_collation())
        }
        ExprKind::Unary { op: UnaryOp::Neg, operand } => match operand.kind {
            ExprKind::Literal(Literal::Int(n)) => (Value::Int(0i64.wrapping_sub_unsigned(n)), UTF8),
            _ => return None,
        },
        _ => return None,
    })
}
