#include <algorithm>

#include "kernels/cpu/offers.h"
#include "kernels/cpu/streaming.h"

namespace troika {
namespace {

/// Adds in the order of the operands, like the reference; up to four in one pass.
Loop sum_loop(std::size_t terms, std::int64_t count) {
  return [=](const Launch& launch) {
    float* y = launch.at(terms);
    const float *a = launch.at(0), *b = launch.at(1),
                *c = launch.at(std::min<std::size_t>(2, terms)),
                *d = launch.at(std::min<std::size_t>(3, terms));
    bool in_place = y == a || y == b;
    if (terms == 2)
      for_outputs(launch.threads, count, y, in_place, [=](std::int64_t i) { return a[i] + b[i]; });
    else if (terms == 3)
      for_outputs(launch.threads, count, y, in_place,
                  [=](std::int64_t i) { return a[i] + b[i] + c[i]; });
    else
      for_outputs(launch.threads, count, y, in_place,
                  [=](std::int64_t i) { return a[i] + b[i] + c[i] + d[i]; });
    for (std::size_t term = 4; term < terms; ++term)
      for_elements(launch.threads, count,
                   [=, x = launch.at(term)](std::int64_t i) { y[i] += x[i]; });
  };
}

}  // namespace

Offers offers(const Sum& op, const Request& request) {
  if (op.copies > 1) return {};  // numbers in f64, which the reference adds up
  if (op.count < 2) return copy_offers(request);
  int y = static_cast<int>(op.count);
  return {offer_flat(request, {{y, 0}, {y, 1}}, [y](std::int64_t count) {
    return sum_loop(static_cast<std::size_t>(y), count);
  })};
}

}  // namespace troika
