//! `vaquita import DIR FILE.ibd …`: tables of a folder that are made of files from elsewhere.
//!
//! The work is that of IMPORT TABLE (`vaquita_sql`, `connection::import`), file by file: here files are found, and what was imported
//! together is held against its foreign keys when all of it is there, since a table may refer to one that comes later, or in a circle.
//!
//! | exit code | |
//! |---|---|
//! | 0 | all tables are there |
//! | 1 | a file is damaged or of another table, or rows refer to none |
//! | 2 | the folder or a file could not be used, or nothing says what a table is |
//!
//! Of several files each is imported that can be; the worst of them is the exit code.

use crate::embedded::{Connection, OpenOptions};
use crate::workshop::links;
use std::io::Write;
use std::path::{Path, PathBuf};
use vaquita_format::cfg::TableMeta;
use vaquita_format::filename::{TableFile, is_of_words};
use vaquita_sql::{SqlResult, create_tables_of};

/// What the command line says.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// The data folder, which nobody has open
    dir: PathBuf,
    /// Files of tables (.ibd), or folders of such files; they stay as they are. What a table is tells a .sql, .frm or .cfg beside it
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The database of the tables, made if it is not there [default: the one that each .cfg names]
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
    /// A file with the CREATE TABLE statements of the tables, with their foreign keys
    #[arg(long, value_name = "FILE")]
    sql: Option<PathBuf>,
}

/// Errors that are a file's: it is of another table, or damaged.
const OF_FILE: [u16; 2] = [1808, 1815];

/// Runs the command.
///
/// # Errors
/// Why the folder cannot be used, or the output not written.
pub(crate) fn run(args: &ImportArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<u8, String> {
    if !args.dir.join("ibdata1").exists() {
        return Err(format!("{} is no data folder: it has no ibdata1", args.dir.display()));
    }
    let files = files_of(&args.files)?;
    let definitions = args.sql.as_deref().map(absolute).transpose()?;
    let described = definitions.as_deref().map(described_by).transpose()?;
    let own = absolute(&args.dir)?;
    // Whoever may run this may read any file.
    let db = OpenOptions::new().set("secure_file_priv", "").open(&args.dir);
    let db = db.map_err(|e| format!("{}: {}", args.dir.display(), e.message))?;
    let done = db.connect().map_err(|e| e.message.into_owned()).and_then(|mut connection| {
        let described = described.as_deref().filter(|_| files.len() > 1);
        let import = Import { own: &own, database: args.database.as_deref(), definitions, described };
        import.all(&mut connection, &files, out, err).map_err(|e| e.to_string())
    });
    let closed = db.close().map_err(|e| format!("{}: {}", args.dir.display(), e.message));
    let code = done?;
    closed.map(|()| code)
}

/// The files that are meant, by whole paths.
fn files_of(named: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut out = Vec::new();
    for path in named {
        let path = absolute(path)?;
        if !path.is_dir() {
            out.push(path);
            continue;
        }
        let entries = std::fs::read_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let before = out.len();
        for entry in entries {
            let file = entry.map_err(|e| format!("{}: {e}", path.display()))?.path();
            let is_table = file.extension().is_some_and(|extension| extension == "ibd");
            // Words of FULLTEXT indexes are found anew.
            let of_words = file.file_stem().is_some_and(|stem| is_of_words(&stem.to_string_lossy()));
            if is_table && !of_words || links::is_link(&file) {
                out.push(file);
            }
        }
        if out.len() == before {
            return Err(format!("{} has no .ibd files", path.display()));
        }
        out[before..].sort();
    }
    Ok(out)
}

/// The tables that a file of definitions tells of.
fn described_by(path: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let all = create_tables_of(&text).map_err(|e| format!("{}: {}", path.display(), e.message))?;
    Ok(all.into_iter().map(|one| one.table).collect())
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize().map_err(|e| format!("{}: {e}", path.display()))
}

/// An import of several files.
struct Import<'a> {
    /// The folder.
    own: &'a Path,
    database: Option<&'a str>,
    definitions: Option<PathBuf>,
    /// The tables that they tell of, if there are several files: each is of the one of its name.
    described: Option<&'a [String]>,
}

impl Import<'_> {
    fn all(
        &self,
        connection: &mut Connection,
        files: &[PathBuf],
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> std::io::Result<u8> {
        let mut code = 0;
        let before = tables_of_all(connection);
        for file in files {
            match self.one(connection, file) {
                Ok(said) => {
                    for line in said {
                        writeln!(out, "{line}")?;
                    }
                }
                Err((bad, why)) => {
                    writeln!(err, "vaquita: {why}")?;
                    code = code.max(bad);
                }
            }
        }
        let held = before.and_then(|before| hold(connection, &before));
        match held {
            Ok(complaints) => {
                for complaint in &complaints {
                    writeln!(err, "vaquita: {complaint}")?;
                }
                code = code.max(u8::from(!complaints.is_empty()));
            }
            Err(e) => {
                writeln!(err, "vaquita: foreign keys cannot be looked at: {}", e.message)?;
                code = 2;
            }
        }
        Ok(code)
    }

    /// Imports a file: what there is to say. The error comes with the exit code.
    fn one(&self, connection: &mut Connection, file: &Path) -> Result<Vec<String>, (u8, String)> {
        let name = file.display();
        if links::is_link(file) {
            return Err((2, format!("{name} is a link; name the file that it leads to")));
        }
        if file.starts_with(self.own) {
            return Err((2, format!("{name} is in the data folder; move it elsewhere first")));
        }
        let database = self.database_of(file).map_err(|why| (2, format!("{name}: {why}")))?;
        let mut text = format!("import table from {}", literal(file));
        if let Some(definitions) = &self.definitions {
            let stem = file.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
            let table = TableFile::parse(&stem).table;
            if self.described.is_some_and(|all| !all.contains(&table)) {
                let by = definitions.display();
                return Err((2, format!("{name}: {by} has no CREATE TABLE for `{table}`")));
            }
            text += &format!(" using {}", literal(definitions));
        }
        let mut run = || -> SqlResult<Vec<String>> {
            let quoted = database.replace('`', "``");
            connection.execute(
                &format!(
                    "set foreign_key_checks = 0; create database if not exists `{quoted}`; use `{quoted}`"
                ),
                (),
            )?;
            connection.execute(&text, ())?;
            let said = connection.query("show warnings", ())?;
            said.iter().map(|row| row.get::<String>(2)).collect()
        };
        run().map_err(|e| {
            let code = if OF_FILE.contains(&e.code) { 1 } else { 2 };
            let text = e.message.strip_prefix("Internal error: ").unwrap_or(&e.message);
            let shown = text.contains(&name.to_string());
            (code, if shown { text.to_owned() } else { format!("{name}: {text}") })
        })
    }

    fn database_of(&self, file: &Path) -> Result<String, String> {
        if let Some(database) = self.database {
            return Ok(database.to_owned());
        }
        let none = || "name the database with --database: there is no .cfg beside it that does".to_owned();
        let bytes = std::fs::read(file.with_extension("cfg")).map_err(|_| none())?;
        let described = TableMeta::parse(&bytes).map_err(|e| format!("its .cfg: {e}"))?;
        let (database, _) = described.name.split_once('/').ok_or_else(none)?;
        Ok(vaquita_format::filename::decode(database).unwrap_or_else(|| database.to_owned()))
    }
}

/// A path as a string of SQL.
fn literal(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('\'', "\\'");
    format!("'{text}'")
}

/// A foreign key: its name, and those of the two tables, each with its database.
type Key = (String, [String; 2], [String; 2]);

const KEYS: &str = "select distinct constraint_name, table_schema, table_name, referenced_table_schema, \
    referenced_table_name from information_schema.key_column_usage where referenced_table_name is not null \
    order by 2, 3, 1";

fn tables_of_all(connection: &mut Connection) -> SqlResult<Vec<[String; 2]>> {
    let rows = connection.query(
        "select table_schema, table_name from information_schema.tables where engine = 'InnoDB'",
        (),
    )?;
    rows.iter().map(|row| Ok([row.get::<String>(0)?, row.get::<String>(1)?])).collect()
}

/// Holds the rows of tables that were not there before against foreign keys, and rows that refer to them: what is wrong.
fn hold(connection: &mut Connection, before: &[[String; 2]]) -> SqlResult<Vec<String>> {
    let there = tables_of_all(connection)?;
    let rows = connection.query(KEYS, ())?;
    let key = |row: crate::embedded::Row<'_>| -> SqlResult<Key> {
        let text = |at: usize| row.get::<String>(at);
        Ok((text(0)?, [text(1)?, text(2)?], [text(3)?, text(4)?]))
    };
    let keys: Vec<Key> = rows.iter().map(key).collect::<SqlResult<_>>()?;
    let mut complaints = Vec::new();
    for (name, child, parent) in keys {
        if before.contains(&child) && before.contains(&parent) {
            continue;
        }
        let [child_name, parent_name] =
            [&child, &parent].map(|[database, table]| format!("{database}.{table}"));
        if !there.contains(&parent) {
            complaints.push(format!(
                "{child_name}: foreign key {name} refers to {parent_name}, which is not there"
            ));
            continue;
        }
        let lost = count_lost(connection, &name, &child, &parent)?;
        if lost > 0 {
            complaints.push(format!(
                "{child_name}: {lost} rows refer to none of {parent_name} (foreign key {name})"
            ));
        }
    }
    Ok(complaints)
}

/// How many rows of a child refer to none of its parent.
fn count_lost(
    connection: &mut Connection,
    key: &str,
    child: &[String; 2],
    parent: &[String; 2],
) -> SqlResult<u64> {
    let columns = connection.query(
        "select column_name, referenced_column_name from information_schema.key_column_usage \
         where constraint_name = ? and table_schema = ? and table_name = ? and referenced_table_name is not null",
        (key, child[0].as_str(), child[1].as_str()),
    )?;
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let [child, parent] =
        [child, parent].map(|[database, table]| format!("{}.{}", quoted(database), quoted(table)));
    let (mut refers, mut same) = (Vec::new(), Vec::new());
    for row in columns.iter() {
        let (ours, theirs) = (quoted(&row.get::<String>(0)?), quoted(&row.get::<String>(1)?));
        refers.push(format!("c.{ours} is not null"));
        same.push(format!("p.{theirs} = c.{ours}"));
    }
    let text = format!(
        "select count(*) from {child} c where {} and not exists (select 1 from {parent} p where {})",
        refers.join(" and "),
        same.join(" and ")
    );
    connection.query(&text, ())?.single::<u64>()
}
