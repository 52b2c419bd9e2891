use super::*;

#[test]
fn the_table_is_sorted_and_whole() {
    assert!(all().is_sorted_by(|a, b| a.code < b.code));
    for e in all() {
        assert_eq!(e.sqlstate.len(), 5, "{}", e.code);
        assert!(e.sqlstate.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()), "{}", e.code);
        assert!(e.name.starts_with("ER_") || e.name.starts_with("WARN_"), "{}", e.code);
    }
    assert!(all().len() > 500);
}

/// As MySQL 5.6.24 answered.
#[test]
fn messages_have_their_arguments_in_place() {
    for (e, want) in [
        (
            SqlError::unknown_column("x", "field list"),
            "ERROR 1054 (42S22): Unknown column 'x' in 'field list'",
        ),
        (SqlError::no_such_table("a", "b"), "ERROR 1146 (42S02): Table 'a.b' doesn't exist"),
        (SqlError::no_database(), "ERROR 1046 (3D000): No database selected"),
        (
            SqlError::access_denied("u", "h", true),
            "ERROR 1045 (28000): Access denied for user 'u'@'h' (using password: YES)",
        ),
        (
            SqlError::duplicate_entry("1-2", "PRIMARY"),
            "ERROR 1062 (23000): Duplicate entry '1-2' for key 'PRIMARY'",
        ),
        (SqlError::operand_columns(1), "ERROR 1241 (21000): Operand should contain 1 column(s)"),
        (SqlError::unknown_function("db.f"), "ERROR 1305 (42000): FUNCTION db.f does not exist"),
        (SqlError::new(9999, "odd"), "ERROR 9999 (HY000): odd"),
    ] {
        assert_eq!(e.to_string(), want);
    }
    assert_eq!(message(1146, &[&"a"]), "Table 'a.' doesn't exist", "a missing argument is no panic");
}

#[test]
fn warnings_beyond_the_limit_are_counted() {
    let mut w = Warnings::new(2);
    for row in 1..=5 {
        w.warn(1265, message(1265, &[&"c", &row]));
    }
    assert_eq!((w.count(), w.list().len()), (5, 2));
    assert_eq!(w.list()[1].message, "Data truncated for column 'c' at row 2");
}
