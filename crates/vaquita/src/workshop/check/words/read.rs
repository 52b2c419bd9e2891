//! Rows of a table as they are on its pages: whole values of some columns.

use std::convert::Infallible;

use vaquita_base::PageNo;
use vaquita_format::Corruption;
use vaquita_format::index_def::IndexDef;
use vaquita_format::index_page::{self, header};
use vaquita_format::record::header::is_deleted;
use vaquita_format::record::{Offsets, check_version};

use crate::workshop::blob::whole_value;
use crate::workshop::dictionary::DictTable;
use crate::workshop::progress::Progress;
use crate::workshop::report::Report;
use crate::workshop::roots::root_at;
use crate::workshop::source::PageSource;
use crate::workshop::walk::for_each_leaf;

/// The wanted columns of a row; `None` for NULL.
pub(super) type Values = Vec<Option<Vec<u8>>>;

/// Gives `each` the wanted columns of every row that is not delete-marked, in the order of the key; whether all of them could be read.
/// What is wrong the check of the table's tree tells.
pub(super) fn each_row(
    src: &dyn PageSource,
    table: &DictTable,
    wanted: &[&str],
    each: &mut dyn FnMut(&Values),
) -> bool {
    let Some(index) = table.indexes.first() else { return false };
    let Some(root) = root_at(src, index.root) else { return false };
    let position = |name: &&str| index.def.fields().iter().position(|f| f.column.name == **name);
    let Some(fields) = wanted.iter().map(position).collect::<Option<Vec<usize>>>() else { return false };
    let mut report = Report::new();
    let mut offsets = Offsets::new();
    let mut visit = |no: PageNo, page: &[u8], report: &mut Report| {
        for rec in index_page::records(page) {
            match rec.and_then(|rec| values(src, (page, rec), &index.def, &fields, &mut offsets)) {
                Ok(None) => {}
                Ok(Some(values)) => each(&values),
                Err(e) => report.page(no, e),
            }
        }
        Ok::<(), Infallible>(())
    };
    let walked =
        for_each_leaf(src, &root, index.def.layout(), &mut report, &mut Progress::hidden(), &mut visit);
    match walked {
        Ok(()) => report.is_clean(),
        Err(never) => match never {},
    }
}

/// The values of a record; `None` if it is delete-marked.
fn values(
    src: &dyn PageSource,
    (page, rec): (&[u8], u16),
    def: &IndexDef,
    fields: &[usize],
    offsets: &mut Offsets,
) -> Result<Option<Values>, Corruption> {
    if is_deleted(page, rec, header::is_comp(page)) {
        return Ok(None);
    }
    check_version(page, rec, def.layout())?;
    offsets.parse(page, rec, def.layout())?;
    let value = |&field: &usize| match offsets.field(page, rec, field) {
        Some(stored) if offsets.is_external(field) => whole_value(src, stored).map(Some),
        stored => Ok(stored.map(<[u8]>::to_vec)),
    };
    fields.iter().map(value).collect::<Result<Values, Corruption>>().map(Some)
}
