//! JSON as MySQL 5.7 has it.

/// The literal `null`, in binary form.
pub const NULL: &[u8] = &[4, 0];
