"""Serves the reference model with vLLM's OpenAI server, sends it rounds of M concurrent requests, stops it.

The model folder needs only a config.json (the one beside this file will do): weights are drawn by vLLM
(load format dummy), prompts are token ids, so nothing is downloaded. Whatever environment the command
has reaches the server: VLLM_BLOCKSCALE_FP8_GEMM_FLASHINFER=0 chooses DeepGEMM instead of the default.

    hotproof run -o DIR -- python3 examples/vllm/serve.py --model MODEL_DIR [--batch 8] [--tokens 16] [--rounds 2]
        [-- more options of the server, such as --enforce-eager]

Prints one JSON line: what was asked of the server.
"""
import argparse
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

def server_command(args):
    options = {
        "--model": args.model, "--host": "127.0.0.1", "--port": str(args.port), "--load-format": "dummy",
        "--max-model-len": "2048", "--max-num-seqs": "16", "--max-num-batched-tokens": "2048",
        "--gpu-memory-utilization": "0.6", "--gdn-prefill-backend": "triton", "--seed": "0",
        "--kernel-config": json.dumps({"enable_flashinfer_autotune": False}),
        "--compilation-config": json.dumps({"cudagraph_capture_sizes": [1, 2, 4, 8, 16]}),
    }
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--skip-tokenizer-init",
               "--language-model-only"]
    if args.kv_cache_gib:  # several servers on one GPU: vLLM then does not size its cache by what is free
        options["--gpu-memory-utilization"] = "0.2"
        options["--kv-cache-memory-bytes"] = str(int(args.kv_cache_gib * 2**30))
    for flag, value in options.items():
        command += [flag, value]
    return command + args.server_options


def post(port, path, body):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    return json.loads(urllib.request.urlopen(request, timeout=180).read())


def wait_until_healthy(server, port, limit_s):
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if server.poll() is not None:
            sys.exit(f"the server ended with {server.returncode} before it was healthy")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    sys.exit(f"the server was not healthy after {limit_s} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--log", default=os.devnull, help="the server's own output")
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--kv-cache-gib", type=float, default=0, help="of the GPU's memory; 0: vLLM's own choice")
    parser.add_argument("--limit", type=float, default=420, help="seconds to wait for the server")
    parser.add_argument("server_options", nargs="*")
    args = parser.parse_args()

    with open(args.log, "w") as log:
        server = subprocess.Popen(server_command(args), stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_until_healthy(server, args.port, args.limit)

            def complete(index):
                prompt = [100 + (7 * index + 13 * j) % 5000 for j in range(32)]
                answer = post(args.port, "/v1/completions", {"model": args.model, "prompt": prompt, "max_tokens": args.tokens,
                                                  "temperature": 0, "ignore_eos": True, "detokenize": False,
                                                  "return_token_ids": True})
                return answer["usage"]["completion_tokens"]

            rates = []
            with concurrent.futures.ThreadPoolExecutor(args.batch) as pool:
                for _ in range(args.rounds):
                    start = time.perf_counter()
                    tokens = sum(pool.map(complete, range(args.batch)))
                    rates.append(round(tokens / (time.perf_counter() - start), 1))
            time.sleep(1)  # vLLM ends its engine by SIGKILL: what it did last should be flushed by then
        finally:
            if server.poll() is None:
                server.send_signal(signal.SIGINT)
                try:
                    server.wait(30)
                except subprocess.TimeoutExpired:
                    server.kill()
    print(json.dumps({"batch": args.batch, "tokens": args.tokens, "rounds": args.rounds,
                      "tokens_per_s": rates, "server_exit": server.returncode}))


if __name__ == "__main__":
    main()
