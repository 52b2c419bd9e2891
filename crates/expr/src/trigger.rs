//! Triggers: found when a statement that changes rows is planned ([`super::stored::triggers_of`]), fired while it runs, by
//! whoever stands above and runs statements.

use super::EvalCx;
use std::fmt::Debug;
use std::sync::Arc;
use vaquita_parser::ast::TriggerEvent;
use vaquita_types::{SqlResult, Value};

/// A compiled trigger.
pub trait Trigger: Debug + Send + Sync {
    /// When it is fired: before (true) or after the change of a row, and of what change.
    fn fired_at(&self) -> (bool, TriggerEvent);

    /// Columns of the row that it looks at or sets.
    fn columns(&self) -> &[usize];

    /// Fires it. No page is latched.
    ///
    /// # Errors
    /// Of its body; 1142, 1143 of what its definer may not do.
    fn fire(&self, cx: &mut EvalCx<'_>, rows: &mut TriggerRows<'_>) -> SqlResult<()>;
}

/// The row that a trigger is fired for: values by the columns of its table.
#[derive(Debug)]
pub struct TriggerRows<'r> {
    /// `OLD`; empty: there is none.
    pub old: &'r [Value<'static>],
    /// `NEW`; empty: there is none.
    pub new: &'r mut [Value<'static>],
    /// Columns of `NEW` that were set.
    pub set: Vec<usize>,
}

/// The triggers of a table that a statement may fire.
#[derive(Debug, Default)]
pub struct TableTriggers {
    /// In the order in which they are fired.
    list: Vec<Arc<dyn Trigger>>,
    /// Columns that any of them looks at or sets, in order, each once.
    pub columns: Box<[usize]>,
}

impl TableTriggers {
    /// Triggers in the order in which they are fired.
    pub fn new(list: Vec<Arc<dyn Trigger>>) -> TableTriggers {
        let mut columns: Vec<usize> = list.iter().flat_map(|t| t.columns().iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        TableTriggers { list, columns: columns.into() }
    }

    /// Those of one moment.
    pub fn of(&self, before: bool, event: TriggerEvent) -> impl Iterator<Item = &Arc<dyn Trigger>> {
        self.list.iter().filter(move |trigger| trigger.fired_at() == (before, event))
    }

    /// Whether there are some of one moment.
    pub fn has(&self, before: bool, event: TriggerEvent) -> bool {
        self.of(before, event).next().is_some()
    }

    /// Whether any is fired by a kind of change.
    pub fn has_event(&self, event: TriggerEvent) -> bool {
        self.has(true, event) || self.has(false, event)
    }
}
