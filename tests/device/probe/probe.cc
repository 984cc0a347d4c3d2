// probe NAME: runs one scenario against the CUDA driver. Prints {"scenario": NAME, "counted": n}, n
// being what the kernels counted on the device. Exit 64: no such scenario; 69: no driver; 70: a
// call failed.
#include <cstdio>
#include <cstring>

#include "tests/device/probe/scenarios.h"

int main(int argc, char** argv) {
  const probe::Scenario* const tables[] = {probe::kEagerScenarios, probe::kGraphScenarios,
                                           probe::kProcessScenarios, probe::kRareScenarios};
  for (const probe::Scenario* table : tables) {
    for (; table->name != nullptr; ++table) {
      if (argc == 1) printf("%s\n", table->name);
      if (argc == 2 && strcmp(argv[1], table->name) == 0) {
        table->run();
        return 0;
      }
    }
  }
  return argc == 1 ? 0 : 64;
}
