//! A folder on the simulated disk, tables of several kinds, and what is in them.

use std::sync::Arc;
use vaquita_base::codec::push_u32;
use vaquita_btree::Cursor;
use vaquita_engine::check::{TableReport, check_table};
use vaquita_engine::ddl::{IndexSpec, TableSpec};
use vaquita_engine::row::image::Image;
use vaquita_engine::row::lock::parse_clustered;
use vaquita_engine::{Column, Engine, RowKey, Session, Table};
use vaquita_format::checksum::ChecksumAlgorithm;
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::{KeyPart, RowFormat};
use vaquita_format::record::Offsets;
use vaquita_io::sim::SimDisk;
use vaquita_testkit::engine_folder::EngineFolder;

/// Values of all columns, owned.
pub(crate) type Row = Vec<Option<Vec<u8>>>;

pub(crate) struct Bed {
    pub(crate) disk: SimDisk,
    pub(crate) engine: Engine,
}

/// The folder of a disk, with the checksums that fresh folders have.
pub(crate) fn folder(disk: SimDisk) -> EngineFolder {
    EngineFolder::on(disk).with(|o| o.storage.live.checksum_algorithm = ChecksumAlgorithm::Crc32)
}

impl Bed {
    pub(crate) fn new(seed: u64) -> Bed {
        Self::open(EngineFolder::new(seed).disk)
    }

    pub(crate) fn open(disk: SimDisk) -> Bed {
        let folder = folder(disk);
        let engine = folder.open().unwrap();
        Bed { disk: folder.disk, engine }
    }

    pub(crate) fn session(&self) -> Session {
        self.engine.session()
    }

    pub(crate) fn create(&self, spec: &TableSpec) -> Arc<Table> {
        let mut session = self.session();
        session.create_table(spec).unwrap();
        self.table(&spec.name)
    }

    pub(crate) fn table(&self, name: &str) -> Arc<Table> {
        self.engine.core().table(name).unwrap()
    }

    /// Live rows of the clustered index as they are, committed or not, with their keys.
    pub(crate) fn rows(&self, table: &Table) -> Vec<(RowKey, Row)> {
        let core = self.engine.core();
        let mut out = Vec::new();
        let mut cursor = Cursor::new(&table.clustered().tree, &core.storage);
        let mut offsets = Offsets::new();
        let mut on_row = cursor.first().unwrap();
        while on_row {
            let record = cursor.record().unwrap();
            parse_clustered(table, &record, &mut offsets).unwrap();
            let image = Image::of(table, &record, &offsets);
            cursor.store().unwrap();
            if !image.is_deleted() {
                out.push((image.row_key(), self.values(table, &image)));
            }
            on_row = cursor.next().unwrap();
        }
        out
    }

    fn values(&self, table: &Table, image: &Image) -> Row {
        let value = |&i: &usize| {
            let local = image.field(i)?;
            if !image.is_external(i) {
                return Some(local.to_vec());
            }
            let mut whole = Vec::new();
            table.clustered().tree.read_value(&self.engine.core().storage, local, &mut whole).unwrap();
            Some(whole)
        };
        table.cluster_fields.iter().map(value).collect()
    }

    /// Purges everything and checks the table.
    pub(crate) fn purge_and_check(&self, table: &Table) -> TableReport {
        let core = self.engine.core();
        while core.purge_step().unwrap() {}
        let report = check_table(core, table).unwrap();
        assert!(report.is_purged(), "{}: {report:?}", table.name);
        assert_eq!(report.leaked_pages(), 0, "{}: {report:?}", table.name);
        report
    }
}

/// A column.
pub(crate) fn column(def: ColumnDef) -> Column {
    Column::new(def)
}

pub(crate) fn index(name: &str, parts: &[KeyPart], unique: bool) -> IndexSpec {
    IndexSpec { name: name.into(), parts: parts.to_vec(), unique, comment: String::new() }
}

/// INT in stored form.
pub(crate) fn int(n: i32) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    push_u32(&mut out, (n as u32) ^ 0x8000_0000);
    Some(out)
}

/// Tables of all kinds: integer key, text key without case, no key, key of several columns with values off the page,
/// key on a prefix in the oldest format.
pub(crate) fn ascending_specs() -> Vec<TableSpec> {
    let whole = KeyPart::whole;
    let mut plain = TableSpec::new(
        "test/plain",
        vec![
            column(ColumnDef::int("id", 4, false).not_null()),
            column(ColumnDef::varchar("v", 20, Charset::LATIN1)),
            column(ColumnDef::int("n", 4, false)),
            column(ColumnDef::int("u", 4, false)),
        ],
    );
    plain.primary_key = Some(vec![whole(0)]);
    plain.indexes = vec![
        index("n", &[whole(2)], false),
        index("u", &[whole(3)], true),
        index("vn", &[whole(1), whole(2)], false),
    ];

    let mut text = TableSpec::new(
        "test/text",
        vec![
            column(ColumnDef::varchar("k", 10, Charset::UTF8).not_null()),
            column(ColumnDef::int("n", 4, false)),
            column(ColumnDef::varchar("t", 30, Charset::UTF8)),
        ],
    );
    text.primary_key = Some(vec![whole(0)]);
    text.row_format = RowFormat::Compact;
    text.indexes =
        vec![index("t3", &[KeyPart::prefix(2, 9)], true), index("tn", &[whole(2), whole(1)], false)];

    let mut keyless = TableSpec::new(
        "test/keyless",
        vec![
            column(ColumnDef::int("a", 4, false)),
            column(ColumnDef::varchar("b", 10, Charset::UTF8)),
            column(ColumnDef::char("c", 4, Charset::LATIN1)),
        ],
    );
    keyless.indexes = vec![index("a", &[whole(0)], false), index("b", &[whole(1)], true)];

    let mut long = TableSpec::new(
        "test/long",
        vec![
            column(ColumnDef::int("a", 4, false).not_null()),
            column(ColumnDef::varchar("b", 8, Charset::UTF8).not_null()),
            column(ColumnDef::blob("x", 4)),
            column(ColumnDef::text_blob("y", 2, Charset::UTF8)),
            column(ColumnDef::int("n", 4, false)),
        ],
    );
    long.primary_key = Some(vec![whole(1), whole(0)]);
    long.indexes = vec![
        index("x", &[KeyPart::prefix(2, 12)], false),
        index("ny", &[whole(4), KeyPart::prefix(3, 2400)], false),
    ];

    let mut compact = long.clone();
    compact.name = "test/long_compact".into();
    compact.row_format = RowFormat::Compact;
    compact.indexes[1].parts[1].prefix_len = 600;

    let mut old = TableSpec::new(
        "test/old",
        vec![
            column(ColumnDef::varchar("p", 20, Charset::UTF8).not_null()),
            column(ColumnDef::int("n", 4, false)),
            column(ColumnDef::varchar("t", 40, Charset::UTF8)),
        ],
    );
    old.primary_key = Some(vec![KeyPart::prefix(0, 6)]);
    old.row_format = RowFormat::Redundant;
    old.indexes = vec![
        index("p", &[whole(0)], false),
        index("n", &[whole(1)], true),
        index("t", &[KeyPart::prefix(2, 6)], false),
    ];
    vec![plain, text, keyless, long, compact, old]
}

/// The same, most of them with descending keys, too.
pub(crate) fn specs() -> Vec<TableSpec> {
    let mut specs = ascending_specs();
    /// A table, and of its primary key and its other indexes the parts that descend.
    type Down<'a> = (usize, &'a [usize], &'a [&'a [usize]]);
    let down: [Down<'_>; 5] = [
        (0, &[0], &[&[0], &[0], &[0]]),
        (1, &[0], &[&[0], &[1]]),
        (2, &[], &[&[0], &[0]]),
        (3, &[1], &[&[0], &[1]]),
        (5, &[0], &[&[0], &[0], &[]]),
    ];
    for (at, primary, others) in down {
        let mut spec = specs[at].clone();
        spec.name += "_down";
        let turn = |parts: &mut Vec<KeyPart>, which: &[usize]| {
            which.iter().for_each(|&n| parts[n].descending = true)
        };
        spec.primary_key.iter_mut().for_each(|parts| turn(parts, primary));
        spec.indexes.iter_mut().zip(others).for_each(|(index, which)| turn(&mut index.parts, which));
        specs.push(spec);
    }
    specs
}
