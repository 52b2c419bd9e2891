use super::*;
use std::collections::BTreeSet;

const DIR: &str = "/db";
const SECTOR: usize = 512;

fn path(name: &str) -> PathBuf {
    Path::new(DIR).join(name)
}

/// A disk with a durable directory.
fn disk(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    disk.put_dir(Path::new(DIR));
    disk
}

fn create(disk: &SimDisk, name: &str) -> Arc<dyn File> {
    disk.open(&path(name), OpenOptions::new(OpenMode::CreateNew)).unwrap()
}

fn open(disk: &SimDisk, name: &str) -> Arc<dyn File> {
    disk.open(&path(name), OpenOptions::new(OpenMode::ReadWrite)).unwrap()
}

/// A file of `sectors` sectors, each filled with `byte`, durable with its name.
fn durable_file(disk: &SimDisk, name: &str, sectors: usize, byte: u8) -> Arc<dyn File> {
    disk.put_file(&path(name), &vec![byte; sectors * SECTOR]);
    open(disk, name)
}

fn read(file: &dyn File, offset: u64, len: usize) -> Result<Vec<u8>> {
    let mut buf = vec![0; len];
    file.read_at(&mut buf, offset).map(|()| buf)
}

/// First byte of each sector, where every sector is uniform.
fn sector_bytes(content: &[u8]) -> Vec<u8> {
    content
        .chunks(SECTOR)
        .map(|s| {
            assert!(s.iter().all(|b| *b == s[0]), "a sector is never mixed");
            s[0]
        })
        .collect()
}

/// What a file may hold after a power cut: for each sector the values it had since the last sync, and the lengths.
struct Allowed {
    now: Vec<u8>,
    sectors: Vec<BTreeSet<u8>>,
    lens: BTreeSet<usize>,
}

impl Allowed {
    fn new() -> Self {
        Self { now: Vec::new(), sectors: Vec::new(), lens: BTreeSet::from([0]) }
    }

    /// `now` holds one byte for each sector. A sector past the end reads as zero if the end moves alone.
    fn changed(&mut self) {
        let grown = self.sectors.len().max(self.now.len());
        self.sectors.resize(grown, BTreeSet::from([0]));
        for (i, set) in self.sectors.iter_mut().enumerate() {
            set.insert(self.now.get(i).copied().unwrap_or(0));
        }
        self.lens.insert(self.now.len());
    }

    fn synced(&mut self) {
        self.sectors = self.now.iter().map(|b| BTreeSet::from([*b])).collect();
        self.lens = BTreeSet::from([self.now.len()]);
    }

    fn check(&self, content: &[u8]) {
        let found = sector_bytes(content);
        assert!(self.lens.contains(&found.len()), "a length that never was: {}", found.len());
        for (i, byte) in found.iter().enumerate() {
            assert!(self.sectors[i].contains(byte), "sector {i} holds {byte}, allowed {:?}", self.sectors[i]);
        }
    }
}

/// The contract of the file trait, on random operations: synced data survives, unsynced data is a mix of sectors
/// that were there since.
#[test]
fn synced_data_survives_and_the_rest_is_a_mix_of_sectors() {
    for seed in 0..400 {
        let mut rng = vaquita_base::Rng::new(seed);
        let disk = disk(seed);
        let file = create(&disk, "f");
        disk.sync_dir(Path::new(DIR)).unwrap();
        let mut allowed = Allowed::new();
        for _ in 0..rng.index(40) {
            match rng.below(8) {
                0 => {
                    file.sync().unwrap();
                    allowed.synced();
                }
                1 => {
                    let len = rng.index(30);
                    file.set_len((len * SECTOR) as u64).unwrap();
                    allowed.now.resize(len, 0);
                    allowed.changed();
                }
                _ => {
                    let (at, len, byte) = (rng.index(20), 1 + rng.index(12), rng.next_u64() as u8);
                    file.write_at(&vec![byte; len * SECTOR], (at * SECTOR) as u64).unwrap();
                    let end = allowed.now.len().max(at + len);
                    allowed.now.resize(end, 0);
                    allowed.now[at..at + len].fill(byte);
                    allowed.changed();
                }
            }
            assert_eq!(sector_bytes(&disk.contents(&path("f")).unwrap()), allowed.now);
        }
        for _ in 0..20 {
            let found = disk.restart();
            allowed.check(&found.contents(&path("f")).unwrap());
            // What was found is durable: a second cut changes nothing.
            assert_eq!(found.restart().contents(&path("f")), found.contents(&path("f")));
        }
    }
}

#[test]
fn one_unsynced_write_ends_old_new_or_torn() {
    let mut seen = BTreeSet::new();
    for seed in 0..1000 {
        let disk = disk(seed);
        durable_file(&disk, "f", 4, b'o').write_at(&[b'n'; 4 * SECTOR], 0).unwrap();
        let content = disk.restart().contents(&path("f")).unwrap();
        seen.insert(String::from_utf8(sector_bytes(&content)).unwrap());
    }
    assert_eq!(seen.len(), 16, "every mix of four sectors occurs: {seen:?}");
}

#[test]
fn later_writes_may_survive_earlier_ones() {
    let outcomes: BTreeSet<String> = (0..300)
        .map(|seed| {
            let disk = disk(seed);
            let file = durable_file(&disk, "f", 2, b'o');
            file.write_at(&[b'1'; SECTOR], 0).unwrap();
            file.write_at(&[b'2'; SECTOR], SECTOR as u64).unwrap();
            file.write_at(&[b'3'; SECTOR], 0).unwrap();
            let content = disk.restart().contents(&path("f")).unwrap();
            String::from_utf8(sector_bytes(&content)).unwrap()
        })
        .collect();
    assert_eq!(outcomes, ["1o", "12", "3o", "32", "oo", "o2"].map(String::from).into());
}

#[test]
fn unsynced_growth_may_be_lost_or_kept_without_its_data() {
    let outcomes: BTreeSet<Vec<u8>> = (0..300)
        .map(|seed| {
            let disk = disk(seed);
            durable_file(&disk, "f", 1, 1).write_at(&[2; SECTOR], SECTOR as u64).unwrap();
            sector_bytes(&disk.restart().contents(&path("f")).unwrap())
        })
        .collect();
    assert_eq!(outcomes, [vec![1], vec![1, 0], vec![1, 2]].into());
}

#[test]
fn dsync_writes_are_durable_at_once() {
    for seed in 0..50 {
        let disk = disk(seed);
        let plain = durable_file(&disk, "f", 2, 1);
        plain.write_at(&[2; 2 * SECTOR], 0).unwrap();
        let options = OpenOptions { dsync: true, ..OpenOptions::new(OpenMode::ReadWrite) };
        let dsync = disk.open(&path("f"), options).unwrap();
        dsync.write_at(&[3; 2 * SECTOR], SECTOR as u64).unwrap();
        let found = sector_bytes(&disk.restart().contents(&path("f")).unwrap());
        assert_eq!(found[1..], [3, 3], "also over an unsynced write, with its length");
        assert!([1, 2].contains(&found[0]));
    }
}

#[test]
fn writes_that_ask_for_it_are_durable_at_once_and_others_are_not() {
    let outcomes: BTreeSet<Vec<u8>> = (0..100)
        .map(|seed| {
            let disk = disk(seed);
            let file = durable_file(&disk, "f", 3, 1);
            file.write_at(&[2; SECTOR], 0).unwrap();
            file.write_durable_at(&[3; SECTOR], SECTOR as u64).unwrap();
            sector_bytes(&disk.restart().contents(&path("f")).unwrap())
        })
        .collect();
    assert_eq!(outcomes, [vec![1, 3, 1], vec![2, 3, 1]].into());
}

#[test]
fn files_opened_nosync_are_never_made_durable() {
    let lost = (0..100).filter(|&seed| {
        let disk = disk(seed);
        durable_file(&disk, "f", 1, 1);
        let options = OpenOptions { nosync: true, ..OpenOptions::new(OpenMode::ReadWrite) };
        let file = disk.open(&path("f"), options).unwrap();
        file.write_at(&[2; SECTOR], 0).unwrap();
        file.sync().unwrap();
        disk.restart().contents(&path("f")).unwrap()[0] == 1
    });
    assert!(lost.count() > 10);
}

/// A workload whose every operation is a place to cut at.
fn workload(disk: &SimDisk) -> Result<()> {
    disk.create_dir_all(Path::new("/db/t"))?;
    let file = disk.open(&path("t/a"), OpenOptions::new(OpenMode::CreateNew))?;
    file.set_len(8192)?;
    file.write_at(&[1; 4096], 0)?;
    file.sync()?;
    disk.rename(&path("t/a"), &path("t/b"))?;
    disk.sync_dir(&path("t"))?;
    file.write_at(&[2; 8192], 0)?;
    disk.remove_file(&path("t/b"))?;
    disk.sync_dir(&path("t"))
}

#[test]
fn the_power_can_be_cut_at_every_operation() {
    let whole = disk(1);
    whole.set_trace(true);
    workload(&whole).unwrap();
    let total = whole.ops();
    assert_eq!(total, 10);
    let expected = [
        "create directory",
        "create",
        "grow",
        "write",
        "sync",
        "rename",
        "sync directory",
        "write",
        "remove",
        "sync directory",
    ];
    assert_eq!(whole.trace().iter().map(|t| t.what).collect::<Vec<_>>(), expected);
    assert_eq!(whole.trace()[3].to_string(), "4 write /db/t/a at 0 (4096 bytes)");
    for at in 1..=total {
        let disk = disk(at);
        disk.arm_cut(at);
        let e = workload(&disk).unwrap_err();
        assert_eq!((e.kind, e.op), (ErrorKind::PowerOff, expected[at as usize - 1]));
        assert_eq!(disk.ops(), at);
        assert!(disk.is_off() && !disk.exists(Path::new(DIR)) && !disk.is_dir(Path::new(DIR)));
        assert_eq!(disk.list_dir(Path::new(DIR)).unwrap_err().kind, ErrorKind::PowerOff);
        assert_eq!(disk.sync_dir(Path::new(DIR)).unwrap_err().kind, ErrorKind::PowerOff);
        let after = disk.restart();
        assert!(!after.is_off() && after.is_dir(Path::new(DIR)) && after.ops() == 0);
    }
}

#[test]
fn handles_from_before_the_cut_stay_dead() {
    let disk = disk(1);
    let file = durable_file(&disk, "f", 1, 1);
    disk.power_cut();
    let after = disk.restart();
    let errors = [
        file.read_at(&mut [0; 1], 0).unwrap_err(),
        file.write_at(&[0; 1], 0).unwrap_err(),
        file.sync().unwrap_err(),
        file.len().unwrap_err(),
        file.set_len(0).unwrap_err(),
        disk.open(&path("f"), OpenOptions::new(OpenMode::Read)).unwrap_err(),
        disk.remove_file(&path("f")).unwrap_err(),
        disk.rename(&path("f"), &path("g")).unwrap_err(),
        disk.create_dir_all(&path("d")).unwrap_err(),
    ];
    assert!(errors.iter().all(|e| e.kind == ErrorKind::PowerOff));
    assert_eq!(read(&*open(&after, "f"), 0, 1).unwrap(), [1]);
}

/// The write in progress at the cut is unsynced like any other.
#[test]
fn the_write_in_progress_may_be_there_or_not() {
    let outcomes: BTreeSet<u8> = (0..100)
        .map(|seed| {
            let disk = disk(seed);
            let file = durable_file(&disk, "f", 1, 1);
            disk.arm_cut(1);
            file.write_at(&[2; SECTOR], 0).unwrap_err();
            disk.restart().contents(&path("f")).unwrap()[0]
        })
        .collect();
    assert_eq!(outcomes, [1, 2].into());
}

fn after_cuts<T: Ord>(prepare: impl Fn(&SimDisk), look: impl Fn(&SimDisk) -> T) -> BTreeSet<T> {
    (0..200)
        .map(|seed| {
            let disk = disk(seed);
            prepare(&disk);
            look(&disk.restart())
        })
        .collect()
}

#[test]
fn names_are_durable_with_their_directory() {
    let there = |name: &'static str| move |disk: &SimDisk| disk.exists(&path(name));
    let made = |disk: &SimDisk| create(disk, "f").sync().unwrap();
    assert_eq!(after_cuts(made, there("f")), [false, true].into(), "a file's sync does not keep its name");
    let kept = |disk: &SimDisk| {
        made(disk);
        disk.sync_dir(Path::new(DIR)).unwrap();
    };
    assert_eq!(after_cuts(kept, there("f")), [true].into());
    let removed = |disk: &SimDisk| {
        kept(disk);
        disk.remove_file(&path("f")).unwrap();
    };
    assert_eq!(after_cuts(removed, there("f")), [false, true].into());
    let gone = |disk: &SimDisk| {
        removed(disk);
        disk.sync_dir(Path::new(DIR)).unwrap();
    };
    assert_eq!(after_cuts(gone, there("f")), [false].into());
    let in_lost_dir = |disk: &SimDisk| {
        disk.create_dir_all(&path("d")).unwrap();
        create(disk, "d/f");
        disk.sync_dir(&path("d")).unwrap();
    };
    let outcomes = after_cuts(in_lost_dir, |disk| (disk.exists(&path("d")), disk.exists(&path("d/f"))));
    assert_eq!(outcomes, [(false, false), (true, true)].into());
}

#[test]
fn renames_are_whole_or_absent() {
    let look = |disk: &SimDisk| {
        let first = |name| disk.contents(&path(name)).map(|c| c[0]);
        (first("a"), first("b"))
    };
    let renamed = |disk: &SimDisk| {
        disk.put_file(&path("a"), &[1]);
        disk.put_file(&path("b"), &[2]);
        disk.rename(&path("a"), &path("b")).unwrap();
    };
    assert_eq!(after_cuts(renamed, look), [(Some(1), Some(2)), (None, Some(1))].into());
    let synced = |disk: &SimDisk| {
        renamed(disk);
        disk.sync_dir(Path::new(DIR)).unwrap();
    };
    assert_eq!(after_cuts(synced, look), [(None, Some(1))].into());
    let across = |disk: &SimDisk| {
        disk.put_file(&path("x/a"), &[1]);
        disk.put_dir(&path("y"));
        disk.rename(&path("x/a"), &path("y/a")).unwrap();
        disk.sync_dir(&path("x")).unwrap();
    };
    let where_is = |disk: &SimDisk| (disk.exists(&path("x/a")), disk.exists(&path("y/a")));
    assert_eq!(after_cuts(across, where_is), [(false, true), (true, false)].into());
    let twice = |disk: &SimDisk| {
        disk.put_file(&path("a"), &[1]);
        disk.rename(&path("a"), &path("b")).unwrap();
        disk.rename(&path("b"), &path("c")).unwrap();
    };
    assert!(after_cuts(twice, |disk| disk.files().len()) == [1].into(), "a file has one name");
}

#[test]
fn one_seed_one_story() {
    let story = |seed: u64| {
        let disk = disk(seed);
        disk.set_trace(true);
        for fault in [Fault::WriteError, Fault::SyncError, Fault::MisdirectedWrite, Fault::BitRot] {
            disk.set_rate(fault, 10);
        }
        let mut rng = vaquita_base::Rng::new(99);
        let file = create(&disk, "f");
        let mut errors = Vec::new();
        for i in 0..200_u64 {
            let at = rng.below(64) * 512;
            let result = match rng.below(6) {
                0 => file.sync(),
                1 => read(&*file, at, 512).map(|_| ()),
                2 => create(&disk, &format!("n{i}")).sync(),
                _ => file.write_at(&[i as u8; 1024], at),
            };
            errors.push(result.map_err(|e| e.to_string()));
        }
        let after = disk.restart();
        let contents: Vec<_> = after.files().iter().map(|f| after.contents(f)).collect();
        (errors, disk.trace(), disk.fired(), after.files(), contents)
    };
    assert!(story(5) == story(5));
    assert!(story(5) != story(6));
}

#[test]
fn a_fork_has_a_future_of_its_own() {
    let base = disk(1);
    durable_file(&base, "f", 2, 1).write_at(&[2; SECTOR], 0).unwrap();
    let fork = base.fork(7);
    let file = open(&fork, "f");
    file.write_at(&[3; 2 * SECTOR], 0).unwrap();
    file.sync().unwrap();
    fork.remove_file(&path("f")).unwrap();
    assert_eq!(sector_bytes(&base.contents(&path("f")).unwrap()), [2, 1]);
    assert_eq!(read(&*file, 0, 1).unwrap(), [3], "an open file outlives its name");
    let again: BTreeSet<_> = (0..50).map(|seed| base.fork(seed).restart().contents(&path("f"))).collect();
    assert_eq!(again.len(), 2, "the unsynced write is unsynced in the copies too");
}

#[test]
fn a_killed_process_loses_nothing() {
    for seed in 0..20 {
        let disk = disk(seed);
        let file = durable_file(&disk, "f", 1, 1);
        file.write_at(&[2; SECTOR], 0).unwrap();
        create(&disk, "g");
        let after = disk.after_kill();
        assert_eq!(file.sync().unwrap_err().kind, ErrorKind::PowerOff, "the old process is gone");
        assert_eq!(after.contents(&path("f")).unwrap()[0], 2);
        assert!(after.exists(&path("g")));
    }
    let lost =
        after_cuts(|disk| drop(create(disk, "g")), |disk| disk.after_kill().restart().exists(&path("g")));
    assert_eq!(lost, [false, true].into());
}

#[test]
fn failed_writes_leave_some_sectors() {
    let outcomes: BTreeSet<Vec<u8>> = (0..200)
        .map(|seed| {
            let disk = disk(seed);
            let file = durable_file(&disk, "f", 3, b'o');
            disk.inject(Injection::new(Fault::WriteError));
            let e = file.write_at(&[b'n'; 2 * SECTOR], 0).unwrap_err();
            assert_eq!((e.kind, e.op, e.range), (ErrorKind::Other, "write", Some((0, 1024))));
            assert_eq!(disk.fired().len(), 1);
            file.write_at(&[b'x'; SECTOR], 2 * SECTOR as u64).unwrap();
            sector_bytes(&disk.contents(&path("f")).unwrap())
        })
        .collect();
    assert_eq!(outcomes, ["oox", "nox", "onx", "nnx"].map(|s| s.as_bytes().to_vec()).into());
}

/// Data given up by a failed sync is not saved by the next one, which succeeds; the cache may hide the loss.
#[test]
fn a_failed_sync_gives_unsynced_data_up() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..300 {
        let disk = disk(seed);
        let file = durable_file(&disk, "f", 2, 1);
        file.write_at(&[2; SECTOR], 0).unwrap();
        disk.inject(Injection::new(Fault::SyncError).on_path("f"));
        assert_eq!(file.sync().unwrap_err().op, "sync");
        let cached = read(&*file, 0, 1).unwrap()[0];
        file.write_at(&[3; SECTOR], SECTOR as u64).unwrap();
        file.sync().unwrap();
        let found = sector_bytes(&disk.restart().contents(&path("f")).unwrap());
        assert_eq!(found[1], 3, "writes after the failure are synced");
        outcomes.insert((cached, found[0]));
    }
    assert_eq!(outcomes, [(1, 1), (2, 1), (2, 2)].into());
}

#[test]
fn reads_fail_and_end_early() {
    let disk = disk(1);
    let file = durable_file(&disk, "f", 4, 1);
    disk.inject(Injection::new(Fault::ReadError).at_op(2));
    disk.inject(Injection::new(Fault::ShortRead).at_op(3));
    let kinds: Vec<_> = (0..4).map(|_| read(&*file, 512, 1024).map(|_| ()).map_err(|e| e.kind)).collect();
    assert_eq!(kinds, [Ok(()), Err(ErrorKind::Other), Err(ErrorKind::ShortRead), Ok(())]);
    assert_eq!(disk.reads(), 4);
    let fired: Vec<_> = disk.fired().into_iter().map(|f| (f.op, f.fault, f.range)).collect();
    let range = Some((512, 1024));
    assert_eq!(fired, [(2, Fault::ReadError, range), (3, Fault::ShortRead, range)]);
    let mut buf = vec![9; 1024];
    let e = file.read_at(&mut buf, 3 * 512).unwrap_err();
    assert_eq!((e.kind, &buf[..512], &buf[512..]), (ErrorKind::ShortRead, &[1; 512][..], &[9; 512][..]));
}

#[test]
fn a_full_disk() {
    let disk = disk(1);
    let file = durable_file(&disk, "f", 2, 1);
    disk.set_capacity(Some(4 * SECTOR as u64 + 100));
    assert_eq!(file.set_len(5 * SECTOR as u64).unwrap_err().kind, ErrorKind::NoSpace);
    assert_eq!(file.len().unwrap(), 2 * SECTOR as u64);
    let e = file.write_at(&[2; 4 * SECTOR], SECTOR as u64).unwrap_err();
    assert_eq!(e.kind, ErrorKind::NoSpace);
    assert_eq!(sector_bytes(&disk.contents(&path("f")).unwrap()), [1, 2, 2, 2]);
    file.write_at(&[3; 4 * SECTOR], 0).unwrap();
    file.set_len(0).unwrap();
    file.set_len(4 * SECTOR as u64).unwrap();
    assert_eq!(disk.used(), 4 * SECTOR as u64);
    let other = create(&disk, "g");
    assert_eq!(other.set_len(1000).unwrap_err().kind, ErrorKind::NoSpace);
    drop(file);
    disk.remove_file(&path("f")).unwrap();
    other.set_len(1000).unwrap();

    disk.inject(Injection::new(Fault::NoSpace).on_path("g"));
    assert_eq!(other.set_len(1200).unwrap_err().kind, ErrorKind::NoSpace);
    disk.inject(Injection::new(Fault::NoSpace).on_path("h"));
    let e = disk.open(&path("h"), OpenOptions::new(OpenMode::CreateNew)).unwrap_err();
    assert_eq!((e.kind, disk.exists(&path("h"))), (ErrorKind::NoSpace, false));
    disk.inject(Injection::new(Fault::NoSpace));
    assert_eq!(other.write_at(&[1; 512], 0).unwrap_err().kind, ErrorKind::NoSpace);
}

#[test]
fn rot_is_durable_and_only_of_what_is_durable() {
    let disk = disk(1);
    let file = durable_file(&disk, "f", 2, 0);
    assert!(disk.rot(&path("f"), 700, 3));
    assert_eq!(read(&*file, 700, 1).unwrap(), [8]);
    assert_eq!(disk.restart().contents(&path("f")).unwrap()[700], 8);
    assert!(!disk.rot(&path("f"), 2 * SECTOR as u64, 0) && !disk.rot(&path("none"), 0, 0));

    // What is about to be overwritten rots unseen.
    let disk = self::disk(2);
    let file = durable_file(&disk, "f", 2, 0);
    file.write_at(&[1; SECTOR], 0).unwrap();
    assert!(disk.rot(&path("f"), 5, 1));
    assert_eq!(read(&*file, 5, 1).unwrap(), [1]);
    file.sync().unwrap();
    assert_eq!(disk.restart().contents(&path("f")).unwrap()[5], 1);

    let disk = self::disk(3);
    let file = durable_file(&disk, "f", 2, 0);
    file.write_at(&[1; SECTOR], 0).unwrap();
    file.sync().unwrap();
    disk.inject(Injection::new(Fault::BitRot));
    let wrong = read(&*file, 0, 2 * SECTOR).unwrap();
    let (at, len) = disk.fired()[0].range.unwrap();
    let byte = wrong[at as usize];
    let expected = u8::from(at < SECTOR as u64);
    assert_eq!(((byte ^ expected).count_ones(), len), (1, 1));
    assert_eq!(disk.contents(&path("f")).unwrap(), wrong, "and stays wrong");
}

#[test]
fn misdirected_writes_land_on_another_place_of_the_file() {
    let mut places = BTreeSet::new();
    for seed in 0..100 {
        let disk = disk(seed);
        let file = durable_file(&disk, "f", 8, b'o');
        disk.inject(Injection::new(Fault::MisdirectedWrite));
        file.write_at(&[b'n'; 2 * SECTOR], 2 * SECTOR as u64).unwrap();
        let bytes = sector_bytes(&disk.contents(&path("f")).unwrap());
        assert_eq!(bytes.len(), 8);
        if let [fired] = &disk.fired()[..] {
            let (to, len) = fired.range.unwrap();
            assert_eq!(len, 2 * SECTOR);
            let first = to as usize / SECTOR;
            assert_eq!(bytes.iter().filter(|&&b| b == b'n').count(), 2);
            assert_eq!(bytes[first..first + 2], *b"nn");
            places.insert(first);
        } else {
            assert_eq!(bytes, b"oonnoooo", "no fault, no damage");
        }
    }
    assert_eq!(places, [0, 4, 6].into());
}

#[test]
fn appointments_wait_for_their_path_and_turn() {
    let disk = disk(1);
    let (a, b) = (durable_file(&disk, "ibdata1", 1, 1), durable_file(&disk, "ib_logfile0", 1, 1));
    disk.inject(Injection::new(Fault::WriteError).on_path("ib_logfile").after(1).times(2));
    assert!((0..5).all(|_| a.write_at(&[1], 0).is_ok()));
    let results: Vec<bool> = (0..5).map(|_| b.write_at(&[1], 0).is_ok()).collect();
    assert_eq!(results, [true, false, false, true, true]);
    disk.inject(Injection::new(Fault::SyncError).always());
    assert!((0..5).all(|_| a.sync().is_err() && disk.sync_dir(Path::new(DIR)).is_err()));
    disk.clear_injections();
    a.sync().unwrap();
    disk.inject(Injection::new(Fault::WriteError).at_op(disk.ops() + 2));
    let results: Vec<bool> = (0..3).map(|_| b.write_at(&[1], 0).is_ok()).collect();
    assert_eq!(results, [true, false, true]);
}

#[test]
fn rates_are_about_right_and_outlive_a_restart() {
    let mut disk = disk(3);
    disk.set_rate(Fault::ReadError, 4);
    for _ in 0..2 {
        let file = durable_file(&disk, "f", 1, 1);
        let failed = (0..1000).filter(|_| read(&*file, 0, 10).is_err()).count();
        assert!((180..320).contains(&failed), "{failed} of 1000");
        assert_eq!(disk.fired().len(), failed);
        disk = disk.restart();
    }
}

/// A harness that trusts syncs must catch a disk that lies.
#[test]
fn the_canary_is_caught() {
    let broken = |lie: bool| {
        (0..100)
            .filter(|&seed| {
                let disk = disk(seed);
                disk.lie_about_sync(lie);
                let file = create(&disk, "f");
                file.write_at(&[7; SECTOR], 0).unwrap();
                file.sync().unwrap();
                disk.sync_dir(Path::new(DIR)).unwrap();
                disk.restart().contents(&path("f")) != Some(vec![7; SECTOR])
            })
            .count()
    };
    assert_eq!(broken(false), 0);
    assert!(broken(true) > 30);
}

#[test]
fn batches_run_in_an_order_the_seed_chooses() {
    let run = |seed: u64, cut: Option<u64>| {
        let disk = disk(seed);
        let file = durable_file(&disk, "f", 16, 0);
        if let Some(at) = cut {
            disk.arm_cut(at);
        }
        let data: Vec<[u8; SECTOR]> = (0..16).map(|i| [i + 1; SECTOR]).collect();
        let mut ops: Vec<BatchOp<'_>> = data
            .iter()
            .enumerate()
            .map(|(i, d)| BatchOp { file: &*file, offset: (i * SECTOR) as u64, transfer: Transfer::Write(d) })
            .collect();
        let mut order = Vec::new();
        let mut failed = 0;
        disk.run_batch(&mut ops, &mut |i, op, result| {
            assert_eq!(op.offset, (i * SECTOR) as u64);
            failed += usize::from(result.is_err());
            order.push(i);
        });
        let sorted: BTreeSet<usize> = order.iter().copied().collect();
        assert_eq!(sorted.len(), 16);
        (order, failed, disk.contents(&path("f")).unwrap())
    };
    let (order, failed, content) = run(1, None);
    assert_eq!((failed, sector_bytes(&content)), (0, (1..=16).collect()));
    assert_ne!(order, (0..16).collect::<Vec<_>>());
    assert_eq!(order, run(1, None).0);
    assert_ne!(order, run(2, None).0);
    assert_eq!(run(1, Some(5)).1, 12);
}

#[test]
fn callers_mistakes_are_errors() {
    let disk = disk(1);
    let file = durable_file(&disk, "f", 1, 1);
    let kind = |r: Result<Arc<dyn File>>| r.unwrap_err().kind;
    let open_as = |name: &str, mode| disk.open(&path(name), OpenOptions::new(mode));
    assert_eq!(kind(open_as("f", OpenMode::CreateNew)), ErrorKind::AlreadyExists);
    assert_eq!(kind(open_as("g", OpenMode::ReadWrite)), ErrorKind::NotFound);
    assert_eq!(kind(open_as("no/dir", OpenMode::CreateNew)), ErrorKind::NotFound);
    assert_eq!(kind(open_as("", OpenMode::Read)), ErrorKind::Other);
    assert!(open_as("f", OpenMode::Read).unwrap().write_at(&[1], 0).is_err());
    assert!(open_as("f", OpenMode::Read).unwrap().set_len(0).is_err());
    assert!(
        file.write_at(&[1; 16], u64::MAX - 3).is_err() && file.read_at(&mut [1; 16], u64::MAX - 3).is_err()
    );
    assert_eq!(file.set_len(u64::MAX).unwrap_err().kind, ErrorKind::NoSpace);
    let direct = OpenOptions { direct: true, ..OpenOptions::new(OpenMode::ReadWrite) };
    let direct = disk.open(&path("f"), direct).unwrap();
    assert!(direct.write_at(&[1; 100], 0).unwrap_err().detail.contains("512"));
    assert!(
        disk.rename(&path("f"), &path("no/dir")).is_err() && disk.rename(&path("g"), &path("h")).is_err()
    );
    assert!(disk.remove_file(Path::new(DIR)).is_err() && disk.create_dir_all(&path("f/d")).is_err());
    assert!(disk.list_dir(&path("f")).is_err() && disk.list_dir(&path("x")).is_err());
    assert_eq!(disk.list_dir(Path::new(DIR)).unwrap(), [path("f")]);
    // A mistake at the moment of the cut does not save the power.
    disk.arm_cut(disk.ops() + 1);
    assert_eq!(kind(open_as("f", OpenMode::CreateNew)), ErrorKind::AlreadyExists);
    assert!(disk.is_off());
}
