#!/usr/bin/env python3
"""Writes the character tables of this crate. Run it from anywhere; it needs nothing but Python 3.

  src/collation/general_ci.rs   weights of utf8_general_ci, utf8mb4_general_ci, ucs2/utf16/utf32_general_ci
  src/collation/latin.rs        weights of the 8-bit collations
  src/charset/sjis.rs           Shift_JIS to Unicode
  src/charset/eight_bit.rs      8-bit character sets to Unicode
  src/filename/pairs.rs         two-character codes of table names on disk (from filename-charset.tsv)
  collation.8bit                of src/packed/tables.bin: other 8-bit collations (from eight-bit-orders.tsv)

Everything follows from the Unicode character database that Python carries, from Python's codecs, and from the rules
MySQL's manual publishes. Where a real MySQL 5.6.24 answers differently (WEIGHT_STRING(), CONVERT()), the difference
is listed here with its reason.
"""
import os
import unicodedata

import packed

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.join(HERE, '..', 'src')
OLD = unicodedata.ucd_3_2_0


def write(path, doc, body):
    with open(os.path.join(SRC, path), 'w', encoding='utf-8') as f:
        f.write('//! %s\n//!\n//! Written by `gen/tables.py`.\n\n%s' % (doc, body))


def numbers(values, fmt, per_line):
    lines = [values[i:i + per_line] for i in range(0, len(values), per_line)]
    return ''.join('    %s,\n' % ', '.join(fmt % v for v in line) for line in lines)


# ------------------------------------------------------------------------------------------------ *_general_ci
# A character's weight is the simple upper case of its base letter (first character of the canonical decomposition,
# taken repeatedly), by Unicode 3.0. Python keeps 3.2; the cased letters added since are taken out by hand.
ADDED_LATER = (set(range(0x220, 0x221)) | set(range(0x3D8, 0x3DA)) | {0x3F4, 0x3F5} | set(range(0x48A, 0x48C))
               | {0x4C5, 0x4C6, 0x4C9, 0x4CA, 0x4CD, 0x4CE} | set(range(0x500, 0x510)))

EXCEPTIONS = {
    0x00DF: 0x0053,  # sharp s sorts as S: no simple upper case, the collation's authors chose its first letter
    0x0419: 0x0419,  # Cyrillic short I is a letter of its own, not I with a breve ...
    0x0439: 0x0419,  # ... in both cases
    0x03F2: 0x03A3,  # lunate sigma: upper case was capital sigma before Unicode 4.0 gave it a capital of its own
}

# Blocks with a table; every other character weighs its own code.
BLOCKS = (0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x1E, 0x1F, 0x21, 0x24, 0xFF)


def old_assigned(c):
    return OLD.category(chr(c)) != 'Cn' and c not in ADDED_LATER


def general_weight(c):
    if c in EXCEPTIONS:
        return EXCEPTIONS[c]
    if c >> 8 not in BLOCKS or not old_assigned(c):
        return c
    base = chr(c)
    while OLD.category(base).startswith('L'):
        parts = OLD.decomposition(base).split()
        if len(parts) < 2 or parts[0].startswith('<'):
            break
        base = chr(int(parts[0], 16))
    upper = base.upper()
    if len(upper) != 1 or not old_assigned(ord(upper)) or ord(upper) > 0xFFFF:
        upper = base
    return ord(upper)


def general_ci():
    changed = sorted({c >> 8 for c in range(0x10000) if not 0xD800 <= c < 0xE000 and general_weight(c) != c})
    assert changed == list(BLOCKS), changed
    page_of = [BLOCKS.index(h) if h in BLOCKS else 255 for h in range(256)]
    body = '/// Page of a character\'s high byte in [`PAGES`]; 255: the character weighs its own code.\n'
    body += '#[rustfmt::skip]\npub(super) static PAGE_OF: [u8; 256] = [\n%s];\n\n' % numbers(page_of, '%d', 32)
    body += '/// Weights by page and low byte.\n#[rustfmt::skip]\n'
    body += 'pub(super) static PAGES: [[u16; 256]; %d] = [\n' % len(BLOCKS)
    for h in BLOCKS:
        body += '    [\n%s    ],\n' % numbers([general_weight(h << 8 | l) for l in range(256)], '0x%04X', 16)
    body += '];\n'
    write('collation/general_ci.rs', 'Weights of the `*_general_ci` collations of Unicode character sets.', body)


# ------------------------------------------------------------------------------------------------ 8-bit collations
def swedish():
    """Letters weigh their upper-case base letter; the Swedish letters follow Z: Å 5B, Ä Æ 5C, Ö 5D; Ü is Y; Ð is D.
    Ø only folds case; ß, þ, × and ÷ have no base. ÿ keeps its code (the upper case is not in the character set)."""
    special = {'Å': 0x5B, 'Ä': 0x5C, 'Æ': 0x5C, 'Ö': 0x5D, 'Ü': 0x59, 'Ð': 0x44, 'Ø': 0xD8}
    out = []
    for c in range(256):
        ch = chr(c)
        if 0x80 <= c < 0xC0 or ch in '×÷ßÿ':
            out.append(c)
            continue
        up = ch.upper()
        base = unicodedata.normalize('NFD', up)[0]
        out.append(special.get(up, ord(base)))
    return out


def german1():
    """DIN 5007-1: every letter as its base letter. Ø is O, Æ A, ß S; ð, þ and ÿ only fold case or not at all."""
    special = {'Æ': 'A', 'Ø': 'O', 'ß': 'S'}
    out = []
    for c in range(256):
        ch = chr(c)
        up = ch if 0x80 <= c < 0xC0 or ch in '×÷ßÿ' else ch.upper()
        up = up if len(up) == 1 and ord(up) < 256 else ch
        base = special.get(up) or (unicodedata.normalize('NFD', up)[0] if c >= 0xC0 and ch != 'ÿ' else up)
        out.append(ord(base))
    return out


def danish():
    """As german1, but Æ and Ä 5B, Ø and Ö 5C, Å 5D follow Z; Ü is Y; Ð is D; ß is no S."""
    special = {'Å': 0x5D, 'Ä': 0x5B, 'Æ': 0x5B, 'Ö': 0x5C, 'Ø': 0x5C, 'Ü': 0x59, 'Ð': 0x44}
    out = []
    for c, weight in enumerate(german1()):
        up = chr(c).upper() if chr(c) not in 'ßÿ' else chr(c)
        out.append(special.get(up, c if chr(c) == 'ß' else weight))
    return out


def latin1_general_order():
    """Every accented letter after its base letter, small letters after capital ones; signs around the letters in code
    order. Æ follows A, Ð follows D, Ø follows O; ß S, Þ and ÿ have their places, too."""
    letters = ['A', 'À', 'Á', 'Â', 'Ã', 'Ä', 'Å', 'Æ', 'B', 'C', 'Ç', 'D', 'Ð', 'E', 'È', 'É', 'Ê', 'Ë', 'F', 'G', 'H', 'I',
               'Ì', 'Í', 'Î', 'Ï', 'J', 'K', 'L', 'M', 'N', 'Ñ', 'O', 'Ò', 'Ó', 'Ô', 'Õ', 'Ö', 'Ø', 'P', 'Q', 'R', 'S', 'ß',
               'T', 'U', 'Ù', 'Ú', 'Û', 'Ü', 'V', 'W', 'X', 'Y', 'Ý', 'ÿ', 'Z', 'Þ']
    order = [chr(c) for c in range(0x41)]
    for ch in letters:
        order += [ch] if ch in 'ßÿ' else [ch, ch.lower()]
    order += list('[\\]^_`{|}~') + ['×', '÷', '\x7f']
    order += [chr(c) for c in range(0x80, 0xC0)]
    assert len(order) == 256
    return order


def latin1_general_cs():
    rank = {ch: i for i, ch in enumerate(latin1_general_order())}
    return [rank[chr(c)] for c in range(256)]


def latin1_general_ci():
    """Small letters as capital ones."""
    rank = {ch: i for i, ch in enumerate(latin1_general_order())}
    return [rank[chr(c).upper() if chr(c) not in 'ßÿµ' else chr(c)] for c in range(256)]


def spanish():
    """Letters as their base letters; ñ is a letter of its own, Æ is A, Ð D, Ø O, ÿ Y; ß and þ have their places."""
    rank = {ch: i for i, ch in enumerate(latin1_general_order())}
    special = {'Æ': 'A', 'Ð': 'D', 'Ø': 'O', 'Ñ': 'Ñ', 'ÿ': 'Y'}
    out = []
    for c in range(256):
        ch = chr(c)
        up = ch if ch in 'ßÿµ' else ch.upper()
        base = special.get(up) or (unicodedata.normalize('NFD', up)[0] if c >= 0xC0 else up)
        out.append(rank[base])
    return out


def ascii_general():
    return [c - 32 if 0x61 <= c <= 0x7A else c for c in range(256)]


def latin():
    body = ''
    tables = (('latin1_german1_ci', german1()), ('latin1_swedish_ci', swedish()), ('latin1_danish_ci', danish()),
              ('latin1_general_ci', latin1_general_ci()), ('latin1_general_cs', latin1_general_cs()),
              ('latin1_spanish_ci', spanish()), ('ascii_general_ci', ascii_general()))
    for name, table in tables:
        body += '/// Weights of `%s`.\n' % name
        body += '#[rustfmt::skip]\npub(super) static %s: [u8; 256] = [\n%s];\n\n' % (name.upper(), numbers(table, '0x%02X', 32))
    write('collation/latin.rs', 'Weights of 8-bit collations.', body.rstrip('\n') + '\n')


def orders():
    """Collations whose order follows from no published rule: as observed. Their number; of each its own, and the ranks of all
    bytes."""
    tables = []
    with open(os.path.join(HERE, 'eight-bit-orders.tsv'), encoding='ascii') as f:
        for line in f:
            if line.startswith('#'):
                continue
            number, name, order = line.rstrip('\n').split('\t')
            table, rank = [None] * 256, 0
            for group in order.split(' '):
                if '-' in group:
                    first, last = (int(x, 16) for x in group.split('-'))
                    classes = [[byte] for byte in range(first, last + 1)]
                else:
                    classes = [[int(x, 16) for x in group.split('+')]]
                for members in classes:
                    for byte in members:
                        assert table[byte] is None
                        table[byte] = rank
                    rank += 1
            assert None not in table, name
            tables.append(bytes([int(number)]) + bytes(table))
    packed.put({'collation.8bit': bytes([len(tables)]) + b''.join(tables)})



# ------------------------------------------------------------------------------------------------ 8-bit sets
# MySQL's name, Python's codec, what MySQL has otherwise (0: no character).
EIGHT_BIT = (
    ('dec8', 'latin-1', {0xA4: 0, 0xA6: 0, 0xA8: 0xA4, 0xAC: 0, 0xAD: 0, 0xAE: 0, 0xAF: 0, 0xB4: 0, 0xB8: 0, 0xBE: 0, 0xD0: 0,
                         0xD7: 0x152, 0xDD: 0x178, 0xDE: 0, 0xF0: 0, 0xF7: 0x153, 0xFD: 0xFF, 0xFE: 0, 0xFF: 0}),
    ('cp850', 'cp850', {}),
    ('hp8', 'hp-roman8', {}),
    ('koi8r', 'koi8-r', {}),
    ('latin2', 'iso8859-2', {}),
    ('hebrew', 'iso8859-8', {0xAF: 0x203E}),
    ('tis620', 'tis-620', {}),
    ('koi8u', 'koi8-u', {0x95: 0x2022}),
    # The first edition of ISO 8859-7.
    ('greek', 'iso8859-7', {0xA1: 0x2BD, 0xA2: 0x2BC, 0xA4: 0, 0xA5: 0, 0xAA: 0}),
    ('cp1250', 'cp1250', {}),
    ('latin5', 'iso8859-9', {}),
    ('cp866', 'cp866', {0xFC: 0x207F, 0xFD: 0xB2}),
    ('macce', 'mac_latin2', {}),
    ('macroman', 'mac_roman', {}),
    ('cp852', 'cp852', {}),
    ('latin7', 'iso8859-13', {}),
    ('cp1251', 'cp1251', {}),
    # Before Microsoft filled the gaps.
    ('cp1256', 'cp1256', {0x8A: 0, 0x8F: 0, 0x98: 0, 0x9A: 0, 0x9F: 0, 0xAA: 0, 0xC0: 0, 0xFF: 0}),
    ('cp1257', 'cp1257', {}),
)


def eight_bit():
    body = ''
    for name, codec, other in EIGHT_BIT:
        codes = []
        for byte in range(0x80, 0x100):
            try:
                code = ord(bytes([byte]).decode(codec))
            except UnicodeDecodeError:
                code = 0
            codes.append(other.get(byte, code))
        body += '/// Bytes 0x80 and above of `%s`; 0: no character.\n#[rustfmt::skip]\n' % name
        body += 'pub(super) static %s: [u16; 128] = [\n%s];\n\n' % (name.upper(), numbers(codes, '0x%04X', 16))
    write('charset/eight_bit.rs', '8-bit character sets.', body.rstrip('\n') + '\n')


# ------------------------------------------------------------------------------------------------ sjis
def sjis():
    """JIS X 0208 through Python's shift_jis, without vendor extensions, as MySQL's `sjis` (those are in cp932).
    One row per lead byte: the characters of trail bytes 0x40..0x7E and 0x80..0xFC, U+FFFD where there is none.
    Exception: MySQL maps 0x815F (full-width reverse solidus) to U+005C."""
    body = '/// Rows of lead bytes 0x81..=0x9F, 0xE0..=0xFC; 188 characters each: trail bytes 0x40..=0x7E, 0x80..=0xFC.\n'
    body += '#[rustfmt::skip]\npub(super) static ROWS: [&str; 60] = [\n'
    for lead in list(range(0x81, 0xA0)) + list(range(0xE0, 0xFD)):
        row = ''
        for trail in list(range(0x40, 0x7F)) + list(range(0x80, 0xFD)):
            try:
                ch = bytes([lead, trail]).decode('shift_jis')
            except UnicodeDecodeError:
                ch = '\uFFFD'
            if (lead, trail) == (0x81, 0x5F):
                ch = '\\'
            row += ch
        assert len(row) == 188
        if set(row) == {'\uFFFD'}:
            row = ''
        body += '    "%s",\n' % row.replace('\\', '\\\\').replace('"', '\\"')
    body += '];\n'
    write('charset/sjis.rs', 'Two-byte characters of Shift_JIS.', body)


# ------------------------------------------------------------------------------------------------ file names
def filename():
    runs = []
    with open(os.path.join(HERE, 'filename-charset.tsv'), encoding='ascii') as f:
        for line in f:
            code, pair = line.rstrip('\n').split('\t')
            code = int(code, 16)
            assert len(pair) == 3 and pair[0] == '@'
            if runs and code == runs[-1][0] + len(runs[-1][1]) // 2:
                runs[-1][1] += pair[1:]
            else:
                runs.append([code, pair[1:]])
    body = '/// Runs of characters: the first code, then the two characters of each, in order.\n'
    body += '#[rustfmt::skip]\npub(super) static RUNS: [(u16, &str); %d] = [\n' % len(runs)
    for code, pairs in runs:
        pieces = [pairs[i:i + 100] for i in range(0, len(pairs), 100)]
        body += '    (0x%04X, "%s"),\n' % (code, '\\\n        '.join(pieces))
    body += '];\n'
    write('filename/pairs.rs', 'Two-character codes of letters in file names.', body)


if __name__ == '__main__':
    general_ci()
    latin()
    orders()
    eight_bit()
    sjis()
    filename()
