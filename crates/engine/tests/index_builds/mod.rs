//! Building indexes of a table with rows when it is ended, killed or out of room at any moment: the table is whole, and
//! nothing is left of what was begun.
#![allow(clippy::unwrap_used, reason = "a test")]

mod bed;
mod beside;

use bed::{Bed, SORT_FILES};
use vaquita_engine::Error;
use vaquita_io::sim::{Fault, Injection};

/// Some of them, the first and last ones and others between.
fn some(moments: u64, n: u64) -> impl Iterator<Item = u64> {
    let step = (moments / n).max(1);
    (1..=moments).filter(move |m| m % step == 1 % step || *m < 4 || *m + 4 > moments)
}

#[test]
fn a_build_that_is_ended_leaves_nothing() {
    let bed = Bed::new();
    let moments = bed.moments_of_a_build();
    let mut ended = 0;
    for moment in some(moments, 40) {
        let mut session = bed.session();
        let handle = session.handle();
        bed.fs.moments.at(moment, move || handle.interrupt());
        let has_indexes = match bed.build(&mut session) {
            Ok(()) => true,
            Err(Error::Interrupted) => {
                ended += 1;
                false
            }
            Err(e) => panic!("{moment} of {moments}: {e}"),
        };
        assert_eq!(bed.check(&format!("ended at {moment} of {moments}")), has_indexes);
        if has_indexes {
            bed.drop_indexes();
        }
    }
    assert!(ended > 30, "{ended} of {moments}");
    bed.build(&mut bed.session()).unwrap();
    assert!(bed.check("at last"));
}

/// The process is killed, or the machine loses power.
#[test]
fn a_build_that_is_cut_off_leaves_nothing() {
    let bed = Bed::new();
    let moments = bed.moments_of_a_build();
    let disk = bed.fs.disk.fork(1);
    drop(bed);
    let (mut whole, mut absent) = (0, 0);
    for moment in some(moments, 25) {
        for power in [false, true] {
            let Some(bed) =
                Bed::cut_off(disk.fork(moment), moment, power, |bed| bed.build(&mut bed.session()))
            else {
                continue;
            };
            let when = format!("power {power}, {moment} of {moments}");
            if bed.check(&when) {
                whole += 1;
                bed.drop_indexes();
            } else {
                absent += 1;
            }
            bed.build(&mut bed.session()).unwrap();
            assert!(bed.check(&when));
        }
    }
    assert!(absent > 30, "{absent} of {moments}, {whole} whole");
}

#[test]
fn a_build_without_room_for_its_files_leaves_nothing() {
    let bed = Bed::new();
    let disk = &bed.fs.disk;
    disk.set_trace(true);
    bed.moments_of_a_build();
    let writes = disk.trace().iter().filter(|op| op.path.to_string_lossy().contains(SORT_FILES)).count();
    disk.set_trace(false);
    assert!(writes > 150, "{writes} operations on temporary files");
    let mut full = 0;
    for skipped in some(writes as u64, 40) {
        disk.inject(Injection::new(Fault::NoSpace).on_path(SORT_FILES).after(skipped - 1).always());
        let built = bed.build(&mut bed.session());
        disk.clear_injections();
        let when = format!("no room after {skipped} of {writes}");
        match &built {
            Ok(()) => {}
            Err(e) => {
                full += 1;
                assert!(matches!(e, Error::SortFile(_)), "{when}: {e}");
            }
        }
        assert_eq!(bed.check(&when), built.is_ok(), "{when}");
        if built.is_ok() {
            bed.drop_indexes();
        }
    }
    assert!(full > 20, "{full} of {writes}");
}

/// The room ends anywhere: in temporary files, in the tablespace.
#[test]
fn a_build_on_a_full_disk_leaves_nothing() {
    let bed = Bed::new();
    let disk = &bed.fs.disk;
    let mut full = 0;
    for pages in 0..60 {
        disk.set_capacity(Some(disk.used() + pages * 4096));
        let built = bed.build(&mut bed.session());
        disk.set_capacity(None);
        let when = format!("{pages} pages");
        if let Err(e) = &built {
            full += 1;
            assert!(e.no_space().is_some() || matches!(e, Error::SortFile(_)), "{when}: {e}");
        }
        assert_eq!(bed.check(&when), built.is_ok(), "{when}");
        if built.is_ok() {
            bed.drop_indexes();
        }
    }
    assert!(full > 10, "{full}");
}
