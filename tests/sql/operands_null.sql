-- Which operators look at their second operand if the first one is NULL.
create table t (n int, d decimal(5,2), f double, s varchar(3));
insert into t values (null, null, null, null);
select n + day('2020-02-30') from t;
select n - day('2020-02-30') from t;
select n * day('2020-02-30') from t;
select n / day('2020-02-30') from t;
select n % day('2020-02-30') from t;
select n div day('2020-02-30') from t;
select d + day('2020-02-30') from t;
select d - day('2020-02-30') from t;
select d * day('2020-02-30') from t;
select d / day('2020-02-30') from t;
select d % day('2020-02-30') from t;
select d div day('2020-02-30') from t;
select f + day('2020-02-30') from t;
select f - day('2020-02-30') from t;
select f * day('2020-02-30') from t;
select f / day('2020-02-30') from t;
select f % day('2020-02-30') from t;
select f div day('2020-02-30') from t;
select s + day('2020-02-30') from t;
select s - day('2020-02-30') from t;
select s * day('2020-02-30') from t;
select s / day('2020-02-30') from t;
select s % day('2020-02-30') from t;
select s div day('2020-02-30') from t;
select n & day('2020-02-30') from t;
select n | day('2020-02-30') from t;
select n ^ day('2020-02-30') from t;
select n << day('2020-02-30') from t;
select pow(n, day('2020-02-30')) from t;
select nullif(n, day('2020-02-30')) from t;
select field(n, day('2020-02-30')) from t;
select n + 1/0, d + 1/0, f + 1/0 from t;
-- A DECIMAL that is stored has all digits of the calculation.
create table q (id int primary key, f double, d decimal(20,10), x int);
insert into q (id, f, d) values (1, 1/3, 1/3), (2, 1.5/7*3, 1.5/7*3), (3, 1.5/7 + 0.1, 1.5/7 + 0.1), (4, round(1.5/7, 1), cast(1.5/7 as decimal(10,3))), (5, -(1.5/7), abs(1.5/7));
select * from q order by id;
update q set x = 5, f = x/7, d = x/7 where id = 1;
insert into q (id) values (2) on duplicate key update f = id/7, d = id/7;
select f, d from q where id < 3 order by id;
select 1/3, 1.5/7*3;
set @x = 1/3;
set @y := 1.5/7;
select @x, @y;
delimiter //
create procedure p() begin declare f double default 1.5/201; declare d decimal(20,10) default 1.5/201; declare i int default 5; declare h double default i/7; select f, d, h; set f = i/7/3, d = i/7/3; select f, d; end//
call p()//
create function f1(a decimal(10,3)) returns double return a/7//
create function f2(a double) returns double return a//
select f1(1), f2(1/7)//
