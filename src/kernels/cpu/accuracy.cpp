#include <algorithm>
#include <cmath>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/offers.h"

namespace troika {
namespace {

/// How many logits come before the target's; all of them if that is not a number.
std::int64_t rank_of(const float* x, std::int64_t classes, std::int32_t target) {
  const float own = x[target];
  if (std::isnan(own)) return classes;
  const double greater =
      sum_range(0, classes, [=](std::int64_t i) { return x[i] > own ? 1.0 : 0; });
  // Equal logits rank by their index.
  return static_cast<std::int64_t>(greater) + std::count(x, x + target, own);
}

}  // namespace

Offers offers(const Accuracy& op, const Request& request) {
  std::int64_t classes = request.shape(0).back(), rows = request.shape(1).elements();
  Candidate candidate{
      .algorithm = "loop", .layouts = std::vector(4, Layout::plain), .scratch = {4 * rows}};
  Loop loop = [=, top = op.top](const Launch& launch) {
    const std::int32_t* target = launch.at<std::int32_t>(1);
    float* correct = launch.work();
    for_rows(launch.threads, rows, classes, [&](std::int64_t row) {
      const float* x = launch.at(0) + row * classes;
      correct[row] = rank_of(x, classes, target[row]) < top ? launch.at(2)[row] : 0.0f;
    });
    *launch.at<double>(3) =
        sum_range(0, rows, [correct](std::int64_t i) { return static_cast<double>(correct[i]); });
  };
  return {offer_loop(request, candidate, loop)};
}

}  // namespace troika
