// Marks of NVTX whose text begins with "hotproof." are the tracer's marks.
#include "cupti_tracer/core/guard.h"
#include "cupti_tracer/core/session.h"
#include "cupti_tracer/interpose/nvtx_event.h"
#include "cupti_tracer/interpose/nvtx_names.h"
#include "cupti_tracer/interpose/nvtx_table.h"

namespace hotproof::tracer {
namespace {

NvtxNext<nvtxMarkEx_impl_fntype> next_mark_ex;
NvtxNext<nvtxMarkA_impl_fntype> next_mark_a;
NvtxNext<nvtxMarkW_impl_fntype> next_mark_w;
NvtxNext<nvtxDomainMarkEx_impl_fntype> next_domain_mark;

void OnMark(std::string_view text) {
  constexpr std::string_view kPrefix = "hotproof.";
  if (!text.starts_with(kPrefix)) return;
  if (Session* session = Session::Get()) {
    session->Mark(std::string(text.substr(kPrefix.size())).c_str());
  }
}

void OnMarkA(const char* text) {
  Guarded([text] { OnMark(NvtxView(text)); });
  if (const auto next = next_mark_a.load(std::memory_order_relaxed)) next(text);
}

void OnMarkW(const wchar_t* text) {
  Guarded([text] { OnMark(FromWide(text)); });
  if (const auto next = next_mark_w.load(std::memory_order_relaxed)) next(text);
}

void OnMarkEx(NvtxAttributes attributes) {
  Guarded([attributes] {
    std::string wide;
    OnMark(NvtxMessageOf(attributes, wide));
  });
  if (const auto next = next_mark_ex.load(std::memory_order_relaxed)) next(attributes);
}

void OnDomainMark(nvtxDomainHandle_t domain, NvtxAttributes attributes) {
  Guarded([attributes] {
    std::string wide;
    OnMark(NvtxMessageOf(attributes, wide));
  });
  if (const auto next = next_domain_mark.load(std::memory_order_relaxed)) next(domain, attributes);
}

}  // namespace

void TakeNvtxMarks(NvtxTable& core, NvtxTable& core2) {
  core.Take(NVTX_CBID_CORE_MarkEx, &OnMarkEx, next_mark_ex);
  core.Take(NVTX_CBID_CORE_MarkA, &OnMarkA, next_mark_a);
  core.Take(NVTX_CBID_CORE_MarkW, &OnMarkW, next_mark_w);
  core2.Take(NVTX_CBID_CORE2_DomainMarkEx, &OnDomainMark, next_domain_mark);
}

}  // namespace hotproof::tracer
