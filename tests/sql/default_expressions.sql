-- Defaults that are expressions, as in the manual of MySQL 8.0.
create table t1 (i int default 0, c varchar(10) default '', f float default (1.5 * 2), d date default (date'2020-02-29' + interval 1 year), t text default ('abc'), b blob not null default ('xyz'), n int default (null), e int default (5));
show create table t1;
select column_name, column_default, extra from information_schema.columns where table_schema = database() and table_name = 't1' order by ordinal_position;
show columns from t1;
insert into t1 () values ();
insert into t1 (i, t) values (1, default), (2, null);
insert into t1 values (3, default, default, default, 'given', default, 7, default);
insert into t1 set i = 4, e = default;
replace into t1 (i) values (5);
select * from t1;
select default(i) from t1 limit 1;
select default(f) from t1 limit 1;
drop table t1;

-- What they may look at.
create table t2 (a int, b int default (a * 2), c int default (b + d), d int default 100);
insert into t2 (a) values (1), (2);
insert into t2 (a, b) values (3, 30);
insert into t2 (b, a) values (default, 4);
insert into t2 (c, a, d) values (default, 5, 1);
insert into t2 (a, b, c) values (6, default, default), (7, 1, default), (8, 1, 1);
insert into t2 select 9, 1, 1, 1;
insert into t2 (a) select a + 100 from t2 where a < 3;
select * from t2 order by a;
update t2 set a = 50, b = default where a = 9;
update t2 set b = default, a = 60 where a = 50;
update t2 set a = 61, b = default, a = 62 where a = 60;
update t2 set b = default(d) where a = 8;
update t2 set c = default where a = 7;
select * from t2 where a in (50, 60, 62, 7, 8) order by a;
create table t3 like t2;
insert into t3 (a) values (1);
select * from t3;
alter table t3 add primary key (a);
insert into t3 (a, b) values (1, 5) on duplicate key update b = default, c = a + 1000;
select * from t3;
alter table t3 add e int not null default (a + 5), add f varchar(20) default (concat('f', a)) first;
select * from t3;
alter table t3 alter column e set default (a + 6), alter column d set default (7);
insert into t3 (a) values (2);
alter table t3 alter column d drop default, alter column e set default 3;
insert into t3 (a, d) values (3, 3);
select * from t3;
show create table t3;
alter table t3 drop column a;
alter table t3 rename column a to x;
alter table t3 drop column b, drop column c;
alter table t3 modify c int default (b) first;
alter table t3 drop column f, drop column a;
show create table t3;
create table t4 (x int default (3), y text) select 1 as z;
select * from t4;
drop table t2, t3, t4;

-- Not once for the statement.
create table u (id int primary key, u char(36) default (uuid()), r double default (rand()), n datetime default (now()), w varchar(90) default (current_user()));
insert into u (id) values (1), (2), (3);
select count(distinct u), count(distinct r), count(distinct n), max(w like '%@%') from u;
drop table u;

-- Files, modes, values that do not fit.
create table l (a int, b varchar(5) not null default (repeat('x', a)), c int default (a / 2));
load data infile '$FILES/rows.txt' into table l (a);
load data infile '$FILES/rows.txt' into table l (a) set b = default, c = 8;
select * from l;
insert into l (a) values (6);
insert ignore into l (a) values (6);
insert into l (a) values (null);
set sql_mode = '';
insert into l (a) values (7), (null);
set sql_mode = default;
select * from l where a is null or a > 5;
drop table l;
create temporary table l (a int, b int default (a + 1));
insert into l (a) values (1);
select * from l;
drop temporary table l;

-- What is refused.
create table r (a int default (b), b int default (1));
create table r (a int default (a));
create table r (a int default (c));
create table r (a int default ((select 1)));
create table r (a int default (@x));
create table r (a int default (@@sql_mode));
create table r (a int default (nothing(1)));
create table r (a int default (sum(1)));
create table r (a int default ((1, 2)));
create table r (a int auto_increment primary key, b int default (a));
create table r (a int auto_increment primary key default (1));
create table r (a text default 'abc');
create table r (a int default 1 + 1);
