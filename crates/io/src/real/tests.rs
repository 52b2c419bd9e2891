use super::*;
use crate::aligned::{ALIGN, AlignedBuf};
use crate::error::ErrorKind;
use crate::file::OpenMode;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use vaquita_base::Rng;

/// A folder of its own for each test, gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let no = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("vaquita-io-{}-{no}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn options(mode: OpenMode, direct: bool) -> OpenOptions {
    OpenOptions { direct, ..OpenOptions::new(mode) }
}

/// Both engines, as far as the kernel has them.
fn disks() -> Vec<RealDisk> {
    let threads = RealDisk::new(RealDiskOptions { native_aio: false, ..Default::default() });
    assert_eq!(threads.async_io(), AsyncIo::Threads);
    let shallow = RealDisk::new(RealDiskOptions { batch_depth: 3, ..Default::default() });
    vec![RealDisk::default(), shallow, threads]
}

fn random(seed: u64, len: usize) -> AlignedBuf {
    let mut buf = AlignedBuf::zeroed(len);
    Rng::new(seed).fill(&mut buf);
    buf
}

#[test]
fn reads_back_what_was_written_direct_and_buffered() {
    for direct in [false, true] {
        let folder = Folder::new();
        let disk = RealDisk::default();
        let file = disk.open(&folder.file("t.ibd"), options(OpenMode::CreateNew, direct)).unwrap();
        let data = random(1, 5 * ALIGN);
        file.write_at(&data, 3 * ALIGN as u64).unwrap();
        file.sync().unwrap();
        assert_eq!(file.len().unwrap(), 8 * ALIGN as u64);
        let mut back = AlignedBuf::zeroed(8 * ALIGN);
        file.read_at(&mut back, 0).unwrap();
        assert!(back[..3 * ALIGN].iter().all(|&b| b == 0), "a hole reads as zeros");
        assert_eq!(back[3 * ALIGN..], data[..]);
    }
}

/// What became durable cannot be seen here; the way there is another, and must write the same.
#[test]
fn writes_that_are_durable_at_once_are_read_back() {
    for direct in [false, true] {
        let folder = Folder::new();
        let disk = RealDisk::default();
        let file = disk.open_file(&folder.file("log"), options(OpenMode::CreateNew, direct)).unwrap();
        file.set_len(8 * 512).unwrap();
        let data = random(3, 4 * 512);
        file.write_durable_at(&data, 2 * 512).unwrap();
        // Memory from anywhere.
        file.write_durable_at(&data.to_vec()[512..1024], 7 * 512).unwrap();
        let mut back = AlignedBuf::zeroed(8 * 512);
        file.read_at(&mut back, 0).unwrap();
        assert_eq!(back[2 * 512..6 * 512], data[..]);
        assert_eq!(back[7 * 512..], data[512..1024]);
        assert!(back[..1024].iter().chain(&back[6 * 512..7 * 512]).all(|&b| b == 0));
        assert!(file.forces_writes.load(Ordering::Relaxed), "this kernel knows how");
    }
}

/// Kernels and file systems that cannot make single writes durable.
#[test]
fn a_write_is_synced_where_it_cannot_be_durable_by_itself() {
    let folder = Folder::new();
    let disk = RealDisk::default();
    let file = disk.open_file(&folder.file("log"), OpenOptions::new(OpenMode::CreateNew)).unwrap();
    file.forces_writes.store(false, Ordering::Relaxed);
    file.write_durable_at(b"as well", 0).unwrap();
    let mut back = [0; 7];
    file.read_at(&mut back, 0).unwrap();
    assert_eq!(&back, b"as well");
}

#[test]
fn direct_files_bounce_unaligned_memory_and_refuse_unaligned_ranges() {
    let folder = Folder::new();
    let disk = RealDisk::default();
    let file = disk.open_file(&folder.file("t.ibd"), options(OpenMode::CreateNew, true)).unwrap();
    if !file.is_direct() {
        return; // The temporary folder's file system has no direct I/O.
    }
    let data = random(2, 2048 + 1);
    file.write_at(&data[1..], 1024).unwrap();
    let mut back = vec![0; 2048 + 1];
    let odd = usize::from((back.as_ptr() as usize).is_multiple_of(2));
    file.read_at(&mut back[odd..odd + 2048], 1024).unwrap();
    assert_eq!(back[odd..odd + 2048], data[1..]);

    let e = file.read_at(&mut AlignedBuf::zeroed(512), 100).unwrap_err();
    assert_eq!((e.kind, e.range), (ErrorKind::Other, Some((100, 512))));
    assert!(e.detail.contains("512"), "{e}");
    let e = file.write_at(&data[..100], 512).unwrap_err();
    assert_eq!((e.kind, e.range), (ErrorKind::Other, Some((512, 100))));
}

#[test]
fn reads_past_the_end_say_how_much_there_was() {
    for direct in [false, true] {
        let folder = Folder::new();
        let path = folder.file("short");
        std::fs::write(&path, vec![7; ALIGN + 100]).unwrap();
        let file = RealDisk::default().open(&path, options(OpenMode::Read, direct)).unwrap();
        let mut buf = AlignedBuf::zeroed(2 * ALIGN);
        let e = file.read_at(&mut buf, 0).unwrap_err();
        assert_eq!(e.kind, ErrorKind::ShortRead);
        assert_eq!(e.range, Some((0, 2 * ALIGN)));
        assert!(e.to_string().contains("the file ends after 4196 of them"), "{e}");
        let e = file.read_at(&mut buf, 1 << 20).unwrap_err();
        assert_eq!((e.kind, e.range), (ErrorKind::ShortRead, Some((1 << 20, 2 * ALIGN))));
    }
}

#[test]
fn set_len_allocates_space_and_cuts() {
    use std::os::unix::fs::MetadataExt;
    let folder = Folder::new();
    let path = folder.file("grow");
    let file = RealDisk::default().open(&path, OpenOptions::new(OpenMode::CreateNew)).unwrap();
    file.write_at(&[9; 100], 0).unwrap();
    file.set_len(1 << 20).unwrap();
    assert_eq!(file.len().unwrap(), 1 << 20);
    file.sync().unwrap();
    let allocated = std::fs::metadata(&path).unwrap().blocks() * 512;
    assert!(allocated >= 1 << 20, "only {allocated} bytes are really there");
    let mut back = vec![1; 1 << 20];
    file.read_at(&mut back, 0).unwrap();
    assert_eq!(back.iter().filter(|&&b| b == 9).count(), 100);
    assert!(back[100..].iter().all(|&b| b == 0));

    file.set_len(50).unwrap();
    file.set_len(100).unwrap();
    let mut back = vec![1; 100];
    file.read_at(&mut back, 0).unwrap();
    assert_eq!((&back[..50], &back[50..]), (&[9; 50][..], &[0; 50][..]));
}

#[test]
fn growth_that_cannot_happen_leaves_the_length() {
    let folder = Folder::new();
    let file = RealDisk::default().open(&folder.file("big"), OpenOptions::new(OpenMode::CreateNew)).unwrap();
    file.write_at(&[1; 4096], 0).unwrap();
    let e = file.set_len(1 << 60).unwrap_err();
    assert_eq!(e.kind, ErrorKind::NoSpace, "{e}");
    assert_eq!(file.len().unwrap(), 4096);
}

#[test]
fn a_full_disk_is_told_apart() {
    let file =
        RealDisk::default().open(Path::new("/dev/full"), OpenOptions::new(OpenMode::ReadWrite)).unwrap();
    let e = file.write_at(&[1; 512], 1024).unwrap_err();
    assert_eq!(e.kind, ErrorKind::NoSpace);
    assert!(e.to_string().starts_with("cannot write /dev/full at byte 1024 (512 bytes): No space"), "{e}");
}

#[test]
fn a_failed_sync_is_final() {
    // A character device cannot be synced; what matters is that the second answer is no better.
    let file =
        RealDisk::default().open(Path::new("/dev/full"), OpenOptions::new(OpenMode::ReadWrite)).unwrap();
    assert_eq!(file.sync().unwrap_err().op, "sync");
    assert!(file.sync().unwrap_err().detail.contains("reopened"));
    let nosync = OpenOptions { nosync: true, ..OpenOptions::new(OpenMode::ReadWrite) };
    RealDisk::default().open(Path::new("/dev/full"), nosync).unwrap().sync().unwrap();
}

#[test]
fn errors_name_operation_and_file() {
    let folder = Folder::new();
    let disk = RealDisk::default();
    let path = folder.file("absent");
    let open = |mode| disk.open(&path, OpenOptions::new(mode));
    let e = open(OpenMode::ReadWrite).unwrap_err();
    assert_eq!((e.kind, e.op, e.path.as_path()), (ErrorKind::NotFound, "open", path.as_path()));
    open(OpenMode::CreateNew).unwrap();
    let e = open(OpenMode::CreateNew).unwrap_err();
    assert_eq!((e.kind, e.op), (ErrorKind::AlreadyExists, "create"));
    let e = open(OpenMode::Read).unwrap().write_at(b"x", 0).unwrap_err();
    assert_eq!((e.kind, e.op, e.range), (ErrorKind::Other, "write", Some((0, 1))));
    let e = open(OpenMode::ReadWrite).unwrap().read_at(&mut [0; 2], u64::MAX).unwrap_err();
    assert!(e.detail.contains("largest offset"), "{e}");

    let missing = folder.file("nowhere");
    assert_eq!(disk.remove_file(&missing).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(disk.rename(&missing, &path).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(disk.list_dir(&missing).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(disk.sync_dir(&missing).unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn directories() {
    let folder = Folder::new();
    let disk = RealDisk::default();
    let (db, a, b) = (folder.file("x/db"), folder.file("x/db/a.ibd"), folder.file("x/db/b.ibd"));
    disk.create_dir_all(&db).unwrap();
    disk.create_dir_all(&db).unwrap();
    assert!(disk.is_dir(&db) && disk.exists(&db));
    for path in [&b, &a] {
        disk.open(path, OpenOptions::new(OpenMode::CreateNew)).unwrap();
    }
    disk.sync_dir(&db).unwrap();
    assert_eq!(disk.list_dir(&db).unwrap(), [a.clone(), b.clone()]);
    disk.rename(&a, &b).unwrap();
    assert!(!disk.exists(&a) && disk.exists(&b) && !disk.is_dir(&b));
    disk.remove_file(&b).unwrap();
    assert!(disk.list_dir(&db).unwrap().is_empty());

    // Others cannot look into what is made, whatever the umask; nothing but what is empty is removed.
    let made = folder.file("deep/er");
    disk.create_dir_all(&made).unwrap();
    for path in [made.parent().unwrap(), &made] {
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
    }
    assert!(disk.remove_dir(made.parent().unwrap()).is_err());
    disk.remove_dir(&made).unwrap();
    // One that lies elsewhere, as databases may.
    let (elsewhere, link) = (made.with_extension("elsewhere"), made.with_extension("link"));
    disk.create_dir_all(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
    std::fs::write(link.join("x"), "").unwrap();
    assert!(disk.remove_dir(&link).is_err() && link.exists());
    disk.remove_file(&link.join("x")).unwrap();
    disk.remove_dir(&link).unwrap();
    assert!(!elsewhere.exists() && !link.is_symlink());
    assert!(!disk.exists(&made));
}

#[test]
fn filling_with_zeros_stands_in_for_allocation() {
    let folder = Folder::new();
    for direct in [false, true] {
        let path = folder.file(if direct { "direct" } else { "buffered" });
        let file = RealDisk::default().open_file(&path, options(OpenMode::CreateNew, direct)).unwrap();
        file.write_at(&AlignedBuf::from_slice(&[5; 512]), 0).unwrap();
        file.grow_by_writing(512, (2 << 20) + 7).unwrap();
        let all = std::fs::read(&path).unwrap();
        assert_eq!(all.len(), (2 << 20) + 7);
        assert_eq!(all.iter().filter(|&&b| b == 5).count(), 512);
        assert!(all[512..].iter().all(|&b| b == 0));
    }
}

#[test]
fn batches_of_hundreds_carry_every_page_to_its_place() {
    const PAGES: usize = 600;
    const PAGE: usize = ALIGN;
    for disk in disks() {
        for direct in [false, true] {
            let folder = Folder::new();
            let files: Vec<_> = (0..3)
                .map(|i| {
                    let path = folder.file(&format!("f{i}"));
                    disk.open(&path, options(OpenMode::CreateNew, direct)).unwrap()
                })
                .collect();
            let data = random(7, PAGES * PAGE);
            let mut order: Vec<usize> = (0..PAGES).collect();
            let mut rng = Rng::new(3);
            for i in (1..PAGES).rev() {
                order.swap(i, rng.index(i + 1));
            }
            let place = |page: usize| (&*files[page % 3], (page / 3 * PAGE) as u64);
            let mut ops: Vec<BatchOp<'_>> = order
                .iter()
                .map(|&page| {
                    let (file, offset) = place(page);
                    let transfer = Transfer::Write(&data[page * PAGE..][..PAGE]);
                    BatchOp { file, offset, transfer }
                })
                .collect();
            let mut seen = vec![0; PAGES];
            disk.run_batch(&mut ops, &mut |i, op, result| {
                result.unwrap();
                assert_eq!(op.offset, place(order[i]).1);
                seen[i] += 1;
            });
            assert_eq!(seen, [1; PAGES]);

            let mut back = AlignedBuf::zeroed(PAGES * PAGE);
            let mut ops: Vec<BatchOp<'_>> = back
                .chunks_mut(PAGE)
                .enumerate()
                .map(|(page, buf)| {
                    let (file, offset) = place(page);
                    BatchOp { file, offset, transfer: Transfer::Read(buf) }
                })
                .collect();
            let mut good = 0;
            disk.run_batch(&mut ops, &mut |i, op, result| {
                result.unwrap();
                let Transfer::Read(buf) = &op.transfer else { panic!("a read became a write") };
                good += usize::from(buf[..] == data[i * PAGE..][..PAGE]);
            });
            assert_eq!(good, PAGES);
        }
    }
}

#[test]
fn a_batch_reports_each_failure_where_it_belongs() {
    for disk in disks() {
        let folder = Folder::new();
        for direct in [false, true] {
            let path = folder.file(if direct { "d" } else { "b" });
            std::fs::write(&path, vec![3; 3 * ALIGN + 100]).unwrap();
            let file = disk.open(&path, options(OpenMode::Read, direct)).unwrap();
            let mut bufs: Vec<AlignedBuf> = (0..7).map(|_| AlignedBuf::zeroed(ALIGN)).collect();
            let payload = AlignedBuf::zeroed(ALIGN);
            let mut ops: Vec<BatchOp<'_>> = bufs
                .iter_mut()
                .enumerate()
                .map(|(i, buf)| {
                    let offset = if i == 6 { u64::MAX } else { (i * ALIGN) as u64 };
                    let transfer =
                        if i == 5 { Transfer::Write(&payload) } else { Transfer::Read(&mut buf[..]) };
                    BatchOp { file: &*file, offset, transfer }
                })
                .collect();
            let mut kinds = vec![None; 7];
            disk.run_batch(&mut ops, &mut |i, op, result| {
                kinds[i] = Some(result.map_err(|e| {
                    assert_eq!((e.path, e.range), (path.clone(), Some((op.offset, ALIGN))));
                    e.kind
                }));
            });
            let short = Some(Err(ErrorKind::ShortRead));
            let other = Some(Err(ErrorKind::Other));
            assert_eq!(kinds, [Some(Ok(())), Some(Ok(())), Some(Ok(())), short, short, other, other]);
        }
    }
}

#[test]
fn unaligned_and_empty_transfers_go_through_a_batch_too() {
    for disk in disks() {
        let folder = Folder::new();
        let file = disk.open(&folder.file("t"), options(OpenMode::CreateNew, true)).unwrap();
        let data = random(5, 4 * 512 + 1);
        let mut ops: Vec<BatchOp<'_>> = (0..4)
            .map(|i| BatchOp {
                file: &*file,
                offset: i as u64 * 512,
                transfer: Transfer::Write(&data[1 + i * 512..][..512]),
            })
            .chain([BatchOp { file: &*file, offset: 0, transfer: Transfer::Write(&[]) }])
            .collect();
        let mut count = 0;
        disk.run_batch(&mut ops, &mut |_, _, result| {
            result.unwrap();
            count += 1;
        });
        assert_eq!(count, 5);
        let mut back = AlignedBuf::zeroed(4 * 512);
        file.read_at(&mut back, 0).unwrap();
        assert_eq!(back[..], data[1..]);
    }
}

#[test]
fn a_panicking_callback_leaves_no_transfer_behind() {
    for disk in disks() {
        let folder = Folder::new();
        let file = disk.open(&folder.file("t"), options(OpenMode::CreateNew, true)).unwrap();
        file.set_len(256 * ALIGN as u64).unwrap();
        let mut bufs: Vec<AlignedBuf> = (0..256).map(|_| AlignedBuf::from_slice(&[0xEE; ALIGN])).collect();
        let mut called = 0;
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut ops: Vec<BatchOp<'_>> = bufs
                .iter_mut()
                .enumerate()
                .map(|(i, buf)| BatchOp {
                    file: &*file,
                    offset: (i * ALIGN) as u64,
                    transfer: Transfer::Read(&mut buf[..]),
                })
                .collect();
            disk.run_batch(&mut ops, &mut |_, _, _| {
                called += 1;
                assert!(called < 3, "stop here");
            });
        }));
        assert!(outcome.is_err());
        assert_eq!(called, 3);
        // Every buffer is either untouched or fully read; marks made now must stay.
        for buf in &mut bufs {
            assert!(buf.iter().all(|&b| b == 0) || buf.iter().all(|&b| b == 0xEE));
            buf.fill(0x11);
        }
        let mut again = AlignedBuf::zeroed(2 * ALIGN);
        let (a, b) = again.split_at_mut(ALIGN);
        let mut ops = [(0, a), (1, b)].map(|(i, buf)| BatchOp {
            file: &*file,
            offset: i * ALIGN as u64,
            transfer: Transfer::Read(buf),
        });
        disk.run_batch(&mut ops, &mut |_, _, result| result.unwrap());
        assert!(bufs.iter().all(|buf| buf.iter().all(|&b| b == 0x11)));
    }
}

#[test]
fn batches_nest_and_run_from_many_threads() {
    for disk in disks() {
        let folder = Folder::new();
        let file = disk.open(&folder.file("t"), OpenOptions::new(OpenMode::CreateNew)).unwrap();
        let data = random(11, 64 * ALIGN);
        file.write_at(&data, 0).unwrap();
        let read_all = |nested: bool| {
            let mut back = AlignedBuf::zeroed(64 * ALIGN);
            let mut ops: Vec<BatchOp<'_>> = back
                .chunks_mut(ALIGN)
                .enumerate()
                .map(|(i, buf)| BatchOp {
                    file: &*file,
                    offset: (i * ALIGN) as u64,
                    transfer: Transfer::Read(buf),
                })
                .collect();
            disk.run_batch(&mut ops, &mut |i, _, result| {
                result.unwrap();
                if nested && i % 16 == 0 {
                    let mut two = AlignedBuf::zeroed(2 * ALIGN);
                    let (a, b) = two.split_at_mut(ALIGN);
                    let mut inner = [(0, a), (1, b)].map(|(i, buf)| BatchOp {
                        file: &*file,
                        offset: i * ALIGN as u64,
                        transfer: Transfer::Read(buf),
                    });
                    disk.run_batch(&mut inner, &mut |_, _, result| result.unwrap());
                    assert_eq!(two[..], data[..2 * ALIGN]);
                }
            });
            assert_eq!(back[..], data[..]);
        };
        std::thread::scope(|scope| {
            for nested in [false, true, false, true] {
                scope.spawn(move || read_all(nested));
            }
        });
    }
}

/// The name of a large file is gone when the call returns, as that of a small one; nothing keeps its space in the end.
#[test]
fn a_large_file_that_is_removed_is_gone_and_closed() {
    let folder = Folder::new();
    let disk = RealDisk::default();
    for (name, len) in [("small.ibd", 4096), ("large.ibd", releases::LARGE)] {
        let path = folder.file(name);
        disk.open(&path, options(OpenMode::CreateNew, false)).unwrap().set_len(len).unwrap();
        disk.remove_file(&path).unwrap();
        assert!(!disk.exists(&path), "{name}");
        assert_eq!(disk.remove_file(&path).unwrap_err().kind, ErrorKind::NotFound);
    }
    disk.releases.open().wait();
    let still_open = |file: std::io::Result<std::fs::DirEntry>| {
        let target = std::fs::read_link(file.unwrap().path()).unwrap_or_default();
        target.starts_with(&folder.0).then_some(target)
    };
    let left: Vec<_> = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(still_open).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A link is removed itself, whatever it leads to.
#[test]
fn what_a_link_leads_to_stays() {
    let folder = Folder::new();
    let disk = RealDisk::default();
    let (target, link) = (folder.file("target.ibd"), folder.file("link.ibd"));
    let file = disk.open(&target, options(OpenMode::CreateNew, false)).unwrap();
    file.set_len(releases::LARGE).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    disk.remove_file(&link).unwrap();
    assert_eq!((disk.exists(&link), disk.exists(&target)), (false, true));
}
