#include "profile/rates.h"

#include <algorithm>

#include "base/error.h"

namespace troika {
namespace {

double seconds_of_best(const std::vector<Candidate>& candidates) {
  TROIKA_CHECK(!candidates.empty(), "no kernel to measure a rate with");
  SimTime best = *candidates.front().time;
  for (const Candidate& candidate : candidates) best = std::min(best, *candidate.time);
  return static_cast<double>(std::max<std::int64_t>(best.count, 1)) / 1e9;
}

/// The side of a matrix or the length of a vector, halved until three of them take half of the
/// device's memory at most: a process that uses more than its limit is killed.
std::int64_t fitting(std::int64_t count, std::int64_t bytes_per_count, Bytes memory) {
  while (memory.count > 0 && count > 64 && 3 * count * bytes_per_count > memory.count / 2)
    count /= 2;
  return count;
}

/// A thousand times slower than the others.
bool is_slow(const Backend& backend) { return backend.name() == "reference"; }

/// A sum of two long vectors is bound by memory.
KernelKey sum_of_vectors(const Backend& backend, Bytes memory) {
  TensorSpec vector{{fitting(is_slow(backend) ? 1 << 18 : 1 << 23, 4, memory)}, DType::f32};
  return {Sum{.count = 2}, {vector, vector}, Phase::forward, {}};
}

double bytes_per_second(const KernelKey& key, const std::vector<Candidate>& candidates) {
  return static_cast<double>(bytes_of(key).count) / seconds_of_best(candidates);
}

}  // namespace

double measure_memory_rate(KernelTimer& timer, const Backend& backend, Bytes memory) {
  KernelKey sum = sum_of_vectors(backend, memory);
  std::vector<Candidate> candidates = backend.candidates(sum);
  timer.measure(sum, candidates);
  return bytes_per_second(sum, candidates);
}

DeviceSpec measure_rates(const DeviceSpec& spec, const Backend& backend,
                         const std::function<std::vector<Candidate>(const KernelKey&)>& answer) {
  std::int64_t longest = is_slow(backend) ? 96 : 1536;
  std::int64_t side = fitting(longest, 4 * longest, spec.memory);
  // A product is bound by arithmetic.
  KernelKey product{Linear{.out = side}, {{{side, side}, DType::f32}}, Phase::forward, {}};
  KernelKey sum = sum_of_vectors(backend, spec.memory);
  DeviceSpec measured = spec;
  measured.flops_per_second =
      static_cast<double>(flops_of(product).count) / seconds_of_best(answer(product));
  measured.bytes_per_second = bytes_per_second(sum, answer(sum));
  return measured;
}

DeviceSpec measure_rates(const DeviceSpec& spec, Device& device, const Backend& backend) {
  KernelTimer timer(device, backend);
  return measure_rates(spec, backend, [&](const KernelKey& key) {
    std::vector<Candidate> candidates = backend.candidates(key);
    timer.measure(key, candidates);
    return candidates;
  });
}

}  // namespace troika
