//! UPDATE, of one table or of several that are joined.
//!
//! The planner's reading part finds the rows and locks them; here the assignments are evaluated, in order, each seeing
//! what those before it have set, and the columns that are set go to the engine, which leaves rows alone that do not
//! change.

use super::message::{failure, row_failure};
use super::row::RowBuffer;
use super::rules;
use super::store::Store;
use super::triggers::{self, Seen};
use super::writer::engine;
use crate::matching::{self, Matched};
use crate::statement::{Outcome, Planned};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_catalog::error;
use vaquita_engine::{Error, Field, RowKey};
use vaquita_expr::trigger::TableTriggers;
use vaquita_expr::{ColumnMap, EvalCx, Node, Row, TableRow, all_true};
use vaquita_parser::ast::TriggerEvent;
use vaquita_plan::{ChangedView, MatchPlan, MatchedAssignment, TableRules};
use vaquita_session::SessionCx;
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::sink::{ColumnMeta, ResultSink};
use vaquita_types::{SqlError, SqlResult, TimeZone, Value};

/// A planned UPDATE.
#[derive(Debug)]
pub struct UpdatePlan {
    matching: MatchPlan,
    targets: Box<[Target]>,
    ignore: bool,
    /// Joined tables: a row is changed once, however often it matches.
    joined: bool,
    wants: Box<[Wanted]>,
    /// What an execution leaves to the next one is found by it.
    id: u64,
}

/// A table whose rows change.
#[derive(Debug)]
struct Target {
    /// Its place among the targets of the reading part.
    at: usize,
    slot: u16,
    info: Arc<TableInfo>,
    /// Positions in [`MatchPlan::assignments`].
    assignments: Box<[usize]>,
    /// Columns that are set, each once.
    set: Box<[usize]>,
    /// Columns that get the time of the statement when the row changes.
    on_update_now: Box<[usize]>,
    /// The columns that are set were read, so that MySQL sees whether a row changes.
    compares: bool,
    /// What the table asks of the rows that are made.
    rules: Option<Arc<TableRules>>,
    triggers: Option<Arc<TableTriggers>>,
    /// The view by which they change, if it asks something of them.
    view: Option<Arc<ChangedView>>,
    /// An assignment looks at a column that one before it sets: these columns are looked at.
    sequential: Option<Box<[usize]>>,
}

/// What an execution has counted.
#[derive(Debug, Default)]
struct Counts {
    found: u64,
    changed: u64,
}

/// Bytes of an execution's memory that are kept for the next one.
const SCRATCH_KEPT: usize = 16 << 10;

/// Memory of one execution.
#[derive(Debug, Default)]
struct Scratch {
    made: RowBuffer,
    old: RowBuffer,
    /// Rows that were changed, of a statement over several tables.
    seen: Vec<HashSet<RowKey>>,
    counts: Counts,
}

impl Scratch {
    fn bytes(&self) -> usize {
        self.made.capacity() + self.old.capacity()
    }
}

impl UpdatePlan {
    /// The changing part over a reading part. `joined`: the statement is of the form with several tables.
    pub fn new(id: u64, matching: MatchPlan, ignore: bool, joined: bool, wants: Vec<Wanted>) -> UpdatePlan {
        let mut all_wants = wants;
        let mut targets = Vec::new();
        for (at, target) in matching.targets.iter().enumerate() {
            let own = |a: &&MatchedAssignment| a.target == at;
            if !matching.assignments.iter().any(|a| a.target == at) {
                continue;
            }
            let info = target.info.clone();
            let positions = (0..matching.assignments.len()).filter(|&i| matching.assignments[i].target == at);
            let mut set: Vec<usize> = Vec::new();
            for assignment in matching.assignments.iter().filter(own) {
                let is_calculated = info.columns[assignment.column].generated.is_some();
                if !is_calculated && !set.contains(&assignment.column) {
                    set.push(assignment.column);
                }
            }
            let now = info.on_update_now.iter().copied().filter(|c| !set.contains(c)).collect();
            all_wants.extend(target.wants(Priv::UPDATE, Some(&set)));
            targets.push(Target {
                at,
                slot: target.slot,
                assignments: positions.collect(),
                compares: joined || set.iter().all(|&column| matching.reads(at, column)),
                set: set.into(),
                on_update_now: now,
                rules: target.rules.clone(),
                triggers: target.triggers.clone(),
                view: target.view.clone().filter(|view| !view.checks.is_empty()),
                sequential: sequential(&matching.assignments, at, target.slot),
                info,
            });
        }
        all_wants.sort_by_key(|w| w.by_column);
        UpdatePlan { matching, targets: targets.into(), ignore, joined, wants: all_wants.into(), id }
    }

    /// Changes the rows of one match.
    fn change(
        &self,
        cx: &mut EvalCx<'_>,
        matched: &Matched<'_>,
        stores: &mut [Store<'_>],
        own: &mut Scratch,
    ) -> SqlResult<()> {
        for (target, (store, i)) in self.targets.iter().zip(stores.iter_mut().zip(0..)) {
            let Some(key) = &matched.keys[target.at] else { continue };
            if self.joined && !own.seen[i].insert(key.clone()) {
                continue;
            }
            own.counts.found += 1;
            store.row = own.counts.found;
            if self.change_row(target, key, cx, matched.row, store, own)? {
                own.counts.changed += 1;
            }
        }
        Ok(())
    }

    fn change_row(
        &self,
        target: &Target,
        key: &RowKey,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        store: &Store<'_>,
        own: &mut Scratch,
    ) -> SqlResult<bool> {
        let info = &*target.info;
        own.made.reset(info.columns.len());
        match &target.sequential {
            None => {
                for (i, &at) in target.assignments.iter().enumerate() {
                    let MatchedAssignment { column, value, .. } = &self.matching.assignments[at];
                    match value {
                        Some(expr) => {
                            let value = expr.eval_to_store(cx, row)?;
                            store.value(*column, &value, expr.ty(), cx.state, &mut own.made)?;
                        }
                        None => self.default(target, *column, i, cx, row, store, own)?,
                    }
                }
            }
            Some(looked_at) => self.assign_in_order(target, looked_at, cx, row, store, own)?,
        }
        let tz = cx.state.vars.time_zone.clone();
        let mut set: &[usize] = &target.set;
        let by_triggers: Vec<usize>;
        let mut seen = None;
        if let Some(triggers) = &target.triggers {
            let (row, all) = before_update(triggers, target, cx, row, own)?;
            seen = Some((triggers, row));
            by_triggers = all;
            set = &by_triggers;
        }
        if set.is_empty() && seen.is_none() {
            // Generated columns are what they are.
            return Ok(false);
        }
        let given = set;
        let with_now: Vec<usize>;
        if !target.on_update_now.is_empty() {
            own.old.reset(info.columns.len());
            for &column in given {
                own.old.put(column, |out| {
                    push_stored(&row.tables[usize::from(target.slot)], info, column, &tz, out)
                })?;
            }
            let same = given.iter().all(|&c| own.old.field(info, c) == own.made.field(info, c));
            if same && seen.is_none() {
                return Ok(false);
            }
            if !same {
                let now = target.on_update_now.iter().copied().filter(|c| !given.contains(c));
                let now: SmallVec<[usize; 2]> = now.collect();
                now.iter().for_each(|&c| store.now(c, cx.state, &mut own.made));
                with_now = given.iter().chain(&now).copied().collect();
                set = &with_now;
            }
        }
        let with_generated: Vec<usize>;
        if let Some(rules) = &target.rules {
            let mut all = set.to_vec();
            let look = &row.tables[usize::from(target.slot)];
            let refused = complete(rules, &mut all, look, store, own, cx)?;
            with_generated = all;
            set = &with_generated;
            if rules::leave_out(refused, self.ignore, cx.state)? {
                return Ok(false);
            }
        }
        if let Some(view) = &target.view
            && !seen_by(view, target, set, row, own, cx)?
        {
            // It does not count, but where several tables are updated it does.
            own.counts.found -= u64::from(!self.joined);
            return rules::leave_out(Some(view.refused()), self.ignore, cx.state).map(|_| false);
        }
        let changes: smallvec::SmallVec<[(usize, Field<'_>); 8]> =
            set.iter().map(|&c| (c, own.made.field(info, c))).collect();
        let mut statement = engine(cx)?.statement();
        let read = &self.matching.block.reads[usize::from(target.slot)];
        if let Some(named) = read.parts.as_ref().and_then(|parts| parts.named.clone()) {
            statement.mean_parts(&info.table, Some(named));
        }
        let mark = statement.mark();
        let changed = match statement.update(&info.table, key, &changes) {
            Ok(false) if !target.compares => {
                statement.count_unchanged();
                cx.state.status.handler_update += 1;
                false
            }
            Ok(changed) => changed,
            Err(Error::DuplicateKey { .. } | Error::NoPartition(_) | Error::NotInParts) if self.ignore => {
                statement.take_back(mark).map_err(|e| failure(&e, info))?;
                false
            }
            Err(e) => return Err(self.failed(&e, target, row, &changes, &tz)),
        };
        cx.state.status.handler_update += u64::from(changed);
        if let Some((triggers, mut seen)) = seen {
            triggers::take(set, info, &own.made, &tz, &mut seen.new);
            triggers::fire(triggers, false, TriggerEvent::Update, &mut seen, cx)?;
        }
        Ok(changed)
    }

    /// The value that a column gets by DEFAULT, in the assignment with that number.
    #[allow(clippy::too_many_arguments, reason = "what an assignment works with")]
    fn default(
        &self,
        target: &Target,
        column: usize,
        at: usize,
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        store: &Store<'_>,
        own: &mut Scratch,
    ) -> SqlResult<()> {
        let info = &*target.info;
        if info.columns[column].generated.is_some() {
            return Ok(());
        }
        let Some((rules, rule)) = target.rules.as_ref().and_then(|r| Some((r, r.default_of(column)?))) else {
            return store.default(column, cx.state, &mut own.made);
        };
        let before = target.assignments[..at].iter().map(|&at| self.matching.assignments[at].column);
        let done: Vec<usize> = before.filter(|&c| info.columns[c].generated.is_none()).collect();
        let mut values =
            look_at(&rules.columns, &done, &row.tables[usize::from(target.slot)], info, own, cx)?;
        rules::calculate(std::iter::once(rule), &mut values, store, &mut own.made, cx)
    }

    /// Assignments that look at what those before them have set.
    fn assign_in_order(
        &self,
        target: &Target,
        looked_at: &[usize],
        cx: &mut EvalCx<'_>,
        row: &Row<'_>,
        store: &Store<'_>,
        own: &mut Scratch,
    ) -> SqlResult<()> {
        let info = &*target.info;
        let tz = cx.state.vars.time_zone.clone();
        let slot = usize::from(target.slot);
        let mut values = vec![Value::Null; info.columns.len()];
        for &column in looked_at {
            own.old.reset(info.columns.len());
            own.old.put(column, |out| push_stored(&row.tables[slot], info, column, &tz, out))?;
            values[column] = info.columns[column].ty.decode(own.old.field(info, column), &tz).into_owned();
        }
        for (i, &at) in target.assignments.iter().enumerate() {
            let MatchedAssignment { column, value, .. } = &self.matching.assignments[at];
            match value {
                Some(expr) => {
                    let mut tables = row.tables.to_vec();
                    tables[slot] = TableRow::Values(&values);
                    let row = Row { tables: &tables, ..*row };
                    let value = expr.eval_to_store(cx, &row)?;
                    store.value(*column, &value, expr.ty(), cx.state, &mut own.made)?;
                }
                None => self.default(target, *column, i, cx, row, store, own)?,
            }
            if info.columns[*column].generated.is_some() {
                continue;
            }
            values[*column] =
                info.columns[*column].ty.decode(own.made.field(info, *column), &tz).into_owned();
        }
        Ok(())
    }

    /// The error of a row, with the values of its key as they would have been.
    #[cold]
    fn failed(
        &self,
        e: &Error,
        target: &Target,
        row: &Row<'_>,
        changes: &[(usize, Field<'_>)],
        tz: &TimeZone,
    ) -> SqlError {
        let info = &*target.info;
        let mut old = RowBuffer::default();
        old.reset(info.columns.len());
        let table_row = &row.tables[usize::from(target.slot)];
        let key = match e {
            Error::DuplicateKey { index, .. } => info.keys.iter().find(|k| k.name == *index),
            _ => None,
        };
        for part in key.map_or(&[][..], |k| &k.parts) {
            let known = changes.iter().any(|(c, _)| *c == part.column) || is_known(table_row, part.column);
            if !known {
                // A column of the key that was not read: the engine's text has to do.
                return failure(e, info);
            }
            let copied = old.put(part.column, |out| push_stored(table_row, info, part.column, tz, out));
            if let Err(e) = copied {
                return e;
            }
        }
        let mut fields = old.fields(info);
        changes.iter().for_each(|&(c, value)| fields[c] = value);
        row_failure(e, info, &fields, tz)
    }
}

/// Lets triggers see and change a row that is about to change; what they see, and all columns that are set then.
fn before_update(
    triggers: &TableTriggers,
    target: &Target,
    cx: &mut EvalCx<'_>,
    row: &Row<'_>,
    own: &mut Scratch,
) -> SqlResult<(Seen, Vec<usize>)> {
    let info = &*target.info;
    let tz = cx.state.vars.time_zone.clone();
    let old = triggers::matched(triggers, info, row, target.slot, cx)?;
    let mut seen = Seen { new: old.clone(), old };
    triggers::take(&target.set, info, &own.made, &tz, &mut seen.new);
    let by_triggers = triggers::fire(triggers, true, TriggerEvent::Update, &mut seen, cx)?;
    triggers::put_back(&by_triggers, info, &seen.new, &tz, &mut own.made)?;
    let mut set = target.set.to_vec();
    set.extend(by_triggers.into_iter().filter(|c| !target.set.contains(c)));
    Ok((seen, set))
}

/// Calculates the generated columns that change with those that are set, and adds them. What the row is refused with then, by a
/// constraint on a column that is set.
fn complete(
    rules: &TableRules,
    set: &mut Vec<usize>,
    row: &TableRow<'_>,
    store: &Store<'_>,
    own: &mut Scratch,
    cx: &mut EvalCx<'_>,
) -> SqlResult<Option<SqlError>> {
    let mut values = look_at(&rules.columns, set, row, store.info, own, cx)?;
    let given = set.len();
    rules.add_generated(set);
    let changed = rules.generated().filter(|rule| set[given..].contains(&rule.column));
    rules::calculate(changed, &mut values, store, &mut own.made, cx)?;
    rules::refused(&rules.checks, |check| check.concerns(set), &values, cx)
}

/// Whether a row is seen by the view, as its CHECK OPTION wants it, when these columns are set.
fn seen_by(
    view: &ChangedView,
    target: &Target,
    set: &[usize],
    row: &Row<'_>,
    own: &mut Scratch,
    cx: &mut EvalCx<'_>,
) -> SqlResult<bool> {
    let slot = usize::from(target.slot);
    let values = look_at(&view.columns, set, &row.tables[slot], &target.info, own, cx)?;
    let mut tables = row.tables.to_vec();
    tables[slot] = TableRow::Values(&values);
    all_true(&view.checks, cx, &Row { tables: &tables, ..*row })
}

/// The values of these columns: those that are set as they were made, the others as they are.
fn look_at(
    columns: &[usize],
    set: &[usize],
    row: &TableRow<'_>,
    info: &TableInfo,
    own: &mut Scratch,
    cx: &EvalCx<'_>,
) -> SqlResult<Vec<Value<'static>>> {
    let zone = cx.state.vars.time_zone.clone();
    own.old.reset(info.columns.len());
    for &column in columns.iter().filter(|column| !set.contains(column)) {
        own.old.put(column, |out| push_stored(row, info, column, &zone, out))?;
    }
    let from = |column: usize| if set.contains(&column) { &own.made } else { &own.old };
    Ok(rules::values_of(columns, info, cx, |column| from(column).field(info, column)))
}

/// The columns that the assignments of a target look at, if one of them looks at what was set before.
fn sequential(assignments: &[MatchedAssignment], target: usize, slot: u16) -> Option<Box<[usize]>> {
    let mut set: Vec<usize> = Vec::new();
    let mut looked_at: Vec<usize> = Vec::new();
    let mut in_order = false;
    for assignment in assignments.iter().filter(|a| a.target == target) {
        if let Some(expr) = &assignment.value {
            expr.walk(&mut |e| {
                if let Node::Column { level: 0, table, column, .. } = e.node()
                    && *table == slot
                {
                    let column = usize::from(*column);
                    in_order |= set.contains(&column);
                    if !looked_at.contains(&column) {
                        looked_at.push(column);
                    }
                }
            });
        }
        set.push(assignment.column);
    }
    in_order.then(|| looked_at.into())
}

/// What the client is told. Most statements are about one row.
fn told(found: u64, changed: u64, warnings: u64) -> Cow<'static, str> {
    match (found, changed, warnings) {
        (0, 0, 0) => Cow::Borrowed("Rows matched: 0  Changed: 0  Warnings: 0"),
        (1, 0, 0) => Cow::Borrowed("Rows matched: 1  Changed: 0  Warnings: 0"),
        (1, 1, 0) => Cow::Borrowed("Rows matched: 1  Changed: 1  Warnings: 0"),
        _ => Cow::Owned(format!("Rows matched: {found}  Changed: {changed}  Warnings: {warnings}")),
    }
}

/// Whether a row has a column.
fn is_known(row: &TableRow<'_>, column: usize) -> bool {
    match row {
        TableRow::Stored { map, .. } => {
            map.fetched.get(column).is_some_and(|&at| at != ColumnMap::NOT_FETCHED)
        }
        TableRow::Values(values) => column < values.len(),
        TableRow::None | TableRow::Null => false,
    }
}

/// Appends the stored form of a column of a row. Whether it is not NULL.
fn push_stored(
    row: &TableRow<'_>,
    info: &TableInfo,
    column: usize,
    tz: &TimeZone,
    out: &mut Vec<u8>,
) -> SqlResult<bool> {
    match row {
        TableRow::Stored { row, map } => match map.fetched.get(column) {
            Some(&at) if at != ColumnMap::NOT_FETCHED => error::of_engine(row.read_column(at.into(), out)),
            _ => Ok(false),
        },
        TableRow::Values(values) => match values.get(column) {
            Some(value) => Ok(info.columns[column].ty.encode(value, tz, out)),
            None => Ok(false),
        },
        TableRow::None | TableRow::Null => Ok(false),
    }
}

impl Planned for UpdatePlan {
    fn columns(&self) -> Option<&Arc<[ColumnMeta]>> {
        None
    }

    fn wants(&self) -> &[Wanted] {
        &self.wants
    }

    fn run(
        &self,
        cx: &mut SessionCx<'_>,
        params: &[Value<'_>],
        _: &mut dyn ResultSink,
    ) -> SqlResult<Outcome> {
        let mut stores: SmallVec<[Store<'_>; 1]> =
            self.targets.iter().map(|t| Store::new(&t.info, cx.state, self.ignore)).collect();
        let mut own: Box<Scratch> = cx.state.workspaces.take(self.id).unwrap_or_default();
        own.counts = Counts::default();
        if self.joined {
            own.seen = vec![HashSet::new(); self.targets.len()];
        }
        let mut eval = cx.eval();
        // While rows are put in order nothing is refused.
        let strict = eval.state.vars.sql_mode.is_strict() && !self.ignore;
        let reading = strict && self.matching.block.order.is_empty();
        let before = eval.state.warnings.refuse(reading);
        eval.state.subqueries.ignore = self.ignore;
        let done = matching::run(&self.matching, &mut eval, params, &mut |cx, matched| {
            cx.state.warnings.refused()?;
            cx.state.warnings.refuse(strict);
            let done = self.change(cx, matched, &mut stores, &mut own);
            cx.state.warnings.end_refusing(reading, done)
        });
        eval.state.subqueries.ignore = false;
        let done = eval.state.warnings.end_refusing(before, done);
        let Counts { found, changed } = own.counts;
        own.seen = Vec::new();
        if own.bytes() <= SCRATCH_KEPT {
            cx.state.workspaces.give(self.id, own.bytes(), own);
        }
        done?;
        let warnings = cx.state.warnings.count();
        Ok(Outcome {
            affected_rows: if cx.state.client_found_rows { found } else { changed },
            // LAST_INSERT_ID(n) among the assignments: clients read what it was.
            insert_id: cx.state.new_insert_id.unwrap_or(0),
            info: told(found, changed, warnings as u64),
            ..Outcome::default()
        })
    }
}
