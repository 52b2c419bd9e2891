//! The scripts of `tests/sql`: what Vaquita answers is what MySQL 5.6.24 answered when the `.result` beside each was
//! recorded. `VAQUITA_RECORD=mysql://root@127.0.0.1:PORT cargo test -p vaquita --test sql_scripts` records them anew from
//! a server that runs there.

#[path = "common/transcript.rs"]
mod transcript;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// What every script begins with. ONLY_FULL_GROUP_BY is left out: 5.6 knows no functional dependence.
fn preamble(name: &str) -> String {
    format!(
        "set sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
set names utf8mb4;
set time_zone = '+00:00';
drop database if exists sql_{name};
create database sql_{name} default character set utf8mb4;
use sql_{name};
"
    )
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql")
}

/// The transcript of a script on a folder or server, without that of the preamble.
fn play(target: &str, name: &str) -> String {
    let script = fs::read_to_string(folder().join(format!("{name}.sql"))).expect("the script");
    let text = preamble(name) + "select 'begin';\n" + &script;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments = ["vaquita", "sql", target, "--transcript", "--execute", &text].map(Into::into);
    let code = vaquita::cli::run_code(arguments, &mut out, &mut err);
    let (out, err) = (String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
    assert_eq!((code, err.as_ref()), (0, ""), "{name} on {target}: {out}");
    let begin = "> select 'begin'\nbegin\nbegin\n= 1 row\n";
    let (_, transcript) =
        out.split_once(begin).unwrap_or_else(|| panic!("{name}: the preamble failed:\n{out}"));
    transcript.to_owned()
}

fn script(name: &str) {
    let recorded = folder().join(format!("{name}.result"));
    if let Ok(server) = std::env::var("VAQUITA_RECORD") {
        fs::write(&recorded, play(&server, name)).expect("writing the recording");
        return;
    }
    let dir = std::env::temp_dir().join(format!("vaquita-sql-{name}-{}", std::process::id()));
    let got = play(&dir.display().to_string(), name);
    fs::remove_dir_all(&dir).expect("removing the scratch folder");
    let wanted = fs::read_to_string(&recorded).expect("the recording");
    let (got, wanted) = (transcript::steps(&got), transcript::steps(&wanted));
    let mut differing = String::new();
    for (got, wanted) in got.iter().zip(&wanted).filter(|(got, wanted)| got != wanted) {
        write!(differing, "--- MySQL\n{wanted}\n--- Vaquita\n{got}\n\n").expect("writing to a string");
    }
    assert!(differing.is_empty(), "{name}: other answers than MySQL's:\n{differing}");
    assert_eq!(got.len(), wanted.len(), "{name}: number of statements");
}

macro_rules! scripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            script(stringify!($name));
        })*

        #[test]
        fn every_script_is_played() {
            let names = [$(stringify!($name)),*];
            for entry in fs::read_dir(folder()).expect("the folder of scripts") {
                let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
                if let Some(name) = name.strip_suffix(".sql") {
                    assert!(names.contains(&name), "{name}.sql is played by no test");
                }
            }
        }
    };
}
scripts!(access_paths characters definitions dml functions joins select_basics transactions types);
