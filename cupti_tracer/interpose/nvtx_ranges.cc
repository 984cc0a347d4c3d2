// Ranges of NVTX, pushed and popped on a thread or started and ended anywhere: onto ranges/.
#include "cupti_tracer/core/guard.h"
#include "cupti_tracer/interpose/nvtx_event.h"
#include "cupti_tracer/interpose/nvtx_names.h"
#include "cupti_tracer/interpose/nvtx_table.h"
#include "cupti_tracer/ranges/range_domains.h"
#include "cupti_tracer/ranges/range_stack.h"

namespace hotproof::tracer {
namespace {

NvtxNext<nvtxRangePushEx_impl_fntype> next_push_ex;
NvtxNext<nvtxRangePushA_impl_fntype> next_push_a;
NvtxNext<nvtxRangePushW_impl_fntype> next_push_w;
NvtxNext<nvtxRangePop_impl_fntype> next_pop;
NvtxNext<nvtxDomainRangePushEx_impl_fntype> next_domain_push;
NvtxNext<nvtxDomainRangePop_impl_fntype> next_domain_pop;
NvtxNext<nvtxRangeStartEx_impl_fntype> next_start_ex;
NvtxNext<nvtxRangeStartA_impl_fntype> next_start_a;
NvtxNext<nvtxRangeStartW_impl_fntype> next_start_w;
NvtxNext<nvtxRangeEnd_impl_fntype> next_end;
NvtxNext<nvtxDomainRangeStartEx_impl_fntype> next_domain_start;
NvtxNext<nvtxDomainRangeEnd_impl_fntype> next_domain_end;

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

int Push(uint32_t domain, NvtxAttributes attributes) {
  return PushedWith(domain, [&] {
    std::string wide;
    RangeLabel label{NvtxMessageOf(attributes, wide), domain};
    if (!label.name.empty() && attributes->messageType == NVTX_MESSAGE_TYPE_ASCII) {
      label.name = KeptOfPushed(label.name);
    }
    SetNvtxPayload(attributes, label);
    return PushRange(label);
  });
}

int Answer(int level) { return HasNvtxTool() ? NVTX_NO_PUSH_POP_TRACKING : level; }

int OnPushA(const char* text) {
  const int level = PushRange({KeptOfPushed(NvtxView(text))});
  const auto next = next_push_a.load(std::memory_order_relaxed);
  return next == nullptr ? Answer(level) : next(text);
}

int OnPushW(const wchar_t* text) {
  const int level = PushedWith(kDefaultDomain, [text] { return PushRange({FromWide(text)}); });
  const auto next = next_push_w.load(std::memory_order_relaxed);
  return next == nullptr ? Answer(level) : next(text);
}

int OnPushEx(NvtxAttributes attributes) {
  const int level = Push(kDefaultDomain, attributes);
  const auto next = next_push_ex.load(std::memory_order_relaxed);
  return next == nullptr ? Answer(level) : next(attributes);
}

int OnPop() {
  const int level = PopRange(RangeSource::kPushPop, kDefaultDomain);
  const auto next = next_pop.load(std::memory_order_relaxed);
  return next == nullptr ? Answer(level) : next();
}

int OnDomainPush(nvtxDomainHandle_t domain, NvtxAttributes attributes) {
  const int level = Push(NvtxDomainOf(domain), attributes);
  const auto next = next_domain_push.load(std::memory_order_relaxed);
  return next == nullptr ? Answer(level) : next(domain, attributes);
}

int OnDomainPop(nvtxDomainHandle_t domain) {
  const int level = PopRange(RangeSource::kPushPop, NvtxDomainOf(domain));
  const auto next = next_domain_pop.load(std::memory_order_relaxed);
  return next == nullptr ? Answer(level) : next(domain);
}

// ---- start and end

// `id`: the chained tool's; 0: it gave none, and nobody can tell which range ends, or there is no
// tool.
nvtxRangeId_t Start(nvtxRangeId_t id, RangeLabel label) {
  if (id == 0 && HasNvtxTool()) return 0;
  if (id == 0) id = ProcessRanges::NewId();
  label.source = RangeSource::kStartEnd;
  Guarded([&] { ProcessRanges::Start(id, label); });
  return id;
}

nvtxRangeId_t OnStartA(const char* text) {
  const auto next = next_start_a.load(std::memory_order_relaxed);
  return Start(next == nullptr ? 0 : next(text), {NvtxView(text)});
}

nvtxRangeId_t OnStartW(const wchar_t* text) {
  const auto next = next_start_w.load(std::memory_order_relaxed);
  nvtxRangeId_t id = next == nullptr ? 0 : next(text);
  Guarded([&] { id = Start(id, {FromWide(text)}); });
  return id;
}

nvtxRangeId_t StartIn(uint32_t domain, nvtxRangeId_t id, NvtxAttributes attributes) {
  Guarded([&] {
    std::string wide;
    RangeLabel label{NvtxMessageOf(attributes, wide), domain};
    SetNvtxPayload(attributes, label);
    id = Start(id, label);
  });
  return id;
}

nvtxRangeId_t OnStartEx(NvtxAttributes attributes) {
  const auto next = next_start_ex.load(std::memory_order_relaxed);
  return StartIn(kDefaultDomain, next == nullptr ? 0 : next(attributes), attributes);
}

void OnEnd(nvtxRangeId_t id) {
  Guarded([id] { ProcessRanges::End(id); });
  if (const auto next = next_end.load(std::memory_order_relaxed)) next(id);
}

nvtxRangeId_t OnDomainStart(nvtxDomainHandle_t domain, NvtxAttributes attributes) {
  const auto next = next_domain_start.load(std::memory_order_relaxed);
  return StartIn(NvtxDomainOf(domain), next == nullptr ? 0 : next(domain, attributes), attributes);
}

void OnDomainEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  Guarded([id] { ProcessRanges::End(id); });
  if (const auto next = next_domain_end.load(std::memory_order_relaxed)) next(domain, id);
}

}  // namespace

void TakeNvtxRanges(NvtxTable& core, NvtxTable& core2) {
  core.Take(NVTX_CBID_CORE_RangePushEx, &OnPushEx, next_push_ex);
  core.Take(NVTX_CBID_CORE_RangePushA, &OnPushA, next_push_a);
  core.Take(NVTX_CBID_CORE_RangePushW, &OnPushW, next_push_w);
  core.Take(NVTX_CBID_CORE_RangePop, &OnPop, next_pop);
  core2.Take(NVTX_CBID_CORE2_DomainRangePushEx, &OnDomainPush, next_domain_push);
  core2.Take(NVTX_CBID_CORE2_DomainRangePop, &OnDomainPop, next_domain_pop);
  core.Take(NVTX_CBID_CORE_RangeStartEx, &OnStartEx, next_start_ex);
  core.Take(NVTX_CBID_CORE_RangeStartA, &OnStartA, next_start_a);
  core.Take(NVTX_CBID_CORE_RangeStartW, &OnStartW, next_start_w);
  core.Take(NVTX_CBID_CORE_RangeEnd, &OnEnd, next_end);
  core2.Take(NVTX_CBID_CORE2_DomainRangeStartEx, &OnDomainStart, next_domain_start);
  core2.Take(NVTX_CBID_CORE2_DomainRangeEnd, &OnDomainEnd, next_domain_end);
}

}  // namespace hotproof::tracer
