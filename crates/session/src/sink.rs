//! Where results go.

use std::borrow::Cow;
use std::sync::Arc;
use vaquita_engine::Durability;
use vaquita_engine::text::charset::{self, Charset};
use vaquita_types::{SqlError, SqlResult, SqlType, Value};

/// A column of a result, as the protocol describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnMeta {
    /// Database of the table, empty for expressions.
    pub schema: Box<[u8]>,
    /// Table as the statement calls it.
    pub table: Box<[u8]>,
    /// Table as the database calls it.
    pub org_table: Box<[u8]>,
    /// Column as the statement calls it.
    pub name: Box<[u8]>,
    /// Column as the table calls it.
    pub org_name: Box<[u8]>,
    /// Its type. Text goes out in `character_set_results` (converted before [`ResultSink::row`] if it differs from the
    /// column's character set); `ty.collation` is what the client is told.
    pub ty: SqlType,
    /// NOT_NULL (1), PRI_KEY (2), UNIQUE_KEY (4), MULTIPLE_KEY (8), BLOB (16), UNSIGNED (32), ZEROFILL (64), BINARY
    /// (128), ENUM (256), AUTO_INCREMENT (512), TIMESTAMP (1024), SET (2048), NO_DEFAULT_VALUE (4096), ON_UPDATE_NOW
    /// (8192). NUM (32768) is set by clients themselves.
    pub flags: u16,
}

impl ColumnMeta {
    /// Its names as a client reads them; they are in UTF-8.
    pub fn convert_names(&mut self, to: Charset) {
        if to == Charset::BINARY || to.is_utf8() {
            return;
        }
        for name in
            [&mut self.schema, &mut self.table, &mut self.org_table, &mut self.name, &mut self.org_name]
        {
            if !name.is_ascii() || !to.is_ascii_based() {
                let mut converted = Vec::with_capacity(name.len());
                charset::convert(Charset::UTF8MB4, to, name, &mut converted);
                *name = converted.into();
            }
        }
    }

    /// A column that is no table's; NOT_NULL, UNSIGNED and BINARY follow from the type.
    pub fn new(name: &str, ty: SqlType) -> ColumnMeta {
        use vaquita_catalog::flag;
        let flags = [
            (!ty.nullable, flag::NOT_NULL),
            (ty.unsigned, flag::UNSIGNED),
            (ty.collation == vaquita_types::sql_type::BINARY, flag::BINARY),
        ];
        ColumnMeta {
            schema: Box::default(),
            table: Box::default(),
            org_table: Box::default(),
            name: name.as_bytes().into(),
            org_name: Box::default(),
            flags: flags.iter().filter(|(on, _)| *on).fold(0, |all, (_, flag)| all | flag),
            ty,
        }
    }
}

/// A change of the session that a client may follow (session tracking).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange {
    /// A system variable has a new value.
    Variable {
        /// Name.
        name: String,
        /// Value as text.
        value: String,
    },
    /// The current database.
    Schema(String),
    /// Something of the session's state.
    State,
    /// Characteristics of the transaction, as statements that would restore them.
    TransactionCharacteristics(String),
    /// State of the transaction, eight characters.
    TransactionState(String),
}

/// The end of one statement's result.
#[derive(Debug, Default)]
pub struct Completion {
    /// Rows inserted, changed, deleted (or found, under CLIENT_FOUND_ROWS); rows sent by a SELECT.
    pub affected_rows: u64,
    /// LAST_INSERT_ID of the statement, 0 if none.
    pub insert_id: u64,
    /// Number of warnings.
    pub warnings: u16,
    /// Status flags of the protocol: IN_TRANS (1), AUTOCOMMIT (2), MORE_RESULTS (8), NO_GOOD_INDEX (16), NO_INDEX (32),
    /// CURSOR_EXISTS (64), LAST_ROW_SENT (128), DB_DROPPED (256), NO_BACKSLASH_ESCAPES (512), PS_OUT_PARAMS (4096),
    /// IN_TRANS_READONLY (8192), SESSION_CHANGED (16384).
    pub status: u16,
    /// Text such as `Records: 3  Duplicates: 0  Warnings: 0`.
    pub info: Cow<'static, str>,
    /// What of the session changed.
    pub changes: Vec<SessionChange>,
    /// What the statement committed, unless it is durable already: nothing may be acknowledged before it is.
    pub durability: Option<Durability>,
}

/// Takes the result of statements: for each statement either `columns`, `row`s and `end`, or `end` alone. An error is what
/// the call that ran the statement returns.
pub trait ResultSink {
    /// A result with these columns begins. The same plan gives the same `Arc`, so that an encoded form can be kept.
    ///
    /// # Errors
    /// The client is gone.
    fn columns(&mut self, columns: &Arc<[ColumnMeta]>) -> SqlResult<()>;

    /// Status flags of the protocol that the next result has from its beginning on, as far as they are others than before the
    /// statement: those of MORE_RESULTS.
    fn announce(&mut self, status: u16) {
        let _ = status;
    }

    /// A row. Must not block on anything but the client's socket; page latches may be held: so it must not wait for the
    /// database. A sink whose buffer is full says so by [`ResultSink::is_full`].
    ///
    /// # Errors
    /// The client is gone, the row is too long for a packet.
    fn row(&mut self, values: &[Value<'_>]) -> SqlResult<()>;

    /// Whether the sink wants to be emptied by [`ResultSink::flush`] before more rows. Asked after every row.
    fn is_full(&self) -> bool {
        false
    }

    /// Empties it; called without latches, so it may wait for a slow client.
    ///
    /// # Errors
    /// The client is gone.
    fn flush(&mut self) -> SqlResult<()> {
        Ok(())
    }

    /// The statement is done. Other statements of the same text follow if `MORE_RESULTS` is set.
    ///
    /// # Errors
    /// The client is gone.
    fn end(&mut self, done: Completion) -> SqlResult<()>;

    /// Values of OUT and INOUT parameters of a prepared CALL: a result of one row, whose status says what it is. A door leaves it
    /// out if its client would not know what to do with it.
    ///
    /// # Errors
    /// The client is gone.
    fn out_parameters(
        &mut self,
        columns: &Arc<[ColumnMeta]>,
        values: &[Value<'_>],
        done: Completion,
    ) -> SqlResult<()> {
        self.columns(columns)?;
        self.row(values)?;
        self.end(done)
    }

    /// LOAD DATA LOCAL: asks the client for a file; pieces until an empty one go to `take`.
    ///
    /// # Errors
    /// 1148 if the door has no such thing; those of `take`.
    fn local_infile(&mut self, name: &[u8], take: &mut dyn FnMut(&[u8]) -> SqlResult<()>) -> SqlResult<()> {
        let _ = (name, take);
        Err(SqlError::new(1148, "The used command is not allowed with this MySQL version"))
    }
}

/// A sink that keeps everything as text, and waits for commits: for tests and small tools.
#[derive(Debug, Default)]
pub struct Collected {
    /// One for every statement.
    pub results: Vec<CollectedResult>,
    columns: Option<Arc<[ColumnMeta]>>,
    rows: Vec<Vec<Option<String>>>,
}

/// Result of one statement.
#[derive(Debug, Default)]
pub struct CollectedResult {
    /// Its columns; empty if it has no result.
    pub columns: Vec<ColumnMeta>,
    /// Its rows as a text client shows them; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// How it ended.
    pub done: Completion,
}

impl ResultSink for Collected {
    fn columns(&mut self, columns: &Arc<[ColumnMeta]>) -> SqlResult<()> {
        self.columns = Some(columns.clone());
        Ok(())
    }

    fn row(&mut self, values: &[Value<'_>]) -> SqlResult<()> {
        let Some(columns) = &self.columns else {
            return Err(SqlError::new(1105, "a row before its columns"));
        };
        let cell = |(value, column): (&Value<'_>, &ColumnMeta)| match value {
            Value::Null => None,
            value => Some(String::from_utf8_lossy(&value.to_text(&column.ty)).into_owned()),
        };
        self.rows.push(values.iter().zip(columns.iter()).map(cell).collect());
        Ok(())
    }

    fn end(&mut self, mut done: Completion) -> SqlResult<()> {
        if let Some(durability) = done.durability.take() {
            durability.wait().map_err(|e| SqlError::new(1180, format!("Got error during COMMIT: {e}")))?;
        }
        self.results.push(CollectedResult {
            columns: self.columns.take().map_or(Vec::new(), |c| c.to_vec()),
            rows: std::mem::take(&mut self.rows),
            done,
        });
        Ok(())
    }
}
