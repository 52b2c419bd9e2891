-- What a statement of a trigger raised before it failed is told with its error.
set sql_mode='';
drop table if exists t,u; create table t (id int primary key, a int); create table u (id int primary key, b int); insert into u values (1,1),(2,2);
drop procedure if exists p1; drop procedure if exists p2;
insert into t values (null,1),(null,2); show warnings; select * from t; 
insert into t values (5,1),(5,2); show warnings; 
insert into t values (0,1),(0,2); show warnings; 
insert into t values (null,1),(7,'abc'),(null,3); show warnings; delete from t;
delimiter //
create procedure p1() begin declare continue handler for sqlwarning set @h = 1; insert into t values (null,1),(7,'abc'),(null,3); end//
create procedure p2() begin  insert into t values (null,1),(7,'abc'),(null,3); end//
create trigger tr before update on u for each row begin declare continue handler for sqlwarning set @h = 1; set @x=1; insert into t values (null,1),(7,'abc'),(null,3); end//
create trigger ti before insert on u for each row begin set @x=1; insert into t values (null,1),(7,'abc'),(null,3); end//
create trigger td before delete on u for each row begin set @x=1; insert into t values (null,new.nix),(7,'abc'),(null,3); end//
create trigger td before delete on u for each row begin set @x=1; select 'abc'+1 into @y; insert into t values (1,1),(1,3); end//
delimiter ;
call p1(); show warnings; delete from t;
call p2(); show warnings;delete from t;
update u set b=3; show warnings; delete from t;
insert into u values (8,8); show warnings; delete from t;
delete from u where id=1; show warnings; select * from u; select * from t;
