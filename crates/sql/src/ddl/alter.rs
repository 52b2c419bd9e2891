//! ALTER TABLE, CREATE INDEX, DROP INDEX.
//!
//! A statement is applied to the table's [`Definition`]. If that comes to adding and dropping indexes and foreign keys it
//! is done in place; what leaves the rows as they are ([`metadata`]) changes the definition alone; everything else writes the rows
//! anew ([`copy`]). RENAME comes last.

mod apply;
mod exchange;
mod partitioning;
mod references;

use self::apply::apply;
pub(super) use self::apply::without_parent;
use self::references::check_foreign_keys;
use super::aside::Aside;
use super::clauses::{self, Asked, Clauses, Way, Why};
use super::copy;
use super::create::{add_column, check_primary_key, column_keys, database_collation, refuse_words};
use super::{
    checks, columns, directories, expressions, instant, keys, limits, look_at, metadata, names_of, options,
    tables, tablespaces,
};
use crate::statement::StmtCx;
use std::sync::Arc;
use vaquita_catalog::{
    ColumnDefinition, Definition, ForeignKeyDefinition, KeyDefinition, KeyKind, TableInfo, same_name,
};
use vaquita_engine::Concurrency;
use vaquita_engine::table::DefaultValue;
use vaquita_exec::Outcome;
use vaquita_parser::ast::{self, AlterAction, ColumnPlace, TablespaceAction};
use vaquita_plan::column_type as types;
use vaquita_types::{Kind, SqlError, SqlResult};

/// Times an ALTER TABLE begins again because somebody else was faster.
const TRIES: usize = 10;

/// What a statement makes of a table.
struct Change {
    definition: Definition,
    /// Indexes to drop and to add are all there is to do, besides what follows.
    only_keys: bool,
    way: Way,
    /// What others may do with the table meanwhile.
    beside: Concurrency,
    aside: Aside,
    /// Old and new names.
    renamed_indexes: Vec<(String, String)>,
    added_indexes: Vec<String>,
    dropped_indexes: Vec<String>,
    /// How many keys stay.
    kept_keys: usize,
    /// FULLTEXT keys among those that come.
    added_words: usize,
    /// Foreign keys that go.
    dropped_keys: Vec<String>,
    rename_to: Option<(String, String)>,
    /// Nothing changes, but perhaps the name.
    only_name: bool,
    /// Rows can be written anew beside others.
    lets_write: bool,
    /// Only `AUTO_INCREMENT = n` and comments of it changed, say.
    ignore: bool,
}

/// ALTER TABLE.
pub(super) fn alter_table(
    cx: &mut StmtCx<'_>,
    alter: &ast::AlterTable<'_>,
    sql: &[u8],
) -> SqlResult<Outcome> {
    if alter.ignore {
        let message = "'IGNORE' is deprecated and will be removed in a future release.";
        cx.state.warnings.warn(1681, message);
    }
    // A tablespace may be discarded: the table is not looked at as others are.
    match alter.tablespace_action() {
        Some((TablespaceAction::Discard, partitions)) => {
            return tablespaces::discard(cx, &alter.name, partitions);
        }
        Some((TablespaceAction::Import, partitions)) => {
            return tablespaces::import(cx, &alter.name, partitions);
        }
        None => {}
    }
    if let Some(outcome) = partitioning::alter(cx, alter)? {
        return Ok(outcome);
    }
    let (database, name) = names_of(cx, &alter.name)?;
    for _ in 0..TRIES {
        let info = match alter.actions {
            // Its tablespace may be discarded.
            [AlterAction::Rename(_)] => tablespaces::look_at_definition(cx, &database, &name)?,
            _ => look_at(cx, &database, &name)?,
        };
        let mut change = change_of(cx, alter, &info, sql)?;
        change.way = Clauses { algorithm: alter.algorithm, lock: alter.lock }.settle(Asked {
            way: change.way,
            brief: change.is_brief(),
            lets_write: change.lets_write,
            builds_words: change.added_words > 0,
            has_words: change.definition.keys.iter().any(|key| key.kind == KeyKind::FullText),
            declares_number: change.definition.declares_doc_id(),
            only_name: change.only_name,
            alone: info.table.is_temporary(),
            old_way: limits::is_on(cx, "old_alter_table"),
        })?;
        change.settle_words(cx, &info)?;
        let rename_to = change.rename_to.clone();
        let applied = match change.only_name && change.way == Way::Keys {
            true => Some(Outcome::default()),
            false => apply(cx, &info, change)?,
        };
        let outcome = match applied {
            Some(outcome) => outcome,
            None => continue,
        };
        if let Some(to) = rename_to
            && to != (database.clone(), name.clone())
        {
            tables::rename_table(cx, &(database, name), &to, info.table.is_temporary())?;
        }
        return Ok(outcome);
    }
    Err(too_often())
}

/// Others have changed the table whenever it was looked at.
fn too_often() -> SqlError {
    SqlError::new(1412, "Table definition has changed, please retry transaction")
}

/// CREATE INDEX.
pub(super) fn create_index(cx: &mut StmtCx<'_>, create: &ast::CreateIndex<'_>) -> SqlResult<Outcome> {
    let actions = [AlterAction::AddIndex(&create.index)];
    let alter = as_alter(create.table, &actions);
    alter_table(cx, &ast::AlterTable { algorithm: create.algorithm, lock: create.lock, ..alter }, b"")
}

/// DROP INDEX.
pub(super) fn drop_index(cx: &mut StmtCx<'_>, drop: &ast::DropIndex<'_>) -> SqlResult<Outcome> {
    let action = match drop.name.name.eq_ignore_ascii_case(b"primary") {
        true => AlterAction::DropPrimaryKey,
        false => AlterAction::DropIndex(drop.name),
    };
    let actions = [action];
    let alter = as_alter(drop.table, &actions);
    alter_table(cx, &ast::AlterTable { algorithm: drop.algorithm, lock: drop.lock, ..alter }, b"")
}

/// Writes a table anew: OPTIMIZE TABLE. Privileges are checked, what was open is committed.
///
/// # Errors
/// As of ALTER TABLE.
pub(crate) fn recreate(cx: &mut StmtCx<'_>, name: ast::ObjectName<'_>) -> SqlResult<()> {
    alter_table(cx, &as_alter(name, &[AlterAction::Force]), b"").map(drop)
}

fn as_alter<'a>(name: ast::ObjectName<'a>, actions: &'a [AlterAction<'a>]) -> ast::AlterTable<'a> {
    ast::AlterTable {
        ignore: false,
        name,
        actions,
        algorithm: ast::AlterAlgorithm::default(),
        lock: ast::AlterLock::default(),
        partitioning: None,
    }
}

/// Applies the actions to the definition: drops first, then columns, then keys, as MySQL does.
fn change_of(
    cx: &mut StmtCx<'_>,
    alter: &ast::AlterTable<'_>,
    info: &TableInfo,
    sql: &[u8],
) -> SqlResult<Change> {
    let mut change = Change {
        definition: info.definition.to_edit(),
        only_keys: true,
        way: Way::Keys,
        beside: clauses::beside(alter.lock),
        aside: Aside::default(),
        renamed_indexes: Vec::new(),
        added_indexes: Vec::new(),
        dropped_indexes: Vec::new(),
        kept_keys: 0,
        added_words: 0,
        dropped_keys: Vec::new(),
        rename_to: None,
        only_name: alter.partitioning.is_none() && alter.actions.iter().all(leaves_definition),
        lets_write: false,
        ignore: alter.ignore,
    };
    for action in alter.actions {
        change.drop_constraint(action)?;
    }
    for action in alter.actions {
        // Columns that go together do not hold each other.
        if let AlterAction::DropColumn(name) = action
            && let Some(at) = change.definition.column(&name.to_string())
        {
            change.definition.column_mut(at).uses.clear();
        }
        if let AlterAction::DropIndex(name) = action {
            change.definition.release_functional(&name.to_string());
        }
    }
    for action in alter.actions {
        change.drop(action)?;
    }
    change.aside = Aside::of(alter.actions, &mut change.definition)?;
    // Columns that the statement defines have the new character set from the beginning.
    for action in alter.actions {
        if let AlterAction::ConvertCharset { charset, collation } = action {
            convert_charset(cx, &mut change.definition, *charset, *collation)?;
            change.only_keys = false;
        }
    }
    let mut table_options = Vec::new();
    for action in alter.actions {
        change.columns(cx, action)?;
        if let AlterAction::Option(option) = action {
            table_options.push(*option);
        }
    }
    for action in alter.actions {
        change.expressions(cx, action)?;
    }
    change.kept_keys = change.definition.keys.len();
    for action in alter.actions {
        change.keys(cx, action)?;
    }
    directories::ignore_all(cx, &mut table_options);
    if !table_options.is_empty() {
        let collation = database_collation(cx, &change.definition.database)?;
        let before = change.definition.collation;
        options::apply(cx, &mut change.definition, &table_options, collation)?;
        change.only_keys = false;
        if alter.actions.iter().any(|action| matches!(action, AlterAction::ConvertCharset { .. })) {
            change.definition.collation = before;
        }
        if table_options.iter().any(|option| matches!(option, ast::TableOption::RowFormat(_))) {
            limits::settle_row_format(cx, &mut change.definition, true)?;
        }
    }
    change.definition.settle_functional();
    change.definition.check_row_bytes()?;
    change.definition.check_key_columns()?;
    if change.definition.columns.is_empty() {
        return Err(SqlError::new(
            1090,
            "You can't delete all columns with ALTER TABLE; use DROP TABLE instead",
        ));
    }
    if !alter.actions.iter().all(|action| matches!(action, AlterAction::Rename(_) | AlterAction::Force)) {
        check_primary_key(cx, &change.definition)?;
    }
    let is_divided = partitioning::edit(cx, alter, info, &mut change.definition, sql)?;
    change.definition.check_auto_increment()?;
    change.definition.check_words()?;
    change.definition.check_actions()?;
    change.definition.check_expressions()?;
    if !change.definition.columns.is_empty() {
        change.definition.check_visible()?;
    }
    if !info.table.is_temporary() {
        checks::refuse_taken(cx, &change.definition, Some(&info.definition), &info.table.name)?;
    }
    change.settle_way(cx, info, alter.actions.iter().any(metadata::asks_for_rows), is_strict(cx));
    if info.table.is_temporary() {
        refuse_words(&change.definition)?;
        // Its rows are written anew for whatever is more than a name.
        if !change.only_name {
            change.way = Way::Copy(Why::NoOther);
        }
        if !change.definition.foreign_keys.is_empty() {
            return Err(SqlError::new(1215, "Cannot add foreign key constraint"));
        }
    }
    check_foreign_keys(info, &change.definition, change.way)?;
    change.lets_write = copy::lets_write(info, &change.definition);
    if is_divided && !change.only_name {
        // Parts are not changed in place. What would be counts no rows all the same.
        let same_clause = change.definition.partitioning == info.definition.partitioning;
        let counts = matches!(change.way, Way::Copy(_)) || !same_clause || partitioning::rewrites(alter);
        change.way = if counts { Way::Copy(Why::NoOther) } else { Way::Rebuild };
        change.lets_write = false;
    }
    let counted = info.auto_increment;
    let stays = counted.is_some() && change.definition.columns.iter().any(|column| column.origin == counted);
    if change.definition.auto_increment.is_none() && stays {
        // A table that is written anew goes on counting where it was, for another column, too, unless the one that was counted is gone.
        change.definition.auto_increment = super::next_auto_increment(cx, info)?;
    }
    Ok(change)
}

impl Change {
    /// Constraints by their names, before the columns go that they are of.
    fn drop_constraint(&mut self, action: &AlterAction<'_>) -> SqlResult<()> {
        let (name, any_kind) = match action {
            AlterAction::DropForeignKey(name) => return self.drop_foreign_key(&name.to_string()),
            AlterAction::DropCheck(name) => (name.to_string(), false),
            AlterAction::DropConstraint(name) => (name.to_string(), true),
            _ => return Ok(()),
        };
        let definition = &self.definition;
        let check = definition.check(&name);
        if !any_kind {
            let at = check.ok_or_else(|| checks::not_found(&name))?;
            self.definition.checks.remove(at);
            self.only_keys = false;
            return Ok(());
        }
        let unique = |at: &usize| definition.keys[*at].is_unique();
        let key = definition.key(&name).filter(unique).is_some();
        let is = |k: &ForeignKeyDefinition| k.name.as_ref().is_some_and(|n| same_name(n, &name));
        let foreign = definition.foreign_keys.iter().any(is);
        match (check, key, foreign) {
            (Some(at), false, false) => {
                self.definition.checks.remove(at);
                self.only_keys = false;
                Ok(())
            }
            (None, true, false) => self.drop_key(&name),
            (None, false, true) => self.drop_foreign_key(&name),
            (None, false, false) => Err(SqlError::new(3940, format!("Constraint '{name}' does not exist."))),
            _ => Err(SqlError::new(
                3939,
                format!(
                    "Table has multiple constraints with the name '{name}'. Please use constraint specific 'DROP' clause."
                ),
            )),
        }
    }

    fn drop_key(&mut self, name: &str) -> SqlResult<()> {
        let at = self.definition.key(name).ok_or_else(|| SqlError::cannot_drop(name))?;
        let key = self.definition.keys.remove(at);
        // Its hidden column goes with it.
        self.only_keys &= !self.definition.is_functional(&key);
        Ok(())
    }

    fn drop_foreign_key(&mut self, name: &str) -> SqlResult<()> {
        let is = |k: &ForeignKeyDefinition| k.name.as_ref().is_some_and(|n| same_name(n, name));
        let at = self.definition.foreign_keys.iter().position(is);
        let at = at.ok_or_else(|| SqlError::cannot_drop(name))?;
        let key = self.definition.foreign_keys.remove(at);
        self.dropped_keys.extend(key.name);
        Ok(())
    }

    fn drop(&mut self, action: &AlterAction<'_>) -> SqlResult<()> {
        match action {
            AlterAction::DropColumn(name) => {
                let name = name.to_string();
                self.definition.drop_column(&name)?;
                self.only_keys = false;
            }
            AlterAction::DropIndex(name) => self.drop_key(&name.to_string())?,
            AlterAction::DropPrimaryKey => {
                let at = self.definition.key("PRIMARY").ok_or_else(|| SqlError::cannot_drop("PRIMARY"))?;
                self.definition.keys.remove(at);
                self.only_keys = false;
            }
            _ => {}
        }
        Ok(())
    }

    fn columns(&mut self, cx: &mut StmtCx<'_>, action: &AlterAction<'_>) -> SqlResult<()> {
        let definition = &mut self.definition;
        match action {
            AlterAction::AddColumn { column, place } => {
                let added = definition.columns.len();
                let before = place_of(definition, added, place)?;
                add_column(cx, definition, column, before)?;
                place_column(definition, added, place)?;
            }
            AlterAction::ChangeColumn { old, column, place } => {
                change_column(cx, definition, &self.aside.name_of(*old), column, place)?;
            }
            AlterAction::ModifyColumn { column, place } => {
                change_column(cx, definition, &column.name.to_string(), column, place)?;
            }
            AlterAction::RenameColumn { old, new } => {
                definition.rename_column(&self.aside.name_of(*old), &new.to_string())?;
            }
            AlterAction::SetDefault { column, default } => set_default(cx, definition, column, default)?,
            AlterAction::ColumnVisibility { column, visible } => {
                let name = column.to_string();
                let at = definition.column(&name).ok_or_else(|| definition.unknown_column(&name))?;
                definition.column_mut(at).invisible = !visible;
            }
            AlterAction::Force => {}
            // One engine: the table is written anew.
            AlterAction::Option(_) => return Ok(()),
            AlterAction::OrderBy(_) => {
                cx.state.warnings.warn(
                    1105,
                    "ORDER BY ignored as there is a user-defined clustered index in the table or rows are kept in the order of the key",
                );
                return Ok(());
            }
            AlterAction::Keys(_) => {
                let name = &definition.name;
                let message = format!("Table storage engine for '{name}' doesn't have this option");
                cx.state.warnings.push(vaquita_types::Level::Note, 1031, message);
                return Ok(());
            }
            _ => return Ok(()),
        }
        self.only_keys = false;
        Ok(())
    }

    /// Expressions of columns and defaults, which may look at any column.
    fn expressions(&mut self, cx: &mut StmtCx<'_>, action: &AlterAction<'_>) -> SqlResult<()> {
        match action {
            AlterAction::AddColumn { column, .. }
            | AlterAction::ModifyColumn { column, .. }
            | AlterAction::ChangeColumn { column, .. } => {
                expressions::of_column(cx, &mut self.definition, column)
            }
            AlterAction::SetDefault { column, default: Some(default) } => {
                expressions::of_default(cx, &mut self.definition, &column.to_string(), default)
            }
            _ => Ok(()),
        }
    }

    fn keys(&mut self, cx: &mut StmtCx<'_>, action: &AlterAction<'_>) -> SqlResult<()> {
        match action {
            AlterAction::AddColumn { column, .. }
            | AlterAction::ModifyColumn { column, .. }
            | AlterAction::ChangeColumn { column, .. } => {
                column_keys(cx, &mut self.definition, column)?;
                let name = column.name.to_string();
                for check in column.checks {
                    checks::add_one(cx, &mut self.definition, check, Some(&name))?;
                }
            }
            AlterAction::AddIndex(index) => {
                keys::add(cx, &mut self.definition, index, self.kept_keys)?;
                if let Some(key) = self.definition.keys.last() {
                    // How a key was declared is kept with the table, and what it is of is in a hidden column.
                    let is_plain = key.using.is_none()
                        && key.key_block_size.is_none()
                        && !key.invisible
                        && key.parser.is_none()
                        && (key.has_tree() || key.comment.is_empty());
                    self.only_keys &= is_plain && !self.definition.is_functional(key);
                }
            }
            AlterAction::AddForeignKey(key) => {
                let key = keys::foreign_key(cx, &mut self.definition, key)?;
                self.definition.foreign_keys.push(key);
            }
            AlterAction::RenameIndex { old, new } => {
                let (old, new) = (old.to_string(), new.to_string());
                let at = self.key(&old)?;
                if !same_name(&old, &new) && self.definition.key(&new).is_some() {
                    return Err(SqlError::duplicate_key_name(&new));
                }
                Arc::make_mut(&mut self.definition.keys[at]).name.clone_from(&new);
                self.renamed_indexes.push((old, new));
                self.only_keys = false;
            }
            AlterAction::IndexVisibility { index, visible } => {
                let at = self.key(&index.to_string())?;
                self.only_keys &= self.definition.keys[at].invisible != *visible;
                Arc::make_mut(&mut self.definition.keys[at]).invisible = !visible;
            }
            AlterAction::AddCheck(check) => {
                checks::add_one(cx, &mut self.definition, check, None)?;
                self.only_keys = false;
            }
            AlterAction::EnforceCheck { name, any_kind, enforced } => {
                self.enforce(&name.to_string(), *any_kind, *enforced)?;
            }
            AlterAction::Rename(name) => {
                let to = names_of(cx, name)?;
                self.rename_to = Some(to);
            }
            _ => {}
        }
        Ok(())
    }

    /// ALTER CHECK, ALTER CONSTRAINT.
    fn enforce(&mut self, name: &str, any_kind: bool, enforced: bool) -> SqlResult<()> {
        let definition = &mut self.definition;
        let Some(at) = definition.check(name) else {
            let is = |k: &ForeignKeyDefinition| k.name.as_ref().is_some_and(|n| same_name(n, name));
            let is_other = definition.key(name).is_some_and(|at| definition.keys[at].is_unique())
                || definition.foreign_keys.iter().any(is);
            return Err(match (any_kind, is_other) {
                (false, _) => checks::not_found(name),
                (true, false) => SqlError::new(3940, format!("Constraint '{name}' does not exist.")),
                (true, true) => SqlError::new(
                    3941,
                    format!(
                        "Altering constraint enforcement is not supported for the constraint '{name}'. Enforcement \
                         state alter is not supported for the PRIMARY, UNIQUE and FOREIGN KEY type constraints."
                    ),
                ),
            });
        };
        self.only_keys &= definition.checks[at].enforced == enforced;
        definition.checks[at].enforced = enforced;
        Ok(())
    }

    /// Where a key stands.
    fn key(&self, name: &str) -> SqlResult<usize> {
        self.definition.key(name).ok_or_else(|| {
            let table = &self.definition.name;
            SqlError::new(1176, format!("Key '{name}' doesn't exist in table '{table}'"))
        })
    }
}

/// Whether an action leaves the table as it was, but perhaps for its name.
fn leaves_definition(action: &AlterAction<'_>) -> bool {
    matches!(action, AlterAction::Rename(_) | AlterAction::Keys(_))
}

impl Change {
    /// Whether it is done in a moment, whatever the table holds.
    fn is_brief(&self) -> bool {
        matches!(self.way, Way::Keys | Way::Definition | Way::Instant)
            && self.added_indexes.is_empty()
            && self.definition.foreign_keys.iter().all(|key| key.exists)
    }

    /// Finds out which indexes come and go, and how the change is done.
    fn settle_way(&mut self, cx: &StmtCx<'_>, info: &TableInfo, other_rows: bool, strict: bool) {
        // What the engine has added for itself is no business of the statement.
        let before = &info.definition.to_edit();
        let after = &self.definition;
        let stays = |old: &KeyDefinition, new: &KeyDefinition| {
            let renamed = self.renamed_indexes.iter().any(|(from, to)| (from, to) == (&old.name, &new.name));
            (renamed || old.name == new.name) && metadata::keeps_entries(before, old, after, new)
        };
        // How a key that stays is declared is kept with the table.
        let declared_anew = before.keys.iter().any(|old| {
            let as_old = |new: &KeyDefinition| KeyDefinition {
                name: new.name.clone(),
                parts: new.parts.clone(),
                ..KeyDefinition::clone(old)
            };
            after.keys.iter().any(|new| stays(old, new) && as_old(new) != **new)
        });
        let only_keys = self.only_keys && !declared_anew;
        let gone = before.keys.iter().filter(|old| !after.keys.iter().any(|new| stays(old, new)));
        let come = after.keys.iter().filter(|new| !before.keys.iter().any(|old| stays(old, new)));
        let names = |keys: Vec<&Arc<KeyDefinition>>| keys.iter().map(|key| key.name.clone()).collect();
        let (gone, come): (Vec<_>, Vec<_>) = (gone.collect(), come.collect());
        // The rows of a table without PRIMARY KEY lie in the order of its first unique key without NULL. Without that key they
        // need another order.
        let clustered = &info.table.clustered().name;
        let is_words = |key: &&&Arc<KeyDefinition>| key.kind == KeyKind::FullText;
        let added_words = come.iter().filter(is_words).count();
        let numbered = info.table.columns.iter().any(|column| column.hidden) || before.declares_doc_id();
        let order_stays = (added_words == 0 || numbered && added_words == 1)
            && !come.iter().any(|key| key.is_primary() || key.kind == KeyKind::Spatial)
            && !gone.iter().any(|key| key.kind == KeyKind::Spatial || same_name(&key.name, clustered));
        // Foreign keys are added by names that columns have.
        let names_fit = after.foreign_keys.iter().all(|key| key.exists) || !metadata::renames(before, after);
        let keys_stay = after.foreign_keys.iter().all(|key| key.exists);
        let columns_stay = order_stays && metadata::keeps_rows(before, after);
        self.way = match only_keys {
            true if order_stays && !other_rows => Way::Keys,
            false if columns_stay && names_fit && !other_rows => Way::Definition,
            false
                if order_stays
                    && come.is_empty()
                    && keys_stay
                    && !other_rows
                    && !after.keys.iter().any(|key| key.kind == KeyKind::FullText)
                    && instant::fits(cx, info, after) =>
            {
                Way::Instant
            }
            _ => {
                let checks = limits::is_on(cx, "foreign_key_checks");
                let had_words = before.keys.iter().any(|key| key.kind == KeyKind::FullText)
                    || info.table.columns.iter().any(|column| column.hidden);
                match clauses::copy_or_rebuild(before, after, strict, checks) {
                    Way::Rebuild if had_words && added_words < 2 => Way::Copy(Why::Words),
                    way => way,
                }
            }
        };
        self.added_words = added_words;
        // Rows that are left out are found as they are copied.
        if self.ignore && come.iter().any(|key| key.is_unique()) {
            self.way = Way::Copy(Why::Ignore);
        }
        (self.dropped_indexes, self.added_indexes) = (names(gone), names(come));
    }
}

impl Change {
    /// Says that documents get their numbers, and refuses FULLTEXT keys that are not built together.
    ///
    /// # Errors
    /// 1795.
    fn settle_words(&self, cx: &mut StmtCx<'_>, info: &TableInfo) -> SqlResult<()> {
        if self.added_words == 0 || matches!(self.way, Way::Copy(_)) {
            return Ok(());
        }
        if self.way == Way::Rebuild
            && !self.definition.declares_doc_id()
            && !info.definition.declares_doc_id()
            && !info.table.columns.iter().any(|column| column.hidden)
        {
            cx.state.warnings.warn(124, "InnoDB rebuilding table to add column FTS_DOC_ID");
        }
        match self.added_words {
            1 => Ok(()),
            _ => Err(clauses::several_words()),
        }
    }
}

/// Moves a column to its place.
fn place_column(definition: &mut Definition, from: usize, place: &ColumnPlace<'_>) -> SqlResult<()> {
    let column = definition.columns.remove(from);
    let to = place_of(definition, from, place)?;
    definition.columns.insert(to, column);
    Ok(())
}

/// Where a column goes that stands at `from`.
fn place_of(definition: &Definition, from: usize, place: &ColumnPlace<'_>) -> SqlResult<usize> {
    match place {
        ColumnPlace::Unspecified => Ok(from),
        ColumnPlace::First => Ok(0),
        ColumnPlace::After(after) => {
            let after = after.to_string();
            Ok(definition.column(&after).ok_or_else(|| definition.unknown_column(&after))? + 1)
        }
    }
}

fn change_column(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    old: &str,
    written: &ast::ColumnDef<'_>,
    place: &ColumnPlace<'_>,
) -> SqlResult<()> {
    let at = definition.column(old).ok_or_else(|| definition.unknown_column(old))?;
    let before = place_of(definition, at, place)?;
    let mut earlier = definition.columns[..before].iter().enumerate().filter(|&(other, _)| other != at);
    let first = !earlier.any(|(_, c)| c.ty.kind == Kind::Timestamp);
    let new = columns::define(cx, written, definition.collation, first)?;
    if !same_name(&new.name, old) && definition.column(&new.name).is_some() {
        return Err(SqlError::duplicate_column(&new.name));
    }
    let stored = |column: &ColumnDefinition| column.generated.as_ref().map(|generated| generated.stored);
    // A column that is there stays in the row, or out of it.
    if stored(&definition.columns[at]).unwrap_or(true) != stored(&new).unwrap_or(true) {
        return Err(vaquita_catalog::expressions::unsupported("Changing the STORED status"));
    }
    definition.replace_column(at, new)?;
    place_column(definition, at, place)
}

fn set_default(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    column: &ast::Ident<'_>,
    default: &Option<ast::DefaultValue<'_>>,
) -> SqlResult<()> {
    let name = column.to_string();
    let at = definition.column(&name).ok_or_else(|| definition.unknown_column(&name))?;
    let default = match default {
        Some(default) => columns::default(cx, default, &definition.columns[at])?,
        None => DefaultValue::None,
    };
    if definition.columns[at].generated.is_some() {
        return Err(SqlError::new(1221, "Incorrect usage of DEFAULT and generated column"));
    }
    let column = definition.column_mut(at);
    column.default = default;
    column.uses.clear();
    Ok(())
}

/// CONVERT TO CHARACTER SET: text columns with their defaults, too.
fn convert_charset(
    cx: &mut StmtCx<'_>,
    definition: &mut Definition,
    charset: Option<ast::Ident<'_>>,
    collation: Option<ast::Ident<'_>>,
) -> SqlResult<()> {
    let default = database_collation(cx, &definition.database)?;
    let (charset, collation) = (charset.map(|c| c.to_string()), collation.map(|c| c.to_string()));
    let id = types::collation_of(charset.as_deref(), collation.as_deref(), default)?;
    definition.collation = id;
    for column in definition.columns.iter_mut().filter(|column| column.is_text()) {
        let column = Arc::make_mut(column);
        let before = column.codec();
        column.ty = types::converted(cx.state, column, id)?;
        let labelled = matches!(column.ty.kind, Kind::Enum | Kind::Set);
        if let DefaultValue::Stored(bytes) = &column.default
            && !labelled
        {
            let value = before.decode(Some(bytes), &cx.state.vars.time_zone);
            column.default = DefaultValue::Stored(columns::stored_default(cx, column, &value, &before.ty)?);
        }
    }
    Ok(())
}

fn is_strict(cx: &StmtCx<'_>) -> bool {
    cx.state.vars.sql_mode.is_strict()
}
