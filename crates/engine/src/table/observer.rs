//! Who is told of changes of a table's rows, and how a row is seen that has changed.
//!
//! An observer belongs to one object of a table: who uses that object tells it. So it is put into a new object while nobody
//! uses the table, and nobody changes rows behind its back as long as that object is the one of its name.

use super::{Field, Table};
use std::fmt;

/// Where the values of a row come from.
pub trait Columns {
    /// A user column; of a value off the page as much as indexes need.
    fn column(&self, table: &Table, column: usize) -> Field<'_>;
    /// DB_ROW_ID.
    fn row_id(&self) -> &[u8];
}

/// A row before and after a change of one transaction, or after that was taken back.
#[derive(Clone, Copy)]
pub(crate) struct RowChange<'r> {
    /// `None`: there was none with its clustered key, or only a deleted one.
    pub(crate) before: Option<&'r dyn Columns>,
    /// `None`: there is none any more.
    pub(crate) after: Option<&'r dyn Columns>,
    /// Whether columns change that indexes are ordered by, those being built among them. If not, such columns may not be there
    /// to be looked at.
    pub(crate) order_changes: bool,
    /// It is an earlier change that is taken back, which may not have been told.
    pub(crate) taken_back: bool,
}

/// Somebody who has to know of every change of a row.
///
/// Told by whoever changes the row: after the clustered record has changed, before the lock on the row goes, under no latch. So
/// changes of one row are told in their order, and all of them before the transaction ends. A change that fails half-way may
/// not be told; that it is taken back always is.
pub(crate) trait RowObserver: Send + Sync + fmt::Debug {
    /// A row has changed.
    fn row_changed(&self, table: &Table, change: &RowChange<'_>);
}
