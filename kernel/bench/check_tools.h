// What the checks share: one line per check, the tuning they force, comparisons. Calling thread
// only.
#ifndef HOTPROOF_KERNEL_BENCH_CHECK_TOOLS_H_
#define HOTPROOF_KERNEL_BENCH_CHECK_TOOLS_H_

#include <string>
#include <vector>

#include "kernel/bench/cublaslt.h"
#include "kernel/bench/problem.h"
#include "kernel/bench/workload.h"

namespace hotproof::kernel::bench {

extern int check_failures;

// Prints the check's line and counts a failure.
bool report(const std::string& name, bool ok, const std::string& detail = "");
std::string text(const Mismatch& mismatch);
// Tiles of that many groups (0: the library's choice for that way), shared among CTAs or not, where
// K has segments.
Tuning with_tile(int tile_groups, bool shared = false);
// Rows 0..m-1 equal bit for bit, everything beyond N and beyond row m still poisoned.
bool same_rows(const Problem& p, const std::vector<uint16_t>& all,
               const std::vector<uint16_t>& some, int m);

// The long checks (checks_long.cu).
void check_determinism(int runs, const Shape& shape, int m, const Tuning& tuning, bool quantise);
void check_back_to_back();
void check_many_tokens();
void check_full_shapes(CublasLt* cublaslt);

}  // namespace hotproof::kernel::bench

#endif  // HOTPROOF_KERNEL_BENCH_CHECK_TOOLS_H_
