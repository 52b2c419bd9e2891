//! Ids are never given twice, whatever a crash takes away.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::folder;

use vaquita_base::codec::get_u64;
use vaquita_base::{PageId, PageNo, Rng, SpaceId, TrxId};
use vaquita_txn::{AccessMode, Isolation, Trx, TrxSystem};

fn stored(sys: &TrxSystem) -> u64 {
    get_u64(&sys.storage().pool().get_shared(PageId::new(SpaceId::SYSTEM, PageNo(5))).unwrap(), 38)
}

fn write(sys: &TrxSystem, trx: &mut Trx) -> TrxId {
    sys.start(trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
    sys.assign_id(trx).unwrap()
}

#[test]
fn the_store_is_ahead_of_the_ids_and_moves_in_steps() {
    let sys = folder::fresh(1);
    let mut trx = sys.new_trx();
    let mut active = Vec::new();
    for n in 0..3_000u64 {
        let id = write(&sys, &mut trx);
        assert!(id.0 < stored(&sys) + 256, "{id} is beyond the bound of {}", stored(&sys));
        assert_eq!(stored(&sys) % 256, 0);
        if n % 100 == 0 {
            active.push(std::mem::replace(&mut trx, sys.new_trx()));
        } else {
            sys.commit(&mut trx).unwrap();
        }
    }
    let raises = sys.metrics().id_store_raises;
    assert!((11..=14).contains(&raises), "{raises} raises for 3,000 ids");
}

#[test]
fn no_id_comes_back_after_a_crash() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let mut disk = folder::disk(seed);
        let mut durable = TrxId(0);
        for _ in 0..4 {
            let (sys, _) = folder::open(&disk);
            assert!(sys.next_id() > durable, "seed {seed}: {} after {durable}", sys.next_id());
            // An id matters after a crash if something after it in the log is durable.
            disk.arm_cut(disk.ops() + 1 + rng.below(60));
            let mut trx = sys.new_trx();
            for _ in 0..rng.below(2_000) {
                sys.start(&mut trx, Isolation::RepeatableRead, AccessMode::ReadWrite);
                let Ok(id) = sys.assign_id(&mut trx) else { break };
                if rng.one_in(50) {
                    let log = sys.storage().log();
                    if log.flush_up_to(log.current_lsn()).is_err() {
                        break;
                    }
                    durable = id;
                }
                sys.commit(&mut trx).unwrap();
            }
            drop((trx, sys));
            disk = disk.restart();
        }
    }
}

#[test]
fn a_store_that_cannot_be_is_refused() {
    let storage = folder::storage(&folder::disk(1));
    let mut mtr = storage.begin().unwrap();
    let page = mtr.get_exclusive(PageId::new(SpaceId::SYSTEM, PageNo(5))).unwrap();
    mtr.write_u64(page, 38, 1 << 48);
    mtr.commit();
    let refused = TrxSystem::open(storage, vaquita_txn::Options::default()).unwrap_err();
    assert!(refused.to_string().contains("transaction id"), "{refused}");
}
