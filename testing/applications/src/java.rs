//! Java programs of Maven Central: Flyway and Liquibase, called as their own command lines do.

use crate::{Application, Failure, Stage, install_into};
use std::path::{Path, PathBuf};
use std::process::Command;
use vaquita_peers::Flavour;

/// Raise the number when `programs/java/pom.xml` changes: the folder is then made anew.
const FOLDER: &str = "applications-java-1";

/// Flyway: migrations with views, procedures, triggers and DELIMITER, two at once, one that fails, repair, clean, baseline; what
/// JDBC tells of the schema. Its free edition takes no server below 8.0.
pub const FLYWAY: Application = Application {
    name: "flyway",
    peer: Flavour::MariaDb,
    settings: &[("version", "8.0.36"), ("default_time_zone", "+00:00")],
    play: flyway,
};

/// Liquibase: update, status, diff of two schemas, a changelog made from a schema, rollback to a tag and by count, drop-all. Its
/// queries of `information_schema` are none for ONLY_FULL_GROUP_BY.
pub const LIQUIBASE: Application = Application {
    name: "liquibase",
    peer: Flavour::Mysql56,
    settings: &[
        ("sql_mode", "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE"),
        ("default_time_zone", "+00:00"),
    ],
    play: liquibase,
};

/// Fetches what is missing.
///
/// # Errors
/// Maven does not answer, or is not on the machine: with the output of the command that failed.
pub fn install() -> Result<PathBuf, Failure> {
    install_into(FOLDER, |into| {
        let mut maven = Command::new("mvn");
        maven.args(["--quiet", "--batch-mode", "dependency:copy-dependencies", "-f"]);
        maven.arg(programs().join("pom.xml")).arg(format!("-DoutputDirectory={}", into.display()));
        crate::run(&mut maven)
    })
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/java")
}

fn flyway(stage: &Stage) -> Result<String, Failure> {
    play(stage, "FlywayPlay.java", "flyway")
}

fn liquibase(stage: &Stage) -> Result<String, Failure> {
    play(stage, "LiquibasePlay.java", "liquibase")
}

fn play(stage: &Stage, program: &str, migrations: &str) -> Result<String, Failure> {
    let libraries = install()?.join("*");
    let mut java = Command::new("java");
    java.env("TZ", "UTC").arg("-cp").arg(libraries).arg(programs().join(program));
    java.arg(stage.host.port.to_string())
        .arg(programs().join(migrations))
        .args([Stage::USER, Stage::PASSWORD]);
    stage.run(&mut java)
}
