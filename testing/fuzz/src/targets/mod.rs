//! The targets, one file per decoder family.

mod names;
mod page;
mod redo;

use crate::Target;

pub(crate) const ALL: &[Target] = &[
    Target { name: "checksum", run: page::checksum, seeds: page::checksum_seeds },
    Target { name: "redo_file", run: redo::file_blocks, seeds: redo::file_seeds },
    Target { name: "names", run: names::names, seeds: names::seeds },
];

pub(crate) const CANARY: Target = Target { name: "canary", run: canary, seeds: || vec![b"vaq".to_vec()] };

/// The planted bug: four bytes that no random choice hits, but that coverage leads to.
fn canary(data: &[u8]) {
    if let [b'V', b'A', b'Q', b'!', ..] = data {
        panic!("the canary was found: the fuzzer works");
    }
}
