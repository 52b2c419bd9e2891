//! From syntax to compiled form.

mod aggregate;
mod window;

pub use window::compile_windows;

use crate::arith::{self, Arith, Bits};
use crate::functions::{self, FunctionCall};
use crate::node::{CmpOp, Expr, Node};
use crate::scope::{CompileCx, Resolved, Scope};
use crate::subquery::{self, Form};
use crate::{cast, compare, control, literal, pattern, stored, variables};
use vaquita_parser::ast::{self, BinaryOp, ExprKind, IsTest, Quantifier, UnaryOp};
use vaquita_types::{SqlError, SqlResult, memory};

/// Compiles an expression.
///
/// # Errors
/// Names, types, wrong arguments, unknown functions, collations that cannot be brought together.
pub fn compile(of: &ast::Expr<'_>, scope: &dyn Scope, cx: &mut CompileCx<'_>) -> SqlResult<Expr> {
    Compiler { scope, cx }.expr(of)
}

/// Compiles a condition: as [`compile`], but a value that is only asked for its truth.
///
/// # Errors
/// As [`compile`].
pub fn compile_condition(of: &ast::Expr<'_>, scope: &dyn Scope, cx: &mut CompileCx<'_>) -> SqlResult<Expr> {
    let e = compile(of, scope, cx)?;
    match e.node {
        Node::Row(_) => Err(compare::wrong_columns(1)),
        _ => Ok(e),
    }
}

/// A column reference without syntax: for the planner (USING, NATURAL, `*`).
pub fn resolved(of: Resolved) -> Expr {
    match of {
        Resolved::Column(column) => Expr::column(column),
        Resolved::Expr(e) | Resolved::Outer(e, _) => e,
    }
}

/// `a = b`, of what is compiled.
///
/// # Errors
/// Collations that cannot be brought together.
pub fn equal(a: Expr, b: Expr, cx: &mut CompileCx<'_>) -> SqlResult<Expr> {
    compare::comparison(cx, CmpOp::Eq, a, b)
}

/// What [`compile`] carries along.
pub(crate) struct Compiler<'s, 'x, 'c> {
    pub(crate) scope: &'s dyn Scope,
    pub(crate) cx: &'x mut CompileCx<'c>,
}

impl Compiler<'_, '_, '_> {
    /// One value, no row.
    pub(crate) fn value(&mut self, of: &ast::Expr<'_>) -> SqlResult<Expr> {
        let e = self.expr(of)?;
        match e.node {
            Node::Row(_) => Err(compare::wrong_columns(1)),
            _ => Ok(e),
        }
    }

    /// Several values.
    pub(crate) fn values(&mut self, of: &[ast::Expr<'_>]) -> SqlResult<Vec<Expr>> {
        of.iter().map(|e| self.value(e)).collect()
    }

    pub(crate) fn expr(&mut self, of: &ast::Expr<'_>) -> SqlResult<Expr> {
        memory::check(0)?;
        // Constants are calculated, however long that takes.
        self.cx.session.state.poll()?;
        Ok(match &of.kind {
            ExprKind::Literal(literal) => literal::literal(self.cx, literal)?,
            ExprKind::Lifted { no, literal } => literal::lifted(self.cx, *no, literal)?,
            ExprKind::Param(no) => literal::param(self.cx, *no),
            ExprKind::Local(place) => literal::local(self.cx, *place),
            ExprKind::Column(name) => match self.scope.resolve(name)? {
                Resolved::Column(column) => {
                    let full = self.scope.full_name(&column, name);
                    Expr::named_column(column, &full)
                }
                Resolved::Expr(e) => e,
                Resolved::Outer(e, level) => self.of_outer(e, level),
            },
            ExprKind::UserVar(name) => variables::user(self.cx, *name),
            ExprKind::AssignUserVar { name, value } => {
                let value = self.expr(value)?;
                variables::assign(self.cx, *name, value)?
            }
            ExprKind::SystemVar(var) => variables::system(self.cx, var)?,
            ExprKind::Unary { op, operand } => self.unary(*op, operand)?,
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right)?,
            ExprKind::Is { operand, test, negated } => self.is(operand, *test, *negated)?,
            _ => return self.other(of),
        })
    }

    /// The forms that rarely stand one inside of the other many times over: apart from [`Compiler::expr`], whose
    /// stack frame every level of a long sum pays for.
    #[inline(never)]
    fn other(&mut self, of: &ast::Expr<'_>) -> SqlResult<Expr> {
        Ok(match &of.kind {
            ExprKind::InList { operand, list, negated } => {
                let x = self.expr(operand)?;
                let list = list.iter().map(|e| self.expr(e)).collect::<SqlResult<_>>()?;
                compare::in_list(self.cx, *negated, x, list)?
            }
            ExprKind::Between { operand, low, high, negated } => {
                let (x, low, high) = (self.expr(operand)?, self.expr(low)?, self.expr(high)?);
                compare::between(self.cx, *negated, x, low, high)?
            }
            ExprKind::Like { operand, pattern, escape, negated } => {
                let (x, pattern) = (self.value(operand)?, self.value(pattern)?);
                let escape = escape.map(|e| self.value(e)).transpose()?;
                pattern::like(self.cx, *negated, x, pattern, escape)?
            }
            ExprKind::Regexp { operand, pattern, negated } => {
                let (x, pattern) = (self.value(operand)?, self.value(pattern)?);
                let e = pattern::regexp(self.cx, x, pattern)?;
                if *negated { compare::not(self.cx, e) } else { e }
            }
            ExprKind::Case(case) => self.case(case)?,
            ExprKind::Cast { operand, to } => {
                let x = self.value(operand)?;
                cast::cast_to(self.cx, x, to)?
            }
            ExprKind::ConvertUsing { operand, charset } => {
                let x = self.value(operand)?;
                cast::convert_using(self.cx, x, *charset)?
            }
            ExprKind::Collate { operand, collation } => {
                let x = self.value(operand)?;
                cast::collate(self.cx, x, *collation)?
            }
            ExprKind::Call(call) => self.call(call)?,
            ExprKind::JsonValue(of) => self.json_value(of)?,
            ExprKind::Aggregate(of) => aggregate::compile(self, of)?,
            ExprKind::Trim { side, what, from } => {
                let from = self.value(from)?;
                let what = what.map(|e| self.value(e)).transpose()?;
                functions::string::trim(self.cx, *side, what, from)?
            }
            ExprKind::Extract { unit, from } => {
                let from = self.value(from)?;
                functions::date_parts::extract(self.cx, *unit, from)
            }
            ExprKind::DateAdd { base, amount, unit, subtract } => {
                let (base, amount) = (self.value(base)?, self.value(amount)?);
                functions::date_arith::add(self.cx, base, amount, *unit, *subtract)
            }
            ExprKind::TimestampAdd { unit, amount, base } => {
                let (base, amount) = (self.value(base)?, self.value(amount)?);
                functions::date_arith::add(self.cx, base, amount, *unit, false)
            }
            ExprKind::TimestampDiff { unit, from, to } => {
                let (from, to) = (self.value(from)?, self.value(to)?);
                functions::date_arith::timestamp_diff(self.cx, *unit, from, to)
            }
            ExprKind::GetFormat { kind, standard } => {
                let standard = self.value(standard)?;
                functions::date_format::get_format(self.cx, *kind, standard)
            }
            ExprKind::Char { codes, charset } => {
                let codes = self.values(codes)?;
                functions::encode::char(self.cx, codes, *charset)?
            }
            ExprKind::WeightString(of) => {
                let x = self.value(&of.operand)?;
                functions::encode::weight_string(self.cx, x, of.cast, of.levels)?
            }
            ExprKind::Match(of) => self.scope.full_text(of, self.cx)?,
            ExprKind::DefaultOf(column) => self.scope.default_of(column)?,
            ExprKind::InsertedValue(column) => match self.scope.inserted_value(column)? {
                Some(column) => Expr::column(column),
                None => Expr::null(),
            },
            ExprKind::Default => return Err(SqlError::new(1064, "DEFAULT may not stand in an expression")),
            ExprKind::Row(list) => {
                let list: Vec<Expr> = list.iter().map(|e| self.expr(e)).collect::<SqlResult<_>>()?;
                compare::row(list)
            }
            ExprKind::InSubquery { operand, query, negated } => {
                let left = self.expr(operand)?;
                let form = if *negated { Form::All(CmpOp::Ne) } else { Form::Any(CmpOp::Eq) };
                self.subquery(form, compare::name(CmpOp::Eq), Some(left), query)?
            }
            ExprKind::Subquery(query) => self.subquery(Form::Scalar, "", None, query)?,
            ExprKind::Exists(query) => self.subquery(Form::Exists, "", None, query)?,
            ExprKind::Quantified { left, op, quantifier, query } => {
                let left = self.expr(left)?;
                let op =
                    comparison(*op).ok_or_else(|| SqlError::unsupported("this operator with ANY or ALL"))?;
                let form = match quantifier {
                    Quantifier::Any => Form::Any(op),
                    Quantifier::All => Form::All(op),
                };
                self.subquery(form, compare::name(op), Some(left), query)?
            }
            ExprKind::OdbcEscape { name, value } => match literal::escaped(self.cx, *name, value) {
                Some(moment) => moment,
                None => self.expr(value)?,
            },
            ExprKind::Literal(_)
            | ExprKind::Lifted { .. }
            | ExprKind::Param(_)
            | ExprKind::Local(_)
            | ExprKind::Column(_)
            | ExprKind::UserVar(_)
            | ExprKind::AssignUserVar { .. }
            | ExprKind::SystemVar(_)
            | ExprKind::Unary { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Is { .. } => return self.expr(of),
        })
    }

    /// An item of a block further out. Where nothing stands in the way it is the same with its columns further out, so that
    /// indexes can be used with it.
    #[inline(never)]
    fn of_outer(&mut self, e: Expr, level: u16) -> Expr {
        match e.info.has_subquery || e.info.has_aggregate || e.has_window() || e.assigns() {
            true => crate::of_outer(self.cx, e, level),
            false => e.moved(&|at, table| (at + level, table)),
        }
    }

    fn subquery(
        &mut self,
        form: Form,
        what: &'static str,
        left: Option<Expr>,
        query: &ast::Query<'_>,
    ) -> SqlResult<Expr> {
        let query = self.scope.subquery(query, self.cx)?;
        if form == Form::Scalar && query.columns.len() > 1 {
            return Ok(subquery::row(self.cx, &query));
        }
        subquery::node(self.cx, form, what, left, query)
    }

    fn unary(&mut self, op: UnaryOp, operand: &ast::Expr<'_>) -> SqlResult<Expr> {
        // NOT a = b is a <> b, also to messages.
        if let (UnaryOp::Not, ExprKind::Binary { op, left, right }) = (op, &operand.kind)
            && let Some(negated) = negated(*op)
            && !may_be_row(left, right)
        {
            return self.binary(negated, left, right);
        }
        let x = self.value(operand)?;
        Ok(match op {
            UnaryOp::Plus => x,
            UnaryOp::Neg => arith::neg(self.cx, x.into_number()),
            UnaryOp::BitNot => arith::not(self.cx, x.into_number()),
            UnaryOp::Not => compare::not(self.cx, x),
            UnaryOp::Binary => cast::binary(self.cx, x),
        })
    }

    fn binary(&mut self, op: BinaryOp, left: &ast::Expr<'_>, right: &ast::Expr<'_>) -> SqlResult<Expr> {
        if let Some(op) = comparison(op) {
            let (a, b) = (self.expr(left)?, self.expr(right)?);
            return compare::comparison(self.cx, op, a, b);
        }
        let (a, b) = (self.value(left)?, self.value(right)?);
        self.joined(op, a, b)
    }

    /// An operator on compiled operands; apart from [`Compiler::binary`] for the sake of its stack frame.
    #[inline(never)]
    fn joined(&mut self, op: BinaryOp, a: Expr, b: Expr) -> SqlResult<Expr> {
        let cx = &mut *self.cx;
        let mut arith = |op, a: Expr, b: Expr| arith::arith(cx, op, a, b);
        Ok(match op {
            BinaryOp::Add => arith(Arith::Add, a, b),
            BinaryOp::Sub => arith(Arith::Sub, a, b),
            BinaryOp::Mul => arith(Arith::Mul, a, b),
            BinaryOp::Div => arith(Arith::Div, a, b),
            BinaryOp::IntDiv => arith(Arith::IntDiv, a.into_number(), b.into_number()),
            BinaryOp::Mod => arith(Arith::Mod, a, b),
            BinaryOp::Or => compare::or(cx, vec![a, b]),
            BinaryOp::Xor => compare::xor(cx, a, b),
            BinaryOp::And => compare::and(cx, vec![a, b]),
            BinaryOp::BitOr => arith::bits(cx, Bits::Or, a.into_number(), b.into_number()),
            BinaryOp::BitAnd => arith::bits(cx, Bits::And, a.into_number(), b.into_number()),
            BinaryOp::BitXor => arith::bits(cx, Bits::Xor, a.into_number(), b.into_number()),
            BinaryOp::ShiftLeft => arith::bits(cx, Bits::Left, a.into_number(), b.into_number()),
            BinaryOp::ShiftRight => arith::bits(cx, Bits::Right, a.into_number(), b.into_number()),
            BinaryOp::Concat => functions::call(cx, "concat", vec![a, b])?,
            BinaryOp::SoundsLike => {
                let a = functions::call(cx, "soundex", vec![a])?;
                let b = functions::call(cx, "soundex", vec![b])?;
                compare::comparison(cx, CmpOp::Eq, a, b)?
            }
            BinaryOp::JsonExtract => functions::json::extract(cx, a, b, false)?,
            BinaryOp::JsonUnquoteExtract => functions::json::extract(cx, a, b, true)?,
            BinaryOp::MemberOf => functions::json::member_of(cx, a, b)?,
            _ => return Err(SqlError::unsupported("this operator")),
        })
    }

    fn is(&mut self, operand: &ast::Expr<'_>, test: IsTest, negated: bool) -> SqlResult<Expr> {
        let x = self.value(operand)?;
        Ok(match test {
            IsTest::Null | IsTest::Unknown => self.cx.truth(Node::IsNull { operand: Box::new(x), negated }),
            IsTest::True => compare::is_truth_value(self.cx, x, true, negated),
            IsTest::False => compare::is_truth_value(self.cx, x, false, negated),
        })
    }

    fn case(&mut self, of: &ast::Case<'_>) -> SqlResult<Expr> {
        let operand = of.operand.map(|e| self.value(e)).transpose()?;
        let branches = of
            .branches
            .iter()
            .map(|b| Ok((self.value(&b.when)?, self.value(&b.then)?)))
            .collect::<SqlResult<_>>()?;
        let otherwise = of.otherwise.map(|e| self.value(e)).transpose()?;
        control::case(self.cx, operand, branches, otherwise)
    }

    fn json_value(&mut self, of: &ast::JsonValue<'_>) -> SqlResult<Expr> {
        use crate::node::Instead;
        use functions::json;
        let mut args = vec![self.value(of.doc)?, self.value(of.path)?];
        let target = match &of.returning {
            Some(to) => json::returning(self.cx, to)?,
            None => json::default_target(),
        };
        let mut instead = [Instead::Null; 2];
        for (to, on) in instead.iter_mut().zip([&of.on_empty, &of.on_error]) {
            *to = match on {
                ast::JsonOn::Null => Instead::Null,
                ast::JsonOn::Error => Instead::Error,
                ast::JsonOn::Default(value) => {
                    args.push(self.value(value)?);
                    Instead::Argument(args.len() - 1)
                }
            };
        }
        Ok(json::json_value(self.cx, args, target, instead))
    }

    fn call(&mut self, of: &ast::Call<'_>) -> SqlResult<Expr> {
        if let Some(over) = of.over {
            return window::call(self, of, over);
        }
        let name = of.name.to_string().to_ascii_lowercase();
        let schema =
            of.schema.map_or_else(|| self.cx.session.state.database.clone(), |schema| schema.to_string());
        if of.taken || of.schema.is_some() || !functions::is_function(&name) {
            // A function that is not there is told of before those in its arguments.
            let found = match schema.is_empty() {
                true => None,
                false => stored::find(self.cx, &schema, &of.name.to_string())?,
            };
            if let Some(function) = found {
                let args = of.args.iter().map(|e| self.expr(e)).collect::<SqlResult<Vec<_>>>()?;
                return stored::call(self.cx, function, args);
            }
        }
        if of.taken && !schema.is_empty() {
            let message = format!(
                "FUNCTION {schema}.{} does not exist. Check the 'Function Name Parsing and Resolution' section in \
                 the Reference Manual",
                of.name
            );
            return Err(SqlError::new(1630, message));
        }
        if of.taken {
            return Err(SqlError::new(1305, format!("FUNCTION {} does not exist", of.name)));
        }
        if let Some(schema) = of.schema {
            return Err(SqlError::new(1305, format!("FUNCTION {schema}.{} does not exist", of.name)));
        }
        let args = match functions::is_function(&name) {
            true => of.args.iter().map(|e| self.expr(e)).collect::<SqlResult<Vec<_>>>()?,
            false => Vec::new(),
        };
        let words = match args.first() {
            Some(text) if name == functions::snippet::NAME => self.scope.words_of(text),
            _ => None,
        };
        let call =
            functions::build(self.cx, FunctionCall { name: &name, written: &of.name.to_string(), args })?;
        Ok(match words {
            Some(words) => functions::snippet::by_words_of(call, words),
            None => call,
        })
    }
}

/// Whether a comparison may be one of rows, which is not the opposite of another one.
fn may_be_row(left: &ast::Expr<'_>, right: &ast::Expr<'_>) -> bool {
    let is_subquery = |e: &ast::Expr<'_>| matches!(e.kind, ExprKind::Subquery(_));
    let is_row = |e: &ast::Expr<'_>| matches!(e.kind, ExprKind::Row(_));
    is_row(left) || is_row(right) || is_subquery(left) && is_subquery(right)
}

/// The comparison that is true where this one is false.
fn negated(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Eq => BinaryOp::Ne,
        BinaryOp::Ne => BinaryOp::Eq,
        BinaryOp::Lt => BinaryOp::Ge,
        BinaryOp::Le => BinaryOp::Gt,
        BinaryOp::Gt => BinaryOp::Le,
        BinaryOp::Ge => BinaryOp::Lt,
        _ => return None,
    })
}

/// The comparison operator, if it is one.
fn comparison(op: BinaryOp) -> Option<CmpOp> {
    Some(match op {
        BinaryOp::Eq => CmpOp::Eq,
        BinaryOp::NullSafeEq => CmpOp::NullSafeEq,
        BinaryOp::Ne => CmpOp::Ne,
        BinaryOp::Lt => CmpOp::Lt,
        BinaryOp::Le => CmpOp::Le,
        BinaryOp::Gt => CmpOp::Gt,
        BinaryOp::Ge => CmpOp::Ge,
        _ => return None,
    })
}
