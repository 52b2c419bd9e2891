//! Reports of progress: packets that clients of MariaDB ask for, between a statement and its answer.

use crate::Door;
use crate::client::{Answer, CAPS, Client, Login, text};
use std::net::TcpStream;
use vaquita_server::packet::lenenc::Reader;
use vaquita_server::protocol::Capabilities;

/// Status of a result that another one follows.
const MORE: u16 = 8;

/// What a client of MariaDB says that wants reports.
const MARIADB: Capabilities =
    Capabilities(CAPS.0 & !Capabilities::LONG_PASSWORD.0 | Capabilities::PROGRESS.0);

fn connect(door: &Door, caps: Capabilities) -> Client<TcpStream> {
    let mut client = Client::dial(door.addr());
    assert!(matches!(client.log_in(&Login { caps, ..Login::default() }), Answer::Ok { .. }));
    client
}

/// Reports up to an answer: stage, stages, thousandths of a percent, name; and the answer.
fn reports(client: &mut Client<TcpStream>) -> (Vec<(u8, u8, u32, String)>, Answer) {
    let mut found = Vec::new();
    loop {
        let packet = client.packet().expect("an answer");
        if !packet.starts_with(&[0xFF, 0xFF, 0xFF]) {
            return (found, client.answer_of(&packet));
        }
        let mut r = Reader::new(&packet[3..]);
        assert_eq!(r.u8(), Ok(1), "one text");
        let (stage, stages) = (r.u8().expect("a whole report"), r.u8().expect("a whole report"));
        let share =
            r.bytes(3).expect("a whole report").iter().rev().fold(0, |share, &b| share << 8 | u32::from(b));
        let what = String::from_utf8_lossy(r.string().expect("a whole report")).into_owned();
        assert!(r.is_empty());
        found.push((stage, stages, share, what));
    }
}

fn expected() -> Vec<(u8, u8, u32, String)> {
    [(1, 12_500), (2, 25_000), (3, 37_500)].map(|(stage, share)| (stage, 3, share, "at work".into())).into()
}

#[test]
fn who_asks_is_told_of_every_stage() {
    let door = Door::open();
    let done = Answer::Ok { affected: 0, insert_id: 0, status: 2 };
    for more in [Capabilities(0), Capabilities::COMPRESS] {
        let mut client = connect(&door, MARIADB.with(more));
        client.say("WORK");
        assert_eq!(reports(&mut client), (expected(), done.clone()));
        client.say("WORKS");
        let first = Answer::Ok { affected: 0, insert_id: 0, status: 2 | MORE };
        assert_eq!(reports(&mut client), (expected(), first));
        assert_eq!(reports(&mut client), (expected(), text("second")));
        // What comes afterwards is as ever.
        assert_eq!(client.query("ECHO hello"), text("hello"));
        assert_eq!(client.query("FAIL").code(), 1146);
        client.say("TWO");
        assert!(matches!(client.answer(), Answer::Rows(..)));
        assert_eq!(client.answer(), text("second"));
    }
}

/// One that does not ask, one of MySQL where the flags of MariaDB are zeros, and one that says that it is of MySQL, whatever is there.
#[test]
fn nobody_else_is() {
    let door = Door::open();
    let done = Answer::Ok { affected: 0, insert_id: 0, status: 2 };
    let with_noise = CAPS.with(Capabilities(0xFFFF_FFFF << 32));
    for caps in [CAPS, Capabilities(MARIADB.0 & !Capabilities::PROGRESS.0), with_noise] {
        let mut client = connect(&door, caps);
        assert_eq!(client.query("WORK"), done);
    }
}

#[test]
fn progress_report_time_says_how_often() {
    let door = Door::open();
    let done = Answer::Ok { affected: 0, insert_id: 0, status: 2 };
    door.house.session.lock().progress_report_time_s = 0;
    let mut client = connect(&door, MARIADB);
    client.say("WORK");
    assert_eq!(reports(&mut client), (Vec::new(), done));
}

/// The answer to what was sent before is not held back, nor does it come twice.
#[test]
fn earlier_answers_go_out_with_a_report() {
    let door = Door::open();
    let mut client = connect(&door, MARIADB);
    client.say("ECHO first");
    client.say("WORK");
    client.seq = 1;
    assert_eq!(client.answer(), text("first"));
    client.seq = 1;
    let done = Answer::Ok { affected: 0, insert_id: 0, status: 2 };
    assert_eq!(reports(&mut client), (expected(), done));
}
