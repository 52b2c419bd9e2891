#!/usr/bin/env python3
"""Records what a real MySQL 5.6.24 lets accounts do: every statement below, by every account below.

Usage: record.py SOCKET, with PyMySQL installed and a fresh server; writes matrix.tsv beside it. What its
lines look like is said in ../privileges.rs. record_objects.py has other statements, about views and programs.
"""
import os
import sys

import pymysql

SETUP = [
    "create database a", "create database mine", "create database oth",
    "create table a.t (id int primary key, b int, c varchar(20), key (b))",
    "insert into a.t values (1, 1, 'one'), (2, 2, 'two')",
    "create table a.u (id int primary key, v int)",
    "insert into a.u values (1, 1)",
    "create table oth.p (id int primary key, x int, key (x))",
    "insert into oth.p values (1, 1)",
    "create table mine.m (id int primary key, x int)",
]
ON_DATABASE = ["select", "insert", "update", "delete", "create", "drop", "references", "index", "alter", "lock tables",
               "create temporary tables", "grant option"]
ON_TABLE = ["select", "insert", "update", "delete", "create", "drop", "alter", "index", "references", "grant option"]
GLOBAL = ["select", "insert", "file", "reload", "process", "super", "create user", "show databases", "create",
          "alter", "drop", "replication client"]
ACCOUNTS = (
    [[]]
    + [[f"{p} on a.*"] for p in ON_DATABASE]
    + [[f"{p} on a.t"] for p in ON_TABLE]
    + [[f"{p} on *.*"] for p in GLOBAL]
    + [
        ["select (id) on a.t"], ["insert (id) on a.t"], ["update (b) on a.t"], ["references (id) on a.t"],
        ["select (id, b, c) on a.t"], ["insert (id), update (b) on a.t"], ["insert (id, b), update (b), select (b) on a.t"],
        ["select, update on a.t"], ["insert, delete on a.t"], ["select, delete on a.t"], ["insert, update on a.t"],
        ["select, insert on a.t"], ["select, lock tables on a.*"], ["all on a.t"], ["all on a.*"],
        ["all on a.*", "all on mine.*"], ["alter, drop on a.t", "create, insert on mine.*"], ["alter on a.t", "all on mine.*"],
        ["alter, drop on a.t", "create on mine.*"], ["alter, insert, create on a.*"], ["alter, drop on a.t", "create, insert on a.x"],
        ["create, insert on a.*", "select on oth.*"], ["create on a.*", "select on oth.p"], ["create, alter on a.*", "references on oth.p"],
        ["create, alter on a.*", "references (id) on oth.p"], ["create, alter on a.*", "references on oth.*"],
        ["create, alter on a.*", "select on oth.p"], ["create, alter on a.*", "index on oth.p"],
        ["select on a.t", "select on oth.p"], ["select, insert on a.*", "select on oth.*"], ["all on *.*"],
        ["select on a.* with grant option"], ["select on a.t with grant option"], ["select (id) on a.t with grant option"],
        ["select on *.* with grant option"], ["all on a.* with grant option"], ["update on mysql.*"], ["insert on mysql.*"],
        ["insert, alter on a.u", "drop, alter on a.t"], ["process, select on *.*"],
    ]
)
TABLE = "drop table if exists a.t; drop table if exists a.x; create table a.t (id int primary key, b int, c varchar(20), key (b)); "
ROWS = "delete from a.t; insert into a.t values (1, 1, 'one'), (2, 2, 'two')"
WHOLE = ("drop database if exists a; drop database if exists d; drop database if exists mine; create database a; "
         "create database mine; create table mine.m (id int primary key, x int); create table a.t "
         "(id int primary key, b int, c varchar(20), key (b)); create table a.u (id int primary key, v int); "
         "insert into a.u values (1, 1); " + ROWS)
X = "drop table if exists a.x; drop table if exists mine.x"
Z = "drop user z@localhost"
V = "revoke all privileges, grant option from v@localhost; grant usage on *.* to v@localhost identified by '' require none with max_queries_per_hour 0"
# Statement, and what makes up for it.
STATEMENTS = [
    # Rows.
    ("select 1", ""), ("select count(*) from a.t", ""), ("select 1 from a.t", ""), ("select id from a.t", ""),
    ("select * from a.t", ""), ("select id from a.t where b = 1", ""), ("select id from a.t order by c", ""),
    ("select nix from a.t", ""), ("select * from a.nix", ""), ("select * from nix.t", ""),
    ("select t.id from a.t join oth.p on t.id = p.id", ""), ("select id from a.t where id in (select id from oth.p)", ""),
    ("select id from a.t for update", ""), ("select id from a.t lock in share mode", ""),
    ("select id from (select id from a.t) d", ""), ("select id from a.t union select id from oth.p", ""),
    ("insert into a.t values (9, 9, 'n')", ROWS), ("insert into a.t (id) values (9)", ROWS), ("insert into a.t () values ()", ROWS),
    ("insert into a.t (nix) values (9)", ""), ("insert into a.nix values (9)", ""),
    ("insert into a.t set id = 9, b = id", ROWS),
    ("insert into a.t (id) values (1) on duplicate key update b = 5", ROWS),
    ("insert into a.t (id) values (1) on duplicate key update c = 'x'", ROWS),
    ("insert into a.t (id) values (1) on duplicate key update b = b + 1", ROWS),
    ("insert into a.t (id) values (1) on duplicate key update b = values(id)", ROWS),
    ("insert into a.t (id) values (1) on duplicate key update b = values(c)", ROWS),
    ("insert into a.t (id) values (1),(2),(1),(2),(1),(2),(1),(2),(1) on duplicate key update b = 5", ROWS),
    ("replace into a.t (id) values (9)", ROWS), ("insert ignore into a.t (id) values (1)", ROWS),
    ("insert into a.t (id) select id + 100 from a.t", ROWS), ("insert into a.t (id) select id + 100 from oth.p", ROWS),
    
    ("update a.t set b = 5", ROWS), ("update a.t set b = 5 where id = 1", ROWS), ("update a.t set b = b + 1", ROWS),
    ("update a.t set c = 'x'", ROWS), ("update a.t set nix = 1", ""), ("update a.nix set id = 1", ""),
    ("update a.t set b = 5 order by c limit 1", ROWS), ("update a.t set b = (select max(x) from oth.p)", ROWS),
    ("update a.t, oth.p set t.b = p.x", ROWS), ("update a.t, oth.p set t.b = 5 where t.id = p.id", ROWS),
    ("update a.t join a.u on t.id = u.id set t.b = 5", ROWS),
    ("delete from a.t", ROWS), ("delete from a.t where id = 1", ROWS), ("delete from a.nix", ""),
    ("delete a.t from a.t join oth.p on t.id = p.id", ROWS), ("delete a.t from a.t", ROWS),
    ("delete from a.t order by c limit 1", ROWS), ("truncate a.t", ROWS), ("truncate a.nix", ""),
    ("load data infile '/nowhere/x' into table a.t", ""), ("load data infile '/nowhere/x' replace into table a.t", ""),
    ("load data infile '/nowhere/x' into table a.t (id)", ""),
    ("select id from a.t into outfile '/nowhere/x'", ""), ("do (select max(id) from a.t)", ""),
    ("set @x = (select max(id) from a.t)", ""), ("prepare s from 'select id from a.t'", ""), ("prepare s from 'delete from a.t'", ""),
    ("explain select id from a.t", ""), ("explain update a.t set b = 5", ""), ("explain delete from a.t", ""),
    ("explain insert into a.t (id) values (9)", ""), ("explain a.t", ""), ("explain a.nix", ""), ("describe a.t b", ""),
    # Definitions.
    ("create table a.x (id int)", X), ("create table a.x like a.t", X), ("create table a.x like oth.p", X),
    ("create table a.x select id from a.t", X), ("create table a.x select id from oth.p", X), ("create table if not exists a.t (id int)", ""),
    ("create table a.t (id int)", ""), ("create table nix.t (id int)", ""), ("create table a.x like a.nix", ""),
    ("create table a.x (id int primary key, foreign key (id) references a.t (id))", X),
    ("create table a.x (id int primary key, foreign key (id) references oth.p (id))", X),
    ("alter table a.t add constraint f foreign key (id) references oth.p (id)", TABLE + ROWS),
    ("alter table a.t add d int", TABLE + ROWS), ("alter table a.t drop c", TABLE + ROWS), ("alter table a.t engine = innodb", ""),
    ("alter table a.t add index (c)", TABLE + ROWS), ("alter table a.t drop index b", TABLE + ROWS), ("alter table a.nix add d int", ""),
    ("alter table a.t rename to a.x", TABLE + ROWS), ("alter table a.t rename to mine.x", X + "; " + TABLE + ROWS),
    ("alter table a.t add d int, rename to mine.x", X + "; " + TABLE + ROWS), ("alter table a.t rename to a.u", ""),
    ("alter table a.t rename to oth.x", "drop table oth.x; " + TABLE + ROWS), ("alter table a.t comment = 'x'", TABLE + ROWS),
    ("alter table a.t disable keys", ""),
    ("alter table a.t rename to a.t", ""), ("rename table a.t to a.x", TABLE + ROWS), ("rename table a.t to mine.x", X + "; " + TABLE + ROWS),
    ("rename table a.nix to a.x", ""), ("create index i on a.t (c)", TABLE + ROWS), ("drop index b on a.t", TABLE + ROWS),
    ("create index i on a.nix (c)", ""), ("drop table a.t", TABLE + ROWS), ("drop table if exists a.nix", ""), ("drop table a.nix", ""),
    ("drop table a.t, a.nix", TABLE + ROWS),
    ("create database d", "drop database d"), ("create database if not exists a", ""), ("create database a", ""), ("alter database a character set utf8", "alter database a character set latin1"),
    ("drop database a", WHOLE), ("drop database if exists nix", ""), ("drop database nix", ""), ("use a", ""), ("use oth", ""), ("use nix", ""), ("use mysql", ""),
    # Tables as a whole.
    ("lock tables a.t read", ""), ("lock tables a.t write", ""), ("lock tables a.nix read", ""), ("check table a.t", ""), ("check table a.nix", ""), ("analyze table a.t", ""),
    ("optimize table a.t", ""), ("repair table a.t", ""), ("checksum table a.t", ""), ("flush tables", ""), ("flush tables a.t", ""),
    ("flush tables with read lock", ""), ("flush tables a.t with read lock", ""), ("flush privileges", ""), ("flush status", ""), ("flush hosts", ""),
    ("flush logs", ""), ("flush user_resources", ""), ("kill 999999", ""),
    # What is told.
    ("show databases like 'a'", ""), ("show databases like 'mysql'", ""), ("show tables from a", ""), ("show tables from oth", ""), ("show tables from nix", ""),
    ("show tables from mysql like 'user'", ""), ("show table status from a", ""), ("show open tables from a like 'nix'", ""), ("show columns from a.t", ""), ("show columns from a.nix", ""),
    ("show full columns from a.t", ""), ("show index from a.t", ""), ("show index from a.nix", ""), ("show create table a.t", ""), ("show create table a.nix", ""), ("show create database a", ""),
    ("show create database nix", ""), ("show grants", ""), ("show grants for v@localhost", ""), ("show grants for nix@localhost", ""), ("show engine innodb status", ""),
    ("show engine innodb mutex", ""), ("show master status", ""), ("show slave status", ""), ("show binary logs", ""), ("show variables like 'version'", ""), ("show status like 'uptime'", ""), ("show triggers from a", ""), ("show triggers from nix", ""),
    ("show privileges", ""), ("show engines", ""), ("show procedure status", ""), ("show events from a", ""), ("show plugins", ""),
    ("select schema_name from information_schema.schemata where schema_name in ('a', 'oth', 'mine', 'mysql')", ""),
    ("select table_name from information_schema.tables where table_schema in ('a', 'oth', 'mine')", ""),
    ("select table_name from information_schema.tables where table_schema = 'mysql' and table_name in ('user', 'db', 'tables_priv', 'columns_priv')", ""),
    ("select column_name from information_schema.columns where table_schema in ('a', 'oth', 'mine')", ""),
    ("select index_name from information_schema.statistics where table_schema in ('a', 'oth', 'mine')", ""),
    ("select constraint_name from information_schema.table_constraints where table_schema in ('a', 'oth', 'mine')", ""),
    ("select column_name from information_schema.key_column_usage where table_schema in ('a', 'oth', 'mine')", ""),
    ("select * from information_schema.user_privileges where grantee = \"'v'@'localhost'\"", ""),
    ("select * from information_schema.schema_privileges where grantee = \"'w'@'localhost'\"", ""),
    ("select * from information_schema.table_privileges where grantee = \"'w'@'localhost'\"", ""),
    ("select * from information_schema.column_privileges where grantee = \"'w'@'localhost'\"", ""),
    ("select count(*) >= 0 from information_schema.innodb_trx", ""), ("select count(*) >= 0 from information_schema.innodb_locks", ""),
    ("select count(*) >= 0 from information_schema.innodb_sys_tables", ""), ("select count(*) >= 0 from information_schema.innodb_sys_columns", ""),
    ("select count(*) >= 0 from information_schema.innodb_sys_indexes", ""), ("select count(*) >= 0 from information_schema.innodb_sys_tablestats", ""),
    ("select count(*) >= 0 from information_schema.innodb_metrics", ""), 
    
    ("insert into information_schema.tables values (1)", ""),
    ("select user from mysql.user where 1 = 0", ""),
    # Settings.
    ("set global sort_buffer_size = 262144", ""), ("set session sort_buffer_size = 262144", ""), ("set session sql_log_bin = 1", ""), ("set global autocommit = 1", ""),
    # Accounts.
    ("create user z@localhost", Z), ("create user z@localhost identified by 'z'", Z), ("drop user nix@localhost", ""), ("rename user nix@localhost to nixx@localhost", ""),
    ("alter user nix@localhost password expire", ""), ("set password for v@localhost = password('')", ""), ("set password for nix@localhost = password('')", ""), ("set password = password('')", ""),
    ("grant select on a.* to v@localhost", V), ("grant select on a.t to v@localhost", V), ("grant select (id) on a.t to v@localhost", V),
    ("grant select (b) on a.t to v@localhost", V), ("grant select (nix) on a.t to v@localhost", V), ("grant select on a.nix to v@localhost", V), ("grant insert on a.t to v@localhost", V), ("grant all on a.* to v@localhost", V),
    ("grant all on a.t to v@localhost", V), ("grant select on *.* to v@localhost", V), ("grant usage on *.* to v@localhost", V), ("grant usage on a.* to v@localhost", V),
    ("grant usage on a.t to v@localhost", V), ("grant process on *.* to v@localhost", V), ("grant select on oth.* to v@localhost", V), ("grant select on a.* to v@localhost with grant option", V),
    ("grant select on a.* to v@localhost identified by 'x'", V), ("grant select on a.t to v@localhost identified by 'x'", V), ("grant usage on *.* to v@localhost identified by 'x'", V),
    ("grant select on a.* to z@localhost", Z), ("grant select on a.* to z@localhost identified by 'x'", Z), ("grant select on *.* to z@localhost identified by 'x'", Z), ("grant usage on *.* to z@localhost", Z),
    ("revoke select on a.* from w@localhost", "grant select on a.* to w@localhost"), ("revoke select on a.t from w@localhost", "grant select on a.t to w@localhost"),
    ("revoke select on a.* from nix@localhost", ""), ("revoke select on *.* from v@localhost", ""), ("revoke all privileges, grant option from v@localhost", V),
]


# After these a session is not what it was.
LEAVES_TRACES = ["use", "lock", "flush", "set", "prepare"]


def client(connection, sql):
    cursor = connection.cursor()
    rows = 0
    try:
        for statement in sql.split("; "):
            cursor.execute(statement)
            rows = len(cursor.fetchall())
    except pymysql.MySQLError as e:
        return str(e.args[0])
    return f"+{rows}" if cursor.description else "0"


def connect(socket, user):
    return pymysql.connect(unix_socket=socket, user=user, autocommit=True)


def main():
    others = ["create user v@localhost", "create user w@localhost", "grant select, insert on a.* to w@localhost",
              "grant select, update (b) on a.t to w@localhost"]
    record(sys.argv[1], SETUP + others, ACCOUNTS, STATEMENTS, "matrix.tsv")


def record(socket, setup, privileges, statements, name_of_file):
    accounts = []
    for number, grants in enumerate(privileges):
        made = [f"create user u{number}@localhost"]
        for grant in grants:
            what, option, _ = grant.partition(" with grant option")
            made.append(f"grant {what} to u{number}@localhost{option}")
        accounts.append((f"u{number}", made))
    root = connect(socket, "root")
    for sql in setup + [sql for _, made in accounts for sql in made]:
        code = client(root, sql)
        assert code == "0", (sql, code)
    out = [f"setup\t{sql}" for sql in setup]
    out += [f"account\t{name}\t{'; '.join(made)}" for name, made in accounts]
    sessions = {name: connect(socket, name) for name, _ in accounts}
    for sql, repair in statements:
        cells = []
        for name, _ in accounts:
            session = sessions[name]
            code = client(session, sql)
            if code[0] in "0+" and (sql.split()[0] in LEAVES_TRACES or sql.startswith("create temporary ")):
                session.close()
                sessions[name] = connect(socket, name)
            cells.append(code)
            if repair and (code == "0" or "drop table a.t" in sql or "drop view a.v" in sql):
                assert client(root, repair) == "0", (sql, name, code, repair, client(root, repair))
        out.append(f"statement\t{sql}\t{repair}\t{' '.join(cells)}")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name_of_file), "w") as f:
        f.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
