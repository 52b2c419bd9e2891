//! Paths into documents: `$.a[2]."b c"[last]`, `$**.x`, `$[1 to 3]`.

use super::binary::{Container, Node};
use super::parse;
use crate::error::{SqlError, SqlResult};
use crate::memory;
use std::collections::HashSet;

/// A path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Behind the `$`.
    pub legs: Vec<Leg>,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leg {
    /// `.key`
    Member(Vec<u8>),
    /// `.*`
    AnyMember,
    /// `[3]`, `[last-1]`
    Cell(Index),
    /// `[1 to last]`
    Range(Index, Index),
    /// `[*]`
    AnyCell,
    /// `**`: the value and all values within.
    Ellipsis,
}

/// A place in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index {
    /// Counted from the last element: `last-n`.
    pub from_last: bool,
    /// n.
    pub n: u32,
}

impl Index {
    /// Position in an array of that length; `None`: before its first element. It may be behind the last.
    pub fn at(self, len: usize) -> Option<usize> {
        match self.from_last {
            true => len.checked_sub(1)?.checked_sub(self.n as usize),
            false => Some(self.n as usize),
        }
    }
}

/// Where a value is in a document: for each level the number of the member or element.
pub type Location = Vec<usize>;

impl Path {
    /// Reads a path from UTF-8 text.
    ///
    /// # Errors
    /// 3143 with the position, in characters, up to which it could be read.
    pub fn parse(text: &[u8]) -> SqlResult<Path> {
        let mut p = Parser { text, at: 0 };
        p.path().ok_or_else(|| {
            let at = String::from_utf8_lossy(&text[..p.at.min(text.len())]).chars().count();
            let message =
                format!("Invalid JSON path expression. The error is around character position {at}.");
            SqlError::new(3143, message)
        })
    }

    /// Whether it can lead to more than one value.
    pub fn is_many(&self) -> bool {
        self.legs.iter().any(|leg| !matches!(leg, Leg::Member(_) | Leg::Cell(_)))
    }

    /// Whether it has `*` or `**`, or a range.
    ///
    /// # Errors
    /// 3149 if so.
    pub fn only_one(&self) -> SqlResult<()> {
        if self.is_many() { Err(SqlError::of(3149, &[])) } else { Ok(()) }
    }

    /// The values it leads to, in the order of the document, none twice.
    ///
    /// # Errors
    /// As [`memory::reserve`].
    pub fn seek<'d>(&self, doc: Node<'d>) -> SqlResult<Vec<Node<'d>>> {
        if !self.is_many() {
            return Ok(self.one(doc).into_iter().collect());
        }
        let located = self.seek_located(doc)?;
        let mut found = Vec::new();
        memory::reserve(&mut found, located.len())?;
        found.extend(located.into_iter().map(|(_, node)| node));
        Ok(found)
    }

    /// The first value it leads to.
    ///
    /// # Errors
    /// As [`memory::reserve`].
    pub fn first<'d>(&self, doc: Node<'d>) -> SqlResult<Option<Node<'d>>> {
        if self.is_many() {
            return Ok(self.seek(doc)?.into_iter().next());
        }
        Ok(self.one(doc))
    }

    /// The value it leads to, if it has no wildcards.
    fn one<'d>(&self, doc: Node<'d>) -> Option<Node<'d>> {
        let mut node = doc;
        for leg in &self.legs {
            node = match (leg, &node) {
                (Leg::Member(key), Node::Object(members)) => members.member(key)?,
                (Leg::Cell(index), Node::Array(items)) => items.value(index.at(items.len())?)?,
                // What is no array is as an array of one element.
                (Leg::Cell(index), _) => (index.at(1)? == 0).then_some(node)?,
                _ => return None,
            };
        }
        Some(node)
    }

    /// As [`Path::seek`], with the places of the values.
    ///
    /// # Errors
    /// As [`memory::reserve`].
    pub fn seek_located<'d>(&self, doc: Node<'d>) -> SqlResult<Vec<(Location, Node<'d>)>> {
        let mut found = vec![(Location::new(), doc)];
        // Behind `**` there may be several ways to one value.
        let mut ways = false;
        for leg in &self.legs {
            let mut next = Vec::new();
            for (place, node) in &found {
                step(leg, *node, place, &mut next)?;
            }
            ways |= *leg == Leg::Ellipsis;
            if ways {
                memory::may_take(next.len().saturating_mul(4 * size_of::<Location>()))?;
                let mut seen = HashSet::new();
                next.retain(|(place, _)| seen.insert(place.clone()));
            }
            found = next;
        }
        Ok(found)
    }
}

/// Appends where one leg leads to from a value.
fn step<'d>(
    leg: &Leg,
    node: Node<'d>,
    place: &Location,
    found: &mut Vec<(Location, Node<'d>)>,
) -> SqlResult<()> {
    let child = |i: usize| {
        let mut place = place.clone();
        place.push(i);
        place
    };
    let mut take = |c: Container<'d>, i: usize| {
        if let Some(value) = c.value(i) {
            memory::short(size_of::<(Location, Node<'d>)>() + size_of_val(&**place))?;
            memory::push(found, (child(i), value))?;
        }
        Ok(())
    };
    match (leg, node) {
        (Leg::Ellipsis, _) => {
            memory::short(size_of::<(Location, Node<'d>)>() + size_of_val(&**place))?;
            memory::push(found, (place.clone(), node))?;
            if let Node::Array(c) | Node::Object(c) = node {
                for (i, value) in c.elements().enumerate() {
                    step(leg, value, &child(i), found)?;
                }
            }
        }
        (Leg::Member(key), Node::Object(c)) => {
            if let Some(i) = c.position(key) {
                take(c, i)?;
            }
        }
        (Leg::AnyMember, Node::Object(c)) | (Leg::AnyCell, Node::Array(c)) => {
            (0..c.len()).try_for_each(|i| take(c, i))?;
        }
        (Leg::Cell(index), Node::Array(c)) => {
            if let Some(i) = index.at(c.len()) {
                take(c, i)?;
            }
        }
        (Leg::Range(from, to), Node::Array(c)) => {
            range(*from, *to, c.len()).try_for_each(|i| take(c, i))?;
        }
        // What is no array is as an array of one element.
        (Leg::Cell(index), _) if index.at(1) == Some(0) => found.push((place.clone(), node)),
        (Leg::Range(from, to), _) if !range(*from, *to, 1).is_empty() => found.push((place.clone(), node)),
        _ => {}
    }
    Ok(())
}

/// The elements from one place to another, both included, of an array of that length.
fn range(from: Index, to: Index, len: usize) -> std::ops::Range<usize> {
    let end = to.at(len).map_or(0, |to| to.saturating_add(1)).min(len);
    from.at(len).unwrap_or(0).min(end)..end
}

/// Appends the path that leads to a place of a document.
///
/// # Errors
/// As [`memory::reserve`].
pub fn push_location(doc: Node<'_>, place: &[usize], out: &mut Vec<u8>) -> SqlResult<()> {
    out.push(b'$');
    let mut node = doc;
    for &i in place {
        let (Node::Array(c) | Node::Object(c)) = node else { return Ok(()) };
        match c.key(i) {
            Some(key) => {
                out.push(b'.');
                match is_name(key) {
                    true => memory::append(out, key)?,
                    false => super::print::push_quoted(key, out)?,
                }
            }
            None => out.extend_from_slice(format!("[{i}]").as_bytes()),
        }
        node = c.value(i).unwrap_or(Node::Null);
    }
    Ok(())
}

/// Whether a key needs no quotes in a path: an identifier of ECMAScript.
fn is_name(key: &[u8]) -> bool {
    let Ok(key) = std::str::from_utf8(key) else { return false };
    let mut chars = key.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '$'))
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '\u{200C}' | '\u{200D}'))
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    /// `None`: wrong; `at` tells where.
    fn path(&mut self) -> Option<Path> {
        self.space();
        if self.at == self.text.len() {
            return None;
        }
        self.at += 1;
        (self.text[self.at - 1] == b'$').then_some(())?;
        let mut legs = Vec::new();
        loop {
            self.space();
            let Some(byte) = self.peek() else { break };
            self.at += 1;
            legs.push(match byte {
                b'.' => self.member()?,
                b'[' => self.cell()?,
                b'*' => {
                    self.eat(b'*')?;
                    (self.peek() != Some(b'*')).then_some(())?;
                    Leg::Ellipsis
                }
                _ => return None,
            });
        }
        // `**` leads to nothing by itself.
        (legs.last() != Some(&Leg::Ellipsis)).then_some(Path { legs })
    }

    fn member(&mut self) -> Option<Leg> {
        self.space();
        if self.eat(b'*').is_some() {
            return Some(Leg::AnyMember);
        }
        let start = self.at;
        if self.peek() == Some(b'"') {
            self.at += 1;
            while let Some(byte) = self.peek() {
                self.at += 1;
                match byte {
                    b'"' => {
                        let parsed = parse::parse(&self.text[start..self.at]).ok()?;
                        let super::Json::Text(key) = parsed else { return None };
                        return Some(Leg::Member(key));
                    }
                    b'\\' => self.at += 1,
                    _ => {}
                }
            }
            return None;
        }
        while let Some(byte) = self.peek() {
            if matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'.' | b'[' | b'*') {
                break;
            }
            self.at += 1;
        }
        let name = &self.text[start..self.at];
        is_name(name).then(|| Leg::Member(name.to_vec()))
    }

    fn cell(&mut self) -> Option<Leg> {
        self.space();
        let leg = if self.eat(b'*').is_some() {
            Leg::AnyCell
        } else {
            let from = self.index()?;
            let spaced = self.at;
            self.space();
            if spaced < self.at && self.text[self.at..].starts_with(b"to") {
                self.at += 2;
                matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')).then_some(())?;
                self.space();
                let to = self.index()?;
                let backwards = from.from_last == to.from_last
                    && if from.from_last { from.n < to.n } else { from.n > to.n };
                (!backwards).then_some(Leg::Range(from, to))?
            } else {
                Leg::Cell(from)
            }
        };
        self.space();
        self.eat(b']').map(|()| leg)
    }

    fn index(&mut self) -> Option<Index> {
        if !self.text[self.at..].starts_with(b"last") {
            return Some(Index { from_last: false, n: self.digits()? });
        }
        self.at += 4;
        let end = self.at;
        self.space();
        if self.eat(b'-').is_none() {
            self.at = end;
            return Some(Index { from_last: true, n: 0 });
        }
        self.space();
        Some(Index { from_last: true, n: self.digits()? })
    }

    fn digits(&mut self) -> Option<u32> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        std::str::from_utf8(&self.text[start..self.at]).ok()?.parse().ok()
    }
}
