//! ALTER TABLE that fails: the table is as it was.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::support;

use support::{open, root, run};

const TABLES: &str = "create database d; use d;
create table p (id int primary key);
insert into p values (1);
create table q (id int primary key, pid int, x int, v varchar(20), key (x), constraint old foreign key (x) references p (id));
insert into q values (1, 1, 1, 'one'), (2, 7, 1, 'two')";

/// Row 2 refers to nothing by `pid`. Foreign keys are held against the rows beside writers, beside readers, or without either.
const FAIL: &[(&str, &str)] = &[
    ("add constraint `ä fk` foreign key (pid) references p (id)", "1452"),
    ("add constraint new foreign key (pid) references p (id), lock=shared", "1452"),
    ("add constraint new foreign key (pid) references p (id), lock=exclusive", "1452"),
    (
        "add key mine (pid, x), add unique u (v), add constraint new foreign key (pid) references p (id)",
        "1452",
    ),
    ("drop foreign key old, drop key x, add constraint new foreign key (pid) references p (id)", "1452"),
    (
        "drop foreign key old, change v w varchar(30), add constraint new foreign key (pid) references p (id)",
        "1452",
    ),
    ("add fulltext words (v), add constraint new foreign key (pid) references p (id)", "1452"),
    (
        "drop key x, add key y (x), add constraint new foreign key (id) references p (nothing), add key (v)",
        "1215",
    ),
    ("add key mine (v), add constraint old foreign key (pid) references p (id)", "1022"),
    ("add column z int, add key (z), add constraint new foreign key (pid) references p (id)", "1452"),
];

#[test]
fn foreign_keys_that_cannot_come_leave_nothing_behind() {
    let opened = open();
    let mut c = root(&opened.db);
    TABLES.split(";\n").flat_map(|s| s.split("; ")).for_each(|s| assert_eq!(run(&mut c, s), ""));
    let shown = |c: &mut vaquita_sql::Connection| run(c, "show create table q");
    let before = shown(&mut c);
    for (change, code) in FAIL {
        let failed = run(&mut c, &format!("alter table q {change}"));
        assert!(failed.contains(code), "{change}: {failed}");
        assert_eq!(shown(&mut c), before, "{change}: {failed}");
    }
    assert!(run(&mut c, "check table q").ends_with("status|OK"), "{}", run(&mut c, "check table q"));
    // And it comes when the row refers to something.
    assert_eq!(run(&mut c, "update q set pid = 1"), "");
    let done = run(
        &mut c,
        "alter table q drop foreign key old, drop key x, add key x (pid, x), add constraint new foreign key (pid) references p (id)",
    );
    assert_eq!(done, "");
    let after = shown(&mut c);
    assert!(
        after.contains("CONSTRAINT `new`") && !after.contains("old") && after.contains("(`pid`,`x`)"),
        "{after}"
    );
}
