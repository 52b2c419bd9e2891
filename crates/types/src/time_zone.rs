//! Time zones: between UTC and local time.

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeZone {
    offset: i32,
}

impl TimeZone {
    /// UTC.
    pub const UTC: TimeZone = TimeZone { offset: 0 };

    /// A fixed number of seconds east of Greenwich.
    pub const fn fixed(offset: i32) -> TimeZone {
        TimeZone { offset }
    }

    /// Seconds east of Greenwich at a moment given in seconds since 1970.
    #[inline]
    pub fn offset_at(&self, _utc: i64) -> i32 {
        self.offset
    }

    /// The moment of a local time, both in seconds since 1970; `None` in the gap of a clock set forward. Of the two
    /// moments of an hour that comes twice, the first.
    #[inline]
    pub fn to_utc(&self, local: i64) -> Option<i64> {
        Some(local - i64::from(self.offset))
    }

    /// As [`TimeZone::to_utc`]; in a gap the moment at which the clock is set forward.
    #[inline]
    pub fn to_utc_lenient(&self, local: i64) -> i64 {
        local - i64::from(self.offset)
    }
}
