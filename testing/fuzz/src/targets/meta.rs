//! Files beside the tablespace: `.cfg`, `.frm` and `.par`; values as text.

use vaquita_base::ids::IndexId;
use vaquita_catalog::frm::show_create_frm;
use vaquita_format::PageSize;
use vaquita_format::cfg::TableMeta;
use vaquita_format::column::{ColumnDef, MType};
use vaquita_format::frm::Frm;
use vaquita_format::frm_view::FrmView;
use vaquita_format::index_def::RowFormat;
use vaquita_format::par;
use vaquita_format::text::TextType;
use vaquita_format::value::ValueType;

use crate::seeds;

/// What parses writes back to a file that parses to the same.
pub(super) fn cfg(data: &[u8]) {
    let Ok(table) = TableMeta::parse(data) else { return };
    let _ = (table.row_format(), table.page_size(), table.index_defs(), table.user_columns().count());
    let again = TableMeta::parse(&table.write()).expect("what was parsed can be written");
    assert_eq!(again, table);
}

pub(super) fn cfg_seeds() -> Vec<Vec<u8>> {
    seeds::whole("cfg", 16384)
}

/// What parses can be shown and turned into a table; what can be written is a file that parses.
pub(super) fn frm(data: &[u8]) {
    let Ok(frm) = Frm::parse(data) else { return };
    let _ = show_create_frm(&frm, "t", 7);
    for format in [RowFormat::Redundant, RowFormat::Compact, RowFormat::Dynamic, frm.default_row_format()] {
        let _ = frm.table_def(PageSize::DEFAULT, format, &[IndexId(1)]);
    }
    if let Ok(written) = frm.encode() {
        Frm::parse(&written).expect("what was written parses");
    }
}

/// What parses is written as it was.
pub(super) fn par(data: &[u8]) {
    let Ok(names) = par::parse(data) else { return };
    let again = par::parse(&par::encode(&names)).expect("what was written parses");
    assert_eq!(again, names);
}

pub(super) fn par_seeds() -> Vec<Vec<u8>> {
    vec![par::encode(&["p0".to_owned(), "p1#SP#s0".to_owned(), "p1#SP#s1".to_owned()]), par::encode(&[])]
}

/// A view's file as text, and with what a real one has before it.
pub(super) fn frm_view(data: &[u8]) {
    let _ = FrmView::parse(data);
    let _ = FrmView::parse(&[b"TYPE=VIEW\nquery=".as_slice(), data].concat());
}

pub(super) fn frm_view_seeds() -> Vec<Vec<u8>> {
    vec![
        b"TYPE=VIEW\nquery=select `d`.`t`.`a` AS `a`,\\'x\\\\\\'\\n\\' AS `s` from `d`.`t`\nmd5=0\nupdatable=1\n\
          algorithm=2\ndefiner_user=root\ndefiner_host=%\nsuid=0\nwith_check_option=1\n\
          timestamp=2026-11-25 07:17:24\nclient_cs_name=utf8\nconnection_cl_name=utf8_general_ci\n"
            .to_vec(),
    ]
}

pub(super) fn frm_seeds() -> Vec<Vec<u8>> {
    seeds::whole("frm", 32768)
}

/// Stored values of every type, by the dictionary's description of a column.
pub(super) fn text(data: &[u8]) {
    let Some((head, value)) = data.split_first_chunk::<8>() else { return };
    let prtype = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    let mut out = String::new();
    if let Ok(mtype) = MType::from_code(u32::from(head[4])) {
        let column = ColumnDef::new("c", mtype, prtype, u32::from(head[5]));
        show(&TextType::of_column(&column), value, &mut out);
    }
    let width = usize::from(head[6] % 70);
    let labels: Vec<String> = (0..head[7] % 70).map(|n| n.to_string()).collect();
    let scale = u32::from(head[7] % 31);
    let types = [
        TextType::Int { unsigned: head[0] & 1 == 0, zerofill: (head[0] & 2 == 0).then_some(width) },
        TextType::Real { decimals: (head[0] & 1 == 0).then_some(width % 31), zerofill: Some(width) },
        TextType::Decimal { precision: (width as u32).max(scale).clamp(1, 65), scale, zerofill: None },
        TextType::Bit,
        TextType::Year,
        TextType::Date,
        TextType::Time(width % 7),
        TextType::DateTime(width % 7),
        TextType::Timestamp(width % 7),
        TextType::OldTime,
        TextType::OldDateTime,
        TextType::Enum(labels.clone()),
        TextType::Set(labels),
        TextType::Bytes,
    ];
    for kind in &types {
        out.clear();
        show(kind, value, &mut out);
    }
}

/// Values of the types a column may have: what decodes and can be encoded decodes to the same again.
pub(super) fn values(data: &[u8]) {
    let Some((head, stored)) = data.split_first_chunk::<8>() else { return };
    let prtype = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    let Ok(mtype) = MType::from_code(u32::from(head[4])) else { return };
    let column = ColumnDef::new("c", mtype, prtype, u32::from(head[5]));
    let formats = [RowFormat::Redundant, RowFormat::Compact];
    let decimals = [None, Some((u32::from(head[6]), u32::from(head[7])))];
    for (format, decimal) in formats.into_iter().zip(decimals) {
        let Ok(kind) = ValueType::of_column(&column, format, decimal) else { continue };
        let Ok(value) = kind.decode(Some(stored)) else { continue };
        let mut again = Vec::new();
        if kind.encode(&value, &mut again).is_ok() {
            let second = kind.decode(Some(&again)).expect("encoded values decode");
            // NaN is not equal to itself.
            assert_eq!(format!("{second:?}"), format!("{value:?}"), "{kind:?}");
        }
    }
}

fn show(kind: &TextType, value: &[u8], out: &mut String) {
    let _ = (kind.is_number(), kind.is_hex());
    if kind.write(value, out).is_ok() && *kind == TextType::Bytes {
        assert_eq!(out.len(), value.len() * 2);
    }
}

pub(super) fn text_seeds() -> Vec<Vec<u8>> {
    (0..24u8)
        .flat_map(|kind| {
            [1usize, 2, 3, 4, 5, 8, 12].map(|len| {
                let head = [kind * 11, 0, 33, 0, kind % 15, len as u8, kind * 3, kind];
                [head.as_slice(), &vec![0x80 | kind; len]].concat()
            })
        })
        .collect()
}
