//! `inspect PATH`: what is in a file, for people.
//!
//! | view | module |
//! |---|---|
//! | summary of a tablespace, map of page types | `summary` |
//! | one page | `page` |
//! | records of an index page | `records` |
//! | index trees | `tree` |
//! | extents and segments | `extents` |
//! | redo log | `log` |
//! | a data folder | `folder` |

mod extents;
mod folder;
mod log;
mod page;
mod records;
mod summary;
mod tree;

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::dictionary::Dictionary;
use super::metadata::{MetadataFiles, TableInfo, table_of};
use super::report::Report;
use super::source::{PageSource, ReadError, SpaceFile};

/// What to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum View {
    /// Space summary and page-type map; the tablespaces of a folder.
    Summary,
    /// A page.
    Page(u32),
    /// Records of an index page.
    Records(u32),
    /// All index trees.
    Tree,
    /// All extents and segments.
    Extents,
    /// The redo log of a folder, or of the file's folder.
    Log(Option<PathBuf>),
}

/// Why nothing can be shown.
#[derive(Debug)]
pub enum InspectError {
    /// The path is of no use.
    Path(PathBuf, String),
    /// The output cannot be written.
    Output(io::Error),
}

impl fmt::Display for InspectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InspectError::Path(path, why) => write!(f, "{}: {why}", path.display()),
            InspectError::Output(e) => write!(f, "cannot write: {e}"),
        }
    }
}

impl std::error::Error for InspectError {}

impl From<io::Error> for InspectError {
    fn from(e: io::Error) -> Self {
        InspectError::Output(e)
    }
}

/// Shows a view of what lies at a path; whether nothing wrong was met.
///
/// # Errors
/// If the path is not what the view needs.
pub fn inspect(path: &Path, view: &View, out: &mut dyn Write) -> Result<bool, InspectError> {
    let unusable = |why: String| InspectError::Path(path.to_path_buf(), why);
    let kind = std::fs::metadata(path).map_err(|e| unusable(e.to_string()))?;
    let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let dir = if kind.is_dir() {
        path
    } else {
        path.parent().filter(|p| *p != Path::new("")).unwrap_or(Path::new("."))
    };
    match view {
        View::Log(given) => return log::show(given.as_deref().unwrap_or(dir), out),
        View::Summary if file_name.starts_with("ib_logfile") => return log::show(dir, out),
        View::Summary if kind.is_dir() => return folder::show(path, out),
        _ if kind.is_dir() => return Err(unusable("is a folder; give the file of a tablespace".to_owned())),
        _ => {}
    }
    let src = SpaceFile::open_with_followers(path).map_err(|e| match e {
        ReadError::Io(e) => unusable(e.to_string()),
        e => unusable(e.to_string()),
    })?;
    let subject = Subject::new(src, path);
    Ok(match view {
        View::Summary => summary::show(&subject, out)?,
        View::Page(no) => page::show(&subject, *no, out)?,
        View::Records(no) => records::show(&subject, *no, out)?,
        View::Tree => tree::show(&subject, out)?,
        View::Extents => extents::show(&subject, out)?,
        View::Log(_) => true,
    })
}

/// A tablespace and what is known of its tables.
struct Subject {
    src: SpaceFile,
    path: PathBuf,
    /// The table of an `.ibd`.
    table: Option<TableInfo>,
    /// Why there is none.
    why: Option<String>,
    /// The dictionary, if this is the system tablespace.
    dictionary: Dictionary,
}

impl Subject {
    fn new(src: SpaceFile, path: &Path) -> Subject {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_system = name.starts_with("ibdata");
        let (table, why, dictionary) = if is_system {
            (None, None, Dictionary::read(&src, &mut Report::new()))
        } else {
            match table_of(&src, path, &MetadataFiles::beside(path)) {
                Ok(table) => (Some(table), None, Dictionary::default()),
                Err(e) => (None, Some(e.to_string()), Dictionary::default()),
            }
        };
        Subject { src, path: path.to_path_buf(), table, why, dictionary }
    }

    /// All trees known by definition, with the names of their tables.
    fn indexes(&self) -> Vec<(String, super::metadata::TableIndex)> {
        let of_table = self.table.iter().flat_map(|t| t.indexes.iter().map(|i| (t.name.clone(), i.clone())));
        let inside = self.dictionary.in_space(vaquita_base::SpaceId::SYSTEM);
        let of_dictionary = inside.flat_map(|t| t.indexes.iter().map(|i| (t.name.clone(), i.clone())));
        let mut all: Vec<_> = of_table.chain(of_dictionary).collect();
        if let Some(page) = self.system_page(vaquita_format::dict::PAGE) {
            let header = vaquita_format::dict::DictHeader::read(&page);
            let trees = super::dictionary::system_indexes(&header, self.src.page_size()).unwrap_or_default();
            all.extend(trees.into_iter().map(|i| ("dictionary".to_owned(), i)));
            if let Some(def) = super::check::system::change_buffer_def(&self.src) {
                let root = vaquita_format::ibuf::ROOT_PAGE;
                all.push(("change buffer".to_owned(), super::metadata::TableIndex { def, root }));
            }
        }
        all
    }

    /// A page of the system tablespace; `None` in others.
    fn system_page(&self, no: vaquita_base::PageNo) -> Option<Vec<u8>> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with("ibdata") {
            return None;
        }
        self.src.page(no).ok().map(|p| p.into_owned())
    }
}

/// A line of a table of facts: a label and a value, aligned.
fn fact(out: &mut dyn Write, label: &str, value: impl fmt::Display) -> io::Result<()> {
    writeln!(out, "  {label:<18} {value}")
}

/// A number with its thousands apart.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// Bytes as people count them.
fn size_of(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut scaled = bytes as f64;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{scaled:.1} {}", UNITS[unit]) }
}

/// "none" or the page number.
fn page_or_none(no: vaquita_base::PageNo) -> String {
    no.some().map_or("none".to_owned(), |no| no.to_string())
}
