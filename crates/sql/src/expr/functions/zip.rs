//! COMPRESS() and UNCOMPRESS(): four bytes of length, then a zlib stream.

/// The compressed form: empty of nothing; a stream that ends in a space gets a point, so that no column strips it.
pub(super) fn compress(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    let mut out = (bytes.len() as u32).to_le_bytes().to_vec();
    let mut stream = vec![0; bytes.len() + bytes.len() / 1000 + 64];
    let (compressed, code) = zlib_rs::compress_slice(&mut stream, bytes, zlib_rs::DeflateConfig::default());
    if code != zlib_rs::ReturnCode::Ok {
        return None;
    }
    out.extend_from_slice(compressed);
    if out.last() == Some(&b' ') {
        out.push(b'.');
    }
    Some(out)
}

/// The opposite; a warning's number and message if it is none or longer than `limit`.
pub(super) fn uncompress(bytes: &[u8], limit: usize) -> Result<Vec<u8>, (u16, String)> {
    let corrupt = || (1259, "ZLIB: Input data corrupted".to_owned());
    let Some((length, stream)) = bytes.split_first_chunk::<4>() else { return Err(corrupt()) };
    let length = (u32::from_le_bytes(*length) & 0x3FFF_FFFF) as usize;
    if stream.is_empty() {
        return Err(corrupt());
    }
    if length > limit {
        let message = format!(
            "Uncompressed data size too large; the maximum size is {limit} (probably, length of uncompressed data was corrupted)"
        );
        return Err((1256, message));
    }
    let mut out = vec![0; length];
    let (data, code) = zlib_rs::decompress_slice(&mut out, stream, zlib_rs::InflateConfig::default());
    if code != zlib_rs::ReturnCode::Ok {
        return Err(corrupt());
    }
    let n = data.len();
    out.truncate(n);
    Ok(out)
}
