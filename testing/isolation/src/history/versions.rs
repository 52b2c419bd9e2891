//! Who wrote which version, and in which order a key's versions came.

use super::find::{Anomaly, Kind};
use super::{Event, History, Op, Status};
use std::collections::{BTreeMap, HashMap};

/// A write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writer {
    pub(super) txn: usize,
    /// It is the transaction's last write of the key.
    pub(super) last: bool,
    pub(super) committed: bool,
}

/// The versions of all keys.
#[derive(Debug, Default)]
pub(super) struct Versions {
    writers: HashMap<(u64, u64), Writer>,
    /// The version that replaced a version, and its reverse.
    next: HashMap<(u64, u64), u64>,
    /// Committed versions in their order, without the 0 at the start.
    pub(super) orders: BTreeMap<u64, Vec<u64>>,
}

impl Versions {
    pub(super) fn writer(&self, key: u64, value: u64) -> Option<Writer> {
        self.writers.get(&(key, value)).copied()
    }

    /// The committed version that replaced a version, if it is known.
    pub(super) fn next(&self, key: u64, value: u64) -> Option<u64> {
        self.next.get(&(key, value)).copied()
    }

    pub(super) fn collect(history: &History, found: &mut Vec<Anomaly>) -> Versions {
        let mut versions = Versions::default();
        versions.collect_writers(history);
        versions.order_registers(history, found);
        versions.order_lists(history, found);
        for (key, order) in &versions.orders {
            let mut before = 0;
            for value in order {
                versions.next.insert((*key, before), *value);
                before = *value;
            }
        }
        versions
    }

    fn collect_writers(&mut self, history: &History) {
        for (number, txn) in history.txns.iter().enumerate() {
            let mut last = HashMap::new();
            for (key, value) in txn.events.iter().filter_map(|e| Some((e.op.key(), e.op.written()?))) {
                let writer = Writer { txn: number, last: false, committed: txn.status == Status::Committed };
                let before = self.writers.insert((key, value), writer);
                assert!(before.is_none() && value != 0, "value {value} of key {key} is not unique");
                last.insert(key, value);
            }
            for (key, value) in last {
                if let Some(writer) = self.writers.get_mut(&(key, value)) {
                    writer.last = true;
                }
            }
        }
    }

    /// Follows the writes from the initial version on. Each version may be replaced once.
    fn order_registers(&mut self, history: &History, found: &mut Vec<Anomaly>) {
        let mut replaced_by: HashMap<(u64, u64), (u64, usize)> = HashMap::new();
        let mut keys: BTreeMap<u64, usize> = BTreeMap::new();
        for (number, txn) in committed(history) {
            for event in &txn.events {
                let Op::Write { key, value, replaced } = event.op else { continue };
                *keys.entry(key).or_default() += 1;
                if replaced != 0 && self.writer(key, replaced).is_none_or(|writer| !writer.committed) {
                    let text = format!("T{number} replaced {replaced} of key {key}, which nobody committed");
                    found.push(Anomaly::of(Kind::LostUpdate, vec![number], text));
                }
                if let Some((other, by)) = replaced_by.insert((key, replaced), (value, number)) {
                    let text = format!(
                        "T{by} wrote {other} and T{number} wrote {value} to key {key}, both in place of {replaced}"
                    );
                    found.push(Anomaly::of(Kind::LostUpdate, vec![by, number], text));
                }
            }
        }
        for (key, writes) in keys {
            let mut order = Vec::new();
            let mut at = 0;
            // A chain cannot be longer than there are writes, unless it bites its own tail.
            while let Some((value, _)) = replaced_by.get(&(key, at)).filter(|_| order.len() < writes) {
                order.push(*value);
                at = *value;
            }
            self.orders.insert(key, order);
        }
    }

    /// The longest list that was read is the order; every other list begins it.
    fn order_lists(&mut self, history: &History, found: &mut Vec<Anomaly>) {
        let mut longest: BTreeMap<u64, (&[u64], usize)> = BTreeMap::new();
        let mut reads = Vec::new();
        for (number, txn) in committed(history) {
            for Event { op, .. } in &txn.events {
                let Op::ReadList { key, list, .. } = op else { continue };
                let all_committed =
                    list.iter().all(|value| self.writer(*key, *value).is_some_and(|writer| writer.committed));
                // Lists with foreign or aborted elements are faults of their own.
                if !all_committed {
                    continue;
                }
                reads.push((*key, list, number));
                let best = longest.entry(*key).or_insert((list, number));
                if list.len() > best.0.len() {
                    *best = (list, number);
                }
            }
        }
        for (key, list, number) in reads {
            let (order, by) = longest[&key];
            if !order.starts_with(list) {
                let text = format!("T{number} read {list:?} of key {key}, T{by} read {order:?}");
                found.push(Anomaly::of(Kind::Disorder, vec![number, by], text));
            }
        }
        for (key, (order, by)) in longest {
            let mut seen = std::collections::HashSet::new();
            if let Some(twice) = order.iter().find(|value| !seen.insert(**value)) {
                let text = format!("T{by} read {twice} twice in the list of key {key}: {order:?}");
                found.push(Anomaly::of(Kind::Internal, vec![by], text));
            } else {
                self.orders.insert(key, order.to_vec());
            }
        }
    }
}

/// The committed transactions with their numbers.
pub(super) fn committed(history: &History) -> impl Iterator<Item = (usize, &super::Txn)> {
    history.txns.iter().enumerate().filter(|(_, txn)| txn.status == Status::Committed)
}
