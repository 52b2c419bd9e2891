//! Loops with a small door: lines are echoed, some of them later.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use vaquita_net::{
    Accepted, Buffer, Channel, Connection, Door, Listener, Loops, Next, Place, Received, Scratch, Trouble,
    hand_over, hand_over_for_page,
};

/// What happens behind the door.
#[derive(Default)]
struct House {
    ids: AtomicU32,
    inside: AtomicUsize,
    interrupted: AtomicUsize,
    timed_out: AtomicUsize,
    waits: Mutex<Waits>,
    released: Condvar,
    /// What is to become durable does so in no time.
    is_quick: AtomicBool,
    /// Threads that wait for it, or have.
    durable_waits: AtomicUsize,
    /// Who keeps the loop is relieved of it.
    is_watched: bool,
}

#[derive(Default)]
struct Waits {
    /// How many of those who wait may go on.
    passes: usize,
    waiting: usize,
    /// Those who wait for something to become durable.
    wakers: Vec<Waker>,
    durable: u64,
    wanted: u64,
}

impl House {
    fn waits(&self) -> std::sync::MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self) {
        let mut waits = self.waits();
        waits.waiting += 1;
        while waits.passes == 0 {
            waits = self.released.wait(waits).unwrap_or_else(PoisonError::into_inner);
        }
        waits.passes -= 1;
        waits.waiting -= 1;
    }

    fn release(&self, passes: usize) {
        self.waits().passes += passes;
        self.released.notify_all();
    }

    /// Everything is durable.
    fn sync(&self) {
        let mut waits = self.waits();
        waits.durable = waits.wanted;
        let wakers = std::mem::take(&mut waits.wakers);
        drop(waits);
        wakers.into_iter().for_each(Waker::wake);
        self.released.notify_all();
    }
}

impl Door for House {
    type Connection = Client;

    fn admit(self: &Arc<Self>, accepted: Accepted, place: Place<Client>) -> Option<Client> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        Some(Client {
            house: self.clone(),
            place,
            id: self.ids.fetch_add(1, Ordering::SeqCst),
            channel: Channel::new(accepted.fd),
            input: Buffer::default(),
            held: VecDeque::new(),
            durable: None,
            repeat: 0,
            hung_up: false,
            doomed: false,
        })
    }

    fn turn_away(&self, accepted: Accepted) {
        let _ = rustix::net::send(&accepted.fd, b"no", rustix::net::SendFlags::NOSIGNAL);
    }

    fn interrupt(&self, _: u32) {
        self.interrupted.fetch_add(1, Ordering::SeqCst);
        self.release(1);
    }

    fn look(&self) -> Option<Duration> {
        self.is_watched.then_some(Duration::from_millis(1))
    }

    fn trouble(&self, trouble: &Trouble) {
        panic!("{trouble:?}");
    }
}

struct Client {
    house: Arc<House>,
    place: Place<Client>,
    id: u32,
    channel: Channel,
    input: Buffer,
    held: VecDeque<u8>,
    durable: Option<u64>,
    repeat: u32,
    hung_up: bool,
    doomed: bool,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.house.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Default)]
struct Lines {
    out: Vec<u8>,
    raw: Vec<u8>,
}

impl Scratch for Lines {
    fn shrink(&mut self) {}
}

impl Client {
    fn line(&mut self, line: &str, out: &mut Vec<u8>) -> bool {
        match line.split_at(1) {
            ("e", text) => out.extend_from_slice(format!("{text}\n").as_bytes()),
            ("w", text) => {
                hand_over();
                self.house.wait();
                out.extend_from_slice(format!("{text} waited\n").as_bytes());
            }
            ("s", text) => {
                self.house.wait();
                out.extend_from_slice(format!("{text} stuck\n").as_bytes());
            }
            ("p", pages) => {
                (0..pages.parse().expect("a number")).for_each(|_| hand_over_for_page());
                self.house.wait();
                out.extend_from_slice(format!("{pages} pages\n").as_bytes());
            }
            ("d", text) => {
                let mut waits = self.house.waits();
                waits.wanted += 1;
                self.durable = Some(waits.wanted);
                out.extend_from_slice(format!("{text} durable\n").as_bytes());
            }
            ("r", n) => self.repeat = n.parse().expect("a number"),
            ("k", _) => self.place.kill(),
            ("t", _) => out.extend_from_slice(format!("{:?}\n", std::thread::current().id()).as_bytes()),
            _ => return false,
        }
        true
    }
}

impl Connection for Client {
    type Scratch = Lines;

    fn id(&self) -> u32 {
        self.id
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.channel.fd()
    }

    fn serve(&mut self, scratch: &mut Lines) -> Next {
        scratch.out.clear();
        scratch.out.extend(self.held.drain(..));
        if self.doomed {
            return Next::Closed;
        }
        if self.repeat > 0 {
            self.repeat -= 1;
            scratch.out.extend_from_slice(b"again\n");
        }
        let mut ended = false;
        loop {
            let received = self.channel.receive(&mut self.input, &mut scratch.raw);
            while let Some(n) = self.input.bytes().iter().position(|&b| b == b'\n') {
                let range = self.input.take(n + 1);
                let line = String::from_utf8_lossy(&self.input.get(&range)[..n]).into_owned();
                if !self.line(&line, &mut scratch.out) {
                    return Next::Closed;
                }
            }
            match received {
                Ok(Received::Bytes(more)) if more || self.hung_up => {}
                Ok(Received::Bytes(_) | Received::Nothing) => break,
                Ok(Received::End) | Err(_) => {
                    ended = true;
                    break;
                }
            }
        }
        if self.durable.is_some() {
            self.held.extend(scratch.out.drain(..));
            return Next::Durable;
        }
        match self.channel.send(&mut scratch.out) {
            _ if ended => Next::Closed,
            Err(_) => Next::Closed,
            Ok(false) => Next::Write,
            Ok(true) if self.repeat > 0 => Next::Again,
            Ok(true) => Next::Read,
        }
    }

    fn patience_s(&self, _: Next) -> u64 {
        if self.id == 0 { 0 } else { 1000 }
    }

    fn hang_up(&mut self) {
        self.hung_up = true;
    }

    fn doom(&mut self) {
        self.doomed = true;
    }

    fn time_out(&mut self) {
        self.house.timed_out.fetch_add(1, Ordering::SeqCst);
    }

    fn poll_durable(&mut self, waker: &Waker) -> Poll<()> {
        let mut waits = self.house.waits();
        if self.durable.is_some_and(|wanted| wanted > waits.durable) {
            waits.wakers.push(waker.clone());
            return Poll::Pending;
        }
        self.durable = None;
        Poll::Ready(())
    }

    fn waits_shortly(&self) -> bool {
        self.house.is_quick.load(Ordering::SeqCst)
    }

    fn wait_durable(&mut self) {
        self.house.durable_waits.fetch_add(1, Ordering::SeqCst);
        let mut waits = self.house.waits();
        while self.durable.is_some_and(|wanted| wanted > waits.durable) {
            waits = self.house.released.wait(waits).unwrap_or_else(PoisonError::into_inner);
        }
        self.durable = None;
    }
}

struct Open {
    house: Arc<House>,
    loops: Loops<House>,
    addr: SocketAddr,
    file: PathBuf,
}

/// A test that waits for so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn open(loops: usize) -> Open {
    open_house(loops, House::default())
}

fn open_house(loops: usize, house: House) -> Open {
    let listener = Listener::tcp(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    let addr = listener.local_addr().expect("an address");
    static FILES: AtomicU32 = AtomicU32::new(0);
    let name = format!("vaquita-echo-{}-{}", std::process::id(), FILES.fetch_add(1, Ordering::SeqCst));
    let file = std::env::temp_dir().join(name);
    let at_file = Listener::unix(&file, 0o600).expect("a socket file");
    let house = Arc::new(house);
    // Number 0 is the impatient one.
    house.ids.store(1, Ordering::SeqCst);
    let loops = Loops::start(house.clone(), vec![listener, at_file], loops).expect("threads");
    Open { house, loops, addr, file }
}

impl Open {
    fn connect(&self) -> Talk {
        let stream = TcpStream::connect(self.addr).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Talk::new(stream)
    }

    /// A client whose lines are there for the loop once they are said; by TCP they may take their time.
    fn connect_at_once(&self) -> Talk {
        let stream = UnixStream::connect(&self.file).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Talk::new(stream)
    }
}

struct Talk(BufReader<File>);

impl Talk {
    fn new(stream: impl Into<OwnedFd>) -> Talk {
        Talk(BufReader::new(File::from(stream.into())))
    }

    fn say(&mut self, line: &str) {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes()).expect("a send");
    }

    /// The next line; empty at the end.
    fn hear(&mut self) -> String {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(_) => line.trim_end().to_owned(),
            Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => String::new(),
            Err(e) => panic!("{e}"),
        }
    }

    fn ask(&mut self, line: &str) -> String {
        self.say(line);
        self.hear()
    }
}

#[track_caller]
fn until(mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "it does not come true");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn who_waits_gives_the_loop_away() {
    let open = open(1);
    let mut waiting: Vec<Talk> = (0..20).map(|_| open.connect()).collect();
    let mut other = open.connect();
    for (i, talk) in waiting.iter_mut().enumerate() {
        talk.say(&format!("w{i}"));
        talk.say(&format!("e{i} after"));
        assert_eq!(other.ask("ehere"), "here");
    }
    until(|| open.house.waits().waiting == 20);
    assert_eq!(open.loops.threads(), 21);
    open.house.release(20);
    for (i, talk) in waiting.iter_mut().enumerate() {
        assert_eq!((talk.hear(), talk.hear()), (format!("{i} waited"), format!("{i} after")));
    }
}

#[test]
fn who_keeps_the_loop_is_relieved_of_it() {
    let open = open_house(1, House { is_watched: true, ..House::default() });
    let mut stuck: Vec<Talk> = (0..5).map(|_| open.connect()).collect();
    let mut other = open.connect();
    for round in 0..3 {
        for (i, talk) in stuck.iter_mut().enumerate() {
            talk.say(&format!("s{i}"));
            talk.say(&format!("e{i} after"));
            until(|| open.house.waits().waiting == i + 1);
            assert_eq!(other.ask("ehere"), "here");
            assert_eq!(open.connect().ask("enew"), "new");
            assert_eq!(open.house.waits().waiting, i + 1, "it is still held up");
        }
        open.house.release(5);
        for (i, talk) in stuck.iter_mut().enumerate() {
            assert_eq!((talk.hear(), talk.hear()), (format!("{i} stuck"), format!("{i} after")));
        }
        assert_eq!(other.ask(&format!("e{round}")), format!("{round}"));
    }
    // Its client leaves: whoever is held up is told.
    stuck[0].say("s");
    until(|| open.house.waits().waiting == 1);
    drop(stuck.remove(0));
    until(|| open.house.interrupted.load(Ordering::SeqCst) == 1);
}

#[test]
fn a_wait_for_a_page_gives_the_loop_away_if_it_is_wanted() {
    let open = open(1);
    let (mut waiting, mut reading, mut other) = (open.connect(), open.connect(), open.connect());
    assert_eq!(other.ask("ehere"), "here");
    // Nobody wants the loop: it waits itself.
    reading.say("p1");
    until(|| open.house.waits().waiting == 1);
    assert_eq!(open.loops.threads(), 1);
    open.house.release(1);
    assert_eq!(reading.hear(), "1 pages");
    // One page after the other, and others are connected.
    reading.say("p10");
    until(|| open.house.waits().waiting == 1);
    assert_eq!(other.ask("ehere"), "here");
    open.house.release(1);
    assert_eq!(reading.hear(), "10 pages");
    // Somebody is away and will want the loop when he comes back.
    waiting.say("wlong");
    until(|| open.house.waits().waiting == 1);
    reading.say("p1");
    until(|| open.house.waits().waiting == 2);
    assert_eq!(other.ask("ehere"), "here");
    open.house.release(2);
    assert_eq!((waiting.hear(), reading.hear()), ("long waited".into(), "1 pages".into()));
    // They are back: a page is waited for with the loop in hand again.
    reading.say("p1");
    until(|| open.house.waits().waiting == 1);
    assert_ne!(open.loops.threads(), 0);
    open.house.release(1);
    assert_eq!(reading.hear(), "1 pages");
}

#[test]
fn answers_wait_for_the_commit_and_threads_do_not() {
    let open = open(1);
    let mut committing: Vec<Talk> = (0..10).map(|_| open.connect()).collect();
    let mut other = open.connect();
    for round in 0..3 {
        committing.iter_mut().for_each(|talk| talk.say("dx\ney"));
        assert_eq!(other.ask("ehere"), "here");
        until(|| open.house.waits().wanted == 10 * (round + 1));
        assert_eq!(open.loops.threads(), 1);
        // Those who have not asked to be told yet find it durable.
        open.house.sync();
        for talk in &mut committing {
            assert_eq!((talk.hear(), talk.hear()), ("x durable".into(), "y".into()));
        }
    }
}

/// Clients whose lines the loop finds all at once, and one more that has kept it busy until then: if that one left now, the
/// loop would have something else to do.
fn together(open: &Open, lines: &[&str]) -> (Vec<Talk>, Talk) {
    let mut talks: Vec<Talk> = lines.iter().map(|_| open.connect_at_once()).collect();
    talks.iter_mut().for_each(|talk| assert_eq!(talk.ask("ehere"), "here"));
    let mut busy = open.connect_at_once();
    // Nobody wants the loop, so it waits itself.
    busy.say("p1");
    until(|| open.house.waits().waiting == 1);
    talks.iter_mut().zip(lines).for_each(|(talk, line)| talk.say(line));
    open.house.release(1);
    assert_eq!(busy.hear(), "1 pages");
    (talks, busy)
}

#[test]
fn a_short_wait_answers_all_commits_of_the_loop() {
    let open = open(1);
    open.house.is_quick.store(true, Ordering::SeqCst);
    let (mut committing, _busy) = together(&open, &["da"; 5]);
    until(|| open.house.durable_waits.load(Ordering::SeqCst) == 1);
    open.house.sync();
    for talk in &mut committing {
        assert_eq!(talk.hear(), "a durable");
    }
    assert_eq!(open.house.durable_waits.load(Ordering::SeqCst), 1);
    assert!(open.house.waits().wakers.is_empty());
}

#[test]
fn one_commit_tells_for_all_of_the_loop() {
    let open = open(1);
    let (mut committing, _busy) = together(&open, &["da"; 5]);
    until(|| open.house.waits().wanted == 5);
    let mut other = open.connect();
    // The loop does not wait, and whoever comes now is told with the others.
    assert_eq!(other.ask("ehere"), "here");
    assert_eq!(open.house.waits().wakers.len(), 1);
    other.say("db");
    until(|| open.house.waits().wanted == 6);
    // The oldest alone is durable.
    let waker = {
        let mut waits = open.house.waits();
        waits.durable = 1;
        waits.wakers.pop()
    };
    waker.expect("one that is told").wake();
    until(|| open.house.waits().wakers.len() == 1);
    open.house.sync();
    committing.push(other);
    let heard: Vec<String> = committing.iter_mut().map(Talk::hear).collect();
    assert_eq!(heard, ["a durable", "a durable", "a durable", "a durable", "a durable", "b durable"]);
    assert_eq!(open.house.durable_waits.load(Ordering::SeqCst), 0);
}

#[test]
fn turns_are_shared() {
    let open = open(1);
    let (mut long, mut other) = (open.connect(), open.connect());
    long.say("r100000");
    assert_eq!(long.hear(), "again");
    assert_eq!(other.ask("ehere"), "here");
    long.say("k");
    while !long.hear().is_empty() {}
    assert_eq!(other.ask("ehere"), "here");
}

#[test]
fn who_hangs_up_while_it_waits_is_interrupted() {
    let open = open(2);
    let mut talk = open.connect();
    talk.say("w");
    until(|| open.house.waits().waiting == 1);
    drop(talk);
    until(|| open.house.inside.load(Ordering::SeqCst) == 0);
    assert_eq!(open.house.interrupted.load(Ordering::SeqCst), 1);
}

#[test]
fn patience_ends() {
    let open = open(1);
    open.house.ids.store(0, Ordering::SeqCst);
    let mut talk = open.connect();
    assert_eq!(talk.ask("ehere"), "here");
    until(|| open.house.timed_out.load(Ordering::SeqCst) > 0);
    assert_eq!(talk.ask("estill"), "still");
}

#[test]
fn the_end_finds_everybody() {
    let open = open(2);
    let mut idle = open.connect();
    assert_eq!(idle.ask("ehere"), "here");
    let mut waiting = open.connect();
    waiting.say("w");
    until(|| open.house.waits().waiting == 1);
    assert!(open.loops.stop(Duration::from_secs(60)));
    assert_eq!(idle.hear(), "");
    // Its wait was ended, not its answer.
    assert_eq!((waiting.hear(), waiting.hear()), (" waited".into(), String::new()));
    assert_eq!(open.house.inside.load(Ordering::SeqCst), 0);
    assert_eq!(open.loops.threads(), 0);
}

#[test]
fn many_come_and_go_and_leave_nothing() {
    let open = open(2);
    let descriptors = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let before = descriptors();
    for round in 0..20 {
        let talks: Vec<Talk> = (0..100).map(|_| open.connect()).collect();
        if round % 2 == 0 {
            for mut talk in talks {
                assert_eq!(talk.ask("ehere"), "here");
            }
        }
    }
    until(|| open.house.inside.load(Ordering::SeqCst) == 0);
    // Other tests of this process have descriptors of their own.
    assert!(descriptors() < before + 500);
}

/// Which thread answers whom.
fn threads(talks: &mut [Talk]) -> Vec<String> {
    talks.iter_mut().map(|talk| talk.ask("t")).collect()
}

#[test]
fn connections_go_to_the_loops_that_serve() {
    let open = open(3);
    let mut talks: Vec<Talk> = (0..12).map(|_| open.connect()).collect();
    let first = threads(&mut talks);
    assert!(first.iter().all(|thread| *thread == first[0]), "one loop is enough: {first:?}");
    // The load may take back what is said here, so it is said again until it has been seen.
    until(|| {
        open.loops.spread(3);
        threads(&mut talks);
        let answers = threads(&mut talks);
        (0..3).all(|which| {
            let mut same = answers.iter().skip(which).step_by(3);
            same.all(|thread| *thread == answers[which])
        }) && answers.iter().collect::<HashSet<_>>().len() == 3
    });
    until(|| {
        open.loops.spread(1);
        threads(&mut talks);
        threads(&mut talks) == first
    });
}

#[test]
fn who_is_on_the_way_is_found() {
    let open = open(3);
    let mut killed = 0;
    for round in 0..60 {
        open.loops.spread(round % 3 + 1);
        let mut talks: Vec<Talk> = (0..7).map(|_| open.connect()).collect();
        for talk in &mut talks {
            assert_eq!(talk.ask("ehere"), "here");
        }
        open.loops.spread((round + 1) % 3 + 1);
        // Told to end, and sent to another loop after that.
        talks.iter_mut().for_each(|talk| talk.say("k"));
        for mut talk in talks {
            assert_eq!(talk.hear(), "");
            killed += 1;
        }
    }
    until(|| open.house.inside.load(Ordering::SeqCst) == 0);
    assert_eq!(killed, 420);
}

#[test]
fn the_end_finds_those_on_the_way() {
    for round in 0..10 {
        let open = open(3);
        let mut talks: Vec<Talk> = (0..9).map(|_| open.connect()).collect();
        let heard = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for talk in &mut talks {
                scope.spawn(|| {
                    while talk.0.get_mut().write_all(b"t\n").is_ok() && !talk.hear().is_empty() {
                        heard.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            for n in 0..20 + round {
                open.loops.spread(n % 3 + 1);
                // They go on talking on other loops.
                let before = heard.load(Ordering::SeqCst);
                until(|| heard.load(Ordering::SeqCst) > before);
            }
            assert!(open.loops.stop(Duration::from_secs(60)));
        });
        assert_eq!(open.house.inside.load(Ordering::SeqCst), 0);
        assert_eq!(open.loops.threads(), 0);
    }
}
