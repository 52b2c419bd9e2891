//! What tables should hold: rows in a list, unique keys compared one by one.

use crate::rows::bed::Row;
use vaquita_engine::RowKey;
use vaquita_engine::ddl::TableSpec;
use vaquita_format::column::ColumnDef;
use vaquita_format::index_def::KeyPart;

/// A row, and whose change to it is not committed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelRow {
    pub(crate) key: RowKey,
    pub(crate) values: Row,
}

#[derive(Debug)]
enum Undo {
    Inserted(RowKey),
    Replaced(RowKey, ModelRow),
    Removed(ModelRow),
}

/// What one transaction did, newest last.
#[derive(Debug, Default)]
pub(crate) struct Changes(Vec<(usize, Undo)>);

impl Changes {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[derive(Debug)]
pub(crate) struct ModelTable {
    columns: Vec<ColumnDef>,
    keys: Vec<Vec<KeyPart>>,
    pub(crate) rows: Vec<ModelRow>,
}

#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) tables: Vec<ModelTable>,
}

/// A value as keys compare it: of utf8 and latin1 text without case, accents of our alphabet, trailing spaces.
fn folded(column: &ColumnDef, prefix: u32, value: &[u8]) -> Vec<u8> {
    let is_text = column.collation_id() != 63 && column.mbmaxlen > 0 && !column.is_binary();
    if !is_text {
        return value[..if prefix == 0 { value.len() } else { value.len().min(prefix as usize) }].to_vec();
    }
    let text = String::from_utf8(value.to_vec()).unwrap();
    let chars = if prefix == 0 { usize::MAX } else { prefix as usize / usize::from(column.mbmaxlen) };
    let text: String = text.chars().take(chars).collect();
    let fold = |c: char| match c {
        'é' | 'É' => 'e',
        c => c.to_ascii_lowercase(),
    };
    text.trim_end_matches(' ').chars().map(fold).collect::<String>().into_bytes()
}

impl ModelTable {
    fn key_of(&self, parts: &[KeyPart], row: &Row) -> Option<Vec<Vec<u8>>> {
        parts
            .iter()
            .map(|p| row[p.column].as_deref().map(|v| folded(&self.columns[p.column], p.prefix_len, v)))
            .collect()
    }

    /// A row other than `except` that has a unique key of `row`.
    pub(crate) fn conflict(&self, row: &Row, except: Option<&RowKey>) -> Option<&ModelRow> {
        self.rows.iter().filter(|r| Some(&r.key) != except).find(|r| {
            self.keys.iter().any(|parts| {
                let key = self.key_of(parts, row);
                key.is_some() && key == self.key_of(parts, &r.values)
            })
        })
    }

    fn at(&self, key: &RowKey) -> usize {
        self.rows.iter().position(|r| &r.key == key).expect("the model has the row")
    }
}

impl Model {
    pub(crate) fn add(&mut self, spec: &TableSpec) {
        let mut keys: Vec<Vec<KeyPart>> = spec.primary_key.iter().cloned().collect();
        keys.extend(spec.indexes.iter().filter(|i| i.unique).map(|i| i.parts.clone()));
        let columns = spec.columns.iter().map(|c| c.def.clone()).collect();
        self.tables.push(ModelTable { columns, keys, rows: Vec::new() });
    }

    pub(crate) fn insert(&mut self, changes: &mut Changes, table: usize, key: RowKey, values: Row) {
        changes.0.push((table, Undo::Inserted(key.clone())));
        self.tables[table].rows.push(ModelRow { key, values });
    }

    pub(crate) fn update(&mut self, changes: &mut Changes, table: usize, key: &RowKey, new: ModelRow) {
        let rows = &mut self.tables[table];
        let at = rows.at(key);
        let new_key = new.key.clone();
        let old = std::mem::replace(&mut rows.rows[at], new);
        changes.0.push((table, Undo::Replaced(new_key, old)));
    }

    pub(crate) fn delete(&mut self, changes: &mut Changes, table: usize, key: &RowKey) {
        let rows = &mut self.tables[table];
        let row = rows.rows.remove(rows.at(key));
        changes.0.push((table, Undo::Removed(row)));
    }

    /// Takes back all but the first `keep` changes.
    pub(crate) fn roll_back(&mut self, changes: &mut Changes, keep: usize) {
        for (table, undo) in changes.0.drain(keep..).rev() {
            let table = &mut self.tables[table];
            match undo {
                Undo::Inserted(key) => {
                    table.rows.remove(table.at(&key));
                }
                Undo::Replaced(key, old) => {
                    let at = table.at(&key);
                    table.rows[at] = old;
                }
                Undo::Removed(row) => table.rows.push(row),
            }
        }
    }
}
