//! Columns that a statement changes, with the keys they are in.

use crate::definition::{ColumnDefinition, Definition, KeyPart};
use crate::limits::check_column_name;
use crate::names::same_name;
use std::sync::Arc;
use vaquita_types::{Kind, SqlError, SqlResult};

impl Definition {
    /// Takes a column away: keys lose it, those that have no other column go.
    ///
    /// # Errors
    /// 1091 there is none, 1828 a foreign key needs it, 3755 it is the expression of a key.
    pub fn drop_column(&mut self, name: &str) -> SqlResult<()> {
        if self.column(name).is_none()
            && self.columns.iter().any(|c| c.functional && same_name(&c.name, name))
        {
            return Err(SqlError::new(
                3755,
                format!(
                    "Cannot drop column '{name}' because it is used by a functional index. In order to drop the column, \
                     you must remove the functional index."
                ),
            ));
        }
        let at = self.column(name).ok_or_else(|| SqlError::cannot_drop(name))?;
        let name = self.columns.remove(at).name.clone();
        let is_it = |part: &KeyPart| same_name(&part.column, &name);
        for key in self.keys.iter_mut().filter(|key| key.parts.iter().any(is_it)) {
            Arc::make_mut(key).parts.retain(|part| !is_it(part));
        }
        self.keys.retain(|key| !key.parts.is_empty());
        self.drop_from_checks(&name)?;
        self.refuse_in_expressions(&name)?;
        let needing = self.foreign_keys.iter().find(|key| key.columns.iter().any(|c| same_name(c, &name)));
        let Some(key) = needing else { return Ok(()) };
        let constraint = key.name.as_deref().unwrap_or_default();
        let message =
            format!("Cannot drop column '{name}': needed in a foreign key constraint '{constraint}'");
        Err(SqlError::new(1828, message))
    }

    /// Puts another definition in the place of a column; the values come from the same one. Keys name the new one.
    ///
    /// # Errors
    /// 1170 it is in a key that cannot have it; expressions that name it.
    pub fn replace_column(&mut self, at: usize, new: ColumnDefinition) -> SqlResult<()> {
        let before = self.columns[at].clone();
        let name = new.name.clone();
        self.columns[at] = Arc::new(ColumnDefinition { origin: before.origin, ..new });
        self.rename_in_keys(&before.name, &name)?;
        self.settle_parts(&name)
    }

    /// Gives a column another name.
    ///
    /// # Errors
    /// 1054 there is none; 1060, 1166 the new name; expressions that name it.
    pub fn rename_column(&mut self, old: &str, new: &str) -> SqlResult<()> {
        let at = self.column(old).ok_or_else(|| self.unknown_column(old))?;
        check_column_name(new)?;
        if !same_name(old, new) && self.column(new).is_some() {
            return Err(SqlError::duplicate_column(new));
        }
        let before = std::mem::replace(&mut self.column_mut(at).name, new.to_owned());
        self.rename_in_keys(&before, new)
    }

    fn rename_in_keys(&mut self, old: &str, new: &str) -> SqlResult<()> {
        if old == new {
            return Ok(());
        }
        if !same_name(old, new) {
            self.refuse_in_checks(old)?;
            self.refuse_in_expressions(old)?;
        }
        let is_it = |part: &KeyPart| same_name(&part.column, old);
        for key in self.keys.iter_mut().filter(|key| key.parts.iter().any(is_it)) {
            for part in Arc::make_mut(key).parts.iter_mut().filter(|part| is_it(part)) {
                part.column = new.to_owned();
            }
        }
        for key in &mut self.foreign_keys {
            for column in key.columns.iter_mut().filter(|column| same_name(column, old)) {
                column.replace_range(.., new);
            }
        }
        Ok(())
    }

    /// A column of the primary key stays NOT NULL; prefixes that are longer than the column go.
    fn settle_parts(&mut self, column: &str) -> SqlResult<()> {
        let Some(at) = self.column(column) else { return Ok(()) };
        let column_definition = Arc::make_mut(&mut self.columns[at]);
        let is_it = |part: &KeyPart| same_name(&part.column, column);
        for key in self.keys.iter_mut().filter(|key| key.parts.iter().any(is_it)) {
            if key.is_primary() {
                column_definition.forbid_null();
            }
            let ty = &column_definition.ty;
            let text = matches!(ty.kind, Kind::Char | Kind::VarChar);
            let long = matches!(ty.kind, Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText);
            let long = long && key.has_tree();
            for part in Arc::make_mut(key).parts.iter_mut().filter(|part| is_it(part)) {
                if long && part.prefix.is_none() {
                    let message =
                        format!("BLOB/TEXT column '{column}' used in key specification without a key length");
                    return Err(SqlError::new(1170, message));
                }
                part.prefix = part.prefix.filter(|n| long || text && *n < ty.length);
            }
        }
        Ok(())
    }

    /// 1054.
    pub fn unknown_column(&self, name: &str) -> SqlError {
        SqlError::new(1054, format!("Unknown column '{name}' in '{}'", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{KeyDefinition, KeyKind};
    use vaquita_engine::lower::RowFormat;
    use vaquita_types::SqlType;

    fn table() -> Definition {
        let mut table = Definition::new("d", "t", 8, RowFormat::Dynamic);
        let column = |(at, name): (usize, &&str)| {
            let column = ColumnDefinition::new(*name, SqlType::varchar(20, 8), Vec::new());
            Arc::new(ColumnDefinition { origin: Some(at), ..column })
        };
        table.columns = ["a", "b", "c"].iter().enumerate().map(column).collect();
        let prefix = KeyPart { prefix: Some(9), ..KeyPart::whole("a") };
        let primary = KeyDefinition::new(KeyKind::Primary, "PRIMARY", vec![KeyPart::whole("b")]);
        let plain = KeyDefinition::new(KeyKind::Plain, "k", vec![prefix, KeyPart::whole("b")]);
        table.keys = [primary, plain].map(Arc::new).into();
        table
    }

    #[test]
    fn keys_lose_a_column_that_goes() {
        let before = table();
        let mut table = before.clone();
        table.drop_column("B").unwrap();
        assert_eq!((table.columns.len(), table.keys.len(), table.keys[0].parts.len()), (2, 1, 1));
        assert_eq!(table.drop_column("b").unwrap_err().code, 1091);
        // The definition that was copied is what it was.
        assert_eq!((before.columns.len(), before.keys[1].parts.len()), (3, 2));
    }

    #[test]
    fn keys_follow_a_column_that_changes() {
        let mut table = table();
        let shorter = ColumnDefinition::new("x", SqlType::varchar(9, 8), Vec::new());
        table.replace_column(0, shorter).unwrap();
        assert_eq!(table.columns[0].origin, Some(0));
        assert_eq!(table.keys[1].parts[0], KeyPart::whole("x"));
        let nullable = ColumnDefinition::new("b", SqlType::varchar(9, 8), Vec::new());
        table.replace_column(1, nullable).unwrap();
        assert!(!table.columns[1].ty.nullable, "it is in the primary key");
        let long = SqlType { length: 65_535, collation: 8, ..SqlType::new(Kind::Text) };
        let long = ColumnDefinition::new("b", long, Vec::new());
        assert_eq!(table.replace_column(1, long).unwrap_err().code, 1170);
    }

    #[test]
    fn names_are_given_once() {
        let mut table = table();
        assert_eq!(table.rename_column("a", "C").unwrap_err().code, 1060);
        assert_eq!(table.rename_column("no", "d").unwrap_err().code, 1054);
        assert_eq!(table.rename_column("a", "DB_TRX_ID").unwrap_err().code, 1166);
        table.rename_column("a", "A").unwrap();
        assert_eq!(table.keys[1].parts[0].column, "A");
    }
}
