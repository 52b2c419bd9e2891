//! A table that is made with the tablespace it has: of a definition and a file from elsewhere.
//!
//! # Crash
//! How to get rid of the file that is written is durable before it is begun, and the definition is committed when all of it is on the
//! disk: the table is there with all rows, or there is nothing of it. The user's file is only read.

use super::file::{self, Source};
use super::{examine, fill, read_description};
use crate::core::Core;
use crate::ddl::change::Change;
use crate::ddl::create::{New, insert_keys, make_place, plan};
use crate::ddl::log::Entry;
use crate::ddl::{TableSpec, definition, held};
use crate::dict::ids;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use vaquita_format::cfg::TableMeta;
use vaquita_format::index_def::RowFormat;
use vaquita_format::roots::find_roots;

/// A file of which a table is to be made.
#[derive(Debug, Clone)]
pub struct ImportFile {
    path: PathBuf,
    description: Option<TableMeta>,
    row_format: RowFormat,
}

impl ImportFile {
    /// Looks at a file, and at what describes it (`.cfg`) beside it.
    ///
    /// # Errors
    /// [`Error::BadImport`]: it is no tablespace of pages as this folder has, or has no tree; a description that cannot be read.
    pub fn open(core: &Core, path: &Path) -> Result<ImportFile> {
        let fs = core.storage.fs().as_ref();
        let bad = |detail: String, missing: bool| Error::BadImport {
            table: path.display().to_string(),
            detail,
            missing,
        };
        if !fs.exists(path) {
            return Err(bad(format!("{} is not there", path.display()), true));
        }
        let description = read_description(fs, path, &path.display().to_string())?;
        let size = core.storage.options().page_size;
        let source = Source::open(fs, path, size).map_err(|e| bad(e, false))?;
        let accepted = core.storage.settings().checksum_algorithm;
        let roots = find_roots(size, source.n_pages, &|no| source.page(no, accepted));
        let Some(first) = roots.first() else {
            return Err(bad("it has no root of an index that can be read".into(), false));
        };
        let row_format = file::row_format(source.flags, first.comp);
        Ok(ImportFile { path: path.to_owned(), description, row_format })
    }

    /// What is in the file of the same name with another extension, if there is one.
    ///
    /// # Errors
    /// It cannot be read, or is longer than a definition.
    pub fn beside(&self, core: &Core, extension: &str) -> Result<Option<Vec<u8>>> {
        file::read_whole(core.storage.fs().as_ref(), &self.path.with_extension(extension))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What describes it.
    pub fn description(&self) -> Option<&TableMeta> {
        self.description.as_ref()
    }

    /// The format of its rows.
    pub fn row_format(&self) -> RowFormat {
        self.row_format
    }
}

/// Creates a table of a file, without its FULLTEXT indexes. With `checks` its rows are held against its foreign keys.
pub(in crate::ddl) fn create(
    change: &mut Change<'_>,
    spec: &TableSpec,
    checks: bool,
    file: &ImportFile,
) -> Result<u64> {
    let core = change.core;
    let dict = &core.dict;
    if !spec.file_per_table {
        return Err(Error::NoOwnTablespace(spec.name.clone()));
    }
    let New { spec, keys, mut parts } = plan(change, spec, checks)?;
    if parts.row_format != file.row_format {
        return Err(Error::SchemaMismatch(format!(
            "Rows of the table are {:?}, those of the file {:?}",
            parts.row_format, file.row_format
        )));
    }
    parts.space = ids::space_id(&core.storage)?;
    let (rows, row_id) = change.unlatched(|change| {
        let _folder = dict.keep_folders();
        make_place(change, &parts)?;
        let examined = examine(core, &parts, &file.path, file.description.as_ref())?;
        change.will_make(&[Entry::DropSpace { space: parts.space, name: spec.name.clone() }])?;
        let (filled, found) = fill(change, &mut parts, &examined, &spec.name)?;
        if checks {
            held::check_new(core, change.trx(), &filled, &keys)?;
        }
        Ok(found)
    })?;
    if let Some(described) = &file.description {
        parts.auto_inc_from = described.autoinc.max(parts.auto_inc_from);
    }
    // Their words are not in the file.
    parts.fulltext.clear();
    // Rows without a key must not meet those that come.
    dict.raise_row_id(&core.storage, row_id)?;
    definition::insert(change, &parts)?;
    insert_keys(change, &spec.name, &keys)?;
    Ok(rows)
}
