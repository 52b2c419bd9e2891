//! Anomalies that are cycles of the graph.

use super::find::{Anomaly, Kind};
use super::graph::{Edge, EdgeKind, Graph};
use super::versions::committed;
use super::{History, Txn};

/// Cycles reported of one kind: one is enough to be wrong, a few help to see why.
const REPORTED_MAX: usize = 10;

pub(super) fn search(history: &History, graph: &Graph, found: &mut Vec<Anomaly>) {
    let overwriting = |edge: &Edge| edge.kind == EdgeKind::Ww;
    let dependency = |edge: &Edge| edge.kind != EdgeKind::Rw;
    for component in graph.components(overwriting) {
        cycle_in(graph, &component, Kind::G0, overwriting, found);
    }
    for component in graph.components(dependency) {
        cycle_with_read(graph, &component, found);
    }
    for component in graph.components(|_| true) {
        anti_dependencies(graph, &component, found);
    }
    for (number, txn) in committed(history) {
        skews(history, graph, number, txn, found);
    }
}

fn reported(found: &[Anomaly], kind: Kind) -> usize {
    found.iter().filter(|anomaly| anomaly.kind == kind).count()
}

/// A shortest cycle through some node of the component.
fn cycle_in(
    graph: &Graph,
    component: &[usize],
    kind: Kind,
    keep: impl Fn(&Edge) -> bool,
    found: &mut Vec<Anomaly>,
) {
    if reported(found, kind) >= REPORTED_MAX {
        return;
    }
    let inside = |edge: &Edge| keep(edge) && component.contains(&edge.to);
    let cycles = component.iter().take(REPORTED_MAX);
    let cycles = cycles.filter_map(|node| graph.path(*node, |goal| goal == *node, inside));
    if let Some(cycle) = cycles.min_by_key(Vec::len) {
        found.push(Anomaly::cycle(kind, cycle));
    }
}

/// A cycle that goes over a read: from a `wr` edge back to where it leaves.
fn cycle_with_read(graph: &Graph, component: &[usize], found: &mut Vec<Anomaly>) {
    for edge in component.iter().flat_map(|node| graph.out(*node)) {
        if edge.kind != EdgeKind::Wr || !component.contains(&edge.to) {
            continue;
        }
        if reported(found, Kind::G1c) >= REPORTED_MAX {
            return;
        }
        if let Some(back) = graph.path(edge.to, |goal| goal == edge.from, |e| e.kind != EdgeKind::Rw) {
            found.push(Anomaly::cycle(Kind::G1c, closed(*edge, back)));
            return;
        }
    }
}

/// Cycles with one anti-dependency; if the component has none, one with more.
fn anti_dependencies(graph: &Graph, component: &[usize], found: &mut Vec<Anomaly>) {
    let members: std::collections::HashSet<usize> = component.iter().copied().collect();
    let mut single = false;
    for edge in component.iter().flat_map(|node| graph.out(*node)) {
        if edge.kind != EdgeKind::Rw || !members.contains(&edge.to) {
            continue;
        }
        if reported(found, Kind::GSingle) >= REPORTED_MAX {
            break;
        }
        let keep = |e: &Edge| e.kind != EdgeKind::Rw && members.contains(&e.to);
        if let Some(back) = graph.path(edge.to, |goal| goal == edge.from, keep) {
            found.push(Anomaly::cycle(Kind::GSingle, closed(*edge, back)));
            single = true;
        }
    }
    let without_anti =
        graph.components(|e| e.kind != EdgeKind::Rw && members.contains(&e.from) && members.contains(&e.to));
    if !single && without_anti.is_empty() {
        cycle_in(graph, component, Kind::G2Item, |_| true, found);
    }
}

fn closed(edge: Edge, mut back: Vec<Edge>) -> Vec<Edge> {
    back.insert(0, edge);
    back
}

/// Plain reads of one transaction, or of one statement, on both sides of somebody's commit: an anti-dependency leaves,
/// a dependency comes back, and what lies between follows the order of the commits.
fn skews(history: &History, graph: &Graph, number: usize, txn: &Txn, found: &mut Vec<Anomaly>) {
    let leaving: Vec<&Edge> =
        graph.out(number).filter(|edge| edge.kind == EdgeKind::Rw && !edge.locking).collect();
    if leaving.is_empty() || reported(found, Kind::ReadSkew) >= REPORTED_MAX {
        return;
    }
    // Nothing committed after the transaction's end can lie on the way back to it.
    let keep = |edge: &Edge| edge.follows_commits() && history.txns[edge.to].commit_started < txn.ended;
    for out in leaving {
        // The reader itself is a node like others, but the way back may come in by a plain read only.
        let returning = |edge: &Edge, statement: Option<u64>| {
            edge.to == number
                && edge.kind == EdgeKind::Wr
                && !edge.locking
                && statement.is_none_or(|statement| statement == edge.statement)
        };
        for (kind, statement) in [(Kind::StatementSkew, Some(out.statement)), (Kind::ReadSkew, None)] {
            let way = |edge: &Edge| {
                if edge.to == number { returning(edge, statement) } else { keep(edge) }
            };
            if let Some(back) = graph.path(out.to, |goal| goal == number, way) {
                found.push(Anomaly::cycle(kind, closed(*out, back)));
            }
        }
    }
}
