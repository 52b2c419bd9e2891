//! How rows of virtual tables are made.

use super::definitions::{Definition, TABLES};
use crate::database::Database;
use crate::statement::StmtCx;
use std::sync::{Arc, LazyLock, Weak};
use vaquita_catalog::error;
use vaquita_engine::Table;
use vaquita_engine::lower::collation;
use vaquita_expr::EvalCx;
use vaquita_plan::{VirtualColumn, VirtualTable, VirtualTables, Wanted};
use vaquita_session::SessionState;
use vaquita_types::{DateTime, Kind, SqlError, SqlResult, SqlType, Value};

/// Collation of names.
pub(crate) const NAMES: u16 = 33;

/// A row.
pub(crate) type Cells = Vec<Value<'static>>;

/// Text.
pub(crate) fn text(text: impl AsRef<[u8]>) -> Value<'static> {
    Value::owned(text.as_ref().to_vec())
}

/// Text, or NULL.
pub(crate) fn text_or_null(value: Option<impl AsRef<[u8]>>) -> Value<'static> {
    value.map_or(Value::Null, text)
}

/// A number, or NULL.
pub(super) fn number_or_null(value: Option<u64>) -> Value<'static> {
    value.map_or(Value::Null, Value::UInt)
}

/// `YES`, `NO`.
pub(super) fn yes_no(yes: bool) -> Value<'static> {
    text(if yes { "YES" } else { "NO" })
}

/// Type from the text of the definitions: `varchar(64)!`, `char(64) utf8_bin` and the like.
pub(crate) fn parse_type(declared: &str) -> SqlType {
    let (declared, nullable) = match declared.strip_suffix('!') {
        Some(rest) => (rest, false),
        None => (declared, true),
    };
    let (declared, unsigned) = match declared.strip_suffix(" unsigned") {
        Some(rest) => (rest, true),
        None => (declared, false),
    };
    let named = declared.rsplit_once(' ').and_then(|(ty, name)| Some((ty, collation::by_name(name)?)));
    let (declared, collation) = named.unwrap_or((declared, NAMES));
    let (name, parts) = declared.split_once('(').unwrap_or((declared, ""));
    let mut numbers = parts.trim_end_matches(')').split(',').filter_map(|n| n.parse::<u32>().ok());
    let (length, decimals) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let ty = match name {
        "char" => SqlType { kind: Kind::Char, ..SqlType::varchar(length, collation) },
        "text" => SqlType { length: 65_535, collation, ..SqlType::new(Kind::Text) },
        "blob" => SqlType { length: 65_535, ..SqlType::new(Kind::Text) },
        "longblob" => SqlType { length: u32::MAX, ..SqlType::new(Kind::LongText) },
        "timestamp" => SqlType { length: 19, ..SqlType::new(Kind::Timestamp) },
        "enum" | "set" => labelled(name, parts.trim_end_matches(')')),
        "varchar" => SqlType::varchar(length, NAMES),
        "longtext" => SqlType { length: u32::MAX, collation: NAMES, ..SqlType::new(Kind::LongText) },
        "bigint" => SqlType { length, unsigned, ..SqlType::new(Kind::BigInt) },
        "int" => SqlType { length, unsigned, ..SqlType::new(Kind::Int) },
        "decimal" => SqlType { decimals: decimals as u8, ..SqlType::decimal(length, decimals as u8) },
        "double" => SqlType::double(),
        _ => SqlType { length: 19, ..SqlType::new(Kind::DateTime) },
    };
    SqlType { nullable, ..ty }
}

/// A type of the definitions as SQL writes it: labels are quoted.
pub(super) fn as_sql(declared: &str) -> String {
    let declared = declared.trim_end_matches('!');
    let labels = ["enum(", "set("].into_iter().find_map(|start| Some((start, declared.strip_prefix(start)?)));
    match labels {
        Some((start, labels)) => format!("{start}'{}')", labels.trim_end_matches(')').replace(',', "','")),
        None => declared.to_owned(),
    }
}

/// ENUM or SET with labels between commas.
fn labelled(name: &str, labels: &str) -> SqlType {
    let labels: Arc<[Box<[u8]>]> = labels.split(',').map(|label| label.as_bytes().into()).collect();
    let lengths = labels.iter().map(|label| label.len() as u32);
    let (kind, length) = match name {
        "set" => (Kind::Set, lengths.sum::<u32>() + labels.len() as u32 - 1),
        _ => (Kind::Enum, lengths.max().unwrap_or(0)),
    };
    SqlType { length, collation: NAMES, labels: Some(labels), ..SqlType::new(kind) }
}

/// What makes the rows of a table.
pub(super) struct Making<'m, 'c> {
    pub(super) cx: &'m mut EvalCx<'c>,
    pub(super) db: &'m Database,
    pub(super) wanted: &'m Wanted,
    /// For SHOW, which sees the session's temporary tables; information_schema does not.
    of_session: bool,
    pub(super) rows: Vec<Cells>,
}

impl Making<'_, '_> {
    pub(super) fn state(&self) -> &SessionState {
        self.cx.state
    }

    pub(super) fn push(&mut self, row: Cells) {
        self.rows.push(row);
    }

    /// Databases the session may see, by name, with their names in files; only the one that is wanted by that column.
    pub(super) fn databases(&self, column: usize) -> SqlResult<Vec<(String, String)>> {
        let mut out = self.all_databases(column)?;
        out.retain(|(name, _)| self.may_see(name));
        Ok(out)
    }

    /// The same, whether the session may see them or not.
    pub(super) fn all_databases(&self, column: usize) -> SqlResult<Vec<(String, String)>> {
        let core = self.db.engine.core();
        let one = self.wanted.text(column).map(|name| String::from_utf8_lossy(name).into_owned());
        let mut out = Vec::new();
        for file_name in error::of_engine(core.dict.databases(&core.storage))? {
            let name =
                vaquita_engine::lower::filename::decode(&file_name).unwrap_or_else(|| file_name.clone());
            // A folder of MySQL's has a directory for it, with definitions of tables whose rows nobody keeps.
            if vaquita_catalog::is_virtual_database(&name) {
                continue;
            }
            if one.as_ref().is_none_or(|one| one.eq_ignore_ascii_case(&name)) {
                out.push((name, file_name));
            }
        }
        Ok(out)
    }

    pub(super) fn may_see(&self, database: &str) -> bool {
        let privileges = &self.state().privileges;
        privileges.any_in_database(database)
            || privileges.global.has(vaquita_session::privilege::Priv::SHOW_DB)
    }

    /// Tables the session may see; only what is wanted by those columns. Tables that cannot be used are left out.
    pub(super) fn tables(
        &self,
        database_column: usize,
        table_column: usize,
    ) -> SqlResult<Vec<Arc<vaquita_catalog::TableInfo>>> {
        let core = self.db.engine.core();
        let mut out = Vec::new();
        let one = self.wanted.text(table_column).map(|name| String::from_utf8_lossy(name).into_owned());
        let in_one = self.wanted.text(database_column).map(String::from_utf8_lossy);
        if self.of_session
            && let (Some(database), Some(table)) = (in_one, &one)
            && let Some(own) = self.temporary(&database, table)?
        {
            return Ok(vec![own]);
        }
        for (database, file_name) in self.databases(database_column)? {
            let names = match &one {
                // MySQL compares these names with the file system's case, so a filter is exact.
                Some(name) => vaquita_catalog::engine_name(&database, name).into_iter().collect(),
                None => {
                    let mut all = error::of_engine(core.dict.tables(&core.storage, &file_name))?;
                    all.retain(|name| !vaquita_engine::lower::filename::is_intermediate(name));
                    all
                }
            };
            for name in names {
                if let Some(info) = self.info(&name)?
                    && self.may_use(&info.definition.database, &info.definition.name)
                {
                    out.push(info);
                }
            }
        }
        Ok(out)
    }

    /// The session's own table of that name.
    fn temporary(&self, database: &str, table: &str) -> SqlResult<Option<Arc<vaquita_catalog::TableInfo>>> {
        let name = vaquita_catalog::engine_name(database, table)?;
        let own = self.cx.engine.as_ref().and_then(|engine| engine.temporary_table(&name));
        own.map(|table| self.db.catalog.info(table)).transpose()
    }

    pub(super) fn may_use(&self, database: &str, table: &str) -> bool {
        use vaquita_session::privilege::Priv;
        let privileges = &self.state().privileges;
        (privileges.global | privileges.in_database(database)).any(Priv::TABLE | Priv::GRANT)
            || privileges.on_table(database, table).is_some()
    }

    fn info(&self, name: &str) -> SqlResult<Option<Arc<vaquita_catalog::TableInfo>>> {
        let core = self.db.engine.core();
        let table: Arc<Table> = match core.table(name) {
            Ok(table) => table,
            Err(vaquita_engine::Error::Discarded(_)) => {
                return vaquita_catalog::TableInfo::of_discarded(core, name);
            }
            // Dropped meanwhile, or unusable.
            Err(_) => return Ok(None),
        };
        self.db.catalog.info(&table).map(Some)
    }

    /// A moment in the session's time zone.
    pub(super) fn local(&self, seconds: i64) -> Value<'static> {
        let stamp = vaquita_types::Timestamp { seconds: u32::try_from(seconds).unwrap_or(0), micros: 0 };
        let time: DateTime = vaquita_types::column::local_time(stamp, &self.state().vars.time_zone);
        Value::DateTime(time)
    }
}

type Make = fn(&mut Making<'_, '_>) -> SqlResult<()>;

/// A table of information_schema, of performance_schema or of `mysql`.
#[derive(Debug)]
pub(crate) struct InfoTable {
    name: &'static str,
    declared: &'static [(&'static str, &'static str)],
    columns: Vec<VirtualColumn>,
    make: Option<Make>,
}

impl InfoTable {
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Columns in order, as they are declared.
    pub(super) fn declared(&self) -> &'static [(&'static str, &'static str)] {
        self.declared
    }

    /// What lists of tables call it.
    pub(crate) fn kind(&self) -> &'static str {
        if self.is_of_performance() { "BASE TABLE" } else { "SYSTEM VIEW" }
    }

    pub(super) fn is_of_performance(&self) -> bool {
        super::performance_tables::TABLES.iter().any(|(name, _)| *name == self.name)
    }

    fn rows(
        &self,
        db: &Database,
        cx: &mut EvalCx<'_>,
        wanted: &Wanted,
        of_session: bool,
    ) -> SqlResult<Vec<Cells>> {
        let Some(make) = self.make else { return Ok(Vec::new()) };
        let mut making = Making { cx, db, wanted, of_session, rows: Vec::new() };
        make(&mut making)?;
        let mut rows = making.rows;
        for row in &mut rows {
            debug_assert_eq!(row.len(), self.columns.len(), "{}", self.name);
            row.resize(self.columns.len(), Value::Null);
        }
        Ok(rows)
    }
}

/// A virtual table, of a folder.
#[derive(Debug)]
struct OfFolder {
    database: &'static str,
    table: &'static InfoTable,
    db: Weak<Database>,
}

impl VirtualTable for OfFolder {
    fn database(&self) -> &str {
        self.database
    }

    fn name(&self) -> &str {
        self.table.name
    }

    fn columns(&self) -> &[VirtualColumn] {
        &self.table.columns
    }

    fn rows(&self, cx: &mut EvalCx<'_>, wanted: &Wanted) -> SqlResult<Vec<Cells>> {
        let Some(db) = self.db.upgrade() else { return Err(SqlError::new(1105, "no database is open")) };
        self.table.rows(&db, cx, wanted, false)
    }
}

/// The virtual tables of a folder. Plans refer to the folder, which keeps the plans: therefore weakly.
#[derive(Debug)]
pub(crate) struct InfoTables(Weak<Database>);

impl InfoTables {
    /// Of that folder.
    pub(crate) fn of(db: Weak<Database>) -> InfoTables {
        InfoTables(db)
    }
}

impl VirtualTables for InfoTables {
    fn find(&self, database: &str, name: &str) -> Option<Arc<dyn VirtualTable>> {
        let (database, table) = match vaquita_catalog::is_virtual_database(database) {
            true => (vaquita_catalog::virtual_database(database)?, table(database, name)?),
            false if database == "mysql" => ("mysql", OF_MYSQL.iter().find(|t| t.name == name)?),
            false => return None,
        };
        Some(Arc::new(OfFolder { database, table, db: self.0.clone() }))
    }
}

/// All tables of information_schema, in the order of their names.
static ALL: LazyLock<Vec<InfoTable>> = LazyLock::new(|| {
    let mut all = made_of(TABLES);
    all.sort_by_key(|t| t.name);
    all
});

/// Those of performance_schema.
static OF_PERFORMANCE: LazyLock<Vec<InfoTable>> =
    LazyLock::new(|| made_of(super::performance_tables::TABLES));

/// Those that are in `mysql`.
static OF_MYSQL: LazyLock<Vec<InfoTable>> = LazyLock::new(|| made_of(super::mysql_tables::TABLES));

fn made_of(definitions: &'static [Definition]) -> Vec<InfoTable> {
    let column = |(name, ty): &(&str, &str)| VirtualColumn { name: (*name).to_owned(), ty: parse_type(ty) };
    let one = |(name, columns): &'static Definition| InfoTable {
        name,
        declared: columns,
        columns: columns.iter().map(column).collect(),
        make: super::maker(name),
    };
    definitions.iter().map(one).collect()
}

/// The tables of a database that has no others, in the order of their names.
pub(crate) fn tables_of(database: &str) -> &'static [InfoTable] {
    match vaquita_catalog::virtual_database(database) {
        Some(vaquita_catalog::PERFORMANCE_SCHEMA) => &OF_PERFORMANCE,
        Some(_) => &ALL,
        None => &[],
    }
}

/// One of them.
pub(crate) fn table(database: &str, name: &str) -> Option<&'static InfoTable> {
    tables_of(database).iter().find(|t| t.name.eq_ignore_ascii_case(name))
}

/// Rows of a table, for SHOW.
pub(crate) fn rows_of(name: &str, cx: &mut StmtCx<'_>, wanted: &Wanted) -> SqlResult<Vec<Cells>> {
    let db = cx.db;
    table(vaquita_catalog::INFORMATION_SCHEMA, name)
        .map_or(Ok(Vec::new()), |t| t.rows(db, &mut cx.eval(), wanted, true))
}
