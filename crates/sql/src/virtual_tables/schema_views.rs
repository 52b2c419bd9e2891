//! Views, in the tables of information_schema that list them.

use super::making::{Making, text, text_or_null, yes_no};
use super::schema_tables::{data_type, measures, privileges_on};
use crate::ddl::views as of_views;
use std::sync::Arc;
use vaquita_catalog::{ColumnDefinition, ObjectBody};
use vaquita_engine::table::DefaultValue;
use vaquita_engine::{Object, ObjectKind};
use vaquita_session::SessionCx;
use vaquita_session::privilege::Priv;
use vaquita_session::vars;
use vaquita_types::{Kind, Level, SqlError, SqlResult, Value};

/// A view that the session may see, with its names.
struct Shown {
    database: String,
    name: String,
    object: Arc<Object>,
}

/// Views that are wanted by these columns.
fn wanted(m: &Making<'_, '_>, database_column: usize, name_column: usize) -> SqlResult<Vec<Shown>> {
    let objects = m.db.engine.core().objects();
    if objects.all(ObjectKind::View).next().is_none() {
        return Ok(Vec::new());
    }
    let one = m.wanted.text(name_column).map(|name| String::from_utf8_lossy(name).into_owned());
    let mut out = Vec::new();
    for (database, file_name) in m.databases(database_column)? {
        for object in objects.list(ObjectKind::View, &file_name) {
            let name = vaquita_catalog::sql_name(&object.lock_name()).1;
            if one.as_ref().is_none_or(|one| *one == name) && m.may_use(&database, &name) {
                out.push(Shown { database: database.clone(), name, object: object.clone() });
            }
        }
    }
    Ok(out)
}

/// What the columns of a view are; of one that cannot be used there are none, and a warning.
fn columns_of(m: &mut Making<'_, '_>, view: &Shown) -> Vec<ColumnDefinition> {
    let Some(engine) = m.cx.engine.as_deref_mut() else { return Vec::new() };
    let mut cx = SessionCx { db: m.db, engine, state: &mut *m.cx.state };
    match of_views::columns_of(&mut cx, &view.object) {
        Ok(columns) => columns,
        Err(_) => {
            warn(m, of_views::invalid(&view.object));
            Vec::new()
        }
    }
}

fn warn(m: &mut Making<'_, '_>, e: SqlError) {
    m.cx.state.warnings.push(Level::Warning, e.code, e.message);
}

pub(super) fn tables(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for view in wanted(m, 1, 2)? {
        let mut row = vec![text("def"), text(&view.database), text(&view.name), text("VIEW")];
        row.resize(20, Value::Null);
        // Who asks for comments is told which views cannot be used.
        let comment = match m.wanted.columns.is_empty() || m.wanted.columns.contains(&20) {
            true => match columns_of(m, &view).is_empty() {
                true => invalid(&view),
                false => "VIEW".to_owned(),
            },
            false => "VIEW".to_owned(),
        };
        row.push(text(comment));
        m.push(row);
    }
    Ok(())
}

fn invalid(view: &Shown) -> String {
    of_views::invalid(&view.object).message.into_owned()
}

pub(super) fn views(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for view in wanted(m, 1, 2)? {
        let body = ObjectBody::of(&view.object)?;
        let privileges = &m.state().privileges;
        let on_view = privileges.on_table(&view.database, &view.name).map_or(Priv::NONE, |g| g.privileges);
        let has = privileges.global | privileges.in_database(&view.database) | on_view;
        let own = (m.state().account_user.as_str(), m.state().account_host.as_str());
        let shown = has.has(Priv::SHOW_VIEW) || own == (body.definer.0.as_str(), body.definer.1.as_str());
        let (charset, collation) = of_views::charset_names(&body);
        let updatable = match m.cx.engine.as_deref_mut() {
            Some(engine) => {
                let mut cx = SessionCx { db: m.db, engine, state: &mut *m.cx.state };
                of_views::is_updatable(&mut cx, &view.object)
            }
            None => false,
        };
        m.push(vec![
            text("def"),
            text(&view.database),
            text(&view.name),
            text(if shown { body.text.as_str() } else { "" }),
            text(of_views::check_option(&body)),
            yes_no(updatable),
            text(format!("{}@{}", body.definer.0, body.definer.1)),
            text(body.security.name()),
            text(charset),
            text(collation),
        ]);
    }
    Ok(())
}

pub(super) fn columns(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for view in wanted(m, 1, 2)? {
        for (at, column) in columns_of(m, &view).iter().enumerate() {
            let privileges = privileges_on(m, (&view.database, &view.name), &column.name, Priv::NONE);
            if privileges.is_empty() {
                continue;
            }
            let ty = &column.ty;
            let is_text = (ty.kind.is_string() || matches!(ty.kind, Kind::Enum | Kind::Set))
                && ty.collation != vaquita_types::sql_type::BINARY;
            let [chars, bytes, digits, scale, seconds] = measures(ty);
            let declared = column.declared();
            m.push(vec![
                text("def"),
                text(&view.database),
                text(&view.name),
                text(&column.name),
                Value::UInt(at as u64 + 1),
                default_text(m, column),
                yes_no(ty.nullable),
                text(data_type(&declared)),
                chars,
                bytes,
                digits,
                scale,
                seconds,
                text_or_null(is_text.then(|| vars::charset_name(ty.collation))),
                text_or_null(is_text.then(|| vars::collation_name(ty.collation))),
                text(&*declared),
                text(""),
                text(""),
                text(privileges),
                text(&column.comment),
                text(""),
            ]);
        }
    }
    Ok(())
}

fn default_text(m: &Making<'_, '_>, column: &ColumnDefinition) -> Value<'static> {
    match &column.default {
        DefaultValue::None | DefaultValue::Null => Value::Null,
        DefaultValue::Now => match column.ty.decimals {
            0 => text("CURRENT_TIMESTAMP"),
            n => text(format!("CURRENT_TIMESTAMP({n})")),
        },
        DefaultValue::Text(expression) => text(expression),
        DefaultValue::Stored(stored) if stored.is_empty() && column.ty.kind.is_blob() => Value::Null,
        DefaultValue::Stored(stored) => {
            let codec = column.codec();
            let value = codec.decode(Some(stored), &m.state().vars.time_zone);
            text(value.to_text(&column.ty))
        }
    }
}
