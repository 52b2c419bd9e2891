-- What the language of stored programs does not allow.
delimiter //
create procedure p() begin leave l1; end//
create procedure p() l1: begin iterate l1; end//
create procedure p() return 1//
create function f() returns int begin end//
create function f() returns int select 1//
create procedure p() begin declare a int; declare a int; end//
create procedure p() begin declare a, b, A int; end//
create procedure p() begin declare c cursor for select 1; declare a int; end//
create procedure p() begin declare exit handler for sqlwarning set @a = 1; declare a int; end//
create procedure p() begin declare exit handler for sqlwarning set @a = 1; declare c cursor for select 1; end//
create procedure p() begin fetch c into a; end//
create procedure p() begin declare c cursor for select 1; fetch c into a; end//
create procedure p() begin open c; end//
create procedure p() begin close c; end//
create procedure p() begin select 1 into a; end//
create procedure p() begin set a = 1; end//
create procedure p() begin declare exit handler for foo set @a = 1; end//
create procedure p(a int, a int) begin end//
create procedure p() l1: begin l1: begin end; end//
create procedure p() l1: begin end l2//
create function f() returns int begin commit; return 1; end//
create function f() returns int begin start transaction; return 1; end//
create function f() returns int begin prepare s from 'x'; return 1; end//
create function f() returns int begin create table x (a int); return 1; end//
create function f() returns int begin drop table x; return 1; end//
create function f() returns int begin truncate x; return 1; end//
create function f() returns int begin show tables; return 1; end//
create function f() returns int begin set autocommit = 1; return 1; end//
create procedure p() begin use test; end//
create procedure p() begin create procedure q() select 1; end//
create procedure p() begin drop procedure q; end//
create procedure p() begin lock tables x read; end//
create procedure p() begin unlock tables; end//
create procedure p() begin load data infile 'x' into table t; end//
create procedure p() begin signal sqlstate '00000'; end//
create procedure p() begin signal sqlstate '4500'; end//
create procedure p() begin declare c condition for sqlstate 'abc'; end//
create procedure p() begin declare c condition for 1234; declare c condition for 1235; end//
create procedure p() begin declare c condition for 1234; signal c; end//
create procedure p() begin signal c; end//
create procedure p() begin signal sqlstate '45000' set message_text = 'a', message_text = 'b'; end//
create procedure p() begin declare exit handler for 1234, 1234 set @a = 1; end//
create procedure p() begin declare exit handler for 0 set @a = 1; end//
create procedure p() begin declare c cursor for select 1 into @a; end//
create procedure p() begin declare c cursor for select 1; declare c cursor for select 1; end//
create procedure p() begin declare exit handler for 1234 set @a = 1; declare exit handler for 1234 set @a = 2; end//
create procedure nodb_at_all.p() select 1//
create procedure p() begin if 1 then end if; end//
create procedure p() begin while 1 do end while; end//
create procedure p() begin select 1 end//
create procedure p() begin declare a int select 1; end//
create procedure p() l1: loop leave l1; end loop l2//
create procedure p() begin l1: loop begin declare exit handler for sqlexception leave l1; end; end loop; end//
show procedure status where db = database()//
drop procedure p//
drop procedure if exists p//
drop function if exists f//
call p()//
select f()//
select sql_program_errors.f(1)//
show create procedure p//
show create function f//
alter procedure p comment 'x'//
create procedure p(out a int, inout b int) set a = b, b = b + 1//
create procedure p() select 1//
create procedure P() select 1//
call p(1, 2)//
call p(@a)//
set @b = 3//
call p(@a, @b)//
select @a, @b//
call p(@a, 5)//
create function f(a int) returns int return a + 1//
set @x = f()//
set @x = f(1, 2)//
select f(1), F(2), sql_program_errors.f(3)//
create procedure r() call r()//
call r()//
drop procedure r//
drop procedure p//
drop function f//
delimiter ;
