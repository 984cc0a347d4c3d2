// Times and completeness of random traces, folded by several threads, against one plain pass over
// the records in the order of the trace.
#include "analyzers/slot_times.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/analyzers/fake_trace.h"

namespace hotproof::tests {
namespace {

// Two devices, two graphs and eager launches on three streams; chunks that overlap in time, records
// that come chunks later, nodes that are lost or say another site.
FakeTrace RandomTrace(uint64_t seed) {
  FakeTrace fake = ParseTrace(R"pb(
    kernel { id: 1 name: "gemm_a" }
    kernel { id: 2 name: "reduce_b" }
    site { id: 1 kernel_id: 1 }
    site { id: 2 kernel_id: 2 captured: true }
    site { id: 3 kernel_id: 1 captured: true }
    site { id: 4 kernel_id: 2 }
    graph {
      id: 1
      node_site: [ 2, 3, 2, 0, 3 ]
    }
    graph {
      id: 2
      node_site: [ 3, 3 ]
    }
    stream { id: 1 device_id: 0 }
    stream { id: 2 device_id: 1 }
    stream { id: 3 device_id: 1 }
  )pb");
  std::mt19937 random(seed);
  const auto below = [&random](uint32_t limit) { return random() % limit; };
  uint64_t now_ns = 1'000'000'000;
  for (int i = 0; i < 200; ++i) {
    Launch& launch = *fake.add_step()->mutable_launch();
    if (below(2) == 0) {
      launch.set_graph(1 + below(2));
    } else {
      launch.set_site(below(2) == 0 ? 1 : 4);
    }
    launch.set_stream(1 + below(3));
    now_ns += below(4000);
    launch.set_at_ns(now_ns - below(2000));
    launch.set_duration_ns(100 + below(3000));
    launch.set_gap_ns(static_cast<int>(below(900)) - 300);
    if (below(8) == 0) launch.set_records_chunks_later(1 + below(2));
    if (below(20) == 0) launch.set_record_site(1 + below(4));
    if (launch.graph() == 1 && below(4) == 0) {
      for (int node = 0; node < 5; ++node) launch.add_node_stream(1 + below(3));
    }
    if (below(15) == 0) launch.add_lose_node(0);
    if (below(15) == 0) launch.add_untimed_node(1);
    if (below(25) == 0) launch.set_extra_records(1);
    if (below(12) == 0) fake.add_step()->set_end_chunk(true);
    if (i == 60) fake.add_step()->mutable_snapshot()->set_reason(trace::SNAPSHOT_REASON_MARK);
    if (i == 60) fake.mutable_step(fake.step_size() - 1)->mutable_snapshot()->set_label("steady");
  }
  return fake;
}

struct Plain {
  std::vector<analyzers::TimeSums> sums[2];
  uint64_t busy_ns = 0;
};

Plain OnePass(const FakeReader& reader, const analyzers::TraceIndex& index) {
  Plain plain;
  for (auto& sums : plain.sums) sums.resize(index.slot_count());
  analyzers::ExclusiveTime exclusive;
  std::vector<trace::ChunkColumns> chunks(reader.chunk_count());
  for (size_t i = 0; i < chunks.size(); ++i) EXPECT_TRUE(reader.ReadChunk(i, chunks[i]).ok());
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    uint64_t earliest_later_ns = UINT64_MAX;
    for (size_t later = chunk + 1; later < chunks.size(); ++later) {
      if (chunks[later].start_ns.empty()) continue;
      earliest_later_ns = std::min(earliest_later_ns, chunks[later].start_ns[0]);
    }
    const trace::ChunkColumns& c = chunks[chunk];
    for (size_t i = 0; i < c.start_ns.size(); ++i) {
      const uint32_t slot = index.SlotOf(c.target[i], c.node[i], c.site[i]);
      analyzers::TimeSums& sums = plain.sums[index.phases().IsSteady(c.correlation_id[i])][slot];
      ++sums.records;
      sums.duration_ns += c.end_ns[i] - c.start_ns[i];
      sums.exclusive_ns += exclusive.Add(index.device_of_stream(c.stream[i]), c.start_ns[i],
                                         c.end_ns[i], earliest_later_ns);
    }
  }
  plain.busy_ns = exclusive.total_busy_ns();
  return plain;
}

TEST(SlotTimesTest, ManyThreadsSayWhatOnePassSays) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const FakeTrace fake = RandomTrace(seed);
    std::string completeness;
    for (const int threads : {1, 2, 5}) {
      const AnalysedRun run = Analyse(fake, threads);
      const analyzers::ProcessAnalysis& process = run.processes[0];
      const Plain plain = OnePass(FakeReader(fake), *process.index);
      uint64_t exclusive_ns = 0;
      for (const int phase : {0, 1}) {
        for (size_t slot = 0; slot < process.index->slot_count(); ++slot) {
          const analyzers::TimeSums &got = process.times.sums[phase][slot],
                                    &want = plain.sums[phase][slot];
          EXPECT_EQ(got.records, want.records) << slot;
          EXPECT_EQ(got.duration_ns, want.duration_ns) << slot;
          EXPECT_EQ(got.exclusive_ns, want.exclusive_ns) << slot;
          exclusive_ns += got.exclusive_ns;
        }
      }
      EXPECT_EQ(process.times.busy_ns, plain.busy_ns);
      EXPECT_EQ(exclusive_ns, plain.busy_ns);
      std::string text = process.completeness.completeness.DebugString();
      for (const auto& device : process.completeness.devices) text += device.DebugString();
      if (threads == 1) completeness = text;
      EXPECT_EQ(text, completeness);
    }
  }
}

class CountingReader : public FakeReader {
 public:
  CountingReader(const FakeTrace& fake, int& reads) : FakeReader(fake), reads_(reads) {}
  absl::Status ReadChunk(size_t index, trace::ChunkColumns& columns) const override {
    ++reads_;
    return FakeReader::ReadChunk(index, columns);
  }

 private:
  int& reads_;
};

TEST(SlotTimesTest, CountsAloneNeedNoColumns) {
  const FakeTrace fake = RandomTrace(3);
  const AnalysedRun whole = Analyse(fake);
  int reads = 0;
  const auto classifier = catalog::Classifier::Create();
  ASSERT_TRUE(classifier.ok());
  const analyzers::ProcessAnalysis counts = analyzers::AnalyzeTrace(
      std::make_unique<CountingReader>(fake, reads), *classifier, {.counts_only = true});
  EXPECT_EQ(reads, 0);
  for (size_t slot = 0; slot < counts.index->slot_count(); ++slot) {
    EXPECT_EQ(counts.index->launches()[slot].total(),
              whole.processes[0].index->launches()[slot].total());
  }
  EXPECT_EQ(counts.completeness.completeness.expected(),
            whole.processes[0].completeness.completeness.expected());
}

TEST(SlotTimesTest, HeadsTellCountsOnlyWhereEachSiteRanAsOftenAsAsked) {
  trace::Tables tables;
  tables.sites.resize(3);
  tables.graphs.resize(1);
  tables.asked.sites = {0, 5, 7};
  tables.asked.graphs = {0};
  tables.has_footer = true;
  trace::ChunkStatistics& chunk = tables.chunk_statistics.emplace_back();
  const auto tell = [&](std::vector<uint64_t> site_records, uint64_t in_chunk) {
    tables.site_records = std::move(site_records);
    chunk.set_record_count(in_chunk);
    return analyzers::HeadsTellCounts(tables);
  };
  EXPECT_TRUE(tell({0, 5, 7}, 12));
  EXPECT_FALSE(tell({0, 5, 6}, 11));  // a missing record could hide one too many
  EXPECT_FALSE(tell({0, 5, 8}, 13));
  EXPECT_FALSE(tell({1, 5, 6}, 12));
  EXPECT_FALSE(tell({0, 5, 7}, 13));  // the sums by site are not whole
  EXPECT_FALSE(tell({}, 0));
  EXPECT_TRUE(tell({0, 5, 7}, 12));
  tables.problems.emplace_back().set_kind(trace::PROBLEM_CUPTI_DROPPED_RECORDS);
  EXPECT_FALSE(analyzers::HeadsTellCounts(tables));
  tables.problems.clear();
  tables.has_footer = false;  // killed: a tail may be missing
  EXPECT_FALSE(analyzers::HeadsTellCounts(tables));
  tables.header.set_mode(trace::MODE_COUNT);
  EXPECT_FALSE(analyzers::HeadsTellCounts(tables));
  EXPECT_TRUE(tell({}, 0));
}

}  // namespace
}  // namespace hotproof::tests
