-- What the diagnostics area holds in programs, which conditions handlers take, and where a handler goes on.
create table t (id int primary key, e tinyint, c varchar(3) not null);
create table l (n int auto_increment primary key, w varchar(200));
delimiter //
-- A trigger begins with the conditions that its statement has; a statement on tables forgets them in the trigger alone.
create trigger t_bi before insert on t for each row
begin
  declare n int;
  declare continue handler for sqlwarning set @t = concat(@t, ' H');
  get diagnostics n = number;
  set @t = concat(@t, ' n', n);
  set @t = concat(@t, ' 2');
  insert into l (w) values ('q');
  get diagnostics n = number;
  set @t = concat(@t, ' n', n);
end//
set @t = ''//
insert into t values (1, 1000, 'a'), (2, 2000, 'b')//
select @t//
drop trigger t_bi//
-- What it raises stays in it, but for the error that ends it.
create trigger t_ai after insert on t for each row
begin
  insert into l (n, w) values ('1x', 'q');
  if new.id = 4 then signal sqlstate '45000' set message_text = 'four', table_name = 'x'; end if;
end//
delete from l//
insert into t values (3, 1000, 'a')//
delete from l//
insert into t values (4, 1000, 'a')//
drop trigger t_ai//
-- A warning in the declarations of a block is none of its handlers.
create procedure declared()
begin
  declare v tinyint default 1000;
  declare continue handler for sqlwarning set @t = concat(@t, ' H');
  set @t = concat(@t, ' 1');
  set v = 1000;
  set @t = concat(@t, ' 2');
end//
set @t = ''//
call declared()//
select @t//
drop procedure declared//
-- A warning of a condition: the statement is over, whatever the condition says; behind an EXIT handler, the block.
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); if 200 < '2010-10-10' then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end if; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue if true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); if 200 > '2010-10-10' then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end if; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue if false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); if 1 = 2 then set @t = concat(@t, ' A'); elseif 200 < '2010-10-10' then set @t = concat(@t, ' B'); else set @t = concat(@t, ' D'); end if; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue elseif true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); if 1 = 2 then set @t = concat(@t, ' A'); elseif 200 > '2010-10-10' then set @t = concat(@t, ' B'); else set @t = concat(@t, ' D'); end if; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue elseif false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); if 1 = 1 then if 200 < '2010-10-10' then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end if; set @t = concat(@t, ' D'); end if; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue inner true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); if 1 = 1 then if 200 > '2010-10-10' then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end if; set @t = concat(@t, ' D'); end if; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue inner false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); case when 200 < '2010-10-10' then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end case; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue when true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); case when 200 > '2010-10-10' then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end case; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue when false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); case 200 < '2010-10-10' when 1 then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end case; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue operand true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); case 200 > '2010-10-10' when 1 then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end case; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue operand false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); case 1 when 'q' then set @t = concat(@t, ' A'); when '1' then set @t = concat(@t, ' D'); else set @t = concat(@t, ' B'); end case; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue values true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); case 1 when 'q' then set @t = concat(@t, ' A'); when '1' then set @t = concat(@t, ' D'); else set @t = concat(@t, ' B'); end case; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue values false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); set i = 0; while i < 2 and 200 < '2010-10-10' do set i = i + 1; set @t = concat(@t, ' A'); end while; set @t = concat(@t, ' B'); set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue while true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); set i = 0; while i < 2 and 200 > '2010-10-10' do set i = i + 1; set @t = concat(@t, ' A'); end while; set @t = concat(@t, ' B'); set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue while false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); set i = 0; repeat set i = i + 1; set @t = concat(@t, ' A'); until i >= 2 or 200 < '2010-10-10' end repeat; set @t = concat(@t, ' B'); set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue until true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare continue handler for sqlwarning set @t = concat(@t, ' H'); set i = 0; repeat set i = i + 1; set @t = concat(@t, ' A'); until i >= 2 or 200 > '2010-10-10' end repeat; set @t = concat(@t, ' B'); set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'continue until false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); if 200 < '2010-10-10' then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end if; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit if true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); if 200 > '2010-10-10' then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end if; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit if false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); if 1 = 2 then set @t = concat(@t, ' A'); elseif 200 < '2010-10-10' then set @t = concat(@t, ' B'); else set @t = concat(@t, ' D'); end if; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit elseif true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); if 1 = 2 then set @t = concat(@t, ' A'); elseif 200 > '2010-10-10' then set @t = concat(@t, ' B'); else set @t = concat(@t, ' D'); end if; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit elseif false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); if 1 = 1 then if 200 < '2010-10-10' then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end if; set @t = concat(@t, ' D'); end if; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit inner true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); if 1 = 1 then if 200 > '2010-10-10' then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end if; set @t = concat(@t, ' D'); end if; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit inner false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); case when 200 < '2010-10-10' then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end case; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit when true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); case when 200 > '2010-10-10' then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end case; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit when false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); case 200 < '2010-10-10' when 1 then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end case; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit operand true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); case 200 > '2010-10-10' when 1 then set @t = concat(@t, ' A'); else set @t = concat(@t, ' B'); end case; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit operand false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); case 1 when 'q' then set @t = concat(@t, ' A'); when '1' then set @t = concat(@t, ' D'); else set @t = concat(@t, ' B'); end case; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit values true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); case 1 when 'q' then set @t = concat(@t, ' A'); when '1' then set @t = concat(@t, ' D'); else set @t = concat(@t, ' B'); end case; set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit values false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); set i = 0; while i < 2 and 200 < '2010-10-10' do set i = i + 1; set @t = concat(@t, ' A'); end while; set @t = concat(@t, ' B'); set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit while true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); set i = 0; while i < 2 and 200 > '2010-10-10' do set i = i + 1; set @t = concat(@t, ' A'); end while; set @t = concat(@t, ' B'); set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit while false:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); set i = 0; repeat set i = i + 1; set @t = concat(@t, ' A'); until i >= 2 or 200 < '2010-10-10' end repeat; set @t = concat(@t, ' B'); set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit until true:'//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare i int; begin declare exit handler for sqlwarning set @t = concat(@t, ' H'); set i = 0; repeat set i = i + 1; set @t = concat(@t, ' A'); until i >= 2 or 200 > '2010-10-10' end repeat; set @t = concat(@t, ' B'); set @t = concat(@t, ' 2'); end; set @t = concat(@t, ' 3'); end//
set @t = 'exit until false:'//
call p()//
select @t//
drop procedure p//
set sql_mode = ''//
-- RETURN: a handler of its warnings goes on behind it; one that fails has returned NULL, but for a table that is not there.
create function f() returns tinyint begin declare continue handler for sqlwarning set @t = 'H'; if 1 then return 1000; end if; set @t = concat(@t, 'Z'); return 5; end//
set @t = ''//
select 1 from t limit 1//
select f()//
select @t//
drop function f//
create function f() returns tinyint begin declare continue handler for sqlwarning set @t = 'H'; begin declare exit handler for sqlwarning set @t = 'E'; return 1000; end; set @t = concat(@t, 'Z'); end//
set @t = ''//
select 1 from t limit 1//
select f()//
select @t//
drop function f//
create function f() returns tinyint begin declare continue handler for sqlwarning return 17; return 1000; end//
set @t = ''//
select 1 from t limit 1//
select f()//
select @t//
drop function f//
create function f() returns tinyint begin declare continue handler for sqlexception set @t = 'H'; if 1 then return (select 1 union select 2); end if; set @t = concat(@t, 'Z'); end//
set @t = ''//
select 1 from t limit 1//
select f()//
select @t//
drop function f//
create function f() returns tinyint begin declare continue handler for sqlexception set @t = 'H'; if 1 then return (select 1 union select 2); end if; return 3; end//
set @t = ''//
select 1 from t limit 1//
select f()//
select @t//
drop function f//
create function f() returns tinyint begin declare continue handler for sqlexception set @t = 'H'; if 1 then return (select a from nope); end if; set @t = concat(@t, 'Z'); end//
set @t = ''//
select 1 from t limit 1//
select f()//
select @t//
drop function f//
create function f() returns tinyint begin declare exit handler for sqlexception set @t = 'H'; if 1 then return nope(); end if; end//
set @t = ''//
select 1 from t limit 1//
select f()//
select @t//
drop function f//
create function f() returns tinyint begin declare exit handler for sqlexception set @t = 'H'; select a into @n from nope; if 1 = 2 then return 2; end if; end//
set @t = ''//
select 1 from t limit 1//
select f()//
select @t//
drop function f//
-- A note has a handler by its number or its state, and as a warning if that is one of class 01.
create procedure p() begin declare continue handler for sqlwarning set @t = concat(@t, 'H'); set @t = '1'; drop table if exists nope; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for not found set @t = concat(@t, 'H'); set @t = '1'; drop table if exists nope; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1051 set @t = concat(@t, 'H'); set @t = '1'; drop table if exists nope; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '42S02' set @t = concat(@t, 'H'); set @t = '1'; drop table if exists nope; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1050 set @t = concat(@t, 'H'); set @t = '1'; drop table if exists nope; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1048 set @t = concat(@t, 'H'); set @t = '1'; drop table if exists nope; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '23000' set @t = concat(@t, 'H'); set @t = '1'; drop table if exists nope; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1265 set @t = concat(@t, 'H'); set @t = '1'; drop table if exists nope; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1329 set @t = concat(@t, 'H'); set @t = '1'; drop table if exists nope; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '01000' set @t = concat(@t, 'H'); set @t = '1'; drop table if exists nope; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlwarning set @t = concat(@t, 'H'); set @t = '1'; create table if not exists t (id int); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for not found set @t = concat(@t, 'H'); set @t = '1'; create table if not exists t (id int); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1051 set @t = concat(@t, 'H'); set @t = '1'; create table if not exists t (id int); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '42S02' set @t = concat(@t, 'H'); set @t = '1'; create table if not exists t (id int); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1050 set @t = concat(@t, 'H'); set @t = '1'; create table if not exists t (id int); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1048 set @t = concat(@t, 'H'); set @t = '1'; create table if not exists t (id int); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '23000' set @t = concat(@t, 'H'); set @t = '1'; create table if not exists t (id int); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1265 set @t = concat(@t, 'H'); set @t = '1'; create table if not exists t (id int); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1329 set @t = concat(@t, 'H'); set @t = '1'; create table if not exists t (id int); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '01000' set @t = concat(@t, 'H'); set @t = '1'; create table if not exists t (id int); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlwarning set @t = concat(@t, 'H'); set @t = '1'; insert into t values (7, 1, 'abcd'); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for not found set @t = concat(@t, 'H'); set @t = '1'; insert into t values (7, 1, 'abcd'); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1051 set @t = concat(@t, 'H'); set @t = '1'; insert into t values (7, 1, 'abcd'); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '42S02' set @t = concat(@t, 'H'); set @t = '1'; insert into t values (7, 1, 'abcd'); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1050 set @t = concat(@t, 'H'); set @t = '1'; insert into t values (7, 1, 'abcd'); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1048 set @t = concat(@t, 'H'); set @t = '1'; insert into t values (7, 1, 'abcd'); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '23000' set @t = concat(@t, 'H'); set @t = '1'; insert into t values (7, 1, 'abcd'); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1265 set @t = concat(@t, 'H'); set @t = '1'; insert into t values (7, 1, 'abcd'); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1329 set @t = concat(@t, 'H'); set @t = '1'; insert into t values (7, 1, 'abcd'); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '01000' set @t = concat(@t, 'H'); set @t = '1'; insert into t values (7, 1, 'abcd'); set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlwarning set @t = concat(@t, 'H'); set @t = '1'; update t set c = null where id = 1; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for not found set @t = concat(@t, 'H'); set @t = '1'; update t set c = null where id = 1; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1051 set @t = concat(@t, 'H'); set @t = '1'; update t set c = null where id = 1; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '42S02' set @t = concat(@t, 'H'); set @t = '1'; update t set c = null where id = 1; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1050 set @t = concat(@t, 'H'); set @t = '1'; update t set c = null where id = 1; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1048 set @t = concat(@t, 'H'); set @t = '1'; update t set c = null where id = 1; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '23000' set @t = concat(@t, 'H'); set @t = '1'; update t set c = null where id = 1; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1265 set @t = concat(@t, 'H'); set @t = '1'; update t set c = null where id = 1; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1329 set @t = concat(@t, 'H'); set @t = '1'; update t set c = null where id = 1; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '01000' set @t = concat(@t, 'H'); set @t = '1'; update t set c = null where id = 1; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlwarning set @t = concat(@t, 'H'); set @t = '1'; select id into @x from t where id = 77; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for not found set @t = concat(@t, 'H'); set @t = '1'; select id into @x from t where id = 77; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1051 set @t = concat(@t, 'H'); set @t = '1'; select id into @x from t where id = 77; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '42S02' set @t = concat(@t, 'H'); set @t = '1'; select id into @x from t where id = 77; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1050 set @t = concat(@t, 'H'); set @t = '1'; select id into @x from t where id = 77; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1048 set @t = concat(@t, 'H'); set @t = '1'; select id into @x from t where id = 77; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '23000' set @t = concat(@t, 'H'); set @t = '1'; select id into @x from t where id = 77; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1265 set @t = concat(@t, 'H'); set @t = '1'; select id into @x from t where id = 77; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for 1329 set @t = concat(@t, 'H'); set @t = '1'; select id into @x from t where id = 77; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create procedure p() begin declare continue handler for sqlstate '01000' set @t = concat(@t, 'H'); set @t = '1'; select id into @x from t where id = 77; set @t = concat(@t, '2'); delete from t where id = 7; end//
call p()//
select @t//
drop procedure p//
create table m (c decimal(4,1))//
create procedure p() begin declare continue handler for sqlwarning set @t = concat(@t, 'H'); set @t = '1'; insert into m values (1.25); end//
call p()//
select @t//
drop procedure p//
-- What is signalled comes from nowhere; RESIGNAL with another state keeps what was caught.
create procedure show_it(x int) begin get diagnostics @n = number; get diagnostics condition x @e = mysql_errno, @s = returned_sqlstate, @c = class_origin, @u = subclass_origin, @m = message_text, @a = table_name; select x, @n, @e, @s, @c, @u, @m, @a; end//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; select * from nope; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal; select * from nope; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal set message_text = 'x'; select * from nope; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal set mysql_errno = 77; select * from nope; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal sqlstate '45001'; select * from nope; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal sqlstate '45001' set message_text = 'y', table_name = 'z'; select * from nope; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning signal sqlstate '45002' set mysql_errno = 1062; select * from nope; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; select nope from t; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal; select nope from t; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal set message_text = 'x'; select nope from t; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal set mysql_errno = 77; select nope from t; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal sqlstate '45001'; select nope from t; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal sqlstate '45001' set message_text = 'y', table_name = 'z'; select nope from t; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning signal sqlstate '45002' set mysql_errno = 1062; select nope from t; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; signal sqlstate '45000'; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal; signal sqlstate '45000'; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal set message_text = 'x'; signal sqlstate '45000'; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal set mysql_errno = 77; signal sqlstate '45000'; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal sqlstate '45001'; signal sqlstate '45000'; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal sqlstate '45001' set message_text = 'y', table_name = 'z'; signal sqlstate '45000'; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning signal sqlstate '45002' set mysql_errno = 1062; signal sqlstate '45000'; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; signal sqlstate '42S02' set class_origin = 'c'; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal; signal sqlstate '42S02' set class_origin = 'c'; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal set message_text = 'x'; signal sqlstate '42S02' set class_origin = 'c'; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal set mysql_errno = 77; signal sqlstate '42S02' set class_origin = 'c'; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal sqlstate '45001'; signal sqlstate '42S02' set class_origin = 'c'; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal sqlstate '45001' set message_text = 'y', table_name = 'z'; signal sqlstate '42S02' set class_origin = 'c'; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning signal sqlstate '45002' set mysql_errno = 1062; signal sqlstate '42S02' set class_origin = 'c'; end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; insert into t values (9, 1000, 'a'); end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal; insert into t values (9, 1000, 'a'); end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal set message_text = 'x'; insert into t values (9, 1000, 'a'); end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal set mysql_errno = 77; insert into t values (9, 1000, 'a'); end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal sqlstate '45001'; insert into t values (9, 1000, 'a'); end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning resignal sqlstate '45001' set message_text = 'y', table_name = 'z'; insert into t values (9, 1000, 'a'); end; end//
call p()//
drop procedure p//
delete from t where id = 9//
create procedure p() begin declare exit handler for sqlexception, sqlwarning begin call show_it(1); if @n > 1 then call show_it(2); end if; end; begin declare exit handler for sqlexception, sqlwarning signal sqlstate '45002' set mysql_errno = 1062; insert into t values (9, 1000, 'a'); end; end//
call p()//
drop procedure p//
delete from t where id = 9//
-- A variable whose value fails is NULL; what names a table that is not there is not evaluated.
set sql_mode = 'STRICT_ALL_TABLES'//
create function fails() returns int begin signal sqlstate '45000'; return 1; end//
create procedure p() begin declare x tinyint default 5; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = 'abcdef'; set @r = x, x = 5; open c; fetch c into x; close c; select @r, x; set x = 5; select 'abcdef' into x; select x; set x = 5; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x tinyint default 5; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = (select 1 union select 2); set @r = x, x = 5; open c; fetch c into x; close c; select @r, x; set x = 5; select 'abcdef' into x; select x; set x = 5; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x tinyint default 5; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = fails(); set @r = x, x = 5; open c; fetch c into x; close c; select @r, x; set x = 5; select 'abcdef' into x; select x; set x = 5; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x tinyint default 5; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = 18446744073709551615 + 1; set @r = x, x = 5; open c; fetch c into x; close c; select @r, x; set x = 5; select 'abcdef' into x; select x; set x = 5; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x tinyint default 5; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = (select a from nope); set @r = x, x = 5; open c; fetch c into x; close c; select @r, x; set x = 5; select 'abcdef' into x; select x; set x = 5; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x date default '2020-01-01'; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = 'abcdef'; set @r = x, x = '2020-01-01'; open c; fetch c into x; close c; select @r, x; set x = '2020-01-01'; select 'abcdef' into x; select x; set x = '2020-01-01'; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x date default '2020-01-01'; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = (select 1 union select 2); set @r = x, x = '2020-01-01'; open c; fetch c into x; close c; select @r, x; set x = '2020-01-01'; select 'abcdef' into x; select x; set x = '2020-01-01'; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x date default '2020-01-01'; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = fails(); set @r = x, x = '2020-01-01'; open c; fetch c into x; close c; select @r, x; set x = '2020-01-01'; select 'abcdef' into x; select x; set x = '2020-01-01'; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x date default '2020-01-01'; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = 18446744073709551615 + 1; set @r = x, x = '2020-01-01'; open c; fetch c into x; close c; select @r, x; set x = '2020-01-01'; select 'abcdef' into x; select x; set x = '2020-01-01'; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x date default '2020-01-01'; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = (select a from nope); set @r = x, x = '2020-01-01'; open c; fetch c into x; close c; select @r, x; set x = '2020-01-01'; select 'abcdef' into x; select x; set x = '2020-01-01'; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x decimal(3,1) default 1.5; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = 'abcdef'; set @r = x, x = 1.5; open c; fetch c into x; close c; select @r, x; set x = 1.5; select 'abcdef' into x; select x; set x = 1.5; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x decimal(3,1) default 1.5; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = (select 1 union select 2); set @r = x, x = 1.5; open c; fetch c into x; close c; select @r, x; set x = 1.5; select 'abcdef' into x; select x; set x = 1.5; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x decimal(3,1) default 1.5; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = fails(); set @r = x, x = 1.5; open c; fetch c into x; close c; select @r, x; set x = 1.5; select 'abcdef' into x; select x; set x = 1.5; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x decimal(3,1) default 1.5; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = 18446744073709551615 + 1; set @r = x, x = 1.5; open c; fetch c into x; close c; select @r, x; set x = 1.5; select 'abcdef' into x; select x; set x = 1.5; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
create procedure p() begin declare x decimal(3,1) default 1.5; declare c cursor for select 'abcdef'; declare continue handler for sqlexception begin end; set x = (select a from nope); set @r = x, x = 1.5; open c; fetch c into x; close c; select @r, x; set x = 1.5; select 'abcdef' into x; select x; set x = 1.5; select a from nope; get diagnostics condition 1 x = message_text; select x; end//
call p()//
drop procedure p//
-- What a function leaves of its caller's conditions, and of ROW_COUNT().
set sql_mode = ''//
create function quiet() returns int begin return 1; end//
create procedure p() begin declare w int; declare v tinyint default 1000; set w = quiet(); get diagnostics @n = number; select @n; insert into l (w) values ('a'), ('b'), ('c'); set w = quiet(); set @r = row_count(); select @r; insert into l (w) values ('a'), ('b'), ('c'); if quiet() then set @r = row_count(); end if; select @r; end//
call p()//
drop procedure p//
create function reads() returns int begin declare n int; select count(*) into n from l; return n; end//
create procedure p() begin declare w int; declare v tinyint default 1000; set w = reads(); get diagnostics @n = number; select @n; insert into l (w) values ('a'), ('b'), ('c'); set w = reads(); set @r = row_count(); select @r; insert into l (w) values ('a'), ('b'), ('c'); if reads() then set @r = row_count(); end if; select @r; end//
call p()//
drop procedure p//
create function writes() returns int begin insert into l (w) values ('x'), ('y'); return 1; end//
create procedure p() begin declare w int; declare v tinyint default 1000; set w = writes(); get diagnostics @n = number; select @n; insert into l (w) values ('a'), ('b'), ('c'); set w = writes(); set @r = row_count(); select @r; insert into l (w) values ('a'), ('b'), ('c'); if writes() then set @r = row_count(); end if; select @r; end//
call p()//
drop procedure p//
create function warns() returns int begin declare v tinyint; set v = 1000; return 1; end//
create procedure p() begin declare w int; declare v tinyint default 1000; set w = warns(); get diagnostics @n = number; select @n; insert into l (w) values ('a'), ('b'), ('c'); set w = warns(); set @r = row_count(); select @r; insert into l (w) values ('a'), ('b'), ('c'); if warns() then set @r = row_count(); end if; select @r; end//
call p()//
drop procedure p//
create function sets() returns int begin set @z = 1; return 1; end//
create procedure p() begin declare w int; declare v tinyint default 1000; set w = sets(); get diagnostics @n = number; select @n; insert into l (w) values ('a'), ('b'), ('c'); set w = sets(); set @r = row_count(); select @r; insert into l (w) values ('a'), ('b'), ('c'); if sets() then set @r = row_count(); end if; select @r; end//
call p()//
drop procedure p//
-- A result that fails after its columns is sent as far as it came, if a handler takes care of the failure.
create table u (id int primary key, n bigint unsigned)//
insert into u values (1, 9), (2, 1)//
create procedure p() begin declare continue handler for 1690 begin get diagnostics condition 1 @m = message_text; end; select id, n - 5 from u; select @m; end//
call p()//
drop procedure p//
-- Names in messages about what is out of range.
set @u = 18446744073709551615, @i = 9223372036854775807//
select @u + 1//
select -1 * @u//
select (@x := 3) + @i//
select -1 - @@max_sp_recursion_depth//
create procedure p(a bigint unsigned) begin declare v bigint unsigned default 3; declare continue handler for 1690 begin get diagnostics condition 1 @m = message_text; select @m; end; select v - 4; set @x = a - 5; begin declare w bigint unsigned default 1; if w - a - 7 then select 1; end if; end; select n - a - 100 from u where n = 9; set v = (select n - v from u where n = 1) ; end//
call p(1)//
drop procedure p//
create trigger u_bi before insert on u for each row set new.n = new.n - 10//
insert into u values (3, 2)//
delimiter ;
