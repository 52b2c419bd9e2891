//! Stock clients.

use crate::memcached::{Bed, run};
use std::sync::OnceLock;
use vaquita_clients::{MemcachedClients, install_memcached_clients};

/// Installed once, whichever test comes first.
pub(crate) fn installed() -> &'static MemcachedClients {
    static CLIENTS: OnceLock<MemcachedClients> = OnceLock::new();
    CLIENTS.get_or_init(|| install_memcached_clients().expect("the clients"))
}

#[test]
fn memccapable_passes_all_tests() {
    let bed = Bed::new("capable", &[]);
    let mut capable = installed().tool("memccapable");
    let (passed, text) = run(capable.args(["-h", "127.0.0.1", "-p", &bed.port().to_string()]));
    assert!(passed && text.contains("All tests passed") && !text.contains("[FAIL]"), "{text}");
    // 27 of text, 27 of the binary protocol.
    assert_eq!(text.matches("[pass]").count(), 54, "{text}");
}

#[test]
fn tools_of_libmemcached() {
    let bed = Bed::new("tools", &[]);
    let file = bed.dir.join("note.txt");
    std::fs::write(&file, "from a file\n").expect("a file");
    let servers = format!("--servers=127.0.0.1:{}", bed.port());
    assert!(run(installed().tool("memcping").arg(&servers)).0);
    for binary in [&[][..], &["--binary"]] {
        let tool = |name: &str, args: &[&str]| {
            let mut command = installed().tool(name);
            run(command.arg(&servers).args(binary).args(args))
        };
        let (done, text) = tool("memccp", &[&file.display().to_string()]);
        assert!(done, "{text}");
        assert_eq!(
            bed.sql("select c2 from test.demo_test where c1 = 'note.txt'").trim_end(),
            "from a file\\n"
        );
        assert_eq!(tool("memccat", &["note.txt"]), (true, "from a file\n\n".into()));
        assert!(tool("memcexist", &["note.txt"]).0);
        assert!(tool("memctouch", &["--expire=1000", "note.txt"]).0);
        let (done, text) = tool("memcstat", &[]);
        assert!(done && text.contains("curr_connections: 1"), "{text}");
        assert!(tool("memcrm", &["note.txt"]).0);
        assert!(!tool("memcexist", &["note.txt"]).0);
        assert!(tool("memcflush", &[]).0);
        assert_eq!(bed.sql("select count(*) from test.demo_test").trim_end(), "0");
    }
}

#[test]
fn clients_of_python() {
    let bed = Bed::new("python", &[]);
    for client in ["pymemcache", "bmemcached"] {
        let (done, text) = run(&mut installed().python(client, bed.port()));
        assert!(done && text.ends_with("ok\n"), "{client}: {text}");
    }
    let mut under_tls = installed().python("pymemcache-tls", bed.port());
    let (done, text) = run(under_tls.arg(bed.dir.join("data/ca.pem")));
    assert!(done && text.ends_with("ok\n"), "under TLS: {text}");
}
