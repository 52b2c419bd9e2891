//! Adding and dropping indexes.
//!
//! New indexes are built before the transaction begins: the clustered index is scanned once, the entries sorted, the
//! trees built from their leaves up. Nobody changes the table meanwhile. Old versions of rows get no entries: views
//! older than the index do not use it.

use super::change::{self, Change};
use super::log::{self, Entry};
use super::sort::Sorter;
use super::{IndexSpec, check, definition, foreign};
use crate::core::Core;
use crate::dict::build::{IndexParts, TableParts};
use crate::dict::{ids, rows};
use crate::error::{Error, Result};
use crate::kept::{Extra, index_option};
use crate::row::entry;
use crate::row::image::Image;
use crate::row::lock::parse_clustered;
use crate::table::{Index, Table};
use crate::waits::check_interrupt;
use vaquita_base::{PageNo, TrxId};
use vaquita_btree::{BulkBuilder, Cursor};
use vaquita_format::record::{Offsets, compare_fields};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_txn::Trx;
use vaquita_txn::trx::TrxState;
use vaquita_txn::{AccessMode, Isolation};

/// Percent of a page that is filled; the rest is for entries to come.
const FILL: u32 = 94;

/// Adds indexes to a table with rows. `before` looks at the definition to be before anything is made, `also` changes what
/// belongs to the same change.
pub(super) fn add<'a>(
    core: &'a Core,
    trx: &'a mut Trx,
    name: &str,
    specs: &[IndexSpec],
    before: impl FnOnce(&TableParts) -> Result<()>,
    also: impl FnOnce(&mut Change<'a>) -> Result<()>,
) -> Result<()> {
    if core.storage.options().read_only {
        return Err(Error::FolderReadOnly);
    }
    if core.table(name)?.is_system {
        return Err(Error::NoSuchTable(name.to_owned()));
    }
    let mut parts = planned(core, name, specs)?;
    before(&parts)?;
    let first = parts.indexes.len() - specs.len();
    for index in &mut parts.indexes[first..] {
        index.id = ids::index_id(&core.storage)?;
    }
    if trx.state() == TrxState::NotStarted {
        core.txn.start(trx, Isolation::ReadCommitted, AccessMode::ReadWrite);
    }
    core.txn.set_dict_operation(trx);
    let trx_id = core.txn.assign_id(trx)?;
    let mut undo = Vec::new();
    if first < parts.indexes.len()
        && let Err(e) = make(core, trx, &mut parts, first, trx_id, &mut undo)
    {
        change::give_up(core, &undo);
        return Err(e);
    }
    Change::run_with(core, trx, undo, |change| {
        let sys = &change.core.dict.sys;
        for n in first..parts.indexes.len() {
            change.insert(&sys.core.indexes, &rows::index_row(&parts, n))?;
            for row in rows::field_rows(&parts, n) {
                change.insert(&sys.core.fields, &row)?;
            }
        }
        definition::replace_extra(change, &parts)?;
        change.changes(name);
        also(change)
    })
}

/// The definition the table will have, checked.
fn planned(core: &Core, name: &str, specs: &[IndexSpec]) -> Result<TableParts> {
    let _latch = core.dict.freeze();
    let row = core.dict.table_row(&core.storage, name)?;
    let row = row.ok_or_else(|| Error::NoSuchTable(name.to_owned()))?;
    let mut parts = core.dict.read_parts(&core.storage, &row)?;
    if parts.indexes.len() + specs.len() > 65 {
        return Err(Error::BadDefinition(format!("{name} would have more than 64 secondary indexes")));
    }
    for spec in specs {
        let names = parts.indexes.iter().map(|i| i.name.as_str());
        check::index(&parts.columns, names, spec, parts.row_format, parts.page_size)?;
        parts.indexes.push(IndexParts {
            id: vaquita_base::IndexId(0),
            name: spec.name.clone(),
            parts: spec.parts.clone(),
            unique: spec.unique,
            root: PageNo::NULL,
            trx_id: TrxId(0),
            comment: spec.comment.clone(),
            hidden: false,
        });
    }
    for def in parts.index_defs()?.iter().skip(parts.indexes.len() - specs.len()) {
        check::record_size(name, def)?;
    }
    Ok(parts)
}

/// Makes the trees of the indexes from `first` on and fills them.
fn make(
    core: &Core,
    trx: &Trx,
    parts: &mut TableParts,
    first: usize,
    trx_id: TrxId,
    undo: &mut Vec<u64>,
) -> Result<()> {
    for (n, def) in parts.index_defs()?.into_iter().enumerate().skip(first) {
        let name = parts.name.clone();
        let entry = Entry::FreeTree { space: parts.space, index: def.id(), root: PageNo::NULL, name };
        let id = log::add_durably(core, &[entry])?[0];
        undo.push(id);
        parts.indexes[n].root = log::create_tree(core, id, parts.space, def)?.root();
        parts.indexes[n].trx_id = trx_id;
    }
    let table = parts.clone().open(&core.storage, core.dict.observer())?;
    let memory = core.options.sort_buffer_size / (table.indexes.len() - first);
    let mut sorters: Vec<Sorter<'_>> =
        table.indexes[first..].iter().map(|i| Sorter::new(&core.storage, i.def().clone(), memory)).collect();
    scan(core, trx, &table, first, &mut sorters)?;
    for (index, sorter) in table.indexes[first..].iter().zip(sorters) {
        core.metrics.sort_files.add(sorter.files());
        build(core, trx, &table, index, sorter, trx_id)?;
    }
    Ok(())
}

/// Gives the entries of all rows to the sorters of the indexes from `first` on.
fn scan(core: &Core, trx: &Trx, table: &Table, first: usize, sorters: &mut [Sorter<'_>]) -> Result<()> {
    let clustered = table.clustered();
    let mut cursor = Cursor::new(&clustered.tree, &core.storage);
    let mut offsets = Offsets::new();
    let mut image = Image::default();
    let mut more = cursor.first()?;
    while more {
        check_interrupt(trx.shared())?;
        let record = cursor.record().expect("the cursor is on a record");
        if !record.is_deleted() {
            parse_clustered(table, &record, &mut offsets)?;
            image.read(table, &record, &offsets);
            image.load_external(core, table)?;
            for (index, sorter) in table.indexes[first..].iter().zip(sorters.iter_mut()) {
                sorter.push(&entry::entry(table, index, &image))?;
            }
        }
        more = cursor.next()?;
    }
    Ok(())
}

fn build(
    core: &Core,
    trx: &Trx,
    table: &Table,
    index: &Index,
    sorter: Sorter<'_>,
    trx_id: TrxId,
) -> Result<()> {
    let mut builder = BulkBuilder::new(&index.tree, &core.storage, FILL).with_max_trx_id(trx_id);
    let mut before: Vec<Option<Vec<u8>>> = Vec::new();
    let n_uniq = index.parts.len();
    let each = |fields: &[TupleField<'_>]| {
        if index.is_unique() {
            if same_key(index, &before, &fields[..n_uniq]) {
                return Err(Error::DuplicateKey {
                    table: table.name.clone(),
                    index: index.name.clone(),
                    value: entry::key_text(table, index, fields),
                });
            }
            before.clear();
            before.extend(fields[..n_uniq].iter().map(|f| f.data.map(<[u8]>::to_vec)));
        }
        Ok(builder.push(&Tuple::new(fields))?)
    };
    sorter.finish(|| check_interrupt(trx.shared()), each)?;
    builder.finish()?;
    Ok(())
}

/// Whether a unique key is the one before; NULLs are equal to nothing.
fn same_key(index: &Index, before: &[Option<Vec<u8>>], key: &[TupleField<'_>]) -> bool {
    before.len() == key.len()
        && before.iter().zip(key).zip(index.def().compare_plan()).all(|((a, b), cmp)| {
            a.is_some() && b.data.is_some() && compare_fields(*cmp, a.as_deref(), b.data).is_eq()
        })
}

/// Drops an index.
pub(super) fn drop(change: &mut Change<'_>, name: &str, index: &str) -> Result<()> {
    let core = change.core;
    let dict = &core.dict;
    let storage = change.storage();
    let row = dict.table_row(storage, name)?.filter(|_| name.contains('/'));
    let row = row.ok_or_else(|| Error::NoSuchTable(name.to_owned()))?;
    let mut parts = dict.read_parts(storage, &row)?;
    let found = parts.indexes.iter().position(|i| i.name.eq_ignore_ascii_case(index));
    let n = found.ok_or_else(|| Error::NoSuchIndex { table: name.to_owned(), index: index.to_owned() })?;
    if n == 0 {
        return Err(Error::BadDefinition(format!("{index} is the clustered index of {name}")));
    }
    let gone = parts.indexes.remove(n);
    let needs = |columns: &[String]| {
        let Ok(columns) = foreign::positions(&parts.columns, columns) else { return false };
        foreign::begins_with(&gone.parts, &columns)
            && !parts.indexes.iter().any(|i| foreign::begins_with(&i.parts, &columns))
    };
    for key in dict.foreign_keys(storage, foreign::BY_CHILD, name)? {
        if needs(&key.child_columns) {
            return Err(Error::ForeignKey(format!(
                "cannot drop index {index}: foreign key {} needs it",
                key.id
            )));
        }
    }
    for key in dict.foreign_keys(storage, foreign::BY_PARENT, name)? {
        if needs(&key.parent_columns) {
            return Err(Error::ForeignKey(format!(
                "cannot drop index {index}: foreign key {} needs it",
                key.id
            )));
        }
    }
    let sys = &dict.sys;
    let index_id = rows::u64_value(gone.id.get()).unwrap_or_default();
    let table_id = rows::u64_value(parts.id.get()).unwrap_or_default();
    change.leaves_tree(parts.space, gone.id, gone.root, name)?;
    definition::delete_all(change, &sys.core.fields, &[&index_id])?;
    change.delete(&sys.core.indexes, &[&table_id, &index_id])?;
    // How it was declared goes with it: another one may come by its name.
    let mut extra = Extra::parse(&parts.extra);
    let of_gone = index_option(&gone.name, "");
    extra.retain(|option| !option.starts_with(&of_gone));
    parts.extra = extra.to_text();
    definition::replace_extra(change, &parts)?;
    change.changes(name);
    Ok(())
}
