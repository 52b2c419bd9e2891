//! Precedence and associativity, as the real server has them.
//!
//! `precedence.tsv` holds expressions and the grouping that MySQL 5.6.24 gives them: each expression was evaluated
//! there beside both of its possible groupings, with operands for which the results differ; `ERROR` is its error
//! 1064.

use bumpalo::Bump;
use vaquita_parser::ast::{BinaryOp, Expr, ExprKind, IsTest, Literal, QueryBody, SelectItem, Stmt, UnaryOp};
use vaquita_parser::{ParseMode, SqlMode, parse};

const TABLE: &str = include_str!("precedence.tsv");

#[test]
fn operators_group_as_on_the_real_server() {
    let mut failures = Vec::new();
    let mut rows = 0;
    for row in TABLE.lines() {
        let (expr, expected) = row.split_once('\t').expect("two columns");
        let expected = expected.replace("&&", "AND").replace("MOD", "%").replace("! ", "NOT ");
        let got = grouped(expr, SqlMode::default());
        if got != expected {
            failures.push(format!("{expr}: {got}, wanted {expected}"));
        }
        rows += 1;
    }
    assert!(failures.is_empty(), "{} of {rows}:\n{}", failures.len(), failures.join("\n"));
    assert!(rows > 900);
}

/// Checked on the real server one by one.
#[test]
fn assignments_intervals_and_modes() {
    let cases = [
        ("1 + @u := 3 + 4", "(1 + @u := (3 + 4))"),
        ("a = ANY_VALUE = 1", "((a = ANY_VALUE) = 1)"),
        ("- a COLLATE b", "(- (a COLLATE b))"),
        ("NOT NOT 1 = 2", "(NOT (NOT (1 = 2)))"),
        ("- - 1", "(- (- 1))"),
        ("5--1", "(5 - (- 1))"),
        ("a OR b OR c AND d AND e", "((a OR b) OR ((c AND d) AND e))"),
    ];
    for (expr, expected) in cases {
        assert_eq!(grouped(expr, SqlMode::default()), expected);
    }
    assert_eq!(grouped("1 || 2 ^ 3", SqlMode::PIPES_AS_CONCAT), "((1 || 2) ^ 3)");
    assert_eq!(grouped("- 1 || 2", SqlMode::PIPES_AS_CONCAT), "((- 1) || 2)");
    assert_eq!(grouped("NOT 1 BETWEEN 0 AND 3", SqlMode::HIGH_NOT_PRECEDENCE), "((NOT 1) BETWEEN 0 AND 3)");
}

/// The expression with all of its parentheses, or `ERROR`.
fn grouped(expr: &str, sql_mode: SqlMode) -> String {
    let arena = Bump::new();
    let sql = format!("SELECT {expr}");
    let mode = ParseMode { sql_mode, ..ParseMode::default() };
    let Ok(parsed) = parse(sql.as_bytes(), &arena, mode) else { return "ERROR".to_owned() };
    let Stmt::Query(query) = parsed.stmt else { return "no query".to_owned() };
    let QueryBody::Select(select) = query.body else { return "no select".to_owned() };
    match select.items {
        [SelectItem::Expr { expr, .. }] => print(expr),
        _ => "no expression".to_owned(),
    }
}

fn print(expr: &Expr<'_>) -> String {
    match expr.kind {
        ExprKind::Literal(Literal::Int(number)) => number.to_string(),
        ExprKind::Literal(Literal::Null) => "NULL".to_owned(),
        ExprKind::Column(column) => column.name.to_string(),
        ExprKind::AssignUserVar { name, value } => format!("@{name} := {}", print(value)),
        ExprKind::Unary { op, operand } => format!("({} {})", prefix(op), print(operand)),
        ExprKind::Binary { op, left, right } => format!("({} {} {})", print(left), infix(op), print(right)),
        ExprKind::Is { operand, test, negated } => {
            format!("({} IS {}{})", print(operand), not(negated), truth(test))
        }
        ExprKind::InList { operand, list, negated } => {
            let list: Vec<String> = list.iter().map(print).collect();
            format!("({} {}IN ({}))", print(operand), not(negated), list.join(", "))
        }
        ExprKind::Between { operand, low, high, negated } => {
            format!("({} {}BETWEEN {} AND {})", print(operand), not(negated), print(low), print(high))
        }
        ExprKind::Like { operand, pattern, negated, .. } => {
            format!("({} {}LIKE {})", print(operand), not(negated), print(pattern))
        }
        ExprKind::Regexp { operand, pattern, negated } => {
            format!("({} {}REGEXP {})", print(operand), not(negated), print(pattern))
        }
        ExprKind::Collate { operand, collation } => format!("({} COLLATE {collation})", print(operand)),
        other => format!("{other:?}"),
    }
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

fn truth(test: IsTest) -> &'static str {
    match test {
        IsTest::Null => "NULL",
        IsTest::True => "TRUE",
        IsTest::False => "FALSE",
        IsTest::Unknown => "UNKNOWN",
    }
}

fn prefix(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "-",
        UnaryOp::Plus => "+",
        UnaryOp::BitNot => "~",
        UnaryOp::Not => "NOT",
        UnaryOp::Binary => "BINARY",
    }
}

fn infix(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "OR",
        BinaryOp::Xor => "XOR",
        BinaryOp::And => "AND",
        BinaryOp::Eq => "=",
        BinaryOp::NullSafeEq => "<=>",
        BinaryOp::Ne => "<>",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::SoundsLike => "SOUNDS LIKE",
        BinaryOp::BitOr => "|",
        BinaryOp::BitAnd => "&",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::IntDiv => "DIV",
        BinaryOp::Mod => "%",
        BinaryOp::BitXor => "^",
        BinaryOp::Concat => "||",
        BinaryOp::JsonExtract => "->",
        BinaryOp::JsonUnquoteExtract => "->>",
        BinaryOp::MemberOf => "MEMBER OF",
    }
}
