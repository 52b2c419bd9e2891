//! Metadata locks: a table's definition stays while a transaction uses it; DDL waits for that, and new users wait behind
//! DDL.
//!
//! Locks belong to names, so a table that does not exist yet can be locked too. A waiting request is overtaken only by
//! requests that are compatible with it. A cycle of waits is found when the wait that closes it begins. Who only reads or changes
//! rows gives way then, as in MySQL, so that a change of a definition that took hours is not in vain; if there is none in the cycle, the
//! wait that closes it is refused.
//!
//! # The short way
//! Readers and writers of rows do not keep each other out, and there are as many of them as statements. They go through the
//! [`gate`] of the name: a count in one of several cache lines, no mutex. A request that keeps users out closes the gate before
//! it looks who is inside; while it waits or holds, everybody asks under the mutex, in order. Nobody knows who those are that
//! went through the gate, which is enough for who waits until they are gone. A cycle of waits has waiters alone: a session
//! writes its name down under the mutex, for all that it holds, before it waits.
//!
//! # Latching
//! `waits`, then the mutex of one name at a time. Nothing else is done under them.

mod gate;
#[cfg(test)]
mod gate_model;
mod sync;
#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::waits::{SessionWait, Sleepers, Waiter, Woken};
use gate::{Gate, Use};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use vaquita_base::ShardedCounter;
use vaquita_base::counter::thread_slot;

/// Strength of a metadata lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MdlMode {
    /// To read rows.
    SharedRead,
    /// To change rows.
    SharedWrite,
    /// To change the definition later, while others read and change rows: one at a time.
    SharedUpgradable,
    /// To keep others from changing rows (LOCK TABLES ... READ).
    SharedNoWrite,
    /// To keep others from reading and changing rows (LOCK TABLES ... WRITE).
    SharedNoReadWrite,
    /// To change the definition.
    Exclusive,
}

impl MdlMode {
    fn compatible(self, other: MdlMode) -> bool {
        use MdlMode::{Exclusive, SharedNoReadWrite, SharedNoWrite, SharedUpgradable, SharedWrite};
        !matches!(
            (self, other),
            (Exclusive | SharedNoReadWrite, _)
                | (_, Exclusive | SharedNoReadWrite)
                | (SharedWrite, SharedNoWrite)
                | (SharedNoWrite, SharedWrite)
                | (SharedUpgradable, SharedUpgradable)
        )
    }

    /// Whether it keeps some of those out who only read or change rows.
    fn excludes_users(self) -> bool {
        matches!(self, MdlMode::SharedNoWrite | MdlMode::SharedNoReadWrite | MdlMode::Exclusive)
    }

    /// As what it goes through the gate; `None` for what is more than reading and changing rows.
    fn at_gate(self) -> Option<Use> {
        match self {
            MdlMode::SharedRead => Some(Use::Read),
            MdlMode::SharedWrite => Some(Use::Write),
            MdlMode::SharedUpgradable
            | MdlMode::SharedNoWrite
            | MdlMode::SharedNoReadWrite
            | MdlMode::Exclusive => None,
        }
    }
}

/// Who holds metadata locks.
type Owner = u64;

/// The locks of one name.
#[derive(Debug)]
struct Object {
    name: String,
    /// Closed exactly while the state has requests that keep users out; changed under the state's mutex.
    gate: Gate,
    state: Mutex<State>,
    changed: Condvar,
}

impl Sleepers for Object {
    fn wake(&self) {
        drop(self.state.lock());
        self.changed.notify_all();
    }
}

impl Object {
    fn new(name: &str) -> Arc<Object> {
        Arc::new(Object {
            name: name.to_owned(),
            gate: Gate::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// Whether nobody keeps the request from being granted, who is inside the gate included: it stands in the queue.
    fn is_free_for(&self, state: &State, owner: Owner, mode: MdlMode) -> bool {
        if state.blockers(owner, mode).next().is_some() {
            return false;
        }
        if mode.at_gate().is_some() {
            return true;
        }
        let users = self.gate.users();
        (!users.reads || mode.compatible(MdlMode::SharedRead))
            && (!users.writes || mode.compatible(MdlMode::SharedWrite))
    }

    /// Grants a request that stands in the queue, if it is free to.
    fn try_grant(&self, state: &mut State, owner: Owner, mode: MdlMode) -> bool {
        let free = self.is_free_for(state, owner, mode);
        if free {
            state.grant(owner, mode);
            state.forget_wait(owner);
        }
        free
    }

    /// Opens or closes the gate, after the state has changed.
    fn set_gate(&self, state: &State) {
        let modes = state.granted.values().chain(state.waiting.iter().map(|(_, mode)| mode));
        debug_assert_eq!(
            state.excluding,
            modes.filter(|mode| mode.excludes_users()).count(),
            "requests of {} that keep users out",
            self.name
        );
        self.gate.set_closed(state.excluding > 0);
    }
}

#[derive(Debug, Default)]
struct State {
    /// Without those who went through the gate.
    granted: HashMap<Owner, MdlMode, foldhash::fast::RandomState>,
    /// In the order of arrival.
    waiting: Vec<(Owner, MdlMode)>,
    /// How many of either keep users out.
    excluding: usize,
    /// Those that wait and are to give way.
    doomed: Vec<Owner>,
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

    fn queue(&mut self, owner: Owner, mode: MdlMode) {
        debug_assert!(self.waiting.iter().all(|w| w.0 != owner), "session {owner} waits twice for one name");
        self.waiting.push((owner, mode));
        self.excluding += usize::from(mode.excludes_users());
    }

    fn forget_wait(&mut self, owner: Owner) {
        self.doomed.retain(|doomed| *doomed != owner);
        if let Some(at) = self.waiting.iter().position(|w| w.0 == owner) {
            let (_, mode) = self.waiting.remove(at);
            self.excluding -= usize::from(mode.excludes_users());
        }
    }

    fn grant(&mut self, owner: Owner, mode: MdlMode) {
        self.revoke(owner);
        debug_assert!(
            self.granted.values().all(|held| mode.compatible(*held)),
            "{mode:?} is granted beside {:?}",
            self.granted
        );
        self.granted.insert(owner, mode);
        self.excluding += usize::from(mode.excludes_users());
    }

    fn revoke(&mut self, owner: Owner) {
        if let Some(mode) = self.granted.remove(&owner) {
            self.excluding -= usize::from(mode.excludes_users());
        }
    }
}

type Names = HashMap<String, Arc<Object>, foldhash::fast::RandomState>;

/// Parts of the map of names.
const NAME_SHARDS: usize = 16;

/// The metadata locks of an engine.
#[derive(Debug, Default)]
pub struct MdlSys {
    names: [Mutex<Names>; NAME_SHARDS],
    /// Which part a name belongs to.
    shard_of: foldhash::fast::RandomState,
    waits: Mutex<HashMap<Owner, (Arc<Object>, MdlMode), foldhash::fast::RandomState>>,
    next_owner: AtomicU64,
    /// Names in the map, to look at without its mutexes.
    n_names: AtomicUsize,
    /// How often the mutex of a name was taken to lock or to release.
    mutex_uses: ShardedCounter,
}

/// One lock of a session.
#[derive(Debug)]
struct Hold {
    object: Arc<Object>,
    mode: MdlMode,
    /// As what, and by which stripe, it went through the gate; `None` if it is written down in the state.
    inside: Option<(Use, usize)>,
}

/// What one session holds.
#[derive(Debug)]
pub struct MdlContext {
    owner: Owner,
    held: Vec<Hold>,
    /// Names it used and does not hold: the next statement mostly uses them again. One handle moves between here and `held`,
    /// so that sessions do not all count at the name.
    recent: Vec<Arc<Object>>,
    /// How it waits.
    pub(crate) waiter: Waiter,
}

/// Names a session remembers.
const RECENT: usize = 8;

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
    /// [`Error::MetadataLockTimeout`]; [`Error::Deadlock`] if it is to give way in a cycle of waits; [`Error::Interrupted`].
    pub fn acquire(
        &self,
        context: &mut MdlContext,
        name: &str,
        mode: MdlMode,
        timeout: Duration,
    ) -> Result<()> {
        if let Some(at) = context.held.iter().position(|hold| hold.object.name == name) {
            return match context.held[at].mode >= mode {
                true => Ok(()),
                false => self.strengthen(context, at, mode, timeout),
            };
        }
        let object = self.take_recent(context, name);
        if let Some(what) = mode.at_gate() {
            let stripe = thread_slot();
            if object.gate.enter(stripe, what) {
                context.held.push(Hold { object, mode, inside: Some((what, stripe)) });
                return Ok(());
            }
            object.wake();
        }
        let done = self.lock(context, &object, mode, timeout);
        match done {
            Ok(()) => context.held.push(Hold { object, mode, inside: None }),
            Err(_) => self.keep_recent(context, object),
        }
        done
    }

    /// Makes a lock that the session has stronger.
    fn strengthen(
        &self,
        context: &mut MdlContext,
        at: usize,
        mode: MdlMode,
        timeout: Duration,
    ) -> Result<()> {
        let hold = &mut context.held[at];
        if let (Some((Use::Read, stripe)), Some(Use::Write)) = (hold.inside, mode.at_gate()) {
            if hold.object.gate.begin_to_write(stripe) {
                (hold.mode, hold.inside) = (mode, Some((Use::Write, stripe)));
                return Ok(());
            }
            hold.object.wake();
        }
        self.write_down(context.owner, hold);
        let object = hold.object.clone();
        self.lock(context, &object, mode, timeout)?;
        context.held[at].mode = mode;
        Ok(())
    }

    /// Makes a lock that the session has weaker: others may go on. Nothing happens if it is not stronger.
    pub fn weaken(&self, context: &mut MdlContext, name: &str, mode: MdlMode) {
        let owner = context.owner;
        let Some(hold) = context.held.iter_mut().find(|hold| hold.object.name == name && hold.mode > mode)
        else {
            return;
        };
        debug_assert!(
            hold.inside.is_none(),
            "{:?} on {name} is no lock that went through the gate",
            hold.mode
        );
        hold.mode = mode;
        let object = &hold.object;
        let mut state = self.state(object);
        state.grant(owner, mode);
        object.set_gate(&state);
        drop(state);
        object.changed.notify_all();
    }

    /// Whether the session holds a lock at least that strong.
    pub fn holds(&self, context: &MdlContext, name: &str, mode: MdlMode) -> bool {
        context.held.iter().any(|hold| hold.object.name == name && hold.mode >= mode)
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
        debug_assert!(held <= context.held.len(), "{held} locks stay of {}", context.held.len());
        while context.held.len() > held
            && let Some(Hold { object, inside, .. }) = context.held.pop()
        {
            match inside {
                Some((what, stripe)) => {
                    if object.gate.leave(stripe, what) {
                        object.wake();
                    }
                }
                None => self.revoke(context.owner, &object),
            }
            self.keep_recent(context, object);
        }
    }

    fn revoke(&self, owner: Owner, object: &Object) {
        let mut state = self.state(object);
        state.revoke(owner);
        object.set_gate(&state);
        let waited_for = !state.waiting.is_empty();
        drop(state);
        if waited_for {
            object.changed.notify_all();
        }
    }

    /// Writes the session's name down for a lock for which it went through the gate. Nobody has to be woken: it counts as
    /// before.
    fn write_down(&self, owner: Owner, hold: &mut Hold) {
        if let Some((what, stripe)) = hold.inside.take() {
            let mut state = self.state(&hold.object);
            state.grant(owner, hold.mode);
            let _ = hold.object.gate.leave(stripe, what);
        }
    }

    fn state<'o>(&self, object: &'o Object) -> MutexGuard<'o, State> {
        self.mutex_uses.add(1);
        object.state.lock()
    }

    /// The object of a name, from those the session remembers if it is there. A remembered object is the one of its name: it
    /// is in use.
    fn take_recent(&self, context: &mut MdlContext, name: &str) -> Arc<Object> {
        match context.recent.iter().position(|object| object.name == name) {
            Some(at) => context.recent.remove(at),
            None => self.object(name),
        }
    }

    /// Remembers an object that the session gives back.
    fn keep_recent(&self, context: &mut MdlContext, object: Arc<Object>) {
        if context.recent.len() == RECENT {
            let old = context.recent.remove(0);
            self.drop_unused(old);
        }
        context.recent.push(object);
    }

    fn names_with(&self, name: &str) -> &Mutex<Names> {
        &self.names[self.shard_of.hash_one(name) as usize % NAME_SHARDS]
    }

    fn object(&self, name: &str) -> Arc<Object> {
        let mut names = self.names_with(name).lock();
        if let Some(object) = names.get(name) {
            return object.clone();
        }
        let object = Object::new(name);
        names.insert(name.to_owned(), object.clone());
        self.n_names.fetch_add(1, Ordering::Relaxed);
        object
    }

    /// Forgets a name that nobody uses, so that dropped tables do not pile up. Names in use stay for their next user.
    fn drop_unused(&self, object: Arc<Object>) {
        const KEPT: usize = 4_096;
        if self.n_names.load(Ordering::Relaxed) <= KEPT {
            return;
        }
        let mut names = self.names_with(&object.name).lock();
        // Two handles: the map's and this one. Nobody can take a third without the map's mutex.
        if Arc::strong_count(&object) == 2 {
            names.remove(&object.name);
            self.n_names.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Locks under the mutex of the name, where all locks of the session on it are written down.
    fn lock(
        &self,
        context: &mut MdlContext,
        object: &Arc<Object>,
        mode: MdlMode,
        timeout: Duration,
    ) -> Result<()> {
        let owner = context.owner;
        {
            let mut state = self.state(object);
            state.queue(owner, mode);
            // Before the look at who is inside.
            object.set_gate(&state);
            if object.try_grant(&mut state, owner, mode) {
                return Ok(());
            }
        }
        // Who looks for a cycle finds us with all that we hold.
        context.held.iter_mut().for_each(|hold| self.write_down(owner, hold));
        debug_assert!(
            context.held.iter().all(|hold| hold.inside.is_none()),
            "who waits has written down all that it holds: {:?}",
            context.held
        );
        let other = self.waits.lock().insert(owner, (object.clone(), mode));
        debug_assert!(other.is_none(), "session {owner} waits for {} and for {other:?}", object.name);
        let mut granted = false;
        let woken = match self.resolve_cycles(owner, mode) {
            false => None,
            true => Some(context.waiter.sleep(
                SessionWait::MetadataLock,
                object,
                &object.state,
                &object.changed,
                timeout,
                |state| {
                    granted = object.try_grant(state, owner, mode);
                    granted || state.doomed.contains(&owner)
                },
            )),
        };
        self.waits.lock().remove(&owner);
        let mut state = self.state(object);
        state.forget_wait(owner);
        object.set_gate(&state);
        drop(state);
        // Those behind this request may go on, whether it was granted or given up.
        object.changed.notify_all();
        match woken {
            Some(Woken::Ready) if granted => Ok(()),
            None | Some(Woken::Ready) => Err(Error::Deadlock(None)),
            Some(Woken::TimedOut) => Err(Error::MetadataLockTimeout(object.name.clone())),
            Some(Woken::Interrupted) => Err(Error::Interrupted),
        }
    }

    /// Ends the cycles of waits that the wait of `owner` closes; `false` if it has to give way itself. Every waiter enters `waits`
    /// before it looks, so of the waits that make a cycle the last to be entered sees all others.
    fn resolve_cycles(&self, owner: Owner, mode: MdlMode) -> bool {
        let waits = self.waits.lock();
        loop {
            let cycle = cycle_of(&waits, owner);
            let gives_way = |of: &&Owner| waits.get(*of).is_some_and(|(_, mode)| mode.at_gate().is_some());
            match cycle.iter().find(gives_way) {
                _ if cycle.is_empty() => return true,
                _ if mode.at_gate().is_some() => return false,
                None => return false,
                Some(victim) => {
                    let (object, _) = &waits[victim];
                    object.state.lock().doomed.push(*victim);
                    object.changed.notify_all();
                }
            }
        }
    }
}

/// The others in a chain of waits that leads from `owner` back to it; empty if none does. Who is to give way makes no chain.
fn cycle_of(
    waits: &HashMap<Owner, (Arc<Object>, MdlMode), foldhash::fast::RandomState>,
    owner: Owner,
) -> Vec<Owner> {
    // Each with the place of who waits for it.
    let mut seen: Vec<(Owner, usize)> = vec![(owner, 0)];
    let mut next = 0;
    while let Some(&(waiter, _)) = seen.get(next) {
        let at = next;
        next += 1;
        let Some((object, mode)) = waits.get(&waiter) else { continue };
        let state = object.state.lock();
        if state.doomed.contains(&waiter) {
            continue;
        }
        for blocker in state.blockers(waiter, *mode) {
            if blocker == owner {
                let chain = std::iter::successors(Some(at), |&at| (at != 0).then(|| seen[at].1));
                return chain.map(|at| seen[at].0).filter(|&of| of != owner).collect();
            }
            if seen.iter().all(|(of, _)| *of != blocker) {
                seen.push((blocker, at));
            }
        }
    }
    Vec::new()
}
