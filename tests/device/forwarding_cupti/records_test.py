"""records_test.py RECORD_LAYOUT: the layouts that records.py reads are the header's, field by field."""
import collections
import struct
import subprocess
import sys

import records


def main():
    header = collections.defaultdict(dict)
    for line in subprocess.check_output([sys.argv[1]], text=True).splitlines():
        record, name, offset, size = line.split()
        header[record][name] = (int(offset), int(size))
    assert set(header) == set(records.BYTES), set(header) ^ set(records.BYTES)
    for record, fields in header.items():
        record_bytes, layout = records.BYTES[record]
        assert fields.pop("sizeof") == (0, record_bytes), (record, record_bytes)
        ours = {name: (offset, struct.calcsize("<" + form)) for name, offset, form in layout}
        theirs = {k: v for k, v in fields.items() if k not in records.UNREAD}
        assert ours == theirs, (record, set(ours.items()) ^ set(theirs.items()))
        # A record whose bytes all differ comes back byte for byte.
        data = bytearray(range(record_bytes))
        kind = next(k for k, v in records.LAYOUTS.items() if v is layout)
        struct.pack_into("<I", data, 0, kind)
        decoded = records.decode(bytes(data), 0)
        for name, (offset, size) in ours.items():
            assert decoded[name].to_bytes(size, "little") == data[offset:offset + size], name


if __name__ == "__main__":
    main()
