//! Doubly linked lists whose base and nodes lie on pages.
//!
//! Extents, inode pages, undo pages and undo logs are linked this way. The bytes are described in
//! [`vaquita_format::flst`]; here are the changes. Each function latches the neighbours it has to change
//! exclusively if they are not held yet, before it changes anything, and checks that they point back.
//!
//! # Latching
//! The caller holds the page of the base and the page of the node. Where the order of neighbours' latches matters,
//! the caller latches them first.

use super::latch_exclusive;
use crate::error::{Error, Result};
use crate::mtr::{Mtr, PageRef};
use vaquita_base::{PageId, SpaceId};
use vaquita_format::Corruption;
use vaquita_format::fil;
use vaquita_format::flst::{
    BASE_FIRST, BASE_LAST, BASE_LEN, FileAddress, ListBase, ListNode, NODE_NEXT, NODE_PREV, NODE_SIZE,
};

/// A place on a held page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The page.
    pub page: PageRef,
    /// Byte in it.
    pub offset: usize,
}

impl Place {
    /// Its address in the tablespace.
    pub fn address(self, mtr: &Mtr<'_>) -> FileAddress {
        FileAddress::new(mtr.id(self.page).page_no, self.offset as u16)
    }

    fn add(self, n: usize) -> Self {
        Self { offset: self.offset + n, ..self }
    }
}

/// Reads the base of a list.
pub fn read_base(mtr: &Mtr<'_>, base: Place) -> ListBase {
    ListBase::read(mtr.page(base.page), base.offset)
}

/// Reads a node of a list.
pub fn read_node(mtr: &Mtr<'_>, node: Place) -> ListNode {
    ListNode::read(mtr.page(node.page), node.offset)
}

/// Latches the page of a node exclusively, or finds it held so.
///
/// # Errors
/// Errors of reading the page; [`Error::Structure`] if no node can lie there.
pub fn latch_node(mtr: &mut Mtr<'_>, space: SpaceId, address: FileAddress) -> Result<Place> {
    let id = PageId::new(space, address.page);
    let page = latch_exclusive(mtr, id)?;
    let offset = usize::from(address.offset);
    if offset < fil::BODY || offset + NODE_SIZE > mtr.page(page).len() {
        return Err(Error::structure(id, Corruption::new("list node", format!("no node lies at {address}"))));
    }
    Ok(Place { page, offset })
}

/// Makes an empty list.
pub fn init(mtr: &mut Mtr<'_>, base: Place) {
    mtr.write_bytes(base.page, base.offset, &ListBase::EMPTY.encode());
}

/// Adds a node in front.
///
/// # Errors
/// Errors of reading the neighbour; [`Error::Structure`] if the list is damaged. Nothing is changed then.
pub fn add_first(mtr: &mut Mtr<'_>, base: Place, node: Place) -> Result<()> {
    let list = checked_base(mtr, base)?;
    link(mtr, base, node, ListNode { prev: FileAddress::NULL, next: list.first })
}

/// Adds a node at the end.
///
/// # Errors
/// As [`add_first`].
pub fn add_last(mtr: &mut Mtr<'_>, base: Place, node: Place) -> Result<()> {
    let list = checked_base(mtr, base)?;
    link(mtr, base, node, ListNode { prev: list.last, next: FileAddress::NULL })
}

/// Adds a node behind `after`, a node of the list.
///
/// # Errors
/// As [`add_first`].
pub fn insert_after(mtr: &mut Mtr<'_>, base: Place, after: Place, node: Place) -> Result<()> {
    let next = read_node(mtr, after).next;
    link(mtr, base, node, ListNode { prev: after.address(mtr), next })
}

/// Adds a node in front of `before`, a node of the list.
///
/// # Errors
/// As [`add_first`].
pub fn insert_before(mtr: &mut Mtr<'_>, base: Place, before: Place, node: Place) -> Result<()> {
    let prev = read_node(mtr, before).prev;
    link(mtr, base, node, ListNode { prev, next: before.address(mtr) })
}

/// Takes a node off its list. The node's own bytes stay as they are.
///
/// # Errors
/// As [`add_first`].
pub fn remove(mtr: &mut Mtr<'_>, base: Place, node: Place) -> Result<()> {
    let list = checked_base(mtr, base)?;
    let ListNode { prev, next } = read_node(mtr, node);
    let before = forward_link(mtr, base, prev)?;
    let after = backward_link(mtr, base, next)?;
    let own = node.address(mtr);
    expect_link(mtr, before, own)?;
    expect_link(mtr, after, own)?;
    let len = list.len.checked_sub(1).ok_or_else(|| broken(mtr, base, &list))?;
    write_address(mtr, before, next);
    write_address(mtr, after, prev);
    mtr.write_u32(base.page, base.offset + BASE_LEN, len);
    Ok(())
}

/// Cuts `node` and everything behind it off its list: `n` nodes, as the caller has counted.
///
/// # Errors
/// As [`add_first`].
pub fn cut_end(mtr: &mut Mtr<'_>, base: Place, node: Place, n: u32) -> Result<()> {
    let list = checked_base(mtr, base)?;
    let prev = read_node(mtr, node).prev;
    let len = list.len.checked_sub(n).ok_or_else(|| broken(mtr, base, &list))?;
    if prev.is_null() != (len == 0) {
        return Err(broken(mtr, base, &list));
    }
    let before = forward_link(mtr, base, prev)?;
    expect_link(mtr, before, node.address(mtr))?;
    write_address(mtr, before, FileAddress::NULL);
    write_address(mtr, base.add(BASE_LAST), prev);
    mtr.write_u32(base.page, base.offset + BASE_LEN, len);
    Ok(())
}

/// Puts a node between two neighbours, or an end of the list.
fn link(mtr: &mut Mtr<'_>, base: Place, node: Place, between: ListNode) -> Result<()> {
    let list = checked_base(mtr, base)?;
    let before = forward_link(mtr, base, between.prev)?;
    let after = backward_link(mtr, base, between.next)?;
    expect_link(mtr, before, between.next)?;
    expect_link(mtr, after, between.prev)?;
    let len = list.len.checked_add(1).ok_or_else(|| broken(mtr, base, &list))?;
    let own = node.address(mtr);
    mtr.write_bytes(node.page, node.offset, &between.encode());
    write_address(mtr, before, own);
    write_address(mtr, after, own);
    mtr.write_u32(base.page, base.offset + BASE_LEN, len);
    Ok(())
}

/// Where the address of the node behind `prev` is stored: in `prev`, or in the base if there is none.
fn forward_link(mtr: &mut Mtr<'_>, base: Place, prev: FileAddress) -> Result<Place> {
    match prev.some() {
        Some(address) => Ok(latch_neighbour(mtr, base, address)?.add(NODE_NEXT)),
        None => Ok(base.add(BASE_FIRST)),
    }
}

/// Where the address of the node before `next` is stored.
fn backward_link(mtr: &mut Mtr<'_>, base: Place, next: FileAddress) -> Result<Place> {
    match next.some() {
        Some(address) => Ok(latch_neighbour(mtr, base, address)?.add(NODE_PREV)),
        None => Ok(base.add(BASE_LAST)),
    }
}

fn latch_neighbour(mtr: &mut Mtr<'_>, base: Place, address: FileAddress) -> Result<Place> {
    let space = mtr.id(base.page).space;
    latch_node(mtr, space, address)
}

fn expect_link(mtr: &Mtr<'_>, at: Place, address: FileAddress) -> Result<()> {
    let found = FileAddress::read(mtr.page(at.page), at.offset);
    if found.some() == address.some() {
        return Ok(());
    }
    let detail = format!("found {found}, expected {address}");
    Err(Error::structure(mtr.id(at.page), Corruption::new("link of a list", detail).at(at.offset)))
}

fn checked_base(mtr: &Mtr<'_>, base: Place) -> Result<ListBase> {
    let list = read_base(mtr, base);
    if list.is_plausible() { Ok(list) } else { Err(broken(mtr, base, &list)) }
}

#[cold]
fn broken(mtr: &Mtr<'_>, base: Place, list: &ListBase) -> Error {
    let corruption = Corruption::new("base of a list", format!("{list:?}")).at(base.offset);
    Error::structure(mtr.id(base.page), corruption)
}

fn write_address(mtr: &mut Mtr<'_>, at: Place, address: FileAddress) {
    mtr.write_bytes(at.page, at.offset, &address.encode());
}
