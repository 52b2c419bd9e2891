//! CREATE USER, ALTER USER, DROP USER, RENAME USER, GRANT, REVOKE, SET PASSWORD; SHOW GRANTS.

use super::grants::{AccountGrants, Grants, SslKind};
use super::{Priv, Wanted, seconds_now, store};
use crate::connection::Connection;
use crate::statement::StmtCx;
use crate::virtual_tables::{Listing, text};
use vaquita_exec::Outcome;
use vaquita_parser::ast::{
    Auth, CreateUser, DropUser, Grant, GrantLevel, GrantWhat, PasswordExpire, Require, ResourceLimits,
    SetPassword, Stmt, UserName, UserSpec,
};
use vaquita_session::password;
use vaquita_session::privilege::{DatabaseGrant, TableGrant};
use vaquita_types::{SqlError, SqlMode, SqlResult};

/// User and host of an account.
type Name = (String, String);

fn shown(name: &Name) -> String {
    format!("'{}'@'{}'", name.0, name.1)
}

fn failed(operation: &str, names: &[Name]) -> SqlError {
    let list = names.iter().map(shown).collect::<Vec<_>>().join(",");
    SqlError::new(1396, format!("Operation {operation} failed for {list}"))
}

/// Name of an account as a statement gives it.
fn name_of(user: &UserName<'_>, own: &Name) -> Name {
    if user.current {
        return own.clone();
    }
    let utf8 = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // Host names have no case.
    (utf8(user.user), user.host.map_or_else(|| "%".to_owned(), |h| utf8(h).to_lowercase()))
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

impl Connection {
    /// Lifetimes that nobody can have, and all of them where there is no place to keep them.
    fn refuse_lifetime(&self, expire: Option<PasswordExpire>) -> SqlResult<()> {
        let asked = match expire {
            Some(PasswordExpire::Days(days)) if days == 0 || days > u64::from(u16::MAX) => {
                return Err(SqlError::new(1525, format!("Incorrect DAY value: '{days}'")));
            }
            Some(PasswordExpire::Days(_)) => "PASSWORD EXPIRE INTERVAL",
            Some(PasswordExpire::Never) => "PASSWORD EXPIRE NEVER",
            Some(PasswordExpire::Now | PasswordExpire::Default) | None => return Ok(()),
        };
        match self.db.accounts().keep_lifetimes() {
            true => Ok(()),
            false => Err(SqlError::unsupported(&format!("{asked} without the columns of mysql.user for it"))),
        }
    }

    fn own_name(&self) -> Name {
        (self.state.account_user.clone(), self.state.account_host.clone())
    }

    /// Whether the session may make, change or drop accounts: by CREATE USER, or because it may change their tables by
    /// hand.
    fn rules_accounts(&mut self, by_hand: Priv) -> bool {
        self.refresh_privileges();
        let privileges = &self.state.privileges;
        privileges.global.has(Priv::CREATE_USER)
            || (privileges.global | privileges.in_database("mysql")).has(by_hand)
    }

    /// The same as an error 1227.
    fn needs_accounts(&mut self, by_hand: Priv) -> SqlResult<()> {
        if self.rules_accounts(by_hand) { Ok(()) } else { self.needs(Priv::CREATE_USER) }
    }

    /// Passwords of others, and what GRANT changes of accounts besides privileges: UPDATE in `mysql`.
    fn may_update_accounts(&mut self) -> SqlResult<()> {
        self.refresh_privileges();
        let privileges = &self.state.privileges;
        if (privileges.global | privileges.in_database("mysql")).has(Priv::UPDATE) {
            return Ok(());
        }
        Err(self.denied_mysql())
    }

    fn denied_mysql(&self) -> SqlError {
        let text = format!("Access denied for user {} to database 'mysql'", shown(&self.own_name()));
        SqlError::new(1044, text)
    }

    /// CREATE USER, GRANT and the like.
    pub(crate) fn account_statement(&mut self, stmt: &Stmt<'_>) -> SqlResult<Outcome> {
        self.db.accounts().check_usable()?;
        self.before_account_change()?;
        match stmt {
            Stmt::CreateUser(create) if create.alter => self.alter_users(create)?,
            Stmt::CreateUser(create) => self.create_users(create)?,
            Stmt::DropUser(drop) => self.drop_users(drop)?,
            Stmt::RenameUsers(pairs) => self.rename_users(pairs)?,
            Stmt::Grant(grant) => self.grant(grant)?,
            _ => {}
        }
        self.refresh_privileges();
        Ok(Outcome::default())
    }

    /// Changes the grants: in the tables, then in memory. What `change` returns are the accounts it changed.
    fn change_grants(&mut self, change: impl FnOnce(&mut Grants) -> SqlResult<Vec<Name>>) -> SqlResult<()> {
        let accounts = self.db.accounts();
        accounts.check_usable()?;
        let _one_at_a_time = accounts.changing.lock();
        let mut grants = (*accounts.grants()).clone();
        let changed = change(&mut grants)?;
        grants.sort();
        let mut insider = store::insider(&self.db)?;
        store::save(&mut insider, &grants, &changed)?;
        accounts.replace(grants);
        Ok(())
    }

    /// Whoever gets limits begins to count anew.
    fn limits_given(&self, users: &[UserSpec<'_>], limits: &ResourceLimits) {
        if *limits == ResourceLimits::default() {
            return;
        }
        let own = self.own_name();
        let names: Vec<Name> = users.iter().map(|spec| name_of(&spec.name, &own)).collect();
        self.db
            .accounts()
            .reset_usage(|user, host| names.iter().any(|name| name.0 == user && name.1 == host));
    }

    fn default_plugin(&self) -> String {
        self.db.globals().text("default_authentication_plugin").unwrap_or_else(|| password::NATIVE.to_owned())
    }

    fn create_users(&mut self, create: &CreateUser<'_>) -> SqlResult<()> {
        self.needs_accounts(Priv::INSERT)?;
        self.refuse_lifetime(create.expire)?;
        let (own, plugin) = (self.own_name(), self.default_plugin());
        let mut notes = Vec::new();
        self.change_grants(|grants| {
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
            self.state.warnings.push(vaquita_types::Level::Note, 3163, message);
        }
        Ok(())
    }

    fn alter_users(&mut self, alter: &CreateUser<'_>) -> SqlResult<()> {
        let (own, plugin) = (self.own_name(), self.default_plugin());
        // Everybody may change the own password; limits, locks and demands are there to bind the account itself.
        let own_password = alter.users.iter().all(|s| s.auth.is_some() && name_of(&s.name, &own) == own)
            && (alter.require.is_none() && alter.limits == ResourceLimits::default())
            && (alter.expire.is_none() && alter.locked.is_none());
        if own_password {
            refuse_anonymous(&own)?;
        } else {
            self.needs_accounts(Priv::UPDATE)?;
        }
        self.refuse_lifetime(alter.expire)?;
        let now = seconds_now();
        self.change_grants(|grants| {
            let (mut changed, mut missing) = (Vec::new(), Vec::new());
            for spec in alter.users {
                let name = name_of(&spec.name, &own);
                let Some(account) = grants.account_mut(&name.0, &name.1) else {
                    missing.push(name);
                    continue;
                };
                if let Some(auth) = &spec.auth {
                    let plugin = if matches!(auth, Auth::Password(_)) {
                        account.plugin.clone()
                    } else {
                        plugin.clone()
                    };
                    (account.plugin, account.authentication) = authentication(auth, &plugin)?;
                    account.password_set(now);
                    account.local_only &= account.authentication.is_empty();
                }
                set_require(account, alter.require.as_ref());
                set_limits(account, &alter.limits);
                set_expiry(account, alter.expire);
                account.locked = alter.locked.unwrap_or(account.locked);
                changed.push(name);
            }
            match missing.is_empty() || alter.if_exists {
                true => Ok(changed),
                false => Err(failed("ALTER USER", &missing)),
            }
        })?;
        self.limits_given(alter.users, &alter.limits);
        Ok(())
    }

    fn drop_users(&mut self, drop: &DropUser<'_>) -> SqlResult<()> {
        self.needs_accounts(Priv::DELETE)?;
        let own = self.own_name();
        self.change_grants(|grants| {
            let (mut changed, mut missing) = (Vec::new(), Vec::new());
            for user in drop.users {
                let name = name_of(user, &own);
                if grants.account(&name.0, &name.1).is_none() {
                    missing.push(name);
                    continue;
                }
                let is = |u: &str, h: &str| u == name.0 && h == name.1;
                grants.accounts.retain(|a| !is(&a.user, &a.host));
                grants.databases.retain(|g| !is(&g.user, &g.host));
                grants.tables.retain(|g| !is(&g.user, &g.host));
                changed.push(name);
            }
            match missing.is_empty() || drop.if_exists {
                true => Ok(changed),
                false => Err(failed("DROP USER", &missing)),
            }
        })
    }

    fn rename_users(&mut self, pairs: &[(UserName<'_>, UserName<'_>)]) -> SqlResult<()> {
        self.needs_accounts(Priv::UPDATE)?;
        let own = self.own_name();
        self.change_grants(|grants| {
            let (mut changed, mut wrong) = (Vec::new(), Vec::new());
            for (from, to) in pairs {
                let (from, to) = (name_of(from, &own), name_of(to, &own));
                if grants.account(&from.0, &from.1).is_none() || grants.account(&to.0, &to.1).is_some() {
                    wrong.push(from);
                    continue;
                }
                let rename = |user: &mut String, host: &mut String| {
                    if *user == from.0 && *host == from.1 {
                        (*user, *host) = to.clone();
                    }
                };
                grants.accounts.iter_mut().for_each(|a| rename(&mut a.user, &mut a.host));
                grants.databases.iter_mut().for_each(|g| rename(&mut g.user, &mut g.host));
                grants.tables.iter_mut().for_each(|g| rename(&mut g.user, &mut g.host));
                changed.extend([from, to]);
            }
            if wrong.is_empty() { Ok(changed) } else { Err(failed("RENAME USER", &wrong)) }
        })
    }

    /// SET PASSWORD.
    pub(crate) fn set_password(
        &mut self,
        user: Option<&UserName<'_>>,
        value: &SetPassword<'_>,
    ) -> SqlResult<()> {
        self.before_account_change()?;
        let own = self.own_name();
        let name = user.map_or_else(|| own.clone(), |u| name_of(u, &own));
        match name == own {
            true => refuse_anonymous(&own)?,
            false => self.may_update_accounts()?,
        }
        self.change_grants(|grants| {
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

    fn grant(&mut self, grant: &Grant<'_>) -> SqlResult<()> {
        let (own, plugin) = (self.own_name(), self.default_plugin());
        let wishes = self.wishes(grant)?;
        // MySQL asks for these in this order.
        if wishes.table.is_empty() {
            self.may_grant(&wishes)?;
        }
        if !grant.revoke {
            self.may_change_accounts(grant, &own)?;
        }
        if !wishes.table.is_empty() {
            self.may_grant(&wishes)?;
            self.check_target(&wishes, grant.revoke)?;
        }
        let may_create = !self.state.vars.sql_mode.has(SqlMode::NO_AUTO_CREATE_USER);
        let may_insert = self.rules_accounts(Priv::INSERT);
        self.change_grants(|grants| {
            let mut changed = Vec::new();
            for spec in grant.users {
                let name = name_of(&spec.name, &own);
                if grants.account(&name.0, &name.1).is_none() {
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
                    true => revoke_from(grants, &name, &wishes)?,
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
        self.limits_given(grant.users, &grant.limits);
        Ok(())
    }

    /// What a GRANT changes of accounts themselves. Whoever may give privileges in some database is not thereby lord of the
    /// accounts: passwords of others, REQUIRE and limits are for those who may change the table of accounts.
    fn may_change_accounts(&mut self, grant: &Grant<'_>, own: &Name) -> SqlResult<()> {
        let accounts = self.db.accounts().grants();
        let is_there = |name: &Name| accounts.account(&name.0, &name.1).is_some();
        let others = |spec: &UserSpec<'_>| {
            let name = name_of(&spec.name, own);
            // A new account is another matter.
            spec.auth.is_some() && name != *own && is_there(&name)
        };
        let binds = grant.require.is_some() || grant.limits != ResourceLimits::default();
        let of_there = grant.users.iter().any(|spec| is_there(&name_of(&spec.name, own)));
        if grant.users.iter().any(others) || binds && of_there {
            return self.may_update_accounts();
        }
        let own_password = |s: &UserSpec<'_>| s.auth.is_some() && name_of(&s.name, own) == *own;
        if grant.users.iter().any(own_password) { refuse_anonymous(own) } else { Ok(()) }
    }

    /// What GRANT or REVOKE is about.
    fn wishes(&self, grant: &Grant<'_>) -> SqlResult<Wishes> {
        let with_option = if grant.grant_option { Priv::GRANT } else { Priv::NONE };
        let (items, level) = match grant.what {
            GrantWhat::Everything => {
                return Ok(Wishes {
                    everything: true,
                    privileges: Priv::ALL | Priv::GRANT,
                    ..Wishes::default()
                });
            }
            GrantWhat::Proxy(_) => return Err(SqlError::unsupported("GRANT PROXY")),
            GrantWhat::All(level) => (None, level),
            GrantWhat::Privileges(items, level) => (Some(items), level),
        };
        let mut wishes = Wishes::default();
        let current = || match self.state.database.as_str() {
            "" => Err(SqlError::new(1046, "No database selected")),
            name => Ok(name.to_owned()),
        };
        let allowed = match level {
            GrantLevel::Global => Priv::ALL,
            GrantLevel::Current if self.state.database.is_empty() => Priv::ALL,
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
            GrantLevel::Program(..) => return Err(SqlError::unsupported("GRANT on stored programs")),
        };
        let Some(items) = items else {
            wishes.privileges = allowed | with_option;
            return Ok(wishes);
        };
        for item in items {
            let privilege = Priv::from(item.privilege);
            if !(allowed | Priv::GRANT).has(privilege) {
                return Err(match wishes.table.is_empty() {
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
        wishes.privileges |= with_option;
        Ok(wishes)
    }

    /// Table and columns must exist, unless the table may be created.
    fn check_target(&self, wishes: &Wishes, revoke: bool) -> SqlResult<()> {
        if revoke || wishes.privileges.has(Priv::CREATE) {
            return Ok(());
        }
        let core = self.db.engine.core();
        let name = vaquita_catalog::engine_name(&wishes.database, &wishes.table)?;
        let table = vaquita_catalog::error::of_engine(core.table(&name))?;
        let unknown = wishes.columns.iter().find(|(column, _)| table.column(column).is_none());
        match unknown {
            None => Ok(()),
            Some((column, _)) => {
                Err(SqlError::new(1054, format!("Unknown column '{column}' in '{}'", wishes.table)))
            }
        }
    }

    /// Nobody gives away what they do not have, with the right to give it. Who is here only by name has nothing.
    fn may_grant(&mut self, wishes: &Wishes) -> SqlResult<()> {
        if wishes.everything {
            return self.needs_accounts(Priv::UPDATE);
        }
        self.refresh_privileges();
        let privileges = &self.state.privileges;
        let needed = wishes.privileges | Priv::GRANT;
        if wishes.database.is_empty() {
            return match privileges.global.has(needed) {
                true => Ok(()),
                false => Err(self.state.denied_everywhere()),
            };
        }
        if wishes.table.is_empty() {
            let has = privileges.global | privileges.in_pattern(&wishes.database);
            let denied = || {
                let text = format!(
                    "Access denied for user {} to database '{}'",
                    shown(&self.own_name()),
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
            return Err(self.state.denied_table(needed - has, &wishes.table));
        }
        let on_columns = wishes.columns.iter().fold(Priv::NONE, |all, (_, p)| all | *p);
        let of_columns = Wanted {
            columns: wishes.columns.iter().map(|(c, p)| (c.as_str().into(), *p)).collect(),
            ..Wanted::table(&wishes.database, &wishes.table, on_columns)
        };
        self.check_wanted(&[of_columns])
    }
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
    everything: bool,
}

fn no_grant(name: &Name, wishes: &Wishes) -> SqlError {
    let (user, host) = name;
    match wishes.table.is_empty() {
        true => {
            SqlError::new(1141, format!("There is no such grant defined for user '{user}' on host '{host}'"))
        }
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
    if name.0.chars().count() > 32 {
        return Err(SqlError::new(
            1470,
            format!("String '{}' is too long for user name (should be no longer than 32)", name.0),
        ));
    }
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
    if wishes.database.is_empty() {
        if let Some(account) = grants.account_mut(&name.0, &name.1) {
            account.global |= wishes.privileges;
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
        }
        grants.databases.retain(|g| g.user != name.0 || g.host != name.1);
        grants.tables.retain(|g| g.user != name.0 || g.host != name.1);
        return Ok(());
    }
    if wishes.database.is_empty() {
        if let Some(account) = grants.account_mut(&name.0, &name.1) {
            account.global = account.global - wishes.privileges;
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

/// The account that SHOW is about, which the session may see.
fn visible<'g>(
    cx: &StmtCx<'_>,
    grants: &'g Grants,
    user: Option<&UserName<'_>>,
) -> SqlResult<&'g AccountGrants> {
    let own = (cx.state.account_user.clone(), cx.state.account_host.clone());
    let name = user.map_or_else(|| own.clone(), |u| name_of(u, &own));
    if name != own
        && !(cx.state.privileges.global | cx.state.privileges.in_database("mysql")).has(Priv::SELECT)
    {
        let text = format!("Access denied for user {} to database 'mysql'", shown(&own));
        return Err(SqlError::new(1044, text));
    }
    grants.account(&name.0, &name.1).ok_or_else(|| no_grant(&name, &Wishes::default()))
}

/// SHOW CREATE USER.
///
/// # Errors
/// 1141 no such account.
pub(crate) fn show_create_user(cx: &StmtCx<'_>, user: &UserName<'_>) -> SqlResult<Listing> {
    cx.db.accounts().check_usable()?;
    let grants = cx.db.accounts().grants();
    let account = visible(cx, &grants, Some(user))?;
    let name = (account.user.clone(), account.host.clone());
    let title = format!("CREATE USER for {}@{}", name.0, name.1);
    let mut sql = format!("CREATE USER {} IDENTIFIED WITH '{}'", shown(&name), account.plugin);
    if !account.authentication.is_empty() {
        sql.push_str(&format!(" AS '{}'", String::from_utf8_lossy(&account.authentication)));
    }
    match account.ssl {
        SslKind::None => sql.push_str(" REQUIRE NONE"),
        _ => sql.push_str(&required(account)),
    }
    let expire = match account.password_lifetime {
        _ if account.password_expired => String::new(),
        None => " DEFAULT".to_owned(),
        Some(0) => " NEVER".to_owned(),
        Some(days) => format!(" INTERVAL {days} DAY"),
    };
    sql.push_str(&format!(" PASSWORD EXPIRE{expire}"));
    sql.push_str(if account.locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" });
    let mut listing = Listing::new(&[(&title, "varchar(256)!")]);
    listing.rows.push(vec![text(sql)]);
    Ok(listing)
}

fn list_of(privileges: Priv, all: Priv, columns: &[(String, Priv)]) -> String {
    let has = privileges - Priv::GRANT;
    if has.has(all) {
        return "ALL PRIVILEGES".to_owned();
    }
    let on_columns = columns.iter().fold(Priv::NONE, |all, (_, p)| all | *p);
    let mut items = Vec::new();
    for (privilege, _, name) in vaquita_session::privilege::NAMES {
        if has.has(*privilege) {
            items.push((*name).to_owned());
        }
        if on_columns.has(*privilege) {
            let of = columns.iter().filter(|(_, p)| p.has(*privilege)).map(|(n, _)| n.as_str());
            items.push(format!("{name} ({})", of.collect::<Vec<_>>().join(", ")));
        }
    }
    if items.is_empty() { "USAGE".to_owned() } else { items.join(", ") }
}

/// What an account must bring, as GRANT demands it.
fn demands(account: &AccountGrants) -> String {
    let mut out = String::new();
    if account.plugin == password::NATIVE && !account.authentication.is_empty() {
        let stored = String::from_utf8_lossy(&account.authentication);
        out = format!(" IDENTIFIED BY PASSWORD '{stored}'");
    }
    out.push_str(&required(account));
    out
}

fn required(account: &AccountGrants) -> String {
    let mut out = match account.ssl {
        SslKind::None => String::new(),
        SslKind::Any => " REQUIRE SSL".to_owned(),
        SslKind::X509 => " REQUIRE X509".to_owned(),
        SslKind::Specified => " REQUIRE".to_owned(),
    };
    if account.ssl == SslKind::Specified {
        for (what, text) in ["ISSUER", "SUBJECT", "CIPHER"].iter().zip(&account.demanded) {
            if !text.is_empty() {
                out.push_str(&format!(" {what} '{}'", String::from_utf8_lossy(text)));
            }
        }
    }
    out
}

/// Limits of an account, as GRANT sets them.
fn limits(account: &AccountGrants) -> String {
    let [queries, updates, connections] = account.limits;
    let limits = [
        ("QUERIES_PER_HOUR", queries),
        ("UPDATES_PER_HOUR", updates),
        ("CONNECTIONS_PER_HOUR", connections),
        ("USER_CONNECTIONS", account.max_user_connections),
    ];
    let set = limits.iter().filter(|(_, limit)| *limit > 0);
    set.map(|(name, limit)| format!(" MAX_{name} {limit}")).collect()
}

/// SHOW GRANTS, in 5.6's form: GRANT statements that make an account what it is. Passwords of `caching_sha2_password`, which has no
/// such form, are not among them.
///
/// # Errors
/// 1141 no such account.
pub(crate) fn show_grants(cx: &StmtCx<'_>, user: Option<&UserName<'_>>) -> SqlResult<Listing> {
    cx.db.accounts().check_usable()?;
    let grants = cx.db.accounts().grants();
    let account = visible(cx, &grants, user)?;
    let name = (account.user.clone(), account.host.clone());
    let title = format!("Grants for {}@{}", name.0, name.1);
    let mut listing = Listing::new(&[(&title, "varchar(1024)!")]);
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let mut push =
        |privileges: Priv, all: Priv, columns: &[(String, Priv)], on: &str, demands: &str, more: &str| {
            let list = list_of(privileges, all, columns);
            let mut with =
                if privileges.has(Priv::GRANT) { " GRANT OPTION".to_owned() } else { String::new() };
            with.push_str(more);
            let with = if with.is_empty() { with } else { format!(" WITH{with}") };
            let grant = format!("GRANT {list} ON {on} TO {}{demands}{with}", shown(&name));
            listing.rows.push(vec![text(grant)]);
        };
    push(account.global, Priv::ALL, &[], "*.*", &demands(account), &limits(account));
    let own = |u: &str, h: &str| u == name.0 && h == name.1;
    for grant in grants.databases.iter().filter(|g| own(&g.user, &g.host)) {
        push(grant.privileges, Priv::DATABASE, &[], &format!("{}.*", quoted(&grant.database)), "", "");
    }
    for grant in grants.tables.iter().filter(|g| own(&g.user, &g.host)) {
        let on = format!("{}.{}", quoted(&grant.database), quoted(&grant.table));
        push(grant.privileges, Priv::TABLE, &grant.columns, &on, "", "");
    }
    Ok(listing)
}
