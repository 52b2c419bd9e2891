-- Functions in queries.
create table t (id int primary key, n int, s varchar(20));
create table log (id int primary key auto_increment, what varchar(100));
insert into t values (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c');
delimiter //
create function twice(x int) returns int deterministic return x * 2//
select id, twice(n) from t order by id//
select * from t where twice(id) = 4//
select sum(twice(n)), max(twice(id)) from t//
select twice(n) as d, count(*) from t group by d order by d desc//
select id from t order by twice(-id)//
update t set n = twice(n) where twice(id) > 2//
select * from t//
create function logged(x int) returns int begin insert into log (what) values (concat('saw ', x)); return x; end//
select logged(id) from t order by id//
select what from log order by id//
select logged(1) from log limit 1//
create function fails(x int) returns int
begin
  insert into log (what) values ('before failure');
  signal sqlstate '45000' set message_text = 'no good';
  return 1;
end//
select fails(1)//
select count(*) from log where what = 'before failure'//
insert into t select 4, fails(1), 'x'//
create function handled(x int) returns int
begin
  declare continue handler for sqlexception insert into log (what) values ('handled');
  insert into t values (1, 1, 'dup');
  return x + 1;
end//
select handled(5)//
select what from log order by id desc limit 1//
create function no_return(x int) returns int begin if x > 0 then return x; end if; end//
select no_return(1)//
select no_return(0)//
create function rec(x int) returns int return rec(x - 1)//
select rec(3)//
create function text_of(x int) returns varchar(5) charset utf8 return concat('row ', x)//
select text_of(5), length(text_of(5))//
create function lookup(k int) returns varchar(20) reads sql data return (select s from t where id = k)//
select lookup(1), lookup(2), lookup(9)//
select t.id, lookup(t.id) from t where lookup(t.id) > 'a' order by 1//
create function counts() returns int begin declare c int; select count(*) into c from t; return c; end//
select counts()//
insert into t values (5, counts(), 'five')//
select * from t where id = 5//
create function returns_set() returns int begin call some(); return 1; end//
create procedure some() select 1//
create function last_id() returns int begin insert into log (what) values ('last'); return last_insert_id() > 0; end//
select last_insert_id() as before_it//
select last_id()//
create function user_var() returns int begin set @seen = ifnull(@seen, 0) + 1; return @seen; end//
set @seen = null//
select user_var(), user_var()//
set @x = twice(21)//
select @x//
do logged(99)//
select what from log order by id desc limit 1//
create procedure uses_functions() begin declare a int default twice(4); if twice(a) = 16 then select 'yes', a; end if; set a = logged(twice(a)); select a; end//
call uses_functions()//
select twice(null), twice('12'), twice('x')//
show create function twice//
select routine_name, routine_type, data_type, is_deterministic, sql_data_access from information_schema.routines where routine_schema = database() order by 1//
select specific_name, ordinal_position, parameter_mode, parameter_name, dtd_identifier from information_schema.parameters where specific_schema = database() order by 1, 2//
alter function twice comment 'doubles' sql security invoker//
show create function twice//
drop function twice//
select twice(1)//
delimiter ;
