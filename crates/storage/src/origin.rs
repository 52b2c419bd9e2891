//! Whose a folder is, read from its files before anything of them is opened for writing or locked.
//!
//! | found | it is |
//! |---|---|
//! | no system tablespace, or the marker of an interrupted creation | new |
//! | our mark in the TRX_SYS page | ours |
//! | a system tablespace and a log as MySQL 5.6 and older servers have them | another server's |
//! | redo logs, page flags or files that only later servers make | refused, with their maker's name |
//!
//! Another server's folder is opened for reading only, until somebody says that it may be taken over: then it gets our mark.

use crate::error::{Error, Result};
use crate::log::FolderId;
use crate::log::files;
use crate::options::Options;
use crate::system;
use std::path::{Path, PathBuf};
use vaquita_format::fil::{self, PageType};
use vaquita_format::flags::SpaceFlags;
use vaquita_format::redo_file::{BLOCK_SIZE, FileHeader};
use vaquita_format::{fsp, maker, trx_sys};
use vaquita_io::{FileSystem, OpenMode, OpenOptions};

/// Whose a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nobody's yet: opening makes it.
    New,
    /// Made, or taken over, by this program.
    Ours,
    /// Made by a MySQL server.
    Other,
}

/// Marks a folder that is being made.
pub(crate) const CREATING: &str = "vaquita.creating";

/// Bytes of the largest page.
const PAGE_MAX: usize = 64 << 10;

/// Whose the folder is. Changes nothing.
///
/// # Errors
/// I/O errors; [`Error::Folder`] if it was made by a server whose formats are not read here, or the settings do not fit its
/// files: names the setting and its value.
pub fn origin(fs: &dyn FileSystem, options: &Options) -> Result<Origin> {
    let dir = &options.dir;
    if !fs.exists(dir) || fs.exists(&dir.join(CREATING)) {
        return Ok(Origin::New);
    }
    refuse_later_servers(fs, options)?;
    let first = options.system_paths().swap_remove(0);
    if !fs.exists(&first) {
        return Ok(Origin::New);
    }
    let page = options.page_size.physical();
    let bytes = head(fs, &first, (trx_sys::PAGE.0 as usize + 1) * page.max(PAGE_MAX))?;
    check_first_page(&bytes, &first, options)?;
    check_for_more_files(fs, &bytes, options)?;
    let at = trx_sys::PAGE.0 as usize * page;
    match bytes.get(at..at + page) {
        Some(page) if system::is_marked(page) => Ok(Origin::Ours),
        Some(page) if fil::page_type(page) != Some(PageType::TrxSys) && labelled(fs, options)?.is_some() => {
            Err(Error::Folder(format!(
                "{}: page {}, that of the transaction system, is lost: restore a backup, or take the rows of each table from \
                 its file (vaquita dump)",
                first.display(),
                trx_sys::PAGE
            )))
        }
        // Too short for anybody's: opening says what is missing.
        _ => Ok(Origin::Other),
    }
}

/// The first bytes of a file, as many as there are.
fn head(fs: &dyn FileSystem, path: &Path, len: usize) -> Result<Vec<u8>> {
    let file = fs.open(path, OpenOptions::new(OpenMode::Read))?;
    let mut bytes = vec![0; file.len()?.min(len as u64) as usize];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn refuse_later_servers(fs: &dyn FileSystem, options: &Options) -> Result<()> {
    let dir = &options.dir;
    let later = |maker: &str, why: String| {
        Err(Error::Folder(format!(
            "{} was made by {maker} ({why}): its files are of formats that are not read here; folders of MySQL 5.6 and \
             older are",
            dir.display()
        )))
    };
    for (name, maker) in [("#innodb_redo", "MySQL 8.0 or later"), ("mysql.ibd", "MySQL 8.0 or later")] {
        if fs.exists(&dir.join(name)) {
            return later(maker, format!("it has {name}"));
        }
    }
    let Some((path, header)) = log_header(fs, options, 0)? else { return Ok(()) };
    match maker::of_log(&header) {
        Some(foreign) => {
            later(&foreign.maker, format!("{} has format {:#x}", path.display(), header.group_id))
        }
        None => Ok(()),
    }
}

/// A log file with its header; `None` if there is none, or less than a header of it.
fn log_header(fs: &dyn FileSystem, options: &Options, no: u32) -> Result<Option<(PathBuf, FileHeader)>> {
    let path = files::file_path(&options.log_dir(), no);
    if !fs.exists(&path) {
        return Ok(None);
    }
    let block = head(fs, &path, BLOCK_SIZE)?.try_into().ok();
    Ok(block.map(|block| (path, FileHeader::decode(&block))))
}

/// The folder of ours that the log's labels name, on whichever of its files. They are there before our mark when a folder is
/// taken over.
pub(crate) fn labelled(fs: &dyn FileSystem, options: &Options) -> Result<Option<FolderId>> {
    for no in 0..files::FILES_MAX {
        let Some((_, header)) = log_header(fs, options, no)? else { break };
        if let Some(folder) = FolderId::of_label(&header.label) {
            return Ok(Some(folder));
        }
    }
    Ok(None)
}

/// Whether the page is as the settings say.
fn check_first_page(bytes: &[u8], path: &Path, options: &Options) -> Result<()> {
    if bytes.len() < BLOCK_SIZE {
        return Ok(());
    }
    let raw = vaquita_base::codec::get_u32(bytes, fsp::header::FLAGS);
    let Ok(flags) = SpaceFlags::decode(raw) else {
        return match maker::of_first_page(bytes) {
            Some(foreign) => Err(Error::Folder(format!("{} was {foreign}", path.display()))),
            // Damage: whoever reads the page says so.
            None => Ok(()),
        };
    };
    if maker::is_of_mariadb(bytes, flags.page_size()) {
        return Err(Error::Folder(format!(
            "{} was made by MariaDB: its folders are of a format that is not read here; folders of MySQL 5.6 and older are",
            path.display()
        )));
    }
    let has = flags.page_size().logical();
    if has != options.page_size.logical() {
        return Err(Error::Folder(format!(
            "{} has pages of {has} bytes, but innodb_page_size is {}: start with innodb_page_size={has}",
            path.display(),
            options.page_size.logical()
        )));
    }
    Ok(())
}

/// Whether the system tablespace has more files than the settings name.
fn check_for_more_files(fs: &dyn FileSystem, first_page: &[u8], options: &Options) -> Result<()> {
    if first_page.len() < BLOCK_SIZE {
        return Ok(());
    }
    let size = fsp::SpaceHeader::read(first_page).size;
    let page = options.page_size.physical() as u64;
    let pages =
        |path: &Path| -> Result<u64> { Ok(fs.open(path, OpenOptions::new(OpenMode::Read))?.len()? / page) };
    let named = options.system_paths();
    let mut there = 0;
    for path in &named {
        if !fs.exists(path) {
            return Ok(());
        }
        there += pages(path)?;
    }
    let names: Vec<String> = (1..=100).map(|n| format!("ibdata{n}")).collect();
    let home = options.dir.join(&options.data_home_dir);
    let exists = |name: &&String| fs.exists(&home.join(name.as_str()));
    let found: Vec<&String> = names.iter().take_while(exists).collect();
    // The last file grows, and its growth may have been lost in a crash: the header alone says nothing.
    if there >= u64::from(size) || found.len() <= named.len() {
        return Ok(());
    }
    let mut value = Vec::new();
    for name in &found {
        value.push(format!("{name}:{}K", (pages(&home.join(name.as_str()))? * page) >> 10));
    }
    Err(Error::Folder(format!(
        "the system tablespace of {} has {size} pages, but the files that innodb_data_file_path names hold {there}; there are \
         more files: start with innodb_data_file_path='{}:autoextend'",
        options.dir.display(),
        value.join(";")
    )))
}
