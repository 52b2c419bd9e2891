//! External references: the last 20 bytes of a field whose rest lies on BLOB pages.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | space id |
//! | 4 | 4 | first page |
//! | 8 | 4 | offset in it: 38, or 12 in compressed tables |
//! | 12 | 8 | bit 63: not the owner; bit 62: inherited; low 32 bits: bytes off the page |
//!
//! While a row is being written its references are all zero; a crash may leave such a record, whose column is then
//! not readable yet and which rollback removes.

use crate::error::Result;
use vaquita_base::codec::{Reader, put_u32, put_u64};
use vaquita_base::{PageNo, SpaceId};

/// Bytes of a reference.
pub const EXTERN_REF_LEN: usize = 20;

const NOT_OWNER: u64 = 1 << 63;
const INHERITED: u64 = 1 << 62;

/// Where the rest of a field lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExternRef {
    /// Tablespace of the pages.
    pub space: SpaceId,
    /// First page.
    pub page_no: PageNo,
    /// Where the part header starts in the first page.
    pub offset: u32,
    /// Whether the record owns the pages: only an owner frees them.
    pub owner: bool,
    /// Whether an update under another clustered key handed them on.
    pub inherited: bool,
    /// Bytes off the page, the local prefix not included.
    pub len: u32,
}

impl ExternRef {
    /// Reads the reference at the end of a field's local part; `None` if it has not been written yet.
    ///
    /// # Errors
    /// If the local part is shorter than a reference.
    pub fn of_field(local: &[u8]) -> Result<Option<ExternRef>> {
        let mut r = Reader::new(local);
        r.skip(local.len().saturating_sub(EXTERN_REF_LEN))?;
        let raw = r.bytes(EXTERN_REF_LEN)?;
        if raw.iter().all(|&b| b == 0) {
            return Ok(None);
        }
        let mut r = Reader::new(raw);
        let (space, page_no, offset, len) = (r.u32()?, r.u32()?, r.u32()?, r.u64()?);
        Ok(Some(ExternRef {
            space: SpaceId(space),
            page_no: PageNo(page_no),
            offset,
            owner: len & NOT_OWNER == 0,
            inherited: len & INHERITED != 0,
            len: len as u32,
        }))
    }

    /// The 20 bytes.
    pub fn to_bytes(self) -> [u8; EXTERN_REF_LEN] {
        let mut out = [0; EXTERN_REF_LEN];
        put_u32(&mut out, 0, self.space.get());
        put_u32(&mut out, 4, self.page_no.get());
        put_u32(&mut out, 8, self.offset);
        let owner = if self.owner { 0 } else { NOT_OWNER };
        let inherited = if self.inherited { INHERITED } else { 0 };
        put_u64(&mut out, 12, u64::from(self.len) | owner | inherited);
        out
    }
}
