//! SASL: the users of a password file, the server's accounts.

use crate::clients::installed;
use crate::{Bed, run};

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

#[test]
fn nothing_works_before_a_login() {
    let bed = Bed::new("before", &["--memcached-sasl"]);
    let mut talk = bed.connect();
    let answer = talk.ask("get AA\r\n", "");
    assert!(!answer.contains("HELLO") && !answer.contains("END"), "{answer}");
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
