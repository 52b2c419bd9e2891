//! Who may come in by SASL: the names of a password file, or the server's own accounts.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use vaquita_memcached::store::{Peer, Users};
use vaquita_sql::password::{CACHING_SHA2, NATIVE, native_stored, sha2_check_password};
use vaquita_sql::{Database, Transport};

/// A file of lines `user:password`, as `MEMCACHED_SASL_PWDB` names one; more fields may follow.
#[derive(Default)]
pub(super) struct PasswordFile(HashMap<Vec<u8>, Vec<u8>>);

impl fmt::Debug for PasswordFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PasswordFile({} users)", self.0.len())
    }
}

impl PasswordFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or names nobody.
    pub(super) fn read(path: &Path) -> Result<PasswordFile, String> {
        let told = |why: &dyn fmt::Display| format!("{}: {why}", path.display());
        let text = std::fs::read(path).map_err(|e| told(&e))?;
        let users = PasswordFile::parse(&text);
        if users.0.is_empty() {
            return Err(told(&"no line is user:password"));
        }
        Ok(users)
    }

    fn parse(text: &[u8]) -> PasswordFile {
        let mut users = HashMap::new();
        for line in text.split(|&b| b == b'\n') {
            let mut fields = line.strip_suffix(b"\r").unwrap_or(line).split(|&b| b == b':');
            if let (Some(user), Some(password)) = (fields.next(), fields.next())
                && !user.is_empty()
            {
                users.insert(user.to_vec(), password.to_vec());
            }
        }
        PasswordFile(users)
    }
}

impl Users for PasswordFile {
    fn check(&self, user: &[u8], password: &[u8], _: &Peer) -> bool {
        self.0.get(user).is_some_and(|right| same(right, password))
    }
}

/// The accounts of `mysql.user`, by the host the client comes from.
pub(super) struct ServerAccounts(pub(super) Arc<Database>);

impl fmt::Debug for ServerAccounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerAccounts")
    }
}

impl Users for ServerAccounts {
    fn check(&self, user: &[u8], password: &[u8], peer: &Peer) -> bool {
        let Ok(user) = std::str::from_utf8(user) else { return false };
        let transport = match peer.addr {
            None => Transport::Socket,
            Some(addr) if peer.tls => Transport::Tls(addr),
            Some(addr) => Transport::Tcp(addr),
        };
        let host = match peer.addr {
            Some(addr) if !addr.ip().is_loopback() => addr.ip().to_string(),
            _ => "localhost".to_owned(),
        };
        let Some(account) = self.0.accounts().find(user, &host, &transport) else { return false };
        if account.locked || account.password_expired || account.require_ssl && !peer.tls {
            return false;
        }
        let stored = account.authentication.as_slice();
        if stored.is_empty() {
            return password.is_empty();
        }
        match account.plugin.as_str() {
            NATIVE => !password.is_empty() && same(stored, &native_stored(password)),
            CACHING_SHA2 => {
                // Thousands of rounds of hashing.
                vaquita_net::hand_over_if_busy();
                sha2_check_password(stored, password)
            }
            _ => false,
        }
    }
}

/// Compares in a time that does not tell where two texts differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_file() {
        let users = PasswordFile::parse(b"testname:testpasswd:::::::\r\nother:a b\n\n:x\nnone\n");
        let peer = Peer { addr: None, tls: false };
        assert!(users.check(b"testname", b"testpasswd", &peer));
        assert!(users.check(b"other", b"a b", &peer));
        for (user, password) in [("testname", "testpassw"), ("", "x"), ("none", ""), ("who", "x")] {
            assert!(!users.check(user.as_bytes(), password.as_bytes(), &peer), "{user}");
        }
        assert!(PasswordFile::read("/no/such/file".as_ref()).is_err());
    }
}
