//! ALTER TABLE by writing the rows anew: row by row into a table that nobody else uses meanwhile, or, where nothing has to be counted
//! on the way, beside readers and writers ([`rebuild_beside`]).

use super::numbers::{Asking, Numbers, exhausted};
use crate::statement::StmtCx;
use smallvec::SmallVec;
use std::sync::Arc;
use vaquita_catalog::error;
use vaquita_catalog::{ColumnDefinition, Definition, KeyPart, TableInfo, engine_name, file_name};
use vaquita_engine::fulltext::doc_id_key;
use vaquita_engine::table::DefaultValue;
use vaquita_engine::{
    Concurrency, ConvertRow, Error, Field, KeptKeys, Numbered, ReadOptions, Statement, Table, TableSpec,
};
use vaquita_exec::dml::complete_row;
use vaquita_expr::{CompileCx, EvalCx};
use vaquita_plan::TableRules;
use vaquita_session::{SessionState, Shared};
use vaquita_types::convert::store::{StoreMode, store};
use vaquita_types::temporal::DateContext;
use vaquita_types::{ColumnType, Cx, Kind, SqlError, SqlMode, SqlResult, SqlType, Value, Warnings};

/// Why rows could not be copied.
enum Failure {
    Sql(SqlError),
    Engine(Error),
    /// The table is not the one the definition was made from.
    Stale,
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Engine(e)
    }
}

impl From<SqlError> for Failure {
    fn from(e: SqlError) -> Failure {
        Failure::Sql(e)
    }
}

/// What became of it.
pub(super) enum Copied {
    /// So many rows are in the new table, so many were left out as duplicates.
    Done { rows: u64, duplicates: u64 },
    /// Somebody else changed the table first: make the definition anew.
    Stale,
}

/// How a column of the new table gets its values.
pub(super) enum Source {
    /// As they are stored.
    Same(usize),
    /// Converted.
    Converted(usize),
    /// One value for all rows.
    Constant(Option<Box<[u8]>>),
}

/// Writes the table anew under `definition`. Others read it meanwhile, if `beside` lets them.
///
/// # Errors
/// Values that do not fit, duplicates, definitions that cannot be, metadata locks.
pub(super) fn rebuild(
    cx: &mut StmtCx<'_>,
    old: &TableInfo,
    definition: &Definition,
    without: &[String],
    beside: Concurrency,
    ignore: bool,
    as_copy: bool,
) -> SqlResult<Copied> {
    let (name, spec) = names_and_spec(cx, old, definition, as_copy)?;
    let renamed = renamed(&old.definition, definition);
    let keys = KeptKeys { without, renamed: &renamed };
    let StmtCx { db, engine, state } = cx;
    let shared: &Shared = (*db).as_ref();
    let done = engine.rebuild_table(&name, &spec, keys, beside, |statement, from, to| {
        let mut rows = Rows::of(old, from, to, definition, shared, state, ignore)?;
        rows.copy(statement, from, to, state)?;
        Ok(Copied::Done { rows: rows.copied, duplicates: rows.duplicates })
    });
    copied(done, definition)
}

/// The same while others read and change the rows, as `beside` says; see [`lets_write`]. `as_copy`: what goes wrong is told as of
/// ALGORITHM=COPY.
///
/// # Errors
/// As [`rebuild`].
pub(super) fn rebuild_beside(
    cx: &mut StmtCx<'_>,
    old: &TableInfo,
    definition: &Definition,
    without: &[String],
    beside: Concurrency,
    as_copy: bool,
) -> SqlResult<Copied> {
    let (name, spec) = names_and_spec(cx, old, definition, as_copy)?;
    let renamed = renamed(&old.definition, definition);
    let keys = KeptKeys { without, renamed: &renamed };
    let StmtCx { db, engine, state } = cx;
    let mode = state.vars.sql_mode;
    let origins = origins(&old.definition, definition, mode);
    let shared: &Shared = (*db).as_ref();
    let done = engine.rebuild_table_beside(&name, &spec, keys, &origins, beside, |from, to| {
        let rows = Rows::of(old, from, to, definition, shared, state, false)?;
        let before = state.warnings.clone();
        let asking = rows.asking.filter(|asking| asking.may_be());
        Ok(Converting {
            rows,
            state,
            before,
            bytes: Vec::new(),
            asking,
            number: None,
            given: false,
            as_copy,
            stored: Vec::new(),
        })
    });
    let done = done.map(|(_, rows)| Copied::Done { rows, duplicates: 0 }).map_err(|e| match e {
        Failure::Engine(Error::DuplicateKey { index, value, .. }) if as_copy => {
            duplicate(definition, &index, &value).into()
        }
        e => e,
    });
    copied(done, definition)
}

/// What rows that are there get in a new column: its default, or that of its type.
pub(super) fn value_of_old_rows(
    ty: &ColumnType,
    default: &DefaultValue,
    state: &SessionState,
) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match default {
        DefaultValue::Stored(bytes) => out.clone_from(bytes),
        DefaultValue::Now => {
            ty.encode(&Value::DateTime(state.local_now()), &state.vars.time_zone, &mut out);
        }
        _ if ty.ty.nullable => return None,
        _ => ty.push_implicit_default(&mut out),
    }
    Some(out)
}

/// Whether others may change rows while they are written anew by [`rebuild_beside`]. They are not written so if the table is temporary
/// or foreign keys come.
pub(super) fn lets_write(old: &TableInfo, definition: &Definition) -> bool {
    !old.table.is_temporary() && definition.foreign_keys.iter().all(|key| key.exists)
}

/// For each new column the old one that has the same stored values, but for NULL that is none any more.
fn origins(before: &Definition, after: &Definition, mode: SqlMode) -> Vec<Option<usize>> {
    let kept = |column: &ColumnDefinition| {
        let from = column.origin.filter(|_| column.generated.is_none())?;
        let (old, new) = (before.columns[from].codec(), column.codec());
        has_same_storage(&old, &new).then_some(from)
    };
    let mut origins: Vec<_> = after.columns.iter().map(|column| kept(column)).collect();
    if let Some(asking) = Asking::of(before, after, mode).filter(|asking| asking.may_be()) {
        origins[asking.column] = None;
    }
    origins
}

/// The table's name, and what is made to take its place.
fn names_and_spec(
    cx: &mut StmtCx<'_>,
    old: &TableInfo,
    definition: &Definition,
    as_copy: bool,
) -> SqlResult<(String, TableSpec)> {
    let name = engine_name(&old.definition.database, &old.definition.name)?;
    let temporary = format!("{}/#sql-vq{:x}", file_name(&old.definition.database)?, old.table.id.get());
    if !old.table.is_temporary() {
        super::server_files::check(cx, definition)?;
    }
    let mut spec = definition.to_spec(Some(&temporary))?;
    // Only a copy leaves a file of the table's own, unless the format, or a directory of a partition, is not for the system tablespace.
    let is_elsewhere = |parts: &[vaquita_engine::PartSpec]| parts.iter().any(|part| part.directory.is_some());
    spec.file_per_table = cx.db.globals().is_on("innodb_file_per_table")
        || !as_copy && has_own_file(&old.table)
        || definition.row_format == vaquita_engine::lower::RowFormat::Dynamic
        || is_elsewhere(&spec.parts);
    if spec.directory.is_some() && !spec.file_per_table {
        super::directories::leave(cx);
    }
    super::limits::settle_row_size(cx, &mut spec)?;
    Ok((name, spec))
}

/// Whether a table, or a part of it, is in a file of its own.
fn has_own_file(table: &Table) -> bool {
    let is_own = |table: &Table| table.space != vaquita_base::SpaceId::SYSTEM;
    match &table.parts {
        Some(parts) => parts.tables.iter().any(|part| is_own(part)),
        None => is_own(table),
    }
}

fn copied(done: Result<Copied, Failure>, definition: &Definition) -> SqlResult<Copied> {
    match done {
        Ok(copied) => Ok(copied),
        Err(Failure::Stale) => Ok(Copied::Stale),
        Err(Failure::Sql(e)) => Err(e),
        Err(Failure::Engine(Error::DuplicateKey { index, value, .. })) => {
            Err(error::duplicate_entry(&value, &index))
        }
        Err(Failure::Engine(e)) => Err(super::alter::without_parent(&e, definition)
            .unwrap_or_else(|| super::create::creation_error(&e, definition))),
    }
}

/// Old and new names of columns.
fn renamed<'d>(before: &'d Definition, after: &'d Definition) -> Vec<(&'d str, &'d str)> {
    let columns = after.columns.iter().filter_map(|c| Some((&*before.columns[c.origin?].name, &*c.name)));
    columns.filter(|(old, new)| old != new).collect()
}

struct Rows<'t> {
    old: &'t TableInfo,
    definition: &'t Definition,
    new: Arc<TableInfo>,
    sources: Vec<Source>,
    mode: StoreMode,
    date: DateContext,
    ignore: bool,
    /// What the new table asks of its rows.
    rules: Option<Arc<TableRules>>,
    shared: Option<&'t Shared>,
    /// Columns that were not there before.
    new_columns: Vec<usize>,
    asking: Option<Asking>,
    copied: u64,
    duplicates: u64,
    /// The number of the last document, if the engine has a column of its own for it, the last one.
    document: Option<u64>,
}

impl<'t> Rows<'t> {
    /// Of a table that is still the one the definition was made from.
    fn of(
        old: &'t TableInfo,
        from: &Arc<Table>,
        to: &Arc<Table>,
        definition: &'t Definition,
        shared: &'t Shared,
        state: &mut SessionState,
        ignore: bool,
    ) -> Result<Rows<'t>, Failure> {
        if !Arc::ptr_eq(from, &old.table) {
            return Err(Failure::Stale);
        }
        let new = Arc::new(TableInfo::new(to.clone())?);
        let rules = TableRules::of(definition, &mut CompileCx::new(Some(shared), state))?;
        let mut rows = Rows::new(old, new, definition, state, ignore)?;
        rows.shared = Some(shared);
        rows.rules = rules;
        Ok(rows)
    }

    fn new(
        old: &'t TableInfo,
        new: Arc<TableInfo>,
        definition: &'t Definition,
        state: &mut SessionState,
        ignore: bool,
    ) -> SqlResult<Rows<'t>> {
        let strict = state.vars.sql_mode.is_strict() && !ignore;
        let mut rows = Rows {
            old,
            definition,
            new,
            sources: Vec::new(),
            mode: StoreMode { strict, null_is_error: strict, row: 1 },
            date: state.date_context(),
            ignore,
            rules: None,
            shared: None,
            new_columns: Vec::new(),
            asking: Asking::of(&old.definition, definition, state.vars.sql_mode),
            copied: 0,
            duplicates: 0,
            document: None,
        };
        if rows.new.table.columns.len() > definition.columns.len() {
            rows.document = Some(0);
        }
        for (i, column) in definition.columns.iter().enumerate() {
            if column.origin.is_none() {
                rows.new_columns.push(i);
            }
            let source = match column.origin.filter(|_| column.generated.is_none()) {
                Some(from) if same_storage(&old.columns[from].ty, &rows.new.columns[i].ty) => {
                    Source::Same(from)
                }
                Some(from) => Source::Converted(from),
                None => rows.constant(i, state)?,
            };
            rows.sources.push(source);
        }
        Ok(rows)
    }

    /// What rows that are there get in a new column: its default, or that of its type.
    fn constant(&self, column: usize, state: &mut SessionState) -> SqlResult<Source> {
        let info = &self.new.columns[column];
        Ok(Source::Constant(value_of_old_rows(&info.ty, &info.default, state).map(Vec::into)))
    }

    fn copy(
        &mut self,
        statement: &mut Statement<'_>,
        from: &Arc<Table>,
        to: &Arc<Table>,
        state: &mut SessionState,
    ) -> Result<(), Failure> {
        let sources = std::mem::take(&mut self.sources);
        let new = self.new.clone();
        let mut numbers = match self.asking {
            Some(asking) => Some(Numbers::new(&new, asking, state, statement.estimate_rows(from, None)?)),
            None => None,
        };
        let progress = statement.session().progress().clone();
        let mut cursor = statement.cursor(from, &ReadOptions::default())?;
        cursor.seek_first();
        let mut buffers: Vec<Option<Vec<u8>>> = vec![None; from.columns.len()];
        let mut converted = Vec::new();
        loop {
            let Some(row) = statement.next(&mut cursor)? else { return Ok(()) };
            for (i, value) in buffers.iter_mut().enumerate() {
                let buffer = value.get_or_insert_default();
                buffer.clear();
                if !row.read_column(i, buffer)? {
                    *value = None;
                }
            }
            let values: SmallVec<[Field<'_>; 16]> = buffers.iter().map(Option::as_deref).collect();
            state.poll()?;
            converted.clear();
            let ends = self.convert(&sources, &values, &mut converted, state)?;
            let mut number = Vec::new();
            let (made, document);
            let mut fields = fields_of(&sources, &values, &ends, &converted);
            if let Some(numbers) = numbers.as_mut()
                && numbers.asks(fields[numbers.column()])
            {
                let value = numbers.next(statement, to, self.mode.row)?;
                self.store_number(numbers.column(), value, state, &mut number)?;
                fields[numbers.column()] = Some(&number);
            }
            if let Some(rules) = &self.rules {
                let mut eval = EvalCx::new(self.shared, state, None);
                made = complete_row(rules, &self.new, &self.new_columns, self.mode, &mut eval, |column| {
                    fields.get(column).copied().flatten()
                })?;
                made.iter().for_each(|(column, bytes)| fields[*column] = bytes.as_deref());
            }
            if let Some(last) = &mut self.document {
                *last += 1;
                document = doc_id_key(*last);
                fields.push(Some(&document));
            }
            self.insert(statement, to, &fields, numbers.as_mut())?;
            self.mode.row += 1;
            progress.add(1);
        }
    }

    /// An AUTO_INCREMENT value as a column has it.
    fn store_number(
        &self,
        column: usize,
        number: u64,
        state: &mut SessionState,
        out: &mut Vec<u8>,
    ) -> SqlResult<()> {
        let zone = state.vars.time_zone.clone();
        let mut cx = Cx { date: self.date, time_zone: &zone, warnings: &mut state.warnings };
        let info = &self.new.columns[column];
        let (value, from) = (Value::UInt(number), SqlType::bigint(true));
        store(&info.ty, &info.name, &value, &from, self.mode, &mut cx, out).map(drop)
    }

    fn convert(
        &self,
        sources: &[Source],
        values: &[Field<'_>],
        out: &mut Vec<u8>,
        state: &mut SessionState,
    ) -> SqlResult<Ranges> {
        let mut ranges = SmallVec::new();
        for (i, source) in sources.iter().enumerate() {
            let Source::Converted(from) = source else {
                ranges.push(None);
                continue;
            };
            let (old, new) = (&self.old.columns[*from], &self.new.columns[i]);
            let zone = state.vars.time_zone.clone();
            let value = old.ty.decode(values[*from], &zone);
            let mut cx = Cx { date: self.date, time_zone: &zone, warnings: &mut state.warnings };
            let start = out.len();
            let there = match (value.is_null(), new.is_nullable()) {
                // It gets a number.
                (true, false) if self.new.auto_increment == Some(i) => false,
                // NULL in a column that has none any more.
                (true, false) if self.mode.strict => {
                    return Err(SqlError::new(1138, "Invalid use of NULL value"));
                }
                _ => {
                    let stored = store(&new.ty, &new.name, &value, old.sql_type(), self.mode, &mut cx, out);
                    stored.map_err(|e| match e.code {
                        // As MySQL calls it where rows are copied.
                        1406 => SqlError::new(
                            1265,
                            format!("Data truncated for column '{}' at row {}", new.name, self.mode.row),
                        ),
                        _ => e,
                    })?
                }
            };
            ranges.push(there.then_some(start..out.len()));
        }
        Ok(ranges)
    }

    fn insert(
        &mut self,
        statement: &mut Statement<'_>,
        to: &Arc<Table>,
        fields: &[Field<'_>],
        numbers: Option<&mut Numbers<'_>>,
    ) -> Result<(), Failure> {
        let mark = statement.mark();
        // A row that is left out is taken back alone.
        let inserted = match self.ignore {
            true => statement.insert(to, fields),
            false => statement.insert_for_good(to, fields),
        };
        match inserted {
            Ok(_) => {
                if let Some(numbers) = numbers {
                    numbers.inserted(statement, to, fields)?;
                }
                self.copied += 1;
                Ok(())
            }
            Err(Error::DuplicateKey { .. }) if self.ignore => {
                // What came into other indexes before goes with it.
                statement.take_back(mark)?;
                if let Some(numbers) = numbers {
                    numbers.give_back();
                }
                self.duplicates += 1;
                Ok(())
            }
            Err(Error::DuplicateKey { index, value, .. }) => {
                Err(duplicate(self.definition, &index, &value).into())
            }
            Err(e) => Err(e.into()),
        }
    }
}

/// 1062, which says more where rows may have been numbered anew.
fn duplicate(definition: &Definition, index: &str, value: &str) -> SqlError {
    let e = error::duplicate_entry(value, index);
    let column = |part: &KeyPart| definition.key_column(&part.column);
    let key = definition.key(index).map(|at| &definition.keys[at]);
    let first = key.and_then(|key| key.parts.first()).and_then(column);
    if !first.is_some_and(|column| definition.columns[column].auto_increment) {
        return e;
    }
    let message = format!(
        "ALTER TABLE causes auto_increment resequencing, resulting in duplicate entry '{value}' for key '{index}'"
    );
    SqlError { message: message.into(), ..e }
}

/// Where converted values are; `None` is NULL, or a value that is not converted.
type Ranges = SmallVec<[Option<std::ops::Range<usize>>; 16]>;

/// The values of a row of the new table, but for what rules and numbers make of them.
fn fields_of<'v>(
    sources: &'v [Source],
    values: &[Field<'v>],
    ranges: &[Option<std::ops::Range<usize>>],
    converted: &'v [u8],
) -> SmallVec<[Field<'v>; 16]> {
    let field = |(source, range): (&'v Source, &Option<std::ops::Range<usize>>)| match source {
        Source::Same(i) => values[*i],
        Source::Constant(bytes) => bytes.as_deref(),
        Source::Converted(_) => range.clone().map(|r| &converted[r]),
    };
    sources.iter().zip(ranges).map(field).collect()
}

/// Rows on their way through a rebuild beside others.
struct Converting<'t, 's> {
    rows: Rows<'t>,
    state: &'s mut SessionState,
    /// The warnings there were before the first row.
    before: Warnings,
    bytes: Vec<u8>,
    /// Rows that get a number; one that is left, if any row has got one, and it as the column has it.
    asking: Option<Asking>,
    number: Option<u64>,
    given: bool,
    as_copy: bool,
    stored: Vec<u8>,
}

impl ConvertRow<Failure> for Converting<'_, '_> {
    fn convert(
        &mut self,
        values: &[Field<'_>],
        with: &mut dyn FnMut(&[Field<'_>]) -> vaquita_engine::Result<()>,
    ) -> Result<(), Failure> {
        let Converting { rows, state, bytes, asking, number, given, as_copy, stored, .. } = self;
        state.poll()?;
        bytes.clear();
        let ranges = rows.convert(&rows.sources, values, bytes, state)?;
        let made;
        let mut fields = fields_of(&rows.sources, values, &ranges, bytes);
        if let Some(asking) = asking.filter(|asking| asking.asks(&rows.new, fields[asking.column])) {
            let name = &rows.new.columns[asking.column].name;
            let before = *given && *as_copy;
            let number = number.ok_or_else(|| exhausted(name, before, rows.mode.row))?;
            stored.clear();
            rows.store_number(asking.column, number, state, stored)?;
            fields[asking.column] = Some(stored);
            *given = true;
        }
        if let Some(rules) = &rows.rules {
            let mut eval = EvalCx::new(rows.shared, state, None);
            made = complete_row(rules, &rows.new, &rows.new_columns, rows.mode, &mut eval, |column| {
                fields.get(column).copied().flatten()
            })?;
            made.iter().for_each(|(column, bytes)| fields[*column] = bytes.as_deref());
        }
        with(&fields)?;
        rows.mode.row += 1;
        Ok(())
    }

    fn begin_again(&mut self) {
        self.rows.mode.row = 1;
        self.given = false;
        self.state.warnings.clone_from(&self.before);
    }

    fn numbered(&self) -> Option<Numbered> {
        self.asking.map(|asking| Numbered {
            column: asking.column,
            is_new: asking.is_new,
            step: self.state.vars.auto_increment_increment,
            offset: self.state.vars.auto_increment_offset,
        })
    }

    fn number(&mut self, number: Option<u64>) {
        self.number = number;
    }
}

/// Whether stored values of one type are stored values of the other.
fn same_storage(old: &ColumnType, new: &ColumnType) -> bool {
    (new.ty.nullable || !old.ty.nullable) && has_same_storage(old, new)
}

/// The same of values that are not NULL.
fn has_same_storage(old: &ColumnType, new: &ColumnType) -> bool {
    let (a, b) = (&old.ty, &new.ty);
    if a.kind != b.kind || a.unsigned != b.unsigned || a.labels != b.labels {
        return false;
    }
    match a.kind {
        Kind::Char if !old.stores_like(new) => false,
        Kind::Char | Kind::VarChar | Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText => {
            a.length == b.length && a.collation == b.collation
        }
        Kind::Decimal | Kind::Bit => a.length == b.length && a.decimals == b.decimals,
        Kind::Float | Kind::Double => a.decimals == b.decimals,
        Kind::Time | Kind::DateTime | Kind::Timestamp => old.stores_like(new),
        _ => true,
    }
}
