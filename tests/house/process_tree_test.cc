// ProcessTree on a made-up procfs: each test writes the files that the kernel would show.
#include "cli/process_tree.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hotproof::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr pid_t kRoot = 100;

class ProcessTreeTest : public ::testing::Test {
 protected:
  ProcessTreeTest() : tree_(kRoot, "libhotproof.so", Folder()) { Start(kRoot, 1, 5); }
  ~ProcessTreeTest() override { fs::remove_all(proc_); }

  const std::string& Folder() {
    std::string name = "/tmp/hotproof-proc-XXXXXX";
    proc_ = mkdtemp(name.data());
    return proc_;
  }
  std::string Of(pid_t pid) const { return proc_ + "/" + std::to_string(pid); }

  // A process running the program whose stack begins at `image`.
  void Start(pid_t pid, pid_t parent, int start_ticks, int image = 1000, char state = 'S',
             const std::string& name = "a (b) c", int threads = 1) {
    fs::create_directories(Of(pid) + "/fd");
    std::ofstream stat(Of(pid) + "/stat");
    stat << pid << " (" << name << ") " << state << " " << parent;
    for (int field = 5; field <= 52; ++field) {
      stat << " "
           << (field == 20   ? threads
               : field == 22 ? start_ticks
               : field == 28 ? image
               : field == 48 ? (image == 0 ? 0 : image + 1)
                             : 7);
    }
    std::ofstream(Of(pid) + "/cmdline") << std::string("prog\0--x\0", 9);
  }
  void End(pid_t pid) { fs::remove_all(Of(pid)); }
  void OpenUvm(pid_t pid) { fs::create_symlink("/dev/nvidia-uvm", Of(pid) + "/fd/9"); }
  void CloseUvm(pid_t pid) { fs::remove(Of(pid) + "/fd/9"); }
  void Map(pid_t pid, const std::string& path) {
    std::ofstream(Of(pid) + "/maps") << "1-2 r-xp 0 00:00 1   " << path << "\n";
  }
  SeenProcess Seen(pid_t pid) {
    for (const SeenProcess& process : tree_.processes()) {
      if (process.pid == pid) return process;
    }
    ADD_FAILURE() << pid << " was not seen";
    return {};
  }

  std::string proc_;
  ProcessTree tree_;
};

TEST_F(ProcessTreeTest, SeesDescendantsOnly) {
  Start(101, kRoot, 6);
  Start(102, 101, 7);
  Start(50, 1, 2);   // somebody else's
  Start(51, 50, 3);  // and its child
  EXPECT_TRUE(tree_.Poll());
  EXPECT_THAT(tree_.alive(), ElementsAre(101, 102));
  EXPECT_EQ(Seen(102).parent_pid, 101);
  EXPECT_EQ(Seen(102).start_ticks, 7u);
  EXPECT_THAT(Seen(102).arguments, ElementsAre("prog", "--x"));
  EXPECT_FALSE(tree_.Poll());  // nothing new
}

TEST_F(ProcessTreeTest, AChildWithALowerNumberThanItsParent) {
  Start(90, 101, 7);
  Start(101, kRoot, 6);
  tree_.Poll();
  EXPECT_THAT(tree_.alive(), ElementsAre(90, 101));
}

TEST_F(ProcessTreeTest, AnOrphanComesToTheRoot) {
  Start(101, kRoot, 6);
  tree_.Poll();
  End(101);
  Start(102, kRoot, 7);  // its parent died before it was ever listed
  EXPECT_TRUE(tree_.Poll());
  EXPECT_THAT(tree_.alive(), ElementsAre(102));
  EXPECT_FALSE(Seen(101).alive);
}

TEST_F(ProcessTreeTest, AParentThatAppearsLaterStillMakesItADescendant) {
  Start(102, 101, 7);  // 101 was forked after the listing passed its place
  tree_.Poll();
  Start(101, kRoot, 6);
  tree_.Poll();
  EXPECT_THAT(tree_.alive(), ElementsAre(101, 102));
}

TEST_F(ProcessTreeTest, ANumberUsedAgainIsAnotherProcess) {
  Start(101, kRoot, 6);
  tree_.Poll();
  Start(101, kRoot, 9);
  tree_.Poll();
  EXPECT_THAT(tree_.processes(), SizeIs(2));
  EXPECT_THAT(tree_.alive(), ElementsAre(101));
}

TEST_F(ProcessTreeTest, AZombieHasEndedUnlessThreadsGoOn) {
  Start(101, kRoot, 6, 1000, 'Z');
  Start(102, kRoot, 7, 1000, 'Z', "x", 3);
  tree_.Poll();
  EXPECT_THAT(tree_.alive(), ElementsAre(102));
}

TEST_F(ProcessTreeTest, DescriptorsThatMayNotBeReadAreNotNone) {
  Start(101, kRoot, 6);
  Start(102, kRoot, 6);
  fs::remove_all(Of(101) + "/fd");
  std::ofstream(Of(101) + "/fd") << "no folder";  // root may read any
  tree_.Poll();
  EXPECT_TRUE(Seen(101).unreadable);
  EXPECT_FALSE(Seen(101).holds_uvm || Seen(102).unreadable);
  fs::remove(Of(101) + "/fd");
  fs::create_directories(Of(101) + "/fd");
  tree_.Poll();
  EXPECT_FALSE(Seen(101).unreadable);
}

// trace/untraced_mark.h: where a GPU's device file cannot be seen, the tracer says it itself.
TEST_F(ProcessTreeTest, WhatSaysThatItCouldNotBeTracedIsAGpuProcess) {
  Start(101, kRoot, 6);
  fs::create_symlink("/memfd:hotproof-untraced (deleted)", Of(101) + "/fd/5");
  fs::create_symlink("/memfd:another (deleted)", Of(101) + "/fd/6");
  Start(102, kRoot, 6);
  fs::create_symlink("/memfd:another (deleted)", Of(102) + "/fd/6");
  tree_.Poll();
  EXPECT_TRUE(Seen(101).holds_uvm && Seen(101).marked_untraced);
  EXPECT_FALSE(Seen(102).holds_uvm || Seen(102).marked_untraced);
  Start(103, 101, 8);  // forked, with the mark
  fs::create_symlink("/memfd:hotproof-untraced (deleted)", Of(103) + "/fd/5");
  tree_.Poll();
  EXPECT_FALSE(Seen(103).holds_uvm);
}

TEST_F(ProcessTreeTest, ExecShowsTheNewProgram) {
  Start(101, kRoot, 6);
  Map(101, "/opt/libhotproof.so");
  tree_.Poll();
  EXPECT_TRUE(Seen(101).preloaded);
  Start(101, kRoot, 6, 2000);  // same process, other program, without the library
  std::ofstream(Of(101) + "/cmdline") << std::string("other\0", 6);
  Map(101, "/opt/other.so");
  EXPECT_TRUE(tree_.Poll());
  EXPECT_THAT(tree_.processes(), SizeIs(1));
  EXPECT_THAT(Seen(101).arguments, ElementsAre("other"));
  EXPECT_FALSE(Seen(101).preloaded);
}

TEST_F(ProcessTreeTest, AnEndingProcessKeepsWhatItWas) {
  Start(101, kRoot, 6);
  Map(101, "/opt/libhotproof.so");
  OpenUvm(101);
  tree_.Poll();
  Start(102, 101, 7);
  OpenUvm(102);
  tree_.Poll();
  for (pid_t pid : {101, 102}) {
    Start(pid, pid == 101 ? kRoot : 101, pid == 101 ? 6 : 7, 0, 'R');  // its memory is gone
    std::ofstream(Of(pid) + "/cmdline") << "";
    std::ofstream(Of(pid) + "/maps") << "";
  }
  tree_.Poll();
  EXPECT_THAT(Seen(101).arguments, ElementsAre("prog", "--x"));
  EXPECT_TRUE(Seen(101).preloaded);
  EXPECT_TRUE(Seen(101).holds_uvm);
  EXPECT_THAT(Seen(102).arguments, ElementsAre("prog", "--x"));
  EXPECT_FALSE(Seen(102).holds_uvm);
}

TEST_F(ProcessTreeTest, ANewTitleIsNoNewProgram) {
  Start(101, kRoot, 6);
  tree_.Poll();
  std::ofstream(Of(101) + "/cmdline") << "VLLM::EngineCore";
  EXPECT_FALSE(tree_.Poll());
  EXPECT_THAT(Seen(101).arguments, ElementsAre("prog", "--x"));
}

TEST_F(ProcessTreeTest, TheLibraryIsLookedForByItsWholeName) {
  Start(101, kRoot, 6);
  Map(101, "/opt/notlibhotproof.so");
  tree_.Poll();
  EXPECT_FALSE(Seen(101).preloaded);
}

TEST_F(ProcessTreeTest, AnOpenUvmDeviceMakesAGpuProcess) {
  Start(101, kRoot, 6);
  fs::create_symlink("/dev/nvidia-uvm-tools", Of(101) + "/fd/3");
  tree_.Poll();
  EXPECT_FALSE(Seen(101).holds_uvm);
  OpenUvm(101);
  EXPECT_TRUE(tree_.Poll());
  EXPECT_TRUE(Seen(101).holds_uvm);
  CloseUvm(101);
  tree_.Poll();
  EXPECT_TRUE(Seen(101).holds_uvm);  // it was one
}

TEST_F(ProcessTreeTest, AForkedCopyOfTheDescriptorIsNone) {
  Start(101, kRoot, 6);
  OpenUvm(101);
  tree_.Poll();
  Start(102, 101, 7);
  OpenUvm(102);
  tree_.Poll();
  tree_.Poll();
  EXPECT_FALSE(Seen(102).holds_uvm);
}

TEST_F(ProcessTreeTest, AForkedChildThatOpensItLaterIsOne) {
  Start(101, kRoot, 6);
  OpenUvm(101);
  tree_.Poll();
  Start(102, 101, 7);
  tree_.Poll();
  OpenUvm(102);
  tree_.Poll();
  EXPECT_TRUE(Seen(102).holds_uvm);
}

TEST_F(ProcessTreeTest, AfterExecTheDescriptorIsItsOwn) {
  Start(101, kRoot, 6);
  OpenUvm(101);
  tree_.Poll();
  Start(102, 101, 7, 1000);
  OpenUvm(102);
  tree_.Poll();
  Start(102, 101, 7, 2000);
  tree_.Poll();
  EXPECT_TRUE(Seen(102).holds_uvm);
}

TEST_F(ProcessTreeTest, WhoOpenedItFirstIsUnknownWithinOnePoll) {
  Start(101, kRoot, 6);
  tree_.Poll();
  OpenUvm(101);
  Start(102, 101, 7);
  OpenUvm(102);
  tree_.Poll();
  EXPECT_TRUE(Seen(102).holds_uvm);  // rather one too many than one overlooked
  CloseUvm(102);
  Start(102, 101, 7, 2000);
  tree_.Poll();
  EXPECT_FALSE(Seen(102).holds_uvm);  // the exec closed it: it was a copy
}

TEST_F(ProcessTreeTest, AProcessThatEndsWhileItIsReadIsNoTrouble) {
  Start(101, kRoot, 6);
  for (const char* file : {"/cmdline", "/maps"}) {
    fs::remove(Of(101) + file);
    fs::create_directories(Of(101) +
                           file);  // opens, and fails to be read, as ended processes' files do
  }
  tree_.Poll();
  EXPECT_THAT(Seen(101).arguments, IsEmpty());
  fs::remove(Of(101) + "/stat");
  fs::create_directories(Of(101) + "/stat");
  tree_.Poll();
  EXPECT_FALSE(Seen(101).alive);
}

TEST_F(ProcessTreeTest, AnUnreadableProcessIsNoTrouble) {
  fs::create_directories(Of(101));
  EXPECT_FALSE(tree_.Poll());
  EXPECT_THAT(tree_.processes(), IsEmpty());
}

}  // namespace
}  // namespace hotproof::cli
