//! The checker: all anomalies of a history, and the forbidden ones.

use super::graph::{Edge, EdgeKind};
use super::versions::Versions;
use super::{History, cycles, edges, rules};
use std::fmt;

/// What is wrong; see the table of [the module](super).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the module's table has them")]
pub enum Kind {
    Internal,
    LostUpdate,
    Disorder,
    StaleRead,
    G0,
    G1a,
    G1b,
    G1c,
    StatementSkew,
    NonRepeatable,
    ReadSkew,
    GSingle,
    G2Item,
}

/// One anomaly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// What it is.
    pub kind: Kind,
    /// The transactions in it; of a cycle, in its order.
    pub txns: Vec<usize>,
    /// For a person.
    pub text: String,
}

impl Anomaly {
    pub(super) fn of(kind: Kind, txns: Vec<usize>, text: String) -> Anomaly {
        Anomaly { kind, txns, text }
    }

    pub(super) fn cycle(kind: Kind, cycle: Vec<Edge>) -> Anomaly {
        let lines: Vec<String> = cycle.iter().map(describe).collect();
        Anomaly { kind, txns: cycle.iter().map(|edge| edge.from).collect(), text: lines.join("; ") }
    }
}

fn describe(edge: &Edge) -> String {
    let Edge { from, to, key, old, new, .. } = edge;
    let read = if edge.locking { "read (locking)" } else { "read" };
    match edge.kind {
        EdgeKind::Ww => format!("T{from} -ww-> T{to} (key {key}: {new} came after {old})"),
        EdgeKind::Wr => format!("T{from} -wr-> T{to} (key {key}: {old} was {read})"),
        EdgeKind::Rw => format!("T{from} -rw-> T{to} (key {key}: {old} was {read}, {new} came after it)"),
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.text)
    }
}

/// Every anomaly, forbidden or not.
///
/// # Panics
/// If values are not unique: the history was not made by the workloads of this crate.
pub fn find(history: &History) -> Vec<Anomaly> {
    let mut found = Vec::new();
    let versions = Versions::collect(history, &mut found);
    let graph = edges::build(history, &versions, &mut found);
    cycles::search(history, &graph, &mut found);
    found
}

/// The anomalies that the history's level forbids.
///
/// # Panics
/// As [`find`].
pub fn violations(history: &History) -> Vec<Anomaly> {
    let mut found = find(history);
    found.retain(|anomaly| rules::forbids(history.level, anomaly.kind));
    found
}
