//! Who is connected, what they do; KILL, named locks.

/// The connected sessions of a folder.
#[derive(Debug, Default)]
pub struct Processes {}

impl Processes {
    /// A number for a connection to come, never given twice.
    pub fn reserve_id(&self) -> u32 {
        unimplemented!()
    }

    /// KILL: ends a connection, or (`query_only`) its present statement. Whether there is such a connection.
    pub fn kill(&self, _id: u32, _query_only: bool) -> bool {
        unimplemented!()
    }
}
