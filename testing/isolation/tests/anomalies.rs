//! Histories written by hand: each anomaly is found, and its innocent neighbour is not.

use vaquita_isolation::Level;
use vaquita_isolation::history::{Event, History, Kind, Op, Status, Txn, find, rules, violations};

/// Transactions that all overlap, unless told otherwise.
#[derive(Default)]
struct Hand {
    txns: Vec<Txn>,
}

impl Hand {
    fn txn(mut self, ops: &[Op]) -> Self {
        let events = ops.iter().enumerate();
        let events =
            events.map(|(n, op)| Event { started: 10 + n as u64, ended: 10 + n as u64, op: op.clone() });
        self.txns.push(Txn {
            session: self.txns.len(),
            started: 1,
            commit_started: 1000,
            ended: 2000,
            status: Status::Committed,
            events: events.collect(),
        });
        self
    }

    /// The last one was rolled back.
    fn aborted(mut self) -> Self {
        self.txns.last_mut().expect("there is one").status = Status::Aborted;
        self
    }

    /// The last one ran from one tick to another.
    fn at(mut self, from: u64, to: u64) -> Self {
        let txn = self.txns.last_mut().expect("there is one");
        (txn.started, txn.commit_started, txn.ended) = (from, to, to);
        txn.events.iter_mut().for_each(|e| (e.started, e.ended) = (from, from));
        self
    }

    fn kinds(self) -> Vec<Kind> {
        let history = History { level: Level::Serializable, txns: self.txns };
        let mut kinds: Vec<Kind> = find(&history).into_iter().map(|anomaly| anomaly.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

fn append(key: u64, value: u64) -> Op {
    Op::Append { key, value }
}
fn list(key: u64, list: &[u64]) -> Op {
    Op::ReadList { key, list: list.to_vec(), locking: false }
}
fn list_locking(key: u64, list: &[u64]) -> Op {
    Op::ReadList { key, list: list.to_vec(), locking: true }
}
fn write(key: u64, replaced: u64, value: u64) -> Op {
    Op::Write { key, value, replaced }
}
fn read(key: u64, value: u64) -> Op {
    Op::Read { key, value, locking: false }
}
fn history() -> Hand {
    Hand::default()
}

#[test]
fn clean_histories() {
    let lists = history().txn(&[append(1, 1), list(1, &[1])]).txn(&[list(1, &[]), append(2, 2)]).txn(&[
        list(1, &[1]),
        list(2, &[2]),
        append(1, 3),
        list(1, &[1, 3]),
    ]);
    assert_eq!(lists.kinds(), []);
    let registers = history().txn(&[read(1, 0), write(1, 0, 5), read(1, 5)]).txn(&[
        read(1, 5),
        write(1, 5, 6),
        write(1, 6, 7),
    ]);
    assert_eq!(registers.txn(&[read(1, 7)]).kinds(), []);
}

#[test]
fn g0_dirty_write() {
    let order = [list(1, &[1, 2]), list(2, &[4, 3])];
    assert_eq!(
        history().txn(&[append(1, 1), append(2, 3)]).txn(&[append(1, 2), append(2, 4)]).txn(&order).kinds(),
        [Kind::G0]
    );
    let registers = history().txn(&[write(1, 0, 1), write(2, 4, 3)]).txn(&[write(1, 1, 2), write(2, 0, 4)]);
    assert_eq!(registers.kinds(), [Kind::G0]);
    let order = [list(1, &[1, 2]), list(2, &[3, 4])];
    let clean = history().txn(&[append(1, 1), append(2, 3)]).txn(&[append(1, 2), append(2, 4)]).txn(&order);
    assert_eq!(clean.kinds(), []);
}

#[test]
fn g1a_aborted_read() {
    assert_eq!(history().txn(&[append(1, 1)]).aborted().txn(&[list(1, &[1])]).kinds(), [Kind::G1a]);
    assert_eq!(history().txn(&[write(1, 0, 1)]).aborted().txn(&[read(1, 1)]).kinds(), [Kind::G1a]);
    // In the middle of a list as well.
    let middle = history().txn(&[append(1, 1)]).aborted().txn(&[append(1, 2)]).txn(&[list(1, &[1, 2])]);
    assert!(middle.kinds().contains(&Kind::G1a));
    // A transaction that was rolled back itself saw nothing that counts.
    let both = history().txn(&[append(1, 1)]).aborted().txn(&[list(1, &[1])]).aborted();
    assert_eq!(both.kinds(), []);
}

#[test]
fn g1b_intermediate_read() {
    let lists = history().txn(&[append(1, 1), append(1, 2)]).txn(&[list(1, &[1])]);
    assert!(lists.txn(&[list(1, &[1, 2])]).kinds().contains(&Kind::G1b));
    let registers = history().txn(&[write(1, 0, 1), write(1, 1, 2)]).txn(&[read(1, 1)]);
    assert!(registers.kinds().contains(&Kind::G1b));
    assert_eq!(history().txn(&[append(1, 1), append(1, 2)]).txn(&[list(1, &[1, 2])]).kinds(), []);
}

#[test]
fn g1c_circular_information_flow() {
    let mutual = history().txn(&[append(1, 1), list(2, &[2])]).txn(&[append(2, 2), list(1, &[1])]);
    assert_eq!(mutual.kinds(), [Kind::G1c]);
    let over_write = history().txn(&[write(1, 0, 1), read(2, 3)]).txn(&[write(1, 1, 2), write(2, 0, 3)]);
    assert_eq!(over_write.kinds(), [Kind::G1c]);
}

#[test]
fn g_single_through_reads_is_read_skew() {
    let skew = history()
        .txn(&[list(1, &[]), list(2, &[2])])
        .txn(&[append(1, 1), append(2, 2)])
        .txn(&[list(1, &[1]), list(2, &[2])]);
    assert_eq!(skew.kinds(), [Kind::ReadSkew, Kind::GSingle]);
    let locking = history()
        .txn(&[list(1, &[]), list_locking(2, &[2])])
        .txn(&[append(1, 1), append(2, 2)])
        .txn(&[list(1, &[1])]);
    assert_eq!(locking.kinds(), [Kind::GSingle], "a locking read sees the newest version");
}

/// The skew goes over a third transaction, which only overwrites what the second wrote.
#[test]
fn read_skew_over_others() {
    let skew = history()
        .txn(&[read(1, 0), read(2, 4)])
        .txn(&[write(1, 0, 1), write(3, 0, 2)])
        .txn(&[write(3, 2, 3), write(2, 0, 4)]);
    assert_eq!(skew.kinds(), [Kind::ReadSkew, Kind::GSingle]);
}

#[test]
fn skew_within_a_statement() {
    let mut hand = history()
        .txn(&[list(1, &[]), list(2, &[2])])
        .txn(&[append(1, 1), append(2, 2)])
        .txn(&[list(1, &[1])]);
    hand.txns[0].events.iter_mut().for_each(|event| event.started = 10);
    assert_eq!(hand.kinds(), [Kind::StatementSkew, Kind::ReadSkew, Kind::GSingle]);
}

/// P4: read, then overwrite what somebody committed in between. InnoDB allows it below SERIALIZABLE.
#[test]
fn g_single_through_a_write() {
    let hand = history().txn(&[read(1, 0), write(1, 1, 2)]).txn(&[read(1, 0), write(1, 0, 1)]);
    let mut history = History { level: Level::RepeatableRead, txns: hand.txns };
    assert_eq!(find(&history).len(), 1);
    assert_eq!(find(&history)[0].kind, Kind::GSingle);
    assert_eq!(violations(&history), []);
    history.level = Level::Serializable;
    let violations = violations(&history);
    assert_eq!(violations.len(), 1);
    assert!(violations[0].to_string().contains("-rw->"), "{}", violations[0]);
}

#[test]
fn g2_item_write_skew() {
    let skew = history().txn(&[list(1, &[]), append(2, 2)]).txn(&[list(2, &[]), append(1, 1)]);
    assert_eq!(skew.txn(&[list(1, &[1]), list(2, &[2])]).kinds(), [Kind::G2Item]);
    let three = history()
        .txn(&[read(1, 0), write(2, 0, 1)])
        .txn(&[read(2, 0), write(3, 0, 2)])
        .txn(&[read(3, 0), write(1, 0, 3)]);
    assert_eq!(three.kinds(), [Kind::G2Item]);
    let clean = history().txn(&[read(1, 0), write(2, 0, 1)]).txn(&[read(2, 1), write(1, 0, 3)]);
    assert_eq!(clean.kinds(), []);
}

#[test]
fn lost_updates() {
    let twice = history().txn(&[write(1, 0, 1)]).txn(&[write(1, 0, 2)]);
    assert!(twice.kinds().contains(&Kind::LostUpdate));
    let on_nothing = history().txn(&[write(1, 0, 1)]).aborted().txn(&[write(1, 1, 2)]);
    assert_eq!(on_nothing.kinds(), [Kind::LostUpdate]);
    let gone = history().txn(&[append(1, 1)]).at(1, 5).txn(&[list(1, &[])]).at(6, 7);
    assert_eq!(gone.kinds(), [Kind::LostUpdate]);
    let concurrent = history().txn(&[append(1, 1)]).at(1, 5).txn(&[list(1, &[])]).at(4, 7);
    assert_eq!(concurrent.kinds(), []);
}

#[test]
fn stale_reads() {
    let stale = history().txn(&[write(1, 0, 1)]).at(1, 5).txn(&[read(1, 0)]).at(6, 7);
    assert_eq!(stale.kinds(), [Kind::StaleRead]);
    let fresh = history().txn(&[write(1, 0, 1)]).at(1, 5).txn(&[read(1, 1)]).at(6, 7);
    assert_eq!(fresh.kinds(), []);
}

#[test]
fn non_repeatable_reads() {
    let hand = history().txn(&[read(1, 0), read(1, 1)]).txn(&[write(1, 0, 1)]);
    assert!(hand.kinds().contains(&Kind::NonRepeatable));
    let plain_then_locking = history().txn(&[list(1, &[]), list_locking(1, &[1])]).txn(&[append(1, 1)]);
    assert!(!plain_then_locking.kinds().contains(&Kind::NonRepeatable));
}

#[test]
fn internal_inconsistencies() {
    assert_eq!(history().txn(&[append(1, 1), list(1, &[])]).kinds(), [Kind::Internal], "own write not seen");
    assert_eq!(history().txn(&[write(1, 0, 1), read(1, 0)]).kinds(), [Kind::Internal]);
    assert_eq!(history().txn(&[list(1, &[9])]).kinds(), [Kind::Internal], "nobody wrote it");
    assert_eq!(history().txn(&[read(1, 4), write(1, 0, 4)]).kinds(), [Kind::Internal], "read before written");
    let twice = history().txn(&[append(1, 1)]).txn(&[list(1, &[1, 1])]);
    assert!(twice.kinds().contains(&Kind::Internal));
}

#[test]
fn disorder() {
    let hand =
        history().txn(&[append(1, 1)]).txn(&[append(1, 2)]).txn(&[list(1, &[1, 2])]).txn(&[list(1, &[2, 1])]);
    assert!(hand.kinds().contains(&Kind::Disorder));
}

#[test]
fn levels_forbid_more_and_more() {
    for kind in
        [Kind::G0, Kind::G1a, Kind::G1c, Kind::ReadSkew, Kind::GSingle, Kind::G2Item, Kind::LostUpdate]
    {
        let forbidden: Vec<bool> = Level::ALL.iter().map(|level| rules::forbids(*level, kind)).collect();
        assert!(forbidden.is_sorted() && forbidden[3], "{kind:?}");
    }
    assert!(rules::forbids(Level::ReadUncommitted, Kind::G0));
    assert!(!rules::forbids(Level::ReadUncommitted, Kind::G1a));
    assert!(!rules::forbids(Level::ReadCommitted, Kind::ReadSkew));
    assert!(!rules::forbids(Level::RepeatableRead, Kind::GSingle));
}
