//! Go programs of the module proxy: gorm, and the tests that go-sql-driver brings along.

use crate::judged::{Known, judge};
use crate::{Application, Failure, Stage, install_into};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use vaquita_peers::Flavour;

/// Raise the number when `programs/go` changes: the folder is then made anew.
const FOLDER: &str = "applications-go-1";

/// Gorm: migration, associations, hooks, transactions, upserts, batches, locks, and its migrator.
pub const GORM: Application = Application { name: "gorm", peer: Flavour::MariaDb, settings: &[], play: gorm };

/// The tests of `github.com/go-sql-driver/mysql`.
pub const GO_DRIVER: Application =
    Application { name: "go_driver", peer: Flavour::MariaDb, settings: &[], play: driver };

/// Builds what is missing.
///
/// # Errors
/// The module proxy does not answer, or Go is not on the machine: with the output of the command that failed.
pub fn install() -> Result<PathBuf, Failure> {
    install_into(FOLDER, |into| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/go");
        let mut build = Command::new("go");
        build.args(["build", "-o"]).arg(into.join("gorm")).arg(".").current_dir(&folder);
        crate::run(&mut build)?;
        let mut tests = Command::new("go");
        tests.args(["test", "-c", "-o"]).arg(into.join("driver")).arg("github.com/go-sql-driver/mysql");
        crate::run(tests.current_dir(&folder))
    })
}

fn gorm(stage: &Stage) -> Result<String, Failure> {
    let mut gorm = Command::new(install()?.join("gorm"));
    stage.run(gorm.args([stage.host.port.to_string().as_str(), Stage::USER, Stage::PASSWORD]))
}

fn driver(stage: &Stage) -> Result<String, Failure> {
    stage.sql("create database gotest")?;
    let mut tests = Command::new(install()?.join("driver"));
    // Whether a host that is not there refuses or says nothing is a matter of networks.
    tests.args(["-test.v", "-test.skip", "TestConnectorReturnsTimeout"]);
    tests.env("MYSQL_TEST_USER", Stage::USER).env("MYSQL_TEST_PASS", Stage::PASSWORD);
    tests.env("MYSQL_TEST_ADDR", format!("127.0.0.1:{}", stage.host.port)).env("MYSQL_TEST_CONCURRENT", "1");
    let ended = stage.finish(&mut tests, None)?;
    let results = || ended.out.lines().map(str::trim_start).filter_map(|line| line.strip_prefix("--- "));
    let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let failed: BTreeSet<String> =
        results().filter_map(|line| line.strip_prefix("FAIL: ")).map(name).collect();
    judge(stage, DRIVER_KNOWN, &failed, &format!("{}{}", ended.out, ended.err))?;
    // How many parts a test has depends on how far it comes.
    match results().count() {
        ran if ran < DRIVER_TESTS => {
            Err(Failure(format!("on {}: {ran} tests ran:\n{}{}", stage.host.name, ended.out, ended.err)))
        }
        _ => Ok("passed but for what is known\n".to_owned()),
    }
}

/// Tests, with their parts, that run at least.
const DRIVER_TESTS: usize = 360;

const DRIVER_KNOWN: &[Known] = &[
    Known {
        on: "both",
        test: "TestConnectionAttributes",
        why: "attributes of connections are told by performance_schema, which is not there, and off on the peer",
    },
    Known { on: "MariaDb", test: "TestIssue1567", why: "it waits for a thread that is gone already" },
    Known { on: "MariaDb", test: "TestIssue1567/default", why: "it waits for a thread that is gone already" },
];
