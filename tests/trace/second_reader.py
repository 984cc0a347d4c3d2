"""A reader of .hpt traces written from proto/FORMAT.md and proto/trace.proto alone, to prove that
these are enough. Prints every field of a trace, one line each, as dump_trace does with the C++
reader; second_reader_test.py compares the two.

Usage: second_reader.py TRACE    (needs zstandard and xxhash from PyPI, no protobuf)
"""
import os
import re
import struct
import sys

import xxhash
import zstandard

MAGIC = b"\x28\xb5\x2f\xfd"
HERE = os.path.dirname(os.path.abspath(__file__))
PROTO = os.path.join(HERE, "..", "..", "proto", "trace.proto")
MASK32, MASK64 = 2**32 - 1, 2**64 - 1


def read_schema(path):
    """{message: {number: (name, type, repeated)}} of a .proto file; enums count as int32."""
    text = re.sub(r"//.*", "", open(path).read())
    enums = set(re.findall(r"enum (\w+)", text))
    schema = {}
    for message, body in re.findall(r"message (\w+) \{(.*?)\}", text, re.S):
        fields = re.findall(r"(repeated )?(\w+) (\w+) = (\d+);", body)
        schema[message] = {
            int(number): (name, "int32" if kind in enums else kind, bool(repeated))
            for repeated, kind, name, number in fields
        }
    return schema


SCHEMA = read_schema(PROTO)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & MASK64, at
        shift += 7


def scalar(kind, raw):
    if kind.startswith("sint"):
        return (raw >> 1) ^ -(raw & 1)
    if kind == "int32":
        return raw - 2**64 if raw >= 2**63 else raw
    return raw


def parse(message, data):
    """A dict by field name; repeated fields are lists, absent scalars are not in it."""
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            raw, at = varint(data, at)
        elif wire == 1:
            raw, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif wire == 2:
            size, at = varint(data, at)
            raw, at = data[at:at + size], at + size
            if len(raw) != size:
                raise ValueError("cut short")
        else:
            raise ValueError("wire type")
        if number not in SCHEMA[message]:
            continue
        name, kind, repeated = SCHEMA[message][number]
        if kind in SCHEMA:
            value = [parse(kind, raw)]
        elif kind in ("string", "bytes"):
            value = [raw]
        elif wire == 2:
            value, inner = [], 0
            while inner < len(raw):
                item, inner = varint(raw, inner)
                value.append(scalar(kind, item))
        else:
            value = [scalar(kind, raw)]
        if repeated:
            out.setdefault(name, []).extend(value)
        elif kind in SCHEMA and name in out:
            out[name] = parse_merge(out[name], value[0])
        else:
            out[name] = value[0]
    return out


def parse_merge(old, new):
    """Protobuf's rules: lists grow, the rest is replaced."""
    return {**old, **{k: old.get(k, []) + v if isinstance(v, list) else v for k, v in new.items()}}


def frame_at(data, offset):
    """(content, bytes of the frame), or (reason, None)."""
    if not MAGIC.startswith(data[offset:offset + 4]) and data[offset:offset + 4] != MAGIC:
        return "damaged", None
    piece = 1 << 16
    while True:
        decoder = zstandard.ZstdDecompressor().decompressobj()
        try:
            content = decoder.decompress(data[offset:offset + piece])
        except zstandard.ZstdError:
            return "damaged", None
        if decoder.eof:
            return content, min(piece, len(data) - offset) - len(decoder.unused_data)
        if offset + piece >= len(data):
            return "incomplete", None
        piece *= 4


def sums(deltas, mask):
    total, out = 0, []
    for delta in deltas:
        total = (total + delta) & mask
        out.append(total)
    return out


def edges(graph):
    """[(from, to, data)] as positions; takes the columns out of the graph."""
    ends = [sums(graph.pop(name, []), MASK32) for name in ("edge_from", "edge_to")]
    return list(zip(*ends, graph.pop("edge_data", None) or [0] * len(ends[0])))


def first_head(data):
    """(file's number, pid, start ticks) by its first head, or None."""
    content, size = frame_at(data, 0)
    chunk = parse("Chunk", content) if size else {}
    if not size or "launches" in chunk:
        return None
    header = chunk.get("header", {})
    return (chunk.get("continuation", {}).get("segment", 1), header.get("pid", 0),
            header.get("process_start_ticks", 0))


def files_of(path):
    """The data of a trace's files, oldest first, back to the first that is missing."""
    files = [open(path, "rb").read()]
    last = first_head(files[0])
    for number in range(last[0] - 1 if last else 0, 0, -1):
        older = re.sub(r"(\.\d+\.hps|\.hpt)$", "", path) + f".{number:06}.hps"
        data = open(older, "rb").read() if os.path.exists(older) else b""
        if first_head(data) != (number, *last[1:]):
            break
        files.insert(0, data)
    return files


class Trace:
    def __init__(self, path):
        self.path, self.sequence, self.rotated_out = path, 0, None
        self.chunks, self.issues, self.header = [], [], {}
        self.tables = {name: {} for name in
                       ("kernels", "attributes", "tensor_maps", "sites", "graphs", "streams",
                        "operation_classes", "range_paths")}
        self.lists = {"snapshots": [], "problems": [], "clocks": []}
        self.footer, self.site_attributes = None, {}
        self.asked = {"site": {}, "graph": {}}
        for number, self.data in enumerate(files_of(path)):
            self.scan(number)

    def scan(self, number):
        """One file; `number` of them were read before."""
        offset, damage, first = 0, None, True
        if not self.data:
            self.issues.append(("torn", 0, 0))
        while offset < len(self.data):
            content, size = frame_at(self.data, offset)
            chunk = parse("Chunk", content) if size else None
            if chunk is None or "launches" in chunk or "records" in chunk:
                damage = damage or (content if size is None else "damaged", offset)
                found = self.data.find(MAGIC, offset + (size or 1))
                offset = found if found >= 0 else len(self.data)
                continue
            if damage:
                self.issues.append(("corrupt", damage[1], offset - damage[1]))
                damage = None
            continues = "continuation" in chunk and first
            if continues and number == 0:
                self.sequence = chunk.get("sequence", 0)
                self.take_rollups(chunk["continuation"])
            if chunk.get("sequence", 0) > self.sequence:
                self.issues.append(("missing", offset, 0))
            self.sequence, first = chunk.get("sequence", 0) + 1, False
            if continues and number > 0:
                self.take_tables(chunk)
                offset += size
                continue
            offset = self.take(chunk, offset + size)
        if damage:
            kind = "torn" if damage[0] == "incomplete" else "corrupt"
            self.issues.append((kind, damage[1], len(self.data) - damage[1]))

    def take_rollups(self, continuation):
        self.rotated_out = {"files": continuation.get("segment", 1) - 1, "rollups": []}
        for rollup in continuation.get("rollups", []):
            self.add_counts(self.asked, rollup["statistics"].pop("asked", {}))
            self.rotated_out["rollups"].append(rollup)

    def take_tables(self, chunk):
        for name, table in self.tables.items():
            table.update({entry["id"]: entry for entry in chunk.get(name, [])})
        pairs = chunk.get("site_attributes", {})
        self.site_attributes.update(zip(pairs.get("sites", []), pairs.get("attributes", [])))

    def take(self, chunk, offset):
        """Tables of a head, then its columns. Returns the offset behind both."""
        self.header = parse_merge(self.header, chunk.get("header", {}))
        self.take_tables(chunk)
        for name, entries in self.lists.items():
            entries += chunk.get(name, [])
        self.footer = chunk.get("footer", self.footer)
        statistics = chunk.get("statistics", {})
        self.add_counts(self.asked, statistics.get("asked", {}))
        frame = chunk.get("columns_frame")
        columns = {}
        if frame:
            data = self.data[offset:offset + frame["size_bytes"]]
            if len(data) < frame["size_bytes"]:
                self.issues.append(("torn", offset, len(data)))
                return len(self.data)
            offset += len(data)
            if xxhash.xxh3_64_intdigest(data) != frame["hash"]:
                self.issues.append(("corrupt", offset - len(data), len(data)))
                return offset
            columns = parse("Chunk", frame_at(data, 0)[0])
        self.chunks.append((chunk.get("sequence", 0), statistics, columns))
        return offset

    @staticmethod
    def add_counts(to, counters):
        for kind in ("site", "graph"):
            ids = sums(counters.get(f"{kind}_ids", []), MASK32)
            for slot, count in zip(ids, counters.get(f"{kind}_counts", [])):
                to[kind][slot] = to[kind].get(slot, 0) + count

    def counter_file(self):
        """(site slots, graph slots, records written, refused), or None where the chunks decide."""
        name = self.header.get("counters_file", b"").decode()
        path = os.path.join(os.path.dirname(self.path), name)
        if not name or "/" in name or not os.path.exists(path):
            return None
        data = open(path, "rb").read()
        if len(data) < 48 or data[:8] != b"HPCOUNT1":
            return None
        begin, sites, graphs, pid, ticks, records, refused = struct.unpack_from("<IIIIQQQ", data, 8)
        if pid != self.header.get("pid", 0) or ticks != self.header.get("process_start_ticks", 0):
            return None
        if len(data) < begin + 8 * (sites + graphs):
            return None
        slots = struct.unpack_from(f"<{sites + graphs}Q", data, begin)
        counts = {"site": dict(enumerate(slots[:sites])), "graph": dict(enumerate(slots[sites:]))}
        for kind, known in self.asked.items():
            if any(counts[kind].get(slot, 0) < count for slot, count in known.items()):
                return None
        return counts, records, refused

    def columns(self, statistics, chunk):
        """Lists of launches, timed and untimed records, as tuples."""
        launches, r = chunk.get("launches", {}), chunk.get("records", {})

        def column(of, name, count):
            return of.get(name) or [0] * count
        count = len(launches.get("correlation_ids", []))
        targets = sums(column(launches, "targets", count), MASK32)
        enter, calls = sums(column(launches, "enter_ns", count), MASK64), column(launches, "call_ns", count)
        if "enter_ns" not in launches and "call_ns" not in launches:  # from minor version 3 on
            gaps, end = {}, 0
            for i, (target, gap, high, low) in enumerate(zip(
                    targets, column(launches, "enter_gaps_ns", count), column(launches, "call_high", count),
                    column(launches, "call_low", count))):
                gap += gaps.get(target % 8192, 0)
                if i:
                    gaps[target % 8192] = gap
                enter[i], calls[i] = (end + gap) & MASK64, 128 * high + low
                end = enter[i] + calls[i]
        launch_rows = list(zip(sums(column(launches, "correlation_ids", count), MASK64), targets,
                               sums(column(launches, "streams", count), MASK32), enter, calls))
        count = len(r.get("group_correlation_ids", []))
        groups = list(zip(sums(column(r, "group_correlation_ids", count), MASK64),
                          sums(column(r, "group_targets", count), MASK32),
                          sums(column(r, "group_streams", count), MASK32)))
        count = len(r.get("durations_ns", []))
        targets = sums(r.get("template_targets", []), MASK32)
        predicted = dict(zip(targets, column(r, "template_nodes", len(targets))))
        expected = {}
        rows, next_node, end = [], {}, statistics.get("first_start_ns", 0)
        for index, node, gap, duration, stream in zip(
                sums(column(r, "groups", count), MASK32), column(r, "nodes", count),
                column(r, "gaps_ns", count), column(r, "durations_ns", count),
                column(r, "streams", count)):
            node = (next_node.get(index, 0) + node) & MASK32
            next_node[index] = node + 1
            if node < predicted.get(groups[index][1], 0):
                old_gap, old_duration = expected.get((groups[index][1], node), (0, 0))
                gap, duration = old_gap + gap, old_duration + duration
                expected[groups[index][1], node] = gap, duration
            start = (end + gap) & MASK64
            end = (start + duration) & MASK64
            rows.append([groups[index], node, (groups[index][2] + stream) & MASK32, start, end])
        timed = len(rows)
        count = len(r.get("untimed_groups", []))
        for index, node in zip(sums(column(r, "untimed_groups", count), MASK32),
                               column(r, "untimed_nodes", count)):
            rows.append([groups[index], node, 0, 0, 0])
        sites = [self.site_of(row[0][1], row[1]) for row in rows]
        attributes = [self.site_attributes.get(site, 0) for site in sites]
        count = len(r.get("exception_records", []))
        for record, site, attribute in zip(sums(column(r, "exception_records", count), MASK64),
                                           column(r, "exception_sites", count),
                                           column(r, "exception_attributes", count)):
            if site:
                sites[record], attributes[record] = site, self.site_attributes.get(site, 0)
            attributes[record] = attribute or attributes[record]
        records = [(row[0][0], row[0][1], row[1], site, row[2], attribute, row[3], row[4])
                   for row, site, attribute in zip(rows, sites, attributes)]
        return launch_rows, records[:timed], records[timed:]

    @staticmethod
    def operations(statistics, chunk):
        """Operations as tuples: class, correlation id, stream, start, end, node id, amount, detail."""
        o = chunk.get("operations", {})
        count = len(o.get("classes", []))
        timed = count - statistics.get("operations", {}).get("untimed_count", 0)

        def column(name, entries):
            return o.get(name) or [0] * entries
        rows, previous = [], {}
        start = statistics.get("operations", {}).get("first_start_ns", 0)
        gaps, durations = column("start_gaps_ns", timed), column("durations_ns", timed)
        for index, (kind, correlation, *differences) in enumerate(zip(
                sums(column("classes", count), MASK32), sums(column("correlation_ids", count), MASK64),
                column("streams", count), column("node_ids", count), column("amounts", count),
                column("details", count))):
            duration, *values = previous.get(kind, (0, 0, 0, 0, 0))
            stream, *values = [(a + b) & MASK64 for a, b in zip(values, differences)]
            times = [0, 0]
            if index < timed:
                start += gaps[index]
                duration = (duration + durations[index]) & MASK64
                times = [start, start + duration]
            previous[kind] = [duration, stream, *values]
            rows.append((kind, correlation, stream & MASK32, *times, *values))
        return rows

    def site_of(self, target, node):
        if target % 2 == 0:
            return target // 2
        graph = self.tables["graphs"][target // 2]
        return graph["_sites"][node]

    def dump(self):
        for graph in self.tables["graphs"].values():
            graph["_sites"] = sums(graph.pop("node_sites", []), MASK32)
            graph["_nodes"] = sums(graph.pop("node_ids", []), MASK64)
            for name in ("node_range_paths", "node_process_ranges"):
                if name in graph:
                    graph[name] = sums(graph[name], MASK32)
            if "other_node_ids" in graph:
                graph["other_node_ids"] = sums(graph["other_node_ids"], MASK64)
            around = self.tables["graphs"].get(graph.pop("surroundings_of", 0))
            if around:  # an earlier one: done already
                for name in ("other_node_ids", "other_node_types", "edges_known", "edge"):
                    if name in around:
                        graph[name] = around[name]
            else:
                graph["edge"] = edges(graph)
        for kind, offset, lost in self.issues:
            yield f"issue {kind} {offset} {lost}"
        yield from flatten("header", self.header)
        for name, table in self.tables.items():
            for number, entry in sorted(table.items()):
                yield from flatten(f"{name}.{number}", entry)
        for number, attributes in sorted(self.site_attributes.items()):
            yield f"site_attributes.{number}={attributes}"
        running = {"site": {}, "graph": {}}
        for number, snapshot in enumerate(self.lists["snapshots"]):
            self.add_counts(running, snapshot.pop("asked", {}))
            yield from flatten(f"snapshots.{number}", snapshot)
            yield from counts(f"snapshots.{number}.asked", running)
        for name in ("problems", "clocks"):
            for number, entry in enumerate(self.lists[name]):
                yield from flatten(f"{name}.{number}", entry)
        if self.footer is not None:
            yield from flatten("footer", self.footer)
        file = self.counter_file()
        yield f"asked_source={'file' if file else 'chunks'}"
        yield from counts("asked", file[0] if file else self.asked)
        if file:
            yield f"records_written={file[1]} launches_refused={file[2]}"
        if self.rotated_out:
            yield from rotated_out(self.rotated_out)
        for sequence, statistics, chunk in self.chunks:
            launches, timed, untimed = self.columns(statistics, chunk)
            operations = self.operations(statistics, chunk)
            statistics.pop("asked", None)
            yield from flatten(f"chunk.{sequence}.statistics", statistics)
            for what, rows in (("launch", launches), ("record", timed), ("untimed", untimed),
                               ("operation", operations)):
                for row in rows:
                    yield f"chunk.{sequence}.{what} " + " ".join(map(str, row))


def rotated_out(gone):
    """The rollups, and their sums by site."""
    yield f"rotated_out.files={gone['files']}"
    by_site = {}
    for number, rollup in enumerate(gone["rollups"]):
        statistics = rollup["statistics"]
        ids = sums(statistics.pop("site_ids", []), MASK32)
        for site, records, duration_ns in zip(ids, statistics.pop("site_records", []),
                                              statistics.pop("site_duration_ns", [])):
            old = by_site.get(site, (0, 0))
            by_site[site] = old[0] + records, old[1] + duration_ns
        yield from flatten(f"rotated_out.rollups.{number}", rollup)
    for site, (records, duration_ns) in sorted(by_site.items()):
        yield f"rotated_out.site.{site} {records} {duration_ns}"


def counts(prefix, counters):
    for kind in ("site", "graph"):
        for slot, count in sorted(counters[kind].items()):
            if count:
                yield f"{prefix}.{kind}.{slot}={count}"


def flatten(prefix, value):
    """One line a scalar that is set, fields by name; text as hexadecimal, tuples in one line."""
    if isinstance(value, dict):
        for name in sorted(value):
            yield from flatten(f"{prefix}.{name}", value[name])
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, tuple):
                yield f"{prefix} " + " ".join(map(str, item))
                continue
            yield from flatten(f"{prefix}[{index}]", item)
    else:
        yield f"{prefix}={value.hex() if isinstance(value, bytes) else value}"


if __name__ == "__main__":
    sys.stdout.writelines(line + "\n" for line in Trace(sys.argv[1]).dump())
