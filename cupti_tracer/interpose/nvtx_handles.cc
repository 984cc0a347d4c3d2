// Domains and registered strings of NVTX: the program gets the chained tool's handles where there
// is one. What it gave no handle has no name here either.
#include "cupti_tracer/core/guard.h"
#include "cupti_tracer/interpose/nvtx_event.h"
#include "cupti_tracer/interpose/nvtx_names.h"
#include "cupti_tracer/interpose/nvtx_table.h"

namespace hotproof::tracer {
namespace {

NvtxNext<nvtxDomainRegisterStringA_impl_fntype> next_string_a;
NvtxNext<nvtxDomainRegisterStringW_impl_fntype> next_string_w;
NvtxNext<nvtxDomainCreateA_impl_fntype> next_domain_a;
NvtxNext<nvtxDomainCreateW_impl_fntype> next_domain_w;

template <typename Handle>
Handle Remember(const void* (*add)(const void*, std::string_view), Handle given,
                std::string_view text) {
  const void* handle = given;
  if (given == nullptr && HasNvtxTool()) return given;
  Guarded([&] { handle = add(given, text); });
  return reinterpret_cast<Handle>(const_cast<void*>(handle));
}

nvtxDomainHandle_t OnDomainA(const char* name) {
  const auto next = next_domain_a.load(std::memory_order_relaxed);
  const nvtxDomainHandle_t given = next == nullptr ? nullptr : next(name);
  return Remember(&NvtxNames::AddDomain, given, NvtxView(name));
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
  return Remember(&NvtxNames::AddString, given, NvtxView(text));
}

nvtxStringHandle_t OnStringW(nvtxDomainHandle_t domain, const wchar_t* text) {
  const auto next = next_string_w.load(std::memory_order_relaxed);
  const nvtxStringHandle_t given = next == nullptr ? nullptr : next(domain, text);
  nvtxStringHandle_t handle = given;
  Guarded([&] { handle = Remember(&NvtxNames::AddString, given, FromWide(text)); });
  return handle;
}

}  // namespace

void TakeNvtxHandles(NvtxTable& core2) {
  core2.Take(NVTX_CBID_CORE2_DomainRegisterStringA, &OnStringA, next_string_a);
  core2.Take(NVTX_CBID_CORE2_DomainRegisterStringW, &OnStringW, next_string_w);
  core2.Take(NVTX_CBID_CORE2_DomainCreateA, &OnDomainA, next_domain_a);
  core2.Take(NVTX_CBID_CORE2_DomainCreateW, &OnDomainW, next_domain_w);
}

}  // namespace hotproof::tracer
