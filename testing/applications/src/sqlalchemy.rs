//! SQLAlchemy's own tests, of whatever a database answers.

use crate::judged::{Known, judge};
use crate::python::{SQLALCHEMY, install, python};
use crate::{Application, Extent, Failure, Stage};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use vaquita_peers::Flavour;

/// SQLAlchemy's tests of whatever a database answers, on PyMySQL.
pub const SQLALCHEMY_SUITE: Application =
    Application { name: "sqlalchemy", peer: Flavour::Mysql56, settings: &[("sql_mode", MODE)], play };
const MODE: &str =
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO";

fn play(stage: &Stage) -> Result<String, Failure> {
    stage.sql(
        "create database if not exists test; alter database test default character set utf8mb4;
         create database test_schema default character set utf8mb4",
    )?;
    let folder = install()?.join(SQLALCHEMY);
    let files: Vec<String> = match stage.extent {
        Extent::Short => vec!["test/dialect/mysql".to_owned()],
        Extent::Long => test_files(&folder)?,
    };
    let (mut ran, mut failed, mut said) = (0, BTreeSet::new(), String::new());
    for part in files.chunks(24) {
        let mut tests = python(stage, &[folder.join("lib")])?;
        let address = format!(
            "mysql+pymysql://{}:se%20cret@127.0.0.1:{}/test?charset=utf8mb4",
            Stage::USER,
            stage.host.port
        );
        tests
            .args(["-m", "pytest", "-p", "no:cacheprovider", "-q", "--maxfail=100000", "--rootdir"])
            .arg(&folder);
        tests.arg("-c").arg(folder.join("pyproject.toml"));
        // The files first: beside them is what knows the options.
        tests.args(part.iter().map(|file| folder.join(file)));
        tests.args(["--dburi", &address, "--backend-only", "-rfE"]);
        let ended = stage.finish(&mut tests, None)?;
        let lines = || ended.out.lines();
        let Some(count) = lines().rev().find_map(passed) else {
            return Err(Failure(format!(
                "on {}: {part:?} ran no test:\n{}{}",
                stage.host.name, ended.out, ended.err
            )));
        };
        ran += count;
        for kind in ["FAILED ", "ERROR "] {
            failed.extend(lines().filter_map(|line| line.strip_prefix(kind)).map(node_name));
        }
        said += &ended.out;
    }
    judge(stage, SQLALCHEMY_KNOWN, &failed, &said)?;
    // How many are left out depends on the version that the server says it is.
    if ran == 0 {
        Err(Failure("no test passed".to_owned()))
    } else {
        Ok("passed but for what is known\n".to_owned())
    }
}

/// `584 passed, 16 skipped in 32.90s`, or that nothing of these files is for a database.
fn passed(line: &str) -> Option<u32> {
    if line.contains("deselected") && !line.contains("passed") && !line.contains("failed") {
        return Some(0);
    }
    let words: Vec<&str> =
        line.trim_matches(['=', ' ']).split([' ', ',']).filter(|word| !word.is_empty()).collect();
    words.windows(2).find(|pair| pair[1] == "passed").and_then(|pair| pair[0].parse().ok())
}

/// `test/a.py::Class_mysql+pymysql_5_7_44::test_x - why`, without the server's version.
fn node_name(line: &str) -> String {
    let node = line.split_once(" - ").map_or(line, |(node, _)| node);
    let node = node.find("test/").map_or(node, |at| &node[at..]);
    let parts: Vec<&str> =
        node.split("::").map(|part| part.split_once("_mysql+").map_or(part, |(class, _)| class)).collect();
    parts.join("::")
}

/// Files of tests that ask a database.
fn test_files(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![folder.join("test")];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if name.starts_with("test_") && name.ends_with(".py") {
                let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
                if text.contains("__backend__") || text.contains("__only_on__") {
                    files.push(path.strip_prefix(folder).unwrap_or(&path).display().to_string());
                }
            }
        }
    }
    files.sort();
    Ok(files)
}

const NEWER: &str =
    "the test wants an error where the version is 5.7; EXCEPT, INTERSECT and SKIP LOCKED are there";
const CHECKS: &str =
    "the test wants CHECK constraints without effect where the version is 5.7; they are enforced";
const NGRAM: &str = "WITH PARSER ngram is not there (1128)";
const NO_INDEX: &str =
    "MATCH without a FULLTEXT index, as MyISAM has it; the tables say MyISAM and are InnoDB (1191)";
const PARTITIONS: &str = "PARTITION BY is not there (1235)";
const OPTIONS: &str = "CONNECTION= of a table is refused (1235)";
const COMMENTS: &str = "comments keep characters of four bytes, which 5.6 makes question marks of";
const MYISAM: &str = "its tables say MyISAM and are InnoDB, so that their foreign keys keep rows from being deleted in that order";
const ZERO_DEFAULT: &str = "with explicit_defaults_for_timestamp it takes no TIMESTAMP NOT NULL without a default under NO_ZERO_DATE";
const FOREIGN_KEY_NAME: &str = "5.6 loses the name of a constraint that begins with `foreign`; here it stays";

/// Of 3,755 that pass on MySQL 5.6.24; 3,848 pass here.
#[rustfmt::skip]
const SQLALCHEMY_KNOWN: &[Known] = &[
    Known { on: "Mysql56", test: "test/dialect/mysql/test_reflection.py::ReflectionTest::test_nullable_reflection[ddl_columns2-expected_reflected2-_exclusions_02]", why: ZERO_DEFAULT },
    Known { on: "vaquita", test: "test/orm/test_eager_relations.py::InnerJoinSplicingWSecondarySelfRefTest::test_select[kind,common_nodes]", why: MYISAM },
    Known { on: "vaquita", test: "test/dialect/mysql/test_for_update.py::SkipLockedTest::test_unsupported_skip_locked", why: NEWER },
    Known { on: "vaquita", test: "test/dialect/mysql/test_query.py::MatchTest::test_and_match", why: NO_INDEX },
    Known { on: "vaquita", test: "test/dialect/mysql/test_query.py::MatchTest::test_match_across_joins", why: NO_INDEX },
    Known { on: "vaquita", test: "test/dialect/mysql/test_query.py::MatchTest::test_not_match", why: NO_INDEX },
    Known { on: "vaquita", test: "test/dialect/mysql/test_query.py::MatchTest::test_or_match", why: NO_INDEX },
    Known { on: "vaquita", test: "test/dialect/mysql/test_query.py::MatchTest::test_return_value", why: NO_INDEX },
    Known { on: "vaquita", test: "test/dialect/mysql/test_query.py::MatchTest::test_simple_match", why: NO_INDEX },
    Known { on: "vaquita", test: "test/dialect/mysql/test_query.py::MatchTest::test_simple_match_with_apostrophe", why: NO_INDEX },
    Known { on: "vaquita", test: "test/dialect/mysql/test_reflection.py::ReflectionTest::test_get_foreign_key_name_w_foreign_key_in_name", why: FOREIGN_KEY_NAME },
    Known { on: "vaquita", test: "test/dialect/mysql/test_reflection.py::ReflectionTest::test_reflect_comment_unicode", why: COMMENTS },
    Known { on: "vaquita", test: "test/dialect/mysql/test_reflection.py::ReflectionTest::test_reflect_fulltext_comment", why: NGRAM },
    Known { on: "vaquita", test: "test/dialect/mysql/test_reflection.py::ReflectionTest::test_reflection_with_partition_options", why: PARTITIONS },
    Known { on: "vaquita", test: "test/dialect/mysql/test_reflection.py::ReflectionTest::test_reflection_with_subpartition_options", why: PARTITIONS },
    Known { on: "vaquita", test: "test/dialect/mysql/test_reflection.py::ReflectionTest::test_reflection_with_subpartition_options_two", why: PARTITIONS },
    Known { on: "vaquita", test: "test/dialect/mysql/test_reflection.py::ReflectionTest::test_reflection_with_table_options", why: OPTIONS },
    Known { on: "vaquita", test: "test/sql/test_query.py::CompoundTest::test_composite_alias", why: NEWER },
    Known { on: "vaquita", test: "test/sql/test_query.py::CompoundTest::test_except_style1", why: NEWER },
    Known { on: "vaquita", test: "test/sql/test_query.py::CompoundTest::test_except_style2", why: NEWER },
    Known { on: "vaquita", test: "test/sql/test_query.py::CompoundTest::test_except_style3", why: NEWER },
    Known { on: "vaquita", test: "test/sql/test_query.py::CompoundTest::test_except_style4", why: NEWER },
    Known { on: "vaquita", test: "test/sql/test_query.py::CompoundTest::test_intersect", why: NEWER },
    Known { on: "vaquita", test: "test/sql/test_query.py::CompoundTest::test_intersect_unions", why: NEWER },
    Known { on: "vaquita", test: "test/sql/test_query.py::CompoundTest::test_intersect_unions_2", why: NEWER },
    Known { on: "vaquita", test: "test/sql/test_query.py::CompoundTest::test_intersect_unions_3", why: NEWER },
    Known { on: "vaquita", test: "test/sql/test_query.py::CompoundTest::test_union_all", why: NEWER },
    Known { on: "vaquita", test: "test/sql/test_types.py::BooleanTest::test_constraint", why: CHECKS },
    Known { on: "vaquita", test: "test/sql/test_types.py::EnumTest::test_check_constraint", why: CHECKS },
    Known { on: "vaquita", test: "test/sql/test_types.py::EnumTest::test_variant_default_is_not_schematype", why: CHECKS },
    Known { on: "vaquita", test: "test/sql/test_types.py::EnumTest::test_variant_we_are_default", why: CHECKS },
    Known { on: "vaquita", test: "test/sql/test_types.py::EnumTest::test_variant_we_are_not_default", why: CHECKS },
];
