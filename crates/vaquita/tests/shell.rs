//! The shell as people use it, on a terminal, and as scripts do.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::Scratch;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use vaquita_clients::Vaquita;

const BINARY: &str = env!("CARGO_BIN_EXE_vaquita");

/// How long anything may take that has no reason to.
const PATIENCE: Duration = Duration::from_secs(60);

/// A shell on a terminal of its own (`script` of util-linux makes it; the shell takes the place of the `sh` that `script`
/// starts, which would take Ctrl-C for itself).
struct Terminal {
    child: Child,
    keys: ChildStdin,
    shown: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn open(scratch: &Scratch, arguments: &str) -> Terminal {
        let mut child = Command::new("script")
            .args(["-qfec", &format!("exec {BINARY} sql {arguments}"), "/dev/null"])
            .env("HOME", &scratch.0)
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let keys = child.stdin.take().unwrap();
        let mut screen = child.stdout.take().unwrap();
        let (give, shown) = mpsc::channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = screen.read(&mut piece) {
                if give.send(piece[..n].to_vec()).is_err() {
                    return;
                }
            }
        });
        let mut terminal = Terminal { child, keys, shown, seen: String::new() };
        terminal.wait_for("vaquita> ");
        terminal
    }

    /// Types, once the shell listens: what is typed ahead the line editor forgets.
    fn type_in(&mut self, keys: &str) {
        self.wait_for("vaquita> ");
        self.press(keys);
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// What is shown up to these words.
    fn wait_for(&mut self, words: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(words) {
                let rest = self.seen.split_off(at + words.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            match self.shown.recv_timeout(PATIENCE) {
                Ok(piece) => self.seen += &String::from_utf8_lossy(&piece),
                Err(_) => panic!("{words:?} is not shown: {:?}", self.seen),
            }
        }
    }

    /// Takes what is shown until nothing has been for so long, or for ten times as long.
    fn listen(&mut self, quiet: Duration) {
        let end = Instant::now() + 10 * quiet;
        while Instant::now() < end {
            let Ok(piece) = self.shown.recv_timeout(quiet) else { return };
            self.seen += &String::from_utf8_lossy(&piece);
        }
    }

    /// Leaves; the exit code.
    fn leave(mut self) -> i32 {
        self.type_in("\\q\r");
        self.child.wait().unwrap().code().unwrap()
    }
}

/// Exit code, output, errors of a script.
fn script(arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(BINARY)
        .arg("sql")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
}

/// Begins a statement and presses Ctrl-C until it is ended by that.
fn interrupt(terminal: &mut Terminal) {
    let ended = |terminal: &Terminal| terminal.seen.contains("1317") || terminal.seen.contains("| 1 |");
    let begun = Instant::now();
    while !ended(terminal) {
        assert!(begun.elapsed() < PATIENCE, "nothing is ended: {:?}", terminal.seen);
        // Where the key comes before the statement has begun, it takes back the line: then once more.
        terminal.press("select sleep(1000) as s;\r");
        for _ in 0..20 {
            terminal.press("\x03");
            terminal.listen(Duration::from_millis(50));
            if ended(terminal) {
                break;
            }
        }
    }
    // A key pressed once more may make the line editor forget what is typed behind it; and the statement may have been typed
    // once more, before it was seen that it had ended: then it runs now.
    while !terminal.seen.contains("| 42 |") {
        assert!(begun.elapsed() < 2 * PATIENCE, "the shell does not go on: {:?}", terminal.seen);
        for keys in ["\x03", "select 6 * 7 as n;\r"] {
            terminal.press(keys);
            terminal.listen(Duration::from_millis(500));
        }
    }
}

#[test]
fn control_c_ends_the_statement_and_not_the_shell() {
    let scratch = Scratch::new("shell-interrupt");
    let dir = scratch.0.join("data");
    let mut terminal = Terminal::open(&scratch, &dir.display().to_string());
    interrupt(&mut terminal);
    assert_eq!(terminal.leave(), 0);
}

#[test]
fn a_shell_on_a_server_ends_its_statement_too() {
    let scratch = Scratch::new("shell-interrupt-remote");
    let socket = scratch.0.join("s");
    let option = format!("--socket={}", socket.display());
    let mut server = Vaquita::start(Path::new(BINARY), &scratch.0.join("data"), &[&option]).unwrap();
    for arguments in [
        format!("mysql://root@127.0.0.1:{}", server.port()),
        format!("--port {} --user root", server.port()),
        format!("--socket {}", socket.display()),
    ] {
        let mut terminal = Terminal::open(&scratch, &arguments);
        interrupt(&mut terminal);
        assert_eq!(terminal.leave(), 0);
    }
    server.stop().unwrap();
}

#[test]
fn names_are_completed() {
    let scratch = Scratch::new("shell-complete");
    let dir = scratch.0.join("data");
    let mut terminal = Terminal::open(&scratch, &dir.display().to_string());
    terminal.press("create database d; use d; create table customers (id int, family_name text);\r");
    (0..3).for_each(|_| {
        terminal.wait_for("Query OK");
    });
    terminal.wait_for("vaquita> ");
    terminal.press("insert into cust\t values (1, 'Vaquita');\r");
    terminal.wait_for("1 row affected");
    terminal.press("sel\t customers.fam\t from customers;\r");
    terminal.wait_for("| Vaquita ");
    assert_eq!(terminal.leave(), 0);
}

#[test]
fn commands_of_people() {
    let scratch = Scratch::new("shell-commands");
    let dir = scratch.0.join("data");
    let tee = scratch.0.join("tee");
    let paged = scratch.0.join("paged");
    let mut terminal = Terminal::open(&scratch, &dir.display().to_string());
    terminal.press(&format!("tee {}\r", tee.display()));
    terminal.wait_for("Everything is written");
    terminal.type_in("\\u mysql\r");
    terminal.wait_for("Database changed");
    terminal.type_in(&format!("pager cat > {}\r", paged.display()));
    terminal.wait_for("Results are shown through");
    terminal.type_in("select 'in the pager';\r");
    terminal.wait_for("1 row in set");
    assert!(std::fs::read_to_string(&paged).unwrap().contains("| in the pager |"));
    terminal.type_in("nopager\r");
    terminal.wait_for("Results are shown here");
    // A pager that one leaves early takes nothing away but what it would have shown.
    terminal.type_in("\\P true\r");
    terminal.wait_for("through 'true'");
    terminal.type_in("select repeat('x', 1000000);\r");
    terminal.wait_for("1 row in set");
    terminal.type_in("\\n\r");
    terminal.wait_for("Results are shown here");
    terminal.type_in("\\s\r");
    let status = terminal.wait_for("Tee file:");
    for words in
        ["Current database:   mysql", "Current user:       root@", "Delimiter:          ;", "Uptime:"]
    {
        assert!(status.contains(words), "{words:?} is missing in {status}");
    }
    terminal.type_in("notee\r");
    terminal.wait_for("Nothing is written");
    terminal.type_in("select 'not there';\r");
    terminal.wait_for("1 row in set");
    assert_eq!(terminal.leave(), 0);
    let written = std::fs::read_to_string(&tee).unwrap();
    for words in ["vaquita> select 'in the pager';", "| in the pager |", "Database changed"] {
        assert!(written.contains(words), "{words:?} is missing in {written}");
    }
    assert!(!written.contains("not there"), "{written}");
}

#[test]
fn forms_of_results() {
    let scratch = Scratch::new("shell-forms");
    let dir = scratch.0.join("data").display().to_string();
    let sql = "select 1 as id, 'a,b' as name union all select 2, null";
    for (form, wanted) in [
        (
            "table",
            "+----+------+\n| id | name |\n+----+------+\n|  1 | a,b  |\n|  2 | NULL |\n+----+------+\n",
        ),
        ("tsv", "id\tname\n1\ta,b\n2\tNULL\n"),
        ("csv", "id,name\n1,\"a,b\"\n2,\n"),
        ("json", "[\n{\"id\": 1, \"name\": \"a,b\"},\n{\"id\": 2, \"name\": null}\n]\n"),
        ("markdown", "| id | name |\n|---:|---|\n| 1 | a,b |\n| 2 | NULL |\n"),
    ] {
        let done = script(&[&dir, "--format", form], &format!("{sql};"));
        assert_eq!(done, (0, wanted.to_owned(), String::new()), "{form}");
    }
    let (code, out, _) = script(&[&dir, "--format", "vertical", "-e", "select 5 as five"], "");
    assert_eq!((code, out.lines().last()), (0, Some("five: 5")));
    let (code, out, _) = script(&[&dir, "--format=json"], "select 1 as a\\G\nselect 1 as b where false;");
    assert_eq!((code, out.lines().skip(1).collect::<Vec<_>>()), (0, vec!["a: 1", "[]"]));
    assert_eq!(script(&[&dir, "--format", "xml"], "").0, 2);
    assert_eq!(script(&[&dir, "--format", "csv", "-t"], "").0, 2);
}

#[test]
fn commands_and_exit_codes_of_scripts() {
    let scratch = Scratch::new("shell-scripts");
    let dir = scratch.0.join("data").display().to_string();
    let file = scratch.put("more.sql", b"select 'from the file';\n");
    let text = format!(
        "use mysql\nselect database();\n\\. {}\ndelimiter //\nselect 1; select 2//\n",
        file.display()
    );
    let wanted = "database()\nmysql\nfrom the file\nfrom the file\n1\n1\n2\n2\n";
    assert_eq!(script(&[&dir], &text), (0, wanted.to_owned(), String::new()));
    let (code, out, err) = script(&[&dir], "select no_such; select 1;");
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.starts_with("ERROR 1054 (42S22) at line 1"), "{err}");
    let (code, out, _) = script(&[&dir, "--force"], "select no_such; select 1;");
    assert_eq!((code, out.as_str()), (1, "1\n1\n"));
    assert_eq!(script(&[], "").0, 2);
    let (code, _, err) = script(&[&dir, "--socket", "/nowhere"], "");
    assert_eq!(code, 2);
    assert!(err.contains("of servers, not of folders"), "{err}");
    let (code, _, err) = script(&["--socket", "/nowhere/at/all"], "");
    assert_eq!(code, 2);
    assert!(err.contains("/nowhere/at/all"), "{err}");
}
