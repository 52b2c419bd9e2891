//! Checks a server through Rust's `mysql`: check-rust HOST PORT USER PASSWORD TLS. Ends with 1 and says why if the
//! server answers otherwise than MySQL would.
#![forbid(unsafe_code)]

use mysql::prelude::Queryable;
use mysql::{Compression, Conn, Error, LocalInfileHandler, OptsBuilder, Pool, Row, SslOpts, TxOpts, Value};
use std::fmt::Debug;
use std::io::Write;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

type Done = Result<(), String>;

fn why(e: impl std::fmt::Display) -> String {
    e.to_string()
}

fn equal<T: PartialEq + Debug>(got: T, wanted: T, what: &str) -> Done {
    if got == wanted { Ok(()) } else { Err(format!("{what}: got {got:?}, wanted {wanted:?}")) }
}

fn options(password: &str) -> Result<OptsBuilder, String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [host, port, user, _, tls] = words.as_slice() else {
        return Err("HOST PORT USER PASSWORD TLS".into());
    };
    let tls = (tls == "tls").then(|| SslOpts::default().with_danger_accept_invalid_certs(true));
    Ok(OptsBuilder::new()
        .ip_or_hostname(Some(host))
        .tcp_port(port.parse().map_err(why)?)
        .user(Some(user))
        .pass(Some(password))
        .db_name(Some("clients"))
        .prefer_socket(false)
        .max_allowed_packet(Some(64 << 20))
        .ssl_opts(tls))
}

/// Number of a server's error.
fn number<T>(got: Result<T, Error>) -> u16 {
    match got {
        Err(Error::MySqlError(e)) => e.code,
        _ => 0,
    }
}

const TABLE: &str = "(id int primary key auto_increment, i8 tinyint, u8 tinyint unsigned, i16 smallint, i24 mediumint,
    i32 int, i64 bigint, u64 bigint unsigned, f float, d double, n decimal(20,5), bits bit(12),
    da date, ti time(3), dt datetime(6), ts timestamp null, y year, c char(10), v varchar(100), b varbinary(100),
    t text, bl blob, e enum('red','green'), s set('a','b','c')) default character set utf8mb4";
const COLUMNS: &str = "i8,u8,i16,i24,i32,i64,u64,f,d,n,bits,da,ti,dt,ts,y,c,v,b,t,bl,e,s";

/// Each value as the binary protocol and as the text protocol bring it back.
fn values() -> Vec<(Value, String)> {
    let bytes = |text: &str| (Value::Bytes(text.as_bytes().to_vec()), text.to_owned());
    let int = |n: i64| (Value::Int(n), n.to_string());
    vec![
        int(-128),
        int(255),
        int(-32768),
        int(8_388_607),
        int(-2_147_483_648),
        int(i64::MIN),
        (Value::UInt(u64::MAX), u64::MAX.to_string()),
        (Value::Float(1.5), "1.5".to_owned()),
        (Value::Double(-2.25e100), "-2.25e100".to_owned()),
        bytes("-123456789012345.67891"),
        bytes("\n\u{1}"),
        (Value::Date(2024, 2, 29, 0, 0, 0, 0), "2024-02-29".to_owned()),
        (Value::Time(true, 4, 4, 1, 2, 345_000), "-100:01:02.345".to_owned()),
        (Value::Date(1999, 12, 31, 23, 59, 59, 123_456), "1999-12-31 23:59:59.123456".to_owned()),
        (Value::Date(2020, 1, 2, 3, 4, 5, 0), "2020-01-02 03:04:05".to_owned()),
        int(2024),
        bytes("grüße"),
        bytes("naïve \u{1F433} 'quoted' \\ \""),
        bytes("\0\u{1}\u{1a}'\"\\"),
        bytes("text\nlines"),
        bytes(&"\0\r".repeat(3000)),
        bytes("green"),
        bytes("a,c"),
    ]
}

/// Small unsigned columns come as either variant.
fn normal(value: Value) -> Value {
    match value {
        Value::UInt(n) => i64::try_from(n).map_or(Value::UInt(n), Value::Int),
        other => other,
    }
}

fn types(connection: &mut Conn) -> Done {
    connection.query_drop("drop table if exists types_rust").map_err(why)?;
    connection.query_drop(format!("create table types_rust {TABLE}")).map_err(why)?;
    let values = values();
    let marks = vec!["?"; values.len()].join(",");
    let insert = format!("insert into types_rust ({COLUMNS}) values ({marks})");
    let both: Vec<Value> = values.iter().map(|(value, _)| value.clone()).collect();
    connection.exec_drop(&insert, both).map_err(why)?;
    equal(connection.last_insert_id(), 1, "insert id")?;
    connection.exec_drop(&insert, vec![Value::NULL; values.len()]).map_err(why)?;
    equal(connection.affected_rows(), 1, "affected rows")?;
    // As text: what literals make of the same values.
    // The client writes a double without an exponent, too many digits for a number.
    let literal = |(value, text): &(Value, String)| match value {
        Value::Double(_) => text.clone(),
        value => value.as_sql(false),
    };
    let literals: Vec<String> = values.iter().map(literal).collect();
    connection
        .query_drop(format!("insert into types_rust ({COLUMNS}) values ({})", literals.join(",")))
        .map_err(why)?;
    let select = format!("select {COLUMNS} from types_rust order by id");
    for (form, rows) in [
        ("prepared", connection.exec::<Row, _, _>(&select, ()).map_err(why)?),
        ("text", connection.query::<Row, _>(&select).map_err(why)?),
    ] {
        equal(rows.len(), 3, "rows")?;
        for (i, row) in rows.into_iter().enumerate() {
            for ((name, got), (value, text)) in COLUMNS.split(',').zip(row.unwrap()).zip(&values) {
                let wanted = match (i, form) {
                    (1, _) => Value::NULL,
                    (_, "text") => Value::Bytes(text.as_bytes().to_vec()),
                    _ => normal(value.clone()),
                };
                equal(normal(got), wanted, &format!("{name} ({form}, row {i})"))?;
            }
        }
    }
    Ok(())
}

fn errors(connection: &mut Conn) -> Done {
    equal(number(connection.query_drop("select * from missing")), 1146, "no table")?;
    equal(
        number(connection.exec_drop("select * from missing where a = ?", (1,))),
        1146,
        "no table, prepared",
    )?;
    equal(number(connection.query_drop("selec 1")), 1064, "syntax")?;
    equal(number(connection.query_drop("select nope")), 1054, "no column")?;
    equal(number(connection.query_drop("insert into types_rust (id) values (1)")), 1062, "duplicate")?;
    equal(number(connection.exec_drop("insert into types_rust (id) values (?)", (1,))), 1062, "duplicate")?;
    equal(number(connection.query_drop("drop database not_there")), 1008, "no database")?;
    connection.query_drop("set sql_mode = 'STRICT_TRANS_TABLES'").map_err(why)?;
    equal(
        number(connection.exec_drop("insert into types_rust (i8) values (?)", (1000,))),
        1264,
        "out of range",
    )?;
    equal(
        number(connection.exec_drop("insert into types_rust (c) values (?)", ("12345678901",))),
        1406,
        "too long",
    )?;
    connection.query_drop("set sql_mode = ''").map_err(why)?;
    connection.exec_drop("insert into types_rust (i8) values (?)", (1000,)).map_err(why)?;
    equal(connection.warnings(), 1, "warnings")?;
    let warning: Option<(String, u16, String)> = connection.query_first("show warnings").map_err(why)?;
    equal(warning.map(|(_, code, _)| code), Some(1264), "the warning")
}

fn large(connection: &mut Conn) -> Done {
    let big = "x".repeat(17 << 20);
    let row: Option<(usize, String)> =
        connection.exec_first("select length(?), ?", (&big, &big)).map_err(why)?;
    let (length, back) = row.ok_or("no row")?;
    equal((length, back == big), (big.len(), true), "17 MB, prepared")?;
    let back: Option<String> = connection.query_first(format!("select '{big}'")).map_err(why)?;
    equal(back.as_ref() == Some(&big), true, "17 MB, text")
}

fn cancel(connection: &mut Conn, password: &str) -> Done {
    let id = connection.connection_id();
    let mut other = Conn::new(options(password)?).map_err(why)?;
    let (done, ended) = std::sync::mpsc::channel::<()>();
    let killer = std::thread::spawn(move || {
        // On a busy machine the first one may come before the statement.
        while ended.recv_timeout(Duration::from_millis(300)) == Err(RecvTimeoutError::Timeout) {
            other.query_drop(format!("kill query {id}")).map_err(why)?;
        }
        Ok::<(), String>(())
    });
    // A killed SLEEP fails, or gives 1.
    match connection.query_first::<i32, _>("select sleep(30)") {
        Ok(Some(1)) => {}
        Err(Error::MySqlError(e)) if e.code == 1317 => {}
        other => return Err(format!("a killed SLEEP: {other:?}")),
    }
    drop(done);
    killer.join().map_err(|_| "the killer ended badly")??;
    let mut gone = Conn::new(options(password)?).map_err(why)?;
    connection.query_drop(format!("kill {}", gone.connection_id())).map_err(why)?;
    equal(gone.query_drop("select 1").is_err(), true, "a killed connection")?;
    equal(connection.query_first("select 1 + 1").map_err(why)?, Some(2), "after the kill")
}

fn transactions(connection: &mut Conn, password: &str) -> Done {
    let count = "select count(*) from types_rust where i8 = 77";
    let mut other = Conn::new(options(password)?).map_err(why)?;
    for commit in [false, true] {
        let mut trx = connection.start_transaction(TxOpts::default()).map_err(why)?;
        trx.exec_drop("insert into types_rust (i8) values (?)", (77,)).map_err(why)?;
        equal(trx.query_first(count).map_err(why)?, Some(1), "seen by itself")?;
        equal(other.query_first(count).map_err(why)?, Some(0), "not seen by others")?;
        if commit { trx.commit() } else { trx.rollback() }.map_err(why)?;
        equal(other.query_first(count).map_err(why)?, Some(i32::from(commit)), "after the end")?;
    }
    Ok(())
}

/// Several results, several statements prepared at once, a pool, compression, a file of the client, another user.
fn more(connection: &mut Conn, password: &str) -> Done {
    let mut results = connection.query_iter("select 1; select 2; do 3; select 4").map_err(why)?;
    let mut sum = 0;
    while let Some(rows) = results.iter() {
        for row in rows {
            sum += row.map_err(why)?.get::<i32, _>(0).unwrap_or(0);
        }
    }
    drop(results);
    equal(sum, 7, "several results")?;
    let statements: Vec<_> =
        (0..20).map(|i| connection.prep(format!("select ? + {i}"))).collect::<Result<_, _>>().map_err(why)?;
    for (i, statement) in statements.iter().enumerate() {
        equal(connection.exec_first(statement, (i,)).map_err(why)?, Some(2 * i), "one of many statements")?;
    }
    let pool = Pool::new(options(password)?).map_err(why)?;
    for _ in 0..20 {
        let mut pooled = pool.get_conn().map_err(why)?;
        // The pool resets the connection: the variable must be gone.
        equal(pooled.query_first("select @mark").map_err(why)?, Some(None::<i32>), "a reset connection")?;
        pooled.query_drop("set @mark = 1").map_err(why)?;
    }
    let mut small = Conn::new(options(password)?.compress(Some(Compression::default()))).map_err(why)?;
    let text = "compressible ".repeat(100_000);
    let back: Option<String> = small.exec_first("select ?", (&text,)).map_err(why)?;
    equal(back.as_ref() == Some(&text), true, "compressed")?;
    small.query_drop("drop table if exists lines_rust").map_err(why)?;
    small.query_drop("create table lines_rust (a int, b varchar(20))").map_err(why)?;
    small.set_local_infile_handler(Some(LocalInfileHandler::new(|name, file| {
        for n in 0..10_000 {
            writeln!(file, "{n}\t{} {n}", String::from_utf8_lossy(name))?;
        }
        Ok(())
    })));
    small.query_drop("load data local infile 'made up' into table lines_rust").map_err(why)?;
    equal(small.affected_rows(), 10_000, "rows of a file")?;
    let row = small.query_first("select sum(a), max(b) from lines_rust").map_err(why)?;
    equal(row, Some((49_995_000, "made up 9999".to_owned())), "the rows of a file")
}

fn check() -> Done {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let password = words.get(3).map_or("", String::as_str);
    let mut connection = Conn::new(options(password)?).map_err(why)?;
    let cipher: Option<(String, String)> =
        connection.query_first("show status like 'Ssl_cipher'").map_err(why)?;
    let tls = words.get(4).is_some_and(|tls| tls == "tls");
    equal(cipher.is_some_and(|(_, name)| !name.is_empty()), tls, "TLS")?;
    types(&mut connection)?;
    large(&mut connection)?;
    transactions(&mut connection, password)?;
    cancel(&mut connection, password)?;
    more(&mut connection, password)?;
    errors(&mut connection)?;
    connection.ping().map_err(why)?;
    // A password that the server does not remember goes over TLS only.
    if words.get(4).is_none_or(|tls| tls != "remembered") {
        let denied = Conn::new(options("wrong")?.db_name(None::<String>));
        equal(number(denied), 1045, "wrong password")?;
    }
    equal(number(Conn::new(options(password)?.db_name(Some("missing")))), 1049, "no database")
}

fn main() {
    if let Err(text) = check() {
        eprintln!("rust: {text}");
        std::process::exit(1);
    }
}
