//! A block begins: whether it may read as much as it wants to, and what SHOW STATUS counts of it.

use vaquita_expr::EvalCx;
use vaquita_plan::{BlockPlan, Work};
use vaquita_session::temp::sort::Sorter;
use vaquita_types::{SqlError, SqlResult};

/// To be called before a block reads its tables. What it does counts once in a statement, however often a subquery runs.
///
/// # Errors
/// 1104 it would look at more than `max_join_size` combinations of rows.
pub(crate) fn begin(block: &BlockPlan, cx: &mut EvalCx<'_>) -> SqlResult<()> {
    if !cx.state.begins(std::ptr::from_ref(block).addr()) {
        return Ok(());
    }
    let work = &block.work;
    // One row more or less is not what the limit is for, and estimates know of no empty tables.
    let most = cx.state.vars.join_size_max;
    if most != u64::MAX && work.examines > 1.0 && work.examines > most as f64 {
        return Err(too_big());
    }
    cx.state.scanned |= work.scans || work.full_joins > 0;
    let status = &mut cx.state.status;
    status.select_scan += u64::from(work.scans);
    status.select_range += u64::from(work.ranges);
    status.select_full_join += work.full_joins;
    status.select_full_range_join += work.range_joins;
    Ok(())
}

/// Counts a sort whose rows have all come.
pub(crate) fn count_sort(work: &Work, sorter: &Sorter, cx: &mut EvalCx<'_>) {
    if !work.sorts {
        return;
    }
    let status = &mut cx.state.status;
    status.sort_rows += sorter.rows();
    status.sort_merge_passes += sorter.passes();
    match work.sorts_range {
        true => status.sort_range += 1,
        false => status.sort_scan += 1,
    }
}

fn too_big() -> SqlError {
    SqlError::new(
        1104,
        "The SELECT would examine more than MAX_JOIN_SIZE rows; check your WHERE and use \
         SET SQL_BIG_SELECTS=1 or SET MAX_JOIN_SIZE=# if the SELECT is okay",
    )
}
