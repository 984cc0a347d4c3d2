"""Bytes a launch of each column of a trace, compressed by itself: of the whole trace, and of those chunks in
which at least 9 of 10 records are of one kind, replayed or eager, over the records of that kind. Call times of
formats 1.1 and 1.2 are recoded as format 1.3 has them (proto/FORMAT.md), so that recordings of any age compare.
Usage: column_sizes.py [--level N] TRACE...   (needs zstandard and xxhash; the build folder's
second_reader_venv has them once the tests ran)"""
import argparse
import collections
import os
import sys

import zstandard

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "trace"))
import second_reader as reader  # noqa: E402

MESSAGES = {16: "Launches", 17: "Records", 18: "Operations"}
KINDS = ("all", "replayed", "eager")


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


def coded(values):
    """A packed column of unsigned integers."""
    out = bytearray()
    for value in values:
        while value >= 0x80:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
    return bytes(out)


def zigzag(value):
    value &= reader.MASK64
    return 2 * value if value < 2**63 else 2 * (2**64 - value) - 1


def recoded_calls(launches):
    """{column: bytes} of the call times of a parsed Launches, as format 1.3 codes them."""
    calls = launches["call_ns"]
    gaps, end, stored = {}, 0, []
    for number, (target, enter, call) in enumerate(zip(reader.sums(launches["targets"], reader.MASK32),
                                                       reader.sums(launches["enter_ns"], reader.MASK64), calls)):
        gap = enter - end
        stored.append(zigzag(gap - gaps.get(target % 8192, 0)))
        if number:
            gaps[target % 8192] = gap
        end = enter + call
    return {"enter_gaps_ns": coded(stored), "call_high": coded(call // 128 for call in calls),
            "call_low": coded(call % 128 for call in calls)}


def columns_of(content):
    """{(message, column): bytes} of a columns frame."""
    columns = {}
    for number, message in packed_fields(content):
        for field, data in packed_fields(message):
            columns[MESSAGES[number], reader.SCHEMA[MESSAGES[number]][field][0]] = data
    if ("Launches", "call_ns") in columns:
        del columns["Launches", "call_ns"], columns["Launches", "enter_ns"]
        recoded = recoded_calls(reader.parse("Chunk", content)["launches"])
        columns.update({("Launches", name): data for name, data in recoded.items()})
    return columns


def kind_of(chunk):
    """(kind or None, records of that kind) by what launched them: a target is 2 x site or 2 x graph + 1."""
    records = chunk.get("records", {})
    targets = reader.sums(records.get("group_targets", []), reader.MASK32)
    count = len(records.get("durations_ns", []))
    groups = reader.sums(records.get("groups") or [0] * count, reader.MASK32)
    replayed = sum(targets[group] % 2 for group in groups)
    if count and replayed >= 0.9 * count:
        return "replayed", replayed
    return ("eager", count - replayed) if count and replayed <= 0.1 * count else (None, 0)


class Sizes:
    """Of a trace, by kind of chunk: launches (records of that kind), others (of the other kind), frames (bytes of
    columns frames), packed (bytes of each column, compressed by itself) and plain (not compressed); heads in bytes."""

    def __init__(self, path, level=1):
        with open(path, "rb") as file:
            data = file.read()
        self.path, self.file_bytes, self.heads = path, len(data), 0
        self.plain, self.packed = collections.Counter(), collections.Counter()
        self.launches, self.others, self.frames = (collections.Counter() for _ in range(3))
        offset = 0
        while offset < len(data):
            content, size = reader.frame_at(data, offset)
            offset += size
            chunk = reader.parse("Chunk", content)
            if "launches" in chunk:
                self.add_columns(chunk, content, size, level)
            else:
                self.heads += size
                self.launches["all"] += chunk.get("statistics", {}).get("record_count", 0)

    def add_columns(self, chunk, content, size, level):
        kind, count = kind_of(chunk)
        self.launches[kind] += count
        self.others[kind] += len(chunk.get("records", {}).get("durations_ns", [])) - count
        self.frames[kind] += size
        for name, column in columns_of(content).items():
            compressed = len(zstandard.ZstdCompressor(level=level).compress(column))
            for of in {"all", kind} - {None}:
                self.plain[of, name] += len(column)
                self.packed[of, name] += compressed

    def each(self, kind):
        """Bytes a launch of `kind` in columns."""
        return sum(size for (of, _), size in self.packed.items() if of == kind) / self.launches[kind]


def main(path, level):
    sizes = Sizes(path, level)
    everything = sizes.launches["all"]
    print(f"{path}: {everything} records, {sizes.file_bytes / everything:.3f} bytes each as it is, tables, "
          f"counters and sums {sizes.heads / everything:.3f}")
    present = [kind for kind in KINDS if sizes.launches[kind]]
    for kind in present[1:]:
        print(f"{kind}: {sizes.launches[kind]} records (and {sizes.others[kind]} others) in {sizes.frames[kind]} bytes "
              f"of columns frames: {sizes.frames[kind] / sizes.launches[kind]:.3f} each")
    print("| column | plain | " + " | ".join(present) + " |\n|---|" + "---|" * (1 + len(present)))
    for name in sorted({name for _, name in sizes.packed}):
        row = [sizes.packed[kind, name] / sizes.launches[kind] for kind in present]
        print(f"| {'.'.join(name)} | {sizes.plain['all', name] / everything:.3f} | "
              + " | ".join(f"{value:.3f}" for value in row) + " |")
    print("| all of them | | " + " | ".join(f"{sizes.each(kind):.3f}" for kind in present) + " |\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("traces", nargs="+")
    arguments = parser.parse_args()
    for trace in arguments.traces:
        main(trace, arguments.level)
