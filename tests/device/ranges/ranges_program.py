"""A torch program whose every GEMM has a shape of its own, so that each row of the report tells where it ran.

ranges_program.py nvtx     ranges by torch.cuda.nvtx, eager and captured
ranges_program.py modules  modules (for run --torch-ops), eager, captured, compiled (fullgraph), compiled and captured
                           and under torch.profiler

Prints one JSON line: {"launches of N=": {"N": times the GEMM with that N was launched}, "same": True if results
of the compiled and the eager model agree}.
"""
import json
import sys

import torch

K, M = 1024, 64
launches = {}


def weight(n):
    torch.manual_seed(n)
    return torch.randn(n, K, device="cuda", dtype=torch.bfloat16)


def matmul(x, w, times=1):
    launches[w.shape[0]] = launches.get(w.shape[0], 0) + times
    return torch.nn.functional.linear(x, w)


def captured(function, replays):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        function()
    for _ in range(replays):
        graph.replay()
    torch.cuda.synchronize()


def nvtx():
    from torch.cuda import nvtx as ranges
    x = torch.randn(M, K, device="cuda", dtype=torch.bfloat16)
    weights = {n: weight(n) for n in (256, 320, 384, 448, 512)}
    for n in weights:  # cuBLAS is ready before anything is captured; in no range
        matmul(x, weights[n])
    torch.cuda.synchronize()
    ranges.range_push("eager")
    ranges.range_push("layer 0")
    matmul(x, weights[256])
    ranges.range_pop()
    request = ranges.range_start("request")
    ranges.range_push("layer 1")
    matmul(x, weights[320])
    ranges.range_end(request)
    matmul(x, weights[320])
    ranges.range_pop()
    ranges.range_pop()

    def work():
        for layer, n in ((0, 384), (1, 448)):
            ranges.range_push("captured layer %d" % layer)
            matmul(x, weights[n], times=3)
            ranges.range_pop()
        matmul(x, weights[512], times=3)

    captured(work, replays=3)


class Block(torch.nn.Module):
    def __init__(self, up, down):
        super().__init__()
        self.gate_up = torch.nn.Linear(K, up, bias=False)
        self.down = torch.nn.Linear(up, down, bias=False)

    def forward(self, x):
        return self.down(torch.relu(self.gate_up(x)))


class Model(torch.nn.Module):
    def __init__(self, *widths):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(up, K) for up in widths])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def count(model, times=1):
    for part in model.modules():
        if isinstance(part, torch.nn.Linear):
            key = f"{part.out_features}x{part.in_features}"
            launches[key] = launches.get(key, 0) + times


@torch.inference_mode()
def modules():
    x = torch.randn(M, K, device="cuda", dtype=torch.bfloat16)

    def make(*widths):
        torch.manual_seed(0)
        return Model(*widths).to("cuda", torch.bfloat16)

    eager = make(2048, 2304)
    eager(x)
    count(eager)
    torch.cuda.synchronize()
    captured(lambda: eager(x), replays=2)
    count(eager, 2)

    plain = make(2560, 2816)
    compiled = torch.compile(plain, fullgraph=True)  # an error if the hook broke the graph
    result = compiled(x)
    count(plain)
    torch.cuda.synchronize()
    captured(lambda: compiled(x), replays=2)
    count(plain, 2)
    reference = plain(x)
    count(plain)

    profiled = make(3072)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        profiled(x)
    count(profiled)
    torch.cuda.synchronize()
    seen = any("aten::mm" in event.key for event in profile.key_averages())
    after = make(3328)
    after(x)
    count(after)
    torch.cuda.synchronize()
    from torch._dynamo.utils import counters
    return {"same": bool(torch.allclose(result, reference, rtol=0.05, atol=0.05)), "profiler saw aten::mm": seen,
            "graph breaks": sum(counters["graph_break"].values()), "torch": torch.__version__}


found = {"nvtx": nvtx, "modules": modules}[sys.argv[1]]() or {}
torch.cuda.synchronize()
print(json.dumps({"launches": launches, **found}))
