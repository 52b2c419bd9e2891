use super::*;
use crate::show_create::{Style, show_create};
use std::path::Path;
use vaquita_types::TimeZone;

fn described(table: &str) -> Result<Definition, Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/mysql56");
    let bytes = std::fs::read(path.join(format!("{table}.cfg"))).unwrap();
    Definition::of_cfg(&TableMeta::parse(&bytes).unwrap(), table)
}

/// What the server that wrote the files said of them, without what no `.cfg` tells.
#[test]
fn statements_are_those_of_the_server() {
    for table in ["child", "uniqclust", "nopk", "vkey", "tree", "empty", "parent", "datadir"] {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/mysql56");
        if !dir.join(format!("{table}.cfg")).exists() {
            continue;
        }
        let definition = described(table).unwrap_or_else(|e| panic!("{table}: {e:?}"));
        let shown = show_create(&definition, None, &TimeZone::UTC, Style::default());
        let server = std::fs::read_to_string(dir.join(format!("{table}.create.sql"))).unwrap();
        let columns = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| line.starts_with("  ") && !line.contains("CONSTRAINT"));
            // Without the table's own, which is not known.
            lines
                .map(|line| {
                    line.trim_end_matches(',')
                        .replace(" CHARACTER SET latin1", "")
                        .replace(" CHARACTER SET utf8", "")
                })
                .collect()
        };
        assert_eq!(columns(&shown), columns(&server), "{table}");
    }
}

#[test]
fn what_it_does_not_tell_is_named() {
    let missing = described("types_compact").unwrap_err();
    for what in [
        "the labels of column",
        "the digits of column",
        "the number of bits of column",
        "the fraction digits of column",
    ] {
        assert!(missing.iter().any(|said| said.starts_with(what)), "{what}: {missing:?}");
    }
}

/// Two columns can have AUTO_INCREMENT: which one has is not told.
#[test]
fn a_number_that_two_columns_may_have_is_not_guessed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/mysql56/child.cfg");
    let mut meta = TableMeta::parse(&std::fs::read(path).unwrap()).unwrap();
    assert!(Definition::of_cfg(&meta, "child").unwrap().columns[0].auto_increment);
    meta.autoinc = 0;
    assert!(!Definition::of_cfg(&meta, "child").unwrap().columns[0].auto_increment);
    meta.autoinc = 4;
    let pid = meta.columns.iter_mut().find(|c| c.column.name == "pid").unwrap();
    pid.column = pid.column.clone().not_null();
    let missing = Definition::of_cfg(&meta, "child").unwrap_err();
    assert_eq!(missing, ["the column that has AUTO_INCREMENT"]);
}
