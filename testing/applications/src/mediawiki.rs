//! MediaWiki: its installer, edits, moves, deletions, blocks, lists, search, its jobs and maintenance scripts.

use crate::debian::{self, Debian};
use crate::{Application, Extent, Failure, Stage};
use std::fs;
use std::process::Command;
use vaquita_peers::Flavour;

/// MediaWiki of Debian's package, on PHP's `mysqli`. It wants a server later than MySQL 5.6.
pub const MEDIAWIKI: Application =
    Application { name: "mediawiki", peer: Flavour::MariaDb, settings: &[], play };

const SETTINGS: &str = "
$wgJobRunRate = 0;
$wgMainCacheType = CACHE_DB;
";

fn play(stage: &Stage) -> Result<String, Failure> {
    let debian = debian::install()?;
    let wiki = debian.path("usr/share/mediawiki");
    stage.create_database("wiki", "binary")?;
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
        &["rebuildtextindex.php"],
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
