#include "cupti_tracer/core/known_tensor_maps.h"

#include <mutex>
#include <optional>
#include <utility>

namespace hotproof::tracer {

void KnownTensorMaps::Learn(const uint8_t* map_bytes) {
  if (maps_.Find(map_bytes) != 0) return;
  const TensorMapLayout* layout = learnt_.Get();
  const auto map = layout == nullptr ? std::nullopt : layout->Decode(map_bytes);
  // A few small numbers among zeros can be the very bytes of a map, too: of no memory there is.
  if (map && IsDeviceAddress(driver_, map->address)) Remember(map_bytes, map->Entry());
}

void KnownTensorMaps::LearnAtKnownPlaces(const ArgumentLayout& layout,
                                         const ArgumentBytes& arguments) {
  for (const uint32_t offset : layout.tensor_maps) {
    if (offset + TensorMaps::kBytes <= arguments.size()) Learn(arguments.data() + offset);
  }
}

void KnownTensorMaps::LearnAnywhere(const ArgumentLayout& layout, const ArgumentBytes& arguments) {
  ForEachMapPlace(layout, arguments.size(),
                  [&](uint32_t offset) { Learn(arguments.data() + offset); });
}

void KnownTensorMaps::Remember(const void* map_bytes, const trace::TensorMapEntry& description) {
  std::string key;
  const auto append = [&key](const auto& span) {
    key.append(reinterpret_cast<const char*>(span.data()), span.size_bytes());
    key.push_back('|');
  };
  append(description.global_dims);
  append(description.global_strides);
  append(description.box_dims);
  append(description.element_strides);
  const uint32_t rest[5] = {description.data_type, description.interleave, description.swizzle,
                            description.kind, description.learnt ? 1u : 0};
  key.append(reinterpret_cast<const char*>(rest), sizeof rest);
  uint32_t id;
  {
    std::lock_guard lock(file_.mutex());
    const auto [found, inserted] =
        ids_.emplace(std::move(key), static_cast<uint32_t>(ids_.size() + 1));
    id = found->second;
    if (id > TensorMaps::kMaxDescriptions) {
      ids_.erase(found);
      return;
    }
    if (inserted) {
      if (trace::Writer* writer = file_.writer_locked()) {
        trace::TensorMapEntry entry = description;
        entry.id = id;
        writer->AddTensorMap(entry);
      }
    }
  }
  maps_.Remember(map_bytes, id);
}

}  // namespace hotproof::tracer
