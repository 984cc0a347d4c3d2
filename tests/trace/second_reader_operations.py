"""Memory copies, memsets, synchronizations and event records of a chunk (proto/FORMAT.md, Operations)."""
from second_reader import MASK32, MASK64, column, sums


def operations_of(statistics, chunk):
    """(class, correlation id, stream, start, end, node id, amount, detail)."""
    of, counted = chunk.get("operations", {}), statistics.get("operations", {})
    count = len(of.get("classes", []))
    timed = count - counted.get("untimed_count", 0)
    gaps, durations = column(of, "start_gaps_ns", timed), column(of, "durations_ns", timed)
    rows, previous, start = [], {}, counted.get("first_start_ns", 0)
    for index, (kind, correlation, *differences) in enumerate(zip(
            sums(column(of, "classes", count), MASK32), sums(column(of, "correlation_ids", count), MASK64),
            *(column(of, name, count) for name in ("streams", "node_ids", "amounts", "details")))):
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
