-- DES_ENCRYPT and its inverse.
select hex(des_encrypt('abc', 'key')), hex(des_encrypt('abc')), hex(des_encrypt('abc', 3)), hex(des_encrypt('abc', 9));
select hex(des_encrypt('12345678', 'k')), hex(des_encrypt('', 'k')), hex(des_encrypt('a', '')), hex(des_encrypt('a', 1.5)), hex(des_encrypt('abc', 1e0)), hex(des_encrypt(12, '1'));
select length(des_encrypt(repeat('x', 1000), 'k')), des_decrypt(des_encrypt(repeat('xyz', 20), 'k'), 'k'), hex(des_decrypt(des_encrypt('é', 'ü'), 'ü'));
select des_encrypt('a', -1), des_encrypt('a', 10), des_encrypt('a', null), des_encrypt(null, 'a'), des_encrypt(null), des_encrypt('', 10);
select des_decrypt(des_encrypt('abc', 2)), des_decrypt(des_encrypt('abc'), 'k'), des_decrypt(des_encrypt('a', 3), 3), des_decrypt(des_encrypt('abc', 'k')), des_decrypt(des_encrypt('a', 'k'), null);
select des_decrypt(null), des_decrypt('', 'k'), des_decrypt('zzz', 'k'), des_decrypt('123456789', 'k'), hex(des_decrypt(concat(char(255 using binary), '1234567'), 'k')), des_decrypt(concat(char(255 using binary), '12345678'), 'k'), des_decrypt(concat(char(140 using binary), '12345678'));
select collation(des_encrypt('a', 'b')), collation(des_decrypt('a', 'b'));

-- ENCRYPT: what crypt(3) knows.
select encrypt('hello','ab'), encrypt('hello','$1$abcdefgh$'), encrypt('hello','$5$saltstring'), encrypt('hello','$6$rounds=1000$saltstring');
select encrypt('','ab'), encrypt('hello',''), encrypt('hello','a'), encrypt(null,'ab'), encrypt('hello',null), encrypt('é','ab'), encrypt(123,45), encrypt('hello','abcdef'), encrypt('helloooooooo','ab'), encrypt('hellooooxyz','ab');
select length(encrypt('hello')), collation(encrypt('hello','ab')), encrypt('hello','é'), encrypt('hello','!!'), encrypt('hello','::'), encrypt('hello', encrypt('hello','ab')), encrypt('hel\0lo','ab'), encrypt('hel','ab'), encrypt('x','a\0b');
select encrypt('hello','$2a$05$abcdefghijklmnopqrstuu'), encrypt('hello','$2y$05$abcdefghijklmnopqrstuu'), encrypt('hello','$sha1$40000$abcdefgh'),encrypt('hello','_J9..abcd'), encrypt('hello','$7$abc'), encrypt('hello','$y$j9T$abc'), encrypt('hello','$5$a$b$c'), encrypt('hello','*0'), encrypt('hello','$9$aaa');
select encrypt('hello', '\n\n'), encrypt(repeat('a',300),'$6$ab'), encrypt('a','$6$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'), encrypt('a','$1$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'),encrypt('a','$6$rounds=10$abc'), encrypt('a','$5$rounds=abc$abc'), encrypt('a','$6$a:b');
select encrypt(); 
select encrypt('a','ab','c');
create table e2 (a varchar(20), b varchar(10)); insert into e2 values ('é','ab'),(null,'ab'),('x',null); select encrypt(a,b) from e2; select count(distinct encrypt(a)) from e2; drop table e2;
