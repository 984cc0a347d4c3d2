"""Operations (memory copies, memsets, synchronizations, event records) as CUPTI handed them over and as the
trace has them, as tuples of the same fields; used by differential.py.
"""
import records
import second_reader
from second_reader_operations import operations_of

MEMCPY, MEMSET, SYNCHRONIZATION, EVENT_RECORD = 1, 2, 3, 4  # trace.proto's OperationKind

# (field of the record, where the trace has it), for each kind; None: not kept. "class." is
# OperationClass, "stream." Stream, the rest are columns.
COPY = [("start", "start"), ("end", "end"), ("correlationId", "correlation"),
        ("deviceId", "stream.device_id"), ("contextId", "stream.context_id"),
        ("streamId", "stream.stream_id"), ("flags", "class.flags"),
        ("channelType", "class.channel_type"), ("graphNodeId", "node_id"), ("graphId", "graph_id"),
        ("bytes", "amount"), ("channelID", None)]
MEMCPY_FIELDS = COPY + [("copyKind", "class.copy_kind"), ("srcKind", "class.source_memory"),
                        ("dstKind", "class.destination_memory")]
FIELDS = {
    records.KIND_MEMCPY: (MEMCPY, MEMCPY_FIELDS + [
        ("isDeviceLaunched", "class.device_launched"), ("copyCount", "detail"),
        ("runtimeCorrelationId", None)]),
    records.KIND_MEMCPY2: (MEMCPY, MEMCPY_FIELDS + [
        ("srcDeviceId", "class.source_device"), ("srcContextId", "class.source_context"),
        ("dstDeviceId", "class.destination_device"), ("dstContextId", "class.destination_context")]),
    records.KIND_MEMSET: (MEMSET, COPY + [
        ("memoryKind", "class.destination_memory"), ("value", "detail"),
        ("isDeviceLaunched", "class.device_launched")]),
    records.KIND_SYNCHRONIZATION: (SYNCHRONIZATION, [
        ("start", "start"), ("end", "end"), ("correlationId", "correlation"),
        ("contextId", "stream.context_id"), ("streamId", "stream.stream_id"),
        ("type", "class.synchronization_type"), ("returnValue", "class.return_value"),
        ("cudaEventId", "amount"), ("cudaEventSyncId", "detail")]),
    records.KIND_CUDA_EVENT: (EVENT_RECORD, [
        ("correlationId", "correlation"), ("deviceId", "stream.device_id"),
        ("contextId", "stream.context_id"), ("streamId", "stream.stream_id"), ("eventId", "amount"),
        ("cudaEventSyncId", "detail"), ("deviceTimestamp", "start")]),
}


def names(kind):
    return [name for name, where in FIELDS[kind][1] if where]


def raw_rows(log):
    for r in log.operations():
        row = dict(r)
        if "start" in row and not 0 < row["start"] <= row["end"]:
            row["start"] = row["end"] = 0  # no valid time: kept without one
        yield (r["kind"], *(row[name] for name in names(r["kind"])))


def trace_rows(trace):
    for _, statistics, chunk in trace.chunks:
        for row in operations_of(statistics, chunk):
            of = trace.tables["operation_classes"][row[0]]
            stream = trace.tables["streams"].get(row[2], {})
            values = {"correlation": row[1] & second_reader.MASK32, "start": row[3], "end": row[4],
                      "node_id": row[5], "graph_id": row[5] >> 32, "amount": row[6], "detail": row[7]}
            values.update({"class." + name: value for name, value in of.items()})
            values.update({"stream." + name: value for name, value in stream.items()})
            kind = next(k for k, (ours, _) in FIELDS.items() if ours == of["kind"] and
                        (k == records.KIND_MEMCPY2) == bool(of.get("peer")))
            yield (kind, *(values.get(where, 0) for _, where in FIELDS[kind][1] if where))


def explain(raw, kept):
    """The first rows of each side that have no equal, by field."""
    lines = [f"  {len(raw)} operations only in CUPTI's buffers, {len(kept)} only in the trace"]
    for side, rows in (("buffers", raw), ("trace", kept)):
        lines += [f"  only in the {side}: kind {row[0]} {dict(zip(names(row[0]), row[1:]))}"
                  for row in rows[:2]]
    return lines
