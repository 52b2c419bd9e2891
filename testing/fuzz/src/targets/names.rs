//! Names of tables in file names, and text in every character set.

use vaquita_format::charset::Charset;
use vaquita_format::filename::{self, TableFile};

/// Decoding takes any text; what decodes and encodes again decodes to the same.
pub(super) fn names(data: &[u8]) {
    let Some((&set, rest)) = data.split_first() else { return };
    if let Some(charset) = Charset::of_collation(u16::from(set)) {
        let _ = charset.decode(rest);
        let prefix = charset.prefix_len(rest, usize::from(set) / 3);
        assert!(prefix <= rest.len());
        let _ = charset.char_count(rest);
    }
    let Ok(text) = std::str::from_utf8(rest) else { return };
    if let Ok(encoded) = filename::encode(text) {
        assert_eq!(filename::decode(&encoded).as_deref(), Some(text), "{encoded}");
    }
    if let Some(decoded) = filename::decode(text) {
        let _ = filename::encode(&decoded);
    }
    let parsed = TableFile::parse(text);
    let _ = parsed.stem();
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    ["defaults@0020@0p@002d1", "part#P#p0", "sub#P#pa#SP#pasp0", "#sql-1", "日本"]
        .iter()
        .flat_map(|name| [8u8, 33, 45].map(|set| [&[set], name.as_bytes()].concat()))
        .collect()
}
