"""Names torch's modules and operators to hotproof: a kernel that is launched, or captured into a CUDA graph,
while `model.layers.3.mlp` runs `aten::mm` is in the range `LlamaForCausalLM/model/layers.3/mlp/aten::mm`.

Modules: `torch.nn.Module.__call__` is wrapped as soon as torch has defined it, so before torch._dynamo is
imported. Dynamo knows torch's own call by what is there at its import, by its name and by its file: all three are
the wrapper's, which so is in no graph, breaks none and changes none. Compiled regions show no modules inside.
Operators: torch's own NVTX observer (what `torch.autograd.profiler.emit_nvtx` switches on), in C++ and per
thread; libhotproof.so is the NVTX injection that hears it. It makes way for torch.profiler.

HOTPROOF_TORCH_OPS=modules leaves operators out. Loaded by sitecustomize.py; nothing here imports torch.
"""
import atexit
import ctypes
import importlib.abc
import os
import sys
import threading
import types
import weakref

MODULE_FILE = "torch.nn.modules.module"  # defines nn.Module
torch = original_call = None  # the program's torch, once it has imported it, and its nn.Module.__call__


class Names:
    """Dotted names of modules, from the outermost one that was called."""

    def __init__(self):
        self._by_id = {}     # id -> (weak reference, dotted name)
        self._relative = {}  # (name, parent's name) -> bytes

    def of(self, module):
        known = self._by_id.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        root = type(module).__name__
        for name, part in module.named_modules():  # what was called by itself before is in something now
            self._by_id[id(part)] = (weakref.KeyedRef(part, self._forget, id(part)),
                                     root + "." + name if name else root)
        return self._by_id[id(module)][1]

    def _forget(self, reference):
        known = self._by_id.get(reference.key)
        if known is not None and known[0] is reference:
            del self._by_id[reference.key]

    def range_name(self, name, parent):
        """`name` without what the range around it says already, as bytes."""
        found = self._relative.get((name, parent))
        if found is None:
            short = name[len(parent) + 1:] if parent and name.startswith(parent + ".") else name
            if len(self._relative) > 100000:
                self._relative.clear()
            found = self._relative[(name, parent)] = short.encode("utf-8", "replace")
        return found


class _Observer:
    """torch's NVTX observer in one thread. torch complains of one that is still on when its thread ends: this
    is the thread's alone, so it is dropped there and then."""

    def __init__(self, switch_on, switch_off):
        self._switch_on, self._switch_off, self.on = switch_on, switch_off, False

    def begin(self):
        try:
            self._switch_on()
            self.on = True
        except Exception:
            pass  # a profiler is on, or this torch has no CUDA

    def end(self):
        if self.on:
            self.on = False
            self._switch_off()

    __del__ = end


class Operators:
    """The observer of each thread that asks for one, off while torch.profiler is on in that thread."""

    def __init__(self):
        self._local = threading.local()
        self._usable = False

    def ready(self):
        try:
            from torch._C._autograd import _disable_profiler, _enable_profiler
            from torch._C._profiler import ProfilerConfig, ProfilerState, _ExperimentalConfig
            config = ProfilerConfig(ProfilerState.NVTX, False, False, False, False, False,
                                    _ExperimentalConfig())
        except Exception:
            return  # another torch than this knows: modules only
        self._calls = (lambda: _enable_profiler(config, set())), _disable_profiler
        self._usable = True
        self._make_way(*(sys.modules.get("torch.autograd" + name) for name in ("", ".profiler", ".profiler_legacy")))

    def here(self):
        """This thread's operators are named from now on."""
        if self._usable and getattr(self._local, "observer", None) is None:
            self._local.observer = _Observer(*self._calls)
            self._local.observer.begin()
            if threading.current_thread() is threading.main_thread():
                atexit.register(self._local.observer.end)

    def _make_way(self, *modules):
        """torch allows one profiler a thread: ours ends before another begins, and comes back after it."""
        def wrap(call, leave, come_back):
            def wrapped(*arguments, **options):
                observer = getattr(self._local, "observer", None)
                if leave and observer is not None and observer.on:
                    observer.end()
                    self._local.away = True
                done = False
                try:
                    result = call(*arguments, **options)
                    done = True
                    return result
                finally:
                    if (come_back or not done) and getattr(self._local, "away", False):
                        self._local.away = False
                        self._local.observer.begin()
            return wrapped

        for module in modules:
            for suffix in ("", "_legacy"):
                for name, leave, come_back in (("_prepare_profiler", True, True), ("_enable_profiler", True, False),
                                               ("_disable_profiler", False, True)):
                    if hasattr(module, name + suffix):
                        setattr(module, name + suffix, wrap(getattr(module, name + suffix), leave, come_back))


def _functions():
    """libhotproof.so's push and pop; AttributeError where it is not loaded. The GIL is kept: they take
    less time than giving it away."""
    library = ctypes.PyDLL(None)
    push, pop = library.hotproof_range_push, library.hotproof_range_pop
    push.argtypes, push.restype = [ctypes.c_char_p], ctypes.c_int
    pop.argtypes, pop.restype = [], ctypes.c_int
    return push, pop


def wrap_module_call(module_class, push, pop, operators):
    global original_call
    names, local = Names(), threading.local()
    original = original_call = module_class.__call__

    def __call__(self, *args, **kwargs):
        if torch.compiler.is_compiling():  # a constant to Dynamo, should it come here after all
            return original(self, *args, **kwargs)
        try:
            parents = local.parents
        except AttributeError:
            parents = local.parents = [""]
            operators.here()
        try:
            name = names.of(self)
        except Exception:
            name = type(self).__name__
        push(names.range_name(name, parents[-1]))
        parents.append(name)
        try:
            return original(self, *args, **kwargs)
        finally:
            parents.pop()
            pop()

    # Dynamo goes by a function's name to know torch's call, and by its file to leave torch's frames alone.
    __call__.__name__, __call__.__qualname__ = original.__name__, original.__qualname__
    file = original.__code__.co_filename
    __call__.__code__ = _in_file(__call__.__code__, file)
    for owner in (Names, _Observer, Operators):
        for function in vars(owner).values():
            if isinstance(function, types.FunctionType):
                function.__code__ = _in_file(function.__code__, file)
    module_class.__call__ = __call__


def _in_file(code, file):
    """`code`, and the functions inside, as if they were in `file`."""
    return code.replace(co_filename=file, co_consts=tuple(
        _in_file(constant, file) if isinstance(constant, types.CodeType) else constant
        for constant in code.co_consts))


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls `actions[name](module)` right after the module `name` was executed."""

    def __init__(self, actions):
        self._actions, self._busy = actions, threading.local()

    def find_spec(self, name, path=None, target=None):
        if name not in self._actions or getattr(self._busy, "name", None) == name:
            return None
        self._busy.name = name
        try:
            spec = self._find(name, path, target)
        finally:
            self._busy.name = None
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        action, execute = self._actions[name], spec.loader.exec_module

        def exec_module(module):
            execute(module)
            try:
                action(module)
            except Exception as error:
                sys.stderr.write("hotproof: the torch hook is off: %r\n" % (error,))

        spec.loader.exec_module = exec_module
        return spec

    def _find(self, name, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None) if finder is not self else None
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                return spec
        return None


def install():
    """Readies the hook for when torch is imported. Raises AttributeError where libhotproof.so is missing."""
    push, pop = _functions()
    operators = Operators()

    def on_module_file(module):
        global torch
        torch = sys.modules["torch"]
        wrap_module_call(module.Module, push, pop, operators)

    def on_torch(module):
        if not hasattr(getattr(module, "compiler", None), "is_compiling"):  # before torch 2.3
            module.nn.Module.__call__ = original_call
        if os.environ.get("HOTPROOF_TORCH_OPS") != "modules":
            operators.ready()
            operators.here()

    sys.meta_path.insert(0, _AfterImport({MODULE_FILE: on_module_file, "torch": on_torch}))
