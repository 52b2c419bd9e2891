//! What a lock is on, as information_schema.INNODB_LOCKS tells it: the key of the record, as MySQL 5.6 writes it.
//!
//! | stored as | written |
//! |---|---|
//! | integers; DATE, YEAR, ENUM, SET as the integers they are stored as | `-5`, `1031747` |
//! | text that is no BLOB | in quotes, in utf8; quotes and backslashes doubled, zero bytes as `\0` |
//! | everything else: binary, BLOB and TEXT, DECIMAL, floating point, times, DB_ROW_ID | `0x` and the bytes in hexadecimal |
//! | NULL | `NULL` |
//!
//! The key of an index is its columns if it is unique, with those of the primary key behind them if it is not.

use crate::core::Core;
use std::fmt::Write;
use vaquita_base::{HeapNo, IndexId, PageId, TableId};
use vaquita_btree::observer::SUPREMUM;
use vaquita_format::charset::{self, Charset};
use vaquita_format::column::{ColumnDef, LATIN1_SWEDISH_CI, MType, prtype};
use vaquita_format::index_def::IndexDef;
use vaquita_format::index_page;
use vaquita_format::record::Offsets;
use vaquita_txn::lock::{LockInfo, LockTarget};

/// Longer texts are cut, as on MySQL.
const MAX_BYTES: usize = 8191;
/// utf8_general_ci.
const UTF8: u16 = 33;

impl Core {
    /// What a lock is on: `None` for one on a table, and if the page is not in the pool or the record not on it any more.
    /// Reads no page.
    pub fn lock_data(&self, lock: &LockInfo) -> Option<String> {
        match lock.target {
            LockTarget::Table(_) => None,
            LockTarget::Record { heap: SUPREMUM, .. } => Some("supremum pseudo-record".into()),
            LockTarget::Record { table, index, page, heap, .. } => self.key_at(table, index, page, heap),
        }
    }

    fn key_at(&self, table: TableId, index: IndexId, page: PageId, heap: HeapNo) -> Option<String> {
        let table = self.dict.in_memory(table)?;
        let index = table.indexes.iter().find(|i| i.id == index)?;
        let pool = self.storage.pool();
        if !pool.contains(page) {
            return None;
        }
        // Who takes the page out of the pool at this moment makes this a read; damage is for others to tell.
        let page = pool.get_shared(page).ok()?;
        let comp = index_page::header::is_comp(&page);
        let at_heap = |rec: &u16| vaquita_format::record::header::heap_no(&page, *rec, comp) == heap.get();
        let rec = index_page::records(&page).map_while(Result::ok).find(at_heap)?;
        let mut offsets = Offsets::default();
        offsets.parse(&page, rec, index.def().layout()).ok()?;
        Some(key_text(index.def(), &page, rec, &offsets))
    }
}

fn key_text(def: &IndexDef, page: &[u8], rec: u16, offsets: &Offsets) -> String {
    let mut out = String::new();
    for (i, field) in def.fields().iter().enumerate().take(def.n_uniq().min(offsets.n_fields())) {
        if i > 0 {
            out.push_str(", ");
        }
        write_value(&field.column, offsets.field(page, rec, i), &mut out);
    }
    out.truncate((0..=out.len().min(MAX_BYTES)).rfind(|&n| out.is_char_boundary(n)).unwrap_or(0));
    out
}

fn write_value(column: &ColumnDef, stored: Option<&[u8]>, out: &mut String) {
    let Some(bytes) = stored else { return out.push_str("NULL") };
    match column.mtype {
        MType::Int if (1..=8).contains(&bytes.len()) => write_integer(column, bytes, out),
        MType::VarChar | MType::Char | MType::VarMySql | MType::MySql => write_text(column, bytes, out),
        _ => {
            out.push_str("0x");
            for byte in bytes {
                // Writing to a string does not fail.
                let _ = write!(out, "{byte:02X}");
            }
        }
    }
}

fn write_integer(column: &ColumnDef, bytes: &[u8], out: &mut String) {
    let raw = bytes.iter().fold(0_u64, |n, &byte| n << 8 | u64::from(byte));
    let _ = if column.prtype & prtype::UNSIGNED != 0 {
        write!(out, "{raw}")
    } else {
        // The sign is stored flipped.
        let half = 1_i128 << (8 * bytes.len() - 1);
        write!(out, "{}", i128::from(raw) - half)
    };
}

fn write_text(column: &ColumnDef, bytes: &[u8], out: &mut String) {
    let collation = match column.mtype {
        MType::VarChar | MType::Char => LATIN1_SWEDISH_CI,
        _ => (column.prtype >> prtype::COLLATION_SHIFT) as u16,
    };
    let mut text = Vec::new();
    match (Charset::of_any_collation(collation), Charset::of_any_collation(UTF8)) {
        (Some(from), Some(to)) => {
            charset::convert(from, to, bytes, &mut text);
        }
        _ => text.extend_from_slice(bytes),
    }
    out.push('\'');
    for c in String::from_utf8_lossy(&text).chars() {
        match c {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            c => out.push(c),
        }
    }
    out.push('\'');
}
