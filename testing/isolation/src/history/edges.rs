//! The direct serialization graph, and the faults that single reads show.

use super::find::{Anomaly, Kind};
use super::graph::{Edge, EdgeKind, Graph};
use super::versions::{Versions, committed};
use super::{Event, History, Op, Txn};
use crate::Level;
use std::collections::HashMap;

/// The graph of a history whose versions are known.
pub(super) fn build(history: &History, versions: &Versions, found: &mut Vec<Anomaly>) -> Graph {
    let mut graph = Graph::new(history.txns.len());
    for (key, order) in &versions.orders {
        for pair in order.windows(2) {
            let (Some(from), Some(to)) = (versions.writer(*key, pair[0]), versions.writer(*key, pair[1]))
            else {
                continue;
            };
            graph.add(Edge {
                from: from.txn,
                to: to.txn,
                kind: EdgeKind::Ww,
                key: *key,
                old: pair[0],
                new: pair[1],
                locking: true,
                statement: 0,
            });
        }
    }
    for (number, txn) in committed(history) {
        let mut reader = Reader { history, versions, number, txn, own: HashMap::new(), seen: HashMap::new() };
        for event in &txn.events {
            reader.event(event, &mut graph, found);
        }
    }
    lost_appends(history, versions, found);
    graph
}

/// Goes through one transaction.
struct Reader<'a> {
    history: &'a History,
    versions: &'a Versions,
    number: usize,
    txn: &'a Txn,
    /// Own writes so far, by key.
    own: HashMap<u64, Vec<u64>>,
    /// What the reads so far saw of keys not written, by key and kind of read.
    seen: HashMap<(u64, bool), u64>,
}

impl Reader<'_> {
    fn event(&mut self, event: &Event, graph: &mut Graph, found: &mut Vec<Anomaly>) {
        let key = event.op.key();
        if let Some(value) = event.op.written() {
            self.own.entry(key).or_default().push(value);
        }
        let Some((version, locking)) = event.op.read() else { return };
        if let Some(own) = self.own.get(&key) {
            if !shows_own(&event.op, own) {
                let text = format!("T{} wrote {own:?} to key {key}, then read {:?}", self.number, event.op);
                found.push(Anomaly::of(Kind::Internal, vec![self.number], text));
            }
            return;
        }
        if !self.check_values(event, found) {
            return;
        }
        if let Some(before) = self.seen.insert((key, locking), version).filter(|before| *before != version) {
            let text = format!("T{} read {before}, then {version} of key {key}", self.number);
            found.push(Anomaly::of(Kind::NonRepeatable, vec![self.number], text));
        }
        self.add_edges(event, version, locking, graph);
        self.check_age(event, version, locking, found);
    }

    /// Everything read was written and committed; `false` if it leads nowhere.
    fn check_values(&self, event: &Event, found: &mut Vec<Anomaly>) -> bool {
        let key = event.op.key();
        let number = self.number;
        let (values, last): (&[u64], u64) = match &event.op {
            Op::ReadList { list, .. } => (list, list.last().copied().unwrap_or(0)),
            Op::Read { value, .. } if *value != 0 => (std::slice::from_ref(value), *value),
            _ => return true,
        };
        let mut good = true;
        for value in values {
            let (kind, txns, text) = match self.versions.writer(key, *value) {
                None => (Kind::Internal, vec![number], "which nobody wrote".to_owned()),
                Some(writer) if writer.txn == number => {
                    (Kind::Internal, vec![number], "before it wrote that itself".to_owned())
                }
                Some(writer) if !writer.committed => {
                    let text = format!("of T{}, which was rolled back", writer.txn);
                    (Kind::G1a, vec![number, writer.txn], text)
                }
                Some(writer) if *value == last && !writer.last => {
                    let text = format!("of T{}, which then overwrote it", writer.txn);
                    found.push(Anomaly::of(
                        Kind::G1b,
                        vec![number, writer.txn],
                        format!("T{number} read {value} of key {key}, {text}"),
                    ));
                    continue;
                }
                Some(_) => continue,
            };
            found.push(Anomaly::of(kind, txns, format!("T{number} read {value} of key {key}, {text}")));
            good = false;
        }
        good
    }

    fn add_edges(&self, event: &Event, version: u64, locking: bool, graph: &mut Graph) {
        let key = event.op.key();
        let edge = |from, to, kind, new| Edge {
            from,
            to,
            kind,
            key,
            old: version,
            new,
            locking,
            statement: event.started,
        };
        if let Some(writer) = self.versions.writer(key, version) {
            graph.add(edge(writer.txn, self.number, EdgeKind::Wr, version));
        }
        if let Some(next) = self.versions.next(key, version)
            && let Some(writer) = self.versions.writer(key, next)
        {
            graph.add(edge(self.number, writer.txn, EdgeKind::Rw, next));
        }
    }

    /// What was committed before the reader could have taken its read view must be seen.
    fn check_age(&self, event: &Event, version: u64, locking: bool, found: &mut Vec<Anomaly>) {
        let key = event.op.key();
        let looked = looked_at(self.history.level, self.txn, event, locking);
        let Some(next) = self.versions.next(key, version) else { return };
        let Some(writer) = self.versions.writer(key, next) else { return };
        if self.history.txns[writer.txn].ended < looked {
            let text = format!(
                "T{} read {version} of key {key}, though T{} had committed {next} before",
                self.number, writer.txn
            );
            found.push(Anomaly::of(Kind::StaleRead, vec![self.number, writer.txn], text));
        }
    }
}

/// The latest tick that surely lies before the moment whose versions a read shows.
fn looked_at(level: Level, txn: &Txn, event: &Event, locking: bool) -> u64 {
    if level == Level::RepeatableRead && !locking { txn.started } else { event.started }
}

/// A read after own writes shows them, last.
fn shows_own(op: &Op, own: &[u64]) -> bool {
    match op {
        Op::ReadList { list, .. } => list.ends_with(own),
        Op::Read { value, .. } => own.last() == Some(value),
        _ => true,
    }
}

/// Committed elements that a later read of the list does not show.
fn lost_appends(history: &History, versions: &Versions, found: &mut Vec<Anomaly>) {
    let mut missing: HashMap<u64, Vec<(u64, usize)>> = HashMap::new();
    for (number, txn) in committed(history) {
        for event in &txn.events {
            let Op::Append { key, value } = event.op else { continue };
            let order = versions.orders.get(&key);
            if order.is_none_or(|order| !order.contains(&value)) {
                missing.entry(key).or_default().push((value, number));
            }
        }
    }
    if missing.is_empty() {
        return;
    }
    for (reader, txn) in committed(history) {
        for event in &txn.events {
            let Op::ReadList { key, list, locking } = &event.op else { continue };
            let looked = looked_at(history.level, txn, event, *locking);
            for (value, writer) in missing.get(key).into_iter().flatten() {
                if history.txns[*writer].ended < looked && !list.contains(value) {
                    let text = format!(
                        "T{writer} had appended {value} to key {key} and committed; T{reader} read {list:?}"
                    );
                    found.push(Anomaly::of(Kind::LostUpdate, vec![*writer, reader], text));
                }
            }
        }
    }
}
