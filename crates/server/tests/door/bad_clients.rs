//! Clients that break rules, break off, or do not read.

use crate::client::{Answer, Client, text};
use crate::{Door, until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use vaquita_base::Rng;

/// The server still serves.
fn is_well(door: &Door) {
    assert_eq!(door.client().query("ECHO well"), text("well"));
}

#[test]
fn truncated_and_random_handshakes() {
    let door = Door::open();
    let mut rng = Rng::new(7);
    for round in 0..200 {
        let mut stream = TcpStream::connect(door.addr()).unwrap();
        let mut greeting = [0; 200];
        let _ = stream.read(&mut greeting).unwrap();
        let mut payload = vec![0; rng.index(300)];
        rng.fill(&mut payload);
        if round % 2 == 0 && payload.len() > 8 {
            // As far as it goes a login.
            payload[..4].copy_from_slice(&[0x8d, 0xa6, 0xbf, 0]);
        }
        let len = payload.len() as u32;
        let mut bytes = len.to_le_bytes()[..3].to_vec();
        bytes.push(1);
        bytes.extend_from_slice(&payload[..rng.index(payload.len() + 1)]);
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    door.until_connected(0);
    is_well(&door);
    assert!(door.house.aborted_connects.load(Ordering::Relaxed) > 100);
}

#[test]
fn a_handshake_that_is_none_gets_1043() {
    let door = Door::open();
    let mut client = Client::dial(door.addr());
    client.greeting().unwrap();
    client.send(&[0x8d, 0xa6, 0xbf, 0, 1, 2, 3]);
    assert_eq!(client.answer(), Answer::Error(1043, "Bad handshake".into()));
    assert_eq!(client.answer(), Answer::Gone);
    let mut old = Client::dial(door.addr());
    old.greeting().unwrap();
    old.send(b"\x05\0\0\0\0root\0");
    assert_eq!(old.answer().code(), 1251);
}

#[test]
fn packets_too_long_and_out_of_order() {
    let door = Door::open();
    let mut client = door.client();
    client.stream.write_all(b"\xff\xff\x7f\0\x03").unwrap();
    client.seq = 1;
    let message = "Got a packet bigger than 'max_allowed_packet' bytes";
    assert_eq!(client.answer(), Answer::Error(1153, message.into()));
    assert_eq!(client.answer(), Answer::Gone);
    let mut client = door.client();
    client.stream.write_all(b"\x01\0\0\x05\x0e").unwrap();
    client.seq = 1;
    assert_eq!(client.answer().code(), 1156);
    assert_eq!(client.answer(), Answer::Gone);
    is_well(&door);
}

#[test]
fn random_commands() {
    let door = Door::open();
    let mut rng = Rng::new(11);
    for _ in 0..200 {
        let mut client = door.client();
        for _ in 0..rng.index(20) {
            let mut payload = vec![0; rng.index(60)];
            rng.fill(&mut payload);
            if let Some(first) = payload.first_mut() {
                *first = rng.index(34) as u8;
                // A client that says good-bye, or changes its user, says nothing more; SHUTDOWN ends the test.
                if matches!(*first, 1 | 8 | 17) {
                    *first = 14;
                }
            }
            client.command(&payload);
        }
        let _ = client.stream.shutdown(std::net::Shutdown::Write);
        let mut rest = Vec::new();
        let _ = client.stream.read_to_end(&mut rest);
    }
    door.until_connected(0);
    is_well(&door);
}

#[test]
fn a_login_takes_no_longer_than_connect_timeout() {
    let door = Door::open();
    door.house.door.lock().connect_timeout_s = 1;
    let mut slow = Client::dial(door.addr());
    slow.greeting().unwrap();
    assert_eq!(slow.packet(), None);
    until(|| door.house.aborted_connects.load(Ordering::Relaxed) == 1);
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody() {
    let door = Door::with(vaquita_server::ServerOptions { loops: 1, ..Default::default() });
    let mut slow = door.client();
    // More than sockets take in between.
    slow.say("ROWS 300000 200");
    slow.say("ECHO end");
    is_well(&door);
    slow.seq = 1;
    let Answer::Rows(rows, _) = slow.answer() else { panic!("no rows") };
    assert_eq!(rows.len(), 300_000);
    slow.seq = 1;
    assert_eq!(slow.answer(), text("end"));
}

#[test]
fn a_client_that_never_reads_is_left() {
    let door = Door::open();
    door.house.session.lock().net_write_timeout_s = 1;
    let mut slow = door.client();
    slow.say("ROWS 300000 200");
    door.until_connected(0);
    is_well(&door);
}

#[test]
fn a_flood_is_refused_and_passes() {
    let door = Door::open();
    door.house.door.lock().max_connections = 20;
    let flood: Vec<_> = (0..300).filter_map(|_| TcpStream::connect(door.addr()).ok()).collect();
    until(|| door.house.too_many.load(Ordering::Relaxed) == 279);
    assert_eq!(door.server.connected(), 21);
    drop(flood);
    door.until_connected(0);
    is_well(&door);
}
