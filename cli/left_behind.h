// How long `hotproof run` waits for processes that outlive the command: until none is left, it is
// asked to stop, or ten seconds of the caller's clock are over. One thread.
#pragma once

#include <chrono>

namespace hotproof::cli {

inline constexpr std::chrono::seconds kMostWaitForLeftBehind(10);

// look: looks again at who is left; whether to wait on. now: the clock. pause: waits a moment, or
// until something happens. True: the time was over.
template <typename Look, typename Now, typename Pause>
bool WaitForLeftBehind(Look look, Now now, Pause pause) {
  const auto deadline = now() + kMostWaitForLeftBehind;
  while (look()) {
    if (now() >= deadline) return true;
    pause();
  }
  return false;
}

}  // namespace hotproof::cli
