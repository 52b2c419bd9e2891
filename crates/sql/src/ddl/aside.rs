//! Columns that change names with each other in one ALTER TABLE.

use vaquita_catalog::{Definition, same_name};
use vaquita_parser::ast::{self, AlterAction};
use vaquita_types::SqlResult;

/// Columns whose names others take in the same statement, as in a change of places: they are called by another name until their own
/// action comes.
#[derive(Debug, Default)]
pub(super) struct Aside(Vec<(String, String)>);

impl Aside {
    /// Calls those columns otherwise.
    ///
    /// # Errors
    /// Expressions that name them.
    pub(super) fn of(actions: &[AlterAction<'_>], definition: &mut Definition) -> SqlResult<Aside> {
        let names = |action: &AlterAction<'_>| match action {
            AlterAction::ChangeColumn { old, column, .. } => Some((old.to_string(), column.name.to_string())),
            AlterAction::RenameColumn { old, new } => Some((old.to_string(), new.to_string())),
            _ => None,
        };
        let renames: Vec<(String, String)> =
            actions.iter().filter_map(names).filter(|(old, new)| !same_name(old, new)).collect();
        let mut aside = Aside::default();
        for (old, _) in &renames {
            let is_taken = renames.iter().any(|(_, new)| same_name(old, new));
            if is_taken && definition.column(old).is_some() {
                let name = format!("#vaquita-{}", aside.0.len());
                definition.rename_column(old, &name)?;
                aside.0.push((old.clone(), name));
            }
        }
        Ok(aside)
    }

    /// What a column is called meanwhile.
    pub(super) fn name_of(&self, column: ast::Ident<'_>) -> String {
        let name = column.to_string();
        let found = self.0.iter().find(|(old, _)| same_name(old, &name));
        found.map_or(name, |(_, aside)| aside.clone())
    }
}
