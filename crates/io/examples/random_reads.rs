//! Measures random 16 KiB direct reads: one at a time by plain reads, and 32 in flight by batches.
//!
//! `cargo run --release -p vaquita-io --example random_reads -- FILE [MIB]`: creates FILE, reads, removes it.

use std::path::PathBuf;
use std::time::Instant;
use vaquita_base::Rng;
use vaquita_io::{
    AlignedBuf, AsyncIo, BatchOp, File, FileSystem, OpenMode, OpenOptions, RealDisk, RealDiskOptions,
    Transfer,
};

const PAGE: usize = 16 << 10;
const READS: usize = 20_000;

fn main() -> vaquita_io::Result<()> {
    let mut args = std::env::args().skip(1);
    let path = PathBuf::from(args.next().unwrap_or_else(|| "random_reads.tmp".into()));
    let mib: u64 = args.next().and_then(|s| s.parse().ok()).unwrap_or(512);
    let pages = mib << 20 >> 14;

    let disk = RealDisk::default();
    let options = OpenOptions { direct: true, ..OpenOptions::new(OpenMode::CreateNew) };
    let file = disk.open_file(&path, options)?;
    let mut chunk = AlignedBuf::zeroed(1 << 20);
    for i in 0..mib {
        Rng::new(i).fill(&mut chunk);
        file.write_at(&chunk, i << 20)?;
    }
    file.sync()?;
    println!("{mib} MiB, direct: {}", file.is_direct());

    let mut rng = Rng::new(1);
    let mut page = AlignedBuf::zeroed(PAGE);
    let begin = Instant::now();
    for _ in 0..READS {
        file.read_at(&mut page, rng.below(pages) * PAGE as u64)?;
    }
    report("plain, depth 1", begin);

    for native_aio in [true, false] {
        let disk = RealDisk::new(RealDiskOptions { native_aio, batch_depth: 32, io_threads: 32 });
        batches(&disk, &*file, pages, &mut rng)?;
    }
    disk.remove_file(&path)
}

/// One long batch, so that 32 reads are in flight all the time.
fn batches(disk: &RealDisk, file: &dyn File, pages: u64, rng: &mut Rng) -> vaquita_io::Result<()> {
    let mut memory = AlignedBuf::zeroed(2_000 * PAGE);
    let mut outcome = Ok(());
    let begin = Instant::now();
    for _ in 0..READS / 2_000 {
        let mut ops: Vec<BatchOp<'_>> = memory
            .chunks_mut(PAGE)
            .map(|buf| BatchOp {
                file,
                offset: rng.below(pages) * PAGE as u64,
                transfer: Transfer::Read(buf),
            })
            .collect();
        disk.run_batch(&mut ops, &mut |_, _, result| outcome = outcome.clone().and(result));
    }
    let what = match disk.async_io() {
        AsyncIo::Uring => "io_uring, depth 32",
        AsyncIo::Threads => "32 threads",
    };
    report(what, begin);
    outcome
}

fn report(what: &str, begin: Instant) {
    let took = begin.elapsed();
    let each = took / READS as u32;
    println!("{what}: {each:?} per read, {:.0} reads/s", READS as f64 / took.as_secs_f64());
}
