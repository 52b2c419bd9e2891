//! Random operations of one connection, beside a map that does the same.

use crate::innodb::bed::{Bed, index, spec};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use vaquita_base::Rng;
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_memcached::store::{Count, Counted, Expiry, Mode, NewItem, Outcome, Range, Store};

#[derive(Debug, Clone, PartialEq, Eq)]
struct Kept {
    flags: u32,
    cas: u64,
    expires: u32,
    value: Vec<u8>,
}

/// What should be there.
#[derive(Debug, Default)]
struct Model {
    items: BTreeMap<Vec<u8>, Kept>,
    now: u32,
}

impl Model {
    fn live(&self, key: &[u8]) -> Option<&Kept> {
        self.items.get(key).filter(|kept| kept.expires == 0 || kept.expires > self.now)
    }

    /// What a store should answer, but for the number; and what it makes.
    fn store(&self, mode: Mode, key: &[u8], item: &NewItem<'_>, cas: u64) -> Result<Kept, Outcome> {
        let old = self.live(key);
        let new = Kept { flags: item.flags, cas: 0, expires: item.expires.0, value: item.value.to_vec() };
        if cas != 0 {
            match old {
                None => return Err(Outcome::NotFound),
                Some(old) if mode != Mode::Add && old.cas != cas => return Err(Outcome::Exists),
                _ => {}
            }
        }
        match (mode, old) {
            (Mode::Set, _) | (Mode::Add, None) | (Mode::Replace, Some(_)) => Ok(new),
            (Mode::Append, Some(old)) => {
                Ok(Kept { value: [&old.value[..], item.value].concat(), ..old.clone() })
            }
            (Mode::Prepend, Some(old)) => {
                Ok(Kept { value: [item.value, &old.value[..]].concat(), ..old.clone() })
            }
            _ => Err(Outcome::NotStored),
        }
    }
}

fn run(seed: u64) {
    let mut rng = Rng::new(seed);
    let bed = Bed::new();
    let secondary = seed % 2 == 1;
    if secondary {
        let columns = vec![
            ColumnDef::int("id", 4, true).not_null(),
            ColumnDef::varbinary("k", 20),
            ColumnDef::text_blob("v", 2, Charset::LATIN1),
            ColumnDef::int("f", 4, true),
            ColumnDef::int("c", 8, true),
            ColumnDef::int("e", 4, true),
        ];
        let mut spec = spec("test/by_index", columns, &[0]);
        spec.columns[0].auto_increment = true;
        spec.indexes = vec![index("k", &[1], true)];
        bed.session().create_table(&spec).expect("it works");
        bed.map(["m", "test", "by_index", "k", "v", "f", "c", "e", "k"]);
    }
    bed.settings.w_batch_size.store([1, 4, 50][rng.below(3) as usize], Relaxed);
    bed.settings.r_batch_size.store([1, 7][rng.below(2) as usize], Relaxed);
    bed.settings.trx_level.store(rng.below(4) as u8, Relaxed);
    let mut store = bed.store();
    if secondary {
        store.bind(b"m").expect("it works");
    }
    store.flush_all(Expiry(0)).expect("it works");
    let mut model = Model { now: 1_000_000, ..Model::default() };
    let modes = [Mode::Set, Mode::Set, Mode::Add, Mode::Replace, Mode::Append, Mode::Prepend];
    for step in 0..1_500 {
        let key = format!("key{}", rng.below(12)).into_bytes();
        let known = model.items.get(&key).map_or(77, |kept| kept.cas);
        let cas = match rng.below(4) {
            0 => known.max(1),
            1 if rng.one_in(4) => 1 + rng.below(1_000),
            _ => 0,
        };
        let expires = Expiry(if rng.one_in(3) { model.now + rng.below(20) as u32 } else { 0 });
        let at = format!("seed {seed}, step {step}, {}", String::from_utf8_lossy(&key));
        match rng.below(12) {
            0..=4 => {
                let mode = modes[rng.below(6) as usize];
                let value: Vec<u8> = match rng.below(3) {
                    0 => rng.below(1_000).to_string().into_bytes(),
                    1 => vec![b'x'; rng.below(30) as usize],
                    _ => Vec::new(),
                };
                let item = NewItem { flags: rng.below(1 << 32) as u32, expires, value: &value };
                let long = model.live(&key).is_some_and(|kept| kept.value.len() + value.len() > 1_000);
                if long && matches!(mode, Mode::Append | Mode::Prepend) {
                    continue;
                }
                let done = store.store(mode, &key, &item, cas).expect("it works");
                match (model.store(mode, &key, &item, cas), done) {
                    (Ok(kept), Outcome::Done(cas)) => {
                        model.items.insert(key, Kept { cas, ..kept });
                    }
                    (Err(wanted), done) => assert_eq!(done, wanted, "{at}, {mode:?}"),
                    (Ok(_), done) => panic!("{at}, {mode:?}: {done:?}"),
                }
            }
            5 => {
                let count = Count {
                    delta: rng.below(100),
                    down: rng.one_in(2),
                    initial: rng.one_in(2).then_some((rng.below(9), expires)),
                    expires: None,
                    cas,
                };
                let done = store.count(&key, &count).expect("it works");
                let wanted = match model.live(&key) {
                    None => match count.initial {
                        Some((initial, _)) => Ok((initial, None)),
                        None => Err(Counted::Not(Outcome::NotFound)),
                    },
                    Some(kept) if kept.value.is_empty() => Err(Counted::NotANumber),
                    Some(kept) if cas != 0 && cas != kept.cas => Err(Counted::Not(Outcome::Exists)),
                    Some(kept) => match String::from_utf8_lossy(&kept.value).parse::<u64>() {
                        Ok(n) if count.down => Ok((n.saturating_sub(count.delta), Some(kept.clone()))),
                        Ok(n) => Ok((n.wrapping_add(count.delta), Some(kept.clone()))),
                        Err(_) => Err(Counted::NotANumber),
                    },
                };
                match (wanted, done) {
                    (Ok((n, old)), Counted::Done(got, cas)) => {
                        assert_eq!(n, got, "{at}");
                        let old =
                            old.unwrap_or(Kept { flags: 0, cas, expires: expires.0, value: Vec::new() });
                        model.items.insert(key, Kept { cas, value: n.to_string().into_bytes(), ..old });
                    }
                    (Err(wanted), done) => assert_eq!(done, wanted, "{at}"),
                    (Ok(_), done) => panic!("{at}: {done:?}"),
                }
            }
            6 => {
                let done = store.delete(&key, cas).expect("it works");
                let wanted = match model.live(&key) {
                    None => Outcome::NotFound,
                    Some(kept) if cas != 0 && cas != kept.cas => Outcome::Exists,
                    Some(_) => Outcome::Done(0),
                };
                assert_eq!(done, wanted, "{at}");
                if done == Outcome::Done(0) {
                    model.items.remove(&key);
                }
            }
            7 => {
                let there = model.live(&key).is_some();
                let done = store.touch(&key, expires).expect("it works");
                assert_eq!(matches!(done, Outcome::Done(_)), there, "{at}: {done:?}");
                if there {
                    model.items.get_mut(&key).expect("it works").expires = expires.0;
                }
            }
            8 => {
                model.now += rng.below(4) as u32;
                bed.now.store(model.now, Relaxed);
                // Locked rows are left; what it removes is gone for the model too.
                bed.tables.sweep().expect("it works");
            }
            9 if rng.one_in(40) => {
                store.flush_all(Expiry(0)).expect("it works");
                model.items.clear();
            }
            10 => {
                let mut seen = Vec::new();
                let range = Range {
                    from: Some(&key),
                    from_included: rng.one_in(2),
                    to: None,
                    to_included: true,
                    descending: rng.one_in(2),
                    limit: 1 + rng.below(6) as usize,
                };
                store
                    .range(&range, |item| {
                        seen.push((item.key.to_vec(), item.cas));
                        ControlFlow::Continue(())
                    })
                    .expect("it works");
                let within = |k: &&Vec<u8>| **k > key || range.from_included && **k == key;
                let mut wanted: Vec<_> = model
                    .items
                    .keys()
                    .filter(within)
                    .filter_map(|k| model.live(k).map(|kept| (k.clone(), kept.cas)))
                    .collect();
                if range.descending {
                    wanted.reverse();
                }
                wanted.truncate(range.limit);
                assert_eq!(seen, wanted, "{at}, {range:?}");
            }
            _ => {
                let keys = [&key[..], b"key3", b"nothing", b"key7"];
                let mut seen = Vec::new();
                store
                    .get(&keys, None, |at, item| {
                        let value = item.value.to_vec();
                        let (flags, cas, expires) = (item.flags, item.cas, item.expires.0);
                        seen.push((at, Kept { flags, cas, expires, value }));
                        ControlFlow::Continue(())
                    })
                    .expect("it works");
                let wanted: Vec<_> =
                    keys.iter().enumerate().filter_map(|(i, k)| Some((i, model.live(k)?.clone()))).collect();
                assert_eq!(seen, wanted, "{at}");
            }
        }
    }
}

#[test]
fn a_store_is_a_map() {
    for seed in 0..16 {
        run(seed);
    }
}
