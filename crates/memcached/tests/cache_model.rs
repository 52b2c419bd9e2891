//! The cache against a map that forgets nothing, and its memory against its limit.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use vaquita_base::rng::Rng;
use vaquita_memcached::cache::Cache;
use vaquita_memcached::store::{Count, Counted, Expiry, Failure, Mode, NewItem, Outcome, Range};

const START: u32 = 1_700_000_000;

#[derive(Debug, Clone, PartialEq)]
struct Kept {
    flags: u32,
    expires: u32,
    cas: u64,
    value: Vec<u8>,
    stored: u32,
}

/// What the cache should hold.
#[derive(Default)]
struct Model {
    items: BTreeMap<(u32, Vec<u8>), Kept>,
    flushes: BTreeMap<u32, u32>,
}

impl Model {
    fn live(&mut self, space: u32, key: &[u8], now: u32) -> Option<&mut Kept> {
        let place = (space, key.to_vec());
        let flush = self.flushes.get(&space).copied().unwrap_or(0);
        let ended = self.items.get(&place).is_some_and(|kept| {
            kept.expires != 0 && kept.expires <= now || flush != 0 && flush <= now && kept.stored < flush
        });
        if ended {
            self.items.remove(&place);
        }
        self.items.get_mut(&place)
    }

    fn store(
        &mut self,
        space: u32,
        mode: Mode,
        key: &[u8],
        item: &NewItem<'_>,
        cas: u64,
        now: u32,
    ) -> Outcome {
        let old = self.live(space, key, now).cloned();
        match (&old, mode) {
            (None, _) if cas != 0 => return Outcome::NotFound,
            (None, Mode::Replace | Mode::Append | Mode::Prepend) | (Some(_), Mode::Add) => {
                return Outcome::NotStored;
            }
            (Some(old), _) if cas != 0 && cas != old.cas => return Outcome::Exists,
            _ => {}
        }
        let fresh = Kept {
            flags: item.flags,
            expires: item.expires.0,
            cas: 0,
            value: item.value.to_vec(),
            stored: now,
        };
        let kept = match (old, mode) {
            (Some(old), Mode::Append) => Kept { value: [&old.value, item.value].concat(), ..old },
            (Some(old), Mode::Prepend) => Kept { value: [item.value, &old.value].concat(), ..old },
            _ => fresh,
        };
        self.items.insert((space, key.to_vec()), kept);
        Outcome::Done(0)
    }
}

fn look(cache: &Cache, space: u32, key: &[u8], now: u32) -> Option<Kept> {
    let mut seen = None;
    cache.get(space, key, None, now, |item| {
        assert_eq!(item.key, key);
        let value = item.value.to_vec();
        seen = Some(Kept { flags: item.flags, expires: item.expires.0, cas: item.cas, value, stored: 0 });
    });
    seen
}

#[test]
fn the_cache_does_what_a_map_does() {
    let mut rng = Rng::new(7);
    let cache = Cache::new(32 << 20, 1 << 20);
    let mut model = Model::default();
    let mut now = START;
    for step in 0..60_000 {
        let space = rng.index(3) as u32;
        let key = format!("key{}", rng.index(300)).into_bytes();
        let length = [0, 1, 20, 400][rng.index(4)];
        let value = vec![b'0' + rng.index(10) as u8; length];
        let expires = Expiry(if rng.index(3) == 0 { now + rng.index(50) as u32 } else { 0 });
        let known = model.live(space, &key, now).map_or(0, |kept| kept.cas);
        let cas = [0, 0, known, 12_345_678_901][rng.index(4)];
        match rng.index(12) {
            0..=4 => {
                let modes = [Mode::Set, Mode::Add, Mode::Replace, Mode::Append, Mode::Prepend];
                let (mode, item) = (modes[rng.index(5)], NewItem { flags: step, expires, value: &value });
                let wanted = model.store(space, mode, &key, &item, cas, now);
                let outcome = cache.store(space, mode, &key, &item, cas, now).unwrap();
                match outcome {
                    Outcome::Done(number) => {
                        assert_eq!(wanted, Outcome::Done(0), "step {step}");
                        // What ended at once is gone before it could be given its number.
                        if let Some(kept) = model.items.get_mut(&(space, key)) {
                            assert!(number > kept.cas, "numbers grow");
                            kept.cas = number;
                        }
                    }
                    outcome => assert_eq!(outcome, wanted, "step {step}"),
                }
            }
            5 => {
                let wanted = match model.live(space, &key, now) {
                    None => Outcome::NotFound,
                    Some(kept) if cas != 0 && cas != kept.cas => Outcome::Exists,
                    Some(_) => {
                        model.items.remove(&(space, key.clone()));
                        Outcome::Done(0)
                    }
                };
                assert_eq!(cache.delete(space, &key, cas, now), wanted, "step {step}");
            }
            6 => {
                let wanted = model.live(space, &key, now).map(|kept| kept.expires = expires.0).is_some();
                let done = matches!(cache.touch(space, &key, expires, now), Outcome::Done(_));
                assert_eq!(done, wanted, "step {step}");
            }
            7 => {
                let initial = (rng.index(2) == 0).then_some((5, Expiry(0)));
                let count = Count { delta: 3, down: rng.index(2) == 0, initial, expires: None, cas: 0 };
                let counted = cache.count(space, &key, &count, now).unwrap();
                match (model.live(space, &key, now), counted) {
                    (None, Counted::Done(5, number)) => {
                        assert!(initial.is_some(), "step {step}");
                        let kept =
                            Kept { flags: 0, expires: 0, cas: number, value: b"5".to_vec(), stored: now };
                        model.items.insert((space, key), kept);
                    }
                    (None, counted) => {
                        assert_eq!(counted, Counted::Not(Outcome::NotFound), "step {step}");
                    }
                    (Some(kept), Counted::Done(number, cas)) => {
                        let old: u64 = String::from_utf8_lossy(&kept.value).parse().unwrap();
                        assert_eq!(
                            number,
                            if count.down { old.saturating_sub(3) } else { old.wrapping_add(3) }
                        );
                        kept.value = number.to_string().into_bytes();
                        kept.cas = cas;
                    }
                    (Some(kept), counted) => {
                        assert_eq!(counted, Counted::NotANumber, "step {step}");
                        assert!(String::from_utf8_lossy(&kept.value).parse::<u64>().is_err());
                    }
                }
            }
            8 => now += rng.index(3) as u32,
            9 if rng.index(400) == 0 => {
                cache.flush(space, Expiry(0), now);
                model.items.retain(|(of, _), _| *of != space);
            }
            9 if rng.index(200) == 0 => {
                let at = now + 1 + rng.index(20) as u32;
                cache.flush(space, Expiry(at), now);
                // What an earlier moment ended stays ended.
                let keys: Vec<_> = model.items.keys().map(|(_, key)| key.clone()).collect();
                for key in keys {
                    model.live(space, &key, now);
                }
                model.flushes.insert(space, at);
            }
            10 if step % 20 == 0 => check_range(&cache, &mut model, space, now, &mut rng),
            _ => {
                let kept = model.live(space, &key, now).cloned();
                let wanted = kept.map(|kept| Kept { stored: 0, ..kept });
                assert_eq!(look(&cache, space, &key, now), wanted, "step {step}");
            }
        }
    }
    assert_eq!(cache.stats().evictions, 0);
}

fn check_range(cache: &Cache, model: &mut Model, space: u32, now: u32, rng: &mut Rng) {
    let (from, to) = (format!("key{}", rng.index(300)), format!("key{}", rng.index(300)));
    let range = Range {
        from: (rng.index(3) > 0).then_some(from.as_bytes()),
        from_included: rng.index(2) == 0,
        to: (rng.index(3) > 0).then_some(to.as_bytes()),
        to_included: rng.index(2) == 0,
        descending: rng.index(2) == 0,
        limit: 1000,
    };
    let keys: Vec<Vec<u8>> =
        model.items.keys().filter(|(of, _)| *of == space).map(|(_, key)| key.clone()).collect();
    let mut wanted: Vec<Vec<u8>> = keys
        .into_iter()
        .filter(|key| model.live(space, key, now).is_some())
        .filter(|key| {
            let key = key.as_slice();
            range.from.is_none_or(|from| key > from || range.from_included && key == from)
                && range.to.is_none_or(|to| key < to || range.to_included && key == to)
        })
        .collect();
    if range.descending {
        wanted.reverse();
    }
    let mut seen = Vec::new();
    cache.range(space, &range, now, |item| {
        seen.push(item.key.to_vec());
        ControlFlow::Continue(())
    });
    assert_eq!(seen, wanted, "{range:?}");
    let mut first = Vec::new();
    cache.range(space, &range, now, |item| {
        first.push(item.key.to_vec());
        if first.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(first, wanted[..wanted.len().min(2)], "stopped");
}

/// Never more memory than allowed, whatever the sizes; what is used stays longer than what is not.
#[test]
fn memory_is_bounded() {
    const LIMIT: usize = 16 << 20;
    let mut rng = Rng::new(3);
    let cache = Cache::new(LIMIT, 1 << 20);
    let value = vec![b'v'; 1 << 20];
    for step in 0..60_000u32 {
        let key = format!("{}-{}", rng.index(200_000), "k".repeat(rng.index(100)));
        let length = if rng.index(1000) == 0 { rng.index(1 << 20) } else { rng.index(2000) };
        let item = NewItem { flags: 0, expires: Expiry(0), value: &value[..length] };
        cache.store(0, Mode::Set, key.as_bytes(), &item, 0, START).unwrap();
        cache.store(0, Mode::Set, b"used", &NewItem { value: b"1", ..item }, 0, START).unwrap();
        if step % 8 == 0 {
            assert!(look(&cache, 0, b"used", START).is_some(), "what is used stays");
            assert!(cache.stats().bytes <= LIMIT as u64, "{:?}", cache.stats());
        }
    }
    let stats = cache.stats();
    assert!(stats.evictions > 10_000 && stats.bytes > LIMIT as u64 / 2, "{stats:?}");
    // Small items fill it as well: slots and table are counted, too.
    for number in 0..400_000u32 {
        let item = NewItem { flags: 0, expires: Expiry(0), value: b"1" };
        cache.store(0, Mode::Set, &number.to_string().into_bytes(), &item, 0, START).unwrap();
    }
    assert!(cache.stats().bytes <= LIMIT as u64, "{:?}", cache.stats());
    cache.flush(0, Expiry(0), START);
    assert_eq!((cache.stats().items, cache.stats().bytes), (0, 0));
}

#[test]
fn what_expired_is_taken_first() {
    let cache = Cache::new(1 << 20, 1 << 20);
    let item = |expires| NewItem { flags: 0, expires: Expiry(expires), value: &[b'v'; 1000] };
    for number in 0..300u32 {
        cache.store(0, Mode::Set, format!("short{number}").as_bytes(), &item(START + 1), 0, START).unwrap();
        cache.store(0, Mode::Set, format!("long{number}").as_bytes(), &item(0), 0, START).unwrap();
        look(&cache, 0, format!("long{number}").as_bytes(), START);
    }
    for number in 0..300u32 {
        cache.store(0, Mode::Set, format!("new{number}").as_bytes(), &item(0), 0, START + 2).unwrap();
    }
    let there =
        (0..300u32).filter(|n| look(&cache, 0, format!("long{n}").as_bytes(), START + 2).is_some()).count();
    assert_eq!(there, 300, "{:?}", cache.stats());
}

#[test]
fn what_does_not_fit_is_refused() {
    let cache = Cache::new(64 << 10, 1 << 20);
    let item = NewItem { flags: 0, expires: Expiry(0), value: &[b'v'; 70_000] };
    assert_eq!(cache.store(0, Mode::Set, b"a", &item, 0, START), Err(Failure::NoMemory));
    let cache = Cache::new(1 << 20, 1000);
    assert_eq!(cache.store(0, Mode::Set, b"a", &item, 0, START), Err(Failure::TooLarge));
    let half = NewItem { value: &[b'v'; 600], ..item };
    assert!(matches!(cache.store(0, Mode::Set, b"a", &half, 0, START), Ok(Outcome::Done(_))));
    assert_eq!(cache.store(0, Mode::Append, b"a", &half, 0, START), Err(Failure::TooLarge));
    assert_eq!(look(&cache, 0, b"a", START).unwrap().value.len(), 600, "the old value stays");
}
