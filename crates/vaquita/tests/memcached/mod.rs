//! The memcached door of `vaquita serve` as its users meet it: stock clients, the sessions of the articles about InnoDB's plugin,
//! logins, TLS, many connections, slow clients, kill -9.

mod clients;
mod crash;
mod crowds;
mod logins;
mod sessions;
mod settings;
mod start;
mod words;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use vaquita_clients::Vaquita;

/// A folder with a server. Both go when it is dropped.
struct Bed {
    dir: PathBuf,
    server: Vaquita,
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

impl Bed {
    /// With a door on a free port.
    fn new(name: &str, options: &[&str]) -> Bed {
        let dir = std::env::temp_dir().join(format!("vaquita-mc-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a folder");
        let binary = Path::new(env!("CARGO_BIN_EXE_vaquita"));
        let server = Vaquita::start_with_memcached(binary, &dir.join("data"), options).expect("a server");
        Bed { dir, server }
    }

    /// Another one after each start.
    fn addr(&self) -> SocketAddr {
        place(self.server.ready()).expect("a door")
    }

    fn port(&self) -> u16 {
        self.addr().port()
    }

    fn connect(&self) -> Talk {
        Talk::to(self.addr())
    }

    /// Answers to a text, up to what the last line begins with.
    fn ask(&self, text: &str, last: &str) -> String {
        self.connect().ask(text, last)
    }

    fn sql(&self, statements: &str) -> String {
        self.server.sql(statements).expect(statements)
    }

    /// A number of `stats`.
    fn stat(&self, name: &str) -> u64 {
        let stats = self.ask("stats\r\n", "END");
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
        line.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("no {name} in {stats}"))
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.server.kill();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Where the `ready:` line says that the door is.
fn place(ready: &str) -> Option<SocketAddr> {
    ready.split(' ').find_map(|word| word.strip_prefix("memcached="))?.parse().ok()
}

/// A plain client.
struct Talk(TcpStream);

impl Talk {
    fn to(addr: SocketAddr) -> Talk {
        let stream = TcpStream::connect(addr).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream.set_nodelay(true).expect("a socket");
        Talk(stream)
    }

    fn say(&mut self, text: impl AsRef<[u8]>) {
        self.0.write_all(text.as_ref()).expect("a send");
    }

    /// What comes until its last line begins with `last` and is whole, or until the other side closes.
    fn hear(&mut self, last: &str) -> String {
        let mut heard = Vec::new();
        let mut piece = [0; 65_536];
        loop {
            let n = match self.0.read(&mut piece) {
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => 0,
                Err(e) => panic!("{e} after {}", String::from_utf8_lossy(&heard)),
            };
            heard.extend_from_slice(&piece[..n]);
            let text = String::from_utf8_lossy(&heard);
            let ended =
                text.ends_with("\r\n") && text.lines().next_back().is_some_and(|l| l.starts_with(last));
            if n == 0 || ended {
                return text.into_owned();
            }
        }
    }

    fn ask(&mut self, text: &str, last: &str) -> String {
        self.say(text);
        self.hear(last)
    }
}

fn run(command: &mut Command) -> (bool, String) {
    let Output { status, stdout, stderr } = command.output().expect("a program");
    let text = [stdout, stderr].concat();
    (status.success(), String::from_utf8_lossy(&text).into_owned())
}
