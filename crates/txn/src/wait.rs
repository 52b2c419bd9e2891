//! The hook around waits.
//!
//! A thread that executes for a session may wait for a lock, or for the log being flushed. Whoever schedules sessions on
//! few threads wants to know before it happens, to hand its loop to another thread. (Of waits for pages the buffer pool
//! tells, which knows no sessions.)

/// What is about to be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    /// A lock of a row or table.
    Lock,
    /// The log up to a commit.
    Log,
    /// Nothing: much work begins that is not interrupted, as the rollback of many changes.
    Work,
}

/// Told around every wait of a session's thread, and around much work. No latch is held.
pub trait WaitHook: Send + Sync + std::fmt::Debug {
    /// A wait begins.
    fn before(&self, what: WaitFor);
    /// It is over.
    fn after(&self, what: WaitFor);
}

/// Waits, and tells the hook around it.
pub fn tell_around<R>(hook: &dyn WaitHook, what: WaitFor, wait: impl FnOnce() -> R) -> R {
    hook.before(what);
    let done = wait();
    hook.after(what);
    done
}

/// Waits plainly.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainWait;

impl WaitHook for PlainWait {
    fn before(&self, _: WaitFor) {}
    fn after(&self, _: WaitFor) {}
}

/// Calls a function before each kind of wait, and nothing after.
#[derive(Debug, Clone, Copy)]
pub struct BeforeWait {
    /// Before a wait for a lock, which may be long.
    pub lock: fn(),
    /// Before a wait for the log, which is short, and before much work.
    pub log: fn(),
}

impl WaitHook for BeforeWait {
    fn before(&self, what: WaitFor) {
        match what {
            WaitFor::Lock => (self.lock)(),
            WaitFor::Log | WaitFor::Work => (self.log)(),
        }
    }

    fn after(&self, _: WaitFor) {}
}
