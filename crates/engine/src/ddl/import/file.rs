//! The file that a user has put where a table's tablespace belongs.

use crate::error::{Error, Result};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use vaquita_base::PageNo;
use vaquita_format::PageSize;
use vaquita_format::flags::SpaceFlags;
use vaquita_format::fsp::{SpaceHeader, header as space_header};
use vaquita_format::index_def::RowFormat;
use vaquita_format::{checksum, fil};
use vaquita_io::{File, FileSystem, OpenMode, OpenOptions};

/// A whole file of pages, open to be read.
#[derive(Debug)]
pub(super) struct Source {
    file: Arc<dyn File>,
    size: PageSize,
    pub(super) n_pages: u32,
    /// Its first page's header.
    pub(super) header: SpaceHeader,
    /// Its flags.
    pub(super) flags: SpaceFlags,
}

impl Source {
    /// Opens a file of pages of that size.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn open(
        fs: &dyn FileSystem,
        path: &Path,
        size: PageSize,
    ) -> std::result::Result<Source, String> {
        let file = fs.open(path, OpenOptions::new(OpenMode::Read)).map_err(|e| e.to_string())?;
        let len = file.len().map_err(|e| e.to_string())?;
        let page_len = size.physical() as u64;
        // Whatever its pages are.
        let mut start = [0; 512];
        if len >= start.len() as u64 {
            file.read_at(&mut start, 0).map_err(|e| e.to_string())?;
            let flags = space_header::read_flags(&start);
            if fil::page_type(&start) == Some(fil::PageType::FspHdr)
                && flags.is_ok_and(|flags| flags.page_size().is_compressed())
            {
                return Err("its pages are compressed (ROW_FORMAT=COMPRESSED)".into());
            }
        }
        let pages = u32::try_from(len / page_len).ok().filter(|n| *n > 0 && len.is_multiple_of(page_len));
        let n_pages = pages.ok_or_else(|| format!("{len} bytes are no whole pages of {page_len}"))?;
        let mut first = vec![0; size.physical()];
        file.read_at(&mut first, 0).map_err(|e| e.to_string())?;
        if fil::page_type(&first) != Some(fil::PageType::FspHdr) {
            return Err("its first page is not that of a tablespace".into());
        }
        let header = SpaceHeader::read(&first);
        let flags = header.check().map_err(|e| e.to_string())?;
        // Else its pages lie elsewhere.
        if flags.page_size() != size {
            return Err(format!(
                "its pages have {} bytes, those of this folder {page_len}",
                flags.page_size().physical()
            ));
        }
        if header.size > n_pages {
            return Err(format!("it says that it has {} pages and has {n_pages}", header.size));
        }
        Ok(Source { file, size, n_pages, header, flags })
    }

    /// A page, if it is whole.
    pub(super) fn page(
        &self,
        no: PageNo,
        accepted: checksum::ChecksumAlgorithm,
    ) -> Option<Cow<'static, [u8]>> {
        if no.get() >= self.n_pages {
            return None;
        }
        let mut page = vec![0; self.size.physical()];
        self.file.read_at(&mut page, u64::from(no.get()) * self.size.physical() as u64).ok()?;
        let whole = checksum::verify(&page, self.size, accepted) == Ok(checksum::PageState::Valid);
        (whole && fil::page_no(&page) == no).then_some(Cow::Owned(page))
    }

    /// Pages from `no` on, as many as `into` has room for.
    pub(super) fn read(&self, no: PageNo, into: &mut [u8]) -> vaquita_io::Result<()> {
        self.file.read_at(into, u64::from(no.get()) * self.size.physical() as u64)
    }
}

/// The format of rows that the flags of a tablespace and the form of its records tell.
pub(super) fn row_format(flags: SpaceFlags, comp: bool) -> RowFormat {
    match (flags.page_size().is_compressed(), flags.atomic_blobs(), comp) {
        (true, ..) => RowFormat::Compressed,
        (_, true, _) => RowFormat::Dynamic,
        (_, _, true) => RowFormat::Compact,
        _ => RowFormat::Redundant,
    }
}

/// Longest file that says what a table is.
const DEFINITION_MAX: u64 = 16 << 20;

/// All of a file, if it is there.
pub(super) fn read_whole(fs: &dyn FileSystem, path: &Path) -> Result<Option<Vec<u8>>> {
    if !fs.exists(path) {
        return Ok(None);
    }
    let io = |e: vaquita_io::Error| Error::Storage(e.into());
    let file = fs.open(path, OpenOptions::new(OpenMode::Read)).map_err(io)?;
    let len = file.len().map_err(io)?;
    if len > DEFINITION_MAX {
        return Err(Error::BadDefinition(format!(
            "{} has {len} bytes, more than {DEFINITION_MAX}",
            path.display()
        )));
    }
    let mut bytes = vec![0; len as usize];
    file.read_at(&mut bytes, 0).map_err(io)?;
    Ok(Some(bytes))
}
