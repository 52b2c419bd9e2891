#!/usr/bin/env python3
"""Puts into src/packed/tables.bin the tables of character sets and collations that follow from no published rule, as a
running MySQL 5.6.24 answers for every character. Needs Python 3, the stock client and the server's socket:

    python3 gen/server.py /path/to/socket

  charset.SET         the characters of the East Asian character sets (CONVERT(.. USING ..), both ways)
  charset.8bit        armscii8, geostd8, keybcs2, swe7: 256 characters each
  case.SET            letters of the East Asian character sets (UPPER(), LOWER())
  collation.uca       what the collations of single languages have otherwise than utf8_unicode_ci (WEIGHT_STRING())
  collation.gbk       weights of gbk_chinese_ci's characters of two bytes
  collation.big5      the same of big5_chinese_ci, which WEIGHT_STRING() gives and comparison does not go by
  collation.german2   weights of latin1_german2_ci
  collation.czech     weights of latin2_czech_cs and cp1250_czech_cs, and of their `ch`

and src/collation/tests/packed.tsv, its answers to random texts.
"""
import os
import random
import struct
import subprocess
import sys

import packed

HERE = os.path.dirname(os.path.abspath(__file__))
EAST_ASIAN = ('big5', 'cp932', 'eucjpms', 'euckr', 'gb2312', 'gbk', 'ujis')
EIGHT_BIT = ('armscii8', 'geostd8', 'keybcs2', 'swe7')
SCRATCH = 'vaquita_tables'


def ask(sql):
    command = ['mysql', '-uroot', '-S', sys.argv[1], '--default-character-set=latin1', '-N', '--batch']
    done = subprocess.run(command, input=sql.encode('ascii'), capture_output=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.decode())
    return [line.split('\t') for line in done.stdout.decode('latin1').split('\n')[:-1]]


def numbers():
    """A table of the numbers below 65536."""
    ask('drop database if exists %s; create database %s' % (SCRATCH, SCRATCH))
    digits = ' union '.join('select %d d' % d for d in range(16))
    ask('use %s; create table d engine=myisam %s; create table n (n int primary key) engine=myisam '
        'select a.d + 16 * b.d + 256 * c.d + 4096 * e.d n from d a, d b, d c, d e' % (SCRATCH, digits))


def each(expressions, where='1'):
    return ask('use %s; select n, %s from n where %s order by n' % (SCRATCH, ', '.join(expressions), where))


def u16(n):
    return struct.pack('>H', n)


# ------------------------------------------------------------------------------------------------ character sets
def is_char(charset, code):
    """Whether the bytes of the number are one character."""
    if code < 0x80:
        return True
    high, low = code >> 8 & 0xFF, code & 0xFF
    if charset in ('ujis', 'eucjpms'):
        if code >> 16:
            return code >> 16 == 0x8F and 0xA1 <= high <= 0xFE and 0xA1 <= low <= 0xFE
        return high == 0x8E and 0xA0 <= low <= 0xDF or 0xA1 <= high <= 0xFE and 0xA1 <= low <= 0xFE
    if code < 0x100:
        return charset == 'cp932' and 0xA1 <= code <= 0xDF
    return {
        'big5': 0xA1 <= high <= 0xF9 and (0x40 <= low <= 0x7E or 0xA1 <= low <= 0xFE),
        'cp932': (0x81 <= high <= 0x9F or 0xE0 <= high <= 0xFC) and (0x40 <= low <= 0x7E or 0x80 <= low <= 0xFC),
        'gbk': 0x81 <= high <= 0xFE and (0x40 <= low <= 0x7E or 0x80 <= low <= 0xFE),
        'gb2312': 0xA1 <= high <= 0xF7 and 0xA1 <= low <= 0xFE,
        'euckr': 0x81 <= high <= 0xFE and (0x41 <= low <= 0x5A or 0x61 <= low <= 0x7A or 0x81 <= low <= 0xFE),
    }[charset]


def chars(charset, expressions):
    """The answers for every character but ASCII, by code."""
    found = {}
    for plane in (0, 0x8F) if charset in ('ujis', 'eucjpms') else (0,):
        char = 'char(n + %d using %s)' % (plane << 16, charset)
        for n, *answers in each([e % char for e in expressions], 'n >= 128'):
            if is_char(charset, int(n) + (plane << 16)):
                found[int(n) + (plane << 16)] = answers
    return found


def charset_section(charset):
    """Rows of characters that follow each other, then what goes back to another code than the first.

    A row: plane (0 or 0x8F), lead byte (0: none), first trail byte, their number, the code points as differences to the
    one before (0 in the place of U+0000: none). A row of no characters ends them."""
    forward = {}
    for code, (to,) in chars(charset, ['hex(convert(%s using ucs2))']).items():
        assert len(to) == 4 or to == '003F003F', (charset, code, to)
        forward[code] = int(to, 16) if not to.startswith('003F') else 0
    back = {}
    for n, to in each(['hex(convert(char(n using ucs2) using %s))' % charset], 'n >= 128 and n not between 0xD800 and 0xDFFF'):
        if to != '3F':
            back[int(n)] = int(to, 16)
    out, last = b'', 0
    for lead in sorted({code >> 8 for code in forward}):
        trails = [code & 0xFF for code in forward if code >> 8 == lead and forward[code]]
        if not trails:
            continue
        first, count = min(trails), max(trails) - min(trails) + 1
        out += bytes([lead >> 8, lead & 0xFF, first, count])
        for trail in range(first, first + count):
            to = forward.get(lead << 8 | trail, 0)
            out += u16((to - last) & 0xFFFF)
            last = to
    out += bytes(4)
    firsts = {}
    for code in sorted(forward):
        if forward[code]:
            firsts.setdefault(forward[code], code)
    others = [(to, back.get(to, 0)) for to in sorted(set(firsts) | set(back)) if firsts.get(to, 0) != back.get(to, 0)]
    assert all(code < 0x10000 for _, code in others)
    return out + u16(len(others)) + b''.join(u16(to) + u16(code) for to, code in others)


def eight_bit_section():
    out = b''
    for charset in EIGHT_BIT:
        rows = each(['hex(convert(char(n using %s) using ucs2))' % charset], 'n < 256')
        assert len(rows) == 256
        codes = [int(to or '0', 16) for _, to in rows]
        out += b''.join(u16(0 if to == 0x3F and n != 0x3F else to) for n, to in enumerate(codes))
        # Nothing else comes back. (The server's armscii8 has six signs of ASCII twice and takes the other ones.)
        back = each(['hex(convert(char(n using ucs2) using %s))' % charset], 'n not between 0xD800 and 0xDFFF')
        for n, to in back:
            assert to == '3F' or int(n) < 0x80 or codes.index(int(n)) == int(to, 16), (charset, n, to)
    return out


def case_section(charset):
    """Letters and their capitals, then letters and their small ones: number of pairs, codes of three bytes."""
    answers = chars(charset, ['hex(upper(%s))', 'hex(lower(%s))'])
    out = b''
    for column in (0, 1):
        pairs = [(code, int(a[column], 16)) for code, a in sorted(answers.items())
                 if a[column] and int(a[column], 16) != code]
        out += u16(len(pairs))
        for code, other in pairs:
            # Where the other one is longer, the server leaves the letter as it is in all that matters: a column's length.
            out += code.to_bytes(3, 'big') + other.to_bytes(3, 'big')
    return out


# ------------------------------------------------------------------------------------------------ collations
def weights_of(text):
    return [int(text[i:i + 4], 16) for i in range(0, len(text), 4)]


# Where contractions were looked for: Latin, combining marks, Arabic, Sinhala letters, every pair of them.
LETTERS = ('n between 0x41 and 0x7A or n between 0xC0 and 0x24F or n between 0x300 and 0x36F or n between 0x600 and 0x6FF '
           'or n between 0xD80 and 0xDFF or n between 0x1E00 and 0x1EFF')


def uca_section():
    """For each language: number in utf8, number of characters, these with the number of weights and the weights, number of
    pairs, these with their only weight."""
    languages = ask("select id, collation_name from information_schema.collations where character_set_name = 'utf8' "
                    "and id between 193 and 215 and id <> 214 order by id")
    out = bytes([len(languages)])
    ask('use %s; create table c (s char(1) character set utf8) engine=myisam select convert(char(n using ucs2) using utf8) s '
        'from n where %s' % (SCRATCH, LETTERS))
    for number, name in languages:
        char = 'convert(char(n using ucs2) using utf8)'
        weight = 'weight_string(%s collate %s)' % (char, name)
        other = each(['hex(%s)' % weight], 'n not between 0xD800 and 0xDFFF and %s <> weight_string(%s collate utf8_unicode_ci)'
                     % (weight, char))
        out += u16(int(number)) + u16(len(other))
        for n, text in other:
            ws = weights_of(text)
            out += u16(int(n)) + bytes([len(ws)]) + b''.join(map(u16, ws))
        pairs = ask('use %s; create temporary table a engine=myisam select s, weight_string(s collate %s) w from c; '
                    'create temporary table b engine=myisam select * from a; '
                    'select hex(convert(a.s using ucs2)), hex(convert(b.s using ucs2)), '
                    'hex(weight_string(concat(a.s, b.s) collate %s)) w from a, b '
                    'where weight_string(concat(a.s, b.s) collate %s) <> concat(a.w, b.w)' % (SCRATCH, name, name, name))
        out += u16(len(pairs))
        for first, second, text in sorted(pairs):
            ws = weights_of(text)
            assert len(ws) == 1
            out += u16(int(first, 16)) + u16(int(second, 16)) + u16(ws[0])
    return out


def wide_section(charset, collation):
    """Weights by code from 0x8000 on, as differences to the one before; 0: no character."""
    found = chars(charset, ['hex(weight_string(%%s collate %s))' % collation])
    out, last = b'', 0
    for code in range(0x8000, 0x10000):
        weight = int(found[code][0], 16) if code in found else 0
        out += u16((weight - last) & 0xFFFF)
        last = weight
    return out


def german2_section():
    """Two weights of each byte, the second one 0 where there is none."""
    out = b''
    for n, text in each(['hex(weight_string(convert(unhex(lpad(hex(n), 2, 0)) using latin1) collate latin1_german2_ci))'], 'n < 256'):
        out += bytes.fromhex(text).ljust(2, b'\0')
    assert len(out) == 512
    return out


def czech_section():
    """latin2: four weights of each byte and of ch, Ch, cH, CH, 0 where a level ignores it, 2 where it ends a word.
    cp1250: two weights of each. All zeros: the two letters do not contract."""
    pairs = ['6368', '4368', '6348', '4348']

    def ask_weights(charset, collation):
        expression = 'hex(weight_string(convert(unhex(%%s) using %s) collate %s))' % (charset, collation)
        texts = [row[1] for row in each([expression % 'lpad(hex(n), 2, 0)'], 'n < 256')]
        return texts + [ask('select ' + expression % ("'%s'" % pair))[0][0] for pair in pairs]

    out = b''
    for text in ask_weights('latin2', 'latin2_czech_cs'):
        # Each level ends with 01, the last one with 00.
        levels = bytes.fromhex(text)[:-1].split(b'\x01')
        assert len(levels) == 4
        if not any(levels):
            levels = [b'\x02'] * 4
        out += bytes(4) if len(levels[0]) > 1 else b''.join(level or b'\0' for level in levels)
    for text in ask_weights('cp1250', 'cp1250_czech_cs'):
        out += bytes(2) if len(text) > 4 else bytes.fromhex(text)
    assert len(out) == 260 * 6
    return out


# ------------------------------------------------------------------------------------------------ what the tests expect
ALL_EAST_ASIAN = EAST_ASIAN + ('sjis',)


def sample_texts(charset, language, rng):
    """Texts out of few characters, so that many are nearly equal."""
    if charset in ALL_EAST_ASIAN:
        codes = [code for code in range(0x8000, 0x10000) if code & 0xFF != 0xFF and charset != 'sjis' and is_char(charset, code)]
        wide = [rng.choice(codes) for _ in range(6)]
        if charset in ('ujis', 'eucjpms'):
            wide += [0x8FB0A1, 0x8EB1]
        letters = [b'a', b'A', b'[', b']', b'\\', b' ', b'z'] + [c.to_bytes((c.bit_length() + 7) // 8, 'big') for c in wide]
    elif charset in ('latin1', 'latin2', 'cp1250', 'tis620'):
        letters = [bytes([b]) for b in {
            'latin1': b'aAeEsS \xE4\xC4\xDF\xF6\xFC\xE6y\xFF', 'latin2': b'aAcChH  \xE1\xE8-1b\t',
            'cp1250': b'aAcChH  \xE1\xE8-1b\x01', 'tis620': b'\xE0\xE3\xA1\xA2\xCE\xCF\xE7\xE8\xEC\xE9Aa ',
        }[charset]]
    else:
        ascii_letters = 'aAcChHlLnNjJdDzZyYiIuUvVsSt '
        own = [chr(c) for c in language]
        letters = [c.encode('utf-8') for c in list(ascii_letters) + own + own]
    return [b''.join(rng.choice(letters) for _ in range(rng.randint(1, 5))) for _ in range(2)]


def samples():
    """src/collation/tests/packed.tsv: collation, a, b, STRCMP(a, b), a LIKE b, WEIGHT_STRING(a)."""
    rng = random.Random(5624)
    wanted = ask("select id, collation_name, character_set_name from information_schema.collations where "
                 "collation_name in ('latin1_german2_ci', 'latin2_czech_cs', 'cp1250_czech_cs', 'tis620_thai_ci') "
                 "or character_set_name in ('%s') and collation_name not like '%%bin' "
                 "or character_set_name in ('utf8', 'utf8mb4', 'ucs2', 'utf16', 'utf32') and (id between 101 and 122 or id = 124 "
                 "or id between 129 and 149 or id = 151 or id between 161 and 181 or id = 183 or id between 193 and 213 or id = 215 "
                 "or id between 225 and 245 or id = 247) and id <> 101 order by id" % "', '".join(ALL_EAST_ASIAN[:-1]))
    out = []
    for number, name, charset in wanted:
        unicode = charset.startswith('u') and charset != 'ujis'
        language = []
        if unicode:
            utf8_name = 'utf8' + name[name.index('_'):]
            language = [int(n) for n, _ in each(['1'], 'n not between 0xD800 and 0xDFFF and weight_string(convert(char(n using ucs2) '
                        'using utf8) collate %s) <> weight_string(convert(char(n using ucs2) using utf8) collate utf8_unicode_ci)'
                        % utf8_name)]
        sql = []
        for _ in range(40 if charset not in ('utf8mb4', 'ucs2', 'utf16', 'utf32') else 8):
            a, b = sample_texts(charset, language, rng)
            form = 'convert(convert(0x%%s using %s) using %s)' % ('utf8' if unicode else charset, charset)
            a, b = form % a.hex(), form % b.hex()
            sql.append('select hex(%s), hex(%s), strcmp(%s collate %s, %s collate %s), %s like %s collate %s, '
                       'hex(weight_string(%s collate %s))' % (a, b, a, name, b, name, a, b, name, a, name))
        out += ['\t'.join([number] + row) + '\n' for row in ask('; '.join(sql))]
    with open(os.path.join(HERE, '..', 'src', 'collation', 'tests', 'packed.tsv'), 'w', encoding='ascii') as f:
        f.writelines(out)


def main():
    numbers()
    sections = [('charset.' + name, charset_section(name)) for name in EAST_ASIAN]
    sections += [('charset.8bit', eight_bit_section())]
    sections += [('case.' + name, case_section(name)) for name in EAST_ASIAN]
    sections += [('collation.uca', uca_section()), ('collation.gbk', wide_section('gbk', 'gbk_chinese_ci')),
                 ('collation.big5', wide_section('big5', 'big5_chinese_ci')), ('collation.german2', german2_section()),
                 ('collation.czech', czech_section())]
    samples()
    ask('drop database %s' % SCRATCH)
    packed.put(dict(sections))


if __name__ == '__main__':
    main()
