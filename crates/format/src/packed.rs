//! Large tables, which are no source to be read: one compressed file, each table of it expanded when it is first used. The
//! programs in `gen` write it, of Unicode's data files and of the answers of a MySQL 5.6.24.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | number of sections |
//! | for each: 1, n, 4, 4 | length of the name, the name, bytes of the section, bytes of its zlib stream |
//! | | the streams |
//!
//! The generators say what each section holds. Numbers are big-endian.

use vaquita_base::codec;
use zlib_rs::{InflateConfig, ReturnCode};

static FILE: &[u8] = include_bytes!("packed/tables.bin");

/// A section, expanded.
pub(crate) fn section(name: &str) -> Reader {
    let found = sections().find(|section| section.name == name.as_bytes());
    found.expect("the file is made with this section").expand()
}

struct Section {
    name: &'static [u8],
    len: usize,
    stream: &'static [u8],
}

impl Section {
    fn expand(&self) -> Reader {
        let mut bytes = vec![0; self.len];
        let (out, code) =
            zlib_rs::decompress_slice(&mut bytes, self.stream, InflateConfig { window_bits: 15 });
        assert!(code == ReturnCode::Ok && out.len() == self.len, "the file is made with whole sections");
        Reader { bytes, at: 0 }
    }
}

fn sections() -> impl Iterator<Item = Section> {
    let heads = |mut at: usize| {
        let mut left = FILE[0];
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let name = &FILE[at + 1..at + 1 + usize::from(FILE[at])];
            at += 1 + name.len() + 8;
            let [len, packed] = [at - 8, at - 4].map(|at| codec::get_u32(FILE, at) as usize);
            Some((name, len, packed, at))
        })
    };
    let mut stream = heads(1).last().map_or(0, |(.., end)| end);
    heads(1).map(move |(name, len, packed, _)| {
        stream += packed;
        Section { name, len, stream: &FILE[stream - packed..stream] }
    })
}

/// Takes numbers from an expanded section.
pub(crate) struct Reader {
    bytes: Vec<u8>,
    at: usize,
}

impl Reader {
    pub(crate) fn u8(&mut self) -> u8 {
        self.at += 1;
        self.bytes[self.at - 1]
    }

    pub(crate) fn u16(&mut self) -> u16 {
        self.at += 2;
        codec::get_u16(&self.bytes, self.at - 2)
    }

    pub(crate) fn u24(&mut self) -> u32 {
        u32::from(self.u8()) << 16 | u32::from(self.u16())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_base::checksum::crc32c;

    #[test]
    fn the_tables_are_those_that_were_made() {
        let mut all = Vec::new();
        let mut names = Vec::new();
        for section in sections() {
            all.extend_from_slice(section.name);
            all.extend_from_slice(&section.expand().bytes);
            names.push(std::str::from_utf8(section.name).unwrap());
        }
        let last = sections().last().unwrap();
        assert_eq!(last.stream.as_ptr_range().end, FILE.as_ptr_range().end, "nothing else is in the file");
        assert_eq!(names.len(), 24, "{names:?}");
        assert_eq!(crc32c(&all), 0xD167_E460);
    }
}
