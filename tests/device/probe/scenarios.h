// The probe's scenarios by name. Each makes its own Session, so that a process runs one scenario.
#pragma once

namespace probe {

struct Scenario {
  const char* name;
  void (*run)();
};

extern const Scenario kEagerScenarios[];  // ends with a null name
extern const Scenario kGraphScenarios[];
extern const Scenario kProcessScenarios[];
extern const Scenario kRareScenarios[];

}  // namespace probe
