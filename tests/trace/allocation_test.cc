// Once its buffers have grown, the writer asks for no memory, however many records come.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "tests/tools/synthetic_workload.h"
#include "tests/trace/trace_files.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<uint64_t> allocations{0};

void Count() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1);
}

}  // namespace

// glibc's own names behind the replaced ones; operator new goes through malloc.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  Count();
  return __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t bytes) {
  Count();
  return __libc_calloc(count, bytes);
}
__attribute__((visibility("default"))) void* realloc(void* memory, size_t bytes) {
  Count();
  return __libc_realloc(memory, bytes);
}
}

namespace hotproof::trace {
namespace {

TEST(AllocationTest, TheCounterCounts) {
  counting = true;
  delete new std::string(100, 'x');
  counting = false;
  EXPECT_EQ(allocations.exchange(0), 2u);
}

TEST(AllocationTest, NoneOnceWarm) {
  ScratchFolder folder;
  Writer writer(CreateFile(folder.File("a.hpt")), 1);
  tools::SyntheticWorkload workload;
  workload.WriteTables(writer, "");
  std::vector<uint64_t> sites(1 + workload.kSiteCount), graphs(1 + workload.kGraphs);
  const CounterView view{sites, graphs};
  // Warm-up: more records than any chunk below, every one a launch and an exception of its own.
  constexpr uint64_t kWarmUp = 1, kChunks = 30;
  tools::Random random(1);
  uint64_t records = 30'000;
  for (uint64_t& count : sites) ++count;
  for (uint64_t& count : graphs) ++count;
  for (uint64_t i = 0; i < records; ++i) {
    writer.AddLaunch({random.Next(), Target::Site(1), 1});
    const auto below = [&](uint64_t limit) { return static_cast<uint32_t>(random.Below(limit)); };
    const Target target = i % 2 == 0 ? Target::Graph(1 + below(workload.kGraphs))
                                     : Target::Site(1 + below(workload.kSiteCount));
    writer.AddRecord({.correlation_id = random.Next(),
                      .start_ns = 1 + (random.Next() >> 1),
                      .end_ns = ~uint64_t{0},
                      .target = target,
                      .node = target.is_graph() ? below(2 * workload.kNodes) : 0,
                      .stream = 1,
                      .site = 1 + below(workload.kSiteCount),
                      .default_site = 1,
                      .attributes = static_cast<uint32_t>(random.Next())});
  }
  for (uint64_t chunk = 0; chunk < kWarmUp + kChunks; ++chunk) {
    while (writer.pending_records() < 20'000) {
      workload.Step(~uint64_t{0});
      counting = chunk >= kWarmUp;
      for (const LaunchEntry& launch : workload.launches()) {
        writer.AddLaunch(launch);
        ++(launch.target.is_graph() ? graphs : sites)[launch.target.id()];
      }
      // Out of order, as two streams are.
      const auto& all = workload.records();
      for (size_t i = 0; i + 1 < all.size(); i += 2) {
        writer.AddRecord(all[i + 1]);
        writer.AddRecord(all[i]);
        records += 2;
      }
      counting = false;
    }
    counting = chunk >= kWarmUp;
    ASSERT_EQ(writer.Flush(view), WriteResult::kOk);
    counting = false;
  }
  EXPECT_EQ(writer.records_written(), records);
  EXPECT_EQ(allocations.load(), 0u) << "in " << kChunks << " chunks";
}

}  // namespace
}  // namespace hotproof::trace
