//! Privileges on single procedures and functions, as MySQL 5.6.24 was seen to keep them.

use crate::support;

use support::{connect_as, open, root, run};
use vaquita_sql::sink::Collected;
use vaquita_sql::{Connection, Value};

/// Runs statements that must do what they should.
#[track_caller]
fn all(c: &mut Connection, list: &[&str]) {
    for sql in list {
        assert_eq!(run(c, sql), "", "{sql}");
    }
}

/// The rows of all results of a statement, or its error: CALL ends with a result that has none.
fn told(c: &mut Connection, sql: &str) -> String {
    let mut sink = Collected::default();
    match c.query(sql.as_bytes(), &mut sink) {
        Err(e) => format!("{} {}", e.code, e.message),
        Ok(()) => {
            let rows = sink.results.iter().flat_map(|result| &result.rows);
            rows.map(|row| row.iter().flatten().cloned().collect::<Vec<_>>().join("|"))
                .collect::<Vec<_>>()
                .join("\n")
        }
    }
}

const KEPT: &str = "select concat_ws(' ', user, routine_name, routine_type, grantor, proc_priv) from mysql.procs_priv \
                    where db = 'pp' order by user, routine_name, routine_type";

#[test]
fn granted_revoked_and_shown() {
    let opened = open();
    let mut r = root(&opened.db);
    all(
        &mut r,
        &[
            "create database pp",
            "use pp",
            "create user u1@localhost, u2@localhost",
            "create procedure p() select current_user()",
            "create function f() returns int return 1",
            "create procedure P2() select 2",
            "create definer = u1@localhost procedure du() select 1",
        ],
    );
    assert_eq!(run(&mut r, KEPT), "", "who may do everything is granted nothing");
    all(
        &mut r,
        &[
            "grant execute on procedure pp.p to u1@localhost",
            "grant execute on function pp.f to u1@localhost with grant option",
            "grant alter routine on procedure pp.P to u1@localhost",
            "grant all on procedure p2 to u1@localhost",
            "grant grant option on procedure pp.p to u2@localhost",
            "grant usage on procedure pp.p2 to u2@localhost",
        ],
    );
    for (sql, told) in [
        (
            "grant execute on procedure pp.nope to u1@localhost",
            "1305 FUNCTION or PROCEDURE nope does not exist",
        ),
        ("grant execute on function pp.p to u1@localhost", "1305 FUNCTION or PROCEDURE p does not exist"),
        ("grant execute on procedure nodb.p to u1@localhost", "1305 FUNCTION or PROCEDURE p does not exist"),
        ("grant select on procedure pp.p to u1@localhost", "1144 "),
        ("grant create routine on procedure pp.p to u1@localhost", "1144 "),
        (
            "revoke execute on procedure pp.p from nobody@localhost",
            "1141 There is no such grant defined for user 'nobody' on host 'localhost'",
        ),
        (
            "revoke execute on procedure pp.du from u2@localhost",
            "1403 There is no such grant defined for user 'u2' on host 'localhost' on routine 'du'",
        ),
        (
            "revoke execute on procedure pp.nope from u1@localhost",
            "1403 There is no such grant defined for user 'u1' on host 'localhost' on routine 'nope'",
        ),
    ] {
        let answer = run(&mut r, sql);
        assert!(answer.starts_with(told), "{sql}: {answer}");
    }
    assert_eq!(
        run(&mut r, "show grants for u1@localhost"),
        "GRANT USAGE ON *.* TO 'u1'@'localhost'\n\
         GRANT EXECUTE, ALTER ROUTINE ON PROCEDURE `pp`.`p` TO 'u1'@'localhost'\n\
         GRANT EXECUTE, ALTER ROUTINE ON PROCEDURE `pp`.`p2` TO 'u1'@'localhost'\n\
         GRANT EXECUTE ON FUNCTION `pp`.`f` TO 'u1'@'localhost' WITH GRANT OPTION"
    );
    assert_eq!(
        run(&mut r, "show grants for u2@localhost"),
        "GRANT USAGE ON *.* TO 'u2'@'localhost'\n\
         GRANT USAGE ON PROCEDURE `pp`.`p` TO 'u2'@'localhost' WITH GRANT OPTION"
    );
    assert_eq!(
        run(&mut r, KEPT),
        "u1 f FUNCTION root@localhost Execute,Grant\n\
         u1 p PROCEDURE root@localhost Execute,Alter Routine\n\
         u1 p2 PROCEDURE root@localhost Execute,Alter Routine\n\
         u2 p PROCEDURE root@localhost Grant"
    );
    all(
        &mut r,
        &[
            "revoke alter routine on procedure pp.p from u1@localhost",
            "rename user u1@localhost to u3@localhost",
        ],
    );
    drop(r);
    let opened = opened.reopen();
    let mut r = root(&opened.db);
    all(&mut r, &["use pp"]);
    assert_eq!(
        run(&mut r, "show grants for u3@localhost"),
        "GRANT USAGE ON *.* TO 'u3'@'localhost'\n\
         GRANT EXECUTE ON PROCEDURE `pp`.`p` TO 'u3'@'localhost'\n\
         GRANT EXECUTE, ALTER ROUTINE ON PROCEDURE `pp`.`p2` TO 'u3'@'localhost'\n\
         GRANT EXECUTE ON FUNCTION `pp`.`f` TO 'u3'@'localhost' WITH GRANT OPTION"
    );

    let mut u = connect_as(&opened.db, "u3", "localhost").unwrap();
    let denied = |what: &str, routine: &str| {
        format!("1370 {what} command denied to user 'u3'@'localhost' for routine 'pp.{routine}'")
    };
    for (sql, wanted) in [
        ("use pp", String::new()),
        ("call pp.p()", "root@localhost".into()),
        ("select pp.f()", "1".into()),
        ("call P2()", "2".into()),
        // Its definer is nobody here any more.
        ("call du()", denied("execute", "du")),
        ("show create procedure du", "1305 PROCEDURE du does not exist".into()),
        (
            "select group_concat(routine_name order by 1) from information_schema.routines where routine_schema = 'pp'",
            "f,p,P2".into(),
        ),
        (
            "select count(routine_definition) from information_schema.routines where routine_schema = 'pp'",
            "0".into(),
        ),
        ("grant execute on function pp.f to u2@localhost", String::new()),
        ("grant execute on procedure pp.p to u2@localhost", denied("grant", "p")),
        ("grant alter routine on function pp.f to u2@localhost", denied("alter routine", "f")),
        ("drop procedure p", denied("alter routine", "p")),
        ("alter procedure p2 comment 'x'", String::new()),
        ("drop procedure p2", String::new()),
    ] {
        assert_eq!(told(&mut u, sql), wanted, "{sql}");
    }
    assert_eq!(run(&mut u, "show databases"), "information_schema\npp");
    assert_eq!(
        run(&mut r, KEPT),
        "u2 f FUNCTION u3@localhost Execute\n\
         u2 p PROCEDURE root@localhost Grant\n\
         u3 f FUNCTION root@localhost Execute,Grant\n\
         u3 p PROCEDURE root@localhost Execute"
    );
    all(&mut r, &["drop user u3@localhost", "drop procedure p"]);
    assert_eq!(run(&mut r, KEPT), "u2 f FUNCTION u3@localhost Execute");
    all(&mut r, &["drop database pp"]);
    assert_eq!(
        run(&mut r, KEPT),
        "u2 f FUNCTION u3@localhost Execute",
        "as 5.6: they are there for one of that name"
    );
    all(&mut r, &["revoke all, grant option from u2@localhost"]);
    assert_eq!(run(&mut r, KEPT), "");
}

#[test]
fn automatic() {
    let opened = open();
    let mut r = root(&opened.db);
    all(
        &mut r,
        &[
            "create database pp",
            "create user cr@localhost, ex@localhost",
            "grant create routine on pp.* to cr@localhost",
            "grant create routine, execute, alter routine on pp.* to ex@localhost",
        ],
    );
    let mut c = connect_as(&opened.db, "cr", "localhost").unwrap();
    all(&mut c, &["use pp", "create procedure mine() select 1"]);
    let grants = |c: &mut Connection| run(c, "show grants").lines().skip(2).collect::<Vec<_>>().join("\n");
    assert_eq!(grants(&mut c), "GRANT EXECUTE, ALTER ROUTINE ON PROCEDURE `pp`.`mine` TO 'cr'@'localhost'");
    assert_eq!(told(&mut c, "call mine()"), "1");
    all(&mut c, &["alter procedure mine comment 'a'", "drop procedure mine"]);
    assert_eq!(grants(&mut c), "");
    all(&mut c, &["create function mine() returns int return 1"]);
    assert_eq!(grants(&mut c), "GRANT EXECUTE, ALTER ROUTINE ON FUNCTION `pp`.`mine` TO 'cr'@'localhost'");
    // Who may do that anyway is granted nothing.
    let mut e = connect_as(&opened.db, "ex", "localhost").unwrap();
    all(&mut e, &["use pp", "create procedure theirs() select 1"]);
    assert_eq!(run(&mut r, KEPT), "cr mine FUNCTION cr@localhost Execute,Alter Routine");
    // What was granted stays.
    all(&mut r, &["set global automatic_sp_privileges = 0"]);
    assert_eq!(run(&mut c, "select mine()"), "1");
    all(&mut c, &["create procedure later() select 1"]);
    assert!(run(&mut c, "call later()").starts_with("1370 "));
    all(&mut c, &["drop function mine"]);
    assert_eq!(run(&mut r, KEPT), "cr mine FUNCTION cr@localhost Execute,Alter Routine");
    all(&mut r, &["set global automatic_sp_privileges = 1", "drop user cr@localhost"]);
    assert_eq!(run(&mut r, KEPT), "");
}

/// `?` as OUT and INOUT arguments.
#[test]
fn out_parameters_of_prepared_calls() {
    let opened = open();
    let mut c = root(&opened.db);
    all(
        &mut c,
        &[
            "create database d",
            "use d",
            "create procedure p(in a int, out b varchar(20), inout c decimal(8,2)) begin select a; set b = concat('<', a, '>'); \
             set c = c * 2; end",
            "prepare s from 'call p(?, ?, ?)'",
            "set @a = 5, @b = 'x', @c = 1.25",
        ],
    );
    assert_eq!(run(&mut c, "execute s using @a, @b, @c; select @a, @b, @c"), "5|<5>|2.50");
    assert_eq!(run(&mut c, "execute s using @a, @b, @c; select @a, @b, @c"), "5|<5>|5.00");
    // A procedure that prepares such a call itself.
    all(
        &mut c,
        &[
            "create procedure outer_p(out x int) begin prepare t from 'call p(?, ?, ?)'; set @i = 7; \
             execute t using @i, @o, @io; set x = @i + 1; end",
            "prepare u from 'call outer_p(?)'",
            "set @io = 3",
        ],
    );
    assert_eq!(run(&mut c, "execute u using @x; select @x, @o, @io"), "8|<7>|6.00");
    assert!(run(&mut c, "prepare v from 'call p(1, ? + 1, ?)'; execute v using @a, @b").starts_with("1414 "));

    // By the protocol: a result of its own behind those of the procedure.
    let prepared = c.prepare(b"call p(?, ?, ?)").unwrap();
    let mut sink = Collected::default();
    let params = [Value::Int(9), Value::Null, Value::Bytes(b"1.5".as_slice().into())];
    c.execute(prepared.id, &params, &mut sink).unwrap();
    let results: Vec<_> = sink.results.iter().map(|r| (r.columns.len(), r.done.status & 4104)).collect();
    assert_eq!(results, [(1, 8), (2, 4104), (0, 0)]);
    let out = &sink.results[1];
    let names: Vec<_> = out.columns.iter().map(|c| String::from_utf8_lossy(&c.name).into_owned()).collect();
    assert_eq!(names, ["b", "c"]);
    assert_eq!(out.rows, [[Some("<9>".to_owned()), Some("3.00".to_owned())]]);
    // One that fails gives nothing.
    let mut sink = Collected::default();
    all(&mut c, &["create procedure bad(out a int) begin set a = 1; signal sqlstate '45000'; end"]);
    let prepared = c.prepare(b"call bad(?)").unwrap();
    assert_eq!(c.execute(prepared.id, &[Value::Null], &mut sink).unwrap_err().code, 1644);
    assert!(sink.results.is_empty());
}
