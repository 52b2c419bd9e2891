//! What all sessions and services of a folder share.

use crate::dict::Dictionary;
use crate::dict::load::Told;
use crate::dict::objects::Objects;
use crate::dict::server_files::Standing;
use crate::documents::Documents;
use crate::error::{Error, Result};
use crate::hot_set::HotSet;
use crate::mdl::{MdlContext, MdlSys};
use crate::metrics::Metrics;
use crate::notes::Notes;
use crate::options::{Live, Options};
use crate::read_lock::ReadLock;
use crate::table::Table;
use crate::temporaries::Temporaries;
use parking_lot::{Condvar, Mutex};
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use vaquita_base::{Crew, TableId, TrxId};
use vaquita_format::Corruption;
use vaquita_format::trg::ServerTrigger;
use vaquita_format::undo::Xid;
use vaquita_storage::Storage;
use vaquita_storage::buf::assert_no_page_latched;
use vaquita_txn::undo::{History, PurgeRecord};
use vaquita_txn::{Trx, TrxState, TrxSystem};

/// The shared state of an engine. Row functions take it as their first argument.
#[derive(Debug)]
pub struct Core {
    /// The settings.
    pub options: Options,
    /// Settings that change while the engine runs.
    pub live: Live,
    /// Pages, log, files.
    pub storage: Arc<Storage>,
    /// Ids, undo, views, locks.
    pub txn: Arc<TrxSystem>,
    /// Tables.
    pub dict: Dictionary,
    /// The temporary tables of all sessions.
    pub(crate) temporaries: Temporaries,
    /// Documents of full-text indexes.
    pub documents: Documents,
    /// Metadata locks.
    pub mdl: MdlSys,
    /// FLUSH TABLES WITH READ LOCK.
    pub(crate) read_lock: Arc<ReadLock>,
    /// The list of the pages in the pool.
    pub hot_set: HotSet,
    /// What services have to say.
    pub notes: Notes,
    /// Counters.
    pub metrics: Metrics,
    /// Files that describe tables under export, and how many sessions have put each there.
    pub(crate) descriptions: Mutex<HashMap<PathBuf, usize>>,
    /// How many keep purge from changing pages.
    pub(crate) purge_stops: AtomicUsize,
    /// Where purge is in the history; held for a whole batch.
    pub(crate) history: Mutex<History>,
    /// Records of damaged tables that purge passed over, by table.
    pub(crate) unpurged: Mutex<HashMap<TableId, u64>>,
    /// Transactions nobody has any more, to be rolled back.
    pub(crate) abandoned: Mutex<VecDeque<Trx>>,
    /// Those among them that could not be rolled back when it was tried, as the log was told.
    pub(crate) stuck: Mutex<HashSet<TrxId>>,
    /// Those among them that a crash left, and whether their end is told of one by one.
    pub(crate) recovered: Mutex<Vec<(TrxId, bool)>>,
    /// Told when there is something to roll back.
    pub(crate) has_abandoned: Condvar,
    /// Tables under temporary names that a crash left behind, to be dropped.
    pub(crate) leftovers: Mutex<Vec<String>>,
    /// Metadata locks of prepared transactions that have left their sessions.
    pub(crate) prepared: Mutex<Vec<(Xid, MdlContext)>>,
    /// The threads that purge together.
    pub(crate) purge_crew: Crew<Vec<PurgeRecord>, Error>,
    /// How long each change is delayed for purge to catch up, in microseconds.
    pub(crate) dml_delay_us: AtomicU64,
    /// Deliberate bugs, for tests of tests.
    #[cfg(feature = "canary")]
    pub canary: Canary,
}

/// The deliberate bugs of an engine.
#[cfg(feature = "canary")]
#[derive(Debug, Default)]
pub struct Canary {
    /// One record in so many of the logs of changes beside which definitions change is lost; 0: none.
    pub skip_one_log_record_in: AtomicU64,
}

impl Core {
    pub(crate) fn new(
        options: Options,
        storage: Arc<Storage>,
        txn: Arc<TrxSystem>,
        dict: Dictionary,
        notes: Notes,
    ) -> Core {
        Core {
            live: Live::new(&options),
            hot_set: HotSet::new(options.hot_set.clone(), options.buffer_pool_load_at_startup),
            notes,
            documents: Documents::new(options.fulltext.counts_size),
            options,
            storage,
            txn,
            dict,
            temporaries: Temporaries::default(),
            mdl: MdlSys::default(),
            read_lock: Arc::default(),
            metrics: Metrics::default(),
            descriptions: Mutex::default(),
            purge_stops: AtomicUsize::new(0),
            history: Mutex::default(),
            unpurged: Mutex::default(),
            abandoned: Mutex::default(),
            stuck: Mutex::default(),
            recovered: Mutex::default(),
            has_abandoned: Condvar::new(),
            leftovers: Mutex::default(),
            prepared: Mutex::default(),
            purge_crew: Crew::default(),
            dml_delay_us: AtomicU64::new(0),
            #[cfg(feature = "canary")]
            canary: Canary::default(),
        }
    }

    /// The table of that name: [`Dictionary::table`].
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    pub fn table(&self, name: &str) -> Result<Arc<Table>> {
        self.dict.table(&self.storage, name)
    }

    /// What is known of a table whose tablespace is discarded, of which [`Core::table`] is an error; `None` if it is not, or is none.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn discarded_table(&self, name: &str) -> Result<Option<Arc<Table>>> {
        Ok(self.dict.discarded(&self.storage, name)?.map(Arc::new))
    }

    /// The views, routines, triggers and events of the folder at this moment.
    pub fn objects(&self) -> Arc<Objects> {
        self.dict.objects.now()
    }

    /// A number that changes whenever one of [`Core::objects`] does.
    #[inline]
    pub fn objects_generation(&self) -> u64 {
        self.dict.objects.generation()
    }

    /// The table of that number: [`Dictionary::table_by_id`].
    ///
    /// # Errors
    /// It cannot be used.
    pub fn table_by_id(&self, id: TableId) -> Result<Option<Arc<Table>>> {
        if id.is_temporary() {
            return Ok(self.temporaries.get(id));
        }
        self.dict.table_by_id(&self.storage, id)
    }

    /// The temporary tables of all sessions.
    pub fn all_temporary_tables(&self) -> Vec<Arc<Table>> {
        self.temporaries.all()
    }

    /// How many temporary tables the sessions have.
    pub fn temporary_tables(&self) -> usize {
        self.temporaries.count()
    }

    /// Names of all tables but the dictionary's own: [`Dictionary::user_tables`].
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn user_tables(&self) -> Result<Vec<String>> {
        self.dict.user_tables(&self.storage)
    }

    /// Whether a MySQL server made the folder, which looks for `.frm` files of the tables in it.
    pub fn is_folder_of_a_server(&self) -> bool {
        crate::dict::server_files::is_of_a_server(&self.storage)
    }

    /// What stands under the name of a table's `.frm`.
    ///
    /// # Errors
    /// Errors of reading the file.
    pub fn server_file_of(&self, name: &str) -> Result<Standing> {
        crate::dict::server_files::standing(&self.storage, name)
    }

    /// Whether what the table of that name is stands in a `.frm` alone, or in one that a MySQL server goes by: nobody may lose it.
    ///
    /// # Errors
    /// Errors of reading the file, and the dictionary.
    pub fn needs_server_file(&self, name: &str) -> Result<bool> {
        if self.server_file_of(name)? == Standing::Nothing {
            return Ok(false);
        }
        let _latch = self.dict.freeze();
        Ok(self.is_folder_of_a_server() || !self.dict.is_described(&self.storage, name)?)
    }

    /// Whether there is a table of that name, or one of several parts.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn has_table(&self, name: &str) -> Result<bool> {
        let _latch = self.dict.freeze();
        self.dict.has_table(&self.storage, name)
    }

    /// Whether a MySQL server has triggers of a table, which it keeps in files, that are not those which the dictionary has.
    ///
    /// # Errors
    /// Errors of reading the file.
    pub fn has_server_triggers(&self, name: &str) -> Result<bool> {
        self.dict.has_server_triggers(&self.storage, name)
    }

    /// Whether a MySQL server has a trigger of that name, by its database in file name encoding: of whatever table.
    pub fn is_name_of_a_server_trigger(&self, database: &str, name: &str) -> bool {
        let path = crate::dict::server_files::trigger_path(&self.storage, database, name);
        path.is_some_and(|path| self.storage.fs().exists(&path))
    }

    /// What the server's list of a table's triggers says, or why it says nothing; `None` if there is no list.
    ///
    /// # Errors
    /// Errors of reading the file.
    pub fn server_triggers(
        &self,
        table: &str,
    ) -> Result<Option<std::result::Result<Vec<ServerTrigger>, Corruption>>> {
        crate::dict::server_files::triggers_of(&self.storage, table)
    }

    /// What the dictionary says of a table, wherever its rows are.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn described_table(&self, name: &str) -> Result<Option<Table>> {
        let _latch = self.dict.freeze();
        self.dict.described(&self.storage, name, Told::ByWhoWroteLast)
    }

    /// What a MySQL server keeps in the folder besides tables, if one made it.
    ///
    /// # Errors
    /// Errors of reading files.
    pub fn server_objects(&self) -> Result<crate::dict::server_files::ServerObjects> {
        crate::dict::server_files::objects(&self.storage)
    }

    /// A new DB_ROW_ID: [`Dictionary::next_row_id`].
    ///
    /// # Errors
    /// Errors of writing the bound.
    #[inline]
    pub fn next_row_id(&self) -> Result<u64> {
        self.dict.next_row_id(&self.storage)
    }

    /// Sees to it that DB_ROW_ID values come from beyond `id`: [`Dictionary::raise_row_id`].
    ///
    /// # Errors
    /// Errors of writing the bound.
    pub fn raise_row_id(&self, id: u64) -> Result<()> {
        self.dict.raise_row_id(&self.storage, id)
    }

    /// Says that a transaction cannot be rolled back now, where, and what to do, unless that has been said of it.
    #[cold]
    pub(crate) fn tell_stuck(&self, trx: &Trx, e: &Error) {
        if !self.stuck.lock().insert(trx.id()) {
            return;
        }
        let place = match self.row_table(trx) {
            Some(table) => format!("in table {table}, "),
            None => String::new(),
        };
        let what = match e.is_damage() {
            true => {
                "CHECK TABLE tells more. To be rid of it, put the table's file back from a copy, or start once with \
                     innodb_force_recovery=3, dump the table and drop it"
            }
            false => "it goes on when the cause is gone",
        };
        self.notes.say(format!(
            "rollback: transaction {} cannot be rolled back now: {place}{e}. Its rows stay locked, other transactions are \
             not concerned; it is tried again in the background, and at the next start. {what}",
            trx.id()
        ));
    }

    /// Transactions without a session that cannot be rolled back at present.
    pub fn stuck_transactions(&self) -> usize {
        self.stuck.lock().len()
    }

    /// The table, as SQL names it, of the change that is the next one to be taken back.
    fn row_table(&self, trx: &Trx) -> Option<String> {
        let mut undo = vaquita_txn::undo::UndoBuf::default();
        self.txn.newest_undo(trx, 0, &mut undo).ok()??;
        let header = vaquita_format::undo::record::UndoHeader::parse(undo.body()).ok()?;
        Some(vaquita_txn::lock::Names::table(self, header.table_id))
    }

    /// Leaves a transaction to the background: its rows stay locked until its changes are taken back.
    pub(crate) fn roll_back_later(&self, trx: Trx) {
        let state = trx.state();
        assert!(
            matches!(state, TrxState::Active | TrxState::Prepared),
            "a transaction that is {state:?} has nothing to be rolled back"
        );
        self.abandoned.lock().push_back(trx);
        self.has_abandoned.notify_one();
    }

    /// Waits as long as purge wants changes to be delayed (`max_purge_lag`).
    #[inline]
    pub(crate) fn delay_change(&self) {
        assert_no_page_latched("a change is delayed for purge");
        let delay = self.dml_delay_us.load(Ordering::Relaxed);
        if delay > 0 {
            self.metrics.dml_delay_us.add(delay);
            self.storage.clock().sleep(Duration::from_micros(delay));
        }
    }

    /// Bytes of a block of a log of changes, and of all that may wait in one.
    pub(crate) fn log_sizes(&self) -> (usize, u64) {
        const BLOCK_MAX: usize = 1 << 20;
        let block = self.options.sort_buffer_size.clamp(1 << 10, BLOCK_MAX);
        (block, self.live.online_alter_log_max_size.load(Ordering::Relaxed))
    }

    /// Names and values of all counters of the engine.
    pub fn metrics(&self) -> Vec<(&'static str, u64)> {
        let (own, trx, lock) = (&self.metrics, self.txn.metrics(), self.txn.locks().metrics());
        let (pool, log) = (&self.storage.pool().stats, self.storage.log());
        vec![
            ("dml_inserts", own.rows_inserted.get()),
            ("dml_updates", own.rows_updated.get()),
            ("dml_deletes", own.rows_deleted.get()),
            ("dml_reads", own.rows_read.get()),
            ("trx_rw_commits", trx.commits),
            ("trx_ro_commits", trx.read_only),
            ("trx_rollbacks", trx.rollbacks),
            ("trx_active_transactions", trx.active as u64),
            ("trx_rseg_history_len", self.txn.history_len()),
            ("trx_read_views_opened", trx.views_opened),
            ("purge_undo_records", own.purged_records.get()),
            ("purge_passed_over", self.unpurged.lock().values().sum()),
            ("purge_invoked", own.purge_batches.get()),
            ("purge_trx_no_limit", own.purged_below.load(Ordering::Relaxed)),
            ("purge_dml_delay_usec", own.dml_delay_us.get()),
            ("ddl_sort_file_alter_table", own.sort_files.get()),
            ("lock_deadlocks", lock.deadlocks),
            ("lock_timeouts", lock.timeouts),
            ("lock_rec_lock_waits", lock.waits),
            ("lock_row_lock_current_waits", lock.waiting as u64),
            ("lock_row_lock_time", lock.wait_us / 1_000),
            ("lock_row_lock_time_max", lock.wait_us_max / 1_000),
            ("lock_rec_locks", lock.record_locks as u64),
            ("lock_memory_bytes", lock.memory_bytes as u64),
            ("buffer_pool_reads", pool.reads.get()),
            ("log_lsn_current", log.current_lsn().get()),
            ("log_lsn_last_flush", log.flushed_lsn().get()),
            ("log_lsn_last_checkpoint", log.checkpoint_lsn().get()),
            ("log_syncs", log.stats().syncs.get()),
            ("metadata_table_handles_opened", self.dict.tables_opened()),
            ("metadata_table_handles", self.dict.tables_in_memory() as u64),
        ]
    }
}
