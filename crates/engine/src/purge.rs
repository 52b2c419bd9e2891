//! Purge: removes what no read view needs any more: delete-marked records, old index entries, old off-page values.

use crate::core::Core;
use crate::error::Result;

impl Core {
    /// Purges one batch; whether there was anything to do.
    ///
    /// # Errors
    /// Errors of pages; what was not purged is purged again.
    pub fn purge_step(&self) -> Result<bool> {
        unimplemented!()
    }
}
