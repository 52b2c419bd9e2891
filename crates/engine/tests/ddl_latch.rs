//! What a change of definitions keeps from whom: nobody waits while another table's file becomes durable.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../../storage/tests/slow_disk/mod.rs"]
mod slow_disk;

use slow_disk::{Barrier, SlowDisk};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use vaquita_base::ManualClock;
use vaquita_engine::{Column, Engine, Options, Session, TableSpec, stored};
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

fn spec(name: &str) -> TableSpec {
    let mut spec = TableSpec::new(name, vec![Column::new(ColumnDef::int("id", 4, false).not_null())]);
    spec.primary_key = Some(vec![KeyPart::whole(0)]);
    spec.file_per_table = true;
    spec
}

fn open(disk: &SimDisk, barrier: &Arc<Barrier>) -> Engine {
    let fs = Arc::new(SlowDisk { disk: disk.clone(), barrier: barrier.clone() });
    let mut options = Options { background: false, ..Options::new("/db") };
    options.storage.buffer_pool_size = 8 << 20;
    options.storage.log_file_size = 4 << 20;
    Engine::open_with(fs, Arc::new(ManualClock::new()), options).unwrap()
}

fn use_table(session: &mut Session, name: &str) {
    session
        .run(|s| {
            let table = s.table(name)?;
            s.insert(&table, &[Some(&stored::int(1))]).map(|_| ())
        })
        .unwrap();
    session.commit().unwrap().wait().unwrap();
}

#[test]
fn tables_are_opened_and_made_while_the_file_of_another_becomes_durable() {
    let disk = SimDisk::new(3);
    disk.put_dir("/db".as_ref());
    let barrier = Arc::new(Barrier::default());
    let engine = open(&disk, &barrier);
    engine.session().create_table(&spec("a/known")).unwrap();
    engine.close().unwrap();
    let engine = open(&disk, &barrier);
    barrier.close("slow.ibd");
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| engine.session().create_table(&spec("a/slow")));
        barrier.wait_for_a_visitor();
        let (done, others) = mpsc::channel();
        let engine = &engine;
        scope.spawn(move || {
            let mut session = engine.session();
            // Not in memory yet: its definition is read.
            use_table(&mut session, "a/known");
            session.create_table(&spec("a/quick")).unwrap();
            use_table(&mut session, "a/quick");
            session.drop_table("a/quick").unwrap();
            done.send(()).unwrap();
        });
        let others = others.recv_timeout(Duration::from_secs(60));
        barrier.open();
        assert_eq!(others, Ok(()), "the others go on");
        slow.join().unwrap().unwrap();
    });
    use_table(&mut engine.session(), "a/slow");
    engine.close().unwrap();
}
