//! Django's own tests, of whatever uses a database.

use crate::judged::{Known, judge};
use crate::python::{DJANGO, install, python};
use crate::{Application, Extent, Failure, Stage};
use std::collections::BTreeSet;
use std::path::Path;
use vaquita_peers::{Flavour, Paths};

/// Django's tests of whatever uses a database.
pub const DJANGO_SUITE: Application =
    Application { name: "django", peer: Flavour::MariaDb, settings: &[], play };

fn play(stage: &Stage) -> Result<String, Failure> {
    stage.sql("create database django_default; create database django_other")?;
    if stage.extent == Extent::Long {
        load_time_zones(stage)?;
    }
    let folder = install()?.join(DJANGO);
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/python");
    let (mut told, mut failed, mut said) = (String::new(), BTreeSet::new(), String::new());
    let lists: Vec<Vec<&str>> = match stage.extent {
        Extent::Short => vec![DJANGO_SHORT.split_whitespace().collect()],
        // In parts, as no program may run for long.
        Extent::Long => {
            let all: Vec<&str> =
                include_str!("../programs/python/django_apps.txt").split_whitespace().collect();
            all.chunks(12).map(<[&str]>::to_vec).collect()
        }
    };
    for apps in lists {
        let mut tests = python(stage, &[folder.clone(), settings.clone()])?;
        tests.arg(folder.join("tests/runtests.py")).args([
            "--settings=vaquita_django",
            "--noinput",
            "--parallel=1",
        ]);
        let ended = stage.finish(tests.args(&apps), None)?;
        let ran = ended
            .err
            .lines()
            .find(|line| line.starts_with("Ran "))
            .and_then(|line| line.split(" in ").next());
        let Some(ran) = ran else {
            return Err(Failure(format!(
                "on {}: {apps:?} ran no test:\n{}{}",
                stage.host.name, ended.out, ended.err
            )));
        };
        told += &format!("{ran}: {}\n", apps.join(" "));
        for kind in ["FAIL: ", "ERROR: ", "UNEXPECTED SUCCESS: "] {
            failed.extend(ended.err.lines().filter_map(|line| line.strip_prefix(kind)).map(test_name));
        }
        said += &ended.err;
    }
    judge(stage, DJANGO_KNOWN, &failed, &said)?;
    Ok(told)
}

/// The names of time zones, if the server has none: Django's tests want them.
fn load_time_zones(stage: &Stage) -> Result<(), Failure> {
    let zones = Path::new("/usr/share/zoneinfo");
    let there = stage.sql("select convert_tz('2020-07-01', 'UTC', 'Europe/Berlin') is null as missing")?;
    if there.trim_end().ends_with('0') || !zones.exists() {
        return Ok(());
    }
    let file = stage.scratch.join("zones.sql");
    std::fs::write(
        &file,
        stage.run(Paths::installed()?.command("usr/bin/mariadb-tzinfo-to-sql").arg(zones))?,
    )?;
    stage.source("mysql", &file).map(drop)
}

/// `test_x (app.tests.Class.test_x)` names a test twice.
fn test_name(line: &str) -> String {
    let inner = line.split_once(" (").map_or(line, |(_, path)| path);
    inner.split_once(')').map_or(inner, |(path, _)| path).to_owned()
}

/// What of Django is played every day.
const DJANGO_SHORT: &str = "basic transactions introspection select_for_update get_or_create backends";

const MARIADB_JSON: &str = "JSON is text there, and newer than this Django in how it is compared";

/// Of 7,780 tests.
#[rustfmt::skip]
const DJANGO_KNOWN: &[Known] = &[
    Known {
        on: "vaquita",
        test: "backends.mysql.test_introspection.StorageEngineTests.test_get_storage_engine",
        why: "a table of MyISAM is one of InnoDB, with warning 1266",
    },
    Known { on: "MariaDb", test: "model_fields.test_jsonfield.TestQuerying.test_deep_lookup_mixed", why: MARIADB_JSON },
    Known { on: "MariaDb", test: "model_fields.test_jsonfield.TestQuerying.test_deep_lookup_objs", why: MARIADB_JSON },
    Known { on: "MariaDb", test: "model_fields.test_jsonfield.TestQuerying.test_key_quoted_string", why: MARIADB_JSON },
    Known { on: "MariaDb", test: "model_fields.test_jsonfield.TestQuerying.test_key_transform_raw_expression", why: MARIADB_JSON },
    Known { on: "MariaDb", test: "model_fields.test_jsonfield.TestQuerying.test_lookup_exclude", why: MARIADB_JSON },
    Known { on: "MariaDb", test: "model_fields.test_jsonfield.TestQuerying.test_lookup_exclude_nonexistent_key", why: MARIADB_JSON },
    Known { on: "MariaDb", test: "model_fields.test_jsonfield.TestQuerying.test_nested_key_transform_on_subquery", why: MARIADB_JSON },
    Known { on: "MariaDb", test: "model_fields.test_jsonfield.TestQuerying.test_nested_key_transform_raw_expression", why: MARIADB_JSON },
    Known { on: "MariaDb", test: "model_fields.test_jsonfield.TestQuerying.test_none_key_and_exact_lookup", why: MARIADB_JSON },
    Known { on: "MariaDb", test: "model_fields.test_jsonfield.TestQuerying.test_obj_subquery_lookup", why: MARIADB_JSON },
    Known { on: "MariaDb", test: "model_fields.test_jsonfield.TestQuerying.test_shallow_obj_lookup", why: MARIADB_JSON },
];
