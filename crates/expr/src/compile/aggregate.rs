//! Aggregate calls.

use super::Compiler;
use crate::aggregate::{Aggregate, order_of};
use crate::arith::{Numeric, int_digits, numeric};
use crate::build::{Collated, chars, double_type, int_type, text_type};
use crate::env;
use crate::node::{Constness, Derivation, Expr, Info, Node};
use crate::query::{CompiledSubquery, FullText};
use crate::scope::{CompileCx, Resolved, ResolvedColumn, Scope};
use std::sync::Arc;
use vaquita_engine::text::charset::{Charset, convert};
use vaquita_engine::text::collation::aggregate::Purpose;
use vaquita_parser::ast::{self, AggregateKind};
use vaquita_types::{Kind, SqlError, SqlResult, SqlType};

/// The scope of an aggregate's arguments: no aggregates within.
struct Inner<'s>(&'s dyn Scope);

impl Scope for Inner<'_> {
    fn resolve(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        self.0.resolve_argument(name)
    }

    fn subquery(&self, query: &ast::Query<'_>, cx: &mut CompileCx<'_>) -> SqlResult<CompiledSubquery> {
        self.0.subquery(query, cx)
    }

    fn default_of(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Expr> {
        self.0.default_of(column)
    }

    fn inserted_value(&self, column: &ast::ColumnRef<'_>) -> SqlResult<Option<ResolvedColumn>> {
        self.0.inserted_value(column)
    }

    fn full_text(&self, matching: &ast::Match<'_>, cx: &mut CompileCx<'_>) -> SqlResult<Expr> {
        self.0.full_text(matching, cx)
    }

    fn words_of(&self, text: &Expr) -> Option<Arc<dyn FullText>> {
        self.0.words_of(text)
    }
}

/// An aggregate call: put on the list; the expression is its result.
///
/// # Errors
/// 1111 where aggregates are not allowed, those of the arguments.
pub(super) fn compile(compiler: &mut Compiler<'_, '_, '_>, of: &ast::Aggregate<'_>) -> SqlResult<Expr> {
    if let Some(over) = of.over {
        return super::window::over(compiler, of, over);
    }
    if !compiler.scope.allows_aggregates() {
        return Err(SqlError::new(1111, "Invalid use of group function"));
    }
    let inner = Inner(compiler.scope);
    let aggregate = build(&mut Compiler { scope: &inner, cx: compiler.cx }, of)?;
    let (ty, info) = (aggregate.ty.clone(), aggregate.info);
    let cx = &mut *compiler.cx;
    let at = cx.aggregates.iter().position(|known| known.same_as(&aggregate)).unwrap_or_else(|| {
        cx.aggregates.push(aggregate);
        cx.aggregates.len() - 1
    });
    let info =
        Info { constness: Constness::Row, has_aggregate: true, has_subquery: false, quiet: true, ..info };
    Ok(Expr { node: Node::Aggregate(at as u32), ty, info })
}

/// The call, with its arguments compiled in the compiler's scope.
///
/// # Errors
/// Those of the arguments.
pub(super) fn build(below: &mut Compiler<'_, '_, '_>, of: &ast::Aggregate<'_>) -> SqlResult<Aggregate> {
    let mut args: Vec<Expr> =
        below.values(of.args)?.into_iter().map(Expr::number_operand_for(of.kind)).collect();
    let order_by = of
        .order_by
        .iter()
        .map(|item| {
            // A number stands for an argument.
            let place = match item.expr.kind {
                ast::ExprKind::Literal(ast::Literal::Int(n))
                | ast::ExprKind::Lifted { literal: ast::Literal::Int(n), .. } => Some(n),
                _ => None,
            };
            let argument = |n: u64| {
                let found = usize::try_from(n).ok().and_then(|n| args.get(n.checked_sub(1)?));
                found
                    .cloned()
                    .ok_or_else(|| SqlError::new(1054, format!("Unknown column '{n}' in 'order clause'")))
            };
            let by = match place {
                Some(n) if of.kind == AggregateKind::GroupConcat => argument(n)?,
                _ => below.value(&item.expr)?,
            };
            Ok((by, item.descending))
        })
        .collect::<SqlResult<Vec<_>>>()?;
    let cx = &mut *below.cx;
    let (ty, info, double) = result_of(cx, of.kind, &mut args)?;
    let how = args.iter().map(|e| order_of(&e.ty)).collect();
    let order_how = order_by.iter().map(|(e, _)| order_of(&e.ty)).collect();
    Ok(Aggregate {
        kind: of.kind,
        distinct: of.distinct && !matches!(of.kind, AggregateKind::Min | AggregateKind::Max),
        args: args.into(),
        order_by: order_by.into(),
        separator: separator(of.separator, cx.session.state.vars.character_set_client, ty.collation),
        ty,
        info,
        double,
        how,
        order_how,
    })
}

impl Expr {
    /// Hexadecimal literals are numbers in SUM() and the like, text elsewhere.
    fn number_operand_for(kind: AggregateKind) -> fn(Expr) -> Expr {
        use AggregateKind as K;
        match kind {
            K::Min | K::Max | K::Count | K::CountStar | K::GroupConcat => |e| e,
            K::JsonArrayAgg | K::JsonObjectAgg | K::Grouping => |e| e,
            _ => Expr::into_number,
        }
    }
}

/// The separator of a statement in the character set of the texts it comes between.
fn separator(given: Option<&[u8]>, client: u16, collation: u16) -> Box<[u8]> {
    let given = given.unwrap_or(b",");
    let of = |id| Charset::of_collation(id).unwrap_or(Charset::BINARY);
    let mut out = Vec::with_capacity(given.len());
    convert(of(client), of(collation), given, &mut out);
    out.into()
}

/// Type of the result; whether sums are DOUBLE.
fn result_of(
    cx: &mut CompileCx<'_>,
    kind: AggregateKind,
    args: &mut [Expr],
) -> SqlResult<(SqlType, Info, bool)> {
    use AggregateKind as K;
    let plain = Info::CONST;
    let nullable = |ty: SqlType| SqlType { nullable: true, ..ty };
    let not_null = |ty: SqlType| SqlType { nullable: false, ..ty };
    if let K::Count | K::CountStar | K::Grouping = kind {
        return Ok((not_null(int_type(21)), plain, false));
    }
    if kind == K::GroupConcat {
        let by = cx.unify_all("group_concat", args, Purpose::Text)?;
        // The limit is one of bytes; of characters there may be as many.
        let limit = env::group_concat_max_len(cx.session.state) as u64;
        let ty = nullable(text_type(limit, by));
        let info = Info { derivation: by.derivation, ascii: by.ascii, ..plain };
        return Ok((ty, info, false));
    }
    if let K::JsonArrayAgg | K::JsonObjectAgg = kind {
        if args.len() != if kind == K::JsonArrayAgg { 1 } else { 2 } {
            return Err(SqlError::new(1064, "JSON_OBJECTAGG() takes a key and a value"));
        }
        return Ok((nullable(SqlType::new(Kind::Json)), plain, false));
    }
    let Some(arg) = args.first() else { return Err(SqlError::unsupported("this aggregate function")) };
    let how = numeric(&arg.ty);
    let double = how == Numeric::Double;
    let of = &arg.ty;
    let scale = if double { if arg.is_text() { 31 } else { of.decimals } } else { exact_scale(of) };
    Ok(match kind {
        K::Sum if double => (nullable(double_type(scale)), plain, true),
        K::Sum => {
            let precision = (int_digits(of) + u32::from(scale) + 22).min(65);
            (nullable(SqlType::decimal(precision, scale)), plain, false)
        }
        K::Avg => {
            let increment = env::div_precision_increment(cx.session.state);
            if double {
                (nullable(double_type(scale.saturating_add(increment))), plain, true)
            } else {
                let wider = (scale + increment).min(30);
                let precision = (int_digits(of) + u32::from(scale) + u32::from(increment)).min(65);
                (nullable(SqlType::decimal(precision, wider)), plain, false)
            }
        }
        K::Min | K::Max => {
            let by: Collated = arg.collated(cx);
            let mut ty = of.clone();
            if of.kind == Kind::Char {
                ty.kind = Kind::VarChar;
                ty.length = chars(of);
            }
            let derivation = if arg.is_text() { by.derivation } else { Derivation::Numeric };
            (nullable(ty), Info { derivation, ascii: arg.info.ascii, ..plain }, double)
        }
        K::BitAnd | K::BitOr | K::BitXor => {
            (not_null(SqlType { unsigned: true, ..int_type(21) }), plain, false)
        }
        K::StddevPop | K::StddevSamp | K::VarPop | K::VarSamp => (nullable(double_type(31)), plain, true),
        _ => return Err(SqlError::unsupported("this aggregate function")),
    })
}

fn exact_scale(ty: &SqlType) -> u8 {
    match ty.kind {
        Kind::Decimal | Kind::Time | Kind::DateTime | Kind::Timestamp => ty.decimals.min(30),
        _ => 0,
    }
}
