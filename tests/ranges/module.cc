// A library with an NVTX of its own, as torch's and vLLM's libraries have.
#include <nvtx3/nvToolsExt.h>

extern "C" __attribute__((visibility("default"))) int ModulePush(const char* name) { return nvtxRangePushA(name); }
extern "C" __attribute__((visibility("default"))) int ModulePop() { return nvtxRangePop(); }
