"""Runs modules and operators of the stand-in torch. Launches are told apart by their grid."""
import os
import subprocess
import sys
import threading

import sitecustomize
import torch
from torch._ops import device

assert sitecustomize.chained, "the program's own sitecustomize did not run"
assert not any(os.path.basename(path) == "hotproof_python" for path in sys.path), sys.path
if sys.argv[1:] == ["child"]:
    torch.mm(9)
    sys.exit()


class Linear(torch.nn.Module):
    def __init__(self, grid):
        super().__init__()
        self.grid = grid

    def forward(self):
        torch.mm(self.grid)


class Sequence(torch.nn.Module):
    def forward(self):
        for part in self.parts.values():
            part()


class Model(Sequence):
    pass


class Failing(torch.nn.Module):
    def forward(self):
        torch.mm(5)
        raise ValueError


torch.mm(4)  # in no module
model = Model(layers=Sequence(gate=Linear(1), up=Linear(2)), head=Linear(3))
model.parts["head"]()  # known by itself first
model()
graph = torch.capture(model)
torch.replay(graph)
torch.replay(graph)
for _ in range(2):
    try:
        Failing()()
    except ValueError:
        pass
with torch.autograd.profiler.profile():  # ours makes way
    Linear(6)()
Linear(7)()
profiler = torch.autograd.profiler
profiler._prepare_profiler(profiler.ProfilerConfig(None, *range(6)), set())  # and begun by nobody: ours is back
Linear(10)()


class Idle(torch.nn.Module):
    def forward(self):
        pass


for names in (cell.cell_contents for cell in torch.nn.Module.__call__.__closure__ or ()):
    if hasattr(names, "_by_id"):  # the hook's: modules that are gone are forgotten
        before = len(names._by_id)
        for _ in range(3):
            Idle()()
        assert len(names._by_id) == before, names._by_id


def worker():
    device().use()
    Linear(8)()


thread = threading.Thread(target=worker)
thread.start()
thread.join()
torch.compiler.compiling = True
model()  # traced: no module is named
torch.compiler.compiling = False
assert model.__call__.__func__.__code__.co_filename == torch.nn.modules.module.__file__
subprocess.run([sys.executable, __file__, "child"], check=True)
