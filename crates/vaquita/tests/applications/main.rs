//! Programs that people run on MySQL do their work on Vaquita, unchanged, and say what they say on a real server.
//!
//! Short forms by default; with `VAQUITA_APPLICATIONS=long`, as `cargo xtask applications` sets it, the long ones.
#![forbid(unsafe_code)]

use std::path::Path;
use vaquita_applications::{Application, Extent, Failure, compare, wordpress};

fn same_on_both(application: &Application) {
    let extent = match std::env::var("VAQUITA_APPLICATIONS").as_deref() {
        Ok("long") => Extent::Long,
        _ => Extent::Short,
    };
    if let Err(Failure(why)) = compare(application, Path::new(env!("CARGO_BIN_EXE_vaquita")), extent) {
        panic!("{why}");
    }
}

#[test]
fn wordpress() {
    same_on_both(&wordpress::WORDPRESS);
}
