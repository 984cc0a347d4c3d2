// Activity buffers for CUPTI: small, pooled, bounded. Request and Release are called on whatever thread
// CUPTI uses. Never null: a dry pool gives a discard buffer, whose records are counted and dropped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace hotproof::tracer {

class BufferPool {
 public:
  static constexpr size_t kMaxBytes = 1 << 20;      // of one buffer
  static constexpr size_t kMinBytes = 32 << 10;
  static constexpr size_t kMaxBuffers = 128;        // pooled ones alive at a time
  static constexpr size_t kDiscardBytes = 16 << 10;

  struct Buffer {
    uint8_t* data = nullptr;
    size_t size = 0;
  };
  Buffer Request();
  // CUPTI has handed `data` over. False: it is not from here (another tool's), and nothing of it may be
  // touched.
  bool TakeBack(const uint8_t* data);
  // True if `data` was a discard buffer: what it holds was not kept for want of memory.
  static bool IsDiscard(const uint8_t* data);
  void Release(uint8_t* data);

  // Buffers are sized to fill in about 100 ms at this rate, so that an unfinished kernel holds back
  // little (CUPTI withholds a buffer that contains one); to kMaxBytes once many are out.
  void SetRate(double bytes_per_second);

 private:
  std::mutex mutex_;
  std::vector<uint8_t*> free_;
  std::vector<const uint8_t*> lent_;  // to CUPTI
  size_t alive_ = 0;
  std::atomic<size_t> size_{kMinBytes};
};

}  // namespace hotproof::tracer
