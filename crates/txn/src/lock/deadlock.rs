//! Cycles of waits.
//!
//! A transaction that waits has edges to the owners of the locks and requests, made earlier, that keep it waiting. A cycle
//! of edges never resolves itself, so one of its transactions is rolled back: the one whose wait closed the cycle, or the
//! one that waits for it, if that one is lighter by undo records and lock structures. (The others of a longer cycle are
//! not weighed; MySQL 5.6 does not either.)
//!
//! # Every cycle is found
//! Edges of a request appear when it is queued, and lead to what was granted or queued before; later they only vanish. So
//! of the transactions of a cycle, one was the last to begin to wait, and when it did, all the edges were there. It
//! searches after its request was queued and before it sleeps. Gap locks that others get while somebody waits to insert
//! are no edges of that wait: he asks again when it ends, and a cycle through them is found then, as on MySQL 5.6.
//!
//! # No cycle is imagined
//! The search locks one queue at a time, so it may see edges of different moments. With each edge it notes in which wait
//! the other one was at that moment (its *episode*), follows the edge only while that wait goes on, and at the end looks
//! whether all waits of the cycle still go on. Then there was a moment at which all of them waited: between the last edge
//! and the first of the looks. A transaction that waits gives nothing back, so each edge, seen in an episode that
//! covers the moment on both ends, was there at it.
//!
//! # One victim
//! Searches are serialized by a mutex, and the victim's request is taken out under it. Two transactions that close a cycle
//! together both search; the second one finds it broken.
//!
//! # Cost
//! The search for *whether* there is a cycle goes back from a request only to the nearest request of the same mode and kind
//! that it waits for: what is before that one, that one waits for too. A thousand transactions that queue for one row
//! cost the next one a thousand steps, not a million. If there is a cycle, the search begins anew with all edges.
//!
//! # Which cycle
//! Where a wait closes several cycles, the victim of the first is taken out, and the search begins anew. First is the one
//! that is met when the waits are followed in depth, at each request along the queue from its front.

use super::LockSys;
use super::page_locks::{PageLocks, same};
use super::queue::Struct;
use super::table_locks::TableLocks;
use crate::claim::trx_locks::Outcome;
use crate::claim::{DeadlockMember, DeadlockReport, LockInfo, Place, modes};
use crate::trx::TrxRef;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What searches share.
#[derive(Debug, Default)]
pub(super) struct Detector {
    last: Option<Arc<DeadlockReport>>,
}

/// A transaction in one of its waits.
#[derive(Debug, Clone)]
struct Node {
    trx: TrxRef,
    episode: u64,
}

impl Node {
    fn of(trx: &TrxRef) -> Option<Node> {
        let wait = trx.locks.slot.view()?;
        Some(Node { trx: trx.clone(), episode: wait.episode })
    }

    fn still_waits(&self) -> bool {
        self.trx.locks.slot.view().is_some_and(|wait| wait.episode == self.episode)
    }
}

/// An edge of the graph of waits, with what it is made of.
#[derive(Debug, Clone)]
struct Edge {
    to: Node,
    requested: LockInfo,
    blocking: LockInfo,
}

impl LockSys {
    /// Looks for cycles through the transaction, which has queued a request, and breaks them; whether it still waits then.
    /// Those whose wait is over sleep until they are nudged, and are added to `ended`: they go on when all cycles are broken,
    /// for a victim that began to roll back before would decide who the next one is, and whether there is still a wait.
    pub(super) fn break_cycles(&self, trx: &TrxRef, ended: &mut Vec<TrxRef>) -> bool {
        if !trx.locks.is_waiting() {
            return false;
        }
        let mut detector = self.detector.lock();
        while let Some(start) = Node::of(trx) {
            if !self.is_in_cycle(&start) {
                return true;
            }
            let Some(cycle) = self.first_cycle(&start) else { return true };
            if !cycle.iter().all(|edge| edge.to.still_waits()) {
                continue;
            }
            let (report, victim) = judge(&cycle);
            self.counters.deadlocks.fetch_add(1, Ordering::Relaxed);
            let report = Arc::new(report);
            detector.last = Some(report.clone());
            self.cancel(&victim, Outcome::Victim(report), ended);
        }
        false
    }

    /// The last deadlock.
    pub fn last_deadlock(&self) -> Option<Arc<DeadlockReport>> {
        self.detector.lock().last.clone()
    }

    fn is_in_cycle(&self, start: &Node) -> bool {
        let mut seen = HashSet::new();
        let mut todo = vec![start.clone()];
        while let Some(node) = todo.pop() {
            for next in self.neighbours(&node) {
                if same(&next.trx, &start.trx) {
                    return true;
                }
                if seen.insert(next.trx.serial) {
                    todo.push(next);
                }
            }
        }
        false
    }

    /// Some of the waiting transactions that a waiting one waits for: enough to reach all of them.
    fn neighbours(&self, node: &Node) -> Vec<Node> {
        let mut found = Vec::new();
        self.with_queue(node, |queue| match queue {
            Queue::Page(locks, at) => {
                let request = &locks.waiting[at];
                let heap = request.heap;
                let mut from = 0;
                for r in locks.waiting[..at].iter().rev().filter(|r| r.heap == heap) {
                    if modes::must_wait(request.claim, r.claim, heap) {
                        found.extend(Node::of(&r.trx));
                        if r.claim == request.claim {
                            from = r.made;
                            break;
                        }
                    }
                }
                let by_lock = locks.granted.iter().filter(|l| {
                    (from..request.made).contains(&l.made)
                        && modes::must_wait(request.claim, l.claim, heap)
                        && l.heaps.contains(heap)
                        && !same(&l.trx, &request.trx)
                });
                found.extend(by_lock.filter_map(|l| Node::of(&l.trx)));
            }
            Queue::Table(locks, at) => {
                let request = &locks.waiting[at];
                for r in locks.waiting[..at].iter().rev().filter(|r| !request.mode.is_compatible(r.mode)) {
                    found.extend(Node::of(&r.trx));
                    if r.mode == request.mode {
                        return;
                    }
                }
                let by_lock = locks.granted.values().filter(|(t, modes)| {
                    !same(t, &request.trx) && modes.iter().any(|m| !request.mode.is_compatible(m))
                });
                found.extend(by_lock.filter_map(|(t, _)| Node::of(t)));
            }
        });
        found
    }

    /// The first cycle through a transaction that is met in depth: the edges from it on, back to it.
    fn first_cycle(&self, start: &Node) -> Option<Vec<Edge>> {
        let mut seen = HashSet::new();
        let mut path: Vec<Edge> = Vec::new();
        // Of each transaction on the path, and of the first, the edges that were not followed yet.
        let mut ahead = vec![self.edges(start).into_iter()];
        while let Some(edges) = ahead.last_mut() {
            let Some(edge) = edges.next() else {
                ahead.pop();
                path.pop();
                continue;
            };
            if same(&edge.to.trx, &start.trx) {
                path.push(edge);
                return Some(path);
            }
            if seen.insert(edge.to.trx.serial) {
                ahead.push(self.edges(&edge.to).into_iter());
                path.push(edge);
            }
        }
        None
    }

    /// All edges of a waiting transaction to waiting ones, in the order of the queue.
    fn edges(&self, node: &Node) -> Vec<Edge> {
        let mut found = Vec::new();
        self.with_queue(node, |queue| {
            let (requested, blocking) = match queue {
                Queue::Page(locks, at) => {
                    let Place::Record(page, _) = node.place() else { return };
                    (LockInfo::of_request(page, &locks.waiting[at]), locks.blocking(page, at))
                }
                Queue::Table(locks, at) => {
                    let Place::Table(table) = node.place() else { return };
                    (LockInfo::of_table_request(table, &locks.waiting[at]), locks.blocking(table, at))
                }
            };
            for (trx, blocking) in blocking {
                if let Some(to) = Node::of(&trx) {
                    found.push(Edge { to, requested: requested.clone(), blocking });
                }
            }
        });
        found
    }

    /// Looks at the queue in which a transaction waits, unless that wait is over.
    fn with_queue(&self, node: &Node, f: impl FnOnce(Queue<'_>)) {
        loop {
            let Some(wait) = node.trx.locks.slot.view() else { return };
            if wait.episode != node.episode {
                return;
            }
            // Under the mutex of the queue the wait stays where it is; before, it may have moved.
            match wait.place {
                Place::Record(page, _) => {
                    let mut shard = self.pages.lock(page);
                    let Some(locks) = shard.get_mut(page) else { continue };
                    let at = locks.waiting.iter().position(|r| same(&r.trx, &node.trx));
                    let Some(at) = at.filter(|_| node.still_waits()) else { continue };
                    return f(Queue::Page(locks, at));
                }
                Place::Table(table) => {
                    let mut shard = self.tables.lock(table);
                    let Some(locks) = shard.get_mut(&table) else { continue };
                    let at = locks.waiting.iter().position(|r| same(&r.trx, &node.trx));
                    let Some(at) = at.filter(|_| node.still_waits()) else { continue };
                    return f(Queue::Table(locks, at));
                }
            }
        }
    }
}

impl Node {
    /// Where it waits; asked under the mutex of the queue.
    fn place(&self) -> Place {
        self.trx.locks.slot.view().expect("it waits").place
    }
}

/// A queue, and the position of a request in it.
enum Queue<'q> {
    Page(&'q PageLocks, usize),
    Table(&'q TableLocks, usize),
}

impl PageLocks {
    /// What the request at `at` waits for, in the order in which it was made.
    pub(super) fn blocking(&self, page: vaquita_base::PageId, at: usize) -> Vec<(TrxRef, LockInfo)> {
        let heap = self.waiting[at].heap;
        let info = |s: Struct<'_>| match s {
            Struct::Granted(lock) => LockInfo::of_granted(page, lock, heap),
            Struct::Request(request) => LockInfo::of_request(page, request),
        };
        self.in_the_way(at).into_iter().map(|s| (s.trx().clone(), info(s))).collect()
    }
}

impl TableLocks {
    /// What the request at `at` waits for: locks, then requests.
    pub(super) fn blocking(&self, table: vaquita_base::TableId, at: usize) -> Vec<(TrxRef, LockInfo)> {
        let request = &self.waiting[at];
        let mut found = Vec::new();
        for (trx, modes) in self.sorted().into_iter().filter(|(trx, _)| !same(trx, &request.trx)) {
            for mode in modes.iter().filter(|&m| !request.mode.is_compatible(m)) {
                found.push((trx.clone(), LockInfo::of_table(table, trx, mode, false)));
            }
        }
        for r in self.waiting[..at].iter() {
            if !same(&r.trx, &request.trx) && !request.mode.is_compatible(r.mode) {
                found.push((r.trx.clone(), LockInfo::of_table_request(table, r)));
            }
        }
        found
    }
}

/// Says who is rolled back, and why. The last edge leads to the transaction whose wait closed the cycle.
fn judge(cycle: &[Edge]) -> (DeadlockReport, TrxRef) {
    let n = cycle.len();
    let members: Vec<_> = (0..n)
        .map(|i| {
            let trx = &cycle[i].to.trx;
            DeadlockMember {
                trx: trx.id(),
                serial: trx.serial,
                undo_records: trx.undo_records(),
                lock_structs: trx.locks.lock_structs(),
                record_locks: trx.locks.record_locks(),
                holds: cycle[i].blocking.clone(),
                waits_for: cycle[(i + 1) % n].requested.clone(),
            }
        })
        .collect();
    let weight = |i: usize| members[i].undo_records + members[i].lock_structs as u64;
    let victim = if weight(n - 2) < weight(n - 1) { n - 2 } else { n - 1 };
    (DeadlockReport::new(members, victim), cycle[victim].to.trx.clone())
}
