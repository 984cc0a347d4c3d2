#include "cli/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace hotproof::cli {
namespace {

constexpr int kPassedOn[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Child::Child() {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  for (int signal : kPassedOn) sigaddset(&mask, signal);
  sigprocmask(SIG_BLOCK, &mask, &old_mask_);
  signal_fd_ = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

Child::~Child() {
  close(signal_fd_);
  sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
}

int Child::Start(const std::vector<std::string>& command,
                 const std::vector<std::string>& environment) {
  // Orphans of the command become children of this process, so none is lost from sight.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int report[2];  // closed by a successful exec, else the errno comes through
  if (signal_fd_ < 0 || pipe2(report, O_CLOEXEC) != 0) return errno;
  std::vector<char*> arguments = Pointers(command);
  std::vector<char*> variables = Pointers(environment);
  const pid_t pid = fork();
  if (pid < 0) {
    const int error = errno;
    close(report[0]);
    close(report[1]);
    return error;
  }
  if (pid == 0) {
    sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
    execvpe(arguments[0], arguments.data(), variables.data());
    const int error = errno;
    ssize_t unused = write(report[1], &error, sizeof(error));
    _exit(unused > 0 ? 127 : 126);
  }
  close(report[1]);
  int error = 0;
  ssize_t n;
  do {
    n = read(report[0], &error, sizeof(error));
  } while (n < 0 && errno == EINTR);
  close(report[0]);
  if (n == static_cast<ssize_t>(sizeof(error))) {
    waitpid(pid, nullptr, 0);
    return error;
  }
  pid_ = pid;
  return 0;
}

void Child::Wait(int timeout_ms) {
  pollfd waiting = {signal_fd_, POLLIN, 0};
  poll(&waiting, 1, timeout_ms);
  signalfd_siginfo info;
  while (read(signal_fd_, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (ended_) {
      asked_to_stop_ = true;
    } else if (info.ssi_code != SI_KERNEL) {
      kill(pid_, signal);
    }
  }
  CollectEnded();
}

void Child::CollectEnded() {
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid != pid_) continue;
    ended_ = true;
    exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

}  // namespace hotproof::cli
