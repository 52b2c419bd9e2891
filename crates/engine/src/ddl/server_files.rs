//! Files that a MySQL server keeps beside tables follow the dictionary in a folder that such a server made: it goes by them when it opens
//! the folder again.
//!
//! What they say is what the dictionary says. So whoever changes a definition leaves a note in the DDL [log](super::log) that the files of a
//! name are to be put right ([`put_right`]), which is done when the change is committed: they are written by what the dictionary has
//! then, or go. A file that does not differ is not touched, nor is one of another engine's table. That of a view is kept
//! with the view, byte for byte, and comes and goes with it. Triggers have notes of their own ([`put_trigger_right`]).
//!
//! In its turn the server changes definitions, too, and writes the file anew: who reads a definition sees by [`KEPT_VERSION`] who wrote last.
//! What a table is in SQL this layer does not know: who opens a folder for SQL gives it who does ([`ServerFileMaker`]). Until then notes
//! stay.
//!
//! # Crash
//! Before the commit there is no note, and the files are those of before. After it the note is there until the files are right: the next
//! opening does what is left. A file is written beside and renamed, so there is always a whole one.
//!
//! [`KEPT_VERSION`]: crate::dict::server_files::KEPT_VERSION

use crate::core::Core;
use crate::dict::load::Told;
use crate::dict::objects::ObjectKind;
use crate::dict::server_files::{
    FRM_MAX, ServerFile, ServerFileMaker, Standing, frm_path, read, standing, told_triggers, trigger_path,
    triggers_path,
};
use crate::error::{Error, Result};
use crate::table::Table;
use std::path::{Path, PathBuf};
use vaquita_format::{filename, trg};
use vaquita_io::{OpenMode, OpenOptions, replace_file};
use vaquita_storage::Storage;

/// Makes the files of a name those of the table that the dictionary has, or of none.
///
/// # Errors
/// Errors of files and of reading the dictionary.
pub(super) fn put_right(core: &Core, maker: &dyn ServerFileMaker, name: &str) -> Result<()> {
    let storage = &core.storage;
    let table = {
        let _latch = core.dict.freeze();
        core.dict.described(storage, name, Told::ByUs)?
    };
    let done = put_right_of(core, maker, name, table);
    // Who has read the definition meanwhile may have read it by a file of another table.
    core.dict.forget(name);
    done
}

fn put_right_of(core: &Core, maker: &dyn ServerFileMaker, name: &str, table: Option<Table>) -> Result<()> {
    let storage = &core.storage;
    let objects = core.dict.objects.now();
    match (table, standing(storage, name)?) {
        (None, Standing::Other) => Ok(()),
        (None, there) if let Some(view) = objects.view(name) => match maker.make_of_view(view) {
            Some(frm) => replace(storage, name, &ServerFile { frm, par: None }),
            // Made where no server was to be told of it.
            None if there == Standing::View => Ok(()),
            None => remove_all(storage, name),
        },
        // The list of partitions may be left of one that went before.
        (None, _) => remove_all(storage, name),
        // The server's accounts are not ours.
        (Some(_), Standing::Nothing) if name.starts_with("mysql/") => Ok(()),
        (Some(_), Standing::Other) => {
            core.notes.say(format!("{name}.frm is of a table of another engine, and stays"));
            Ok(())
        }
        (Some(table), _) => match maker.make(&table) {
            Ok(file) => replace(storage, name, &file),
            Err(what) => {
                core.notes.say(format!("{name}.frm stays as it is: MySQL 5.6 cannot be told of {what}"));
                Ok(())
            }
        },
    }
}

/// Makes what the server keeps of a trigger what the dictionary has of it, and the list of a table's triggers that of the table's: one that it
/// was in, or is. The list of a table that is gone goes with the table's other files.
///
/// # Errors
/// Errors of files and of reading the dictionary.
pub(super) fn put_trigger_right(
    core: &Core,
    maker: &dyn ServerFileMaker,
    table: &str,
    trigger: &str,
) -> Result<()> {
    let storage = &core.storage;
    let objects = core.dict.objects.now();
    let database = table.split_once('/').map_or("", |(database, _)| database);
    let there = objects.get(ObjectKind::Trigger, database, trigger);
    let told = there.filter(|trigger| maker.make_of_trigger(trigger).is_some());
    if let Some(path) = trigger_path(storage, database, trigger) {
        match told {
            Some(trigger) => write(storage, &path, &trg::name_file(&sql_name(&trigger.table)))?,
            None => remove_with_new(storage, &path)?,
        }
    }
    let has_table = {
        let _latch = core.dict.freeze();
        core.dict.has_table(storage, table)?
    };
    if has_table {
        let list = triggers_path(storage, table);
        match &told_triggers(&objects, maker, table)[..] {
            [] => remove_with_new(storage, &list)?,
            triggers => write(storage, &list, &trg::encode(triggers))?,
        }
        // Who has read the definition meanwhile has read it beside the list of before.
        core.dict.forget(table);
    }
    Ok(())
}

/// What SQL calls a table, with or without its database.
fn sql_name(name: &str) -> String {
    let short = name.split_once('/').map_or(name, |(_, short)| short);
    filename::decode(short).unwrap_or_else(|| short.to_owned())
}

/// Removes the files of a name, and what a crash has left of writing them; the list of partitions last. Triggers go before.
fn remove_all(storage: &Storage, name: &str) -> Result<()> {
    let frm = frm_path(storage, name);
    remove_triggers(storage, name)?;
    let extensions = ["frm.new", "frm", "par.new", "par"];
    extensions.iter().try_for_each(|extension| remove(storage, &frm.with_extension(extension)))
}

/// Removes the files of the triggers that the server has of a table: the one of each, and then the list of them.
fn remove_triggers(storage: &Storage, name: &str) -> Result<()> {
    let list = triggers_path(storage, name);
    if !storage.fs().exists(&list) {
        return Ok(());
    }
    let wanted = trg::name_file(&sql_name(name));
    let dir = list.parent().unwrap_or(&list);
    for path in storage.fs().list_dir(dir).map_err(|e| Error::Storage(e.into()))? {
        if path.extension().is_some_and(|e| e == "TRN")
            && read(storage, &path, FRM_MAX)?.is_some_and(|file| file == wanted)
        {
            remove(storage, &path)?;
        }
    }
    remove_with_new(storage, &list)
}

/// Removes a file, and what a crash has left of writing it.
fn remove_with_new(storage: &Storage, path: &Path) -> Result<()> {
    remove(storage, &new_of(path))?;
    remove(storage, path)
}

/// Where a file is written that is to take the place of one.
fn new_of(path: &Path) -> PathBuf {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    path.with_extension(format!("{extension}.new"))
}

/// The list of partitions goes before the definition that needs it comes, and stays until that is gone.
fn replace(storage: &Storage, name: &str, file: &ServerFile) -> Result<()> {
    let frm = frm_path(storage, name);
    let par = frm.with_extension("par");
    if let Some(bytes) = &file.par {
        write(storage, &par, bytes)?;
    }
    write(storage, &frm, &file.frm)?;
    if file.par.is_none() { remove(storage, &par) } else { Ok(()) }
}

/// Puts a file in the place of one, unless that has the same bytes: there is always a whole one.
fn write(storage: &Storage, path: &Path, bytes: &[u8]) -> Result<()> {
    let fs = storage.fs();
    let io = |e: vaquita_io::Error| Error::Storage(e.into());
    if read(storage, path, FRM_MAX)?.is_some_and(|there| there == bytes) {
        // It may be there since a power cut that it would not have outlived.
        fs.open(path, OpenOptions::new(OpenMode::Read)).and_then(|file| file.sync()).map_err(io)?;
        return sync_dir_of(storage, path);
    }
    replace_file(&**fs, path, &new_of(path), bytes).map_err(io)?;
    sync_dir_of(storage, path)
}

fn remove(storage: &Storage, path: &Path) -> Result<()> {
    let fs = storage.fs();
    if !fs.exists(path) {
        return Ok(());
    }
    fs.remove_file(path).map_err(|e| Error::Storage(e.into()))?;
    sync_dir_of(storage, path)
}

fn sync_dir_of(storage: &Storage, path: &Path) -> Result<()> {
    let dir = path.parent().unwrap_or(path);
    storage.fs().sync_dir(dir).map_err(|e| Error::Storage(e.into()))
}
