//! Statements about accounts, which are called data control: CREATE USER, GRANT, SET PASSWORD and the like. The accounts
//! themselves, in memory, are [`crate::accounts`].
//!
//! | part | file |
//! |---|---|
//! | the statements | `statements` |
//! | privileges on single procedures and functions | `routines` |
//! | those about roles | `roles` |
//! | the tables of `mysql` that accounts are kept in | `store` |

mod roles;
pub(crate) mod routines;
mod statements;
mod store;

pub(crate) use roles::chosen as chosen_roles;
pub(crate) use statements::{execute, set_password};

use crate::accounts::grants::Grants;
use crate::accounts::seconds_now;
use crate::database::Database;
use vaquita_types::SqlResult;

/// Reads the accounts of a folder; a new one gets the tables and `root@localhost`. Tables that are missing or damaged
/// close the door, whoever opens the folder from inside this process: [`crate::accounts::Accounts::closed`].
pub(crate) fn open(db: &Database) -> SqlResult<()> {
    let everybody = db.globals.is_on("skip_grant_tables");
    let made = make(db);
    if everybody {
        // What is wrong with the tables is the reason to come in this way.
        db.accounts().let_everybody_in();
        return Ok(());
    }
    let loaded = made.and_then(|()| store::load(db));
    let report = db.engine.report();
    match loaded {
        Ok(grants) => db.accounts().replace(grants),
        Err(_) if report.foreign => db
            .accounts()
            .close("the folder was made by another server, whose accounts are not read here", false),
        Err(e) => db.accounts().close(&format!("the accounts cannot be read: {}", e.message), true),
    }
    Ok(())
}

/// Makes the tables of a new folder, with `root@localhost` in them, and of one that is being taken over, without.
fn make(db: &Database) -> SqlResult<()> {
    if db.engine.core().storage.options().read_only {
        return Ok(());
    }
    if db.engine.report().taken_over {
        return store::create_missing(&db.engine);
    }
    if !store::is_new(db)? {
        complete(db);
        return Ok(());
    }
    store::create_missing(&db.engine)?;
    let root = [("root".to_owned(), "localhost".to_owned())];
    store::save(&mut *store::insider(db)?, &Grants::initial(seconds_now()), &root)
}

/// Gives a table of an older folder the columns that it lacks. Without them accounts are what they were: passwords only
/// expire by hand.
fn complete(db: &Database) {
    if db.engine.report().foreign {
        return;
    }
    if let Err(e) = store::add_missing_columns(db) {
        db.say_at_start(format!("mysql.user does not get the columns it lacks: {}", e.message));
    }
    if let Err(e) = store::create_later(&db.engine) {
        db.say_at_start(format!("not all tables of accounts are made: {}", e.message));
    }
}

/// Reads them again, and makes what is missing of their tables (FLUSH PRIVILEGES). From then on the accounts say who may
/// come in.
pub(crate) fn reload(db: &Database) -> SqlResult<()> {
    let accounts = db.accounts();
    let _one_at_a_time = accounts.lock_changes();
    if !db.engine.core().storage.options().read_only {
        store::create_missing(&db.engine)?;
        store::add_missing_columns(db)?;
    }
    let loaded = store::load(db)?;
    accounts.replace(loaded);
    accounts.reset_usage(|_, _| true);
    Ok(())
}
