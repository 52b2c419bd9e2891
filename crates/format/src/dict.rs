//! The data dictionary's fixed points: its header page and the layouts of the SYS_* tables.
//!
//! Dictionary header, page 7 of the system tablespace:
//!
//! | off | size | field |
//! |---|---|---|
//! | 38 | 8 | row id: upper bound of the DB_ROW_ID values given, written every 256 |
//! | 46 | 8 | last table id given |
//! | 54 | 8 | last index id given |
//! | 62 | 4 | last space id given |
//! | 66 | 4 | unused, 10 |
//! | 70 | 4 | root of SYS_TABLES |
//! | 74 | 4 | root of SYS_TABLES, secondary index ID_IND |
//! | 78 | 4 | root of SYS_COLUMNS |
//! | 82 | 4 | root of SYS_INDEXES |
//! | 86 | 4 | root of SYS_FIELDS |
//! | 94 | 10 | segment header |
//!
//! The SYS_* tables are REDUNDANT tables of the system tablespace. Their numbers are big-endian without the flipped
//! sign of SQL integers; names are bytes, `database/table` in file name encoding. The first four describe
//! themselves here and nowhere else; the others are found through them.
//!
//! # Invariants
//! - I1: ids are given in increasing order and never again; those below [`FIRST_DYNAMIC_ID`] are reserved.
//! - I2: every DB_ROW_ID ever given is below the stored bound plus [`ROW_ID_MARGIN`].

use vaquita_base::codec::{get_u32, get_u64, put_u32, put_u64};
use vaquita_base::{IndexId, PageNo, SpaceId, TableId};

use crate::fil::{self, PageType};
use crate::flst::SegmentHeader;

/// The dictionary header page.
pub const PAGE: PageNo = PageNo(7);
/// Offset of the row id bound.
pub const ROW_ID: usize = 38;
/// Offset of the last table id.
pub const TABLE_ID: usize = 46;
/// Offset of the last index id.
pub const INDEX_ID: usize = 54;
/// Offset of the last space id.
pub const SPACE_ID: usize = 62;
/// Offset of the unused "mix id".
pub const MIX_ID: usize = 66;
/// Offset of the root of SYS_TABLES.
pub const TABLES_ROOT: usize = 70;
/// Offset of the root of ID_IND of SYS_TABLES.
pub const TABLE_IDS_ROOT: usize = 74;
/// Offset of the root of SYS_COLUMNS.
pub const COLUMNS_ROOT: usize = 78;
/// Offset of the root of SYS_INDEXES.
pub const INDEXES_ROOT: usize = 82;
/// Offset of the root of SYS_FIELDS.
pub const FIELDS_ROOT: usize = 86;
/// Offset of the segment header.
pub const SEGMENT: usize = 94;
/// The row id bound moves in steps of this many.
pub const ROW_ID_MARGIN: u64 = 256;
/// First id that is given to tables and indexes.
pub const FIRST_DYNAMIC_ID: u64 = 10;

const END: usize = SEGMENT + 10;

/// All fields of the dictionary header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DictHeader {
    /// Upper bound of the DB_ROW_ID values given.
    pub row_id: u64,
    /// Last table id given.
    pub table_id: TableId,
    /// Last index id given.
    pub index_id: IndexId,
    /// Last space id given.
    pub space_id: SpaceId,
    /// Root of SYS_TABLES.
    pub tables_root: PageNo,
    /// Root of ID_IND of SYS_TABLES.
    pub table_ids_root: PageNo,
    /// Root of SYS_COLUMNS.
    pub columns_root: PageNo,
    /// Root of SYS_INDEXES.
    pub indexes_root: PageNo,
    /// Root of SYS_FIELDS.
    pub fields_root: PageNo,
    /// Segment of the header page.
    pub segment: SegmentHeader,
}

impl DictHeader {
    /// Header of a new database, its trees at the pages MySQL gives them.
    pub fn new(segment: SegmentHeader) -> Self {
        Self {
            row_id: FIRST_DYNAMIC_ID,
            table_id: TableId(FIRST_DYNAMIC_ID),
            index_id: IndexId(FIRST_DYNAMIC_ID),
            space_id: SpaceId(0),
            tables_root: PageNo(8),
            table_ids_root: PageNo(9),
            columns_root: PageNo(10),
            indexes_root: PageNo(11),
            fields_root: PageNo(12),
            segment,
        }
    }

    /// Reads the header page.
    ///
    /// # Panics
    /// If `page` is shorter than the header.
    pub fn read(page: &[u8]) -> Self {
        let root = |at| PageNo(get_u32(page, at));
        Self {
            row_id: get_u64(page, ROW_ID),
            table_id: TableId(get_u64(page, TABLE_ID)),
            index_id: IndexId(get_u64(page, INDEX_ID)),
            space_id: SpaceId(get_u32(page, SPACE_ID)),
            tables_root: root(TABLES_ROOT),
            table_ids_root: root(TABLE_IDS_ROOT),
            columns_root: root(COLUMNS_ROOT),
            indexes_root: root(INDEXES_ROOT),
            fields_root: root(FIELDS_ROOT),
            segment: SegmentHeader::read(page, SEGMENT),
        }
    }

    /// Writes every field of the header page.
    ///
    /// # Panics
    /// If `page` is shorter than the header.
    pub fn write(&self, page: &mut [u8]) {
        put_u64(page, ROW_ID, self.row_id);
        put_u64(page, TABLE_ID, self.table_id.get());
        put_u64(page, INDEX_ID, self.index_id.get());
        put_u32(page, SPACE_ID, self.space_id.get());
        put_u32(page, MIX_ID, FIRST_DYNAMIC_ID as u32);
        for (at, root) in [
            (TABLES_ROOT, self.tables_root),
            (TABLE_IDS_ROOT, self.table_ids_root),
            (COLUMNS_ROOT, self.columns_root),
            (INDEXES_ROOT, self.indexes_root),
            (FIELDS_ROOT, self.fields_root),
        ] {
            put_u32(page, at, root.get());
        }
        page[SEGMENT..END].copy_from_slice(&self.segment.encode());
    }

    /// First row id to give after a restart that found this header.
    pub const fn next_row_id(&self) -> u64 {
        self.row_id.div_ceil(ROW_ID_MARGIN).saturating_add(1).saturating_mul(ROW_ID_MARGIN)
    }
}

/// Makes `page` the dictionary header page of a new database.
///
/// # Panics
/// If `page` is not a whole page.
pub fn init_page(page: &mut [u8], header: &DictHeader) {
    fil::init(page, SpaceId::SYSTEM, PAGE);
    fil::set_page_type(page, PageType::Sys);
    header.write(page);
}

/// Type of a column of a SYS_* table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SysType {
    /// Bytes of a name: mtype 1, any length.
    Name,
    /// Number of 4 bytes: mtype 6.
    U32,
    /// Number of 8 bytes: mtype 6.
    U64,
    /// DB_TRX_ID, 6 bytes.
    TrxId,
    /// DB_ROLL_PTR, 7 bytes.
    RollPtr,
}

impl SysType {
    /// Fixed length in bytes, `None` for names.
    pub const fn fixed_len(self) -> Option<usize> {
        match self {
            SysType::Name => None,
            SysType::U32 => Some(4),
            SysType::U64 => Some(8),
            SysType::TrxId => Some(6),
            SysType::RollPtr => Some(7),
        }
    }

    /// `mtype`, `prtype` and length as SYS_COLUMNS has them for the later SYS_* tables.
    pub const fn column_type(self) -> (u32, u32, u32) {
        match self {
            // The prtype of a name is the type code 4.
            SysType::Name => (1, 4, 0),
            SysType::U32 => (6, 0, 4),
            SysType::U64 => (6, 0, 8),
            SysType::TrxId => (8, 0x101, 6),
            SysType::RollPtr => (8, 0x102, 7),
        }
    }
}

/// A column of a SYS_* table, in the order of the clustered index record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SysColumn {
    /// Name.
    pub name: &'static str,
    /// Type.
    pub ty: SysType,
}

/// A secondary index of a SYS_* table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SysIndex {
    /// Name.
    pub name: &'static str,
    /// Positions, in the clustered record, of its own columns; the primary key follows them.
    pub columns: &'static [usize],
    /// Whether it is unique.
    pub unique: bool,
}

/// Layout of a SYS_* table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SysTable {
    /// Name.
    pub name: &'static str,
    /// Id, for the four that have a fixed one.
    pub id: Option<TableId>,
    /// Columns in the order of the clustered record: key, DB_TRX_ID, DB_ROLL_PTR, the rest.
    pub columns: &'static [SysColumn],
    /// Number of columns of the primary key.
    pub n_key: usize,
    /// Name of the clustered index.
    pub clustered: &'static str,
    /// Id of the clustered index, for the four that have a fixed one.
    pub clustered_id: Option<IndexId>,
    /// Secondary indexes.
    pub secondary: &'static [SysIndex],
}

impl SysTable {
    /// Position of a column in the clustered record.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == column)
    }

    /// Columns a user of the table sees: without DB_TRX_ID and DB_ROLL_PTR, in table order.
    pub fn user_columns(&self) -> impl Iterator<Item = SysColumn> + use<> {
        self.columns.iter().copied().filter(|c| !matches!(c.ty, SysType::TrxId | SysType::RollPtr))
    }
}

/// Id of ID_IND, the secondary index of SYS_TABLES.
pub const ID_IND: IndexId = IndexId(5);

macro_rules! columns {
    ($($name:literal $ty:ident),* $(,)?) => { &[$(SysColumn { name: $name, ty: SysType::$ty }),*] };
}

/// SYS_TABLES.
pub const SYS_TABLES: SysTable = SysTable {
    name: "SYS_TABLES",
    id: Some(TableId(1)),
    columns: columns![
        "NAME" Name, "DB_TRX_ID" TrxId, "DB_ROLL_PTR" RollPtr, "ID" U64, "N_COLS" U32, "TYPE" U32,
        "MIX_ID" U64, "MIX_LEN" U32, "CLUSTER_NAME" Name, "SPACE" U32,
    ],
    n_key: 1,
    clustered: "CLUST_IND",
    clustered_id: Some(IndexId(1)),
    secondary: &[SysIndex { name: "ID_IND", columns: &[3], unique: true }],
};

/// SYS_COLUMNS.
pub const SYS_COLUMNS: SysTable = SysTable {
    name: "SYS_COLUMNS",
    id: Some(TableId(2)),
    columns: columns![
        "TABLE_ID" U64, "POS" U32, "DB_TRX_ID" TrxId, "DB_ROLL_PTR" RollPtr, "NAME" Name, "MTYPE" U32,
        "PRTYPE" U32, "LEN" U32, "PREC" U32,
    ],
    n_key: 2,
    clustered: "CLUST_IND",
    clustered_id: Some(IndexId(2)),
    secondary: &[],
};

/// SYS_INDEXES.
pub const SYS_INDEXES: SysTable = SysTable {
    name: "SYS_INDEXES",
    id: Some(TableId(3)),
    columns: columns![
        "TABLE_ID" U64, "ID" U64, "DB_TRX_ID" TrxId, "DB_ROLL_PTR" RollPtr, "NAME" Name, "N_FIELDS" U32,
        "TYPE" U32, "SPACE" U32, "PAGE_NO" U32,
    ],
    n_key: 2,
    clustered: "CLUST_IND",
    clustered_id: Some(IndexId(3)),
    secondary: &[],
};

/// SYS_FIELDS.
pub const SYS_FIELDS: SysTable = SysTable {
    name: "SYS_FIELDS",
    id: Some(TableId(4)),
    columns: columns![
        "INDEX_ID" U64, "POS" U32, "DB_TRX_ID" TrxId, "DB_ROLL_PTR" RollPtr, "COL_NAME" Name,
    ],
    n_key: 2,
    clustered: "CLUST_IND",
    clustered_id: Some(IndexId(4)),
    secondary: &[],
};

/// SYS_FOREIGN.
pub const SYS_FOREIGN: SysTable = SysTable {
    name: "SYS_FOREIGN",
    id: None,
    columns: columns![
        "ID" Name, "DB_TRX_ID" TrxId, "DB_ROLL_PTR" RollPtr, "FOR_NAME" Name, "REF_NAME" Name, "N_COLS" U32,
    ],
    n_key: 1,
    clustered: "ID_IND",
    clustered_id: None,
    secondary: &[
        SysIndex { name: "FOR_IND", columns: &[3], unique: false },
        SysIndex { name: "REF_IND", columns: &[4], unique: false },
    ],
};

/// SYS_FOREIGN_COLS.
pub const SYS_FOREIGN_COLS: SysTable = SysTable {
    name: "SYS_FOREIGN_COLS",
    id: None,
    columns: columns![
        "ID" Name, "POS" U32, "DB_TRX_ID" TrxId, "DB_ROLL_PTR" RollPtr, "FOR_COL_NAME" Name,
        "REF_COL_NAME" Name,
    ],
    n_key: 2,
    clustered: "ID_IND",
    clustered_id: None,
    secondary: &[],
};

/// SYS_TABLESPACES.
pub const SYS_TABLESPACES: SysTable = SysTable {
    name: "SYS_TABLESPACES",
    id: None,
    columns: columns![
        "SPACE" U32, "DB_TRX_ID" TrxId, "DB_ROLL_PTR" RollPtr, "NAME" Name, "FLAGS" U32,
    ],
    n_key: 1,
    clustered: "SYS_TABLESPACES_SPACE",
    clustered_id: None,
    secondary: &[],
};

/// SYS_DATAFILES.
pub const SYS_DATAFILES: SysTable = SysTable {
    name: "SYS_DATAFILES",
    id: None,
    columns: columns!["SPACE" U32, "DB_TRX_ID" TrxId, "DB_ROLL_PTR" RollPtr, "PATH" Name],
    n_key: 1,
    clustered: "SYS_DATAFILES_SPACE",
    clustered_id: None,
    secondary: &[],
};

/// Every SYS_* table; the first four have fixed ids and roots.
pub const SYS_ALL: [&SysTable; 8] = [
    &SYS_TABLES,
    &SYS_COLUMNS,
    &SYS_INDEXES,
    &SYS_FIELDS,
    &SYS_FOREIGN,
    &SYS_FOREIGN_COLS,
    &SYS_TABLESPACES,
    &SYS_DATAFILES,
];

/// Bits of SYS_TABLES.N_COLS.
pub mod n_cols {
    /// The table is of the COMPACT family (COMPACT, DYNAMIC, COMPRESSED); MIX_LEN is valid.
    pub const COMPACT: u32 = 1 << 31;
}

/// Bit of SYS_TABLES.TYPE, of ours: the table's rows have versions.
pub const TYPE_ROW_VERSIONS: u32 = 1 << 15;

/// Bits of SYS_TABLES.MIX_LEN, valid with [`n_cols::COMPACT`] only.
pub mod mix_len {
    /// Temporary table.
    pub const TEMPORARY: u32 = 1;
    /// Has a hidden FTS_DOC_ID column.
    pub const HAS_DOC_ID: u32 = 2;
    /// Has a FULLTEXT index.
    pub const FULLTEXT: u32 = 4;
    /// An FTS_DOC_ID column is being added.
    pub const ADD_DOC_ID: u32 = 8;
    /// Has a tablespace of its own.
    pub const OWN_TABLESPACE: u32 = 16;
    /// Its tablespace is discarded.
    pub const DISCARDED: u32 = 32;
    /// Names of FULLTEXT auxiliary tables have their ids in hexadecimal.
    pub const FTS_HEX_NAMES: u32 = 64;
}

/// Bits of SYS_INDEXES.TYPE.
pub mod index_type {
    /// Clustered index.
    pub const CLUSTERED: u32 = 1;
    /// Unique index.
    pub const UNIQUE: u32 = 2;
    /// The change buffer's tree.
    pub const IBUF: u32 = 8;
    /// Marked corrupt.
    pub const CORRUPT: u32 = 16;
    /// FULLTEXT index: no tree.
    pub const FULLTEXT: u32 = 32;
}

/// Bits of the high byte of SYS_FOREIGN.N_COLS.
pub mod foreign_type {
    /// ON DELETE CASCADE.
    pub const DELETE_CASCADE: u32 = 1;
    /// ON DELETE SET NULL.
    pub const DELETE_SET_NULL: u32 = 2;
    /// ON UPDATE CASCADE.
    pub const UPDATE_CASCADE: u32 = 4;
    /// ON UPDATE SET NULL.
    pub const UPDATE_SET_NULL: u32 = 8;
    /// ON DELETE NO ACTION.
    pub const DELETE_NO_ACTION: u32 = 16;
    /// ON UPDATE NO ACTION.
    pub const UPDATE_NO_ACTION: u32 = 32;
    /// Shift of the type in N_COLS; the number of columns is below.
    pub const SHIFT: u32 = 24;
}

/// First byte of the name of an index that is being built.
pub const INDEX_BEING_BUILT: u8 = 0xFF;

/// SYS_FIELDS.POS: position and prefix length of an index field.
///
/// The prefix length is stored only if any field of the index is a prefix, and then for all of them.
#[inline]
pub const fn encode_field_pos(pos: u32, prefix_len: u32, index_has_prefix: bool) -> u32 {
    if index_has_prefix { pos << 16 | prefix_len } else { pos }
}

/// Reads SYS_FIELDS.POS of the `n`th field (from 0) of an index: position, prefix length in bytes or 0.
///
/// Position 0 looks the same in both forms; any later position leaves the high half empty only without prefixes.
#[inline]
pub const fn decode_field_pos(raw: u32, n: u32) -> (u32, u32) {
    if n > 0 && raw >> 16 == 0 { (raw, 0) } else { (raw >> 16, raw & 0xFFFF) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flst::FileAddress;

    #[test]
    fn header_of_a_new_database() {
        let segment = SegmentHeader { space: SpaceId(0), inode: FileAddress::new(PageNo(2), 626) };
        let mut page = vec![0u8; 16384];
        init_page(&mut page, &DictHeader::new(segment));
        let mut want = vec![];
        for n in [10u8, 10, 10] {
            want.extend([0, 0, 0, 0, 0, 0, 0, n]);
        }
        for n in [0, 10, 8, 9, 10, 11, 12, 0] {
            want.extend([0, 0, 0, n]);
        }
        want.extend([0, 0, 0, 0, 0, 0, 0, 2, 0x02, 0x72]);
        assert_eq!(page[38..104], want);
        assert_eq!(DictHeader::read(&page), DictHeader::new(segment));
        assert_eq!(DictHeader { row_id: 512, ..DictHeader::new(segment) }.next_row_id(), 768);
    }

    #[test]
    fn layouts_are_consistent() {
        for table in SYS_ALL {
            assert_eq!(table.position("DB_TRX_ID"), Some(table.n_key), "{}", table.name);
            assert_eq!(table.position("DB_ROLL_PTR"), Some(table.n_key + 1), "{}", table.name);
            assert_eq!(table.user_columns().count() + 2, table.columns.len());
            for index in table.secondary {
                assert!(index.columns.iter().all(|&c| c < table.columns.len()));
            }
        }
        assert_eq!(SYS_TABLES.columns[SYS_TABLES.secondary[0].columns[0]].name, "ID");
        assert_eq!(SYS_FOREIGN.columns[SYS_FOREIGN.secondary[1].columns[0]].name, "REF_NAME");
    }

    #[test]
    fn field_positions() {
        for (pos, prefix, any) in
            [(0, 0, false), (1, 0, false), (0, 0, true), (1, 0, true), (1, 20, true), (0, 8, true)]
        {
            assert_eq!(decode_field_pos(encode_field_pos(pos, prefix, any), pos), (pos, prefix));
        }
    }
}
