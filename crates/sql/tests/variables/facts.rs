//! Variables that tell how things are, held against how they are.

use crate::variables::support::{open, root, run};

/// A variable's value.
fn told(opened: &crate::variables::support::Opened, name: &str) -> String {
    run(&mut root(&opened.db), &format!("select @@{name}"))
}

#[test]
fn what_is_said_of_the_program_is_true() {
    let opened = open();
    for (name, is) in [
        ("version", vaquita_sql::VERSION),
        ("innodb_version", vaquita_sql::VERSION),
        ("license", env!("CARGO_PKG_LICENSE")),
        ("version_compile_machine", std::env::consts::ARCH),
    ] {
        assert_eq!(told(&opened, name), is, "{name}");
    }
    assert_eq!(told(&opened, "version_compile_os").to_lowercase(), std::env::consts::OS);
    assert_eq!(run(&mut root(&opened.db), "select version() = @@version"), "1");
    assert_eq!(told(&opened, "version_comment"), "Vaquita", "the name of the program");
    let logged = run(&mut root(&opened.db), "show variables like 'version_comment'");
    assert_eq!(logged, "version_comment|Vaquita");
}

#[test]
fn the_version_for_clients_may_be_said_at_start() {
    let opened = crate::variables::support::open_with(&[("version", "8.0.36-log")]);
    assert_eq!(told(&opened, "version"), "8.0.36-log");
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "select version()"), "8.0.36-log");
    assert_eq!(run(&mut c, "show variables like 'version'"), "version|8.0.36-log");
    assert_eq!(
        told(&opened, "innodb_version"),
        vaquita_sql::VERSION,
        "what the program is, is no matter of taste"
    );
    assert_eq!(
        run(&mut c, "set global version = '5.7.1'"),
        "1238 Variable 'version' is a read only variable"
    );
    for wrong in
        ["", "8", "8.0", "8.0.x", "8.0.36 log", "8.0.36\u{0}", "8.0.367", "x8.0.36", "8.0.36log", "8..6"]
    {
        let given = [("version".to_owned(), wrong.to_owned())];
        let refused = vaquita_sql::vars::Globals::new(&given).map(drop).map_err(|e| e.code);
        assert_eq!(refused, Err(1231), "{wrong}");
    }
}

#[test]
fn what_is_said_of_the_machine_is_true() {
    let opened = open();
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    assert_eq!(told(&opened, "hostname"), name.trim());
    let folder = opened.path().canonicalize().expect("it is there");
    assert_eq!(told(&opened, "datadir"), format!("{}/", folder.display()));
    let program = std::env::current_exe().expect("a path");
    let base = told(&opened, "basedir");
    assert!(program.starts_with(&base), "{base} of {}", program.display());
    // Names of files are told apart by their case.
    std::fs::write(folder.join("Case"), "").expect("a file");
    let folds = u8::from(folder.join("cASE").exists());
    std::fs::remove_file(folder.join("Case")).expect("it is there");
    assert_eq!(told(&opened, "lower_case_file_system"), folds.to_string());
    // A file may be longer than two gigabytes.
    let file = std::fs::File::create(folder.join("long")).expect("a file");
    assert_eq!(told(&opened, "large_files_support"), u8::from(file.set_len(5 << 30).is_ok()).to_string());
    std::fs::remove_file(folder.join("long")).expect("it is there");
    // No page of memory is locked or huge.
    let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
    let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).expect("a line");
    assert_eq!(told(&opened, "locked_in_memory") == "0", locked.trim() == "0 kB", "{locked}");
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("it is there");
    let huge =
        maps.lines().any(|line| line.starts_with("VmFlags:") && line.split(' ').any(|flag| flag == "ht"));
    assert_eq!(told(&opened, "large_page_size") != "0", huge);
}

#[test]
fn what_is_said_to_be_here_is_here_and_nothing_else() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "create database d; use d");
    for (name, value, proof, begins) in [
        ("have_compress", "YES", "select uncompress(compress('abc'))", "abc"),
        ("have_statement_timeout", "YES", "set max_execution_time = 1; select sleep(5)", "1"),
        ("have_dynamic_loading", "NO", "install plugin p soname 'p.so'", "1"),
        ("have_profiling", "NO", "set profiling = 1", "1231 "),
        ("have_query_cache", "NO", "select @@query_cache_size", "0"),
        ("have_rtree_keys", "NO", "create table r (g geometry not null, spatial key (g))", "1"),
    ] {
        assert_eq!(told(&opened, name), value, "{name}");
        let answer = run(&mut c, proof);
        assert!(answer.starts_with(begins), "{name}: {answer}");
    }
    assert_eq!(told(&opened, "have_symlink"), "YES");
    let far = opened.path().with_extension("far");
    let made = run(&mut c, &format!("create table s (a int) data directory = '{}'", far.display()));
    assert_eq!((&*made, far.join("d/s.ibd").exists()), ("", true));
    std::fs::remove_dir_all(&far).expect("the directory elsewhere");
}

#[test]
fn what_is_said_of_logs_and_replication_is_true() {
    let opened = open();
    let mut c = root(&opened.db);
    for name in ["log_bin_basename", "log_bin_index", "relay_log_basename", "relay_log_index"] {
        assert_eq!(told(&opened, name), "NULL", "{name}");
    }
    assert!(run(&mut c, "show binary logs").starts_with("1381 "), "there are none");
    assert_eq!(run(&mut c, "show master status; show slave status"), "");
    // No transaction has one.
    for name in ["gtid_executed", "gtid_owned"] {
        assert_eq!(told(&opened, name), "", "{name}");
    }
    assert_eq!(told(&opened, "gtid_mode"), "OFF");
}

#[test]
fn formats_that_are_said_are_those_of_texts() {
    let opened = open();
    let mut c = root(&opened.db);
    for (name, value) in [
        ("date_format", "date '2008-02-20'"),
        ("datetime_format", "timestamp '2008-02-20 13:04:05'"),
        ("time_format", "time '13:04:05'"),
    ] {
        let sql = format!("select date_format({value}, @@{name}) = concat({value})");
        assert_eq!(run(&mut c, &sql), "1", "{name}");
    }
}

/// Nobody is anybody else here, and nobody comes from elsewhere.
#[test]
fn nobody_is_a_proxy() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "select @@proxy_user, @@external_user"), "NULL|NULL");
    assert_eq!(run(&mut c, "select current_user(), user()"), "root@localhost|root@localhost");
    run(&mut c, "create user 'a'@'%'; create user 'b'@'%'");
    let mut a = crate::variables::support::connect_as(&opened.db, "a", "%").expect("connects");
    assert_eq!(run(&mut a, "select @@proxy_user, current_user()"), "NULL|a@%");
}
