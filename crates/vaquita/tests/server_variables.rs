//! What system variables do to a server: where it listens, whom it lets in, what it writes, how it waits for clients.

use std::path::{Path, PathBuf};
use std::time::Duration;
use vaquita_clients::Vaquita;
use vaquita_clients::wire::{Answer, Wire};
use vaquita_peers::until;

/// A folder of the test's own, with a server. Both go when it is dropped.
struct Bed {
    dir: PathBuf,
    server: Vaquita,
}

impl Bed {
    fn new(name: &str, options: &[&str]) -> Bed {
        let dir = std::env::temp_dir().join(format!("vaquita-vars-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a folder");
        let mut all = vec!["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=4M"];
        all.extend_from_slice(options);
        let server = Vaquita::start(binary(), &dir.join("data"), &all).expect("a server");
        Bed { dir, server }
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn wire(&self) -> Wire {
        Wire::connect(self.server.port(), "root").expect("a connection")
    }

    fn value(&self, sql: &str) -> String {
        self.wire().query(sql).expect(sql).value().unwrap_or_else(|| panic!("{sql}: no value"))
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.server.kill();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_vaquita"))
}

#[test]
fn it_listens_and_writes_where_it_is_told_to() {
    let options = ["--bind-address=127.0.0.2", "--pid-file=server.pid", "--log-error=errors.log"];
    let mut bed = Bed::new("places", &options);
    let (port, socket) = (bed.server.port(), bed.server.socket());
    let ready = format!("ready: mysql=127.0.0.2:{port} socket={}", socket.display());
    assert_eq!(bed.server.ready(), ready);
    assert!(Wire::connect(port, "root").is_err(), "127.0.0.1 is not listened on");
    assert!(std::net::TcpStream::connect(("127.0.0.2", port)).is_ok());
    assert!(std::os::unix::net::UnixStream::connect(&socket).is_ok());
    let pid = std::fs::read_to_string(bed.data().join("server.pid")).expect("a file");
    assert_eq!(pid.trim(), bed.server.pid().expect("it runs").to_string());
    let log = std::fs::read_to_string(bed.data().join("errors.log")).expect("a log");
    assert!(log.contains("ready for connections"), "{log}");
    assert_eq!(bed.server.log(), "", "nothing goes to standard error");
    bed.server.stop().expect("a clean end");
    assert!(!bed.data().join("server.pid").exists());
}

#[test]
fn without_networking_there_is_the_socket_alone() {
    let bed = Bed::new("socket", &["--skip-networking"]);
    assert_eq!(bed.server.ready(), format!("ready: socket={}", bed.server.socket().display()));
    assert!(std::net::TcpStream::connect(("127.0.0.1", bed.server.port())).is_err());
    assert!(std::os::unix::net::UnixStream::connect(bed.server.socket()).is_ok());
}

#[test]
fn what_is_told_of_the_door_is_true() {
    let bed = Bed::new("told", &["--thread-pool-size=3"]);
    assert_eq!(bed.value("select @@port"), bed.server.port().to_string());
    assert_eq!(bed.value("select @@socket"), bed.server.socket().display().to_string());
    assert_eq!(bed.value("select @@thread_pool_size"), "3");
    let pid = bed.server.pid().expect("it runs");
    let loops = || {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
        names.filter(|name| name.trim() == "vaquita-loop").count()
    };
    // A thread gets its name when it begins.
    until("three threads serve", || loops() >= 3);
    // The first byte of the greeting.
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", bed.server.port())).expect("a connection");
    let mut greeting = [0; 5];
    std::io::Read::read_exact(&mut stream, &mut greeting).expect("a greeting");
    assert_eq!(bed.value("select @@protocol_version"), greeting[4].to_string());
}

#[test]
fn the_greeting_tells_the_version_that_is_said() {
    let bed = Bed::new("version", &["--version=8.0.36"]);
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", bed.server.port())).expect("a connection");
    let mut greeting = [0; 12];
    std::io::Read::read_exact(&mut stream, &mut greeting).expect("a greeting");
    assert_eq!(&greeting[5..], b"8.0.36\0");
    assert_eq!(bed.value("select @@version"), "8.0.36");
}

#[test]
fn who_may_come_in_is_not_asked_without_grant_tables() {
    let bed = Bed::new("grants", &["--skip-grant-tables"]);
    let mut nobody = Wire::connect(bed.server.port(), "nobody").expect("whoever comes is let in");
    assert!(matches!(nobody.query("create database d").expect("runs"), Answer::Ok { .. }));
    let bed = Bed::new("granted", &[]);
    assert!(Wire::connect(bed.server.port(), "nobody").is_err());
}

#[test]
fn certificates_are_made_or_given() {
    let bed = Bed::new("none", &["--auto-generate-certs=OFF"]);
    assert!(!bed.data().join("server-cert.pem").exists());
    let have = "select concat(@@have_ssl, ' ', @@have_openssl)";
    assert_eq!(bed.value(have), "DISABLED DISABLED");
    let made = Bed::new("made", &[]);
    assert_eq!(made.value(have), "YES YES");
    let file = |name: &str| made.data().join(name).display().to_string();
    assert_eq!(made.value("select @@ssl_cert"), file("server-cert.pem"));
    // Another server shows the same certificate, which its authority has signed.
    let given = [
        format!("--ssl-cert={}", file("server-cert.pem")),
        format!("--ssl-key={}", file("server-key.pem")),
        format!("--ssl-ca={}", file("ca.pem")),
    ];
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let other = Bed::new("given", &given);
    assert!(!other.data().join("server-cert.pem").exists(), "it needs none of its own");
    assert_eq!(other.value("select @@ssl_key"), file("server-key.pem"));
    for (server, answer) in [(&other.server, true), (&bed.server, false)] {
        let mut client = server.client("mariadb").expect("a client");
        client.args(["--ssl", &format!("--ssl-ca={}", file("ca.pem")), "--ssl-verify-server-cert"]);
        let output =
            client.args(["-N", "-B", "-e", "show status like 'ssl_version'"]).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text.contains("TLSv1."), answer, "{text} {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn clients_that_say_nothing_are_sent_away_in_time() {
    let bed = Bed::new("silent", &["--connect-timeout=2", "--interactive-timeout=1"]);
    let mut wire = bed.wire();
    assert!(matches!(wire.query("set wait_timeout = 1").expect("runs"), Answer::Ok { .. }));
    until("an idle client goes", || wire.is_closed());
    // Greeted, and it does not log in.
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", bed.server.port())).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let mut greeting = Vec::new();
    let end = std::io::Read::read_to_end(&mut stream, &mut greeting);
    assert!(end.is_ok() && !greeting.is_empty(), "greeted, then the connection ends: {end:?}");
    let mut client = bed.server.client("mariadb").expect("a client");
    let asked = client.args(["-N", "-B", "-e", "select @@wait_timeout"]).output().expect("it runs");
    assert!(matches!(String::from_utf8_lossy(&asked.stdout).trim(), "1" | "28800"));
}

#[test]
fn deadlocks_are_told_to_the_log() {
    for (value, told) in [("OFF", false), ("ON", true)] {
        let bed = Bed::new(&format!("deadlock-{value}"), &[&format!("--innodb-print-all-deadlocks={value}")]);
        let (mut a, mut b) = (bed.wire(), bed.wire());
        a.query("create database d").expect("runs");
        a.query("create table d.t (a int primary key, b int)").expect("runs");
        a.query("insert into d.t values (1, 0), (2, 0)").expect("runs");
        for (wire, row) in [(&mut a, 1), (&mut b, 2)] {
            wire.query("begin").expect("runs");
            wire.query(&format!("update d.t set b = 1 where a = {row}")).expect("runs");
        }
        a.say("update d.t set b = 1 where a = 2").expect("sent");
        let waits = "select count(*) from information_schema.innodb_lock_waits";
        until("the first one waits", || bed.value(waits) == "1");
        let second = b.query("update d.t set b = 1 where a = 1").expect("answered").code();
        let first = a.answer().expect("answered").code();
        assert!([first, second].contains(&1213), "{first} {second}");
        let log = bed.server.log();
        assert_eq!(log.contains("WE ROLL BACK") || log.contains("DEADLOCK"), told, "{log}");
    }
}

#[test]
fn packets_are_as_long_as_they_may_be() {
    let bed = Bed::new("packets", &["--max-allowed-packet=4096"]);
    let long = format!("select length('{}')", "x".repeat(5000));
    let answer = bed.wire().query(&long).expect("answered");
    assert_eq!(answer.code(), 1153);
    assert_eq!(bed.value(&format!("select length('{}')", "x".repeat(3000))), "3000");
}

/// A server that was told to look at lists of certificates that were taken back does not run without.
#[test]
fn a_server_that_cannot_look_at_revocations_does_not_start() {
    let dir = std::env::temp_dir().join(format!("vaquita-vars-crl-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    let bad = dir.join("bad.pem");
    std::fs::write(&bad, "no list").expect("a file");
    for (option, words) in [
        (format!("--ssl-crl={}", dir.join("none.pem").display()), "ssl_crl is given, and there is no TLS"),
        (format!("--ssl-crl={}", bad.display()), "holds no revocation list"),
        (
            format!("--ssl-crlpath={}", dir.join("none").display()),
            "ssl_crlpath is given, and there is no TLS",
        ),
        ("--ssl-cipher=AES128-SHA".to_owned(), "names no cipher that is known here"),
    ] {
        let options = ["--innodb-log-file-size=4M", &option];
        let refused = Vaquita::start(binary(), &dir.join("data"), &options).expect_err("refused").to_string();
        assert!(refused.contains(words), "{option}: {refused}");
    }
    std::fs::remove_dir_all(&dir).expect("it is there");
}

/// A server that was asked for TLS does not serve without.
#[test]
fn certificates_that_cannot_be_used_keep_a_server_from_starting() {
    let dir = std::env::temp_dir().join(format!("vaquita-vars-cert-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    let file = |name: &str| dir.join(name).display().to_string();
    // One as `openssl x509 -req` makes it without extensions.
    std::fs::write(file("v1.pem"), include_str!("certificates/version_1.pem")).expect("a file");
    std::fs::write(file("key.pem"), include_str!("certificates/version_1_key.pem")).expect("a file");
    std::fs::write(file("bad.pem"), "no certificate").expect("a file");
    let (cert, key) =
        (|name: &str| format!("--ssl-cert={}", file(name)), |name: &str| format!("--ssl-key={}", file(name)));
    for (options, words) in [
        (vec![cert("v1.pem"), key("key.pem")], "a certificate of X.509 version 1"),
        (vec![cert("v1.pem")], "ssl_cert is given, and no ssl_key"),
        (vec![key("key.pem")], "ssl_key is given, and no ssl_cert"),
        (vec![cert("none.pem"), key("key.pem")], "none.pem"),
        (vec![cert("bad.pem"), key("key.pem")], "holds no certificate"),
        (vec![format!("--ssl-ca={}", file("bad.pem"))], "ssl_ca is given, and there is no TLS"),
    ] {
        let mut all = vec!["--innodb-log-file-size=4M"];
        all.extend(options.iter().map(String::as_str));
        let refused = Vaquita::start(binary(), &dir.join("data"), &all).expect_err("refused").to_string();
        assert!(refused.contains(words), "{options:?}: {refused}");
    }
    std::fs::remove_dir_all(&dir).expect("it is there");
}

/// How a server that does not start ends: its exit code, and what it says.
fn start(dir: &Path, options: &[&str]) -> (Option<i32>, String) {
    let mut command = std::process::Command::new(binary());
    command.arg("serve").arg(dir).args([
        "--port=0",
        "--innodb-buffer-pool-size=16M",
        "--innodb-log-file-size=4M",
    ]);
    let output = command.args(options).output().expect("it runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A folder of somebody's files is not filled with a database; what servers and file systems put beside one is in nobody's way.
#[test]
fn a_database_is_made_in_no_folder_of_somebody_else() {
    let dir = std::env::temp_dir().join(format!("vaquita-vars-folder-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let fresh = |files: &[&str]| {
        let _ = std::fs::remove_dir_all(&dir);
        for file in files {
            let path = dir.join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, "x").expect("a file");
        }
        std::fs::create_dir_all(&dir).expect("a folder");
    };
    for (files, told) in [
        (vec!["src/main.rs"], "'src'"),
        (vec!["notes.md", ".git/config"], "'notes.md'"),
        (vec!["a", "b"], "'a' and another one"),
        (vec!["a", "b", "c/d/t.ibd", "server.log"], "'a' and 2 others"),
    ] {
        fresh(&files);
        let before = std::fs::read_dir(&dir).expect("a folder").count();
        let (code, said) = start(&dir, &[]);
        assert_eq!(code, Some(2), "{files:?}: {said}");
        assert!(said.contains("holds no database") && said.contains(told), "{files:?}: {said}");
        assert_eq!(std::fs::read_dir(&dir).expect("a folder").count(), before, "nothing is made there");
    }
    // Nor by the shell, which takes no address of another protocol for a folder either.
    for (target, words) in
        [(dir.to_str().expect("a name"), "holds no database"), ("postgres://h/d", "by no other protocol")]
    {
        let mut shell = std::process::Command::new(binary());
        let output = shell.args(["sql", target, "-e", "select 1"]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words), "{target}: {said}");
    }
    // `nothing to listen on`: the folder was taken.
    for files in [vec![], vec!["lost+found/x", ".snapshot/y", "old.err", "my.cnf", "server-key.pem"]] {
        fresh(&files);
        let (code, said) = start(&dir, &[]);
        assert!(code == Some(2) && said.contains("nothing to listen on"), "{files:?}: {said}");
        assert!(dir.join("ibdata1").exists());
    }
    std::fs::remove_dir_all(&dir).expect("it is there");
}

#[test]
fn a_server_runs_as_the_user_that_is_named() {
    let dir = std::env::temp_dir().join(format!("vaquita-vars-user-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let of =
        |path: &Path| std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(path).expect("it is there"));
    let is_root = of(Path::new("/proc/self")) == 0;
    let warning = "runs as root";
    let (code, said) = start(&dir, &[]);
    assert!(code == Some(2) && said.contains(warning) == is_root, "{said}");
    let (_, said) = start(&dir, &["--user=root"]);
    assert!(!said.contains(warning), "{said}");
    let (code, said) = start(&dir, &["--user=no-such-user"]);
    if !is_root {
        assert!(said.contains("--user=no-such-user is ignored"), "{said}");
    } else {
        assert!(code == Some(2) && said.contains("there is no user 'no-such-user'"), "{said}");
        let config = dir.with_extension("cnf");
        std::fs::write(&config, "[mysqld]\nuser = nobody\n").expect("a file");
        std::fs::remove_dir_all(&dir).expect("it is there");
        std::fs::create_dir(&dir).expect("a folder");
        let entry = std::fs::read_to_string("/etc/passwd").expect("a file");
        let entry = entry.lines().find(|line| line.starts_with("nobody:")).expect("nobody").to_owned();
        let uid: u32 = entry.split(':').nth(2).expect("a number").parse().expect("a number");
        std::os::unix::fs::chown(&dir, Some(uid), None).expect("a folder of nobody");
        let (_, said) = start(&dir, &[&format!("--config={}", config.display())]);
        assert!(!said.contains(warning) && said.contains("nothing to listen on"), "{said}");
        assert_eq!(of(&dir.join("ibdata1")), uid, "its files are the user's");
        std::fs::remove_file(&config).expect("it is there");
    }
    std::fs::remove_dir_all(&dir).expect("it is there");
}

/// What keeps a socket from being made names it.
#[test]
fn a_socket_that_cannot_be_made_is_named() {
    let dir = std::env::temp_dir().join(format!("vaquita-vars-socket-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let (code, said) = start(&dir, &["--socket=/no/such/folder/s"]);
    assert!(code == Some(2) && said.contains("socket /no/such/folder/s"), "{said}");
    std::fs::remove_dir_all(&dir).expect("it is there");
}
