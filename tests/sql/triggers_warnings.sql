-- SET of a column of NEW warns where storing the value in a variable does, in strict mode too, and refuses nothing but NULL.
create table t (id int primary key, a int, b varchar(6), c decimal(6,2), d date, e tinyint not null, f char(3), g enum('a','b'), h double, i time, j year, k varbinary(2), l datetime, m blob, n bit(2), o set('x','y'));
delimiter //
create trigger bi before insert on t for each row
begin
  declare continue handler for sqlexception begin set @t = concat(@t, ' E'); get diagnostics condition 1 @m = message_text; set @t = concat(@t, @m); end;
  declare continue handler for sqlwarning begin set @t = concat(@t, ' W'); get diagnostics condition 1 @m = message_text; set @t = concat(@t, @m); end;
  set @t = concat(@t, ' 1'); set new.c = 3.14159;
  set @t = concat(@t, ' 2'); set new.e = 300;
  set @t = concat(@t, ' 3'); set new.b = 'abcdefghij';
  set @t = concat(@t, ' 4'); set new.d = '2020-02-30';
  set @t = concat(@t, ' 5'); set new.d = '2020-02-28 10:10:10';
  set @t = concat(@t, ' 6'); set new.a = 'x';
  set @t = concat(@t, ' 7'); set new.a = '5x';
  set @t = concat(@t, ' 8'); set new.b = 'é      ';
  set @t = concat(@t, ' 9'); set new.a = 1.5;
  set @t = concat(@t, ' 10'); set new.a = 1/0;
  set @t = concat(@t, ' 11'); set new.a = 1 + 'x';
  set @t = concat(@t, ' 12'); set new.f = 'abcd';
  set @t = concat(@t, ' 13'); set new.f = 'abc  ';
  set @t = concat(@t, ' 14'); set new.g = 'z';
  set @t = concat(@t, ' 15'); set new.h = '1.5x';
  set @t = concat(@t, ' 16'); set new.j = 1800;
  set @t = concat(@t, ' 17'); set new.k = 'abc';
  set @t = concat(@t, ' 18'); set new.n = 9;
  set @t = concat(@t, ' 19'); set new.o = 'x,z';
  set @t = concat(@t, ' 20'); set new.b = new.m;
  set @t = concat(@t, ' 21'); set new.c = '1.5x';
  set @t = concat(@t, ' 22'); set new.c = 99999999;
  set @t = concat(@t, ' 23'); set new.e = null;
end//
set @t = ''//
insert into t (id, m, e) values (1, 'aaaaaaaaaaaaaaaaaa', 1)//
select @t//
select * from t//
drop trigger bi//
create trigger bi before insert on t for each row
begin
  set new.c = 3.14159;
  get diagnostics @n1 = number;
  get diagnostics condition 1 @m1 = message_text;
  set new.e = 300;
  get diagnostics @n2 = number;
  get diagnostics condition 1 @m2 = message_text;
end//
insert into t (id, e) values (2, 1)//
select @n1, @m1, @n2, @m2//
-- After a refused NULL the column is 0.
drop trigger bi//
create trigger bi before insert on t for each row
begin
  declare continue handler for 1048 begin end;
  set new.e = null;
end//
set sql_mode = ''//
insert into t (id, e) values (3, 5)//
select id, c, e from t//
