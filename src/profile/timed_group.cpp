#include "profile/timed_group.h"

#include <algorithm>

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

}  // namespace troika
