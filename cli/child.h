// The command that `hotproof run` runs: started with an environment of its own, signals passed on,
// its end told as a shell would. Used by `run` on its only thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hotproof::cli {

// From construction to destruction the signals that end or steer a program are held back from this
// process and read by Wait instead; also those of its children.
class Child {
 public:
  Child();
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Starts `command` (looked up in PATH) with stdin, stdout and stderr as they are. `environment`:
  // NAME=VALUE. Returns 0, or the errno of what failed; then nothing runs.
  int Start(const std::vector<std::string>& command, const std::vector<std::string>& environment);

  // Waits up to `timeout_ms` for a signal. Passes the user's signals on to the command while it
  // runs (a terminal has told it already when the keyboard sent them), and collects processes that
  // ended.
  void Wait(int timeout_ms);

  bool ended() const { return ended_; }
  // Of the ended command: its exit code, or 128 + n when signal n ended it.
  int exit_code() const { return exit_code_; }
  // A signal to end came after the command had ended.
  bool asked_to_stop() const { return asked_to_stop_; }

 private:
  void CollectEnded();

  int signal_fd_ = -1;
  sigset_t old_mask_;
  pid_t pid_ = -1;
  bool ended_ = false, asked_to_stop_ = false;
  int exit_code_ = 0;
};

}  // namespace hotproof::cli
