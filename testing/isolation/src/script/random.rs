//! Scripts made at random, to be played on two servers and compared.
//!
//! Three sessions work on a dozen rows, with a primary key, a unique and a plain secondary index; all conditions are about
//! one column, and few values exist, so that statements meet. Each session is in a transaction most of the time.

use super::{Script, Step};
use vaquita_base::rng::Rng;

const SESSIONS: [&str; 3] = ["A", "B", "C"];
const STEPS: usize = 14;
/// Keys lie between 0 and this; rows are at the even ones at first, so that there are gaps.
const KEYS: u64 = 16;

/// The script of a seed.
pub fn random(seed: u64) -> Script {
    let mut rng = Rng::new(seed);
    let mut steps: Vec<Step> = SESSIONS.iter().map(|session| step(session, "begin".into())).collect();
    for _ in 0..STEPS {
        let session = SESSIONS[rng.index(SESSIONS.len())];
        if rng.one_in(8) {
            let end = if rng.one_in(4) { "rollback" } else { "commit" };
            steps.push(step(session, end.into()));
            steps.push(step(session, "begin".into()));
        } else {
            steps.push(step(session, statement(&mut rng)));
        }
    }
    // The first sessions to end let the others go on one by one.
    steps.extend(SESSIONS.iter().map(|session| step(session, "commit".into())));
    steps.push(step("check", "select * from t order by id".into()));
    Script {
        name: format!("seed {seed}"),
        about: "random".into(),
        setup: vec![
            "create table t (id int primary key, u int, k int, v int, unique key u (u), key k (k))".into(),
            format!("insert into t values {}", rows(&mut rng)),
        ],
        steps,
        symmetric: None,
        purge_held: true,
    }
}

fn step(session: &str, sql: String) -> Step {
    Step::Run { session: session.to_owned(), sql }
}

fn rows(rng: &mut Rng) -> String {
    let row = |id: u64, rng: &mut Rng| {
        let unique = if rng.one_in(6) { "null".to_owned() } else { id.to_string() };
        format!("({id}, {unique}, {}, {})", rng.below(KEYS / 2) * 2, rng.below(100))
    };
    let rows: Vec<String> = (1..KEYS / 2).map(|n| row(2 * n, rng)).collect();
    rows.join(", ")
}

fn statement(rng: &mut Rng) -> String {
    let (column, hint) = match rng.below(4) {
        0 | 1 => ("id", ""),
        2 => ("u", " force index (u)"),
        _ => ("k", " force index (k)"),
    };
    let condition = condition(rng, column);
    match rng.below(10) {
        0 | 1 => {
            let (id, u, k) = (rng.below(KEYS), rng.below(KEYS), rng.below(KEYS));
            let u = if rng.one_in(4) { "null".to_owned() } else { u.to_string() };
            format!("insert into t values ({id}, {u}, {k}, {})", rng.below(100))
        }
        2..5 => {
            let value = rng.below(KEYS);
            let set = match rng.below(6) {
                0 => format!("k = {value}"),
                1 => format!("u = {value}"),
                2 if column != "id" => format!("id = {value}"),
                _ => "v = v + 100".to_owned(),
            };
            format!("update t{hint} set {set} where {condition}")
        }
        5 => format!("delete from t where {condition}"),
        6 | 7 => format!("select * from t{hint} where {condition} for update"),
        8 => format!("select * from t{hint} where {condition} lock in share mode"),
        _ => format!("select * from t{hint} where {condition}"),
    }
}

fn condition(rng: &mut Rng, column: &str) -> String {
    let (a, b) = (rng.below(KEYS), rng.below(KEYS));
    match rng.below(8) {
        0..4 => format!("{column} = {a}"),
        4 => format!("{column} > {a}"),
        5 => format!("{column} <= {a}"),
        6 => format!("{column} >= {} and {column} < {}", a.min(b), a.max(b) + 1),
        _ => format!("{column} between {} and {}", a.min(b), a.max(b)),
    }
}
