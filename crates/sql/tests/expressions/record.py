#!/usr/bin/env python3
"""Records what a real MySQL 5.6.24 says of many constant expressions: value, metadata, warnings or error.

Usage: record.py SOCKET, with PyMySQL installed; writes the .tsv files beside it. What the lines look like is said in
../expressions.rs. The expressions follow from a fixed seed: the same script writes the same files.
"""
import os
import random
import sys

import pymysql

MODE = ("ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,"
        "NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION")
INTS = ["0", "1", "-1", "7", "255", "2147483647", "-2147483648", "9223372036854775807", "-9223372036854775808",
        "18446744073709551615", "TRUE"]
EXACT = ["0.0", "1.5", "-2.50", "0.5", "99999999999999999999.123", "-0.000001", "123456789.987654321"]
REAL = ["1e0", "-1.5e10", "1e300", "2.5e-3", "1e15"]
TEXT = ["''", "'a'", "'A'", "'abc'", "'12'", "'12abc'", "' 7 '", "'-1.5e2x'", "'é'", "'日本'", "'x,y,z'", "'a%'"]
BYTES = ["x'41'", "x'FF00'", "b'101'", "_binary'abc'"]
OTHER = ["_latin1'abc'", "CONVERT('é' USING latin1)", "'abc' COLLATE utf8mb4_bin"]
DATES = ["DATE'2024-02-29'", "TIME'10:11:12'", "TIMESTAMP'2024-02-29 23:59:59.123456'", "'2024-02-29'",
         "'2023-12-31 10:20:30'", "'0000-00-00'", "'2024-13-01'", "'10:11:12.5'", "20240229", "101112",
         "20231231102030", "TIME'-100:59:59.9'", "TIMESTAMP'1999-01-01 00:00:00'", "'2020-00-10'", "DATE'1970-01-01'"]
NUMBERS = ["NULL"] + INTS + EXACT + REAL
ALL = NUMBERS + TEXT + BYTES + OTHER + DATES
SMALL = ["NULL", "0", "1", "2", "3", "-1", "-2", "10", "1.5", "'2'", "100"]
STRINGS = ["NULL"] + TEXT + BYTES[:1] + BYTES[3:] + OTHER + ["1", "1.5", "1e0", "DATE'2024-02-29'", "'aXbXc'", "'  pad  '"]
TEMPORAL = ["NULL"] + DATES
rnd = random.Random(20240229)

def pick(*pools, n):
    total = 1
    for p in pools: total *= len(p)
    if total <= n:
        out = [()]
        for p in pools: out = [o + (x,) for o in out for x in p]
        return out
    seen, out = set(), []
    while len(out) < n:
        t = tuple(rnd.choice(p) for p in pools)
        if t not in seen:
            seen.add(t); out.append(t)
    return out

def operators():
    for op in ["+", "-", "*", "/", "DIV", "%"]:
        for a, b in pick(ALL, ALL, n=70) + pick(NUMBERS, NUMBERS, n=70): yield f"{a} {op} {b}"
    for op in ["|", "&", "^", "<<", ">>"]:
        for a, b in pick(ALL, ALL, n=40): yield f"{a} {op} {b}"
    for op in ["-", "~", "NOT ", "BINARY ", "+", "!"]:
        for a in ALL: yield f"{op}{a}" if not (op in "-+" and a[0] == "-") else f"{op}({a})"

def comparisons():
    for op in ["=", "<=>", "<>", "<", "<=", ">", ">="]:
        for a, b in pick(ALL, ALL, n=90): yield f"{a} {op} {b}"
    for op in ["AND", "OR", "XOR"]:
        for a, b in pick(ALL, ALL, n=30): yield f"{a} {op} {b}"
    for a, b, c in pick(ALL, ALL, ALL, n=150): yield f"{a} BETWEEN {b} AND {c}"
    for a, b, c in pick(NUMBERS, NUMBERS, NUMBERS, n=60): yield f"{a} NOT BETWEEN {b} AND {c}"
    for a, b, c in pick(ALL, ALL, ALL, n=150): yield f"{a} IN ({b}, {c})"
    for a, b, c in pick(NUMBERS, NUMBERS, NUMBERS, n=60): yield f"{a} NOT IN ({b}, {c}, 7)"
    for t in ["NULL", "NOT NULL", "TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN"]:
        for (a,) in pick(ALL, n=25): yield f"{a} IS {t}"
    pats = ["'a'", "'%'", "'a%'", "'%b%'", "'_b_'", "''", "'A%'", "'\\\\%'", "'%é'", "'__'", "NULL", "'1%'", "x'41'"]
    for a, p in pick(ALL, pats, n=150): yield f"{a} LIKE {p}"
    for a, p in pick(STRINGS, ["'a|%' ESCAPE '|'", "'%%' ESCAPE ''", "'a' ESCAPE NULL", "'a' ESCAPE 'ab'"], n=20): yield f"{a} LIKE {p}"
    regs = ["'a'", "'^a'", "'[[:alpha:]]+'", "'^[0-9]+$'", "'a|b'", "'[[:<:]]a'", "''", "'('", "'[^a]'", "'.b.'", "NULL", "'a{2}'", "'*'"]
    for a, p in pick(STRINGS, regs, n=110): yield f"{a} REGEXP {p}"
    for a, b, c, d in pick(ALL, ALL, ALL, ALL, n=60): yield f"({a}, {b}) {rnd.choice(['=', '<', '<>', '>=', '<=>'])} ({c}, {d})"
    yield from ["(1,2) = (1,2,3)", "(1,2) IN ((1,2),(3,4))", "(1,NULL) IN ((1,2),(3,4))", "(1,2) = 3", "ROW(1,2) <=> ROW(1,NULL)"]

def control():
    for a, b, c in pick(ALL, ALL, ALL, n=200): yield f"IF({a}, {b}, {c})"
    for a, b in pick(ALL, ALL, n=150): yield f"IFNULL({a}, {b})"
    for a, b in pick(ALL, ALL, n=150): yield f"NULLIF({a}, {b})"
    for a, b, c in pick(ALL, ALL, ALL, n=150): yield f"COALESCE({a}, {b}, {c})"
    for f in ["GREATEST", "LEAST"]:
        for a, b in pick(ALL, ALL, n=100): yield f"{f}({a}, {b})"
        for a, b, c in pick(NUMBERS, NUMBERS, NUMBERS, n=40): yield f"{f}({a}, {b}, {c})"
    for a, b, c, d in pick(ALL, ALL, ALL, ALL, n=120): yield f"CASE {a} WHEN {b} THEN {c} ELSE {d} END"
    for a, b, c in pick(ALL, ALL, ALL, n=80): yield f"CASE WHEN {a} THEN {b} WHEN {c} THEN 1 END"
    for a in ALL:
        yield f"ISNULL({a})"
        for t in ["SIGNED", "UNSIGNED", "CHAR", "CHAR(2)", "BINARY", "BINARY(4)", "DATE", "TIME", "DATETIME", "TIME(3)",
                  "DATETIME(2)", "DECIMAL", "DECIMAL(5,2)", "DECIMAL(30,10)"]:
            yield f"CAST({a} AS {t})"
    for a in ALL:
        yield f"CONVERT({a} USING latin1)"; yield f"CONVERT({a} USING utf8)"; yield f"{a} COLLATE utf8mb4_bin"
        yield f"CHARSET({a})"; yield f"COLLATION({a})"; yield f"COERCIBILITY({a})"
    yield from ["CAST(1 AS DECIMAL(66,2))", "CAST(1 AS DECIMAL(10,31))", "CAST(1 AS DECIMAL(2,3))", "CAST(1 AS TIME(7))",
                "'a' COLLATE nope", "'a' COLLATE latin1_bin", "CONVERT('a' USING nope)", "DATE'nope'", "TIME'x'", "TIMESTAMP'2024-02-30 00:00:00'"]

def strings():
    for f in ["LENGTH", "CHAR_LENGTH", "BIT_LENGTH", "LOWER", "UPPER", "LTRIM", "RTRIM", "TRIM", "REVERSE", "QUOTE", "SOUNDEX",
              "HEX", "UNHEX", "ASCII", "ORD", "BIN", "OCT", "TO_BASE64", "FROM_BASE64", "MD5", "SHA1", "CRC32", "SPACE",
              "PASSWORD", "BIT_COUNT", "INET_ATON", "INET_NTOA"]:
        for a in ALL + ["'4D79'", "'TWlubg=='", "'Robert'", "'1.2.3.4'"]: yield f"{f}({a})"
    for f in ["LEFT", "RIGHT", "REPEAT", "SUBSTRING"]:
        for a, n in pick(STRINGS, SMALL, n=60): yield f"{f}({a}, {n})"
    for a, n, m in pick(STRINGS, SMALL, SMALL, n=80): yield f"SUBSTRING({a}, {n}, {m})"
    for a, b in pick(STRINGS, STRINGS, n=80): yield f"CONCAT({a}, {b})"
    for a, b, c in pick(STRINGS, STRINGS, STRINGS, n=60): yield f"CONCAT_WS({a}, {b}, {c})"
    for a, b, c in pick(STRINGS, STRINGS, STRINGS, n=60): yield f"REPLACE({a}, {b}, {c})"
    for f in ["LPAD", "RPAD"]:
        for a, n, b in pick(STRINGS, SMALL, STRINGS, n=50): yield f"{f}({a}, {n}, {b})"
    for f in ["LOCATE", "INSTR", "STRCMP", "FIND_IN_SET"]:
        for a, b in pick(STRINGS, STRINGS, n=60): yield f"{f}({a}, {b})"
    for a, b, n in pick(STRINGS, STRINGS, SMALL, n=40): yield f"LOCATE({a}, {b}, {n})"
    for a, n, m, b in pick(STRINGS, SMALL, SMALL, STRINGS, n=50): yield f"INSERT({a}, {n}, {m}, {b})"
    for a, b, n in pick(STRINGS, ["'X'", "','", "'a'", "''", "NULL"], SMALL, n=50): yield f"SUBSTRING_INDEX({a}, {b}, {n})"
    for a, b, c in pick(ALL, ALL, ALL, n=60): yield f"FIELD({a}, {b}, {c})"
    for n, a, b in pick(SMALL, STRINGS, STRINGS, n=40): yield f"ELT({n}, {a}, {b})"
    for n, a, b in pick(SMALL, STRINGS, STRINGS, n=40): yield f"MAKE_SET({n}, {a}, {b})"
    for n, a, b in pick(SMALL, ["'1'", "'Y'", "NULL"], ["'0'", "'N'"], n=20): yield f"EXPORT_SET({n}, {a}, {b}, '', 8)"
    for a, n in pick(NUMBERS + TEXT, SMALL, n=80): yield f"FORMAT({a}, {n})"
    for a, n, m in pick(ALL, ["2", "10", "16", "36", "-10", "1", "NULL"], ["2", "10", "16", "36", "-10", "37"], n=80): yield f"CONV({a}, {n}, {m})"
    for a, b in pick(["'x'", "'a'", "' '", "''", "NULL", "'日'"], STRINGS, n=50):
        yield f"TRIM({rnd.choice(['LEADING', 'TRAILING', 'BOTH'])} {a} FROM {b})"
    for a, n in pick(STRINGS, ["224", "256", "384", "512", "0", "1", "NULL"], n=30): yield f"SHA2({a}, {n})"
    for a, b in pick(SMALL + ["65", "'77'", "256", "16909060"], SMALL, n=30): yield f"CHAR({a}, {b})"
    yield from ["CHAR(0xC3A9 USING utf8)", "CHAR(255 USING utf8)", "HEX(WEIGHT_STRING('aé'))", "HEX(WEIGHT_STRING('a' AS CHAR(3)))",
                "HEX(INET6_ATON('::1'))", "INET6_NTOA(x'7F000001')", "IS_IPV4('1.2.3.4')", "IS_IPV6('x')", "NOSUCH(1)", "LEFT('a')",
                "CONCAT()", "UNCOMPRESS(COMPRESS('aaa'))", "UNCOMPRESSED_LENGTH(COMPRESS('aaaa'))", "INTERVAL(3, 1, 2, 5)", "INTERVAL(NULL, 1)"]

def maths():
    for f in ["ABS", "SIGN", "CEIL", "FLOOR", "ROUND", "SQRT", "EXP", "LN", "LOG", "LOG2", "LOG10", "SIN", "COS", "TAN", "COT", "ASIN",
              "ACOS", "ATAN", "DEGREES", "RADIANS"]:
        for a in ALL: yield f"{f}({a})"
    for f in ["ROUND", "TRUNCATE"]:
        for a, n in pick(ALL, SMALL + ["30", "-20"], n=150): yield f"{f}({a}, {n})"
    for f in ["POW", "LOG", "ATAN2", "MOD"]:
        for a, b in pick(ALL, ALL, n=60): yield f"{f}({a}, {b})"
    yield from ["PI()", "RAND(1)", "RAND(3)", "RAND(NULL)", "RAND(-5)", "PI() + 0", "1 / 3", "10 / 4", "1/0", "5 DIV 0", "5 % 0", "1.0 / 3.0 * 3.0"]

UNITS = ["MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"]
LONG = ["SECOND_MICROSECOND", "MINUTE_MICROSECOND", "MINUTE_SECOND", "HOUR_MICROSECOND", "HOUR_SECOND", "HOUR_MINUTE",
        "DAY_MICROSECOND", "DAY_SECOND", "DAY_MINUTE", "DAY_HOUR", "YEAR_MONTH"]

def dates():
    for f in ["DATE", "TIME", "TIMESTAMP", "YEAR", "MONTH", "DAY", "DAYOFWEEK", "WEEKDAY", "DAYOFYEAR", "QUARTER", "WEEK", "WEEKOFYEAR", "YEARWEEK",
              "HOUR", "MINUTE", "SECOND", "MICROSECOND", "TO_DAYS", "TO_SECONDS", "LAST_DAY", "DAYNAME", "MONTHNAME", "TIME_TO_SEC",
              "UNIX_TIMESTAMP"]:
        for a in TEMPORAL + ["1", "'abc'", "1.5", "''"]: yield f"{f}({a})"
    for a in NUMBERS + ["'12'"]: yield f"FROM_DAYS({a})"; yield f"SEC_TO_TIME({a})"; yield f"FROM_UNIXTIME({a})"
    for n in ["730000", "366", "1e6"]: yield f"FROM_DAYS({n})"
    for f in ["WEEK", "YEARWEEK"]:
        for a, n in pick(["'2008-02-20'", "'2000-01-01'", "'2024-12-31'", "'2023-01-01'", "'2009-12-31'"], list("01234567"), n=40): yield f"{f}({a}, {n})"
    for u in UNITS + LONG:
        for (a,) in pick(TEMPORAL, n=10): yield f"EXTRACT({u} FROM {a})"
        for a, n in pick(TEMPORAL, ["1", "-1", "'1:2'", "'1 2:3:4.5'", "1.5", "NULL", "100000", "'x'"], n=14):
            yield f"{a} {rnd.choice('+-')} INTERVAL {n} {u}"
    for u in UNITS:
        for a, b in pick(TEMPORAL, TEMPORAL, n=10): yield f"TIMESTAMPDIFF({u}, {a}, {b})"
        for a, n in pick(TEMPORAL, ["1", "-3", "NULL"], n=5): yield f"TIMESTAMPADD({u}, {n}, {a})"
    for f in ["DATEDIFF", "ADDTIME", "SUBTIME", "TIMEDIFF", "TIMESTAMP"]:
        for a, b in pick(TEMPORAL, TEMPORAL, n=60): yield f"{f}({a}, {b})"
    forms = ["'%Y-%m-%d %H:%i:%s.%f'", "'%a %b %c %D %d %e'", "'%W %M %y %j %p %r %T'", "'%U %u %V %v %X %x %w'", "'%h %I %l %k %% %z'", "NULL", "''"]
    for a, f in pick(TEMPORAL, forms, n=90): yield f"DATE_FORMAT({a}, {f})"
    for a, f in pick(TEMPORAL, ["'%H %k %h %i %s %f %p'", "'%T %r'", "'%Y'"], n=30): yield f"TIME_FORMAT({a}, {f})"
    for a, f in [("'2024-02-29'", "'%Y-%m-%d'"), ("'31,5,2024'", "'%d,%m,%Y'"), ("'10:11:12'", "'%H:%i:%s'"), ("'May 1, 2013'", "'%M %d,%Y'"),
                 ("'a09:30:17'", "'a%h:%i:%s'"), ("'09:30:17 PM'", "'%h:%i:%s %p'"), ("'2024-02-30'", "'%Y-%m-%d'"), ("'abc'", "'abc'"), ("'9'", "'%m'"),
                 ("'9'", "'%s'"), ("'00/00/0000'", "'%m/%d/%Y'"), ("'2024-060'", "'%Y-%j'"), ("'200442 Monday'", "'%X%V %W'"), ("'2024-02-29x'", "'%Y-%m-%d'"),
                 ("'24'", "'%y'"), ("NULL", "'%y'"), ("'2024-02-29 10:11:12.123'", "'%Y-%m-%d %H:%i:%s.%f'"), ("'13:00 PM'", "'%h:%i %p'")]:
        yield f"STR_TO_DATE({a}, {f})"
    for a, b in pick(["2024", "24", "99", "0", "10000", "NULL"], ["1", "60", "366", "0", "1000000", "NULL"], n=30): yield f"MAKEDATE({a}, {b})"
    for a, b, c in pick(["10", "-5", "900", "NULL"], ["0", "59", "60", "NULL"], ["0", "59.5", "60", "-1"], n=40): yield f"MAKETIME({a}, {b}, {c})"
    for f in ["PERIOD_ADD", "PERIOD_DIFF"]:
        for a, b in pick(["202401", "2401", "9912", "0", "NULL"], ["1", "-3", "202312", "0"], n=16): yield f"{f}({a}, {b})"
    for a, b in pick(["DATE", "TIME", "DATETIME"], ["'USA'", "'JIS'", "'ISO'", "'EUR'", "'INTERNAL'", "'x'"], n=18): yield f"GET_FORMAT({a}, {b})"
    for a in ["0", "1", "1e3", "1447430881", "1447430881.5", "-1", "2147483648", "'1447430881'", "1447430881.123456"]:
        yield f"FROM_UNIXTIME({a})"; yield f"FROM_UNIXTIME({a}, '%Y %D %M %h:%i:%s %x')"
    for a in TEMPORAL: yield f"CONVERT_TZ({a}, '+00:00', '+10:00')"
    yield from ["NOW()", "NOW(3)", "CURDATE()", "CURTIME()", "CURTIME(2)", "UTC_TIMESTAMP()", "UTC_DATE()", "UTC_TIME()", "UNIX_TIMESTAMP()", "NOW() + 0",
                "CURDATE() + 0", "CURTIME() + 0", "NOW(6) + 0", "CONVERT_TZ('2024-01-01 00:00:00', 'x', 'y')", "NOW(7)"]

LOCALES = ["'de_DE'", "'de_AT'", "'de_CH'", "'en_IN'", "'fr_FR'", "'ru_RU'", "'bg_BG'", "'it_CH'", "'sr_RS'", "'xx_XX'", "'EN_us'", "NULL"]
A, B = "3E11FA47-71CA-11E1-9E33-C80AA9429561", "3e11fa47-71ca-11e1-9e33-c80aa9429562"
SETS = ["NULL", "''", "'x'", f"'{A}:1'", f"'{A}:1-5:7-9'", f"'{B}:3'", f"' {A} : 2 - 4 ,{B}:1-3:2-9,,'", f"'{A}'", f"'{A}:0'", f"'{A}:9-3'",
        f"'{A}:1-9223372036854775807'", f"'{A}:1,{A}:2'", "1"]

def others():
    for f in ["GTID_SUBSET", "GTID_SUBTRACT"]:
        for a, b in pick(SETS, SETS, n=60): yield f"{f}({a}, {b})"
    for a, n, l in pick(NUMBERS + ["'12abc'"], SMALL, LOCALES, n=150): yield f"FORMAT({a}, {n}, {l})"
    for l in ["1", "1 DESC", "1 REVERSE", "1 DESC REVERSE", "2", "1-3", "2 DESC", "1, 2 DESC", "0", "7"]:
        for a in ["'aé'", "'abc' COLLATE utf8mb4_bin", "_latin1'abc'", "NULL", "'a' AS CHAR(3)"]: yield f"HEX(WEIGHT_STRING({a} LEVEL {l}))"
    yield from ["MASTER_POS_WAIT('f', 4)", "MASTER_POS_WAIT('f', 4, 1)", "MASTER_POS_WAIT(NULL, 4)", f"WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS('{A}:1')",
                "VALIDATE_PASSWORD_STRENGTH('Abcdef1!xx')", "VALIDATE_PASSWORD_STRENGTH('')", "VALIDATE_PASSWORD_STRENGTH(NULL)", "LOAD_FILE(NULL)",
                "LOAD_FILE('/nonexistent')"]

FAMILIES = dict(operators=operators, comparisons=comparisons, control=control, strings=strings, maths=maths, dates=dates, others=others)

def escape(v):
    if v is None: return "NULL"
    out = ""
    try:
        text = v.decode("utf8")
        if all(c.isprintable() and c not in "\\\t" for c in text) and text != "NULL" and not text.startswith("0x"): return "=" + text
    except UnicodeDecodeError: pass
    return "0x" + v.hex()

def main(socket):
    directory = os.path.dirname(os.path.abspath(__file__))
    c = pymysql.connect(unix_socket=socket, user="root", charset="utf8mb4", use_unicode=False, autocommit=None, conv={str: pymysql.converters.escape_string})
    cur = c.cursor()
    for s in ["SET NAMES utf8mb4 COLLATE utf8mb4_general_ci", f"SET sql_mode='{MODE}'", "SET time_zone='+00:00'", "SET timestamp=1700000000.5",
              "SET div_precision_increment=4"]:
        cur.execute(s)
    cur.execute("CREATE DATABASE IF NOT EXISTS h_expr")
    cur.execute("CREATE TABLE IF NOT EXISTS h_expr.nothing (a INT)")
    for name, family in FAMILIES.items():
        seen = set()
        with open(f"{directory}/{name}.tsv", "w") as out:
            for e in family():
                if e in seen: continue
                seen.add(e)
                cur.execute("SELECT a FROM h_expr.nothing")  # forgets warnings
                cur.fetchall()
                try:
                    cur.execute("SELECT " + e)
                except pymysql.err.Error as err:
                    message = err.args[1].replace("\t", " ").replace("\n", " ")
                    out.write(f"{e}\terror\t{err.args[0]}\t{message}\n")
                    continue
                f = cur._result.fields[0]
                value = cur.fetchall()[0][0]
                if value is not None and len(value) > 1000: continue
                cur.execute("SHOW WARNINGS")
                warnings = []
                for level, code, message in cur.fetchall():
                    w = f"{int(code)} {message.decode('utf8', 'replace')}".replace("\t", " ").replace("\n", " ")
                    if w not in warnings: warnings.append(w)
                out.write("\t".join([e, f"{f.type_code}:{f.length}:{f.scale}:{f.flags}:{f.charsetnr}", escape(value), "; ".join(warnings)]) + "\n")

main(*sys.argv[1:])
