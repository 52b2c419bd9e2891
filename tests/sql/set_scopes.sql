-- GLOBAL, SESSION and LOCAL in SET hold for the variables behind them, until another one is said.
set global sort_buffer_size = 300000, group_concat_max_len = 500;
select @@global.sort_buffer_size, @@session.sort_buffer_size, @@global.group_concat_max_len, @@session.group_concat_max_len;
set global sort_buffer_size = 300001, @@session.group_concat_max_len = 501, max_join_size = 77;
select @@global.sort_buffer_size, @@global.group_concat_max_len, @@session.group_concat_max_len, @@global.max_join_size, @@session.max_join_size;
set global sort_buffer_size = 300002, local group_concat_max_len = 502, max_join_size = 78;
select @@global.sort_buffer_size, @@global.group_concat_max_len, @@session.group_concat_max_len, @@global.max_join_size, @@session.max_join_size;
set sort_buffer_size = 300003, global group_concat_max_len = 503, max_join_size = 79, @u = 3, div_precision_increment = 5;
select @@global.sort_buffer_size, @@session.sort_buffer_size, @@global.group_concat_max_len, @@global.max_join_size, @@session.max_join_size, @@global.div_precision_increment, @@session.div_precision_increment;
set @@global.sort_buffer_size = 300004, group_concat_max_len = 504;
select @@global.sort_buffer_size, @@session.sort_buffer_size, @@global.group_concat_max_len, @@session.group_concat_max_len;
set global sort_buffer_size = default, group_concat_max_len = default, div_precision_increment = default, max_join_size = default;
select @@global.sort_buffer_size, @@global.group_concat_max_len, @@global.max_join_size, @@global.div_precision_increment;
set global innodb_io_capacity = 200, @@innodb_io_capacity_max = 2001;
set global sort_buffer_size = 300000, insert_id = 5;
set global sort_buffer_size = 300000, nothing = 3;
select @@global.sort_buffer_size;
delimiter //
create procedure p1() begin declare group_concat_max_len int default 5; set global sort_buffer_size = 300000, group_concat_max_len = 600; select group_concat_max_len, @@global.group_concat_max_len, @@session.group_concat_max_len; end//
create procedure p2() begin declare v int default 5; set global sort_buffer_size = 300000, v = 600; select v; end//
create procedure p3() begin declare v int default 5; set v = 4, global group_concat_max_len = 601, max_join_size = 600; select v, @@global.group_concat_max_len, @@global.max_join_size, @@session.max_join_size; end//
create procedure p4() begin declare v int default 5; set global group_concat_max_len = 601, max_join_size = 600, v = 4, session sort_buffer_size = 300004, max_join_size = 7; select v, @@global.sort_buffer_size, @@session.sort_buffer_size, @@session.max_join_size; end//
delimiter ;
call p1();
call p2();
call p3();
call p4();
set global group_concat_max_len = default, sort_buffer_size = default, max_join_size = default;
