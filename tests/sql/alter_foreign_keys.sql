# Foreign keys that come and go with other changes of the table, in one ALTER TABLE: all of it happens, or nothing.
create table p (id int primary key, a int, b int, unique key by_a (a), key by_b (b));
create table c (id int primary key, x int, y int, z int);
insert into p values (1, 10, 100), (2, 20, 200), (3, 30, 300);
# With the index that it needs, made for it or said.
alter table c add foreign key (x) references p (id), add constraint ya foreign key (y) references p (a), add key zs (z, id);
show create table c;
select constraint_name, update_rule, delete_rule, unique_constraint_name, table_name from information_schema.referential_constraints where constraint_schema = database() order by 1;
# One goes, another comes by its name, an index goes and comes, and the table is described.
alter table c drop foreign key ya, add constraint ya2 foreign key (z) references p (b) on delete cascade, drop key zs, add unique key zs (z), comment = 'children';
show create table c;
insert into c values (1, 1, 10, 100), (2, 2, 20, 200), (3, 3, 30, 300), (4, null, null, null);
delete from p where id = 3;
select * from c order by id;
# Nothing happens.
alter table c add key yx (y, x), add constraint wrong foreign key (y) references nowhere (b);
alter table c add key yx (y, x), add constraint wrong foreign key (y) references p (nothing);
show create table c;
select count(*) from c where y = 10;
# A table that refers to itself.
create table self (id int primary key, up int, code int);
alter table self add key codes (code);
alter table self add constraint tree foreign key (up) references self (code), comment = 'tree';
show create table self;
alter table self drop foreign key tree, add constraint tree2 foreign key (up) references self (code);
show create table self;
insert into self values (1, null, 7), (2, 7, 8), (3, 8, 9);
insert into self values (4, 99, 10);
update self set code = 77 where id = 1;
drop table self;
# Without looking.
set foreign_key_checks = 0;
insert into c values (9, 999, 999, 999);
alter table c add constraint free foreign key (y) references p (b), add key free2 (y, z);
alter table c drop foreign key free, add constraint later foreign key (y) references p9 (b);
show create table c;
set foreign_key_checks = 1;
insert into c values (10, 1, 1, 101);
drop table c;
# Columns that are renamed, and come, in the same change.
create table c (id int primary key, x int, y int);
alter table c change x parent int, add constraint k1 foreign key (parent) references p (id);
show create table c;
alter table c add column z int default 1, add constraint k2 foreign key (z) references p (id);
show create table c;
alter table c drop foreign key k1, drop key k1, change parent x int;
show create table c;
set foreign_key_checks = 0;
alter table c change x parent int, add constraint k1 foreign key (parent) references p (id);
show create table c;
set foreign_key_checks = 1;
insert into c values (1, 1, 10, 1);
drop table c, p;
