//! Running stored programs.
//!
//! A program's steps run in a [`Frame`]; procedures that call procedures are frames one above the other, not calls on the
//! thread's stack. Functions are called in the middle of statements: they run in a session of their own, which has the
//! engine's session and the state of the caller's for as long; so do triggers.
//!
//! | part | file |
//! |---|---|
//! | frames, steps, handlers | this file |
//! | statements and expressions of a program | `part` |
//! | CALL, parameters, what a program runs with | `call` |
//! | functions in expressions | `function` |
//! | triggers | `trigger` |
//! | executions of events | `event` |
//! | SIGNAL, RESIGNAL, GET DIAGNOSTICS | `conditions` |

mod call;
mod conditions;
mod event;
mod function;
mod part;
mod trigger;

pub(crate) use function::OfFolder;

use super::Connection;
use crate::routine::Routine;
use crate::routine::code::Step;
use call::{Before, Given};
use part::Results;
use std::sync::Arc;
use vaquita_parser::ast::ProgramKind;
use vaquita_session::sink::ResultSink;
use vaquita_types::{Kind, Level, SqlError, SqlResult, SqlType, Value, Warning, Warnings};

/// What a session has of the programs it runs.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// It runs a function: no statement is a transaction of its own, and there are no results.
    pub(super) inside: bool,
    /// Conditions that handlers take care of, the innermost last.
    caught: Vec<Caught>,
    /// What RESIGNAL without a state has raised once more: it is there twice for handlers of the same program, not for callers.
    again: Option<Warning>,
    /// The expression at hand is being evaluated: what it names is there.
    evaluates: bool,
    /// Types of the local variables that the statement at hand has for parameters.
    pub(super) types: Option<Arc<[SqlType]>>,
    /// Evaluating an expression and storing its value are one statement of the engine.
    stores: bool,
    /// What is run gives a value to a program: conditions of earlier statements stay.
    pub(super) gives_value: bool,
    /// What a prepared CALL gives its parameters.
    pub(super) given: Vec<OutParameter>,
}

impl Running {
    /// Whether a statement of the engine has begun already.
    pub(super) fn stores(&self) -> bool {
        self.stores
    }
}

/// The value of an OUT or INOUT parameter that is a `?` of a prepared statement.
#[derive(Debug)]
pub(super) struct OutParameter {
    /// Database and name of the procedure.
    pub(super) routine: (Arc<str>, Arc<str>),
    /// Number of the `?`.
    pub(super) number: usize,
    /// The parameter's name.
    pub(super) name: String,
    pub(super) value: Value<'static>,
    pub(super) ty: SqlType,
}

/// What a handler takes care of.
#[derive(Debug, Clone)]
struct Caught {
    condition: Warning,
    /// All conditions of the statement.
    all: Vec<Warning>,
    /// The handler has told of them once more, by a warning of RESIGNAL: they stay when it ends.
    told: bool,
    row_count: i64,
}

/// A program that runs.
#[derive(Debug)]
pub(super) struct Frame {
    routine: Arc<Routine>,
    locals: Vec<Value<'static>>,
    /// Types of them.
    types: Arc<[SqlType]>,
    at: usize,
    /// Handlers that are there, the innermost last.
    handlers: Vec<usize>,
    /// Those of them that run.
    activations: Vec<Activation>,
    cursors: Vec<Option<Cursor>>,
    /// Where parameters go when it ends.
    given: Vec<Given>,
    /// What is put back then.
    before: Before,
    returned: Option<Value<'static>>,
    /// Columns of the row of a trigger that were set: their places.
    assigned: Vec<u32>,
    /// Conditions of the statement that called it: it has its own.
    outside: Warnings,
    /// It is a trigger that ends with an error.
    fails: bool,
}

/// A handler that runs.
#[derive(Debug)]
struct Activation {
    /// Handlers that do not see what happens in it: those of its block, and of blocks inside of that.
    hidden: (usize, usize),
    /// Where a CONTINUE handler goes on.
    back: usize,
    /// Conditions that were caught before.
    caught: usize,
}

/// An open cursor: its rows.
#[derive(Debug)]
struct Cursor {
    rows: std::vec::IntoIter<Box<[Value<'static>]>>,
    types: Arc<[SqlType]>,
    memory: usize,
}

/// What comes after a step.
enum Next {
    Step,
    /// Another one than the following.
    To(usize),
    /// First a procedure.
    Call(Box<Frame>),
    End,
}

/// An expression that names a table that is not there is not evaluated at all.
const NO_SUCH_TABLE: u16 = 1146;

impl Frame {
    /// What a variable should have become has failed: it is NULL.
    fn has_no_value(&mut self, place: u32) {
        let at = place as usize;
        if self.routine.code.vars[at].of_row.is_none() {
            self.locals[at] = Value::Null;
        }
    }
}

/// Errors that end everything: no handler takes care of them.
fn is_final(e: &SqlError) -> bool {
    matches!(e.code, 1053 | 1317 | 3024 | 4081 | 4082 | 5)
}

impl Connection {
    /// Runs a program to its end; the caller has entered it.
    fn run_frame(&mut self, first: Frame, sink: &mut dyn ResultSink) -> SqlResult<Frame> {
        let bottom = self.program.caught.len();
        let done = self.run_frames(vec![first], &mut Results::new(sink));
        self.program.caught.truncate(bottom);
        done
    }

    fn run_frames(&mut self, mut frames: Vec<Frame>, results: &mut Results<'_>) -> SqlResult<Frame> {
        loop {
            let Some(frame) = frames.last_mut() else {
                return Err(SqlError::new(1105, "a stored program that is none"));
            };
            let (routine, at) = (frame.routine.clone(), frame.at);
            let next = match routine.code.steps.get(at) {
                None => Ok(Next::End),
                Some(step) => match self.state.poll() {
                    Ok(()) => self.step(frame, step, results),
                    Err(e) => Err(e),
                },
            };
            let done = match next {
                Ok(Next::Step) => {
                    frame.at = at + 1;
                    Ok(at)
                }
                Ok(Next::To(step)) => {
                    frame.at = step;
                    Ok(at)
                }
                Ok(Next::Call(callee)) => {
                    frames.push(*callee);
                    continue;
                }
                Ok(Next::End) => {
                    let Some(ended) = frames.pop() else { continue };
                    match self.end_of_frame(ended, frames.last_mut()) {
                        Ok(Some(ended)) => return Ok(ended),
                        Ok(None) => {
                            let Some(caller) = frames.last_mut() else { continue };
                            caller.at += 1;
                            Ok(caller.at - 1)
                        }
                        Err(e) => Err(e),
                    }
                }
                Err(e) => Err(e),
            };
            match done {
                Ok(at) => self.look_for_warnings(&mut frames, at),
                Err(e) => {
                    let e = vaquita_expr::with_names(e, |place| routine.code.name_in_messages(place));
                    self.look_for_handler(&mut frames, e)?;
                    self.cut(results)?;
                }
            }
        }
    }

    /// A program has ended: its caller gets its parameters; the first one is given back.
    fn end_of_frame(&mut self, mut ended: Frame, caller: Option<&mut Frame>) -> SqlResult<Option<Frame>> {
        self.leave(&mut ended);
        let Some(caller) = caller else { return Ok(Some(ended)) };
        self.give_back(&ended, Some(caller))?;
        Ok(None)
    }

    fn step(&mut self, frame: &mut Frame, step: &Step, results: &mut Results<'_>) -> SqlResult<Next> {
        match step {
            Step::Sql(fragment) => {
                self.run_part(frame, *fragment, results)?;
                Ok(Next::Step)
            }
            Step::Call { fragment } => self.call_part(frame, *fragment),
            Step::Set { place, value } => {
                self.state.warnings.begin_statement();
                match value {
                    None => frame.locals[*place as usize] = Value::Null,
                    Some(fragment) => self.undoing(frame, *fragment, |connection, frame| {
                        connection.set_to_value(frame, *place, *fragment)
                    })?,
                }
                Ok(Next::Step)
            }
            Step::Operand { place, value, .. } => {
                self.state.warnings.begin_statement();
                let (value, mut ty) = self.value_of(frame, *value)?;
                // Whatever it is, it counts as calculated: what is no number in it gives no warning.
                if matches!(ty.kind, Kind::Char | Kind::VarChar) {
                    ty.kind = Kind::LongText;
                }
                self.set_local(frame, *place, value, &ty)?;
                Ok(Next::Step)
            }
            Step::Jump(to) => Ok(Next::To(*to)),
            Step::Unless { condition, to, .. } => {
                self.state.warnings.begin_statement();
                Ok(if self.holds(frame, *condition)? { Next::Step } else { Next::To(*to) })
            }
            Step::CaseMissing => Err(SqlError::new(1339, "Case not found for CASE statement")),
            Step::Handle(handler) => {
                frame.handlers.push(*handler);
                Ok(Next::Step)
            }
            Step::Handled(handler) => Ok(self.handled(frame, *handler)),
            Step::Leave { block, cursors } => {
                let handlers = &frame.routine.code.handlers;
                while frame.handlers.last().is_some_and(|h| handlers[*h].block == *block) {
                    frame.handlers.pop();
                }
                for cursor in cursors.0..cursors.1 {
                    self.close_cursor(frame, cursor);
                }
                Ok(Next::Step)
            }
            Step::Open(cursor) => {
                self.open_cursor(frame, *cursor)?;
                Ok(Next::Step)
            }
            Step::Fetch { cursor, into } => {
                // What the statement before it has raised stays in front of what it fails with.
                let was_old = self.state.warnings.is_old();
                let fetched = self.fetch(frame, *cursor, into);
                fetched.inspect_err(|_| self.state.warnings.go_on(was_old))?;
                Ok(Next::Step)
            }
            Step::Close(cursor) => {
                if !self.close_cursor(frame, *cursor) {
                    return Err(SqlError::new(1326, "Cursor is not open"));
                }
                self.state.warnings.begin_statement();
                Ok(Next::Step)
            }
            Step::Return(fragment) => {
                self.state.warnings.begin_statement();
                self.return_value(frame, *fragment)?;
                // A handler of its warnings comes before the end.
                Ok(Next::To(frame.routine.code.steps.len()))
            }
            Step::NoReturn if frame.returned.is_some() => Ok(Next::End),
            Step::NoReturn => {
                let name = &frame.routine.name;
                Err(SqlError::new(1321, format!("FUNCTION {name} ended without RETURN")))
            }
        }
    }

    /// A variable gets the value of an expression.
    fn set_to_value(&mut self, frame: &mut Frame, place: u32, fragment: usize) -> SqlResult<()> {
        // What a column of NEW gets is never refused for a warning.
        let value = match frame.routine.code.vars[place as usize].of_row {
            Some(_) => self.value_of(frame, fragment),
            None => self.strict_value_of(frame, fragment),
        };
        match value {
            Ok((value, ty)) => self.set_local(frame, place, value, &ty),
            Err(e) => {
                if self.program.evaluates || e.code != NO_SUCH_TABLE {
                    frame.has_no_value(place);
                }
                Err(e)
            }
        }
    }

    /// RETURN.
    fn return_value(&mut self, frame: &mut Frame, fragment: usize) -> SqlResult<()> {
        let before = frame.returned.replace(Value::Null);
        let found = self.strict_value_of(frame, fragment);
        // A RETURN that fails has returned NULL: it counts if a handler takes care of the failure and nothing else is returned.
        if found.as_ref().is_err_and(|e| !self.program.evaluates && e.code == NO_SUCH_TABLE) {
            frame.returned = before;
        }
        let (value, ty) = found?;
        self.state.warnings.forget_old_of_program();
        let routine = frame.routine.clone();
        if let Some(returns) = &routine.returns {
            frame.returned = Some(self.stored(returns, &routine.name, value, &ty)?);
        }
        Ok(())
    }

    // Handlers.

    /// The handler for a condition that the step `step` has raised, by its place among those that are there: the most exact one of the
    /// innermost block that has one. If that is the block whose declarations are at hand, its handlers are not there yet: then there
    /// is none.
    fn handler_for(frame: &Frame, step: usize, code: u16, state: &str, level: Level) -> Option<usize> {
        let handlers = &frame.routine.code.handlers;
        let declared = frame.routine.code.declarations.iter().find(|(steps, _)| steps.contains(&step));
        if let Some((_, block)) = declared {
            let of_block = handlers.iter().filter(|h| h.block == *block);
            if of_block.flat_map(|h| &h.conditions).any(|c| c.is_of(code, state, level)) {
                return None;
            }
        }
        let mut best: Option<(usize, u8, u32)> = None;
        for (at, &number) in frame.handlers.iter().enumerate().rev() {
            if frame.activations.iter().any(|a| (a.hidden.0..a.hidden.1).contains(&at)) {
                continue;
            }
            let handler = &handlers[number];
            if let Some((_, _, block)) = best
                && block != handler.block
            {
                break;
            }
            for condition in handler.conditions.iter().filter(|c| c.is_of(code, state, level)) {
                // Of two that are equally exact the first one.
                if best.is_none_or(|(_, exactness, _)| condition.exactness() >= exactness) {
                    best = Some((at, condition.exactness(), handler.block));
                }
            }
        }
        best.map(|(at, ..)| at)
    }

    /// After a failed step: its handler, of the program or of one of its callers.
    ///
    /// # Errors
    /// There is none.
    fn look_for_handler(&mut self, frames: &mut Vec<Frame>, e: SqlError) -> SqlResult<()> {
        self.note_failure(&e);
        // In a function the transaction cannot end: the statement that called it must.
        let ends_all = is_final(&e) || self.program.inside && matches!(e.code, 1213 | 1205 | 1206);
        while let Some(frame) = frames.last_mut() {
            let found = if ends_all {
                None
            } else {
                Self::handler_for(frame, frame.at, e.code, &e.sqlstate, Level::Error)
            };
            if let Some(at) = found {
                let condition = self.condition_of(&e);
                let back = frame.routine.code.continues_at(frame.at);
                self.program.again = None;
                self.activate(frame, at, back, condition);
                return Ok(());
            }
            if let Some(mut ended) = frames.pop() {
                if let Some(twice) = self.program.again.take() {
                    self.state.warnings.forget_first(&twice);
                }
                if ended.routine.kind == ProgramKind::Trigger {
                    // What the statement in it raised before it failed is told with it.
                    let condition = self.condition_of(&e);
                    if self.state.warnings.list().last() != Some(&condition) {
                        self.state.warnings.push_whole(condition);
                    }
                    ended.fails = true;
                }
                self.leave(&mut ended);
            }
        }
        Err(e)
    }

    /// After the step at `at` that did what it should: a handler for its warnings. A note has one, too, by its number or its SQLSTATE.
    fn look_for_warnings(&mut self, frames: &mut [Frame], at: usize) {
        if self.state.warnings.new_count() == 0 {
            return;
        }
        let Some(frame) = frames.last_mut() else { return };
        let code = &frame.routine.code;
        if frame.handlers.is_empty() || !code.steps.get(at).is_some_and(Step::raises) {
            return;
        }
        let back = code.continues_at(at);
        // The last one that has a handler counts.
        let mut raised = self.state.warnings.list().iter().rev().filter(|w| w.level != Level::Error);
        let found = raised.find_map(|w| {
            let at = Self::handler_for(frame, at, w.code, w.sqlstate(), w.level)?;
            Some((at, w.clone()))
        });
        if let Some((at, condition)) = found {
            self.activate(frame, at, back, condition);
        }
    }

    fn activate(&mut self, frame: &mut Frame, at: usize, back: usize, condition: Warning) {
        let code = &frame.routine.code;
        let block = code.handlers[frame.handlers[at]].block;
        let first = frame.handlers.iter().position(|h| code.handlers[*h].block == block).unwrap_or(at);
        // Handlers that run inside of what this one ends are over. One that continues goes back into them.
        let ends = code.handlers[frame.handlers[at]].exit.is_some();
        while ends && frame.activations.last().is_some_and(|a| a.hidden.0 > first) {
            if let Some(over) = frame.activations.pop() {
                self.program.caught.truncate(over.caught);
            }
        }
        let caught = self.program.caught.len();
        frame.activations.push(Activation { hidden: (first, frame.handlers.len()), back, caught });
        let all = self.state.warnings.list().to_vec();
        let row_count = self.state.row_count;
        self.program.caught.push(Caught { condition, all, told: false, row_count });
        frame.at = code.handlers[frame.handlers[at]].start;
    }

    /// The end of a handler's body.
    fn handled(&mut self, frame: &mut Frame, handler: usize) -> Next {
        let Some(activation) = frame.activations.pop() else { return Next::Step };
        // What the handler took care of goes; what its statements raised stays.
        if let Some(caught) = self.program.caught.get(activation.caught)
            && !caught.told
        {
            self.state.warnings.forget(&caught.all);
        }
        self.program.caught.truncate(activation.caught);
        self.state.error_count = 0;
        match frame.routine.code.handlers[handler].exit {
            Some(end) => {
                frame.handlers.truncate(activation.hidden.0);
                Next::To(end)
            }
            None => {
                frame.handlers.truncate(activation.hidden.1);
                Next::To(activation.back)
            }
        }
    }

    fn condition_of(&self, e: &SqlError) -> Warning {
        let is_it = |w: &&Warning| w.level == Level::Error && w.code == e.code && w.message == e.message;
        match self.state.warnings.list().iter().rfind(is_it) {
            Some(found) => found.clone(),
            None => conditions::warning_of(e),
        }
    }

    // Cursors.

    fn fetch(&mut self, frame: &mut Frame, cursor: usize, into: &[u32]) -> SqlResult<()> {
        self.state.warnings.begin_statement();
        let Some(open) = &mut frame.cursors[cursor] else {
            return Err(SqlError::new(1326, "Cursor is not open"));
        };
        if open.types.len() != into.len() {
            return Err(SqlError::new(1328, "Incorrect number of FETCH variables"));
        }
        let types = open.types.clone();
        let Some(row) = open.rows.next() else {
            return Err(SqlError::new(1329, "No data - zero rows fetched, selected, or processed"));
        };
        for ((place, value), ty) in into.iter().zip(row).zip(types.iter()) {
            self.set_local(frame, *place, value, ty)?;
        }
        Ok(())
    }

    /// Closes a cursor; whether it was open.
    fn close_cursor(&mut self, frame: &mut Frame, cursor: usize) -> bool {
        match frame.cursors[cursor].take() {
            Some(open) => {
                self.state.memory.keep(-(open.memory as i64));
                true
            }
            None => false,
        }
    }
}
