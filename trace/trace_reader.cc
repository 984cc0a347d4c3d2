#include <algorithm>
#include <atomic>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "trace/column_decoder.h"
#include "trace/columns_place.h"
#include "trace/counter_file.h"
#include "trace/file_window.h"
#include "trace/frame_decoder.h"
#include "trace/frame_scanner.h"
#include "trace/launch_time_decoder.h"
#include "trace/limits.h"
#include "trace/operation_decoder.h"
#include "trace/reader.h"
#include "trace/segments.h"
#include "trace/table_builder.h"
#include "trace/unknown_fields.h"

namespace hotproof::trace {
namespace {

// What one thread needs to read columns.
struct ReadBuffers {
  std::vector<char> frame;
  FrameDecoder decoder;
};

absl::Status ReadColumns(std::span<const std::unique_ptr<File>> files, const ColumnsPlace& place,
                         bool known_whole, ReadBuffers& buffers) {
  const File& file = *files[place.file];
  const auto bytes = static_cast<size_t>(place.size_bytes);
  if (buffers.frame.size() < bytes) {
    buffers.frame.clear();  // what it held is not copied
    buffers.frame.resize(bytes + bytes / 8);
  }
  if (file.ReadAt(place.offset_bytes, buffers.frame.data(), bytes) != bytes ||
      !buffers.decoder.Decode({buffers.frame.data(), bytes}, kMaxColumnsBytes, known_whole)) {
    return absl::DataLossError("columns cannot be decompressed");
  }
  return absl::OkStatus();
}

class Reader : public TraceReader {
 public:
  Reader(std::string path, std::unique_ptr<File> file) : path_(std::move(path)) {
    files_.push_back(std::move(file));
  }

  absl::Status Load(const OpenOptions& options);

  const std::string& path() const override { return path_; }
  const Tables& tables() const override { return tables_; }
  const std::vector<ReadIssue>& issues() const override { return issues_; }
  size_t chunk_count() const override { return places_.size(); }
  uint64_t file_bytes() const override {
    uint64_t bytes = 0;
    for (const auto& file : files_) bytes += file->size_bytes();
    return bytes;
  }
  absl::Status ReadChunk(size_t index, ChunkColumns& columns) const override;
  absl::Status ReadRuns(size_t index, ChunkRuns& runs) const override;
  absl::StatusOr<ChunkStatistics> ReadStatistics(size_t index) const override;
  uint64_t columns_decoded() const override { return columns_decoded_; }
  absl::Status ReadOperations(size_t index, ChunkOperations& operations) const override;
  absl::Status ReadLaunchTimes(size_t index, ChunkLaunchTimes& times) const override;

 private:
  absl::Status CheckIndex(size_t index) const;
  template <typename Decode>
  absl::Status WithColumns(size_t index, bool wanted, Decode&& decode) const;
  absl::Status CheckVersion(bool first_chunk) const;
  bool CheckSequence(const ScannedChunk& chunk, TableBuilder& builder);
  void AddRepeated(const ScannedChunk& chunk);
  void NameUnknownColumns(const ColumnsPlace& place, UnknownFields& unknown);
  absl::Status LoadFile(uint32_t index, TableBuilder& builder, UnknownFields& unknown);
  void KeepChunk(ScannedChunk& chunk, uint32_t file, TableBuilder& builder);
  void DropDamagedColumns(int threads, TableBuilder& builder);
  void AddIssue(ReadIssue::Kind kind, uint64_t offset, std::string detail) {
    issues_.push_back({kind, offset, 0, std::move(detail)});
  }

  std::string path_;
  std::vector<std::unique_ptr<File>> files_;  // of one trace, oldest first
  std::vector<std::string> file_names_;       // of all but the last, for issues
  Tables tables_;
  std::vector<ReadIssue> issues_;
  std::vector<ColumnsPlace> places_;  // of the readable chunks
  bool columns_verified_ = false;     // all of these
  mutable std::atomic<uint64_t> columns_decoded_ = 0;
  uint64_t next_sequence_ = 0;
  // Chunks that came a second time, one after the other: an issue for all.
  struct Repeated {
    uint64_t first, last;
    size_t issue;  // of issues_
  };
  std::optional<Repeated> repeated_;
};

absl::Status Reader::CheckVersion(bool first_chunk) const {
  const Header& header = tables_.header;
  if (header.format_major() > kFormatMajor) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, ": format ", header.format_major(), ".", header.format_minor(),
                     " is newer than this hotproof reads (", kFormatMajor,
                     ".x); read it with a newer hotproof"));
  }
  if (first_chunk && header.format_major() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": not a hotproof trace (its first chunk has no header)"));
  }
  return absl::OkStatus();
}

// False: the chunk does not belong here.
bool Reader::CheckSequence(const ScannedChunk& chunk, TableBuilder& builder) {
  const uint64_t sequence = chunk.head.sequence();
  if (sequence == ~uint64_t{0}) {  // the next one would be 0
    AddIssue(ReadIssue::Kind::kMalformedChunk, chunk.offset_bytes,
             absl::StrCat("chunk ", sequence, " cannot be; ignored"));
    builder.NoteLostChunk();
    return false;
  }
  if (sequence < next_sequence_) {
    AddRepeated(chunk);
    return false;
  }
  if (sequence > next_sequence_) {
    builder.NoteLostChunk();
    AddIssue(ReadIssue::Kind::kMissingChunk, chunk.offset_bytes,
             absl::StrCat("chunks ", next_sequence_, " to ", sequence - 1, " are missing"));
  }
  next_sequence_ = sequence + 1;
  return true;
}

void Reader::AddRepeated(const ScannedChunk& chunk) {
  const uint64_t sequence = chunk.head.sequence();
  if (repeated_ && repeated_->last + 1 == sequence && repeated_->issue + 1 == issues_.size()) {
    repeated_->last = sequence;
    issues_.back().detail =
        absl::StrCat("chunks ", repeated_->first, " to ", sequence, " come a second time; ignored");
    return;
  }
  repeated_ = {sequence, sequence, issues_.size()};
  AddIssue(ReadIssue::Kind::kMalformedChunk, chunk.offset_bytes,
           absl::StrCat("chunk ", sequence, " comes a second time; ignored"));
}

void Reader::NameUnknownColumns(const ColumnsPlace& place, UnknownFields& unknown) {
  ReadBuffers buffers;
  if (!ReadColumns(files_, place, /*known_whole=*/false, buffers).ok()) return;
  const UnknownColumns found = FindUnknownColumns(buffers.decoder.message());
  for (const uint32_t field : found.chunk) unknown.Add("Chunk", field, place.offset_bytes);
  for (const uint32_t field : found.launches) {
    unknown.Add("Launches", field, place.offset_bytes);
  }
  for (const uint32_t field : found.records) {
    unknown.Add("Records", field, place.offset_bytes);
  }
  for (const uint32_t field : found.operations) {
    unknown.Add("Operations", field, place.offset_bytes);
  }
}

// What is kept of a chunk's statistics must not grow with the number of sites.
void Reader::KeepChunk(ScannedChunk& chunk, uint32_t file, TableBuilder& builder) {
  places_.push_back({chunk.head.sequence(), file, chunk.offset_bytes, chunk.columns_offset_bytes,
                     chunk.columns_bytes, chunk.columns_hash});
  ChunkStatistics& statistics = *chunk.head.mutable_statistics();
  builder.AddSums(statistics);
  statistics.clear_asked();
  std::remove_reference_t<decltype(*statistics.mutable_site_ids())> no_ids;
  std::remove_reference_t<decltype(*statistics.mutable_site_records())> no_records, no_durations;
  statistics.mutable_site_ids()->Swap(&no_ids);
  statistics.mutable_site_records()->Swap(&no_records);
  statistics.mutable_site_duration_ns()->Swap(&no_durations);
  tables_.chunk_statistics.push_back(std::move(statistics));
}

void Reader::DropDamagedColumns(int threads, TableBuilder& builder) {
  const std::vector<size_t> damaged = FindDamagedColumns(files_, places_, threads);
  if (damaged.empty()) return;
  for (const size_t index : damaged) {
    const ColumnsPlace& place = places_[index];
    const bool is_earlier = place.file < file_names_.size();
    issues_.push_back(
        {ReadIssue::Kind::kCorruptColumns, place.offset_bytes, place.size_bytes,
         absl::StrCat(is_earlier ? file_names_[place.file] + ": " : "", "the columns of chunk ",
                      place.sequence, " are not the bytes that were written")});
    if (const auto statistics = ReadStatistics(index); statistics.ok()) {
      builder.RemoveSums(*statistics);
    }
  }
  if (files_.size() == 1) {
    std::stable_sort(issues_.begin(), issues_.end(), [](const ReadIssue& a, const ReadIssue& b) {
      return a.offset_bytes < b.offset_bytes;
    });
  }
  size_t kept = 0;
  auto next = damaged.begin();
  for (size_t i = 0; i < places_.size(); ++i) {
    if (next != damaged.end() && *next == i) {
      ++next;
      continue;
    }
    if (kept != i) {
      places_[kept] = places_[i];
      tables_.chunk_statistics[kept] = std::move(tables_.chunk_statistics[i]);
    }
    ++kept;
  }
  places_.resize(kept);
  tables_.chunk_statistics.resize(kept);
}

absl::Status Reader::LoadFile(uint32_t index, TableBuilder& builder, UnknownFields& unknown) {
  const File& file = *files_[index];
  const size_t issues_before = issues_.size();
  FrameScanner scanner(file, issues_);
  bool any = false;
  while (std::optional<ScannedChunk> chunk = scanner.Next()) {
    any = true;
    const bool continues = chunk->head.has_continuation();
    const bool begins_file = chunk->offset_bytes == 0;
    // Only here are the rollups for files that are not read.
    const bool begins_trace = begins_file && index == 0;
    // Later chunks of another trace would have sequence numbers that fit.
    if (chunk->head.has_header() && IsOfAnotherProcess(chunk->head.header(), tables_.header)) {
      builder.NoteLostChunk();
      AddIssue(ReadIssue::Kind::kMalformedChunk, chunk->offset_bytes,
               "another process's trace begins here; what follows is not read");
      break;
    }
    if (continues && begins_trace) next_sequence_ = chunk->head.sequence();
    if (!CheckSequence(*chunk, builder)) continue;
    const Header& header = chunk->head.has_header() ? chunk->head.header() : tables_.header;
    if (header.format_minor() > kFormatMinor) unknown.Find(chunk->head, chunk->offset_bytes);
    const bool tables_again = continues && !begins_trace;
    if (tables_again && !begins_file) {
      builder.NoteLostChunk();
      AddIssue(ReadIssue::Kind::kMalformedChunk, chunk->offset_bytes,
               "the first chunk of a later file amid this one; only its tables are used");
    }
    if (!(tables_again
              ? builder.FoldTablesAgain(chunk->head, chunk->head_bytes, chunk->offset_bytes)
              : builder.Fold(chunk->head, chunk->head_bytes, chunk->offset_bytes))) {
      return absl::ResourceExhaustedError(absl::StrCat(path_, ": its tables would take more than ",
                                                       kMaxTableMemoryBytes >> 30,
                                                       " GiB: no trace of ours, or damaged"));
    }
    if (tables_again) continue;
    if (absl::Status status = CheckVersion(continues || chunk->head.sequence() == 0);
        !status.ok()) {
      return status;
    }
    if (chunk->columns_lost) continue;  // its tables and counts are good, its records are gone
    KeepChunk(*chunk, index, builder);
    if (chunk->columns_bytes != 0 && tables_.header.format_minor() > kFormatMinor) {
      NameUnknownColumns(places_.back(), unknown);
    }
  }
  if (file.size_bytes() == 0) {
    AddIssue(ReadIssue::Kind::kTornTail, 0, "empty: nothing was written before the process ended");
  } else if (!any && !scanner.only_torn() && index == 0) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": not a hotproof trace"));
  }
  if (index < file_names_.size()) {
    for (size_t i = issues_before; i < issues_.size(); ++i) {
      issues_[i].detail = absl::StrCat(file_names_[index], ": ", issues_[i].detail);
    }
  }
  return absl::OkStatus();
}

absl::Status Reader::Load(const OpenOptions& options) {
  TableBuilder builder(tables_, issues_);
  UnknownFields unknown(issues_);
  EarlierFiles earlier = OpenEarlierFiles(path_, *files_[0], issues_);
  file_names_ = std::move(earlier.names);
  files_.insert(files_.begin(), std::make_move_iterator(earlier.files.begin()),
                std::make_move_iterator(earlier.files.end()));
  for (uint32_t index = 0; index < files_.size(); ++index) {
    if (absl::Status status = LoadFile(index, builder, unknown); !status.ok()) return status;
  }
  if (options.verify_columns) DropDamagedColumns(options.threads, builder);
  columns_verified_ = options.verify_columns;
  builder.Finish();
  TakeCounterFile(path_, tables_, issues_);
  return absl::OkStatus();
}

// decode(message) of chunk `index`, the empty message where it has no columns that are `wanted`.
template <typename Decode>
absl::Status Reader::WithColumns(size_t index, bool wanted, Decode&& decode) const {
  static thread_local ReadBuffers buffers;
  const ColumnsPlace& place = places_[index];
  absl::Status status;
  std::string_view message;
  if (place.size_bytes != 0 && wanted) {
    status = ReadColumns(files_, place, columns_verified_, buffers);
    message = buffers.decoder.message();
  }
  if (status.ok()) status = decode(message);
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(path_, ": chunk ", place.sequence, ": ", status.message()));
}

absl::Status Reader::CheckIndex(size_t index) const {
  if (index < places_.size()) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(path_, ": no chunk ", index));
}

absl::Status Reader::ReadRuns(size_t index, ChunkRuns& runs) const {
  if (absl::Status status = CheckIndex(index); !status.ok()) return status;
  runs.sequence = places_[index].sequence;
  if (places_[index].size_bytes != 0) columns_decoded_.fetch_add(1, std::memory_order_relaxed);
  return WithColumns(index, true, [&](std::string_view message) {
    return DecodeColumns(message, tables_.chunk_statistics[index], tables_, runs);
  });
}

absl::Status Reader::ReadChunk(size_t index, ChunkColumns& columns) const {
  static thread_local ChunkRuns runs;
  absl::Status status = ReadRuns(index, runs);
  if (status.ok()) Expand(runs, tables_, columns);
  return status;
}

absl::StatusOr<ChunkStatistics> Reader::ReadStatistics(size_t index) const {
  if (absl::Status status = CheckIndex(index); !status.ok()) return status;
  std::vector<ReadIssue> ignored;
  FrameScanner scanner(*files_[places_[index].file], ignored);
  std::optional<Chunk> head = scanner.HeadAt(places_[index].head_offset_bytes);
  if (!head) {
    return absl::DataLossError(absl::StrCat(path_, ": the head of chunk ", places_[index].sequence,
                                            " has changed since it was opened"));
  }
  return std::move(*head->mutable_statistics());
}

absl::Status Reader::ReadOperations(size_t index, ChunkOperations& operations) const {
  if (absl::Status status = CheckIndex(index); !status.ok()) return status;
  const ChunkStatistics& statistics = tables_.chunk_statistics[index];
  operations.sequence = places_[index].sequence;
  return WithColumns(index, statistics.operations().count() != 0, [&](std::string_view message) {
    return DecodeOperations(message, statistics, tables_, operations);
  });
}

absl::Status Reader::ReadLaunchTimes(size_t index, ChunkLaunchTimes& times) const {
  if (absl::Status status = CheckIndex(index); !status.ok()) return status;
  const uint64_t count = tables_.chunk_statistics[index].launch_count();
  times.sequence = places_[index].sequence;
  return WithColumns(index, count != 0, [&](std::string_view message) {
    return DecodeLaunchTimes(message, count, times);
  });
}

}  // namespace

// For readers that have columns at hand.
absl::Status TraceReader::ReadRuns(size_t index, ChunkRuns& runs) const {
  ChunkColumns columns;
  absl::Status status = ReadChunk(index, columns);
  if (status.ok()) Collapse(columns, tables(), runs);
  return status;
}

absl::StatusOr<ChunkStatistics> TraceReader::ReadStatistics(size_t index) const {
  if (index >= tables().chunk_statistics.size()) {
    return absl::OutOfRangeError(absl::StrCat(path(), ": no chunk ", index));
  }
  return tables().chunk_statistics[index];
}

absl::StatusOr<std::unique_ptr<TraceReader>> TraceReader::Open(const std::string& path,
                                                               const OpenOptions& options) {
  absl::StatusOr<std::unique_ptr<File>> file = File::Open(path);
  if (!file.ok()) return file.status();
  auto reader = std::make_unique<Reader>(path, std::move(*file));
  if (absl::Status status = reader->Load(options); !status.ok()) return status;
  return reader;
}

}  // namespace hotproof::trace
