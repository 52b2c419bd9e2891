//! `vaquita import` and IMPORT TABLE: tables made of files that a real MySQL 5.6.24 wrote.

#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::{Scratch, fixture, fixture_dir, table_of, tablespaces, vaquita};
use std::path::{Path, PathBuf};
use vaquita::Database;
use vaquita_peers::{Mysql56, Options};

/// A data folder with nothing in it.
fn folder(scratch: &Scratch) -> PathBuf {
    let dir = scratch.0.join("data");
    Database::open(&dir).unwrap().close().unwrap();
    dir
}

/// What a query says, a line for each row.
fn answer(dir: &Path, query: &str) -> String {
    let (code, out, err) = vaquita(&[&"sql", &dir, &"-e", &query]);
    assert_eq!((code, &*err), (0, ""), "{query}");
    out.split_once('\n').map_or(out.clone(), |(_, rows)| rows.to_owned())
}

fn is_sound(dir: &Path) {
    let (code, out, err) = vaquita(&[&"check", &dir]);
    assert_eq!((code, &*err), (0, ""), "{out}");
}

/// Files of a folder and what is in them.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|path| path.is_file());
    all.sort();
    all.into_iter().map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

/// The corpus, which can be imported but for compressed pages and partitions; each row is as the server shows it.
#[test]
fn the_corpus_is_imported_as_it_is() {
    let scratch = Scratch::new("import-corpus");
    let dir = folder(&scratch);
    let mut imported = 0;
    for ibd in tablespaces() {
        let (code, out, err) = vaquita(&[&"import", &dir, &ibd, &"--database", &"corpus"]);
        let stem = ibd.file_stem().unwrap().to_str().unwrap();
        let refused = match stem {
            s if s.contains("#P#") => Some("which is a partition"),
            s if s.contains("zip") => Some("its pages are compressed"),
            _ => None,
        };
        if let Some(why) = refused {
            assert!(code != 0 && out.is_empty() && err.contains(why), "{stem}: {code} {err}");
            continue;
        }
        assert_eq!((code, &*err), (0, ""), "{stem}");
        imported += 1;
        // The new file by the old description: its trees are where they were.
        let new = dir.join("corpus").join(format!("{stem}.ibd"));
        let beside = |extension: &str| {
            let beside = ibd.with_extension(extension);
            if beside.exists() {
                beside
            } else {
                fixture_dir().join(format!("{}.{extension}", table_of(&ibd)))
            }
        };
        let rows = |file: &Path| {
            let done = vaquita(&[&"dump", &file, &"--cfg", &beside("cfg"), &"--frm", &beside("frm")]);
            assert_eq!((done.0, &*done.2), (0, ""), "{file:?}");
            done.1
        };
        assert_eq!(rows(&new), rows(&ibd), "{stem}");
    }
    assert_eq!(imported, 19);
    is_sound(&dir);
    // Words are found again.
    let found =
        "select group_concat(id order by id) from corpus.fts where match (title, body) against ('database')";
    assert_eq!(answer(&dir, found), "1\n");
    // Names, defaults and numbers are those of the server.
    let shown = answer(&dir, "show create table corpus.`defaults é-1`");
    let (_, create) = shown.split_once('\t').unwrap();
    let expected = std::fs::read_to_string(fixture("defaults_e_1.create.sql")).unwrap();
    assert_eq!(create.trim_end().replace("\\n", "\n"), expected.trim_end().trim_end_matches(';'));
    assert_eq!(answer(&dir, "select count(*) from corpus.tree"), "4800\n");
}

/// What a `.cfg` does not tell is said by name, and nothing is made; a `.frm` or a CREATE TABLE tells it.
#[test]
fn what_nothing_tells_is_said() {
    let scratch = Scratch::new("import-told");
    let dir = folder(&scratch);
    let from = scratch.0.join("from");
    std::fs::create_dir(&from).unwrap();
    let ibd = from.join("types_compact.ibd");
    std::fs::copy(fixture("types_compact.ibd"), &ibd).unwrap();
    let run = |more: &[&str]| {
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"import", &dir, &ibd, &"--database", &"t"];
        args.extend(more.iter().map(|a| a as &dyn AsRef<std::ffi::OsStr>));
        vaquita(&args)
    };
    let (code, out, err) = run(&[]);
    assert_eq!((code, &*out), (2, ""));
    assert!(err.contains("nothing says what its table is"), "{err}");
    std::fs::copy(fixture("types_compact.cfg"), from.join("types_compact.cfg")).unwrap();
    let (code, out, err) = run(&[]);
    assert_eq!((code, &*out), (2, ""));
    assert!(
        err.contains("does not say")
            && err.contains("the labels of column")
            && err.contains("the digits of column"),
        "{err}"
    );
    assert_eq!(answer(&dir, "show tables from t"), "");
    // Text beside it, with other statements around it.
    let create = std::fs::read_to_string(fixture("types_compact.create.sql")).unwrap();
    let script = format!(
        "DROP TABLE IF EXISTS x;\n/*!40101 SET NAMES utf8 */;\n{};\n",
        create.trim_end().trim_end_matches(';')
    );
    let sql = scratch.put("all.sql", script.as_bytes());
    let (code, out, err) = run(&["--sql", sql.to_str().unwrap()]);
    assert_eq!((code, &*err), (0, ""));
    assert!(out.contains("Table 't.types_compact' has 4 rows"), "{out}");
    let shown = answer(&dir, "show create table t.types_compact");
    let create_here = shown.split_once('\t').unwrap().1.trim_end().replace("\\n", "\n");
    assert_eq!(create_here, create.trim_end().trim_end_matches(';'));
    // Once more: the name is taken.
    let (code, _, err) = run(&["--sql", sql.to_str().unwrap()]);
    assert!(code == 2 && err.contains("already exists"), "{code}: {err}");
    // A single statement is for a single file of any name, and for none of several that has another one.
    let other = from.join("other.ibd");
    std::fs::copy(&ibd, &other).unwrap();
    let (code, out, err) =
        vaquita(&[&"import", &dir, &other, &ibd, &"--database", &"several", &"--sql", &sql]);
    assert_eq!((code, out.matches(" has 4 rows").count()), (2, 1), "{out}");
    assert!(out.contains("Table 'several.types_compact' has 4 rows of"), "{out}");
    assert!(err.contains("other.ibd: ") && err.contains("has no CREATE TABLE for `other`"), "{err}");
    std::fs::remove_file(&other).unwrap();
    // Where no description is, roots are found.
    std::fs::remove_file(from.join("types_compact.cfg")).unwrap();
    std::fs::copy(fixture("types_compact.frm"), from.join("types_compact.frm")).unwrap();
    let (code, out, err) = vaquita(&[&"import", &dir, &from, &"--database", &"by_frm"]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    assert!(out.contains("tells nothing of foreign keys"), "{out}");
    is_sound(&dir);
}

/// A table with FULLTEXT indexes is discarded and imported, here and by MySQL 5.6.24, from whose file the words are found anew.
#[test]
fn words_are_found_again() {
    let scratch = Scratch::new("import-words");
    let server = Mysql56::start(Options::new()).unwrap();
    let create = "create table f (id int primary key, t text, u varchar(40), fulltext key ft (t), fulltext key tu (t, u)) engine=innodb default charset=latin1 row_format=compact";
    server.sql(&format!("use test; {create}; insert into f values (1,'hello world','red'),(2,'foo bar','green'),(3,'hello','blue');
        delete from f where id = 3; insert into f values (4,'again hello','green')")).unwrap();
    let from = scratch.0.join("from");
    std::fs::create_dir(&from).unwrap();
    server.export("test", &["f"], &from).unwrap();
    let dir = folder(&scratch);
    // The files of words, which lie beside it in a database's folder, are passed over; where a link leads is to be named.
    let words = std::fs::read_dir(server.datadir().join("test")).unwrap().map(|entry| entry.unwrap());
    let words: Vec<_> =
        words.filter(|entry| entry.file_name().to_string_lossy().starts_with("FTS_")).collect();
    assert!(words.len() > 6, "{words:?}");
    for file in words {
        std::fs::copy(file.path(), from.join(file.file_name())).unwrap();
    }
    let (code, out, err) = vaquita(&[&"import", &dir, &from, &"--database", &"whole"]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    assert_eq!(answer(&dir, "show tables from whole"), "f\n");
    assert_eq!(answer(&dir, "select id from whole.f where match (t) against ('again')"), "4\n");
    std::fs::write(from.join("far.isl"), "/nowhere/far.ibd").unwrap();
    let (code, _, err) = vaquita(&[&"import", &dir, &from, &"--database", &"linked"]);
    assert!(code == 2 && err.contains("far.isl is a link; name the file that it leads to"), "{err}");
    let finds = |word: &str| {
        answer(
            &dir,
            &format!(
                "select group_concat(id order by id) from test.f where match (t, u) against ('{word}' in boolean mode)"
            ),
        )
    };
    answer(
        &dir,
        &format!("create database test; use test; {create}; insert into f values (9,'of the other','grey')"),
    );
    answer(&dir, "alter table test.f discard tablespace");
    is_sound(&dir);
    let refused = vaquita(&[&"sql", &dir, &"-e", &"select * from test.f"]);
    assert!(refused.2.contains("1814"), "{refused:?}");
    // Its name is locked; there is nothing to export.
    let said = answer(
        &dir,
        "use test; lock tables f write; unlock tables; flush tables f for export; show warnings",
    );
    assert_eq!(said, "Warning\t1814\tInnoDB: Tablespace has been discarded for table 'f'\n");
    for extension in ["ibd", "cfg"] {
        std::fs::copy(from.join(format!("f.{extension}")), dir.join(format!("test/f.{extension}"))).unwrap();
    }
    answer(&dir, "alter table test.f import tablespace");
    assert_eq!((&*finds("hello"), &*finds("green"), &*finds("grey")), ("1,4\n", "2,4\n", "NULL\n"));
    let shown = answer(&dir, "show create table test.f");
    let theirs = server.sql("show create table test.f").unwrap();
    assert_eq!(shown.trim_end(), theirs.split_once('\n').unwrap().1.trim_end());
    answer(&dir, "insert into test.f values (5,'hello','new'); delete from test.f where id = 1");
    assert_eq!(finds("hello"), "4,5\n");
    is_sound(&dir);
}

/// A file that is damaged, or of another table, is the file's fault: 1. Nothing is left of it.
#[test]
fn damage_is_found() {
    let scratch = Scratch::new("import-damage");
    let dir = folder(&scratch);
    let from = scratch.0.join("from");
    std::fs::create_dir(&from).unwrap();
    for extension in ["cfg", "frm"] {
        std::fs::copy(fixture(&format!("tree.{extension}")), from.join(format!("tree.{extension}"))).unwrap();
    }
    let mut bytes = std::fs::read(fixture("tree.ibd")).unwrap();
    bytes[5 * 16_384 + 300] ^= 4;
    let ibd = from.join("tree.ibd");
    std::fs::write(&ibd, &bytes).unwrap();
    let (code, out, err) = vaquita(&[&"import", &dir, &ibd, &"--database", &"d"]);
    assert_eq!((code, &*out), (1, ""));
    assert!(err.contains("page 5"), "{err}");
    std::fs::copy(fixture("child.ibd"), &ibd).unwrap();
    let (code, _, err) = vaquita(&[&"import", &dir, &ibd, &"--database", &"d"]);
    assert_eq!(code, 1, "{err}");
    assert_eq!(contents(&dir.join("d")).len(), 1, "something is left beside db.opt");
    let (code, _, err) = vaquita(&[&"import", &scratch.0.join("nowhere"), &ibd]);
    assert!(code == 2 && err.contains("no data folder"), "{err}");
    // Somebody has the folder open.
    let open = Database::open(&dir).unwrap();
    let (code, _, err) = vaquita(&[&"import", &dir, &fixture("tree.ibd"), &"--database", &"d"]);
    assert_eq!(code, 2, "{err}");
    open.close().unwrap();
    is_sound(&dir);
}

const SHOP: &str = "
    create table p (id int primary key, name varchar(20) character set utf8, kind enum('a','b'), price decimal(8,2)) engine=innodb;
    create table c (id int primary key auto_increment, pid int, self int, key (pid), key (self),
        foreign key (pid) references p (id), foreign key (self) references c (id) on delete cascade) engine=innodb;
    create table a (id int primary key, b int, key (b)) engine=innodb row_format=compact;
    create table b (id int primary key, a int, key (a), foreign key (a) references a (id)) engine=innodb row_format=dynamic;
    alter table a add foreign key (b) references b (id);";

/// Tables with foreign keys between them, in a circle too, in one go; then they are as any others, and a real server takes them back.
#[test]
fn a_folder_of_tables_that_refer_to_each_other() {
    let scratch = Scratch::new("import-shop");
    let server = Mysql56::start(Options::new()).unwrap();
    server.sql(&format!("create database shop; use shop; {SHOP}
        insert into p values (1,'\u{e9}a','a',1.5),(2,'x','b',-2.25); insert into c values (1,1,null),(2,2,1),(3,null,2);
        insert into a values (1,null),(2,null); insert into b values (1,1),(5,2); update a set b=5;")).unwrap();
    let from = scratch.0.join("from");
    std::fs::create_dir(&from).unwrap();
    let tables = ["a", "b", "c", "p"];
    server.export("shop", &tables, &from).unwrap();
    let create = |table: &str| {
        let shown = server.sql(&format!("show create table shop.{table}")).unwrap();
        shown.split_once('\n').unwrap().1.split_once('\t').unwrap().1.trim_end().replace("\\n", "\n")
    };
    let script: Vec<String> = tables.iter().map(|table| create(table)).collect();
    let sql = scratch.put("shop.sql", script.join(";\n").as_bytes());
    let before = contents(&from);
    let dir = folder(&scratch);
    let (code, out, err) = vaquita(&[&"import", &dir, &from, &"--sql", &sql]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    assert!(contents(&from) == before, "the files that were imported changed");
    is_sound(&dir);
    for table in tables {
        let shown = answer(&dir, &format!("show create table shop.{table}"));
        assert_eq!(shown.split_once('\t').unwrap().1.trim_end().replace("\\n", "\n"), create(table));
        let theirs = server.sql(&format!("select * from shop.{table}")).unwrap();
        assert_eq!(answer(&dir, &format!("select * from shop.{table}")), theirs.split_once('\n').unwrap().1);
    }
    let refused = vaquita(&[&"sql", &dir, &"-e", &"delete from shop.p"]);
    assert!(refused.0 == 1 && refused.2.contains("1451"), "{refused:?}");
    assert_eq!(answer(&dir, "insert into shop.c (pid) values (2); select max(id) from shop.c"), "4\n");

    // Without the parents: said, and the exit code is 1.
    std::fs::remove_file(from.join("p.ibd")).unwrap();
    let (code, _, err) = vaquita(&[&"import", &dir, &from, &"--sql", &sql, &"--database", &"half"]);
    assert_eq!(code, 1);
    assert!(err.contains("half.c: foreign key c_ibfk_1 refers to half.p, which is not there"), "{err}");
    // With parents of which one is gone.
    answer(
        &dir,
        "set foreign_key_checks=0; create database lost; create table lost.p like shop.p; insert into lost.p (id) values (1)",
    );
    let (code, _, err) =
        vaquita(&[&"import", &dir, &from.join("c.ibd"), &"--sql", &sql, &"--database", &"lost"]);
    assert_eq!(code, 1);
    assert!(err.contains("lost.c: 1 rows refer to none of lost.p (foreign key c_ibfk_1)"), "{err}");
}

/// The statement: privileges and places of files are those of LOAD DATA, foreign keys are held, and warnings tell of what was made.
#[test]
fn the_statement() {
    let scratch = Scratch::new("import-statement");
    let from = scratch.0.join("from");
    std::fs::create_dir(&from).unwrap();
    for name in ["parent", "child"] {
        for extension in ["ibd", "cfg", "frm"] {
            std::fs::copy(fixture(&format!("{name}.{extension}")), from.join(format!("{name}.{extension}")))
                .unwrap();
        }
    }
    let script = ["child", "parent"].map(|table| {
        std::fs::read_to_string(fixture(&format!("{table}.create.sql")))
            .unwrap()
            .trim_end()
            .trim_end_matches(';')
            .to_owned()
    });
    scratch.put("all.sql", script.join(";\n").as_bytes());
    let open = |secure: &str| {
        vaquita::OpenOptions::new().set("secure_file_priv", secure).open(scratch.0.join("data")).unwrap()
    };
    let from = from.display();
    let import = format!(
        "import table from '{from}/child.ibd', '{from}/parent.ibd' using '{}/all.sql'",
        scratch.0.display()
    );
    let db = open("/nowhere");
    let mut c = db.connect().unwrap();
    assert_eq!(c.execute(&import, ()).unwrap_err().code, 1046);
    c.execute("create database t; use t", ()).unwrap();
    assert_eq!(c.execute(&import, ()).unwrap_err().code, 1290);
    drop(c);
    db.close().unwrap();
    let db = open("");
    let mut c = db.connect().unwrap();
    c.execute("use t", ()).unwrap();
    // The child alone has no parent.
    let alone = format!("import table from '{from}/child.ibd' using '{}/all.sql'", scratch.0.display());
    assert_eq!(c.execute(&alone, ()).unwrap_err().code, 1215);
    let done = c.execute(&import, ()).unwrap();
    assert_eq!((done.affected_rows, done.warnings), (5, 2));
    let child: u64 = c.query("select count(*) from child", ()).unwrap().single().unwrap();
    assert_eq!(child, 3);
    assert_eq!(c.execute(&import, ()).unwrap_err().code, 1050);
    // Modes of the session say nothing of how a definition of a file is read.
    c.execute("set sql_mode = 'ansi_quotes,no_backslash_escapes'; create database u; use u", ()).unwrap();
    c.execute(&format!("import table from '{from}/parent.ibd'"), ()).unwrap();
    let mode: String = c.query("select @@sql_mode", ()).unwrap().single().unwrap();
    assert_eq!(mode, "ANSI_QUOTES,NO_BACKSLASH_ESCAPES");
    let err = c.execute(&format!("import table from '{from}/nix.ibd'"), ()).unwrap_err();
    assert_eq!(err.code, 1815, "{err}");
    let other = scratch.put("other.txt", b"nobody:x:65534\n");
    let err = c
        .execute(&format!("import table from '{from}/child.ibd' using '{}'", other.display()), ())
        .unwrap_err();
    assert!(err.code == 1064 && err.message.starts_with(&format!("{}: ", other.display())), "{err}");
    // A table that is locked must be locked by its name.
    c.execute("lock tables parent read", ()).unwrap();
    assert_eq!(c.execute(&format!("import table from '{from}/child.ibd'"), ()).unwrap_err().code, 1100);
    c.execute("unlock tables", ()).unwrap();
    drop(c);
    db.close().unwrap();
}

/// The description that is written of a table tells the next value of AUTO_INCREMENT, though nobody has asked for one since the start.
#[test]
fn the_next_number_comes_along() {
    let scratch = Scratch::new("import-numbers");
    let open =
        || vaquita::OpenOptions::new().set("secure_file_priv", "").open(scratch.0.join("data")).unwrap();
    let db = open();
    let mut c = db.connect().unwrap();
    c.execute("create database a; use a; create table t (id int auto_increment primary key, v int)", ())
        .unwrap();
    c.execute("insert into t (v) values (1), (2), (3)", ()).unwrap();
    c.execute("create table none (id int auto_increment primary key, v int)", ()).unwrap();
    drop(c);
    db.close().unwrap();
    let db = open();
    let mut c = db.connect().unwrap();
    c.execute("use a; flush tables t, none for export", ()).unwrap();
    for name in ["t.ibd", "t.cfg", "none.ibd", "none.cfg"] {
        std::fs::copy(scratch.0.join("data/a").join(name), scratch.0.join(name)).unwrap();
    }
    c.execute("unlock tables; create database b; use b", ()).unwrap();
    let dir = scratch.0.display();
    c.execute(&format!("import table from '{dir}/t.ibd', '{dir}/none.ibd'"), ()).unwrap();
    for (table, next) in [("t", 4), ("none", 1)] {
        c.execute(&format!("insert into {table} (v) values (9)"), ()).unwrap();
        let given: u64 = c.query("select last_insert_id()", ()).unwrap().single().unwrap();
        assert_eq!(given, next, "{table}");
    }
    drop(c);
    db.close().unwrap();
}
