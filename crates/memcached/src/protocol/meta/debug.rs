//! `me`: what is known of an item, for people.

use super::Key;
use crate::protocol::text::BAD_FORMAT;
use crate::protocol::words::{KEY_MAX, words};
use crate::protocol::{Context, seconds_left};
use crate::store::Store;
use std::io::Write;
use std::ops::ControlFlow;

/// Tells what is known of an item.
pub(crate) fn debug<S: Store>(arguments: &[u8], cx: &mut Context<'_, S>) {
    let mut words = words(arguments);
    let key = words.next().filter(|key| key.len() <= KEY_MAX);
    let base64 = words.next().is_some_and(|flag| flag[0] == b'b');
    let Some(key) = key.and_then(|key| Key::read(key, base64)) else { return cx.line(BAD_FORMAT) };
    let (now, out) = (cx.now, &mut *cx.out);
    let mut found = false;
    let result = cx.store.get(&[&key.bytes], None, |_, item| {
        found = true;
        let access = item.access.unwrap_or(crate::store::Access { fetched: false, idle: 0 });
        out.extend_from_slice(b"ME ");
        out.extend_from_slice(&key.shown);
        // Writing to memory does not fail.
        let _ = write!(
            out,
            " exp={} la={} cas={} fetch={} cls=1 size={}\r\n",
            seconds_left(item.expires, now),
            access.idle,
            item.cas,
            if access.fetched { "yes" } else { "no" },
            item.key.len() + item.value.len(),
        );
        ControlFlow::Continue(())
    });
    match result {
        Ok(()) if !found => cx.line("EN"),
        Ok(()) => {}
        Err(failure) => cx.failure(&failure),
    }
}
