// What is carried from file to file stays small however long a process runs, and says what all of it said.
#include "tests/tracer/rotation_server.h"

#include <algorithm>
#include <random>

#include "analyzers/phases.h"
#include "trace/frame_output.h"
#include "trace/snapshot_list.h"

namespace hotproof::tracer {
namespace {

using trace::ListedSnapshot;
using trace::SnapshotList;

void Mark(Server& server, std::string_view label, uint64_t correlation_id) {
  server.writer().AddSnapshot(
      {.reason = trace::SNAPSHOT_REASON_MARK, .label = label, .correlation_id = correlation_id},
      server.counts());
}

// As a server that marks each of its requests does in some days.
TEST_F(RotationTest, AHundredThousandMarksKeepFilesSmallAndPhasesExact) {
  constexpr int kMarks = 100'000, kSteady = 1000, kMarksOfAFile = 20'000;
  uint64_t before_steady = 0, largest_head = 0;
  {
    Server server(folder_, {.file_bytes = 1 << 14});
    server.StepCountedOnly();
    ASSERT_TRUE(server.Flush());
    for (int i = 1; i <= kMarks; ++i) {
      if (i % 100 == 0) server.StepCountedOnly();
      if (i == kSteady) {
        Mark(server, "steady", 77);
        before_steady = server.launches();
      }
      Mark(server, "request " + std::to_string(i), static_cast<uint64_t>(i));
      if (i % 500 == 0) {
        ASSERT_TRUE(server.Flush());
      }
      if (i % kMarksOfAFile != 0) continue;
      ASSERT_TRUE(server.rotation().Due(server.writer(), 1));
      ASSERT_TRUE(server.Rotate()) << server.rotation().why();
      largest_head = std::max(largest_head, server.writer().bytes_written());
    }
    server.End();
  }
  EXPECT_LT(largest_head, 200'000u);
  const auto check = [&](uint32_t gone) {
    const auto process = Analyze();
    const trace::Tables& tables = process.reader->tables();
    EXPECT_TRUE(process.reader->issues().empty());
    EXPECT_EQ(tables.rotated_out.files, gone);
    const analyzers::Phases phases = analyzers::FindPhases(tables);
    EXPECT_EQ(phases.correlation_id, 77u);
    EXPECT_EQ(phases.detail, "at the steady mark");
    uint64_t warmup = 0, marks = 0;
    for (const uint64_t launches : tables.LaunchesBySite(phases.warmup)) warmup += launches;
    EXPECT_EQ(warmup, before_steady);
    for (const trace::SnapshotTable& snapshot : tables.snapshots) marks += 1 + snapshot.repeats;
    EXPECT_EQ(marks, kMarks + 1u);
    EXPECT_LE(tables.snapshots.size(), 16 * SnapshotList::kMaxSnapshots);
  };
  check(0);  // more than a reader holds, too
  for (int file = 1; file <= kMarks / kMarksOfAFile; ++file) {
    ASSERT_TRUE(fs::remove(trace::SegmentPath(Path("a.hpt"), file)));
  }
  check(kMarks / kMarksOfAFile);
}

// Where phases begin, for snapshots in any order, is what it was before some of them were left out.
TEST(SnapshotListTest, WhatIsLeftOutDecidesNothing) {
  std::minstd_rand random(1);
  for (int round = 0; round < 300; ++round) {
    const size_t count = 1 + random() % 60;
    SnapshotList list;
    trace::Tables whole;
    trace::CounterValues values{{0, 0, 0}, {0, 0}};
    for (size_t i = 0; i < count; ++i) {
      ListedSnapshot snapshot;
      snapshot.reason = 1 + random() % 4;
      snapshot.label = snapshot.reason != trace::SNAPSHOT_REASON_MARK ? ""
                       : random() % 4 == 0                            ? "steady"
                                                                      : "request";
      snapshot.correlation_id = i;
      for (uint32_t site = 0; site < 3; ++site) {
        if (const uint64_t more = random() % 3) snapshot.sites.push_back({site, more});
      }
      if (random() % 2) snapshot.graphs.push_back({1, 5});
      for (const auto& [site, more] : snapshot.sites) values.sites[site] += more;
      for (const auto& [graph, more] : snapshot.graphs) values.graphs[graph] += more;
      whole.snapshots.push_back({.reason = static_cast<trace::SnapshotReason>(snapshot.reason),
                                 .label = snapshot.label,
                                 .correlation_id = i,
                                 .asked = values});
      list.Add(std::move(snapshot));
      if (random() % 8 == 0) list.CutTo(random() % 12);
    }
    list.CutTo(random() % 12);
    EXPECT_LE(list.snapshots().size(), std::max<size_t>(12, SnapshotList::kFewest));
    trace::Tables cut;
    trace::CounterValues so_far{{0, 0, 0}, {0, 0}};
    uint64_t all = 0;
    for (const ListedSnapshot& snapshot : list.snapshots()) {
      for (const auto& [site, more] : snapshot.sites) so_far.sites[site] += more;
      for (const auto& [graph, more] : snapshot.graphs) so_far.graphs[graph] += more;
      const trace::SnapshotTable& same = whole.snapshots[snapshot.correlation_id];
      EXPECT_EQ(so_far.sites, same.asked.sites);
      EXPECT_EQ(so_far.graphs, same.asked.graphs);
      cut.snapshots.push_back(same);
      cut.snapshots.back().repeats = snapshot.repeats;
      all += 1 + snapshot.repeats;
    }
    EXPECT_EQ(all, count);
    const analyzers::Phases before = analyzers::FindPhases(whole), after = analyzers::FindPhases(cut);
    EXPECT_EQ(before.phased, after.phased);
    EXPECT_EQ(before.correlation_id, after.correlation_id);
    EXPECT_EQ(before.warmup.sites, after.warmup.sites);
    EXPECT_EQ(before.detail, after.detail);
  }
}

TEST(SnapshotListTest, StaysBoundedWhereEachMovesManySlots) {
  SnapshotList list;
  for (uint64_t i = 0; i < 200; ++i) {
    ListedSnapshot snapshot{.reason = trace::SNAPSHOT_REASON_MARK, .label = "request"};
    for (uint32_t site = 0; site < 60'000; ++site) snapshot.sites.push_back({site, 1});
    list.Add(std::move(snapshot));
    size_t increments = 0;
    uint64_t first_site = 0;
    for (const ListedSnapshot& kept : list.snapshots()) {
      increments += kept.sites.size();
      first_site += kept.sites[0].second;
    }
    ASSERT_LE(increments, SnapshotList::kMaxIncrements);
    ASSERT_EQ(first_site, i + 1);
  }
}

TEST_F(RotationTest, SumsByManySitesAreAddedUpSooner) {
  constexpr size_t kSlots = 65'000;
  constexpr uint32_t kFiles = 60;
  trace::Writer writer(open(Path("a.hpt").c_str(), O_WRONLY | O_CREAT, 0600));
  writer.KeepForNextFile();
  writer.AddHeader({});
  std::vector<uint64_t> sites(kSlots), graphs(1);
  for (uint32_t file = 0; file < kFiles; ++file) {
    for (uint64_t& count : sites) count += uint64_t{1} << 20;
    ASSERT_EQ(writer.Flush({sites, graphs}), trace::WriteResult::kOk);
    const std::string path = Path(std::to_string(file));
    ASSERT_EQ(writer.StartFile(open(path.c_str(), O_WRONLY | O_CREAT, 0600), [] { return true; }),
              trace::WriteResult::kOk);
  }
  const auto reader = trace::TraceReader::Open(Path(std::to_string(kFiles - 1)));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE((*reader)->issues().empty());
  const trace::Tables& tables = (*reader)->tables();
  EXPECT_EQ(tables.rotated_out.files, kFiles);
  EXPECT_LE(tables.rotated_out.rollups.size(), size_t{16});  // of a million sums together
  EXPECT_EQ(tables.asked.sites[0], kSlots * kFiles << 20);  // no table has these sites
}

bool disk_is_full = false;
ssize_t WriteIfThereIsRoom(int fd, const iovec* parts, int count, off_t at) {
  if (disk_is_full) return errno = ENOSPC, -1;
  return pwritev(fd, parts, count, at);
}

// A disk may be full for days, and a program marks its requests all the same.
TEST_F(RotationTest, WhatWaitsForAFullDiskStaysSmall) {
  trace::FrameOutput::default_write_at = &WriteIfThereIsRoom;
  {
    Server server(folder_, {});
    trace::FrameOutput::default_write_at = &pwritev;
    ASSERT_TRUE(server.Flush());
    const uint64_t before = server.writer().bytes_written();
    disk_is_full = true;
    for (int i = 0; i < 100'000; ++i) {
      Mark(server, "request " + std::to_string(i), 1);
      server.writer().AddProblem({.kind = trace::PROBLEM_DISK_FULL, .count = i + 1u, .detail = "no space"});
      if (i % 10'000 == 0) {
        EXPECT_FALSE(server.Flush());
      }
    }
    disk_is_full = false;
    ASSERT_TRUE(server.Flush());
    EXPECT_LT(server.writer().bytes_written() - before, 100'000u);
  }
  const auto process = Analyze();
  const trace::Tables& tables = process.reader->tables();
  uint64_t marks = 0;
  for (const trace::SnapshotTable& snapshot : tables.snapshots) marks += 1 + snapshot.repeats;
  EXPECT_EQ(marks, 100'000u);
  ASSERT_EQ(tables.problems.size(), 1u);
  EXPECT_EQ(tables.problems[0].count(), 100'000u);
}

}  // namespace
}  // namespace hotproof::tracer
