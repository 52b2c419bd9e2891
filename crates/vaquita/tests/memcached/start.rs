//! How the door is opened: options, ports, what is told.

use crate::memcached::{Bed, Talk, free_port, place};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// A server with options of its own only; its `ready:` line.
fn serve(name: &str, options: &[&str]) -> (Child, String, std::path::PathBuf) {
    let dir = std::env::temp_dir().join(format!("vaquita-mc-start-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let log = std::fs::File::create(dir.with_extension("log")).expect("a log");
    let mut command = Command::new(env!("CARGO_BIN_EXE_vaquita"));
    command.arg("serve").arg(&dir).arg(format!("--port={}", free_port())).args(options);
    let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("a server");
    let mut ready = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    output.read_line(&mut ready).expect("a line");
    (child, ready.trim_end().to_owned(), dir)
}

fn end(mut child: Child, dir: &std::path::Path) -> String {
    let _ = child.kill();
    let _ = child.wait();
    let log = std::fs::read_to_string(dir.with_extension("log")).expect("a log");
    let _ = std::fs::remove_dir_all(dir);
    let _ = std::fs::remove_file(dir.with_extension("log"));
    log
}

#[test]
fn no_door_that_nobody_asked_for() {
    let (child, ready, dir) = serve("unasked", &[]);
    assert!(ready.starts_with("ready: mysql=") && place(&ready).is_none(), "{ready}");
    assert!(!dir.join("innodb_memcache").exists());
    end(child, &dir);
}

#[test]
fn a_port_that_was_asked_for_must_be_free() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let (child, ready, dir) = serve("asked", &[&format!("--memcached-port={port}")]);
    let log = end(child, &dir);
    assert_eq!(ready, "");
    assert!(log.contains(&format!("Can't start the memcached door: 127.0.0.1:{port}")), "{log}");
}

#[test]
fn no_door_no_tables() {
    let (child, ready, dir) = serve("none", &["--memcached-port=0"]);
    assert!(place(&ready).is_none(), "{ready}");
    assert!(!dir.join("innodb_memcache").exists());
    end(child, &dir);
}

#[test]
fn options_of_the_plugin() {
    let port = free_port();
    let option = format!("--daemon-memcached-option=-p {port} -t 3 -c 77 -U 0 -l 127.0.0.1 -v -I 2m -m 64");
    let (child, ready, dir) = serve("plugin", &[&option]);
    let addr = place(&ready).expect("a door");
    assert_eq!(addr.port(), port);
    let settings = Talk::to(addr).ask("stats settings\r\n", "END");
    for line in ["maxconns 77", "num_threads 3", "item_size_max 2097152", "udpport 0", "inter 127.0.0.1"] {
        assert!(settings.contains(&format!("STAT {line}\r\n")), "{line}: {settings}");
    }
    let log = end(child, &dir);
    assert!(log.contains("daemon_memcached_option: -v has no meaning here"), "{log}");
}

#[test]
fn system_variables() {
    let bed = Bed::new("variables", &["--daemon-memcached-r-batch-size=5"]);
    let shown = |like: &str| bed.sql(&format!("show variables like '{like}'"));
    let daemon = "daemon_memcached_enable_binlog\tOFF\ndaemon_memcached_engine_lib_name\tinnodb_engine.so\n\
                  daemon_memcached_engine_lib_path\t\ndaemon_memcached_option\t\n\
                  daemon_memcached_r_batch_size\t5\ndaemon_memcached_w_batch_size\t1\n";
    assert_eq!(shown("daemon_memcached%"), daemon);
    let api = "innodb_api_bk_commit_interval\t5\ninnodb_api_disable_rowlock\tOFF\ninnodb_api_enable_binlog\tOFF\n\
               innodb_api_enable_mdl\tOFF\ninnodb_api_trx_level\t0\n";
    assert_eq!(shown("innodb_api%"), api);
    assert_eq!(shown("memcached_port"), format!("memcached_port\t{}\n", bed.port()));
    for (variable, value) in [("daemon_memcached_w_batch_size", "2"), ("innodb_api_enable_mdl", "on")] {
        let error = bed.server.sql(&format!("set global {variable} = {value}")).expect_err("fixed at start");
        assert!(error.to_string().contains("read only"), "{error}");
    }
    bed.sql("set global innodb_api_trx_level = 3");
    assert_eq!(shown("innodb_api_trx_level"), "innodb_api_trx_level\t3\n");
}
