//! SIGNAL, RESIGNAL, GET DIAGNOSTICS.

use crate::connection::Connection;
use crate::program::check_items;
use crate::routine::code::Condition;
use crate::routine::item_name;
use std::borrow::Cow;
use vaquita_exec::Outcome;
use vaquita_parser::ast::{
    ConditionItem, ConditionValue, Diagnostics, DiagnosticsTarget, Expr, GetDiagnostics, Signal,
};
use vaquita_session::state::{Place, Taken};
use vaquita_types::error::Signalled;
use vaquita_types::{Level, SqlError, SqlResult, SqlType, Value, Warning};

/// Longest MESSAGE_TEXT, in characters.
const MESSAGE_MAX: usize = 128;
/// Longest of the other items.
const ITEM_MAX: usize = 64;
/// CLASS_ORIGIN and SUBCLASS_ORIGIN are the first of the items of [`Signalled`].
const ORIGINS: usize = 2;

/// An error as a condition.
pub(super) fn warning_of(e: &SqlError) -> Warning {
    let own = vaquita_types::error::sqlstate(e.code);
    let signalled = (own != e.sqlstate)
        .then(|| Box::new(Signalled { sqlstate: e.sqlstate.clone(), ..Signalled::default() }));
    Warning::new(Level::Error, e.code, e.message.clone(), signalled)
}

/// A condition as an error.
fn error_of(condition: Warning) -> SqlError {
    let sqlstate = Cow::Owned(condition.sqlstate().to_owned());
    SqlError { code: condition.code, sqlstate, message: condition.message }
}

/// The place of an item among those of [`Signalled`].
fn item_place(item: ConditionItem) -> Option<usize> {
    Some(match item {
        ConditionItem::ClassOrigin => 0,
        ConditionItem::SubclassOrigin => 1,
        ConditionItem::ConstraintCatalog => 2,
        ConditionItem::ConstraintSchema => 3,
        ConditionItem::ConstraintName => 4,
        ConditionItem::CatalogName => 5,
        ConditionItem::SchemaName => 6,
        ConditionItem::TableName => 7,
        ConditionItem::ColumnName => 8,
        ConditionItem::CursorName => 9,
        ConditionItem::MessageText | ConditionItem::MysqlErrno | ConditionItem::ReturnedSqlstate => {
            return None;
        }
    })
}

/// What is signalled of a state if nothing else is said.
fn condition_of_state(state: &str) -> Warning {
    let (level, code, message) = match &state[..2] {
        "01" => (Level::Warning, 1642, "Unhandled user-defined warning condition"),
        "02" => (Level::Error, 1643, "Unhandled user-defined not found condition"),
        _ => (Level::Error, 1644, "Unhandled user-defined exception condition"),
    };
    let mut signalled = Signalled { sqlstate: Cow::Owned(state.to_owned()), ..Signalled::default() };
    // What a program signals comes from nowhere, unless it says so.
    signalled.items[..ORIGINS].fill(Some("".into()));
    Warning::new(level, code, message, Some(Box::new(signalled)))
}

/// What is signalled of a state in place of what was caught: the items stay.
fn caught_of_state(state: &str, caught: &Warning) -> Warning {
    let mut condition = condition_of_state(state);
    condition.message = caught.message.clone();
    let signalled = condition.signalled.get_or_insert_default();
    signalled.items = caught.signalled.as_ref().map(|before| before.items.clone()).unwrap_or_default();
    condition
}

/// CLASS_ORIGIN and SUBCLASS_ORIGIN of what the server raises itself.
fn origin_of(state: &str) -> &'static str {
    let is_standard = state.bytes().take(1).all(|b| matches!(b, b'0'..=b'4' | b'A'..=b'H'));
    if is_standard { "ISO 9075" } else { "MySQL" }
}

impl Connection {
    /// An error among the conditions of the statement, unless it is there.
    pub(in crate::connection) fn note_error_once(&mut self, e: &SqlError) {
        let has = |w: &Warning| w.level == Level::Error && w.code == e.code && w.message == e.message;
        if !self.state.warnings.list().iter().any(has) {
            self.state.warnings.push_whole(warning_of(e));
        }
    }

    /// SIGNAL, RESIGNAL.
    ///
    /// # Errors
    /// What is signalled, unless it is a warning; 1407, 1641, 1645, 1646.
    pub(in crate::connection) fn signal(
        &mut self,
        signal: &Signal<'_>,
        sql: &[u8],
        params: &[Value<'_>],
        names: &[(Box<[u8]>, Condition)],
    ) -> SqlResult<Outcome> {
        check_items(signal.items)?;
        // It is the statement's own condition that counts.
        self.state.warnings.renew();
        let caught = self.program.caught.last().cloned();
        let mut condition = match (&signal.condition, &caught) {
            (Some(of), Some(caught)) if signal.again => {
                caught_of_state(&state_of(of, names)?, &caught.condition)
            }
            (Some(of), _) => condition_of_state(&state_of(of, names)?),
            (None, Some(caught)) => caught.condition.clone(),
            (None, None) => return Err(not_active()),
        };
        if signal.again && caught.is_none() {
            return Err(not_active());
        }
        if let (true, Some(signalled)) = (signal.again, &mut condition.signalled) {
            // The second time it comes from where its state says.
            signalled.items[..ORIGINS].fill(None);
        }
        for (item, value) in signal.items {
            self.set_item(&mut condition, *item, value, sql, params)?;
        }
        let mut replaced = None;
        match (signal.again, caught) {
            // What was caught stays in front of what is signalled anew, unless the handler's statements have forgotten it.
            (true, Some(caught)) => match signal.condition {
                None => self.program.again = Some(caught.condition),
                Some(_) => {
                    self.program.again = None;
                    replaced = Some(caught.condition);
                }
            },
            _ => self.state.warnings.clear(),
        }
        if condition.level == Level::Error {
            self.state.warnings.push_whole(condition.clone());
            return Err(error_of(condition));
        }
        if let Some(caught) = replaced {
            // It stays in front of the warning, and the handler forgets nothing of what it has taken care of.
            if !self.state.warnings.list().contains(&caught) {
                self.state.warnings.push_whole(caught);
            }
            if let Some(of) = self.program.caught.last_mut() {
                of.told = true;
            }
        }
        self.state.warnings.push_whole(condition);
        Ok(Outcome::default())
    }

    fn set_item(
        &mut self,
        condition: &mut Warning,
        item: ConditionItem,
        value: &Expr<'_>,
        sql: &[u8],
        params: &[Value<'_>],
    ) -> SqlResult<()> {
        let (value, ty) = self.evaluate(value, sql, params)?;
        let wrong = |text: &str| {
            let name = item_name(item);
            SqlError::new(1231, format!("Variable '{name}' can't be set to the value of '{text}'"))
        };
        if value.is_null() {
            return Err(wrong("NULL"));
        }
        let text = self.text_of_value(&value, &ty);
        if item == ConditionItem::MysqlErrno {
            let code = text.trim().parse::<u16>().ok().filter(|code| *code != 0);
            let code = code.ok_or_else(|| wrong(&text))?;
            // The state stays what it was.
            let state = condition.sqlstate().to_owned();
            condition.signalled.get_or_insert_default().sqlstate = state.into();
            condition.code = code;
            return Ok(());
        }
        let max = if item == ConditionItem::MessageText { MESSAGE_MAX } else { ITEM_MAX };
        let text = match text.char_indices().nth(max) {
            None => text,
            Some(_) if self.state.vars.sql_mode.is_strict() => {
                let name = item_name(item);
                return Err(SqlError::new(1648, format!("Data too long for condition item '{name}'")));
            }
            Some((end, _)) => {
                let name = item_name(item);
                self.state.warnings.warn(1647, format!("Data truncated for condition item '{name}'"));
                text[..end].to_owned()
            }
        };
        match item_place(item) {
            None => condition.message = text.into(),
            Some(place) => {
                let state = condition.sqlstate().to_owned();
                let signalled = condition.signalled.get_or_insert_default();
                signalled.sqlstate = state.into();
                signalled.items[place] = Some(text.into());
            }
        }
        Ok(())
    }

    /// A value as text in UTF-8; it ends before what is none.
    fn text_of_value(&self, value: &Value<'_>, ty: &SqlType) -> String {
        let text = value.to_text(ty);
        let charset = vaquita_engine::text::charset::Charset::of_collation(ty.collation);
        match charset.filter(|_| ty.kind.is_string()).and_then(|charset| charset.decode(&text)) {
            Some(text) => text.into_owned(),
            None => text.utf8_chunks().next().map_or(String::new(), |chunk| chunk.valid().to_owned()),
        }
    }

    /// GET DIAGNOSTICS.
    ///
    /// # Errors
    /// 1758 no such condition, 1759 no handler runs.
    pub(in crate::connection) fn get_diagnostics(
        &mut self,
        get: &GetDiagnostics<'_>,
        sql: &[u8],
        params: &[Value<'_>],
    ) -> SqlResult<Outcome> {
        let (all, row_count) = match get.stacked {
            false => (self.state.warnings.list().to_vec(), self.state.row_count),
            true => match self.program.caught.last() {
                Some(caught) => (caught.all.clone(), caught.row_count),
                None => return Err(SqlError::new(1759, "GET STACKED DIAGNOSTICS when handler not active")),
            },
        };
        match get.what {
            Diagnostics::Statement(items) => {
                for (target, rows) in items {
                    let (value, ty) = match *rows {
                        true => (Value::Int(row_count), SqlType { length: 20, ..SqlType::bigint(false) }),
                        false => (Value::UInt(all.len() as u64), SqlType::bigint(true)),
                    };
                    self.put_diagnostics(target, value, ty)?;
                }
            }
            Diagnostics::Condition { number, items } => {
                let (number, _) = self.evaluate(&number, sql, params)?;
                let mut cx =
                    vaquita_expr::EvalCx { db: Some(&self.db), state: &mut self.state, engine: None };
                let number = usize::try_from(number.to_i64(&mut cx.convert())).unwrap_or(0);
                let Some(condition) = number.checked_sub(1).and_then(|at| all.get(at)) else {
                    let e = SqlError::new(1758, "Invalid condition number");
                    self.state.warnings.append(Level::Error, e.code, e.message);
                    self.state.row_count = -1;
                    return Ok(Outcome::default());
                };
                for (target, item) in items {
                    let (value, ty) = item_of(condition, *item);
                    self.put_diagnostics(target, value, ty)?;
                }
            }
        }
        // What was asked for goes on to be asked for.
        let affected_rows = u64::try_from(self.state.row_count).unwrap_or(0);
        Ok(Outcome { affected_rows, ..Outcome::default() })
    }

    fn put_diagnostics(
        &mut self,
        target: &DiagnosticsTarget<'_>,
        value: Value<'static>,
        ty: SqlType,
    ) -> SqlResult<()> {
        match target {
            DiagnosticsTarget::User(name) => self.state.user_vars.set(name.name, value, ty),
            DiagnosticsTarget::Local(place) => {
                self.state.program.taken.push(Taken { into: Place::Local(*place), value, ty });
                Ok(())
            }
            DiagnosticsTarget::Unknown(name) => {
                Err(SqlError::new(1327, format!("Undeclared variable: {name}")))
            }
        }
    }
}

/// Error 1645.
fn not_active() -> SqlError {
    SqlError::new(1645, "RESIGNAL when handler not active")
}

/// The SQLSTATE that SIGNAL names.
fn state_of(of: &ConditionValue<'_>, names: &[(Box<[u8]>, Condition)]) -> SqlResult<String> {
    let bad = |text: &[u8]| SqlError::new(1407, format!("Bad SQLSTATE: '{}'", String::from_utf8_lossy(text)));
    match of {
        ConditionValue::State(text) => {
            let is_state = text.len() == 5
                && text.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
                && !text.starts_with(b"00");
            if is_state { Ok(String::from_utf8_lossy(text).into_owned()) } else { Err(bad(text)) }
        }
        ConditionValue::Name(name) => {
            match names.iter().rfind(|(n, _)| n.eq_ignore_ascii_case(name.name)).map(|(_, c)| c) {
                Some(Condition::State(state)) => Ok(String::from_utf8_lossy(state).into_owned()),
                Some(_) => {
                    Err(SqlError::new(1646, "SIGNAL/RESIGNAL can only use a CONDITION defined with SQLSTATE"))
                }
                None => Err(SqlError::new(1319, format!("Undefined CONDITION: {name}"))),
            }
        }
        _ => Err(SqlError::new(1646, "SIGNAL/RESIGNAL can only use a CONDITION defined with SQLSTATE")),
    }
}

/// An item of a condition.
fn item_of(condition: &Warning, item: ConditionItem) -> (Value<'static>, SqlType) {
    let text = |text: &str| (Value::owned(text.as_bytes().to_vec()), SqlType::varchar(64, 33));
    if let Some(place) = item_place(item)
        && let Some(signalled) = &condition.signalled
        && let Some(said) = &signalled.items[place]
    {
        return text(said);
    }
    match item {
        ConditionItem::MysqlErrno => (Value::UInt(condition.code.into()), SqlType::bigint(true)),
        ConditionItem::MessageText => text(&condition.message),
        ConditionItem::ReturnedSqlstate => text(condition.sqlstate()),
        ConditionItem::ClassOrigin | ConditionItem::SubclassOrigin => text(origin_of(condition.sqlstate())),
        _ => text(""),
    }
}
