"""Small torch program for a transcript: eager work, a captured graph, replays, one Triton kernel."""
import torch
import triton
import triton.language as tl


@triton.jit
def add_one(x_ptr, n, block: tl.constexpr):
    offsets = tl.program_id(0) * block + tl.arange(0, block)
    mask = offsets < n
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask) + 1, mask)


x = torch.randn(64, 256, device="cuda", dtype=torch.bfloat16)
w = torch.randn(256, 256, device="cuda", dtype=torch.bfloat16)


def work():
    y = torch.nn.functional.linear(x, w)
    y = torch.relu(y)
    add_one[(64,)](y, y.numel(), 256)
    return y


side = torch.cuda.Stream()
with torch.cuda.stream(side):
    work()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = work()
for _ in range(3):
    graph.replay()
torch.cuda.synchronize()
print('{"scenario": "torch", "sum": %r}' % bool(torch.isfinite(out.float().sum()).item()))
