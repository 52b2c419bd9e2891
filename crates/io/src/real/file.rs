//! A file of the real disk.
//!
//! Positioned reads and writes that go on until the whole range is done. Direct I/O is asked for after opening
//! (an open with O_DIRECT that the file system refuses may already have created the file), and given up for the
//! whole file when the disk's block turns out larger than the caller's unit.
//!
//! # Direct transfers
//! The kernel takes only memory, offsets and lengths at multiples of the disk's block. Offsets and lengths must be
//! multiples of 512 here, anything else is the caller's mistake and an error. Memory that is not aligned is
//! bounced through an [`AlignedBuf`]. A disk whose block is larger than the range (4096-byte blocks under 1 KiB
//! pages) answers "invalid": the file then goes on through the page cache, slower and just as correct.
//!
//! # Crash
//! A write is durable after [`File::sync`], or at once if it asked for that or the file was opened with `dsync`.
//! `fdatasync` is enough: it carries the length and the extents needed to read the data back, and leaves out only
//! times. After a failed sync the kernel may have dropped the data and would call the next sync a success, so the
//! failure is remembered.

use super::releases::Open;
use crate::aligned::{ALIGN, AlignedBuf, SECTOR};
use crate::error::{Error, ErrorKind, Result};
use crate::file::{File, OpenMode, OpenOptions};
use parking_lot::Mutex;
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::{Errno, ReadWriteFlags};
use std::io::IoSlice;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Zeros written at a time where the file system cannot allocate without writing.
const ZERO_CHUNK: usize = 1 << 20;

/// An open file of a [`super::RealDisk`].
#[derive(Debug)]
pub struct RealFile {
    fd: OwnedFd,
    path: PathBuf,
    nosync: bool,
    /// Read and written relaxed: the kernel's own flag decides, this one only chooses the path taken.
    direct: AtomicBool,
    /// Single writes can be made durable. Relaxed: whoever does not know yet is told by the kernel.
    pub(super) forces_writes: AtomicBool,
    /// Set before a failed sync returns; Release and Acquire, so that whoever heard of the failure sees it here.
    sync_failed: AtomicBool,
    /// Held while the length is changed, so that a failed growth restores the length it found.
    resize: Mutex<()>,
    /// Whose space the disk gets back before it is said to be full.
    removed: Arc<Open>,
}

/// Why a transfer stopped before its end.
enum Stop {
    /// The file ends after so many bytes of the range.
    End(usize),
    /// The system's error.
    Os(Errno),
}

impl RealFile {
    pub(super) fn open(path: &Path, options: OpenOptions, removed: &Arc<Open>) -> Result<Self> {
        let mut flags = match options.mode {
            OpenMode::Read => OFlags::RDONLY,
            OpenMode::ReadWrite => OFlags::RDWR,
            OpenMode::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
        } | OFlags::CLOEXEC;
        if options.dsync {
            flags |= OFlags::DSYNC;
        }
        let op = if options.mode == OpenMode::CreateNew { "create" } else { "open" };
        let mode = Mode::from_raw_mode(0o640);
        let fd = retry(|| rustix::fs::open(path, flags, mode)).map_err(|e| os(e, op, path))?;
        let direct = options.direct && set_direct(&fd, true).is_ok();
        Ok(Self {
            fd,
            path: path.to_owned(),
            nosync: options.nosync,
            direct: AtomicBool::new(direct),
            forces_writes: AtomicBool::new(true),
            sync_failed: AtomicBool::new(false),
            resize: Mutex::new(()),
            removed: removed.clone(),
        })
    }

    /// Whether transfers bypass the page cache.
    pub fn is_direct(&self) -> bool {
        self.direct.load(Ordering::Relaxed)
    }

    /// Goes on through the page cache. Idempotent.
    fn leave_direct(&self) -> Result<()> {
        self.direct.store(false, Ordering::Relaxed);
        set_direct(&self.fd, false).map_err(|e| os(e, "leave direct I/O on", &self.path))
    }

    /// What to do before the kernel is asked for a transfer.
    fn check_range(&self, op: &'static str, offset: u64, len: usize) -> Result<()> {
        let fail = |detail| Err(Error::new(ErrorKind::Other, op, &self.path, detail).at(offset, len));
        match offset.checked_add(len as u64) {
            Some(end) if end <= i64::MAX as u64 => {}
            _ => return fail("the range ends past the largest offset"),
        }
        if self.is_direct() && (!offset.is_multiple_of(SECTOR as u64) || !len.is_multiple_of(SECTOR)) {
            return fail("direct I/O needs offset and length at multiples of 512");
        }
        Ok(())
    }

    fn stopped(&self, stop: &Stop, op: &'static str, offset: u64, len: usize) -> Error {
        match stop {
            Stop::End(got) => {
                let detail = format!("the file ends after {got} of them");
                Error::new(ErrorKind::ShortRead, op, &self.path, detail).at(offset, len)
            }
            Stop::Os(errno) => os(*errno, op, &self.path).at(offset, len),
        }
    }

    /// One range into memory that the kernel takes as it is.
    fn read_plain(&self, buf: &mut [u8], offset: u64) -> std::result::Result<(), Stop> {
        let mut done = 0;
        while done < buf.len() {
            let n = retry(|| rustix::io::pread(&self.fd, &mut buf[done..], offset + done as u64))
                .map_err(Stop::Os)?;
            if n == 0 {
                return Err(Stop::End(done));
            }
            let before = done;
            done += n;
            if done < buf.len() && self.is_direct() && !done.is_multiple_of(SECTOR) {
                // Direct reads stop inside a block only where the file ends.
                if offset + done as u64 >= self.stat_len().map_err(Stop::Os)? {
                    return Err(Stop::End(done));
                }
                done = self.resume_at(done, before)?;
            }
        }
        Ok(())
    }

    fn write_plain(&self, buf: &[u8], offset: u64, how: ReadWriteFlags) -> std::result::Result<(), Stop> {
        let mut done = 0;
        while done < buf.len() {
            let n = retry(|| pwrite(&self.fd, &buf[done..], offset + done as u64, how)).map_err(Stop::Os)?;
            if n == 0 {
                return Err(Stop::Os(Errno::IO));
            }
            let before = done;
            done += n;
            if done < buf.len() && self.is_direct() && !done.is_multiple_of(SECTOR) {
                done = self.resume_at(done, before)?;
            }
        }
        Ok(())
    }

    /// A direct transfer stopped inside a sector: begin again at that sector's start, or give up direct I/O if
    /// that would go nowhere.
    fn resume_at(&self, done: usize, before: usize) -> std::result::Result<usize, Stop> {
        let sector_start = done - done % SECTOR;
        if sector_start > before {
            return Ok(sector_start);
        }
        self.leave_direct().map_err(|_| Stop::Os(Errno::IO))?;
        Ok(done)
    }

    /// Whether a direct transfer that the kernel calls invalid should be tried again, and how.
    fn after_invalid(&self, address: usize) -> Result<Retry> {
        if !address.is_multiple_of(ALIGN) {
            return Ok(Retry::Bounced);
        }
        self.leave_direct()?;
        Ok(Retry::Plain)
    }

    fn read_bounced(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let mut bounce = AlignedBuf::zeroed(buf.len());
        self.read_aligned(&mut bounce, offset)?;
        buf.copy_from_slice(&bounce);
        Ok(())
    }

    fn read_aligned(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let was_direct = self.is_direct();
        let stop = match self.read_plain(buf, offset) {
            Ok(()) => return Ok(()),
            Err(Stop::Os(Errno::INVAL)) if was_direct => match self.after_invalid(buf.as_ptr() as usize)? {
                Retry::Bounced => return self.read_bounced(buf, offset),
                Retry::Plain => match self.read_plain(buf, offset) {
                    Ok(()) => return Ok(()),
                    Err(stop) => stop,
                },
            },
            Err(stop) => stop,
        };
        Err(self.stopped(&stop, "read", offset, buf.len()))
    }

    fn write_aligned(&self, buf: &[u8], offset: u64, how: ReadWriteFlags) -> Result<()> {
        let was_direct = self.is_direct();
        let stop = match self.write_plain(buf, offset, how) {
            Ok(()) => return Ok(()),
            Err(Stop::Os(Errno::INVAL)) if was_direct => match self.after_invalid(buf.as_ptr() as usize)? {
                Retry::Bounced => return self.write_aligned(&AlignedBuf::from_slice(buf), offset, how),
                Retry::Plain => match self.write_plain(buf, offset, how) {
                    Ok(()) => return Ok(()),
                    Err(stop) => stop,
                },
            },
            Err(stop) => stop,
        };
        Err(self.stopped(&stop, "write", offset, buf.len()))
    }

    fn write(&self, buf: &[u8], offset: u64, how: ReadWriteFlags) -> Result<()> {
        match self.write_once(buf, offset, how) {
            Err(error) if error.kind == ErrorKind::NoSpace && self.removed.wait() => {
                self.write_once(buf, offset, how)
            }
            written => written,
        }
    }

    fn write_once(&self, buf: &[u8], offset: u64, how: ReadWriteFlags) -> Result<()> {
        self.check_range("write", offset, buf.len())?;
        if self.must_bounce(buf.as_ptr() as usize) {
            return self.write_aligned(&AlignedBuf::from_slice(buf), offset, how);
        }
        self.write_aligned(buf, offset, how)
    }

    fn check_synced(&self) -> Result<()> {
        if !self.sync_failed.load(Ordering::Acquire) {
            return Ok(());
        }
        let detail = "an earlier sync failed; the file must be reopened and recovered";
        Err(Error::new(ErrorKind::Other, "sync", &self.path, detail))
    }

    /// Whether the kernel's strictest common demand on memory is not met.
    fn must_bounce(&self, address: usize) -> bool {
        self.is_direct() && !address.is_multiple_of(SECTOR)
    }

    fn stat_len(&self) -> std::result::Result<u64, Errno> {
        rustix::fs::fstat(&self.fd).map(|s| u64::try_from(s.st_size).unwrap_or(0))
    }

    /// Grows with space really allocated, so that a later write cannot find the disk full.
    fn grow(&self, old: u64, new: u64) -> Result<()> {
        let by = new - old;
        let allocate = || retry(|| rustix::fs::fallocate(&self.fd, FallocateFlags::empty(), old, by));
        let allocated = match allocate() {
            Err(Errno::NOSPC | Errno::DQUOT) if self.removed.wait() => allocate(),
            allocated => allocated,
        };
        match allocated {
            Ok(()) => Ok(()),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.grow_by_writing(old, new),
            Err(e) => Err(os(e, "grow", &self.path).at(old, usize::try_from(by).unwrap_or(usize::MAX))),
        }
    }

    pub(super) fn grow_by_writing(&self, old: u64, new: u64) -> Result<()> {
        if !old.is_multiple_of(SECTOR as u64) || !new.is_multiple_of(SECTOR as u64) {
            self.leave_direct()?;
        }
        let chunk = ZERO_CHUNK.min(usize::try_from(new - old).unwrap_or(ZERO_CHUNK));
        let zeros = AlignedBuf::zeroed(chunk);
        let mut at = old;
        while at < new {
            let n = chunk.min(usize::try_from(new - at).unwrap_or(chunk));
            self.write_at(&zeros[..n], at)?;
            at += n as u64;
        }
        Ok(())
    }

    fn cut(&self, len: u64) -> Result<()> {
        retry(|| rustix::fs::ftruncate(&self.fd, len)).map_err(|e| os(e, "cut", &self.path).at(len, 0))
    }
}

/// How a transfer that was refused goes on.
enum Retry {
    Bounced,
    Plain,
}

impl File for RealFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.check_range("read", offset, buf.len())?;
        if self.must_bounce(buf.as_ptr() as usize) {
            return self.read_bounced(buf, offset);
        }
        self.read_aligned(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.write(buf, offset, ReadWriteFlags::empty())
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        if self.nosync || !self.forces_writes.load(Ordering::Relaxed) {
            self.write_at(buf, offset)?;
            return self.sync();
        }
        self.check_synced()?;
        match self.write(buf, offset, ReadWriteFlags::DSYNC) {
            // The kernel or the file system does not know how.
            Err(error) if error.kind == ErrorKind::Unsupported => {
                self.forces_writes.store(false, Ordering::Relaxed);
                self.write_durable_at(buf, offset)
            }
            // Whether the write or its sync has failed is not told.
            written => written.inspect_err(|_| self.sync_failed.store(true, Ordering::Release)),
        }
    }

    fn sync(&self) -> Result<()> {
        if self.nosync {
            return Ok(());
        }
        self.check_synced()?;
        retry(|| rustix::fs::fdatasync(&self.fd)).map_err(|e| {
            self.sync_failed.store(true, Ordering::Release);
            os(e, "sync", &self.path)
        })
    }

    fn len(&self) -> Result<u64> {
        self.stat_len().map_err(|e| os(e, "stat", &self.path))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let _resize = self.resize.lock();
        let old = self.len()?;
        if len < old {
            return self.cut(len);
        }
        if len == old {
            return Ok(());
        }
        self.grow(old, len).inspect_err(|_| {
            // A growth that ran out of space may have moved the end already. If even cutting fails, the error of
            // the growth is still the one to report.
            let _ = self.cut(old);
        })
    }

    fn raw_fd(&self) -> Option<RawFd> {
        Some(self.fd.as_raw_fd())
    }
}

fn set_direct(fd: &OwnedFd, on: bool) -> rustix::io::Result<()> {
    let mut flags = rustix::fs::fcntl_getfl(fd)?;
    flags.set(OFlags::DIRECT, on);
    rustix::fs::fcntl_setfl(fd, flags)
}

/// `how` is empty, or asks for a write that is durable when it returns.
fn pwrite(fd: &OwnedFd, buf: &[u8], offset: u64, how: ReadWriteFlags) -> rustix::io::Result<usize> {
    if how.is_empty() {
        return rustix::io::pwrite(fd, buf, offset);
    }
    rustix::io::pwritev2(fd, &[IoSlice::new(buf)], offset, how)
}

/// Repeats a call that a signal interrupted.
pub(super) fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

pub(super) fn os(errno: Errno, op: &'static str, path: &Path) -> Error {
    Error::from_os(&std::io::Error::from(errno), op, path)
}
