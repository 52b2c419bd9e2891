//! Whether a table's rows may have changed since they were read: for those who keep what they have made of the rows of a table and
//! want to know at no cost when that is out of date.
//!
//! A table has a mark. Transactions set it when they are about to change rows, which costs them a look at a word that is
//! hardly ever written: the mark stays until somebody who watches takes it away. A [`Watch`] is made *before* the rows are
//! read.
//!
//! # Why nothing is missed
//! A transaction sets the mark (W2) after it was granted the table lock of its changes (W1), and gives that lock back (W4)
//! after its changes are visible (W3). A watch takes the mark away (R1), then asks whether anybody holds such a lock (R2); the
//! rows are read after that (R3). The mutex of the table's locks orders W1, W4 and R2. If R2 comes before W1, W2 comes
//! after R1 and its mark stays. If R2 comes after W4, R3 sees the changes. If it is between them, the watch says from the
//! beginning that the rows may have changed.

use crate::core::Core;
use crate::table::Table;
use std::sync::Arc;

/// A table as it was at a moment.
#[derive(Debug)]
pub struct Watch {
    table: Arc<Table>,
    word: u64,
    /// Somebody was changing rows at that moment.
    open: bool,
}

impl Watch {
    /// From now on. What is read after this call, in a view that is opened after it or without any, is what is watched.
    pub fn new(core: &Core, table: &Arc<Table>) -> Watch {
        let word = table.mark.take();
        let locks = core.txn.locks();
        let open = match &table.parts {
            Some(parts) => parts.tables.iter().any(|part| locks.is_being_changed(part.id)),
            None => locks.is_being_changed(table.id),
        };
        Watch { table: table.clone(), word, open }
    }

    /// Whether the rows, or the table itself, may be others by now.
    pub fn may_have_changed(&self) -> bool {
        self.open || self.table.is_gone() || self.table.mark.word() != self.word
    }
}
