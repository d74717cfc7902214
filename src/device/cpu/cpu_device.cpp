#include "device/cpu/cpu_device.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <thread>
#include <vector>

#include "base/cores.h"
#include "base/error.h"
#include "base/mutex.h"
#include "device/cpu/host_memory.h"
#include "device/cpu/instruction_set.h"
#include "device/cpu/team_placement.h"

namespace troika {
namespace {

/// Runs work in order on one thread. Work that is still queued at destruction is run, so that no
/// event waits forever.
class WorkQueue {
 public:
  explicit WorkQueue(const CpuOptions& options)
      : worker_([this, options](const std::stop_token& stop) { loop(stop, options); }) {}

  void push(Work& work, Event& done) {
    {
      Lock lock(mutex_);
      waiting_.push_back({&work, &done});
    }
    arrived_.notify_one();
  }

 private:
  struct Entry {
    Work* work;
    Event* done;
  };

  void loop(const std::stop_token& stop, const CpuOptions& options) {
    // Before the team starts, so that its threads inherit the cores. OMP_PROC_BIND has precedence.
    if (omp_get_proc_bind() == omp_proc_bind_false) bind_to_cores(options.cores);
    // Settings of OpenMP belong to the calling thread, so this thread leads a team of its own. Not
    // dynamic: the runtime must not shrink the team under load, since kernels and their times
    // assume its size.
    omp_set_dynamic(0);
    omp_set_num_threads(options.threads);
    TeamPlacement placement(options.threads);
    std::vector<Entry> taken =
        with_room();  // trades places with waiting_, so both keep their capacity
    while (true) {
      {
        Lock lock(mutex_);
        arrived_.wait(lock, stop, [this]() TROIKA_REQUIRES(mutex_) { return !waiting_.empty(); });
        // Only a stop request wakes it without work; queued work is run first.
        if (waiting_.empty()) return;
        taken.swap(waiting_);
      }
      // After the signal the caller may destroy the work, so the entry is not used again.
      for (const Entry& entry : taken) entry.done->signal(run(*entry.work));
      taken.clear();
    }
  }

  static std::exception_ptr run(Work& work) {
    try {
      work.run();
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  static constexpr std::size_t kFewPieces = 64;

  static std::vector<Entry> with_room() {
    std::vector<Entry> empty;
    empty.reserve(kFewPieces);
    return empty;
  }

  Mutex mutex_;
  std::condition_variable_any arrived_;
  std::vector<Entry> waiting_ TROIKA_GUARDED_BY(mutex_) = with_room();
  std::jthread worker_;  // last: it uses the members above
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuOptions& options) : options_(options), queue_(options) {}

  std::string kind() const override {
    std::string kind =
        fmt::format("cpu {} {} thread{}", instruction_set(), threads(), threads() == 1 ? "" : "s");
    return options_.library.empty() ? kind : kind + " " + options_.library;
  }
  int threads() const override { return options_.threads; }

  Buffer allocate(Bytes bytes) override {
    // Reserved before it is checked, so that two threads cannot both take the last bytes.
    Bytes before{allocated_.fetch_add(bytes.count)};
    bool fits = options_.memory == Bytes{} || before + bytes <= options_.memory;
    std::byte* block = fits ? host_block(bytes) : nullptr;
    if (block == nullptr) {
      allocated_ -= bytes.count;
      refuse(bytes, before);
    }
    allocations_ += 1;
    return Buffer(*this, block, bytes);
  }
  Bytes allocated() const override { return {allocated_}; }
  std::int64_t allocations() const override { return allocations_; }

  void submit(Work& work, Event& done) override { queue_.push(work, done); }

  void write(DevicePointer to, std::span<const std::byte> from) override {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  }
  void read(std::span<std::byte> to, DevicePointer from) override {
    if (!to.empty()) std::memcpy(to.data(), from, to.size());
  }

 private:
  void release(DevicePointer address, Bytes bytes) noexcept override {
    release_host_block(address, bytes);
    allocated_ -= bytes.count;
  }

  [[noreturn]] void refuse(Bytes bytes, Bytes held) const {
    std::string limit = options_.memory == Bytes{}
                            ? "than the system has"
                            : fmt::format("than its limit of {}", to_string(options_.memory));
    throw Error(
        ErrorKind::memory,
        fmt::format("a CPU device that holds {} cannot allocate {} more: the total of {} is "
                    "more {}; use a smaller batch, more devices or a plan that splits more",
                    to_string(held), to_string(bytes), to_string(held + bytes), limit));
  }

  const CpuOptions options_;
  std::atomic<std::int64_t> allocated_ = 0;
  std::atomic<std::int64_t> allocations_ = 0;
  WorkQueue queue_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const CpuOptions& options) {
  if (options.threads < 1)
    throw Error(ErrorKind::usage,
                fmt::format("a CPU device needs at least one thread, not {}", options.threads));
  return std::make_unique<CpuDevice>(options);
}

int openmp_threads() { return std::min(omp_get_max_threads(), omp_get_thread_limit()); }

}  // namespace troika
