// Buffers that are kept from chunk to chunk and filled anew. Used by the reader's decoders, on the
// thread whose buffer it is.
#pragma once

#include <cstddef>
#include <vector>

namespace hotproof::trace {

// `count` elements of any value. Where the buffer is too small nothing is copied, and chunks that
// hold a little more fit in, too.
template <typename T>
void ResizeToRefill(std::vector<T>& buffer, size_t count) {
  if (count > buffer.capacity()) {
    buffer.clear();
    buffer.reserve(count + count / 8);
  }
  buffer.resize(count);
}

}  // namespace hotproof::trace
