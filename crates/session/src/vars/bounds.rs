//! Variables of which one bounds the other, in MySQL 5.6's words.

use super::{VarId, VarValue};

const POOL: VarId = VarId::of("innodb_buffer_pool_size");
const INSTANCES: VarId = VarId::of("innodb_buffer_pool_instances");
/// `innodb_io_capacity`.
pub const CAPACITY: VarId = VarId::of("innodb_io_capacity");
/// `innodb_io_capacity_max`.
pub const CAPACITY_MAX: VarId = VarId::of("innodb_io_capacity_max");
/// `innodb_max_dirty_pages_pct`.
pub const DIRTY: VarId = VarId::of("innodb_max_dirty_pages_pct");
/// `innodb_max_dirty_pages_pct_lwm`.
pub const DIRTY_LWM: VarId = VarId::of("innodb_max_dirty_pages_pct_lwm");

/// Instances that a pool is divided into unless somebody says how many: one for each GiB, up to this many.
const INSTANCES_MAX: u64 = 8;

/// Least `innodb_io_capacity_max` that follows from `innodb_io_capacity`.
const CAPACITY_MAX_MIN: u64 = 2_000;

/// What is said of a rate above the greatest one.
pub const TOO_HIGH: &str = "innodb_io_capacity cannot be set higher than innodb_io_capacity_max.";
/// What is said of a low water mark above the mark.
pub const LWM_TOO_HIGH: &str =
    "innodb_max_dirty_pages_pct_lwm cannot be set higher than innodb_max_dirty_pages_pct.";

/// Brings values given at start within what others say. `is_given`: whether somebody has named the variable.
pub(super) fn at_start(values: &mut [VarValue], is_given: &dyn Fn(VarId) -> bool, notes: &mut Vec<String>) {
    let capacity = values[CAPACITY.at()].uint();
    if !is_given(CAPACITY_MAX) {
        values[CAPACITY_MAX.at()] = VarValue::UInt(capacity.saturating_mul(2).max(CAPACITY_MAX_MIN));
    }
    if !is_given(INSTANCES) {
        values[INSTANCES.at()] = VarValue::UInt((values[POOL.at()].uint() >> 30).clamp(1, INSTANCES_MAX));
    }
    let mut bound = |what: VarId, by: VarId, complaint: &str| {
        let most = values[by.at()].uint();
        if values[what.at()].uint() > most {
            values[what.at()] = VarValue::UInt(most);
            notes.push(complaint.to_owned());
        }
    };
    bound(CAPACITY, CAPACITY_MAX, TOO_HIGH);
    bound(DIRTY_LWM, DIRTY, LWM_TOO_HIGH);
}
