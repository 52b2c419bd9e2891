//! Words at the start of an expression: functions with syntax of their own, calls, literals that are words.

use super::{Parser, R};
use crate::ast::{
    Aggregate, AggregateKind, Call, CastType, Expr, ExprKind, Ident, IntervalUnit, JsonOn, JsonValue,
    Literal, Match, MatchMode, TemporalKind, TrimSide, WeightLevel, WeightString,
};
use crate::keyword::Kw;
use crate::token::T;

/// An amount and its unit, or a call of the function `INTERVAL()`.
pub(super) type IntervalOrCall<'a> = Result<(&'a Expr<'a>, IntervalUnit), Expr<'a>>;

impl<'a> Parser<'a> {
    /// An expression that begins with a word.
    #[inline]
    pub(super) fn word(&mut self, start: u32, star_allowed: bool) -> R<Expr<'a>> {
        match self.kw() {
            Kw::Other => self.name(start, star_allowed),
            kw if kw.is_reserved() => self.reserved(kw, start),
            kw => self.soft_word(kw, start, star_allowed),
        }
    }

    /// A reserved word: it begins one of these, or an error.
    fn reserved(&mut self, kw: Kw, start: u32) -> R<Expr<'a>> {
        let kind = match kw {
            Kw::Null => self.word_literal(Literal::Null),
            Kw::True => self.word_literal(Literal::Bool(true)),
            Kw::False => self.word_literal(Literal::Bool(false)),
            Kw::Case => return self.case(start),
            Kw::Exists => {
                self.advance();
                ExprKind::Exists(self.subquery()?)
            }
            Kw::Interval => return self.interval_first(start),
            Kw::Match => self.full_text()?,
            Kw::Convert => self.convert()?,
            Kw::Char => self.char_codes()?,
            Kw::Values => {
                self.advance();
                self.expect(T::LParen)?;
                let column = self.column_ref()?;
                self.expect(T::RParen)?;
                ExprKind::InsertedValue(self.alloc(column))
            }
            Kw::Default => {
                self.advance();
                self.expect(T::LParen)?;
                let column = self.column_ref()?;
                self.expect(T::RParen)?;
                ExprKind::DefaultOf(self.alloc(column))
            }
            Kw::CurrentTimestamp | Kw::Localtime | Kw::Localtimestamp => self.now(b"NOW")?,
            Kw::CurrentDate => self.now(b"CURDATE")?,
            Kw::CurrentTime => self.now(b"CURTIME")?,
            Kw::UtcDate => self.now(b"UTC_DATE")?,
            Kw::UtcTime => self.now(b"UTC_TIME")?,
            Kw::UtcTimestamp => self.now(b"UTC_TIMESTAMP")?,
            Kw::CurrentUser => self.now(b"CURRENT_USER")?,
            Kw::Schema => return self.renamed_call(b"DATABASE", start),
            Kw::If
            | Kw::Insert
            | Kw::Left
            | Kw::Right
            | Kw::Replace
            | Kw::Repeat
            | Kw::Mod
            | Kw::Database => {
                let name = self.ident_text();
                self.advance();
                return self.call(None, name, start, false);
            }
            _ => return self.fail(),
        };
        Ok(Expr { kind, span: self.span_from(start) })
    }

    /// A word that is a name too: it begins something of its own only before a parenthesis or string.
    fn soft_word(&mut self, kw: Kw, start: u32, star_allowed: bool) -> R<Expr<'a>> {
        let next = self.peek();
        let kind = match (kw, next.kind) {
            (Kw::Date, T::String) => self.temporal(TemporalKind::Date)?,
            (Kw::Time, T::String) => self.temporal(TemporalKind::Time)?,
            (Kw::Timestamp, T::String) => self.temporal(TemporalKind::Timestamp)?,
            (_, T::LParen) => {
                if let Some(kind) = self.aggregate(kw)? {
                    kind
                } else if let Some(kind) = self.special(kw)? {
                    kind
                } else if kw.is_function() && self.calls() {
                    let name = self.ident_text();
                    self.advance();
                    return self.call(None, name, start, false);
                } else {
                    return self.name(start, star_allowed);
                }
            }
            _ => return self.name(start, star_allowed),
        };
        Ok(Expr { kind, span: self.span_from(start) })
    }

    fn word_literal(&mut self, literal: Literal<'a>) -> ExprKind<'a> {
        self.advance();
        ExprKind::Literal(literal)
    }

    fn temporal(&mut self, kind: TemporalKind) -> R<ExprKind<'a>> {
        self.advance();
        Ok(ExprKind::Literal(Literal::Temporal { kind, text: self.text()? }))
    }

    /// Functions with syntax of their own whose names are not reserved; `None` for others.
    fn special(&mut self, kw: Kw) -> R<Option<ExprKind<'a>>> {
        // Some are functions only when the parenthesis follows at once.
        let calls = self.calls();
        let kind = match kw {
            Kw::Cast if calls => self.cast()?,
            Kw::Trim if calls => self.trim()?,
            Kw::Extract if calls => {
                self.open()?;
                let unit = self.unit()?;
                self.expect_kw(Kw::From)?;
                ExprKind::Extract { unit, from: self.last_arg()? }
            }
            Kw::Substring | Kw::Substr | Kw::Mid if calls => self.substring()?,
            Kw::Position if calls => {
                self.open()?;
                let what = *self.bit_expr()?;
                self.expect_kw(Kw::In)?;
                let within = *self.last_arg()?;
                self.plain_call(b"LOCATE", &[what, within])
            }
            Kw::DateAdd | Kw::DateSub if calls => {
                self.open()?;
                let base = self.expr_ref()?;
                self.expect(T::Comma)?;
                self.expect_kw(Kw::Interval)?;
                let amount = self.expr_ref()?;
                let unit = self.unit()?;
                self.expect(T::RParen)?;
                ExprKind::DateAdd { base, amount, unit, subtract: kw == Kw::DateSub }
            }
            Kw::Adddate | Kw::Subdate if calls => {
                self.open()?;
                let base = self.expr_ref()?;
                self.expect(T::Comma)?;
                let (amount, unit) = if self.eat_kw(Kw::Interval) {
                    (self.expr_ref()?, self.unit()?)
                } else {
                    (self.expr_ref()?, IntervalUnit::Day)
                };
                self.expect(T::RParen)?;
                ExprKind::DateAdd { base, amount, unit, subtract: kw == Kw::Subdate }
            }
            Kw::Timestampadd => {
                self.open()?;
                let unit = self.timestamp_unit()?;
                self.expect(T::Comma)?;
                let amount = self.expr_ref()?;
                self.expect(T::Comma)?;
                ExprKind::TimestampAdd { unit, amount, base: self.last_arg()? }
            }
            Kw::Timestampdiff => {
                self.open()?;
                let unit = self.timestamp_unit()?;
                self.expect(T::Comma)?;
                let from = self.expr_ref()?;
                self.expect(T::Comma)?;
                ExprKind::TimestampDiff { unit, from, to: self.last_arg()? }
            }
            Kw::GetFormat => {
                self.open()?;
                let kind = match self.kw() {
                    Kw::Date => TemporalKind::Date,
                    Kw::Time => TemporalKind::Time,
                    Kw::Datetime => TemporalKind::DateTime,
                    Kw::Timestamp => TemporalKind::Timestamp,
                    _ => return self.fail(),
                };
                self.advance();
                self.expect(T::Comma)?;
                ExprKind::GetFormat { kind, standard: self.last_arg()? }
            }
            Kw::WeightString => self.weight_string()?,
            Kw::JsonValue => self.json_value()?,
            Kw::Row => {
                self.advance();
                ExprKind::Row(self.args()?)
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    /// `JSON_VALUE(doc, path [RETURNING type] [… ON EMPTY] [… ON ERROR])`.
    fn json_value(&mut self) -> R<ExprKind<'a>> {
        self.open()?;
        let doc = self.expr_ref()?;
        self.expect(T::Comma)?;
        let path = self.expr_ref()?;
        let returning = if self.eat_kw(Kw::Returning) { Some(self.cast_type()?) } else { None };
        let (on_empty, on_error) = self.json_on()?;
        self.expect(T::RParen)?;
        let value = JsonValue { doc, path, returning, on_empty, on_error };
        Ok(ExprKind::JsonValue(self.alloc(value)))
    }

    /// `[NULL | ERROR | DEFAULT x ON EMPTY] [NULL | ERROR | DEFAULT x ON ERROR]`.
    pub(super) fn json_on(&mut self) -> R<(JsonOn<'a>, JsonOn<'a>)> {
        let (mut on_empty, mut on_error) = (None, None);
        while on_error.is_none() {
            let on = match self.kw() {
                Kw::Null => JsonOn::Null,
                Kw::Error => JsonOn::Error,
                Kw::Default => JsonOn::Null,
                _ => break,
            };
            let default = self.at_kw(Kw::Default);
            self.advance();
            let on = if default { JsonOn::Default(self.expr_ref()?) } else { on };
            self.expect_kw(Kw::On)?;
            if self.eat_kw(Kw::Error) {
                on_error = Some(on);
            } else if on_empty.is_none() {
                self.expect_kw(Kw::Empty)?;
                on_empty = Some(on);
            } else {
                return self.fail();
            }
        }
        Ok((on_empty.unwrap_or(JsonOn::Null), on_error.unwrap_or(JsonOn::Null)))
    }

    /// The function's name and its parenthesis.
    fn open(&mut self) -> R<()> {
        self.advance();
        self.expect(T::LParen)
    }

    fn last_arg(&mut self) -> R<&'a Expr<'a>> {
        let arg = self.expr_ref()?;
        self.expect(T::RParen)?;
        Ok(arg)
    }

    fn plain_call(&self, name: &'static [u8], args: &[Expr<'a>]) -> ExprKind<'a> {
        let args = self.arena.alloc_slice_copy(args);
        ExprKind::Call(self.alloc(Call {
            schema: None,
            name: Ident::new(name),
            args,
            arg_names: &[],
            over: None,
            from_last: false,
            ignore_nulls: false,
            taken: false,
        }))
    }

    /// `CURRENT_TIMESTAMP [(fsp)]` and others that need no parentheses.
    fn now(&mut self, name: &'static [u8]) -> R<ExprKind<'a>> {
        self.advance();
        let args = if self.at(T::LParen) { self.args()? } else { &[] };
        Ok(self.plain_call(name, args))
    }

    fn renamed_call(&mut self, name: &'static [u8], start: u32) -> R<Expr<'a>> {
        self.advance();
        self.call(None, Ident::new(name), start, false)
    }

    /// `( [arg [[AS] name], …] ) [OVER …]` after a function's name. Names of arguments are for functions that the
    /// grammar does not know: loadable ones have a use for them.
    pub(super) fn call(
        &mut self,
        schema: Option<Ident<'a>>,
        name: Ident<'a>,
        start: u32,
        named: bool,
    ) -> R<Expr<'a>> {
        self.expect(T::LParen)?;
        let base = self.scratch.len();
        let mut names = self.new_list();
        while !self.at(T::RParen) {
            let arg = self.expr()?;
            self.scratch.push(arg);
            if named && !self.at(T::Comma) && !self.at(T::RParen) {
                self.eat_kw(Kw::As);
                let alias = self.ident_or_text()?;
                names.resize(self.scratch.len() - base - 1, None);
                names.push(Some(alias));
            }
            if !self.eat(T::Comma) {
                break;
            }
            if self.at(T::RParen) {
                return self.fail();
            }
        }
        self.expect(T::RParen)?;
        if !names.is_empty() {
            names.resize(self.scratch.len() - base, None);
        }
        let args = self.take_scratch(base);
        let (from_last, ignore_nulls) = self.null_treatment(name)?;
        let over = self.over()?;
        let taken = named && is_taken(name);
        let arg_names = names.into_bump_slice();
        let call = Call { schema, name, args, arg_names, over, from_last, ignore_nulls, taken };
        Ok(Expr { kind: ExprKind::Call(self.alloc(call)), span: self.span_from(start) })
    }

    /// An aggregate function, if `kw` is one and its parenthesis follows at once where it must.
    fn aggregate(&mut self, kw: Kw) -> R<Option<ExprKind<'a>>> {
        let Some(kind) = aggregate_kind(kw) else { return Ok(None) };
        if kw.is_function() && !self.calls() {
            return Ok(None);
        }
        self.open()?;
        let mut aggregate =
            Aggregate { kind, distinct: false, args: &[], order_by: &[], separator: None, over: None };
        if kind == AggregateKind::Count && self.at(T::Star) {
            self.advance();
            aggregate.kind = AggregateKind::CountStar;
        } else if kind == AggregateKind::Grouping {
            aggregate.args = self.expr_list()?;
        } else {
            aggregate.distinct = self.eat_kw(Kw::Distinct);
            if !aggregate.distinct {
                self.eat_kw(Kw::All);
            }
            aggregate.args = self.aggregate_args(&aggregate)?;
        }
        if kind == AggregateKind::GroupConcat {
            if self.eat_kw(Kw::Order) {
                self.expect_kw(Kw::By)?;
                aggregate.order_by = self.order_items()?;
            }
            if self.eat_kw(Kw::Separator) {
                aggregate.separator = Some(self.text_or_bytes()?);
            }
        }
        self.expect(T::RParen)?;
        if kind != AggregateKind::Grouping {
            aggregate.over = self.over()?;
        }
        Ok(Some(ExprKind::Aggregate(self.alloc(aggregate))))
    }

    fn aggregate_args(&mut self, aggregate: &Aggregate<'a>) -> R<&'a [Expr<'a>]> {
        let many = match aggregate.kind {
            AggregateKind::GroupConcat | AggregateKind::JsonObjectAgg => true,
            AggregateKind::Count => aggregate.distinct,
            _ => false,
        };
        if many {
            return self.expr_list();
        }
        let arg = self.expr()?;
        Ok(self.arena.alloc_slice_copy(&[arg]))
    }

    // Casts.

    fn cast(&mut self) -> R<ExprKind<'a>> {
        self.open()?;
        let operand = self.expr_ref()?;
        self.expect_kw(Kw::As)?;
        let to = self.cast_type()?;
        self.expect(T::RParen)?;
        Ok(ExprKind::Cast { operand, to })
    }

    /// `CONVERT(x, type)`, `CONVERT(x USING charset)`.
    fn convert(&mut self) -> R<ExprKind<'a>> {
        self.open()?;
        let operand = self.expr_ref()?;
        let kind = if self.eat_kw(Kw::Using) {
            ExprKind::ConvertUsing { operand, charset: self.charset_or_default()? }
        } else {
            self.expect(T::Comma)?;
            ExprKind::Cast { operand, to: self.cast_type()? }
        };
        self.expect(T::RParen)?;
        Ok(kind)
    }

    fn charset_or_default(&mut self) -> R<Ident<'a>> {
        if self.eat_kw(Kw::Default) {
            return Ok(Ident::new(b"DEFAULT"));
        }
        self.charset_name()
    }

    fn cast_type(&mut self) -> R<CastType<'a>> {
        let kw = self.kw();
        let name = self.ident_text();
        if kw == Kw::Other {
            return self.fail();
        }
        let bookmark = self.s;
        self.advance();
        let ty = match kw {
            Kw::Binary => CastType::Binary(self.length_in_parens()?),
            Kw::Char | Kw::Nchar | Kw::Character => {
                let len = self.length_in_parens()?;
                let mut charset = (kw == Kw::Nchar).then(|| Ident::new(b"utf8"));
                if charset.is_none() {
                    charset = self.cast_charset()?;
                }
                CastType::Char { len, charset }
            }
            Kw::Signed | Kw::Unsigned => {
                if !self.eat_kw(Kw::Integer) {
                    self.eat_kw(Kw::Int);
                }
                if kw == Kw::Signed { CastType::Signed } else { CastType::Unsigned }
            }
            Kw::Date => CastType::Date,
            Kw::Time => CastType::Time(self.length_in_parens()?),
            Kw::Datetime => CastType::DateTime(self.length_in_parens()?),
            Kw::Decimal | Kw::Dec => {
                let (precision, scale) = self.precision()?;
                CastType::Decimal { precision, scale }
            }
            Kw::Json => CastType::Json,
            Kw::Float | Kw::Double | Kw::Real | Kw::Year => {
                self.length_in_parens()?;
                CastType::Later(name)
            }
            _ => {
                self.s = bookmark;
                return self.fail();
            }
        };
        // Of multi-valued indexes.
        if self.at_ident() && self.ident_text().is("array") {
            let name = self.ident()?;
            return Ok(CastType::Later(name));
        }
        Ok(ty)
    }

    /// `CHARACTER SET cs`, `ASCII`, `UNICODE`, `BINARY` after CHAR in a cast.
    fn cast_charset(&mut self) -> R<Option<Ident<'a>>> {
        if self.eat_kw(Kw::Charset) || self.eat_kws(Kw::Character, Kw::Set) || self.eat_kws(Kw::Char, Kw::Set)
        {
            return self.charset_name().map(Some);
        }
        if self.eat_kw(Kw::Ascii) {
            return Ok(Some(Ident::new(b"latin1")));
        }
        if self.eat_kw(Kw::Unicode) {
            return Ok(Some(Ident::new(b"ucs2")));
        }
        if self.eat_kw(Kw::Binary) || self.eat_kw(Kw::Byte) {
            return Ok(Some(Ident::new(b"binary")));
        }
        Ok(None)
    }

    /// `[(p [, s])]`.
    pub(super) fn precision(&mut self) -> R<(Option<u32>, Option<u32>)> {
        if !self.eat(T::LParen) {
            return Ok((None, None));
        }
        let precision = self.length()?;
        let scale = if self.eat(T::Comma) { Some(self.length()?) } else { None };
        self.expect(T::RParen)?;
        Ok((Some(precision), scale))
    }

    // Strings.

    fn trim(&mut self) -> R<ExprKind<'a>> {
        self.open()?;
        let side = match self.kw() {
            Kw::Both => Some(TrimSide::Both),
            Kw::Leading => Some(TrimSide::Leading),
            Kw::Trailing => Some(TrimSide::Trailing),
            _ => None,
        };
        if side.is_some() {
            self.advance();
        }
        if side.is_some() && self.eat_kw(Kw::From) {
            let from = self.last_arg()?;
            return Ok(ExprKind::Trim { side: side.unwrap_or(TrimSide::Both), what: None, from });
        }
        let first = self.expr_ref()?;
        let kind = if self.eat_kw(Kw::From) {
            ExprKind::Trim { side: side.unwrap_or(TrimSide::Both), what: Some(first), from: self.expr_ref()? }
        } else if side.is_some() {
            return self.fail();
        } else {
            ExprKind::Trim { side: TrimSide::Both, what: None, from: first }
        };
        self.expect(T::RParen)?;
        Ok(kind)
    }

    /// `SUBSTRING(x, a [, b])`, `SUBSTRING(x FROM a [FOR b])`.
    fn substring(&mut self) -> R<ExprKind<'a>> {
        self.open()?;
        let string = self.expr()?;
        let separator = if self.eat_kw(Kw::From) {
            Kw::For
        } else {
            self.expect(T::Comma)?;
            Kw::Other
        };
        let from = self.expr()?;
        let more = if separator == Kw::For { self.eat_kw(Kw::For) } else { self.eat(T::Comma) };
        let kind = if more {
            let length = self.expr()?;
            self.plain_call(b"SUBSTRING", &[string, from, length])
        } else {
            self.plain_call(b"SUBSTRING", &[string, from])
        };
        self.expect(T::RParen)?;
        Ok(kind)
    }

    fn char_codes(&mut self) -> R<ExprKind<'a>> {
        self.open()?;
        let codes = self.expr_list()?;
        let charset = if self.eat_kw(Kw::Using) { Some(self.charset_or_default()?) } else { None };
        self.expect(T::RParen)?;
        Ok(ExprKind::Char { codes, charset })
    }

    fn weight_string(&mut self) -> R<ExprKind<'a>> {
        self.open()?;
        let operand = self.expr()?;
        let mut cast = None;
        if self.eat_kw(Kw::As) {
            let binary = self.at_kw(Kw::Binary);
            if !binary && !self.at_kw(Kw::Char) {
                return self.fail();
            }
            self.advance();
            let Some(length) = self.length_in_parens()? else { return self.fail() };
            cast = Some((binary, length));
        }
        let mut levels = self.new_list();
        if self.eat_kw(Kw::Level) {
            loop {
                let level = self.length()?;
                if levels.is_empty() && self.eat(T::Minus) {
                    let last = self.length()?.min(level.saturating_add(15));
                    levels.extend((level..=last).map(|level| WeightLevel {
                        level,
                        descending: false,
                        reverse: false,
                    }));
                    break;
                }
                let descending = self.eat_kw(Kw::Desc);
                if !descending {
                    self.eat_kw(Kw::Asc);
                }
                levels.push(WeightLevel { level, descending, reverse: self.eat_kw(Kw::Reverse) });
                if !self.eat(T::Comma) {
                    break;
                }
            }
        }
        self.expect(T::RParen)?;
        let weight = WeightString { operand, cast, levels: levels.into_bump_slice() };
        Ok(ExprKind::WeightString(self.alloc(weight)))
    }

    // Full-text search.

    fn full_text(&mut self) -> R<ExprKind<'a>> {
        self.advance();
        let parens = self.eat(T::LParen);
        let columns = self.comma_list(Self::column_ref)?;
        if parens {
            self.expect(T::RParen)?;
        }
        self.expect_kw(Kw::Against)?;
        self.expect(T::LParen)?;
        let against = *self.bit_expr()?;
        let mut mode = MatchMode::Natural;
        if self.eat_kw(Kw::In) {
            if self.eat_kw(Kw::Boolean) {
                mode = MatchMode::Boolean;
            } else {
                self.expect_kw(Kw::Natural)?;
                self.expect_kw(Kw::Language)?;
            }
            self.expect_kw(Kw::Mode)?;
        }
        if mode == MatchMode::Natural && self.eat_kw(Kw::With) {
            self.expect_kw(Kw::Query)?;
            self.expect_kw(Kw::Expansion)?;
            mode = MatchMode::QueryExpansion;
        }
        self.expect(T::RParen)?;
        Ok(ExprKind::Match(self.alloc(Match { columns, against, mode })))
    }

    // Intervals.

    /// At INTERVAL: `INTERVAL x unit`, or the function `INTERVAL(x, a, …)`.
    pub(super) fn interval_or_call(&mut self) -> R<IntervalOrCall<'a>> {
        let start = self.s.tok.start;
        self.expect_kw(Kw::Interval)?;
        let bookmark = self.s;
        if self.at(T::LParen) {
            let args = self.args()?;
            if args.len() > 1 {
                let kind = self.plain_call(b"INTERVAL", args);
                return Ok(Err(Expr { kind, span: self.span_from(start) }));
            }
            if let ([amount], Some(unit)) = (args, interval_unit(self.kw())) {
                self.advance();
                return Ok(Ok((amount, unit)));
            }
            // `INTERVAL (1) + 1 DAY`: the parentheses began a longer expression.
            self.s = bookmark;
        }
        let amount = self.expr_ref()?;
        let unit = self.unit()?;
        Ok(Ok((amount, unit)))
    }

    /// INTERVAL at the start of an expression: `INTERVAL n unit + x`, or the function.
    fn interval_first(&mut self, start: u32) -> R<Expr<'a>> {
        match self.interval_or_call()? {
            Err(call) => Ok(call),
            Ok((amount, unit)) => {
                self.expect(T::Plus)?;
                let base = self.expr_ref()?;
                let kind = ExprKind::DateAdd { base, amount, unit, subtract: false };
                Ok(Expr { kind, span: self.span_from(start) })
            }
        }
    }

    pub(super) fn unit(&mut self) -> R<IntervalUnit> {
        let Some(unit) = interval_unit(self.kw()) else { return self.fail() };
        self.advance();
        Ok(unit)
    }

    /// A unit of TIMESTAMPADD and TIMESTAMPDIFF: a simple one, with or without `SQL_TSI_`.
    fn timestamp_unit(&mut self) -> R<IntervalUnit> {
        let unit = match self.kw() {
            Kw::SqlTsiSecond => IntervalUnit::Second,
            Kw::SqlTsiMinute => IntervalUnit::Minute,
            Kw::SqlTsiHour => IntervalUnit::Hour,
            Kw::SqlTsiDay => IntervalUnit::Day,
            Kw::SqlTsiWeek => IntervalUnit::Week,
            Kw::SqlTsiMonth => IntervalUnit::Month,
            Kw::SqlTsiQuarter => IntervalUnit::Quarter,
            Kw::SqlTsiYear => IntervalUnit::Year,
            Kw::Microsecond
            | Kw::Second
            | Kw::Minute
            | Kw::Hour
            | Kw::Day
            | Kw::Week
            | Kw::Month
            | Kw::Quarter
            | Kw::Year => return self.unit(),
            _ => return self.fail(),
        };
        self.advance();
        Ok(unit)
    }
}

pub(super) fn interval_unit(kw: Kw) -> Option<IntervalUnit> {
    let unit = match kw {
        Kw::Microsecond => IntervalUnit::Microsecond,
        Kw::Second => IntervalUnit::Second,
        Kw::Minute => IntervalUnit::Minute,
        Kw::Hour => IntervalUnit::Hour,
        Kw::Day => IntervalUnit::Day,
        Kw::Week => IntervalUnit::Week,
        Kw::Month => IntervalUnit::Month,
        Kw::Quarter => IntervalUnit::Quarter,
        Kw::Year => IntervalUnit::Year,
        Kw::SecondMicrosecond => IntervalUnit::SecondMicrosecond,
        Kw::MinuteMicrosecond => IntervalUnit::MinuteMicrosecond,
        Kw::MinuteSecond => IntervalUnit::MinuteSecond,
        Kw::HourMicrosecond => IntervalUnit::HourMicrosecond,
        Kw::HourSecond => IntervalUnit::HourSecond,
        Kw::HourMinute => IntervalUnit::HourMinute,
        Kw::DayMicrosecond => IntervalUnit::DayMicrosecond,
        Kw::DaySecond => IntervalUnit::DaySecond,
        Kw::DayMinute => IntervalUnit::DayMinute,
        Kw::DayHour => IntervalUnit::DayHour,
        Kw::YearMonth => IntervalUnit::YearMonth,
        _ => return None,
    };
    Some(unit)
}

/// Whether a built-in function has this name that is none by it: where a name is read, its parenthesis does not follow the bare
/// word at once. AVG is one even then, unless it is quoted or qualified, and is no name before.
fn is_taken(name: Ident<'_>) -> bool {
    let kw = Kw::of(name.name);
    kw.is_function() || kw == Kw::Avg
}

fn aggregate_kind(kw: Kw) -> Option<AggregateKind> {
    let kind = match kw {
        Kw::Count => AggregateKind::Count,
        Kw::Sum => AggregateKind::Sum,
        Kw::Avg => AggregateKind::Avg,
        Kw::Min => AggregateKind::Min,
        Kw::Max => AggregateKind::Max,
        Kw::BitAnd => AggregateKind::BitAnd,
        Kw::BitOr => AggregateKind::BitOr,
        Kw::BitXor => AggregateKind::BitXor,
        Kw::Std | Kw::Stddev | Kw::StddevPop => AggregateKind::StddevPop,
        Kw::StddevSamp => AggregateKind::StddevSamp,
        Kw::Variance | Kw::VarPop => AggregateKind::VarPop,
        Kw::VarSamp => AggregateKind::VarSamp,
        Kw::GroupConcat => AggregateKind::GroupConcat,
        Kw::JsonArrayagg => AggregateKind::JsonArrayAgg,
        Kw::JsonObjectagg => AggregateKind::JsonObjectAgg,
        Kw::Grouping => AggregateKind::Grouping,
        _ => return None,
    };
    Some(kind)
}
