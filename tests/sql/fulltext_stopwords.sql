-- Tables whose words FULLTEXT indexes leave out: which tables are ones, and whose list an index has.
create table words (value varchar(30)) engine = innodb default charset = utf8;
insert into words values ('Apple'), ('éclair'), (null), ('ok');
create table more (value varchar(30), other int) engine = innodb default charset = utf8;
insert into more values ('pear', 1);
create table n (value int) engine = innodb;
create table c (value char(10)) engine = innodb;
create table b (value varbinary(10)) engine = innodb;
create table t (value text) engine = innodb;
create table second (id int, value varchar(10)) engine = innodb;
create table named (word varchar(10)) engine = innodb;
create table upper_case (VALUE varchar(10)) engine = innodb;
create view v as select * from words;
create temporary table tmp (value varchar(10)) engine = innodb;

-- Names.
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/n';
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/c';
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/b';
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/t';
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/second';
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/named';
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/upper_case';
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/v';
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/tmp';
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/nothing';
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords.words';
set session innodb_ft_user_stopword_table = 'words';
set session innodb_ft_user_stopword_table = '';
set session innodb_ft_user_stopword_table = 7;
set global innodb_ft_server_stopword_table = 'sql_fulltext_stopwords/nothing';
set session innodb_ft_server_stopword_table = 'sql_fulltext_stopwords/words';
select @@session.innodb_ft_user_stopword_table, @@global.innodb_ft_server_stopword_table, @@session.innodb_ft_enable_stopword;

-- The default list.
create table d (id int primary key, body varchar(100), fulltext (body)) engine = innodb default charset = utf8;
insert into d values (1, 'the apple'), (2, 'thé pear'), (3, 'THE éclair ok');
select id from d where match(body) against ('the') order by id;
select id from d where match(body) against ('thé') order by id;
select id from d where match(body) against ('apple') order by id;
select id from d where match(body) against ('+the' in boolean mode) order by id;
set global innodb_ft_aux_table = 'sql_fulltext_stopwords/d';
select * from information_schema.innodb_ft_config;

-- One's own.
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/words';
select @@session.innodb_ft_user_stopword_table, @@global.innodb_ft_user_stopword_table;
create table o (id int primary key, body varchar(100), other varchar(100), fulltext (body)) engine = innodb default charset = utf8;
insert into o values (1, 'the apple', 'the pear'), (2, 'thé pear', 'apple'), (3, 'APPLE eclair éclair', 'x');
select id from o where match(body) against ('the') order by id;
select id from o where match(body) against ('apple') order by id;
select id from o where match(body) against ('eclair') order by id;
select id from o where match(body) against ('pear') order by id;
set global innodb_ft_aux_table = 'sql_fulltext_stopwords/o';
select * from information_schema.innodb_ft_config;
-- Words that come later do not count, those that go neither.
insert into words values ('pear');
delete from words where value = 'Apple';
insert into o values (4, 'pear apple', '');
select id from o where match(body) against ('pear') order by id;
select id from o where match(body) against ('apple') order by id;
-- Another index of the table has the list of the first one, whatever the session says.
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/more';
create fulltext index second on o (other);
select id from o where match(other) against ('the') order by id;
select id from o where match(other) against ('apple') order by id;
select id from o where match(other) against ('pear') order by id;
select * from information_schema.innodb_ft_config;
-- Made anew it has the session's.
alter table o drop index body, drop index second;
create fulltext index body on o (body);
select id from o where match(body) against ('pear') order by id;
select id from o where match(body) against ('apple') order by id;
select id from o where match(body) against ('the') order by id;
select * from information_schema.innodb_ft_config;

-- Built of rows: each spelling for itself; changed by INSERT: as the first one of a document.
create table u (id int primary key, body varchar(100)) engine = innodb default charset = utf8;
insert into u values (1, 'thé the cat'), (2, 'the thé cat');
set session innodb_ft_user_stopword_table = default;
create fulltext index body on u (body);
insert into u values (3, 'thé the cat'), (4, 'the thé cat');
select id from u where match(body) against ('thé') order by id;
select id from u where match(body) against ('"thé the cat"' in boolean mode) order by id;

-- Everybody's.
set global innodb_ft_server_stopword_table = 'sql_fulltext_stopwords/more';
create table e (id int primary key, body varchar(100), fulltext (body)) engine = innodb default charset = utf8;
insert into e values (1, 'the pear'), (2, 'the apple');
select id from e where match(body) against ('the') order by id;
select id from e where match(body) against ('pear') order by id;
set global innodb_ft_aux_table = 'sql_fulltext_stopwords/e';
select * from information_schema.innodb_ft_config;
-- One's own goes before.
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/words';
create table e2 like e;
insert into e2 values (1, 'the pear'), (2, 'the apple');
select id from e2 where match(body) against ('pear') order by id;
select id from e2 where match(body) against ('apple') order by id;
set session innodb_ft_user_stopword_table = null;
-- Neither: none.
set session innodb_ft_enable_stopword = 0;
create table f (id int primary key, body varchar(100), fulltext (body)) engine = innodb default charset = utf8;
insert into f values (1, 'the pear'), (2, 'the apple');
select id from f where match(body) against ('the') order by id;
select id from f where match(body) against ('pear') order by id;
set global innodb_ft_aux_table = 'sql_fulltext_stopwords/f';
select * from information_schema.innodb_ft_config;
set session innodb_ft_enable_stopword = default;
insert into f values (3, 'the plum');
select id from f where match(body) against ('the') order by id;
-- A table that is gone.
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/more';
drop table more;
create table g (id int primary key, body varchar(100), fulltext (body)) engine = innodb default charset = utf8;
insert into g values (1, 'the pear');
select id from g where match(body) against ('the') order by id;
select id from g where match(body) against ('pear') order by id;
set global innodb_ft_aux_table = 'sql_fulltext_stopwords/g';
select * from information_schema.innodb_ft_config;
-- The list's own collation says which words are on it.
create table bin (value varchar(30)) engine = innodb default charset = utf8 collate utf8_bin;
insert into bin values ('Plum'), ('fig');
set session innodb_ft_user_stopword_table = 'sql_fulltext_stopwords/bin';
create table h (id int primary key, body varchar(100), fulltext (body)) engine = innodb default charset = utf8;
insert into h values (1, 'plum'), (2, 'Fig'), (3, 'cat');
select id from h where match(body) against ('plum') order by id;
select id from h where match(body) against ('fig') order by id;
truncate table h;
insert into h values (1, 'plum'), (2, 'Fig'), (3, 'cat');
select id from h where match(body) against ('cat') order by id;
check table d, o, u, e, e2, f, g, h;
set global innodb_ft_server_stopword_table = default, innodb_ft_aux_table = default;
