//! `.frm` files of definitions: what MySQL 5.6 is told of a table. What it cannot be told is refused by name, never left out.
//!
//! Foreign keys, DATA DIRECTORY and the next AUTO_INCREMENT value are not in a `.frm`; InnoDB's dictionary has them. A row format that
//! goes without saying here but not there, where it is COMPACT, is said.

use crate::definition::{
    ColumnDefinition, Definition, KeyDefinition, KeyKind, KeyPart, TableOption, width_of,
};
use crate::object::ObjectBody;
use crate::partitioning::Partitioned;
use crate::trigger;
use vaquita_engine::lower::column::{ColumnDef, LATIN1_SWEDISH_CI, MType, mysql_type};
use vaquita_engine::lower::frm::{
    ColumnDefault, DeclaredFormat, Extras, Frm, FrmColumn, FrmKey, FrmKeyPart, GEOMETRIES, Unwritable, code,
    key_flags, table_options,
};
use vaquita_engine::lower::trg::ServerTrigger;
use vaquita_engine::lower::{RowFormat, collation, par};
use vaquita_engine::table::DefaultValue;
use vaquita_engine::{KEPT_VERSION, Object, ServerFile, ServerFileMaker, Table};
use vaquita_types::sql_type::NOT_FIXED;
use vaquita_types::{Kind, SqlType};

/// The version that files are written of.
const MYSQL_VERSION: u32 = 50_624;
/// Collations from here on came after MySQL 5.6.
pub const LATER_COLLATIONS: u16 = 248;
/// Length of a BLOB's column: that of its pointer.
const BLOB_LENGTH: u32 = 8;

type Result<T> = std::result::Result<T, Unwritable>;

/// The `.frm` of a table.
///
/// # Errors
/// What a server of 5.6 cannot be told of, by name.
pub fn frm_of(table: &Table) -> Result<Frm> {
    if let Some(column) = table.columns.iter().find(|column| is_old_time(&column.def)) {
        return refuse(format!("column `{}` of a type from before MySQL 5.6", column.def.name));
    }
    Definition::of(table).to_frm()
}

/// The files that a MySQL server keeps of a table: its `.frm`, and its `.par` if it is partitioned.
///
/// # Errors
/// As [`frm_of`]; a clause PARTITION BY that is not understood.
pub fn server_file(table: &Table) -> Result<ServerFile> {
    file_of(&frm_of(table)?)
}

fn file_of(frm: &Frm) -> Result<ServerFile> {
    let par = match frm.partition_clause.as_str() {
        "" => None,
        clause => {
            let partitioned =
                Partitioned::of_clause(clause).map_err(|e| Unwritable(e.message.into_owned()))?;
            Some(par::encode(&partitioned.file_parts()))
        }
    };
    Ok(ServerFile { frm: frm.encode()?, par })
}

/// Who tells the engine of them.
#[derive(Debug, Clone, Copy)]
pub struct ServerFiles;

impl ServerFileMaker for ServerFiles {
    fn make(&self, table: &Table) -> std::result::Result<ServerFile, String> {
        let of_folder = |mut frm: Frm| {
            frm.mysql_version = KEPT_VERSION;
            file_of(&frm)
        };
        frm_of(table).and_then(of_folder).map_err(|what| what.to_string())
    }

    fn make_of_view(&self, view: &Object) -> Option<Vec<u8>> {
        ObjectBody::decode(&view.body).ok()?.server_file()
    }

    fn make_of_trigger(&self, trigger: &Object) -> Option<ServerTrigger> {
        let body = ObjectBody::decode(&trigger.body).ok()?;
        trigger::is_told(&body).then(|| trigger::server_trigger(trigger, &body))
    }
}

fn is_old_time(def: &ColumnDef) -> bool {
    let old = matches!(def.mysql_type(), mysql_type::TIME | mysql_type::DATETIME | mysql_type::TIMESTAMP);
    def.mtype == MType::Int && old
}

fn refuse<T>(what: impl Into<String>) -> Result<T> {
    Err(Unwritable(what.into()))
}

impl Definition {
    /// The `.frm` that describes it.
    ///
    /// # Errors
    /// What a server of 5.6 cannot be told of, by name.
    pub fn to_frm(&self) -> Result<Frm> {
        if let Some(check) = self.checks.first() {
            return refuse(format!("CHECK constraint `{}`", check.name));
        }
        known_collation(self.collation, "the table")?;
        let shown = self.columns.iter().filter(|column| !column.hidden || column.functional);
        let columns = shown.map(|column| self.frm_column(column)).collect::<Result<Vec<_>>>()?;
        let row_format = self.declared_format();
        let number = |option| self.options.get(option).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        let fits = |option| u32::try_from(number(option)).unwrap_or(u32::MAX);
        let mut frm = Frm {
            mysql_version: MYSQL_VERSION,
            engine: if self.partitioning.is_empty() { "InnoDB" } else { "partition" }.to_owned(),
            row_format,
            key_block_size: number(TableOption::KeyBlockSize) as u16,
            collation: self.collation,
            options: self.frm_options(&columns, row_format),
            max_rows: fits(TableOption::MaxRows),
            min_rows: fits(TableOption::MinRows),
            avg_row_length: fits(TableOption::AvgRowLength),
            stats_sample_pages: number(TableOption::StatsSamplePages) as u16,
            stats_auto_recalc: match self.options.get(TableOption::StatsAutoRecalc) {
                Some("1") => 1,
                Some("0") => 2,
                _ => 0,
            },
            comment: self.comment.clone(),
            partition_clause: self.partitioning.clone(),
            columns,
            keys: Vec::new(),
            extras: Extras::default(),
        };
        frm.keys = self.keys.iter().map(|key| self.frm_key(key, &frm)).collect::<Result<Vec<_>>>()?;
        Ok(frm)
    }

    /// ROW_FORMAT as declared, or as the table has it, where a server of 5.6 would take it for another one.
    fn declared_format(&self) -> DeclaredFormat {
        match self.options.get(TableOption::RowFormat) {
            Some("FIXED") => DeclaredFormat::Fixed,
            Some("DYNAMIC") => DeclaredFormat::Dynamic,
            Some("COMPRESSED") => DeclaredFormat::Compressed,
            Some("REDUNDANT") => DeclaredFormat::Redundant,
            Some("COMPACT") => DeclaredFormat::Compact,
            _ if self.options.get(TableOption::KeyBlockSize).is_some() => DeclaredFormat::Default,
            _ => match self.row_format {
                RowFormat::Compact => DeclaredFormat::Default,
                RowFormat::Dynamic => DeclaredFormat::Dynamic,
                RowFormat::Redundant => DeclaredFormat::Redundant,
                RowFormat::Compressed => DeclaredFormat::Compressed,
            },
        }
    }

    fn frm_options(&self, columns: &[FrmColumn], row_format: DeclaredFormat) -> u16 {
        use table_options as o;
        let said = |option, value: &str, bit: u16| u16::from(self.options.get(option) == Some(value)) * bit;
        let packed = u16::from(Frm::packs_records(columns, row_format)) * o::PACK_RECORD;
        o::LONG_BLOB_POINTERS
            | packed
            | said(TableOption::PackKeys, "1", o::PACK_KEYS)
            | said(TableOption::PackKeys, "0", o::NO_PACK_KEYS)
            | said(TableOption::StatsPersistent, "1", o::STATS_PERSISTENT)
            | said(TableOption::StatsPersistent, "0", o::NO_STATS_PERSISTENT)
            | said(TableOption::Checksum, "1", o::CHECKSUM)
            | said(TableOption::DelayKeyWrite, "1", o::DELAY_KEY_WRITE)
    }

    fn frm_column(&self, column: &ColumnDefinition) -> Result<FrmColumn> {
        let name = &column.name;
        if column.functional {
            return refuse("keys of expressions");
        }
        if column.generated.is_some() {
            return refuse(format!("column `{name}`, which is generated"));
        }
        if column.invisible {
            return refuse(format!("column `{name}`, which is invisible"));
        }
        let ty = &column.ty;
        let type_code = type_code(ty).ok_or_else(|| Unwritable(format!("column `{name}` of type JSON")))?;
        let has_collation = ty.kind.is_string() || column.is_labelled() || ty.kind == Kind::Geometry;
        let collation = match ty.kind {
            _ if has_collation => ty.collation,
            // What the text of numbers and times is taken for, which nobody asks.
            kind if kind.is_temporal() => LATIN1_SWEDISH_CI,
            _ => self.collation,
        };
        known_collation(collation, name)?;
        let frm = FrmColumn {
            name: name.clone(),
            type_code,
            length: length(column),
            decimals: match ty.kind {
                Kind::Float | Kind::Double => Some(ty.decimals).filter(|&d| d != NOT_FIXED),
                Kind::Decimal => Some(ty.decimals),
                _ => None,
            },
            collation,
            nullable: ty.nullable,
            unsigned: ty.unsigned,
            zerofill: ty.zerofill && ty.kind != Kind::Year,
            auto_increment: column.auto_increment,
            on_update_now: column.on_update_now,
            geometry: geometry(column),
            labels: column.labels.clone(),
            default: ColumnDefault::None,
            comment: column.comment.clone(),
            special: 0,
            storage: 0,
        };
        let default = default_of(column, &frm)?;
        Ok(FrmColumn { default, ..frm }.completed())
    }

    fn frm_key(&self, key: &KeyDefinition, frm: &Frm) -> Result<FrmKey> {
        let name = &key.name;
        if key.invisible {
            return refuse(format!("key `{name}`, which is invisible"));
        }
        if key.parser.is_some() {
            return refuse(format!("the parser of FULLTEXT key `{name}`"));
        }
        let whole = matches!(key.kind, KeyKind::FullText | KeyKind::Spatial);
        let part = |part: &KeyPart| {
            if part.descending {
                return refuse(format!("key `{name}`, which is descending"));
            }
            let column = frm.columns.iter().position(|c| c.name == part.column);
            let column = column.ok_or_else(|| Unwritable(format!("a column of key `{name}`")))?;
            let width = self.column(&part.column).map_or(1, |at| width_of(&self.columns[at].ty));
            let length = match part.prefix {
                Some(chars) => chars * width.max(1),
                None => frm.columns[column].key_len(whole),
            };
            let length = u16::try_from(length).map_err(|_| Unwritable(format!("key `{name}`")))?;
            Ok(FrmKeyPart { column, length, descending: false })
        };
        let parts = key.parts.iter().map(part).collect::<Result<Vec<_>>>()?;
        let own_size = key.key_block_size.unwrap_or(0) as u16;
        let bit = |is: bool, bit: u16| u16::from(is) * bit;
        let mut out = FrmKey {
            name: name.clone(),
            flags: bit(!key.is_unique(), key_flags::NOT_UNIQUE)
                | bit(key.kind == KeyKind::FullText, key_flags::FULLTEXT)
                | bit(key.kind == KeyKind::Spatial, key_flags::SPATIAL)
                | bit(!key.comment.is_empty(), key_flags::HAS_COMMENT)
                | bit(key.generated, key_flags::GENERATED),
            algorithm: match key.using {
                Some("HASH") => 3,
                Some(_) => 1,
                None => 0,
            },
            block_size: if own_size == 0 { frm.key_block_size } else { own_size },
            parts,
            comment: key.comment.clone(),
        };
        out.flags |= out.derived_flags(&frm.columns, frm.options);
        Ok(out)
    }
}

fn known_collation(id: u16, whose: &str) -> Result<()> {
    if id < LATER_COLLATIONS {
        return Ok(());
    }
    let name = collation::name(id).unwrap_or("?");
    refuse(format!("collation {name} of {whose}"))
}

fn type_code(ty: &SqlType) -> Option<u8> {
    Some(match ty.kind {
        Kind::Null | Kind::Json => return None,
        Kind::TinyInt => code::TINY,
        Kind::SmallInt => code::SHORT,
        Kind::MediumInt => code::INT24,
        Kind::Int => code::LONG,
        Kind::BigInt => code::LONGLONG,
        Kind::Decimal => code::NEWDECIMAL,
        Kind::Float => code::FLOAT,
        Kind::Double => code::DOUBLE,
        Kind::Bit => code::BIT,
        Kind::Year => code::YEAR,
        Kind::Date => code::DATE,
        Kind::Time => code::TIME,
        Kind::DateTime => code::DATETIME,
        Kind::Timestamp => code::TIMESTAMP,
        Kind::Char => code::STRING,
        Kind::VarChar => code::VARCHAR,
        Kind::TinyText => code::TINY_BLOB,
        Kind::Text => code::BLOB,
        Kind::MediumText => code::MEDIUM_BLOB,
        Kind::LongText => code::LONG_BLOB,
        Kind::Enum => code::ENUM,
        Kind::Set => code::SET,
        Kind::Geometry => code::GEOMETRY,
    })
}

/// Bytes of text, display width of the rest.
fn length(column: &ColumnDefinition) -> u32 {
    let ty = &column.ty;
    let point = u32::from(ty.decimals > 0);
    let fraction = point + u32::from(ty.decimals);
    let chars = || column.labels.iter().map(|label| label.chars().count() as u32);
    match ty.kind {
        Kind::Decimal => ty.length + point + u32::from(!ty.unsigned),
        Kind::Date => 10,
        Kind::Time => 10 + fraction,
        Kind::DateTime | Kind::Timestamp => 19 + fraction,
        Kind::Char | Kind::VarChar => ty.length * width_of(ty),
        Kind::Enum => chars().max().unwrap_or(0) * width_of(ty),
        Kind::Set => (chars().sum::<u32>() + (column.labels.len() as u32).saturating_sub(1)) * width_of(ty),
        kind if kind.is_blob() => BLOB_LENGTH,
        _ => ty.length,
    }
}

fn geometry(column: &ColumnDefinition) -> u8 {
    let declared = column.declared();
    let found = GEOMETRIES.iter().position(|name| name.eq_ignore_ascii_case(&declared));
    found.filter(|_| column.ty.kind == Kind::Geometry).unwrap_or(0) as u8
}

fn default_of(column: &ColumnDefinition, frm: &FrmColumn) -> Result<ColumnDefault> {
    let refused = || refuse(format!("the DEFAULT of column `{}`", column.name));
    let long = column.ty.kind.is_blob();
    Ok(match &column.default {
        DefaultValue::Text(_) => return refused(),
        DefaultValue::Now => ColumnDefault::Now,
        // There is none to be said.
        _ if long && column.ty.nullable => ColumnDefault::Null,
        DefaultValue::Stored(value) if long && !value.is_empty() => return refused(),
        DefaultValue::Stored(_) if long => ColumnDefault::None,
        DefaultValue::None => ColumnDefault::None,
        DefaultValue::Null if !column.ty.nullable => ColumnDefault::None,
        DefaultValue::Null => ColumnDefault::Null,
        DefaultValue::Stored(value) => match frm.row_default(value) {
            Some(row) => ColumnDefault::Row(row),
            None => return refused(),
        },
    })
}
