//! Objects of SQL that are not tables: views, procedures, functions, triggers, events. The engine keeps them by name; what
//! they are is bytes of the layer above.
//!
//! They are rows of SYS_VAQUITA_OBJECTS: a number, and the encoded object in pieces. All of them are in memory while a folder
//! is open, as a [`snapshot`](Objects) that is replaced when one changes, under the dictionary's latch.
//!
//! | part of an encoded object | encoding |
//! |---|---|
//! | version | u8, 1 |
//! | kind | u8, see [`ObjectKind`] |
//! | database, name, table | each a length as InnoDB's compressed number, and UTF-8 |
//! | body | a length, and bytes: the last |

use crate::dict::rows::{self, Values};
use crate::error::Result;
use crate::table::Table;
use parking_lot::RwLock;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use vaquita_base::codec::{Reader, push_compressed};
use vaquita_format::Corruption;
use vaquita_storage::Storage;

const VERSION: u8 = 1;

/// Bytes of an object kept in one row: rows of the dictionary stay on their pages, of 4 KiB too.
const PIECE: usize = 1_500;

/// What an object is. The numbers are on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ObjectKind {
    /// A view: shares the names of tables.
    View = 1,
    /// A stored procedure.
    Procedure = 2,
    /// A stored function.
    Function = 3,
    /// A trigger: belongs to a table of its database, goes with it.
    Trigger = 4,
    /// An event.
    Event = 5,
}

impl ObjectKind {
    /// All of them.
    pub const ALL: [ObjectKind; 5] =
        [Self::View, Self::Procedure, Self::Function, Self::Trigger, Self::Event];

    fn of_number(n: u8) -> Option<ObjectKind> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == n)
    }

    /// Whether case counts in names of this kind.
    pub fn is_case_sensitive(self) -> bool {
        matches!(self, ObjectKind::View | ObjectKind::Trigger)
    }

    /// A name as it is compared.
    pub fn fold(self, name: &str) -> String {
        match self.is_case_sensitive() {
            true => name.to_owned(),
            false => name.to_lowercase(),
        }
    }

    /// The name under which metadata locks of an object are taken: of a view that of a table; of others one that no table has.
    pub fn lock_name(self, database: &str, name: &str) -> String {
        let text = match self {
            ObjectKind::View => return format!("{database}/{name}"),
            ObjectKind::Procedure => "procedure",
            ObjectKind::Function => "function",
            ObjectKind::Trigger => "trigger",
            ObjectKind::Event => "event",
        };
        format!("{text}:{database}:{}", self.fold(name))
    }
}

/// An object as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its database, in file name encoding.
    pub database: String,
    /// Its name as it was written; that of a view in file name encoding, as those of tables are.
    pub name: String,
    /// The table of a trigger, in file name encoding and without database; empty for others.
    pub table: String,
    /// What it is to the layer above.
    pub body: Vec<u8>,
    /// Its number in the folder: another one whenever it is made or replaced. What is to be made has none, 0.
    pub id: u64,
}

impl Object {
    /// An object to be made.
    pub fn new(
        kind: ObjectKind,
        database: impl Into<String>,
        name: impl Into<String>,
        body: Vec<u8>,
    ) -> Object {
        let (database, name) = (database.into(), name.into());
        Object { kind, database, name, table: String::new(), body, id: 0 }
    }

    /// The name of its metadata locks.
    pub fn lock_name(&self) -> String {
        self.kind.lock_name(&self.database, &self.name)
    }

    /// The engine's name of a trigger's table.
    pub fn table_name(&self) -> Option<String> {
        (self.kind == ObjectKind::Trigger).then(|| format!("{}/{}", self.database, self.table))
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION, self.kind as u8];
        for text in [&self.database, &self.name, &self.table] {
            push_compressed(&mut out, u32::try_from(text.len()).expect("a name is far below 4 GiB"));
            out.extend_from_slice(text.as_bytes());
        }
        push_compressed(&mut out, u32::try_from(self.body.len()).expect("a body is far below 4 GiB"));
        out.extend_from_slice(&self.body);
        out
    }

    /// # Errors
    /// The bytes end too early, are of a version or a kind to come, or a name is no text.
    fn decode(id: u64, bytes: &[u8]) -> std::result::Result<Object, Corruption> {
        let bad = |why: String| Corruption::new("object", why);
        let short = |_| bad("it ends too early".into());
        let mut input = Reader::new(bytes);
        let version = input.u8().map_err(short)?;
        if version != VERSION {
            return Err(bad(format!("version {version} is not known")));
        }
        let kind = input.u8().map_err(short)?;
        let kind = ObjectKind::of_number(kind).ok_or_else(|| bad(format!("kind {kind} is not known")))?;
        let mut text = || {
            let len = input.compressed().map_err(short)?;
            let bytes = input.bytes(len as usize).map_err(short)?;
            let text = std::str::from_utf8(bytes);
            text.map(str::to_owned).map_err(|e| bad(format!("a name is not UTF-8: {e}")))
        };
        let (database, name, table) = (text()?, text()?, text()?);
        let len = input.compressed().map_err(short)? as usize;
        let body = input.rest();
        if body.len() != len {
            return Err(bad(format!("its body has {} bytes instead of {len}", body.len())));
        }
        Ok(Object { kind, database, name, table, body: body.to_vec(), id })
    }

    /// Its rows in SYS_VAQUITA_OBJECTS.
    pub(crate) fn rows(&self) -> Vec<Values> {
        let row = |(n, piece): (usize, &[u8])| {
            vec![rows::u64_value(self.id), rows::u32_value(n as u32), Some(piece.to_vec())]
        };
        self.encode().chunks(PIECE).enumerate().map(row).collect()
    }
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
                object.rows().iter().flat_map(|row| row[2].clone().unwrap_or_default()).collect();
            prop_assert_eq!(Object::decode(7, &bytes), Ok(object));
        }

        #[test]
        fn any_bytes_are_no_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Object::decode(1, &bytes);
            bytes.splice(0..0, [VERSION, 1]);
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
