//! Roles, as MySQL 8.0 shows them: those that the session's account has, those that are active, what these may do.

use super::making::{Making, text, yes_no};
use crate::accounts::grants::Grants;
use crate::accounts::name::{Name, own_name};
use std::sync::Arc;
use vaquita_session::privilege::{Priv, RoutineGrant, TableGrant};
use vaquita_types::{SqlResult, Value};

fn grants_of(m: &Making<'_, '_>) -> Arc<Grants> {
    m.db.accounts().grants()
}

/// Roles of the session's account, and the roles of these.
fn applicable(m: &mut Making<'_, '_>, only_grantable: bool) -> SqlResult<()> {
    let (grants, own) = (grants_of(m), own_name(m.state()));
    let mut holders = vec![own.clone()];
    holders.extend(grants.with_roles_of_roles(&grants.roles_of(&own)));
    for to in holders {
        let direct = if to == own {
            grants.roles_of(&own)
        } else {
            grants.roles.edges.iter().filter(|edge| edge.to == to).map(|edge| edge.role.clone()).collect()
        };
        let defaults = grants.default_roles(&to);
        for role in direct {
            let grantable = grants.roles.edge(&role, &to).is_some_and(|edge| edge.admin);
            if only_grantable && !grantable {
                continue;
            }
            m.push(vec![
                text(&own.0),
                text(&own.1),
                text(&to.0),
                text(&to.1),
                text(&role.0),
                text(&role.1),
                yes_no(grantable),
                yes_no(defaults.contains(&role)),
                yes_no(grants.roles.is_mandatory(&role)),
            ]);
        }
    }
    Ok(())
}

pub(super) fn applicable_roles(m: &mut Making<'_, '_>) -> SqlResult<()> {
    applicable(m, false)
}

pub(super) fn administrable(m: &mut Making<'_, '_>) -> SqlResult<()> {
    applicable(m, true)
}

fn enabled(m: &Making<'_, '_>, grants: &Grants) -> Vec<Name> {
    grants.with_roles_of_roles(&m.state().roles)
}

pub(super) fn enabled_roles(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let grants = grants_of(m);
    let defaults = grants.default_roles(&own_name(m.state()));
    for role in enabled(m, &grants) {
        m.push(vec![
            text(&role.0),
            text(&role.1),
            yes_no(defaults.contains(&role)),
            yes_no(grants.roles.is_mandatory(&role)),
        ]);
    }
    Ok(())
}

/// Grants on tables of the roles that are active.
fn table_grants(m: &Making<'_, '_>) -> Vec<TableGrant> {
    let grants = grants_of(m);
    let roles = enabled(m, &grants);
    let of_role = |g: &&TableGrant| roles.iter().any(|(user, host)| *user == g.user && *host == g.host);
    grants.tables.iter().filter(of_role).cloned().collect()
}

/// User and host of who granted, and of the role.
fn parties(grantor: &str, role: (&str, &str)) -> Vec<Value<'static>> {
    let (user, host) = grantor.rsplit_once('@').unwrap_or((grantor, ""));
    vec![text(user), text(host), text(role.0), text(role.1)]
}

fn parties_of(grant: &TableGrant) -> Vec<Value<'static>> {
    parties(&grant.grantor, (&grant.user, &grant.host))
}

pub(super) fn role_routine_grants(m: &mut Making<'_, '_>) -> SqlResult<()> {
    let grants = grants_of(m);
    let roles = enabled(m, &grants);
    let of_role = |g: &&RoutineGrant| roles.iter().any(|(user, host)| *user == g.user && *host == g.host);
    for grant in grants.routines.iter().filter(of_role) {
        for name in (grant.privileges - Priv::GRANT).names() {
            let mut row = parties(&grant.grantor, (&grant.user, &grant.host));
            for _ in ["SPECIFIC", "ROUTINE"] {
                row.extend([text("def"), text(&grant.database), text(&grant.routine)]);
            }
            row.extend([text(name), yes_no(grant.privileges.has(Priv::GRANT))]);
            m.push(row);
        }
    }
    Ok(())
}

pub(super) fn role_table_grants(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for grant in table_grants(m) {
        for name in (grant.privileges - Priv::GRANT).names() {
            let mut row = parties_of(&grant);
            row.extend([text("def"), text(&grant.database), text(&grant.table), text(name)]);
            row.push(yes_no(grant.privileges.has(Priv::GRANT)));
            m.push(row);
        }
    }
    Ok(())
}

pub(super) fn role_column_grants(m: &mut Making<'_, '_>) -> SqlResult<()> {
    for grant in table_grants(m) {
        for (column, privileges) in &grant.columns {
            for name in privileges.names() {
                let mut row = parties_of(&grant);
                row.extend([
                    text("def"),
                    text(&grant.database),
                    text(&grant.table),
                    text(column),
                    text(name),
                ]);
                row.push(yes_no(grant.privileges.has(Priv::GRANT)));
                m.push(row);
            }
        }
    }
    Ok(())
}
