-- Derived tables answer the same whether their rows are made first, as in 5.6.24, or become part of the block around them.
create database derived_tables; use derived_tables;
set sql_mode = '';
create table t (id int primary key, a int, b varchar(10), c decimal(8,2), f float, l bit(8), key (a));
insert into t values (1, 1, 'x', 1.5, 0.1, b'1000001'), (2, 2, 'y', 2.25, 0.2, b'1'), (3, 3, 'z', -1, 1.5, null), (4, null, null, null, null, b'1010');
create table u (id int primary key, n int);
insert into u values (1, 2), (2, 9), (3, 3);
create table without_keys (a int);
insert into without_keys values (1), (2), (null);
-- Conditions on both sides, columns of other names, all columns.
select * from (select * from t where a > 1) d where d.id = 2;
select d.x, d.y from (select id as x, b as y from t where a is not null) d where x > 1 order by x;
select d.* from (select t.id, u.id as q, u.n from t join u on u.n = t.id) as d where id = 2;
select id from (select id, a + 1 as p from t) d where p = 3;
select * from (select id, a + 1 as p, concat(b, '!') as q from t where a < 3) d where p > 1 and q like '%!' order by id;
-- Several, one in the other, with joins of both kinds.
select * from (select id, a from t) x join (select id, n from u) y on y.n = x.id order by x.id;
select * from (select id, a from t) x left join (select id, n from u where n > 2) y on y.n = x.id order by x.id;
select * from (select i.id, i.p from (select id, a * 2 as p from t where id < 4) i where i.p > 2) d where d.id > 1 order by id;
select * from (select t.id, u.n from t left join u on u.n = t.id) d where d.n is null order by id;
select * from u left join (select t.id, w.a from t join without_keys w on w.a = t.id) d on d.id = u.n order by u.id;
select * from (select id from t) d natural join (select id, n from u) e order by id;
-- What is calculated is NULL where there is no row.
select u.id, d.id, d.p, d.k, d.s from u left join (select id, a + 1 as p, 7 as k, 'text' as s from t) d on d.id = u.n order by u.id;
select u.id, d.k, ifnull(d.k, 'none') from (select 'k' as k, id from t where b <> 'z') d right join u on d.id = u.n order by u.id;
select u.id, d.k from u left join (select 'k' as k, a from without_keys) d on d.a = u.n order by u.id;
select u.id, count(d.k), max(d.s) from u left join (select id, 1 as k, 'one' as s from t) d on d.id = u.n group by u.id order by u.id;
select u.id from u left join (select id, coalesce(a, 5) as p from t) d on d.id = u.n where d.p is null order by u.id;
select u.id, e.p from u left join (select d.id, d.p from (select id, coalesce(a, 5) as p from t) d) e on e.id = u.n where e.p = 3;
-- Groups, DISTINCT, LIMIT, UNION within; groups, sums and orders outside.
select * from (select a div 2 as h, count(*) as n from t group by h) d where h = 1;
select * from (select distinct a > 1 as big from t) d order by big;
select * from (select id from t order by id desc limit 2) d order by id;
select * from (select id from t union select n from u) d where id > 2 order by id;
select h, count(*), sum(id) from (select id, a div 2 as h from t) d group by h order by h;
select h, h * 10, count(*) from (select a div 2 as h from t) d group by h with rollup;
select id, x from (select id, a as x from t order by id desc) d;
select max(p), min(q) from (select a + 1 as p, b as q from t) d;
select id from u where n in (select p from (select a + 1 as p from t) d) order by id;
select id from u where exists (select 1 from (select id as i, a from t) d where d.i = u.n) order by id;
-- Digits as a column has them.
select x, x * 3 from (select a / 3 as x from t) d order by x;
select v, v + 0 from (select if(a > 1, c, 5) as v from t) d order by v;
select v from (select case when a > 1 then a else 0.5 end as v from t) d order by v;
select hex(l), l + 0 from (select l from t) d order by l;
select hex(m), m + 0 from (select max(l) as m from t) d;
select m + 0 from (select min(f) as m from t) d;
create table made as select min(l) as l, max(f) as f, if(1, f, 1) as i, ifnull(l, 0) + 0 as n from t;
select hex(l), f, i, n from made;
-- What would give other values if it was calculated otherwise.
select count(distinct r) > 1 from (select rand() as r from t) d;
select sum(r <> s) from (select r, r as s from (select rand() as r from t) i) d;
set @n = 0;
select * from (select @n := @n + 1 as n from t) d where n > 2;
select @n;
-- Rows that are changed by what they were.
update t set a = (select m from (select max(a) + 1 as m from t) d) where id = 4;
update u set n = (select a from (select * from t) d where d.id = u.id + 1);
select * from u order by id;
delete from u where id in (select x from (select id as x from u where n = 3) d);
insert into u select id + 10, n from (select * from u where n > 0) d where id > 0;
select * from u order by id;
-- Wrong ones.
select * from (select id, id from t) d;
select p from (select id from t) d;
select t.id from (select id from t) d;
select * from (select id from t) d, (select id from u) d;
select id from (select id from t) x, (select id from u) y;
drop database derived_tables;
