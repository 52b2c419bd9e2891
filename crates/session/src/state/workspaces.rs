//! What an execution of a plan leaves to the next one in the same session: cursors that are placed again, buffers.

use std::any::Any;
use std::fmt;

/// Most that are kept: an application's statements, say.
const KEPT_MAX: usize = 128;

/// Bytes that all of them may take; sessions that do nothing are many.
const BYTES_MAX: usize = 256 << 10;

/// A workspace, with the number of its plan.
struct Kept {
    plan: u64,
    bytes: usize,
    thing: Box<dyn Any + Send>,
}

/// The workspaces of a session, by the numbers of their plans; those used last stay. Nobody else sees them: sessions that run
/// one plan at a time share nothing but the plan.
#[derive(Default)]
pub struct Workspaces {
    /// The one used last is behind.
    kept: Vec<Kept>,
    bytes: usize,
}

impl fmt::Debug for Workspaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspaces").field("kept", &self.kept.len()).field("bytes", &self.bytes).finish()
    }
}

impl Workspaces {
    /// Takes that of a plan; `None`: there is none, or an execution further out has it.
    #[inline]
    pub fn take<T: Any + Send>(&mut self, plan: u64) -> Option<Box<T>> {
        let at = self.kept.iter().rposition(|kept| kept.plan == plan)?;
        let kept = self.kept.remove(at);
        self.bytes -= kept.bytes;
        kept.thing.downcast().ok()
    }

    /// Gives it back; it takes so many bytes.
    #[inline]
    pub fn give<T: Any + Send>(&mut self, plan: u64, bytes: usize, thing: Box<T>) {
        if bytes > BYTES_MAX {
            return;
        }
        while self.kept.len() >= KEPT_MAX || self.bytes + bytes > BYTES_MAX {
            self.bytes -= self.kept.remove(0).bytes;
        }
        self.bytes += bytes;
        self.kept.push(Kept { plan, bytes, thing });
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Workspaces::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_used_last_stay() {
        let mut all = Workspaces::default();
        for plan in 0..KEPT_MAX as u64 + 4 {
            all.give(plan, 8, Box::new(plan));
        }
        assert!((0..4).all(|plan| all.take::<u64>(plan).is_none()));
        assert_eq!(all.take::<u64>(4), Some(Box::new(4)));
        assert_eq!(all.take::<u64>(4), None, "it is in use");
        assert_eq!(all.kept.len(), KEPT_MAX - 1);
    }

    #[test]
    fn they_take_no_more_than_they_may() {
        let mut all = Workspaces::default();
        all.give(1, BYTES_MAX / 2, Box::new(1));
        all.give(2, BYTES_MAX / 2, Box::new(2));
        all.give(3, 1, Box::new(3));
        assert_eq!(all.take::<i32>(1), None);
        assert_eq!(all.take::<i32>(3), Some(Box::new(3)));
        all.give(4, BYTES_MAX + 1, Box::new(4));
        assert_eq!(all.take::<i32>(4), None);
        assert_eq!(all.bytes, BYTES_MAX / 2);
        all.clear();
        assert_eq!(all.bytes, 0);
    }
}
