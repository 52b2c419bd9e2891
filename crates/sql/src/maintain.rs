//! ANALYZE, CHECK, OPTIMIZE, REPAIR and CHECKSUM TABLE, and what ALTER TABLE does of these to some partitions.

use crate::ddl::not_partitioned;
use crate::statement::StmtCx;
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_catalog::partitioning::Partitioned;
use vaquita_engine::core::Core;
use vaquita_engine::{Error, LockMode, MdlMode, Stage, Table, check, fulltext};
use vaquita_exec::Outcome;
use vaquita_exec::dml::checksum;
use vaquita_parser::ast::{Maintain, MaintainAction, MaintainPartitions, ObjectName};
use vaquita_session::sink::{ColumnMeta, ResultSink};
use vaquita_types::{Level, SqlError, SqlResult, SqlType, Value};

/// Collation of names and messages.
const UTF8: u16 = 33;

/// Runs the statement and sends its result, in a statement of the engine. `refused`: what keeps it from each of the tables.
///
/// # Errors
/// 1046; of the sink. What is wrong with a table is told in the result.
pub(crate) fn maintain(
    cx: &mut StmtCx<'_>,
    ast: &Maintain<'_>,
    refused: Vec<Option<SqlError>>,
    sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    if ast.action == MaintainAction::Checksum {
        return checksums(cx, ast, sink);
    }
    let columns: Vec<ColumnMeta> =
        [("Table", 192), ("Op", 10), ("Msg_type", 10), ("Msg_text", 393_216)].map(|(n, l)| text(n, l)).into();
    // Nothing is answered before all is done: until then reports of progress may go to the client.
    let mut said = Vec::new();
    let mut refused = refused.into_iter();
    for name in ast.tables {
        if ast.partitions.is_some_and(|partitions| partitions.ignore) {
            let text = "'IGNORE' is deprecated and will be removed in a future release.";
            said.push((name, ("Warning", text.to_owned())));
        }
        let lines = match refused.next().flatten() {
            Some(e) => failed(e),
            None => one(cx, ast, name)?,
        };
        said.extend(lines.into_iter().map(|line| (name, line)));
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
    refused: Vec<Option<SqlError>>,
    sink: &mut dyn ResultSink,
) -> SqlResult<Outcome> {
    let look = cx.engine.begin_look();
    let done = maintain(cx, ast, refused, sink);
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
fn one(cx: &mut StmtCx<'_>, ast: &Maintain<'_>, name: &ObjectName<'_>) -> SqlResult<Vec<Line>> {
    let action = ast.action;
    let mut lines = Vec::new();
    let database = name.schema.map_or_else(|| cx.state.database.clone(), |s| s.to_string());
    let own = cx.state.names.mean_own(&database, &name.name.to_string());
    if !own && let Some(view) = crate::ddl::views::find(cx, &database, &name.name.to_string()) {
        return Ok(match action {
            MaintainAction::Check if ast.partitions.is_some() => return Err(not_partitioned()),
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
    let words_only = words_only && ast.partitions.is_none();
    if action == MaintainAction::Optimize && !words_only {
        if let Some(partitions) = &ast.partitions {
            match open(cx, name, MdlMode::SharedRead) {
                Err(e) if e.code == 1046 => return Err(e),
                Err(e) => return Ok(failed(e)),
                Ok(info) => {
                    if let Err(line) = parts_of(&info, partitions, &full_name(cx, name))? {
                        return Ok(vec![line]);
                    }
                }
            }
        }
        // The table as it is now is found again below, and its absence told.
        match recreate(cx, name) {
            Err(e) if e.code == 1046 => return Err(e),
            Err(e) => return Ok(failed(e)),
            Ok(()) => {
                let text = match ast.partitions {
                    None => "Table does not support optimize, doing recreate + analyze instead",
                    Some(_) => {
                        "Table does not support optimize on partitions. All partitions will be rebuilt and analyzed."
                    }
                };
                lines.push(("note", text.to_owned()));
            }
        }
    }
    let mode = match action {
        // Nobody may change what is checked.
        MaintainAction::Check => MdlMode::SharedNoWrite,
        MaintainAction::Repair if ast.partitions.is_some() => MdlMode::SharedNoWrite,
        _ => MdlMode::SharedRead,
    };
    let info = match open(cx, name, mode) {
        Ok(info) => info,
        Err(e) if e.code == 1046 => return Err(e),
        Err(e) => return Ok(failed(e)),
    };
    let parts = match &ast.partitions {
        None => None,
        Some(partitions) => match parts_of(&info, partitions, &full_name(cx, name))? {
            Ok(parts) => Some(parts),
            Err(line) => return Ok(vec![line]),
        },
    };
    let parts = parts.as_deref();
    Ok(match action {
        MaintainAction::Optimize if words_only => vec![words_optimized(cx, &info.table)],
        MaintainAction::Analyze | MaintainAction::Optimize => {
            lines.push(analyzed(cx, &info.table, parts)?);
            lines
        }
        MaintainAction::Check => match at_rest(cx, &info.table) {
            Err(e) => failed(e),
            Ok(()) => checked(cx, &info.table, parts)?,
        },
        MaintainAction::Repair if info.table.parts.is_some() => repaired(cx, name, parts)?,
        MaintainAction::Repair => {
            vec![("note", "The storage engine for the table doesn't support repair".to_owned())]
        }
        MaintainAction::Checksum => Vec::new(),
    })
}

/// The numbers of the parts that a statement names by their partitions, or what is said if it names others.
///
/// # Errors
/// 1505.
fn parts_of(
    info: &TableInfo,
    partitions: &MaintainPartitions<'_>,
    full_name: &str,
) -> SqlResult<Result<Vec<usize>, Line>> {
    if info.table.parts.is_none() {
        return Err(not_partitioned());
    }
    let partitioned = Partitioned::of_clause(&info.definition.partitioning)?;
    let named: Option<Vec<usize>> =
        partitions.names.iter().map(|name| partitioned.position(&name.to_string())).collect();
    let mut named = match named {
        Some(named) if !named.is_empty() => named,
        Some(_) => (0..partitioned.partitions.len()).collect(),
        None => Vec::new(),
    };
    named.sort_unstable();
    named.dedup();
    if named.is_empty() || !partitions.names.is_empty() && named.len() != partitions.names.len() {
        return Ok(Err(("error", format!("Error in list of partitions to {full_name}"))));
    }
    let per = partitioned.per_partition();
    Ok(Ok(named.into_iter().flat_map(|at| at * per..(at + 1) * per).collect()))
}

/// What is said of a partitioned table, all or some of whose partitions are repaired: rows that are in another one than theirs go where
/// they belong. That is all that can be repaired; a table that is damaged otherwise stays so, and is told.
///
/// # Errors
/// 1317: the statement was ended.
fn repaired(cx: &mut StmtCx<'_>, name: &ObjectName<'_>, parts: Option<&[usize]>) -> SqlResult<Vec<Line>> {
    let info = match open(cx, name, MdlMode::SharedNoWrite) {
        Ok(info) => info,
        Err(e) => return Ok(failed(e)),
    };
    if let Err(e) = at_rest(cx, &info.table) {
        return Ok(failed(e));
    }
    match looked_at(cx, &info.table, parts)? {
        Ok(()) => return Ok(vec![("status", "OK".to_owned())]),
        Err(Error::Misplaced { .. }) => {}
        Err(e) => return Ok(damaged(&e)),
    }
    Ok(match recreate(cx, name) {
        Ok(()) => {
            vec![("warning", "Moved misplaced rows".to_owned()), ("status", "OK".to_owned())]
        }
        Err(e) => failed(e),
    })
}

/// What is said of a table, or of parts of it, that are checked.
///
/// # Errors
/// 1317: the statement was ended.
fn checked(cx: &mut StmtCx<'_>, table: &Arc<Table>, parts: Option<&[usize]>) -> SqlResult<Vec<Line>> {
    Ok(match looked_at(cx, table, parts)? {
        Ok(()) => vec![("status", "OK".to_owned())],
        Err(e) => damaged(&e),
    })
}

fn damaged(e: &Error) -> Vec<Line> {
    vec![("error", e.to_string()), ("error", "Corrupt".to_owned())]
}

/// Checks a table, or parts of it.
///
/// # Errors
/// The outer one, 1317: the statement was ended.
fn looked_at(
    cx: &mut StmtCx<'_>,
    table: &Arc<Table>,
    parts: Option<&[usize]>,
) -> SqlResult<Result<(), Error>> {
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
        match parts {
            Some(parts) => drop(check::check_parts_while(core, table, parts, go_on)?),
            None => drop(check::check_table_while(core, table, go_on)?),
        }
        fulltext::check(core, table, go_on).map(drop)
    });
    progress.end();
    done
}

/// What is said of a table whose statistics are found out.
///
/// # Errors
/// 1317: the statement was ended.
fn analyzed(cx: &mut StmtCx<'_>, table: &Table, parts: Option<&[usize]>) -> SqlResult<Line> {
    let done = unless_ended(cx, |core, go_on| match (parts, &table.parts) {
        // Those of the table are made of its parts'.
        (Some(at), Some(parts)) => {
            at.iter().try_for_each(|&at| core.analyze_while(&parts.tables[at], go_on).map(drop))
        }
        _ => core.analyze_while(table, go_on).map(drop),
    })?;
    Ok(match done {
        Ok(()) => ("status", "OK".to_owned()),
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
    crate::ddl::open_named(cx, &database, &table, mode)
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
