//! Every script at every level gives on the engine what MySQL 5.6.24 gave.

use vaquita_isolation::engine::EngineServer;
use vaquita_isolation::script::Server;
use vaquita_isolation::{Level, golden, recording, script};

#[test]
fn scripts_play_as_on_the_original() {
    let mut server = EngineServer::open().unwrap();
    let mut differences = Vec::new();
    let scripts = script::all().unwrap();
    for script in &scripts {
        for level in Level::ALL {
            let golden = golden::read(&script.name, level).unwrap();
            server.follow(&golden);
            let difference = match script::play(script, level, &mut server) {
                Ok(played) => golden::difference(&golden, &played.to_string()),
                Err(e) => Some(e),
            };
            differences.extend(difference.map(|text| format!("{} at {level}: {text}", script.name)));
        }
    }
    let plays = 4 * scripts.len();
    assert!(
        differences.is_empty(),
        "{} of {plays} plays differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// Random histories whose outcome hangs on the last detail of who waits and which of two is the victim: requests that stand
/// in the queue for a moment, rows behind the end of a range, what a transaction weighs, which of several cycles is first.
#[test]
fn histories_of_waits_play_as_on_the_original() {
    let mut server = EngineServer::open().unwrap();
    let compared = recording::compare_kept(&mut server).unwrap();
    assert!(compared.plays == 31 && compared.races == 0, "{compared:?}");
    assert!(compared.wrong.is_empty() && compared.other_plan.is_empty(), "{}", compared.wrong.join("\n"));
}
