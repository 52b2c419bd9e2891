//! Digests of passwords that somebody has shown, so that later logins need a proof only (`caching_sha2_password`).

use parking_lot::Mutex;
use std::collections::HashMap;
use vaquita_sql::accounts::Account;
use vaquita_sql::password::Sha2Digest;

/// Digests by stored password: a changed password has another stored form, so that old digests are never found.
#[derive(Debug, Default)]
pub(crate) struct Sha2Cache {
    digests: Mutex<HashMap<Key, Sha2Digest>>,
}

type Key = (String, String, Vec<u8>);

/// Most digests kept.
const DIGESTS_MAX: usize = 10_000;

fn key(account: &Account) -> Key {
    (account.user.clone(), account.host.clone(), account.authentication.clone())
}

impl Sha2Cache {
    pub(crate) fn get(&self, account: &Account) -> Option<Sha2Digest> {
        self.digests.lock().get(&key(account)).copied()
    }

    pub(crate) fn put(&self, account: &Account, digest: Sha2Digest) {
        let mut digests = self.digests.lock();
        if digests.len() >= DIGESTS_MAX {
            digests.clear();
        }
        digests.insert(key(account), digest);
    }
}
