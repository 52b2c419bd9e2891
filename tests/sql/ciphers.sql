-- DES_ENCRYPT and its inverse.
select hex(des_encrypt('abc', 'key')), hex(des_encrypt('abc')), hex(des_encrypt('abc', 3)), hex(des_encrypt('abc', 9));
select hex(des_encrypt('12345678', 'k')), hex(des_encrypt('', 'k')), hex(des_encrypt('a', '')), hex(des_encrypt('a', 1.5)), hex(des_encrypt('abc', 1e0)), hex(des_encrypt(12, '1'));
select length(des_encrypt(repeat('x', 1000), 'k')), des_decrypt(des_encrypt(repeat('xyz', 20), 'k'), 'k'), hex(des_decrypt(des_encrypt('é', 'ü'), 'ü'));
select des_encrypt('a', -1), des_encrypt('a', 10), des_encrypt('a', null), des_encrypt(null, 'a'), des_encrypt(null), des_encrypt('', 10);
select des_decrypt(des_encrypt('abc', 2)), des_decrypt(des_encrypt('abc'), 'k'), des_decrypt(des_encrypt('a', 3), 3), des_decrypt(des_encrypt('abc', 'k')), des_decrypt(des_encrypt('a', 'k'), null);
select des_decrypt(null), des_decrypt('', 'k'), des_decrypt('zzz', 'k'), des_decrypt('123456789', 'k'), hex(des_decrypt(concat(char(255 using binary), '1234567'), 'k')), des_decrypt(concat(char(255 using binary), '12345678'), 'k'), des_decrypt(concat(char(140 using binary), '12345678'));
select collation(des_encrypt('a', 'b')), collation(des_decrypt('a', 'b'));
