//! How a statement that names a view is planned, and how a view comes to be.
//!
//! A statement that names a view plans its text ([`crate::view`]) anew: merged into its own block ([`super::merged`]), or as a derived
//! table. What the plan was made of is held by the number of the engine's object ([`vaquita_session::privilege::ViewId`]).

use super::block::{self, Planned};
use super::merged::{self, MergedView};
use super::names::Opened;
use crate::planner::Planner;
use crate::view::{self, Names, parse_kept};
use bumpalo::Bump;
use std::sync::Arc;
use vaquita_catalog::{ObjectBody, Security};
use vaquita_engine::{MdlMode, Object};
use vaquita_expr::CompileCx;
use vaquita_parser::ast;
use vaquita_session::privilege::Through;
use vaquita_types::{SqlError, SqlResult};

/// Views in views.
const DEPTH_MAX: usize = 32;

/// The view of that name, if there is one.
pub(crate) fn find(planner: &Planner<'_>, database: &str, name: &str) -> SqlResult<Option<Arc<Object>>> {
    let name = vaquita_catalog::engine_name(database, name)?;
    Ok(planner.session.borrow().objects().view(&name).cloned())
}

/// Whether an error within a view is told of as one of the view.
pub(crate) fn is_of_view(code: u16) -> bool {
    matches!(code, 1051 | 1054 | 1142 | 1143 | 1146 | 1222 | 1305 | 1345 | 1370 | 1049 | 1044)
}

/// The definer of a view that runs with his privileges.
pub(crate) fn definer_of(object: &Object) -> SqlResult<Option<(String, String)>> {
    let body = ObjectBody::of(object)?;
    Ok((body.security == Security::Definer).then_some(body.definer))
}

/// A view that a statement names.
#[derive(Debug)]
pub(crate) enum OpenedView {
    /// Its block is part of the one that names it.
    Merged(MergedView),
    /// Its rows are made first.
    Derived(Planned),
}

/// Opens a view that a statement names. `names`: its database, name and alias; `how`: see [`super::from::open_table_of`].
pub(crate) fn open(
    planner: &Planner<'_>,
    object: &Arc<Object>,
    names: (&str, &str, &str),
    opened: &mut Opened,
    cx: &mut CompileCx<'_>,
    how: (MdlMode, bool),
) -> SqlResult<OpenedView> {
    let body = ObjectBody::of(object)?;
    let engine_name = object.lock_name();
    let (database, name, _) = names;
    if planner.views.borrow().contains(&engine_name) || planner.views.borrow().len() >= DEPTH_MAX {
        return Err(SqlError::new(1462, format!("`{database}`.`{name}` contains view recursion")));
    }
    let outer = planner.through.borrow().clone();
    let definer = match body.security {
        Security::Definer => Some(body.definer.clone()),
        Security::Invoker => outer.as_ref().and_then(|outer| outer.definer.clone()),
    };
    let view = match &outer {
        Some(outer) => outer.view.clone(),
        None => (database.to_owned(), name.to_owned()),
    };
    let through = Arc::new(Through { view, definer });
    *planner.through.borrow_mut() = Some(through.clone());
    planner.views.borrow_mut().push(engine_name);
    let (noted, aggregates) = (planner.names.take(), std::mem::take(&mut cx.aggregates));
    let windows = std::mem::take(&mut cx.windows);
    let charsets = view::enter(&mut cx.session.state.vars, &body);
    let arena = Bump::new();
    let done = parse_kept(&body.text, &arena).and_then(|query| {
        let apart = opened.merges.is_kept_apart(names.2);
        if let Some(select) = merged::mergeable(&body, query).filter(|_| !apart) {
            let of = merged::OfView { object, body: &body, names, through: &through, outer: &outer };
            let naming = merged::Naming::View(of);
            if let Some(view) = merged::open(planner, naming, (query, select), opened, None, cx, how)? {
                return Ok(OpenedView::Merged(view));
            }
        }
        planner.derived.set(planner.derived.get() + 1);
        let planned = block::plan_query(planner, query, None, cx);
        planner.derived.set(planner.derived.get() - 1);
        planned.map(|mut planned| {
            planned.plan.store_items(cx);
            OpenedView::Derived(planned)
        })
    });
    view::leave(&mut cx.session.state.vars, charsets);
    cx.aggregates = aggregates;
    cx.windows = windows;
    *planner.names.borrow_mut() = noted;
    planner.views.borrow_mut().pop();
    *planner.through.borrow_mut() = outer;
    done.map_err(|e| if is_of_view(e.code) { through.invalid() } else { e })
}

/// A query as that of a view to be made.
#[derive(Debug)]
pub struct DefinedView {
    /// What its names stand for.
    pub names: Names,
    /// Names of its columns.
    pub columns: Vec<String>,
    /// What it reads.
    pub uses: Vec<crate::tree::TableUse>,
    /// The name of a temporary table that it reads.
    pub temporary: Option<String>,
}

/// Plans a query that is to be a view's, for what its names stand for.
///
/// # Errors
/// Of planning it.
pub fn define_view(
    planner: &Planner<'_>,
    query: &ast::Query<'_>,
    cx: &mut CompileCx<'_>,
) -> SqlResult<DefinedView> {
    *planner.names.borrow_mut() = Some(Names::default());
    let planned = block::plan_query(planner, query, None, cx);
    let names = planner.names.take().unwrap_or_default();
    let planned = planned?;
    let mut tables = Vec::new();
    planned.plan.tables(&mut tables);
    let temporary = tables.iter().find(|t| t.table.is_temporary()).map(|t| t.definition.name.clone());
    let columns = planned.columns.iter().map(|c| String::from_utf8_lossy(&c.name).into_owned());
    Ok(DefinedView { names, columns: columns.collect(), uses: planner.take_uses(), temporary })
}
