// Begins a new file of the trace when the present one is large or old enough, or is no more where it
// was, and keeps the folder below its bound by removing the oldest closed ones, whosever they are: every
// trace's newest file has the sums of its others, so any of those may go at any time (proto/FORMAT.md,
// "Rotation"). Owned by TraceFile; called on the flush thread, under the trace's lock but where it says
// otherwise.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "trace/own_descriptor.h"
#include "trace/writer.h"

namespace hotproof::tracer {

struct RotationLimits {
  uint64_t file_bytes = 0;  // begin a new file behind this; 0: at no size
  uint64_t file_ns = 0;     // and after this; 0: at no time
  uint64_t folder_bytes =
      0;  // of everything in the folder, or as near as its newest files allow; 0: no bound
  bool any() const { return file_bytes != 0 || file_ns != 0 || folder_bytes != 0; }
};

class Rotation {
 public:
  // `stem`: of the trace, "<stem>.hpt" in `folder`, which outlives this.
  Rotation(const RotationLimits& limits, const trace::OwnDescriptor& folder, std::string stem,
           uint64_t now_ns);

  bool Due(const trace::Writer& writer, uint64_t now_ns) const;
  // On failure (why() says what) the writer goes on in its file, and it is not due again for a minute,
  // or ever where it would fail for ever.
  bool Rotate(trace::Writer& writer, uint64_t now_ns);
  const std::string& why() const { return why_; }
  // Removes the oldest closed files until the folder is below its bound. After each try to rotate,
  // without the trace's lock: it reads a folder of any size.
  void TrimFolder() const;

  // False: somebody has removed, replaced or cut off the file that is written to. Without the lock.
  bool FileStands(const trace::Writer& writer) const;
  // False for a minute after a failure.
  bool MayTry(uint64_t now_ns) const { return now_ns >= not_before_ns_; }
  // Rotates where the file does not stand: no name is left of it, what it held is known as sums.
  bool BeginAgain(trace::Writer& writer, uint64_t now_ns);

 private:
  bool Begin(trace::Writer& writer, uint64_t now_ns, bool old_file_stands);
  bool Publish(const std::string& new_name, bool old_file_stands);
  bool CloseOld(const std::string& name, const std::string& closed_name, bool& moved);
  bool Fail(const char* what, int error);

  RotationLimits limits_;
  const trace::OwnDescriptor& folder_;
  const std::string stem_;
  const std::string file_name_ = stem_ + ".hpt";
  uint32_t segment_ = 1;
  uint64_t began_ns_, not_before_ns_ = 0;
  uint64_t head_bytes_ = 0;  // of the first heads, which say nothing new; 0: the first file
  dev_t device_ = 0;         // of the present file
  ino_t inode_ = 0;
  std::string why_;
};

}  // namespace hotproof::tracer
