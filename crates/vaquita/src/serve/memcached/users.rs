//! Who may come in by SASL: the names of a password file, or the server's own accounts.

use std::collections::HashMap;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use vaquita_memcached::store::{Peer, Users};
use vaquita_server::ErrorLog;
use vaquita_sql::accounts::Demand;
use vaquita_sql::password::{CACHING_SHA2, NATIVE, native_stored, sha2_check_password};
use vaquita_sql::{Database, Transport};

/// Names and passwords of a file of lines `user:password`; more fields may follow.
#[derive(Default)]
struct Passwords(HashMap<Vec<u8>, Vec<u8>>);

/// What tells that a file was changed.
type Stamp = (Option<SystemTime>, u64, u64);

/// A password file, as `MEMCACHED_SASL_PWDB` names one. It is read again when it has changed.
pub(super) struct PasswordFile {
    path: PathBuf,
    read: Mutex<(Stamp, Passwords)>,
    log: Arc<ErrorLog>,
}

impl fmt::Debug for PasswordFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PasswordFile({})", self.path.display())
    }
}

impl PasswordFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or names nobody.
    pub(super) fn read(path: &Path, log: &Arc<ErrorLog>) -> Result<PasswordFile, String> {
        let read = Mutex::new((stamp(path), Passwords::read(path)?));
        Ok(PasswordFile { path: path.to_owned(), read, log: log.clone() })
    }
}

fn stamp(path: &Path) -> Stamp {
    let found = std::fs::metadata(path);
    found.map_or((None, 0, 0), |m| (m.modified().ok(), m.len(), m.ino()))
}

impl Passwords {
    fn read(path: &Path) -> Result<Passwords, String> {
        let told = |why: &dyn fmt::Display| format!("{}: {why}", path.display());
        let text = std::fs::read(path).map_err(|e| told(&e))?;
        let users = Passwords::parse(&text);
        if users.0.is_empty() {
            return Err(told(&"no line is user:password"));
        }
        Ok(users)
    }

    fn parse(text: &[u8]) -> Passwords {
        let mut users = HashMap::new();
        for line in text.split(|&b| b == b'\n') {
            let mut fields = line.strip_suffix(b"\r").unwrap_or(line).split(|&b| b == b':');
            if let (Some(user), Some(password)) = (fields.next(), fields.next())
                && !user.is_empty()
            {
                users.insert(user.to_vec(), password.to_vec());
            }
        }
        Passwords(users)
    }

    fn has(&self, user: &[u8], password: &[u8]) -> bool {
        self.0.get(user).is_some_and(|right| same(right, password))
    }
}

impl Users for PasswordFile {
    fn check(&self, user: &[u8], password: &[u8], _: &Peer) -> bool {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamp(&self.path);
        if now != read.0 {
            // A file that is gone or empty lets nobody in: whoever took it away did not mean the old one.
            let users = Passwords::read(&self.path).unwrap_or_else(|why| {
                self.log.warning(&format!("memcached: nobody can log in: {why}"));
                Passwords::default()
            });
            *read = (now, users);
        }
        read.1.has(user, password)
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
        // Certificates are not asked for at this door: who demands one is not let in without.
        let unmet = account.demand != Demand::Nothing && !peer.tls || account.demand.wants_certificate();
        if account.locked || account.password_expired || unmet {
            return false;
        }
        if account.unchecked {
            return true;
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
        let users = Passwords::parse(b"testname:testpasswd:::::::\r\nother:a b\n\n:x\nnone\n");
        assert!(users.has(b"testname", b"testpasswd"));
        assert!(users.has(b"other", b"a b"));
        for (user, password) in [("testname", "testpassw"), ("", "x"), ("none", ""), ("who", "x")] {
            assert!(!users.has(user.as_bytes(), password.as_bytes()), "{user}");
        }
        assert!(Passwords::read("/no/such/file".as_ref()).is_err());
    }

    #[test]
    fn a_changed_password_file_is_read_again() {
        let path = std::env::temp_dir().join(format!("vaquita-mc-passwords-{}", std::process::id()));
        std::fs::write(&path, "a:one\n").unwrap();
        let file = PasswordFile::read(&path, &Arc::new(ErrorLog::nowhere())).unwrap();
        let peer = Peer { addr: None, tls: false };
        assert!(file.check(b"a", b"one", &peer) && !file.check(b"b", b"second", &peer));
        std::fs::write(&path, "b:second\n").unwrap();
        assert!(!file.check(b"a", b"one", &peer) && file.check(b"b", b"second", &peer));
        std::fs::remove_file(&path).unwrap();
        assert!(!file.check(b"b", b"second", &peer));
    }
}
