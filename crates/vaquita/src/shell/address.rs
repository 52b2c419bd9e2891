//! Which server, and who asks: an address, options.

use std::fmt;
use std::path::PathBuf;

/// What the command line says of a server besides, or instead of, its `mysql://` address.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ServerArgs {
    /// Talk to the server on this Unix socket
    #[arg(short = 'S', long, value_name = "PATH", conflicts_with_all = ["host", "port"])]
    socket: Option<PathBuf>,
    /// Talk to the server on this host
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Its port
    #[arg(short = 'P', long, value_name = "N")]
    port: Option<u16>,
    /// Log in to the server as this user
    #[arg(short, long, value_name = "NAME")]
    user: Option<String>,
    /// The user's password; where others could see it, the environment's MYSQL_PWD is better
    #[arg(short, long, value_name = "TEXT")]
    password: Option<String>,
}

impl ServerArgs {
    /// Whether any of them is there.
    pub(super) fn is_given(&self) -> bool {
        let ServerArgs { socket, host, port, user, password } = self;
        socket.is_some() || host.is_some() || port.is_some() || user.is_some() || password.is_some()
    }
}

/// Where a server is and who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) user: String,
    pub(super) password: String,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) database: Option<String>,
    /// In the place of host and port.
    pub(super) socket: Option<PathBuf>,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.socket {
            Some(path) => write!(f, "{}", path.display()),
            None => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl Address {
    /// Reads `mysql://USER[:PASSWORD]@HOST[:PORT][/DATABASE]`; `%XX` in user and password stands for a byte.
    pub(super) fn parse(url: &str) -> Result<Address, String> {
        let bad =
            |why: &str| format!("{url}: {why}; wanted is mysql://USER[:PASSWORD]@HOST[:PORT][/DATABASE]");
        let rest = url.strip_prefix("mysql://").ok_or_else(|| bad("no mysql://"))?;
        let (place, database) = match rest.split_once('/') {
            Some((place, database)) => (place, Some(database.to_owned()).filter(|d| !d.is_empty())),
            None => (rest, None),
        };
        let (who, at) = place.rsplit_once('@').unwrap_or(("root", place));
        let (user, password) = who.split_once(':').unwrap_or((who, ""));
        let (host, port) = match at.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| bad("the port is no number"))?),
            None => (at, 3306),
        };
        let plain =
            |text: &str| unescape(text).ok_or_else(|| bad("a % is not followed by two hexadecimal digits"));
        Ok(Address {
            user: plain(user)?,
            password: plain(password)?,
            host: if host.is_empty() { "127.0.0.1".to_owned() } else { host.to_owned() },
            port,
            database,
            socket: None,
        })
    }

    /// The address with what the command line says more exactly.
    ///
    /// # Errors
    /// For people: the address cannot be understood.
    pub(super) fn of(url: Option<&str>, args: &ServerArgs) -> Result<Address, String> {
        let mut address = Address::parse(url.unwrap_or("mysql://root@127.0.0.1"))?;
        if let Ok(password) = std::env::var("MYSQL_PWD")
            && address.password.is_empty()
        {
            address.password = password;
        }
        let ServerArgs { socket, host, port, user, password } = args.clone();
        address.socket = socket;
        address.host = host.unwrap_or(address.host);
        address.port = port.unwrap_or(address.port);
        address.user = user.unwrap_or(address.user);
        address.password = password.unwrap_or(address.password);
        Ok(address)
    }
}

fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| char::from(b?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        out.push((high * 16 + low) as u8);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_say_it_more_exactly() {
        let args = ServerArgs { port: Some(3307), user: Some("me".into()), ..ServerArgs::default() };
        assert!(args.is_given() && !ServerArgs::default().is_given());
        let address = Address::of(None, &args).expect("an address");
        assert_eq!((address.to_string().as_str(), address.user.as_str()), ("127.0.0.1:3307", "me"));
        let args = ServerArgs { socket: Some("/run/s".into()), ..ServerArgs::default() };
        let address = Address::of(Some("mysql://me:pw@h/shop"), &args).expect("an address");
        assert_eq!(address.to_string(), "/run/s");
        assert_eq!(
            (address.user.as_str(), address.password.as_str(), address.database.as_deref()),
            ("me", "pw", Some("shop"))
        );
    }

    #[test]
    fn addresses() {
        let full = Address::parse("mysql://me:a%40b%3a@db.example:3307/shop").expect("an address");
        assert_eq!((full.user.as_str(), full.password.as_str()), ("me", "a@b:"));
        assert_eq!(
            (full.host.as_str(), full.port, full.database.as_deref()),
            ("db.example", 3307, Some("shop"))
        );
        let short = Address::parse("mysql://localhost").expect("an address");
        assert_eq!((short.user.as_str(), short.port, short.database), ("root", 3306, None));
        let wrong = Address::parse("mysql://h:x").expect_err("no port");
        assert!(wrong.contains("the port is no number"), "{wrong}");
        assert!(Address::parse("mysql://a%4@h").is_err());
    }
}
