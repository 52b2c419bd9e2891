#!/usr/bin/env python3
"""Writes the tables of this crate that follow from Unicode's collation tables. Needs Python 3 and the folder with
allkeys-5.2.0.txt and allkeys-9.0.0.txt (they are in the PyPI package pyuca 1.2):

    pip download --no-deps pyuca==1.2 && unzip pyuca-1.2-*.whl && python3 gen/unicode.py pyuca

  uca.400, uca.520, uca.900   of src/packed/tables.bin: utf8_unicode_ci and utf8mb4_unicode_ci, utf8_unicode_520_ci and
                              utf8mb4_unicode_520_ci, utf8mb4_0900_ai_ci
  src/charset/case/tables.rs  upper and lower case of the three versions

Unicode's data files: Copyright (c) 1991-2017 Unicode, Inc.; used under the Unicode License
(LICENSE-UNICODE beside this file). Where a real MySQL 5.6.24 answers differently, the difference is listed here.
"""
import os
import re
import struct
import sys
import unicodedata

import packed

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.join(HERE, '..', 'src')
NOTE = ('//! Written by `gen/unicode.py` from Unicode\'s data files (Copyright (c) 1991-2017 Unicode, Inc., under\n'
        '//! `gen/LICENSE-UNICODE`).\n\n')


def write(path, doc, body):
    with open(os.path.join(SRC, path), 'w', encoding='utf-8') as f:
        f.write('//! %s\n//!\n%s%s' % (doc, NOTE, body))


def numbers(values, fmt, per_line):
    lines = [values[i:i + per_line] for i in range(0, len(values), per_line)]
    return ''.join('    %s,\n' % ', '.join(fmt % v for v in line) for line in lines)


# ------------------------------------------------------------------------------------------------ collation elements
def allkeys(folder, version):
    """Primary weights that are not zero, by character, and by sequence of characters (contractions)."""
    single, sequences = {}, {}
    with open(os.path.join(folder, 'allkeys-%s.txt' % version), encoding='utf-8') as f:
        for line in f:
            m = re.match(r'([0-9A-F ]+?)\s*;\s*((?:\[[.*][0-9A-F.]+\])+)', line)
            if not m:
                continue
            codes = tuple(int(c, 16) for c in m.group(1).split())
            weights = [int(w, 16) for w in re.findall(r'\[[.*]([0-9A-F]+)', m.group(2))]
            weights = [w for w in weights if w]
            if len(codes) == 1:
                single[codes[0]] = weights
            else:
                sequences[codes] = weights
    return single, sequences


def v520(folder):
    """MySQL knows no contractions here, and at most eight weights of a character (U+FDFA has more)."""
    single, _ = allkeys(folder, '5.2.0')
    return {c: w[:8] for c, w in single.items()}, {}


def v400(folder):
    """The BMP only: MySQL's unicode_ci weighs all other characters 0xFFFD. No contractions."""
    newer, _ = v520(folder)
    weight, own, absent = {}, {}, set()
    with open(os.path.join(HERE, 'ducet-4.0.0.tsv'), encoding='ascii') as f:
        for line in f:
            kind, *fields = line.rstrip('\n').split('\t')
            if kind == 'absent':
                first, last = (int(x, 16) for x in fields)
                absent.update(range(first, last + 1))
            elif kind == 'weight':
                first, last, old = (int(x, 16) for x in fields)
                for i in range(last - first + 1):
                    weight[first + i] = old + i
            elif kind == 'char':
                own[int(fields[0], 16)] = [int(w, 16) for w in fields[1].split()]
    single = {c: [weight[w] for w in ws] for c, ws in newer.items() if c < 0x10000 and c not in absent and c not in own}
    single.update(own)
    return single, {}


def v900(folder):
    return allkeys(folder, '9.0.0')


def table(single, sequences):
    """Weights of ASCII; for each 256 characters the number of their page, or 255; the pages; the pool; the contractions in order,
    each three characters (the last is 0 if there are two) and its place in the pool. A page per 256 characters that has any. An entry: 0 ignorable; below 0x8000 the only weight; 0xFFFF not in the
    table; else 0x8000 and the place in the pool: number of weights (0x100 added if contractions begin with the
    character), weights."""
    starters = {s[0] for s in sequences}
    pool, places = [], {}

    def place(weights, starts):
        entry = (len(weights) + (0x100 if starts else 0), *weights)
        if entry not in places:
            places[entry] = len(pool)
            pool.extend(entry)
        return places[entry]

    def entry(c):
        if c not in single:
            assert c not in starters
            return 0xFFFF
        weights = single[c]
        if c in starters or len(weights) > 1:
            return 0x8000 + place(weights, c in starters)
        return weights[0] if weights else 0

    highs = sorted({c >> 8 for c in single})
    page_of = [highs.index(h) if h in highs else 255 for h in range(highs[-1] + 1)]
    pages = [[entry(h << 8 | low) for low in range(256)] for h in highs]
    found = [(s, place(w, False)) for s, w in sorted(sequences.items())]
    assert len(highs) < 255 and len(pool) < 0x7FFF
    assert all(e in (0, 0xFFFF) or e >= 0x8000 or 0x200 <= e for page in pages for e in page)
    # Nothing in ASCII but single weights and contractions with what is not ASCII.
    assert all(len(single[c]) <= 1 for c in range(0x80))
    ascii_weights = [single[c][0] if single[c] else 0 for c in range(0x80)]

    out = packed.u16s(ascii_weights)
    out += struct.pack('>H', len(page_of)) + bytes(page_of)
    out += struct.pack('>B', len(pages)) + b''.join(packed.u16s(page) for page in pages)
    out += struct.pack('>H', len(pool)) + packed.u16s(pool)
    out += struct.pack('>H', len(found))
    for sequence, at in found:
        codes = (*sequence, 0)[:3]
        out += b''.join(struct.pack('>I', code)[1:] for code in codes) + struct.pack('>H', at)
    return out


# ------------------------------------------------------------------------------------------------ case
# Python's old database is 3.2, MySQL's first one is 3.0: the cased letters added between are taken out.
OLD = unicodedata.ucd_3_2_0
ADDED_LATER = ({0x220, 0x3D8, 0x3D9, 0x3F4, 0x3F5, 0x48A, 0x48B, 0x4C5, 0x4C6, 0x4C9, 0x4CA, 0x4CD, 0x4CE}
               | set(range(0x500, 0x510)))


def simple_case(c, upper, assigned):
    """Mapping to one character; UnicodeData's, as far as both characters were assigned."""
    if c == 0x130 and not upper:
        return 0x69
    ch = chr(c)
    for mapped in ((ch.upper(), ch.title()) if upper else (ch.lower(),)):
        if len(mapped) == 1 and assigned(ord(mapped)):
            return ord(mapped)
        if len(mapped) == 1:
            return c
    return c


def case_runs(assigned, upper, exceptions):
    """(first, last, step, what is added) of characters that follow each other."""
    runs = []
    for c in sorted(c for c in range(0x80, 0x20000) if assigned(c)):
        delta = exceptions.get(c, simple_case(c, upper, assigned)) - c
        if delta == 0:
            continue
        if runs:
            first, last, step, old = runs[-1]
            if old == delta and (first == last and c - last <= 2 or c - last == step):
                runs[-1] = (first, c, c - last, delta)
                continue
        runs.append((c, c, 1, delta))
    return runs


def case(folder):
    keys520, keys900 = (set(allkeys(folder, v)[0]) for v in ('5.2.0', '9.0.0'))
    versions = (
        ('V300', '3.0, BMP only',
         lambda c: c < 0x10000 and OLD.category(chr(c)) != 'Cn' and c not in ADDED_LATER,
         # Lunate sigma: its upper case was capital sigma before Unicode 4.0 gave it a capital of its own.
         {0x3F2: 0x3A3}),
        ('V520', '5.2', lambda c: c in keys520, {}),
        ('V900', '9.0', lambda c: c in keys900, {}),
    )
    body = 'use super::Run;\n'
    for name, version, assigned, exceptions in versions:
        for upper in (True, False):
            runs = case_runs(assigned, upper, exceptions if upper else {})
            body += '\n/// %s case of Unicode %s.\n#[rustfmt::skip]\n' % ('Upper' if upper else 'Lower', version)
            body += 'pub(super) static %s_%s: [Run; %d] = [\n' % ('UPPER' if upper else 'LOWER', name, len(runs))
            cells = ['Run(0x%X, 0x%X, %d, %d)' % r for r in runs]
            body += ''.join('    %s,\n' % ', '.join(cells[i:i + 4]) for i in range(0, len(cells), 4)) + '];\n'
    write('charset/case/tables.rs', 'Upper and lower case.', body)


if __name__ == '__main__':
    folder = sys.argv[1]
    os.makedirs(os.path.join(SRC, 'charset/case'), exist_ok=True)
    packed.put({'uca.400': table(*v400(folder)), 'uca.520': table(*v520(folder)), 'uca.900': table(*v900(folder))})
    case(folder)
