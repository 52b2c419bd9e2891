//! What sessions take of the memory: counted by the process's allocator, bounded for each and for all of a folder together.
//!
//! An allocator that counts tells [`allocated`] and [`freed`], and each thread has a balance of both. What a *statement* takes is
//! what its thread's balance has grown by since it began. What a session *keeps* between statements (user variables, prepared
//! statements, what its door holds for it) is told by who keeps it. The sum of the two is what a session takes. A statement's part
//! is forgotten when it ends: what it leaves in caches that all share is nobody's.
//!
//! Limits end the statement that passes them, never the connection: whoever allocates much asks [`check`] first, loops over rows
//! ask it regularly. A statement may always take [`FREE`] bytes, so that there is a way out of every limit.

use crate::{SqlError, SqlResult};
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};
use std::sync::{Arc, OnceLock};

/// Bytes that a statement may take whatever the limits are.
pub const FREE: u64 = 256 << 10;

/// An account tells the total of a change of so many bytes at the latest.
const STEP_MAX: u64 = 64 << 10;

thread_local! {
    /// Bytes that this thread has allocated, less those that it has freed. Other threads free some of them: only differences
    /// mean something.
    static BALANCE: Cell<isize> = const { Cell::new(0) };
    /// Whose statement runs on this thread.
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

/// To be called by the process's allocator for every allocation of so many bytes.
#[inline]
pub fn allocated(bytes: usize) {
    BALANCE.with(|balance| balance.set(balance.get().wrapping_add_unsigned(bytes)));
}

/// To be called by the process's allocator when so many bytes are given back.
#[inline]
pub fn freed(bytes: usize) {
    BALANCE.with(|balance| balance.set(balance.get().wrapping_sub_unsigned(bytes)));
}

/// Bytes that this thread has allocated and not freed; only differences mean something.
pub fn balance() -> i64 {
    BALANCE.get() as i64
}

/// Whether the process's allocator counts. Without it nothing but what sessions keep is known.
pub fn is_counted() -> bool {
    let before = BALANCE.get();
    let block = std::hint::black_box(vec![0_u8; 64]);
    let counted = BALANCE.get() != before;
    drop(block);
    counted
}

/// What all sessions of a folder take.
#[derive(Debug)]
pub struct Total {
    limit: AtomicU64,
    bytes: AtomicI64,
    shown: AtomicI64,
}

impl Default for Total {
    fn default() -> Self {
        Total { limit: AtomicU64::new(u64::MAX), bytes: AtomicI64::new(0), shown: AtomicI64::new(0) }
    }
}

impl Total {
    /// From now on they may take so many bytes (`global_connection_memory_limit`).
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Relaxed);
    }

    /// Bytes that tracked sessions have told (`Global_connection_memory`).
    pub fn shown(&self) -> u64 {
        self.shown.load(Relaxed).max(0) as u64
    }
}

/// How a session is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Bytes that it may take (`connection_memory_limit`).
    pub limit: u64,
    /// It tells changes of so many bytes; 0: what it takes is not shown (`connection_memory_chunk_size`).
    pub chunk: u64,
    /// What it takes is shown (`global_connection_memory_tracking`).
    pub tracked: bool,
}

/// Whoever may end a session's statement.
pub trait Ending: std::fmt::Debug + Send + Sync {
    /// Whether the statement is to end.
    fn is_wanted(&self) -> bool;
}

/// What a session takes. Only the thread that has the session writes.
#[derive(Debug)]
pub struct Account {
    total: Arc<Total>,
    limit: AtomicU64,
    chunk: AtomicU64,
    tracked: AtomicBool,
    kept: AtomicI64,
    told: AtomicI64,
    told_shown: AtomicI64,
    ending: OnceLock<Arc<dyn Ending>>,
}

impl Default for Account {
    fn default() -> Self {
        Account::new(Arc::default())
    }
}

impl Account {
    /// One that has taken nothing, without a limit.
    pub fn new(total: Arc<Total>) -> Account {
        Account {
            total,
            limit: AtomicU64::new(u64::MAX),
            chunk: AtomicU64::new(STEP_MAX),
            tracked: AtomicBool::new(true),
            kept: AtomicI64::new(0),
            told: AtomicI64::new(0),
            told_shown: AtomicI64::new(0),
            ending: OnceLock::new(),
        }
    }

    /// Who ends its statements, for work that knows of no session; the first one stays.
    pub fn ends_by(&self, ending: Arc<dyn Ending>) {
        let _ = self.ending.set(ending);
    }

    /// From now on it is counted like this.
    pub fn set_rules(&self, rules: Rules) {
        self.limit.store(rules.limit, Relaxed);
        self.chunk.store(rules.chunk, Relaxed);
        self.tracked.store(rules.tracked, Relaxed);
    }

    /// What this thread allocates until the guard is dropped is this session's.
    pub fn enter(self: &Arc<Self>) -> Entered {
        RUNNING.with_borrow_mut(|running| {
            if running.as_ref().is_some_and(|running| Arc::ptr_eq(&running.account, self)) {
                return Entered { outer: None, was_in: true };
            }
            let inner = Running { account: self.clone(), base: balance(), owed: None };
            Entered { outer: running.replace(inner), was_in: false }
        })
    }

    /// The session keeps so many bytes more, or less, when its statement is over.
    pub fn keep(&self, bytes: i64) {
        self.kept.store(self.kept.load(Relaxed) + bytes, Relaxed);
        let is_running = RUNNING.with_borrow_mut(|running| match running {
            Some(running) if std::ptr::eq(&*running.account, self) => {
                // The statement has them no more.
                running.base += bytes;
                true
            }
            _ => false,
        });
        if !is_running {
            self.tell(self.kept.load(Relaxed));
        }
    }

    /// Whether the session may keep so many bytes more.
    ///
    /// # Errors
    /// 4082 over the session's limit, 4081 over that of all.
    pub fn may_keep(&self, bytes: usize) -> SqlResult<()> {
        let bytes = bytes as u64;
        if bytes == 0 {
            return Ok(());
        }
        self.refuse_beyond(self.kept.load(Relaxed).max(0) as u64, bytes)
    }

    /// Bytes that a statement may take that begins now.
    pub fn room(&self) -> u64 {
        let kept = self.kept.load(Relaxed);
        let others = self.total.bytes.load(Relaxed) - self.told.load(Relaxed);
        let own = self.limit.load(Relaxed).saturating_sub(kept.max(0) as u64);
        let of_all = self.total.limit.load(Relaxed).saturating_sub((others + kept).max(0) as u64);
        own.min(of_all).max(FREE)
    }

    fn refuse_beyond(&self, taken: u64, more: u64) -> SqlResult<()> {
        let (limit, wanted) = (self.limit.load(Relaxed), taken.saturating_add(more));
        if wanted > limit {
            return Err(SqlError::new(
                4082,
                format!("Connection memory limit {limit} bytes exceeded. Consumed {wanted} bytes."),
            ));
        }
        let limit = self.total.limit.load(Relaxed);
        let others = self.total.bytes.load(Relaxed) - self.told.load(Relaxed);
        let wanted = wanted.saturating_add(others.max(0) as u64);
        if wanted > limit {
            return Err(SqlError::new(
                4081,
                format!("Global connection memory limit {limit} bytes exceeded. Consumed {wanted} bytes."),
            ));
        }
        Ok(())
    }

    /// Tells the total what the session takes, if that has changed by enough.
    fn tell(&self, taken: i64) {
        let chunk = self.chunk.load(Relaxed);
        let told = self.told.load(Relaxed);
        if taken.abs_diff(told) > chunk.min(STEP_MAX) {
            self.total.bytes.fetch_add(taken - told, Relaxed);
            self.told.store(taken, Relaxed);
        }
        let shown = if self.tracked.load(Relaxed) { taken } else { 0 };
        let told = self.told_shown.load(Relaxed);
        if chunk != 0 && shown.abs_diff(told) > chunk {
            self.total.shown.fetch_add(shown - told, Relaxed);
            self.told_shown.store(shown, Relaxed);
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.total.bytes.fetch_sub(*self.told.get_mut(), Relaxed);
        self.total.shown.fetch_sub(*self.told_shown.get_mut(), Relaxed);
    }
}

/// A session's statement on a thread.
#[derive(Debug)]
struct Running {
    account: Arc<Account>,
    /// The thread's balance when it began, and what the session has kept of it since.
    base: i64,
    /// What code that cannot fail was refused.
    owed: Option<SqlError>,
}

impl Running {
    /// Bytes that the statement has taken.
    fn grown(&self) -> u64 {
        (balance() - self.base).max(0) as u64
    }

    fn check(&self, more: usize) -> SqlResult<()> {
        let grown = self.grown();
        let taken = self.account.kept.load(Relaxed) + grown as i64;
        self.account.tell(taken);
        if grown.saturating_add(more as u64) <= FREE {
            return Ok(());
        }
        self.account.refuse_beyond(taken.max(0) as u64, more as u64)
    }
}

/// While it lives, the thread works for a session; [`Account::enter`].
#[derive(Debug)]
#[must_use = "the thread works for the session until it is dropped"]
pub struct Entered {
    /// Whose statement this one is part of.
    outer: Option<Running>,
    /// The thread worked for the session already.
    was_in: bool,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.was_in {
            return;
        }
        let outer = self.outer.take();
        let ended = RUNNING.with_borrow_mut(|running| std::mem::replace(running, outer));
        if let Some(ended) = ended {
            ended.account.tell(ended.account.kept.load(Relaxed));
        }
    }
}

/// Code that cannot fail was refused memory, and gave something else: the statement ends with this error, at the next [`check`] or
/// before its changes stay.
#[cold]
pub fn owe(refused: SqlError) {
    RUNNING.with_borrow_mut(|running| {
        if let Some(running) = running {
            running.owed.get_or_insert(refused);
        }
    });
}

/// To be called where a statement has done its work.
///
/// # Errors
/// What [`owe`] was told.
pub fn pay() -> SqlResult<()> {
    let owed = RUNNING.with_borrow_mut(|running| running.as_mut().and_then(|running| running.owed.take()));
    owed.map_or(Ok(()), Err)
}

/// Whether the statement that runs on this thread may take so many bytes more; always if none does.
///
/// # Errors
/// 4082 over the session's limit, 4081 over that of all; what [`owe`] was told.
pub fn check(more: usize) -> SqlResult<()> {
    pay()?;
    RUNNING.with_borrow(|running| running.as_ref().map_or(Ok(()), |running| running.check(more)))
}

/// Whether the statement that runs on this thread may go on.
///
/// # Errors
/// 1317 interrupted.
pub fn interrupted() -> SqlResult<()> {
    let ended = RUNNING.with_borrow(|running| {
        let ending = running.as_ref().and_then(|running| running.account.ending.get());
        ending.is_some_and(|ending| ending.is_wanted())
    });
    if ended { Err(SqlError::new(1317, "Query execution was interrupted")) } else { Ok(()) }
}

/// Bytes that the statement on this thread has taken so far.
pub fn grown() -> u64 {
    RUNNING.with_borrow(|running| running.as_ref().map_or(0, Running::grown))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(total: &Arc<Total>, limit: u64) -> Arc<Account> {
        let account = Account::new(total.clone());
        account.set_rules(Rules { limit, chunk: 1, tracked: true });
        Arc::new(account)
    }

    #[test]
    fn a_statement_is_what_its_thread_has_grown_by() {
        let total = Arc::new(Total::default());
        let one = account(&total, 2 << 20);
        allocated(10 << 20);
        assert_eq!(check(usize::MAX).map_err(|e| e.code), Ok(()), "nobody's");
        {
            let _in = one.enter();
            assert_eq!(grown(), 0);
            allocated(1 << 20);
            assert_eq!(check(1 << 20), Ok(()));
            assert_eq!(total.shown(), 1 << 20);
            let refused = check((1 << 20) + 1).unwrap_err();
            assert_eq!(refused.code, 4082);
            assert_eq!(
                refused.message,
                "Connection memory limit 2097152 bytes exceeded. Consumed 2097153 bytes."
            );
            // What another thread has allocated is freed here.
            freed(5 << 20);
            assert_eq!(grown(), 0);
            allocated(4 << 20);
        }
        assert_eq!(total.shown(), 0);
        freed(10 << 20);
    }

    #[derive(Debug, Default)]
    struct Button(AtomicBool);

    impl Ending for Button {
        fn is_wanted(&self) -> bool {
            self.0.load(Relaxed)
        }
    }

    #[test]
    fn many_short_allocations_hear_who_ends_the_statement() {
        let one = account(&Arc::default(), u64::MAX);
        let button = Arc::new(Button::default());
        one.ends_by(button.clone());
        let _in = one.enter();
        let much = || (0..10_000).try_for_each(|_| crate::memory::short(100));
        assert_eq!(much(), Ok(()));
        button.0.store(true, Relaxed);
        assert_eq!(much().unwrap_err().code, 1317);
    }

    #[test]
    fn what_cannot_fail_is_paid_for_at_the_next_check() {
        let one = account(&Arc::default(), u64::MAX);
        let refused = || crate::memory::no_memory(7);
        {
            let _in = one.enter();
            assert_eq!(pay(), Ok(()));
            owe(refused());
            assert_eq!(check(0).unwrap_err(), refused());
            assert_eq!(check(0), Ok(()), "once");
            owe(refused());
        }
        let _in = one.enter();
        assert_eq!(pay(), Ok(()), "another statement's");
    }

    #[test]
    fn what_is_kept_outlives_the_statement() {
        let total = Arc::new(Total::default());
        let one = account(&total, 2 << 20);
        {
            let _in = one.enter();
            allocated(1 << 20);
            one.keep(1 << 20);
            assert_eq!(grown(), 0, "counted once");
            assert_eq!(check(1 << 20), Ok(()));
        }
        assert_eq!(total.shown(), 1 << 20);
        assert_eq!(one.may_keep(1 << 20), Ok(()));
        assert_eq!(one.room(), 1 << 20);
        assert_eq!(one.may_keep((1 << 20) + 1).unwrap_err().code, 4082);
        one.keep(1 << 20);
        {
            let _in = one.enter();
            // Full, and a way out.
            assert_eq!(check(FREE as usize), Ok(()));
            assert_eq!(check(FREE as usize + 1).unwrap_err().code, 4082);
        }
        one.keep(-(2 << 20));
        assert_eq!(total.shown(), 0);
    }

    #[test]
    fn all_together_have_a_limit() {
        let total = Arc::new(Total::default());
        total.set_limit(16 << 20);
        let (one, two) = (account(&total, u64::MAX), account(&total, u64::MAX));
        one.keep(12 << 20);
        let _in = two.enter();
        assert_eq!(check(4 << 20), Ok(()));
        let refused = check((4 << 20) + 1).unwrap_err();
        assert_eq!(refused.code, 4081);
        assert_eq!(
            refused.message,
            "Global connection memory limit 16777216 bytes exceeded. Consumed 16777217 bytes."
        );
        assert_eq!(two.may_keep((4 << 20) + 1).unwrap_err().code, 4081);
        drop(one);
        assert_eq!(check(16 << 20), Ok(()), "the other session is gone");
    }

    #[test]
    fn a_statement_within_a_statement_has_its_own_account() {
        let total = Arc::new(Total::default());
        let (one, two) = (account(&total, u64::MAX), account(&total, u64::MAX));
        let _outer = one.enter();
        allocated(1000);
        {
            let _inner = two.enter();
            assert_eq!(grown(), 0);
            let _again = two.enter();
            allocated(10);
            drop(_again);
            assert_eq!(grown(), 10);
        }
        assert_eq!(grown(), 1010);
        freed(1010);
    }

    #[test]
    fn what_is_not_tracked_is_not_shown() {
        let total = Arc::new(Total::default());
        let one = account(&total, u64::MAX);
        one.keep(1 << 20);
        assert_eq!(total.shown(), 1 << 20);
        one.set_rules(Rules { limit: u64::MAX, chunk: 8192, tracked: false });
        one.keep(1);
        assert_eq!(total.shown(), 0);
        one.set_rules(Rules { limit: u64::MAX, chunk: 0, tracked: true });
        one.keep(1 << 20);
        assert_eq!(total.shown(), 0, "a chunk of nothing: no more news");
        one.set_rules(Rules { limit: u64::MAX, chunk: 4 << 20, tracked: true });
        one.keep(1 << 20);
        assert_eq!(total.shown(), 0, "less than a chunk");
        one.keep(2 << 20);
        assert!(total.shown() > 4 << 20);
    }
}
