// The packed fields of one submessage, as columns by field number. Used by the decoders of columns.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "protozero/pbf_reader.hpp"
#include "trace/varint_column.h"

namespace hotproof::trace {

inline absl::Status Contradiction(const char* what) {
  return absl::DataLossError(absl::StrCat("columns contradict each other: ", what));
}

// By number, up to `kLast`; a field that is not there reads as left out.
template <uint32_t kLast>
using ColumnSet = std::array<VarintColumn, kLast + 1>;

// A field that comes twice counts once, the last time. Throws protozero::exception.
template <uint32_t kLast>
ColumnSet<kLast> ReadColumnSet(protozero::data_view message) {
  ColumnSet<kLast> columns;
  protozero::pbf_reader reader(message);
  while (reader.next()) {
    // protozero forgets the tag with the value where it has assertions.
    const uint32_t tag = reader.tag();
    if (tag <= kLast && reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      const protozero::data_view view = reader.get_view();
      columns[tag] = VarintColumn({view.data(), view.size()});
    } else {
      reader.skip();
    }
  }
  return columns;
}

}  // namespace hotproof::trace
