//! `.frm` files of views: text, one property a line.
//!
//! | line | holds |
//! |---|---|
//! | `TYPE=VIEW` | the first one |
//! | `query=` | the query with complete names, escaped |
//! | `algorithm=` | 0 UNDEFINED, 1 TEMPTABLE, 2 MERGE |
//! | `definer_user=`, `definer_host=` | the definer |
//! | `suid=` | 0 SQL SECURITY INVOKER; 1, 2 DEFINER |
//! | `with_check_option=` | 0 none, 1 LOCAL, 2 CASCADED |
//! | `timestamp=` | when it was made, `2014-05-06 07:08:09` |
//! | `client_cs_name=`, `connection_cl_name=` | names of a character set and of a collation |
//! | `view_body_utf8=` | the query as information_schema shows it: in UTF-8, without what says of which character set a string is |
//!
//! Names of the query are in UTF-8; strings are in the client's character set, or already in that of the column they are compared with.
//! Which of them cannot be told, so that a query with other characters than ASCII is taken from `view_body_utf8`, unless the client's is
//! UTF-8.
//!
//! Other lines (the statement as it was written, a checksum of the query) are not looked at. In escaped text a backslash stands before
//! a backslash and a quote, `\n` is the end of a line, `\0` a zero byte, `\z` byte 26.

use crate::error::{Corruption, Result};

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
        for line in bytes[MAGIC.len()..].split(|&b| b == b'\n') {
            let Some(at) = line.iter().position(|&b| b == b'=') else { continue };
            let (name, value) = (&line[..at], &line[at + 1..]);
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

fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(&byte) = rest.next() {
        out.push(match (byte, byte == b'\\') {
            (_, false) => byte,
            _ => match rest.next() {
                Some(b'n') => b'\n',
                Some(b'0') => 0,
                Some(b'z') => 26,
                Some(&other) => other,
                None => b'\\',
            },
        });
    }
    out
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
