//! A new folder: the change buffer's root, rollback segment 0, the dictionary's header and trees, and the SYS tables
//! that describe themselves like any other.
//!
//! # Crash
//! A folder counts as nothing until all of it is made: `vaquita_storage::Storage` removes what is left otherwise.

use crate::dict::sys_tables;
use std::sync::Arc;
use vaquita_base::{IndexId, PageId, PageNo, SpaceId};
use vaquita_btree::Tree;
use vaquita_format::dict::{self, DictHeader};
use vaquita_format::fil;
use vaquita_format::flst::{ListBase, SegmentHeader};
use vaquita_format::index_def::IndexDef;
use vaquita_format::index_page::header::{INDEX_ID, LEAF_SEGMENT, LEVEL};
use vaquita_format::index_page::logged::{self, PageLog};
use vaquita_storage::{Bootstrap, Error, Mtr, PageRef, Result, Storage};

/// Number of the change buffer's tree.
const CHANGE_BUFFER: IndexId = IndexId(0xFFFF_FFFF_0000_0000);

/// Makes what the upper layers keep in the system tablespace of a new folder.
#[derive(Debug, Clone, Copy, Default)]
pub struct CreateSystem {}

impl Bootstrap for CreateSystem {
    fn change_buffer_root(&mut self, mtr: &mut Mtr<'_>, root: PageRef) -> Result<()> {
        let id = mtr.id(root);
        mtr.edit(root, |page, log| logged::create(page, &mut PageLog::new(id, log), false));
        mtr.write_u16(root, LEVEL, 0);
        mtr.write_u64(root, INDEX_ID, CHANGE_BUFFER.get());
        mtr.write_u32(root, fil::PREV, PageNo::NULL.get());
        mtr.write_u32(root, fil::NEXT, PageNo::NULL.get());
        // Where other trees have the header of their leaves' segment: the list of free pages.
        mtr.write_bytes(root, LEAF_SEGMENT, &ListBase::EMPTY.encode());
        Ok(())
    }

    fn rollback_segment(&mut self, storage: &Storage) -> Result<()> {
        vaquita_txn::undo::create_first_rollback_segment(storage).map_err(|e| match e {
            vaquita_txn::Error::Storage(e) => e,
            other => Error::Folder(other.to_string()),
        })
    }

    fn dictionary(&mut self, storage: &Storage) -> Result<()> {
        // With small pages a page of segment inodes comes in between: the header says where the roots are.
        let mut roots = Vec::new();
        for def in sys_tables::core_index_defs(storage.options().page_size).map_err(outward)? {
            roots.push(create_tree(storage, def)?);
        }
        write_header(storage, &roots)
    }

    fn rest(&mut self, storage: &Storage) -> Result<()> {
        let core = sys_tables::CoreTables::open(storage, None).map_err(outward)?;
        sys_tables::create_missing(storage, &core).map_err(outward)
    }
}

/// Writes the header with the roots in the order of their making.
fn write_header(storage: &Storage, roots: &[PageNo]) -> Result<()> {
    let mut mtr = storage.begin()?;
    let page = mtr.get_exclusive(PageId::new(SpaceId::SYSTEM, dict::PAGE))?;
    let header = DictHeader {
        tables_root: roots[0],
        table_ids_root: roots[1],
        columns_root: roots[2],
        indexes_root: roots[3],
        fields_root: roots[4],
        ..DictHeader::new(SegmentHeader::read(mtr.page(page), dict::SEGMENT))
    };
    let mut image = mtr.page(page).to_vec();
    header.write(&mut image);
    mtr.write_bytes(page, dict::ROW_ID, &image[dict::ROW_ID..dict::SEGMENT]);
    mtr.commit();
    Ok(())
}

/// An empty tree in the system tablespace; its root.
pub(crate) fn create_tree(storage: &Storage, def: Arc<IndexDef>) -> Result<PageNo> {
    let mut mtr = storage.begin()?;
    mtr.keep_before_images();
    let tree = Tree::create(&mut mtr, SpaceId::SYSTEM, def).map_err(|e| outward(e.into()))?;
    mtr.commit();
    Ok(tree.root())
}

/// An error of this crate on its way through the storage's creation of a folder.
fn outward(e: crate::error::Error) -> Error {
    match e {
        crate::error::Error::Storage(e) => e,
        other => Error::Folder(other.to_string()),
    }
}
