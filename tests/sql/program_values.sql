-- What values become on their way: texts that are no numbers, dates that are none, integers of both signs, text of other character sets.
create table t (id int primary key, n int, b varchar(6) character set latin1, x text, d date, u smallint unsigned);
insert into t values (1, 5, 'abc', '12x', null, 0), (2, 6, '7up', 'q', '2020-01-01', 0);
set @s = 'abc', @z = '3z';
-- A text that was calculated, or is a TEXT, becomes a number without a word.
select 'abc' + 0, b + 0 from t where id = 1;
select concat(b) + 0, x + 0, @s + 0, @z * 2, upper('9a') + 1, (select b from t where id = 2) + 0 from t order by id;
select max(b) + 0, group_concat(b) + 0 from t;
select if(id = 1, b, b) + 0, case id when 1 then b end + 0, nullif(b, 'q') + 0, elt(1, b) + 0 from t where id = 1;
select if(id = 1, concat(b), 'a') + 0, ifnull(b, 'q') + 0, coalesce(b) + 0, nullif(concat(b), 'q') + 0 from t where id = 1;
select -concat(b), not concat(b), concat(b) and 1, concat(b) | 0, concat(b) % 2, bit_count(concat(b)), sqrt(concat(b)) from t where id = 1;
select n = concat(b), n between concat(b) and '9', n in (concat(b), 5), nullif(n, concat(b)), field(n, concat(b)) from t where id = 1;
select left('abc', concat('1', b)), repeat('a', @z), cast(concat(b) as signed), sum(concat(b)), avg(concat(x)), bit_or(concat(x)) from t where id = 1;
select id from t where concat(b) = 0;
select id from t where n > concat('5', 'x') order by id;
prepare st from 'select ? + 0, ? | 0';
execute st using @s, @z;
prepare st from 'select id from t where n = ?';
execute st using @s;
insert into t (id, n) values (10, 'abc' + 0);
insert into t (id, n) values (10, concat('4', 'x') + 1), (11, @s + 1);
insert into t (id, n) values (12, concat('4', 'x'));
update t set n = b + 1;
update t set n = concat(b) + 1 where id < 3;
update t set n = x + 1 where concat(b) = 7;
delete from t where concat(id, 'x') = 10 or id = 11;
select id, n from t order by id;
delimiter //
create procedure q1(a varchar(9), b text)
begin
  declare i int;
  declare continue handler for sqlexception, sqlwarning begin get diagnostics condition 1 @m = message_text; select i, @m; end;
  set i = b + 1;
  set i = concat(a) + 2;
  set i = @s + 3;
  set i = (select max(x) from t) + 4;
  select i;
  set i = a + 5;
  set i = concat(a);
  if concat(a) = 0 then select 'equal'; end if;
  if a = 0 then select 'equal, with a warning'; end if;
  case concat(a) when 0 then select 'case'; end case;
  case a when 0 then select 'case of a variable'; end case;
  case 'abc' when 0 then select 'case of a literal'; end case;
  case 0 when a then select 'case with a warning'; end case;
end//
call q1('abc', 'abc')//
create function f1() returns varchar(9) deterministic return 'abc'//
create function f2() returns text deterministic return 'abc'//
select f1() + 0//
select f2() + 0//
-- What IS NULL asks of, and what a date is compared with, is worked out before anything is stored: no error, only a warning.
create procedure q2(a date, k int)
begin
  declare i int;
  set i = day('2020-02-30') is null;
  select i;
  set i = if(('2020-02-30' + interval k day) is null, 3, 4);
  select i;
  set i = a > coalesce('2020-02-30' + interval 1 day, '2020-01-01');
  select i;
end//
call q2('2020-01-02', 1)//
call q2(null, null)//
create procedure q3(a date)
begin
  declare continue handler for sqlwarning select 'a warning';
  if a <> ('2020-02-30' + interval 9 day) then select 'differs'; end if;
  if coalesce(a, a) <> ('2020-02-30' + interval 9 day) then select 'differs'; end if;
  select 'end';
end//
call q3(null)//
create procedure q4(a date) begin declare i int; set i = day('2020-02-30'); select i; end//
call q4(null)//
create procedure q5(a date) begin declare i int; set i = coalesce(a, a) > ('2020-02-30' + interval 1 day); select i; end//
call q5(null)//
call q5('2020-01-01')//
create procedure q6(a date) begin declare i int; set i = day('2020-02-30') is not null; select i; end//
call q6(null)//
insert into t (id, n) values (20, ('2020-02-30' + interval 1 day) is null)//
select n from t where id = 20//
-- An integer chosen among some that are UNSIGNED and some that are not is calculated with as a DECIMAL.
select coalesce(-1, u) + u, ifnull(-1, u) - u, if(1, -1, u) * (u + 1), case when 1 then -1 else u end + u from t where id = 1//
select u - coalesce(1, u), u + coalesce(coalesce(-1, u), 2), coalesce(u, -1) - 1 from t where id = 1//
select -1 + u from t where b = 'abc'//
select coalesce(-1, n) + u from t where b = 'abc'//
select coalesce(-1, u) div (u + 1) from t where b = 'abc'//
create procedure q7() begin declare v smallint unsigned default 0; set v = coalesce(-1, v) + (1 + v); select v; end//
call q7()//
-- FETCH and CLOSE that fail leave what earlier statements have raised.
create procedure q8()
begin
  declare v int;
  declare r cursor for select id from t where id = 1;
  begin
    declare exit handler for 1326 begin get diagnostics @k = number; get diagnostics condition 1 @e = mysql_errno; select @k, @e; end;
    select n into v from t where id = 99;
    fetch r into v;
  end;
  begin
    declare exit handler for 1326 begin get diagnostics @k = number; get diagnostics condition 1 @e = mysql_errno; select @k, @e; end;
    select n into v from t where id = 99;
    close r;
  end;
  begin
    declare exit handler for 1325 begin get diagnostics @k = number; get diagnostics condition 1 @e = mysql_errno; select @k, @e; end;
    open r;
    select n into v from t where id = 99;
    open r;
  end;
  begin
    declare exit handler for not found begin get diagnostics @k = number; get diagnostics condition 1 @e = mysql_errno; select @k, @e; end;
    fetch r into v;
    select 1 + 'a';
    fetch r into v;
  end;
end//
call q8()//
-- Bytes and characters in messages.
create procedure q9(a varbinary(6)) begin declare d date; set d = a; end//
call q9('é')//
create procedure q10(a varchar(6) character set latin1) begin declare d datetime; set d = a; end//
call q10('é')//
create procedure q11() begin declare v varbinary(6) default x'61e962'; signal sqlstate '45000' set message_text = v; end//
call q11()//
create procedure q12() begin declare v varchar(6) character set latin1 default 'aéb'; signal sqlstate '45000' set message_text = v; end//
call q12()//
-- NOT of a comparison is its opposite, also where a side is a subquery.
create function f3() returns text deterministic return @s//
select not (f3() > (select max(b) from t))//
-- A text that is malformed has no place in another character set.
create table m (id int, l varchar(6) character set latin1, u varchar(6) character set utf8, w varchar(6) character set utf8mb4)//
create function f4() returns int deterministic begin declare v varchar(8) character set latin1 default 'aéb'; set @y = lower(v); return 1; end//
set @y = 'x'//
insert into m (id, l) values (f4(), @y)//
set sql_mode = ''//
set @y = 'x'//
insert into m values (f4(), @y, @y, @y)//
select id, hex(l), hex(u), hex(w) from m//

delimiter ;
-- What has no next second cannot be rounded.
create table moments (d datetime, dd date);
set sql_mode = 'strict_trans_tables';
insert into moments (d) values (0.5);
set sql_mode = '';
insert ignore into moments (d) values (0.5), (20010005100000.7), ('2001-05-00 10:00:00.7'), (99991231235959.7), (20011231235959.7);
insert ignore into moments (dd) values ('2001-00-05 10:00:00.7'), (20011231235959.7);
select * from moments;
select cast('2001-00-05 10:00:00.7' as datetime), cast(cast('2001-00-05 10:00:00.7' as datetime(1)) as signed);
-- Numbers of conditions have no sign.
select nope;
get diagnostics @n = number, @r = row_count;
get diagnostics condition 1 @e = mysql_errno;
create table conditions as select @n n, @r r, @e e;
describe conditions;
select @n - 2;
drop table moments, conditions;
