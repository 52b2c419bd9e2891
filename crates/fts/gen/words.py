#!/usr/bin/env python3
"""Writes src/word_class/tables.rs: which characters of each character set belong to a word, as a running MySQL 5.6.24 splits
texts with one of each between letters. Needs Python 3, the stock client and the server's socket; the server must be started
with --innodb-ft-cache-size=80000000, or words leave the cache that is read here:

    python3 gen/words.py /path/to/socket
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SCRATCH = 'vaquita_words'
OF_UNICODE = ('utf8', 'utf8mb4', 'ucs2', 'utf16', 'utf16le', 'utf32', 'binary',
              'big5', 'cp932', 'eucjpms', 'euckr', 'gb2312', 'gbk', 'sjis', 'ujis')
WORD_OF_ASCII = {n for n in range(0x80) if chr(n).isalnum() or chr(n) == '_'}


def ask(sql):
    command = ['mysql', '-uroot', '-S', sys.argv[1], '--default-character-set=latin1', '-N', '--batch']
    done = subprocess.run(command, input=sql.encode('ascii'), capture_output=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.decode()[-500:])
    return [line.split('\t') for line in done.stdout.decode('latin1').split('\n')[:-1]]


def words(charset, characters):
    """Which of the characters, given as bytes by number, are in a word: `ab.cd` with one of them is a word, or two that are
    too short to be kept."""
    ask('drop database if exists %s; create database %s; use %s; set global innodb_ft_aux_table = default; '
        'create table w (FTS_DOC_ID bigint unsigned not null primary key, t varchar(20) character set %s, fulltext key (t));'
        % (SCRATCH, SCRATCH, SCRATCH, charset))
    numbers = sorted(characters)
    for start in range(0, len(numbers), 4000):
        rows = ("(%d, _%s x'6162%s6364')" % (n, charset, characters[n].hex()) for n in numbers[start:start + 4000])
        ask('use %s; insert into w values %s;' % (SCRATCH, ', '.join(rows)))
    found = ask("set global innodb_ft_aux_table = '%s/w'; "
                'select doc_id from information_schema.innodb_ft_index_cache;' % SCRATCH)
    return {int(row[0]) for row in found}


def ranges(numbers):
    found = []
    for n in sorted(numbers):
        if found and found[-1][1] == n - 1:
            found[-1][1] = n
        else:
            found.append([n, n])
    return found


def main():
    bmp = {n: chr(n).encode() for n in range(1, 0x10000) if not 0xD800 <= n < 0xE000}
    out = ['//! Written by `gen/words.py`, which asks a MySQL 5.6.24.', '',
           '/// Characters of words by Unicode number: from, to.', '#[rustfmt::skip]']
    unicode = ranges(words('utf8', bmp))
    out.append('pub(super) static UNICODE: [(u16, u16); %d] = [' % len(unicode))
    line = '   '
    for first, last in unicode:
        item = ' (0x%04X, 0x%04X),' % (first, last)
        if len(line + item) > 108:
            out.append(line)
            line = '   '
        line += item
    out += [line, '];', '',
            '/// Bytes 0x80 to 0xFF of the other character sets that are in words: bit n of byte m is 0x80 + 8 * m + n.',
            '#[rustfmt::skip]']
    sets = []
    for (charset,) in ask('select character_set_name from information_schema.character_sets order by 1'):
        if charset in OF_UNICODE:
            continue
        found = words(charset, {n: bytes([n]) for n in range(1, 256)})
        if {n for n in found if n < 0x80} != WORD_OF_ASCII and charset != 'swe7':
            sys.exit('%s has other letters in the place of ASCII' % charset)
        sets.append((charset, found))
    out.append('pub(super) static HIGH: [(&str, [u8; 16]); %d] = [' % len(sets))
    for charset, found in sets:
        bits = [sum(1 << n for n in range(8) if 0x80 + 8 * m + n in found) for m in range(16)]
        out.append('    ("%s", [%s]),' % (charset, ', '.join('0x%02X' % byte for byte in bits)))
    swe7 = sorted(dict(sets)['swe7'] - WORD_OF_ASCII)
    out += ['];', '', '/// Letters of `swe7` in the place of signs of ASCII.',
            'pub(super) static SWE7: [u8; %d] = [%s];' % (len(swe7), ', '.join('0x%02X' % n for n in swe7)), '']
    ask('set global innodb_ft_aux_table = default; drop database %s' % SCRATCH)
    with open(os.path.join(HERE, '../src/word_class/tables.rs'), 'w') as file:
        file.write('\n'.join(out))


main()
