//! An object of SQL that is not a table, as the engine keeps it, and its encoding:
//!
//! | part of an encoded object | encoding |
//! |---|---|
//! | version | u8, 1 |
//! | kind | u8, see [`ObjectKind`] |
//! | database, name, table | each a length as InnoDB's compressed number, and UTF-8 |
//! | body | a length, and bytes: the last |

use vaquita_base::codec::{Reader, push_compressed};
use vaquita_format::Corruption;

/// Of the encoding.
pub(crate) const VERSION: u8 = 1;

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

    pub(crate) fn encode(&self) -> Vec<u8> {
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
    pub(crate) fn decode(id: u64, bytes: &[u8]) -> std::result::Result<Object, Corruption> {
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
}
