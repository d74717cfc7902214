#include "profile/timed_group.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace troika {

std::vector<double> medians(const TimedGroup& group) {
  std::vector<double> result;
  for (std::vector<double> samples : group.samples) {
    TROIKA_CHECK(!samples.empty(), "a collective was not timed");
    auto middle = samples.begin() + std::ssize(samples) / 2;
    std::ranges::nth_element(samples, middle);
    result.push_back(*middle);
  }
  return result;
}

std::vector<double> noise_of_medians(const TimedGroup& group) {
  std::vector<double> result;
  for (std::vector<double> samples : group.samples) {
    TROIKA_CHECK(!samples.empty(), "a collective was not timed");
    std::ranges::sort(samples);
    // The rank of the middle is binomial: n/2 with a deviation of sqrt(n)/2.
    auto count = static_cast<double>(samples.size());
    auto first = static_cast<std::size_t>(std::max(0.0, count / 2 - 0.98 * std::sqrt(count)));
    result.push_back((samples[samples.size() - 1 - first] - samples[first]) / 2);
  }
  return result;
}

}  // namespace troika
