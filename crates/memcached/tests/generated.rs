//! Commands made at random, right and wrong, are answered as memcached 1.6.18 answers them.

use crate::support;

use support::generated::{BEFORE, scripts};
use support::pair::{Pair, check};

#[test]
fn well_formed() {
    run(1, 0);
}

#[test]
fn damaged() {
    run(2, 3);
}

fn run(seed: u64, damages: usize) {
    let scripts = scripts(seed, damages);
    check(&Pair::start().differences(scripts.iter().map(|script| (BEFORE, script.as_slice()))));
}
