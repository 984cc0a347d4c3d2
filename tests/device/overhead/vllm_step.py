"""What tracing costs a vLLM decode step: untraced, bare CUPTI probe, count and full, interleaved on one GPU.

Four engines of the reference model (dummy weights, each in a process of its own) share the GPU's memory and take
turns, so that clocks and neighbours are the same for all: one engine decodes while the others wait. A step's time
is the difference of a long and a short generation over their tokens; prefill and fixed costs cancel.

    python3 tests/device/overhead/vllm_step.py --model MODEL_DIR --library libhotproof.so --probe bare_probe.so
        [--cupti LIBCUPTI] [--modes untraced,count,full,bare] [--batch 8] [--tokens 192] [--rounds 8]

Prints one JSON line a mode: the least, median, greatest and mean step over the rounds, in ms. MODEL_DIR needs a
config.json only. --dry prints what would be started.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

SHORT = 8  # tokens of the short generation


def worker(args):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM writes its log to the standard output
    from vllm import LLM, SamplingParams
    engine = LLM(model=args.model, load_format="dummy", skip_tokenizer_init=True, language_model_only=True,
                 max_model_len=2048, max_num_seqs=16, max_num_batched_tokens=2048,
                 gpu_memory_utilization=0.1, kv_cache_memory_bytes=int(args.kv_cache_gib * 2**30),
                 seed=0, gdn_prefill_backend="triton",
                 kernel_config={"enable_flashinfer_autotune": False},
                 compilation_config={"cudagraph_capture_sizes": [1, 2, 4, 8, 16]})  # as examples/vllm/serve.py
    prompts = [{"prompt_token_ids": [100 + (7 * i + 13 * j) % 5000 for j in range(32)]} for i in range(args.batch)]

    def seconds(tokens):
        sampling = SamplingParams(temperature=0.0, max_tokens=tokens, min_tokens=tokens, ignore_eos=True,
                                  detokenize=False)
        start = time.perf_counter()
        engine.generate(prompts, sampling, use_tqdm=False)
        return time.perf_counter() - start

    seconds(SHORT)
    seconds(SHORT)  # whatever compiles at first use has done so
    print("ready", file=answers, flush=True)
    for _ in sys.stdin:
        short = seconds(SHORT)
        print((seconds(SHORT + args.tokens) - short) / args.tokens * 1e3, file=answers, flush=True)


def environments(args, out):
    traced = {"LD_PRELOAD": os.path.abspath(args.library), "HOTPROOF_OUT": out}
    if args.cupti:
        traced["HOTPROOF_CUPTI"] = args.cupti
    bare = {"CUDA_INJECTION64_PATH": os.path.abspath(args.probe)}
    if args.cupti:
        bare["HOTPROOF_CUPTI"] = args.cupti
    every = {"untraced": {}, "count": {**traced, "HOTPROOF_MODE": "count"}, "full": traced, "bare": bare}
    return {mode: every[mode] for mode in args.modes.split(",")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--library", default="libhotproof.so")
    parser.add_argument("--probe", default="bare_probe.so")
    parser.add_argument("--cupti", default=os.environ.get("HOTPROOF_CUPTI", ""))
    parser.add_argument("--modes", default="untraced,count,full,bare")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=192)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--kv-cache-gib", type=float, default=1.5, help="of the GPU's memory, for each engine")
    parser.add_argument("--in-process", action="store_true", help="the engine in the worker: no process of its own")
    parser.add_argument("--worker", action="store_true")
    parser.add_argument("--dry", action="store_true")
    args = parser.parse_args()
    if args.worker:
        return worker(args)

    modes = environments(args, tempfile.mkdtemp())
    command = [sys.executable, os.path.abspath(__file__), "--worker", "--model", args.model, "--batch", str(args.batch),
               "--tokens", str(args.tokens), "--kv-cache-gib", str(args.kv_cache_gib)]
    common = {"VLLM_ENABLE_V1_MULTIPROCESSING": str(int(not args.in_process))}
    if args.dry:
        for mode, variables in modes.items():
            print(json.dumps({"mode": mode, "environment": {**common, **variables}, "command": command}))
        return None
    workers, times = {}, {mode: [] for mode in modes}
    # Side by side: with a cache of given size no engine measures the GPU's free memory.
    for mode, variables in modes.items():
        workers[mode] = subprocess.Popen(command, env={**os.environ, **common, **variables}, text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for mode, process in workers.items():
        if process.stdout.readline().strip() != "ready":
            sys.exit(f"the engine for '{mode}' did not start")
    for _ in range(args.rounds):
        for mode, process in workers.items():
            process.stdin.write("go\n")
            process.stdin.flush()
            times[mode].append(float(process.stdout.readline()))
    for process in workers.values():
        process.stdin.close()
    for process in workers.values():
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
    base = statistics.mean(times["untraced"]) if "untraced" in times else None
    for mode, values in times.items():
        print(json.dumps({"mode": mode, "batch": args.batch, "rounds": args.rounds, "tokens": args.tokens,
                          "ms_min": round(min(values), 4), "ms_median": round(statistics.median(values), 4),
                          "ms_max": round(max(values), 4), "ms_mean": round(statistics.mean(values), 4),
                          "mean_over_untraced": round(statistics.mean(values) / base, 4) if base else None}))
    return None


if __name__ == "__main__":
    main()
