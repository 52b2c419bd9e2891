//! Text that a MySQL server keeps in files of lines `name=value`: those of views and triggers.
//!
//! In escaped text a backslash stands before a backslash and a quote, `\n` is the end of a line, `\0` a zero byte, `\z` byte 26.

/// Text as it stands in a line.
pub(crate) fn escaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'\\' | b'\'' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            0 => out.extend_from_slice(b"\\0"),
            26 => out.extend_from_slice(b"\\z"),
            byte => out.push(byte),
        }
    }
    out
}

/// What escaped text says.
pub(crate) fn unescaped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(&byte) = rest.next() {
        out.push(match (byte, byte == b'\\') {
            (_, false) => byte,
            _ => match rest.next() {
                Some(b'n') => b'\n',
                Some(b'0') => 0,
                Some(b'z') => 26,
                Some(&other) => other,
                None => b'\\',
            },
        });
    }
    out
}

/// The lines behind the first one, as names and values. Lines without `=` are not looked at.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    bytes.split(|&b| b == b'\n').filter_map(|line| {
        let at = line.iter().position(|&b| b == b'=')?;
        Some((&line[..at], &line[at + 1..]))
    })
}
