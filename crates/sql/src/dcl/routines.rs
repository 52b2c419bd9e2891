//! Privileges on single procedures and functions.

use super::statements::change_grants;
use crate::accounts::grants::Grants;
use crate::accounts::name::{Name, own_name};
use crate::statement::StmtCx;
use vaquita_engine::ObjectKind;
use vaquita_session::privilege::{Priv, RoutineGrant};
use vaquita_types::{SqlError, SqlResult};

/// A procedure or function that privileges are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OfRoutine {
    pub(super) database: String,
    /// As it is compared.
    pub(super) name: String,
    pub(super) is_function: bool,
}

impl OfRoutine {
    fn is(&self, grant: &RoutineGrant) -> bool {
        grant.is_function == self.is_function && grant.routine == self.name && grant.database == self.database
    }

    fn of(&self, name: &Name, grant: &RoutineGrant) -> bool {
        grant.user == name.0 && grant.host == name.1 && self.is(grant)
    }
}

/// Whether the routine is there.
///
/// # Errors
/// 1305.
pub(super) fn check_there(cx: &StmtCx<'_>, routine: &OfRoutine) -> SqlResult<()> {
    let kind = if routine.is_function { ObjectKind::Function } else { ObjectKind::Procedure };
    let file_name = vaquita_catalog::file_name(&routine.database).ok();
    let objects = cx.db.engine.core().objects();
    match file_name.and_then(|database| objects.get(kind, &database, &routine.name).cloned()) {
        Some(_) => Ok(()),
        None => {
            let text = format!("FUNCTION or PROCEDURE {} does not exist", routine.name);
            Err(SqlError::new(1305, text))
        }
    }
}

/// Nobody gives away what they do not have, with the right to give it.
///
/// # Errors
/// 1370.
pub(super) fn may_grant(cx: &StmtCx<'_>, routine: &OfRoutine, wanted: Priv) -> SqlResult<()> {
    let privileges = &cx.state.privileges;
    let has = privileges.global
        | privileges.in_database(&routine.database)
        | privileges.on_routine(&routine.database, &routine.name, routine.is_function);
    let missing = (wanted | Priv::GRANT) - has;
    if missing.is_none() {
        return Ok(());
    }
    // What stands first in messages of 5.6 is not the right to give.
    let shown = match (missing - Priv::GRANT).is_none() {
        true => "grant",
        false if missing.has(Priv::EXECUTE) => "execute",
        false => "alter routine",
    };
    let (user, host) = (&cx.state.account_user, &cx.state.host);
    let text = format!(
        "{shown} command denied to user '{user}'@'{host}' for routine '{}.{}'",
        routine.database, routine.name
    );
    Err(SqlError::new(1370, text))
}

pub(super) fn grant(grants: &mut Grants, name: &Name, routine: &OfRoutine, what: Priv, grantor: &Name) {
    match grants.routines.iter_mut().find(|grant| routine.of(name, grant)) {
        Some(grant) => grant.privileges |= what,
        None if what.is_none() => {}
        None => grants.routines.push(RoutineGrant {
            user: name.0.clone(),
            host: name.1.clone(),
            database: routine.database.clone(),
            routine: routine.name.clone(),
            is_function: routine.is_function,
            grantor: format!("{}@{}", grantor.0, grantor.1),
            privileges: what,
        }),
    }
}

/// # Errors
/// 1403.
pub(super) fn revoke(grants: &mut Grants, name: &Name, routine: &OfRoutine, what: Priv) -> SqlResult<()> {
    let Some(grant) = grants.routines.iter_mut().find(|grant| routine.of(name, grant)) else {
        let (user, host) = name;
        let text = format!(
            "There is no such grant defined for user '{user}' on host '{host}' on routine '{}'",
            routine.name
        );
        return Err(SqlError::new(1403, text));
    };
    grant.privileges = grant.privileges - what;
    grants.routines.retain(|grant| !grant.privileges.is_none());
    Ok(())
}

fn automatic(cx: &StmtCx<'_>) -> bool {
    cx.db.globals.is_on("automatic_sp_privileges") && cx.db.accounts().check_usable().is_ok()
}

/// A routine has been made: whoever made it may execute and alter it.
///
/// # Errors
/// Of writing.
pub(crate) fn made(cx: &StmtCx<'_>, database: &str, name: &str, is_function: bool) -> SqlResult<()> {
    let what = Priv::EXECUTE | Priv::ALTER_ROUTINE;
    let name = name.to_lowercase();
    let routine = OfRoutine { database: database.to_owned(), name, is_function };
    let privileges = &cx.state.privileges;
    let has = privileges.global
        | privileges.in_database(&routine.database)
        | privileges.on_routine(&routine.database, &routine.name, is_function);
    let own = own_name(cx.state);
    if has.has(what) || !automatic(cx) || !cx.db.accounts().has_account(&own.0, &own.1) {
        return Ok(());
    }
    change_grants(cx, |grants| {
        grant(grants, &own, &routine, what, &own);
        Ok(vec![own.clone()])
    })
}

/// A routine is gone, and so are the privileges on it.
///
/// # Errors
/// Of writing.
pub(crate) fn dropped(cx: &StmtCx<'_>, database: &str, name: &str, is_function: bool) -> SqlResult<()> {
    let name = name.to_lowercase();
    let routine = OfRoutine { database: database.to_owned(), name, is_function };
    if !automatic(cx) || !cx.db.accounts().grants().routines.iter().any(|grant| routine.is(grant)) {
        return Ok(());
    }
    change_grants(cx, |grants| {
        let of = grants.routines.iter().filter(|grant| routine.is(grant));
        let changed = of.map(|grant| (grant.user.clone(), grant.host.clone())).collect();
        grants.routines.retain(|grant| !routine.is(grant));
        Ok(changed)
    })
}
