//! COMPRESS() and UNCOMPRESS(): four bytes of length, then a zlib stream.

use vaquita_types::SqlResult;
use vaquita_types::memory::{append, filled};

/// The compressed form: empty of nothing; a stream that ends in a space gets a point, so that no column strips it.
///
/// # Errors
/// No memory.
pub(super) fn compress(bytes: &[u8]) -> SqlResult<Option<Vec<u8>>> {
    if bytes.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let mut out = (bytes.len() as u32).to_le_bytes().to_vec();
    let mut stream = filled(0, bytes.len() + bytes.len() / 1000 + 64)?;
    let (compressed, code) = zlib_rs::compress_slice(&mut stream, bytes, zlib_rs::DeflateConfig::default());
    if code != zlib_rs::ReturnCode::Ok {
        return Ok(None);
    }
    append(&mut out, compressed)?;
    if out.last() == Some(&b' ') {
        out.push(b'.');
    }
    Ok(Some(out))
}

/// The opposite, or a warning's number and message if it is none or longer than `limit`.
///
/// # Errors
/// No memory.
pub(super) fn uncompress(bytes: &[u8], limit: usize) -> SqlResult<Result<Vec<u8>, (u16, String)>> {
    let corrupt = || (1259, "ZLIB: Input data corrupted".to_owned());
    let Some((length, stream)) = bytes.split_first_chunk::<4>() else { return Ok(Err(corrupt())) };
    let length = (u32::from_le_bytes(*length) & 0x3FFF_FFFF) as usize;
    if stream.is_empty() {
        return Ok(Err(corrupt()));
    }
    if length > limit {
        let message = format!(
            "Uncompressed data size too large; the maximum size is {limit} (probably, length of uncompressed data was corrupted)"
        );
        return Ok(Err((1256, message)));
    }
    let mut out = filled(0, length)?;
    let (data, code) = zlib_rs::decompress_slice(&mut out, stream, zlib_rs::InflateConfig::default());
    if code != zlib_rs::ReturnCode::Ok {
        return Ok(Err(corrupt()));
    }
    let n = data.len();
    out.truncate(n);
    Ok(Ok(out))
}
