-- Parameters and local variables in CREATE TABLE .. SELECT and other statements that are no queries.
create table src (a int, b varchar(5));
insert into src values (1,'x'),(2,'y'),(3,'z');
set @v = 2, @w = 'hi', @d = 1.5, @n = null, @f = 2.5e0;
prepare s from 'create table c1 as select a, ? as t from src where a >= ? order by a limit ?';
execute s using @w, @v, @v;
select * from c1;
prepare s from 'create table c2 (k varchar(9)) select ? as k';
execute s using @w;
select * from c2;
prepare s from 'create table c3 select ? i, ? s, ? d, ? f';
execute s using @v, @w, @d, @f;
select * from c3;
drop table c3;
execute s using @w, @v, @n, @d;
select * from c3;
prepare s from 'create temporary table c4 (key(a)) ignore select a + ? as a, concat(b, ?) as b from src having a > ?';
execute s using @v, @w, @d;
select * from c4;
prepare s from 'create table c5 select ? as x union select ?';
execute s using @w, @v;
select * from c5;
prepare s from 'create table if not exists c5 select ? as x';
execute s using @v;
select * from c5;
prepare s from 'create table c6 (a int primary key) replace select a, (select count(*) from src where a < ?) c from src where a in (?, 3) limit ? offset ?';
execute s using @v, @v, @v, @v;
select * from c6;
prepare s from 'create view vv as select ?';
delimiter //
create procedure mk(p int) begin declare z int default 7; declare q varchar(9) default 'abc'; declare dd decimal(5,2) default 1.25; declare tt date default '2020-01-02';
 create temporary table tmp as select p as pp, z as zz, q as qq, dd, tt, a from src where a = p; select * from tmp; drop temporary table tmp; end//
call mk(2)//
call mk(3)//
create procedure mk2(p int) begin declare i int default 1; while i < 4 do create table w (n int) as select i as n, p as m limit i; select * from w; drop table w; set i = i + 1; end while; end//
call mk2(5)//
create function ff(p int) returns int begin declare r int; create temporary table tf as select p as x, a from src where a <= p; select sum(a) into r from tf; drop temporary table tf; return r; end//
select ff(2), ff(3)//
create procedure pv(p int) begin create view v1 as select p; end//
create procedure pv2() begin declare x int; create view v1 as select x from src; end//
create procedure pv3() begin declare x int; create or replace view v1 as select a from src; end//
call pv3()//
select * from v1//
create procedure av() alter view v1 as select 2//
create procedure cur() begin declare x int default 2; declare y int; declare c cursor for select a from src where a > x order by a limit x; open c; fetch c into y; select y; close c; end//
call cur()//
create procedure up(p int, s varchar(9)) begin declare l int default 1; update src set b = s where a = p order by a limit l; delete from src where a = p + 1 order by a limit l; insert into src select p, s; replace into src select a, s from src limit l; insert into src values (p, s) on duplicate key update a = p; end//
call up(1, 'up')//
select * from src//
create procedure shw(p varchar(60)) begin show columns from src where field = p; show variables where variable_name = p; end//
call shw('b')//
call shw('version_compile_os_')//
delimiter ;
prepare s from 'show columns from src where field = ?';
set @t = 'b';
execute s using @t;
prepare s from 'kill ?';
set @k = 99999999;
execute s using @k;
