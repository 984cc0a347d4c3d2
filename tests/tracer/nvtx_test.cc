// The tracer's NVTX injection under NVTX's own header, statically injected.
#include "cupti_tracer/interpose/nvtx.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

int initialized = 0;

int Initialize(NvtxGetExportTableFunc_t get_export_table) {
  ++initialized;
  return hotproof::tracer::InitializeNvtx(get_export_table, "");
}

TEST(NvtxTest, MarksReturnAndAreSeenAgain) {
  InitializeInjectionNvtx2_fnptr = &Initialize;  // looked at before any environment variable
  // Without a chained tool nothing may be called through to: NVTX's first-call stub would call back.
  nvtxMarkA("hotproof.steady");
  nvtxMarkA("something else");
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "hotproof.steady";
  nvtxMarkEx(&attributes);
  nvtxMarkEx(nullptr);
  EXPECT_EQ(initialized, 1);
}

}  // namespace
