//! What becomes of tablespaces, as the log tells it: read before anything is applied.
//!
//! Records are applied in several rounds if the memory for them is small, so a record may be met long before the drop of its
//! tablespace. Nothing follows from such records. Their file is gone, or goes, and what they were made for may be gone already.

use super::file_operation;
use crate::error::Result;
use crate::log::LogReader;
use std::collections::HashMap;
use vaquita_base::{Lsn, SpaceId};
use vaquita_format::redo_rec;
use vaquita_format::redo_rec::apply::FileOp;

/// Which tablespaces the log drops, and where it does so last.
#[derive(Debug, Default)]
pub(super) struct Fates {
    dropped: HashMap<SpaceId, Lsn>,
}

impl Fates {
    /// Reads the log from where the reader stands to its end.
    pub(super) fn read(reader: &mut LogReader) -> Result<Self> {
        let mut fates = Self::default();
        let mut records = Vec::new();
        while let Some(group) = reader.next_group_by(|run| redo_rec::parse_group(run, &mut records))? {
            for record in records.iter().filter(|record| record.ty.is_file()) {
                if let FileOp::Delete { .. } = file_operation(record, group.payload)? {
                    fates.dropped.insert(record.page.space, group.start);
                }
            }
        }
        Ok(fates)
    }

    /// Whether a tablespace is dropped by the mini-transaction at an LSN, or by a later one.
    #[inline]
    pub(super) fn is_dropped_after(&self, space: SpaceId, lsn: Lsn) -> bool {
        self.dropped.get(&space).is_some_and(|&at| lsn <= at)
    }
}
