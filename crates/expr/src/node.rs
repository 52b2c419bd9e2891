//! The compiled form.

pub use super::properties::{Constness, TableSet};
use super::query::CompiledSubquery;
use super::{EvalCx, row::Row};
use std::sync::Arc;
use vaquita_engine::text::collation::Collation;
pub use vaquita_engine::text::collation::aggregate::Derivation;
pub use vaquita_types::compare::CompareAs;
use vaquita_types::convert::cast::Target;
use vaquita_types::temporal::interval::Unit;
use vaquita_types::{ColumnType, SqlError, SqlResult};
use vaquita_types::{Kind, SqlType, Value};

/// Comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CmpOp {
    /// `=`
    Eq,
    /// `<=>`
    NullSafeEq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A compiled expression. `'static`: part of cached plans.
#[derive(Debug, Clone)]
pub struct Expr {
    pub(super) node: Node,
    pub(super) ty: SqlType,
    pub(super) info: Info,
}

/// What is known of an expression besides its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// How strongly it insists on its collation.
    pub derivation: Derivation,
    /// Text is known to be ASCII only.
    pub ascii: bool,
    /// When its value can change.
    pub constness: Constness,
    /// Tables of this query block that it looks at.
    pub tables: TableSet,
    /// Contains a subquery: may be evaluated on copied rows only.
    pub has_subquery: bool,
    /// Contains an aggregate's result.
    pub has_aggregate: bool,
    /// A truth value: `true` or `false` within a document.
    pub truth: bool,
    /// Text that becomes a number without a word, whatever is in it ([`Expr::quiet_text`]).
    pub quiet: bool,
}

/// Code of a function or operator: gets its own expression (for the type) and its arguments.
pub type EvalFn = for<'r> fn(&'r Expr, &'r [Expr], &mut EvalCx<'_>, &'r Row<'r>) -> SqlResult<Value<'r>>;

/// The forms of an expression. Those that the planner looks into (comparisons, AND, IN, …) have forms of their own;
/// everything else is a [`Node::Call`].
#[derive(Debug, Clone)]
pub enum Node {
    /// A value.
    Const(Value<'static>),
    /// A parameter.
    Param(u32),
    /// A column.
    Column {
        /// Query blocks out.
        level: u16,
        /// Table slot.
        table: u16,
        /// Position in the table.
        column: u16,
        /// How messages call it: `` `d`.`t`.`c` ``.
        name: Arc<str>,
    },
    /// Result of an aggregate.
    Aggregate(u32),
    /// Result of a window function.
    Window(u32),
    /// All of them are true. Two or more; flattened.
    And(Box<[Expr]>),
    /// One of them is true. Two or more; flattened.
    Or(Box<[Expr]>),
    /// Not true.
    Not(Box<Expr>),
    /// A comparison.
    Compare {
        /// Operator.
        op: CmpOp,
        /// As what.
        how: CompareAs,
        /// Left and right side.
        sides: Box<[Expr; 2]>,
    },
    /// `x BETWEEN low AND high`: three expressions.
    Between {
        /// As what.
        how: CompareAs,
        /// NOT BETWEEN.
        negated: bool,
        /// x, low, high.
        args: Box<[Expr; 3]>,
    },
    /// `x IN (list)`.
    In(Box<InList>),
    /// IS NULL, IS NOT NULL.
    IsNull {
        /// What is tested.
        operand: Box<Expr>,
        /// IS NOT NULL.
        negated: bool,
    },
    /// `x LIKE pattern`.
    Like(Box<Like>),
    /// A row of values: `(a, b)`.
    Row(Box<[Expr]>),
    /// A subquery.
    Subquery(Box<SubqueryNode>),
    /// A function or any other operator.
    Call(Box<Call>),
}

/// `x IN (list)`.
#[derive(Debug, Clone)]
pub struct InList {
    /// x.
    pub operand: Expr,
    /// The list.
    pub list: Box<[Expr]>,
    /// As what x and each of the list are compared.
    pub how: Box<[CompareAs]>,
    /// NOT IN.
    pub negated: bool,
    /// If all of the list are constants of one way of comparing.
    pub(super) sorted: Option<Sorted>,
}

/// Constants of an IN list in their order, for binary search.
#[derive(Debug, Clone)]
pub(super) struct Sorted {
    /// Without NULLs.
    pub(super) values: SortedValues,
    /// NULL is among them.
    pub(super) has_null: bool,
}

/// The values of [`Sorted`].
#[derive(Debug, Clone)]
pub(super) enum SortedValues {
    /// Integers.
    Integers(Box<[i128]>),
    /// Sort keys of texts by this collation: equal texts have equal keys.
    Texts(Collation, Box<[Box<[u8]>]>),
}

impl SortedValues {
    /// The longest text that gets a sort key, in bytes. A comparison of longer ones ends at their first difference, and takes no memory.
    const TEXT_MAX: usize = 4096;

    /// The sort key of a text; `None` if it is too long for one.
    pub(super) fn key(collation: Collation, text: &[u8]) -> Option<Vec<u8>> {
        (text.len() <= Self::TEXT_MAX).then(|| {
            let mut key = Vec::new();
            collation.sort_key(text, &mut key);
            key
        })
    }

    /// Whether a value is among them; `None` if that is to be found out by comparing: it has another type, or is a long text.
    pub(super) fn contain(&self, value: &Value<'_>) -> Option<bool> {
        let among = |values: &[i128], wanted: i128| values.binary_search(&wanted).is_ok();
        match (self, value) {
            (SortedValues::Integers(values), Value::Int(v)) => Some(among(values, (*v).into())),
            (SortedValues::Integers(values), Value::UInt(v)) => Some(among(values, (*v).into())),
            (SortedValues::Texts(collation, keys), Value::Bytes(text)) => {
                let key = Self::key(*collation, text)?;
                Some(keys.binary_search_by(|other| (**other).cmp(&key[..])).is_ok())
            }
            _ => None,
        }
    }
}

/// `x LIKE pattern`.
#[derive(Debug, Clone)]
pub struct Like {
    /// x and the pattern.
    pub args: [Expr; 2],
    /// The escape character, none with NO_BACKSLASH_ESCAPES.
    pub escape: Option<u32>,
    /// Collation by which characters are equal.
    pub collation: u16,
    /// NOT LIKE.
    pub negated: bool,
}

/// How a subquery is used.
#[derive(Debug, Clone)]
pub enum SubqueryUse {
    /// A value: that column of its one row; NULL without a row; error 1242 with two.
    Scalar {
        /// Which: others than the first are those of a row of values.
        column: usize,
    },
    /// EXISTS.
    Exists,
    /// `left op ANY (…)`; IN is `= ANY`.
    Any {
        /// Operator.
        op: CmpOp,
        /// As what, per column.
        how: Box<[CompareAs]>,
    },
    /// `left op ALL (…)`; NOT IN is `<> ALL`.
    All {
        /// Operator.
        op: CmpOp,
        /// As what, per column.
        how: Box<[CompareAs]>,
    },
}

/// A subquery in an expression.
#[derive(Debug, Clone)]
pub struct SubqueryNode {
    /// The subquery.
    pub query: CompiledSubquery,
    /// How it is used.
    pub usage: SubqueryUse,
    /// What its rows are compared with; empty for scalar ones and EXISTS.
    pub left: Box<[Expr]>,
    /// What becomes of its columns before: conversions of text to the character set of both sides, on a row of its columns as
    /// the only table. Empty if all are compared as they are.
    pub right: Box<[Expr]>,
}

/// A function call or an operator without a form of its own.
#[derive(Debug, Clone)]
pub struct Call {
    /// Name, in lower case: `concat`, `+`.
    pub name: &'static str,
    /// Its code.
    pub(super) eval: EvalFn,
    /// Its arguments.
    pub args: Box<[Expr]>,
    /// What the compiler has prepared.
    pub(super) data: Data,
}

/// What the compiler has prepared for a call.
#[derive(Debug, Clone, Default)]
pub(super) enum Data {
    /// Nothing.
    #[default]
    None,
    /// A number whose meaning the function knows.
    Number(u64),
    /// Comparisons of CASE, NULLIF, GREATEST, LEAST, FIELD, STRCMP.
    Compare(Box<[CompareAs]>),
    /// Target of a cast.
    Cast(Target),
    /// Unit of an interval.
    Unit(Unit),
    /// Name of a user variable.
    Bytes(Box<[u8]>),
    /// The error that the value of a parameter may be.
    Refusal(Box<SqlError>),
    /// A system variable.
    Variable(vaquita_session::var_ref::VarRef),
    /// A stored function.
    Function(Arc<FunctionRef>),
    /// A full-text search.
    FullText(Arc<dyn super::query::FullText>),
    /// A full-text index whose words a text falls into.
    Words(Arc<dyn super::query::FullText>),
    /// What JSON_VALUE gives.
    JsonValue(Box<JsonValue>),
    /// An expression of a block around, so many blocks out.
    Outer(Box<Expr>, u16),
    /// A regular expression that is constant; `None`: it is none (NULL).
    Regex(Arc<super::automaton::Automaton>),
}

/// A stored function as a call refers to it: by name, so that a plan outlives what it was made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionRef {
    /// Its database.
    pub database: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Names and types of its parameters.
    pub params: Arc<[(Box<str>, ColumnType)]>,
    /// Type of its value.
    pub returns: SqlType,
}

/// What a value that is not there, or is none of the type, stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instead {
    Null,
    Error,
    /// This argument of the call.
    Argument(usize),
}

/// What the compiler has prepared for JSON_VALUE.
#[derive(Debug, Clone)]
pub(super) struct JsonValue {
    pub(super) target: Target,
    pub(super) on_empty: Instead,
    pub(super) on_error: Instead,
}

impl Expr {
    /// Name and operands of a sum, difference, product or quotient of DECIMALs.
    pub(super) fn decimal_operator(&self) -> Option<(&'static str, &Expr, &Expr)> {
        if self.ty.kind != Kind::Decimal {
            return None;
        }
        let Node::Call(call) = &self.node else { return None };
        let [a, b] = &call.args[..] else { return None };
        matches!(call.name, "+" | "-" | "*" | "/").then_some((call.name, a, b))
    }

    /// Whether it has more digits than its type while it is calculated with: a quotient, and what is made of one.
    pub(super) fn has_more_digits(&self) -> bool {
        let of_more = |of: &Expr| of.decimal_operator().is_some();
        self.decimal_operator().is_some_and(|(name, a, b)| name == "/" || of_more(a) || of_more(b))
    }

    /// Its type.
    pub fn ty(&self) -> &SqlType {
        &self.ty
    }

    /// Flags of result metadata: those of the type; what is no column and no text is marked BINARY too.
    pub fn result_flags(&self) -> u16 {
        const BINARY: u16 = 128;
        let column = matches!(self.node, Node::Column { .. });
        let bytes = !column && self.ty.collation == vaquita_types::sql_type::BINARY;
        self.ty.protocol_flags() | if bytes { BINARY } else { 0 }
    }

    /// Its form.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// What is known of it besides its type.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// When its value can change.
    pub fn constness(&self) -> Constness {
        self.info.constness
    }

    /// Tables of this query block that it looks at.
    pub fn tables(&self) -> TableSet {
        self.info.tables
    }

    /// Calls `visit` for this expression and all below, parents first.
    pub fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit(self);
        self.children(&mut |child| child.walk(visit));
    }

    /// Calls `visit` for the expressions right below.
    pub fn children<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match &self.node {
            Node::Const(_) | Node::Param(_) | Node::Column { .. } | Node::Aggregate(_) | Node::Window(_) => {}
            Node::And(list) | Node::Or(list) | Node::Row(list) => list.iter().for_each(visit),
            Node::Not(operand) | Node::IsNull { operand, .. } => visit(operand),
            Node::Compare { sides, .. } => sides.iter().for_each(visit),
            Node::Between { args, .. } => args.iter().for_each(visit),
            Node::In(list) => std::iter::once(&list.operand).chain(&list.list).for_each(visit),
            Node::Like(like) => like.args.iter().for_each(visit),
            Node::Subquery(sub) => sub.left.iter().for_each(visit),
            Node::Call(call) => call.args.iter().for_each(visit),
        }
    }

    /// Whether both are the same expression: same form, same columns, same constants. Two calls of what changes with every
    /// call (RAND()) never are.
    pub fn same_as(&self, other: &Expr) -> bool {
        let all = |a: &[Expr], b: &[Expr]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_as(b));
        match (&self.node, &other.node) {
            (Node::Const(a), Node::Const(b)) => a == b && self.ty == other.ty,
            (Node::Param(a), Node::Param(b)) => a == b,
            (Node::Aggregate(a), Node::Aggregate(b)) | (Node::Window(a), Node::Window(b)) => a == b,
            (
                Node::Column { level: a, table: b, column: c, .. },
                Node::Column { level: x, table: y, column: z, .. },
            ) => (a, b, c) == (x, y, z),
            (Node::And(a), Node::And(b)) | (Node::Or(a), Node::Or(b)) | (Node::Row(a), Node::Row(b)) => {
                all(a, b)
            }
            (Node::Not(a), Node::Not(b)) => a.same_as(b),
            (Node::Compare { op: a, how: x, sides: s }, Node::Compare { op: b, how: y, sides: t }) => {
                a == b && x == y && all(&s[..], &t[..])
            }
            (
                Node::Between { how: x, negated: a, args: s },
                Node::Between { how: y, negated: b, args: t },
            ) => a == b && x == y && all(&s[..], &t[..]),
            (Node::In(a), Node::In(b)) => {
                a.negated == b.negated
                    && a.how == b.how
                    && a.operand.same_as(&b.operand)
                    && all(&a.list, &b.list)
            }
            (Node::IsNull { operand: a, negated: x }, Node::IsNull { operand: b, negated: y }) => {
                x == y && a.same_as(b)
            }
            (Node::Like(a), Node::Like(b)) => {
                a.negated == b.negated
                    && a.escape == b.escape
                    && a.collation == b.collation
                    && all(&a.args, &b.args)
            }
            (Node::Call(a), Node::Call(b)) => {
                let pure = !(self.info.constness == Constness::Row && self.info.tables.is_empty());
                let data = format!("{:?}", a.data) == format!("{:?}", b.data);
                pure && a.name == b.name && self.ty == other.ty && data && all(&a.args, &b.args)
            }
            _ => false,
        }
    }
}

impl Expr {
    /// The same with other operands of comparisons, where `replace` gives one. It must have the same values, and compare alike.
    #[must_use]
    pub fn with_operands(mut self, replace: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Expr {
        match &mut self.node {
            Node::And(list) | Node::Or(list) => list.iter_mut().for_each(|e| {
                let whole = std::mem::replace(e, Expr::null());
                *e = whole.with_operands(replace);
            }),
            Node::Not(e) => {
                let whole = std::mem::replace(&mut **e, Expr::null());
                **e = whole.with_operands(replace);
            }
            Node::Compare { sides, .. } => sides.iter_mut().for_each(|e| put(e, replace)),
            Node::Between { args, .. } => args.iter_mut().for_each(|e| put(e, replace)),
            Node::In(list) => put(&mut list.operand, replace),
            Node::IsNull { operand, .. } => put(operand, replace),
            Node::Like(like) => put(&mut like.args[0], replace),
            _ => {}
        }
        self
    }
}

fn put(operand: &mut Expr, replace: &mut dyn FnMut(&Expr) -> Option<Expr>) {
    if let Some(other) = replace(operand) {
        *operand = other;
    }
}

impl Call {
    /// Whether the compiler has prepared the same for another call of the same function: the unit of an interval, the target of a cast.
    pub fn is_prepared_like(&self, other: &Call) -> bool {
        matches!((&self.data, &other.data), (Data::None, Data::None))
            || format!("{:?}", self.data) == format!("{:?}", other.data)
    }
}
