//! The compiled form of a body: instructions, and the texts of the statements and expressions in it.
//!
//! Statements and expressions are planned when they are first run, with the local variables as parameters; what comes of it is
//! kept with them, for all sessions.

use parking_lot::RwLock;
use std::ops::Range;
use std::sync::Arc;
use vaquita_exec::Planned;
use vaquita_expr::Expr;
use vaquita_parser::Local;
use vaquita_session::state::Conditions;
use vaquita_session::status::Com;
use vaquita_types::{ColumnType, Level, SqlType};

/// The compiled body of a stored program.
#[derive(Debug)]
pub(crate) struct Code {
    /// What is done, in order; it ends behind the last one.
    pub(crate) steps: Box<[Step]>,
    /// Statements and expressions.
    pub(crate) fragments: Box<[Fragment]>,
    /// Local variables; parameters come first.
    pub(crate) vars: Box<[Var]>,
    /// Types of them.
    pub(crate) types: Arc<[SqlType]>,
    /// Queries of cursors, by their numbers among the fragments.
    pub(crate) cursors: Box<[usize]>,
    /// Handlers.
    pub(crate) handlers: Box<[Handler]>,
    /// Steps of declarations that come before the handlers of their block, with its number.
    pub(crate) declarations: Box<[(Range<usize>, u32)]>,
}

/// A local variable.
#[derive(Debug)]
pub(crate) struct Var {
    pub(crate) name: String,
    /// Its type; `None`: that of what it is set to (the operand of CASE).
    pub(crate) ty: Option<ColumnType>,
    /// It is a column of the row that a trigger is fired for.
    pub(crate) of_row: Option<OfRow>,
}

/// A column of `NEW` or `OLD`.
#[derive(Debug)]
pub(crate) struct OfRow {
    /// Of `NEW`; otherwise of `OLD`.
    pub(crate) new: bool,
    /// It may be set: of `NEW`, before the change.
    pub(crate) writable: bool,
    /// Its position in the table.
    pub(crate) column: usize,
    pub(crate) name: Box<str>,
    pub(crate) null: Null,
}

/// What NULL is for a column that is set by a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Null {
    /// A value, or it asks for a generated one.
    Allowed,
    /// The time of the statement.
    Now,
    /// Error 1048.
    Refused,
}

/// One step. Places of steps are numbers of them.
#[derive(Debug)]
pub(crate) enum Step {
    /// A statement.
    Sql(usize),
    /// CALL.
    Call { fragment: usize },
    /// A variable gets the value of an expression; NULL without one.
    Set { place: u32, value: Option<usize> },
    /// The operand of CASE gets its value. `after`: behind the CASE.
    Operand { place: u32, value: usize, after: usize },
    /// Goes on elsewhere.
    Jump(usize),
    /// Goes on elsewhere unless a condition holds. `after`: behind the whole statement.
    Unless { condition: usize, to: usize, after: usize },
    /// No branch of CASE holds: error 1339.
    CaseMissing,
    /// A handler is there from now on.
    Handle(usize),
    /// The end of a handler's body.
    Handled(usize),
    /// The end of a block: its handlers and cursors go.
    Leave { block: u32, cursors: (usize, usize) },
    /// OPEN.
    Open(usize),
    /// FETCH.
    Fetch { cursor: usize, into: Box<[u32]> },
    /// CLOSE.
    Close(usize),
    /// RETURN.
    Return(usize),
    /// Behind the body of a function: error 1321.
    NoReturn,
}

impl Code {
    /// Where a CONTINUE handler of a condition that the step at `at` has raised goes on: with what comes next. Whether the
    /// condition of IF, CASE or a loop holds does not count then, nor does what comes of the operand of CASE: that statement is over.
    pub(crate) fn continues_at(&self, at: usize) -> usize {
        match self.steps.get(at) {
            Some(Step::Unless { after, .. } | Step::Operand { after, .. }) => *after,
            _ => at + 1,
        }
    }
}

impl Code {
    /// The name of a local variable in messages: its number counts without the columns of a trigger's row.
    pub(crate) fn name_in_messages(&self, place: usize) -> Option<String> {
        let var = self.vars.get(place)?;
        let row = if var.of_row.as_ref().is_some_and(|of_row| of_row.new) { "NEW" } else { "OLD" };
        Some(match &var.of_row {
            Some(of_row) => format!("{row}.{}", of_row.name),
            None => {
                let columns = self.vars.iter().take_while(|var| var.of_row.is_some()).count();
                format!("{}@{}", var.name, place - columns)
            }
        })
    }
}

impl Step {
    /// Whether it is a statement, or evaluates something: only then there are conditions to be handled behind it. What a block
    /// declares before its handlers is none of theirs, though it is what was raised last when they come.
    pub(crate) fn raises(&self) -> bool {
        !matches!(
            self,
            Step::Jump(_) | Step::Handle(_) | Step::Handled(_) | Step::Leave { .. } | Step::NoReturn
        )
    }
}

/// DECLARE … HANDLER.
#[derive(Debug)]
pub(crate) struct Handler {
    /// For what.
    pub(crate) conditions: Box<[Condition]>,
    /// The block it was declared in.
    pub(crate) block: u32,
    /// Its body.
    pub(crate) start: usize,
    /// Where an EXIT handler goes on; `None`: it is a CONTINUE handler.
    pub(crate) exit: Option<usize>,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    Code(u16),
    State([u8; 5]),
    Warning,
    NotFound,
    Exception,
}

/// The text of a statement, or of an expression as `DO expression`.
#[derive(Debug)]
pub(crate) struct Fragment {
    pub(crate) text: Box<[u8]>,
    /// Variables in scope.
    pub(crate) locals: Arc<[Local]>,
    /// Declared conditions in scope, by name.
    pub(crate) conditions: Arc<[(Box<[u8]>, Condition)]>,
    pub(crate) kind: Com,
    /// What was made of it.
    pub(crate) made: RwLock<Option<Arc<Made>>>,
}

/// What a fragment was compiled to.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) what: What,
    pub(crate) fingerprint: u64,
    pub(crate) generation: u64,
    pub(crate) temporaries: u64,
    pub(crate) conditions: Conditions,
}

/// A statement, or an expression.
#[derive(Debug)]
pub(crate) enum What {
    Plan(Arc<dyn Planned>),
    Expr(Box<Expr>),
}

impl Condition {
    /// How exactly it says what it is for: the more exact handler is taken.
    pub(crate) fn exactness(&self) -> u8 {
        match self {
            Condition::Code(_) => 3,
            Condition::State(_) => 2,
            Condition::Warning | Condition::NotFound | Condition::Exception => 1,
        }
    }

    /// Whether a condition of that number, state and level is one of these.
    pub(crate) fn is_of(&self, code: u16, state: &str, level: Level) -> bool {
        match self {
            Condition::Code(of) => *of == code,
            Condition::State(of) => of == state.as_bytes(),
            Condition::Warning => state.starts_with("01") || level == Level::Warning,
            Condition::NotFound => state.starts_with("02"),
            Condition::Exception => {
                level == Level::Error && !state.starts_with("01") && !state.starts_with("02")
            }
        }
    }
}
