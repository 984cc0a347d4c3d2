// `hotproof doctor`'s checks, shown machines that this one is not.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/library_probe.h"
#include "cli/system_checks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trace/quirks.h"

namespace hotproof::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DoctorTest : public ::testing::Test {
 protected:
  DoctorTest() {
    std::string name = "/tmp/hotproof-doctor-XXXXXX";
    machine_.root = mkdtemp(name.data());
    machine_.folder = machine_.root;
    machine_.environment = {{"PATH", "/nowhere"}};
    machine_.probe_driver = [] { return LoadedLibrary{true, "/usr/lib/libcuda.so.1", 13000, ""}; };
    machine_.probe_cupti = [this](const std::string& name) {
      return name == cupti_name_ ? LoadedLibrary{true, "/lib/" + name, cupti_version_, ""}
                                 : LoadedLibrary{false, "", 0, name + " is not here"};
    };
    Write("/proc/driver/nvidia/version",
          "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue\nGCC version: 12.2.0\n");
    Write("/proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 1\n");
    Write("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
    Write("/dev/nvidiactl", "");
    Write("/dev/nvidia-uvm", "");
  }
  ~DoctorTest() override { fs::remove_all(machine_.root); }

  void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(machine_.root + path).parent_path());
    std::ofstream(machine_.root + path) << text;
  }
  doctor::Check Find(const std::string& id) {
    const doctor::Report report = ExamineMachine(machine_);
    for (const doctor::Check& check : report.checks()) {
      if (check.id() == id) return check;
    }
    ADD_FAILURE() << "no check " << id;
    return {};
  }

  Machine machine_;
  std::string cupti_name_ = "libcupti.so.13";
  int cupti_version_ = 130001;
};

TEST_F(DoctorTest, AMachineWithEverything) {
  EXPECT_EQ(Find("driver").found(), "580.159.04");
  EXPECT_EQ(Find("gpus").found(), "NVIDIA H200");
  EXPECT_EQ(Find("libcuda").found(), "/usr/lib/libcuda.so.1, CUDA 13.0");
  EXPECT_EQ(Find("cupti").found(), "13.0.1 (130001), /lib/libcupti.so.13, by loader");
  const doctor::Report report = ExamineMachine(machine_);
  for (const doctor::Check& check : report.checks()) {
    // The library of this build may not be beside a test program.
    if (check.id() != "tracer" && check.id() != "folder") {
      EXPECT_EQ(check.state(), doctor::OK) << check.DebugString();
    }
  }
}

TEST_F(DoctorTest, WithoutADriverNothingCanBeTraced) {
  fs::remove_all(machine_.root + "/proc");
  machine_.probe_driver = [] { return LoadedLibrary{false, "", 0, "libcuda.so.1: no such file"}; };
  EXPECT_EQ(Find("driver").state(), doctor::MISSING);
  EXPECT_EQ(Find("gpus").state(), doctor::MISSING);
  EXPECT_EQ(Find("libcuda").state(), doctor::MISSING);
  EXPECT_FALSE(ExamineMachine(machine_).can_trace());
}

TEST_F(DoctorTest, CuptiIsLookedForInTheTracersOrder) {
  machine_.environment["CUDA_HOME"] = "/opt/cuda";
  cupti_name_ = "/opt/cuda/extras/CUPTI/lib64/libcupti.so.12";
  cupti_version_ = 26;
  EXPECT_EQ(ExamineMachine(machine_).cupti().found_by(), "CUDA_HOME");
  cupti_name_ = "libcupti.so.12";
  EXPECT_EQ(ExamineMachine(machine_).cupti().found_by(), "loader");
}

TEST_F(DoctorTest, ANamedCuptiIsTheOnlyOne) {
  machine_.environment["HOTPROOF_CUPTI"] = "/opt/libcupti.so";
  EXPECT_EQ(Find("cupti").state(), doctor::MISSING);
  EXPECT_THAT(Find("cupti").advice(), HasSubstr("HOTPROOF_CUPTI"));
  cupti_name_ = "/opt/libcupti.so";
  EXPECT_EQ(Find("cupti").state(), doctor::OK);
}

TEST_F(DoctorTest, PythonPackagesCupti) {
  machine_.environment["VIRTUAL_ENV"] = machine_.root + "/venv";
  Write("/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13", "");
  cupti_name_ = machine_.root + "/venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13";
  EXPECT_THAT(Find("cupti").found(), HasSubstr("Python packages"));
}

TEST_F(DoctorTest, VersionsOutsideTheSupportedOnesAreSaid) {
  cupti_version_ = 23;
  EXPECT_EQ(Find("cupti").state(), doctor::WARNING);
  EXPECT_THAT(Find("cupti").advice(), HasSubstr("older"));
  cupti_version_ = 140000;
  EXPECT_EQ(Find("cupti").state(), doctor::WARNING);
  EXPECT_THAT(Find("cupti").advice(), HasSubstr("newer"));
}

TEST_F(DoctorTest, QuirksAreThoseOfTheVersion) {
  const auto has = [&](const std::string& id) {
    const doctor::Report report = ExamineMachine(machine_);
    for (const doctor::Quirk& quirk : report.quirks()) {
      if (quirk.id() == id) return true;
    }
    return false;
  };
  cupti_version_ = 26;
  EXPECT_TRUE(has("null_buffer_crash"));
  EXPECT_FALSE(has("flush_crash"));
  cupti_version_ = 130000;
  EXPECT_FALSE(has("null_buffer_crash"));
  EXPECT_TRUE(has("flush_crash"));
  cupti_version_ = 130001;
  EXPECT_FALSE(has("flush_crash"));
}

TEST_F(DoctorTest, OtherInjectionsAreSaid) {
  machine_.environment["CUDA_INJECTION64_PATH"] = "/opt/nsys.so";
  machine_.environment["NSYS_PROFILING_SESSION_ID"] = "7";
  EXPECT_EQ(Find("injections").state(), doctor::WARNING);
  EXPECT_THAT(Find("injections").found(), AllOf(HasSubstr("/opt/nsys.so"), HasSubstr("NSYS_")));
}

TEST_F(DoctorTest, CountersForRootAreANote) {
  Write("/proc/driver/nvidia/params", "Other: 1\nRmProfilingAdminOnly: 1\n");
  EXPECT_EQ(Find("permissions").state(), doctor::NOTE);
}

TEST_F(DoctorTest, AFolderThatDoesNotExistYetIsJudgedByItsParent) {
  machine_.folder = machine_.root + "/new/folder";
  EXPECT_THAT(Find("folder").found(), HasSubstr("MiB free"));
  EXPECT_THAT(Find("folder").found(), Not(HasSubstr("new")));
  machine_.folder = machine_.root + "/dev/nvidiactl";
  EXPECT_EQ(Find("folder").state(), doctor::BROKEN);
}

TEST_F(DoctorTest, CudaIsStartedOnlyWhenAsked) {
  int started = 0;
  ExamineMachine(machine_);
  machine_.probe_cuda = [&](const std::string& cupti) {
    ++started;
    return ProbeAnswer{cupti == "/lib/libcupti.so.13", "NVIDIA H200"};
  };
  EXPECT_EQ(Find("probe").state(), doctor::OK);
  EXPECT_EQ(started, 1);
}

TEST(AskInChild, AnswersCrashesAndSilence) {
  EXPECT_EQ(AskInChild([] { return ProbeAnswer{true, "yes"}; }).text, "yes");
  EXPECT_TRUE(AskInChild([] { return ProbeAnswer{true, ""}; }).ok);
  const ProbeAnswer crashed = AskInChild([]() -> ProbeAnswer {
    raise(SIGKILL);
    return {};
  });
  EXPECT_FALSE(crashed.ok);
  EXPECT_EQ(crashed.text, "crashed with signal 9");
  const ProbeAnswer slow = AskInChild(
      []() -> ProbeAnswer {
        for (;;) pause();
      },
      1);
  EXPECT_EQ(slow.text, "gave no answer within 1 s");
  EXPECT_FALSE(AskInChild([]() -> ProbeAnswer { _exit(0); }).ok);
}

TEST(ProbeCupti, ALibraryThatIsNone) {
  EXPECT_FALSE(ProbeCupti("/nowhere/libcupti.so.13").found);
  const LoadedLibrary other = ProbeCupti("libm.so.6");
  EXPECT_FALSE(other.found);
  EXPECT_THAT(other.error, HasSubstr("cuptiGetVersion is missing"));
}

TEST(CuptiVersionName, OldAndNewNumbers) {
  EXPECT_EQ(CuptiVersionName(24), "12.6");
  EXPECT_EQ(CuptiVersionName(28), "12.9.1");
  EXPECT_EQ(CuptiVersionName(130000), "13.0");
  EXPECT_EQ(CuptiVersionName(130001), "13.0.1");
  EXPECT_EQ(CuptiVersionName(130400), "13.4");
  EXPECT_EQ(CuptiVersionName(25), "of unknown version");
}

TEST(Quirks, TheTableIsSound) {
  for (const trace::CuptiQuirk& quirk : trace::kCuptiQuirks) {
    EXPECT_LE(quirk.first_version, quirk.last_version) << quirk.id;
    EXPECT_FALSE(quirk.behaviour.empty()) << quirk.id;
    EXPECT_FALSE(quirk.response.empty()) << quirk.id;
    int same = 0;
    for (const trace::CuptiQuirk& other : trace::kCuptiQuirks) same += other.id == quirk.id ? 1 : 0;
    EXPECT_EQ(same, 1) << quirk.id;
  }
}

}  // namespace
}  // namespace hotproof::cli
