//! JSON_TABLE, as the manual of MySQL 8.0 tells of it. Most of the first examples are the manual's.

use crate::support;

use support::{answers, open, root, run};

/// Statements with their answers.
const ANSWERS: &[(&str, &str)] = &[
    (
        r#"select * from json_table('[{"a":"3"},{"a":2},{"b":1},{"a":0},{"a":[1,2]}]', "$[*]" columns(rowid for ordinality, ac varchar(100) path "$.a" default '111' on empty default '999' on error, aj json path "$.a" default '{"x": 333}' on empty, bx int exists path "$.b")) as tt"#,
        "1|3|\"3\"|0\n2|2|2|0\n3|111|{\"x\": 333}|1\n4|0|0|0\n5|999|[1, 2]|0",
    ),
    (
        r#"select * from json_table('[{"x":2,"y":"8"},{"x":"3","y":"7"},{"x":"4","y":6}]', "$[*]" columns(xval varchar(100) path "$.x", yval varchar(100) path "$.y")) as jt1"#,
        "2|8\n3|7\n4|6",
    ),
    (
        r#"select * from json_table('[{"x":2,"y":"8"},{"x":"3","y":"7"},{"x":"4","y":6}]', "$[1]" columns(xval varchar(100) path "$.x", yval varchar(100) path "$.y")) as jt1"#,
        "3|7",
    ),
    (
        r#"select * from json_table('[{"a": 1, "b": [11,111]}, {"a": 2, "b": [22,222]}, {"a":3}]', '$[*]' columns(a int path '$.a', nested path '$.b[*]' columns (b int path '$'))) as jt where b is not null"#,
        "1|11\n1|111\n2|22\n2|222",
    ),
    (
        r#"select * from json_table('[{"a": 1, "b": [11,111]}, {"a": 2, "b": [22,222]}, {"a":3}]', '$[*]' columns(a int path '$.a', nested path '$.b[*]' columns (b int path '$'))) as jt"#,
        "1|11\n1|111\n2|22\n2|222\n3|NULL",
    ),
    (
        r#"select * from json_table('[{"a": 1, "b": [11,111]}, {"a": 2, "b": [22,222]}]', '$[*]' columns(a int path '$.a', nested path '$.b[*]' columns (b1 int path '$'), nested path '$.b[*]' columns (b2 int path '$'))) as jt"#,
        "1|11|NULL\n1|111|NULL\n1|NULL|11\n1|NULL|111\n2|22|NULL\n2|222|NULL\n2|NULL|22\n2|NULL|222",
    ),
    (
        r#"select * from json_table('[{"a": "a_val","b": [{"c": "c_val", "l": [1,2]}]},{"a": "a_val","b": [{"c": "c_val","l": [11]}, {"c": "c_val", "l": [22]}]}]', '$[*]' columns(top_ord for ordinality, apath varchar(10) path '$.a', nested path '$.b[*]' columns (bpath varchar(10) path '$.c', ord for ordinality, nested path '$.l[*]' columns (lpath varchar(10) path '$')))) as jt"#,
        "1|a_val|c_val|1|1\n1|a_val|c_val|1|2\n2|a_val|c_val|1|11\n2|a_val|c_val|2|22",
    ),
    // Without rows.
    ("select * from json_table(null, '$[*]' columns (a int path '$')) t", ""),
    ("select * from json_table('[]', '$[*]' columns (a int path '$')) t", ""),
    ("select count(*) from json_table('{}', '$.a[*]' columns (a int path '$')) t", "0"),
    (
        "select * from json_table('{}', '$' columns (a int path '$.x', o for ordinality, b json path '$')) t",
        "NULL|1|{}",
    ),
    // What the document is.
    ("select * from json_table('[1, {', '$[*]' columns (a int path '$')) t", "ERROR 3141"),
    ("select * from json_table(1, '$[*]' columns (a int path '$')) t", "ERROR 3146"),
    ("select * from json_table(x'5b315d', '$[*]' columns (a int path '$')) t", "ERROR 3144"),
    ("select * from json_table(json_array(1, 2), '$[*]' columns (a int path '$')) t", "1\n2"),
    ("select * from json_table((select '[7, 8]'), '$[*]' columns (a int path '$')) t", "7\n8"),
    ("select * from json_table(count(*), '$[*]' columns (a int path '$')) t", "ERROR 1111"),
    ("select * from json_table(row_number() over (), '$[*]' columns (a int path '$')) t", "ERROR 3593"),
    // EMPTY and ERROR.
    ("select * from json_table('[{}]', '$[*]' columns (a int path '$.a' error on empty)) t", "ERROR 3665"),
    (
        "select * from json_table('[{\"a\": [1]}]', '$[*]' columns (a int path '$.a' error on error)) t",
        "ERROR 3666",
    ),
    ("select * from json_table('[\"asd\"]', '$[*]' columns (a int path '$' error on error)) t", "ERROR 3669"),
    (
        "select * from json_table('[\"asd\", \"12\", 1e30]', '$[*]' columns (a int path '$')) t",
        "NULL\n12\nNULL",
    ),
    (
        "select * from json_table('[\"abcd\", 12345]', '$[*]' columns (a varchar(3) path '$' default '\"x\"' on error)) t",
        "x\nx",
    ),
    (
        "select * from json_table('[{}, {\"a\": \"q\"}]', '$[*]' columns (a int path '$.a' default '5' on error default '4' on empty)) t",
        "4\n5",
    ),
    (
        "select * from json_table('[{}]', '$[*]' columns (a int path '$.a' null on empty null on error)) t",
        "NULL",
    ),
    (
        "select * from json_table('[1]', '$[*]' columns (a int path '$' default 'asd' on empty)) t",
        "ERROR 1067",
    ),
    (
        "select * from json_table('[1]', '$[*]' columns (a int path '$' default '\"asd\"' on empty)) t",
        "ERROR 1067",
    ),
    (
        "select * from json_table('[1]', '$[*]' columns (a int path '$' default '[1]' on error)) t",
        "ERROR 1067",
    ),
    ("select * from json_table('[1]', '$[*]' columns (a int path '$' default 1 on error)) t", "ERROR 1064"),
    (
        "select * from json_table('[1]', '$[*]' columns (a int exists path '$' error on empty)) t",
        "ERROR 1064",
    ),
    // Several values.
    (
        "select * from json_table('[[1, 2]]', '$[*]' columns (a json path '$[*]', b int path '$[*]')) t",
        "[1, 2]|NULL",
    ),
    (
        "select * from json_table('[[1, 2]]', '$[*]' columns (b int path '$[*]' error on error)) t",
        "ERROR 3666",
    ),
    // Types.
    (
        "select * from json_table('[{\"v\": 3.7, \"t\": true, \"s\": \"2020-02-30\", \"d\": \"2020-02-28 11:12:13.5\", \"e\": \"b\"}]', '$[*]' columns (i int path '$.v', de decimal(3,1) path '$.v', do double path '$.v', ti tinyint path '$.t', tc char(5) path '$.t', bad date path '$.s', da datetime(1) path '$.d', ye time path '$.d', en enum('a', 'b') path '$.e', se set('a', 'b') path '$.e', js json path '$.t', bi varbinary(9) path '$.e', tx text path '$.d')) t",
        "4|3.7|3.7|1|true|NULL|2020-02-28 11:12:13.5|11:12:14|b|b|true|b|2020-02-28 11:12:13.5",
    ),
    (
        "select a is null, b is null, b from json_table('[null]', '$[*]' columns (a int path '$', b json path '$')) t",
        "1|0|null",
    ),
    (
        "select charset(a), collation(a), charset(b), collation(b), charset(c) from json_table('[\"x\"]', '$[*]' columns (a varchar(9) character set latin1 path '$', b char(4) collate utf8mb4_bin path '$', c varchar(3) path '$')) t",
        "latin1|latin1_swedish_ci|utf8mb4|utf8mb4_bin|utf8mb4",
    ),
    (
        "select hex(a) from json_table('[\"é\"]', '$[*]' columns (a varchar(9) character set latin1 path '$')) t",
        "E9",
    ),
    (
        "select a from json_table('[\"ы\"]', '$[*]' columns (a varchar(9) character set latin1 path '$' default '\"none\"' on error)) t",
        "none",
    ),
    ("select * from json_table('[1]', '$[*]' columns (a point path '$')) t", "ERROR 1235"),
    ("select * from json_table('[1]', '$[*]' columns (a varchar(70000) path '$')) t", "ERROR 1074"),
    // Names and texts.
    ("select * from json_table('[1]', '$[*]' columns (a int path '$'))", "ERROR 3667"),
    ("select * from json_table('[1]', '$[*' columns (a int path '$')) t", "ERROR 3143"),
    ("select * from json_table('[1]', '$[*]' columns (a int path 'x')) t", "ERROR 3143"),
    (
        "select * from json_table('[1]', '$[*]' columns (a int path '$', nested '$' columns (A int path '$'))) t",
        "ERROR 1060",
    ),
    (
        "select * from json_table('[1]', '$[*]' columns (nested int path '$', path int path '$', nested path '$' columns (ordinality for ordinality))) t",
        "1|1|1",
    ),
    ("select * from json_table('[1]', '$[*]' columns ()) t", "ERROR 1064"),
    ("select b from json_table('[1]', '$[*]' columns (a int path '$')) t", "ERROR 1054"),
    ("select * from json_table(q.x, '$[*]' columns (a int path '$')) t", "ERROR 1054"),
    (
        "select * from json_table('[1]', '$[*]' columns (a int path '$')) t, json_table('[2]', '$[*]' columns (a int path '$')) t",
        "ERROR 1066",
    ),
    (
        "select * from json_table('[[1]]', '$' columns (nested '$' columns (a1 for ordinality), nested '$' columns (a2 for ordinality), nested '$' columns (a3 for ordinality), nested '$' columns (a4 for ordinality), nested '$' columns (a5 for ordinality), nested '$' columns (a6 for ordinality), nested '$' columns (a7 for ordinality), nested '$' columns (a8 for ordinality), nested '$' columns (a9 for ordinality), nested '$' columns (b1 for ordinality), nested '$' columns (b2 for ordinality), nested '$' columns (b3 for ordinality), nested '$' columns (b4 for ordinality), nested '$' columns (b5 for ordinality), nested '$' columns (b6 for ordinality), nested '$' columns (b7 for ordinality), nested '$' columns (b8 for ordinality))) t",
        "ERROR 3670",
    ),
    // Joins.
    (
        "select t.id, a, o from t, json_table(t.doc, '$.items[*]' columns (o for ordinality, a int path '$.n')) jt order by id, o",
        "1|10|1\n1|11|2\n2|20|1",
    ),
    (
        "select id, a from t join json_table(doc, '$.items[*]' columns (a int path '$.n')) jt on a > 10 order by id, a",
        "1|11\n2|20",
    ),
    (
        "select id, a from t left join json_table(t.doc, '$.items[*]' columns (a int path '$.n')) jt on a > 10 order by id, a",
        "1|11\n2|20\n3|NULL\n4|NULL",
    ),
    (
        "select id, a from t left join json_table(t.doc, '$.items[*]' columns (a int path '$.n')) jt on true where a is null order by id",
        "3|NULL\n4|NULL",
    ),
    (
        "select * from t right join json_table(t.doc, '$.items[*]' columns (a int path '$.n')) jt on true",
        "ERROR 3668",
    ),
    (
        "select id, a from t right join json_table('[1, 9]', '$[*]' columns (a int path '$')) jt on a = id order by a",
        "1|1\nNULL|9",
    ),
    ("select * from json_table(t.doc, '$[*]' columns (a int path '$')) jt, t", "ERROR 1054"),
    (
        "select id, a, b from t, json_table(doc, '$.items' columns (js json path '$')) x, json_table(x.js, '$[*]' columns (a int path '$.n', b varchar(5) path '$.s')) y order by id, a",
        "1|10|x\n1|11|NULL\n2|20|y",
    ),
    (
        "select x.id, a from t x left join t y on y.id = x.id + 2 join json_table(coalesce(y.doc, '{\"items\": [{\"n\": -1}]}'), '$.items[*]' columns (a int path '$.n')) j order by 1, 2",
        "2|-1\n3|-1\n4|-1",
    ),
    (
        "select id, (select sum(a) from json_table(t.doc, '$.items[*]' columns (a int path '$.n')) jt) s from t order by id",
        "1|21\n2|20\n3|NULL\n4|NULL",
    ),
    (
        "select id from t where exists (select 1 from json_table(doc, '$.items[*]' columns (a int path '$.n')) jt where a = 20)",
        "2",
    ),
    (
        "select id from t where 11 in (select a from json_table(doc, '$.items[*]' columns (a int path '$.n')) jt)",
        "1",
    ),
    (
        "select id, n from t, lateral (select count(*) n from json_table(doc, '$.items[*]' columns (a int path '$.n')) jt) l order by id",
        "1|2\n2|1\n3|0\n4|0",
    ),
    (
        "with d as (select id, doc from t where id < 3) select id, sum(a) from d, json_table(d.doc, '$.items[*]' columns (a int path '$.n')) jt group by id order by id",
        "1|21\n2|20",
    ),
    (
        "with recursive r (n, rest) as (select 0, cast('[5, [6, [7]]]' as json) union all select v, next from r, json_table(rest, '$' columns (v int path '$[0]', next json path '$[1]')) j where rest is not null and n < 7) select n from r",
        "0\n5\n6\n7",
    ),
    (
        "select straight_join id from json_table('[2, 3]', '$[*]' columns (a int path '$')) j straight_join t on t.id = a order by 1",
        "2\n3",
    ),
    (
        "select a, count(*), group_concat(b order by b) from json_table('[{\"a\": 1, \"b\": 2}, {\"a\": 1, \"b\": 3}, {\"a\": 2, \"b\": 1}]', '$[*]' columns (a int path '$.a', b int path '$.b')) j group by a order by a desc",
        "2|1|1\n1|2|2,3",
    ),
    (
        "select a from json_table('[3, 1, 2]', '$[*]' columns (a int path '$')) j union select 9 order by 1 limit 3",
        "1\n2\n3",
    ),
    (
        "select j.*, x.* from t x natural join json_table('[{\"id\": 2, \"q\": 5}]', '$[*]' columns (id int path '$.id', q int path '$.q')) j",
        "2|5|2|{\"items\": [{\"n\": 20, \"s\": \"y\"}]}",
    ),
    ("select default(a) from json_table('[3]', '$[*]' columns (a int path '$')) j", "ERROR 1235"),
    // Tables that change.
    ("create table u (id int, n int, s varchar(10))", ""),
    (
        "insert into u select id, a, s from t, json_table(doc, '$.items[*]' columns (a int path '$.n', s varchar(10) path '$.s')) j; select * from u order by n",
        "1|10|x\n1|11|NULL\n2|20|y",
    ),
    (
        "update u join json_table('[{\"n\": 10, \"to\": \"ten\"}, {\"n\": 11, \"to\": \"eleven\"}]', '$[*]' columns (n int path '$.n', t varchar(10) path '$.to')) j on j.n = u.n set s = j.t; select s from u order by u.n",
        "ten\neleven\ny",
    ),
    ("update u, json_table('[1]', '$[*]' columns (n int path '$')) j set j.n = 2", "ERROR 1288"),
    (
        "delete u from u, json_table('[10, 20]', '$[*]' columns (n int path '$')) j where u.n = j.n; select n from u",
        "11",
    ),
    ("delete j from u, json_table('[10, 20]', '$[*]' columns (n int path '$')) j", "ERROR 1288"),
    (
        "delete from u where n in (select n from json_table('[11]', '$[*]' columns (n int path '$')) j); select count(*) from u",
        "0",
    ),
    (
        "create table made as select * from json_table('[{\"a\": \"x\"}]', '$[*]' columns (o for ordinality, a varchar(7) path '$.a', j json path '$')) j; show columns from made",
        "o|int(10) unsigned|YES||NULL|\na|varchar(7)|YES||NULL|\nj|json|YES||NULL|",
    ),
    // Prepared.
    (
        "prepare p from 'select a from json_table(?, ''$[*]'' columns (a int path ''$'')) j order by a'; set @d = '[2, 1]'; execute p using @d",
        "1\n2",
    ),
    ("set @d = '[5]'; execute p using @d", "5"),
    ("set @d = null; execute p using @d", ""),
    // Views.
    (
        "create view v as select t.id, j.a, j.s from t join json_table(t.doc, '$.items[*]' columns (o for ordinality, a int path '$.n' default '0' on empty error on error, s varchar(10) character set latin1 path '$.s', x int exists path '$.s', nested path '$' columns (k json path '$'))) j; select * from v order by a",
        "1|10|x\n1|11|NULL\n2|20|y",
    ),
    (
        "select view_definition from information_schema.views where table_name = 'v'",
        "select `d`.`t`.`id` AS `id`,`j`.`a` AS `a`,`j`.`s` AS `s` from (`d`.`t` join json_table(`d`.`t`.`doc`, '$.items[*]' columns (`o` for ordinality, `a` int(11) path '$.n' default '0' on empty error on error, `s` varchar(10) character set latin1 collate latin1_swedish_ci path '$.s', `x` int(11) exists path '$.s', nested path '$' columns (`k` json path '$'))) `j`)",
    ),
    (
        "explain select id, a from t, json_table(doc, '$.items[*]' columns (a int path '$.n')) j where a > 1",
        "1|SIMPLE|t|ALL|NULL|NULL|NULL|NULL|4|NULL\n1|SIMPLE|j|ALL|NULL|NULL|NULL|NULL|2|Table function: json_table; Using temporary; Using where",
    ),
    (
        "create procedure pr(in doc json) select sum(a) into @s from json_table(doc, '$[*]' columns (a int path '$')) j; call pr('[1, 2, 3]'); select @s",
        "6",
    ),
    ("create table json_table (path int, nested int, ordinality int); select count(*) from json_table", "0"),
];

#[test]
fn answers_as_the_manual_says() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "set names utf8mb4");
    run(&mut c, "create database d; use d; create table t (id int primary key, doc json)");
    run(
        &mut c,
        r#"insert into t values (1, '{"items": [{"n": 10, "s": "x"}, {"n": 11}]}'), (2, '{"items": [{"n": 20, "s": "y"}]}'), (3, '{"items": []}'), (4, null)"#,
    );
    answers(&mut c, ANSWERS);
}

/// A document of many rows goes to a file as those of a derived table do; somebody may end the statement meanwhile.
#[test]
fn many_rows() {
    let opened = open();
    let mut c = root(&opened.db);
    run(&mut c, "set tmp_table_size = 16384, max_heap_table_size = 16384, max_allowed_packet = 16777216");
    run(&mut c, "set @d = concat('[', repeat('{\"a\": 5, \"b\": [1, 2, 3]}, ', 5000), '{}]')");
    let counted = run(
        &mut c,
        "select count(*), count(a), sum(a), sum(b), max(o) from json_table(@d, '$[*]' columns (o for ordinality, a int path '$.a', nested '$.b[*]' columns (b int path '$'))) j",
    );
    assert_eq!(counted, "15001|15000|75000|30000|5001");
}
