//! Tables: columns and keys, and what follows from them for the server and for Vaquita.

use super::column::Column;
use vaquita_base::{IndexId, PageNo, SpaceId};
use vaquita_format::PageSize;
use vaquita_format::cfg::{DescribedIndex, TableHead, TableMeta};
use vaquita_format::column::ColumnDef;
use vaquita_format::flags::{SpaceFlags, TableFlags};
use vaquita_format::index_def::{IndexDef, IndexSpec, KeyPart, RowFormat, cluster_key};

/// What a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE KEY.
    Unique,
    /// KEY.
    Plain,
}

/// A key: its name and its columns, as SQL lists them (`a, b(10)`).
#[derive(Debug, Clone)]
pub struct Key {
    kind: KeyKind,
    name: String,
    columns: String,
}

impl Key {
    /// The primary key.
    pub fn primary(columns: &str) -> Key {
        Key { kind: KeyKind::Primary, name: "PRIMARY".into(), columns: columns.into() }
    }

    /// A unique key.
    pub fn unique(name: &str, columns: &str) -> Key {
        Key { kind: KeyKind::Unique, name: name.into(), columns: columns.into() }
    }

    /// A key.
    pub fn plain(name: &str, columns: &str) -> Key {
        Key { kind: KeyKind::Plain, name: name.into(), columns: columns.into() }
    }

    fn sql(&self) -> String {
        match self.kind {
            KeyKind::Primary => format!("PRIMARY KEY ({})", self.columns),
            KeyKind::Unique => format!("UNIQUE KEY {} ({})", self.name, self.columns),
            KeyKind::Plain => format!("KEY {} ({})", self.name, self.columns),
        }
    }

    /// What it is.
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its columns, of these, and prefixes in bytes.
    ///
    /// # Panics
    /// If it names a column that is not among them.
    pub fn parts(&self, columns: &[Column]) -> Vec<KeyPart> {
        let part = |text: &str| {
            let (name, chars) = match text.trim().trim_end_matches(')').split_once('(') {
                Some((name, chars)) => (name, chars.parse::<u32>().expect("a prefix has a length")),
                None => (text.trim(), 0),
            };
            let at = columns.iter().position(|c| c.name() == name).expect("a key part names a column");
            KeyPart::prefix(at, chars * u32::from(columns[at].def.mbmaxlen.max(1)))
        };
        self.columns.split(',').map(part).collect()
    }
}

/// A table to be built. Keys stand in the order in which the server sorts them: primary, unique of NOT NULL columns,
/// other unique ones, the rest.
#[derive(Debug, Clone)]
pub struct TableDef {
    /// Name of the table.
    pub name: String,
    /// Row format; COMPRESSED cannot be built.
    pub row_format: RowFormat,
    /// Page size of the folder.
    pub page_size: PageSize,
    /// Columns.
    pub columns: Vec<Column>,
    /// Keys.
    pub keys: Vec<Key>,
}

/// Numbers that the dictionary of some server has given to a table.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its tablespace.
    pub space: SpaceId,
    /// Its indexes, in order.
    pub indexes: Vec<IndexId>,
}

impl Identity {
    /// Numbers that no server knows, for a table that will be imported.
    pub fn foreign(table: &TableDef) -> Identity {
        let n = table.keys.len() as u64 + 1;
        Identity { space: SpaceId(4_711), indexes: (0..n).map(|i| IndexId(90_001 + i)).collect() }
    }

    /// The numbers that a server wrote into a table's `.cfg`.
    pub fn of_cfg(cfg: &TableMeta) -> Identity {
        let space = cfg.indexes.first().expect("a table has a clustered index").space;
        Identity { space, indexes: cfg.indexes.iter().map(|i| i.id).collect() }
    }
}

impl TableDef {
    /// A table with columns as [`Column::parse`] reads them.
    pub fn new(name: &str, row_format: RowFormat, columns: &[&str], keys: Vec<Key>) -> TableDef {
        let columns = columns.iter().map(|sql| Column::parse(sql)).collect();
        TableDef { name: name.into(), row_format, page_size: PageSize::DEFAULT, columns, keys }
    }

    /// The same table in a folder of this page size.
    ///
    /// # Panics
    /// If there is no such page size.
    #[must_use]
    pub fn with_page_size(mut self, bytes: usize) -> TableDef {
        self.page_size = PageSize::new(bytes).expect("a page size");
        self
    }

    /// The same table under another name.
    #[must_use]
    pub fn named(mut self, name: &str) -> TableDef {
        self.name = name.into();
        self
    }

    /// The statement that creates it on a server.
    pub fn create_sql(&self) -> String {
        let columns = self.columns.iter().map(|c| c.sql.clone());
        let parts: Vec<String> = columns.chain(self.keys.iter().map(Key::sql)).collect();
        format!(
            "CREATE TABLE {} ({}) ENGINE=InnoDB DEFAULT CHARSET=latin1 ROW_FORMAT={:?}",
            self.name,
            parts.join(", "),
            self.row_format
        )
    }

    /// The columns as InnoDB describes them.
    pub fn column_defs(&self) -> Vec<ColumnDef> {
        self.columns.iter().map(|c| c.def.clone()).collect()
    }

    /// The indexes, the clustered one first, with these numbers.
    ///
    /// # Panics
    /// If there are fewer numbers than indexes, or a key names no column.
    pub fn index_defs(&self, ids: &[IndexId]) -> Vec<IndexDef> {
        let columns = self.column_defs();
        let parts: Vec<Vec<KeyPart>> = self.keys.iter().map(|k| k.parts(&self.columns)).collect();
        let primary = self.keys.iter().position(|k| k.kind == KeyKind::Primary).map(|i| &parts[i][..]);
        let unique = self.keys.iter().zip(&parts).filter(|(k, _)| k.kind == KeyKind::Unique);
        let key = cluster_key(&columns, primary, unique.map(|(_, p)| &p[..]));
        let at = key.and_then(|key| parts.iter().position(|p| p.as_ptr() == key.as_ptr()));
        let mut ids = ids.iter();
        let mut spec = |name: &str| IndexSpec {
            id: *ids.next().expect("a number for each index"),
            name: name.into(),
            row_format: self.row_format,
            page_size: self.page_size,
        };
        let name = at.map_or("GEN_CLUST_INDEX", |at| self.keys[at].name.as_str());
        let mut defs = vec![IndexDef::clustered(spec(name), &columns, key).expect("a clustered index")];
        for (i, key) in self.keys.iter().enumerate().filter(|&(i, _)| Some(i) != at) {
            let unique = key.kind != KeyKind::Plain;
            let def = IndexDef::secondary(spec(&key.name), &columns, &parts[i], unique, &defs[0]);
            defs.push(def.expect("a secondary index"));
        }
        defs
    }

    /// The columns of the clustered key, by which its rows are ordered; `None` if that is the hidden row id.
    pub fn clustered_columns(&self) -> Option<String> {
        let ids = vec![IndexId(0); self.keys.len() + 1];
        let clustered = self.index_defs(&ids).swap_remove(0);
        let key = &clustered.fields()[..clustered.n_uniq()];
        let names: Vec<&str> = key.iter().map(|f| f.column.name.as_str()).collect();
        (!clustered.is_generated()).then(|| names.join(", "))
    }

    fn is_dynamic(&self) -> bool {
        matches!(self.row_format, RowFormat::Dynamic | RowFormat::Compressed)
    }

    /// Flags of its tablespace.
    ///
    /// # Panics
    /// If page size and row format do not go together.
    pub fn space_flags(&self) -> SpaceFlags {
        SpaceFlags::new(self.page_size, self.is_dynamic(), false).expect("legal flags")
    }

    /// What stands in the `.cfg` beside its tablespace.
    pub fn describe(&self, space: SpaceId, indexes: &[(&IndexDef, PageNo)], autoinc: u64) -> TableMeta {
        let comp = u32::from(self.row_format.is_comp());
        let head = TableHead {
            hostname: "vaquita".into(),
            name: format!("test/{}", self.name),
            autoinc,
            page_size: self.page_size,
            flags: TableFlags::new(self.page_size, self.is_dynamic(), false).encode() & !1 | comp,
            space,
        };
        let user_defined = |def: &IndexDef| {
            let key = self.keys.iter().find(|k| k.name == def.name());
            key.map_or(0, |k| k.parts(&self.columns).len())
        };
        let described: Vec<_> = indexes
            .iter()
            .map(|&(def, root)| DescribedIndex::Tree { def, root, n_user_defined: user_defined(def) })
            .collect();
        TableMeta::describe(head, &self.column_defs(), &described)
    }
}
