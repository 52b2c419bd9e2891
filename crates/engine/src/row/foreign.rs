//! Foreign keys.

use crate::core::Core;
use crate::error::Result;
use crate::row::WriteOptions;
use crate::row::entry::{Changed, Columns};
use crate::row::image::Image;
use crate::table::{Index, Table};
use std::sync::Arc;
use vaquita_txn::Trx;

/// The cascade a change is part of.
#[derive(Debug, Default)]
pub(crate) struct Cascade {}

pub(crate) fn check_parents(
    _: &Core,
    _: &mut Trx,
    _: &Arc<Table>,
    _: &Index,
    _: &impl Columns,
    _: WriteOptions,
) -> Result<()> {
    Ok(())
}
pub(crate) fn check_parents_of_changed(
    _: &Core,
    _: &mut Trx,
    _: &Arc<Table>,
    _: &Index,
    _: &Changed<'_>,
    _: WriteOptions,
) -> Result<()> {
    Ok(())
}
pub(crate) fn parent_deleted(
    _: &Core,
    _: &mut Trx,
    _: &Arc<Table>,
    _: &Index,
    _: &Image,
    _: WriteOptions,
    _: &mut Cascade,
) -> Result<()> {
    Ok(())
}
pub(crate) fn parent_updated(
    _: &Core,
    _: &mut Trx,
    _: &Arc<Table>,
    _: &Index,
    _: &Changed<'_>,
    _: WriteOptions,
    _: &mut Cascade,
) -> Result<()> {
    Ok(())
}
