//! What a table asks of its rows beyond the types of its columns, compiled from the text that is kept with it: CHECK constraints,
//! and the columns that are calculated, by GENERATED ALWAYS AS or by a default that is an expression.
//!
//! Statements that change rows compile them when they are planned; of a table that has none nothing is made and nothing is asked.

use std::sync::Arc;
use vaquita_catalog::Definition;
use vaquita_engine::table::DefaultValue;
use vaquita_expr::scope::unknown_column;
use vaquita_expr::{CompileCx, EvalCx, Expr, Node, Resolved, ResolvedColumn, Scope, compile};
use vaquita_parser::ast;
use vaquita_types::{SqlError, SqlResult};

/// The rules of a table. Their expressions see its row as table 0.
#[derive(Debug)]
pub struct TableRules {
    /// Generated columns and defaults that are expressions, in an order in which each comes after those it looks at.
    pub values: Box<[ValueRule]>,
    /// Constraints that are enforced, by name.
    pub checks: Box<[CheckRule]>,
    /// The columns that any of them looks at, in order, each once.
    pub columns: Box<[usize]>,
}

/// A column that is calculated.
#[derive(Debug)]
pub struct ValueRule {
    /// Its position.
    pub column: usize,
    /// It is so by default only; otherwise always.
    pub is_default: bool,
    /// Its value.
    pub value: Expr,
    /// The columns that this looks at, in order, each once.
    pub columns: Box<[usize]>,
}

/// A CHECK constraint.
#[derive(Debug)]
pub struct CheckRule {
    /// Name.
    pub name: Box<str>,
    /// It must not be false.
    pub condition: Expr,
    /// The columns that it looks at, in order, each once.
    pub columns: Box<[usize]>,
}

impl TableRules {
    /// The rules of a table; `None`: it has none.
    ///
    /// # Errors
    /// An expression that is not understood any more.
    pub fn of(definition: &Definition, cx: &mut CompileCx<'_>) -> SqlResult<Option<Arc<TableRules>>> {
        if !definition.has_rules() {
            return Ok(None);
        }
        let mut values = Vec::new();
        for (column, written) in definition.columns.iter().enumerate() {
            let (text, is_default) = match (&written.generated, &written.default) {
                (Some(written), _) => (&written.clause, false),
                (None, DefaultValue::Text(text)) => (text, true),
                _ => continue,
            };
            let value = compile_of_table(text, definition, &written.name, cx)?;
            values.push(ValueRule { column, is_default, columns: columns_of(&value), value });
        }
        let values = in_order(values);
        let mut checks = Vec::new();
        for check in definition.checks.iter().filter(|check| check.enforced) {
            let condition = compile_of_table(&check.clause, definition, &check.name, cx)?;
            let columns = columns_of(&condition);
            checks.push(CheckRule { name: check.name.as_str().into(), condition, columns });
        }
        let of_values = values.iter().map(|rule| &rule.columns);
        let of_checks = checks.iter().map(|check: &CheckRule| &check.columns);
        let mut columns: Vec<usize> =
            of_values.chain(of_checks).flat_map(|list| list.iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        let (values, checks) = (values.into(), checks.into());
        Ok(Some(Arc::new(TableRules { values, checks, columns: columns.into() })))
    }

    /// Whether setting these columns changes generated ones, or can break a constraint.
    pub fn concern(&self, set: &[usize]) -> bool {
        self.checks.iter().any(|check| check.concerns(set)) || self.generated().any(|rule| rule.concerns(set))
    }

    /// The default of a column, if it is an expression.
    pub fn default_of(&self, column: usize) -> Option<&ValueRule> {
        self.values.iter().find(|rule| rule.is_default && rule.column == column)
    }

    /// The generated columns, in an order in which each comes after those it looks at.
    pub fn generated(&self) -> impl Iterator<Item = &ValueRule> {
        self.values.iter().filter(|rule| !rule.is_default)
    }

    /// Adds the generated columns that change with those that are set.
    pub fn add_generated(&self, set: &mut Vec<usize>) {
        for rule in self.generated() {
            if rule.concerns(set) && !set.contains(&rule.column) {
                set.push(rule.column);
            }
        }
    }
}

impl ValueRule {
    /// Whether it looks at one of these columns.
    pub fn concerns(&self, set: &[usize]) -> bool {
        set.iter().any(|column| self.columns.binary_search(column).is_ok())
    }
}

impl CheckRule {
    /// Whether it looks at one of these columns.
    pub fn concerns(&self, set: &[usize]) -> bool {
        set.iter().any(|column| self.columns.binary_search(column).is_ok())
    }
}

/// The rules in an order in which each comes after those it looks at; else in that of the columns. Definitions forbid circles of
/// generated columns and of defaults, though not of one with the other: the default comes first there.
fn in_order(mut left: Vec<ValueRule>) -> Vec<ValueRule> {
    let mut done = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let waits = |rule: &ValueRule| left.iter().any(|other| rule.columns.contains(&other.column));
        let next = left.iter().position(|rule| !waits(rule));
        let next = next.or_else(|| left.iter().position(|rule| rule.is_default)).unwrap_or(0);
        done.push(left.remove(next));
    }
    done
}

/// Compiles an expression that is kept with a table, whose row is table 0; `whose` stands in messages.
///
/// # Errors
/// Of the expression.
pub fn compile_of_table(
    text: &str,
    definition: &Definition,
    whose: &str,
    cx: &mut CompileCx<'_>,
) -> SqlResult<Expr> {
    compile_text(text, &TableColumns { definition, whose, table: 0, nullable: false }, cx)
}

/// The same for a table of a query: its slot, and whether it is inner to an outer join.
///
/// # Errors
/// Of the expression.
pub(crate) fn compile_in_slot(
    text: &str,
    definition: &Definition,
    (table, nullable): (u16, bool),
    cx: &mut CompileCx<'_>,
) -> SqlResult<Expr> {
    compile_text(text, &TableColumns { definition, whose: &definition.name, table, nullable }, cx)
}

fn compile_text(text: &str, scope: &TableColumns<'_>, cx: &mut CompileCx<'_>) -> SqlResult<Expr> {
    let whose = scope.whose;
    // The statement's own parameters and aggregates are none of its business.
    let session = EvalCx::new(cx.session.db, cx.session.state, None);
    let mut own = CompileCx {
        session,
        param_types: &[],
        aggregates: Vec::new(),
        windows: vaquita_expr::window::Windows::default(),
        fold: true,
    };
    let read = vaquita_parser::with_expression(text, |e| compile(e, scope, &mut own));
    read.unwrap_or_else(|_| {
        Err(SqlError::new(1105, format!("the expression of '{whose}' cannot be read: {text}")))
    })
}

/// The columns of table 0 that an expression looks at, in order, each once.
pub fn columns_of(expr: &Expr) -> Box<[usize]> {
    let mut columns = Vec::new();
    expr.walk(&mut |e| {
        if let Node::Column { column, .. } = e.node() {
            columns.push(usize::from(*column));
        }
    });
    columns.sort_unstable();
    columns.dedup();
    columns.into()
}

/// The columns of one table.
struct TableColumns<'d> {
    definition: &'d Definition,
    whose: &'d str,
    /// The table's slot.
    table: u16,
    nullable: bool,
}

impl Scope for TableColumns<'_> {
    fn resolve(&self, name: &ast::ColumnRef<'_>) -> SqlResult<Resolved> {
        let column = self.definition.column(&name.name.to_string());
        let column = column.ok_or_else(|| unknown_column(name, self.whose))?;
        let mut ty = self.definition.columns[column].ty.clone();
        ty.nullable |= self.nullable;
        Ok(Resolved::Column(ResolvedColumn { level: 0, table: self.table, column: column as u16, ty }))
    }
}
