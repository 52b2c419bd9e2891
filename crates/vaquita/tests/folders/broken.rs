//! One thing broken at a time in a sound folder: the check names it, its place, and nothing else.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use vaquita::workshop::dictionary::Dictionary;
use vaquita::workshop::source::PageSource;
use vaquita::workshop::walk::is_allocated;
use vaquita::workshop::{Report, SpaceFile};
use vaquita_base::codec::{get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};
use vaquita_base::{PageNo, SpaceId};
use vaquita_format::checksum::{ChecksumAlgorithm, stamp};
use vaquita_format::dict;
use vaquita_format::fil::{self, PageType};
use vaquita_format::index_def::IndexDef;
use vaquita_format::index_page::{self, edit, header};
use vaquita_format::record::Offsets;
use vaquita_format::record::header::is_deleted;
use vaquita_format::rseg::{self, RollbackSegment};
use vaquita_format::undo::{self, FIRST_LOG, LogHeader, SegmentState, UndoKind, UndoPage, UndoPlace};
use vaquita_format::{PageSize, trx_sys};
use vaquita_peers::{Mysql56, Server};

use crate::folders::{check, workload};

const P: usize = 16384;

/// A folder at rest: history in several rollback segments, and a prepared transaction with inserts and updates.
struct Folder {
    server: Server,
    /// Kept for as long as the folder.
    checks: RefCell<u32>,
}

impl Folder {
    fn new() -> Folder {
        let mut server = Mysql56::start(workload::options()).unwrap();
        workload::create(&server);
        workload::fill(&server);
        let mut reader = server.session().unwrap();
        reader.run("start transaction with consistent snapshot").unwrap();
        reader.run("select count(*) from w.tc").unwrap();
        workload::change(&server);
        let mut prepared = server.session().unwrap();
        for statement in [
            "use w",
            "xa start 'x'",
            "update tc set price = 7, name = 'prep' where id between 1001 and 1020",
            "update td set price = 8 where id between 1001 and 1020",
            "insert into nopk select n, 'new' from seq where n < 10",
            "xa end 'x'",
            "xa prepare 'x'",
        ] {
            prepared.run(statement).unwrap();
        }
        // A session that ends takes its prepared transaction with it; a crash does not.
        server.kill();
        server.start_again().unwrap();
        server.shutdown().unwrap();
        let folder = Folder { server, checks: RefCell::new(0) };
        let (code, out) = check(folder.dir());
        assert_eq!(code, 0, "{out}");
        folder
    }

    fn dir(&self) -> &Path {
        self.server.datadir()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    fn open(&self, name: &str) -> SpaceFile {
        SpaceFile::open(&[self.path(name)]).unwrap()
    }

    fn page(&self, file: &str, no: u32) -> Vec<u8> {
        self.open(file).page(PageNo(no)).unwrap().into_owned()
    }

    /// What the check finds after a change to one page, which is taken back.
    fn findings(&self, file: &str, no: u32, change: impl FnOnce(&mut [u8])) -> Vec<String> {
        use std::os::unix::fs::FileExt;
        let before = self.page(file, no);
        let mut page = before.clone();
        change(&mut page);
        assert_ne!(page, before, "nothing was broken");
        stamp(&mut page, PageSize::DEFAULT, ChecksumAlgorithm::Innodb);
        let handle = std::fs::File::options().write(true).open(self.path(file)).unwrap();
        handle.write_all_at(&page, u64::from(no) * P as u64).unwrap();
        let found = self.all_findings();
        handle.write_all_at(&before, u64::from(no) * P as u64).unwrap();
        found
    }

    /// Every fault with the part it was found in: `w/tc.ibd page 5: ...`.
    fn all_findings(&self) -> Vec<String> {
        *self.checks.borrow_mut() += 1;
        let (code, out) = check(self.dir());
        let mut part = String::new();
        let mut found = Vec::new();
        for line in out.lines() {
            match line.strip_prefix("    ") {
                None => part = line.split_whitespace().next().unwrap_or_default().to_owned(),
                Some(text) if ["note:", "undo:", "change buffer:"].iter().any(|w| text.starts_with(w)) => {}
                Some(text) => found.push(format!("{part} {text}")),
            }
        }
        assert_eq!(code == 0, found.is_empty(), "{out}");
        found
    }

    /// The change is found as exactly one fault with these words.
    fn expect(&self, file: &str, no: u32, change: impl FnOnce(&mut [u8]), words: &[&str]) {
        expect(&self.findings(file, no, change), &[words]);
    }
}

/// As many faults as lists of words, each with its words.
fn expect(found: &[String], wanted: &[&[&str]]) {
    assert_eq!(found.len(), wanted.len(), "wanted {wanted:#?}, found {found:#?}");
    for words in wanted {
        let named = found.iter().any(|f| words.iter().all(|w| f.contains(w)));
        assert!(named, "wanted {words:?}, found {found:#?}");
    }
}

/// Places in the undo logs of the folder.
struct Places {
    /// Header pages of the rollback segments.
    headers: Vec<u32>,
    /// First pages of the prepared transaction's segments.
    prepared_insert: u32,
    prepared_update: u32,
    /// A rollback segment with a log in the history: its header page, the first page of that segment, the log.
    history: (u32, u32, u16),
    /// Two used slots: header page and slot.
    used: [(u32, usize); 2],
    bound: u64,
}

fn places(folder: &Folder) -> Places {
    let system = folder.open("ibdata1");
    let page = system.page(trx_sys::PAGE).unwrap();
    let headers: Vec<u32> =
        (0..trx_sys::N_RSEGS).filter_map(|n| trx_sys::rseg(&page, n)).map(|(_, no)| no.get()).collect();
    let (mut insert, mut update, mut history, mut used) = (None, None, None, Vec::new());
    for &no in &headers {
        let header = system.page(PageNo(no)).unwrap();
        let view = RollbackSegment::new(&header);
        for (slot, first) in view.used_slots() {
            used.push((no, slot));
            let page = system.page(first).unwrap();
            let undo = UndoPage::new(&page).unwrap();
            if undo.state().unwrap() == SegmentState::Prepared {
                let place = if undo.kind().unwrap() == UndoKind::Insert { &mut insert } else { &mut update };
                *place = Some(first.get());
            }
        }
        if let Some(node) = view.history().first.some() {
            history = Some((no, node.page.get(), node.offset - undo::LOG_HISTORY_NODE as u16));
        }
    }
    Places {
        headers,
        prepared_insert: insert.unwrap(),
        prepared_update: update.unwrap(),
        history: history.unwrap(),
        used: [used[0], used[1]],
        bound: trx_sys::trx_id_store(&page).get() + trx_sys::TRX_ID_MARGIN,
    }
}

/// Offsets of the records of the newest log on a page.
fn undo_records(page: &[u8]) -> Vec<u16> {
    let view = UndoPage::new(page).unwrap();
    let records = view.records_of(Some(view.last_log())).unwrap();
    records.iter().map(|r| r.unwrap().0).collect()
}

fn bump16(at: usize) -> impl FnOnce(&mut [u8]) {
    move |p| put_u16(p, at, get_u16(p, at) + 1)
}

fn bump32(at: usize) -> impl FnOnce(&mut [u8]) {
    move |p| put_u32(p, at, get_u32(p, at).wrapping_add(1))
}

#[test]
fn undo_logs_and_history() {
    let folder = Folder::new();
    let at = places(&folder);
    let ib = "ibdata1";
    let update = at.prepared_update;
    let named = |no: u32| format!("page {no}: ");
    let on_update = named(update);

    // Records: length, numbers, type, table.
    let records = undo_records(&folder.page(ib, update));
    let (first, second) = (usize::from(records[0]), usize::from(records[1]));
    folder.expect(ib, update, bump16(first), &[&on_update, "undo record bounds"]);
    folder.expect(ib, update, |p| p[second + 3] = 0, &[&on_update, "undo number"]);
    folder.expect(ib, update, |p| p[first + 2] = p[first + 2] & 0xF0 | 11, &[&on_update, "undo record type"]);
    folder.expect(ib, update, |p| p[first + 2] = p[first + 2] & 0xF0 | 3, &[&on_update, "undo record type"]);
    // The length of the key: the record is not walked to its end.
    let page = folder.page(ib, update);
    let key = [&[4][..], &int(1002)].concat();
    let at_key = second + page[second..].windows(5).position(|w| w == key).unwrap();
    folder.expect(ib, update, |p| p[at_key] = 5, &[&on_update, "(a record of table "]);

    // Segment: state, kind, chain of logs, list of pages, file segment.
    let state = undo::SEGMENT_STATE;
    folder.expect(ib, update, |p| put_u16(p, state, 9), &[&on_update, "undo segment state", "9"]);
    folder.expect(ib, update, |p| put_u16(p, state, 4), &[&on_update, "slot is in state ToPurge"]);
    folder.expect(ib, update, |p| put_u16(p, state, 3), &[&on_update, "slot is in state ToFree"]);
    let active = folder.findings(ib, update, |p| put_u16(p, state, 1));
    expect(&active, &[&["undo segment state", "Active", "Prepared"]]);
    folder.expect(ib, update, |p| put_u16(p, undo::PAGE_TYPE, 7), &[&on_update, "undo page type"]);
    let last = usize::from(UndoPage::new(&folder.page(ib, update)).unwrap().last_log());
    folder.expect(ib, update, |p| p[last + undo::LOG_XID_EXISTS] = 0, &[&on_update, "without an XID"]);
    folder.expect(
        ib,
        update,
        |p| put_u64(p, last, at.bound + 7),
        &[&on_update, "transaction id", &at.bound.to_string()],
    );
    folder.expect(ib, update, |p| put_u16(p, last + undo::LOG_NEXT, 0x1000), &[&on_update, "log"]);
    folder.expect(ib, update, bump32(undo::SEGMENT_PAGES), &[&on_update, "list: pages of slot"]);
    folder.expect(ib, update, bump16(undo::SEGMENT_HEADER + 8), &[&on_update, "names an inode that is none"]);
    let insert = at.prepared_insert;
    folder.expect(
        ib,
        insert,
        |p| put_u16(p, FIRST_LOG + undo::LOG_START, 20),
        &[&named(insert), "undo log header"],
    );

    // Slots: beyond the end, one segment twice, a header page twice.
    let [(header, slot), (other, other_slot)] = at.used;
    let offset = rseg::slot_offset(slot);
    let beyond = folder.findings(ib, header, |p| put_u32(p, offset, 900_000));
    assert!(beyond.iter().any(|f| f.contains(&named(header)) && f.contains("beyond the end")), "{beyond:#?}");
    let taken = get_u32(&folder.page(ib, other), rseg::slot_offset(other_slot));
    let free =
        (0..rseg::n_slots(P)).find(|&n| get_u32(&folder.page(ib, header), rseg::slot_offset(n)) == u32::MAX);
    let free = free.unwrap();
    let twice = folder.findings(ib, header, |p| put_u32(p, rseg::slot_offset(free), taken));
    assert!(twice.iter().any(|f| f.contains("undo slot") && f.contains("as does slot")), "{twice:#?}");
    let no_undo = folder.findings(ib, header, |p| put_u32(p, rseg::slot_offset(free), 8));
    expect(&no_undo, &[&["page 8: ", "page type", "instead of UNDO_LOG"]]);
    let same = folder.findings(ib, 5, |p| {
        put_u32(p, trx_sys::rseg_offset(1) + 4, get_u32(p, trx_sys::rseg_offset(2) + 4));
    });
    assert!(same.iter().any(|f| f.contains("have the same header")), "{same:#?}");
    assert!(at.headers.len() == trx_sys::N_RSEGS);

    // History: links, order, size.
    let (header, first, log) = at.history;
    let node = usize::from(log) + undo::LOG_HISTORY_NODE;
    folder.expect(ib, header, bump32(rseg::HISTORY_SIZE), &[&named(header), "size of the history"]);
    let cut = folder.findings(ib, header, bump32(rseg::HISTORY));
    expect(&cut, &[&[&named(header), "list: history of rollback segment"]]);
    let link = folder.findings(ib, first, |p| put_u32(p, node, 7));
    expect(&link, &[&[&named(first), "list: history of rollback segment", "names 7"]]);
    let number = folder.findings(ib, first, |p| put_u64(p, usize::from(log) + 8, at.bound + 99));
    assert!(
        number.iter().any(|f| f.contains(&named(first)) && f.contains("transaction number")),
        "{number:#?}"
    );
    let early = folder.findings(ib, first, |p| put_u64(p, usize::from(log) + 8, 1));
    assert!(early.iter().any(|f| f.contains(&named(first)) && f.contains("has number 1")), "{early:#?}");

    assert_eq!(folder.all_findings(), [""; 0]);
}

/// A table's indexes, as the dictionary has them.
fn indexes(folder: &Folder, table: &str) -> Vec<IndexDef> {
    let dictionary = Dictionary::read(&folder.open("ibdata1"), &mut Report::new());
    let table = dictionary.tables.into_iter().find(|t| t.name == table).unwrap();
    assert_ne!(table.space, SpaceId::SYSTEM);
    table.indexes.into_iter().map(|i| i.def).collect()
}

/// The first leaf record of an index that satisfies a condition: page, its bytes, record.
fn leaf_record(
    folder: &Folder,
    file: &str,
    def: &IndexDef,
    wanted: impl Fn(&[u8], u16, &Offsets) -> bool,
) -> (u32, Vec<u8>, u16) {
    let src = folder.open(file);
    let mut offsets = Offsets::new();
    for no in 0..src.n_pages() {
        let page = src.page(PageNo(no)).unwrap();
        let ours = fil::page_type(&page) == Some(PageType::Index)
            && header::index_id(&page) == def.id()
            && header::is_leaf(&page)
            && is_allocated(&src, PageNo(no)) == Some(true);
        if !ours {
            continue;
        }
        for rec in index_page::records(&page).map(Result::unwrap) {
            offsets.parse(&page, rec, def.layout()).unwrap();
            if wanted(&page, rec, &offsets) {
                return (no, page.to_vec(), rec);
            }
        }
    }
    panic!("no record of {} will do", def.name());
}

fn live(page: &[u8], rec: u16) -> bool {
    !is_deleted(page, rec, header::is_comp(page))
}

/// INT in a key.
fn int(id: u32) -> [u8; 4] {
    let mut out = [0; 4];
    put_u32(&mut out, 0, id ^ 0x8000_0000);
    out
}

#[test]
fn secondary_indexes_and_rows() {
    let folder = Folder::new();
    for (table, file) in [("w/tc", "w/tc.ibd"), ("w/tr", "w/tr.ibd"), ("w/td", "w/td.ibd")] {
        let defs = indexes(&folder, table);
        let by_name = |name: &str| defs.iter().find(|d| d.name() == name).unwrap();
        // A row that nothing else is about: every column has a value.
        let id = int(601);
        for name in ["u", "g", "pfx", "txt", "bin", "mixed"] {
            let def = by_name(name);
            let last = def.n_fields() - 1;
            let (no, _, rec) =
                leaf_record(&folder, file, def, |p, r, o| live(p, r) && o.field(p, r, last) == Some(&id[..]));
            let index = format!("{table}.{name}");
            // Removed, marked, changed.
            let removed = folder.findings(file, no, |p| edit::delete(p, def.layout(), rec).unwrap());
            expect(&removed, &[&[file, "secondary index", &index, "the row at", "has no entry", "id=601"]]);
            assert!(!removed[0].contains("delete-marked"), "{removed:?}");
            let marked = folder.findings(file, no, |p| edit::set_delete_mark(p, rec, true).unwrap());
            let place = format!("delete-marked, on page {no} at {rec}");
            expect(&marked, &[&[file, &index, "has no entry", "id=601", &place]]);
        }
        // The row itself: one column of one index changes, the row is marked, the row goes.
        let clustered = &defs[0];
        let (no, page, rec) =
            leaf_record(&folder, file, clustered, |p, r, o| o.field(p, r, 0) == Some(&id[..]));
        let mut offsets = Offsets::new();
        offsets.parse(&page, rec, clustered.layout()).unwrap();
        let price = clustered.fields().iter().position(|f| f.column.name == "price").unwrap();
        let price = usize::from(rec) + offsets.range(price).end - 1;
        let changed = folder.findings(file, no, |p| p[price] ^= 1);
        let index = format!("{table}.mixed");
        expect(
            &changed,
            &[
                &[&index, "has no entry", "id=601", &format!("page {no}: ")],
                &[&index, "entry (", "its row says (", "id=601"],
            ],
        );
        let marked = folder.findings(file, no, |p| edit::set_delete_mark(p, rec, true).unwrap());
        assert_eq!(marked.len(), 6, "{marked:#?}");
        assert!(
            marked.iter().all(|f| f.contains("its row is delete-marked") && f.contains("id=601")),
            "{marked:#?}"
        );
        let gone = folder.findings(file, no, |p| edit::delete(p, clustered.layout(), rec).unwrap());
        assert_eq!(gone.len(), 6, "{gone:#?}");
        assert!(gone.iter().all(|f| f.contains("there is no such row") && f.contains("id=601")), "{gone:#?}");
    }
    // An entry whose key is that of no row.
    let defs = indexes(&folder, "w/pkprefix");
    let kb = defs.iter().find(|d| d.name() == "kb").unwrap();
    let (no, page, rec) = leaf_record(&folder, "w/pkprefix.ibd", kb, |p, r, o| {
        live(p, r) && o.field(p, r, 1).is_some_and(|key| key.starts_with(b"row7"))
    });
    let mut offsets = Offsets::new();
    offsets.parse(&page, rec, kb.layout()).unwrap();
    let at = usize::from(rec) + offsets.range(1).start;
    let moved = folder.findings("w/pkprefix.ibd", no, |p| p[at..at + 4].copy_from_slice(b"rOW7"));
    // The same row in the order of the collation, but not what the row says.
    expect(
        &moved,
        &[&["w/pkprefix.kb", "has no entry"], &["w/pkprefix.kb", "entry (", "there is no such row"]],
    );
    assert_eq!(folder.all_findings(), [""; 0]);
}

#[test]
fn roll_pointers() {
    let folder = Folder::new();
    let at = places(&folder);
    let (file, defs) = ("w/tc.ibd", indexes(&folder, "w/tc"));
    let clustered = &defs[0];
    let row = |id: u32| {
        let key = int(id);
        let (no, page, rec) =
            leaf_record(&folder, file, clustered, |p, r, o| o.field(p, r, 0) == Some(&key[..]));
        let mut offsets = Offsets::new();
        offsets.parse(&page, rec, clustered.layout()).unwrap();
        let field = |i: usize| usize::from(rec) + offsets.range(i).start;
        (no, field(1), field(2))
    };
    // Rows 1001.. were updated by the prepared transaction.
    let (no, trx_at, ptr_at) = row(1005);
    let page = folder.page(file, no);
    let place = |bytes: &[u8]| UndoPlace::decode(vaquita_base::RollPtr(get_u64(&[&[0], bytes].concat(), 0)));
    let found = place(&page[ptr_at..ptr_at + 7]);
    assert!(!found.insert);
    assert_eq!(found.page.get(), at.prepared_update);
    let records = undo_records(&folder.page("ibdata1", at.prepared_update));
    let to = |offset: u16| move |p: &mut [u8]| put_u16(p, ptr_at + 5, offset);
    let on_row = format!("{file} page {no}: roll pointer");
    // A record of another row, of another table, the middle of one, another page, another rollback segment.
    let other_row = *records.iter().take(18).find(|&&r| r != found.offset).unwrap();
    folder.expect(file, no, to(other_row), &[&on_row, "of another row"]);
    let last = *records.last().unwrap();
    folder.expect(file, no, to(last), &[&on_row, "an undo record of table"]);
    folder.expect(file, no, to(found.offset + 3), &[&on_row, "where no undo record begins"]);
    folder.expect(file, no, to(100), &[&on_row, "outside the log"]);
    folder.expect(file, no, |p| put_u32(p, ptr_at + 1, 300), &[&on_row, "leads to page 300"]);
    folder.expect(file, no, |p| p[ptr_at] ^= 1, &[&on_row, "names rollback segment"]);
    // The insert log of the same transaction has no record of this table.
    folder.expect(file, no, |p| p[ptr_at] |= 0x80, &[&on_row, "the log of transaction"]);
    // A transaction of the future.
    let future = folder.findings(file, no, |p| p[trx_at] = 1);
    expect(&future, &[&[file, "transaction id", &format!("below {}", at.bound)]]);
    let kb = defs.iter().find(|d| d.name() == "g").unwrap();
    let (leaf, _, _) = leaf_record(&folder, file, kb, |p, r, _| live(p, r));
    let newest = folder.findings(file, leaf, |p| put_u64(p, header::MAX_TRX_ID, at.bound));
    expect(&newest, &[&[file, "newest transaction of a leaf", &at.bound.to_string()]]);
    // Purged history is none of it: a row of long ago may point anywhere.
    let (old, _, old_ptr) = row(1);
    let changed = folder.findings(file, old, |p| put_u16(p, old_ptr + 5, 4000));
    assert!(changed.len() <= 1, "{changed:#?}");
    assert_eq!(folder.all_findings(), [""; 0]);
    let header = LogHeader::read(&folder.page("ibdata1", at.prepared_update), FIRST_LOG as u16);
    assert!(header.is_ok());
}

#[test]
fn files_and_dictionary() {
    let folder = Folder::new();
    let rename = |from: &str, to: &str| std::fs::rename(folder.path(from), folder.path(to)).unwrap();

    rename("w/td.ibd", "w/other.ibd");
    expect(&folder.all_findings(), &[&["dictionary file of a table: w/td", "is in w/other.ibd"]]);
    rename("w/other.ibd", "w/td.ibd");

    rename("w/td.ibd", "away");
    expect(&folder.all_findings(), &[&["dictionary file of a table: w/td has none for its tablespace"]]);
    rename("away", "w/td.ibd");

    std::fs::copy(folder.path("w/parent.ibd"), folder.path("w/copy.ibd")).unwrap();
    expect(&folder.all_findings(), &[&["dictionary orphan file: w/copy.ibd", "no table of the dictionary"]]);
    std::fs::remove_file(folder.path("w/copy.ibd")).unwrap();

    rename("w/parent.ibd", "away");
    rename("w/child.ibd", "w/parent.ibd");
    rename("away", "w/child.ibd");
    expect(
        &folder.all_findings(),
        &[
            &["dictionary file of a table: w/parent: w/parent.ibd holds tablespace"],
            &["dictionary file of a table: w/child: w/child.ibd holds tablespace"],
        ],
    );
    rename("w/parent.ibd", "away");
    rename("w/child.ibd", "w/parent.ibd");
    rename("away", "w/child.ibd");

    // Rows of the dictionary: the name of a tablespace, a column of a foreign key.
    let replace = |what: &[u8], with: &[u8], near: &[u8]| {
        let src = folder.open("ibdata1");
        for no in 0..src.n_pages() {
            let page = src.page(PageNo(no)).unwrap();
            let is_leaf = fil::page_type(&page) == Some(PageType::Index) && header::is_leaf(&page);
            for rec in index_page::records(&page).filter(|_| is_leaf).map_while(Result::ok) {
                let mut offsets = Offsets::new();
                let redundant = vaquita_format::record::RecLayout::redundant();
                if header::is_comp(&page) || offsets.parse(&page, rec, &redundant).is_err() {
                    continue;
                }
                let start = usize::from(rec);
                let bytes = &page[start..start + offsets.data_len()];
                let has = |what: &[u8]| bytes.windows(what.len()).position(|w| w == what);
                if let (Some(at), Some(_), true) = (has(what), has(near), live(&page, rec)) {
                    let at = start + at;
                    return folder.findings("ibdata1", no, |p| p[at..at + with.len()].copy_from_slice(with));
                }
            }
        }
        panic!("no record holds {:?}", what.escape_ascii());
    };
    let name = replace(b"w/td", b"w/xx", b"w/td\0\0\0\x21");
    expect(&name, &[&["dictionary name of a tablespace: SYS_TABLESPACES says w/xx", "it is of w/td"]]);
    expect(&replace(b"pid", b"xid", b"w/fk"), &[&["dictionary foreign key: w/fk: w/child has no column x"]]);

    // Ids that were given, but not according to the dictionary header.
    for (at, word) in [(dict::TABLE_ID, "dictionary table id: w/"), (dict::INDEX_ID, "dictionary index id: ")]
    {
        let found = folder.findings("ibdata1", 7, |p| put_u64(p, at, 20));
        assert!(!found.is_empty() && found.iter().all(|f| f.contains(word)), "{found:#?}");
    }
    let found = folder.findings("ibdata1", 7, |p| put_u32(p, dict::SPACE_ID, 2));
    assert!(
        !found.is_empty() && found.iter().all(|f| f.contains("dictionary tablespace id: ")),
        "{found:#?}"
    );
    let found = folder.findings("ibdata1", 7, |p| put_u64(p, dict::ROW_ID, 256));
    assert!(
        found.len() > 50 && found[0].contains("w/nopk.ibd page ") && found[0].contains("row id: "),
        "{found:#?}"
    );
    assert_eq!(folder.all_findings(), [""; 0]);
}
