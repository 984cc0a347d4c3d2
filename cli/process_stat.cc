#include "cli/process_stat.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace hotproof::cli {

std::optional<ProcessStat> ReadProcessStat(pid_t pid, const std::string& proc) {
  std::ifstream file(proc + "/" + std::to_string(pid) + "/stat");
  std::stringstream contents;
  contents << file.rdbuf();
  const std::string text = contents.str();
  // The second field is the name in parentheses, which may itself hold anything.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  ProcessStat stat;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 48 && fields >> field; ++number) {
    const uint64_t value = std::strtoull(field.c_str(), nullptr, 10);
    switch (number) {
      case 3:
        stat.state = field[0];
        break;
      case 4:
        stat.parent_pid = static_cast<pid_t>(value);
        break;
      case 20:
        stat.threads = static_cast<int>(value);
        break;
      case 22:
        stat.start_ticks = value;
        break;
      case 28:
        stat.image.stack_address = value;
        break;
      case 48:
        stat.image.arguments_address = value;
        break;
      default:
        break;
    }
  }
  if (stat.start_ticks == 0) return std::nullopt;
  return stat;
}

pid_t NamespacePid(pid_t pid, const std::string& proc) {
  std::ifstream file(proc + "/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("NSpid:")) continue;  // from the namespace of `proc` down to its own
    const size_t last = line.find_last_of(" \t");
    return static_cast<pid_t>(std::strtol(line.c_str() + last + 1, nullptr, 10));
  }
  return 0;
}

std::string BootId() {
  std::string boot_id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id);
  return boot_id;
}

bool IsSeenRunning(uint32_t pid, uint64_t start_ticks, const std::string& boot_id) {
  if (start_ticks == 0 || boot_id.empty() || boot_id != BootId()) return false;
  const auto stat = ReadProcessStat(static_cast<pid_t>(pid));
  return stat && stat->runs() && stat->start_ticks == start_ticks;
}

}  // namespace hotproof::cli
