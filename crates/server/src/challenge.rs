//! Random bytes of the server that a client mixes with its password.

use std::io;
use vaquita_sql::password::CHALLENGE_LEN;

/// Twenty random bytes without zero bytes, which would end the string they are sent as, and without `$`.
pub(crate) fn challenge() -> io::Result<[u8; CHALLENGE_LEN]> {
    let mut random = [0; CHALLENGE_LEN];
    let mut filled = 0;
    while filled < random.len() {
        filled += rustix::rand::getrandom(&mut random[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(vaquita_sql::password::printable_salt(random))
}
