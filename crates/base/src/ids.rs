//! Newtypes of every id and position that crosses a crate boundary.

use std::fmt;

/// The page number that stands for "no page" in InnoDB's files.
pub const FIL_NULL: u32 = 0xFFFF_FFFF;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $inner);

        impl $name {
            /// The bare number.
            #[inline]
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl From<$inner> for $name {
            #[inline]
            fn from(n: $inner) -> Self {
                Self(n)
            }
        }
    };
}

id!(
    /// Number of a tablespace; 0 is the system tablespace.
    SpaceId(u32)
);
id!(
    /// Number of a page within its tablespace, from 0.
    PageNo(u32)
);
id!(
    /// Byte position in the redo stream, block headers and trailers included.
    Lsn(u64)
);
id!(
    /// Transaction id, 48 bits on disk.
    TrxId(u64)
);
id!(
    /// Roll pointer, 56 bits on disk: where the undo record of a row version lies.
    RollPtr(u64)
);
id!(
    /// Number of an index, unique in a database.
    IndexId(u64)
);
id!(
    /// Number of a table, unique in a database.
    TableId(u64)
);
id!(
    /// Number of a file segment, unique in a tablespace.
    SegmentId(u64)
);
id!(
    /// Number of a record in a page's heap: 0 infimum, 1 supremum, user records from 2.
    HeapNo(u16)
);
id!(
    /// Byte offset in a page.
    PageOffset(u16)
);

impl SpaceId {
    /// The system tablespace (`ibdata1` and its followers).
    pub const SYSTEM: SpaceId = SpaceId(0);
    /// The tablespace of temporary tables, whose changes are not logged; the number that MySQL 8 has for it.
    pub const TEMPORARY: SpaceId = SpaceId(0xFFFF_FFFD);
}

impl TableId {
    /// The first of temporary tables: their numbers are a process's own, and no dictionary's.
    pub const FIRST_TEMPORARY: TableId = TableId(1 << 62);

    /// Whether it is a temporary table's.
    #[inline]
    pub const fn is_temporary(self) -> bool {
        self.0 >= Self::FIRST_TEMPORARY.0
    }
}

impl PageNo {
    /// "No page", as it is stored.
    pub const NULL: PageNo = PageNo(FIL_NULL);

    /// Whether this is "no page".
    #[inline]
    pub const fn is_null(self) -> bool {
        self.0 == FIL_NULL
    }

    /// `None` for "no page".
    #[inline]
    pub const fn some(self) -> Option<PageNo> {
        if self.is_null() { None } else { Some(self) }
    }
}

impl Lsn {
    /// Before all log.
    pub const ZERO: Lsn = Lsn(0);
    /// After all log.
    pub const MAX: Lsn = Lsn(u64::MAX);
}

/// A page: which tablespace, which page in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId {
    /// The tablespace.
    pub space: SpaceId,
    /// The page in it.
    pub page_no: PageNo,
}

impl PageId {
    /// Joins the two halves.
    #[inline]
    pub const fn new(space: SpaceId, page_no: PageNo) -> Self {
        Self { space, page_no }
    }

    /// Both halves in one word, space in the high half; ordered as the pair is.
    #[inline]
    pub const fn as_u64(self) -> u64 {
        (self.space.0 as u64) << 32 | self.page_no.0 as u64
    }

    /// Reverse of [`PageId::as_u64`].
    #[inline]
    pub const fn from_u64(word: u64) -> Self {
        Self { space: SpaceId((word >> 32) as u32), page_no: PageNo(word as u32) }
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.space, self.page_no)
    }
}

impl fmt::Debug for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageId({}:{})", self.space, self.page_no)
    }
}
