//! Zabbix: its schema of some 170 tables, its data, and its server at work.

use crate::debian::{self, Debian};
use crate::{Application, Extent, Failure, Stage};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use vaquita_peers::Flavour;

/// Zabbix of Debian's package, on the C client library. It wants a server later than MySQL 5.6.
pub const ZABBIX: Application = Application { name: "zabbix", peer: Flavour::MariaDb, settings: &[], play };

/// How long its server may take to write what it measures about itself.
const PATIENCE: Duration = Duration::from_secs(120);

fn play(stage: &Stage) -> Result<String, Failure> {
    let debian = debian::install()?;
    stage.create_database("zabbix", "utf8mb4 collate utf8mb4_bin")?;
    let files: &[&str] = match stage.extent {
        Extent::Short => &["schema"],
        Extent::Long => &["schema", "images", "data"],
    };
    for name in files {
        let packed = debian.path(&format!("usr/share/zabbix-server-mysql/{name}.sql.gz"));
        let file = stage.scratch.join(format!("{name}.sql"));
        let unpacked =
            Command::new("gzip").arg("-dc").arg(packed).stdout(fs::File::create(&file)?).status()?;
        if !unpacked.success() {
            return Err(Failure(format!("gzip of {name} failed")));
        }
        stage.source("zabbix", &file)?;
    }
    let mut said = definitions(stage)?;
    if stage.extent == Extent::Long {
        said += &serve(stage, &debian)?;
    }
    Ok(said)
}

/// Columns, keys and foreign keys, and how many rows there are.
fn definitions(stage: &Stage) -> Result<String, Failure> {
    let mine = "table_schema = 'zabbix' order by 1, 2, 3, 4";
    let keys = "select table_name, index_name, seq_in_index, column_name, sub_part, non_unique from information_schema.statistics where";
    let foreign = "select table_name, constraint_name, ordinal_position, column_name, referenced_table_name, referenced_column_name \
                   from information_schema.key_column_usage where";
    let columns = "select table_name, ordinal_position, column_name, is_nullable, data_type, character_maximum_length, collation_name \
                   from information_schema.columns where";
    let mut said = String::new();
    for query in [columns, keys, foreign] {
        said += &stage.sql(&format!("{query} {mine}"))?;
    }
    let counts = stage.sql(
        "select concat('select ''', table_name, ''', count(*) from zabbix.`', table_name, '`;') from \
                            information_schema.tables where table_schema = 'zabbix' order by table_name",
    )?;
    let counts: String = counts.lines().skip(1).collect();
    Ok(said + &stage.sql(&counts)?)
}

/// A port that nobody listens at, of those that Zabbix takes: 1024 to 32767.
fn free_port() -> Result<u16, Failure> {
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (first..first + 1_000).find(is_free).ok_or_else(|| Failure("no port is free".to_owned()))
}

/// The server starts, measures itself, writes history, and ends.
fn serve(stage: &Stage, debian: &Debian) -> Result<String, Failure> {
    let folder = stage.scratch.display();
    let port = free_port()?;
    let settings = format!(
        "LogType=console\nPidFile={folder}/pid\nSocketDir={folder}\nTmpDir={folder}\nDBHost=127.0.0.1\nDBPort={}\nDBName=zabbix\n\
         DBUser={}\nDBPassword={}\nListenPort={port}\nListenIP=127.0.0.1\nAllowRoot=1\nAllowUnsupportedDBVersions=1\n\
         FpingLocation=/bin/true\nCacheSize=8M\nStartPollers=1\nStartTrappers=1\n",
        stage.host.port,
        Stage::USER,
        Stage::PASSWORD
    );
    let file = stage.scratch.join("zabbix_server.conf");
    fs::write(&file, settings)?;
    let log_file = stage.scratch.join("zabbix_server.log");
    let log = || fs::read_to_string(&log_file).unwrap_or_default();
    let out = fs::File::create(&log_file)?;
    let mut command = debian.command("usr/sbin/zabbix_server");
    command.arg("-f").arg("-c").arg(&file).stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
    let mut server = command.spawn()?;
    let begun = Instant::now();
    let written = loop {
        let rows = stage.sql(
            "select (select count(*) from zabbix.history) + (select count(*) from zabbix.history_uint) > 20",
        )?;
        if rows.ends_with("1\n") {
            break true;
        }
        if begun.elapsed() > PATIENCE || server.try_wait()?.is_some() {
            break false;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    Command::new("sh").args(["-c", "kill -TERM \"$1\"", "stop", &server.id().to_string()]).status()?;
    server.wait()?;
    let log = log();
    if !written || log.contains("query failed") || !log.contains("Zabbix Server stopped") {
        return Err(Failure(format!("on {}: zabbix_server:\n{log}", stage.host.name)));
    }
    stage.sql("use zabbix; select name, status from ha_node; select count(*) > 0 from items join item_rtdata using (itemid)")
}
