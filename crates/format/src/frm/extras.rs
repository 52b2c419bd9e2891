//! What a `.frm` of MariaDB, or of a MySQL after 5.6, says that MySQL 5.6's cannot.
//!
//! MariaDB has a list where MySQL has the name of the form, from byte 64 on, as long as u16 at 4 says:
//!
//! | type (u8) | length (u8) | holds |
//! |---|---|---|
//! | 0x00 | 16 | number of the table's definition |
//! | 0x03 | | names of a period for an application's times |
//! | 0x04 | 4 | columns of system versioning |
//! | 0x05 | keys | 1 for a key the optimizer ignores |
//! | 0x80 | | attributes of the engine: u8 and name, u16 and value, ... |
//! | 0x81 | columns | 1 INVISIBLE, 2 and 3 hidden |
//! | 0x82 | | columns of types that plugins bring: number u8, length u8 and name |
//! | 0x83 | | columns of the periods |
//!
//! At 286 in the form stands the length of a block of expressions, which follows the comments: 16 bytes, then for each one kind
//! (0 VIRTUAL, 1 stored, 2 DEFAULT, 3 CHECK of a column, 4 CHECK of the table), column u16, length u16, length of the
//! name u8, name, expression.
//!
//! Of columns: special meaning 24 is COMPRESSED. The types DATETIME, TIME and TIMESTAMP of MySQL 5.5 have fractions there, in a
//! form of MariaDB's own. Of key parts: byte 4 is 0x80 if the order is descending.

use std::collections::BTreeSet;

use super::columns::{FrmColumn, code};
use super::spelling::has_collation;
use super::{Frm, Le};
use crate::collation;
use crate::error::{Corruption, Result};
use crate::maker::{Foreign, version_text};

/// MariaDB's version numbers begin with 10.0.
const MARIADB: u32 = 100_000;
/// Bytes before the first expression.
const EXPRESSIONS_HEAD: usize = 16;

mod extra {
    pub(super) const DEFINITION: u8 = 0x00;
    pub(super) const PERIOD: u8 = 0x03;
    pub(super) const VERSIONING: u8 = 0x04;
    pub(super) const IGNORED: u8 = 0x05;
    pub(super) const ENGINE: u8 = 0x80;
    pub(super) const VISIBILITY: u8 = 0x81;
    pub(super) const PLUGIN_TYPES: u8 = 0x82;
    pub(super) const PERIOD_COLUMNS: u8 = 0x83;
}

/// What goes beyond MySQL 5.6.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extras {
    /// Why rows cannot be read, each with the column's name.
    pub unreadable: Vec<String>,
    /// What rows do not depend on, and a CREATE TABLE for MySQL 5.6 cannot say.
    pub left_out: BTreeSet<&'static str>,
    /// Whether a key has a descending part: its index is in an order that is not known here.
    pub descending: bool,
}

impl Frm {
    /// The server that wrote it, with its version.
    pub fn maker(&self) -> String {
        let name = if self.mysql_version >= MARIADB { "MariaDB" } else { "MySQL" };
        format!("{name} {}", version_text(self.mysql_version))
    }

    /// What keeps rows from being read by it, if anything does.
    pub fn foreign(&self) -> Option<Foreign> {
        let extras = &self.extras.unreadable;
        (!extras.is_empty()).then(|| Foreign::new(self.maker(), extras.join(", ")))
    }
}

/// Reads what goes beyond MySQL 5.6; `columns` are the table's.
pub(super) fn parse(b: Le<'_>, version: u32, form: usize, columns: &[FrmColumn]) -> Result<Extras> {
    let mut out = Extras::default();
    for column in columns {
        let why = match column.type_code {
            _ if column.special == special::COMPRESSED => "is COMPRESSED",
            _ if column.special > special::COMPRESSED => "has an attribute that is not known",
            code::OLD_DATETIME | code::OLD_TIMESTAMP if column.length > 19 => FRACTION,
            code::OLD_TIME if column.length > 10 => FRACTION,
            t if !code::is_known(t) => "has a type that is not known",
            _ => {
                if has_collation(column) && collation::name(column.collation).is_none() {
                    out.left_out.insert("collations of later servers");
                }
                continue;
            }
        };
        out.unreadable.push(format!("column {} {why}", column.name));
    }
    if version >= MARIADB {
        out.list(b.bytes(64, usize::from(b.u16(4)?))?, columns);
    }
    out.expressions(b, form, columns)?;
    Ok(out)
}

/// Values of the column's byte for special meanings.
mod special {
    pub(super) const COMPRESSED: u8 = 24;
}

const FRACTION: &str = "has fractions of seconds in MariaDB's own form";

fn name(columns: &[FrmColumn], at: usize) -> String {
    columns.get(at).map_or_else(|| format!("number {at}"), |c| c.name.clone())
}

impl Extras {
    /// MariaDB's list.
    fn list(&mut self, bytes: &[u8], columns: &[FrmColumn]) {
        let mut rest = bytes;
        while let [ty, len, tail @ ..] = rest {
            let Some((data, after)) = tail.split_at_checked(usize::from(*len)).filter(|_| *len > 0) else {
                return self.unreadable.push(format!("its attribute {ty:#04x} has an unknown form"));
            };
            rest = after;
            match *ty {
                extra::DEFINITION => {}
                extra::PERIOD | extra::PERIOD_COLUMNS => drop(self.left_out.insert("periods")),
                extra::VERSIONING => self.unreadable.push("it has system versioning".to_owned()),
                extra::IGNORED if data.iter().all(|&b| b == 0) => {}
                extra::IGNORED => drop(self.left_out.insert("IGNORED of keys")),
                extra::ENGINE => drop(self.left_out.insert("attributes of the engine")),
                extra::VISIBILITY => self.visibility(data, columns),
                extra::PLUGIN_TYPES => self.plugin_types(data, columns),
                ty => self.unreadable.push(format!("it has an attribute that is not known ({ty:#04x})")),
            }
        }
        if !rest.is_empty() {
            self.unreadable.push("its list of attributes has an unknown form".to_owned());
        }
    }

    fn visibility(&mut self, data: &[u8], columns: &[FrmColumn]) {
        for (at, &visibility) in data.iter().enumerate().filter(|(_, v)| **v != 0) {
            let what = if visibility == 1 { "INVISIBLE" } else { "hidden" };
            self.unreadable.push(format!("column {} is {what}", name(columns, at)));
        }
    }

    fn plugin_types(&mut self, data: &[u8], columns: &[FrmColumn]) {
        let mut rest = data;
        while let [at, len, tail @ ..] = rest {
            let (ty, after) = tail.split_at(usize::from(*len).min(tail.len()));
            let (column, ty) = (name(columns, usize::from(*at)), String::from_utf8_lossy(ty).into_owned());
            self.unreadable.push(format!("column {column} has type {ty}"));
            rest = after;
        }
    }

    fn expressions(&mut self, b: Le<'_>, form: usize, columns: &[FrmColumn]) -> Result<()> {
        let len = usize::from(b.u16(form + 286)?);
        if len == 0 {
            return Ok(());
        }
        let field = |off: usize| b.u16(form + off).map(usize::from);
        let before = 288 + field(260)? + 17 * field(258)? + field(268)? + field(274)? + field(284)?;
        let block = b.bytes(form + before, len)?;
        let Some(rest) = block.get(EXPRESSIONS_HEAD..).filter(|_| block[0] == 0) else {
            self.unreadable.push("its expressions have an unknown form".to_owned());
            return Ok(());
        };
        let mut rest = Le(rest);
        while !rest.0.is_empty() {
            let (kind, column) = (rest.u8(0)?, usize::from(rest.u16(1)?));
            match kind {
                0 => self.unreadable.push(format!("column {} is VIRTUAL", name(columns, column))),
                1 => self.unreadable.push(format!("column {} is generated", name(columns, column))),
                2 => drop(self.left_out.insert("DEFAULT expressions")),
                3 | 4 => drop(self.left_out.insert("CHECK constraints")),
                _ => return Err(Corruption::new(".frm expression", format!("of kind {kind}"))),
            }
            let used = 6 + usize::from(rest.u8(5)?) + usize::from(rest.u16(3)?);
            rest.bytes(0, used)?;
            rest = Le(&rest.0[used..]);
        }
        Ok(())
    }
}
