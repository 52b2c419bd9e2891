//! Roles: MySQL 8.0's manual, chapters "Using Roles" and the statements about them.

use crate::support;

use support::{connect_as, open, root, run};

fn all(c: &mut vaquita_sql::Connection, script: &[(&str, &str)]) {
    for (sql, answer) in script {
        assert_eq!(run(c, sql), *answer, "{sql}");
    }
}

const NO_SELECT: &str = "1142 SELECT command denied to user 'u'@'localhost' for table 't'";

#[test]
fn a_role_does_nothing_until_it_is_active() {
    let opened = open();
    let mut c = root(&opened.db);
    all(
        &mut c,
        &[
            ("create database d; create table d.t (a int, b int); insert into d.t values (1, 2)", ""),
            ("create role r, w@h", ""),
            ("create user u@localhost", ""),
            ("grant select on d.t to r", ""),
            ("grant insert, delete on d.* to w@h", ""),
            ("grant r, w@h to u@localhost", ""),
            (
                "show grants for u@localhost",
                "GRANT USAGE ON *.* TO 'u'@'localhost'\nGRANT `r`@`%`,`w`@`h` TO `u`@`localhost`",
            ),
            (
                "show grants for u@localhost using r",
                "GRANT USAGE ON *.* TO 'u'@'localhost'\nGRANT SELECT ON `d`.`t` TO 'u'@'localhost'\n\
                 GRANT `r`@`%`,`w`@`h` TO `u`@`localhost`",
            ),
            ("show grants for u@localhost using x", "3530 `x`@`%` is not granted to `u`@`localhost`"),
            ("select * from mysql.role_edges", "%|r|localhost|u|N\nh|w|localhost|u|N"),
        ],
    );
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    all(
        &mut u,
        &[
            ("select current_role()", "NONE"),
            ("select a from d.t", NO_SELECT),
            ("use d", "1044 Access denied for user 'u'@'localhost' to database 'd'"),
            ("set role r", ""),
            ("select current_role()", "`r`@`%`"),
            ("use d", ""),
            ("select a from t", "1"),
            (
                "insert into t values (3, 4)",
                "1142 INSERT command denied to user 'u'@'localhost' for table 't'",
            ),
            ("set role all", ""),
            ("select current_role()", "`r`@`%`,`w`@`h`"),
            ("insert into t values (3, 4)", ""),
            (
                "show grants",
                "GRANT USAGE ON *.* TO 'u'@'localhost'\n\
              GRANT INSERT, DELETE ON `d`.* TO 'u'@'localhost'\nGRANT SELECT ON `d`.`t` TO 'u'@'localhost'\n\
              GRANT `r`@`%`,`w`@`h` TO `u`@`localhost`",
            ),
            ("set role all except w@h", ""),
            (
                "insert into t values (3, 4)",
                "1142 INSERT command denied to user 'u'@'localhost' for table 't'",
            ),
            ("set role 'w'@'h', r", ""),
            ("delete from t where a = 3", ""),
            ("set role nothing", "3530 `nothing`@`%` is not granted to `u`@`localhost`"),
            ("select current_role()", "`r`@`%`,`w`@`h`"),
            ("set role none", ""),
            ("select a from d.t", NO_SELECT),
            ("set role default", ""),
            ("select current_role()", "NONE"),
            // The roles are not the user's to give.
            (
                "grant r to u@localhost",
                "1227 Access denied; you need (at least one of) the WITH ADMIN, ROLE_ADMIN, SUPER privilege(s) for this operation",
            ),
            (
                "create role x",
                "1227 Access denied; you need (at least one of) the CREATE USER privilege(s) for this operation",
            ),
            (
                "drop role r",
                "1227 Access denied; you need (at least one of) the CREATE USER privilege(s) for this operation",
            ),
            ("set default role r to r", "1044 Access denied for user 'u'@'localhost' to database 'mysql'"),
        ],
    );
}

#[test]
fn running_sessions_lose_what_is_revoked() {
    let opened = open();
    let mut c = root(&opened.db);
    all(
        &mut c,
        &[
            ("create database d; create table d.t (a int); insert into d.t values (1)", ""),
            ("create role r, r2; create user u@localhost", ""),
            ("grant select on d.* to r; grant r to r2; grant r2 to u@localhost", ""),
            ("set default role all to u@localhost", ""),
            ("select * from mysql.default_roles", "localhost|u|%|r2"),
        ],
    );
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    assert_eq!(run(&mut u, "prepare p from 'select a from d.t'"), "");
    assert_eq!(run(&mut u, "begin; execute p"), "1");
    assert_eq!(run(&mut u, "select current_role()"), "`r2`@`%`");
    // Of a role's role.
    assert_eq!(run(&mut c, "revoke r from r2"), "");
    assert_eq!(run(&mut u, "execute p"), NO_SELECT);
    assert_eq!(run(&mut c, "grant r to r2"), "");
    assert_eq!(run(&mut u, "execute p"), "1");
    // Of the role's privileges.
    assert_eq!(run(&mut c, "revoke select on d.* from r"), "");
    assert_eq!(run(&mut u, "execute p"), NO_SELECT);
    assert_eq!(run(&mut c, "grant select on d.t to r2"), "");
    assert_eq!(run(&mut u, "execute p"), "1");
    // Of the role itself.
    assert_eq!(run(&mut c, "revoke r2 from u@localhost"), "");
    assert_eq!(run(&mut u, "execute p"), NO_SELECT);
    assert_eq!(run(&mut u, "select current_role()"), "NONE");
    assert_eq!(run(&mut c, "select count(*) from mysql.default_roles"), "0");
    assert_eq!(run(&mut c, "revoke r2 from u@localhost"), "3530 `r2`@`%` is not granted to `u`@`localhost`");
    // The role is no more.
    assert_eq!(run(&mut c, "grant r2 to u@localhost"), "");
    assert_eq!(run(&mut u, "set role r2; execute p"), "1");
    assert_eq!(run(&mut c, "drop role r2"), "");
    assert_eq!(run(&mut u, "execute p"), NO_SELECT);
    assert_eq!(run(&mut c, "select count(*) from mysql.role_edges"), "0");
}

#[test]
fn roles_of_roles() {
    let opened = open();
    let mut c = root(&opened.db);
    let circle = |to: &str, role: &str| {
        format!(
            "4027 User account {to} is directly or indirectly granted to the role {role}. The GRANT would create a loop"
        )
    };
    all(
        &mut c,
        &[
            ("create role a, b, c, d; create user u", ""),
            ("grant a to b; grant b to c; grant c to u", ""),
            ("grant c to a", &circle("`a`@`%`", "`c`@`%`")),
            ("grant a to a", &circle("`a`@`%`", "`a`@`%`")),
            ("grant u to a", &circle("`a`@`%`", "`u`@`%`")),
            // Nothing of a statement that fails is done.
            ("grant c to d, a", &circle("`a`@`%`", "`c`@`%`")),
            ("select to_user from mysql.role_edges where from_user = 'c'", "u"),
            ("grant nobody to u", "3523 Unknown authorization ID `nobody`@`%`"),
            ("grant a to nobody", "3523 Unknown authorization ID `nobody`@`%`"),
            (
                "create user ''@localhost; grant a to ''@localhost",
                "3876 Cannot grant roles to an anonymous user.",
            ),
            ("create role a", "1396 Operation CREATE ROLE failed for 'a'@'%'"),
            ("create role if not exists a, e", ""),
            ("show warnings", "Note|3163|Authorization ID 'a'@'%' already exists."),
            ("drop role e, f", "1396 Operation DROP ROLE failed for 'f'@'%'"),
            ("drop role if exists e, f", ""),
            ("show warnings", "Note|3162|Authorization ID 'f'@'%' does not exist."),
            ("create role ''", "1396 Operation CREATE ROLE failed for ''@'%'"),
            ("rename user a to x", "3532 Renaming of a role identifier is forbidden"),
            ("rename user u to v", ""),
            ("select from_user, to_user from mysql.role_edges", "a|b\nb|c\nc|v"),
            // An account may be a role.
            ("grant v to d; create user x default role v, a", ""),
            ("show grants for x", "GRANT USAGE ON *.* TO 'x'@'%'\nGRANT `a`@`%`,`v`@`%` TO `x`@`%`"),
            ("alter user x default role a", ""),
            ("select default_role_user from mysql.default_roles where user = 'x'", "a"),
            ("alter user x default role b", "3530 `b`@`%` is not granted to `x`@`%`"),
            ("alter user x default role none", ""),
            ("select count(*) from mysql.default_roles", "0"),
            ("alter user x default role all", ""),
            (
                "show create user x",
                "CREATE USER 'x'@'%' IDENTIFIED WITH 'mysql_native_password' DEFAULT ROLE `a`@`%`,`v`@`%` REQUIRE NONE \
                 PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK",
            ),
            ("drop user v", ""),
            ("show grants for x", "GRANT USAGE ON *.* TO 'x'@'%'\nGRANT `a`@`%` TO `x`@`%`"),
            ("select account_locked, password_expired from mysql.user where user = 'a'", "Y|Y"),
        ],
    );
    // What a statement has done is there after a crash.
    drop(c);
    let opened = opened.crash_and_open_with(&[]).expect("opens");
    let mut c = root(&opened.db);
    all(
        &mut c,
        &[
            ("show grants for x", "GRANT USAGE ON *.* TO 'x'@'%'\nGRANT `a`@`%` TO `x`@`%`"),
            ("select user, default_role_user from mysql.default_roles", "x|a"),
            ("delete from mysql.role_edges where to_user = 'x'; flush privileges", ""),
            ("show grants for x", "GRANT USAGE ON *.* TO 'x'@'%'"),
            // Tables that are gone come back, and there are no roles until then.
            ("drop table mysql.role_edges; flush privileges; select count(*) from mysql.role_edges", "0"),
        ],
    );
}

#[test]
fn who_has_the_right_to_give_a_role_gives_it() {
    let opened = open();
    let mut c = root(&opened.db);
    assert_eq!(
        run(&mut c, "create role r, s; create user u@localhost, v; grant r to u@localhost with admin option"),
        ""
    );
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    let denied = "1227 Access denied; you need (at least one of) the WITH ADMIN, ROLE_ADMIN, SUPER privilege(s) for this operation";
    all(
        &mut u,
        &[
            ("grant r to v", denied),
            ("set role r", ""),
            ("grant r to v", ""),
            ("grant s to v", denied),
            ("grant r, s to v", denied),
            ("revoke r from v", ""),
            (
                "show grants",
                "GRANT USAGE ON *.* TO 'u'@'localhost'\nGRANT `r`@`%` TO `u`@`localhost` WITH ADMIN OPTION",
            ),
            (
                "select role_name, is_grantable from information_schema.administrable_role_authorizations",
                "r|YES",
            ),
            // The right is the session's as long as the role is.
            ("set default role r to u@localhost; set role none; grant r to v", denied),
        ],
    );
}

#[test]
fn mandatory_roles_are_everybodys() {
    let opened = open();
    let mut c = root(&opened.db);
    let is_mandatory = "3628 The role `r`@`%` is a mandatory role and can't be revoked or dropped. The restriction can \
                        be lifted by excluding the role identifier from the global variable mandatory_roles.";
    all(
        &mut c,
        &[
            ("create database d; create table d.t (a int); insert into d.t values (1)", ""),
            ("create role r; create user u@localhost; grant select on d.* to r", ""),
            (
                "set global mandatory_roles = 'r,'",
                "1231 Variable 'mandatory_roles' can't be set to the value of 'r,'",
            ),
            ("set global mandatory_roles = '`r`@`%`, ghost'", ""),
            ("drop role r", is_mandatory),
            ("drop user r", is_mandatory),
            ("revoke r from u@localhost", is_mandatory),
            ("rename user r to x", "3532 Renaming of a role identifier is forbidden"),
            (
                "show grants for u@localhost",
                "GRANT USAGE ON *.* TO 'u'@'localhost'\nGRANT `r`@`%` TO `u`@`localhost`",
            ),
        ],
    );
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    all(
        &mut u,
        &[
            ("select a from d.t", NO_SELECT),
            ("set role ghost", "3530 `ghost`@`%` is not granted to `u`@`localhost`"),
            ("set role r; select a from d.t", "1"),
            ("select role_name, is_default, is_mandatory from information_schema.enabled_roles", "r|NO|YES"),
        ],
    );
    assert_eq!(run(&mut c, "set global activate_all_roles_on_login = 1"), "");
    let mut second = connect_as(&opened.db, "u", "localhost").expect("connects");
    assert_eq!(run(&mut second, "select current_role(), a from d.t"), "`r`@`%`|1");
    assert_eq!(run(&mut c, "set global mandatory_roles = ''"), "");
    assert_eq!(run(&mut second, "select a from d.t"), NO_SELECT);
    assert_eq!(run(&mut u, "select a from d.t"), NO_SELECT);
    assert_eq!(run(&mut c, "drop role r"), "");
    // From the start on.
    assert_eq!(run(&mut c, "create role r2; grant select on d.* to r2"), "");
    drop((c, u, second));
    let options = [("mandatory_roles", "r2"), ("activate_all_roles_on_login", "1")];
    let opened = opened.reopen_with(&options).expect("opens");
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    assert_eq!(run(&mut u, "select current_role(), a from d.t"), "`r2`@`%`|1");
}

/// Programs and views run with the roles that their definers have when they come in.
#[test]
fn programs_run_with_their_definers_first_roles() {
    let opened = open();
    let mut c = root(&opened.db);
    all(
        &mut c,
        &[
            ("create database d; create table d.t (a int); insert into d.t values (1)", ""),
            ("create role r; create user u@localhost, v@localhost", ""),
            ("grant select on d.t to r; grant r to u@localhost", ""),
            ("grant execute on d.* to u@localhost, v@localhost", ""),
            (
                "create definer = u@localhost procedure d.p() select concat(current_role(), a) into @x from d.t",
                "",
            ),
            (
                "create definer = u@localhost procedure d.q() begin set role all; select concat(current_role(), a) into @x from d.t; end",
                "",
            ),
            (
                "create definer = u@localhost procedure d.i() sql security invoker select current_role(), a from d.t",
                "",
            ),
            (
                "create definer = u@localhost view d.v as select a from d.t; grant select on d.v to v@localhost",
                "",
            ),
        ],
    );
    let mut v = connect_as(&opened.db, "v", "localhost").expect("connects");
    let invalid = "1356 View 'd.v' references invalid table(s) or column(s) or function(s) or definer/invoker of view \
                   lack rights to use them";
    assert_eq!(run(&mut v, "call d.p()"), NO_SELECT);
    assert_eq!(run(&mut v, "select * from d.v"), invalid);
    // What a program makes active ends with it.
    assert_eq!(run(&mut v, "call d.q()"), "");
    assert_eq!(run(&mut v, "select @x, current_role()"), "`r`@`%`1|NONE");
    assert_eq!(run(&mut v, "set @x = null"), "");
    assert_eq!(run(&mut c, "set default role r to u@localhost"), "");
    assert_eq!(run(&mut v, "call d.p()"), "");
    assert_eq!(run(&mut v, "select @x, current_role()"), "`r`@`%`1|NONE");
    assert_eq!(run(&mut v, "select * from d.v"), "1");
    assert_eq!(run(&mut v, "call d.i()"), NO_SELECT.replace("'u'", "'v'"));
}

#[test]
fn information_schema_tells_of_roles() {
    let opened = open();
    let mut c = root(&opened.db);
    all(
        &mut c,
        &[
            ("create database d; create table d.t (a int, b int)", ""),
            ("create role r, s; create user u@localhost", ""),
            ("grant select, update (b) on d.t to r; grant r to s; grant s to u@localhost", ""),
            ("set default role s to u@localhost", ""),
        ],
    );
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    all(
        &mut u,
        &[
            (
                "select * from information_schema.applicable_roles",
                "u|localhost|u|localhost|s|%|NO|YES|NO\nu|localhost|s|%|r|%|NO|NO|NO",
            ),
            ("select * from information_schema.enabled_roles", "s|%|YES|NO\nr|%|NO|NO"),
            ("select * from information_schema.administrable_role_authorizations", ""),
            ("select * from information_schema.role_table_grants", "root|localhost|r|%|def|d|t|SELECT|NO"),
            ("select * from information_schema.role_column_grants", "root|localhost|r|%|def|d|t|b|UPDATE|NO"),
            ("set role none; select count(*) from information_schema.role_table_grants", "0"),
            ("select count(*) from information_schema.applicable_roles", "2"),
        ],
    );
}

/// What each privilege of 8.0 lets one do, and that none of the others does. A statement that is allowed answers "", or what
/// `allowed` says.
#[test]
fn each_privilege_of_8_0_does_its_own() {
    let opened = open();
    let mut c = root(&opened.db);
    let setup = "create database d; create table d.t (a int); create role r, away; create user other, cu@localhost; \
                 create procedure d.p() select 1; grant execute on *.* to cu@localhost; \
                 grant create view, show view, create routine, select on d.* to cu@localhost";
    assert_eq!(run(&mut c, setup), "");
    let names = [
        "CREATE ROLE",
        "DROP ROLE",
        "CONNECTION_ADMIN",
        "FLUSH_STATUS",
        "FLUSH_TABLES",
        "FLUSH_USER_RESOURCES",
        "ROLE_ADMIN",
        "SESSION_VARIABLES_ADMIN",
        "SET_USER_ID",
        "SHOW_ROUTINE",
        "SYSTEM_VARIABLES_ADMIN",
    ];
    // Statements with the privileges that will do, one of each; what takes them back; the error without one.
    let matrix: [(&str, &str, &[&str], u16); 19] = [
        ("create role made", "drop role made", &["CREATE ROLE"], 1227),
        ("create user made", "drop user made", &[], 1227),
        ("drop role away", "create role away", &["DROP ROLE"], 1227),
        ("drop user away", "create role away", &[], 1227),
        // Somebody comes in by it.
        ("drop role other", "create user other", &[], 1227),
        ("alter user r account unlock", "alter user r account lock", &[], 1227),
        ("kill query {root}", "", &["CONNECTION_ADMIN"], 1095),
        ("flush status", "", &["FLUSH_STATUS"], 1227),
        ("flush status, user_resources", "", &[], 1227),
        ("flush tables", "", &["FLUSH_TABLES"], 1227),
        ("flush user_resources", "", &["FLUSH_USER_RESOURCES"], 1227),
        ("flush privileges", "", &[], 1227),
        ("grant r to other", "revoke r from other", &["ROLE_ADMIN"], 1227),
        ("set session sql_log_off = 1", "", &["SESSION_VARIABLES_ADMIN", "SYSTEM_VARIABLES_ADMIN"], 1227),
        ("set global max_connections = 100", "", &["SYSTEM_VARIABLES_ADMIN"], 1227),
        // It takes another one as well.
        ("set global mandatory_roles = ''", "", &[], 1227),
        ("set global transaction read write", "", &["SYSTEM_VARIABLES_ADMIN"], 1227),
        ("create definer = root@localhost view d.v as select 1", "drop view d.v", &["SET_USER_ID"], 1227),
        (
            "create definer = root@localhost procedure d.q() select 1",
            "drop procedure d.q",
            &["SET_USER_ID"],
            1227,
        ),
    ];
    let kill_of_root = format!("kill query {}", c.id());
    for name in names {
        assert_eq!(run(&mut c, &format!("grant {name} on *.* to cu@localhost")), "", "{name}");
        let mut u = connect_as(&opened.db, "cu", "localhost").expect("connects");
        for (sql, back, by, without) in &matrix {
            let sql = if sql.starts_with("kill") { &kill_of_root } else { *sql };
            let told = run(&mut u, sql);
            match by.contains(&name) {
                true => {
                    assert_eq!(told, "", "{sql} with {name}");
                    // The session that is interrupted takes notice once.
                    let _ = run(&mut c, "select 1");
                    assert_eq!(run(&mut c, if back.is_empty() { "do 1" } else { back }), "", "{back}");
                }
                false => assert!(told.starts_with(&without.to_string()), "{sql} with {name}: {told}"),
            }
        }
        let body = run(
            &mut u,
            "select routine_definition from information_schema.routines where routine_name = 'p'",
        );
        assert_eq!(body, if name == "SHOW_ROUTINE" { "select 1" } else { "NULL" }, "{name}");
        assert_eq!(run(&mut c, "set global read_only = 1"), "");
        let written = run(&mut u, "create view d.w as select 1");
        assert_eq!(written.is_empty(), name == "CONNECTION_ADMIN", "{name}: {written}");
        assert_eq!(run(&mut c, "set global read_only = 0; drop view if exists d.w"), "");
        // Nobody gives what came without the right to give it.
        let denied = "1045 Access denied for user 'cu'@'localhost' (using password: NO)";
        assert_eq!(run(&mut u, &format!("grant {name} on *.* to other")), denied, "{name}");
        assert_eq!(run(&mut c, &format!("revoke {name} on *.* from cu@localhost")), "", "{name}");
        assert_eq!(
            run(&mut c, "show grants for cu@localhost").lines().next(),
            Some("GRANT EXECUTE ON *.* TO 'cu'@'localhost'"),
            "{name}"
        );
    }
    // Both together.
    assert_eq!(run(&mut c, "grant system_variables_admin, role_admin on *.* to cu@localhost"), "");
    let mut u = connect_as(&opened.db, "cu", "localhost").expect("connects");
    assert_eq!(run(&mut u, "set global mandatory_roles = ''"), "");
}

#[test]
fn dynamic_privileges_are_granted_each_with_its_own_option() {
    let opened = open();
    let mut c = root(&opened.db);
    all(
        &mut c,
        &[
            ("create database d; create user u@localhost, v, w; create role r", ""),
            ("grant select, role_admin, create role on *.* to u@localhost", ""),
            ("grant flush_status, show_routine on *.* to u@localhost with grant option", ""),
            (
                "show grants for u@localhost",
                "GRANT SELECT, CREATE ROLE ON *.* TO 'u'@'localhost'\nGRANT ROLE_ADMIN ON *.* TO `u`@`localhost`\n\
                 GRANT FLUSH_STATUS,SHOW_ROUTINE ON *.* TO `u`@`localhost` WITH GRANT OPTION",
            ),
            (
                "select * from mysql.global_grants",
                "u|localhost|FLUSH_STATUS|Y\nu|localhost|ROLE_ADMIN|N\nu|localhost|SHOW_ROUTINE|Y",
            ),
            ("select create_role_priv, drop_role_priv from mysql.user where user = 'u'", "Y|N"),
            (
                "select privilege_type, is_grantable from information_schema.user_privileges where grantee like '\\'u\\'%'",
                "SELECT|NO\nCREATE ROLE|NO\nROLE_ADMIN|NO\nFLUSH_STATUS|YES\nSHOW_ROUTINE|YES",
            ),
            ("grant role_admin on d.* to v", "3619 Illegal privilege level specified for ROLE_ADMIN"),
            ("grant show_routine on d.t to v", "3619 Illegal privilege level specified for SHOW_ROUTINE"),
            ("grant create role on d.* to v", "1221 Incorrect usage of DB GRANT and GLOBAL PRIVILEGES"),
            (
                "grant backup_admin on *.* to v",
                "1235 This version of Vaquita doesn't yet support 'the privilege BACKUP_ADMIN'",
            ),
            // What 5.6 calls all is all that ALL gives; SUPER is the rest.
            ("grant all on *.* to w", ""),
            ("show grants for w", "GRANT ALL PRIVILEGES ON *.* TO 'w'@'%'"),
            ("select count(*) from mysql.global_grants where user = 'w'", "0"),
            ("grant role_admin on *.* to w; revoke all on *.* from w", ""),
            ("show grants for w", "GRANT USAGE ON *.* TO 'w'@'%'"),
        ],
    );
    let mut u = connect_as(&opened.db, "u", "localhost").expect("connects");
    let denied = "1045 Access denied for user 'u'@'localhost' (using password: NO)";
    all(
        &mut u,
        &[
            ("grant flush_status on *.* to v", ""),
            ("grant flush_status, show_routine on *.* to v with grant option", ""),
            ("grant role_admin on *.* to v", denied),
            ("grant flush_status, role_admin on *.* to v", denied),
            ("grant flush_status, select on *.* to v", denied),
            ("revoke role_admin on *.* from v", denied),
            ("revoke flush_status on *.* from v", ""),
            (
                "select roles_graphml()",
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n  <key id=\"key0\" for=\"edge\" attr.name=\"color\" attr.type=\"int\" />\n  <key id=\"key1\" for=\"node\" attr.name=\"name\" attr.type=\"string\" />\n  <graph id=\"G\" edgedefault=\"directed\">\n  </graph>\n</graphml>\n",
            ),
        ],
    );
    // By a role, and after a crash.
    assert_eq!(run(&mut c, "grant role_admin on *.* to r; grant r to v; set default role r to v"), "");
    drop((c, u));
    let opened = opened.crash_and_open_with(&[]).expect("opens");
    let mut v = connect_as(&opened.db, "v", "%").expect("connects");
    let graph = run(&mut v, "select roles_graphml()");
    for part in [
        "<data key=\"key1\">`r`@`%`</data>",
        "<data key=\"key1\">`v`@`%`</data>",
        "source=\"n0\" target=\"n1\"",
    ] {
        assert!(graph.contains(part), "{graph}");
    }
    all(
        &mut v,
        &[
            ("grant r to w", ""),
            (
                "show grants",
                "GRANT USAGE ON *.* TO 'v'@'%'\nGRANT ROLE_ADMIN ON *.* TO `v`@`%`\n\
                 GRANT SHOW_ROUTINE ON *.* TO `v`@`%` WITH GRANT OPTION\nGRANT `r`@`%` TO `v`@`%`",
            ),
            (
                "set role none; grant r to w",
                "1227 Access denied; you need (at least one of) the WITH ADMIN, ROLE_ADMIN, SUPER privilege(s) for this operation",
            ),
            ("select roles_graphml()", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml />\n"),
        ],
    );
}

#[test]
fn revoke_forgives_what_is_not_there() {
    let opened = open();
    let mut c = root(&opened.db);
    all(
        &mut c,
        &[
            (
                "create database d; create table d.t (a int); create procedure d.p() select 1; create role r, s; create user u",
                "",
            ),
            ("grant r to u; grant select on d.t to u", ""),
            (
                "revoke insert on d.t from v",
                "1147 There is no such grant defined for user 'v' on host '%' on table 't'",
            ),
            ("revoke insert on d.t from v, u ignore unknown user", ""),
            ("show warnings", "Warning|3162|Authorization ID 'v'@'%' does not exist."),
            (
                "revoke if exists insert on d.t from v",
                "1147 There is no such grant defined for user 'v' on host '%' on table 't'",
            ),
            ("revoke select on d.* from u", "1141 There is no such grant defined for user 'u' on host '%'"),
            ("revoke if exists select on d.* from u", ""),
            ("show warnings", "Warning|1141|There is no such grant defined for user 'u' on host '%'"),
            ("revoke if exists execute on procedure d.p from u, v ignore unknown user", ""),
            ("show count(*) warnings", "2"),
            ("revoke s from u", "3530 `s`@`%` is not granted to `u`@`%`"),
            ("revoke if exists s, x, r from u", ""),
            (
                "show warnings",
                "Warning|3530|`s`@`%` is not granted to `u`@`%`\nWarning|3523|Unknown authorization ID `x`@`%`",
            ),
            ("revoke s from v ignore unknown user", ""),
            ("show warnings", "Warning|3162|Authorization ID 'v'@'%' does not exist."),
            ("revoke if exists s from v", "3523 Unknown authorization ID `v`@`%`"),
            ("show grants for u", "GRANT USAGE ON *.* TO 'u'@'%'\nGRANT SELECT ON `d`.`t` TO 'u'@'%'"),
            ("revoke if exists all, grant option from u, v ignore unknown user", ""),
            ("show grants for u", "GRANT USAGE ON *.* TO 'u'@'%'"),
            (
                "grant execute on procedure d.p to r with grant option; set @@session.sql_mode = @@session.sql_mode",
                "",
            ),
            ("grant r to root@localhost; set role r", ""),
            (
                "select grantor, grantee, specific_name, routine_schema, privilege_type, is_grantable from \
                 information_schema.role_routine_grants",
                "root|r|p|d|EXECUTE|YES",
            ),
        ],
    );
}
