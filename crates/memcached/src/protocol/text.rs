//! Text commands: a line, and for some a block of data behind it.
//!
//! Wrong numbers of words are `ERROR`, as unknown commands are; wrong words are `CLIENT_ERROR`. `noreply` at the end of a
//! line hides what the command answers, its errors too.

use super::run::{Run, Shape};
use super::words::{KEY_MAX, i64_of, u32_of, u64_of, words};
use super::{Context, expiry, meta, range, stats, storage};
use crate::protocol::state::{Skip, State, Step};
use crate::store::{Count, Counted, Expiry, Outcome, Store};
use memchr::{memchr, memchr2};
use smallvec::SmallVec;

/// The longest line of a command, gets aside: the keys of longer ones are taken as they come.
pub(crate) const LINE_MAX: usize = 16 << 10;

/// What is answered where a line cannot be understood.
pub(crate) const BAD_FORMAT: &str = "CLIENT_ERROR bad command line format";
const BAD_EXPTIME: &str = "CLIENT_ERROR invalid exptime argument";
const BAD_DELTA: &str = "CLIENT_ERROR invalid numeric delta argument";
/// Counting what is no number.
pub(crate) const NOT_NUMERIC: &str = "CLIENT_ERROR cannot increment or decrement non-numeric value";

/// A get whose keys are still coming.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gets {
    pub(crate) cas: bool,
    pub(crate) touch: Option<Expiry>,
}

/// The words of a short line.
pub(crate) type Words<'a> = SmallVec<[&'a [u8]; 8]>;

/// Does the command at `pos`, or says what has to come first.
pub(crate) fn step<'a, S: Store>(
    state: &mut State,
    data: &'a [u8],
    pos: usize,
    run: &mut Run<'a>,
    cx: &mut Context<'_, S>,
) -> Step {
    let rest = &data[pos..];
    if let Some(gets) = state.gets {
        return more_keys(state, gets, data, pos, run, cx);
    }
    // What was looked through before came without an end of line.
    let looked = std::mem::take(&mut state.looked);
    if looked == 0
        && let Some(step) = get_one(rest, pos, run)
    {
        return step;
    }
    let Some(newline) = memchr(b'\n', &rest[looked..]) else {
        return unfinished(state, rest, pos, run, cx);
    };
    let end = pos + looked + newline + 1;
    let line = &data[pos..end - 1];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    command(state, line, data, end, run, cx)
}

/// Gathers a get of one key, which most commands are: looked through once.
#[inline]
fn get_one<'a>(rest: &'a [u8], pos: usize, run: &mut Run<'a>) -> Option<Step> {
    let keys = rest.strip_prefix(b"get ")?;
    let length = memchr2(b' ', b'\n', keys)?;
    let key = keys[..length].strip_suffix(b"\r").unwrap_or(&keys[..length]);
    if keys[length] != b'\n' || !(1..=KEY_MAX).contains(&key.len()) {
        return None;
    }
    let end = pos + 4 + length + 1;
    run.key(key);
    run.request(Shape::Text { cas: false, last: true }, end);
    Some(Step::Done(end))
}

/// A line without its end: to be waited for, or too long.
fn unfinished<S: Store>(
    state: &mut State,
    rest: &[u8],
    pos: usize,
    run: &Run<'_>,
    cx: &mut Context<'_, S>,
) -> Step {
    // Perhaps the last byte is the `\r` of its end.
    if rest.len() <= LINE_MAX + 1 {
        state.looked = rest.len();
        return Step::Need;
    }
    let spaces = rest.iter().take_while(|&&byte| byte == b' ').count();
    if spaces > 0 {
        return Step::Done(pos + spaces);
    }
    for (name, cas) in [(&b"get "[..], false), (b"gets ", true)] {
        if rest.starts_with(name) {
            state.gets = Some(Gets { cas, touch: None });
            return Step::Done(pos + name.len());
        }
    }
    if !run.is_empty() {
        return Step::Visit;
    }
    cx.line("CLIENT_ERROR line too long");
    Step::Close
}

/// Gathers the keys of a line of gets.
fn get<'a, S: Store>(
    keys: &'a [u8],
    cas: bool,
    end: usize,
    run: &mut Run<'a>,
    cx: &mut Context<'_, S>,
) -> Step {
    let before = run.keys_len();
    if !gather(words(keys), run) {
        return refuse(BAD_FORMAT, end, run, cx);
    }
    if run.keys_len() == before {
        return refuse("ERROR", end, run, cx);
    }
    run.request(Shape::Text { cas, last: true }, end);
    Step::Done(end)
}

/// Gathers keys; none of them if one is too long.
fn gather<'a>(keys: impl Iterator<Item = &'a [u8]>, run: &mut Run<'a>) -> bool {
    let before = run.keys_len();
    for key in keys {
        if key.len() > KEY_MAX {
            run.forget_keys(before);
            return false;
        }
        run.key(key);
    }
    true
}

/// Answers with an error, behind the answers of the run.
fn refuse<S>(error: &str, end: usize, run: &Run<'_>, cx: &mut Context<'_, S>) -> Step {
    if !run.is_empty() {
        return Step::Visit;
    }
    cx.line(error);
    Step::Done(end)
}

/// Goes on with a get whose keys come in pieces: those that are whole are asked for.
fn more_keys<'a, S: Store>(
    state: &mut State,
    gets: Gets,
    data: &'a [u8],
    pos: usize,
    run: &mut Run<'a>,
    cx: &mut Context<'_, S>,
) -> Step {
    if !run.is_empty() {
        return Step::Visit;
    }
    let rest = &data[pos..];
    let newline = memchr(b'\n', rest);
    let whole = match newline {
        Some(newline) => rest[..newline].strip_suffix(b"\r").unwrap_or(&rest[..newline]),
        // Behind the last space is perhaps half a key.
        None => &rest[..rest.iter().rposition(|&byte| byte == b' ').map_or(0, |space| space + 1)],
    };
    let half = rest.len() - whole.len();
    let mut bad = (newline.is_none() && half > KEY_MAX + 1).then_some(pos + whole.len());
    for key in words(whole) {
        if key.len() > KEY_MAX {
            bad = Some(key.as_ptr() as usize - data.as_ptr() as usize);
            break;
        }
        run.key(key);
    }
    let end = match (bad, newline) {
        (Some(bad), _) if run.keys_len() == 0 => {
            state.gets = None;
            state.skip = Skip::Line;
            cx.line(BAD_FORMAT);
            return Step::Done(bad);
        }
        (Some(bad), _) => bad,
        (None, Some(newline)) => pos + newline + 1,
        (None, None) if whole.is_empty() => return Step::Need,
        (None, None) => pos + whole.len(),
    };
    let last = bad.is_none() && newline.is_some();
    run.touch = gets.touch;
    run.request(Shape::Text { cas: gets.cas, last }, end);
    if last {
        state.gets = None;
    }
    Step::DoneVisit(end)
}

/// Any command but a plain `get`.
fn command<'a, S: Store>(
    state: &mut State,
    line: &'a [u8],
    data: &'a [u8],
    end: usize,
    run: &mut Run<'a>,
    cx: &mut Context<'_, S>,
) -> Step {
    let line = &line[line.iter().take_while(|&&byte| byte == b' ').count()..];
    let (name, arguments) = match memchr(b' ', line) {
        Some(space) => (&line[..space], &line[space + 1..]),
        None => (line, &[][..]),
    };
    if line.len() > LINE_MAX && (name == b"get" || name == b"gets") {
        state.gets = Some(Gets { cas: name == b"gets", touch: None });
        return Step::Done(arguments.as_ptr() as usize - data.as_ptr() as usize);
    }
    match name {
        // An old name of it that memcached still knows.
        b"get" | b"bget" => return get(arguments, false, end, run, cx),
        b"gets" => return get(arguments, true, end, run, cx),
        b"mg" if meta::get::gathers(arguments) => return meta::get::gather(arguments, end, run),
        _ => {}
    }
    // What follows changes something or answers by itself: the gets before it come first.
    if !run.is_empty() {
        return Step::Visit;
    }
    if line.len() > LINE_MAX {
        cx.line("CLIENT_ERROR line too long");
        return Step::Close;
    }
    match name {
        b"gat" => return get_and_touch(arguments, false, end, run, cx),
        b"gats" => return get_and_touch(arguments, true, end, run, cx),
        // A mapping is chosen, as by `get`; nothing is stored.
        b"set" if mapping_alone(arguments) => {
            bind(arguments, cx);
            return Step::Done(end);
        }
        b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" | b"ms" => {
            return storage::line(state, line, data, end, cx);
        }
        b"quit" => return Step::Close,
        _ if looks_like_http(arguments) => return Step::Close,
        _ => {}
    }
    simple(name, arguments, cx);
    Step::Done(end)
}

/// Whether all that is said is the name of a mapping.
fn mapping_alone(arguments: &[u8]) -> bool {
    let mut words = words(arguments);
    words.next().is_some_and(|word| word.starts_with(b"@@")) && words.next().is_none()
}

/// A browser, or a request forged through one: memcached hangs up too.
fn looks_like_http(arguments: &[u8]) -> bool {
    words(arguments).nth(1).is_some_and(|word| word.starts_with(b"HTTP/"))
}

/// Commands of one line whose answers are short.
fn simple<S: Store>(name: &[u8], arguments: &[u8], cx: &mut Context<'_, S>) {
    match name {
        b"mg" => meta::get::get(arguments, cx),
        b"md" => meta::delete::delete(arguments, cx),
        b"ma" => meta::count::count(arguments, cx),
        b"me" => meta::debug::debug(arguments, cx),
        b"mn" => cx.line("MN"),
        b"mr" => range::meta(arguments, cx),
        b"rget" => range::text(arguments, cx),
        b"incr" | b"decr" => count(name == b"decr", arguments, cx),
        b"delete" => delete(arguments, cx),
        b"touch" => touch(arguments, cx),
        b"flush_all" => flush_all(arguments, cx),
        b"bind" => bind(arguments, cx),
        b"stats" => stats::text(arguments, cx),
        b"version" => {
            let version = format!("VERSION {}", cx.service.version);
            cx.line(&version);
        }
        b"verbosity" => verbosity(arguments, cx),
        b"shutdown" => cx.line("ERROR: shutdown not enabled"),
        _ => cx.line("ERROR"),
    }
}

fn get_and_touch<'a, S: Store>(
    arguments: &'a [u8],
    cas: bool,
    end: usize,
    run: &mut Run<'a>,
    cx: &mut Context<'_, S>,
) -> Step {
    let mut arguments = words(arguments);
    let Some(seconds) = arguments.next() else { return refuse("ERROR", end, run, cx) };
    let Some(seconds) = i64_of(seconds) else { return refuse(BAD_EXPTIME, end, run, cx) };
    if !gather(arguments, run) {
        return refuse(BAD_FORMAT, end, run, cx);
    }
    run.touch = Some(expiry(seconds, cx.now));
    run.request(Shape::Text { cas, last: true }, end);
    Step::DoneVisit(end)
}

/// The words behind a command's name, if there are as many as it takes; else answers `ERROR`.
fn arguments_of<'a, S>(
    line: &'a [u8],
    number: std::ops::RangeInclusive<usize>,
    cx: &mut Context<'_, S>,
) -> Option<Words<'a>> {
    let found: Words<'a> = words(line).take(number.end() + 1).collect();
    if number.contains(&found.len()) {
        return Some(found);
    }
    cx.line("ERROR");
    None
}

/// Whether the answer of a command is not wanted.
pub(crate) fn is_silent(words: &[&[u8]]) -> bool {
    words.last().is_some_and(|&word| word == b"noreply")
}

/// Runs `f`, whose answer is thrown away if nobody wants it.
fn answering<S>(silent: bool, cx: &mut Context<'_, S>, f: impl FnOnce(&mut Context<'_, S>)) {
    let before = cx.out.len();
    f(cx);
    if silent {
        cx.out.truncate(before);
    }
}

fn count<S: Store>(down: bool, line: &[u8], cx: &mut Context<'_, S>) {
    let Some(words) = arguments_of(line, 2..=3, cx) else { return };
    answering(is_silent(&words), cx, |cx| {
        if words[0].len() > KEY_MAX {
            return cx.line(BAD_FORMAT);
        }
        let Some(delta) = u64_of(words[1]) else { return cx.line(BAD_DELTA) };
        let counted = cx.store.count(words[0], &Count { delta, down, initial: None, expires: None, cas: 0 });
        count_statistics(down, &counted, cx);
        match counted {
            Ok(Counted::Done(number, _)) => {
                crate::decimal::push_number(cx.out, number);
                cx.line("");
            }
            Ok(Counted::Not(Outcome::NotFound)) => cx.line("NOT_FOUND"),
            Ok(Counted::Not(_)) => cx.line("EXISTS"),
            Ok(Counted::NotANumber) => cx.line(NOT_NUMERIC),
            Err(failure) => cx.failure(&failure),
        }
    });
}

/// Counts what became of counting.
pub(crate) fn count_statistics<S>(down: bool, counted: &crate::store::Result<Counted>, cx: &Context<'_, S>) {
    let stats = &cx.service.stats;
    match (counted, down) {
        (Ok(Counted::Done(..)), false) => stats.incr_hits.add(1),
        (Ok(Counted::Done(..)), true) => stats.decr_hits.add(1),
        (Ok(Counted::Not(Outcome::NotFound)), false) => stats.incr_misses.add(1),
        (Ok(Counted::Not(Outcome::NotFound)), true) => stats.decr_misses.add(1),
        _ => {}
    }
}

/// Deletes and counts it.
pub(crate) fn delete_counted<S: Store>(
    key: &[u8],
    cas: u64,
    cx: &mut Context<'_, S>,
) -> crate::store::Result<Outcome> {
    let outcome = cx.store.delete(key, cas);
    match outcome {
        Ok(Outcome::Done(_)) => cx.service.stats.delete_hits.add(1),
        Ok(Outcome::NotFound) => cx.service.stats.delete_misses.add(1),
        _ => {}
    }
    outcome
}

fn delete<S: Store>(line: &[u8], cx: &mut Context<'_, S>) {
    let Some(words) = arguments_of(line, 1..=3, cx) else { return };
    answering(words.len() > 1 && is_silent(&words), cx, |cx| {
        // A time to wait was once allowed; 0 still is.
        let well_formed = match words[1..] {
            [] => true,
            [word] => word == b"0" || word == b"noreply",
            _ => words[1] == b"0" && words[2] == b"noreply",
        };
        if !well_formed {
            return cx.line("CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");
        }
        if words[0].len() > KEY_MAX {
            return cx.line(BAD_FORMAT);
        }
        match delete_counted(words[0], 0, cx) {
            Ok(Outcome::Done(_)) => cx.line("DELETED"),
            Ok(_) => cx.line("NOT_FOUND"),
            Err(failure) => cx.failure(&failure),
        }
    });
}

fn touch<S: Store>(line: &[u8], cx: &mut Context<'_, S>) {
    let Some(words) = arguments_of(line, 2..=3, cx) else { return };
    answering(is_silent(&words), cx, |cx| {
        if words[0].len() > KEY_MAX {
            return cx.line(BAD_FORMAT);
        }
        let Some(seconds) = i64_of(words[1]) else { return cx.line(BAD_EXPTIME) };
        let stats = &cx.service.stats;
        stats.cmd_touch.add(1);
        match cx.store.touch(words[0], expiry(seconds, cx.now)) {
            Ok(Outcome::Done(_)) => {
                stats.touch_hits.add(1);
                cx.line("TOUCHED");
            }
            Ok(_) => {
                stats.touch_misses.add(1);
                cx.line("NOT_FOUND");
            }
            Err(failure) => cx.failure(&failure),
        }
    });
}

fn flush_all<S: Store>(line: &[u8], cx: &mut Context<'_, S>) {
    let Some(words) = arguments_of(line, 0..=2, cx) else { return };
    answering(is_silent(&words), cx, |cx| {
        let seconds = match words.first() {
            None => 0,
            Some(&word) if word == b"noreply" => 0,
            Some(&word) => match i64_of(word) {
                Some(seconds) => seconds,
                None => return cx.line(BAD_EXPTIME),
            },
        };
        match flush_counted(seconds, cx) {
            Ok(()) => cx.line("OK"),
            Err(failure) => cx.failure(&failure),
        }
    });
}

/// Deletes everything, now or later, and counts it.
pub(crate) fn flush_counted<S: Store>(seconds: i64, cx: &mut Context<'_, S>) -> crate::store::Result<()> {
    cx.service.stats.cmd_flush.add(1);
    // What is past is now.
    let at = match expiry(seconds, cx.now) {
        Expiry(1) => Expiry(0),
        at => at,
    };
    cx.store.flush_all(at)
}

fn bind<S: Store>(line: &[u8], cx: &mut Context<'_, S>) {
    let Some(words) = arguments_of(line, 1..=1, cx) else { return };
    let name = words[0].strip_prefix(b"@@").unwrap_or(words[0]);
    match cx.store.bind(name) {
        Ok(_) => cx.line("OK"),
        Err(failure) => cx.failure(&failure),
    }
}

/// There is nothing to make chatty; well-formed or not is told as memcached tells it.
fn verbosity<S>(line: &[u8], cx: &mut Context<'_, S>) {
    let Some(words) = arguments_of(line, 1..=2, cx) else { return };
    answering(is_silent(&words), cx, |cx| match u32_of(words[0]) {
        Some(_) => cx.line("OK"),
        None => cx.line(BAD_FORMAT),
    });
}
