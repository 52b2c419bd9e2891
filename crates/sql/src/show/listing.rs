//! What SHOW answers: a list of rows, filtered by LIKE or WHERE, sent to the client.

use crate::statement::StmtCx;
use crate::virtual_tables::{Cells, NAMES, parse_type};
use std::sync::Arc;
use vaquita_engine::lower::charset::{Charset, convert};
use vaquita_engine::lower::collation::Collation;
use vaquita_exec::Outcome;
use vaquita_expr::scope::{Resolved, ResolvedColumn, Scope, unknown_column};
use vaquita_expr::{CompileCx, Row, TableRow, compile_condition};
use vaquita_parser::ast::{self, ShowFilter};
use vaquita_session::sink::{ColumnMeta, ResultSink};
use vaquita_types::{SqlResult, SqlType, Value};

/// Columns and rows of an answer.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) columns: Vec<(String, SqlType)>,
    pub(crate) rows: Vec<Cells>,
    /// Its rows are those of a table of information_schema: the columns are that table's.
    pub(crate) of_schema: bool,
    /// The column that LIKE is about.
    pub(crate) like: usize,
}

struct Names<'l>(&'l [(String, SqlType)]);

impl Scope for Names<'_> {
    fn resolve(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        let at = self.0.iter().position(|(n, _)| name.name.is(n));
        let Some(at) = at else { return Err(unknown_column(name, "where clause")) };
        Ok(Resolved::Column(ResolvedColumn {
            level: 0,
            table: 0,
            column: at as u16,
            ty: self.0[at].1.clone(),
        }))
    }
}

impl Listing {
    /// With columns of names and types as the definitions write them.
    pub(crate) fn new(columns: &[(&str, &str)]) -> Listing {
        let column = |(name, ty): &(&str, &str)| ((*name).to_owned(), parse_type(ty));
        Listing { columns: columns.iter().map(column).collect(), rows: Vec::new(), of_schema: false, like: 0 }
    }

    /// Keeps what LIKE (on its column) or WHERE let through.
    /// WHERE may look at parameters, whose values and types are `params`.
    pub(super) fn filter(
        mut self,
        filter: &ShowFilter<'_>,
        (params, param_types): (&[Value<'_>], &[SqlType]),
        cx: &mut StmtCx<'_>,
    ) -> SqlResult<Listing> {
        match filter {
            ShowFilter::None => {}
            ShowFilter::Like(pattern) => {
                let Some(collation) = Collation::of(NAMES) else { return Ok(self) };
                let like = |text: &[u8]| collation.like(text, pattern, Some(u32::from(b'\\')));
                self.rows.retain(|row| matches!(row.get(self.like), Some(Value::Bytes(text)) if like(text)));
            }
            ShowFilter::Where(condition) => {
                let condition = compile_condition(
                    condition,
                    &Names(&self.columns),
                    &mut CompileCx { param_types, ..CompileCx::new(Some(cx.db), cx.state) },
                )?;
                let mut kept = Vec::new();
                for row in self.rows {
                    let mut eval = cx.eval();
                    let tables = [TableRow::Values(&row)];
                    if condition.eval_bool(&mut eval, &Row { tables: &tables, params, ..Row::default() })?
                        == Some(true)
                    {
                        kept.push(row);
                    }
                }
                self.rows = kept;
            }
        }
        Ok(self)
    }

    /// Columns as the client is told.
    pub(super) fn meta(&self, results: Option<u16>) -> Arc<[ColumnMeta]> {
        let meta = |(name, ty): &(String, SqlType)| {
            let collation = if ty.collation == NAMES { results.unwrap_or(NAMES) } else { ty.collation };
            let mut meta = ColumnMeta::new(name, SqlType { collation, ..ty.clone() });
            if self.of_schema && ty.is_number() {
                meta.flags &= !vaquita_catalog::flag::BINARY;
            }
            if let Some(to) = results.and_then(Charset::of_collation) {
                meta.convert_names(to);
            }
            meta
        };
        self.columns.iter().map(meta).collect()
    }

    /// Sends it.
    pub(super) fn send(self, cx: &mut StmtCx<'_>, sink: &mut dyn ResultSink) -> SqlResult<Outcome> {
        let results = cx.state.vars.character_set_results;
        cx.state.scanned |= self.of_schema;
        sink.columns(&self.meta(results))?;
        let to = results
            .and_then(Charset::of_collation)
            .filter(|c| !c.name.starts_with("utf8") && c.name != "binary");
        let n = self.rows.len() as u64;
        for mut row in self.rows {
            if let Some(to) = to {
                for value in &mut row {
                    if let Value::Bytes(bytes) = value {
                        let mut out = Vec::with_capacity(bytes.len());
                        convert(Charset::UTF8MB4, to, bytes, &mut out);
                        *value = Value::owned(out);
                    }
                }
            }
            sink.row(&row)?;
            if sink.is_full() {
                sink.flush()?;
            }
        }
        Ok(Outcome { affected_rows: n, has_result: true, found_rows: Some(n), ..Outcome::default() })
    }
}

/// Columns of SHOW SLAVE STATUS in 5.6.
#[rustfmt::skip]
pub(super) const SLAVE_STATUS: &[(&str, &str)] = &[
    ("Slave_IO_State", "varchar(14)!"), ("Master_Host", "varchar(60)!"), ("Master_User", "varchar(16)!"),
    ("Master_Port", "int(7)!"), ("Connect_Retry", "int(10)!"), ("Master_Log_File", "varchar(512)!"),
    ("Read_Master_Log_Pos", "bigint(10)!"), ("Relay_Log_File", "varchar(512)!"),
    ("Relay_Log_Pos", "bigint(10)!"), ("Relay_Master_Log_File", "varchar(512)!"),
    ("Slave_IO_Running", "varchar(3)!"), ("Slave_SQL_Running", "varchar(3)!"),
    ("Replicate_Do_DB", "varchar(20)!"), ("Replicate_Ignore_DB", "varchar(20)!"),
    ("Replicate_Do_Table", "varchar(20)!"), ("Replicate_Ignore_Table", "varchar(23)!"),
    ("Replicate_Wild_Do_Table", "varchar(24)!"), ("Replicate_Wild_Ignore_Table", "varchar(28)!"),
    ("Last_Errno", "int(4)!"), ("Last_Error", "varchar(20)!"), ("Skip_Counter", "int(10)!"),
    ("Exec_Master_Log_Pos", "bigint(10)!"), ("Relay_Log_Space", "bigint(10)!"),
    ("Until_Condition", "varchar(6)!"), ("Until_Log_File", "varchar(512)!"), ("Until_Log_Pos", "bigint(10)!"),
    ("Master_SSL_Allowed", "varchar(7)!"), ("Master_SSL_CA_File", "varchar(512)!"),
    ("Master_SSL_CA_Path", "varchar(512)!"), ("Master_SSL_Cert", "varchar(512)!"),
    ("Master_SSL_Cipher", "varchar(512)!"), ("Master_SSL_Key", "varchar(512)!"),
    ("Seconds_Behind_Master", "bigint(10)!"), ("Master_SSL_Verify_Server_Cert", "varchar(3)!"),
    ("Last_IO_Errno", "int(4)!"), ("Last_IO_Error", "varchar(20)!"), ("Last_SQL_Errno", "int(4)!"),
    ("Last_SQL_Error", "varchar(20)!"), ("Replicate_Ignore_Server_Ids", "varchar(512)!"),
    ("Master_Server_Id", "int(8)!"), ("Master_UUID", "varchar(36)!"), ("Master_Info_File", "varchar(1024)!"),
    ("SQL_Delay", "int(10)!"), ("SQL_Remaining_Delay", "int(8)!"), ("Slave_SQL_Running_State", "varchar(20)!"),
    ("Master_Retry_Count", "bigint(10)!"), ("Master_Bind", "varchar(60)!"),
    ("Last_IO_Error_Timestamp", "varchar(20)!"), ("Last_SQL_Error_Timestamp", "varchar(20)!"),
    ("Master_SSL_Crl", "varchar(512)!"), ("Master_SSL_Crlpath", "varchar(512)!"),
    ("Retrieved_Gtid_Set", "varchar(512)!"), ("Executed_Gtid_Set", "varchar(512)!"),
    ("Auto_Position", "int(8)!"),
];
