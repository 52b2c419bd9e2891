//! Files of triggers: a `.TRG` of each table that has some, and a `.TRN` of each trigger. Text, one property a line.
//!
//! | line of a `.TRG` | holds, of each trigger in the order of their making |
//! |---|---|
//! | `TYPE=TRIGGERS` | the first line |
//! | `triggers=` | the statement that makes it, escaped, in quotes |
//! | `sql_modes=` | the number of `sql_mode` |
//! | `definers=` | `user@host`, escaped, in quotes |
//! | `client_cs_names=` | name of `character_set_client`, in quotes |
//! | `connection_cl_names=` | name of `collation_connection`, in quotes |
//! | `db_cl_names=` | name of the database's collation, in quotes |
//!
//! A space stands between values. The statement is `CREATE DEFINER=` with user and host in quotes (those of ANSI_QUOTES under it), and what
//! was sent from the word TRIGGER on, without spaces and semicolons behind it; of comments for versions only what is in them. Where the
//! table has got another name, ``ON `name` `` stands for what stood between the event and FOR. What was sent is in the character set of
//! the client, byte for byte; the definer and the new name are in UTF-8 all the same. Escapes look at bytes: they stand within characters of
//! two bytes, too.
//!
//! | line of a `.TRN` | holds |
//! |---|---|
//! | `TYPE=TRIGGERNAME` | the first line |
//! | `trigger_table=` | the table's name, escaped |
//!
//! Other lines are not looked at. A trigger of a server older than 5.1 may have no definer, and its file no lines of character sets: such
//! files are refused.

use crate::error::{Corruption, Result};
use crate::server_text::{escaped, lines, unescaped};

/// What a `.TRG` says of a trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTrigger {
    /// The statement that makes it.
    pub statement: Vec<u8>,
    /// The bits of `sql_mode`.
    pub sql_mode: u64,
    /// User and host of the definer, with `@` between them.
    pub definer: String,
    /// Name of `character_set_client`.
    pub client_charset: String,
    /// Name of `collation_connection`.
    pub connection_collation: String,
    /// Name of the database's collation.
    pub database_collation: String,
}

/// What a `.TRG` begins with.
const MAGIC: &[u8] = b"TYPE=TRIGGERS\n";
/// What a `.TRN` begins with.
const NAME_MAGIC: &[u8] = b"TYPE=TRIGGERNAME\n";

/// The file that says of which table a trigger is (`.TRN`), of that name.
pub fn name_file(table: &str) -> Vec<u8> {
    let table = escaped(table.as_bytes());
    [NAME_MAGIC, b"trigger_table=", &table[..], b"\n"].concat()
}

/// The file of a table's triggers (`.TRG`).
pub fn encode(triggers: &[ServerTrigger]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    let mut line = |name: &str, value: &dyn Fn(&ServerTrigger) -> Vec<u8>| {
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        out.extend_from_slice(&triggers.iter().map(value).collect::<Vec<_>>().join(&b' '));
        out.push(b'\n');
    };
    line("triggers", &|t| quoted(&t.statement));
    line("sql_modes", &|t| t.sql_mode.to_string().into_bytes());
    line("definers", &|t| quoted(t.definer.as_bytes()));
    line("client_cs_names", &|t| quoted(t.client_charset.as_bytes()));
    line("connection_cl_names", &|t| quoted(t.connection_collation.as_bytes()));
    line("db_cl_names", &|t| quoted(t.database_collation.as_bytes()));
    out
}

/// Reads the file of a table's triggers.
///
/// # Errors
/// If it is no `.TRG`, or does not say all of each trigger.
pub fn decode(bytes: &[u8]) -> Result<Vec<ServerTrigger>> {
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| corrupt("these are no triggers"))?;
    let (mut statements, mut sql_modes) = (Vec::new(), Vec::new());
    let mut texts = [const { Vec::new() }; TEXTS.len()];
    for (name, value) in lines(rest) {
        match name {
            b"triggers" => statements = quoted_list(value)?,
            b"sql_modes" => sql_modes = numbers(value)?,
            name => {
                if let Some(at) = TEXTS.iter().position(|text| text.as_bytes() == name) {
                    texts[at] = quoted_list(value)?;
                }
            }
        }
    }
    let n = statements.len();
    if sql_modes.len() != n {
        return Err(corrupt(format!("{n} triggers have {} values of sql_modes", sql_modes.len())));
    }
    if let Some((name, values)) = TEXTS.iter().zip(&texts).find(|(_, values)| values.len() != n) {
        return Err(corrupt(format!("{n} triggers have {} values of {name}", values.len())));
    }
    let mut texts = texts.map(Vec::into_iter);
    let mut next = |at: usize| text(texts[at].next().unwrap_or_default());
    let trigger = |(statement, sql_mode)| {
        Ok(ServerTrigger {
            statement,
            sql_mode,
            definer: next(0)?,
            client_charset: next(1)?,
            connection_collation: next(2)?,
            database_collation: next(3)?,
        })
    };
    statements.into_iter().zip(sql_modes).map(trigger).collect()
}

/// The lines with text of each trigger.
const TEXTS: [&str; 4] = ["definers", "client_cs_names", "connection_cl_names", "db_cl_names"];

fn corrupt(why: impl Into<String>) -> Corruption {
    Corruption::new(".TRG", why.into())
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| corrupt("text is not UTF-8"))
}

fn quoted(bytes: &[u8]) -> Vec<u8> {
    [b"'", &escaped(bytes)[..], b"'"].concat()
}

/// Values in quotes, with a space between them.
fn quoted_list(mut bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut out = Vec::new();
    while let Some(rest) = bytes.strip_prefix(b"'") {
        let mut is_escaped = false;
        let end = rest.iter().position(|&byte| {
            let ends = byte == b'\'' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends
        });
        let end = end.ok_or_else(|| corrupt("a value does not end"))?;
        out.push(unescaped(&rest[..end]));
        bytes = &rest[end + 1..];
        bytes = bytes.strip_prefix(b" ").unwrap_or(bytes);
    }
    match bytes {
        [] => Ok(out),
        _ => Err(corrupt("a value is not in quotes")),
    }
}

fn numbers(bytes: &[u8]) -> Result<Vec<u64>> {
    let words = bytes.split(|&b| b == b' ').filter(|word| !word.is_empty());
    let number = |word: &[u8]| std::str::from_utf8(word).ok()?.parse().ok();
    words.map(|word| number(word).ok_or_else(|| corrupt("a value of sql_modes is no number"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a 5.6.24 server wrote it for statements of sessions in utf8, gbk and latin1; the first under ANSI_QUOTES.
    const FILE: &[u8] = b"TYPE=TRIGGERS\ntriggers='CREATE DEFINER=\"a`b\\'c\"\"d\"@\"h\" trigger dq2 after update on v for each row set @x=\\'\\\\\\\\\\n\\0\\z\\'' \
        'CREATE DEFINER=`root`@`127.0.0.1` trigger gb after delete on v for each row set @x=\\'\xD5\\\\\\' /* x */ -- rest' \
        'CREATE DEFINER=`\xC3\xBC x`@`%` trigger `l\xE9` before insert ON `\xC3\xB6` for each row set @x=1'\nsql_modes=4 0 1073741824\n\
        definers='a`b\\'c\"d@h' 'root@127.0.0.1' '\xC3\xBC x@%'\nclient_cs_names='utf8' 'gbk' 'latin1'\n\
        connection_cl_names='utf8_general_ci' 'gbk_chinese_ci' 'latin1_swedish_ci'\ndb_cl_names='utf8_general_ci' 'utf8_general_ci' 'utf8_general_ci'\n";

    #[test]
    fn reads_and_writes_what_a_server_wrote() {
        let triggers = decode(FILE).expect("triggers");
        let trigger =
            |statement: &[u8], sql_mode, definer: &str, client: &str, connection: &str| ServerTrigger {
                statement: statement.to_vec(),
                sql_mode,
                definer: definer.into(),
                client_charset: client.into(),
                connection_collation: connection.into(),
                database_collation: "utf8_general_ci".into(),
            };
        let wanted = [
            trigger(
                b"CREATE DEFINER=\"a`b'c\"\"d\"@\"h\" trigger dq2 after update on v for each row set @x='\\\\\n\0\x1A'",
                4,
                "a`b'c\"d@h",
                "utf8",
                "utf8_general_ci",
            ),
            trigger(
                b"CREATE DEFINER=`root`@`127.0.0.1` trigger gb after delete on v for each row set @x='\xD5\\' /* x */ -- rest",
                0,
                "root@127.0.0.1",
                "gbk",
                "gbk_chinese_ci",
            ),
            trigger(
                b"CREATE DEFINER=`\xC3\xBC x`@`%` trigger `l\xE9` before insert ON `\xC3\xB6` for each row set @x=1",
                1 << 30,
                "ü x@%",
                "latin1",
                "latin1_swedish_ci",
            ),
        ];
        assert_eq!(triggers, wanted);
        assert_eq!(encode(&triggers).escape_ascii().to_string(), FILE.escape_ascii().to_string());
    }

    #[test]
    fn names_a_table_as_a_server_does() {
        assert_eq!(name_file("odd t`w/x'q"), b"TYPE=TRIGGERNAME\ntrigger_table=odd t`w/x\\'q\n");
    }

    #[test]
    fn what_does_not_say_all_is_refused() {
        let whole = String::from_utf8_lossy(FILE).into_owned();
        for (what, by) in [
            ("TYPE=TRIGGERS", "TYPE=VIEW"),
            ("definers=", "some="),
            ("sql_modes=4 ", "sql_modes="),
            ("sql_modes=4 ", "sql_modes=x "),
            ("'gbk'", "gbk"),
            ("'latin1'", "'latin1"),
            ("db_cl_names='utf8_general_ci' ", "db_cl_names="),
        ] {
            assert!(whole.contains(what), "{what}");
            assert!(decode(whole.replace(what, by).as_bytes()).is_err(), "{by}");
        }
        assert!(decode(&[FILE, &b"created=1 2 3\n"[..]].concat()).is_ok());
        let damaged: Vec<u8> = FILE.iter().map(|&b| if b == 0xBC { 0xFF } else { b }).collect();
        assert!(decode(&damaged).is_err(), "a definer that is no text");
    }

    /// Cut anywhere, or changed, it is refused or something else.
    #[test]
    fn damage_is_no_panic() {
        for at in 0..FILE.len() {
            let _ = decode(&FILE[..at]);
            for byte in [0, b'\\', b'\'', b'=', b'\n', b' ', 0xFF] {
                let mut bytes = FILE.to_vec();
                bytes[at] = byte;
                let _ = decode(&bytes);
            }
        }
    }
}
