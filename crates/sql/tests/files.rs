//! Files that statements name: where `secure_file_priv` and `local_infile` let them be. Answers as of MySQL 5.6.24.

use crate::support;

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use support::{connect_as, open, open_with, root, run};

const REFUSED: &str =
    "1290 The MySQL server is running with the --secure-file-priv option so it cannot execute this statement";

/// A folder for files, with another one inside of it.
struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Files {
        let dir = std::env::temp_dir().join(format!("vaquita-files-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(dir.join("allowed/below")).expect("folders");
        for file in ["outside.txt", "allowed/inside.txt", "allowed/below/deep.txt"] {
            std::fs::write(dir.join(file), "7\n").expect("a file");
        }
        Files(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Names are bytes to the system. As MySQL 5.6.24.
#[test]
fn names_of_files_are_in_the_character_set_that_is_said() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let files = Files::new("names");
    let opened = open_with(&[("secure_file_priv", "")]);
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d; create table t (a varchar(20))");
    let mut n = 0;
    let (utf8, latin1): (&[u8], &[u8]) = (b"\xc3\xa9", b"\xe9");
    for (client, text) in [("utf8", utf8), ("latin1", latin1)] {
        for (filesystem, name) in [
            ("binary", text),
            ("utf8", utf8),
            ("utf8mb4", utf8),
            ("latin1", latin1),
            ("koi8r", b"?".as_slice()),
        ] {
            n += 1;
            let set = format!("set names {client}; set character_set_filesystem = {filesystem}");
            assert_eq!(run(&mut c, &set), "");
            let given = [files.path(&n.to_string()).as_bytes(), text].concat();
            let mut sink = vaquita_sql::sink::Collected::default();
            let into = [b"select 'x' into outfile '", &given[..], b"'"].concat();
            c.query(&into, &mut sink).expect("writes");
            let made = [files.path(&n.to_string()).into_bytes(), name.to_vec()].concat();
            let made = PathBuf::from(OsString::from_vec(made));
            assert_eq!(std::fs::read(&made).expect("it is there"), b"x\n", "{client} {filesystem}");
            let load = [b"load data infile '", &given[..], b"' into table t"].concat();
            c.query(&load, &mut sink).expect("loads");
            let again = c.query(&into, &mut sink).expect_err("it is there");
            assert_eq!((again.code, again.message.contains('é')), (1086, true), "{again:?}");
        }
    }
    assert_eq!(run(&mut c, "set names utf8mb4; select count(*) from t"), n.to_string());
}

#[test]
fn secure_file_priv_keeps_files_in_one_folder() {
    let files = Files::new("secure");
    symlink(files.path("outside.txt"), files.path("allowed/link.txt")).expect("a link");
    symlink(&files.0, files.path("allowed/up")).expect("a link");
    let opened = open_with(&[("secure_file_priv", &files.path("allowed"))]);
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database d; use d; create table t (a int)"), "");
    let mut load = |name: &str| run(&mut c, &format!("load data infile '{}' into table t", files.path(name)));
    for name in ["allowed/inside.txt", "allowed/below/deep.txt", "allowed/../allowed/inside.txt"] {
        assert_eq!(load(name), "", "{name}");
    }
    for name in ["outside.txt", "allowed/link.txt", "allowed/up/outside.txt", "allowed/../outside.txt"] {
        assert_eq!(load(name), REFUSED, "{name}");
    }
    let missing = format!(
        "13 Can't get stat of '{}' (Errcode: 2 - No such file or directory)",
        files.path("allowed/none.txt")
    );
    assert_eq!(load("allowed/none.txt"), missing);
    // A name without a path is in the database's folder.
    assert_eq!(run(&mut c, "load data infile 't.txt' into table t"), REFUSED);
    for (name, answer) in [
        ("made.txt", REFUSED),
        ("allowed-not/made.txt", REFUSED),
        ("allowed/up/made.txt", REFUSED),
        ("allowed/../made.txt", REFUSED),
        ("allowed/below/made.txt", ""),
    ] {
        for kind in ["outfile", "dumpfile"] {
            let sql = format!("select 1 into {kind} '{}{kind}'", files.path(name));
            assert_eq!(run(&mut c, &sql), answer, "{sql}");
            assert_eq!(
                std::path::Path::new(&files.path(&format!("{name}{kind}"))).exists(),
                answer.is_empty()
            );
        }
    }
    let read_only = "1238 Variable 'secure_file_priv' is a read only variable";
    assert_eq!(run(&mut c, "set global secure_file_priv = ''"), read_only);
    assert_eq!(run(&mut c, "select count(*), sum(a) from t"), "3|21");
}

#[test]
fn without_secure_file_priv_files_are_nowhere() {
    let files = Files::new("nowhere");
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "select @@secure_file_priv"), "NULL");
    assert_eq!(run(&mut c, "create database d; use d; create table t (a int)"), "");
    for sql in [
        format!("load data infile '{}' into table t", files.path("outside.txt")),
        format!("select 1 into outfile '{}'", files.path("made.txt")),
        format!("select 1 into dumpfile '{}'", files.path("made.txt")),
        "load data infile 't.txt' into table t".to_owned(),
    ] {
        assert_eq!(run(&mut c, &sql), REFUSED, "{sql}");
    }
    assert!(!std::path::Path::new(&files.path("made.txt")).exists());
}

#[test]
fn an_empty_secure_file_priv_lets_them_be_anywhere_but_on_what_the_folder_lives_on() {
    let files = Files::new("anywhere");
    let opened = open_with(&[("secure_file_priv", "")]);
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database d; use d; create table t (a int)"), "");
    assert_eq!(run(&mut c, &format!("load data infile '{}' into table t", files.path("outside.txt"))), "");
    assert_eq!(run(&mut c, "select a from t"), "7");
    let made = files.path("made.txt");
    assert_eq!(run(&mut c, &format!("select 1 into outfile '{made}'")), "");
    let again = run(&mut c, &format!("select 2 into outfile '{made}'"));
    assert_eq!(again, format!("1086 File '{made}' already exists"));
    // In the folder of a database, as a name without a path says.
    assert_eq!(run(&mut c, "select 8 into outfile 'own.txt'"), "");
    assert_eq!(run(&mut c, "load data infile 'own.txt' into table t"), "");
    let dir = run(&mut c, "select @@datadir");
    symlink(format!("{dir}/ibdata1"), files.path("link.txt")).expect("a link");
    symlink(&dir, files.path("folder")).expect("a link");
    for name in [
        "ibdata1",
        "new.pem",
        "d/../ibdata1",
        "d/t.ibd",
        "d/new.ibd",
        "d/new.FRM",
        "mysql/new.txt",
        "./mysql/user.ibd",
    ] {
        let path = format!("{dir}/{name}");
        for sql in [
            format!("load data infile '{path}' into table t"),
            format!("select 1 into outfile '{path}'"),
            format!("select 1 into dumpfile '{path}'"),
        ] {
            assert_eq!(run(&mut c, &sql), REFUSED, "{sql}");
        }
    }
    for name in ["link.txt", "folder/ibdata1", "folder/new.pem", "folder/mysql/new"] {
        let sql = format!("load data infile '{}' into table t", files.path(name));
        assert_eq!(run(&mut c, &sql), REFUSED, "{sql}");
    }
    assert_eq!(run(&mut c, "use mysql; select 1 into outfile 'x.txt'"), REFUSED);
    assert_eq!(run(&mut c, "select count(*), sum(a) from d.t"), "2|15");
}

#[test]
fn local_infile_off_refuses_the_clients_files() {
    let files = Files::new("local");
    let opened = open_with(&[("secure_file_priv", "")]);
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database d; use d; create table t (a int)"), "");
    assert_eq!(run(&mut c, "set global local_infile = 0"), "");
    let load = format!("load data local infile '{}' into table t", files.path("outside.txt"));
    assert_eq!(run(&mut c, &load), "1148 The used command is not allowed with this MySQL version");
    // That of the server is another matter.
    assert_eq!(run(&mut c, &load.replace("local ", "")), "");
    assert_eq!(run(&mut c, "select a from t"), "7");
}

/// A part of a result is no result: the file that was begun goes, and the statement can be given again.
#[test]
fn a_statement_that_fails_leaves_no_file() {
    let files = Files::new("failed");
    let opened = open_with(&[("secure_file_priv", "")]);
    let mut c = root(&opened.db);
    let made = files.path("made.txt");
    let filled =
        "create database d; use d; create table t (a int); insert into t values (0), (1), (2), (1000)";
    assert_eq!(run(&mut c, filled), "");
    let out_of_range = run(&mut c, &format!("select exp(a) from t into outfile '{made}'"));
    assert!(out_of_range.starts_with("1690 "), "{out_of_range}");
    assert!(!std::path::Path::new(&made).exists());
    let two_rows = format!("select a from t limit 2 into dumpfile '{made}'");
    assert_eq!(run(&mut c, &two_rows), "1172 Result consisted of more than one row");
    assert!(!std::path::Path::new(&made).exists());
    // Ended when some of it was written.
    let (db, id, path) = (std::sync::Arc::downgrade(&opened.db), c.id(), made.clone());
    c.set_yield_hook(std::sync::Arc::new(move || {
        if std::fs::metadata(&path).is_ok_and(|file| file.len() > 100_000)
            && let Some(db) = db.upgrade()
        {
            db.processes().kill(id, true);
        }
    }));
    let many = "t a, t b, t c, t d, t e, t f, t g, t h, t i, t j, t k, t l";
    let killed = run(&mut c, &format!("select repeat('x', 500) from {many} into outfile '{made}'"));
    assert!(killed.starts_with("1317 "), "{killed}");
    assert!(!std::path::Path::new(&made).exists());
    assert_eq!(run(&mut c, &format!("select a from t where a < 9 into outfile '{made}'")), "");
    assert_eq!(std::fs::read_to_string(&made).expect("the file"), "0\n1\n2\n");
}

/// LOAD_FILE is NULL where it may not read, as in MySQL 5.6.24.
#[test]
fn load_file_reads_what_everybody_may_read() {
    let files = Files::new("load_file");
    let write = |name: &str, bytes: &[u8]| std::fs::write(files.path(name), bytes).expect("writes");
    write("allowed/a", b"content\0\xFF");
    write("allowed/long", &[b'x'; 3000]);
    write("allowed/private", b"p");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(files.path("allowed/private"), private).expect("changes");
    let opened = open_with(&[("secure_file_priv", &files.path("allowed"))]);
    let mut c = root(&opened.db);
    let load = |name: &str| format!("select hex(load_file('{}'))", files.path(name));
    assert_eq!(run(&mut c, &load("allowed/a")), "636F6E74656E7400FF");
    assert_eq!(run(&mut c, &load("allowed/nothing")), "NULL");
    assert_eq!(run(&mut c, &load("allowed/private")), "NULL", "not everybody may read it");
    assert_eq!(run(&mut c, &load("allowed")), "NULL", "a folder");
    assert_eq!(run(&mut c, &load("outside.txt")), "NULL");
    assert_eq!(run(&mut c, &load("allowed/../outside.txt")), "NULL");
    assert_eq!(run(&mut c, "select load_file('/etc/hostname'), load_file(null)"), "NULL|NULL");
    assert_eq!(run(&mut c, "create user u@localhost; set global max_allowed_packet = 1024"), "");
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    assert_eq!(run(&mut u, &load("allowed/a")), "NULL", "without FILE");
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, &load("allowed/long")), "NULL");
    assert_eq!(
        run(&mut c, "show warnings"),
        "Warning|1301|Result of load_file() was larger than max_allowed_packet (1024) - truncated"
    );
    let closed = open();
    let mut c = root(&closed.db);
    assert_eq!(run(&mut c, &load("allowed/a")), "NULL", "no files at all");
}
