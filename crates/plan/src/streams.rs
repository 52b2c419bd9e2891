//! Derived tables whose rows are handed on as they come instead of being kept: those that are read once, before all other tables
//! of a block that runs once in its statement.
//!
//! What can be seen of the difference is the order in which things happen, so where user variables are set, or subqueries and
//! stored functions run, rows are kept. A statement that changes rows keeps them, too: it may change what it reads.

use crate::tree::{BlockPlan, Body, QueryPlan, Source, Step};
use std::sync::Arc;
use vaquita_expr::Expr;

/// Marks them in a query that runs once.
pub(crate) fn mark(plan: &mut QueryPlan) {
    match &mut plan.body {
        Body::Block(block) => mark_block(block),
        Body::Union { parts } => parts.iter_mut().for_each(|part| mark(&mut part.plan)),
        Body::SetOperation(op) => {
            mark(&mut op.left);
            mark(&mut op.right);
        }
        Body::Recursive(recursion) => mark(&mut recursion.first),
        Body::Values { .. } => {}
    }
}

fn mark_block(block: &mut BlockPlan) {
    if !is_quiet(block) {
        return;
    }
    let Some(Step::Table { slot, .. }) = block.steps.first() else { return };
    let Some(read) = block.reads.get_mut(*slot) else { return };
    let Source::Derived(plan) = &mut read.source else { return };
    // One that others name, too, is kept for them.
    let Some(plan) = Arc::get_mut(plan).filter(|_| read.hash.is_none() && read.making.level == 1) else {
        return;
    };
    read.streamed = blocks_are_quiet(plan);
    mark(plan);
}

fn blocks_are_quiet(plan: &QueryPlan) -> bool {
    match &plan.body {
        Body::Block(block) => is_quiet(block),
        Body::Values { subqueries, .. } => subqueries.is_empty(),
        _ => plan.parts().into_iter().all(blocks_are_quiet),
    }
}

/// Whether nothing but its rows can be seen of a block.
fn is_quiet(block: &BlockPlan) -> bool {
    fn all_quiet<'e>(mut list: impl Iterator<Item = &'e Expr>) -> bool {
        list.all(|e| !e.assigns())
    }
    fn steps_are_quiet(steps: &[Step]) -> bool {
        steps.iter().all(|step| match step {
            Step::Table { filter, .. } => all_quiet(filter.iter()),
            Step::Outer { steps, before, filter, .. } => {
                steps_are_quiet(steps) && all_quiet(before.iter().chain(filter))
            }
        })
    }
    let keys = block.order.iter().chain(block.group.iter().flat_map(|group| &group.keys));
    let exprs = block.items.iter().chain(&block.const_filter).chain(&block.having);
    !block.has_subquery
        && all_quiet(exprs.chain(keys.filter_map(|key| key.value.expr())))
        && steps_are_quiet(&block.steps)
}
