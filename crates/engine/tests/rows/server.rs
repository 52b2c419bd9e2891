//! A folder as a power cut leaves it, with transactions under way and history not purged, given to a real server:
//! MySQL 5.6.24 takes our changes back by our undo logs, purges our history, and hands back what the model says.

use crate::rows::bed::{Bed, ascending_specs};
use crate::rows::random::World;
use std::fs;
use std::path::Path;
use vaquita_io::sim::SimDisk;
use vaquita_peers::{Mysql56, Options, Server};

/// Puts the files of a simulated disk in the place of the server's own InnoDB files.
fn swap_in(disk: &SimDisk, datadir: &Path) {
    for entry in fs::read_dir(datadir).unwrap().chain(fs::read_dir(datadir.join("mysql")).unwrap()) {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // The server's own tables are not in our dictionary.
        let is_own = name.starts_with("innodb_") || name.starts_with("slave_") || name.ends_with(".ibd");
        if name.starts_with("ibdata") || name.starts_with("ib_logfile") || is_own {
            fs::remove_file(path).unwrap();
        }
    }
    for file in disk.files() {
        let to = datadir.join(file.strip_prefix("/db").unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, disk.contents(&file).unwrap()).unwrap();
    }
}

/// The server's files on a simulated disk.
fn take_back(world: &World, datadir: &Path) -> SimDisk {
    let disk = SimDisk::new(1);
    disk.put_dir("/db".as_ref());
    disk.put_dir("/db/test".as_ref());
    for file in world.bed.disk.files() {
        let from = datadir.join(file.strip_prefix("/db").unwrap());
        if let Ok(bytes) = fs::read(from) {
            disk.put_file(&file, &bytes);
        }
    }
    disk
}

fn serve(server: &mut Server, disk: &SimDisk) {
    swap_in(disk, server.datadir());
    server.start_again().unwrap();
    while server.rows("select count(*) from information_schema.innodb_trx").unwrap() != [["0"]] {
        std::thread::yield_now();
    }
    server.shutdown_slow().unwrap();
    let log = server.error_log();
    assert!(log.contains("Rolling back trx with id") && !log.contains("[ERROR] InnoDB"), "{log}");
}

#[test]
fn a_real_server_takes_our_changes_back() {
    let options = Options::new().set("innodb_log_file_size", "8M").set("innodb_checksum_algorithm", "crc32");
    let mut server = Mysql56::start(options).unwrap();
    server.shutdown().unwrap();
    let mut rolled_back = 0;
    for seed in 1..4 {
        // It knows no descending keys.
        let mut world = World::of(seed, 3, ascending_specs());
        for _ in 0..700 {
            world.step();
        }
        rolled_back += world.unfinished();
        let storage = &world.bed.engine.core().storage;
        storage.flush_everything().unwrap();
        serve(&mut server, &world.bed.disk);
        world.bed.disk = take_back(&world, server.datadir());
        world.reopen(Bed::open(world.bed.disk.clone()));
    }
    assert!(rolled_back > 20, "{rolled_back}");
}
