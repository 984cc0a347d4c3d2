// A block of plain memory for each thread that launches something, zeroed, made at first use: threads of
// programs that never launch carry one pointer. Null when memory is short: callers then go without.
#pragma once

#include <pthread.h>

#include <cstdlib>

namespace hotproof::tracer {

template <typename Block>
class ThreadCacheOf {
 public:
  static Block* Get() {
    Block* const block = Slot();
    return block != nullptr ? block : Make();
  }
  // Null as well where Get was not called in this thread yet.
  static Block* Find() { return Slot(); }

 private:
  // Where the thread's pointer is: beside what else its user looks up, if Block says so.
  static Block*& Slot() {
    if constexpr (requires { Block::Slot(); }) {
      return Block::Slot();
    } else {
      return block_;
    }
  }
  static Block* Make() {
    struct Key {
      Key() {
        made = pthread_key_create(&key, [](void* memory) {
                 Slot() = nullptr;
                 std::free(memory);
               }) == 0;
      }
      pthread_key_t key;
      bool made;
    };
    static const Key key;
    if (!key.made) return nullptr;  // the process has used up its keys: nobody would free the block
    auto* const block = static_cast<Block*>(std::calloc(1, sizeof(Block)));
    if (block == nullptr) return nullptr;
    if (pthread_setspecific(key.key, block) != 0) {
      std::free(block);
      return nullptr;
    }
    return Slot() = block;
  }
  static inline constinit thread_local Block* block_ = nullptr;
};

}  // namespace hotproof::tracer
