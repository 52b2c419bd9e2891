//! Errors and warnings with MySQL's numbers, SQLSTATEs and messages.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

mod make;
mod table;

/// Result of an SQL operation.
pub type SqlResult<T> = std::result::Result<T, SqlError>;

/// An error as a client gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// MySQL's error number.
    pub code: u16,
    /// SQLSTATE, five characters.
    pub sqlstate: Cow<'static, str>,
    /// Message.
    pub message: Cow<'static, str>,
}

impl SqlError {
    /// An error with that number; the SQLSTATE follows from it.
    pub fn new(code: u16, message: impl Into<Cow<'static, str>>) -> SqlError {
        SqlError { code, sqlstate: sqlstate(code).into(), message: message.into() }
    }

    /// An error with the message of its number and these arguments.
    ///
    /// ```
    /// # use vaquita_types::SqlError;
    /// let e = SqlError::of(1146, &[&"test", &"t"]);
    /// assert_eq!(e.to_string(), "ERROR 1146 (42S02): Table 'test.t' doesn't exist");
    /// ```
    pub fn of(code: u16, args: &[&dyn fmt::Display]) -> SqlError {
        SqlError::new(code, message(code, args))
    }

    /// 1235: something that is not there yet.
    pub fn unsupported(feature: &str) -> SqlError {
        SqlError::new(1235, format!("This version of Vaquita doesn't yet support '{feature}'"))
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.sqlstate, self.message)
    }
}

impl std::error::Error for SqlError {}

/// What is known of an error number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorInfo {
    /// Number.
    pub code: u16,
    /// Name: `ER_DUP_ENTRY`.
    pub name: &'static str,
    /// SQLSTATE, five characters.
    pub sqlstate: &'static str,
    /// Message with `%s` and `%d` where arguments go.
    pub format: &'static str,
}

/// What is known of an error number.
pub fn info(code: u16) -> Option<&'static ErrorInfo> {
    let at = table::TABLE.binary_search_by_key(&code, |e| e.code).ok()?;
    table::TABLE.get(at)
}

/// All error numbers known, in order.
pub fn all() -> &'static [ErrorInfo] {
    table::TABLE
}

/// SQLSTATE of an error number; `HY000` for those without one of their own.
pub fn sqlstate(code: u16) -> &'static str {
    info(code).map_or("HY000", |e| e.sqlstate)
}

/// The message of an error number with its arguments in their places.
pub fn message(code: u16, args: &[&dyn fmt::Display]) -> String {
    let format = info(code).map_or("Unknown error", |e| e.format);
    let mut out = String::with_capacity(format.len() + 16 * args.len());
    let (mut rest, mut args) = (format, args.iter());
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let (place, after) = rest[at..].split_at(2.min(rest.len() - at));
        match place {
            "%s" | "%d" => {
                // A missing argument leaves nothing. Writing to a string does not fail.
                if let Some(arg) = args.next() {
                    let _ = write!(out, "{arg}");
                }
            }
            _ => out.push_str(place),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// How grave a condition is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Something was done differently; counted as a warning only by SHOW WARNINGS.
    Note,
    /// Data may have been changed on the way.
    Warning,
    /// The statement failed.
    Error,
}

/// A line of SHOW WARNINGS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// How grave.
    pub level: Level,
    /// Number.
    pub code: u16,
    /// Message.
    pub message: Cow<'static, str>,
    /// What SIGNAL and RESIGNAL said of it besides.
    pub signalled: Option<Box<Signalled>>,
    /// Which of those that were raised it is: two may say the same.
    number: u64,
}

impl Warning {
    /// One that has not been raised yet.
    pub fn new(
        level: Level,
        code: u16,
        message: impl Into<Cow<'static, str>>,
        signalled: Option<Box<Signalled>>,
    ) -> Warning {
        Warning { level, code, message: message.into(), signalled, number: 0 }
    }

    /// SQLSTATE: what was signalled, or what follows from the number.
    pub fn sqlstate(&self) -> &str {
        match &self.signalled {
            Some(signalled) => &signalled.sqlstate,
            None => sqlstate(self.code),
        }
    }
}

/// What SIGNAL and RESIGNAL say of a condition besides its number and its message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signalled {
    /// SQLSTATE.
    pub sqlstate: Cow<'static, str>,
    /// CLASS_ORIGIN, SUBCLASS_ORIGIN, CONSTRAINT_CATALOG, CONSTRAINT_SCHEMA, CONSTRAINT_NAME, CATALOG_NAME, SCHEMA_NAME,
    /// TABLE_NAME, COLUMN_NAME, CURSOR_NAME, as far as they were set.
    pub items: [Option<Box<str>>; 10],
}

/// The conditions of a statement: the first `max_error_count` are kept, all are counted.
#[derive(Debug, Clone, Default)]
pub struct Warnings {
    list: Vec<Warning>,
    count: u32,
    limit: usize,
    /// How many were raised in the life of the session: numbers of them.
    raised: u64,
    /// They are those of an earlier statement.
    old: bool,
    /// Notes are not kept.
    without_notes: bool,
    /// They are others than at the beginning of the stored program that runs.
    changed: bool,
    /// So many of them, the first ones, are those that the program began with.
    inherited: usize,
    /// What would be a warning is an error.
    refuse: bool,
    /// The first such error.
    refused: Option<Box<SqlError>>,
}

impl Warnings {
    /// Keeps up to so many.
    pub fn new(limit: usize) -> Warnings {
        Warnings { limit, ..Warnings::default() }
    }

    /// Keeps up to so many from now on.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Whether conditions of level Note are kept from now on.
    pub fn keep_notes(&mut self, keep: bool) {
        self.without_notes = !keep;
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.list.clear();
        self.count = 0;
        self.inherited = 0;
        self.old = false;
        self.changed = true;
    }

    /// A statement begins: what is there goes with its first condition, or by [`Warnings::forget_old`] (MySQL keeps the
    /// conditions through statements that use no table and raise none).
    pub fn begin_statement(&mut self) {
        self.old = true;
    }

    /// What is there counts as raised by the present statement.
    pub fn renew(&mut self) {
        self.old = false;
    }

    /// Whether what is there was raised by statements before the present one.
    pub fn is_old(&self) -> bool {
        self.old
    }

    /// The present statement, which fails, goes on with the conditions of the one before it, if that one has raised some.
    pub fn go_on(&mut self, was_old: bool) {
        self.old = was_old;
    }

    /// Takes them away, to be put back later: what is left is empty and keeps as many.
    #[must_use]
    pub fn set_aside(&mut self) -> Warnings {
        let (limit, without_notes, raised) = (self.limit, self.without_notes, self.raised);
        let empty = Warnings { limit, without_notes, raised, ..Warnings::default() };
        std::mem::replace(self, empty)
    }

    /// Whether warnings are errors from now on, as they are in strict mode while rows are changed; whether they were before.
    pub fn refuse(&mut self, refuse: bool) -> bool {
        std::mem::replace(&mut self.refuse, refuse)
    }

    /// After something that could only warn.
    ///
    /// # Errors
    /// What it would have warned of, if that is an error now.
    #[inline]
    pub fn refused(&mut self) -> SqlResult<()> {
        match self.refused.take() {
            None => Ok(()),
            Some(e) => Err(*e),
        }
    }

    /// What came of a part in which warnings were errors; they are what they were `before`.
    ///
    /// # Errors
    /// Its own; the first of what would have been a warning.
    pub fn end_refusing<R>(&mut self, before: bool, done: SqlResult<R>) -> SqlResult<R> {
        self.refuse = before;
        self.refused()?;
        done
    }

    /// Those that a stored program begins with: what is there, of an earlier statement.
    #[must_use]
    pub fn for_program(&self) -> Warnings {
        let inherited = self.list.len();
        Warnings { old: true, changed: false, inherited, refuse: false, refused: None, ..self.clone() }
    }

    /// A stored program has ended with these. They come behind what the present statement has raised, and in the place of
    /// what earlier ones have; a program that raised none and forgot none leaves everything as it was.
    pub fn after_program(&mut self, of_program: Warnings) {
        (self.limit, self.without_notes, self.raised) =
            (of_program.limit, of_program.without_notes, of_program.raised);
        if !of_program.changed {
            return;
        }
        // What the present statement has raised is here; of earlier ones there is what the program has kept.
        let here = if self.old { 0 } else { of_program.inherited };
        self.forget_old();
        self.changed = true;
        self.count += of_program.count - here as u32;
        let room = self.limit.saturating_sub(self.list.len());
        self.list.extend(of_program.list.into_iter().skip(here).take(room));
    }

    /// A trigger has ended with these: what it raised stays in it.
    pub fn after_trigger(&mut self, of_trigger: &Warnings) {
        (self.limit, self.without_notes, self.raised) =
            (of_trigger.limit, of_trigger.without_notes, of_trigger.raised);
    }

    /// Forgets those that are among these: not others that say the same.
    pub fn forget(&mut self, these: &[Warning]) {
        self.changed = true;
        let before = self.list.len();
        let of_program = self.list.split_off(self.inherited);
        self.list.retain(|condition| !these.contains(condition));
        self.inherited = self.list.len();
        self.list.extend(of_program.into_iter().filter(|condition| !these.contains(condition)));
        self.count = self.count.saturating_sub((before - self.list.len()) as u32);
    }

    /// Forgets the first that is like this one.
    pub fn forget_first(&mut self, this: &Warning) {
        if let Some(at) = self.list.iter().position(|condition| condition == this) {
            self.list.remove(at);
            self.inherited -= usize::from(at < self.inherited);
            self.count -= 1;
            self.changed = true;
        }
    }

    /// Forgets those of earlier statements.
    pub fn forget_old(&mut self) {
        if self.old {
            self.clear();
        }
    }

    /// RETURN has been evaluated: what statements before it have raised goes, unless nothing has changed in the program.
    pub fn forget_old_of_program(&mut self) {
        if self.changed {
            self.forget_old();
        }
    }

    /// Adds a condition.
    pub fn push(&mut self, level: Level, code: u16, message: impl Into<Cow<'static, str>>) {
        if self.without_notes && level == Level::Note {
            return;
        }
        if self.refuse && level == Level::Warning {
            self.refused.get_or_insert_with(|| Box::new(SqlError::new(code, message.into())));
            return;
        }
        self.forget_old();
        self.changed = true;
        self.count += 1;
        self.raised += 1;
        if self.list.len() < self.limit {
            self.list.push(Warning { number: self.raised, ..Warning::new(level, code, message, None) });
        }
    }

    /// Adds a condition to those that are there, whosever they are: of GET DIAGNOSTICS, which leaves them.
    pub fn append(&mut self, level: Level, code: u16, message: impl Into<Cow<'static, str>>) {
        let changed = self.changed;
        self.old = false;
        self.push(level, code, message);
        self.changed = changed;
    }

    /// Adds a condition with what was signalled of it.
    pub fn push_whole(&mut self, condition: Warning) {
        let kept = self.list.len();
        self.push(condition.level, condition.code, condition.message);
        if self.list.len() > kept
            && let Some(last) = self.list.last_mut()
        {
            last.signalled = condition.signalled;
        }
    }

    /// Whether conditions of level Note are kept.
    pub fn keeps_notes(&self) -> bool {
        !self.without_notes
    }

    /// Adds a warning.
    pub fn warn(&mut self, code: u16, message: impl Into<Cow<'static, str>>) {
        self.push(Level::Warning, code, message);
    }

    /// How many there were.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// How many the present statement has raised.
    pub fn new_count(&self) -> u32 {
        if self.old { 0 } else { self.count }
    }

    /// Those that were kept.
    pub fn list(&self) -> &[Warning] {
        &self.list
    }
}

#[cfg(test)]
mod tests;
