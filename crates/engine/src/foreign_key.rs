//! What a foreign key is.

/// What happens to child rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReferentialAction {
    /// Refused, at once.
    #[default]
    Restrict,
    /// Refused; InnoDB checks at once here too.
    NoAction,
    /// The same is done to them.
    Cascade,
    /// Their columns become NULL.
    SetNull,
}

/// A foreign key of a child table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    /// `database/constraint`.
    pub id: String,
    /// Child table, `database/table`.
    pub child: String,
    /// Parent table, `database/table`.
    pub parent: String,
    /// Child columns by name.
    pub child_columns: Vec<String>,
    /// Parent columns by name.
    pub parent_columns: Vec<String>,
    /// When a parent row goes.
    pub on_delete: ReferentialAction,
    /// When a parent row's key changes.
    pub on_update: ReferentialAction,
}
