//! The door in front of a house with few statements: protocol, logins, loops, bad clients.

mod bad_clients;
mod client;
mod house;
mod logins;
mod loops;
mod reports;
mod results;

use client::Client;
use house::House;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use vaquita_server::{Server, ServerOptions};

/// A server with a house behind it.
struct Door {
    house: House,
    server: Server,
}

impl Door {
    fn open() -> Door {
        Door::with(ServerOptions::default())
    }

    fn with(options: ServerOptions) -> Door {
        let house = House::new();
        let server = Server::start(Arc::new(house.clone()), options).expect("the server starts");
        Door { house, server }
    }

    fn addr(&self) -> SocketAddr {
        self.server.addr().expect("it listens on TCP")
    }

    fn client(&self) -> Client<TcpStream> {
        Client::connect(self.addr())
    }

    /// Waits until so many clients are connected: a client sees its end before the server has counted it out.
    fn until_connected(&self, n: usize) {
        until(|| self.server.connected() == n);
    }
}

/// Waits until something is so; it must be within a minute.
fn until(so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < end, "it does not come true");
        std::thread::yield_now();
    }
}
