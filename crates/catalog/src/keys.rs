//! Keys: what they may be, and what adding one does to a definition. Rules and words are MySQL 5.6's.

use crate::definition::{Definition, KeyDefinition, KeyKind, KeyPart, width_of};
use crate::names::same_name;
use std::sync::Arc;
use vaquita_types::{Kind, SqlError, SqlResult, Warnings};

/// Keys of a table at most.
const KEYS_MAX: usize = 64;

/// What settings say of a new key.
#[derive(Debug)]
pub struct KeyRules<'s> {
    /// Bytes of one column at most.
    pub column_max: u32,
    /// What is too long is refused, not cut.
    pub strict: bool,
    /// Where it is told what was cut.
    pub warnings: &'s mut Warnings,
}

/// Checks a number of keys.
///
/// # Errors
/// 1069: more than a table may have.
pub fn check_key_count(keys: usize) -> SqlResult<()> {
    if keys > KEYS_MAX {
        let message = format!("Too many keys specified; max {KEYS_MAX} keys allowed");
        return Err(SqlError::new(1069, message));
    }
    Ok(())
}

impl Definition {
    /// Adds a key to a definition whose columns are complete. Columns of a primary key become NOT NULL; generated keys that it
    /// serves for as well go.
    ///
    /// # Errors
    /// 1061, 1068, 1069, 1070, 1071, 1072, 1089, 1170, 1280, 1391, 3152.
    pub fn add_key(&mut self, mut key: KeyDefinition, rules: &mut KeyRules<'_>) -> SqlResult<()> {
        check_key_count(self.keys.iter().filter(|key| !key.generated).count() + 1)?;
        if key.is_primary() && self.keys.iter().any(|k| k.is_primary()) {
            return Err(SqlError::new(1068, "Multiple primary key defined"));
        }
        let reserved = !key.is_primary() && same_name(&key.name, "PRIMARY")
            || same_name(&key.name, "GEN_CLUST_INDEX")
            || key.name.ends_with(' ');
        if reserved {
            let name = if same_name(&key.name, "GEN_CLUST_INDEX") { "GEN_CLUST_INDEX" } else { &key.name };
            return Err(SqlError::new(1280, format!("Incorrect index name '{name}'")));
        }
        if key.name.chars().count() > 64 {
            return Err(SqlError::too_long_name(&key.name));
        }
        if self.key(&key.name).is_some_and(|at| !self.keys[at].generated) {
            return Err(SqlError::duplicate_key_name(&key.name));
        }
        self.free_generated_name(&key.name);
        if key.parts.len() > 16 {
            return Err(SqlError::new(1070, "Too many key parts specified; max 16 parts allowed"));
        }
        for i in 0..key.parts.len() {
            let name = key.parts[i].column.clone();
            if key.parts[..i].iter().any(|other| same_name(&other.column, &name)) {
                return Err(SqlError::duplicate_column(&name));
            }
            key.parts[i].prefix = match key.kind {
                KeyKind::FullText => self.checked_whole(&key.parts[i])?,
                _ => self.checked_prefix(&key, i, rules)?,
            };
        }
        // Nobody asked for the keys of foreign keys that this one serves as well.
        self.keys.retain(|other| {
            let columns: Vec<String> = other.parts.iter().map(|part| part.column.clone()).collect();
            !(other.generated && key.begins_with(&columns))
        });
        self.keys.push(Arc::new(key));
        Ok(())
    }

    /// Adds the key that a new foreign key needs, unless there is one that begins with its columns and was asked for, or is
    /// longer. It takes the place of those of older constraints that it serves as well, and is named like the constraint, or
    /// as the statement says, or like the first column.
    pub fn add_key_of_constraint(&mut self, columns: &[String], name: Option<String>) {
        let serves = |key: &KeyDefinition| {
            key.begins_with(columns) && !(key.generated && key.parts.len() == columns.len())
        };
        if self.keys.iter().any(|key| serves(key)) {
            return;
        }
        self.keys.retain(|other| !(other.generated && other.is_beginning_of(columns)));
        let name = match name {
            Some(name) if self.key(&name).is_none() => name,
            name => self.free_key_name(&name.unwrap_or_else(|| columns[0].clone())),
        };
        let parts = columns.iter().map(KeyPart::whole).collect();
        let key = KeyDefinition { generated: true, ..KeyDefinition::new(KeyKind::Plain, name, parts) };
        self.keys.push(Arc::new(key));
    }

    /// A generated key makes room for one that was given its name.
    fn free_generated_name(&mut self, name: &str) {
        if let Some(at) = self.key(name) {
            let free = self.free_key_name(name);
            Arc::make_mut(&mut self.keys[at]).name = free;
        }
    }

    /// A name for a key that is like this one, with a number if it is taken.
    pub fn free_key_name(&self, column: &str) -> String {
        let taken = |name: &str| self.key(name).is_some() || same_name(name, "PRIMARY");
        if !taken(column) {
            return column.to_owned();
        }
        let mut n = 2_u32;
        loop {
            let name = format!("{column}_{n}");
            if !taken(&name) {
                return name;
            }
            n += 1;
        }
    }

    /// Checks a part of a FULLTEXT key, which is of the whole column, whatever is said.
    fn checked_whole(&self, part: &KeyPart) -> SqlResult<Option<u32>> {
        if self.key_column(&part.column).is_none() {
            return Err(SqlError::key_column_missing(&part.column));
        }
        match part.prefix {
            Some(0) => Err(SqlError::new(1391, format!("Key part '{}' length cannot be 0", part.column))),
            _ => Ok(None),
        }
    }

    /// Checks a part; its prefix, none if it is as long as the column. A column that is too long for a key that is not unique
    /// is cut, unless the mode is strict.
    fn checked_prefix(
        &mut self,
        key: &KeyDefinition,
        i: usize,
        rules: &mut KeyRules<'_>,
    ) -> SqlResult<Option<u32>> {
        let KeyPart { column: name, prefix, .. } = &key.parts[i];
        let at = self.key_column(name).ok_or_else(|| SqlError::key_column_missing(name))?;
        if key.is_primary() {
            // Columns that say nothing become NOT NULL; one that says NULL was checked by the caller.
            self.column_mut(at).forbid_null();
        }
        let column = &self.columns[at];
        let long = column.ty.kind.is_blob();
        if column.ty.kind == Kind::Json {
            let message = format!("JSON column '{name}' cannot be used in key specification.");
            return Err(SqlError::new(3152, message));
        }
        let text = long || matches!(column.ty.kind, Kind::Char | Kind::VarChar);
        let prefix = match *prefix {
            None | Some(0) if long => {
                let message =
                    format!("BLOB/TEXT column '{name}' used in key specification without a key length");
                return Err(SqlError::new(1170, message));
            }
            // A number or moment has no beginning: a prefix is as long as all of its bytes. Labels take none.
            Some(_) if matches!(column.ty.kind, Kind::Enum | Kind::Set) => return Err(wrong_prefix()),
            Some(n) if !text && n != column.ty.to_def(name).len => return Err(wrong_prefix()),
            Some(_) if !text => None,
            Some(n) if !long && n > column.ty.length => return Err(wrong_prefix()),
            Some(n) if !long && n == column.ty.length => None,
            other => other.filter(|n| *n > 0),
        };
        let chars = prefix.unwrap_or(if text { column.ty.length } else { 0 });
        let most = rules.column_max;
        let width = width_of(&column.ty);
        if chars.saturating_mul(width) > most {
            let message = format!("Specified key was too long; max key length is {most} bytes");
            if key.kind != KeyKind::Plain || rules.strict {
                return Err(SqlError::new(1071, message));
            }
            rules.warnings.warn(1071, message);
            return Ok(Some(most / width));
        }
        Ok(prefix)
    }

    /// After all keys are there: an AUTO_INCREMENT column must be the only one and the first of a key.
    ///
    /// # Errors
    /// 1075.
    pub fn check_auto_increment(&self) -> SqlResult<()> {
        let mut auto = self.columns.iter().filter(|c| c.auto_increment);
        let Some(column) = auto.next() else { return Ok(()) };
        let keyed = self.keys.iter().any(|k| same_name(&k.parts[0].column, &column.name));
        if auto.next().is_some() || !keyed {
            return Err(SqlError::new(
                1075,
                "Incorrect table definition; there can be only one auto column and it must be defined as a key",
            ));
        }
        Ok(())
    }
}

fn wrong_prefix() -> SqlError {
    SqlError::new(
        1089,
        "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the \
         storage engine doesn't support unique prefix keys",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::ColumnDefinition;
    use vaquita_engine::lower::RowFormat;
    use vaquita_types::SqlType;

    fn table() -> Definition {
        let mut table = Definition::new("d", "t", 33, RowFormat::Dynamic);
        let id = ColumnDefinition::new("id", SqlType::new(Kind::Int), Vec::new());
        let name = ColumnDefinition::new("name", SqlType::varchar(300, 33), Vec::new());
        table.columns = [id, name].map(Arc::new).into();
        table
    }

    fn add(table: &mut Definition, kind: KeyKind, parts: &[KeyPart], strict: bool) -> SqlResult<u32> {
        let mut warnings = Warnings::new(8);
        let name = if kind == KeyKind::Primary { "PRIMARY".to_owned() } else { table.free_key_name("k") };
        let mut rules = KeyRules { column_max: 767, strict, warnings: &mut warnings };
        table.add_key(KeyDefinition::new(kind, name, parts.to_vec()), &mut rules)?;
        Ok(warnings.count())
    }

    #[test]
    fn columns_of_a_primary_key_lose_null() {
        let mut table = table();
        add(&mut table, KeyKind::Primary, &[KeyPart::whole("ID")], true).unwrap();
        assert!(!table.columns[0].ty.nullable && table.columns[1].ty.nullable);
        assert_eq!(add(&mut table, KeyKind::Primary, &[KeyPart::whole("id")], true).unwrap_err().code, 1068);
    }

    #[test]
    fn what_is_too_long_is_cut_or_refused() {
        let mut table = table();
        let parts = [KeyPart::whole("name")];
        assert_eq!(add(&mut table, KeyKind::Plain, &parts, true).unwrap_err().code, 1071);
        assert_eq!(add(&mut table, KeyKind::Unique, &parts, false).unwrap_err().code, 1071);
        assert_eq!(add(&mut table, KeyKind::Plain, &parts, false).unwrap(), 1);
        assert_eq!(table.keys[0].parts[0].prefix, Some(255));
        let prefix = |n| [KeyPart { prefix: Some(n), ..KeyPart::whole("name") }];
        assert_eq!(add(&mut table, KeyKind::Plain, &prefix(301), true).unwrap_err().code, 1089);
        assert_eq!(add(&mut table, KeyKind::Plain, &[KeyPart::whole("no")], true).unwrap_err().code, 1072);
    }

    /// A key that was made for a constraint only gives way to one that serves as well, or has its name.
    #[test]
    fn generated_keys_give_way() {
        let mut table = table();
        table.add_key_of_constraint(&["id".to_owned()], Some("k".to_owned()));
        table.add_key_of_constraint(&["id".to_owned()], Some("l".to_owned()));
        assert_eq!(
            (table.keys.len(), table.keys[0].name.as_str()),
            (1, "l"),
            "the one of the last constraint stays"
        );
        table.add_key_of_constraint(&["id".to_owned(), "name".to_owned()], None);
        assert_eq!((table.keys.len(), table.keys[0].parts.len()), (1, 2), "the longer one serves both");
        table.add_key_of_constraint(&["id".to_owned()], None);
        assert_eq!((table.keys.len(), table.keys[0].generated), (1, true));
        table.keys.clear();
        table.add_key_of_constraint(&["id".to_owned()], None);
        let parts = [KeyPart::whole("id"), KeyPart { prefix: Some(3), ..KeyPart::whole("name") }];
        add(&mut table, KeyKind::Plain, &parts, true).unwrap();
        assert_eq!((table.keys.len(), table.keys[0].generated), (1, false));
    }
}
