//! A server that may open few files: it says what it cuts, makes tables, and turns away whom it has no room for.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Scratch, vaquita};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server whose process may open so many files.
struct Bed {
    server: Child,
    addr: String,
    log: std::path::PathBuf,
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Bed {
    fn start(scratch: &Scratch, files: u32, options: &str) -> Bed {
        let log = scratch.0.join("log");
        let program = env!("CARGO_BIN_EXE_vaquita");
        let dir = scratch.0.join("data");
        let script = format!(
            "ulimit -n {files}; exec {program} serve {} --port={} --innodb_buffer_pool_size=32M --innodb_log_file_size=4M {options}",
            dir.display(),
            free_port()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).stdout(Stdio::piped()).stderr(std::fs::File::create(&log).unwrap());
        let mut server = command.spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let addr = ready.trim().split("mysql=").nth(1).unwrap_or_default();
        let addr = addr.split(' ').next().unwrap().to_owned();
        assert!(!addr.is_empty(), "{}", std::fs::read_to_string(&log).unwrap());
        Bed { server, addr, log }
    }

    fn sql(&self, text: &str) -> String {
        let target = format!("mysql://root@{}", self.addr);
        let (code, out, err) = vaquita(&[&"sql", &target, &"--transcript", &"--execute", &text]);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        out
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Files of tables that it has open.
    fn table_files(&self) -> usize {
        let dir = format!("/proc/{}/fd", self.server.id());
        let files = std::fs::read_dir(Path::new(&dir)).unwrap();
        let links = files.filter_map(|file| std::fs::read_link(file.unwrap().path()).ok());
        links.filter(|link| link.extension().is_some_and(|e| e == "ibd")).count()
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// What a server first says: its version, or the number of an error.
fn first_word(stream: &mut TcpStream) -> Result<(), u16> {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut header = [0; 5];
    stream.read_exact(&mut header).expect("a word");
    match header[4] {
        0xFF => {
            let mut code = [0; 2];
            stream.read_exact(&mut code).unwrap();
            Err(u16::from_le_bytes(code))
        }
        _ => Ok(()),
    }
}

#[test]
fn what_does_not_fit_is_cut_and_said() {
    let scratch = Scratch::new("few-files");
    let bed = Bed::start(&scratch, 64, "");
    let log = bed.log();
    // Who may raise the limit of the process has all the files he asks for, and nothing is cut.
    if !bed.sql("select concat('files ', @@open_files_limit)").contains("files 64") {
        return;
    }
    for line in [
        "Changed limits: max_open_files: 64 (requested 5000)",
        "Changed limits: max_connections: 13 (requested 151)",
        "Changed limits: table_open_cache: 400 (requested 2000)",
        "Changed limits: innodb_open_files: 10 (requested 2000)",
    ] {
        assert!(log.contains(line), "{line}: {log}");
    }
    let shown =
        bed.sql("select concat_ws(' ', 'cut', @@max_connections, @@table_open_cache, @@innodb_open_files)");
    assert!(shown.contains("cut 13 400 10"), "{shown}");
    let tables: Vec<String> = (0..30)
        .map(|n| format!("create table few.t{n} (id int primary key, v int, key (v)); insert into few.t{n} values (1, {n})"))
        .collect();
    let out = bed.sql(&format!("create database few; {}", tables.join("; ")));
    assert!(!out.contains("! error"), "{out}");
    assert!(bed.table_files() <= 11, "{}", bed.table_files());
    // Everybody is answered, and those who come in can work.
    let mut clients: Vec<TcpStream> = (0..60).map(|_| TcpStream::connect(&bed.addr).unwrap()).collect();
    let words: Vec<Result<(), u16>> = clients.iter_mut().map(first_word).collect();
    let inside = words.iter().filter(|word| word.is_ok()).count();
    assert!(inside >= 10, "{words:?}");
    assert!(words.iter().all(|word| matches!(word, Ok(()) | Err(1040))), "{words:?}");
    assert!(words.contains(&Err(1040)), "{words:?}");
    drop(clients);
    let sum: Vec<String> = (0..30).map(|n| format!("(select v from few.t{n})")).collect();
    let out = loop {
        // The server hears of those who went in its own time.
        let target = format!("mysql://root@{}", bed.addr);
        let text = format!("select 'sum', {}", sum.join(" + "));
        let (code, out, err) = vaquita(&[&"sql", &target, &"--transcript", &"--execute", &text]);
        if code == 0 {
            break out;
        }
        assert!(err.contains("Too many connections"), "{err}");
    };
    assert!(out.contains("435"), "{out}");
}

/// However many files there are, more clients than files are told so.
#[test]
fn clients_are_answered_when_no_file_is_left() {
    let scratch = Scratch::new("no-files");
    let bed = Bed::start(&scratch, 64, "--connect_timeout=600");
    // As many files as it has open up to the one that it keeps for this: gaps below are filled by the first clients.
    let pid = bed.server.id().to_string();
    let files =
        std::fs::read_dir(Path::new("/proc").join(&pid).join("fd")).unwrap().map(|file| file.unwrap());
    let is_spare = |file: &std::fs::DirEntry| {
        std::fs::read_link(file.path()).is_ok_and(|link| link == Path::new("/dev/null"))
    };
    let numbers = files.filter(is_spare).filter_map(|file| file.file_name().to_str()?.parse::<u32>().ok());
    let limit = numbers.max().expect("a spare file") + 1;
    let lowered = Command::new("prlimit").args(["--pid", &pid, &format!("--nofile={limit}:64")]).status();
    if !lowered.is_ok_and(|status| status.success()) {
        return;
    }
    let mut inside = Vec::new();
    let mut turned_away = 0;
    while turned_away < 5 {
        let mut client = TcpStream::connect(&bed.addr).unwrap();
        match first_word(&mut client) {
            Ok(()) => inside.push(client),
            Err(code) => {
                assert_eq!(code, 1040);
                turned_away += 1;
            }
        }
        assert!(inside.len() < 14, "as many as may be connected");
    }
    assert_eq!(bed.log().matches("Error in accept").count(), 1, "{}", bed.log());
    drop(inside);
    let raised = Command::new("prlimit").args(["--pid", &pid, "--nofile=64:64"]).status().unwrap();
    assert!(raised.success());
    assert!(bed.sql("select 'in'").contains("in"));
}

/// Fewer than the folder has: words are looked at all the same, or it is said that they are not.
#[test]
fn a_folder_of_many_files_is_checked_to_its_words() {
    let scratch = Scratch::new("few-files-checked");
    let dir = scratch.0.join("data");
    let tables: Vec<String> = (0..40).map(|n| format!("create table a.t{n} (v int)")).collect();
    let text = format!(
        "create database a; {}; create database z; create table z.f (v varchar(20), fulltext (v)); insert into z.f values ('apple')",
        tables.join("; ")
    );
    let (code, out, err) = vaquita(&[&"sql", &dir, &"--execute", &text]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let script = format!("ulimit -n 32; exec {} check {}", env!("CARGO_BIN_EXE_vaquita"), dir.display());
    let checked = Command::new("sh").args(["-c", &script]).output().unwrap();
    let out = String::from_utf8_lossy(&checked.stdout);
    assert_eq!(checked.status.code(), Some(0), "{out}");
    let words = out.lines().find(|line| line.starts_with("words of z/f")).expect("words are looked at");
    assert!(words.contains("1 FULLTEXT indexes, 1 documents, 1 words of documents"), "{words}");
}
