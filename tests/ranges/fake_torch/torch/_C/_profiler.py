class ProfilerState:
    NVTX, KINETO = "nvtx", "kineto"


class ProfilerConfig:
    def __init__(self, state, *rest):
        assert len(rest) == 6, rest
        self.state = state


class _ExperimentalConfig:
    pass
