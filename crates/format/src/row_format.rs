//! Row formats.

/// Row format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowFormat {
    /// The oldest: every field has an offset.
    Redundant,
    /// Null bitmap and lengths; off-page columns keep 768 bytes.
    Compact,
    /// COMPACT records whose off-page columns keep the reference only.
    Dynamic,
    /// DYNAMIC records in compressed pages.
    Compressed,
}

impl RowFormat {
    /// Whether records have the COMPACT header, null bitmap and lengths.
    #[inline]
    pub const fn is_comp(self) -> bool {
        !matches!(self, RowFormat::Redundant)
    }

    /// Bytes of an off-page column kept in the record before its reference.
    #[inline]
    pub const fn off_page_prefix(self) -> u32 {
        match self {
            RowFormat::Redundant | RowFormat::Compact => 768,
            RowFormat::Dynamic | RowFormat::Compressed => 0,
        }
    }
}
