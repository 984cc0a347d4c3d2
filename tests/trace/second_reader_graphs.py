"""Graphs as tables (proto/FORMAT.md, Tables): nodes, what else is in them, and what depends on what."""
from second_reader import MASK32, MASK64, sums

DELTA_CODED = {"node_ids": ("_nodes", MASK64), "node_sites": ("_sites", MASK32),
               "node_range_paths": ("node_range_paths", MASK32), "node_process_ranges": ("node_process_ranges", MASK32),
               "other_node_ids": ("other_node_ids", MASK64)}
SURROUNDINGS = ("other_node_ids", "other_node_types", "edges_known", "edge")


def decoded(graph, earlier):
    """A Graph with its columns as values and `edge`: [(from, to, data)]. `earlier`: those before it, decoded."""
    out = {"_nodes": [], "_sites": []}
    for name, value in graph.items():
        if name in DELTA_CODED:
            name, mask = DELTA_CODED[name]
            value = sums(value, mask)
        if name not in ("edge_from", "edge_to", "edge_data", "surroundings_of"):
            out[name] = value
    around = earlier.get(graph.get("surroundings_of", 0))
    if around:
        out.update({name: around[name] for name in SURROUNDINGS if name in around})
    else:
        begins, ends = (sums(graph.get(name, []), MASK32) for name in ("edge_from", "edge_to"))
        out["edge"] = list(zip(begins, ends, graph.get("edge_data") or [0] * len(begins)))
    return out


def all_decoded(graphs):
    out = {}
    for number, graph in graphs.items():
        out[number] = decoded(graph, out)
    return out
