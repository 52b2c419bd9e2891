//! Every script at every level gives on the engine what MySQL 5.6.24 gave.

use vaquita_isolation::engine::EngineServer;
use vaquita_isolation::{Level, golden, script};

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
