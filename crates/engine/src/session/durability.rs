//! What a commit gives: its changes are visible; when they are durable is for this token to tell.

use crate::error::Result;
use parking_lot::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use vaquita_base::Lsn;
use vaquita_storage::Storage;
use vaquita_storage::buf::assert_no_page_latched;
use vaquita_storage::log::{CommitPolicy, LogError};
use vaquita_txn::wait::{WaitFor, WaitHook, tell_around};

/// Of one commit. Can be waited for on a thread, or awaited; both do what `flush_log_at_trx_commit` asks for. Without
/// either the changes become durable within about a second.
#[must_use = "the commit is visible but perhaps not durable yet"]
#[derive(Debug, Default)]
pub struct Durability {
    /// `None`: nothing was changed.
    commit: Option<Commit>,
    awaited: Option<Arc<Mutex<Awaited>>>,
}

/// A commit in the log.
#[derive(Debug)]
struct Commit {
    storage: Arc<Storage>,
    hook: Arc<dyn WaitHook>,
    lsn: Lsn,
    policy: CommitPolicy,
}

impl Commit {
    fn is_durable(&self) -> bool {
        self.storage.log().flushed_lsn() >= self.lsn
    }

    fn is_to_be_waited_for(&self) -> bool {
        match self.policy {
            CommitPolicy::Lazy => false,
            CommitPolicy::Write => self.storage.log().written_lsn() < self.lsn,
            CommitPolicy::Flush => !self.is_durable(),
        }
    }
}

/// A sync that takes no longer than this is waited for by whoever wants it: another thread for it would have to be woken, and
/// would have to wake in turn.
const SHORT_SYNC_US: u64 = 1_000;

#[derive(Debug, Default)]
struct Awaited {
    done: Option<std::result::Result<(), LogError>>,
    waker: Option<Waker>,
}

impl Durability {
    pub(crate) fn new(
        storage: Arc<Storage>,
        hook: Arc<dyn WaitHook>,
        lsn: Lsn,
        policy: CommitPolicy,
    ) -> Self {
        Self { commit: Some(Commit { storage, hook, lsn, policy }), awaited: None }
    }

    /// End of the commit in the log; `None` if nothing was changed.
    pub fn lsn(&self) -> Option<Lsn> {
        self.commit.as_ref().map(|commit| commit.lsn)
    }

    /// Whether the commit would survive a power cut by now.
    pub fn is_durable(&self) -> bool {
        self.commit.as_ref().is_none_or(Commit::is_durable)
    }

    /// Whether what `flush_log_at_trx_commit` asks for is still to come.
    pub fn is_to_be_waited_for(&self) -> bool {
        self.commit.as_ref().is_some_and(Commit::is_to_be_waited_for)
    }

    /// Whether waiting takes no longer than having another thread woken for it: a write always, a sync on a fast disk.
    pub fn waits_shortly(&self) -> bool {
        self.commit.as_ref().is_none_or(|commit| {
            commit.policy != CommitPolicy::Flush || commit.storage.log().sync_time_us() <= SHORT_SYNC_US
        })
    }

    /// Waits on this thread; threads that wait at the same time share one sync.
    ///
    /// # Errors
    /// The log could not be written or synced. Whether the commit is durable is unknown; nothing more is accepted until
    /// the folder is opened again.
    pub fn wait(self) -> Result<()> {
        let Some(commit) = self.commit.filter(Commit::is_to_be_waited_for) else { return Ok(()) };
        assert_no_page_latched("a commit waits for the log");
        let wait = || commit.storage.log().commit_wait(commit.lsn, commit.policy);
        let done = tell_around(&*commit.hook, WaitFor::Log, wait);
        done.map_err(|e| vaquita_storage::Error::from(e).into())
    }

    /// Asks after a commit for which an answer is held back: ready when that may go, with what became of the commit if there
    /// was one.
    pub fn poll_held(held: &mut Option<Durability>, waker: &Waker) -> Poll<Option<Result<()>>> {
        let Some(durability) = held else { return Poll::Ready(None) };
        let polled = Pin::new(durability).poll(&mut Context::from_waker(waker));
        if polled.is_ready() {
            *held = None;
        }
        polled.map(Some)
    }

    /// Waits for a commit for which an answer is held back: what became of it, if there is one.
    pub fn wait_held(held: &mut Option<Durability>) -> Option<Result<()>> {
        held.take().map(Durability::wait)
    }

    /// Waits until the commit is durable, whatever `flush_log_at_trx_commit` says.
    ///
    /// # Errors
    /// As [`Durability::wait`].
    pub fn wait_durable(mut self) -> Result<()> {
        if let Some(commit) = &mut self.commit {
            commit.policy = CommitPolicy::Flush;
        }
        self.wait()
    }
}

impl Future for Durability {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let Durability { commit, awaited } = self.get_mut();
        let Some(commit) = commit.as_ref().filter(|commit| commit.is_to_be_waited_for()) else {
            return Poll::Ready(Ok(()));
        };
        if commit.policy == CommitPolicy::Write {
            let done = commit.storage.log().write_up_to(commit.lsn);
            return Poll::Ready(done.map_err(|e| vaquita_storage::Error::from(e).into()));
        }
        let awaited = match awaited {
            Some(awaited) => awaited,
            None => {
                let told: &Arc<Mutex<Awaited>> = awaited.insert(Arc::default());
                let told = told.clone();
                // The callback may run right here: no mutex is held.
                commit.storage.log().on_durable(
                    commit.lsn,
                    Box::new(move |done| {
                        let mut told = told.lock();
                        told.done = Some(done);
                        let waker = told.waker.take();
                        drop(told);
                        if let Some(waker) = waker {
                            waker.wake();
                        }
                    }),
                );
                awaited.get_or_insert_default()
            }
        };
        let mut awaited = awaited.lock();
        match awaited.done.take() {
            Some(done) => Poll::Ready(done.map_err(|e| vaquita_storage::Error::from(e).into())),
            None => {
                awaited.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
