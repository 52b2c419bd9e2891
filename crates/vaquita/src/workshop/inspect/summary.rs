//! A tablespace at a glance.

use std::collections::BTreeMap;
use std::io::{self, Write};

use vaquita_base::{Lsn, PageNo};
use vaquita_format::checksum::{self, ChecksumAlgorithm, PageState};
use vaquita_format::fil::{self, PageType};
use vaquita_format::fsp::SpaceHeader;
use vaquita_format::index_page::header;
use vaquita_format::trx_sys;

use super::{Subject, fact, grouped, size_of};
use crate::workshop::progress::Progress;
use crate::workshop::roots::find_roots;
use crate::workshop::source::PageSource;
use crate::workshop::walk::is_allocated;

/// Pages in a line of the map.
const MAP_WIDTH: u32 = 64;

/// What the letters of the map mean.
const LEGEND: &str = "H header  X descriptors  B bitmap  N inodes  R root  i inner  l leaf  b BLOB  u undo  S system\n  \
                      a allocated, no type yet  - free, old content  . never written  ! damaged";

#[derive(Default)]
struct Counts {
    by_type: BTreeMap<&'static str, u64>,
    by_checksum: BTreeMap<&'static str, u64>,
    newest: Lsn,
    damaged: Vec<PageNo>,
    map: Vec<String>,
}

pub(super) fn show(subject: &Subject, out: &mut dyn Write) -> io::Result<bool> {
    let src = &subject.src;
    let counts = count(subject);
    writeln!(out, "{}", subject.path.display())?;
    facts(subject, &counts, out)?;
    writeln!(out, "\npages by type")?;
    for (name, n) in &counts.by_type {
        writeln!(out, "  {name:<18} {:>12}", grouped(*n))?;
    }
    writeln!(out, "\nmap of pages ({} a line)", MAP_WIDTH)?;
    map(&counts.map, out)?;
    writeln!(out, "\n  {LEGEND}")?;
    for no in counts.damaged.iter().take(20) {
        let what = src.page(*no).map(|p| checksum::verify(&p, src.page_size(), ChecksumAlgorithm::Innodb));
        match what {
            Ok(Err(e)) => writeln!(out, "  page {no}: {e}")?,
            Ok(Ok(_)) => writeln!(out, "  page {no}: carries another number or space")?,
            Err(e) => writeln!(out, "  page {no}: {e}")?,
        }
    }
    Ok(counts.damaged.is_empty())
}

fn facts(subject: &Subject, counts: &Counts, out: &mut dyn Write) -> io::Result<()> {
    let src = &subject.src;
    let size = src.page_size();
    let physical = size.physical() as u64;
    let first = src.page(PageNo(0));
    fact(
        out,
        "file",
        format!("{} pages, {}", grouped(src.n_pages().into()), size_of(u64::from(src.n_pages()) * physical)),
    )?;
    if src.tail() > 0 {
        fact(out, "", format!("and {} bytes after the last whole page", src.tail()))?;
    }
    let pages = if size.is_compressed() {
        format!("{} bytes, compressed to {}", size.logical(), size.physical())
    } else {
        format!("{} bytes", size.logical())
    };
    fact(out, "page size", pages)?;
    if let Ok(first) = &first {
        let h = SpaceHeader::read(first);
        fact(out, "tablespace", h.space)?;
        fact(out, "flags", flags(h.flags))?;
        let sizes =
            format!("{} pages, {} with descriptors", grouped(h.size.into()), grouped(h.free_limit.into()));
        fact(out, "size in header", sizes)?;
        let lists =
            format!("free {}, fragments {}, full fragments {}", h.free.len, h.free_frag.len, h.full_frag.len);
        fact(out, "extents", lists)?;
        fact(out, "next segment", h.next_segment_id)?;
        fact(out, "newest LSN", counts.newest)?;
        fact(out, "flush LSN", fil::flush_lsn(first))?;
    }
    let sums: Vec<String> =
        counts.by_checksum.iter().map(|(name, n)| format!("{name} {}", grouped(*n))).collect();
    fact(out, "checksums", sums.join(", "))?;
    match (&subject.table, &subject.why) {
        (Some(table), _) => {
            fact(out, "table", &table.name)?;
            let format = crate::workshop::metadata::row_format_of(src, table.root.comp);
            fact(out, "row format", format!("{format:?}").to_uppercase())?;
            fact(out, "described by", &table.described_by)?;
            for index in &table.indexes {
                let names: Vec<&str> =
                    index.def.fields()[..index.def.n_uniq()].iter().map(|f| &*f.column.name).collect();
                let kind = if index.def.is_clustered() { "clustered" } else { "index" };
                let text = format!("{} ({}), root {}", index.def.name(), names.join(", "), index.root);
                fact(out, kind, text)?;
            }
        }
        (None, Some(why)) => fact(out, "metadata", why)?,
        (None, None) => system_facts(subject, out)?,
    }
    Ok(())
}

fn system_facts(subject: &Subject, out: &mut dyn Write) -> io::Result<()> {
    if let Some(page) = subject.system_page(trx_sys::PAGE) {
        fact(out, "transaction ids", format!("below {}", trx_sys::trx_id_store(&page)))?;
        let rsegs = (0..trx_sys::N_RSEGS).filter(|&n| trx_sys::rseg(&page, n).is_some()).count();
        fact(out, "rollback segments", rsegs)?;
        if let Ok(Some(area)) = trx_sys::Doublewrite::read(&page) {
            fact(
                out,
                "doublewrite",
                format!(
                    "pages {} and {}, {} each",
                    area.blocks[0],
                    area.blocks[1],
                    trx_sys::Doublewrite::block_pages(subject.src.page_size())
                ),
            )?;
        }
    }
    fact(out, "tables", subject.dictionary.tables.len())?;
    for table in &subject.dictionary.tables {
        let place = if table.space.get() == 0 {
            "in this tablespace".to_owned()
        } else {
            format!("tablespace {}", table.space)
        };
        writeln!(out, "    {:<6} {:<50} {:?}, {place}", table.id, table.name, table.row_format)?;
    }
    Ok(())
}

fn flags(raw: u32) -> String {
    match vaquita_format::flags::SpaceFlags::decode(raw) {
        Ok(f) => {
            let dir = if f.data_dir() { ", DATA DIRECTORY" } else { "" };
            let form = if f.atomic_blobs() { "Barracuda" } else { "Antelope" };
            format!("{raw:#x} ({form}{dir})")
        }
        Err(e) => format!("{raw:#x} ({e})"),
    }
}

fn count(subject: &Subject) -> Counts {
    let src = &subject.src;
    let mut counts = Counts::default();
    let roots: Vec<PageNo> = find_roots(src).into_iter().map(|r| r.page).collect();
    let doublewrite =
        subject.system_page(trx_sys::PAGE).and_then(|p| trx_sys::Doublewrite::read(&p).ok().flatten());
    let space = src.page(PageNo(1)).map(|p| fil::space_id(&p)).unwrap_or_default();
    let mut line = String::new();
    let mut progress = Progress::new("reading", src.n_pages().into());
    for no in (0..src.n_pages()).map(PageNo) {
        progress.step();
        let copy = doublewrite.is_some_and(|d| d.contains(src.page_size(), no));
        let letter = match src.page(no) {
            Ok(page) => classify(src, no, &page, copy, space, &roots, &mut counts),
            Err(_) => '!',
        };
        if letter == '!' {
            counts.damaged.push(no);
        }
        line.push(letter);
        if line.len() == MAP_WIDTH as usize {
            counts.map.push(std::mem::take(&mut line));
        }
    }
    if !line.is_empty() {
        counts.map.push(line);
    }
    counts
}

fn classify(
    src: &dyn PageSource,
    no: PageNo,
    page: &[u8],
    copy: bool,
    space: vaquita_base::SpaceId,
    roots: &[PageNo],
    counts: &mut Counts,
) -> char {
    let size = src.page_size();
    if copy {
        *counts.by_type.entry("doublewrite area").or_default() += 1;
        return 'S';
    }
    let (name, state) = match checksum::verify(page, size, ChecksumAlgorithm::Innodb) {
        Ok(PageState::Fresh) => ("all zeros", Some(PageState::Fresh)),
        Ok(PageState::Valid) => (algorithm(checksum::identify(page, size)), Some(PageState::Valid)),
        Err(_) => ("wrong", None),
    };
    *counts.by_checksum.entry(name).or_default() += 1;
    let numbered = fil::page_no(page) == no && fil::space_id(page) == space;
    match state {
        Some(PageState::Fresh) => {
            *counts.by_type.entry("never written").or_default() += 1;
            return if no == PageNo(0) { '!' } else { '.' };
        }
        Some(PageState::Valid) if numbered || fil::page_no(page) == PageNo(0) => {}
        _ => return '!',
    }
    counts.newest = counts.newest.max(fil::lsn(page));
    let Some(ty) = fil::page_type(page) else { return '!' };
    if is_allocated(src, no) == Some(false) {
        *counts.by_type.entry("free").or_default() += 1;
        return '-';
    }
    *counts.by_type.entry(ty.name()).or_default() += 1;
    letter(ty, page, roots.contains(&no))
}

fn letter(ty: PageType, page: &[u8], is_root: bool) -> char {
    match ty {
        PageType::FspHdr => 'H',
        PageType::Xdes => 'X',
        PageType::IbufBitmap => 'B',
        PageType::Inode => 'N',
        PageType::Index if is_root => 'R',
        PageType::Index if header::is_leaf(page) => 'l',
        PageType::Index => 'i',
        PageType::Blob | PageType::ZBlob | PageType::ZBlob2 => 'b',
        PageType::UndoLog => 'u',
        PageType::Sys | PageType::TrxSys | PageType::IbufFreeList => 'S',
        PageType::Allocated => 'a',
    }
}

pub(super) fn algorithm(a: Option<ChecksumAlgorithm>) -> &'static str {
    match a.map(ChecksumAlgorithm::stamps) {
        Some(ChecksumAlgorithm::Crc32) => "crc32",
        Some(ChecksumAlgorithm::None) => "none",
        Some(_) => "innodb",
        None => "innodb (old form)",
    }
}

/// Prints the lines of the map; runs of equal lines are folded.
fn map(lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    let mut at = 0;
    while at < lines.len() {
        let alike = lines[at..].iter().take_while(|l| **l == lines[at]).count();
        writeln!(out, "  {:>10}  {}", at as u32 * MAP_WIDTH, lines[at])?;
        if alike > 2 {
            writeln!(out, "  {:>10}  ({} more lines like this)", "...", alike - 1)?;
            at += alike;
        } else {
            at += 1;
        }
    }
    Ok(())
}
