use super::*;
use crate::definition::{CheckDefinition, ColumnDefinition, Generated, TableOption};
use std::path::{Path, PathBuf};
use vaquita_engine::lower::RowFormat;
use vaquita_engine::lower::filename::TableFile;
use vaquita_engine::lower::frm::DeclaredFormat;
use vaquita_engine::table::DefaultValue;
use vaquita_types::{Kind, SqlType};

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

/// The definition of a file is written as that file.
#[test]
fn there_and_back() {
    let fixtures = tables().into_iter().map(|table| fixture_dir().join(format!("{table}.frm")));
    for path in fixtures.chain([of_format("everything.frm"), of_format("old_format.frm")]) {
        let bytes = std::fs::read(&path).unwrap();
        let mut frm = Frm::parse(&bytes).unwrap();
        let definition = Definition::of_frm(&frm, "t").unwrap();
        // Numbers have the default collation of the table, or latin1's: which one means nothing.
        for (column, defined) in frm.columns.iter_mut().zip(&definition.columns) {
            if defined.ty.is_number() || defined.ty.kind == Kind::Bit {
                column.collation = definition.collation;
            }
        }
        let again = definition.to_frm().unwrap_or_else(|e| panic!("{path:?}: {e}"));
        assert_eq!(again, frm, "{path:?}");
    }
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

/// What MySQL 5.6 does not know is refused by its name.
#[test]
fn what_a_server_of_5_6_is_not_told() {
    let frm = parsed(&fixture_dir().join("defaults@0020@0p@002d1.frm"));
    let table = Definition::of_frm(&frm, "t").unwrap();
    assert_eq!(table.to_frm().unwrap(), frm);
    let refused = |change: &dyn Fn(&mut Definition)| {
        let mut changed = table.clone();
        change(&mut changed);
        changed.to_frm().unwrap_err().to_string()
    };
    let column = |change: &dyn Fn(&mut ColumnDefinition)| refused(&|t| change(t.column_mut(1)));
    let key = |change: &dyn Fn(&mut KeyDefinition)| refused(&|t| change(Arc::make_mut(&mut t.keys[0])));
    let name = &table.columns[1].name;
    let generated = Generated { clause: "1".to_owned(), stored: true };
    let is_generated = column(&|c| c.generated = Some(generated.clone()));
    assert_eq!(is_generated, format!("column `{name}`, which is generated"));
    assert_eq!(column(&|c| c.invisible = true), format!("column `{name}`, which is invisible"));
    assert_eq!(column(&|c| c.functional = true), "keys of expressions");
    assert_eq!(column(&|c| c.ty = SqlType::new(Kind::Json)), format!("column `{name}` of type JSON"));
    let expression = DefaultValue::Text("uuid()".to_owned());
    assert_eq!(column(&|c| c.default = expression.clone()), format!("the DEFAULT of column `{name}`"));
    let later = SqlType::varchar(5, 255);
    assert_eq!(column(&|c| c.ty = later.clone()), format!("collation utf8mb4_0900_ai_ci of {name}"));
    assert_eq!(refused(&|t| t.collation = 255), "collation utf8mb4_0900_ai_ci of the table");
    assert_eq!(key(&|k| k.invisible = true), "key `PRIMARY`, which is invisible");
    assert_eq!(key(&|k| k.parts[0].descending = true), "key `PRIMARY`, which is descending");
    assert_eq!(key(&|k| k.parser = Some("ngram".to_owned())), "the parser of FULLTEXT key `PRIMARY`");
    let (clause, columns) = ("a > 1".to_owned(), vec!["a".to_owned()]);
    let check = CheckDefinition { name: "t_chk_1".to_owned(), clause, columns, enforced: true };
    assert_eq!(refused(&|t| t.checks.push(check.clone())), "CHECK constraint `t_chk_1`");
}

/// Where nothing is said of the row format, a server of 5.6 makes it COMPACT.
#[test]
fn a_row_format_that_goes_without_saying() {
    let mut table = Definition::new("d", "t", 8, RowFormat::Dynamic);
    let column = ColumnDefinition::new("a", SqlType { length: 11, ..SqlType::new(Kind::Int) }, Vec::new());
    table.columns = vec![Arc::new(column)];
    assert_eq!(table.to_frm().unwrap().row_format, DeclaredFormat::Dynamic);
    table.row_format = RowFormat::Compact;
    assert_eq!(table.to_frm().unwrap().row_format, DeclaredFormat::Default);
    table.options.set(TableOption::RowFormat, Some("COMPACT".to_owned()));
    assert_eq!(table.to_frm().unwrap().row_format, DeclaredFormat::Compact);
}
