//! libmemcached's own test of servers, against the protocols on a cache.

use crate::support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use support::{Local, now};
use vaquita_memcached::conn::{Conn, Next};
use vaquita_peers::Paths;

/// Serves one client.
fn serve(mut stream: TcpStream, local: &Local) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut conn, mut store) = (Conn::new(local.service.clone()), local.store());
    let (mut input, mut out) = (vec![0; 64 << 10], Vec::new());
    loop {
        let length = stream.read(&mut input)?;
        if length == 0 {
            return Ok(());
        }
        let mut piece = &input[..length];
        loop {
            local.seconds.set(now());
            let next = conn.advance(piece, now(), &mut store, &mut out);
            stream.write_all(&out)?;
            out.clear();
            match next {
                Next::Read => break,
                Next::Write => piece = &[],
                Next::Close => return Ok(()),
            }
        }
    }
}

/// A server on a free port, for as long as the test runs.
fn start() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let local = Arc::new(Local::new(now()));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let local = local.clone();
            std::thread::spawn(move || serve(stream, &local));
        }
    });
    port
}

fn run(protocol: &str) {
    let port = start().to_string();
    let mut command = Paths::installed().expect("peers").command("usr/bin/memccapable");
    let output = command.args(["-h", "127.0.0.1", "-p", &port, protocol, "-v"]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let passed = text.matches("[pass]").count();
    assert!(passed >= 25 && !text.contains("[FAIL]"), "{passed} passed\n{text}");
}

#[test]
fn text_protocol() {
    run("-a");
}

#[test]
fn binary_protocol() {
    run("-b");
}
