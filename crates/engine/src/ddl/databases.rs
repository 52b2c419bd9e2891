//! Databases: a directory with a `db.opt`, as MySQL has them. One whose `db.opt` is missing exists while it has tables.

use super::change::Change;
use super::drop::{self, References};
use crate::core::Core;
use crate::error::{Error, Result};
use vaquita_io::{OpenMode, OpenOptions, replace_file};
use vaquita_txn::Trx;

/// Bytes of a `db.opt` that are read: it holds two lines.
const OPTIONS_MAX: u64 = 4_096;

fn io(e: vaquita_io::Error) -> Error {
    Error::Storage(e.into())
}

/// Makes a database's directory; `options` is the content of its `db.opt`.
///
/// # Errors
/// It exists; files.
pub fn create_database(core: &Core, name: &str, options: &str) -> Result<()> {
    super::check::table_name(&format!("{name}/t"))
        .map_err(|_| Error::BadDefinition(format!("{name} is no name of a database in file names")))?;
    let storage = &core.storage;
    if storage.options().read_only {
        return Err(Error::FolderReadOnly);
    }
    let _folder = core.dict.change_folders();
    super::make_database_dir(storage, &format!("{name}/t"))?;
    let dir = storage.options().dir.join(name);
    let path = dir.join("db.opt");
    if storage.fs().exists(&path) {
        return Err(Error::BadDefinition(format!("database {name} already exists")));
    }
    let file = storage.fs().open(&path, OpenOptions::new(OpenMode::CreateNew)).map_err(io)?;
    file.write_at(options.as_bytes(), 0).map_err(io)?;
    file.sync().map_err(io)?;
    storage.fs().sync_dir(&dir).map_err(io)
}

/// Content of a database's `db.opt`, empty if it has none but tables; `None`: there is no such database.
///
/// # Errors
/// Files, the dictionary.
pub fn database_options(core: &Core, name: &str) -> Result<Option<String>> {
    let storage = &core.storage;
    let path = storage.options().dir.join(name).join("db.opt");
    if !storage.fs().exists(&path) {
        let has_tables = !core.dict.tables(storage, name)?.is_empty();
        return Ok(has_tables.then(String::new));
    }
    let file = storage.fs().open(&path, OpenOptions::new(OpenMode::Read)).map_err(io)?;
    let len = file.len().map_err(io)?.min(OPTIONS_MAX);
    let mut bytes = vec![0; len as usize];
    file.read_at(&mut bytes, 0).map_err(io)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Gives a database another `db.opt`.
///
/// # Errors
/// Files.
pub fn alter_database(core: &Core, name: &str, options: &str) -> Result<()> {
    let storage = &core.storage;
    if storage.options().read_only {
        return Err(Error::FolderReadOnly);
    }
    let _folder = core.dict.change_folders();
    let dir = storage.options().dir.join(name);
    let (path, new) = (dir.join("db.opt"), dir.join("db.opt.new"));
    replace_file(&**storage.fs(), &path, &new, options.as_bytes()).map_err(io)?;
    storage.fs().sync_dir(&dir).map_err(io)
}

/// Drops a database: its tables, which the caller has listed and locked, one after the other, then everything else that has
/// a name in it, in one change; its `db.opt`, and its folder if
/// nothing else is in it. If it has got another table meanwhile, that one stays, and the database: `false`. A crash leaves
/// the database with the tables that are left, or the empty folder, which is no database.
///
/// # Errors
/// Tables of other databases refer to one of them: nothing is dropped. Files: those before it are.
pub fn drop_database(
    core: &Core,
    trx: &mut Trx,
    name: &str,
    tables: &[String],
    foreign_key_checks: bool,
) -> Result<bool> {
    let references = if foreign_key_checks { References::FromElsewhere(name) } else { References::Ignored };
    // All of them first: what is refused has dropped nothing. Whoever adds a foreign key locks the parent as well.
    for table in tables {
        drop::referring(core, table, references)?;
    }
    for table in tables {
        Change::run(core, trx, |change| drop::drop_table(change, table, references))?;
    }
    if !core.dict.tables(&core.storage, name)?.is_empty() {
        return Ok(false);
    }
    Change::run(core, trx, |change| super::objects::drop_all(change, name))?;
    let _folder = core.dict.change_folders();
    let dir = core.storage.options().dir.join(name);
    let (fs, path) = (core.storage.fs(), dir.join("db.opt"));
    if fs.exists(&path) {
        fs.remove_file(&path).map_err(io)?;
    }
    if !fs.is_dir(&dir) {
        return Ok(true);
    }
    fs.sync_dir(&dir).map_err(io)?;
    // MySQL takes every folder for a database. What somebody else has put into it stays, and so does the folder then.
    if fs.list_dir(&dir).map_err(io)?.is_empty() {
        fs.remove_dir(&dir).map_err(io)?;
        fs.sync_dir(&core.storage.options().dir).map_err(io)?;
    }
    Ok(true)
}
