//! What the log says of a folder when it is opened: whose it is, what recovery did, who may come in.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use vaquita_server::ErrorLog;
use vaquita_sql::Database;

/// Before anything is made in a folder of another server: what that will be.
pub(super) fn announce_take_over(dir: &Path, log: &ErrorLog) {
    let dir = dir.display();
    log.warning(&format!(
        "{dir} was made by another server and is taken over: made in it are the tables SYS_VAQUITA_TABLES, \
         SYS_VAQUITA_DDL_LOG and SYS_VAQUITA_OBJECTS in the system tablespace, a mark on its page 5, a label in the log files, the file \
         vaquita.lock, and InnoDB tables user, db, tables_priv, columns_priv and proxies_priv of database mysql, without any \
         account"
    ));
}

/// What of the other server's files is kept up in a folder that was taken over just now.
pub(super) fn tell_of_server_files(db: &Database, dir: &Path, log: &ErrorLog) {
    let dir = dir.display();
    log.warning(&match db.engine().core().is_folder_of_a_server() {
        true => format!(
            "{dir}: the files that it has of tables, views and triggers are kept up: when it opens the folder again it knows all but the \
             routines and events that were made here"
        ),
        false => format!(
            "{dir}: mysql/user.frm is not there, by which a server's folder is known: files of tables, views and triggers are not kept up. \
             Tables that stand in them alone keep their definitions, and those with triggers can only be read"
        ),
    });
}

/// Whose the folder is, what recovery did, who may come in.
///
/// # Errors
/// The accounts cannot be read, and nobody has said that they are not needed.
pub(super) fn tell_what_was_found(db: &Database, log: &ErrorLog) -> Result<(), String> {
    for line in db.engine().report().lines() {
        log.note(&line);
    }
    for table in db.engine().leftovers() {
        log.note(&format!("{table}: left behind by an ALTER TABLE that was cut off; it is dropped"));
    }
    if db.engine().report().foreign {
        log.warning(
            "the folder was made by another server: it is open for reading only, and nothing in it changes; --take-over opens \
             it for writing",
        );
    }
    if db.accounts().are_skipped() {
        log.warning(
            "skip_grant_tables: everybody who reaches the socket or this machine's loopback may do everything; FLUSH \
             PRIVILEGES ends that for new connections",
        );
    }
    let Some(closed) = db.accounts().closed() else { return Ok(()) };
    let way = "start with --skip-grant-tables to come in, then FLUSH PRIVILEGES and CREATE USER";
    if closed.broken {
        return Err(format!("{}; {way}", closed.reason));
    }
    log.warning(&format!("nobody can log in: {}; {way}", closed.reason));
    Ok(())
}

/// The address to listen on: without accounts, none that other machines can reach.
pub(super) fn reachable(bind: IpAddr, db: &Database, log: &ErrorLog) -> IpAddr {
    if bind.is_loopback() || !db.accounts().are_skipped() {
        return bind;
    }
    let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
    log.warning(&format!("skip_grant_tables: {loopback} is listened on, not {bind}"));
    loopback
}
