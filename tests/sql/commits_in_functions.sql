-- What functions and triggers must not do, by way of procedures that they call: end a transaction, or the statement.
delimiter //
create table base(a int)//
insert into base values (1)//
create table trig(a int)//
create view v8 as select 1//
create procedure p() alter view v8 as select 2//
create function g() returns int begin alter view v8 as select 2; return 1; end//
create procedure p() truncate base//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() create table b2(a int)//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() create table b3 select * from base//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() create table b4 like base//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() create temporary table tb(a int)//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() drop temporary table if exists tb//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() drop table if exists nope//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() alter table base add column z int//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() create index ix on base(a)//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() drop index ix on base//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() rename table base to base2//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() create view v9 as select 1//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() create or replace view v8 as select 1//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() drop view if exists v9//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() create database cdb9//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() alter database sql_commits_in_functions character set utf8//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() drop database if exists cdb9//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() create user u9@localhost//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() drop user u9@localhost//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() rename user u9@localhost to u8@localhost//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() grant select on *.* to u9@localhost//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() revoke select on *.* from u9@localhost//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() start transaction//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() start transaction read only//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() commit//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() rollback//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() savepoint s//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() set autocommit = 1//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() set autocommit = 0//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() set @x = 1//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() flush tables//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() flush status//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() flush privileges//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() prepare s from 'truncate base'//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
create procedure p() deallocate prepare s//
create function f() returns int begin call p(); return 1; end//
select f()//
create trigger t before insert on trig for each row call p()//
insert into trig values (1)//
drop trigger t//
drop function f//
drop procedure p//
select * from base//
select count(*) from trig//
show tables//
delimiter ;
