"""What tracing costs a replayed decode step: untraced, bare CUPTI probe, count and full, interleaved.

Four workers, alike but for what is loaded into them, each capture the same CUDA graph: the reference
model's 256 FP8 GEMMs at M = 8 in model order, each followed by small kernels (1,152 kernels in all, about
what a vLLM decode step launches). Then the modes take turns, one round of replays each, so that clocks
and neighbours are the same for all. Where its weights lie in memory moves a worker's time by up to 3%, far
more than what is sought: each round gets fresh weights and a fresh capture, and the mean over the rounds
is what to compare. Times are of CUDA events around a round, divided by its replays.

    python3 tests/device/overhead/overhead.py --library libhotproof.so --probe bare_probe.so [--rounds 20]

Prints one JSON line per mode: min, median, max, mean and its standard error over the rounds, in ms a replay.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
SMALL_KERNELS = 3  # after each GEMM; with the split-K reductions of 128 of them: 1,152 kernels


def worker(replays):
    sys.path.insert(0, str(ROOT / "examples"))
    import torch
    import torch_gemms as example
    shapes = (example.GATE_UP, example.DOWN, example.OUT, example.LIN_IN, example.QKV)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def measure():
        torch.cuda.empty_cache()
        padding = torch.empty(random.randrange(1 << 30), dtype=torch.uint8, device="cuda")
        gemm = {shape: example.BlockScaled(*shape) for shape in shapes}
        small = torch.zeros(4096, device="cuda")

        def step():
            for layer in range(example.LAYERS):
                for shape in (example.QKV if layer % 4 == 3 else example.LIN_IN, example.OUT, example.GATE_UP,
                              example.DOWN):
                    gemm[shape]()
                    for _ in range(SMALL_KERNELS):
                        small.add_(1)

        step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        for _ in range(5):
            graph.replay()
        start.record()
        for _ in range(replays):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        del padding
        return start.elapsed_time(end) / replays

    measure()
    print("ready", flush=True)
    for _ in sys.stdin:
        print(measure(), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", default="")
    parser.add_argument("--probe", default="")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--replays", type=int, default=50)
    parser.add_argument("--worker", action="store_true")
    args = parser.parse_args()
    if args.worker:
        return worker(args.replays)

    out = tempfile.mkdtemp()
    modes = {
        "untraced": {},
        "bare probe": {"CUDA_INJECTION64_PATH": os.path.abspath(args.probe)},
        "count": {"LD_PRELOAD": os.path.abspath(args.library), "HOTPROOF_OUT": out, "HOTPROOF_MODE": "count"},
        "full": {"LD_PRELOAD": os.path.abspath(args.library), "HOTPROOF_OUT": out},
        "untraced again": {},
    }
    command = [sys.executable, __file__, "--worker", "--replays", str(args.replays)]
    workers = {mode: subprocess.Popen(command, env={**os.environ, **variables}, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
               for mode, variables in modes.items()}
    for mode, process in workers.items():
        if process.stdout.readline().strip() != "ready":
            sys.exit(f"the worker for '{mode}' did not start")
    times = {mode: [] for mode in modes}
    for _ in range(args.rounds):
        for mode, process in workers.items():
            process.stdin.write("go\n")
            process.stdin.flush()
            times[mode].append(float(process.stdout.readline()))
    for process in workers.values():
        process.stdin.close()
        process.wait(30)
    base = statistics.mean(times["untraced"] + times["untraced again"])
    for mode, values in times.items():
        print(json.dumps({"mode": mode, "rounds": args.rounds, "replays": args.replays,
                          "ms_min": round(min(values), 4), "ms_median": round(statistics.median(values), 4),
                          "ms_max": round(max(values), 4), "ms_mean": round(statistics.mean(values), 4),
                          "ms_error": round(statistics.stdev(values) / len(values) ** 0.5, 4),
                          "mean_over_untraced": round(statistics.mean(values) / base, 4)}))


if __name__ == "__main__":
    main()
