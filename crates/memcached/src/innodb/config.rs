//! The tables of the database `innodb_memcache`: what they say.
//!
//! | table | says |
//! |---|---|
//! | `containers` | which table a name stands for, and what its columns mean |
//! | `config_options` | `separator` of values of several columns, `table_map_delimiter` behind a mapping's name |
//! | `cache_policies` | for get, set, delete and flush where items are kept: the row `cache_policy`, else the first one |
//!
//! They are watched: as long as nobody changes their rows, nothing is read.

use super::column::Form;
use crate::store::{Failure, Result};
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_engine::core::Core;
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::{Cursor, Direction, Error, Isolation, ReadOptions, Session, Statement, Table, Watch};

/// Where they are, in file name encoding.
const DATABASE: &str = "innodb_memcache";

/// A row of `containers`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Container {
    /// The mapping's name.
    pub(crate) name: Vec<u8>,
    /// Database of the table.
    pub(crate) schema: String,
    /// The table.
    pub(crate) table: String,
    /// Names of the key's columns.
    pub(crate) keys: Vec<String>,
    /// Names of the value's columns.
    pub(crate) values: Vec<String>,
    /// Column of the flags.
    pub(crate) flags: Option<String>,
    /// Column of the numbers.
    pub(crate) cas: Option<String>,
    /// Column of the ends.
    pub(crate) expires: Option<String>,
    /// The unique index of the key.
    pub(crate) index: String,
}

/// Where a command's items are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// In the table.
    #[default]
    InnodbOnly,
    /// In memory.
    CacheOnly,
    /// In the table, and in memory what was read.
    Caching,
    /// Nowhere: the command is refused.
    Disabled,
}

/// The row of `cache_policies`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Policies {
    /// Of reading.
    pub get: Policy,
    /// Of everything that changes an item.
    pub set: Policy,
    /// Of deleting.
    pub delete: Policy,
    /// Of `flush_all`.
    pub flush: Policy,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// In the order of their names.
    pub(crate) containers: Vec<Container>,
    /// Between the values of several columns.
    pub(crate) separator: Vec<u8>,
    /// Between a mapping's name and the key.
    pub(crate) delimiter: Vec<u8>,
    /// Policies.
    pub(crate) policies: Policies,
}

impl Default for Config {
    /// No mapping, the plugin's separators.
    fn default() -> Self {
        Self {
            containers: Vec::new(),
            separator: b"|".to_vec(),
            delimiter: b".".to_vec(),
            policies: Policies::default(),
        }
    }
}

/// Tells when what was read may be out of date.
#[derive(Debug, Default)]
pub(crate) struct Watches(Vec<Watch>);

/// `containers`, `config_options`, `cache_policies`.
const TABLES: usize = 3;

impl Watches {
    /// Whether all tables are there and as they were read.
    pub(crate) fn is_current(&self) -> bool {
        self.0.len() == TABLES && !self.0.iter().any(Watch::may_have_changed)
    }
}

impl Config {
    /// Reads what is committed. A table that is not there says nothing.
    ///
    /// # Errors
    /// Those of reading; [`Failure::Busy`] if the definition of a table is being changed.
    pub(crate) fn read(core: &Arc<Core>) -> Result<(Config, Watches)> {
        let mut session = vaquita_engine::Session::new(core.clone());
        session.settings.isolation = Isolation::ReadCommitted;
        // Loops and the work of each second come by here: nobody waits.
        session.settings.metadata_lock_timeout = 0;
        let mut watches = Watches::default();
        let mut read = |table| Rows::read(core, &mut session, table, &mut watches);
        let mut config = Config::default();
        for row in read("containers")?.rows() {
            if let Some(container) = container(&row) {
                config.containers.push(container);
            }
        }
        for row in read("config_options")?.rows() {
            let value = row.text("value").unwrap_or_default().into_bytes();
            match row.text("name").as_deref() {
                _ if value.is_empty() => {}
                Some("separator") => config.separator = value,
                Some("table_map_delimiter") => config.delimiter = value,
                _ => {}
            }
        }
        let policies = read("cache_policies")?;
        let named = policies.rows().find(|row| row.text("policy_name").as_deref() == Some("cache_policy"));
        if let Some(row) = named.or_else(|| policies.rows().next()) {
            let of = |column| policy(&row.text(column).unwrap_or_default());
            config.policies = Policies {
                get: of("get_policy"),
                set: of("set_policy"),
                delete: of("delete_policy"),
                flush: of("flush_policy"),
            };
        }
        Ok((config, watches))
    }

    /// The container of that name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<&Container> {
        self.containers.iter().find(|c| c.name == name)
    }

    /// The one a connection begins with.
    pub(crate) fn first(&self) -> Option<&Container> {
        self.find(b"default").or_else(|| self.containers.first())
    }
}

fn policy(text: &str) -> Policy {
    match text {
        "cache_only" => Policy::CacheOnly,
        "caching" => Policy::Caching,
        "disabled" => Policy::Disabled,
        _ => Policy::InnodbOnly,
    }
}

fn container(row: &Row<'_>) -> Option<Container> {
    // The plugin's way to say that there is no column.
    let column = |name| row.text(name).filter(|text| !text.is_empty() && text != "0");
    Some(Container {
        name: row.text("name")?.into_bytes(),
        schema: row.text("db_schema")?,
        table: row.text("db_table")?,
        keys: names(&row.text("key_columns")?),
        values: names(&row.text("value_columns").unwrap_or_default()),
        flags: column("flags"),
        cas: column("cas_column"),
        expires: column("expire_time_column"),
        index: row.text("unique_idx_name_on_key")?,
    })
}

/// Column names in a list: separated by any of `|;,` and spaces.
fn names(list: &str) -> Vec<String> {
    list.split(['|', ';', ',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The rows of a small table, as text.
#[derive(Debug, Default)]
struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<Option<Vec<u8>>>>,
}

/// One of them.
struct Row<'r> {
    columns: &'r [String],
    values: &'r [Option<Vec<u8>>],
}

impl Row<'_> {
    fn text(&self, column: &str) -> Option<String> {
        let at = self.columns.iter().position(|name| name.eq_ignore_ascii_case(column))?;
        let bytes = self.values[at].as_deref()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

impl Rows {
    fn read(core: &Core, session: &mut Session, table: &str, watches: &mut Watches) -> Result<Rows> {
        let name = format!("{DATABASE}/{table}");
        match session.run(|s| Rows::of(core, s, &name, watches)) {
            Ok(rows) => Ok(rows),
            Err(Error::NoSuchTable(_)) => Ok(Rows::default()),
            Err(e @ (Error::MetadataLockTimeout(_) | Error::TableChanged(_))) => {
                Err(Failure::Busy(format!("{DATABASE}.{table}: {e}")))
            }
            Err(e) => Err(Failure::Server(format!("{DATABASE}.{table}: {e}"))),
        }
    }

    fn of(
        core: &Core,
        s: &mut Statement<'_>,
        name: &str,
        watches: &mut Watches,
    ) -> vaquita_engine::Result<Rows> {
        let table = s.table(name)?;
        // Before the view is opened.
        watches.0.push(Watch::new(core, &table));
        let forms = forms(&table)?;
        let mut rows =
            Rows { columns: table.columns.iter().map(|c| c.def.name.clone()).collect(), rows: Vec::new() };
        let mut cursor: Cursor = s.cursor(&table, &ReadOptions::by_index(0))?;
        s.for_each(&mut cursor, Direction::Forward, |row| {
            let value = |(i, (form, charset)): (usize, &(Form, Charset))| {
                let mut shown = Vec::new();
                form.show(row.column(i)?, &mut shown);
                let mut text = Vec::new();
                vaquita_engine::lower::charset::convert(*charset, Charset::UTF8MB4, &shown, &mut text);
                Some(text)
            };
            rows.rows.push(forms.iter().enumerate().map(value).collect());
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|values| Row { columns: &self.columns, values })
    }
}

/// How the columns look, and their character sets.
fn forms(table: &Table) -> vaquita_engine::Result<Vec<(Form, Charset)>> {
    let form = |column: &vaquita_engine::Column| {
        let collation = match column.def.collation_id() {
            0 => table.collation,
            id => id,
        };
        let charset = Charset::of_collation(collation).unwrap_or(Charset::LATIN1);
        let form = Form::of(column, table.row_format, table.collation);
        Ok((form.map_err(|why| Error::BadDefinition(format!("{}: {why}", table.name)))?, charset))
    };
    table.columns.iter().map(form).collect()
}
