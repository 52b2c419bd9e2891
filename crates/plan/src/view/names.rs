//! What the names of a query stand for, noted while it is planned: by the place of the syntax tree's nodes.

use std::collections::HashMap;
use vaquita_parser::ast;

pub use vaquita_catalog::quoted_name as quoted;

/// What the names of a query stand for.
#[derive(Debug, Default)]
pub struct Names {
    columns: HashMap<usize, String>,
    stars: HashMap<(usize, usize), Vec<String>>,
    items: HashMap<usize, Vec<String>>,
    pairs: HashMap<usize, Vec<(String, String)>>,
    types: HashMap<usize, String>,
}

fn place<T>(node: &T) -> usize {
    std::ptr::from_ref(node) as usize
}

impl Names {
    pub(crate) fn note_column(&mut self, node: &ast::ColumnRef<'_>, text: String) {
        self.columns.insert(place(node), text);
    }

    pub(crate) fn note_star(&mut self, select: &ast::Select<'_>, item: usize, column: String) {
        self.stars.entry((place(select), item)).or_default().push(column);
    }

    pub(crate) fn note_items(&mut self, select: &ast::Select<'_>, names: Vec<String>) {
        self.items.insert(place(select), names);
    }

    pub(crate) fn note_pair(&mut self, join: &ast::Join<'_>, left: String, right: String) {
        self.pairs.entry(place(join)).or_default().push((left, right));
    }

    pub(crate) fn note_type(&mut self, column: &ast::JsonPathColumn<'_>, text: String) {
        self.types.insert(place(column), text);
    }

    /// Gives the columns of a SELECT other names: those that the view declares.
    pub fn rename_items(&mut self, select: &ast::Select<'_>, names: Vec<String>) {
        self.items.insert(place(select), names);
    }

    /// A column as it is written.
    pub fn column(&self, node: &ast::ColumnRef<'_>) -> Option<&str> {
        self.columns.get(&place(node)).map(String::as_str)
    }

    pub(super) fn star_of(&self, select: &ast::Select<'_>, item: usize) -> &[String] {
        self.stars.get(&(place(select), item)).map_or(&[], Vec::as_slice)
    }

    /// Names of the columns of a SELECT.
    pub fn items_of(&self, select: &ast::Select<'_>) -> &[String] {
        self.items.get(&place(select)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn type_of(&self, column: &ast::JsonPathColumn<'_>) -> &str {
        self.types.get(&place(column)).map_or("", String::as_str)
    }

    pub(super) fn pairs_of(&self, join: &ast::Join<'_>) -> &[(String, String)] {
        self.pairs.get(&place(join)).map_or(&[], Vec::as_slice)
    }
}
