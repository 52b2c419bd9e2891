-- Changes that leave the rows as they are: no row is affected.
create table t (a int not null primary key, b varchar(20) default 'x', c enum('p','q') default 'p', d int(4), key kb (b), unique kc (c, d)) comment 'first';
insert into t values (1,'one','p',10),(2,'two','q',20),(3,null,'p',30);
alter table t change b bb varchar(20) default 'x';
select a, bb from t where bb = 'two';
alter table t change a id int not null, change d dd int(4);
show create table t;
select id, dd from t order by id;
alter table t change bb BB varchar(20) default 'y';
insert into t (id) values (4);
select * from t order by id;
alter table t alter dd set default 7, alter BB drop default;
insert into t (id, BB) values (5, 'five');
select * from t where id = 5;
alter table t modify c enum('p','q','r','s') default 'r';
insert into t (id, BB) values (6, 'six');
select id, c, c + 0 from t order by id;
alter table t comment = 'second';
alter table t auto_increment = 50;
alter table t modify dd int(6) default 8 comment 'of dd';
show create table t;
select column_name, column_comment, column_default from information_schema.columns where table_schema = database() and table_name = 't' and column_name = 'dd';
-- What writes the rows anew.
alter table t modify c enum('q','p','r','s') default 'r';
select id, c, c + 0 from t order by id;
alter table t modify dd bigint;
alter table t comment = 'third', algorithm = copy;
alter table t change dd d bigint, algorithm = inplace, lock = none;
alter table t change d dd bigint, algorithm = copy;
set old_alter_table = 1;
alter table t change dd d bigint;
set old_alter_table = 0;
alter table t change d dd bigint;
-- Names that change places.
create table s (a int, b int, key (a), key (b));
insert into s values (1, 2);
alter table s change a b int, change b a int;
select a, b from s;
show create table s;
create table r (a int not null, b int not null, c int, primary key (a, b));
insert into r values (1, 2, 3);
alter table r change a b int not null, change b c int not null, change c a int;
select a, b, c from r;
show create table r;
alter table r change a b int;
alter table r change a x int, change b x int;
-- The counter.
create table n (id int auto_increment primary key, v varchar(10));
insert into n (v) values ('a'),('b'),('c');
alter table n auto_increment = 20;
insert into n (v) values ('d');
alter table n change v w varchar(10);
insert into n (w) values ('e');
alter table n auto_increment = 1;
insert into n (w) values ('f');
select * from n;
-- Columns of foreign keys keep their keys.
create table p (id int primary key, other int, unique (other));
create table k (id int primary key, pid int, qid int, constraint k1 foreign key (pid) references p (id) on delete cascade, constraint k2 foreign key (qid) references p (other) on update cascade);
insert into p values (1, 10), (2, 20);
insert into k values (1, 1, 10), (2, 2, 20);
alter table k change pid parent_id int;
show create table k;
insert into k values (3, 3, 10);
alter table p change id pk int not null, change other o int;
show create table k;
show create table p;
delete from p where pk = 1;
select * from k;
update p set o = 30 where pk = 2;
select * from k;
insert into k values (4, 2, 31);
select constraint_name, column_name, referenced_column_name from information_schema.key_column_usage where table_schema = database() and table_name = 'k' order by 1, 2;
-- A table that refers to itself.
create table self (id int primary key, up int, constraint s1 foreign key (up) references self (id));
insert into self values (1, null), (2, 1);
alter table self change id number int not null, change up above int;
show create table self;
insert into self values (3, 9);
insert into self values (3, 2);
-- In the middle of a transaction of another definition: what is open is committed.
begin;
insert into n (w) values ('g');
alter table n comment 'c';
rollback;
select count(*) from n;
-- With other changes in one statement.
create table m (a int, b int, c int);
insert into m values (1, 2, 3);
alter table m change a x int, add key (x), rename to m2;
show create table m2;
select * from m2;
alter table m2 change x a int, drop key x, comment 'both';
show create table m2;
-- Errors leave all as it is.
alter table m2 change a b int;
alter table m2 change nothing x int;
alter table m2 alter nothing set default 1;
alter table m2 alter a set default 'abc';
show create table m2;
-- The default character set is a matter of new columns.
create table cs (v varchar(10)) default charset latin1;
insert into cs values ('x');
alter table cs default charset utf8;
show create table cs;
alter table cs convert to character set utf8;
show create table cs;
