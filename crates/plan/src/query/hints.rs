//! Optimizer hints of a query block: the order of its tables, which of their indexes are read, and how.
//!
//! A hint may be for another block than the one it stands in, by that block's QB_NAME: it waits in the planner until the
//! block is planned. Blocks around the one with the hint are planned before it, so their hints cannot come from inside.
//! What a hint asks for that is not among the ways of this planner (batched key access, strategies of subqueries) is checked for its
//! names only.

use super::derived::tables_named;
use super::names::{Opened, Slot};
use crate::hinted::{Asked, Wish, quoted};
use crate::planner::Planner;
use crate::tree::Source;
use vaquita_catalog::same_name;
use vaquita_expr::{CompileCx, TableSet};
use vaquita_parser::ast::{Hint, HintOrder, HintPurpose, HintWhat};

/// The hints of one block.
#[derive(Debug, Default)]
pub(crate) struct BlockHints {
    asked: Vec<Asked>,
    /// As messages have it.
    block: String,
}

/// Warning 3126.
fn conflicting(name: &str, arguments: &str, cx: &mut CompileCx<'_>) {
    let text = format!("Hint {name}({arguments}) is ignored as conflicting/duplicated");
    cx.session.warn(3126, text);
}

/// Takes the hints of a block that is about to be planned: its own, and those that wait for it.
pub(crate) fn enter(planner: &Planner<'_>, hints: &[Hint<'_>], cx: &mut CompileCx<'_>) -> BlockHints {
    if hints.is_empty() && planner.hinted.borrow().0.is_empty() {
        return BlockHints::default();
    }
    let depth = planner.blocks.get().max(1);
    let mut own_name: Option<String> = None;
    for hint in hints {
        match hint.what {
            HintWhat::BlockName(name) if own_name.is_some() => {
                conflicting("QB_NAME", &quoted(&name.to_string()), cx);
            }
            HintWhat::BlockName(name) => own_name = Some(name.to_string()),
            _ => {}
        }
    }
    let block = own_name.clone().unwrap_or_else(|| format!("select#{depth}"));
    let is_own = |name: &str| same_name(name, &block);
    let mut out = BlockHints { asked: Vec::new(), block: block.clone() };
    let mut waiting = planner.hinted.borrow_mut();
    let (for_us, others) = std::mem::take(&mut waiting.0).into_iter().partition(|(of, _)| is_own(of));
    waiting.0 = others;
    let for_us: Vec<(String, Asked)> = for_us;
    for hint in hints {
        warn_of(hint, depth, cx);
        let Some(asked) = Asked::of(hint) else { continue };
        // All tables of a hint are of one block; the first one says which.
        let named = hint.block.or_else(|| hint.tables.first().and_then(|table| table.block));
        match named.map(|name| name.to_string()).filter(|name| !is_own(name)) {
            Some(other) => waiting.0.push((other, asked)),
            None => out.asked.push(asked),
        }
    }
    out.asked.extend(for_us.into_iter().map(|(_, asked)| asked));
    let mut claimed: Vec<String> = Vec::new();
    out.asked.retain(|asked| {
        let claims = asked.claims();
        let is_new = claims.iter().all(|claim| !claimed.contains(claim));
        match is_new {
            true => claimed.extend(claims),
            false => conflicting(asked.name, &asked.arguments(), cx),
        }
        is_new
    });
    out
}

/// What could not be read, and hints for statements where none begins.
fn warn_of(hint: &Hint<'_>, depth: u32, cx: &mut CompileCx<'_>) {
    match hint.what {
        HintWhat::Wrong { near, line } => {
            let near = String::from_utf8_lossy(near);
            let text = format!("Optimizer hint syntax error near '{near}' at line {line}");
            cx.session.warn(1064, text);
        }
        HintWhat::MaxExecutionTime(_) if depth > 1 => {
            let text = "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only";
            cx.session.warn(3125, text);
        }
        HintWhat::SetVar(..) if depth > 1 => {
            cx.session.warn(3614, "Invalid hint SET_VAR");
        }
        _ => {}
    }
}

/// Tells of hints for blocks that the statement does not have.
pub(crate) fn left_over(planner: &Planner<'_>, cx: &mut CompileCx<'_>) {
    for (block, asked) in std::mem::take(&mut planner.hinted.borrow_mut().0) {
        let text = format!("Query block name {} is not found for {} hint", quoted(&block), asked.name);
        cx.session.warn(3127, text);
    }
}

impl BlockHints {
    /// Derived tables and views that are not to be merged; no names: all of them.
    pub(crate) fn kept_apart(&self) -> Option<Vec<String>> {
        let mut asked = self.asked.iter().filter(|asked| asked.wish == Wish::Merge(false)).peekable();
        asked.peek()?;
        let lists: Vec<&Vec<String>> = asked.map(|asked| &asked.tables).collect();
        let all = lists.iter().any(|list| list.is_empty());
        Some(if all { Vec::new() } else { lists.into_iter().flatten().cloned().collect() })
    }

    /// Lets the hints act on the tables of the block; whether they are joined in the order of the text.
    pub(crate) fn apply(&self, opened: &mut Opened, cx: &mut CompileCx<'_>) -> bool {
        let mut fixed = false;
        for asked in &self.asked {
            let found: Vec<Option<TableSet>> =
                asked.tables.iter().map(|name| tables_named(opened, name)).collect();
            if let Some(missing) = found.iter().position(Option::is_none) {
                let table = quoted(&asked.tables[missing]);
                self.unresolved(asked, &table, "", cx);
                continue;
            }
            let tables: Vec<TableSet> = found.into_iter().flatten().collect();
            let slots = &mut opened.slots;
            match asked.wish {
                Wish::Order(HintOrder::Fixed) => fixed = true,
                Wish::Order(order) => put_in_order(order, &tables, slots),
                Wish::Hash(by_hash) => {
                    meant(slots, &tables).for_each(|slot| slot.methods.by_hash = Some(by_hash));
                }
                Wish::Merge(_) => {}
                Wish::Indexes { .. } | Wish::NoRanges | Wish::Nothing => {
                    if let Some(slot) = tables.first().and_then(|&table| only(slots, table)) {
                        self.choose_indexes(asked, slot, cx);
                    }
                }
            }
        }
        fixed
    }

    /// Warning 3128.
    fn unresolved(&self, asked: &Asked, table: &str, index: &str, cx: &mut CompileCx<'_>) {
        let text = format!("Unresolved name {table}@{}{index} for {} hint", quoted(&self.block), asked.name);
        cx.session.warn(3128, text);
    }

    /// The indexes that a hint names, as the engine counts them.
    fn positions(&self, asked: &Asked, slot: &Slot, cx: &mut CompileCx<'_>) -> Vec<usize> {
        let Source::Stored(info) = &slot.source else { return Vec::new() };
        let mut out = Vec::new();
        for name in &asked.indexes {
            match info.key(name).filter(|key| !key.invisible) {
                Some(key) => out.push(key.index),
                None => {
                    let index = format!(" {}", quoted(name));
                    self.unresolved(asked, &quoted(&slot.alias), &index, cx);
                }
            }
        }
        out
    }

    /// Without names it is about all of the indexes.
    fn choose_indexes(&self, asked: &Asked, slot: &mut Slot, cx: &mut CompileCx<'_>) {
        let named = self.positions(asked, slot, cx);
        let Source::Stored(info) = &slot.source else { return };
        if named.is_empty() && !asked.indexes.is_empty() {
            return;
        }
        let all = 0..info.table.indexes.len();
        let listed = |index: &usize| named.is_empty() || named.contains(index);
        let keep = |kept: &mut Option<Vec<usize>>, use_them: bool| {
            let all: Vec<usize> = kept.take().unwrap_or_else(|| all.clone().collect());
            *kept = Some(all.into_iter().filter(|index| listed(index) == use_them).collect());
        };
        match asked.wish {
            Wish::NoRanges => keep(&mut slot.methods.ranged, false),
            Wish::Indexes { purpose, use_them } => match purpose {
                HintPurpose::Group | HintPurpose::Order => {
                    let methods = &mut slot.methods;
                    methods.sorted |= use_them && !named.is_empty();
                    let of_order = purpose == HintPurpose::Order;
                    keep(if of_order { &mut methods.sorting } else { &mut methods.grouping }, use_them);
                }
                HintPurpose::All | HintPurpose::Join => {
                    keep(&mut slot.allowed, use_them);
                    // As FORCE INDEX: the whole table is read only if they are of no use.
                    slot.force |= use_them && !named.is_empty();
                }
            },
            Wish::Order(_) | Wish::Merge(_) | Wish::Hash(_) | Wish::Nothing => {}
        }
    }
}

/// The one table of a set.
fn only(slots: &mut [Slot], table: TableSet) -> Option<&mut Slot> {
    slots.iter_mut().enumerate().find(|(at, _)| TableSet::of(*at as u16) == table).map(|(_, slot)| slot)
}

/// The tables of a hint; all if it names none.
fn meant<'s>(slots: &'s mut [Slot], tables: &[TableSet]) -> impl Iterator<Item = &'s mut Slot> {
    let set = tables.iter().fold(TableSet::default(), |s, t| s.union(*t));
    let is_meant = move |at: usize| set.is_empty() || TableSet::of(at as u16).is_subset(set);
    slots.iter_mut().enumerate().filter(move |(at, _)| is_meant(*at)).map(|(_, slot)| slot)
}

/// Says of each table which ones come before it.
fn put_in_order(order: HintOrder, tables: &[TableSet], slots: &mut [Slot]) {
    let union = |list: &[TableSet]| list.iter().fold(TableSet::default(), |s, t| s.union(*t));
    let named = union(tables);
    let others = union(
        &(0..slots.len())
            .map(|at| TableSet::of(at as u16))
            .filter(|at| !at.is_subset(named))
            .collect::<Vec<_>>(),
    );
    let mut put_behind = |these: TableSet, before: TableSet| {
        let inside = |at: usize| TableSet::of(at as u16).is_subset(these);
        for (_, slot) in slots.iter_mut().enumerate().filter(|(at, _)| inside(*at)) {
            slot.after = slot.after.union(before);
        }
    };
    for (at, &table) in tables.iter().enumerate() {
        put_behind(table, TableSet(union(&tables[..at]).0 & !table.0));
    }
    match order {
        HintOrder::First => put_behind(others, named),
        HintOrder::Last => put_behind(named, others),
        HintOrder::These | HintOrder::Fixed => {}
    }
}
