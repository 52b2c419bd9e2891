-- The counter after rows that were duplicates: with INSERT .. SELECT their own values count, with VALUES they do not.
create table t (id int auto_increment primary key, b int, unique key (b));
create table s (id int, b int);
insert into s values (10, 1), (20, 2);
insert into t values (1, 1);
insert into t select id, b from s order by id;
select auto_increment from information_schema.tables where table_schema = database() and table_name = 't';
insert into t values (30, 1);
select auto_increment from information_schema.tables where table_schema = database() and table_name = 't';
insert ignore into t values (40, 1);
select auto_increment from information_schema.tables where table_schema = database() and table_name = 't';
insert ignore into t select 50, 1 from s limit 1;
select auto_increment from information_schema.tables where table_schema = database() and table_name = 't';
replace into t values (60, 1);
select auto_increment from information_schema.tables where table_schema = database() and table_name = 't';
insert into t values (70, 1) on duplicate key update b = b;
select auto_increment from information_schema.tables where table_schema = database() and table_name = 't';
insert into t select 80, 1 from s limit 1 on duplicate key update t.b = t.b;
select auto_increment, last_insert_id() from information_schema.tables where table_schema = database() and table_name = 't';
insert into t values (100, 1), (101, 3);
select auto_increment from information_schema.tables where table_schema = database() and table_name = 't';
insert into t select 300, 1 union select 301, 8;
select auto_increment from information_schema.tables where table_schema = database() and table_name = 't';

-- Values below zero do not end the numbering of a statement whose rows are known, and do of one whose are not.
create table negative (id int auto_increment primary key, v int) engine = innodb;
insert into negative values (null, 1), (-5, 1), (null, 2), (null, 3), (null, 4);
insert into negative values (null, 1);
select group_concat(id order by id) from negative;
truncate negative;
insert into negative select if(a = 2, -5, null), 1 from (select 1 a union select 2 union select 3) x;
insert into negative select if(a = 3, -5, null), 1 from (select 1 a union select 2 union select 3 union select 4 union select 5 union select 6 union select 7) x;
insert into negative values (null, 1);
select group_concat(id order by id) from negative;
truncate negative;
replace into negative values (null, 1), (-5, 1), (null, 2);
insert into negative values (null, 1);
select group_concat(id order by id) from negative;
drop table negative;
