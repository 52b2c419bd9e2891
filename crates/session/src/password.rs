//! Passwords: how they are stored, and how a client proves that it knows one.
//!
//! | plugin | stored | proof to a challenge of 20 bytes |
//! |---|---|---|
//! | `mysql_native_password` | `*` and SHA1(SHA1(password)) in upper-case hex | SHA1(password) xor SHA1(challenge, SHA1(SHA1(password))) |
//! | `caching_sha2_password` | `$A$005$`, 20 bytes of salt, 43 characters of SHA-crypt with 5,000 rounds | SHA256(password) xor SHA256(SHA256(SHA256(password)), challenge) |
//!
//! The second proof can be checked only by who has SHA256(SHA256(password)): a server keeps that in memory once somebody
//! has shown it the password itself, over a channel that nobody else reads.
//!
//! SHA-crypt is Ulrich Drepper's published algorithm (2008), with a longer salt than its 16 characters.

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Length of a challenge.
pub const CHALLENGE_LEN: usize = 20;

/// Length of the salt of `caching_sha2_password`.
pub const SALT_LEN: usize = 20;

/// Plugin name of the SHA-1 method.
pub const NATIVE: &str = "mysql_native_password";

/// Plugin name of the SHA-256 method.
pub const CACHING_SHA2: &str = "caching_sha2_password";

/// What SHA-crypt encodes 32 bytes to.
const CRYPT_LEN: usize = 43;

const PREFIX: &[u8] = b"$A$005$";

/// Rounds that the `005` in the stored form stands for (thousands).
const ROUNDS: usize = 5000;

/// Stored form for `mysql_native_password`, as PASSWORD() gives it; empty for an empty password.
pub fn native_stored(password: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let twice = Sha1::digest(Sha1::digest(password));
    let mut out = vec![b'*'];
    for byte in twice {
        out.extend_from_slice(format!("{byte:02X}").as_bytes());
    }
    out
}

/// Whether `stored` has the form of [`native_stored`].
pub fn is_native_stored(stored: &[u8]) -> bool {
    stored.is_empty() || native_digest(stored).is_some()
}

/// Whether `proof` answers `challenge` for who has the password stored as `stored`.
pub fn native_check(stored: &[u8], challenge: &[u8], proof: &[u8]) -> bool {
    if stored.is_empty() || proof.is_empty() {
        return stored.is_empty() && proof.is_empty();
    }
    let (Some(twice), Ok(proof)) = (native_digest(stored), <[u8; 20]>::try_from(proof)) else { return false };
    let mask = Sha1::new().chain_update(challenge).chain_update(twice).finalize();
    let once: Vec<u8> = proof.iter().zip(mask.iter()).map(|(a, b)| a ^ b).collect();
    same(&Sha1::digest(&once), &twice)
}

/// What a client with `password` answers: the other side of [`native_check`].
pub fn native_proof(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password);
    let mask = Sha1::new().chain_update(challenge).chain_update(Sha1::digest(once)).finalize();
    once.iter().zip(mask.iter()).map(|(a, b)| a ^ b).collect()
}

fn native_digest(stored: &[u8]) -> Option<[u8; 20]> {
    let hex = stored.strip_prefix(b"*").filter(|hex| hex.len() == 40)?;
    let mut out = [0; 20];
    for (byte, pair) in out.iter_mut().zip(hex.chunks_exact(2)) {
        let digit = |c: u8| char::from(c).to_digit(16);
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    Some(out)
}

/// SHA256(SHA256(password)): what checks fast proofs.
pub type Sha2Digest = [u8; 32];

/// Stored form for `caching_sha2_password`; empty for an empty password. The salt must hold neither zero bytes nor `$`:
/// see [`printable_salt`].
pub fn sha2_stored(password: &[u8], salt: &[u8; SALT_LEN]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let mut out = PREFIX.to_vec();
    out.extend_from_slice(salt);
    out.extend_from_slice(&sha256_crypt(password, salt));
    out
}

/// Makes a salt of random bytes: seven bits each, none of them zero or `$`.
pub fn printable_salt(random: [u8; SALT_LEN]) -> [u8; SALT_LEN] {
    random.map(|byte| match byte & 0x7F {
        0 | b'$' => (byte & 0x7F) + 1,
        other => other,
    })
}

/// Whether `stored` has the form of [`sha2_stored`].
pub fn is_sha2_stored(stored: &[u8]) -> bool {
    stored.is_empty() || sha2_parts(stored).is_some()
}

/// Whether `password` is the one stored as `stored`: 5,000 rounds of hashing.
pub fn sha2_check_password(stored: &[u8], password: &[u8]) -> bool {
    if stored.is_empty() || password.is_empty() {
        return stored.is_empty() && password.is_empty();
    }
    sha2_parts(stored).is_some_and(|(salt, crypted)| same(&sha256_crypt(password, salt), crypted))
}

/// What [`sha2_check_proof`] needs of a password.
pub fn sha2_digest(password: &[u8]) -> Sha2Digest {
    Sha256::digest(Sha256::digest(password)).into()
}

/// Whether `proof` answers `challenge` for who has the password with that digest.
pub fn sha2_check_proof(digest: &Sha2Digest, challenge: &[u8], proof: &[u8]) -> bool {
    let Ok(proof) = <[u8; 32]>::try_from(proof) else { return false };
    let mask = Sha256::new().chain_update(digest).chain_update(challenge).finalize();
    let once: Vec<u8> = proof.iter().zip(mask.iter()).map(|(a, b)| a ^ b).collect();
    same(&Sha256::digest(&once), digest)
}

/// What a client with `password` answers: the other side of [`sha2_check_proof`].
pub fn sha2_proof(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha256::digest(password);
    let mask = Sha256::new().chain_update(sha2_digest(password)).chain_update(challenge).finalize();
    once.iter().zip(mask.iter()).map(|(a, b)| a ^ b).collect()
}

fn sha2_parts(stored: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = stored.strip_prefix(PREFIX)?;
    let (salt, crypted) = rest.split_at_checked(SALT_LEN)?;
    (crypted.len() == CRYPT_LEN).then_some((salt, crypted))
}

/// Compares in a time that does not tell where the difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (x, y)| sum | (x ^ y)) == 0
}

/// SHA-crypt with SHA-256 and [`ROUNDS`] rounds: the 43 characters after the salt.
fn sha256_crypt(password: &[u8], salt: &[u8]) -> [u8; CRYPT_LEN] {
    let alternate = Sha256::new().chain_update(password).chain_update(salt).chain_update(password).finalize();
    let mut start = Sha256::new().chain_update(password).chain_update(salt);
    start.update(repeated(&alternate, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        start.update(if bits & 1 == 1 { &alternate[..] } else { password });
        bits >>= 1;
    }
    let mut digest: [u8; 32] = start.finalize().into();

    let mut all_password = Sha256::new();
    (0..password.len()).for_each(|_| all_password.update(password));
    let p = repeated(&all_password.finalize(), password.len());
    let mut all_salt = Sha256::new();
    (0..16 + usize::from(digest[0])).for_each(|_| all_salt.update(salt));
    let s = repeated(&all_salt.finalize(), salt.len());

    for round in 0..ROUNDS {
        let odd = round % 2 == 1;
        let mut hash = Sha256::new();
        hash.update(if odd { &p[..] } else { &digest });
        if round % 3 != 0 {
            hash.update(&s);
        }
        if round % 7 != 0 {
            hash.update(&p);
        }
        hash.update(if odd { &digest[..] } else { &p });
        digest = hash.finalize().into();
    }
    encode_crypt(&digest)
}

fn repeated(digest: &[u8], len: usize) -> Vec<u8> {
    digest.iter().copied().cycle().take(len).collect()
}

/// The algorithm's own order of bytes and alphabet.
fn encode_crypt(digest: &[u8; 32]) -> [u8; CRYPT_LEN] {
    const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut out = [0; CRYPT_LEN];
    let mut at = 0;
    let mut put = |mut bits: u32, n: usize| {
        for _ in 0..n {
            out[at] = ALPHABET[(bits & 0x3F) as usize];
            bits >>= 6;
            at += 1;
        }
    };
    let mut group = [0_usize, 10, 20];
    for _ in 0..10 {
        let [a, b, c] = group.map(|i| u32::from(digest[i]));
        put(a << 16 | b << 8 | c, 4);
        let [first, second, third] = group;
        group = [third + 1, first + 1, second + 1];
    }
    put(u32::from(digest[31]) << 8 | u32::from(digest[30]), 3);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: &[u8] = b"abcdefghijklmnopqrst";

    #[test]
    fn native_stores_what_password_gives() {
        // SELECT PASSWORD('mypass') on MySQL 5.6.24; the manual has the same.
        assert_eq!(native_stored(b"mypass"), b"*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4");
        assert_eq!(native_stored(b""), b"");
        assert!(is_native_stored(b"") && is_native_stored(&native_stored(b"x")));
        assert!(!is_native_stored(b"*12") && !is_native_stored(b"mypass"));
        assert!(!is_native_stored(b"*6C8989366EAF75BB670AD8EA7A7FC1176A95CEFZ"));
    }

    #[test]
    fn native_proofs() {
        let stored = native_stored(b"secret");
        let proof = native_proof(b"secret", CHALLENGE);
        assert!(native_check(&stored, CHALLENGE, &proof));
        assert!(!native_check(&stored, b"another challenge ...", &proof));
        assert!(!native_check(&stored, CHALLENGE, &native_proof(b"Secret", CHALLENGE)));
        assert!(!native_check(&stored, CHALLENGE, &[]));
        assert!(!native_check(&stored, CHALLENGE, &proof[1..]));
        assert!(!native_check(&[], CHALLENGE, &proof));
        assert!(native_check(&[], CHALLENGE, &[]));
    }

    #[test]
    fn sha2_stores_what_mysql_8_stores() {
        // The published example of the hash for MySQL 8 in hashcat's list (mode 7401): the password is "hashcat".
        let salt: [u8; SALT_LEN] = [
            0xF9, 0xCC, 0x98, 0xCE, 0x08, 0x89, 0x29, 0x24, 0xF5, 0x0A, 0x21, 0x3B, 0x6B, 0xC5, 0x71, 0xA2,
            0xC1, 0x17, 0x78, 0xC5,
        ];
        let mut expected = b"$A$005$".to_vec();
        expected.extend_from_slice(&salt);
        expected.extend_from_slice(b"bTy95Y99eAME1dwEkHOA1ndHGBWz.1bxSSRkuTXFGV/");
        assert_eq!(
            String::from_utf8_lossy(&sha2_stored(b"hashcat", &salt)),
            String::from_utf8_lossy(&expected)
        );
    }

    #[test]
    fn sha2_proofs() {
        let salt = printable_salt([0; SALT_LEN]);
        let stored = sha2_stored(b"secret", &salt);
        assert_eq!(stored.len(), 70);
        assert!(sha2_check_password(&stored, b"secret"));
        assert!(!sha2_check_password(&stored, b"secreT"));
        assert!(!sha2_check_password(&stored, b""));
        assert!(!sha2_check_password(&stored[1..], b"secret"));
        assert!(sha2_check_password(&[], &[]));
        let digest = sha2_digest(b"secret");
        let proof = sha2_proof(b"secret", CHALLENGE);
        assert!(sha2_check_proof(&digest, CHALLENGE, &proof));
        assert!(!sha2_check_proof(&digest, b"another challenge ...", &proof));
        assert!(!sha2_check_proof(&digest, CHALLENGE, &sha2_proof(b"secreT", CHALLENGE)));
        assert!(!sha2_check_proof(&digest, CHALLENGE, &[]));
    }

    #[test]
    fn salts_are_printable() {
        let salt = printable_salt(std::array::from_fn(|i| [0, b'$', 0x80, 0xFF][i % 4]));
        assert!(salt.iter().all(|&b| b != 0 && b != b'$' && b < 0x80));
    }
}
