//! What a check says about each part: one line, the faults, the notes.

use std::io::{self, Write};

use super::redo::LogSummary;
use super::space::SpaceSummary;
use crate::workshop::report::Report;

/// Findings and notes shown of each part.
const SHOWN: usize = 50;

/// Where lines go, and how wide their names are.
pub(super) struct Printer<'o> {
    pub(super) out: &'o mut dyn Write,
    pub(super) width: usize,
}

impl Printer<'_> {
    /// Name, verdict, and what there is to say of something that is sound.
    pub(super) fn head(&mut self, name: &str, report: &Report, about: &str) -> io::Result<()> {
        let verdict = if report.is_clean() { "ok" } else { "FAULTY" };
        writeln!(self.out, "{name:<width$} {verdict:<7} {about}", width = self.width)
    }

    /// The faults and the notes.
    pub(super) fn findings(&mut self, report: &Report) -> io::Result<()> {
        for finding in report.findings().iter().take(SHOWN) {
            writeln!(self.out, "    {finding}")?;
        }
        if report.count() > SHOWN as u64 {
            writeln!(self.out, "    ... and {} more faults", report.count() - SHOWN as u64)?;
        }
        for remark in report.remarks().iter().take(SHOWN) {
            self.note(remark)?;
        }
        if report.remarks().len() > SHOWN {
            writeln!(self.out, "    ... and {} more notes", report.remarks().len() - SHOWN)?;
        }
        Ok(())
    }

    pub(super) fn note(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "    note: {text}")
    }

    pub(super) fn space(&mut self, name: &str, summary: &SpaceSummary, report: &Report) -> io::Result<()> {
        let trees = summary.trees.len() + summary.undescribed;
        let pages: u64 = summary.trees.iter().flat_map(|t| &t.stats.pages).sum();
        let rows: u64 = summary.trees.iter().map(|t| t.stats.records).sum();
        let about = format!(
            "{:>8} pages, {:>8} in use, {trees:>3} trees of {pages} pages, {rows} records",
            summary.pages, summary.used
        );
        self.head(name, report, &about)?;
        self.findings(report)?;
        if let Some(system) = &summary.system {
            writeln!(self.out, "    undo: {}", system.transactions)?;
            let (changes, spaces) = system.buffered.count();
            if changes > 0 {
                writeln!(self.out, "    change buffer: {changes} changes for {spaces} tablespaces")?;
            }
            for note in system.transactions.notes() {
                self.note(&note)?;
            }
        }
        Ok(())
    }

    pub(super) fn log(&mut self, log: Option<&LogSummary>, report: &Report) -> io::Result<()> {
        let about = log.map_or(String::new(), |log| {
            format!(
                "{} files of {} bytes, checkpoint {}, end {}, {} mini-transactions to apply",
                log.files, log.file_size, log.checkpoint, log.end, log.groups
            )
        });
        self.head("redo log", report, &about)?;
        self.findings(report)
    }
}
