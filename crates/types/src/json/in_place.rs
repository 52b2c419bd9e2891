//! Changes of a document's bytes that leave everything else in it where it is: a member or element gives way to a value
//! that takes no more room, or goes. What becomes free stays in the document, between its values, and is there for later
//! changes.
//!
//! - I1: the values of a container that are not in their entries lie behind its keys, in the order of the entries. So the
//!   room of a value ends where the next one begins, and readers find ends by that.
//! - I2: no size and no offset changes but the offset of the entry that is changed.
//!
//! Documents that are otherwise (of another writer, or damaged) are not changed in place.

use super::binary::{push_value, sized_len};
use super::edit::Change;
use super::path::Leg;
use super::{DEPTH_MAX, Json, key_order};
use std::cmp::Ordering;
use std::ops::Range;
use vaquita_base::codec::le;

/// A container within a document.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Where its count is.
    start: usize,
    size: usize,
    /// Bytes of counts and offsets.
    width: usize,
    count: usize,
    object: bool,
}

/// Where a path leads.
#[derive(Debug, Clone, Copy)]
enum Target {
    /// To the document as a whole.
    Whole,
    /// To a member or element.
    Entry(Place, usize),
    /// To nothing.
    Missing,
}

/// JSON_SET or JSON_REPLACE of a value that is there; `false`: it is not, or has not so much room, and nothing is done.
pub fn replace(doc: &mut [u8], path: &[Leg], how: Change, value: &Json) -> bool {
    try_replace(doc, path, how, value).is_some()
}

/// Removes what the path leads to, if it leads to something; `false`: not in place.
pub fn remove(doc: &mut [u8], path: &[Leg]) -> bool {
    try_remove(doc, path).is_some()
}

/// Bytes of a document that hold nothing: what changes in place have left.
pub fn free_bytes(doc: &[u8]) -> usize {
    let used = doc.split_first().and_then(|(&ty, value)| used(value, ty, DEPTH_MAX));
    used.map_or(0, |used| doc.len().saturating_sub(1 + used))
}

fn try_replace(doc: &mut [u8], path: &[Leg], how: Change, value: &Json) -> Option<()> {
    let (place, i) = match find(doc, path)? {
        Target::Entry(place, i) if how != Change::Insert => (place, i),
        Target::Missing if how == Change::Replace => return Some(()),
        _ => return None,
    };
    // Too deep is for the other way to say.
    (path.len() + value.depth() <= DEPTH_MAX).then_some(())?;
    let mut bytes = Vec::new();
    // What cannot be made is for the other way to say, too.
    let ty = push_value(value, &mut bytes).ok()?;
    let entry = place.entry(i);
    if place.is_inline(ty) {
        let mut v = le::get_uint(&bytes, 0, bytes.len());
        // Signed numbers fill the entry.
        if bytes.len() == 2 && place.width == 4 && matches!(value, Json::Int(_)) {
            v = u64::from(v as u16 as i16 as u32);
        }
        le::put_uint(doc, entry + 1, place.width, v);
    } else {
        let room = place.room(doc, i)?;
        (bytes.len() <= room.len()).then_some(())?;
        doc.get_mut(room.start..room.start + bytes.len())?.copy_from_slice(&bytes);
        le::put_uint(doc, entry + 1, place.width, (room.start - place.start) as u64);
    }
    doc[entry] = ty;
    Some(())
}

fn try_remove(doc: &mut [u8], path: &[Leg]) -> Option<()> {
    let (last, above) = path.split_last()?;
    // What is no array has no element that could go.
    let holder = match find(doc, above)? {
        Target::Missing => return Some(()),
        Target::Whole => place_at(doc, *doc.first()?, 1)?,
        Target::Entry(place, i) => match place.child(doc, i)? {
            Some(child) => child,
            None => return Some(()),
        },
    };
    let Some(i) = holder.position(doc, last)? else { return Some(()) };
    let (keys, values) = (holder.start + 2 * holder.width, holder.entry(0));
    let key_len = if holder.object { holder.width + 2 } else { 0 };
    let value_len = 1 + holder.width;
    let end = values + holder.count * value_len;
    let mut entries = doc.get(keys..end)?.to_vec();
    entries.drain(values - keys + i * value_len..values - keys + (i + 1) * value_len);
    entries.drain(i * key_len..(i + 1) * key_len);
    entries.resize(end - keys, 0);
    doc[keys..end].copy_from_slice(&entries);
    le::put_uint(doc, holder.start, holder.width, holder.count as u64 - 1);
    Some(())
}

/// Where a path leads. `None`: the document is not as it should be.
fn find(doc: &[u8], path: &[Leg]) -> Option<Target> {
    let mut at = Target::Whole;
    for leg in path {
        let holder = match at {
            Target::Missing => return Some(at),
            Target::Whole => place_at(doc, *doc.first()?, 1),
            Target::Entry(place, i) => place.child(doc, i)?,
        };
        at = match (holder, leg) {
            (Some(holder), leg) if holder.object == matches!(leg, Leg::Member(_)) => {
                holder.position(doc, leg)?.map_or(Target::Missing, |i| Target::Entry(holder, i))
            }
            // What is no array is as an array of one element.
            (_, Leg::Cell(index)) if index.at(1) == Some(0) => at,
            _ => Target::Missing,
        };
    }
    Some(at)
}

/// The container of that type whose count is at `start`; `None`: it is none, or leaves the document.
fn place_at(doc: &[u8], ty: u8, start: usize) -> Option<Place> {
    let (width, object) = match ty {
        0 => (2, true),
        1 => (4, true),
        2 => (2, false),
        3 => (4, false),
        _ => return None,
    };
    let count = number(doc, start, width)?;
    let size = number(doc, start + width, width)?;
    let place = Place { start, size, width, count, object };
    let entries = count.checked_mul(1 + width + if object { width + 2 } else { 0 })?;
    let fits = (2 * width).checked_add(entries)? <= size && start.checked_add(size)? <= doc.len();
    fits.then_some(place)
}

fn number(bytes: &[u8], at: usize, len: usize) -> Option<usize> {
    (at.checked_add(len)? <= bytes.len()).then(|| le::get_uint(bytes, at, len) as usize)
}

impl Place {
    /// Where the entry of a value is.
    fn entry(&self, i: usize) -> usize {
        let keys = if self.object { self.count * (self.width + 2) } else { 0 };
        self.start + 2 * self.width + keys + i * (1 + self.width)
    }

    /// Whether values of this type are in their entries.
    fn is_inline(&self, ty: u8) -> bool {
        match ty {
            4..=6 => true,
            7 | 8 => self.width == 4,
            _ => false,
        }
    }

    /// Where the value is that an entry points to; `None` within: it is in the entry.
    fn value_at(&self, doc: &[u8], i: usize) -> Option<Option<usize>> {
        let entry = self.entry(i);
        if self.is_inline(*doc.get(entry)?) {
            return Some(None);
        }
        let offset = number(doc, entry + 1, self.width)?;
        (offset <= self.size).then_some(Some(self.start + offset))
    }

    /// The container that a value is; `None` within: it is something else.
    fn child(&self, doc: &[u8], i: usize) -> Option<Option<Place>> {
        let ty = *doc.get(self.entry(i))?;
        match (ty, self.value_at(doc, i)?) {
            (0..=3, Some(at)) => place_at(doc, ty, at).map(Some),
            _ => Some(None),
        }
    }

    /// The key of a member, as a part of the document.
    fn key(&self, doc: &[u8], i: usize) -> Option<Range<usize>> {
        let entry = self.start + 2 * self.width + i * (self.width + 2);
        let from = number(doc, entry, self.width)?;
        let to = from.checked_add(number(doc, entry + self.width, 2)?)?;
        (to <= self.size).then_some(self.start + from..self.start + to)
    }

    /// Which member or element a leg means; `None` within: none.
    fn position(&self, doc: &[u8], leg: &Leg) -> Option<Option<usize>> {
        match leg {
            Leg::Cell(index) if !self.object => Some(index.at(self.count).filter(|&i| i < self.count)),
            Leg::Member(key) if self.object => {
                let (mut low, mut high) = (0, self.count);
                while low < high {
                    let middle = low + (high - low) / 2;
                    match key_order(doc.get(self.key(doc, middle)?)?, key) {
                        Ordering::Less => low = middle + 1,
                        Ordering::Greater => high = middle,
                        Ordering::Equal => return Some(Some(middle)),
                    }
                }
                Some(None)
            }
            _ => Some(None),
        }
    }

    /// The room that the value of an entry may take: from where it is, or else from the end of what is before it, to
    /// where the next value begins.
    fn room(&self, doc: &[u8], i: usize) -> Option<Range<usize>> {
        let mut before = self.entry(self.count);
        for k in 0..if self.object { self.count } else { 0 } {
            before = before.max(self.key(doc, k)?.end);
        }
        for k in 0..i {
            if let Some(at) = self.value_at(doc, k)? {
                (at >= before).then_some(())?;
                before = at + used_whole(doc.get(at..)?, *doc.get(self.entry(k))?)?;
            }
        }
        let start = self.value_at(doc, i)?.unwrap_or(before);
        let mut end = self.start + self.size;
        for k in i + 1..self.count {
            if let Some(at) = self.value_at(doc, k)? {
                end = at;
                break;
            }
        }
        (before <= start && start <= end && end <= self.start + self.size).then_some(start..end)
    }
}

/// Bytes from the beginning of a value to its end, with what is free in it.
fn used_whole(value: &[u8], ty: u8) -> Option<usize> {
    match ty {
        0 | 2 => number(value, 2, 2),
        1 | 3 => number(value, 4, 4),
        _ => sized_len(value, ty),
    }
}

/// Bytes of a value that hold something.
fn used(value: &[u8], ty: u8, depth: usize) -> Option<usize> {
    let Some(place) = place_at(value, ty, 0) else { return sized_len(value, ty) };
    let depth = depth.checked_sub(1)?;
    let mut sum = place.entry(place.count);
    for i in 0..place.count {
        if place.object {
            sum += place.key(value, i)?.len();
        }
        if let Some(at) = place.value_at(value, i)? {
            sum += used(value.get(at..)?, *value.get(place.entry(i))?, depth)?;
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::super::path::Path;
    use super::super::{binary, push_text};
    use super::*;
    use vaquita_base::Rng;

    fn path(text: &str) -> Path {
        Path::parse(text.as_bytes()).expect("a path")
    }

    fn document(text: &str) -> Vec<u8> {
        binary::encode(&parse(text.as_bytes()).expect("a document")).expect("room")
    }

    fn text(doc: &[u8]) -> String {
        let mut out = Vec::new();
        push_text(doc, &mut out).unwrap();
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn what_fits_takes_the_place() {
        let mut doc = document(r#"{"a": 10, "b": "wxyz", "c": "[true, false]"}"#);
        let size = doc.len();
        let mut set = |at: &str, value: &str, fits: bool, shown: &str, free: usize| {
            let value = parse(value.as_bytes()).expect("a value");
            assert_eq!(replace(&mut doc, &path(at).legs, Change::Set, &value), fits, "{at}");
            assert_eq!((text(&doc).as_str(), free_bytes(&doc), doc.len()), (shown, free, size), "{at}");
        };
        // The numbers are those of MySQL's manual, at JSON_STORAGE_FREE().
        set("$.c", "1", true, r#"{"a": 10, "b": "wxyz", "c": 1}"#, 14);
        set("$.b", "\"wx\"", true, r#"{"a": 10, "b": "wx", "c": 1}"#, 16);
        // What has become free is there for what follows; nothing is put where there is nothing.
        set("$.c", r#"["x"]"#, true, r#"{"a": 10, "b": "wx", "c": ["x"]}"#, 7);
        set("$.a", "1000000", false, r#"{"a": 10, "b": "wx", "c": ["x"]}"#, 7);
        set("$.b", "\"wxyz!\"", false, r#"{"a": 10, "b": "wx", "c": ["x"]}"#, 7);
        set("$.d", "1", false, r#"{"a": 10, "b": "wx", "c": ["x"]}"#, 7);
        set("$", "1", false, r#"{"a": 10, "b": "wx", "c": ["x"]}"#, 7);
        set("$.c[0]", "true", true, r#"{"a": 10, "b": "wx", "c": [true]}"#, 9);
        // What is no array is one of one element.
        set("$.a[0]", "-7", true, r#"{"a": -7, "b": "wx", "c": [true]}"#, 9);
        set("$.c[last]", "\"y\"", true, r#"{"a": -7, "b": "wx", "c": ["y"]}"#, 7);
    }

    #[test]
    fn what_goes_leaves_room() {
        let mut doc = document(r#"{"a": [1, "two", 3], "b": "b", "long": {"x": 1.5}}"#);
        let whole = doc.len();
        for (at, shown) in [
            ("$.a[1]", r#"{"a": [1, 3], "b": "b", "long": {"x": 1.5}}"#),
            ("$.a[7]", r#"{"a": [1, 3], "b": "b", "long": {"x": 1.5}}"#),
            ("$.b[0]", r#"{"a": [1, 3], "b": "b", "long": {"x": 1.5}}"#),
            ("$.b", r#"{"a": [1, 3], "long": {"x": 1.5}}"#),
            ("$.none.x", r#"{"a": [1, 3], "long": {"x": 1.5}}"#),
            ("$.long.x", r#"{"a": [1, 3], "long": {}}"#),
            ("$.long", r#"{"a": [1, 3]}"#),
            ("$.a[0]", r#"{"a": [3]}"#),
            ("$.a[0]", r#"{"a": []}"#),
            ("$.a", "{}"),
        ] {
            assert!(remove(&mut doc, &path(at).legs), "{at}");
            assert_eq!((text(&doc).as_str(), doc.len()), (shown, whole), "{at}");
        }
        assert_eq!(free_bytes(&doc), whole - document("{}").len());
        assert!(!remove(&mut document("7"), &path("$.a").legs));
    }

    fn random(rng: &mut Rng, depth: u32) -> Json {
        let bytes = |rng: &mut Rng| {
            let most = if rng.one_in(20) { 70_000 } else { 40 };
            vec![b'a' + rng.below(26) as u8; rng.below(most) as usize]
        };
        match rng.below(if depth == 0 { 6 } else { 10 }) {
            0 => Json::Null,
            1 => Json::Bool(rng.one_in(2)),
            2 => Json::Int(rng.next_u64() as i64 >> rng.below(64)),
            3 => Json::UInt(rng.next_u64() >> rng.below(64)),
            4 => Json::Double(rng.below(1000) as f64 / 8.0),
            5 => Json::Text(bytes(rng)),
            6 | 7 => Json::Array((0..rng.below(5)).map(|_| random(rng, depth - 1)).collect()),
            _ => {
                let key = |rng: &mut Rng| vec![b'k' + rng.below(4) as u8; 1 + rng.below(2) as usize];
                Json::object((0..rng.below(5)).map(|_| (key(rng), random(rng, depth - 1))).collect()).unwrap()
            }
        }
    }

    /// A path to something in the document, or near by.
    fn somewhere(rng: &mut Rng, tree: &Json) -> String {
        let mut out = "$".to_owned();
        let mut at = tree;
        while !rng.one_in(3) {
            match at {
                Json::Array(items) if !items.is_empty() => {
                    let i = rng.index(items.len());
                    out += &format!("[{i}]");
                    at = &items[i];
                }
                Json::Object(members) if !members.is_empty() => {
                    let (key, value) = &members[rng.index(members.len())];
                    out += &format!(".{}", String::from_utf8_lossy(key));
                    at = value;
                }
                _ => break,
            }
        }
        match rng.below(8) {
            0 => out + ".k",
            1 => out + "[0]",
            2 => out + "[last]",
            _ => out,
        }
    }

    /// Changes one after the other, in place where that can be, against the same changes of a tree.
    #[test]
    fn random_changes_are_those_of_trees() {
        let (mut replaced, mut removed) = (0, 0);
        for seed in 0..2_000 {
            let mut rng = Rng::new(seed);
            let mut tree = random(&mut rng, 4);
            let mut doc = binary::encode(&tree).unwrap();
            assert_eq!(free_bytes(&doc), 0, "seed {seed}");
            for step in 0..12 {
                let at = path(&somewhere(&mut rng, &tree));
                let before = doc.clone();
                let done = if rng.one_in(3) && !at.legs.is_empty() {
                    tree.remove(&at);
                    let done = remove(&mut doc, &at.legs);
                    removed += usize::from(done && doc != before);
                    done
                } else {
                    let value = random(&mut rng, 2);
                    let how = if rng.one_in(2) { Change::Set } else { Change::Replace };
                    tree.change(&at, how, value.clone()).unwrap();
                    let done = replace(&mut doc, &at.legs, how, &value);
                    replaced += usize::from(done);
                    done
                };
                if !done {
                    assert_eq!(doc, before, "seed {seed}, step {step}: changed and not changed");
                    doc = binary::encode(&tree).unwrap();
                }
                let found = binary::Node::of(&doc).map(|node| node.to_tree().unwrap());
                let again = found.as_ref().map(|found| binary::encode(found).unwrap());
                assert_eq!(again, Some(binary::encode(&tree).unwrap()), "seed {seed}, step {step}: {at:?}");
                assert!(free_bytes(&doc) < doc.len(), "seed {seed}, step {step}");
            }
        }
        assert!(replaced > 2_000 && removed > 500, "{replaced} {removed}");
    }

    #[test]
    fn any_bytes_are_no_panic() {
        for seed in 0..20_000 {
            let mut rng = Rng::new(seed);
            let mut doc = binary::encode(&random(&mut rng, 3)).unwrap();
            for _ in 0..1 + rng.below(4) {
                let at = rng.index(doc.len());
                doc[at] = rng.next_u64() as u8;
            }
            doc.truncate(1 + rng.index(doc.len()));
            let _ = free_bytes(&doc);
            let at = path(["$.k", "$[0]", "$.kk[1]", "$[last].l"][rng.index(4)]);
            let value = random(&mut rng, 1);
            let _ = replace(&mut doc.clone(), &at.legs, Change::Set, &value);
            let _ = remove(&mut doc, &at.legs);
            let _ = binary::Node::of(&doc).map(|node| node.to_tree().unwrap());
        }
    }
}
