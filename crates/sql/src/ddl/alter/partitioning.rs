//! ALTER TABLE of partitioned tables, and of partitions: answers of MySQL 5.6.24.
//!
//! | what | how |
//! |---|---|
//! | ADD PARTITION of RANGE and LIST, DROP PARTITION, TRUNCATE PARTITION | parts come, go, or are emptied; the others stay as they are |
//! | EXCHANGE PARTITION | a part and a table change places: [`exchange`](super::exchange) |
//! | all else: other ways to divide rows, COALESCE, REORGANIZE, REBUILD, ADD PARTITION of HASH and KEY, columns and indexes | the rows are written anew, while others read |

use super::super::directories;
use super::super::partitions::{self, not_partitioned};
use super::super::{look_at, names_of};
use super::exchange::{self, Exchanged};
use super::{TRIES, too_often};
use crate::statement::StmtCx;
use std::sync::Arc;
use vaquita_catalog::partitioning::{Given, Partition, Partitioned};
use vaquita_catalog::{Definition, TableInfo, error};
use vaquita_engine::PartsChange;
use vaquita_exec::Outcome;
use vaquita_parser::ast::{
    self, AlterAction, AlterAlgorithm, AlterLock, Ident, PartitionAction, PartitionDef,
};
use vaquita_plan::partition::{check, parts_named};
use vaquita_types::{SqlError, SqlResult};

/// What became of a statement.
enum Tried {
    /// It is done without writing rows anew.
    Done(Outcome),
    /// It is to be done otherwise.
    Otherwise,
    /// Somebody else has changed the table since it was looked at.
    Stale,
}

/// What is done of a statement without writing rows anew; `None`: nothing is.
///
/// # Errors
/// 1505 and others of partitions; 1235 what is not done of a partitioned table.
pub(super) fn alter(cx: &mut StmtCx<'_>, alter: &ast::AlterTable<'_>) -> SqlResult<Option<Outcome>> {
    for _ in 0..TRIES {
        match try_once(cx, alter)? {
            Tried::Done(outcome) => return Ok(Some(outcome)),
            Tried::Otherwise => return Ok(None),
            Tried::Stale => {}
        }
    }
    Err(too_often())
}

fn try_once(cx: &mut StmtCx<'_>, alter: &ast::AlterTable<'_>) -> SqlResult<Tried> {
    let of_partitions = |action: &&AlterAction<'_>| matches!(action, AlterAction::Partition(_));
    let Some(action) = alter.actions.iter().find(of_partitions) else { return Ok(Tried::Otherwise) };
    let (database, name) = names_of(cx, &alter.name)?;
    if let Some(what) = exchanged(action) {
        exchange::check_names(cx, (&database, &name), what.with)?;
    }
    let info = match look_at(cx, &database, &name) {
        Ok(info) => info,
        Err(e) if exchanged(action).is_some() => return Err(exchange::no_view(e)),
        Err(e) => return Err(e),
    };
    if info.table.parts.is_none() {
        return Err(not_partitioned());
    }
    let AlterAction::Partition(action) = action else { return Ok(Tried::Otherwise) };
    let alone = alter.actions.len() == 1 && alter.partitioning.is_none();
    if !alone || alter.algorithm != AlterAlgorithm::Default || alter.lock != AlterLock::Default {
        return Err(SqlError::new(1064, "An action on partitions stands alone"));
    }
    let partitioned = Partitioned::of_clause(&info.definition.partitioning)?;
    let done = match action {
        PartitionAction::Add { partitions, count }
            if partitioned.given == Given::List && is_listed(&partitioned) =>
        {
            add(cx, &info, partitioned, partitions, *count)?
        }
        PartitionAction::Drop(names) => drop_some(cx, &info, partitioned, names)?,
        PartitionAction::Truncate(names) => truncate(cx, &info, &partitioned, names)?,
        PartitionAction::Exchange { name, table, validation } => {
            let what = Exchanged { name, with: table, validation: *validation };
            exchange::exchange(cx, &info, &partitioned, &what)?
        }
        _ => return Ok(Tried::Otherwise),
    };
    cx.db.catalog.forget(&info.table.name);
    Ok(done.map_or(Tried::Stale, Tried::Done))
}

fn exchanged<'a>(action: &'a AlterAction<'a>) -> Option<Exchanged<'a>> {
    match action {
        AlterAction::Partition(PartitionAction::Exchange { name, table, validation }) => {
            Some(Exchanged { name, with: table, validation: *validation })
        }
        _ => None,
    }
}

fn is_listed(partitioned: &Partitioned) -> bool {
    partitioned.method.is_range() || partitioned.method.is_list()
}

/// What a statement that writes the rows anew makes of the clause; whether the table is, or was, partitioned.
///
/// # Errors
/// As of the clause.
pub(super) fn edit(
    cx: &mut StmtCx<'_>,
    alter: &ast::AlterTable<'_>,
    info: &TableInfo,
    definition: &mut Definition,
    sql: &[u8],
) -> SqlResult<bool> {
    let was = !info.definition.partitioning.is_empty();
    if let Some(written) = alter.partitioning {
        if info.table.is_temporary() {
            return Err(SqlError::new(1562, "Cannot create temporary table with partitions"));
        }
        partitions::settle(cx, definition, written, sql)?;
        if !info.table.referenced_by.is_empty() {
            let text = "Foreign key clause is not yet supported in conjunction with partitioning";
            return Err(SqlError::new(1506, text));
        }
        return Ok(true);
    }
    if alter.actions.iter().any(|action| matches!(action, AlterAction::RemovePartitioning)) {
        if !was {
            return Err(not_partitioned());
        }
        definition.partitioning.clear();
        return Ok(true);
    }
    if !was {
        return Ok(false);
    }
    let mut partitioned = Partitioned::of_clause(&definition.partitioning)?;
    for action in alter.actions {
        if let AlterAction::Partition(action) = action {
            act(cx, action, &definition.name, &mut partitioned)?;
        }
    }
    // Constants stay what they are; columns may have become others.
    check::checked(definition, &partitioned)?;
    definition.partitioning = partitioned.to_clause();
    Ok(true)
}

/// Whether a statement asks for partitions that are written anew as they are.
pub(super) fn rewrites(alter: &ast::AlterTable<'_>) -> bool {
    alter.actions.iter().any(|action| matches!(action, AlterAction::Partition(_)))
}

/// An action after which rows are divided otherwise.
fn act(
    cx: &mut StmtCx<'_>,
    action: &PartitionAction<'_>,
    table: &str,
    partitioned: &mut Partitioned,
) -> SqlResult<()> {
    match action {
        PartitionAction::Add { partitions, count } => {
            if !partitions.is_empty() {
                // Those that were only counted are named from now on.
                partitioned.given = Given::List;
                return take(cx, table, partitioned, partitions);
            }
            for _ in 0..count.unwrap_or(0) {
                let name = (0..).map(|n| format!("p{n}")).find(|name| partitioned.position(name).is_none());
                partitioned.partitions.push(Partition::new(name.unwrap_or_default()));
            }
            if partitioned.given == Given::Not {
                partitioned.given = Given::Count;
            }
            partitioned.settle()
        }
        PartitionAction::Coalesce(count) => {
            let have = partitioned.partitions.len() as u64;
            if is_listed(partitioned) {
                let text = "COALESCE PARTITION can only be used on HASH/KEY partitions";
                return Err(SqlError::new(1509, text));
            }
            if *count == 0 {
                return Err(SqlError::new(1515, "At least one partition must be coalesced"));
            }
            if *count >= have {
                return Err(no_more());
            }
            partitioned.partitions.truncate((have - count) as usize);
            if partitioned.given == Given::Not {
                partitioned.given = Given::Count;
            }
            Ok(())
        }
        PartitionAction::Reorganize { names, into } => reorganize(cx, table, partitioned, names, into),
        PartitionAction::Rebuild(names) => found(partitioned, names, "REBUILD").map(drop),
        _ => Err(SqlError::unsupported("this action on partitions")),
    }
}

/// Takes partitions behind those that are there.
fn take(
    cx: &mut StmtCx<'_>,
    table: &str,
    partitioned: &mut Partitioned,
    written: &[PartitionDef<'_>],
) -> SqlResult<()> {
    append(cx, table, partitioned, written)?;
    partitioned.settle()
}

/// Appends partitions as they are written.
fn append(
    cx: &mut StmtCx<'_>,
    table: &str,
    partitioned: &mut Partitioned,
    written: &[PartitionDef<'_>],
) -> SqlResult<()> {
    let before = partitioned.partitions.len();
    partitioned.add(written, &mut |e| partitions::constant(cx, e))?;
    if directories::settle_partitions(cx, table, written)? {
        partitioned.partitions[before..].iter_mut().for_each(Partition::leave_directory);
    }
    Ok(())
}

fn no_more() -> SqlError {
    SqlError::new(1508, "Cannot remove all partitions, use DROP TABLE instead")
}

/// Positions of partitions by name, in order; all, if none is named.
fn found(partitioned: &Partitioned, names: &[Ident<'_>], what: &str) -> SqlResult<Vec<usize>> {
    if names.is_empty() {
        return Ok((0..partitioned.partitions.len()).collect());
    }
    let unknown = || SqlError::new(1507, format!("Error in list of partitions to {what}"));
    let each = names.iter().map(|name| partitioned.position(&name.to_string()).ok_or_else(unknown));
    let mut all = each.collect::<SqlResult<Vec<usize>>>()?;
    all.sort_unstable();
    all.dedup();
    if all.len() == names.len() { Ok(all) } else { Err(unknown()) }
}

fn reorganize(
    cx: &mut StmtCx<'_>,
    table: &str,
    partitioned: &mut Partitioned,
    names: &[Ident<'_>],
    into: &[PartitionDef<'_>],
) -> SqlResult<()> {
    if names.is_empty() {
        return match is_listed(partitioned) || partitioned.given == Given::List {
            true => Err(SqlError::new(
                1511,
                "REORGANIZE PARTITION without parameters can only be used on auto-partitioned tables using HASH PARTITIONs",
            )),
            false => Ok(()),
        };
    }
    let old = found(partitioned, names, "REORGANIZE")?;
    let (first, last) = (old[0], old[old.len() - 1]);
    if last - first + 1 != old.len() {
        let text = "When reorganizing a set of partitions they must be in consecutive order";
        return Err(SqlError::new(1519, text));
    }
    if !is_listed(partitioned) && into.len() != old.len() {
        let text =
            "REORGANIZE PARTITION can only be used to reorganize partitions not to change their numbers";
        return Err(SqlError::new(1510, text));
    }
    let behind = partitioned.partitions.split_off(last + 1);
    let gone = partitioned.partitions.split_off(first);
    partitioned.given = Given::List;
    append(cx, table, partitioned, into)?;
    if partitioned.method.is_range() && !behind.is_empty() {
        let end = |p: Option<&Partition>| p.map(|p| p.values.clone());
        if end(partitioned.partitions.last()) != end(gone.last()) {
            let text = "Reorganize of range partitions cannot change total ranges except for last partition where it can extend the range";
            return Err(SqlError::new(1520, text));
        }
    }
    partitioned.partitions.extend(behind);
    partitioned.settle()
}

/// ADD PARTITION of RANGE and LIST; `None`: the table is another one by now.
fn add(
    cx: &mut StmtCx<'_>,
    info: &Arc<TableInfo>,
    mut partitioned: Partitioned,
    written: &[PartitionDef<'_>],
    count: Option<u64>,
) -> SqlResult<Option<Outcome>> {
    if count.is_some() {
        let kind = if partitioned.method.is_range() { "RANGE" } else { "LIST" };
        return Err(SqlError::new(1492, format!("For {kind} partitions each partition must be defined")));
    }
    take(cx, &info.definition.name, &mut partitioned, written)?;
    apply(cx, info, &mut partitioned, &[])
}

/// DROP PARTITION; as [`add`].
fn drop_some(
    cx: &mut StmtCx<'_>,
    info: &Arc<TableInfo>,
    mut partitioned: Partitioned,
    names: &[Ident<'_>],
) -> SqlResult<Option<Outcome>> {
    if !is_listed(&partitioned) {
        let text = "DROP PARTITION can only be used on RANGE/LIST partitions";
        return Err(SqlError::new(1512, text));
    }
    let gone = found(&partitioned, names, "DROP")?;
    if gone.len() == partitioned.partitions.len() {
        return Err(no_more());
    }
    let files = partitioned.file_parts();
    let per = partitioned.per_partition();
    let gone_files: Vec<String> =
        gone.iter().flat_map(|at| files[at * per..(at + 1) * per].iter().cloned()).collect();
    let mut at = 0;
    partitioned.partitions.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    apply(cx, info, &mut partitioned, &gone_files)
}

/// Parts come and go, by the clause that is to be.
fn apply(
    cx: &mut StmtCx<'_>,
    info: &Arc<TableInfo>,
    partitioned: &mut Partitioned,
    gone: &[String],
) -> SqlResult<Option<Outcome>> {
    let mut definition = info.definition.to_edit();
    partitions::keep(&mut definition, partitioned)?;
    crate::ddl::server_files::check_in_place(cx, info, &definition)?;
    let mut spec = definition.to_spec(Some(&info.table.name))?;
    spec.file_per_table = cx.db.globals().is_on("innodb_file_per_table");
    let what = PartsChange { spec: Some(&spec), gone, emptied: &[] };
    let done = in_place(cx, info, &what)?;
    let outcome = Outcome { info: "Records: 0  Duplicates: 0  Warnings: 0".into(), ..Outcome::default() };
    Ok(done.then_some(outcome))
}

/// Changes the parts of a table; `false`: it is another one by now.
fn in_place(cx: &mut StmtCx<'_>, info: &TableInfo, what: &PartsChange<'_>) -> SqlResult<bool> {
    error::of_engine(cx.engine.alter_in_place(&info.table, &[], |table| table.alter_parts(what)))
}

/// TRUNCATE PARTITION; as [`add`].
fn truncate(
    cx: &mut StmtCx<'_>,
    info: &Arc<TableInfo>,
    partitioned: &Partitioned,
    names: &[Ident<'_>],
) -> SqlResult<Option<Outcome>> {
    let files = partitioned.file_parts();
    let emptied = match parts_named(info, names)? {
        Some(parts) => parts.iter().map(|&at| files[at].clone()).collect(),
        None => files,
    };
    let what = PartsChange { emptied: &emptied, ..PartsChange::default() };
    let done = in_place(cx, info, &what)?;
    Ok(done.then(Outcome::default))
}
