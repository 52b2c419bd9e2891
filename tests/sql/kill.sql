-- Whatever names a thread is a number first.
kill 999999;
kill '999999';
kill query '999998';
kill connection ' 999997 ';
kill 99.9e4;
kill 999999.6;
kill '999996abc';
kill -1;
kill null;
kill 'none';
kill 99999999999;
kill 18446744073709551615;
kill (select 999995);
kill 900000 + 99994;
set @id = '999993';
kill @id;
