"""Prints tests/tools/launch_quantiles.h: how long eager launches took on the host and on the GPU in recordings,
as quantiles. Taken from chunks that hold 500 eager launches or more and no replay. Of each site in a chunk the
median is one quantity, the launches' ratios to it are another.
Usage: launch_quantiles.py TRACE...   (needs zstandard and xxhash)"""
import collections
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "trace"))
import second_reader as reader  # noqa: E402

STEPS = 16
TAIL = 0.005  # cut off at either end


def medians_and_ratios(sites, values, medians, ratios):
    by_site = collections.defaultdict(list)
    for site, value in zip(sites, values):
        by_site[site].append(value)
    for of_site in by_site.values():
        if len(of_site) >= 4:
            median = max(statistics.median(of_site), 1)
            medians += [median] * len(of_site)
            ratios += [value / median for value in of_site]


def take(launches, records, found):
    """Launches (id, target, stream, enter, call) and records (id, target, node, ..., start, end) of a chunk."""
    sites = [launch[1] for launch in launches]
    ends = [launch[3] + launch[4] for launch in launches]
    medians_and_ratios(sites[1:], [after[3] - end for end, after in zip(ends, launches[1:])],
                       found["EnterGapNs"], found["EnterGapRatio"])
    medians_and_ratios(sites, [launch[4] for launch in launches], found["CallNs"], found["CallRatio"])
    medians_and_ratios([record[1] for record in records], [record[7] - record[6] for record in records],
                       found["DurationNs"], found["DurationRatio"])
    exits = dict(zip((launch[0] for launch in launches), ends))
    waits = [(record[6] - exits[record[0]], record[6] - before[7])
             for before, record in zip(records, records[1:]) if record[0] in exits]
    least = sorted(wait for wait, _ in waits)[len(waits) // 100]  # the two clocks are not related here
    found["StartDelayNs"] += [wait - least for wait, idle in waits if wait < least + 6000 and idle > 2000]
    found["QueuedGapNs"] += [idle for wait, idle in waits if wait > least + 12000]


def quantile(ordered, q):
    return ordered[min(int(q * len(ordered)), len(ordered) - 1)]


def main(paths):
    found = collections.defaultdict(list)
    launches_seen = 0
    for path in paths:
        trace = reader.Trace(path)
        for _, statistics_of, chunk in trace.chunks:
            targets = reader.sums(chunk.get("launches", {}).get("targets", []), reader.MASK32)
            if len(targets) < 500 or any(target % 2 for target in targets):
                continue
            launches, records, _ = (reader.launches_of(chunk), *reader.records_of(trace, statistics_of, chunk))
            if len(records) >= 500 and not any(record[1] % 2 for record in records):
                launches_seen += len(launches)
                take(launches, records, found)
    print(f"// Printed by tests/tools/launch_quantiles.py from {len(paths)} recorded vLLM servers in examples/ "
          f"({launches_seen:,} eager launches):\n// each value at {TAIL}, 1/{STEPS}, 2/{STEPS}, ..., {1 - TAIL}.\n"
          "#pragma once\n\nnamespace hotproof::tools {\n")
    print(f"constexpr int kQuantiles = {STEPS + 1};")
    for name, values in found.items():
        values.sort()
        row = [quantile(values, min(max(step / STEPS, TAIL), 1 - TAIL)) for step in range(STEPS + 1)]
        text = ", ".join(f"{value:.3f}" if name.endswith("Ratio") else f"{value:.0f}" for value in row)
        print(f"constexpr double k{name}[kQuantiles] = {{{text}}};")
    print("\n}  // namespace hotproof::tools")


if __name__ == "__main__":
    main(sys.argv[1:])
