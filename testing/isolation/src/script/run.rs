//! The scheduler: plays a script's steps one at a time, and lets sessions wait for each other.
//!
//! A step is over when every session either has answered or waits for a lock, by the word of the server's lock manager.
//! So a transcript does not depend on how fast anything is. A step whose session still waits is kept; kept steps run in
//! the order of the script as soon as their session is free.

use super::server::{Connection, Plan, Reply, Server};
use super::transcript::{Entry, Outcome, Transcript};
use super::{Script, Step};
use crate::Level;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A step that is not over after this time is a bug of the server: waits that nobody knows of.
const PATIENCE: Duration = Duration::from_secs(60);

struct Actor {
    name: String,
    id: u64,
    orders: Sender<(String, Option<Plan>)>,
    thread: JoinHandle<()>,
    /// The step it works on, and whether it was seen waiting.
    busy: Option<(usize, bool)>,
}

struct Play<'a> {
    script: &'a Script,
    level: Level,
    server: &'a mut dyn Server,
    actors: Vec<Actor>,
    answers: Receiver<(usize, Reply)>,
    answer_here: Sender<(usize, Reply)>,
    kept: Vec<usize>,
    transcript: Transcript,
    /// The locks after each step, if they are wanted.
    locks: Option<String>,
}

/// Plays a script at a level.
///
/// # Errors
/// The server's failures, and steps that neither end nor wait.
pub fn play(script: &Script, level: Level, server: &mut dyn Server) -> Result<Transcript, String> {
    play_watched(script, level, server, None).map(|(transcript, _)| transcript)
}

/// Plays a script at a level, and tells after each step what is locked.
///
/// # Errors
/// As [`play`].
pub fn play_with_locks(
    script: &Script,
    level: Level,
    server: &mut dyn Server,
) -> Result<(Transcript, String), String> {
    let (transcript, locks) = play_watched(script, level, server, Some(String::new()))?;
    Ok((transcript, locks.unwrap_or_default()))
}

fn play_watched(
    script: &Script,
    level: Level,
    server: &mut dyn Server,
    locks: Option<String>,
) -> Result<(Transcript, Option<String>), String> {
    let in_context = |e: String| format!("{} at {level}: {e}", script.name);
    server.prepare(script).map_err(in_context)?;
    let mut holder = server.connect(Level::RepeatableRead).map_err(in_context)?;
    if script.purge_held {
        holder.execute("start transaction with consistent snapshot", None);
    }
    let (answer_here, answers) = channel();
    let mut play = Play {
        script,
        level,
        server,
        actors: Vec::new(),
        answers,
        answer_here,
        kept: Vec::new(),
        transcript: Transcript::default(),
        locks,
    };
    let played = play.all_steps();
    let ended = play.end();
    played.and(ended).map_err(in_context)?;
    let (transcript, locks) = (play.transcript, play.locks);
    if let Some(text) = transcript.broken() {
        return Err(in_context(format!("{text}\n{transcript}")));
    }
    Ok((transcript.canonical(script.symmetric.as_ref()), locks))
}

impl Play<'_> {
    fn all_steps(&mut self) -> Result<(), String> {
        for (at, step) in self.script.steps.iter().enumerate() {
            match step {
                Step::Run { session, .. } => {
                    self.actor(session)?;
                    self.kept.push(at);
                    self.run_kept()?;
                }
                Step::Await { session } => {
                    let actor = self.actor(session)?;
                    self.settle(Some(actor))?;
                    self.tell_resumed();
                    self.run_kept()?;
                }
                Step::Purge => self.server.purge()?,
            }
        }
        Ok(())
    }

    /// Runs kept steps, in order, while there is one whose session is free.
    fn run_kept(&mut self) -> Result<(), String> {
        loop {
            let mut seen = Vec::new();
            let mut next = None;
            for (place, at) in self.kept.iter().enumerate() {
                let Step::Run { session, .. } = &self.script.steps[*at] else { continue };
                let actor = self.actors.iter().position(|actor| actor.name == *session);
                let actor = actor.ok_or("a kept step without a session")?;
                if self.actors[actor].busy.is_none() && !seen.contains(&actor) {
                    next = Some((place, actor));
                    break;
                }
                seen.push(actor);
            }
            let Some((place, actor)) = next else { return Ok(()) };
            let at = self.kept.remove(place);
            self.run_step(at, actor)?;
        }
    }

    fn run_step(&mut self, at: usize, actor: usize) -> Result<(), String> {
        let Step::Run { sql, .. } = &self.script.steps[at] else { return Ok(()) };
        let plan = self.server.plan(at + 1, sql)?;
        self.actors[actor].busy = Some((at, false));
        let order = (sql.clone(), plan.clone());
        self.actors[actor].orders.send(order).map_err(|_| "a session is gone".to_owned())?;
        self.transcript.entries.push(self.entry(at, plan, Outcome::Waits));
        self.settle(None)?;
        if let Some((_, waits)) = &mut self.actors[actor].busy {
            *waits = true;
        }
        self.tell_resumed();
        self.tell_locks(at)
    }

    fn tell_locks(&mut self, at: usize) -> Result<(), String> {
        let Some(told) = &mut self.locks else { return Ok(()) };
        let Step::Run { session, sql } = &self.script.steps[at] else { return Ok(()) };
        told.push_str(&format!("{} {session}> {sql}\n", at + 1));
        let locks = self.server.locks()?;
        for actor in &self.actors {
            for line in locks.get(&actor.id).into_iter().flatten() {
                told.push_str(&format!("    {}: {line}\n", actor.name));
            }
        }
        Ok(())
    }

    fn entry(&self, at: usize, plan: Option<Plan>, outcome: Outcome) -> Entry {
        let Step::Run { session, sql } = &self.script.steps[at] else { unreachable!("only statements run") };
        Entry { step: at + 1, session: session.clone(), sql: sql.clone(), plan, resumed: false, outcome }
    }

    /// The session of a name; opened at its first step.
    fn actor(&mut self, name: &str) -> Result<usize, String> {
        if let Some(at) = self.actors.iter().position(|actor| actor.name == name) {
            return Ok(at);
        }
        let connection = self.server.connect(self.level)?;
        let at = self.actors.len();
        let (orders, inbox) = channel();
        let id = connection.id();
        let answer_here = self.answer_here.clone();
        let thread = std::thread::Builder::new()
            .name(format!("session {name}"))
            .spawn(move || work(connection, &inbox, at, &answer_here))
            .map_err(|e| e.to_string())?;
        self.actors.push(Actor { name: name.to_owned(), id, orders, thread, busy: None });
        Ok(at)
    }

    /// Returns when every session is idle or waits; `must_end` may not even wait.
    fn settle(&mut self, must_end: Option<usize>) -> Result<(), String> {
        let started = Instant::now();
        loop {
            let busy = |play: &Self| play.actors.iter().filter(|actor| actor.busy.is_some()).count();
            // An answer that is on its way is taken before the lock manager is asked.
            while busy(self) > 0 {
                match self.answers.recv_timeout(self.server.pause()) {
                    Ok((actor, reply)) => self.take(actor, reply),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return Err("all sessions are gone".into()),
                }
            }
            if busy(self) == 0 {
                return Ok(());
            }
            let waiting = self.server.waiting()?;
            let all_wait = self.actors.iter().filter(|a| a.busy.is_some()).all(|a| waiting.contains(&a.id));
            let must_go_on = must_end.is_some_and(|actor| self.actors[actor].busy.is_some());
            if all_wait && !must_go_on {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                let stuck: Vec<String> = self
                    .actors
                    .iter()
                    .filter(|actor| actor.busy.is_some())
                    .map(|actor| format!("{} (waits: {})", actor.name, waiting.contains(&actor.id)))
                    .collect();
                return Err(format!("stuck: {}\n{}", stuck.join(", "), self.transcript));
            }
        }
    }

    /// Notes a session's answer: in place of its `waits` if it never was seen waiting, else as resumed.
    fn take(&mut self, actor: usize, reply: Reply) {
        let Some((at, waited)) = self.actors[actor].busy.take() else { return };
        let outcome = Outcome::Reply(reply);
        if waited {
            let mut entry = self.entry(at, None, outcome);
            entry.resumed = true;
            self.transcript.entries.push(entry);
        } else if let Some(entry) = self.transcript.entries.iter_mut().rev().find(|e| e.step == at + 1) {
            entry.outcome = outcome;
        }
    }

    /// Sessions that went on together are told in the order of their steps.
    fn tell_resumed(&mut self) {
        let entries = &mut self.transcript.entries;
        let from = entries.iter().rposition(|entry| !entry.resumed).map_or(0, |at| at + 1);
        entries[from..].sort_by_key(|entry| entry.step);
    }

    /// Tells what never came to its end, and sends everybody home.
    fn end(&mut self) -> Result<(), String> {
        for at in std::mem::take(&mut self.kept) {
            let entry = self.entry(at, None, Outcome::NeverRan);
            self.transcript.entries.push(entry);
        }
        let told = self.transcript.entries.len();
        for actor in &self.actors {
            if actor.busy.is_some() {
                self.server.interrupt(actor.id)?;
            }
        }
        for actor in self.actors.drain(..) {
            drop(actor.orders);
            actor.thread.join().map_err(|_| format!("session {} panicked", actor.name))?;
        }
        self.transcript.entries.truncate(told);
        Ok(())
    }
}

fn work(
    mut connection: Box<dyn Connection>,
    inbox: &Receiver<(String, Option<Plan>)>,
    actor: usize,
    answer_here: &Sender<(usize, Reply)>,
) {
    while let Ok((sql, plan)) = inbox.recv() {
        let reply = connection.execute(&sql, plan.as_ref());
        if answer_here.send((actor, reply)).is_err() {
            return;
        }
    }
}
