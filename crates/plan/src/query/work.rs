//! What a block will do, as its plan has it: for `max_join_size` and for the counters of SHOW STATUS.

use crate::tree::{BlockPlan, Body, KeyTest, Path, QueryPlan, Read, Source, Step, Work};
use vaquita_expr::Node;
use vaquita_types::Value;

/// Of a block that is planned.
pub(crate) fn work_of(block: &BlockPlan) -> Work {
    let group = block.group.as_ref();
    let mut walk = Walk { block, work: Work::default(), combinations: 1.0, tables: 0, by_index: false };
    // One row of an index is all that is read.
    if !group.is_some_and(|g| g.first_only) {
        walk.steps(&block.steps);
    }
    let Walk { mut work, combinations, tables, by_index, .. } = walk;
    work.gives = combinations;
    if let Some(limit) = &block.limit
        && let Node::Const(Value::Int(_) | Value::UInt(_)) = limit.count.node()
    {
        work.gives = work.gives.min(constant(limit.count.node()));
    }
    let one_group = group.is_some_and(|g| g.keys.is_empty());
    if one_group {
        work.gives = 1.0;
    }
    work.sorts = tables > 0 && !one_group;
    work.sorts_range = tables == 1 && by_index && group.is_none() && !block.distinct;
    work
}

fn constant(node: &Node) -> f64 {
    match node {
        Node::Const(Value::Int(n)) => *n as f64,
        Node::Const(Value::UInt(n)) => *n as f64,
        _ => f64::INFINITY,
    }
}

/// Rows that a query gives, estimated.
fn gives(query: &QueryPlan) -> f64 {
    match &query.body {
        Body::Block(block) => block.work.gives,
        Body::Values { rows, .. } => rows.len() as f64,
        Body::SetOperation(op) => gives(&op.left),
        Body::Union { .. } | Body::Recursive(_) => query.parts().into_iter().map(gives).sum(),
    }
}

struct Walk<'b> {
    block: &'b BlockPlan,
    work: Work,
    /// Of the rows of the tables so far.
    combinations: f64,
    /// Tables so far, those of which one row is found by a constant key excepted.
    tables: u32,
    /// The last one is read by an index.
    by_index: bool,
}

impl Walk<'_> {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Table { slot, .. } => self.table(&self.block.reads[*slot]),
                Step::Outer { steps, .. } => {
                    let before = self.combinations;
                    self.steps(steps);
                    // A row without partner is one all the same.
                    self.combinations = self.combinations.max(before);
                }
            }
        }
    }

    fn table(&mut self, read: &Read) {
        if is_constant(&read.path) {
            return;
        }
        let rows = match &read.source {
            Source::Stored(_) => Some(read.rows),
            Source::Derived(query) => Some(gives(query)),
            Source::Virtual(_) | Source::Recursive(_) | Source::Json(_) => None,
        };
        if let Some(rows) = rows {
            let found = self.combinations * rows * read.selectivity;
            self.work.examines += match &read.hash {
                Some(keys) if !keys.is_empty() => rows + found,
                _ => self.combinations * rows,
            };
            self.combinations = found;
        }
        let first = self.tables == 0;
        self.tables += 1;
        self.by_index = matches!(read.path, Path::Ref { .. } | Path::Range { .. });
        match (&read.path, first) {
            (Path::Full { .. } | Path::Rows, true) => self.work.scans = true,
            (Path::Full { .. } | Path::Rows, false) => self.work.full_joins += 1,
            (Path::Range { .. }, true) => self.work.ranges = true,
            (Path::Range { .. }, false) => self.work.range_joins += 1,
            (Path::Point { .. } | Path::Ref { .. } | Path::FullText { .. }, _) => {}
        }
    }
}

/// Whether a path leads to one row, the same for all rows of other tables.
fn is_constant(path: &Path) -> bool {
    let Path::Point { key, .. } = path else { return false };
    key.iter().all(|k| match &k.value {
        KeyTest::Value { expr, .. } => expr.tables().is_empty(),
        KeyTest::Null => true,
    })
}
