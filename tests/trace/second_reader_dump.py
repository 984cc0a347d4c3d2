"""Prints every field of a trace, one line each, as dump_trace does with the C++ reader.
Usage: second_reader_dump.py TRACE"""
import sys

import second_reader_graphs
from second_reader import add_counts, launches_of, records_of
from second_reader_counters import counts_beside
from second_reader_operations import operations_of
from second_reader_rotation import Trace, sums_by_site


def flatten(prefix, value):
    """One line a scalar that is set, fields by name; text as hexadecimal, tuples in one line."""
    if isinstance(value, dict):
        for name in sorted(value):
            yield from flatten(f"{prefix}.{name}", value[name])
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, tuple):
                yield f"{prefix} " + " ".join(map(str, item))
            else:
                yield from flatten(f"{prefix}[{index}]", item)
    else:
        yield f"{prefix}={value.hex() if isinstance(value, bytes) else value}"


def counts(prefix, counters):
    for kind in ("site", "graph"):
        for slot, count in sorted(counters[kind].items()):
            if count:
                yield f"{prefix}.{kind}.{slot}={count}"


def tables(trace):
    for kind, offset, lost in trace.issues:
        yield f"issue {kind} {offset} {lost}"
    yield from flatten("header", trace.header)
    decoded = {**trace.tables, "graphs": second_reader_graphs.all_decoded(trace.tables["graphs"])}
    for name, table in decoded.items():
        for number, entry in sorted(table.items()):
            yield from flatten(f"{name}.{number}", entry)
    for number, attributes in sorted(trace.site_attributes.items()):
        yield f"site_attributes.{number}={attributes}"
    running = {"site": {}, "graph": {}}
    for number, snapshot in enumerate(trace.lists["snapshots"]):
        add_counts(running, snapshot.pop("asked", {}))
        yield from flatten(f"snapshots.{number}", snapshot)
        yield from counts(f"snapshots.{number}.asked", running)
    for name in ("problems", "clocks"):
        for number, entry in enumerate(trace.lists[name]):
            yield from flatten(f"{name}.{number}", entry)
    if trace.footer is not None:
        yield from flatten("footer", trace.footer)


def asked(trace):
    file = counts_beside(trace)
    yield f"asked_source={'file' if file else 'chunks'}"
    yield from counts("asked", file[0] if file else trace.asked)
    if file:
        yield f"records_written={file[1]} launches_refused={file[2]}"
    if trace.rotated_out:
        yield f"rotated_out.files={trace.rotated_out['files']}"
        by_site = sums_by_site(trace.rotated_out["rollups"])
        for number, rollup in enumerate(trace.rotated_out["rollups"]):
            yield from flatten(f"rotated_out.rollups.{number}", rollup)
        for site, (records, duration_ns) in sorted(by_site.items()):
            yield f"rotated_out.site.{site} {records} {duration_ns}"


def chunks(trace):
    for sequence, statistics, chunk in trace.chunks:
        timed, untimed = records_of(trace, statistics, chunk)
        rows = {"launch": launches_of(chunk), "record": timed, "untimed": untimed,
                "operation": operations_of(statistics, chunk)}
        statistics.pop("asked", None)
        yield from flatten(f"chunk.{sequence}.statistics", statistics)
        for what, of_kind in rows.items():
            for row in of_kind:
                yield f"chunk.{sequence}.{what} " + " ".join(map(str, row))


if __name__ == "__main__":
    read = Trace(sys.argv[1])
    for part in (tables, asked, chunks):
        sys.stdout.writelines(line + "\n" for line in part(read))
