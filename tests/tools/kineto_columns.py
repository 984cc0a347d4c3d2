"""What the kernels of a recorded PyTorch (Kineto) trace would cost in the trace format's two large
columns, gaps and durations, with and without predictions: to hold make_trace's launches, and the
format's choices, against real ones. Takes the launches that have most kernels: the graph replays.

Usage: kineto_columns.py TRACE.json.gz   (needs zstandard)"""
import collections
import gzip
import json
import sys

import zstandard


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    return (value << 1) ^ (value >> 63)


def main(path):
    events = [e for e in json.load(gzip.open(path))["traceEvents"] if e.get("cat") == "kernel"]
    events.sort(key=lambda event: float(event["ts"]))
    starts = [round(float(event["ts"]) * 1000) for event in events]
    durations = [round(float(event["dur"]) * 1000) for event in events]
    launches = collections.Counter(event["args"]["correlation"] for event in events)
    most = launches.most_common(1)[0][1]
    node, last = collections.Counter(), collections.defaultdict(lambda: (0, 0))
    plain, predicted = ([], []), ([], [])
    for i, event in enumerate(events):
        launch = event["args"]["correlation"]
        if launches[launch] != most or i == 0:
            continue
        gap, duration = starts[i] - starts[i - 1] - durations[i - 1], durations[i]
        old_gap, old_duration = last[node[launch]]
        last[node[launch]] = gap, duration
        node[launch] += 1
        plain[0].append(varint(zigzag(gap)))
        plain[1].append(varint(zigzag(duration)))
        predicted[0].append(varint(zigzag(gap - old_gap)))
        predicted[1].append(varint(zigzag(duration - old_duration)))
    count = len(plain[0])
    print(f"{path}: {count} kernels in {len(node)} replays")
    for name, columns in (("plain", plain), ("predicted", predicted)):
        data = b"".join(b"".join(column) for column in columns)
        sizes = {level: len(zstandard.ZstdCompressor(level=level).compress(data)) / count
                 for level in (1, 3, 9)}
        print(f"  {name}: {len(data) / count:.3f} raw, " +
              ", ".join(f"zstd-{level} {size:.3f}" for level, size in sizes.items()))


if __name__ == "__main__":
    main(sys.argv[1])
