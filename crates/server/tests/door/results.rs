//! Commands and results.

use crate::Door;
use crate::client::{Answer, CAPS, Client, Login, text};
use vaquita_server::packet::lenenc::Reader;
use vaquita_server::protocol::Capabilities;

const MORE_RESULTS: u16 = 8;

fn connect(door: &Door, more: Capabilities) -> Client<std::net::TcpStream> {
    let mut client = Client::dial(door.addr());
    let login = Login { caps: CAPS.with(more), ..Login::default() };
    assert!(matches!(client.log_in(&login), Answer::Ok { .. }));
    client
}

#[test]
fn texts_results_errors() {
    let door = Door::open();
    for more in [Capabilities(0), Capabilities::DEPRECATE_EOF, Capabilities::COMPRESS] {
        let mut client = connect(&door, more);
        assert_eq!(client.query("ECHO hello"), text("hello"));
        assert_eq!(client.query("FAIL"), Answer::Error(1146, "Table 'test.x' doesn't exist".into()));
        assert_eq!(client.query("WAKE"), Answer::Ok { affected: 0, insert_id: 0, status: 2 });
        client.say("TWO");
        let first = Answer::Rows(vec![vec![Some(b"first".to_vec())]], 2 | MORE_RESULTS);
        assert_eq!(client.answer(), first);
        assert_eq!(client.answer(), text("second"));
        let Answer::Rows(rows, _) = client.query("ROWS 20000 50") else { panic!("no rows") };
        assert_eq!(rows.len(), 20_000);
        assert_eq!(rows[19_999], [Some(b"19999".to_vec()), Some(vec![b'x'; 50])]);
    }
}

#[test]
fn messages_are_what_the_session_makes_of_them() {
    let door = Door::open();
    let mut client = door.client();
    client.command("\u{2}käse".as_bytes());
    assert_eq!(client.answer(), Answer::Error(1049, "Unknown database 'kaese'".into()));
    assert_eq!(client.query("FAIL käse"), Answer::Error(1146, "Table 'test.kaese' doesn't exist".into()));
}

#[test]
fn rows_and_statements_over_16_mb() {
    let door = Door::open();
    door.house.session.lock().max_allowed_packet = 64 << 20;
    let mut client = door.client();
    for length in [0xFF_FFFF - 8, 0xFF_FFFF - 7, 0xFF_FFFF, 20_000_000] {
        let Answer::Rows(rows, _) = client.query(&format!("ROWS 2 {length}")) else { panic!("no rows") };
        assert!(rows.len() == 2 && rows[1][1].as_ref().is_some_and(|cell| cell.len() == length));
        let long = "y".repeat(length);
        assert!(client.query(&format!("ECHO {long}")) == text(&long));
    }
}

#[test]
fn pipelined_commands_are_answered_in_order() {
    let door = Door::open();
    let mut client = door.client();
    for i in 0..500 {
        client.say(&format!("ECHO {i}"));
        if i % 100 == 0 {
            client.say("ROWS 2000 100");
        }
    }
    for i in 0..500 {
        client.seq = 1;
        assert_eq!(client.answer(), text(&i.to_string()));
        if i % 100 == 0 {
            client.seq = 1;
            assert!(matches!(client.answer(), Answer::Rows(rows, _) if rows.len() == 2000));
        }
    }
}

#[test]
fn small_commands() {
    let door = Door::open();
    let mut client = door.client();
    let ok = Answer::Ok { affected: 0, insert_id: 0, status: 2 };
    let mut ask = |payload: &[u8]| {
        client.command(payload);
        client.packet().expect("an answer")
    };
    assert_eq!(ask(b"\x0e")[0], 0, "ping");
    assert_eq!(ask(b"\x09"), b"Uptime: 1  Threads: 1", "statistics");
    assert_eq!(ask(b"\x0d")[0], 0xFE, "debug");
    assert_eq!(ask(b"\x1b\x01\0")[0], 0xFE, "set option");
    assert_eq!(ask(b"\x1f")[0], 0, "reset connection");
    assert_eq!(ask(b"\x02test")[0], 0, "init db");
    assert_eq!(&ask(b"\x02none")[..3], b"\xff\x19\x04", "init db 1049");
    assert_eq!(&ask(b"\x12\0\0\0\0")[..3], b"\xff\x17\x04", "1047");
    assert_eq!(&ask(b"\x17\x01")[..3], b"\xff\x2b\x07", "1835");
    assert_eq!(&ask(b"")[..3], b"\xff\x17\x04", "1047 of an empty packet");
    assert_eq!(ask(b"\x07\x02")[0], 0, "refresh");
    assert_eq!(client.query("WAKE"), ok);
    client.command(b"\x04t\0");
    let field = client.packet().expect("a field");
    assert!(field.starts_with(b"\x03def\x04test\x01t\x01t\x04text\x04text\x0c") && field.ends_with(b"\xfb"));
    assert_eq!(client.packet().expect("an end")[0], 0xFE);
    client.command(b"\x04t\0nothing%\0");
    assert_eq!(client.packet().expect("an end")[0], 0xFE);
    client.command(b"\x01");
    assert_eq!(client.answer(), Answer::Gone);
}

fn prepare(client: &mut Client<std::net::TcpStream>) -> u32 {
    client.command(b"\x16ADD ? ?");
    let packet = client.packet().expect("an answer");
    let mut r = Reader::new(&packet);
    assert_eq!(r.u8(), Ok(0));
    let id = r.u32().expect("a number");
    assert_eq!((r.u16(), r.u16()), (Ok(2), Ok(2)));
    for _ in 0..2 {
        for _ in 0..2 {
            assert_eq!(&client.packet().expect("a definition")[..4], b"\x03def");
        }
        assert_eq!(client.packet().expect("an end")[0], 0xFE);
    }
    id
}

fn columns(client: &mut Client<std::net::TcpStream>) -> u16 {
    assert_eq!(client.packet().expect("an answer"), [2]);
    for _ in 0..2 {
        client.packet().expect("a column");
    }
    let end = client.packet().expect("an end");
    u16::from(end[3]) | u16::from(end[4]) << 8
}

#[test]
fn prepared_statements() {
    let door = Door::open();
    let mut client = door.client();
    let id = prepare(&mut client);
    let head = |command: u8, flags: u8| {
        let mut b = vec![command];
        b.extend_from_slice(&id.to_le_bytes());
        b.extend_from_slice(&[flags, 1, 0, 0, 0]);
        b
    };
    let mut run = head(0x17, 0);
    run.extend_from_slice(b"\0\x01\x08\0\xfd\0\x07\0\0\0\0\0\0\0\x03abc");
    client.command(&run);
    columns(&mut client);
    let row = b"\0\0\x07\0\0\0\0\0\0\0\x03abc".to_vec();
    assert_eq!(client.rows(2, true), Answer::Rows(vec![vec![Some(row.clone())]; 3], 2));
    // Types hold; the second parameter comes in pieces.
    for piece in [b"long ", b"data "] {
        let mut b = vec![0x18];
        b.extend_from_slice(&id.to_le_bytes());
        b.extend_from_slice(&[1, 0]);
        b.extend_from_slice(piece);
        client.command(&b);
    }
    let mut run = head(0x17, 0);
    run.extend_from_slice(b"\0\0\x08\0\0\0\0\0\0\0");
    client.command(&run);
    columns(&mut client);
    let long = b"\0\0\x08\0\0\0\0\0\0\0\x0along data ".to_vec();
    assert_eq!(client.rows(2, true), Answer::Rows(vec![vec![Some(long)]; 3], 2));
    // A cursor: metadata first, rows when they are fetched.
    let mut run = head(0x17, 1);
    run.extend_from_slice(b"\0\0\x07\0\0\0\0\0\0\0\x03abc");
    client.command(&run);
    assert_eq!(columns(&mut client), 2 | 64);
    let mut fetch = vec![0x1c];
    fetch.extend_from_slice(&id.to_le_bytes());
    fetch.extend_from_slice(&[2, 0, 0, 0]);
    client.command(&fetch);
    assert_eq!(client.rows(2, true), Answer::Rows(vec![vec![Some(row.clone())]; 2], 2 | 64));
    client.command(&fetch);
    assert_eq!(client.rows(2, true), Answer::Rows(vec![vec![Some(row)]; 1], 2 | 128));
    client.command(&fetch);
    assert_eq!(client.answer().code(), 1421);
    // What is wrong with parameters.
    let mut cut = head(0x17, 0);
    cut.extend_from_slice(b"\0\0\x08");
    client.command(&cut);
    assert_eq!(client.answer(), Answer::Error(1210, "Incorrect arguments to mysqld_stmt_execute".into()));
    client.command(b"\x17\x63\0\0\0\0\x01\0\0\0");
    let unknown = "Unknown prepared statement handler (99) given to mysqld_stmt_execute";
    assert_eq!(client.answer(), Answer::Error(1243, unknown.into()));
    let mut close = vec![0x19];
    close.extend_from_slice(&id.to_le_bytes());
    client.command(&close);
    client.command(&head(0x17, 0));
    assert_eq!(client.answer().code(), 1243);
}

#[test]
fn pieces_beyond_the_limit_fail_at_the_execution() {
    let door = Door::open();
    door.house.session.lock().max_allowed_packet = 2000;
    let mut client = door.client();
    let id = prepare(&mut client);
    for _ in 0..3 {
        let mut b = vec![0x18];
        b.extend_from_slice(&id.to_le_bytes());
        b.extend_from_slice(&[1, 0]);
        b.extend_from_slice(&[b'x'; 900]);
        client.command(&b);
    }
    let mut run = vec![0x17];
    run.extend_from_slice(&id.to_le_bytes());
    run.extend_from_slice(b"\0\x01\0\0\0\0\x01\x08\0\xfc\0\x08\0\0\0\0\0\0\0");
    client.command(&run);
    assert_eq!(client.answer().code(), 1105);
}

#[test]
fn files_from_the_client() {
    let door = Door::open();
    let mut client = door.client();
    for failing in [false, true] {
        client.say("FILE data.csv");
        assert_eq!(client.packet().expect("a request"), b"\xfbdata.csv");
        let pieces = if failing { 30 } else { 3 };
        for _ in 0..pieces {
            client.send(&[1; 50_000]);
        }
        client.send(b"");
        // The next command may follow at once.
        let seq = client.seq;
        client.say("ECHO next");
        client.seq = seq;
        if failing {
            assert_eq!(client.answer(), Answer::Error(1105, "that is enough".into()));
        } else {
            assert_eq!(client.answer(), Answer::Ok { affected: 150_000, insert_id: 150_000, status: 2 });
        }
        client.seq = 1;
        assert_eq!(client.answer(), text("next"));
    }
    let caps = Capabilities(CAPS.0 & !Capabilities::LOCAL_FILES.0);
    let mut without = Client::dial(door.addr());
    without.log_in(&Login { caps, ..Login::default() });
    assert_eq!(without.query("FILE data.csv").code(), 1148);
}
