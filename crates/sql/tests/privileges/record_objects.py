#!/usr/bin/env python3
"""Records what a real MySQL 5.6.24 lets accounts do with views, procedures, functions, triggers, events and temporary tables: every
statement below, by every account below.

Usage: record_objects.py SOCKET, with PyMySQL installed and a fresh server; writes objects.tsv beside it, as record.py does.
"""
import sys

from record import record

VIEW = "create sql security definer view a.v as select id, b from a.t"
INVOKERS_VIEW = "create sql security invoker view a.vi as select id, b from a.t"
PROCEDURE = "create procedure a.p() select count(*) from a.t"
INVOKERS_PROCEDURE = "create procedure a.pi() sql security invoker select count(*) from a.t"
FUNCTION = "create function a.f() returns int reads sql data return (select count(*) from a.t)"
INVOKERS_FUNCTION = "create function a.fi() returns int reads sql data sql security invoker return (select count(*) from a.t)"
TRIGGER = "create trigger a.tr before insert on a.u for each row insert into a.log values (new.id)"
EVENT = "create event a.ev on schedule every 1 day disable do set @x = 1"
# Those that accounts have privileges of their own on.
OWN_PROCEDURE = "create procedure a.q() select count(*) from a.t"
OWN_FUNCTION = "create function a.g() returns int reads sql data return (select count(*) from a.t)"
SETUP = [
    "create database a", "create database mine", "create database oth",
    "create table a.t (id int primary key, b int)", "insert into a.t values (1, 1), (2, 2)",
    "create table a.u (id int primary key, v int)", "create table a.log (id int)",
    "create table oth.p (id int primary key)", "create user v@localhost",
    VIEW, INVOKERS_VIEW, PROCEDURE, INVOKERS_PROCEDURE, FUNCTION, INVOKERS_FUNCTION, TRIGGER, EVENT, OWN_PROCEDURE, OWN_FUNCTION,
]
ON_DATABASE = ["select", "insert", "update", "delete", "create", "drop", "references", "index", "alter", "lock tables",
               "create temporary tables", "create view", "show view", "create routine", "alter routine", "execute", "trigger", "event"]
ON_TABLE = ["select", "insert", "update", "delete", "create", "drop", "alter", "index", "references", "create view", "show view",
            "trigger"]
OF_ROUTINES = [
    ["execute on procedure a.q"], ["alter routine on procedure a.q"], ["grant option on procedure a.q"], ["execute on function a.g"],
    ["alter routine on function a.g"], ["all on procedure a.q", "all on function a.g"], ["execute on procedure a.q", "create routine on a.*"],
    ["execute, grant option on procedure a.q"],
]
ACCOUNTS = (
    [[]]
    + [[f"{p} on a.*"] for p in ON_DATABASE]
    # All but one.
    + [[f"{', '.join(p for p in ON_DATABASE if p != missing)} on a.*"] for missing in ON_DATABASE]
    + [[f"{p} on a.t"] for p in ON_TABLE]
    + [[f"{p} on a.v"] for p in ["select", "insert", "update", "delete", "drop", "create view", "show view"]]
    + [[f"{p} on a.u"] for p in ["insert", "trigger", "delete"]]
    + [[f"{p} on *.*"] for p in ["super", "create routine", "execute", "alter routine", "trigger", "create view", "select", "process"]]
    + [
        ["all on a.*"], ["all on a.t"], ["all on *.*"],
        ["select on a.v", "show view on a.v"], ["select on a.vi"], ["select on a.vi", "select on a.t"], ["select on a.vi", "select (id) on a.t"],
        ["create view on a.*", "select on a.t"], ["create view, drop on a.*", "select on a.t"], ["create view on a.*", "select (id) on a.t"],
        ["create view, drop, select on a.*"], ["create view on a.*", "insert on a.t"],
        ["create view, show view on a.*", "select (id) on a.v"], ["select, show view on a.*"],
        ["execute on a.*", "select on a.t"], ["create routine on a.*", "select on mysql.*"], ["alter routine, create routine on a.*"],
        ["trigger on a.u", "insert on a.u"], ["trigger on a.u", "insert on a.u", "super on *.*"], ["insert (id) on a.u"],
        ["create temporary tables, select on a.*"], ["create temporary tables on a.*", "select on a.t"], ["select on mysql.*"],
        ["create view, trigger, create routine, super on *.*"],
        ["event on *.*"], ["event on mine.*"], ["event on a.*", "event on mine.*"], ["event, super on *.*"],
    ]
    + OF_ROUTINES
)
# What a routine's end has taken from the accounts.
AGAIN = "; ".join(
    f"grant {grant} to u{len(ACCOUNTS) - len(OF_ROUTINES) + at}@localhost" for at, grants in enumerate(OF_ROUTINES) for grant in grants if "a.*" not in grant
)
ROWS = "delete from a.u; delete from a.log; delete from a.t; insert into a.t values (1, 1), (2, 2)"
NV, NP, NF = "drop view if exists a.nv", "drop procedure if exists a.np", "drop function if exists a.nf"
NTR, NEV = "drop trigger if exists a.ntr", "drop event if exists a.nev"
E = f"drop event if exists a.ev; {EVENT}"
V, P, F, TR = (f"drop view if exists a.v; {VIEW}", f"drop procedure if exists a.p; {PROCEDURE}", f"drop function if exists a.f; {FUNCTION}",
               f"drop trigger if exists a.tr; {TRIGGER}")
STATEMENTS = [
    # Views.
    ("select count(*) from a.v", ""), ("select id from a.v", ""), ("select id from a.vi", ""), ("select v.id from a.v join a.t on v.id = t.id", ""),
    ("select nix from a.v", ""), ("select * from a.nv", ""), ("explain select id from a.v", ""), ("describe a.v", ""),
    ("create view a.nv as select 1 as one", NV), ("create view a.nv as select id from a.t", NV), ("create view a.nv as select id, b from a.t", NV),
    ("create view a.nv as select id from a.v", NV), ("create view a.nv as select t.id from a.t, oth.p", NV), ("create view a.nv as select a.f() as f", NV),
    ("create view a.nv as select * from a.nix", ""), ("create view nix.nv as select 1 as one", ""),
    ("create or replace view a.v as select id, b from a.t", V), ("create or replace view a.nv as select id from a.t", NV),
    ("create definer = v@localhost view a.nv as select 1 as one", NV), ("create definer = v@localhost sql security invoker view a.nv as select id from a.t", NV),
    ("alter view a.v as select id from a.t", V), ("alter view a.nv as select id from a.t", ""), ("drop view a.v", V), ("drop view a.nv", ""),
    ("drop view if exists a.nv", ""), ("drop view a.v, a.nv", V), ("show create view a.v", ""), ("show create view a.vi", ""), ("show create table a.v", ""),
    ("show create view a.nv", ""), ("show columns from a.v", ""), ("show full tables from a like 'v'", ""), ("rename table a.v to a.nv", "drop view if exists a.nv; " + V),
    ("check table a.v", ""), ("lock tables a.v read", ""),
    ("select table_name from information_schema.views where table_schema = 'a'", ""),
    ("select view_definition <> '' from information_schema.views where table_schema = 'a' and table_name = 'v'", ""),
    ("grant select on a.v to v@localhost", "revoke select on a.v from v@localhost"),
    # Procedures and functions.
    ("call a.p()", ""), ("call a.pi()", ""), ("call a.nix()", ""), ("select a.f()", ""), ("select a.fi()", ""), ("select a.nix()", ""), ("do a.f()", ""),
    ("set @x = a.f()", ""), ("select id from a.t where id = a.f()", ""), ("create procedure a.np() select 1", NP), ("create procedure nix.np() select 1", ""),
    ("create procedure a.np() select * from oth.p", NP), ("create definer = v@localhost procedure a.np() select 1", NP), ("create procedure a.p() select 1", ""),
    ("create function a.nf() returns int return 1", NF), ("create function a.nf() returns int return a.f()", NF), ("create function a.f() returns int return 1", ""),
    ("alter procedure a.p comment 'x'", P), ("alter procedure a.p sql security invoker", P), ("alter function a.f comment 'x'", F), ("alter procedure a.nix comment 'x'", ""),
    ("drop procedure a.p", P), ("drop function a.f", F), ("drop procedure a.nix", ""), ("drop procedure if exists a.nix", ""), ("drop function if exists a.nix", ""),
    ("show create procedure a.p", ""), ("show create function a.f", ""), ("show create procedure a.nix", ""),
    ("show procedure status where db = 'a'", ""), ("show function status where db = 'a'", ""),
    ("select routine_name from information_schema.routines where routine_schema = 'a'", ""),
    ("select routine_name from information_schema.routines where routine_schema = 'a' and routine_definition is not null", ""),
    ("select parameter_mode from information_schema.parameters where specific_schema = 'a'", ""),
    # Triggers.
    ("insert into a.u values (1, 1)", ROWS), ("insert into a.u (id) values (1)", ROWS), ("replace into a.u values (1, 1)", ROWS),
    ("create trigger a.ntr before insert on a.t for each row set @x = 1", NTR), ("create trigger a.ntr before delete on a.t for each row insert into a.log values (1)", NTR),
    ("create trigger a.ntr before insert on a.t for each row set new.b = 1", NTR), ("create trigger a.ntr after update on a.t for each row set @x = old.b", NTR),
    ("create definer = v@localhost trigger a.ntr before insert on a.t for each row set @x = 1", NTR), ("create trigger a.ntr before insert on a.nix for each row set @x = 1", ""),
    ("create trigger a.ntr before insert on a.v for each row set @x = 1", ""), ("create trigger a.tr before insert on a.t for each row set @x = 1", ""),
    ("create trigger oth.ntr before insert on a.t for each row set @x = 1", ""), ("drop trigger a.tr", TR), ("drop trigger a.nix", ""), ("drop trigger if exists a.nix", ""),
    ("show create trigger a.tr", ""), ("show create trigger a.nix", ""), ("show triggers from a", ""),
    ("select trigger_name from information_schema.triggers where trigger_schema = 'a'", ""),
    # Events.
    ("create event a.nev on schedule every 1 day disable do set @x = 1", NEV), ("create event a.ev on schedule every 1 day do set @x = 1", ""),
    ("create event if not exists a.ev on schedule every 1 day do set @x = 1", ""), ("create event nix.nev on schedule every 1 day do set @x = 1", ""),
    ("create event a.nev on schedule every 1 day disable do insert into oth.p values (1)", NEV),
    ("create definer = v@localhost event a.nev on schedule every 1 day disable do set @x = 1", NEV),
    ("create event information_schema.nev on schedule every 1 day do set @x = 1", ""),
    ("alter event a.ev comment 'x'", E), ("alter event a.ev disable", E), ("alter event a.ev rename to a.nev", f"{NEV}; {E}"),
    ("alter event a.ev rename to mine.nev", f"drop event if exists mine.nev; {E}"), ("alter event a.nix disable", ""),
    ("alter definer = v@localhost event a.ev disable", E), ("drop event a.ev", E), ("drop event a.nix", ""), ("drop event if exists a.nix", ""),
    ("show create event a.ev", ""), ("show create event a.nix", ""), ("show events from a", ""), ("show events from oth", ""),
    ("select event_name from information_schema.events where event_schema = 'a'", ""),
    ("select name from mysql.event where db = 'a'", ""), ("select name from mysql.proc where db = 'a' and type = 'FUNCTION' and name < 'g'", ""),
    ("set global event_scheduler = off", ""),
    # Privileges on a single routine.
    ("call a.q()", ""), ("select a.g()", ""), ("show create procedure a.q", ""), ("show create function a.g", ""),
    ("show procedure status where db = 'a' and name = 'q'", ""), ("show function status where db = 'a' and name = 'g'", ""),
    ("select routine_definition is null from information_schema.routines where routine_schema = 'a' and routine_name = 'q'", ""),
    ("select parameter_name from information_schema.parameters where specific_schema = 'a' and specific_name = 'g'", ""),
    ("alter procedure a.q comment 'x'", ""), ("alter function a.g comment 'x'", ""), ("create procedure a.q() select 1", ""),
    ("grant execute on procedure a.q to v@localhost", "revoke all, grant option from v@localhost"),
    ("grant alter routine on procedure a.q to v@localhost", "revoke all, grant option from v@localhost"),
    ("grant execute on function a.g to v@localhost", "revoke all, grant option from v@localhost"),
    ("revoke execute on procedure a.q from v@localhost", ""), ("create view a.nv as select a.g() as g", NV),
    ("create procedure a.np() call a.q()", NP), ("use a", ""), ("show tables from a", ""),
    ("drop function a.g", f"drop function if exists a.g; {OWN_FUNCTION}; {AGAIN}"),
    ("drop procedure a.q", f"drop procedure if exists a.q; {OWN_PROCEDURE}; {AGAIN}"),
    # Temporary tables: they go with the session.
    ("create temporary table a.tmp (id int)", ""), ("create temporary table a.tmp select id from a.t", ""), ("create temporary table a.tmp like a.t", ""),
    ("create temporary table a.tmp select id from a.v", ""), ("create temporary table oth.tmp (id int)", ""),
    ("drop temporary table a.tmp", ""), ("drop temporary table if exists a.tmp", ""), ("drop temporary table a.t", ""),
]

if __name__ == "__main__":
    record(sys.argv[1], SETUP, ACCOUNTS, STATEMENTS, "objects.tsv")
