//! The engine without SQL: a folder opened as an [`Engine`], rows as stored bytes, the full control over indexes, cursors
//! and locks.

pub use vaquita_engine::*;
pub use vaquita_format::column::ColumnDef;
pub use vaquita_format::index_def::KeyPart;
