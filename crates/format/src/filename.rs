//! Table names in file names and in InnoDB's dictionary.
//!
//! | character | on disk |
//! |---|---|
//! | `0-9 A-Z a-z _` | itself |
//! | a letter of the ranges in the table of pairs | `@` and two characters: `é` is `@0p` |
//! | any other of the BMP | `@` and four lower-case hexadecimal digits: `-` is `@002d` |
//!
//! A name that is a device's on Windows (`CON`, `PRN`, `AUX`, `NUL`, `COM1` to `COM9`, `LPT1` to `LPT9`, in capitals or not) has
//! `@@@` behind it, on all systems.
//!
//! Partition files join encoded names with `#P#` and `#SP#`, temporary tables of ALTER start with `#sql`: a name
//! of those is read as it stands, since an encoded name never holds `#`.

mod pairs;

use std::fmt;

/// A name that cannot be a file name: it holds a character above U+FFFF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unencodable(pub char);

impl fmt::Display for Unencodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} cannot stand in the name of a table", self.0)
    }
}

impl std::error::Error for Unencodable {}

/// A name as part of a file name.
///
/// # Errors
/// [`Unencodable`] for characters above U+FFFF.
pub fn encode(name: &str) -> Result<String, Unencodable> {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        let code = u16::try_from(u32::from(c)).map_err(|_| Unencodable(c))?;
        if c.is_ascii_alphanumeric() || c == '_' {
            out.push(c);
        } else if let Some(pair) = pair_of(code) {
            out.push('@');
            out.push_str(pair);
        } else {
            out.push_str(&format!("@{code:04x}"));
        }
    }
    if is_device(&out) {
        out.push_str(DEVICE_MARK);
    }
    Ok(out)
}

/// What follows the name of a device.
const DEVICE_MARK: &str = "@@@";

/// Whether a name is one of those that are no file's on Windows.
fn is_device(name: &str) -> bool {
    let Some((kind, digit)) = name.split_at_checked(3) else { return false };
    let is = |device: &str| kind.eq_ignore_ascii_case(device);
    match digit.as_bytes() {
        [] => ["con", "prn", "aux", "nul"].into_iter().any(is),
        [b'1'..=b'9'] => is("com") || is("lpt"),
        _ => false,
    }
}

/// The name behind (part of) a file name; `None` if it is not of the encoded form.
pub fn decode(file_name: &str) -> Option<String> {
    if let Some(device) = file_name.strip_suffix(DEVICE_MARK).filter(|name| is_device(name)) {
        return Some(device.to_owned());
    }
    let mut out = String::with_capacity(file_name.len());
    let mut rest = file_name;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '@' => {
                let (decoded, len) = decode_escape(&rest[1..])?;
                out.push(decoded);
                1 + len
            }
            c if c.is_ascii_alphanumeric() || c == '_' => {
                out.push(c);
                1
            }
            _ => return None,
        };
        rest = &rest[taken..];
    }
    Some(out)
}

/// What follows an `@`: the character and the bytes it takes.
fn decode_escape(s: &str) -> Option<(char, usize)> {
    if let Some(code) = s.get(..2).and_then(code_of) {
        return Some((char::from_u32(u32::from(code))?, 2));
    }
    let digits = s.get(..4).filter(|d| d.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))?;
    Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, 4))
}

fn pair_of(code: u16) -> Option<&'static str> {
    let run = pairs::RUNS.partition_point(|&(first, _)| first <= code).checked_sub(1)?;
    let (first, run) = pairs::RUNS[run];
    let at = usize::from(code - first) * 2;
    run.get(at..at + 2)
}

fn code_of(pair: &str) -> Option<u16> {
    pairs::RUNS.iter().find_map(|&(first, run)| {
        let at = run.as_bytes().chunks(2).position(|p| p == pair.as_bytes())?;
        Some(first + at as u16)
    })
}

/// The parts of a table's file name without its extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFile {
    /// The table's name.
    pub table: String,
    /// Its partition, if the file is that of one.
    pub partition: Option<String>,
    /// The subpartition.
    pub subpartition: Option<String>,
}

impl TableFile {
    /// Reads `t`, `t#P#p0` or `t#P#p0#SP#s0`. A name that is not of the encoded form stands for itself.
    pub fn parse(stem: &str) -> TableFile {
        let plain = |s: &str| decode(s).unwrap_or_else(|| s.to_owned());
        let (table, partition) = split(stem, "#P#");
        let (partition, subpartition) = match partition {
            Some(p) => {
                let (p, s) = split(p, "#SP#");
                (Some(plain(p)), s.map(plain))
            }
            None => (None, None),
        };
        TableFile { table: plain(table), partition, subpartition }
    }

    /// The file name without extension.
    ///
    /// # Errors
    /// [`Unencodable`] for characters above U+FFFF.
    pub fn stem(&self) -> Result<String, Unencodable> {
        let mut out = encode(&self.table)?;
        if let Some(partition) = &self.partition {
            out = out + "#P#" + &encode(partition)?;
        }
        if let Some(subpartition) = &self.subpartition {
            out = out + "#SP#" + &encode(subpartition)?;
        }
        Ok(out)
    }
}

/// Whether `db/table` of InnoDB's dictionary is what an ALTER TABLE is filling or has emptied, or what a crash left of one.
/// Lists of tables leave it out; who names it finds it, as in MySQL.
pub fn is_intermediate(name: &str) -> bool {
    name.rsplit_once('/').is_some_and(|(_, table)| table.starts_with("#sql"))
}

/// Whether it is the name of a table of a FULLTEXT index, without its database: the number of the table that it serves follows.
pub fn is_of_words(short: &str) -> bool {
    let rest = short.strip_prefix("FTS_");
    rest.and_then(|rest| rest.split_once('_'))
        .is_some_and(|(number, _)| number.len() == 16 && number.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Splits at a separator; lower-cased names (`lower_case_table_names`) have lower-case separators.
fn split<'a>(s: &'a str, separator: &str) -> (&'a str, Option<&'a str>) {
    match s.split_once(separator).or_else(|| s.split_once(&separator.to_ascii_lowercase())) {
        Some((a, b)) => (a, Some(b)),
        None => (s, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_words_are_known_by_their_names() {
        for name in ["FTS_0000000000000016_CONFIG", "FTS_000000000000001f_0000000000000020_INDEX_1"] {
            assert!(is_of_words(name), "{name}");
        }
        for name in ["FTS_16_CONFIG", "FTS_0000000000000016", "FTS_000000000000001g_x", "t", "FTS_éééééééé_x"]
        {
            assert!(!is_of_words(name), "{name}");
        }
    }

    #[test]
    fn names_as_a_real_server_wrote_them() {
        for (name, file) in [
            ("plain_Name9", "plain_Name9"),
            ("defaults é-1", "defaults@0020@0p@002d1"),
            ("x y", "x@0020y"),
            ("a@b", "a@0040b"),
            ("@@", "@0040@0040"),
            ("Ａｂ", "@A@@b@"),
            ("ДдЯя", "@K0@k0@R1@r1"),
            ("日本", "@65e5@672c"),
            ("É", "@0P"),
            ("ß", "@1j"),
            ("µ", "@00b5"),
            ("Ṁ", "@Sm"),
            ("Ⓐ", "@@A"),
            ("ﬀ", "@fb00"),
            ("e.f", "e@002ef"),
            ("p#1", "p@00231"),
        ] {
            assert_eq!(encode(name).as_deref(), Ok(file));
            assert_eq!(decode(file).as_deref(), Some(name));
        }
        assert_eq!(encode("😀"), Err(Unencodable('😀')));
    }

    #[test]
    fn names_of_devices_are_marked() {
        for name in ["CON", "Con", "prn", "aux", "NUL", "com1", "COM9", "lpt5"] {
            assert_eq!(encode(name).unwrap(), format!("{name}@@@"));
            assert_eq!(decode(&format!("{name}@@@")).as_deref(), Some(name));
        }
        for name in ["con1", "com0", "lpt10", "com", "conin", "clock$", "con.x", "con@@@", "nul é"] {
            let file = encode(name).unwrap();
            assert!(!file.ends_with("@@@"), "{file}");
            assert_eq!(decode(&file).as_deref(), Some(name));
        }
        // As servers before 5.1 wrote it.
        assert_eq!(decode("con").as_deref(), Some("con"));
        assert_eq!(TableFile::parse("p#P#con@@@").partition.as_deref(), Some("con"));
    }

    #[test]
    fn every_character_survives() {
        for code in (1..0xD800u32).chain(0xE000..0x1_0000) {
            let name = char::from_u32(code).unwrap().to_string();
            assert_eq!(decode(&encode(&name).unwrap()).as_deref(), Some(&*name), "{code:x}");
        }
    }

    #[test]
    fn the_table_holds_every_published_pair() {
        let mut count = 0;
        for line in include_str!("../gen/filename-charset.tsv").lines() {
            let (code, pair) = line.split_once('\t').unwrap();
            let c = char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap();
            assert_eq!(encode(&c.to_string()).unwrap(), pair);
            count += 1;
        }
        assert_eq!(count, 1510);
    }

    #[test]
    fn partitions() {
        let part = TableFile::parse("t@0020x#P#p@002d0#SP#s1");
        assert_eq!(part.table, "t x");
        assert_eq!((part.partition.as_deref(), part.subpartition.as_deref()), (Some("p-0"), Some("s1")));
        assert_eq!(part.stem().unwrap(), "t@0020x#P#p@002d0#SP#s1");
        assert_eq!(TableFile::parse("#sql-ib21-5").table, "#sql-ib21-5");
        assert_eq!(decode("a#b"), None);
        assert_eq!((decode("@"), decode("@0"), decode("@00é")), (None, None, None));
    }

    #[test]
    fn what_alter_table_is_at() {
        assert!(is_intermediate("d/#sql-1") && is_intermediate("d/#sql-ib29-1720577053"));
        assert!(!is_intermediate("#sql/t") && !is_intermediate("d/t#sql") && !is_intermediate("d/@0023sql"));
    }
}
