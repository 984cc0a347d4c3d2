// The faults that FAKE_CUDA_FAULTS asks for: names separated by commas, some with "=number". An
// unknown name ends the process with exit code 71: a test that names a fault must get it.
//
//   dropped_records=k     CUPTI drops every k-th kernel record and counts it as dropped
//   zero_timestamps=k     every k-th kernel record has start = end = 0
//   another_subscriber    cuptiSubscribe: the holder is "CUPTI for somebody else"
//   kill_at_launch=n      SIGKILL when the n-th launch call returns
//   fatal_at_launch=n     CUPTI gives up inside the n-th launch call: STATE callback, then nothing
//   lost_records=k        like dropped_records, but CUPTI does not count them
//   late_correlation=k    every k-th kernel record carries the correlation id of the launch before
//   foreign_buffer        before the first buffer, one of another tool is handed over: no byte of it may be
//                         read, nor of the page before it
//   cupti_version=n       cuptiGetVersion says n
//   disable_deadlocks     cuptiActivityDisable must not be called: exit code 73
//
// Faults that need no switch: no CUPTI (a library path without it), a symbol missing (a library
// built without it), fork, _exit from a thread, a full disk, a read-only folder (the tests'
// programs and mounts).
#pragma once

#include <cstdint>

namespace fake_cuda {

struct Faults {
  uint64_t dropped_records = 0, zero_timestamps = 0, kill_at_launch = 0, fatal_at_launch = 0;
  uint64_t lost_records = 0, late_correlation = 0;
  uint64_t cupti_version = 130001;
  bool another_subscriber = false, disable_deadlocks = false, foreign_buffer = false;
};

const Faults& GetFaults();

}  // namespace fake_cuda
