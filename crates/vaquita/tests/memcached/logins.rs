//! SASL: the users of a password file, the server's accounts.

use crate::memcached::clients::installed;
use crate::memcached::{Bed, run};

const REFUSED: &str = "AUTHENTICATION FAILURE";

/// The article's session: memccp and memccat with a name and a password.
#[test]
fn users_of_a_password_file() {
    let dir = std::env::temp_dir().join(format!("vaquita-mc-users-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let (users, file) = (dir.join("memcached-sasl-db"), dir.join("myfile.txt"));
    std::fs::write(&users, "testname:testpasswd:::::::\n").expect("a file");
    std::fs::write(&file, "a file of mine").expect("a file");
    let users = format!("--memcached-sasl-pwdb={}", users.display());
    let bed = Bed::new("pwdb", &["--daemon-memcached-option=-S", &users]);
    let servers = format!("--servers=127.0.0.1:{}", bed.port());
    let tool = |name: &str, user: &str, password: &str, what: &str| {
        let (user, password) = (format!("--username={user}"), format!("--password={password}"));
        run(installed().tool(name).args([&servers, "--binary", &user, &password, what]))
    };
    let file_name = file.display().to_string();
    let (done, text) = tool("memccp", "testname", "testpasswd", &file_name);
    assert!(done, "{text}");
    assert_eq!(tool("memccat", "testname", "testpasswd", "myfile.txt"), (true, "a file of mine\n".into()));
    for (user, password) in [("testname", "wrong"), ("nobody", "testpasswd"), ("testname", "testpasswd ")] {
        let (done, text) = tool("memccp", user, password, &file_name);
        assert!(!done && text.contains(REFUSED), "{user} {password}: {text}");
        let (done, text) = tool("memccat", user, password, "myfile.txt");
        assert!(!done && !text.contains("a file of mine"), "{user} {password}: {text}");
    }
    assert!(bed.stat_under_sasl("auth_errors") >= 6);
    let _ = std::fs::remove_dir_all(&dir);
}

#[test]
fn accounts_of_the_server() {
    let bed = Bed::new("accounts", &["--memcached-sasl"]);
    bed.sql(
        "create user native@localhost identified with mysql_native_password by 'se cret';
         create user caching@localhost identified with caching_sha2_password by 'se cret';
         create user elsewhere@'10.1.2.3' identified with mysql_native_password by 'se cret';
         create user locked@localhost identified with mysql_native_password by 'se cret' account lock;
         create user undertls@localhost identified with mysql_native_password by 'se cret' require ssl;",
    );
    let check = |user: &str, password: &str| {
        let mut python = installed().python("bmemcached", bed.port());
        let (done, text) = run(python.args([user, password]));
        done && text.ends_with("ok\n")
    };
    for user in ["native", "caching"] {
        assert!(check(user, "se cret"), "{user}");
        assert!(!check(user, "secret"), "{user}");
    }
    for user in ["elsewhere", "locked", "undertls", "nobody"] {
        assert!(!check(user, "se cret"), "{user}");
    }
    // A changed password counts at once.
    bed.sql("set password for native@localhost = 'another'");
    assert!(check("native", "another") && !check("native", "se cret"));
}

/// Logins under TLS and at a socket file; an account that wants TLS has it there, and not in clear.
#[test]
fn logins_under_tls_and_at_a_socket_file() {
    let bed = Bed::new("places", &["--memcached-sasl", "--memcached-socket=mc.sock"]);
    bed.sql(
        "create user plain@localhost identified with mysql_native_password by 'se cret';
         create user undertls@localhost identified with mysql_native_password by 'se cret' require ssl;
         create user certified@localhost identified with mysql_native_password by 'se cret' require x509;
         create user named@localhost identified with mysql_native_password by 'se cret' require subject '/CN=x';",
    );
    let (ca, socket) = (bed.dir.join("data/ca.pem"), bed.dir.join("data/mc.sock"));
    let (ca, socket) = (ca.display().to_string(), socket.display().to_string());
    let port = bed.port().to_string();
    let check = |place: &str, words: &[&str]| {
        let (done, text) = run(installed().python_at("bmemcached", place).args(words));
        done && text.ends_with("ok\n")
    };
    for user in ["plain", "undertls"] {
        assert!(check(&port, &[user, "se cret", &ca]), "{user}");
        assert!(!check(&port, &[user, "secret", &ca]), "{user} with a wrong password");
    }
    for user in ["certified", "named"] {
        assert!(!check(&port, &[user, "se cret", &ca]) && !check(&socket, &[user, "se cret"]), "{user}");
    }
    assert!(check(&socket, &["plain", "se cret"]));
    assert!(!check(&socket, &["plain", "secret"]));
    assert!(!check(&socket, &[]));
    assert!(!check(&socket, &["undertls", "se cret"]));
    assert!(!check(&port, &["undertls", "se cret"]));
}

#[test]
fn nothing_works_before_a_login() {
    let bed = Bed::new("before", &["--memcached-sasl"]);
    let mut talk = bed.connect();
    let answer = talk.ask("get AA\r\n", "");
    assert!(!answer.contains("HELLO") && !answer.contains("END"), "{answer}");
    // Neither text nor meta commands, right or wrong; and the connection ends.
    for command in [
        "version",
        "stats",
        "mn",
        "mg AA v",
        "md AA",
        "ma AA",
        "bind default",
        "rget - -",
        "mr - -",
        "flush_all",
        "delete AA",
        "touch AA 0",
        "quit",
        "nonsense",
        "",
        "get @@default.AA",
        "verbosity 1",
    ] {
        let answer = bed.ask(&format!("{command}\r\n"), "nothing");
        assert_eq!(answer, "CLIENT_ERROR unauthenticated\r\n", "{command}");
    }
    for command in ["set AA 0 0 1\r\nx\r\n", "ms AA 1\r\nx\r\n", "set AA 0 0 1 noreply\r\nx\r\nget AA\r\n"] {
        assert_eq!(bed.ask(command, "nothing"), "CLIENT_ERROR unauthenticated\r\n", "{command}");
    }
    // Nor frames: 0x20, and the end.
    for opcode in (0x00..=0x1e_u8).chain([0x23, 0x24]).filter(|opcode| ![0x0b].contains(opcode)) {
        let mut frame = [0; 24 + 2];
        (frame[0], frame[1], frame[3], frame[11]) = (0x80, opcode, 2, 2);
        frame[24..].copy_from_slice(b"AA");
        let mut talk = bed.connect();
        talk.say(frame);
        let mut answer = Vec::new();
        // Whoever hangs up amid our frame resets the connection: what came is what counts.
        let _ = std::io::Read::read_to_end(&mut talk.0, &mut answer);
        assert_eq!(
            (answer[1], &answer[6..8], answer.len()),
            (opcode, &b"\0\x20"[..], 24 + 13),
            "{opcode:#x}"
        );
        assert!(answer.ends_with(b"Auth failure."));
    }
    assert!(!run(&mut installed().python("pymemcache", bed.port())).0);
    assert!(!run(&mut installed().python("bmemcached", bed.port())).0);
    assert_eq!(bed.sql("select c2 from test.demo_test"), "HELLO, HELLO\n");
}

impl Bed {
    /// A number of `stats`, where the text protocol is closed: asked for by a tool.
    fn stat_under_sasl(&self, name: &str) -> u64 {
        let servers = format!("--servers=127.0.0.1:{}", self.port());
        let mut stat = installed().tool("memcstat");
        let login = ["--binary", "--username=testname", "--password=testpasswd"];
        let (_, text) = run(stat.arg(servers).args(login));
        let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
        line.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
    }
}
