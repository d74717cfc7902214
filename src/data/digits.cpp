#include "data/digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "data/worker_team.h"

namespace troika::data {
namespace {

constexpr std::int64_t kTrainSize = 10'000;
constexpr std::int64_t kTestSize = 2'000;
constexpr std::int64_t kMostKept = 1 << 17;  // About 100 MiB.
/// This many are drawn at the start, by several threads in a fraction of a second. A loader that
/// draws them during the first epoch would take a core from the kernels, which wait for each other.
constexpr std::int64_t kDrawnAtStart = 1 << 14;
constexpr std::int64_t kDrawnPerThread = 1000;  // Fewer do not justify a thread.

/// Draws the first images at the start and others on demand, and keeps the first
/// kMostKept of them.
class Digits final : public ImageSource {
 public:
  struct Options {
    std::string part;
    std::uint64_t seed;
    std::int64_t size;
    int threads;  ///< That draw the first images.
  };

  explicit Digits(const Options& options)
      : random_{.key = options.seed, .stream = hash_text("digits:" + options.part)},
        size_(options.size),
        kept_(static_cast<std::size_t>(std::min(size_, kMostKept))),
        states_(kept_.size()) {
    draw_first(std::min(size_, kDrawnAtStart), options.threads);
  }

  std::int64_t size() const override { return size_; }
  const Shape& shape() const override { return shape_; }
  std::int64_t classes() const override { return 10; }

  void read_pixels(std::int64_t index, std::span<float> pixels) const override {
    with_digit(index, [&](const DrawnDigit& digit) {
      std::ranges::transform(digit.pixels, pixels.begin(), scale_byte);
    });
  }

  std::int32_t label(std::int64_t index) const override {
    std::int32_t label = 0;
    with_digit(index, [&](const DrawnDigit& digit) { label = digit.label; });
    return label;
  }

 private:
  enum class State : std::uint8_t { absent, being_kept, kept };

  void draw_first(std::int64_t count, int threads) const {
    WorkerTeam team(std::min(threads, static_cast<int>(count / kDrawnPerThread)));
    team.run(count, [&](std::int64_t i, std::size_t) { with_digit(i, [](const DrawnDigit&) {}); });
  }

  DrawnDigit draw(std::int64_t index) const {
    RandomStream random = random_;
    // The index takes the place of the step, so every digit has a stream of its own.
    random.step = static_cast<std::uint32_t>(index);
    return draw_digit(random);
  }

  template <class Visit>
  void with_digit(std::int64_t index, Visit&& visit) const {
    auto slot = static_cast<std::size_t>(index);
    if (slot >= kept_.size()) return visit(draw(index));
    if (states_[slot].load(std::memory_order_acquire) == State::kept) return visit(kept_[slot]);
    DrawnDigit digit = draw(index);
    State expected = State::absent;
    // Two threads may draw the same digit at once. Both get the same picture, and one keeps it, so
    // none has to wait.
    if (states_[slot].compare_exchange_strong(expected, State::being_kept)) {
      kept_[slot] = digit;
      states_[slot].store(State::kept, std::memory_order_release);
    }
    visit(digit);
  }

  RandomStream random_;
  std::int64_t size_;
  Shape shape_{1, Canvas::kSide, Canvas::kSide};
  // A slot is written once, by the thread that moved its state from absent to being_kept, and read
  // only when kept.
  mutable std::vector<DrawnDigit> kept_;
  mutable std::vector<std::atomic<State>> states_;
};

}  // namespace

std::unique_ptr<ImageSource> open_digits(const Uri& uri, int threads) {
  std::string part = uri.path.empty() ? "train" : uri.path;
  if (part != "train" && part != "test")
    throw Error(ErrorKind::usage,
                fmt::format("there is no digits:{}, only digits:train and digits:test", part));
  std::int64_t size =
      number_in_query(uri, "size").value_or(part == "train" ? kTrainSize : kTestSize);
  if (size > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorKind::usage, fmt::format("{} digits are too many; give a size up to {}", size,
                                              std::numeric_limits<std::int32_t>::max()));
  auto seed = static_cast<std::uint64_t>(number_in_query(uri, "seed").value_or(1));
  return std::make_unique<Digits>(Digits::Options{part, seed, size, threads});
}

}  // namespace troika::data
