create table zeros (c decimal(8,3) zerofill, d decimal(5) zerofill, k bit(12));
insert into zeros values (3.5, 7, b'101010101010'), (99999.9995, 1, 0);
select c, d, concat(c, '|', d), bin(k), oct(k) from zeros;
create table y (a year, b year(2));
create table big (a decimal(66));
create table big (a datetime(7));
create table l (id int, a int, b int);
create table r (a int, id int, c int);
insert into l values (1, 2, 3);
insert into r values (2, 1, 4);
select * from l join r using (a, id);
select * from l right join r using (id, a);
select 1 as a, 2 as a from l order by a;
create table copied (id int, v varchar(10));
insert into copied values (1, 'x'), (null, 'yy');
alter table copied modify id int not null;
alter table copied modify v varchar(1);
alter table copied add primary key (id);

-- Empty defaults of BLOB and TEXT are left out unless modes are strict.
set sql_mode = '';
create table empties (a tinytext not null default '', b blob default '', c int);
show warnings;
show create table empties;
alter table empties add d text not null default '';
show warnings;
alter table empties add e text not null default 'x';
insert into empties (c) values (1);
set sql_mode = 'STRICT_ALL_TABLES';
insert into empties (c) values (2);
alter table empties modify c bigint;
insert into empties (c) values (3);
select * from empties;
show columns from empties;
alter table empties add e text default '';
set sql_mode = 'STRICT_TRANS_TABLES';

-- Without a primary key the first unique key of whole columns without NULL is the one that is shown.
create table keys_1 (a int not null, b int not null, unique (a), unique (b));
show columns from keys_1;
create table keys_2 (a int, b int not null, c int not null, unique (a), unique (b, c));
show columns from keys_2;
create table keys_3 (a varchar(20) not null, b int not null, unique (a(3)), unique (b));
show columns from keys_3;
create table keys_4 (a int primary key, b int not null, unique (b));
show columns from keys_4;
select table_name, column_name, column_key from information_schema.columns where table_schema = database() and table_name like 'keys%' order by table_name, ordinal_position;

-- A prefix as long as what is stored is the whole column.
create table moments (s varchar(100), u datetime(6), c datetime(6), i int, d decimal(10,2), t time, b bit(9), l enum('x', 'y'), y year, da date, f double);
create index i on moments (s(32), u(8), c(8));
create index i_2 on moments (i(4), d(5), t(3), b(2), y(1), da(3), f(8));
create index i_3 on moments (l(1));
create index i_3 on moments (u(7));
create index i_3 on moments (i(5));
create index i_3 on moments (f(4));
show create table moments;

-- Columns of a query keep their character sets, labels too.
create table labels_of (e enum('é', 'b') character set latin1, s set('ü', 'a') character set latin1, v varchar(3) character set latin1 collate latin1_bin);
insert into labels_of values ('é', 'ü,a', 'é');
create table labels_copied select * from labels_of;
show create table labels_copied;
select * from labels_copied;

-- A constant is stored as the row format has it.
create table constants (a char(10) character set utf8 default 'é', b int) row_format=compact;
insert into constants (b) values (1);
alter table constants row_format=redundant, algorithm=copy;
insert into constants (b) values (2);
select * from constants;
show create table constants;
alter table constants row_format=dynamic, algorithm=copy;
insert into constants (b) values (3);
select a, length(a), b from constants;
