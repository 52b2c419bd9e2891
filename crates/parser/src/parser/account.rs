//! Users and privileges.

use super::{Parser, R};
use crate::ast::{
    Auth, CreateUser, DropUser, Forgives, Grant, GrantLevel, GrantWhat, Ident, ObjectName, PasswordExpire,
    Privilege, PrivilegeItem, ProgramKind, Require, ResourceLimits, RoleChoice, Stmt, UserName, UserSpec,
};
use crate::keyword::Kw;
use crate::token::T;

/// Dynamic privileges of 8.0 for what is not here.
const UNUSED: [&str; 27] = [
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SYSTEM_USER",
    "TABLE_ENCRYPTION_ADMIN",
    "XA_RECOVER_ADMIN",
];

impl<'a> Parser<'a> {
    /// `'user'@'host'`, `user`, `CURRENT_USER[()]`.
    pub(super) fn user_name(&mut self) -> R<UserName<'a>> {
        if self.eat_kw(Kw::CurrentUser) {
            if self.eat(T::LParen) {
                self.expect(T::RParen)?;
            }
            return Ok(UserName { user: &[], host: None, current: true });
        }
        let user = self.ident_or_text()?.name;
        if !self.at(T::UserVar) {
            return Ok(UserName { user, host: None, current: false });
        }
        let bare_sign = self.s.tok.end - self.s.tok.start == 1;
        let host = if bare_sign {
            self.advance();
            self.ident_or_text()?.name
        } else {
            self.user_var_name().name
        };
        Ok(UserName { user, host: Some(host), current: false })
    }

    fn user_spec(&mut self) -> R<UserSpec<'a>> {
        let name = self.user_name()?;
        let auth = if self.eat_kw(Kw::Identified) { Some(self.auth()?) } else { None };
        Ok(UserSpec { name, auth })
    }

    /// After IDENTIFIED.
    fn auth(&mut self) -> R<Auth<'a>> {
        if self.eat_kw(Kw::By) {
            if self.eat_kw(Kw::Password) {
                return self.text().map(Auth::Hash);
            }
            return self.text().map(Auth::Password);
        }
        self.expect_kw(Kw::With)?;
        let plugin = self.ident_or_text()?;
        let (mut password, mut hash) = (None, None);
        if self.eat_kw(Kw::By) {
            password = Some(self.text()?);
        } else if self.eat_kw(Kw::As) {
            hash = Some(self.text_or_bytes()?);
        }
        Ok(Auth::Plugin { plugin, password, hash })
    }

    /// CREATE USER and ALTER USER, at USER.
    pub(super) fn create_user(&mut self, alter: bool) -> R<Stmt<'a>> {
        self.expect_kw(Kw::User)?;
        let if_exists = if alter { self.if_exists()? } else { self.if_not_exists()? };
        let users = self.comma_list(|parser| {
            if alter && parser.kw() == Kw::User && parser.peek().kind == T::LParen {
                parser.advance();
                parser.expect(T::LParen)?;
                parser.expect(T::RParen)?;
                let name = UserName { user: &[], host: None, current: true };
                let auth = if parser.eat_kw(Kw::Identified) { Some(parser.auth()?) } else { None };
                return Ok(UserSpec { name, auth });
            }
            parser.user_spec()
        })?;
        let mut user = CreateUser {
            alter,
            if_exists,
            users,
            default_role: self.default_role(alter)?,
            require: self.require()?,
            limits: ResourceLimits::default(),
            expire: None,
            locked: None,
        };
        if self.eat_kw(Kw::With) {
            while self.resource_limit(&mut user.limits)? {}
        }
        loop {
            match self.kw() {
                Kw::Password => {
                    self.advance();
                    self.expect_kw(Kw::Expire)?;
                    user.expire = Some(self.password_expire()?);
                }
                Kw::Account => {
                    self.advance();
                    let lock = self.at_kw(Kw::Lock);
                    if !lock && !self.at_kw(Kw::Unlock) {
                        return self.fail();
                    }
                    self.advance();
                    user.locked = Some(lock);
                }
                _ => break,
            }
        }
        Ok(Stmt::CreateUser(self.alloc(user)))
    }

    /// `DEFAULT ROLE …` or nothing. A new account has no roles but those that are named.
    fn default_role(&mut self, alter: bool) -> R<Option<RoleChoice<'a>>> {
        if !self.eat_kws(Kw::Default, Kw::Role) {
            return Ok(None);
        }
        let choice = self.role_choice(false)?;
        match choice {
            RoleChoice::Listed(_) => Ok(Some(choice)),
            _ if alter => Ok(Some(choice)),
            _ => self.fail(),
        }
    }

    fn password_expire(&mut self) -> R<PasswordExpire> {
        if self.eat_kw(Kw::Never) {
            return Ok(PasswordExpire::Never);
        }
        if self.eat_kw(Kw::Default) {
            return Ok(PasswordExpire::Default);
        }
        if self.eat_kw(Kw::Interval) {
            let days = self.number()?;
            self.expect_kw(Kw::Day)?;
            return Ok(PasswordExpire::Days(days));
        }
        Ok(PasswordExpire::Now)
    }

    /// `REQUIRE …` or nothing.
    fn require(&mut self) -> R<Option<Require<'a>>> {
        if !self.eat_kw(Kw::Require) {
            return Ok(None);
        }
        let simple = match self.kw() {
            Kw::None => Some(Require::None),
            Kw::Ssl => Some(Require::Ssl),
            Kw::X509 => Some(Require::X509),
            _ => None,
        };
        if simple.is_some() {
            self.advance();
            return Ok(simple);
        }
        let (mut cipher, mut issuer, mut subject) = (None, None, None);
        loop {
            let target = match self.kw() {
                Kw::Cipher => &mut cipher,
                Kw::Issuer => &mut issuer,
                Kw::Subject => &mut subject,
                _ => break,
            };
            self.advance();
            *target = Some(self.text()?);
            self.eat_kw(Kw::And);
        }
        if cipher.is_none() && issuer.is_none() && subject.is_none() {
            return self.fail();
        }
        Ok(Some(Require::Details { cipher, issuer, subject }))
    }

    /// One `MAX_… n`; false if none follows.
    fn resource_limit(&mut self, limits: &mut ResourceLimits) -> R<bool> {
        let limit = match self.kw() {
            Kw::MaxQueriesPerHour => &mut limits.queries_per_hour,
            Kw::MaxUpdatesPerHour => &mut limits.updates_per_hour,
            Kw::MaxConnectionsPerHour => &mut limits.connections_per_hour,
            Kw::MaxUserConnections => &mut limits.user_connections,
            _ => return Ok(false),
        };
        self.advance();
        *limit = Some(self.number()?);
        Ok(true)
    }

    /// DROP USER, at USER.
    pub(super) fn drop_user(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::User)?;
        let if_exists = self.if_exists()?;
        let users = self.comma_list(Self::user_name)?;
        Ok(Stmt::DropUser(self.alloc(DropUser { if_exists, users })))
    }

    /// GRANT and REVOKE.
    pub(super) fn grant(&mut self) -> R<Stmt<'a>> {
        let revoke = self.at_kw(Kw::Revoke);
        self.advance();
        let if_exists = revoke && self.if_exists()?;
        if self.at_roles() {
            return self.grant_roles(revoke, if_exists);
        }
        let what = self.grant_what(revoke)?;
        self.expect_kw(if revoke { Kw::From } else { Kw::To })?;
        let users = self.comma_list(Self::user_spec)?;
        let mut grant = Grant {
            revoke,
            what,
            users,
            require: None,
            grant_option: false,
            limits: ResourceLimits::default(),
            forgives: Forgives { not_granted: if_exists, unknown_users: false },
        };
        if revoke {
            grant.forgives.unknown_users = self.ignore_unknown_user()?;
        } else {
            grant.require = self.require()?;
            if self.eat_kw(Kw::With) {
                let mut any = false;
                loop {
                    if self.eat_kw(Kw::Grant) {
                        self.expect_kw(Kw::Option)?;
                        grant.grant_option = true;
                    } else if !self.resource_limit(&mut grant.limits)? {
                        break;
                    }
                    any = true;
                }
                if !any {
                    return self.fail();
                }
            }
        }
        Ok(Stmt::Grant(self.alloc(grant)))
    }

    fn grant_what(&mut self, revoke: bool) -> R<GrantWhat<'a>> {
        if self.at_kw(Kw::Proxy) {
            self.advance();
            self.expect_kw(Kw::On)?;
            return self.user_name().map(GrantWhat::Proxy);
        }
        if self.eat_kw(Kw::All) {
            self.eat_kw(Kw::Privileges);
            if revoke && self.eat(T::Comma) {
                self.expect_kw(Kw::Grant)?;
                self.expect_kw(Kw::Option)?;
                return Ok(GrantWhat::Everything);
            }
            self.expect_kw(Kw::On)?;
            return self.grant_level().map(GrantWhat::All);
        }
        let items = self.comma_list(|parser| {
            let privilege = parser.privilege()?;
            let columns = if parser.at(T::LParen) { parser.ident_list_in_parens()? } else { &[] };
            Ok(PrivilegeItem { privilege, columns })
        })?;
        self.expect_kw(Kw::On)?;
        Ok(GrantWhat::Privileges(items, self.grant_level()?))
    }

    fn grant_level(&mut self) -> R<GrantLevel<'a>> {
        let kind = match self.kw() {
            Kw::Table if !matches!(self.peek().kind, T::Dot) => {
                self.advance();
                return self.object_name().map(GrantLevel::Table);
            }
            Kw::Procedure => Some(ProgramKind::Procedure),
            Kw::Function if !matches!(self.peek().kw, Kw::To | Kw::From) => Some(ProgramKind::Function),
            _ => None,
        };
        if let Some(kind) = kind {
            self.advance();
            return self.object_name().map(|name| GrantLevel::Program(kind, name));
        }
        if self.eat(T::Star) {
            if self.eat(T::Dot) {
                self.expect(T::Star)?;
                return Ok(GrantLevel::Global);
            }
            return Ok(GrantLevel::Current);
        }
        let first: Ident<'a> = self.ident()?;
        if !self.eat(T::Dot) {
            return Ok(GrantLevel::Table(ObjectName { schema: None, name: first }));
        }
        if self.eat(T::Star) {
            return Ok(GrantLevel::Database(first));
        }
        let name = self.ident()?;
        Ok(GrantLevel::Table(ObjectName { schema: Some(first), name }))
    }

    /// Those that 8.0 calls dynamic: names, not keywords. Of its others nothing depends here.
    fn dynamic_privilege(&mut self) -> R<Privilege> {
        let name = self.ident()?.to_string().to_uppercase();
        Ok(match name.as_str() {
            "CONNECTION_ADMIN" => Privilege::ConnectionAdmin,
            "FLUSH_STATUS" => Privilege::FlushStatus,
            "FLUSH_TABLES" => Privilege::FlushTables,
            "FLUSH_USER_RESOURCES" => Privilege::FlushUserResources,
            "ROLE_ADMIN" => Privilege::RoleAdmin,
            "SESSION_VARIABLES_ADMIN" => Privilege::SessionVariablesAdmin,
            "SET_USER_ID" => Privilege::SetUserId,
            "SHOW_ROUTINE" => Privilege::ShowRoutine,
            "SYSTEM_VARIABLES_ADMIN" => Privilege::SystemVariablesAdmin,
            name => match UNUSED.into_iter().find(|unused| *unused == name) {
                Some(name) => Privilege::Unused(name),
                None => return self.fail(),
            },
        })
    }

    fn privilege(&mut self) -> R<Privilege> {
        let kw = self.kw();
        let next = self.peek().kw;
        let (privilege, words) = match (kw, next) {
            (Kw::Alter, Kw::Routine) => (Privilege::AlterRoutine, 2),
            (Kw::Alter, _) => (Privilege::Alter, 1),
            (Kw::Create, Kw::Role) => (Privilege::CreateRole, 2),
            (Kw::Drop, Kw::Role) => (Privilege::DropRole, 2),
            (Kw::Create, Kw::Routine) => (Privilege::CreateRoutine, 2),
            (Kw::Create, Kw::Tablespace) => (Privilege::CreateTablespace, 2),
            (Kw::Create, Kw::Temporary) => (Privilege::CreateTemporaryTables, 3),
            (Kw::Create, Kw::User) => (Privilege::CreateUser, 2),
            (Kw::Create, Kw::View) => (Privilege::CreateView, 2),
            (Kw::Create, _) => (Privilege::Create, 1),
            (Kw::Delete, _) => (Privilege::Delete, 1),
            (Kw::Drop, _) => (Privilege::Drop, 1),
            (Kw::Event, _) => (Privilege::Event, 1),
            (Kw::Execute, _) => (Privilege::Execute, 1),
            (Kw::File, _) => (Privilege::File, 1),
            (Kw::Grant, Kw::Option) => (Privilege::GrantOption, 2),
            (Kw::Index, _) => (Privilege::Index, 1),
            (Kw::Insert, _) => (Privilege::Insert, 1),
            (Kw::Lock, Kw::Tables) => (Privilege::LockTables, 2),
            (Kw::Process, _) => (Privilege::Process, 1),
            (Kw::References, _) => (Privilege::References, 1),
            (Kw::Reload, _) => (Privilege::Reload, 1),
            (Kw::Replication, Kw::Client) => (Privilege::ReplicationClient, 2),
            (Kw::Replication, Kw::Slave) => (Privilege::ReplicationSlave, 2),
            (Kw::Select, _) => (Privilege::Select, 1),
            (Kw::Show, Kw::Databases) => (Privilege::ShowDatabases, 2),
            (Kw::Show, Kw::View) => (Privilege::ShowView, 2),
            (Kw::Shutdown, _) => (Privilege::Shutdown, 1),
            (Kw::Super, _) => (Privilege::Super, 1),
            (Kw::Trigger, _) => (Privilege::Trigger, 1),
            (Kw::Update, _) => (Privilege::Update, 1),
            (Kw::Usage, _) => (Privilege::Usage, 1),
            _ => return self.dynamic_privilege(),
        };
        for _ in 0..words {
            self.advance();
        }
        Ok(privilege)
    }
}
