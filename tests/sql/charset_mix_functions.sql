-- What is calculated for each row from literals and stored functions is not converted to another character set.
delimiter //
create function g() returns varchar(3) deterministic return 'abc'//
delimiter ;
create table l (s varchar(9) character set latin1, u varchar(9) character set utf8 collate utf8_bin, m varchar(9));
insert into l values ('é', 'é', 'é');
select concat(g(), s) from l;
select concat(s, g()) from l;
select s = g() from l;
select ifnull(s, g()) from l;
select if(1, s, g()) from l;
select concat(u, g()) from l;
select concat(m, g()) from l;
select concat(s, concat(g())) from l;
select concat(s, concat(g(),'é')) from l;
select concat(s, left(g(),1)) from l;
select concat(s, 'é') from l;
select concat(s, '€') from l;
select concat(s, 'д') from l;
select concat(s, concat('é',1)) from l;
select concat(s, concat('é',u)) from l;
select concat(s, m) from l;
select s like g() from l;
select s in (g()) from l;
select case s when g() then 1 end from l;
select coalesce(s, g()) from l;
select replace(s, g(), 'a') from l;
select s between g() and 'x' from l;
select strcmp(s, g()) from l;
select instr(s, g()) from l;
select greatest(s, g()) from l;
select concat(s, repeat('é',s)) from l;
select concat(s, substr('éa',s)) from l;
-- CONVERT .. USING takes bytes up to what is no character; in strict mode they are NULL then.
set sql_mode = '';
create table t (b varbinary(6));
insert into t values (x'61e962');
select hex(convert(b using utf8)), hex(convert(b using latin1)), hex(convert(b using ucs2)), hex(cast(b as char)) from t;
select hex(convert(b using utf8mb4)) from t;
select hex(convert(x'616263E9E9E9E9E9E9' using utf8mb4)), hex(convert(binary 'abc' using utf8));
set sql_mode = 'strict_all_tables';
select hex(convert(b using utf8)), concat(convert(b using utf8), 'x') from t;
-- Bytes mix with everything.
set sql_mode = '';
select b <=> g(), b = g(), hex(concat(b, g())), hex(concat(g(), b)), hex(ifnull(b, g())), hex(concat(b, concat('é', g()))) from t;
-- A local ENUM insists on its collation as a text does.
delimiter //
create procedure p(in a varchar(8) character set latin1) begin declare e enum('a', 'b') default 'a'; select charset(concat(e)), coercibility(concat(e)), coercibility(e), charset(concat(e, a)); end//
call p('é')//
