//! Objects of SQL that are not tables: views, procedures, functions, triggers, events. The engine keeps them by name; what
//! they are is bytes of the layer above.
//!
//! They are rows of SYS_VAQUITA_OBJECTS: a number, and the encoded object in pieces. All of them are in memory while a folder
//! is open, as a [`snapshot`](Objects) that is replaced when one changes, under the dictionary's latch.

use crate::dict::rows::{self, Values};
use crate::error::Result;
pub use crate::object::{Object, ObjectKind};
use crate::table::Table;
use parking_lot::RwLock;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_storage::Storage;

/// Bytes of an object kept in one row: rows of the dictionary stay on their pages, of 4 KiB too.
const PIECE: usize = 1_500;

/// An object's rows in SYS_VAQUITA_OBJECTS.
pub(crate) fn rows_of(object: &Object) -> Vec<Values> {
    let row = |(n, piece): (usize, &[u8])| {
        vec![rows::u64_value(object.id), rows::u32_value(n as u32), Some(piece.to_vec())]
    };
    object.encode().chunks(PIECE).enumerate().map(row).collect()
}

type Key = (String, String);

/// The objects of a folder at a moment.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    /// By database and name as it is compared, for each kind.
    by_name: [BTreeMap<Key, Arc<Object>>; ObjectKind::ALL.len()],
    /// Triggers by the engine's name of their table, in the order of their making.
    triggers: HashMap<String, Vec<Arc<Object>>, foldhash::fast::RandomState>,
    /// What could not be read, as text.
    damaged: Vec<String>,
}

impl Objects {
    fn of_kind(&self, kind: ObjectKind) -> &BTreeMap<Key, Arc<Object>> {
        &self.by_name[kind as usize - 1]
    }

    /// An object by its database, in file name encoding, and its name.
    pub fn get(&self, kind: ObjectKind, database: &str, name: &str) -> Option<&Arc<Object>> {
        self.of_kind(kind).get(&(database.to_owned(), kind.fold(name)))
    }

    /// The view with the engine's name `database/view`.
    pub fn view(&self, engine_name: &str) -> Option<&Arc<Object>> {
        if self.of_kind(ObjectKind::View).is_empty() {
            return None;
        }
        let (database, name) = engine_name.split_once('/')?;
        self.get(ObjectKind::View, database, name)
    }

    /// Objects of a kind in a database, in the order of their names.
    pub fn list<'a>(
        &'a self,
        kind: ObjectKind,
        database: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Object>> + 'a {
        let from = (database.to_owned(), String::new());
        self.of_kind(kind).range(from..).take_while(move |(key, _)| key.0 == database).map(|(_, o)| o)
    }

    /// All objects of a kind, in the order of databases and names.
    pub fn all(&self, kind: ObjectKind) -> impl Iterator<Item = &Arc<Object>> {
        self.of_kind(kind).values()
    }

    /// Triggers of a table by the engine's name of it, in the order of their making.
    pub fn triggers_of(&self, table: &str) -> &[Arc<Object>] {
        self.triggers.get(table).map_or(&[], Vec::as_slice)
    }

    /// What could not be read: number and why.
    pub fn damaged(&self) -> &[String] {
        &self.damaged
    }

    fn insert(&mut self, object: Arc<Object>) {
        if let Some(table) = object.table_name() {
            let of_table = self.triggers.entry(table).or_default();
            let at = of_table.partition_point(|o| o.id < object.id);
            of_table.insert(at, object.clone());
        }
        let key = (object.database.clone(), object.kind.fold(&object.name));
        self.by_name[object.kind as usize - 1].insert(key, object);
    }

    fn remove(&mut self, object: &Object) {
        if let Some(table) = object.table_name()
            && let Some(of_table) = self.triggers.get_mut(&table)
        {
            of_table.retain(|o| o.id != object.id);
            if of_table.is_empty() {
                self.triggers.remove(&table);
            }
        }
        let key = (object.database.clone(), object.kind.fold(&object.name));
        self.by_name[object.kind as usize - 1].remove(&key);
    }
}

/// What a change does to an object.
#[derive(Debug, Clone)]
pub(crate) enum ObjectChange {
    /// It is there now.
    Made(Arc<Object>),
    /// It is gone.
    Gone(Arc<Object>),
}

/// The present snapshot.
#[derive(Debug, Default)]
pub(crate) struct ObjectCache {
    now: RwLock<Arc<Objects>>,
    /// Counts the snapshots.
    generation: AtomicU64,
    /// The greatest number given to an object.
    last_id: AtomicU64,
}

impl ObjectCache {
    /// Reads all objects of a folder.
    ///
    /// # Errors
    /// Errors of pages. An object that cannot be decoded is left out and told of.
    pub(crate) fn load(&self, storage: &Storage, table: Option<&Arc<Table>>) -> Result<()> {
        let Some(table) = table else { return Ok(()) };
        let mut pieces: BTreeMap<u64, (u32, Vec<u8>)> = BTreeMap::new();
        let mut objects = Objects::default();
        for row in rows::read(storage, table.clustered(), &[])? {
            let (next, bytes) = pieces.entry(row.number(0)).or_default();
            if row.u32(1) != *next {
                let id = row.number(0);
                objects.damaged.push(format!("SYS_VAQUITA_OBJECTS, object {id}: part {next} is missing"));
            }
            *next = row.u32(1) + 1;
            bytes.extend_from_slice(row.bytes(4));
        }
        for (id, (_, bytes)) in pieces {
            match Object::decode(id, &bytes) {
                Ok(object) => objects.insert(Arc::new(object)),
                Err(c) => objects.damaged.push(format!("SYS_VAQUITA_OBJECTS, object {id}: {c}")),
            }
        }
        let last_id = rows::last_number(storage, table.clustered())?;
        self.last_id.store(last_id, Ordering::Relaxed);
        *self.now.write() = Arc::new(objects);
        self.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    pub(crate) fn now(&self) -> Arc<Objects> {
        self.now.read().clone()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Lets committed changes be seen. The caller holds the dictionary's latch exclusively.
    pub(crate) fn apply(&self, changes: &[ObjectChange]) {
        if changes.is_empty() {
            return;
        }
        let mut next = Objects::clone(&self.now());
        for change in changes {
            match change {
                ObjectChange::Made(object) => next.insert(object.clone()),
                ObjectChange::Gone(object) => next.remove(object),
            }
        }
        *self.now.write() = Arc::new(next);
        self.generation.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object() -> impl Strategy<Value = Object> {
        let body = prop::collection::vec(any::<u8>(), 0..4_000);
        (0..5_usize, ".{0,64}", ".{0,64}", ".{0,64}", body).prop_map(|(kind, database, name, table, body)| {
            Object { kind: ObjectKind::ALL[kind], database, name, table, body, id: 7 }
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(object in object()) {
            let bytes: Vec<u8> =
                rows_of(&object).iter().flat_map(|row| row[2].clone().unwrap_or_default()).collect();
            prop_assert_eq!(Object::decode(7, &bytes), Ok(object));
        }

        #[test]
        fn any_bytes_are_no_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Object::decode(1, &bytes);
            bytes.splice(0..0, [crate::object::VERSION, 1]);
            let _ = Object::decode(1, &bytes);
        }
    }

    /// The bytes are on disk: they stay what they are.
    #[test]
    fn golden() {
        let mut object = Object::new(ObjectKind::Trigger, "d", "Tr", b"body".to_vec());
        object.table = "t".into();
        assert_eq!(object.encode(), b"\x01\x04\x01d\x02Tr\x01t\x04body");
        assert!(Object::decode(1, b"\x02\x04\x01d\x02Tr\x01t\x00").is_err());
        assert!(Object::decode(1, b"\x01\x09\x01d\x02Tr\x01t\x00").is_err());
        assert!(Object::decode(1, b"\x01\x04\x01d\x02Tr\x01t\x05body").is_err());
    }

    #[test]
    fn names_are_found_as_their_kind_compares_them() {
        let cache = ObjectCache::default();
        let made = |kind, name: &str, id, table: &str| {
            let object = Object::new(kind, "d", name, Vec::new());
            ObjectChange::Made(Arc::new(Object { id, table: table.into(), ..object }))
        };
        let (before, view) = (cache.generation(), made(ObjectKind::View, "V", 1, ""));
        cache.apply(&[view, made(ObjectKind::Procedure, "P", 2, "")]);
        cache.apply(&[made(ObjectKind::Trigger, "b", 4, "t"), made(ObjectKind::Trigger, "a", 5, "t")]);
        assert_eq!(cache.generation(), before + 2);
        let now = cache.now();
        assert!(now.view("d/V").is_some() && now.view("d/v").is_none() && now.view("e/V").is_none());
        assert_eq!(now.get(ObjectKind::Procedure, "d", "p").map(|o| o.id), Some(2));
        assert!(now.get(ObjectKind::Function, "d", "p").is_none());
        let names = |objects: &[Arc<Object>]| objects.iter().map(|o| o.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(now.triggers_of("d/t")), ["b", "a"], "in the order of their making");
        assert_eq!(now.list(ObjectKind::Trigger, "d").count(), 2);
        let gone = now.get(ObjectKind::Trigger, "d", "b").cloned().map(ObjectChange::Gone);
        cache.apply(&gone.into_iter().collect::<Vec<_>>());
        assert_eq!(names(cache.now().triggers_of("d/t")), ["a"]);
        assert_eq!(names(now.triggers_of("d/t")), ["b", "a"], "a snapshot stays what it was");
    }
}
