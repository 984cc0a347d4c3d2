// The arguments of launches as the program passed them, byte for byte: FORWARD_ARGUMENTS=N makes
// the log hold these in place of callbacks and buffers, at most N different ones for each function.
// A line "arguments" has the kernel's mangled name, the grid, and offset and bytes (hexadecimal) of
// each parameter.
#pragma once

#include <cuda.h>
#include <cupti.h>

namespace forwarder {

bool LogsArguments();
// In the callback of a driver call, before the client's. Any thread.
void LogArguments(CUpti_CallbackId id, const CUpti_CallbackData& data);

}  // namespace forwarder
