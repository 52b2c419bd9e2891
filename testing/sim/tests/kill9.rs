//! A real process on the real disk, killed a few times.

#[test]
fn a_killed_process_loses_nothing_it_reported() {
    let exe = std::path::Path::new(env!("CARGO_BIN_EXE_torture"));
    match vaquita_sim::kill9::rounds(exe, 3, 1) {
        Ok(report) => println!("{report}"),
        Err(text) => panic!("{text}"),
    }
}

#[test]
fn a_killed_database_loses_nothing_it_reported() {
    let exe = std::path::Path::new(env!("CARGO_BIN_EXE_torture"));
    match vaquita_sim::database::kill9::rounds(exe, 4, 1) {
        Ok(durable) => println!("{durable} durable transactions"),
        Err(text) => panic!("{text}"),
    }
}
