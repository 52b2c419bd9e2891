//! Planning JSON_TABLE: what its rows and columns are.

use crate::column_type::resolve_type;
use crate::json_table::{Instead, JsonColumn, JsonRows, JsonTable, JsonWhat, node_of};
use crate::planner::Planner;
use vaquita_catalog::same_name;
use vaquita_engine::lower::RowFormat;
use vaquita_engine::text::collation;
use vaquita_expr::{CompileCx, Expr};
use vaquita_parser::ast::{self, JsonInstead};
use vaquita_session::vars;
use vaquita_types::json::{binary::encode, parse, path::Path};
use vaquita_types::sql_type::BINARY;
use vaquita_types::{ColumnType, Kind, SqlError, SqlResult, SqlType};

/// Most NESTED PATHs of a table.
const NESTED_MAX: usize = 16;

/// A name and a type.
pub(super) type NamedType = (String, SqlType);

/// Plans the rows and columns of JSON_TABLE; the columns' names and types come with them.
///
/// # Errors
/// 1060 two columns of one name, 1067 a default that is no value of its column, 3143 a path, 3670 too many NESTED PATHs; those of types.
pub(super) fn plan(
    planner: &Planner<'_>,
    table: &ast::JsonTable<'_>,
    doc: Expr,
    cx: &mut CompileCx<'_>,
) -> SqlResult<(JsonTable, Vec<NamedType>)> {
    let mut planning = Planning { planner, alias: table.alias.to_string(), columns: Vec::new(), nested: 0 };
    let rows = planning.rows(&table.rows, cx)?;
    Ok((JsonTable { doc, rows, width: planning.columns.len() }, planning.columns))
}

struct Planning<'s, 'p> {
    planner: &'s Planner<'p>,
    alias: String,
    columns: Vec<NamedType>,
    nested: usize,
}

impl Planning<'_, '_> {
    fn rows(&mut self, written: &ast::JsonRows<'_>, cx: &mut CompileCx<'_>) -> SqlResult<JsonRows> {
        let mut rows = JsonRows { path: path_of(written.path, cx)?, columns: Vec::new(), nested: Vec::new() };
        for column in written.columns {
            match column {
                ast::JsonColumn::Ordinality(name) => {
                    let ty = SqlType { unsigned: true, length: 10, ..SqlType::new(Kind::Int) };
                    rows.columns.push(self.column(name.to_string(), ty, JsonWhat::Ordinality)?);
                }
                ast::JsonColumn::Path(written) => rows.columns.push(self.by_path(written, cx)?),
                ast::JsonColumn::Nested(written) => {
                    self.nested += 1;
                    if self.nested > NESTED_MAX {
                        return Err(SqlError::of(3670, &[&NESTED_MAX, &self.alias]));
                    }
                    rows.nested.push(self.rows(written, cx)?);
                }
            }
        }
        Ok(rows)
    }

    fn by_path(
        &mut self,
        written: &ast::JsonPathColumn<'_>,
        cx: &mut CompileCx<'_>,
    ) -> SqlResult<JsonColumn> {
        let name = written.name.to_string();
        let collation = cx.session.state.vars.collation_connection;
        let ty = resolve_type(&written.ty, &name, collation, cx.session.state)?;
        if ty.kind == Kind::Geometry {
            return Err(SqlError::unsupported("spatial columns of JSON_TABLE"));
        }
        if let Some(names) = &mut *self.planner.names.borrow_mut() {
            names.note_type(written, declared(&ty));
        }
        let path = path_of(written.path, cx)?;
        if written.exists {
            return self.column(name, ty, JsonWhat::Exists(path));
        }
        let on_empty = instead_of(&written.on_empty, &name, cx)?;
        let on_error = instead_of(&written.on_error, &name, cx)?;
        let column = self.column(name, ty, JsonWhat::Value { path, on_empty, on_error })?;
        if let JsonWhat::Value { on_empty, on_error, .. } = &column.what {
            for instead in [on_empty, on_error] {
                if let Instead::Default(doc) = instead
                    && column.stored(&node_of(doc), &mut cx.session)?.is_none()
                {
                    return Err(invalid_default(&column.name));
                }
            }
        }
        Ok(column)
    }

    fn column(&mut self, name: String, ty: SqlType, what: JsonWhat) -> SqlResult<JsonColumn> {
        if self.columns.iter().any(|(other, _)| same_name(other, &name)) {
            return Err(SqlError::new(1060, format!("Duplicate column name '{name}'")));
        }
        let ty = SqlType { nullable: true, ..ty };
        self.columns.push((name.clone(), ty.clone()));
        let ty = ColumnType::new(ty, RowFormat::Dynamic);
        Ok(JsonColumn { at: self.columns.len() - 1, name, ty, what })
    }
}

/// A type as text that means the same in every session.
fn declared(ty: &SqlType) -> String {
    let text = ty.column_type();
    let by_characters =
        ty.kind.is_string() && ty.collation != BINARY || matches!(ty.kind, Kind::Enum | Kind::Set);
    match collation::name(ty.collation).filter(|_| by_characters) {
        Some(name) => format!("{text} character set {} collate {name}", vars::charset_name(ty.collation)),
        None => text,
    }
}

fn path_of(written: &[u8], cx: &CompileCx<'_>) -> SqlResult<Path> {
    Path::parse(cx.session.state.vars.client_text(written).as_bytes())
}

fn invalid_default(column: &str) -> SqlError {
    SqlError::new(1067, format!("Invalid default value for '{column}'"))
}

fn instead_of(written: &JsonInstead<'_>, column: &str, cx: &CompileCx<'_>) -> SqlResult<Instead> {
    Ok(match written {
        JsonInstead::Null => Instead::Null,
        JsonInstead::Error => Instead::Error,
        JsonInstead::Default(text) => {
            let text = cx.session.state.vars.client_text(text);
            let doc = parse::parse(text.as_bytes()).map_err(|_| invalid_default(column))?;
            Instead::Default(encode(&doc)?.into())
        }
    })
}
