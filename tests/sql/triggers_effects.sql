-- What triggers do besides, and in which statements they are fired.
create table log (i int primary key auto_increment, w varchar(200));
create table u (id int primary key auto_increment, a int);
create table t (id int primary key auto_increment, n int, d date, s varchar(5), e enum('a','b'));
delimiter //
create trigger bi before insert on t for each row begin insert into u (a) values (new.n); insert into u(a) values (2); set @lid = last_insert_id(); set @rc=row_count(); set new.n = 'abc'; end//
insert into t (n) values (5)//
show warnings//
select last_insert_id(), row_count(), @lid, @rc//
select * from t//
drop trigger bi//
create trigger bi before insert on t for each row begin set new.s = 'abcdefgh'; end//
insert into t (n) values (5)//
show warnings//
select * from t//
drop trigger bi//
create trigger bi before insert on t for each row begin set new.d = 'abc'; end//
insert into t (n) values (5)//
show warnings//
select * from t//
drop trigger bi//
create trigger bi before insert on t for each row begin set new.e = 'zz'; end//
insert into t (n) values (5)//
show warnings//
select * from t//
drop trigger bi//
create trigger bi before insert on t for each row begin set new.n = 99999999999; end//
insert into t (n) values (5)//
show warnings//
select * from t//
drop trigger bi//
create trigger bi before insert on t for each row begin declare x tinyint; set x = 300; end//
insert into t (n) values (5)//
show warnings//
drop trigger bi//
create procedure p(inout a int) set a = a * 10//
create trigger bi before insert on t for each row begin call p(new.n); select 8 into new.id; end//
insert into t (n) values (5)//
show warnings//
select * from t//
drop trigger bi//
create trigger bi before insert on t for each row begin set new.id = 30; end//
insert into t (n) values (5)//
select last_insert_id()//
select * from t//
drop trigger bi//
create trigger bi before insert on t for each row set new.n = 1, new.s = concat(new.n, 'x'), @z = new.s//
insert into t (n) values (5),(6)//
select @z//
select * from t//
drop trigger bi//
create trigger bi before update on t for each row set new.id = new.id + 1000//
update t set n = 5 where id < 40 order by id desc//
select * from t//
drop trigger bi//
create trigger au after update on t for each row insert into log(w) values (concat(old.id, '-', new.id))//
update t join (select 5 as k) k set n = 77 where t.id > 1000//
select * from log//
update t, u set t.n = 78, u.a=9 where t.id > 1000//
select * from log//
create trigger ad after delete on u for each row insert into log(w) values (concat(old.id, '-d-', old.a))//
delete t, u from t join u//
select * from log//
create table c (id int primary key, pid int, foreign key (pid) references pp(id) on delete cascade) engine=innodb//
create table pp (id int primary key)//
create table c (id int primary key, pid int, foreign key (pid) references pp(id) on delete cascade) engine=innodb//
insert into pp values (1),(2)//
insert into c values (1,1),(2,2)//
create trigger cd after delete on c for each row insert into log(w) values (concat(old.id, '-c-', old.pid))//
delete from pp where id = 1//
select * from c//
select * from log where w like '%c%'//
alter table t drop column n//
create trigger bi before insert on t for each row begin set @x = new.s; end//
alter table t drop column s//
insert into t (d) values ('2001-01-01')//
show triggers like 't'//
drop trigger bi//
create trigger bi before insert on t for each row begin select 1 as a, new.id from u where new.id = 1; end//
create trigger bi before insert on t for each row begin declare continue handler for sqlexception set @h = 1; insert into u values (1,1); insert into nope values (1); end//
insert into u values (1,1)//
insert into t (d) values ('2001-01-01')//
show warnings//
select @h//
select * from t//
