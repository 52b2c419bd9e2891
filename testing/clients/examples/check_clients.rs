//! Runs all programs against a server: `check_clients PORT USER PASSWORD [tls]`. The server needs a database `clients`.

use std::process::ExitCode;
use vaquita_clients::{Channel, Login, install};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ([port, user, password] | [port, user, password, "tls"]) = words.as_slice() else {
        eprintln!("usage: check_clients PORT USER PASSWORD [tls]");
        return ExitCode::from(2);
    };
    let Ok(port) = port.parse() else {
        eprintln!("{port} is no port");
        return ExitCode::from(2);
    };
    let login =
        Login { port, user, password, channel: if words.len() == 4 { Channel::Tls } else { Channel::Clear } };
    match install().and_then(|clients| clients.check(&login)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
