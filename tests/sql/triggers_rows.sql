-- Rows as triggers see and change them.
create table t (id int primary key auto_increment, n int not null, s varchar(5), u int unique, ts timestamp null);
create table log (i int primary key auto_increment, w varchar(200));
delimiter //
create trigger bi before insert on t for each row begin insert into log(w) values (concat_ws(',', 'bi', ifnull(new.id,'N'), ifnull(new.n,'N'), ifnull(new.s,'N'), ifnull(new.u,'N'))); if new.s='fix' then set new.s='fixed!!'; end if; if new.s = 'nul' then set new.n = null; end if; if new.n is null then set new.n=7; end if; end//
create trigger ai after insert on t for each row insert into log(w) values (concat_ws(',', 'ai', ifnull(new.id,'N'), ifnull(new.n,'N'), ifnull(new.s,'N'), ifnull(new.u,'N')))//
create trigger bu before update on t for each row begin insert into log(w) values (concat_ws(',', 'bu', old.id, new.id, old.n, ifnull(new.n,'N'), ifnull(old.s,'N'), ifnull(new.s,'N'), ifnull(old.u,'N'), ifnull(new.u,'N'))); if new.s='chg' then set new.n=new.n+100; end if; end//
create trigger au after update on t for each row insert into log(w) values (concat_ws(',', 'au', old.id, new.id, old.n, ifnull(new.n,'N'), ifnull(old.s,'N'), ifnull(new.s,'N'), ifnull(old.u,'N'), ifnull(new.u,'N')))//
create trigger bd before delete on t for each row insert into log(w) values (concat_ws(',', 'bd', old.id, old.n, ifnull(old.s,'N'), ifnull(old.u,'N')))//
create trigger ad after delete on t for each row insert into log(w) values (concat_ws(',', 'ad', old.id, old.n, ifnull(old.s,'N'), ifnull(old.u,'N')))//
delimiter ;
insert into t (n,s,u) values (1,'a',1);
select last_insert_id(), row_count();
select * from log;
delete from log;
insert into t (n,s,u) values (null,'b',2);
select * from log;
delete from log;
insert into t (n,s,u) values (null,'b',2),(3,'c',3);
select * from log;
delete from log;
insert into t (s,u) values ('b',22);
select * from log;
delete from log;
insert into t (n,s,u) values (5,'nul',4);
select * from log;
delete from log;
insert into t (n,s,u) values (5,'fix',5);
show warnings;
select * from log;
delete from log;
insert into t (n,s,u) values (5,'toolong',6);
select * from log;
delete from log;
insert into t (n,s,u) values (6,'x',1);
select * from log;
delete from log;
insert ignore into t (n,s,u) values (6,'x',1);
select * from log;
delete from log;
insert into t (n,s,u) values (6,'x',1) on duplicate key update n=n+values(n), s='dup';
select * from log;
delete from log;
insert into t (n,s,u) values (6,'x',1) on duplicate key update n=n;
select * from log;
delete from log;
replace into t (n,s,u) values (8,'r',1);
select * from log;
delete from log;
select id,n,s,u from t;
replace into t (id,n,s,u) values (3,8,'r',88);
select * from log;
delete from log;
select id,n,s,u from t;
update t set n=n+1 where u=88;
select * from log;
delete from log;
update t set n=n where u=88;
select row_count();
select * from log;
delete from log;
update t set s='chg' where u=88;
select * from log;
select id,n,s,u from t;
delete from log;
update t set n=null where u=88;
select * from log;
delete from log;
update t set u=99;
select * from log;
delete from log;
update ignore t set u=98;
select * from log;
delete from log;
delete from t where n > 100;
select * from log;
delete from log;
truncate t;
select * from log;
delete from log;
set sql_mode='';
insert into t (n,s,u) values (null,'b',2),(null,'nul',3);
show warnings;
select * from log;
delete from log;
select id,n,s,u from t;
insert into t (n,s,u) values (null,'b',52);
show warnings;
select * from log;
delete from log;
select id,n,s,u from t;
update t set n=null;
show warnings;
select * from log;
delete from log;
select id,n,s,u from t;
drop table t;
drop table log;
set sql_mode = 'STRICT_TRANS_TABLES';
set timestamp=1000000000;
create table log (i int primary key auto_increment, w varchar(200));
create table t (id int primary key auto_increment, n int, ts timestamp not null default current_timestamp on update current_timestamp);
insert into t (n) values (1);
set timestamp=1000000100;
delimiter //
create trigger bu before update on t for each row insert into log(w) values (concat_ws(' ', 'bu', old.ts, new.ts))//
create trigger au after update on t for each row insert into log(w) values (concat_ws(' ', 'au', old.ts, new.ts))//
update t set n = 1//
select * from log//
select * from t//
update t set n = 2//
select * from log//
select * from t//
insert into t values (1,1,default) on duplicate key update n = 3//
select * from log//
select * from t//
drop trigger bu//
create trigger bu before update on t for each row set new.n = 50//
set timestamp=1000000200//
update t set n = 3//
select * from t//
select * from log//
update t set n = 3//
drop trigger bu//
create trigger bu before update on t for each row set new.n = old.n//
update t set n = 60//
select * from t//
create trigger bi before insert on t for each row set new.id = null//
insert into t (n) values (1)//
drop trigger bi//
create trigger bi before insert on t for each row set new.ts = null//
insert into t (n) values (1)//
select * from t//
drop trigger bi//
create procedure p(inout a int) set a = a * 10//
create trigger bi before insert on t for each row call p(new.n)//
insert into t (n) values (11)//
select * from t//
drop trigger bi//
create trigger ai after insert on t for each row call p(new.n)//
insert into t (n) values (12)//
drop trigger ai//
create trigger bi before insert on t for each row begin declare x int default 0; set @s = 1/0; insert ignore into log (w) values (repeat('x', 300)); if new.n = 7 then signal sqlstate '45000' set message_text = 'seven'; end if; set x = new.n; end//
insert into t (n) values (6), ('7a')//
show warnings//
insert into t (n) values (6)//
show warnings//
insert ignore into t (n) values ('8a'),(9)//
show warnings//
drop trigger bi//
create trigger ad after delete on t for each row set @d = concat(ifnull(@d,''), old.id)//
replace into t values (1, 4, now())//
select @d//
replace into t values (1,4,now())//
select @d//
drop trigger ad//
create trigger bi before insert on t for each row set new.n = 5//
create trigger ai after insert on t for each row insert into log(w) values (concat('ai', new.id))//
replace into t values (1, 4, now())//
select * from t//
select * from log//
drop trigger bu//
drop trigger au//
insert into t (n) select n from t//
insert into t (id, n) values (1, 6) on duplicate key update n = values(n) + 1//
select * from t//
create table t2 select * from t//
show triggers//
create trigger xx before insert on t for each row begin declare new int; set new.n = 1; end//
create trigger xx before delete on t for each row begin declare n int default old.n; declare c cursor for select id from log where i = old.id; open c; fetch c into n; close c; end//
delete from t//
drop trigger xx//
create trigger xx before delete on t for each row begin select count(*) into @c from log where log.i = old.id; if old.n > 3 then set @big = old.n; end if; end//
delete from t//
select @c, @big//
rename table t to `q``t`//
create trigger select_x before update on t2 for each row begin update t2 set n = 5; end//
update t2 set n = 7//
