"""The file src/packed/tables.bin: tables by name, each compressed by itself. The generators put theirs into it.

Numbers are big-endian. The file begins with the number of sections and, for each, the length of its name, the name, the
length of its bytes and that of their zlib stream; the streams follow. Sections stand in the order of their names.
"""
import os
import struct
import zlib

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'src', 'packed', 'tables.bin')


def read():
    """Name to bytes of all sections that there are."""
    if not os.path.exists(OUT):
        return {}
    with open(OUT, 'rb') as f:
        data = f.read()
    at, heads = 1, []
    for _ in range(data[0]):
        name = data[at + 1:at + 1 + data[at]].decode()
        at += 1 + data[at]
        heads.append((name, *struct.unpack('>II', data[at:at + 8])))
        at += 8
    sections = {}
    for name, size, packed in heads:
        sections[name] = zlib.decompress(data[at:at + packed])
        assert len(sections[name]) == size, name
        at += packed
    assert at == len(data)
    return sections


def put(new):
    """Puts sections into the file, in the place of those of the same names."""
    head, streams = b'', b''
    sections = sorted({**read(), **new}.items())
    for name, payload in sections:
        stream = zlib.compress(payload, 9)
        head += bytes([len(name)]) + name.encode() + struct.pack('>II', len(payload), len(stream))
        streams += stream
        if name in new:
            print('%-20s %6d bytes, %6d packed' % (name, len(payload), len(stream)))
    with open(OUT, 'wb') as f:
        f.write(bytes([len(sections)]) + head + streams)


def u16s(values):
    values = list(values)
    return struct.pack('>%dH' % len(values), *values)
