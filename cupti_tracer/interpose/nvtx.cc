#include "cupti_tracer/interpose/nvtx.h"

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "cupti_tracer/core/guard.h"
#include "cupti_tracer/core/session.h"
#include "cupti_tracer/interpose/nvtx_names.h"
#include "cupti_tracer/ranges/range_domains.h"
#include "cupti_tracer/ranges/range_stack.h"

namespace hotproof::tracer {
namespace {

using Attributes = const nvtxEventAttributes_t*;

// What the chained tool put in NVTX's tables; null where there is none. One for all modules: a tool gives
// every module the same functions.
template <typename Function>
using Next = std::atomic<Function>;

Next<nvtxMarkEx_impl_fntype> next_mark_ex;
Next<nvtxMarkA_impl_fntype> next_mark_a;
Next<nvtxMarkW_impl_fntype> next_mark_w;
Next<nvtxRangeStartEx_impl_fntype> next_start_ex;
Next<nvtxRangeStartA_impl_fntype> next_start_a;
Next<nvtxRangeStartW_impl_fntype> next_start_w;
Next<nvtxRangeEnd_impl_fntype> next_end;
Next<nvtxRangePushEx_impl_fntype> next_push_ex;
Next<nvtxRangePushA_impl_fntype> next_push_a;
Next<nvtxRangePushW_impl_fntype> next_push_w;
Next<nvtxRangePop_impl_fntype> next_pop;
Next<nvtxDomainMarkEx_impl_fntype> next_domain_mark;
Next<nvtxDomainRangeStartEx_impl_fntype> next_domain_start;
Next<nvtxDomainRangeEnd_impl_fntype> next_domain_end;
Next<nvtxDomainRangePushEx_impl_fntype> next_domain_push;
Next<nvtxDomainRangePop_impl_fntype> next_domain_pop;
Next<nvtxDomainRegisterStringA_impl_fntype> next_string_a;
Next<nvtxDomainRegisterStringW_impl_fntype> next_string_w;
Next<nvtxDomainCreateA_impl_fntype> next_domain_a;
Next<nvtxDomainCreateW_impl_fntype> next_domain_w;

// Then the program has the tool's answers alone, none and null included: what we made up would go
// back to it.
std::atomic<bool> has_tool{false};

bool HasTool() { return has_tool.load(std::memory_order_relaxed); }

// ---- what is said in a call

std::string_view View(const char* text) { return text == nullptr ? std::string_view() : text; }

uint32_t DomainOf(nvtxDomainHandle_t handle) {
  if (handle == nullptr) return kDefaultDomain;
  const NvtxText* known = NvtxNames::Find(handle);
  return known == nullptr ? kMaxDomains : known->domain;
}

// `wide` holds the text if it has to be converted, as long as the view is used.
std::string_view MessageOf(Attributes attributes, std::string& wide) {
  constexpr size_t kNeeded = offsetof(nvtxEventAttributes_t, message) + sizeof(nvtxMessageValue_t);
  if (attributes == nullptr || attributes->size < kNeeded) return {};
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return View(attributes->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      wide = FromWide(attributes->message.unicode);
      return wide;
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const NvtxText* known = NvtxNames::Find(attributes->message.registered);
      if (known != nullptr) return known->text;
      return attributes->message.registered == nullptr ? std::string_view() : NvtxNames::kMany;
    }
    default:
      return {};
  }
}

void SetPayload(Attributes attributes, RangeLabel& label) {
  constexpr size_t kNeeded = offsetof(nvtxEventAttributes_t, payload) + sizeof attributes->payload;
  if (attributes == nullptr || attributes->size < kNeeded) return;
  const auto take = [&label](PayloadKind kind, auto value) {
    static_assert(sizeof value == sizeof label.payload);
    label.payload_kind = kind;
    std::memcpy(&label.payload, &value, sizeof value);
  };
  switch (attributes->payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
      return take(PayloadKind::kUnsigned, attributes->payload.ullValue);
    case NVTX_PAYLOAD_TYPE_INT64:
      return take(PayloadKind::kSigned, attributes->payload.llValue);
    case NVTX_PAYLOAD_TYPE_DOUBLE:
      return take(PayloadKind::kDouble, attributes->payload.dValue);
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
      return take(PayloadKind::kUnsigned, uint64_t{attributes->payload.uiValue});
    case NVTX_PAYLOAD_TYPE_INT32:
      return take(PayloadKind::kSigned, int64_t{attributes->payload.iValue});
    case NVTX_PAYLOAD_TYPE_FLOAT:
      return take(PayloadKind::kDouble, double{attributes->payload.fValue});
    default:
      return;  // none, or a pointer to extended data
  }
}

void OnMark(std::string_view text) {
  constexpr std::string_view kPrefix = "hotproof.";
  if (!text.starts_with(kPrefix)) return;
  if (Session* session = Session::Get()) {
    session->Mark(std::string(text.substr(kPrefix.size())).c_str());
  }
}

// ---- push and pop

// `push` needs memory; without it the range has no name, for it will be popped.
template <typename Push>
int PushedWith(uint32_t domain, Push&& push) {
  int level = 0;
  bool pushed = false;
  Guarded([&] {
    level = push();
    pushed = true;
  });
  return pushed ? level : PushRange({{}, domain});
}

int Push(uint32_t domain, Attributes attributes) {
  return PushedWith(domain, [&] {
    std::string wide;
    RangeLabel label{MessageOf(attributes, wide), domain};
    if (!label.name.empty() && attributes->messageType == NVTX_MESSAGE_TYPE_ASCII) {
      label.name = KeptOfPushed(label.name);
    }
    SetPayload(attributes, label);
    return PushRange(label);
  });
}

int Answer(int level) { return HasTool() ? NVTX_NO_PUSH_POP_TRACKING : level; }

int OnPushA(const char* text) {
  const int level = PushRange({KeptOfPushed(View(text))});
  const auto next = next_push_a.load(std::memory_order_relaxed);
  return next == nullptr ? Answer(level) : next(text);
}

int OnPushW(const wchar_t* text) {
  const int level = PushedWith(kDefaultDomain, [text] { return PushRange({FromWide(text)}); });
  const auto next = next_push_w.load(std::memory_order_relaxed);
  return next == nullptr ? Answer(level) : next(text);
}

int OnPushEx(Attributes attributes) {
  const int level = Push(kDefaultDomain, attributes);
  const auto next = next_push_ex.load(std::memory_order_relaxed);
  return next == nullptr ? Answer(level) : next(attributes);
}

int OnPop() {
  const int level = PopRange(RangeSource::kPushPop, kDefaultDomain);
  const auto next = next_pop.load(std::memory_order_relaxed);
  return next == nullptr ? Answer(level) : next();
}

int OnDomainPush(nvtxDomainHandle_t domain, Attributes attributes) {
  const int level = Push(DomainOf(domain), attributes);
  const auto next = next_domain_push.load(std::memory_order_relaxed);
  return next == nullptr ? Answer(level) : next(domain, attributes);
}

int OnDomainPop(nvtxDomainHandle_t domain) {
  const int level = PopRange(RangeSource::kPushPop, DomainOf(domain));
  const auto next = next_domain_pop.load(std::memory_order_relaxed);
  return next == nullptr ? Answer(level) : next(domain);
}

// ---- start and end

// `id`: the chained tool's; 0: it gave none, and nobody can tell which range ends, or there is no
// tool.
nvtxRangeId_t Start(nvtxRangeId_t id, RangeLabel label) {
  if (id == 0 && HasTool()) return 0;
  if (id == 0) id = ProcessRanges::NewId();
  label.source = RangeSource::kStartEnd;
  Guarded([&] { ProcessRanges::Start(id, label); });
  return id;
}

nvtxRangeId_t OnStartA(const char* text) {
  const auto next = next_start_a.load(std::memory_order_relaxed);
  return Start(next == nullptr ? 0 : next(text), {View(text)});
}

nvtxRangeId_t OnStartW(const wchar_t* text) {
  const auto next = next_start_w.load(std::memory_order_relaxed);
  nvtxRangeId_t id = next == nullptr ? 0 : next(text);
  Guarded([&] { id = Start(id, {FromWide(text)}); });
  return id;
}

nvtxRangeId_t StartIn(uint32_t domain, nvtxRangeId_t id, Attributes attributes) {
  Guarded([&] {
    std::string wide;
    RangeLabel label{MessageOf(attributes, wide), domain};
    SetPayload(attributes, label);
    id = Start(id, label);
  });
  return id;
}

nvtxRangeId_t OnStartEx(Attributes attributes) {
  const auto next = next_start_ex.load(std::memory_order_relaxed);
  return StartIn(kDefaultDomain, next == nullptr ? 0 : next(attributes), attributes);
}

void OnEnd(nvtxRangeId_t id) {
  Guarded([id] { ProcessRanges::End(id); });
  if (const auto next = next_end.load(std::memory_order_relaxed)) next(id);
}

nvtxRangeId_t OnDomainStart(nvtxDomainHandle_t domain, Attributes attributes) {
  const auto next = next_domain_start.load(std::memory_order_relaxed);
  return StartIn(DomainOf(domain), next == nullptr ? 0 : next(domain, attributes), attributes);
}

void OnDomainEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  Guarded([id] { ProcessRanges::End(id); });
  if (const auto next = next_domain_end.load(std::memory_order_relaxed)) next(domain, id);
}

// ---- domains and strings: the program gets the chained tool's handles where there is one. What it
// gave no handle has no name here either.

template <typename Handle>
Handle Remember(const void* (*add)(const void*, std::string_view), Handle given,
                std::string_view text) {
  const void* handle = given;
  if (given == nullptr && HasTool()) return given;
  Guarded([&] { handle = add(given, text); });
  return reinterpret_cast<Handle>(const_cast<void*>(handle));
}

nvtxDomainHandle_t OnDomainA(const char* name) {
  const auto next = next_domain_a.load(std::memory_order_relaxed);
  const nvtxDomainHandle_t given = next == nullptr ? nullptr : next(name);
  return Remember(&NvtxNames::AddDomain, given, View(name));
}

nvtxDomainHandle_t OnDomainW(const wchar_t* name) {
  const auto next = next_domain_w.load(std::memory_order_relaxed);
  const nvtxDomainHandle_t given = next == nullptr ? nullptr : next(name);
  nvtxDomainHandle_t handle = given;
  Guarded([&] { handle = Remember(&NvtxNames::AddDomain, given, FromWide(name)); });
  return handle;
}

nvtxStringHandle_t OnStringA(nvtxDomainHandle_t domain, const char* text) {
  const auto next = next_string_a.load(std::memory_order_relaxed);
  const nvtxStringHandle_t given = next == nullptr ? nullptr : next(domain, text);
  return Remember(&NvtxNames::AddString, given, View(text));
}

nvtxStringHandle_t OnStringW(nvtxDomainHandle_t domain, const wchar_t* text) {
  const auto next = next_string_w.load(std::memory_order_relaxed);
  const nvtxStringHandle_t given = next == nullptr ? nullptr : next(domain, text);
  nvtxStringHandle_t handle = given;
  Guarded([&] { handle = Remember(&NvtxNames::AddString, given, FromWide(text)); });
  return handle;
}

// ---- marks

void OnMarkA(const char* text) {
  Guarded([text] { OnMark(View(text)); });
  if (const auto next = next_mark_a.load(std::memory_order_relaxed)) next(text);
}

void OnMarkW(const wchar_t* text) {
  Guarded([text] { OnMark(FromWide(text)); });
  if (const auto next = next_mark_w.load(std::memory_order_relaxed)) next(text);
}

void OnMarkEx(Attributes attributes) {
  Guarded([attributes] {
    std::string wide;
    OnMark(MessageOf(attributes, wide));
  });
  if (const auto next = next_mark_ex.load(std::memory_order_relaxed)) next(attributes);
}

void OnDomainMark(nvtxDomainHandle_t domain, Attributes attributes) {
  Guarded([attributes] {
    std::string wide;
    OnMark(MessageOf(attributes, wide));
  });
  if (const auto next = next_domain_mark.load(std::memory_order_relaxed)) next(domain, attributes);
}

// ---- NVTX's tables

// One module's table of functions. Before the chained tool is initialised its slots hold NVTX's own
// first-call stubs, which must not be called again afterwards; only what the tool put there is called
// through to.
class Table {
 public:
  Table(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &slots_, &size_) == 0) size_ = 0;
    if (size_ > kMost) size_ = kMost;
    for (unsigned id = 0; id < size_; ++id) {
      stubs_[id] = slots_[id] == nullptr ? nullptr : *slots_[id];
    }
  }

  void Restore() {
    for (unsigned id = 0; id < size_; ++id) {
      if (slots_[id] != nullptr) *slots_[id] = stubs_[id];
    }
  }

  template <typename Function>
  void Take(unsigned id, std::type_identity_t<Function> ours, Next<Function>& next) {
    if (id >= size_ || slots_[id] == nullptr) return;
    const NvtxFunctionPointer present = *slots_[id];
    const auto plain = reinterpret_cast<NvtxFunctionPointer>(ours);
    if (present != stubs_[id] && present != plain && present != nullptr) {
      next.store(reinterpret_cast<Function>(present), std::memory_order_relaxed);
    }
    *slots_[id] = plain;
  }

 private:
  static constexpr unsigned kMost = 32;
  NvtxFunctionTable slots_ = nullptr;
  unsigned size_ = 0;
  NvtxFunctionPointer stubs_[kMost] = {};
};

void TakeCore(Table& core) {
  core.Take(NVTX_CBID_CORE_MarkEx, &OnMarkEx, next_mark_ex);
  core.Take(NVTX_CBID_CORE_MarkA, &OnMarkA, next_mark_a);
  core.Take(NVTX_CBID_CORE_MarkW, &OnMarkW, next_mark_w);
  core.Take(NVTX_CBID_CORE_RangeStartEx, &OnStartEx, next_start_ex);
  core.Take(NVTX_CBID_CORE_RangeStartA, &OnStartA, next_start_a);
  core.Take(NVTX_CBID_CORE_RangeStartW, &OnStartW, next_start_w);
  core.Take(NVTX_CBID_CORE_RangeEnd, &OnEnd, next_end);
  core.Take(NVTX_CBID_CORE_RangePushEx, &OnPushEx, next_push_ex);
  core.Take(NVTX_CBID_CORE_RangePushA, &OnPushA, next_push_a);
  core.Take(NVTX_CBID_CORE_RangePushW, &OnPushW, next_push_w);
  core.Take(NVTX_CBID_CORE_RangePop, &OnPop, next_pop);
}

void TakeDomains(Table& core2) {
  core2.Take(NVTX_CBID_CORE2_DomainMarkEx, &OnDomainMark, next_domain_mark);
  core2.Take(NVTX_CBID_CORE2_DomainRangeStartEx, &OnDomainStart, next_domain_start);
  core2.Take(NVTX_CBID_CORE2_DomainRangeEnd, &OnDomainEnd, next_domain_end);
  core2.Take(NVTX_CBID_CORE2_DomainRangePushEx, &OnDomainPush, next_domain_push);
  core2.Take(NVTX_CBID_CORE2_DomainRangePop, &OnDomainPop, next_domain_pop);
  core2.Take(NVTX_CBID_CORE2_DomainRegisterStringA, &OnStringA, next_string_a);
  core2.Take(NVTX_CBID_CORE2_DomainRegisterStringW, &OnStringW, next_string_w);
  core2.Take(NVTX_CBID_CORE2_DomainCreateA, &OnDomainA, next_domain_a);
  core2.Take(NVTX_CBID_CORE2_DomainCreateW, &OnDomainW, next_domain_w);
}

void* ChainedEntry(const std::string& path, const char* name) {
  if (path.empty()) return nullptr;
  void* const library = dlopen(path.c_str(), RTLD_NOW);
  return library == nullptr ? nullptr : dlsym(library, name);
}

int InitializeChained(const std::string& path, NvtxGetExportTableFunc_t get_export_table) {
  auto* initialize = reinterpret_cast<NvtxInitializeInjectionNvtxFunc_t>(
      ChainedEntry(path, "InitializeInjectionNvtx2"));
  return initialize == nullptr ? 0 : initialize(get_export_table);
}

}  // namespace

int InitializeNvtx(NvtxGetExportTableFunc_t get_export_table, const std::string& chained_path) {
  ProcessRanges::Prepare();
  RangeDomainName(kDefaultDomain);
  NvtxNames::Prepare();
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(
      get_export_table == nullptr ? nullptr : get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) {
    return InitializeChained(chained_path, get_export_table);
  }
  Table core(*callbacks, NVTX_CB_MODULE_CORE), core2(*callbacks, NVTX_CB_MODULE_CORE2);
  if (InitializeChained(chained_path, get_export_table) != 0) {
    has_tool.store(true);
  } else {  // one that failed gets no calls, as without us
    core.Restore();
    core2.Restore();
  }
  TakeCore(core);
  TakeDomains(core2);
  return 1;
}

int InitializeChainedNvtxExtension(void* module_info, const std::string& chained_path) {
  auto* initialize = reinterpret_cast<int (*)(void*)>(
      ChainedEntry(chained_path, "InitializeInjectionNvtxExtension"));
  return initialize == nullptr ? 0 : initialize(module_info);
}

}  // namespace hotproof::tracer
