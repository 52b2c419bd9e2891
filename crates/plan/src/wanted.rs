//! Privileges that follow from what is read.

use crate::tree::TableUse;
use vaquita_session::privilege::{Priv, Wanted};

/// What a SELECT needs, from what it reads.
pub fn wanted_of(uses: &[TableUse]) -> Vec<Wanted> {
    let one = |u: &TableUse| {
        let mut wanted = Wanted::select(&u.database, &u.table, u.columns.iter().map(String::as_str));
        wanted.view.clone_from(&u.view);
        wanted.through.clone_from(&u.through);
        wanted.own = u.own;
        if u.locked {
            // Any privilege to change the table; MySQL asks for one of UPDATE, DELETE, LOCK TABLES.
            wanted.any_of = Priv::UPDATE | Priv::DELETE | Priv::LOCK_TABLES;
        }
        wanted
    };
    let is_virtual = |u: &&TableUse| u.database.eq_ignore_ascii_case("information_schema");
    let mut wanted: Vec<Wanted> = uses.iter().filter(|u| !is_virtual(u)).map(one).collect();
    // The engine's inner life is not for everybody. The stopwords that everybody has are.
    let of_engine = |u: &TableUse| {
        u.table.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("INNODB_"))
            && !u.table.eq_ignore_ascii_case("INNODB_FT_DEFAULT_STOPWORD")
    };
    if uses.iter().any(|u| is_virtual(&u) && of_engine(u)) {
        wanted.push(Wanted::global(Priv::PROCESS));
    }
    wanted
}
