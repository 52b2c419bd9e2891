//! Random transactions against a model, with power cuts: opening finds a state that the run passed through after its last
//! durable point, and from there everything can be brought to an end with nothing leaked.

use super::*;
use std::collections::BTreeMap;
use vaquita_base::Rng;
use vaquita_format::undo::Xid;

/// Runs with a power cut.
const SEEDS: u64 = 300;

type Records = Vec<(RollPtr, Vec<u8>)>;

/// What opening can see of a transaction that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Unfinished {
    records: Records,
    prepared: Option<Xid>,
    dict_operation: bool,
}

/// Records of a committed transaction that purge is to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Committed {
    trx_id: u64,
    records: Records,
    /// So many of them, the oldest ones, may have been freed.
    may_be_freed: usize,
}

/// A state between two steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Model {
    unfinished: BTreeMap<u64, Unfinished>,
    /// By number.
    history: BTreeMap<u64, Committed>,
}

impl Model {
    /// Whether this is what opening found: transactions without records count as nothing.
    fn is(&self, found: &Model) -> bool {
        let some = |u: &BTreeMap<u64, Unfinished>| -> Vec<(u64, Unfinished)> {
            u.iter()
                .filter(|(_, u)| !u.records.is_empty() || u.prepared.is_some())
                .map(|(id, u)| (*id, u.clone()))
                .collect()
        };
        if some(&self.unfinished) != some(&found.unfinished) {
            return false;
        }
        let nothing = Committed { trx_id: 0, records: Vec::new(), may_be_freed: 0 };
        found.history.keys().all(|no| self.history.contains_key(no))
            && self.history.iter().all(|(no, mine)| {
                let theirs = found.history.get(no).unwrap_or(&nothing);
                let freed = mine.records.len().checked_sub(theirs.records.len());
                freed.is_some_and(|n| n <= mine.may_be_freed && mine.records[n..] == theirs.records)
            })
    }

    /// What a purge gets to see.
    fn to_be_purged(&self) -> Vec<(u64, u64, RollPtr, Vec<u8>)> {
        let of = |(no, c): (&u64, &Committed)| {
            let (no, id) = (*no, c.trx_id);
            c.records.clone().into_iter().map(move |(place, body)| (no, id, place, body))
        };
        self.history.iter().flat_map(of).collect()
    }
}

fn flat(out: Vec<PurgeRecord>) -> Vec<(u64, u64, RollPtr, Vec<u8>)> {
    out.into_iter().map(|r| (r.trx_no.get(), r.trx_id.get(), r.place, r.undo.body().to_vec())).collect()
}

/// A run: the bed, the model, and the model's states since the last durable point.
struct Run {
    bed: Bed,
    rng: Rng,
    open: BTreeMap<u64, TrxUndo>,
    model: Model,
    states: Vec<Model>,
    history: History,
    /// Records fetched that are in the model's history, from its front.
    fetched: usize,
    next: u64,
    /// Steps of more than one mini-transaction of interest are left out: the cut may fall between.
    single_steps: bool,
}

/// The disk is off.
struct Off;

type Step = Result<(), Off>;

fn on<T>(result: crate::Result<T>) -> Result<T, Off> {
    match result {
        Ok(v) => Ok(v),
        Err(crate::Error::Storage(e)) if !e.is_corruption() => Err(Off),
        Err(e) => panic!("{e}"),
    }
}

impl Run {
    fn new(bed: Bed, seed: u64, single_steps: bool) -> Self {
        Self {
            bed,
            rng: Rng::new(seed),
            open: BTreeMap::new(),
            model: Model::default(),
            states: vec![Model::default()],
            history: History::default(),
            fetched: 0,
            next: 1,
            single_steps,
        }
    }

    /// Notes the model as it is now as a state that may be found.
    fn passed(&mut self) {
        self.states.push(self.model.clone());
    }

    fn step(&mut self) -> Step {
        match self.rng.below(100) {
            0..8 => self.begin(),
            8..60 => self.append(),
            60..68 => self.savepoint(),
            68..72 => self.prepare(),
            72..82 => self.commit(),
            82..86 => self.roll_back(),
            86..92 => self.purge(),
            92..98 => self.durable(),
            _ => match self.bed.storage.checkpoint() {
                Ok(_) => Ok(()),
                Err(_) => Err(Off),
            },
        }
    }

    fn any(&mut self) -> Option<u64> {
        let n = self.open.len();
        let at = if n == 0 { return None } else { self.rng.index(n) };
        self.open.keys().nth(at).copied()
    }

    fn begin(&mut self) -> Step {
        if self.open.len() < 12 {
            let id = self.next;
            self.next += 1;
            self.open.insert(id, TrxUndo::default());
            let dict_operation = self.rng.one_in(5);
            let unfinished = Unfinished { records: Vec::new(), prepared: None, dict_operation };
            self.model.unfinished.insert(id, unfinished);
        }
        Ok(())
    }

    fn append(&mut self) -> Step {
        let Some(id) = self.any() else { return Ok(()) };
        let (trx, model) = (self.open.get_mut(&id).unwrap(), self.model.unfinished.get_mut(&id).unwrap());
        if model.prepared.is_some() {
            return Ok(());
        }
        let kind = if self.rng.one_in(3) { UndoKind::Insert } else { UndoKind::Update };
        let len = if self.rng.one_in(10) { self.rng.index(3_900) } else { self.rng.index(200) };
        let body = body(kind, trx.next_no(), len);
        let ptr = on(self.bed.rsegs.append(trx, TrxId(id), model.dict_operation, kind, &body))?;
        model.records.push((ptr, body));
        self.passed();
        self.append_more(id, kind)
    }

    /// Now and then many at once, so that logs get pages.
    fn append_more(&mut self, id: u64, kind: UndoKind) -> Step {
        if !self.rng.one_in(8) {
            return Ok(());
        }
        for _ in 0..self.rng.below(25) {
            let trx = self.open.get_mut(&id).unwrap();
            let dict = self.model.unfinished[&id].dict_operation;
            let body = body(kind, trx.next_no(), self.rng.index(600));
            let ptr = on(self.bed.rsegs.append(trx, TrxId(id), dict, kind, &body))?;
            self.model.unfinished.get_mut(&id).unwrap().records.push((ptr, body));
            self.passed();
        }
        Ok(())
    }

    /// Takes back the newest records, down to a random one.
    fn savepoint(&mut self) -> Step {
        let Some(id) = self.any() else { return Ok(()) };
        let n = self.model.unfinished[&id].records.len();
        if self.model.unfinished[&id].prepared.is_some() {
            return Ok(());
        }
        let keep = self.rng.index(n + 1);
        if self.single_steps || self.rng.one_in(2) {
            return self.take_back(id, keep);
        }
        on(self.bed.rsegs.forget(self.open.get_mut(&id).unwrap(), keep as u64))?;
        self.model.unfinished.get_mut(&id).unwrap().records.truncate(keep);
        self.passed();
        Ok(())
    }

    fn take_back(&mut self, id: u64, keep: usize) -> Step {
        let mut out = UndoBuf::default();
        loop {
            let trx = self.open.get_mut(&id).unwrap();
            let newest = on(self.bed.rsegs.newest(trx, keep as u64, &mut out))?;
            let Some(place) = newest else { break };
            let no = trx.next_no() - 1;
            let expected = self.model.unfinished.get_mut(&id).unwrap().records.pop().unwrap();
            assert_eq!((place, out.body()), (expected.0, &expected.1[..]));
            on(self.bed.rsegs.forget(trx, no))?;
            self.passed();
        }
        assert_eq!(self.model.unfinished[&id].records.len(), keep);
        Ok(())
    }

    fn prepare(&mut self) -> Step {
        let Some(id) = self.any() else { return Ok(()) };
        let (trx, model) = (self.open.get_mut(&id).unwrap(), self.model.unfinished.get_mut(&id).unwrap());
        if trx.logs().next().is_none() || model.prepared.is_some() {
            return Ok(());
        }
        let xid = Xid::new(id as u32, &vec![7; self.rng.index(65)], b"branch").unwrap();
        on(self.bed.rsegs.prepare(trx, &xid))?;
        model.prepared = Some(xid);
        self.passed();
        Ok(())
    }

    fn commit(&mut self) -> Step {
        let Some(id) = self.any() else { return Ok(()) };
        let mut trx = self.open.remove(&id).unwrap();
        let no = self.next;
        let mut numbered = false;
        let done = self.bed.rsegs.commit(&mut trx, || {
            numbered = true;
            TrxId(no)
        });
        on(done)?;
        self.next += 1;
        let mut records = self.model.unfinished.remove(&id).unwrap().records;
        records.retain(|(place, body)| {
            vaquita_format::undo::UndoPlace::decode(*place).insert.eq(&false) && body[0] & 15 == 14
        });
        assert!(numbered || records.is_empty());
        if numbered {
            self.model.history.insert(no, Committed { trx_id: id, records, may_be_freed: 0 });
        }
        self.passed();
        on(self.bed.rsegs.release(&mut trx))
    }

    fn roll_back(&mut self) -> Step {
        let Some(id) = self.any() else { return Ok(()) };
        on(self.bed.rsegs.unprepare(self.open.get_mut(&id).unwrap()))?;
        self.model.unfinished.get_mut(&id).unwrap().prepared = None;
        self.passed();
        self.take_back(id, 0)?;
        let mut trx = self.open.remove(&id).unwrap();
        let no = self.next;
        self.next += 1;
        on(self.bed.rsegs.commit(&mut trx, || TrxId(no)))?;
        self.model.unfinished.remove(&id);
        if trx.has_update_log() {
            unreachable!("a commit leaves no update log");
        }
        // Its empty log is in the history, of no interest to anybody.
        self.model.history.insert(no, Committed { trx_id: id, records: Vec::new(), may_be_freed: 0 });
        self.passed();
        on(self.bed.rsegs.release(&mut trx))
    }

    fn purge(&mut self) -> Step {
        for _ in 0..1 + self.rng.below(3) {
            let everything = self.rng.one_in(2);
            let limit = if everything { self.next } else { self.rng.below(self.next) + 1 };
            let pages = if everything { 1_000 } else { 1 + self.rng.index(8) };
            let mut out = Vec::new();
            on(self.history.fetch_below(&self.bed.rsegs, TrxId(limit), pages, &mut out))?;
            let expected = self.model.to_be_purged();
            let n = out.len();
            assert_eq!(flat(out), expected[self.fetched..self.fetched + n], "in the order of commit");
            self.fetched += n;
            assert!(self.fetched == 0 || n == 0 || expected[self.fetched - 1].0 < limit);
            if everything {
                assert_eq!(self.fetched, expected.len());
            }
            if self.rng.one_in(4) {
                continue;
            }
            // From here on what was fetched may be gone.
            let mut left = self.fetched;
            for committed in self.model.history.values_mut() {
                committed.may_be_freed = left.min(committed.records.len());
                left -= committed.may_be_freed;
            }
            self.passed();
            on(self.history.truncate_all(&self.bed.rsegs))?;
            if everything {
                self.model.history.clear();
                self.fetched = 0;
                self.passed();
                assert_eq!(self.bed.rsegs.history_len(), 0);
            }
        }
        Ok(())
    }

    fn durable(&mut self) -> Step {
        if !self.bed.make_durable() {
            return Err(Off);
        }
        let last = self.states.pop().unwrap();
        self.states = vec![last];
        Ok(())
    }
}

/// What opening found, the history by reading it.
fn found(bed: &Bed, transactions: &[FoundTrx]) -> Model {
    let mut model = Model::default();
    for trx in transactions {
        let mut records: Records = Vec::new();
        for log in trx.undo.logs() {
            let mut no = Some(log.first_page());
            while let Some(page_no) = no {
                let id = bed.rsegs.rseg(trx.undo.rseg.unwrap()).page(page_no);
                let page = bed.storage.pool().get_shared(id).unwrap();
                let view = UndoPage::new(&page).unwrap();
                for record in view.records_of(log.header_on(page_no)).unwrap().iter() {
                    let (offset, body) = record.unwrap();
                    let place = vaquita_format::undo::UndoPlace {
                        insert: log.kind == UndoKind::Insert,
                        rseg: trx.undo.rseg.unwrap().0,
                        page: page_no,
                        offset,
                    };
                    records.push((place.encode(), body.to_vec()));
                }
                no = view.node().next.some().map(|a| a.page);
            }
        }
        records.sort_by_key(|(_, body)| UndoHeader::parse(body).unwrap().undo_no);
        assert_eq!(trx.undo.next_no(), records.len() as u64, "numbered from 0 without gaps");
        assert_eq!(trx.prepared, trx.xid.is_some());
        let unfinished = Unfinished { records, prepared: trx.xid, dict_operation: trx.dict_operation };
        model.unfinished.insert(trx.id.get(), unfinished);
    }
    let mut out = Vec::new();
    History::default().fetch_below(&bed.rsegs, EVERYTHING, 1_000_000, &mut out).unwrap();
    assert!(out.is_sorted_by_key(|r| r.trx_no), "in the order of commit");
    for record in out {
        let committed = model.history.entry(record.trx_no.get()).or_insert_with(|| Committed {
            trx_id: record.trx_id.get(),
            records: Vec::new(),
            may_be_freed: 0,
        });
        assert_eq!(committed.trx_id, record.trx_id.get());
        committed.records.push((record.place, record.undo.body().to_vec()));
    }
    model
}

/// Ends all transactions, one way or the other, and purges.
fn bring_to_an_end(bed: &Bed, transactions: &mut [FoundTrx], model: &Model, mut no: u64, others: usize) {
    for trx in transactions.iter_mut() {
        no += 1;
        if !trx.prepared {
            let mut expected = model.unfinished[&trx.id.get()].records.clone();
            expected.reverse();
            assert_eq!(bed.roll_back(&mut trx.undo, 0), expected);
        }
        bed.commit(&mut trx.undo, no);
    }
    // Life goes on.
    for n in 0..5 {
        let mut trx = TrxUndo::default();
        for _ in 0..20 {
            bed.append(&mut trx, no + 1, UndoKind::Update, 100 * n);
            bed.append(&mut trx, no + 1, UndoKind::Insert, 100 * n);
        }
        bed.commit(&mut trx, no + 2);
        no += 2;
    }
    bed.purge_all(&mut History::default());
    bed.check_idle(others);
}

#[test]
fn random_transactions_without_a_crash() {
    for seed in 0..12 {
        let bed = Bed::new(4_096, 400, 3, seed);
        let others = bed.other_segments();
        let mut run = Run::new(bed, seed, false);
        for _ in 0..600 {
            assert!(run.step().is_ok());
        }
        let Run { bed, mut open, model, mut history, next, .. } = run;
        for (id, trx) in &mut open {
            let mut expected = model.unfinished[id].records.clone();
            expected.reverse();
            bed.rsegs.unprepare(trx).unwrap();
            assert_eq!(bed.roll_back(trx, 0), expected);
            bed.commit(trx, next + id);
        }
        bed.purge_all(&mut history);
        bed.check_idle(others);
    }
}

#[test]
fn power_cuts_leave_a_state_that_was_passed() {
    let (mut cuts, mut unfinished, mut histories) = (0, 0, 0);
    for seed in 0..SEEDS {
        // Few frames: pages are evicted, and written, all the time.
        let frames = if seed % 3 == 0 { 60 } else { 300 };
        let bed = Bed::new(4_096, frames, 1 + seed as usize % 4, seed);
        let others = bed.other_segments();
        assert!(bed.make_durable());
        let mut run = Run::new(bed, seed, true);
        let ops = run.bed.disk.ops();
        run.bed.disk.arm_cut(ops + 5 + run.rng.below(150));
        for _ in 0..1_500 {
            if run.step().is_err() {
                break;
            }
        }
        cuts += u32::from(run.bed.disk.is_off());
        if !run.bed.disk.is_off() {
            run.bed.disk.power_cut();
        }
        let disk = run.bed.disk.restart();
        let Run { bed, states, next, .. } = run;
        drop(bed);

        let (bed, mut transactions) = Bed::open(disk, 4_096, 300, 1 + seed as usize % 4);
        let model = found(&bed, &transactions);
        assert!(
            states.iter().any(|s| s.is(&model)),
            "seed {seed}: found {:?}\nexpected one of {} states",
            model.unfinished.keys(),
            states.len()
        );
        assert!(bed.rsegs.greatest_id().get() < next);
        unfinished += model.unfinished.len();
        histories += model.history.len();
        bring_to_an_end(&bed, &mut transactions, &model, next, others);
    }
    assert!(cuts > 80 && unfinished > 250 && histories > 150, "{cuts} {unfinished} {histories}");
}
