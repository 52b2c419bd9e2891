//! Changes of definitions beside others: an index comes or goes, a table is written anew while other sessions go on, some of whose
//! statements run between two of its rows, and at every stage of an index that comes.

use super::model::{Delta, Shape};
use super::shapes::{self, EXTRA};
use super::work::{Halt, Outcome, Work};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
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
                self.add_index(&mut worker.session, &name, &index)
            }
        };
        self.workers.insert(who, worker);
        self.alterations += u64::from(done.is_ok());
        self.ended(Delta::Extra(name, extra), done)
    }

    /// Another thread builds it. Whenever that tells how far it is it waits until others have done something: only one of the two is at work
    /// at any moment, so that a seed says all.
    fn add_index(&mut self, session: &mut Session, name: &str, index: &IndexSpec) -> Outcome {
        let (core, progress) = (session.core().clone(), session.progress().clone());
        let (told, telling) = sync_channel(0);
        let (going_on, go_on) = sync_channel::<()>(0);
        let go_on = Mutex::new(go_on);
        progress.watch(Some(Box::new(move || {
            // Nobody listens any more where that thread has panicked.
            let _ = told.send(()).map(|()| go_on.lock().expect("one thread waits").recv());
        })));
        std::thread::scope(|scope| {
            let (telling, going_on) = (telling, going_on);
            let building = scope.spawn(move || {
                let indexes = std::slice::from_ref(index);
                let added = session.add_indexes_beside(name, indexes, Concurrency::Writes);
                progress.watch(None);
                added
            });
            let mut others = Ok(());
            while telling.recv().is_ok() {
                others = others.and_then(|()| self.between(&core, 3));
                let _ = going_on.send(());
            }
            let added = building.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            others.and(added.map_err(Halt::from))
        })
    }

    /// Others do something in the middle of a change, one time of `often`.
    fn between(&mut self, core: &Core, often: u64) -> Outcome {
        if !self.workers.is_empty() && self.rng.one_in(often) {
            self.steps_between += 1;
            self.step()?;
            if self.rng.one_in(3) {
                core.purge_step()?;
            }
        }
        Ok(())
    }

    fn rebuild(&mut self, session: &mut Session, name: &str, shape: Shape) -> Outcome {
        let with = format!("{}/#sql-vq{}", name.split('/').next().unwrap_or_default(), self.workers.len());
        let spec = shapes::spec(&with, shape, &mut self.rng);
        // Who is told nothing of the columns finds the copies of rows by what the scan notes.
        let told = !self.rng.one_in(3);
        let origins: Vec<Option<usize>> =
            (0..shapes::n_columns(shape)).map(|column| told.then_some(column)).collect();
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
        self.work.between(&self.core, self.often)?;
        Ok(with(row)?)
    }
}
