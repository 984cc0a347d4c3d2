// Begins a new file of the trace when the present one is large or old enough, and keeps the folder
// below its bound by removing the oldest closed ones, whosever they are: every trace's newest file
// has the sums of its others, so any of those may go at any time (proto/FORMAT.md, "Rotation").
// Owned by TraceFile; called on the flush thread, under the trace's lock but where it says otherwise.
#pragma once

#include <cstdint>
#include <string>

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
  // `stem`: of the trace, "<stem>.hpt" in `folder_fd`, which outlives this.
  Rotation(const RotationLimits& limits, int folder_fd, std::string stem, uint64_t now_ns);

  bool Due(const trace::Writer& writer, uint64_t now_ns) const;
  // On failure (why() says what) the writer goes on in its file, and it is not due again for a minute,
  // or ever where it would fail for ever.
  bool Rotate(trace::Writer& writer, uint64_t now_ns);
  const std::string& why() const { return why_; }
  // Removes the oldest closed files until the folder is below its bound. After each try to rotate,
  // without the trace's lock: it reads a folder of any size.
  void TrimFolder() const;

 private:
  bool Publish(const std::string& new_name);
  bool Fail(const char* what, int error);

  RotationLimits limits_;
  const int folder_;
  const std::string stem_;
  uint32_t segment_ = 1;
  uint64_t began_ns_, not_before_ns_ = 0;
  uint64_t head_bytes_ = 0;  // of the first head, which says nothing new; 0: the first file
  std::string why_;
};

}  // namespace hotproof::tracer
