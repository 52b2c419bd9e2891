//! What there is: databases, tables, and everything the SYS tables say, for SHOW and `INFORMATION_SCHEMA.INNODB_SYS_*`.

use crate::dict::load::TableRow;
use crate::dict::rows::{self, SysRow};
use crate::dict::{Dictionary, sys_tables};
use crate::error::Result;
use crate::partition::whole_name;
use crate::table::Table;
use std::collections::BTreeSet;
use std::sync::Arc;
use vaquita_base::{IndexId, PageNo, SpaceId, TableId};
use vaquita_format::index_def::RowFormat;
use vaquita_storage::Storage;

/// INNODB_SYS_TABLES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysTableRow {
    /// Number.
    pub id: TableId,
    /// `database/table`.
    pub name: String,
    /// TYPE.
    pub flags: u32,
    /// Columns; a hidden FTS_DOC_ID counts.
    pub n_cols: u32,
    /// MIX_LEN.
    pub flags2: u32,
    /// Tablespace.
    pub space: SpaceId,
    /// Row format.
    pub row_format: RowFormat,
}

/// INNODB_SYS_COLUMNS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysColumnRow {
    /// Table.
    pub table: TableId,
    /// Name.
    pub name: String,
    /// Position, from 0.
    pub pos: u32,
    /// Main type.
    pub mtype: u32,
    /// Precise type.
    pub prtype: u32,
    /// Length.
    pub len: u32,
}

/// INNODB_SYS_INDEXES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysIndexRow {
    /// Number.
    pub id: IndexId,
    /// Name.
    pub name: String,
    /// Table.
    pub table: TableId,
    /// Type bits.
    pub kind: u32,
    /// Columns of its key.
    pub n_fields: u32,
    /// Root.
    pub root: PageNo,
    /// Tablespace.
    pub space: SpaceId,
}

/// INNODB_SYS_FIELDS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysFieldRow {
    /// Index.
    pub index: IndexId,
    /// Column.
    pub name: String,
    /// POS as stored.
    pub pos: u32,
}

/// INNODB_SYS_FOREIGN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysForeignRow {
    /// `database/constraint`.
    pub id: String,
    /// Child.
    pub child: String,
    /// Parent.
    pub parent: String,
    /// Columns.
    pub n_cols: u32,
    /// Type bits.
    pub kind: u32,
}

/// INNODB_SYS_FOREIGN_COLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysForeignColumnRow {
    /// Constraint.
    pub id: String,
    /// Column of the child.
    pub child_column: String,
    /// Column of the parent.
    pub parent_column: String,
    /// Position.
    pub pos: u32,
}

/// INNODB_SYS_TABLESPACES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysTablespaceRow {
    /// Number.
    pub space: SpaceId,
    /// Name of its table.
    pub name: String,
    /// FSP flags.
    pub flags: u32,
}

/// INNODB_SYS_DATAFILES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysDatafileRow {
    /// Number.
    pub space: SpaceId,
    /// File.
    pub path: String,
}

impl Dictionary {
    /// Databases, in the order of their names: directories with a `db.opt`, and what tables are in.
    ///
    /// # Errors
    /// Errors of reading the folder and the dictionary.
    pub fn databases(&self, storage: &Storage) -> Result<Vec<String>> {
        let io = |e: vaquita_io::Error| crate::error::Error::Storage(e.into());
        let mut out = BTreeSet::new();
        for entry in storage.fs().list_dir(&storage.options().dir).map_err(io)? {
            if storage.fs().is_dir(&entry)
                && storage.fs().exists(&entry.join("db.opt"))
                && let Some(name) = entry.file_name()
            {
                out.insert(name.to_string_lossy().into_owned());
            }
        }
        for row in self.sys_tables(storage)? {
            if let Some((database, _)) = row.name.split_once('/') {
                out.insert(database.to_owned());
            }
        }
        Ok(out.into_iter().collect())
    }

    /// Tables of a database, `database/table`, in the order of their names; those of FULLTEXT indexes are left out, and partitioned ones are one each.
    ///
    /// # Errors
    /// Errors of reading the dictionary.
    pub fn tables(&self, storage: &Storage, database: &str) -> Result<Vec<String>> {
        let all = self.sys_tables(storage)?;
        let own = |name: &str| {
            name.strip_prefix(database)
                .and_then(|n| n.strip_prefix('/'))
                .is_some_and(|n| !n.starts_with("FTS_0"))
        };
        let mut names: Vec<String> = all.into_iter().map(|row| row.name).filter(|name| own(name)).collect();
        // Parts lie side by side, and stand for their table. With it the order may be another one.
        let whole = |name: &mut String| {
            let end = whole_name(name).map_or(name.len(), str::len);
            name.truncate(end);
        };
        names.iter_mut().for_each(whole);
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Names of all tables but the dictionary's own, in their order.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn user_tables(&self, storage: &Storage) -> Result<Vec<String>> {
        let all = self.list(storage, Some(&self.sys.core.tables))?;
        Ok(all.iter().map(|row| row.text(0)).filter(|name| name.contains('/')).collect())
    }

    fn list(&self, storage: &Storage, table: Option<&Arc<Table>>) -> Result<Vec<SysRow>> {
        let _latch = self.freeze();
        table.map_or(Ok(Vec::new()), |table| rows::read(storage, table.clustered(), &[]))
    }

    /// SYS_TABLES, in the order of the names; our own tables are left out.
    ///
    /// # Errors
    /// Errors of reading the dictionary.
    pub fn sys_tables(&self, storage: &Storage) -> Result<Vec<SysTableRow>> {
        let all = self.list(storage, Some(&self.sys.core.tables))?;
        let row = |row: &SysRow| {
            let row = TableRow::of(row);
            SysTableRow {
                row_format: row.row_format(),
                id: row.id,
                n_cols: row.n_cols & !vaquita_format::dict::n_cols::COMPACT,
                flags: row.flags,
                flags2: row.mix_len,
                space: row.space,
                name: row.name,
            }
        };
        Ok(all.iter().map(row).filter(|r| !sys_tables::OURS.contains(&r.name.as_str())).collect())
    }

    /// SYS_COLUMNS.
    ///
    /// # Errors
    /// Errors of reading the dictionary.
    pub fn sys_columns(&self, storage: &Storage) -> Result<Vec<SysColumnRow>> {
        let row = |r: &SysRow| SysColumnRow {
            table: TableId(r.number(0)),
            pos: r.u32(1),
            name: r.text(4),
            mtype: r.u32(5),
            prtype: r.u32(6),
            len: r.u32(7),
        };
        Ok(self.list(storage, Some(&self.sys.core.columns))?.iter().map(row).collect())
    }

    /// SYS_INDEXES.
    ///
    /// # Errors
    /// Errors of reading the dictionary.
    pub fn sys_indexes(&self, storage: &Storage) -> Result<Vec<SysIndexRow>> {
        let row = |r: &SysRow| SysIndexRow {
            table: TableId(r.number(0)),
            id: IndexId(r.number(1)),
            name: r.text(4),
            n_fields: r.u32(5),
            kind: r.u32(6),
            space: SpaceId(r.u32(7)),
            root: PageNo(r.u32(8)),
        };
        Ok(self.list(storage, Some(&self.sys.core.indexes))?.iter().map(row).collect())
    }

    /// SYS_FIELDS.
    ///
    /// # Errors
    /// Errors of reading the dictionary.
    pub fn sys_fields(&self, storage: &Storage) -> Result<Vec<SysFieldRow>> {
        let row = |r: &SysRow| SysFieldRow { index: IndexId(r.number(0)), pos: r.u32(1), name: r.text(4) };
        Ok(self.list(storage, Some(&self.sys.core.fields))?.iter().map(row).collect())
    }

    /// SYS_FOREIGN.
    ///
    /// # Errors
    /// Errors of reading the dictionary.
    pub fn sys_foreign(&self, storage: &Storage) -> Result<Vec<SysForeignRow>> {
        let row = |r: &SysRow| SysForeignRow {
            id: r.text(0),
            child: r.text(3),
            parent: r.text(4),
            n_cols: r.u32(5) & 0xFF_FFFF,
            kind: r.u32(5) >> 24,
        };
        Ok(self.list(storage, self.sys.foreign.as_ref())?.iter().map(row).collect())
    }

    /// SYS_FOREIGN_COLS.
    ///
    /// # Errors
    /// Errors of reading the dictionary.
    pub fn sys_foreign_cols(&self, storage: &Storage) -> Result<Vec<SysForeignColumnRow>> {
        let row = |r: &SysRow| SysForeignColumnRow {
            id: r.text(0),
            pos: r.u32(1),
            child_column: r.text(4),
            parent_column: r.text(5),
        };
        Ok(self.list(storage, self.sys.foreign_cols.as_ref())?.iter().map(row).collect())
    }

    /// SYS_TABLESPACES.
    ///
    /// # Errors
    /// Errors of reading the dictionary.
    pub fn sys_tablespaces(&self, storage: &Storage) -> Result<Vec<SysTablespaceRow>> {
        let row =
            |r: &SysRow| SysTablespaceRow { space: SpaceId(r.u32(0)), name: r.text(3), flags: r.u32(4) };
        Ok(self.list(storage, self.sys.spaces.as_ref())?.iter().map(row).collect())
    }

    /// SYS_DATAFILES.
    ///
    /// # Errors
    /// Errors of reading the dictionary.
    pub fn sys_datafiles(&self, storage: &Storage) -> Result<Vec<SysDatafileRow>> {
        let row = |r: &SysRow| SysDatafileRow { space: SpaceId(r.u32(0)), path: r.text(3) };
        Ok(self.list(storage, self.sys.files.as_ref())?.iter().map(row).collect())
    }
}
