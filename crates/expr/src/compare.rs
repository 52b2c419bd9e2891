//! Comparisons: as what operands are compared, rows of values, BETWEEN, IN.

use super::build::New;
use super::node::{CmpOp, Data, Derivation, Expr, InList, Info, Node, Sorted, SortedValues};
use super::row::Row;
use super::scope::CompileCx;
use super::{EvalCx, document, eval};
use smallvec::SmallVec;
use vaquita_engine::text::collation::Collation;
use vaquita_engine::text::collation::aggregate::Purpose;
use vaquita_types::compare::{CompareAs, Operand};
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value};

/// What `CompareAs::of` asks of an operand.
fn operand(e: &Expr) -> Operand<'_> {
    Operand {
        ty: &e.ty,
        constant: e.info.constness < super::node::Constness::Row,
        column: matches!(e.node, Node::Column { .. }),
    }
}

/// As what two expressions are compared; text is brought to one character set, constants to the type compared as.
///
/// # Errors
/// Collations without anything in common.
pub(super) fn compare_as(
    cx: &mut CompileCx<'_>,
    what: &str,
    a: &mut Expr,
    b: &mut Expr,
) -> SqlResult<CompareAs> {
    let mut collation = 63;
    if a.ty.kind == Kind::Json || b.ty.kind == Kind::Json {
        prepare(cx, CompareAs::Json, a);
        prepare(cx, CompareAs::Json, b);
        return Ok(CompareAs::Json);
    }
    if a.is_text() && b.is_text() {
        collation = cx.unify(what, &mut [a, b], Purpose::Compare)?.collation;
    } else if let Some(text) = [&*a, &*b].into_iter().find(|e| e.is_text()) {
        collation = text.ty.collation;
    }
    let how = CompareAs::of(operand(a), operand(b), collation);
    prepare(cx, how, a);
    prepare(cx, how, b);
    Ok(how)
}

/// An operand as it is compared: text where text is compared, constant text as the time it stands for.
fn prepare(cx: &mut CompileCx<'_>, how: CompareAs, e: &mut Expr) {
    let constant = matches!(&e.node, Node::Const(v) if !v.is_null());
    let ty = match how {
        CompareAs::Text(collation) if !e.is_text() && e.ty.kind != Kind::Null => {
            let old = std::mem::replace(e, Expr::null());
            *e = cx.converted(old, collation);
            return;
        }
        CompareAs::Json if !matches!(e.ty.kind, Kind::Json | Kind::Null) => {
            let old = std::mem::replace(e, Expr::null());
            *e = compared_with_document(cx, old);
            return;
        }
        CompareAs::DateTime if constant && !e.ty.kind.is_temporal() => super::build::datetime_type(6),
        CompareAs::Date if constant && !e.ty.kind.is_temporal() => super::build::datetime_type(6),
        CompareAs::Time if constant && !e.ty.kind.is_temporal() => super::build::time_type(6),
        _ => return,
    };
    // What is no time stays as it is and warns whenever it is looked at.
    let as_time = super::convert::as_type(cx, e.clone(), &ty);
    if matches!(&as_time.node, Node::Const(v) if !v.is_null()) {
        *e = as_time;
    }
}

/// A value that is compared with a document, as one.
fn compared_with_document(cx: &mut CompileCx<'_>, e: Expr) -> Expr {
    New::call("", SqlType::new(Kind::Json), vec![e], eval_compared).build(cx)
}

fn eval_compared<'r>(
    _: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    if args[0].eval(cx, row)?.is_null() {
        return Ok(Value::Null);
    }
    document::value_of(&args[0], cx, row).and_then(document::finished)
}

/// `a op b`, of values or rows.
///
/// # Errors
/// 1241 rows of different length, collations.
pub(super) fn comparison(cx: &mut CompileCx<'_>, op: CmpOp, a: Expr, b: Expr) -> SqlResult<Expr> {
    named_comparison(cx, op, name(op), a, b)
}

/// [`comparison`], as messages call what it is a part of.
pub(super) fn named_comparison(
    cx: &mut CompileCx<'_>,
    op: CmpOp,
    what: &'static str,
    a: Expr,
    b: Expr,
) -> SqlResult<Expr> {
    match (a.node, b.node) {
        (Node::Row(left), Node::Row(right)) => rows(cx, op, what, left.into_vec(), right.into_vec()),
        (Node::Row(list), _) => Err(wrong_columns(list.len())),
        (_, Node::Row(_)) => Err(wrong_columns(1)),
        (left, right) => {
            let mut a = Expr { node: left, ..a };
            let mut b = Expr { node: right, ..b };
            (a, b) = with_year(cx, a, b);
            let how = compare_as(cx, what, &mut a, &mut b)?;
            Ok(cx.truth(Node::Compare { op, how, sides: Box::new([a, b]) }))
        }
    }
}

/// A constant beside a YEAR column is the year that would be stored: `99` is 1999.
fn with_year(cx: &mut CompileCx<'_>, a: Expr, b: Expr) -> (Expr, Expr) {
    let is_year = |e: &Expr| matches!(e.node, Node::Column { .. }) && e.ty.kind == Kind::Year;
    let is_constant = |e: &Expr| {
        e.info.constness < super::node::Constness::Row
            && (e.is_text() || e.ty.kind.is_integer() || e.ty.kind == Kind::Decimal)
            && e.ty.kind != Kind::Year
    };
    let mut year = |e: Expr| {
        let ty = if e.is_text() { SqlType::double() } else { e.ty.clone() };
        New::call("", ty, vec![e], eval_year_constant).nullable().build(cx)
    };
    if is_year(&a) && is_constant(&b) {
        let b = year(b);
        (a, b)
    } else if is_year(&b) && is_constant(&a) {
        let a = year(a);
        (a, b)
    } else {
        (a, b)
    }
}

/// Numbers and texts of up to two digits as years; everything else as it is.
fn eval_year_constant<'r>(
    _: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let of_two = |n: i64| match n {
        0..=69 => Some(2000 + n),
        70..=99 => Some(1900 + n),
        _ => None,
    };
    let value = args[0].eval(cx, row)?;
    let year = match &value {
        // The number 0 is the year 0000, the text '0' is 2000.
        Value::Int(0) | Value::UInt(0) => None,
        Value::Int(n) => of_two(*n),
        Value::UInt(n) => i64::try_from(*n).ok().and_then(of_two),
        Value::Decimal(d) => {
            let rounded = d.round(0).unwrap_or(*d).to_f64() as i64;
            Some(if rounded == 0 { 0 } else { of_two(rounded).unwrap_or(rounded) })
        }
        Value::Bytes(text) if (1..=2).contains(&text.len()) && text.iter().all(u8::is_ascii_digit) => {
            of_two(text.iter().fold(0, |n, b| n * 10 + i64::from(b - b'0')))
        }
        _ => None,
    };
    Ok(year.map_or(value, Value::Int))
}

/// Error 1241.
pub(super) fn wrong_columns(wanted: usize) -> SqlError {
    SqlError::new(1241, format!("Operand should contain {wanted} column(s)"))
}

/// As messages call an operator.
pub(super) fn name(op: CmpOp) -> &'static str {
    match op {
        CmpOp::Eq => "=",
        CmpOp::NullSafeEq => "<=>",
        CmpOp::Ne => "<>",
        CmpOp::Lt => "<",
        CmpOp::Le => "<=",
        CmpOp::Gt => ">",
        CmpOp::Ge => ">=",
    }
}

/// Rows compare as their first different columns: `(a,b) < (c,d)` is `a < c OR (a = c AND b < d)`.
fn rows(
    cx: &mut CompileCx<'_>,
    op: CmpOp,
    what: &'static str,
    left: Vec<Expr>,
    right: Vec<Expr>,
) -> SqlResult<Expr> {
    if left.len() != right.len() {
        return Err(wrong_columns(left.len()));
    }
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq | CmpOp::Ne => {
            let each = if op == CmpOp::Ne { CmpOp::Eq } else { op };
            let pairs = left.into_iter().zip(right);
            let one = |(a, b)| named_comparison(cx, each, what, a, b);
            let all = pairs.map(one).collect::<SqlResult<Vec<_>>>()?;
            let all = and(cx, all);
            Ok(if op == CmpOp::Ne { not(cx, all) } else { all })
        }
        _ => {
            let strict = if matches!(op, CmpOp::Lt | CmpOp::Le) { CmpOp::Lt } else { CmpOp::Gt };
            let last = left.len() - 1;
            let mut result: Option<Expr> = None;
            for (i, (a, b)) in left.into_iter().zip(right).enumerate().rev() {
                let own = comparison(cx, if i == last { op } else { strict }, a.clone(), b.clone())?;
                result = Some(match result {
                    None => own,
                    Some(rest) => {
                        let equal = comparison(cx, CmpOp::Eq, a, b)?;
                        let then = and(cx, vec![equal, rest]);
                        or(cx, vec![own, then])
                    }
                });
            }
            result.ok_or_else(|| wrong_columns(1))
        }
    }
}

/// All of these; nested ANDs are flattened.
pub(super) fn and(cx: &mut CompileCx<'_>, list: Vec<Expr>) -> Expr {
    let mut flat = Vec::with_capacity(list.len());
    for e in list {
        match e.node {
            Node::And(inner) => flat.extend(inner.into_vec()),
            _ => flat.push(e),
        }
    }
    if flat.len() == 1 && is_truth(&flat[0]) {
        return flat.remove(0);
    }
    cx.truth(Node::And(flat.into()))
}

/// One of these; nested ORs are flattened.
pub(super) fn or(cx: &mut CompileCx<'_>, list: Vec<Expr>) -> Expr {
    let mut flat = Vec::with_capacity(list.len());
    for e in list {
        match e.node {
            Node::Or(inner) => flat.extend(inner.into_vec()),
            _ => flat.push(e),
        }
    }
    cx.truth(Node::Or(flat.into()))
}

/// Whether its value is 0, 1 or NULL.
fn is_truth(e: &Expr) -> bool {
    !matches!(
        e.node,
        Node::Const(_)
            | Node::Param(_)
            | Node::Column { .. }
            | Node::Aggregate(_)
            | Node::Window(_)
            | Node::Call(_)
            | Node::Row(_)
            | Node::Subquery(_)
    )
}

/// NOT: comparisons turn into their opposites, AND into OR.
pub(super) fn not(cx: &mut CompileCx<'_>, e: Expr) -> Expr {
    let node = match e.node {
        Node::Compare { op, how, sides } => match op.negated() {
            Some(op) => Node::Compare { op, how, sides },
            None => Node::Not(Box::new(Expr { node: Node::Compare { op, how, sides }, ..e })),
        },
        Node::Between { how, negated, args } => Node::Between { how, negated: !negated, args },
        Node::IsNull { operand, negated } => Node::IsNull { operand, negated: !negated },
        Node::In(mut list) => {
            list.negated = !list.negated;
            Node::In(list)
        }
        Node::Like(mut like) => {
            like.negated = !like.negated;
            Node::Like(like)
        }
        Node::Not(inner) if is_truth(&inner) => return *inner,
        node => Node::Not(Box::new(Expr { node, ..e })),
    };
    cx.truth(node)
}

/// `a XOR b`.
pub(super) fn xor(cx: &mut CompileCx<'_>, a: Expr, b: Expr) -> Expr {
    let mut e = New::call("xor", super::build::int_type(1), vec![a, b], eval_xor).build(cx);
    e.info.truth = true;
    e
}

fn eval_xor<'r>(
    _: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let Some(a) = args[0].integer(cx, row)? else { return Ok(Value::Null) };
    let Some(b) = args[1].integer(cx, row)? else { return Ok(Value::Null) };
    Ok(Value::bool((a != 0) != (b != 0)))
}

/// `x BETWEEN low AND high`.
///
/// # Errors
/// Collations; rows.
pub(super) fn between(
    cx: &mut CompileCx<'_>,
    negated: bool,
    mut x: Expr,
    mut low: Expr,
    mut high: Expr,
) -> SqlResult<Expr> {
    for e in [&x, &low, &high] {
        if let Node::Row(_) = e.node {
            return Err(wrong_columns(1));
        }
    }
    (x, low) = with_year(cx, x, low);
    (x, high) = with_year(cx, x, high);
    let mut collation = 63;
    if [&x, &low, &high].iter().all(|e| e.is_text() || e.ty.kind == Kind::Null) {
        // An end that is NULL has no say; the other one may decide.
        let all = [&mut x, &mut low, &mut high];
        let mut texts: SmallVec<[&mut Expr; 3]> = all.into_iter().filter(|e| e.is_text()).collect();
        if !texts.is_empty() {
            collation = cx.unify("between", &mut texts, Purpose::Compare)?.collation;
        }
    }
    let with_low = CompareAs::of(operand(&x), operand(&low), collation);
    let with_high = CompareAs::of(operand(&x), operand(&high), collation);
    let how = together(with_low, with_high, [&x, &low, &high]);
    for e in [&mut x, &mut low, &mut high] {
        prepare(cx, how, e);
    }
    Ok(cx.truth(Node::Between { how, negated, args: Box::new([x, low, high]) }))
}

/// One way to compare all three.
fn together(a: CompareAs, b: CompareAs, of: [&Expr; 3]) -> CompareAs {
    if a == b {
        return a;
    }
    for (e, other) in [(of[1], b), (of[2], a)] {
        if e.ty.kind == Kind::Null {
            return other;
        }
    }
    match (a, b) {
        (CompareAs::DateTime | CompareAs::Date, CompareAs::DateTime | CompareAs::Date) => CompareAs::DateTime,
        (CompareAs::Int | CompareAs::Decimal, CompareAs::Int | CompareAs::Decimal) => CompareAs::Decimal,
        // A date makes texts dates, wherever it stands.
        (CompareAs::DateTime | CompareAs::Date, CompareAs::Text(_))
        | (CompareAs::Text(_), CompareAs::DateTime | CompareAs::Date) => CompareAs::DateTime,
        _ => CompareAs::Double,
    }
}

/// `x IN (list)`.
///
/// # Errors
/// 1241 rows of different length, collations.
pub(super) fn in_list(
    cx: &mut CompileCx<'_>,
    negated: bool,
    mut x: Expr,
    mut list: Vec<Expr>,
) -> SqlResult<Expr> {
    // A list of one is a comparison to messages.
    let what = match (list.len(), negated) {
        (1, false) => name(CmpOp::Eq),
        (1, true) => name(CmpOp::Ne),
        _ => " IN ",
    };
    if list.iter().chain([&x]).any(|e| matches!(e.node, Node::Row(_))) {
        let any = list
            .into_iter()
            .map(|candidate| named_comparison(cx, CmpOp::Eq, what, x.clone(), candidate))
            .collect::<SqlResult<Vec<_>>>()?;
        let any = or(cx, any);
        return Ok(if negated { not(cx, any) } else { any });
    }
    let mut collation = x.ty.collation;
    if list.iter().chain([&x]).any(|e| e.ty.kind == Kind::Json) {
        prepare(cx, CompareAs::Json, &mut x);
        list.iter_mut().for_each(|e| prepare(cx, CompareAs::Json, e));
    } else if x.is_text() {
        let mut all: Vec<&mut Expr> = list.iter_mut().filter(|e| e.is_text()).collect();
        if !all.is_empty() {
            all.insert(0, &mut x);
            collation = cx.unify(what, &mut all, Purpose::Compare)?.collation;
        }
    } else if let Some(text) = list.iter().find(|e| e.is_text()) {
        collation = text.ty.collation;
    }
    let mut hows = Vec::with_capacity(list.len());
    for candidate in &mut list {
        let how = CompareAs::of(operand(&x), operand(candidate), collation);
        prepare(cx, how, candidate);
        hows.push(how);
    }
    let sorted = sorted(&x, &list, &hows);
    let list = InList { operand: x, list: list.into(), how: hows.into(), negated, sorted };
    Ok(cx.truth(Node::In(Box::new(list))))
}

/// Shorter lists of texts are compared one by one: that is no slower than to make a sort key for each row.
const SORTED_TEXTS_MIN: usize = 8;

/// The constants of a list in their order, without NULLs: integers for an integer, short texts of one collation for a text.
fn sorted(x: &Expr, list: &[Expr], hows: &[CompareAs]) -> Option<Sorted> {
    let is_integer = x.ty.kind.is_integer();
    let collation = match hows.first()? {
        _ if is_integer => None,
        CompareAs::Text(id) if list.len() >= SORTED_TEXTS_MIN => Some(Collation::of(*id)?),
        _ => return None,
    };
    let (mut integers, mut keys, mut has_null) = (Vec::new(), Vec::<Box<[u8]>>::new(), false);
    for (e, how) in list.iter().zip(hows) {
        match (e.as_const()?, collation) {
            (Value::Null, _) => has_null = true,
            (Value::Int(v), None) => integers.push(i128::from(*v)),
            (Value::UInt(v), None) => integers.push(i128::from(*v)),
            (Value::Bytes(text), Some(by)) if *how == CompareAs::Text(by.id()) => {
                keys.push(SortedValues::key(by, text)?.into());
            }
            _ => return None,
        }
    }
    integers.sort_unstable();
    keys.sort_unstable();
    let values = match collation {
        Some(by) => SortedValues::Texts(by, keys.into()),
        None => SortedValues::Integers(integers.into()),
    };
    Some(Sorted { values, has_null })
}

/// `IS [NOT] TRUE | FALSE`.
pub(super) fn is_truth_value(cx: &mut CompileCx<'_>, e: Expr, wanted: bool, negated: bool) -> Expr {
    let data = Data::Number(u64::from(wanted) | u64::from(negated) << 1);
    let name = match (wanted, negated) {
        (true, false) => "istrue",
        (true, true) => "isnottrue",
        (false, false) => "isfalse",
        (false, true) => "isnotfalse",
    };
    let mut e = New::call(name, super::build::int_type(1), vec![e], eval_is).data(data).build_not_null(cx);
    e.info.truth = true;
    e
}

fn eval_is<'r>(e: &'r Expr, args: &'r [Expr], cx: &mut EvalCx<'_>, row: &'r Row<'r>) -> SqlResult<Value<'r>> {
    let bits = e.number();
    let is = args[0].eval_bool(cx, row)? == Some(bits & 1 != 0);
    Ok(Value::bool(is != (bits & 2 != 0)))
}

/// STRCMP().
///
/// # Errors
/// Collations.
pub(super) fn strcmp(cx: &mut CompileCx<'_>, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let by = cx.unify_all("strcmp", &mut args, Purpose::Compare)?;
    let data = Data::Compare([CompareAs::Text(by.collation)].into());
    Ok(New::call("strcmp", super::build::int_type(2), args, eval_strcmp).data(data).build(cx))
}

fn eval_strcmp<'r>(
    e: &'r Expr,
    args: &'r [Expr],
    cx: &mut EvalCx<'_>,
    row: &'r Row<'r>,
) -> SqlResult<Value<'r>> {
    let Some(a) = args[0].text(cx, row)? else { return Ok(Value::Null) };
    let Some(b) = args[1].text(cx, row)? else { return Ok(Value::Null) };
    let how = e.compare_as(0);
    let order = eval::compare(how, &Value::bytes(&a), &Value::bytes(&b), cx);
    Ok(order.map_or(Value::Null, |order| Value::Int(order as i64)))
}

impl Expr {
    pub(super) fn data(&self) -> &Data {
        match &self.node {
            Node::Call(call) => &call.data,
            _ => &Data::None,
        }
    }

    /// The number that was prepared for this call.
    pub(super) fn number(&self) -> u64 {
        match self.data() {
            Data::Number(n) => *n,
            _ => 0,
        }
    }

    /// The name of the user variable of this call.
    pub(super) fn call_bytes(&self) -> &[u8] {
        match self.data() {
            Data::Bytes(name) => name,
            _ => b"",
        }
    }

    /// The system variable of this call.
    pub(super) fn variable(&self) -> Option<&vaquita_session::var_ref::VarRef> {
        match self.data() {
            Data::Variable(var) => Some(var),
            _ => None,
        }
    }

    /// The unit that was prepared for this call.
    pub(super) fn unit(&self) -> vaquita_types::temporal::interval::Unit {
        match self.data() {
            Data::Unit(unit) => *unit,
            _ => vaquita_types::temporal::interval::Unit::Day,
        }
    }

    /// The cast that was prepared for this call.
    pub(super) fn target(&self) -> Option<&vaquita_types::convert::cast::Target> {
        match self.data() {
            Data::Cast(target) => Some(target),
            _ => None,
        }
    }

    /// The regular expression that was prepared for this call.
    pub(super) fn regex(&self) -> Option<&super::automaton::Automaton> {
        match self.data() {
            Data::Regex(regex) => Some(regex),
            _ => None,
        }
    }

    /// The `i`-th comparison that was prepared for this call.
    pub(super) fn compare_as(&self, i: usize) -> CompareAs {
        match self.data() {
            Data::Compare(how) => how.get(i).copied().unwrap_or(CompareAs::Double),
            _ => CompareAs::Double,
        }
    }
}

/// A row of values.
pub(super) fn row(list: Vec<Expr>) -> Expr {
    let mut info = Info::CONST;
    for e in &list {
        info.constness = info.constness.max(e.info.constness);
        info.tables = info.tables.union(e.info.tables);
        info.has_subquery |= e.info.has_subquery;
        info.has_aggregate |= e.info.has_aggregate;
    }
    info.derivation = Derivation::Ignorable;
    Expr { node: Node::Row(list.into()), ty: SqlType::new(Kind::Null), info }
}
