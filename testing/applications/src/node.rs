//! Programs for Node of npm: knex, Sequelize and TypeORM, all on `mysql2`.

use crate::{Application, Failure, Stage, install_into};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use vaquita_peers::Flavour;

/// Raise the number when `programs/node/package.json` changes: the folder is then made anew.
const FOLDER: &str = "applications-node-1";

/// Migrations up and down, models, associations, transactions, and what each finds out about a schema.
pub const NODE: Application = Application { name: "node", peer: Flavour::MariaDb, settings: &[], play };

/// Fetches what is missing.
///
/// # Errors
/// npm does not answer, or is not on the machine: with the output of the command that failed.
pub fn install() -> Result<PathBuf, Failure> {
    install_into(FOLDER, |into| {
        for name in ["package.json", "package-lock.json"] {
            fs::copy(programs().join(name), into.join(name))?;
        }
        // Nothing is built, and no script of a package runs.
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(into);
        crate::run(&mut npm)
    })
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/node")
}

fn play(stage: &Stage) -> Result<String, Failure> {
    // Modules are looked for above the program.
    let folder = stage.scratch.join("node");
    fs::create_dir_all(&folder)?;
    std::os::unix::fs::symlink(install()?.join("node_modules"), folder.join("node_modules"))?;
    let program = folder.join("play.mjs");
    fs::copy(programs().join("play.mjs"), &program)?;
    let mut node = Command::new("node");
    node.arg(program).args([stage.host.port.to_string().as_str(), Stage::USER, Stage::PASSWORD]);
    stage.run(&mut node)
}
