"""Makes tests/tracer/h200_arguments/ of a run on a GPU: sites of traces beside the same launches' arguments as the
program passed them, which the forwarder logged under the tracer.

    HOTPROOF_CUPTI=FORWARDER REAL_CUPTI=LIBCUPTI FORWARD_ARGUMENTS=48 FORWARD_OUT=RUN/raw HOTPROOF_SHAPES_SHARE=0.2 \\
        run_shapes.sh HOTPROOF RUN/pairs SEED
    protoc --python_out=PB proto/trace.proto; PYTHONPATH=PB make_pairs.py RUN OUT [MOST]   # needs zstandard, protobuf

OUT: masked.hpt and unmasked.hpt, traces of tables alone with the same site ids, kernels and maps, and asked.tsv, the
shapes that were asked for. At most MOST (28) sites of a library.
"""
import glob
import json
import os
import sys

import zstandard
from proto import trace_pb2


def chunks(path):
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        frame = zstandard.ZstdDecompressor().decompressobj()
        text = frame.decompress(data[at:])
        at = len(data) - len(frame.unused_data)
        chunk = trace_pb2.Chunk()
        chunk.ParseFromString(text)
        yield chunk


def raw_launches(path):
    """(mangled name, grid) -> argument buffers at the kernel's own offsets, each once."""
    launches = {}
    for line in open(path):
        event = json.loads(line)
        if event["e"] != "arguments" or event["sym"] is None:
            continue
        pieces = [(offset, bytes.fromhex(text)) for offset, text in event["parameters"]]
        buffer = bytearray(max(offset + len(piece) for offset, piece in pieces))
        for offset, piece in pieces:
            buffer[offset:offset + len(piece)] = piece
        launches.setdefault((event["sym"], tuple(event["grid"])), {})[bytes(buffer)] = None
    return launches


def masked(buffer, site):
    out = bytearray(buffer)
    for offset in site.masked_offsets:
        out[offset:offset + 8] = bytes(8)
    for use in site.tensor_maps:
        out[use.argument_offset:use.argument_offset + 128] = bytes(128)
    return bytes(out)


class Trace:
    """Kernels, maps and sites of one file, with ids of the collection."""

    def __init__(self):
        self.head = None
        self.tables = trace_pb2.Chunk(sequence=1)

    def write(self, path):
        compressor = zstandard.ZstdCompressor(level=19, write_checksum=True)
        with open(path, "wb") as out:
            for chunk in (self.head, self.tables):
                out.write(compressor.compress(chunk.SerializeToString()))


def main():
    run, out, most = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 28
    os.makedirs(out, exist_ok=True)
    sides = Trace(), Trace()
    asked = []
    for folder in sorted(glob.glob(f"{run}/pairs/*")):
        library, taken, of_kernel = os.path.basename(folder), 0, {}
        for row in json.load(open(f"{folder}/asked.json")):
            if row["m"] is not None:
                asked.append((library, row["m"], row["n"], row["k"], row["batch"]))
        for path in glob.glob(f"{folder}/trace/*.hpt"):
            pid = os.path.basename(path).split("-")[1]
            if not os.path.exists(f"{run}/raw.{pid}.jsonl"):
                continue
            launches = raw_launches(f"{run}/raw.{pid}.jsonl")
            kernels, maps, kernel_ids, map_ids = {}, {}, {}, {}
            for chunk in chunks(path):
                if chunk.HasField("header") and sides[0].head is None:
                    for side in sides:
                        side.head = trace_pb2.Chunk(header=chunk.header)
                        for field in ("host", "boot_id", "arguments", "environment", "executable", "counters_file"):
                            side.head.header.ClearField(field)
                kernels.update((kernel.id, kernel) for kernel in chunk.kernels)
                maps.update((tensor_map.id, tensor_map) for tensor_map in chunk.tensor_maps)
                for site in chunk.sites:
                    kernel = kernels[site.kernel_id]
                    whole = max((o + s for o, s in zip(kernel.parameter_offsets, kernel.parameter_sizes)), default=0)
                    grid = site.grid_x, site.grid_y, site.grid_z
                    pair = next((raw for raw in launches.get((kernel.name, grid), ())
                                 if masked(raw, site) == site.arguments), None)
                    if (taken >= most or pair is None or len(site.arguments) != whole or whole < 16 or
                            of_kernel.get(kernel.name, 0) >= 8 or not is_product(kernel.name)):
                        continue
                    taken += 1
                    of_kernel[kernel.name] = of_kernel.get(kernel.name, 0) + 1
                    add(sides, library, kernel, site, pair, maps, kernel_ids, map_ids)
        print(library, taken)
    for side, name in zip(sides, ("masked", "unmasked")):
        side.write(f"{out}/{name}.hpt")
    with open(f"{out}/asked.tsv", "w") as file:
        for row in asked:
            print(*row, sep="\t", file=file)


def is_product(name):
    """No helper of torch's or of a library: what is left may still be none, its site then tells no shape."""
    return not any(word in name for word in ("2at6native", "splitKreduce", "quant", "scale_1x128"))


def add(sides, library, kernel, site, raw, maps, kernel_ids, map_ids):
    masked_side, raw_side = sides
    if kernel.id not in kernel_ids:
        kernel_ids[kernel.id] = len(masked_side.tables.kernels) + 1
        for side in sides:
            side.tables.kernels.add().CopyFrom(kernel)
            side.tables.kernels[-1].id = kernel_ids[kernel.id]
    for use in site.tensor_maps:
        if use.tensor_map_id and use.tensor_map_id not in map_ids:
            map_ids[use.tensor_map_id] = len(masked_side.tables.tensor_maps) + 1
            for side in sides:
                side.tables.tensor_maps.add().CopyFrom(maps[use.tensor_map_id])
                side.tables.tensor_maps[-1].id = map_ids[use.tensor_map_id]
    for side in sides:
        entry = side.tables.sites.add()
        entry.CopyFrom(site)
        entry.id = len(side.tables.sites)
        entry.kernel_id = kernel_ids[site.kernel_id]
        entry.launching_library = library
        entry.ClearField("library_call")  # the arguments have to tell
        for use in entry.tensor_maps:
            use.tensor_map_id = map_ids.get(use.tensor_map_id, 0)
    raw_side.tables.sites[-1].arguments = raw
    raw_side.tables.sites[-1].ClearField("masked_offsets")
    raw_side.tables.sites[-1].ClearField("tensor_maps")


if __name__ == "__main__":
    main()
