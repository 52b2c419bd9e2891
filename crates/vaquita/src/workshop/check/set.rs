//! The tablespaces of a folder, wherever their pages are: in memory, on a simulated disk, behind a buffer pool.
//!
//! The same checks as those of a folder on disk, but for the redo log: the pages are taken as they are. For the owner of
//! the tablespaces, who knows whether they are at rest.

use vaquita_base::{PageNo, SpaceId};
use vaquita_format::dict;

use super::files::{FoundFile, check_files};
use super::space::{SpaceSummary, SystemView, check_space_of};
use super::undo::Transactions;
use crate::workshop::catalog::Catalog;
use crate::workshop::dictionary::{DictTable, Dictionary};
use crate::workshop::progress::Progress;
use crate::workshop::report::Report;
use crate::workshop::source::PageSource;

/// A tablespace of its own with the name of its file.
#[derive(Clone, Copy)]
pub struct NamedSpace<'a> {
    /// `db/table`, as in the file's path.
    pub name: &'a str,
    /// Its pages.
    pub src: &'a dyn PageSource,
}

/// What came of a part.
#[derive(Debug)]
pub struct Part {
    /// Name of the file; `dictionary` for the comparison with the files.
    pub name: String,
    /// What was found.
    pub report: Report,
    /// Of tablespaces only.
    pub summary: Option<SpaceSummary>,
}

/// What came of all of them.
#[derive(Debug, Default)]
pub struct SetVerdict {
    /// The system tablespace, the others in the order given, the dictionary.
    pub parts: Vec<Part>,
}

impl SetVerdict {
    /// Every fault, with the part it is in.
    pub fn faults(&self) -> Vec<String> {
        let of_part = |part: &Part| {
            let name = part.name.clone();
            part.report.findings().iter().map(move |f| format!("{name}: {f}")).collect::<Vec<_>>()
        };
        self.parts.iter().flat_map(of_part).collect()
    }

    /// Every note, with the part it is about.
    pub fn notes(&self) -> Vec<String> {
        let of_part = |part: &Part| {
            let name = part.name.clone();
            part.report.remarks().iter().map(move |r| format!("{name}: {r}")).collect::<Vec<_>>()
        };
        self.parts.iter().flat_map(of_part).collect()
    }

    /// What the undo logs say; `None` if the system tablespace is too damaged to tell.
    pub fn transactions(&self) -> Option<&Transactions> {
        let system = self.parts.first()?.summary.as_ref()?.system.as_ref()?;
        Some(&system.transactions)
    }
}

/// Checks a system tablespace, those that belong to it, and the dictionary against them. `settled`: no crash explains a
/// tablespace too many or too few.
pub fn check_set(system: &dyn PageSource, others: &[NamedSpace<'_>], settled: bool) -> SetVerdict {
    let mut out = SetVerdict::default();
    let mut report = Report::new();
    let starts_file = |no| no == PageNo(0);
    let summary = check_space_of(None, system, &[], &starts_file, &mut report, &mut Progress::hidden());
    let known = summary.system.clone();
    let folder = known.as_ref().map(|known| SystemView { src: system, system: known, undo: &[], settled });
    out.parts.push(Part { name: "ibdata1".to_owned(), report, summary: Some(summary) });
    let dictionary = Dictionary::read(system, &mut Report::new());
    let mut found = Vec::new();
    for other in others {
        let part = check_one(other, folder, &dictionary);
        let summary = part.summary.as_ref();
        found.push(FoundFile {
            name: other.name.to_owned(),
            shown: part.name.clone(),
            space: summary.map(|s| s.space),
            flags: summary.and_then(|s| s.flags),
        });
        out.parts.push(part);
    }
    let mut damage = Report::new();
    let catalog = Catalog::read(system, &mut damage);
    let mut report = Report::new();
    if damage.is_clean() {
        let changing = known.is_none_or(|known| known.transactions.change_dictionary());
        check_files(&catalog, &found, settled && !changing, &mut report);
    } else {
        report.remark(format!("page {}: the dictionary is damaged: it was not compared", dict::PAGE));
    }
    out.parts.push(Part { name: "dictionary".to_owned(), report, summary: None });
    out
}

fn check_one(space: &NamedSpace<'_>, folder: Option<SystemView<'_>>, dictionary: &Dictionary) -> Part {
    let mut report = Report::new();
    let id = space.src.page(PageNo(0)).map(|p| vaquita_format::fsp::SpaceHeader::read(&p).space);
    let id = id.unwrap_or(SpaceId::SYSTEM);
    let tables: Vec<_> = dictionary.in_space(id).map(DictTable::described).collect();
    let starts_file = |no| no == PageNo(0);
    let mut progress = Progress::hidden();
    let summary = check_space_of(folder, space.src, &tables, &starts_file, &mut report, &mut progress);
    Part { name: format!("{}.ibd", space.name), report, summary: Some(summary) }
}
