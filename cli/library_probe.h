// Loads a CUDA library in a forked child and asks it a question, so that a broken library cannot
// take the program with it and nothing stays loaded. Call it while the process has one thread.
#pragma once

#include <functional>
#include <string>

namespace hotproof::cli {

struct ProbeAnswer {
  bool ok = false;
  std::string text;  // the answer, or in one line what went wrong
};

// Runs `question` in a forked child that has `timeout_seconds`; it returns the answer, and throws
// nothing.
ProbeAnswer AskInChild(const std::function<ProbeAnswer()>& question, unsigned timeout_seconds = 20);

struct LoadedLibrary {
  bool found = false;
  std::string path;   // where the loader found it
  int version = 0;    // what its version function says
  std::string error;  // why it did not load
};

// libcupti: loads `name` and calls cuptiGetVersion. Does not start CUDA.
LoadedLibrary ProbeCupti(const std::string& name);

// libcuda.so.1: loads it and calls cuDriverGetVersion (13000 is 13.0). Does not start CUDA.
LoadedLibrary ProbeDriverLibrary();

// Starts CUDA: cuInit, a context on the first device, and CUPTI's kernel records switched on and
// off. The answer names the devices.
ProbeAnswer ProbeCuda(const std::string& cupti_name);

}  // namespace hotproof::cli
