//! Optimizer hints. What is wrong in them is no error of the statement.

use super::{Fail, Parser, R};
use crate::ast::{
    ColumnRef, Expr, ExprKind, Hint, HintOrder, HintPurpose, HintTable, HintWhat, Ident, SystemVar, VarScope,
};
use crate::mode::ParseMode;
use crate::token::T;
use bumpalo::collections::Vec as ArenaVec;

/// How a hint is written between its parentheses.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// `[@qb]`, or tables.
    Tables(HintWhat<'static>),
    /// A table and its indexes.
    Indexes(HintWhat<'static>),
    /// Strategies of subqueries.
    Strategies,
    BlockName,
    Time,
    Variable,
    Group,
}

const fn of_order(order: HintOrder) -> Form {
    Form::Tables(HintWhat::Order(order))
}

const fn indexes(purpose: HintPurpose, use_them: bool) -> Form {
    Form::Indexes(HintWhat::Indexes { purpose, use_them })
}

const METHOD: Form = Form::Tables(HintWhat::Method);
const OF_INDEX: Form = Form::Indexes(HintWhat::Method);

const HINTS: &[(&str, Form)] = &[
    ("BKA", METHOD),
    ("BNL", METHOD),
    ("DERIVED_CONDITION_PUSHDOWN", METHOD),
    ("GROUP_INDEX", indexes(HintPurpose::Group, true)),
    ("HASH_JOIN", METHOD),
    ("INDEX", indexes(HintPurpose::All, true)),
    ("INDEX_MERGE", OF_INDEX),
    ("JOIN_FIXED_ORDER", of_order(HintOrder::Fixed)),
    ("JOIN_INDEX", indexes(HintPurpose::Join, true)),
    ("JOIN_ORDER", of_order(HintOrder::These)),
    ("JOIN_PREFIX", of_order(HintOrder::First)),
    ("JOIN_SUFFIX", of_order(HintOrder::Last)),
    ("MAX_EXECUTION_TIME", Form::Time),
    ("MERGE", METHOD),
    ("MRR", OF_INDEX),
    ("NO_BKA", METHOD),
    ("NO_BNL", METHOD),
    ("NO_DERIVED_CONDITION_PUSHDOWN", METHOD),
    ("NO_GROUP_INDEX", indexes(HintPurpose::Group, false)),
    ("NO_HASH_JOIN", METHOD),
    ("NO_ICP", OF_INDEX),
    ("NO_INDEX", indexes(HintPurpose::All, false)),
    ("NO_INDEX_MERGE", OF_INDEX),
    ("NO_JOIN_INDEX", indexes(HintPurpose::Join, false)),
    ("NO_MERGE", METHOD),
    ("NO_MRR", OF_INDEX),
    ("NO_ORDER_INDEX", indexes(HintPurpose::Order, false)),
    ("NO_RANGE_OPTIMIZATION", OF_INDEX),
    ("NO_SEMIJOIN", Form::Strategies),
    ("NO_SKIP_SCAN", OF_INDEX),
    ("ORDER_INDEX", indexes(HintPurpose::Order, true)),
    ("QB_NAME", Form::BlockName),
    ("RESOURCE_GROUP", Form::Group),
    ("SEMIJOIN", Form::Strategies),
    ("SET_VAR", Form::Variable),
    ("SKIP_SCAN", OF_INDEX),
    ("SUBQUERY", Form::Strategies),
];

/// Of SEMIJOIN and SUBQUERY.
const STRATEGIES: &[&str] = &["DUPSWEEDOUT", "FIRSTMATCH", "LOOSESCAN", "MATERIALIZATION", "INTOEXISTS"];

impl<'a> Parser<'a> {
    /// The hints behind the word that was just passed.
    pub(super) fn hints(&mut self) -> &'a [Hint<'a>] {
        let Some(span) = self.s.lexer.hint else { return &[] };
        // Between `/*+` and `*/`.
        let text = span.of(self.sql);
        let text = &text[3..text.len() - 2];
        let mode = ParseMode { lift: false, ..self.mode };
        let mut inner = Parser::new(text, self.arena, mode);
        inner.advance();
        let mut list = ArenaVec::new_in(self.arena);
        while !inner.at(T::Eof) {
            let start = inner.s.tok.start as usize;
            match inner.hint() {
                Ok(hint) => list.push(hint),
                Err(Fail) => {
                    let at = inner.failure.map_or(start, |(_, at)| at).min(text.len());
                    let line = 1 + text[..at].iter().filter(|&&b| b == b'\n').count() as u32;
                    let what = HintWhat::Wrong { near: text[at..].trim_ascii_end(), line };
                    list.push(Hint { name: "", what, block: None, tables: &[], indexes: &[] });
                    break;
                }
            }
        }
        list.into_bump_slice()
    }

    fn hint(&mut self) -> R<Hint<'a>> {
        let word = self.s.tok.span().of(self.sql);
        let known = HINTS.iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()));
        let Some(&(name, form)) = known.filter(|_| self.at(T::Word)) else { return self.fail() };
        self.advance();
        self.expect(T::LParen)?;
        let none = HintWhat::Method;
        let mut hint = Hint { name, what: none, block: None, tables: &[], indexes: &[] };
        match form {
            Form::Tables(what) => {
                hint.what = what;
                hint.block = self.hint_block();
                hint.tables = self.hint_tables(hint.block.is_some())?;
            }
            Form::Indexes(what) => {
                hint.what = what;
                hint.block = self.hint_block();
                let table = self.hint_table(hint.block.is_some())?;
                hint.tables = self.arena.alloc_slice_copy(&[table]);
                if !self.at(T::RParen) {
                    hint.indexes = self.comma_list(Self::hint_name)?;
                }
            }
            Form::Strategies => {
                hint.what = HintWhat::Subquery;
                hint.block = self.hint_block();
                if !self.at(T::RParen) {
                    self.comma_list(Self::strategy)?;
                }
            }
            Form::BlockName => hint.what = HintWhat::BlockName(self.hint_name()?),
            Form::Time => hint.what = HintWhat::MaxExecutionTime(self.number()?),
            Form::Variable => hint.what = self.hint_variable()?,
            Form::Group => hint.what = HintWhat::ResourceGroup(self.hint_name()?),
        }
        self.expect(T::RParen)?;
        Ok(hint)
    }

    /// A name, which may be a word of the grammar.
    fn hint_name(&mut self) -> R<Ident<'a>> {
        if !matches!(self.s.tok.kind, T::Word | T::Quoted) {
            return self.fail();
        }
        let name = self.ident_text();
        self.advance();
        Ok(name)
    }

    /// `@qb` or nothing.
    fn hint_block(&mut self) -> Option<Ident<'a>> {
        self.at(T::UserVar).then(|| self.user_var_name())
    }

    /// Tables, or nothing; with a block said ahead of them they have none of their own.
    fn hint_tables(&mut self, of_block: bool) -> R<&'a [HintTable<'a>]> {
        if self.at(T::RParen) {
            return Ok(&[]);
        }
        self.comma_list(|parser| parser.hint_table(of_block))
    }

    fn hint_table(&mut self, of_block: bool) -> R<HintTable<'a>> {
        let name = self.hint_name()?;
        let block = if of_block { None } else { self.hint_block() };
        Ok(HintTable { name, block })
    }

    fn strategy(&mut self) -> R<()> {
        let word = self.s.tok.span().of(self.sql);
        match STRATEGIES.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes())) {
            true => {
                self.advance();
                Ok(())
            }
            false => self.fail(),
        }
    }

    /// `var = value`.
    fn hint_variable(&mut self) -> R<HintWhat<'a>> {
        let name = self.hint_name()?;
        self.expect(T::Eq)?;
        let span = self.s.tok.span();
        let value = match self.s.tok.kind {
            T::Word => {
                let word = self.hint_name()?;
                let column = self.alloc(ColumnRef { schema: None, table: None, name: word });
                Expr { kind: ExprKind::Column(column), span }
            }
            _ => {
                let value = self.expr()?;
                // No expressions, which might do something.
                if !matches!(value.kind, ExprKind::Literal(_)) {
                    return self.fail();
                }
                value
            }
        };
        let var = SystemVar { scope: VarScope::Session, instance: None, name };
        Ok(HintWhat::SetVar(var, value))
    }
}
