//! Tables as a CREATE TABLE says them, for files that nothing else describes (`--sql`).
//!
//! The statement is run: in a database that is in memory and has nothing else in it, so that it means here what it means everywhere.
//! Whatever the file's row format and pages are, its table's columns and keys are those.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use vaquita_base::{IndexId, ManualClock};
use vaquita_catalog::{ColumnDefinition, Definition};
use vaquita_engine::{Engine, Options, Table};
use vaquita_format::charset::Charset;
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::{IndexDef, IndexSpec, RowFormat};
use vaquita_format::text::TextType;
use vaquita_format::{Corruption, PageSize};
use vaquita_io::SimDisk;
use vaquita_sql::sink::Collected;
use vaquita_sql::types::Kind;
use vaquita_sql::types::sql_type::{BINARY, NOT_FIXED};
use vaquita_sql::{ConnectInfo, CreateText, Database, SqlResult, create_tables_of};

/// A file of CREATE TABLE statements.
#[derive(Debug, Clone)]
pub struct TableTexts {
    path: PathBuf,
    all: Arc<[CreateText]>,
}

impl TableTexts {
    /// Reads a file; statements that make no tables are passed over.
    ///
    /// # Errors
    /// It cannot be read, is no SQL, or makes no table.
    pub fn read(path: &Path) -> Result<TableTexts, String> {
        let fail = |why: String| format!("{}: {why}", path.display());
        let text = std::fs::read(path).map_err(|e| fail(e.to_string()))?;
        let all = create_tables_of(&text).map_err(|e| fail(e.message.into_owned()))?;
        match all.is_empty() {
            true => Err(fail("there is no CREATE TABLE in it".to_owned())),
            false => Ok(TableTexts { path: path.to_path_buf(), all: all.into() }),
        }
    }

    /// The statement for a table; a single one is for any.
    pub fn of(&self, table: &str) -> Option<&CreateText> {
        self.all
            .iter()
            .find(|text| text.table == table)
            .or_else(|| self.all.first().filter(|_| self.all.len() == 1))
    }
}

impl fmt::Display for TableTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

/// A table as its statement makes it.
#[derive(Debug)]
pub struct StatedTable {
    table: Arc<Table>,
    definition: Definition,
    text: String,
}

impl StatedTable {
    /// Runs a statement.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn make(text: &CreateText, page_size: PageSize) -> SqlResult<StatedTable> {
        let logical = PageSize::new(page_size.logical()).unwrap_or(page_size);
        let mut options = Options { background: false, ..Options::new("/stated") };
        options.storage.page_size = logical;
        options.storage.buffer_pool_size = 1_000 * logical.logical();
        let disk = SimDisk::new(0);
        disk.put_dir("/stated".as_ref());
        let engine = Engine::open_with(Arc::new(disk), Arc::new(ManualClock::new()), options);
        let db = Database::on_engine(vaquita_catalog::error::of_engine(engine)?, &[])?;
        let mut connection = db.connect(ConnectInfo::embedded())?;
        let statements = format!(
            "set foreign_key_checks = 0, sql_mode = '', innodb_strict_mode = 0; create database stated; use stated; {}",
            uncompressed(&text.text)
        );
        connection.set_multi_statements(true);
        connection.query(statements.as_bytes(), &mut Collected::default())?;
        let name = vaquita_catalog::engine_name("stated", &text.table)?;
        let table = vaquita_catalog::error::of_engine(db.engine().core().table(&name))?;
        let definition = Definition::of(&table);
        // What is in a file is one of its parts.
        let part = table.parts.as_ref().and_then(|parts| parts.tables.first().cloned());
        let table = part.unwrap_or(table);
        Ok(StatedTable { table, definition, text: text.text.clone() })
    }

    /// InnoDB's columns.
    pub fn columns(&self) -> Vec<ColumnDef> {
        self.table.columns.iter().map(|column| column.def.clone()).collect()
    }

    /// Its trees with these numbers, the clustered one first.
    ///
    /// # Errors
    /// A definition that these pages cannot have.
    pub fn indexes(
        &self,
        page_size: PageSize,
        row_format: RowFormat,
        ids: &[IndexId],
    ) -> Result<Vec<IndexDef>, Corruption> {
        let columns = self.columns();
        let mut out: Vec<IndexDef> = Vec::with_capacity(self.table.indexes.len());
        for (at, index) in self.table.indexes.iter().enumerate() {
            let id = ids.get(at).copied().unwrap_or_default();
            let spec = IndexSpec { id, name: index.name.clone(), row_format, page_size };
            let def = match out.first() {
                None => IndexDef::clustered(
                    spec,
                    &columns,
                    (!index.def().is_generated()).then_some(&index.parts[..]),
                )?,
                Some(clustered) => {
                    IndexDef::secondary(spec, &columns, &index.parts, index.is_unique(), clustered)?
                }
            };
            out.push(def);
        }
        Ok(out)
    }

    /// How the values of a column read; `None`: no statement sees it.
    pub fn text_of(&self, column: &str) -> Option<TextType> {
        let found = self.definition.columns.iter().find(|c| c.name == column)?;
        (!found.hidden).then(|| text_type(found))
    }

    /// The statement as it was given.
    pub fn create(&self) -> String {
        self.text.clone()
    }
}

/// A statement without the options of compressed tables, which are not made here; that the pages are compressed tells the file.
fn uncompressed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let '\'' | '"' | '`' = first {
            let end = rest[1..].find(first).map_or(rest.len(), |at| at + 2);
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len()).max(first.len_utf8());
        let word = &rest[..end];
        rest = &rest[end..];
        let value = rest.trim_start().trim_start_matches('=').trim_start();
        let value_end = value.find(|c| !is_word(c)).unwrap_or(value.len());
        let given = &value[..value_end];
        let compressed = word.eq_ignore_ascii_case("row_format") && given.eq_ignore_ascii_case("compressed");
        if compressed || word.eq_ignore_ascii_case("key_block_size") {
            rest = &value[value_end..];
        } else {
            out.push_str(word);
        }
    }
    out
}

fn text_type(column: &ColumnDefinition) -> TextType {
    let ty = &column.ty;
    let zerofill = ty.zerofill.then_some(ty.length as usize);
    let decimals = usize::from(ty.decimals);
    match ty.kind {
        kind if kind.is_integer() && kind != Kind::Year => TextType::Int { unsigned: ty.unsigned, zerofill },
        Kind::Float | Kind::Double => {
            TextType::Real { decimals: (ty.decimals != NOT_FIXED).then_some(decimals), zerofill }
        }
        Kind::Decimal => TextType::Decimal { precision: ty.length, scale: u32::from(ty.decimals), zerofill },
        Kind::Bit => TextType::Bit,
        Kind::Year => TextType::Year,
        Kind::Date => TextType::Date,
        Kind::Time => TextType::Time(decimals),
        Kind::DateTime => TextType::DateTime(decimals),
        Kind::Timestamp => TextType::Timestamp(decimals),
        Kind::Enum => TextType::Enum(column.labels.clone()),
        Kind::Set => TextType::Set(column.labels.clone()),
        Kind::Json => TextType::Text { charset: Charset::UTF8MB4, padded: false },
        _ => match Charset::of_collation(ty.collation).filter(|_| ty.collation != BINARY) {
            Some(charset) => TextType::Text { charset, padded: ty.kind == Kind::Char },
            None => TextType::Bytes,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_compressed_tables_go() {
        let text = "CREATE TABLE `key_block_size` (`a` int COMMENT 'KEY_BLOCK_SIZE=8', KEY (`a`) KEY_BLOCK_SIZE=4) \
                    ROW_FORMAT = compressed key_block_size 8 COMMENT='it''s ROW_FORMAT=COMPRESSED'";
        let without = "CREATE TABLE `key_block_size` (`a` int COMMENT 'KEY_BLOCK_SIZE=8', KEY (`a`) )   \
                       COMMENT='it''s ROW_FORMAT=COMPRESSED'";
        assert_eq!(uncompressed(text), without);
        assert_eq!(uncompressed("x ROW_FORMAT=DYNAMIC"), "x ROW_FORMAT=DYNAMIC");
    }
}
