//! What a check found.

use std::fmt;

use vaquita_base::PageNo;
use vaquita_format::Corruption;

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The page it was found on, if it belongs to one.
    pub page: Option<PageNo>,
    /// Which rule, where in the page, expected and found.
    pub what: Corruption,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.page {
            Some(page) => write!(f, "page {page}: {}", self.what),
            None => self.what.fmt(f),
        }
    }
}

/// Findings kept; more are only counted.
const KEPT: usize = 1_000;

/// Collects findings, and remarks that are not faults.
#[derive(Debug, Default)]
pub struct Report {
    findings: Vec<Finding>,
    count: u64,
    remarks: Vec<String>,
}

impl Report {
    /// Nothing found yet.
    pub fn new() -> Report {
        Report::default()
    }

    /// Adds a finding about a page.
    pub fn page(&mut self, page: PageNo, what: Corruption) {
        self.add(Finding { page: Some(page), what });
    }

    /// Adds a finding about the whole.
    pub fn whole(&mut self, what: Corruption) {
        self.add(Finding { page: None, what });
    }

    fn add(&mut self, finding: Finding) {
        self.count += 1;
        if self.findings.len() < KEPT {
            self.findings.push(finding);
        }
    }

    /// Adds a remark.
    pub fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }

    /// Makes remarks of the findings: what they are about is not settled.
    pub fn demote(&mut self) {
        let findings = std::mem::take(&mut self.findings);
        let more = self.count - findings.len() as u64;
        self.remarks.extend(findings.iter().map(ToString::to_string));
        if more > 0 {
            self.remarks.push(format!("{more} more of this kind"));
        }
        self.count = 0;
    }

    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.count == 0
    }

    /// How many findings there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The findings, as far as they were kept.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The remarks.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }
}
