//! Files are created, renamed and dropped, names are used again, and the power goes off anywhere: afterwards every space
//! is under the last name whose operation returned, or the one of the operation that was cut off. Some files are in a directory
//! elsewhere, and have links.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::sync::Arc;
use vaquita_base::codec::get_u64;
use vaquita_base::{ManualClock, PageId, PageNo, Rng, SpaceId};
use vaquita_format::PageSize;
use vaquita_format::flags::SpaceFlags;
use vaquita_io::FileSystem;
use vaquita_io::sim::SimDisk;
use vaquita_storage::{LiveSettings, Options, Storage, SystemFile};

fn open(disk: &SimDisk) -> Storage {
    let page_size = PageSize::new(4096).unwrap();
    let options = Options {
        page_size,
        buffer_pool_size: 48 * 4096,
        data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 << 20 }],
        live: LiveSettings { autoextend_increment_bytes: 1 << 20, ..LiveSettings::default() },
        log_file_size: 128 << 10,
        log_buffer_size: 64 << 10,
        ..Options::new("/db")
    };
    let fs: Arc<dyn FileSystem> = Arc::new(disk.clone());
    Storage::open(fs, Arc::new(ManualClock::new()), options).expect("the folder opens")
}

const NAMES: [&str; 5] = ["a/t", "a/u", "b/t", "b/u", "v"];

/// The directory elsewhere.
const FAR: &str = "/far/away/";

/// Files of every other number are there.
fn directory(id: SpaceId) -> Option<&'static str> {
    id.get().is_multiple_of(2).then_some(FAR)
}

/// Name and value of each space.
type Model = BTreeMap<SpaceId, (&'static str, u64)>;

fn write(storage: &Storage, id: SpaceId, value: u64) -> vaquita_storage::Result<()> {
    let mut mtr = storage.begin()?;
    let id = PageId::new(id, PageNo(3));
    let page = if value == 0 { mtr.create_page(id)? } else { mtr.get_exclusive(id)? };
    mtr.write_u64(page, 200, value);
    let lsn = mtr.commit();
    storage.log().flush_up_to(lsn)?;
    Ok(())
}

/// What an operation that was cut off may have done to the model.
type Undecided = Box<dyn FnOnce(&mut Model)>;

/// One operation, on the folder and on the model.
fn step(storage: &Storage, rng: &mut Rng, model: &mut Model, next: &mut u32) -> Result<(), Undecided> {
    let free: Vec<&'static str> =
        NAMES.iter().copied().filter(|n| model.values().all(|(used, _)| used != n)).collect();
    let spaces: Vec<SpaceId> = model.keys().copied().collect();
    let flags = |id| SpaceFlags::new(storage.options().page_size, false, directory(id).is_some()).unwrap();
    // Below a directory elsewhere there is a database.
    let fits = |id, name: &&str| directory(id).is_none() || name.contains('/');
    match rng.below(10) {
        0..=2 if !free.is_empty() => {
            let (id, name) = (SpaceId(*next), free[rng.index(free.len())]);
            *next += 1;
            if !fits(id, &name) {
                return Ok(());
            }
            let made = storage
                .create_table_space_in(id, flags(id), name, directory(id))
                .and_then(|()| write(storage, id, 0));
            // A creation without a write that returned may be forgotten.
            made.map_err(|_| Box::new(move |m: &mut Model| _ = m.insert(id, (name, 0))) as _)?;
            model.insert(id, (name, 0));
        }
        3..=5 if !free.is_empty() && !spaces.is_empty() => {
            let (id, to) = (spaces[rng.index(spaces.len())], free[rng.index(free.len())]);
            if !fits(id, &to) {
                return Ok(());
            }
            let done = storage.rename_table_space(id, model[&id].0, to);
            done.map_err(|_| Box::new(move |m: &mut Model| m.get_mut(&id).unwrap().0 = to) as _)?;
            model.get_mut(&id).unwrap().0 = to;
        }
        6 if !spaces.is_empty() => {
            let id = spaces[rng.index(spaces.len())];
            let done = storage.drop_table_space(id, model[&id].0);
            done.map_err(|_| Box::new(move |m: &mut Model| _ = m.remove(&id)) as _)?;
            model.remove(&id);
        }
        7 => {
            let _ = storage.checkpoint();
            let _ = storage.flush_everything();
        }
        _ if !spaces.is_empty() => {
            let id = spaces[rng.index(spaces.len())];
            let value = rng.next_u64();
            let done = write(storage, id, value);
            done.map_err(|_| Box::new(move |m: &mut Model| m.get_mut(&id).unwrap().1 = value) as _)?;
            model.get_mut(&id).unwrap().1 = value;
        }
        _ => {}
    }
    Ok(())
}

/// What the folder holds: spaces with content by the names of their files.
fn found(disk: &SimDisk, storage: &Storage, known: &Model) -> Model {
    let mut out = Model::new();
    for &id in known.keys() {
        let Ok(space) = storage.spaces().get(id) else { continue };
        let path = space.path();
        let name = NAMES.iter().find(|n| storage.table_space_path(n).unwrap() == path).unwrap();
        assert_eq!(path, storage.place_of(name, directory(id)), "{id}");
        assert_eq!(storage.link_target(name).unwrap(), directory(id).map(|_| path), "{id}");
        let page = storage.pool().get_shared(PageId::new(id, PageNo(3))).unwrap();
        out.insert(id, (name, get_u64(&page, 200)));
    }
    let files = disk.files().iter().filter(|f| f.extension().is_some_and(|e| e == "ibd")).count();
    assert_eq!(files, out.len(), "{:?}", disk.files());
    let links = disk.files().iter().filter(|f| f.extension().is_some_and(|e| e == "isl")).count();
    assert_eq!(links, out.keys().filter(|id| directory(**id).is_some()).count(), "{:?}", disk.files());
    out
}

fn run(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut disk = SimDisk::new(seed);
    for dir in ["/db", "/db/a", "/db/b"] {
        disk.put_dir(dir.as_ref());
    }
    let mut storage = open(&disk);
    let (mut model, mut next) = (Model::new(), 1);
    for _ in 0..6 {
        disk.arm_cut(disk.ops() + 1 + rng.below(120));
        let cut_off = loop {
            match step(&storage, &mut rng, &mut model, &mut next) {
                Ok(()) if disk.is_off() => break None,
                Ok(()) => {}
                Err(change) => break Some(change),
            }
        };
        drop(storage);
        disk = if rng.one_in(4) { disk.after_kill() } else { disk.restart() };
        if rng.one_in(3) {
            // Recovery is cut off too.
            disk.arm_cut(disk.ops() + 1 + rng.below(60));
            let page_size = PageSize::new(4096).unwrap();
            let options = Options {
                page_size,
                buffer_pool_size: 48 * 4096,
                data_file_path: vec![SystemFile { name: "ibdata1".into(), size_bytes: 4 << 20 }],
                log_file_size: 128 << 10,
                log_buffer_size: 64 << 10,
                ..Options::new("/db")
            };
            drop(Storage::open(Arc::new(disk.clone()), Arc::new(ManualClock::new()), options));
            disk = disk.restart();
        }
        storage = open(&disk);
        let mut after = model.clone();
        if let Some(change) = cut_off {
            change(&mut after);
        }
        // A creation that never returned is taken back, as the dictionary sees to it.
        for (id, (name, _)) in after.clone() {
            if !model.contains_key(&id) {
                storage.drop_if_there(id, name).unwrap();
                after.remove(&id);
            }
        }
        // After a clean opening files are found when they are used.
        for (id, (name, _)) in after.iter().chain(&model) {
            let path = storage.table_space_path(name).unwrap();
            if !storage.spaces().contains(*id) && disk.exists(&path) {
                let _ = storage.open_table_space(*id, &path);
            }
        }
        let both: Model = after.iter().chain(&model).map(|(k, v)| (*k, *v)).collect();
        let have = found(&disk, &storage, &both);
        assert!(have == model || have == after, "seed {seed}: {have:?}, not {model:?} nor {after:?}");
        model = have;
    }
}

#[test]
fn spaces_are_found_under_their_names_after_power_cuts() {
    (0..150).for_each(run);
}
