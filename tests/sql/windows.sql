create table t (id int primary key, g varchar(5), v int, d decimal(8,2), f double, b varchar(5));
insert into t values (1, 'a', 10, 1.50, 0.5, 'x'), (2, 'a', 20, 2.25, 1.5, 'y'), (3, 'a', 20, 3.75, 2.5, null), (4, 'b', null, 4.00, 3.5, 'z'), (5, 'b', 5, null, 4.5, 'A'), (6, 'b', 7, 6.10, null, 'b'), (7, null, 1, 7.77, 6.5, 'c'), (8, null, null, 8.88, 7.5, 'd'), (9, 'c', 100, 9.99, 8.5, 'e');
-- numbers of rows
select id, row_number() over (order by id) n from t order by id;
select id, row_number() over (partition by g order by id desc) n from t order by id;
select id, rank() over (order by v) r, dense_rank() over (order by v) dr from t order by v, id;
select id, rank() over (partition by g order by v desc) r, dense_rank() over (partition by g order by v desc) dr from t order by id;
select id, cast(percent_rank() over (order by v) as decimal(10,4)) p, cast(cume_dist() over (order by v) as decimal(10,4)) c from t order by id;
select id, cast(percent_rank() over (partition by g order by v) as decimal(10,4)) p, cast(cume_dist() over (partition by g order by v) as decimal(10,4)) c from t order by id;
select id, ntile(1) over (order by id) a, ntile(2) over (order by id) b, ntile(4) over (order by id) c, ntile(20) over (order by id) d from t order by id;
select id, ntile(2) over (partition by g order by id) n from t order by id;
-- other rows
select id, lag(v) over (order by id) a, lead(v) over (order by id) b, lag(v, 2) over (order by id) c, lead(v, 3) over (order by id) d, lag(v, 0) over (order by id) e from t order by id;
select id, lag(b) over (partition by g order by id) a, lead(d) over (partition by g order by id) b from t order by id;
select id, first_value(v) over (order by id) a, last_value(v) over (order by id) b, nth_value(v, 2) over (order by id) c from t order by id;
select id, first_value(b) over (partition by g order by id) a, last_value(b) over (partition by g order by id rows between unbounded preceding and unbounded following) b from t order by id;
select id, last_value(id) over (order by v, id) a, nth_value(id, 3) over (order by v, id rows between 1 preceding and 1 following) b from t order by id;
select id, first_value(id) over (order by id rows between 2 following and 3 following) a, last_value(id) over (order by id rows between 3 preceding and 2 preceding) b from t order by id;
-- aggregates
select id, count(*) over () a, sum(v) over () b, min(v) over () c, max(b) over () d, avg(v) over () e from t order by id;
select id, sum(v) over (partition by g) a, count(v) over (partition by g) b, avg(d) over (partition by g) c from t order by id;
select id, sum(v) over (order by id) a, sum(d) over (order by id) b, sum(f) over (order by id) c from t order by id;
select id, sum(v) over (order by v) a, count(*) over (order by v) b from t order by id;
select id, sum(v) over (order by id rows 2 preceding) a, sum(d) over (order by id rows between 1 preceding and 1 following) b, sum(f) over (order by id rows between 1 preceding and 1 following) c from t order by id;
select id, avg(v) over (order by id rows between 2 preceding and current row) a, count(v) over (order by id rows between current row and 2 following) b from t order by id;
select id, min(v) over (order by id rows between 2 preceding and 1 following) a, max(v) over (order by id rows between 2 preceding and 1 following) b from t order by id;
select id, min(v) over (order by id rows between 1 following and 3 following) a, max(d) over (order by id rows between 3 preceding and 1 preceding) b from t order by id;
select id, sum(v) over (order by id rows between current row and unbounded following) a, min(v) over (order by id rows between current row and unbounded following) b, sum(f) over (order by id rows between current row and unbounded following) c from t order by id;
select id, sum(v) over (order by id rows between 5 preceding and 3 preceding) a, count(*) over (order by id rows between 5 preceding and 3 preceding) b from t order by id;
select id, sum(v) over (order by id rows between 3 following and 5 following) a, count(*) over (order by id rows between 3 following and 5 following) b from t order by id;
select id, bit_or(v) over (order by id rows between 1 preceding and 1 following) a, bit_xor(v) over (order by id rows between 1 preceding and 1 following) c from t order by id;
select id, round(stddev_pop(v) over (order by id rows between 2 preceding and 2 following), 6) a, round(var_samp(f) over (partition by g order by id), 6) b from t order by id;
-- frames of values
select id, sum(id) over (order by id range between 2 preceding and 2 following) a, count(*) over (order by v range between 5 preceding and 5 following) b from t order by id;
select id, count(*) over (order by v desc range between 5 preceding and 5 following) a, count(*) over (order by d range between 1.5 preceding and current row) b from t order by id;
select id, count(*) over (order by f range between 1.5 preceding and 0.5 preceding) a, count(*) over (order by f desc range between 1 following and 3 following) b from t order by id;
select id, count(*) over (order by v range between current row and unbounded following) a, count(*) over (order by v range between current row and current row) b, count(*) over (order by v range unbounded preceding) c from t order by id;
select id, sum(v) over (partition by g order by v range between 3 preceding and unbounded following) a from t order by id;
-- names of windows
select id, sum(v) over w a, count(*) over w b from t window w as (partition by g order by id) order by id;
select id, sum(v) over (w order by id) a, sum(v) over (w rows between unbounded preceding and unbounded following) b from t window w as (partition by g) order by id;
select id, sum(v) over w2 from t window w1 as (partition by g), w2 as (w1 order by id) order by id;
-- several, over groups, in ORDER BY, with other clauses
select id, row_number() over (order by g, id) a, row_number() over (order by v, id) b, row_number() over (order by d desc, id) c, sum(v) over (partition by g) x from t order by id;
select g, sum(v) s, rank() over (order by sum(v)) r from t group by g order by r, g;
select g, count(*) n, sum(count(*)) over (order by g) c, sum(sum(v)) over () t from t group by g order by g;
select g, max(v) m, lag(max(v)) over (order by g) l from t group by g having max(v) > 6 order by g;
select id from t order by row_number() over (order by v desc, id), id;
select id, v from t order by rank() over (order by g) desc, id limit 3;
select distinct count(*) over (partition by g) n from t order by n;
select id, row_number() over (order by id) * 10 + 1 n, case when rank() over (order by v) > 3 then 'late' else 'early' end c from t order by id limit 5;
select id, sum(v) over (order by id) s from t where id > 3 order by id limit 3 offset 1;
select * from (select id, row_number() over (partition by g order by id) n from t) d where n = 1 order by id;
select id, (select count(*) from t u where u.id <= t.id) a, row_number() over (order by id) b from t order by id;
select t.id, u.id, row_number() over (partition by t.id order by u.id) n from t join t u on u.g = t.g and u.id <> t.id order by t.id, u.id;
with x as (select id, rank() over (order by v) r from t) select r, count(*) from x group by r order by r;
select 1, row_number() over (), sum(5) over ();
select count(*) over () from t where 1 = 0;
select max(v), row_number() over () from t;
select id, row_number() over (order by b) n from t where b is not null order by n;
create table u as select id, sum(v) over (partition by g order by id) s from t;
select * from u order by id;
update t join (select id, row_number() over (order by id desc) n from t) d on d.id = t.id set t.v = d.n;
select id, v from t order by id;
drop table t, u;
