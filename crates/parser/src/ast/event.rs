//! Events.

use super::{Expr, IntervalUnit, ObjectName, ProgramStmt, Span, UserName};

/// What CREATE EVENT and ALTER EVENT say besides the body.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EventHead<'a> {
    /// `ON SCHEDULE`; there is one in CREATE EVENT.
    pub schedule: Option<EventSchedule<'a>>,
    /// `ON COMPLETION PRESERVE` (true) or `NOT PRESERVE`.
    pub preserve: Option<bool>,
    /// `RENAME TO` (ALTER only).
    pub rename: Option<ObjectName<'a>>,
    /// `ENABLE` and its kin.
    pub status: Option<EventStatus>,
    /// `COMMENT`.
    pub comment: Option<&'a [u8]>,
}

/// When an event is executed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EventSchedule<'a> {
    /// `AT`: once.
    At(Expr<'a>),
    /// `EVERY value unit`.
    Every {
        /// How many of them.
        value: Expr<'a>,
        /// Of what.
        unit: IntervalUnit,
        /// `STARTS`.
        starts: Option<Expr<'a>>,
        /// `ENDS`.
        ends: Option<Expr<'a>>,
    },
}

/// Whether an event is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStatus {
    /// `ENABLE`.
    Enabled,
    /// `DISABLE`.
    Disabled,
    /// `DISABLE ON SLAVE`.
    SlavesideDisabled,
}

/// `ALTER EVENT`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlterEvent<'a> {
    /// `DEFINER=`; the current user when `None`.
    pub definer: Option<UserName<'a>>,
    /// Name.
    pub name: ObjectName<'a>,
    /// What changes besides the body.
    pub head: EventHead<'a>,
    /// The new body, and its text.
    pub body: Option<(&'a ProgramStmt<'a>, Span)>,
}
