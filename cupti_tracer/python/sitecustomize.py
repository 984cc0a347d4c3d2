"""Loaded by every Python that `hotproof run --torch-ops` starts (its folder is first in PYTHONPATH): readies
the torch hook, then runs the sitecustomize that would have been found without it."""
import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _ready_hook():
    spec = importlib.util.spec_from_file_location(
        "hotproof_torch", os.path.join(_here, "hotproof_torch.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["hotproof_torch"] = module
    spec.loader.exec_module(module)
    module.install()


def _chain():
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


# The program's module path is what it would be without us; its children find us by PYTHONPATH again.
sys.path[:] = [path for path in sys.path if not path or os.path.abspath(path) != _here]
if os.environ.get("HOTPROOF_TORCH_OPS") and os.environ.get("HOTPROOF_OUT"):
    try:
        _ready_hook()
    except Exception as error:  # never the program's trouble
        sys.stderr.write("hotproof: the torch hook is off: %r\n" % (error,))
_chain()
