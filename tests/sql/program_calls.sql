-- Arguments of CALL, values of SELECT .. INTO, CASE, ENUM values of functions, warnings of RESIGNAL.
set sql_mode = 'STRICT_TRANS_TABLES';
set @t = '';
create table log (w varchar(9));
create table t0 (a int);
create table t (a int, b int);
insert into t values (65536, 1);
delimiter //
create function f(x int) returns int begin insert into log values ('f'); set @t = concat(@t, 'f', x, ' '); return x; end//
create function g(x varchar(2)) returns int begin set @t = concat(@t, 'g', x, ' '); return 1; end//
create function h() returns int begin insert into log values ('h'); signal sqlstate '45000'; return 1; end//
create procedure p(a int, out b int) set b = a//
create procedure q(a int, b enum('a', 'b')) insert into log values ('q')//

-- An OUT argument that is no variable is not evaluated, those before it are.
call p(f(1), f(2))//
select @t//
call p(g('abc'), f(2))//
call p(1, g('abc'))//
create procedure o() begin declare continue handler for 1414 set @t = concat(@t, 'handled '); call p(g('a'), f(2)); end//
call o()//
select @t//

-- What functions in arguments have changed is taken back if another one fails.
select * from log//
call q(f(1), 'x')//
call q(f(1), h())//
call p(f(1), 2)//
select * from log//
create procedure r() begin declare continue handler for sqlexception begin end; call q(f(1), h()); select * from log; call q(f(1), 'a'); end//
call r()//
select * from log//
begin//
insert into log values ('x')//
call q(f(1), 'x')//
rollback//
select * from log//

-- Variables behind one that cannot take its value keep theirs.
set @n = 0//
create procedure i1() begin declare v tinyint; select a, b into v, @n from t; end//
call i1()//
select @n//
create procedure i2() begin declare v tinyint; select a, b into @n, v from t; end//
call i2()//
select @n//
create procedure i3() begin declare v, w tinyint; declare continue handler for sqlexception begin end; select 8, 65536, 6, 3 into v, w, @n, v; select v, w, @n; end//
call i3()//

-- A literal that CASE compares insists on its collation as a literal does.
create function u() returns varchar(8) return 'q'//
create procedure c1() begin case _latin1'q' when u() then select 1; else select 2; end case; case 'q' when concat(u()) then select 1; else select 2; end case; end//
call c1()//
create procedure c2(v varchar(5) character set latin1) begin case v when u() then select 1; else select 2; end case; end//
call c2('q')//

-- A procedure that may not call itself any more.
set max_sp_recursion_depth = 0//
create procedure s(k int) call s(k - 1)//
call s(1)//
show warnings//

set sql_mode = ''//
-- An ENUM that a function gives or a subquery finds is its text.
create function e(a varchar(9)) returns enum('a', 'b') return a//
create procedure e1(v enum('a', 'b')) select v, v + 0//
call e1(e('x'))//
call e1(e('b'))//
create procedure e2() begin declare v enum('a', 'b'); declare i int; declare d decimal(5,2); set v = e(''); show warnings; set i = e('b'); show warnings; set d = e('a'); show warnings; select v, i, d; end//
call e2()//
create table te (v enum('a', 'b'), i int, d double)//
insert into te values (e('x'), e('b'), e('x'))//
select * from te//
insert into te (v) select v from te//

-- RESIGNAL as a warning: what was caught stays before it.
create procedure w1() begin declare n int; declare exit handler for not found resignal sqlstate '01000'; select a into n from t0; end//
call w1()//
create procedure w2() begin declare exit handler for sqlexception resignal sqlstate '01000' set message_text = 'x', mysql_errno = 5000; select 1 from nope; end//
call w2()//
create procedure w3() begin declare exit handler for not found begin resignal sqlstate '01000'; set @t = 'x'; end; select a into @n from t0; end//
call w3()//
create procedure w4() begin declare n int; declare exit handler for not found begin resignal sqlstate '01000'; set n = 'x'; end; select a into n from t0; end//
call w4()//
create procedure w5() begin declare n int; declare continue handler for not found begin set n = 'y'; resignal sqlstate '01000'; end; select a into n from t0; set n = 1; end//
call w5()//
create procedure w6() begin declare v, w tinyint; declare continue handler for sqlwarning resignal sqlstate '01000'; select 300, 'x' into v, w; end//
call w6()//
create procedure w7() begin declare n int; declare exit handler for not found resignal; select a into n from t0; end//
call w7()//
create procedure w8(k int) begin declare continue handler for sqlexception resignal sqlstate '01000'; call w8(k - 1); end//
call w8(1)//
