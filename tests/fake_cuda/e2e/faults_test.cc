// The ten named faults. In each the program's exit code and stdout are what they are without the
// tracer, stderr has at most one line, the tracer's, and the trace says the truth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/fake_cuda/e2e/traced_program.h"

namespace hotproof::e2e {
namespace {

using trace::ProblemKind;

// Runs `command` without and with the tracer and holds one against the other.
RunResult RunBoth(const std::vector<std::string>& command, RunOptions options) {
  RunOptions without = options;
  without.traced = false;
  const RunResult plain = RunProgram(command, without);
  const RunResult traced = RunProgram(command, options);
  EXPECT_FALSE(traced.timed_out) << "the tracer hangs the program";
  EXPECT_EQ(plain.exited, traced.exited);
  EXPECT_EQ(plain.code, traced.code);
  EXPECT_EQ(plain.OutputWithoutPids(), traced.OutputWithoutPids());
  // Lines that the program itself did not write.
  std::string extra = traced.errors;
  if (extra.starts_with(plain.errors)) extra.erase(0, plain.errors.size());
  EXPECT_LE(std::count(extra.begin(), extra.end(), '\n'), 1) << extra;
  if (!extra.empty()) {
    EXPECT_THAT(extra, testing::StartsWith("hotproof:"));
  }
  return traced;
}

TraceSummary OneTrace(const std::string& directory) {
  std::vector<TraceSummary> traces = ReadTraces(directory);
  EXPECT_EQ(1u, traces.size());
  return traces.size() == 1 ? traces[0] : TraceSummary();
}

RunOptions WithFault(const std::string& directory, const std::string& fault) {
  RunOptions options = {.out_directory = directory};
  if (!fault.empty()) options.environment["FAKE_CUDA_FAULTS"] = fault;
  return options;
}

TEST(Fault, DroppedRecords) {
  const std::string directory = NewDirectory();
  RunBoth({SelfCount(), "plain", "1000"}, WithFault(directory, "dropped_records=5"));
  const TraceSummary trace = OneTrace(directory);
  EXPECT_EQ(1000u, trace.Asked());
  EXPECT_EQ(800u, trace.Recorded());
  EXPECT_EQ(200u, trace.ProblemCount(trace::PROBLEM_CUPTI_DROPPED_RECORDS));
}

TEST(Fault, ZeroTimestamps) {
  const std::string directory = NewDirectory();
  RunBoth({SelfCount(), "graphs", "1500"}, WithFault(directory, "zero_timestamps=3"));
  const TraceSummary trace = OneTrace(directory);
  EXPECT_EQ(1500u, trace.Asked());
  EXPECT_EQ(1000u, trace.timed);
  EXPECT_EQ(500u, trace.untimed);
  EXPECT_EQ(0u, trace.unattributed);
}

TEST(Fault, AnotherSubscriber) {
  const std::string directory = NewDirectory();
  RunBoth({SelfCount(), "plain", "100"}, WithFault(directory, "another_subscriber"));
  const TraceSummary trace = OneTrace(directory);
  EXPECT_TRUE(trace.HasProblem(trace::PROBLEM_OTHER_SUBSCRIBER));
  EXPECT_THAT(trace.ProblemDetail(trace::PROBLEM_OTHER_SUBSCRIBER),
              testing::HasSubstr("CUPTI for somebody else"));
  EXPECT_EQ(0u, trace.Asked());
  EXPECT_EQ(0u, trace.Recorded());
}

TEST(Fault, AnotherToolTakesTheActivityBuffers) {
  const std::string directory = NewDirectory();
  const RunResult run = RunBoth({FaultsProgram(), "take_over"}, WithFault(directory, ""));
  EXPECT_THAT(run.errors, testing::HasSubstr("faults_program took over CUPTI's activity buffers"));
  const TraceSummary trace = OneTrace(directory);
  EXPECT_THAT(trace.ProblemDetail(trace::PROBLEM_OTHER_SUBSCRIBER),
              testing::StartsWith("activity buffers taken over by faults_program"));
  EXPECT_EQ(300u, trace.Asked());
  EXPECT_EQ(200u, trace.Recorded());  // those before, all of them
}

TEST(Fault, ABufferOfAnotherToolIsNotTouched) {
  const std::string directory = NewDirectory();
  RunBoth({SelfCount(), "plain", "1000"}, WithFault(directory, "foreign_buffer"));
  const TraceSummary trace = OneTrace(directory);
  EXPECT_EQ("activity buffers of another tool", trace.ProblemDetail(trace::PROBLEM_OTHER_SUBSCRIBER));
  EXPECT_EQ(1u, trace.ProblemCount(trace::PROBLEM_OTHER_SUBSCRIBER));
  EXPECT_EQ(1000u, trace.Recorded());
}

TEST(Fault, CuptiMissing) {
  const std::string directory = NewDirectory();
  RunOptions options = WithFault(directory, "");
  options.cupti = directory + "/no/libcupti.so.13";
  RunBoth({SelfCount(), "plain", "100"}, options);
  const TraceSummary trace = OneTrace(directory);
  EXPECT_TRUE(trace.HasProblem(trace::PROBLEM_CUPTI_MISSING));
  EXPECT_EQ(0u, trace.Recorded());
}

TEST(Fault, SymbolMissingThatCountingNeeds) {
  const std::string directory = NewDirectory();
  RunOptions options = WithFault(directory, "");
  options.cupti = FakeCupti("_without_exec_id");
  RunBoth({SelfCount(), "plain", "100"}, options);
  const TraceSummary trace = OneTrace(directory);
  EXPECT_TRUE(trace.HasProblem(trace::PROBLEM_SYMBOL_MISSING));
  EXPECT_THAT(trace.ProblemDetail(trace::PROBLEM_SYMBOL_MISSING),
              testing::HasSubstr("cuptiGetGraphExecId"));
  EXPECT_EQ(0u, trace.Recorded());
}

TEST(Fault, SymbolMissingThatTimingNeeds) {
  const std::string directory = NewDirectory();
  RunOptions options = WithFault(directory, "");
  options.cupti = FakeCupti("_without_flush");
  RunBoth({SelfCount(), "plain", "100"}, options);
  const TraceSummary trace = OneTrace(directory);
  EXPECT_THAT(trace.ProblemDetail(trace::PROBLEM_SYMBOL_MISSING),
              testing::HasSubstr("cuptiActivityFlushAll"));
  EXPECT_EQ(100u, trace.Asked());
  EXPECT_EQ(0u, trace.Recorded());
}

TEST(Fault, SymbolsMissingThatNothingNeeds) {
  const std::string directory = NewDirectory();
  RunOptions options = WithFault(directory, "");
  options.cupti = FakeCupti("_without_clock");
  RunBoth({SelfCount(), "streams4", "100"}, options);
  const TraceSummary trace = OneTrace(directory);
  EXPECT_EQ(2u, trace.ProblemCount(trace::PROBLEM_SYMBOL_MISSING)) << trace.Describe();
  EXPECT_EQ(100u, trace.Asked());
  EXPECT_EQ(100u, trace.timed);
  EXPECT_EQ(0u, trace.without_launch);
}

TEST(Fault, SigkillInTheMiddle) {
  const std::string directory = NewDirectory();
  const RunResult run =
      RunBoth({SelfCount(), "plain", "1000"}, WithFault(directory, "kill_at_launch=700"));
  EXPECT_FALSE(run.exited);
  EXPECT_EQ(SIGKILL, run.code);
  const TraceSummary trace = OneTrace(directory);
  EXPECT_EQ(700u, trace.Asked());  // every call that returned
  EXPECT_EQ(trace::CounterSource::kCounterFile, trace.tables.asked_source);
  EXPECT_FALSE(trace.tables.has_footer);
  EXPECT_LE(trace.Recorded(), 700u);
}

TEST(Fault, SigkillAfterAFlushKeepsWhatWasFlushed) {
  const std::string directory = NewDirectory();
  RunBoth({FaultsProgram(), "pause_then_killed"}, WithFault(directory, ""));
  const TraceSummary trace = OneTrace(directory);
  EXPECT_EQ(300u, trace.Asked());
  EXPECT_GE(trace.Recorded(), 200u);  // the 200 before the pause of a second
  EXPECT_LE(trace.Recorded(), 300u);
  EXPECT_FALSE(trace.tables.has_footer);
}

// Files are closed under a running program, and some are deleted: everything is counted all the same.
TEST(Fault, RotationLosesNothing) {
  const std::string directory = NewDirectory();
  RunOptions options = WithFault(directory, "");
  options.environment["HOTPROOF_ROTATE_BYTES"] = "1";
  const RunResult run = RunProgram({FaultsProgram(), "launch_through_files", directory, "4"}, options);
  ASSERT_EQ(0, run.code) << run.output << run.errors;
  const uint64_t counted = std::stoull(run.output.substr(run.output.find(' ')));
  const TraceSummary whole = OneTrace(directory);
  EXPECT_TRUE(whole.issues.empty()) << whole.Describe();
  EXPECT_EQ(counted, whole.Asked());
  EXPECT_EQ(counted, whole.Recorded());
  EXPECT_TRUE(whole.tables.has_footer);
  int removed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".000001.hps") && !name.ends_with(".000002.hps")) continue;
    removed += std::filesystem::remove(entry.path());
  }
  EXPECT_EQ(2, removed);
  const TraceSummary rest = OneTrace(directory);
  EXPECT_TRUE(rest.issues.empty()) << rest.Describe();
  EXPECT_EQ(2u, rest.tables.rotated_out.files);
  EXPECT_EQ(counted, rest.Asked());
  EXPECT_EQ(counted, rest.Recorded() + rest.tables.rotated_out.records);
  EXPECT_LT(rest.Recorded(), counted);
}

TEST(Fault, ForkBeforeCudaStarts) {
  const std::string directory = NewDirectory();
  RunOptions options = WithFault(directory, "");
  const RunResult run = RunProgram({SelfCount(), "fork", "2000"}, options);
  EXPECT_EQ(0, run.code) << run.output << run.errors;
  std::vector<uint64_t> asked, recorded;
  for (const TraceSummary& trace : ReadTraces(directory)) {
    asked.push_back(trace.Asked());
    recorded.push_back(trace.Recorded());
  }
  EXPECT_THAT(asked, testing::UnorderedElementsAre(2000, 1000));
  EXPECT_THAT(recorded, testing::UnorderedElementsAre(2000, 1000));
}

TEST(Fault, ForkAfterCudaStarted) {
  const std::string directory = NewDirectory();
  RunBoth({Probe(), "forkafter"}, WithFault(directory, ""));
  const TraceSummary trace = OneTrace(directory);  // the children wrote none
  EXPECT_EQ(2u, trace.Asked());
  EXPECT_EQ(2u, trace.Recorded());
  EXPECT_TRUE(trace.tables.has_footer);
}

TEST(Fault, UnderscoreExitFromAThread) {
  const std::string directory = NewDirectory();
  const RunResult run = RunBoth({Probe(), "exitthread"}, WithFault(directory, ""));
  EXPECT_EQ(7, run.code);
  const TraceSummary trace = OneTrace(directory);
  EXPECT_EQ(1u, trace.Asked());
  EXPECT_LE(trace.Recorded(), 1u);
}

TEST(Fault, ExitWhileThreadsLaunch) {
  const std::string directory = NewDirectory();
  const RunResult run =
      RunBoth({FaultsProgram(), "exit_while_launching"}, WithFault(directory, ""));
  EXPECT_EQ(5, run.code);
  const TraceSummary trace = OneTrace(directory);
  EXPECT_GT(trace.Asked(), 0u);
  EXPECT_LE(trace.Recorded(), trace.Asked());
}

TEST(Fault, CuptiGivesUp) {
  const std::string directory = NewDirectory();
  RunBoth({SelfCount(), "plain", "100"}, WithFault(directory, "fatal_at_launch=60"));
  const TraceSummary trace = OneTrace(directory);
  EXPECT_TRUE(trace.HasProblem(trace::PROBLEM_COLLECTION_ENDED));
  EXPECT_LE(trace.Asked(), 60u);
}

TEST(Fault, LostRecordsThatCuptiDoesNotCount) {
  const std::string directory = NewDirectory();
  RunBoth({SelfCount(), "streams4", "1000"}, WithFault(directory, "lost_records=10"));
  const TraceSummary trace = OneTrace(directory);
  EXPECT_EQ(1000u, trace.Asked());
  EXPECT_EQ(900u, trace.Recorded());
  EXPECT_FALSE(trace.HasProblem(trace::PROBLEM_CUPTI_DROPPED_RECORDS));
}

TEST(Fault, ADiskThatAnswersNoMore) {
  for (const char* after : {"3", "4"}) {
    const std::string directory = NewDirectory();
    RunOptions options = WithFault(directory, "");
    options.preload = SlowDisk();
    options.environment["SLOW_DISK_AFTER"] = after;
    RunBoth({SelfCount(), "plain", "1000"}, options);  // with its exit code, and it ends
    const TraceSummary trace = OneTrace(directory);
    EXPECT_EQ(trace::CounterSource::kCounterFile, trace.tables.asked_source);
    EXPECT_EQ(1000u, trace.Asked());  // counting went on
    EXPECT_FALSE(trace.tables.has_footer);
  }
}

// Counting goes on, and timing when there is room again.
TEST(Fault, ADiskThatIsFullForAWhile) {
  const std::string directory = NewDirectory();
  RunOptions options = WithFault(directory, "");
  options.preload = SlowDisk();
  options.environment["FULL_DISK_FLAG"] = directory + ".full";
  const RunResult run = RunProgram({FaultsProgram(), "full_disk", directory, directory + ".full"}, options);
  ASSERT_EQ(0, run.code) << run.output << run.errors;
  EXPECT_THAT(run.errors, testing::StartsWith("hotproof: the trace cannot be written"));
  EXPECT_EQ(1, std::count(run.errors.begin(), run.errors.end(), '\n')) << run.errors;
  const uint64_t counted = std::stoull(run.output.substr(run.output.find(' ')));
  const TraceSummary trace = OneTrace(directory);
  EXPECT_TRUE(trace.issues.empty()) << trace.Describe();
  EXPECT_EQ(counted, trace.Asked());
  EXPECT_LT(trace.Recorded(), counted);
  EXPECT_GE(trace.Recorded(), 100u) << trace.Describe();  // those behind, all of them
  EXPECT_TRUE(trace.HasProblem(trace::PROBLEM_DISK_FULL));
  ASSERT_TRUE(trace.tables.has_footer);
  EXPECT_EQ(counted, trace.tables.footer.launches());
}

// --- A full disk, a read-only folder: mounts in a namespace of this test's own
// ---------------------------

class MountTest : public testing::Test {
 protected:
  // Puts this process (and the programs it starts) into a mount namespace. Skips where the machine
  // allows none.
  void SetUp() override {
    const int flags = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    if (unshare(flags) != 0) GTEST_SKIP() << "no mount namespace here: " << strerror(errno);
    if (uid != 0) {
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
      std::ofstream("/proc/self/gid_map") << "0 " << gid << " 1";
    }
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      GTEST_SKIP() << "no private mounts here: " << strerror(errno);
  }

  static bool Mount(const char* source, const std::string& target, const char* type,
                    unsigned long flags, const char* data) {
    return mount(source, target.c_str(), type, flags, data) == 0;
  }
};

TEST_F(MountTest, FullDisk) {
  const std::string directory = NewDirectory();
  ASSERT_TRUE(Mount("none", directory, "tmpfs", 0, "size=65536,mode=0700")) << strerror(errno);
  // Traces are small: three quarters are taken already.
  std::ofstream(directory + "/filler") << std::string(49152, 'x');
  RunBoth({SelfCount(), "plain", "200000"}, WithFault(directory, ""));
  const TraceSummary trace = OneTrace(directory);
  EXPECT_TRUE(trace.HasProblem(trace::PROBLEM_COUNTERS_NOT_ON_DISK));
  EXPECT_NE(trace::CounterSource::kCounterFile, trace.tables.asked_source);
  // Nothing that is not so: never more than was asked, and the end is there only with all counts.
  EXPECT_LE(trace.Asked(), 200000u);
  EXPECT_LT(trace.Recorded(), 200000u);
  if (trace.tables.has_footer) {
    EXPECT_EQ(200000u, trace.Asked());
    EXPECT_TRUE(trace.HasProblem(trace::PROBLEM_DISK_FULL));
  }
  umount2(directory.c_str(), MNT_DETACH);
}

TEST_F(MountTest, FullDiskWhereDisablingAKindDeadlocks) {
  const std::string directory = NewDirectory();
  ASSERT_TRUE(Mount("none", directory, "tmpfs", 0, "size=65536,mode=0700")) << strerror(errno);
  std::ofstream(directory + "/filler") << std::string(49152, 'x');
  const std::vector<std::string> command = {SelfCount(), "plain", "200000"};
  RunBoth(command, WithFault(directory, "cupti_version=130000,disable_deadlocks"));
  EXPECT_LT(OneTrace(directory).Recorded(), 200000u);
  umount2(directory.c_str(), MNT_DETACH);
}

TEST_F(MountTest, DiskThatFillsWhileTheCountersFit) {
  const std::string directory = NewDirectory();
  ASSERT_TRUE(Mount("none", directory, "tmpfs", 0, "size=3145728,mode=0700")) << strerror(errno);
  // All but 64 KiB of what is left after the counter file goes to a filler: not without the tracer
  // first.
  const RunResult run = RunProgram({FaultsProgram(), "fill_disk_then_launch", directory, "200000"},
                                   WithFault(directory, ""));
  EXPECT_EQ(0, run.code);
  EXPECT_EQ("counted 200001\n", run.output);
  const TraceSummary trace = OneTrace(directory);
  EXPECT_EQ(trace::CounterSource::kCounterFile, trace.tables.asked_source) << trace.Describe();
  EXPECT_EQ(200001u, trace.Asked());  // nothing was timed, counting went on
  EXPECT_LT(trace.Recorded(), 200000u);
  EXPECT_TRUE(trace.HasProblem(trace::PROBLEM_DISK_FULL) || !trace.tables.has_footer);
  umount2(directory.c_str(), MNT_DETACH);
}

TEST_F(MountTest, ReadOnlyFolder) {
  const std::string directory = NewDirectory();
  ASSERT_TRUE(Mount(directory.c_str(), directory, nullptr, MS_BIND, nullptr)) << strerror(errno);
  ASSERT_TRUE(Mount("none", directory, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr))
      << strerror(errno);
  const RunResult run = RunBoth({SelfCount(), "plain", "1000"}, WithFault(directory, ""));
  EXPECT_THAT(run.errors, testing::StartsWith("hotproof:"));  // there is no trace to say it in
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  umount2(directory.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace hotproof::e2e
