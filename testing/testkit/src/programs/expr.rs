//! Expressions and conditions.

use super::{COLUMNS, Kind, Place, Programs};

impl Programs {
    /// Something in scope that has a value of that kind: a variable, a column of a trigger's row, a user variable.
    pub(super) fn known(&mut self, kind: Kind) -> Option<String> {
        let mut names: Vec<String> =
            self.vars.iter().filter(|v| v.kind == kind).map(|v| v.name.clone()).collect();
        if let Place::Trigger { old, new, .. } = self.place {
            for (column, of) in COLUMNS.iter().chain(&[("id", Kind::Int)]) {
                if *of == kind {
                    names.extend(old.then(|| format!("old.{column}")));
                    names.extend(new.then(|| format!("new.{column}")));
                }
            }
        }
        (!names.is_empty()).then(|| names.swap_remove(self.rng.index(names.len())))
    }

    pub(super) fn literal(&mut self, kind: Kind) -> String {
        let text = match kind {
            Kind::Int => {
                self.of(&["0", "1", "2", "3", "5", "-1", "7", "100", "127", "200", "65536", "null", "1", "2"])
            }
            Kind::Text => self.of(&[
                "'a'",
                "'b'",
                "'B'",
                "''",
                "'cc'",
                "'abc'",
                "'abcdefg'",
                "'é'",
                "'x '",
                "null",
                "'12'",
                "_latin1'q'",
            ]),
            Kind::Decimal => self.of(&["0", "1.5", "-2.25", "3.14159", "99.99", "1000.5", "null", "1e2"]),
            Kind::Date => {
                self.of(&["'2020-01-02'", "'2020-02-30'", "'2001-01-01'", "null", "'1999-12-31 23:59:58'"])
            }
        };
        text.to_owned()
    }

    /// What a key is compared with: a number in any case.
    pub(super) fn key(&mut self) -> String {
        match self.known(Kind::Int) {
            Some(name) if self.chance(2) => name,
            _ => self.literal(Kind::Int),
        }
    }

    /// A value to be stored: now and then one of another kind that can become it.
    pub(super) fn stored(&mut self, kind: Kind, depth: u32) -> String {
        if self.chance(20) {
            return match kind {
                Kind::Date => "20200304".to_owned(),
                _ => {
                    let other = [Kind::Int, Kind::Text, Kind::Decimal][self.below(3)];
                    self.literal(other)
                }
            };
        }
        self.value(kind, depth)
    }

    /// A value of that kind.
    pub(super) fn value(&mut self, kind: Kind, depth: u32) -> String {
        if self.chance(3) || depth == 0 {
            return match self.known(kind) {
                // A text that is too long for where it goes is 1265 in 5.6 if it comes from a column or variable, else 1406.
                Some(name) if !self.chance(4) && kind == Kind::Text && self.strict => {
                    format!("concat({name})")
                }
                Some(name) if !self.chance(4) => {
                    let is_twin = self.vars.iter().any(|var| var.name == name && var.is_twin());
                    if is_twin { format!("({name} + 0)") } else { name }
                }
                _ => self.literal(kind),
            };
        }
        match kind {
            Kind::Int => self.int(depth - 1),
            Kind::Text => self.text(depth - 1),
            Kind::Decimal => self.decimal(depth - 1),
            Kind::Date => self.date(depth - 1),
        }
    }

    fn int(&mut self, depth: u32) -> String {
        match self.below(12) {
            0..=3 => {
                let op = self.of(&["+", "-", "*", "+", "div", "%"]);
                let (l, r) = (self.value(Kind::Int, depth), self.value(Kind::Int, depth));
                format!("({l} {op} {r})")
            }
            4 => format!("char_length({})", self.value(Kind::Text, depth)),
            5 => {
                let (l, r) = (self.value(Kind::Int, depth), self.value(Kind::Int, depth));
                let function = self.of(&["ifnull", "nullif", "coalesce"]);
                format!("{function}({l}, {r})")
            }
            6 => {
                let (test, l, r) =
                    (self.condition(depth), self.value(Kind::Int, depth), self.value(Kind::Int, depth));
                format!("if({test}, {l}, {r})")
            }
            7 => {
                let function = self.of(&["count(*)", "max(a)", "min(id)", "sum(e)", "count(b)"]);
                let (table, id) = (self.table(), self.key());
                format!("(select {function} from {table} s where id >= {id})")
            }
            8 => self.call_of(Kind::Int, depth).unwrap_or_else(|| "4".into()),
            9 => self.of(&["@n", "@o0", "@@max_sp_recursion_depth", "@none"]).to_owned(),
            10 => "@@max_sp_recursion_depth".to_owned(),
            _ => format!("day({})", self.value(Kind::Date, depth)),
        }
    }

    fn text(&mut self, depth: u32) -> String {
        match self.below(8) {
            0..=2 => {
                let (l, r) = (self.value(Kind::Text, depth), self.value(Kind::Text, depth));
                format!("concat({l}, {r})")
            }
            3 => {
                let function = self.of(&["upper", "lower", "reverse", "trim"]);
                format!("{function}({})", self.value(Kind::Text, depth))
            }
            4 => {
                let (l, r) = (self.value(Kind::Text, depth), self.value(Kind::Text, depth));
                format!("ifnull({l}, {r})")
            }
            5 => format!("left({}, {})", self.value(Kind::Text, depth), self.below(4)),
            6 => self.call_of(Kind::Text, depth).unwrap_or_else(|| "@s".into()),
            _ => {
                let (table, id) = (self.table(), self.key());
                format!("(select max(b) from {table} s where id = {id})")
            }
        }
    }

    fn decimal(&mut self, depth: u32) -> String {
        match self.below(4) {
            0 | 1 => {
                let op = self.of(&["+", "-", "*", "/"]);
                let (l, r) = (self.value(Kind::Decimal, depth), self.value(Kind::Int, depth));
                format!("({l} {op} {r})")
            }
            2 => self.call_of(Kind::Decimal, depth).unwrap_or_else(|| "0.5".into()),
            _ => format!("round({}, 1)", self.value(Kind::Decimal, depth)),
        }
    }

    fn date(&mut self, depth: u32) -> String {
        match self.below(3) {
            0 => format!("({} + interval {} day)", self.value(Kind::Date, depth), self.below(40)),
            1 => self.call_of(Kind::Date, depth).unwrap_or_else(|| "'2010-10-10'".into()),
            _ => {
                let (l, r) = (self.value(Kind::Date, depth), self.value(Kind::Date, depth));
                format!("coalesce({l}, {r})")
            }
        }
    }

    /// A call of a function that gives that kind: one that changes nothing, for it is not said how often it is called.
    fn call_of(&mut self, kind: Kind, depth: u32) -> Option<String> {
        let fits = |r: &&super::Routine| r.returns == Some(kind) && !r.changes;
        let found = self.routines.iter().find(fits)?.clone();
        let args: Vec<String> =
            found.params.iter().map(|(_, kind)| self.value(*kind, depth.min(1))).collect();
        Some(format!("{}({})", found.name, args.join(", ")))
    }

    /// A table whose rows can be read.
    fn table(&mut self) -> String {
        format!("t{}", self.below(3))
    }

    pub(super) fn condition(&mut self, depth: u32) -> String {
        let kind = [Kind::Int, Kind::Int, Kind::Text, Kind::Date, Kind::Decimal][self.below(5)];
        match self.below(if depth == 0 { 4 } else { 7 }) {
            0..=2 => {
                let op = self.of(&["=", "<>", "<", "<=", ">", ">=", "<=>"]);
                let (mut l, mut r) = (self.value(kind, depth), self.value(kind, depth));
                if kind == Kind::Date && may_be_no_date(&l) {
                    std::mem::swap(&mut l, &mut r);
                }
                format!("{l} {op} {r}")
            }
            3 => {
                let not = self.of(&["", "not "]);
                format!("{} is {not}null", self.value(kind, depth))
            }
            4 => {
                let op = self.of(&["and", "or"]);
                let (l, r) = (self.condition(depth - 1), self.condition(depth - 1));
                format!("({l} {op} {r})")
            }
            5 => {
                let (table, value) = (self.table(), self.key());
                format!("exists (select * from {table} s where a = {value})")
            }
            _ => format!("not ({})", self.condition(depth - 1)),
        }
    }
}

/// Whether a date is calculated of text and may be NULL.
fn may_be_no_date(text: &str) -> bool {
    text.contains("interval") && (text.contains("null") || text.contains("2020-02-30"))
}
