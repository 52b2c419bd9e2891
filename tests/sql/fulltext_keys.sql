-- What a FULLTEXT key may be.
create table t (a int, fulltext key (a));
create table t (a blob, fulltext key (a));
create table t (a varbinary(10), fulltext key (a));
create table t (a char(10) character set binary, fulltext key (a));
create table t (a enum('x'), fulltext key (a));
create table t (a set('x', 'y'), fulltext key (a));
create table t (a date, fulltext key (a));
create table t (a bit(3), fulltext key (a));
create table t (a decimal(3), fulltext key (a));
create table t (a varchar(10) character set latin1, b varchar(10) character set utf8, fulltext key (a, b));
create table t (a varchar(10) character set latin1 collate latin1_bin, b varchar(10) character set latin1, fulltext key (a, b));
create table t (a text character set ucs2, fulltext (a));
create table t (a text character set utf16, fulltext (a));
create table t (a text character set utf32, fulltext (a));
create table t (a varchar(10), fulltext key (a(0)));
create table t (a text, fulltext key (nope));
create table t (a text, fulltext key (a, a));
create table t (a text, fulltext key (a) with parser foo);
create table t (a text, key (a(10)) with parser foo);
create table t (a text, fulltext key (a) using btree);
create table t (a text, fulltext key k using btree (a));
create table t (a text, fulltext key a (a), fulltext key a (a));
create table t (a text, fulltext key `PRIMARY` (a));
create table t (a text, fulltext key gen_clust_index (a));
create table t (c0 text, c1 text, c2 text, c3 text, c4 text, c5 text, c6 text, c7 text, c8 text, c9 text, ca text, cb text, cc text,
  cd text, ce text, cf text, cg text, fulltext (c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, ca, cb, cc, cd, ce, cf, cg));
create temporary table t (a text, fulltext key (a));
create temporary table t (a text);
alter table t add fulltext key (a);
create fulltext index x on t (a);
drop temporary table t;
create table t (a varchar(10), fulltext (a));
create table u (a varchar(10), foreign key (a) references t (a));
drop table t;
create table t (a varchar(10), fulltext key k (a(3)), fulltext key l (a(20)) comment 'hey' key_block_size = 4);
show create table t;
show index from t;
show columns from t;
create table l like t;
show create table l;
drop table t, l;

-- Documents have numbers.
create table t (fts_doc_id bigint unsigned not null, a text, fulltext (a));
create table t (FTS_DOC_ID bigint unsigned, a text, fulltext (a));
create table t (FTS_DOC_ID int unsigned not null, a text, fulltext (a));
create table bad0 (FTS_DOC_ID bigint unsigned not null, a text, fulltext (a), key FTS_DOC_ID_INDEX (FTS_DOC_ID));
create table bad1 (FTS_DOC_ID bigint unsigned not null, a text, fulltext (a), unique key FTS_DOC_ID_INDEX (FTS_DOC_ID, a(10)));
create table bad2 (FTS_DOC_ID bigint unsigned not null, a text, fulltext (a), unique key fts_doc_id_index (FTS_DOC_ID));
create table bad3 (a text, b varchar(20), fulltext (a), unique key FTS_DOC_ID_INDEX (b));
create table o (b varchar(20), key fts_doc_id_index (b));
create table o1 (FTS_DOC_ID bigint unsigned not null, unique key FTS_DOC_ID_INDEX (FTS_DOC_ID), a text, fulltext (a));
show create table o1;
show index from o1;
create table o2 (FTS_DOC_ID bigint unsigned not null auto_increment primary key, a text, fulltext (a));
show create table o2;
show index from o2;
create table h (id int primary key, a varchar(100), b text, fulltext ab (a, b)) character set utf8;
select * from h;
select fts_doc_id from h;
show create table h;
show index from h;
show columns from h;
select column_name, ordinal_position from information_schema.columns where table_schema = database() order by table_name, 2;
select table_name, index_name, seq_in_index, column_name, non_unique, collation, sub_part, nullable, index_type
  from information_schema.statistics where table_schema = database() order by 1, 2, 3;
show tables;
select c.name, c.pos, c.mtype, c.prtype, c.len from information_schema.innodb_sys_columns c join information_schema.innodb_sys_tables t
  using (table_id) where t.name = concat(database(), '/h') order by 2;
select i.name, i.type, i.n_fields from information_schema.innodb_sys_indexes i join information_schema.innodb_sys_tables t
  using (table_id) where t.name = concat(database(), '/h') order by 1;
select right(t.name, 8) n, t.flag, t.n_cols, t.file_format, t.row_format, count(*) from information_schema.innodb_sys_tables t
  where t.name like concat(database(), '/FTS_%') and t.name like '%\_INDEX\__' group by 1, 2, 3, 4, 5 order by 1;
select substring(t.name, locate('FTS_', t.name) + 21) n, t.flag, t.n_cols, t.file_format, t.row_format, count(*) from information_schema.innodb_sys_tables t
  where t.name like concat(database(), '/FTS_%') and t.name not like '%\_INDEX\__' group by 1, 2, 3, 4, 5 order by 1;
select distinct c.name, c.pos, c.mtype, c.prtype, c.len from information_schema.innodb_sys_columns c
  join information_schema.innodb_sys_tables t using (table_id) where t.name like concat(database(), '/FTS_%') and c.name not in ('word', 'key', 'value') order by 1;
drop table o, o1, o2, h;
select count(*) from information_schema.innodb_sys_tables where name like concat(database(), '/%');

-- Keys come and go.
create table t (id int primary key, a varchar(100), b text, c int) character set utf8;
insert into t values (1, 'apple pie', 'pear kiwi', 1), (2, 'grape', 'apple fig', 2), (5, null, 'the fig', 3);
alter table t add fulltext key (a), add fulltext key (b);
alter table t add fulltext key (c);
alter table t add fulltext key (a), algorithm = inplace, lock = shared;
show warnings;
select id from t where match (a) against ('apple') order by id;
alter table t add fulltext key b (b), algorithm = inplace;
select id from t where match (b) against ('fig apple') order by id;
alter table t add fulltext key b (b);
alter table t add fulltext key b2 (b);
show warnings;
drop index nope on t;
drop index b2 on t lock = none;
alter table t add key (c), lock = none;
alter table t change b bb text, change a aa varchar(100), lock = none;
select id from t where match (bb) against ('fig') order by id;
show create table t;
alter table t modify aa int;
alter table t modify aa blob;
alter table t comment 'x', lock = none;
rename table t to u;
select id, aa from u where match (aa) against ('pie');
alter table u drop key a, add fulltext key a (bb);
select id from u where match (bb) against ('kiwi');
select id from u where match (aa) against ('kiwi');
show index from u;
alter table u drop key a, drop key b, algorithm = inplace, lock = none;
select id from u where match (bb) against ('kiwi');
alter table u add fulltext key bb (bb), algorithm = inplace;
select id from u where match (bb) against ('pear');
truncate table u;
select id from u where match (bb) against ('pear');
drop table u;
create table t (id int primary key, a varchar(10), b text, fulltext (a));
drop table t;
create table t (id int primary key, a varchar(10), b text) character set utf8;
insert into t values (1, 'apple', 'pear');
alter table t add fulltext c (b), add column x int;
show create table t;
select id from t where match (b) against ('pear');
drop table t;
create table t (a text, b text);
alter table t add fulltext (a), add fulltext (b), algorithm = inplace;
alter table t add fulltext (a), add fulltext (b), lock = shared;
drop table t;
select count(*) from information_schema.innodb_sys_tables where name like concat(database(), '/%');

-- A row that is replaced where it stands is another document.
create table replaced (nr int auto_increment primary key, id int, v varchar(40), a text, unique (id), fulltext (a));
replace into replaced (id, a) values (1, 'apple pie'), (2, 'fig'), (1, 'apple tart');
replace into replaced (id, a) values (1, 'pear'), (2, 'lemon'), (3, 'lemon tart'), (2, 'plum');
replace into replaced (id, v, a) values (3, 'as before', 'lemon tart');
insert into replaced (id, a) values (3, 'cherry tart') on duplicate key update a = values(a);
select id, v, a from replaced where match (a) against ('pear plum cherry') order by id;
select id, a from replaced where match (a) against ('apple fig lemon') order by id;
select count(*) from replaced where match (a) against ('+tart' in boolean mode);
drop table replaced;
