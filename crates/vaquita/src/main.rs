//! The binary and the library people embed.

fn main() {}
