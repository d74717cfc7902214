#include "data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace troika::data {
namespace {

LoaderOptions checked(const LoaderOptions& options) {
  if (options.batch < 1)
    throw Error(ErrorKind::usage,
                fmt::format("the batch size must be at least 1, not {}", options.batch));
  if (options.position < 0)
    throw Error(
        ErrorKind::usage,
        fmt::format("position {} lies before the first sample; give 0 or more", options.position));
  TROIKA_CHECK(options.floating != DType::i32);
  TROIKA_CHECK(options.ahead >= 1);
  if (options.rows)
    TROIKA_CHECK(options.rows->begin >= 0 && options.rows->extent() >= 0 &&
                     options.rows->end <= options.batch,
                 "rows of a batch");
  return options;
}

template <class T>
void fill_with(std::span<std::byte> row, T value) {
  std::span<T> elements(reinterpret_cast<T*>(row.data()), row.size() / sizeof(T));
  std::ranges::fill(elements, value);
}

/// Data sets give f32; a run in f64 reads the same values.
void widen(std::span<const std::byte> from, std::span<std::byte> to) {
  std::span<const float> source(reinterpret_cast<const float*>(from.data()),
                                from.size() / sizeof(float));
  std::ranges::copy(source, reinterpret_cast<double*>(to.data()));
}

}  // namespace

Loader::Loader(const Dataset& dataset, const LoaderOptions& options)
    : dataset_(dataset),
      options_(checked(options)),
      rows_(options.rows.value_or(Range{0, options.batch})),
      sampler_(dataset.size(),
               {.order = options.purpose == Purpose::train ? Order::shuffled : Order::sequential,
                .seed = options.seed,
                .window = dataset.window()}),
      team_(dataset.is_slow() ? options.threads : 1) {
  // Windows are counted from the start of each epoch.
  std::int64_t within = options_.position % dataset.size();
  if (sampler_.window() > 0) announced_ = options_.position - within % sampler_.window();
  std::int64_t left = std::max<std::int64_t>(0, dataset.size() - options_.position);
  batches_ = options_.purpose == Purpose::train ? std::numeric_limits<std::int64_t>::max()
                                                : (left + options_.batch - 1) / options_.batch;
  // One more than `ahead`: the caller still holds the batch of its last call.
  for (std::size_t i = 0; i <= options_.ahead; ++i)
    ring_.push_back(Batch::for_dataset(dataset, rows_.extent(), options_.floating));
  scratch_.assign(team_.threads(), make_scratch());
  // Last, since the thread uses all members at once.
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Loader::Scratch Loader::make_scratch() const {
  Scratch scratch;
  for (const Field& field : dataset_.fields()) {
    bool widened = field.spec.dtype == DType::f32 && options_.floating == DType::f64;
    scratch.narrow.emplace_back(widened ? static_cast<std::size_t>(field.spec.bytes().count) : 0);
  }
  scratch.destinations.resize(scratch.narrow.size());
  return scratch;
}

const Batch* Loader::next() {
  Lock lock(mutex_);
  // The caller is done with the batch of its last call, so the thread may fill that slot again.
  released_ = taken_;
  changed_.notify_all();
  if (taken_ == batches_) return nullptr;
  auto start = std::chrono::steady_clock::now();
  changed_.wait(lock, [&]() TROIKA_REQUIRES(mutex_) { return filled_ > taken_ || error_; });
  waited_ += std::chrono::steady_clock::now() - start;
  // Batches made before the error are handed out first, so that the error comes at the same step
  // whatever the thread's lead is.
  if (filled_ == taken_) std::rethrow_exception(error_);
  return &slot(taken_++);
}

void Loader::run(const std::stop_token& stop) try {
  auto ring = static_cast<std::int64_t>(ring_.size());
  for (std::int64_t count = 0; count < batches_; ++count) {
    {
      Lock lock(mutex_);
      changed_.wait(lock, stop, [&]() TROIKA_REQUIRES(mutex_) { return count - released_ < ring; });
      if (stop.stop_requested()) return;
    }
    if (announces()) announce(options_.position + count * options_.batch);
    // Without the lock: the slot belongs to this thread until filled_ says otherwise.
    fill(slot(count), options_.position + count * options_.batch);
    Lock lock(mutex_);
    filled_ = count + 1;
    changed_.notify_all();
  }
} catch (...) {
  Lock lock(mutex_);
  error_ = std::current_exception();
  changed_.notify_all();
}

/// A loader without rows belongs to a process that needs no samples. Any other announces all runs:
/// its rows come from everywhere in the shuffled window.
bool Loader::announces() const {
  return options_.purpose == Purpose::train && sampler_.window() > 0 && rows_.extent() > 0;
}

/// Keeps one window ahead of the batch at `position`, a batch's worth of samples at a time, so that
/// the disc is used evenly.
void Loader::announce(std::int64_t position) {
  std::int64_t end = position + options_.batch + sampler_.window();
  // Run by run, because only the samples of one run are neighbours in the file.
  while (announced_ < end) {
    Range run = sampler_.run_at(announced_);
    run.end = std::min(run.end, run.begin + end - announced_);
    dataset_.will_read(run);
    announced_ += run.extent();
  }
}

void Loader::fill(Batch& batch, std::int64_t position) {
  batch.first_position = position;
  batch.epoch = sampler_.at(position).epoch;
  batch.samples = options_.batch;
  if (options_.purpose == Purpose::evaluate)
    batch.samples = std::min(options_.batch, dataset_.size() - position);
  batch.first_row = rows_.begin;
  // Rows [rows_.begin, real) have samples; the rest pads the last batch of an evaluation.
  std::int64_t real = std::clamp(batch.samples, rows_.begin, rows_.end);
  auto fill_item = [&](std::int64_t item, std::size_t thread) { fill_row(batch, item, thread); };
  team_.run(real - rows_.begin, std::ref(fill_item));  // by reference: a copy would allocate
  // Zeros include "weight", so padding counts in no sum; the slot may hold an earlier batch.
  for (std::int64_t row = real; row < rows_.end; ++row)
    for (HostField& field : batch.fields)
      std::ranges::fill(field.row(row - rows_.begin), std::byte{0});
}

/// `row` counts from batch.first_row. Called by all threads of the team, for different rows.
void Loader::fill_row(Batch& batch, std::int64_t row, std::size_t thread) {
  auto& [narrow, destinations] = scratch_[thread];
  for (std::size_t i = 0; i < destinations.size(); ++i)
    destinations[i] = narrow[i].empty() ? batch.fields[i].row(row) : std::span(narrow[i]);
  dataset_.read(sampler_.at(batch.first_position + batch.first_row + row), destinations);
  for (std::size_t i = 0; i < destinations.size(); ++i)
    if (!narrow[i].empty()) widen(narrow[i], batch.fields[i].row(row));
  if (batch.fields.size() == destinations.size()) return;  // it brings its own weights
  dispatch(options_.floating, [&]<class T>() { fill_with<T>(batch.fields.back().row(row), T{1}); });
}

}  // namespace troika::data
