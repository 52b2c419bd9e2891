//! One page: what its header, its trailer and its body say.

use std::io::{self, Write};

use vaquita_base::PageNo;
use vaquita_base::codec::get_u32;
use vaquita_format::checksum::{self, ChecksumAlgorithm, PageState};
use vaquita_format::dict::DictHeader;
use vaquita_format::fil::{self, PageType};
use vaquita_format::flst::{ListBase, SegmentHeader};
use vaquita_format::fsp::{self, Inode, SpaceHeader, Xdes};
use vaquita_format::index_page::{self, header};
use vaquita_format::rseg::RollbackSegment;
use vaquita_format::undo::{LogHeader, UndoPage};
use vaquita_format::{Corruption, dict, ibuf, trx_sys};

use super::summary::algorithm;
use super::{Subject, fact, page_or_none};
use crate::workshop::source::PageSource;

pub(super) fn show(subject: &Subject, no: u32, out: &mut dyn Write) -> io::Result<bool> {
    let src = &subject.src;
    let no = PageNo(no);
    let page = match src.page(no) {
        Ok(page) => page,
        Err(e) => {
            writeln!(out, "{e}")?;
            return Ok(false);
        }
    };
    let size = src.page_size();
    let verdict = checksum::verify(&page, size, ChecksumAlgorithm::Innodb);
    let ty = fil::page_type(&page);
    let name = ty.map_or_else(|| format!("unknown type {}", fil::raw_type(&page)), |t| t.name().to_owned());
    writeln!(out, "page {no} of {}: {name}", subject.path.display())?;
    match &verdict {
        Ok(PageState::Fresh) => {
            fact(out, "content", "all zeros: never written")?;
            return Ok(true);
        }
        Ok(PageState::Valid) => {
            let sums =
                format!("{:#010x}, {}", fil::checksum(&page), algorithm(checksum::identify(&page, size)));
            fact(out, "checksum", sums)?;
        }
        Err(e) => fact(out, "checksum", format!("WRONG: {e}"))?,
    }
    fact(out, "page number", fil::page_no(&page))?;
    fact(out, "tablespace", fil::space_id(&page))?;
    fact(
        out,
        "previous, next",
        format!("{}, {}", page_or_none(fil::prev(&page)), page_or_none(fil::next(&page))),
    )?;
    fact(out, "LSN", fil::lsn(&page))?;
    if !size.is_compressed() {
        fact(
            out,
            "trailer",
            format!("{:#010x}, LSN half {}", fil::trailer_checksum(&page), fil::trailer_lsn(&page)),
        )?;
    }
    if fil::flush_lsn(&page).get() != 0 {
        fact(out, "flush LSN", fil::flush_lsn(&page))?;
    }
    let used = crate::workshop::walk::is_allocated(src, no);
    fact(out, "allocated", used.map_or("unknown", |used| if used { "yes" } else { "no" }))?;
    if no != fsp::bitmap_page(size, no)
        && let Ok(bitmap) = src.page(fsp::bitmap_page(size, no))
        && fil::page_type(&bitmap) == Some(PageType::IbufBitmap)
    {
        let bits = ibuf::get(size, &bitmap, no);
        fact(
            out,
            "change buffer",
            format!("free-space code {}, buffered {}, its own {}", bits.free, bits.buffered, bits.ibuf),
        )?;
    }
    match ty {
        Some(PageType::Index) => index(subject, no, out)?,
        Some(PageType::FspHdr) => {
            space_header(&page, out)?;
            descriptors(src, no, &page, out)?;
        }
        Some(PageType::Xdes) => descriptors(src, no, &page, out)?,
        Some(PageType::Inode) => inodes(src, &page, out)?,
        Some(PageType::Blob) => {
            fact(out, "part", format!("{} bytes", get_u32(&page, fil::BODY)))?;
            fact(out, "next part", page_or_none(PageNo(get_u32(&page, fil::BODY + 4))))?;
        }
        Some(PageType::UndoLog) => undo(&page, out)?,
        Some(PageType::TrxSys) => trx_sys_page(&page, out)?,
        Some(PageType::Sys) => sys_page(subject, no, &page, out)?,
        _ => {}
    }
    Ok(verdict.is_ok())
}

fn segment(header: SegmentHeader) -> String {
    format!("inode at {} of tablespace {}", header.inode, header.space)
}

fn list(base: ListBase) -> String {
    format!("{} nodes, {} to {}", base.len, base.first, base.last)
}

fn index(subject: &Subject, no: PageNo, out: &mut dyn Write) -> io::Result<()> {
    let page = match subject.src.logical(no) {
        Ok(page) => page,
        Err(e) => return fact(out, "index page", format!("CANNOT BE EXPANDED: {e}")),
    };
    let id = header::index_id(&page);
    let known = subject.indexes();
    let def = known.iter().find(|(_, i)| i.def.id() == id);
    let name = def.map_or("unknown".to_owned(), |(table, i)| format!("{table}.{}", i.def.name()));
    fact(out, "index", format!("{id} ({name})"))?;
    fact(out, "level", header::level(&page))?;
    let format = if header::is_comp(&page) { "COMPACT" } else { "REDUNDANT" };
    fact(out, "records", format!("{}, {format}", header::n_recs(&page)))?;
    fact(out, "heap", format!("{} records up to {}", header::n_heap(&page), header::heap_top(&page)))?;
    fact(out, "garbage", format!("{} bytes, first at {}", header::garbage(&page), header::free(&page)))?;
    fact(out, "directory", format!("{} slots", header::n_dir_slots(&page)))?;
    let way = match header::direction(&page) {
        1 => "left",
        2 => "right",
        3 => "same record",
        4 => "same page",
        5 => "none",
        _ => "?",
    };
    let last = format!(
        "at {}, direction {way}, {} in a row",
        header::last_insert(&page),
        header::n_direction(&page)
    );
    fact(out, "last insert", last)?;
    fact(out, "max trx id", header::max_trx_id(&page))?;
    let leaf = SegmentHeader::read(&page, header::LEAF_SEGMENT);
    if leaf.inode.offset != 0 && id != ibuf::INDEX_ID {
        fact(out, "leaf segment", segment(leaf))?;
        fact(out, "top segment", segment(SegmentHeader::read(&page, header::TOP_SEGMENT)))?;
    }
    match index_page::validate(&page, def.map(|(_, i)| &i.def)) {
        Ok(stats) => {
            let used = stats.data_bytes as f64 * 100.0
                / index_page::empty_page_space(page.len(), header::is_comp(&page)) as f64;
            fact(
                out,
                "structure",
                format!(
                    "sound; {} delete-marked, {} in garbage, {used:.0} % full",
                    stats.n_deleted, stats.n_garbage
                ),
            )
        }
        Err(e) => fact(out, "structure", format!("BROKEN: {e}")),
    }
}

fn space_header(page: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let h = SpaceHeader::read(page);
    fact(out, "space id", h.space)?;
    fact(out, "size, free limit", format!("{}, {}", h.size, h.free_limit))?;
    fact(out, "flags", format!("{:#x}", h.flags))?;
    fact(out, "used fragments", h.frag_n_used)?;
    fact(out, "FREE", list(h.free))?;
    fact(out, "FREE_FRAG", list(h.free_frag))?;
    fact(out, "FULL_FRAG", list(h.full_frag))?;
    fact(out, "next segment", h.next_segment_id)?;
    fact(out, "full inode pages", list(h.inodes_full))?;
    fact(out, "free inode pages", list(h.inodes_free))
}

fn descriptors(src: &dyn PageSource, no: PageNo, page: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let size = src.page_size();
    let entries = size.pages_per_xdes_page() / size.extent_pages();
    writeln!(out, "  descriptors (not initialised ones left out)")?;
    for i in 0..entries {
        let first = PageNo(no.get().saturating_add(i * size.extent_pages()));
        let x = Xdes::of(size, page, first);
        match x.state() {
            Ok(fsp::ExtentState::NotInitialised) => {}
            Ok(state) => writeln!(
                out,
                "    pages {:>8} - {:<8} {:<12} segment {:<6} {:>3} used",
                first,
                first.get() + size.extent_pages() - 1,
                format!("{state:?}"),
                x.segment_id(),
                x.bitmap().n_used()
            )?,
            Err(e) => writeln!(out, "    pages from {first}: {e}")?,
        }
    }
    Ok(())
}

fn inodes(src: &dyn PageSource, page: &[u8], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  segments")?;
    for slot in 0..src.page_size().inodes_per_page() {
        let inode = Inode::of(src.page_size(), page, slot);
        if inode.is_free() {
            continue;
        }
        let pages: Vec<String> = inode.fragments().map(|p| p.to_string()).collect();
        writeln!(
            out,
            "    {:>6}  extents: {} free, {} partly used ({} pages), {} full; pages {}",
            inode.segment_id(),
            inode.free().len,
            inode.not_full().len,
            inode.not_full_n_used(),
            inode.full().len,
            if pages.is_empty() { "none".to_owned() } else { pages.join(" ") }
        )?;
        if let Err(e) = inode.check_magic() {
            writeln!(out, "            {e}")?;
        }
    }
    Ok(())
}

fn undo(page: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let undo = match UndoPage::new(page) {
        Ok(undo) => undo,
        Err(e) => return fact(out, "undo page", format!("BROKEN: {e}")),
    };
    let kind = undo.kind().map_or_else(|e: Corruption| e.to_string(), |k| format!("{k:?}"));
    fact(out, "undo kind", kind)?;
    fact(out, "records", format!("from {} to {}", undo.start(), undo.free()))?;
    let first = undo.node().prev.is_null();
    if !first {
        return Ok(());
    }
    let state = undo.state().map_or_else(|e| e.to_string(), |s| format!("{s:?}"));
    fact(out, "segment state", state)?;
    fact(out, "segment pages", list(undo.pages()))?;
    let mut at = undo.last_log();
    for _ in 0..64 {
        if at == 0 {
            break;
        }
        match LogHeader::read(page, at) {
            Ok(log) => {
                writeln!(
                    out,
                    "    log at {at}: transaction {}, number {}, delete marks {}, XID {}",
                    log.trx_id, log.trx_no, log.del_marks, log.xid_exists
                )?;
                at = log.prev;
            }
            Err(e) => return writeln!(out, "    log at {at}: {e}"),
        }
    }
    Ok(())
}

fn trx_sys_page(page: &[u8], out: &mut dyn Write) -> io::Result<()> {
    fact(out, "transaction ids", format!("below {}", trx_sys::trx_id_store(page)))?;
    let rsegs: Vec<String> = (0..trx_sys::N_RSEGS)
        .filter_map(|n| trx_sys::rseg(page, n).map(|(space, no)| format!("{n}={space}:{no}")))
        .collect();
    fact(out, "rollback segments", rsegs.len())?;
    for line in rsegs.chunks(8) {
        writeln!(out, "    {}", line.join("  "))?;
    }
    match trx_sys::Doublewrite::read(page) {
        Ok(Some(area)) => {
            fact(out, "doublewrite", format!("blocks at pages {} and {}", area.blocks[0], area.blocks[1]))
        }
        Ok(None) => fact(out, "doublewrite", "none"),
        Err(e) => fact(out, "doublewrite", format!("BROKEN: {e}")),
    }
}

fn sys_page(subject: &Subject, no: PageNo, page: &[u8], out: &mut dyn Write) -> io::Result<()> {
    if no == dict::PAGE && subject.system_page(no).is_some() {
        let h = DictHeader::read(page);
        fact(out, "row id", h.row_id)?;
        fact(out, "last table id", h.table_id)?;
        fact(out, "last index id", h.index_id)?;
        fact(out, "last space id", h.space_id)?;
        let roots = [h.tables_root, h.table_ids_root, h.columns_root, h.indexes_root, h.fields_root]
            .map(|r| r.to_string());
        return fact(out, "roots", roots.join(", "));
    }
    let is_rseg = subject
        .system_page(trx_sys::PAGE)
        .is_some_and(|p| (0..trx_sys::N_RSEGS).any(|n| trx_sys::rseg(&p, n).is_some_and(|(_, at)| at == no)));
    if !is_rseg {
        return Ok(());
    }
    let rseg = RollbackSegment::new(page);
    fact(out, "rollback segment", segment(rseg.segment()))?;
    fact(out, "history", format!("{}; {} pages", list(rseg.history()), rseg.history_size()))?;
    let used: Vec<String> = rseg.used_slots().map(|(n, page)| format!("{n}={page}")).collect();
    fact(out, "used slots", if used.is_empty() { "none".to_owned() } else { used.join(" ") })
}
