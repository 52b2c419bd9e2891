-- Triggers do what their definers may.
create table t (id int primary key, n int, s varchar(10));
create table log (w varchar(100));
grant usage on *.* to td@localhost identified by '';
delimiter //
create definer=td@localhost trigger a before insert on t for each row begin set @a=new.n; set new.s='x'; insert into log values ('a'); end//
insert into t values (1,1,'q')//
grant trigger on sql_triggers_definers.t to td@localhost//
insert into t values (1,1,'q')//
grant select (n) on sql_triggers_definers.t to td@localhost//
insert into t values (1,1,'q')//
grant update (s) on sql_triggers_definers.t to td@localhost//
insert into t values (1,1,'q')//
grant insert on sql_triggers_definers.log to td@localhost//
insert into t values (1,1,'q')//
drop user td@localhost//
insert into t values (2,1,'q')//
drop trigger a//
create definer=nobody@localhost trigger a before insert on t for each row set @a=current_user()//
show warnings//
insert into t values (2,1,'q')//
