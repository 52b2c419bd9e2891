//! After a crash: what the DDL log says is left is done.

use super::log;
use crate::core::Core;
use crate::error::Result;
use crate::online::temp_file;

/// Does it.
pub(super) fn recover(core: &Core) -> Result<()> {
    let _latch = core.dict.change();
    temp_file::remove_leftovers(&core.storage)?;
    let mut entries = log::all(core)?;
    entries.reverse();
    log::perform(core, &entries)
}
