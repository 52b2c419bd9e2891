"""Checks a server through a Python driver: check.py DRIVER HOST PORT USER PASSWORD TLS

DRIVER is pymysql, mysqlclient or connector; TLS is tls, clear, or
remembered (in clear, by a password that the server remembers). Ends with 1 and says why if the server answers
otherwise than MySQL would."""

import datetime
import decimal
import sys
import threading

driver, host, port, user, password, tls = sys.argv[1:7]
port = int(port)


def connect(**more):
    options = dict(host=host, port=port, user=user, password=password, database="clients")
    options.update(more)
    if driver == "pymysql":
        import pymysql

        if tls == "tls":
            options["ssl"] = {"check_hostname": False, "verify_mode": "none"}
        else:
            options["ssl_disabled"] = True
        return pymysql.connect(charset="utf8mb4", autocommit=True, **options)
    if driver == "mysqlclient":
        import MySQLdb

        options["ssl_mode"] = "REQUIRED" if tls == "tls" else "DISABLED"
        connection = MySQLdb.connect(charset="utf8mb4", **options)
        connection.autocommit(True)
        return connection
    import mysql.connector

    options["ssl_disabled"] = tls != "tls"
    return mysql.connector.connect(charset="utf8mb4", collation="utf8mb4_general_ci", autocommit=True, use_pure=True, **options)


def equal(got, wanted, what):
    if got != wanted:
        sys.exit(f"{driver}: {what}: got {got!r}, wanted {wanted!r}")


def error_of(call, what):
    try:
        call()
    except Exception as e:  # every driver has its own classes; the number is what counts
        return getattr(e, "errno", None) or e.args[0]
    sys.exit(f"{driver}: {what}: no error")


TABLE = """create table {0} (
  id int primary key auto_increment, i8 tinyint, u8 tinyint unsigned, i16 smallint, i24 mediumint, i32 int,
  i64 bigint, u64 bigint unsigned, f float, d double, n decimal(20,5), bits bit(12),
  da date, ti time(3), dt datetime(6), ts timestamp null, y year,
  c char(10), v varchar(100), b varbinary(100), t text, bl blob, e enum('red','green'), s set('a','b','c')
) default character set utf8mb4"""

VALUES = (
    -128, 255, -32768, 8388607, -2147483648,
    -(2**63), 2**64 - 1, 1.5, -2.25e100, decimal.Decimal("-123456789012345.67891"), b"\x0a\xbc",
    datetime.date(2024, 2, 29), datetime.timedelta(hours=-100, minutes=-1, seconds=-2, milliseconds=-345),
    datetime.datetime(1999, 12, 31, 23, 59, 59, 123456), datetime.datetime(2020, 1, 2, 3, 4, 5), 2024,
    "grüße", "naïve \U0001f433 'quoted' \\", bytes(range(100)), "text\nlines", b"\x00\xff" * 1000, "green", "a,c",
)
COLUMNS = "i8,u8,i16,i24,i32,i64,u64,f,d,n,bits,da,ti,dt,ts,y,c,v,b,t,bl,e,s"


def normal(value):
    """What drivers disagree on: sets, bytes."""
    if isinstance(value, (set, frozenset)):
        return ",".join(sorted(value))
    if isinstance(value, bytearray):
        return bytes(value)
    return value


def types(connection, prepared):
    name = "types_" + driver
    cursor = connection.cursor()
    cursor.execute(f"drop table if exists {name}")
    cursor.execute(TABLE.format(name))
    if driver == "connector" and prepared:
        cursor = connection.cursor(prepared=True)
    # The connector's own reader of binary rows takes a YEAR for a string.
    broken = {"y"} if driver == "connector" and prepared else set()
    chosen = [(c, v) for c, v in zip(COLUMNS.split(","), VALUES) if c not in broken]
    columns, wanted_values = ",".join(c for c, _ in chosen), [v for _, v in chosen]
    marks = ",".join(["%s"] * len(chosen))
    # BIT as a number: text drivers would send the bytes as text of the connection's character set.
    values = tuple(0x0ABC if v == b"\x0a\xbc" else v for v in wanted_values)
    cursor.execute(f"insert into {name} ({columns}) values ({marks})", values)
    equal(cursor.lastrowid, 1, "insert id")
    cursor.execute(f"insert into {name} ({columns}) values ({marks})", (None,) * len(chosen))
    equal(cursor.rowcount, 1, "affected rows")
    cursor.execute(f"select {columns} from {name} order by id", ())
    rows = cursor.fetchall()
    equal(len(rows), 2, "rows")
    for column, got, wanted in zip(columns.split(","), rows[0], wanted_values):
        got = normal(got)
        if isinstance(wanted, bytes) and isinstance(got, int):
            got = got.to_bytes(2, "big")
        if isinstance(got, bytes) and isinstance(wanted, str):
            got = got.decode()
        equal(got, wanted, f"column {column} ({'prepared' if prepared else 'text'})")
    equal([normal(v) for v in rows[1]], [None] * len(chosen), "NULLs")


def large(connection):
    cursor = connection.cursor()
    big = "x" * (17 * 1024 * 1024)
    cursor.execute("select length(%s), %s", (big, big))
    length, back = cursor.fetchone()
    equal((length, back == big), (len(big), True), "a value of 17 MB")


def errors(connection):
    cursor = connection.cursor()
    equal(error_of(lambda: cursor.execute("select * from missing"), "no table"), 1146, "no table")
    equal(error_of(lambda: cursor.execute("selec 1"), "syntax"), 1064, "syntax")
    equal(error_of(lambda: cursor.execute("select nope"), "no column"), 1054, "no column")
    name = "errors_" + driver
    cursor.execute(f"drop table if exists {name}")
    cursor.execute(f"create table {name} (id int primary key, v varchar(3) not null)")
    cursor.execute(f"insert into {name} values (1, 'a')")
    equal(error_of(lambda: cursor.execute(f"insert into {name} values (1, 'b')"), "duplicate"), 1062, "duplicate")
    equal(error_of(lambda: cursor.execute(f"insert into {name} values (2, null)"), "NULL"), 1048, "NULL")
    cursor.execute("set sql_mode='STRICT_TRANS_TABLES'")
    equal(error_of(lambda: cursor.execute(f"insert into {name} values (3, 'long')"), "too long"), 1406, "too long")
    # A password that the server does not remember goes over TLS only: in clear the client gives up by itself.
    if tls != "remembered":
        wrong = error_of(lambda: connect(password="wrong"), "wrong password")
        equal(wrong, 1045, "wrong password")
    equal(error_of(lambda: connect(database="missing"), "no database") in (1044, 1049), True, "no database")


def cancel(connection):
    cursor = connection.cursor()
    cursor.execute("select connection_id()")
    (number,) = cursor.fetchone()
    other = connect()
    done = threading.Event()

    def kill():
        # On a busy machine the first one may come before the statement.
        while not done.wait(0.5):
            other.cursor().execute(f"kill query {number}")

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        cursor.execute("select sleep(30)")
        # A killed SLEEP may also return 1.
        equal(cursor.fetchone(), (1,), "a killed SLEEP")
    except Exception as e:
        equal(getattr(e, "errno", None) or e.args[0], 1317, "a killed SLEEP")
    done.set()
    killer.join()
    other.close()
    cursor = connection.cursor()
    cursor.execute("select 1 + 1")
    equal(cursor.fetchone(), (2,), "after the kill")


def transactions(connection):
    name = "trx_" + driver
    cursor = connection.cursor()
    cursor.execute(f"drop table if exists {name}")
    cursor.execute(f"create table {name} (id int primary key)")
    cursor.execute("begin")
    cursor.execute(f"insert into {name} values (1), (2)")
    connection.rollback()
    cursor.execute(f"select count(*) from {name}")
    equal(cursor.fetchone(), (0,), "after the rollback")
    cursor.execute("begin")
    cursor.execute(f"insert into {name} values (3)")
    connection.commit()
    other = connect()
    seen = other.cursor()
    seen.execute(f"select id from {name}")
    equal(list(seen.fetchall()), [(3,)], "after the commit")
    other.close()


connection = connect()
cursor = connection.cursor()
cursor.execute("show status like 'Ssl_cipher'")
cipher = cursor.fetchone()
equal(bool(cipher and cipher[1]), tls == "tls", "TLS")
types(connection, False)
if driver == "connector":
    types(connection, True)
large(connection)
cancel(connection)
transactions(connection)
errors(connection)
if driver != "pymysql":
    change = connection.change_user if driver == "mysqlclient" else connection.cmd_change_user
    change(user, password, "clients")
    cursor = connection.cursor()
    cursor.execute("select database(), @@session.sql_mode like '%%NOTHING%%'")
    equal(cursor.fetchone()[0], "clients", "after a change of user")
connection.close()
