"""What a forward pass of the vLLM recordings multiplies: rows of the table in docs/measurements/shapes.md, checked.

Usage: per_forward.py HOTPROOF EXAMPLES
Exit code 1: a recording's FP8 products, quantisers or sums are not what the model asks for.
"""
import collections
import json
import subprocess
import sys

RECORDINGS = {"vllm-0.25.1-default-m8": "flashinfer", "vllm-0.25.1-deepgemm-m8": "deep_gemm",
              "vllm-0.25.1-cutlass-m8": "cutlass_vllm"}
# Qwen3.5-27B's linear layers with FP8 weights: (N, K) and how many a forward has.
LAYERS = {(34816, 5120): 64, (5120, 17408): 64, (5120, 6144): 64, (16384, 5120): 48, (14336, 5120): 16}


def main():
    hotproof, examples = sys.argv[1:3]
    wrong = []
    for recording, path in RECORDINGS.items():
        report = json.loads(subprocess.run([hotproof, "report", f"{examples}/{recording}", "--format", "json"],
                                           check=True, capture_output=True, text=True).stdout)
        rows = report["gemms"]
        replayed = [row for row in rows if row.get("launchesPerReplay")]
        replays = {row["launches"] // row["launchesPerReplay"] for row in replayed
                   if row["scaling"] == "block" and row["m"] == 8 and not row["eagerLaunches"]}
        print(f"{recording}: {max(replays, default=0)} replays")
        per_replay, quantised = collections.Counter(), collections.Counter()
        for row in replayed:
            if row["scaling"] != "block" or row["m"] != 8:
                continue
            layer = row["n"], row["k"]
            if (row["path"], row["provenance"], row["aDtype"]) != (path, "arguments", "e4m3"):
                wrong.append(f"{recording}: {layer} by {row['path']}, {row['provenance']}")
            per_replay[layer] += row["launchesPerReplay"]
            quantised[layer] += row["quantLaunches"] / row["launches"]
            print(f"| 8 x {row['n']} x {row['k']} | {row['path']} | {row['launchesPerReplay']} | "
                  f"{row['quantLaunches'] / row['launches']:.2f} | {row['medianNs'] / 1000:.1f} |")
        if per_replay != LAYERS:
            wrong.append(f"{recording}: {dict(per_replay)}")
        wrong += [f"{recording}: {layer}: a quantiser for {share:.2f} of the products"
                  for layer, share in quantised.items() if not 0.999 < share < 1.001]
        for row in rows:
            if not all(row.get(dim) for dim in "mnk"):
                wrong.append(f"{recording}: unknown shape: {row['kernel']}")
            if row["aDtype"] == "bf16" and row.get("m") == 8:
                print(f"| 8 x {row['n']} x {row['k']} bf16 | {row['path']} | {row.get('launchesPerReplay', 0)} "
                      f"replayed, {row['eagerLaunches']} eager | | {row['medianNs'] / 1000:.1f} |")
        kinds = {row["kind"]: row["exclusiveTimeNs"] for row in report["kinds"]}
        everything = sum(kinds.values())
        for what, total, of in (
                ("GEMM rows", sum(row["exclusiveTimeNs"] for row in rows), kinds["gemm"]),
                ("kernels", sum(row["exclusiveTimeNs"] for row in report["kernels"]), everything),
                ("shares", round(sum(row["share"] for row in report["kinds"]) * 1e9), 10**9)):
            print(f"{what}: {total} of {of}")
            if abs(total - of) > 1000:
                wrong.append(f"{recording}: {what} add up to {total}, not {of}")
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
