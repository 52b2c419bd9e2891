//! Posting lists: which documents have a word, and where.
//!
//! One row of an index's table holds a run of a word's documents, a [`Node`]. Its `ilist` column is, for each document in
//! ascending order, integers of [`crate::varint`]:
//!
//! | integer | meaning |
//! |---|---|
//! | 1 | document id less the one before; the first one as it is |
//! | 1 and more | positions, each less the one before; the first one as it is |
//! | a byte 0x00 | the end of the document |
//!
//! A position is the byte at which the word starts in the text, all indexed columns one after the other with a byte between.
//!
//! # Invariants
//! - I1: document ids ascend strictly within a node, and from node to node of a word.
//! - I2: `first` and `last` are the first and last document of the list, `doc_count` how many it has.
//! - I3: a list ends with 0x00; there is no document without a position.
//!
//! Lists come from files: whatever the bytes are, reading ends with an error and never panics.

use vaquita_format::Corruption;

use crate::{DocId, varint};

/// Bytes at which a list is full: the document that reaches them ends its node.
pub const BYTES_FULL: usize = 64 * 1024;

const END: u8 = 0;

/// A run of a word's documents: a row of an index's table, less the word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node {
    /// First document.
    pub first: DocId,
    /// Last document.
    pub last: DocId,
    /// How many documents.
    pub doc_count: u32,
    /// Documents and positions.
    pub ilist: Vec<u8>,
}

impl Node {
    /// Adds a document behind the others.
    ///
    /// # Panics
    /// If its number is not above the last one's, or it has no positions, or they do not ascend.
    pub fn push(&mut self, doc: DocId, positions: &[u32]) {
        assert!(doc > self.last || self.doc_count == 0, "documents ascend: {doc} after {}", self.last);
        assert!(!positions.is_empty(), "a document has the word somewhere");
        let before = if self.doc_count == 0 { 0 } else { self.last.0 };
        varint::push(&mut self.ilist, doc.0 - before);
        let mut last = 0;
        for (at, &position) in positions.iter().enumerate() {
            assert!(at == 0 || position > last, "positions ascend");
            varint::push(&mut self.ilist, u64::from(position - last));
            last = position;
        }
        self.ilist.push(END);
        if self.doc_count == 0 {
            self.first = doc;
        }
        self.last = doc;
        self.doc_count += 1;
    }

    /// Adds a document of another list behind the others.
    ///
    /// # Panics
    /// If its number is not above the last one's.
    pub fn push_posting(&mut self, posting: &Posting<'_>) {
        let doc = posting.doc;
        assert!(doc > self.last || self.doc_count == 0, "documents ascend: {doc} after {}", self.last);
        let before = if self.doc_count == 0 { 0 } else { self.last.0 };
        varint::push(&mut self.ilist, doc.0 - before);
        self.ilist.extend_from_slice(posting.positions);
        self.ilist.push(END);
        if self.doc_count == 0 {
            self.first = doc;
        }
        self.last = doc;
        self.doc_count += 1;
    }

    /// Whether the next document belongs into a node of its own.
    pub fn is_full(&self) -> bool {
        self.ilist.len() >= BYTES_FULL
    }

    /// Its documents.
    pub fn postings(&self) -> Postings<'_> {
        Postings::new(&self.ilist)
    }

    /// Holds the list against what the row says of it (I1 to I3).
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn validate(&self) -> Result<(), Corruption> {
        let mut postings = self.postings();
        let (mut first, mut last, mut count) = (None, DocId(0), 0u32);
        while let Some(posting) = postings.next()? {
            posting.positions()?;
            first = first.or(Some(posting.doc));
            last = posting.doc;
            count += 1;
        }
        let found = (first.unwrap_or_default(), last, count);
        if found != (self.first, self.last, self.doc_count) {
            let told = (self.first, self.last, self.doc_count);
            return Err(Corruption::new("documents of a posting list", format!("{told:?}, found {found:?}")));
        }
        Ok(())
    }
}

/// A node whose last document may get more positions.
#[derive(Debug, Default)]
pub struct OpenNode {
    /// The list has no end of its last document.
    node: Node,
    position: u32,
}

impl OpenNode {
    /// Whether there is a document before which `doc` is not: it begins the list, or does not fit into it, else.
    pub fn takes(&self, doc: DocId) -> bool {
        !self.is_empty() && doc > self.node.last
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.node.doc_count == 0
    }

    /// Adds a document behind the others, with its first position.
    ///
    /// # Panics
    /// If its number is not above the last one's.
    pub fn push_document(&mut self, doc: DocId, position: u32) {
        let node = &mut self.node;
        assert!(doc > node.last || node.doc_count == 0, "documents ascend: {doc} after {}", node.last);
        if node.doc_count == 0 {
            node.first = doc;
            varint::push(&mut node.ilist, doc.0);
        } else {
            node.ilist.push(END);
            varint::push(&mut node.ilist, doc.0 - node.last.0);
        }
        varint::push(&mut node.ilist, u64::from(position));
        node.last = doc;
        node.doc_count += 1;
        self.position = position;
    }

    /// Adds a position to the last document. One that is there, which a parser may find twice, is left out.
    pub fn push_position(&mut self, position: u32) {
        debug_assert!(!self.is_empty(), "a position of a document");
        if position > self.position {
            varint::push(&mut self.node.ilist, u64::from(position - self.position));
            self.position = position;
        }
    }

    /// Bytes of memory that its list takes.
    pub fn capacity(&self) -> usize {
        self.node.ilist.capacity()
    }

    /// The node.
    pub fn end(mut self) -> Node {
        if !self.is_empty() {
            self.node.ilist.push(END);
        }
        self.node
    }
}

/// Puts documents into nodes, a new one whenever one is full.
#[derive(Debug, Default)]
pub struct Nodes {
    done: Vec<Node>,
    open: Node,
}

impl Nodes {
    /// Adds a document behind the others.
    ///
    /// # Panics
    /// As [`Node::push`].
    pub fn push(&mut self, doc: DocId, positions: &[u32]) {
        if self.open.is_full() {
            assert!(doc > self.open.last, "documents ascend: {doc} after {}", self.open.last);
            self.done.push(std::mem::take(&mut self.open));
        }
        self.open.push(doc, positions);
    }

    /// The nodes.
    pub fn finish(mut self) -> Vec<Node> {
        if self.open.doc_count > 0 {
            self.done.push(self.open);
        }
        self.done
    }
}

/// One document of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting<'a> {
    /// The document.
    pub doc: DocId,
    /// How often the word is in it.
    pub count: u32,
    positions: &'a [u8],
}

impl<'a> Posting<'a> {
    /// Where the word is in the document.
    ///
    /// # Errors
    /// A position beyond 32 bits.
    pub fn positions(&self) -> Result<Vec<u32>, Corruption> {
        let mut positions = Vec::with_capacity(self.count as usize);
        read_positions(self.positions, &mut positions)?;
        Ok(positions)
    }

    /// The same, to be read when somebody asks.
    pub fn places(&self) -> Places<'a> {
        Places::Encoded { count: self.count, bytes: self.positions }
    }
}

/// Where a word is in a document.
#[derive(Debug, Clone, Copy)]
pub enum Places<'a> {
    /// As lists have them.
    Encoded {
        /// How many.
        count: u32,
        /// The integers.
        bytes: &'a [u8],
    },
    /// In ascending order.
    Plain(&'a [u32]),
}

impl Places<'_> {
    /// How many there are.
    pub fn count(&self) -> u32 {
        match self {
            Places::Encoded { count, .. } => *count,
            Places::Plain(positions) => positions.len() as u32,
        }
    }

    /// Appends them as lists have them.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Places::Encoded { bytes, .. } => out.extend_from_slice(bytes),
            Places::Plain(positions) => {
                let mut last = 0;
                for &position in positions {
                    varint::push(out, u64::from(position.wrapping_sub(last)));
                    last = position;
                }
            }
        }
    }
}

/// Appends the positions that a list has as these bytes.
///
/// # Errors
/// A position beyond 32 bits.
pub fn read_positions(mut bytes: &[u8], out: &mut Vec<u32>) -> Result<(), Corruption> {
    let mut last = 0u32;
    while !bytes.is_empty() {
        let delta = varint::take(&mut bytes).and_then(|delta| u32::try_from(delta).ok());
        last = delta
            .and_then(|delta| last.checked_add(delta))
            .ok_or_else(|| Corruption::new("position of a posting list", "not of 32 bits"))?;
        out.push(last);
    }
    Ok(())
}

/// Reads a list from its start.
#[derive(Debug, Clone)]
pub struct Postings<'a> {
    rest: &'a [u8],
    last: Option<DocId>,
}

impl<'a> Postings<'a> {
    /// The list's documents.
    pub fn new(ilist: &'a [u8]) -> Postings<'a> {
        Postings { rest: ilist, last: None }
    }

    /// The next document.
    ///
    /// # Errors
    /// A list that is none; what is behind the place is not read then.
    #[expect(clippy::should_implement_trait, reason = "an iterator that lends results would hide the error")]
    pub fn next(&mut self) -> Result<Option<Posting<'a>>, Corruption> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let delta = varint::take(&mut self.rest).ok_or_else(|| broken("a document id that does not end"))?;
        let doc = match self.last {
            None => Some(delta),
            Some(last) => last.0.checked_add(delta).filter(|_| delta > 0),
        };
        let doc = DocId(doc.ok_or_else(|| broken("document ids that do not ascend"))?);
        let (len, count) = positions_len(self.rest)?;
        let (positions, rest) = self.rest.split_at(len);
        self.rest = &rest[1..];
        self.last = Some(doc);
        Ok(Some(Posting { doc, count, positions }))
    }

    /// The next document that is `doc` or behind it.
    ///
    /// # Errors
    /// As [`Postings::next`].
    pub fn seek(&mut self, doc: DocId) -> Result<Option<Posting<'a>>, Corruption> {
        while let Some(posting) = self.next()? {
            if posting.doc >= doc {
                return Ok(Some(posting));
            }
        }
        Ok(None)
    }
}

/// Bytes of the integers before the 0x00 that ends a document, and how many they are. Within an integer 0x00 is a digit.
fn positions_len(bytes: &[u8]) -> Result<(usize, u32), Corruption> {
    let (mut count, mut starts) = (0, true);
    for (at, &byte) in bytes.iter().enumerate() {
        if starts && byte == END {
            let some = if count == 0 { Err(broken("a document without positions")) } else { Ok((at, count)) };
            return some;
        }
        starts = byte & 0x80 != 0;
        count += u32::from(starts);
    }
    Err(broken("a document that does not end"))
}

#[cold]
fn broken(what: &str) -> Corruption {
    Corruption::new("posting list", what)
}

/// The documents of all `nodes`, which are one word's, but those that are `gone`, in as few nodes as they fit: what OPTIMIZE TABLE
/// does to a word. Nodes that were written one after the other may reach into each other, since documents are committed in any
/// order.
///
/// # Errors
/// A list that is none, or a document that comes twice.
pub fn merge<'a>(
    nodes: impl IntoIterator<Item = &'a Node>,
    mut gone: impl FnMut(DocId) -> bool,
) -> Result<Vec<Node>, Corruption> {
    let (mut found, mut is_sorted) = (Vec::new(), true);
    for node in nodes {
        let mut postings = node.postings();
        while let Some(posting) = postings.next()? {
            is_sorted &= found.last().is_none_or(|last: &Posting<'_>| last.doc < posting.doc);
            found.push(posting);
        }
    }
    if !is_sorted {
        found.sort_by_key(|posting| posting.doc);
        if found.windows(2).any(|pair| pair[0].doc == pair[1].doc) {
            return Err(broken("a document that is twice in the lists of a word"));
        }
    }
    let mut merged = Nodes::default();
    for posting in found.iter().filter(|posting| !gone(posting.doc)) {
        let positions = posting.positions()?;
        if positions.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(broken("a position that comes twice"));
        }
        merged.push(posting.doc, &positions);
    }
    Ok(merged.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{btree_map, btree_set, vec};
    use proptest::prelude::*;

    fn all(ilist: &[u8]) -> Result<Vec<(u64, Vec<u32>)>, Corruption> {
        let mut postings = Postings::new(ilist);
        let mut found = Vec::new();
        while let Some(posting) = postings.next()? {
            let positions = posting.positions()?;
            assert_eq!(positions.len(), posting.count as usize);
            found.push((posting.doc.0, positions));
        }
        Ok(found)
    }

    #[test]
    fn bytes_of_a_server() {
        let mut node = Node::default();
        node.push(DocId(2), &[15, 35]);
        assert_eq!(node.ilist, [0x82, 0x8F, 0x94, 0]);
        let mut node = Node::default();
        node.push(DocId(10), &[0]);
        node.push(DocId(9000), &[0]);
        assert_eq!(node.ilist, [0x8A, 0x80, 0, 0x46, 0x9E, 0x80, 0]);
        assert_eq!((node.first, node.last, node.doc_count), (DocId(10), DocId(9000), 2));
        assert_eq!(node.validate(), Ok(()));
    }

    #[test]
    fn lists_that_are_none() {
        for bytes in [&[0x82][..], &[0x82, 0x8F], &[0x82, 0], &[0x02], &[0x82, 0x8F, 0, 0x80, 0x81, 0], &[0]]
        {
            assert!(all(bytes).is_err(), "{bytes:02X?}");
        }
        assert!(all(&[0x81, 0x1F, 0x7F, 0x7F, 0x7F, 0xFF, 0x81, 0]).is_err(), "a position beyond 32 bits");
        let node = Node { first: DocId(2), last: DocId(3), doc_count: 1, ilist: vec![0x82, 0x8F, 0] };
        assert!(node.validate().is_err());
    }

    #[test]
    fn a_full_node_is_followed_by_another() {
        let mut nodes = Nodes::default();
        for doc in 1..=30_000 {
            nodes.push(DocId(doc), &[0, 9]);
        }
        let nodes = nodes.finish();
        // Four bytes a document.
        assert_eq!(nodes.iter().map(|node| node.doc_count).collect::<Vec<_>>(), [16_384, 13_616]);
        assert_eq!(nodes[1].first, DocId(16_385));
        assert!(nodes.iter().all(|node| node.validate().is_ok()));
        let merged = merge(&nodes, |doc| doc.0 > 5).expect("well-formed");
        assert_eq!(merged.len(), 1);
        assert_eq!((merged[0].doc_count, merged[0].last), (5, DocId(5)));
        let turned = merge([&nodes[1], &nodes[0]], |doc| doc.0 > 5).expect("well-formed");
        assert_eq!(turned, merged, "nodes may reach into each other");
        assert!(merge([&nodes[0], &nodes[0]], |_| false).is_err(), "documents that come twice");
    }

    proptest! {
        #[test]
        fn there_and_back(
            docs in btree_map(any::<u64>(), btree_set(any::<u32>(), 1..9), 0..40),
            from: u64,
        ) {
            let docs: Vec<(u64, Vec<u32>)> = docs.into_iter().map(|(doc, at)| (doc, at.into_iter().collect())).collect();
            let mut node = Node::default();
            for (doc, positions) in &docs {
                node.push(DocId(*doc), positions);
            }
            prop_assert_eq!(&all(&node.ilist).unwrap(), &docs);
            prop_assert_eq!(node.validate(), Ok(()));
            let found = node.postings().seek(DocId(from)).unwrap().map(|posting| posting.doc.0);
            prop_assert_eq!(found, docs.iter().map(|(doc, _)| *doc).find(|doc| *doc >= from));
            let merged = merge([&node], |_| false).unwrap();
            prop_assert_eq!(merged.into_iter().next().unwrap_or_default(), node);
        }

        #[test]
        fn bytes_of_any_kind_are_no_panic(bytes in vec(any::<u8>(), 0..60)) {
            let _ = all(&bytes);
            let node = Node { ilist: bytes, ..Node::default() };
            let _ = node.validate();
            let _ = merge([&node], |_| false);
        }

        /// Mostly well-formed lists, one byte of them changed.
        #[test]
        fn a_changed_byte_is_no_panic(at: usize, byte: u8, docs in vec((1u64..900, 0u32..70_000), 1..9)) {
            let mut node = Node::default();
            let mut doc = 0;
            for (step, position) in docs {
                doc += step;
                node.push(DocId(doc), &[position]);
            }
            let at = at % node.ilist.len();
            node.ilist[at] = byte;
            let _ = all(&node.ilist);
            let _ = node.validate();
        }
    }
}
