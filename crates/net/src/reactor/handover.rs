//! Giving this thread's loop to another thread.

use std::any::Any;
use std::cell::Cell;

/// A loop of whatever door, as it lies in the thread-local place.
pub(super) trait Held: Any + Send {
    /// Whether somebody else than the connection being served may want the loop.
    fn has_others(&self) -> bool;

    /// Whether the loop should not wait for the page that is to be read now.
    fn is_wanted(&mut self) -> bool;

    /// Lets a spare thread run it; it comes back if there is none.
    fn give_away(self: Box<Self>) -> Result<(), Box<dyn Held>>;
}

thread_local! {
    /// The loop of this thread, while it serves one of the loop's connections.
    static HELD: Cell<Option<Box<dyn Held>>> = const { Cell::new(None) };
}

/// Lays the loop down for as long as a connection is served.
pub(super) fn lay_down(core: Box<dyn Held>) {
    HELD.set(Some(core));
}

/// Takes the loop up again, if it is still there.
pub(super) fn take_up() -> Option<Box<dyn Held>> {
    HELD.take()
}

/// Gives this thread's loop to a spare one, if it has one and there is one. To be called when the thread is about to wait.
pub fn hand_over() {
    if let Some(core) = HELD.take()
        && let Err(core) = core.give_away()
    {
        HELD.set(Some(core));
    }
}

/// Gives the loop away only if somebody else may have something to do: before short waits.
pub fn hand_over_if_busy() {
    hand_over_if(|held| held.has_others());
}

/// Gives the loop away if it has something else to do, or if the connection being served waits for pages again and again:
/// before the read of a page. May be called with pages latched.
///
/// A page takes about as long as waking another thread, so a loop with nothing else to do waits itself.
pub fn hand_over_for_page() {
    hand_over_if(|held| held.is_wanted());
}

fn hand_over_if(asked: impl FnOnce(&mut dyn Held) -> bool) {
    if let Some(mut core) = HELD.take() {
        let goes = asked(&mut *core);
        HELD.set(Some(core));
        if goes {
            hand_over();
        }
    }
}
