//! Index pages of a real server: validated, searched, taken apart and built again.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::common;
use crate::tables;

use tables::{Table, tables};
use vaquita_base::Rng;
use vaquita_base::codec::{get_u16, get_u32};
use vaquita_base::{IndexId, PageNo};
use vaquita_format::PageSize;
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::{IndexDef, IndexSpec, KeyPart, RowFormat};
use vaquita_format::index_page::header::{
    infimum, is_comp, is_leaf, level, n_recs, set_level_and_index, supremum,
};
use vaquita_format::index_page::{
    SearchMode, edit, first_rec, last_rec, max_insert_size_after_reorganize, next_rec, prev_rec, records,
    search, validate,
};
use vaquita_format::record::fields_of_record;
use vaquita_format::record::header::{INFO_MASK, info_bits};
use vaquita_format::record::{EXTERN_REF_LEN, ExternRef, Offsets, RecSize, encode, off_page_fields};
use vaquita_format::tuple::{Tuple, TupleField};
use vaquita_format::zip::Unzip;

/// Index pages of the corpus; compressed ones as their logical pages.
fn each_page(mut f: impl FnMut(&Table, usize, &[u8], &IndexDef)) -> usize {
    let mut n = 0;
    let mut unzip = Unzip::new();
    let mut logical = vec![0; 16_384];
    for table in &tables() {
        for (no, page, index) in table.index_pages() {
            if table.page_size.is_compressed() {
                unzip.index_page(page, &mut logical).unwrap();
                f(table, no, &logical, index);
            } else {
                f(table, no, page, index);
            }
            n += 1;
        }
    }
    n
}

#[test]
fn every_page_is_valid() {
    let mut rows = 0;
    let mut known = 0;
    let pages = each_page(|table, no, page, index| {
        let stats = validate(page, Some(index)).unwrap_or_else(|e| panic!("{} page {no}: {e}", table.name));
        rows += stats.n_recs;
        known += usize::from(index.order_is_known());
        assert_eq!(validate(page, None).map(|s| s.n_recs), Ok(stats.n_recs));
    });
    assert!(pages > 800 && rows > 60_000, "{pages} pages, {rows} records");
    assert_eq!(known, pages, "pages whose order is checked");
}

/// Columns of the full-text auxiliary tables, which have no `.cfg`.
fn auxiliary_index(file: &str) -> IndexDef {
    let word = Charset { collation: 33, mbminlen: 1, mbmaxlen: 3 };
    let id = |name: &str| ColumnDef::int(name, 8, true);
    let (columns, key) = if file.contains("_INDEX_") {
        let columns = vec![
            ColumnDef::varchar("word", 84, word),
            id("first_doc_id").not_null(),
            id("last_doc_id").not_null(),
            ColumnDef::int("doc_count", 4, true).not_null(),
            ColumnDef::blob("ilist", 2).not_null(),
        ];
        (columns, vec![KeyPart::whole(0), KeyPart::whole(1)])
    } else if file.ends_with("CONFIG.ibd") {
        let text = |name, n| ColumnDef::varchar(name, n, Charset::LATIN1);
        (vec![text("key", 50), text("value", 200).not_null()], vec![KeyPart::whole(0)])
    } else {
        (vec![id("doc_id")], vec![KeyPart::whole(0)])
    };
    let spec = IndexSpec {
        id: IndexId(0),
        name: String::new(),
        row_format: RowFormat::Compact,
        page_size: PageSize::DEFAULT,
    };
    // The length of `word` in the dictionary is 254: one length byte.
    let mut columns = columns;
    if columns[0].name == "word" {
        columns[0].len = 254;
    }
    IndexDef::clustered(spec, &columns, Some(&key)).unwrap()
}

#[test]
fn pages_of_auxiliary_and_system_tables_are_valid() {
    let mut rows = 0;
    for path in common::ibd_files() {
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.starts_with("FTS_") {
            continue;
        }
        let index = auxiliary_index(name);
        for page in std::fs::read(&path).unwrap().chunks_exact(16_384).filter(|p| get_u16(p, 24) == 17_855) {
            rows += validate(page, Some(&index)).unwrap_or_else(|e| panic!("{name}: {e}")).n_recs;
        }
    }
    assert!(rows > 30, "{rows}");

    // The dictionary's trees are REDUNDANT: their records describe themselves.
    let system = common::DataDir::unpack("index_pages").read("ibdata1");
    let (mut pages, mut rows) = (0, 0);
    for (no, page) in system.chunks_exact(16_384).enumerate() {
        // The doublewrite area holds copies of pages of other places.
        if get_u16(page, 24) != 17_855 || get_u32(page, 4) as usize != no {
            continue;
        }
        rows += validate(page, None).unwrap_or_else(|e| panic!("page {}: {e}", get_u32(page, 4))).n_recs;
        pages += 1;
    }
    assert!(pages > 10 && rows > 200, "{pages} pages, {rows} records");
}

/// The fields of a user record as a tuple to make it again.
fn with_tuple<R>(page: &[u8], rec: u16, index: &IndexDef, f: impl FnOnce(&Tuple<'_>) -> R) -> R {
    let mut offsets = Offsets::new();
    offsets.parse(page, rec, index.layout()).unwrap();
    let mut fields: Vec<TupleField<'_>> = Vec::new();
    fields_of_record(page, rec, &offsets, offsets.n_fields(), &mut fields);
    let bits = info_bits(page, rec, is_comp(page));
    if is_leaf(page) {
        return f(&Tuple::new(&fields).with_info_bits(bits));
    }
    let child = fields.pop().unwrap().data.unwrap();
    f(&Tuple::node_ptr(&fields, PageNo(get_u32(child, 0))).with_info_bits(bits))
}

/// A record's bytes without those of the header that depend on the page.
fn without_place(rec: &[u8], extra: usize, comp: bool) -> Vec<u8> {
    let mut rec = rec.to_vec();
    if comp {
        rec[extra - 5] &= INFO_MASK;
        (rec[extra - 4], rec[extra - 2], rec[extra - 1]) = (0, 0, 0);
        rec[extra - 3] &= 7;
    } else {
        rec[extra - 6] &= INFO_MASK;
        (rec[extra - 5], rec[extra - 2], rec[extra - 1]) = (0, 0, 0);
        rec[extra - 4] &= 7;
    }
    rec
}

#[test]
fn encoding_the_fields_of_a_record_gives_its_bytes() {
    let mut buf = Vec::new();
    each_page(|table, no, page, index| {
        for rec in records(page) {
            let rec = rec.unwrap();
            let size = RecSize::of(page, rec, index.layout()).unwrap();
            let extra = with_tuple(page, rec, index, |t| encode(index.layout(), t, &mut buf));
            let start = usize::from(rec) - size.extra;
            let stored = &page[start..start + size.total()];
            assert_eq!(extra, size.extra, "{} page {no} record {rec}", table.name);
            let comp = is_comp(page);
            assert_eq!(without_place(&buf, extra, comp), without_place(stored, extra, comp));
        }
    });
}

#[test]
fn searching_a_record_finds_it_and_its_neighbours() {
    each_page(|table, no, page, index| {
        let n = index.n_uniq_in_tree();
        let all: Vec<u16> = records(page).map(|r| r.unwrap()).collect();
        let comp = is_comp(page);
        for (i, &rec) in all.iter().enumerate() {
            assert_eq!(prev_rec(page, rec), Ok(if i == 0 { infimum(comp) } else { all[i - 1] }));
            if i == 0 && !is_leaf(page) && level(page) > 0 && info_bits(page, rec, comp) != 0 {
                // Below every key whatever its bytes say.
                continue;
            }
            let before = if i == 0 { infimum(comp) } else { all[i - 1] };
            let after = all.get(i + 1).copied().unwrap_or(supremum(comp));
            with_tuple(page, rec, index, |t| {
                let key = Tuple::new(t.fields()).compare_first(n);
                let find = |mode| search(page, index, &key, mode).unwrap();
                let le = find(SearchMode::LessOrEqual);
                assert_eq!((le.rec, le.up), (rec, after), "{} page {no}", table.name);
                assert_eq!(usize::from(le.low_matched), n);
                let g = find(SearchMode::Greater);
                assert_eq!((g.low, g.rec), (rec, after));
                let ge = find(SearchMode::GreaterOrEqual);
                assert_eq!((ge.low, ge.rec), (before, rec));
                assert_eq!(usize::from(ge.up_matched), n);
                let l = find(SearchMode::Less);
                assert_eq!((l.rec, l.up), (before, rec));
            });
        }
    });
}

#[test]
fn pages_built_in_random_order_hold_the_same_records() {
    let mut rng = Rng::new(5);
    let mut buf = Vec::new();
    each_page(|table, no, page, index| {
        let comp = is_comp(page);
        let mut fresh = page.to_vec();
        edit::create(&mut fresh, comp);
        set_level_and_index(&mut fresh, level(page), index.id());
        let mut order: Vec<u16> = records(page).map(|r| r.unwrap()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, rng.index(i + 1));
        }
        for &rec in &order {
            with_tuple(page, rec, index, |t| {
                insert(&mut fresh, index, t, &mut buf);
            });
        }
        let context = format!("{} page {no}", table.name);
        let stats = validate(&fresh, Some(index)).unwrap_or_else(|e| panic!("{context}: {e}"));
        assert_eq!(stats.n_recs, usize::from(n_recs(page)));
        assert_same_records(page, &fresh, index, &context);

        delete_some_and_insert_again(&mut fresh, page, index, &mut rng, &mut buf);
        assert_same_records(page, &fresh, index, &context);
        edit::reorganize(&mut fresh, index.layout()).unwrap();
        validate(&fresh, Some(index)).unwrap_or_else(|e| panic!("{context} reorganised: {e}"));
        assert_same_records(page, &fresh, index, &context);
    });
}

fn insert(page: &mut [u8], index: &IndexDef, tuple: &Tuple<'_>, buf: &mut Vec<u8>) -> u16 {
    let key = tuple.compare_first(index.n_uniq_in_tree());
    let after = search(page, index, &key, SearchMode::LessOrEqual).unwrap().rec;
    let extra = encode(index.layout(), tuple, buf);
    if let Some(origin) = edit::insert(page, index.layout(), after, buf, extra).unwrap() {
        return origin;
    }
    assert!(max_insert_size_after_reorganize(page, 1) >= buf.len());
    edit::reorganize(page, index.layout()).unwrap();
    let after = search(page, index, &key, SearchMode::LessOrEqual).unwrap().rec;
    edit::insert(page, index.layout(), after, buf, extra).unwrap().expect("there is room")
}

fn delete_some_and_insert_again(
    page: &mut [u8],
    from: &[u8],
    index: &IndexDef,
    rng: &mut Rng,
    buf: &mut Vec<u8>,
) {
    let mut removed = Vec::new();
    let pairs: Vec<(u16, u16)> =
        records(from).map(|r| r.unwrap()).zip(records(page).map(|r| r.unwrap())).collect();
    for (original, rec) in pairs {
        if rng.one_in(2) {
            edit::delete(page, index.layout(), rec).unwrap();
            removed.push(original);
            if rng.one_in(8) {
                validate(page, Some(index)).map(|_| ()).or_else(only_min_flag).unwrap();
            }
        }
    }
    for i in (1..removed.len()).rev() {
        removed.swap(i, rng.index(i + 1));
    }
    for original in removed {
        with_tuple(from, original, index, |t| {
            insert(page, index, t, buf);
        });
    }
    validate(page, Some(index)).unwrap();
}

/// A page above the leaves whose first record was removed lacks its flag, which the tree would set.
fn only_min_flag(e: vaquita_format::Corruption) -> vaquita_format::Result<()> {
    if e.check == "minimum record flag" { Ok(()) } else { Err(e) }
}

fn assert_same_records(a: &[u8], b: &[u8], index: &IndexDef, context: &str) {
    let bytes = |page: &[u8], rec: u16| {
        let size = RecSize::of(page, rec, index.layout()).unwrap();
        let start = usize::from(rec) - size.extra;
        without_place(&page[start..start + size.total()], size.extra, is_comp(page))
    };
    let (mut x, mut y) = (first_rec(a).unwrap(), first_rec(b).unwrap());
    let end = supremum(is_comp(a));
    while x != end && y != end {
        assert!(bytes(a, x) == bytes(b, y), "{context}: records {x} and {y}");
        (x, y) = (next_rec(a, x).unwrap(), next_rec(b, y).unwrap());
    }
    assert_eq!((x, y), (end, end), "{context}");
    assert_eq!(last_rec(a).is_ok(), last_rec(b).is_ok());
}

/// A value's length as a whole: of an external field, its local prefix and the part off the page.
fn whole_len(field: &TupleField<'_>) -> usize {
    let data = field.data.unwrap_or_default();
    if !field.external {
        return data.len();
    }
    let reference = ExternRef::of_field(data).unwrap().expect("written");
    data.len() - EXTERN_REF_LEN + reference.len as usize
}

/// The server moved exactly the columns off the page that we would.
#[test]
fn off_page_columns_are_those_the_server_chose() {
    let zeros = vec![0; 1 << 20];
    let (mut rows, mut moved) = (0, 0);
    each_page(|table, no, page, index| {
        if !index.is_clustered() || !is_leaf(page) {
            return;
        }
        for rec in records(page) {
            let rec = rec.unwrap();
            with_tuple(page, rec, index, |t| {
                let whole = |f: &TupleField<'_>| TupleField::nullable(f.data.map(|_| &zeros[..whole_len(f)]));
                let fields: Vec<TupleField<'_>> = t.fields().iter().map(whole).collect();
                let mut chosen = Vec::new();
                off_page_fields(index, &fields, &mut chosen).unwrap();
                chosen.sort_unstable();
                let stored: Vec<usize> = (0..fields.len()).filter(|&i| t.fields()[i].external).collect();
                assert_eq!(chosen, stored, "{} page {no} record {rec}", table.name);
                rows += 1;
                moved += stored.len();
            });
        }
    });
    assert!(rows > 20_000 && moved >= 40, "{rows} rows, {moved} columns");
}

/// The longest BLOB kept inline beside an INT key: measured on a server.
#[test]
fn off_page_thresholds() {
    for (format, inline) in
        [(RowFormat::Compact, 8100), (RowFormat::Dynamic, 8100), (RowFormat::Redundant, 8091)]
    {
        let spec =
            IndexSpec { id: IndexId(1), name: "i".into(), row_format: format, page_size: PageSize::DEFAULT };
        let columns = [ColumnDef::int("id", 4, false).not_null(), ColumnDef::blob("b", 2)];
        let index = IndexDef::clustered(spec, &columns, Some(&[KeyPart::whole(0)])).unwrap();
        let moved = |len: usize| {
            let blob = vec![0; len];
            let fields = [&[0; 4][..], &[0; 6], &[0; 7], &blob].map(TupleField::new);
            let mut out = Vec::new();
            off_page_fields(&index, &fields, &mut out).map(|()| out)
        };
        assert_eq!(moved(inline), Ok(vec![]), "{format:?}");
        assert_eq!(moved(inline + 1), Ok(vec![3]), "{format:?}");
    }
}
