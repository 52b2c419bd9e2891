//! ADD and DROP COLUMN that leave the rows as they are: the table gets another version of its rows, and who reads an older one
//! converts it (`vaquita_engine::dict::row_versions`).
//!
//! | asks for rows that are written anew | why |
//! |---|---|
//! | `vaquita_instant_alter = OFF`, ALGORITHM=INPLACE or COPY, FORCE and its like | it was said |
//! | a folder that a MySQL server made | a server of 5.6 knows of no versions |
//! | ROW_FORMAT=REDUNDANT and COMPRESSED, temporary tables | their records have no place for a version |
//! | a new column that is AUTO_INCREMENT, generated, or has an expression as default | rows differ in it |
//! | a column goes whose values may be off the page (longer than 255 bytes) | the record owns them |
//! | an index comes, the clustered index changes, a constraint comes | the rows are read anyway |
//! | the 65th version | as MySQL |

use super::copy::value_of_old_rows;
use super::{limits, metadata, server_files};
use crate::statement::StmtCx;
use std::sync::Arc;
use vaquita_catalog::{ColumnDefinition, Definition, TableInfo};
use vaquita_engine::lower::RowFormat;
use vaquita_engine::table::DefaultValue;
use vaquita_engine::{Column, ColumnOrigin, TableSpec, VERSIONS_MAX};
use vaquita_session::SessionState;
use vaquita_types::ColumnType;

/// Fields of a record that leave room for more.
const FIELDS_MAX: usize = 900;

/// Whether the columns of `to` can be had by another version of the rows. Keys are not looked at.
pub(super) fn fits(cx: &StmtCx<'_>, info: &TableInfo, to: &Definition) -> bool {
    let from = &info.definition;
    let def = info.table.clustered().def();
    let gone = |at: usize| !to.columns.iter().any(|new| new.origin == Some(at));
    let stays_short =
        |old: &ColumnDefinition| !old.ty.to_def(&old.name).is_big() && !old.functional && !old.hidden;
    limits::is_on(cx, "vaquita_instant_alter")
        && !server_files::are_kept(cx)
        && !info.table.is_temporary()
        && matches!(from.row_format, RowFormat::Compact | RowFormat::Dynamic)
        && from.row_format == to.row_format
        && from.partitioning == to.partitioning
        && def.layout().version() < VERSIONS_MAX
        && def.n_fields() < FIELDS_MAX
        && to.columns.iter().all(|new| match new.origin {
            Some(at) => metadata::keeps_values(&from.columns[at], new),
            None => is_the_same_in_all_rows(new),
        })
        && from.columns.iter().enumerate().all(|(at, old)| !gone(at) || stays_short(old))
        && metadata::keeps_checks(from, to)
}

fn is_the_same_in_all_rows(new: &ColumnDefinition) -> bool {
    new.generated.is_none()
        && !new.auto_increment
        && !new.functional
        && !new.hidden
        && !matches!(new.default, DefaultValue::Text(_))
}

/// What each column was, and what rows that are there have in a new one.
pub(super) fn origins(state: &SessionState, to: &Definition, spec: &TableSpec) -> Vec<ColumnOrigin> {
    let origin = |(new, stored): (&Arc<ColumnDefinition>, &Column)| match new.origin {
        Some(at) => ColumnOrigin::Kept(at),
        None => {
            let ty = ColumnType::of_def(new.ty.clone(), &stored.def, to.row_format);
            ColumnOrigin::New(value_of_old_rows(&ty, &stored.default, state))
        }
    };
    to.columns.iter().zip(&spec.columns).map(origin).collect()
}
