-- CREATE, ALTER, DROP and SHOW EVENT: what is kept of them, and what is refused.
create event e1 on schedule every 1 hour starts '2036-01-01 10:00:00' do select 1;
show create event e1;
show events;
select event_catalog, event_schema, event_name, definer, time_zone, event_body, event_definition, event_type, execute_at, interval_value, interval_field, sql_mode, starts, ends, status, on_completion, last_executed, event_comment, originator, character_set_client, collation_connection, database_collation from information_schema.events where event_schema='sql_events';
create event e1 on schedule every 1 hour do select 1;
create event if not exists e1 on schedule every 1 hour do select 1;
show warnings;
create event E1 on schedule every 1 hour do select 1;
create event e3 on schedule at '2000-01-01 00:00:00' do select 1;
show warnings;
create event e3 on schedule at '2000-01-01 00:00:00' disable do select 1;
create event e4 on schedule at '2000-01-01 00:00:00' on completion preserve do select 1;
show warnings;
show create event e4;
create event e5 on schedule every 1 hour starts '2000-01-01' ends '2001-01-01' do select 1;
create event e5 on schedule every 1 hour starts '2000-01-01' ends '2001-01-01' on completion preserve do select 1;
show create event e5;
create event e7 on schedule at '2000-01-01' on completion preserve disable do select 1;
create event e8 on schedule at '2000-01-01' on completion preserve disable on slave do select 1;
select event_name, status from information_schema.events where event_schema='sql_events' order by 1;
create event e6 on schedule every 1 hour starts '2030-01-01' ends '2029-01-01' do select 1;
create event e6 on schedule every 1 hour starts '2030-01-01' ends '2030-01-01' do select 1;
create event e6 on schedule every 0 hour do select 1;
create event e6 on schedule every -1 hour do select 1;
create event e6 on schedule every 0.4 second do select 1;
create event e6 on schedule every 'x' hour do select 1;
create event e6 on schedule every '' minute_second do select 1;
create event e6 on schedule every null hour do select 1;
create event e6 on schedule every null minute_second do select 1;
create event e6 on schedule every '1:2:3' minute_second do select 1;
create event e6 on schedule every @nope hour do select 1;
create event e6 on schedule every 1000000001 second do select 1;
create event e6 on schedule every 18446744073709551615 second do select 1;
create event e6 on schedule at null do select 1;
create event e6 on schedule at 'x' do select 1;
create event e6 on schedule at 1 do select 1;
create event e6 on schedule at '2036-02-30' do select 1;
create event e6 on schedule at '2036-02-00' do select 1;
create event e6 on schedule at '2039-01-01' do select 1;
create event e6 on schedule at '1960-01-01' do select 1;
create event e6 on schedule every 1 hour starts null do select 1;
create event e6 on schedule every 1 hour starts 'x' do select 1;
create event e6 on schedule every 1 hour ends 'x' do select 1;
create event e6 on schedule every 1 hour ends null do select 1;
create event e6 on schedule every 1 second ends '2050-01-01' do select 1;
create event e6 on schedule every 1 hour ends now() - interval 1 day do select 1;
create event e6 on schedule every count(*) hour do select 1;
create event nodb.e6 on schedule every 1 second do select 1;
create event information_schema.e6 on schedule every 1 second do select 1;
create event `` on schedule every 1 second do select 1;
create event `a ` on schedule every 1 second do select 1;
create event aaaaaaaaaabbbbbbbbbbccccccccccddddddddddaaaaaaaaaabbbbbbbbbbccccccccccdddddddddd on schedule every 1 second do select 1;
create event i01 on schedule every 1.5 hour starts '2036-01-01' disable do select 1;
create event i02 on schedule every '1:2' minute_second starts '2036-01-01' disable do select 1;
create event i03 on schedule every '1 2:3:4' day_second starts '2036-01-01' disable do select 1;
create event i04 on schedule every '1-2' year_month starts '2036-01-01' disable do select 1;
create event i05 on schedule every '1 2' day_hour starts '2036-01-01' disable do select 1;
create event i06 on schedule every '1 2:3' day_minute starts '2036-01-01' disable do select 1;
create event i07 on schedule every '2:3' hour_minute starts '2036-01-01' disable do select 1;
create event i08 on schedule every '2:3:4' hour_second starts '2036-01-01' disable do select 1;
create event i09 on schedule every 3 quarter starts '2036-01-01' disable do select 1;
create event i10 on schedule every 3 week starts '2036-01-01' disable do select 1;
create event i11 on schedule every 1+1 year starts '2036-01-01' disable do select 1;
create event i12 on schedule every '3abc' day starts '2036-01-01' disable do select 1;
create event i13 on schedule every '1:99' minute_second starts '2036-01-01' disable do select 1;
create event i14 on schedule every '5' minute_second starts '2036-01-01' disable do select 1;
create event i15 on schedule every '10-100' year_month starts '2036-01-01' disable do select 1;
create event i16 on schedule every '1 30' day_hour starts '2036-01-01' disable do select 1;
create event i17 on schedule every 90 minute_second starts '2036-01-01' disable do select 1;
create event i18 on schedule every 1e9 second starts '2036-01-01' disable do select 1;
create event i19 on schedule every (select 2) minute starts '2036-01-01' disable do select 1;
set @x = 3;
create event i20 on schedule every @x month starts '2036-01-01' ends '2037-02-03 04:05:06' disable do select 1;
select event_name, interval_value, interval_field, starts, ends from information_schema.events where event_name like 'i__' order by 1;
show create event i03;
show events where `interval value` = '''1:2''';
create event t1 on schedule at 20300101 do select 1;
create event t2 on schedule at 20360101101010 do select 1;
create event t3 on schedule at '2036-02-20 23:00:00.7' do select 1;
create event t4 on schedule at '20360220' + interval 1 day do select 1;
create event t5 on schedule at cast('2036-01-01' as date) do select 1;
create event t6 on schedule at '2038-01-19 03:14:07' do select 1;
select event_name, execute_at from information_schema.events where event_name like 't_' order by 1;
drop event nope;
drop event if exists nope;
show warnings;
drop event nodb.nope;
drop event if exists nodb.nope;
alter event nope disable;
alter event nodb.nope disable;
alter event e1 rename to e1b;
show create event e1b;
show create event e1;
alter event e1b rename to e5;
alter event e1b rename to e1b;
alter event e1b rename to E1B;
alter event e1b rename to nodb.x;
alter event e1b;
alter event e1b comment 'it''s \\ "c"';
show create event e1b;
select event_comment from information_schema.events where event_name = 'e1b';
alter event e1b disable on slave;
alter event e1b on completion preserve;
show create event e1b;
alter event e1b do select 2;
show create event e1b;
alter event e1b on schedule every 5 minute starts '2036-01-01' ends '2037-01-01' enable;
show create event e1b;
alter event e1b on schedule every 5 hour starts '2035-01-01';
show create event e1b;
alter event e1b on schedule at '2036-01-01';
show create event e1b;
alter event e1b on schedule every 5 hour starts '2035-01-01';
show create event e1b;
alter event e1b on completion not preserve;
alter event e1b on schedule at '2000-01-01';
show warnings;
alter event e1b on schedule at '2000-01-01' on completion preserve;
show create event e1b;
alter event e1b enable;
show create event e1b;
alter event e1b on schedule at '2001-01-01' disable;
alter event e1b on schedule every 1 hour ends '2001-01-01';
alter event e1b on schedule every 1 hour starts '2000-01-01' ends '2001-01-01';
alter event e1b on schedule at '2036-05-05' on completion not preserve rename to e1c enable comment 'new' do select 3;
show create event e1c;
alter event e1c comment 'a' enable;
alter event e1c rename to e1d on schedule every 3 day;
create event e9 on schedule every 1 day comment 'a' enable do select 1;
create event e9 on schedule every 1 day on completion preserve on completion preserve do select 1;
create or replace event e9 on schedule every 1 day do select 1;
create event e9 on schedule every 1 day do
  /* comment */ select 1;
select event_definition from information_schema.events where event_name = 'e9';
create database sql_events_else;
alter event e9 rename to sql_events_else.e9;
show events in sql_events_else like 'x%';
select event_schema, event_name from information_schema.events where event_schema like 'sql_events%' and event_name = 'e9';
use sql_events_else;
alter event sql_events.e1c rename to e1c;
select event_schema, event_name from information_schema.events where event_name = 'e1c';
use sql_events;
drop database sql_events_else;
select event_schema, event_name from information_schema.events where event_name in ('e1c', 'e9');
show events from nodb;
show events from information_schema;
show create event nodb.e;
show create event nope;
-- Characters, modes, time zones of creation.
set time_zone = '+02:00';
create event z1 on schedule at '2037-01-01 00:00:00' do select 1;
create event z2 on schedule every 1 month starts '2036-01-31 00:00:00' ends '2037-05-05 05:05:05' do select 1;
set time_zone = '+05:00';
show create event z1;
show create event z2;
show events like 'z%';
alter event z1 comment 'x';
show create event z1;
alter event z1 on schedule at '2037-01-01 00:00:00';
show create event z1;
alter event z2 on schedule every 2 month starts '2036-01-01';
show create event z2;
set sql_mode = 'ANSI_QUOTES';
alter event z2 enable;
show create event z2;
alter event z2 do select "x";
show create event z2;
set sql_mode = '';
show create event z2;
set time_zone = '+00:00';
set names latin1;
create event z3 on schedule every 1 day starts '2036-01-01' do select 'a';
set names utf8mb4;
show create event z3;
create event `ö ü` on schedule every 1 day starts '2036-01-01' comment 'ä€' do select 'ö€';
show create event `ö ü`;
drop event `Ö Ü`;
set timestamp = 1893456000;
create event s1 on schedule every 1 day do select 1;
create event s2 on schedule at now() + interval 1 day do select 1;
select event_name, execute_at, starts, created from information_schema.events where event_name like 's_' order by 1;
set timestamp = default;
create event c1 on schedule every 1 day comment 'aaaaaaaaaabbbbbbbbbbccccccccccddddddddddaaaaaaaaaabbbbbbbbbbccccccccccdddddddddd' do select 1;
select event_comment from information_schema.events where event_name = 'c1';
create definer = nobody@nowhere event d1 on schedule every 1 day starts '2036-01-01' do select 1;
show create event d1;
alter definer = root@localhost event d1 enable;
show create event d1;
-- Bodies.
delimiter //
create event b1 on schedule at '2037-01-01 00:00:00' do begin declare x int; set x=1; insert into nope values (x); end//
create event b2 on schedule every 1 day do begin create event e9 on schedule every 1 day do select 1; end//
create event b2 on schedule every 1 day do begin create procedure p9() select 1; end//
create event b2 on schedule every 1 day do begin drop event e9; end//
create event b3 on schedule every 1 day do begin alter event e9 enable; end//
create event b4 on schedule every 1 day do begin alter event e9 do select 1; end//
create procedure p1() begin create event e10 on schedule every 1 day do select 1; end//
create procedure p2() begin drop event if exists e10; end//
create procedure p3() begin alter event e10 disable; end//
create function f1() returns int begin drop event if exists e10; return 1; end//
create function f1() returns int begin alter event e10 disable; return 1; end//
create event b5 on schedule every 1 day do begin return 1; end//
create event b5 on schedule every 1 day do begin drop procedure x; end//
create event b5 on schedule every 1 day do load data infile 'x' into table y//
create event b5 on schedule every 1 day do lock tables y read//
create event b5 on schedule every 1 day do use mysql//
create event b5 on schedule every 1 day do alter procedure x comment 'a'//
create event b5 on schedule every 1 day do set @a=1, @b=2//
create event b6 on schedule every 1 day do begin declare x int; declare x int; end//
delimiter ;
show create event b1;
call p3();
call p2();
prepare s from 'create event xp on schedule every 1 day do select 1';
prepare s from 'alter event xp disable';
prepare s from 'drop event xp';
prepare s from 'show events like ''e4''';
execute s;
set global event_scheduler = disabled;
set global event_scheduler = 2;
set session event_scheduler = 1;
show variables like 'event_scheduler';
