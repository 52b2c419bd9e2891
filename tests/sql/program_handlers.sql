-- Which handler a condition finds, where a program goes on, and what is left of the conditions.
set sql_mode = '';
create table t (a int);
delimiter //
-- The block whose declarations are at hand has a handler for the condition, but it is not there yet: then there is none.
create procedure a1() begin declare continue handler for sqlwarning set @t = concat(@t, 'H'); set @t = ''; begin declare v tinyint default 300; set @t = concat(@t, ' 2'); end; end//
create procedure a2() begin declare continue handler for sqlwarning set @t = concat(@t, 'H'); set @t = ''; begin declare v tinyint default 300; declare continue handler for sqlwarning set @t = concat(@t, 'I'); set @t = concat(@t, ' 2'); end; end//
create procedure a3() begin declare continue handler for sqlwarning set @t = concat(@t, 'H'); set @t = ''; begin declare v tinyint default 300; declare continue handler for sqlexception set @t = concat(@t, 'I'); set @t = concat(@t, ' 2'); end; end//
create procedure a4() begin declare continue handler for sqlexception set @t = concat(@t, 'H'); set @t = ''; begin declare v int default (select a from nope); declare continue handler for sqlexception set @t = concat(@t, 'I'); set @t = concat(@t, ' 2'); end; end//
create procedure a5() begin declare continue handler for sqlexception set @t = concat(@t, 'C'); call a4(); set @t = concat(@t, 'after'); end//
create procedure a6() begin declare continue handler for sqlwarning set @t = concat(@t, 'H'); set @t = ''; begin declare v tinyint default 300; declare w int default 2; declare continue handler for sqlwarning begin end;  set @t = concat(@t, ' 2'); end; end//
create procedure a7() begin declare continue handler for 1264 set @t = concat(@t, 'H'); set @t = ''; begin declare v tinyint default 300; declare continue handler for sqlwarning set @t = concat(@t, 'I'); set @t = concat(@t, ' 2'); end; end//
create procedure a8() begin declare continue handler for sqlwarning set @t = concat(@t, 'H'); set @t = ''; begin declare v, w, x tinyint default 300; declare c cursor for select 1; declare exit handler for sqlwarning set @t = concat(@t, 'I'); set @t = concat(@t, ' 2'); end; end//
call a1()//
select @t//
call a2()//
select @t//
call a3()//
select @t//
call a4()//
select @t//
call a5()//
select @t//
call a6()//
select @t//
call a7()//
select @t//
call a8()//
select @t//
-- A handler outside of the one that raises something and goes on: so does the inner one.
create procedure p() begin
  declare continue handler for sqlwarning
  begin
    set @t = concat(@t, ' O');
  end;
  set @t = '';
  begin
    declare v101 int;
    declare continue handler for sqlwarning
    begin
      set @t = concat(@t, ' I');
      resignal ;
      set @t = concat(@t, ' i');
    end;
    select a into v101 from t;
    set @t = concat(@t, ' 1');
  end;
  set @t = concat(@t, ' 2');
end//
create procedure p2() begin
  declare continue handler for sqlwarning
  begin
    set @t = concat(@t, ' O');
  end;
  set @t = '';
  begin
    declare v101 tinyint;
    declare continue handler for sqlwarning
    begin
      set @t = concat(@t, ' I');
      resignal ;
      set @t = concat(@t, ' i');
    end;
    set v101=300;
    set @t = concat(@t, ' 1');
  end;
  set @t = concat(@t, ' 2');
end//
create procedure p5() begin
  declare continue handler for sqlexception set @t = concat(@t, ' O');
  set @t = '';
  begin
    declare continue handler for sqlexception
    begin
      set @t = concat(@t, ' I');
      resignal ;
      set @t = concat(@t, ' i');
      signal sqlstate '45000';
      set @t = concat(@t, ' j');
    end;
    insert into nope values(1);
    set @t = concat(@t, ' 1');
    insert into nope values(1);
    set @t = concat(@t, ' 1');
  end;
  set @t = concat(@t, ' 2');
  insert into nope values(1);
end//
call p5()//
select @t//
create procedure p6() begin
  declare v101 tinyint;
  declare exit handler for sqlwarning set @t = concat(@t, ' O');
  set @t = '';
  begin
    declare continue handler for sqlwarning
    begin
      set @t = concat(@t, ' I');
      resignal ;
      set @t = concat(@t, ' i');
    end;
    set v101=300;
    set @t = concat(@t, ' 1');
  end;
  set @t = concat(@t, ' 2');
end//
call p6()//
select @t//
create procedure p7() begin
  declare v101 tinyint;
  declare continue handler for sqlwarning set @t = concat(@t, ' O');
  set @t = '';
  begin
    declare exit handler for sqlwarning
    begin
      set @t = concat(@t, ' I');
      resignal ;
      set @t = concat(@t, ' i');
    end;
    set v101=300;
    set @t = concat(@t, ' 1');
  end;
  set @t = concat(@t, ' 2');
  set v101=300;
end//
call p7()//
select @t//
call p()//
select @t//
call p2()//
select @t//
-- What a handler's statements raise stays when it ends, also if it says the same as what the handler took care of.
create procedure h1() begin declare v int; declare continue handler for 1329 begin select a into v from t; end; select a into v from t; end//
call h1()//
create procedure h2() begin declare v int; declare continue handler for 1329 begin select a into v from t; set v = 3; end; select a into v from t; end//
call h2()//
create procedure h3() begin declare v tinyint; declare continue handler for 1264 begin set v = 300; end; set v = 300; end//
call h3()//
create procedure h4() begin declare v, w tinyint; declare continue handler for 1264 begin set w = 300; set v = 3; end; set v = 300; end//
call h4()//
create procedure h5() begin declare v, w tinyint; declare continue handler for 1264 begin set v = 2; resignal; end; set v = 300; end//
call h5()//
create procedure h6() begin declare v, w tinyint; declare continue handler for 1264 begin set v = 2; select a into v from t; resignal; end; set v = 300; end//
call h6()//
-- SELECT INTO stores its first row before it finds a second one.
insert into t values (1), (2)//
create procedure s1() begin declare v int default 7; declare continue handler for 1172 begin end; select a into v from t order by a; select v; end//
call s1()//
create procedure s2(out o int) begin select a into o from t order by a desc; end//
create procedure s3() begin declare x int default 9; declare continue handler for 1172 begin end; call s2(x); select x; end//
call s3()//
create procedure s4() begin declare v tinyint default 7; declare continue handler for 1172 set @h = 1; set @h = 0; select a + 300 into v from t order by a; select v, @h; end//
call s4()//
set sql_mode = 'strict_all_tables'//
create procedure s5() begin declare v tinyint default 7; declare continue handler for sqlexception get diagnostics condition 1 @h = message_text; select a + 300 into v from t; select v, @h; end//
call s5()//
-- Of several warnings the last one that has a handler counts.
set sql_mode = ''//
create table u (id int primary key auto_increment, a tinyint not null, b varchar(2), c tinyint)//
create procedure w1() begin declare exit handler for sqlwarning begin get diagnostics @n = number; get diagnostics condition 1 @a = message_text; resignal sqlstate '23000'; end; insert into u (a, b, c) values (300, 'abcdef', 400); end//
call w1()//
select @n, @a//
create procedure w2() begin declare exit handler for 1264 begin resignal sqlstate '23000'; end; insert into u (a, b, c) values (300, 'abcdef', 400), (1, 'abcdef', 4); end//
call w2()//
create procedure w3() begin declare exit handler for 1264 resignal sqlstate '23000'; declare exit handler for 1265 begin resignal sqlstate '45000'; end; insert into u (a, b, c) values (300, 'abcdef', 1); end//
call w3()//
create procedure w4() begin declare exit handler for sqlwarning resignal sqlstate '23000'; declare exit handler for 1265 begin resignal sqlstate '45000'; end; insert into u (a, b, c) values (300, 'abcdef', 400); end//
call w4()//
-- The empty error value of an ENUM goes into another one in silence.
create procedure e1() begin declare e enum('a', 'b') default 'z'; declare f enum('a', 'b', 'c'); declare continue handler for sqlwarning set @t = concat(@t, 'W'); set @t = '1'; set e = e; set @t = concat(@t, '2'); set f = e; set @t = concat(@t, '3'); set f = concat(e); set @t = concat(@t, '4'); set f = ''; select @t, e, f + 0; end//
call e1()//
-- What a function has changed goes if its value cannot be stored.
create table log (n int primary key auto_increment, w varchar(5))//
set sql_mode = 'strict_all_tables'//
create function f() returns varchar(9) begin insert into log (w) values ('x'); return 'abcdef'; end//
create procedure f1() begin declare v varchar(3); declare continue handler for 1406 set @h = 1; set v = f(); select count(*) from log; set v = left(f(), 2); select count(*) from log; end//
call f1()//
create function f2() returns varchar(3) begin declare continue handler for 1406 begin end; return f(); end//
select f2()//
select count(*) from log//
