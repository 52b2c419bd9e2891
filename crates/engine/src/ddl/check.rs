//! What a definition must be.

use crate::ddl::TableSpec;
use crate::error::{Error, Result};
use vaquita_storage::Storage;

/// Checks a table to be made.
pub(super) fn table(storage: &Storage, spec: &TableSpec) -> Result<()> {
    let _ = storage;
    if spec.columns.is_empty() {
        return Err(Error::BadDefinition(format!("table {} has no columns", spec.name)));
    }
    Ok(())
}
