//! Table options as written.

use crate::statement::StmtCx;
use vaquita_catalog::{Definition, TableOption as Kept};
use vaquita_engine::lower::RowFormat;
use vaquita_parser::ast::{RowFormatOption, TableOption};
use vaquita_plan::column_type as types;
use vaquita_types::{SqlError, SqlMode, SqlResult};

/// Most characters of a table's comment.
const COMMENT_MAX: usize = 2_048;

/// Character set and collation that options name: both matter for each other.
#[derive(Debug, Default)]
struct CharsetWords {
    charset: Option<String>,
    collation: Option<String>,
    said: bool,
}

/// Applies options to a definition. `default_collation` is the database's.
///
/// # Errors
/// 1286 engine, 1115 and 1273 character sets, 1628 comment, 1235 what is not there yet.
pub(super) fn apply(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    options: &[TableOption<'_>],
    default_collation: u16,
) -> SqlResult<()> {
    let mut words = CharsetWords::default();
    for option in options {
        one(cx, definition, option, &mut words)?;
    }
    if words.said {
        definition.collation =
            types::collation_of(words.charset.as_deref(), words.collation.as_deref(), default_collation)?;
    }
    Ok(())
}

fn one(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    option: &TableOption<'_>,
    words: &mut CharsetWords,
) -> SqlResult<()> {
    let keep = |definition: &mut Definition, option: Kept, value: &Option<u64>| {
        definition.options.set(option, value.map(|n| n.to_string()));
    };
    // Of these 0 is what a table has of which nothing is said.
    let keep_positive = |definition: &mut Definition, option: Kept, value: u64| {
        keep(definition, option, &Some(value).filter(|n| *n > 0));
    };
    match option {
        TableOption::Engine(engine) => self::engine(cx, &definition.name, &engine.to_string())?,
        TableOption::AutoIncrement(n) => definition.auto_increment = Some((*n).max(1)),
        TableOption::Charset(charset) => {
            (words.charset, words.said) = (charset.map(|c| c.to_string()), true);
        }
        TableOption::Collation(collation) => {
            (words.collation, words.said) = (collation.map(|c| c.to_string()), true);
        }
        TableOption::Comment(text) => {
            let text = cx.state.vars.client_text(text).into_owned();
            if text.chars().count() > COMMENT_MAX {
                let name = &definition.name;
                let message = format!("Comment for table '{name}' is too long (max = {COMMENT_MAX})");
                return Err(SqlError::new(1628, message));
            }
            definition.comment = text;
        }
        TableOption::RowFormat(format) => {
            let default = super::limits::default_row_format(cx);
            row_format(definition, *format, default)?;
        }
        TableOption::KeyBlockSize(0) => keep(definition, Kept::KeyBlockSize, &None),
        TableOption::KeyBlockSize(_) => return Err(SqlError::unsupported("KEY_BLOCK_SIZE")),
        TableOption::StatsPersistent(n) => keep(definition, Kept::StatsPersistent, n),
        TableOption::StatsAutoRecalc(n) => keep(definition, Kept::StatsAutoRecalc, n),
        TableOption::StatsSamplePages(n) => keep(definition, Kept::StatsSamplePages, n),
        TableOption::AvgRowLength(n) => keep_positive(definition, Kept::AvgRowLength, *n),
        TableOption::MaxRows(n) => keep_positive(definition, Kept::MaxRows, *n),
        TableOption::MinRows(n) => keep_positive(definition, Kept::MinRows, *n),
        TableOption::Checksum(n) => keep_positive(definition, Kept::Checksum, *n),
        TableOption::DelayKeyWrite(n) => keep_positive(definition, Kept::DelayKeyWrite, *n),
        TableOption::PackKeys(n) => keep(definition, Kept::PackKeys, n),
        TableOption::Tablespace(_) => return Err(SqlError::unsupported("TABLESPACE")),
        TableOption::Compression(_) => return Err(SqlError::unsupported("COMPRESSION")),
        TableOption::Encryption(text) if !text.eq_ignore_ascii_case(b"n") => {
            return Err(SqlError::unsupported("ENCRYPTION"));
        }
        TableOption::Connection(_) | TableOption::InsertMethod(_) | TableOption::Union(_) => {
            return Err(SqlError::unsupported("options of other storage engines"));
        }
        // See `directories`; the others are without effect on tables of InnoDB.
        TableOption::DataDirectory(_)
        | TableOption::IndexDirectory(_)
        | TableOption::StorageDisk(_)
        | TableOption::Password(_)
        | TableOption::Encryption(_) => {}
    }
    Ok(())
}

/// Takes `ENGINE=`: InnoDB is the only one, and makes the tables of MySQL's others too. NO_ENGINE_SUBSTITUTION, which is
/// on by default, forbids it only for names that MySQL does not know: schemas of applications name the others.
fn engine(cx: &mut StmtCx<'_>, table: &str, name: &str) -> SqlResult<()> {
    if name.eq_ignore_ascii_case("innodb") {
        return Ok(());
    }
    if !vaquita_session::vars::is_other_engine(name) {
        if cx.state.vars.sql_mode.has(SqlMode::NO_ENGINE_SUBSTITUTION) {
            return Err(SqlError::unknown_engine(name));
        }
        cx.state.warnings.warn(1286, format!("Unknown storage engine '{name}'"));
    }
    cx.state.warnings.warn(1266, format!("Using storage engine InnoDB for table '{table}'"));
    Ok(())
}

fn row_format(definition: &mut Definition, format: RowFormatOption, default: RowFormat) -> SqlResult<()> {
    let (format, text) = match format {
        RowFormatOption::Default => (default, None),
        RowFormatOption::Dynamic => (RowFormat::Dynamic, Some("DYNAMIC")),
        RowFormatOption::Compact => (RowFormat::Compact, Some("COMPACT")),
        RowFormatOption::Fixed => (RowFormat::Compact, Some("FIXED")),
        RowFormatOption::Redundant => (RowFormat::Redundant, Some("REDUNDANT")),
        RowFormatOption::Compressed => return Err(SqlError::unsupported("ROW_FORMAT=COMPRESSED")),
    };
    definition.row_format = format;
    definition.options.set(Kept::RowFormat, text.map(str::to_owned));
    Ok(())
}
