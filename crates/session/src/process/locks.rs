//! Named locks: GET_LOCK, RELEASE_LOCK, IS_FREE_LOCK, IS_USED_LOCK, RELEASE_ALL_LOCKS. As in MySQL 5.7 a session can hold
//! several, and one several times.

use crate::state::Interrupt;
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use vaquita_engine::{WaitFor, WaitHook};
use vaquita_types::{SqlError, SqlResult};

#[derive(Debug, Default)]
struct State {
    /// Holder and how many times.
    held: HashMap<String, (u32, u32), foldhash::fast::RandomState>,
    /// What a session waits for.
    waits: HashMap<u32, String, foldhash::fast::RandomState>,
}

/// The named locks of a folder. Names have no ASCII case.
#[derive(Debug, Default)]
pub struct NamedLocks {
    state: Mutex<State>,
    changed: Condvar,
}

/// Characters of a name.
const NAME_MAX: usize = 64;

fn key(name: &str) -> SqlResult<String> {
    if name.is_empty() || name.chars().count() > NAME_MAX {
        return Err(SqlError::new(3057, format!("Incorrect user-level lock name '{name}'.")));
    }
    Ok(name.to_lowercase())
}

impl State {
    /// Whether a chain of waits leads from the holder of `name` back to `session`.
    fn closes_cycle(&self, session: u32, name: &str) -> bool {
        let mut name = name;
        for _ in 0..=self.waits.len() {
            let Some((holder, _)) = self.held.get(name) else { return false };
            if *holder == session {
                return true;
            }
            match self.waits.get(holder) {
                Some(next) => name = next,
                None => return false,
            }
        }
        false
    }
}

impl NamedLocks {
    /// GET_LOCK: whether the lock was had in time; `None` of time: it waits for ever. `hook` is told of the wait.
    ///
    /// # Errors
    /// 3057 the name, 3058 a deadlock, 1317 interrupted.
    pub fn get(
        &self,
        session: u32,
        name: &str,
        timeout: Option<Duration>,
        interrupt: &Interrupt,
        hook: &dyn WaitHook,
    ) -> SqlResult<bool> {
        let key = key(name)?;
        let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
        let mut state = self.state.lock();
        let mut told = false;
        let got = loop {
            match state.held.get_mut(&key) {
                None => {
                    state.held.insert(key.clone(), (session, 1));
                    break Ok(true);
                }
                Some((holder, times)) if *holder == session => {
                    *times += 1;
                    break Ok(true);
                }
                Some(_) => {}
            }
            if state.closes_cycle(session, &key) {
                break Err(SqlError::new(
                    3058,
                    "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks \
                     and restarting lock acquisition.",
                ));
            }
            if interrupt.is_set() {
                break Err(SqlError::new(1317, "Query execution was interrupted"));
            }
            if !std::mem::replace(&mut told, true) {
                // Whoever is told may do anything: not under the mutex.
                drop(state);
                hook.before(WaitFor::Lock);
                state = self.state.lock();
                continue;
            }
            state.waits.insert(session, key.clone());
            let timed_out = match deadline {
                Some(deadline) => self.changed.wait_until(&mut state, deadline).timed_out(),
                None => {
                    self.changed.wait(&mut state);
                    false
                }
            };
            state.waits.remove(&session);
            if timed_out && state.held.contains_key(&key) {
                break Ok(false);
            }
        };
        drop(state);
        if told {
            hook.after(WaitFor::Lock);
        }
        got
    }

    /// RELEASE_LOCK: whether it was this session's; `None`: nobody's.
    ///
    /// # Errors
    /// 3057.
    pub fn release(&self, session: u32, name: &str) -> SqlResult<Option<bool>> {
        let key = key(name)?;
        let mut state = self.state.lock();
        let Some((holder, times)) = state.held.get_mut(&key) else { return Ok(None) };
        if *holder != session {
            return Ok(Some(false));
        }
        *times -= 1;
        if *times == 0 {
            state.held.remove(&key);
            self.changed.notify_all();
        }
        Ok(Some(true))
    }

    /// RELEASE_ALL_LOCKS: how many there were.
    pub fn release_all(&self, session: u32) -> u64 {
        let mut state = self.state.lock();
        if state.held.is_empty() {
            return 0;
        }
        let mut released = 0;
        state.held.retain(|_, (holder, times)| {
            let own = *holder == session;
            released += if own { u64::from(*times) } else { 0 };
            !own
        });
        if released > 0 {
            self.changed.notify_all();
        }
        released
    }

    /// IS_USED_LOCK: who holds it.
    ///
    /// # Errors
    /// 3057.
    pub fn holder(&self, name: &str) -> SqlResult<Option<u32>> {
        let key = key(name)?;
        Ok(self.state.lock().held.get(&key).map(|(holder, _)| *holder))
    }

    /// Lets those who wait look whether they were killed.
    pub fn wake(&self) {
        // The mutex, so that nobody is between its look and its wait.
        drop(self.state.lock());
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct NoHook;

    impl WaitHook for NoHook {
        fn before(&self, _: WaitFor) {}
        fn after(&self, _: WaitFor) {}
    }

    #[test]
    fn locks_are_held_by_session_and_counted() {
        let (locks, calm) = (NamedLocks::default(), Interrupt::default());
        let now = Some(Duration::ZERO);
        assert!(locks.get(1, "Job", now, &calm, &NoHook).unwrap());
        assert!(locks.get(1, "job", now, &calm, &NoHook).unwrap());
        assert!(!locks.get(2, "JOB", now, &calm, &NoHook).unwrap());
        assert_eq!(locks.release(2, "job").unwrap(), Some(false));
        assert_eq!(locks.release(1, "job").unwrap(), Some(true));
        assert_eq!(locks.holder("job").unwrap(), Some(1));
        assert_eq!(locks.release(1, "job").unwrap(), Some(true));
        assert_eq!(locks.release(1, "job").unwrap(), None);
        assert_eq!(locks.get(1, "", now, &calm, &NoHook).unwrap_err().code, 3057);
        assert!(locks.get(2, "job", now, &calm, &NoHook).unwrap());
        assert_eq!(locks.release_all(2), 1);
    }

    #[test]
    fn a_cycle_of_waits_is_refused_and_a_kill_ends_a_wait() {
        let (locks, calm, killed) = (NamedLocks::default(), Interrupt::default(), Interrupt::default());
        let now = Some(Duration::ZERO);
        locks.get(1, "a", now, &calm, &NoHook).unwrap();
        locks.get(2, "b", now, &calm, &NoHook).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| locks.get(1, "b", None, &killed, &NoHook));
            while locks.state.lock().waits.is_empty() {
                std::thread::yield_now();
            }
            assert_eq!(locks.get(2, "a", None, &calm, &NoHook).unwrap_err().code, 3058);
            killed.set(false);
            locks.wake();
            assert_eq!(waiter.join().unwrap().unwrap_err().code, 1317);
        });
    }
}
