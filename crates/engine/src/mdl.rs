//! Metadata locks: a table's definition stays while a transaction uses it; DDL waits for that, and new users wait behind
//! DDL.
//!
//! Locks belong to names, so a table that does not exist yet can be locked too. A waiting request is overtaken only by
//! requests that are compatible with it. A cycle of waits is found when the wait that closes it begins, and refused.
//!
//! # Latching
//! `waits`, then the mutex of one name at a time. Nothing else is done under them.

use crate::error::{Error, Result};
use crate::waits::{SessionWait, Sleepers, Waiter, Woken};
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Strength of a metadata lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MdlMode {
    /// To read rows.
    SharedRead,
    /// To change rows.
    SharedWrite,
    /// To keep others from changing rows (LOCK TABLES ... READ).
    SharedNoWrite,
    /// To keep others from reading and changing rows (LOCK TABLES ... WRITE).
    SharedNoReadWrite,
    /// To change the definition.
    Exclusive,
}

impl MdlMode {
    fn compatible(self, other: MdlMode) -> bool {
        use MdlMode::{Exclusive, SharedNoReadWrite, SharedNoWrite, SharedRead, SharedWrite};
        match (self, other) {
            (Exclusive | SharedNoReadWrite, _) | (_, Exclusive | SharedNoReadWrite) => false,
            (SharedWrite, SharedNoWrite) | (SharedNoWrite, SharedWrite) => false,
            (SharedRead | SharedWrite | SharedNoWrite, SharedRead | SharedWrite | SharedNoWrite) => true,
        }
    }
}

/// Who holds metadata locks.
type Owner = u64;

/// The locks of one name.
#[derive(Debug)]
struct Object {
    name: String,
    state: Mutex<State>,
    changed: Condvar,
}

impl Sleepers for Object {
    fn wake(&self) {
        drop(self.state.lock());
        self.changed.notify_all();
    }
}

#[derive(Debug, Default)]
struct State {
    granted: HashMap<Owner, MdlMode, foldhash::fast::RandomState>,
    /// In the order of arrival.
    waiting: Vec<(Owner, MdlMode)>,
}

impl State {
    /// Who keeps a request from being granted: holders, and requests that came before.
    fn blockers(&self, owner: Owner, mode: MdlMode) -> impl Iterator<Item = Owner> {
        let ahead = self.waiting.iter().take_while(move |w| w.0 != owner);
        // A stronger lock on what one holds already does not queue behind those that wait for oneself.
        let upgrades = self.granted.contains_key(&owner);
        let ahead = ahead.filter(move |_| !upgrades).copied();
        self.granted
            .iter()
            .map(|(&o, &m)| (o, m))
            .chain(ahead)
            .filter(move |&(o, m)| o != owner && !mode.compatible(m))
            .map(|(o, _)| o)
    }

    fn is_free_for(&self, owner: Owner, mode: MdlMode) -> bool {
        self.blockers(owner, mode).next().is_none()
    }

    fn forget_wait(&mut self, owner: Owner) {
        self.waiting.retain(|w| w.0 != owner);
    }
}

/// The metadata locks of an engine.
#[derive(Debug, Default)]
pub struct MdlSys {
    names: Mutex<HashMap<String, Arc<Object>, foldhash::fast::RandomState>>,
    waits: Mutex<HashMap<Owner, (Arc<Object>, MdlMode), foldhash::fast::RandomState>>,
    next_owner: AtomicU64,
    /// Length of `names`, to look at without its mutex.
    n_names: AtomicUsize,
}

/// What one session holds.
#[derive(Debug)]
pub struct MdlContext {
    owner: Owner,
    held: Vec<(Arc<Object>, MdlMode)>,
    /// Names it used last, also after it gave them back: the next statement mostly uses them again.
    recent: Vec<Arc<Object>>,
    /// How it waits.
    pub(crate) waiter: Waiter,
}

/// Names a session remembers.
const RECENT: usize = 4;

impl MdlSys {
    /// For a session, holding nothing.
    pub fn context(&self) -> MdlContext {
        self.context_of(Waiter::default())
    }

    /// The same for a session that waits in this way.
    pub(crate) fn context_of(&self, waiter: Waiter) -> MdlContext {
        MdlContext {
            owner: self.next_owner.fetch_add(1, Ordering::Relaxed),
            held: Vec::new(),
            recent: Vec::new(),
            waiter,
        }
    }

    /// Locks a name until [`MdlSys::release`]; stronger locks on the same name add to weaker ones.
    ///
    /// # Errors
    /// [`Error::MetadataLockTimeout`], also at once for a cycle of waits that only the others could end;
    /// [`Error::Interrupted`].
    pub fn acquire(
        &self,
        context: &mut MdlContext,
        name: &str,
        mode: MdlMode,
        timeout: Duration,
    ) -> Result<()> {
        if let Some(held) = context.held.iter_mut().find(|(object, _)| object.name == name) {
            if held.1 >= mode {
                return Ok(());
            }
            let object = held.0.clone();
            self.lock(context, &object, mode, timeout)?;
            if let Some(held) = context.held.iter_mut().find(|(o, _)| Arc::ptr_eq(o, &object)) {
                held.1 = mode;
            }
            return Ok(());
        }
        let object = self.recent(context, name);
        let done = self.lock(context, &object, mode, timeout);
        match done {
            Ok(()) => context.held.push((object, mode)),
            Err(_) => self.drop_unused(object),
        }
        done
    }

    /// Whether the session holds a lock at least that strong.
    pub fn holds(&self, context: &MdlContext, name: &str, mode: MdlMode) -> bool {
        context.held.iter().any(|(object, held)| object.name == name && *held >= mode)
    }

    /// Number of the session's locks: a place to come back to with [`MdlSys::release_from`].
    pub fn held(&self, context: &MdlContext) -> usize {
        context.held.len()
    }

    /// Gives everything back.
    pub fn release(&self, context: &mut MdlContext) {
        self.release_from(context, 0);
    }

    /// Gives back what was locked after `held` was noted (a savepoint).
    pub fn release_from(&self, context: &mut MdlContext, held: usize) {
        for (object, _) in context.held.drain(held.min(context.held.len())..) {
            let mut state = object.state.lock();
            state.granted.remove(&context.owner);
            let waited_for = !state.waiting.is_empty();
            drop(state);
            if waited_for {
                object.changed.notify_all();
            }
            self.drop_unused(object);
        }
    }

    /// The object of a name, which the session remembers. A remembered object is the one of its name: it is in use.
    fn recent(&self, context: &mut MdlContext, name: &str) -> Arc<Object> {
        if let Some(object) = context.recent.iter().find(|o| o.name == name) {
            return object.clone();
        }
        let object = self.object(name);
        if context.recent.len() == RECENT {
            let old = context.recent.remove(0);
            self.drop_unused(old);
        }
        context.recent.push(object.clone());
        object
    }

    fn object(&self, name: &str) -> Arc<Object> {
        let mut names = self.names.lock();
        if let Some(object) = names.get(name) {
            return object.clone();
        }
        let object =
            Arc::new(Object { name: name.to_owned(), state: Mutex::default(), changed: Condvar::new() });
        names.insert(name.to_owned(), object.clone());
        self.n_names.store(names.len(), Ordering::Relaxed);
        object
    }

    /// Forgets a name that nobody uses, so that dropped tables do not pile up. Names in use stay for their next user.
    fn drop_unused(&self, object: Arc<Object>) {
        const KEPT: usize = 4_096;
        if self.n_names.load(Ordering::Relaxed) <= KEPT {
            return;
        }
        let mut names = self.names.lock();
        // Two handles: the map's and this one. Nobody can take a third without the map's mutex.
        if Arc::strong_count(&object) == 2 {
            names.remove(&object.name);
            self.n_names.store(names.len(), Ordering::Relaxed);
        }
    }

    fn lock(
        &self,
        context: &MdlContext,
        object: &Arc<Object>,
        mode: MdlMode,
        timeout: Duration,
    ) -> Result<()> {
        let owner = context.owner;
        {
            let mut state = object.state.lock();
            if state.is_free_for(owner, mode) {
                state.granted.insert(owner, mode);
                return Ok(());
            }
            state.waiting.push((owner, mode));
        }
        self.waits.lock().insert(owner, (object.clone(), mode));
        let woken = match self.closes_cycle(owner) {
            true => Woken::TimedOut,
            false => context.waiter.sleep(
                SessionWait::MetadataLock,
                object,
                &object.state,
                &object.changed,
                timeout,
                |state| {
                    let free = state.is_free_for(owner, mode);
                    if free {
                        state.granted.insert(owner, mode);
                    }
                    free
                },
            ),
        };
        self.waits.lock().remove(&owner);
        let mut state = object.state.lock();
        state.forget_wait(owner);
        drop(state);
        // Those behind this request may go on, whether it was granted or given up.
        object.changed.notify_all();
        match woken {
            Woken::Ready => Ok(()),
            Woken::TimedOut => Err(Error::MetadataLockTimeout(object.name.clone())),
            Woken::Interrupted => Err(Error::Interrupted),
        }
    }

    /// Whether a chain of waits leads from `owner` back to it. Every waiter enters `waits` before it looks, so of the
    /// waits that make a cycle the last to be entered sees all others.
    fn closes_cycle(&self, owner: Owner) -> bool {
        let waits = self.waits.lock();
        let mut seen = vec![owner];
        let mut next = 0;
        while let Some(&waiter) = seen.get(next) {
            next += 1;
            let Some((object, mode)) = waits.get(&waiter) else { continue };
            let state = object.state.lock();
            for blocker in state.blockers(waiter, *mode) {
                if blocker == owner {
                    return true;
                }
                if !seen.contains(&blocker) {
                    seen.push(blocker);
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MdlMode::{Exclusive, SharedNoWrite, SharedRead, SharedWrite};

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
}
