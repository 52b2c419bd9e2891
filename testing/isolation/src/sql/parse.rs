//! From text to statements, by recursive descent.

use super::ast::{
    Aggregate, ColumnDef, ColumnType, Expr, Item, KeyDef, LockClause, Operator, Statement, Value,
};
use super::lex::{Token, tokens};
use crate::Level;

type Parsed<T> = Result<T, String>;

/// Parses one statement.
///
/// # Errors
/// It is not of the subset: says where it stops being.
pub fn parse(sql: &str) -> Parsed<Statement> {
    let tokens = tokens(sql)?;
    let mut parser = Parser { tokens: &tokens, at: 0 };
    let statement = parser.statement();
    let statement = statement.and_then(|statement| match parser.tokens.get(parser.at) {
        None => Ok(statement),
        Some(token) => Err(format!("{token:?} is too much")),
    });
    statement.map_err(|e| format!("{e}, token {} of: {sql}", parser.at + 1))
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Parser<'_> {
    fn statement(&mut self) -> Parsed<Statement> {
        match self.word()?.as_str() {
            "create" => self.create_table(),
            "insert" => self.insert(),
            "update" => self.update(),
            "delete" => {
                self.keywords(&["from"])?;
                let table = self.word()?;
                Ok(Statement::Delete { table, filter: self.filter()? })
            }
            "select" => self.select(),
            "begin" => Ok(Statement::Begin { snapshot: false }),
            "start" => {
                self.keywords(&["transaction"])?;
                let snapshot = self.has("with");
                if snapshot {
                    self.keywords(&["consistent", "snapshot"])?;
                }
                Ok(Statement::Begin { snapshot })
            }
            "commit" => Ok(Statement::Commit),
            "rollback" if self.has("to") => Ok(Statement::RollbackTo(self.word()?)),
            "rollback" => Ok(Statement::Rollback),
            "savepoint" => Ok(Statement::Savepoint(self.word()?)),
            "set" => self.set(),
            other => Err(format!("{other} begins no statement")),
        }
    }

    fn set(&mut self) -> Parsed<Statement> {
        if self.has("innodb_lock_wait_timeout") {
            self.sign("=")?;
            return match self.literal()? {
                Value::Int(n) if n > 0 => Ok(Statement::SetLockWaitTimeout(n as u32)),
                _ => Err("a timeout is a number of seconds".into()),
            };
        }
        self.keywords(&["session", "transaction", "isolation", "level"])?;
        let mut words = vec![self.word()?];
        while self.at < self.tokens.len() {
            words.push(self.word()?);
        }
        let name = words.join(" ");
        let level = Level::ALL.into_iter().find(|level| level.sql() == name);
        level.map(Statement::SetLevel).ok_or_else(|| format!("no level {name}"))
    }

    fn create_table(&mut self) -> Parsed<Statement> {
        self.keywords(&["table"])?;
        let table = self.word()?;
        let (mut columns, mut keys) = (Vec::new(), Vec::new());
        self.sign("(")?;
        loop {
            if self.has("primary") {
                self.keywords(&["key"])?;
                keys.push(KeyDef { name: "PRIMARY".into(), columns: self.names()?, unique: true });
            } else if self.has("unique") {
                self.keywords(&["key"])?;
                keys.push(KeyDef { name: self.word()?, columns: self.names()?, unique: true });
            } else if self.has("key") {
                keys.push(KeyDef { name: self.word()?, columns: self.names()?, unique: false });
            } else {
                self.column(&mut columns, &mut keys)?;
            }
            if !self.has_sign(",") {
                break;
            }
        }
        self.sign(")")?;
        let primary =
            |name: &String| keys.iter().any(|key| key.name == "PRIMARY" && key.columns.contains(name));
        for column in &mut columns {
            column.not_null |= primary(&column.name);
        }
        // The clustered index comes first.
        keys.sort_by_key(|key| key.name != "PRIMARY");
        Ok(Statement::CreateTable { table, columns, keys })
    }

    fn column(&mut self, columns: &mut Vec<ColumnDef>, keys: &mut Vec<KeyDef>) -> Parsed<()> {
        let name = self.word()?;
        let column_type = match self.word()?.as_str() {
            "int" => ColumnType::Int,
            "varchar" => {
                self.sign("(")?;
                let Value::Int(letters) = self.literal()? else { return Err("a length is a number".into()) };
                self.sign(")")?;
                ColumnType::Varchar(letters as u32)
            }
            other => return Err(format!("no type {other}")),
        };
        let mut not_null = false;
        if self.has("not") {
            self.keywords(&["null"])?;
            not_null = true;
        }
        if self.has("primary") {
            self.keywords(&["key"])?;
            keys.push(KeyDef { name: "PRIMARY".into(), columns: vec![name.clone()], unique: true });
        }
        columns.push(ColumnDef { name, column_type, not_null });
        Ok(())
    }

    fn names(&mut self) -> Parsed<Vec<String>> {
        self.list(|parser| parser.word())
    }

    fn insert(&mut self) -> Parsed<Statement> {
        self.keywords(&["into"])?;
        let table = self.word()?;
        self.keywords(&["values"])?;
        let mut rows = vec![self.list(Parser::literal)?];
        while self.has_sign(",") {
            rows.push(self.list(Parser::literal)?);
        }
        Ok(Statement::Insert { table, rows })
    }

    fn update(&mut self) -> Parsed<Statement> {
        let table = self.word()?;
        self.index_hint()?;
        self.keywords(&["set"])?;
        let mut set = Vec::new();
        loop {
            let column = self.word()?;
            self.sign("=")?;
            set.push((column, self.sum()?));
            if !self.has_sign(",") {
                break;
            }
        }
        Ok(Statement::Update { table, set, filter: self.filter()? })
    }

    fn select(&mut self) -> Parsed<Statement> {
        let mut items = vec![self.item()?];
        while self.has_sign(",") {
            items.push(self.item()?);
        }
        self.keywords(&["from"])?;
        let table = self.word()?;
        self.index_hint()?;
        let filter = self.filter()?;
        let mut order = None;
        if self.has("order") {
            self.keywords(&["by"])?;
            order = Some(self.word()?);
        }
        let mut lock = LockClause::None;
        if self.has("for") {
            self.keywords(&["update"])?;
            lock = LockClause::Update;
        } else if self.has("lock") {
            self.keywords(&["in", "share", "mode"])?;
            lock = LockClause::Share;
        }
        Ok(Statement::Select { items, table, filter, order, lock })
    }

    /// Which index is used is known from the recording.
    fn index_hint(&mut self) -> Parsed<()> {
        if self.has("force") {
            self.keywords(&["index"])?;
            self.names()?;
        }
        Ok(())
    }

    fn item(&mut self) -> Parsed<Item> {
        if self.has_sign("*") {
            return Ok(Item::All);
        }
        let name = self.word()?;
        if !self.has_sign("(") {
            return Ok(Item::Column(name));
        }
        let aggregate = match name.as_str() {
            "count" => {
                self.sign("*")?;
                Aggregate::Count
            }
            "sum" => Aggregate::Sum(self.word()?),
            other => return Err(format!("no function {other}")),
        };
        self.sign(")")?;
        Ok(Item::Aggregate(aggregate))
    }

    fn filter(&mut self) -> Parsed<Option<Expr>> {
        if self.has("where") { self.or().map(Some) } else { Ok(None) }
    }

    fn or(&mut self) -> Parsed<Expr> {
        let mut left = self.and()?;
        while self.has("or") {
            left = Expr::Binary(Operator::Or, Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Parsed<Expr> {
        let mut left = self.comparison()?;
        while self.has("and") {
            left = Expr::Binary(Operator::And, Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Parsed<Expr> {
        let left = self.sum()?;
        if self.has("between") {
            let low = self.literal()?;
            self.keywords(&["and"])?;
            return Ok(Expr::Between(Box::new(left), low, self.literal()?));
        }
        if self.has("in") {
            return Ok(Expr::In(Box::new(left), self.list(Parser::literal)?));
        }
        if self.has("is") {
            self.keywords(&["null"])?;
            return Ok(Expr::IsNull(Box::new(left)));
        }
        let operators = [
            ("<=", Operator::LessEqual),
            (">=", Operator::GreaterEqual),
            ("<>", Operator::NotEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
            ("=", Operator::Equal),
        ];
        for (sign, operator) in operators {
            if self.has_sign(sign) {
                return Ok(Expr::Binary(operator, Box::new(left), Box::new(self.sum()?)));
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> Parsed<Expr> {
        let mut left = self.atom()?;
        loop {
            let operator = if self.has_sign("+") {
                Operator::Add
            } else if self.has_sign("-") {
                Operator::Subtract
            } else if self.has_sign("%") {
                Operator::Modulo
            } else {
                return Ok(left);
            };
            left = Expr::Binary(operator, Box::new(left), Box::new(self.atom()?));
        }
    }

    fn atom(&mut self) -> Parsed<Expr> {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) if word != "null" => {
                self.at += 1;
                Ok(Expr::Column(word.clone()))
            }
            _ => self.literal().map(Expr::Literal),
        }
    }

    fn literal(&mut self) -> Parsed<Value> {
        let minus = self.has_sign("-");
        let token = self.tokens.get(self.at).ok_or("the end, not a value")?;
        self.at += 1;
        match token {
            Token::Number(n) => Ok(Value::Int(if minus { -n } else { *n })),
            Token::Text(text) => Ok(Value::Text(text.clone())),
            Token::Word(word) if word == "null" => Ok(Value::Null),
            other => Err(format!("{other:?} is no value")),
        }
    }

    /// `( x, x, .. )`.
    fn list<T>(&mut self, element: impl Fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.sign("(")?;
        let mut list = vec![element(self)?];
        while self.has_sign(",") {
            list.push(element(self)?);
        }
        self.sign(")")?;
        Ok(list)
    }

    fn word(&mut self) -> Parsed<String> {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) => {
                self.at += 1;
                Ok(word.clone())
            }
            other => Err(format!("{other:?} is no word")),
        }
    }

    fn keywords(&mut self, words: &[&str]) -> Parsed<()> {
        words.iter().try_for_each(
            |word| {
                if self.has(word) { Ok(()) } else { Err(format!("{word} is missing")) }
            },
        )
    }

    fn has(&mut self, word: &str) -> bool {
        let here = matches!(self.tokens.get(self.at), Some(Token::Word(found)) if found == word);
        self.at += usize::from(here);
        here
    }

    fn sign(&mut self, sign: &str) -> Parsed<()> {
        if self.has_sign(sign) { Ok(()) } else { Err(format!("{sign} is missing")) }
    }

    fn has_sign(&mut self, sign: &str) -> bool {
        let here = matches!(self.tokens.get(self.at), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(here);
        here
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Step, all};

    #[test]
    fn every_statement_of_every_script() {
        for script in all().unwrap() {
            for sql in &script.setup {
                parse(sql).unwrap();
            }
            for step in &script.steps {
                if let Step::Run { sql, .. } = step {
                    parse(sql).unwrap();
                }
            }
        }
    }

    #[test]
    fn other_sql_is_refused() {
        for sql in ["drop table t", "select a b from t", "insert into t values (1", "update t set", ""] {
            assert!(parse(sql).is_err(), "{sql}");
        }
    }

    #[test]
    fn keys_make_columns_not_null() {
        let sql = "create table t (a int, b varchar(10) primary key, unique key u (a), key k (b, a))";
        let Statement::CreateTable { columns, keys, .. } = parse(sql).unwrap() else { panic!() };
        assert!(!columns[0].not_null && columns[1].not_null);
        let names: Vec<_> =
            keys.iter().map(|key| (key.name.as_str(), key.unique, key.columns.len())).collect();
        assert_eq!(names, [("PRIMARY", true, 1), ("u", true, 1), ("k", false, 2)]);
    }
}
