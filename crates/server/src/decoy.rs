//! Accounts for those who have none.
//!
//! Whoever asks for a user that does not exist is asked back like anybody else: by the method that some account has,
//! always the same one for the same name, and with a stored password that nothing matches. Otherwise the questions would tell
//! which users there are.

use crate::backend::Backend;
use std::io;
use vaquita_sql::accounts::{Account, Demand};
use vaquita_sql::password::{CACHING_SHA2, CHALLENGE_LEN, sha2_digest};

/// What makes such accounts.
#[derive(Debug)]
pub(crate) struct Decoys {
    /// Without it nobody can tell which name gets which method.
    key: [u8; CHALLENGE_LEN],
    /// Printable, as parts of stored passwords.
    salt: [u8; CHALLENGE_LEN],
}

impl Decoys {
    pub(crate) fn new() -> io::Result<Decoys> {
        Ok(Decoys { key: crate::challenge::challenge()?, salt: crate::challenge::challenge()? })
    }

    /// The account of somebody who has none.
    pub(crate) fn account(&self, user: &str, backend: &dyn Backend) -> Account {
        self.by(user, |draw| backend.method_by(draw))
    }

    fn by(&self, user: &str, method: impl FnOnce(u64) -> String) -> Account {
        let digest = sha2_digest(&[&self.key[..], user.as_bytes()].concat());
        let draw = digest.iter().take(8).fold(0, |n, b| n << 8 | u64::from(*b));
        let plugin = method(draw);
        let hex: String = digest.iter().chain(&self.key).map(|b| format!("{b:02X}")).collect();
        let authentication = match plugin.as_str() {
            // Nobody has a password whose hash this is.
            CACHING_SHA2 => [b"$A$005$", &self.salt[..], &hex.as_bytes()[..43]].concat(),
            _ => format!("*{}", &hex[..40]).into_bytes(),
        };
        Account {
            user: user.to_owned(),
            host: "%".to_owned(),
            plugin,
            authentication,
            demand: Demand::Nothing,
            password_expired: false,
            locked: false,
            unchecked: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_sql::password::{NATIVE, is_native_stored, is_sha2_stored};

    #[test]
    fn stored_passwords_look_like_stored_passwords() {
        let decoys = Decoys::new().expect("random bytes");
        let [native, sha2] = [NATIVE, CACHING_SHA2].map(|m| decoys.by("somebody", |_| m.to_owned()));
        assert!(is_native_stored(&native.authentication) && !native.authentication.is_empty());
        assert!(is_sha2_stored(&sha2.authentication) && !sha2.authentication.is_empty());
        assert_eq!(decoys.by("somebody", |_| NATIVE.to_owned()), native, "always the same");
    }
}
