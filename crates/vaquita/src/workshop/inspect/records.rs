//! The records of an index page.

use std::io::{self, Write};

use vaquita_base::PageNo;
use vaquita_base::codec::get_uint;
use vaquita_engine::fulltext::Postings;
use vaquita_format::fil::{self, PageType};
use vaquita_format::index_def::IndexDef;
use vaquita_format::index_page::{self, header};
use vaquita_format::record::header::{INFO_DELETED, INFO_MIN_REC, heap_no, info_bits, n_owned};
use vaquita_format::record::{ExternRef, Offsets, RecLayout};
use vaquita_format::text::{TextType, escape_batch, hex};

use super::Subject;
use crate::workshop::blob::whole_value;
use crate::workshop::source::PageSource;
use crate::workshop::walk::child_page;

/// Characters shown of a value.
const VALUE_WIDTH: usize = 40;
/// The index of a table of words of a full-text index.
const WORDS_INDEX: &str = "FTS_INDEX_TABLE_IND";
/// Places shown of a word in a document.
const PLACES: usize = 20;

pub(super) fn show(subject: &Subject, no: u32, out: &mut dyn Write) -> io::Result<bool> {
    let no = PageNo(no);
    let page = match subject.src.logical(no) {
        Ok(page) => page,
        Err(e) => {
            writeln!(out, "{e}")?;
            return Ok(false);
        }
    };
    if fil::page_type(&page) != Some(PageType::Index) {
        writeln!(out, "page {no} is not an index page")?;
        return Ok(false);
    }
    let (comp, level) = (header::is_comp(&page), header::level(&page));
    let known = subject.indexes();
    let def =
        known.iter().find(|(_, i)| i.def.id() == header::index_id(&page) && i.def.layout().comp() == comp);
    let name = def.map_or("not described".to_owned(), |(table, i)| format!("{table}.{}", i.def.name()));
    writeln!(
        out,
        "page {no}: index {} ({name}), level {level}, {} records",
        header::index_id(&page),
        header::n_recs(&page)
    )?;
    let redundant = RecLayout::redundant();
    let layout = match def {
        Some((_, i)) => Some(i.def.layout()),
        None => (!comp).then_some(&redundant),
    };
    writeln!(out, "  {:>6} {:>5} {:>5}  flags", "offset", "heap", "owns")?;
    let mut offsets = Offsets::new();
    let mut sound = true;
    for rec in index_page::records(&page) {
        let rec = match rec {
            Ok(rec) => rec,
            Err(e) => {
                writeln!(out, "  {e}")?;
                sound = false;
                continue;
            }
        };
        let info = info_bits(&page, rec, comp);
        let deleted = if info & INFO_DELETED != 0 { "deleted " } else { "" };
        let min = if info & INFO_MIN_REC != 0 { "minimum " } else { "" };
        write!(
            out,
            "  {rec:>6} {:>5} {:>5}  {deleted}{min}",
            heap_no(&page, rec, comp),
            n_owned(&page, rec, comp)
        )?;
        let Some(layout) = layout else {
            writeln!(out)?;
            continue;
        };
        match offsets.parse(&page, rec, layout) {
            Ok(()) => fields(&page, rec, &offsets, def.map(|(_, i)| &i.def), subject, level > 0, out)?,
            Err(e) => {
                sound = false;
                write!(out, "{e}")?;
            }
        }
        writeln!(out)?;
    }
    Ok(sound)
}

fn fields(
    page: &[u8],
    rec: u16,
    offsets: &Offsets,
    def: Option<&IndexDef>,
    subject: &Subject,
    inner: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let n = offsets.n_fields() - usize::from(inner);
    for i in 0..n {
        let field = def.and_then(|d| d.fields().get(i));
        let name = field.map_or_else(|| format!("{i}"), |f| f.column.name.clone());
        let value = match offsets.field(page, rec, i) {
            None => "NULL".to_owned(),
            Some(v) if name == "ilist" && def.is_some_and(|d| d.name() == WORDS_INDEX) => {
                match offsets.is_external(i) {
                    true => whole_value(&subject.src, v).map_or_else(|e| format!("[{e}]"), |v| postings(&v)),
                    false => postings(v),
                }
            }
            Some(v) if offsets.is_external(i) => external(v),
            Some(v) => shown(v, field.map(|f| text_type(subject, &f.column)), &name),
        };
        write!(out, "{}{name}={value}", if i > 0 { ", " } else { "" })?;
    }
    if inner {
        match child_page(page, rec, offsets) {
            Some(child) => write!(out, " -> page {child}")?,
            None => write!(out, " -> ?")?,
        }
    }
    Ok(())
}

/// How a column reads: by the `.frm` if there is one.
fn text_type(subject: &Subject, column: &vaquita_format::column::ColumnDef) -> TextType {
    let shown = subject.table.as_ref().and_then(|t| t.columns.iter().find(|c| c.name == column.name));
    shown.map_or_else(|| TextType::of_column(column), |c| c.text.clone())
}

fn shown(v: &[u8], text: Option<TextType>, name: &str) -> String {
    let mut out = String::new();
    match text {
        Some(_) if matches!(name, "DB_TRX_ID" | "DB_ROW_ID") => {
            return get_uint(v, 0, v.len().min(8)).to_string();
        }
        Some(_) if name == "DB_ROLL_PTR" => return format!("{:#x}", get_uint(v, 0, v.len().min(8))),
        Some(t) => {
            let mut raw = String::new();
            if t.write(v, &mut raw).is_err() {
                hex(v, &mut out);
            } else if t.is_number() || t.is_hex() {
                out = raw;
            } else {
                out.push('\'');
                escape_batch(&raw, &mut out);
                out.push('\'');
            }
        }
        None => hex(v, &mut out),
    }
    if out.chars().count() > VALUE_WIDTH {
        out = out.chars().take(VALUE_WIDTH).collect();
        out.push_str("...");
    }
    out
}

/// A posting list of a full-text index: all of its documents, with the places of the word.
fn postings(v: &[u8]) -> String {
    let mut shown = Vec::new();
    let mut postings = Postings::new(v);
    loop {
        match postings.next().and_then(|posting| posting.map(|p| Ok((p.doc, p.positions()?))).transpose()) {
            Ok(Some((doc, positions))) => {
                let places: Vec<String> = positions.iter().take(PLACES).map(u32::to_string).collect();
                let more = positions.len() - places.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                shown.push(format!("{doc}: {}{more}", places.join(" ")));
            }
            Ok(None) => break,
            Err(e) => {
                shown.push(e.to_string());
                break;
            }
        }
    }
    format!("[{}]", shown.join("; "))
}

fn external(v: &[u8]) -> String {
    match ExternRef::of_field(v) {
        Ok(Some(r)) => {
            let owner = if r.owner { "" } else { ", not the owner" };
            format!("[{} bytes here, {} from page {}{owner}]", v.len().saturating_sub(20), r.len, r.page_no)
        }
        Ok(None) => "[off-page part not written yet]".to_owned(),
        Err(e) => format!("[{e}]"),
    }
}
