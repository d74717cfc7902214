// Makes batches ahead of time on its own thread, so that steps do not wait for data.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "data/worker_team.h"
#include "tensor/region.h"

namespace troika::data {

/// train: shuffled, without end. evaluate: every sample once, in order, the last batch padded with
/// weight 0.
enum class Purpose { train, evaluate };

struct LoaderOptions {
  std::int64_t batch = 64;
  Purpose purpose = Purpose::train;
  DType floating = DType::f32;  ///< Of the floating fields and of "weight"; f32 or f64.
  std::uint64_t seed = 1;       ///< Of the order.
  std::int64_t position = 0;    ///< First position in the sampler's row: 0, or an earlier cursor().
  std::size_t ahead = 3;        ///< Batches made in advance.
  /// Threads that read one batch of a slow data set. Does not change the batches.
  int threads = 1;
  /// The rows of each batch that are read and handed out; unset: all. Which sample is in a row does
  /// not depend on it.
  std::optional<Range> rows{};
};

/// One caller at a time. Batches live in a ring of `ahead` + 1 that is allocated once.
class Loader {
 public:
  /// Borrows the data set. Throws Error(usage) when the options make no sense.
  Loader(const Dataset& dataset, const LoaderOptions& options);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next batch, valid until the next call; null when an evaluation has seen every sample.
  /// Rethrows an error that occurred while the batch was made.
  const Batch* next();

  /// Samples handed out so far, counted from the start of the row. A loader with this position
  /// continues here.
  std::int64_t cursor() const { return options_.position + taken_ * options_.batch; }
  /// Total time that callers of next() have waited.
  std::chrono::nanoseconds waited() const { return waited_; }

 private:
  /// Buffers of one thread that reads samples.
  struct Scratch {
    std::vector<std::vector<std::byte>>
        narrow;  // One sample of each f32 field that is handed out as f64.
    std::vector<std::span<std::byte>> destinations;
  };

  Scratch make_scratch() const;
  void run(const std::stop_token& stop);
  void fill(Batch& batch, std::int64_t position);
  bool announces() const;
  void announce(std::int64_t position);
  void fill_row(Batch& batch, std::int64_t row, std::size_t thread);
  Batch& slot(std::int64_t count) { return ring_[static_cast<std::size_t>(count) % ring_.size()]; }

  // Constant after construction.
  const Dataset& dataset_;
  const LoaderOptions options_;
  const Range rows_;
  const Sampler sampler_;
  std::int64_t batches_ = 0;  // In all.

  // Used by the caller only.
  std::int64_t taken_ = 0;
  std::chrono::nanoseconds waited_{0};

  // Used by the loader's thread only.
  std::int64_t announced_ = 0;  // The dataset knows the runs before this position.
  std::vector<Scratch> scratch_;
  WorkerTeam team_;

  // A batch belongs to the thread while filled_ <= its number < released_ + ring_.size(), then to
  // the caller.
  std::vector<Batch> ring_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::int64_t filled_ TROIKA_GUARDED_BY(mutex_) = 0;
  std::int64_t released_ TROIKA_GUARDED_BY(mutex_) = 0;
  std::exception_ptr error_ TROIKA_GUARDED_BY(mutex_);

  std::jthread thread_;  // Last member: it must end before the members it uses.
};

}  // namespace troika::data
