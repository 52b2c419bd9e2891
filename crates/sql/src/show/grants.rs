//! SHOW GRANTS, SHOW CREATE USER.

use super::listing::Listing;
use crate::accounts::grants::{AccountGrants, Grants, SslKind};
use crate::accounts::name::{Name, denied_mysql, name_of, no_grant, own_name, shown};
use crate::accounts::roles::quoted;
use crate::statement::StmtCx;
use crate::virtual_tables::text;
use vaquita_catalog::quoted_name;
use vaquita_parser::ast::UserName;
use vaquita_session::password;
use vaquita_session::privilege::{Priv, Privileges};
use vaquita_types::{SqlError, SqlResult};

/// The account that SHOW is about, which the session may see.
fn visible<'g>(
    cx: &StmtCx<'_>,
    grants: &'g Grants,
    user: Option<&UserName<'_>>,
) -> SqlResult<&'g AccountGrants> {
    let own = own_name(cx.state);
    let name = user.map_or_else(|| own.clone(), |u| name_of(u, &own));
    if name != own
        && !(cx.state.privileges.global | cx.state.privileges.in_database("mysql")).has(Priv::SELECT)
    {
        return Err(denied_mysql(&own));
    }
    grants.account(&name.0, &name.1).ok_or_else(|| no_grant(&name))
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
    let default = grants.default_roles(&name);
    if !default.is_empty() {
        let list = default.iter().map(quoted).collect::<Vec<_>>().join(",");
        sql.push_str(&format!(" DEFAULT ROLE {list}"));
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
/// `all`: the hash of its password, too, which is not for whoever has come in with the password alone.
fn demands(account: &AccountGrants, all: bool) -> String {
    let mut out = String::new();
    if account.plugin == password::NATIVE && !account.authentication.is_empty() {
        out.push_str(" IDENTIFIED BY PASSWORD");
        if all {
            out.push_str(&format!(" '{}'", String::from_utf8_lossy(&account.authentication)));
        }
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

/// What an account may do with some of its roles.
///
/// # Errors
/// 3530: one of them is not granted.
fn with_roles(grants: &Grants, account: &AccountGrants, roles: &[Name]) -> SqlResult<Privileges> {
    let name = (account.user.clone(), account.host.clone());
    let granted = grants.roles_of(&name);
    if let Some(role) = roles.iter().find(|role| !granted.contains(role)) {
        return Err(SqlError::new(3530, format!("{} is not granted to {}", quoted(role), quoted(&name))));
    }
    let own = |u: &str, h: &str| u == name.0 && h == name.1;
    let mut privileges = Privileges {
        global: account.global,
        gives: account.gives,
        databases: grants.databases.iter().filter(|g| own(&g.user, &g.host)).cloned().collect(),
        tables: grants.tables.iter().filter(|g| own(&g.user, &g.host)).cloned().collect(),
        routines: grants.routines.iter().filter(|g| own(&g.user, &g.host)).cloned().collect(),
        ..Privileges::default()
    };
    if !roles.is_empty() {
        grants.add_roles(&mut privileges, roles);
    }
    Ok(privileges)
}

/// The roles of an account, as 8.0 shows them: those that it may give further apart.
fn role_lines(grants: &Grants, to: &Name) -> Vec<String> {
    let (admin, plain): (Vec<Name>, Vec<Name>) = grants
        .roles_of(to)
        .into_iter()
        .partition(|role| grants.roles.edge(role, to).is_some_and(|edge| edge.admin));
    let line = |roles: &[Name], with: &str| {
        let list = roles.iter().map(quoted).collect::<Vec<_>>().join(",");
        (!roles.is_empty()).then(|| format!("GRANT {list} TO {}{with}", quoted(to)))
    };
    [line(&plain, ""), line(&admin, " WITH ADMIN OPTION")].into_iter().flatten().collect()
}

/// Dynamic privileges, as 8.0 shows them: those that may be given further apart.
fn dynamic_lines(has: &Privileges, to: &Name) -> Vec<String> {
    let dynamic = has.global & Priv::DYNAMIC;
    let line = |privileges: Priv, with: &str| {
        let list = privileges.names().collect::<Vec<_>>().join(",");
        (!privileges.is_none()).then(|| format!("GRANT {list} ON *.* TO {}{with}", quoted(to)))
    };
    let lines = [line(dynamic - has.gives, ""), line(dynamic & has.gives, " WITH GRANT OPTION")];
    lines.into_iter().flatten().collect()
}

/// SHOW GRANTS, in 5.6's form: GRANT statements that make an account what it is. Passwords of `caching_sha2_password`, which has no
/// such form, are not among them. The roles of `using` add what they may do; whoever asks about nobody else sees the active ones.
///
/// # Errors
/// 1141 no such account; 3530 no such role of it.
pub(crate) fn show_grants(
    cx: &StmtCx<'_>,
    user: Option<&UserName<'_>>,
    using: &[UserName<'_>],
) -> SqlResult<Listing> {
    cx.db.accounts().check_usable()?;
    let grants = cx.db.accounts().grants();
    let account = visible(cx, &grants, user)?;
    let name = (account.user.clone(), account.host.clone());
    let own = own_name(cx.state);
    let roles: Vec<Name> = match user.is_none_or(|user| user.current) && using.is_empty() {
        true => cx.state.roles.clone(),
        false => using.iter().map(|role| name_of(role, &own)).collect(),
    };
    let has = with_roles(&grants, account, &roles)?;
    let title = format!("Grants for {}@{}", name.0, name.1);
    let mut listing = Listing::new(&[(&title, "varchar(1024)!")]);
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
    let demands = demands(account, cx.state.privileges.global.has(Priv::SUPER));
    push(has.global - Priv::DYNAMIC, Priv::ALL, &[], "*.*", &demands, &limits(account));
    for grant in &has.databases {
        push(grant.privileges, Priv::DATABASE, &[], &format!("{}.*", quoted_name(&grant.database)), "", "");
    }
    for grant in &has.tables {
        let on = format!("{}.{}", quoted_name(&grant.database), quoted_name(&grant.table));
        push(grant.privileges, Priv::TABLE, &grant.columns, &on, "", "");
    }
    // None has all that there is: the list is written out.
    let never = Priv::ALL;
    for (kind, is_function) in [("PROCEDURE", false), ("FUNCTION", true)] {
        for grant in has.routines.iter().filter(|g| g.is_function == is_function) {
            let on = format!("{kind} {}.{}", quoted_name(&grant.database), quoted_name(&grant.routine));
            push(grant.privileges, never, &[], &on, "", "");
        }
    }
    let dynamic = dynamic_lines(&has, &name);
    listing.rows.splice(1..1, dynamic.into_iter().map(|line| vec![text(line)]));
    listing.rows.extend(role_lines(&grants, &name).into_iter().map(|line| vec![text(line)]));
    Ok(listing)
}
