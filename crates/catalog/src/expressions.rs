//! Columns that are calculated, by GENERATED ALWAYS AS or by an expression as their default, and what that forbids about the columns
//! they look at.

use crate::definition::{ColumnDefinition, Definition, KeyDefinition, KeyPart};
use crate::names::same_name;
use std::sync::Arc;
use vaquita_engine::table::{DefaultValue, ReferentialAction};
use vaquita_types::{SqlError, SqlResult};

impl ColumnDefinition {
    /// Whether its default is an expression.
    pub fn has_default_expression(&self) -> bool {
        matches!(self.default, DefaultValue::Text(_))
    }

    /// Whether its expression, or that of its default, looks at a column.
    pub fn uses(&self, column: &str) -> bool {
        self.uses.iter().any(|c| same_name(c, column))
    }
}

impl Definition {
    /// A column is to go, or to get another name.
    ///
    /// # Errors
    /// 3108 a generated column looks at it; 3766 a default does.
    pub(crate) fn refuse_in_expressions(&self, column: &str) -> SqlResult<()> {
        let Some(user) = self.columns.iter().find(|c| c.uses(column) && !same_name(&c.name, column)) else {
            return Ok(());
        };
        Err(match &user.generated {
            Some(_) if user.functional => SqlError::new(
                3837,
                format!(
                    "Column '{column}' has a functional index dependency and cannot be dropped or renamed."
                ),
            ),
            Some(_) => SqlError::new(3108, format!("Column '{column}' has a generated column dependency.")),
            None => SqlError::new(
                3766,
                format!(
                    "Column '{column}' of table '{}' has a default value expression dependency and cannot be dropped \
                     or renamed.",
                    self.name
                ),
            ),
        })
    }

    /// The expression that a part of a key is.
    pub fn expression_of(&self, part: &KeyPart) -> Option<&str> {
        let column = &self.columns[self.key_column(&part.column)?];
        column.generated.as_ref().filter(|_| column.functional).map(|generated| generated.clause.as_str())
    }

    /// Whether a part of a key is an expression.
    pub fn is_functional(&self, key: &KeyDefinition) -> bool {
        key.parts.iter().any(|part| self.expression_of(part).is_some())
    }

    /// After keys have come and gone: the expressions that keys are of stand behind the other columns, those of keys that are no more
    /// go.
    pub fn settle_functional(&mut self) {
        let keys = &self.keys;
        let is_used = |name: &str| keys.iter().flat_map(|key| &key.parts).any(|part| part.column == name);
        self.columns.retain(|column| !column.functional || is_used(&column.name));
        self.columns.sort_by_key(|column| column.functional);
    }

    /// A key is to go: what its expressions look at may go with it.
    pub fn release_functional(&mut self, key: &str) {
        let Some(at) = self.key(key) else { return };
        let parts = self.keys[at].parts.clone();
        for column in self.columns.iter_mut().filter(|c| c.functional) {
            if parts.iter().any(|part| part.column == column.name) {
                Arc::make_mut(column).uses.clear();
            }
        }
    }

    /// # Errors
    /// 4028 no column is visible; 3522 the primary key is not.
    pub fn check_visible(&self) -> SqlResult<()> {
        if self.columns.iter().all(|column| column.invisible || column.hidden) {
            return Err(SqlError::new(4028, "A table must have at least one visible column."));
        }
        match self.keys.iter().any(|key| key.is_primary() && key.invisible) {
            true => Err(SqlError::new(3522, "A primary key index cannot be invisible")),
            false => Ok(()),
        }
    }

    /// Holds what calculated columns look at against the order of the columns, and keys against what they are of.
    ///
    /// # Errors
    /// 3107, 3109 generated columns; 3767, 3768 defaults; 3106 the primary key; 3104, 3733, 1215 foreign keys.
    pub fn check_expressions(&self) -> SqlResult<()> {
        for (at, column) in self.columns.iter().enumerate().filter(|(_, c)| !c.uses.is_empty()) {
            for (other_at, other) in
                column.uses.iter().filter_map(|name| self.column(name)).map(|i| (i, &self.columns[i]))
            {
                self.check_use(column, other, other_at < at)?;
            }
        }
        let is_virtual = |name: &String| {
            let column = self.column(name).map(|at| &self.columns[at]);
            column.and_then(|c| c.generated.as_ref()).is_some_and(|g| !g.stored)
        };
        let primary = self.keys.iter().find(|key| key.is_primary());
        if primary.is_some_and(|key| key.parts.iter().any(|part| is_virtual(&part.column))) {
            return Err(unsupported("Defining a virtual generated column as primary key"));
        }
        self.check_foreign_keys_of_generated()
    }

    /// What one calculated column looks at.
    fn check_use(&self, column: &ColumnDefinition, other: &ColumnDefinition, before: bool) -> SqlResult<()> {
        let name = &column.name;
        match &column.generated {
            Some(_) if other.auto_increment && column.functional => {
                let is_of = |key: &&Arc<KeyDefinition>| key.parts.iter().any(|part| part.column == *name);
                let key = self.keys.iter().find(is_of).map_or("", |key| key.name.as_str());
                let message = format!("Functional index '{key}' cannot refer to an auto-increment column.");
                Err(SqlError::new(3754, message))
            }
            Some(_) if other.auto_increment => Err(SqlError::new(
                3109,
                format!("Generated column '{name}' cannot refer to auto-increment column."),
            )),
            Some(_) if other.generated.is_some() && !before => Err(SqlError::new(
                3107,
                "Generated column can refer only to generated columns defined prior to it.",
            )),
            Some(_) => Ok(()),
            None if other.auto_increment => Err(SqlError::new(
                3768,
                format!(
                    "Default value expression of column '{name}' cannot refer to an auto-increment column."
                ),
            )),
            None if (other.generated.is_some() || other.has_default_expression()) && !before => {
                Err(SqlError::new(
                    3767,
                    format!(
                        "Default value expression of column '{name}' cannot refer to a column defined after it if that \
                     column is a generated column or has an expression as default value."
                    ),
                ))
            }
            None => Ok(()),
        }
    }

    /// Nobody calculates a column anew when a foreign key changes what it looks at, or changes it itself.
    fn check_foreign_keys_of_generated(&self) -> SqlResult<()> {
        for key in &self.foreign_keys {
            let clause = match (key.on_update, key.on_delete) {
                (ReferentialAction::Cascade, _) => Some("ON UPDATE CASCADE"),
                (ReferentialAction::SetNull, _) => Some("ON UPDATE SET NULL"),
                (_, ReferentialAction::SetNull) => Some("ON DELETE SET NULL"),
                _ => None,
            };
            for column in &key.columns {
                let own = self.column(column).and_then(|at| self.columns[at].generated.as_ref());
                match own {
                    Some(generated) if !generated.stored => {
                        let key = key.name.as_deref().unwrap_or_default();
                        let message = format!(
                            "Foreign key '{key}' uses virtual column '{column}' which is not supported."
                        );
                        return Err(SqlError::new(3733, message));
                    }
                    Some(_) if clause.is_some() => {
                        let clause = clause.unwrap_or_default();
                        let message =
                            format!("Cannot define foreign key with {clause} clause on a generated column.");
                        return Err(SqlError::new(3104, message));
                    }
                    _ => {}
                }
                let is_base = self.columns.iter().any(|c| c.generated.is_some() && c.uses(column));
                if is_base && clause.is_some() {
                    return Err(SqlError::new(1215, "Cannot add foreign key constraint"));
                }
            }
        }
        Ok(())
    }
}

/// 3106.
pub fn unsupported(what: &str) -> SqlError {
    SqlError::new(3106, format!("'{what}' is not supported for generated columns."))
}

/// 3105.
pub fn value_not_allowed(column: &str, table: &str) -> SqlError {
    let message =
        format!("The value specified for generated column '{column}' in table '{table}' is not allowed.");
    SqlError::new(3105, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Generated;
    use vaquita_engine::lower::RowFormat;
    use vaquita_types::{Kind, SqlType};

    fn column(name: &str, uses: &[&str], generated: bool) -> ColumnDefinition {
        let mut column = ColumnDefinition::new(name, SqlType::new(Kind::Int), Vec::new());
        column.uses = uses.iter().map(|c| (*c).to_owned()).collect();
        column.generated =
            generated.then(|| Generated { clause: "(`a` + 1)".to_owned(), stored: name != "virtual" });
        if !generated && !uses.is_empty() {
            column.default = DefaultValue::Text("`a`".to_owned());
        }
        column
    }

    fn table(columns: Vec<ColumnDefinition>) -> Definition {
        let mut table = Definition::new("d", "t", 8, RowFormat::Dynamic);
        table.columns = columns.into_iter().map(Arc::new).collect();
        table
    }

    #[test]
    fn order_of_columns() {
        let code = |columns| table(columns).check_expressions().map_err(|e| e.code);
        let (a, g, h) = (column("a", &[], false), column("g", &["a"], true), column("h", &["G"], true));
        assert_eq!(code(vec![g.clone(), h.clone(), a.clone()]), Ok(()));
        assert_eq!(code(vec![h, g.clone(), a.clone()]), Err(3107));
        let d = column("d", &["g"], false);
        assert_eq!(code(vec![a.clone(), d.clone(), g.clone()]), Err(3767));
        assert_eq!(code(vec![a.clone(), g.clone(), d.clone()]), Ok(()));
        let numbered = ColumnDefinition { auto_increment: true, ..a };
        assert_eq!(code(vec![numbered.clone(), g]), Err(3109));
        assert_eq!(code(vec![numbered, column("d", &["a"], false)]), Err(3768));
    }

    #[test]
    fn what_columns_depend_on_stays() {
        let columns = vec![column("a", &[], false), column("b", &[], false), column("g", &["a"], true)];
        let mut table = table(columns);
        assert_eq!(table.clone().drop_column("a").unwrap_err().code, 3108);
        assert_eq!(table.clone().rename_column("A", "x").unwrap_err().code, 3108);
        table.drop_column("g").unwrap();
        table.drop_column("a").unwrap();
        table.columns.push(Arc::new(column("d", &["b"], false)));
        assert_eq!(table.drop_column("b").unwrap_err().code, 3766);
    }
}
