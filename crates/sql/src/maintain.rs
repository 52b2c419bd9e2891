//! ANALYZE, CHECK, OPTIMIZE, REPAIR and CHECKSUM TABLE.

use crate::statement::StmtCx;
use std::sync::Arc;
use vaquita_engine::core::Core;
use vaquita_engine::{Error, LockMode, MdlMode, Stage, Table, check, fulltext};
use vaquita_exec::Outcome;
use vaquita_exec::dml::checksum;
use vaquita_parser::ast::{Maintain, MaintainAction, ObjectName};
use vaquita_session::sink::{ColumnMeta, ResultSink};
use vaquita_types::{Level, SqlError, SqlResult, SqlType, Value};

/// Collation of names and messages.
const UTF8: u16 = 33;

/// Runs the statement and sends its result, in a statement of the engine.
///
/// # Errors
/// 1046; of the sink. What is wrong with a table is told in the result.
pub(crate) fn maintain(
    cx: &mut StmtCx<'_>,
    ast: &Maintain<'_>,
    sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    if ast.action == MaintainAction::Checksum {
        return checksums(cx, ast, sink);
    }
    let columns: Vec<ColumnMeta> =
        [("Table", 192), ("Op", 10), ("Msg_type", 10), ("Msg_text", 393_216)].map(|(n, l)| text(n, l)).into();
    // Nothing is answered before all is done: until then reports of progress may go to the client.
    let mut said = Vec::new();
    for name in ast.tables {
        said.extend(one(cx, ast.action, name)?.into_iter().map(|line| (name, line)));
    }
    sink.columns(&Arc::from(columns))?;
    let rows = said.len() as u64;
    for (name, (kind, message)) in said {
        let full = full_name(cx, name);
        let op = match ast.action {
            MaintainAction::Analyze => "analyze",
            MaintainAction::Check => "check",
            MaintainAction::Optimize => "optimize",
            MaintainAction::Repair => "repair",
            MaintainAction::Checksum => "checksum",
        };
        let row = [full.as_str(), op, kind, message.as_str()].map(|s| Value::bytes(s.as_bytes()));
        sink.row(&row)?;
    }
    Ok(Outcome { affected_rows: rows, has_result: true, ..Outcome::default() })
}

/// The same outside of a statement of the engine, and without a trace in an open transaction.
///
/// # Errors
/// As [`maintain`].
pub(crate) fn maintain_aside(
    cx: &mut StmtCx<'_>,
    ast: &Maintain<'_>,
    sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    let look = cx.engine.begin_look();
    let done = maintain(cx, ast, sink);
    vaquita_catalog::error::of_engine(cx.engine.end_look(look))?;
    done
}

fn full_name(cx: &StmtCx<'_>, name: &ObjectName<'_>) -> String {
    match name.schema {
        Some(schema) => format!("{schema}.{}", name.name),
        None => format!("{}.{}", cx.state.database, name.name),
    }
}

type Line = (&'static str, String);

/// What is said of one table.
fn one(cx: &mut StmtCx<'_>, action: MaintainAction, name: &ObjectName<'_>) -> SqlResult<Vec<Line>> {
    let mut lines = Vec::new();
    let database = name.schema.map_or_else(|| cx.state.database.clone(), |s| s.to_string());
    if let Some(view) = crate::ddl::views::find(cx, &database, &name.name.to_string()) {
        return Ok(match action {
            MaintainAction::Check => match crate::ddl::views::columns_of(cx, &view) {
                Ok(_) => vec![("status", "OK".to_owned())],
                Err(e) => {
                    let invalid = crate::ddl::views::invalid(&view).message.into_owned();
                    let mut lines = vec![("Error", invalid), ("error", "Corrupt".to_owned())];
                    if e.code != 1356 {
                        lines.insert(0, ("Error", e.message.into_owned()));
                    }
                    lines
                }
            },
            _ => {
                let text = format!("'{}' is not BASE TABLE", full_name(cx, name));
                vec![("Error", text), ("error", "Corrupt".to_owned())]
            }
        });
    }
    let words_only =
        action == MaintainAction::Optimize && cx.db.globals.is_on("innodb_optimize_fulltext_only");
    if action == MaintainAction::Optimize && !words_only {
        // The table as it is now is found again below, and its absence told.
        match recreate(cx, name) {
            Err(e) if e.code == 1046 => return Err(e),
            Err(e) => return Ok(failed(e)),
            Ok(()) => {
                let text = "Table does not support optimize, doing recreate + analyze instead";
                lines.push(("note", text.to_owned()));
            }
        }
    }
    let mode = match action {
        // Nobody may change what is checked.
        MaintainAction::Check => MdlMode::SharedNoWrite,
        _ => MdlMode::SharedRead,
    };
    let info = match open(cx, name, mode) {
        Ok(info) => info,
        Err(e) if e.code == 1046 => return Err(e),
        Err(e) => return Ok(failed(e)),
    };
    Ok(match action {
        MaintainAction::Optimize if words_only => vec![words_optimized(cx, &info.table)],
        MaintainAction::Analyze | MaintainAction::Optimize => {
            lines.push(analyzed(cx, &info.table)?);
            lines
        }
        MaintainAction::Check => match at_rest(cx, &info.table) {
            Err(e) => failed(e),
            Ok(()) => checked(cx, &info.table)?,
        },
        MaintainAction::Repair => {
            vec![("note", "The storage engine for the table doesn't support repair".to_owned())]
        }
        MaintainAction::Checksum => Vec::new(),
    })
}

/// What is said of a table that is checked.
///
/// # Errors
/// 1317: the statement was ended.
fn checked(cx: &mut StmtCx<'_>, table: &Arc<Table>) -> SqlResult<Vec<Line>> {
    let progress = cx.engine.progress().clone();
    // Every page is looked at, and every row in every index.
    let known = table.stats.known().0;
    let work = known.map_or(0, |known| {
        known.clustered_pages() + known.secondary_pages() + known.rows * table.indexes.len() as u64
    });
    progress.begin_stage(Stage::Check, work);
    let done = unless_ended(cx, |core, go_on| {
        let go_on = &mut || {
            progress.add(1);
            go_on()
        };
        check::check_table_while(core, table, go_on)?;
        fulltext::check(core, table, go_on)
    });
    progress.end();
    Ok(match done? {
        Ok(_) => vec![("status", "OK".to_owned())],
        Err(e) => vec![("error", e.to_string()), ("error", "Corrupt".to_owned())],
    })
}

/// What is said of a table whose statistics are found out.
///
/// # Errors
/// 1317: the statement was ended.
fn analyzed(cx: &mut StmtCx<'_>, table: &Table) -> SqlResult<Line> {
    let done = unless_ended(cx, |core, go_on| core.analyze_while(table, go_on))?;
    Ok(match done {
        Ok(_) => ("status", "OK".to_owned()),
        Err(e) => ("Error", vaquita_catalog::error::engine(&e).message.into_owned()),
    })
}

/// What is said of a table of which only the full-text indexes are looked after.
fn words_optimized(cx: &mut StmtCx<'_>, table: &Arc<Table>) -> Line {
    if table.fulltext.is_empty() {
        return ("status", "OK".to_owned());
    }
    let words = cx.db.globals.uint("innodb_ft_num_word_optimize");
    match fulltext::optimize(cx.db.engine().core(), table, words) {
        Ok(_) => ("status", "OK".to_owned()),
        Err(e) => ("Error", vaquita_catalog::error::engine(&e).message.into_owned()),
    }
}

/// Work of the engine that asks now and then whether the statement goes on.
///
/// # Errors
/// 1317: it was ended.
fn unless_ended<R>(
    cx: &mut StmtCx<'_>,
    work: impl FnOnce(&Core, &mut dyn FnMut() -> bool) -> Result<R, Error>,
) -> SqlResult<Result<R, Error>> {
    let mut ended = None;
    let (core, state) = (cx.db.engine().core(), &mut *cx.state);
    let done = work(core, &mut || match state.poll() {
        Ok(()) => true,
        Err(e) => {
            ended = Some(e);
            false
        }
    });
    ended.map_or(Ok(done), Err)
}

/// What is said of a table for which the statement has failed.
fn failed(e: SqlError) -> Vec<Line> {
    vec![("Error", e.message.into_owned()), ("status", "Operation failed".to_owned())]
}

/// Writes a table anew, between two statements of the engine.
fn recreate(cx: &mut StmtCx<'_>, name: &ObjectName<'_>) -> SqlResult<()> {
    vaquita_catalog::error::of_engine(cx.engine.rollback())?;
    let done = crate::ddl::recreate(cx, *name);
    cx.engine.start_statement();
    done
}

/// Waits until nobody changes the rows of a table whose name is locked: transactions that a crash left behind are rolled back
/// without a lock of names, but hold their locks of tables.
fn at_rest(cx: &mut StmtCx<'_>, table: &Arc<Table>) -> SqlResult<()> {
    cx.engine.statement().lock_table(table, LockMode::Shared).map_err(|e| vaquita_catalog::error::engine(&e))
}

fn open(
    cx: &mut StmtCx<'_>,
    name: &ObjectName<'_>,
    mode: MdlMode,
) -> SqlResult<Arc<vaquita_catalog::TableInfo>> {
    let database = name.schema.map_or_else(|| cx.state.database.clone(), |s| s.to_string());
    let table = name.name.to_string();
    vaquita_catalog::open_table(&cx.db.catalog, &mut cx.engine.statement(), &database, &table, mode)
}

fn checksums(cx: &mut StmtCx<'_>, ast: &Maintain<'_>, sink: &mut dyn ResultSink) -> SqlResult<Outcome> {
    let number = ColumnMeta { ty: SqlType::bigint(false), ..text("Checksum", 0) };
    sink.columns(&Arc::from([text("Table", 192), number]))?;
    for name in ast.tables {
        let full = full_name(cx, name);
        let sum = match open(cx, name, MdlMode::SharedRead) {
            // No live checksums are kept.
            Ok(_) if ast.options.quick => Value::Null,
            Ok(info) => match checksum(&mut cx.engine.statement(), &info) {
                Ok(sum) => Value::Int(sum.into()),
                // As MySQL answers for a table that is younger than the read view.
                Err(e) if e.code == 1412 => {
                    cx.state.warnings.push(Level::Error, e.code, e.message);
                    Value::Null
                }
                Err(e) => return Err(e),
            },
            Err(e) if e.code == 1146 => {
                cx.state.warnings.push(Level::Error, e.code, e.message);
                Value::Null
            }
            Err(e) => return Err(e),
        };
        sink.row(&[Value::bytes(full.as_bytes()), sum])?;
    }
    Ok(Outcome { affected_rows: ast.tables.len() as u64, has_result: true, ..Outcome::default() })
}

/// Description of a text column.
fn text(name: &str, chars: u32) -> ColumnMeta {
    ColumnMeta {
        schema: Box::default(),
        table: Box::default(),
        org_table: Box::default(),
        name: name.as_bytes().into(),
        org_name: Box::default(),
        ty: SqlType::varchar(chars, UTF8),
        flags: 0,
    }
}
