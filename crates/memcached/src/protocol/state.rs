//! What a connection has between two commands, and the way from one command to the next.

use super::run::{Run, Stopped};
use super::{Context, binary, storage, text};
use crate::store::{Peer, Store};
use memchr::memchr;

/// What is set aside for a value before any of it has come: lengths may lie.
const VALUE_FIRST_MAX: usize = 64 << 10;

/// What a connection asks for next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Next {
    /// More bytes from the client.
    Read,
    /// To be called again, with nothing new, when the answers so far are sent: there are enough of them for now.
    Write,
    /// The end, when the answers so far are sent.
    Close,
}

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Nothing came yet.
    Unknown,
    Text,
    Binary,
}

/// What comes next on the wire and is to be passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skip {
    No,
    Bytes(u64),
    Line,
}

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Done up to there, or gathered.
    Done(usize),
    /// As `Done`; the run ends with it.
    DoneVisit(usize),
    /// The run is to be answered before the command here can be done.
    Visit,
    /// Half a command.
    Need,
    /// The end of the connection.
    Close,
}

/// A storage command whose value is still coming.
#[derive(Debug)]
pub(crate) struct Body {
    /// Its line, or its frame without the value.
    pub(crate) head: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// How long the value will be, its end of line included.
    pub(crate) need: usize,
}

impl Body {
    pub(crate) fn new(head: &[u8], begun: &[u8], need: usize) -> Self {
        let mut value = Vec::with_capacity(need.min(begun.len().max(VALUE_FIRST_MAX)));
        value.extend_from_slice(begun);
        Body { head: head.to_vec(), value, need }
    }
}

/// What a connection knows of the client, and has of half a command.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) protocol: Protocol,
    /// What came of commands that are not whole, or not yet done.
    pub(crate) stash: Vec<u8>,
    /// How much of the stash was looked through for the end of a line.
    pub(crate) looked: usize,
    pub(crate) skip: Skip,
    pub(crate) body: Option<Body>,
    pub(crate) gets: Option<text::Gets>,
    /// Whether the client has shown who it is, where that is demanded.
    pub(crate) authenticated: bool,
    /// Where the client comes from.
    pub(crate) peer: Peer,
    pub(crate) closed: bool,
}

impl State {
    /// Gives the value that is being collected its bytes; the rest of the input.
    pub(crate) fn collect<'a, S: Store>(&mut self, input: &'a [u8], cx: &mut Context<'_, S>) -> &'a [u8] {
        let Some(mut body) = self.body.take() else { return input };
        let missing = body.need - body.value.len();
        let (of_it, rest) = input.split_at(missing.min(input.len()));
        body.value.extend_from_slice(of_it);
        if body.value.len() < body.need {
            self.body = Some(body);
            return rest;
        }
        match self.protocol {
            Protocol::Binary => binary::finish(&body.head, &body.value, cx),
            Protocol::Unknown | Protocol::Text => storage::finish(&body.head, &body.value, cx),
        }
        rest
    }

    /// Does what is whole in `data`; how far it came.
    pub(crate) fn work<S: Store>(&mut self, data: &[u8], cx: &mut Context<'_, S>) -> (usize, Next) {
        let mut run = Run::new(data);
        let mut pos = 0;
        loop {
            // A value that is being collected took the rest.
            if pos == data.len() || self.body.is_some() {
                return self.end_run(&mut run, pos, Next::Read, cx);
            }
            if self.skip != Skip::No {
                pos = self.pass_over(data, pos);
                continue;
            }
            let step = self.step(data, pos, &mut run, cx);
            let visit = match step {
                Step::Done(end) => {
                    pos = end;
                    run.is_full()
                }
                Step::DoneVisit(end) => {
                    pos = end;
                    true
                }
                Step::Visit => true,
                Step::Need => return self.end_run(&mut run, pos, Next::Read, cx),
                Step::Close => {
                    self.closed = true;
                    return (data.len(), Next::Close);
                }
            };
            if visit && let Some(stopped) = run.visit(cx) {
                return (self.stop(stopped, cx), Next::Write);
            }
            if run.is_empty() && cx.is_full() && pos < data.len() {
                cx.service.stats.conn_yields.add(1);
                return (pos, Next::Write);
            }
        }
    }

    fn end_run<S: Store>(
        &mut self,
        run: &mut Run<'_>,
        pos: usize,
        next: Next,
        cx: &mut Context<'_, S>,
    ) -> (usize, Next) {
        match run.visit(cx) {
            Some(stopped) => (self.stop(stopped, cx), Next::Write),
            None => (pos, next),
        }
    }

    /// Remembers where answers stopped; where that is.
    fn stop<S>(&mut self, stopped: Stopped, cx: &Context<'_, S>) -> usize {
        self.looked = 0;
        cx.service.stats.conn_yields.add(1);
        if let Some(gets) = stopped.amid {
            self.gets = Some(gets);
        }
        stopped.at
    }

    fn pass_over(&mut self, data: &[u8], pos: usize) -> usize {
        match self.skip {
            Skip::No => pos,
            Skip::Bytes(count) => {
                let passed = count.min((data.len() - pos) as u64);
                self.skip = if passed == count { Skip::No } else { Skip::Bytes(count - passed) };
                pos + passed as usize
            }
            Skip::Line => match memchr(b'\n', &data[pos..]) {
                Some(newline) => {
                    self.skip = Skip::No;
                    pos + newline + 1
                }
                None => data.len(),
            },
        }
    }

    #[inline]
    fn step<'a, S: Store>(
        &mut self,
        data: &'a [u8],
        pos: usize,
        run: &mut Run<'a>,
        cx: &mut Context<'_, S>,
    ) -> Step {
        match self.protocol {
            Protocol::Text => text::step(self, data, pos, run, cx),
            Protocol::Binary => binary::step(self, data, pos, run, cx),
            Protocol::Unknown => {
                if data[pos] == binary::frame::REQUEST {
                    self.protocol = Protocol::Binary;
                } else if !self.authenticated {
                    cx.line("CLIENT_ERROR unauthenticated");
                    return Step::Close;
                } else {
                    self.protocol = Protocol::Text;
                }
                Step::Done(pos)
            }
        }
    }
}
