//! Telling who runs the server which column is too short for what clients send: the protocol's answer has no room for it.

use super::column::Misfit;
use super::config::Container;
use super::mapping::Unfit;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

/// Where the lines go.
pub type Log = Box<dyn Fn(&str) + Send + Sync>;

/// Seconds between two lines about a column.
const SILENCE_S: u32 = 60;
/// Columns that are kept in mind.
const COLUMNS_MAX: usize = 1_000;

/// What was told of which columns.
#[derive(Default)]
pub(crate) struct Misfits {
    log: OnceLock<Log>,
    told: Mutex<HashMap<Place, Told>>,
}

/// Database, table, column.
type Place = (String, String, String);

#[derive(Debug)]
struct Told {
    /// Seconds since 1970.
    at: u32,
    /// Misfits since then.
    untold: u64,
}

impl fmt::Debug for Misfits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Misfits").field("told", &self.told).finish_non_exhaustive()
    }
}

impl Misfits {
    /// From now on lines go to `log`. Only the first one counts.
    pub(crate) fn tell_to(&self, log: Log) {
        let _ = self.log.set(log);
    }

    /// Tells of a key or value that is too long for its column, unless its column was told of a moment ago.
    pub(crate) fn note(&self, container: &Container, what: &str, unfit: &Unfit, now: u32) {
        let Some(log) = self.log.get().filter(|_| unfit.why == Misfit::TooLong) else { return };
        let place = (container.schema.clone(), container.table.clone(), unfit.column.clone());
        let Some(untold) = self.begin(place, now) else { return };
        let room = match unfit.room {
            Some(room) if room.chars < room.bytes => {
                format!(", which takes {} characters ({} bytes)", room.chars, room.bytes)
            }
            Some(room) => format!(", which takes {} bytes", room.bytes),
            None => String::new(),
        };
        let more = match untold {
            0 => String::new(),
            n => format!(" ({n} more since that was last said)"),
        };
        let Unfit { column, given, .. } = unfit;
        log(&format!(
            "memcached: a {what} of {given} bytes is too long for column {column} of {}.{}{room}{more}",
            container.schema, container.table
        ));
    }

    /// Whether the column is to be told of now: with how many were left untold.
    fn begin(&self, place: Place, now: u32) -> Option<u64> {
        let mut told = self.told.lock();
        if let Some(last) = told.get_mut(&place) {
            if now.saturating_sub(last.at) < SILENCE_S {
                last.untold += 1;
                return None;
            }
            last.at = now;
            return Some(std::mem::take(&mut last.untold));
        }
        if told.len() >= COLUMNS_MAX {
            told.retain(|_, last| now.saturating_sub(last.at) < SILENCE_S);
        }
        let has_room = told.len() < COLUMNS_MAX;
        has_room.then(|| told.insert(place, Told { at: now, untold: 0 }).map_or(0, |last| last.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::super::column::Room;
    use super::*;
    use std::sync::Arc;

    fn container(table: &str) -> Container {
        let text = |s: &str| s.to_owned();
        Container {
            name: b"default".to_vec(),
            schema: text("test"),
            table: text(table),
            keys: vec![text("c1")],
            values: vec![text("c2")],
            flags: None,
            cas: None,
            expires: None,
            index: text("PRIMARY"),
        }
    }

    #[test]
    fn a_column_is_told_of_once_a_minute() {
        let (misfits, lines) = (Misfits::default(), Arc::new(Mutex::new(Vec::new())));
        let told = lines.clone();
        misfits.tell_to(Box::new(move |line| told.lock().push(line.to_owned())));
        let unfit =
            |given, why| Unfit { column: "c1".into(), why, given, room: Some(Room { chars: 10, bytes: 30 }) };
        misfits.note(&container("t"), "key", &unfit(40, Misfit::Malformed), 100);
        for (now, given) in [(100, 40), (101, 41), (159, 42), (160, 43), (400, 44)] {
            misfits.note(&container("t"), "key", &unfit(given, Misfit::TooLong), now);
        }
        misfits.note(&container("u"), "value", &Unfit { room: None, ..unfit(9, Misfit::TooLong) }, 101);
        assert_eq!(
            *lines.lock(),
            [
                "memcached: a key of 40 bytes is too long for column c1 of test.t, which takes 10 characters (30 bytes)",
                "memcached: a key of 43 bytes is too long for column c1 of test.t, which takes 10 characters (30 bytes) \
                 (2 more since that was last said)",
                "memcached: a key of 44 bytes is too long for column c1 of test.t, which takes 10 characters (30 bytes)",
                "memcached: a value of 9 bytes is too long for column c1 of test.u",
            ]
        );
    }

    /// However many columns there are: no more are kept in mind than that.
    #[test]
    fn there_is_a_limit() {
        let misfits = Misfits::default();
        let place = |n: usize| ("d".to_owned(), "t".to_owned(), n.to_string());
        assert!((0..COLUMNS_MAX).all(|n| misfits.begin(place(n), 7) == Some(0)));
        assert_eq!(misfits.begin(place(COLUMNS_MAX), 66), None);
        assert_eq!(misfits.begin(place(COLUMNS_MAX), 67), Some(0));
        assert_eq!(misfits.told.lock().len(), 1);
    }
}
