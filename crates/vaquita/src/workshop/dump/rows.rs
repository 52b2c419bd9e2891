//! Rows from leaf pages to a writer.

use std::io::{self, Write};

use vaquita_base::PageNo;
use vaquita_format::Corruption;
use vaquita_format::charset::Charset;
use vaquita_format::fil::{self, PageType};
use vaquita_format::index_page::{self, header};
use vaquita_format::record::header::is_deleted;
use vaquita_format::record::{EXTERN_REF_LEN, ExternRef, Offsets, check_version};
use vaquita_format::text::{TextType, hex};

use super::writer::{Format, RowWriter};
use crate::workshop::blob::read_blob;
use crate::workshop::damaged::CheckedPages;
use crate::workshop::metadata::{ShownColumn, TableInfo};
use crate::workshop::progress::Progress;
use crate::workshop::report::Report;
use crate::workshop::source::PageSource;
use crate::workshop::walk::for_each_leaf;

/// What to write.
#[derive(Debug, Clone, Copy)]
pub struct DumpOptions {
    /// Form of the output.
    pub format: Format,
    /// Delete-marked rows, too.
    pub deleted: bool,
    /// What is on pages with a wrong checksum, too.
    pub damaged_pages: bool,
}

/// What was written.
#[derive(Debug, Default)]
pub struct DumpOutcome {
    /// Rows.
    pub rows: u64,
    /// Delete-marked rows, written or not.
    pub deleted: u64,
    /// What was wrong on the way.
    pub report: Report,
}

/// Writes all rows of a table.
///
/// # Errors
/// If the output cannot be written. Damaged pages and rows are reported in the outcome and left out; pages with a wrong
/// checksum are reported and read if `damaged_pages` is set.
pub fn dump_table(
    src: &dyn PageSource,
    table: &TableInfo,
    options: DumpOptions,
    out: &mut dyn Write,
    progress: &mut Progress,
) -> io::Result<DumpOutcome> {
    let mut outcome = DumpOutcome::default();
    let mut report = Report::new();
    let pages = CheckedPages::new(src, options.damaged_pages);
    let mut dump = Dump {
        src: &pages,
        table,
        options,
        writer: RowWriter::new(options.format, table, options.deleted, out),
        offsets: Offsets::new(),
        text: String::new(),
        outcome: &mut outcome,
    };
    dump.writer.begin()?;
    for_each_leaf(&pages, &table.root, &table.layout, &mut report, progress, &mut |no, page, report| {
        dump.page(no, page, report)
    })?;
    dump.writer.end()?;
    dump.tell_of_inner_pages(&mut report);
    outcome.report = report;
    Ok(outcome)
}

struct Dump<'a, 'w> {
    src: &'a CheckedPages<'a>,
    table: &'a TableInfo,
    options: DumpOptions,
    writer: RowWriter<'a, 'w>,
    offsets: Offsets,
    text: String,
    outcome: &'a mut DumpOutcome,
}

impl Dump<'_, '_> {
    fn page(&mut self, no: PageNo, page: &[u8], report: &mut Report) -> io::Result<()> {
        self.tell_of_damage(no, report);
        if header::is_comp(page) != self.table.layout.comp() {
            report.page(no, Corruption::new("record format", "the page and its table differ"));
            return Ok(());
        }
        for rec in index_page::records(page) {
            let parsed = rec.and_then(|rec| {
                check_version(page, rec, &self.table.layout)?;
                self.offsets.parse(page, rec, &self.table.layout).map(|()| rec)
            });
            match parsed {
                Ok(rec) => self.row(no, page, rec, report)?,
                Err(e) => report.page(no, e),
            }
        }
        Ok(())
    }

    /// Names a page that is read although its checksum is wrong.
    fn tell_of_damage(&self, no: PageNo, report: &mut Report) {
        if let Some(damage) = self.src.damage_of(no) {
            let detail = format!("{damage}; what is on it is taken all the same");
            report.page(no, Corruption::new("damaged page", detail));
        }
    }

    /// Names the damaged pages above the leaves that led to rows.
    fn tell_of_inner_pages(&self, report: &mut Report) {
        for no in self.src.damaged() {
            let page = self.src.page(no).ok();
            let inner = page.is_some_and(|page| {
                fil::page_type(&page) == Some(PageType::Index)
                    && header::index_id(&page) == self.table.root.index
                    && header::level(&page) > 0
            });
            if inner {
                self.tell_of_damage(no, report);
            }
        }
    }

    fn row(&mut self, no: PageNo, page: &[u8], rec: u16, report: &mut Report) -> io::Result<()> {
        let deleted = is_deleted(page, rec, header::is_comp(page));
        self.outcome.deleted += u64::from(deleted);
        if deleted && !self.options.deleted {
            return Ok(());
        }
        self.writer.begin_row(deleted)?;
        for column in &self.table.columns {
            self.writer.begin_value(column)?;
            if let Err(what) = self.value(page, rec, column, report)? {
                report.page(no, what.at(rec.into()));
                self.writer.null()?;
            }
        }
        self.writer.end_row()?;
        self.outcome.rows += 1;
        Ok(())
    }

    /// Writes a value, or says why it cannot be shown (nothing has been written then).
    fn value(
        &mut self,
        page: &[u8],
        rec: u16,
        column: &ShownColumn,
        report: &mut Report,
    ) -> io::Result<Result<(), Corruption>> {
        if column.field >= self.offsets.n_fields() {
            // REDUNDANT rows may be of different width when nothing describes them.
            return self.writer.null().map(Ok);
        }
        let Some(stored) = self.offsets.field(page, rec, column.field) else {
            return self.writer.null().map(Ok);
        };
        if self.offsets.is_external(column.field) {
            let local = stored.to_vec();
            return self.external(&local, column, report);
        }
        self.text.clear();
        match column.text.write(stored, &mut self.text) {
            Ok(()) => {
                self.writer.begin_text(column)?;
                self.writer.text(&self.text)?;
                self.writer.end_text(column).map(Ok)
            }
            Err(e) => Ok(Err(e)),
        }
    }

    /// A column with an off-page part: written piece by piece, as it may be larger than memory.
    fn external(
        &mut self,
        local: &[u8],
        column: &ShownColumn,
        report: &mut Report,
    ) -> io::Result<Result<(), Corruption>> {
        let reference = match ExternRef::of_field(local) {
            Ok(Some(reference)) => reference,
            Ok(None) => return Ok(Err(Corruption::new("external reference", "has not been written yet"))),
            Err(e) => return Ok(Err(e)),
        };
        self.writer.begin_text(column)?;
        let mut pieces = Pieces { column, carry: Vec::new(), text: String::new(), failed: None };
        pieces.push(&local[..local.len() - EXTERN_REF_LEN], &mut self.writer);
        // As many pages as the length can need, in the smallest pages: an end for chains that loop.
        let mut steps = u64::from(reference.len) / 512 + 16;
        let mut visited = Vec::new();
        let mut visit = |no| {
            steps = steps.saturating_sub(1);
            // Nothing is kept of pages that are sound.
            visited.retain(|&no| self.src.damage_of(no).is_some());
            visited.push(no);
            steps > 0
        };
        let read =
            read_blob(self.src, &reference, &mut visit, &mut |piece| pieces.push(piece, &mut self.writer));
        pieces.finish(&mut self.writer);
        if let Some(e) = pieces.failed {
            return Err(e);
        }
        for no in visited {
            self.tell_of_damage(no, report);
        }
        if let Err(fault) = read {
            // What was read stays in the output; the report names the page.
            report.page(fault.page, fault.what);
        } else if steps == 0 {
            report.page(reference.page_no, Corruption::new("BLOB chain", "never ends"));
        }
        self.writer.end_text(column).map(Ok)
    }
}

/// Turns pieces of a long value into text, never cutting a character.
struct Pieces<'c> {
    column: &'c ShownColumn,
    carry: Vec<u8>,
    text: String,
    failed: Option<io::Error>,
}

impl Pieces<'_> {
    fn push(&mut self, piece: &[u8], writer: &mut RowWriter<'_, '_>) {
        match self.column.text {
            TextType::Text { charset, .. } if !self.column.text.is_hex() => {
                self.carry.extend_from_slice(piece);
                let whole = charset.complete_len(&self.carry);
                self.decode(charset, whole, writer);
            }
            _ => {
                self.text.clear();
                hex(piece, &mut self.text);
                self.write(writer);
            }
        }
    }

    fn finish(&mut self, writer: &mut RowWriter<'_, '_>) {
        if let TextType::Text { charset, .. } = self.column.text {
            let all = self.carry.len();
            self.decode(charset, all, writer);
        }
    }

    fn decode(&mut self, charset: Charset, len: usize, writer: &mut RowWriter<'_, '_>) {
        self.text.clear();
        if let Some(text) = charset.decode(&self.carry[..len]) {
            self.text.push_str(&text);
        }
        self.carry.drain(..len);
        self.write(writer);
    }

    fn write(&mut self, writer: &mut RowWriter<'_, '_>) {
        if self.failed.is_none() {
            self.failed = writer.text(&self.text).err();
        }
    }
}
