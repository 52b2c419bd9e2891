//! All integration tests of the crate in one program, so that the engine is linked once.
#![allow(clippy::unwrap_used, reason = "tests")]

mod create_and_recover;
mod flushers;
mod folder;
mod folder_lock;
mod pool_behaviour;
mod recovery_faults;
mod refusals;
mod rename_spaces;
mod replaced_log;
mod slow_disk;
mod space_allocation;
mod system_files;
mod taken_over;
mod temporary;
