// Cubins as images: how long one is and which kernels it has. What their parameters are is not
// read: a kernel of a cubin has none here.
#pragma once

#include <string>
#include <vector>

namespace fake_cuda {

bool IsElf(const void* code);
// By the file's own tables, as the driver takes it: from memory, without a size.
std::string ElfBytes(const void* code);
std::vector<std::string> ElfKernels(const std::string& bytes);

}  // namespace fake_cuda
