//! information_schema.PARTITIONS.

use super::making::{Cells, Making, number_or_null, text};
use super::schema_tables::table_row;
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_catalog::partitioning::{Partition, Partitioned};
use vaquita_engine::Table;
use vaquita_types::{SqlResult, Value};

/// The parts of all tables; a table that is not partitioned has one row, in which nothing is said of partitions.
pub(super) fn partitions(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for info in m.tables(1, 2)? {
        match (&info.table.parts, Partitioned::of_clause(&info.definition.partitioning)) {
            (Some(parts), Ok(partitioned)) if partitioned.parts().count() == parts.tables.len() => {
                for (at, (p, part)) in partitioned.parts().enumerate() {
                    let row = part_row(m, &info, &partitioned, (at, p, part), &parts.tables[at]);
                    m.push(row);
                }
            }
            _ => {
                let row = whole_row(m, &info);
                m.push(row);
            }
        }
    }
    Ok(())
}

fn whole_row(m: &mut Making<'_, '_>, info: &TableInfo) -> Cells {
    let of_table = table_row(m, info);
    let mut row = names_of(info);
    row.resize(12, Value::Null);
    // From TABLE_ROWS to CHECK_TIME as the whole table has them.
    row.extend(of_table[7..13].iter().cloned());
    row.extend(of_table[14..17].iter().cloned());
    row.extend([Value::Null, text(""), text(""), Value::Null]);
    row
}

fn names_of(info: &TableInfo) -> Cells {
    vec![text("def"), text(&info.definition.database), text(&info.definition.name)]
}

fn part_row(
    m: &Making<'_, '_>,
    info: &TableInfo,
    partitioned: &Partitioned,
    (at, p, part): (usize, &Partition, &Partition),
    table: &Arc<Table>,
) -> Cells {
    let core = m.db.engine.core();
    let page = core.storage.options().page_size.logical() as u64;
    let per = partitioned.per_partition();
    let sub = partitioned.sub.as_ref();
    let known = core.statistics(table).ok().flatten();
    let number =
        |of: &dyn Fn(&vaquita_engine::stats::Statistics) -> u64| number_or_null(known.as_deref().map(of));
    let or_null = |text_: Option<String>| text_.map_or(Value::Null, text);
    let mut row = names_of(info);
    row.extend([
        text(&p.name),
        or_null(sub.map(|_| part.name.clone())),
        Value::UInt((at / per + 1) as u64),
        sub.map_or(Value::Null, |_| Value::UInt((at % per + 1) as u64)),
        text(partitioned.method.name()),
        or_null(sub.map(|sub| sub.method.name().to_owned())),
        text(partitioned.method.shown()),
        or_null(sub.map(|sub| sub.method.shown())),
        or_null(p.values.described()),
        number(&|s| s.rows),
        number(&|s| (s.clustered_pages() * page).checked_div(s.rows).unwrap_or(0)),
        number(&|s| s.clustered_pages() * page),
        Value::Null,
        number(&|s| s.secondary_pages() * page),
        number_or_null(core.free_bytes(table).ok()),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        text(&part.comment),
        text("default"),
        or_null(part.tablespace.clone()),
    ]);
    row
}
