//! The rows of the documents that a full-text search finds, in the order of their ranks.

use super::super::placed::Placed;
use super::{At, Consumer, Exec, Flow, Reader, lock_of, open_cursor};
use std::sync::Arc;
use vaquita_catalog::{TableInfo, error};
use vaquita_engine::{ReadLock, Seek};
use vaquita_expr::{EvalCx, Expr, FoundDocuments, InOrder, Row};
use vaquita_plan::{BlockPlan, Path, Read};
use vaquita_types::{SqlResult, Value};

impl Exec<'_> {
    /// The rows of the documents that a full-text search finds. If nothing else of them is asked than which they are, none is read.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn found(
        &mut self,
        read: &Read,
        info: &Arc<TableInfo>,
        (index, matching, then_others): (usize, &Expr, bool),
        reader: &mut Reader,
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        let at = &at.placed(Placed::Found);
        let search = (index, matching, then_others);
        let found = matching.documents(cx, row, self.first_found)?;
        if found.are_all {
            return self.those_found(read, info, search, (&found, &[]), reader, at, cx, row, next);
        }
        // The best ones; others only if rows of these were not to be seen.
        let best = (index, matching, false);
        if self.those_found(read, info, best, (&found, &[]), reader, at, cx, row, next)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
        let mut given: Vec<u64> = in_order(&*found.documents).map(|(_, document)| document).collect();
        given.sort_unstable();
        let all = matching.documents(cx, row, None)?;
        self.those_found(read, info, search, (&all, &given), reader, at, cx, row, next)
    }

    /// The rows of documents that were found, but of those that are `given`, in the order of their numbers.
    #[allow(clippy::too_many_arguments)]
    fn those_found(
        &mut self,
        read: &Read,
        info: &Arc<TableInfo>,
        (index, matching, then_others): (usize, &Expr, bool),
        (found, given): (&FoundDocuments, &[u64]),
        reader: &mut Reader,
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        if let Some(column) = only_document(read, info)
            && found.all_seen
            && !then_others
            && lock_of(read, cx) == ReadLock::None
        {
            return self.found_alone(read, column, (&*found.documents, given), at, cx, row, next);
        }
        for (n, document) in in_order(&*found.documents) {
            if then_others
                && n == found.above
                && self.others(read, info, (index, matching), reader, at, cx, row, next)? == Flow::Stop
            {
                return Ok(Flow::Stop);
            }
            if given.binary_search(&document).is_ok() {
                continue;
            }
            let Reader { cursor, ready, .. } = &mut *reader;
            let cursor = open_cursor(cursor, ready, read, info, index, self.to_change, cx)?;
            error::of_engine(
                cursor.seek(&[Some(&vaquita_engine::fulltext::doc_id_key(document))], Seek::Equal),
            )?;
            if self.drain(read, reader, false, at, cx, row, next)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        match then_others && found.above == found.count {
            true => self.others(read, info, (index, matching), reader, at, cx, row, next),
            false => Ok(Flow::Go),
        }
    }

    /// The rows that a full-text search does not find.
    #[allow(clippy::too_many_arguments)]
    fn others(
        &mut self,
        read: &Read,
        info: &Arc<TableInfo>,
        (index, matching): (usize, &Expr),
        reader: &mut Reader,
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        let Reader { cursor, ready, .. } = &mut *reader;
        open_cursor(cursor, ready, read, info, index, self.to_change, cx)?.seek_first();
        let mut others = Others { matching, next };
        self.drain(read, reader, false, &At { in_place: false, ..*at }, cx, row, &mut others)
    }

    /// Rows of which the number of the document is all that is asked.
    #[allow(clippy::too_many_arguments)]
    fn found_alone(
        &mut self,
        read: &Read,
        column: usize,
        (documents, given): (&dyn InOrder, &[u64]),
        at: &At<'_>,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        next: &mut dyn Consumer,
    ) -> SqlResult<Flow> {
        let mut values = vec![Value::Null; read.width];
        for (n, document) in in_order(documents) {
            if n % 64 == 0 {
                cx.state.poll()?;
            }
            if given.binary_search(&document).is_ok() {
                continue;
            }
            values[column] = Value::UInt(document);
            if self.meet(std::iter::once(&values[..]), at, cx, row, next)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Go)
    }
}

/// Documents with their places, the best first.
fn in_order(documents: &dyn InOrder) -> impl Iterator<Item = (usize, u64)> {
    (0..).map_while(|place| documents.at(place).map(|document| (place, document)))
}

/// Leaves out what a full-text search finds.
struct Others<'a> {
    matching: &'a Expr,
    next: &'a mut dyn Consumer,
}

impl Consumer for Others<'_> {
    fn row(&mut self, exec: &mut Exec<'_>, cx: &mut EvalCx<'_>, row: &Row<'_>) -> SqlResult<Flow> {
        match self.matching.eval_bool(cx, row)? {
            Some(true) => Ok(Flow::Go),
            _ => self.next.row(exec, cx, row),
        }
    }

    fn pause(&mut self, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        self.next.pause(cx)
    }
}

/// The column with the numbers of documents, if no other one is asked for.
fn only_document(read: &Read, info: &TableInfo) -> Option<usize> {
    let column = vaquita_engine::fulltext::doc_id_column(&info.table)?;
    read.columns.iter().all(|wanted| *wanted == column).then_some(column)
}

/// How many rows a search finds, where they are all to be seen; else they are to be read.
pub(in crate::query) fn count_found(
    block: &BlockPlan,
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
) -> SqlResult<Option<u64>> {
    let [read] = &block.reads[..] else { return Ok(None) };
    let Path::FullText { matching, .. } = &read.path else { return Ok(None) };
    if lock_of(read, cx) != ReadLock::None {
        return Ok(None);
    }
    let found = matching.documents(cx, row, None)?;
    Ok(found.all_seen.then_some(found.count as u64))
}
