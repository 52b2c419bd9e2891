//! Roles.

use super::{Parser, R};
use crate::ast::{Forgives, RoleChoice, RoleStmt, Stmt, UserName};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    /// The name of a role: as that of a user, but nobody's who is here.
    fn role_name(&mut self) -> R<UserName<'a>> {
        if self.at_kw(Kw::CurrentUser) { self.fail() } else { self.user_name() }
    }

    fn role_names(&mut self) -> R<&'a [UserName<'a>]> {
        self.comma_list(Self::role_name)
    }

    /// CREATE ROLE, at ROLE.
    pub(super) fn create_role(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Role)?;
        let if_not_exists = self.if_not_exists()?;
        let roles = self.role_names()?;
        Ok(Stmt::Role(self.alloc(RoleStmt::Create { if_not_exists, roles })))
    }

    /// DROP ROLE, at ROLE.
    pub(super) fn drop_role(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Role)?;
        let if_exists = self.if_exists()?;
        let roles = self.role_names()?;
        Ok(Stmt::Role(self.alloc(RoleStmt::Drop { if_exists, roles })))
    }

    /// Whether GRANT or REVOKE, which was just passed, is about roles: what privileges hold for follows ON.
    pub(super) fn at_roles(&self) -> bool {
        if self.at_kw(Kw::All) {
            return false;
        }
        let mut lexer = self.s.lexer;
        let mut token = self.s.tok;
        loop {
            match (token.kind, token.kw) {
                (_, Kw::To | Kw::From) => return true,
                (_, Kw::On) | (T::Eof | T::Semi | T::Error, _) => return false,
                _ => token = lexer.next(),
            }
        }
    }

    /// `IGNORE UNKNOWN USER` or nothing, at the end of REVOKE.
    pub(super) fn ignore_unknown_user(&mut self) -> R<bool> {
        let ignore = self.eat_kws(Kw::Ignore, Kw::Unknown);
        if ignore {
            self.expect_kw(Kw::User)?;
        }
        Ok(ignore)
    }

    /// GRANT and REVOKE of roles, at the first one.
    pub(super) fn grant_roles(&mut self, revoke: bool, if_exists: bool) -> R<Stmt<'a>> {
        let roles = self.role_names()?;
        self.expect_kw(if revoke { Kw::From } else { Kw::To })?;
        let users = self.comma_list(Self::user_name)?;
        if revoke {
            let forgives = Forgives { not_granted: if_exists, unknown_users: self.ignore_unknown_user()? };
            return Ok(Stmt::Role(self.alloc(RoleStmt::Revoke { roles, users, forgives })));
        }
        let admin = self.eat_kw(Kw::With);
        if admin {
            self.expect_kw(Kw::Admin)?;
            self.expect_kw(Kw::Option)?;
        }
        Ok(Stmt::Role(self.alloc(RoleStmt::Grant { roles, users, admin })))
    }

    /// SET ROLE and SET DEFAULT ROLE behind SET; `None`: it is another SET.
    pub(super) fn set_role(&mut self) -> R<Option<Stmt<'a>>> {
        if self.eat_kws(Kw::Default, Kw::Role) {
            let choice = self.role_choice(false)?;
            self.expect_kw(Kw::To)?;
            let users = self.comma_list(Self::user_name)?;
            return Ok(Some(Stmt::Role(self.alloc(RoleStmt::SetDefault { choice, users }))));
        }
        // A local variable may have that name.
        if !self.at_kw(Kw::Role) || matches!(self.peek().kind, T::Eq | T::Assign | T::Dot) {
            return Ok(None);
        }
        self.advance();
        let choice = self.role_choice(true)?;
        Ok(Some(Stmt::Role(self.alloc(RoleStmt::Set(choice)))))
    }

    /// `NONE | ALL | role, …`, and of SET ROLE `DEFAULT` and `ALL EXCEPT role, …` as well.
    pub(super) fn role_choice(&mut self, of_session: bool) -> R<RoleChoice<'a>> {
        if self.eat_kw(Kw::None) {
            return Ok(RoleChoice::None);
        }
        if of_session && self.eat_kw(Kw::Default) {
            return Ok(RoleChoice::Default);
        }
        if self.eat_kw(Kw::All) {
            let but = of_session && self.eat_kw(Kw::Except);
            return Ok(RoleChoice::AllBut(if but { self.role_names()? } else { &[] }));
        }
        self.role_names().map(RoleChoice::Listed)
    }
}
