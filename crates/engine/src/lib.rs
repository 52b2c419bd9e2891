//! The engine API: a folder opened as a database, tables with indexes, rows in transactions. No SQL.
//!
//! An [`Engine`] owns everything of one folder. A [`Session`] does the work of one client: it runs statements, one
//! after the other, in transactions. Tables are named `database/table` in file name encoding. A row is the *stored*
//! bytes of its columns ([`vaquita_format::value`] says what they look like), in table order; NULL is `None`.
//!
//! | part | module |
//! |---|---|
//! | opening, closing, background services | [`engine`], [`core`](mod@core), [`purge`], [`recovery`] |
//! | sessions, statements, savepoints, XA | [`session`] |
//! | tables as they are used | [`table`] |
//! | the dictionary, and its tables in the system tablespace | [`dict`] |
//! | CREATE, DROP, RENAME, TRUNCATE, indexes | [`ddl`] |
//! | changing definitions beside writers | [`online`], [`progress`] |
//! | metadata locks | [`mdl`] |
//! | changing rows, taking changes back, foreign keys | [`row`] |
//! | older versions of rows | [`version`] |
//! | reading full-text indexes | [`fulltext`] |
//! | reading: cursors | [`cursor`] |
//! | whether rows have changed since they were read | [`watch`] |
//! | partitioned tables: parts, where rows go; changing their rows | [`partition`], `routed` |
//! | statistics: rows, different keys, pages | [`stats`] |
//! | AUTO_INCREMENT | [`auto_inc`] |
//! | counters, locks and deadlocks with names, keys of locked records | [`metrics`], [`monitor`], `lock_data` |
//! | checking tables | [`check`] |
//! | stored forms of integers | [`stored`] |
//!
//! # Latches and locks
//! Never waits for a lock with a latch held. Order of latches of one operation: index pages, then undo pages, then
//! pages of off-page values, then the space management (`docs/latching.md`).
#![forbid(unsafe_code)]

mod analyze;
pub mod auto_inc;
pub mod check;
pub mod core;
pub mod cursor;
pub mod ddl;
pub mod dict;
pub mod documents;
pub mod engine;
pub mod error;
mod export;
pub mod foreign_key;
pub mod fulltext;
pub mod hot_set;
pub mod kept;
mod lock_data;
mod mark;
pub mod mdl;
pub mod metrics;
pub mod monitor;
pub mod notes;
pub mod object;
pub mod online;
pub mod options;
pub mod partition;
mod pool_dump;
mod prepared;
pub mod progress;
pub mod purge;
mod read_lock;
pub mod recovery;
mod routed;
pub mod row;
mod services;
pub mod session;
pub mod stats;
pub mod stored;
pub mod table;
mod temporaries;
mod unmaintained;
pub mod version;
mod waits;
pub mod watch;

/// Character sets and collations: the order of text in indexes is the order of text in expressions.
pub mod text {
    pub use vaquita_format::{charset, collation};
}

/// What the layers above need to know of those below, by name: shapes of columns and keys, stored values, settings,
/// what monitors show. Pages, latches and the files of tables stay below.
pub mod lower {
    pub use vaquita_format::checksum::ChecksumAlgorithm;
    pub use vaquita_format::index_def::{FieldCmp, KeyPart, RowFormat};
    pub use vaquita_format::record::compare_fields;
    pub use vaquita_format::{
        Corruption, PageSize, cfg, charset, collation, column, filename, frm, frm_view, par, trg, value,
    };
    pub use vaquita_io::FlushMethod;
    pub use vaquita_storage::Error as StorageError;
    pub use vaquita_storage::{FlushNeighbors, ForceRecovery, LiveSettings, SystemFile};
    pub use vaquita_txn::TrxState;
    pub use vaquita_txn::lock::{LockInfo, LockTarget, Names};
}

pub use crate::cursor::{Cursor, Direction, PointRead, ReadLock, ReadOptions, RowRef, Seek};
pub use crate::ddl::{
    Alteration, ConvertRow, ForeignKeySpec, FullTextBuild, FullTextSpec, ImportFile, IndexSpec, KeptKeys,
    Numbered, PartSpec, PartsChange, Put, TableSpec,
};
pub use crate::dict::objects::{Object, ObjectKind, Objects};
pub use crate::dict::row_versions::{ColumnOrigin, VERSIONS_MAX};
pub use crate::dict::server_files::{
    KEPT_VERSION, ServerFile, ServerFileMaker, ServerObjects, ServerView, Standing, columns_of_frm,
    options_of_frm,
};
pub use crate::engine::Engine;
pub use crate::error::{Error, Fate, Result};
pub use crate::export::can_be_exported;
pub use crate::mdl::MdlMode;
pub use crate::online::Concurrency;
pub use crate::options::Options;
pub use crate::partition::{Partitioning, Scheme, Scheming, whole_name};
pub use crate::progress::{Progress, Sight, Stage};
pub use crate::session::{Durability, InPlace, Look, Session, Settings, Statement};
pub use crate::table::{Column, Field, Index, RowKey, Table};
pub use crate::waits::{SessionHandle, SessionWait};
pub use crate::watch::Watch;
pub use vaquita_btree::LOOKUP_GROUP;
pub use vaquita_format::undo::Xid;
pub use vaquita_storage::{Origin, Progress as RecoveryProgress};
pub use vaquita_txn::lock::WaitPolicy;
pub use vaquita_txn::wait::{BeforeWait, PlainWait, WaitFor, WaitHook, tell_around};
pub use vaquita_txn::{AccessMode, Isolation, LockMode};
