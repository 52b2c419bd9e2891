//! Rows into trees: every index of a table, in a folder of its own, and out of it a file for a server.

use super::definition::{Identity, TableDef};
use std::cell::Cell;
use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vaquita_base::codec::{get_u56, put_u48};
use vaquita_base::{Lsn, PageNo, RollPtr, SpaceId, SystemClock, TrxId};
use vaquita_btree::{BulkBuilder, LatchMode, Tree, TreeReport, validate};
use vaquita_format::PageSize;
use vaquita_format::checksum::{self, ChecksumAlgorithm};
use vaquita_format::column::{DB_ROLL_PTR, DB_ROW_ID, DB_TRX_ID};
use vaquita_format::fil;
use vaquita_format::index_def::{FieldDef, IndexDef};
use vaquita_format::index_page::{SearchMode, SysFields};
use vaquita_format::record::compare::compare_fields;
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_format::value::Value;
use vaquita_io::{FlushMethod, RealDisk, RealDiskOptions};
use vaquita_storage::{LiveSettings, Options, Storage, SystemFile};

/// Why a table could not be built.
pub type BuildError = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, BuildError>;

/// A roll pointer that says: inserted, nothing before it.
const INSERTED: [u8; 7] = [0x80, 0, 0, 0, 0, 0, 0];

/// A row in its stored form: columns in table order.
#[derive(Debug, Clone)]
pub struct Row {
    id: [u8; 6],
    columns: Vec<Option<Vec<u8>>>,
}

/// A table being built.
#[derive(Debug)]
pub struct TableBuilder {
    table: TableDef,
    space: SpaceId,
    storage: Storage,
    trees: Vec<Tree>,
    entries: Vec<Vec<Source>>,
    next_row_id: Cell<u64>,
    trx_id: u64,
}

/// Where the field of an index entry comes from.
#[derive(Debug, Clone, Copy)]
enum Source {
    Column { at: usize, prefix_len: u32 },
    RowId,
    TrxId,
    RollPtr,
}

/// A built table: its tablespace and the description beside it.
#[derive(Debug, Clone)]
pub struct TableFiles {
    /// The tablespace.
    pub ibd: PathBuf,
    /// Its description.
    pub cfg: PathBuf,
}

impl TableBuilder {
    /// Begins a table in a new folder.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn create(
        dir: &Path,
        table: TableDef,
        identity: &Identity,
        checksums: ChecksumAlgorithm,
    ) -> Result<TableBuilder> {
        fs::create_dir_all(dir.join("test"))?;
        let options = Options {
            page_size: table.page_size,
            buffer_pool_size: 96 << 20,
            data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 12 << 20 }],
            flush_method: FlushMethod::NoSync,
            live: LiveSettings { checksum_algorithm: checksums, ..LiveSettings::default() },
            doublewrite: false,
            ..Options::new(dir)
        };
        let disk = Arc::new(RealDisk::new(RealDiskOptions::default()));
        let storage = Storage::open(disk, Arc::new(SystemClock::new()), options)?;
        let space = identity.space;
        storage.create_table_space(space, table.space_flags(), &format!("test/{}", table.name))?;
        let mut trees = Vec::new();
        for def in table.index_defs(&identity.indexes) {
            let mut mtr = storage.begin()?;
            mtr.keep_before_images();
            trees.push(Tree::create(&mut mtr, space, Arc::new(def))?);
            mtr.commit();
        }
        let entries = trees.iter().map(|t| sources(&table, t.index())).collect();
        Ok(TableBuilder { table, space, storage, trees, entries, next_row_id: Cell::new(0x200), trx_id: 1 })
    }

    /// The table's definition.
    pub fn table(&self) -> &TableDef {
        &self.table
    }

    /// The following changes carry the next transaction id.
    pub fn next_transaction(&mut self) {
        self.trx_id += 1;
    }

    /// The stored form of a row, with a row id of its own.
    ///
    /// # Errors
    /// A value that its column cannot hold.
    pub fn encode(&self, values: &[Value<'_>]) -> Result<Row> {
        assert_eq!(values.len(), self.table.columns.len(), "a value for each column");
        let format = self.table.row_format;
        let mut columns = Vec::with_capacity(values.len());
        for (column, value) in self.table.columns.iter().zip(values) {
            let stored = column.encode(value, format);
            columns.push(stored.map_err(|e| format!("{}: {value:?}: {e}", column.name()))?);
        }
        self.next_row_id.set(self.next_row_id.get() + 1);
        let mut id = [0; 6];
        put_u48(&mut id, 0, self.next_row_id.get());
        Ok(Row { id, columns })
    }

    /// Inserts a row into every index, over delete-marked entries with its keys if there are any. Unique keys other
    /// than the clustered one are not checked.
    ///
    /// # Errors
    /// A duplicate, a row too big, errors of the storage.
    pub fn insert(&self, row: &Row) -> Result<()> {
        let trx_id = self.trx_id_bytes();
        for (tree, sources) in self.trees.iter().zip(&self.entries) {
            let fields = self.entry(sources, row, &trx_id);
            self.insert_entry(tree, &Tuple::new(&fields))?;
        }
        Ok(())
    }

    fn insert_entry(&self, tree: &Tree, tuple: &Tuple<'_>) -> Result<()> {
        let n = tree.index().n_uniq_in_tree();
        let key = tuple.compare_first(n);
        match tree.lookup(&self.storage, &key, |found| found.is_deleted())? {
            Some(false) => return Err("a record with this key exists".into()),
            Some(true) => {
                tree.free_owned(&self.storage, &key, |_, _| true)?;
                let stored = tree.store(&self.storage, tuple)?;
                tree.update_record(&self.storage, &key, &stored.record)?;
            }
            None => {
                let stored = tree.store(&self.storage, tuple)?;
                tree.insert_record(&self.storage, &key, &stored.record)?;
            }
        }
        self.note_change(tree, &key)
    }

    /// What a transaction notes on the leaves of secondary indexes that it changed.
    fn note_change(&self, tree: &Tree, key: &Tuple<'_>) -> Result<()> {
        if tree.index().is_clustered() {
            return Ok(());
        }
        let mut mtr = self.storage.begin()?;
        let position = tree.search(&mut mtr, key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
        tree.raise_max_trx_id(&mut mtr, position.page(), TrxId(self.trx_id));
        mtr.commit();
        Ok(())
    }

    /// Marks a row deleted in every index, as DELETE does.
    ///
    /// # Errors
    /// If an index does not hold the row; errors of the storage.
    pub fn mark_deleted(&self, row: &Row) -> Result<()> {
        let trx_id = self.trx_id_bytes();
        for (tree, sources) in self.trees.iter().zip(&self.entries) {
            let fields = self.entry(sources, row, &trx_id);
            let n = tree.index().n_uniq_in_tree();
            let key = Tuple::new(&fields).compare_first(n);
            let sys = SysFields { trx_id: TrxId(self.trx_id), roll_ptr: RollPtr(get_u56(&INSERTED, 0)) };
            let mut mtr = self.storage.begin()?;
            let at = tree.search(&mut mtr, &key, SearchMode::LessOrEqual, LatchMode::Exclusive)?;
            if usize::from(at.found().low_matched) < n {
                return Err(missing(tree));
            }
            let sys = tree.index().is_clustered().then_some(sys);
            tree.set_delete_mark(&mut mtr, at.page(), at.found().low, true, sys)?;
            tree.raise_max_trx_id(&mut mtr, at.page(), TrxId(self.trx_id));
            mtr.commit();
        }
        Ok(())
    }

    /// Removes a row from every index, as purge does.
    ///
    /// # Errors
    /// If an index does not hold the row; errors of the storage.
    pub fn purge(&self, row: &Row) -> Result<()> {
        let trx_id = self.trx_id_bytes();
        for (tree, sources) in self.trees.iter().zip(&self.entries).rev() {
            let fields = self.entry(sources, row, &trx_id);
            let key = Tuple::new(&fields);
            tree.free_owned(&self.storage, &key, |_, _| true)?;
            tree.remove(&self.storage, &key)?.ok_or_else(|| missing(tree))?;
        }
        Ok(())
    }

    /// Fills the empty table with rows in the order of the clustered key, each index built in one go.
    ///
    /// # Errors
    /// Rows out of order, a row too big, errors of the storage.
    pub fn load_sorted(&self, rows: &[Row], fill_percent: u32) -> Result<()> {
        let trx_id = self.trx_id_bytes();
        for (tree, sources) in self.trees.iter().zip(&self.entries) {
            let mut entries: Vec<_> = rows.iter().map(|row| self.entry(sources, row, &trx_id)).collect();
            if !tree.index().is_clustered() {
                let plan = tree.index().compare_plan();
                let order = |a: &Vec<TupleField<'_>>, b: &Vec<TupleField<'_>>| {
                    let fields = plan.iter().zip(a).zip(b);
                    let mut each = fields.map(|((&cmp, a), b)| compare_fields(cmp, a.data, b.data));
                    each.find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
                };
                entries.sort_by(order);
            }
            let mut builder = BulkBuilder::new(tree, &self.storage, fill_percent);
            if !tree.index().is_clustered() {
                builder = builder.with_max_trx_id(TrxId(self.trx_id));
            }
            for fields in &entries {
                builder.push(&Tuple::new(fields))?;
            }
            builder.finish()?;
        }
        Ok(())
    }

    fn trx_id_bytes(&self) -> [u8; 6] {
        let mut bytes = [0; 6];
        put_u48(&mut bytes, 0, self.trx_id);
        bytes
    }

    /// The fields of a row's entry in an index.
    fn entry<'r>(&self, sources: &[Source], row: &'r Row, trx_id: &'r [u8; 6]) -> Vec<TupleField<'r>> {
        let field = |source: &Source| match *source {
            Source::RowId => TupleField::new(&row.id),
            Source::TrxId => TupleField::new(trx_id),
            Source::RollPtr => TupleField::new(&INSERTED),
            Source::Column { at, prefix_len: 0 } => TupleField::nullable(row.columns[at].as_deref()),
            Source::Column { at, prefix_len } => TupleField::nullable(
                row.columns[at].as_deref().map(|v| &v[..self.table.columns[at].prefix_of(v, prefix_len)]),
            ),
        };
        sources.iter().map(field).collect()
    }

    /// Checks every tree; the clustered one's report first.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn validate(&self) -> Result<Vec<TreeReport>> {
        self.trees.iter().map(|tree| Ok(validate(tree, &self.storage)?)).collect()
    }

    /// Shuts the folder down and writes the description; `autoinc` is the next AUTO_INCREMENT value.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn finish(self, autoinc: u64) -> Result<TableFiles> {
        self.storage.close()?;
        let folder = self.storage.options().dir.join("test");
        let name = &self.table.name;
        let files =
            TableFiles { ibd: folder.join(format!("{name}.ibd")), cfg: folder.join(format!("{name}.cfg")) };
        let indexes: Vec<(&IndexDef, PageNo)> =
            self.trees.iter().map(|tree| (&**tree.index(), tree.root())).collect();
        fs::write(&files.cfg, self.table.describe(self.space, &indexes, autoinc).write())?;
        Ok(files)
    }
}

fn missing(tree: &Tree) -> BuildError {
    format!("index {} does not hold the row", tree.index().name()).into()
}

/// Where the fields of an index's entries come from.
fn sources(table: &TableDef, index: &IndexDef) -> Vec<Source> {
    let source = |field: &FieldDef| match field.column.name.as_str() {
        DB_ROW_ID => Source::RowId,
        DB_TRX_ID => Source::TrxId,
        DB_ROLL_PTR => Source::RollPtr,
        name => {
            let at = table.columns.iter().position(|c| c.name() == name).expect("a field of the table");
            Source::Column { at, prefix_len: field.prefix_len }
        }
    };
    index.fields().iter().map(source).collect()
}

impl TableFiles {
    /// Stamps an LSN on every page: a server into whose folder the file is put must not find pages from its future.
    ///
    /// # Errors
    /// I/O errors.
    pub fn restamp(&self, size: PageSize, lsn: Lsn, checksums: ChecksumAlgorithm) -> Result<()> {
        let mut bytes = fs::read(&self.ibd)?;
        for page in bytes.chunks_exact_mut(size.physical()) {
            if page.iter().any(|&b| b != 0) {
                fil::set_both_lsn(page, size, lsn);
                checksum::stamp(page, size, checksums);
            }
        }
        Ok(fs::write(&self.ibd, bytes)?)
    }
}
