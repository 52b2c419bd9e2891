#!/usr/bin/env python3
"""Records what a real MySQL 5.6.24 does with every statement that names tables, when the session has temporary tables of
these names and nothing but CREATE TEMPORARY TABLES on their database.

Usage: record_temporary.py SOCKET, with PyMySQL installed and a fresh server; writes temporary.tsv beside it. Its lines:
`setup` what root makes before every statement; `own` what the user makes then; `shared` and `private` questions about what
there is, of root and of the user; `statement` one that the user tries: an error's number or `0`, and what the questions
answer afterwards that they did not before.
"""
import os
import sys

import pymysql

SETUP = [
    "drop database if exists d", "drop database if exists own", "create database d", "create database own",
    "create table d.secret (x int primary key, b int, key kb (b))", "insert into d.secret values (1, 1), (2, 2)",
    "create table d.victim (x int primary key, b int, key kb (b))", "insert into d.victim values (1, 1), (2, 2)",
    "create table d.other (x int primary key, b int, key kb (b))", "insert into d.other values (1, 1), (2, 2)",
    "create table d.parted (x int primary key, b int) partition by range (x) (partition p0 values less than (10), partition p1 values less than (20))",
    "insert into d.parted values (1, 1), (11, 2)",
    "create view d.report as select x, b from d.other", "create view d.plain as select x, b from d.other",
    "create trigger d.tr before insert on d.victim for each row set @z = 1",
    "create table own.mine (x int primary key, b int, key kb (b))", "insert into own.mine values (1, 1), (2, 2)",
    "create table own.parted (x int primary key, b int) partition by range (x) (partition p0 values less than (10), partition p1 values less than (20))",
    "create view own.report as select x, b from own.mine",
    "create table own.both (x int primary key, b int, key kb (b))", "insert into own.both values (1, 1), (2, 2)",
]
NAMES = ["d.secret", "d.victim", "d.report", "d.parted", "d.newt", "own.both"]
OWN = [f"create temporary table {name} (x int primary key, b int, key kb (b))" for name in NAMES] + [
    f"insert into {name} values (7, 7), (8, 8), (9, 9)" for name in NAMES
]
SHARED = [
    "select concat(table_schema, '.', table_name, ' ', table_type) from information_schema.tables where table_schema in ('d', 'own') order by 1",
    "select concat(table_schema, '.', table_name, '.', column_name, ' ', column_type) from information_schema.columns where table_schema in ('d', 'own') order by 1",
    "select concat('key ', table_schema, '.', table_name, '.', index_name, '.', column_name) from information_schema.statistics where table_schema in ('d', 'own') order by 1",
    "select concat('trigger ', trigger_schema, '.', trigger_name, ' of ', event_object_table) from information_schema.triggers where trigger_schema in ('d', 'own') order by 1",
    "select concat('constraint ', constraint_schema, '.', table_name, ' ', constraint_type) from information_schema.table_constraints where constraint_schema in ('d', 'own') order by 1",
    "select concat('secret ', x, ' ', b) from d.secret order by 1", "select concat('victim ', x, ' ', b) from d.victim order by 1",
    "select concat('other ', x, ' ', b) from d.other order by 1", "select concat('parted ', x, ' ', b) from d.parted order by 1",
    "select concat('mine ', x, ' ', b) from own.mine order by 1", "select concat('both ', x, ' ', b) from own.both order by 1",
    "select concat('stolen ', x, ' ', b) from own.stolen order by 1",
]
PRIVATE = [f"select concat('own {name} ', count(*)) from {name}" for name in NAMES + ["d.renamed", "own.stolen"]]


def statements():
    """Every statement that names tables, with a name that hides a base table, one that hides a view, one that hides nothing,
    one that is none, and one where the user may do everything."""
    for t in ["d.secret", "d.report", "d.newt", "d.other", "own.both"]:
        yield from [
            f"create table {t} (x int)", f"create table if not exists {t} (x int)", f"create table {t} like own.mine", f"create table {t} select 1 as x",
            f"create table own.stolen like {t}", f"create table own.stolen select * from {t}", f"create temporary table own.stolen like {t}",
            f"create temporary table own.stolen select * from {t}", f"create temporary table {t} (x int)", f"create temporary table if not exists {t} (x int)",
            f"create table own.stolen (x int, foreign key (x) references {t} (x))", f"create table own.stolen (x int) engine = merge union = ({t})",
            f"alter table own.mine add foreign key (b) references {t} (x)",
            f"alter table {t} add c int", f"alter table {t} rename to d.renamed", f"alter table {t} rename to own.stolen", f"alter table {t} add key kn (b, x)",
            f"alter table {t} drop key kb", f"alter table {t} engine = innodb", f"alter table {t} comment = 'x'", f"alter table {t} disable keys",
            f"alter table {t} order by b", f"alter table {t} discard tablespace", f"alter table {t} add foreign key (b) references own.mine (x)",
            f"alter table {t} add foreign key (b) references d.other (x)", f"alter ignore table {t} add unique (b)", f"alter table {t} alter b set default 1",
            f"alter table own.mine rename to {t}", f"rename table {t} to own.stolen", f"rename table {t} to d.renamed", f"rename table own.mine to {t}",
            f"rename table own.mine to own.stolen, {t} to own.mine",
            f"drop table {t}", f"drop table if exists {t}", f"drop table {t}, {t}", f"drop table d.victim, {t}", f"drop table own.mine, {t}", f"drop temporary table {t}",
            f"drop temporary table if exists {t}", f"drop temporary table {t}, {t}", f"drop view {t}", f"drop view if exists {t}", f"drop view own.report, {t}",
            f"truncate table {t}", f"create index kn on {t} (b, x)", f"create unique index kn on {t} (b)", f"drop index kb on {t}",
            f"create view {t} as select 1 as one", f"create or replace view {t} as select 1 as one", f"alter view {t} as select 1 as one",
            f"create view own.stolen as select * from {t}", f"create or replace view own.report as select * from {t}",
            f"create trigger d.ntr before insert on {t} for each row set @z = 2", f"create trigger own.ntr before insert on {t} for each row set @z = 2",
            f"analyze table {t}", f"check table {t}", f"optimize table {t}", f"repair table {t}", f"checksum table {t}", f"check table own.mine, {t}",
            f"flush table {t}", f"flush tables {t} for export", f"flush tables {t} with read lock", f"lock tables {t} read", f"lock tables {t} write", f"lock tables own.mine read, {t} write",
            f"select * from {t}", f"select * from {t} for update", f"select * from own.mine join {t} using (x)", f"select (select max(x) from {t})", f"select * from (select * from {t}) as s",
            f"insert into {t} values (5, 5)", f"insert into own.mine select x, b from {t}", f"replace into {t} values (7, 5)", f"update {t} set b = 5", f"delete from {t}",
            f"update own.mine join {t} using (x) set mine.b = 5", f"delete {t} from {t} join own.mine", f"delete from {t} using {t} join d.victim",
            f"insert into {t} values (7, 5) on duplicate key update b = 6", f"insert into {t} select x + 100, b from own.mine",
            f"select * from {t} into @a, @b", f"set @a = (select max(x) from {t})", f"do (select max(x) from {t})",
            f"show create table {t}", f"show columns from {t}", f"show keys from {t}", f"show full columns from {t}", f"describe {t}", f"show create view {t}", f"explain select * from {t}",
            f"explain update {t} set b = 5", f"prepare p from 'select * from {t}'", f"prepare p from 'drop table {t}, {t}'",
            f"alter table {t} partition by hash (x) partitions 2", f"alter table {t} remove partitioning",
        ]
    yield from [
        "alter table own.parted exchange partition p0 with table d.secret", "alter table own.parted exchange partition p0 with table d.other",
        "alter table d.parted exchange partition p0 with table own.mine", "alter table d.parted exchange partition p0 with table d.secret",
        "alter table d.parted drop partition p0", "alter table d.parted truncate partition p0", "alter table d.parted add partition (partition p2 values less than (30))",
        "alter table d.parted analyze partition p0", "alter table d.parted check partition p0", "alter table d.parted rebuild partition p0", "select * from d.parted partition (p0)",
        "drop trigger d.tr", "insert into d.victim values (3, 3)", "show triggers from d", "show tables from d", "show table status from d", "drop database d", "create procedure d.p() drop table d.secret, d.secret",
        "rename table d.secret to d.newt, d.newt to own.stolen", "rename table d.newt to d.renamed", "drop table d.secret, d.other", "drop table d.other, d.secret",
        "drop table d.secret, d.nix", "drop table d.nix, d.secret", "drop table if exists d.nix, d.secret", "drop table d.secret, d.report, d.newt", "drop table d.secret, d.victim, d.secret",
        "drop view d.report, d.plain", "drop view d.report, d.report", "drop temporary table d.secret, d.other", "drop temporary table if exists d.secret, d.other",
        "create table own.stolen (x int, foreign key (x) references secret (x))", "create table own.stolen (x int primary key, foreign key (x) references d.secret (b))",
        "create temporary table own.stolen (x int, foreign key (x) references d.secret (x))",
        "checksum table d.secret, d.other", "optimize table d.secret, d.other", "flush tables d.secret, d.other with read lock",
        "load data infile '/dev/null' into table d.secret", "truncate table d.parted", "insert into d.secret select * from d.victim", "delete d.secret, d.victim from d.secret join d.victim",
        "create table own.stolen select * from d.secret union select * from d.victim", "create table d.newt select * from d.secret",
        "alter table d.secret rename to d.newt", "alter table d.secret rename to d.victim", "alter table d.secret rename to d.other", "alter table d.secret add c int, rename to own.stolen",
        "alter table own.mine add c int, rename to d.newt", "alter table own.mine add c int, rename to d.nix",
    ]


def told(connection, sql):
    """An error's number, or 0; the rows of the last result with rows."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            rows = cursor.fetchall()
            while cursor.nextset():
                pass
            return "0", rows
    except pymysql.err.MySQLError as error:
        return str(error.args[0]), ()


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def seen(root, user):
    """What there is."""
    lines = []
    for who, questions in (root, SHARED), (user, PRIVATE):
        for question in questions:
            lines += [text(row[0]) for row in told(who, question)[1]]
    return lines


def difference(before, after):
    """Lines that are gone and lines that came."""
    return "; ".join([f"-{line}" for line in before if line not in after] + [f"+{line}" for line in after if line not in before])


def main():
    socket = sys.argv[1]
    root = pymysql.connect(unix_socket=socket, user="root", autocommit=True)
    for sql in ["create user u@localhost", "grant create temporary tables on d.* to u@localhost", "grant all on own.* to u@localhost"]:
        told(root, sql)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "temporary.tsv"), "w", encoding="utf-8") as out:
        for kind, lines in ("setup", SETUP), ("own", OWN), ("shared", SHARED), ("private", PRIVATE):
            out.writelines(f"{kind}\t{sql}\n" for sql in lines)
        for sql in statements():
            for prepared in SETUP:
                assert told(root, prepared)[0] == "0", prepared
            user = pymysql.connect(unix_socket=socket, user="u", autocommit=True)
            for prepared in OWN:
                assert told(user, prepared)[0] == "0", prepared
            before = seen(root, user)
            answer, rows = told(user, sql)
            # What looks after tables says in its rows how that went.
            if sql.split(" ")[0] in ("analyze", "check", "optimize", "repair", "checksum"):
                rows = [f"{row[0]} {row[-1]}" for row in rows]
                answer = f"{answer} {', '.join(rows)}".rstrip()
            told(user, "unlock tables")
            out.write(f"statement\t{sql}\t{answer}\t{difference(before, seen(root, user))}\n")
            user.close()


if __name__ == "__main__":
    main()
