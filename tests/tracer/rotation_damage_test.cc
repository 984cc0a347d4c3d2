// Damaged and hostile files of a rotated trace: whatever they claim, nothing crashes, memory stays bounded,
// and more is never claimed than was there. HOTPROOF_DAMAGE_ROUNDS: how many random ones (for a long run by
// hand under a sanitizer); HOTPROOF_DAMAGE_SEED: others than the same each time.
#include "tests/tracer/rotation_server.h"

#include <cstdlib>
#include <map>
#include <random>

#include "analyzers/durations.h"
#include "analyzers/report.h"
#include "tests/trace/trace_files.h"

namespace hotproof::tracer {
namespace {

using trace::Chunk;

int Number(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : std::atoi(value);
}

class RotationDamageTest : public RotationTest {
 protected:
  using Files = std::map<std::string, std::string>;

  // Of what is there now; every file but the counters.
  Files Read() const {
    Files files;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().extension() != ".hpc") files[entry.path()] = trace::ReadWhole(entry.path());
    }
    return files;
  }
  void Write(const Files& files) const {
    for (const auto& [path, bytes] : files) trace::WriteWhole(path, bytes);
  }
  // Reads and analyzes everything, as a report does. Null: refused.
  std::unique_ptr<analyzers::ProcessAnalysis> AnalyzeAll() {
    auto reader = trace::TraceReader::Open(Path("a.hpt"));
    if (!reader.ok()) return nullptr;
    auto process = std::make_unique<analyzers::ProcessAnalysis>(
        analyzers::AnalyzeTrace(*std::move(reader), *classifier_, {}));
    analyzers::BuildReport({process.get(), 1}, {}, analyzers::PhaseChoice::kAll);
    return process;
  }

  const absl::StatusOr<catalog::Classifier> classifier_ = catalog::Classifier::Create();
  std::minstd_rand random_{static_cast<uint32_t>(Number("HOTPROOF_DAMAGE_SEED", 1))};
};

// Bytes flipped, cut off, doubled or removed, in any of the files.
TEST_F(RotationDamageTest, DamagedBytesNeverAddLaunches) {
  const uint64_t launches = WriteFiles(4);
  fs::remove(trace::SegmentPath(Path("a.hpt"), 1));
  fs::remove(Path("a.hpc"));  // which would know better
  const Files whole = Read();
  int unnoticed = 0;
  for (int round = 0; round < Number("HOTPROOF_DAMAGE_ROUNDS", 150); ++round) {
    SCOPED_TRACE(round);
    Files files = whole;
    for (uint32_t times = 1 + random_() % 2; times > 0; --times) {
      std::string& bytes = std::next(files.begin(), random_() % files.size())->second;
      if (bytes.empty()) continue;
      const size_t at = random_() % bytes.size(), many = 1 + random_() % 2000;
      switch (random_() % 5) {
        case 0: bytes.resize(at); break;
        case 1: bytes.erase(at, many); break;
        case 2: bytes.insert(at, bytes.substr(random_() % bytes.size(), many)); break;
        case 3: std::fill_n(bytes.begin() + at, std::min(many, bytes.size() - at), '\0'); break;
        default: bytes[at] ^= static_cast<char>(1 + random_() % 255); break;
      }
    }
    Write(files);
    const auto process = AnalyzeAll();
    if (process == nullptr) continue;
    const trace::Tables& tables = process->reader->tables();
    const report::Completeness& completeness = process->completeness.completeness;
    EXPECT_LE(process->times.records + tables.rotated_out.records, launches);
    EXPECT_LE(completeness.recorded(), static_cast<double>(launches));
    EXPECT_LE(completeness.expected(), static_cast<double>(launches));
    if (process->times.records + tables.rotated_out.records < launches) {
      EXPECT_NE(completeness.state(), report::Completeness::COMPLETE);
      unnoticed += process->reader->issues().empty() && tables.has_footer;
    }
  }
  EXPECT_EQ(unnoticed, 0);
}

uint64_t Hostile(std::minstd_rand& random) {
  const uint64_t values[] = {0, 1, 2, 3, 100, 65'535, 1u << 20, ~0u, uint64_t{1} << 40, ~uint64_t{0} >> 1, ~uint64_t{0}};
  return values[random() % std::size(values)];
}

// Sets, clears or repeats any field of the message or of those in it.
void Mutate(google::protobuf::Message& message, std::minstd_rand& random) {
  using google::protobuf::FieldDescriptor;
  const auto& type = *message.GetDescriptor();
  const auto& access = *message.GetReflection();
  const FieldDescriptor* const field = type.field(random() % type.field_count());
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    if (!field->is_repeated()) return Mutate(*access.MutableMessage(&message, field), random);
    const int size = access.FieldSize(message, field);
    if (size == 0 || random() % 8 == 0) return Mutate(*access.AddMessage(&message, field), random);
    if (random() % 8 == 0) return access.RemoveLast(&message, field);
    return Mutate(*access.MutableRepeatedMessage(&message, field, random() % size), random);
  }
  if (random() % 8 == 0) return access.ClearField(&message, field);
  const uint64_t value = Hostile(random);
  const bool repeated = field->is_repeated();
  const int size = repeated ? access.FieldSize(message, field) : 0;
  const bool add = repeated && (size == 0 || random() % 2);
  const int at = size == 0 ? 0 : random() % size;
  switch (field->cpp_type()) {
#define HOTPROOF_SET(TYPE, Type, c_type)                                                        \
  case FieldDescriptor::CPPTYPE_##TYPE:                                                         \
    if (add) return access.Add##Type(&message, field, static_cast<c_type>(value));              \
    if (repeated) return access.SetRepeated##Type(&message, field, at, static_cast<c_type>(value)); \
    return access.Set##Type(&message, field, static_cast<c_type>(value));
    HOTPROOF_SET(UINT32, UInt32, uint32_t)
    HOTPROOF_SET(UINT64, UInt64, uint64_t)
    HOTPROOF_SET(INT32, Int32, int32_t)
    HOTPROOF_SET(INT64, Int64, int64_t)
    HOTPROOF_SET(BOOL, Bool, bool)
#undef HOTPROOF_SET
    default:
      return;
  }
}

// The first heads of the files, with any field as large as it gets.
TEST_F(RotationDamageTest, HostileFirstHeads) {
  WriteFiles(4);
  fs::remove(trace::SegmentPath(Path("a.hpt"), 1));
  const Files whole = Read();
  for (int round = 0; round < Number("HOTPROOF_DAMAGE_ROUNDS", 100); ++round) {
    SCOPED_TRACE(round);
    Files files = whole;
    std::string& bytes = std::next(files.begin(), random_() % files.size())->second;
    std::vector<std::string> messages = trace::DecompressFrames(bytes);
    Chunk head;
    ASSERT_TRUE(head.ParseFromString(messages[0]));
    for (uint32_t times = 1 + random_() % 6; times > 0; --times) {
      if (random_() % 2) {
        Mutate(*head.mutable_continuation(), random_);
      } else {
        Mutate(head, random_);
      }
    }
    const size_t first = trace::CompressFrame(messages[0]).size();
    bytes.replace(0, first, trace::CompressFrame(head.SerializeAsString()));
    Write(files);
    const auto process = AnalyzeAll();
    if (process == nullptr) continue;
    const trace::Tables& tables = process->reader->tables();
    uint64_t by_site = 0;
    for (const uint64_t records : tables.rotated_out.site_records) by_site += records;
    EXPECT_EQ(by_site, tables.rotated_out.records);
    EXPECT_LE(tables.rotated_out.rollups.size(), 256u);
  }
}

TEST_F(RotationDamageTest, IdsFarBeyondTheirTableMakeNoTable) {
  Chunk head;
  head.mutable_header()->set_format_major(1);
  for (uint32_t id = 1; id <= 100'000; ++id) head.add_streams()->set_id(id);
  head.add_streams()->set_id((1u << 20) + 1);
  trace::WriteWhole(Path("a.hpt"), trace::CompressFrame(head.SerializeAsString()));
  const auto reader = trace::TraceReader::Open(Path("a.hpt"));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->tables().streams.size(), 100'001u);
  ASSERT_EQ((*reader)->issues().size(), 1u);
}

// Every site from the shortest to the longest duration: 32 KiB each.
TEST(SiteDurationsTest, AreLeftOutWhereTheyWouldTakeTooMuchInAnyOrder) {
  constexpr uint32_t kSites = 9000;  // x 61 blocks: more than 2^19
  analyzers::SiteDurations one(kSites), halves[2] = {analyzers::SiteDurations(kSites), analyzers::SiteDurations(kSites)};
  for (uint32_t site = 0; site < kSites; ++site) {
    halves[0].Add(site, 1);
    halves[1].Add(site, ~uint64_t{0});
    one.Add(site, 1);
    one.Add(site, ~uint64_t{0});
  }
  EXPECT_FALSE(halves[0].too_many() || halves[1].too_many());
  halves[0].Merge(halves[1]);
  EXPECT_TRUE(halves[0].too_many() && one.too_many());
  analyzers::SiteDurations third(kSites);
  third.Add(0, 5);
  third.Merge(one);
  EXPECT_TRUE(third.too_many());
  analyzers::Durations none;
  third.AddTo(0, none);
  EXPECT_EQ(none.count(), 0u);
  EXPECT_EQ(none.QuantileNs(0.5), 0u);
}

}  // namespace
}  // namespace hotproof::tracer
