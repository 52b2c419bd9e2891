//! The gate under the model checker: every interleaving of users with somebody who wants the name for itself.
//!
//! The gate's source is compiled a second time here, on the checker's primitives. A wait that nobody ends shows as a deadlock
//! of the model.

/// The checker's primitives behind the names of `super::sync`.
mod sync {
    pub(super) use crossbeam_utils::CachePadded;
    pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

    /// Two are as good as many, and have fewer interleavings.
    pub(super) const STRIPES: usize = 2;
}

#[expect(dead_code, reason = "the model uses a part of the gate")]
#[allow(clippy::duplicate_mod, reason = "once more, on other primitives")]
#[path = "gate.rs"]
mod gate;

use gate::{Gate, Use};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// A name: the gate, and what `Object` has beside it.
struct Name {
    gate: Gate,
    /// Users that went by the mutex.
    granted: Mutex<u64>,
    changed: Condvar,
    /// What the gate guards: two words that who has the name for itself leaves equal.
    definition: [AtomicU64; 2],
}

impl Name {
    fn new() -> Arc<Name> {
        Arc::new(Name {
            gate: Gate::new(),
            granted: Mutex::new(0),
            changed: Condvar::new(),
            definition: [AtomicU64::new(0), AtomicU64::new(0)],
        })
    }

    fn wake(&self) {
        drop(self.granted.lock().unwrap());
        self.changed.notify_all();
    }

    fn look(&self) {
        let [a, b] = self.definition.each_ref().map(|word| word.load(Ordering::Relaxed));
        assert_eq!(a, b, "a definition that is being changed");
    }

    /// A user; with `shows` it goes over to the mutex while it is inside, as who is about to wait does.
    fn look_inside(&self, stripe: usize, shows: bool) {
        if !self.gate.enter(stripe, Use::Read) {
            return self.wake();
        }
        if !shows {
            self.look();
            if self.gate.leave(stripe, Use::Read) {
                self.wake();
            }
            return;
        }
        let mut granted = self.granted.lock().unwrap();
        *granted += 1;
        // Nobody is woken: who waits counts it as before.
        let _ = self.gate.leave(stripe, Use::Read);
        drop(granted);
        self.look();
        *self.granted.lock().unwrap() -= 1;
        self.changed.notify_all();
    }

    fn change(&self) {
        let mut granted = self.granted.lock().unwrap();
        self.gate.set_closed(true);
        while *granted > 0 || self.gate.users().reads {
            granted = self.changed.wait(granted).unwrap();
        }
        drop(granted);
        self.definition.iter().for_each(|word| word.store(1, Ordering::Relaxed));
        let _granted = self.granted.lock().unwrap();
        self.gate.set_closed(false);
    }
}

/// All executions with at most three preemptions, or as many as `LOOM_MAX_PREEMPTIONS` says: without a bound there is no end
/// in reasonable time.
fn run(second_stripe: usize, shows: bool) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(move || {
        let name = Name::new();
        let users = [(0, false), (second_stripe, shows)].map(|(stripe, shows)| {
            let name = name.clone();
            thread::spawn(move || name.look_inside(stripe, shows))
        });
        name.change();
        users.into_iter().for_each(|user| user.join().unwrap());
        // The gate is open again.
        assert!(name.gate.enter(0, Use::Write));
        assert!(!name.gate.leave(0, Use::Write));
        assert_eq!(name.gate.users(), gate::Users::default());
    });
}

#[test]
fn nobody_is_inside_while_the_definition_changes() {
    run(1, false);
}

#[test]
fn users_of_one_stripe_are_counted_together() {
    run(0, false);
}

#[test]
fn who_shows_itself_at_the_mutex_is_counted_all_the_time() {
    run(1, true);
}
