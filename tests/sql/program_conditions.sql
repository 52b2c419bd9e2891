-- SIGNAL, RESIGNAL, GET DIAGNOSTICS.
create table t (id int primary key);
signal sqlstate '45000';
signal sqlstate '45000' set message_text = 'hello', mysql_errno = 5000;
signal sqlstate '01000' set message_text = 'a warning';
signal sqlstate '02000' set message_text = 'nothing';
signal sqlstate '42S02' set table_name = 'x';
signal sqlstate '45000' set mysql_errno = 0;
signal sqlstate '45000' set message_text = null;
signal sqlstate '4500';
resignal;
insert into t values (1);
insert into t values (1);
get diagnostics @n = number, @r = row_count;
select @n, @r;
insert into t values (1);
get diagnostics condition 1 @c = mysql_errno, @s = returned_sqlstate, @m = message_text, @o = class_origin, @p = subclass_origin;
select @c, @s, @m, @o, @p;
insert into t values (1);
get diagnostics condition 2 @c = mysql_errno;
delimiter //
create procedure p1()
begin
  declare exit handler for sqlexception
  begin
    get diagnostics condition 1 @s = returned_sqlstate, @c = mysql_errno, @m = message_text;
    select @s, @c, @m;
    resignal;
  end;
  select * from no_such_table;
end//
call p1()//
create procedure p2()
begin
  declare exit handler for sqlexception resignal set message_text = 'changed', mysql_errno = 5001;
  select * from no_such_table;
end//
call p2()//
show warnings//
create procedure p3()
begin
  declare exit handler for sqlexception resignal sqlstate '45001' set message_text = 'another';
  select * from no_such_table;
end//
call p3()//
show warnings//
create procedure p4(x int)
begin
  declare mine condition for sqlstate '45007';
  declare continue handler for mine select 'caught mine';
  declare continue handler for sqlstate '01777' begin get diagnostics condition 1 @m = message_text; select @m; end;
  if x = 1 then signal mine set message_text = 'one'; end if;
  if x = 2 then signal sqlstate '01777' set message_text = 'two'; end if;
  if x = 3 then signal sqlstate '45008' set message_text = 'three'; end if;
  select 'end', x;
end//
call p4(1)//
call p4(2)//
call p4(3)//
create procedure p5() begin call p4(3); end//
call p5()//
create procedure p6()
begin
  declare v varchar(100);
  declare e int;
  declare continue handler for sqlexception get diagnostics condition 1 v = message_text, e = mysql_errno;
  insert into t values (1);
  select v, e;
end//
call p6()//
create procedure p7()
begin
  declare n int;
  insert into t values (7), (8);
  get diagnostics n = row_count;
  select n;
end//
call p7()//
delimiter ;
-- Items of SIGNAL take literals and variables, no expressions.
signal sqlstate '45000' set message_text = concat('a', 'b');
signal sqlstate '45000' set message_text = -1;
signal sqlstate '45000' set message_text = ('a');
signal sqlstate '45000' set message_text = 1 + 1;
signal sqlstate '45000' set message_text = now();
signal sqlstate '45000' set message_text = user();
signal sqlstate '45000' set message_text = date'2000-01-01';
signal sqlstate '45000' set message_text = 'a' 'b';
-- Strings side by side are one, wherever a statement ends.
create procedure side_by_side() begin declare x varchar(9) default 'a' 'b'; set x = concat(x, 'c' 'd'); select x; select 'e' 'f'; end;
call side_by_side();
drop procedure side_by_side;
create view side_by_side as select 'a' 'b' as c;
select * from side_by_side;
