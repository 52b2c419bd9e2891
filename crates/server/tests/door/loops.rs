//! Waiting statements, many clients, KILL, the end.

use crate::client::{Answer, Client, text};
use crate::{Door, until};
use std::sync::atomic::Ordering;
use std::time::Duration;
use vaquita_server::ServerOptions;

fn one_loop() -> Door {
    Door::with(ServerOptions { loops: 1, ..ServerOptions::default() })
}

fn id_of(client: &mut Client<std::net::TcpStream>) -> String {
    match client.query("ID") {
        Answer::Rows(rows, _) => String::from_utf8(rows[0][0].clone().unwrap_or_default()).expect("a number"),
        other => panic!("no number: {other:?}"),
    }
}

#[test]
fn waiting_statements_give_the_loop_away() {
    let door = one_loop();
    let mut waiting: Vec<_> = (0..50).map(|_| door.client()).collect();
    let mut other = door.client();
    for (i, client) in waiting.iter_mut().enumerate() {
        client.say("WAIT");
        client.say(&format!("ECHO after {i}"));
        assert_eq!(other.query("ECHO here"), text("here"));
    }
    door.house.waits.until_waiting(50);
    assert!(door.server.threads() >= 51);
    assert_eq!(other.query("WAKE"), Answer::Ok { affected: 0, insert_id: 0, status: 2 });
    for (i, client) in waiting.iter_mut().enumerate() {
        client.seq = 1;
        assert!(matches!(client.answer(), Answer::Ok { .. }));
        client.seq = 1;
        assert_eq!(client.answer(), text(&format!("after {i}")));
        assert_eq!(client.query("ECHO again"), text("again"));
    }
    // And again with the threads that are there now.
    waiting.iter_mut().for_each(|client| client.say("WAIT"));
    door.house.waits.until_waiting(50);
    other.query("WAKE");
    assert!(waiting.iter_mut().all(|client| matches!(client.answer(), Answer::Ok { .. })));
}

#[test]
fn kill_ends_idle_and_waiting_connections() {
    let door = one_loop();
    let mut killer = door.client();
    let mut idle = door.client();
    let idle_id = id_of(&mut idle);
    killer.query(&format!("KILL {idle_id}"));
    assert_eq!(idle.answer(), Answer::Gone);
    let mut waiting = door.client();
    let waiting_id = id_of(&mut waiting);
    waiting.say("WAIT");
    door.house.waits.until_waiting(1);
    killer.query(&format!("KILL {waiting_id}"));
    assert_eq!(waiting.answer().code(), 1317);
    assert_eq!(waiting.answer(), Answer::Gone);
    door.until_connected(1);
}

#[test]
fn a_client_that_leaves_while_it_waits_is_noticed() {
    let door = one_loop();
    let mut waiting = door.client();
    waiting.say("WAIT");
    door.house.waits.until_waiting(1);
    drop(waiting);
    door.until_connected(0);
    assert_eq!(door.house.sessions_ended.load(Ordering::Relaxed), 1);
}

#[test]
fn a_client_killing_itself() {
    let door = one_loop();
    let mut client = door.client();
    let id = id_of(&mut client);
    assert!(matches!(client.query(&format!("KILL {id}")), Answer::Ok { .. }));
    assert_eq!(client.answer(), Answer::Gone);
    door.until_connected(0);
}

#[test]
fn many_clients_at_once() {
    let door = Door::open();
    let addr = door.addr();
    std::thread::scope(|scope| {
        for t in 0..8 {
            scope.spawn(move || {
                let mut clients: Vec<_> = (0..25).map(|_| Client::connect(addr)).collect();
                for round in 0..20 {
                    clients.iter_mut().enumerate().for_each(|(i, c)| c.say(&format!("ECHO {t} {i} {round}")));
                    for (i, client) in clients.iter_mut().enumerate() {
                        assert_eq!(client.answer(), text(&format!("{t} {i} {round}")));
                    }
                }
            });
        }
    });
    door.until_connected(0);
    assert_eq!(door.house.sessions_ended.load(Ordering::Relaxed), 200);
}

#[test]
fn shutdown_ends_idle_and_waiting_sessions() {
    let door = Door::open();
    let mut idle = door.client();
    let mut waiting = door.client();
    waiting.say("WAIT");
    door.house.waits.until_waiting(1);
    assert!(door.server.shutdown(Duration::from_secs(30)));
    assert_eq!(door.house.sessions_ended.load(Ordering::Relaxed), 2);
    assert_eq!(waiting.answer().code(), 1317);
    idle.seq = 0;
    assert_eq!(idle.answer().code(), 1053, "an idle client is told why");
    assert_eq!(idle.answer(), Answer::Gone);
    assert!(std::net::TcpStream::connect(door.addr()).is_err());
}

#[test]
fn a_shutdown_may_be_asked_for_by_a_client() {
    let door = Door::open();
    let mut client = door.client();
    client.command(b"\x08\0");
    assert_eq!(client.packet().expect("an end")[0], 0xFE);
    door.server.wait_for_shutdown_request();
}

#[test]
fn idle_clients_are_sent_away() {
    let door = Door::open();
    door.house.session.lock().idle_timeout_s = 1;
    let mut client = door.client();
    assert_eq!(client.answer(), Answer::Gone);
    until(|| door.house.aborted_clients.load(Ordering::Relaxed) == 1);
}

/// Who has begun a command has `net_read_timeout` for the rest of it, however long idle clients may stay.
#[test]
fn clients_that_stop_within_a_command_are_sent_away() {
    use std::io::Write;
    let door = Door::open();
    door.house.session.lock().net_read_timeout_s = 1;
    let mut idle = door.client();
    let mut client = door.client();
    // Of a packet of nine bytes the first two.
    client.stream.write_all(&[9, 0, 0, 0, 3, b's']).expect("it is sent");
    assert_eq!(client.answer(), Answer::Gone);
    until(|| door.house.aborted_clients.load(Ordering::Relaxed) == 1);
    assert_eq!(idle.query("ECHO a"), text("a"));
}
