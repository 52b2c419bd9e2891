//! MediaWiki: its installer, edits, moves, deletions, blocks, lists, its jobs and maintenance scripts.
//!
//! Its tables are made from its own file before the installer runs, which finds them and goes on, as its manual has it:
//! without the two FULLTEXT indexes of `searchindex`, which Vaquita does not have. Search is switched off in its settings.

use crate::debian::{self, Debian};
use crate::{Application, Extent, Failure, Stage};
use std::fs;
use std::process::Command;
use vaquita_peers::Flavour;

/// MediaWiki of Debian's package, on PHP's `mysqli`. It wants a server later than MySQL 5.6.
pub const MEDIAWIKI: Application =
    Application { name: "mediawiki", peer: Flavour::MariaDb, settings: &[], play };

const SETTINGS: &str = "
$wgDisableTextSearch = true;
$wgDisableSearchUpdate = true;
$wgJobRunRate = 0;
$wgMainCacheType = CACHE_DB;
";

fn play(stage: &Stage) -> Result<String, Failure> {
    let debian = debian::install()?;
    let wiki = debian.path("usr/share/mediawiki");
    stage.create_database("wiki", "binary")?;
    tables(stage, &debian)?;
    let mut installer = script(&debian, stage, "install.php");
    installer.arg("--dbserver").arg(format!("127.0.0.1:{}", stage.host.port));
    installer.args(["--dbname", "wiki", "--dbuser", Stage::USER, "--dbpass", Stage::PASSWORD]);
    installer.args(["--installdbuser", Stage::USER, "--installdbpass", Stage::PASSWORD]);
    installer.args(["--server", "http://localhost", "--scriptpath", "", "--lang", "en"]);
    installer.arg("--confpath").arg(&stage.scratch).args(["--pass", "a long password", "Wiki", "Admin"]);
    let mut said = stage.run(installer.env_remove("MW_CONFIG_FILE"))?;
    let settings = stage.scratch.join("LocalSettings.php");
    fs::write(&settings, fs::read_to_string(&settings)? + SETTINGS)?;
    let mut php = debian.php();
    php.arg(debian::script("php/mediawiki.php")).arg(&wiki).arg(stage.extent.word());
    said += &stage.run(php.env("MW_INSTALL_PATH", &wiki).env("MW_CONFIG_FILE", &settings))?;
    said += &maintenance(stage, &debian)?;
    Ok(said)
}

/// MediaWiki's own tables, without indexes that are not there yet.
fn tables(stage: &Stage, debian: &Debian) -> Result<(), Failure> {
    let written = fs::read_to_string(debian.path("usr/share/mediawiki/maintenance/tables-generated.sql"))?;
    let mut text = written.replace("/*_*/", "").replace("/*i*/", "");
    text = text.replace("/*$wgDBTableOptions*/", "ENGINE=InnoDB, DEFAULT CHARSET=binary");
    for column in ["si_title", "si_text"] {
        let index = format!("FULLTEXT INDEX {column} ({column})");
        if !text.contains(&index) {
            return Err(Failure(format!("MediaWiki's tables have no {index}")));
        }
        let before = text[..text.find(&index).unwrap_or(0)].trim_end().trim_end_matches(',').len();
        let behind = text.find(&index).unwrap_or(0) + index.len();
        text.replace_range(before..behind, "");
    }
    let file = stage.scratch.join("tables.sql");
    fs::write(&file, text)?;
    stage.source("wiki", &file).map(drop)
}

/// One of MediaWiki's maintenance scripts.
fn script(debian: &Debian, stage: &Stage, name: &str) -> Command {
    let wiki = debian.path("usr/share/mediawiki");
    let mut php = debian.php();
    php.arg(wiki.join("maintenance").join(name)).env("MW_INSTALL_PATH", &wiki);
    php.env("MW_CONFIG_FILE", stage.scratch.join("LocalSettings.php"));
    php
}

/// Scripts that go through all tables. What they print says how long they took.
fn maintenance(stage: &Stage, debian: &Debian) -> Result<String, Failure> {
    let long: &[&[&str]] = &[
        &["update.php", "--quick"],
        &["rebuildrecentchanges.php"],
        &["refreshLinks.php"],
        &["initSiteStats.php", "--update"],
        &["recountCategories.php", "--mode=pages"],
        &["rebuildImages.php"],
        &["cleanupTitles.php"],
        &["deleteArchivedRevisions.php", "--delete"],
        &["namespaceDupes.php"],
        &["purgeExpiredUserrights.php"],
    ];
    let scripts = match stage.extent {
        Extent::Short => &[],
        Extent::Long => long,
    };
    for arguments in scripts {
        stage.run(script(debian, stage, arguments[0]).args(&arguments[1..]))?;
    }
    stage.run(script(debian, stage, "runJobs.php").arg("--maxjobs=1000"))?;
    let counted = [
        "page",
        "revision",
        "text",
        "archive",
        "categorylinks",
        "pagelinks",
        "templatelinks",
        "recentchanges",
    ];
    let queries: Vec<String> =
        counted.iter().map(|table| format!("select '{table}', count(*) from {table}")).collect();
    let texts = "select md5(group_concat(old_text order by old_id)) from text";
    stage.sql(&format!("use wiki; set group_concat_max_len = 100000000; {}; {texts}", queries.join("; ")))
}
