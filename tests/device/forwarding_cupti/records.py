"""Reads what the forwarding CUPTI left: <prefix>.<pid>.jsonl and <prefix>.<pid>.raw.

As a program: records.py FILE.jsonl prints every activity record, one JSON object a line, with every
field of the kernel records. As a module: Log(path) gives events, kernel records and callbacks.
Layouts are CUPTI 13.0's (kernel: CUpti_ActivityKernel10); kernel_layout.cc checks them.
"""
import json
import struct
import sys

KIND_MEMCPY, KIND_MEMSET, KIND_KERNEL, KIND_CONCURRENT_KERNEL = 1, 2, 3, 10
KIND_MEMCPY2, KIND_CUDA_EVENT, KIND_SYNCHRONIZATION = 22, 36, 38

# (field, offset, struct format). Padding fields are left out.
KERNEL = [
    ("kind", 0, "I"), ("cacheConfig", 4, "B"), ("sharedMemoryConfig", 5, "B"),
    ("registersPerThread", 6, "H"), ("partitionedGlobalCacheRequested", 8, "I"),
    ("partitionedGlobalCacheExecuted", 12, "I"), ("start", 16, "Q"), ("end", 24, "Q"),
    ("completed", 32, "Q"), ("deviceId", 40, "I"), ("contextId", 44, "I"), ("streamId", 48, "I"),
    ("gridX", 52, "i"), ("gridY", 56, "i"), ("gridZ", 60, "i"), ("blockX", 64, "i"),
    ("blockY", 68, "i"), ("blockZ", 72, "i"), ("staticSharedMemory", 76, "i"),
    ("dynamicSharedMemory", 80, "i"), ("localMemoryPerThread", 84, "I"),
    ("localMemoryTotal", 88, "I"), ("correlationId", 92, "I"), ("gridId", 96, "q"),
    ("name", 104, "Q"), ("queued", 120, "Q"), ("submitted", 128, "Q"), ("launchType", 136, "B"),
    ("isSharedMemoryCarveoutRequested", 137, "B"), ("sharedMemoryCarveoutRequested", 138, "B"),
    ("sharedMemoryExecuted", 140, "I"), ("graphNodeId", 144, "Q"), ("shmemLimitConfig", 152, "I"),
    ("graphId", 156, "I"), ("pAccessPolicyWindow", 160, "Q"), ("channelID", 168, "I"),
    ("channelType", 172, "I"), ("clusterX", 176, "I"), ("clusterY", 180, "I"),
    ("clusterZ", 184, "I"), ("clusterSchedulingPolicy", 188, "I"),
    ("localMemoryTotal_v2", 192, "Q"), ("maxPotentialClusterSize", 200, "I"),
    ("maxActiveClusters", 204, "I"), ("isDeviceLaunched", 208, "B"),
]
KERNEL_BYTES = 216
MEMSET = [
    ("kind", 0, "I"), ("value", 4, "I"), ("bytes", 8, "Q"), ("start", 16, "Q"), ("end", 24, "Q"),
    ("deviceId", 32, "I"), ("contextId", 36, "I"), ("streamId", 40, "I"),
    ("correlationId", 44, "I"), ("flags", 48, "H"), ("memoryKind", 50, "H"),
    ("graphNodeId", 64, "Q"), ("graphId", 72, "I"), ("channelID", 76, "I"),
    ("channelType", 80, "I"), ("isDeviceLaunched", 84, "B"),
]
MEMCPY = [
    ("kind", 0, "I"), ("copyKind", 4, "B"), ("srcKind", 5, "B"), ("dstKind", 6, "B"),
    ("flags", 7, "B"), ("bytes", 8, "Q"), ("start", 16, "Q"), ("end", 24, "Q"),
    ("deviceId", 32, "I"), ("contextId", 36, "I"), ("streamId", 40, "I"),
    ("correlationId", 44, "I"), ("runtimeCorrelationId", 48, "I"), ("graphNodeId", 64, "Q"),
    ("graphId", 72, "I"), ("channelID", 76, "I"), ("channelType", 80, "I"),
    ("isDeviceLaunched", 84, "B"), ("copyCount", 88, "Q"),
]
MEMCPY2 = [
    ("kind", 0, "I"), ("copyKind", 4, "B"), ("srcKind", 5, "B"), ("dstKind", 6, "B"),
    ("flags", 7, "B"), ("bytes", 8, "Q"), ("start", 16, "Q"), ("end", 24, "Q"),
    ("deviceId", 32, "I"), ("contextId", 36, "I"), ("streamId", 40, "I"), ("srcDeviceId", 44, "I"),
    ("srcContextId", 48, "I"), ("dstDeviceId", 52, "I"), ("dstContextId", 56, "I"),
    ("correlationId", 60, "I"), ("graphNodeId", 72, "Q"), ("graphId", 80, "I"),
    ("channelID", 84, "I"), ("channelType", 88, "I"),
]
SYNCHRONIZATION = [
    ("kind", 0, "I"), ("type", 4, "I"), ("start", 8, "Q"), ("end", 16, "Q"),
    ("correlationId", 24, "I"), ("contextId", 28, "I"), ("streamId", 32, "I"),
    ("cudaEventId", 36, "I"), ("cudaEventSyncId", 40, "Q"), ("returnValue", 48, "I"),
]
CUDA_EVENT = [
    ("kind", 0, "I"), ("correlationId", 4, "I"), ("contextId", 8, "I"), ("streamId", 12, "I"),
    ("eventId", 16, "I"), ("deviceId", 24, "I"), ("deviceTimestamp", 40, "Q"),
    ("cudaEventSyncId", 48, "Q"),
]
LAYOUTS = {KIND_KERNEL: KERNEL, KIND_CONCURRENT_KERNEL: KERNEL, KIND_MEMSET: MEMSET,
           KIND_MEMCPY: MEMCPY, KIND_MEMCPY2: MEMCPY2, KIND_SYNCHRONIZATION: SYNCHRONIZATION,
           KIND_CUDA_EVENT: CUDA_EVENT}
# Record sizes of the same versions, and what of a record is not read because it says nothing.
BYTES = {"Kernel": (KERNEL_BYTES, KERNEL), "Memset": (88, MEMSET), "Memcpy": (96, MEMCPY),
         "Memcpy2": (96, MEMCPY2), "Synchronization": (56, SYNCHRONIZATION),
         "CudaEvent": (56, CUDA_EVENT)}
OPERATIONS = (KIND_MEMCPY, KIND_MEMCPY2, KIND_MEMSET, KIND_SYNCHRONIZATION, KIND_CUDA_EVENT)
UNREAD = {"padding", "padding3", "reserved0", "pad", "pad2"}


def decode(data, base):
    """The record at `base` of `data` as a dict; a kind without a layout has its kind alone."""
    kind = struct.unpack_from("<I", data, base)[0]
    layout = LAYOUTS.get(kind, [("kind", 0, "I")])
    return {name: struct.unpack_from("<" + form, data, base + offset)[0]
            for name, offset, form in layout}


class Log:
    """One process's log. events: all lines in order; records: all activity records as dicts, in the
    order in which CUPTI handed them over, with the text of a kernel's name under "nameText"."""

    def __init__(self, path):
        with open(path, encoding="utf-8", errors="surrogateescape") as lines:
            self.events = [json.loads(line) for line in lines]
        self.events.sort(key=lambda event: event["s"])
        with open(path[: -len("jsonl")] + "raw", "rb") as file:
            self.raw = file.read()
        self.records = []
        names = {}
        for event in self.events:
            if event["e"] == "name":
                names[int(event["pointer"], 16)] = event["text"]
            elif event["e"] == "completed":
                self._add_buffer(event, names)

    def _add_buffer(self, event, names):
        base, end = event["raw_offset"], event["valid_size"]
        offsets = event["offsets"] + [end]
        for here, after in zip(offsets, offsets[1:]):
            record = decode(self.raw, base + here)
            record["recordBytes"] = after - here
            if "name" in record:
                if after - here != KERNEL_BYTES:
                    raise ValueError(f"kernel record of {after - here} bytes, {KERNEL_BYTES} known")
                record["nameText"] = names.get(record["name"])
            self.records.append(record)

    def kernels(self):
        return [r for r in self.records if r["kind"] in (KIND_KERNEL, KIND_CONCURRENT_KERNEL)]

    def operations(self):
        return [r for r in self.records if r["kind"] in OPERATIONS]

    def calls(self, domain, name=None):
        """Callbacks of a domain ("driver", "runtime", "resource", "api"), one function's or all."""
        return [e for e in self.events if e["e"] == domain and name in (None, e["f"])]


def main():
    for path in sys.argv[1:]:
        for record in Log(path).records:
            print(json.dumps(record))


if __name__ == "__main__":
    main()
