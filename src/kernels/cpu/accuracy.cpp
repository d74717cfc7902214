#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"

namespace troika {

Offers offers(const Accuracy&, const Request& request) {
  std::int64_t classes = request.shape(0).back(), rows = request.shape(1).elements();
  Candidate candidate{
      .algorithm = "loop", .layouts = std::vector(4, Layout::plain), .scratch = {4 * rows}};
  Loop loop = [=](const Launch& launch) {
    const std::int32_t* target = launch.at<std::int32_t>(1);
    float* correct = launch.work();
    for_rows(launch.threads, rows, classes, [&](std::int64_t row) {
      const float* x = launch.at(0) + row * classes;
      float largest = max_range(0, classes, [x](std::int64_t i) { return x[i]; });
      bool hit = target[row] == std::find(x, x + classes, largest) - x;
      correct[row] = hit ? launch.at(2)[row] : 0.0f;
    });
    *launch.at<double>(3) =
        sum_range(0, rows, [correct](std::int64_t i) { return static_cast<double>(correct[i]); });
  };
  return {offer_loop(request, candidate, loop)};
}

}  // namespace troika
