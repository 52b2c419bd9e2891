//! Putting compiled expressions together: what is known of them follows from their parts; constant ones are calculated.

use super::node::{Call, Constness, Data, Derivation, EvalFn, Expr, Info, Node, TableSet};
use super::row::Row;
use super::scope::CompileCx;
use super::{EvalCx, env};
use vaquita_engine::text::charset::{self, Charset};
use vaquita_engine::text::collation::aggregate::{IllegalMix, Operand, Purpose, aggregate};
use vaquita_types::sql_type::{BINARY, NOT_FIXED};
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value, memory};

/// A call in the making.
#[derive(Debug)]
pub(super) struct New {
    call: Call,
    ty: SqlType,
    derivation: Derivation,
    ascii: bool,
    constness: Constness,
}

impl New {
    /// A call; NULL if an argument is NULL. Numbers and times unless said otherwise.
    pub(super) fn call(name: &'static str, ty: SqlType, args: Vec<Expr>, eval: EvalFn) -> New {
        let call = Call { name, eval, args: args.into(), data: Data::None };
        let text = ty.kind.is_string();
        New {
            call,
            ty: SqlType { nullable: false, ..ty },
            derivation: if text { Derivation::Coercible } else { Derivation::Numeric },
            ascii: !text,
            constness: Constness::Const,
        }
    }

    /// With what the compiler has prepared.
    pub(super) fn data(mut self, data: Data) -> New {
        self.call.data = data;
        self
    }

    /// May be NULL although no argument is.
    pub(super) fn nullable(mut self) -> New {
        self.ty.nullable = true;
        self
    }

    /// Whether the result is text.
    pub(super) fn is_text(&self) -> bool {
        self.ty.kind.is_string()
    }

    /// Text of a collation that arguments gave.
    pub(super) fn collated(mut self, by: Collated) -> New {
        self.ty.collation = by.collation;
        self.derivation = by.derivation;
        self.ascii = by.ascii;
        self
    }

    /// The value may change with every row, or with every execution, whatever the arguments.
    pub(super) fn at_least(mut self, constness: Constness) -> New {
        self.constness = constness;
        self
    }

    /// The expression; its value if it is constant.
    pub(super) fn build(self, cx: &mut CompileCx<'_>) -> Expr {
        let nullable = self.ty.nullable || self.call.args.iter().any(|a| a.ty.nullable);
        self.finish(cx, nullable)
    }

    /// As [`New::build`] for a function that is never NULL, or whose type says it already.
    pub(super) fn build_not_null(self, cx: &mut CompileCx<'_>) -> Expr {
        let nullable = self.ty.nullable;
        self.finish(cx, nullable)
    }

    fn finish(mut self, cx: &mut CompileCx<'_>, nullable: bool) -> Expr {
        // In strict mode text that is malformed becomes NULL, so any text may.
        let chosen = matches!(
            self.call.name,
            "" | "case"
                | "if"
                | "coalesce"
                | "ifnull"
                | "greatest"
                | "least"
                | "@"
                | ":="
                | "@@"
                | "selected"
        );
        let strict = self.is_text() && !chosen && env::sql_mode(cx.session.state).is_strict();
        self.ty.nullable = nullable || strict;
        let quiet = super::quiet::is_quiet(&self.call, &self.ty);
        let New { derivation, ascii, constness, .. } = self;
        let own = Info { derivation, ascii, constness, quiet, ..Info::CONST };
        cx.node(Node::Call(Box::new(self.call)), self.ty, own)
    }
}

impl Info {
    /// Of a literal that is no text.
    pub(super) const CONST: Info = Info {
        derivation: Derivation::Numeric,
        ascii: true,
        constness: Constness::Const,
        tables: TableSet(0),
        has_subquery: false,
        has_aggregate: false,
        truth: false,
        quiet: false,
    };
}

/// Collation of a text result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Collated {
    pub(super) collation: u16,
    pub(super) derivation: Derivation,
    pub(super) ascii: bool,
}

impl Collated {
    /// Bytes.
    pub(super) const BINARY: Collated =
        Collated { collation: BINARY, derivation: Derivation::Coercible, ascii: false };

    /// ASCII text that the function makes itself, in the connection's collation.
    pub(super) fn connection(cx: &CompileCx<'_>) -> Collated {
        let collation = env::collation_connection(cx.session.state);
        Collated { collation, derivation: Derivation::Coercible, ascii: true }
    }

    /// `utf8mb4_bin`, of the text of documents.
    pub(super) const DOCUMENT: Collated =
        Collated { collation: 46, derivation: Derivation::Implicit, ascii: false };

    /// `utf8_general_ci`, as USER() and other facts of the server.
    pub(super) const SYSTEM: Collated =
        Collated { collation: 33, derivation: Derivation::SysConst, ascii: false };
}

impl Expr {
    /// A value.
    pub fn constant(value: Value<'static>, ty: SqlType) -> Expr {
        let text = ty.kind.is_string();
        let ascii = match &value {
            // Bytes of ASCII are other characters in units of 16 and 32 bits.
            Value::Bytes(b) => b.is_ascii() && charset_of(ty.collation).is_ascii_based(),
            _ => true,
        };
        let derivation = if ty.kind == Kind::Null {
            Derivation::Ignorable
        } else if text {
            Derivation::Coercible
        } else {
            Derivation::Numeric
        };
        let nullable = value.is_null();
        Expr {
            node: Node::Const(value),
            ty: SqlType { nullable, ..ty },
            info: Info { derivation, ascii, ..Info::CONST },
        }
    }

    /// NULL.
    pub fn null() -> Expr {
        Expr::constant(Value::Null, SqlType::new(Kind::Null))
    }

    /// A column, as the planner knows it.
    pub fn column(of: super::ResolvedColumn) -> Expr {
        Expr::named_column(of, "")
    }

    /// A column with the name that messages call it by.
    pub fn named_column(of: super::ResolvedColumn, name: &str) -> Expr {
        let super::ResolvedColumn { level, table, column, ty } = of;
        let name = name.into();
        let ascii = !matches!(ty.kind, Kind::Enum | Kind::Set) && !ty.kind.is_string();
        let text = !ascii;
        let derivation = if text { Derivation::Implicit } else { Derivation::Numeric };
        let (constness, tables) = match level {
            0 => (Constness::Row, TableSet::of(table)),
            _ => (Constness::Execution, TableSet::default()),
        };
        let quiet = super::quiet::is_long_text(&ty);
        let info = Info { derivation, ascii, constness, tables, quiet, ..Info::CONST };
        Expr { node: Node::Column { level, table, column, name }, ty, info }
    }

    /// The value, if it is known while compiling.
    pub fn as_const(&self) -> Option<&Value<'static>> {
        match &self.node {
            Node::Const(v) => Some(v),
            _ => None,
        }
    }

    /// Whether it is text or can be nothing else: strings, ENUM, SET, JSON.
    pub(super) fn is_text(&self) -> bool {
        self.ty.kind.is_string()
            || matches!(self.ty.kind, Kind::Enum | Kind::Set | Kind::Json | Kind::Geometry)
    }

    /// Characters of its text form, at most.
    pub(super) fn chars(&self) -> u32 {
        chars(&self.ty)
    }

    /// Bytes of its text form, at most.
    pub(super) fn bytes(&self, cx: &CompileCx<'_>) -> u32 {
        let collation = if self.is_text() {
            self.collated(cx).collation
        } else {
            env::collation_connection(cx.session.state)
        };
        self.chars().saturating_mul(mb_max(collation))
    }

    /// The collation it brings into text.
    pub(super) fn collated(&self, cx: &CompileCx<'_>) -> Collated {
        if self.ty.kind == Kind::Json {
            Collated::DOCUMENT
        } else if self.is_text() {
            Collated {
                collation: self.ty.collation,
                derivation: self.info.derivation,
                ascii: self.info.ascii,
            }
        } else {
            let collation = if self.ty.kind == Kind::Null || self.ty.kind == Kind::Bit {
                BINARY
            } else {
                env::collation_connection(cx.session.state)
            };
            Collated { collation, derivation: self.info.derivation, ascii: true }
        }
    }
}

/// Most bytes of a character.
pub(super) fn mb_max(collation: u16) -> u32 {
    charset_of(collation).mb_max_len.into()
}

/// The character set of a collation.
pub(super) fn charset_of(collation: u16) -> Charset {
    Charset::of_collation(collation).unwrap_or(Charset::BINARY)
}

/// Characters of a type's text form, at most.
pub(super) fn chars(ty: &SqlType) -> u32 {
    match ty.kind {
        Kind::Decimal => ty.length + u32::from(ty.decimals > 0) + u32::from(!ty.unsigned),
        Kind::Date if ty.length == 0 => 10,
        Kind::Time if ty.length == 0 => 10 + fraction(ty.decimals),
        Kind::DateTime | Kind::Timestamp if ty.length == 0 => 19 + fraction(ty.decimals),
        Kind::Json => u32::MAX / 4,
        Kind::Bit => ty.length.div_ceil(8),
        Kind::Enum | Kind::Set if ty.length == 0 => labels_chars(ty),
        _ => ty.length,
    }
}

fn labels_chars(ty: &SqlType) -> u32 {
    let charset = charset_of(ty.collation);
    let each = ty.labels.iter().flat_map(|l| l.iter()).map(|l| charset.char_count(l) as u32);
    if ty.kind == Kind::Enum {
        each.max().unwrap_or(0)
    } else {
        each.map(|n| n + 1).sum::<u32>().saturating_sub(1)
    }
}

/// Width of a fraction of a second with its point.
pub(super) fn fraction(decimals: u8) -> u32 {
    if decimals == 0 || decimals > 6 { 0 } else { u32::from(decimals) + 1 }
}

/// Width of a DOUBLE.
pub(super) fn double_width(decimals: u8) -> u32 {
    if decimals >= NOT_FIXED { 23 } else { 17 + u32::from(decimals) }
}

/// A DOUBLE with these decimals.
pub(super) fn double_type(decimals: u8) -> SqlType {
    let decimals = decimals.min(NOT_FIXED);
    SqlType { length: double_width(decimals), decimals, ..SqlType::new(Kind::Double) }
}

/// A BIGINT of that display width.
pub(super) fn int_type(length: u32) -> SqlType {
    SqlType { length, ..SqlType::bigint(false) }
}

/// A DATE.
pub(super) fn date_type() -> SqlType {
    SqlType { length: 10, ..SqlType::new(Kind::Date) }
}

/// A TIME.
pub(super) fn time_type(decimals: u8) -> SqlType {
    SqlType { length: 10 + fraction(decimals), decimals, ..SqlType::new(Kind::Time) }
}

/// A DATETIME.
pub(super) fn datetime_type(decimals: u8) -> SqlType {
    SqlType { length: 19 + fraction(decimals), decimals, ..SqlType::new(Kind::DateTime) }
}

/// Text of so many characters; MySQL makes a BLOB of what can be longer than a VARCHAR.
pub(super) fn text_type(chars: u64, by: Collated) -> SqlType {
    let chars = chars.min(16_777_216) as u32;
    SqlType { decimals: NOT_FIXED, ..SqlType::varchar(chars, by.collation) }
}

/// Bytes of a calculated constant that is kept with a plan: a short text may make megabytes.
const KEPT_CONSTANT: usize = 4 << 10;

/// Bytes of a calculated constant that takes the place of its expression. A longer one is made where it is wanted: expressions
/// are copied while a statement is planned.
const FOLDED_MAX: usize = 1 << 20;

impl CompileCx<'_> {
    /// An expression with what follows from its parts; its value if it is constant.
    pub(super) fn node(&mut self, node: Node, ty: SqlType, own: Info) -> Expr {
        let mut e = Expr { node, ty, info: own };
        let mut info = own;
        e.children(&mut |child| {
            info.constness = info.constness.max(child.info.constness);
            info.tables = info.tables.union(child.info.tables);
            info.has_subquery |= child.info.has_subquery;
            info.has_aggregate |= child.info.has_aggregate;
        });
        e.info = info;
        self.folded(e)
    }

    /// A truth value: a form that looks like a comparison.
    pub(super) fn truth(&mut self, node: Node) -> Expr {
        let mut nullable = false;
        let own = Info { truth: true, ..Info::CONST };
        let mut e = Expr { node, ty: int_type(1), info: own };
        e.children(&mut |child| nullable |= child.ty.nullable);
        if let Node::IsNull { .. } | Node::Compare { op: super::node::CmpOp::NullSafeEq, .. } = e.node {
            nullable = false;
        }
        e.ty.nullable = nullable;
        self.node(e.node, e.ty, own)
    }

    /// Calculates what is constant. What gives a warning or an error stays as it is: it may never be asked for.
    fn folded(&mut self, mut e: Expr) -> Expr {
        let calculable =
            !e.has_more_digits() && !matches!(e.node, Node::Const(_) | Node::Row(_) | Node::Subquery(_));
        if !self.fold || e.info.constness != Constness::Const || !calculable {
            return e;
        }
        // A time of day becomes a moment of the day on which it is executed.
        let mut of_time = false;
        e.children(&mut |child| of_time |= child.ty.kind == Kind::Time);
        if of_time && e.ty.kind != Kind::Time {
            e.info.constness = Constness::Execution;
            return e;
        }
        let kept = std::mem::take(&mut self.session.state.warnings);
        let row = Row::default();
        let value = {
            let mut cx = EvalCx::new(None, self.session.state, None);
            e.eval(&mut cx, &row).map(Value::into_owned)
        };
        let noisy = self.session.state.warnings.count() > 0;
        self.session.state.warnings = kept;
        match value {
            Ok(Value::Bytes(bytes)) if bytes.len() > FOLDED_MAX => {
                e.info.constness = Constness::Execution;
                e
            }
            Ok(v) if !noisy => {
                if matches!(&v, Value::Bytes(bytes) if bytes.len() > KEPT_CONSTANT) {
                    self.session.state.noted.for_once();
                }
                let nullable = e.ty.nullable || v.is_null();
                let ty = SqlType { nullable, ..e.ty };
                Expr { node: Node::Const(v), ty, info: e.info }
            }
            _ => e,
        }
    }

    /// Brings text arguments to one collation, converting those of other character sets; numbers and times count as text
    /// of the connection.
    ///
    /// # Errors
    /// 1267, 1270, 1271.
    pub(super) fn unify(
        &mut self,
        what: &str,
        args: &mut [&mut Expr],
        purpose: Purpose,
    ) -> SqlResult<Collated> {
        let operands: Vec<_> = args
            .iter()
            .map(|e| {
                let Collated { collation, derivation, ascii } = e.collated(self);
                let constant = match &e.node {
                    Node::Const(Value::Bytes(b)) => Some(&b[..]),
                    _ => None,
                };
                let of_row = e.info.constness == Constness::Row;
                Operand { collation, derivation, ascii, constant, of_row }
            })
            .collect();
        let illegal = |mix: IllegalMix| {
            let code = match mix.operands.len() {
                2 => 1267,
                3 => 1270,
                _ => 1271,
            };
            SqlError::new(code, mix.message(what))
        };
        let by = aggregate(&operands, purpose).map_err(illegal)?;
        let of_all: Vec<(u16, Derivation)> = operands.iter().map(|o| (o.collation, o.derivation)).collect();
        for e in args.iter_mut() {
            let is_value = matches!(e.node, Node::Param(_));
            self.convert_in_place(e, by.collation);
            // Whether a value converts without loss is known when there is one.
            if let (true, Node::Call(call)) = (is_value, &mut e.node) {
                call.eval = convert_value;
                call.data = Data::Refusal(Box::new(illegal(IllegalMix { operands: of_all.clone() })));
            }
        }
        let mut derivation = by.derivation;
        if matches!(derivation, Derivation::Numeric | Derivation::Ignorable) {
            derivation = Derivation::Coercible;
        }
        Ok(Collated { collation: by.collation, derivation, ascii: by.ascii })
    }

    /// [`CompileCx::unify`] over a list.
    pub(super) fn unify_all(
        &mut self,
        what: &str,
        args: &mut [Expr],
        purpose: Purpose,
    ) -> SqlResult<Collated> {
        let mut refs: Vec<&mut Expr> = args.iter_mut().collect();
        self.unify(what, &mut refs, purpose)
    }

    /// Text of another character set.
    pub(super) fn convert_in_place(&mut self, e: &mut Expr, collation: u16) {
        if !e.is_text() {
            return;
        }
        let (from, to) = (charset_of(e.collated(self).collation), charset_of(collation));
        let same = from == to || from == Charset::BINARY || to == Charset::BINARY;
        if same || (e.info.ascii && from.is_ascii_based() && to.is_ascii_based()) {
            return;
        }
        let old = std::mem::replace(e, Expr::null());
        *e = self.converted(old, collation);
    }

    /// Text converted to the character set of that collation, keeping its derivation.
    pub(super) fn converted(&mut self, e: Expr, collation: u16) -> Expr {
        let by = Collated { collation, ..e.collated(self) };
        let ty = text_type(e.chars().into(), by);
        New::call("convert", ty, vec![e], convert_text).collated(by).build(self)
    }
}

/// Text of an argument in the character set of `e`, and how many of its characters that lacks.
///
/// # Errors
/// No memory for them.
fn in_charset_of(e: &Expr, arg: &Expr, text: &[u8]) -> SqlResult<(Vec<u8>, usize)> {
    let json = arg.ty.kind == Kind::Json;
    let from = if json { Charset::UTF8MB4 } else { charset_of(arg.ty.collation) };
    let to = charset_of(e.ty.collation);
    let mut out = memory::with_room(memory::converted_len_max(from, to, text))?;
    let done = charset::convert(from, to, text, &mut out);
    memory::give_back_rest(&mut out);
    Ok((out, done.replaced))
}

/// Text of a parameter, which must convert without loss, as a literal must.
fn convert_value<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let Some(text) = args[0].text(cx, row)? else { return Ok(Value::Null) };
    let (out, replaced) = in_charset_of(e, &args[0], &text)?;
    match e.data() {
        Data::Refusal(error) if replaced > 0 => Err((**error).clone()),
        _ => Ok(Value::owned(out)),
    }
}

fn convert_text<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let Some(text) = args[0].text(cx, row)? else { return Ok(Value::Null) };
    if !args[0].is_text() {
        return Ok(Value::Bytes(text));
    }
    let (out, _) = in_charset_of(e, &args[0], &text)?;
    Ok(Value::owned(out))
}
