//! What a commit gives: its changes are visible; when they are durable is for this token to tell.

use crate::error::Result;
use parking_lot::Mutex;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use vaquita_base::Lsn;
use vaquita_storage::Storage;
use vaquita_storage::log::{CommitPolicy, LogError};
use vaquita_txn::wait::{WaitFor, WaitHook};

/// Of one commit. Can be waited for on a thread, or awaited; both do what `flush_log_at_trx_commit` asks for. Without
/// either the changes become durable within about a second.
#[must_use = "the commit is visible but perhaps not durable yet"]
#[derive(Debug)]
pub struct Durability {
    storage: Arc<Storage>,
    hook: Arc<dyn WaitHook>,
    /// `None`: nothing was changed.
    lsn: Option<Lsn>,
    policy: CommitPolicy,
    awaited: Option<Arc<Mutex<Awaited>>>,
}

#[derive(Debug, Default)]
struct Awaited {
    done: Option<std::result::Result<(), LogError>>,
    waker: Option<Waker>,
}

impl Durability {
    pub(super) fn new(
        storage: Arc<Storage>,
        hook: Arc<dyn WaitHook>,
        lsn: Option<Lsn>,
        policy: CommitPolicy,
    ) -> Self {
        Self { storage, hook, lsn, policy, awaited: None }
    }

    /// End of the commit in the log; `None` if nothing was changed.
    pub fn lsn(&self) -> Option<Lsn> {
        self.lsn
    }

    /// Whether the commit would survive a power cut by now.
    pub fn is_durable(&self) -> bool {
        self.lsn.is_none_or(|lsn| self.storage.log().flushed_lsn() >= lsn)
    }

    /// Waits on this thread; threads that wait at the same time share one sync.
    ///
    /// # Errors
    /// The log could not be written or synced. Whether the commit is durable is unknown; nothing more is accepted until
    /// the folder is opened again.
    pub fn wait(self) -> Result<()> {
        let Some(lsn) = self.lsn else { return Ok(()) };
        if self.policy == CommitPolicy::Lazy || self.is_durable() {
            return Ok(());
        }
        self.hook.before(WaitFor::Log);
        let done = self.storage.log().commit_wait(lsn, self.policy);
        self.hook.after(WaitFor::Log);
        done.map_err(|e| vaquita_storage::Error::from(e).into())
    }

    /// Waits until the commit is durable, whatever `flush_log_at_trx_commit` says.
    ///
    /// # Errors
    /// As [`Durability::wait`].
    pub fn wait_durable(mut self) -> Result<()> {
        self.policy = CommitPolicy::Flush;
        self.wait()
    }
}

impl Future for Durability {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(lsn) = self.lsn else { return Poll::Ready(Ok(())) };
        if self.policy == CommitPolicy::Lazy || self.is_durable() {
            return Poll::Ready(Ok(()));
        }
        let awaited = match &self.awaited {
            Some(awaited) => awaited.clone(),
            None => {
                let awaited: Arc<Mutex<Awaited>> = Arc::default();
                self.awaited = Some(awaited.clone());
                let told = awaited.clone();
                // The callback may run right here: no mutex is held.
                self.storage.log().on_durable(
                    lsn,
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
                awaited
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
