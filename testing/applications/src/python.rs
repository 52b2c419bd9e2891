//! Python programs of PyPI, as sources with their tests, on the drivers that are installed for [`vaquita_clients`].

use crate::{Failure, Stage, install_into};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Raise the number when the lists change: the folder is then made anew.
const FOLDER: &str = "applications-python-1";
pub(crate) const DJANGO: &str = "Django-4.1.13";
pub(crate) const SQLALCHEMY: &str = "sqlalchemy-2.0.36";
/// What the suites need besides the drivers, and what unpacks them.
const PACKAGES: [&str; 13] = [
    "setuptools==69.5.1",
    "wheel==0.44.0",
    "asgiref==3.8.1",
    "sqlparse==0.5.1",
    "tzdata==2024.1",
    "tblib==3.0.0",
    "Pillow==10.4.0",
    "PyYAML==6.0.2",
    "Jinja2==3.1.4",
    "pytz==2024.1",
    "pytest==8.3.3",
    "typing-extensions==4.12.2",
    "greenlet==3.1.1",
];

/// Fetches what is missing.
///
/// # Errors
/// PyPI does not answer: with the output of the command that failed.
pub fn install() -> Result<PathBuf, Failure> {
    let clients = vaquita_clients::install()?;
    install_into(FOLDER, |into| {
        let pip = |words: &[&str]| {
            let mut pip = clients.python();
            pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(words).current_dir(into);
            pip.env("PYTHONPATH", into.join("lib"));
            crate::run(&mut pip)
        };
        pip(&[&["install", "--target", "lib"], &PACKAGES[..]].concat())?;
        // The sources have the tests; what is built of them is thrown away.
        let source = ["download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--dest", "."];
        for (name, folder) in [("Django==4.1.13", DJANGO), ("SQLAlchemy==2.0.36", SQLALCHEMY)] {
            pip(&[&source[..], &[name]].concat())?;
            let archive = format!("{folder}.tar.gz");
            crate::run(Command::new("tar").args(["xzf", &archive]).current_dir(into))?;
            fs::remove_file(into.join(archive))?;
        }
        Ok(())
    })
}

/// Python with the installed packages and `more` where it looks for modules.
pub(crate) fn python(stage: &Stage, more: &[PathBuf]) -> Result<Command, Failure> {
    let mut python = vaquita_clients::install()?.python();
    let path: Vec<String> =
        [&[install()?.join("lib")], more].concat().iter().map(|path| path.display().to_string()).collect();
    python.env("PYTHONPATH", path.join(":")).env("PYTHONDONTWRITEBYTECODE", "1").args(["-W", "ignore"]);
    python.env("PLAY_PORT", stage.host.port.to_string());
    python.env("PLAY_USER", Stage::USER).env("PLAY_PASSWORD", Stage::PASSWORD);
    Ok(python)
}
