//! Tables under temporary names that a crash left behind: the copy of an ALTER TABLE that was cut off. They are dropped
//! when what the crash left in them is rolled back, before which their rows are locked.

use super::{drop_table, related_tables};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::mdl::MdlMode;
use crate::row;
use std::time::Duration;
use vaquita_txn::lock::WaitPolicy;
use vaquita_txn::{AccessMode, Isolation, LockMode, Trx};

/// What the names of tables begin with that mean nothing to anybody after a crash.
pub const TEMPORARY_PREFIX: &str = "#sql-vq";

/// Whether a table of that name, `database/table`, means nothing to anybody after a crash.
pub fn is_temporary(name: &str) -> bool {
    name.rsplit_once('/').is_some_and(|(_, table)| table.starts_with(TEMPORARY_PREFIX))
}

/// Notes what an earlier life of the folder left behind, before the first session starts.
///
/// # Errors
/// Errors of reading the dictionary.
pub(crate) fn find(core: &Core) -> Result<()> {
    let all = core.user_tables()?;
    let found: Vec<String> = all.into_iter().filter(|name| is_temporary(name)).collect();
    core.leftovers.lock().extend(found);
    Ok(())
}

/// Drops one of them; whether there may be more to do. One that is in use, or cannot be dropped, stays for another time, and
/// others come before it.
///
/// # Errors
/// Errors of pages and files; the table stays on the list.
pub(crate) fn step(core: &Core) -> Result<bool> {
    let Some(name) = core.leftovers.lock().last().cloned() else { return Ok(false) };
    let mut mdl = core.mdl.context();
    let dropped = lock_names(core, &mut mdl, &name).and_then(|names| {
        let mut trx = core.txn.new_trx();
        core.txn.start(&mut trx, Isolation::ReadCommitted, AccessMode::ReadWrite);
        let done = drop_locked(core, &mut trx, &names, &name);
        if done.is_err() {
            row::roll_back_or_later(core, trx)?;
        }
        done
    });
    core.mdl.release(&mut mdl);
    match dropped {
        // An ALTER TABLE that wanted the name was faster.
        Ok(()) | Err(Error::NoSuchTable(_)) => {
            let mut left = core.leftovers.lock();
            left.retain(|n| *n != name);
            Ok(!left.is_empty())
        }
        Err(e) => {
            let mut left = core.leftovers.lock();
            if let Some(at) = left.iter().position(|n| *n == name) {
                left[..=at].rotate_right(1);
            }
            match e {
                Error::MetadataLockTimeout(_) | Error::LockWaitTimeout => Ok(false),
                e => Err(e),
            }
        }
    }
}

fn lock_names(core: &Core, mdl: &mut crate::mdl::MdlContext, name: &str) -> Result<Vec<String>> {
    let names = related_tables(core, &[name])?;
    for name in &names {
        core.mdl.acquire(mdl, name, MdlMode::Exclusive, Duration::ZERO)?;
    }
    Ok(names)
}

fn drop_locked(core: &Core, trx: &mut Trx, names: &[String], name: &str) -> Result<()> {
    for name in names {
        match core.table(name) {
            Ok(table) => {
                core.txn.locks().lock_table(trx, table.id, LockMode::Exclusive, WaitPolicy::NoWait)?;
            }
            Err(Error::NoSuchTable(_) | Error::TableUnusable { .. } | Error::Discarded(_)) => {}
            Err(e) => return Err(e),
        }
    }
    drop_table(core, trx, name, false)
}
