//! Thousands of constant expressions: value, type and warnings as MySQL 5.6.24 gave them.
//!
//! The files under `expressions/` were recorded by `record.py` there. A line is an expression, its metadata
//! (`type:length:decimals:flags:collation`), its value (`=text`, `0x…` or `NULL`) and its warnings; or an error.
//! `known.tsv` lists what differs here: the test fails both when something else differs and when something listed no
//! longer does.

use bumpalo::Bump;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use vaquita_parser::ast::{ColumnRef, ExprKind, QueryBody, SelectItem, Stmt};
use vaquita_parser::{ParseMode, parse};
use vaquita_sql::expr::scope::{NoTables, unknown_column};
use vaquita_sql::expr::{CompileCx, EvalCx, Resolved, ResolvedColumn, Row, Scope, TableRow, compile};
use vaquita_sql::types::{Decimal, Kind, SqlType};
use vaquita_sql::{SessionState, SqlError, Value};

const FAMILIES: [&str; 7] = ["operators", "comparisons", "control", "strings", "maths", "dates", "others"];

/// Collation of results.
const UTF8MB4: u16 = 45;

/// What an expression gave.
#[derive(Debug, PartialEq)]
struct Answer {
    meta: String,
    value: String,
    warnings: String,
}

fn state() -> SessionState {
    let mut state = SessionState::detached().expect("default variables");
    state.vars.collation_connection = UTF8MB4;
    state.vars.time_zone = std::sync::Arc::new(vaquita_sql::types::TimeZone::UTC);
    state.vars.max_allowed_packet = 64 << 20;
    state.now_us = 1_700_000_000_500_000;
    state
}

fn answer(text: &str, state: &mut SessionState) -> Result<Answer, SqlError> {
    let sql = format!("SELECT {text}");
    let arena = Bump::new();
    let parsed = parse(sql.as_bytes(), &arena, ParseMode::default())
        .map_err(|e| SqlError::new(1064, format!("{e:?}")))?;
    let Stmt::Query(query) = parsed.stmt else { return Err(SqlError::new(1064, "no query")) };
    let QueryBody::Select(select) = query.body else { return Err(SqlError::new(1064, "no select")) };
    let Some(SelectItem::Expr { expr, .. }) = select.items.first() else {
        return Err(SqlError::new(1064, "no item"));
    };
    if let ExprKind::Row(_) = expr.kind {
        return Err(SqlError::new(1241, "Operand should contain 1 column(s)"));
    }
    state.warnings.clear();
    let compiled = compile(expr, &NoTables { clause: "field list" }, &mut CompileCx::new(None, state))?;
    let row = Row::default();
    let mut cx = EvalCx::new(None, state, None);
    let value = compiled.eval(&mut cx, &row)?;
    let ty = compiled.ty();
    let text = ty.kind.is_string();
    let collation = if text && ty.collation != 63 { UTF8MB4 } else { 63 };
    let meta = format!(
        "{}:{}:{}:{}:{collation}",
        ty.protocol_type(),
        ty.protocol_length(UTF8MB4),
        ty.protocol_decimals(),
        compiled.result_flags()
    );
    let value = match &value {
        Value::Null => "NULL".to_owned(),
        v => {
            let stored = v.to_text(ty);
            let charset = vaquita_engine::text::charset::Charset::of_collation(ty.collation);
            let decoded = charset.filter(|_| text && ty.collation != 63).and_then(|c| c.decode(&stored));
            escaped(decoded.as_deref().map_or(&stored[..], str::as_bytes))
        }
    };
    let mut warnings: Vec<String> = Vec::new();
    for w in state.warnings.list() {
        let line = format!("{} {}", w.code, w.message).replace(['\t', '\n'], " ");
        if !warnings.contains(&line) {
            warnings.push(line);
        }
    }
    Ok(Answer { meta, value, warnings: warnings.join("; ") })
}

fn escaped(bytes: &[u8]) -> String {
    let printable = |c: char| {
        !c.is_control() && !matches!(c, '\\' | '\t' | '\u{a0}' | '\u{ad}' | '\u{200b}'..='\u{200f}')
    };
    match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(printable) && text != "NULL" && !text.starts_with("0x") => {
            format!("={text}")
        }
        _ => bytes.iter().fold("0x".to_owned(), |out, b| format!("{out}{b:02x}")),
    }
}

/// What differs, by expression: `value`, `type`, `warnings`, or several of them; with both sides.
fn differences(family: &str, folder: &Path) -> BTreeMap<String, (String, String)> {
    let file = std::fs::read_to_string(folder.join(format!("{family}.tsv"))).expect("recorded answers");
    let mut out = BTreeMap::new();
    let mut session = state();
    for line in file.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let expr = fields[0];
        if expr.starts_with("RAND") {
            session = state();
        }
        let ours = std::panic::catch_unwind(AssertUnwindSafe(|| answer(expr, &mut session)))
            .unwrap_or_else(|_| Err(SqlError::new(0, "panic")));
        let (kinds, told) = match (fields[1], &ours) {
            ("error", Err(e)) if fields[2] == e.code.to_string() => {
                let same = e.message == fields[3] || e.code == 1064;
                (if same { vec![] } else { vec!["message"] }, e.message.to_string())
            }
            (_, Err(e)) => (vec!["value"], format!("{} {}", e.code, e.message)),
            ("error", Ok(a)) => (vec!["value"], format!("{a:?}")),
            (meta, Ok(a)) => {
                let parts = [
                    ("value", a.value == fields[2]),
                    ("type", a.meta == meta),
                    ("warnings", a.warnings == *fields.get(3).unwrap_or(&"")),
                ];
                let kinds = parts.into_iter().filter(|p| !p.1).map(|p| p.0).collect();
                (kinds, format!("{}\t{}\t{}", a.meta, a.value, a.warnings))
            }
        };
        if !kinds.is_empty() {
            let theirs = fields[1..].join("\t");
            out.insert(expr.to_owned(), (kinds.join("+"), format!("{theirs}\n    {told}")));
        }
    }
    out
}

#[test]
fn expressions_are_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expressions");
    let known = std::fs::read_to_string(folder.join("known.tsv")).unwrap_or_default();
    let known: BTreeMap<&str, &str> = known.lines().filter_map(|l| l.split_once('\t')).collect();
    let mut found = BTreeMap::new();
    let mut wrong = Vec::new();
    for family in FAMILIES {
        for (expr, (kinds, sides)) in differences(family, &folder) {
            if known.get(expr.as_str()) != Some(&kinds.as_str()) {
                wrong.push(format!("{kinds}: {expr}\n    {sides}"));
            }
            found.insert(expr, kinds);
        }
    }
    for expr in known.keys().filter(|e| !found.contains_key(**e)) {
        wrong.push(format!("no difference any more: {expr}"));
    }
    if let Ok(path) = std::env::var("EXPRESSIONS_KNOWN") {
        let lines: String = found.iter().map(|(e, k)| format!("{e}\t{k}\n")).collect();
        std::fs::write(path, lines).expect("list of differences");
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

/// Columns `i INT, d DECIMAL(10,2), f DOUBLE, s VARCHAR(20)`.
struct Columns;

impl Scope for Columns {
    fn resolve(&self, name: &ColumnRef<'_>) -> Result<Resolved, SqlError> {
        let types = [
            (&b"i"[..], SqlType { length: 11, ..SqlType::new(Kind::Int) }),
            (b"d", SqlType::decimal(10, 2)),
            (b"f", SqlType { length: 22, ..SqlType::double() }),
            (b"s", SqlType::varchar(20, UTF8MB4)),
        ];
        let found = types.iter().position(|(n, _)| *n == name.name.name);
        let at = found.ok_or_else(|| unknown_column(name, "field list"))?;
        let ty = types[at].1.clone();
        Ok(Resolved::Column(ResolvedColumn { level: 0, table: 0, column: at as u16, ty }))
    }

    fn allows_aggregates(&self) -> bool {
        true
    }
}

/// The value of an expression with aggregates over the rows.
fn grouped(text: &str, rows: &[[Value<'static>; 4]]) -> String {
    let sql = format!("SELECT {text}");
    let arena = Bump::new();
    let parsed = parse(sql.as_bytes(), &arena, ParseMode::default()).expect("syntax");
    let Stmt::Query(query) = parsed.stmt else { panic!("no query") };
    let QueryBody::Select(select) = query.body else { panic!("no select") };
    let Some(SelectItem::Expr { expr, .. }) = select.items.first() else { panic!("no item") };
    let mut state = state();
    let mut cx = CompileCx::new(None, &mut state);
    let compiled = compile(expr, &Columns, &mut cx).expect("compiles");
    let aggregates = std::mem::take(&mut cx.aggregates);
    let mut accumulators: Vec<_> =
        aggregates.iter().map(|a| a.accumulator(1 << 20, || (1 << 20).into())).collect();
    let mut eval = EvalCx::new(None, &mut state, None);
    for values in rows {
        let tables = [TableRow::Values(values)];
        let row = Row { tables: &tables, ..Row::default() };
        for (accumulator, aggregate) in accumulators.iter_mut().zip(&aggregates) {
            accumulator.add(aggregate, &mut eval, &row).expect("adds");
        }
    }
    let results: Vec<_> = accumulators
        .iter_mut()
        .zip(&aggregates)
        .map(|(accumulator, aggregate)| accumulator.finish(aggregate, &mut eval).expect("finishes"))
        .collect();
    let row = Row { aggregates: &results, ..Row::default() };
    let value = compiled.eval(&mut eval, &row).expect("evaluates");
    match value {
        Value::Null => "NULL".to_owned(),
        v => String::from_utf8_lossy(&v.to_text(compiled.ty())).into_owned(),
    }
}

#[test]
fn aggregates_are_as_recorded() {
    let decimal = |text: &str| Value::Decimal(Decimal::parse(text.as_bytes()).value);
    let rows = [
        [Value::Int(1), decimal("1.10"), Value::Double(0.5), Value::bytes(b"b")],
        [Value::Int(2), decimal("2.25"), Value::Double(1.5), Value::bytes(b"a")],
        [Value::Null, Value::Null, Value::Null, Value::Null],
        [Value::Int(2), decimal("-3.00"), Value::Double(1e10), Value::bytes(b"A")],
        [Value::Int(7), decimal("100.00"), Value::Double(-2.25), Value::bytes("é".as_bytes())],
    ];
    for (text, of_all, of_none) in [
        ("COUNT(*)", "5", "0"),
        ("COUNT(i)", "4", "0"),
        ("COUNT(DISTINCT i)", "3", "0"),
        ("COUNT(DISTINCT s)", "3", "0"),
        ("COUNT(DISTINCT i, s)", "3", "0"),
        ("SUM(i)", "12", "NULL"),
        ("SUM(d)", "100.35", "NULL"),
        ("SUM(f)", "9999999999.75", "NULL"),
        ("SUM(s)", "0", "NULL"),
        ("SUM(DISTINCT i)", "10", "NULL"),
        ("AVG(i)", "3.0000", "NULL"),
        ("AVG(d)", "25.087500", "NULL"),
        ("AVG(f)", "2499999999.9375", "NULL"),
        ("AVG(DISTINCT i)", "3.3333", "NULL"),
        ("MIN(i)", "1", "NULL"),
        ("MAX(i)", "7", "NULL"),
        ("MIN(d)", "-3.00", "NULL"),
        ("MAX(f)", "10000000000", "NULL"),
        ("MIN(s)", "a", "NULL"),
        ("MAX(s)", "é", "NULL"),
        ("BIT_AND(i)", "0", "18446744073709551615"),
        ("BIT_OR(i)", "7", "0"),
        ("BIT_XOR(i)", "6", "0"),
        ("STD(i)", "2.345207879911715", "NULL"),
        ("STDDEV_SAMP(d)", "49.992472350011525", "NULL"),
        ("VAR_POP(i)", "5.5", "NULL"),
        ("VAR_SAMP(f)", "2.5000000000416666e19", "NULL"),
        ("GROUP_CONCAT(s)", "b,a,A,é", "NULL"),
        ("GROUP_CONCAT(DISTINCT i ORDER BY i SEPARATOR '|')", "1|2|7", "NULL"),
        ("GROUP_CONCAT(i, s ORDER BY i DESC, d)", "7é,2A,2a,1b", "NULL"),
        ("SUM(i) / COUNT(*) + 1", "3.4000", "NULL"),
        ("MAX(i + d)", "107.00", "NULL"),
        ("COUNT(i > 1 OR NULL)", "3", "0"),
    ] {
        assert_eq!(grouped(text, &rows), of_all, "{text}");
        assert_eq!(grouped(text, &[]), of_none, "{text} of no rows");
    }
}

#[test]
fn equal_aggregates_are_calculated_once() {
    let sql = "SELECT SUM(i + 1) + SUM(i + 1) * SUM(i)";
    let arena = Bump::new();
    let parsed = parse(sql.as_bytes(), &arena, ParseMode::default()).expect("syntax");
    let Stmt::Query(query) = parsed.stmt else { panic!("no query") };
    let QueryBody::Select(select) = query.body else { panic!("no select") };
    let Some(SelectItem::Expr { expr, .. }) = select.items.first() else { panic!("no item") };
    let mut state = state();
    let mut cx = CompileCx::new(None, &mut state);
    compile(expr, &Columns, &mut cx).expect("compiles");
    assert_eq!(cx.aggregates.len(), 2);
    let nested = "SELECT SUM(COUNT(*))";
    let parsed = parse(nested.as_bytes(), &arena, ParseMode::default()).expect("syntax");
    let Stmt::Query(query) = parsed.stmt else { panic!("no query") };
    let QueryBody::Select(select) = query.body else { panic!("no select") };
    let Some(SelectItem::Expr { expr, .. }) = select.items.first() else { panic!("no item") };
    assert_eq!(compile(expr, &Columns, &mut cx).expect_err("nested").code, 1111);
}
