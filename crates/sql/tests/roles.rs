//! Roles: MySQL 8.0's manual, chapters "Using Roles" and the statements about them.

mod support;

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
                "1227 Access denied; you need (at least one of) the WITH ADMIN, SUPER privilege(s) for this operation",
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
    let denied = "1227 Access denied; you need (at least one of) the WITH ADMIN, SUPER privilege(s) for this operation";
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
