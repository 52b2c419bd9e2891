//! Status counters.

mod com;

pub use com::{COM_NAMES, Com};

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident $name:literal;)*) => {
        /// Counters of a session; added to the folder's when the session ends, and read from there by SHOW GLOBAL STATUS
        /// while it lives.
        #[derive(Debug, Default, Clone)]
        pub struct SessionStatus {
            $($(#[$doc])* pub $field: u64,)*
            /// Statements by kind.
            pub com: Vec<u64>,
        }

        impl SessionStatus {
            /// Names and values, statements by kind excepted.
            pub fn list(&self) -> Vec<(&'static str, u64)> {
                vec![$(($name, self.$field)),*]
            }

            /// Counts a statement.
            #[inline]
            pub fn count(&mut self, kind: Com) {
                let at = kind as usize;
                if at >= self.com.len() {
                    self.com.resize(COM_NAMES.len() + 1, 0);
                }
                self.com[at] += 1;
            }

            /// All zero, without giving memory back.
            pub fn reset(&mut self) {
                $(self.$field = 0;)*
                self.com.fill(0);
            }

            /// Adds another one's.
            pub fn add(&mut self, other: &SessionStatus) {
                $(self.$field += other.$field;)*
                if self.com.len() < other.com.len() {
                    self.com.resize(other.com.len(), 0);
                }
                for (mine, theirs) in self.com.iter_mut().zip(&other.com) {
                    *mine += theirs;
                }
            }
        }
    };
}

counters! {
    /// Statements that clients sent.
    questions "Questions";
    /// Statements, those inside of others too.
    queries "Queries";
    /// Statements over `long_query_time`.
    slow_queries "Slow_queries";
    /// Rows read by an index's beginning.
    handler_read_first "Handler_read_first";
    /// Rows read by key.
    handler_read_key "Handler_read_key";
    /// Rows read by an index's end.
    handler_read_last "Handler_read_last";
    /// Rows read in the order of an index.
    handler_read_next "Handler_read_next";
    /// Rows read against the order of an index.
    handler_read_prev "Handler_read_prev";
    /// Rows read by position.
    handler_read_rnd "Handler_read_rnd";
    /// Rows read in the order of the table.
    handler_read_rnd_next "Handler_read_rnd_next";
    /// Rows inserted.
    handler_write "Handler_write";
    /// Rows updated.
    handler_update "Handler_update";
    /// Rows deleted.
    handler_delete "Handler_delete";
    /// Commits.
    handler_commit "Handler_commit";
    /// Rollbacks.
    handler_rollback "Handler_rollback";
    /// Transactions prepared.
    handler_prepare "Handler_prepare";
    /// Savepoints set.
    handler_savepoint "Handler_savepoint";
    /// Savepoints rolled back to.
    handler_savepoint_rollback "Handler_savepoint_rollback";
    /// Joins without index.
    select_full_join "Select_full_join";
    /// Joins with a range of the inner table's index.
    select_full_range_join "Select_full_range_join";
    /// SELECTs by a range of the first table.
    select_range "Select_range";
    /// Joins that choose an index per row.
    select_range_check "Select_range_check";
    /// SELECTs that scan the first table.
    select_scan "Select_scan";
    /// Passes of sorts.
    sort_merge_passes "Sort_merge_passes";
    /// Sorts of ranges.
    sort_range "Sort_range";
    /// Rows sorted.
    sort_rows "Sort_rows";
    /// Sorts of scans.
    sort_scan "Sort_scan";
    /// Internal tables on disk.
    created_tmp_disk_tables "Created_tmp_disk_tables";
    /// Internal tables.
    created_tmp_tables "Created_tmp_tables";
    /// Internal files.
    created_tmp_files "Created_tmp_files";
    /// Bytes that came from the client.
    bytes_received "Bytes_received";
    /// Bytes that went to the client.
    bytes_sent "Bytes_sent";
    /// Statements that were planned.
    plans_made "Vaquita_plans_made";
    /// Statements whose plan was there already.
    plans_reused "Vaquita_plans_reused";
}

/// The counters of a folder.
#[derive(Debug, Default)]
pub struct Status {
    /// Connections that were tried.
    pub connections: AtomicU64,
    /// Connections that failed.
    pub aborted_connects: AtomicU64,
    /// Connections that ended without saying so.
    pub aborted_clients: AtomicU64,
    /// Most connections at a time.
    pub max_used_connections: AtomicU64,
    /// FLUSH TABLES of all tables.
    pub flushed_tables: AtomicU64,
    /// Seconds after the opening of the folder at which FLUSH STATUS was last.
    pub flushed_at: AtomicU64,
    /// Connections refused because there were too many.
    pub connection_errors_max_connections: AtomicU64,
    /// What sessions have told: when they end, and about twice a second while they work.
    pub ended: parking_lot::Mutex<SessionStatus>,
}

impl Status {
    /// A connection comes.
    pub fn count_connection(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Statements of sessions that have ended.
    pub fn questions(&self) -> u64 {
        self.ended.lock().questions
    }

    /// A connection failed before it was a session.
    pub fn count_aborted_connect(&self) {
        self.aborted_connects.fetch_add(1, Ordering::Relaxed);
    }

    /// A client went without saying so.
    pub fn count_aborted_client(&self) {
        self.aborted_clients.fetch_add(1, Ordering::Relaxed);
    }
}
