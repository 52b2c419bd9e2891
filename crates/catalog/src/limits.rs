//! What a definition may be, whatever the settings. Rules and words are MySQL 5.6's.

use crate::definition::{Definition, KeyKind, KeyPart, width_of};
use vaquita_engine::fulltext::{DOC_ID, DOC_ID_INDEX};
use vaquita_engine::lower::RowFormat;
use vaquita_engine::lower::charset::Charset;
use vaquita_types::sql_type::BINARY;
use vaquita_types::{Kind, SqlError, SqlResult, SqlType};

/// Columns of a table at most.
const COLUMNS_MAX: usize = 1017;
/// Bytes of one column in a key, if the row format keeps prefixes of long values.
pub const OLD_KEY_COLUMN_MAX: u32 = 767;
/// Bytes of a row as SQL counts them: long values count with their lengths and addresses.
const ROW_MAX: u32 = 65_535;
/// Names of the columns that every table has besides its own.
const SYSTEM_COLUMNS: [&str; 3] = ["DB_ROW_ID", "DB_TRX_ID", "DB_ROLL_PTR"];

/// Checks a number of columns.
///
/// # Errors
/// 1117: more than a table may have.
pub fn check_column_count(columns: usize) -> SqlResult<()> {
    if columns > COLUMNS_MAX {
        return Err(SqlError::new(1117, "Too many columns"));
    }
    Ok(())
}

/// Checks the name of a new column.
///
/// # Errors
/// 1166.
pub fn check_column_name(name: &str) -> SqlResult<()> {
    let is_system = SYSTEM_COLUMNS.iter().any(|system| system.eq_ignore_ascii_case(name));
    if name.is_empty() || name.ends_with(' ') || is_system {
        return Err(incorrect(name));
    }
    Ok(())
}

/// Whether values are texts that are divided into words: not those of character sets in which no byte is a character.
fn holds_words(ty: &SqlType) -> bool {
    let text = matches!(
        ty.kind,
        Kind::Char | Kind::VarChar | Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText
    );
    text && ty.collation != BINARY && Charset::of_collation(ty.collation).is_none_or(|c| c.mb_min_len == 1)
}

fn incorrect(name: &str) -> SqlError {
    SqlError::new(1166, format!("Incorrect column name '{name}'"))
}

impl Definition {
    /// Checks the column of a new table that InnoDB would number documents by: FULLTEXT indexes need it to be a BIGINT NOT NULL, and
    /// written like that.
    ///
    /// # Errors
    /// 1166.
    pub fn check_doc_id(&self) -> SqlResult<()> {
        let Some(column) = self.columns.iter().find(|c| c.name.eq_ignore_ascii_case("FTS_DOC_ID")) else {
            return Ok(());
        };
        let fits = column.name == "FTS_DOC_ID" && column.ty.kind == Kind::BigInt && !column.ty.nullable;
        if fits { Ok(()) } else { Err(incorrect(&column.name)) }
    }

    /// Checks what FULLTEXT keys need: columns of characters, of one collation each, ranks that there are, and an index on the numbers of
    /// documents that is one, if there is one of its name.
    ///
    /// # Errors
    /// 1054, 1525 ranks and divisions of words; 1166, 1280, 1283, 1798.
    pub fn check_words(&self) -> SqlResult<()> {
        let words = || self.keys.iter().filter(|key| key.kind == KeyKind::FullText);
        if words().next().is_none() {
            return Ok(());
        }
        for key in words() {
            let mut collation = None;
            for part in &key.parts {
                let Some(at) = self.key_column(&part.column) else { continue };
                let column = &self.columns[at];
                if !holds_words(&column.ty)
                    || *collation.get_or_insert(column.ty.collation) != column.ty.collation
                {
                    let text = format!("Column '{}' cannot be part of FULLTEXT index", column.name);
                    return Err(SqlError::new(1283, text));
                }
            }
        }
        self.check_rankings()?;
        self.check_splits()?;
        self.check_doc_id()?;
        let Some(at) = self.key(DOC_ID_INDEX) else { return Ok(()) };
        let key = &self.keys[at];
        let of_documents = key.parts[0].column == DOC_ID;
        let is_it = key.name == DOC_ID_INDEX && key.kind == KeyKind::Unique && of_documents;
        match (is_it, key.parts.len()) {
            (true, 1) if !key.parts[0].descending => Ok(()),
            (true, _) => Err(SqlError::new(1280, format!("Incorrect index name '{}'", key.name))),
            (false, _) => {
                let text = format!("Index '{}' is of wrong type for an InnoDB FULLTEXT index", key.name);
                Err(SqlError::new(1798, text))
            }
        }
    }

    /// Whether documents are numbered by a column that somebody has declared.
    pub fn declares_doc_id(&self) -> bool {
        self.columns.iter().any(|column| !column.hidden && column.name == DOC_ID)
    }

    /// Checks whether columns are too long for keys of the table's row format.
    ///
    /// # Errors
    /// 1709.
    pub fn check_key_columns(&self) -> SqlResult<()> {
        if !matches!(self.row_format, RowFormat::Redundant | RowFormat::Compact) {
            return Ok(());
        }
        let too_long = |part: &KeyPart| {
            let Some(at) = self.key_column(&part.column) else { return false };
            let column = &self.columns[at];
            let chars = part.prefix.unwrap_or(match column.ty.kind {
                Kind::Char | Kind::VarChar => column.ty.length,
                _ => 0,
            });
            chars.saturating_mul(width_of(&column.ty)) > OLD_KEY_COLUMN_MAX
        };
        if self.keys.iter().filter(|key| key.has_tree()).flat_map(|key| &key.parts).any(too_long) {
            let text = format!(
                "Index column size too large. The maximum column size is {OLD_KEY_COLUMN_MAX} bytes."
            );
            return Err(SqlError::new(1709, text));
        }
        Ok(())
    }

    /// Checks the bytes of a row, long values left out.
    ///
    /// # Errors
    /// 1118: more than SQL knows rows of.
    pub fn check_row_bytes(&self) -> SqlResult<()> {
        let bytes = self.columns.iter().fold(0_u32, |sum, column| {
            let len = column.ty.to_def(&column.name).len;
            let length_bytes = match column.ty.kind {
                Kind::VarChar => 1 + u32::from(len > 255),
                _ => 0,
            };
            sum.saturating_add(len).saturating_add(length_bytes)
        });
        let nullable = self.columns.iter().filter(|column| column.ty.nullable).count() as u32;
        if bytes.saturating_add(nullable.div_ceil(8)) > ROW_MAX {
            let text = format!(
                "Row size too large. The maximum row size for the used table type, not counting BLOBs, is {ROW_MAX}. This includes \
                 storage overhead, check the manual. You have to change some columns to TEXT or BLOBs"
            );
            return Err(SqlError::new(1118, text));
        }
        Ok(())
    }
}
