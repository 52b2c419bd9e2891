//! System variables of the door, and what each of them does there.

use crate::memcached::Bed;
use vaquita_clients::wire::{Answer, Wire};

#[test]
fn variables_of_the_door() {
    let bed = Bed::new(
        "door",
        &[
            "--memcached-threads=3",
            "--memcached-max-connections=77",
            "--memcached-max-item-size=2097152",
            "--memcached-cache-size=32M",
            "--memcached-idle-timeout=300",
        ],
    );
    let settings = bed.ask("stats settings\r\n", "END");
    for line in ["maxconns 77", "num_threads 3", "item_size_max 2097152", "idle_timeout 300"] {
        assert!(settings.contains(&format!("STAT {line}\r\n")), "{line}: {settings}");
    }
}

/// A session of SQL in a transaction.
fn sql(bed: &Bed) -> Wire {
    let mut wire = Wire::connect(bed.server.port(), "root").expect("a connection");
    does(&mut wire, "begin");
    wire
}

fn does(wire: &mut Wire, statement: &str) {
    let answer = wire.query(statement).expect("answered");
    assert!(!matches!(answer, Answer::Error(..)), "{statement}: {answer:?}");
}

const UPDATE: &str = "update test.demo_test set c2 = 'dirty' where c1 = 'AA'";

#[test]
fn reads_see_what_trx_level_and_their_batch_let_them_see() {
    let get = |text: &str| format!("VALUE AA 8 {}\r\n{text}\r\nEND\r\n", text.len());
    let old = get("HELLO, HELLO");
    for (level, batch, uncommitted, committed) in [
        ("0", "1", "dirty", "dirty"),
        ("2", "1", "HELLO, HELLO", "dirty"),
        ("2", "1000", "HELLO, HELLO", "HELLO, HELLO"),
    ] {
        let options =
            [format!("--innodb-api-trx-level={level}"), format!("--daemon-memcached-r-batch-size={batch}")];
        let bed = Bed::new("levels", &[&options[0], &options[1]]);
        let mut talk = bed.connect();
        assert_eq!(talk.ask("get AA\r\n", "END"), old);
        let mut sql = sql(&bed);
        does(&mut sql, UPDATE);
        assert_eq!(talk.ask("get AA\r\n", "END"), get(uncommitted), "{options:?}");
        does(&mut sql, "commit");
        assert_eq!(talk.ask("get AA\r\n", "END"), get(committed), "{options:?}");
    }
}

#[test]
fn changes_lock_rows_or_the_table() {
    for (disabled, refused) in [("OFF", false), ("ON", true)] {
        let option = format!("--innodb-api-disable-rowlock={disabled}");
        let bed = Bed::new("rowlock", &[&option, "--innodb-lock-wait-timeout=1"]);
        let mut sql = sql(&bed);
        does(&mut sql, UPDATE);
        // Another row of the table.
        let answer = bed.ask("set other 0 0 1\r\nx\r\n", if refused { "SERVER_ERROR" } else { "STORED" });
        assert_eq!(answer.contains("lock wait timeout"), refused, "{disabled}: {answer}");
        does(&mut sql, "rollback");
        assert_eq!(bed.ask("set other 0 0 1\r\nx\r\n", "STORED"), "STORED\r\n");
    }
}
