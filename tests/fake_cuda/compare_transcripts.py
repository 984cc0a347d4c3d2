"""compare_transcripts.py RECORDED MADE: two forwarder logs (.jsonl) say the same.

RECORDED comes from a GPU, MADE from the stand-ins. Compared, thread by thread: every driver, resource and
state callback in order, with ids of graphs, nodes, execs, contexts and modules, correlation ids, results
and kernel names; then every activity record in order, with all that does not depend on time or machine.
Not compared: pointers, times, sizes, stream and channel numbers as such (streams are numbered as they
first appear), launchType (the GPU's CUPTI keeps the value of an earlier cooperative launch), dependency
callbacks inside an instantiation once it rearranges the graph, what it rearranges in graphs with memset
or memcpy nodes, the order of dependency callbacks that follow each other. With several threads, whose
calls interleave as they like, ids are renumbered thread by thread and records are compared as a set.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "device",
                                "forwarding_cupti"))
from records import KIND_CONCURRENT_KERNEL, KIND_MEMCPY, KIND_MEMSET, Log  # noqa: E402

NODE_CREATE_STARTING, DEPENDENCY_CREATED, DEPENDENCY_DESTROYED = 12, 15, 16
MEMCPY_NODE, MEMSET_NODE = 1, 2
EXEC_CREATE_STARTING, EXEC_CREATED = 17, 18


class Streams:
    """Stream ids by order of first appearance."""

    def __init__(self):
        self.names = {}

    def name(self, stream_id):
        return self.names.setdefault(stream_id, f"stream{len(self.names)}")


def ids(event, key):
    """[pointer, result, id] without the pointer."""
    return tuple(event[key][1:]) if key in event else None


def callback(event, streams):
    if event["e"] == "driver":
        return ("driver", event["id"], event["f"], event["site"], event["corr"], event["ctx"],
                event["sym"], event.get("ret"), tuple(event.get("launch", ())), ids(event, "exec"))
    if event["e"] == "resource":
        stream = event.get("stream")
        return ("resource", event["id"], ids(event, "graph"), ids(event, "original"),
                ids(event, "node"), ids(event, "original_node"), ids(event, "dependency"),
                ids(event, "exec"), event.get("node_type"), event.get("context_id"),
                event.get("module_id") if event["id"] != 8 else None,
                streams.name(stream[2]) if stream else None,
                event.get("context", "0x0") != "0x0")
    return ("state", event["id"])


def callbacks(log):
    """Thread name -> its callbacks. Threads are numbered as they first appear."""
    threads, streams, rearranging, has_memory_nodes = {}, Streams(), set(), set()
    for event in log.events:
        if event["e"] not in ("driver", "resource", "state"):
            continue
        thread = event["t"]
        sequence = threads.setdefault(thread, [])
        resource = event["id"] if event["e"] == "resource" else None
        if event["e"] == "driver":
            has_memory_nodes.discard(thread)
        if resource == NODE_CREATE_STARTING and event["node_type"] in (MEMCPY_NODE, MEMSET_NODE):
            has_memory_nodes.add(thread)
        if resource == EXEC_CREATED:
            rearranging.discard(thread)
        if thread in rearranging and (thread in has_memory_nodes or resource in (
                DEPENDENCY_CREATED, DEPENDENCY_DESTROYED)):
            continue
        if resource == EXEC_CREATE_STARTING:
            rearranging.add(thread)
        sequence.append(callback(event, streams))
    return [sort_dependency_runs(sequence) for sequence in threads.values()]


def sort_dependency_runs(sequence):
    out, run = [], []
    for item in sequence + [None]:
        if item and item[0] == "resource" and item[1] == DEPENDENCY_CREATED:
            run.append(item)
            continue
        out += sorted(run, key=repr)
        run = []
        if item:
            out.append(item)
    return out


def records(log):
    streams, out = Streams(), []
    for r in log.records:
        common = (r["kind"], r["contextId"], r["deviceId"], r["correlationId"], r["graphNodeId"],
                  r["graphId"], streams.name(r["streamId"]), r["isDeviceLaunched"], r["recordBytes"])
        if r["kind"] == KIND_CONCURRENT_KERNEL:
            out.append(common + (
                r["nameText"], r["gridX"], r["gridY"], r["gridZ"], r["blockX"], r["blockY"],
                r["blockZ"], r["clusterX"], r["clusterY"], r["clusterZ"], r["dynamicSharedMemory"],
                r["channelType"], r["completed"] == 0,
                r["completed"] in (0, r["end"]), r["start"] <= r["end"]))
        elif r["kind"] == KIND_MEMSET:
            out.append(common + (r["bytes"], r["memoryKind"]))
        elif r["kind"] == KIND_MEMCPY:
            out.append(common + (r["bytes"], r["copyKind"], r["srcKind"], r["dstKind"]))
    return out


def renumbered(sequence):
    """The callbacks with correlation, graph, node and stream ids numbered as the thread meets them."""
    numbers = {}

    def number(kind, value):
        return numbers.setdefault((kind, value), len(numbers))

    def id_pair(pair):
        # A node's id is its graph's number and its index there.
        if pair and pair[1] >> 32:
            return (pair[0], number("graph", pair[1] >> 32), pair[1] & 0xffffffff)
        return pair and (pair[0], number("graph", pair[1]))

    out = []
    for item in sequence:
        if item[0] == "driver":
            out.append(item[:4] + (number("call", item[4]),) + item[5:9] + (id_pair(item[9]),))
        elif item[0] == "resource":
            out.append(item[:2] + tuple(id_pair(p) for p in item[2:8]) + item[8:11] + item[12:])
        else:
            out.append(item)
    return out


def without_ids(all_records):
    return sorted((r[0],) + r[7:] for r in all_records)


def difference(what, recorded, made):
    for i, (a, b) in enumerate(zip(recorded, made)):
        if a != b:
            return f"{what} {i}:\n  recorded {a}\n  made     {b}"
    if len(recorded) != len(made):
        rest = (recorded if len(recorded) > len(made) else made)[min(len(recorded), len(made))]
        return f"{what}: {len(recorded)} recorded, {len(made)} made; first alone: {rest}"
    return None


def compare(recorded_path, made_path):
    """Lines that say what differs; none: nothing."""
    recorded, made = Log(recorded_path), Log(made_path)
    out = []
    a, b = callbacks(recorded), callbacks(made)
    if not any(a):
        out.append("no callback is recorded: there is nothing to compare")
    if len(a) != len(b):
        out.append(f"threads with callbacks: {len(a)} recorded, {len(b)} made")
    several = len(a) > 2
    if several:
        a, b = (sorted((renumbered(s) for s in x), key=repr) for x in (a, b))
    for t, (x, y) in enumerate(zip(a, b)):
        out.append(difference(f"thread {t}, callback", x, y))
    if recorded.records:  # a killed process leaves none
        x, y = records(recorded), records(made)
        if several:
            x, y = without_ids(x), without_ids(y)
        out.append(difference("record", x, y))
    return [line for line in out if line]


def main():
    lines = compare(*sys.argv[1:3])
    for line in lines:
        print(line)
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
