//! A server that may not have much memory: a statement that wants more ends with an error, and the server lives.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use vaquita_clients::Vaquita;

/// The server in an address space of 3 GB; the folder goes with it.
struct Place {
    server: Vaquita,
    dir: PathBuf,
}

impl Place {
    fn start() -> Place {
        let dir = std::env::temp_dir().join(format!("vaquita-little-memory-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let limited = dir.join("limited");
        let binary = env!("CARGO_BIN_EXE_vaquita");
        std::fs::write(&limited, format!("#!/bin/sh\nulimit -v 3000000\nexec '{binary}' \"$@\"\n")).unwrap();
        std::fs::set_permissions(&limited, std::fs::Permissions::from_mode(0o755)).unwrap();
        // Without the limit of what sessions take together, which would come first.
        let no_limit = format!("--global-connection-memory-limit={}", u64::MAX);
        let options = ["--max-allowed-packet=1G", "--innodb-buffer-pool-size=64M", &no_limit];
        let server = Vaquita::start(Path::new(&limited), &dir.join("data"), &options).unwrap();
        Place { server, dir }
    }

    fn run(&self, sql: &str) -> Output {
        self.server.client("mariadb").unwrap().args(["--force", "--batch", "-N", "-e", sql]).output().unwrap()
    }

    /// The error that a statement ends with.
    fn error(&self, sql: &str) -> String {
        let output = self.run(sql);
        let shown: String = sql.chars().take(100).collect();
        assert!(!output.status.success(), "{shown}: {} bytes of output", output.stdout.len());
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What it says no test asks for.
        let _ = self.server.stop();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

#[test]
fn what_cannot_be_had_ends_its_statement() {
    let place = Place::start();
    let pid = place.server.pid();
    let variables: String = (0..12).map(|i| format!("SET @v{i} = REPEAT('a', 300000000); ")).collect();
    let row = vec!["REPEAT('a', 4194304)"; 600].join(", ");
    let ten = "(SELECT 1 i UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7) t";
    let statements = [
        "SELECT LENGTH(HEX(HEX(HEX(REPEAT('a', 200000000)))))".to_owned(),
        variables,
        format!(
            "SET group_concat_max_len = 4294967295; SELECT LENGTH(GROUP_CONCAT(REPEAT(i, 500000000))) FROM {ten}"
        ),
        format!("SELECT {row}"),
    ];
    for sql in statements {
        let shown: String = sql.chars().take(100).collect();
        let error = place.error(&sql);
        assert!(error.contains("ERROR 5 (HY000)") && error.contains("Out of memory"), "{shown}: {error}");
        // Another session has what there was.
        assert_eq!(String::from_utf8_lossy(&place.run("SELECT 1").stdout), "1\n", "{shown}");
        assert_eq!(place.server.pid(), pid);
    }
}
