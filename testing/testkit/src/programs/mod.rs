//! Random stored programs: tables with foreign keys and triggers of all six kinds that change further tables, functions,
//! procedures that call each other and themselves, and the statements of a client that sets them going.
//!
//! A script is plain text for the shell, a statement behind `//` each. What programs do is seen from outside: in their results, in the
//! user variable `@t`, which they write a trace into, in the table `log`, and in all tables at the end.
//!
//! What 5.6.24 does in ways of its own (`docs/compat.md`) is left out:
//!
//! - A statement of a function or trigger that fails half-way keeps what it has changed by then, if a handler takes care of the failure.
//!   So functions and triggers either handle no errors, or change single rows of a table without triggers and foreign keys.
//! - No handler is asked about an error of a foreign key in a statement with IGNORE: programs have no IGNORE where there are such keys.
//! - CASE of a DOUBLE holds values for equal that nearly are.
//! - Comparing a key with text that is no number warns while a plan is made, once more or once less than rows do.
//! - DO, SET of a user variable and CALL whose functions use tables forget conditions of earlier statements from their second execution
//!   on. So there are none then; and what functions and triggers begin with is not asked for.
//! - A row whose values cannot be stored leaves the errors of all its columns. So the number of conditions is not asked for, nor a second one.
//! - The rows of a cursor with a zero date warn under NO_ZERO_DATE when it is opened.
//! - A date that is no text any more and NULL has a collation where it is compared with a date behind it.
//! - The operand of CASE keeps what its collation is worth: it is a variable or a literal.
//! - A DATE of a column or variable becomes a BIGINT with six zeros for the time of day.
//! - A variable that is UNSIGNED keeps its bits in one of the same size that is not: 200 becomes -56.
//! - SET of a local variable, and SELECT, forget conditions of earlier statements if a function names a table that is not there.
//! - A user variable has the collation of its new value before it has the value: what functions give goes into one that nothing reads.
//!
//! Nothing runs without end: every loop counts, a procedure calls those before it and itself with one less to go, triggers of a table
//! change tables behind it.

mod body;
mod expr;

use std::fmt::Write as _;
use vaquita_base::Rng;

/// A kind of value, by which expressions are made for variables and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Text,
    Decimal,
    Date,
}

/// Types of variables, parameters and values of functions.
const TYPES: [(&str, Kind); 21] = [
    ("int", Kind::Int),
    ("int", Kind::Int),
    ("tinyint", Kind::Int),
    ("tinyint unsigned", Kind::Int),
    ("smallint unsigned", Kind::Int),
    ("bigint", Kind::Int),
    ("bigint unsigned", Kind::Int),
    ("mediumint", Kind::Int),
    ("varchar(40)", Kind::Text),
    ("varchar(5)", Kind::Text),
    ("char(4)", Kind::Text),
    ("varchar(8) character set latin1", Kind::Text),
    ("varchar(8) character set utf8 collate utf8_bin", Kind::Text),
    ("text", Kind::Text),
    ("varbinary(6)", Kind::Text),
    ("enum('a', 'b', 'cc')", Kind::Text),
    ("decimal(5,2)", Kind::Decimal),
    ("decimal(12,4)", Kind::Decimal),
    ("double", Kind::Decimal),
    ("date", Kind::Date),
    ("datetime", Kind::Date),
];

/// Columns that every table has besides `id`.
const COLUMNS: [(&str, Kind); 5] =
    [("a", Kind::Int), ("b", Kind::Text), ("c", Kind::Decimal), ("d", Kind::Date), ("e", Kind::Int)];

/// What a program is, as far as it says what may stand in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Procedure,
    /// No program: what a client says.
    Client,
    /// One that is called from functions and triggers, too: it does what they may.
    Quiet,
    Function,
    /// Of a table, with the rows that it has.
    Trigger {
        table: usize,
        old: bool,
        new: bool,
        before: bool,
    },
}

/// A variable in scope.
#[derive(Debug, Clone)]
struct Var {
    name: String,
    kind: Kind,
    /// A loop or a recursion ends by it: it is not given other values.
    fixed: bool,
    ty: &'static str,
}

impl Var {
    /// It is UNSIGNED, and there is a type of the same size that is not.
    fn is_twin(&self) -> bool {
        matches!(self.ty, "tinyint unsigned" | "bigint unsigned")
    }
}

/// A label in scope.
#[derive(Debug, Clone)]
struct Label {
    name: String,
    is_loop: bool,
}

/// What can be called.
#[derive(Debug, Clone)]
struct Routine {
    name: String,
    /// Mode and kind of each parameter.
    params: Vec<(&'static str, Kind)>,
    returns: Option<Kind>,
    quiet: bool,
    /// It is a function that changes something.
    changes: bool,
    /// It names a table that is not there.
    lost: bool,
}

/// A maker of scripts: one seed gives the same always.
#[derive(Debug)]
pub struct Programs {
    rng: Rng,
    out: String,
    /// Names that are given once.
    names: u32,
    routines: Vec<Routine>,
    // Of the program that is being made.
    place: Place,
    vars: Vec<Var>,
    labels: Vec<Label>,
    cursors: Vec<(String, Vec<Kind>)>,
    conditions: Vec<String>,
    /// How deep blocks may still be nested.
    depth: u32,
    /// How many statements the program may still have.
    budget: i32,
    indent: usize,
    /// How many procedures the program may still call.
    calls: u32,
    /// In a handler.
    handling: bool,
    // Of the whole script.
    /// In strict mode.
    strict: bool,
    /// Zero dates are refused.
    no_zero_date: bool,
    /// There are foreign keys.
    keys: bool,
    /// Functions and triggers handle errors.
    handles_inside: bool,
}

impl Programs {
    /// That of a seed.
    pub fn new(seed: u64) -> Programs {
        Programs {
            rng: Rng::new(seed),
            out: String::new(),
            names: 0,
            routines: Vec::new(),
            place: Place::Procedure,
            vars: Vec::new(),
            labels: Vec::new(),
            cursors: Vec::new(),
            conditions: Vec::new(),
            depth: 0,
            budget: 0,
            indent: 0,
            calls: 0,
            handling: false,
            strict: false,
            no_zero_date: false,
            keys: false,
            handles_inside: false,
        }
    }

    fn below(&mut self, n: usize) -> usize {
        self.rng.index(n)
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.rng.one_in(one_in)
    }

    fn of<'l>(&mut self, list: &[&'l str]) -> &'l str {
        list[self.rng.index(list.len())]
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// A line of a program.
    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// A whole statement.
    fn statement(&mut self, text: &str) {
        writeln!(self.out, "{text}//").expect("writing to a string");
    }

    /// A script that makes programs and sets them going.
    pub fn script(mut self) -> String {
        let mode = self.of(&[
            "",
            "STRICT_TRANS_TABLES",
            "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO",
            "ERROR_FOR_DIVISION_BY_ZERO",
        ]);
        self.strict = mode.starts_with("STRICT");
        self.no_zero_date = mode.contains("NO_ZERO_DATE");
        self.keys = self.chance(2);
        self.handles_inside = !self.keys && self.chance(2);
        self.out.push_str("delimiter //\n");
        self.statement(&format!("set sql_mode = '{mode}'"));
        let depth = self.below(4);
        self.statement(&format!("set max_sp_recursion_depth = {depth}"));
        self.statement("set @t = '', @n = 1, @s = 'x'");
        self.tables();
        for n in 0..2 {
            self.function(n);
        }
        for n in 0..4 {
            self.procedure(n);
        }
        self.triggers();
        for _ in 0..12 + self.below(12) {
            self.client();
        }
        self.statement("rollback");
        for table in 0..3 {
            self.statement(&format!("select * from t{table} order by id"));
        }
        self.statement("select w from log order by n");
        self.out
    }

    fn tables(&mut self) {
        self.statement("create table log (n int primary key auto_increment, w varchar(60))");
        for table in 0..3 {
            let id = self.of(&["int primary key", "int primary key", "int primary key auto_increment"]);
            let charset = self.of(&["utf8mb4", "latin1", "utf8 collate utf8_bin"]);
            let (c, e) =
                (self.of(&["", " not null default 1.5"]), self.of(&["", " not null", " not null default 3"]));
            let mut text = format!(
                "create table t{table} (id {id}, a int, b varchar(6) character set {charset}, c decimal(6,2){c}, d date, e tinyint{e}"
            );
            for column in ["a", "b"] {
                if self.chance(4) {
                    write!(text, ", unique key (b)").expect("writing to a string");
                    break;
                }
                if self.chance(4) {
                    write!(text, ", key ({column})").expect("writing to a string");
                }
            }
            if self.keys && table > 0 && self.chance(2) {
                let (to, rule) = (
                    self.below(table),
                    self.of(&[
                        "",
                        " on delete cascade",
                        " on delete set null",
                        " on update cascade",
                        " on delete cascade on update cascade",
                    ]),
                );
                write!(text, ", constraint f{table} foreign key (a) references t{to} (id){rule}")
                    .expect("writing to a string");
            }
            self.statement(&format!("{text})"));
            let rows: Vec<String> = (1..=self.below(4))
                .map(|id| {
                    let b = self.of(&["'a'", "'B'", "null", "'é'"]);
                    format!("({id}, {id}, {b}, {}.25, '2020-01-0{id}', {id})", self.below(5))
                })
                .collect();
            if !rows.is_empty() {
                self.statement(&format!("insert ignore into t{table} values {}", rows.join(", ")));
            }
        }
    }

    fn begin_program(&mut self, place: Place, budget: i32) {
        self.place = place;
        self.vars.clear();
        self.labels.clear();
        self.cursors.clear();
        self.conditions.clear();
        self.depth = 3;
        self.budget = budget;
        self.calls = 2;
        self.handling = false;
    }

    fn function(&mut self, n: usize) {
        let changes = self.chance(2);
        let mut routine = Routine {
            name: format!("f{n}"),
            params: Vec::new(),
            returns: None,
            quiet: true,
            changes,
            lost: false,
        };
        self.begin_program(Place::Function, 8);
        let params = self.params(&mut routine, false);
        // Whether texts of several character sets go together is asked of 5.6 at other times.
        let (returns, kind) = match TYPES[self.below(TYPES.len())] {
            (ty, Kind::Text) if ty.contains("character set") => ("varchar(8)", Kind::Text),
            returns => returns,
        };
        routine.returns = Some(kind);
        let reads = self.of(&["deterministic", "reads sql data", "modifies sql data", "no sql"]);
        self.line(&format!("create function f{n}({}) returns {returns} {reads}", params.join(", ")));
        self.routines.push(Routine { returns: None, ..routine.clone() });
        let start = self.out.len();
        self.body(Some(kind));
        routine.lost = self.out[start..].contains("nope");
        self.routines.pop();
        self.routines.push(routine);
    }

    fn procedure(&mut self, n: usize) {
        let quiet = n < 2;
        let mut routine = Routine {
            name: format!("p{n}"),
            params: Vec::new(),
            returns: None,
            quiet,
            changes: true,
            lost: false,
        };
        self.begin_program(if quiet { Place::Quiet } else { Place::Procedure }, if quiet { 8 } else { 16 });
        let mut params = vec!["in k int".to_owned()];
        params.extend(self.params(&mut routine, true));
        self.vars.push(Var { name: "k".into(), kind: Kind::Int, fixed: true, ty: "int" });
        self.line(&format!("create procedure p{n}({})", params.join(", ")));
        // It may call itself.
        self.routines.push(routine);
        self.body(None);
    }

    fn params(&mut self, routine: &mut Routine, modes: bool) -> Vec<String> {
        (0..self.below(4))
            .map(|n| {
                let mode = if modes { self.of(&["in", "out", "inout"]) } else { "" };
                let (ty, kind) = match TYPES[self.below(TYPES.len())] {
                    ("tinyint unsigned" | "bigint unsigned", kind) if mode != "in" && modes => ("int", kind),
                    chosen => chosen,
                };
                routine.params.push((mode, kind));
                let name = format!("a{n}");
                self.vars.push(Var { name: name.clone(), kind, fixed: false, ty });
                format!("{mode} {name} {ty}").trim_start().to_owned()
            })
            .collect()
    }

    fn triggers(&mut self) {
        for table in 0..3 {
            for before in [true, false] {
                for event in ["insert", "update", "delete"] {
                    // What functions and triggers change in one place only is changed or not: see `changed`.
                    if self.chance(2) || self.handles_inside && table == 2 {
                        continue;
                    }
                    let (old, new) = (event != "insert", event != "delete");
                    self.begin_program(Place::Trigger { table, old, new, before }, 5);
                    let when = if before { "before" } else { "after" };
                    self.line(&format!(
                        "create trigger {}{}{table} {when} {event} on t{table} for each row",
                        &when[..1],
                        &event[..1]
                    ));
                    self.body(None);
                }
            }
        }
    }

    /// The body of a program; a function ends with RETURN.
    fn body(&mut self, returns: Option<Kind>) {
        self.line("begin");
        self.indent += 1;
        let mark = self.trace();
        self.declarations();
        self.line(&mark);
        self.statements(5);
        if let Some(kind) = returns {
            let value = self.value(kind, 2);
            self.line(&format!("return {value};"));
        }
        self.indent -= 1;
        self.line("end//");
    }

    /// A statement of a client.
    fn client(&mut self) {
        self.begin_program(Place::Client, 0);
        match self.below(13) {
            0..=4 => {
                let last = self.routines.len();
                let at = 2 + self.below(last - 2);
                let routine = self.routines[at].clone();
                let mut args = vec![self.below(3).to_string()];
                for (n, (mode, kind)) in routine.params.iter().enumerate() {
                    args.push(match *mode {
                        "in" => self.value(*kind, 1),
                        _ => format!("@o{n}"),
                    });
                }
                self.statement(&format!("call {}({})", routine.name, args.join(", ")));
                self.statement("select row_count(), @o0, @o1, @o2, @n, @s");
            }
            5 => {
                let routine = self.routines[self.rng.index(2)].clone();
                let args: Vec<String> = routine.params.iter().map(|(_, kind)| self.value(*kind, 1)).collect();
                if routine.lost {
                    self.statement("select count(*) into @c from log");
                }
                self.statement(&format!("select {}({})", routine.name, args.join(", ")));
            }
            6..=10 => {
                let change = self.change(1);
                self.statement(&change);
                self.statement("select row_count(), last_insert_id()");
            }
            11 => {
                let text = self.of(&[
                    "begin",
                    "commit",
                    "rollback",
                    "savepoint s1",
                    "rollback to s1",
                    "release savepoint s1",
                ]);
                self.statement(text);
            }
            _ => {
                let table = self.below(3);
                self.statement(&format!("select * from t{table} order by id"));
            }
        }
        self.statement("select @t");
        self.statement("set @t = ''");
    }
}
