//! INNODB_TRX, INNODB_LOCKS, INNODB_METRICS, and the engine's own dictionary.

use super::making::{Making, text, text_or_null};
use std::collections::HashMap;
use std::sync::Arc;
use vaquita_catalog::error;
use vaquita_engine::Isolation;
use vaquita_engine::lower::RowFormat;
use vaquita_engine::lower::TrxState;
use vaquita_engine::lower::{LockTarget, Names};
use vaquita_engine::stats::Statistics;
use vaquita_session::privilege::Priv;
use vaquita_types::{SqlResult, Value};

/// Who may not look at other people's work sees nothing.
fn may_look(m: &Making<'_, '_>) -> bool {
    m.state().privileges.global.has(Priv::PROCESS)
}

fn isolation_name(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ UNCOMMITTED",
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

pub(super) fn trx(m: &mut Making<'_, '_>) -> SqlResult<()> {
    if !may_look(m) {
        return Ok(());
    }
    let core = m.db.engine.core();
    let waits: HashMap<u64, String> = core
        .txn
        .locks()
        .snapshot()
        .waits
        .iter()
        .map(|wait| (wait.requested.serial, wait.requested.id()))
        .collect();
    let now_us = core.storage.clock().now_us();
    let now =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs() as i64);
    let moment = |us: u64| now - (now_us.saturating_sub(us) / 1_000_000) as i64;
    let own = u64::from(m.state().connection_id);
    for info in core.txn.describe() {
        // The statement that looks has begun none by looking.
        if info.tag == own && !info.has_begun() {
            continue;
        }
        let process = m.db.processes().find(info.tag as u32);
        let [unique_checks, foreign_key_checks] = process.as_ref().map_or([true; 2], |p| p.checks());
        let query = process.map(|p| p.doing().text).filter(|t| !t.is_empty());
        // Of the statement that runs: 0 between statements, and where there is no session.
        let tables_locked = if query.is_some() { info.tables_locked } else { 0 };
        let waiting = info.waiting_since_us.is_some();
        let started = m.local(moment(info.started_us));
        let wait_started = info.waiting_since_us.map_or(Value::Null, |us| m.local(moment(us)));
        m.push(vec![
            text(info.shown_id().to_string()),
            text(match info.state {
                TrxState::Committed => "COMMITTING",
                _ if info.rolling_back => "ROLLING BACK",
                _ if waiting => "LOCK WAIT",
                _ => "RUNNING",
            }),
            started,
            text_or_null(waits.get(&info.serial).cloned()),
            wait_started,
            Value::UInt(info.undo_records + info.lock_structs as u64),
            Value::UInt(info.tag),
            text_or_null(query),
            if waiting { text("starting index read") } else { Value::Null },
            Value::UInt(0),
            Value::UInt(tables_locked as u64),
            Value::UInt(info.lock_structs as u64),
            Value::UInt(info.lock_structs as u64 * 128),
            Value::UInt(info.records_locked as u64),
            Value::UInt(info.undo_records),
            Value::UInt(0),
            text(isolation_name(info.isolation)),
            Value::Int(unique_checks.into()),
            Value::Int(foreign_key_checks.into()),
            Value::Null,
            Value::Int(0),
            Value::UInt(0),
            Value::Int(i64::from(info.read_only || info.is_lone_read())),
            Value::Int(i64::from(info.is_lone_read())),
        ]);
    }
    Ok(())
}

pub(super) fn locks(m: &mut Making<'_, '_>) -> SqlResult<()> {
    if !may_look(m) {
        return Ok(());
    }
    let core = m.db.engine.core();
    let snapshot = core.txn.locks().snapshot();
    // As in MySQL: locks that are waited for, and the requests.
    for lock in snapshot.contended() {
        let (table, index, page) = match lock.target {
            LockTarget::Table(table) => (table, None, None),
            LockTarget::Record { table, index, page, heap, .. } => (table, Some(index), Some((page, heap))),
        };
        let part = |n: Option<u64>| n.map_or(Value::Null, Value::UInt);
        m.push(vec![
            text(lock.id()),
            text(lock.shown_trx().to_string()),
            text(lock.mode_column()),
            text(lock.type_column()),
            text(Names::table(&**core, table)),
            text_or_null(index.map(|index| core.index(table, index))),
            part(page.map(|(page, _)| page.space.get().into())),
            part(page.map(|(page, _)| page.page_no.get().into())),
            part(page.map(|(_, heap)| heap.get().into())),
            text_or_null(core.lock_data(lock)),
        ]);
    }
    Ok(())
}

pub(super) fn lock_waits(m: &mut Making<'_, '_>) -> SqlResult<()> {
    if !may_look(m) {
        return Ok(());
    }
    for wait in m.db.engine.core().txn.locks().snapshot().waits {
        m.push(vec![
            text(wait.requested.shown_trx().to_string()),
            text(wait.requested.id()),
            text(wait.blocking.shown_trx().to_string()),
            text(wait.blocking.id()),
        ]);
    }
    Ok(())
}

pub(super) fn metrics(m: &mut Making<'_, '_>) -> SqlResult<()> {
    if !may_look(m) {
        return Ok(());
    }
    let number = |n: Option<u64>| n.map_or(Value::Null, Value::UInt);
    let double = |n: Option<f64>| n.map_or(Value::Null, Value::Double);
    for line in m.db.monitors.lines(&m.db.engine.core().metrics()) {
        let local = |seconds: Option<i64>| seconds.map_or(Value::Null, |seconds| m.local(seconds));
        let row = vec![
            text(line.def.name),
            text(line.def.subsystem),
            Value::UInt(line.count),
            number(line.max),
            // What is counted never goes down; nobody looks at values all the time.
            Value::Null,
            double(line.average),
            Value::UInt(line.count_reset),
            number(line.max_reset),
            Value::Null,
            double(line.average_reset),
            local(line.enabled_s),
            local(line.disabled_s),
            number(line.elapsed_s),
            local(line.reset_s),
            text(if line.on { "enabled" } else { "disabled" }),
            text(line.def.kind.name()),
            text(line.def.comment),
        ];
        m.push(row);
    }
    Ok(())
}

/// File format and row format, as the tables name them.
fn formats(row_format: RowFormat) -> (&'static str, &'static str) {
    match row_format {
        RowFormat::Redundant => ("Antelope", "Redundant"),
        RowFormat::Compact => ("Antelope", "Compact"),
        RowFormat::Dynamic => ("Barracuda", "Dynamic"),
        RowFormat::Compressed => ("Barracuda", "Compressed"),
    }
}

/// Bytes of a compressed page, from the flags; 0: not compressed.
fn zip_size(flags: u32) -> u64 {
    match flags >> 1 & 0xF {
        0 => 0,
        shift => 512 << shift,
    }
}

pub(super) fn sys_tables(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let core = m.db.engine.core();
    for row in error::of_engine(core.dict.sys_tables(&core.storage))? {
        let (file, format) = formats(row.row_format);
        // What is kept does not tell REDUNDANT from COMPACT, what is shown does.
        let flags = if row.row_format == RowFormat::Redundant { row.flags & !1 } else { row.flags };
        m.push(vec![
            Value::UInt(row.id.get()),
            text(row.name),
            Value::UInt(flags.into()),
            // Three hidden columns count.
            Value::UInt(u64::from(row.n_cols) + 3),
            Value::UInt(row.space.get().into()),
            text(file),
            text(format),
            Value::UInt(zip_size(row.flags)),
        ]);
    }
    Ok(())
}

pub(super) fn sys_columns(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let core = m.db.engine.core();
    for row in error::of_engine(core.dict.sys_columns(&core.storage))? {
        m.push(vec![
            Value::UInt(row.table.get()),
            text(row.name),
            Value::UInt(row.pos.into()),
            Value::UInt(row.mtype.into()),
            Value::UInt(row.prtype.into()),
            Value::UInt(row.len.into()),
        ]);
    }
    Ok(())
}

pub(super) fn sys_indexes(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let core = m.db.engine.core();
    for row in error::of_engine(core.dict.sys_indexes(&core.storage))? {
        m.push(vec![
            Value::UInt(row.id.get()),
            text(row.name),
            Value::UInt(row.table.get()),
            Value::UInt(row.kind.into()),
            Value::UInt(row.n_fields.into()),
            Value::UInt(row.root.get().into()),
            Value::UInt(row.space.get().into()),
        ]);
    }
    Ok(())
}

pub(super) fn sys_fields(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let core = m.db.engine.core();
    for row in error::of_engine(core.dict.sys_fields(&core.storage))? {
        m.push(vec![Value::UInt(row.index.get()), text(row.name), Value::UInt(row.pos.into())]);
    }
    Ok(())
}

pub(super) fn sys_foreign(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let core = m.db.engine.core();
    for row in error::of_engine(core.dict.sys_foreign(&core.storage))? {
        m.push(vec![
            text(row.id),
            text(row.child),
            text(row.parent),
            Value::UInt(row.n_cols.into()),
            Value::UInt(row.kind.into()),
        ]);
    }
    Ok(())
}

pub(super) fn sys_foreign_cols(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let core = m.db.engine.core();
    for row in error::of_engine(core.dict.sys_foreign_cols(&core.storage))? {
        m.push(vec![
            text(row.id),
            text(row.child_column),
            text(row.parent_column),
            Value::UInt(row.pos.into()),
        ]);
    }
    Ok(())
}

pub(super) fn sys_tablespaces(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let core = m.db.engine.core();
    let formats_of: HashMap<u32, RowFormat> = error::of_engine(core.dict.sys_tables(&core.storage))?
        .iter()
        .map(|t| (t.space.get(), t.row_format))
        .collect();
    for row in error::of_engine(core.dict.sys_tablespaces(&core.storage))? {
        let format = formats_of.get(&row.space.get()).copied().unwrap_or(RowFormat::Compact);
        let (file, _) = formats(format);
        let shown = match format {
            RowFormat::Redundant | RowFormat::Compact => "Compact or Redundant",
            RowFormat::Dynamic => "Dynamic",
            RowFormat::Compressed => "Compressed",
        };
        m.push(vec![
            Value::UInt(row.space.get().into()),
            text(row.name),
            Value::UInt(row.flags.into()),
            text(file),
            text(shown),
            Value::UInt(core.storage.options().page_size.logical() as u64),
            Value::UInt(zip_size(row.flags)),
        ]);
    }
    Ok(())
}

pub(super) fn sys_datafiles(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let core = m.db.engine.core();
    for row in error::of_engine(core.dict.sys_datafiles(&core.storage))? {
        m.push(vec![Value::UInt(row.space.get().into()), text(row.path)]);
    }
    Ok(())
}

pub(super) fn sys_tablestats(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let core = m.db.engine.core();
    for row in error::of_engine(core.dict.sys_tables(&core.storage))? {
        let Ok(table) = core.table(&row.name) else { continue };
        let known = core.statistics(&table).ok().flatten();
        let (_, changed) = table.stats.known();
        let pages = |of: &dyn Fn(&Statistics) -> u64| Value::UInt(known.as_deref().map_or(0, of));
        m.push(vec![
            Value::UInt(row.id.get()),
            text(row.name),
            text(if known.is_some() { "Initialized" } else { "Uninitialized" }),
            pages(&|s| s.rows),
            pages(&Statistics::clustered_pages),
            pages(&Statistics::secondary_pages),
            Value::UInt(changed),
            Value::UInt(table.auto_inc.peek().unwrap_or(0)),
            Value::UInt(Arc::strong_count(&table).saturating_sub(2) as u64),
        ]);
    }
    Ok(())
}

/// Temporary tables of all sessions. They share one tablespace, and none of them is compressed.
pub(super) fn temp_table_info(m: &mut Making<'_, '_>) -> SqlResult<()> {
    if !may_look(m) {
        return Ok(());
    }
    for table in m.db.engine.core().all_temporary_tables() {
        m.push(vec![
            Value::UInt(table.id.get()),
            text(&table.name),
            // Three hidden columns count.
            Value::UInt(table.columns.len() as u64 + 3),
            Value::UInt(table.space.get().into()),
            text("FALSE"),
            text("FALSE"),
        ]);
    }
    Ok(())
}
