//! Who is granted whom: roles are accounts whose privileges others get while the role is active in their session.
//!
//! An edge leads from a role to an account that is granted it, which may be a role for others again. There are no circles:
//! a grant that would close one is refused. Roles of `mandatory_roles` are granted to everybody without an edge; of these
//! only accounts that are there count.

use super::grants::Grants;
use super::name::Name;
use vaquita_catalog::quoted_name;
use vaquita_session::privilege::{DatabaseGrant, Priv, Privileges, TableGrant};

/// A role that is granted to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) role: Name,
    pub(crate) to: Name,
    /// WITH ADMIN OPTION: whoever has the role active may grant it.
    pub(crate) admin: bool,
}

/// What is known of roles.
#[derive(Debug, Clone, Default)]
pub(crate) struct Roles {
    /// In the order of the roles' names.
    pub(crate) edges: Vec<Edge>,
    /// Accounts with the roles that are active when they come in.
    pub(crate) defaults: Vec<(Name, Name)>,
    /// Whether the folder has the tables for them.
    pub(crate) kept: bool,
    /// `mandatory_roles`.
    pub(crate) mandatory: Vec<Name>,
    /// `activate_all_roles_on_login`.
    pub(crate) activate_all: bool,
}

/// A role as MySQL writes it in CURRENT_ROLE() and in messages.
pub(crate) fn quoted(name: &Name) -> String {
    format!("{}@{}", quoted_name(&name.0), quoted_name(&name.1))
}

impl Roles {
    pub(crate) fn is_mandatory(&self, role: &Name) -> bool {
        self.mandatory.contains(role)
    }

    pub(crate) fn edge(&self, role: &Name, to: &Name) -> Option<&Edge> {
        self.edges.iter().find(|edge| edge.role == *role && edge.to == *to)
    }

    /// Whether somebody is granted it.
    pub(crate) fn is_role(&self, name: &Name) -> bool {
        self.edges.iter().any(|edge| edge.role == *name)
    }

    /// Nobody has to do with this account any more; those that had.
    pub(crate) fn forget(&mut self, name: &Name) -> Vec<Name> {
        let with = |edge: &Edge| edge.role == *name || edge.to == *name;
        let mut touched: Vec<Name> =
            self.edges.iter().filter(|edge| with(edge)).map(|e| e.to.clone()).collect();
        touched.extend(self.defaults.iter().filter(|(_, role)| role == name).map(|(of, _)| of.clone()));
        self.edges.retain(|edge| !with(edge));
        self.defaults.retain(|(of, role)| of != name && role != name);
        touched
    }

    /// The role is not the account's any more.
    pub(crate) fn revoke(&mut self, role: &Name, from: &Name) {
        self.edges.retain(|edge| edge.role != *role || edge.to != *from);
        self.defaults.retain(|(of, default)| of != from || default != role);
    }

    pub(crate) fn sort(&mut self) {
        self.edges.sort_by(|a, b| (&a.role, &a.to).cmp(&(&b.role, &b.to)));
        self.defaults.sort();
        self.defaults.dedup();
    }
}

impl Grants {
    fn is_there(&self, name: &Name) -> bool {
        self.account(&name.0, &name.1).is_some()
    }

    /// Roles that an account may make active, in the order of their names.
    pub(crate) fn roles_of(&self, of: &Name) -> Vec<Name> {
        let granted = self.roles.edges.iter().filter(|edge| edge.to == *of).map(|edge| edge.role.clone());
        let mandatory =
            self.roles.mandatory.iter().filter(|role| *role != of && self.is_there(role)).cloned();
        let mut roles: Vec<Name> = granted.chain(mandatory).collect();
        roles.sort();
        roles.dedup();
        roles
    }

    /// Those, and the roles that they are granted, and so on; in the order in which they are met.
    pub(crate) fn with_roles_of_roles(&self, roles: &[Name]) -> Vec<Name> {
        let mut met: Vec<Name> = Vec::new();
        let mut next = roles.to_vec();
        while !next.is_empty() {
            let new: Vec<Name> = next.drain(..).filter(|role| !met.contains(role)).collect();
            for role in new {
                next.extend(self.roles.edges.iter().filter(|e| e.to == role).map(|e| e.role.clone()));
                if !met.contains(&role) {
                    met.push(role);
                }
            }
        }
        met
    }

    /// Roles that are active when the account comes in, and when a program of its runs with its privileges.
    pub(crate) fn first_roles(&self, of: &Name) -> Vec<Name> {
        let all = self.roles_of(of);
        match self.roles.activate_all {
            true => all,
            false => self.default_roles(of).into_iter().filter(|role| all.contains(role)).collect(),
        }
    }

    pub(crate) fn default_roles(&self, of: &Name) -> Vec<Name> {
        self.roles
            .defaults
            .iter()
            .filter(|(account, _)| account == of)
            .map(|(_, role)| role.clone())
            .collect()
    }

    /// Adds what roles may do to what an account may do.
    pub(crate) fn add_roles(&self, privileges: &mut Privileges, roles: &[Name]) {
        let mut origins = vec![(std::mem::take(&mut privileges.databases), Vec::new())];
        origins[0].1.append(&mut privileges.tables);
        for (user, host) in self.with_roles_of_roles(roles) {
            let own = |u: &str, h: &str| u == user && h == host;
            let routines = self.routines.iter().filter(|g| own(&g.user, &g.host));
            privileges.routines.extend(routines.cloned());
            if let Some(role) = self.account(&user, &host) {
                privileges.global |= role.global;
                privileges.gives |= role.gives;
            }
            origins.push((
                self.databases.iter().filter(|g| own(&g.user, &g.host)).cloned().collect(),
                self.tables.iter().filter(|g| own(&g.user, &g.host)).cloned().collect(),
            ));
        }
        let (databases, tables): (Vec<_>, Vec<_>) = origins.into_iter().unzip();
        privileges.databases = together(databases);
        privileges.tables = merged(tables);
    }
}

/// Grants of several in databases, as if they were one's. The most specific pattern counts, for each of them by itself: a
/// pattern has what each of them may do in all the databases that it is for.
fn together(origins: Vec<Vec<DatabaseGrant>>) -> Vec<DatabaseGrant> {
    let of: Vec<Privileges> =
        origins.into_iter().map(|databases| Privileges { databases, ..Privileges::default() }).collect();
    let mut out: Vec<DatabaseGrant> = Vec::new();
    for grant in of.iter().flat_map(|origin| &origin.databases) {
        if out.iter().all(|g| g.database != grant.database) {
            let all = of.iter().fold(Priv::NONE, |all, origin| all | origin.in_pattern(&grant.database));
            out.push(DatabaseGrant { privileges: all, ..grant.clone() });
        }
    }
    out
}

fn merged(origins: Vec<Vec<TableGrant>>) -> Vec<TableGrant> {
    let mut out: Vec<TableGrant> = Vec::new();
    for grant in origins.into_iter().flatten() {
        let same = |g: &&mut TableGrant| g.database == grant.database && g.table == grant.table;
        let Some(there) = out.iter_mut().find(same) else {
            out.push(grant);
            continue;
        };
        there.privileges |= grant.privileges;
        for (column, privileges) in grant.columns {
            match there.columns.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(&column)) {
                Some((_, has)) => *has |= privileges,
                None => there.columns.push((column, privileges)),
            }
        }
    }
    out
}

/// Roles of a list as `mandatory_roles` has it: names of accounts with commas between them, quoted or not. `None`: it is no
/// such list.
pub(crate) fn parse_list(text: &str) -> Option<Vec<Name>> {
    let mut rest = text.trim();
    let mut out = Vec::new();
    while !rest.is_empty() {
        let (user, after) = part(rest, true)?;
        let (host, after) = match after.strip_prefix('@') {
            Some(after) => part(after, false)?,
            None => ("%".to_owned(), after),
        };
        if user.is_empty() {
            return None;
        }
        out.push((user, host.to_lowercase()));
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(more) if !more.trim().is_empty() => rest = more.trim_start(),
            None if rest.is_empty() => {}
            _ => return None,
        }
    }
    Some(out)
}

/// A name, and what follows it.
fn part(text: &str, stops_at_sign: bool) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"' | '`'));
    let Some(quote) = quote else {
        let ends = |c: char| c == ',' || c.is_whitespace() || (stops_at_sign && c == '@');
        let end = text.find(ends).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut name = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != quote {
            name.push(c);
        } else if chars.peek().is_some_and(|(_, next)| *next == quote) {
            chars.next();
            name.push(c);
        } else {
            return Some((name, &text[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_roles() {
        let of = |user: &str, host: &str| (user.to_owned(), host.to_owned());
        for (text, expected) in [
            ("", Some(vec![])),
            (" r1 ", Some(vec![of("r1", "%")])),
            (
                "r1,`r2`@`%`, 'r 3'@LOCALHOST",
                Some(vec![of("r1", "%"), of("r2", "%"), of("r 3", "localhost")]),
            ),
            ("'it''s'@'h'", Some(vec![of("it's", "h")])),
            ("'a,b'@h,c", Some(vec![of("a,b", "h"), of("c", "%")])),
            ("a,", None),
            (",a", None),
            ("a b", None),
            ("'a", None),
            ("''@h", None),
        ] {
            assert_eq!(parse_list(text), expected, "{text}");
        }
    }

    #[test]
    fn circles_and_diamonds_of_roles_end() {
        let name = |user: &str| (user.to_owned(), "%".to_owned());
        let mut grants = Grants::default();
        // Tables that were changed by hand may have circles.
        for (role, to) in [("a", "b"), ("b", "a"), ("c", "a"), ("c", "b"), ("d", "c")] {
            grants.roles.edges.push(Edge { role: name(role), to: name(to), admin: false });
        }
        let met = grants.with_roles_of_roles(&[name("a")]);
        assert_eq!(met, [name("a"), name("b"), name("c"), name("d")]);
    }

    #[test]
    fn patterns_of_several_add_up() {
        let grant = |database: &str, privileges: Priv| DatabaseGrant {
            user: String::new(),
            host: String::new(),
            database: database.to_owned(),
            privileges,
        };
        let both = together(vec![
            vec![grant("a%", Priv::SELECT)],
            vec![grant("ab", Priv::INSERT), grant("b", Priv::DELETE)],
        ]);
        let privileges = Privileges { databases: both, ..Privileges::default() };
        assert_eq!(privileges.in_database("ab"), Priv::SELECT | Priv::INSERT);
        assert_eq!(privileges.in_database("ac"), Priv::SELECT);
        assert_eq!(privileges.in_database("b"), Priv::DELETE);
    }
}
