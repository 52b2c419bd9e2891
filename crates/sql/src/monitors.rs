//! The counters of INNODB_METRICS, which statements switch on and off and set to zero (`innodb_monitor_enable`, `_disable`,
//! `_reset`, `_reset_all`).
//!
//! The engine counts always; what is shown is what it counted while the counter was on. Names, modules and which counters are on
//! by default are MySQL 5.6's, as far as there is something to count here.

use self::Kind::{Counter as C, Status as S, Value as V};
use parking_lot::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use vaquita_session::privilege::pattern::like;

/// What can be asked of counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Count from now on.
    Enable,
    /// Count no longer.
    Disable,
    /// Begin anew with what counts since the last reset.
    Reset,
    /// Begin anew with everything. Only of counters that are off.
    ResetAll,
}

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It only grows.
    Counter,
    /// The same; SHOW STATUS has it too.
    Status,
    /// It goes up and down.
    Value,
}

impl Kind {
    /// As INNODB_METRICS has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Status => "status_counter",
            Kind::Value => "value",
        }
    }
}

/// A counter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Def {
    pub(crate) name: &'static str,
    /// What it belongs to; `module_` and this is the name of all of them, except where MySQL has another.
    pub(crate) subsystem: &'static str,
    pub(crate) kind: Kind,
    /// Whether it is on unless somebody says otherwise.
    on: bool,
    pub(crate) comment: &'static str,
}

const fn d(name: &'static str, subsystem: &'static str, kind: Kind, on: bool, comment: &'static str) -> Def {
    Def { name, subsystem, kind, on, comment }
}

/// All of them, in the order of their names.
#[rustfmt::skip]
const DEFS: &[Def] = &[
    d("buffer_pool_reads", "buffer", S, true, "Number of reads directly from disk (innodb_buffer_pool_reads)"),
    d("ddl_sort_file_alter_table", "ddl", C, false, "Number of temporary files of index builds"),
    d("dml_deletes", "dml", S, true, "Number of rows deleted"),
    d("dml_inserts", "dml", S, true, "Number of rows inserted"),
    d("dml_reads", "dml", S, true, "Number of rows read"),
    d("dml_updates", "dml", S, true, "Number of rows updated"),
    d("lock_deadlocks", "lock", C, true, "Number of deadlocks"),
    d("lock_memory_bytes", "lock", V, false, "Bytes that locks take at present"),
    d("lock_rec_lock_waits", "lock", C, false, "Number of times enqueued into record lock wait queue"),
    d("lock_rec_locks", "lock", V, false, "Current number of record locks on tables"),
    d("lock_row_lock_current_waits", "lock", V, true, "Number of row locks currently being waited for (innodb_row_lock_current_waits)"),
    d("lock_row_lock_time", "lock", S, true, "Time spent in acquiring row locks, in milliseconds (innodb_row_lock_time)"),
    d("lock_row_lock_time_max", "lock", V, true, "The maximum time to acquire a row lock, in milliseconds (innodb_row_lock_time_max)"),
    d("lock_timeouts", "lock", C, true, "Number of lock timeouts"),
    d("log_lsn_current", "recovery", V, false, "Current LSN value"),
    d("log_lsn_last_checkpoint", "recovery", V, false, "LSN at last checkpoint"),
    d("log_lsn_last_flush", "recovery", V, false, "LSN of Last flush"),
    d("log_syncs", "recovery", C, false, "Number of syncs of the redo log"),
    d("metadata_table_handles", "metadata", V, false, "Number of tables in memory"),
    d("metadata_table_handles_opened", "metadata", C, false, "Number of table handles opened"),
    d("purge_dml_delay_usec", "purge", C, false, "Microseconds DML was delayed due to purge lagging"),
    d("purge_invoked", "purge", C, false, "Number of times purge was invoked"),
    d("purge_trx_no_limit", "purge", V, false, "Undo logs of transactions with lower numbers are purged"),
    d("purge_undo_records", "purge", C, false, "Number of undo records purged"),
    d("trx_active_transactions", "transaction", V, false, "Number of active transactions"),
    d("trx_read_views_opened", "transaction", C, false, "Number of read views opened"),
    d("trx_ro_commits", "transaction", C, false, "Number of read-only transactions committed"),
    d("trx_rollbacks", "transaction", C, false, "Number of transactions rolled back"),
    d("trx_rseg_history_len", "transaction", V, true, "Length of the TRX_RSEG_HISTORY list"),
    d("trx_rw_commits", "transaction", C, false, "Number of read-write transactions committed"),
];

impl Def {
    fn is_of_module(&self, name: &str) -> bool {
        let module = match self.subsystem {
            "recovery" => "log",
            "transaction" => "trx",
            same => same,
        };
        name.strip_prefix("module_") == Some(module)
    }
}

/// How a counter is.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    on: bool,
    /// What the engine had counted when it was switched on.
    began: u64,
    /// What was counted before that; of a value, how it was when it was switched off.
    kept: u64,
    /// What was counted when it was reset.
    reset: u64,
    /// Whether nothing was counted since.
    is_reset: bool,
    enabled_at: Option<SystemTime>,
    disabled_at: Option<SystemTime>,
    reset_at: Option<SystemTime>,
}

/// A line of INNODB_METRICS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) def: &'static Def,
    pub(crate) on: bool,
    pub(crate) count: u64,
    /// The largest; of a value nobody has looked.
    pub(crate) max: Option<u64>,
    pub(crate) average: Option<f64>,
    pub(crate) count_reset: u64,
    pub(crate) max_reset: Option<u64>,
    pub(crate) average_reset: Option<f64>,
    /// Seconds since 1970.
    pub(crate) enabled_s: Option<i64>,
    pub(crate) disabled_s: Option<i64>,
    pub(crate) elapsed_s: Option<u64>,
    pub(crate) reset_s: Option<i64>,
}

/// The counters of a folder.
#[derive(Debug)]
pub(crate) struct Monitors(Mutex<Vec<State>>);

impl Default for Monitors {
    fn default() -> Self {
        let now = SystemTime::now();
        let state = |def: &Def| State { on: def.on, enabled_at: def.on.then_some(now), ..State::default() };
        Monitors(Mutex::new(DEFS.iter().map(state).collect()))
    }
}

/// What the engine has counted.
type Raw = [(&'static str, u64)];

fn of(raw: &Raw, def: &Def) -> u64 {
    raw.iter().find(|(name, _)| *name == def.name).map_or(0, |(_, value)| *value)
}

impl Monitors {
    /// Does something to the counters of that name: one's own, a module's (`module_dml`), a pattern with `%`, or `all`. `false`:
    /// there are none of it.
    pub(crate) fn ask(&self, what: Ask, name: &str, raw: &Raw) -> bool {
        let name = name.to_ascii_lowercase();
        let meant = |def: &Def| match name.as_str() {
            "all" => true,
            _ if name.contains('%') => like(&name, def.name, true),
            _ => def.name == name || def.is_of_module(&name),
        };
        let mut any = false;
        for (def, state) in DEFS.iter().zip(self.0.lock().iter_mut()).filter(|(def, _)| meant(def)) {
            any = true;
            state.ask(what, def, of(raw, def));
        }
        any
    }

    /// All of them.
    pub(crate) fn lines(&self, raw: &Raw) -> Vec<Line> {
        let states = self.0.lock();
        DEFS.iter().zip(states.iter()).map(|(def, state)| state.line(def, of(raw, def))).collect()
    }
}

impl State {
    fn count(&self, def: &Def, raw: u64) -> u64 {
        match (self.on, def.kind) {
            (false, _) => self.kept,
            (true, Kind::Value) => raw,
            (true, _) => self.kept + raw.saturating_sub(self.began),
        }
    }

    fn ask(&mut self, what: Ask, def: &Def, raw: u64) {
        let now = Some(SystemTime::now());
        match what {
            Ask::Enable if !self.on => {
                (self.on, self.began) = (true, raw);
                (self.enabled_at, self.disabled_at) = (now, None);
            }
            Ask::Disable if self.on => {
                self.kept = self.count(def, raw);
                (self.on, self.disabled_at) = (false, now);
            }
            Ask::Reset => {
                self.reset = self.count(def, raw);
                (self.is_reset, self.reset_at) = (true, now);
            }
            Ask::ResetAll if !self.on => *self = State::default(),
            Ask::Enable | Ask::Disable | Ask::ResetAll => {}
        }
    }

    fn line(&self, def: &'static Def, raw: u64) -> Line {
        let now = SystemTime::now();
        let until = self.disabled_at.unwrap_or(now);
        let since = |at: Option<SystemTime>| at.map(|at| until.duration_since(at).unwrap_or_default());
        let count = self.count(def, raw);
        let count_reset = match def.kind {
            Kind::Value => count,
            _ => count.saturating_sub(self.reset),
        };
        let grows = def.kind != Kind::Value;
        let was_on = self.enabled_at.is_some();
        let average = |count: u64, time: Option<Duration>| {
            let seconds = time.filter(|_| grows)?.as_secs();
            (seconds > 0).then(|| count as f64 / seconds as f64)
        };
        let elapsed = since(self.enabled_at);
        let stamp = |at: Option<SystemTime>| {
            at.map(|at| at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64)
        };
        Line {
            def,
            on: self.on,
            count,
            max: (grows && was_on).then_some(count),
            average: average(count, elapsed),
            count_reset,
            max_reset: (grows && was_on && !(self.is_reset && count_reset == 0)).then_some(count_reset),
            average_reset: average(count_reset, since(self.reset_at)),
            enabled_s: stamp(self.enabled_at),
            disabled_s: stamp(self.disabled_at),
            elapsed_s: elapsed.map(|time| time.as_secs()),
            reset_s: stamp(self.reset_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(monitors: &Monitors, name: &str, raw: &Raw) -> Line {
        *monitors.lines(raw).iter().find(|line| line.def.name == name).unwrap()
    }

    #[test]
    fn names_are_in_order_and_none_is_twice() {
        assert!(DEFS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn what_counts_while_it_is_off_does_not_count() {
        let monitors = Monitors::default();
        let counted = |n| [("dml_inserts", n)];
        let seen = |n| {
            let line = line(&monitors, "dml_inserts", &counted(n));
            (line.on, line.count, line.count_reset, line.max, line.max_reset)
        };
        assert_eq!(seen(3), (true, 3, 3, Some(3), Some(3)));
        assert!(monitors.ask(Ask::Disable, "module_DML", &counted(3)));
        assert_eq!(seen(9), (false, 3, 3, Some(3), Some(3)));
        assert!(monitors.ask(Ask::Reset, "dml_inserts", &counted(9)));
        assert_eq!(seen(9), (false, 3, 0, Some(3), None));
        assert!(monitors.ask(Ask::Enable, "dml%", &counted(9)));
        assert_eq!(seen(11), (true, 5, 2, Some(5), Some(2)));
        // While it is on, not everything is forgotten.
        assert!(monitors.ask(Ask::ResetAll, "all", &counted(11)));
        assert_eq!(seen(11), (true, 5, 2, Some(5), Some(2)));
        assert!(monitors.ask(Ask::Disable, "%", &counted(11)));
        assert!(monitors.ask(Ask::ResetAll, "dml_inserts", &counted(11)));
        assert_eq!(seen(20), (false, 0, 0, None, None));
        for name in ["zzz", "zz%", "module_zzz", "dml_in_erts", "", "module_"] {
            assert!(!monitors.ask(Ask::Enable, name, &counted(0)), "{name}");
        }
    }

    #[test]
    fn values_are_what_they_are() {
        let monitors = Monitors::default();
        let raw = [("trx_rseg_history_len", 7), ("lock_rec_locks", 9)];
        let on = line(&monitors, "trx_rseg_history_len", &raw);
        assert_eq!((on.count, on.count_reset, on.max), (7, 7, None));
        let off = line(&monitors, "lock_rec_locks", &raw);
        assert_eq!((off.on, off.count, off.enabled_s), (false, 0, None));
    }
}
