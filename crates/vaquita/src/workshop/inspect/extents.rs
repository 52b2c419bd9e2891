//! Extents and segments.

use std::collections::HashMap;
use std::io::{self, Write};

use vaquita_base::{PageNo, SegmentId};
use vaquita_format::fsp::{ExtentState, SpaceHeader};

use super::{Subject, grouped};
use crate::workshop::check::extents::{Extent, check_extents};
use crate::workshop::check::marks::{ALLOCATED, Marks};
use crate::workshop::report::Report;
use crate::workshop::roots::find_roots;
use crate::workshop::source::PageSource;

pub(super) fn show(subject: &Subject, out: &mut dyn Write) -> io::Result<bool> {
    let src = &subject.src;
    let mut report = Report::new();
    let mut marks = Marks::new(src.n_pages());
    let Ok(first) = src.page(PageNo(0)) else {
        writeln!(out, "page 0 cannot be read")?;
        return Ok(false);
    };
    let extents = check_extents(src, &SpaceHeader::read(&first), &mut marks, &mut report);
    let mut roles: HashMap<SegmentId, String> = HashMap::new();
    let known = subject.indexes();
    for root in find_roots(src) {
        let name = known.iter().find(|(_, i)| i.def.id() == root.index);
        let name =
            name.map_or_else(|| format!("index {}", root.index), |(t, i)| format!("{t}.{}", i.def.name()));
        for (header, part) in [(root.leaf, "leaves"), (root.top, "inner pages")] {
            if let Some(id) = extents.segment_of(header) {
                roles.insert(id, format!("{part} of {name}"));
            }
        }
    }
    writeln!(out, "segments")?;
    writeln!(
        out,
        "  {:>6}  {:>10}  {:>7} {:>7} {:>7} {:>9}  ",
        "number", "used pages", "free", "partly", "full", "fragments"
    )?;
    for (id, s) in &extents.segments {
        let [free, partly, full] = s.extents;
        let role = roles.get(id).map_or("", String::as_str);
        let (used, fragments) = (grouped(s.used), s.fragments.len());
        writeln!(out, "  {id:>6}  {used:>10}  {free:>7} {partly:>7} {full:>7} {fragments:>9}  {role}")?;
    }
    writeln!(out, "\nextents ({} pages each; # used, - free)", src.page_size().extent_pages())?;
    rows(src, &extents.extents, &marks, &roles, out)?;
    for finding in report.findings().iter().take(20) {
        writeln!(out, "{finding}")?;
    }
    Ok(report.is_clean())
}

fn rows(
    src: &dyn PageSource,
    extents: &[Extent],
    marks: &Marks,
    roles: &HashMap<SegmentId, String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let pages = src.page_size().extent_pages();
    let mut at = 0;
    while at < extents.len() {
        let e = extents[at];
        let like = |o: &&Extent| {
            o.state == e.state
                && o.used == e.used
                && (e.used == 0 || e.used == pages)
                && o.segment == e.segment
        };
        let run = extents[at..].iter().take_while(like).count().max(1);
        let (first, last) = (at as u32 * pages, (at + run) as u32 * pages - 1);
        let state = match e.state {
            Some(ExtentState::NotInitialised) => "not initialised",
            Some(ExtentState::Free) => "free",
            Some(ExtentState::FreeFrag) => "fragments",
            Some(ExtentState::FullFrag) => "full fragments",
            Some(ExtentState::Segment) => "segment",
            None => "?",
        };
        let owner = if e.state == Some(ExtentState::Segment) {
            format!("{} {}", e.segment, roles.get(&e.segment).map_or("", String::as_str))
        } else {
            String::new()
        };
        let drawing = if run > 1 { format!("{run} extents") } else { bitmap(first, pages, marks) };
        writeln!(out, "  {first:>8} - {last:<8} {state:<15} {:>3} used  {drawing}  {owner}", e.used)?;
        at += run;
    }
    Ok(())
}

/// One character per page, or per two or four of them in small pages.
fn bitmap(first: u32, pages: u32, marks: &Marks) -> String {
    let step = (pages / 64).max(1);
    (0..pages)
        .step_by(step as usize)
        .map(|j| {
            let used = (j..j + step).filter(|&k| marks.has(PageNo(first + k), ALLOCATED)).count() as u32;
            match used {
                0 => '-',
                n if n == step => '#',
                _ => '+',
            }
        })
        .collect()
}
