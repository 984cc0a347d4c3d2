#include "cupti_tracer/core/buffers.h"

#include <algorithm>
#include <cstdlib>

namespace hotproof::tracer {
namespace {

// CUPTI wants 8-byte alignment; a header in front of the data tells what the buffer is.
constexpr size_t kHeaderBytes = 64;
enum class Use : uint64_t { kPooled = 0x706f6f6cu, kDiscard = 0x64726f70u };

uint8_t* Allocate(size_t bytes, Use use) {
  auto* block = static_cast<uint8_t*>(std::aligned_alloc(kHeaderBytes, bytes + kHeaderBytes));
  if (block == nullptr) return nullptr;
  *reinterpret_cast<Use*>(block) = use;
  return block + kHeaderBytes;
}

}  // namespace

BufferPool::Buffer BufferPool::Request() {
  std::lock_guard lock(mutex_);
  lent_.reserve(lent_.size() + 1);
  uint8_t* data = nullptr;
  size_t bytes = size_.load(std::memory_order_relaxed);
  if (!free_.empty()) {
    data = free_.back();
    free_.pop_back();
  } else if (alive_ < kMaxBuffers) {
    data = Allocate(kMaxBytes, Use::kPooled);
    if (data != nullptr) ++alive_;
  }
  // Many are out, so whoever reads them is behind: then what counts is room, not how soon one comes back.
  if (alive_ - free_.size() > kMaxBuffers / 4) bytes = kMaxBytes;
  if (data == nullptr) {
    data = Allocate(kDiscardBytes, Use::kDiscard);
    bytes = data == nullptr ? 0 : kDiscardBytes;
  }
  if (data != nullptr) lent_.push_back(data);
  return {data, bytes};
}

bool BufferPool::TakeBack(const uint8_t* data) {
  std::lock_guard lock(mutex_);
  const auto found = std::find(lent_.begin(), lent_.end(), data);
  if (found == lent_.end()) return false;
  *found = lent_.back();
  lent_.pop_back();
  return true;
}

bool BufferPool::IsDiscard(const uint8_t* data) {
  return *reinterpret_cast<const Use*>(data - kHeaderBytes) == Use::kDiscard;
}

void BufferPool::Release(uint8_t* data) {
  if (data == nullptr) return;
  if (IsDiscard(data)) {
    std::free(data - kHeaderBytes);
    return;
  }
  std::lock_guard lock(mutex_);
  free_.push_back(data);
}

void BufferPool::SetRate(double bytes_per_second) {
  const double wanted = bytes_per_second * 0.1;
  const size_t bytes = std::clamp(static_cast<size_t>(wanted), kMinBytes, kMaxBytes);
  size_.store(bytes & ~size_t{4095}, std::memory_order_relaxed);
}

}  // namespace hotproof::tracer
