//! Power cuts at every operation that changes the disk, over several lives of a log.
//!
//! The rule: what a life acknowledged as durable is there in the next, together with some further
//! mini-transactions in order, whole, and nothing else.

use vaquita_io::{OpenMode, OpenOptions};

use super::*;

/// What should be on the disk.
#[derive(Default)]
struct History {
    /// Everything appended and not yet known to be lost, oldest first.
    groups: Vec<Seen>,
    /// Acknowledged as durable up to here.
    acknowledged: Lsn,
    /// A checkpoint at or above this LSN is durable.
    checkpoint: Lsn,
    /// Whether creation was acknowledged.
    created: bool,
    next_id: u64,
}

impl History {
    /// Appends, writes, flushes and checkpoints at random until the power goes off.
    fn live(&mut self, log: &RedoLog, rng: &mut Rng, steps: usize) -> Result<()> {
        for _ in 0..steps {
            let len = random_len(rng) % 2_500 + GROUP_MIN;
            match log.try_reserve_room(len) {
                Some(room) => {
                    let seen = Seen::new(self.next_id, append(log, self.next_id, len));
                    log.release_room(room);
                    self.groups.push(seen);
                    self.next_id += 1;
                }
                None => self.checkpoint(log, rng)?,
            }
            match rng.below(12) {
                0..3 if !self.groups.is_empty() => {
                    let at = self.groups[rng.index(self.groups.len())].end;
                    log.flush_up_to(at)?;
                    self.acknowledged = self.acknowledged.max(at);
                }
                3 => {
                    log.writer_step()?;
                }
                4 => {
                    log.flush_step()?;
                    self.acknowledged = log.flushed_lsn();
                }
                5 => self.checkpoint(log, rng)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn checkpoint(&mut self, log: &RedoLog, rng: &mut Rng) -> Result<()> {
        let first = self.groups.partition_point(|g| g.start < self.checkpoint);
        let lsn = match &self.groups[first..] {
            [] => log.current_lsn(),
            _ if rng.one_in(4) => log.current_lsn(),
            since => since[rng.index(since.len())].start,
        };
        log.write_checkpoint(lsn)?;
        self.checkpoint = self.checkpoint.max(lsn);
        self.acknowledged = self.acknowledged.max(lsn);
        Ok(())
    }

    /// Compares what the scan found with what must and may be there, and forgets what is lost.
    fn check(&mut self, from: Lsn, seen: &[Seen]) -> std::result::Result<(), String> {
        if from < self.checkpoint {
            return Err(format!("checkpoint at {from}, but {} was acknowledged", self.checkpoint));
        }
        let first = self.groups.partition_point(|g| g.start < from);
        if first < self.groups.len() && self.groups[first].start != from
            || first == self.groups.len() && self.groups.last().is_some_and(|g| g.end != from)
        {
            return Err(format!("checkpoint at {from}, within a mini-transaction"));
        }
        let expected = &self.groups[first..];
        if seen.len() > expected.len() || seen != &expected[..seen.len()] {
            return Err(format!("found {seen:?}\nappended {expected:?}"));
        }
        let end = seen.last().map_or(from, |s| s.end);
        if end < self.acknowledged {
            return Err(format!("the log ends at {end}, but {} was acknowledged", self.acknowledged));
        }
        self.groups.truncate(first + seen.len());
        (self.acknowledged, self.checkpoint) = (end, from);
        Ok(())
    }
}

const NEW: NewLog = NewLog { files: 2, file_bytes: 2048 + 512 * 24, first_lsn: FIRST_LSN };

/// Lives `lives` times, with a power cut at operation `cut` of the first life and random ones later. False if the
/// first cut never came. Every second seed's log goes without the page cache.
fn run(seed: u64, cut: u64, lives: usize, lie: bool) -> std::result::Result<bool, String> {
    let way = LogConfig { direct: seed % 2 == 1, ..config(BUFFER_BYTES_MIN) };
    let mut disk = disk(seed);
    disk.lie_about_sync(lie);
    disk.arm_cut(cut);
    let mut rng = Rng::new(seed ^ cut << 32);
    let mut history = History::default();
    for life in 0..lives {
        let outcome = open_or_create(&disk, &way, &mut history)?.map(|log| history.live(&log, &mut rng, 100));
        let cut_came = disk.is_off();
        match outcome {
            Some(Err(error)) if !cut_came => return Err(format!("failed without a power cut: {error}")),
            _ => {}
        }
        if life == 0 && !cut_came {
            return Ok(false);
        }
        disk = disk.restart();
        disk.arm_cut(1 + rng.below(120));
    }
    disk = disk.restart();
    open_or_create(&disk, &way, &mut history)?;
    Ok(true)
}

/// Starts a life: `None` if the power went off meanwhile.
fn open_or_create(
    disk: &SimDisk,
    way: &LogConfig,
    history: &mut History,
) -> std::result::Result<Option<RedoLog>, String> {
    let give_up = |error: super::super::LogError| {
        if disk.is_off() { Ok(None) } else { Err(format!("cannot start: {error}")) }
    };
    if !super::super::files::exists(disk, Path::new(DIR)) {
        if disk.is_off() {
            return Ok(None);
        }
        if history.created {
            return Err("the log is gone".into());
        }
        return match RedoLog::create(disk, clock(), way.clone(), NEW) {
            Ok(log) => {
                history.created = true;
                (history.acknowledged, history.checkpoint) = (FIRST_LSN, FIRST_LSN);
                Ok(Some(log))
            }
            Err(error) => give_up(error),
        };
    }
    let mut reader = match open(disk) {
        Ok(reader) => reader,
        Err(error) => return give_up(error),
    };
    let seen = match scan(&mut reader) {
        Ok(seen) => seen,
        Err(error) => return give_up(error),
    };
    history.created = true;
    history.check(reader.checkpoint_lsn(), &seen)?;
    reader.into_log(clock(), way.clone()).map(Some).or_else(give_up)
}

#[test]
fn every_cut_keeps_what_was_acknowledged() {
    for seed in 0..8 {
        let mut cut = 1;
        while run(seed, cut, 4, false).unwrap_or_else(|e| panic!("seed {seed}, cut {cut}: {e}")) {
            cut += 1;
        }
        // Without the page cache a commit is one operation and not two.
        let least = if seed % 2 == 1 { 50 } else { 60 };
        assert!(cut > least, "seed {seed}: only {cut} operations");
    }
}

#[test]
fn a_disk_that_lies_about_syncs_is_found_out() {
    for seed in [7, 8] {
        let caught = (1..200).filter(|&cut| run(seed, cut, 2, true).is_err()).count();
        assert!(caught > 0, "this harness sees nothing with seed {seed}");
    }
}

/// Writes into a file behind the log's back.
fn poke(disk: &SimDisk, path: &Path, offset: usize, bytes: &[u8]) {
    let file = disk.open(path, OpenOptions::new(OpenMode::ReadWrite)).unwrap();
    file.write_at(bytes, offset as u64).unwrap();
}

/// Remnants: blocks behind one that a power cut lost. When a later life has filled that place exactly, they follow
/// with the right numbers and checksums, and only their checkpoint numbers tell.
#[test]
fn blocks_of_earlier_lives_do_not_come_back() {
    let mut disk = disk(1);
    drop(create(&disk, SMALL));
    let path = Path::new(DIR).join("ib_logfile0");
    let offset = |lsn: Lsn| 2048 + (lsn.get() as usize / 512 - 16) * 512;
    let mut expected: Vec<Seen> = Vec::new();
    for life in 0..5 {
        let (seen, log) = reopen(&disk);
        assert_eq!(seen, expected);
        // Exactly one block; the empty one behind it is lost.
        let remnants = disk.contents(&path).unwrap();
        let kept = Seen::new(life, append(&log, life, 496));
        log.write_up_to(kept.end).unwrap();
        let next = offset(kept.end);
        assert_eq!(disk.contents(&path).unwrap()[next + 5], 12, "an empty block");
        poke(&disk, &path, next, &remnants[next..next + 512]);
        expected.push(kept);
        let mut reader = open(&disk).unwrap();
        assert_eq!(scan(&mut reader).unwrap(), expected);
        if life > 0 {
            let reason = reader.end_reason().unwrap();
            assert!(reason.contains("before the log was last opened"), "{reason}");
        }
        // Six blocks more, of which the first is lost.
        for id in 1..7 {
            append(&log, life * 100 + id, 496);
        }
        log.writer_step().unwrap();
        poke(&disk, &path, next, &[0; 512]);
        disk = disk.after_kill();
    }
}

/// The block at the end of the log may be lost while it holds nothing; a checkpoint there must find it again.
#[test]
fn a_checkpoint_at_a_lost_empty_block_works() {
    let disk = disk(2);
    let log = create(&disk, SMALL);
    let seen = Seen::new(1, append(&log, 1, 496 * 2));
    log.flush_up_to(seen.end).unwrap();
    let path = Path::new(DIR).join("ib_logfile0");
    poke(&disk, &path, 2048 + 1024, &[0; 512]);
    let disk = disk.after_kill();
    let (found, log) = reopen(&disk);
    assert_eq!((found, log.current_lsn()), (vec![seen], seen.end));
    log.write_checkpoint(seen.end).unwrap();
    disk.power_cut();
    let (found, log) = reopen(&disk.restart());
    assert_eq!((found, log.current_lsn()), (vec![], seen.end));
}
