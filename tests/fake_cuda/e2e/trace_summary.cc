// trace_summary FOLDER...: what the traces of a run add up to, as text; for looking at what a test
// saw.
#include <cstdio>

#include "tests/fake_cuda/e2e/traced_program.h"

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    for (const auto& trace : hotproof::e2e::ReadTraces(argv[i]))
      fputs(trace.Describe().c_str(), stdout);
  return 0;
}
