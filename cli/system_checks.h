// What this machine offers a traced run, one check after the other, as doctor.proto's message. Used
// by `hotproof doctor`; reads files, and loads libraries only in forked children (library_probe.h).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "cli/library_probe.h"
#include "proto/doctor.pb.h"

namespace hotproof::cli {

// Everything that the checks look at, so that a test can show them another machine.
struct Machine {
  std::string root;  // in front of /proc and /dev; "" for this machine
  std::map<std::string, std::string> environment;
  std::string folder = ".";  // where traces are to be written
  std::function<LoadedLibrary(const std::string& name)> probe_cupti = ProbeCupti;
  std::function<LoadedLibrary()> probe_driver = ProbeDriverLibrary;
  std::function<ProbeAnswer(const std::string& cupti)> probe_cuda;  // unset: CUDA is not started

  static Machine This();
  std::string Variable(const std::string& name) const;  // "" if unset
};

doctor::Report ExamineMachine(const Machine& machine);

// "13.0.1" for 130001, "12.8" for 26: CUPTI_API_VERSION as the toolkit's version.
std::string CuptiVersionName(unsigned version);

}  // namespace hotproof::cli
