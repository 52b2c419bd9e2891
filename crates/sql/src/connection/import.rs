//! IMPORT TABLE FROM 'file' [, 'file'] … [USING 'file']: tables that are made of files from elsewhere, in the current database.
//!
//! A file does not say what its table is in SQL. What does is looked for, in this order:
//!
//! | | |
//! |---|---|
//! | the file behind USING | the CREATE TABLE of the file's name; of a single file with a single statement, that one |
//! | `.sql` beside the file | as `mysqldump --tab` writes it |
//! | `.frm` beside the file | all but foreign keys |
//! | `.cfg` beside the file | as far as [`vaquita_catalog::cfg`] can: what it does not tell is said |
//!
//! Definitions of files are read as any CREATE TABLE, whatever the session's modes: text in UTF-8, no SQL mode, time zone UTC.
//!
//! # Crash
//! Each table is there with all its rows, or not at all.

use super::Connection;
use super::client_text;
use bumpalo::Bump;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vaquita_catalog::{Definition, error};
use vaquita_engine::ImportFile;
use vaquita_engine::lower::filename::TableFile;
use vaquita_engine::lower::frm::Frm;
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, Stmt, TableElement};
use vaquita_parser::{ParseErrorKind, ParseMode};
use vaquita_session::files::server_file;
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_types::{Level, SqlError, SqlMode, SqlResult, TimeZone};

/// The default collation of utf8mb4.
const UTF8MB4: u16 = 45;

/// A file, and the statement that says what its table is.
struct Import {
    file: ImportFile,
    table: String,
    definition: String,
    /// What the definition is from.
    described_by: String,
    /// It was made here, and says all that it means.
    made_here: bool,
    /// Tables of the same database that it refers to.
    parents: Vec<String>,
}

impl Import {
    /// What the definition does not tell where another one would.
    fn unsaid(&self) -> Option<&'static str> {
        match self.described_by.rsplit_once('.').map(|(_, extension)| extension) {
            Some("cfg") => Some("defaults, comments, foreign keys, CHECK constraints and expressions"),
            Some("frm") => Some("foreign keys"),
            _ => None,
        }
    }
}

impl Connection {
    /// IMPORT TABLE. What says nothing of a file's table, or cannot be read, is told before the first table is made.
    pub(super) fn import_tables(&mut self, import: &ast::ImportTables<'_>, sql: &[u8]) -> SqlResult<Outcome> {
        self.check_wanted(&[Wanted::global(Priv::FILE)])?;
        if self.state.database.is_empty() {
            return Err(SqlError::no_database());
        }
        let written = match import.definitions {
            Some(name) => {
                let path = server_file(&self.state.vars.file_name(name), &self.db, &self.state.database)?;
                let text = std::fs::read(&path).map_err(|e| cannot_read(&path, e))?;
                let all = create_tables_of(&text).map_err(|e| SqlError {
                    message: format!("{}: {}", path.display(), e.message).into(),
                    ..e
                })?;
                Some((path, all))
            }
            None => None,
        };
        let mut imports = Vec::new();
        for name in import.files {
            let path = server_file(&self.state.vars.file_name(name), &self.db, &self.state.database)?;
            let only = import.files.len() == 1;
            imports.push(self.look_at_import(
                &path,
                written.as_ref().map(|(by, all)| (by, &all[..])),
                only,
            )?);
        }
        let mut rows = 0;
        for import in parents_first(imports) {
            rows += self.import_table(&import, sql)?;
        }
        Ok(Outcome { affected_rows: rows, ..Outcome::default() })
    }

    /// What table a file is to become.
    fn look_at_import(
        &self,
        path: &Path,
        written: Option<(&PathBuf, &[CreateText])>,
        only: bool,
    ) -> SqlResult<Import> {
        let core = self.db.engine.core();
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let name = TableFile::parse(&stem);
        if name.partition.is_some() {
            return Err(SqlError::unsupported(&format!(
                "IMPORT TABLE of {}, which is a partition",
                path.display()
            )));
        }
        let file = ImportFile::open(core, path).map_err(|e| match e {
            vaquita_engine::Error::BadImport { detail, .. } => {
                SqlError::new(1815, format!("Internal error: {}: {detail}", path.display()))
            }
            e => error::engine(&e),
        })?;
        let beside = |extension: &str| error::of_engine(file.beside(core, extension));
        // It need not be about tables.
        let own_statements = |text: &Vec<u8>| create_tables_of(text).ok().filter(|all| !all.is_empty());
        let shown = |extension: &str| path.with_extension(extension).display().to_string();
        let (statement, described_by, made_here) = if let Some((by, all)) = written {
            (choose(all, &name.table, only, by)?, by.display().to_string(), false)
        } else if let Some(all) = beside("sql")?.as_ref().and_then(own_statements) {
            let by = path.with_extension("sql");
            (choose(&all, &name.table, true, &by)?, shown("sql"), false)
        } else if let Some(bytes) = beside("frm")? {
            (of_frm(&bytes, &name.table, &file).map_err(|e| bad(&shown("frm"), e))?, shown("frm"), true)
        } else if file.description().is_some() {
            (of_cfg(&file, &name.table)?, shown("cfg"), true)
        } else {
            return Err(SqlError::new(
                1105,
                format!(
                    "{}: nothing says what its table is: there is no .sql, .frm or .cfg beside it; give a file with its CREATE \
                     TABLE",
                    path.display()
                ),
            ));
        };
        let CreateText { table, text: definition, parents } = statement;
        Ok(Import { file, table, definition, described_by, made_here, parents })
    }

    /// Makes one table; how many rows it has.
    fn import_table(&mut self, import: &Import, sql: &[u8]) -> SqlResult<u64> {
        let wanted = Wanted::table(&self.state.database, &import.table, Priv::INSERT);
        self.check_wanted(&[wanted])?;
        let arena = Bump::new();
        let text = import.definition.as_bytes();
        let parsed = vaquita_parser::parse(text, &arena, ParseMode { params: false, ..ParseMode::default() });
        let parsed = parsed.map_err(|e| bad(&import.described_by, e))?;
        let Stmt::CreateTable(create) = parsed.stmt else {
            return Err(bad(&import.described_by, "no CREATE TABLE"));
        };
        let database = self.state.database.clone();
        let mut create = *create;
        create.name.schema = Some(ast::Ident { name: database.as_bytes() });
        create.if_not_exists = false;
        let vars = self.state.vars.clone();
        self.read_as_written(import.made_here);
        let stmt = Stmt::CreateTable(&create);
        let done = self.define_with(&stmt, sql, &[], |connection, _| {
            crate::ddl::create_table_of_file(&mut connection.cx(), &create, text, &import.file)
        });
        self.state.vars = vars;
        let rows = done?.affected_rows;
        let text = format!(
            "Table '{database}.{}' has {rows} rows of {}, as {} describes it",
            import.table,
            import.file.path().display(),
            import.described_by
        );
        self.state.warnings.push(Level::Note, 1105, text);
        if let Some(what) = import.unsaid() {
            let text = format!("{} tells nothing of {what}: the table has none", import.described_by);
            self.state.warnings.push(Level::Note, 1105, text);
        }
        Ok(rows)
    }

    /// Sets the modes in which definitions of files are read.
    fn read_as_written(&mut self, says_all: bool) {
        let vars = &mut self.state.vars;
        vars.sql_mode = SqlMode::default();
        (vars.character_set_client, vars.collation_connection) = (UTF8MB4, UTF8MB4);
        vars.time_zone = Arc::new(TimeZone::UTC);
        vars.explicit_defaults_for_timestamp |= says_all;
    }
}

/// A CREATE TABLE of a text.
#[derive(Debug, Clone)]
pub struct CreateText {
    /// The table, whatever database the statement names.
    pub table: String,
    /// The statement.
    pub text: String,
    /// Tables that its foreign keys refer to.
    pub parents: Vec<String>,
}

/// The tables that a text makes of columns; other statements are passed over. Lines that are for MySQL's client, which says by
/// DELIMITER what ends a statement, may be among them.
///
/// # Errors
/// 1064.
pub fn create_tables_of(text: &[u8]) -> SqlResult<Vec<CreateText>> {
    let (mut out, mut at) = (Vec::new(), 0);
    let mut ends: &[u8] = b";";
    while at < text.len() {
        let rest = &text[at..];
        if let Some((given, len)) = client_text::delimiter_line(rest) {
            ends = given;
            at += len;
        } else if ends == b";" {
            match create_table_of(rest, &mut out)? {
                Some(next) => at += next,
                None => break,
            }
        } else {
            let (len, with_end) = client_text::delimited(rest, ends);
            // Bodies of programs are none of this; what cannot be read makes no table here.
            let _ = create_table_of(&rest[..len], &mut out);
            at += with_end;
        }
    }
    Ok(out)
}

/// Adds the table that the first statement of a text makes, if it does; where the next one begins.
fn create_table_of(rest: &[u8], out: &mut Vec<CreateText>) -> SqlResult<Option<usize>> {
    let mode = ParseMode { params: false, ..ParseMode::default() };
    let arena = Bump::new();
    let parsed = match vaquita_parser::parse(rest, &arena, mode) {
        Ok(parsed) => parsed,
        Err(e) if e.kind == ParseErrorKind::Empty => return Ok(None),
        Err(e) => return Err(super::text::syntax_error(&e)),
    };
    if let Stmt::CreateTable(create) = parsed.stmt
        && create.like.is_none()
        && create.select.is_none()
        && !create.temporary
    {
        // With the end of the version comment that its last word is in.
        let after = rest.get(parsed.span.end as usize..).unwrap_or_default();
        let closing = after.trim_ascii_start().starts_with(b"*/");
        let more = if closing { after.len() - after.trim_ascii_start().len() + 2 } else { 0 };
        let text = &rest[parsed.span.start as usize..parsed.span.end as usize + more];
        let statement = String::from_utf8_lossy(text).into_owned();
        out.push(CreateText {
            table: create.name.name.to_string(),
            text: statement,
            parents: parents_of(create),
        });
    }
    Ok(parsed.next)
}

/// Tables that foreign keys of a table refer to.
fn parents_of(create: &ast::CreateTable<'_>) -> Vec<String> {
    let parent = |element: &TableElement<'_>| match element {
        TableElement::ForeignKey(key) => Some(key.references.table.name.to_string()),
        _ => None,
    };
    create.elements.iter().filter_map(parent).collect()
}

/// The statement for a table; of a file alone a single one may have another name.
fn choose(all: &[CreateText], table: &str, only: bool, by: &Path) -> SqlResult<CreateText> {
    let named = all.iter().find(|written| written.table == table);
    let chosen = named.or_else(|| all.first().filter(|_| only && all.len() == 1));
    chosen
        .cloned()
        .ok_or_else(|| SqlError::new(1105, format!("{} has no CREATE TABLE for `{table}`", by.display())))
}

fn of_frm(bytes: &[u8], table: &str, file: &ImportFile) -> Result<CreateText, String> {
    let frm = Frm::parse(bytes).map_err(|e| e.to_string())?;
    if let Some(foreign) = frm.foreign() {
        return Err(foreign.to_string());
    }
    let next = file.description().map_or(0, |meta| meta.autoinc);
    let text = vaquita_catalog::frm::show_create_frm(&frm, table, next).map_err(|e| e.to_string())?;
    Ok(CreateText { table: table.to_owned(), text, parents: Vec::new() })
}

fn of_cfg(file: &ImportFile, table: &str) -> SqlResult<CreateText> {
    let path = file.path().with_extension("cfg");
    let Some(meta) = file.description() else { return Err(bad(&path.display().to_string(), "it is gone")) };
    let definition = Definition::of_cfg(meta, table).map_err(|missing| {
        let text = format!(
            "{} does not say {}; give the table's .frm, or a file with its CREATE TABLE",
            path.display(),
            missing.join(", ")
        );
        SqlError::new(1105, text)
    })?;
    let text = vaquita_catalog::show_create::show_create(
        &definition,
        Some(meta.autoinc),
        &TimeZone::UTC,
        vaquita_catalog::show_create::Style::default(),
    );
    Ok(CreateText { table: table.to_owned(), text, parents: Vec::new() })
}

/// In an order in which parents come before their children, as far as there is one.
fn parents_first(mut imports: Vec<Import>) -> Vec<Import> {
    let mut out: Vec<Import> = Vec::with_capacity(imports.len());
    while !imports.is_empty() {
        let waits = |import: &Import| {
            let own = |parent: &&String| **parent != import.table;
            import.parents.iter().filter(own).any(|parent| imports.iter().any(|other| other.table == *parent))
        };
        let next = imports.iter().position(|import| !waits(import)).unwrap_or(0);
        out.push(imports.remove(next));
    }
    out
}

fn cannot_read(path: &Path, e: std::io::Error) -> SqlError {
    SqlError::new(29, format!("File '{}' cannot be read: {e}", path.display()))
}

fn bad(by: &str, e: impl std::fmt::Display) -> SqlError {
    SqlError::new(1105, format!("{by}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::create_tables_of;

    fn tables(text: &str) -> Vec<String> {
        let all = create_tables_of(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        all.into_iter().map(|create| create.table).collect()
    }

    /// Dumps of tables with triggers, of routines and events.
    #[test]
    fn lines_that_say_what_ends_a_statement_are_none_of_sql() {
        let dump = "-- MySQL dump 10.13  Distrib 5.6.24
/*!40101 SET NAMES utf8 */;
CREATE TABLE `a` (`id` int(11) DEFAULT NULL) ENGINE=InnoDB;
/*!50003 SET sql_mode              = '' */ ;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER `t` BEFORE INSERT ON `a` FOR EACH ROW begin
  set new.id = 1; set @x = ';;'; -- it's ;; here
  set @y = 2; end */;;
DELIMITER ;
/*!50003 SET sql_mode              = @saved_sql_mode */ ;
--
-- Dumping events for database 'd'
--
/*!50106 DROP EVENT IF EXISTS `e` */;
DELIMITER ;;
/*!50003 SET character_set_client  = utf8 */ ;;
/*!50106 CREATE*/ /*!50117 DEFINER=`root`@`localhost`*/ /*!50106 EVENT `e` ON SCHEDULE EVERY 1 DAY DO begin select 1; end */ ;;
DELIMITER ;
# another
delimiter //
CREATE PROCEDURE `p`() begin select 'a;b//c'; drop table `a`; end //
create table `b` (`x` int) //
	DELIMITER ;
CREATE TABLE `c` (`id` int);
";
        assert_eq!(tables(dump), ["a", "b", "c"]);
        assert_eq!(tables(&dump.replace('\n', "\r\n")), ["a", "b", "c"]);
    }

    #[test]
    fn texts_that_end_anywhere_are_read() {
        for text in
            ["", "delimiter", "delimiter ;;", "delimiter ;;\n", "delimiter //\ncreate table t (i int)"]
        {
            let _ = create_tables_of(text.as_bytes());
        }
        assert_eq!(tables("DELIMITER $$\ncreate table t (i int)$$\n/* never ends"), ["t"]);
        assert_eq!(tables("delimiter //\nselect 'never ends // \ncreate table t (i int)//"), [""; 0]);
    }
}
