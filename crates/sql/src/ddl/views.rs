//! CREATE, ALTER and DROP VIEW; SHOW CREATE VIEW; what a view's columns are.

use super::{base_table_exists, check_database_exists, names_of};
use crate::accounts::name::{check_length, name_of, own_name};
use crate::statement::{StmtCx, planning};
use bumpalo::Bump;
use std::borrow::Cow;
use std::sync::Arc;
use vaquita_catalog::{ColumnDefinition, ObjectBody, Security, engine_name, error, file_name, same_name};
use vaquita_engine::lower::charset::Charset;
use vaquita_engine::table::DefaultValue;
use vaquita_engine::{Object, ObjectKind, Put};
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, Stmt, ViewAlgorithm, ViewCheck};
use vaquita_plan::view::{self, print::Printer, quoted};
use vaquita_session::privilege::{Priv, Wanted};
use vaquita_session::vars;
use vaquita_types::{Level, SqlError, SqlResult};

/// Names of what is kept of a view besides its query.
pub(super) const ALGORITHM: &str = "algorithm";
pub(super) const CHECK: &str = "check";

/// Most characters of a column's name.
const NAME_MAX: usize = 64;

fn not_view(database: &str, name: &str) -> SqlError {
    SqlError::new(1347, format!("'{database}.{name}' is not VIEW"))
}

/// Error 1347 of a view where a table is wanted.
pub(crate) fn not_table(database: &str, name: &str) -> SqlError {
    SqlError::new(1347, format!("'{database}.{name}' is not BASE TABLE"))
}

/// The view of that name, with the engine's name of it.
pub(crate) fn find(cx: &StmtCx<'_>, database: &str, name: &str) -> Option<Arc<Object>> {
    let name = engine_name(database, name).ok()?;
    cx.engine.objects().view(&name).cloned()
}

/// CREATE VIEW and ALTER VIEW.
///
/// # Errors
/// 1050, 1146, 1347 of the name; 1349 to 1353, 1060, 1166 of the query; 1142, 1143, 1227 of privileges; 1368.
pub(super) fn create(cx: &mut StmtCx<'_>, written: &ast::CreateView<'_>, sql: &[u8]) -> SqlResult<Outcome> {
    // What a view may not have is said before anything else.
    Printer::of_test().print(written.query)?;
    let (database, name) = names_of(cx, &written.name)?;
    check_database_exists(cx, &database)?;
    let full = engine_name(&database, &name)?;
    let there = find(cx, &database, &name);
    let definer = definer_of(cx, written, there.as_deref())?;
    if there.is_none() && base_table_exists(cx, &full)? {
        return Err(match written.alter || written.or_replace {
            true => not_view(&database, &name),
            false => SqlError::table_exists(&name),
        });
    }
    match (&there, written.alter) {
        (None, true) => return Err(error::no_such_table(&database, &name)),
        (Some(_), false) if !written.or_replace => return Err(SqlError::table_exists(&name)),
        _ => {}
    }
    let text = text_of(cx, written, sql, (&database, &name))?;
    let mut algorithm = written.algorithm;
    if algorithm == ViewAlgorithm::Merge && !view::is_mergeable(written.query) {
        let text = "View merge algorithm can't be used here for now (assumed undefined algorithm)";
        cx.state.warnings.push(Level::Warning, 1354, text);
        algorithm = ViewAlgorithm::Undefined;
    }
    let no_check = algorithm == ViewAlgorithm::TempTable
        || !view::is_mergeable(written.query)
        || view::has_outer_join(written.query);
    if written.check != ViewCheck::None && no_check {
        return Err(SqlError::new(1368, format!("CHECK OPTION on non-updatable view '{database}.{name}'")));
    }
    let before = there.as_ref().and_then(|object| ObjectBody::of(object).ok());
    let security = match (written.invoker, &before) {
        (Some(true), _) => Security::Invoker,
        // One that is altered stays what it is.
        (None, Some(before)) if written.alter => before.security,
        _ => Security::Definer,
    };
    let now = u64::try_from(crate::accounts::seconds_now()).unwrap_or(0);
    let created = before.map_or(now, |b| b.created);
    let mut body = ObjectBody {
        definer,
        security,
        sql_mode: cx.state.vars.sql_mode.0,
        client_collation: cx.state.vars.character_set_client,
        connection_collation: cx.state.vars.collation_connection,
        database_collation: cx.state.vars.collation_database,
        created,
        modified: now,
        comment: String::new(),
        text,
        more: Vec::new(),
    };
    if !body.can_send(&body.text) {
        // Names of columns that the client has not written, in characters that it could not.
        body.client_collation = Charset::UTF8MB4.default_collation();
    }
    set_options(&mut body, algorithm, written.check);
    super::view_files::put(cx, &mut body, written, sql, &database)?;
    let object = Object::new(ObjectKind::View, file_name(&database)?, file_name(&name)?, body.encode());
    let put = match (written.alter, written.or_replace) {
        (true, _) => Put::Existing,
        (_, true) => Put::Any,
        _ => Put::New,
    };
    cx.engine.put_object(&object, put).map_err(|e| match e {
        vaquita_engine::Error::ObjectExists(_) => SqlError::table_exists(&name),
        vaquita_engine::Error::NoSuchObject(_) => error::no_such_table(&database, &name),
        e => error::engine(&e),
    })?;
    Ok(Outcome::default())
}

/// Puts down what CREATE VIEW says besides the query.
pub(crate) fn set_options(body: &mut ObjectBody, algorithm: ViewAlgorithm, check: ViewCheck) {
    body.set(
        ALGORITHM,
        match algorithm {
            ViewAlgorithm::Undefined => "UNDEFINED",
            ViewAlgorithm::Merge => "MERGE",
            ViewAlgorithm::TempTable => "TEMPTABLE",
        },
    );
    body.set(
        CHECK,
        match check {
            ViewCheck::None => "NONE",
            ViewCheck::Local => "LOCAL",
            ViewCheck::Cascaded => "CASCADED",
        },
    );
}

/// Who the view belongs to: one that is altered to whom it belonged.
fn definer_of(
    cx: &mut StmtCx<'_>,
    written: &ast::CreateView<'_>,
    there: Option<&Object>,
) -> SqlResult<(String, String)> {
    let own = own_name(cx.state);
    let before = there.filter(|_| written.alter).and_then(|object| ObjectBody::of(object).ok());
    written.definer.as_ref().map_or(Ok(()), check_length)?;
    let definer = match (&written.definer, before) {
        (Some(user), _) => name_of(user, &own),
        (None, Some(body)) => body.definer,
        (None, None) => own.clone(),
    };
    if definer != own {
        cx.state.check_super_or(Priv::SET_USER_ID)?;
        if cx.db.accounts.grants().account(&definer.0, &definer.1).is_none() {
            let text =
                format!("The user specified as a definer ('{}'@'{}') does not exist", definer.0, definer.1);
            cx.state.warnings.push(Level::Note, 1449, text);
        }
    }
    Ok(definer)
}

/// The text of a view's query, with complete names.
fn text_of(
    cx: &mut StmtCx<'_>,
    written: &ast::CreateView<'_>,
    sql: &[u8],
    (database, name): (&str, &str),
) -> SqlResult<String> {
    let look = cx.engine.begin_look();
    let results = cx.state.vars.character_set_results.take();
    let planned = {
        let mut plan_cx = planning(cx, &[], &[], sql);
        let (planner, mut compile) = plan_cx.planning();
        vaquita_plan::define_view(&planner, written.query, &mut compile)
    };
    cx.state.vars.character_set_results = results;
    error::of_engine(cx.engine.end_look(look))?;
    let mut defined = planned?;
    let current = cx.state.database.clone();
    let is_itself = |u: &vaquita_plan::TableUse| u.database == database && u.table == name;
    if defined.uses.iter().any(is_itself) {
        return Err(error::no_such_table(database, name));
    }
    // A view is made of what everybody sees: a temporary table that hides it gives no right to that.
    let wanted = vaquita_plan::wanted_of(&defined.uses).into_iter().filter(|w| w.through.is_none());
    let wanted: Vec<Wanted> = wanted.map(|want| want.of_own(false)).collect();
    cx.state.check_privileges(&wanted)?;
    if let Some(table) = defined.temporary {
        return Err(SqlError::new(1352, format!("View's SELECT refers to a temporary table '{table}'")));
    }
    let mut columns = defined.columns;
    if !written.columns.is_empty() {
        if written.columns.len() != columns.len() {
            let text = "View's SELECT and view's field list have different column counts";
            return Err(SqlError::new(1353, text));
        }
        columns = written.columns.iter().map(ToString::to_string).collect();
    }
    for (i, column) in columns.iter_mut().enumerate() {
        let declared = !written.columns.is_empty();
        if !declared && (column.chars().count() > NAME_MAX || column.ends_with(' ') || column.is_empty()) {
            *column = format!("Name_exp_{}", i + 1);
        }
        vaquita_catalog::limits::check_column_name(column)?;
    }
    let select = view::first_select(&written.query.body);
    let nobodys = match select {
        Some(select) if written.columns.is_empty() => view::unnamed(select, &defined.names),
        _ => Vec::new(),
    };
    tell_apart(&mut columns, &nobodys)?;
    if let Some(select) = select {
        defined.names.rename_items(select, columns);
    }
    let vars = &cx.state.vars;
    let decode = |bytes: &[u8]| match vars.client_charset() {
        Some(charset) => charset.decode(bytes).map(Cow::into_owned),
        None => view::print::utf8(bytes),
    };
    Printer::of_new(&defined.names, &current, &decode).print(written.query)
}

/// Gives columns that nobody has named (`nobodys`) other names where two are the same, as MySQL 5.6.24 does: `My_exp_1`.
///
/// # Errors
/// 1060: both have been named.
fn tell_apart(columns: &mut [String], nobodys: &[bool]) -> SqlResult<()> {
    let mut nobodys: Vec<bool> = (0..columns.len()).map(|at| nobodys.get(at) == Some(&true)).collect();
    for at in 0..columns.len() {
        while let Some(other) = columns[..at].iter().position(|other| same_name(other, &columns[at])) {
            let renamed = match (nobodys[at], nobodys[other]) {
                (true, _) => at,
                (false, true) => other,
                (false, false) => {
                    return Err(SqlError::new(1060, format!("Duplicate column name '{}'", columns[at])));
                }
            };
            let name = &columns[renamed];
            let numbered = (1..).map(|n| format!("My_exp_{n}_{name}"));
            let is_free = |new: &String| {
                columns.iter().zip(&nobodys).all(|(column, nobodys)| *nobodys || !same_name(column, new))
            };
            let new = std::iter::once(format!("My_exp_{name}")).chain(numbered).find(is_free);
            columns[renamed] = new.unwrap_or_default();
            nobodys[renamed] = false;
        }
    }
    Ok(())
}

/// DROP VIEW.
///
/// # Errors
/// 1051 of all that are not there, 1347 of a table.
pub(super) fn drop(cx: &mut StmtCx<'_>, drop: &ast::DropTables<'_>) -> SqlResult<Outcome> {
    let mut unknown = Vec::new();
    let mut wrong = None;
    for written in drop.names {
        let (database, name) = names_of(cx, written)?;
        let full = engine_name(&database, &name)?;
        if find(cx, &database, &name).is_none() {
            match base_table_exists(cx, &full)? {
                true => wrong = wrong.or_else(|| Some(not_view(&database, &name))),
                false => unknown.push(format!("{database}.{name}")),
            }
            continue;
        }
        let (in_database, in_name) = (file_name(&database)?, file_name(&name)?);
        error::of_engine(cx.engine.drop_object(ObjectKind::View, &in_database, &in_name))?;
    }
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    if unknown.is_empty() {
        return Ok(Outcome::default());
    }
    if !drop.if_exists {
        return Err(SqlError::unknown_table(&unknown.join(",")));
    }
    for name in &unknown {
        cx.state.warnings.push(Level::Note, 1051, SqlError::unknown_table(name).message);
    }
    Ok(Outcome::default())
}

/// A view's query as its text has it for a session in a database, and what else SHOW CREATE VIEW tells.
///
/// # Errors
/// Damage.
pub(crate) fn show_create(cx: &StmtCx<'_>, object: &Object, body: &ObjectBody) -> SqlResult<String> {
    let (database, name) = vaquita_catalog::sql_name(&object.lock_name());
    let arena = Bump::new();
    let query = view::parse_kept(&body.text, &arena)?;
    let here = cx.state.database == database;
    // Names of tables say their database unless all are in the one the session is in.
    let left_out = (here && view::is_within(query, &database)).then_some(database.as_str());
    let text = Printer::of_kept(left_out).print(query)?;
    let (user, host) = &body.definer;
    let in_database = if here { String::new() } else { format!("{}.", quoted(&database)) };
    let check = match body.get(CHECK) {
        "LOCAL" => " WITH LOCAL CHECK OPTION",
        "CASCADED" => " WITH CASCADED CHECK OPTION",
        _ => "",
    };
    Ok(format!(
        "CREATE ALGORITHM={} DEFINER={}@{} SQL SECURITY {} VIEW {in_database}{} AS {text}{check}",
        body.get(ALGORITHM),
        quoted(user),
        quoted(host),
        body.security.name(),
        quoted(&name),
    ))
}

/// CHECK OPTION as information_schema has it.
pub(crate) fn check_option(body: &ObjectBody) -> &str {
    body.get(CHECK)
}

/// What the columns of a view are, as definitions of columns. Those that are a table's column have its default.
///
/// # Errors
/// What keeps its query from being planned.
pub(crate) fn columns_of(cx: &mut StmtCx<'_>, object: &Arc<Object>) -> SqlResult<Vec<ColumnDefinition>> {
    let body = ObjectBody::of(object)?;
    let results = cx.state.vars.character_set_results.take();
    let charsets = view::enter(&mut cx.state.vars, &body);
    let arena = Bump::new();
    let planned = view::parse_kept(&body.text, &arena)
        .and_then(|query| vaquita_exec::plan(&mut planning(cx, &[], &[], &[]), &Stmt::Query(query)));
    view::leave(&mut cx.state.vars, charsets);
    cx.state.vars.character_set_results = results;
    let planned = planned?;
    let mut out = Vec::new();
    for column in planned.columns().map_or(&[][..], |c| c) {
        let name = String::from_utf8_lossy(&column.name).into_owned();
        let mut ty = column.ty.clone();
        if ty.kind == vaquita_types::Kind::Null {
            ty = vaquita_types::SqlType { kind: vaquita_types::Kind::Char, length: 0, ..ty };
        }
        let nullable = ty.nullable;
        let of_table = match column.org_name.is_empty() {
            true => None,
            false => base_column(cx, column),
        };
        out.push(match of_table {
            Some(base) => {
                let ty = vaquita_types::SqlType { nullable, ..base.ty.clone() };
                let default = default_in_view(&base);
                ColumnDefinition { name, ty, default, auto_increment: false, on_update_now: false, ..base }
            }
            None => {
                let mut made =
                    ColumnDefinition::new(name, ty.clone(), vaquita_catalog::declared::labels_of(&ty));
                made.default = super::create::selected_default(&made);
                made
            }
        });
    }
    Ok(out)
}

/// Whether rows can be changed through a view; not through one that cannot be used.
pub(crate) fn is_updatable(cx: &mut StmtCx<'_>, object: &Arc<Object>) -> bool {
    let (database, name) = vaquita_catalog::sql_name(&object.lock_name());
    let mut plan_cx = planning(cx, &[], &[], &[]);
    let (planner, mut compile) = plan_cx.planning();
    vaquita_plan::is_updatable(&planner, object, (&database, &name), &mut compile).unwrap_or(false)
}

/// The default that a view shows of a table's column: what comes by itself is none.
fn default_in_view(base: &ColumnDefinition) -> DefaultValue {
    let made = base.auto_increment || matches!(base.default, DefaultValue::Now);
    match made && !base.ty.nullable {
        true => {
            let mut zero = Vec::new();
            base.codec().push_implicit_default(&mut zero);
            DefaultValue::Stored(zero)
        }
        false if made => DefaultValue::Null,
        false => base.default.clone(),
    }
}

/// The same as [`columns_of`], told as an error of the view.
///
/// # Errors
/// 1356.
pub(crate) fn check(cx: &mut StmtCx<'_>, object: &Arc<Object>) -> SqlResult<()> {
    columns_of(cx, object).map(|_| ()).map_err(|_| invalid(object))
}

/// Error 1356 of a view.
pub(crate) fn invalid(object: &Object) -> SqlError {
    let view = vaquita_catalog::sql_name(&object.lock_name());
    vaquita_session::privilege::Through { view, definer: None }.invalid()
}

/// The column of a table, or of another view, that a view's column is.
fn base_column(cx: &mut StmtCx<'_>, column: &vaquita_session::sink::ColumnMeta) -> Option<ColumnDefinition> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (database, table, name) = (text(&column.schema), text(&column.org_table), text(&column.org_name));
    let is_it = |c: &ColumnDefinition| same_name(&c.name, &name);
    if let Some(object) = find(cx, &database, &table) {
        return columns_of(cx, &object).ok()?.into_iter().find(is_it);
    }
    let core = cx.db.engine.core();
    let found = core.table(&engine_name(&database, &table).ok()?).ok()?;
    let info = cx.db.catalog.info(&found).ok()?;
    info.definition.columns.iter().find(|c| is_it(c)).map(|c| ColumnDefinition::clone(c))
}

/// Privileges that CREATE VIEW needs of the name.
pub(crate) fn wanted_to_create(written: &ast::CreateView<'_>) -> Priv {
    match written.or_replace || written.alter {
        true => Priv::CREATE_VIEW | Priv::DROP,
        false => Priv::CREATE_VIEW,
    }
}

/// The name of a character set, and of a collation, of a view.
pub(crate) fn charset_names(body: &ObjectBody) -> (&'static str, &'static str) {
    (vars::charset_name(body.client_collation), vars::collation_name(body.connection_collation))
}

/// The base tables that a view reads, by way of other views too, with their databases.
///
/// # Errors
/// Damage.
pub(crate) fn base_tables(cx: &StmtCx<'_>, object: &Arc<Object>) -> SqlResult<Vec<(String, String)>> {
    let (mut views, mut tables) = (vec![object.clone()], Vec::new());
    let mut at = 0;
    while let Some(view) = views.get(at).cloned() {
        at += 1;
        let body = ObjectBody::of(&view)?;
        let arena = Bump::new();
        let found = std::cell::RefCell::default();
        view::tables_of(view::parse_kept(&body.text, &arena)?, &found);
        for (database, name) in found.into_inner() {
            match find(cx, &database, &name) {
                Some(inner) if views.iter().all(|v| v.id != inner.id) => views.push(inner),
                Some(_) => {}
                None => {
                    if !tables.contains(&(database.clone(), name.clone())) {
                        tables.push((database, name));
                    }
                }
            }
        }
    }
    Ok(tables)
}

/// Names of the columns of a view, whether it can be used or not.
///
/// # Errors
/// Damage.
pub(crate) fn column_names(object: &Object) -> SqlResult<Vec<String>> {
    let body = ObjectBody::of(object)?;
    let arena = Bump::new();
    let query = view::parse_kept(&body.text, &arena)?;
    let items = view::first_select(&query.body).map_or(&[][..], |select| select.items);
    let name = |item: &ast::SelectItem<'_>| match item {
        ast::SelectItem::Expr { alias, .. } => alias.map(|alias| alias.to_string()),
        _ => None,
    };
    Ok(items.iter().filter_map(name).collect())
}
