//! Records and index pages: reading them in any state, and editing them.
//!
//! A page that passes `validate` must stay valid through every edit, and every record on it must be found. A page
//! that does not must still be walked, searched and edited without a panic: recovery edits whatever the file holds.

use std::sync::LazyLock;

use vaquita_base::{IndexId, PageId, PageNo, SpaceId, TrxId};
use vaquita_format::PageSize;
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::{IndexDef, IndexSpec, KeyPart, RowFormat};
use vaquita_format::index_page::{self, SearchMode, edit, header, logged, search, validate};
use vaquita_format::record::fields_of_record;
use vaquita_format::record::{self, Offsets, RecSize};
use vaquita_format::tuple::{Tuple, TupleField};

const PAGE_LEN: usize = 4096;
const MODES: [SearchMode; 4] =
    [SearchMode::Less, SearchMode::LessOrEqual, SearchMode::GreaterOrEqual, SearchMode::Greater];

/// Clustered and secondary indexes of one table in three row formats.
static INDEXES: LazyLock<Vec<IndexDef>> = LazyLock::new(|| {
    let columns = [
        ColumnDef::int("id", 4, false).not_null(),
        ColumnDef::varchar("v", 20, Charset::LATIN1),
        ColumnDef::int("n", 4, true),
        ColumnDef::char("c", 5, Charset::LATIN1).not_null(),
        ColumnDef::blob("t", 2),
    ];
    let page_size = PageSize::new(PAGE_LEN).expect("a page size");
    let mut indexes = Vec::new();
    for (id, row_format) in [(1, RowFormat::Compact), (3, RowFormat::Redundant), (5, RowFormat::Dynamic)] {
        let spec = |id, name: &str| IndexSpec { id: IndexId(id), name: name.into(), row_format, page_size };
        let clustered = IndexDef::clustered(spec(id, "PRIMARY"), &columns, Some(&[KeyPart::whole(0)]));
        let clustered = clustered.expect("a sound table");
        let parts = [KeyPart::whole(1), KeyPart::whole(2)];
        let secondary = IndexDef::secondary(spec(id + 1, "vn"), &columns, &parts, false, &clustered);
        indexes.extend([clustered, secondary.expect("a sound index")]);
    }
    indexes
});

/// Calls `f` with the tuple of row `n`.
fn with_row<R>(index: &IndexDef, n: u32, f: impl FnOnce(&Tuple<'_>) -> R) -> R {
    let id = stored(n ^ 0x8000_0000);
    let text = [b'a' + (n % 26) as u8; 20];
    let fields: Vec<TupleField<'_>> = index
        .fields()
        .iter()
        .map(|field| match field.column.name.as_str() {
            "id" => TupleField::new(&id),
            "v" if n.is_multiple_of(5) => TupleField::NULL,
            "v" => TupleField::new(&text[..(n % 20) as usize]),
            "n" if n.is_multiple_of(3) => TupleField::NULL,
            "n" => TupleField::new(&id),
            "c" => TupleField::new(&text[..5]),
            "t" => TupleField::new(&text[..(n % 7) as usize]),
            "DB_TRX_ID" => TupleField::new(&[0, 0, 0, 0, 1, 2]),
            _ => TupleField::new(&[0x80, 0, 0, 1, 0, 1, 16]),
        })
        .collect();
    f(&Tuple::new(&fields))
}

/// Stored form of an integer.
fn stored(value: u32) -> [u8; 4] {
    let mut bytes = [0; 4];
    vaquita_base::codec::put_u32(&mut bytes, 0, value);
    bytes
}

/// Inserts row `n` where it belongs; `None` if there is no room or its key is there already.
fn insert(page: &mut [u8], log: &mut logged::PageLog<'_>, index: &IndexDef, n: u32) -> Option<u16> {
    with_row(index, n, |tuple| {
        let found =
            search(page, index, &tuple.compare_first(index.n_uniq_in_tree()), SearchMode::LessOrEqual)
                .ok()?;
        if usize::from(found.low_matched) >= index.n_uniq_in_tree() {
            return None;
        }
        let mut rec = Vec::new();
        let extra = record::encode(index.layout(), tuple, &mut rec);
        logged::insert(page, log, index, found.low, &rec, extra).ok().flatten()
    })
}

/// A page built by logged edits, with the redo that builds it.
pub(super) fn sample(number: usize, rows: u32) -> (Vec<u8>, Vec<u8>) {
    let index = &INDEXES[number % INDEXES.len()];
    let mut page = vec![0; PAGE_LEN];
    let mut redo = Vec::new();
    let mut log = logged::PageLog::new(PageId::new(SpaceId(5), PageNo(7)), &mut redo);
    logged::create(&mut page, &mut log, index.layout().comp());
    for n in 0..rows {
        let _ = insert(&mut page, &mut log, index, n.wrapping_mul(2_654_435_761));
    }
    let recs: Vec<u16> = index_page::records(&page).filter_map(Result::ok).collect();
    for rec in recs.iter().step_by(3) {
        let _ = logged::delete(&mut page, &mut log, index, *rec);
    }
    for rec in recs.iter().skip(1).step_by(6) {
        let _ = if index.is_clustered() {
            logged::set_delete_mark_clustered(&mut page, &mut log, index, *rec, true, None)
        } else {
            logged::set_delete_mark_secondary(&mut page, &mut log, *rec, true)
        };
    }
    logged::raise_max_trx_id(&mut page, &mut log, TrxId(99));
    if rows % 2 == 1 {
        logged::reorganize(&mut page, &mut log, index).expect("a page of our own");
    }
    validate(&page, Some(index)).expect("logged edits leave a valid page");
    (page, redo)
}

/// The input is the index's number, a choice, and the page.
pub(super) fn page(data: &[u8]) {
    let Some((&[number, choice], bytes)) = data.split_first_chunk::<2>() else { return };
    let index = &INDEXES[usize::from(number) % INDEXES.len()];
    let mut page = vec![0; PAGE_LEN];
    let len = bytes.len().min(PAGE_LEN);
    page[..len].copy_from_slice(&bytes[..len]);
    let _ = validate(&page, None);
    let valid = validate(&page, Some(index));
    let recs = walk(&page, index);
    if let Ok(stats) = &valid {
        assert_eq!(stats.n_recs, recs.len());
        assert_eq!(stats.n_recs, usize::from(header::n_recs(&page)));
    }
    for n in [0, 7, u32::from(choice), 2_654_435_761] {
        with_row(index, n, |tuple| searches(&page, index, tuple, valid.is_ok()));
    }
    edits(&page, index, &recs, choice, valid.is_ok());
}

/// Reads every record; the origins in order.
fn walk(page: &[u8], index: &IndexDef) -> Vec<u16> {
    let mut recs = Vec::new();
    let mut offsets = Offsets::new();
    for rec in index_page::records(page) {
        let Ok(rec) = rec else { break };
        recs.push(rec);
        let _ = (index_page::prev_rec(page, rec), index_page::owner(page, rec));
        let size = RecSize::of(page, rec, index.layout());
        let Ok(()) = offsets.parse(page, rec, index.layout()) else { continue };
        let mut fields = Vec::new();
        fields_of_record(page, rec, &offsets, offsets.n_fields(), &mut fields);
        for field in fields.iter().filter(|field| field.external) {
            let _ = record::ExternRef::of_field(field.data.unwrap_or_default());
        }
        let size = size.expect("offsets know more than sizes");
        assert_eq!((size.extra, size.data), (offsets.extra_len(), offsets.data_len()));
    }
    let _ = (index_page::first_rec(page), index_page::last_rec(page));
    recs
}

fn searches(page: &[u8], index: &IndexDef, tuple: &Tuple<'_>, valid: bool) {
    for mode in MODES {
        let found = search(page, index, tuple, mode);
        if valid {
            let found = found.expect("a valid page can be searched");
            assert_eq!(index_page::next_rec(page, found.low), Ok(found.up), "neighbours in {mode:?}");
        }
    }
}

/// Every edit on its own copy; valid pages stay valid.
fn edits(page: &[u8], index: &IndexDef, recs: &[u16], choice: u8, valid: bool) {
    let layout = index.layout();
    if layout.comp() != header::is_comp(page) {
        return;
    }
    let off = || logged::PageLog::off(PageId::new(SpaceId(5), PageNo(7)));
    let check = |what: &str, done: vaquita_format::Result<()>, after: &[u8]| {
        if valid {
            done.unwrap_or_else(|e| panic!("{what} of a valid page: {e}"));
            validate(after, Some(index)).unwrap_or_else(|e| panic!("{what} broke a valid page: {e}"));
        }
    };
    // Without a walkable list, any place will do.
    let any = 120 + u16::from(choice) * 8;
    let rec = recs.get(usize::from(choice) % recs.len().max(1)).copied().unwrap_or(any);
    let on_list = recs.contains(&rec);

    let mut copy = page.to_vec();
    let done = logged::delete(&mut copy, &mut off(), index, rec);
    if on_list {
        check("delete", done, &copy);
    }
    let mut copy = page.to_vec();
    let done = edit::delete_list_from(&mut copy, layout, rec);
    if on_list {
        check("delete_list_from", done, &copy);
    }
    let mut copy = page.to_vec();
    let done = edit::delete_list_to(&mut copy, layout, rec);
    if on_list {
        check("delete_list_to", done, &copy);
    }
    let mut copy = page.to_vec();
    let done = edit::reorganize(&mut copy, layout);
    check("reorganize", done, &copy);
    let mut copy = page.to_vec();
    if header::is_leaf(page) {
        let _ = insert(&mut copy, &mut off(), index, u32::from(choice) << 20);
        check("insert", Ok(()), &copy);
    }
    let mut copy = page.to_vec();
    let _ = edit::set_delete_mark(&mut copy, rec, true);
    let sys = edit::SysFields { trx_id: TrxId(5), roll_ptr: vaquita_base::RollPtr(6) };
    let _ = edit::set_sys_fields(&mut copy, layout, rec, index.trx_id_pos().unwrap_or(0), sys);
    let _ = edit::update_in_place(
        &mut copy,
        layout,
        rec,
        0,
        &[edit::FieldUpdate { pos: 0, data: Some(&[1; 4]) }],
    );
    let _ = edit::set_min_rec_mark(&mut copy, rec);
}

/// Small pages of each index.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for number in 0..INDEXES.len() {
        for rows in [0, 1, 9, 40] {
            let (page, _) = sample(number, rows);
            seeds.push([&[number as u8, rows as u8], page.as_slice()].concat());
        }
    }
    seeds
}
