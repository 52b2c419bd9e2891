-- What views show of the columns of tables, of other views and of stored functions; what triggers were made with.
create table t (id int not null auto_increment primary key, a int not null, at timestamp not null default current_timestamp on update current_timestamp, d datetime(2) not null default current_timestamp(2), e datetime default current_timestamp, s varchar(5) default 'x', f timestamp(3) not null default '2020-01-01');
create view v as select * from t;
create algorithm = temptable view w as select id, a, at, s, count(*) as n from t group by id;
show columns from v;
show columns from w;
select column_name, column_default, is_nullable from information_schema.columns where table_schema = database() and table_name = 'v' order by ordinal_position;
create function loud(s varchar(20)) returns varchar(20) deterministic return upper(s);
create view called as select LOUD('x') as a, loud (s) as b, upper(s) as c from t;
show create view called;
select view_definition from information_schema.views where table_name = 'called' and table_schema = database();
create view of_view as select w.id, s, v.a from w join v using (id) where w.n > 0 order by v.at;
show create view of_view;
select view_definition from information_schema.views where table_name = 'of_view' and table_schema = database();
create trigger   spaced
  before	insert  on   t
for each

row    set new.a =   1;
show create trigger spaced;
select action_statement from information_schema.triggers where trigger_schema = database();
create trigger plain after insert on t for each row set @x = 1;
show create trigger plain;
rename table t to u;
show create trigger plain;
