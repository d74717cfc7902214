#include "profile/rates.h"

#include <algorithm>

#include "base/error.h"
#include "profile/kernel_timer.h"

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

}  // namespace

DeviceSpec measure_rates(const DeviceSpec& spec, const Backend& backend,
                         const std::function<std::vector<Candidate>(const KernelKey&)>& answer) {
  bool slow = backend.name() == "reference";  // a thousand times slower
  std::int64_t longest = slow ? 96 : 1536;
  std::int64_t side = fitting(longest, 4 * longest, spec.memory);
  // A product is bound by arithmetic and a sum of long vectors by memory, so each gives one rate.
  KernelKey product{Linear{.out = side}, {{{side, side}, DType::f32}}, Phase::forward, {}};
  TensorSpec vector{{fitting(slow ? 1 << 18 : 1 << 23, 4, spec.memory)}, DType::f32};
  KernelKey sum{Sum{.count = 2}, {vector, vector}, Phase::forward, {}};
  DeviceSpec measured = spec;
  measured.flops_per_second =
      static_cast<double>(flops_of(product).count) / seconds_of_best(answer(product));
  measured.bytes_per_second =
      static_cast<double>(bytes_of(sum).count) / seconds_of_best(answer(sum));
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
