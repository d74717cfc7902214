#include "data/digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "base/cores.h"
#include "base/error.h"
#include "base/hash.h"

namespace troika::data {
namespace {

constexpr std::int64_t kTrainSize = 10'000;
constexpr std::int64_t kTestSize = 2'000;
constexpr std::int64_t kMostKept = 1 << 17;  // About 100 MiB.
/// This many are drawn at the start, by all cores in a fraction of a second. A loader that draws
/// them during the first epoch would take a core from the kernels, which wait for each other.
constexpr std::int64_t kDrawnAtStart = 1 << 14;
constexpr std::int64_t kDrawnPerThread = 1000;  // A thread for fewer does not pay.

/// Draws the first images at the start and others when they are asked for, and keeps the first
/// kMostKept of them.
class Digits final : public ImageSource {
 public:
  Digits(const std::string& part, std::uint64_t seed, std::int64_t size)
      : random_{.key = seed, .stream = hash_text("digits:" + part)},
        size_(size),
        kept_(static_cast<std::size_t>(std::min(size, kMostKept))),
        states_(kept_.size()) {
    draw_first(std::min(size, kDrawnAtStart));
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

  void draw_first(std::int64_t count) const {
    const std::int64_t shares = std::clamp<std::int64_t>(
        count / kDrawnPerThread, 1, std::max<std::int64_t>(1, std::ssize(usable_cores())));
    auto draw_share = [&](std::int64_t share) {
      for (std::int64_t i = share; i < count; i += shares) with_digit(i, [](const DrawnDigit&) {});
    };
    std::vector<std::jthread> others;
    for (std::int64_t share = 1; share < shares; ++share) others.emplace_back(draw_share, share);
    draw_share(0);
  }

  DrawnDigit draw(std::int64_t index) const {
    RandomStream random = random_;
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

std::unique_ptr<ImageSource> open_digits(const Uri& uri) {
  std::string part = uri.path.empty() ? "train" : uri.path;
  if (part != "train" && part != "test")
    throw Error(ErrorKind::usage,
                fmt::format("there is no digits:{}, only digits:train and digits:test.", part));
  std::int64_t size =
      number_in_query(uri, "size").value_or(part == "train" ? kTrainSize : kTestSize);
  if (size > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorKind::usage, fmt::format("{} digits are too many; give a size up to {}.", size,
                                              std::numeric_limits<std::int32_t>::max()));
  auto seed = static_cast<std::uint64_t>(number_in_query(uri, "seed").value_or(1));
  return std::make_unique<Digits>(part, seed, size);
}

}  // namespace troika::data
