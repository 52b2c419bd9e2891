-- Long lists of texts, by collations, with NULLs, beside short lists.
create table t (id int primary key, a varchar(20) character set latin1, b varchar(20) collate utf8mb4_bin, c char(8) collate utf8mb4_general_ci, d varbinary(20), e enum('a', 'b', 'ö'), n int);
insert into t values (1, 'a', 'a', 'a', 'a', 'a', 1), (2, 'A ', 'A ', 'A', 'A ', 'b', 2), (3, 'ä', 'ä', 'Ä', 'ä', 'ö', 3), (4, '', '', '', '', null, 0), (5, null, null, null, null, null, null), (6, 'zz', 'zz', 'zz', 'zz\0', 'b', 12);
select id from t where a in ('q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'a', 'ä') order by id;
select id from t where a not in ('q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'a', 'ä') order by id;
select id from t where b in ('q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'a', 'A', 'ä  ', '   ') order by id;
select id from t where c in ('q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'A', 'ZZ  ') order by id;
select id from t where d in ('q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'A', 'a', 'zz', 'zz\0') order by id;
select id from t where e in ('q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'A', 'Ö') order by id;
select id, a in ('q1', 'q2', 'q3', 'q4', 'q5', 'q6', null, 'a', 'ä'), a not in ('q1', 'q2', 'q3', 'q4', 'q5', 'q6', null, 'a', 'ä') from t order by id;
select id from t where c in (_latin1 'q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'A', _utf8 'zz') order by id;
select id from t where a collate latin1_bin in ('q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'a', 'Ä') order by id;
prepare s from 'select id from t where c in (?, ?, ?, ?, ?, ?, ?, ?, ?) order by id';
set @a = 'q', @b = 'zz', @c = 'Ä', @n = null;
execute s using @a, @a, @a, @a, @a, @a, @b, @c, @n;
execute s using @a, @a, @a, @a, @a, @a, @a, @a, @a;
-- By index, in partitions, in joins, and in changes.
create table p (v varchar(10) character set latin1, n int, primary key (v)) partition by key (v) partitions 5;
insert into p values ('a', 1), ('B', 2), ('c ', 3), ('ä', 4), ('', 5);
select n from p where v in ('A', 'b', 'C', 'q1', 'q2', 'q3', 'q4', 'q5', 'AE', '  ') order by n;
select n from p ignore index (primary) where v in ('A', 'b', 'C', 'q1', 'q2', 'q3', 'q4', 'q5', 'AE', '  ') order by n;
select p.n, t.id from p join t on t.id < 3 and p.v in ('A', 'b', 'C', 'q1', 'q2', 'q3', 'q4', 'q5', t.a) order by 1, 2;
select p.n, t.id from p left join t on t.a in ('A', 'b', 'C', 'q1', 'q2', 'q3', 'q4', 'q5') and p.n = t.id order by 1, 2;
update p set n = n + 10 where v in ('A', 'b', 'C', 'q1', 'q2', 'q3', 'q4', 'q5', 'AE');
delete from p where v not in ('A', 'b', 'C', 'q1', 'q2', 'q3', 'q4', 'q5', 'AE');
select * from p order by v;
drop table p;
-- Texts that are long.
create table l (v longtext character set latin1, k char(1));
insert into l values (repeat('ab ', 3000), 'a'), (concat('a', space(9000)), 'b'), ('zz', 'c'), (repeat('x', 9000), 'd');
select k from l where v in ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'zz') order by k;
select k from l where v not in ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'zz') order by k;
select k from l where v in ('a', 'b', 'c', 'd', 'e', 'f', 'g', null, repeat('X', 9000)) order by k;
drop table l;
-- ALGORITHM and LOCK of unknown name.
alter table t algorithm = quick, add column x int;
alter table t add column x int, lock none_at_all;
create index i on t (n) algorithm = nothing lock = shared;
drop index i on t lock = nobody;
alter table t algorithm = 'copy';
alter table t algorithm = `Copy`;
alter table t algorithm = `wrong one`, lock = shared;
alter table t lock = `default`;
alter table t lock = ``;
alter table t algorithm = select;
alter table t lock = 1;
drop table t;
