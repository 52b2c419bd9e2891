//! Tables of a MySQL server with something that only the server keeps up.

/// What a MySQL server keeps of a table that is not kept up here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmaintained {
    /// It is partitioned, or a part of a table that is, and which rows belong where is not known here.
    Partition,
    /// It is a part of a FULLTEXT index, or has one whose documents have no numbers.
    FullText,
    /// It has triggers that are not known here.
    Triggers,
}

impl std::fmt::Display for Unmaintained {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Unmaintained::Partition => "which of its rows belong to which partition is not known here",
            Unmaintained::FullText => "a FULLTEXT index has its documents here",
            Unmaintained::Triggers => "it has triggers of a MySQL server that are not known here",
        })
    }
}
