//! The data dictionary: tables found by name and number, built from the SYS_* tables of the system tablespace and one
//! table of our own for what MySQL keeps in `.frm` files.
//!
//! | part | module |
//! |---|---|
//! | the tables of the dictionary itself | [`sys_tables`] |
//! | a new folder | [`bootstrap`] |
//! | rows of the SYS tables | [`rows`] |
//! | definitions from rows | [`load`] |
//! | table objects from definitions | [`build`] |
//! | the tables of FULLTEXT indexes | [`fulltext`] |
//! | tables of several parts | `parts` |
//! | columns that came and went without their rows | [`row_versions`] |
//! | defaults, labels, comments as bytes | [`codec`] |
//! | files of a MySQL server | [`server_files`] |
//! | table objects in memory | [`cache`] |
//! | numbers | [`ids`] |
//! | what there is | [`list`] |
//! | objects of SQL that are not tables | [`objects`] |
//!
//! # Latching
//! One latch, taken before any page: shared while a definition is read, and by purge while it works on a row
//! ([`Dictionary::freeze`]); exclusively from the first to the last row of a change of a definition. Nobody works on files
//! meanwhile, neither makes them durable: what a change makes, files, trees, other names of files, is made before, and what it
//! leaves behind, or made in vain, goes afterwards, found by nobody. A table that is in memory is found without it. Folders of
//! databases have a latch of their own, held by who makes files in them or changes them.

mod bootstrap;
pub mod build;
mod cache;
pub mod codec;
pub(crate) mod fulltext;
pub(crate) mod ids;
pub mod list;
pub(crate) mod load;
pub mod objects;
mod parts;
pub mod row_versions;
pub(crate) mod rows;
pub(crate) mod server_files;
pub mod sys_tables;

pub use bootstrap::CreateSystem;

use crate::error::{Error, Result};
use crate::partition::Partitioning;
use crate::table::Table;
use crate::unmaintained::Unmaintained;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use sys_tables::CoreTables;
use vaquita_base::{PageId, SpaceId, TableId};
use vaquita_btree::Observer;
use vaquita_format::dict::{self as layout, DictHeader};
use vaquita_storage::Storage;
use vaquita_storage::buf::assert_no_page_latched;

/// The dictionary tables. Of the later ones a folder of an older server may lack some.
#[derive(Debug)]
pub(crate) struct SysTables {
    pub(crate) core: CoreTables,
    pub(crate) foreign: Option<Arc<Table>>,
    pub(crate) foreign_cols: Option<Arc<Table>>,
    pub(crate) spaces: Option<Arc<Table>>,
    pub(crate) files: Option<Arc<Table>>,
    /// SYS_VAQUITA_TABLES.
    pub(crate) extra: Option<Arc<Table>>,
    /// SYS_VAQUITA_DDL_LOG.
    pub(crate) ddl_log: Option<Arc<Table>>,
    /// SYS_VAQUITA_OBJECTS.
    pub(crate) objects: Option<Arc<Table>>,
}

impl SysTables {
    fn all(&self) -> impl Iterator<Item = &Arc<Table>> {
        let innodb = [&self.foreign, &self.foreign_cols, &self.spaces, &self.files];
        let ours = [&self.extra, &self.ddl_log, &self.objects];
        self.core.all().into_iter().chain(innodb.into_iter().chain(ours).flatten())
    }
}

/// The dictionary: a cache over its tables.
#[derive(Debug)]
pub struct Dictionary {
    pub(crate) sys: SysTables,
    observer: Option<Arc<dyn Observer>>,
    pub(crate) cache: cache::Cache,
    pub(crate) objects: objects::ObjectCache,
    ids: ids::Ids,
    /// The next number of an entry of the DDL log.
    next_log_id: AtomicU64,
    /// Who understands PARTITION BY.
    partitioning: OnceLock<Arc<dyn Partitioning>>,
    /// Who knows what a MySQL server keeps of a table.
    pub(crate) server_files: OnceLock<Arc<dyn server_files::ServerFileMaker>>,
    latch: RwLock<()>,
    folders: RwLock<()>,
}

impl Dictionary {
    /// Opens the dictionary of a folder. `observer` is told of structure changes of all trees: the lock manager's
    /// ([`vaquita_txn::LockSys::observer`]).
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn open(
        storage: &Storage,
        observer: Option<Arc<dyn Observer>>,
        table_definition_cache: usize,
    ) -> Result<Dictionary> {
        let core = CoreTables::open(storage, observer.as_ref())?;
        if !storage.options().read_only {
            sys_tables::create_missing(storage, &core)?;
        }
        let page = storage.pool().get_shared(PageId::new(SpaceId::SYSTEM, layout::PAGE))?;
        let ids = ids::Ids::new(&DictHeader::read(&page));
        drop(page);
        let sys = SysTables {
            core,
            foreign: None,
            foreign_cols: None,
            spaces: None,
            files: None,
            extra: None,
            ddl_log: None,
            objects: None,
        };
        let cache = cache::Cache::new(table_definition_cache);
        let next_log_id = AtomicU64::new(1);
        let mut dict = Dictionary {
            sys,
            observer,
            cache,
            objects: objects::ObjectCache::default(),
            ids,
            next_log_id,
            partitioning: OnceLock::new(),
            server_files: OnceLock::new(),
            latch: RwLock::default(),
            folders: RwLock::default(),
        };
        let load = |name: &str| dict.load(storage, name).map(|t| t.map(Arc::new));
        let foreign = load(layout::SYS_FOREIGN.name)?;
        let foreign_cols = load(layout::SYS_FOREIGN_COLS.name)?;
        let spaces = load(layout::SYS_TABLESPACES.name)?;
        let files = load(layout::SYS_DATAFILES.name)?;
        let extra = load(sys_tables::SYS_VAQUITA_TABLES.name)?;
        let ddl_log = load(sys_tables::SYS_VAQUITA_DDL_LOG.name)?;
        let core = dict.sys.core.clone();
        let objects = load(sys_tables::SYS_VAQUITA_OBJECTS.name)?;
        dict.sys = SysTables { core, foreign, foreign_cols, spaces, files, extra, ddl_log, objects };
        if let Some(log) = &dict.sys.ddl_log {
            *dict.next_log_id.get_mut() = rows::last_number(storage, log.clustered())? + 1;
        }
        Ok(dict)
    }

    /// Reads what objects there are: when no transaction of the dictionary is open any more.
    pub(crate) fn load_objects(&self, storage: &Storage) -> Result<()> {
        self.objects.load(storage, self.sys.objects.as_ref())
    }

    /// Says who understands PARTITION BY, before anybody uses tables that have it. Whoever has said so first does.
    pub fn set_partitioning(&self, partitioning: Arc<dyn Partitioning>) {
        let _ = self.partitioning.set(partitioning);
    }

    /// A number for an entry of the DDL log: above all that are there.
    pub(crate) fn next_log_id(&self) -> u64 {
        self.next_log_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The table of that name.
    ///
    /// # Errors
    /// [`crate::Error::NoSuchTable`]; it cannot be used.
    pub fn table(&self, storage: &Storage, name: &str) -> Result<Arc<Table>> {
        self.find(storage, name)?.ok_or_else(|| Error::NoSuchTable(name.to_owned()))
    }

    /// The table of that name, if there is one.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn find(&self, storage: &Storage, name: &str) -> Result<Option<Arc<Table>>> {
        if let Some(table) = self.cache.by_name(name) {
            return Ok(Some(table));
        }
        if let Some(table) = self.sys.all().find(|t| t.name == name) {
            return Ok(Some(table.clone()));
        }
        assert_no_page_latched("the dictionary's latch is");
        let _latch = self.latch.read_recursive();
        Ok(self.load(storage, name)?.map(|table| self.cache.insert(table)))
    }

    /// Lets go of the object of a table that nobody uses.
    pub(crate) fn forget(&self, name: &str) {
        self.cache.remove_named(name);
    }

    /// Lets go of the objects of tables that are not kept up here because of that. Nobody uses them.
    pub(crate) fn forget_all_of(&self, why: Unmaintained) {
        self.cache.remove_where(|table| table.unmaintained == Some(why));
    }

    /// A new object of a table that nobody uses, changed by `edit`, in place of the one in memory.
    pub(crate) fn reopen(
        &self,
        storage: &Storage,
        name: &str,
        edit: impl FnOnce(&mut Table),
    ) -> Result<Arc<Table>> {
        assert_no_page_latched("the dictionary's latch is");
        let _latch = self.latch.read_recursive();
        let mut table = self.load(storage, name)?.ok_or_else(|| Error::NoSuchTable(name.to_owned()))?;
        edit(&mut table);
        Ok(self.cache.replace(table))
    }

    /// The table of that number; `None` if it is gone: what refers to it (undo, purge) has nothing to do.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn table_by_id(&self, storage: &Storage, id: TableId) -> Result<Option<Arc<Table>>> {
        if let Some(table) = self.cache.by_id(id) {
            return Ok(Some(table));
        }
        if let Some(table) = self.sys.all().find(|t| t.id == id) {
            return Ok(Some(table.clone()));
        }
        assert_no_page_latched("the dictionary's latch is");
        let _latch = self.latch.read_recursive();
        let Some(name) = self.table_name(storage, id)? else { return Ok(None) };
        let loaded = self.load(storage, &name)?.filter(|t| t.id == id);
        Ok(loaded.map(|table| self.cache.insert(table)))
    }

    /// The table of that number, if it is in memory.
    pub(crate) fn in_memory(&self, id: TableId) -> Option<Arc<Table>> {
        self.cache.by_id(id).or_else(|| self.sys.all().find(|t| t.id == id).cloned())
    }

    /// A new DB_ROW_ID.
    ///
    /// # Errors
    /// Errors of writing the bound.
    #[inline]
    pub fn next_row_id(&self, storage: &Storage) -> Result<u64> {
        self.ids.row_id(storage)
    }

    /// Sees to it that DB_ROW_ID values come from beyond `id`, which rows from elsewhere have.
    ///
    /// # Errors
    /// Errors of writing the bound.
    pub fn raise_row_id(&self, storage: &Storage, id: u64) -> Result<()> {
        self.ids.raise_row_id(storage, id)
    }

    /// How many tables were ever made in the folder, those of the dictionary left out; tables that are gone count.
    ///
    /// # Errors
    /// Errors of pages.
    pub fn tables_ever_made(&self, storage: &Storage) -> Result<u64> {
        let page = storage.pool().get_shared(PageId::new(SpaceId::SYSTEM, layout::PAGE))?;
        let given = DictHeader::read(&page).table_id.get().saturating_sub(layout::FIRST_DYNAMIC_ID);
        let numbered = self.sys.all().filter(|t| t.id.get() > layout::FIRST_DYNAMIC_ID).count() as u64;
        Ok(given.saturating_sub(numbered))
    }

    /// Keeps definitions, files and trees from changing: for what works on tables without metadata locks, as purge
    /// does. To be held shortly, not twice by one thread, and taken while no page is latched. Tables can be looked up
    /// under it.
    pub fn freeze(&self) -> RwLockReadGuard<'_, ()> {
        assert_no_page_latched("the dictionary's latch is");
        // Behind a waiting change: many threads of purge would keep it waiting for ever.
        self.latch.read()
    }

    /// The latch for changing definitions.
    pub(crate) fn change(&self) -> RwLockWriteGuard<'_, ()> {
        assert_no_page_latched("the dictionary's latch is");
        self.latch.write()
    }

    /// Whether somebody has the latch at this moment, shared or exclusively.
    pub fn is_latched(&self) -> bool {
        self.latch.is_locked()
    }

    /// Keeps the folders of databases, for who puts files into one. Taken after the latch or without it.
    pub(crate) fn keep_folders(&self) -> RwLockReadGuard<'_, ()> {
        self.folders.read()
    }

    /// For making, changing and removing folders of databases. Neither is the latch held meanwhile, nor taken.
    pub(crate) fn change_folders(&self) -> RwLockWriteGuard<'_, ()> {
        self.folders.write()
    }

    /// Who is told of structure changes of trees.
    pub(crate) fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.observer.as_ref()
    }

    /// Table objects made so far, those of the dictionary's own tables not counted.
    pub fn tables_opened(&self) -> u64 {
        self.cache.opened()
    }

    /// Table objects in memory, those of the dictionary's own tables not counted.
    pub fn tables_in_memory(&self) -> usize {
        self.cache.len()
    }
}
