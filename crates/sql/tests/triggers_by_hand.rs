//! Triggers against their statements: random changes of a table with random triggers of all six kinds in one database, and in another
//! one, which has no triggers, the same changes row by row with the triggers' statements run by hand before and after. Both end the same.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::support;

use support::{open, root, run};
use vaquita_base::Rng;
use vaquita_sql::Connection;

const COLUMNS: [&str; 4] = ["id", "g", "a", "b"];
const EVENTS: [&str; 3] = ["insert", "update", "delete"];

/// Statements of a trigger; `DB` stands for the database. The row is `new.x` and `old.x`.
fn body(rng: &mut Rng, before: bool, event: &str) -> Vec<String> {
    let row = match event {
        "insert" => "new",
        "delete" => "old",
        _ => ["new", "old"][rng.index(2)],
    };
    let mut list = vec![
        format!("insert into DB.log (w, x) values ('{event}', {row}.a)"),
        format!("update DB.sums set total = total + {row}.a, last = {row}.id where g = {row}.g"),
        format!(
            "insert into DB.u (id, a) values ({row}.id, {row}.a) on duplicate key update a = u.a + {row}.b"
        ),
        format!("delete from DB.u where id = {row}.id + 1"),
        format!("update DB.u set a = a + 1 where id > {row}.id"),
        format!("insert into DB.log (w, x) select 'sum', sum(a) + {row}.b from DB.u"),
        format!("replace into DB.u (id, a) values ({row}.g, {row}.a)"),
    ];
    if before && event != "delete" {
        list.extend([
            "set new.a = ifnull(new.a, 0) + 1".to_owned(),
            "set new.b = new.a * 2 + new.g".to_owned(),
            "set new.a = (select count(*) from DB.u)".to_owned(),
        ]);
    }
    (0..rng.below(3)).map(|_| list.swap_remove(rng.index(list.len()))).collect()
}

/// The triggers of the table: by moment, in the order of [`EVENTS`], before and after.
type Triggers = [[Vec<String>; 2]; 3];

struct ByHand<'t> {
    session: &'t mut Connection,
    triggers: &'t Triggers,
}

impl ByHand<'_> {
    fn sql(&mut self, sql: &str) -> Result<(), String> {
        let told = run(self.session, sql);
        if told.is_empty() { Ok(()) } else { Err(format!("{sql}: {told}")) }
    }

    fn fire(&mut self, event: usize, after: bool) -> Result<(), String> {
        for statement in &self.triggers[event][usize::from(after)] {
            let text = statement.replace("DB.", "hand.").replace("new.", "@new_").replace("old.", "@old_");
            self.sql(&text)?;
        }
        Ok(())
    }

    /// Takes the row of that number as the old one; whether it is there.
    fn old(&mut self, id: i64) -> bool {
        let there = run(self.session, &format!("select count(*) from hand.t where id = {id}")) == "1";
        if there {
            let into = COLUMNS.map(|c| format!("@old_{c}")).join(", ");
            self.sql(&format!("select id, g, a, b into {into} from hand.t where id = {id}")).unwrap();
        }
        there
    }

    fn new_from(&mut self, of: impl Fn(&str) -> String) {
        for column in COLUMNS {
            self.sql(&format!("set @new_{column} = {}", of(column))).unwrap();
        }
    }

    fn insert(&mut self, row: [i64; 4], how: How) -> Result<(), String> {
        self.new_from(|column| row[COLUMNS.iter().position(|c| *c == column).unwrap()].to_string());
        self.fire(0, false)?;
        match (self.old(row[0]), how) {
            (true, How::Update) => {
                let new_a = run(self.session, "select @old_a + @new_a");
                self.new_from(|column| if column == "a" { new_a.clone() } else { format!("@old_{column}") });
                return self.update_old(false);
            }
            (true, How::Replace) => self.delete_old()?,
            _ => {}
        }
        self.sql("insert into hand.t values (@new_id, @new_g, @new_a, @new_b)")?;
        self.fire(0, true)
    }

    /// ON DUPLICATE KEY UPDATE that leaves the row as it is goes no further than to the triggers before it, as in MySQL.
    fn update_old(&mut self, also_the_same: bool) -> Result<(), String> {
        self.fire(1, false)?;
        let same = "select @new_g <=> @old_g and @new_a <=> @old_a and @new_b <=> @old_b";
        if !also_the_same && run(self.session, same) == "1" {
            return Ok(());
        }
        self.sql("update hand.t set g = @new_g, a = @new_a, b = @new_b where id = @old_id")?;
        self.fire(1, true)
    }

    fn delete_old(&mut self) -> Result<(), String> {
        self.fire(2, false)?;
        self.sql("delete from hand.t where id = @old_id")?;
        self.fire(2, true)
    }

    fn ids(&mut self, condition: &str) -> Vec<i64> {
        let ids = run(self.session, &format!("select id from hand.t where {condition} order by id"));
        ids.lines().map(|id| id.parse().unwrap()).collect()
    }

    /// The statement whole, or nothing of it.
    fn statement(&mut self, work: impl FnOnce(&mut Self) -> Result<(), String>) -> bool {
        self.sql("savepoint whole").unwrap();
        match work(self) {
            Ok(()) => true,
            Err(_) => {
                self.sql("rollback to whole").unwrap();
                false
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum How {
    Plain,
    Update,
    Replace,
}

/// A change: with triggers, and by hand. Whether both worked, which must be the same.
fn change(rng: &mut Rng, session: &mut Connection, triggers: &Triggers) -> String {
    let condition = match rng.below(3) {
        0 => format!("id = {}", rng.below(8)),
        1 => format!("g = {}", rng.below(3)),
        _ => format!("id >= {}", 3 + rng.below(5)),
    };
    let (sql, by_hand) = match rng.below(5) {
        0..=2 => {
            let rows: Vec<[i64; 4]> =
                (0..1 + rng.below(3)).map(|_| [8, 3, 9, 9].map(|most| rng.below(most) as i64)).collect();
            let how = [How::Plain, How::Update, How::Replace][rng.index(3)];
            let values =
                rows.iter().map(|[id, g, a, b]| format!("({id}, {g}, {a}, {b})")).collect::<Vec<_>>();
            let (verb, behind) = match how {
                How::Plain => ("insert", ""),
                How::Update => ("insert", " on duplicate key update a = t.a + values(a)"),
                How::Replace => ("replace", ""),
            };
            let sql = format!("{verb} into fired.t values {}{behind}", values.join(", "));
            let mut hand = ByHand { session, triggers };
            let done = hand.statement(|hand| rows.iter().try_for_each(|row| hand.insert(*row, how)));
            (sql, done)
        }
        3 => {
            let mut hand = ByHand { session, triggers };
            let ids = hand.ids(&condition);
            let done = hand.statement(|hand| {
                ids.iter().try_for_each(|&id| {
                    hand.old(id);
                    hand.new_from(|column| match column {
                        "a" => "@old_a + @old_b".to_owned(),
                        "b" => "3".to_owned(),
                        other => format!("@old_{other}"),
                    });
                    hand.update_old(true)
                })
            });
            (format!("update fired.t set a = a + b, b = 3 where {condition} order by id"), done)
        }
        _ => {
            let mut hand = ByHand { session, triggers };
            let ids = hand.ids(&condition);
            let done = hand.statement(|hand| {
                ids.iter().try_for_each(|&id| {
                    hand.old(id);
                    hand.delete_old()
                })
            });
            (format!("delete from fired.t where {condition} order by id"), done)
        }
    };
    let told = run(session, &sql);
    assert_eq!(told.is_empty(), by_hand, "{sql}: {told}");
    sql
}

#[test]
fn triggers_do_what_their_statements_do() {
    let opened = open();
    let mut session = root(&opened.db);
    let seeds: u64 = std::env::var("TRIGGER_SEEDS").map_or(25, |n| n.parse().unwrap());
    let mut changes = 0;
    for seed in 0..seeds {
        let mut rng = Rng::new(seed);
        let triggers: Triggers =
            EVENTS.map(|event| [body(&mut rng, true, event), body(&mut rng, false, event)]);
        for db in ["fired", "hand"] {
            let made = format!(
                "drop database if exists {db}; create database {db}; use {db};
                 create table t (id int primary key, g int, a int, b int);
                 create table u (id int primary key, a int); create table sums (g int primary key, total int, last int);
                 create table log (k int primary key auto_increment, w varchar(20), x int);
                 insert into sums values (0, 0, 0), (1, 0, 0), (2, 0, 0); insert into u values (1, 1), (4, 4);
                 create trigger u_au after update on u for each row insert into log (w, x) values ('u', new.a - old.a);
                 create trigger u_ad after delete on u for each row update sums set total = total - old.a"
            );
            for statement in made.split("; ").flat_map(|part| part.split(";\n")) {
                assert_eq!(run(&mut session, statement), "", "{statement}");
            }
        }
        let mut told = Vec::new();
        for (event, bodies) in EVENTS.iter().zip(&triggers) {
            for (when, body) in ["before", "after"].iter().zip(bodies) {
                let body: String =
                    body.iter().map(|statement| statement.replace("DB.", "fired.") + "; ").collect();
                let made = format!(
                    "create trigger fired.t_{when}_{event} {when} {event} on t for each row begin {body}end"
                );
                assert_eq!(run(&mut session, &made), "", "{made}");
                told.push(made);
            }
        }
        assert_eq!(run(&mut session, "set sql_mode = 'STRICT_ALL_TABLES'"), "");
        assert_eq!(run(&mut session, "begin"), "");
        for _ in 0..20 {
            let sql = change(&mut rng, &mut session, &triggers);
            changes += 1;
            told.push(sql);
            for (table, columns) in [("t", "*"), ("u", "*"), ("sums", "*"), ("log", "w, x")] {
                let rows = |session: &mut Connection, db: &str| {
                    run(session, &format!("select {columns} from {db}.{table} order by 1, 2"))
                };
                let (fired, hand) = (rows(&mut session, "fired"), rows(&mut session, "hand"));
                assert_eq!(fired, hand, "seed {seed}, {table} after\n{}", told.join(";\n"));
            }
        }
        assert_eq!(run(&mut session, "commit"), "");
    }
    assert!(changes >= 20 * seeds);
}
