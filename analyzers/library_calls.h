// How cuBLAS and cuBLASLt were asked for a product, in words: the enumerators that the tracer
// recorded as numbers (LibraryCall of trace.proto). Pure functions, safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/report.pb.h"
#include "proto/trace.pb.h"

namespace hotproof::analyzers {

// cudaDataType_t as reports spell types ("bf16", "cfp32" of complex numbers), from an enumerator
// plus 1 as LibraryCall has it. Empty: not known, or no type of an operand.
std::string_view DtypeOfCall(uint32_t type_plus_1);

// How operands of `a_dtype` are scaled in this call, in the catalogue's words ("tensor", "block",
// ...); empty where the call does not say.
std::string_view ScalingOfCall(const trace::LibraryCall& call, std::string_view a_dtype);

// All but `launches`. Extents, strides and pointers are not part of it: they are the row's.
report::Call DescribeCall(const trace::LibraryCall& call);

}  // namespace hotproof::analyzers
