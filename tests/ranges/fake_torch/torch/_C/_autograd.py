import threading

active = threading.local()  # torch's profilers are a thread's


def _enable_profiler(config, activities, scopes=None):
    if getattr(active, "state", None) is not None:
        raise RuntimeError("a profiler is on in this thread")
    active.state = config.state


def _prepare_profiler(config, activities):
    if getattr(active, "state", None) is not None:
        raise RuntimeError("a profiler is on in this thread")


def _disable_profiler():
    active.state = None
