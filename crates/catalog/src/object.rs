//! What SQL keeps of a view, procedure, function, trigger or event: the body of an engine's [`Object`], as bytes.
//!
//! | part | encoding |
//! |---|---|
//! | version | u8, 1 |
//! | definer | user and host |
//! | security | u8: 0 DEFINER, 1 INVOKER |
//! | `sql_mode` | u64, the bits of the session's variable |
//! | collations | three u16: of the client's character set, of the connection, of the database |
//! | created, last altered | two u64: seconds since 1970 |
//! | comment, text | two texts |
//! | more | count; each: a name and a text |
//!
//! Counts and lengths are InnoDB's compressed numbers; texts are a length and UTF-8.

use crate::names::sql_name;
use std::borrow::Cow;
use vaquita_base::codec::{Reader, Truncated, push_compressed, push_u16, push_u64};
use vaquita_engine::Object;
use vaquita_engine::lower::Corruption;
use vaquita_engine::lower::charset::{Charset, convert};
use vaquita_types::{SqlError, SqlResult};

const VERSION: u8 = 1;

/// The property that has the text as it was sent, in hexadecimal digits, where it cannot be made of the UTF-8 that is kept.
const SOURCE: &str = "source";

/// The property that has the `.frm` file of a view, as text, and the one that has it in hexadecimal digits where it is none.
const FILE: &str = "frm";
const FILE_BYTES: &str = "frm bytes";

/// With whose privileges an object runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Security {
    /// Its definer's.
    #[default]
    Definer,
    /// Those of whoever uses it.
    Invoker,
}

impl Security {
    /// As SHOW and information_schema have it.
    pub fn name(self) -> &'static str {
        match self {
            Security::Definer => "DEFINER",
            Security::Invoker => "INVOKER",
        }
    }
}

/// An object as SQL knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectBody {
    /// User and host of its definer.
    pub definer: (String, String),
    /// With whose privileges it runs.
    pub security: Security,
    /// `sql_mode` of the session that made it, as the variable's bits.
    pub sql_mode: u64,
    /// Number of the default collation of `character_set_client`.
    pub client_collation: u16,
    /// Number of `collation_connection`.
    pub connection_collation: u16,
    /// Number of the default collation of its database.
    pub database_collation: u16,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// When it was last altered, in seconds since 1970.
    pub modified: u64,
    /// Comment.
    pub comment: String,
    /// What it does, as SQL.
    pub text: String,
    /// What else its kind has, by name.
    pub more: Vec<(String, String)>,
}

impl ObjectBody {
    /// A further property; nothing if it has not got it.
    pub fn get(&self, name: &str) -> &str {
        self.more.iter().find(|(n, _)| n == name).map_or("", |(_, text)| text)
    }

    /// Sets a further property.
    pub fn set(&mut self, name: &str, text: impl Into<String>) {
        self.more.retain(|(n, _)| n != name);
        self.more.push((name.to_owned(), text.into()));
    }

    /// The character set of the statement that made it, unless that is UTF-8 or just bytes.
    fn client_charset(&self) -> Option<Charset> {
        let charset = Charset::of_collation(self.client_collation)?;
        (charset != Charset::BINARY && !charset.is_utf8()).then_some(charset)
    }

    /// A text as the client that made the object would send it.
    pub fn as_sent<'t>(&self, text: &'t str) -> Cow<'t, [u8]> {
        let Some(charset) = self.client_charset().filter(|_| !text.is_ascii()) else {
            return text.as_bytes().into();
        };
        let mut out = Vec::with_capacity(text.len());
        convert(Charset::UTF8MB4, charset, text.as_bytes(), &mut out);
        out.into()
    }

    /// Whether a text, as the client would send it, is still the same text.
    pub fn can_send(&self, text: &str) -> bool {
        self.client_charset()
            .is_none_or(|charset| charset.decode(&self.as_sent(text)).as_deref() == Some(text))
    }

    /// The text as it was sent, byte for byte: literals behind an introducer (`_latin1'..'`) mean these bytes.
    pub fn source(&self) -> Cow<'_, [u8]> {
        match unhex(self.get(SOURCE)) {
            Some(bytes) if !bytes.is_empty() => bytes.into(),
            _ => self.as_sent(&self.text),
        }
    }

    /// Takes a text that was sent, as bytes and as what they mean. Its character set is known already.
    pub fn set_text(&mut self, sent: &[u8], text: String) {
        self.text = text;
        self.more.retain(|(name, _)| name != SOURCE);
        if *self.as_sent(&self.text) != *sent {
            self.set(SOURCE, sent.iter().map(|b| format!("{b:02X}")).collect::<String>());
        }
    }

    /// The file that a MySQL server goes by, byte for byte, if the object and that are known to be the same.
    pub fn server_file(&self) -> Option<Vec<u8>> {
        match (self.get(FILE), self.get(FILE_BYTES)) {
            ("", "") => None,
            ("", digits) => unhex(digits),
            (text, _) => Some(text.as_bytes().to_vec()),
        }
    }

    /// Says what that file is.
    pub fn set_server_file(&mut self, bytes: &[u8]) {
        self.more.retain(|(name, _)| name != FILE && name != FILE_BYTES);
        match std::str::from_utf8(bytes) {
            Ok(text) => self.set(FILE, text),
            Err(_) => self.set(FILE_BYTES, bytes.iter().map(|b| format!("{b:02X}")).collect::<String>()),
        }
    }

    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        push_text(&mut out, &self.definer.0);
        push_text(&mut out, &self.definer.1);
        out.push(u8::from(self.security == Security::Invoker));
        push_u64(&mut out, self.sql_mode);
        for collation in [self.client_collation, self.connection_collation, self.database_collation] {
            push_u16(&mut out, collation);
        }
        push_u64(&mut out, self.created);
        push_u64(&mut out, self.modified);
        push_text(&mut out, &self.comment);
        push_text(&mut out, &self.text);
        push_len(&mut out, self.more.len());
        for (name, text) in &self.more {
            push_text(&mut out, name);
            push_text(&mut out, text);
        }
        out
    }

    /// Reads the bytes.
    ///
    /// # Errors
    /// If they end too early, are of a version to come, or a text is no text.
    pub fn decode(bytes: &[u8]) -> Result<ObjectBody, Corruption> {
        let mut input = Input(Reader::new(bytes));
        let version = input.0.u8().map_err(truncated)?;
        if version != VERSION {
            return Err(Corruption::new("object", format!("version {version} is not known")));
        }
        let definer = (input.text()?, input.text()?);
        let security = match input.0.u8().map_err(truncated)? {
            0 => Security::Definer,
            1 => Security::Invoker,
            other => return Err(Corruption::new("object", format!("a security of kind {other}"))),
        };
        let sql_mode = input.0.u64().map_err(truncated)?;
        let mut collation = || input.0.u16().map_err(truncated);
        let (client_collation, connection_collation) = (collation()?, collation()?);
        let database_collation = collation()?;
        let created = input.0.u64().map_err(truncated)?;
        let modified = input.0.u64().map_err(truncated)?;
        let (comment, text) = (input.text()?, input.text()?);
        let n = input.len()?;
        // Each takes two bytes at least, so no count asks for more memory than there are bytes.
        if n > input.0.rest().len() {
            return Err(truncated(Truncated { at: input.0.pos() }));
        }
        let more = (0..n).map(|_| Ok((input.text()?, input.text()?))).collect::<Result<_, Corruption>>()?;
        Ok(ObjectBody {
            definer,
            security,
            sql_mode,
            client_collation,
            connection_collation,
            database_collation,
            created,
            modified,
            comment,
            text,
            more,
        })
    }

    /// What SQL keeps of an object.
    ///
    /// # Errors
    /// Damage, with the object's name.
    pub fn of(object: &Object) -> SqlResult<ObjectBody> {
        Self::decode(&object.body).map_err(|c| {
            let (database, name) = sql_name(&object.lock_name());
            let text = format!("{:?} {database}.{name}: {c}", object.kind);
            SqlError::new(1030, format!("Got error 194 from storage engine: {text}"))
        })
    }
}

fn push_len(out: &mut Vec<u8>, len: usize) {
    push_compressed(out, u32::try_from(len).expect("a statement is far below 4 GiB"));
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    push_len(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let nibble = |d: u8| char::from(d).to_digit(16);
    let byte = |pair: &[u8]| Some((nibble(pair[0])? << 4 | nibble(*pair.get(1)?)?) as u8);
    digits.as_bytes().chunks(2).map(byte).collect()
}

fn truncated(_: Truncated) -> Corruption {
    Corruption::new("object", "it ends too early")
}

struct Input<'a>(Reader<'a>);

impl Input<'_> {
    fn len(&mut self) -> Result<usize, Corruption> {
        Ok(self.0.compressed().map_err(truncated)? as usize)
    }

    fn text(&mut self) -> Result<String, Corruption> {
        let len = self.len()?;
        let bytes = self.0.bytes(len).map_err(truncated)?;
        let text = std::str::from_utf8(bytes).map(str::to_owned);
        text.map_err(|e| Corruption::new("object", format!("a text is not UTF-8: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body() -> ObjectBody {
        ObjectBody {
            definer: ("root".into(), "%".into()),
            security: Security::Invoker,
            sql_mode: 1 << 40 | 3,
            client_collation: 33,
            connection_collation: 8,
            database_collation: 45,
            created: 1,
            modified: 2,
            comment: "ö".into(),
            text: "select 1".into(),
            more: vec![("a".into(), String::new()), ("b".into(), "c".into())],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut body = body();
        assert_eq!(ObjectBody::decode(&body.encode()), Ok(body.clone()));
        assert_eq!((body.get("b"), body.get("none")), ("c", ""));
        body.set("b", "d");
        assert_eq!(body.get("b"), "d");
        assert_eq!(ObjectBody::decode(&ObjectBody::default().encode()), Ok(ObjectBody::default()));
    }

    #[test]
    fn what_was_sent_is_found_again() {
        let latin1 = Charset::LATIN1.default_collation();
        for (collation, sent, text, kept_beside) in [
            (latin1, &b"select '\xE9'"[..], "select 'é'", false),
            (45, "select 'é'".as_bytes(), "select 'é'", false),
            (45, b"select _binary'\xFF'", "select _binary'\u{FFFD}'", true),
        ] {
            let mut body = ObjectBody { client_collation: collation, ..body() };
            body.set_text(sent, text.to_owned());
            assert_eq!(body.get(SOURCE).is_empty(), !kept_beside, "{text}");
            let body = ObjectBody::decode(&body.encode()).expect("it was just written");
            assert_eq!((&*body.source(), &*body.text), (sent, text));
        }
        let body = ObjectBody { client_collation: latin1, ..body() };
        assert!(body.can_send("é") && !body.can_send("ж"));
    }

    #[test]
    fn a_server_s_file_is_kept_byte_for_byte() {
        let mut body = body();
        assert_eq!(body.server_file(), None);
        for file in [&b"TYPE=VIEW\nquery=select 'M-\n"[..], b"TYPE=VIEW\nquery=select '\xE9'\n", b"\xFF"] {
            body.set_server_file(file);
            let body = ObjectBody::decode(&body.encode()).expect("it was just written");
            assert_eq!(body.server_file().as_deref(), Some(file));
        }
    }

    /// Cut anywhere it is refused; changed anywhere it is refused or something else.
    #[test]
    fn damage_is_no_panic() {
        let bytes = body().encode();
        for at in 0..bytes.len() {
            assert!(ObjectBody::decode(&bytes[..at]).is_err(), "cut at {at}");
            for byte in 0..=255 {
                let mut bytes = bytes.clone();
                bytes[at] = byte;
                let _ = ObjectBody::decode(&bytes);
            }
        }
        let object = Object::new(vaquita_engine::ObjectKind::View, "d", "v", vec![9]);
        assert!(ObjectBody::of(&object).unwrap_err().message.contains("View d.v: "));
    }

    /// The bytes are on disk: they stay what they are.
    #[test]
    fn golden() {
        let want = [
            &b"\x01\x04root\x01%\x01\0\0\x01\0\0\0\0\x03"[..],
            b"\0\x21\0\x08\0\x2d",
            b"\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02",
            b"\x02\xc3\xb6\x08select 1\x02\x01a\0\x01b\x01c",
        ];
        assert_eq!(body().encode(), want.concat());
    }
}
