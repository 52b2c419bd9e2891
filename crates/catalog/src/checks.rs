//! CHECK constraints: what they are called, how they are kept, and what they ask of their columns.
//!
//! One that nobody named is called after its table, `TABLE_chk_N`. So is one to which somebody gave just such a name. Kept is the
//! number then: a table that is renamed renames it.

use crate::definition::{CheckDefinition, Definition};
use crate::names::same_name;
use vaquita_engine::kept::{CheckName, Extra, join_names, split_names};
use vaquita_engine::table::ReferentialAction;
use vaquita_types::{SqlError, SqlResult};

/// The name of the constraint with that number.
pub fn numbered(table: &str, number: u32) -> String {
    format!("{table}_chk_{number}")
}

/// The number of a constraint that is named after its table.
pub fn number_of(table: &str, name: &str) -> Option<u32> {
    let digits = name.strip_prefix(table)?.strip_prefix("_chk_")?;
    let number = digits.parse().ok()?;
    (numbered(table, number) == name).then_some(number)
}

/// The constraints that are kept with a table of that name, by name.
pub(crate) fn of_extra(table: &str, extra: &Extra) -> Vec<CheckDefinition> {
    let check = |(kept, clause): (CheckName, &str)| {
        let option = |name| extra.get(&kept.option(name));
        CheckDefinition {
            clause: clause.to_owned(),
            columns: option("columns").filter(|c| !c.is_empty()).map(split_names).unwrap_or_default(),
            enforced: option("unenforced").is_none(),
            name: match &kept {
                CheckName::Given(name) => name.clone(),
                CheckName::Numbered(number) => numbered(table, *number),
            },
        }
    };
    let mut checks: Vec<CheckDefinition> = extra.of_checks().map(check).collect();
    checks.sort_by(|a, b| a.name.cmp(&b.name));
    checks
}

/// Notes the constraints of a table of that name among what is kept of it.
pub(crate) fn keep(table: &str, checks: &[CheckDefinition], extra: &mut Extra) {
    for check in checks {
        let name = match number_of(table, &check.name) {
            Some(number) => CheckName::Numbered(number),
            None => CheckName::Given(check.name.clone()),
        };
        let columns = join_names(check.columns.iter().map(String::as_str));
        extra.set(&name.option("clause"), Some(check.clause.clone()));
        extra.set(&name.option("columns"), Some(columns));
        extra.set(&name.option("unenforced"), (!check.enforced).then(|| "1".to_owned()));
    }
}

/// 3819.
pub fn violated(name: &str) -> SqlError {
    SqlError::new(3819, format!("Check constraint '{name}' is violated."))
}

impl CheckDefinition {
    /// Whether it looks at a column.
    pub fn uses(&self, column: &str) -> bool {
        self.columns.iter().any(|c| same_name(c, column))
    }
}

impl Definition {
    /// Adds a constraint, in the order of the names.
    ///
    /// # Errors
    /// 3822 the table has one of that name; 1059 the name is too long.
    pub fn add_check(&mut self, check: CheckDefinition) -> SqlResult<()> {
        if check.name.chars().count() > 64 {
            return Err(SqlError::too_long_name(&check.name));
        }
        match self.checks.binary_search_by(|c| c.name.cmp(&check.name)) {
            Ok(_) => Err(duplicate(&check.name)),
            Err(at) => {
                self.checks.insert(at, check);
                Ok(())
            }
        }
    }

    /// The name of a constraint that nobody names.
    pub fn next_check_name(&self) -> String {
        let numbers = self.checks.iter().filter_map(|c| number_of(&self.name, &c.name));
        numbered(&self.name, numbers.max().unwrap_or(0).saturating_add(1))
    }

    /// The constraints of a table that is made like this one: numbered anew.
    pub fn number_checks(&mut self) {
        for (check, number) in self.checks.iter_mut().zip(1..) {
            check.name = numbered(&self.name, number);
        }
        self.checks.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// A column goes: so do constraints on it alone.
    ///
    /// # Errors
    /// 3959 one looks at other columns, too.
    pub(crate) fn drop_from_checks(&mut self, column: &str) -> SqlResult<()> {
        self.checks.retain(|check| !(check.uses(column) && check.columns.len() == 1));
        self.refuse_in_checks(column)
    }

    /// # Errors
    /// 3959 a constraint looks at the column.
    pub(crate) fn refuse_in_checks(&self, column: &str) -> SqlResult<()> {
        let Some(check) = self.checks.iter().find(|check| check.uses(column)) else { return Ok(()) };
        let message = format!(
            "Check constraint '{}' uses column '{column}', hence column cannot be dropped or renamed.",
            check.name
        );
        Err(SqlError::new(3959, message))
    }

    /// Foreign keys must not change columns that constraints look at: nobody would hold the rows against these.
    ///
    /// # Errors
    /// 3823.
    pub fn check_actions(&self) -> SqlResult<()> {
        let changes = |action| matches!(action, ReferentialAction::Cascade | ReferentialAction::SetNull);
        let mut unnamed = 0;
        for key in &self.foreign_keys {
            unnamed += u32::from(key.name.is_none());
            if !changes(key.on_update) && key.on_delete != ReferentialAction::SetNull {
                continue;
            }
            let used = |check: &CheckDefinition| key.columns.iter().find(|c| check.uses(c)).cloned();
            let Some((check, column)) = self.checks.iter().find_map(|c| Some((c, used(c)?))) else {
                continue;
            };
            let name = key.name.clone().unwrap_or_else(|| format!("{}_ibfk_{unnamed}", self.name));
            let message = format!(
                "Column '{column}' cannot be used in a check constraint '{}': needed in a foreign key constraint \
                 '{name}' referential action.",
                check.name
            );
            return Err(SqlError::new(3823, message));
        }
        Ok(())
    }
}

/// 3822.
pub fn duplicate(name: &str) -> SqlError {
    SqlError::new(3822, format!("Duplicate check constraint name '{name}'."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, columns: &[&str]) -> CheckDefinition {
        CheckDefinition {
            name: name.to_owned(),
            clause: "(`a` > 0)".to_owned(),
            columns: columns.iter().map(|c| (*c).to_owned()).collect(),
            enforced: !name.ends_with("off"),
        }
    }

    #[test]
    fn kept_and_renamed_with_the_table() {
        let checks = [check("b off", &["a", "b,c"]), check("t_chk_2", &["a"]), check("t_chk_02", &[])];
        let mut extra = Extra::default();
        keep("t", &checks, &mut extra);
        let read = of_extra("t", &Extra::parse(&extra.to_text()));
        assert_eq!(read, [checks[0].clone(), checks[2].clone(), checks[1].clone()]);
        let renamed = of_extra("u", &extra);
        let names: Vec<&str> = renamed.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["b off", "t_chk_02", "u_chk_2"]);
    }

    #[test]
    fn columns_that_checks_look_at() {
        let mut table = Definition::new("d", "t", 8, vaquita_engine::lower::RowFormat::Dynamic);
        table.add_check(check("one", &["A"])).unwrap();
        table.add_check(check("two", &["b", "c"])).unwrap();
        assert_eq!(table.add_check(check("two", &[])).unwrap_err().code, 3822);
        assert_eq!(table.next_check_name(), "t_chk_1");
        table.drop_from_checks("a").unwrap();
        assert_eq!(table.checks.len(), 1);
        assert_eq!(table.drop_from_checks("B").unwrap_err().code, 3959);
        table.number_checks();
        assert_eq!(table.next_check_name(), "t_chk_2");
    }
}
