//! Column types and definitions.

use super::{Parser, R};
use crate::ast::{
    Check, ColumnDef, ColumnType, DefaultValue, EnumMember, Expr, ExprKind, Generated, Ident, IntSize,
    ReferenceAction, ReferenceMatch, References, TypeKind, UnaryOp,
};
use crate::keyword::Kw;
use crate::token::T;

impl<'a> Parser<'a> {
    /// `name type attributes`.
    pub(super) fn column_def(&mut self) -> R<&'a ColumnDef<'a>> {
        let name = self.column_name()?;
        self.column_def_named(name)
    }

    /// A column's name in a definition, where a table before it is read over.
    pub(super) fn column_name(&mut self) -> R<Ident<'a>> {
        self.column_ref().map(|column| column.name)
    }

    pub(super) fn column_def_named(&mut self, name: Ident<'a>) -> R<&'a ColumnDef<'a>> {
        let data_type = self.column_type()?;
        let mut column = ColumnDef {
            name,
            data_type,
            nullable: None,
            default: None,
            on_update_now: None,
            auto_increment: false,
            primary: false,
            unique: false,
            comment: None,
            generated: None,
            references: None,
            checks: &[],
            invisible: false,
            srid: None,
            ndb: (0, 0),
        };
        while self.column_attribute(&mut column)? {}
        Ok(self.alloc(column))
    }

    /// One attribute; false if none follows.
    fn column_attribute(&mut self, column: &mut ColumnDef<'a>) -> R<bool> {
        match self.kw() {
            Kw::Null => {
                self.advance();
                column.nullable = Some(true);
            }
            Kw::Not => {
                self.advance();
                self.expect_kw(Kw::Null)?;
                column.nullable = Some(false);
            }
            Kw::Default => {
                self.advance();
                column.default = Some(self.default_value()?);
            }
            Kw::On => {
                self.advance();
                self.expect_kw(Kw::Update)?;
                column.on_update_now = Some(self.now_fsp()?);
            }
            Kw::AutoIncrement => {
                self.advance();
                column.auto_increment = true;
            }
            Kw::Serial => {
                self.advance();
                self.expect_kw(Kw::Default)?;
                self.expect_kw(Kw::Value)?;
                (column.nullable, column.auto_increment, column.unique) = (Some(false), true, true);
            }
            Kw::Primary => {
                self.advance();
                self.expect_kw(Kw::Key)?;
                column.primary = true;
            }
            Kw::Key => {
                self.advance();
                column.primary = true;
            }
            Kw::Unique => {
                self.advance();
                self.eat_kw(Kw::Key);
                column.unique = true;
            }
            Kw::Comment => {
                self.advance();
                column.comment = Some(self.text()?);
            }
            Kw::Collate => {
                self.advance();
                column.data_type.collation = Some(self.collation_name()?);
            }
            Kw::Generated | Kw::As => column.generated = Some(self.generated()?),
            Kw::References => column.references = Some(self.references_ref()?),
            Kw::Constraint | Kw::Check => {
                let check = self.check()?;
                let mut checks = column.checks.to_vec();
                checks.push(check);
                column.checks = self.arena.alloc_slice_copy(&checks);
            }
            Kw::Invisible | Kw::Visible => {
                column.invisible = self.at_kw(Kw::Invisible);
                self.advance();
            }
            Kw::Srid => {
                self.advance();
                column.srid = Some(self.length()?);
            }
            Kw::ColumnFormat => {
                self.advance();
                column.ndb.0 = self.one_of(&[Kw::Default, Kw::Fixed, Kw::Dynamic])?;
            }
            Kw::Storage => {
                self.advance();
                column.ndb.1 = self.one_of(&[Kw::Default, Kw::Disk, Kw::Memory])?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes one of the words; its position.
    fn one_of(&mut self, words: &[Kw]) -> R<u8> {
        match words.iter().position(|&word| self.at_kw(word)) {
            Some(at) => {
                self.advance();
                Ok(at as u8)
            }
            None => self.fail(),
        }
    }

    /// What follows DEFAULT.
    pub(super) fn default_value(&mut self) -> R<DefaultValue<'a>> {
        if self.at(T::LParen) {
            self.advance();
            let expr = self.expr()?;
            self.expect(T::RParen)?;
            return Ok(DefaultValue::Expr(expr));
        }
        if matches!(self.kw(), Kw::CurrentTimestamp | Kw::Now | Kw::Localtime | Kw::Localtimestamp) {
            return self.now_fsp().map(DefaultValue::Now);
        }
        self.signed_literal().map(DefaultValue::Literal)
    }

    /// `CURRENT_TIMESTAMP[(fsp)]` and its synonyms: the fsp.
    fn now_fsp(&mut self) -> R<u32> {
        let parens_needed = match self.kw() {
            Kw::CurrentTimestamp | Kw::Localtime | Kw::Localtimestamp => false,
            Kw::Now => true,
            _ => return self.fail(),
        };
        self.advance();
        if !self.at(T::LParen) {
            return if parens_needed { self.fail() } else { Ok(0) };
        }
        self.advance();
        let fsp = if self.at(T::RParen) { 0 } else { self.length()? };
        self.expect(T::RParen)?;
        Ok(fsp)
    }

    /// A literal with or without sign.
    fn signed_literal(&mut self) -> R<Expr<'a>> {
        let start = self.s.tok.start;
        let signed = match self.s.tok.kind {
            T::Minus => Some(UnaryOp::Neg),
            T::Plus => Some(UnaryOp::Plus),
            _ => None,
        };
        if let Some(op) = signed {
            self.advance();
            if !matches!(self.s.tok.kind, T::Int | T::Decimal | T::Float) {
                return self.fail();
            }
            let inner = self.s.tok.start;
            let kind = self.plain_literal();
            let operand = self.alloc(Expr { kind, span: self.span_from(inner) });
            return Ok(Expr { kind: ExprKind::Unary { op, operand }, span: self.span_from(start) });
        }
        let literal = self.literal_only()?;
        Ok(literal)
    }

    /// A literal and nothing more.
    fn literal_only(&mut self) -> R<Expr<'a>> {
        let start = self.s.tok.start;
        let kind = match self.s.tok.kind {
            T::Int | T::Decimal | T::Float | T::String => self.plain_literal(),
            T::Word => match self.kw() {
                Kw::Null | Kw::True | Kw::False => return self.word(start, false),
                Kw::Date | Kw::Time | Kw::Timestamp if self.peek().kind == T::String => {
                    return self.word(start, false);
                }
                _ => return self.fail(),
            },
            T::National | T::Hex | T::HexNumber | T::Bit | T::BitNumber | T::Null | T::Introducer => {
                let expr = self.bit_expr()?;
                let ExprKind::Literal(literal) = expr.kind else { return self.fail() };
                ExprKind::Literal(literal)
            }
            _ => return self.fail(),
        };
        Ok(Expr { kind, span: self.span_from(start) })
    }

    /// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`.
    fn generated(&mut self) -> R<&'a Generated<'a>> {
        if self.eat_kw(Kw::Generated) {
            self.expect_kw(Kw::Always)?;
        }
        self.expect_kw(Kw::As)?;
        self.expect(T::LParen)?;
        let expr = self.expr()?;
        self.expect(T::RParen)?;
        let stored = self.eat_kw(Kw::Stored) || self.eat_kw(Kw::Persistent);
        if !stored {
            self.eat_kw(Kw::Virtual);
        }
        Ok(self.alloc(Generated { expr, stored }))
    }

    /// `[CONSTRAINT [name]] CHECK (expr) [[NOT] ENFORCED]`.
    pub(super) fn check(&mut self) -> R<&'a Check<'a>> {
        let mut name = None;
        if self.eat_kw(Kw::Constraint) && !self.at_kw(Kw::Check) {
            name = Some(self.ident()?);
        }
        self.check_named(name)
    }

    pub(super) fn check_named(&mut self, name: Option<Ident<'a>>) -> R<&'a Check<'a>> {
        self.expect_kw(Kw::Check)?;
        self.expect(T::LParen)?;
        let expr = self.expr()?;
        self.expect(T::RParen)?;
        let enforced = self.enforcement().unwrap_or(true);
        Ok(self.alloc(Check { name, expr, enforced }))
    }

    /// `[NOT] ENFORCED`, if it is there.
    pub(super) fn enforcement(&mut self) -> Option<bool> {
        if self.at_kw(Kw::Not) && self.peek().kw == Kw::Enforced {
            self.advance();
            self.advance();
            return Some(false);
        }
        self.eat_kw(Kw::Enforced).then_some(true)
    }

    fn references_ref(&mut self) -> R<&'a References<'a>> {
        let references = self.references()?;
        Ok(self.alloc(references))
    }

    /// `REFERENCES t [(…)] [MATCH …] [ON DELETE …] [ON UPDATE …]`.
    pub(super) fn references(&mut self) -> R<References<'a>> {
        self.expect_kw(Kw::References)?;
        let table = self.object_name()?;
        let columns = if self.at(T::LParen) { self.ident_list_in_parens()? } else { &[] };
        let mut references =
            References { table, columns, match_kind: None, on_delete: None, on_update: None };
        if self.eat_kw(Kw::Match) {
            references.match_kind = Some(match self.kw() {
                Kw::Full => ReferenceMatch::Full,
                Kw::Partial => ReferenceMatch::Partial,
                Kw::Simple => ReferenceMatch::Simple,
                _ => return self.fail(),
            });
            self.advance();
        }
        while self.at_kw(Kw::On) && matches!(self.peek().kw, Kw::Delete | Kw::Update) {
            self.advance();
            let delete = self.at_kw(Kw::Delete);
            let action = if delete { &mut references.on_delete } else { &mut references.on_update };
            if action.is_some() {
                return self.fail();
            }
            self.advance();
            *action = Some(self.reference_action()?);
        }
        Ok(references)
    }

    fn reference_action(&mut self) -> R<ReferenceAction> {
        let action = match self.kw() {
            Kw::Restrict => ReferenceAction::Restrict,
            Kw::Cascade => ReferenceAction::Cascade,
            Kw::Set if self.peek().kw == Kw::Null => ReferenceAction::SetNull,
            Kw::Set if self.peek().kw == Kw::Default => ReferenceAction::SetDefault,
            Kw::No if self.peek().kw == Kw::Action => ReferenceAction::NoAction,
            _ => return self.fail(),
        };
        if !matches!(action, ReferenceAction::Restrict | ReferenceAction::Cascade) {
            self.advance();
        }
        self.advance();
        Ok(action)
    }

    // Types.

    pub(super) fn column_type(&mut self) -> R<ColumnType<'a>> {
        let mut ty = ColumnType {
            kind: TypeKind::Date,
            unsigned: false,
            zerofill: false,
            charset: None,
            binary: false,
            collation: None,
        };
        let kw = self.kw();
        let name = self.ident_text();
        if kw == Kw::Other {
            return self.fail();
        }
        let bookmark = self.s;
        self.advance();
        ty.kind = match kw {
            Kw::Bit => TypeKind::Bit(self.length_in_parens()?),
            Kw::Bool | Kw::Boolean => TypeKind::Bool,
            Kw::Serial => TypeKind::Serial,
            Kw::Float | Kw::Float4 => {
                let (precision, scale) = self.precision()?;
                TypeKind::Float(precision, scale)
            }
            Kw::Double | Kw::Float8 => {
                self.eat_kw(Kw::Precision);
                TypeKind::Double(self.double_precision()?)
            }
            Kw::Real => TypeKind::Real(self.double_precision()?),
            Kw::Decimal | Kw::Dec | Kw::Numeric | Kw::Fixed => {
                let (precision, scale) = self.precision()?;
                TypeKind::Decimal(precision, scale)
            }
            Kw::Date => TypeKind::Date,
            Kw::Time => TypeKind::Time(self.length_in_parens()?),
            Kw::Datetime => TypeKind::DateTime(self.length_in_parens()?),
            Kw::Timestamp => TypeKind::Timestamp(self.length_in_parens()?),
            Kw::Year => TypeKind::Year(self.length_in_parens()?),
            Kw::Tinyblob => TypeKind::TinyBlob,
            Kw::Blob => TypeKind::Blob(self.length_in_parens()?),
            Kw::Mediumblob => TypeKind::MediumBlob,
            Kw::Longblob => TypeKind::LongBlob,
            Kw::Binary => TypeKind::Binary(self.length_in_parens()?),
            Kw::Varbinary => TypeKind::VarBinary(self.required_length()?),
            Kw::Json => TypeKind::Json,
            Kw::Geometry
            | Kw::Point
            | Kw::Linestring
            | Kw::Polygon
            | Kw::Multipoint
            | Kw::Multilinestring
            | Kw::Multipolygon
            | Kw::Geometrycollection => {
                self.length_in_parens()?;
                TypeKind::Geometry(name)
            }
            _ => match int_size(kw) {
                Some(size) => TypeKind::Int(size, self.length_in_parens()?),
                None => match self.text_type(kw, &mut ty)? {
                    Some(kind) => kind,
                    None => {
                        self.s = bookmark;
                        return self.fail();
                    }
                },
            },
        };
        self.type_suffix(&mut ty)?;
        Ok(ty)
    }

    /// Character types, after their first word.
    fn text_type(&mut self, kw: Kw, ty: &mut ColumnType<'a>) -> R<Option<TypeKind<'a>>> {
        let national = Ident::new(b"utf8");
        let kind = match kw {
            Kw::Char | Kw::Character => {
                if self.eat_kw(Kw::Varying) {
                    TypeKind::VarChar(self.required_length()?)
                } else {
                    self.char_type()?
                }
            }
            Kw::Varchar | Kw::Varcharacter => TypeKind::VarChar(self.required_length()?),
            Kw::Nchar => {
                ty.charset = Some(national);
                if self.eat_kw(Kw::Varchar) || self.eat_kw(Kw::Varying) {
                    TypeKind::VarChar(self.required_length()?)
                } else {
                    TypeKind::Char(self.length_in_parens()?)
                }
            }
            Kw::Nvarchar => {
                ty.charset = Some(national);
                TypeKind::VarChar(self.required_length()?)
            }
            Kw::National => {
                ty.charset = Some(national);
                let varying = matches!(self.kw(), Kw::Varchar | Kw::Varcharacter);
                if !varying && !matches!(self.kw(), Kw::Char | Kw::Character) {
                    return self.fail();
                }
                self.advance();
                if varying || self.eat_kw(Kw::Varying) {
                    TypeKind::VarChar(self.required_length()?)
                } else {
                    TypeKind::Char(self.length_in_parens()?)
                }
            }
            Kw::Tinytext => TypeKind::TinyText,
            Kw::Text => TypeKind::Text(self.length_in_parens()?),
            Kw::Mediumtext => TypeKind::MediumText,
            Kw::Longtext => TypeKind::LongText,
            Kw::Long => match self.kw() {
                Kw::Varbinary => {
                    self.advance();
                    TypeKind::MediumBlob
                }
                Kw::Varchar | Kw::Varcharacter => {
                    self.advance();
                    TypeKind::MediumText
                }
                Kw::Char | Kw::Character if self.peek().kw == Kw::Varying => {
                    self.advance();
                    self.advance();
                    TypeKind::MediumText
                }
                _ => TypeKind::MediumText,
            },
            Kw::Enum => TypeKind::Enum(self.list_in_parens(Self::enum_member)?),
            Kw::Set => TypeKind::Set(self.list_in_parens(Self::enum_member)?),
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    /// `CHAR[(n)]`; with BYTE it is binary.
    fn char_type(&mut self) -> R<TypeKind<'a>> {
        let length = self.length_in_parens()?;
        if self.eat_kw(Kw::Byte) {
            return Ok(TypeKind::Binary(length));
        }
        Ok(TypeKind::Char(length))
    }

    fn enum_member(&mut self) -> R<EnumMember<'a>> {
        let raw = !self.at(T::String);
        Ok(EnumMember { value: self.text_or_bytes()?, raw })
    }

    fn required_length(&mut self) -> R<u32> {
        match self.length_in_parens()? {
            Some(length) => Ok(length),
            None => self.fail(),
        }
    }

    /// `[(m, d)]`.
    fn double_precision(&mut self) -> R<Option<(u32, u32)>> {
        if !self.at(T::LParen) {
            return Ok(None);
        }
        match self.precision()? {
            (Some(precision), Some(scale)) => Ok(Some((precision, scale))),
            _ => self.fail(),
        }
    }

    /// SIGNED, UNSIGNED, ZEROFILL; character set, BINARY.
    fn type_suffix(&mut self, ty: &mut ColumnType<'a>) -> R<()> {
        let numeric = matches!(
            ty.kind,
            TypeKind::Int(..)
                | TypeKind::Float(..)
                | TypeKind::Double(_)
                | TypeKind::Real(_)
                | TypeKind::Decimal(..)
                | TypeKind::Year(_)
        );
        let text = matches!(
            ty.kind,
            TypeKind::Char(_)
                | TypeKind::VarChar(_)
                | TypeKind::TinyText
                | TypeKind::Text(_)
                | TypeKind::MediumText
                | TypeKind::LongText
                | TypeKind::Enum(_)
                | TypeKind::Set(_)
        );
        loop {
            match self.kw() {
                Kw::Unsigned if numeric => ty.unsigned = true,
                Kw::Zerofill if numeric => ty.zerofill = true,
                Kw::Signed if numeric => {}
                Kw::Binary if text => ty.binary = true,
                Kw::Ascii if text => ty.charset = Some(Ident::new(b"latin1")),
                Kw::Unicode if text => ty.charset = Some(Ident::new(b"ucs2")),
                Kw::Byte if text => ty.charset = Some(Ident::new(b"binary")),
                Kw::Charset | Kw::Character | Kw::Char if text => {
                    let Some(charset) = self.file_charset()? else { return self.fail() };
                    ty.charset = Some(charset);
                    continue;
                }
                Kw::Collate => {
                    self.advance();
                    ty.collation = Some(self.collation_name()?);
                    continue;
                }
                _ => return Ok(()),
            }
            self.advance();
        }
    }
}

fn int_size(kw: Kw) -> Option<IntSize> {
    let size = match kw {
        Kw::Tinyint | Kw::Int1 => IntSize::Tiny,
        Kw::Smallint | Kw::Int2 => IntSize::Small,
        Kw::Mediumint | Kw::Int3 | Kw::Middleint => IntSize::Medium,
        Kw::Int | Kw::Integer | Kw::Int4 => IntSize::Int,
        Kw::Bigint | Kw::Int8 => IntSize::Big,
        _ => return None,
    };
    Some(size)
}
