//! Everything a simulated disk is, and what each operation does to it. Behind the disk's mutex.

use super::faults::{Class, Fault, Fired, Plan};
use super::inode::{Inode, Mood, some_sectors};
use super::names::{NameChange, Names, Node, parent};
use super::{TracedOp, power_off};
use crate::aligned::SECTOR;
use crate::error::{Error, ErrorKind, Result};
use crate::file::{OpenMode, OpenOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use vaquita_base::Rng;

/// Offsets past it are refused, to keep a stray one from eating the memory.
const FILE_BYTES_MAX: u64 = 64 << 30;

/// An open file.
#[derive(Debug, Clone)]
pub(super) struct Handle {
    pub(super) path: PathBuf,
    inode: u64,
    options: OpenOptions,
}

impl Handle {
    /// The same for a write that is durable when it returns, unless nothing of this file is ever synced.
    pub(super) fn forcing(&self) -> Handle {
        let dsync = self.options.dsync || !self.options.nosync;
        Handle { options: OpenOptions { dsync, ..self.options }, ..self.clone() }
    }
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) off: bool,
    pub(super) cut_at: Option<u64>,
    pub(super) ops: u64,
    pub(super) reads: u64,
    pub(super) plan: Plan,
    pub(super) fired: Vec<Fired>,
    pub(super) capacity: Option<u64>,
    pub(super) lie_about_sync: bool,
    pub(super) trace: Option<Vec<TracedOp>>,
    pub(super) names: Names,
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    seeds: Seeds,
}

/// Random numbers by purpose: faults do not change how a power cut ends, nor batches how faults fall.
#[derive(Debug)]
struct Seeds {
    faults: Rng,
    cuts: Rng,
    order: Rng,
}

impl Seeds {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        Self { faults: rng.fork(), cuts: rng.fork(), order: rng.fork() }
    }
}

/// The end of an operation during which the power went off.
fn cut_off<T>(what: &'static str, path: &Path) -> Result<T> {
    Err(power_off(what, path))
}

fn other(op: &'static str, path: &Path, detail: &str) -> Error {
    Error::new(ErrorKind::Other, op, path, detail)
}

impl State {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            off: false,
            cut_at: None,
            ops: 0,
            reads: 0,
            plan: Plan::default(),
            fired: Vec::new(),
            capacity: None,
            lie_about_sync: false,
            trace: None,
            names: Names::default(),
            inodes: BTreeMap::new(),
            next_inode: 1,
            seeds: Seeds::new(seed),
        }
    }

    /// A disk without a history that behaves as this one.
    fn heir(&self, seed: u64) -> Self {
        let mut heir = State::new(seed);
        heir.plan.one_in = self.plan.one_in.clone();
        heir.capacity = self.capacity;
        heir.lie_about_sync = self.lie_about_sync;
        heir.trace = self.trace.is_some().then(Vec::new);
        heir.next_inode = self.next_inode;
        heir
    }

    pub(super) fn fork_seed(&mut self) -> u64 {
        self.seeds.cuts.next_u64()
    }

    pub(super) fn copy(&self, seed: u64) -> Self {
        let mut copy = self.heir(seed);
        copy.names = self.names.clone();
        let reachable = self.inodes.iter().filter(|(no, _)| self.names.refers_to(**no));
        copy.inodes = reachable.map(|(no, inode)| (*no, inode.closed())).collect();
        copy
    }

    pub(super) fn restart(&mut self) -> Self {
        self.off = true;
        let seed = self.fork_seed();
        let mut heir = self.heir(seed);
        let rng = &mut self.seeds.cuts;
        let mood = Mood::choose(rng);
        heir.names = self.names.after_cut(mood, rng);
        let found: Vec<u64> = heir.names.files().map(|(_, no)| no).collect();
        for no in found {
            // Names may be lost in one way and contents in another.
            let mood = if rng.one_in(2) { mood } else { Mood::choose(rng) };
            let image = self.inodes[&no].after_cut(mood, rng);
            heir.inodes.insert(no, Inode::from_image(image));
        }
        heir
    }

    pub(super) fn used(&self) -> u64 {
        let named = self.names.files().map(|(_, no)| no);
        let open = self.inodes.iter().filter(|(_, inode)| inode.handles > 0).map(|(no, _)| *no);
        let taken: BTreeSet<u64> = named.chain(open).collect();
        taken.iter().map(|no| self.inodes[no].seen().len()).sum()
    }

    pub(super) fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.seeds.order.index(i + 1));
        }
        order
    }

    pub(super) fn rot(&mut self, path: &Path, offset: u64, bit: u8) -> bool {
        match self.names.get(path) {
            Some(Node::File(no)) => self.inode(no).rot(offset, bit),
            _ => false,
        }
    }

    pub(super) fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        match self.names.get(path)? {
            Node::File(no) => Some(self.inodes[&no].seen().to_vec()),
            Node::Dir => None,
        }
    }

    pub(super) fn put_dir(&mut self, path: &Path) {
        for dir in self.names.missing_dirs(path) {
            self.names.change_durably(&NameChange::Make(dir, Node::Dir));
        }
    }

    pub(super) fn put_file(&mut self, path: &Path, bytes: &[u8]) {
        self.put_dir(parent(path));
        let no = self.add_inode(Inode::durable(bytes));
        self.names.change_durably(&NameChange::Make(path.to_owned(), Node::File(no)));
    }

    fn add_inode(&mut self, inode: Inode) -> u64 {
        let no = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(no, inode);
        no
    }

    fn inode(&mut self, no: u64) -> &mut Inode {
        self.inodes.get_mut(&no).expect("names and handles refer to inodes that exist")
    }

    /// Forgets a file that nobody can reach any more.
    fn forget_if_unreachable(&mut self, no: u64) {
        if self.inodes.get(&no).is_some_and(|inode| inode.handles == 0) && !self.names.refers_to(no) {
            self.inodes.remove(&no);
        }
    }

    /// Counts an operation that changes the disk; whether the power goes off during it. Then the operation takes
    /// effect as unsynced as it is, and its caller hears of the power.
    fn begin(&mut self, what: &'static str, path: &Path, range: Option<(u64, usize)>) -> Result<bool> {
        if self.off {
            return Err(power_off(what, path));
        }
        self.ops += 1;
        if let Some(trace) = &mut self.trace {
            trace.push(TracedOp { op: self.ops, what, path: path.to_owned(), range });
        }
        self.off = self.cut_at.is_some_and(|at| at <= self.ops);
        Ok(self.off)
    }

    fn check_power(&self, what: &'static str, path: &Path) -> Result<()> {
        if self.off { Err(power_off(what, path)) } else { Ok(()) }
    }

    fn strike(&mut self, class: Class, path: &Path, range: Option<(u64, usize)>) -> Option<Fault> {
        let op = if matches!(class, Class::Read) { self.reads } else { self.ops };
        let fault = self.plan.strike(class, op, path, &mut self.seeds.faults)?;
        self.fired.push(Fired { op, fault, path: path.to_owned(), range });
        Some(fault)
    }

    // Files.

    pub(super) fn open(&mut self, path: &Path, options: OpenOptions) -> Result<Handle> {
        self.check_power("open", path)?;
        match self.names.get(path) {
            Some(Node::File(no)) => Ok(self.handle(path, no, options)),
            Some(Node::Dir) => Err(other("open", path, "is a directory")),
            None => Err(Error::new(ErrorKind::NotFound, "open", path, "no such file")),
        }
    }

    pub(super) fn create(&mut self, path: &Path, options: OpenOptions) -> Result<Handle> {
        let cut = self.begin("create", path, None)?;
        if self.names.get(path).is_some() {
            return Err(Error::new(ErrorKind::AlreadyExists, "create", path, "the name is taken"));
        }
        if self.names.get(parent(path)) != Some(Node::Dir) {
            return Err(Error::new(ErrorKind::NotFound, "create", path, "no such directory"));
        }
        if !cut && self.strike(Class::Grow, path, None).is_some() {
            return Err(Error::new(ErrorKind::NoSpace, "create", path, "no space left (simulated)"));
        }
        let no = self.add_inode(Inode::default());
        self.names.change(NameChange::Make(path.to_owned(), Node::File(no)));
        if cut { cut_off("create", path) } else { Ok(self.handle(path, no, options)) }
    }

    fn handle(&mut self, path: &Path, no: u64, options: OpenOptions) -> Handle {
        self.inode(no).handles += 1;
        Handle { path: path.to_owned(), inode: no, options }
    }

    pub(super) fn close(&mut self, handle: &Handle) {
        self.inode(handle.inode).handles -= 1;
        self.forget_if_unreachable(handle.inode);
    }

    fn check_range(handle: &Handle, what: &'static str, offset: u64, len: usize) -> Result<()> {
        let fail = |detail| Err(other(what, &handle.path, detail).at(offset, len));
        if offset.checked_add(len as u64).is_none_or(|end| end > FILE_BYTES_MAX) {
            return fail("the range ends past the largest offset");
        }
        let aligned = offset.is_multiple_of(SECTOR as u64) && len.is_multiple_of(SECTOR);
        if handle.options.direct && !aligned {
            return fail("direct I/O needs offset and length at multiples of 512");
        }
        Ok(())
    }

    fn check_writable(handle: &Handle, what: &'static str) -> Result<()> {
        if handle.options.mode == OpenMode::Read {
            return Err(other(what, &handle.path, "opened for reading only"));
        }
        Ok(())
    }

    pub(super) fn read(&mut self, handle: &Handle, buf: &mut [u8], offset: u64) -> Result<()> {
        let range = (offset, buf.len());
        self.check_power("read", &handle.path).map_err(|e| e.at(offset, buf.len()))?;
        Self::check_range(handle, "read", offset, buf.len())?;
        self.reads += 1;
        let fail = |kind, detail: String| Error::new(kind, "read", &handle.path, detail).at(range.0, range.1);
        let here = self.inode(handle.inode).seen().len().saturating_sub(offset);
        if here < buf.len() as u64 {
            self.inode(handle.inode).seen().read(offset, &mut buf[..here as usize]);
            return Err(fail(ErrorKind::ShortRead, format!("the file ends after {here} of them")));
        }
        match self.strike(Class::Read, &handle.path, Some(range)) {
            Some(Fault::ShortRead) => {
                let got = self.seeds.faults.index(buf.len().max(1));
                self.inode(handle.inode).seen().read(offset, &mut buf[..got]);
                return Err(fail(ErrorKind::ShortRead, format!("only {got} of them were read (simulated)")));
            }
            Some(Fault::BitRot) if !buf.is_empty() => self.rot_within(handle.inode, range),
            Some(Fault::BitRot) | None => {}
            Some(_) => return Err(fail(ErrorKind::Other, "input/output error (simulated)".into())),
        }
        self.inode(handle.inode).seen().read(offset, buf);
        Ok(())
    }

    /// Bit rot somewhere in a range; corrects the record of the fault that just struck.
    fn rot_within(&mut self, no: u64, (offset, len): (u64, usize)) {
        let at = offset + self.seeds.faults.below(len as u64);
        let bit = self.seeds.faults.below(8) as u8;
        if self.inode(no).rot(at, bit) {
            if let Some(fired) = self.fired.last_mut() {
                fired.range = Some((at, 1));
            }
        } else {
            // Nothing of it is on the medium yet.
            self.fired.pop();
        }
    }

    pub(super) fn write(&mut self, handle: &Handle, bytes: &[u8], offset: u64) -> Result<()> {
        let range = (offset, bytes.len());
        let fail =
            |kind, detail: &str| Err(Error::new(kind, "write", &handle.path, detail).at(range.0, range.1));
        let cut = self.begin("write", &handle.path, Some(range)).map_err(|e| e.at(range.0, range.1))?;
        Self::check_writable(handle, "write")?;
        Self::check_range(handle, "write", offset, bytes.len())?;
        if bytes.is_empty() {
            return if cut { cut_off("write", &handle.path) } else { Ok(()) };
        }
        if cut {
            self.inode(handle.inode).write(offset, bytes, false);
            return cut_off("write", &handle.path).map_err(|e| e.at(range.0, range.1));
        }
        let mut to = offset;
        match self.strike(Class::Write, &handle.path, Some(range)) {
            Some(Fault::WriteError) => {
                self.write_some(handle, bytes, offset);
                return fail(ErrorKind::Other, "input/output error (simulated)");
            }
            Some(Fault::NoSpace) => {
                let sectors = self.seeds.faults.index(bytes.len().div_ceil(SECTOR));
                self.write_beginning(handle, bytes, offset, sectors * SECTOR);
                return fail(ErrorKind::NoSpace, "no space left (simulated)");
            }
            Some(_) => to = self.misdirect(handle.inode, range),
            None => {}
        }
        if let Some(room) = self.room_for(handle.inode, offset + bytes.len() as u64) {
            let len = self.inode(handle.inode).seen().len();
            let fits = (len + room).saturating_sub(offset) as usize;
            self.write_beginning(handle, bytes, offset, fits - fits % SECTOR);
            return fail(ErrorKind::NoSpace, "no space left on the simulated disk");
        }
        let forced = handle.options.dsync && !self.lie_about_sync;
        self.inode(handle.inode).write(to, bytes, forced);
        Ok(())
    }

    /// A failed write's leavings: nothing, or some sectors.
    fn write_some(&mut self, handle: &Handle, bytes: &[u8], offset: u64) {
        if self.seeds.faults.one_in(2) {
            return;
        }
        for part in some_sectors(offset, bytes.len(), &mut self.seeds.faults) {
            let at = offset + part.start as u64;
            // Growing would need space that may not be there.
            if self.room_for(handle.inode, at + part.len() as u64).is_none() {
                self.inode(handle.inode).write(at, &bytes[part], false);
            }
        }
    }

    fn write_beginning(&mut self, handle: &Handle, bytes: &[u8], offset: u64, len: usize) {
        let part = &bytes[..len.min(bytes.len())];
        if !part.is_empty() && self.room_for(handle.inode, offset + part.len() as u64).is_none() {
            self.inode(handle.inode).write(offset, part, false);
        }
    }

    /// Another place in the file for a write; its own if there is none. Corrects the record of the fault.
    fn misdirect(&mut self, no: u64, (offset, len): (u64, usize)) -> u64 {
        let size = len as u64;
        let places = self.inode(no).seen().len() / size;
        let own = offset / size;
        let to = match places {
            0 | 1 => None,
            _ => Some(self.seeds.faults.below(places) * size).filter(|to| to / size != own),
        };
        match to {
            Some(to) => {
                if let Some(fired) = self.fired.last_mut() {
                    fired.range = Some((to, len));
                }
                to
            }
            None => {
                self.fired.pop();
                offset
            }
        }
    }

    /// `None` if the file may be as long as `len`; otherwise by how much it may still grow.
    fn room_for(&mut self, no: u64, len: u64) -> Option<u64> {
        let growth = len.saturating_sub(self.inode(no).seen().len());
        if growth == 0 {
            return None;
        }
        let room = self.capacity?.saturating_sub(self.used());
        (growth > room).then_some(room)
    }

    pub(super) fn sync(&mut self, handle: &Handle) -> Result<()> {
        if handle.options.nosync {
            return self.check_power("sync", &handle.path);
        }
        if self.begin("sync", &handle.path, None)? {
            return cut_off("sync", &handle.path);
        }
        if self.strike(Class::Sync, &handle.path, None).is_some() {
            let inode = self.inodes.get_mut(&handle.inode).expect("open files exist");
            inode.fail_sync(&mut self.seeds.faults);
            return Err(other("sync", &handle.path, "input/output error (simulated)"));
        }
        if !self.lie_about_sync {
            self.inode(handle.inode).sync();
        }
        Ok(())
    }

    pub(super) fn len(&mut self, handle: &Handle) -> Result<u64> {
        self.check_power("stat", &handle.path)?;
        Ok(self.inode(handle.inode).seen().len())
    }

    pub(super) fn set_len(&mut self, handle: &Handle, len: u64) -> Result<()> {
        let old = self.inode(handle.inode).seen().len();
        let op = if len > old { "grow" } else { "cut" };
        let cut = self.begin(op, &handle.path, Some((len, 0)))?;
        Self::check_writable(handle, op)?;
        let full = |detail| Err(Error::new(ErrorKind::NoSpace, op, &handle.path, detail).at(len, 0));
        if len > FILE_BYTES_MAX {
            return full("longer than any simulated file");
        }
        if len > old && !cut {
            if self.strike(Class::Grow, &handle.path, Some((len, 0))).is_some() {
                return full("no space left (simulated)");
            }
            if self.room_for(handle.inode, len).is_some() {
                return full("no space left on the simulated disk");
            }
        }
        if len != old {
            self.inode(handle.inode).set_len(len);
        }
        if cut { cut_off(op, &handle.path) } else { Ok(()) }
    }

    // Directories.

    pub(super) fn remove_file(&mut self, path: &Path) -> Result<()> {
        let cut = self.begin("remove", path, None)?;
        match self.names.get(path) {
            Some(node @ Node::File(no)) => {
                self.names.change(NameChange::Remove(path.to_owned(), node));
                self.forget_if_unreachable(no);
            }
            Some(Node::Dir) => return Err(other("remove", path, "is a directory")),
            None => return Err(Error::new(ErrorKind::NotFound, "remove", path, "no such file")),
        }
        if cut { cut_off("remove", path) } else { Ok(()) }
    }

    pub(super) fn remove_dir(&mut self, path: &Path) -> Result<()> {
        let cut = self.begin("remove directory", path, None)?;
        match self.names.get(path) {
            Some(Node::Dir) if self.list_dir(path)?.is_empty() => {
                self.names.change(NameChange::Remove(path.to_owned(), Node::Dir));
            }
            Some(Node::Dir) => return Err(other("remove directory", path, "is not empty")),
            Some(Node::File(_)) => return Err(other("remove directory", path, "is a file")),
            None => {
                return Err(Error::new(ErrorKind::NotFound, "remove directory", path, "no such directory"));
            }
        }
        if cut { cut_off("remove directory", path) } else { Ok(()) }
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Result<()> {
        let cut = self.begin("rename", from, None)?;
        let node = match self.names.get(from) {
            Some(node @ Node::File(_)) => node,
            Some(Node::Dir) => return Err(other("rename", from, "is a directory")),
            None => return Err(Error::new(ErrorKind::NotFound, "rename", from, "no such file")),
        };
        if self.names.get(to) == Some(Node::Dir) {
            return Err(other("rename", from, "the new name is that of a directory"));
        }
        if self.names.get(parent(to)) != Some(Node::Dir) {
            return Err(Error::new(ErrorKind::NotFound, "rename", to, "no such directory"));
        }
        if from != to {
            self.names.change(NameChange::Rename { to: to.to_owned(), node });
        }
        if cut { cut_off("rename", from) } else { Ok(()) }
    }

    /// One operation for each directory that is missing.
    pub(super) fn create_dir_all(&mut self, path: &Path) -> Result<()> {
        self.check_power("create directory", path)?;
        if path.ancestors().any(|p| matches!(self.names.get(p), Some(Node::File(_)))) {
            return Err(other("create directory", path, "a file has that name"));
        }
        for dir in self.names.missing_dirs(path) {
            let cut = self.begin("create directory", &dir, None)?;
            self.names.change(NameChange::Make(dir.clone(), Node::Dir));
            if cut {
                return cut_off("create directory", &dir);
            }
        }
        Ok(())
    }

    pub(super) fn list_dir(&self, path: &Path) -> Result<Vec<PathBuf>> {
        self.check_power("list", path)?;
        match self.names.get(path) {
            Some(Node::Dir) => Ok(self.names.children(path)),
            Some(Node::File(_)) => Err(other("list", path, "not a directory")),
            None => Err(Error::new(ErrorKind::NotFound, "list", path, "no such directory")),
        }
    }

    pub(super) fn is_dir(&self, path: &Path) -> bool {
        !self.off && self.names.get(path) == Some(Node::Dir)
    }

    pub(super) fn exists(&self, path: &Path) -> bool {
        !self.off && self.names.get(path).is_some()
    }

    pub(super) fn sync_dir(&mut self, path: &Path) -> Result<()> {
        let cut = self.begin("sync directory", path, None)?;
        if self.names.get(path) != Some(Node::Dir) {
            return Err(Error::new(ErrorKind::NotFound, "sync directory", path, "no such directory"));
        }
        if cut {
            return cut_off("sync directory", path);
        }
        if self.strike(Class::Sync, path, None).is_some() {
            return Err(other("sync directory", path, "input/output error (simulated)"));
        }
        if !self.lie_about_sync {
            self.names.sync_dir(path);
            let unreachable: Vec<u64> = self
                .inodes
                .iter()
                .filter(|(no, inode)| inode.handles == 0 && !self.names.refers_to(**no))
                .map(|(no, _)| *no)
                .collect();
            for no in unreachable {
                self.inodes.remove(&no);
            }
        }
        Ok(())
    }
}
