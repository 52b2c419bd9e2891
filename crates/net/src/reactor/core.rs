//! A loop: its epoll set, its connections, its work.

use super::handover::{Held, lay_down, take_up};
use super::loops::Group;
use super::slots::Slots;
use super::{Connection, Door, Inbox, Message, Next, Place, Trouble};
use crate::{Accepted, Listener};
use rustix::event::{Timespec, epoll};
use std::any::Any;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
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
    connection: C,
}

/// A loop. In a box, because it goes from hand to hand.
pub(super) struct Core<D: Door> {
    group: Arc<Group<D>>,
    inbox: Arc<Inbox<D::Connection>>,
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
    /// Connections whose commits are to be waited for.
    parked: Vec<u64>,
    /// The connection served last, and how often in a row.
    last: u64,
    streak: u32,
    /// Connections that are served by threads without the loop.
    away: usize,
    /// Pages that the connection being served has waited for.
    page_waits: u32,
    began: Instant,
    next_sweep: Instant,
    stopping: bool,
    /// Accepting failed for want of descriptors; tried again at the next sweep.
    accept_again: bool,
}

impl<D: Door> Core<D> {
    pub(super) fn new(
        group: Arc<Group<D>>,
        inbox: Arc<Inbox<D::Connection>>,
        listeners: Vec<Listener>,
    ) -> io::Result<Box<Core<D>>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let level = epoll::EventFlags::IN;
        epoll::add(&epoll, inbox.bell(), epoll::EventData::new_u64(BELL), level)?;
        for (i, listener) in listeners.iter().enumerate() {
            let data = epoll::EventData::new_u64(LISTENER + i as u64);
            epoll::add(&epoll, listener, data, level | epoll::EventFlags::ET)?;
        }
        let now = Instant::now();
        Ok(Box::new(Core {
            group,
            inbox,
            epoll,
            events: Vec::with_capacity(EVENTS),
            next_event: 0,
            slots: Slots::default(),
            listeners,
            ready: Vec::new(),
            later: Vec::new(),
            parked: Vec::new(),
            last: BELL,
            streak: 0,
            away: 0,
            page_waits: 0,
            began: now,
            next_sweep: now + SWEEP,
            stopping: false,
            accept_again: false,
        }))
    }

    fn now_s(&self) -> u64 {
        self.began.elapsed().as_secs()
    }

    /// Waits for events; at once if there is work without.
    fn wait(&mut self) {
        self.next_event = 0;
        self.events.clear();
        let limit = if !self.ready.is_empty() {
            Some(Duration::ZERO)
        } else if self.slots.len() > 0 || self.stopping || self.accept_again {
            Some(self.next_sweep.saturating_duration_since(Instant::now()))
        } else {
            None
        };
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
                Message::New(accepted) => self.admit(accepted),
                Message::Return(connection, next) => {
                    self.away -= 1;
                    self.settle(connection, next);
                }
                Message::Durable(token) => self.durable(token),
                Message::Kill(token) => self.kill(token),
                Message::Stop => self.stop(),
            }
        }
    }

    fn accept(&mut self, which: usize) {
        for _ in 0..ACCEPTS {
            let Some(listener) = self.listeners.get(which) else { return };
            match listener.accept() {
                Ok(Some(accepted)) => {
                    let inboxes = &self.group.inboxes;
                    let fewest = inboxes.iter().min_by_key(|i| i.connections.load(Ordering::Relaxed));
                    let inbox = fewest.unwrap_or(&self.inbox).clone();
                    inbox.connections.fetch_add(1, Ordering::Relaxed);
                    if Arc::ptr_eq(&inbox, &self.inbox) {
                        self.admit(accepted);
                    } else {
                        inbox.post(Message::New(accepted));
                    }
                }
                Ok(None) => return,
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(e) => {
                    if !self.accept_again {
                        self.group.door.trouble(&Trouble::Accept(e));
                    }
                    self.accept_again = true;
                    return;
                }
            }
        }
        // Edge-triggered: there may be more.
        self.accept_again = true;
        self.next_sweep = Instant::now();
    }

    /// A new client: refused, or greeted.
    fn admit(&mut self, accepted: Accepted) {
        let place = Place { inbox: self.inbox.clone(), token: self.slots.open() };
        let member = self.welcome(accepted, place.clone());
        let Some(member) = member else {
            self.slots.close(place.token);
            self.inbox.connections.fetch_sub(1, Ordering::Relaxed);
            return;
        };
        if let Some(slot) = self.slots.get(place.token) {
            slot.id = member.connection.id();
        }
        self.settle(member, Next::Read);
    }

    fn welcome(&self, accepted: Accepted, place: Place<D::Connection>) -> Option<Box<Member<D::Connection>>> {
        let connection = self.group.door.admit(accepted, place.clone())?;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        // What came before tells at once.
        match epoll::add(&self.epoll, connection.fd(), epoll::EventData::new_u64(place.token), flags) {
            Ok(()) => Some(Box::new(Member { place, connection })),
            Err(e) => {
                self.group.door.trouble(&Trouble::Watch(e.into()));
                None
            }
        }
    }

    /// A connection has been served: what now?
    fn settle(&mut self, mut member: Box<Member<D::Connection>>, next: Next) {
        let token = member.place.token;
        let now_s = self.now_s();
        let Some(slot) = self.slots.get(token) else { return };
        if slot.doomed && next != Next::Closed {
            // Ending a session may roll back: that is for the thread that serves it.
            member.connection.doom();
            slot.ready = true;
        }
        match next {
            Next::Closed => {
                self.slots.close(token);
                self.inbox.connections.fetch_sub(1, Ordering::Relaxed);
                return;
            }
            Next::Durable => {
                slot.parked = true;
                self.parked.push(token);
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

    /// Whether the only busy connection waits for its commit: then the loop may wait itself.
    fn is_alone(&self) -> bool {
        self.parked.len() == 1 && self.streak >= ALONE && self.last == self.parked[0]
    }

    /// Asks to be told when commits are durable.
    fn await_commits(&mut self) {
        for token in std::mem::take(&mut self.parked) {
            let waker = self.inbox.durable_waker(token);
            let Some(slot) = self.slots.get(token) else { continue };
            let Some(member) = &mut slot.connection else { continue };
            if member.connection.poll_durable(&waker).is_ready() {
                slot.parked = false;
                self.ready.push(token);
            }
        }
    }

    fn durable(&mut self, token: u64) {
        let Some(slot) = self.slots.get(token) else { return };
        if slot.parked && slot.connection.is_some() {
            self.parked.push(token);
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
        let now = Instant::now();
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP;
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

    fn served(&mut self, token: u64) {
        self.streak = if self.last == token { self.streak.saturating_add(1) } else { 0 };
        self.last = token;
        self.page_waits = 0;
    }

    fn is_done(&self) -> bool {
        self.stopping && self.slots.len() == 0
    }
}

impl<D: Door> Held for Core<D> {
    fn has_others(&self) -> bool {
        self.slots.len() > 1 || !self.listeners.is_empty()
    }

    fn is_wanted(&mut self) -> bool {
        self.page_waits += 1;
        let pending = self.next_event < self.events.len() || !self.ready.is_empty() || self.away > 0;
        pending || self.page_waits > PAGE_WAITS && self.has_others()
    }

    fn give_away(mut self: Box<Self>) -> Result<(), Box<dyn Held>> {
        let pool = self.group.pool.clone();
        // The connection being served stays with this thread.
        self.away += 1;
        pool.give(self).map_err(|mut core| {
            core.away -= 1;
            core as Box<dyn Held>
        })
    }
}

type ScratchOf<D> = <<D as Door>::Connection as Connection>::Scratch;

/// Runs a loop until it ends or is given away.
pub(super) fn run<D: Door>(mut core: Box<Core<D>>, scratch: &mut ScratchOf<D>) {
    loop {
        while let Some((token, member)) = core.next_ready() {
            core.served(token);
            match serve(core, member, scratch) {
                Some(kept) => core = kept,
                None => return,
            }
        }
        if core.is_alone() {
            let Some(token) = core.parked.pop() else { continue };
            let Some(slot) = core.slots.get(token) else { continue };
            slot.parked = false;
            let Some(mut member) = slot.connection.take() else { continue };
            member.connection.wait_durable();
            match serve(core, member, scratch) {
                Some(kept) => core = kept,
                None => return,
            }
            continue;
        }
        if !core.parked.is_empty() {
            core.await_commits();
            if !core.ready.is_empty() {
                continue;
            }
        }
        if core.is_done() {
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

/// Serves a connection. `None`: the loop is another thread's now, and the connection has been sent back to it.
fn serve<D: Door>(
    core: Box<Core<D>>,
    mut member: Box<Member<D::Connection>>,
    scratch: &mut ScratchOf<D>,
) -> Option<Box<Core<D>>> {
    lay_down(core);
    let mut next = member.connection.serve(scratch);
    // Whatever loop is still there is the one that was laid down.
    if let Some(mut core) = take_up().and_then(|held| (held as Box<dyn Any>).downcast::<Core<D>>().ok()) {
        core.settle(member, next);
        return Some(core);
    }
    if next == Next::Durable {
        member.connection.wait_durable();
        next = member.connection.serve(scratch);
    }
    let inbox = member.place.inbox.clone();
    inbox.post(Message::Return(member, next));
    None
}
