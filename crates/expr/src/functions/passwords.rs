//! ENCRYPT: the passwords of crypt(3), by DES and by what a salt in dollar signs asks for.

use super::digest::random;
use super::encode::binary;
use super::{Function, arg, evals, f};
use vaquita_types::{SqlResult, Value};

pub(super) const FUNCTIONS: &[Function] =
    &[f("encrypt", 1, 2, |cx, name, args| binary(cx, name, LEN_OF_DES, args, eval_encrypt, true))];

/// What the type says, as in MySQL: other methods give more.
const LEN_OF_DES: u64 = 13;
/// The digits of a salt.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The salt of a new password by DES.
fn new_salt() -> SqlResult<Vec<u8>> {
    let mut bytes = [0; 2];
    random(&mut bytes)?;
    Ok(bytes.iter().map(|byte| DIGITS[usize::from(byte & 63)]).collect())
}

/// Up to its first NUL, where a text of C ends.
fn of_c(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// What crypt(3) answers where it cannot hash: a text that no password has as its hash, and other than the salt.
fn failure(salt: &[u8]) -> &'static [u8] {
    if salt.starts_with(b"*0") { b"*1" } else { b"*0" }
}

/// A password with its salt.
fn crypt(password: &[u8], salt: &[u8]) -> Option<String> {
    let salt = std::str::from_utf8(salt).ok().filter(|salt| is_salt(salt))?;
    pwhash::unix::crypt(password, salt).ok()
}

/// Whether a salt has the form of its method; the library takes it for granted of some.
fn is_salt(salt: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| DIGITS.contains(&byte));
    let raw = |text: &str| !text.bytes().any(|byte| byte == b':' || !byte.is_ascii_graphic());
    let Some((method, rest)) = salt.strip_prefix('$').and_then(|salt| salt.split_once('$')) else {
        return match salt.strip_prefix('_') {
            Some(bsdi) => bsdi.get(..8).is_some_and(digits),
            None => salt.get(..2).is_some_and(digits),
        };
    };
    match method {
        "1" => raw(rest),
        "5" | "6" => raw(rest) && rest.strip_prefix("rounds=").is_none_or(|rest| rounds(rest).is_some()),
        "sha1" => rest.split_once('$').is_some_and(|(rounds, salt)| {
            rounds.parse::<u32>().is_ok_and(|n| n > 0) && digits(salt.split('$').next().unwrap_or_default())
        }),
        "2a" | "2b" | "2y" => rest.split_once('$').is_some_and(|(cost, salt)| {
            cost.len() == 2
                && cost.parse().is_ok_and(|cost| (4..=31).contains(&cost))
                && salt.get(..22).is_some_and(digits)
        }),
        _ => false,
    }
}

/// The number before a dollar sign, if it is one that SHA-crypt takes.
fn rounds(text: &str) -> Option<u32> {
    let (number, _) = text.split_once('$')?;
    let is_plain = number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
    number.parse().ok().filter(|n| is_plain && (1000..=999_999_999).contains(n))
}

evals! {
    eval_encrypt(e, args, cx, row) {
        let password = arg!(args[0].text(cx, row));
        if password.is_empty() {
            return Ok(Value::bytes(b""));
        }
        let salt = match args.get(1) {
            Some(salt) => arg!(salt.text(cx, row)).into_owned(),
            None => new_salt()?,
        };
        if salt.len() < 2 {
            return Ok(Value::Null);
        }
        Ok(match crypt(of_c(&password), of_c(&salt)) {
            Some(hash) => Value::owned(hash.into_bytes()),
            None => Value::bytes(failure(&salt)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{DIGITS, crypt};
    use vaquita_base::Rng;

    #[test]
    fn salts_of_any_bytes_are_hashed_or_refused() {
        let heads = [
            "",
            "_",
            "$1$",
            "$5$rounds=1000$",
            "$6$rounds=1000$",
            "$sha1$2$",
            "$2a$04$",
            "$2b$",
            "$",
            "$$",
            "$sha1$",
        ];
        let odd = b"$:.,=\n \xc3\xa9\x7f-+{~09zZ";
        let mut rng = Rng::new(3);
        for _ in 0..150 {
            let mut salt = heads[rng.index(heads.len())].as_bytes().to_vec();
            for _ in 0..rng.index(26) {
                let from: &[u8] = if rng.one_in(6) { odd } else { DIGITS };
                salt.push(from[rng.index(from.len())]);
            }
            if let Some(hash) = crypt(b"secret", &salt) {
                assert!(hash.len() >= 13, "{hash}");
                // A hash is the salt of itself: so passwords are checked.
                assert_eq!(crypt(b"secret", hash.as_bytes()).as_deref(), Some(&*hash), "{salt:?}");
                assert_ne!(crypt(b"other", hash.as_bytes()).as_deref(), Some(&*hash));
            }
        }
    }
}
