//! One application on two servers.

use crate::{Extent, Failure, Host, Stage};
use std::fs;
use std::path::Path;
use vaquita_clients::Vaquita;
use vaquita_peers::{Flavour, MariaDb, Mysql56, Options, scratch_dir};

/// A program that people run on MySQL, and the work it does.
#[derive(Debug, Clone, Copy)]
pub struct Application {
    /// Its name, as in `cargo xtask applications NAME`.
    pub name: &'static str,
    /// The real server that judges.
    pub peer: Flavour,
    /// Settings of both servers: names with `_`, and values.
    pub settings: &'static [(&'static str, &'static str)],
    /// Plays it; what must be the same on both.
    pub play: fn(&Stage) -> Result<String, Failure>,
}

/// As the real servers are started (see `vaquita_peers`): a kill loses nothing, and nobody cuts the power here.
const OURS: [&str; 2] = ["--innodb_flush_log_at_trx_commit=2", "--max_allowed_packet=64M"];

/// Plays an application on Vaquita, whose binary is given, and on the real server, at the same time.
///
/// # Errors
/// It failed on one of them: with what it said, and the log of Vaquita. It says something else on Vaquita: with the first
/// lines that differ.
pub fn compare(application: &Application, binary: &Path, extent: Extent) -> Result<(), Failure> {
    let scratch = scratch_dir(&format!("vq-{}", application.name))?;
    let done = compare_in(application, binary, extent, &scratch);
    // What a failure left may be looked at.
    if done.is_ok() {
        let _ = fs::remove_dir_all(&scratch);
    }
    done
}

fn compare_in(
    application: &Application,
    binary: &Path,
    extent: Extent,
    scratch: &Path,
) -> Result<(), Failure> {
    let (ours, theirs) = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| on_peer(application, extent, scratch));
        let ours = on_vaquita(application, binary, extent, scratch);
        (ours, theirs.join())
    });
    let theirs = theirs.map_err(|_| Failure("the thread of the real server panicked".into()))?;
    let wrong: Vec<String> =
        [&ours, &theirs].iter().filter_map(|played| played.as_ref().err()).map(|e| e.0.clone()).collect();
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) if ours == theirs => Ok(()),
        (Ok(ours), Ok(theirs)) => {
            fs::write(scratch.join("vaquita.txt"), &ours)?;
            fs::write(scratch.join("peer.txt"), &theirs)?;
            let first = differences(&ours, &theirs);
            Err(Failure(format!("{} differs ({}):\n{first}", application.name, scratch.display())))
        }
        _ => Err(Failure(wrong.join("\n"))),
    }
}

/// Plays something that needs both servers at once: Vaquita's stage, and that of the real server.
///
/// # Errors
/// It failed: with what it said, and the log of Vaquita.
pub fn together(
    name: &str,
    peer: Flavour,
    binary: &Path,
    extent: Extent,
    play: fn(&Stage, &Stage) -> Result<String, Failure>,
) -> Result<String, Failure> {
    let scratch = scratch_dir(&format!("vq-{name}"))?;
    let theirs = start_peer(peer, Options::new())?;
    let ours = Vaquita::start(binary, &scratch.join("data"), &OURS)?;
    let stages = [(Host::vaquita(&ours), "vaquita"), (Host::peer(&theirs), "peer")];
    let stages = stages.map(|(host, folder)| Stage { host, scratch: scratch.join(folder), extent });
    for stage in &stages {
        fs::create_dir_all(&stage.scratch)?;
        stage.prepare()?;
    }
    let played = play(&stages[0], &stages[1]);
    let played = played.map_err(|Failure(why)| Failure(format!("{why}\nlog of Vaquita:\n{}", ours.log())))?;
    drop(ours);
    let _ = fs::remove_dir_all(&scratch);
    Ok(played)
}

fn start_peer(peer: Flavour, options: Options) -> Result<vaquita_peers::Server, Failure> {
    Ok(match peer {
        Flavour::Mysql56 => Mysql56::start(options)?,
        Flavour::MariaDb => MariaDb::start(options)?,
    })
}

fn on_vaquita(
    application: &Application,
    binary: &Path,
    extent: Extent,
    scratch: &Path,
) -> Result<String, Failure> {
    let options: Vec<String> =
        application.settings.iter().map(|(name, value)| format!("--{name}={value}")).collect();
    let options: Vec<&str> = OURS.into_iter().chain(options.iter().map(String::as_str)).collect();
    let mut server = Vaquita::start(binary, &scratch.join("data"), &options)?;
    let played = play(application, Host::vaquita(&server), extent, &scratch.join("vaquita"))
        .and_then(|played| server.stop().map(|()| played));
    played.map_err(|Failure(why)| Failure(format!("{why}\nlog of Vaquita:\n{}", server.log())))
}

fn on_peer(application: &Application, extent: Extent, scratch: &Path) -> Result<String, Failure> {
    // A real server says what it is: drivers know what its versions have.
    let settings = application.settings.iter().filter(|(name, _)| *name != "version");
    let options = settings.fold(Options::new(), |options, (name, value)| options.set(name, value));
    let server = start_peer(application.peer, options)?;
    play(application, Host::peer(&server), extent, &scratch.join("peer"))
}

fn play(application: &Application, host: Host, extent: Extent, folder: &Path) -> Result<String, Failure> {
    fs::create_dir_all(folder)?;
    let stage = Stage { host, scratch: folder.to_owned(), extent };
    stage.prepare()?;
    (application.play)(&stage)
}

/// The first lines that differ, of both.
fn differences(ours: &str, theirs: &str) -> String {
    let mut shown = String::new();
    let (mut ours, mut theirs) = (ours.lines(), theirs.lines());
    for number in 1.. {
        let (one, other) = match (ours.next(), theirs.next()) {
            (None, None) => break,
            (one, other) => (one.unwrap_or("(no line)"), other.unwrap_or("(no line)")),
        };
        if one != other {
            shown += &format!("line {number}:\n  Vaquita: {one}\n  peer:    {other}\n");
            if shown.len() > 4000 {
                break;
            }
        }
    }
    shown
}
