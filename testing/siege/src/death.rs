//! KILL in the middle of work: 1317, and nothing of it stays.

use crate::abuse::{ROWS, Target, clerk, expect, rows_of, until};
use crate::load::run;
use crate::{Failure, sure};
use std::io::ErrorKind;
use std::time::Duration;
use vaquita_base::Rng;
use vaquita_clients::wire::{Answer, Wire};

/// Runs a statement in one session and KILL in another one as soon as the first is at it. The answer, and the session.
fn killed(target: &Target, kill: &str, statement: &str) -> Result<(std::io::Result<Answer>, Wire), Failure> {
    let mut victim = clerk(target)?;
    let id = victim.query("select connection_id()")?.value().unwrap_or_default();
    let mut root = Wire::connect(target.port, "root")?;
    victim.say(statement)?;
    let look =
        format!("select count(*) from information_schema.processlist where id = {id} and command = 'Query'");
    // A short one may be over before it is seen.
    until("the statement runs", || {
        Ok(root.query(&look)?.value().as_deref() == Some("1") || victim.is_answered()?)
    })?;
    std::thread::sleep(Duration::from_millis(Rng::new(target.seed).below(40)));
    let done = root.query(&format!("{kill} {id}"))?;
    sure(matches!(done, Answer::Ok(_)), || format!("{kill}: {done:?}"))?;
    Ok((victim.answer(), victim))
}

/// Work of minutes.
const LONG: [&str; 7] = [
    "select a.id from siege.big a, siege.big b order by concat(a.pad, b.id) limit 1",
    "select count(*) from siege.big a, siege.big b, siege.big c where a.pad = concat(b.pad, c.k)",
    "select b.k, count(*) from siege.big a, siege.big b, siege.big c group by b.k, a.k",
    "select distinct a.pad, b.k, c.k from siege.big a, siege.big b, siege.big c",
    "select sleep(600)",
    "select count(*) from siege.big where sleep(0.01) = 0",
    "select benchmark(100000000000, sha1('x'))",
];

/// Statements that only read; the session goes on.
pub(crate) fn queries(target: &Target) -> Result<(), Failure> {
    for statement in LONG {
        let (answer, mut victim) = killed(target, "kill query", statement)?;
        match answer.map_err(|e| Failure(format!("{statement}: {e}")))? {
            // SLEEP tells that it was killed by its value.
            answer @ Answer::Rows(_) if statement.contains("sleep(600)") => {
                sure(answer.value().as_deref() == Some("1"), || format!("{statement}: {answer:?}"))?;
            }
            answer => expect(&answer, 1317, statement)?,
        }
        let after = victim.query("select 1 + 1")?;
        sure(after.value().as_deref() == Some("2"), || format!("after {statement}: {after:?}"))?;
    }
    Ok(())
}

/// Statements that change: rolled back, and the transaction they are part of goes on.
pub(crate) fn changes(target: &Target) -> Result<(), Failure> {
    let insert =
        "insert into siege.other select a.id * 20000 + b.id, a.k, b.pad from siege.big a, siege.big b";
    for statement in [
        insert,
        "update siege.big a, siege.big b set a.pad = 'changed' where sleep(0.001) = 0 and a.id = b.id",
        "update siege.big set pad = 'changed' where sleep(0.0005) = 0",
        "delete from siege.big where sleep(0.0005) = 0",
        "alter table siege.big modify pad varchar(220) not null, add column more int default 7, add key (pad)",
        "alter table siege.big add key killed (pad, k)",
    ] {
        let (answer, mut victim) = killed(target, "kill query", statement)?;
        // An ALTER may be done before the KILL comes.
        match answer.map_err(|e| Failure(format!("{statement}: {e}")))? {
            Answer::Ok(_) if statement.starts_with("alter") => undo(&mut victim)?,
            answer => expect(&answer, 1317, statement)?,
        }
        as_before(target, statement)?;
    }
    let mut victim = clerk(target)?;
    run(&mut victim, "begin")?;
    run(&mut victim, "insert into siege.other values (1, 1, 'before')")?;
    drop(victim);
    as_before(target, "a client that leaves its transaction")
}

/// What an ALTER did that was faster.
fn undo(victim: &mut Wire) -> Result<(), Failure> {
    for change in ["drop key pad", "drop column more", "drop key killed", "modify pad varchar(200) not null"]
    {
        match victim.query(&format!("alter table siege.big {change}"))? {
            Answer::Ok(_) | Answer::Error(1091, _) => {}
            other => return Err(Failure(format!("{change}: {other:?}"))),
        }
    }
    Ok(())
}

fn as_before(target: &Target, what: &str) -> Result<(), Failure> {
    // A client that is gone may still be rolled back.
    until(what, || Ok(rows_of(target, "other")? == 0))?;
    let mut wire = clerk(target)?;
    for (query, wanted) in [
        ("select count(*) from siege.big", ROWS),
        ("select count(*) from siege.big where pad = 'changed'", 0),
        ("select count(*) from siege.big force index (k) where k >= 0", ROWS),
        (
            "select count(*) from information_schema.columns where table_schema = 'siege' and table_name = 'big'",
            3,
        ),
    ] {
        let answer = wire.query(query)?;
        sure(answer.value() == Some(wanted.to_string()), || {
            format!("after {what}: {query}: {answer:?}, not {wanted}")
        })?;
    }
    let tables = "select group_concat(table_name order by table_name) from information_schema.tables where table_schema = 'siege'";
    let answer = wire.query(tables)?;
    sure(answer.value().as_deref() == Some("big,loaded,other"), || {
        format!("tables after {what}: {:?}", answer.value())
    })
}

/// KILL of whole connections: 1317 or nothing, and the end.
pub(crate) fn connections(target: &Target) -> Result<(), Failure> {
    for statement in
        [LONG[0], LONG[1], LONG[4], "update siege.big set pad = 'changed' where sleep(0.0005) = 0"]
    {
        let (answer, mut victim) = killed(target, "kill", statement)?;
        match answer {
            Ok(answer @ Answer::Error(..)) => expect(&answer, 1317, statement)?,
            Ok(other) => return Err(Failure(format!("{statement} goes on: {:.200}", format!("{other:?}")))),
            Err(e) => {
                let gone = matches!(e.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset);
                sure(gone, || format!("{statement}: {e}"))?;
            }
        }
        sure(victim.is_closed(), || format!("{statement}: the connection stays"))?;
    }
    // In the middle of a file.
    let mut victim = clerk(target)?;
    let id = victim.query("select connection_id()")?.value().unwrap_or_default();
    let asked = victim.query("load data local infile 'f' into table siege.loaded")?;
    sure(matches!(asked, Answer::File(_)), || format!("{asked:?}"))?;
    victim.send(b"1\tone\n")?;
    run(&mut Wire::connect(target.port, "root")?, &format!("kill {id}"))?;
    sure(victim.is_closed(), || "killed in the middle of a file: the connection stays".into())?;
    until("nothing of the file is there", || Ok(rows_of(target, "loaded")? == 0))?;
    as_before(target, "killed connections")
}
