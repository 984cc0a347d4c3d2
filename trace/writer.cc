#include "trace/writer.h"

#include <memory>
#include <new>
#include <utility>

#include "trace/chunk_encoder.h"
#include "trace/column_encoder.h"
#include "trace/frame_output.h"
#include "trace/limits.h"
#include "trace/operation_encoder.h"
#include "trace/varint.h"
#include "trace/wire_fields.h"

namespace hotproof::trace {

struct Writer::Impl {
  Impl(int fd, int zstd_level) : head_frame(zstd_level), columns_frame(zstd_level), output(std::make_unique<FrameOutput>(fd)) {}

  WriteResult Write(bool with_columns);
  bool EncodeColumns();

  ColumnEncoder columns;
  OperationEncoder operations;
  ChunkEncoder chunk;
  std::string columns_message;
  Frame head_frame, columns_frame;
  std::unique_ptr<FrameOutput> output;
  std::unique_ptr<FrameOutput> hanging;  // of a next file that was given up
  uint64_t sequence = 0;
  uint64_t records_written = 0;
  uint64_t launches_unlisted = 0;
  // Since the last Flush, for want of memory or of room in a chunk: one of a table, and one of what happened.
  bool lost_entry = false, lost_record = false;
};

namespace {

// A host process must not end because the tracer found no memory: the entry is lost instead, and
// the next Flush says so.
template <typename Action>
void KeepingMemoryErrors(bool& lost_entry, Action action) {
  try {
    action();
  } catch (const std::bad_alloc&) {
    lost_entry = true;
  }
}

}  // namespace

Writer::Writer(int fd, int zstd_level) : impl_(std::make_unique<Impl>(fd, zstd_level)) {}
Writer::~Writer() {
  // Nobody waits for a disk that hangs: its thread keeps what it writes.
  if (impl_->hanging != nullptr && !impl_->hanging->AwaitWritten(0)) [[maybe_unused]]
    FrameOutput* const left = impl_->hanging.release();
}

#define HOTPROOF_ADD(call) KeepingMemoryErrors(impl_->lost_entry, [&] { impl_->chunk.call; })
void Writer::AddHeader(const HeaderEntry& entry) { HOTPROOF_ADD(AddHeader(entry)); }
void Writer::AddKernel(const KernelEntry& entry) { HOTPROOF_ADD(AddKernel(entry)); }
void Writer::AddAttributes(uint32_t id, const AttributesEntry& entry) {
  HOTPROOF_ADD(AddAttributes(id, entry));
}
void Writer::AddTensorMap(const TensorMapEntry& entry) { HOTPROOF_ADD(AddTensorMap(entry)); }
void Writer::AddRangePath(const RangePathEntry& entry) { HOTPROOF_ADD(AddRangePath(entry)); }
void Writer::AddSite(const SiteEntry& entry) { HOTPROOF_ADD(AddSite(entry)); }
void Writer::AddGraph(const GraphEntry& entry) { HOTPROOF_ADD(AddGraph(entry)); }
void Writer::AddStream(const StreamEntry& entry) { HOTPROOF_ADD(AddStream(entry)); }
void Writer::AddSnapshot(const SnapshotEntry& entry, const CounterView& counters) {
  HOTPROOF_ADD(AddSnapshot(entry, counters));
}
void Writer::AddProblem(const ProblemEntry& entry) { HOTPROOF_ADD(AddProblem(entry)); }
void Writer::AddClockPair(const ClockPairEntry& entry) { HOTPROOF_ADD(AddClockPair(entry)); }
void Writer::AddFooter(const FooterEntry& entry) { HOTPROOF_ADD(AddFooter(entry)); }
#undef HOTPROOF_ADD

void Writer::AddLaunch(const LaunchEntry& entry) {
  bool added = false, no_memory = false;
  KeepingMemoryErrors(no_memory, [&] { added = impl_->columns.AddLaunch(entry); });
  if (added) return;
  impl_->lost_record = true;
  ++impl_->launches_unlisted;
}

void Writer::AddRecord(const RecordEntry& entry) {
  KeepingMemoryErrors(impl_->lost_record,
                      [&] { impl_->lost_record |= !impl_->columns.AddRecord(entry); });
}

void Writer::AddOperationClass(const OperationClassEntry& entry) {
  KeepingMemoryErrors(impl_->lost_entry, [&] {
    impl_->operations.NoteClass(entry.id, entry.kind);
    impl_->chunk.AddOperationClass(entry);
  });
}

void Writer::AddOperation(const OperationEntry& entry) {
  KeepingMemoryErrors(impl_->lost_record,
                      [&] { impl_->lost_record |= !impl_->operations.Add(entry); });
}

size_t Writer::pending_records() const { return impl_->columns.pending_records(); }
size_t Writer::pending_launches() const { return impl_->columns.pending_launches(); }
size_t Writer::pending_operations() const { return impl_->operations.pending(); }
bool Writer::has_pending_tables() const { return impl_->chunk.has_pending(); }
uint64_t Writer::launches_unlisted() const { return impl_->launches_unlisted; }
uint64_t Writer::records_written() const { return impl_->records_written; }
uint64_t Writer::bytes_written() const { return impl_->output->bytes_written(); }
bool Writer::file_cut_off() const { return impl_->output->cut_off(); }
bool Writer::holds_file() const { return impl_->output->holds_file(); }
bool Writer::TakeFileAgain(int fd) { return impl_->output->TakeFileAgain(fd); }
bool Writer::AwaitWritten(unsigned patience_ms) { return impl_->output->AwaitWritten(patience_ms); }

bool Writer::Impl::EncodeColumns() {
  columns_message.clear();
  if (sequence != 0) {
    uint8_t field[2 * kMaxVarintBytes];
    const uint8_t* end = PutVarint(PutVarint(field, wire::kSequence << 3), sequence);
    columns_message.append(reinterpret_cast<const char*>(field), end - field);
  }
  columns.Encode(columns_message);
  operations.Encode(columns_message);
  return columns_frame.Compress(columns_message);
}

WriteResult Writer::Impl::Write(bool with_columns) {
  ChunkEncoder::ColumnsFrame frame{};
  columns_frame.Clear();
  if (with_columns) {
    if (!EncodeColumns()) return WriteResult::kError;
    frame = {columns_frame.size(), columns_frame.Hash()};
  }
  const std::string& head =
      chunk.Encode(sequence, with_columns ? &columns.statistics() : nullptr,
                   with_columns ? &operations.totals() : nullptr, with_columns ? &frame : nullptr,
                   columns.new_site_attributes());
  if (!head_frame.Compress(head)) return WriteResult::kError;
  const WriteResult result = output->Append(head_frame, columns_frame);
  if (result != WriteResult::kOk) return result;
  ++sequence;
  chunk.Commit();
  columns.CommitAttributes();
  if (with_columns) {
    records_written += columns.statistics().record_count;
    columns.Commit();
    operations.Commit();
  }
  return WriteResult::kOk;
}

WriteResult Writer::Flush(const CounterView& counters) {
  const uint64_t sequence = impl_->sequence, launches = pending_launches();
  WriteResult result = WriteResult::kOk;
  bool no_memory = false;
  KeepingMemoryErrors(no_memory, [&] {
    const bool moved = impl_->chunk.ComputeAsked(counters, /*all_slots=*/true);
    const bool with_columns =
        pending_records() != 0 || pending_launches() != 0 || pending_operations() != 0;
    if (moved || with_columns || has_pending_tables()) result = impl_->Write(with_columns);
  });
  const bool written = impl_->sequence != sequence;
  if (no_memory && !written) result = WriteResult::kError;
  if (!written) impl_->launches_unlisted += launches;
  impl_->columns.Clear();
  impl_->operations.Clear();
  const bool lost_entry = std::exchange(impl_->lost_entry, false) || no_memory;
  const bool lost_record = std::exchange(impl_->lost_record, false);
  if (result != WriteResult::kOk) return result;
  return lost_entry    ? WriteResult::kEntryLost
         : lost_record ? WriteResult::kRecordLost
                       : WriteResult::kOk;
}

WriteResult Writer::FlushTables(const CounterView& counters) {
  const uint64_t sequence = impl_->sequence;
  WriteResult result = WriteResult::kOk;
  bool no_memory = false;
  KeepingMemoryErrors(no_memory, [&] {
    if (!has_pending_tables()) return;
    impl_->chunk.ComputeAsked(counters, /*all_slots=*/false);
    result = impl_->Write(/*with_columns=*/false);
  });
  return no_memory && impl_->sequence == sequence ? WriteResult::kError : result;
}

void Writer::KeepForNextFile() {
  KeepingMemoryErrors(impl_->lost_entry, [&] { impl_->chunk.KeepForNextFile(); });
}

WriteResult Writer::StartFile(int fd, const std::function<bool()>& publish) {
  constexpr unsigned kPatienceMs = 100;  // the caller's lock is one that the program may wait for
  auto output = std::make_unique<FrameOutput>(fd);  // closes it
  if (impl_->hanging != nullptr) {  // one at most
    if (!impl_->hanging->AwaitWritten(0)) return WriteResult::kSlow;
    impl_->hanging.reset();
  }
  if (!impl_->chunk.keeps_for_next_file()) return WriteResult::kError;
  if (has_pending_tables() || !AwaitWritten(kPatienceMs)) return WriteResult::kSlow;
  // A chunk was lost: what waits for the present file says so first. The sums have it, as it was recorded.
  WriteResult result = impl_->output->late_result();
  if (result != WriteResult::kOk) return result;
  size_t heads = 0;
  bool no_memory = false;
  result = WriteResult::kError;
  KeepingMemoryErrors(no_memory, [&] {
    for (const std::string& head : impl_->chunk.EncodeNextFile(impl_->sequence)) {
      result = head.size() > kMaxHeadBytes ? WriteResult::kTooLarge : WriteResult::kError;
      if (head.size() > kMaxHeadBytes || !impl_->head_frame.Compress(head)) return;
      impl_->columns_frame.Clear();
      result = output->Append(impl_->head_frame, impl_->columns_frame);
      if (result == WriteResult::kOk && !output->AwaitWritten(0)) result = WriteResult::kSlow;
      if (result != WriteResult::kOk) return;
      ++heads;
    }
    if (!publish()) result = WriteResult::kError;
  });
  if (no_memory) result = WriteResult::kError;
  if (result != WriteResult::kOk) {
    if (result == WriteResult::kSlow) impl_->hanging = std::move(output);
    return result;
  }
  impl_->sequence += heads;
  impl_->output = std::move(output);
  impl_->chunk.CommitNextFile(heads);
  return WriteResult::kOk;
}

}  // namespace hotproof::trace
