//! Changes of definitions beside others: an index comes or goes, a table is written anew while other sessions go on, some of whose
//! statements run between two of its rows.

use super::model::{Delta, Shape};
use super::shapes::{self, EXTRA};
use super::work::{Halt, Outcome, Work};
use std::sync::Arc;
use vaquita_engine::core::Core;
use vaquita_engine::{Concurrency, ConvertRow, Field, IndexSpec, KeptKeys, Result, Session};
use vaquita_format::index_def::KeyPart;

impl Work {
    /// Changes the definition of a table beside others; what is committed by it, if it was done.
    pub(super) fn alter(&mut self, who: usize) -> Outcome {
        let (name, shape) = self.pick_table();
        let has_extra = self.history.now.get(&name).is_some_and(|table| table.extra);
        let rebuilds = self.rng.one_in(2);
        let extra = !rebuilds && !has_extra;
        let mut worker = self.workers.remove(who);
        let done = match (rebuilds, has_extra) {
            (true, _) => self.rebuild(&mut worker.session, &name, shape),
            (false, true) => worker.session.drop_index(&name, EXTRA).map_err(Halt::from),
            (false, false) => {
                let index = IndexSpec {
                    name: EXTRA.into(),
                    parts: vec![KeyPart::whole(shapes::extra_column(shape))],
                    unique: false,
                    comment: String::new(),
                };
                let added = worker.session.add_indexes_beside(&name, &[index], Concurrency::Writes);
                added.map_err(Halt::from)
            }
        };
        self.workers.insert(who, worker);
        self.alterations += u64::from(done.is_ok());
        self.ended(Delta::Extra(name, extra), done)
    }

    fn rebuild(&mut self, session: &mut Session, name: &str, shape: Shape) -> Outcome {
        let with = format!("{}/#sql-vq{}", name.split('/').next().unwrap_or_default(), self.workers.len());
        let spec = shapes::spec(&with, shape, &mut self.rng);
        let origins: Vec<Option<usize>> = (0..shapes::n_columns(shape)).map(Some).collect();
        let beside = if self.rng.one_in(4) { Concurrency::Reads } else { Concurrency::Writes };
        let core = session.core().clone();
        let others = Others { often: 1 + self.rng.below(6), core, work: self };
        let keys = KeptKeys::default();
        session.rebuild_table_beside(name, &spec, keys, &origins, beside, |_, _| Ok(others)).map(drop)
    }
}

/// Rows stay as they are; between two of them others do something.
struct Others<'w> {
    work: &'w mut Work,
    core: Arc<Core>,
    /// Once in so many rows.
    often: u64,
}

impl ConvertRow<Halt> for Others<'_> {
    fn convert(&mut self, row: &[Field<'_>], with: &mut dyn FnMut(&[Field<'_>]) -> Result<()>) -> Outcome {
        if !self.work.workers.is_empty() && self.work.rng.one_in(self.often) {
            self.work.steps_between += 1;
            self.work.step()?;
            if self.work.rng.one_in(3) {
                self.core.purge_step()?;
            }
        }
        Ok(with(row)?)
    }
}
