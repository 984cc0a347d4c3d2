// Columns of invented workloads against a plain model: whatever the writer takes, in whatever
// order, the reader gives back sorted and complete.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tests/tools/synthetic_workload.h"
#include "tests/trace/trace_files.h"
#include "trace/column_encoder.h"

namespace hotproof::trace {
namespace {

using tools::Random;

constexpr uint32_t kSites = 20, kGraphs = 3, kNodes = 50, kStreams = 5, kAttributes = 9;

// What must come back of a record, in an order of its own.
using Row =
    std::tuple<uint64_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;

class Model {
  struct Expected {
    RecordEntry record;
    uint32_t site;
    bool timed;
  };

 public:
  explicit Model(const std::string& path) : writer_(CreateFile(path)) {
    writer_.AddHeader({});
    for (uint32_t id = 1; id <= kAttributes; ++id) {
      writer_.AddAttributes(id, {.registers_per_thread = id});
    }
    for (uint32_t id = 1; id <= kStreams; ++id) writer_.AddStream({.id = id, .stream_id = id});
    for (uint32_t id = 1; id <= kSites; ++id) writer_.AddSite({.id = id, .captured = id > 10});
    std::vector<uint64_t> ids(kNodes);
    for (uint32_t graph = 1; graph <= kGraphs; ++graph) {
      std::vector<uint32_t> sites;
      for (uint32_t node = 0; node < kNodes; ++node) {
        ids[node] = node * 3;
        sites.push_back(SiteOf(Target::Graph(graph), node));
      }
      writer_.AddGraph({.id = graph, .node_ids = ids, .node_sites = sites});
    }
  }

  static uint32_t SiteOf(Target target, uint32_t node) {
    if (!target.is_known()) return 0;
    return target.is_graph() ? 11 + (target.id() * 7 + node * node) % 10 : target.id();
  }

  void Add(RecordEntry record) {
    record.default_site = SiteOf(record.target, record.node);
    const uint32_t site = record.site != 0 ? record.site : record.default_site;
    writer_.AddRecord(record);
    const bool timed = record.start_ns != 0 && record.end_ns >= record.start_ns;
    pending_.push_back({record, site, timed});
  }
  void AddLaunch(const LaunchEntry& launch) {
    writer_.AddLaunch(launch);
    pending_launches_.push_back(launch);
  }

  void Flush() {
    ASSERT_EQ(writer_.Flush(counters_), WriteResult::kOk);
    // A site's first attributes, in the order of the chunk, are those of its records that have
    // none.
    std::vector<Expected> ordered = pending_;
    std::stable_sort(ordered.begin(), ordered.end(), [](const Expected& a, const Expected& b) {
      if (a.timed != b.timed) return a.timed;
      return a.timed && a.record.start_ns < b.record.start_ns;
    });
    for (const Expected& e : ordered) {
      if (e.site != 0 && e.record.attributes != 0) {
        site_attributes_.insert({e.site, e.record.attributes});
      }
    }
    chunks_.push_back(std::exchange(pending_, {}));
    launches_.push_back(std::exchange(pending_launches_, {}));
  }

  // Reads everything back and compares.
  void Check(const std::string& path) {
    auto reader = TraceReader::Open(path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    ASSERT_TRUE((*reader)->issues().empty()) << (*reader)->issues()[0].detail;
    ASSERT_EQ((*reader)->chunk_count(), chunks_.size());
    uint64_t last_start_ns = 0;
    ChunkColumns got;
    for (size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      const auto status = (*reader)->ReadChunk(chunk, got);
      ASSERT_TRUE(status.ok()) << status;
      CheckChunk(chunk, got, *(*reader)->ReadStatistics(chunk), last_start_ns);
    }
  }

 private:
  void CheckChunk(size_t chunk, const ChunkColumns& got, const ChunkStatistics& statistics,
                  uint64_t& last_start_ns) {
    std::vector<Row> want_timed, want_untimed, got_timed, got_untimed;
    std::map<uint32_t, std::pair<uint64_t, uint64_t>> sums;
    uint64_t late = 0, newest_ns = last_start_ns;
    for (const Expected& e : chunks_[chunk]) {
      const RecordEntry& r = e.record;
      uint32_t attributes = r.attributes;
      if (attributes == 0 && site_attributes_.contains(e.site)) {
        attributes = site_attributes_[e.site];
      }
      auto& sum = sums[e.site];
      ++sum.first;
      if (e.timed) {
        sum.second += r.end_ns - r.start_ns;
        late += r.start_ns < last_start_ns;
        newest_ns = std::max(newest_ns, r.start_ns);
        want_timed.emplace_back(r.start_ns, r.end_ns, r.correlation_id, r.target.wire(), r.node,
                                e.site, r.stream, attributes);
      } else {
        want_untimed.emplace_back(0, 0, r.correlation_id, r.target.wire(), r.node, e.site, 0,
                                  attributes);
      }
    }
    EXPECT_TRUE(std::is_sorted(got.start_ns.begin(), got.start_ns.end()));
    for (size_t i = 0; i < got.start_ns.size(); ++i) {
      got_timed.emplace_back(got.start_ns[i], got.end_ns[i], got.correlation_id[i],
                             got.target[i].wire(), got.node[i], got.site[i], got.stream[i],
                             got.attributes[i]);
    }
    for (size_t i = 0; i < got.untimed_node.size(); ++i) {
      got_untimed.emplace_back(0, 0, got.untimed_correlation_id[i], got.untimed_target[i].wire(),
                               got.untimed_node[i], got.untimed_site[i], 0,
                               got.untimed_attributes[i]);
    }
    std::sort(want_timed.begin(), want_timed.end());
    std::sort(got_timed.begin(), got_timed.end());
    EXPECT_EQ(got_timed, want_timed);
    EXPECT_EQ(got_untimed, want_untimed);  // in the order of arrival
    EXPECT_EQ(got.late_count, late);
    last_start_ns = newest_ns;

    uint32_t site = 0;
    ASSERT_EQ(static_cast<size_t>(statistics.site_ids_size()), sums.size());
    auto sum = sums.begin();
    for (int i = 0; i < statistics.site_ids_size(); ++i, ++sum) {
      site += static_cast<uint32_t>(statistics.site_ids(i));
      EXPECT_EQ(site, sum->first);
      EXPECT_EQ(statistics.site_records(i), sum->second.first);
      EXPECT_EQ(statistics.site_duration_ns(i), sum->second.second);
    }

    ASSERT_EQ(got.launch_target.size(), launches_[chunk].size());
    for (size_t i = 0; i < launches_[chunk].size(); ++i) {
      EXPECT_EQ(got.launch_correlation_id[i], launches_[chunk][i].correlation_id);
      EXPECT_EQ(got.launch_target[i], launches_[chunk][i].target);
      EXPECT_EQ(got.launch_stream[i], launches_[chunk][i].stream);
    }
  }

  std::vector<uint64_t> none_ = {0};
  CounterView counters_{none_, none_};
  Writer writer_;
  std::vector<Expected> pending_;
  std::vector<LaunchEntry> pending_launches_;
  std::vector<std::vector<Expected>> chunks_;
  std::vector<std::vector<LaunchEntry>> launches_;
  std::map<uint32_t, uint32_t> site_attributes_;
};

class ColumnsTest : public ::testing::Test {
 protected:
  ScratchFolder folder_;
  std::string path_ = folder_.File("a.hpt");
};

TEST_F(ColumnsTest, OutOfOrderRecordsAreSortedAndLateOnesMarked) {
  Model model(path_);
  for (const uint64_t start_ns : {500, 300, 900, 100, 900}) {
    model.Add({.correlation_id = start_ns,
               .start_ns = start_ns,
               .end_ns = start_ns + 1000,
               .target = Target::Site(1),
               .stream = 1});
  }
  model.Flush();
  for (const uint64_t start_ns : {1000, 899, 900, 50}) {  // 899 and 50 are late
    model.Add({.correlation_id = start_ns,
               .start_ns = start_ns,
               .end_ns = start_ns,
               .target = Target::Site(2),
               .stream = 1});
  }
  model.Flush();
  model.Check(path_);
}

TEST_F(ColumnsTest, StreamsInterleaveAndReplaysOfSeveralGraphsOverlap) {
  Model model(path_);
  for (uint32_t node = 0; node < kNodes; ++node) {
    for (uint32_t replay = 0; replay < 4; ++replay) {  // two of graph 1
      const uint64_t start_ns = 1000 + node * 100 + replay * 10;
      model.Add({.correlation_id = 70 + replay,
                 .start_ns = start_ns,
                 .end_ns = start_ns + 250,
                 .target = Target::Graph(1 + replay % kGraphs),
                 .node = node,
                 .stream = 1 + (replay + node / 20) % kStreams,
                 .attributes = 1 + replay});
    }
  }
  model.Flush();
  model.Check(path_);
}

TEST_F(ColumnsTest, ExtremeValues) {
  Model model(path_);
  const uint64_t most = ~uint64_t{0};
  model.AddLaunch({most, Target::Site(kSites), kStreams});
  model.AddLaunch({0, Target(), 0});
  model.AddLaunch({1ull << 63, Target::Graph(1), 1});
  model.Add({.correlation_id = most, .start_ns = 1, .end_ns = most, .target = Target::Site(1)});
  model.Add({.correlation_id = 0,
             .start_ns = most,
             .end_ns = most,
             .target = Target::Site(2),
             .stream = kStreams});
  model.Add({.correlation_id = 5, .start_ns = 1, .end_ns = 1, .target = Target(), .site = 3});
  model.Add({.correlation_id = 5, .start_ns = 9, .end_ns = 8, .target = Target::Site(1)});
  model.Add({.correlation_id = 5, .start_ns = 0, .end_ns = 8, .target = Target::Site(1)});
  model.Add({.correlation_id = 5,
             .start_ns = 9,
             .end_ns = 0,
             .target = Target(),
             .site = 7,
             .attributes = 4});
  model.Flush();
  model.Check(path_);
}

// Everything at once: any order, any mixture.
TEST_F(ColumnsTest, RandomWorkloads) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    Model model(path_);
    const uint64_t chunks = 1 + random.Below(4);
    for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
      const uint64_t records = random.Below(400);
      const bool orderly = random.Below(2) == 0;
      uint64_t now_ns = 1'000'000 + chunk * 100'000;
      model.AddLaunch({seed, Target::Site(1), 1});  // no empty chunk
      for (uint64_t i = 0; i < records; ++i) {
        RecordEntry r;
        const uint64_t kind = random.Below(10);
        r.correlation_id = random.Below(30) << random.Below(40);
        r.target = kind == 0  ? Target()
                   : kind < 4 ? Target::Site(1 + static_cast<uint32_t>(random.Below(10)))
                              : Target::Graph(1 + static_cast<uint32_t>(random.Below(kGraphs)));
        if (r.target.is_graph()) r.node = static_cast<uint32_t>(random.Below(kNodes));
        if (kind == 0 || random.Below(20) == 0) {
          r.site = 1 + static_cast<uint32_t>(random.Below(kSites));
        }
        r.stream = static_cast<uint32_t>(random.Below(kStreams + 1));
        r.attributes = static_cast<uint32_t>(random.Below(kAttributes + 1));
        now_ns += orderly ? random.Below(300) : 0;
        r.start_ns = orderly ? now_ns - random.Below(500) : 1 + random.Below(1'000'000);
        r.end_ns = r.start_ns + random.Below(1u << random.Below(25));
        if (random.Below(25) == 0) (random.Below(2) == 0 ? r.start_ns : r.end_ns) = 0;
        model.Add(r);
        if (random.Below(3) == 0) model.AddLaunch({r.correlation_id, r.target, r.stream});
      }
      model.Flush();
    }
    model.Check(path_);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST_F(ColumnsTest, AReversedChunkIsSortedToo) {  // past insertion sort
  Model model(path_);
  for (uint64_t i = 0; i < 5000; ++i) {
    model.Add({.correlation_id = i,
               .start_ns = 100'000 - i * 10,
               .end_ns = 100'005 - i * 10,
               .target = Target::Site(1 + static_cast<uint32_t>(i % 10))});
  }
  model.Flush();
  model.Check(path_);
}

TEST_F(ColumnsTest, MoreThanAChunkHoldsIsRefusedAndSaid) {
  std::vector<uint64_t> none = {0};
  ColumnEncoder encoder;
  constexpr size_t kMost = size_t{1} << 20;
  for (size_t i = 0; i < kMost; ++i) ASSERT_TRUE(encoder.AddLaunch({}));
  EXPECT_FALSE(encoder.AddLaunch({}));
}

}  // namespace
}  // namespace hotproof::trace
