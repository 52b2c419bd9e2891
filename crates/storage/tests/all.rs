//! Every test of the crate from outside, in one program: it is linked once, and its tests run side by side.
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
