#include "profile/kernel_timer.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <span>

#include "base/error.h"

namespace troika {
namespace {

constexpr std::int64_t kAlignment = 64;
/// Without knowledge of the caches.
constexpr Bytes kUsualCache{32 << 20};
constexpr Bytes kSmallestRing{16 << 20}, kLargestRing{128 << 20};

Bytes shared_cache() {
  std::int64_t cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return cache > 0 ? Bytes{cache} : kUsualCache;
}

/// Launches walk through a ring of blocks. Together the rings of all devices are twice the shared
/// cache: what a block holds has left the caches before it is used again. If a step touches less,
/// they are as large as that.
Bytes ring_bytes(const KernelTimer::Options& options) {
  if (options.touched > Bytes{}) return options.touched;
  std::int64_t share = 2 * shared_cache().count / (options.neighbours + 1);
  Bytes ring = std::clamp(Bytes{share}, kSmallestRing, kLargestRing);
  return options.memory == Bytes{} ? ring : std::min(ring, Bytes{options.memory.count / 4});
}

/// The operand that the task before has written, which may still be in a cache; -1: none. All
/// others were last used long ago: weights, state, saved activations, memory to be written.
int recent_operand(const KernelKey& key) {
  int gradient = output_gradient(key);
  if (gradient >= 0) return gradient;
  return key.phase == Phase::update ? -1 : 0;
}

/// Whether each operand, and the scratch behind them, is another one in each launch. Indices are
/// not, because their values must be valid.
std::vector<bool> moving_operands(const KernelKey& key, const std::vector<Operand>& operands) {
  std::vector<bool> moves;
  for (const Operand& operand : operands)
    moves.push_back(operand.spec.dtype != DType::i32 && std::ssize(moves) != recent_operand(key));
  moves.push_back(false);
  return moves;
}

Bytes aligned(Bytes bytes) { return {(bytes.count + kAlignment - 1) / kAlignment * kAlignment}; }

/// Operands that lowering places where others are read, because those are not needed afterwards. In
/// backward that holds for most values; what forward reads is mostly kept for backward. Of several
/// values that may make room the first one does.
std::vector<InPlace> pairs_in_place(const KernelKey& key, const Candidate& candidate) {
  if (!is_backward(key.phase)) return {};
  const std::vector<Operand> operands = operands_of(key);
  auto bytes = [&](int operand) {
    auto at = static_cast<std::size_t>(operand);
    const TensorSpec& spec = operands[at].spec;
    return stored_bytes(candidate.layouts[at], spec.shape, spec.dtype);
  };
  std::vector<InPlace> pairs;
  for (const InPlace& pair : candidate.in_place)
    if (bytes(pair.write) <= bytes(pair.read) &&
        std::ranges::find(pairs, pair.write, &InPlace::write) == pairs.end() &&
        std::ranges::find(pairs, pair.read, &InPlace::read) == pairs.end())
      pairs.push_back(pair);
  return pairs;
}

/// The largest size of each operand, and of the scratch, over all candidates.
std::vector<Bytes> sizes_of(const std::vector<Operand>& operands,
                            const std::vector<Candidate>& candidates) {
  std::vector<Bytes> sizes(operands.size() + 1);
  for (const Candidate& candidate : candidates) {
    for (std::size_t at = 0; at < operands.size(); ++at) {
      const TensorSpec& spec = operands[at].spec;
      sizes[at] =
          std::max(sizes[at], aligned(stored_bytes(candidate.layouts[at], spec.shape, spec.dtype)));
    }
    sizes.back() = std::max(sizes.back(), aligned(candidate.scratch));
  }
  return sizes;
}

/// Random numbers from 0.25 to 0.75: some kernels take longer without a pattern, and denormal
/// numbers would be slow. Indices are zero, which is valid for every table.
std::vector<std::byte> made_up_values(DType dtype) {
  std::vector<std::byte> bytes(1 << 20);
  if (dtype == DType::i32) return bytes;
  dispatch(dtype, [&]<class T>() {
    std::uint32_t state = 1;
    for (T& value : std::span{reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)}) {
      state = state * 1664525u + 1013904223u;
      value = static_cast<T>(0.25 + static_cast<double>(state >> 8) / (1 << 25));
    }
  });
  return bytes;
}

}  // namespace

Bytes touched_in_cache(Bytes step, std::int32_t devices) {
  // Few sizes, so that times are measured once for many models: powers of two and one and a half
  // times that.
  Bytes size{1 << 20};
  while (size < step)
    size = {size.count +
            (std::has_single_bit(as_index(size.count)) ? size.count / 2 : size.count / 3)};
  // The cache also holds what the system and other programs use.
  return size.count * devices <= shared_cache().count * 3 / 4 ? size : Bytes{};
}

Bytes memory_to_measure(const KernelKey& key, const Candidate& candidate) {
  Bytes total{};
  for (Bytes size : sizes_of(operands_of(key), {candidate})) total += size;
  return total;
}

OperandBlocks KernelTimer::lay_out(const KernelKey& key, const std::vector<Candidate>& candidates,
                                   std::size_t at) {
  const std::vector<Operand> operands = operands_of(key);
  const std::vector<Bytes> sizes = sizes_of(operands, candidates);
  OperandBlocks made{.moves = moving_operands(key, operands)};
  Bytes fixed{};
  DType dtype = DType::f32;
  for (std::size_t own = 0; own < sizes.size(); ++own) {
    (made.moves[own] ? made.block : fixed) += sizes[own];
    if (made.moves[own]) dtype = operands[own].spec.dtype;
  }
  DevicePointer next_fixed = fixed_memory(at, fixed);
  DevicePointer next_moving = take_blocks(at, dtype, std::ssize(candidates), made);
  for (std::size_t own = 0; own < sizes.size(); ++own) {
    DevicePointer& next = made.moves[own] ? next_moving : next_fixed;
    if (!made.moves[own] && own < operands.size())
      fill(device(at), next, sizes[own], operands[own].spec.dtype);
    made.first.push_back(next);
    next += sizes[own].count;
  }
  return made;
}

/// Freed before it is allocated again, so that the device need not hold both.
DevicePointer KernelTimer::fixed_memory(std::size_t at, Bytes bytes) {
  Buffer& fixed = places_[at].fixed;
  if (fixed.bytes() < bytes) {
    fixed = {};
    fixed = device(at).allocate(bytes);
    fill(device(at), fixed.address(), bytes, DType::f32);  // no launch pays for fresh pages
  }
  return fixed.address();
}

/// The next blocks of the ring for all launches of the candidates, filled with values. If they are
/// more than the ring, launches begin again at its start.
DevicePointer KernelTimer::take_blocks(std::size_t at, DType dtype, std::int64_t candidates,
                                       OperandBlocks& made) {
  if (made.block == Bytes{}) return nullptr;
  Place& place = places_[at];
  Bytes ring = std::max(ring_bytes(options_), made.block);
  if (place.ring.bytes() < ring) {
    place.ring = {};
    place.ring = device(at).allocate(ring);
    place.used = ring;
  }
  ring = place.ring.bytes();
  made.blocks = std::min(kMostLaunches * candidates, ring.count / made.block.count);
  Bytes wanted = made.block * made.blocks;
  if (place.used + wanted > ring || place.dtype != dtype) {
    fill(device(at), place.ring.address(), ring, dtype);
    place.used = {};
    place.dtype = dtype;
  }
  DevicePointer first = place.ring.address() + place.used.count;
  place.used += wanted;
  return first;
}

KernelTimer::KernelTimer(Device& device, const Backend& backend, Options options)
    : device_(device), backend_(backend), options_(std::move(options)) {}

void KernelTimer::fill(Device& device, DevicePointer at, Bytes bytes, DType dtype) {
  auto [known, is_new] = values_.try_emplace(dtype);
  if (is_new) known->second = made_up_values(dtype);
  const std::vector<std::byte>& values = known->second;
  for (std::int64_t done = 0; done < bytes.count; done += std::ssize(values)) {
    std::size_t length = std::min(values.size(), static_cast<std::size_t>(bytes.count - done));
    device.write(at + done, {values.data(), length});
  }
}

void KernelTimer::measure(const KernelKey& key, std::vector<Candidate>& candidates) {
  if (candidates.empty()) return;
  while (std::ssize(neighbours_) < options_.neighbours)
    neighbours_.push_back(options_.make_neighbour(static_cast<int>(neighbours_.size()) + 1));
  places_.resize(neighbours_.size() + 1);
  std::vector<Contestant> contestants;
  for (std::size_t at = 0; at < places_.size(); ++at) {
    Contestant& own = contestants.emplace_back();
    own.device = &device(at);
    for (const Candidate& candidate : candidates) {
      own.kernels.push_back(backend_.compile(key, candidate));
      own.in_place.push_back(pairs_in_place(key, candidate));
    }
    own.operands = lay_out(key, candidates, at);
  }
  std::vector<std::vector<std::chrono::nanoseconds>> times =
      run_contest(contestants, origin_of(key));
  const std::int32_t at_once = options_.neighbours + 1;
  for (std::size_t at = 0; at < candidates.size(); ++at) {
    std::vector<std::chrono::nanoseconds>& own = times[at];
    std::ranges::sort(own);
    std::size_t quarter = own.size() / 4, middle = own.size() / 2;
    auto median = own.size() % 2 == 1 ? own[middle] : (own[middle - 1] + own[middle]) / 2;
    candidates[at].time = SimTime{median.count()};
    candidates[at].timing =
        Timing{.spread = {(own[own.size() - 1 - quarter] - own[quarter]).count()},
               .repeats = static_cast<std::int32_t>(own.size()),
               .at = {.devices = at_once, .at_once = at_once}};
  }
}

void KernelTimer::release() {
  places_.clear();
  neighbours_.clear();
}

}  // namespace troika
