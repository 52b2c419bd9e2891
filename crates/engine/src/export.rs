//! Tables whose files may be copied while the folder is in use: FLUSH TABLES .. FOR EXPORT, and .. WITH READ LOCK.
//!
//! Metadata locks keep others from changing the rows, purge rests, and everything is written out; a description of the table lies
//! beside its file (`.cfg`), from which MySQL 5.6 and later take it in (IMPORT TABLESPACE), and, if that is asked for, what the server
//! itself would keep of it (`.frm`, `.par`). When the locks go, so do the descriptions, and purge goes on. MySQL 5.6 stops purge the same way, for all tables.
//!
//! # Crash
//! A description may be left behind. It says what the file was at that moment, and nobody here reads it.

use crate::core::Core;
use crate::dict::server_files::ServerFile;
use crate::error::{Error, Result};
use crate::table::Table;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vaquita_format::cfg::{DescribedIndex, TableHead, TableMeta};
use vaquita_format::column::ColumnDef;
use vaquita_format::flags::{SpaceFlags, TableFlags};
use vaquita_format::index_def::RowFormat;
use vaquita_io::{OpenMode, OpenOptions};

/// What keeps purge from files, and the descriptions beside them, until it goes.
#[derive(Debug)]
pub(crate) struct Export {
    core: Arc<Core>,
    files: Vec<PathBuf>,
}

impl Export {
    /// Stops purge: on return no batch is under way.
    pub(crate) fn begin(core: Arc<Core>) -> Export {
        core.stop_purge();
        Export { core, files: Vec::new() }
    }

    /// Writes what a MySQL server keeps of a table beside its file, or beside those of its parts, which are in the folder.
    pub(crate) fn keep(&mut self, table: &Table, kept: &ServerFile) -> Result<()> {
        let storage = &self.core.storage;
        let beside = match table.parts {
            Some(_) => storage.place_of(&table.name, None),
            None => storage.spaces().get(table.space)?.path(),
        };
        let files = [("par", kept.par.as_deref()), ("frm", Some(&kept.frm[..]))];
        for (extension, bytes) in files.into_iter().filter_map(|(name, bytes)| Some((name, bytes?))) {
            self.put(beside.with_extension(extension), bytes)?;
        }
        Ok(())
    }

    /// Puts a file there, unless another session has: nobody changes the table, so it says the same, and may be being copied.
    fn put(&mut self, path: PathBuf, bytes: &[u8]) -> Result<()> {
        let mut descriptions = self.core.descriptions.lock();
        let sessions = descriptions.entry(path.clone()).or_default();
        if *sessions == 0
            && let Err(e) = write(&self.core, &path, bytes)
        {
            // What is there of it is cut short, and nobody else's.
            descriptions.remove(&path);
            let _ = self.core.storage.fs().remove_file(&path);
            return Err(e);
        }
        *sessions += 1;
        self.files.push(path);
        Ok(())
    }

    /// Writes the description of a table, whose pages were written out.
    pub(crate) fn describe(&mut self, table: &Table, host: &str) -> Result<()> {
        let storage = &self.core.storage;
        let space = storage.spaces().get(table.space)?;
        let flags = SpaceFlags::decode(space.flags()).map_err(|c| Error::Corrupt(c.to_string()))?;
        let path = space.path().with_extension("cfg");
        let meta = description(table, host, flags);
        self.put(path, &meta.write())
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        let mut descriptions = self.core.descriptions.lock();
        for file in &self.files {
            let others = descriptions.get(file).map_or(0, |sessions| sessions - 1);
            if others > 0 {
                descriptions.insert(file.clone(), others);
                continue;
            }
            descriptions.remove(file);
            if let Err(e) = self.core.storage.fs().remove_file(file) {
                self.core.notes.say(format!("{} is left behind: {e}", file.display()));
            }
        }
        drop(descriptions);
        self.core.resume_purge();
    }
}

/// A table as its `.cfg` has it.
pub(crate) fn description(table: &Table, host: &str, flags: SpaceFlags) -> TableMeta {
    let size = flags.page_size();
    let is_dynamic = matches!(table.row_format, RowFormat::Dynamic | RowFormat::Compressed);
    let is_comp = u32::from(table.row_format.is_comp());
    let head = TableHead {
        hostname: host.to_owned(),
        name: table.name.clone(),
        autoinc: table.auto_inc.peek().unwrap_or_default(),
        page_size: size,
        flags: TableFlags::new(size, is_dynamic, table.directory.is_some()).encode() & !1 | is_comp,
        space: table.space,
    };
    let columns: Vec<ColumnDef> = table.columns.iter().map(|column| column.def.clone()).collect();
    let of_fulltext: Vec<Vec<ColumnDef>> = (table.fulltext.iter())
        .map(|index| index.columns.iter().map(|&column| columns[column].clone()).collect())
        .collect();
    let trees = table.indexes.iter().map(|index| DescribedIndex::Tree {
        def: index.def(),
        root: index.tree.root(),
        n_user_defined: if index.def().is_generated() { 0 } else { index.parts.len() },
    });
    let fulltext = table.fulltext.iter().zip(&of_fulltext);
    let fulltext = fulltext.map(|(index, columns)| DescribedIndex::FullText {
        id: index.id,
        name: &index.name,
        columns,
    });
    TableMeta::describe(head, &columns, &trees.chain(fulltext).collect::<Vec<_>>())
}

fn write(core: &Core, path: &Path, bytes: &[u8]) -> Result<()> {
    let fs = core.storage.fs();
    let io = |e: vaquita_io::Error| Error::Storage(e.into());
    if fs.exists(path) {
        // Of an earlier life.
        fs.remove_file(path).map_err(io)?;
    }
    let file = fs.open(path, OpenOptions::new(OpenMode::CreateNew)).map_err(io)?;
    file.write_at(bytes, 0).map_err(io)?;
    file.sync().map_err(io)
}

/// Whether a description can say what the file is.
#[must_use]
pub fn can_be_exported(table: &Arc<Table>) -> bool {
    check_exportable(table).is_ok()
}

/// The same.
///
/// # Errors
/// What it cannot say.
pub(crate) fn check_exportable(table: &Table) -> Result<()> {
    let def = table.clustered().def();
    if def.layout().version() > 0 {
        return Err(Error::TableChanged(table.name.clone()));
    }
    let descends = |index: &crate::table::Index| index.def().fields().iter().any(|field| field.descending);
    match table.indexes.iter().any(|index| descends(index)) {
        true => Err(Error::WrongState("a description of an exported table cannot tell of descending keys")),
        false => Ok(()),
    }
}
