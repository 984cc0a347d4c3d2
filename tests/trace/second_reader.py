"""A reader of .hpt traces written from proto/FORMAT.md and proto/trace.proto alone, to prove that these are enough:
frames, tables, launches and records of one file. The modules beside it add what else a trace can hold
(second_reader_counters, _rotation, _graphs, _operations); second_reader_dump.py prints all of it, and second_reader_test.py
compares that with the C++ reader, field by field. Needs zstandard and xxhash from PyPI, no protobuf."""
import xxhash
import zstandard
from second_reader_wire import MASK32, MASK64, SCHEMA, merged, parse, varint  # noqa: F401

MAGIC = b"\x28\xb5\x2f\xfd"
TABLES = ("kernels", "attributes", "tensor_maps", "sites", "graphs", "streams", "operation_classes", "range_paths")


def frame_at(data, offset):
    """(content, bytes of the frame), or (reason, None)."""
    if not MAGIC.startswith(data[offset:offset + 4]):
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


def column(columns, name, count):
    return columns.get(name) or [0] * count  # left out: zeros


class Trace:
    def __init__(self, path):
        self.path, self.sequence = path, 0
        self.chunks, self.issues, self.header, self.footer = [], [], {}, None  # chunks: (sequence, statistics, columns)
        self.tables, self.site_attributes, self.node_sites = {name: {} for name in TABLES}, {}, {}
        self.lists = {"snapshots": [], "problems": [], "clocks": []}
        self.asked = {"site": {}, "graph": {}}
        for number, data in enumerate(self.files()):
            self.scan(number, data)

    def files(self):
        return [open(self.path, "rb").read()]

    def repeats(self, _chunk, _number):
        """Whether a file's first head brings nothing new."""
        return False

    def scan(self, number, data):
        """One file; `number` of them were read before."""
        offset, damage, first = 0, None, True
        if not data:
            self.issues.append(("torn", 0, 0))
        while offset < len(data):
            content, size = frame_at(data, offset)
            chunk = parse("Chunk", content) if size else None
            if chunk is None or "launches" in chunk or "records" in chunk:
                damage = damage or (content if size is None else "damaged", offset)
                found = data.find(MAGIC, offset + (size or 1))
                offset = found if found >= 0 else len(data)
                continue
            if damage:
                self.issues.append(("corrupt", damage[1], offset - damage[1]))
                damage = None
            repeats = first and self.repeats(chunk, number)
            if chunk.get("sequence", 0) > self.sequence:
                self.issues.append(("missing", offset, 0))
            self.sequence, first = chunk.get("sequence", 0) + 1, False
            self.take_tables(chunk)
            offset += size
            if not repeats:
                offset = self.take(chunk, data, offset)
        if damage:
            self.issues.append(("torn" if damage[0] == "incomplete" else "corrupt", damage[1], len(data) - damage[1]))

    def take_tables(self, chunk):
        for name, table in self.tables.items():
            table.update({entry["id"]: entry for entry in chunk.get(name, [])})
        pairs = chunk.get("site_attributes", {})
        self.site_attributes.update(zip(pairs.get("sites", []), pairs.get("attributes", [])))

    def take(self, chunk, data, offset):
        """A head and the columns at `offset`. Returns the offset behind both."""
        self.header = merged(self.header, chunk.get("header", {}))
        for name, entries in self.lists.items():
            entries += chunk.get(name, [])
        self.footer = chunk.get("footer", self.footer)
        statistics = chunk.get("statistics", {})
        add_counts(self.asked, statistics.get("asked", {}))
        columns, frame = {}, chunk.get("columns_frame")
        if frame:
            bytes_ = data[offset:offset + frame["size_bytes"]]
            offset += len(bytes_)
            if len(bytes_) < frame["size_bytes"] or xxhash.xxh3_64_intdigest(bytes_) != frame["hash"]:
                self.issues.append(("torn" if len(bytes_) < frame["size_bytes"] else "corrupt",
                                    offset - len(bytes_), len(bytes_)))
                return offset
            columns = parse("Chunk", frame_at(bytes_, 0)[0])
        self.chunks.append((chunk.get("sequence", 0), statistics, columns))
        return offset

    def site_of(self, target, node):
        if target % 2 == 0:
            return target // 2
        if target not in self.node_sites:
            self.node_sites[target] = sums(self.tables["graphs"][target // 2].get("node_sites", []), MASK32)
        return self.node_sites[target][node]


def add_counts(to, counters):
    for kind in ("site", "graph"):
        for slot, count in zip(sums(counters.get(f"{kind}_ids", []), MASK32), counters.get(f"{kind}_counts", [])):
            to[kind][slot] = to[kind].get(slot, 0) + count


def launches_of(chunk):
    """(correlation id, target, stream, enter, call) in the order of the column."""
    of = chunk.get("launches", {})
    count = len(of.get("correlation_ids", []))
    targets = sums(column(of, "targets", count), MASK32)
    enter, calls = sums(column(of, "enter_ns", count), MASK64), column(of, "call_ns", count)
    if "enter_ns" not in of and "call_ns" not in of:  # from minor version 3 on
        gaps, end = {}, 0
        for i, (target, gap, high, low) in enumerate(zip(targets, column(of, "enter_gaps_ns", count),
                                                         column(of, "call_high", count), column(of, "call_low", count))):
            gap += gaps.get(target % 8192, 0)
            if i:
                gaps[target % 8192] = gap
            enter[i], calls[i] = (end + gap) & MASK64, 128 * high + low
            end = enter[i] + calls[i]
    return list(zip(sums(column(of, "correlation_ids", count), MASK64), targets,
                    sums(column(of, "streams", count), MASK32), enter, calls))


def records_of(trace, statistics, chunk):
    """(correlation id, target, node, site, stream, attributes, start, end): the timed ones, the untimed ones."""
    of = chunk.get("records", {})
    count = len(of.get("group_correlation_ids", []))
    groups = list(zip(*(sums(column(of, f"group_{name}", count), mask) for name, mask in
                        (("correlation_ids", MASK64), ("targets", MASK32), ("streams", MASK32)))))
    targets = sums(of.get("template_targets", []), MASK32)
    predicted, expected = dict(zip(targets, column(of, "template_nodes", len(targets)))), {}
    rows, next_node, end = [], {}, statistics.get("first_start_ns", 0)
    timed = len(of.get("durations_ns", []))
    for index, node, gap, duration, stream in zip(
            sums(column(of, "groups", timed), MASK32), *(column(of, name, timed) for name in
                                                         ("nodes", "gaps_ns", "durations_ns", "streams"))):
        node = (next_node.get(index, 0) + node) & MASK32
        next_node[index] = node + 1
        correlation, target, first_stream = groups[index]
        if node < predicted.get(target, 0):
            old_gap, old_duration = expected.get((target, node), (0, 0))
            gap, duration = expected[target, node] = old_gap + gap, old_duration + duration
        start = (end + gap) & MASK64
        end = (start + duration) & MASK64
        rows.append((correlation, target, node, (first_stream + stream) & MASK32, start, end))
    count = len(of.get("untimed_groups", []))
    for index, node in zip(sums(column(of, "untimed_groups", count), MASK32), column(of, "untimed_nodes", count)):
        rows.append((*groups[index][:2], node, 0, 0, 0))
    sites = [trace.site_of(target, node) for _, target, node, *_ in rows]
    attributes = [trace.site_attributes.get(site, 0) for site in sites]
    count = len(of.get("exception_records", []))
    for record, site, attribute in zip(sums(column(of, "exception_records", count), MASK64),
                                       column(of, "exception_sites", count), column(of, "exception_attributes", count)):
        if site:
            sites[record], attributes[record] = site, trace.site_attributes.get(site, 0)
        attributes[record] = attribute or attributes[record]
    records = [(*row[:3], site, row[3], attribute, *row[4:]) for row, site, attribute in zip(rows, sites, attributes)]
    return records[:timed], records[timed:]
