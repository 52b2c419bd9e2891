//! EXPLAIN: a plan as rows of a table, or as JSON.

use crate::columns::column_of;
use crate::planner::Planner;
use crate::query::access::is_covering;
use crate::query::block::{self, Planned};
use crate::query::matching::{MatchRequest, plan_match};
use crate::tree::Source;
use crate::tree::{BlockPlan, Body, KeyTest, Making, Path, QueryPlan, Read, SortValue, Step, SubqueryPlan};
use std::fmt::Write;
use std::sync::Arc;
use vaquita_catalog::TableInfo;
use vaquita_catalog::flag;
use vaquita_expr::{CompileCx, EvalCx, Expr, Node, Row, TableSet};
use vaquita_parser::ast::{self, Explain, ExplainFormat, ExplainTarget, Stmt};
use vaquita_session::sink::{ColumnMeta, ResultSink};
use vaquita_types::{Kind, SqlError, SqlResult, SqlType, Value};

/// Collation of the texts.
const UTF8: u16 = 33;

/// One line of EXPLAIN.
#[derive(Debug, Default)]
struct Line {
    id: Option<u32>,
    select_type: &'static str,
    table: Option<String>,
    partitions: Option<String>,
    access: Option<&'static str>,
    possible: Vec<String>,
    key: Option<String>,
    key_len: Option<u32>,
    /// Columns of the key that are used.
    key_parts: Vec<String>,
    reference: Option<String>,
    rows: Option<u64>,
    filtered: f64,
    extra: Vec<&'static str>,
}

/// Names of the columns, with whether they are numbers.
fn names(explain: &Explain<'_>) -> Vec<(&'static str, Option<Kind>)> {
    if explain.format == ExplainFormat::Json {
        return vec![("EXPLAIN", None)];
    }
    let mut names = vec![("id", Some(Kind::BigInt)), ("select_type", None), ("table", None)];
    if explain.partitions {
        names.push(("partitions", None));
    }
    names.extend([
        ("type", None),
        ("possible_keys", None),
        ("key", None),
        ("key_len", None),
        ("ref", None),
        ("rows", Some(Kind::BigInt)),
    ]);
    if explain.extended {
        names.push(("filtered", Some(Kind::Double)));
    }
    names.push(("Extra", None));
    names
}

/// Columns of EXPLAIN.
pub fn explain_columns(explain: &Explain<'_>) -> Arc<[ColumnMeta]> {
    let column = |(name, kind): (&str, Option<Kind>)| {
        let ty = match kind {
            Some(Kind::BigInt) => SqlType { length: 3, ..SqlType::bigint(false) },
            Some(_) => SqlType { decimals: 2, length: 5, ..SqlType::double() },
            None => SqlType::varchar(255, UTF8),
        };
        let empty = Box::default;
        ColumnMeta {
            schema: empty(),
            table: empty(),
            org_table: empty(),
            name: name.as_bytes().into(),
            org_name: empty(),
            flags: ty.protocol_flags() | flags_of(name),
            ty,
        }
    };
    names(explain).into_iter().map(column).collect()
}

/// What 5.6.24 says of the columns of EXPLAIN; `id` is NULL all the same where the rows of a UNION are read.
fn flags_of(name: &str) -> u16 {
    match name {
        "id" => flag::NOT_NULL | flag::UNSIGNED | flag::BINARY,
        "rows" => flag::UNSIGNED | flag::BINARY,
        "select_type" | "Extra" => flag::NOT_NULL,
        _ => 0,
    }
}

/// EXPLAIN, in a started statement of the engine: how many rows it sent.
///
/// # Errors
/// Those of planning what is explained.
pub fn explain(
    planner: &Planner<'_>,
    explain: &Explain<'_>,
    compile: &mut CompileCx<'_>,
    sink: &mut dyn ResultSink,
) -> SqlResult<u64> {
    if let ExplainFormat::Other(name) = explain.format {
        return Err(SqlError::new(1791, format!("Unknown EXPLAIN format name: '{name}'")));
    }
    let ExplainTarget::Statement(stmt) = explain.target else {
        return Err(SqlError::unsupported("EXPLAIN FOR CONNECTION"));
    };
    let mut lines = lines_of(planner, stmt, compile)?;
    let columns = explain_columns(explain);
    sink.columns(&columns)?;
    if explain.format == ExplainFormat::Json {
        sink.row(&[Value::owned(json(&lines).into_bytes())])?;
        return Ok(1);
    }
    for line in &mut lines {
        sink.row(&line.values(explain))?;
    }
    Ok(lines.len() as u64)
}

fn lines_of(planner: &Planner<'_>, stmt: &Stmt<'_>, compile: &mut CompileCx<'_>) -> SqlResult<Vec<Line>> {
    let mut lines = Lines { lines: Vec::new(), ids: 0, made: Vec::new(), partitions: Vec::new() };
    match stmt {
        Stmt::Query(query) => {
            let Planned { plan, .. } = block::plan_query(planner, query, None, compile)?;
            lines.query(&plan, top_type(&plan), &mut compile.session);
        }
        Stmt::Insert(insert) => match insert.source {
            ast::InsertSource::Query(query) => {
                let Planned { plan, .. } = block::plan_query(planner, query, None, compile)?;
                lines.query(&plan, top_type(&plan), &mut compile.session);
            }
            ast::InsertSource::Values(_) => {
                let id = lines.next_id();
                lines.push_message(id, "SIMPLE", "No tables used");
            }
        },
        Stmt::Update(ast::Update { hints, with, tables, filter, order_by, limit, assignments, .. }) => {
            let request = MatchRequest {
                hints,
                with: *with,
                from: tables,
                filter: *filter,
                order_by,
                limit: *limit,
                delete_from: &[],
                assignments,
            };
            let plan = plan_match(planner, &request, compile)?;
            lines.block(plan.block(), "SIMPLE", &mut compile.session);
        }
        Stmt::Delete(ast::Delete { hints, with, from, filter, order_by, limit, targets, .. }) => {
            let request = MatchRequest {
                hints,
                with: *with,
                from,
                filter: *filter,
                order_by,
                limit: *limit,
                delete_from: targets,
                assignments: &[],
            };
            let plan = plan_match(planner, &request, compile)?;
            lines.block(plan.block(), "SIMPLE", &mut compile.session);
        }
        _ => return Err(SqlError::unsupported("EXPLAIN of this statement")),
    }
    Ok(lines.lines)
}

/// The type of the outermost SELECT.
fn top_type(plan: &QueryPlan) -> &'static str {
    match &plan.body {
        Body::Union { .. } | Body::SetOperation(_) => "PRIMARY",
        Body::Values { .. } | Body::Recursive(_) => "SIMPLE",
        Body::Block(block) => {
            let derived = block.reads.iter().any(|r| matches!(r.source, Source::Derived(_)));
            if derived || !block.subqueries.is_empty() { "PRIMARY" } else { "SIMPLE" }
        }
    }
}

struct Lines {
    lines: Vec<Line>,
    ids: u32,
    /// Tables of WITH that are there already, with their numbers.
    made: Vec<(Arc<QueryPlan>, u32)>,
    /// The partitions that the present block reads, by slot.
    partitions: Vec<Option<String>>,
}

impl Lines {
    fn next_id(&mut self) -> u32 {
        self.ids += 1;
        self.ids
    }

    fn push_message(&mut self, id: u32, select_type: &'static str, message: &'static str) {
        self.lines.push(Line {
            id: Some(id),
            select_type,
            extra: vec![message],
            filtered: 100.0,
            ..Line::default()
        });
    }

    fn query(&mut self, plan: &QueryPlan, select_type: &'static str, cx: &mut EvalCx<'_>) {
        match &plan.body {
            Body::Block(block) => self.block(block, select_type, cx),
            Body::Union { parts } => {
                let parts: Vec<&QueryPlan> = parts.iter().map(|part| &part.plan).collect();
                self.combined(&parts, ["UNION", "UNION RESULT", "union"], plan, select_type, cx);
            }
            Body::SetOperation(op) => {
                let names = match op.intersect {
                    true => ["INTERSECT", "INTERSECT RESULT", "intersect"],
                    false => ["EXCEPT", "EXCEPT RESULT", "except"],
                };
                self.combined(&[&op.left, &op.right], names, plan, select_type, cx);
            }
            Body::Values { subqueries, .. } => {
                let id = self.next_id();
                self.push_message(id, select_type, "No tables used");
                self.subqueries(subqueries, cx);
            }
            Body::Recursive(recursion) => {
                self.query(&recursion.first, select_type, cx);
                recursion.next.iter().for_each(|part| self.query(part, "UNION", cx));
            }
        }
    }

    /// Several queries and the line of what becomes of their rows; `names`: types of the further ones and of that line, name
    /// of its table.
    fn combined(
        &mut self,
        parts: &[&QueryPlan],
        names: [&'static str; 3],
        plan: &QueryPlan,
        select_type: &'static str,
        cx: &mut EvalCx<'_>,
    ) {
        let mut ids = Vec::new();
        for (i, part) in parts.iter().enumerate() {
            ids.push((self.ids + 1).to_string());
            self.query(part, if i == 0 { select_type } else { names[0] }, cx);
        }
        let mut extra = vec!["Using temporary"];
        if !plan.order.is_empty() {
            extra.push("Using filesort");
        }
        self.lines.push(Line {
            select_type: names[1],
            table: Some(format!("<{}{}>", names[2], ids.join(","))),
            access: Some("ALL"),
            filtered: 0.0,
            extra,
            ..Line::default()
        });
    }

    fn subqueries(&mut self, subqueries: &[(Arc<SubqueryPlan>, bool)], cx: &mut EvalCx<'_>) {
        for (subquery, correlated) in subqueries {
            let select_type = if *correlated { "DEPENDENT SUBQUERY" } else { "SUBQUERY" };
            self.query(&subquery.plan, select_type, cx);
        }
    }

    fn block(&mut self, block: &BlockPlan, select_type: &'static str, cx: &mut EvalCx<'_>) {
        let id = self.next_id();
        let can_tell = |e: &&Expr| {
            !e.info().has_subquery && {
                let mut outer = false;
                e.walk(&mut |e| outer |= matches!(e.node(), Node::Column { .. } | Node::Param(_)));
                !outer
            }
        };
        let constant: Vec<Expr> = block.const_filter.iter().filter(can_tell).cloned().collect();
        let possible = vaquita_expr::all_true(&constant, cx, &Row::constant(&[])).unwrap_or(true);
        if !possible {
            self.push_message(id, select_type, "Impossible WHERE");
        } else if block.reads.is_empty() {
            self.push_message(id, select_type, "No tables used");
        } else if block.count_found {
            self.push_message(id, select_type, "Select tables optimized away");
        } else {
            let mut derived = Vec::new();
            let first = self.lines.len();
            self.partitions = block.reads.iter().map(|read| partitions_of(read, cx)).collect();
            self.steps(block, &block.steps, id, select_type, &mut derived);
            let group_sorts = block.group.as_ref().is_some_and(|g| !g.keys.is_empty() && !g.sorted_input);
            if let Some(line) = self.lines.get_mut(first) {
                if group_sorts || block.windows.is_some() || block.distinct && !block.order.is_empty() {
                    line.extra.push("Using temporary");
                }
                if !block.order.is_empty() && !block.order_done
                    || block.group.as_ref().is_some_and(|g| g.rollup)
                    || block.windows.as_ref().is_some_and(|w| !w.sorted_input || w.passes.len() > 1)
                {
                    line.extra.push("Using filesort");
                }
            }
            for (line, plan, making) in derived {
                let made = self.made.iter().find(|(made, _)| Arc::ptr_eq(made, &plan)).map(|(_, id)| *id);
                let id = made.unwrap_or(self.ids + 1);
                if let Some(line) = self.lines.get_mut(line) {
                    line.table = Some(format!("<derived{id}>"));
                }
                if made.is_none() {
                    self.made.push((plan.clone(), id));
                    self.query(&plan, if making.level == 0 { "DEPENDENT DERIVED" } else { "DERIVED" }, cx);
                }
            }
        }
        self.subqueries(&block.subqueries, cx);
    }

    fn steps(
        &mut self,
        block: &BlockPlan,
        steps: &[Step],
        id: u32,
        select_type: &'static str,
        derived: &mut Vec<(usize, Arc<QueryPlan>, Making)>,
    ) {
        for step in steps {
            match step {
                Step::Table { slot, filter, .. } => {
                    let read = &block.reads[*slot];
                    if let Source::Derived(plan) = &read.source {
                        derived.push((self.lines.len(), plan.clone(), read.making));
                    }
                    let mut line = line_of(block, read, filter);
                    line.id = Some(id);
                    line.select_type = select_type;
                    line.partitions = self.partitions.get_mut(*slot).and_then(Option::take);
                    self.lines.push(line);
                }
                Step::Outer { steps, .. } => self.steps(block, steps, id, select_type, derived),
            }
        }
    }
}

/// Indexes that hold all columns that rows are grouped by, or told apart by: 5.6 counts them among the possible ones. Columns of the
/// primary key are in each.
fn indexes_of_groups(block: &BlockPlan, read: &Read, info: &TableInfo) -> Vec<usize> {
    let mut columns = Vec::new();
    let mut note = |expr: &Expr| expr.walk(&mut |e| columns.extend(column_of(e)));
    match &block.group {
        Some(group) if group.keys.is_empty() => {
            group.aggregates.iter().filter(|a| a.distinct).flat_map(|a| &*a.args).for_each(&mut note);
        }
        Some(group) => group.keys.iter().for_each(|key| match &key.value {
            SortValue::Item(at) => note(&block.items[*at]),
            SortValue::Expr(expr) => note(expr),
        }),
        None if block.distinct => block.items.iter().for_each(&mut note),
        None => {}
    }
    let is_of_table = |&(slot, _): &(usize, usize)| std::ptr::eq(&block.reads[slot], read);
    if columns.is_empty() || !columns.iter().all(is_of_table) {
        return Vec::new();
    }
    let indexes = &info.table.indexes;
    let visible = |i: usize| info.keys.iter().any(|key| key.index == i && !key.definition.invisible);
    let holds = |i: usize, column: usize| {
        indexes[i].parts.iter().chain(&indexes[0].parts).any(|p| p.column == column && p.prefix_len == 0)
    };
    let all = |&i: &usize| visible(i) && columns.iter().all(|&(_, column)| holds(i, column));
    (0..indexes.len()).filter(all).collect()
}

/// The partitions of a table that are read, as far as constants tell.
fn partitions_of(read: &Read, cx: &mut EvalCx<'_>) -> Option<String> {
    match (&read.source, &read.parts) {
        (Source::Stored(info), Some(parts)) => parts.explained(info, cx),
        _ => None,
    }
}

fn line_of(block: &BlockPlan, read: &Read, filter: &[Expr]) -> Line {
    let mut line = Line {
        table: Some(read.alias.clone()),
        rows: Some(read.rows.round().max(1.0) as u64),
        filtered: (read.selectivity * 100.0).min(100.0),
        ..Line::default()
    };
    let Source::Stored(info) = &read.source else {
        line.access = Some("ALL");
        if matches!(read.source, Source::Virtual(_)) {
            line.rows = None;
        }
        if matches!(read.source, Source::Recursive(_)) {
            line.extra.push("Recursive");
        }
        if matches!(read.source, Source::Json(_)) {
            line.extra.push("Table function: json_table");
            line.extra.push("Using temporary");
        }
        if !filter.is_empty() {
            line.extra.push("Using where");
        }
        if read.hash.is_some() {
            line.extra.push("Using join buffer (Hash Join)");
        }
        return line;
    };
    let name = |index: usize| info.table.indexes[index].name.clone();
    let mut possible = read.possible.clone();
    if !matches!(read.path, Path::Point { .. }) {
        possible.extend(indexes_of_groups(block, read, info));
        possible.sort_unstable();
        possible.dedup();
    }
    line.possible = possible.into_iter().map(name).collect();
    let constant = |key: &[crate::tree::KeyValue]| {
        key.iter().all(|k| match &k.value {
            KeyTest::Value { expr, .. } => expr.tables() == TableSet::default(),
            KeyTest::Null => true,
        })
    };
    let mut covered = 0;
    match &read.path {
        Path::Full { index, .. } => {
            let by_index = block.scans_by_index(info, *index);
            line.access = Some(if by_index { "index" } else { "ALL" });
            if by_index {
                line.uses(info, *index, usize::MAX);
            }
        }
        Path::Point { index, key } => {
            line.access = Some(if constant(key) { "const" } else { "eq_ref" });
            line.uses(info, *index, key.len());
            line.reference = Some(references(block, key));
            covered = key.len();
        }
        Path::Ref { index, key, .. } => {
            line.access = Some("ref");
            line.uses(info, *index, key.len());
            line.reference = Some(references(block, key));
            covered = key.len();
        }
        Path::Range { index, sarg, .. } => {
            line.access = Some("range");
            let parts = &info.table.indexes[*index].parts;
            let n = parts.iter().take_while(|p| sarg.mentions(p.column)).count();
            line.uses(info, *index, n.max(1));
        }
        Path::FullText { name, .. } => {
            line.access = Some("fulltext");
            line.possible.push(name.to_string());
            (line.key, line.key_len) = (Some(name.to_string()), Some(0));
        }
        Path::Rows => line.access = Some("ALL"),
    }
    if filter.len() > covered {
        line.extra.push("Using where");
    }
    let index = read.path.index().unwrap_or(0);
    let searched = matches!(read.path, Path::FullText { .. });
    if index > 0 && !searched && (read.covering || is_covering(info, index, &read.columns)) {
        line.extra.push("Using index");
    }
    if read.hash.is_some() {
        line.extra.push("Using join buffer (Hash Join)");
    }
    line
}

/// Bytes of the first parts of a key, as MySQL counts them.
fn key_len(info: &TableInfo, index: usize, n: usize) -> u32 {
    let part = |p: &vaquita_engine::lower::KeyPart| {
        let def = &info.table.columns[p.column].def;
        let ty = info.columns[p.column].sql_type();
        let variable = matches!(
            ty.kind,
            Kind::VarChar | Kind::TinyText | Kind::Text | Kind::MediumText | Kind::LongText | Kind::Json
        );
        let len = if p.prefix_len > 0 { p.prefix_len } else { def.len };
        len + u32::from(def.is_nullable()) + if variable { 2 } else { 0 }
    };
    info.table.indexes[index].parts.iter().take(n).map(part).sum()
}

/// What key fields are compared with.
fn references(block: &BlockPlan, key: &[crate::tree::KeyValue]) -> String {
    let one = |k: &crate::tree::KeyValue| match &k.value {
        KeyTest::Null => "const".to_owned(),
        KeyTest::Value { expr, .. } => match crate::columns::column_of(expr) {
            Some((slot, column)) => {
                let read = &block.reads[slot];
                match &read.source {
                    Source::Stored(info) => {
                        format!("{}.{}.{}", info.definition.database, read.alias, info.columns[column].name)
                    }
                    _ => format!("{}.{column}", read.alias),
                }
            }
            None if expr.tables().is_empty() => "const".to_owned(),
            None => "func".to_owned(),
        },
    };
    key.iter().map(one).collect::<Vec<_>>().join(",")
}

impl Line {
    /// It reads by the first `n` parts of an index.
    fn uses(&mut self, info: &TableInfo, index: usize, n: usize) {
        let parts = info.table.indexes[index].parts.iter().take(n);
        self.key_parts = parts.map(|p| info.columns[p.column].name.to_string()).collect();
        self.key = Some(info.table.indexes[index].name.clone());
        self.key_len = Some(key_len(info, index, n));
    }

    fn values(&self, explain: &Explain<'_>) -> Vec<Value<'static>> {
        let text = |s: Option<String>| s.map_or(Value::Null, |s| Value::owned(s.into_bytes()));
        let number = |n: Option<u64>| n.map_or(Value::Null, |n| Value::Int(n as i64));
        let mut row = vec![
            number(self.id.map(u64::from)),
            text(Some(self.select_type.to_owned())),
            text(self.table.clone()),
        ];
        if explain.partitions {
            row.push(text(self.partitions.clone()));
        }
        row.push(text(self.access.map(str::to_owned)));
        row.push(text((!self.possible.is_empty()).then(|| self.possible.join(","))));
        row.push(text(self.key.clone()));
        row.push(text(self.key_len.map(|n| n.to_string())));
        row.push(text(self.reference.clone()));
        row.push(number(self.rows));
        if explain.extended {
            row.push(if self.table.is_some() { Value::Double(self.filtered) } else { Value::Null });
        }
        row.push(text((!self.extra.is_empty()).then(|| self.extra.join("; "))));
        row
    }
}

/// The lines as JSON, in the nesting of MySQL 5.6.
fn json(lines: &[Line]) -> String {
    let mut out = String::from("{\n  \"query_block\": {\n");
    let id = lines.first().and_then(|l| l.id).unwrap_or(1);
    let _ = write!(out, "    \"select_id\": {id}");
    match lines {
        [one] => {
            out.push_str(",\n");
            json_table(one, "    ", &mut out);
        }
        _ => {
            out.push_str(",\n    \"nested_loop\": [\n");
            for (i, line) in lines.iter().enumerate() {
                out.push_str("      {\n");
                json_table(line, "        ", &mut out);
                out.push_str(if i + 1 < lines.len() { "\n      },\n" } else { "\n      }\n" });
            }
            out.push_str("    ]");
        }
    }
    out.push_str("\n  }\n}");
    out
}

fn json_table(line: &Line, indent: &str, out: &mut String) {
    let quoted = |s: &str| format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\""));
    let mut fields = Vec::new();
    let Some(table) = &line.table else {
        let message = line.extra.first().copied().unwrap_or_default();
        let _ = write!(out, "{indent}\"table\": {{\n{indent}  \"message\": {}\n{indent}}}", quoted(message));
        return;
    };
    fields.push(("table_name", quoted(table)));
    if line.select_type != "SIMPLE" {
        fields.push(("select_type", quoted(line.select_type)));
    }
    if let Some(access) = line.access {
        fields.push(("access_type", quoted(access)));
    }
    if !line.possible.is_empty() {
        let list: Vec<String> = line.possible.iter().map(|s| quoted(s)).collect();
        fields.push(("possible_keys", format!("[{}]", list.join(", "))));
    }
    if let Some(key) = &line.key {
        fields.push(("key", quoted(key)));
    }
    if !line.key_parts.is_empty() {
        let list: Vec<String> = line.key_parts.iter().map(|s| quoted(s)).collect();
        fields.push(("used_key_parts", format!("[{}]", list.join(", "))));
    }
    if let Some(len) = line.key_len {
        fields.push(("key_length", quoted(&len.to_string())));
    }
    if let Some(reference) = &line.reference {
        let list: Vec<String> = reference.split(',').map(quoted).collect();
        fields.push(("ref", format!("[{}]", list.join(", "))));
    }
    if let Some(rows) = line.rows {
        fields.push(("rows", rows.to_string()));
    }
    fields.push(("filtered", format!("{:.0}", line.filtered)));
    for extra in &line.extra {
        let name = match *extra {
            "Using index" => "using_index",
            "Using filesort" => "using_filesort",
            "Using temporary" => "using_temporary_table",
            "Using where" => "attached_condition",
            _ => "using_join_buffer",
        };
        let value = if name == "using_join_buffer" { quoted("Hash Join") } else { "true".to_owned() };
        fields.push((name, value));
    }
    let _ = writeln!(out, "{indent}\"table\": {{");
    for (i, (name, value)) in fields.iter().enumerate() {
        let comma = if i + 1 < fields.len() { "," } else { "" };
        let _ = writeln!(out, "{indent}  \"{name}\": {value}{comma}");
    }
    let _ = write!(out, "{indent}}}");
}
