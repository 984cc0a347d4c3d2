// What a kernel's name says about it. Owned by the catalog; read by analyzers and the CLI, on any
// thread. Meaning only: no timing, no counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotproof::catalog {

// The implementation a kernel belongs to (docs/catalog.md lists what each one covers).
enum class Path {
  kUnknown,
  kCublasLt,
  kCublas,
  kCutlassVllm,
  kCutlassTorch,
  kDeepGemm,
  kFlashInfer,
  kTriton,
  kMarlin,
  kMachete,
  kMoe,
  kCustom,
  kOther,
};

// What a kernel does. kGemm includes GEMV, batched and grouped products.
enum class Kind {
  kOther,
  kGemm,
  kGemmReduce,
  kQuant,
  kAttention,
  kNorm,
  kActivation,
  kSampling,
  kMemory,
  kComm,
  kElementwise,
};

// "cublaslt", "cutlass_vllm", "gemm_reduce", ...: the spellings used in reports and on the command
// line.
std::string_view PathName(Path path);
std::string_view KindName(Kind kind);
std::optional<Path> ParsePath(std::string_view name);
std::optional<Kind> ParseKind(std::string_view name);
// All of them, for messages and help.
std::vector<std::string> PathNames();
std::vector<std::string> KindNames();

// Strings are empty and dims absent where the name does not say. Dims are in elements, as the GEMM
// D[M,N] = A[M,K] x B[N,K]^T sees them: A is the activation, B the weight.
struct KernelClass {
  Path path = Path::kUnknown;
  Kind kind = Kind::kOther;
  // What it does within a library call that asked for a product; nothing: the same.
  std::optional<Kind> kind_in_call;
  std::string a_dtype;  // "e4m3", "bf16", "fp16", "fp32", "tf32", "int8", ...
  std::string b_dtype;
  std::string d_dtype;  // of the output; few names say
  std::string scaling;  // "block", "tensor", "token_channel", "mx", "group", "channel", "none"
  std::string other_scaling;  // which the same kernel is run with, too; the name cannot tell
  std::string
      tile;  // "128x16x128": rows of M, columns of N, depth K as the kernel's own name gives them
  std::optional<int64_t> m, n, k;
  std::string arch;  // "sm90", "sm80", ...
  std::string rule;  // the rule that decided, "" when none matched
};

}  // namespace hotproof::catalog
