//! Too many connections, and slow ones.

use crate::abuse::{Target, clerk, expect, until};
use crate::{Failure, sure};
use std::time::{Duration, Instant};
use vaquita_clients::wire::{Answer, Wire};

/// Of [`crate::OPTIONS`].
const MAX_CONNECTIONS: usize = 40;

/// 1040 beyond `max_connections`; one more place is for SUPER.
pub(crate) fn connections(target: &Target) -> Result<(), Failure> {
    until("nobody else is there", || {
        let mut root = Wire::connect(target.port, "root")?;
        let answer = root.query("select count(*) from information_schema.processlist")?;
        Ok(answer.value().as_deref() == Some("1"))
    })?;
    let mut crowd = Vec::new();
    until("as many as may be", || {
        while crowd.len() < MAX_CONNECTIONS {
            match Wire::connect(target.port, "clerk") {
                Ok(wire) => crowd.push(wire),
                // The one that looked is not counted out yet.
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    })?;
    let mut late = Wire::dial("127.0.0.1", target.port)?;
    expect(&late.log_in("clerk", b"")?, 1040, "one more without SUPER")?;
    sure(late.is_closed(), || "refused, but not sent away".into())?;
    let mut root = None;
    until("SUPER finds a place", || {
        root = Wire::connect(target.port, "root").ok();
        Ok(root.is_some())
    })?;
    for _ in 0..100 {
        let mut wire = Wire::dial("127.0.0.1", target.port)?;
        let answer = wire.greeting()?;
        let wanted = Answer::Error(1040, "Too many connections".into());
        sure(answer == Some(wanted), || format!("in place of a greeting: {answer:?}"))?;
    }
    for wire in &mut crowd {
        sure(wire.query("select 1")?.value().as_deref() == Some("1"), || "the crowd is served".into())?;
    }
    drop(crowd);
    until("there is room again", || Ok(clerk(target).is_ok()))
}

/// Opened, some logged in, and dropped at once.
pub(crate) fn dropped(target: &Target) -> Result<(), Failure> {
    for i in 0..300 {
        let mut wire = Wire::dial("127.0.0.1", target.port)?;
        match i % 3 {
            0 => {}
            1 => drop(wire.greeting()?),
            _ => {
                wire.greeting()?;
                wire.send(&Wire::login("clerk", b""))?;
            }
        }
    }
    until("there is room again", || Ok(clerk(target).is_ok()))
}

/// `connect_timeout` is two seconds here.
pub(crate) fn slow_logins(target: &Target) -> Result<(), Failure> {
    let start = Instant::now();
    let mut wires = Vec::new();
    for i in 0..6 {
        let mut wire = Wire::dial("127.0.0.1", target.port)?;
        wire.greeting()?;
        let login = Wire::login("clerk", b"");
        if i % 2 == 0 {
            // A part of the login.
            std::io::Write::write_all(&mut wire.stream, &[login.len() as u8, 0, 0, 1])?;
            std::io::Write::write_all(&mut wire.stream, &login[..20])?;
        }
        wires.push(wire);
    }
    for wire in &mut wires {
        sure(wire.is_closed(), || "a login that does not come: the server waits on".into())?;
    }
    let took = start.elapsed();
    sure(took >= Duration::from_secs(1), || format!("sent away after {took:?}"))
}
