//! The tablespace of temporary tables: made when it is wanted, gone with the process.
//!
//! Its pages go through the pool and the mini-transactions as all do, but nothing of them is logged (I5 of [`crate::mtr`]), no
//! checkpoint waits for them, and they are written only when their frames are wanted, without the doublewrite area.
//!
//! # Crash
//! The file is left behind and means nothing: it is removed when the folder is opened again.

use crate::error::{Error, Result};
use crate::fsp;
use crate::storage::Storage;
use std::path::PathBuf;
use vaquita_base::SpaceId;
use vaquita_format::flags::SpaceFlags;

/// The file's name, as in MySQL 5.7.
pub const FILE: &str = "ibtmp1";

impl Storage {
    fn temporary_path(&self) -> PathBuf {
        self.options().dir.join(FILE)
    }

    /// Makes the tablespace of temporary tables, empty. Callers take turns.
    ///
    /// # Errors
    /// I/O errors, with nothing left; the folder is open for reading only.
    pub fn make_temporary_space(&self) -> Result<()> {
        if self.options().read_only {
            return Err(Error::Config("the folder is open for reading only".into()));
        }
        self.remove_temporary_file()?;
        let (path, size) = (self.temporary_path(), self.options().page_size);
        let flags = SpaceFlags::new(size, true, false).map_err(|c| Error::Config(c.to_string()))?;
        self.spaces().create(SpaceId::TEMPORARY, flags.encode(), size, &path, fsp::INITIAL_PAGES)?;
        let made = self.begin().and_then(|mut mtr| {
            mtr.keep_before_images();
            fsp::init_space(&mut mtr, SpaceId::TEMPORARY, flags, fsp::INITIAL_PAGES)?;
            mtr.commit();
            Ok(())
        });
        if made.is_err() {
            // The error that made it necessary is what counts.
            let _ = self.drop_temporary_space();
        }
        made
    }

    /// Drops the tablespace of temporary tables and its file, if it is there. Nobody uses its pages any more.
    ///
    /// # Errors
    /// I/O errors; the tablespace is gone all the same.
    pub fn drop_temporary_space(&self) -> Result<()> {
        if !self.spaces().contains(SpaceId::TEMPORARY) {
            return Ok(());
        }
        self.pool().discard_space(SpaceId::TEMPORARY);
        self.spaces().detach(SpaceId::TEMPORARY);
        self.remove_temporary_file()
    }

    /// Removes the file that an earlier process has left. No sync: if it comes back it is removed again.
    pub(crate) fn remove_temporary_file(&self) -> Result<()> {
        let path = self.temporary_path();
        if self.fs().exists(&path) {
            self.fs().remove_file(&path)?;
        }
        Ok(())
    }
}
