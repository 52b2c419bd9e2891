//! What the tables that a DELETE of several tables names mean.
//!
//! As in MySQL, the names are held against FROM as it is written, before any table is opened. A name without database means
//! a table whose alias it is, wherever that table is, or the table of the current database. A name with a database means a
//! table without alias.

use vaquita_parser::ast::{Ident, ObjectName, TableRef};
use vaquita_types::{SqlError, SqlResult};

/// A table in FROM as it is written.
struct Written {
    /// Its database, or the current one; none of derived tables.
    database: Option<String>,
    name: String,
    /// It is named by an alias, or is no table of a database.
    has_alias: bool,
}

/// Positions in FROM, in the order of the text, of the tables whose rows a DELETE deletes; `current`: the current database.
///
/// # Errors
/// 1046 there is no current database; 1066 a name stands twice, or for two tables; 1109 it stands for none.
pub(crate) fn positions(
    targets: &[ObjectName<'_>],
    from: &[TableRef<'_>],
    current: &str,
) -> SqlResult<Vec<usize>> {
    let mut named: Vec<(String, String)> = Vec::with_capacity(targets.len());
    for target in targets {
        let database = match target.schema {
            Some(schema) => schema.to_string(),
            None if current.is_empty() => return Err(SqlError::new(1046, "No database selected")),
            None => current.to_owned(),
        };
        let name = target.name.to_string();
        if named.iter().any(|(d, n)| *d == database && *n == name) {
            return Err(not_unique(&name));
        }
        named.push((database, name));
    }
    let mut tables = Vec::new();
    from.iter().for_each(|table| add(table, current, &mut tables));
    for (at, table) in tables.iter().enumerate() {
        if tables[..at].iter().any(|t| t.name == table.name && t.database == table.database) {
            return Err(not_unique(&table.name));
        }
    }
    let position = |(target, (database, name)): (&ObjectName<'_>, &(String, String))| {
        let is_meant = |table: &Written| match target.schema {
            None if table.has_alias => table.name == *name,
            _ => !table.has_alias && table.name == *name && table.database.as_ref() == Some(database),
        };
        let mut meant = tables.iter().enumerate().filter(|(_, table)| is_meant(table));
        match (meant.next(), meant.next()) {
            (Some((at, _)), None) => Ok(at),
            (Some(_), Some(_)) => Err(not_unique(name)),
            (None, _) => Err(SqlError::new(1109, format!("Unknown table '{name}' in MULTI DELETE"))),
        }
    };
    targets.iter().zip(&named).map(position).collect()
}

fn not_unique(name: &str) -> SqlError {
    SqlError::new(1066, format!("Not unique table/alias: '{name}'"))
}

/// Adds the tables of a part of FROM.
fn add(table: &TableRef<'_>, current: &str, tables: &mut Vec<Written>) {
    let mut derived = |alias: Ident<'_>| {
        tables.push(Written { database: None, name: alias.to_string(), has_alias: true });
    };
    match table {
        TableRef::Table(named) => {
            let database = named.name.schema.map_or_else(|| current.to_owned(), |schema| schema.to_string());
            let name = named.alias.unwrap_or(named.name.name).to_string();
            tables.push(Written { database: Some(database), name, has_alias: named.alias.is_some() });
        }
        TableRef::Derived(table) => derived(table.alias),
        TableRef::Json(table) => derived(table.alias),
        TableRef::Join(join) => {
            add(&join.left, current, tables);
            add(&join.right, current, tables);
        }
        TableRef::List(list) => list.iter().for_each(|table| add(table, current, tables)),
    }
}
