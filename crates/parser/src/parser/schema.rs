//! Databases, views, tablespaces; DROP and RENAME.

use super::{Parser, R};
use crate::ast::{
    CreateTablespace, CreateView, Database, DropDatabase, DropTables, ImportTables, Span, Stmt, UserName,
    ViewAlgorithm, ViewCheck,
};
use crate::keyword::Kw;
use crate::token::T;

/// What may stand between CREATE and what is created.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CreateHead<'a> {
    pub(super) or_replace: bool,
    pub(super) algorithm: Option<ViewAlgorithm>,
    pub(super) definer: Option<UserName<'a>>,
    pub(super) security: Option<bool>,
}

impl<'a> Parser<'a> {
    pub(super) fn create(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Create)?;
        match self.kw() {
            Kw::Table => self.create_table(false),
            Kw::Temporary => {
                self.advance();
                self.create_table(true)
            }
            Kw::Index | Kw::Unique | Kw::Fulltext | Kw::Spatial => self.create_index(),
            Kw::Database | Kw::Schema => self.create_database(),
            Kw::User => self.create_user(false),
            Kw::Role => self.create_role(),
            Kw::Tablespace => self.create_tablespace(),
            Kw::Logfile => self.unsupported("CREATE LOGFILE GROUP"),
            Kw::Server => self.unsupported("CREATE SERVER"),
            Kw::Aggregate => self.unsupported("CREATE FUNCTION … SONAME"),
            _ => {
                let head = self.create_head()?;
                match self.kw() {
                    Kw::View => self.create_view(head, false),
                    Kw::Procedure | Kw::Function | Kw::Trigger | Kw::Event => self.create_program(head),
                    _ => self.fail(),
                }
            }
        }
    }

    /// `[OR REPLACE] [ALGORITHM = …] [DEFINER = user] [SQL SECURITY …]`.
    pub(super) fn create_head(&mut self) -> R<CreateHead<'a>> {
        let mut head = CreateHead::default();
        if self.eat_kw(Kw::Or) {
            self.expect_kw(Kw::Replace)?;
            head.or_replace = true;
        }
        if self.eat_kw(Kw::Algorithm) {
            self.expect(T::Eq)?;
            head.algorithm = Some(match self.kw() {
                Kw::Undefined => ViewAlgorithm::Undefined,
                Kw::Merge => ViewAlgorithm::Merge,
                Kw::Temptable => ViewAlgorithm::TempTable,
                _ => return self.fail(),
            });
            self.advance();
        }
        if self.eat_kw(Kw::Definer) {
            self.expect(T::Eq)?;
            head.definer = Some(self.user_name()?);
        }
        if self.eat_kw(Kw::Sql) {
            self.expect_kw(Kw::Security)?;
            let invoker = self.at_kw(Kw::Invoker);
            if !invoker && !self.at_kw(Kw::Definer) {
                return self.fail();
            }
            self.advance();
            head.security = Some(invoker);
        }
        Ok(head)
    }

    /// CREATE VIEW and ALTER VIEW, at VIEW.
    pub(super) fn create_view(&mut self, head: CreateHead<'a>, alter: bool) -> R<Stmt<'a>> {
        self.expect_kw(Kw::View)?;
        let name = self.object_name()?;
        let columns = if self.at(T::LParen) { self.ident_list_in_parens()? } else { &[] };
        self.expect_kw(Kw::As)?;
        let start = self.s.tok.start;
        let query = if self.at(T::LParen) { self.query_in_parens()? } else { self.query()? };
        let text = self.span_from(start);
        let mut check = ViewCheck::None;
        if self.eat_kw(Kw::With) {
            check = if self.eat_kw(Kw::Local) {
                ViewCheck::Local
            } else {
                self.eat_kw(Kw::Cascaded);
                ViewCheck::Cascaded
            };
            self.expect_kw(Kw::Check)?;
            self.expect_kw(Kw::Option)?;
        }
        Ok(Stmt::CreateView(self.alloc(CreateView {
            alter,
            or_replace: head.or_replace,
            algorithm: head.algorithm.unwrap_or_default(),
            definer: head.definer,
            invoker: head.security,
            name,
            columns,
            query,
            text,
            check,
        })))
    }

    fn create_database(&mut self) -> R<Stmt<'a>> {
        self.advance();
        let if_not_exists = self.if_not_exists()?;
        let name = Some(self.ident()?);
        let mut database = Database { if_not_exists, name, charset: None, collation: None, encryption: None };
        self.database_options(&mut database)?;
        Ok(Stmt::CreateDatabase(self.alloc(database)))
    }

    /// ALTER DATABASE, at DATABASE or SCHEMA.
    fn alter_database(&mut self) -> R<Stmt<'a>> {
        self.advance();
        let option = matches!(self.kw(), Kw::Charset | Kw::Encryption) && self.peek().kind != T::Word;
        let name = if self.at_ident() && !option { Some(self.ident()?) } else { None };
        if self.at_kw(Kw::Upgrade) {
            return self.unsupported("ALTER DATABASE … UPGRADE DATA DIRECTORY NAME");
        }
        let mut database =
            Database { if_not_exists: false, name, charset: None, collation: None, encryption: None };
        if !self.database_options(&mut database)? {
            return self.fail();
        }
        Ok(Stmt::AlterDatabase(self.alloc(database)))
    }

    /// Whether there are any.
    fn database_options(&mut self, database: &mut Database<'a>) -> R<bool> {
        let mut any = false;
        loop {
            self.eat_kw(Kw::Default);
            match self.kw() {
                Kw::Charset | Kw::Character | Kw::Char => {
                    self.charset_words()?;
                    self.skip_eq();
                    database.charset = Some(self.name_or_default()?);
                }
                Kw::Collate => {
                    self.advance();
                    self.skip_eq();
                    database.collation = Some(self.name_or_default()?);
                }
                Kw::Encryption => {
                    self.advance();
                    self.skip_eq();
                    database.encryption = Some(self.text()?);
                }
                _ => return Ok(any),
            }
            any = true;
        }
    }

    fn create_tablespace(&mut self) -> R<Stmt<'a>> {
        self.advance();
        let name = self.ident()?;
        let mut space = CreateTablespace { name, datafile: None, file_block_size: None, engine: None };
        loop {
            match self.kw() {
                Kw::Add => {
                    self.advance();
                    self.expect_kw(Kw::Datafile)?;
                    space.datafile = Some(self.text()?);
                }
                Kw::FileBlockSize => {
                    self.advance();
                    self.skip_eq();
                    space.file_block_size = Some(self.number()?);
                }
                Kw::Storage => self.advance(),
                Kw::Engine => {
                    self.advance();
                    self.skip_eq();
                    space.engine = Some(self.ident_or_text()?);
                }
                Kw::Use => return self.unsupported("CREATE TABLESPACE … USE LOGFILE GROUP"),
                _ => break,
            }
            self.eat(T::Comma);
        }
        Ok(Stmt::CreateTablespace(self.alloc(space)))
    }

    pub(super) fn alter(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Alter)?;
        match self.kw() {
            Kw::Ignore | Kw::Table => self.alter_table(),
            Kw::Database | Kw::Schema => self.alter_database(),
            Kw::User => self.create_user(true),
            Kw::Tablespace => self.unsupported("ALTER TABLESPACE"),
            Kw::Logfile => self.unsupported("ALTER LOGFILE GROUP"),
            Kw::Server => self.unsupported("ALTER SERVER"),
            Kw::Procedure | Kw::Function => self.alter_program(),
            _ => {
                let head = self.create_head()?;
                match self.kw() {
                    Kw::View if !head.or_replace => self.create_view(head, true),
                    Kw::Event => self.alter_event(head),
                    _ => self.fail(),
                }
            }
        }
    }

    pub(super) fn drop(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Drop)?;
        let kw = self.kw();
        match kw {
            Kw::Table | Kw::Tables => self.drop_tables(false),
            Kw::Temporary => {
                self.advance();
                self.drop_tables(true)
            }
            Kw::View => {
                let drop = self.dropped(false)?;
                Ok(Stmt::DropView(drop))
            }
            Kw::Index => {
                self.advance();
                self.drop_index()
            }
            Kw::Database | Kw::Schema => {
                self.advance();
                let if_exists = self.if_exists()?;
                Ok(Stmt::DropDatabase(DropDatabase { if_exists, name: self.ident()? }))
            }
            Kw::Procedure | Kw::Function | Kw::Trigger | Kw::Event => self.drop_program(),
            Kw::Prepare => {
                self.advance();
                self.ident().map(Stmt::Deallocate)
            }
            Kw::User => self.drop_user(),
            Kw::Role => self.drop_role(),
            Kw::Tablespace => {
                self.advance();
                let name = self.ident()?;
                self.rest_of_statement();
                Ok(Stmt::DropTablespace(name))
            }
            Kw::Logfile => self.unsupported("DROP LOGFILE GROUP"),
            Kw::Server => self.unsupported("DROP SERVER"),
            _ => self.fail(),
        }
    }

    fn drop_tables(&mut self, temporary: bool) -> R<Stmt<'a>> {
        if !matches!(self.kw(), Kw::Table | Kw::Tables) {
            return self.fail();
        }
        self.dropped(temporary).map(Stmt::DropTable)
    }

    /// `TABLE | VIEW [IF EXISTS] name, … [RESTRICT | CASCADE]`.
    fn dropped(&mut self, temporary: bool) -> R<&'a DropTables<'a>> {
        self.advance();
        let if_exists = self.if_exists()?;
        let names = self.object_name_list()?;
        if !self.eat_kw(Kw::Restrict) {
            self.eat_kw(Kw::Cascade);
        }
        Ok(self.alloc(DropTables { temporary, if_exists, names }))
    }

    pub(super) fn truncate(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Truncate)?;
        self.eat_kw(Kw::Table);
        self.object_name().map(Stmt::Truncate)
    }

    pub(super) fn rename(&mut self) -> R<Stmt<'a>> {
        self.expect_kw(Kw::Rename)?;
        if self.eat_kw(Kw::User) {
            return self
                .comma_list(|parser| {
                    let old = parser.user_name()?;
                    parser.expect_kw(Kw::To)?;
                    Ok((old, parser.user_name()?))
                })
                .map(Stmt::RenameUsers);
        }
        if !self.eat_kw(Kw::Tables) {
            self.expect_kw(Kw::Table)?;
        }
        self.comma_list(|parser| {
            let old = parser.object_name()?;
            parser.expect_kw(Kw::To)?;
            Ok((old, parser.object_name()?))
        })
        .map(Stmt::RenameTables)
    }

    /// `IMPORT TABLE FROM 'file' [, 'file'] … [USING 'file']`: MySQL 8's statement, with definitions in a file of their own.
    pub(super) fn import_tables(&mut self) -> R<Stmt<'a>> {
        self.advance();
        self.expect_kw(Kw::Table)?;
        self.expect_kw(Kw::From)?;
        let files = self.comma_list(Self::text)?;
        let definitions = if self.eat_kw(Kw::Using) { Some(self.text()?) } else { None };
        Ok(Stmt::ImportTables(self.alloc(ImportTables { files, definitions })))
    }

    /// A statement that is read to its end without being understood.
    pub(super) fn unsupported(&mut self, feature: &'static str) -> R<Stmt<'a>> {
        self.rest_of_statement();
        if self.at(T::Error) {
            return self.fail();
        }
        Ok(Stmt::Unsupported { feature })
    }

    /// Skips to the end of the statement; its text.
    pub(super) fn rest_of_statement(&mut self) -> Span {
        let start = self.s.tok.start;
        while !self.at_end() && !self.at(T::Error) {
            self.advance();
        }
        self.span_from(start.min(self.s.prev_end))
    }
}
