//! Users, grants and what they allow.

use crate::support;

use support::{connect_as, open, root, run};
use vaquita_sql::{Connection, Database, Transport};

/// Messages of MySQL 5.6.24; forms of SHOW GRANTS of 5.7.
#[test]
fn users_and_grants() {
    let opened = open();
    let mut c = root(&opened.db);
    for (sql, answer) in [
        ("show grants", "GRANT ALL PRIVILEGES ON *.* TO 'root'@'localhost' WITH GRANT OPTION"),
        ("create user 'a'@'localhost' identified by 'secret', b", ""),
        ("create user b", "1396 Operation CREATE USER failed for 'b'@'%'"),
        (
            "select host, user, plugin, authentication_string from mysql.user where user = 'a'",
            "localhost|a|mysql_native_password|*14E65567ABDB5135D0CFD9A70B3032C179A49EE7",
        ),
        ("show grants for b", "GRANT USAGE ON *.* TO 'b'@'%'"),
        ("show grants for c", "1141 There is no such grant defined for user 'c' on host '%'"),
        ("grant select, insert on mysql.user to b", ""),
        ("grant update (Host, User) on mysql.user to b", ""),
        ("grant all on `d%`.* to b with grant option", ""),
        ("grant process, file on *.* to b", ""),
        (
            "show grants for b",
            "GRANT PROCESS, FILE ON *.* TO 'b'@'%'\n\
             GRANT ALL PRIVILEGES ON `d%`.* TO 'b'@'%' WITH GRANT OPTION\n\
             GRANT SELECT, INSERT, UPDATE (Host, User) ON `mysql`.`user` TO 'b'@'%'",
        ),
        ("grant process on mysql.* to b", "1221 Incorrect usage of DB GRANT and GLOBAL PRIVILEGES"),
        ("grant select (x) on mysql.user to b", "1054 Unknown column 'x' in 'user'"),
        ("grant select on mysql.nothing to b", "1146 Table 'mysql.nothing' doesn't exist"),
        ("grant select on mysql.user to nobody", "1133 Can't find any matching row in the user table"),
        ("revoke insert on mysql.user from b", ""),
        ("revoke update (User) on mysql.user from b", ""),
        (
            "revoke select on mysql.db from b",
            "1147 There is no such grant defined for user 'b' on host '%' on table 'db'",
        ),
        (
            "show grants for b",
            "GRANT PROCESS, FILE ON *.* TO 'b'@'%'\n\
             GRANT ALL PRIVILEGES ON `d%`.* TO 'b'@'%' WITH GRANT OPTION\n\
             GRANT SELECT, UPDATE (Host) ON `mysql`.`user` TO 'b'@'%'",
        ),
        ("rename user b to 'c'@'h'", ""),
        ("select host, user, db from mysql.db", "h|c|d%"),
        ("revoke all privileges, grant option from 'c'@'h'", ""),
        ("show grants for 'c'@'h'", "GRANT USAGE ON *.* TO 'c'@'h'"),
        ("drop user 'c'@'h', nobody", "1396 Operation DROP USER failed for 'nobody'@'%'"),
        ("drop user 'c'@'h'", ""),
        ("select count(*) from mysql.user where user = 'c'", "0"),
        ("create user x identified with nonsense", "1524 Plugin 'nonsense' is not loaded"),
        (
            "create user x identified by password 'abc'",
            "1372 Password hash should be a 41-digit hexadecimal number",
        ),
    ] {
        assert_eq!(run(&mut c, sql), answer, "{sql}");
    }
}

#[test]
fn statements_need_privileges() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create user u@localhost; grant select (Host) on mysql.user to u@localhost"), "");
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    for (sql, answer) in [
        ("select Host from mysql.user where Host = 'nowhere'", ""),
        (
            "select User from mysql.user",
            "1143 SELECT command denied to user 'u'@'localhost' for column 'User' in table 'user'",
        ),
        ("delete from mysql.user", "1142 DELETE command denied to user 'u'@'localhost' for table 'user'"),
        ("select * from mysql.db", "1142 SELECT command denied to user 'u'@'localhost' for table 'db'"),
        (
            "set global div_precision_increment = 5",
            "1227 Access denied; you need (at least one of) the SUPER privilege(s) for this operation",
        ),
        (
            "create user v",
            "1227 Access denied; you need (at least one of) the CREATE USER privilege(s) for this operation",
        ),
        (
            "flush privileges",
            "1227 Access denied; you need (at least one of) the RELOAD privilege(s) for this operation",
        ),
        ("show grants for root@localhost", "1044 Access denied for user 'u'@'localhost' to database 'mysql'"),
        ("use mysql", ""),
        ("create database d", "1044 Access denied for user 'u'@'localhost' to database 'd'"),
    ] {
        assert_eq!(run(&mut u, sql), answer, "{sql}");
    }
    // Grants reach sessions that are there.
    assert_eq!(run(&mut c, "grant select on mysql.db to u@localhost"), "");
    assert_eq!(run(&mut u, "select * from mysql.db"), "");
    assert_eq!(run(&mut c, "revoke select on mysql.db from u@localhost"), "");
    assert!(run(&mut u, "select * from mysql.db").starts_with("1142 "));
}

/// What is asked of columns and tables wherever a statement names them.
#[test]
fn all_parts_of_statements_are_checked() {
    let opened = open();
    let mut c = root(&opened.db);
    let made = "create database d; create table d.t (a int primary key, b int, c int); create table d.secret (s int); \
                insert into d.t values (1, 1, 1), (2, 2, 2); insert into d.secret values (42); \
                create user u@localhost; grant select (a), insert (a, b), update (c) on d.t to u@localhost; \
                create user w@localhost; grant update, delete, insert, create on d.* to w@localhost; \
                create user l@localhost; grant insert on d.t to l@localhost";
    assert_eq!(run(&mut c, made), "");
    let mut l = connect_as(&opened.db, "l", "localhost").expect("connects");
    assert_eq!(
        run(&mut l, "load data local infile 'x' into table d.t (a) set b = (select s from d.secret)"),
        "1142 SELECT command denied to user 'l'@'localhost' for table 'secret'"
    );
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    let of_secret = "1142 SELECT command denied to user 'u'@'localhost' for table 'secret'";
    for (sql, answer) in [
        // Being set is not being read.
        ("update d.t set c = 5", ""),
        ("update d.t set c = 6 where a = 1", ""),
        (
            "update d.t set b = 1",
            "1143 UPDATE command denied to user 'u'@'localhost' for column 'b' in table 't'",
        ),
        (
            "update d.t set c = b",
            "1143 SELECT command denied to user 'u'@'localhost' for column 'b' in table 't'",
        ),
        (
            "explain select b from d.t",
            "1143 SELECT command denied to user 'u'@'localhost' for column 'b' in table 't'",
        ),
        ("explain select * from d.secret", of_secret),
        ("explain delete from d.t", "1142 DELETE command denied to user 'u'@'localhost' for table 't'"),
        ("insert into d.t (a) values ((select s from d.secret))", of_secret),
        ("insert into d.t (a) values (1) on duplicate key update c = (select s from d.secret)", of_secret),
        (
            "insert into d.t (a) values (10),(11),(12),(13),(14),(15),(16),(17),((select s from d.secret))",
            of_secret,
        ),
        ("update d.t set c = (select s from d.secret)", of_secret),
        ("set @x = (select s from d.secret)", of_secret),
        ("do (select s from d.secret)", of_secret),
        ("prepare p from 'select s from d.secret'", of_secret),
        ("show create table d.t", "1142 SHOW command denied to user 'u'@'localhost' for table 't'"),
        ("rename table d.t to d.x", "1142 DROP, ALTER command denied to user 'u'@'localhost' for table 't'"),
        ("lock tables d.t read", "1044 Access denied for user 'u'@'localhost' to database 'd'"),
        (
            "select 1 into outfile '/nowhere/at/all'",
            "1045 Access denied for user 'u'@'localhost' (using password: NO)",
        ),
    ] {
        assert_eq!(run(&mut u, sql), answer, "{sql}");
    }
    assert_eq!(run(&mut c, "select a, b, c from d.t"), "1|1|6\n2|2|5");
    let mut w = connect_as(&opened.db, "w", "localhost").expect("connects");
    for (sql, answer) in [
        (
            "create table d.copy select * from d.secret",
            "1142 SELECT command denied to user 'w'@'localhost' for table 'secret'",
        ),
        (
            "delete from d.t where a = 1",
            "1143 SELECT command denied to user 'w'@'localhost' for column 'a' in table 't'",
        ),
        ("update d.t set b = 9", ""),
        ("delete from d.t", ""),
    ] {
        assert_eq!(run(&mut w, sql), answer, "{sql}");
    }
    assert_eq!(run(&mut c, "select count(*) from d.t"), "0");
    assert!(run(&mut c, "select * from d.copy").starts_with("1146 "));
}

#[test]
fn accounts_survive_and_are_found_by_host() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create user u@'10.0.0.%' identified by 'x', u@'%', ''@'10.0.0.5'"), "");
    drop(c);
    let opened = opened.reopen();
    let accounts = opened.db.accounts();
    let from = |host: &str| {
        let at = format!("{host}:1").parse().expect("an address");
        accounts.find("u", host, &vaquita_sql::Transport::Tcp(at)).map(|a| (a.user, a.host))
    };
    let account = |user: &str, host: &str| Some((user.to_owned(), host.to_owned()));
    assert_eq!(from("10.0.0.7"), account("u", "10.0.0.%"));
    // The more specific host counts before the user.
    assert_eq!(from("10.0.0.5"), account("", "10.0.0.5"));
    assert_eq!(from("10.1.0.5"), account("u", "%"));
    let root_from = |host: &str| {
        let at = format!("{host}:1").parse().expect("an address");
        accounts.find("root", host, &vaquita_sql::Transport::Tcp(at)).map(|a| a.host)
    };
    assert_eq!(root_from("127.0.0.1").as_deref(), Some("localhost"), "without a password, over loopback");
    assert_eq!(root_from("10.1.0.5"), None);
}

/// What a door is told to ask of a client's TLS.
#[test]
fn demands_of_accounts() {
    use vaquita_sql::accounts::Demand;
    let opened = open();
    let mut c = root(&opened.db);
    let details = |issuer: &str, subject: &str, cipher: &str| {
        let [issuer, subject, cipher] = [issuer, subject, cipher].map(|text| text.as_bytes().to_vec());
        Demand::Details { issuer, subject, cipher }
    };
    for (require, demand) in [
        ("none", Demand::Nothing),
        ("ssl", Demand::Tls),
        ("x509", Demand::Certificate),
        ("subject '/CN=a' and issuer '/CN=b'", details("/CN=b", "/CN=a", "")),
        ("cipher 'c'", details("", "", "c")),
    ] {
        assert_eq!(
            run(&mut c, &format!("grant usage on *.* to u@localhost identified by 'x' require {require}")),
            ""
        );
        for _ in 0..2 {
            let account = opened.db.accounts().find("u", "localhost", &Transport::Socket).expect("there");
            assert_eq!(account.demand, demand, "{require}");
            // And as it is read from the tables.
            assert_eq!(run(&mut c, "flush privileges"), "");
        }
    }
}

/// MAX_QUERIES_PER_HOUR and its kin, as MySQL 5.6.24 counts.
#[test]
fn what_accounts_do_in_an_hour_is_counted() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create database d; create table d.t (a int primary key)"), "");
    assert_eq!(
        run(&mut c, "grant all on *.* to u@localhost identified by 'x' with max_queries_per_hour 2"),
        ""
    );
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    let limited = |resource: &str, n: u64| {
        format!("1226 User 'u' has exceeded the '{resource}' resource (current value: {n})")
    };
    let questions = |n| limited("max_questions", n);
    for (who, sql, answer) in [
        // What is no statement does not count; what fails does.
        ('u', "selec 1", None),
        ('u', "select nonsense", None),
        ('u', "select 1", Some("1".to_owned())),
        ('u', "select 2", Some(questions(2))),
        ('u', "commit", Some(questions(2))),
        ('u', "set @a = 1", Some(questions(2))),
        ('c', "flush user_resources", Some(String::new())),
        ('u', "begin; select 1; select 2", Some(questions(2))),
        ('c', "flush privileges", Some(String::new())),
        ('u', "select 1", Some("1".to_owned())),
        // Limits that are given begin anew, for sessions that are there; other grants change nothing.
        ('c', "grant select on d.t to u@localhost", Some(String::new())),
        ('u', "select 1", Some("1".to_owned())),
        ('u', "select 1", Some(questions(2))),
        ('c', "grant usage on *.* to u@localhost with max_queries_per_hour 1", Some(String::new())),
        ('u', "select 1", Some("1".to_owned())),
        ('u', "select 1", Some(questions(1))),
        (
            'c',
            "grant usage on *.* to u@localhost with max_queries_per_hour 0 max_updates_per_hour 1",
            Some(String::new()),
        ),
        ('u', "select 1; select 1; delete from d.t; select 1", Some("1".to_owned())),
        ('u', "delete from d.t", Some(limited("max_updates", 1))),
        ('u', "explain delete from d.t", Some(limited("max_updates", 1))),
        ('u', "create table d.u (a int)", Some(limited("max_updates", 1))),
        ('u', "create user v", Some(limited("max_updates", 1))),
        // Analysing changes nothing, nor does EXECUTE.
        (
            'u',
            "set @a = 1; prepare p from 'insert into d.t values (1)'; execute p; select * from d.t",
            Some("1".to_owned()),
        ),
    ] {
        let told = run(if who == 'u' { &mut u } else { &mut c }, sql);
        if let Some(answer) = answer {
            assert_eq!(told, answer, "{sql}");
        }
    }
    assert_eq!(
        run(
            &mut c,
            "grant usage on *.* to u@localhost with max_updates_per_hour 0 max_connections_per_hour 2"
        ),
        ""
    );
    drop(connect_as(&opened.db, "u", "localhost").expect("one"));
    drop(connect_as(&opened.db, "u", "localhost").expect("two"));
    let refused = connect_as(&opened.db, "u", "localhost").expect_err("three");
    assert_eq!(format!("{} {}", refused.code, refused.message), limited("max_connections_per_hour", 2));
    assert_eq!(run(&mut c, "flush user_resources"), "");
    drop(connect_as(&opened.db, "u", "localhost").expect("one of the next hour"));
    // Sessions of the account count together, whoever they say they are.
    assert_eq!(run(&mut c, "create user ''@localhost with max_queries_per_hour 3"), "");
    let mut a = connect_as(&opened.db, "a", "localhost").expect("connects");
    let mut b = connect_as(&opened.db, "b", "localhost").expect("connects");
    assert_eq!(run(&mut a, "select 1; select 2"), "2");
    assert_eq!(run(&mut b, "select 3"), "3");
    let refused = "1226 User '' has exceeded the 'max_questions' resource (current value: 3)";
    assert_eq!((run(&mut a, "select 4"), run(&mut b, "select 4")), (refused.into(), refused.into()));
}

/// Makes every password `days` days old.
fn make_old(c: &mut Connection, days: u32) {
    let update = format!("update mysql.user set password_last_changed = now() - interval {days} day");
    assert_eq!(run(c, &update), "");
    assert_eq!(run(c, "flush privileges"), "");
}

fn is_expired(db: &Database) -> bool {
    db.accounts().find("u", "localhost", &Transport::Socket).expect("there").password_expired
}

/// As 5.7: the days of the account, or those of `default_password_lifetime`, of which 0 is for ever.
#[test]
fn passwords_grow_old() {
    let mut opened = open();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, "create user u@localhost identified by 'x'"), "");
    make_old(&mut c, 10);
    for (statement, expired, shown) in [
        ("do 1", false, "DEFAULT"),
        ("set global default_password_lifetime = 9", true, "DEFAULT"),
        ("set global default_password_lifetime = 10", true, "DEFAULT"),
        ("set global default_password_lifetime = 11", false, "DEFAULT"),
        ("alter user u@localhost password expire interval 9 day", true, "INTERVAL 9 DAY"),
        ("alter user u@localhost password expire interval 65535 day", false, "INTERVAL 65535 DAY"),
        ("set global default_password_lifetime = 9", false, "INTERVAL 65535 DAY"),
        ("alter user u@localhost password expire never", false, "NEVER"),
        ("alter user u@localhost password expire default", true, "DEFAULT"),
    ] {
        assert_eq!(run(&mut c, statement), "", "{statement}");
        // Older than ten days by whatever the test took.
        let old = "update mysql.user set password_last_changed = now() - interval 10 day - interval 1 minute";
        run(&mut c, &format!("{old}; flush privileges"));
        assert_eq!(is_expired(&opened.db), expired, "{statement}");
        let create = run(&mut c, "show create user u@localhost");
        assert!(create.contains(&format!(" PASSWORD EXPIRE {shown} ACCOUNT")), "{statement}: {create}");
    }
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    assert_eq!(run(&mut u, "select 1"), "1820 You must SET PASSWORD before executing this statement");
    assert_eq!(run(&mut u, "set password = 'new'; select 1"), "1");
    assert!(!is_expired(&opened.db));
    assert_eq!(run(&mut c, "create user v@localhost password expire interval 3 day"), "");
    let lifetimes = "select password_lifetime, abs(timestampdiff(second, password_last_changed, now())) < 600 \
                     from mysql.user where user in ('u', 'v') order by user";
    assert_eq!(run(&mut c, lifetimes), "NULL|1\n3|1");
    for (wrong, days) in [("0", "0"), ("65536", "65536")] {
        assert_eq!(
            run(&mut c, &format!("alter user u@localhost password expire interval {wrong} day")),
            format!("1525 Incorrect DAY value: '{days}'")
        );
    }
    drop((c, u));
    opened = opened.reopen_with(&[("default_password_lifetime", "1")]).expect("opens");
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, lifetimes), "NULL|1\n3|1");
    assert!(!is_expired(&opened.db));
    assert_eq!(
        run(&mut c, "update mysql.user set password_last_changed = now() - interval 2 day where user = 'u'"),
        ""
    );
    assert_eq!(run(&mut c, "flush privileges"), "");
    assert!(is_expired(&opened.db));
    // When it was set is not known.
    assert_eq!(run(&mut c, "update mysql.user set password_last_changed = null; flush privileges"), "");
    assert!(!is_expired(&opened.db));
}

/// Tables of accounts as earlier versions and MySQL 5.6 have them.
#[test]
fn tables_of_accounts_get_the_columns_that_they_lack() {
    let opened = open();
    let mut c = root(&opened.db);
    let columns = "select group_concat(column_name order by ordinal_position) from information_schema.columns \
                   where table_schema = 'mysql' and table_name = 'user' and ordinal_position > 41";
    let all = run(&mut c, columns);
    assert!(
        all.ends_with(
            "password_expired,password_last_changed,password_lifetime,account_locked,Create_role_priv,Drop_role_priv"
        ),
        "{all}"
    );
    let definition = run(&mut c, "show create table mysql.user");
    assert_eq!(run(&mut c, "create user u@localhost identified by 'x' account lock"), "");
    let drop_them = "alter table mysql.user drop column password_last_changed, drop column password_lifetime, \
                     drop column create_role_priv, drop column drop_role_priv";
    assert_eq!(run(&mut c, drop_them), "");
    drop(c);
    let opened = opened.reopen();
    let mut c = root(&opened.db);
    assert_eq!(run(&mut c, columns), all);
    assert_eq!(run(&mut c, "show create table mysql.user"), definition);
    let set_now = "select count(*) from mysql.user where password_last_changed > now() - interval 1 hour";
    assert_eq!(run(&mut c, set_now), "2");
    assert!(opened.db.accounts().find("u", "localhost", &Transport::Socket).expect("there").locked);
    // A dump of a MySQL 5.6, taken in.
    assert_eq!(run(&mut c, &format!("{drop_them}, drop column account_locked")), "");
    assert_eq!(run(&mut c, "flush privileges"), "");
    assert_eq!(run(&mut c, "show create table mysql.user"), definition);
    assert_eq!(run(&mut c, set_now), "2");
    // Where nothing may be written accounts are read as they are, and lifetimes are refused by name.
    assert_eq!(run(&mut c, drop_them), "");
    drop(c);
    let opened =
        opened.reopen_with(&[("innodb_read_only", "1"), ("default_password_lifetime", "3")]).expect("opens");
    let mut c = root(&opened.db);
    assert!(!is_expired(&opened.db));
    let why = "this folder does not keep when passwords were set";
    assert_eq!(opened.db.start_notes(), [format!("default_password_lifetime is 0: {why}")]);
    assert_eq!(run(&mut c, "select @@default_password_lifetime"), "0");
    assert_eq!(
        run(&mut c, "set global default_password_lifetime = 3"),
        format!("1231 Variable 'default_password_lifetime' can't be set to the value of '3': {why}")
    );
    let refused = run(&mut c, "alter user u@localhost password expire interval 3 day");
    assert!(refused.contains("PASSWORD EXPIRE INTERVAL without the columns of mysql.user"), "{refused}");
}
