#include "analyzers/helper_kernels.h"

#include <algorithm>

namespace hotproof::analyzers {
namespace {

using catalog::Kind;
using catalog::Path;

const catalog::KernelClass& ClassOf(const TraceIndex& index, uint32_t site) {
  return index.kernel(index.kernel_of_site(site)).kernel_class;
}

// Launched in calls that asked for the same; next to each other on a stream: in one call.
bool IsOfOneCall(const TraceIndex& index, uint32_t site, uint32_t gemm_site) {
  const uint32_t call = index.call_of_site(site);
  return call != 0 && gemm_site != 0 && call == index.call_of_site(gemm_site);
}

// Quantisers, and what a library launches in a call before the product (fills, conversions).
bool MayPrecedeItsGemm(const TraceIndex& index, uint32_t site) {
  const Kind kind = index.kind_of_site(site);
  return kind == Kind::kQuant || (kind != Kind::kGemm && index.call_of_site(site) != 0);
}

bool PrecedesItsGemm(const TraceIndex& index, uint32_t site, uint32_t gemm_site) {
  return IsOfOneCall(index, site, gemm_site) || QuantBelongsTo(index, site, gemm_site);
}

bool IsCublas(Path path) { return path == Path::kCublas || path == Path::kCublasLt; }

}  // namespace

bool IsQuantised(const std::string& dtype) {
  return !dtype.empty() && dtype != "bf16" && dtype != "fp16" && dtype != "fp32" &&
         dtype != "tf32" && dtype != "fp64" && dtype != "cfp32" && dtype != "cfp64";
}

bool QuantBelongsTo(const TraceIndex& index, uint32_t quant_site, uint32_t gemm_site) {
  if (index.kind_of_site(quant_site) != Kind::kQuant ||
      index.kind_of_site(gemm_site) != Kind::kGemm) {
    return false;
  }
  const catalog::KernelClass& gemm = ClassOf(index, gemm_site);
  // Triton's names have no types; but scales of tokens are the activation's.
  return IsQuantised(gemm.a_dtype) || (gemm.a_dtype.empty() && gemm.scaling == "token_channel");
}

bool ReductionBelongsTo(const TraceIndex& index, uint32_t reduce_site, uint32_t gemm_site) {
  if (index.kind_of_site(reduce_site) != Kind::kGemmReduce ||
      index.kind_of_site(gemm_site) != Kind::kGemm) {
    return false;
  }
  const Path reduce = index.path_of_site(reduce_site), gemm = index.path_of_site(gemm_site);
  return reduce == gemm || (IsCublas(reduce) && IsCublas(gemm));
}

std::vector<uint32_t> GraphHelperOwners(const TraceIndex& index,
                                        const std::vector<uint32_t>& slot_stream) {
  std::vector<uint32_t> owners(index.slot_count(), 0);
  // Per stream, as the nodes of one graph pass: the last GEMM, and the quantisers since.
  struct Lane {
    uint32_t last_gemm_slot = 0;
    std::vector<uint32_t> quantisers;
  };
  std::vector<Lane> lanes(index.tables().streams.size());
  const size_t graphs = index.tables().graphs.size();
  for (uint32_t graph = 1; graph < graphs; ++graph) {
    for (Lane& lane : lanes) lane = Lane();
    for (uint32_t slot = index.first_slot_of_graph(graph);
         slot < index.first_slot_of_graph(graph + 1); ++slot) {
      const uint32_t stream = slot_stream[slot], site = index.site_of_slot(slot);
      if (stream == 0 || stream >= lanes.size() || site == 0) {
        // Unseen: it may stand between any two kernels of any stream.
        for (Lane& lane : lanes) lane = Lane();
        continue;
      }
      Lane& lane = lanes[stream];
      const Kind kind = index.kind_of_site(site);
      const uint32_t last_gemm_site = index.site_of_slot(lane.last_gemm_slot);
      if (kind != Kind::kGemm && IsOfOneCall(index, site, last_gemm_site)) {
        owners[slot] = lane.last_gemm_slot;
        continue;
      }
      if (MayPrecedeItsGemm(index, site)) {
        lane.quantisers.push_back(slot);
        lane.last_gemm_slot = 0;
        continue;
      }
      if (kind == Kind::kGemm) {
        for (const uint32_t helper : lane.quantisers) {
          if (PrecedesItsGemm(index, index.site_of_slot(helper), site)) owners[helper] = slot;
        }
      } else if (lane.last_gemm_slot != 0 && ReductionBelongsTo(index, site, last_gemm_site)) {
        owners[slot] = lane.last_gemm_slot;
      }
      lane.quantisers.clear();
      lane.last_gemm_slot = kind == Kind::kGemm ? slot : 0;
    }
  }
  return owners;
}

EagerHelpers::EagerHelpers(const TraceIndex& index)
    : index_(&index), is_plain_(index.site_count()) {
  for (uint32_t site = 0; site < is_plain_.size(); ++site) {
    const Kind kind = index.kind_of_site(site);
    is_plain_[site] = site != 0 && kind != Kind::kGemm && kind != Kind::kGemmReduce &&
                      kind != Kind::kQuant && index.call_of_site(site) == 0;
  }
}

void EagerHelpers::Break(uint32_t stream) {
  if (stream >= streams_.size()) return;
  streams_[stream].last_gemm_site = 0;
  streams_[stream].pending_count = 0;
}

void EagerHelpers::PassPlain(uint32_t stream_id, uint64_t start_ns) {
  if (stream_id >= streams_.size()) streams_.resize(stream_id + 1);
  Stream& stream = streams_[stream_id];
  stream.last_gemm_site = stream.pending_count = 0;
  if (stream_id != 0) stream.last_start_ns = std::max(stream.last_start_ns, start_ns);
}

void EagerHelpers::Give(const Pending& helper, uint32_t gemm_site) {
  HelperSums& sums = owned_[{helper.site, gemm_site}];
  ++sums.launches[helper.steady];
  sums.exclusive_ns[helper.steady] += helper.exclusive_ns;
}

void EagerHelpers::Add(uint32_t stream_id, uint32_t site, bool steady, uint64_t start_ns,
                       uint64_t exclusive_ns) {
  if (stream_id >= streams_.size()) streams_.resize(stream_id + 1);
  Stream& stream = streams_[stream_id];
  // A record that comes late does not tell what ran before it.
  if (stream_id == 0 || site == 0 || start_ns < stream.last_start_ns) {
    stream.last_gemm_site = stream.pending_count = 0;
    return;
  }
  stream.last_start_ns = start_ns;
  if (is_plain_[site]) {
    stream.last_gemm_site = stream.pending_count = 0;
    return;
  }
  const Pending self{site, steady, exclusive_ns};
  const Kind kind = index_->kind_of_site(site);
  if (kind != Kind::kGemm && IsOfOneCall(*index_, site, stream.last_gemm_site)) {
    Give(self, stream.last_gemm_site);
    return;
  }
  if (MayPrecedeItsGemm(*index_, site)) {
    stream.last_gemm_site = 0;
    if (stream.pending_count < stream.pending.size()) stream.pending[stream.pending_count++] = self;
    return;
  }
  switch (kind) {
    case Kind::kGemm:
      for (uint32_t i = 0; i < stream.pending_count; ++i) {
        if (PrecedesItsGemm(*index_, stream.pending[i].site, site)) Give(stream.pending[i], site);
      }
      stream.last_gemm_site = site;
      break;
    case Kind::kGemmReduce:
      if (stream.last_gemm_site != 0 && ReductionBelongsTo(*index_, site, stream.last_gemm_site)) {
        Give(self, stream.last_gemm_site);
      }
      [[fallthrough]];
    default:
      stream.last_gemm_site = 0;
  }
  stream.pending_count = 0;
}

}  // namespace hotproof::analyzers
