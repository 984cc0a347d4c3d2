"""records_test.py KERNEL_LAYOUT: the layout that records.py reads is the header's, field by field."""
import struct
import subprocess
import sys

import records


def main():
    header = {}
    for line in subprocess.check_output([sys.argv[1]], text=True).splitlines():
        name, offset, size = line.split()
        header[name] = (int(offset), int(size))
    _, size = header.pop("sizeof")
    assert size == records.KERNEL_BYTES, (size, records.KERNEL_BYTES)
    unread = {"padding", "padding3", "reserved0"}  # the only fields that say nothing
    ours = {name: (offset, struct.calcsize("<" + form)) for name, offset, form in records.KERNEL}
    assert ours == {k: v for k, v in header.items() if k not in unread}, (
        set(ours.items()) ^ {(k, v) for k, v in header.items() if k not in unread})
    # A record whose bytes all differ comes back byte for byte.
    data = bytearray(range(records.KERNEL_BYTES))
    struct.pack_into("<I", data, 0, records.KIND_CONCURRENT_KERNEL)
    record = records.decode(bytes(data), 0)
    for name, (offset, size) in ours.items():
        assert record[name].to_bytes(size, "little") == data[offset:offset + size], name


if __name__ == "__main__":
    main()
