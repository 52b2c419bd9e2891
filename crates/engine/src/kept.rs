//! What the layer above has kept with columns and tables: [`Column::extra`](crate::Column::extra) and
//! [`Table::extra`](crate::Table::extra). Nothing here is understood by the engine; of tables of a MySQL server it finds the same in their
//! `.frm` files.
//!
//! Lines of UTF-8 text. The first line of a column's is its type as SHOW COLUMNS prints it (`int(10) unsigned zerofill`,
//! `enum('a','b')`); that of a table's is empty. Each further line is an option, `name=value`,
//! in which `\n` stands for a line break and `\\` for a backslash. Names that are not known are kept and ignored.
//!
//! | where | option | value |
//! |---|---|---|
//! | column | `collate` | number of the collation of an ENUM or SET (of other types the engine knows it) |
//! | column | `column_format`, `storage` | as declared |
//! | column | `generated`, `virtual` | the expression of a generated column; `1` if it is VIRTUAL |
//! | column | `uses` | columns that this expression, or that of the default, looks at |
//! | column | `invisible` | `1`: `*` leaves it out |
//! | table | `index/NAME/invisible` | `1`: plans do not read it |
//! | table | those of [`option`], `data_directory` | as declared |
//! | table | `partitioning` | the clause PARTITION BY as a `.frm` has it |
//! | table | `create_time` | seconds since 1970 |
//! | table | `index/NAME/using`, `index/NAME/key_block_size` | of an index, as declared |
//! | table | `index/NAME/descending` | numbers of the parts of an index that are descending, from 0, with commas between. The engine itself |
//! |  |  | writes and reads it: the order of the tree depends on it |
//! | table | `index/NAME/parser` | what makes words of the texts of a FULLTEXT index; the engine itself writes and reads it |
//! | table | `index/NAME/split` | how the words of a FULLTEXT index are divided among its tables; the engine itself writes and reads it |
//! | table | `index/NAME/generated` | `1`: the index was made for a foreign key, nobody asked for it |
//! | table | `check/NAME/clause`, `check/NAME/columns` | of a CHECK constraint: its condition, the columns in it |
//! | table | `check/NAME/unenforced` | `1`: it is not enforced. NAME is `%nN` of one that is named after the table, `TABLE_chk_N` |
//! | table | `index/NAME/hidden` | `1`: the engine has made the index for itself, which writes and reads it |
//!
//! A table made by the engine's API has no options, and its columns no type line.

use crate::table::FullTextIndex;
use vaquita_format::index_def::KeyPart;

/// Options of tables, by name.
pub mod option {
    #![allow(missing_docs, reason = "named as in SQL")]
    pub const MIN_ROWS: &str = "min_rows";
    pub const MAX_ROWS: &str = "max_rows";
    pub const AVG_ROW_LENGTH: &str = "avg_row_length";
    pub const PACK_KEYS: &str = "pack_keys";
    pub const STATS_PERSISTENT: &str = "stats_persistent";
    pub const STATS_AUTO_RECALC: &str = "stats_auto_recalc";
    pub const STATS_SAMPLE_PAGES: &str = "stats_sample_pages";
    pub const CHECKSUM: &str = "checksum";
    pub const DELAY_KEY_WRITE: &str = "delay_key_write";
    pub const ROW_FORMAT: &str = "row_format";
    pub const KEY_BLOCK_SIZE: &str = "key_block_size";
    pub const PARTITIONING: &str = "partitioning";
}

/// The parsed text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extra {
    /// The first line.
    pub head: String,
    /// Options in order.
    options: Vec<(String, String)>,
}

impl Extra {
    /// An extra with this first line.
    pub fn new(head: impl Into<String>) -> Extra {
        Extra { head: head.into(), options: Vec::new() }
    }

    /// Reads the text; lines that are no options are ignored.
    pub fn parse(text: &str) -> Extra {
        let mut lines = text.split('\n');
        let head = lines.next().unwrap_or_default().to_owned();
        let options = lines.filter_map(|line| line.split_once('='));
        Extra { head, options: options.map(|(name, value)| (name.to_owned(), unescape(value))).collect() }
    }

    /// An option.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// An option that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// Sets an option, or takes it away. Names hold neither `=` nor line breaks, but for those of indexes, which are
    /// escaped by [`index_option`].
    pub fn set(&mut self, name: &str, value: Option<String>) {
        match (value, self.options.iter().position(|(n, _)| n == name)) {
            (Some(value), Some(at)) => self.options[at].1 = value,
            (Some(value), None) => self.options.push((name.to_owned(), value)),
            (None, Some(at)) => {
                self.options.remove(at);
            }
            (None, None) => {}
        }
    }

    /// Keeps the options with these names only.
    pub fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        self.options.retain(|(name, _)| wanted(name));
    }

    /// The CHECK constraints, by the names they are kept under, with their conditions.
    pub fn of_checks(&self) -> impl Iterator<Item = (CheckName, &str)> {
        self.options.iter().filter_map(|(name, value)| {
            let name = name.strip_prefix(OF_CHECK)?.strip_suffix("/clause")?;
            Some((CheckName::parse(name), value.as_str()))
        })
    }

    /// The text.
    pub fn to_text(&self) -> String {
        let mut out = self.head.clone();
        for (name, value) in &self.options {
            out.push('\n');
            out.push_str(name);
            out.push('=');
            escape(value, &mut out);
        }
        out
    }
}

/// What names of options of indexes begin with.
const OF_INDEX: &str = "index/";

/// Whether an option of a table's extra is one of its indexes.
pub fn is_of_index(option: &str) -> bool {
    option.starts_with(OF_INDEX)
}

/// Name of an option of an index in a table's extra.
pub fn index_option(index: &str, option: &str) -> String {
    format!("{OF_INDEX}{}/{option}", safe_name(index))
}

/// Option of an index: which of its parts are descending.
const DESCENDING: &str = "descending";

/// Gives the parts of an index the directions that are kept of it.
pub fn direct(extra: &Extra, index: &str, parts: &mut [KeyPart]) {
    let numbers = extra.get(&index_option(index, DESCENDING)).unwrap_or_default().split(',');
    for number in numbers.filter_map(|n| n.parse::<usize>().ok()) {
        if let Some(part) = parts.get_mut(number) {
            part.descending = true;
        }
    }
}

/// Option of an index: no statement sees it.
const HIDDEN: &str = "hidden";

/// Whether an index is kept as one that no statement sees.
pub(crate) fn is_hidden(extra: &Extra, index: &str) -> bool {
    extra.get(&index_option(index, HIDDEN)).is_some()
}

/// Option of a FULLTEXT index: what makes words of its texts.
const PARSER: &str = "parser";

/// The parser that is kept of a FULLTEXT index.
pub fn parser(extra: &Extra, index: &str) -> Option<String> {
    extra.get(&index_option(index, PARSER)).map(str::to_owned)
}

/// Option of a FULLTEXT index: how its words are divided among its tables.
const SPLIT: &str = "split";

/// The division of words that is kept of a FULLTEXT index.
pub fn split(extra: &Extra, index: &str) -> Option<String> {
    extra.get(&index_option(index, SPLIT)).map(str::to_owned)
}

/// A table's extra with what the engine itself keeps of the indexes: directions, as [`direct`] reads them, and whether they are hidden;
/// of FULLTEXT indexes the parser and the division of words.
pub(crate) fn with_indexes<'i>(
    extra: &str,
    indexes: impl Iterator<Item = (&'i str, &'i [KeyPart], bool)>,
    fulltext: &[FullTextIndex],
) -> String {
    let mut kept = Extra::parse(extra);
    for (name, parts, hidden) in indexes {
        kept.set(&index_option(name, HIDDEN), hidden.then(|| "1".to_owned()));
        let down = parts.iter().enumerate().filter(|(_, part)| part.descending);
        let numbers: Vec<String> = down.map(|(n, _)| n.to_string()).collect();
        kept.set(&index_option(name, DESCENDING), Some(numbers.join(",")).filter(|n| !n.is_empty()));
    }
    for index in fulltext {
        kept.set(&index_option(&index.name, PARSER), index.parser.clone());
        kept.set(&index_option(&index.name, SPLIT), index.split.clone());
    }
    kept.to_text()
}

/// What names of options of CHECK constraints begin with.
const OF_CHECK: &str = "check/";

/// Whether an option of a table's extra is one of its CHECK constraints.
pub fn is_of_check(option: &str) -> bool {
    option.starts_with(OF_CHECK)
}

/// What a CHECK constraint is kept under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckName {
    /// Its name.
    Given(String),
    /// It is named after its table, whatever that is called: the number behind.
    Numbered(u32),
}

impl CheckName {
    fn parse(kept: &str) -> CheckName {
        match kept.strip_prefix("%n").and_then(|number| number.parse().ok()) {
            Some(number) => CheckName::Numbered(number),
            None => CheckName::Given(plain_name(kept)),
        }
    }

    /// Name of an option of the constraint in a table's extra.
    pub fn option(&self, option: &str) -> String {
        match self {
            CheckName::Given(name) => format!("{OF_CHECK}{}/{option}", safe_name(name)),
            CheckName::Numbered(number) => format!("{OF_CHECK}%n{number}/{option}"),
        }
    }
}

/// Names as the value of one option.
pub fn join_names<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().map(safe_name).collect::<Vec<_>>().join(",")
}

/// The names of such a value.
pub fn split_names(value: &str) -> Vec<String> {
    value.split(',').map(plain_name).collect()
}

/// A name without the characters that have a meaning in names of options and lists of names.
fn safe_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '%' | '=' | '/' | '\n' | ',' => out.push_str(&format!("%{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// The name that [`safe_name`] was given.
fn plain_name(safe: &str) -> String {
    let mut parts = safe.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(u8::is_ascii) {
            Some(code) => {
                out.push(char::from(code));
                out.push_str(&part[2..]);
            }
            None => {
                out.push('%');
                out.push_str(part);
            }
        }
    }
    out
}

fn escape(value: &str, out: &mut String) {
    for c in value.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\\' => out.push_str("\\\\"),
            c => out.push(c),
        }
    }
}

fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some(c) => out.push(c),
                None => out.push('\\'),
            },
            (c, false) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_read() {
        let mut extra = Extra::new("int(10) unsigned");
        extra.set("collate", Some("33".into()));
        extra.set("data_directory", Some("a\\b\nc=d".into()));
        extra.set(&index_option("we=ird/%", "using"), Some("HASH".into()));
        extra.set("gone", Some("x".into()));
        extra.set("gone", None);
        let text = extra.to_text();
        assert_eq!(
            text,
            "int(10) unsigned\ncollate=33\ndata_directory=a\\\\b\\nc=d\nindex/we%3dird%2f%25/using=HASH"
        );
        let read = Extra::parse(&text);
        assert_eq!(read, extra);
        assert_eq!(read.number("collate"), Some(33));
        assert_eq!(read.get("gone"), None);
        // The first line of folders that MySQL made, and of tables made without SQL.
        assert_eq!(Extra::parse("set('a','b')"), Extra::new("set('a','b')"));
        assert_eq!(Extra::parse(""), Extra::default());
    }

    #[test]
    fn checks_have_names_or_numbers() {
        let names = [CheckName::Given("%n7".into()), CheckName::Numbered(7), CheckName::Given("a/b".into())];
        let mut extra = Extra::default();
        for (i, name) in names.iter().enumerate() {
            extra.set(&name.option("clause"), Some(i.to_string()));
            extra.set(&name.option("columns"), Some("a".into()));
        }
        let read = Extra::parse(&extra.to_text());
        let found: Vec<_> = read.of_checks().map(|(name, _)| name).collect();
        assert_eq!(found, names);
        assert_eq!(read.get(&names[1].option("clause")), Some("1"));
    }

    #[test]
    fn lists_of_names() {
        let names = ["a,b", "50%", "é", "%2c"];
        assert_eq!(split_names(&join_names(names)), names);
        assert_eq!(split_names("%zz,%"), ["%zz", "%"]);
    }
}
