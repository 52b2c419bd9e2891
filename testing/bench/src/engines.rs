//! The engines.

mod lmdb;
mod redb;
pub mod vaquita;

use crate::Engine;

/// Every engine, the one others are compared with first.
pub const ALL: &[Engine] = &[
    Engine { name: "vaquita", open: vaquita::open },
    Engine { name: "redb", open: redb::open },
    Engine { name: "lmdb", open: lmdb::open },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Scratch;

    #[test]
    fn every_engine_stores_finds_and_scans() {
        for engine in ALL {
            let scratch = Scratch::new().unwrap();
            let store = (engine.open)(scratch.path()).unwrap();
            store.insert(&mut (10..500), 7).unwrap();
            assert_eq!(store.get(499).unwrap(), Some(499u64 as u8), "{}", engine.name);
            assert_eq!(store.get(9).unwrap(), None, "{}", engine.name);
            assert_eq!(store.get(500).unwrap(), None, "{}", engine.name);
            let expected: u64 = (20..120).map(|key| u64::from(key as u8)).sum();
            assert_eq!(store.scan(20, 100).unwrap(), expected, "{}", engine.name);
        }
    }
}
