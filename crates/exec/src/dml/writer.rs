//! Inserting rows one by one: what INSERT, REPLACE and LOAD DATA have in common once a row's values are there.

use super::auto_inc::AutoInc;
use super::conflict::{Existing, Finder};
use super::message::{failure, row_failure};
use super::row::RowBuffer;
use super::rules;
use super::store::Store;
use super::triggers::{self, Seen};
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_catalog::expressions::value_not_allowed;
use vaquita_engine::{Error, Field, Session};
use vaquita_expr::trigger::TableTriggers;
use vaquita_expr::{EvalCx, Expr, Row, TableRow, all_true};
use vaquita_parser::ast::TriggerEvent;
use vaquita_plan::{ChangedView, TableRules};
use vaquita_session::SessionState;
use vaquita_types::{SqlError, SqlResult, Value};

/// What is done about a row that is in the way.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OnDuplicate<'p> {
    /// The statement fails.
    Fail,
    /// IGNORE: the new row is left out.
    Ignore,
    /// REPLACE: the old row goes.
    Replace,
    /// ON DUPLICATE KEY UPDATE: the old row changes.
    Update {
        /// Assignments; the old row is table 0, the new one table 1, rows of the SELECT's tables follow.
        assignments: &'p [Assigned],
        /// IGNORE: a change that is a duplicate itself is left out.
        ignore: bool,
    },
}

/// `column = value`.
#[derive(Debug)]
pub(crate) struct Assigned {
    /// Position in the table.
    pub(crate) column: usize,
    /// The value; `None`: DEFAULT.
    pub(crate) value: Option<Expr>,
}

/// Counts of a statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Rows given.
    pub(crate) records: u64,
    /// Rows that came in, or changed one that was there.
    pub(crate) copied: u64,
    /// Rows deleted or replaced by REPLACE.
    pub(crate) deleted: u64,
    /// Rows changed by ON DUPLICATE KEY UPDATE.
    pub(crate) updated: u64,
    /// Rows found there, changed or not.
    pub(crate) touched: u64,
}

/// Takes rows.
#[derive(Debug)]
pub(crate) struct Writer<'p> {
    pub(crate) info: &'p TableInfo,
    pub(crate) store: Store<'p>,
    /// The row at hand; begun by [`Writer::begin_row`].
    pub(crate) row: RowBuffer,
    pub(crate) auto_inc: Option<AutoInc>,
    pub(crate) counts: Counts,
    /// Rows of the SELECT's tables that this one comes from, as far as ON DUPLICATE KEY UPDATE looks at them.
    pub(crate) selected: Vec<Vec<Value<'static>>>,
    on_duplicate: OnDuplicate<'p>,
    finder: Finder,
    rules: Option<&'p TableRules>,
    triggers: Option<&'p TableTriggers>,
    /// The view that rows come in by, if it asks something of them.
    view: Option<&'p ChangedView>,
    /// The parts of a partitioned table that the statement names.
    parts: Option<Arc<[usize]>>,
    /// A row that a constraint refuses is left out with a warning.
    ignore: bool,
    /// Columns of the row at hand that get their defaults by an expression, when the others are there.
    by_default: Vec<usize>,
    /// A generated column was given a value.
    not_taken: bool,
}

impl<'p> Writer<'p> {
    /// For one execution. `rows`: how many will come, if that is known; `ignore`: of the statement.
    pub(crate) fn new(
        info: &'p TableInfo,
        state: &mut SessionState,
        rows: Option<u64>,
        ignore: bool,
        on_duplicate: OnDuplicate<'p>,
    ) -> Writer<'p> {
        let mut store = Store::new(info, state, ignore);
        store.null_is_error = rows == Some(1) && !ignore;
        Writer {
            info,
            store,
            row: RowBuffer::default(),
            auto_inc: AutoInc::new(info, state, rows),
            counts: Counts::default(),
            selected: Vec::new(),
            on_duplicate,
            finder: Finder::default(),
            rules: None,
            triggers: None,
            view: None,
            parts: None,
            ignore,
            by_default: Vec::new(),
            not_taken: false,
        }
    }

    /// The same for a table that asks something of its rows.
    #[must_use]
    pub(crate) fn with_rules(self, rules: Option<&'p TableRules>) -> Writer<'p> {
        Writer { rules, ..self }
    }

    /// The same for a table with triggers.
    #[must_use]
    pub(crate) fn firing(self, triggers: Option<&'p TableTriggers>) -> Writer<'p> {
        Writer { triggers, ..self }
    }

    /// The same for rows that are to come into these parts of a partitioned table; `None`: into any.
    #[must_use]
    pub(crate) fn into_parts(self, parts: Option<&Arc<[usize]>>) -> Writer<'p> {
        Writer { parts: parts.cloned(), ..self }
    }

    /// The same for rows that come in by a view.
    #[must_use]
    pub(crate) fn by_view(self, view: Option<&'p ChangedView>) -> Writer<'p> {
        Writer { view: view.filter(|view| !view.checks.is_empty()), ..self }
    }

    /// Begins a row: columns that `missing` names get their defaults, the others must be set.
    pub(crate) fn begin_row(&mut self, missing: &[usize], state: &SessionState) {
        self.row.reset(self.info.columns.len());
        if let Some(auto) = &mut self.auto_inc {
            auto.begin_row();
        }
        self.by_default.clear();
        for &column in missing {
            self.set_absent(column, state);
        }
    }

    /// Gives a column what it gets that is not given.
    pub(crate) fn set_absent(&mut self, column: usize, state: &SessionState) {
        self.store.absent(column, state, &mut self.row);
        if self.info.columns[column].has_default_expression() {
            self.by_default.push(column);
        }
    }

    /// Sets a column to a value of that type.
    ///
    /// # Errors
    /// Of storing it.
    pub(crate) fn set_value(
        &mut self,
        column: usize,
        value: &Value<'_>,
        ty: &vaquita_types::SqlType,
        state: &mut SessionState,
    ) -> SqlResult<()> {
        if self.info.columns[column].generated.is_some() {
            return self.value_of_generated(column, state);
        }
        let auto = self.auto_inc.as_mut().filter(|auto| auto.column() == column);
        match auto {
            // NULL asks for a value.
            Some(_) if value.is_null() => Ok(()),
            Some(auto) => {
                self.store.value(column, value, ty, state, &mut self.row)?;
                auto.given(&self.row, self.info);
                Ok(())
            }
            None => self.store.value(column, value, ty, state, &mut self.row),
        }
    }

    /// A value for a generated column, which is not taken: told of once.
    #[cold]
    fn value_of_generated(&mut self, column: usize, state: &mut SessionState) -> SqlResult<()> {
        rules::refuse_given(self.info, column, state)?;
        if !self.not_taken {
            let e = value_not_allowed(&self.info.columns[column].name, &self.info.definition.name);
            state.warnings.warn(e.code, e.message);
        }
        self.not_taken = true;
        Ok(())
    }

    /// Sets a column to its default.
    ///
    /// # Errors
    /// 1364.
    pub(crate) fn set_default(&mut self, column: usize, state: &mut SessionState) -> SqlResult<()> {
        match &mut self.auto_inc {
            Some(auto) if auto.column() == column => {
                // DEFAULT is 0, which NO_AUTO_VALUE_ON_ZERO takes for a value.
                self.row.put_implicit(column);
                auto.given(&self.row, self.info);
                Ok(())
            }
            // It is calculated.
            _ if self.info.columns[column].generated.is_some() => Ok(()),
            _ if self.info.columns[column].has_default_expression() => {
                self.by_default.push(column);
                Ok(())
            }
            _ => self.store.default(column, state, &mut self.row),
        }
    }

    /// Writes the row at hand.
    ///
    /// # Errors
    /// Of the engine.
    pub(crate) fn write(&mut self, cx: &mut EvalCx<'_>, params: &[Value<'_>]) -> SqlResult<()> {
        cx.state.poll()?;
        self.counts.records += 1;
        if let Some(triggers) = self.triggers.filter(|t| t.has(true, TriggerEvent::Insert)) {
            self.before_insert(triggers, cx)?;
        }
        if let Some(rules) = self.rules
            && self.refuses(rules, cx)?
        {
            self.store.row += 1;
            return Ok(());
        }
        if let Some(view) = self.view
            && !seen_by(view, self.info, cx, |column| self.row.field(self.info, column))?
        {
            self.counts.records -= 1;
            return rules::leave_out(Some(view.refused()), self.ignore, cx.state).map(drop);
        }
        if let Some(auto) = &mut self.auto_inc {
            let Some(engine) = cx.engine.as_deref_mut() else { return Err(no_engine()) };
            auto.generate(engine, cx.state, &self.store, &mut self.row)?;
        }
        let exclusive = matches!(self.on_duplicate, OnDuplicate::Replace | OnDuplicate::Update { .. });
        let copied = self.counts.copied;
        let updated = self.counts.updated;
        if let (Some(parts), Some(engine)) = (&self.parts, cx.engine.as_deref_mut()) {
            engine.statement().mean_parts(&self.info.table, Some(parts.clone()));
        }
        loop {
            cx.state.status.handler_write += 1;
            let Some(engine) = cx.engine.as_deref_mut() else { return Err(no_engine()) };
            let fields = self.row.fields(self.info);
            let mut statement = engine.statement();
            let mark = statement.mark();
            let index = match statement.insert_as(&self.info.table, &fields, exclusive) {
                Ok(_) => {
                    drop(fields);
                    self.counts.copied += 1;
                    if let Some(auto) = &mut self.auto_inc {
                        auto.inserted(engine, self.info, &self.row)?;
                    }
                    break;
                }
                Err(Error::DuplicateKey { table, index, value }) => {
                    let fails = matches!(self.on_duplicate, OnDuplicate::Fail);
                    if !fails {
                        statement.take_back(mark).map_err(|e| failure(&e, self.info))?;
                    }
                    if let Some(auto) = &mut self.auto_inc {
                        auto.duplicate(engine, self.info, &self.row)?;
                    }
                    if fails {
                        let e = Error::DuplicateKey { table, index, value };
                        return Err(row_failure(&e, self.info, &fields, &cx.state.vars.time_zone));
                    }
                    index
                }
                // As MySQL: without a warning.
                Err(Error::NoPartition(_) | Error::NotInParts) if self.ignore => break,
                Err(e) => return Err(row_failure(&e, self.info, &fields, &cx.state.vars.time_zone)),
            };
            drop(fields);
            if !self.conflict(&index, cx, params)? {
                break;
            }
        }
        let came_in = self.counts.copied > copied && self.counts.updated == updated;
        if came_in && let Some(triggers) = self.triggers.filter(|t| t.has(false, TriggerEvent::Insert)) {
            let new = triggers::stored(triggers, self.info, &self.row, &cx.state.vars.time_zone);
            let mut seen = Seen { old: Vec::new(), new };
            triggers::fire(triggers, false, TriggerEvent::Insert, &mut seen, cx)?;
        }
        self.store.row += 1;
        Ok(())
    }

    /// Lets triggers see and change the row at hand: with the columns that nobody gave, but without a generated number, which is 0
    /// there.
    fn before_insert(&mut self, triggers: &TableTriggers, cx: &mut EvalCx<'_>) -> SqlResult<()> {
        if let Some(rules) = self.rules {
            let mut values =
                rules::values_of(&rules.columns, self.info, cx, |column| self.row.field(self.info, column));
            let wanted = rules.values.iter().filter(|r| !r.is_default || self.by_default.contains(&r.column));
            rules::calculate(wanted, &mut values, &self.store, &mut self.row, cx)?;
            self.by_default.clear();
        }
        let zone = cx.state.vars.time_zone.clone();
        let mut seen = Seen { old: Vec::new(), new: triggers::stored(triggers, self.info, &self.row, &zone) };
        if let Some(auto) = self.auto_inc.as_ref().filter(|auto| auto.is_wanted()) {
            let column = &self.info.columns[auto.column()];
            seen.new[auto.column()] = column.ty.decode(Some(&column.implicit), &zone).into_owned();
        }
        let set = triggers::fire(triggers, true, TriggerEvent::Insert, &mut seen, cx)?;
        triggers::put_back(&set, self.info, &seen.new, &zone, &mut self.row)?;
        if let Some(auto) = self.auto_inc.as_mut().filter(|auto| set.contains(&auto.column())) {
            match seen.new[auto.column()].is_null() {
                true => auto.want(),
                false => auto.given(&self.row, self.info),
            }
        }
        Ok(())
    }

    /// Calculates the columns of the row at hand that nobody gave. Whether a constraint refuses it and it is to be left out.
    ///
    /// # Errors
    /// 3819 it is not to be left out; those of the expressions and of storing what they give.
    fn refuses(&mut self, rules: &TableRules, cx: &mut EvalCx<'_>) -> SqlResult<bool> {
        let mut values =
            rules::values_of(&rules.columns, self.info, cx, |column| self.row.field(self.info, column));
        let wanted = rules.values.iter().filter(|r| !r.is_default || self.by_default.contains(&r.column));
        rules::calculate(wanted, &mut values, &self.store, &mut self.row, cx)?;
        let refused = rules::refused(&rules.checks, |_| true, &values, cx)?;
        rules::leave_out(refused, self.ignore, cx.state)
    }

    /// Deals with the row that is in the way; whether the insert is to be tried again.
    fn conflict(&mut self, index: &str, cx: &mut EvalCx<'_>, params: &[Value<'_>]) -> SqlResult<bool> {
        match self.on_duplicate {
            OnDuplicate::Fail => Ok(false),
            OnDuplicate::Ignore => {
                if let Some(auto) = &mut self.auto_inc {
                    auto.give_back();
                }
                Ok(false)
            }
            OnDuplicate::Replace => {
                if let Some(auto) = self.auto_inc.as_ref().filter(|auto| auto.has_generated())
                    && let Some(key) = self.info.keys.iter().find(|k| k.name == index)
                    && key.parts[0].column == auto.column()
                {
                    // The end of the column's range: nothing that was generated replaces a row.
                    let fields = self.row.fields(self.info);
                    let e = Error::DuplicateKey {
                        table: self.info.table.name.clone(),
                        index: index.to_owned(),
                        value: String::new(),
                    };
                    return Err(row_failure(&e, self.info, &fields, &cx.state.vars.time_zone));
                }
                cx.state.status.handler_read_key += 1;
                let Some(engine) = cx.engine.as_deref_mut() else { return Err(no_engine()) };
                let Some(mut old) = self.finder.find(engine, self.info, index, &self.row)? else {
                    return Ok(true);
                };
                let retry = self.replace(index, &mut old, cx)?;
                self.finder.keep(old);
                Ok(retry)
            }
            OnDuplicate::Update { assignments, ignore } => {
                cx.state.status.handler_read_key += 1;
                let Some(engine) = cx.engine.as_deref_mut() else { return Err(no_engine()) };
                let Some(old) = self.finder.find(engine, self.info, index, &self.row)? else {
                    return Ok(true);
                };
                let generated = self.auto_inc.as_ref().is_some_and(AutoInc::has_generated);
                if let Some(auto) = &mut self.auto_inc {
                    auto.give_back();
                }
                self.update(&old, assignments, ignore, generated, cx, params)?;
                self.finder.keep(old);
                Ok(false)
            }
        }
    }

    /// Makes room for the new row. In the last unique index the old row is changed into the new one, since nothing else
    /// can be in the way; a row that is the same already does not count as replaced.
    fn replace(&mut self, index: &str, old_row: &mut Existing, cx: &mut EvalCx<'_>) -> SqlResult<bool> {
        let table = &self.info.table;
        let last = table.indexes.iter().rfind(|i| i.is_unique() && !i.parts.is_empty());
        let fired = self.triggers.filter(|t| t.has_event(TriggerEvent::Delete));
        let in_place =
            last.is_some_and(|i| i.name == index) && table.referenced_by.is_empty() && fired.is_none();
        if let Some(triggers) = fired {
            let zone = cx.state.vars.time_zone.clone();
            let old = triggers::stored(triggers, self.info, &old_row.row, &zone);
            let mut seen = Seen { old, new: Vec::new() };
            triggers::fire(triggers, true, TriggerEvent::Delete, &mut seen, cx)?;
            cx.state.status.handler_delete += 1;
            let deleted = engine(cx)?.statement().delete(table, &old_row.key);
            if deleted.map_err(|e| failure(&e, self.info))? {
                self.counts.deleted += 1;
                triggers::fire(triggers, false, TriggerEvent::Delete, &mut seen, cx)?;
            }
            return Ok(true);
        }
        let Some(engine) = cx.engine.as_deref_mut() else { return Err(no_engine()) };
        if !in_place {
            cx.state.status.handler_delete += 1;
            let deleted =
                engine.statement().delete(table, &old_row.key).map_err(|e| failure(&e, self.info))?;
            self.counts.deleted += u64::from(deleted);
            return Ok(true);
        }
        let fields = self.row.fields(self.info);
        // The engine gives documents their numbers.
        let number = table.doc_ids.as_ref().filter(|ids| ids.hidden).map(|ids| ids.column);
        let changes: Vec<(usize, Field<'_>)> =
            fields.iter().copied().enumerate().filter(|(column, _)| Some(*column) != number).collect();
        cx.state.status.handler_update += 1;
        let changed = engine
            .statement()
            .update(table, &old_row.key, &changes)
            .map_err(|e| row_failure(&e, self.info, &fields, &cx.state.vars.time_zone))?;
        drop((changes, fields));
        self.counts.copied += 1;
        self.counts.deleted += u64::from(changed);
        if let Some(auto) = &mut self.auto_inc {
            auto.inserted(engine, self.info, &self.row)?;
        }
        Ok(false)
    }

    /// A row that changes gets the time of the statement where ON UPDATE says so and nobody has set it.
    fn set_now(&self, set: &mut Vec<usize>, made: &mut RowBuffer, state: &SessionState) {
        for &column in &self.info.on_update_now {
            if !set.contains(&column) {
                self.store.now(column, state, made);
                set.push(column);
            }
        }
    }

    /// ON DUPLICATE KEY UPDATE; `generated`: the new row had a generated value.
    fn update(
        &mut self,
        old: &Existing,
        assignments: &[Assigned],
        ignore: bool,
        generated: bool,
        cx: &mut EvalCx<'_>,
        params: &[Value<'_>],
    ) -> SqlResult<()> {
        self.counts.touched += 1;
        let info = self.info;
        if let Some(auto) = &mut self.auto_inc {
            auto.updated(info, &old.row);
        }
        let tz = cx.state.vars.time_zone.clone();
        let decode = |row: &RowBuffer| -> Vec<Value<'static>> {
            let columns = info.columns.iter().enumerate();
            columns.map(|(i, c)| c.ty.decode(row.field(info, i), &tz).into_owned()).collect()
        };
        let mut old_values = decode(&old.row);
        let fired = self.triggers.filter(|t| t.has_event(TriggerEvent::Update));
        let mut seen = fired.map(|_| Seen { old: old_values.clone(), new: Vec::new() });
        let new_values = decode(&self.row);
        let mut made = RowBuffer::default();
        made.reset(info.columns.len());
        let mut set: Vec<usize> = Vec::with_capacity(assignments.len());
        for Assigned { column, value } in assignments {
            match value {
                Some(expr) => {
                    let mut tables = vec![TableRow::Values(&old_values), TableRow::Values(&new_values)];
                    tables.extend(self.selected.iter().map(|values| TableRow::Values(values)));
                    let row = Row { tables: &tables, params, ..Row::default() };
                    let value = expr.eval_to_store(cx, &row)?;
                    self.store.value(*column, &value, expr.ty(), cx.state, &mut made)?;
                }
                None if info.columns[*column].generated.is_some() => continue,
                None => match self.rules.and_then(|rules| rules.default_of(*column)) {
                    Some(rule) => {
                        let mut values = old_values.clone();
                        rules::calculate(std::iter::once(rule), &mut values, &self.store, &mut made, cx)?;
                    }
                    None => self.store.default(*column, cx.state, &mut made)?,
                },
            }
            if !set.contains(column) {
                set.push(*column);
            }
            old_values[*column] =
                info.columns[*column].ty.decode(made.field(info, *column), &tz).into_owned();
        }
        if let (Some(triggers), Some(seen)) = (fired, &mut seen) {
            seen.new = std::mem::take(&mut old_values);
            let by_triggers = triggers::fire(triggers, true, TriggerEvent::Update, seen, cx)?;
            triggers::put_back(&by_triggers, info, &seen.new, &tz, &mut made)?;
            set.extend(by_triggers.into_iter().filter(|c| !set.contains(c)).collect::<Vec<_>>());
        }
        let changed = set.iter().any(|&c| made.field(info, c) != old.row.field(info, c));
        if !changed {
            return Ok(());
        }
        self.set_now(&mut set, &mut made, cx.state);
        if let Some(rules) = self.rules.filter(|rules| rules.concern(&set)) {
            let mut values = {
                let field =
                    |c: usize| if set.contains(&c) { made.field(info, c) } else { old.row.field(info, c) };
                rules::values_of(&rules.columns, info, cx, field)
            };
            let given = set.clone();
            rules.add_generated(&mut set);
            let changed = rules.generated().filter(|r| set.contains(&r.column) && !given.contains(&r.column));
            rules::calculate(changed, &mut values, &self.store, &mut made, cx)?;
            let refused = rules::refused(&rules.checks, |check| check.concerns(&set), &values, cx)?;
            if rules::leave_out(refused, ignore, cx.state)? {
                return Ok(());
            }
        }
        if let Some(view) = self.view {
            let field =
                |c: usize| if set.contains(&c) { made.field(info, c) } else { old.row.field(info, c) };
            if !seen_by(view, info, cx, field)? {
                return rules::leave_out(Some(view.refused()), ignore, cx.state).map(drop);
            }
        }
        let changes: Vec<(usize, Field<'_>)> = set.iter().map(|&c| (c, made.field(info, c))).collect();
        let Some(engine) = cx.engine.as_deref_mut() else { return Err(no_engine()) };
        cx.state.status.handler_update += 1;
        let mut statement = engine.statement();
        let mark = statement.mark();
        match statement.update(&info.table, &old.key, &changes) {
            Ok(_) => {
                self.counts.copied += 1;
                self.counts.updated += 1;
            }
            Err(Error::DuplicateKey { .. } | Error::NoPartition(_) | Error::NotInParts) if ignore => {
                statement.take_back(mark).map_err(|e| failure(&e, info))?;
                return Ok(());
            }
            Err(e) => {
                let mut fields = old.row.fields(info);
                changes.iter().for_each(|&(c, value)| fields[c] = value);
                return Err(row_failure(&e, info, &fields, &tz));
            }
        }
        if let Some(auto) = &mut self.auto_inc {
            match set.contains(&auto.column()) {
                true if generated => auto.note(engine, info, &made)?,
                true => auto.note_update(engine, info, &made)?,
                false => auto.stays(engine, info, &old.row)?,
            }
        }
        if let (Some(triggers), Some(seen)) = (fired, &mut seen) {
            triggers::take(&set, info, &made, &tz, &mut seen.new);
            triggers::fire(triggers, false, TriggerEvent::Update, seen, cx)?;
        }
        Ok(())
    }
}

/// Whether a row in stored form is seen by a view, as its CHECK OPTION wants it. Of other tables of the view there is no row.
fn seen_by<'f>(
    view: &ChangedView,
    info: &TableInfo,
    cx: &mut EvalCx<'_>,
    field: impl Fn(usize) -> Field<'f>,
) -> SqlResult<bool> {
    let values = rules::values_of(&view.columns, info, cx, field);
    let mut tables = vec![TableRow::Null; view.slots];
    tables[view.slot] = TableRow::Values(&values);
    all_true(&view.checks, cx, &Row { tables: &tables, ..Row::default() })
}

/// For what must have been given an engine session.
pub(crate) fn no_engine() -> SqlError {
    SqlError::new(1105, "rows cannot be changed here")
}

/// The transaction's session of the engine.
pub(crate) fn engine<'e>(cx: &'e mut EvalCx<'_>) -> SqlResult<&'e mut Session> {
    cx.engine.as_deref_mut().ok_or_else(no_engine)
}
