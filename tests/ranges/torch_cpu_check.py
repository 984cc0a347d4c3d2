"""The torch hook in a real torch, on a machine without a GPU; exit code 77 where torch is not installed:
    hotproof run --torch-ops -o NEW_FOLDER -- python3 tests/ranges/torch_cpu_check.py eager inductor
Checks that the hook is in place before Dynamo, that graphs are what they are without it, and that torch.profiler
works. Arguments: torch.compile's backends to try."""
import sys

try:
    import torch
except ImportError:
    sys.exit(77)

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
    assert wrapper.__name__ == wrapper.__globals__["original_call"].__name__
    assert len(graphs) == 2 and graphs[0] == graphs[1], graphs
    for backend in sys.argv[1:]:
        torch._dynamo.reset()
        counters.clear()
        compiled = torch.compile(model, fullgraph=True, backend=backend)
        assert torch.allclose(compiled(x), expected, atol=1e-5)
        assert not counters["graph_break"] and counters["stats"]["unique_graphs"] == 1, counters


def compiled_frames(call, program):
    """What Dynamo makes of `program()`: its counters, or the error's type, and the files it compiled frames of."""
    from torch._dynamo import convert_frame
    torch.nn.Module.__call__ = call
    torch._dynamo.reset()
    counters.clear()
    files, compile_frame = set(), convert_frame._compile

    def seen(code, *arguments, **options):
        files.add(code.co_filename)
        return compile_frame(code, *arguments, **options)

    convert_frame._compile = seen
    try:
        error = program()
    except Exception as raised:
        error = type(raised).__name__
    finally:
        convert_frame._compile, torch.nn.Module.__call__ = compile_frame, wrapper
    return error, sorted(files), dict(counters["frames"]), sum(counters["graph_break"].values())


@torch._dynamo.disable
def hook(module, arguments):
    return None


def with_disabled_hook():
    hooked = Block()
    hooked.register_forward_pre_hook(hook)
    torch.compile(hooked, fullgraph=True, backend="eager")(x)


class Breaking(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()

    def forward(self, x):
        x = self.first(x)
        torch._dynamo.graph_break()
        return self.second(x)


def with_graph_break():
    torch.compile(torch.nn.Sequential(Breaking(), Breaking()), backend="eager")(x)


for program in (with_disabled_hook, with_graph_break):
    with_wrapper, without = (compiled_frames(call, program)
                             for call in (wrapper, wrapper.__globals__["original_call"]))
    assert with_wrapper == without, (program.__name__, with_wrapper, without)
print("torch", torch.__version__, "ok:", " ".join(sys.argv[1:]))
