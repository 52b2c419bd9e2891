//! Options of tables, and ALGORITHM= and LOCK=.

use super::{Parser, R};
use crate::ast::{AlterAlgorithm, AlterLock, Ident, RowFormatOption, TableOption};
use crate::error::ParseErrorKind;
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    /// Options with or without commas between them.
    pub(super) fn table_options(&mut self) -> R<&'a [TableOption<'a>]> {
        let mut options = self.new_list();
        loop {
            let bookmark = self.s;
            if !options.is_empty() {
                self.eat(T::Comma);
            }
            match self.table_option()? {
                Some(option) => options.push(option),
                None => {
                    self.s = bookmark;
                    return Ok(options.into_bump_slice());
                }
            }
        }
    }

    /// One option if there is one.
    pub(super) fn table_option(&mut self) -> R<Option<TableOption<'a>>> {
        let kw = self.kw();
        let option = match kw {
            Kw::Engine => {
                self.option_name();
                TableOption::Engine(self.ident_or_text()?)
            }
            Kw::AutoIncrement => TableOption::AutoIncrement(self.option_number()?),
            Kw::Default | Kw::Character | Kw::Char | Kw::Charset | Kw::Collate => {
                return self.charset_option();
            }
            Kw::Comment => TableOption::Comment(self.option_text()?),
            Kw::RowFormat => {
                self.option_name();
                TableOption::RowFormat(self.row_format()?)
            }
            Kw::KeyBlockSize => TableOption::KeyBlockSize(self.option_number()?),
            Kw::StatsPersistent => TableOption::StatsPersistent(self.option_number_or_default()?),
            Kw::StatsAutoRecalc => TableOption::StatsAutoRecalc(self.option_number_or_default()?),
            Kw::StatsSamplePages => TableOption::StatsSamplePages(self.option_number_or_default()?),
            Kw::Data | Kw::Index if self.peek().kw == Kw::Directory => {
                self.advance();
                let path = self.option_text()?;
                if kw == Kw::Data {
                    TableOption::DataDirectory(path)
                } else {
                    TableOption::IndexDirectory(path)
                }
            }
            Kw::Tablespace => {
                self.option_name();
                TableOption::Tablespace(self.ident()?)
            }
            Kw::Storage => {
                self.advance();
                let disk = self.at_kw(Kw::Disk);
                if !disk && !self.at_kw(Kw::Memory) {
                    return self.fail();
                }
                self.advance();
                TableOption::StorageDisk(disk)
            }
            Kw::AvgRowLength => TableOption::AvgRowLength(self.option_number()?),
            Kw::MaxRows => TableOption::MaxRows(self.option_number()?),
            Kw::MinRows => TableOption::MinRows(self.option_number()?),
            Kw::Checksum | Kw::TableChecksum => TableOption::Checksum(self.option_number()?),
            Kw::DelayKeyWrite => TableOption::DelayKeyWrite(self.option_number()?),
            Kw::PackKeys => TableOption::PackKeys(self.option_number_or_default()?),
            Kw::Password => TableOption::Password(self.option_text()?),
            Kw::Connection => TableOption::Connection(self.option_text()?),
            Kw::Compression => TableOption::Compression(self.option_text()?),
            Kw::Encryption => TableOption::Encryption(self.option_text()?),
            Kw::InsertMethod => {
                self.option_name();
                TableOption::InsertMethod(self.ident()?)
            }
            Kw::Union => {
                self.option_name();
                self.expect(T::LParen)?;
                let tables = if self.at(T::RParen) { &[] } else { self.object_name_list()? };
                self.expect(T::RParen)?;
                TableOption::Union(tables)
            }
            _ => return Ok(None),
        };
        Ok(Some(option))
    }

    /// The option's word and an optional `=`.
    fn option_name(&mut self) {
        self.advance();
        self.skip_eq();
    }

    fn option_number(&mut self) -> R<u64> {
        self.option_name();
        self.number()
    }

    fn option_number_or_default(&mut self) -> R<Option<u64>> {
        self.option_name();
        if self.eat_kw(Kw::Default) { Ok(None) } else { self.number().map(Some) }
    }

    fn option_text(&mut self) -> R<&'a [u8]> {
        self.option_name();
        self.text()
    }

    /// `[DEFAULT] CHARACTER SET [=] cs`, `[DEFAULT] COLLATE [=] c`; nothing if DEFAULT begins something else.
    fn charset_option(&mut self) -> R<Option<TableOption<'a>>> {
        if self.at_kw(Kw::Default)
            && !matches!(self.peek().kw, Kw::Character | Kw::Char | Kw::Charset | Kw::Collate)
        {
            return Ok(None);
        }
        self.eat_kw(Kw::Default);
        if self.eat_kw(Kw::Collate) {
            self.skip_eq();
            return self.name_or_default().map(|name| Some(TableOption::Collation(name)));
        }
        self.charset_words()?;
        self.skip_eq();
        self.name_or_default().map(|name| Some(TableOption::Charset(name)))
    }

    /// `CHARSET`, `CHARACTER SET`, `CHAR SET`.
    pub(super) fn charset_words(&mut self) -> R<()> {
        if self.eat_kw(Kw::Charset) {
            return Ok(());
        }
        if !self.eat_kw(Kw::Character) {
            self.expect_kw(Kw::Char)?;
        }
        self.expect_kw(Kw::Set)
    }

    /// A character set or collation, or DEFAULT.
    pub(super) fn name_or_default(&mut self) -> R<Option<Ident<'a>>> {
        if self.eat_kw(Kw::Default) {
            return Ok(None);
        }
        self.charset_name().map(Some)
    }

    fn row_format(&mut self) -> R<RowFormatOption> {
        let format = match self.kw() {
            Kw::Default => RowFormatOption::Default,
            Kw::Dynamic => RowFormatOption::Dynamic,
            Kw::Fixed => RowFormatOption::Fixed,
            Kw::Compressed => RowFormatOption::Compressed,
            Kw::Redundant => RowFormatOption::Redundant,
            Kw::Compact => RowFormatOption::Compact,
            _ => return self.fail(),
        };
        self.advance();
        Ok(format)
    }

    /// `ALGORITHM [=] …`, after its word.
    pub(super) fn algorithm(&mut self) -> R<AlterAlgorithm> {
        self.expect_kw(Kw::Algorithm)?;
        self.skip_eq();
        self.named_choice(ParseErrorKind::UnknownAlgorithm, |name| {
            Some(match name {
                _ if name.is("default") => AlterAlgorithm::Default,
                _ if name.is("inplace") => AlterAlgorithm::Inplace,
                _ if name.is("instant") => AlterAlgorithm::Instant,
                _ if name.is("copy") => AlterAlgorithm::Copy,
                _ => return None,
            })
        })
    }

    /// `LOCK [=] …`.
    pub(super) fn lock_option(&mut self) -> R<AlterLock> {
        self.expect_kw(Kw::Lock)?;
        self.skip_eq();
        self.named_choice(ParseErrorKind::UnknownLock, |name| {
            Some(match name {
                _ if name.is("default") => AlterLock::Default,
                _ if name.is("none") => AlterLock::None,
                _ if name.is("shared") => AlterLock::Shared,
                _ if name.is("exclusive") => AlterLock::Exclusive,
                _ => return None,
            })
        })
    }

    /// DEFAULT or a name, in quotes or without: what it chooses, or the error for a name that chooses nothing.
    fn named_choice<C>(
        &mut self,
        unknown: ParseErrorKind,
        choice: impl FnOnce(Ident<'_>) -> Option<C>,
    ) -> R<C> {
        if !self.at_ident() && !self.at_kw(Kw::Default) {
            return self.fail();
        }
        let Some(chosen) = choice(self.ident_text()) else { return self.fail_as(unknown) };
        self.advance();
        Ok(chosen)
    }

    /// The current word without quotes is this one, for words that are not in the table.
    pub(super) fn word_is(&self, word: &[u8]) -> bool {
        self.at(T::Word) && self.s.tok.span().of(self.sql).eq_ignore_ascii_case(word)
    }

    /// `[ALGORITHM=…] [LOCK=…]` in either order, after CREATE INDEX and DROP INDEX.
    pub(super) fn algorithm_and_lock(&mut self) -> R<(AlterAlgorithm, AlterLock)> {
        let (mut algorithm, mut lock) = (AlterAlgorithm::Default, AlterLock::Default);
        loop {
            match self.kw() {
                Kw::Algorithm => algorithm = self.algorithm()?,
                Kw::Lock => lock = self.lock_option()?,
                _ => return Ok((algorithm, lock)),
            }
        }
    }
}
