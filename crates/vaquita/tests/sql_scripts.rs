//! The scripts of `tests/sql`: what Vaquita answers is what MySQL 5.6.24 answered when the `.result` beside each was
//! recorded. `VAQUITA_RECORD=mysql://root@127.0.0.1:PORT cargo test -p vaquita --test clients sql_scripts` records them anew from
//! a server that runs there.

use crate::transcript;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

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
///
/// `$FILES` stands for the folder of the script's files, `$OUT` for an empty one that the server may write to.
fn play(target: &str, name: &str) -> String {
    let script = fs::read_to_string(folder().join(format!("{name}.sql"))).expect("the script");
    let files = folder().canonicalize().expect("the folder").join(name).display().to_string();
    static PLAYS: AtomicUsize = AtomicUsize::new(0);
    let play = PLAYS.fetch_add(1, Ordering::Relaxed);
    let written = std::env::temp_dir().join(format!("vaquita-sql-out-{}-{play}", std::process::id()));
    fs::create_dir_all(&written).expect("a scratch folder");
    let out_files = written.display().to_string();
    let script = script.replace("$FILES", &files).replace("$OUT", &out_files);
    let text = preamble(name) + "select 'begin';\n" + &script;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut arguments = vec!["vaquita", "sql", target, "--transcript", "--execute", &text];
    if !target.starts_with("mysql://") {
        // As on the recorded server.
        arguments.extend(["--set", "secure_file_priv="]);
    }
    let arguments = arguments.into_iter().map(Into::into);
    let code = vaquita::cli::run_code(arguments, &mut out, &mut err);
    fs::remove_dir_all(&written).expect("removing the scratch folder");
    let (out, err) = (String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
    assert_eq!((code, err.as_ref()), (0, ""), "{name} on {target}: {out}");
    let begin = "> select 'begin'\nbegin\nbegin\n= 1 row\n";
    let (_, transcript) =
        out.split_once(begin).unwrap_or_else(|| panic!("{name}: the preamble failed:\n{out}"));
    transcript.replace(&files, "$FILES").replace(&out_files, "$OUT")
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
    compare(name, &got);
}

fn compare(name: &str, got: &str) {
    let wanted = fs::read_to_string(folder().join(format!("{name}.result"))).expect("the recording");
    let (got, wanted) = (transcript::steps(got), transcript::steps(&wanted));
    let mut differing = String::new();
    for (got, wanted) in got.iter().zip(&wanted).filter(|(got, wanted)| got != wanted) {
        write!(differing, "--- MySQL\n{wanted}\n--- Vaquita\n{got}\n\n").expect("writing to a string");
    }
    assert!(differing.is_empty(), "{name}: other answers than MySQL's:\n{differing}");
    assert_eq!(got.len(), wanted.len(), "{name}: number of statements");
}

/// Files of the client over the wire, as from the library's own process.
#[test]
fn load_data_over_the_wire() {
    if std::env::var("VAQUITA_RECORD").is_ok() {
        return;
    }
    let dir = std::env::temp_dir().join(format!("vaquita-sql-wire-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("a scratch folder");
    let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
    let server = vaquita_clients::Vaquita::start(binary, &dir.join("data"), &["--secure_file_priv="])
        .expect("a server");
    compare("load_data", &play(&format!("mysql://root@127.0.0.1:{}", server.port()), "load_data"));
    drop(server);
    fs::remove_dir_all(&dir).expect("removing the scratch folder");
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
scripts!(
    access_paths alter_copy alter_foreign_keys alter_metadata auto_increment_duplicates bits characters charset_mix_functions charsets checks ciphers
    commits_in_functions comparisons convert_charset data_directory dates_whole default_expressions definitions definitions_more
    definitions_of_parameters delete_targets derived_tables dml equal_columns events flush_export foreign_key_names foreign_keys fulltext_found
    fulltext_hints fulltext_joints fulltext_keys fulltext_loaded fulltext_stopwords fulltext_tables functions generated_columns generated_keys
    handler_counters having having_names in_lists_of_texts invisible joins kill load_data lock_tables locked_definitions names_in_charsets names_taken
    operands_null partition_exchange partition_maintenance partitions partitions_altered prepared_limits program_calls program_conditions
    program_control program_cursor_errors program_diagnostics program_errors program_functions program_handlers program_tables program_values
    row_subqueries select_aliases select_basics set_operations set_scopes show_create temporary temporary_same_name timestamps
    transaction_characteristics transactions trigger_warnings triggers_definers triggers_definitions triggers_effects triggers_rows triggers_warnings
    types union_order variables views views_merged views_of_tables views_written windows with_tables
);
