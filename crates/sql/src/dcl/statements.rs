//! CREATE USER, ALTER USER, DROP USER, RENAME USER, GRANT, REVOKE, SET PASSWORD.

use super::roles::{choose_default, may_grant_roles};
use super::routines::{self, OfRoutine};
use super::store;
use crate::accounts::grants::{AccountGrants, Grants, SslKind};
use crate::accounts::name::{Name, denied_mysql, name_of, own_name, shown};
use crate::accounts::{name, seconds_now};
use crate::statement::StmtCx;
use vaquita_exec::Outcome;
use vaquita_parser::ast::{
    Auth, CreateUser, DropUser, Grant, GrantLevel, GrantWhat, PasswordExpire, Privilege, ProgramKind,
    Require, ResourceLimits, RoleChoice, SetPassword, Stmt, UserName, UserSpec,
};
use vaquita_session::password;
use vaquita_session::privilege::{DatabaseGrant, Priv, Privileges, TableGrant, Wanted};
use vaquita_types::{Level, SqlError, SqlMode, SqlResult};

pub(super) fn failed(operation: &str, names: &[Name]) -> SqlError {
    let list = names.iter().map(shown).collect::<Vec<_>>().join(",");
    SqlError::new(1396, format!("Operation {operation} failed for {list}"))
}

/// Stored form for `caching_sha2_password`, with a salt of its own.
fn sha2_stored(password: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let mut random = [0; password::SALT_LEN];
    let mut filled = 0;
    // Reads of this size do not fail once the system is up; what is not filled would still be a salt.
    while filled < random.len() {
        match rustix::rand::getrandom(&mut random[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(n) => filled += n,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
    }
    password::sha2_stored(password, &password::printable_salt(random))
}

/// Stored form of what IDENTIFIED says: plugin and authentication.
fn authentication(auth: &Auth<'_>, default_plugin: &str) -> SqlResult<(String, Vec<u8>)> {
    let stored = |plugin: &str, password: &[u8]| match plugin {
        password::CACHING_SHA2 => sha2_stored(password),
        _ => password::native_stored(password),
    };
    let hash = |hash: &[u8]| match password::is_native_stored(hash) {
        true => Ok(hash.to_ascii_uppercase()),
        false => Err(SqlError::new(1372, "Password hash should be a 41-digit hexadecimal number")),
    };
    Ok(match auth {
        Auth::Password(password) => (default_plugin.to_owned(), stored(default_plugin, password)),
        Auth::Hash(given) => (password::NATIVE.to_owned(), hash(given)?),
        Auth::Plugin { plugin, password: given, hash: stored_as } => {
            let plugin = match plugin.to_string().to_lowercase() {
                name if name == password::NATIVE || name == password::CACHING_SHA2 => name,
                _ => return Err(SqlError::new(1524, format!("Plugin '{plugin}' is not loaded"))),
            };
            let bytes = match (given, stored_as) {
                (Some(password), _) => stored(&plugin, password),
                (None, Some(given)) if plugin == password::NATIVE => hash(given)?,
                (None, Some(given)) => given.to_vec(),
                (None, None) => Vec::new(),
            };
            (plugin, bytes)
        }
    })
}

fn set_limits(account: &mut AccountGrants, limits: &ResourceLimits) {
    let given = [limits.queries_per_hour, limits.updates_per_hour, limits.connections_per_hour];
    for (kept, given) in account.limits.iter_mut().zip(given) {
        *kept = given.unwrap_or(*kept);
    }
    account.max_user_connections = limits.user_connections.unwrap_or(account.max_user_connections);
}

fn set_require(account: &mut AccountGrants, require: Option<&Require<'_>>) {
    account.ssl = match require {
        None => account.ssl,
        Some(Require::None) => SslKind::None,
        Some(Require::Ssl) => SslKind::Any,
        Some(Require::X509) => SslKind::X509,
        Some(Require::Details { .. }) => SslKind::Specified,
    };
    match require {
        None => {}
        Some(Require::Details { cipher, issuer, subject }) => {
            account.demanded = [issuer, subject, cipher].map(|text| text.unwrap_or_default().to_vec());
        }
        Some(_) => account.demanded = Default::default(),
    }
}

/// Lifetimes that nobody can have, and all of them where there is no place to keep them.
fn refuse_lifetime(cx: &StmtCx<'_>, expire: Option<PasswordExpire>) -> SqlResult<()> {
    let asked = match expire {
        Some(PasswordExpire::Days(days)) if days == 0 || days > u64::from(u16::MAX) => {
            return Err(SqlError::new(1525, format!("Incorrect DAY value: '{days}'")));
        }
        Some(PasswordExpire::Days(_)) => "PASSWORD EXPIRE INTERVAL",
        Some(PasswordExpire::Never) => "PASSWORD EXPIRE NEVER",
        Some(PasswordExpire::Now | PasswordExpire::Default) | None => return Ok(()),
    };
    match cx.db.accounts().keep_lifetimes() {
        true => Ok(()),
        false => Err(SqlError::unsupported(&format!("{asked} without the columns of mysql.user for it"))),
    }
}

/// Whether the session may make, change or drop accounts: by CREATE USER, or because it may change their tables by
/// hand.
pub(super) fn rules_accounts(cx: &StmtCx<'_>, by_hand: Priv) -> bool {
    let privileges = &cx.state.privileges;
    privileges.global.has(Priv::CREATE_USER)
        || (privileges.global | privileges.in_database("mysql")).has(by_hand)
}

/// The same as an error 1227.
pub(super) fn needs_accounts(cx: &StmtCx<'_>, by_hand: Priv) -> SqlResult<()> {
    if rules_accounts(cx, by_hand) { Ok(()) } else { cx.state.check_global(Priv::CREATE_USER) }
}

/// Passwords of others, and what GRANT changes of accounts besides privileges: UPDATE in `mysql`.
fn may_update_accounts(cx: &StmtCx<'_>) -> SqlResult<()> {
    let privileges = &cx.state.privileges;
    if (privileges.global | privileges.in_database("mysql")).has(Priv::UPDATE) {
        return Ok(());
    }
    Err(denied_mysql(&own_name(cx.state)))
}

/// CREATE USER, GRANT and the like. That accounts can be changed at all is known.
///
/// # Errors
/// Of the statement.
pub(crate) fn execute(cx: &mut StmtCx<'_>, stmt: &Stmt<'_>) -> SqlResult<Outcome> {
    check_lengths(stmt)?;
    match stmt {
        Stmt::CreateUser(create) if create.alter => alter_users(cx, create)?,
        Stmt::CreateUser(create) => create_users(cx, create)?,
        Stmt::DropUser(drop) => drop_users(cx, drop)?,
        Stmt::RenameUsers(pairs) => rename_users(cx, pairs)?,
        Stmt::Grant(grant) => grant_or_revoke(cx, grant)?,
        Stmt::Role(role) => super::roles::execute(cx, role)?,
        _ => {}
    }
    Ok(Outcome::default())
}

/// Whether all accounts that a statement names have names that fit.
///
/// # Errors
/// 1470.
fn check_lengths(stmt: &Stmt<'_>) -> SqlResult<()> {
    let specs = match stmt {
        Stmt::CreateUser(create) => create.users,
        Stmt::Grant(grant) => grant.users,
        Stmt::DropUser(drop) => return drop.users.iter().try_for_each(name::check_length),
        Stmt::RenameUsers(pairs) => {
            return pairs.iter().flat_map(|(from, to)| [from, to]).try_for_each(name::check_length);
        }
        _ => return Ok(()),
    };
    specs.iter().try_for_each(|spec| name::check_length(&spec.name))
}

/// Changes the grants: in the tables, then in memory. What `change` returns are the accounts it changed.
pub(super) fn change_grants(
    cx: &StmtCx<'_>,
    change: impl FnOnce(&mut Grants) -> SqlResult<Vec<Name>>,
) -> SqlResult<()> {
    let accounts = cx.db.accounts();
    accounts.check_usable()?;
    let _one_at_a_time = accounts.lock_changes();
    let mut grants = (*accounts.grants()).clone();
    let changed = change(&mut grants)?;
    grants.sort();
    store::save(&mut *store::insider(cx.db)?, &grants, &changed)?;
    accounts.replace(grants);
    Ok(())
}

/// Whoever gets limits begins to count anew.
fn limits_given(cx: &StmtCx<'_>, users: &[UserSpec<'_>], limits: &ResourceLimits) {
    if *limits == ResourceLimits::default() {
        return;
    }
    let own = own_name(cx.state);
    let names: Vec<Name> = users.iter().map(|spec| name_of(&spec.name, &own)).collect();
    cx.db.accounts().reset_usage(|user, host| names.iter().any(|name| name.0 == user && name.1 == host));
}

pub(super) fn default_plugin(cx: &StmtCx<'_>) -> String {
    cx.db.globals().text("default_authentication_plugin").unwrap_or_else(|| password::NATIVE.to_owned())
}

fn create_users(cx: &mut StmtCx<'_>, create: &CreateUser<'_>) -> SqlResult<()> {
    needs_accounts(cx, Priv::INSERT)?;
    refuse_lifetime(cx, create.expire)?;
    let new_roles = match create.default_role {
        Some(RoleChoice::Listed(roles)) => {
            roles.iter().map(|role| name_of(role, &own_name(cx.state))).collect()
        }
        _ => Vec::new(),
    };
    may_grant_roles(cx, &new_roles)?;
    let (own, plugin) = (own_name(cx.state), default_plugin(cx));
    let mut notes = Vec::new();
    change_grants(cx, |grants| {
        let (mut made, mut there) = (Vec::new(), Vec::new());
        for spec in create.users {
            let name = name_of(&spec.name, &own);
            if grants.account(&name.0, &name.1).is_some() {
                there.push(name);
                continue;
            }
            let mut account = new_account(&name, spec, &plugin)?;
            set_require(&mut account, create.require.as_ref());
            set_limits(&mut account, &create.limits);
            set_expiry(&mut account, create.expire);
            account.locked = create.locked == Some(true);
            grants.accounts.push(account);
            for role in &new_roles {
                super::roles::grant(grants, role, &name, false)?;
            }
            if let Some(choice) = &create.default_role {
                choose_default(grants, &name, choice, &own)?;
            }
            made.push(name);
        }
        if !there.is_empty() && !create.if_exists {
            return Err(failed("CREATE USER", &there));
        }
        notes = there;
        Ok(made)
    })?;
    for name in notes {
        let message = format!("Authorization ID {} already exists.", shown(&name));
        cx.state.warnings.push(Level::Note, 3163, message);
    }
    Ok(())
}

fn alter_users(cx: &mut StmtCx<'_>, alter: &CreateUser<'_>) -> SqlResult<()> {
    let (own, plugin) = (own_name(cx.state), default_plugin(cx));
    // Everybody may change the own password; limits, locks and demands are there to bind the account itself.
    let own_password = alter.users.iter().all(|s| s.auth.is_some() && name_of(&s.name, &own) == own)
        && (alter.require.is_none() && alter.limits == ResourceLimits::default())
        && (alter.expire.is_none() && alter.locked.is_none() && alter.default_role.is_none());
    if own_password {
        refuse_anonymous(&own)?;
    } else {
        needs_accounts(cx, Priv::UPDATE)?;
    }
    refuse_lifetime(cx, alter.expire)?;
    let now = seconds_now();
    change_grants(cx, |grants| {
        let (mut changed, mut missing) = (Vec::new(), Vec::new());
        for spec in alter.users {
            let name = name_of(&spec.name, &own);
            let Some(account) = grants.account_mut(&name.0, &name.1) else {
                missing.push(name);
                continue;
            };
            if let Some(auth) = &spec.auth {
                let plugin =
                    if matches!(auth, Auth::Password(_)) { account.plugin.clone() } else { plugin.clone() };
                (account.plugin, account.authentication) = authentication(auth, &plugin)?;
                account.password_set(now);
                account.local_only &= account.authentication.is_empty();
            }
            set_require(account, alter.require.as_ref());
            set_limits(account, &alter.limits);
            set_expiry(account, alter.expire);
            account.locked = alter.locked.unwrap_or(account.locked);
            if let Some(choice) = &alter.default_role {
                choose_default(grants, &name, choice, &own)?;
            }
            changed.push(name);
        }
        match missing.is_empty() || alter.if_exists {
            true => Ok(changed),
            false => Err(failed("ALTER USER", &missing)),
        }
    })?;
    limits_given(cx, alter.users, &alter.limits);
    Ok(())
}

fn drop_users(cx: &mut StmtCx<'_>, drop: &DropUser<'_>) -> SqlResult<()> {
    needs_accounts(cx, Priv::DELETE)?;
    let own = own_name(cx.state);
    change_grants(cx, |grants| {
        let (mut changed, mut missing) = (Vec::new(), Vec::new());
        for user in drop.users {
            let name = name_of(user, &own);
            if grants.account(&name.0, &name.1).is_none() {
                missing.push(name);
                continue;
            }
            super::roles::refuse_mandatory(grants, &name)?;
            forget_account(grants, &name);
            changed.push(name);
        }
        match missing.is_empty() || drop.if_exists {
            true => Ok(changed),
            false => Err(failed("DROP USER", &missing)),
        }
    })
}

/// An account is no more, and what it was granted.
pub(super) fn forget_account(grants: &mut Grants, name: &Name) {
    let is = |u: &str, h: &str| u == name.0 && h == name.1;
    grants.accounts.retain(|a| !is(&a.user, &a.host));
    grants.databases.retain(|g| !is(&g.user, &g.host));
    grants.tables.retain(|g| !is(&g.user, &g.host));
    grants.routines.retain(|g| !is(&g.user, &g.host));
    grants.roles.forget(name);
}

fn rename_users(cx: &mut StmtCx<'_>, pairs: &[(UserName<'_>, UserName<'_>)]) -> SqlResult<()> {
    needs_accounts(cx, Priv::UPDATE)?;
    let own = own_name(cx.state);
    change_grants(cx, |grants| {
        let (mut changed, mut wrong) = (Vec::new(), Vec::new());
        for (from, to) in pairs {
            let (from, to) = (name_of(from, &own), name_of(to, &own));
            if grants.account(&from.0, &from.1).is_none() || grants.account(&to.0, &to.1).is_some() {
                wrong.push(from);
                continue;
            }
            super::roles::refuse_renaming(grants, &from)?;
            let rename = |user: &mut String, host: &mut String| {
                if *user == from.0 && *host == from.1 {
                    (*user, *host) = to.clone();
                }
            };
            grants.accounts.iter_mut().for_each(|a| rename(&mut a.user, &mut a.host));
            grants.databases.iter_mut().for_each(|g| rename(&mut g.user, &mut g.host));
            grants.tables.iter_mut().for_each(|g| rename(&mut g.user, &mut g.host));
            grants.routines.iter_mut().for_each(|g| rename(&mut g.user, &mut g.host));
            grants.roles.edges.iter_mut().for_each(|edge| rename(&mut edge.to.0, &mut edge.to.1));
            grants.roles.defaults.iter_mut().for_each(|(of, _)| rename(&mut of.0, &mut of.1));
            changed.extend([from, to]);
        }
        if wrong.is_empty() { Ok(changed) } else { Err(failed("RENAME USER", &wrong)) }
    })
}

/// SET PASSWORD.
///
/// # Errors
/// Of the statement.
pub(crate) fn set_password(
    cx: &mut StmtCx<'_>,
    user: Option<&UserName<'_>>,
    value: &SetPassword<'_>,
) -> SqlResult<()> {
    let own = own_name(cx.state);
    user.map_or(Ok(()), name::check_length)?;
    let name = user.map_or_else(|| own.clone(), |u| name_of(u, &own));
    match name == own {
        true => refuse_anonymous(&own)?,
        false => may_update_accounts(cx)?,
    }
    change_grants(cx, |grants| {
        let account = grants
            .account_mut(&name.0, &name.1)
            .ok_or_else(|| SqlError::new(1133, "Can't find any matching row in the user table"))?;
        account.authentication = match value {
            // The stored form of 5.6, or the password of 5.7.
            SetPassword::Text(text) if password::is_native_stored(text) => text.to_ascii_uppercase(),
            SetPassword::Text(text) | SetPassword::Password(text) | SetPassword::OldPassword(text) => {
                match account.plugin.as_str() {
                    password::CACHING_SHA2 => sha2_stored(text),
                    _ => password::native_stored(text),
                }
            }
        };
        account.password_set(seconds_now());
        Ok(vec![name.clone()])
    })
}

fn grant_or_revoke(cx: &mut StmtCx<'_>, grant: &Grant<'_>) -> SqlResult<()> {
    let (own, plugin) = (own_name(cx.state), default_plugin(cx));
    let wishes = wishes_of(cx, grant)?;
    // MySQL asks for these in this order.
    let of_object = !wishes.table.is_empty() || wishes.routine.is_some();
    if !of_object {
        may_grant(cx, &wishes)?;
    }
    if !grant.revoke {
        may_change_accounts(cx, grant, &own)?;
    }
    if of_object {
        may_grant(cx, &wishes)?;
        check_target(cx, &wishes, grant.revoke)?;
    }
    let forgives = grant.forgives;
    let mut forgiven = Vec::new();
    let may_create = !cx.state.vars.sql_mode.has(SqlMode::NO_AUTO_CREATE_USER);
    let may_insert = rules_accounts(cx, Priv::INSERT);
    change_grants(cx, |grants| {
        if !grant.revoke {
            check_kept(grants, wishes.privileges)?;
        }
        let mut changed = Vec::new();
        for spec in grant.users {
            let name = name_of(&spec.name, &own);
            if grants.account(&name.0, &name.1).is_none() {
                if grant.revoke && forgives.unknown_users {
                    forgiven.push(super::roles::unknown_user(&name));
                    continue;
                }
                if grant.revoke {
                    return Err(match wishes.everything {
                        true => SqlError::new(
                            1269,
                            "Can't revoke all privileges for one or more of the requested users",
                        ),
                        false => no_grant(&name, &wishes),
                    });
                }
                if spec.auth.is_none() && !may_create {
                    return Err(SqlError::new(1133, "Can't find any matching row in the user table"));
                }
                if !may_insert {
                    return Err(SqlError::new(1410, "You are not allowed to create a user with GRANT"));
                }
                grants.accounts.push(new_account(&name, spec, &plugin)?);
            } else if let Some(auth) = &spec.auth
                && let Some(account) = grants.account_mut(&name.0, &name.1)
            {
                (account.plugin, account.authentication) = authentication(auth, &plugin)?;
                account.password_set(seconds_now());
            }
            match grant.revoke {
                true => match revoke_from(grants, &name, &wishes) {
                    Err(e) if forgives.not_granted => forgiven.push(e),
                    done => done?,
                },
                false => grant_to(grants, &name, &wishes, &own),
            }
            if let Some(account) = grants.account_mut(&name.0, &name.1) {
                set_require(account, grant.require.as_ref());
                set_limits(account, &grant.limits);
            }
            changed.push(name);
        }
        Ok(changed)
    })?;
    limits_given(cx, grant.users, &grant.limits);
    forgiven.into_iter().for_each(|e| cx.state.warnings.push(Level::Warning, e.code, e.message));
    Ok(())
}

/// What a GRANT changes of accounts themselves. Whoever may give privileges in some database is not thereby lord of the
/// accounts: passwords of others, REQUIRE and limits are for those who may change the table of accounts.
fn may_change_accounts(cx: &StmtCx<'_>, grant: &Grant<'_>, own: &Name) -> SqlResult<()> {
    let accounts = cx.db.accounts().grants();
    let is_there = |name: &Name| accounts.account(&name.0, &name.1).is_some();
    let others = |spec: &UserSpec<'_>| {
        let name = name_of(&spec.name, own);
        // A new account is another matter.
        spec.auth.is_some() && name != *own && is_there(&name)
    };
    let binds = grant.require.is_some() || grant.limits != ResourceLimits::default();
    let of_there = grant.users.iter().any(|spec| is_there(&name_of(&spec.name, own)));
    if grant.users.iter().any(others) || binds && of_there {
        return may_update_accounts(cx);
    }
    let own_password = |s: &UserSpec<'_>| s.auth.is_some() && name_of(&s.name, own) == *own;
    if grant.users.iter().any(own_password) { refuse_anonymous(own) } else { Ok(()) }
}

/// What GRANT or REVOKE is about.
fn wishes_of(cx: &StmtCx<'_>, grant: &Grant<'_>) -> SqlResult<Wishes> {
    let with_option = if grant.grant_option { Priv::GRANT } else { Priv::NONE };
    let (items, level) = match grant.what {
        GrantWhat::Everything => {
            return Ok(Wishes { everything: true, privileges: Priv::ALL | Priv::GRANT, ..Wishes::default() });
        }
        GrantWhat::Proxy(_) if grant.revoke => return Err(SqlError::unsupported("REVOKE PROXY")),
        GrantWhat::Proxy(_) => return Err(SqlError::unsupported("GRANT PROXY")),
        GrantWhat::All(level) => (None, level),
        GrantWhat::Privileges(items, level) => (Some(items), level),
    };
    let mut wishes = Wishes::default();
    let current = || match cx.state.database.as_str() {
        "" => Err(SqlError::new(1046, "No database selected")),
        name => Ok(name.to_owned()),
    };
    let allowed = match level {
        GrantLevel::Global => EVERYWHERE,
        GrantLevel::Current if cx.state.database.is_empty() => EVERYWHERE,
        GrantLevel::Current => {
            wishes.database = current()?;
            Priv::DATABASE
        }
        GrantLevel::Database(name) => {
            wishes.database = name.to_string();
            Priv::DATABASE
        }
        GrantLevel::Table(name) => {
            wishes.database = match name.schema {
                Some(schema) => schema.to_string(),
                None => current()?,
            };
            wishes.table = name.name.to_string();
            Priv::TABLE
        }
        GrantLevel::Program(kind, name) => {
            let database = match name.schema {
                Some(schema) => schema.to_string(),
                None => current()?,
            };
            let is_function = kind == ProgramKind::Function;
            wishes.routine =
                Some(OfRoutine { database, name: name.name.to_string().to_lowercase(), is_function });
            Priv::ROUTINE
        }
    };
    let Some(items) = items else {
        // GRANT gives what 5.6 has; nobody keeps anything of the rest.
        wishes.privileges = if grant.revoke { allowed } else { allowed & Priv::ALL } | with_option;
        return Ok(wishes);
    };
    for item in items {
        let privilege = Priv::from(item.privilege);
        if let Privilege::Unused(name) = item.privilege {
            return Err(SqlError::unsupported(&format!("the privilege {name}")));
        }
        if (privilege - allowed).any(Priv::DYNAMIC) {
            let name = privilege.first_name();
            return Err(SqlError::new(3619, format!("Illegal privilege level specified for {name}")));
        }
        if !(allowed | Priv::GRANT).has(privilege) {
            return Err(match wishes.table.is_empty() && wishes.routine.is_none() {
                true => SqlError::new(1221, "Incorrect usage of DB GRANT and GLOBAL PRIVILEGES"),
                false => illegal(),
            });
        }
        if item.columns.is_empty() {
            wishes.privileges |= privilege;
            continue;
        }
        if wishes.table.is_empty() || !Priv::COLUMN.has(privilege) {
            return Err(illegal());
        }
        for column in item.columns {
            let name = column.to_string();
            match wishes.columns.iter_mut().find(|(n, _)| n.eq_ignore_ascii_case(&name)) {
                Some((_, has)) => *has |= privilege,
                None => wishes.columns.push((name, privilege)),
            }
        }
    }
    // Dynamic privileges have a grant option each.
    let dynamic = wishes.privileges & Priv::DYNAMIC;
    if grant.grant_option {
        wishes.gives = dynamic;
    }
    if dynamic.is_none() || wishes.privileges != dynamic {
        wishes.privileges |= with_option;
    }
    Ok(wishes)
}

/// What can be had everywhere.
const EVERYWHERE: Priv = Priv(Priv::ALL.0 | Priv::OF_ROLES.0 | Priv::DYNAMIC.0);

/// Table and columns must exist, unless the table may be created.
fn check_target(cx: &StmtCx<'_>, wishes: &Wishes, revoke: bool) -> SqlResult<()> {
    if revoke || wishes.privileges.has(Priv::CREATE) {
        return Ok(());
    }
    if let Some(routine) = &wishes.routine {
        return routines::check_there(cx, routine);
    }
    let core = cx.db.engine.core();
    let name = vaquita_catalog::engine_name(&wishes.database, &wishes.table)?;
    let unknown = match core.objects().view(&name) {
        Some(view) => {
            let columns = crate::ddl::views::column_names(view)?;
            let has = |wanted: &str| columns.iter().any(|c| vaquita_catalog::same_name(c, wanted));
            wishes.columns.iter().find(|(column, _)| !has(column))
        }
        None => {
            let table = vaquita_catalog::error::of_engine(core.table(&name))?;
            wishes.columns.iter().find(|(column, _)| table.column(column).is_none())
        }
    };
    match unknown {
        None => Ok(()),
        Some((column, _)) => {
            Err(SqlError::new(1054, format!("Unknown column '{column}' in '{}'", wishes.table)))
        }
    }
}

/// Nobody gives away what they do not have, with the right to give it. Who is here only by name has nothing.
fn may_grant(cx: &StmtCx<'_>, wishes: &Wishes) -> SqlResult<()> {
    if wishes.everything {
        return needs_accounts(cx, Priv::UPDATE);
    }
    if let Some(routine) = &wishes.routine {
        return routines::may_grant(cx, routine, wishes.privileges);
    }
    let privileges = &cx.state.privileges;
    if wishes.database.is_empty() {
        return match may_grant_everywhere(privileges, wishes.privileges) {
            true => Ok(()),
            false => Err(cx.state.denied_everywhere()),
        };
    }
    let needed = wishes.privileges | Priv::GRANT;
    if wishes.table.is_empty() {
        let has = privileges.global | privileges.in_pattern(&wishes.database);
        let denied = || {
            let text = format!(
                "Access denied for user {} to database '{}'",
                shown(&own_name(cx.state)),
                wishes.database
            );
            SqlError::new(1044, text)
        };
        return if has.has(needed) { Ok(()) } else { Err(denied()) };
    }
    let on_table = privileges.on_table(&wishes.database, &wishes.table);
    let has = privileges.global
        | privileges.in_database(&wishes.database)
        | on_table.map_or(Priv::NONE, |g| g.privileges);
    // Having it on a column is not having it on the table.
    if !has.has(needed) {
        return Err(cx.state.denied_table(needed - has, &wishes.table));
    }
    let on_columns = wishes.columns.iter().fold(Priv::NONE, |all, (_, p)| all | *p);
    let of_columns = Wanted {
        columns: wishes.columns.iter().map(|(c, p)| (c.as_str().into(), *p)).collect(),
        ..Wanted::table(&wishes.database, &wishes.table, on_columns)
    };
    cx.state.check_privileges(&[of_columns])
}

/// Privileges of 8.0 are given only where they can be kept.
fn check_kept(grants: &Grants, wanted: Priv) -> SqlResult<()> {
    let what = match () {
        () if wanted.any(Priv::DYNAMIC) && !grants.keeps_dynamic => "the table mysql.global_grants",
        () if wanted.any(Priv::OF_ROLES) && !grants.keeps_of_roles => "the columns of mysql.user for it",
        () => return Ok(()),
    };
    let name = (wanted & (Priv::DYNAMIC | Priv::OF_ROLES)).first_name();
    Err(SqlError::unsupported(&format!("the privilege {name} without {what}")))
}

/// Whether these may be given and taken everywhere. What another privilege covers is had as well: SUPER is all of the dynamic ones,
/// CREATE USER is CREATE ROLE and DROP ROLE.
fn may_grant_everywhere(own: &Privileges, wanted: Priv) -> bool {
    let mut has = own.global;
    if has.has(Priv::CREATE_USER) {
        has |= Priv::OF_ROLES;
    }
    let dynamic = wanted & Priv::DYNAMIC;
    let gives_dynamic = own.gives.has(dynamic) || own.global.has(Priv::SUPER | Priv::GRANT);
    let only_dynamic = !dynamic.is_none() && wanted == dynamic;
    gives_dynamic && (only_dynamic || has.has((wanted - dynamic) | Priv::GRANT))
}

/// PASSWORD EXPIRE, in the words of 5.7: what expires a password now says nothing about its lifetime.
fn set_expiry(account: &mut AccountGrants, expire: Option<PasswordExpire>) {
    match expire {
        None => {}
        Some(PasswordExpire::Now) => account.password_expired = true,
        Some(PasswordExpire::Never) => account.password_lifetime = Some(0),
        Some(PasswordExpire::Default) => account.password_lifetime = None,
        // More were refused.
        Some(PasswordExpire::Days(days)) => account.password_lifetime = u16::try_from(days).ok(),
    }
}

/// Who came in by an account without a name has no password to change.
fn refuse_anonymous(own: &Name) -> SqlResult<()> {
    match own.0.is_empty() {
        false => Ok(()),
        true => Err(SqlError::new(
            1131,
            "You are using MySQL as an anonymous user and anonymous users are not allowed to change passwords",
        )),
    }
}

fn illegal() -> SqlError {
    SqlError::new(
        1144,
        "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used",
    )
}

/// What GRANT or REVOKE is about: global if there is no database, of the database if there is no table.
#[derive(Debug, Default)]
struct Wishes {
    database: String,
    table: String,
    privileges: Priv,
    columns: Vec<(String, Priv)>,
    /// Dynamic ones that may be given further.
    gives: Priv,
    everything: bool,
    /// The procedure or function it is about; then there is no database and no table.
    routine: Option<OfRoutine>,
}

fn no_grant(name: &Name, wishes: &Wishes) -> SqlError {
    let (user, host) = name;
    match wishes.table.is_empty() {
        true => name::no_grant(name),
        false => SqlError::new(
            1147,
            format!(
                "There is no such grant defined for user '{user}' on host '{host}' on table '{}'",
                wishes.table
            ),
        ),
    }
}

fn new_account(name: &Name, spec: &UserSpec<'_>, default_plugin: &str) -> SqlResult<AccountGrants> {
    let (plugin, stored) = match &spec.auth {
        Some(auth) => authentication(auth, default_plugin)?,
        None => (default_plugin.to_owned(), Vec::new()),
    };
    Ok(AccountGrants {
        user: name.0.clone(),
        host: name.1.clone(),
        plugin,
        authentication: stored,
        password_changed: Some(seconds_now()),
        ..AccountGrants::default()
    })
}

fn grant_to(grants: &mut Grants, name: &Name, wishes: &Wishes, grantor: &Name) {
    if let Some(routine) = &wishes.routine {
        return routines::grant(grants, name, routine, wishes.privileges, grantor);
    }
    if wishes.database.is_empty() {
        if let Some(account) = grants.account_mut(&name.0, &name.1) {
            account.global |= wishes.privileges;
            account.gives |= wishes.gives;
        }
        return;
    }
    if wishes.table.is_empty() {
        let same =
            |g: &&mut DatabaseGrant| g.user == name.0 && g.host == name.1 && g.database == wishes.database;
        match grants.databases.iter_mut().find(same) {
            Some(grant) => grant.privileges |= wishes.privileges,
            None if wishes.privileges.is_none() => {}
            None => grants.databases.push(DatabaseGrant {
                user: name.0.clone(),
                host: name.1.clone(),
                database: wishes.database.clone(),
                privileges: wishes.privileges,
            }),
        }
        return;
    }
    let at = table_grant(grants, name, wishes).unwrap_or_else(|| {
        grants.tables.push(TableGrant {
            user: name.0.clone(),
            host: name.1.clone(),
            database: wishes.database.clone(),
            table: wishes.table.clone(),
            grantor: format!("{}@{}", grantor.0, grantor.1),
            privileges: Priv::NONE,
            columns: Vec::new(),
        });
        grants.tables.len() - 1
    });
    let grant = &mut grants.tables[at];
    grant.privileges |= wishes.privileges;
    for (column, privileges) in &wishes.columns {
        match grant.columns.iter_mut().find(|(n, _)| n.eq_ignore_ascii_case(column)) {
            Some((_, has)) => *has |= *privileges,
            None => grant.columns.push((column.clone(), *privileges)),
        }
    }
}

fn table_grant(grants: &Grants, name: &Name, wishes: &Wishes) -> Option<usize> {
    grants.tables.iter().position(|g| {
        g.user == name.0 && g.host == name.1 && g.database == wishes.database && g.table == wishes.table
    })
}

fn revoke_from(grants: &mut Grants, name: &Name, wishes: &Wishes) -> SqlResult<()> {
    if wishes.everything {
        if let Some(account) = grants.account_mut(&name.0, &name.1) {
            account.global = Priv::NONE;
            account.gives = Priv::NONE;
        }
        grants.databases.retain(|g| g.user != name.0 || g.host != name.1);
        grants.tables.retain(|g| g.user != name.0 || g.host != name.1);
        grants.routines.retain(|g| g.user != name.0 || g.host != name.1);
        return Ok(());
    }
    if let Some(routine) = &wishes.routine {
        return routines::revoke(grants, name, routine, wishes.privileges);
    }
    if wishes.database.is_empty() {
        if let Some(account) = grants.account_mut(&name.0, &name.1) {
            account.global = account.global - wishes.privileges;
            account.gives = account.gives - wishes.privileges;
        }
        return Ok(());
    }
    if wishes.table.is_empty() {
        let same = |g: &DatabaseGrant| g.user == name.0 && g.host == name.1 && g.database == wishes.database;
        let grant = grants.databases.iter_mut().find(|g| same(g)).ok_or_else(|| no_grant(name, wishes))?;
        grant.privileges = grant.privileges - wishes.privileges;
        grants.databases.retain(|g| !g.privileges.is_none());
        return Ok(());
    }
    let at = table_grant(grants, name, wishes).ok_or_else(|| no_grant(name, wishes))?;
    let grant = &mut grants.tables[at];
    grant.privileges = grant.privileges - wishes.privileges;
    for (column, privileges) in &mut grant.columns {
        let named = wishes.columns.iter().find(|(n, _)| n.eq_ignore_ascii_case(column));
        // Taken from the table, taken from its columns.
        *privileges = *privileges - wishes.privileges - named.map_or(Priv::NONE, |(_, p)| *p);
    }
    grant.columns.retain(|(_, p)| !p.is_none());
    if grant.privileges.is_none() && grant.columns.is_empty() {
        grants.tables.remove(at);
    }
    Ok(())
}
