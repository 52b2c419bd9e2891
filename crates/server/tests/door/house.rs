//! A house with very few statements, to test the door without a database.
//!
//! | statement | |
//! |---|---|
//! | `ECHO text` | one row, one column |
//! | `ROWS n length` | n rows of a number and a text of that length |
//! | `TWO` | two results |
//! | `WAIT` | waits for a lock until somebody says `WAKE`; killed: 1317 |
//! | `WAKE` | ends all waits |
//! | `WORK` | three stages of a third of a second each, which can be watched; then OK |
//! | `WORKS` | two results, for each of which it works |
//! | `FILE name` | asks the client for a file, tells its length and the sum of its bytes |
//! | `FAIL` | 1146 |
//! | `ID` | the connection's number |
//! | `KILL n` | ends a connection |
//! | `SELECT * FROM t LIMIT 0` | the columns of the row above |
//!
//! Prepared statements: `ADD ? ?` gives both parameters back as they came.

use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use vaquita_engine::WaitFor;
use vaquita_server::backend::{Backend, Client, DoorLimits, Happening, Hooks, Report, SessionLimits, Watch};
use vaquita_sql::accounts::{Account, Demand};
use vaquita_sql::password::{CACHING_SHA2, NATIVE, native_stored, sha2_stored};
use vaquita_sql::types::{Kind, SqlType};
use vaquita_sql::{
    ColumnMeta, Completion, ConnectInfo, Prepared, ResultSink, SqlError, SqlResult, Transport, Value,
};

/// The house.
#[derive(Clone, Default)]
pub(crate) struct House(Arc<Rooms>);

impl std::ops::Deref for House {
    type Target = Rooms;

    fn deref(&self) -> &Rooms {
        &self.0
    }
}

/// What is in it.
#[derive(Default)]
pub(crate) struct Rooms {
    pub(crate) door: Mutex<DoorLimits>,
    pub(crate) session: Mutex<SessionLimits>,
    ids: AtomicU32,
    pub(crate) waits: Waits,
    kills: Mutex<HashMap<u32, Hooks>>,
    /// REQUIRE of all accounts.
    pub(crate) demand: Mutex<Demand>,
    pub(crate) infos: Mutex<Vec<ConnectInfo>>,
    pub(crate) sessions_ended: AtomicU64,
    pub(crate) aborted_connects: AtomicU64,
    pub(crate) aborted_clients: AtomicU64,
    pub(crate) too_many: AtomicU64,
}

#[derive(Default)]
pub(crate) struct Waits {
    state: Mutex<WaitState>,
    changed: Condvar,
}

#[derive(Default)]
struct WaitState {
    wakes: u64,
    waiting: usize,
    killed: Vec<u32>,
}

impl Waits {
    fn wake(&self) {
        self.state.lock().wakes += 1;
        self.changed.notify_all();
    }

    /// Until so many statements wait.
    pub(crate) fn until_waiting(&self, n: usize) {
        let mut state = self.state.lock();
        while state.waiting < n {
            self.changed.wait(&mut state);
        }
    }

    fn wait(&self, id: u32) -> SqlResult<()> {
        let mut state = self.state.lock();
        let before = state.wakes;
        state.waiting += 1;
        self.changed.notify_all();
        while state.wakes == before && !state.killed.contains(&id) {
            self.changed.wait(&mut state);
        }
        state.waiting -= 1;
        if state.wakes == before {
            return Err(SqlError {
                code: 1317,
                sqlstate: "70100".into(),
                message: "Query execution was interrupted".into(),
            });
        }
        Ok(())
    }
}

impl House {
    pub(crate) fn new() -> House {
        let house = House::default();
        house.door.lock().max_connections = 2000;
        house
    }
}

impl Backend for House {
    fn reserve_id(&self) -> u32 {
        self.ids.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn account(&self, user: &str, host: &str, _: &Transport) -> Option<Account> {
        let (plugin, authentication) = match user {
            "root" | "locked" | "expired" => (NATIVE, Vec::new()),
            "native" => (NATIVE, native_stored(b"secret")),
            "sha" => (CACHING_SHA2, sha2_stored(b"secret", b"abcdefghijklmnopqrst")),
            "shaempty" => (CACHING_SHA2, Vec::new()),
            _ => return None,
        };
        Some(Account {
            user: user.into(),
            host: host.into(),
            plugin: plugin.into(),
            authentication,
            demand: self.demand.lock().clone(),
            password_expired: user == "expired",
            locked: user == "locked",
            unchecked: false,
        })
    }

    fn method_by(&self, draw: u64) -> String {
        if draw.is_multiple_of(2) { NATIVE.into() } else { CACHING_SHA2.into() }
    }

    fn connect(&self, info: ConnectInfo, hooks: Hooks) -> SqlResult<Box<dyn Client>> {
        let id = info.id.unwrap_or_default();
        check_database(info.database.as_deref())?;
        self.infos.lock().push(info);
        self.kills.lock().insert(id, hooks.clone());
        let working = Arc::default();
        Ok(Box::new(Guest { house: self.clone(), id, hooks, statements: HashMap::new(), working }))
    }

    fn kill(&self, id: u32) {
        let mut state = self.waits.state.lock();
        state.killed.push(id);
        self.waits.changed.notify_all();
    }

    fn limits(&self) -> DoorLimits {
        *self.door.lock()
    }

    fn collation(&self) -> u16 {
        45
    }

    fn count(&self, what: Happening) {
        let counter = match what {
            Happening::AbortedConnect => &self.aborted_connects,
            Happening::AbortedClient => &self.aborted_clients,
            Happening::TooMany => &self.too_many,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

fn check_database(name: Option<&str>) -> SqlResult<()> {
    match name {
        None | Some("test") => Ok(()),
        Some(other) => Err(SqlError {
            code: 1049,
            sqlstate: "42000".into(),
            message: format!("Unknown database '{other}'").into(),
        }),
    }
}

struct Guest {
    house: House,
    id: u32,
    hooks: Hooks,
    statements: HashMap<u32, u16>,
    /// The stage it is at.
    working: Arc<AtomicU32>,
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.house.sessions_ended.fetch_add(1, Ordering::Relaxed);
    }
}

fn column(name: &str, ty: SqlType) -> ColumnMeta {
    let text = |t: &str| t.as_bytes().into();
    ColumnMeta {
        schema: text("test"),
        table: text("t"),
        org_table: text("t"),
        name: text(name),
        org_name: text(name),
        ty,
        flags: 0,
    }
}

fn text_columns(name: &str) -> Arc<[ColumnMeta]> {
    [column(name, SqlType::varchar(100, 45))].into()
}

fn done() -> Completion {
    Completion { status: 2, ..Completion::default() }
}

fn one(sink: &mut dyn ResultSink, text: &[u8], status: u16) -> SqlResult<()> {
    sink.columns(&text_columns("text"))?;
    sink.row(&[Value::bytes(text)])?;
    sink.end(Completion { status, ..done() })
}

impl Guest {
    fn work(&self) {
        for stage in [1, 2, 3, 0] {
            self.working.store(stage, Ordering::Relaxed);
            if stage > 0 {
                std::thread::sleep(Duration::from_millis(350));
            }
        }
    }

    fn rows(&self, words: &[&str], sink: &mut dyn ResultSink) -> SqlResult<()> {
        let number = |i: usize| words.get(i).and_then(|w| w.parse().ok()).unwrap_or(1_usize);
        let text = vec![b'x'; number(2)];
        let columns: Arc<[ColumnMeta]> =
            [column("n", SqlType::new(Kind::Int)), column("text", SqlType::varchar(100, 45))].into();
        sink.columns(&columns)?;
        for n in 0..number(1) {
            sink.row(&[Value::bytes(n.to_string().as_bytes()), Value::bytes(&text)])?;
            if sink.is_full() {
                sink.flush()?;
            }
        }
        sink.end(done())
    }

    fn file(&self, name: &str, sink: &mut dyn ResultSink) -> SqlResult<()> {
        let (mut bytes, mut sum) = (0, 0_u64);
        sink.local_infile(name.as_bytes(), &mut |piece| {
            bytes += piece.len();
            sum += piece.iter().map(|&b| u64::from(b)).sum::<u64>();
            if bytes > 1 << 20 { Err(SqlError::new(1105, "that is enough")) } else { Ok(()) }
        })?;
        sink.end(Completion { affected_rows: bytes as u64, insert_id: sum, ..done() })
    }
}

impl Client for Guest {
    fn statistics(&mut self) -> String {
        "Uptime: 1  Threads: 1".into()
    }

    fn query(&mut self, sql: &[u8], sink: &mut dyn ResultSink) -> SqlResult<()> {
        let text = String::from_utf8_lossy(sql).into_owned();
        let words: Vec<&str> = text.split(' ').collect();
        match words[0] {
            "ECHO" => one(sink, text.strip_prefix("ECHO ").unwrap_or("").as_bytes(), 2),
            "ROWS" => self.rows(&words, sink),
            "TWO" => {
                one(sink, b"first", 2 | 8)?;
                one(sink, b"second", 2)
            }
            "WORK" => {
                self.work();
                sink.end(done())
            }
            "WORKS" => {
                self.work();
                sink.end(Completion { status: 2 | 8, ..done() })?;
                self.work();
                one(sink, b"second", 2)
            }
            "WAIT" => {
                self.hooks.wait.before(WaitFor::Lock);
                self.house.waits.wait(self.id)?;
                self.hooks.wait.after(WaitFor::Lock);
                sink.end(done())
            }
            "WAKE" => {
                self.house.waits.wake();
                sink.end(done())
            }
            "FILE" => self.file(words[1], sink),
            "ID" => one(sink, self.id.to_string().as_bytes(), 2),
            "KILL" => {
                let id: u32 = words[1].parse().unwrap_or(0);
                Backend::kill(&self.house, id);
                let hooks = self.house.kills.lock().get(&id).cloned();
                if let Some(hooks) = hooks {
                    (hooks.kill)();
                }
                sink.end(done())
            }
            "FAIL" => Err(SqlError {
                code: 1146,
                sqlstate: "42S02".into(),
                message: format!("Table 'test.{}' doesn't exist", words.get(1).unwrap_or(&"x")).into(),
            }),
            "SHUTDOWN" | "FLUSH" | "SET" | "SELECT" if words.get(1) != Some(&"*") => sink.end(done()),
            "SELECT" => {
                sink.columns(&text_columns("text"))?;
                sink.end(done())
            }
            _ => Err(SqlError { code: 1064, sqlstate: "42000".into(), message: "syntax".into() }),
        }
    }

    fn watch(&self) -> Option<Watch> {
        let working = self.working.clone();
        Some(Arc::new(move || {
            let stage = working.load(Ordering::Relaxed);
            let report = Report { stage, stages: 3, done: stage.into(), of: 8, what: "at work" };
            (stage > 0).then_some(report)
        }))
    }

    fn prepare(&mut self, sql: &[u8]) -> SqlResult<Prepared> {
        let params = sql.iter().filter(|&&b| b == b'?').count() as u16;
        let id = self.statements.len() as u32 + 1;
        self.statements.insert(id, params);
        let columns: Arc<[ColumnMeta]> =
            (0..params).map(|i| column(&format!("p{i}"), SqlType::varchar(100, 45))).collect();
        Ok(Prepared { id, params, columns, warnings: 0 })
    }

    fn execute(&mut self, id: u32, params: &[Value<'_>], sink: &mut dyn ResultSink) -> SqlResult<()> {
        let count = self.statements.get(&id).copied().unwrap_or(0);
        assert_eq!(params.len(), usize::from(count));
        let types = params.iter().enumerate().map(|(i, value)| {
            let ty = match value {
                Value::Int(_) => SqlType::bigint(false),
                Value::UInt(_) => SqlType::bigint(true),
                Value::Double(_) => SqlType::double(),
                Value::Date(_) => SqlType::new(Kind::Date),
                Value::DateTime(_) => SqlType::new(Kind::DateTime),
                Value::Time(_) => SqlType::new(Kind::Time),
                _ => SqlType::varchar(100, 45),
            };
            column(&format!("p{i}"), ty)
        });
        sink.columns(&types.collect())?;
        sink.row(params)?;
        sink.row(params)?;
        sink.row(params)?;
        sink.end(done())
    }

    fn close_statement(&mut self, id: u32) {
        self.statements.remove(&id);
    }

    fn use_database(&mut self, name: &str) -> SqlResult<()> {
        check_database(Some(name))
    }

    fn reset(&mut self) -> SqlResult<()> {
        self.statements.clear();
        Ok(())
    }

    fn change_user(&mut self, info: ConnectInfo) -> SqlResult<()> {
        check_database(info.database.as_deref())?;
        self.statements.clear();
        self.house.infos.lock().push(info);
        Ok(())
    }

    fn set_multi_statements(&mut self, _: bool) {}

    fn status_flags(&self) -> u16 {
        2
    }

    fn limits(&self) -> SessionLimits {
        *self.house.session.lock()
    }

    fn message<'m>(&self, message: &'m str) -> std::borrow::Cow<'m, [u8]> {
        message.replace('ä', "ae").into_bytes().into()
    }

    fn note_error(&mut self, _: &SqlError) {}

    fn check_debug(&mut self) -> SqlResult<()> {
        Ok(())
    }

    fn count_bytes(&mut self, _: u64, _: u64) {}
}
