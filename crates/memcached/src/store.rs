//! What the protocols ask of what keeps the items: the border between bytes on a wire and rows in tables.
//!
//! Text, binary and meta commands end in these few operations. A store belongs to one connection: it holds that
//! connection's mapping and transaction. Keys are as the client gave them, `@@mapping.` included; a store finds the mapping.
//!
//! What a commit left to wait for is gathered: [`Store::durability`] gives the last one, and the connection's answers are
//! held back until it is durable.

use crate::decimal::{is_white, read_number};
use std::fmt;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::{SystemTime, UNIX_EPOCH};
use vaquita_engine::Durability;

/// When an item ends: seconds since 1970, 0 for never. The protocols' relative and negative times are made absolute
/// before they come here; what has expired already is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Expiry(pub u32);

/// The machine's clock, in seconds since 1970.
pub(crate) fn now_s() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u32::try_from(d.as_secs()).unwrap_or(u32::MAX))
}

/// How an item was used before: what a store in memory knows and rows of a table do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// Whether it was fetched since it was kept.
    pub fetched: bool,
    /// Seconds since it was used last.
    pub idle: u32,
}

/// An item that was found. Its parts may lie in a latched page: whoever is shown it must not call the store.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// Its key as kept, without a mapping's name.
    pub key: &'a [u8],
    /// The client's flags; 0 where the mapping has no column for them.
    pub flags: u32,
    /// Its number, which every change changes; 0 where the mapping has no column for it.
    pub cas: u64,
    /// When it ends.
    pub expires: Expiry,
    /// How it was used before; `None` where that is not kept.
    pub access: Option<Access>,
    /// The value; several columns joined by the separator.
    pub value: &'a [u8],
}

/// What is to be kept.
#[derive(Debug, Clone, Copy)]
pub struct NewItem<'a> {
    /// The client's flags.
    pub flags: u32,
    /// When it ends.
    pub expires: Expiry,
    /// The value.
    pub value: &'a [u8],
}

/// Under which condition an item is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// In any case.
    Set,
    /// If there is none.
    Add,
    /// If there is one.
    Replace,
    /// Behind the value of one that is there, whose flags and expiry stay.
    Append,
    /// Before it.
    Prepend,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Done; the item's new number.
    Done(u64),
    /// The condition of the mode does not hold.
    NotStored,
    /// The item's number is another than the one asked for.
    Exists,
    /// There is no such item, where one is needed.
    NotFound,
}

/// Counting up or down.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    /// By how much.
    pub delta: u64,
    /// Down, not below 0; up wraps around at 64 bits.
    pub down: bool,
    /// What to make if there is no such item, and when that ends.
    pub initial: Option<(u64, Expiry)>,
    /// A new end for an item that is there.
    pub expires: Option<Expiry>,
    /// The number it must have; 0 for any.
    pub cas: u64,
}

impl Count {
    /// The count a value stands for: digits, perhaps with white space around them and a sign before. `None` if it is no
    /// number of 64 bits.
    pub fn parse(value: &[u8]) -> Option<u64> {
        read_number(value, |end| is_white(end) || end == 0)
    }

    /// The new count.
    pub fn apply(&self, count: u64) -> u64 {
        if self.down { count.saturating_sub(self.delta) } else { count.wrapping_add(self.delta) }
    }
}

/// What became of counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    /// The new count and the item's new number.
    Done(u64, u64),
    /// As for other changes.
    Not(Outcome),
    /// The value is no number.
    NotANumber,
}

/// A stretch of keys in the order of the mapping's key index.
#[derive(Debug, Clone, Copy)]
pub struct Range<'a> {
    /// First key; `None` for the smallest. A mapping's name before it counts, as everywhere.
    pub from: Option<&'a [u8]>,
    /// Whether `from` itself belongs to it.
    pub from_included: bool,
    /// Last key; `None` for the greatest.
    pub to: Option<&'a [u8]>,
    /// Whether `to` itself belongs to it.
    pub to_included: bool,
    /// Greatest first.
    pub descending: bool,
    /// At most so many.
    pub limit: usize,
}

/// Why something could not be done. The protocols make their own lines and numbers of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The client's mistake: a key that does not fit the mapping, an unknown mapping.
    Client(String),
    /// The value is longer than the columns or the limit.
    TooLarge,
    /// Another transaction holds the row (lock wait timeout, deadlock, a definition being changed); to be tried again.
    Busy(String),
    /// No memory left for it.
    NoMemory,
    /// Anything else.
    Server(String),
    /// Not with this mapping or policy.
    NotSupported(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Client(text)
            | Failure::Busy(text)
            | Failure::Server(text)
            | Failure::NotSupported(text) => f.write_str(text),
            Failure::TooLarge => f.write_str("object too large for cache"),
            Failure::NoMemory => f.write_str("out of memory storing object"),
        }
    }
}

impl std::error::Error for Failure {}

/// What the operations give.
pub type Result<T> = std::result::Result<T, Failure>;

/// What keeps the items, as one connection sees it.
pub trait Store {
    /// Shows the items of `keys` that are there, in the order of the keys, with the key's place in the list; in one visit
    /// of the engine. A mapping's name alone (`@@mapping`) makes it the connection's own, and shows the table as value. With `touch` they get a new end (and are changed for it).
    ///
    /// # Errors
    /// Those of mappings, locks, pages; what was shown before stays shown.
    fn get(
        &mut self,
        keys: &[&[u8]],
        touch: Option<Expiry>,
        found: impl FnMut(usize, &Item<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Keeps an item. `cas`: the number it must have, 0 for any.
    ///
    /// # Errors
    /// Those of mappings, locks, pages.
    fn store(&mut self, mode: Mode, key: &[u8], item: &NewItem<'_>, cas: u64) -> Result<Outcome>;

    /// Counts. The text of an item that became shorter is not padded.
    ///
    /// # Errors
    /// As [`Store::store`].
    fn count(&mut self, key: &[u8], count: &Count) -> Result<Counted>;

    /// Deletes an item. `cas`: the number it must have, 0 for any.
    ///
    /// # Errors
    /// As [`Store::store`].
    fn delete(&mut self, key: &[u8], cas: u64) -> Result<Outcome>;

    /// Gives an item a new end.
    ///
    /// # Errors
    /// As [`Store::store`].
    fn touch(&mut self, key: &[u8], expires: Expiry) -> Result<Outcome>;

    /// Shows the items of a stretch of keys, until it is told to stop.
    ///
    /// # Errors
    /// As [`Store::get`].
    fn range(&mut self, range: &Range<'_>, found: impl FnMut(&Item<'_>) -> ControlFlow<()>) -> Result<()>;

    /// Deletes all items of the connection's mapping: now (0), or those kept before a moment when it has come.
    ///
    /// # Errors
    /// As [`Store::store`].
    fn flush_all(&mut self, at: Expiry) -> Result<()>;

    /// Makes a mapping the connection's own (`bind`, `get @@mapping`); the table it stands for, `database/table`.
    ///
    /// # Errors
    /// No such mapping, it cannot be used.
    fn bind(&mut self, mapping: &[u8]) -> Result<String>;

    /// What the store itself can tell in `stats` and its sub-commands; `group` is empty for the general ones. Whether it knows
    /// the group.
    fn stats(&mut self, group: &[u8], line: &mut dyn FnMut(&str, &str)) -> bool;

    /// The commands to come have come together: none is answered before [`Store::settle`], so they may share what they do.
    fn together(&mut self) {}

    /// The commands that came together are done: what they share ends.
    ///
    /// # Errors
    /// Changes are lost, though they were answered otherwise: none of the answers since [`Store::together`] may be sent.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }

    /// What is to be waited for before the answers so far may be sent: the last commit's. `None` if nothing was committed
    /// since it was asked last.
    fn durability(&mut self) -> Option<Durability>;
}

/// Where a client comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Peer {
    /// `None`: by the Unix socket, or within the process.
    pub addr: Option<SocketAddr>,
    /// Under TLS.
    pub tls: bool,
}

/// Who may come in by SASL.
pub trait Users: Send + Sync + fmt::Debug {
    /// Whether that is the user's password, and the user may come from there.
    fn check(&self, user: &[u8], password: &[u8], peer: &Peer) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As memcached 1.6.18 takes them.
    #[test]
    fn counts_are_digits_with_white_space_around() {
        for (value, count) in [
            (&b"10"[..], Some(10)),
            (b" 10", Some(10)),
            (b"\t1", Some(1)),
            (b"10 ", Some(10)),
            (b"1 2 ", Some(1)),
            (b"1\0", Some(1)),
            (b"+1", Some(1)),
            (b"007", Some(7)),
            (b"000000000000000000000000000001", Some(1)),
            (b"18446744073709551615", Some(u64::MAX)),
            (b"18446744073709551616", None),
            (b"-0", Some(0)),
            (b"-18446744073709551615", Some(1)),
            (b"-9223372036854775809", Some(i64::MAX as u64)),
            (b"-9223372036854775808", None),
            (b"- 0", None),
            (b"+-0", None),
            (b"", None),
            (b" ", None),
            (b"-1", None),
            (b"1x2", None),
            (b"a", None),
        ] {
            assert_eq!(Count::parse(value), count, "{value:?}");
        }
    }
}
