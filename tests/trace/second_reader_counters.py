"""The counter file beside a trace, as proto/FORMAT.md describes it."""
import os
import struct

import xxhash

UNIT = {b"HPCOUNT1": 1, b"HPCOUNT2": 64709}


def counts_beside(trace):
    """(counts, records written, launches refused), or None where the chunks decide."""
    name = trace.header.get("counters_file", b"").decode()
    path = os.path.join(os.path.dirname(trace.path), name)
    data = open(path, "rb").read() if name and "/" not in name and os.path.exists(path) else b""
    unit = UNIT.get(data[:8])
    if len(data) < 64 or not unit:
        return None
    begin, sites, graphs, pid, ticks, records, refused, _, check = struct.unpack_from("<IIIIQQQQQ", data, 8)
    if unit > 1 and check != xxhash.xxh3_64_intdigest(data[:32]):
        return None
    if (pid, ticks) != (trace.header.get("pid", 0), trace.header.get("process_start_ticks", 0)):
        return None
    if len(data) < begin + 8 * (sites + graphs):
        return None
    words = [records, refused, *struct.unpack_from(f"<{sites + graphs}Q", data, begin)]
    if any(word % unit for word in words):
        return None
    records, refused, *slots = [word // unit for word in words]
    counts = {"site": dict(enumerate(slots[:sites])), "graph": dict(enumerate(slots[sites:]))}
    behind = any(counts[kind].get(slot, 0) < count for kind in counts for slot, count in trace.asked[kind].items())
    ahead = any(count > trace.asked[kind].get(slot, 0) for kind in counts for slot, count in counts[kind].items())
    if unit == 1 and trace.footer and not trace.issues and ahead:
        return None
    return None if behind else (counts, records, refused)
