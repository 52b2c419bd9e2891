//! Trees in the order of collations: keys are found in any of their spellings, by descents that compare only their first
//! differing bytes where those decide.

use crate::bed::{Bed, Row, SPACE, fields, insert, shuffle};
use std::ops::ControlFlow;
use std::sync::Arc;
use vaquita_base::{IndexId, Rng};
use vaquita_btree::Tree;
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::{IndexDef, IndexSpec, KeyPart, RowFormat};
use vaquita_format::tuple::Tuple;

/// latin1_swedish_ci, utf8_general_ci, utf8mb4_unicode_ci, utf8mb4_bin, and widths of their characters.
const COLLATIONS: [(u16, u8); 4] = [(8, 1), (33, 3), (224, 4), (46, 4)];

fn tree(bed: &Bed, (collation, mbmaxlen): (u16, u8), chars: u32) -> Tree {
    let charset = Charset { collation, mbminlen: 1, mbmaxlen };
    let columns = [ColumnDef::varchar("k", chars, charset).not_null(), ColumnDef::varbinary("v", 250)];
    let spec = IndexSpec {
        id: IndexId(u64::from(collation)),
        name: "i".into(),
        row_format: RowFormat::Dynamic,
        page_size: bed.page_size,
    };
    let index = IndexDef::clustered(spec, &columns, Some(&[KeyPart::whole(0)])).unwrap();
    let mut mtr = bed.storage.begin().unwrap();
    mtr.keep_before_images();
    let tree = Tree::create(&mut mtr, SPACE, Arc::new(index)).unwrap();
    mtr.commit();
    tree
}

/// A key: words in common with many others, then a number; some with letters beyond ASCII (as bytes of every set), some long.
fn key(n: u32, long: u32, rng: &mut Rng) -> Vec<u8> {
    let words: [&[u8]; 4] = [b"", b"a", b"common prefix of many ", b"\xC3\x84hnlich"];
    let mut key = words[rng.index(4)].to_vec();
    key.extend_from_slice(format!("{n:05}").as_bytes());
    key.extend(std::iter::repeat_n(b'x', if rng.one_in(20) { long as usize } else { 0 }));
    key
}

/// The same key for a collation without cases and with padding.
fn respelt(key: &[u8]) -> Vec<u8> {
    let mut other = key.to_ascii_uppercase();
    other.extend_from_slice(b"  ");
    other
}

fn row(key: &[u8]) -> Row {
    let (trx, roll) = (vec![0; 6], vec![0x80, 0, 0, 0, 0, 0, 0]);
    vec![Some(key.to_vec()), Some(trx), Some(roll), Some(vec![b'v'; 240])]
}

#[test]
fn keys_of_text_are_found_in_any_spelling() {
    for (collation, chars) in COLLATIONS.into_iter().flat_map(|c| [(c, 120), (c, 300)]) {
        let chars = chars.min(760 / u32::from(collation.1));
        let bed = Bed::new(4096, 1_000, 9);
        let tree = tree(&bed, collation, chars);
        let mut rng = Rng::new(u64::from(collation.0));
        let mut keys: Vec<Vec<u8>> = (0..4_000).map(|n| key(n, chars - 40, &mut rng)).collect();
        shuffle(&mut rng, &mut keys);
        let (there, missing) = keys.split_at(3_000);
        for key in there {
            insert(&bed, &tree, &row(key)).unwrap();
        }
        assert!(bed.validate(&tree).height >= 3, "the test is of pages above the leaves");
        let is_binary = collation.0 == 46;
        let spelt = |key: &Vec<u8>| vec![Some(if is_binary { key.clone() } else { respelt(key) })];
        let asked: Vec<Row> = keys.iter().map(spelt).collect();
        let asked: Vec<_> = asked.iter().map(|key| fields(key)).collect();
        let asked: Vec<_> = asked.iter().map(|key| Tuple::new(key)).collect();
        for (i, key) in asked.iter().enumerate() {
            let found = tree.lookup(&bed.storage, key, |_| ()).unwrap();
            assert_eq!(found.is_some(), i < there.len(), "{collation:?} {:?}", keys[i]);
        }
        let mut found = 0;
        tree.lookup_many(&bed.storage, &asked, |i, record| {
            assert_eq!(record.is_some(), i < there.len(), "{collation:?} {:?}", keys[i]);
            found += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(found, there.len() + missing.len());
    }
}
