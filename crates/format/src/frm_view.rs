//! `.frm` files of views: text, one property a line.
//!
//! | line | holds |
//! |---|---|
//! | `TYPE=VIEW` | the first one |
//! | `query=` | the query with complete names, escaped |
//! | `md5=` | MD5 of the query |
//! | `updatable=` | 1 if rows may be changed through it |
//! | `algorithm=` | 0 UNDEFINED, 1 TEMPTABLE, 2 MERGE |
//! | `definer_user=`, `definer_host=` | the definer |
//! | `suid=` | 0 SQL SECURITY INVOKER; 1 DEFINER; 2 DEFINER, of which the statement said nothing |
//! | `with_check_option=` | 0 none, 1 LOCAL, 2 CASCADED |
//! | `timestamp=` | when it was made, `2014-05-06 07:08:09` |
//! | `create-version=` | 1 |
//! | `source=` | the query as it was written, escaped |
//! | `client_cs_name=`, `connection_cl_name=` | names of a character set and of a collation |
//! | `view_body_utf8=` | the query as information_schema shows it: in UTF-8, without what says of which character set a string is |
//!
//! Names and strings of the query are in the client's character set; but a string may already be in that of the column it is compared with,
//! which the server then takes for something else when it reads the file. Which of them cannot be told, so that a query with other
//! characters than ASCII is taken from `view_body_utf8`, unless the client's is UTF-8. Files that are written here have all of the query in
//! the client's character set.
//!
//! Other lines are not looked at. The definer is not escaped.

use crate::error::{Corruption, Result};
use crate::server_text::{escaped, lines, unescaped};
use vaquita_base::md5;

/// What the `.frm` of a view says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FrmView {
    /// The query, with complete names.
    pub query: String,
    /// 0 UNDEFINED, 1 TEMPTABLE, 2 MERGE.
    pub algorithm: u8,
    /// User and host of the definer.
    pub definer: (String, String),
    /// SQL SECURITY INVOKER.
    pub invoker: bool,
    /// 0 no CHECK OPTION, 1 LOCAL, 2 CASCADED.
    pub check: u8,
    /// When it was made, as text.
    pub timestamp: String,
    /// Name of `character_set_client`.
    pub client_charset: String,
    /// Name of `collation_connection`.
    pub connection_collation: String,
}

/// What is written of a view, as bytes where it is in the client's character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewFile<'a> {
    /// The query, with complete names.
    pub query: &'a [u8],
    /// Rows may be changed through it.
    pub updatable: bool,
    /// 0 UNDEFINED, 1 TEMPTABLE, 2 MERGE.
    pub algorithm: u8,
    /// User and host of the definer.
    pub definer: (&'a str, &'a str),
    /// SQL SECURITY, as the table of the module has it.
    pub suid: u8,
    /// 0 no CHECK OPTION, 1 LOCAL, 2 CASCADED.
    pub check: u8,
    /// When it was made, as text.
    pub timestamp: &'a str,
    /// The query as it was written.
    pub source: &'a [u8],
    /// Name of `character_set_client`.
    pub client_charset: &'a str,
    /// Name of `collation_connection`.
    pub connection_collation: &'a str,
    /// The query as information_schema shows it, in `utf8`.
    pub body: &'a str,
}

impl ViewFile<'_> {
    /// The file.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let mut line = |name: &str, value: &[u8]| {
            out.extend_from_slice(name.as_bytes());
            out.push(b'=');
            out.extend_from_slice(value);
            out.push(b'\n');
        };
        let digits = md5(self.query).map(|b| format!("{b:02x}")).concat();
        line("query", &escaped(self.query));
        line("md5", digits.as_bytes());
        line("updatable", if self.updatable { b"1" } else { b"0" });
        line("algorithm", self.algorithm.to_string().as_bytes());
        line("definer_user", self.definer.0.as_bytes());
        line("definer_host", self.definer.1.as_bytes());
        line("suid", self.suid.to_string().as_bytes());
        line("with_check_option", self.check.to_string().as_bytes());
        line("timestamp", self.timestamp.as_bytes());
        line("create-version", b"1");
        line("source", &escaped(self.source));
        line("client_cs_name", self.client_charset.as_bytes());
        line("connection_cl_name", self.connection_collation.as_bytes());
        line("view_body_utf8", &escaped(self.body.as_bytes()));
        out
    }
}

/// What the file of a view begins with.
const MAGIC: &[u8] = b"TYPE=VIEW\n";

/// Whether bytes are the beginning of a view's file.
pub fn is_view(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

impl FrmView {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is not a view's `.frm`, lacks what a view has, or holds a number that means nothing.
    pub fn parse(bytes: &[u8]) -> Result<FrmView> {
        if !is_view(bytes) {
            return Err(corrupt("this is no view's definition"));
        }
        let mut view = FrmView::default();
        let (mut query, mut in_utf8) = (None, None);
        for (name, value) in lines(&bytes[MAGIC.len()..]) {
            match name {
                b"query" => query = Some(unescaped(value)),
                b"view_body_utf8" => in_utf8 = Some(unescaped(value)),
                b"algorithm" => view.algorithm = number(value, 2)?,
                b"definer_user" => view.definer.0 = text(value)?,
                b"definer_host" => view.definer.1 = text(value)?,
                b"suid" => view.invoker = number(value, 2)? == 0,
                b"with_check_option" => view.check = number(value, 2)?,
                b"timestamp" => view.timestamp = text(value)?,
                b"client_cs_name" => view.client_charset = text(value)?,
                b"connection_cl_name" => view.connection_collation = text(value)?,
                _ => {}
            }
        }
        let query = query.ok_or_else(|| corrupt("there is no query"))?;
        let is_plain = query.is_ascii()
            || (view.client_charset.starts_with("utf8") && std::str::from_utf8(&query).is_ok());
        view.query = match in_utf8 {
            Some(in_utf8) if !is_plain => text(&in_utf8)?,
            _ => text(&query)?,
        };
        Ok(view)
    }
}

fn corrupt(why: impl Into<String>) -> Corruption {
    Corruption::new(".frm of a view", why.into())
}

fn text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| corrupt("text is not UTF-8"))
}

fn number(bytes: &[u8], max: u8) -> Result<u8> {
    match bytes {
        [digit @ b'0'..=b'9'] if digit - b'0' <= max => Ok(digit - b'0'),
        _ => Err(corrupt(format!("{:?} is no number up to {max}", String::from_utf8_lossy(bytes)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a 5.6.24 server wrote it.
    const FILE: &str = "TYPE=VIEW\nquery=select `d`.`t`.`a` AS `a`,\\'it\\\\\\'s\\n\\' AS `s` from `d`.`t` where (`d`.`t`.`a` < 25)\n\
        md5=639f48eb86d98fd9d7226bcea00ce768\nupdatable=1\nalgorithm=2\ndefiner_user=root\ndefiner_host=127.0.0.1\nsuid=0\n\
        with_check_option=1\ntimestamp=2026-11-25 07:17:24\ncreate-version=1\nsource=select a from t\n\
        client_cs_name=utf8mb4\nconnection_cl_name=utf8mb4_general_ci\nview_body_utf8=select 1";

    #[test]
    fn reads_what_a_server_wrote() {
        let view = FrmView::parse(FILE.as_bytes()).expect("a view");
        let wanted = FrmView {
            query: "select `d`.`t`.`a` AS `a`,'it\\'s\n' AS `s` from `d`.`t` where (`d`.`t`.`a` < 25)".into(),
            algorithm: 2,
            definer: ("root".into(), "127.0.0.1".into()),
            invoker: true,
            check: 1,
            timestamp: "2026-11-25 07:17:24".into(),
            client_charset: "utf8mb4".into(),
            connection_collation: "utf8mb4_general_ci".into(),
        };
        assert_eq!(view, wanted);
    }

    /// As 5.6.24 wrote it for `select 'é' x from t where w = 'é'` of a session of latin1, `w` being utf8mb4.
    #[test]
    fn strings_in_other_character_sets_are_taken_from_the_utf8_body() {
        let head =
            b"TYPE=VIEW\nquery=select \\'\xE9\\' AS `x` from `d`.`t` where (`d`.`t`.`w` = \\'\xC3\xA9\\')\n\
            client_cs_name=latin1\nconnection_cl_name=latin1_swedish_ci\n";
        let body = "select 'é' AS `x` from `d`.`t` where (`d`.`t`.`w` = 'é')";
        let in_utf8 = format!("view_body_utf8={}", body.replace('\'', "\\'"));
        let view = FrmView::parse(&[&head[..], in_utf8.as_bytes()].concat()).expect("a view");
        assert_eq!(view.query, body);
        assert!(FrmView::parse(head).is_err(), "the strings mean nothing without it");
    }

    /// As 5.6.24 wrote it for `create view dk as select '^Z\\0\\n' x`, with byte 26 for `^Z`.
    #[test]
    fn writes_what_a_server_writes() {
        let query = b"select '\\Z\\0\\n' AS `x`";
        let file = ViewFile {
            query,
            updatable: false,
            algorithm: 0,
            definer: ("root", "localhost"),
            suid: 2,
            check: 0,
            timestamp: "2026-11-28 11:57:00",
            source: b"select '\x1a\\0\\n' x",
            client_charset: "utf8",
            connection_collation: "utf8_general_ci",
            body: "select '\\Z\\0\\n' AS `x`",
        };
        let wanted = "TYPE=VIEW\nquery=select \\'\\\\Z\\\\0\\\\n\\' AS `x`\nmd5=544167661be1f38a4dc43e32699394cb\nupdatable=0\nalgorithm=0\n\
            definer_user=root\ndefiner_host=localhost\nsuid=2\nwith_check_option=0\ntimestamp=2026-11-28 11:57:00\ncreate-version=1\n\
            source=select \\'\\z\\\\0\\\\n\\' x\nclient_cs_name=utf8\nconnection_cl_name=utf8_general_ci\n\
            view_body_utf8=select \\'\\\\Z\\\\0\\\\n\\' AS `x`\n";
        let bytes = file.encode();
        assert_eq!(String::from_utf8_lossy(&bytes), wanted);
        let read = FrmView::parse(&bytes).expect("a view");
        assert_eq!((read.query.as_bytes(), read.definer.0.as_str()), (&query[..], "root"));
    }

    #[test]
    fn what_is_no_view_is_refused() {
        for bytes in [
            &b""[..],
            b"\xFE\x01",
            b"TYPE=VIEW\n",
            b"TYPE=VIEW\nquery=x\nalgorithm=7\n",
            b"TYPE=VIEW\nquery=\xFF\n",
        ] {
            assert!(FrmView::parse(bytes).is_err(), "{bytes:?}");
        }
    }
}
