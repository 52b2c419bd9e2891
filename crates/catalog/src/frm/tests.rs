use super::*;
use std::path::{Path, PathBuf};
use vaquita_engine::lower::filename::TableFile;

fn fixture_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/mysql56")
}

fn parsed(path: &Path) -> Frm {
    let bytes = std::fs::read(path).unwrap();
    Frm::parse(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A file of those that the format is tested with.
fn of_format(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/src/frm/testdata").join(name)
}

/// Base names of all fixture tables.
fn tables() -> Vec<String> {
    let names = std::fs::read_dir(fixture_dir()).unwrap().map(|e| e.unwrap().file_name());
    let tables = names.filter_map(|n| n.to_str().and_then(|n| n.strip_suffix(".frm")).map(String::from));
    let tables: Vec<String> = tables.collect();
    assert_eq!(tables.len(), 29, "fixture tables");
    tables
}

/// What the server that wrote the files said of them.
#[test]
fn statements_equal_show_create_table() {
    for table in tables() {
        let frm = parsed(&fixture_dir().join(format!("{table}.frm")));
        let name = TableFile::parse(&table).table;
        let file = if table.starts_with("defaults") { "defaults_e_1" } else { &table };
        let expected = std::fs::read_to_string(fixture_dir().join(format!("{file}.create.sql"))).unwrap();
        let next = expected
            .split_once(" AUTO_INCREMENT=")
            .map_or(0, |(_, rest)| rest.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0));
        let shown = show_create_frm(&frm, &name, next).unwrap();
        // Not in the .frm: foreign keys (lines of their own) and the data directory.
        let expected: Vec<&str> = expected.trim_end().trim_end_matches(';').lines().collect();
        let lines: Vec<&str> =
            expected.iter().copied().filter(|l| !l.trim_start().starts_with("CONSTRAINT")).collect();
        let shown: Vec<&str> = shown.lines().collect();
        assert_eq!(shown.len(), lines.len(), "{table}");
        for (a, b) in shown.iter().zip(&lines) {
            let b = b.split(" DATA DIRECTORY=").next().unwrap();
            let foreign = lines.len() != expected.len();
            let same = if foreign { a.trim_end_matches(',') == b.trim_end_matches(',') } else { *a == b };
            assert!(same, "{table}\n{a}\n{b}");
        }
    }
}

/// A table with every attribute the fixtures lack, made by a real MySQL 5.6.24; its SHOW CREATE TABLE is beside it.
#[test]
fn every_attribute() {
    let frm = parsed(&of_format("everything.frm"));
    let expected = std::fs::read_to_string(of_format("everything.sql")).unwrap();
    assert_eq!(show_create_frm(&frm, "h1", 0).unwrap(), expected.trim_end());
}

/// CHAR without VARCHAR: the older form of the file.
#[test]
fn old_form() {
    let shown = show_create_frm(&parsed(&of_format("old_format.frm")), "h2", 0).unwrap();
    assert!(shown.contains("`c` char(200) DEFAULT 'q'"), "{shown}");
}

/// Labels of bytes: their type has no name of its own.
#[test]
fn labels_of_bytes() {
    let mut frm = parsed(&of_format("everything.frm"));
    let column = frm.columns.iter().position(|c| !c.labels.is_empty()).unwrap();
    frm.columns[column].collation = 63;
    let shown = show_create_frm(&frm, "h1", 0).unwrap();
    let line = shown.lines().nth(1 + column).unwrap();
    assert!(line.contains(") CHARACTER SET binary "), "{line}");
}

/// A column of a type that nobody knows is refused, not guessed.
#[test]
fn unknown_types() {
    let mut frm = parsed(&of_format("everything.frm"));
    frm.columns[0].type_code = 200;
    assert!(show_create_frm(&frm, "h1", 0).is_err());
}
