//! What the engine keeps for this layer without understanding it: `Column::extra` and `Table::extra`.
//!
//! Lines of UTF-8 text. The first line of a column's is its type as SHOW COLUMNS prints it (`int(10) unsigned zerofill`,
//! `enum('a','b')`; see [`super::declared`]); that of a table's is empty. Each further line is an option, `name=value`,
//! in which `\n` stands for a line break and `\\` for a backslash. Names that are not known are kept and ignored.
//!
//! | where | option | value |
//! |---|---|---|
//! | column | `collate` | number of the collation of an ENUM or SET (of other types the engine knows it) |
//! | column | `column_format`, `storage` | as declared |
//! | table | `row_format`, `key_block_size`, `avg_row_length`, `max_rows`, `min_rows`, `pack_keys`, `checksum`, `delay_key_write`, `stats_persistent`, `stats_auto_recalc`, `stats_sample_pages`, `data_directory` | as declared |
//! | table | `create_time` | seconds since 1970 |
//! | table | `index/NAME/using`, `index/NAME/key_block_size` | of an index, as declared |
//! | table | `index/NAME/generated` | `1`: the index was made for a foreign key, nobody asked for it |
//!
//! A table made by the engine's API or by MySQL has no options; one made by the engine's API has no type line either.

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
    pub(crate) fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        self.options.retain(|(name, _)| wanted(name));
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
pub(crate) fn is_of_index(option: &str) -> bool {
    option.starts_with(OF_INDEX)
}

/// Name of an option of an index in a table's extra.
pub(crate) fn index_option(index: &str, option: &str) -> String {
    let mut out = OF_INDEX.to_owned();
    for c in index.chars() {
        match c {
            '%' | '=' | '/' | '\n' => out.push_str(&format!("%{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('/');
    out.push_str(option);
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
}
