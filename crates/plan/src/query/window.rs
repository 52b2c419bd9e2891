//! Window functions of a block: what is evaluated for each row, and in which order rows are wanted.

use super::block::order_of;
use crate::tree::{OrderKey, SortValue, WindowFunction, WindowPass, WindowsPlan};
use vaquita_expr::window::{Bound, Distance, Frame, Window, WindowCall, WindowKind};
use vaquita_expr::{Expr, ResolvedColumn};
use vaquita_parser::ast::AggregateKind;
use vaquita_types::Kind;

/// The plan of the calls of a block; `None`: there are none.
pub(crate) fn plan(calls: Vec<WindowCall>) -> Option<Box<WindowsPlan>> {
    if calls.is_empty() {
        return None;
    }
    let mut plan =
        WindowsPlan { inputs: Vec::new(), calls: Vec::new(), passes: Vec::new(), sorted_input: false };
    let mut windows: Vec<&Window> = Vec::new();
    for takes_any_order in [false, true] {
        for (at, call) in
            calls.iter().enumerate().filter(|(_, c)| is_of_whole_partition(c) == takes_any_order)
        {
            let window = &call.window;
            let fits = |known: &&Window| {
                known.sorts_as(window) || takes_any_order && known.has_same_partitions(window)
            };
            match windows.iter().position(fits) {
                Some(pass) => plan.passes[pass].calls.push(at),
                None => {
                    plan.passes.push(pass_of(window, at));
                    windows.push(window);
                }
            }
        }
    }
    for call in calls {
        let planned = plan.function(call);
        plan.calls.push(planned);
    }
    // Rows are in every order that has no keys.
    if let Some(unordered) = plan.passes.iter().position(|pass| pass.keys().next().is_none()) {
        plan.comes_in_order_of(unordered);
    }
    Some(Box::new(plan))
}

/// Whether the result is the same for all rows of a partition, in whichever order they come.
fn is_of_whole_partition(call: &WindowCall) -> bool {
    use AggregateKind as K;
    let WindowKind::Aggregate(aggregate) = &call.kind else { return false };
    let exact = match aggregate.kind {
        K::CountStar | K::Count | K::Min | K::Max | K::BitAnd | K::BitOr | K::BitXor => true,
        // Sums of DOUBLE depend on the order in their last digits.
        K::Sum | K::Avg => aggregate.ty.kind == Kind::Decimal,
        _ => false,
    };
    let whole = call.window.frame.as_ref().is_none_or(|frame| {
        matches!((&frame.start, &frame.end), (Bound::UnboundedPreceding, Bound::UnboundedFollowing))
    });
    exact && whole && call.window.order.is_empty()
}

fn pass_of(window: &Window, call: usize) -> WindowPass {
    let key = |e: &Expr, descending: bool| OrderKey {
        value: SortValue::Expr(e.clone()),
        descending,
        how: order_of(e.ty()),
    };
    WindowPass {
        partition: window.partition.iter().map(|e| key(e, false)).collect(),
        order: window.order.iter().map(|(e, descending)| key(e, *descending)).collect(),
        calls: vec![call],
    }
}

impl WindowPass {
    /// All that it sorts by.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &OrderKey> {
        self.partition.iter().chain(&self.order)
    }
}

impl WindowsPlan {
    /// Rows come in the order of that pass: it is the first one.
    pub(crate) fn comes_in_order_of(&mut self, pass: usize) {
        let first = self.passes.remove(pass);
        self.passes.insert(0, first);
        self.sorted_input = true;
    }

    /// Has something evaluated for each row: its position.
    fn input(&mut self, e: &Expr) -> usize {
        self.inputs.iter().position(|known| known.same_as(e)).unwrap_or_else(|| {
            self.inputs.push(e.clone());
            self.inputs.len() - 1
        })
    }

    /// The column that stands for it.
    fn column(&mut self, e: &Expr) -> Expr {
        let column = self.input(e) as u16;
        Expr::column(ResolvedColumn { level: 0, table: 0, column, ty: e.ty().clone() })
    }

    fn function(&mut self, call: WindowCall) -> WindowFunction {
        let WindowCall { mut kind, args, count, window, .. } = call;
        let args = args.iter().map(|e| self.input(e)).collect();
        if let WindowKind::Aggregate(aggregate) = &mut kind {
            for arg in &mut aggregate.args {
                *arg = self.column(arg);
            }
        }
        let frame = window.frame.filter(|_| kind.has_frame());
        let is_value = |bound: &Bound| matches!(bound, Bound::Preceding(_) | Bound::Following(_));
        let of_values = frame.as_ref().filter(|f| !f.rows && (is_value(&f.start) || is_value(&f.end)));
        let by = match (of_values, window.order.first()) {
            (Some(_), Some((e, descending))) => Some((self.input(e), *descending)),
            _ => None,
        };
        let frame = frame.map(|frame| Frame {
            rows: frame.rows,
            start: self.bound(frame.start),
            end: self.bound(frame.end),
        });
        WindowFunction { kind, args, count, frame, by, ordered: !window.order.is_empty() }
    }

    fn bound(&mut self, of: Bound) -> Bound {
        match of {
            Bound::Preceding(Distance::Interval(e, how)) => {
                Bound::Preceding(Distance::Interval(self.column(&e), how))
            }
            Bound::Following(Distance::Interval(e, how)) => {
                Bound::Following(Distance::Interval(self.column(&e), how))
            }
            other => other,
        }
    }

    /// All that is evaluated on the block's rows.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let keys = self.passes.iter().flat_map(WindowPass::keys);
        self.inputs.iter().chain(keys.filter_map(|key| key.value.expr()))
    }
}
