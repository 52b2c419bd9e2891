//! The operations that change something.

use super::kinds::{Kind, Row, fields};
use super::{Key, NUMBERS, State, Stored, TreeId, TreeInfo, Trees};
use crate::machine::{Machine, space_name};
use crate::stop::{EngineError, Stop};
use std::sync::Arc;
use vaquita_base::{Lsn, Rng, SpaceId};
use vaquita_btree::{BulkBuilder, Error, LatchMode, Tree, off_page};
use vaquita_format::flags::SpaceFlags;
use vaquita_format::index_page::{FieldUpdate, SearchMode};
use vaquita_format::record::ExternRef;
use vaquita_format::record::header::INFO_DELETED;
use vaquita_format::tuple::Tuple;
use vaquita_storage::Storage;

impl Trees {
    pub(super) fn create_space(&mut self, machine: &mut Machine) -> Result<(), Stop> {
        let (id, name) = machine.new_space();
        let storage = machine.storage();
        let flags =
            SpaceFlags::new(storage.options().page_size, false, false).expect("an ordinary page size");
        storage.create_table_space(id, flags, &name).map_err(Stop::file_op)?;
        let lsn = storage.log().current_lsn();
        self.spaces.set(lsn, id, Some(()));
        machine.created.insert(id, lsn);
        Ok(())
    }

    pub(super) fn drop_space(&mut self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        let Some(id) = self.some_space(rng) else { return Ok(()) };
        let storage = machine.storage();
        let before = storage.log().current_lsn();
        let outcome = storage.drop_table_space(id, &space_name(id));
        let after = storage.log().current_lsn();
        if after != before {
            let trees: Vec<TreeId> =
                self.trees.iter().filter(|(_, t)| t.space == id).map(|(id, _)| *id).collect();
            for tree in trees {
                self.forget_rows(tree, after);
                self.trees.set(after, tree, None);
            }
            self.spaces.set(after, id, None);
        }
        outcome.map_err(Stop::file_op)
    }

    fn some_space(&self, rng: &mut Rng) -> Option<SpaceId> {
        let all: Vec<SpaceId> = self.spaces.iter().map(|(id, ())| *id).collect();
        if all.is_empty() { None } else { Some(all[rng.index(all.len())]) }
    }

    fn forget_rows(&mut self, id: TreeId, lsn: Lsn) {
        let keys: Vec<Key> = self.rows_of(id).map(|(key, _)| key.clone()).collect();
        keys.into_iter().for_each(|key| self.rows.set(lsn, (id, key), None));
    }

    fn new_tree(&mut self, storage: &Storage, rng: &mut Rng, state: State) -> Result<Option<TreeId>, Stop> {
        let Some(space) = self.some_space(rng) else { return Ok(None) };
        let (kind, format) = Kind::pick(rng);
        let id = self.next_tree;
        self.next_tree += 1;
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        let index = kind.index(id, format, storage.options().page_size);
        let tree = Tree::create(&mut mtr, space, index)?;
        let lsn = mtr.commit();
        self.trees.set(lsn, id, Some(TreeInfo { space, root: tree.root(), kind, format, state }));
        self.open.insert(id, tree);
        Ok(Some(id))
    }

    pub(super) fn create_tree(&mut self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        self.new_tree(machine.storage(), rng, State::Live).map(|_| ())
    }

    /// A new tree, built from sorted rows.
    pub(super) fn build_tree(&mut self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        let storage = machine.storage();
        let Some(id) = self.new_tree(storage, rng, State::Building)? else { return Ok(()) };
        let tree = self.tree(id);
        let info = self.info(id).clone();
        let n_key = tree.index().n_uniq_in_tree();
        let page_len = storage.pool().page_len();
        let chosen: Vec<u32> = (0..NUMBERS as u32).filter(|_| rng.one_in(2)).collect();
        let mut rows: Vec<Row> = chosen.iter().map(|&n| info.kind.row(n, rng, page_len)).collect();
        rows.sort_by(|a, b| a[..n_key].cmp(&b[..n_key]));
        let mut builder = BulkBuilder::new(&tree, storage, 50 + rng.below(51) as u32);
        for row in &rows {
            builder.push(&Tuple::new(&fields(row)))?;
        }
        let lsn = builder.finish()?;
        self.trees.set(lsn, id, Some(TreeInfo { state: State::Live, ..info }));
        for row in rows {
            let key = row[..n_key].to_vec();
            self.rows.set(lsn, (id, key), Some(Stored { row: Arc::new(row), deleted: false, purged: false }));
        }
        Ok(())
    }

    pub(super) fn drop_tree(&mut self, storage: &Storage, rng: &mut Rng) -> Result<(), Stop> {
        match self.some_tree(rng, State::Live) {
            Some(id) => self.free_tree(storage, id),
            None => Ok(()),
        }
    }

    /// Goes on dropping a tree that a crash, or an error, left half dropped or half built.
    pub(super) fn finish_drop(&mut self, storage: &Storage, rng: &mut Rng) -> Result<(), Stop> {
        match self.some_tree(rng, State::Dying).or_else(|| self.some_tree(rng, State::Building)) {
            Some(id) => self.free_tree(storage, id),
            None => Ok(()),
        }
    }

    fn free_tree(&mut self, storage: &Storage, id: TreeId) -> Result<(), Stop> {
        let tree = self.tree(id);
        let info = self.info(id).clone();
        // From the first mini-transaction on it is no tree any more.
        let start = Lsn(storage.log().current_lsn().get() + 1);
        let freed = tree.free_but_not_root(storage);
        if storage.log().current_lsn() >= start && info.state != State::Dying {
            self.forget_rows(id, start);
            self.trees.set(start, id, Some(TreeInfo { state: State::Dying, ..info }));
        }
        freed?;
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        tree.free_root(&mut mtr)?;
        let lsn = mtr.commit();
        self.trees.set(lsn, id, None);
        self.open.remove(&id);
        Ok(())
    }

    pub(super) fn insert(&mut self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        let storage = machine.storage();
        let Some(id) = self.some_tree(rng, State::Live) else { return Ok(()) };
        let tree = self.tree(id);
        // Every third row comes behind the last one.
        let number = if rng.one_in(3) { self.rows_of(id).count() as u64 } else { rng.below(NUMBERS) };
        let row = self.info(id).kind.row(number as u32, rng, storage.pool().page_len());
        let key: Key = row[..tree.index().n_uniq_in_tree()].to_vec();
        let known = self.rows.get(&(id, key.clone())).is_some();
        let start = storage.log().current_lsn();
        let row_fields = fields(&row);
        let tuple = Tuple::new(&row_fields);
        let stored = match tree.store(storage, &tuple) {
            Ok(stored) => stored,
            Err(e) => return Err(self.leaked(id, start, e)),
        };
        let has_chains = !stored.chains().is_empty();
        let before = storage.log().current_lsn();
        match tree.insert_record(storage, &tuple, &stored.record) {
            Ok(lsn) if !known => {
                let value = Stored { row: Arc::new(row.clone()), deleted: false, purged: false };
                self.rows.set(lsn, (id, key), Some(value));
                if has_chains {
                    self.spans.push((start, lsn, id));
                }
                within_limit(storage, before, lsn)
            }
            Ok(_) => self.wrong(machine, id, "a row was inserted twice".into()),
            Err(e) => {
                let abandoned = stored.abandon(&tree, storage);
                if has_chains {
                    self.spans.push((start, storage.log().current_lsn(), id));
                }
                if abandoned.is_err() {
                    self.leaky.insert(id);
                }
                match e {
                    Error::Duplicate if known => Ok(abandoned?),
                    Error::Duplicate => self.wrong(machine, id, "a row is there already".into()),
                    e => Err(e.into()),
                }
            }
        }
    }

    /// Notes that an operation that failed with `e` may have left values that nobody owns.
    fn leaked(&mut self, id: TreeId, start: Lsn, e: impl Into<EngineError>) -> Stop {
        self.leaky.insert(id);
        self.spans.push((start, Lsn::MAX, id));
        Stop::Engine(e.into())
    }

    /// Rows into two trees, in one mini-transaction, where the leaves have room.
    pub(super) fn insert_pair(&mut self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        let storage = machine.storage();
        let (Some(a), Some(b)) = (self.some_tree(rng, State::Live), self.some_tree(rng, State::Live)) else {
            return Ok(());
        };
        if a == b {
            return Ok(());
        }
        let mut mtr = storage.begin()?;
        mtr.keep_before_images();
        let mut done = Vec::new();
        for id in [a, b] {
            let tree = self.tree(id);
            let row = self.info(id).kind.row(rng.below(NUMBERS) as u32, rng, 64);
            let key: Key = row[..tree.index().n_uniq_in_tree()].to_vec();
            if self.rows.get(&(id, key.clone())).is_some() {
                return Ok(());
            }
            let row_fields = fields(&row);
            let tuple = Tuple::new(&row_fields);
            if !off_page::choose(tree.index(), &tuple)?.is_empty() {
                return Ok(());
            }
            let record = tree.record(&tuple)?;
            let key_fields = fields(&key);
            let position = tree.search(
                &mut mtr,
                &Tuple::new(&key_fields),
                SearchMode::LessOrEqual,
                LatchMode::Exclusive,
            )?;
            if tree.try_insert(&mut mtr, &position, &record)?.is_none() {
                // Dropped, the mini-transaction takes the other row back.
                return Ok(());
            }
            done.push((id, key, row));
        }
        let lsn = mtr.commit();
        for (id, key, row) in done {
            self.rows.set(lsn, (id, key), Some(Stored { row: Arc::new(row), deleted: false, purged: false }));
        }
        Ok(())
    }

    /// The off-page values of a row.
    fn chains(&self, storage: &Storage, tree: &Tree, key: &Key) -> Result<Vec<ExternRef>, Stop> {
        let key = fields(key);
        let refs = tree.lookup(storage, &Tuple::new(&key), |record| tree.external_refs(&record))?;
        let refs = refs.transpose()?.unwrap_or_default();
        Ok(refs.into_iter().map(|(_, _, chain)| chain).filter(|c| !c.page_no.is_null()).collect())
    }

    /// Another value for a row, of any size.
    pub(super) fn update(&mut self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        let storage = machine.storage();
        let Some(id) = self.some_tree(rng, State::Live) else { return Ok(()) };
        let Some((key, old)) = self.some_row(id, rng) else { return Ok(()) };
        if old.purged {
            return Ok(());
        }
        let tree = self.tree(id);
        let kind = self.info(id).kind;
        let mut row = kind.row(rng.below(NUMBERS) as u32, rng, storage.pool().page_len());
        row[..key.len()].clone_from_slice(&key);
        let start = storage.log().current_lsn();
        let chains = self.chains(storage, &tree, &key)?;
        let row_fields = fields(&row);
        let tuple = Tuple::new(&row_fields);
        let stored = match tree.store(storage, &tuple) {
            Ok(stored) => stored,
            Err(e) => return Err(self.leaked(id, start, e)),
        };
        let before = storage.log().current_lsn();
        match tree.update_record(storage, &tuple, &stored.record) {
            Ok(Some(lsn)) => {
                let value = Stored { row: Arc::new(row.clone()), deleted: false, purged: false };
                self.rows.set(lsn, (id, key), Some(value));
                for chain in &chains {
                    if let Err(e) = tree.free_chain(storage, chain) {
                        return Err(self.leaked(id, start, e));
                    }
                }
                self.spans.push((start, storage.log().current_lsn(), id));
                within_limit(storage, before, lsn)
            }
            Ok(None) => self.wrong(machine, id, "a row to be updated is gone".into()),
            Err(e) => {
                let abandoned = stored.abandon(&tree, storage);
                self.spans.push((start, storage.log().current_lsn(), id));
                if abandoned.is_err() {
                    self.leaky.insert(id);
                }
                Err(e.into())
            }
        }
    }

    /// A value of the same size, and the delete mark taken off.
    pub(super) fn update_in_place(&mut self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        let storage = machine.storage();
        let Some(id) = self.some_tree(rng, State::Live) else { return Ok(()) };
        let (Some(pos), Some((key, old))) = (self.info(id).kind.field_in_place(), self.some_row(id, rng))
        else {
            return Ok(());
        };
        let Some(value) = old.row[pos].as_ref().map(|v| vec![rng.next_u64() as u8; v.len()]) else {
            return Ok(());
        };
        let tree = self.tree(id);
        let mut mtr = storage.begin()?;
        let key_fields = fields(&key);
        let position =
            tree.search(&mut mtr, &Tuple::new(&key_fields), SearchMode::LessOrEqual, LatchMode::Exclusive)?;
        if usize::from(position.found().low_matched) != key.len() {
            return self.wrong(machine, id, "a row to be updated is gone".into());
        }
        let info_bits = if old.purged { INFO_DELETED } else { 0 };
        let changes = [FieldUpdate { pos, data: Some(&value) }];
        tree.update_in_place(&mut mtr, position.page(), position.found().low, info_bits, &changes, None)?;
        let lsn = mtr.commit();
        let mut row = (*old.row).clone();
        row[pos] = Some(value);
        let value = Stored { row: Arc::new(row), deleted: old.purged, purged: old.purged };
        self.rows.set(lsn, (id, key), Some(value));
        Ok(())
    }

    pub(super) fn delete_mark(&mut self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        let Some(id) = self.some_tree(rng, State::Live) else { return Ok(()) };
        let Some((key, old)) = self.some_row(id, rng) else { return Ok(()) };
        if old.purged {
            return Ok(());
        }
        let new = Stored { deleted: !old.deleted, ..old };
        self.mark(machine, id, &key, new)
    }

    fn mark(&mut self, machine: &Machine, id: TreeId, key: &Key, new: Stored) -> Result<(), Stop> {
        let storage = machine.storage();
        let tree = self.tree(id);
        let mut mtr = storage.begin()?;
        let key_fields = fields(key);
        let position =
            tree.search(&mut mtr, &Tuple::new(&key_fields), SearchMode::LessOrEqual, LatchMode::Exclusive)?;
        if usize::from(position.found().low_matched) != key.len() {
            return self.wrong(machine, id, "a row to be marked is gone".into());
        }
        tree.set_delete_mark(&mut mtr, position.page(), position.found().low, new.deleted, None)?;
        let lsn = mtr.commit();
        self.rows.set(lsn, (id, key.clone()), Some(new));
        Ok(())
    }

    /// Removes a delete-marked row as purge does: its off-page values first, then itself.
    pub(super) fn purge(&mut self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        let storage = machine.storage();
        let Some(id) = self.some_tree(rng, State::Live) else { return Ok(()) };
        let Some((key, old)) = self.some_row(id, rng) else { return Ok(()) };
        if !old.purged {
            self.mark(machine, id, &key, Stored { deleted: true, purged: true, ..old })?;
        }
        let tree = self.tree(id);
        let key_fields = fields(&key);
        let tuple = Tuple::new(&key_fields);
        tree.free_owned(storage, &tuple, |_, _| true)?;
        match tree.remove(storage, &tuple)? {
            Some(lsn) => {
                self.rows.set(lsn, (id, key), None);
                Ok(())
            }
            None => self.wrong(machine, id, "a row to be purged is gone".into()),
        }
    }

    pub(super) fn remove(&mut self, machine: &Machine, rng: &mut Rng) -> Result<(), Stop> {
        let storage = machine.storage();
        let Some(id) = self.some_tree(rng, State::Live) else { return Ok(()) };
        let Some((key, old)) = self.some_row(id, rng) else { return Ok(()) };
        let tree = self.tree(id);
        let start = storage.log().current_lsn();
        let chains = if old.purged { Vec::new() } else { self.chains(storage, &tree, &key)? };
        if old.purged {
            let key_fields = fields(&key);
            tree.free_owned(storage, &Tuple::new(&key_fields), |_, _| true)?;
        }
        let key_fields = fields(&key);
        let before = storage.log().current_lsn();
        match tree.remove(storage, &Tuple::new(&key_fields))? {
            Some(lsn) => {
                self.rows.set(lsn, (id, key.clone()), None);
                for chain in &chains {
                    if let Err(e) = tree.free_chain(storage, chain) {
                        return Err(self.leaked(id, start, e));
                    }
                }
                self.spans.push((start, storage.log().current_lsn(), id));
                within_limit(storage, before, lsn)
            }
            None => self.wrong(machine, id, "a row to be removed is gone".into()),
        }
    }
}

/// A mini-transaction kept to the redo it has room for; block headers come on top.
fn within_limit(storage: &Storage, before: Lsn, after: Lsn) -> Result<(), Stop> {
    let (written, max) = (after.get() - before.get(), storage.mtr_log_max() as u64);
    if written > max + max / 16 + 1_024 {
        return Err(Stop::wrong(format!(
            "a mini-transaction wrote {written} bytes of redo; it has room for {max}"
        )));
    }
    Ok(())
}
