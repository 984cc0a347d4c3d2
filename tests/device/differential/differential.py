"""differential.py TRACES LOGS: every field of every kernel record that CUPTI handed over is in the trace.

TRACES is the folder of a traced run, LOGS the folder with what the forwarding CUPTI wrote below the
tracer in the same run (<name>.<pid>.jsonl and .raw). Both sides are read by code that the tracer does not
share: the trace by tests/trace/second_reader.py, the raw buffers by forwarding_cupti/records.py. For each
process: records compared as a multiset of all fields of FIELDS (operations: of operations.py); launch calls
that succeeded against the trace's list of launches and its counters. Exit code 0: equal, 1: not, 2: usage or unreadable.
--fields prints the table of fields.
"""
import collections
import glob
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "forwarding_cupti"), os.path.join(HERE, "..", "..", "trace")]
import operations  # noqa: E402
import records  # noqa: E402
import second_reader  # noqa: E402
import second_reader_rotation  # noqa: E402

# (field of CUpti_ActivityKernel10, where the trace has it). A None says why it is not kept.
FIELDS = [
    ("kind", None, "always CONCURRENT_KERNEL: checked on the raw side"),
    ("start", "record start", ""), ("end", "record end", ""),
    ("completed", None, "the end, or 0 in conditional bodies: checked on the raw side"),
    ("correlationId", "launch correlation id, low 32 bits", ""),
    ("deviceId", "Stream.device_id", ""), ("contextId", "Stream.context_id", ""),
    ("streamId", "Stream.stream_id", ""),
    ("nameText", "Kernel.name", "the text; the pointer is CUPTI's own"),
    ("gridX", "Site.grid_x", ""), ("gridY", "Site.grid_y", ""), ("gridZ", "Site.grid_z", ""),
    ("blockX", "Site.block_x", ""),
    ("blockY", "Site.block_y", ""), ("blockZ", "Site.block_z", ""),
    ("dynamicSharedMemory", "Site.dynamic_shared_bytes", ""),
    ("graphNodeId", "Graph.node_ids[node], 0 for an eager launch", ""),
    ("graphId", "Graph.exec_graph_id, 0 for an eager launch", ""),
    ("registersPerThread", "Attributes.registers_per_thread", ""),
    ("staticSharedMemory", "Attributes.static_shared_bytes", ""),
    ("localMemoryPerThread", "Attributes.local_bytes_per_thread", ""),
    ("localMemoryTotal_v2", "Attributes.local_total_bytes", ""),
    ("launchType", "Attributes.launch_type", ""),
    ("clusterX", "Attributes.cluster_x", ""), ("clusterY", "Attributes.cluster_y", ""),
    ("clusterZ", "Attributes.cluster_z", ""),
    ("clusterSchedulingPolicy", "Attributes.cluster_scheduling_policy", ""),
    ("sharedMemoryExecuted", "Attributes.shared_memory_executed_bytes", ""),
    ("carveout", "Attributes.shared_memory_carveout_requested",
     "isSharedMemoryCarveoutRequested and sharedMemoryCarveoutRequested in one: 0, or 1 + percent"),
    ("partitionedGlobalCacheExecuted", "Attributes.partitioned_cache_executed", ""),
    ("cacheConfig", "Attributes.cache_config", ""),
    ("sharedMemoryConfig", "Attributes.shared_memory_config", ""),
    ("channelType", "Attributes.channel_type", ""),
    ("maxPotentialClusterSize", "Attributes.max_potential_cluster_size", ""),
    ("maxActiveClusters", "Attributes.max_active_clusters", ""),
    ("isDeviceLaunched", "Attributes.device_launched", ""),
    ("localMemoryTotal", None, "the 32-bit form of localMemoryTotal_v2"),
    ("partitionedGlobalCacheRequested", None, "not kept"),
    ("gridId", None, "not kept: starts anew with every graph launch"),
    ("queued", None, "not kept: 0 without latency timestamps"),
    ("submitted", None, "not kept: 0 without latency timestamps"),
    ("shmemLimitConfig", None, "not kept"), ("pAccessPolicyWindow", None, "not kept"),
    ("channelID", None, "not kept"), ("name", None, "a pointer; its text is compared"),
]
COMPARED = [name for name, where, _ in FIELDS if where]

LAUNCHES = {"cuLaunch", "cuLaunchGrid", "cuLaunchGridAsync", "cuLaunchKernel", "cuLaunchKernel_ptsz",
            "cuLaunchKernelEx", "cuLaunchKernelEx_ptsz", "cuLaunchCooperativeKernel",
            "cuLaunchCooperativeKernel_ptsz", "cuLaunchCooperativeKernelMultiDevice"}
GRAPH_LAUNCHES = {"cuGraphLaunch", "cuGraphLaunch_ptsz"}
GRAPH_NODE_CREATED = 13


def raw_rows(log):
    for r in log.kernels():
        assert r["kind"] == records.KIND_CONCURRENT_KERNEL, r
        assert r["completed"] in (0, r["end"]), r
        row = dict(r, carveout=1 + r["sharedMemoryCarveoutRequested"]
                   if r["isSharedMemoryCarveoutRequested"] else 0)
        yield tuple(row[name] for name in COMPARED)


def trace_rows(trace):
    """Each record of the trace as a tuple of COMPARED; the launches listed as correlation ids."""
    for graph in trace.tables["graphs"].values():
        graph["_sites"] = second_reader.sums(graph.get("node_sites", []), second_reader.MASK32)
        graph["_nodes"] = second_reader.sums(graph.get("node_ids", []), second_reader.MASK64)
    rows, launches = [], []
    for _, statistics, chunk in trace.chunks:
        timed, untimed = second_reader.records_of(trace, statistics, chunk)
        launches += [launch[0] & second_reader.MASK32 for launch in second_reader.launches_of(chunk)]
        rows += [trace_row(trace, record) for record in timed + untimed]
    return rows, launches


def trace_row(trace, record):
    correlation, target, node, site_id, stream_id, attributes_id, start, end = record
    site = trace.tables["sites"][site_id]
    graph = trace.tables["graphs"][target // 2] if target % 2 else None
    stream = trace.tables["streams"].get(stream_id, {})
    attributes = trace.tables["attributes"].get(attributes_id, {})
    values = {
        "start": start, "end": end, "correlationId": correlation & second_reader.MASK32,
        "deviceId": stream.get("device_id", 0), "contextId": stream.get("context_id", 0),
        "streamId": stream.get("stream_id", 0),
        "nameText": trace.tables["kernels"][site["kernel_id"]]["name"].decode(errors="surrogateescape"),
        "dynamicSharedMemory": site.get("dynamic_shared_bytes", 0),
        "graphNodeId": graph["_nodes"][node] if graph else 0,
        "graphId": graph["exec_graph_id"] if graph else 0,
    }
    for axis in "XYZ":
        values["grid" + axis] = site.get("grid_" + axis.lower(), 0)
        values["block" + axis] = site.get("block_" + axis.lower(), 0)
    for name, where, _ in FIELDS:
        if where and where.startswith("Attributes."):
            values[name] = attributes.get(where.split(".")[1], 0)
    return tuple(values[name] for name in COMPARED)


def asked_by_callbacks(log):
    """Correlation ids of the launch calls that succeeded and launched: not those that were captured."""
    launched, capturing = [], {}
    for event in log.events:
        thread = event["t"]
        if event["e"] == "resource" and event["id"] == GRAPH_NODE_CREATED:
            capturing[thread] = True
        if event["e"] != "driver" or event["f"] not in LAUNCHES | GRAPH_LAUNCHES:
            continue
        if event["site"] == "enter":
            capturing[thread] = False
        elif event.get("ret") == 0 and not capturing.get(thread):
            launched.append(event["corr"])
    return launched


def launch_times(trace):
    """Correlation id -> (entered, returned) in CLOCK_MONOTONIC's ns, of the launches that have times."""
    times = {}
    for _, _, chunk in trace.chunks:
        for correlation, _, _, enter, call in second_reader.launches_of(chunk):
            if enter:
                returned = enter + call if call < second_reader.MASK32 else None  # that or later
                times[correlation & second_reader.MASK32] = enter, returned
    return times


def compare_launch_times(trace, log):
    """(lines, launches compared, whether right): the tracer's stamps lie between the forwarder's, which it takes on the
    same thread, before it passes a callback on: enter of the call <= entered <= exit of the call <= returned <= what
    the thread does next (another call's enter)."""
    times, begun, ended = launch_times(trace), {}, {}
    wrong, compared, slack, lengths = [], 0, [], []

    def judge(thread, next_ns):
        nonlocal compared
        correlation, enter_ns, exit_ns = ended.pop(thread, (None, 0, 0))
        if correlation not in times:
            return
        entered, returned = times[correlation]
        compared += 1
        slack.append(entered - enter_ns)
        lengths.append(exit_ns - enter_ns)
        if not enter_ns <= entered <= exit_ns or returned is not None and not exit_ns <= returned <= next_ns:
            wrong.append(f"  launch {correlation}: {entered} to {returned} in the trace; {enter_ns}, {exit_ns}, {next_ns} in "
                         "the log")

    for event in log.events:
        thread = event["t"]
        if event["e"] != "driver" or event["f"] not in LAUNCHES | GRAPH_LAUNCHES:
            if event["e"] in ("driver", "runtime"):
                judge(thread, event["ns"])
            continue
        if event["site"] == "enter":
            judge(thread, event["ns"])
            begun[thread] = event["corr"], event["ns"]
        elif thread in begun and begun[thread][0] == event["corr"]:
            ended[thread] = (*begun.pop(thread), event["ns"])
    for thread in list(ended):
        judge(thread, 1 << 63)
    if not compared:
        return [], 0, not times
    lines = [f"  host times of {compared} launches between the forwarder's stamps; entered {sorted(slack)[compared // 2]} ns "
             f"after its own (median), calls of {sorted(lengths)[compared // 2]} ns" if not wrong else
             f"  {len(wrong)} of {compared} launch times are not between the forwarder's stamps:"]
    return lines + wrong[:3], compared, not wrong


def explain(raw, kept):
    """The first record on either side that has no equal, next to its nearest on the other."""
    only_raw = list((collections.Counter(raw) - collections.Counter(kept)).elements())
    only_kept = list((collections.Counter(kept) - collections.Counter(raw)).elements())
    lines = [f"  {len(only_raw)} only in CUPTI's buffers, {len(only_kept)} only in the trace"]
    for row in only_raw[:3]:
        near = max(only_kept, default=None, key=lambda o: sum(a == b for a, b in zip(row, o)))
        if near is None:
            lines.append("  not in the trace: " + str(dict(zip(COMPARED, row))))
            continue
        lines += [f"  {name}: {a!r} in CUPTI's buffer, {b!r} in the trace"
                  for name, a, b in zip(COMPARED, row, near) if a != b]
    if not only_raw and only_kept:
        lines.append("  not in CUPTI's buffers: " + str(dict(zip(COMPARED, only_kept[0]))))
    return lines


def compare(trace_path, log_path):
    """(lines to print, whether equal, how many records and launch calls were held against each other)."""
    trace, log = second_reader_rotation.Trace(trace_path), records.Log(log_path)
    raw = list(raw_rows(log))
    kept, listed = trace_rows(trace)
    # A record without a valid time is kept without one.
    start, end = COMPARED.index("start"), COMPARED.index("end")
    untimed = [i for i, row in enumerate(raw) if not 0 < row[start] <= row[end]]
    stream = [COMPARED.index(name) for name in ("deviceId", "contextId", "streamId")]
    for i in untimed:
        row = list(raw[i])
        for column in [start, end] + stream:
            row[column] = 0
        raw[i] = tuple(row)
    asked = asked_by_callbacks(log)
    lines = [f"{os.path.basename(trace_path)}: {len(raw)} records ({len(untimed)} untimed), "
             f"{len(COMPARED)} fields each; {len(asked)} launch calls"]
    equal = collections.Counter(raw) == collections.Counter(kept)
    if not equal:
        lines += ["  records differ:"] + explain(raw, kept)
    if sorted(asked) != sorted(listed):
        equal = False
        lines.append(f"  launches differ: {len(asked)} asked, {len(listed)} listed; first of each "
                     f"alone: {sorted(set(asked) - set(listed))[:3]} {sorted(set(listed) - set(asked))[:3]}")
    evidence = len(raw) + len(asked)
    raw, kept = (collections.Counter(rows(side)) for rows, side in
                 ((operations.raw_rows, log), (operations.trace_rows, trace)))
    kinds = collections.Counter(row[0] for row in raw.elements())
    lines.append("  operations by activity kind: " +
                 (", ".join(f"{kind}: {count}" for kind, count in sorted(kinds.items())) or "none"))
    if raw != kept:
        equal = False
        lines.append("  operations differ:")
        lines += operations.explain(list((raw - kept).elements()), list((kept - raw).elements()))
    more, times, right = compare_launch_times(trace, log)
    lines += more
    equal &= right
    evidence += times
    if trace.issues:
        equal = False
        lines.append(f"  the trace is damaged: {trace.issues}")
    return lines + ["  equal" if equal else "  NOT EQUAL"], equal, evidence


def main():
    if sys.argv[1:] == ["--fields"]:
        print("| field of the record | in the trace | |\n|---|---|---|")
        for name, where, why in FIELDS:
            print(f"| {name} | {where or '-'} | {why} |")
        return 0
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    logs = {}
    for path in glob.glob(os.path.join(sys.argv[2], "*.jsonl")):
        logs[int(path.split(".")[-2])] = path
    traces = sorted(glob.glob(os.path.join(sys.argv[1], "*.hpt")))
    if not traces:
        print("differential: no trace", file=sys.stderr)
        return 2
    all_equal, compared = True, 0
    for path in traces:
        pid = second_reader.Trace(path).header.get("pid")
        if pid not in logs:
            print(f"{path}: no log of process {pid}")
            all_equal = False
            continue
        lines, equal, evidence = compare(path, logs.pop(pid))
        compared += evidence
        print("\n".join(lines))
        all_equal &= equal
    for pid, path in sorted(logs.items()):
        if asked_by_callbacks(records.Log(path)):
            print(f"{path}: process {pid} launched and left no trace")
            all_equal = False
    if compared == 0:
        print("nothing was recorded and nothing launched: there was nothing to compare")
        all_equal = False
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main())
