"""The torch hook in a real torch, on a machine without a GPU. By hand, where torch is installed:
    hotproof run --torch-ops -o NEW_FOLDER -- python3 tests/ranges/torch_cpu_check.py eager inductor
Checks that the hook is in place before Dynamo, that graphs are what they are without it, and that torch.profiler
works. Arguments: torch.compile's backends to try."""
import sys

import torch

assert torch.nn.Module.__call__.__module__ == "hotproof_torch", "run it under hotproof run --torch-ops"
assert "torch._dynamo" not in sys.modules
wrapper = torch.nn.Module.__call__


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


x, model = torch.randn(4, 16), torch.nn.Sequential(Block(), Block())
with torch.inference_mode():
    expected = model(x)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        model(x)
    assert any("aten::addmm" in event.key for event in profile.key_averages())
    from torch._dynamo.utils import counters
    graphs = []

    def keep(graph, inputs):
        graphs.append(graph.code)
        return graph.forward

    for call in (wrapper, wrapper.__globals__["original_call"]):  # with the wrapper, and as it would be without
        torch.nn.Module.__call__ = call
        torch._dynamo.reset()
        assert torch.allclose(torch.compile(model, fullgraph=True, backend=keep)(x), expected)
    torch.nn.Module.__call__ = wrapper
    assert len(graphs) == 2 and graphs[0] == graphs[1], graphs
    for backend in sys.argv[1:]:
        torch._dynamo.reset()
        counters.clear()
        compiled = torch.compile(model, fullgraph=True, backend=backend)
        assert torch.allclose(compiled(x), expected, atol=1e-5)
        assert not counters["graph_break"] and counters["stats"]["unique_graphs"] == 1, counters
print("torch", torch.__version__, "ok:", " ".join(sys.argv[1:]))
