//! Which anomalies InnoDB's levels forbid.
//!
//! Writes take X locks to the end at every level, work on the newest version and see their own effects. From this follow
//! the first rules; each level adds its own:
//!
//! | level | reads | forbidden besides those of the level before |
//! |---|---|---|
//! | READ UNCOMMITTED | the newest version, committed or not | `Internal`, `LostUpdate`, `G0`, `StaleRead` |
//! | READ COMMITTED | a read view for each statement | `Disorder`, `G1a`, `G1b`, `G1c`, `StatementSkew` |
//! | REPEATABLE READ | a read view for the transaction | `NonRepeatable`, `ReadSkew` |
//! | SERIALIZABLE | shared next-key locks to the end | `GSingle`, `G2Item` |
//!
//! REPEATABLE READ allows P4 (what is called lost update in the literature: a plain read, then a write that overwrites
//! what somebody committed in between) and every other `GSingle` that returns through a write or a locking read, and it
//! allows write skew. `LostUpdate` as understood here is stronger and never allowed: the write itself, under its lock,
//! did not build on the newest version.

use super::Kind;
use crate::Level;

/// The weakest level that forbids it.
pub fn forbidden_from(kind: Kind) -> Level {
    match kind {
        Kind::Internal | Kind::LostUpdate | Kind::G0 | Kind::StaleRead => Level::ReadUncommitted,
        Kind::Disorder | Kind::G1a | Kind::G1b | Kind::G1c | Kind::StatementSkew => Level::ReadCommitted,
        Kind::NonRepeatable | Kind::ReadSkew => Level::RepeatableRead,
        Kind::GSingle | Kind::G2Item => Level::Serializable,
    }
}

/// Whether the level forbids it.
pub fn forbids(level: Level, kind: Kind) -> bool {
    level >= forbidden_from(kind)
}
