// make_trace --launches N --out F [--level L] [--chunk N] [--seed S] [--eager-percent P]
// [--file-chunks N]: writes a synthetic trace of any size, the same bytes on every run.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/tools/synthetic_workload.h"

int main(int argc, char** argv) {
  hotproof::tools::SyntheticTraceOptions options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const uint64_t number = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--launches") == 0) {
      options.launches = number;
    } else if (std::strcmp(argv[i], "--out") == 0) {
      options.trace_path = argv[i + 1];
    } else if (std::strcmp(argv[i], "--level") == 0) {
      options.zstd_level = static_cast<int>(number);
    } else if (std::strcmp(argv[i], "--chunk") == 0) {
      options.chunk_entries = number;
    } else if (std::strcmp(argv[i], "--seed") == 0) {
      options.seed = number;
    } else if (std::strcmp(argv[i], "--eager-percent") == 0) {
      options.eager_percent = static_cast<uint32_t>(number);
    } else if (std::strcmp(argv[i], "--file-chunks") == 0) {
      options.file_chunks = number;
    } else {
      options.trace_path.clear();
      break;
    }
  }
  if (options.trace_path.empty() || options.launches == 0 || options.chunk_entries == 0 ||
      argc % 2 == 0) {
    std::fprintf(stderr,
                 "usage: make_trace --launches N --out FILE [--level L] [--chunk N] [--seed S] "
                 "[--eager-percent P] [--file-chunks N]\n");
    return 2;
  }
  const std::string error = hotproof::tools::WriteSyntheticTrace(options);
  if (!error.empty()) std::fprintf(stderr, "make_trace: %s\n", error.c_str());
  return error.empty() ? 0 : 1;
}
