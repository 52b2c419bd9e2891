//! Applying the records that change bytes of a page without knowing its records, and reading those about files.
//!
//! # Crash
//! Applying is repeatable from the same page image only: the caller skips records older than the page's LSN.

use vaquita_base::PageId;
use vaquita_base::TrxId;
use vaquita_base::codec::{Reader, put_u16, put_u32, put_u64};

use super::RecType;
use crate::undo::{self, UndoKind};
use crate::{Corruption, Result, fil, ibuf};

/// Applies a record of a type for which [`RecType::is_simple`] holds.
///
/// # Errors
/// [`Corruption`] if the type is another, the body is malformed, or it writes outside the page. The page is
/// unchanged then.
pub fn apply_simple(ty: RecType, id: PageId, body: &[u8], page: &mut [u8]) -> Result<()> {
    let r = &mut Reader::new(body);
    match ty {
        RecType::Bytes1 | RecType::Bytes2 | RecType::Bytes4 | RecType::Bytes8 => write_number(ty, r, page)?,
        RecType::WriteString => {
            let at = usize::from(r.u16()?);
            let len = usize::from(r.u16()?);
            let bytes = r.bytes(len)?;
            place(page, at, len)?.copy_from_slice(bytes);
        }
        RecType::InitFilePage => {
            check_page(page)?;
            fil::init(page, id.space, id.page_no);
        }
        RecType::IbufBitmapInit => {
            check_page(page)?;
            ibuf::init_bitmap(page);
        }
        RecType::UndoInsert => {
            let len = usize::from(r.u16()?);
            undo::append_record(page, r.bytes(len)?)?;
        }
        RecType::UndoEraseEnd => undo::erase_end(page)?,
        RecType::UndoInit => {
            check_page(page)?;
            let n = r.compressed()?;
            let kind = u16::try_from(n).ok().and_then(UndoKind::from_u16);
            let kind = kind.ok_or_else(|| Corruption::new("undo page type", format!("{n}")))?;
            undo::init_page(page, kind);
        }
        RecType::UndoHdrCreate => {
            undo::create_log(page, TrxId(r.u64_compressed()?))?;
        }
        RecType::UndoHdrReuse => {
            undo::reuse_log(page, TrxId(r.u64_compressed()?))?;
        }
        _ => return Err(Corruption::new("redo record", format!("{ty:?} is not applied to bytes alone"))),
    }
    Ok(())
}

fn write_number(ty: RecType, r: &mut Reader<'_>, page: &mut [u8]) -> Result<()> {
    let at = usize::from(r.u16()?);
    if ty == RecType::Bytes8 {
        let v = r.u64_compressed()?;
        put_u64(place(page, at, 8)?, 0, v);
        return Ok(());
    }
    let v = r.compressed()?;
    let too_wide = || Corruption::new("value of a redo record", format!("{v:#x} in {ty:?}"));
    match ty {
        RecType::Bytes1 => place(page, at, 1)?[0] = u8::try_from(v).map_err(|_| too_wide())?,
        RecType::Bytes2 => {
            let v = u16::try_from(v).map_err(|_| too_wide())?;
            put_u16(place(page, at, 2)?, 0, v);
        }
        _ => put_u32(place(page, at, 4)?, 0, v),
    }
    Ok(())
}

fn place(page: &mut [u8], at: usize, len: usize) -> Result<&mut [u8]> {
    let page_len = page.len();
    page.get_mut(at..at + len).ok_or_else(|| {
        Corruption::new("offset of a redo record", format!("{len} bytes in a page of {page_len}")).at(at)
    })
}

fn check_page(page: &[u8]) -> Result<()> {
    if page.len() >= 1024 {
        return Ok(());
    }
    Err(Corruption::new("page length", format!("{} bytes", page.len())))
}

/// What a record about a file says; names as stored, without the NUL: `database/table` in file name encoding, without
/// folder and `.ibd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOp<'a> {
    /// The file was made.
    Create {
        /// Space flags, where the record has them.
        flags: Option<u32>,
        /// Whether it is of a temporary table.
        temporary: bool,
        /// Name of the file.
        name: &'a [u8],
    },
    /// The file was renamed.
    Rename {
        /// Old name.
        old: &'a [u8],
        /// New name.
        new: &'a [u8],
    },
    /// The file was removed.
    Delete {
        /// Name of the file.
        name: &'a [u8],
    },
}

impl<'a> FileOp<'a> {
    /// Reads the body of a record of a type for which [`RecType::is_file`] holds.
    ///
    /// # Errors
    /// [`Corruption`] if the type is another, or a name is not terminated.
    pub fn parse(ty: RecType, id: PageId, body: &'a [u8]) -> Result<Self> {
        let r = &mut Reader::new(body);
        Ok(match ty {
            RecType::FileCreate => FileOp::Create { flags: None, temporary: false, name: name(r)? },
            RecType::FileCreate2 => {
                let flags = Some(r.u32()?);
                FileOp::Create { flags, temporary: id.page_no.get() & 1 != 0, name: name(r)? }
            }
            RecType::FileRename => FileOp::Rename { old: name(r)?, new: name(r)? },
            RecType::FileDelete => FileOp::Delete { name: name(r)? },
            _ => return Err(Corruption::new("redo record", format!("{ty:?} is not about a file"))),
        })
    }
}

fn name<'a>(r: &mut Reader<'a>) -> Result<&'a [u8]> {
    let len = usize::from(r.u16()?);
    let at = r.pos();
    match r.bytes(len)? {
        [name @ .., 0] if !name.contains(&0) => Ok(name),
        _ => Err(Corruption::new("file name of a redo record", "not terminated by its only NUL").at(at)),
    }
}
