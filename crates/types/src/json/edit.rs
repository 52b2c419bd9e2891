//! Changes of documents, as trees.

use super::path::{Leg, Path};
use super::{Json, key_order};
use crate::{SqlResult, memory};

/// What JSON_SET and its kin do at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// JSON_SET: in any case.
    Set,
    /// JSON_INSERT: only what is not there.
    Insert,
    /// JSON_REPLACE: only what is there.
    Replace,
}

impl Json {
    /// The value at a path without wildcards.
    pub fn at_mut(&mut self, legs: &[Leg]) -> Option<&mut Json> {
        let mut at = self;
        for leg in legs {
            at = match (leg, at) {
                (Leg::Member(key), Json::Object(members)) => {
                    let i = members.binary_search_by(|(k, _)| key_order(k, key)).ok()?;
                    &mut members[i].1
                }
                (Leg::Cell(index), Json::Array(items)) => {
                    let i = index.at(items.len())?;
                    items.get_mut(i)?
                }
                // What is no array is as an array of one element.
                (Leg::Cell(index), other) => (index.at(1)? == 0).then_some(other)?,
                _ => return None,
            };
        }
        Some(at)
    }

    /// JSON_SET, JSON_INSERT, JSON_REPLACE.
    ///
    /// # Errors
    /// As [`memory::reserve`].
    pub fn change(&mut self, path: &Path, how: Change, value: Json) -> SqlResult<()> {
        if let Some(old) = self.at_mut(&path.legs) {
            if how != Change::Insert {
                *old = value;
            }
            return Ok(());
        }
        let Some((leg, above)) = path.legs.split_last() else { return Ok(()) };
        let (true, Some(parent)) = (how != Change::Replace, self.at_mut(above)) else { return Ok(()) };
        match (leg, parent) {
            (Leg::Member(key), Json::Object(members)) => {
                if let Err(at) = members.binary_search_by(|(k, _)| key_order(k, key)) {
                    memory::reserve(members, 1)?;
                    members.insert(at, (key.clone(), value));
                }
            }
            (Leg::Cell(index), Json::Array(items)) => {
                memory::reserve(items, 1)?;
                match index.at(items.len()) {
                    Some(_) => items.push(value),
                    None => items.insert(0, value),
                }
            }
            (Leg::Cell(index), other) => {
                let old = std::mem::replace(other, Json::Null);
                let before = index.at(1).is_none();
                *other = Json::Array(if before { vec![value, old] } else { vec![old, value] });
            }
            _ => {}
        }
        Ok(())
    }

    /// JSON_REMOVE of a path that is not `$`.
    pub fn remove(&mut self, path: &Path) {
        let Some((leg, above)) = path.legs.split_last() else { return };
        match (leg, self.at_mut(above)) {
            (Leg::Member(key), Some(Json::Object(members))) => {
                if let Ok(at) = members.binary_search_by(|(k, _)| key_order(k, key)) {
                    members.remove(at);
                }
            }
            (Leg::Cell(index), Some(Json::Array(items))) => {
                if let Some(at) = index.at(items.len()).filter(|&at| at < items.len()) {
                    items.remove(at);
                }
            }
            _ => {}
        }
    }

    /// JSON_ARRAY_APPEND: to the array at the path; what is no array becomes the first element of one.
    ///
    /// # Errors
    /// As [`memory::reserve`].
    pub fn append(&mut self, path: &Path, value: Json) -> SqlResult<()> {
        match self.at_mut(&path.legs) {
            Some(Json::Array(items)) => memory::push(items, value)?,
            Some(other) => {
                let old = std::mem::replace(other, Json::Null);
                *other = Json::Array(vec![old, value]);
            }
            None => {}
        }
        Ok(())
    }

    /// JSON_ARRAY_INSERT: before the element at the path, whose last leg is a cell.
    ///
    /// # Errors
    /// As [`memory::reserve`].
    pub fn insert_element(&mut self, path: &Path, value: Json) -> SqlResult<()> {
        let Some((Leg::Cell(index), above)) = path.legs.split_last() else { return Ok(()) };
        if let Some(Json::Array(items)) = self.at_mut(above) {
            memory::reserve(items, 1)?;
            let at = index.at(items.len()).unwrap_or(0).min(items.len());
            items.insert(at, value);
        }
        Ok(())
    }

    /// JSON_MERGE_PRESERVE: arrays are joined, members of objects merged, anything else becomes an array of both.
    ///
    /// # Errors
    /// As [`memory::reserve`].
    pub fn merged(self, other: Json) -> SqlResult<Json> {
        Ok(match (self, other) {
            (Json::Object(mut members), Json::Object(more)) => {
                for (key, value) in more {
                    match members.binary_search_by(|(k, _)| key_order(k, &key)) {
                        Ok(at) => {
                            let old = std::mem::replace(&mut members[at].1, Json::Null);
                            members[at].1 = old.merged(value)?;
                        }
                        Err(at) => {
                            memory::reserve(&mut members, 1)?;
                            members.insert(at, (key, value));
                        }
                    }
                }
                Json::Object(members)
            }
            (a, b) => {
                let list = |v| if let Json::Array(items) = v { items } else { vec![v] };
                let (mut items, more) = (list(a), list(b));
                memory::reserve(&mut items, more.len())?;
                items.extend(more);
                Json::Array(items)
            }
        })
    }

    /// JSON_MERGE_PATCH (RFC 7396).
    ///
    /// # Errors
    /// As [`memory::reserve`].
    pub fn patched(self, patch: Json) -> SqlResult<Json> {
        let Json::Object(patch) = patch else { return Ok(patch) };
        let mut members = if let Json::Object(members) = self { members } else { Vec::new() };
        for (key, value) in patch {
            match (members.binary_search_by(|(k, _)| key_order(k, &key)), value) {
                (Ok(at), Json::Null) => {
                    members.remove(at);
                }
                (Err(_), Json::Null) => {}
                (Ok(at), value) => {
                    let old = std::mem::replace(&mut members[at].1, Json::Null);
                    members[at].1 = old.patched(value)?;
                }
                (Err(at), value) => {
                    memory::reserve(&mut members, 1)?;
                    members.insert(at, (key, Json::Null.patched(value)?));
                }
            }
        }
        Ok(Json::Object(members))
    }

    /// Bytes of memory it takes, about.
    pub fn memory(&self) -> usize {
        size_of::<Json>()
            + match self {
                Json::Text(bytes) | Json::Opaque(_, bytes) => bytes.len(),
                Json::Array(items) => items.iter().map(Json::memory).sum(),
                Json::Object(members) => members.iter().map(|(key, v)| key.len() + v.memory()).sum(),
                _ => 0,
            }
    }

    /// Levels: 1 for a scalar and for what is empty.
    pub fn depth(&self) -> usize {
        1 + match self {
            Json::Array(items) => items.iter().map(Json::depth).max().unwrap_or(0),
            Json::Object(members) => members.iter().map(|(_, v)| v.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }
}
