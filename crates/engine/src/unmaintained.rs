//! Tables of a MySQL server with something that only the server keeps up.

/// What a MySQL server keeps of a table that is not kept up here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmaintained {
    /// It is one partition of a table: which rows belong into it, only the server knows.
    Partition,
    /// It is a part of a FULLTEXT index, or has one whose documents have no numbers.
    FullText,
    /// It has triggers.
    Triggers,
}

impl std::fmt::Display for Unmaintained {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Unmaintained::Partition => "it is a partition of a MySQL server's table",
            Unmaintained::FullText => "a FULLTEXT index has its documents here",
            Unmaintained::Triggers => "it has triggers of a MySQL server",
        })
    }
}
