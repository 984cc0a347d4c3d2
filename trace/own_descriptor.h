// A descriptor that the tracer keeps in somebody else's process. The program may close it, as one does that
// becomes a daemon, and then has a file of its own under that number: whoever uses the number asks first.
// Owned by who opened the file, one thread at a time.
#pragma once

#include "trace/file_identity.h"

namespace hotproof::trace {

// `fd` under a number that a program neither takes for its stdin, stdout or stderr nor reaches when it closes
// its first few; close-on-exec. `fd` itself is closed. -1 (errno says why) where there is none, or `fd` is -1.
int OutOfTheWay(int fd);

class OwnDescriptor {
 public:
  OwnDescriptor() = default;
  // Takes `fd` over, out of the way. -1, or none to be had: valid() is false, errno says why.
  explicit OwnDescriptor(int fd);
  OwnDescriptor(OwnDescriptor&& other) noexcept;
  OwnDescriptor& operator=(OwnDescriptor&& other) noexcept;
  ~OwnDescriptor() { Close(); }

  bool valid() const { return fd_ >= 0; }
  // The number; -1: there is another file under it now, or none.
  int Ours() const;
  // Goes on with `fd` (taken over), which was opened anew, where it is the same file; else closes it.
  bool TakeAgain(int fd);
  // Nothing where the number is not ours any more.
  void Close();

 private:
  int fd_ = -1;
  FileIdentity identity_;
};

}  // namespace hotproof::trace
