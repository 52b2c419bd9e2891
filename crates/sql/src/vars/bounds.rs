//! Variables of which one bounds the other, in MySQL 5.6's words.

use super::{VarId, VarValue};
use crate::database::Database;
use vaquita_types::{SqlResult, Warnings};

const CAPACITY: VarId = VarId::of("innodb_io_capacity");
const CAPACITY_MAX: VarId = VarId::of("innodb_io_capacity_max");
const DIRTY: VarId = VarId::of("innodb_max_dirty_pages_pct");
const DIRTY_LWM: VarId = VarId::of("innodb_max_dirty_pages_pct_lwm");

/// Least `innodb_io_capacity_max` that follows from `innodb_io_capacity`.
const CAPACITY_MAX_MIN: u64 = 2_000;

const TOO_HIGH: &str = "innodb_io_capacity cannot be set higher than innodb_io_capacity_max.";
const LWM_TOO_HIGH: &str =
    "innodb_max_dirty_pages_pct_lwm cannot be set higher than innodb_max_dirty_pages_pct.";

/// What a global variable gets if `value` is asked for. Another variable may follow it.
///
/// # Errors
/// Of setting that one.
pub(super) fn within(
    var: VarId,
    value: VarValue,
    db: &Database,
    warnings: &mut Warnings,
) -> SqlResult<VarValue> {
    let other = |var: VarId| db.globals().get(var).uint();
    let wanted = value.uint();
    let mut clipped = |complaint: &str, name: &str, to: u64| {
        warnings.warn(1210, complaint.to_owned());
        warnings.warn(1210, format!("Setting {name} to {to}"));
        Ok(VarValue::UInt(to))
    };
    match var {
        CAPACITY if wanted > other(CAPACITY_MAX) => {
            clipped(TOO_HIGH, "innodb_io_capacity", other(CAPACITY_MAX))
        }
        CAPACITY_MAX if wanted < other(CAPACITY) => {
            let complaint = "innodb_io_capacity_max cannot be set lower than innodb_io_capacity.";
            clipped(complaint, "innodb_io_capacity_max", other(CAPACITY))
        }
        DIRTY_LWM if wanted > other(DIRTY) => {
            clipped(LWM_TOO_HIGH, "innodb_max_dirty_page_pct_lwm", other(DIRTY))
        }
        DIRTY if wanted < other(DIRTY_LWM) => {
            let complaint =
                "innodb_max_dirty_pages_pct cannot be set lower than innodb_max_dirty_pages_pct_lwm.";
            warnings.warn(1210, complaint);
            warnings.warn(1210, format!("Lowering innodb_max_dirty_page_pct_lwm to {wanted}"));
            db.set_global(DIRTY_LWM, VarValue::UInt(wanted))?;
            Ok(value)
        }
        _ => Ok(value),
    }
}

/// The same at start, with all values at hand. `is_given`: whether somebody has named the variable.
pub(super) fn at_start(values: &mut [VarValue], is_given: &dyn Fn(VarId) -> bool, notes: &mut Vec<String>) {
    let capacity = values[CAPACITY.at()].uint();
    if !is_given(CAPACITY_MAX) {
        values[CAPACITY_MAX.at()] = VarValue::UInt(capacity.saturating_mul(2).max(CAPACITY_MAX_MIN));
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
