//! Functions that the recorded corpus does not hold: those of MySQL 8.0 as its manual has them, and what follows from
//! variables and files. Answers that are marked so are those of MySQL 5.6.24.

use crate::support;

use support::{answers, open, root, run};

#[test]
fn regular_expressions_find_and_replace() {
    let opened = open();
    let mut c = root(&opened.db);
    answers(
        &mut c,
        &[
            (
                "select regexp_like('CamelCase', 'CAMELCASE'), regexp_like('CamelCase', 'CAMELCASE', 'c')",
                "1|0",
            ),
            (
                "select regexp_like('CamelCase' collate utf8mb4_bin, 'CAMELCASE'), regexp_like('Michael!', '.*')",
                "0|1",
            ),
            (
                "select regexp_like('new*\\n*line', 'new\\\\*.\\\\*line'), regexp_like('new*\\n*line', 'new\\\\*.\\\\*line', 'n')",
                "0|1",
            ),
            ("select regexp_like('a\\nb', '^b$'), regexp_like('a\\nb', '^b$', 'm')", "0|1"),
            ("select regexp_like('abc', 'ABC', 'ic'), regexp_like('abc', 'ABC', 'ci')", "0|1"),
            ("select regexp_instr('dog cat dog', 'dog'), regexp_instr('dog cat dog', 'dog', 2)", "1|9"),
            (
                "select regexp_instr('aa aaa aaaa', 'a{2}', 1, 3), regexp_instr('aa aaa aaaa', 'a{4}', 1, 1, 1)",
                "8|12",
            ),
            ("select regexp_instr('äöü', 'ü'), regexp_instr(convert('äöü' using latin1), 'ü')", "3|3"),
            (
                "select regexp_substr('abc def ghi', '[a-z]+'), regexp_substr('abc def ghi', '[a-z]+', 1, 3)",
                "abc|ghi",
            ),
            (
                "select regexp_substr('abc', 'x'), regexp_substr('äbc', '.', 2), regexp_substr('ab', '', 1)",
                "3685 Illegal argument to a regular expression.",
            ),
            (
                "select regexp_replace('a b c', 'b', 'X'), regexp_replace('abc def ghi', '[a-z]+', 'X', 1, 3)",
                "a X c|abc def X",
            ),
            (
                "select regexp_replace('abc def', '([a-z])([a-z])', '$2$1'), regexp_replace('a.b', '\\\\.', '\\\\$1')",
                "bac edf|a$1b",
            ),
            (
                "select regexp_replace('abc', 'x*', '-'), regexp_replace('', 'x*', '-'), regexp_replace('äö', '', 'x')",
                "3685 Illegal argument to a regular expression.",
            ),
            (
                "select regexp_replace('abc', 'x*', '-'), regexp_replace('', '^$', '-'), regexp_replace('äö', 'x?', '-')",
                "-a-b-c-|-|-ä-ö-",
            ),
            (
                "select regexp_like(null, 'a'), regexp_like('a', null), regexp_instr('a', 'a', null), regexp_replace('a', 'a', null)",
                "NULL|NULL|NULL|NULL",
            ),
            ("select regexp_instr('a', 'a', 0)", "1210 Incorrect arguments to regexp_instr"),
            (
                "select regexp_instr('a', 'a', 2), regexp_instr('a', 'a', 3)",
                "3686 Index out of bounds in regular expression search.",
            ),
            ("select regexp_like('a', 'a', 'x')", "1210 Incorrect arguments to regexp_like"),
            ("select regexp_like('a', '(')", "3691 Mismatched parenthesis in regular expression."),
            (
                "select regexp_like('a', '[')",
                "3696 The regular expression contains an unclosed bracket expression.",
            ),
            (
                "select regexp_like('a', '[b-a]')",
                "3697 The regular expression contains an [x-y] character range where x comes after y.",
            ),
            (
                "select regexp_like('a', 'a{2,1}')",
                "3693 The maximum is less than the minimum in a {min,max} interval.",
            ),
            (
                "select regexp_like('a', '(?=a)')",
                "1235 This version of Vaquita doesn't yet support 'look-around in regular expressions'",
            ),
            (
                "select regexp_replace('a', 'a', '$1')",
                "3686 Index out of bounds in regular expression search.",
            ),
            ("select regexp_like(123, '2'), regexp_substr(123, '2.')", "1|23"),
        ],
    );
    // Patterns of rows.
    answers(
        &mut c,
        &[
            ("create database d; use d; create table t (a varchar(20), p varchar(20), f varchar(5))", ""),
            (
                "insert into t values ('Abc', 'b.', 'c'), ('xyz', 'Y', 'i'), ('q', null, ''), ('q', 'q', null)",
                "",
            ),
            ("select regexp_substr(a, p, 1, 1, f) from t", "bc\ny\nNULL\nNULL"),
            ("select a from t where regexp_like(a, '^[ax]', 'c')", "xyz"),
            (
                "prepare s from 'select regexp_replace(?, ?, ?)'; set @a = 'x1y22', @p = '[0-9]+', @r = '#'",
                "",
            ),
            ("execute s using @a, @p, @r", "x#y#"),
        ],
    );
}

#[test]
fn uuids_and_units() {
    let opened = open();
    let mut c = root(&opened.db);
    answers(
        &mut c,
        &[
            (
                "select is_uuid('6ccd780c-baba-1026-9564-5b8c656024db'), is_uuid('{6ccd780c-baba-1026-9564-5b8c656024db}'), is_uuid('x'), is_uuid(null)",
                "1|1|0|NULL",
            ),
            ("set @uuid = '6ccd780c-baba-1026-9564-5b8c656024db'", ""),
            (
                "select hex(uuid_to_bin(@uuid)), hex(uuid_to_bin(@uuid, 0)), hex(uuid_to_bin(@uuid, 1))",
                "6CCD780CBABA102695645B8C656024DB|6CCD780CBABA102695645B8C656024DB|1026BABA6CCD780C95645B8C656024DB",
            ),
            (
                "select bin_to_uuid(uuid_to_bin(@uuid)), bin_to_uuid(uuid_to_bin(@uuid, 1), 1)",
                "6ccd780c-baba-1026-9564-5b8c656024db|6ccd780c-baba-1026-9564-5b8c656024db",
            ),
            ("select uuid_to_bin(null), bin_to_uuid(null)", "NULL|NULL"),
            ("select uuid_to_bin('abc')", "1411 Incorrect string value: 'abc' for function uuid_to_bin"),
            ("select bin_to_uuid('abc')", "1411 Incorrect string value: 'abc' for function bin_to_uuid"),
            (
                "select is_uuid(uuid()), bin_to_uuid(uuid_to_bin(uuid(), 1), 1) = '', length(uuid_to_bin(uuid()))",
                "1|0|16",
            ),
            (
                "select format_bytes(512), format_bytes(18446744073709551615), format_bytes(1536), format_bytes(null)",
                " 512 bytes|16.00 EiB|1.50 KiB|NULL",
            ),
            (
                "select format_pico_time(3501), format_pico_time(188732396662000), format_pico_time(7)",
                "3.50 ns|3.15 min|  7 ps",
            ),
        ],
    );
}

/// Answers of MySQL 5.6.24.
#[test]
fn sets_of_transactions_and_waits_for_nobody() {
    let opened = open();
    let mut c = root(&opened.db);
    answers(
        &mut c,
        &[
            (
                "select gtid_subset('3e11fa47-71ca-11e1-9e33-c80aa9429562:23', '3E11FA47-71CA-11E1-9E33-C80AA9429562:21-57')",
                "1",
            ),
            (
                "select gtid_subset('3e11fa47-71ca-11e1-9e33-c80aa9429562:23', ''), gtid_subset('', ''), gtid_subset(null, '')",
                "0|1|NULL",
            ),
            (
                "select gtid_subtract('3E11FA47-71CA-11E1-9E33-C80AA9429562:21-57', '3E11FA47-71CA-11E1-9E33-C80AA9429562:23-25')",
                "3e11fa47-71ca-11e1-9e33-c80aa9429562:21-22:26-57",
            ),
            ("select gtid_subset('', 'x')", "1772 Malformed GTID set specification 'x'."),
            (
                "select master_pos_wait('f', 4), master_pos_wait('f', 4, 1), wait_until_sql_thread_after_gtids('x')",
                "NULL|NULL|NULL",
            ),
            ("select validate_password_strength('Abcdef1!xx'), validate_password_strength(null)", "0|NULL"),
            (
                "select hex(weight_string('abc' level 1)), hex(weight_string('ab' level 1 desc)), hex(weight_string('ab' level 1 reverse))",
                "004100420043|FFBEFFBD|42004100",
            ),
            (
                "select hex(weight_string('ab' as char(4) level 1 desc reverse)), hex(weight_string('ab' level 2 desc)), hex(weight_string('ab' level 1-3))",
                "DFFFDFFFBDFFBEFF|00410042|00410042",
            ),
        ],
    );
}

/// Answers of MySQL 5.6.24.
#[test]
fn names_of_months_and_days_are_those_of_the_locale() {
    let opened = open();
    let mut c = root(&opened.db);
    answers(
        &mut c,
        &[
            (
                "prepare p from 'select monthname(''2001-03-01''), dayname(''2001-03-01''), date_format(''2001-03-01'', ''%M %b %W %a'')'; execute p",
                "March|Thursday|March Mar Thursday Thu",
            ),
            ("set lc_time_names = 'de_de'; select @@lc_time_names, @@global.lc_time_names", "de_DE|en_US"),
            ("execute p", "März|Donnerstag|März Mär Donnerstag Do"),
            (
                "select date_format('2001-03-01', '%p %r %D'), time_format('13:00:00', '%p'), from_unixtime(86400 * 5, '%W')",
                "AM 12:00:00 AM 1st|PM|Dienstag",
            ),
            (
                "select str_to_date('1 March 2001', '%d %M %Y'), str_to_date('1 März 2001', '%d %M %Y')",
                "2001-03-01|NULL",
            ),
            (
                "select hex(convert(monthname('2001-03-01') using latin1)), charset(monthname('2001-03-01'))",
                "4DE4727A|utf8mb4",
            ),
            (
                "set names latin1; select hex(monthname('2001-03-01')), hex(date_format('2001-03-01', '%M'))",
                "4DE4727A|4DE4727A",
            ),
            ("set names utf8mb4; set lc_time_names = 'ja_JP'; execute p", "3月|木曜日|3月  3月 木曜日 木"),
            ("set lc_time_names = 'xx_XX'", "1649 Unknown locale: 'xx_XX'"),
            ("set lc_time_names = default; execute p", "March|Thursday|March Mar Thursday Thu"),
            (
                "select format(1234567.891, 2, 'de_DE'), format(1234567.891, 2, 'en_IN'), format(1234567.891, 2, 'fr_FR'), format(1234.5, 2, 'de_CH')",
                "1.234.567,89|12,34,567.89|1234567,89|1'234.50",
            ),
            (
                "select format(1234567.891, 2, 'xx'), format(1234567.5, 1, 'fi_FI'), format(-1234567.5, 1, 'hr_HR')",
                "1,234,567.89|1 234 567,5|-1234567,5",
            ),
            ("set global lc_time_names = 'fr_FR'; select @@lc_time_names", "en_US"),
        ],
    );
    let mut second = root(&opened.db);
    assert_eq!(run(&mut second, "select monthname('2001-08-01')"), "août");
}
