//! What MySQL keeps in `.frm` files and InnoDB's dictionary does not have, as bytes: defaults, labels, comments,
//! decimals, collation and options of a table.
//!
//! | part | encoding |
//! |---|---|
//! | version | u8, 1; 2 if the rows have versions |
//! | table | collation u16, least AUTO_INCREMENT value u64, comment, extra |
//! | columns | count; each: flags u8, decimals if flagged (two u8), labels, default, comment, extra |
//! | index comments | count; each: index number u64, comment |
//! | of version 2: fields of the rows | see [`row_versions`](super::row_versions) |
//!
//! Counts and lengths are InnoDB's compressed numbers; texts are a length and UTF-8. A default is a tag and, for a
//! constant or an expression, its bytes. Bytes behind the last part are ignored: a later version may add parts.

use crate::dict::row_versions::RowVersions;
use crate::table::{Column, DefaultValue};
use vaquita_base::IndexId;
use vaquita_base::codec::{Reader, Truncated, push_compressed, push_u16, push_u64};
use vaquita_format::Corruption;

const VERSION: u8 = 1;
/// Who does not know what versions of rows are must not read them.
const WITH_ROW_VERSIONS: u8 = 2;

mod flag {
    pub(super) const DECIMAL: u8 = 1;
    pub(super) const ON_UPDATE_NOW: u8 = 2;
    pub(super) const AUTO_INCREMENT: u8 = 4;
    pub(super) const HIDDEN: u8 = 8;
}

mod default {
    pub(super) const NONE: u8 = 0;
    pub(super) const NULL: u8 = 1;
    pub(super) const STORED: u8 = 2;
    pub(super) const NOW: u8 = 3;
    pub(super) const TEXT: u8 = 4;
}

/// What is kept of a column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnExtra {
    /// Digits and decimals.
    pub decimal: Option<(u32, u32)>,
    /// Labels of an ENUM or SET.
    pub labels: Vec<String>,
    /// Default.
    pub default: DefaultValue,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// Comment.
    pub comment: String,
    /// What the layer above wants kept.
    pub extra: String,
    /// No statement sees it.
    pub hidden: bool,
}

impl ColumnExtra {
    /// Adds it to what the dictionary says of a column.
    pub(crate) fn apply(self, column: &mut Column) {
        column.decimal = self.decimal;
        column.labels = self.labels;
        column.default = self.default;
        column.on_update_now = self.on_update_now;
        column.auto_increment = self.auto_increment;
        column.comment = self.comment;
        column.extra = self.extra;
        column.hidden = self.hidden;
    }
}

/// What is kept of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableExtra {
    /// Default collation.
    pub collation: u16,
    /// Least AUTO_INCREMENT value; 0 for none.
    pub auto_inc_from: u64,
    /// Comment.
    pub comment: String,
    /// What the layer above wants kept.
    pub extra: String,
    /// Columns, in table order.
    pub columns: Vec<ColumnExtra>,
    /// Comments of indexes that have one.
    pub index_comments: Vec<(IndexId, String)>,
    /// What its rows hold, if columns came or went without them.
    pub versions: Option<RowVersions>,
}

impl TableExtra {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![if self.versions.is_some() { WITH_ROW_VERSIONS } else { VERSION }];
        push_u16(&mut out, self.collation);
        push_u64(&mut out, self.auto_inc_from);
        push_text(&mut out, &self.comment);
        push_text(&mut out, &self.extra);
        push_len(&mut out, self.columns.len());
        self.columns.iter().for_each(|c| push_column(&mut out, c));
        push_len(&mut out, self.index_comments.len());
        for (id, comment) in &self.index_comments {
            push_u64(&mut out, id.get());
            push_text(&mut out, comment);
        }
        if let Some(versions) = &self.versions {
            versions.encode(&mut out);
        }
        out
    }

    /// Reads the bytes.
    ///
    /// # Errors
    /// If they end too early, are of a version to come, or a text is no text.
    pub fn decode(bytes: &[u8]) -> Result<TableExtra, Corruption> {
        let mut input = Input(Reader::new(bytes));
        let version = input.u8()?;
        if ![VERSION, WITH_ROW_VERSIONS].contains(&version) {
            return Err(Corruption::new("table options", format!("version {version} is not known")));
        }
        let collation = input.0.u16().map_err(truncated)?;
        let auto_inc_from = input.u64()?;
        let (comment, extra) = (input.text()?, input.text()?);
        let columns = input.list(|i| i.column())?;
        let index_comments = input.list(|i| Ok((IndexId(i.u64()?), i.text()?)))?;
        let versions =
            (version == WITH_ROW_VERSIONS).then(|| RowVersions::decode(&mut input.0)).transpose()?;
        Ok(TableExtra { collation, auto_inc_from, comment, extra, columns, index_comments, versions })
    }
}

fn push_len(out: &mut Vec<u8>, len: usize) {
    push_compressed(out, u32::try_from(len).expect("a definition is far below 4 GiB"));
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push_len(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    push_bytes(out, text.as_bytes());
}

fn push_column(out: &mut Vec<u8>, c: &ColumnExtra) {
    let bit = |on: bool, bit: u8| if on { bit } else { 0 };
    out.push(
        bit(c.decimal.is_some(), flag::DECIMAL)
            | bit(c.on_update_now, flag::ON_UPDATE_NOW)
            | bit(c.auto_increment, flag::AUTO_INCREMENT)
            | bit(c.hidden, flag::HIDDEN),
    );
    if let Some((digits, decimals)) = c.decimal {
        push_compressed(out, digits);
        push_compressed(out, decimals);
    }
    push_len(out, c.labels.len());
    c.labels.iter().for_each(|label| push_text(out, label));
    match &c.default {
        DefaultValue::None => out.push(default::NONE),
        DefaultValue::Null => out.push(default::NULL),
        DefaultValue::Now => out.push(default::NOW),
        DefaultValue::Stored(bytes) => {
            out.push(default::STORED);
            push_bytes(out, bytes);
        }
        DefaultValue::Text(text) => {
            out.push(default::TEXT);
            push_text(out, text);
        }
    }
    push_text(out, &c.comment);
    push_text(out, &c.extra);
}

fn truncated(_: Truncated) -> Corruption {
    Corruption::new("table options", "they end too early")
}

struct Input<'a>(Reader<'a>);

impl<'a> Input<'a> {
    fn u8(&mut self) -> Result<u8, Corruption> {
        self.0.u8().map_err(truncated)
    }

    fn u64(&mut self) -> Result<u64, Corruption> {
        self.0.u64().map_err(truncated)
    }

    fn number(&mut self) -> Result<u32, Corruption> {
        self.0.compressed().map_err(truncated)
    }

    fn bytes(&mut self) -> Result<&'a [u8], Corruption> {
        let len = self.number()?;
        self.0.bytes(len as usize).map_err(truncated)
    }

    fn text(&mut self) -> Result<String, Corruption> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes)
            .map(str::to_owned)
            .map_err(|e| Corruption::new("table options", format!("a text is not UTF-8: {e}")))
    }

    /// A counted list. Every item takes a byte at least, so no count asks for more memory than there are bytes.
    fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, Corruption>,
    ) -> Result<Vec<T>, Corruption> {
        let n = self.number()? as usize;
        if n > self.0.rest().len() {
            return Err(truncated(Truncated { at: self.0.pos() }));
        }
        (0..n).map(|_| item(self)).collect()
    }

    fn column(&mut self) -> Result<ColumnExtra, Corruption> {
        let flags = self.u8()?;
        let decimal = match flags & flag::DECIMAL {
            0 => None,
            _ => Some((self.number()?, self.number()?)),
        };
        let labels = self.list(Self::text)?;
        let default = match self.u8()? {
            default::NONE => DefaultValue::None,
            default::NULL => DefaultValue::Null,
            default::STORED => DefaultValue::Stored(self.bytes()?.to_vec()),
            default::NOW => DefaultValue::Now,
            default::TEXT => DefaultValue::Text(self.text()?),
            other => return Err(Corruption::new("table options", format!("a default of kind {other}"))),
        };
        Ok(ColumnExtra {
            decimal,
            labels,
            default,
            on_update_now: flags & flag::ON_UPDATE_NOW != 0,
            auto_increment: flags & flag::AUTO_INCREMENT != 0,
            comment: self.text()?,
            extra: self.text()?,
            hidden: flags & flag::HIDDEN != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn default_value() -> impl Strategy<Value = DefaultValue> {
        prop_oneof![
            Just(DefaultValue::None),
            Just(DefaultValue::Null),
            Just(DefaultValue::Now),
            prop::collection::vec(any::<u8>(), 0..300).prop_map(DefaultValue::Stored),
            ".{0,40}".prop_map(DefaultValue::Text),
        ]
    }

    fn column() -> impl Strategy<Value = ColumnExtra> {
        let decimal = prop::option::of((any::<u32>(), any::<u32>()));
        let labels = prop::collection::vec(".{0,12}", 0..6);
        let texts = (".{0,80}", ".{0,20}");
        (decimal, labels, default_value(), any::<(bool, bool, bool)>(), texts).prop_map(
            |(decimal, labels, default, (on_update_now, auto_increment, hidden), (comment, extra))| {
                ColumnExtra {
                    decimal,
                    labels,
                    default,
                    on_update_now,
                    auto_increment,
                    comment,
                    extra,
                    hidden,
                }
            },
        )
    }

    fn table() -> impl Strategy<Value = TableExtra> {
        let numbers = (any::<u16>(), any::<u64>());
        let comments = prop::collection::vec((any::<u64>().prop_map(IndexId), ".{0,30}"), 0..4);
        (numbers, ".{0,200}", ".{0,30}", prop::collection::vec(column(), 0..5), comments).prop_map(
            |((collation, auto_inc_from), comment, extra, columns, index_comments)| TableExtra {
                collation,
                auto_inc_from,
                comment,
                extra,
                columns,
                index_comments,
                versions: None,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(table in table()) {
            prop_assert_eq!(TableExtra::decode(&table.encode()), Ok(table));
        }

        /// Cut anywhere it is refused; changed anywhere it is refused or something else.
        #[test]
        fn damage_is_no_panic(table in table(), at in any::<prop::sample::Index>(), byte: u8) {
            let mut bytes = table.encode();
            let at = at.index(bytes.len());
            prop_assert!(TableExtra::decode(&bytes[..at]).is_err());
            bytes[at] = byte;
            let _ = TableExtra::decode(&bytes);
        }

        #[test]
        fn any_bytes_are_no_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = TableExtra::decode(&bytes);
            bytes.insert(0, VERSION);
            let _ = TableExtra::decode(&bytes);
        }
    }

    /// The bytes are on disk: they stay what they are.
    #[test]
    fn golden() {
        let table = TableExtra {
            collation: 33,
            auto_inc_from: 7,
            comment: "c".into(),
            extra: String::new(),
            columns: vec![ColumnExtra {
                decimal: Some((10, 2)),
                labels: vec!["a".into()],
                default: DefaultValue::Stored(vec![1, 2]),
                on_update_now: true,
                auto_increment: true,
                comment: String::new(),
                extra: "e".into(),
                hidden: true,
            }],
            index_comments: vec![(IndexId(9), "i".into())],
            versions: None,
        };
        let want = [
            &[1, 0, 33, 0, 0, 0, 0, 0, 0, 0, 7][..],
            &[1, b'c', 0, 1],
            &[15, 10, 2, 1, 1, b'a', 2, 2, 1, 2, 0, 1, b'e'],
            &[1, 0, 0, 0, 0, 0, 0, 0, 9, 1, b'i'],
        ];
        assert_eq!(table.encode(), want.concat());
    }
}
