// Where libcupti is looked for, as data: the tracer opens the first that loads, `hotproof doctor`
// tells which that would be. A copy that the process has loaded already comes before all of these
// but the one that HOTPROOF_CUPTI names. No state, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hotproof::trace {

inline constexpr std::string_view kCuptiSonames[] = {"libcupti.so.13", "libcupti.so.12"};

struct CuptiCandidate {
  std::string name;      // for dlopen: a path, or a soname for the loader to find
  std::string_view why;  // "HOTPROOF_CUPTI", "loader", "CUDA_HOME", "/usr/local/cuda"
};

// `hotproof_cupti`, `cuda_home`: the values of HOTPROOF_CUPTI and CUDA_HOME, empty if unset. A
// named library is the only candidate: a wrong name is an error, not a reason to take another one.
inline std::vector<CuptiCandidate> CuptiCandidates(std::string_view hotproof_cupti,
                                                   std::string_view cuda_home) {
  if (!hotproof_cupti.empty()) return {{std::string(hotproof_cupti), "HOTPROOF_CUPTI"}};
  std::vector<CuptiCandidate> candidates;
  for (std::string_view soname : kCuptiSonames) {
    candidates.push_back({std::string(soname), "loader"});
  }
  struct Home {
    std::string_view path, why;
  };
  for (const Home& home :
       {Home{cuda_home, "CUDA_HOME"}, Home{"/usr/local/cuda", "/usr/local/cuda"}}) {
    if (home.path.empty()) continue;
    for (std::string_view folder : {"/extras/CUPTI/lib64/", "/lib64/"}) {
      for (std::string_view soname : kCuptiSonames) {
        candidates.push_back(
            {std::string(home.path) + std::string(folder) + std::string(soname), home.why});
      }
    }
  }
  return candidates;
}

}  // namespace hotproof::trace
