// Checks a server through mysql2: check.mjs HOST PORT USER PASSWORD TLS. Ends with 1 and says why if the server answers
// otherwise than MySQL would.
import assert from "node:assert/strict";
import mysql from "mysql2/promise";

const [host, port, user, password, tls] = process.argv.slice(2);
const options = {
  host, port: Number(port), user, password, database: "clients", supportBigNumbers: true, bigNumberStrings: true,
  dateStrings: true, charset: "utf8mb4", multipleStatements: true,
  ...(tls === "tls" ? { ssl: { rejectUnauthorized: false } } : {}),
};

async function number(promise) {
  try {
    await promise;
  } catch (e) {
    return e.errno;
  }
  return 0;
}

async function types(connection, run, name) {
  await connection.query(`drop table if exists ${name}`);
  await connection.query(`create table ${name} (id int primary key auto_increment, i8 tinyint, i64 bigint, u64 bigint unsigned,
    d double, f float, n decimal(20,5), da date, dt datetime(6), ti time(3), y year, v varchar(100), b blob, e enum('red','green'), s set('a','b'))
    default character set utf8mb4`);
  const blob = Buffer.from("\x00\xff'".repeat(1000), "latin1");
  const values = [-128, "-9223372036854775808", "18446744073709551615", -2.25e100, 1.5, "-123456789012345.67891", "2024-02-29",
    "1999-12-31 23:59:59.123456", "-100:01:02.345", 2024, "naïve 🐳 'q' \\", blob, "green", "a,b"];
  const columns = "i8,i64,u64,d,f,n,da,dt,ti,y,v,b,e,s";
  const marks = values.map(() => "?").join();
  const [done] = await run(`insert into ${name} (${columns}) values (${marks})`, values);
  assert.equal(done.insertId, 1);
  await run(`insert into ${name} (${columns}) values (${marks})`, values.map(() => null));
  const [rows] = await run({ sql: `select ${columns} from ${name} order by id`, rowsAsArray: true }, []);
  assert.equal(rows.length, 2);
  assert.deepEqual(rows[0], values);
  assert.deepEqual(rows[1], values.map(() => null));
}

const connection = await mysql.createConnection(options);
await types(connection, (sql, values) => connection.query(sql, values), "types_node_text");
await types(connection, (sql, values) => connection.execute(sql, values), "types_node_prepared");
const big = "x".repeat(17 << 20);
const [[{ length, back }]] = await connection.query("select length(?) as length, ? as back", [big, big]);
assert.equal(Number(length), big.length);
assert.ok(back === big, "17 MB");
assert.equal(await number(connection.query("select * from missing")), 1146);
assert.equal(await number(connection.query("selec 1")), 1064);
assert.equal(await number(connection.execute("insert into types_node_text (id) values (1)")), 1062);
const [two] = await connection.query("select 1 as n; select 2 as n");
assert.deepEqual(two.map((rows) => Number(rows[0].n)), [1, 2]);
const [[cipher]] = await connection.query("show status like 'Ssl_cipher'");
assert.equal(cipher.Value !== "", tls === "tls", "TLS");
const [[{ id }]] = await connection.query("select connection_id() as id");
const other = await mysql.createConnection(options);
setTimeout(() => other.query(`kill query ${id}`), 300);
const killed = await number(connection.query("select sleep(20)"));
assert.ok(killed === 1317 || killed === 0, `a killed SLEEP gives ${killed}`);
await connection.beginTransaction();
await connection.query("update types_node_text set i8 = 5 where id = 1");
await connection.rollback();
const [[{ i8 }]] = await other.query("select i8 from types_node_text where id = 1");
assert.equal(i8, -128);
await other.end();
await connection.end();
// A password that the server does not remember goes over TLS only.
if (tls !== "remembered") {
  assert.equal(await number(mysql.createConnection({ ...options, password: "wrong" })), 1045);
}
