//! Giving a loop to another thread while its own thread serves a connection.
//!
//! For that time the loop lies in its *berth*. Its thread takes it up again afterwards, or gives it away from there when it
//! is about to wait; and when it neither ends nor gives it away, the watch does so ([`watch`](super::watch)).

use super::core::Core;
use super::{Door, watch::Watch};
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::Arc;

/// Where a loop lies while its thread serves one of its connections.
pub(super) struct Berth<D: Door> {
    lying: Mutex<Option<Box<Core<D>>>>,
}

/// When a loop is to be given away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// In any case.
    Always,
    /// If somebody else than the connection being served may want it.
    IfOthers,
    /// If it should not wait for the page that is to be read now.
    ForPage,
}

/// A berth, of whatever door.
trait Lies: Send + Sync {
    /// Gives away the loop that lies here, if it was laid down in that run of it and is wanted.
    fn give_away(&self, run: u64, wanted: Wanted);
}

thread_local! {
    /// The berth of the loop that this thread runs or has run, and the run's number.
    static MINE: Cell<Option<(Arc<dyn Lies>, u64)>> = const { Cell::new(None) };
}

/// For as long as it lives, this thread runs a loop.
pub(super) struct Running(());

impl Running {
    pub(super) fn new<D: Door>(berth: Arc<Berth<D>>, run: u64) -> Running {
        MINE.set(Some((berth, run)));
        Running(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        MINE.set(None);
    }
}

impl<D: Door> Berth<D> {
    pub(super) fn new() -> Arc<Berth<D>> {
        Arc::new(Berth { lying: Mutex::new(None) })
    }

    /// Lays the loop down for as long as a connection is served.
    #[inline]
    pub(super) fn lay_down(&self, core: Box<Core<D>>, watch: &Watch) {
        *self.lying.lock() = Some(core);
        watch.wake();
    }

    /// Takes the loop up again, if it is still the same run of it.
    #[inline]
    pub(super) fn take_up(&self, run: u64) -> Option<Box<Core<D>>> {
        self.lying.lock().take_if(|core| core.run() == run)
    }

    /// The run and turn of the loop that lies here.
    pub(super) fn turn(&self) -> Option<(u64, u64)> {
        self.lying.lock().as_ref().map(|core| (core.run(), core.turn()))
    }

    /// Gives the loop away that lies here since that turn.
    pub(super) fn relieve(&self, turn: (u64, u64)) {
        self.give_if(|core| (core.run(), core.turn()) == turn);
    }

    fn give_if(&self, wanted: impl FnOnce(&mut Core<D>) -> bool) {
        let mut lying = self.lying.lock();
        // The lock is held until the loop has gone: whoever finds the berth empty knows that it is another thread's.
        if let Some(core) = lying.take_if(|core| wanted(core))
            && let Err(core) = core.give_away()
        {
            *lying = Some(core);
        }
    }
}

impl<D: Door> Lies for Berth<D> {
    fn give_away(&self, run: u64, wanted: Wanted) {
        self.give_if(|core| {
            core.run() == run
                && match wanted {
                    Wanted::Always => true,
                    Wanted::IfOthers => core.has_others(),
                    Wanted::ForPage => core.is_wanted(),
                }
        });
    }
}

/// Gives this thread's loop to a spare one, if it has one and there is one. To be called when the thread is about to wait.
pub fn hand_over() {
    hand_over_if(Wanted::Always);
}

/// Gives the loop away only if somebody else may have something to do: before short waits.
pub fn hand_over_if_busy() {
    hand_over_if(Wanted::IfOthers);
}

/// Gives the loop away if it has something else to do, or if the connection being served waits for pages again and again:
/// before the read of a page. May be called with pages latched.
///
/// A page takes about as long as waking another thread, so a loop with nothing else to do waits itself.
pub fn hand_over_for_page() {
    hand_over_if(Wanted::ForPage);
}

fn hand_over_if(wanted: Wanted) {
    if let Some((berth, run)) = MINE.take() {
        berth.give_away(run, wanted);
        MINE.set(Some((berth, run)));
    }
}
