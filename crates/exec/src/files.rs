//! The widths of fields in files of the server that statements name.

use vaquita_engine::text::charset::Charset;
pub(crate) use vaquita_session::files::server_file;
use vaquita_types::{Kind, SqlType};

/// Bytes of a field in a file without terminators.
pub(crate) fn display_width(ty: &SqlType) -> usize {
    let chars = match ty.kind {
        Kind::Decimal => ty.length + u32::from(ty.decimals > 0) + u32::from(!ty.unsigned),
        _ => ty.length,
    };
    let width = Charset::of_collation(ty.collation).map_or(1, |c| c.mb_max_len);
    chars as usize * usize::from(width)
}
