// The stand-in CUPTI's common parts. Any thread.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include "tests/fake_cuda/interface.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace fake_cuda {

// The driver that this process uses; null when there is none or another one.
const DriverInterface* Driver();

// subscriber.cc: from now on the driver tells us what happens (a client subscribed or enabled a
// kind).
void Attach();
bool GaveUp();  // after a fatal error, or cuptiFinalize

// records.cc
size_t RecordBytes(CUpti_ActivityKind kind);  // 0: no such record here
void WriteRecord(const Work& work, void* at);

// activity.cc
void OnWork(const Work& work);
void StopActivities();

}  // namespace fake_cuda
