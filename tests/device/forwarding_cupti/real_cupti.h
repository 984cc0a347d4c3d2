// The real CUPTI behind the forwarder: the library in $REAL_CUPTI, loaded at the first call, and
// its functions by number. Any thread.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>

namespace forwarder {

enum Function {
#define X(name, arguments) k_##name,
#include "tests/device/forwarding_cupti/cupti_functions.inc"
#undef X
  kFunctionCount
};

// Every function of CUPTI takes whole words: ten of them serve any.
using Word = uint64_t;
using Generic = Word (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);

const char* FunctionName(Function f);
int ArgumentCount(Function f);  // -1: no header declares it
void* Real(Function f);         // null: the real one lacks it

template <typename Signature>
Signature* RealAs(Function f) {
  return reinterpret_cast<Signature*>(Real(f));
}
#define REAL(name) RealAs<decltype(name)>(k_##name)

}  // namespace forwarder
