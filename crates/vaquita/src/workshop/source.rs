//! Where pages come from.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::links;
use vaquita_base::PageNo;
use vaquita_format::fil::{self, PageType};
use vaquita_format::maker::{self, Foreign};
use vaquita_format::zip::Unzip;
use vaquita_format::{Corruption, PageSize, fsp};

/// Why a page could not be had.
#[derive(Debug)]
pub enum ReadError {
    /// It lies beyond the end.
    Beyond {
        /// The page asked for.
        page: PageNo,
        /// Pages there are.
        n_pages: u32,
    },
    /// The system refused.
    Io(io::Error),
    /// The bytes are not those of a tablespace.
    NotASpace(Corruption),
    /// The bytes of the page contradict its format.
    Page(Corruption),
    /// A later server made it, in a format that is not read here.
    Foreign(Foreign),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Beyond { page, n_pages } => {
                write!(f, "page {page} lies beyond the last of {n_pages} pages")
            }
            ReadError::Io(e) => write!(f, "cannot read: {e}"),
            ReadError::NotASpace(c) => write!(f, "not a tablespace: {c}"),
            ReadError::Page(c) => c.fmt(f),
            ReadError::Foreign(foreign) => foreign.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<io::Error> for ReadError {
    fn from(e: io::Error) -> Self {
        ReadError::Io(e)
    }
}

impl ReadError {
    /// As a broken rule, for reports.
    pub fn into_corruption(self) -> Corruption {
        match self {
            ReadError::Page(c) | ReadError::NotASpace(c) => c,
            ReadError::Foreign(foreign) => foreign.into_corruption(),
            ReadError::Beyond { .. } => Corruption::new("page reference", self.to_string()),
            ReadError::Io(_) => Corruption::new("reading", self.to_string()),
        }
    }
}

/// The pages of one tablespace.
pub trait PageSource {
    /// Size of its pages.
    fn page_size(&self) -> PageSize;

    /// How many there are.
    fn n_pages(&self) -> u32;

    /// A page as it is in the file.
    ///
    /// # Errors
    /// If it lies beyond the end or cannot be read.
    fn page(&self, no: PageNo) -> Result<Cow<'_, [u8]>, ReadError>;

    /// A page in its logical form: index pages of compressed tablespaces are expanded.
    ///
    /// # Errors
    /// As [`PageSource::page`], or if the page cannot be expanded.
    fn logical(&self, no: PageNo) -> Result<Cow<'_, [u8]>, ReadError> {
        let page = self.page(no)?;
        let size = self.page_size();
        if size.is_compressed() && fil::page_type(&page) == Some(PageType::Index) {
            return expand(&page, size).map(Cow::Owned).map_err(ReadError::Page);
        }
        Ok(page)
    }
}

impl<S: PageSource + ?Sized> PageSource for &S {
    fn page_size(&self) -> PageSize {
        (**self).page_size()
    }

    fn n_pages(&self) -> u32 {
        (**self).n_pages()
    }

    fn page(&self, no: PageNo) -> Result<Cow<'_, [u8]>, ReadError> {
        (**self).page(no)
    }
}

/// The logical form of a compressed index page.
fn expand(page: &[u8], size: PageSize) -> Result<Vec<u8>, Corruption> {
    let mut out = vec![0; size.logical()];
    Unzip::new().index_page(page, &mut out)?;
    Ok(out)
}

/// A tablespace in files: one `.ibd`, or the `ibdata` files of a system tablespace in order.
#[derive(Debug)]
pub struct SpaceFile {
    path: PathBuf,
    size: PageSize,
    n_pages: u32,
    /// Each file with the number of its first page.
    files: Vec<(u32, File)>,
    /// Bytes after the last whole page.
    tail: u64,
}

impl SpaceFile {
    /// Opens the files of a tablespace. Page 0 tells the page size.
    ///
    /// # Errors
    /// If a file cannot be opened, page 0 has no valid flags, or a later server made it in a format that is not read here.
    pub fn open(paths: &[PathBuf]) -> Result<SpaceFile, ReadError> {
        let mut opened = Vec::new();
        for path in paths {
            let file = File::open(path)?;
            let len = file.metadata()?.len();
            opened.push((file, len));
        }
        let (Some((first, len)), Some(path)) = (opened.first(), paths.first()) else {
            return Err(ReadError::NotASpace(Corruption::new("files", "there are none")));
        };
        if let Some(foreign) = maker::of_first_page(&head_of(first, *len, PAGE_MAX)?) {
            return Err(ReadError::Foreign(foreign));
        }
        let size = find_page_size(first, *len)?;
        let (mut files, mut n_pages, mut tail) = (Vec::new(), 0u64, 0);
        for (file, len) in opened {
            files.push((n_pages as u32, file));
            tail += len % size.physical() as u64;
            n_pages += len / size.physical() as u64;
        }
        // Page numbers have 32 bits, the last one means "none".
        let n_pages = n_pages.min(u64::from(u32::MAX)) as u32;
        let space = SpaceFile { path: path.clone(), size, n_pages, files, tail };
        match space.page(fsp::FIRST_ROOT_PAGE).ok().and_then(|root| maker::of_root(&root, size)) {
            Some(foreign) => Err(ReadError::Foreign(foreign)),
            None => Ok(space),
        }
    }

    /// Opens an `.ibd`, the one that an `.isl` leads to, or an `ibdata` file together with those that follow it.
    ///
    /// # Errors
    /// As [`SpaceFile::open`].
    pub fn open_with_followers(path: &Path) -> Result<SpaceFile, ReadError> {
        SpaceFile::open(&followers(&links::follow(path).map_err(ReadError::Io)?))
    }

    /// The first file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes after the last whole page.
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// First pages of the files but the first.
    pub fn file_starts(&self) -> impl Iterator<Item = PageNo> {
        self.files.iter().map(|(start, _)| PageNo(*start))
    }
}

impl PageSource for SpaceFile {
    fn page_size(&self) -> PageSize {
        self.size
    }

    fn n_pages(&self) -> u32 {
        self.n_pages
    }

    fn page(&self, no: PageNo) -> Result<Cow<'_, [u8]>, ReadError> {
        if no.get() >= self.n_pages {
            return Err(ReadError::Beyond { page: no, n_pages: self.n_pages });
        }
        let at = self.files.partition_point(|(start, _)| *start <= no.get()) - 1;
        let (start, file) = &self.files[at];
        let mut page = vec![0; self.size.physical()];
        let offset = u64::from(no.get() - start) * self.size.physical() as u64;
        file.read_exact_at(&mut page, offset)?;
        Ok(Cow::Owned(page))
    }
}

/// The files of a system tablespace whose first is `path`: `ibdata1`, `ibdata2`, ... An `.ibd` is alone.
pub fn followers(path: &Path) -> Vec<PathBuf> {
    let mut out = vec![path.to_path_buf()];
    if path.file_name().is_some_and(|n| n == "ibdata1") {
        let next = |n: usize| path.with_file_name(format!("ibdata{n}"));
        out.extend((2..).map(next).take_while(|p| p.is_file()));
    }
    out
}

/// Bytes of the largest page.
const PAGE_MAX: usize = 64 << 10;

/// The first bytes of a file, at most `most`.
fn head_of(file: &File, len: u64, most: usize) -> io::Result<Vec<u8>> {
    let mut head = vec![0; len.min(most as u64) as usize];
    file.read_exact_at(&mut head, 0)?;
    Ok(head)
}

/// The flags on page 0; if they are damaged, the size at which other pages carry their own number.
fn find_page_size(file: &File, len: u64) -> Result<PageSize, ReadError> {
    // The flags lie in the first kilobyte, whatever the page size.
    let head = head_of(file, len, 1024)?;
    if head.len() < 1024 {
        let detail = format!("{len} bytes are less than the smallest page");
        return Err(ReadError::NotASpace(Corruption::new("file length", detail)));
    }
    let carry = |size: &PageSize| pages_carry_numbers(file, len, *size);
    match fsp::header::read_flags(&head).map(|flags| flags.page_size()) {
        Ok(size) if carry(&size) => Ok(size),
        Ok(size) => Ok(likely_sizes().find(carry).unwrap_or(size)),
        Err(e) => likely_sizes().find(carry).ok_or(ReadError::NotASpace(e)),
    }
}

/// Page sizes to try when the flags are damaged.
fn likely_sizes() -> impl Iterator<Item = PageSize> {
    let whole = [16384, 8192, 4096, 32768, 65536].into_iter().filter_map(PageSize::new);
    let compressed = [8192, 4096, 2048, 1024].into_iter().filter_map(|z| PageSize::compressed(16384, z));
    whole.chain(compressed)
}

/// Whether pages 1 to 3 carry their own numbers at this page size.
fn pages_carry_numbers(file: &File, len: u64, size: PageSize) -> bool {
    (1..4u32).all(|no| {
        let mut head = [0; fil::BODY];
        let at = u64::from(no) * size.physical() as u64;
        at + (head.len() as u64) <= len
            && file.read_exact_at(&mut head, at).is_ok()
            && fil::page_no(&head) == PageNo(no)
            && fil::page_type(&head).is_some_and(|t| t != PageType::Allocated)
    })
}

/// A tablespace in memory.
#[derive(Debug, Clone)]
pub struct MemorySpace {
    size: PageSize,
    bytes: Vec<u8>,
}

impl MemorySpace {
    /// The pages of `bytes`; a part of a page at the end does not count.
    pub fn new(size: PageSize, bytes: Vec<u8>) -> MemorySpace {
        MemorySpace { size, bytes }
    }
}

impl PageSource for MemorySpace {
    fn page_size(&self) -> PageSize {
        self.size
    }

    fn n_pages(&self) -> u32 {
        (self.bytes.len() / self.size.physical()) as u32
    }

    fn page(&self, no: PageNo) -> Result<Cow<'_, [u8]>, ReadError> {
        let start = no.get() as usize * self.size.physical();
        let page = self.bytes.get(start..start + self.size.physical());
        page.map(Cow::Borrowed).ok_or(ReadError::Beyond { page: no, n_pages: self.n_pages() })
    }
}
