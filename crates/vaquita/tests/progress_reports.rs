//! Reports of progress as MariaDB's own client shows them to people, which are on a terminal; and what its library says in a script.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use vaquita_clients::Vaquita;

const ROWS: u32 = 400_000;

/// What the client prints on a terminal while it runs a script.
fn on_a_terminal(server: &Vaquita, arguments: &str, script: &str) -> String {
    let client = server.client("mariadb").expect("the client");
    let mut line = format!("'{}'", client.get_program().display());
    for argument in client.get_args() {
        line += &format!(" '{}'", argument.display());
    }
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &format!("{line} {arguments}"), "/dev/null"]);
    for (name, value) in client.get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    let mut child = terminal
        .env("TERM", "dumb")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script runs");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(format!("{script}\nexit\n").as_bytes()).expect("the client reads");
    let output = child.wait_with_output().expect("the client ends");
    drop(input);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_client_shows_stages() {
    let dir = std::env::temp_dir().join(format!("vaquita-reports-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("a scratch folder");
    let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
    // Reports are made ten times a second: every step has to take its time on any machine.
    let options = ["--secure-file-priv=", "--innodb-sort-buffer-size=65536"];
    let server = Vaquita::start(binary, &dir.join("data"), &options).expect("a server");
    let file = dir.join("rows.txt");
    let rows: String = (1..=ROWS).map(|id| format!("{id}\t{id}-{}\n", "x".repeat(70))).collect();
    fs::write(&file, rows).expect("a file");
    server.sql("create database d; create table d.t (id int primary key, v varchar(100))").expect("a table");
    let load = format!("load data infile '{}' into table t;", file.display());
    let script = format!("{load}\nalter table t add index v (v);\nalter table t force;\ncheck table t;");

    let shown = on_a_terminal(&server, "--progress-reports d", &script);
    for stage in ["of 4 'alter table (", "Stage: 1 of 1 'Reading file'", "Stage: 1 of 1 'Checking table'"] {
        assert!(shown.contains(stage), "{stage} in {shown}");
    }
    assert!(shown.contains("of stage done") && shown.contains(&format!("{ROWS} rows affected")), "{shown}");
    assert!(!shown.contains("ERROR"), "{shown}");

    // Who does not want them gets none.
    server.sql("truncate table d.t").expect("no rows");
    for (arguments, first) in [("--skip-progress-reports d", ""), ("d", "set progress_report_time = 0;\n")] {
        let shown =
            on_a_terminal(&server, arguments, &format!("{first}alter table t drop index v;\n{script}"));
        assert!(!shown.contains("Stage") && !shown.contains("Checking table"), "{shown}");
        assert!(shown.contains("Query OK") && !shown.contains("ERROR"), "{shown}");
        server.sql("truncate table d.t").expect("no rows");
    }
    drop(server);
    let _ = fs::remove_dir_all(&dir);
}
