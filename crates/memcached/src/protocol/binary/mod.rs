//! The binary protocol: one frame a command.
//!
//! A frame whose lengths do not fit its opcode is answered with "Invalid arguments", and the connection ends: what follows
//! cannot be trusted. Quiet forms hide success (gets: misses), never errors.

pub(crate) mod frame;
mod sasl;

use super::run::{Run, Shape};
use super::storage::{is_too_large, store_counted};
use super::text::{count_statistics, delete_counted, flush_counted};
use super::words::KEY_MAX;
use super::{Context, expiry, stats};
use crate::protocol::state::{Body, Skip, State, Step};
use crate::store::{Count, Counted, Expiry, Failure, Mode, NewItem, Outcome, Result, Store};
use frame::{Answer, Asked, HEADER_LEN, Header, Status, loud, op};
use std::ops::ControlFlow;
use vaquita_base::codec::{get_u32, get_u64, put_u32, put_u64};

/// As an expiry of `increment` and `decrement`: nothing is made where nothing is.
const NO_INITIAL: u32 = u32::MAX;
/// The longest login that is looked at.
const LOGIN_MAX: usize = 4 << 10;

/// A frame that came whole, save that the value of a storage command may come apart.
#[derive(Debug)]
struct Frame<'a> {
    header: Header,
    extras: &'a [u8],
    key: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Cuts the frame at the head of `bytes`, which reach up to its value.
    fn read(header: Header, bytes: &'a [u8]) -> Self {
        let (extras, key) = bytes[HEADER_LEN..].split_at(header.extras_len);
        Frame { header, extras, key: &key[..header.key_len] }
    }
}

/// What a command's frame must look like.
struct Form {
    extras: &'static [usize],
    key: std::ops::RangeInclusive<usize>,
    value: bool,
}

/// The form of an opcode's frames; `None` if there is no such opcode.
fn form(opcode: u8) -> Option<Form> {
    const KEY: std::ops::RangeInclusive<usize> = 1..=KEY_MAX;
    let (extras, key, value): (&'static [usize], _, _) = match loud(opcode).0 {
        op::GET | op::GETQ | op::GETK | op::GETKQ | op::DELETE => (&[0], KEY, false),
        op::SET | op::ADD | op::REPLACE => (&[8], KEY, true),
        op::APPEND | op::PREPEND => (&[0], KEY, true),
        op::INCREMENT | op::DECREMENT => (&[20], KEY, false),
        op::TOUCH | op::GAT | op::GATQ | op::GATK | op::GATKQ => (&[4], KEY, false),
        op::FLUSH => (&[0, 4], 0..=0, false),
        op::QUIT | op::NOOP | op::VERSION => (&[0], 0..=0, false),
        op::VERBOSITY => (&[4], 0..=0, false),
        op::STAT => (&[0], 0..=KEY_MAX, false),
        _ => return None,
    };
    Some(Form { extras, key, value })
}

/// Does the frame at `pos`, or says what has to come first.
pub(crate) fn step<'a, S: Store>(
    state: &mut State,
    data: &'a [u8],
    pos: usize,
    run: &mut Run<'a>,
    cx: &mut Context<'_, S>,
) -> Step {
    let rest = &data[pos..];
    if rest[0] != frame::REQUEST {
        return if run.is_empty() { Step::Close } else { Step::Visit };
    }
    if rest.len() < HEADER_LEN {
        return Step::Need;
    }
    let header = Header::read(rest);
    if state.authenticated
        && let Some(step) = gather(&header, rest, pos, cx.now, run)
    {
        return step;
    }
    // All others answer by themselves: the gets before them come first.
    if !run.is_empty() {
        return Step::Visit;
    }
    let Some(value_len) = header.value_len() else {
        return end(&header, Status::UnknownCommand, cx);
    };
    if matches!(header.opcode, op::SASL_LIST..=op::SASL_STEP) {
        return login(state, &header, rest, pos, cx);
    }
    if !state.authenticated && header.opcode != op::VERSION {
        return end(&header, Status::AuthFailure, cx);
    }
    let Some(form) = form(header.opcode) else {
        error(&header, Status::UnknownCommand, cx);
        return pass_over(state, &header, pos);
    };
    if !form.extras.contains(&header.extras_len)
        || !form.key.contains(&header.key_len)
        || !form.value && value_len > 0
    {
        return end(&header, Status::InvalidArguments, cx);
    }
    let head_len = HEADER_LEN + header.extras_len + header.key_len;
    if rest.len() < head_len {
        return Step::Need;
    }
    let head = &rest[..head_len];
    if !form.value {
        return command(&Frame::read(header, head), pos + head_len, cx);
    }
    storage(state, &header, head, data, pos, cx)
}

/// Gathers a get.
#[inline]
fn gather<'a>(header: &Header, rest: &'a [u8], pos: usize, now: u32, run: &mut Run<'a>) -> Option<Step> {
    let extras_len = match header.opcode {
        op::GET | op::GETQ | op::GETK | op::GETKQ => 0,
        op::GAT | op::GATQ | op::GATK | op::GATKQ => 4,
        _ => return None,
    };
    let well_formed = header.extras_len == extras_len
        && (1..=KEY_MAX).contains(&header.key_len)
        && header.body_len == header.key_len + extras_len;
    if !well_formed {
        return None;
    }
    if extras_len > 0 && !run.is_empty() {
        return Some(Step::Visit);
    }
    let end = HEADER_LEN + header.body_len;
    if rest.len() < end {
        return Some(Step::Need);
    }
    run.key(&rest[HEADER_LEN + extras_len..end]);
    run.request(Shape::Binary(Asked { opcode: header.opcode, opaque: header.opaque }), pos + end);
    if extras_len > 0 {
        run.touch = Some(moment(get_u32(rest, HEADER_LEN), now));
        return Some(Step::DoneVisit(pos + end));
    }
    Some(Step::Done(pos + end))
}

fn error<S>(header: &Header, status: Status, cx: &mut Context<'_, S>) {
    frame::push_error(cx.out, header.opcode, header.opaque, status);
}

/// An error after which nothing can be trusted.
fn end<S>(header: &Header, status: Status, cx: &mut Context<'_, S>) -> Step {
    error(header, status, cx);
    Step::Close
}

fn pass_over(state: &mut State, header: &Header, pos: usize) -> Step {
    if header.body_len > 0 {
        state.skip = Skip::Bytes(header.body_len as u64);
    }
    Step::Done(pos + HEADER_LEN)
}

/// SASL frames: the mechanism is the key, what it says the value.
fn login<S: Store>(
    state: &mut State,
    header: &Header,
    rest: &[u8],
    pos: usize,
    cx: &mut Context<'_, S>,
) -> Step {
    let is_list = header.opcode == op::SASL_LIST;
    let well_formed = header.extras_len == 0
        && if is_list { header.body_len == 0 } else { (1..=sasl::MECHANISM_MAX).contains(&header.key_len) };
    if !well_formed {
        return end(header, Status::InvalidArguments, cx);
    }
    if cx.service.users.is_none() {
        error(header, Status::UnknownCommand, cx);
        return pass_over(state, header, pos);
    }
    if header.body_len > LOGIN_MAX {
        sasl::refuse(state, header, cx);
        return pass_over(state, header, pos);
    }
    let len = HEADER_LEN + header.body_len;
    if rest.len() < len {
        return Step::Need;
    }
    let (mechanism, message) = rest[HEADER_LEN..len].split_at(header.key_len);
    sasl::step(state, header, mechanism, message, cx);
    Step::Done(pos + len)
}

/// A storage command whose extras and key have come.
fn storage<S: Store>(
    state: &mut State,
    header: &Header,
    head: &[u8],
    data: &[u8],
    pos: usize,
    cx: &mut Context<'_, S>,
) -> Step {
    let frame = Frame::read(*header, head);
    let value_at = pos + head.len();
    let value_len = header.body_len - header.extras_len - header.key_len;
    let flags = if frame.extras.len() == 8 { get_u32(frame.extras, 0) } else { 0 };
    if is_too_large(frame.key, value_len, flags, cx.service.limits.item_size_max) {
        cx.count_failure(&Failure::TooLarge);
        error(header, Status::TooLarge, cx);
        state.skip = Skip::Bytes(value_len as u64);
        return Step::Done(value_at);
    }
    if let Some(value) = data[value_at..].get(..value_len) {
        finish(head, value, cx);
        return Step::Done(value_at + value_len);
    }
    state.body = Some(Body::new(head, &data[value_at..], value_len));
    Step::Done(data.len())
}

/// Does a storage command: its frame, and its value.
pub(crate) fn finish<S: Store>(head: &[u8], value: &[u8], cx: &mut Context<'_, S>) {
    let frame = Frame::read(Header::read(head), head);
    let (opcode, quiet) = loud(frame.header.opcode);
    let mode = match opcode {
        op::ADD => Mode::Add,
        op::REPLACE => Mode::Replace,
        op::APPEND => Mode::Append,
        op::PREPEND => Mode::Prepend,
        _ => Mode::Set,
    };
    let (flags, expires) = match frame.extras.len() {
        8 => (get_u32(frame.extras, 0), moment(get_u32(frame.extras, 4), cx.now)),
        _ => (0, Expiry(0)),
    };
    let item = NewItem { flags, expires, value };
    let cas = (frame.header.cas != 0).then_some(frame.header.cas);
    let outcome = store_counted(mode, frame.key, &item, cas, cx);
    // Not there: for `replace` and numbers it is not found, for what is put to a value it is not stored.
    let outcome = match (outcome, mode) {
        (Ok(Outcome::NotStored), Mode::Add) => Ok(Outcome::Exists),
        (Ok(Outcome::NotStored), Mode::Replace) => Ok(Outcome::NotFound),
        (Ok(Outcome::NotFound), Mode::Append | Mode::Prepend) => Ok(Outcome::NotStored),
        (outcome, _) => outcome,
    };
    changed(&frame, quiet, outcome, cx);
}

/// Answers a change of an item.
fn changed<S>(frame: &Frame<'_>, quiet: bool, outcome: Result<Outcome>, cx: &mut Context<'_, S>) {
    let header = &frame.header;
    match outcome {
        Ok(Outcome::Done(_)) if quiet => {}
        Ok(Outcome::Done(cas)) => {
            frame::push(cx.out, Answer { cas, ..Answer::to(header) }, &[], &[], &[]);
        }
        Ok(Outcome::NotStored) => error(header, Status::NotStored, cx),
        Ok(Outcome::Exists) => error(header, Status::Exists, cx),
        Ok(Outcome::NotFound) => error(header, Status::NotFound, cx),
        Err(failure) => failed(frame, &failure, cx),
    }
}

fn failed<S>(frame: &Frame<'_>, failure: &Failure, cx: &mut Context<'_, S>) {
    cx.count_failure(failure);
    frame::push_failure(cx.out, frame.header.opcode, frame.header.opaque, failure);
}

/// The moment of an expiry on the wire; it has no sign here.
fn moment(seconds: u32, now: u32) -> Expiry {
    expiry(i64::from(seconds), now)
}

/// Commands without a value; `end` is where the frame ends.
fn command<S: Store>(frame: &Frame<'_>, end: usize, cx: &mut Context<'_, S>) -> Step {
    let (opcode, quiet) = loud(frame.header.opcode);
    let answer = Answer::to(&frame.header);
    match opcode {
        op::QUIT => {
            if !quiet {
                frame::push(cx.out, answer, &[], &[], &[]);
            }
            return Step::Close;
        }
        op::NOOP | op::VERBOSITY => frame::push(cx.out, answer, &[], &[], &[]),
        op::VERSION => frame::push(cx.out, answer, &[], &[], cx.service.version.as_bytes()),
        op::DELETE => {
            let outcome = delete_counted(frame.key, frame.header.cas, cx);
            changed(frame, quiet, outcome.map(without_number), cx);
        }
        op::INCREMENT | op::DECREMENT => count(frame, opcode == op::DECREMENT, quiet, cx),
        op::TOUCH => touch(frame, cx),
        op::STAT => stats::binary(&frame.header, frame.key, cx),
        _ => flush(frame, quiet, cx),
    }
    Step::Done(end)
}

/// What is deleted has no number any more.
fn without_number(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Done(_) => Outcome::Done(0),
        other => other,
    }
}

fn flush<S: Store>(frame: &Frame<'_>, quiet: bool, cx: &mut Context<'_, S>) {
    let seconds = if frame.extras.is_empty() { 0 } else { get_u32(frame.extras, 0) };
    let outcome = flush_counted(i64::from(seconds), cx).map(|()| Outcome::Done(0));
    changed(frame, quiet, outcome, cx);
}

fn count<S: Store>(frame: &Frame<'_>, down: bool, quiet: bool, cx: &mut Context<'_, S>) {
    let expires = get_u32(frame.extras, 16);
    let initial = (expires != NO_INITIAL).then(|| (get_u64(frame.extras, 8), moment(expires, cx.now)));
    let count =
        Count { delta: get_u64(frame.extras, 0), down, initial, expires: None, cas: frame.header.cas };
    let counted = cx.store.count(frame.key, &count);
    count_statistics(down, &counted, cx);
    match counted {
        Ok(Counted::Done(..)) if quiet => {}
        Ok(Counted::Done(number, cas)) => {
            let mut value = [0; 8];
            put_u64(&mut value, 0, number);
            frame::push(cx.out, Answer { cas, ..Answer::to(&frame.header) }, &[], &[], &value);
        }
        Ok(Counted::Not(outcome)) => changed(frame, quiet, Ok(outcome), cx),
        Ok(Counted::NotANumber) => error(&frame.header, Status::NotANumber, cx),
        Err(failure) => failed(frame, &failure, cx),
    }
}

/// A new end; the answer tells the item's flags.
fn touch<S: Store>(frame: &Frame<'_>, cx: &mut Context<'_, S>) {
    let expires = moment(get_u32(frame.extras, 0), cx.now);
    let mut found = None;
    let result = cx.store.get(&[frame.key], Some(expires), |_, item| {
        found = Some((item.flags, item.cas));
        ControlFlow::Continue(())
    });
    let stats = &cx.service.stats;
    stats.cmd_touch.add(1);
    match (result, found) {
        (Err(failure), _) => failed(frame, &failure, cx),
        (Ok(()), Some((flags, cas))) => {
            stats.touch_hits.add(1);
            let mut extras = [0; 4];
            put_u32(&mut extras, 0, flags);
            frame::push(cx.out, Answer { cas, ..Answer::to(&frame.header) }, &extras, &[], &[]);
        }
        (Ok(()), None) => {
            stats.touch_misses.add(1);
            error(&frame.header, Status::NotFound, cx);
        }
    }
}
