//! JSON_TABLE: rows within a document, and what of them becomes columns.
//!
//! A path leads to the rows; the paths of columns, and of rows nested in them, begin at a row. A row with nested ones comes once for
//! each of them, those of one NESTED after those of the one before, with NULL for what other ones have; and once if there are none.

use vaquita_expr::document::scalar_of;
use vaquita_expr::{EvalCx, Expr};
use vaquita_types::convert::store::{StoreMode, store};
use vaquita_types::json::{binary::Node, path::Path};
use vaquita_types::{ColumnType, Cx, Kind, SqlError, SqlResult, Value, memory};

/// JSON_TABLE in FROM.
#[derive(Debug)]
pub struct JsonTable {
    /// The document; its columns are those of the tables before.
    pub doc: Expr,
    /// Its rows.
    pub rows: JsonRows,
    /// How many columns there are.
    pub width: usize,
}

/// Rows within a document.
#[derive(Debug)]
pub struct JsonRows {
    /// Leads to them.
    pub path: Path,
    /// Their own columns.
    pub columns: Vec<JsonColumn>,
    /// Rows within each of them.
    pub nested: Vec<JsonRows>,
}

/// A column of JSON_TABLE.
#[derive(Debug)]
pub struct JsonColumn {
    /// Its position in the table.
    pub at: usize,
    /// Name, for messages.
    pub name: String,
    /// Type.
    pub ty: ColumnType,
    /// What its value is.
    pub what: JsonWhat,
}

/// What the value of a column of JSON_TABLE is.
#[derive(Debug)]
pub enum JsonWhat {
    /// The number of the row, from 1.
    Ordinality,
    /// Whether the path leads anywhere.
    Exists(Path),
    /// What the path leads to.
    Value {
        /// The path.
        path: Path,
        /// Where it leads to nothing.
        on_empty: Instead,
        /// Where the value is none of the type.
        on_error: Instead,
    },
}

/// What stands in place of a value.
#[derive(Debug)]
pub enum Instead {
    /// NULL.
    Null,
    /// Nothing does.
    Error,
    /// A document.
    Default(Box<[u8]>),
}

/// The value of a document.
pub(crate) fn node_of(doc: &[u8]) -> Node<'_> {
    Node::of(doc).unwrap_or(Node::Null)
}

impl JsonColumn {
    /// The column's value in a row: of this number, at this place of the document.
    ///
    /// # Errors
    /// Under ERROR: 3665 there is none, 3666 an object or array, 3669 it is none of the type.
    pub fn value(&self, row: Node<'_>, number: u64, cx: &mut EvalCx<'_>) -> SqlResult<Value<'static>> {
        let (path, on_empty, on_error) = match &self.what {
            JsonWhat::Ordinality => return Ok(Value::UInt(number)),
            JsonWhat::Exists(path) => {
                let there = Node::Int(path.seek(row)?.len().min(1) as i64);
                return Ok(self.stored(&there, cx)?.unwrap_or(Value::Null));
            }
            JsonWhat::Value { path, on_empty, on_error } => (path, on_empty, on_error),
        };
        let found = path.seek(row)?;
        let one = match &found[..] {
            [] => return self.instead(on_empty, || SqlError::of(3665, &[&self.name]), cx),
            [one] => *one,
            // As JSON_EXTRACT gives them.
            _ if self.ty.ty.kind == Kind::Json => {
                let mut list = Vec::new();
                for part in &found {
                    memory::push(&mut list, part.to_tree()?)?;
                }
                let doc = vaquita_types::json::Json::Array(list).to_document()?;
                return Ok(Value::Json(doc.into()));
            }
            _ => return self.instead(on_error, || SqlError::of(3666, &[&self.name]), cx),
        };
        let code = if matches!(one, Node::Array(_) | Node::Object(_)) { 3666 } else { 3669 };
        match self.stored(&one, cx)? {
            Some(value) => Ok(value),
            None => self.instead(on_error, || SqlError::of(code, &[&self.name]), cx),
        }
    }

    fn instead(
        &self,
        instead: &Instead,
        error: impl Fn() -> SqlError,
        cx: &mut EvalCx<'_>,
    ) -> SqlResult<Value<'static>> {
        match instead {
            Instead::Null => Ok(Value::Null),
            Instead::Error => Err(error()),
            Instead::Default(doc) => self.stored(&node_of(doc), cx)?.ok_or_else(error),
        }
    }

    /// A value within a document as the column has it; `None`: it is none of the type.
    pub(crate) fn stored(&self, found: &Node<'_>, cx: &mut EvalCx<'_>) -> SqlResult<Option<Value<'static>>> {
        let ty = &self.ty.ty;
        if ty.kind == Kind::Json {
            return Ok(Some(Value::Json(found.to_tree()?.to_document()?.into())));
        }
        let as_text = ty.kind.is_string() || matches!(ty.kind, Kind::Enum | Kind::Set);
        let (value, from) = match scalar_of(found, as_text)? {
            Some((Value::Null, _)) => return Ok(Some(Value::Null)),
            Some(value) => value,
            None => return Ok(None),
        };
        let mode = StoreMode { strict: true, null_is_error: false, row: 1 };
        let mut bytes = Vec::new();
        let time_zone = cx.state.vars.time_zone.clone();
        let mut unsaid = vaquita_types::Warnings::new(0);
        let date = cx.state.date_context();
        let mut convert = Cx { date, time_zone: &time_zone, warnings: &mut unsaid };
        match store(&self.ty, &self.name, &value, &from, mode, &mut convert, &mut bytes) {
            Ok(there) => {
                let stored = there.then_some(bytes.as_slice());
                memory::into_owned(self.ty.decode(stored, &time_zone)).map(Some)
            }
            Err(_) => Ok(None),
        }
    }
}
