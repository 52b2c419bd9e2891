//! CREATE ROLE, DROP ROLE, GRANT and REVOKE of roles, SET ROLE, SET DEFAULT ROLE.

use super::statements::{change_grants, default_plugin, failed, needs_accounts, rules_accounts};
use crate::accounts::grants::{AccountGrants, Grants};
use crate::accounts::name::{Name, denied_mysql, name_of, own_name, shown};
use crate::accounts::roles::{Edge, quoted};
use crate::accounts::seconds_now;
use crate::statement::StmtCx;
use vaquita_parser::ast::{Forgives, RoleChoice, RoleStmt, UserName};
use vaquita_session::privilege::Priv;
use vaquita_types::{Level, SqlError, SqlResult};

/// Error 3523.
fn unknown(name: &Name) -> SqlError {
    SqlError::new(3523, format!("Unknown authorization ID {}", quoted(name)))
}

/// Error 3530.
fn not_granted(role: &Name, to: &Name) -> SqlError {
    SqlError::new(3530, format!("{} is not granted to {}", quoted(role), quoted(to)))
}

/// 3162, as the warning that it is when REVOKE ignores users that are not there.
pub(super) fn unknown_user(name: &Name) -> SqlError {
    SqlError::new(3162, format!("Authorization ID {} does not exist.", shown(name)))
}

/// Error 3628 of a role that nobody may drop or revoke.
pub(super) fn refuse_mandatory(grants: &Grants, role: &Name) -> SqlResult<()> {
    match grants.roles.is_mandatory(role) {
        false => Ok(()),
        true => Err(SqlError::new(
            3628,
            format!(
                "The role {} is a mandatory role and can't be revoked or dropped. The restriction can be lifted by \
                 excluding the role identifier from the global variable mandatory_roles.",
                quoted(role)
            ),
        )),
    }
}

/// Error 3532 of an account that others are granted: their grants are by its name.
pub(super) fn refuse_renaming(grants: &Grants, name: &Name) -> SqlResult<()> {
    match grants.roles.is_role(name) || grants.roles.is_mandatory(name) {
        false => Ok(()),
        true => Err(SqlError::new(3532, "Renaming of a role identifier is forbidden")),
    }
}

/// There are roles only where they can be kept.
fn check_kept(grants: &Grants) -> SqlResult<()> {
    match grants.roles.kept {
        true => Ok(()),
        false => {
            Err(SqlError::unsupported("roles without the tables mysql.role_edges and mysql.default_roles"))
        }
    }
}

fn names_of(users: &[UserName<'_>], own: &Name) -> Vec<Name> {
    users.iter().map(|user| name_of(user, own)).collect()
}

/// CREATE ROLE and the like. That accounts can be changed at all is known.
///
/// # Errors
/// Of the statement.
pub(super) fn execute(cx: &mut StmtCx<'_>, stmt: &RoleStmt<'_>) -> SqlResult<()> {
    let own = own_name(cx.state);
    match stmt {
        RoleStmt::Create { if_not_exists, roles } => create(cx, *if_not_exists, &names_of(roles, &own)),
        RoleStmt::Drop { if_exists, roles } => drop(cx, *if_exists, &names_of(roles, &own)),
        RoleStmt::Grant { roles, users, admin } => {
            let (roles, users) = (names_of(roles, &own), names_of(users, &own));
            may_grant_roles(cx, &roles)?;
            change_grants(cx, |grants| {
                for (role, user) in roles.iter().flat_map(|role| users.iter().map(move |user| (role, user))) {
                    grant(grants, role, user, *admin)?;
                }
                Ok(users)
            })
        }
        RoleStmt::Revoke { roles, users, forgives } => {
            let (roles, users) = (names_of(roles, &own), names_of(users, &own));
            may_grant_roles(cx, &roles)?;
            revoke(cx, &roles, users, *forgives)
        }
        RoleStmt::SetDefault { choice, users } => set_default(cx, choice, names_of(users, &own)),
        RoleStmt::Set(_) => Ok(()),
    }
}

/// A role is an account that nobody logs in by.
fn create(cx: &mut StmtCx<'_>, if_not_exists: bool, roles: &[Name]) -> SqlResult<()> {
    if !cx.state.privileges.global.has(Priv::CREATE_ROLE) {
        needs_accounts(cx, Priv::INSERT)?;
    }
    let plugin = default_plugin(cx);
    let mut there = Vec::new();
    change_grants(cx, |grants| {
        check_kept(grants)?;
        let mut made = Vec::new();
        for name in roles {
            if name.0.is_empty() || grants.account(&name.0, &name.1).is_some() {
                there.push(name.clone());
                continue;
            }
            crate::accounts::name::check_name(name)?;
            grants.accounts.push(AccountGrants {
                user: name.0.clone(),
                host: name.1.clone(),
                plugin: plugin.clone(),
                password_expired: true,
                password_changed: Some(seconds_now()),
                locked: true,
                ..AccountGrants::default()
            });
            made.push(name.clone());
        }
        let nameless = there.iter().any(|name| name.0.is_empty());
        match !there.is_empty() && !if_not_exists || nameless {
            true => Err(failed("CREATE ROLE", &there)),
            false => Ok(made),
        }
    })?;
    for name in there {
        let text = format!("Authorization ID {} already exists.", shown(&name));
        cx.state.warnings.push(Level::Note, 3163, text);
    }
    Ok(())
}

fn drop(cx: &mut StmtCx<'_>, if_exists: bool, roles: &[Name]) -> SqlResult<()> {
    let only_roles = !rules_accounts(cx, Priv::DELETE);
    if only_roles {
        cx.state.check_global(Priv::DROP_ROLE).or_else(|_| needs_accounts(cx, Priv::DELETE))?;
    }
    let denied = || needs_accounts(cx, Priv::DELETE);
    let mut missing = Vec::new();
    change_grants(cx, |grants| {
        let mut changed = Vec::new();
        for name in roles {
            refuse_mandatory(grants, name)?;
            let Some(account) = grants.account(&name.0, &name.1) else {
                missing.push(name.clone());
                continue;
            };
            // Who somebody comes in by is for those to drop who may drop users.
            if only_roles && !account.locked {
                denied()?;
            }
            super::statements::forget_account(grants, name);
            changed.push(name.clone());
        }
        match missing.is_empty() || if_exists {
            true => Ok(changed),
            false => Err(failed("DROP ROLE", &missing)),
        }
    })?;
    for name in missing {
        let text = format!("Authorization ID {} does not exist.", shown(&name));
        cx.state.warnings.push(Level::Note, 3162, text);
    }
    Ok(())
}

/// Roles are given and taken by ROLE_ADMIN and SUPER, or by who has each of them active with the right to give it.
pub(super) fn may_grant_roles(cx: &StmtCx<'_>, roles: &[Name]) -> SqlResult<()> {
    if cx.state.privileges.may(Priv::ROLE_ADMIN) {
        return Ok(());
    }
    let grants = cx.db.accounts().grants();
    let active = grants.with_roles_of_roles(&cx.state.roles);
    let own = own_name(cx.state);
    let may = |role: &Name| {
        let holders = active.iter().chain([&own]);
        active.contains(role)
            && holders.into_iter().any(|to| grants.roles.edge(role, to).is_some_and(|edge| edge.admin))
    };
    match roles.iter().all(may) {
        true => Ok(()),
        false => Err(SqlError::new(
            1227,
            "Access denied; you need (at least one of) the WITH ADMIN, ROLE_ADMIN, SUPER privilege(s) for this operation",
        )),
    }
}

/// Grants a role to an account, which may be a role.
pub(super) fn grant(grants: &mut Grants, role: &Name, to: &Name, admin: bool) -> SqlResult<()> {
    check_kept(grants)?;
    if to.0.is_empty() {
        return Err(SqlError::new(3876, "Cannot grant roles to an anonymous user."));
    }
    for name in [role, to] {
        if name.0.is_empty() || grants.account(&name.0, &name.1).is_none() {
            return Err(unknown(name));
        }
    }
    if role == to || grants.with_roles_of_roles(std::slice::from_ref(role)).contains(to) {
        return Err(SqlError::new(
            4027,
            format!(
                "User account {} is directly or indirectly granted to the role {}. The GRANT would create a loop",
                quoted(to),
                quoted(role)
            ),
        ));
    }
    match grants.roles.edges.iter_mut().find(|edge| edge.role == *role && edge.to == *to) {
        // What may be given further stays so, as WITH GRANT OPTION does.
        Some(edge) => edge.admin |= admin,
        None => grants.roles.edges.push(Edge { role: role.clone(), to: to.clone(), admin }),
    }
    Ok(())
}

fn revoke(cx: &mut StmtCx<'_>, roles: &[Name], users: Vec<Name>, forgives: Forgives) -> SqlResult<()> {
    let mut forgiven = Vec::new();
    change_grants(cx, |grants| {
        check_kept(grants)?;
        let is_there = |grants: &Grants, name: &Name| grants.account(&name.0, &name.1).is_some();
        for role in roles {
            refuse_mandatory(grants, role)?;
            for user in &users {
                let wrong = match () {
                    () if !is_there(grants, role) => Some((unknown(role), forgives.not_granted)),
                    () if !is_there(grants, user) => Some(match forgives.unknown_users {
                        true => (unknown_user(user), true),
                        false => (unknown(user), false),
                    }),
                    () if grants.roles.edge(role, user).is_none() => {
                        Some((not_granted(role, user), forgives.not_granted))
                    }
                    () => None,
                };
                match wrong {
                    None => grants.roles.revoke(role, user),
                    Some((e, true)) => forgiven.push(e),
                    Some((e, false)) => return Err(e),
                }
            }
        }
        Ok(users.into_iter().filter(|user| is_there(grants, user)).collect())
    })?;
    forgiven.into_iter().for_each(|e| cx.state.warnings.push(Level::Warning, e.code, e.message));
    Ok(())
}

/// SET DEFAULT ROLE.
fn set_default(cx: &StmtCx<'_>, choice: &RoleChoice<'_>, users: Vec<Name>) -> SqlResult<()> {
    let own = own_name(cx.state);
    if users.iter().any(|user| *user != own) && !rules_accounts(cx, Priv::UPDATE) {
        return Err(denied_mysql(&own));
    }
    change_grants(cx, |grants| {
        for user in &users {
            choose_default(grants, user, choice, &own)?;
        }
        Ok(users)
    })
}

/// These roles are active when the account comes in.
pub(super) fn choose_default(
    grants: &mut Grants,
    user: &Name,
    choice: &RoleChoice<'_>,
    own: &Name,
) -> SqlResult<()> {
    check_kept(grants)?;
    if grants.account(&user.0, &user.1).is_none() {
        return Err(unknown(user));
    }
    let granted = grants.roles_of(user);
    let chosen = match choice {
        RoleChoice::None | RoleChoice::Default => Vec::new(),
        RoleChoice::AllBut(_) => granted,
        RoleChoice::Listed(roles) => {
            let roles = names_of(roles, own);
            if let Some(role) = roles.iter().find(|role| !granted.contains(role)) {
                return Err(not_granted(role, user));
            }
            roles
        }
    };
    grants.roles.defaults.retain(|(of, _)| of != user);
    grants.roles.defaults.extend(chosen.into_iter().map(|role| (user.clone(), role)));
    Ok(())
}

/// The roles that SET ROLE makes active.
///
/// # Errors
/// 3530: one of them is not granted.
pub(crate) fn chosen(cx: &StmtCx<'_>, choice: &RoleChoice<'_>) -> SqlResult<Vec<Name>> {
    let own = own_name(cx.state);
    let grants = cx.db.accounts().grants();
    let granted = grants.roles_of(&own);
    Ok(match choice {
        RoleChoice::None => Vec::new(),
        RoleChoice::Default => grants.first_roles(&own),
        RoleChoice::AllBut(but) => {
            let but = names_of(but, &own);
            granted.into_iter().filter(|role| !but.contains(role)).collect()
        }
        RoleChoice::Listed(roles) => {
            let mut roles = names_of(roles, &own);
            if let Some(role) = roles.iter().find(|role| !granted.contains(role)) {
                return Err(not_granted(role, &own));
            }
            roles.sort();
            roles.dedup();
            roles
        }
    })
}
