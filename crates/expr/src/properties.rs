//! What is known of an expression: when it changes, which tables it looks at.

/// Table slots of a query block, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TableSet(pub u64);

impl TableSet {
    /// The set of one slot.
    pub fn of(table: u16) -> TableSet {
        TableSet(1 << (table & 63))
    }

    /// Both together.
    #[must_use]
    pub fn union(self, other: TableSet) -> TableSet {
        TableSet(self.0 | other.0)
    }

    /// Whether all of these are in `other`.
    pub fn is_subset(self, other: TableSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// When the value of an expression can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Constness {
    /// Never.
    Const,
    /// Between executions of the plan: parameters, NOW(), variables, rows of outer query blocks.
    Execution,
    /// From row to row: columns, aggregates, RAND(), assignments.
    Row,
}
