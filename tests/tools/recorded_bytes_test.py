"""Whether make_trace's launches take as many bytes as those of the recording that they stand for,
examples/vllm-0.25.1-default-m8: in columns, each compressed by itself (column_sizes.py, which recodes the call times of
that recording's older format), by kind of chunk, in chunks as large as the recording's. Prints all figures.
Usage: recorded_bytes_test.py MAKE_TRACE BUILD_FOLDER SOURCE_FOLDER"""
import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_APART = 0.10
# Kind of chunk, make_trace's options. The recording's chunks of replays hold the eager launches between them, too.
GENERATED = {"eager": ["--launches", "60000", "--eager-percent", "100", "--chunk", "2500"],
             "replayed": ["--launches", "400000", "--chunk", "18000"]}


def measure(make_trace, recording):
    import column_sizes

    recorded = column_sizes.Sizes(recording)
    apart = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, options in GENERATED.items():
            path = os.path.join(folder, "a.hpt")
            subprocess.run([make_trace, *options, "--out", path], check=True)
            generated = column_sizes.Sizes(path)
            for sizes in (recorded, generated):
                assert sizes.launches[kind] > 40_000, (kind, sizes.launches)
                print(f"{os.path.basename(sizes.path)}: {kind}: {sizes.launches[kind]} launches (and "
                      f"{sizes.others[kind]} others), {sizes.each(kind):.3f} bytes each in columns, as frames "
                      f"{sizes.frames[kind] / sizes.launches[kind]:.3f}")
            ratio = generated.each(kind) / recorded.each(kind)
            print(f"{kind}: make_trace's over the recorded: {ratio:.3f}", flush=True)
            if abs(ratio - 1) > MOST_APART:
                apart.append(f"{kind}: {ratio:.3f}")
    if apart:
        sys.exit(f"make_trace's bytes over the recorded ones are not within {MOST_APART:.0%} of 1: {', '.join(apart)}")


def main(make_trace, build, source):
    try:
        import zstandard  # noqa: F401  (what the second reader needs)
        import xxhash  # noqa: F401
    except ImportError:
        sys.path.insert(0, os.path.join(HERE, "..", "trace"))
        import second_reader_test
        python = second_reader_test.interpreter(build)
        sys.exit(subprocess.run([python, os.path.abspath(__file__), make_trace, build, source]).returncode)
    (recording,) = glob.glob(os.path.join(source, "examples", "vllm-0.25.1-default-m8", "vm-3825-*.hpt"))
    measure(make_trace, recording)


if __name__ == "__main__":
    main(*sys.argv[1:])
