//! ALTER TABLE.

use super::{Parser, R};
use crate::ast::{
    AlterAction, AlterAlgorithm, AlterLock, AlterTable, ColumnPlace, Ident, Maintain, MaintainAction,
    MaintainOptions, MaintainPartitions, PartitionAction, Stmt, TableElement,
};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    /// ALTER [IGNORE] TABLE, at IGNORE or TABLE.
    pub(super) fn alter_table(&mut self) -> R<Stmt<'a>> {
        let ignore = self.eat_kw(Kw::Ignore);
        self.expect_kw(Kw::Table)?;
        let name = self.object_name()?;
        let mut alter = AlterTable {
            ignore,
            name,
            actions: &[],
            algorithm: AlterAlgorithm::Default,
            lock: AlterLock::Default,
            partitioning: None,
        };
        let mut actions = self.new_list();
        if !self.at_end() && !self.at_kw(Kw::Partition) {
            loop {
                self.alter_item(&mut alter, &mut actions)?;
                if !self.eat(T::Comma) {
                    break;
                }
            }
        }
        if self.at_kw(Kw::Partition) {
            alter.partitioning = Some(self.partitioning()?);
        }
        alter.actions = actions.into_bump_slice();
        if let Some(maintain) = self.maintained(&alter) {
            return Ok(Stmt::Maintain(self.alloc(maintain)));
        }
        Ok(Stmt::AlterTable(self.alloc(alter)))
    }

    /// What maintains partitions is told in a result, as of whole tables.
    fn maintained(&self, alter: &AlterTable<'a>) -> Option<Maintain<'a>> {
        let [AlterAction::Partition(action)] = alter.actions else { return None };
        let (action, names) = match *action {
            PartitionAction::Analyze(names) => (MaintainAction::Analyze, names),
            PartitionAction::Check(names) => (MaintainAction::Check, names),
            PartitionAction::Optimize(names) => (MaintainAction::Optimize, names),
            PartitionAction::Repair(names) => (MaintainAction::Repair, names),
            _ => return None,
        };
        let alone = alter.partitioning.is_none()
            && alter.algorithm == AlterAlgorithm::Default
            && alter.lock == AlterLock::Default;
        let partitions = Some(MaintainPartitions { names, ignore: alter.ignore });
        let tables = self.alloc([alter.name]);
        let options = MaintainOptions::default();
        alone.then_some(Maintain { action, no_binlog: false, tables, partitions, options })
    }

    fn alter_item(
        &mut self,
        alter: &mut AlterTable<'a>,
        actions: &mut bumpalo::collections::Vec<'a, AlterAction<'a>>,
    ) -> R<()> {
        let kw = self.kw();
        match kw {
            Kw::Add => {
                self.advance();
                return self.alter_add(actions);
            }
            Kw::Algorithm => {
                alter.algorithm = self.algorithm()?;
                return Ok(());
            }
            Kw::Lock => {
                alter.lock = self.lock_option()?;
                return Ok(());
            }
            _ => {}
        }
        if let Some(action) = self.partition_action()? {
            actions.push(AlterAction::Partition(action));
            return Ok(());
        }
        // Options follow one another without commas.
        let mut options = 0;
        while let Some(option) = self.table_option()? {
            actions.push(AlterAction::Option(option));
            options += 1;
        }
        if options > 0 {
            return Ok(());
        }
        let action = match kw {
            Kw::Drop => self.alter_drop()?,
            Kw::Change => {
                self.advance();
                self.eat_kw(Kw::Column);
                let old = self.column_name()?;
                let column = self.column_def()?;
                AlterAction::ChangeColumn { old, column, place: self.place()? }
            }
            Kw::Modify => {
                self.advance();
                self.eat_kw(Kw::Column);
                let column = self.column_def()?;
                AlterAction::ModifyColumn { column, place: self.place()? }
            }
            Kw::Alter => self.alter_alter()?,
            Kw::Rename => self.alter_rename()?,
            Kw::Convert => self.alter_convert()?,
            Kw::Order => {
                self.advance();
                self.expect_kw(Kw::By)?;
                AlterAction::OrderBy(self.order_items()?)
            }
            Kw::Force => {
                self.advance();
                AlterAction::Force
            }
            Kw::Enable | Kw::Disable => {
                self.advance();
                self.expect_kw(Kw::Keys)?;
                AlterAction::Keys(kw == Kw::Enable)
            }
            // The one thing that a statement does.
            Kw::Discard | Kw::Import if actions.is_empty() => {
                self.advance();
                self.expect_kw(Kw::Tablespace)?;
                if self.eat(T::Comma) {
                    return self.fail();
                }
                if kw == Kw::Discard { AlterAction::DiscardTablespace } else { AlterAction::ImportTablespace }
            }
            Kw::Remove => {
                self.advance();
                self.expect_kw(Kw::Partitioning)?;
                AlterAction::RemovePartitioning
            }
            _ => return self.fail(),
        };
        actions.push(action);
        Ok(())
    }

    /// After ADD.
    fn alter_add(&mut self, actions: &mut bumpalo::collections::Vec<'a, AlterAction<'a>>) -> R<()> {
        if self.at_kw(Kw::Partition) {
            self.advance();
            actions.push(AlterAction::Partition(self.add_partition()?));
            return Ok(());
        }
        if let Some(element) = self.constraint_or_index()? {
            actions.push(match element {
                TableElement::Index(index) => AlterAction::AddIndex(index),
                TableElement::ForeignKey(key) => AlterAction::AddForeignKey(key),
                TableElement::Check(check) => AlterAction::AddCheck(check),
                TableElement::Column(column) => {
                    AlterAction::AddColumn { column, place: ColumnPlace::Unspecified }
                }
            });
            return Ok(());
        }
        self.eat_kw(Kw::Column);
        if !self.eat(T::LParen) {
            let column = self.column_def()?;
            actions.push(AlterAction::AddColumn { column, place: self.place()? });
            return Ok(());
        }
        loop {
            let action = match self.constraint_or_index()? {
                Some(TableElement::Index(index)) => AlterAction::AddIndex(index),
                Some(TableElement::ForeignKey(key)) => AlterAction::AddForeignKey(key),
                Some(TableElement::Check(check)) => AlterAction::AddCheck(check),
                Some(TableElement::Column(column)) => {
                    AlterAction::AddColumn { column, place: ColumnPlace::Unspecified }
                }
                None => {
                    AlterAction::AddColumn { column: self.column_def()?, place: ColumnPlace::Unspecified }
                }
            };
            actions.push(action);
            if !self.eat(T::Comma) {
                break;
            }
        }
        self.expect(T::RParen)
    }

    /// `FIRST`, `AFTER c` or nothing.
    fn place(&mut self) -> R<ColumnPlace<'a>> {
        if self.eat_kw(Kw::First) {
            return Ok(ColumnPlace::First);
        }
        if self.eat_kw(Kw::After) {
            return self.ident().map(ColumnPlace::After);
        }
        Ok(ColumnPlace::Unspecified)
    }

    fn alter_drop(&mut self) -> R<AlterAction<'a>> {
        self.advance();
        let kw = self.kw();
        let action = match kw {
            Kw::Primary => {
                self.advance();
                self.expect_kw(Kw::Key)?;
                AlterAction::DropPrimaryKey
            }
            Kw::Foreign => {
                self.advance();
                self.expect_kw(Kw::Key)?;
                AlterAction::DropForeignKey(self.ident()?)
            }
            Kw::Index | Kw::Key => {
                self.advance();
                AlterAction::DropIndex(self.index_name()?)
            }
            Kw::Check => {
                self.advance();
                AlterAction::DropCheck(self.ident()?)
            }
            Kw::Constraint => {
                self.advance();
                // The primary key is named by a word.
                AlterAction::DropConstraint(self.index_name()?)
            }
            _ => {
                self.eat_kw(Kw::Column);
                let name = self.ident()?;
                if !self.eat_kw(Kw::Restrict) {
                    self.eat_kw(Kw::Cascade);
                }
                AlterAction::DropColumn(name)
            }
        };
        Ok(action)
    }

    /// `ALTER [COLUMN] c SET DEFAULT …`, `ALTER INDEX i VISIBLE`.
    fn alter_alter(&mut self) -> R<AlterAction<'a>> {
        self.advance();
        if self.eat_kw(Kw::Index) {
            let index = self.ident()?;
            let visible = self.at_kw(Kw::Visible);
            if !visible && !self.at_kw(Kw::Invisible) {
                return self.fail();
            }
            self.advance();
            return Ok(AlterAction::IndexVisibility { index, visible });
        }
        if matches!(self.kw(), Kw::Check | Kw::Constraint) {
            let any_kind = self.at_kw(Kw::Constraint);
            self.advance();
            let name = self.ident()?;
            return match self.enforcement() {
                Some(enforced) => Ok(AlterAction::EnforceCheck { name, any_kind, enforced }),
                None => self.fail(),
            };
        }
        self.eat_kw(Kw::Column);
        let column = self.ident()?;
        if self.eat_kw(Kw::Drop) {
            self.expect_kw(Kw::Default)?;
            return Ok(AlterAction::SetDefault { column, default: None });
        }
        self.expect_kw(Kw::Set)?;
        if matches!(self.kw(), Kw::Visible | Kw::Invisible) {
            let visible = self.at_kw(Kw::Visible);
            self.advance();
            return Ok(AlterAction::ColumnVisibility { column, visible });
        }
        self.expect_kw(Kw::Default)?;
        Ok(AlterAction::SetDefault { column, default: Some(self.default_value()?) })
    }

    fn alter_rename(&mut self) -> R<AlterAction<'a>> {
        self.advance();
        let kw = self.kw();
        if matches!(kw, Kw::Index | Kw::Key | Kw::Column) {
            self.advance();
            let old = self.ident()?;
            self.expect_kw(Kw::To)?;
            let new = self.ident()?;
            return Ok(if kw == Kw::Column {
                AlterAction::RenameColumn { old, new }
            } else {
                AlterAction::RenameIndex { old, new }
            });
        }
        if !self.eat_kw(Kw::To) && !self.eat_kw(Kw::As) {
            self.skip_eq();
        }
        self.object_name().map(AlterAction::Rename)
    }

    fn alter_convert(&mut self) -> R<AlterAction<'a>> {
        self.advance();
        self.expect_kw(Kw::To)?;
        self.charset_words()?;
        let charset = self.name_or_default()?;
        let mut collation = None;
        if self.eat_kw(Kw::Collate) {
            self.skip_eq();
            collation = self.name_or_default()?;
        }
        Ok(AlterAction::ConvertCharset { charset, collation })
    }

    /// An action on partitions, if one begins here (ADD is elsewhere).
    fn partition_action(&mut self) -> R<Option<PartitionAction<'a>>> {
        let kw = self.kw();
        if self.peek().kw != Kw::Partition {
            return Ok(None);
        }
        match kw {
            Kw::Drop
            | Kw::Reorganize
            | Kw::Exchange
            | Kw::Truncate
            | Kw::Analyze
            | Kw::Check
            | Kw::Optimize => {}
            Kw::Rebuild | Kw::Repair | Kw::Discard | Kw::Import | Kw::Coalesce => {}
            _ => return Ok(None),
        }
        self.advance();
        self.advance();
        self.skip_no_binlog();
        let action = match kw {
            Kw::Reorganize => {
                let names = if self.at_kw(Kw::Into) || self.at_end() { &[] } else { self.ident_list()? };
                let into = if self.eat_kw(Kw::Into) { self.partition_defs()? } else { &[] };
                PartitionAction::Reorganize { names, into }
            }
            Kw::Exchange => {
                let name = self.ident()?;
                self.expect_kw(Kw::With)?;
                self.expect_kw(Kw::Table)?;
                let table = self.object_name()?;
                let validation = !self.eat_kw(Kw::Without);
                if !validation || self.eat_kw(Kw::With) {
                    self.expect_kw(Kw::Validation)?;
                }
                PartitionAction::Exchange { name, table, validation }
            }
            Kw::Coalesce => PartitionAction::Coalesce(self.number()?),
            _ => self.partition_list_action(kw)?,
        };
        Ok(Some(action))
    }

    /// Actions that take a list of names or ALL.
    fn partition_list_action(&mut self, kw: Kw) -> R<PartitionAction<'a>> {
        let names: &'a [Ident<'a>] = if self.eat_kw(Kw::All) { &[] } else { self.ident_list()? };
        let action = match kw {
            Kw::Drop => PartitionAction::Drop(names),
            Kw::Truncate => PartitionAction::Truncate(names),
            Kw::Analyze => PartitionAction::Analyze(names),
            Kw::Optimize => PartitionAction::Optimize(names),
            Kw::Rebuild => PartitionAction::Rebuild(names),
            Kw::Check => PartitionAction::Check(names),
            Kw::Repair => PartitionAction::Repair(names),
            Kw::Discard => {
                self.expect_kw(Kw::Tablespace)?;
                PartitionAction::DiscardTablespace(names)
            }
            _ => {
                self.expect_kw(Kw::Tablespace)?;
                PartitionAction::ImportTablespace(names)
            }
        };
        if matches!(kw, Kw::Check | Kw::Repair) {
            self.maintain_options();
        }
        Ok(action)
    }
}
