//! CREATE TABLE.

use crate::ddl::{TableSpec, check};
use crate::dict::Dictionary;
use crate::dict::build::{IndexParts, TableParts};
use crate::dict::codec::{ColumnExtra, TableExtra};
use crate::dict::rows::{self, Flags, Values};
use crate::dict::{ids, sys_tables};
use crate::error::{Error, Result};
use crate::table::Table;
use std::sync::Arc;
use vaquita_base::{IndexId, PageNo, SpaceId, TableId, TrxId};
use vaquita_btree::Tree;
use vaquita_format::column::ColumnDef;
use vaquita_format::flags::SpaceFlags;
use vaquita_format::index_def::{KeyPart, cluster_key};
use vaquita_storage::Storage;

/// Bytes of a definition's extra part kept in one row: rows of the dictionary stay on their pages, of 4 KiB too.
const PIECE: usize = 1_500;

/// The definition a table gets, without numbers and trees.
pub(super) fn parts_of(storage: &Storage, spec: &TableSpec) -> TableParts {
    let defs: Vec<ColumnDef> = spec.columns.iter().map(|c| c.def.clone()).collect();
    let unique = spec.indexes.iter().filter(|i| i.unique).map(|i| &i.parts[..]);
    let cluster = cluster_key(&defs, spec.primary_key.as_deref(), unique);
    let index = |name: &str, parts: &[KeyPart], unique: bool, comment: &str| IndexParts {
        id: IndexId(0),
        name: name.to_owned(),
        parts: parts.to_vec(),
        unique,
        root: PageNo::NULL,
        trx_id: TrxId(0),
        comment: comment.to_owned(),
    };
    let promoted = match (&spec.primary_key, cluster) {
        (None, Some(parts)) => spec.indexes.iter().position(|i| std::ptr::eq(&i.parts[..], parts)),
        _ => None,
    };
    let mut indexes = vec![match (&spec.primary_key, promoted) {
        (Some(parts), _) => index("PRIMARY", parts, true, ""),
        (None, Some(n)) => {
            let i = &spec.indexes[n];
            index(&i.name, &i.parts, true, &i.comment)
        }
        (None, None) => index("GEN_CLUST_INDEX", &[], false, ""),
    }];
    let rest = spec.indexes.iter().enumerate().filter(|&(n, _)| Some(n) != promoted);
    indexes.extend(rest.map(|(_, i)| index(&i.name, &i.parts, i.unique, &i.comment)));
    TableParts {
        id: TableId(0),
        name: spec.name.clone(),
        space: SpaceId::SYSTEM,
        row_format: spec.row_format,
        page_size: storage.options().page_size,
        columns: spec.columns.clone(),
        indexes,
        comment: spec.comment.clone(),
        collation: spec.collation,
        extra: spec.extra.clone(),
        auto_inc_from: spec.auto_increment.unwrap_or(0),
        is_system: false,
    }
}

/// What is kept of a table beside InnoDB's own dictionary, as the rows of SYS_VAQUITA_TABLES.
pub(super) fn extra_rows(parts: &TableParts) -> Vec<Values> {
    let column = |c: &crate::table::Column| ColumnExtra {
        decimal: c.decimal,
        labels: c.labels.clone(),
        default: c.default.clone(),
        on_update_now: c.on_update_now,
        auto_increment: c.auto_increment,
        comment: c.comment.clone(),
        extra: c.extra.clone(),
    };
    let commented = parts.indexes.iter().filter(|i| !i.comment.is_empty());
    let bytes = TableExtra {
        collation: parts.collation,
        auto_inc_from: parts.auto_inc_from,
        comment: parts.comment.clone(),
        extra: parts.extra.clone(),
        columns: parts.columns.iter().map(column).collect(),
        index_comments: commented.map(|i| (i.id, i.comment.clone())).collect(),
    }
    .encode();
    let row = |(n, piece): (usize, &[u8])| {
        vec![rows::u64_value(parts.id.get()), rows::u32_value(n as u32), Some(piece.to_vec())]
    };
    bytes.chunks(PIECE).enumerate().map(row).collect()
}

/// Creates a table in one go.
pub(super) fn create(storage: &Storage, dict: &Dictionary, spec: &TableSpec) -> Result<()> {
    check::table(storage, spec)?;
    let _latch = dict.change();
    if dict.table_row(storage, &spec.name)?.is_some() {
        return Err(Error::TableExists(spec.name.clone()));
    }
    let mut parts = parts_of(storage, spec);
    parts.id = ids::table_id(storage)?;
    for index in &mut parts.indexes {
        index.id = ids::index_id(storage)?;
    }
    let flags = Flags::of(&parts);
    if spec.file_per_table {
        parts.space = ids::space_id(storage)?;
        let atomic = flags.table.atomic_blobs();
        let space_flags = SpaceFlags::new(parts.page_size, atomic, false)
            .map_err(|c| Error::BadDefinition(c.to_string()))?;
        super::make_database_dir(storage, &spec.name)?;
        storage.create_table_space(parts.space, space_flags, &spec.name)?;
    }
    for (n, def) in parts.index_defs()?.into_iter().enumerate() {
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        let tree = Tree::create(&mut mtr, parts.space, def)?;
        mtr.commit();
        parts.indexes[n].root = tree.root();
    }
    let flags = Flags::of(&parts);
    let written = rows::definition_rows(&parts, &flags);
    let sys = &dict.sys;
    let put = |table: &Arc<Table>, rows: &[Values]| {
        rows.iter().try_for_each(|row| sys_tables::insert_bare(storage, table, &rows::fields(row)))
    };
    put(&sys.core.columns, &written.columns)?;
    put(&sys.core.indexes, &written.indexes)?;
    put(&sys.core.fields, &written.fields)?;
    if let Some(extra) = &sys.extra {
        put(extra, &extra_rows(&parts))?;
    }
    put(&sys.core.tables, std::slice::from_ref(&written.table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dict::CreateSystem;
    use crate::table::{Column, FieldSource};
    use vaquita_base::ManualClock;
    use vaquita_io::sim::SimDisk;
    use vaquita_storage::{Bootstrap, Mtr, NoBootstrap, Options, PageRef};

    struct Boot;
    impl Bootstrap for Boot {
        fn change_buffer_root(&mut self, mtr: &mut Mtr<'_>, root: PageRef) -> vaquita_storage::Result<()> {
            CreateSystem::default().change_buffer_root(mtr, root)
        }
        fn rollback_segment(&mut self, storage: &Storage) -> vaquita_storage::Result<()> {
            NoBootstrap.rollback_segment(storage)
        }
        fn dictionary(&mut self, storage: &Storage) -> vaquita_storage::Result<()> {
            CreateSystem::default().dictionary(storage)
        }
        fn rest(&mut self, storage: &Storage) -> vaquita_storage::Result<()> {
            CreateSystem::default().rest(storage)
        }
    }

    #[test]
    fn a_table_is_found_again() {
        let disk = SimDisk::new(1);
        disk.put_dir("/db".as_ref());
        let open = || {
            let clock = Arc::new(ManualClock::new());
            Storage::open_with(Arc::new(disk.clone()), clock, Options::new("/db"), &mut Boot).unwrap()
        };
        let storage = open();
        let dict = Dictionary::open(&storage, None, 10).unwrap();
        let columns = vec![
            Column::new(ColumnDef::int("id", 4, false).not_null()),
            Column::new(ColumnDef::varbinary("v", 3000)),
        ];
        let mut spec = TableSpec::new("test/t", columns);
        spec.primary_key = Some(vec![KeyPart::whole(0)]);
        spec.indexes.push(crate::ddl::IndexSpec {
            name: "v".into(),
            parts: vec![KeyPart::prefix(1, 10)],
            unique: false,
            comment: "c".into(),
        });
        create(&storage, &dict, &spec).unwrap();
        let check = |storage: &Storage, dict: &Dictionary| {
            let table = dict.find(storage, "test/t").unwrap().unwrap();
            assert_eq!(table.columns, spec.columns);
            assert_eq!(table.indexes[1].comment, "c");
            assert_eq!(
                table.indexes[1].sources,
                [
                    FieldSource::Column { column: 1, prefix_len: 10 },
                    FieldSource::Column { column: 0, prefix_len: 0 }
                ]
            );
            assert_eq!(table.indexes[1].cluster_key, [1]);
            assert_eq!(table.cluster_fields, [0, 3]);
            assert_eq!(table.is_ordering, [true, true]);
        };
        check(&storage, &dict);
        storage.close().unwrap();
        drop((storage, dict));
        let storage = open();
        let dict = Dictionary::open(&storage, None, 10).unwrap();
        check(&storage, &dict);
        let foreign = dict.find(&storage, "SYS_FOREIGN").unwrap().unwrap();
        assert!(foreign.is_system && foreign.id == TableId(11));
        assert_eq!(foreign.indexes.iter().map(|i| i.id.0).collect::<Vec<_>>(), [11, 12, 13]);
    }
}
