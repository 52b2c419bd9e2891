//! Metadata locks: definitions of tables stay while a transaction uses them; DDL waits for it.

/// The metadata locks of an engine.
#[derive(Debug, Default)]
pub struct MdlSys {}
