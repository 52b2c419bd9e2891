//! From the syntax of a body to its compiled form; what of it is not allowed.

use crate::routine::code::{Code, Condition, Fragment, Handler, Null, OfRow, Step, Var};
use crate::routine::event_name;
use std::ops::Range;
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_engine::lower::RowFormat;
use vaquita_parser::Local;
use vaquita_parser::ast::{
    self, Block, Branches, ConditionValue, Declaration, ExprKind, Ident, Literal, Loop, LoopEnd, ProgramKind,
    ProgramStmt, SetInBody, SetItem, Show, Span, Stmt, TriggerEvent, Txn, VarScope,
};
use vaquita_session::SessionState;
use vaquita_session::status::Com;
use vaquita_types::{ColumnType, Kind, SqlError, SqlResult, SqlType};

/// Compiles a program. `sql` is the text that its spans point into, `collation` its database's, `table` that of a trigger.
///
/// # Errors
/// What the language does not allow: 1303 to 1338, 1407, 1413, 1415, 1422 and so on.
pub(crate) fn compile(
    program: &ast::CreateProgram<'_>,
    sql: &[u8],
    collation: u16,
    table: Option<&TableInfo>,
    state: &mut SessionState,
) -> SqlResult<Code> {
    let mut compiler = Compiler::new(program.kind, sql, collation, state);
    let mut unknown = None;
    if let (Some(trigger), Some(table)) = (&program.trigger, table) {
        unknown = compiler.row_columns(trigger, table)?;
    }
    for param in program.params {
        if compiler.locals.iter().any(|l| l.name.eq_ignore_ascii_case(param.name.name)) {
            return Err(SqlError::new(1330, format!("Duplicate parameter: {}", param.name)));
        }
        compiler.declare(param.name, &param.data_type)?;
    }
    compiler.stmt(program.code)?;
    if program.kind == ProgramKind::Function {
        if !compiler.returns {
            let database = match program.name.schema {
                Some(schema) => schema.to_string(),
                None => compiler.state.database.clone(),
            };
            let message = format!("No RETURN found in FUNCTION {database}.{}", program.name.name);
            return Err(SqlError::new(1320, message));
        }
        compiler.steps.push(Step::NoReturn);
    }
    match unknown {
        Some(e) => Err(e),
        None => Ok(compiler.finish()),
    }
}

/// The type of a parameter, a variable or a function's value.
///
/// # Errors
/// Those of the type.
pub(crate) fn column_type(
    written: &ast::ColumnType<'_>,
    name: &str,
    collation: u16,
    state: &mut SessionState,
) -> SqlResult<ColumnType> {
    let ty = vaquita_plan::column_type::resolve_type(written, name, collation, state)?;
    Ok(ColumnType::new(SqlType { nullable: true, ..ty }, RowFormat::Dynamic))
}

/// Error 1576.
fn recursion() -> SqlResult<()> {
    let text = "Recursion of EVENT DDL statements is forbidden when body is present";
    Err(SqlError::new(1576, text))
}

/// A label in scope.
struct Label {
    name: Box<[u8]>,
    /// Where ITERATE goes: only in loops.
    again: Option<usize>,
    /// Steps that jump behind it.
    leaves: Vec<usize>,
    /// Blocks around it.
    blocks: usize,
}

/// A block that is being compiled.
struct OpenBlock {
    number: u32,
    first_cursor: usize,
}

struct Compiler<'c> {
    sql: &'c [u8],
    state: &'c mut SessionState,
    collation: u16,
    /// In a function or trigger.
    inside: bool,
    kind: ProgramKind,
    steps: Vec<Step>,
    fragments: Vec<Fragment>,
    vars: Vec<Var>,
    locals: Vec<Local>,
    conditions: Vec<(Box<[u8]>, Condition)>,
    /// Names in scope, with numbers.
    cursor_names: Vec<(Box<[u8]>, usize)>,
    cursors: Vec<usize>,
    handlers: Vec<Handler>,
    declarations: Vec<(Range<usize>, u32)>,
    labels: Vec<Label>,
    /// Labels below are not to be seen: outside of a handler's body.
    labels_from: usize,
    blocks: Vec<OpenBlock>,
    n_blocks: u32,
    returns: bool,
    /// The scope as fragments have it, until it changes.
    scope: Option<Arc<[Local]>>,
}

fn named<'n, T>(list: &'n [(Box<[u8]>, T)], name: Ident<'_>) -> Option<&'n T> {
    list.iter().rfind(|(n, _)| n.eq_ignore_ascii_case(name.name)).map(|(_, thing)| thing)
}

/// Whether an expression is a string as it stands there.
fn is_text_literal(text: &[u8]) -> bool {
    if !text.starts_with(b"'") && !text.starts_with(b"_") {
        return false;
    }
    let (arena, text) = (bumpalo::Bump::new(), [b"DO ", text].concat());
    let parsed = vaquita_parser::parse_with(&text, &arena, vaquita_parser::ParseMode::default(), &[]);
    let Ok(Stmt::Do([expr])) = parsed.map(|parsed| parsed.stmt) else { return false };
    matches!(expr.kind, ExprKind::Literal(Literal::String(_) | Literal::Introduced { .. }))
}

/// Error 1407 unless it is an SQLSTATE of a condition.
fn sqlstate(text: &[u8]) -> SqlResult<[u8; 5]> {
    let bad = || SqlError::new(1407, format!("Bad SQLSTATE: '{}'", String::from_utf8_lossy(text)));
    let state: [u8; 5] = text.try_into().map_err(|_| bad())?;
    let is_state = state.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    if is_state && !state.starts_with(b"00") { Ok(state) } else { Err(bad()) }
}

impl<'c> Compiler<'c> {
    fn new(kind: ProgramKind, sql: &'c [u8], collation: u16, state: &'c mut SessionState) -> Compiler<'c> {
        Compiler {
            sql,
            state,
            collation,
            inside: matches!(kind, ProgramKind::Function | ProgramKind::Trigger),
            kind,
            steps: Vec::new(),
            fragments: Vec::new(),
            vars: Vec::new(),
            locals: Vec::new(),
            conditions: Vec::new(),
            cursor_names: Vec::new(),
            cursors: Vec::new(),
            handlers: Vec::new(),
            declarations: Vec::new(),
            labels: Vec::new(),
            labels_from: 0,
            blocks: Vec::new(),
            n_blocks: 0,
            returns: false,
            scope: None,
        }
    }

    fn finish(self) -> Code {
        let text = |var: &Var| match &var.ty {
            Some(ty) => SqlType { nullable: true, ..ty.ty.clone() },
            None => SqlType::varchar(0, self.collation),
        };
        Code {
            types: self.vars.iter().map(text).collect(),
            steps: self.steps.into(),
            fragments: self.fragments.into(),
            vars: self.vars.into(),
            cursors: self.cursors.into(),
            handlers: self.handlers.into(),
            declarations: self.declarations.into(),
        }
    }

    // Names.

    fn declare(&mut self, name: Ident<'_>, ty: &ast::ColumnType<'_>) -> SqlResult<u32> {
        let text = name.to_string();
        let ty = column_type(ty, &text, self.collation, self.state)?;
        Ok(self.add_var(text, Some(ty)))
    }

    fn add_var(&mut self, name: String, ty: Option<ColumnType>) -> u32 {
        let place = self.vars.len() as u32;
        self.locals.push(Local { name: name.as_bytes().into(), place });
        self.vars.push(Var { name, ty, of_row: None });
        self.scope = None;
        place
    }

    /// Declares the columns of `NEW` and `OLD` that the body of a trigger names, as variables whose names have a dot in them. The
    /// error of the first one that is none, which is told when the rest is right.
    fn row_columns(
        &mut self,
        trigger: &ast::TriggerHead<'_>,
        table: &TableInfo,
    ) -> SqlResult<Option<SqlError>> {
        let event = event_name(trigger.event);
        let mut unknown = None;
        for named in trigger.columns {
            let row = if named.new { "NEW" } else { "OLD" };
            let missing = if named.new { TriggerEvent::Delete } else { TriggerEvent::Insert };
            if trigger.event == missing {
                return Err(SqlError::new(1363, format!("There is no {row} row in on {event} trigger")));
            }
            if named.set && (!named.new || !trigger.before) {
                let when = if named.new { "after " } else { "" };
                let text = format!("Updating of {row} row is not allowed in {when}trigger");
                return Err(SqlError::new(1362, text));
            }
            let column = table.column(&named.name.to_string());
            if column.is_none() && unknown.is_none() {
                let text = format!("Unknown column '{}' in '{row}'", named.name);
                unknown = Some(SqlError::new(1054, text));
            }
            let name = format!("{row}.{}", named.name);
            if self.local(Ident::new(name.as_bytes())).is_some() {
                continue;
            }
            let ty = column.map(|c| table.columns[c].ty.clone());
            self.add_var(name, ty);
            if let (Some(column), Some(var)) = (column, self.vars.last_mut()) {
                let info = &table.columns[column];
                var.of_row = Some(OfRow {
                    new: named.new,
                    writable: named.new && trigger.before,
                    column,
                    name: info.name.as_str().into(),
                    null: match () {
                        () if info.is_nullable() || info.auto_increment => Null::Allowed,
                        () if info.sql_type().kind == Kind::Timestamp => Null::Now,
                        () => Null::Refused,
                    },
                });
            }
        }
        Ok(unknown)
    }

    fn local(&self, name: Ident<'_>) -> Option<u32> {
        self.locals.iter().rfind(|l| l.name.eq_ignore_ascii_case(name.name)).map(|l| l.place)
    }

    fn cursor(&self, name: Ident<'_>) -> SqlResult<usize> {
        let found = named(&self.cursor_names, name).copied();
        found.ok_or_else(|| SqlError::new(1324, format!("Undefined CURSOR: {name}")))
    }

    fn condition(&self, value: &ConditionValue<'_>) -> SqlResult<Condition> {
        Ok(match value {
            ConditionValue::Code(0) => return Err(SqlError::new(1525, "Incorrect CONDITION value: '0'")),
            ConditionValue::Code(code) => match u16::try_from(*code) {
                Ok(code) => Condition::Code(code),
                Err(_) => return Err(SqlError::new(1525, format!("Incorrect CONDITION value: '{code}'"))),
            },
            ConditionValue::State(text) => Condition::State(sqlstate(text)?),
            ConditionValue::Name(name) => match named(&self.conditions, *name) {
                Some(condition) => condition.clone(),
                None => return Err(SqlError::new(1319, format!("Undefined CONDITION: {name}"))),
            },
            ConditionValue::Warning => Condition::Warning,
            ConditionValue::NotFound => Condition::NotFound,
            ConditionValue::Exception => Condition::Exception,
        })
    }

    // Texts.

    fn fragment(&mut self, text: Box<[u8]>, kind: Com) -> usize {
        let locals = self.scope.get_or_insert_with(|| self.locals.as_slice().into()).clone();
        let conditions = self.conditions.as_slice().into();
        self.fragments.push(Fragment { text, locals, conditions, kind, made: Default::default() });
        self.fragments.len() - 1
    }

    fn expr(&mut self, span: Span) -> usize {
        let text = [b"DO ", span.of(self.sql)].concat();
        self.fragment(text.into(), Com::Do)
    }

    // Steps.

    fn unless(&mut self, condition: usize) -> usize {
        self.steps.push(Step::Unless { condition, to: 0, after: 0 });
        self.steps.len() - 1
    }

    fn jump(&mut self) -> usize {
        self.steps.push(Step::Jump(0));
        self.steps.len() - 1
    }

    /// A jump goes to what comes next.
    fn lands(&mut self, step: usize) {
        let here = self.steps.len();
        match &mut self.steps[step] {
            Step::Jump(to) | Step::Unless { to, .. } => *to = here,
            _ => debug_assert!(false, "step {step} is no jump"),
        }
    }

    /// Where a CONTINUE handler of what these steps raise goes on: here.
    fn handlers_land(&mut self, steps: &[usize]) {
        let here = self.steps.len();
        for &step in steps {
            if let Step::Unless { after, .. } | Step::Operand { after, .. } = &mut self.steps[step] {
                *after = here;
            }
        }
    }

    fn stmts(&mut self, list: &[ProgramStmt<'_>]) -> SqlResult<()> {
        list.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &ProgramStmt<'_>) -> SqlResult<()> {
        match stmt {
            ProgramStmt::Block(block) => self.block(block),
            ProgramStmt::If(branches) => self.branches(branches, None),
            ProgramStmt::Case { operand, branches } => self.case(*operand, branches),
            ProgramStmt::Loop(of) => self.a_loop(of),
            ProgramStmt::Leave(name) => self.leave(*name),
            ProgramStmt::Iterate(name) => self.iterate(*name),
            ProgramStmt::Return(value) => {
                if self.kind != ProgramKind::Function {
                    return Err(SqlError::new(1313, "RETURN is only allowed in a FUNCTION"));
                }
                self.returns = true;
                let value = self.expr(*value);
                self.steps.push(Step::Return(value));
                Ok(())
            }
            ProgramStmt::Open(name) => {
                let cursor = self.cursor(*name)?;
                self.steps.push(Step::Open(cursor));
                Ok(())
            }
            ProgramStmt::Close(name) => {
                let cursor = self.cursor(*name)?;
                self.steps.push(Step::Close(cursor));
                Ok(())
            }
            ProgramStmt::Fetch { cursor, into } => {
                let cursor = self.cursor(*cursor)?;
                let target = |name: &Ident<'_>| {
                    let found = self.local(*name);
                    found.ok_or_else(|| SqlError::new(1327, format!("Undeclared variable: {name}")))
                };
                let into = into.iter().map(target).collect::<SqlResult<_>>()?;
                self.steps.push(Step::Fetch { cursor, into });
                Ok(())
            }
            ProgramStmt::Set(items) => items.iter().try_for_each(|assignment| self.set(assignment)),
            ProgramStmt::Sql(stmt, span) => self.sql(stmt, *span),
        }
    }

    // Statements of SQL.

    fn set(&mut self, assignment: &SetInBody<'_>) -> SqlResult<()> {
        let SetInBody { item, span, has_scope } = assignment;
        let begins_with_at = span.of(self.sql).starts_with(b"@@");
        if let SetItem::SystemVar(var, value) = item
            && !begins_with_at
        {
            let name = match var.instance {
                None => self.local(var.name),
                Some(row) => self.local(Ident::new(&[row.name, b".", var.name.name].concat())),
            };
            if let Some(place) = name {
                if *has_scope {
                    let text = format!(
                        "You have an error in your SQL syntax; {} is a local variable, not one of the session or server",
                        var.name
                    );
                    return Err(SqlError::new(1064, text));
                }
                if matches!(value.kind, ast::ExprKind::Default) {
                    let text =
                        "You have an error in your SQL syntax; DEFAULT is no value of a local variable";
                    return Err(SqlError::new(1064, text));
                }
                let value = self.expr(value.span);
                self.steps.push(Step::Set { place, value: Some(value) });
                return Ok(());
            }
        }
        if let SetItem::SystemVar(var, _) = item {
            crate::set::target(var, self.state)?;
        }
        if self.inside {
            check_setting(item)?;
        }
        // It is a statement of its own, without what an earlier assignment says of whose variables are meant.
        let set: &[u8] = match item {
            SetItem::SystemVar(var, _) if var.scope == VarScope::Global && !has_scope && !begins_with_at => {
                b"SET GLOBAL "
            }
            _ => b"SET ",
        };
        let text = [set, span.of(self.sql)].concat();
        let fragment = self.fragment(text.into(), Com::SetOption);
        self.steps.push(Step::Sql(fragment));
        Ok(())
    }

    fn sql(&mut self, stmt: &Stmt<'_>, span: Span) -> SqlResult<()> {
        self.check(stmt)?;
        let fragment = self.fragment(span.of(self.sql).into(), Com::of(stmt));
        if let Stmt::CreateView(_) = stmt {
            self.check_view(fragment)?;
        }
        self.steps.push(match stmt {
            Stmt::Call(_) => Step::Call { fragment },
            _ => Step::Sql(fragment),
        });
        Ok(())
    }

    /// That a view is made without local variables: it lives longer.
    fn check_view(&self, fragment: usize) -> SqlResult<()> {
        let Fragment { text, locals, .. } = &self.fragments[fragment];
        let arena = bumpalo::Bump::new();
        match vaquita_parser::parse_with(text, &arena, vaquita_parser::ParseMode::default(), locals) {
            Ok(parsed) if parsed.params > 0 || parsed.reads_locals => Err(view_with_variables()),
            _ => Ok(()),
        }
    }

    /// What may not stand in a program, or not in this one.
    fn check(&self, stmt: &Stmt<'_>) -> SqlResult<()> {
        let bad =
            |what: &str| Err(SqlError::new(1314, format!("{what} is not allowed in stored procedures")));
        match stmt {
            Stmt::Use(_) => return bad("USE"),
            Stmt::Txn(Txn::LockTables(_)) => return bad("LOCK"),
            Stmt::Txn(Txn::UnlockTables) => return bad("UNLOCK"),
            Stmt::LoadData(_) => return bad("LOAD DATA"),
            Stmt::CreateView(create) if create.alter => return bad("ALTER VIEW"),
            Stmt::CreateProgram(program) if program.kind == ProgramKind::Event => return recursion(),
            Stmt::AlterEvent(alter) if alter.body.is_some() => return recursion(),
            Stmt::CreateProgram(program) => {
                let kind = crate::routine::kind_name(program.kind);
                let text = format!("Can't create a {kind} from within another stored routine");
                return Err(SqlError::new(1303, text));
            }
            Stmt::DropProgram(drop)
                if matches!(drop.kind, ProgramKind::Procedure | ProgramKind::Function) =>
            {
                let kind = crate::routine::kind_name(drop.kind);
                let text = format!("Can't drop or alter a {kind} from within another stored routine");
                return Err(SqlError::new(1357, text));
            }
            Stmt::AlterProgram(alter) => {
                let kind = if alter.function { "FUNCTION" } else { "PROCEDURE" };
                let text = format!("Can't drop or alter a {kind} from within another stored routine");
                return Err(SqlError::new(1357, text));
            }
            Stmt::Signal(signal) => self.check_signal(signal)?,
            Stmt::GetDiagnostics(get) => self.check_diagnostics(get)?,
            Stmt::Query(query) => self.check_into(query)?,
            _ => {}
        }
        if self.inside { self.check_inside(stmt) } else { Ok(()) }
    }

    fn check_inside(&self, stmt: &Stmt<'_>) -> SqlResult<()> {
        let what = if self.kind == ProgramKind::Trigger { "trigger" } else { "function" };
        let result = || Err(SqlError::new(1415, format!("Not allowed to return a result set from a {what}")));
        match stmt {
            Stmt::Query(query) if query.into.is_none() => result(),
            Stmt::Show(_) | Stmt::Explain(_) | Stmt::Maintain(_) | Stmt::Help(_) => result(),
            Stmt::Txn(Txn::Xa(_)) => Err(commit_refused()),
            _ => check_called(stmt),
        }
    }

    /// Names that SELECT … INTO stores in: the text is read again with the variables, but unknown ones are told now.
    fn check_into(&self, query: &ast::Query<'_>) -> SqlResult<()> {
        let Some(ast::IntoClause::Vars(vars)) = query.into else { return Ok(()) };
        for var in *vars {
            if let ast::IntoVar::Unknown(name) = var
                && self.local(*name).is_none()
            {
                return Err(SqlError::new(1327, format!("Undeclared variable: {name}")));
            }
        }
        Ok(())
    }

    fn check_signal(&self, signal: &ast::Signal<'_>) -> SqlResult<()> {
        if let Some(condition) = &signal.condition
            && !matches!(self.condition(condition)?, Condition::State(_))
        {
            let text = "SIGNAL/RESIGNAL can only use a CONDITION defined with SQLSTATE";
            return Err(SqlError::new(1646, text));
        }
        super::check_items(signal.items)
    }

    fn check_diagnostics(&self, get: &ast::GetDiagnostics<'_>) -> SqlResult<()> {
        let check = |target: &ast::DiagnosticsTarget<'_>| match target {
            ast::DiagnosticsTarget::Unknown(name) if self.local(*name).is_none() => {
                Err(SqlError::new(1327, format!("Undeclared variable: {name}")))
            }
            _ => Ok(()),
        };
        match get.what {
            ast::Diagnostics::Statement(items) => items.iter().try_for_each(|(target, _)| check(target)),
            ast::Diagnostics::Condition { items, .. } => {
                items.iter().try_for_each(|(target, _)| check(target))
            }
        }
    }

    // Control.

    fn branches(&mut self, of: &Branches<'_>, operand: Option<&[u8]>) -> SqlResult<()> {
        let (mut ends, mut conditions) = (Vec::new(), Vec::new());
        for (condition, body) in of.branches {
            let condition = match operand {
                None => self.expr(*condition),
                Some(operand) => {
                    let value = condition.of(self.sql);
                    let text = [b"DO ", operand, b" = (", value, b")"].concat();
                    self.fragment(text.into(), Com::Do)
                }
            };
            let unless = self.unless(condition);
            conditions.push(unless);
            self.stmts(body)?;
            ends.push(self.jump());
            self.lands(unless);
        }
        if let Some(body) = of.otherwise {
            self.stmts(body)?;
        } else if operand.is_some() {
            self.steps.push(Step::CaseMissing);
        }
        ends.into_iter().for_each(|end| self.lands(end));
        self.handlers_land(&conditions);
        Ok(())
    }

    fn case(&mut self, operand: Option<Span>, of: &Branches<'_>) -> SqlResult<()> {
        let Some(operand) = operand else {
            let missing = of.otherwise.is_none();
            if !missing {
                return self.branches(of, None);
            }
            return self.searched_case(of);
        };
        let text = operand.of(self.sql);
        let value = self.expr(operand);
        let name = format!("<case {}>", self.vars.len());
        let before = self.locals.len();
        let place = self.add_var(name.clone(), None);
        let step = self.steps.len();
        self.steps.push(Step::Operand { place, value, after: 0 });
        // A variable would insist on its collation, which a literal does not. Beside a number it is as a text that was calculated.
        match is_text_literal(text) {
            true => self.branches(of, Some(&[b"coalesce(", text, b")"].concat()))?,
            false => self.branches(of, Some(format!("`{name}`").as_bytes()))?,
        }
        self.handlers_land(&[step]);
        self.locals.truncate(before);
        self.scope = None;
        Ok(())
    }

    /// CASE without operand and ELSE.
    fn searched_case(&mut self, of: &Branches<'_>) -> SqlResult<()> {
        let (mut ends, mut conditions) = (Vec::new(), Vec::new());
        for (condition, body) in of.branches {
            let condition = self.expr(*condition);
            let unless = self.unless(condition);
            conditions.push(unless);
            self.stmts(body)?;
            ends.push(self.jump());
            self.lands(unless);
        }
        self.steps.push(Step::CaseMissing);
        ends.into_iter().for_each(|end| self.lands(end));
        self.handlers_land(&conditions);
        Ok(())
    }

    fn enter_label(
        &mut self,
        label: Option<Ident<'_>>,
        end: Option<Ident<'_>>,
        again: Option<usize>,
    ) -> SqlResult<()> {
        let Some(label) = label else { return Ok(()) };
        if self.find_label(label).is_some() {
            return Err(SqlError::new(1309, format!("Redefining label {label}")));
        }
        if let Some(end) = end
            && !end.name.eq_ignore_ascii_case(label.name)
        {
            return Err(SqlError::new(1310, format!("End-label {end} without match")));
        }
        let blocks = self.blocks.len();
        self.labels.push(Label { name: label.name.into(), again, leaves: Vec::new(), blocks });
        Ok(())
    }

    fn find_label(&self, name: Ident<'_>) -> Option<usize> {
        let found = self.labels.iter().rposition(|l| l.name.eq_ignore_ascii_case(name.name));
        found.filter(|at| *at >= self.labels_from)
    }

    fn exit_label(&mut self, label: Option<Ident<'_>>) {
        if label.is_some()
            && let Some(label) = self.labels.pop()
        {
            label.leaves.into_iter().for_each(|step| self.lands(step));
        }
    }

    fn a_loop(&mut self, of: &Loop<'_>) -> SqlResult<()> {
        let start = self.steps.len();
        self.enter_label(of.label, of.end_label, Some(start))?;
        match of.until {
            LoopEnd::Never => {
                self.stmts(of.body)?;
                self.steps.push(Step::Jump(start));
            }
            LoopEnd::While(condition) => {
                let condition = self.expr(condition);
                let unless = self.unless(condition);
                self.stmts(of.body)?;
                self.steps.push(Step::Jump(start));
                self.lands(unless);
                self.handlers_land(&[unless]);
            }
            LoopEnd::Until(condition) => {
                self.stmts(of.body)?;
                let condition = self.expr(condition);
                let after = self.steps.len() + 1;
                self.steps.push(Step::Unless { condition, to: start, after });
            }
        }
        self.exit_label(of.label);
        Ok(())
    }

    /// Leaves blocks down to so many of them.
    fn unwind(&mut self, blocks: usize) {
        for at in (blocks..self.blocks.len()).rev() {
            let OpenBlock { number, first_cursor } = self.blocks[at];
            self.steps.push(Step::Leave { block: number, cursors: (first_cursor, self.cursors.len()) });
        }
    }

    fn leave(&mut self, name: Ident<'_>) -> SqlResult<()> {
        let Some(at) = self.find_label(name) else {
            return Err(SqlError::new(1308, format!("LEAVE with no matching label: {name}")));
        };
        self.unwind(self.labels[at].blocks);
        let jump = self.jump();
        self.labels[at].leaves.push(jump);
        Ok(())
    }

    fn iterate(&mut self, name: Ident<'_>) -> SqlResult<()> {
        let found = self.find_label(name).and_then(|at| Some((at, self.labels[at].again?)));
        let Some((at, again)) = found else {
            return Err(SqlError::new(1308, format!("ITERATE with no matching label: {name}")));
        };
        self.unwind(self.labels[at].blocks);
        self.steps.push(Step::Jump(again));
        Ok(())
    }

    fn block(&mut self, block: &Block<'_>) -> SqlResult<()> {
        self.enter_label(block.label, block.end_label, None)?;
        let (locals, conditions, cursors) =
            (self.locals.len(), self.conditions.len(), self.cursor_names.len());
        self.n_blocks += 1;
        let number = self.n_blocks;
        let first_cursor = self.cursors.len();
        self.blocks.push(OpenBlock { number, first_cursor });
        let first_handler = self.handlers.len();
        let mut names = Names { locals, conditions, cursors, cursor_or_handler: false, handlers: Vec::new() };
        let first = self.steps.len();
        for declaration in block.declarations {
            let is_first = names.handlers.is_empty() && matches!(declaration, Declaration::Handler { .. });
            if is_first && self.steps.len() > first {
                self.declarations.push((first..self.steps.len(), number));
            }
            self.declaration(declaration, number, &mut names)?;
        }
        self.stmts(block.body)?;
        let end = self.steps.len();
        for handler in &mut self.handlers[first_handler..] {
            if handler.block == number && handler.exit.is_some() {
                handler.exit = Some(end);
            }
        }
        let handles = self.handlers[first_handler..].iter().any(|h| h.block == number);
        if handles || self.cursors.len() > first_cursor {
            self.steps.push(Step::Leave { block: number, cursors: (first_cursor, self.cursors.len()) });
        }
        self.blocks.pop();
        self.locals.truncate(locals);
        self.conditions.truncate(conditions);
        self.cursor_names.truncate(cursors);
        self.scope = None;
        self.exit_label(block.label);
        Ok(())
    }

    fn declaration(&mut self, of: &Declaration<'_>, block: u32, names: &mut Names) -> SqlResult<()> {
        let late =
            names.cursor_or_handler && matches!(of, Declaration::Vars { .. } | Declaration::Condition(..));
        if late {
            let text = "Variable or condition declaration after cursor or handler declaration";
            return Err(SqlError::new(1337, text));
        }
        match of {
            Declaration::Vars { names: vars, data_type, default } => {
                // A default sees what was declared before.
                let value = default.map(|default| self.expr(default));
                for name in *vars {
                    let here = &self.locals[names.locals..];
                    if here.iter().any(|l| l.name.eq_ignore_ascii_case(name.name)) {
                        return Err(SqlError::new(1331, format!("Duplicate variable: {name}")));
                    }
                    let place = self.declare(*name, data_type)?;
                    self.steps.push(Step::Set { place, value });
                }
            }
            Declaration::Condition(name, value) => {
                if named(&self.conditions[names.conditions..], *name).is_some() {
                    return Err(SqlError::new(1332, format!("Duplicate condition: {name}")));
                }
                let condition = self.condition(value)?;
                self.conditions.push((name.name.into(), condition));
            }
            Declaration::Cursor(name, stmt, span) => {
                if names.handlers.is_empty() && named(&self.cursor_names[names.cursors..], *name).is_some() {
                    return Err(SqlError::new(1333, format!("Duplicate cursor: {name}")));
                }
                if !names.handlers.is_empty() {
                    return Err(SqlError::new(1338, "Cursor declaration after handler declaration"));
                }
                match stmt {
                    Stmt::Query(query) if query.into.is_some() => {
                        return Err(SqlError::new(1323, "Cursor SELECT must not have INTO"));
                    }
                    Stmt::Show(Show::Warnings(_) | Show::Errors(_)) => {}
                    _ => {}
                }
                let fragment = self.fragment(span.of(self.sql).into(), Com::Select);
                self.cursor_names.push((name.name.into(), self.cursors.len()));
                self.cursors.push(fragment);
                names.cursor_or_handler = true;
            }
            Declaration::Handler { goes_on, conditions, body } => {
                self.handler(*goes_on, conditions, body, block, names)?;
                names.cursor_or_handler = true;
            }
        }
        Ok(())
    }

    fn handler(
        &mut self,
        goes_on: bool,
        conditions: &[ConditionValue<'_>],
        body: &ProgramStmt<'_>,
        block: u32,
        names: &mut Names,
    ) -> SqlResult<()> {
        let mut of = Vec::new();
        for condition in conditions {
            let condition = self.condition(condition)?;
            if names.handlers.contains(&condition) {
                return Err(SqlError::new(1413, "Duplicate handler declared in the same block"));
            }
            names.handlers.push(condition.clone());
            of.push(condition);
        }
        let number = self.handlers.len();
        let exit = if goes_on { None } else { Some(0) };
        self.steps.push(Step::Handle(number));
        let over = self.jump();
        let start = self.steps.len();
        self.handlers.push(Handler { conditions: of.into(), block, start, exit });
        // Labels outside cannot be left or repeated from there.
        let labels_from = std::mem::replace(&mut self.labels_from, self.labels.len());
        self.stmt(body)?;
        self.labels_from = labels_from;
        self.steps.push(Step::Handled(number));
        self.lands(over);
        Ok(())
    }
}

/// Where the names of a block begin.
struct Names {
    locals: usize,
    conditions: usize,
    cursors: usize,
    cursor_or_handler: bool,
    handlers: Vec<Condition>,
}

/// What functions and triggers must not do, nor procedures that they call.
///
/// # Errors
/// 1336, 1422, 1445.
pub(crate) fn check_called(stmt: &Stmt<'_>) -> SqlResult<()> {
    let refused =
        |what: &str| Err(SqlError::new(1336, format!("{what} is not allowed in stored function or trigger")));
    match stmt {
        Stmt::Prepare(_) | Stmt::Execute(_) | Stmt::Deallocate(_) => refused("Dynamic SQL"),
        Stmt::Flush(_) => refused("FLUSH"),
        Stmt::Set(items) => items.iter().try_for_each(check_setting),
        _ if commits(stmt) => Err(commit_refused()),
        _ => Ok(()),
    }
}

/// What of SET would end a transaction.
fn check_setting(item: &SetItem<'_>) -> SqlResult<()> {
    match item {
        SetItem::SystemVar(var, _) if var.name.is("autocommit") => {}
        SetItem::Password { .. } => {}
        _ => return Ok(()),
    }
    Err(SqlError::new(1445, "Not allowed to set autocommit from a stored function or trigger"))
}

/// The error of a view that is made of variables or parameters.
pub(crate) fn view_with_variables() -> SqlError {
    SqlError::new(1351, "View's SELECT contains a variable or parameter")
}

fn commit_refused() -> SqlError {
    SqlError::new(1422, "Explicit or implicit commit is not allowed in stored function or trigger.")
}

/// Whether a statement commits the transaction, or ends it otherwise.
fn commits(stmt: &Stmt<'_>) -> bool {
    match stmt {
        Stmt::CreateTable(create) => !create.temporary,
        Stmt::DropTable(drop) => !drop.temporary,
        Stmt::Role(role) => !matches!(role, ast::RoleStmt::Set(_)),
        Stmt::Txn(Txn::Start { .. } | Txn::Commit(_) | Txn::Rollback(_))
        | Stmt::CreateProgram(_)
        | Stmt::DropProgram(_)
        | Stmt::AlterProgram(_)
        | Stmt::AlterEvent(_)
        | Stmt::AlterTable(_)
        | Stmt::Truncate(_)
        | Stmt::RenameTables(_)
        | Stmt::CreateIndex(_)
        | Stmt::DropIndex(_)
        | Stmt::CreateDatabase(_)
        | Stmt::AlterDatabase(_)
        | Stmt::DropDatabase(_)
        | Stmt::CreateView(_)
        | Stmt::DropView(_)
        | Stmt::ImportTables(_)
        | Stmt::CreateUser(_)
        | Stmt::DropUser(_)
        | Stmt::RenameUsers(_)
        | Stmt::Grant(_) => true,
        _ => false,
    }
}
