//! Dumps of a database with everything in it, and what travels between servers: `mysqldump` and mydumper.

use crate::{Application, Failure, Stage, debian};
use std::fs;
use std::path::Path;
use vaquita_peers::Flavour;

/// mysqldump with views, triggers, routines and events: there and back on the same server.
pub const MYSQLDUMP: Application =
    Application { name: "mysqldump", peer: Flavour::MariaDb, settings: &[], play: mysqldump };

/// The database on both servers; definitions, rows, what routines, triggers and views do.
pub const MUSEUM: Application =
    Application { name: "museum", peer: Flavour::Mysql56, settings: &[], play: museum };

fn make(stage: &Stage, database: &str) -> Result<(), Failure> {
    stage.create_database(database, "utf8")?;
    stage.source(database, &debian::script("sql/museum.sql")).map(drop)
}

/// What users see of it; nothing stays changed but what numbers AUTO_INCREMENT gives next.
fn look(stage: &Stage, database: &str) -> Result<String, Failure> {
    let mut client = stage.client("mariadb")?;
    client.args(["--force", database]);
    let ended = stage.finish(&mut client, Some(&debian::script("sql/museum-look.sql")))?;
    let errors = ended.err.lines().filter(|line| line.starts_with("ERROR"));
    Ok(ended.out.clone() + &errors.collect::<Vec<_>>().join("\n").replace(database, "DATABASE") + "\n")
}

/// Without the numbers that AUTO_INCREMENT is at.
fn definitions(stage: &Stage, database: &str) -> Result<String, Failure> {
    stage.sql(&format!("alter table `{database}`.work auto_increment = 50"))?;
    let text = stage.source(database, &debian::script("sql/museum-definitions.sql"))?;
    Ok(text.replace(database, "DATABASE"))
}

fn museum(stage: &Stage) -> Result<String, Failure> {
    make(stage, "museum")?;
    Ok(look(stage, "museum")? + &definitions(stage, "museum")?)
}

fn dump(stage: &Stage, database: &str) -> Result<String, Failure> {
    let mut command = stage.client("mariadb-dump")?;
    command.args([
        "--single-transaction",
        "--routines",
        "--triggers",
        "--events",
        "--hex-blob",
        "--skip-comments",
        database,
    ]);
    stage.run(&mut command)
}

fn mysqldump(stage: &Stage) -> Result<String, Failure> {
    make(stage, "museum")?;
    let before = look(stage, "museum")?;
    let first = dump(stage, "museum")?;
    let file = stage.scratch.join("museum.sql");
    fs::write(&file, &first)?;
    stage.create_database("again", "utf8")?;
    stage.source("again", &file)?;
    let again = dump(stage, "again")?;
    same(stage, "the dump of what a dump made", &again, &first)?;
    same(stage, "what users see", &look(stage, "again")?, &before)?;
    Ok("the same\n".to_owned())
}

fn same(stage: &Stage, what: &str, got: &str, wanted: &str) -> Result<(), Failure> {
    if got == wanted {
        return Ok(());
    }
    let first = got.lines().zip(wanted.lines()).find(|(got, wanted)| got != wanted);
    Err(Failure(format!("on {}: {what} differs: {first:?}\n{got}\n-- not\n{wanted}", stage.host.name)))
}

/// Dumps of Vaquita are taken in by a real server, and what mydumper takes from that comes back unchanged.
///
/// # Errors
/// Something is lost on the way, or a program failed.
pub fn travel(ours: &Stage, theirs: &Stage) -> Result<String, Failure> {
    make(ours, "museum")?;
    make(theirs, "museum")?;
    let (seen, defined) = (look(theirs, "museum")?, definitions(theirs, "museum")?);
    let file = ours.scratch.join("dump.sql");
    fs::write(&file, dump(ours, "museum")?)?;
    theirs.create_database("ours", "utf8")?;
    theirs.source("ours", &file)?;
    same(theirs, "what a dump of Vaquita made", &definitions(theirs, "ours")?, &defined)?;
    same(theirs, "what users see of it", &look(theirs, "ours")?, &seen)?;

    // mydumper's threads end at names with backquotes, on every server.
    for stage in [ours, theirs] {
        stage
            .sql("use museum; drop event `odd ``event`; drop view `odd ``view`; drop table `odd ``name ö`")?;
    }
    let first = mydumper(theirs, &theirs.scratch.join("first"))?;
    ours.create_database("museum", "utf8")?;
    myloader(ours, &theirs.scratch.join("first"))?;
    let second = mydumper(ours, &ours.scratch.join("second"))?;
    same(ours, "what mydumper takes from Vaquita", &second, &first)?;
    theirs.create_database("museum", "utf8")?;
    myloader(theirs, &ours.scratch.join("second"))?;
    let third = mydumper(theirs, &theirs.scratch.join("third"))?;
    same(theirs, "what mydumper takes at the end", &third, &first)?;
    Ok(first)
}

/// All files of a dump by mydumper but that of its times.
fn mydumper(stage: &Stage, folder: &Path) -> Result<String, Failure> {
    let debian = debian::install()?;
    let mut command = debian.command("usr/bin/mydumper");
    command.args([
        "-B",
        "museum",
        "--triggers",
        "--routines",
        "--events",
        "--trx-consistency-only",
        "-t",
        "3",
    ]);
    stage.run(login(stage, &mut command).arg("-o").arg(folder))?;
    let mut files: Vec<_> =
        fs::read_dir(folder)?.map(|file| file.map(|f| f.path())).collect::<Result<_, _>>()?;
    files.sort();
    let mut text = String::new();
    for file in files.iter().filter(|file| file.file_name().is_some_and(|name| name != "metadata")) {
        let name = file.file_name().unwrap_or_default().display();
        text += &format!("{name}\n{}", String::from_utf8_lossy(&fs::read(file)?));
    }
    Ok(text)
}

fn myloader(stage: &Stage, folder: &Path) -> Result<(), Failure> {
    let debian = debian::install()?;
    let mut command = debian.command("usr/bin/myloader");
    command.args(["-B", "museum", "--overwrite-tables", "-t", "2", "-d"]).arg(folder);
    let ended = stage.finish(login(stage, &mut command), None)?;
    if ended.success && !ended.err.contains("CRITICAL") {
        return Ok(());
    }
    Err(Failure(format!("on {}: myloader: {}{}", stage.host.name, ended.out, ended.err)))
}

fn login<'c>(stage: &Stage, command: &'c mut std::process::Command) -> &'c mut std::process::Command {
    command.args([
        "-h",
        "127.0.0.1",
        "-P",
        &stage.host.port.to_string(),
        "-u",
        Stage::USER,
        "-p",
        Stage::PASSWORD,
    ])
}
