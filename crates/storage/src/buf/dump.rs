//! Dump and restore of the hot set: which pages were in the pool, so that a restarted server is warm at once
//! (`buffer_pool_dump_at_shutdown`, `buffer_pool_load_at_startup`).
//!
//! The file is text, one `space,page` a line, youngest first, as InnoDB's `ib_buffer_pool`. It is a hint: pages
//! that have gone and spaces that are not open do no harm. A file that has anything else is not such a list, and nothing of it
//! is loaded.

use super::BufferPool;
use super::reader::Fetched;
use crate::error::{Error, Result};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use vaquita_base::{PageId, PageNo, SpaceId};
use vaquita_io::{FileSystem, OpenMode, OpenOptions, replace_file};

impl BufferPool {
    /// The pages in the pool, young ones first, at most `pct` percent of each instance.
    pub fn hot_set(&self, pct: u32) -> Vec<PageId> {
        let mut out = Vec::new();
        for instance in &self.instances {
            let lru = instance.lru.lock();
            let all: Vec<u64> = lru.iter().map(|f| self.frame(f).page_id()).collect();
            let take = all.len() * pct.min(100) as usize / 100;
            out.extend(all.into_iter().take(take).map(PageId::from_u64));
        }
        out
    }

    /// Writes the hot set to `path`, by way of a temporary name; returns how many pages it names.
    ///
    /// # Errors
    /// I/O errors; [`Error::Folder`] if `path` is a file already that is no such list, as a tablespace: it stays.
    pub fn dump_hot_set(&self, fs: &dyn FileSystem, path: &Path, pct: u32) -> Result<usize> {
        if fs.exists(path) && !may_be_list(fs, path)? {
            return Err(Error::Folder(format!(
                "{} is there and is no list of pages: it stays",
                path.display()
            )));
        }
        let pages = self.hot_set(pct);
        let mut text = String::with_capacity(pages.len() * 12);
        for page in &pages {
            writeln!(text, "{},{}", page.space, page.page_no).expect("writing to a string");
        }
        let mut incomplete = path.as_os_str().to_owned();
        incomplete.push(".incomplete");
        let incomplete = PathBuf::from(incomplete);
        replace_file(fs, path, &incomplete, text.as_bytes())?;
        Ok(pages.len())
    }

    /// Reads those of `pages` that are not in the pool into free frames; returns how many were read. Nothing is evicted for
    /// them. Pages that cannot be read, because they or their space have gone, are left out.
    ///
    /// `go_on` is told from time to time how many of `pages` have been looked at; it ends the load by `false`.
    ///
    /// # Errors
    /// There is no frame to be had.
    pub fn load_pages(&self, pages: &mut [PageId], go_on: &mut dyn FnMut(usize) -> bool) -> Result<usize> {
        /// Pages between two looks at whether to go on.
        const PAGES: usize = 256;
        let room = pages.len().min(self.free_count());
        let pages = &mut pages[..room];
        // In file order the disk reads ahead by itself.
        pages.sort_unstable();
        let (mut seen, mut loaded) = (0, 0);
        for some in pages.chunks(PAGES) {
            if !go_on(seen) {
                break;
            }
            self.fetch_batch(some, false, &mut |_, fetched| {
                loaded += usize::from(matches!(fetched, Fetched::Read))
            })?;
            seen += some.len();
        }
        Ok(loaded)
    }
}

/// Reads a list of pages as [`BufferPool::dump_hot_set`] and MySQL's servers write it.
///
/// # Errors
/// I/O errors; [`Error::Folder`] names the first line that is not a space and a page.
pub fn read_hot_set(fs: &dyn FileSystem, path: &Path) -> Result<Vec<PageId>> {
    let file = fs.open(path, OpenOptions::new(OpenMode::Read))?;
    let mut bytes = vec![0; file.len()? as usize];
    file.read_at(&mut bytes, 0)?;
    let text = String::from_utf8_lossy(&bytes);
    let page = |(no, line)| {
        parse_line(line).ok_or_else(|| {
            let path = path.display();
            Error::Folder(format!("{path}: line {no} is not a space and a page: no pages are loaded"))
        })
    };
    (1..).zip(text.lines()).map(page).collect()
}

/// Whether a file begins as a list of pages does: whatever else it is, its place is not taken.
fn may_be_list(fs: &dyn FileSystem, path: &Path) -> Result<bool> {
    const LOOK: usize = 512;
    if fs.is_dir(path) {
        return Ok(false);
    }
    let file = fs.open(path, OpenOptions::new(OpenMode::Read))?;
    let mut bytes = vec![0; LOOK.min(file.len()? as usize)];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes.iter().all(|b| b.is_ascii_digit() || matches!(b, b',' | b' ' | b'\n' | b'\r')))
}

/// `space,page`.
fn parse_line(line: &str) -> Option<PageId> {
    let (space, page) = line.split_once(',')?;
    Some(PageId::new(SpaceId(space.trim().parse().ok()?), PageNo(page.trim().parse().ok()?)))
}
