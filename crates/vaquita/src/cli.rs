//! The command line.
//!
//! | exit code | |
//! |---|---|
//! | 0 | fine |
//! | 1 | something is wrong with the files |
//! | 2 | the command could not be run |

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use vaquita_base::SpaceId;
use vaquita_format::filename::decode;

use crate::import::{self, ImportArgs};
use crate::serve::{self, ServeArgs};

pub use crate::serve::UserSwitch;
use crate::shell::{self, ShellArgs};
use crate::workshop::check::{CheckError, check_path};
use crate::workshop::definition::TableTexts;
use crate::workshop::dictionary::{DictTable, Dictionary, core_tables};
use crate::workshop::dump::{DumpOptions, Format, dump_table};
use crate::workshop::in_use;
use crate::workshop::inspect::{self, InspectError};
use crate::workshop::metadata::{MetadataFiles, TableInfo, table_of, table_of_dictionary};
use crate::workshop::progress::Progress;
use crate::workshop::report::Report;
use crate::workshop::source::{PageSource, SpaceFile};

/// InnoDB, rebuilt.
#[derive(Debug, Parser)]
#[command(name = "vaquita", version, about = "InnoDB, rebuilt: look at, check and dump its files")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what is in a tablespace or a redo log
    Inspect(InspectArgs),
    /// Check a file or a whole data folder; exit code 1 if something is wrong
    Check(CheckArgs),
    /// Write all rows of a table
    Dump(DumpArgs),
    /// Make tables of a data folder of files from elsewhere; exit code 1 if something is wrong with a file
    Import(ImportArgs),
    /// Serve a data folder to MySQL's clients
    Serve(ServeArgs),
    /// A shell for SQL: on a data folder in this process, or on a server
    Sql(ShellArgs),
}

#[derive(Debug, clap::Args)]
struct InspectArgs {
    /// An .ibd, ibdata1 or ib_logfile file, or a data folder
    path: PathBuf,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Header, trailer and content of a page
    Page {
        /// Its number
        number: u32,
    },
    /// The records of an index page
    Records {
        /// The page's number
        number: u32,
    },
    /// Every index tree: levels, pages, records
    Tree,
    /// Every extent: its state, owner and pages
    Extents,
    /// The redo log
    Log {
        /// The folder with ib_logfile0; beside the file if not given
        dir: Option<PathBuf>,
    },
}

#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// An .ibd, ibdata1 or ib_logfile file, or a data folder
    path: PathBuf,
    /// A file with the CREATE TABLE of tables that neither a dictionary nor a .frm describes
    #[arg(long, value_name = "FILE")]
    sql: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct DumpArgs {
    /// The .ibd file, or ibdata1 with --table
    file: PathBuf,
    /// The table in ibdata1, as DATABASE/TABLE
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// The table's .cfg [default: beside the .ibd]
    #[arg(long, value_name = "FILE")]
    cfg: Option<PathBuf>,
    /// The table's .frm [default: beside the .ibd]
    #[arg(long, value_name = "FILE")]
    frm: Option<PathBuf>,
    /// A file with the table's CREATE TABLE, instead of both
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cfg", "frm", "table"])]
    sql: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "tsv")]
    format: FormatArg,
    /// Show delete-marked rows, too
    #[arg(long)]
    deleted: bool,
    /// Take what is on pages with a wrong checksum, too: values may be wrong; the pages are named, and the exit code is 1
    #[arg(long)]
    damaged_pages: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatArg {
    Tsv,
    Csv,
    Json,
    Sql,
}

/// Why a command could not be run, for people.
#[derive(Debug)]
struct Failure(String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(e: E) -> Self {
        Failure(e.to_string())
    }
}

/// Runs a command.
pub fn run(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write, err: &mut dyn Write) -> ExitCode {
    ExitCode::from(run_code(args, out, err))
}

/// Runs a command as [`run`] does, in a process that may become another user's.
pub fn run_as(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
    switch: Option<UserSwitch>,
) -> ExitCode {
    ExitCode::from(run_with(args, out, err, switch))
}

/// Runs a command and gives its exit code as a number.
pub fn run_code(args: impl IntoIterator<Item = OsString>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    run_with(args, out, err, None)
}

fn run_with(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
    switch: Option<UserSwitch>,
) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version are no errors.
            if e.use_stderr() {
                let _ = write!(err, "{e}");
                return 2;
            }
            let _ = write!(out, "{e}");
            return 0;
        }
    };
    let mut out = BufWriter::new(out);
    let done = match cli.command {
        Command::Inspect(args) => {
            tell_of_use(&args.path, err);
            inspect_command(&args, &mut out)
        }
        Command::Check(args) => {
            tell_of_use(&args.path, err);
            check_command(&args, &mut out)
        }
        Command::Dump(args) => {
            tell_of_use(&args.file, err);
            dump_command(&args, &mut out, err)
        }
        Command::Import(args) => {
            let code = import::run(&args, &mut out, err);
            return match code.and_then(|code| out.flush().map(|()| code).map_err(|e| e.to_string())) {
                Ok(code) => code,
                Err(why) => {
                    let _ = writeln!(err, "vaquita: {why}");
                    2
                }
            };
        }
        Command::Serve(args) => return serve::run(&args, switch, &mut out, err),
        Command::Sql(args) => return shell::run(&args, &mut out, err),
    };
    let flushed = done.and_then(|sound| until_closed(out.flush().map(|()| sound)));
    match flushed {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(Failure(why)) => {
            let _ = writeln!(err, "vaquita: {why}");
            2
        }
    }
}

/// Says that a server has the files open, if one does.
fn tell_of_use(path: &Path, err: &mut dyn Write) {
    if let Some(note) = in_use::note(path) {
        let _ = writeln!(err, "vaquita: {note}");
    }
}

/// A reader that closes its end of a pipe has seen enough: that is no failure.
fn until_closed(written: io::Result<bool>) -> Result<bool, Failure> {
    match written {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        other => Ok(other?),
    }
}

fn inspect_command(args: &InspectArgs, out: &mut dyn Write) -> Result<bool, Failure> {
    let view = match &args.what {
        None => inspect::View::Summary,
        Some(What::Page { number }) => inspect::View::Page(*number),
        Some(What::Records { number }) => inspect::View::Records(*number),
        Some(What::Tree) => inspect::View::Tree,
        Some(What::Extents) => inspect::View::Extents,
        Some(What::Log { dir }) => inspect::View::Log(dir.clone()),
    };
    match inspect::inspect(&args.path, &view, out) {
        Err(InspectError::Output(e)) => until_closed(Err(e)),
        shown => Ok(shown?),
    }
}

fn check_command(args: &CheckArgs, out: &mut dyn Write) -> Result<bool, Failure> {
    let sql = args.sql.as_deref().map(TableTexts::read).transpose().map_err(Failure)?;
    match check_path(&args.path, sql.as_ref(), out) {
        Err(CheckError::Output(e)) => until_closed(Err(e)),
        checked => Ok(checked?),
    }
}

fn dump_command(args: &DumpArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<bool, Failure> {
    let name = args.file.display();
    let src = SpaceFile::open_with_followers(&args.file).map_err(|e| Failure(format!("{name}: {e}")))?;
    let table = table_to_dump(args, &src).map_err(|Failure(why)| Failure(format!("{name}: {why}")))?;
    let format = match args.format {
        FormatArg::Tsv => Format::Tsv,
        FormatArg::Csv => Format::Csv,
        FormatArg::Json => Format::Json,
        FormatArg::Sql => Format::Sql,
    };
    if let Some(frm) = table.frm.as_ref().filter(|f| format == Format::Sql && !f.extras.left_out.is_empty()) {
        let left_out: Vec<&str> = frm.extras.left_out.iter().copied().collect();
        let (maker, what) = (frm.maker(), left_out.join(", "));
        writeln!(err, "{name}: made by {maker}; the CREATE TABLE leaves out: {what}")?;
    }
    let options = DumpOptions { format, deleted: args.deleted, damaged_pages: args.damaged_pages };
    let mut progress = Progress::new(format!("dump {}", table.name), u64::from(src.n_pages()));
    let outcome = match dump_table(&src, &table, options, out, &mut progress) {
        Ok(outcome) => outcome,
        Err(e) => return until_closed(Err(e)),
    };
    drop(progress);
    for finding in outcome.report.findings() {
        writeln!(err, "{name}: {finding}")?;
    }
    if !outcome.report.is_clean() {
        let (n, rows) = (outcome.report.count(), outcome.rows);
        writeln!(err, "{name}: {n} faults; {rows} rows written")?;
    }
    Ok(outcome.report.is_clean())
}

fn table_to_dump(args: &DumpArgs, src: &SpaceFile) -> Result<TableInfo, Failure> {
    let is_system = args.file.file_name().is_some_and(|n| n.to_string_lossy().starts_with("ibdata"));
    if is_system || args.table.is_some() {
        let dictionary = Dictionary::read(src, &mut Report::new());
        let core = if dictionary.tables.is_empty() { Vec::new() } else { core_tables(src) };
        let inside = || core.iter().chain(dictionary.in_space(SpaceId::SYSTEM));
        let is_named = |table: &DictTable, name: &str| {
            let plain = table.name.split('/').map(|part| decode(part).unwrap_or_else(|| part.to_owned()));
            table.name == name || plain.collect::<Vec<_>>().join("/") == name
        };
        let wanted = args.table.as_deref().and_then(|name| inside().find(|t| is_named(t, name)));
        let Some(entry) = wanted else {
            let names: Vec<&str> = inside().map(|t| t.name.as_str()).collect();
            return Err(Failure(format!(
                "name a table of this tablespace with --table: {}",
                names.join(", ")
            )));
        };
        return Ok(table_of_dictionary(src, entry, args.frm.as_ref())?);
    }
    // Files that are named are used alone; else both are looked for.
    let files = if args.cfg.is_some() || args.frm.is_some() || args.sql.is_some() {
        let sql = args.sql.as_deref().map(TableTexts::read).transpose().map_err(Failure)?;
        MetadataFiles { cfg: args.cfg.clone(), frm: args.frm.clone(), sql }
    } else {
        MetadataFiles::beside(&args.file)
    };
    Ok(table_of(src, &args.file, &files)?)
}
