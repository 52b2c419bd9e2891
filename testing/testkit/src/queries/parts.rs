//! Conditions, and what stands in a select list.

use super::{Queries, VALUES};

/// Columns of numbers that are exact and of which any two may be compared or put together.
const NUMBERS: &str = "ace";

/// Columns of times.
const DATES: &str = "dg";

impl Queries {
    /// A condition on these tables.
    pub(super) fn condition(&mut self, tables: &[&str], depth: u32) -> String {
        let table = self.of(tables).to_owned();
        let column = self.column();
        let op = self.of(&["=", "<>", "<", "<=", ">", ">=", "<=>"]);
        let choice = self.below(if depth == 0 { 8 } else { 14 });
        match choice {
            0 | 1 => format!("{table}.{column} {op} {}", self.value(column)),
            2 => format!("{table}.{column} {op} {}.{column}", self.of(tables)),
            3 => format!("{table}.{column} is {}null", self.of(&["", "not "])),
            4 => {
                let (low, high) = (self.value(column), self.value(column));
                format!("{table}.{column} {}between {low} and {high}", self.of(&["", "not "]))
            }
            5 => {
                let mut list: Vec<String> = (0..1 + self.below(3)).map(|_| self.value(column)).collect();
                if matches!(column, "f" | "g") {
                    // Where NULL is among them, 5.6 compares the others as text.
                    list.retain(|value| value != "null");
                    list.push(self.of(VALUES[if column == "f" { 5 } else { 6 }]).to_owned());
                }
                format!("{table}.{column} {}in ({})", self.of(&["", "not "]), list.join(", "))
            }
            6 => {
                let columns = if self.chance(3) { DATES } else { NUMBERS };
                let (left, right) = (self.column_of(columns), self.column_of(columns));
                format!("{table}.{left} {op} {}.{right}", self.of(tables))
            }
            7 => format!("{} {op} {}", self.scalar(&table, column), self.value(column)),
            8 => format!("not ({})", self.condition(tables, depth - 1)),
            9 | 10 => {
                let (left, right) = (self.condition(tables, depth - 1), self.condition(tables, depth - 1));
                format!("({left} {} {right})", self.of(&["and", "or", "and", "xor"]))
            }
            11 => {
                let inner = self.condition(&["s"], depth - 1);
                let (not, s) = (self.of(&["", "not "]), self.table(2, "s"));
                format!("{table}.{column} {not}in (select s.{column} from {s} where {inner})")
            }
            12 => {
                let inner = self.condition(&["s"], depth - 1);
                let s = self.some_table("s");
                let function = self.of(&["min", "max", "count"]);
                let column = if function == "count" { "a" } else { self.column_of("acdek") };
                format!("{table}.{column} {op} (select {function}(s.{column}) from {s} where {inner})")
            }
            _ => {
                let (inner, s) = (self.condition(&["s"], depth - 1), self.some_table("s"));
                let not = self.of(&["", "not "]);
                format!("{not}exists (select 1 from {s} where s.{column} {op} {table}.{column} and {inner})")
            }
        }
    }

    /// An expression of a column's type, made of that column of a table.
    pub(super) fn scalar(&mut self, table: &str, column: &str) -> String {
        let name = format!("{table}.{column}");
        let value = self.value(column);
        // What becomes of a BIT, a FLOAT, a YEAR or a number above 2^63 that is chosen is another type in each server, and a time is
        // compared as text then in some.
        if matches!(column, "e" | "f" | "g" | "h" | "l" | "p") {
            return name;
        }
        // What IF and CASE choose has the digits of its type here, in 5.6 its own.
        let value = if column == "c" { value.replace("2.5", "2.50") } else { value };
        match self.below(5) {
            0 => format!("coalesce({name}, {value})"),
            1 => format!("ifnull({name}, {value})"),
            2 => format!("if({table}.id > 5, {name}, {value})"),
            // In a union 5.6 makes nonsense of a date.
            3 if column != "d" => format!("nullif({name}, {value})"),
            _ => format!("case when {table}.a is null then {name} else {name} end"),
        }
    }

    /// What stands in FROM, and the names of its tables.
    pub(super) fn source(&mut self) -> (String, &'static [&'static str]) {
        match self.below(8) {
            0..3 => (self.some_table("x"), &["x"]),
            3..7 => {
                let left = self.chance(2);
                let on = self.condition(&["x", "y"], 1);
                let (x, y) = (self.some_table("x"), self.some_table("y"));
                let kind = if left { "left join" } else { self.join() };
                (format!("{x} {kind} {y} on {on}"), &["x", "y"])
            }
            _ => {
                let (on, column) = (self.condition(&["x", "y"], 1), self.column());
                let (x, y, z) = (self.some_table("x"), self.some_table("y"), self.some_table("z"));
                let join = self.join();
                (format!("{x} {join} {y} on {on} left join {z} on z.{column} = y.{column}"), &["x", "y", "z"])
            }
        }
    }

    /// Columns, and expressions of them.
    pub(super) fn items(&mut self, tables: &[&str]) -> String {
        let item = |queries: &mut Queries| {
            let table = queries.of(tables).to_owned();
            match queries.below(6) {
                0 => format!("{table}.id"),
                1 => {
                    let column = queries.column();
                    queries.scalar(&table, column)
                }
                2 => {
                    let (other, column) = (queries.of(tables), queries.column_of("acdb"));
                    format!("{}({table}.{column}, {other}.{column})", queries.of(&["greatest", "least"]))
                }
                _ => format!("{table}.{}", queries.column()),
            }
        };
        (0..1 + self.below(3)).map(|_| item(self)).collect::<Vec<_>>().join(", ")
    }
}
