//! The connections of a loop, by token.

use super::core::Member;

/// Tokens of this number and above are no connections.
const INDEX_BITS: u32 = 32;

/// A place for a connection.
pub(super) struct Slot<C> {
    /// Counts the connections that were here: an event for one that is gone finds no slot.
    generation: u32,
    taken: bool,
    /// `None` while its statement runs, here or on another thread.
    pub(super) connection: Option<Box<Member<C>>>,
    /// The connection's number, for KILL when it is away.
    pub(super) id: u32,
    /// It became readable or writable while it was away.
    pub(super) ready: bool,
    /// It shall end as soon as it is back.
    pub(super) doomed: bool,
    /// Watched for writing, too.
    pub(super) watches_write: bool,
    /// It waits for the log.
    pub(super) parked: bool,
    /// What it waited for has happened, and it has not been served since.
    pub(super) answers: bool,
    /// When its patience ends, in seconds of the loop's clock.
    pub(super) deadline_s: u64,
}

/// Slots that are used again.
pub(super) struct Slots<C> {
    slots: Vec<Slot<C>>,
    free: Vec<u32>,
    used: usize,
}

impl<C> Slot<C> {
    fn new(generation: u32) -> Self {
        Slot {
            generation,
            taken: true,
            connection: None,
            id: 0,
            ready: false,
            doomed: false,
            watches_write: false,
            parked: false,
            answers: false,
            deadline_s: 0,
        }
    }
}

impl<C> Default for Slots<C> {
    fn default() -> Self {
        Slots { slots: Vec::new(), free: Vec::new(), used: 0 }
    }
}

impl<C> Slots<C> {
    /// A new slot's token.
    pub(super) fn open(&mut self) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::new(0));
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        *slot = Slot::new(slot.generation.wrapping_add(1));
        self.used += 1;
        u64::from(slot.generation) << INDEX_BITS | u64::from(index)
    }

    pub(super) fn get(&mut self, token: u64) -> Option<&mut Slot<C>> {
        let slot = self.slots.get_mut(token as u32 as usize)?;
        (slot.taken && u64::from(slot.generation) == token >> INDEX_BITS).then_some(slot)
    }

    pub(super) fn close(&mut self, token: u64) {
        if let Some(slot) = self.get(token) {
            slot.taken = false;
            slot.connection = None;
            self.free.push(token as u32);
            self.used -= 1;
        }
    }

    /// Connections, those that are away included.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// Tokens of all slots in use for which `want` holds.
    pub(super) fn tokens(&self, want: impl Fn(&Slot<C>) -> bool) -> Vec<u64> {
        let used = self.slots.iter().enumerate().filter(|(_, slot)| slot.taken && want(slot));
        used.map(|(index, slot)| u64::from(slot.generation) << INDEX_BITS | index as u64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_one_connection() {
        let mut slots = Slots::<()>::default();
        let first = slots.open();
        let second = slots.open();
        assert!(slots.get(first).is_some() && slots.get(second).is_some());
        slots.close(first);
        assert!(slots.get(first).is_none());
        let third = slots.open();
        assert_eq!(first as u32, third as u32, "the place is used again");
        assert!(slots.get(first).is_none() && slots.get(third).is_some());
        assert_eq!(slots.len(), 2);
        slots.close(first);
        assert_eq!(slots.len(), 2);
        assert_eq!(slots.tokens(|_| true).len(), 2);
    }
}
