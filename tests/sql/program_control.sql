-- Control flow, variables, cursors, handlers.
create table t (id int primary key auto_increment, v varchar(20), n int);
create table log (id int primary key auto_increment, what varchar(100));
delimiter //
create procedure loops(k int)
begin
  declare i, total int default 0;
  declare s varchar(100) default '';
  while i < k do
    set i = i + 1;
    if i = 3 then set s = concat(s, 'three,');
    elseif i % 2 = 0 then set s = concat(s, 'even,');
    else set s = concat(s, i, ',');
    end if;
  end while;
  select s, i;
  repeat set total = total + i; set i = i - 1; until i <= 0 end repeat;
  select total;
  outer_loop: loop
    set i = i + 1;
    if i = 2 then iterate outer_loop; end if;
    inner_block: begin
      if i > 4 then leave outer_loop; end if;
      if i = 3 then leave inner_block; end if;
      select i as in_block;
    end inner_block;
  end loop outer_loop;
  select i as last;
end//
call loops(5)//
create procedure cases(x int, y varchar(10))
begin
  case x when 1 then select 'one'; when 2 then select 'two'; else select 'many'; end case;
  case when y = 'a' then select 'is a'; when y is null then select 'is null'; end case;
end//
call cases(1, 'a')//
call cases(2, null)//
call cases(3, 'b')//
drop procedure cases//
create procedure cases(x int) case x when 1 then select 'one'; end case//
call cases(1)//
call cases(2)//
create procedure scopes()
begin
  declare a int default 1;
  declare b int default a + 1;
  begin
    declare a varchar(10) default 'inner';
    set b = b + 10;
    select a, b;
  end;
  select a, b;
end//
call scopes()//
create procedure types()
begin
  declare a tinyint default 127;
  declare b decimal(5,2) default 1.005;
  declare c date default '2020-02-30';
  declare d char(3);
  set d = 'abcd';
end//
call types()//
drop procedure types//
create procedure types()
begin
  declare b decimal(5,2) default 1.015;
  declare c datetime default '2020-02-29';
  declare d char(5) default 'ab ';
  declare e enum('x', 'y') default 'Y';
  declare f bit(3) default 5;
  declare g double default 1e3;
  declare h int unsigned default 7;
  declare i blob default 'bytes';
  select b, c, concat(d, '|'), e, f + 0, g, h, i;
  set h = 0 - 1;
end//
call types()//
drop procedure types//
set sql_mode = ''//
create procedure types()
begin
  declare a tinyint default 127;
  declare d char(3);
  set a = a + 1;
  set d = 'abcd';
  select a, d;
end//
call types()//
show warnings//
set sql_mode = 'STRICT_TRANS_TABLES'//
call types()//
create procedure fill(k int)
begin
  declare i int default 0;
  while i < k do
    insert into t (v, n) values (concat('row ', i), i * i);
    set i = i + 1;
  end while;
end//
call fill(4)//
select row_count(), last_insert_id()//
select * from t//
create procedure read_all()
begin
  declare done int default 0;
  declare a int;
  declare b varchar(20);
  declare total int default 0;
  declare c cursor for select id, v from t where n >= 1 order by id desc;
  declare continue handler for not found set done = 1;
  open c;
  l: loop
    fetch c into a, b;
    if done then leave l; end if;
    set total = total + a;
    insert into log (what) values (concat(a, '=', b));
  end loop;
  close c;
  select total, done;
end//
call read_all()//
show warnings//
select what from log order by id//
create procedure cursors()
begin
  declare a, b int;
  declare c cursor for select 1;
  begin
    declare continue handler for 1326 select 'not open';
    declare continue handler for 1325 select 'open already';
    declare continue handler for sqlstate '02000' select 'no more';
    declare continue handler for 1328 select 'other number';
    fetch c into a;
    close c;
    open c;
    open c;
    fetch c into a, b;
    fetch c into a;
    fetch c into a;
    close c;
  end;
  open c;
  fetch c into a;
  fetch c into a;
end//
call cursors()//
create procedure into_vars()
begin
  declare a int; declare b varchar(10);
  select id, v into a, b from t where id = 2;
  select a, b;
  select id into a from t where id = 99;
  select a;
  select id into a from t;
  select 'not here';
end//
call into_vars()//
create procedure nested(k int)
begin
  declare exit handler for sqlexception begin select 'outer handler', k; end;
  begin
    declare continue handler for 1062 select 'duplicate';
    declare exit handler for 1146 begin select 'no table'; insert into t (id) values (1); select 'after'; end;
    insert into t (id) values (1);
    if k = 1 then select * from no_such_table; end if;
    select 'end of block';
    if k = 2 then signal sqlstate '45000'; end if;
  end;
  select 'end of procedure';
end//
call nested(0)//
call nested(1)//
call nested(2)//
create procedure exact()
begin
  declare exit handler for sqlexception select 'class';
  declare exit handler for sqlstate '42S02' select 'state';
  declare exit handler for 1146 select 'number';
  select * from no_such_table;
end//
call exact()//
create procedure in_handler()
begin
  declare continue handler for sqlexception
  begin
    select 'first';
    select * from no_such_table;
    select 'not reached';
  end;
  signal sqlstate '45000' set message_text = 'mine';
  select 'not reached either';
end//
call in_handler()//
create procedure bad_condition()
begin
  declare x int default 0;
  declare continue handler for sqlexception select 'handled';
  if (select id from no_such_table) then select 'yes'; else select 'no'; end if;
  select 'after if';
  while x < 1 and (select id from no_such_table) do set x = x + 1; end while;
  select 'after while';
end//
call bad_condition()//
create procedure warned()
begin
  declare w int default 0;
  declare continue handler for sqlwarning set w = w + 1;
  drop table if exists no_such_table;
  select 1 / 0;
  select w;
end//
call warned()//
create procedure outs(in a int, out b int, inout c varchar(10))
begin
  set b = a * 2;
  set c = concat(c, '!');
  set a = 100;
end//
set @x = 4, @c = 'hey'//
call outs(@x, @b, @c)//
select @x, @b, @c//
create procedure calls_outs()
begin
  declare p, q int default 5;
  declare r varchar(10) default 'r';
  call outs(p, q, r);
  select p, q, r;
end//
call calls_outs()//
create procedure fact(n int, out f bigint)
begin
  declare g bigint;
  if n <= 1 then set f = 1;
  else
    call fact(n - 1, g);
    set f = n * g;
  end if;
end//
call fact(5, @f)//
set max_sp_recursion_depth = 20//
call fact(10, @f)//
select @f//
call fact(30, @f)//
create procedure dynamic(t varchar(20))
begin
  set @q = concat('select count(*) as c from ', t, ' where id > ?');
  set @id = 1;
  prepare s from @q;
  execute s using @id;
  deallocate prepare s;
end//
call dynamic('t')//
call dynamic('nowhere')//
create procedure limits(a int, b int) select id from t order by id limit a, b//
call limits(1, 2)//
create procedure hides(id int) begin select id from t limit 1; update t set n = id where t.id = id limit 1; end//
call hides(77)//
create procedure trx()
begin
  start transaction;
  insert into log (what) values ('gone');
  rollback;
  insert into log (what) values ('stays');
  commit;
end//
call trx()//
select what from log where what in ('gone', 'stays')//
create procedure modes() select @@sql_mode, database()//
set sql_mode = ''//
call modes()//
select @@sql_mode//
delimiter ;
