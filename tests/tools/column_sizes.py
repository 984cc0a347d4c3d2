"""Bytes a launch of each column of a trace, plain and compressed by itself with several zstd levels; and of
the chunks in which at least 9 of 10 records are of one kind, replayed or eager, their columns' bytes over these.
Usage: column_sizes.py TRACE   (needs zstandard and xxhash; the build folder's second_reader_venv has
them once the tests ran)"""
import collections
import os
import sys

import zstandard

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "trace"))
import second_reader as reader  # noqa: E402

LEVELS = (1, 3, 9)


def packed_fields(data):
    """(field number, bytes) of a message's length-delimited fields."""
    at = 0
    while at < len(data):
        key, at = reader.varint(data, at)
        if key & 7 == 2:
            size, at = reader.varint(data, at)
            yield key >> 3, data[at:at + size]
            at += size
        elif key & 7 == 1:
            at += 8
        else:
            _, at = reader.varint(data, at)


def replayed_and_eager(chunk):
    """Records of a columns frame by what launched them: a target is 2 x site or 2 x graph + 1."""
    records = chunk.get("records", {})
    targets = reader.sums(records.get("group_targets", []), reader.MASK32)
    count = len(records.get("durations_ns", []))
    groups = reader.sums(records.get("groups") or [0] * count, reader.MASK32)
    replayed = sum(targets[group] % 2 for group in groups)
    return replayed, count - replayed


def main(path):
    data = open(path, "rb").read()
    names = {16: "Launches", 17: "Records"}
    columns, heads, frames, launches, offset = collections.defaultdict(list), 0, 0, 0, 0
    pure = {"replayed": [0, 0, 0], "eager": [0, 0, 0]}  # bytes, records of the kind, others
    while offset < len(data):
        content, size = reader.frame_at(data, offset)
        offset += size
        fields = list(packed_fields(content))
        if not any(number in names for number, _ in fields):
            heads += size
            launches += reader.parse("Chunk", content).get("statistics", {}).get("record_count", 0)
            continue
        frames += size
        replayed, eager = replayed_and_eager(reader.parse("Chunk", content))
        for kind, most, others in (("replayed", replayed, eager), ("eager", eager, replayed)):
            if most >= 9 * others:
                pure[kind] = [sum(pair) for pair in zip(pure[kind], (size, most, others))]
        for number, message in fields:
            for field, column in packed_fields(message):
                name = reader.SCHEMA[names[number]][field][0]
                columns[f"{names[number]}.{name}"].append(column)
    print(f"{launches} records, {len(data) / launches:.3f} bytes each: "
          f"heads {heads / launches:.3f}, columns {frames / launches:.3f}")
    for kind, (size, most, others) in pure.items():
        if most:
            print(f"{kind}: {most} records (and {others} others) in {size} bytes of columns: {size / most:.3f} each")
    print("| column | plain | " + " | ".join(f"zstd-{level}" for level in LEVELS) + " |")
    for name, chunks in columns.items():
        sizes = [sum(len(zstandard.ZstdCompressor(level=level).compress(chunk)) for chunk in chunks)
                 for level in LEVELS]
        row = [sum(map(len, chunks)), *sizes]
        print(f"| {name} | " + " | ".join(f"{size / launches:.4f}" for size in row) + " |")


if __name__ == "__main__":
    main(sys.argv[1])
