"""edges.py TRACES TRANSCRIPT.jsonl | edges.py --all RUNS TRANSCRIPTS.tar.xz: what depends on what in each executable graph of a trace is what CUPTI said of it.

TRACES is the folder of a run of one of the probe's scenarios under the tracer; the transcript is of the same scenario
under the bare client (docs/measurements/transcripts), which asks for CUPTI's callbacks about dependencies: the
tracer does not, and asks the driver for the edges instead. Ids are the same in both runs. A graph with child or conditional
nodes is not compared: the driver takes those apart. --all: of each of SCENARIOS, in RUNS/<scenario>/traces as run_differential.sh
leaves them. Exit code 0: equal, at least one graph compared (of each); 1: not; 2: usage.
"""
import glob
import os
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "forwarding_cupti"), os.path.join(HERE, "..", "..", "trace")]
import records  # noqa: E402
import second_reader  # noqa: E402
import second_reader_graphs  # noqa: E402
import second_reader_rotation  # noqa: E402

CREATE_STARTING, NODE_DESTROYED, DEPENDENCY_CREATED, DEPENDENCY_DESTROYED, EXEC_CREATED, NODE_CLONED = 12, 14, 15, 16, 18, 20
# Scenarios of the probe whose graphs have edges.
SCENARIOS = ("capture", "byhand", "memory", "forkjoin", "graphs", "update", "pdl", "graphthreads")
TAKEN_APART = {4, 13}  # CU_GRAPH_NODE_TYPE_GRAPH, _CONDITIONAL


def edges_by_exec(log):
    """Id of an executable graph -> its edges as pairs of node ids, by the dependencies of the graph it was made of."""
    taken_apart, edges, original, execs = set(), set(), {}, {}
    for event in log.events:
        if event["e"] != "resource":
            continue
        node = event["node"][2] if "node" in event else None
        if event["id"] == CREATE_STARTING and event["node_type"] in TAKEN_APART:
            taken_apart.add(event["graph"][2])
        elif event["id"] == NODE_DESTROYED:
            edges = {edge for edge in edges if node not in edge}
        elif event["id"] == DEPENDENCY_CREATED:
            edges.add((event["dependency"][2], node))
        elif event["id"] == DEPENDENCY_DESTROYED:
            edges.discard((event["dependency"][2], node))
        elif event["id"] == NODE_CLONED:
            original[node] = event["original_node"][2]
        elif event["id"] == EXEC_CREATED:
            graph, exec_id = event["graph"][2], event["exec"][2]
            clones = {source: clone for clone, source in original.items()
                      if clone >> 32 == exec_id and source >> 32 == graph}
            if clones and graph not in taken_apart:
                execs[exec_id] = {(clones[a], clones[b]) for a, b in edges if a in clones and b in clones}
    return execs


def compare(traces, transcript):
    """Prints what differs and how much was compared; whether all is equal and something was."""
    expected = edges_by_exec(records.Log(transcript))
    compared = edge_count = wrong = 0
    for path in sorted(glob.glob(os.path.join(traces, "*.hpt"))):
        graphs = second_reader_rotation.Trace(path).tables["graphs"]
        for graph in second_reader_graphs.all_decoded(graphs).values():
            of = graphs[graph["id"]]
            around = graphs.get(of.get("surroundings_of", 0), of)
            if of.get("exec_graph_id") not in expected or not around.get("edges_known") or of.get("replaces"):
                continue
            nodes = second_reader.sums(of.get("node_ids", []), second_reader.MASK64) + \
                second_reader.sums(around.get("other_node_ids", []), second_reader.MASK64)
            kept = {(nodes[a], nodes[b]) for a, b, _ in graph["edge"]}
            want = expected[of["exec_graph_id"]]
            compared += 1
            edge_count += len(want)
            if kept != want:
                wrong += 1
                print(f"exec {of['exec_graph_id']}: only CUPTI says {sorted(want - kept)[:3]}, only the trace "
                      f"{sorted(kept - want)[:3]}")
    print(f"edges of {compared} graphs, {edge_count} of them: {'equal' if not wrong else f'{wrong} graphs differ'}")
    return compared > 0 and not wrong


def compare_all(runs, archive):
    equal = True
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as tar:
        tar.extractall(folder)  # an archive of our own
        for scenario in SCENARIOS:
            print(f"{scenario}: ", end="", flush=True)
            transcript, = glob.glob(os.path.join(folder, scenario + ".*.jsonl"))
            equal &= compare(os.path.join(runs, scenario, "traces"), transcript)
    return equal


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--all":
        return 0 if compare_all(*sys.argv[2:]) else 1
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    return 0 if compare(*sys.argv[1:]) else 1


if __name__ == "__main__":
    sys.exit(main())
