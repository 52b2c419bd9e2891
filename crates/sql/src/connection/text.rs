//! Texts: found in the plan cache by their digest, or parsed; one statement after the other.

use super::values::{self, Values};
use super::{Connection, flag};
use crate::accounts::limits;
use crate::plan_cache::{Cached, Key};
use bumpalo::Bump;
use std::sync::Arc;
use vaquita_parser::{Digest, LiftedLiteral, ParseError, ParseErrorKind, ParseMode, ast};
use vaquita_session::SessionState;
use vaquita_session::sink::ResultSink;
use vaquita_session::status::Com;
use vaquita_types::{Decimal, SqlError, SqlResult, Value, memory};

/// What the reading of a text needs, kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) digest: Digest,
    pub(super) key: Vec<u8>,
}

/// A syntax error as clients see it.
pub(super) fn syntax_error(e: &ParseError) -> SqlError {
    if let ParseErrorKind::TooLarge(bytes) = e.kind
        && let Err(refused) = memory::check(bytes)
    {
        return refused;
    }
    SqlError::new(e.number(), e.to_string())
}

/// 1820.
pub(super) fn password_expired() -> SqlError {
    SqlError::new(1820, "You must SET PASSWORD before executing this statement")
}

/// The first word of a statement, comments before it left out.
fn first_word(mut sql: &[u8]) -> &[u8] {
    loop {
        sql = sql.trim_ascii_start();
        let is_comment = sql.starts_with(b"/*") && !sql.starts_with(b"/*!");
        match sql.windows(2).skip(2).position(|w| w == b"*/") {
            Some(end) if is_comment => sql = &sql[end + 4..],
            _ => break,
        }
    }
    let end = sql.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(sql.len());
    &sql[..end]
}

impl Connection {
    /// Whether the session may run a statement, as far as its password goes: with an expired one only SET, and ALTER USER,
    /// which looks at the rest itself.
    #[inline]
    pub(super) fn may_run(&mut self, sql: &[u8]) -> bool {
        self.refresh_privileges();
        if !self.state.privileges.password_expired {
            return true;
        }
        let word = first_word(sql);
        word.eq_ignore_ascii_case(b"set") || word.eq_ignore_ascii_case(b"alter")
    }

    /// Runs a text: one statement, or several if the client may. Results go to `sink`, statement by statement.
    ///
    /// # Errors
    /// Of the statement that failed; those before it are done.
    pub fn query(&mut self, sql: &[u8], sink: &mut dyn ResultSink) -> SqlResult<()> {
        let _paid = self.state.memory.enter();
        let mut at = 0;
        loop {
            let text = &sql[at..];
            match self.query_one(text, sink)? {
                Some(next) => at += next,
                None => return Ok(()),
            }
        }
    }

    /// Runs the statement at the start of a text; where the next one starts.
    fn query_one(&mut self, sql: &[u8], sink: &mut dyn ResultSink) -> SqlResult<Option<usize>> {
        if !self.may_run(sql) {
            self.begin("Query", sql, Com::Other);
            return self.end(Err(password_expired()), 0, sink).map(|()| None);
        }
        if let Some(txn) = plain_txn(sql) {
            self.begin("Query", sql, Com::of(&ast::Stmt::Txn(&txn)));
            let done = self.count_asked(|| false).and_then(|()| self.txn(&txn, sink));
            return self.end(done, 0, sink).map(|()| None);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        let mode = self.parse_mode(true);
        scratch.key.clear();
        // Others have no use for plans on a session's temporary tables, nor it for those on tables that these hide.
        let has_key = self.engine.temporary_generation() == 0
            && vaquita_parser::digest(sql, mode, &mut scratch.digest)
            && scratch.digest.params == 0;
        let found = match has_key {
            true => {
                let key = plan_key(&self.state, &scratch.digest.key);
                let found = self.own_plans.find(key, &self.state.user_vars);
                let grown = self.own_plans.grown();
                if grown > 0 {
                    self.state.memory.keep(grown as i64);
                }
                found
            }
            false => None,
        };
        let done = match found {
            Some(cached) => self.run_cached(&cached, sql, mode, &mut scratch, sink).map(|()| None),
            None => {
                if has_key {
                    self.plan_key(&scratch.digest.key).push(&mut scratch.key);
                }
                self.parse_and_run(sql, &scratch, sink)
            }
        };
        self.scratch = scratch;
        done
    }

    /// The hit: no syntax tree, no planning.
    fn run_cached(
        &mut self,
        cached: &Arc<Cached>,
        sql: &[u8],
        mode: ParseMode,
        scratch: &mut Scratch,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let literals = self.literal_values(&scratch.digest.literals, sql, mode)?;
        self.begin("Query", sql, cached.kind);
        self.state.status.plans_reused += 1;
        if let Err(e) = self.count_asked(|| limits::is_update(cached.kind)) {
            return self.end(Err(e), 0, sink);
        }
        let done = self.run_plan(&cached.plan, &literals, sink);
        let done = match done {
            // Whoever changed the definition has not thrown the plan away yet, or did so this moment.
            Err(e) if vaquita_exec::is_stale(&e) => {
                self.db.plans.remove(cached);
                if let Some(usage) = &self.usage {
                    usage.forget_last(limits::is_update(cached.kind));
                }
                self.plan_key(&scratch.digest.key).push(&mut scratch.key);
                return self.parse_and_run(sql, scratch, sink).map(|_| ());
            }
            done => done,
        };
        self.end(done, 0, sink)
    }

    fn parse_and_run(
        &mut self,
        sql: &[u8],
        scratch: &Scratch,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Option<usize>> {
        let mut arena = std::mem::take(&mut self.arena);
        let done = self.parse_and_run_in(&arena, sql, scratch, sink);
        arena.reset();
        // Not more than one large statement's memory is kept per session.
        if arena.allocated_bytes() <= ARENA_KEPT {
            self.arena = arena;
        }
        done
    }

    fn parse_and_run_in(
        &mut self,
        arena: &Bump,
        sql: &[u8],
        scratch: &Scratch,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Option<usize>> {
        let lift = !scratch.key.is_empty();
        let mode = self.parse_mode(lift);
        let parsed = match vaquita_parser::parse(sql, arena, mode) {
            Ok(parsed) => parsed,
            Err(e) => {
                self.begin("Query", sql, Com::Other);
                let failed = Err(syntax_error(&e));
                return self.end(failed, 0, sink).map(|()| None);
            }
        };
        let more = parsed.next.filter(|_| true);
        if let Some(next) = more
            && !self.multi_statements
        {
            self.begin("Query", sql, Com::Other);
            let e = ParseError::syntax(sql, next);
            return self.end(Err(syntax_error(&e)), 0, sink).map(|()| None);
        }
        if parsed.params > 0 {
            self.begin("Query", sql, Com::Other);
            let at = sql.iter().position(|&b| b == b'?').unwrap_or(0);
            let e = ParseError::syntax(sql, at);
            return self.end(Err(syntax_error(&e)), 0, sink).map(|()| None);
        }
        let text = parsed.span.of(sql);
        self.begin("Query", text, Com::of(&parsed.stmt));
        let status = if more.is_some() { flag::MORE_RESULTS } else { 0 };
        if self.multi_statements {
            sink.announce(self.status_flags() | status);
        }
        if let Err(e) = self.count_asked(|| limits::statement_updates(&parsed.stmt)) {
            return self.end(Err(e), 0, sink).map(|()| None);
        }
        let done = match lift {
            true => {
                let literals = self.literal_values(&scratch.digest.literals, sql, mode);
                literals.and_then(|literals| {
                    self.plan_and_run(&parsed.stmt, sql, &literals, Some(&scratch.key), sink)
                })
            }
            false => self.dispatch(&parsed.stmt, sql, &[], sink),
        };
        self.end(done, status, sink)?;
        Ok(more)
    }

    /// Values of the literals that the digest lifted out of a text.
    ///
    /// # Errors
    /// 1367 a number that is none.
    pub(super) fn literal_values<'s>(
        &self,
        literals: &[LiftedLiteral],
        sql: &'s [u8],
        mode: ParseMode,
    ) -> SqlResult<Values<'s>> {
        let mut values = literal_values(literals, sql, mode)?;
        if let Some(charsets) = self.state.vars.of_literals() {
            values::convert_texts(&mut values, charsets);
        }
        Ok(values)
    }

    /// What plans of a text depend on besides the text.
    pub(super) fn plan_key<'k>(&'k self, text: &'k [u8]) -> Key<'k> {
        plan_key(&self.state, text)
    }
}

fn plan_key<'k>(state: &'k SessionState, text: &'k [u8]) -> Key<'k> {
    Key { fingerprint: state.vars.plan_fingerprint(), database: &state.database, text }
}

/// The words that clients begin and end transactions with, which need no parser.
fn plain_txn(sql: &[u8]) -> Option<ast::Txn<'static>> {
    let is = |words: &str| sql.eq_ignore_ascii_case(words.as_bytes());
    if is("BEGIN") || is("START TRANSACTION") {
        Some(ast::Txn::Start { consistent_snapshot: false, access: None })
    } else if is("COMMIT") {
        Some(ast::Txn::Commit(ast::Completion::default()))
    } else if is("ROLLBACK") {
        Some(ast::Txn::Rollback(ast::Completion::default()))
    } else {
        None
    }
}

/// Bytes of an arena that is kept for the next statement.
const ARENA_KEPT: usize = 64 << 10;

/// As the client wrote them.
fn literal_values<'s>(literals: &[LiftedLiteral], sql: &'s [u8], mode: ParseMode) -> SqlResult<Values<'s>> {
    let value = |literal: &LiftedLiteral| {
        Ok(match literal {
            LiftedLiteral::Int(n) => match i64::try_from(*n) {
                Ok(n) => Value::Int(n),
                Err(_) => Value::UInt(*n),
            },
            LiftedLiteral::Decimal(_) => {
                let digits = literal.bytes(sql, mode);
                Value::Decimal(Decimal::parse(&digits).value)
            }
            LiftedLiteral::Float(_) => {
                let digits = literal.bytes(sql, mode);
                let text = std::str::from_utf8(&digits).ok().and_then(|t| t.parse::<f64>().ok());
                match text.filter(|n| n.is_finite()) {
                    Some(n) => Value::Double(n),
                    None => {
                        let shown = String::from_utf8_lossy(&digits).into_owned();
                        return Err(SqlError::new(
                            1367,
                            format!("Illegal double '{shown}' value found during parsing"),
                        ));
                    }
                }
            }
            LiftedLiteral::String { .. } => Value::Bytes(literal.bytes(sql, mode)),
        })
    };
    let mut values = Values::with_capacity(literals.len());
    for literal in literals {
        values.push(value(literal)?);
    }
    Ok(values)
}

/// Whether a statement is planned, and its plan kept.
pub(super) fn is_planned(stmt: &ast::Stmt<'_>) -> bool {
    matches!(stmt, ast::Stmt::Query(_) | ast::Stmt::Insert(_) | ast::Stmt::Update(_) | ast::Stmt::Delete(_))
}
