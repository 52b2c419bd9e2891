//! `.par` files: the partitions of a table, as MySQL's server layer lists them (little-endian words).
//!
//! | word | holds |
//! |---|---|
//! | 0 | words in the file |
//! | 1 | what makes the exclusive or of all words zero |
//! | 2 | partitions: subpartitions, if there are any |
//! | from 3 | a byte for the engine of each, up to the next word |
//! | then | bytes of names |
//! | then | names, each with a zero byte behind it, up to the next word |
//!
//! A name is what the partition's file has behind `t#P#`: `p0`, `p0#SP#p0sp1`.

use crate::error::{Corruption, Result};
use vaquita_base::codec::le;

const WORD: usize = 4;
/// InnoDB, as the server layer numbers engines.
const INNODB: u8 = 12;

/// The file of these partitions, in the order of the clause.
///
/// ```
/// use vaquita_format::par;
/// let names = ["p0", "p1"].map(String::from);
/// assert_eq!(par::parse(&par::encode(&names)).unwrap(), names);
/// ```
pub fn encode(names: &[String]) -> Vec<u8> {
    let engines = names.len().next_multiple_of(WORD);
    let text: Vec<u8> = names.iter().flat_map(|name| name.bytes().chain([0])).collect();
    let names_at = 3 * WORD + engines;
    let mut out = vec![0; names_at + WORD + text.len().next_multiple_of(WORD)];
    let words = out.len() / WORD;
    le::put_uint(&mut out, 0, WORD, words as u64);
    le::put_uint(&mut out, 2 * WORD, WORD, names.len() as u64);
    out[3 * WORD..3 * WORD + names.len()].fill(INNODB);
    le::put_uint(&mut out, names_at, WORD, text.len() as u64);
    out[names_at + WORD..names_at + WORD + text.len()].copy_from_slice(&text);
    let sum = checksum(&out);
    le::put_uint(&mut out, WORD, WORD, sum);
    out
}

/// The partitions that a file lists.
///
/// # Errors
/// If its sum is wrong, it is cut short, or its partitions are others than InnoDB's.
pub fn parse(bytes: &[u8]) -> Result<Vec<String>> {
    let word = |at: usize| match bytes.get(at..at + WORD) {
        Some(word) => Ok(le::get_uint(word, 0, WORD) as usize),
        None => Err(Corruption::new(".par length", format!("{} bytes", bytes.len())).at(at)),
    };
    let (words, count) = (word(0)?, word(2 * WORD)?);
    if words.checked_mul(WORD) != Some(bytes.len()) {
        return Err(Corruption::new(".par length", format!("{words} words in {} bytes", bytes.len())));
    }
    if checksum(bytes) != 0 {
        return Err(Corruption::new(".par checksum", "does not fit"));
    }
    let engines = bytes.get(3 * WORD..).and_then(|rest| rest.get(..count));
    if engines.is_none_or(|engines| engines.iter().any(|&engine| engine != INNODB)) {
        return Err(Corruption::new(".par engines", format!("of {count} partitions")));
    }
    let names_at = 3 * WORD + count.next_multiple_of(WORD);
    let len = word(names_at)?;
    let text = bytes.get(names_at + WORD..).and_then(|rest| rest.get(..len));
    let text = text.ok_or_else(|| Corruption::new(".par names", format!("{len} bytes")).at(names_at))?;
    let names: Vec<String> = text
        .split_inclusive(|&b| b == 0)
        .filter_map(|name| name.strip_suffix(&[0]))
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    if names.len() != count {
        return Err(Corruption::new(".par names", format!("{} of {count}", names.len())));
    }
    Ok(names)
}

/// The exclusive or of all words.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.chunks_exact(WORD).fold(0, |sum, word| sum ^ le::get_uint(word, 0, WORD))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// What the server wrote is written again, byte for byte.
    #[test]
    fn written_as_the_server_writes() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/mysql56");
        let subparts = ["pa#SP#pasp0", "pa#SP#pasp1", "pb#SP#pbsp0", "pb#SP#pbsp1"];
        for (file, expected) in [("part", &["p0", "p1", "pMax"][..]), ("subpart", &subparts)] {
            let bytes = std::fs::read(dir.join(format!("{file}.par"))).unwrap();
            let names = parse(&bytes).unwrap();
            assert_eq!(names, expected, "{file}");
            assert_eq!(encode(&names), bytes, "{file}");
        }
    }

    #[test]
    fn damaged_files_are_refused() {
        let good = encode(&["p0".to_owned(), "p1".to_owned(), "p2".to_owned()]);
        for at in 0..good.len() {
            assert!(parse(&good[..at]).is_err(), "cut at {at}");
            let mut damaged = good.clone();
            damaged[at] ^= 0x11;
            assert!(parse(&damaged).is_err(), "byte {at}");
            // Even if the sum fits.
            let sum = checksum(&damaged) ^ le::get_uint(&damaged, WORD, WORD);
            le::put_uint(&mut damaged, WORD, WORD, sum);
            let _ = parse(&damaged);
        }
    }
}
