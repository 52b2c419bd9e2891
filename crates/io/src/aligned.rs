//! Buffers aligned for direct I/O.

/// Alignment of buffers, offsets and lengths of direct I/O.
pub const ALIGN: usize = 4096;

/// Placeholder of the aligned buffer type.
#[derive(Debug)]
pub struct AlignedBuf;
