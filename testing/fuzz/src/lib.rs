//! Fuzz targets: every decoder on hostile bytes.
//!
//! A target is a function from bytes to nothing that must return: no panic, no read out of range, no endless loop,
//! whatever the bytes. Where a value decodes, the target also demands what the format promises (encoding it again
//! gives the same bytes, validated pages can be walked). A broken promise is a panic, which is a find.
//!
//! One registry ([`TARGETS`]) serves three runners:
//! - the instrumented binary (`cargo xtask fuzz TARGET SECONDS`), guided by coverage through libFuzzer;
//! - `cargo test`, which feeds every target its seeds and seeded mutations of them, without instrumentation;
//! - `vaquita-fuzz replay TARGET FILE..`, for looking at one find.
//!
//! [`CANARY`] hides a planted bug behind four bytes: a fuzzer that does not find it finds nothing.
#![forbid(unsafe_code)]

pub mod mutate;
pub mod seeds;
mod targets;

/// A decoder under test.
#[derive(Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Decodes `data` in every way that makes sense; panics if a promise is broken.
    pub run: fn(data: &[u8]),
    /// Inputs to start from, cut from the fixtures.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// Every input to start from, old finds included, with a name for each.
    pub fn inputs(&self) -> Vec<(String, Vec<u8>)> {
        let seeds = (self.seeds)().into_iter().enumerate();
        seeds
            .map(|(number, seed)| (format!("seed-{number:04}"), seed))
            .chain(seeds::finds(self.name))
            .collect()
    }
}

/// Every target.
pub const TARGETS: &[Target] = targets::ALL;

/// The planted bug. Not among [`TARGETS`]: it must fail.
pub const CANARY: Target = targets::CANARY;

/// The target called `name`, the canary included.
pub fn find(name: &str) -> Option<&'static Target> {
    static PLANTED: Target = CANARY;
    TARGETS.iter().chain([&PLANTED]).find(|target| target.name == name)
}
