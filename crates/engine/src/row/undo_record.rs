//! Bodies of undo records, made of rows before their change.
//!
//! One thing is done better than in InnoDB: of a long value on the page that indexes hold a prefix of, the part for
//! ordering columns keeps no more than they need ([`KEPT_WHOLE`]). InnoDB repeats all of it and refuses changes whose
//! undo record outgrows a page; who reads these records takes prefixes anyway.

use crate::error::{Error, Result};
use crate::row::entry::bytes_needed;
use crate::row::image::Image;
use crate::table::Table;
use smallvec::SmallVec;
use vaquita_format::record::EXTERN_REF_LEN;
use vaquita_format::tuple::TupleField;
use vaquita_format::undo::record::{
    NO_ORDER_CHANGE, OldVersion, UndoHeader, UndoType, UndoValue, UpdateWriter, push_insert,
};

/// The body for the insert of a row with this clustered key.
pub fn insert_body(undo_no: u64, table: &Table, key: &[TupleField<'_>]) -> Vec<u8> {
    debug_assert_eq!(key.len(), table.clustered().def().n_uniq(), "rollback finds the row by its whole key");
    let mut out = Vec::with_capacity(64);
    push_insert(
        &mut out,
        undo_no,
        table.id,
        key.iter().map(|f| UndoValue::Inline(f.data.unwrap_or_default())),
    );
    out
}

/// What is about to happen to a version of a row.
#[derive(Debug, Clone, Copy)]
pub struct Modification<'m> {
    /// What the change is; not INSERT.
    pub ty: UndoType,
    /// Fields of the clustered index that change; none for DEL_MARK.
    pub fields: &'m [usize],
    /// Whether any index is ordered by a field that changes. (InnoDB never notes that sizes stay the same.)
    pub order_changes: bool,
}

/// The body for a change of a row, whose values off the page that indexes need are loaded.
///
/// # Errors
/// The columns that indexes are ordered by do not fit.
pub fn modify_body(undo_no: u64, table: &Table, old: &Image, change: Modification<'_>) -> Result<Vec<u8>> {
    debug_assert_ne!(change.ty, UndoType::Insert, "what is inserted has no version before");
    debug_assert!(
        change.ty != UndoType::DeleteMark || change.fields.is_empty(),
        "a row that is deleted changes in fields {:?}",
        change.fields
    );
    let n_key = table.clustered().def().n_uniq();
    debug_assert!(
        change.fields.iter().all(|&i| i != n_key && i != n_key + 1 && i < old.n_fields()),
        "fields {:?} change, system fields among them",
        change.fields
    );
    let mut out = Vec::with_capacity(128);
    let sys = old.sys();
    let header = UndoHeader {
        ty: change.ty,
        cmpl_info: if change.order_changes || change.ty == UndoType::DeleteMark {
            0
        } else {
            NO_ORDER_CHANGE
        },
        external_updated: change.fields.iter().any(|&i| old.is_external(i)),
        undo_no,
        table_id: table.id,
    };
    let version = OldVersion { info_bits: old.info_bits(), trx_id: sys.trx_id, roll_ptr: sys.roll_ptr };
    // Purge may be freeing the values of a delete-marked row: its prefixes are not asked for.
    let with_prefix = change.ty != UndoType::UpdateDeleted;
    let mut writer = UpdateWriter::new(&mut out, header, version);
    writer.key(old.key_fields().iter().map(|f| UndoValue::Inline(f.data.unwrap_or_default())));
    if change.ty != UndoType::DeleteMark {
        let columns = prefix_columns(table, old, with_prefix, change.fields);
        let values: SmallVec<[(u32, Held); 8]> =
            change.fields.iter().map(|&i| (i as u32, hold(table, old, i, columns.contains(&i)))).collect();
        writer.updates(values.iter().map(|(i, value)| (*i, value.undo(old, *i as usize))));
    }
    if writer.needs_ordering() {
        let values: SmallVec<[(u32, Held); 8]> = table
            .cluster_fields
            .iter()
            .enumerate()
            .filter(|&(column, _)| table.is_ordering[column])
            .map(|(column, &i)| (i as u32, hold_ordering(table, old, (column, i), with_prefix)))
            .collect();
        writer
            .ordering(values.iter().map(|(i, value)| (*i, value.undo(old, *i as usize))))
            .map_err(|c| Error::Corrupt(format!("{}: {c}", table.name)))?;
    }
    Ok(out)
}

/// Fields among `fields` that go on off the page and of which indexes need the first bytes.
fn prefix_columns(table: &Table, old: &Image, with_prefix: bool, fields: &[usize]) -> SmallVec<[usize; 8]> {
    let ordering = |i: usize| {
        table.cluster_fields.iter().position(|&f| f == i).is_some_and(|column| table.is_ordering[column])
    };
    fields.iter().copied().filter(|&i| with_prefix && old.is_external(i) && ordering(i)).collect()
}

/// Values up to this length are kept whole among the ordering columns.
const KEPT_WHOLE: usize = 1024;

/// A value on its way into an undo record.
enum Held {
    /// As it is in the record.
    Plain,
    /// Local part longer than in the record: prefix and reference.
    Prefix(Vec<u8>),
    /// The first bytes of a value on the page.
    First(usize),
}

impl Held {
    fn undo<'v>(&'v self, old: &'v Image, i: usize) -> UndoValue<'v> {
        let Some(local) = old.field(i) else { return UndoValue::Null };
        match self {
            Held::Prefix(bytes) => UndoValue::ExternalPrefix { local_len: local.len() as u32, bytes },
            Held::First(n) => UndoValue::Inline(&local[..*n]),
            Held::Plain if old.is_external(i) => UndoValue::External(local),
            Held::Plain => UndoValue::Inline(local),
        }
    }
}

fn hold_ordering(table: &Table, old: &Image, (column, i): (usize, usize), with_prefix: bool) -> Held {
    let len = old.field(i).map_or(0, <[u8]>::len);
    if len <= KEPT_WHOLE || old.is_external(i) {
        return hold(table, old, i, with_prefix);
    }
    Held::First(len.min(bytes_needed(table, column)))
}

fn hold(table: &Table, old: &Image, i: usize, with_prefix: bool) -> Held {
    if !with_prefix || !old.is_external(i) {
        return Held::Plain;
    }
    let local = old.field(i).unwrap_or_default();
    let column = table.cluster_fields.iter().position(|&f| f == i);
    let needed = column.map_or(0, |column| bytes_needed(table, column));
    match old.first_bytes(i) {
        Some(first)
            if local.len() < needed + EXTERN_REF_LEN && first.len() + EXTERN_REF_LEN > local.len() =>
        {
            let reference = &local[local.len() - EXTERN_REF_LEN..];
            Held::Prefix([first, reference].concat())
        }
        _ => Held::Plain,
    }
}
