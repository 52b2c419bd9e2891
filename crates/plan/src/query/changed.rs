//! Rows that are changed by way of a merged view: which table's they are, who must be allowed to, and what WITH CHECK OPTION asks.

use super::from::uses_of;
use super::merged::{Face, MergedView};
use super::names::{BlockScope, Opened};
use super::view::{self, OpenedView};
use crate::columns::{column_of, column_of_slot};
use crate::planner::Planner;
use crate::tree::{Source, TableUse};
use std::sync::Arc;
use vaquita_catalog::{TableInfo, same_name};
use vaquita_engine::{MdlMode, Object};
use vaquita_expr::scope::unknown_column;
use vaquita_expr::{CompileCx, Expr};
use vaquita_parser::ast;
use vaquita_session::privilege::{Priv, Through, Wanted};
use vaquita_types::{SqlError, SqlResult};

/// The view by which rows of a table are changed.
#[derive(Debug)]
pub struct ChangedView {
    /// The view that the statement names, and those within it on the way to the table.
    faces: Vec<Arc<Face>>,
    /// With whose privileges the table is changed.
    through: Arc<Through>,
    /// Slot of the table in the rows that the conditions look at.
    pub slot: usize,
    /// How many slots there are.
    pub slots: usize,
    /// WITH CHECK OPTION: what must be true of a row that was changed.
    pub checks: Vec<Expr>,
    /// The table's columns that the conditions look at, in order, each once.
    pub columns: Vec<usize>,
}

impl ChangedView {
    fn of(opened: &Opened, view: &MergedView, slot: usize) -> Option<ChangedView> {
        Self::of_slot(&opened.slots, view, slot)
    }

    fn of_slot(slots: &[super::names::Slot], view: &MergedView, slot: usize) -> Option<ChangedView> {
        let within = slots.get(slot)?.within.as_ref()?;
        let mut columns = Vec::new();
        for check in &view.checks {
            check.walk(&mut |e| columns.extend(column_of_slot(e, slot)));
            // What a subquery looks at is not seen from here.
            if check.info().has_subquery {
                columns.extend(0..slots[slot].columns.len());
            }
        }
        columns.sort_unstable();
        columns.dedup();
        Some(ChangedView {
            faces: within.faces.iter().rev().cloned().collect(),
            through: within.through.clone()?,
            slot,
            slots: slots.len(),
            checks: view.checks.clone(),
            columns,
        })
    }

    /// The view that the statement names.
    pub fn name(&self) -> (&str, &str) {
        let Face { database, name, .. } = &*self.faces[0];
        (database, name)
    }

    /// As the statement calls it.
    pub(crate) fn alias(&self) -> &str {
        &self.faces[0].alias
    }

    /// Error 1369.
    pub fn refused(&self) -> SqlError {
        let (database, name) = self.name();
        SqlError::new(1369, format!("CHECK OPTION failed '{database}.{name}'"))
    }

    /// Whether a use is that of the view, of the table by it, or of a view between.
    pub(crate) fn is_by(&self, table: &TableInfo, u: &TableUse) -> bool {
        let base = &table.definition;
        let is_face = |f: &Arc<Face>| f.database == u.database && f.name == u.table;
        self.faces.iter().any(is_face)
            || u.through.is_some() && u.database == base.database && u.table == base.name
    }

    /// What somebody needs to do something to columns of the table (`None`: to its rows as a whole) by way of the view: of the
    /// view, and of each that is behind it with the privileges that count there.
    pub fn wants(&self, table: &TableInfo, privilege: Priv, set: Option<&[usize]>) -> Vec<Wanted> {
        let mut wants = Vec::new();
        for face in &self.faces {
            let mut want = match set {
                None => Wanted::table(&face.database, &face.name, privilege),
                Some(set) => {
                    let is_set = |at: &Option<(usize, usize)>| {
                        at.is_some_and(|(slot, column)| slot == self.slot && set.contains(&column))
                    };
                    let names =
                        face.columns.iter().filter(|(_, at)| is_set(at)).map(|(name, _)| name.as_str());
                    Wanted::columns(&face.database, &face.name, privilege, names)
                }
            };
            want.view.clone_from(&face.id);
            want.through.clone_from(&face.through);
            wants.push(want);
        }
        let base = &table.definition;
        let mut want = match set {
            None => Wanted::table(&base.database, &base.name, privilege),
            Some(set) => {
                let names = set.iter().map(|&c| table.columns[c].name.as_str());
                Wanted::columns(&base.database, &base.name, privilege, names)
            }
        };
        want.through = Some(self.through.clone());
        wants.push(want);
        wants
    }
}

/// Error 1288.
pub(crate) fn not_updatable(alias: &str, statement: &str) -> SqlError {
    SqlError::new(1288, format!("The target table {alias} of the {statement} is not updatable"))
}

/// Whether a subquery of the view reads the table: its rows could not be told from those that change.
fn reads_itself(view: &MergedView, table: &TableInfo) -> bool {
    let base = &table.definition;
    view.reads.iter().any(|u| u.database == base.database && u.table == base.name)
}

/// The table of a view that an UPDATE (which sets this column) or DELETE changes: its slot, and the column there.
///
/// # Errors
/// 1288, 1348, 1395.
pub(crate) fn changed_table(
    scope: &BlockScope<'_, '_>,
    view: &MergedView,
    set: Option<usize>,
) -> SqlResult<(usize, Arc<TableInfo>, Option<usize>)> {
    let face = &view.face;
    let statement = if set.is_some() { "UPDATE" } else { "DELETE" };
    let refused = || not_updatable(&face.alias, statement);
    let (slot, column) = match set {
        Some(column) => match column_of(view.column(column)?) {
            Some((slot, base)) => (slot, Some(base)),
            None => {
                let name = &view.columns[column].name;
                return Err(SqlError::new(1348, format!("Column '{name}' is not updatable")));
            }
        },
        None if view.tables.0.count_ones() != 1 => {
            let (database, name) = (&face.database, &face.name);
            return Err(SqlError::new(1395, format!("Can not delete from join view '{database}.{name}'")));
        }
        None => (view.tables.0.trailing_zeros() as usize, None),
    };
    match &scope.slots[slot].source {
        Source::Stored(info) if !reads_itself(view, info) => Ok((slot, info.clone(), column)),
        _ => Err(refused()),
    }
}

/// The view by which the table of a slot is changed.
pub(crate) fn changed_view(
    scope: &BlockScope<'_, '_>,
    view: &MergedView,
    slot: usize,
) -> Option<Arc<ChangedView>> {
    ChangedView::of_slot(&scope.slots, view, slot).map(Arc::new)
}

/// A view that rows are inserted into.
#[derive(Debug)]
pub struct InsertView {
    /// The table that they come into.
    pub info: Arc<TableInfo>,
    /// Database of the view.
    pub database: String,
    /// Its name.
    pub name: String,
    /// Its columns that are columns of the table.
    pub columns: Vec<(String, usize)>,
    /// The parts of a partitioned table that it names: rows come into no others.
    pub parts: Option<Arc<[usize]>>,
    /// Who must be allowed to, what is asked of the rows.
    pub changed: Arc<ChangedView>,
    /// What the view reads, for privilege checks: all that it selects, and what its conditions look at.
    pub uses: Vec<TableUse>,
}

impl InsertView {
    /// Position in the table of a column of the view.
    ///
    /// # Errors
    /// 1054.
    pub fn position(&self, name: &ast::ColumnRef<'_>) -> SqlResult<usize> {
        let is = |ident: Option<ast::Ident<'_>>, text: &str| ident.is_none_or(|i| i.name == text.as_bytes());
        let is_ours = is(name.schema, &self.database) && is(name.table, &self.name);
        let wanted = name.name.to_string();
        let found = self.columns.iter().find(|(own, _)| is_ours && same_name(own, &wanted));
        found.map(|(_, column)| *column).ok_or_else(|| unknown_column(name, "field list"))
    }

    /// Error 1423: a column that is not given has no default.
    pub fn no_default(&self) -> SqlError {
        let (database, name) = (&self.database, &self.name);
        let message =
            format!("Field of view '{database}.{name}' underlying table doesn't have a default value");
        SqlError::new(1423, message)
    }
}

/// Opens the view that an INSERT (or LOAD DATA: `load`) names, with the columns that it names.
///
/// # Errors
/// 1471 (1288) no rows can be inserted into it; 1393, 1394 of a view of several tables; 1054.
pub fn open_to_insert(
    planner: &Planner<'_>,
    object: &Arc<Object>,
    (database, name): (&str, &str),
    given: &[&ast::ColumnRef<'_>],
    load: bool,
    cx: &mut CompileCx<'_>,
) -> SqlResult<InsertView> {
    let refused = || match load {
        true => not_updatable(name, "LOAD"),
        false => {
            let message = format!("The target table {name} of the INSERT is not insertable-into");
            SqlError::new(1471, message)
        }
    };
    let mut opened = Opened::default();
    let how = (MdlMode::SharedWrite, false);
    let view = match view::open(planner, object, (database, name, name), &mut opened, cx, how)? {
        OpenedView::Merged(view) => view,
        OpenedView::Derived(_) => return Err(refused()),
    };
    let mut columns: Vec<(usize, usize)> = Vec::new();
    for column in 0..view.columns.len() {
        match column_of(view.column(column)?) {
            Some(base) if !columns.contains(&base) => columns.push(base),
            _ => return Err(refused()),
        }
    }
    if !view.inner_only {
        return Err(refused());
    }
    let slot = match &opened.slots[..] {
        [_] => 0,
        _ if load => return Err(refused()),
        _ => slot_of_given(&view, &columns, given)?,
    };
    let Source::Stored(info) = &opened.slots[slot].source else { return Err(refused()) };
    if reads_itself(&view, info) {
        return Err(refused());
    }
    let named = view.columns.iter().zip(&columns).filter(|(_, (s, _))| *s == slot);
    let changed = ChangedView::of(&opened, &view, slot).ok_or_else(refused)?;
    let (info, parts) = (info.clone(), opened.slots[slot].parts.clone());
    let columns_of_table: Vec<(String, usize)> =
        named.map(|(c, (_, column))| (c.name.clone(), *column)).collect();
    let mut uses = view.reads.clone();
    uses.extend(view.uses.iter().cloned());
    let scope = BlockScope::of(planner, None, opened);
    columns.iter().for_each(|&(slot, column)| drop(scope.column(slot, column)));
    uses.extend(uses_of(&scope, &[]));
    Ok(InsertView {
        info,
        uses,
        database: database.to_owned(),
        name: name.to_owned(),
        columns: columns_of_table,
        parts,
        changed: Arc::new(changed),
    })
}

/// The one table of a view of several that the given columns are of.
fn slot_of_given(
    view: &MergedView,
    columns: &[(usize, usize)],
    given: &[&ast::ColumnRef<'_>],
) -> SqlResult<usize> {
    let (database, name) = (&view.face.database, &view.face.name);
    let mut found = None;
    for column in given {
        let wanted = column.name.to_string();
        let is_ours = column.table.is_none_or(|table| view.named().is(column.schema, table));
        let at = view.columns.iter().position(|c| is_ours && same_name(&c.name, &wanted));
        let slot = columns[at.ok_or_else(|| unknown_column(column, "field list"))?].0;
        if found.is_some_and(|other| other != slot) {
            let message =
                format!("Can not modify more than one base table through a join view '{database}.{name}'");
            return Err(SqlError::new(1393, message));
        }
        found = Some(slot);
    }
    found.ok_or_else(|| {
        SqlError::new(1394, format!("Can not insert into join view '{database}.{name}' without fields list"))
    })
}

/// Whether rows can be changed through a view, as information_schema has it.
///
/// # Errors
/// What keeps the view from being used.
pub fn is_updatable(
    planner: &Planner<'_>,
    object: &Arc<Object>,
    names: (&str, &str),
    cx: &mut CompileCx<'_>,
) -> SqlResult<bool> {
    let (database, name) = names;
    let mut opened = Opened::default();
    let how = (MdlMode::SharedRead, false);
    let opened_view = view::open(planner, object, (database, name, name), &mut opened, cx, how)?;
    let OpenedView::Merged(view) = opened_view else { return Ok(false) };
    // Of a view that is not merged itself too, as MySQL has it.
    let is_column = |at: usize| view.column(at).ok().and_then(column_of).is_some();
    Ok((0..view.columns.len()).any(is_column))
}
