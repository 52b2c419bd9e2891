//! What planning a statement needs, and what it notes.

use crate::common::Common;
use crate::hinted::Waiting;
use crate::source::VirtualTables;
use crate::tree::{SourceLock, SubqueryPlan, TableUse};
use crate::view::Names;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_engine::Session;
use vaquita_engine::fulltext::Mode;
use vaquita_engine::table::FullTextIndex;
use vaquita_expr::{FullText, Subquery};
use vaquita_session::Shared;
use vaquita_session::privilege::{Priv, Through};
use vaquita_types::Value;

/// Makes something that can be run of a planned subquery: running is not this layer's business.
pub type Runnable = fn(Arc<SubqueryPlan>) -> Arc<dyn Subquery>;

/// Makes something that can be searched of a full-text index.
pub type MakeSearchable = fn(Arc<TableInfo>, Arc<FullTextIndex>, Mode) -> Arc<dyn FullText>;

/// Values of parameters and lifted literals, for expressions that are compared with each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'p> {
    pub(crate) values: &'p [Value<'p>],
    /// Set when two were compared: the plan is good for these values only.
    pub(crate) compared: &'p Cell<bool>,
}

/// What planning needs besides what compiling expressions needs.
#[derive(Debug)]
pub struct Planner<'p> {
    /// The folder.
    pub db: &'p Shared,
    /// The session, in a statement: tables are opened by it.
    pub session: RefCell<&'p mut Session>,
    /// The statement's text: columns without alias are named by it.
    pub sql: &'p [u8],
    /// Values of the parameters of the first execution, if they are known: to estimate ranges.
    pub params: &'p [Value<'p>],
    /// Whether what was planned follows from them.
    pub by_values: Cell<bool>,
    /// Finds virtual tables.
    pub virtual_tables: &'p dyn VirtualTables,
    /// Makes something that can be run of a planned subquery.
    pub runnable: Runnable,
    /// Makes something that can be searched of a full-text index.
    pub searchable: MakeSearchable,
    /// How many derived tables are being planned, one in the other.
    pub derived: Cell<u32>,
    /// Locks on rows that are read to change others.
    pub sources: SourceLock,
    /// What is asked of a table that is opened to be changed, before it is known to be there.
    pub changing: Priv,
    /// The view that is being planned, whose privileges count.
    pub through: RefCell<Option<Arc<Through>>>,
    /// Views that are being planned, one in the other, by the engine's names.
    pub views: RefCell<Vec<String>>,
    /// What the names of the query stand for, if that is wanted.
    pub names: RefCell<Option<Names>>,
    /// Tables and columns that were used so far.
    pub uses: RefCell<Vec<TableUse>>,
    /// Common table expressions that can be named, the innermost last.
    pub(crate) common: RefCell<Vec<Common>>,
    /// Query blocks that are being planned, one in the other.
    pub(crate) blocks: Cell<u32>,
    /// Hints for blocks that are to come.
    pub(crate) hinted: RefCell<Waiting>,
}

impl<'p> Planner<'p> {
    /// For one statement.
    pub fn new(
        db: &'p Shared,
        session: &'p mut Session,
        sql: &'p [u8],
        params: &'p [Value<'p>],
        virtual_tables: &'p dyn VirtualTables,
        (runnable, searchable): (Runnable, MakeSearchable),
    ) -> Planner<'p> {
        Planner {
            db,
            session: RefCell::new(session),
            sql,
            params,
            by_values: Cell::new(false),
            virtual_tables,
            runnable,
            searchable,
            derived: Cell::new(0),
            sources: SourceLock::None,
            changing: Priv::NONE,
            through: RefCell::default(),
            views: RefCell::default(),
            names: RefCell::default(),
            uses: RefCell::default(),
            common: RefCell::default(),
            blocks: Cell::new(0),
            hinted: RefCell::default(),
        }
    }

    /// The same for a statement that changes rows.
    #[must_use]
    pub fn locking_sources(self, sources: SourceLock) -> Planner<'p> {
        Planner { sources, ..self }
    }

    /// The same for a statement that does one of these to tables it changes.
    #[must_use]
    pub fn changing(self, changing: Priv) -> Planner<'p> {
        Planner { changing, ..self }
    }

    /// Values that expressions may be compared by.
    pub(crate) fn known(&self) -> Known<'_> {
        Known { values: self.params, compared: &self.by_values }
    }

    /// What was read so far, by subqueries say; it is forgotten.
    pub fn take_uses(&self) -> Vec<TableUse> {
        self.uses.take()
    }

    pub(crate) fn note_uses(&self, mut uses: Vec<TableUse>) {
        for one in &mut uses {
            one.derived |= self.derived.get() > 0;
            if one.through.is_none() {
                one.through.clone_from(&self.through.borrow());
            }
        }
        self.uses.borrow_mut().extend(uses);
    }
}
