//! The rows of JSON_TABLE: see [`vaquita_plan::json_table`].

use super::Flow;
use super::kept::Rows;
use vaquita_expr::document::document_of;
use vaquita_expr::{EvalCx, Row};
use vaquita_plan::json_table::{JsonRows, JsonTable};
use vaquita_types::json::binary::Node;
use vaquita_types::{SqlResult, Value};

/// The rows of the document that the tables before have in `row`.
pub(super) fn fill(table: &JsonTable, cx: &mut EvalCx<'_>, row: &Row<'_>, out: &mut Rows) -> SqlResult<()> {
    let Some(doc) = document_of(&table.doc, 1, "json_table", cx, row)? else { return Ok(()) };
    let mut making = Making { values: vec![Value::Null; table.width], out };
    making.rows(&table.rows, Node::of(&doc).unwrap_or(Node::Null), cx).map(drop)
}

struct Making<'o> {
    /// The present row; columns of rows that are not there are NULL.
    values: Vec<Value<'static>>,
    out: &'o mut Rows,
}

impl Making<'_> {
    /// The rows at a place of the document. Whether there are any.
    fn rows(&mut self, rows: &JsonRows, at: Node<'_>, cx: &mut EvalCx<'_>) -> SqlResult<bool> {
        let found = rows.path.seek(at)?;
        for (i, row) in found.iter().enumerate() {
            cx.state.poll()?;
            for column in &rows.columns {
                self.values[column.at] = column.value(*row, i as u64 + 1, cx)?;
            }
            let mut nested = false;
            for inner in &rows.nested {
                nested |= self.rows(inner, *row, cx)?;
            }
            if !nested {
                self.give()?;
            }
        }
        for column in &rows.columns {
            self.values[column.at] = Value::Null;
        }
        Ok(!found.is_empty())
    }

    fn give(&mut self) -> SqlResult<()> {
        match self.out.push(self.values.iter().cloned()) {
            Flow::Pause => self.out.relieve(),
            _ => Ok(()),
        }
    }
}
