//! Metadata locks between sessions.

use super::*;
use MdlMode::{Exclusive, SharedNoWrite, SharedRead, SharedUpgradable, SharedWrite};

const LONG: Duration = Duration::from_secs(60);

#[test]
fn definitions_stay_while_they_are_used() {
    let sys = MdlSys::default();
    let (mut a, mut b) = (sys.context(), sys.context());
    sys.acquire(&mut a, "d/t", SharedRead, LONG).unwrap();
    sys.acquire(&mut b, "d/t", SharedWrite, LONG).unwrap();
    // LOCK TABLES READ keeps writers out only.
    let refused = sys.acquire(&mut a, "d/t", SharedNoWrite, Duration::ZERO);
    assert!(matches!(refused, Err(Error::MetadataLockTimeout(name)) if name == "d/t"));
    assert!(sys.acquire(&mut a, "d/t", Exclusive, Duration::ZERO).is_err());
    sys.release(&mut b);
    sys.acquire(&mut a, "d/t", Exclusive, Duration::ZERO).unwrap();
    assert!(sys.holds(&a, "d/t", SharedWrite));
    assert!(sys.acquire(&mut b, "d/t", SharedRead, Duration::ZERO).is_err());
    sys.acquire(&mut b, "d/u", SharedRead, Duration::ZERO).unwrap();
    sys.release(&mut a);
    sys.acquire(&mut b, "d/t", SharedRead, Duration::ZERO).unwrap();
    assert_eq!(sys.held(&b), 2);
    sys.release_from(&mut b, 1);
    assert!(!sys.holds(&b, "d/t", SharedRead) && sys.holds(&b, "d/u", SharedRead));
}

#[test]
fn readers_queue_behind_a_waiting_change_of_the_definition() {
    let sys = MdlSys::default();
    let (mut user, mut late) = (sys.context(), sys.context());
    sys.acquire(&mut user, "d/t", SharedRead, LONG).unwrap();
    std::thread::scope(|s| {
        let ddl = s.spawn(|| {
            let mut ddl = sys.context();
            sys.acquire(&mut ddl, "d/t", Exclusive, LONG).unwrap();
            sys.release(&mut ddl);
        });
        while sys.waits.lock().is_empty() {
            std::thread::yield_now();
        }
        assert!(sys.acquire(&mut late, "d/t", SharedRead, Duration::ZERO).is_err());
        // Whoever uses the table already is not held up.
        sys.acquire(&mut user, "d/t", SharedWrite, LONG).unwrap();
        sys.release(&mut user);
        ddl.join().unwrap();
    });
    sys.acquire(&mut late, "d/t", SharedRead, Duration::ZERO).unwrap();
}

/// What a change of a definition goes through that lets others at the rows in between.
#[test]
fn an_exclusive_lock_becomes_one_beside_users_and_exclusive_again() {
    let sys = MdlSys::default();
    let (mut ddl, mut user, mut other) = (sys.context(), sys.context(), sys.context());
    sys.acquire(&mut ddl, "d/t", Exclusive, LONG).unwrap();
    assert!(sys.acquire(&mut user, "d/t", SharedRead, Duration::ZERO).is_err());
    sys.weaken(&mut ddl, "d/t", SharedUpgradable);
    sys.acquire(&mut user, "d/t", SharedWrite, Duration::ZERO).unwrap();
    assert!(sys.acquire(&mut other, "d/t", Exclusive, Duration::ZERO).is_err());
    assert!(sys.acquire(&mut other, "d/t", SharedUpgradable, Duration::ZERO).is_err());
    // It does not come by while somebody changes rows, and stays what it was.
    assert!(sys.acquire(&mut ddl, "d/t", Exclusive, Duration::ZERO).is_err());
    assert!(!sys.holds(&ddl, "d/t", Exclusive) && sys.holds(&ddl, "d/t", SharedUpgradable));
    sys.acquire(&mut other, "d/t", SharedRead, Duration::ZERO).unwrap();
    sys.release(&mut user);
    sys.release(&mut other);
    sys.acquire(&mut ddl, "d/t", Exclusive, Duration::ZERO).unwrap();
    sys.weaken(&mut ddl, "d/t", SharedNoWrite);
    assert!(sys.acquire(&mut user, "d/t", SharedWrite, Duration::ZERO).is_err());
    sys.acquire(&mut user, "d/t", SharedRead, Duration::ZERO).unwrap();
    sys.release(&mut ddl);
    sys.acquire(&mut user, "d/t", SharedWrite, Duration::ZERO).unwrap();
}

/// Who waits for an exclusive lock to go is woken when it becomes a weaker one.
#[test]
fn a_lock_that_becomes_weaker_wakes_those_who_wait() {
    let sys = MdlSys::default();
    let mut ddl = sys.context();
    sys.acquire(&mut ddl, "d/t", Exclusive, LONG).unwrap();
    std::thread::scope(|s| {
        let user = s.spawn(|| {
            let mut user = sys.context();
            sys.acquire(&mut user, "d/t", SharedWrite, LONG).unwrap();
            sys.release(&mut user);
        });
        while sys.waits.lock().is_empty() {
            std::thread::yield_now();
        }
        sys.weaken(&mut ddl, "d/t", SharedUpgradable);
        user.join().unwrap();
    });
}

#[test]
fn a_cycle_of_waits_is_refused_at_once() {
    let sys = MdlSys::default();
    let mut a = sys.context();
    sys.acquire(&mut a, "d/t", SharedRead, LONG).unwrap();
    std::thread::scope(|s| {
        let other = s.spawn(|| {
            let mut b = sys.context();
            sys.acquire(&mut b, "d/u", Exclusive, LONG).unwrap();
            let got = sys.acquire(&mut b, "d/t", Exclusive, LONG);
            sys.release(&mut b);
            got
        });
        while sys.waits.lock().is_empty() {
            std::thread::yield_now();
        }
        assert!(sys.acquire(&mut a, "d/u", SharedRead, LONG).is_err());
        sys.release(&mut a);
        other.join().unwrap().unwrap();
    });
}

/// Who changes a definition goes on; who waits to read or change rows gives way, whichever wait was last.
#[test]
fn users_give_way_in_a_cycle() {
    for mode in [SharedRead, SharedWrite] {
        let sys = MdlSys::default();
        let mut user = sys.context();
        sys.acquire(&mut user, "d/u", mode, LONG).unwrap();
        let mut ddl = sys.context();
        sys.acquire(&mut ddl, "d/t", Exclusive, LONG).unwrap();
        std::thread::scope(|s| {
            let sys = &sys;
            let waits = s.spawn(move || {
                let got = sys.acquire(&mut user, "d/t", mode, LONG);
                sys.release(&mut user);
                got
            });
            while sys.waits.lock().is_empty() {
                std::thread::yield_now();
            }
            sys.acquire(&mut ddl, "d/u", Exclusive, LONG).unwrap();
            let got = waits.join().unwrap();
            assert!(matches!(got, Err(Error::Deadlock(None))), "{got:?}");
            sys.release(&mut ddl);
        });
        // Nothing of it is left.
        let mut other = sys.context();
        for name in ["d/t", "d/u"] {
            sys.acquire(&mut other, name, Exclusive, Duration::ZERO).unwrap();
        }
    }
}

#[test]
fn an_interruption_ends_a_wait_and_the_queue_goes_on() {
    let core = std::sync::Arc::new(MdlSys::default());
    let (mut user, mut late) = (core.context(), core.context());
    core.acquire(&mut user, "d/t", SharedRead, LONG).unwrap();
    let mut ddl = core.context();
    let waiter = ddl.waiter.clone();
    std::thread::scope(|s| {
        let waits = s.spawn(|| core.acquire(&mut ddl, "d/t", Exclusive, LONG));
        while core.waits.lock().is_empty() {
            std::thread::yield_now();
        }
        waiter.interrupt();
        assert!(matches!(waits.join().unwrap(), Err(Error::Interrupted)));
    });
    // Nobody queues behind a request that was given up.
    core.acquire(&mut late, "d/t", SharedWrite, Duration::ZERO).unwrap();
    // Until it is cleared, the next wait ends too.
    assert!(matches!(core.acquire(&mut ddl, "d/t", Exclusive, LONG), Err(Error::Interrupted)));
    ddl.waiter.clear_interrupt();
    let refused = core.acquire(&mut ddl, "d/t", Exclusive, Duration::ZERO);
    assert!(matches!(refused, Err(Error::MetadataLockTimeout(_))));
}

#[test]
fn those_who_use_one_name_take_no_mutex_of_it() {
    let sys = MdlSys::default();
    std::thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| {
                let mut user = sys.context();
                for _ in 0..500 {
                    sys.acquire(&mut user, "d/t", SharedRead, LONG).unwrap();
                    sys.acquire(&mut user, "d/t", SharedWrite, LONG).unwrap();
                    assert!(sys.holds(&user, "d/t", SharedWrite));
                    sys.release(&mut user);
                    sys.acquire(&mut user, "d/t", SharedWrite, LONG).unwrap();
                    sys.release(&mut user);
                }
            });
        }
    });
    assert_eq!(sys.mutex_uses.get(), 0);
    // A change of the definition, that of a user which is there meanwhile, and all is as before.
    let (mut ddl, mut user) = (sys.context(), sys.context());
    sys.acquire(&mut user, "d/t", SharedRead, LONG).unwrap();
    assert!(sys.acquire(&mut ddl, "d/t", Exclusive, Duration::ZERO).is_err());
    sys.release(&mut user);
    sys.acquire(&mut ddl, "d/t", Exclusive, Duration::ZERO).unwrap();
    assert!(sys.acquire(&mut user, "d/t", SharedRead, Duration::ZERO).is_err());
    sys.release(&mut ddl);
    let uses = sys.mutex_uses.get();
    assert!(uses > 0);
    sys.acquire(&mut user, "d/t", SharedRead, LONG).unwrap();
    sys.release(&mut user);
    assert_eq!(sys.mutex_uses.get(), uses);
}

#[test]
fn a_waiter_is_found_in_a_cycle_with_what_it_locked_by_the_short_way() {
    let sys = MdlSys::default();
    let mut a = sys.context();
    sys.acquire(&mut a, "d/t", SharedWrite, LONG).unwrap();
    std::thread::scope(|s| {
        // Both hold what they need by the gate, and want the other's name for themselves.
        let other = s.spawn(|| {
            let mut b = sys.context();
            sys.acquire(&mut b, "d/u", SharedRead, LONG).unwrap();
            let got = sys.acquire(&mut b, "d/t", Exclusive, LONG);
            sys.release(&mut b);
            got
        });
        while sys.waits.lock().is_empty() {
            std::thread::yield_now();
        }
        assert!(sys.acquire(&mut a, "d/u", Exclusive, LONG).is_err());
        // Who was refused has what it had, and the name is free for others.
        assert!(sys.holds(&a, "d/t", SharedWrite));
        let mut c = sys.context();
        sys.acquire(&mut c, "d/u", SharedWrite, Duration::ZERO).unwrap();
        sys.release(&mut c);
        sys.release(&mut a);
        other.join().unwrap().unwrap();
    });
}

/// Who is inside, by mode.
#[derive(Default)]
struct Inside {
    reads: AtomicU64,
    writes: AtomicU64,
    upgradable: AtomicU64,
    no_writes: AtomicU64,
    alone: AtomicU64,
}

impl Inside {
    fn of(&self, mode: MdlMode) -> &AtomicU64 {
        match mode {
            SharedRead => &self.reads,
            SharedWrite => &self.writes,
            SharedUpgradable => &self.upgradable,
            SharedNoWrite => &self.no_writes,
            MdlMode::SharedNoReadWrite | Exclusive => &self.alone,
        }
    }

    fn check(&self, mode: MdlMode) {
        let n = |mode| self.of(mode).load(Ordering::SeqCst);
        let (reads, writes, no_writes, alone) =
            (n(SharedRead), n(SharedWrite), n(SharedNoWrite), n(Exclusive));
        let upgradable = n(SharedUpgradable);
        assert!(
            match mode {
                SharedRead => alone == 0,
                SharedWrite => alone + no_writes == 0,
                SharedUpgradable => alone == 0 && upgradable == 1,
                SharedNoWrite => alone + writes == 0,
                MdlMode::SharedNoReadWrite | Exclusive => {
                    reads + writes + no_writes + upgradable == 0 && alone == 1
                }
            },
            "{mode:?} beside {reads} that read, {writes} that write, {no_writes} that allow no writes, {alone} alone"
        );
    }
}

#[test]
fn modes_keep_each_other_out_whichever_way_they_go() {
    let (sys, inside) = (MdlSys::default(), Inside::default());
    std::thread::scope(|s| {
        for thread in 0..6 {
            let (sys, inside) = (&sys, &inside);
            s.spawn(move || {
                let mut rng = vaquita_base::Rng::new(thread);
                let mut user = sys.context();
                for _ in 0..2_000 {
                    let mode = match rng.below(40) {
                        0 => Exclusive,
                        1 => SharedNoWrite,
                        2 => MdlMode::SharedNoReadWrite,
                        3 => SharedUpgradable,
                        n if n % 2 == 0 => SharedWrite,
                        _ => SharedRead,
                    };
                    // A reader that becomes something else first goes in as one.
                    if rng.one_in(4) && mode == SharedWrite {
                        sys.acquire(&mut user, "d/t", SharedRead, LONG).unwrap();
                    }
                    // Two that both read and both want to exclude the other: one is refused.
                    if sys.acquire(&mut user, "d/t", mode, LONG).is_ok() {
                        inside.of(mode).fetch_add(1, Ordering::SeqCst);
                        inside.check(mode);
                        inside.of(mode).fetch_sub(1, Ordering::SeqCst);
                        // As a change of a definition does.
                        if mode == Exclusive && rng.one_in(2) {
                            sys.weaken(&mut user, "d/t", SharedUpgradable);
                            inside.of(SharedUpgradable).fetch_add(1, Ordering::SeqCst);
                            inside.check(SharedUpgradable);
                            inside.of(SharedUpgradable).fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                    sys.release(&mut user);
                }
            });
        }
    });
    let mut last = sys.context();
    sys.acquire(&mut last, "d/t", Exclusive, Duration::ZERO).unwrap();
}
