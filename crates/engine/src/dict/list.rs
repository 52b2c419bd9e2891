//! Listing what there is.

use super::Dictionary;
use super::rows;
use crate::core::Core;
use crate::error::Result;

impl Dictionary {
    /// Names of all tables but the dictionary's own, in their order.
    ///
    /// # Errors
    /// Errors of reading pages, damage.
    pub fn user_tables(&self, core: &Core) -> Result<Vec<String>> {
        let _frozen = self.freeze();
        let tables = &self.sys.core.tables;
        let rows = rows::read(&core.storage, tables.clustered(), &[])?;
        Ok(rows.iter().map(|row| row.text(0)).filter(|name| name.contains('/')).collect())
    }
}
