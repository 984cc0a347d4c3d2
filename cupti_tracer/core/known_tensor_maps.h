// The tensor maps whose dims are known, because their encoding was seen or because their bytes tell
// (tensor_map_layout.h), and their descriptions in the trace. Used by sites.cc on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "cupti_tracer/core/arguments.h"
#include "cupti_tracer/core/cupti_api.h"
#include "cupti_tracer/core/tensor_map_layout.h"
#include "cupti_tracer/core/tensor_maps.h"
#include "cupti_tracer/core/trace_file.h"

namespace hotproof::tracer {

class KnownTensorMaps {
 public:
  KnownTensorMaps(TraceFile& file, const Driver& driver)
      : file_(file), driver_(driver), learnt_(driver.TensorMapEncodeTiled) {}

  const TensorMaps& maps() const { return maps_; }

  // Takes the trace's lock.
  void Remember(const void* map_bytes, const trace::TensorMapEntry& description);
  void RememberReplaced(const void* map_bytes, uint32_t id) {
    if (id != 0) maps_.Remember(map_bytes, id);
  }
  // Maps whose encoding was not seen are remembered by what their bytes tell: those at the layout's
  // known places, or those anywhere.
  void LearnAtKnownPlaces(const ArgumentLayout& layout, const ArgumentBytes& arguments);
  void LearnAnywhere(const ArgumentLayout& layout, const ArgumentBytes& arguments);

 private:
  void Learn(const uint8_t* map_bytes);

  TraceFile& file_;
  const Driver& driver_;
  TensorMaps maps_;
  LearntTensorMaps learnt_;
  std::unordered_map<std::string, uint32_t> ids_;  // of descriptions; under the trace's lock
};

}  // namespace hotproof::tracer
