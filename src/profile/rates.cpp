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

}  // namespace

DeviceSpec measure_rates(DeviceSpec spec, RateSize size,
                         const std::function<std::vector<Candidate>(const KernelKey&)>& answer) {
  std::int64_t side = size == RateSize::small ? 96 : 1536;
  KernelKey product{Linear{.out = side}, {{{side, side}, DType::f32}}, Phase::forward, {}};
  TensorSpec vector{{size == RateSize::small ? 1 << 18 : 1 << 23}, DType::f32};
  KernelKey sum{Sum{.count = 2}, {vector, vector}, Phase::forward, {}};
  spec.flops_per_second =
      static_cast<double>(flops_of(product).count) / seconds_of_best(answer(product));
  spec.bytes_per_second = static_cast<double>(bytes_of(sum).count) / seconds_of_best(answer(sum));
  return spec;
}

}  // namespace troika
