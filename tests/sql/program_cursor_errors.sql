-- What a failing FETCH or CLOSE of a cursor leaves in the diagnostics area: its error behind what the statement before it raised, and
-- nothing older.
set sql_mode = '';
create table t (id int primary key);
insert into t values (1);
delimiter //
create procedure p_sel_none_fetch()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  select id into x from t where id = 8; fetch r into x;
end//
create procedure p_sel_none_close()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  select id into x from t where id = 8; close r;
end//
create procedure p_sel_none_nodata()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  select id into x from t where id = 8; open r; fetch r into x; fetch r into x;
end//
create procedure p_sel_uset_fetch()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  select id into x from t where id = 8; set @t = 1; fetch r into x;
end//
create procedure p_sel_uset_close()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  select id into x from t where id = 8; set @t = 1; close r;
end//
create procedure p_sel_uset_nodata()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  select id into x from t where id = 8; set @t = 1; open r; fetch r into x; fetch r into x;
end//
create procedure p_sel_tsel_fetch()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  select id into x from t where id = 8; select count(*) into y from t; fetch r into x;
end//
create procedure p_sel_tsel_close()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  select id into x from t where id = 8; select count(*) into y from t; close r;
end//
create procedure p_sel_tsel_nodata()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  select id into x from t where id = 8; select count(*) into y from t; open r; fetch r into x; fetch r into x;
end//
create procedure p_set_none_fetch()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  set x = 'abc'; fetch r into x;
end//
create procedure p_set_none_close()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  set x = 'abc'; close r;
end//
create procedure p_set_none_nodata()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  set x = 'abc'; open r; fetch r into x; fetch r into x;
end//
create procedure p_set_uset_fetch()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  set x = 'abc'; set @t = 1; fetch r into x;
end//
create procedure p_set_uset_close()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  set x = 'abc'; set @t = 1; close r;
end//
create procedure p_set_uset_nodata()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  set x = 'abc'; set @t = 1; open r; fetch r into x; fetch r into x;
end//
create procedure p_set_tsel_fetch()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  set x = 'abc'; select count(*) into y from t; fetch r into x;
end//
create procedure p_set_tsel_close()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  set x = 'abc'; select count(*) into y from t; close r;
end//
create procedure p_set_tsel_nodata()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  set x = 'abc'; select count(*) into y from t; open r; fetch r into x; fetch r into x;
end//
create procedure p_none_none_fetch()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  fetch r into x;
end//
create procedure p_none_none_close()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  close r;
end//
create procedure p_none_none_nodata()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  open r; fetch r into x; fetch r into x;
end//
create procedure p_none_uset_fetch()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  set @t = 1; fetch r into x;
end//
create procedure p_none_uset_close()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  set @t = 1; close r;
end//
create procedure p_none_uset_nodata()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  set @t = 1; open r; fetch r into x; fetch r into x;
end//
create procedure p_none_tsel_fetch()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  select count(*) into y from t; fetch r into x;
end//
create procedure p_none_tsel_close()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  select count(*) into y from t; close r;
end//
create procedure p_none_tsel_nodata()
begin
  declare x int; declare y int; declare r cursor for select id from t;
  select count(*) into y from t; open r; fetch r into x; fetch r into x;
end//
delimiter ;
select nix;
call p_sel_none_fetch();
show warnings;
select nix;
call p_sel_none_close();
show warnings;
select nix;
call p_sel_none_nodata();
show warnings;
select nix;
call p_sel_uset_fetch();
show warnings;
select nix;
call p_sel_uset_close();
show warnings;
select nix;
call p_sel_uset_nodata();
show warnings;
select nix;
call p_sel_tsel_fetch();
show warnings;
select nix;
call p_sel_tsel_close();
show warnings;
select nix;
call p_sel_tsel_nodata();
show warnings;
select nix;
call p_set_none_fetch();
show warnings;
select nix;
call p_set_none_close();
show warnings;
select nix;
call p_set_none_nodata();
show warnings;
select nix;
call p_set_uset_fetch();
show warnings;
select nix;
call p_set_uset_close();
show warnings;
select nix;
call p_set_uset_nodata();
show warnings;
select nix;
call p_set_tsel_fetch();
show warnings;
select nix;
call p_set_tsel_close();
show warnings;
select nix;
call p_set_tsel_nodata();
show warnings;
select nix;
call p_none_none_fetch();
show warnings;
select nix;
call p_none_none_close();
show warnings;
select nix;
call p_none_none_nodata();
show warnings;
select nix;
call p_none_uset_fetch();
show warnings;
select nix;
call p_none_uset_close();
show warnings;
select nix;
call p_none_uset_nodata();
show warnings;
select nix;
call p_none_tsel_fetch();
show warnings;
select nix;
call p_none_tsel_close();
show warnings;
select nix;
call p_none_tsel_nodata();
show warnings;
