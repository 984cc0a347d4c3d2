"""Traces in several files (proto/FORMAT.md, Rotation): which are of one trace, and what of them is gone."""
import os
import re

import second_reader
from second_reader import MASK32, add_counts, frame_at, parse, sums


def first_head(data):
    """(file's number, pid, start ticks) by its first head, or None."""
    content, size = frame_at(data, 0)
    chunk = parse("Chunk", content) if size else {}
    if not size or "launches" in chunk:
        return None
    header = chunk.get("header", {})
    return (chunk.get("continuation", {}).get("segment", 1), header.get("pid", 0), header.get("process_start_ticks", 0))


class Trace(second_reader.Trace):
    rotated_out = None

    def files(self):
        """Oldest first, back to the first that is missing."""
        files = super().files()
        last = first_head(files[0])
        for number in range(last[0] - 1 if last else 0, 0, -1):
            older = re.sub(r"(\.\d+\.hps|\.hpt)$", "", self.path) + f".{number:06}.hps"
            data = open(older, "rb").read() if os.path.exists(older) else b""
            if first_head(data) != (number, *last[1:]):
                break
            files.insert(0, data)
        return files

    def repeats(self, chunk, number):
        continuation = chunk.get("continuation")
        if continuation is None or number > 0:
            return continuation is not None
        self.sequence = chunk.get("sequence", 0)
        self.rotated_out = {"files": continuation.get("segment", 1) - 1, "rollups": continuation.get("rollups", [])}
        for rollup in self.rotated_out["rollups"]:
            add_counts(self.asked, rollup["statistics"].pop("asked", {}))
        return False


def sums_by_site(rollups):
    """{site: (records, duration)} over all rollups; takes these columns out of them."""
    by_site = {}
    for rollup in rollups:
        statistics = rollup["statistics"]
        ids = sums(statistics.pop("site_ids", []), MASK32)
        for site, *values in zip(ids, statistics.pop("site_records", []), statistics.pop("site_duration_ns", [])):
            by_site[site] = tuple(a + b for a, b in zip(by_site.get(site, (0, 0)), values))
    return by_site
