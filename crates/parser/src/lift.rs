//! Which literals are lifted out of a statement.
//!
//! A machine over tokens, run by the digest and by the parser alike, so that both lift the same literals. It knows
//! clauses and parentheses only, and is careful: a literal stays where it might name a column (select list), pick
//! a column by position (ORDER BY, GROUP BY), decide a type or be required by the grammar (arguments of functions,
//! `CAST`, `ESCAPE`, `DATE '…'`).

use crate::keyword::Kw;
use crate::token::{T, Token};

/// Deepest nesting of parentheses that is followed; beyond it nothing is lifted.
const DEPTH_MAX: u32 = 63;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Lifter {
    /// The statement's first word is one whose literals are lifted.
    statement: Statement,
    /// Literals of the clause are lifted.
    on: bool,
    /// `on` of the enclosing parentheses, innermost in bit 0.
    outer: u64,
    depth: u32,
    /// Depth at which a function's arguments began; 0 outside of them.
    call: u32,
    /// The previous token.
    previous: T,
    previous_kw: Kw,
    /// Seen what makes the whole statement not worth caching.
    pub(crate) spoiled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Statement {
    Unknown,
    Query,
    Insert,
    Change,
    Other,
}

impl Lifter {
    pub(crate) fn new() -> Self {
        Self {
            statement: Statement::Unknown,
            on: false,
            outer: 0,
            depth: 0,
            call: 0,
            previous: T::Eof,
            previous_kw: Kw::Other,
            spoiled: false,
        }
    }

    /// Takes the next token; whether it is a literal to lift.
    #[inline]
    pub(crate) fn step(&mut self, token: &Token) -> bool {
        let lifted = match token.kind {
            T::Int | T::Decimal | T::Float => self.lifts(),
            T::String => self.lifts() && !self.is_bound_string(),
            T::Word => {
                if token.kw != Kw::Other {
                    self.word(token.kw);
                }
                false
            }
            T::LParen => {
                self.open();
                false
            }
            T::RParen => {
                self.close();
                false
            }
            T::LBrace | T::Error => {
                self.spoiled = true;
                false
            }
            _ => false,
        };
        if self.statement == Statement::Unknown {
            self.statement = Statement::Other;
        }
        self.previous = token.kind;
        self.previous_kw = token.kw;
        lifted
    }

    /// The statement is of a kind that is cached at all.
    pub(crate) fn is_cacheable(&self) -> bool {
        !matches!(self.statement, Statement::Unknown | Statement::Other) && !self.spoiled
    }

    /// In a clause whose text names result columns.
    pub(crate) fn in_select_list(&self) -> bool {
        !self.on
    }

    /// Whether a literal that comes now is lifted.
    #[inline]
    pub(crate) fn lifts(&self) -> bool {
        self.on
            && self.call == 0
            && self.statement != Statement::Other
            && !matches!(self.previous_kw, Kw::Escape | Kw::Collate | Kw::As)
            && !matches!(self.previous, T::Arrow | T::ArrowArrow | T::Introducer)
    }

    /// A string that belongs to the word before it.
    fn is_bound_string(&self) -> bool {
        matches!(self.previous_kw, Kw::Date | Kw::Time | Kw::Timestamp)
    }

    fn word(&mut self, kw: Kw) {
        if self.statement == Statement::Unknown {
            self.statement = match kw {
                Kw::Select | Kw::With => Statement::Query,
                Kw::Insert | Kw::Replace => Statement::Insert,
                Kw::Update | Kw::Delete => Statement::Change,
                _ => Statement::Other,
            };
        }
        // A word after a dot comes without its keyword, so these are the clauses themselves.
        match kw {
            Kw::Select | Kw::Order | Kw::Group | Kw::Into | Kw::Window => self.on = false,
            Kw::From | Kw::Where | Kw::Having | Kw::On | Kw::Set | Kw::Limit => self.on = true,
            Kw::Values | Kw::Value if self.statement == Statement::Insert => self.on = true,
            Kw::Outfile | Kw::Dumpfile | Kw::Procedure => self.spoiled = true,
            _ => {}
        }
    }

    fn open(&mut self) {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            self.spoiled = true;
        }
        self.outer = self.outer << 1 | u64::from(self.on);
        if self.call == 0 && self.previous == T::Word && !is_before_group(self.previous_kw) {
            self.call = self.depth;
        }
        if self.call == 0 && self.previous == T::Quoted {
            self.call = self.depth;
        }
    }

    fn close(&mut self) {
        if self.call == self.depth {
            self.call = 0;
        }
        self.on = self.outer & 1 == 1 && !self.spoiled;
        self.outer >>= 1;
        self.depth = self.depth.saturating_sub(1);
    }
}

/// Whether a parenthesis after the word groups an expression, a row, a list or tables: anything but arguments.
fn is_before_group(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::In
            | Kw::Values
            | Kw::Value
            | Kw::Where
            | Kw::And
            | Kw::Or
            | Kw::Xor
            | Kw::Not
            | Kw::On
            | Kw::Having
            | Kw::From
            | Kw::Join
            | Kw::StraightJoin
            | Kw::Like
            | Kw::Between
            | Kw::Regexp
            | Kw::Rlike
            | Kw::Div
            | Kw::Exists
            | Kw::Any
            | Kw::Some
            | Kw::All
            | Kw::Select
            | Kw::Distinct
            | Kw::Union
            | Kw::Intersect
            | Kw::Except
            | Kw::Case
            | Kw::When
            | Kw::Then
            | Kw::Else
            | Kw::Binary
    )
}
