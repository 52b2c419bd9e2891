//! `stats` and its groups, in both protocols.

use super::Context;
use super::binary::frame::{Answer, Header, Status, push, push_error};
use super::words::words;
use crate::store::Store;

/// Ticks of the processor times in `/proc`: 100 a second on every Linux.
const TICKS_PER_SECOND: u64 = 100;

/// What became of asking for a group.
enum Told {
    /// The lines of the group, and its end.
    Lines,
    /// Done, with nothing to show but this line.
    Line(&'static str),
    /// There is no such group.
    Unknown,
}

/// The text command.
pub(crate) fn text<S: Store>(arguments: &[u8], cx: &mut Context<'_, S>) {
    let before = cx.out.len();
    let mut lines = Vec::new();
    let told = group(arguments, cx, &mut |name, value| {
        lines.extend_from_slice(b"STAT ");
        lines.extend_from_slice(name.as_bytes());
        lines.push(b' ');
        lines.extend_from_slice(value.as_bytes());
        lines.extend_from_slice(b"\r\n");
    });
    debug_assert_eq!(before, cx.out.len());
    match told {
        Told::Lines => {
            cx.out.extend_from_slice(&lines);
            cx.line("END");
        }
        Told::Line(line) => cx.line(line),
        Told::Unknown => cx.line("ERROR"),
    }
}

/// The binary command: a frame a line, and one without a name at the end.
pub(crate) fn binary<S: Store>(header: &Header, arguments: &[u8], cx: &mut Context<'_, S>) {
    let answer = Answer::to(header);
    let mut frames = Vec::new();
    let told = group(arguments, cx, &mut |name, value| {
        push(&mut frames, answer, &[], name.as_bytes(), value.as_bytes());
    });
    match told {
        Told::Lines => cx.out.extend_from_slice(&frames),
        Told::Line(line) if !line.starts_with("CLIENT_ERROR") => {}
        Told::Line(_) | Told::Unknown => {
            return push_error(cx.out, header.opcode, header.opaque, Status::NotFound);
        }
    }
    push(cx.out, answer, &[], &[], &[]);
}

fn group<S: Store>(arguments: &[u8], cx: &mut Context<'_, S>, line: &mut dyn FnMut(&str, &str)) -> Told {
    let mut words = words(arguments);
    let name = words.next().unwrap_or_default();
    match name {
        b"" => general(cx, line),
        b"reset" => {
            cx.service.stats.reset();
            return Told::Line("RESET");
        }
        b"settings" => settings(cx, line),
        b"conns" => cx.service.server.connections(line),
        b"detail" => return detail(words.next().unwrap_or_default()),
        b"sizes" => {
            if !cx.store.stats(name, line) {
                line("sizes_status", "disabled");
            }
        }
        // Groups of memcached's own store: empty where the items lie elsewhere.
        b"items" | b"slabs" | b"extstore" => {
            cx.store.stats(name, line);
        }
        _ if cx.store.stats(name, line) => {}
        _ => return Told::Unknown,
    }
    Told::Lines
}

/// Statistics by prefix of keys are not kept.
fn detail(what: &[u8]) -> Told {
    match what {
        b"on" | b"off" => Told::Line("OK"),
        b"dump" => Told::Line("END"),
        _ => Told::Line("CLIENT_ERROR usage: stats detail on|off|dump"),
    }
}

fn general<S: Store>(cx: &mut Context<'_, S>, line: &mut dyn FnMut(&str, &str)) {
    let service = cx.service;
    line("pid", &std::process::id().to_string());
    line("uptime", &cx.now.saturating_sub(service.started).to_string());
    line("time", &cx.now.to_string());
    line("version", &service.version);
    line("pointer_size", &usize::BITS.to_string());
    if let Some((user, system)) = processor_times() {
        line("rusage_user", &user);
        line("rusage_system", &system);
    }
    service.server.general(line);
    service.stats.each(|name, value| line(name, &value.to_string()));
    cx.store.stats(b"", line);
}

/// Seconds this process ran, in user and in system mode.
fn processor_times() -> Option<(String, String)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name, which may hold spaces, ends with the last bracket.
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let seconds = |index: usize| {
        let ticks: u64 = fields.get(index)?.parse().ok()?;
        let micros = ticks % TICKS_PER_SECOND * (1_000_000 / TICKS_PER_SECOND);
        Some(format!("{}.{micros:06}", ticks / TICKS_PER_SECOND))
    };
    Some((seconds(11)?, seconds(12)?))
}

fn settings<S>(cx: &Context<'_, S>, line: &mut dyn FnMut(&str, &str)) {
    let service = cx.service;
    let sasl = if service.users.is_some() { "yes" } else { "no" };
    line("item_size_max", &service.limits.item_size_max.to_string());
    line("cas_enabled", "yes");
    line("flush_enabled", "yes");
    line("detail_enabled", "no");
    line("shutdown_command", "no");
    line("stat_key_prefix", ":");
    line("binding_protocol", if service.users.is_some() { "binary" } else { "auto-negotiate" });
    line("auth_enabled_sasl", sasl);
    line("auth_enabled_ascii", "no");
    service.server.settings(line);
}
