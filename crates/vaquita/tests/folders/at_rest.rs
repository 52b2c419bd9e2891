//! Folders of servers that were shut down: nothing is wrong, whatever is left to purge.

use vaquita_peers::Mysql56;

use crate::{check, workload};

#[test]
fn shut_down_with_history_and_without() {
    let mut server = Mysql56::start(workload::options()).unwrap();
    workload::create(&server);
    workload::fill(&server);
    // An old snapshot keeps purge from everything that follows.
    let mut reader = server.session().unwrap();
    reader.run("start transaction with consistent snapshot").unwrap();
    reader.run("select count(*) from w.tc").unwrap();
    workload::change(&server);
    server.shutdown().unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("0 transactions active, 0 prepared"), "{out}");
    assert!(!out.contains(" 0 logs in the history"), "{out}");

    server.start_again().unwrap();
    workload::change(&server);
    server.shutdown_slow().unwrap();
    let (code, out) = check(server.datadir());
    assert_eq!(code, 0, "{out}");
    assert!(!out.contains("note:"), "{out}");
}
