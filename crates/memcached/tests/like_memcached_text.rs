//! Text and meta commands are answered as memcached 1.6.18 answers them, byte by byte.

use crate::support;

use support::pair::{Pair, check};
use support::text::{BEFORE, classic, every_meta_flag, meta};

fn compare(scripts: &[Vec<u8>]) {
    check(&Pair::start().differences(scripts.iter().map(|script| (BEFORE, script.as_slice()))));
}

#[test]
fn classic_commands() {
    compare(&classic());
}

#[test]
fn meta_commands() {
    compare(&meta());
}

#[test]
fn meta_flags() {
    compare(&every_meta_flag());
}
