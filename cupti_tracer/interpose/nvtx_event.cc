#include "cupti_tracer/interpose/nvtx_event.h"

#include <cstddef>
#include <cstring>

#include "cupti_tracer/interpose/nvtx_names.h"
#include "cupti_tracer/ranges/range_domains.h"

namespace hotproof::tracer {

uint32_t NvtxDomainOf(nvtxDomainHandle_t handle) {
  if (handle == nullptr) return kDefaultDomain;
  const NvtxText* known = NvtxNames::Find(handle);
  return known == nullptr ? kMaxDomains : known->domain;
}

std::string_view NvtxMessageOf(NvtxAttributes attributes, std::string& wide) {
  constexpr size_t kNeeded = offsetof(nvtxEventAttributes_t, message) + sizeof(nvtxMessageValue_t);
  if (attributes == nullptr || attributes->size < kNeeded) return {};
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return NvtxView(attributes->message.ascii);
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

void SetNvtxPayload(NvtxAttributes attributes, RangeLabel& label) {
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
      return;
  }
}

}  // namespace hotproof::tracer
