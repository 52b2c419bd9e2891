//! The link ring under the model checker: every interleaving, and every order that the atomics' orderings allow.
//!
//! The ring is compiled here a second time, on the checker's atomics. Around it stands the protocol of the log
//! buffer in small: a cell is written once the taker has passed its previous use, then linked, and read by the taker
//! alone. The checker reports cells that are touched without an order.

use std::rc::Rc;

use loom::cell::Cell;
use loom::sync::atomic::AtomicU64;

use sync::Ordering;

mod sync {
    pub(super) use crossbeam_utils::CachePadded;
    pub(super) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

    /// Waiting is somebody else's turn.
    pub(super) struct Backoff;

    impl Backoff {
        pub(super) fn new() -> Self {
            Self
        }

        pub(super) fn snooze(&self) {
            loom::thread::yield_now();
        }
    }
}

#[allow(dead_code, reason = "the part of the ring that is modelled")]
#[allow(clippy::duplicate_mod, reason = "once more, on other atomics")]
#[path = "../link_ring.rs"]
mod link_ring;

use link_ring::LinkRing;

/// The log buffer in small: a cell is a byte, a piece is one cell, the ring has as many cells as slots.
struct Line {
    taken: AtomicU64,
    cells: Vec<Cell<u64>>,
    links: LinkRing,
}

impl Line {
    fn new(cells: usize) -> Rc<Self> {
        Rc::new(Self {
            taken: AtomicU64::new(0),
            cells: (0..cells).map(|_| Cell::new(u64::MAX)).collect(),
            links: LinkRing::new(cells, 0),
        })
    }

    fn cell(&self, position: u64) -> &Cell<u64> {
        &self.cells[position as usize % self.cells.len()]
    }

    /// What an appending thread does with a piece it reserved; false if there is no room for it yet. (It would
    /// wait then; the checker cannot explore waiting.)
    fn append(&self, position: u64) -> bool {
        let room = position < self.taken.load(Ordering::Acquire) + self.cells.len() as u64;
        if room {
            self.cell(position).set(position);
            self.links.link(position, position + 1);
        }
        room
    }

    /// What the writer does in a step that finds it at `at`.
    fn take(&self, at: u64) -> u64 {
        let complete = self.links.follow();
        for position in at..complete {
            assert_eq!(self.cell(position).get(), position);
        }
        self.taken.store(complete, Ordering::Release);
        complete
    }
}

#[test]
fn pieces_linked_in_any_order_are_taken_in_order() {
    loom::model(|| {
        let line = Line::new(4);
        let threads: Vec<_> = [vec![0, 2], vec![1]]
            .into_iter()
            .map(|positions| {
                let line = Rc::clone(&line);
                loom::thread::spawn(move || assert!(positions.into_iter().all(|p| line.append(p))))
            })
            .collect();
        let at = line.take(0);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(line.take(at), 3);
    });
}

#[test]
fn slots_and_cells_are_used_again_only_when_free() {
    loom::model(|| {
        let line = Line::new(1);
        let appender = {
            let line = Rc::clone(&line);
            loom::thread::spawn(move || (0..3).take_while(|&p| line.append(p)).count() as u64)
        };
        // A thread that waits for its slot follows links too.
        let waiter = {
            let line = Rc::clone(&line);
            loom::thread::spawn(move || line.links.follow())
        };
        let mut at = 0;
        for _ in 0..2 {
            at = line.take(at);
        }
        let followed = waiter.join().unwrap();
        let appended = appender.join().unwrap();
        at = line.take(at);
        assert!(at == appended && followed <= appended && appended >= 1, "{at} {appended} {followed}");
    });
}
