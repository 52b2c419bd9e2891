//! From sorted entries to the rows of a table of words.
//!
//! An entry is a list of documents of one word; entries come by word and first document. Those of several threads, or of rows that are not
//! in the order of their documents, reach into each other: documents wait until no entry with an earlier one can come.

use super::super::load::FILL;
use super::super::sort::Sorter;
use crate::core::Core;
use crate::dict::fulltext::DOC_ID_INDEX;
use crate::error::{Error, Result};
use crate::row::private::Stamp;
use crate::table::Table;
use std::ops::Range;
use std::sync::Arc;
use vaquita_base::TrxId;
use vaquita_base::codec::{get_u64, put_u32, put_u64};
use vaquita_btree::BulkBuilder;
use vaquita_format::column::{ROLL_PTR_LEN, TRX_ID_LEN};
use vaquita_format::index_def::IndexDef;
use vaquita_format::record::compare_fields;
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_fts::DocId;
use vaquita_fts::ilist::{BYTES_FULL, Node, Posting, Postings};

/// Fields of an entry, as of a record of a table of words.
mod field {
    pub(super) const WORD: usize = 0;
    pub(super) const FIRST: usize = 1;
    pub(super) const ILIST: usize = 6;
}

/// Bytes of entries that wait, at least, before those documents are written that can be.
const WAITING: usize = BYTES_FULL;

/// Adds a list of a word to a sorter.
pub(super) fn entry(sorter: &mut Sorter<'_>, word: &[u8], list: &Node) {
    let (mut first, mut last, mut count) = ([0; 8], [0; 8], [0; 4]);
    put_u64(&mut first, 0, list.first.0);
    put_u64(&mut last, 0, list.last.0);
    put_u32(&mut count, 0, list.doc_count);
    let (trx_id, roll_ptr) = ([0; TRX_ID_LEN], [0; ROLL_PTR_LEN]);
    // Who gathers asks by itself whether room is to be made.
    sorter.push(&[
        TupleField::new(word),
        TupleField::new(&first),
        TupleField::new(&trx_id),
        TupleField::new(&roll_ptr),
        TupleField::new(&last),
        TupleField::new(&count),
        TupleField::new(&list.ilist),
    ]);
}

/// Makes rows of a table of words of sorted entries.
pub(super) struct Loading<'c> {
    indexed: &'c Table,
    builder: BulkBuilder<'c>,
    def: Arc<IndexDef>,
    stamp: Stamp,
    word: Option<Vec<u8>>,
    /// Lists of the word that wait, one after the other.
    bytes: Vec<u8>,
    waiting: Vec<Range<usize>>,
    /// Bytes of them at which those documents are written that can be.
    enough: usize,
    /// The last document that came.
    last: Option<DocId>,
    node: Node,
}

impl<'c> Loading<'c> {
    pub(super) fn new(core: &'c Core, table: &'c Table, indexed: &'c Table) -> Loading<'c> {
        let tree = &table.clustered().tree;
        Loading {
            indexed,
            builder: BulkBuilder::new(tree, &core.storage, FILL),
            def: table.clustered().def().clone(),
            stamp: Stamp::of(TrxId(0)),
            word: None,
            bytes: Vec::new(),
            waiting: Vec::new(),
            enough: WAITING,
            last: None,
            node: Node::default(),
        }
    }

    pub(super) fn take(&mut self, fields: &[TupleField<'_>]) -> Result<()> {
        let word = fields[field::WORD].data.unwrap_or_default();
        let compare = self.def.compare_plan()[field::WORD];
        let same = self.word.as_deref();
        let same = same.is_some_and(|last| compare_fields(compare, Some(last), Some(word)).is_eq());
        if !same {
            self.end_word()?;
            self.word = Some(word.to_vec());
        } else if self.bytes.len() >= self.enough {
            let first = fields[field::FIRST].data.unwrap_or(&[0; 8]);
            self.settle(Some(DocId(get_u64(first, 0))))?;
        }
        let from = self.bytes.len();
        self.bytes.extend_from_slice(fields[field::ILIST].data.unwrap_or_default());
        self.waiting.push(from..self.bytes.len());
        Ok(())
    }

    /// Adds the documents below `until`, or all, to the lists that are written, in their order; others wait on.
    fn settle(&mut self, until: Option<DocId>) -> Result<()> {
        let bytes = std::mem::take(&mut self.bytes);
        let mut postings: Vec<Posting<'_>> = Vec::new();
        let mut is_sorted = true;
        for range in self.waiting.drain(..) {
            let mut list = Postings::new(&bytes[range]);
            while let Some(posting) = list.next().map_err(damaged)? {
                is_sorted &= postings.last().is_none_or(|last| last.doc < posting.doc);
                postings.push(posting);
            }
        }
        if !is_sorted {
            postings.sort_by_key(|posting| posting.doc);
        }
        let settled = postings.partition_point(|posting| until.is_none_or(|until| posting.doc < until));
        for posting in &postings[..settled] {
            self.push(posting)?;
        }
        if settled < postings.len() {
            let mut rest = Node::default();
            for posting in &postings[settled..] {
                if posting.doc == rest.last && rest.doc_count > 0 {
                    return Err(self.twice(posting.doc));
                }
                rest.push_posting(posting);
            }
            self.waiting.push(0..rest.ilist.len());
            self.bytes = rest.ilist;
        } else {
            self.bytes = bytes;
            self.bytes.clear();
        }
        // What waits is not looked at again until there is as much besides.
        self.enough = WAITING.max(2 * self.bytes.len());
        Ok(())
    }

    fn push(&mut self, posting: &Posting<'_>) -> Result<()> {
        if self.last == Some(posting.doc) {
            return Err(self.twice(posting.doc));
        }
        self.last = Some(posting.doc);
        if self.node.is_full() {
            self.write()?;
        }
        self.node.push_posting(posting);
        Ok(())
    }

    fn twice(&self, doc: DocId) -> Error {
        Error::DuplicateKey {
            table: self.indexed.name.clone(),
            index: DOC_ID_INDEX.to_owned(),
            value: doc.to_string(),
        }
    }

    fn end_word(&mut self) -> Result<()> {
        self.settle(None)?;
        self.last = None;
        self.write()
    }

    /// Writes the posting list that was collected.
    fn write(&mut self) -> Result<()> {
        let mut node = std::mem::take(&mut self.node);
        let Some(word) = self.word.as_deref().filter(|_| node.doc_count > 0) else { return Ok(()) };
        let (mut first, mut last, mut count) = ([0; 8], [0; 8], [0; 4]);
        put_u64(&mut first, 0, node.first.0);
        put_u64(&mut last, 0, node.last.0);
        put_u32(&mut count, 0, node.doc_count);
        let [trx_id, roll_ptr] = self.stamp.fields();
        self.builder.push(&Tuple::new(&[
            TupleField::new(word),
            TupleField::new(&first),
            TupleField::new(trx_id),
            TupleField::new(roll_ptr),
            TupleField::new(&last),
            TupleField::new(&count),
            TupleField::new(&node.ilist),
        ]))?;
        // Its memory is for the next one.
        node.ilist.clear();
        self.node.ilist = node.ilist;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.end_word()?;
        self.builder.finish()?;
        Ok(())
    }
}

fn damaged(e: vaquita_format::Corruption) -> Error {
    Error::Corrupt(format!("sorted words: {e}"))
}
