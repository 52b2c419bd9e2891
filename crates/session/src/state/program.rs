//! What a session remembers of the stored programs that run for it.

use super::{SessionState, SubqueryResults};
use std::any::Any;
use std::sync::Arc;
use vaquita_parser::ast::ProgramKind;
use vaquita_types::{SqlType, Value};

/// A value for a variable.
#[derive(Debug)]
pub struct Taken {
    /// The variable.
    pub into: Place,
    /// The value.
    pub value: Value<'static>,
    /// The value's type.
    pub ty: SqlType,
}

/// A variable.
#[derive(Debug)]
pub enum Place {
    /// A local one.
    Local(u32),
    /// A user variable, which waits for local ones before it: one that cannot take its value ends the statement.
    User(Box<[u8]>),
}

/// Of the programs that run.
#[derive(Debug, Default)]
pub struct ProgramState {
    /// What SELECT … INTO has for variables, in their order.
    pub taken: Vec<Taken>,
    /// Programs that run, one in the other: kind, database and name.
    pub running: Vec<(ProgramKind, Arc<str>, Arc<str>)>,
    /// Tables of the statements that called them, which they may not change: database and name.
    pub in_use: Vec<(Box<str>, Box<str>)>,
    /// Calls that are on the thread's stack, one in the other.
    pub depth: u32,
    /// Sessions for what functions do that do nothing now.
    pub inner: Vec<Box<dyn Any + Send>>,
    /// The session may do everything, whatever the accounts say.
    pub everything: bool,
}

/// What a statement has of its own while a function that it called runs statements.
#[derive(Debug)]
pub struct Suspended {
    subqueries: SubqueryResults,
    begun: Vec<usize>,
    new_insert_id: Option<u64>,
    generates: bool,
    found_rows: u64,
    last_insert_id: u64,
}

impl SessionState {
    /// A function begins in the middle of a statement.
    pub fn suspend(&mut self) -> Suspended {
        Suspended {
            subqueries: std::mem::take(&mut self.subqueries),
            begun: std::mem::take(&mut self.begun),
            new_insert_id: self.new_insert_id.take(),
            generates: std::mem::take(&mut self.generates),
            found_rows: self.found_rows,
            last_insert_id: self.last_insert_id,
        }
    }

    /// It has ended: the statement goes on.
    pub fn resume(&mut self, of: Suspended) {
        self.subqueries = of.subqueries;
        self.begun = of.begun;
        self.new_insert_id = of.new_insert_id;
        self.generates = of.generates;
        self.found_rows = of.found_rows;
        self.last_insert_id = of.last_insert_id;
    }
}
