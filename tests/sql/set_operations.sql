create table a (x int, y varchar(5));
create table b (x int, y varchar(5));
insert into a values (1, 'a'), (2, 'b'), (2, 'b'), (3, 'c'), (null, 'n'), (null, 'n'), (4, null), (5, 'E');
insert into b values (2, 'b'), (3, 'c'), (3, 'c'), (null, 'n'), (4, null), (5, 'e'), (9, 'z');
select * from a intersect select * from b order by x, y;
select * from a intersect all select * from b order by x, y;
select * from a except select * from b order by x, y;
select * from a except all select * from b order by x, y;
select * from b except distinct select * from a order by x;
select x from a intersect distinct select x from b order by 1 desc;
select x from a intersect select x from b order by x limit 2;
select x from a intersect select x from b order by x limit 1, 2;
-- what binds tighter
select 1 union select 2 intersect select 2;
(select 1 union select 2) intersect select 2;
select 1 union all select 2 except select 1;
select 1 except select 1 union all select 5;
select 1 except (select 1 union all select 5);
select 3 union select 2 intersect select 2 union all select 3;
select 1 intersect select 1 intersect select 2;
select 4 except select 4 intersect select 5;
select x from a where x < 3 union all (select x from b where x < 4 intersect all select 3) order by x;
-- nested, with their own orders and limits
(select x from a where x is not null order by x desc limit 2) union all (select x from b where x is not null order by x limit 1) order by x;
((select x from a where x = 1) union (select x from b where x = 9)) union all select 1 order by 1;
select * from (select x from a intersect select x from b) d where x > 2 order by x;
select count(*) from (select x from a except select x from b) d;
select x from a where x in (select x from b intersect select 2) order by x;
select (select 7 intersect select 7) v, exists (select 1 except select 1) e;
select 1, 2 intersect select 1;
-- types of both sides
select 1 intersect select '1';
select 1.0 intersect select 1;
select '1' except select 2;
select null intersect select null;
select null except select null;
-- the words are names too
create table except_t (intersect_a int, b int);
insert into except_t values (1, 2);
select intersect_a except_b from except_t;
drop table except_t;
-- in what changes rows
create table c as select x from a intersect select x from b;
select count(*), sum(x) from c;
insert into c select x from b except select x from a;
select count(*), sum(x) from c;
with s as (select x from a intersect select x from b) select count(*) from s;
prepare p from 'select x from a where x > ? intersect select x from b where x < ? order by x';
set @l = 1, @h = 5;
execute p using @l, @h;
deallocate prepare p;
drop table a, b, c;
