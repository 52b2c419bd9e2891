//! What real servers and mysqldump write.

use bumpalo::Bump;
use vaquita_parser::ast::{ExprKind, InsertSource, Literal, Stmt};
use vaquita_parser::{ParseMode, parse};

/// mysqldump of a MariaDB 10.11 database with every kind of object; its strings hold every escape.
const MARIADB: &[u8] = include_bytes!("dumps/mariadb1011.sql");

/// SHOW CREATE of everything in a MySQL 5.6.24, and of some of its own tables; separated by lines of `//`.
const SHOW: &str = include_str!("dumps/mysql56-show.sql");

/// The text between two changes of the client's delimiter, and whether the delimiter is `;`.
fn sections(dump: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let mut sections = vec![(true, Vec::new())];
    for line in dump.split_inclusive(|&byte| byte == b'\n') {
        if line.starts_with(b"DELIMITER") {
            sections.push((line.trim_ascii_end().ends_with(b" ;"), Vec::new()));
        } else if let Some((_, text)) = sections.last_mut() {
            text.extend_from_slice(line);
        }
    }
    sections
}

/// Parses all statements of a text; their number.
fn parse_all(mut text: &[u8], visit: &mut dyn FnMut(&Stmt<'_>)) -> usize {
    let mut count = 0;
    loop {
        let arena = Bump::new();
        let parsed = match parse(text, &arena, ParseMode::default()) {
            Ok(parsed) => parsed,
            Err(error) => panic!("{error}"),
        };
        visit(&parsed.stmt);
        count += 1;
        match parsed.next {
            Some(next) => text = &text[next..],
            None => return count,
        }
    }
}

#[test]
fn a_dump_of_mariadb_parses() {
    let (mut statements, mut programs, mut rows) = (0, 0, 0);
    let mut visit = |stmt: &Stmt<'_>| match stmt {
        Stmt::CreateProgram(_) => programs += 1,
        Stmt::Insert(insert) => {
            if let InsertSource::Values(list) = insert.source {
                rows += list.len();
            }
        }
        _ => {}
    };
    for (plain, text) in sections(MARIADB) {
        if plain {
            statements += parse_all(&text, &mut visit);
            continue;
        }
        let text = String::from_utf8(text).expect("programs are text here");
        for program in text.split(";;\n").filter(|program| !program.trim().is_empty()) {
            statements += parse_all(program.as_bytes(), &mut visit);
        }
    }
    assert_eq!((programs, rows), (4, 8), "of {statements} statements");
    assert!(statements > 80, "{statements}");
}

/// The row whose name holds every escape that mysqldump writes.
#[test]
fn escapes_of_a_dump_are_resolved() {
    let mut names = Vec::new();
    let mut visit = |stmt: &Stmt<'_>| {
        let Stmt::Insert(insert) = stmt else { return };
        let InsertSource::Values(rows) = insert.source else { return };
        for row in rows.iter().filter(|_| insert.table.name.is("parent")) {
            if let Some(ExprKind::Literal(Literal::String(name))) = row.get(1).map(|value| value.kind) {
                names.push(name.to_vec());
            }
        }
    };
    for (_, text) in sections(MARIADB).into_iter().filter(|(plain, _)| *plain) {
        parse_all(&text, &mut visit);
    }
    let expected = ["plain", "quo'te \"double\" back\\slash\nnew\rline\ttab\0nul\u{1a}ctrl", "日本語 ñ 😀"];
    assert_eq!(names, expected.map(|name| name.as_bytes().to_vec()));
}

#[test]
fn what_show_create_prints_parses() {
    let mut kinds = Vec::new();
    for statement in SHOW.split("\n//\n") {
        let arena = Bump::new();
        let parsed = parse(statement.trim_end().as_bytes(), &arena, ParseMode::default())
            .unwrap_or_else(|error| panic!("{error}\n{statement}"));
        assert_eq!(parsed.next, None, "{statement}");
        kinds.push(format!("{:?}", parsed.stmt).split('(').next().unwrap_or_default().to_owned());
    }
    let count = |kind: &str| kinds.iter().filter(|name| *name == kind).count();
    assert_eq!(
        (
            count("CreateTable"),
            count("CreateView"),
            count("CreateProgram"),
            count("CreateDatabase"),
            count("Grant")
        ),
        (9, 1, 4, 1, 2),
        "{kinds:?}"
    );
}
