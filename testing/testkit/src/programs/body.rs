//! Declarations and statements of programs.

use super::{COLUMNS, Kind, Label, Place, Programs, TYPES, Var};

/// Conditions that handlers are for.
const CONDITIONS: [&str; 24] = [
    "sqlexception",
    "sqlexception",
    "sqlwarning",
    "not found",
    "sqlexception, not found",
    "sqlexception, sqlwarning, not found",
    "sqlstate '23000'",
    "sqlstate '42S02'",
    "sqlstate '22003'",
    "sqlstate '45000'",
    "sqlstate '01000'",
    "sqlstate '02000'",
    "1062",
    "1048",
    "1146",
    "1264",
    "1265",
    "1292",
    "1329",
    "1339",
    "1406",
    "1442",
    "1452",
    "1451, 1456, 1172",
];

impl Programs {
    fn is_procedure(&self) -> bool {
        matches!(self.place, Place::Procedure | Place::Client)
    }

    /// A statement that tells where the program is.
    pub(super) fn trace(&mut self) -> String {
        self.names += 1;
        let n = self.names;
        let name = (!self.vars.is_empty()).then(|| self.vars[self.rng.index(self.vars.len())].name.clone());
        match name {
            Some(name) if self.chance(2) => {
                format!("set @t = concat(@t, {n}, '=', ifnull(convert({name} using utf8mb4), '-'), ' ');")
            }
            _ => format!("set @t = concat(@t, {n}, ' ');"),
        }
    }

    fn traced(&mut self) {
        let text = self.trace();
        self.line(&text);
    }

    /// A variable that may get a value.
    fn target(&mut self) -> Option<Var> {
        let open: Vec<&Var> = self.vars.iter().filter(|v| !v.fixed).collect();
        (!open.is_empty()).then(|| open[self.rng.index(open.len())].clone())
    }

    /// What stands at the head of a block.
    pub(super) fn declarations(&mut self) {
        for _ in 0..self.below(4) {
            let (ty, kind) = TYPES[self.below(TYPES.len())];
            // Which of several functions that are not there is told of is left to chance.
            let twice = self.place != Place::Function && self.chance(8);
            let name = if twice { "v1".to_owned() } else { self.name("v") };
            let default = match self.below(3) {
                0 => String::new(),
                _ => format!(" default {}", self.value(kind, 1)),
            };
            self.line(&format!("declare {name} {ty}{default};"));
            self.vars.push(Var { name, kind, fixed: false, ty });
        }
        if self.chance(4) {
            let name = self.name("c");
            let of = self.of(&[
                "sqlstate '45000'",
                "sqlstate '45001'",
                "sqlstate '23000'",
                "1062",
                "sqlstate '01000'",
            ]);
            self.line(&format!("declare {name} condition for {of};"));
            self.conditions.push(name);
        }
        if self.chance(3) {
            let name = self.name("r");
            let (table, id) = (self.below(3), self.key());
            let column = |programs: &mut Programs| match COLUMNS[programs.below(5)] {
                ("b", kind) if programs.strict => ("concat(b)", kind),
                ("d", _) if programs.no_zero_date => ("a", Kind::Int),
                column => column,
            };
            let (l, r) = (column(self), column(self));
            self.line(&format!(
                "declare {name} cursor for select {}, {} from t{table} where id >= {id} order by id;",
                l.0, r.0
            ));
            self.cursors.push((name, vec![l.1, r.1]));
        }
        if self.depth > 0 {
            for _ in 0..[0, 0, 1, 1, 2][self.below(5)] {
                self.handler();
            }
        }
    }

    fn handler(&mut self) {
        let what = self.of(&["continue", "continue", "exit"]);
        let mut condition = self.of(&CONDITIONS).to_owned();
        if !self.is_procedure() && !self.handles_inside {
            if self.strict {
                return;
            }
            condition = "sqlwarning".to_owned();
        } else if let Some(name) = self.conditions.last()
            && self.rng.one_in(2)
        {
            condition.clone_from(name);
        }
        self.line(&format!("declare {what} handler for {condition}"));
        // A handler sees no labels, and is one statement.
        let labels = std::mem::take(&mut self.labels);
        let handling = std::mem::replace(&mut self.handling, true);
        let depth = self.depth;
        self.depth = depth.min(1);
        self.budget += 3;
        self.scoped("begin", "end;", |programs| {
            programs.traced();
            if programs.chance(2) {
                programs.statements(2);
            }
        });
        self.depth = depth;
        self.handling = handling;
        self.labels = labels;
    }

    /// Statements between two lines, with names of their own.
    fn scoped(&mut self, head: &str, end: &str, inner: impl FnOnce(&mut Programs)) {
        let (vars, cursors, conditions) = (self.vars.len(), self.cursors.len(), self.conditions.len());
        self.line(head);
        self.indent += 1;
        self.depth = self.depth.saturating_sub(1);
        inner(self);
        self.depth += 1;
        self.indent -= 1;
        self.line(end);
        self.vars.truncate(vars);
        self.cursors.truncate(cursors);
        self.conditions.truncate(conditions);
    }

    /// One or more statements.
    pub(super) fn statements(&mut self, most: usize) {
        for _ in 0..1 + self.below(most) {
            self.budget -= 1;
            if self.budget < 0 || self.depth == 0 {
                self.simple();
                return;
            }
            match self.below(12) {
                0 => self.when(),
                1 => self.case(),
                2 => self.a_loop(),
                3 => self.block(),
                _ => self.simple(),
            }
            if self.chance(3) {
                self.traced();
            }
        }
    }

    fn branch(&mut self, head: &str) {
        self.line(head);
        self.indent += 1;
        self.depth -= 1;
        self.traced();
        self.statements(2);
        self.depth += 1;
        self.indent -= 1;
    }

    fn when(&mut self) {
        let condition = self.condition(1);
        self.branch(&format!("if {condition} then"));
        if self.chance(3) {
            let condition = self.condition(1);
            self.branch(&format!("elseif {condition} then"));
        }
        if self.chance(2) {
            self.branch("else");
        }
        self.line("end if;");
    }

    fn case(&mut self) {
        let kind = [Kind::Int, Kind::Text][self.below(2)];
        let operand = match self.chance(2) {
            // What is calculated may insist on its collation in 5.6 less than a variable does.
            true if kind == Kind::Text => self.known(kind).unwrap_or_else(|| self.literal(kind)),
            true => self.value(kind, 1),
            false => String::new(),
        };
        self.line(&format!("case {operand}"));
        self.indent += 1;
        for _ in 0..1 + self.below(2) {
            let test = if operand.is_empty() { self.condition(1) } else { self.value(kind, 1) };
            self.branch(&format!("when {test} then"));
        }
        if !self.chance(4) {
            self.branch("else");
        }
        self.indent -= 1;
        self.line("end case;");
    }

    fn block(&mut self) {
        let label = self.name("l");
        let labelled = self.chance(2);
        let (head, end) = match labelled {
            true => (format!("{label}: begin"), format!("end {label};")),
            false => ("begin".to_owned(), "end;".to_owned()),
        };
        let labels = self.labels.len();
        if labelled {
            self.labels.push(Label { name: label, is_loop: false });
        }
        self.scoped(&head, &end, |programs| {
            programs.declarations();
            programs.statements(3);
        });
        self.labels.truncate(labels);
    }

    fn a_loop(&mut self) {
        let (label, i) = (self.name("l"), self.name("i"));
        let most = 1 + self.below(3);
        let form = self.below(3);
        let more = if self.chance(3) { self.condition(1) } else { "1".into() };
        self.scoped("begin", "end;", |programs| {
            programs.line(&format!("declare {i} int default 0;"));
            programs.vars.push(Var { name: i.clone(), kind: Kind::Int, fixed: true, ty: "int" });
            programs.labels.push(Label { name: label.clone(), is_loop: true });
            let (head, end) = match form {
                0 => (format!("{label}: while {i} < {most} and {more} do"), format!("end while {label};")),
                1 => (
                    format!("{label}: repeat"),
                    format!("until {i} >= {most} or not ({more}) end repeat {label};"),
                ),
                _ => (format!("{label}: loop"), format!("end loop {label};")),
            };
            programs.scoped(&head, &end, |programs| {
                programs.line(&format!("set {i} = {i} + 1;"));
                // A failing condition of REPEAT does not end it.
                programs.line(&format!("if {i} > {most} then leave {label}; end if;"));
                programs.traced();
                programs.statements(3);
            });
            programs.labels.pop();
        });
    }

    // Statements without others in them.

    fn simple(&mut self) {
        let text = match self.below(30) {
            0..=4 => self.assignment(),
            5 | 6 => self.user_variable(),
            7..=9 => self.change(1) + ";",
            10 | 11 => self.into(),
            12 => self.jump(),
            13 | 14 => self.signal(),
            15 | 16 => self.diagnostics(),
            17 | 18 => self.call(),
            19 | 20 => return self.read(),
            // What it has written before it fails stays in 5.6, if a trigger's handler takes care of the failure.
            21 if !matches!(self.place, Place::Function) => self.log(),
            // Of a function that fails 5.6 says nothing there.
            22 => format!("do {};", self.value(Kind::Int, 0)),
            23 => self
                .of(&[
                    "insert into nope values (1);",
                    "update t0 set nope = 1;",
                    "select a into @n from nope;",
                ])
                .into(),
            24 => self.temporary(),
            25 if self.is_procedure() => return self.dynamic(),
            26 if self.is_procedure() => self
                .of(&[
                    "start transaction;",
                    "commit;",
                    "rollback;",
                    "savepoint s1;",
                    "rollback to savepoint s1;",
                    "release savepoint s1;",
                ])
                .into(),
            _ if self.is_procedure() => self.result(),
            _ => self.assignment(),
        };
        self.line(&text);
    }

    fn assignment(&mut self) -> String {
        if let Place::Trigger { new: true, before: true, .. } = self.place
            && self.chance(2)
        {
            let (column, kind) = COLUMNS[self.below(5)];
            return format!("set new.{column} = {};", self.stored(kind, 2));
        }
        match self.target() {
            Some(var) => {
                let text = format!("set {} = {};", var.name, self.stored(var.kind, 2));
                let mut lost = self.routines.iter().filter(|r| r.lost);
                match lost.any(|r| text.contains(&format!("{}(", r.name))) {
                    true => Self::without_conditions(text),
                    false => text,
                }
            }
            None => self.user_variable(),
        }
    }

    fn user_variable(&mut self) -> String {
        let (name, kind) = [("@n", Kind::Int), ("@s", Kind::Text)][self.below(2)];
        let may_change = !self.changes_one();
        let fits = |r: &&super::Routine| r.returns == Some(kind) && (may_change || !r.changes);
        let changing = self.routines.iter().find(fits).cloned();
        match changing {
            Some(function) if self.chance(3) => {
                let args: Vec<String> =
                    function.params.iter().map(|(_, kind)| self.value(*kind, 0)).collect();
                Self::set_of_session(name, &format!("{}({})", function.name, args.join(", ")))
            }
            _ => Self::set_of_session(name, &self.value(kind, 2)),
        }
    }

    /// SET of a user variable.
    fn set_of_session(name: &str, value: &str) -> String {
        let name = if name == "@s" && calls_function(value) { "@r" } else { name };
        Self::without_conditions(format!("set {name} = {value};"))
    }

    /// A statement that may call functions: there are no conditions when it does.
    fn without_conditions(text: String) -> String {
        match calls_function(&text) {
            true => format!("select count(*) into @c from log; {text}"),
            false => text,
        }
    }

    fn log(&mut self) -> String {
        let kind = [Kind::Int, Kind::Text, Kind::Decimal, Kind::Date][self.below(4)];
        self.names += 1;
        let n = self.names;
        format!("insert into log (w) values (concat_ws(' ', {n}, {}));", self.value(kind, 1))
    }

    fn into(&mut self) -> String {
        let table = self.below(3);
        let mut columns = Vec::new();
        let mut targets = Vec::new();
        for _ in 0..1 + self.below(2) {
            let (kind, name) = match self.target() {
                Some(var) if !self.chance(5) => (var.kind, var.name),
                _ => (Kind::Int, "@n".to_owned()),
            };
            let fitting: Vec<&str> = COLUMNS.iter().filter(|c| c.1 == kind).map(|c| c.0).collect();
            columns.push(match self.of(&fitting) {
                "b" if self.strict => "concat(b)",
                column => column,
            });
            targets.push(name);
        }
        let condition = match self.below(3) {
            0 => format!("id = {}", self.key()),
            1 => format!("id >= {} order by id limit 1", self.key()),
            _ => format!("id <= {} order by id", self.below(4)),
        };
        format!("select {} into {} from t{table} where {condition};", columns.join(", "), targets.join(", "))
    }

    fn jump(&mut self) -> String {
        let Some(at) = self.labels.len().checked_sub(1) else { return self.assignment() };
        let label = self.labels[self.rng.index(at + 1)].clone();
        let verb = if label.is_loop && self.chance(2) { "iterate" } else { "leave" };
        format!("if {} then {verb} {}; end if;", self.condition(1), label.name)
    }

    fn signal(&mut self) -> String {
        let again = self.handling && self.chance(2) || self.chance(20);
        let mut state = self
            .of(&["'45000'", "'45000'", "'45001'", "'01000'", "'02000'", "'23000'", "'22003'"])
            .to_owned();
        state.insert_str(0, "sqlstate ");
        if let Some(name) = self.conditions.last()
            && self.rng.one_in(2)
        {
            state.clone_from(name);
        }
        if again && self.chance(2) {
            state.clear();
        }
        let mut items = Vec::new();
        if self.chance(2) {
            // No expression in 5.6.
            let name = self.known(Kind::Text).filter(|_| !self.rng.one_in(4));
            items.push(format!("message_text = {}", name.unwrap_or_else(|| self.literal(Kind::Text))));
        }
        if self.chance(4) {
            items.push(format!("mysql_errno = {}", self.of(&["1062", "5000", "1329", "77"])));
        }
        if self.chance(6) {
            items.push("table_name = 't', column_name = 'c'".to_owned());
        }
        let set = if items.is_empty() { String::new() } else { format!(" set {}", items.join(", ")) };
        let text = format!("{} {state}{set};", if again { "resignal" } else { "signal" });
        if again || self.chance(3) { text } else { format!("if {} then {text} end if;", self.condition(1)) }
    }

    fn diagnostics(&mut self) -> String {
        if !self.is_procedure() && !self.handling {
            return self.assignment();
        }
        // Variables of both kinds get their values at different times. What a variable cannot take under strict mode ends 5.6's program
        // now and then, without an error.
        let local = !self.strict && self.chance(2) && self.vars.iter().any(|v| !v.fixed);
        let target = |programs: &mut Programs, user: &str| match programs.target() {
            Some(var) if local => var.name,
            _ => user.to_owned(),
        };
        if self.chance(3) {
            let target = target(self, "@n");
            return format!("get diagnostics {target} = row_count;");
        }
        let (l, r) = (target(self, "@n"), target(self, "@s"));
        let item =
            self.of(&["message_text", "returned_sqlstate", "class_origin", "subclass_origin", "table_name"]);
        format!("get diagnostics condition 1 {l} = mysql_errno, {r} = {item};")
    }

    /// A call of a procedure that was there before, or of this one with one less to go.
    fn call(&mut self) -> String {
        let quiet = !self.is_procedure();
        let callable: Vec<_> = self
            .routines
            .iter()
            .filter(|r| r.name.starts_with('p') && (r.quiet || !quiet))
            .cloned()
            .collect();
        if callable.is_empty() || self.calls == 0 {
            return self.assignment();
        }
        self.calls -= 1;
        let routine = callable[self.rng.index(callable.len())].clone();
        let has_k = matches!(self.place, Place::Procedure | Place::Quiet);
        let mut args = vec![if has_k { "k - 1" } else { "0" }.to_owned()];
        for (mode, kind) in &routine.params {
            args.push(match *mode {
                "in" => self.value(*kind, 1),
                _ if self.chance(30) => self.value(*kind, 1),
                _ => match self.target() {
                    Some(var)
                        if !self.chance(4)
                            && (!self.strict || *kind != Kind::Text)
                            && !matches!(
                                (*kind, var.kind),
                                (Kind::Date, Kind::Int) | (Kind::Int, Kind::Date)
                            )
                            && !var.is_twin() =>
                    {
                        var.name
                    }
                    _ => self.of(&["@n", "@s", "@o0"]).to_owned(),
                },
            });
        }
        let call = Self::without_conditions(format!("call {}({});", routine.name, args.join(", ")));
        if has_k { format!("if k > 0 then {call} end if;") } else { call }
    }

    /// Rows of a cursor.
    fn read(&mut self) {
        let Some(at) = self.cursors.len().checked_sub(1) else {
            let text = self.assignment();
            return self.line(&text);
        };
        let (name, kinds) = self.cursors[self.rng.index(at + 1)].clone();
        let mut into = Vec::new();
        for kind in kinds {
            let fitting: Vec<Var> =
                self.vars.iter().filter(|v| v.kind == kind && !v.fixed).cloned().collect();
            let var = match fitting.is_empty() {
                true => self.target().filter(|var| (kind, var.kind) != (Kind::Date, Kind::Int)),
                false => Some(fitting[self.rng.index(fitting.len())].clone()),
            };
            into.extend(var.map(|v| v.name));
        }
        if into.is_empty() {
            return self.line(&format!("open {name};"));
        }
        if !self.chance(4) {
            self.line(&format!("open {name};"));
        }
        for _ in 0..1 + self.below(3) {
            self.line(&format!("fetch {name} into {};", into.join(", ")));
            self.traced();
        }
        if !self.chance(4) {
            self.line(&format!("close {name};"));
        }
    }

    fn temporary(&mut self) -> String {
        let values = format!("({}, {})", self.below(3), self.value(Kind::Text, 0));
        let text = match self.below(4) {
            0 => "create temporary table if not exists tt (x int primary key, y varchar(5));".to_owned(),
            1 if self.is_procedure() => {
                self.of(&["drop temporary table if exists tt;", "drop temporary table tt;"]).to_owned()
            }
            2 if self.is_procedure() => "select * from tt order by x;".to_owned(),
            _ if self.is_procedure() => format!("insert into tt values {values};"),
            _ => "select count(*) into @n from t0;".to_owned(),
        };
        if self.is_procedure() {
            text
        } else {
            text.replace(
                "create temporary table if not exists tt (x int primary key, y varchar(5));",
                "do 1;",
            )
        }
    }

    fn dynamic(&mut self) {
        let text = self.of(&[
            "select ? + 1 as x",
            "select concat(?, 1) as x",
            "insert into log (w) values (?)",
            "select * from nope where a = ?",
            "update t0 set e = e + 1 where id = ?",
            "delete from t2 where id = ?",
            "select id, a, b from t1 where id >= ? order by id",
            "selec ?",
            "set @n = ?",
        ]);
        self.line(&format!("set @q = '{text}';"));
        self.line("prepare st from @q;");
        let with = self.of(&["execute st using @n;", "execute st using @s;", "execute st;"]);
        self.line(with);
        if !self.chance(3) {
            self.line("deallocate prepare st;");
        }
    }

    /// A statement that gives rows.
    fn result(&mut self) -> String {
        match self.below(5) {
            0..=2 => {
                let mut items: Vec<String> = self.vars.iter().map(|v| v.name.clone()).collect();
                items.truncate(4);
                items.push(self.of(&["@n", "@s", "row_count()", "last_insert_id()"]).to_owned());
                format!("select {};", items.join(", "))
            }
            3 => {
                let (table, id) = (self.below(3), self.key());
                format!("select id, a, b, e from t{table} where id >= {id} order by id;")
            }
            _ => {
                let kind = [Kind::Int, Kind::Text, Kind::Decimal, Kind::Date][self.below(4)];
                Self::without_conditions(format!("select {} as x;", self.value(kind, 3)))
            }
        }
    }

    // Statements that change rows.

    /// The table that is changed: of a trigger one behind its own.
    fn changed(&mut self) -> usize {
        if self.changes_one() {
            return if self.chance(3) { 3 } else { 2 };
        }
        let behind = !self.chance(12);
        match self.place {
            Place::Trigger { table, .. } if behind => match table {
                2 => 3,
                table => table + 1 + self.below(2 - table),
            },
            _ => self.below(3),
        }
    }

    /// INSERT, REPLACE, UPDATE, DELETE; no semicolon behind it.
    pub(super) fn change(&mut self, depth: u32) -> String {
        let table = self.changed();
        if table == 3 {
            return self.log().trim_end_matches(';').to_owned();
        }
        if self.changes_one() {
            return self.change_one(table, depth);
        }
        match self.below(10) {
            0..=4 => self.insert(table, depth),
            5..=7 => {
                let set = self.assignments(depth);
                let ignore = self.ignore(5);
                format!("update {ignore}t{table} set {set}{}", self.rows())
            }
            8 => format!("delete from t{table}{}", self.rows()),
            _ => {
                let ignore = self.ignore(2);
                let (from, by) = (self.below(3), 1 + self.below(3));
                format!(
                    "insert {ignore}into t{table} (id, a, b, e) select id + {by}, a, b, e from t{from} order by id limit 2"
                )
            }
        }
    }

    /// Whether a statement may change no more than one row of one table.
    fn changes_one(&self) -> bool {
        self.handles_inside && !self.is_procedure()
    }

    fn change_one(&mut self, table: usize, depth: u32) -> String {
        let id = 1 + self.below(5);
        match self.below(4) {
            0 => format!("delete from t{table} where id = {id}"),
            1 => {
                let set = self.assignments(depth);
                format!("update t{table} set {set} where id = {id}")
            }
            _ => {
                let (a, b, e) = (
                    self.value(Kind::Int, depth),
                    self.value(Kind::Text, depth),
                    self.value(Kind::Int, depth),
                );
                format!("insert into t{table} (id, a, b, e) values ({id}, {a}, {b}, {e})")
            }
        }
    }

    fn ignore(&mut self, one_in: u64) -> &'static str {
        let in_program = !matches!(self.place, Place::Client);
        if self.chance(one_in) && !(in_program && self.keys) { "ignore " } else { "" }
    }

    fn rows(&mut self) -> String {
        match self.below(3) {
            0 | 1 => format!(" where id = {}", 1 + self.below(5)),
            _ => format!(" where id >= {} order by id limit 2", 1 + self.below(4)),
        }
    }

    fn assignments(&mut self, depth: u32) -> String {
        let mut set = Vec::new();
        for _ in 0..1 + self.below(2) {
            let (column, kind) = COLUMNS[self.below(5)];
            set.push(match self.chance(4) {
                true if kind == Kind::Int => format!("{column} = {column} + 1"),
                _ => format!("{column} = {}", self.stored(kind, depth)),
            });
        }
        if self.chance(8) {
            set.push(format!("id = {}", 1 + self.below(6)));
        }
        set.join(", ")
    }

    fn insert(&mut self, table: usize, depth: u32) -> String {
        let columns: Vec<_> = COLUMNS.into_iter().filter(|_| !self.rng.one_in(4)).collect();
        let names: Vec<&str> = std::iter::once("id").chain(columns.iter().map(|c| c.0)).collect();
        let rows: Vec<String> = (0..1 + self.below(3))
            .map(|_| {
                let mut cells = vec![match self.below(6) {
                    0 => "null".to_owned(),
                    _ => (1 + self.below(6)).to_string(),
                }];
                cells.extend(columns.iter().map(|(_, kind)| self.stored(*kind, depth)).collect::<Vec<_>>());
                format!("({})", cells.join(", "))
            })
            .collect();
        let (names, rows) = (names.join(", "), rows.join(", "));
        match self.below(6) {
            0 => format!("replace into t{table} ({names}) values {rows}"),
            1 => {
                let ignore = self.ignore(1);
                format!("insert {ignore}into t{table} ({names}) values {rows}")
            }
            2 | 3 => {
                let set = self.assignments(depth);
                format!("insert into t{table} ({names}) values {rows} on duplicate key update {set}")
            }
            _ => format!("insert into t{table} ({names}) values {rows}"),
        }
    }
}

fn calls_function(text: &str) -> bool {
    text.contains("f0(") || text.contains("f1(")
}
