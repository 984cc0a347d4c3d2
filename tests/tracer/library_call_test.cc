#include "cupti_tracer/core/library_call.h"

#include <gtest/gtest.h>
#include <setjmp.h>

#include <thread>

namespace hotproof::tracer {
namespace {

const trace::LibraryCallEntry kOuter{.entry_point = "cublasGemmEx"},
    kInner{.entry_point = "cublasLtMatmul"};

// Not inlined, so that their scopes lie deeper than their callers'.
__attribute__((noinline)) void LeaveByJump(jmp_buf& back) {
  volatile char room[512];
  room[0] = 1;
  const LibraryCallScope scope(kOuter);
  EXPECT_EQ(CurrentLibraryCall::Get().call, &kOuter);
  longjmp(back, room[0]);
}
__attribute__((noinline)) const trace::LibraryCallEntry* CallSeenDeeper(int frames) {
  volatile char room[256];
  for (char& byte : const_cast<char(&)[256]>(room)) byte = static_cast<char>(frames);
  if (frames > 0) return CallSeenDeeper(frames - 1);
  return CurrentLibraryCall::Get().call;
}

TEST(LibraryCallTest, TheOutermostCounts) {
  EXPECT_EQ(CurrentLibraryCall::Get().call, nullptr);
  {
    const LibraryCallScope outer(kOuter);
    const uint64_t hash = CurrentLibraryCall::Get().hash;
    {
      const LibraryCallScope inner(kInner);
      EXPECT_EQ(CurrentLibraryCall::Get().call, &kOuter);
      EXPECT_EQ(CallSeenDeeper(20), &kOuter);
    }
    EXPECT_EQ(CurrentLibraryCall::Get().hash, hash);
    std::thread([] { EXPECT_EQ(CurrentLibraryCall::Get().call, nullptr); }).join();
  }
  EXPECT_EQ(CurrentLibraryCall::Get().call, nullptr);
  EXPECT_EQ(CurrentLibraryCall::Get().hash, 0u);
}

TEST(LibraryCallTest, AScopeLeftByLongjmpIsOver) {
  jmp_buf back;
  if (setjmp(back) == 0) LeaveByJump(back);
  EXPECT_EQ(CurrentLibraryCall::Get().call, nullptr);
  if (setjmp(back) == 0) LeaveByJump(back);
  EXPECT_FALSE(LibraryCallScope::IsNested());
  if (setjmp(back) == 0) LeaveByJump(back);
  EXPECT_EQ(CallSeenDeeper(20), nullptr) << "deeper than the scope was";
  if (setjmp(back) == 0) LeaveByJump(back);
  const LibraryCallScope next(kInner);
  EXPECT_EQ(CurrentLibraryCall::Get().call, &kInner);
}

}  // namespace
}  // namespace hotproof::tracer
