"""As much of torch as the hook touches, over the stand-in driver: modules, one operator that launches a
kernel, the observer that names operators through NVTX, a compiler that traces without calling."""
from . import compiler  # noqa: F401
from .nn.modules import module  # noqa: F401
from . import autograd, nn  # noqa: F401
from .autograd import profiler  # noqa: F401
from ._ops import capture, mm, replay  # noqa: F401
