//! LOAD DATA [LOCAL] INFILE.
//!
//! A row that has too few fields leaves its columns at their defaults, one that has too many loses the rest. A file of
//! the client (LOCAL) is read as with IGNORE, unless REPLACE is said: what would be an error of a row is a warning, since
//! the client goes on sending anyway.

mod reader;
mod source;

use super::insert::{InsertTarget, open_for_change};
use super::rules::refuse_given;
use super::scope::TableScope;
use super::store::must_be_given;
use super::writer::{Assigned, OnDuplicate, Writer};
use crate::files::{display_width, server_file};
use crate::statement::{Outcome, PlanCx, Planned};
use reader::{Next, Reader, Record};
use source::Source;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::{Progress, Stage};
use vaquita_expr::stored::triggers_of;
use vaquita_expr::trigger::TableTriggers;
use vaquita_expr::{CompileCx, EvalCx, Row, TableRow, compile};
use vaquita_parser::ast::{self, TriggerEvent};
use vaquita_plan::FileFormat;
use vaquita_plan::wanted_of;
use vaquita_plan::{InsertView, SourceLock, TableRules, TableUse};
use vaquita_session::SessionCx;
use vaquita_session::SessionState;
use vaquita_session::Shared;
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::sink::{ColumnMeta, ResultSink};
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value, memory};

/// Bytes of a file read at once.
const PIECE: usize = 256 << 10;

/// Where a field goes.
#[derive(Debug)]
enum Target {
    Column(usize),
    Var(Box<[u8]>),
}

/// A planned LOAD DATA.
#[derive(Debug)]
pub struct LoadPlan {
    info: Arc<TableInfo>,
    /// The parts of a partitioned table that are named.
    parts: Option<Arc<[usize]>>,
    file: Box<[u8]>,
    local: bool,
    duplicates: ast::LoadDuplicates,
    format: FileFormat,
    skip: u64,
    targets: Box<[Target]>,
    assignments: Box<[Assigned]>,
    /// Columns that get nothing of the file.
    missing: Box<[usize]>,
    without_default: Box<[usize]>,
    /// Type of the fields: text of the file's character set.
    text: SqlType,
    /// An assignment looks at columns of the row.
    reads_row: bool,
    rules: Option<Arc<TableRules>>,
    triggers: Option<Arc<TableTriggers>>,
    /// The view that the statement names instead of the table.
    view: Option<Arc<InsertView>>,
    wants: Box<[Wanted]>,
}

/// Plans a LOAD DATA.
///
/// # Errors
/// 1146, 1054, 1115, 1083, those of expressions.
pub fn plan_load(ast: &ast::LoadData<'_>, cx: &mut PlanCx<'_>) -> SqlResult<LoadPlan> {
    if ast.xml {
        return Err(SqlError::unsupported("LOAD XML"));
    }
    let format = FileFormat::of(&ast.format)?;
    let collation = match ast.charset {
        None => cx.session.state.vars.collation_database,
        Some(name) => Charset::by_name(&name.to_string())
            .ok_or_else(|| SqlError::new(1115, format!("Unknown character set: '{name}'")))?
            .default_collation(),
    };
    let target = open_for_change(&ast.table, &[], true, cx)?;
    let InsertTarget { info, view } = &target;
    let (planner, compile_cx) = cx.planning();
    let planner = planner.locking_sources(SourceLock::Always);
    // Variables change from row to row.
    let mut compile_cx = CompileCx { fold: false, ..compile_cx };
    let scope = TableScope { info, view: view.as_deref(), planner: &planner };
    let mut targets = Vec::new();
    for target in ast.targets {
        targets.push(match target {
            ast::LoadTarget::Column(name) => Target::Column(scope.position(name)?),
            ast::LoadTarget::Var(name) => Target::Var(name.name.into()),
        });
    }
    if targets.is_empty() {
        match view {
            Some(view) => targets.extend(view.columns.iter().map(|(_, c)| Target::Column(*c))),
            None => targets.extend(info.visible_columns().map(|(c, _)| Target::Column(c))),
        }
    }
    for target in &targets {
        if let Target::Column(column) = target {
            refuse_given(info, *column, compile_cx.session.state)?;
        }
    }
    if format.is_fixed_width() {
        check_fixed_width(info, &targets)?;
    }
    let mut assignments = Vec::new();
    for assignment in ast.assignments {
        let column = scope.position(&assignment.column)?;
        let value = match assignment.value.kind {
            ast::ExprKind::Default => None,
            _ => {
                refuse_given(info, column, compile_cx.session.state)?;
                Some(compile(&assignment.value, &scope, &mut compile_cx)?)
            }
        };
        assignments.push(Assigned { column, value });
    }
    let given = |c: &usize| {
        targets.iter().any(|t| matches!(t, Target::Column(column) if column == c))
            || assignments.iter().any(|a| a.column == *c)
    };
    let missing: Box<[usize]> = (0..info.columns.len()).filter(|c| !given(c)).collect();
    let without_default = missing.iter().copied().filter(|&c| must_be_given(&info.columns[c])).collect();
    let reads_row = assignments.iter().filter_map(|a| a.value.as_ref()).any(|e| !e.tables().is_empty());
    let rules = TableRules::of(&info.definition, &mut compile_cx)?;
    let events: &[TriggerEvent] = match ast.duplicates {
        ast::LoadDuplicates::Replace => &[TriggerEvent::Insert, TriggerEvent::Delete],
        _ => &[TriggerEvent::Insert],
    };
    let triggers = triggers_of(&mut compile_cx, &info.table, events)?;
    let uses = planner.take_uses();
    target.refuse_read(&uses)?;
    let wants = wants(ast, &target, &uses);
    let parts = target.parts(ast.partitions)?;
    let InsertTarget { info, view } = target;
    Ok(LoadPlan {
        parts,
        file: ast.file.into(),
        local: ast.local,
        duplicates: ast.duplicates,
        format,
        skip: ast.ignore_lines,
        targets: targets.into(),
        assignments: assignments.into(),
        missing,
        without_default,
        text: SqlType::varchar(u32::MAX, collation),
        reads_row,
        rules,
        triggers,
        view,
        wants,
        info,
    })
}

/// Fields without terminators have a width, which variables and BLOBs have not.
fn check_fixed_width(info: &TableInfo, targets: &[Target]) -> SqlResult<()> {
    for target in targets {
        match target {
            Target::Var(_) => {
                return Err(SqlError::new(
                    1409,
                    "Can't load value from file with fixed size rows to variable",
                ));
            }
            Target::Column(column) if info.columns[*column].sql_type().kind.is_blob() => {
                return Err(SqlError::new(
                    1084,
                    "You can't use fixed rowlength with BLOBs; please use 'fields terminated by'",
                ));
            }
            Target::Column(_) => {}
        }
    }
    Ok(())
}

/// `read`: tables that subqueries of SET read.
fn wants(ast: &ast::LoadData<'_>, target: &InsertTarget, read: &[TableUse]) -> Box<[Wanted]> {
    let mut wants = wanted_of(read);
    wants.extend(target.wants(Priv::INSERT, None));
    if ast.duplicates == ast::LoadDuplicates::Replace {
        wants.extend(target.wants(Priv::DELETE, None));
    }
    wants.extend(target.view.iter().flat_map(|view| wanted_of(&view.uses)));
    if !ast.local {
        wants.push(Wanted::global(Priv::FILE));
    }
    wants.into()
}

/// One execution.
struct Loading<'p> {
    plan: &'p LoadPlan,
    reader: Reader<'p>,
    record: Record,
    writer: Writer<'p>,
}

impl LoadPlan {
    fn loading(&self, state: &mut SessionState) -> SqlResult<Loading<'_>> {
        let (on_duplicate, ignore) = match (self.duplicates, self.local) {
            (ast::LoadDuplicates::Replace, _) => (OnDuplicate::Replace, false),
            (ast::LoadDuplicates::Ignore, _) | (_, true) => (OnDuplicate::Ignore, true),
            _ => (OnDuplicate::Fail, false),
        };
        let writer = Writer::new(&self.info, state, None, ignore, on_duplicate);
        let writer = writer.with_rules(self.rules.as_deref()).firing(self.triggers.as_deref());
        let writer = writer.by_view(self.view.as_ref().map(|view| &*view.changed));
        let mut writer = writer.into_parts(self.parts.as_ref());
        // Never an error here.
        let strict = std::mem::take(&mut writer.store.strict);
        for &column in &self.without_default {
            writer.store.missing(&self.info.columns[column], state)?;
        }
        writer.store.strict = strict;
        let widths = self.targets.iter().map(|t| match t {
            Target::Column(c) => display_width(self.info.columns[*c].sql_type()),
            Target::Var(_) => 0,
        });
        let reader = Reader::new(&self.format, self.targets.len(), widths.collect(), self.skip);
        Ok(Loading { plan: self, reader, record: Record::default(), writer })
    }

    /// The file on the server: a name without a path is one of the database's folder.
    fn path(&self, db: &Shared, state: &SessionState) -> SqlResult<PathBuf> {
        server_file(&state.vars.file_name(&self.file), db, &state.database)
    }
}

impl Loading<'_> {
    /// Takes a piece of the file, an empty one at its end.
    fn take(&mut self, piece: &[u8], cx: &mut EvalCx<'_>) -> SqlResult<()> {
        self.reader.push(piece)?;
        while self.reader.next(&mut self.record) == Next::Row {
            self.row(cx)?;
        }
        Ok(())
    }

    /// Takes a file on the server.
    fn take_all(
        &mut self,
        mut file: Source,
        path: &Path,
        progress: &Progress,
        cx: &mut EvalCx<'_>,
    ) -> SqlResult<()> {
        let mut piece = vec![0; PIECE];
        loop {
            let n = file.read(path, &mut piece, cx.state)?;
            self.take(&piece[..n], cx)?;
            if n == 0 {
                return Ok(());
            }
            progress.add(n as u64);
        }
    }

    fn row(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        let plan = self.plan;
        let writer = &mut self.writer;
        writer.begin_row(&plan.missing, cx.state);
        for assigned in &plan.assignments {
            writer.store.absent(assigned.column, cx.state, &mut writer.row);
        }
        let row = writer.store.row;
        for (i, target) in plan.targets.iter().enumerate() {
            let field = self.record.get(i);
            match (target, field) {
                (Target::Column(column), Some(Some(text))) => {
                    writer.set_value(*column, &Value::bytes(text), &plan.text, cx.state)?;
                }
                (Target::Column(column), Some(None)) => null(writer, *column, cx.state)?,
                (Target::Column(column), None) => {
                    writer.set_absent(*column, cx.state);
                    // Once for each field, as MySQL counts them.
                    let text = format!("Row {row} doesn't contain data for all columns");
                    condition(1261, text, writer.store.strict, cx.state)?;
                }
                (Target::Var(name), field) => {
                    let value = match field.flatten() {
                        Some(text) => memory::into_owned(Value::bytes(text))?,
                        None => Value::Null,
                    };
                    cx.state.user_vars.set(name, value, plan.text.clone())?;
                }
            }
        }
        for Assigned { column, value } in &plan.assignments {
            let Some(expr) = value else {
                writer.set_default(*column, cx.state)?;
                continue;
            };
            let tz = cx.state.vars.time_zone.clone();
            let values: Vec<Value<'static>> = match plan.reads_row {
                true => {
                    let columns = plan.info.columns.iter().enumerate();
                    columns
                        .map(|(i, c)| c.ty.decode(writer.row.field(&plan.info, i), &tz).into_owned())
                        .collect()
                }
                false => Vec::new(),
            };
            let tables = [TableRow::Values(&values)];
            let row = Row { tables: &tables, ..Row::default() };
            let value = expr.eval(cx, &row)?;
            writer.set_value(*column, &value, expr.ty(), cx.state)?;
        }
        if self.record.has_more_than(plan.targets.len()) {
            let text =
                format!("Row {row} was truncated; it contained more data than there were input columns");
            condition(1262, text, writer.store.strict, cx.state)?;
        }
        writer.write(cx, &[])
    }

    fn outcome(&self, state: &mut SessionState) -> Outcome {
        let counts = self.writer.counts;
        let first = self.writer.auto_inc.as_ref().and_then(|auto| auto.first());
        state.generates = first.is_some();
        state.new_insert_id = first.or(state.new_insert_id);
        Outcome {
            affected_rows: counts.copied + counts.deleted,
            // LAST_INSERT_ID() knows it, the client is not told.
            insert_id: 0,
            info: format!(
                "Records: {}  Deleted: {}  Skipped: {}  Warnings: {}",
                counts.records,
                counts.deleted,
                counts.records - counts.copied.min(counts.records),
                state.warnings.count()
            )
            .into(),
            ..Outcome::default()
        }
    }
}

/// NULL for a column: where it has none, an error in strict mode, else its type's own default.
fn null(writer: &mut Writer<'_>, column: usize, state: &mut SessionState) -> SqlResult<()> {
    let info = &writer.info.columns[column];
    let is_auto = writer.auto_inc.as_ref().is_some_and(|auto| auto.column() == column);
    if is_auto || info.is_nullable() {
        if !is_auto {
            writer.row.put_stored(column, None);
        }
    } else if info.sql_type().kind == Kind::Timestamp {
        writer.store.now(column, state, &mut writer.row);
    } else {
        let text = format!(
            "Column set to default value; NULL supplied to NOT NULL column '{}' at row {}",
            info.name, writer.store.row
        );
        condition(1263, text, writer.store.strict, state)?;
        writer.row.put_implicit(column);
    }
    Ok(())
}

fn condition(code: u16, text: String, strict: bool, state: &mut SessionState) -> SqlResult<()> {
    if strict {
        return Err(SqlError::new(code, text));
    }
    state.warnings.warn(code, text);
    Ok(())
}

impl Planned for LoadPlan {
    fn columns(&self) -> Option<&Arc<[ColumnMeta]>> {
        None
    }

    fn wants(&self) -> &[Wanted] {
        &self.wants
    }

    fn run(&self, cx: &mut SessionCx<'_>, _: &[Value<'_>], sink: &mut dyn ResultSink) -> SqlResult<Outcome> {
        if self.local && !cx.db.globals().is_on("local_infile") {
            return Err(SqlError::new(1148, "The used command is not allowed with this MySQL version"));
        }
        let mut loading = self.loading(cx.state)?;
        if self.local {
            let mut eval = cx.eval();
            // The client sends the rest all the same.
            let mut failed = Ok(());
            let name = eval.state.vars.file_name(&self.file).into_owned();
            sink.local_infile(&name, &mut |piece| {
                if failed.is_ok() {
                    failed = loading.take(piece, &mut eval);
                }
                Ok(())
            })?;
            failed?;
            loading.take(&[], &mut eval)?;
            return Ok(loading.outcome(cx.state));
        }
        let path = self.path(cx.db, cx.state)?;
        // A file may be slow, a pipe may wait for its other end.
        cx.state.give_way();
        let file = Source::open(&path)?;
        let progress = cx.engine.progress().clone();
        if let Some(len) = file.len() {
            progress.begin_stage(Stage::File, len);
        }
        let taken = loading.take_all(file, &path, &progress, &mut cx.eval());
        progress.end();
        taken.map(|()| loading.outcome(cx.state))
    }

    fn is_reusable(&self) -> bool {
        false
    }
}

fn unreadable(path: &Path, e: &std::io::Error) -> SqlError {
    let text = e.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    SqlError::new(
        13,
        format!(
            "Can't get stat of '{}' (Errcode: {} - {text})",
            path.display(),
            e.raw_os_error().unwrap_or(0)
        ),
    )
}
