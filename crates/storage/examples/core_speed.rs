//! Speed of the storage core's primitives, on the real disk: `cargo run --release -p vaquita-storage --example core_speed [DIR]`.
//!
//! Prints nanoseconds per page hit (latched and optimistic), per mini-transaction, and durable commits per second.

use std::sync::Arc;
use std::time::Instant;
use vaquita_base::{PageId, PageNo, Rng, SpaceId, SystemClock};
use vaquita_format::flags::SpaceFlags;
use vaquita_io::real::{RealDisk, RealDiskOptions};
use vaquita_storage::fsp::{self, Direction, HeaderPlace};
use vaquita_storage::{Options, Result, Services, Storage};

const SPACE: SpaceId = SpaceId(9);
const PAGES: usize = 1_000;

fn main() -> Result<()> {
    let dir =
        std::env::args().nth(1).map_or_else(|| std::env::temp_dir().join("vaquita-core-speed"), Into::into);
    if dir.exists() {
        std::fs::remove_dir_all(&dir).expect("an old folder of this program can be removed");
    }
    let fs = Arc::new(RealDisk::new(RealDiskOptions::default()));
    let options = Options { log_file_size: 256 << 20, ..Options::new(&dir) };
    let storage = Arc::new(Storage::open(fs, Arc::new(SystemClock::new()), options)?);
    let services = Services::start(&storage)?;
    let flags = SpaceFlags::new(storage.options().page_size, false, false).expect("16K pages have flags");
    storage.create_table_space(SPACE, flags, "t")?;
    let mut mtr = storage.begin()?;
    mtr.keep_before_images();
    let segment = fsp::create_segment(&mut mtr, SPACE, HeaderPlace::OnFirstPage { offset: 100 })?.header;
    mtr.commit();
    let mut pages = Vec::new();
    for _ in 0..PAGES {
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        let page = fsp::create_page(&mut mtr, segment, PageNo::NULL, Direction::Up)?;
        pages.push(mtr.id(page));
        mtr.commit();
    }
    for threads in [1, 2] {
        per_op(&format!("page_get_shared_hit_{threads}t"), threads, 2_000_000, &pages, |page| {
            let guard = storage.pool().get_shared(page).expect("in the pool");
            std::hint::black_box(guard[1_000]);
        });
        per_op(&format!("page_optimistic_hit_{threads}t"), threads, 4_000_000, &pages, |page| {
            if let Some(p) = storage.pool().optimistic(page) {
                std::hint::black_box(p.bytes().u16(1_000));
                std::hint::black_box(p.validate());
            }
        });
        per_op(&format!("mtr_write_8_bytes_{threads}t"), threads, 1_000_000, &pages, |page| {
            let mut mtr = storage.begin().expect("usable");
            let page = mtr.get_exclusive(page).expect("in the pool");
            mtr.write_u64(page, 2_000, 7);
            std::hint::black_box(mtr.commit());
        });
    }
    for threads in [1, 8, 64] {
        let before = storage.log().stats().syncs.get();
        let each = 16_000 / threads;
        let start = Instant::now();
        std::thread::scope(|s| {
            for t in 0..threads {
                let (storage, pages) = (&storage, &pages);
                s.spawn(move || {
                    let mut rng = Rng::new(t as u64);
                    for _ in 0..each {
                        let mut mtr = storage.begin().expect("usable");
                        let page = mtr.get_exclusive(pages[rng.index(PAGES)]).expect("in the pool");
                        mtr.write_u64(page, 2_000, 7);
                        let lsn = mtr.commit();
                        storage.log().flush_up_to(lsn).expect("the disk works");
                    }
                });
            }
        });
        let n = each * threads;
        let syncs = storage.log().stats().syncs.get() - before;
        let rate = n as f64 / start.elapsed().as_secs_f64();
        println!(
            "{:32} {rate:10.0} /s   {:.1} commits per sync",
            format!("commit_durable_{threads}t"),
            n as f64 / syncs as f64
        );
    }
    drop(services);
    storage.close()
}

fn per_op(name: &str, threads: usize, n: usize, pages: &[PageId], op: impl Fn(PageId) + Sync) {
    let start = Instant::now();
    std::thread::scope(|s| {
        for t in 0..threads {
            let op = &op;
            s.spawn(move || {
                let mut rng = Rng::new(t as u64);
                for _ in 0..n {
                    op(pages[rng.index(PAGES)]);
                }
            });
        }
    });
    let ns = start.elapsed().as_nanos() as f64 / (n * threads) as f64;
    println!("{name:32} {ns:10.1} ns/op over all threads");
}
