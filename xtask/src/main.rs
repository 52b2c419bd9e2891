//! Repository commands: test, tidy, peers, torture, bench.

fn main() {}
