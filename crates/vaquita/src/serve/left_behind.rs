//! What a folder that is taken over from another server has that does not come along: tables of other engines, and the routines,
//! events and accounts that the server keeps in such tables.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::Path;

/// Most names that a line tells.
const NAMES_MAX: usize = 20;

/// Where the number of rows stands in a `.MYI` file: eight bytes, the highest first.
const ROWS_AT: usize = 28;

/// The file's type in a `.frm`, by which its engine is known.
const MEMORY: u8 = 6;

/// Lines for the log: how many there are of each kind, and which.
pub(super) fn lines(dir: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let system = dir.join("mysql");
    for (table, what, way) in [
        ("user", "accounts", "CREATE USER and GRANT"),
        ("proc", "procedures and functions", "CREATE PROCEDURE and CREATE FUNCTION"),
        ("event", "events", "CREATE EVENT"),
    ] {
        if let Some(rows) = rows_of(&system.join(format!("{table}.MYI"))).filter(|&rows| rows > 0) {
            lines.push(format!(
                "{rows} {what} stay behind in mysql.{table}, a MyISAM table: take their statements from the other server (mysqldump, \
                 SHOW CREATE, SHOW GRANTS), and make them here by {way}"
            ));
        }
    }
    for (engine, mut tables) in tables_of_others(dir) {
        tables.sort();
        let count = tables.len();
        let more = count.saturating_sub(NAMES_MAX);
        tables.truncate(NAMES_MAX);
        let more = if more == 0 { String::new() } else { format!(" and {more} others") };
        let noun = if count == 1 { "table stays" } else { "tables stay" };
        lines.push(format!(
            "{count} {engine} {noun} behind, which InnoDB cannot read: {}{more}. ALTER TABLE .. ENGINE=InnoDB on the other server \
             brings them along",
            tables.join(", ")
        ));
    }
    lines
}

fn rows_of(index: &Path) -> Option<u64> {
    let bytes = fs::read(index).ok()?;
    let rows = bytes.get(ROWS_AT..ROWS_AT + 8)?;
    Some(rows.iter().fold(0, |rows, &byte| rows << 8 | u64::from(byte)))
}

/// Tables that are not InnoDB's, by their engines; those of the server itself are none.
fn tables_of_others(dir: &Path) -> Vec<(&'static str, Vec<String>)> {
    let mut found: Vec<(&'static str, Vec<String>)> = Vec::new();
    let databases = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    for database in databases.filter(|entry| entry.path().is_dir()) {
        let in_database = database.file_name().to_string_lossy().into_owned();
        if matches!(in_database.as_str(), "mysql" | "performance_schema" | "sys") {
            continue;
        }
        let files = Files::of(&database.path());
        for stem in &files.definitions {
            let path = database.path().join(format!("{stem}.frm"));
            let Some(engine) = files.engine_of(stem, &path) else { continue };
            let (database, table) = vaquita_catalog::sql_name(&format!("{in_database}/{stem}"));
            let name = format!("{database}.{table}");
            match found.iter_mut().find(|(known, _)| *known == engine) {
                Some((_, tables)) => tables.push(name),
                None => found.push((engine, vec![name])),
            }
        }
    }
    found.sort();
    found
}

/// The files of a database, listed once.
#[derive(Default)]
struct Files {
    /// Names of the `.frm` files, without the ending.
    definitions: Vec<String>,
    /// Endings of other files, with the names of the tables they belong to.
    of_tables: HashSet<(String, String)>,
}

impl Files {
    fn of(folder: &Path) -> Files {
        let mut files = Files::default();
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some((stem, ending)) = name.rsplit_once('.') else { continue };
            if ending == "frm" {
                files.definitions.push(stem.to_owned());
                continue;
            }
            // Partitions have their files under longer names; some servers write the mark in small letters.
            let table = stem.find("#P#").or_else(|| stem.find("#p#")).map_or(stem, |at| &stem[..at]);
            files.of_tables.insert((ending.to_owned(), table.to_owned()));
        }
        files
    }

    fn has(&self, stem: &str, ending: &str) -> bool {
        self.of_tables.contains(&(ending.to_owned(), stem.to_owned()))
    }

    /// The engine of the table of a `.frm` file, by the files beside it; `None`: InnoDB, or a view.
    fn engine_of(&self, stem: &str, frm: &Path) -> Option<&'static str> {
        if self.has(stem, "ibd") || self.has(stem, "isl") {
            return None;
        }
        let mut head = [0; 4];
        fs::File::open(frm).and_then(|mut file| file.read_exact(&mut head)).ok()?;
        if !head.starts_with(&[0xfe, 0x01]) {
            return None;
        }
        let by_file =
            [("MYD", "MyISAM"), ("MAD", "Aria"), ("ARZ", "ARCHIVE"), ("CSV", "CSV"), ("MRG", "MERGE")];
        if let Some((_, engine)) = by_file.iter().find(|(ending, _)| self.has(stem, ending)) {
            return Some(engine);
        }
        (head[3] == MEMORY).then_some("MEMORY")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_behind_is_counted_and_named() {
        let dir = std::env::temp_dir().join(format!("vaquita-behind-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        let put = |name: &str, bytes: &[u8]| {
            let path = dir.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, bytes).expect("a file");
        };
        let index = |rows: u8| [&[0; ROWS_AT + 7][..], &[rows], &[0; 40]].concat();
        let frm = |engine: u8| [0xfe, 1, 9, engine, 0, 0];
        put("mysql/user.MYI", &index(5));
        put("mysql/proc.MYI", &index(2));
        put("mysql/event.MYI", &index(0));
        put("mysql/user.frm", &frm(9));
        put("mysql/user.MYD", b"");
        put("performance_schema/x.frm", &frm(17));
        for (name, engine, files) in [
            ("inno", 12, &["inno.ibd"][..]),
            ("parted", 12, &["parted#P#p0.ibd"]),
            ("isam", 9, &["isam.MYD", "isam.MYI"]),
            ("isam@002d2", 9, &["isam@002d2.MYD"]),
            ("parted_isam", 20, &["parted_isam#P#p0.MYD"]),
            ("heap", MEMORY, &[]),
            ("lists", 17, &["lists.CSV"]),
        ] {
            put(&format!("shop/{name}.frm"), &frm(engine));
            files.iter().for_each(|file| put(&format!("shop/{file}"), b""));
        }
        put("shop/seen.frm", b"TYPE=VIEW\n");
        let lines = lines(&dir);
        fs::remove_dir_all(&dir).expect("it is there");
        let starts = [
            "5 accounts stay behind in mysql.user",
            "2 procedures and functions stay behind in mysql.proc",
            "1 CSV table stays behind, which InnoDB cannot read: shop.lists.",
            "1 MEMORY table stays behind, which InnoDB cannot read: shop.heap.",
            "3 MyISAM tables stay behind, which InnoDB cannot read: shop.isam, shop.isam-2, shop.parted_isam.",
        ];
        assert_eq!(lines.len(), starts.len(), "{lines:#?}");
        for (line, start) in lines.iter().zip(starts) {
            assert!(line.starts_with(start), "{line}");
        }
    }
}
