#include "trace/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>

#include "trace/own_descriptor.h"
#include "xxhash.h"

namespace hotproof::trace {
namespace {

static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t) &&
              std::atomic<uint64_t>::is_always_lock_free);
static_assert(sizeof(CountersHeader) <= kCountersHeaderBytes);

// Reserves every block of the file: a sparse one would kill the process by SIGBUS when the disk is
// full at the first count. Returns an errno.
int ReserveBlocks(int fd, size_t bytes) {
  rlimit limit;  // growing past it raises SIGXFSZ
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      bytes > limit.rlim_cur) {
    return EFBIG;
  }
  int error;
  do {
    error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  return error;
}

// Maps a new file of `bytes` zeros; null and *error when it cannot be had, and no file is left.
void* MapFile(int directory_fd, const char* file_name, size_t bytes, FileIdentity& identity,
              int* error) {
  const OwnDescriptor file(
      openat(directory_fd, file_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const int fd = file.Ours();
  if (fd < 0) {
    *error = errno;
    return nullptr;
  }
  void* memory = MAP_FAILED;
  *error = ReserveBlocks(fd, bytes);
  if (*error == 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) *error = errno;
  }
  if (memory != MAP_FAILED) {
    Identify(fd, identity);
    return memory;
  }
  unlinkat(directory_fd, file_name, 0);
  return nullptr;
}

}  // namespace

CounterTable::CounterTable(int directory_fd, const char* file_name, uint32_t site_slots,
                           uint32_t graph_slots, uint32_t pid, uint64_t process_start_ticks)
    : site_slots_(site_slots == 0 ? 1 : site_slots),
      graph_slots_(graph_slots == 0 ? 1 : graph_slots),
      mapped_bytes_(kCountersHeaderBytes +
                    (size_t{site_slots_} + graph_slots_) * sizeof(uint64_t)) {
  FileIdentity identity;
  void* memory = MapFile(directory_fd, file_name, mapped_bytes_, identity, &error_);
  on_disk_ = memory != nullptr;
  if (!on_disk_) {
    memory =
        mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (memory != MAP_FAILED) {
    header_ = static_cast<CountersHeader*>(memory);
    sites_ =
        reinterpret_cast<std::atomic<uint64_t>*>(static_cast<char*>(memory) + kCountersHeaderBytes);
    graphs_ = sites_ + site_slots_;
  } else {  // no memory at all: everything counts in slot 0
    mapped_bytes_ = 0;
    header_ = &last_resort_header_;
    sites_ = &last_resort_slots_[0];
    graphs_ = &last_resort_slots_[1];
    site_slots_ = graph_slots_ = 1;
  }
  WriteHeader(pid, process_start_ticks, identity);
  heartbeat_is_seen_ = true;
  heartbeat_is_seen_ = Stands(directory_fd, file_name);
}

void CounterTable::WriteHeader(uint32_t pid, uint64_t process_start_ticks,
                               const FileIdentity& file) {
  header_->file_device = file.device;
  header_->file_inode = file.inode;
  header_->file_born_ns = file.born_ns;
  header_->header_bytes = kCountersHeaderBytes;
  header_->site_slots = site_slots_;
  header_->graph_slots = graph_slots_;
  header_->pid = pid;
  header_->process_start_ticks = process_start_ticks;
  CountersHeader whole{};  // others may count in what lies behind
  memcpy(&whole, header_, kCheckedHeaderBytes);
  memcpy(whole.magic, kCountersMagic, sizeof(kCountersMagic));
  header_->check = XXH3_64bits(&whole, kCheckedHeaderBytes);
  std::atomic_thread_fence(std::memory_order_release);  // the magic makes the rest valid
  memcpy(header_->magic, kCountersMagic, sizeof(kCountersMagic));
}

bool CounterTable::Stands(int directory_fd, const char* file_name) {
  if (!on_disk_) return true;
  const uint64_t now =
      std::atomic_ref(header_->heartbeat).fetch_add(1, std::memory_order_relaxed) + 1;
  const OwnDescriptor file(
      openat(directory_fd, file_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
  uint64_t seen = 0;
  const ssize_t bytes = pread(file.Ours(), &seen, sizeof seen, offsetof(CountersHeader, heartbeat));
  return !heartbeat_is_seen_ || bytes < 0 || seen == now;
}

int CounterTable::Renew(int directory_fd, const char* file_name) {
  if (!on_disk_) return ENOTSUP;
  int error = 0;
  const std::string new_name = std::string(file_name) + ".new";
  unlinkat(directory_fd, new_name.c_str(), 0);  // of who was killed in here
  FileIdentity identity;
  void* const fresh = MapFile(directory_fd, new_name.c_str(), mapped_bytes_, identity, &error);
  if (fresh == nullptr) return error;
  // No reader takes it before its header is written, behind the counts.
  if (renameat(directory_fd, new_name.c_str(), directory_fd, file_name) != 0) {
    error = errno;
    munmap(fresh, mapped_bytes_);
    unlinkat(directory_fd, new_name.c_str(), 0);
    return error;
  }
  // A second view of the old pages. The fresh ones then take their place: who counts does so in the one
  // or in the other, and what is in the old ones is added to the fresh ones.
  void* const old = mremap(header_, 0, mapped_bytes_, MREMAP_MAYMOVE);
  if (old == MAP_FAILED) {
    error = errno;
  } else if (mremap(fresh, mapped_bytes_, mapped_bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, header_) ==
             MAP_FAILED) {
    error = errno;
    // A move that fails may already have taken away what was in its place.
    if (mremap(old, mapped_bytes_, mapped_bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, header_) ==
        MAP_FAILED) {
      munmap(old, mapped_bytes_);
    }
  }
  if (error != 0) {
    munmap(fresh, mapped_bytes_);
    unlinkat(directory_fd, file_name, 0);
    return error;
  }
  const auto& before = *static_cast<const CountersHeader*>(old);
  header_->records_written = before.records_written;  // words, as those below
  std::atomic_ref(header_->launches_refused)
      .fetch_add(before.launches_refused, std::memory_order_relaxed);
  const auto* const counts =
      reinterpret_cast<const uint64_t*>(static_cast<char*>(old) + kCountersHeaderBytes);
  for (size_t slot = 0; slot < size_t{site_slots_} + graph_slots_; ++slot) {
    if (counts[slot] != 0) sites_[slot].fetch_add(counts[slot], std::memory_order_relaxed);
  }
  WriteHeader(before.pid, before.process_start_ticks, identity);
  munmap(old, mapped_bytes_);
  heartbeat_is_seen_ = true;
  heartbeat_is_seen_ = Stands(directory_fd, file_name);
  return 0;
}

CounterTable::~CounterTable() {
  if (mapped_bytes_ != 0) munmap(header_, mapped_bytes_);
}

Counts CounterTable::sites() const {
  return {{reinterpret_cast<const uint64_t*>(sites_), site_slots_}, kCountUnit};
}

Counts CounterTable::graphs() const {
  return {{reinterpret_cast<const uint64_t*>(graphs_), graph_slots_}, kCountUnit};
}

}  // namespace hotproof::trace
