#include "tests/tools/synthetic_program.h"

#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

namespace hotproof::tools {
namespace {

// N and K of a decoder layer's products in vLLM 0.25.1's recordings, FP8 ones and bf16 ones.
struct Weight {
  uint32_t n, k;
};
constexpr Weight kFp8[] = {
    {34816, 5120}, {5120, 17408}, {16384, 5120}, {5120, 6144}, {14336, 5120}};
constexpr Weight kBf16[] = {{248320, 5120}, {96, 5120}, {5120, 2560}, {2560, 5120}, {1024, 5120}};
constexpr uint32_t kWeights = std::size(kFp8);

// cuda.h's CUtensorMapDataType.
constexpr uint32_t kUint8 = 0, kFloat32 = 7, kBfloat16 = 9;
constexpr uint32_t kTensorMapBytes = 128;

// The other kernels that a decode step launches, with the kind of template arguments that make
// their names long; sizes of parameters: 8 is an address, more a struct.
struct Family {
  const char* name;
  std::vector<uint32_t> sizes;
};
const Family kOthers[] = {
    {"_ZN10flashinfer33BatchDecodeWithPagedKVCacheKernelILNS_15PosEncodingModeE0ELj2ELj4ELj8ELj%"
     "uELj8ELj%uENS_16DefaultAttentionILb0ELb0ELb0ELb0EEE13__nv_bfloat16S4_S4_iEEvNS_"
     "17BatchDecodeParamsE",
     {288}},
    {"_ZN4vllm32rms_norm_static_fp8_quant_kernelIN3c108BFloat16ENS1_13Float8_e4m3fnELi%uELi%"
     "uEEEvPT0_PKT_iS6_PKffii",
     {8, 8, 4, 8, 8, 4, 4, 4}},
    {"_ZN2at6native29vectorized_elementwise_kernelILi%uEZZZNS0_19sigmoid_kernel_cudaERNS_"
     "18TensorIteratorBaseEENKUlvE0_clEvENKUlvE4_clEvEUlN3c108BFloat16EE_St5arrayIPcLm%uEEEEviT0_"
     "T1_",
     {4, 4, 16}},
    {"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_silu_view_%u_%u", {8, 8, 8, 8, 4, 4, 8, 8}},
};

template <typename... Numbers>
std::string Format(const char* format, Numbers... numbers) {
  char text[512];
  snprintf(text, sizeof text, format, numbers...);
  return text;
}

void Put(std::string& bytes, size_t offset, uint32_t value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// cuBLASLt's 1,720 bytes: the extents less one and the strides of three tensor maps that it writes
// itself, and of D's tile (catalog/layouts/cublas.textproto says where).
void PutNvjet(std::string& bytes, uint32_t m, uint32_t n, uint32_t k) {
  constexpr uint32_t kFlags = 0x00046522, kElementBytes = 2, kStrideUnit = 16;
  const struct { uint32_t offset, inner, outer; } maps[] = {{176, k, n}, {240, k, m}, {560, n, m}};
  for (const auto& map : maps) {
    Put(bytes, map.offset + 8, kFlags);
    Put(bytes, map.offset + 12, map.inner * kElementBytes / kStrideUnit);
    Put(bytes, map.offset + 32, map.inner - 1);
    Put(bytes, map.offset + 36, map.outer - 1);
  }
  Put(bytes, 320, k);
  Put(bytes, 352, n);
  Put(bytes, 416, n - 1);
  Put(bytes, 420, m - 1);
}
constexpr uint32_t kNvjetMasked[] = {176, 240,  328,  432,  496,  560,  624,  816, 880,
                                     944, 1008, 1072, 1136, 1200, 1264, 1704, 1712};

}  // namespace

SyntheticKernel::SyntheticKernel(uint32_t index) {
  const uint32_t family = index % 6, at = index / 6;  // at: below 26
  if (family == 0) {
    const uint32_t which = at / 2;
    n_ = kFp8[which % kWeights].n;
    k_ = kFp8[which % kWeights].k;
    const uint32_t tile = 16u << which / kWeights;  // 16, 32, 64
    if (at % 2 == 0) {
      kind_ = Kind::kFlashInferSwapped;
      name_ = Format(
          "_ZN9deep_gemm22fp8_gemm_kernel_swapABILj%uELj%uELj128ELj%"
          "uELj128ELj1ELj8ELj128ELj128ELj1ENS_"
          "21NormalSchedulerSwapABILj%uELj128ELj%uELj1ELj1ELj%uELj16EEENS_"
          "26NormalSchedulerInputSwapABEEEv"
          "P13__nv_bfloat16PfT10_14CUtensorMap_stS8_S8_S8_",
          n_, k_, tile, n_, tile, n_ / 128);
      offsets_ = {0, 8, 16};
      sizes_ = {8, 8, 16};
    } else {
      kind_ = Kind::kDeepGemm;
      name_ = Format(
          "_ZN9deep_gemm23sm90_fp8_gemm_1d2d_implILN4cute4UMMA5MajorE0ELj0ELj%uELj%uELj1ELj%"
          "uELj128ELj128ELj128ELj"
          "128ELj128ELj3ELj128ELj256ELj2ELb1ELj132ELNS_8GemmTypeE0EN7cutlass10bfloat16_tENS_"
          "8epilogue9transform16EpilogueIdentityEEEvPfPijjj14CUtensorMap_stSC_SC_SC_",
          n_, k_, 4 * tile);
      offsets_ = {0, 8, 16, 20, 24};
      sizes_ = {8, 8, 4, 4, 4};
    }
    constexpr uint32_t kMaps = 4, kFirstMap = 112;
    for (uint32_t map = 0; map < kMaps; ++map) {
      offsets_.push_back(kFirstMap + map * kTensorMapBytes);
      sizes_.push_back(kTensorMapBytes);
    }
    return;
  }
  if (family == 4) {
    kind_ = Kind::kNvjet;
    n_ = kBf16[at % kWeights].n;
    k_ = kBf16[at % kWeights].k;
    name_ = Format("nvjet_sm90_tst_%ux%u_64x6_2x1_v_bz_TNT", 64u << at % kWeights % 4,
                   8u << at / kWeights);
    if (at % kWeights == 4) name_.replace(name_.find("2x1"), 3, "1x2");
    offsets_ = {0};
    sizes_ = {1720};
    return;
  }
  kind_ = Kind::kOther;
  const Family& other = kOthers[family == 5 ? 3 : family - 1];
  name_ = Format(other.name, 64 + 8 * index, 2 + index);
  uint32_t end = 0;
  for (const uint32_t size : other.sizes) {
    const uint32_t align = size >= 8 ? 8 : size;
    offsets_.push_back((end + align - 1) / align * align);
    sizes_.push_back(size);
    end = offsets_.back() + size;
  }
}

void SyntheticKernel::Write(trace::Writer& writer, uint32_t id) const {
  writer.AddKernel(
      {.id = id, .name = name_, .parameter_offsets = offsets_, .parameter_sizes = sizes_});
}

// Each once. `inner` is contiguous; what stays the same in all of them is left out.
uint32_t SyntheticSites::Map(uint32_t data_type, uint32_t inner, uint32_t outer) {
  const auto [at, is_new] =
      maps_.try_emplace({data_type, inner, outer}, static_cast<uint32_t>(maps_.size() + 1));
  if (is_new) {
    const uint32_t element_bytes = data_type == kUint8 ? 1 : data_type == kBfloat16 ? 2 : 4;
    const uint64_t dims[] = {inner, outer}, strides[] = {uint64_t{inner} * element_bytes};
    const uint32_t box[] = {128 / element_bytes, 16}, steps[] = {1, 1};
    writer_.AddTensorMap({.id = at->second,
                          .data_type = data_type,
                          .global_dims = dims,
                          .global_strides = strides,
                          .box_dims = box,
                          .element_strides = steps,
                          .swizzle = 3});
  }
  return at->second;
}

// The weight, the activations, D and the activations' scales, in the order of the parameters.
void SyntheticSites::AddTensorMaps(const SyntheticKernel& kernel, uint32_t tokens) {
  const uint32_t weight = Map(kUint8, kernel.k_, kernel.n_), rows = Map(kUint8, kernel.k_, tokens),
                 product = Map(kBfloat16, kernel.n_, tokens),
                 scales = Map(kFloat32, (tokens + 3) / 4 * 4, kernel.k_ / 128);
  const bool swapped = kernel.kind_ == SyntheticKernel::Kind::kFlashInferSwapped;
  const uint32_t order[] = {swapped ? weight : rows, swapped ? rows : weight,
                            swapped ? scales : product, swapped ? product : scales};
  const size_t first = kernel.offsets_.size() - std::size(order);
  for (size_t i = 0; i < std::size(order); ++i)
    uses_.push_back({kernel.offsets_[first + i], order[i]});
}

void SyntheticSites::Add(trace::SiteEntry site, const SyntheticKernel& kernel, uint32_t tokens) {
  using Kind = SyntheticKernel::Kind;
  arguments_.assign(kernel.offsets_.back() + kernel.sizes_.back(), '\0');
  masked_.clear();
  uses_.clear();
  trace::LibraryCallEntry call;
  if (kernel.kind_ == Kind::kNvjet) {
    PutNvjet(arguments_, tokens, kernel.n_, kernel.k_);
    masked_.assign(std::begin(kNvjetMasked), std::end(kNvjetMasked));
    // Column-major, as the library is asked: its m is N here.
    constexpr uint32_t kBf16Type = 15, kCompute32F = 68, kTransposed = 1;
    call.entry_point = "cublasGemmEx";
    call.numbers = {.m = kernel.n_,
                    .n = tokens,
                    .k = kernel.k_,
                    .lda = kernel.k_,
                    .ldb = kernel.k_,
                    .ldd = kernel.n_,
                    .operation_a = kTransposed,
                    .a_type = kBf16Type,
                    .b_type = kBf16Type,
                    .c_type = kBf16Type,
                    .d_type = kBf16Type,
                    .compute_type = kCompute32F};
    site.library_call = &call;
    site.launching_library = "/usr/lib/nvidia/cublas/lib/libcublasLt.so.13";
  } else {
    for (size_t i = 0; i < kernel.sizes_.size(); ++i) {
      const uint32_t offset = kernel.offsets_[i], size = kernel.sizes_[i];
      if (size == 4) Put(arguments_, offset, tokens * (i % 2 == 0 ? 1 : 5120));
      if (size == 8) masked_.push_back(offset);
      if (size <= 8 || size == kTensorMapBytes) continue;
      // Of a struct, addresses first, then numbers.
      const bool numbers_first = kernel.kind_ == Kind::kFlashInferSwapped;
      for (uint32_t at = offset; at < offset + size; at += 8) {
        const bool number = numbers_first ? at == offset : at >= offset + size / 2;
        if (number) {
          Put(arguments_, at, tokens);
        } else if (!numbers_first) {
          masked_.push_back(at);
        }
      }
    }
    if (kernel.kind_ == Kind::kDeepGemm) {
      Put(arguments_, kernel.offsets_[3], kernel.n_);
      Put(arguments_, kernel.offsets_[4], kernel.k_);
    }
    if (kernel.kind_ != Kind::kOther) {
      AddTensorMaps(kernel, tokens);
      site.launching_library =
          kernel.kind_ == Kind::kDeepGemm
              ? "/usr/lib/python3/site-packages/vllm/third_party/deep_gemm/_C.so"
              : "/usr/lib/python3/site-packages/flashinfer/fp8_blockscale_gemm_90.so";
    }
  }
  site.arguments = arguments_;
  site.masked_offsets = masked_;
  site.tensor_maps = uses_;
  writer_.AddSite(site);
}

}  // namespace hotproof::tools
