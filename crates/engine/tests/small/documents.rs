//! A table of texts whose words are in lists.

use crate::small::open;
use vaquita_engine::fulltext::flush;
use vaquita_engine::{Column, Engine, Error, FullTextSpec, TableSpec, stored};
use vaquita_format::column::{Charset, ColumnDef};
use vaquita_format::index_def::KeyPart;
use vaquita_io::sim::SimDisk;

pub(crate) const TABLE: &str = "a/t";

/// Rows with these texts, numbered from 0 on, in lists.
pub(crate) fn filled(texts: impl Iterator<Item = String>) -> Engine {
    let disk = SimDisk::new(5);
    disk.put_dir("/db/a".as_ref());
    let engine = open(&disk).unwrap();
    let columns = vec![
        Column::new(ColumnDef::int("id", 4, false).not_null()),
        Column::new(ColumnDef::varchar("a", 200, Charset::UTF8)),
    ];
    let fulltext = FullTextSpec { name: "k".into(), columns: vec![1], parser: None, split: None };
    let spec = TableSpec {
        primary_key: Some(vec![KeyPart::whole(0)]),
        fulltext: vec![fulltext],
        ..TableSpec::new(TABLE, columns)
    };
    let mut session = engine.session();
    session.create_table(&spec).unwrap();
    session
        .run(|s| {
            let table = s.table(TABLE)?;
            for (id, text) in (0..).zip(texts) {
                s.insert(&table, &[Some(&stored::int(id)), Some(text.as_bytes()), None])?;
            }
            Ok::<_, Error>(())
        })
        .unwrap();
    flush(engine.core(), &engine.core().table(TABLE).unwrap()).unwrap();
    engine
}
