//! Running SELECT: scans, joins, sorts, groups.
