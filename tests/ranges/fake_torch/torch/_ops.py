import ctypes
import itertools
import os

from torch._C._autograd import active

PTX = b""".visible .entry nvjet_sm90_tst_64x8_64x16_2x1_v_bz_TNT(.param .align 8 .b8 p[8]) { ret; }
"""
_cuda = ctypes.CDLL("libcuda.so.1")
_nvtx = ctypes.PyDLL(os.environ["RANGES_MODULE"])
_numbers = itertools.count(1)


def _check(result):
    assert result == 0, result


class _Device:
    def __init__(self):
        device, context = ctypes.c_int(), ctypes.c_void_p()
        module, self.kernel, self.stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        _check(_cuda.cuInit(0))
        _check(_cuda.cuDeviceGet(ctypes.byref(device), 0))
        _check(_cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self.context = context
        self.use()
        _check(_cuda.cuModuleLoadData(ctypes.byref(module), PTX))
        _check(_cuda.cuModuleGetFunction(ctypes.byref(self.kernel), module,
                                         b"nvjet_sm90_tst_64x8_64x16_2x1_v_bz_TNT"))
        _check(_cuda.cuStreamCreate(ctypes.byref(self.stream), 1))

    def use(self):
        _check(_cuda.cuCtxSetCurrent(self.context))


_device = None


def device():
    global _device
    if _device is None:
        _device = _Device()
    return _device


def mm(grid):
    """As torch's observer names it: with numbers that are others each time."""
    observed = getattr(active, "state", None) == "nvtx"
    if observed:
        number = next(_numbers)
        _nvtx.ModulePush(b"aten::mm, seq = %d, op_id = %d" % (number, 3 * number))
    argument = ctypes.c_uint64(0)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
    _check(_cuda.cuLaunchKernel(device().kernel, grid, 1, 1, 32, 1, 1, 0, device().stream, arguments, None))
    if observed:
        _nvtx.ModulePop()


def capture(function):
    graph, graph_exec = ctypes.c_void_p(), ctypes.c_void_p()
    _check(_cuda.cuStreamBeginCapture_v2(device().stream, 2))
    function()
    _check(_cuda.cuStreamEndCapture(device().stream, ctypes.byref(graph)))
    _check(_cuda.cuGraphInstantiateWithFlags(ctypes.byref(graph_exec), graph, ctypes.c_ulonglong(0)))
    return graph_exec


def replay(graph_exec):
    _check(_cuda.cuGraphLaunch(graph_exec, device().stream))
