//! Gets that came together: gathered while commands are read, answered in one visit of the store.
//!
//! Keys stay where they lie in the input. The answers of one visit are written straight from the items the store shows.

use super::Context;
use super::binary::frame;
use super::meta;
use super::push_failure;
use super::text::Gets;
use crate::decimal::push_number;
use crate::store::{Expiry, Failure, Item, Store};
use smallvec::SmallVec;
use std::ops::ControlFlow;

/// Keys and requests of a run that need no allocation; a run is visited when it has so many.
pub(crate) const RUN_MAX: usize = 64;

/// How a get is to be answered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// `VALUE` lines for any number of keys.
    Text {
        /// With the item's number.
        cas: bool,
        /// Whether the list of keys ends with these, and `END` follows.
        last: bool,
    },
    /// A frame for one key.
    Binary(frame::Asked),
    /// A meta line for one key, by these flags.
    Meta(&'a [u8]),
}

/// One request of a run.
#[derive(Debug, Clone, Copy)]
struct Request<'a> {
    shape: Shape<'a>,
    /// Where its keys end among the run's keys.
    keys_end: u32,
    /// Where it ends in the input.
    end: usize,
}

/// Where the answers stopped because there were enough of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopped {
    /// Where to go on in the input.
    pub(crate) at: usize,
    /// The text get amid whose keys that is.
    pub(crate) amid: Option<Gets>,
}

/// A run of gets.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    input: &'a [u8],
    keys: SmallVec<[&'a [u8]; RUN_MAX]>,
    requests: SmallVec<[Request<'a>; RUN_MAX]>,
    /// The new end for what is found: the run is one `gat` then.
    pub(crate) touch: Option<Expiry>,
}

impl<'a> Run<'a> {
    #[inline]
    pub(crate) fn new(input: &'a [u8]) -> Self {
        Run { input, keys: SmallVec::new(), requests: SmallVec::new(), touch: None }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.requests.len() >= RUN_MAX || self.keys.len() >= RUN_MAX
    }

    pub(crate) fn key(&mut self, key: &'a [u8]) {
        self.keys.push(key);
    }

    pub(crate) fn keys_len(&self) -> usize {
        self.keys.len()
    }

    /// Forgets the keys of a request that turned out to be wrong.
    pub(crate) fn forget_keys(&mut self, len: usize) {
        self.keys.truncate(len);
    }

    /// Ends a request, whose keys were given; `end` is where it ends in the input.
    pub(crate) fn request(&mut self, shape: Shape<'a>, end: usize) {
        self.requests.push(Request { shape, keys_end: self.keys.len() as u32, end });
    }

    /// Answers all; or up to where there are answers enough.
    pub(crate) fn visit<S: Store>(&mut self, cx: &mut Context<'_, S>) -> Option<Stopped> {
        if self.requests.is_empty() {
            return None;
        }
        let before = cx.out.len();
        let stopped = match self.answer(0, self.requests.len(), cx) {
            Ok(stopped) => stopped,
            // Each for itself: one mapping that is not there must not spoil the others' answers.
            Err(_) if self.requests.len() > 1 && self.touch.is_none() => {
                cx.out.truncate(before);
                self.one_by_one(cx)
            }
            Err(failure) => self.fail(0, &failure, cx),
        };
        self.keys.clear();
        self.requests.clear();
        self.touch = None;
        stopped
    }

    fn one_by_one<S: Store>(&self, cx: &mut Context<'_, S>) -> Option<Stopped> {
        for number in 0..self.requests.len() {
            let stopped = match self.answer(number, number + 1, cx) {
                Ok(stopped) => stopped,
                Err(failure) => self.fail(number, &failure, cx),
            };
            if stopped.is_some() {
                return stopped;
            }
        }
        None
    }

    /// The failure in place of a request's end.
    fn fail<S>(&self, number: usize, failure: &Failure, cx: &mut Context<'_, S>) -> Option<Stopped> {
        cx.count_failure(failure);
        match self.requests[number].shape {
            Shape::Binary(asked) => frame::push_failure(cx.out, asked.opcode, asked.opaque, failure),
            Shape::Text { .. } | Shape::Meta(_) => push_failure(cx.out, failure),
        }
        None
    }

    /// Answers some of the requests in one visit.
    fn answer<S: Store>(
        &self,
        first: usize,
        last: usize,
        cx: &mut Context<'_, S>,
    ) -> Result<Option<Stopped>, Failure> {
        let keys_first = self.keys_before(first);
        let keys = &self.keys[keys_first..self.requests[last - 1].keys_end as usize];
        let (service, now, out) = (cx.service, cx.now, &mut *cx.out);
        let full = service.limits.output_max;
        let mut answers = Answers {
            run: self,
            keys: &self.keys,
            requests: &self.requests,
            request: first,
            answered: false,
            found: 0,
        };
        let mut stopped_at = None;
        let result = cx.store.get(keys, self.touch, |index, item| {
            let index = keys_first + index;
            answers.up_to(index as u32, out);
            answers.show(index, item, now, service, out);
            if out.len() >= full {
                stopped_at = Some(index);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        let seen = stopped_at.map_or(keys.len(), |index| index + 1 - keys_first) as u64;
        let found = answers.found;
        let stopped = match (&result, stopped_at) {
            (Err(_), _) => None,
            (Ok(()), None) => {
                answers.rest(last, out);
                None
            }
            (Ok(()), Some(index)) => answers.stop(index, out),
        };
        result?;
        self.count(seen, found, cx);
        Ok(stopped)
    }

    fn count<S>(&self, seen: u64, found: u64, cx: &Context<'_, S>) {
        let stats = &cx.service.stats;
        let (asked, hits, misses) = match self.touch {
            Some(_) => (&stats.cmd_touch, &stats.touch_hits, &stats.touch_misses),
            None => (&stats.cmd_get, &stats.get_hits, &stats.get_misses),
        };
        asked.add(seen);
        if found > 0 {
            hits.add(found);
        }
        if found < seen {
            misses.add(seen - found);
        }
    }

    fn keys_before(&self, request: usize) -> usize {
        match request {
            0 => 0,
            _ => self.requests[request - 1].keys_end as usize,
        }
    }

    /// Where in the input a key ends.
    fn end_of(&self, key: usize) -> usize {
        let key = self.keys[key];
        key.as_ptr() as usize + key.len() - self.input.as_ptr() as usize
    }
}

/// Writes the answers of a visit in the order of the requests.
struct Answers<'r, 'a> {
    run: &'r Run<'a>,
    keys: &'r [&'a [u8]],
    requests: &'r [Request<'a>],
    /// The request whose keys are being shown.
    request: usize,
    /// Whether its only key was found, where it has one.
    answered: bool,
    found: u64,
}

impl Answers<'_, '_> {
    /// Ends the requests whose keys lie before a key.
    fn up_to(&mut self, key: u32, out: &mut Vec<u8>) {
        while self.requests[self.request].keys_end <= key {
            self.end(out);
        }
    }

    fn rest(&mut self, last: usize, out: &mut Vec<u8>) {
        while self.request < last {
            self.end(out);
        }
    }

    /// Enough: ends the request of `key` if that was its last one.
    fn stop(&mut self, key: usize, out: &mut Vec<u8>) -> Option<Stopped> {
        let request = self.requests[self.request];
        if let Shape::Text { cas, last: list_ends } = request.shape {
            let amid = Some(Gets { cas, touch: self.run.touch });
            if key + 1 < request.keys_end as usize {
                return Some(Stopped { at: self.run.end_of(key), amid });
            }
            if !list_ends {
                return Some(Stopped { at: request.end, amid });
            }
        }
        self.end(out);
        (self.request < self.requests.len()).then_some(Stopped { at: request.end, amid: None })
    }

    /// Ends the present request.
    fn end(&mut self, out: &mut Vec<u8>) {
        let request = &self.requests[self.request];
        match request.shape {
            Shape::Text { last: true, .. } => out.extend_from_slice(b"END\r\n"),
            Shape::Text { last: false, .. } => {}
            Shape::Binary(asked) if !self.answered => {
                let key = self.keys[request.keys_end as usize - 1];
                frame::push_miss(out, &asked, key);
            }
            Shape::Meta(flags) if !self.answered => {
                let key = self.keys[request.keys_end as usize - 1];
                meta::get::push_miss(out, key, flags);
            }
            Shape::Binary(_) | Shape::Meta(_) => {}
        }
        self.answered = false;
        self.request += 1;
    }

    fn show(
        &mut self,
        index: usize,
        item: &Item<'_>,
        now: u32,
        service: &crate::service::Service,
        out: &mut Vec<u8>,
    ) {
        self.found += 1;
        self.answered = true;
        let key = self.keys[index];
        match self.requests[self.request].shape {
            Shape::Text { cas, .. } => push_value(out, key, item, cas),
            Shape::Binary(asked) => frame::push_item(out, &asked, key, item),
            Shape::Meta(flags) => meta::get::push_item(out, key, flags, item, now, &service.marks),
        }
    }
}

/// Appends `VALUE key flags bytes [cas]`, and the value.
#[inline]
pub(crate) fn push_value(out: &mut Vec<u8>, key: &[u8], item: &Item<'_>, cas: bool) {
    out.reserve(key.len() + item.value.len() + 64);
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(key);
    out.push(b' ');
    push_number(out, u64::from(item.flags));
    out.push(b' ');
    push_number(out, item.value.len() as u64);
    if cas {
        out.push(b' ');
        push_number(out, item.cas);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(item.value);
    out.extend_from_slice(b"\r\n");
}
