from . import _autograd, _profiler  # noqa: F401
