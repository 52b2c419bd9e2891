//! The dictionary against the files of a folder, and foreign keys against tables.
//!
//! | rule | |
//! |---|---|
//! | a table with a tablespace of its own has its file, with that tablespace in it | but if it is discarded or temporary |
//! | a file has its table | |
//! | no two tables share a tablespace of their own | |
//! | SYS_TABLESPACES and SYS_DATAFILES have rows for those tables and no others, with name and path | in both or in neither |
//! | the flags in SYS_TABLESPACES are those in the file | |
//! | ids of tables, indexes and tablespaces are not above the last ones given | |
//! | indexes lie in the tablespace of their table; columns, indexes and fields belong to something | |
//! | a foreign key names a table, its columns, and columns of the referenced table | which may be missing: a note |
//!
//! # What a crash leaves
//! Making, renaming and removing files is not atomic with the change of the dictionary: a folder that was not shut down
//! cleanly, or in which a transaction that changes the dictionary is active, may have a file too many or too few until
//! it was opened again. Then these are notes. They stay notes in a folder at rest where they are about a table that ALTER TABLE
//! fills or has emptied (its name begins with `#sql`): MySQL leaves those behind when it is killed, and never looks at them
//! again; nobody's rows are in them alone.

use std::collections::BTreeMap;

use vaquita_base::SpaceId;
use vaquita_format::Corruption;
use vaquita_format::filename::is_intermediate;

use crate::workshop::catalog::{Catalog, CatalogTable, ForeignKey};
use crate::workshop::report::Report;

/// The bit of the flags that says where the file lies: not the same everywhere after an import.
const DATA_DIR: u32 = 1 << 10;

/// A tablespace file.
#[derive(Debug, Clone)]
pub struct FoundFile {
    /// `db/table`, from its path.
    pub name: String,
    /// Its path, for people.
    pub shown: String,
    /// The tablespace in it; `None` if it is too damaged to say.
    pub space: Option<SpaceId>,
    /// Flags of the tablespace.
    pub flags: Option<u32>,
}

/// Checks the dictionary's files. `settled`: no crash or transaction explains a file too many or too few.
pub fn check_files(catalog: &Catalog, files: &[FoundFile], settled: bool, report: &mut Report) {
    let by_name: BTreeMap<&str, &FoundFile> = files.iter().map(|f| (f.name.as_str(), f)).collect();
    let mut check = FilesCheck { catalog, files, by_name, settled, report };
    let mut owners: BTreeMap<SpaceId, &str> = BTreeMap::new();
    for table in &catalog.tables {
        check.index_spaces(table);
        check.columns(table);
        check.ids(table);
        if table.space == SpaceId::SYSTEM {
            continue;
        }
        if let Some(other) = owners.insert(table.space, &table.name) {
            let detail = format!("{} and {other} have the same, {}", table.name, table.space);
            check.report.whole(Corruption::new("tablespace of a table", detail));
        }
        if !table.temporary && !table.discarded {
            check.file_of(table);
        }
        check.described(table);
    }
    if catalog.max_index > catalog.last_ids.1 {
        let detail = format!("{} is in use, the last one given is {}", catalog.max_index, catalog.last_ids.1);
        check.fault("index id", detail);
    }
    for detail in &catalog.leftovers {
        check.file_fault("dictionary", detail.clone());
    }
    check.orphans(&owners);
    check.rows_without_table(&owners);
    for key in &catalog.foreign {
        check.foreign_key(key);
    }
    for id in catalog.foreign_columns.keys() {
        if !catalog.foreign.iter().any(|key| key.id == *id) {
            let detail = format!("{id} is in SYS_FOREIGN_COLS, but not in SYS_FOREIGN");
            check.report.whole(Corruption::new("foreign key", detail));
        }
    }
}

struct FilesCheck<'a> {
    catalog: &'a Catalog,
    files: &'a [FoundFile],
    by_name: BTreeMap<&'a str, &'a FoundFile>,
    settled: bool,
    report: &'a mut Report,
}

impl FilesCheck<'_> {
    fn fault(&mut self, check: &'static str, detail: String) {
        self.report.whole(Corruption::new(check, detail));
    }

    /// A file or a row too many or too few.
    fn file_fault(&mut self, check: &'static str, detail: String) {
        if self.settled {
            self.fault(check, detail);
        } else {
            self.report.remark(format!("{check}: {detail}"));
        }
    }

    /// The same, of what belongs to the table `name`.
    fn table_fault(&mut self, name: &str, check: &'static str, detail: String) {
        if is_intermediate(name) {
            self.report.remark(format!("{check}: {detail}; left by an ALTER TABLE that a crash ended"));
        } else {
            self.file_fault(check, detail);
        }
    }

    /// Ids are given once, in order; the dictionary header has the last ones.
    fn ids(&mut self, table: &CatalogTable) {
        let (last_table, _, last_space) = self.catalog.last_ids;
        if table.id > last_table {
            let detail = format!("{} has {}, the last one given is {last_table}", table.name, table.id);
            self.fault("table id", detail);
        }
        if table.space > last_space && !table.discarded {
            let detail = format!("{} has {}, the last one given is {last_space}", table.name, table.space);
            self.fault("tablespace id", detail);
        }
    }

    fn columns(&mut self, table: &CatalogTable) {
        let found = self.catalog.columns.get(&table.id).map_or(0, Vec::len);
        if found != table.n_columns {
            let detail = format!("{} has {} columns, SYS_COLUMNS has {found}", table.name, table.n_columns);
            self.file_fault("columns of a table", detail);
        }
    }

    fn index_spaces(&mut self, table: &CatalogTable) {
        let indexes = self.catalog.index_spaces.get(&table.id);
        if table.discarded || table.temporary {
            return;
        }
        let other = indexes.into_iter().flatten().find(|(_, space)| *space != table.space);
        if let Some((index, space)) = other {
            let detail = format!("{}: {index} is in {space}, the table in {}", table.name, table.space);
            self.fault("tablespace of an index", detail);
        }
    }

    /// The file of a table and the tablespace in it.
    fn file_of(&mut self, table: &CatalogTable) {
        let Some(&file) = self.by_name.get(table.name.as_str()) else {
            let elsewhere = self.files.iter().find(|f| f.space == Some(table.space));
            let detail = match elsewhere {
                Some(other) => {
                    format!("{} has none; its tablespace {} is in {}", table.name, table.space, other.shown)
                }
                None => format!("{} has none for its tablespace {}", table.name, table.space),
            };
            return self.table_fault(&table.name, "file of a table", detail);
        };
        match file.space {
            Some(space) if space != table.space => {
                let detail =
                    format!("{}: {} holds tablespace {space}, not {}", table.name, file.shown, table.space);
                self.file_fault("file of a table", detail);
            }
            _ => self.flags(table, file),
        }
    }

    fn flags(&mut self, table: &CatalogTable, file: &FoundFile) {
        let known = self.catalog.tablespaces.get(&table.space);
        if let (Some((_, known)), Some(flags)) = (known, file.flags)
            && (known ^ flags) & !DATA_DIR != 0
        {
            let detail = format!("{}: {known:#x} in SYS_TABLESPACES, {flags:#x} in its file", table.name);
            self.fault("flags of a tablespace", detail);
        }
    }

    /// SYS_TABLESPACES and SYS_DATAFILES.
    fn described(&mut self, table: &CatalogTable) {
        let CatalogTable { name, space, .. } = table;
        if !self.catalog.tablespaces.contains_key(space) && !self.catalog.datafiles.contains_key(space) {
            // The server makes the FULLTEXT tables of a whole table without them, and versions before 5.6 had none.
            if !name.contains("/FTS_") {
                let detail = format!("{name}: {space} is in neither SYS_TABLESPACES nor SYS_DATAFILES");
                self.report.remark(detail);
            }
            return;
        }
        match self.catalog.tablespaces.get(space) {
            Some((known, _)) if known == name => {}
            Some((known, _)) => {
                let detail = format!("SYS_TABLESPACES says {known} of tablespace {space}, it is of {name}");
                self.fault("name of a tablespace", detail);
            }
            None => self.fault("tablespace of a table", format!("{name}: {space} is not in SYS_TABLESPACES")),
        }
        match self.catalog.datafiles.get(space) {
            Some(path) if table.temporary || path_is_of(path, name) => {}
            Some(path) => {
                // MySQL 5.6 leaves the old path when a table moves to another database, and finds it by its name.
                self.report
                    .remark(format!("SYS_DATAFILES says {path} of tablespace {space}, it is of {name}"));
            }
            None => self.fault("tablespace of a table", format!("{name}: {space} is not in SYS_DATAFILES")),
        }
    }

    fn orphans(&mut self, owners: &BTreeMap<SpaceId, &str>) {
        for file in self.files {
            let owned = self.catalog.table(&file.name).is_some_and(|t| t.space != SpaceId::SYSTEM);
            // Told with the table that lacks its file.
            let owner = file.space.and_then(|space| owners.get(&space));
            let moved = owner.is_some_and(|name| !self.by_name.contains_key(name));
            if !owned && !moved {
                let space = file.space.map_or(String::new(), |s| format!(" (tablespace {s})"));
                let detail = format!("{}{space}: no table of the dictionary has it", file.shown);
                self.table_fault(&file.name, "orphan file", detail);
            }
        }
    }

    fn rows_without_table(&mut self, owners: &BTreeMap<SpaceId, &str>) {
        let catalog = self.catalog;
        for (space, (name, _)) in catalog.tablespaces.iter().filter(|(space, _)| !owners.contains_key(space))
        {
            let detail = format!("SYS_TABLESPACES has {space}, {name}: no table is in it");
            self.fault("tablespace without a table", detail);
        }
        for (space, path) in catalog.datafiles.iter().filter(|(space, _)| !owners.contains_key(space)) {
            let detail = format!("SYS_DATAFILES has {space}, {path}: no table is in it");
            self.fault("tablespace without a table", detail);
        }
    }

    fn foreign_key(&mut self, key: &ForeignKey) {
        let catalog = self.catalog;
        let columns = catalog.foreign_columns.get(&key.id).map(Vec::as_slice).unwrap_or_default();
        if columns.len() != key.n_columns || columns.is_empty() {
            let detail =
                format!("{}: {} columns, SYS_FOREIGN_COLS has {}", key.id, key.n_columns, columns.len());
            self.fault("foreign key", detail);
        }
        match catalog.table(&key.table) {
            Some(table) => {
                let missing = columns.iter().find(|(own, _)| !has_column(catalog, table, own));
                if let Some((own, _)) = missing {
                    self.fault("foreign key", format!("{}: {} has no column {own}", key.id, key.table));
                }
            }
            None => self.fault("foreign key", format!("{}: there is no table {}", key.id, key.table)),
        }
        match catalog.table(&key.referenced) {
            Some(table) => {
                let missing = columns.iter().find(|(_, other)| !has_column(catalog, table, other));
                if let Some((_, other)) = missing {
                    self.fault(
                        "foreign key",
                        format!("{}: {} has no column {other}", key.id, key.referenced),
                    );
                }
            }
            // foreign_key_checks=0 allows it.
            None => {
                self.report.remark(format!("foreign key {}: there is no table {}", key.id, key.referenced));
            }
        }
    }
}

fn has_column(catalog: &Catalog, table: &CatalogTable, name: &str) -> bool {
    let columns = catalog.columns.get(&table.id);
    columns.into_iter().flatten().any(|c| c.to_lowercase() == name.to_lowercase())
}

/// Whether a path ends as that of the table does: `.../db/table.ibd`.
fn path_is_of(path: &str, name: &str) -> bool {
    let path = path.strip_suffix(".ibd").unwrap_or_default();
    path.strip_suffix(name).is_some_and(|front| front.is_empty() || front.ends_with('/'))
}
