//! A loop: its epoll set, its connections, its work.

use super::handover::{Berth, Running};
use super::loops::Group;
use super::slots::{Slot, Slots};
use super::width::{Load, coarse_now};
use super::{Connection, Door, Inbox, Message, Next, Place, Scratch, Trouble};
use crate::{Accepted, Listener};
use rustix::event::{Timespec, epoll};
use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// Tokens that are no connections.
const BELL: u64 = u64::MAX;
const LISTENER: u64 = u64::MAX - 1000;

/// Events taken at once.
const EVENTS: usize = 256;

/// Clients accepted before others are served again.
const ACCEPTS: usize = 64;

/// So often in a row the same connection was served: it is the only busy one.
const ALONE: u32 = 4;

/// So many pages one connection may wait for before others that are connected, though silent, get the loop.
const PAGE_WAITS: u32 = 2;

/// How often others are served before commits are waited for.
const GATHERS: u32 = 2;

/// How often commits are answered before events are taken again: a client that sends without a pause keeps nobody out.
const UNSEEN_MAX: u32 = 8;

/// Every turn of late was a commit.
const COMMITS_ALL: u32 = 1 << 16;

/// Turns that count, about.
const COMMITS_TURNS: u32 = 8;

/// So many of them are most: a loop that waits for commits keeps hardly anybody waiting who has something else to do.
const COMMITS_MOST: u32 = COMMITS_ALL * 7 / 16;

/// How often deadlines are looked at.
const SWEEP: Duration = Duration::from_secs(1);

/// Something happened to a socket.
#[derive(Debug, Clone, Copy)]
struct Happened {
    token: u64,
    /// The other side has closed, or the connection is broken.
    gone: bool,
}

/// A connection and where it belongs.
#[derive(Debug)]
pub(super) struct Member<C> {
    place: Place<C>,
    /// Its number at the loop it belongs to.
    token: u64,
    connection: C,
}

/// A loop. In a box, because it goes from hand to hand.
pub(super) struct Core<D: Door> {
    group: Arc<Group<D>>,
    berth: Arc<Berth<D>>,
    inbox: Arc<Inbox<D::Connection>>,
    load: Load,
    /// How often it has gone to another thread.
    run: u64,
    /// How often it was laid down to serve a connection.
    turn: u64,
    epoll: OwnedFd,
    events: Vec<Happened>,
    /// Events from here on have not been looked at.
    next_event: usize,
    slots: Slots<D::Connection>,
    listeners: Vec<Listener>,
    /// Connections with something to do that no event will tell of.
    ready: Vec<u64>,
    /// Connections that go on when others have been served.
    later: Vec<u64>,
    /// Connections that wait for their commits, the oldest first.
    parked: VecDeque<u64>,
    /// Wakes the loop when a commit is durable: one for all of them.
    waker: Waker,
    /// The oldest commit tells when it is durable.
    awaited: bool,
    /// So often more commits were looked for since the last that were waited for.
    gathered: u32,
    /// So often commits were answered since events were taken.
    unseen: u32,
    /// How many of the connections that were served lately had something to commit, in shares of [`COMMITS_ALL`].
    commits: u32,
    /// The connection served last, and how often in a row.
    last: u64,
    streak: u32,
    /// Connections that are served by threads without the loop.
    away: usize,
    /// Pages that the connection being served has waited for.
    page_waits: u32,
    /// When it began to wait for the first of them.
    page_wait_began: Option<Instant>,
    /// By the coarse clock, like `next_sweep`.
    began: Duration,
    next_sweep: Duration,
    stopping: bool,
    /// Accepting failed for want of descriptors; tried again at the next sweep.
    accept_again: bool,
    /// A file that is closed to have one for a client who finds none left.
    spare: Option<OwnedFd>,
    /// The last client found none left.
    out_of_files: bool,
}

fn spare_file() -> Option<OwnedFd> {
    std::fs::File::open("/dev/null").ok().map(OwnedFd::from)
}

/// Whether a file could not be had because this process, or the machine, has as many as it may.
fn is_out_of_files(e: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(e), Some(Errno::MFILE | Errno::NFILE))
}

impl<D: Door> Core<D> {
    pub(super) fn new(
        group: Arc<Group<D>>,
        index: usize,
        listeners: Vec<Listener>,
    ) -> io::Result<Box<Core<D>>> {
        let inbox = group.inboxes[index].clone();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let level = epoll::EventFlags::IN;
        epoll::add(&epoll, inbox.bell(), epoll::EventData::new_u64(BELL), level)?;
        for (i, listener) in listeners.iter().enumerate() {
            let data = epoll::EventData::new_u64(LISTENER + i as u64);
            epoll::add(&epoll, listener, data, level | epoll::EventFlags::ET)?;
        }
        let now = coarse_now();
        Ok(Box::new(Core {
            berth: group.berths[index].clone(),
            group,
            load: Load::new(index),
            run: 0,
            turn: 0,
            epoll,
            events: Vec::with_capacity(EVENTS),
            next_event: 0,
            slots: Slots::default(),
            spare: if listeners.is_empty() { None } else { spare_file() },
            out_of_files: false,
            listeners,
            ready: Vec::new(),
            later: Vec::new(),
            parked: VecDeque::new(),
            waker: inbox.durable_waker(),
            awaited: false,
            gathered: 0,
            unseen: 0,
            commits: 0,
            inbox,
            last: BELL,
            streak: 0,
            away: 0,
            page_waits: 0,
            page_wait_began: None,
            began: now,
            next_sweep: now + SWEEP,
            stopping: false,
            accept_again: false,
        }))
    }

    fn now_s(&self) -> u64 {
        coarse_now().saturating_sub(self.began).as_secs()
    }

    /// Waits for events; at once if there is work without.
    fn wait(&mut self) {
        let limit = if !self.ready.is_empty() {
            Some(Duration::ZERO)
        } else if self.slots.len() > 0 || self.stopping || self.accept_again {
            Some(self.next_sweep.saturating_sub(coarse_now()))
        } else {
            None
        };
        self.take_events(limit);
        self.load.look(&self.group.width);
    }

    /// Takes the events that are there, or the next ones within `limit`.
    fn take_events(&mut self, limit: Option<Duration>) {
        self.unseen = 0;
        self.next_event = 0;
        self.events.clear();
        let limit = limit.map(|d| Timespec { tv_sec: d.as_secs() as i64, tv_nsec: d.subsec_nanos().into() });
        // An interrupted wait is one without events.
        let mut space = [const { MaybeUninit::uninit() }; EVENTS];
        if let Ok((events, _)) = epoll::wait(&self.epoll, &mut space, limit.as_ref()) {
            let gone = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
            self.events.extend(events.iter().map(|event| {
                let flags = event.flags;
                Happened { token: event.data.u64(), gone: flags.intersects(gone) }
            }));
        }
    }

    /// The next connection to serve, taken out of its slot.
    fn next_ready(&mut self) -> Option<(u64, Box<Member<D::Connection>>)> {
        while let Some(&event) = self.events.get(self.next_event) {
            self.next_event += 1;
            match event.token {
                BELL => self.read_inbox(),
                token @ LISTENER.. => self.accept((token - LISTENER) as usize),
                token => {
                    if let Some(connection) = self.take(token, event.gone) {
                        return Some((token, connection));
                    }
                }
            }
        }
        while let Some(token) = self.ready.pop() {
            if let Some(connection) = self.take(token, false) {
                return Some((token, connection));
            }
        }
        None
    }

    fn take(&mut self, token: u64, gone: bool) -> Option<Box<Member<D::Connection>>> {
        let slot = self.slots.get(token)?;
        if let Some(connection) = &mut slot.connection
            && gone
        {
            connection.connection.hang_up();
        }
        if slot.parked {
            slot.ready = true;
            return None;
        }
        match slot.connection.take() {
            Some(connection) => Some(connection),
            None => {
                slot.ready = true;
                if gone && !slot.doomed {
                    slot.doomed = true;
                    let id = slot.id;
                    self.group.door.interrupt(id);
                }
                None
            }
        }
    }

    fn read_inbox(&mut self) {
        for message in self.inbox.take() {
            match message {
                Message::Moved(member) => self.receive(member),
                Message::Return(connection, next) => {
                    self.away -= 1;
                    self.settle(connection, next);
                }
                // The commits are looked at before the loop waits again.
                Message::Durable => self.awaited = false,
                Message::Kill(place) => match place.token_at(&self.inbox) {
                    Some(token) => self.kill(token),
                    // Told again behind the connection.
                    None => place.kill(),
                },
                Message::Stop => self.stop(),
            }
        }
    }

    fn accept(&mut self, which: usize) {
        for _ in 0..ACCEPTS {
            let Some(listener) = self.listeners.get(which) else { return };
            match listener.accept() {
                Ok(Some(accepted)) => {
                    self.out_of_files = false;
                    self.admit(accepted);
                }
                Ok(None) => return,
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(e) if is_out_of_files(&e) && self.turn_away(which) => {
                    if !std::mem::replace(&mut self.out_of_files, true) {
                        self.group.door.trouble(&Trouble::Accept(e));
                    }
                }
                Err(e) => {
                    // The system asks for a file before it looks whether anybody is there.
                    if !self.accept_again && !self.out_of_files {
                        self.group.door.trouble(&Trouble::Accept(e));
                    }
                    self.accept_again = true;
                    return;
                }
            }
        }
        // Edge-triggered: there may be more.
        self.accept_again = true;
        self.next_sweep = coarse_now();
    }

    /// No file is left for a client: he gets the one kept for that, and is told. Whether he has been.
    fn turn_away(&mut self, which: usize) -> bool {
        if self.spare.take().is_none() {
            return false;
        }
        let accepted = self.listeners.get(which).map(Listener::accept);
        let turned_away = match accepted {
            Some(Ok(Some(accepted))) => {
                self.group.door.turn_away(accepted);
                true
            }
            // He has gone by himself.
            _ => false,
        };
        self.spare = spare_file();
        turned_away
    }

    /// A new client: refused, or greeted.
    fn admit(&mut self, accepted: Accepted) {
        let token = self.slots.open();
        let place = Place::new(self.inbox.clone(), token);
        let Some(connection) = self.group.door.admit(accepted, place.clone()) else {
            self.slots.close(token);
            return;
        };
        self.watch(Box::new(Member { place, token, connection }));
    }

    /// A connection from another loop.
    fn receive(&mut self, mut member: Box<Member<D::Connection>>) {
        member.token = self.slots.open();
        member.place.arrive(member.token);
        self.watch(member);
    }

    /// From here on the connection in its new slot is heard.
    fn watch(&mut self, member: Box<Member<D::Connection>>) {
        let token = member.token;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        // What came before tells at once.
        let watched =
            epoll::add(&self.epoll, member.connection.fd(), epoll::EventData::new_u64(token), flags);
        if let Some(slot) = self.slots.get(token) {
            slot.id = member.connection.id();
        }
        self.keep(member, Next::Read);
        if let Err(e) = watched {
            self.group.door.trouble(&Trouble::Watch(e.into()));
        }
        if watched.is_err() || self.stopping {
            self.kill(token);
        }
    }

    /// Sends a connection that waits for its client to the loop it belongs to. It comes back if it stays.
    fn send_home(&mut self, member: Box<Member<D::Connection>>) -> Option<Box<Member<D::Connection>>> {
        let home = self.group.width.home(member.connection.id());
        let stays = |slot: &mut Slot<D::Connection>| slot.ready || slot.doomed || slot.watches_write;
        let inbox = &self.group.inboxes[home];
        if Arc::ptr_eq(inbox, &self.inbox) || self.stopping || self.slots.get(member.token).is_none_or(stays)
        {
            return Some(member);
        }
        // What comes from now on tells when it is watched again.
        if epoll::delete(&self.epoll, member.connection.fd()).is_err() {
            return Some(member);
        }
        self.slots.close(member.token);
        let place = member.place.clone();
        if let Some(member) = place.go(inbox, member) {
            // The loops are about to end: it ends here.
            self.receive(member);
        }
        None
    }

    /// A connection has been served: what now?
    fn settle(&mut self, member: Box<Member<D::Connection>>, next: Next) {
        let stays = if next == Next::Read { self.send_home(member) } else { Some(member) };
        if let Some(member) = stays {
            self.keep(member, next);
        }
    }

    fn keep(&mut self, mut member: Box<Member<D::Connection>>, next: Next) {
        let token = member.token;
        let now_s = self.now_s();
        let Some(slot) = self.slots.get(token) else { return };
        // A turn that only answers a commit is the same statement's.
        if next == Next::Durable {
            self.commits += (COMMITS_ALL - self.commits) / COMMITS_TURNS;
        } else if !slot.answers {
            self.commits -= self.commits / COMMITS_TURNS;
        }
        slot.answers = false;
        if slot.doomed && next != Next::Closed {
            // Ending a session may roll back: that is for the thread that serves it.
            member.connection.doom();
            slot.ready = true;
        }
        match next {
            Next::Closed => {
                self.slots.close(token);
                return;
            }
            Next::Durable => {
                slot.parked = true;
                self.parked.push_back(token);
            }
            Next::Read | Next::Write | Next::Again => {
                let write = next == Next::Write;
                if slot.watches_write != write {
                    slot.watches_write = write;
                    let mut flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
                    flags.set(epoll::EventFlags::OUT, write);
                    let data = epoll::EventData::new_u64(token);
                    // Fails for want of memory only; then the deadline ends the connection.
                    let _ = epoll::modify(&self.epoll, member.connection.fd(), data, flags);
                }
                slot.deadline_s = now_s.saturating_add(member.connection.patience_s(next)).saturating_add(1);
                if next == Next::Again {
                    self.later.push(token);
                } else if std::mem::take(&mut slot.ready) {
                    self.ready.push(token);
                }
            }
        }
        slot.connection = Some(member);
    }

    /// Whether the only connection that waits for its commit is the only busy one.
    fn is_alone(&self) -> bool {
        self.parked.len() == 1 && self.streak >= ALONE && self.last == self.parked[0]
    }

    /// Whether the loop waits for the commits itself: nobody else is busy, or hardly anybody does anything but commit and the
    /// wait is shorter than the detour by the log's thread.
    fn waits_itself(&mut self) -> bool {
        let Some(&newest) = self.parked.back() else { return false };
        self.is_alone()
            || self.commits >= COMMITS_MOST
                && self.parked_member(newest).is_some_and(|member| member.connection.waits_shortly())
    }

    /// Takes what has come meanwhile, so that its commits go along with those that are parked: a look costs far less than a
    /// sync. Not for ever, because those that are parked wait for it.
    fn gathers(&mut self) -> bool {
        if self.is_alone() {
            return false;
        }
        if self.gathered < GATHERS {
            self.gathered += 1;
            self.take_events(Some(Duration::ZERO));
            if !self.events.is_empty() {
                return true;
            }
        }
        self.gathered = 0;
        false
    }

    fn parked_member(&mut self, token: u64) -> Option<&mut Member<D::Connection>> {
        self.slots.get(token)?.connection.as_deref_mut()
    }

    /// Waits for the newest commit, and so for all before it: one write and one sync answer every parked connection.
    fn wait_for_commits(&mut self) {
        if let Some(&newest) = self.parked.back()
            && let Some(member) = self.parked_member(newest)
        {
            member.connection.wait_durable();
        }
    }

    /// Those whose commits are durable are served next; the oldest of the others will tell.
    fn await_commits(&mut self) {
        while let Some(&token) = self.parked.front() {
            let waker = &self.waker;
            let Some(slot) = self.slots.get(token) else {
                self.parked.pop_front();
                continue;
            };
            if let Some(member) = &mut slot.connection
                && member.connection.poll_durable(waker).is_pending()
            {
                self.awaited = true;
                return;
            }
            slot.parked = false;
            self.parked.pop_front();
            slot.answers = true;
            self.ready.push(token);
        }
    }

    fn kill(&mut self, token: u64) {
        let Some(slot) = self.slots.get(token) else { return };
        slot.doomed = true;
        if slot.parked {
            slot.ready = true;
        } else if let Some(member) = &mut slot.connection {
            member.connection.doom();
            self.ready.push(token);
        }
    }

    fn stop(&mut self) {
        self.stopping = true;
        self.listeners.clear();
        for token in self.slots.tokens(|_| true) {
            let Some(slot) = self.slots.get(token) else { continue };
            if slot.connection.is_none() {
                let id = slot.id;
                self.group.door.interrupt(id);
            }
            self.kill(token);
        }
    }

    /// Once a second: whose patience has ended?
    fn sweep(&mut self) {
        let now = coarse_now();
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP;
        if self.spare.is_none() && !self.listeners.is_empty() {
            self.spare = spare_file();
        }
        if std::mem::take(&mut self.accept_again) {
            (0..self.listeners.len()).for_each(|which| self.accept(which));
        }
        if self.stopping {
            return self.stop();
        }
        let now_s = self.now_s();
        for token in self.slots.tokens(|s| s.connection.is_some() && !s.parked && s.deadline_s < now_s) {
            if let Some(member) = self.slots.get(token).and_then(|s| s.connection.as_mut()) {
                member.connection.time_out();
                self.ready.push(token);
            }
        }
    }

    fn serves(&mut self, token: u64) {
        self.streak = if self.last == token { self.streak.saturating_add(1) } else { 0 };
        self.last = token;
        self.turn += 1;
        self.page_waits = 0;
    }

    /// Others cannot have the time that the loop waits for pages itself: it is busy, though its thread does not run.
    fn has_waited(&mut self) {
        if let Some(began) = self.page_wait_began.take() {
            self.load.waited(began.elapsed());
        }
    }

    fn is_done(&self) -> bool {
        self.stopping && self.slots.len() == 0
    }
}

/// What its berth asks while it lies there.
impl<D: Door> Core<D> {
    pub(super) fn run(&self) -> u64 {
        self.run
    }

    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    /// Whether somebody else than the connection being served may want the loop.
    pub(super) fn has_others(&self) -> bool {
        self.slots.len() > 1 || !self.listeners.is_empty()
    }

    /// Whether the loop should not wait for the page that is to be read now.
    pub(super) fn is_wanted(&mut self) -> bool {
        self.page_waits += 1;
        self.page_wait_began.get_or_insert_with(Instant::now);
        let pending = self.next_event < self.events.len() || !self.ready.is_empty() || self.away > 0;
        pending || self.page_waits > PAGE_WAITS && self.has_others()
    }

    /// Lets a spare thread run it; it comes back if there is none.
    pub(super) fn give_away(mut self: Box<Self>) -> Result<(), Box<Self>> {
        let pool = self.group.pool.clone();
        // The connection being served stays with its thread, which finds that the run is not its own any more.
        self.away += 1;
        self.run += 1;
        self.page_wait_began = None;
        pool.give(self).map_err(|mut core| {
            core.away -= 1;
            core.run -= 1;
            core
        })
    }
}

type ScratchOf<D> = <<D as Door>::Connection as Connection>::Scratch;

/// Runs a loop until it ends or is given away.
pub(super) fn run<D: Door>(mut core: Box<Core<D>>, scratch: &mut ScratchOf<D>) {
    core.load.begin();
    let (group, berth, run) = (core.group.clone(), core.berth.clone(), core.run);
    let _running = Running::new(berth.clone(), run);
    loop {
        while let Some((token, member)) = core.next_ready() {
            core.serves(token);
            berth.lay_down(core, &group.watch);
            let served = serve::<D>(member, scratch, || berth.take_up(run));
            match served {
                Some(kept) => core = kept,
                None => return,
            }
            core.has_waited();
        }
        if !core.parked.is_empty() && !core.awaited {
            if core.waits_itself() {
                if core.gathers() {
                    continue;
                }
                core.wait_for_commits();
            }
            core.await_commits();
            if !core.ready.is_empty() && core.unseen < UNSEEN_MAX {
                core.unseen += 1;
                continue;
            }
        }
        if core.is_done() && core.inbox.end() {
            core.group.loop_ended();
            return;
        }
        core.sweep();
        core.ready.append(&mut core.later);
        if core.next_event >= core.events.len() {
            core.wait();
        }
    }
}

/// Serves a connection while its loop lies in its berth. `None`: the loop is another thread's now, and the connection has been
/// sent back to it.
fn serve<D: Door>(
    mut member: Box<Member<D::Connection>>,
    scratch: &mut ScratchOf<D>,
    take_up: impl FnOnce() -> Option<Box<Core<D>>>,
) -> Option<Box<Core<D>>> {
    let mut next = member.connection.serve(scratch);
    scratch.shrink();
    if let Some(mut core) = take_up() {
        core.settle(member, next);
        return Some(core);
    }
    if next == Next::Durable {
        member.connection.wait_durable();
        next = member.connection.serve(scratch);
        scratch.shrink();
    }
    let inbox = member.place.inbox();
    // A loop does not end before all its connections have come back.
    let _ = inbox.post(Message::Return(member, next));
    None
}
