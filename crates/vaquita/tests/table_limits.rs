//! Which definitions are taken: sizes of rows and keys, row formats, under every setting that decides of them, on MySQL 5.6.24 and
//! on Vaquita. Errors, warnings and what SHOW CREATE TABLE says are the same.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::transcript;

use vaquita_peers::{Mysql56, Options};

/// So many columns of a type.
fn columns(n: usize, ty: &str) -> String {
    (0..n).map(|i| format!("c{i} {ty}")).collect::<Vec<_>>().join(", ")
}

/// Definitions: what follows `create table t`.
fn definitions() -> Vec<String> {
    let rows = [
        (46, "varchar(64)", "charset utf8"),
        (46, "varchar(64)", "charset utf8 row_format=dynamic"),
        (46, "varchar(64)", "charset utf8 row_format=redundant"),
        (31, "char(255)", "charset latin1"),
        (32, "char(255)", "charset latin1"),
        (40, "char(255)", "charset utf8"),
        (10, "varchar(1000)", "charset latin1"),
        (33, "varchar(255)", "charset latin1"),
        (196, "text", "charset latin1"),
        (197, "text", "charset latin1"),
        (196, "text", "charset latin1 row_format=dynamic"),
        (197, "text", "charset latin1 row_format=dynamic"),
        (196, "text", "charset latin1 row_format=redundant"),
        (192, "text", "charset latin1 row_format=redundant"),
        (100, "varchar(256)", "charset latin1 row_format=dynamic"),
        (1000, "int", ""),
        (1000, "bigint", ""),
        (1000, "bigint not null", ""),
        (1018, "bigint", ""),
        (66, "varchar(1000)", "charset latin1"),
        (1, "varchar(65532)", "charset latin1"),
        (1, "varchar(65533)", "charset latin1"),
        (1, "varchar(65533) not null", "charset latin1"),
        (1, "varchar(65534) not null", "charset latin1"),
    ];
    let mut all: Vec<String> =
        rows.iter().map(|(n, ty, options)| format!("({}) {options}", columns(*n, ty))).collect();
    let keys = [
        "(v varchar(767), key (v)) charset latin1",
        "(v varchar(768), key (v)) charset latin1",
        "(v varchar(256), key (v)) charset utf8",
        "(v varchar(256), unique (v)) charset utf8",
        "(v varchar(256) primary key) charset utf8",
        "(v text, key (v(800))) charset latin1",
        "(v text, key (v(3072))) charset latin1",
        "(v text, key (v(3073))) charset latin1",
    ];
    for format in ["", " row_format=dynamic"] {
        all.extend(keys.iter().map(|key| format!("{key}{format}")));
    }
    let four = "a varchar(767), b varchar(767), c varchar(767), d varchar(767)";
    all.push(format!("({four}, key (a, b, c, d)) charset latin1"));
    all.push(format!("({four}, e varchar(10), key (a, b, c, d, e)) charset latin1"));
    all.extend(
        ["dynamic", "compact", "redundant", "fixed"].map(|format| format!("(id int) row_format={format}")),
    );
    all
}

/// Every definition under every setting, and rows that do not fit.
fn script() -> String {
    let mut text = String::new();
    let mut say = |sql: &str| {
        text.push_str(sql);
        text.push_str(";\n");
    };
    for format in ["Antelope", "Barracuda"] {
        for large in [0, 1] {
            for strict in [0, 1] {
                say(&format!(
                    "set global innodb_file_format = {format}, global innodb_large_prefix = {large}"
                ));
                say(&format!("set innodb_strict_mode = {strict}"));
                for mode in ["", "STRICT_TRANS_TABLES"] {
                    say(&format!("set sql_mode = '{mode}'"));
                    for definition in definitions() {
                        say(&format!("create table t {definition}"));
                        say("show create table t");
                        say("drop table if exists t");
                    }
                }
            }
        }
    }
    say("set sql_mode = ''; set innodb_strict_mode = 0");
    for format in ["compact", "redundant", "dynamic"] {
        say(&format!("create table t ({}) charset utf8 row_format={format}", columns(46, "varchar(64)")));
        let row = |letter: &str, n: usize| vec![format!("repeat({letter}, {n})"); 46].join(", ");
        say(&format!("insert into t values ({})", row("'x'", 64)));
        say(&format!("insert into t values ({})", row("0xe282ac", 64)));
        say(&format!("insert into t values ({})", row("0xe282ac", 50)));
        say("select count(*), sum(length(c0)) from t");
        say("drop table t");
    }
    text
}

/// The transcript of the script on a folder or server.
fn play(target: &str, before: &str) -> Vec<String> {
    let text = format!(
        "drop database if exists limits; create database limits default character set latin1; use limits;
         {before}; set names utf8; select 'begin';\n{}drop database limits;",
        script()
    );
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let arguments = ["vaquita", "sql", target, "--transcript", "--execute", &text].map(Into::into);
    let code = vaquita::cli::run_code(arguments, &mut out, &mut err);
    let (out, err) = (String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
    assert_eq!((code, err.as_ref()), (0, ""), "{target}: {out}");
    let (_, transcript) = out.split_once("= 1 row\n").expect("it began");
    transcript::steps(transcript)
}

#[test]
fn definitions_are_taken_and_refused_as_by_mysql() {
    let server = Mysql56::start(Options::new().set("innodb_log_file_size", "16M")).unwrap();
    let wanted = play(&format!("mysql://root@127.0.0.1:{}", server.port()), "set @nothing = 1");
    let dir = std::env::temp_dir().join(format!("vaquita-limits-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    // MySQL 5.6 makes COMPACT tables unless told otherwise.
    let got = play(&dir.display().to_string(), "set global innodb_default_row_format = compact");
    let differing: Vec<String> = wanted
        .iter()
        .zip(&got)
        .filter(|(wanted, got)| wanted != got)
        .map(|(wanted, got)| format!("MySQL:   {}\nVaquita: {}", short(wanted), short(got)))
        .collect();
    let _ = std::fs::remove_dir_all(&dir);
    assert_eq!(wanted.len(), got.len());
    assert!(wanted.len() > 1_000, "{}", wanted.len());
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n\n"));
}

fn short(step: &str) -> String {
    let line = |line: &str| line.chars().take(150).collect::<String>();
    step.lines().map(line).collect::<Vec<_>>().join("\n")
}
