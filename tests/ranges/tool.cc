// An NVTX tool: logs every call to the file NVTX_TOOL_LOG and answers with values of its own, so that a
// test sees whether each call arrives and each answer gets back. NVTX_TOOL_MODE: "null" gives no handles and
// no ids, "partial" leaves calls out, "fails" sets its functions and then says that it failed.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <mutex>

namespace {

void Log(const char* format, ...) {
  static FILE* const file = std::fopen(std::getenv("NVTX_TOOL_LOG"), "a");
  if (file == nullptr) return;
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(file, format, arguments);
  va_end(arguments);
  std::fflush(file);
}

bool Is(const char* mode) {
  const char* const asked = std::getenv("NVTX_TOOL_MODE");
  return asked != nullptr && std::strcmp(asked, mode) == 0;
}
bool gives_none = false;

int pushes = 0;
nvtxRangeId_t starts = 0;
uintptr_t handles = 0;

template <typename Handle>
Handle NewHandle() {
  return reinterpret_cast<Handle>(gives_none ? 0 : 0x5000 + 16 * ++handles);
}
nvtxRangeId_t NewId() { return gives_none ? 0 : 7000 + ++starts; }

void LogEvent(const char* call, const void* domain, const nvtxEventAttributes_t* a) {
  switch (a->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return Log("%s %p %s\n", call, domain, a->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return Log("%s %p wide %zu\n", call, domain, std::wcslen(a->message.unicode));
    default:
      return Log("%s %p handle %p\n", call, domain, static_cast<const void*>(a->message.registered));
  }
}

void MarkEx(const nvtxEventAttributes_t* a) { LogEvent("mark", nullptr, a); }
void MarkA(const char* text) { Log("mark %s\n", text); }
void MarkW(const wchar_t* text) { Log("mark wide %zu\n", std::wcslen(text)); }
nvtxRangeId_t StartEx(const nvtxEventAttributes_t* a) {
  LogEvent("start", nullptr, a);
  return NewId();
}
nvtxRangeId_t StartA(const char* text) {
  Log("start %s\n", text);
  return NewId();
}
nvtxRangeId_t StartW(const wchar_t* text) {
  Log("start wide %zu\n", std::wcslen(text));
  return NewId();
}
void End(nvtxRangeId_t id) { Log("end %llu\n", static_cast<unsigned long long>(id)); }
int PushEx(const nvtxEventAttributes_t* a) {
  LogEvent("push", nullptr, a);
  return 100 + ++pushes;
}
int PushA(const char* text) {
  Log("push %s\n", text);
  return 100 + ++pushes;
}
int PushW(const wchar_t* text) {
  Log("push wide %zu\n", std::wcslen(text));
  return 100 + ++pushes;
}
int Pop() {
  Log("pop\n");
  return 100 + pushes--;
}
void CategoryA(uint32_t category, const char* name) { Log("category %u %s\n", category, name); }
void DomainMark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) {
  LogEvent("mark", domain, a);
}
nvtxRangeId_t DomainStart(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) {
  LogEvent("start", domain, a);
  return NewId();
}
void DomainEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  Log("end %p %llu\n", static_cast<void*>(domain), static_cast<unsigned long long>(id));
}
int DomainPush(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) {
  LogEvent("push", domain, a);
  return 200 + ++pushes;
}
int DomainPop(nvtxDomainHandle_t domain) {
  Log("pop %p\n", static_cast<void*>(domain));
  return 200 + pushes--;
}
nvtxStringHandle_t StringA(nvtxDomainHandle_t domain, const char* text) {
  Log("string %p %s\n", static_cast<void*>(domain), text);
  return NewHandle<nvtxStringHandle_t>();
}
nvtxStringHandle_t StringW(nvtxDomainHandle_t domain, const wchar_t* text) {
  Log("string %p wide %zu\n", static_cast<void*>(domain), std::wcslen(text));
  return NewHandle<nvtxStringHandle_t>();
}
nvtxDomainHandle_t DomainA(const char* name) {
  Log("domain %s\n", name);
  return NewHandle<nvtxDomainHandle_t>();
}
nvtxDomainHandle_t DomainW(const wchar_t* name) {
  Log("domain wide %zu\n", std::wcslen(name));
  return NewHandle<nvtxDomainHandle_t>();
}
void DomainDestroy(nvtxDomainHandle_t domain) { Log("destroy %p\n", static_cast<void*>(domain)); }

template <typename Function>
void Set(NvtxFunctionTable table, unsigned id, Function function) {
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable core, core2;
  unsigned size;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &size) == 0 ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, &size) == 0) {
    return 0;
  }
  gives_none = Is("null");
  Set(core, NVTX_CBID_CORE_MarkEx, &MarkEx);
  Set(core, NVTX_CBID_CORE_MarkA, &MarkA);
  Set(core, NVTX_CBID_CORE_MarkW, &MarkW);
  Set(core, NVTX_CBID_CORE_RangeStartEx, &StartEx);
  if (!Is("partial")) {
    Set(core, NVTX_CBID_CORE_RangeStartA, &StartA);
    Set(core, NVTX_CBID_CORE_RangePushA, &PushA);
    Set(core2, NVTX_CBID_CORE2_DomainRegisterStringA, &StringA);
    Set(core2, NVTX_CBID_CORE2_DomainCreateA, &DomainA);
    Set(core2, NVTX_CBID_CORE2_DomainRangeStartEx, &DomainStart);
  }
  Set(core, NVTX_CBID_CORE_RangeStartW, &StartW);
  Set(core, NVTX_CBID_CORE_RangeEnd, &End);
  Set(core, NVTX_CBID_CORE_RangePushEx, &PushEx);
  Set(core, NVTX_CBID_CORE_RangePushW, &PushW);
  Set(core, NVTX_CBID_CORE_RangePop, &Pop);
  Set(core, NVTX_CBID_CORE_NameCategoryA, &CategoryA);
  Set(core2, NVTX_CBID_CORE2_DomainMarkEx, &DomainMark);
  Set(core2, NVTX_CBID_CORE2_DomainRangeEnd, &DomainEnd);
  Set(core2, NVTX_CBID_CORE2_DomainRangePushEx, &DomainPush);
  Set(core2, NVTX_CBID_CORE2_DomainRangePop, &DomainPop);
  Set(core2, NVTX_CBID_CORE2_DomainRegisterStringW, &StringW);
  Set(core2, NVTX_CBID_CORE2_DomainCreateW, &DomainW);
  Set(core2, NVTX_CBID_CORE2_DomainDestroy, &DomainDestroy);
  return Is("fails") ? 0 : 1;
}

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  Log("extension %u\n", static_cast<unsigned>(module->moduleId));
  return 1;
}
