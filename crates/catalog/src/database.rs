//! What a database is by default, as its `db.opt` says.

use crate::error;
use vaquita_engine::core::Core;
use vaquita_engine::text::collation;
use vaquita_types::SqlResult;

/// Default collation of a database, `Some(None)` if it says nothing; `None`: there is no such database. The name is as
/// in file names.
///
/// # Errors
/// Errors of reading the folder.
pub fn database_options(core: &Core, file_name: &str) -> SqlResult<Option<Option<u16>>> {
    let options = error::of_engine(vaquita_engine::ddl::database_options(core, file_name))?;
    let collation = |text: &str| {
        let name = text.lines().find_map(|line| line.strip_prefix("default-collation="))?;
        collation::by_name(name.trim())
    };
    Ok(options.map(|text| collation(&text)))
}
