// A block of plain memory for each thread that launches something, zeroed, made at first use: threads of
// programs that never launch carry one pointer. Null when memory is short: callers then go without.
#pragma once

#include <pthread.h>

#include <cstdlib>

namespace hotproof::tracer {

template <typename Block>
class ThreadCacheOf {
 public:
  static Block* Get() { return block_ != nullptr ? block_ : Make(); }

 private:
  static Block* Make() {
    static const pthread_key_t key = [] {
      pthread_key_t made;
      pthread_key_create(&made, [](void* memory) {
        block_ = nullptr;
        std::free(memory);
      });
      return made;
    }();
    block_ = static_cast<Block*>(std::calloc(1, sizeof(Block)));
    if (block_ != nullptr) pthread_setspecific(key, block_);
    return block_;
  }
  static inline thread_local Block* block_ = nullptr;
};

}  // namespace hotproof::tracer
